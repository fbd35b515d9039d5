//! Octets of other encoders (`vectors/per/make.py`), decoded and encoded at several positions within an octet.

mod common;

use std::collections::BTreeSet;
use std::path::Path;

use per::{Decode, Describe, Encode, Gather, Heap, IntoOwned};
use serde_json::Value;

/// Decodes a value. Returns it as JSON, and whether it is encoded to the same octets.
fn check<'a, T>(phase: u32, bytes: &'a [u8], gather: &'a Gather) -> (Value, bool)
where
    T: Decode<'a, Heap<'a>> + Encode + Describe + IntoOwned,
    T::Owned: Encode + Describe,
{
    let value: T = match common::decode_at(phase, bytes, Heap::gathering(gather)) {
        Ok(value) => value,
        Err(error) => return (error.to_string().into(), false),
    };
    let (json, again) = (common::json::of(&value), common::encode_at(phase, &value));
    let owned = value.into_owned();
    assert_eq!(common::json::of(&owned), json, "the owned value is the same");
    assert_eq!(common::encode_at(phase, &owned), again);
    (json, again.as_deref() == Ok(bytes))
}

#[test]
fn construct_vectors_round_trip() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../vectors/per/constructs.json");
    let vectors: Vec<Value> = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let mut seen = BTreeSet::new();
    let mut failures = Vec::new();
    for vector in &vectors {
        let name = vector["type"].as_str().unwrap();
        let phase = vector["phase"].as_u64().unwrap() as u32;
        let bytes = common::json::octets(vector["hex"].as_str().unwrap());
        let gather = Gather::new();
        let mut result = None;
        macro_rules! go {
            ($known:expr, $ty:ty) => {
                if name == $known {
                    result = Some(check::<$ty>(phase, &bytes, &gather));
                    seen.insert($known);
                }
            };
        }
        for_each_type!(go);
        let (value, same) = result.unwrap_or_else(|| panic!("{name} is not in the list of types"));
        // unknown additions are not encoded
        let same = same || name.starts_with("UnknownAdditions");
        if value != vector["value"] || !same {
            failures.push(format!("{vector}\n    read {value}, written back: {same}"));
        }
    }
    assert!(failures.is_empty(), "{} of {} fail:\n{}", failures.len(), vectors.len(), failures.join("\n"));
    macro_rules! all_seen {
        ($known:expr, $ty:ty) => {
            assert!(seen.contains($known), "no vector for {}", $known);
        };
    }
    for_each_type!(all_seen);
}
