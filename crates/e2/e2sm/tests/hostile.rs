//! Hostile octets: every type of the registry decodes them to a value or an error.

mod support;

use std::fs;
use std::path::Path;

use e2sm::{Arena, registry};
use support::hex;

/// xorshift64*: pseudo-random and reproducible.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() >> 33) as usize % end
    }
}

/// Decodes octets and returns whether they are valid. A decoded value encodes to octets that decode to the same value.
fn check_decode(name: &str, bytes: &[u8]) -> bool {
    let arena = Arena::new();
    let Ok(value) = registry::decode(name, bytes, &arena) else { return false };
    let expected = support::json(&value);
    let mut written = Vec::new();
    value.encode(&mut written).unwrap_or_else(|error| panic!("{name} {bytes:02x?}: {error}"));
    let again = registry::decode(name, &written, &arena).unwrap_or_else(|error| panic!("{name} {bytes:02x?}: {error}"));
    assert_eq!(support::json(&again), expected, "{name} {bytes:02x?}");
    true
}

#[test]
fn random_octets_decode_or_fail() {
    let mut chance = Chance(0x1234_5678_9ABC_DEF1);
    let names: Vec<String> = registry::types().map(|(module, name)| format!("{module}:{name}")).collect();
    assert!(names.len() > 300);
    let mut read = 0;
    for round in 0..60 {
        for name in &names {
            let bytes: Vec<u8> = (0..=chance.below(1 + round / 2)).map(|_| (chance.next() >> 40) as u8).collect();
            read += usize::from(check_decode(name, &bytes));
        }
    }
    assert!(read > 100, "{read} random inputs decode");
}

/// Modifies each vector of a folder several times and decodes it as each module; `""` is that of the vector. Returns the number
/// of valid messages.
fn decode_modified_vectors(folder: &str, modules: &[&str], times: usize) -> usize {
    let mut chance = Chance(0xFEDC_BA98_7654_3211);
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../vectors").join(folder);
    let mut read = 0;
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|e| e != "json") {
            continue;
        }
        let about: serde_json::Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        // the vectors of CCC are JSON messages
        let bytes = match about.get("message") {
            Some(message) => message.to_string().into_bytes(),
            None => hex(&fs::read_to_string(path.with_extension("hex")).unwrap()),
        };
        let of_type = about["type"].as_str().unwrap();
        for _ in 0..times {
            let mut modified = bytes.clone();
            for _ in 0..1 + chance.below(3) {
                let at = chance.below(modified.len());
                match chance.below(4) {
                    0 => modified[at] = (chance.next() >> 40) as u8,
                    1 => modified.truncate(at.max(1)),
                    2 => modified.insert(at, 0xFF),
                    _ => modified[at] ^= 1 << chance.below(8),
                }
            }
            // as its own revision, and as the others
            for module in modules {
                let name = if module.is_empty() { of_type.to_owned() } else { format!("{module}:{of_type}") };
                read += usize::from(check_decode(&name, &modified));
            }
        }
    }
    read
}

#[test]
fn modified_vectors_of_kpm_decode_or_fail() {
    let read =
        decode_modified_vectors("kpm", &["kpm-v01.00", "kpm-v02.01", "kpm-v02.03", "kpm-v03.00", "kpm-v04.00"], 60);
    assert!(read > 1000, "{read} modified messages decode");
}

#[test]
fn modified_vectors_of_ni_decode_or_fail() {
    let read = decode_modified_vectors("ni", &["ni-v01.00"], 60);
    assert!(read > 300, "{read} modified messages decode");
}

#[test]
fn modified_vectors_of_llc_decode_or_fail() {
    let read = decode_modified_vectors("llc", &["llc-v01.00"], 60);
    assert!(read > 300, "{read} modified messages decode");
}

#[test]
fn modified_vectors_of_rc_decode_or_fail() {
    let read = decode_modified_vectors("rc", &["rc-v01.03", "rc-v03.00", "rc-v05.00"], 30);
    assert!(read > 1000, "{read} modified messages decode");
}

#[test]
fn modified_vectors_of_ccc_decode_or_fail() {
    let read = decode_modified_vectors("ccc", &["ccc"], 1000);
    assert!(read > 100, "{read} modified messages decode");
}

#[test]
fn modified_vectors_of_hw_decode_or_fail() {
    let read = decode_modified_vectors("hw", &["hw"], 1000);
    assert!(read > 100, "{read} modified messages decode");
}

#[test]
fn modified_vectors_in_every_encoding_decode_or_fail() {
    let models = ["mac", "rlc", "pdcp", "gtp", "slice", "tc", "rrc", "cpu"];
    let read: usize = models.iter().map(|model| decode_modified_vectors(model, &[""], 60)).sum();
    assert!(read > 1000, "{read} modified messages decode");
}
