//! Helpers of tests over recorded octets: hex, and values as JSON.

#![allow(dead_code, reason = "each test file uses its part")]

pub mod recorded;

use per::{Describe, Visitor};
use serde_json::{Map, Value, json};

/// Parses hex digits, ignoring white space.
pub fn hex(text: &str) -> Vec<u8> {
    let digits: String = text.split_whitespace().collect();
    (0..digits.len()).step_by(2).map(|i| u8::from_str_radix(&digits[i..i + 2], 16).expect("hex digits")).collect()
}

/// A value as JSON: octets and bits as hex digits.
pub fn json(value: &dyn Describe) -> Value {
    let mut builder = Builder::default();
    value.describe(&mut builder);
    builder.root.expect("a value was visited")
}

#[derive(Default)]
struct Builder {
    open: Vec<(Value, Option<String>)>,
    root: Option<Value>,
}

impl Builder {
    fn put(&mut self, value: Value) {
        match self.open.last_mut() {
            None => self.root = Some(value),
            Some((Value::Array(items), _)) => items.push(value),
            Some((Value::Object(fields), name)) => {
                let name = name.take().expect("a field was visited");
                assert!(fields.insert(name, value).is_none(), "a field is visited twice");
            }
            Some(_) => unreachable!("only lists and records are opened"),
        }
    }

    fn close(&mut self) {
        let (value, _) = self.open.pop().expect("something is open");
        self.put(value);
    }
}

fn digits<'a>(octets: impl Iterator<Item = &'a u8>) -> String {
    octets.map(|octet| format!("{octet:02x}")).collect()
}

impl Visitor for Builder {
    fn null(&mut self) {
        self.put(Value::Null);
    }
    fn boolean(&mut self, value: bool) {
        self.put(json!(value));
    }
    fn integer(&mut self, value: i64) {
        self.put(json!(value));
    }
    fn real(&mut self, value: f64) {
        self.put(json!(value));
    }
    fn text(&mut self, value: &str) {
        self.put(json!(value));
    }
    fn symbol(&mut self, name: &'static str) {
        self.put(json!(name));
    }
    fn octets(&mut self, pieces: &mut dyn Iterator<Item = &[u8]>) {
        self.put(json!(digits(pieces.flatten())));
    }
    fn bits(&mut self, octets: &[u8], count: usize) {
        self.put(json!({ "value": digits(octets.iter()), "length": count }));
    }
    fn begin_record(&mut self) {
        self.open.push((Value::Object(Map::new()), None));
    }
    fn field(&mut self, name: &str) {
        self.open.last_mut().expect("a record is open").1 = Some(name.to_owned());
    }
    fn end_record(&mut self) {
        self.close();
    }
    fn begin_list(&mut self) {
        self.open.push((Value::Array(Vec::new()), None));
    }
    fn end_list(&mut self) {
        self.close();
    }
}
