//! Shared test support: hex, JSON, random numbers, and an indication with generated octets.
#![allow(dead_code)] // each test uses some of it

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use e2ap::{
    RanFunctionId, RicActionId, RicIndication, RicIndicationSn, RicIndicationType, RicRequestId, Version, message,
};
use per::{Describe, Octets, Visitor};

/// Parses hexadecimal digits, ignoring white space.
pub fn unhex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(|b| !b.is_ascii_whitespace()).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

/// `vectors/e2ap` of this project.
pub fn vectors() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../vectors/e2ap")
}

/// Every vector of the project, ordered by name: its path, version and octets.
pub fn every_vector() -> Vec<(PathBuf, Version, Vec<u8>)> {
    let mut all = Vec::new();
    for version in Version::ALL {
        for entry in std::fs::read_dir(vectors().join(format!("v0{version}"))).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "hex") {
                let octets = unhex(&std::fs::read_to_string(&path).unwrap());
                all.push((path, version, octets));
            }
        }
    }
    all.sort();
    all
}

/// One vector by its name, such as `v02.03/reset_request`.
pub fn vector(name: &str) -> Vec<u8> {
    let path = vectors().join(name).with_extension("hex");
    let path = if path.is_file() { path } else { vectors().join(format!("{name}.hex")) };
    unhex(&std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
}

/// Octet i is (7i + 3) & 255.
pub fn by_rule(count: usize) -> Vec<u8> {
    (0..count).map(|i| (7 * i + 3) as u8).collect()
}

/// A report with the payload `message`.
pub fn indication<'a>(header: &'a [u8], message: &'a [u8]) -> RicIndication<'a> {
    RicIndication {
        request_id: RicRequestId { requestor: 1021, instance: 7 },
        ran_function_id: RanFunctionId(147),
        action_id: RicActionId(3),
        sn: Some(RicIndicationSn(40000)),
        kind: RicIndicationType::Report,
        header: Octets::from(header),
        message: Octets::from(message),
        call_process_id: None,
    }
}

/// The octets of a message in `version`.
pub fn encoded<'a, M: message::Message<'a>>(message: &M, version: Version) -> Vec<u8> {
    let mut out = Vec::new();
    e2ap::encode(message, version, &mut out).unwrap();
    out
}

/// An xorshift generator with a fixed sequence.
pub struct Random(pub u64);

impl Random {
    /// A number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }
}

/// A value as JSON, in the order of the wire: octets as hexadecimal digits, bits as hexadecimal digits and their number (`fc/6`),
/// names of enumerations as strings, a CHOICE as an object with one member.
pub fn json(value: &dyn Describe) -> String {
    let mut text = Json::default();
    value.describe(&mut text);
    text.out
}

#[derive(Default)]
struct Json {
    out: String,
    depth: usize,
    /// Whether the innermost list or record already has an element.
    filled: bool,
    /// Whether the name of a member was just written.
    named: bool,
}

impl Json {
    fn line(&mut self) {
        write!(self.out, "\n{:1$}", "", 2 * self.depth).unwrap();
    }

    /// Writes the separator before a value.
    fn begin(&mut self) {
        if !self.named && self.depth > 0 {
            if self.filled {
                self.out.push(',');
            }
            self.line();
        }
        self.named = false;
        self.filled = true;
    }

    fn open(&mut self, bracket: char) {
        self.begin();
        self.out.push(bracket);
        self.depth += 1;
        self.filled = false;
    }

    fn close(&mut self, bracket: char) {
        self.depth -= 1;
        if self.filled {
            self.line();
        }
        self.out.push(bracket);
        self.filled = true;
    }

    fn scalar(&mut self, value: impl std::fmt::Display) {
        self.begin();
        write!(self.out, "{value}").unwrap();
    }
}

impl Visitor for Json {
    fn null(&mut self) {
        self.scalar("null");
    }
    fn boolean(&mut self, value: bool) {
        self.scalar(value);
    }
    fn integer(&mut self, value: i64) {
        self.scalar(value);
    }
    fn real(&mut self, value: f64) {
        self.scalar(value);
    }
    fn text(&mut self, value: &str) {
        self.scalar(format_args!("{value:?}"));
    }
    fn symbol(&mut self, name: &'static str) {
        self.scalar(format_args!("{name:?}"));
    }
    fn octets(&mut self, pieces: &mut dyn Iterator<Item = &[u8]>) {
        let mut digits = String::new();
        pieces.flatten().for_each(|octet| write!(digits, "{octet:02x}").unwrap());
        self.scalar(format_args!("{digits:?}"));
    }
    fn bits(&mut self, octets: &[u8], count: usize) {
        let digits: String = octets.iter().map(|octet| format!("{octet:02x}")).collect();
        self.scalar(format_args!("\"{digits}/{count}\""));
    }
    fn begin_record(&mut self) {
        self.open('{');
    }
    fn field(&mut self, name: &str) {
        self.begin();
        write!(self.out, "{name:?}: ").unwrap();
        self.named = true;
    }
    fn end_record(&mut self) {
        self.close('}');
    }
    fn begin_list(&mut self) {
        self.open('[');
    }
    fn end_list(&mut self) {
        self.close(']');
    }
}
