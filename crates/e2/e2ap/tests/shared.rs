//! Recorded messages of other implementations, if they are beside the project.
//!
//! They cannot be distributed with the project; without them these tests print NOT TESTED and pass.

use std::path::{Path, PathBuf};

use e2ap::Version;
use per::Gather;

fn shared() -> Option<PathBuf> {
    let found = Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .map(|dir| dir.join("../shared/vectors"))
        .find(|dir| dir.is_dir());
    if found.is_none() {
        println!("NOT TESTED: recorded messages of other implementations (no ../shared/vectors)");
    }
    found
}

fn unhex(text: &str) -> Vec<u8> {
    let text: Vec<u8> = text.bytes().filter(|b| !b.is_ascii_whitespace()).collect();
    text.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

/// Checks that a message round-trips, and that an indication is peeked.
fn round_trip(name: &str, bytes: &[u8], version: Version) {
    let gather = Gather::new();
    let decoded = e2ap::decode(bytes, version, &gather).unwrap_or_else(|e| panic!("{name}: {e}"));
    assert!(decoded.unknown.is_empty(), "{name}: {:?}", decoded.unknown);
    let mut again = Vec::new();
    decoded.encode(version, &mut again).unwrap_or_else(|e| panic!("{name}: {e}"));
    if let Some(at) = again.iter().zip(bytes).position(|(a, b)| a != b) {
        let end = (at + 16).min(again.len()).min(bytes.len());
        panic!("{name}: octet {at}: {:02x?} instead of {:02x?}", &again[at..end], &bytes[at..end]);
    }
    assert_eq!(again.len(), bytes.len(), "{name}");
    if let e2ap::Pdu::RicIndication(full) = &decoded.pdu
        && bytes.len() < 16384
    {
        let peeked = e2ap::peek::indication(bytes).unwrap_or_else(|| panic!("{name}: not peeked"));
        assert_eq!(peeked.request_id, full.request_id);
        assert_eq!(Some(peeked.message), full.message.as_slice());
        assert_eq!(Some(peeked.header), full.header.as_slice());
    }
}

#[test]
fn recorded_files_round_trip() {
    let Some(dir) = shared() else { return };
    let mut count = 0;
    for entry in std::fs::read_dir(dir.join("e2ap")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "hex") {
            let bytes = unhex(&std::fs::read_to_string(&path).unwrap());
            round_trip(&path.display().to_string(), &bytes, Version::V2_03);
            count += 1;
        }
    }
    assert!(count > 10);
}

#[test]
fn flexric_messages_round_trip() {
    let Some(dir) = shared() else { return };
    let text = std::fs::read_to_string(dir.join("flexric-e2ap-v2.json")).unwrap();
    let file: serde_json::Value = serde_json::from_str(&text).unwrap();
    let mut count = 0;
    for kind in file["vectors"].as_array().unwrap() {
        let procedure = kind["procedure"].as_str().unwrap();
        if procedure.starts_with("E42") {
            continue; // another protocol
        }
        for sample in kind["samples"].as_array().unwrap() {
            let bytes = unhex(sample["hex"].as_str().unwrap());
            round_trip(&format!("{} {procedure} {}", kind["pdu"], kind["ran_function_id"]), &bytes, Version::V2_03);
            count += 1;
        }
    }
    assert!(count > 40);
}

#[test]
fn public_vectors_round_trip() {
    let Some(dir) = shared() else { return };
    for line in std::fs::read_to_string(dir.join("e2ap/public.jsonl")).unwrap().lines() {
        let vector: serde_json::Value = serde_json::from_str(line).unwrap();
        let bytes = unhex(vector["hex"].as_str().unwrap());
        for ty in vector["types"].as_array().unwrap() {
            let version = ty[0].as_str().unwrap().trim_start_matches("e2ap-").parse().unwrap();
            if let (Version::V1_00, Err(e2ap::Error::UnknownProcedure { .. })) =
                (version, e2ap::decode(&bytes, version, &Gather::new()))
            {
                continue; // listed for v01.00 by a decoder that accepts unknown procedures
            }
            round_trip(vector["from"].as_str().unwrap(), &bytes, version);
        }
    }
}
