//! Decoded values as JSON.

use serde_json::{Map, Number, Value};

use crate::{Describe, Visitor};

/// Returns the JSON of `value`: sequences and choices are objects, octet strings are hexadecimal strings, bit strings are
/// `{"bits": hexadecimal, "count": n}`.
pub fn of(value: &dyn Describe) -> Value {
    let mut builder = Builder::default();
    value.describe(&mut builder);
    builder.done
}

#[derive(Default)]
struct Builder {
    done: Value,
    open: Vec<Open>,
}

enum Open {
    Record(Map<String, Value>, String),
    List(Vec<Value>),
}

impl Builder {
    fn put(&mut self, value: Value) {
        match self.open.last_mut() {
            Some(Open::Record(map, field)) => drop(map.insert(std::mem::take(field), value)),
            Some(Open::List(items)) => items.push(value),
            None => self.done = value,
        }
    }

    fn close(&mut self) {
        match self.open.pop() {
            Some(Open::Record(map, _)) => self.put(Value::Object(map)),
            Some(Open::List(items)) => self.put(Value::Array(items)),
            None => {}
        }
    }
}

/// Returns octets in lower-case hexadecimal.
pub fn hex<'a>(octets: impl Iterator<Item = &'a u8>) -> String {
    let digit = |value: u8| char::from(b"0123456789abcdef"[usize::from(value)]);
    octets.flat_map(|octet| [digit(octet >> 4), digit(octet & 15)]).collect()
}

impl Visitor for Builder {
    fn null(&mut self) {
        self.put(Value::Null);
    }
    fn boolean(&mut self, value: bool) {
        self.put(value.into());
    }
    fn integer(&mut self, value: i64) {
        self.put(value.into());
    }
    fn real(&mut self, value: f64) {
        // JSON has no infinities
        self.put(Number::from_f64(value).map_or_else(|| value.to_string().into(), Value::Number));
    }
    fn text(&mut self, value: &str) {
        self.put(value.into());
    }
    fn symbol(&mut self, name: &'static str) {
        self.put(name.into());
    }
    fn octets(&mut self, pieces: &mut dyn Iterator<Item = &[u8]>) {
        let text = hex(pieces.flatten());
        self.put(text.into());
    }
    fn bits(&mut self, octets: &[u8], count: usize) {
        let mut map = Map::new();
        map.insert("bits".into(), hex(octets.iter()).into());
        map.insert("count".into(), count.into());
        self.put(Value::Object(map));
    }
    fn begin_record(&mut self) {
        self.open.push(Open::Record(Map::new(), String::new()));
    }
    fn field(&mut self, name: &str) {
        if let Some(Open::Record(_, field)) = self.open.last_mut() {
            *field = name.to_owned();
        }
    }
    fn end_record(&mut self) {
        self.close();
    }
    fn begin_list(&mut self) {
        self.open.push(Open::List(Vec::new()));
    }
    fn end_list(&mut self) {
        self.close();
    }
}
