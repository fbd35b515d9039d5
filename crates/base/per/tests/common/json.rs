//! Values and octets in the notation of `vectors/per/make.py`.

use per::{Describe, Visitor};
use serde_json::{Map, Value, json};

/// A value as JSON.
pub fn of(value: &(impl Describe + ?Sized)) -> Value {
    let mut tree = Tree::default();
    value.describe(&mut tree);
    tree.done.expect("a value describes itself")
}

#[derive(Default)]
struct Tree {
    open: Vec<Open>,
    done: Option<Value>,
}

enum Open {
    Record(Map<String, Value>, String),
    List(Vec<Value>),
}

impl Tree {
    fn put(&mut self, value: Value) {
        match self.open.last_mut() {
            Some(Open::Record(fields, name)) => drop(fields.insert(std::mem::take(name), value)),
            Some(Open::List(items)) => items.push(value),
            None => assert!(self.done.replace(value).is_none(), "two values"),
        }
    }
}

impl Visitor for Tree {
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
        self.put(value.into());
    }
    fn text(&mut self, value: &str) {
        self.put(runs(value.as_bytes()).into());
    }
    fn symbol(&mut self, name: &'static str) {
        self.put(name.into());
    }
    fn octets(&mut self, pieces: &mut dyn Iterator<Item = &[u8]>) {
        self.put(runs(&pieces.flatten().copied().collect::<Vec<_>>()).into());
    }
    fn bits(&mut self, octets: &[u8], count: usize) {
        self.put(format!("{}/{count}", runs(octets)).into());
    }
    fn begin_record(&mut self) {
        self.open.push(Open::Record(Map::new(), String::new()));
    }
    fn field(&mut self, name: &str) {
        match self.open.last_mut() {
            Some(Open::Record(_, field)) => *field = name.to_owned(),
            _ => panic!("a field outside of a record"),
        }
    }
    fn end_record(&mut self) {
        match self.open.pop() {
            Some(Open::Record(fields, _)) => self.put(Value::Object(fields)),
            _ => panic!("no record is open"),
        }
    }
    fn begin_list(&mut self) {
        self.open.push(Open::List(Vec::new()));
    }
    fn end_list(&mut self) {
        match self.open.pop() {
            Some(Open::List(items)) if items.len() > 100 => {
                self.put(json!({"len": items.len(), "last": items[items.len() - 1]}));
            }
            Some(Open::List(items)) => self.put(items.into()),
            _ => panic!("no list is open"),
        }
    }
}

/// Hexadecimal, where runs of more than 16 equal octets are written `5a*16384`.
pub fn runs(octets: &[u8]) -> String {
    let mut words = vec![String::new()];
    for run in octets.chunk_by(|a, b| a == b) {
        if run.len() > 16 {
            words.extend([format!("{:02x}*{}", run[0], run.len()), String::new()]);
        } else if let Some(word) = words.last_mut() {
            *word += &format!("{:02x}", run[0]).repeat(run.len());
        }
    }
    words.retain(|word| !word.is_empty());
    words.join(" ")
}

/// The octets of [`runs`].
pub fn octets(text: &str) -> Vec<u8> {
    let octet = |hex: &str| u8::from_str_radix(hex, 16).expect("two hexadecimal digits");
    let mut out = Vec::new();
    for word in text.split_whitespace() {
        match word.split_once('*') {
            Some((hex, count)) => out.resize(out.len() + count.parse::<usize>().expect("a count"), octet(hex)),
            None => out.extend((0..word.len()).step_by(2).map(|i| octet(&word[i..i + 2]))),
        }
    }
    out
}
