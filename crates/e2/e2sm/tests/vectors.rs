//! The vectors of this project: octets and values from an independent encoder, decoded and encoded.

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use e2sm::Arena;
use serde_json::Value;
use support::{hex, json};

fn folder(name: &str) -> Vec<(String, Vec<u8>, Value)> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../vectors").join(name);
    let mut files: Vec<PathBuf> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|e| e == "hex"));
    files.sort();
    files
        .into_iter()
        .map(|path| {
            let bytes = hex(&fs::read_to_string(&path).unwrap());
            let about = fs::read_to_string(path.with_extension("json")).unwrap();
            (path.file_stem().unwrap().to_string_lossy().into_owned(), bytes, serde_json::from_str(&about).unwrap())
        })
        .collect()
}

/// Letters and digits in lower case: the common form of a name in ASN.1 and Rust.
fn plain(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

/// Whether `ours` is the Rust name of `theirs` in ASN.1: Rust omits what the name of the type contains already.
fn same_name(ours: &str, theirs: &str) -> bool {
    // KPM v01.00 and NI have other names for types that they share with E2SM
    // the ASN.1 of LLC v01.00 has misspelt names
    const OTHERWISE: [(&str, &str); 11] = [
        ("plmn_identity", "plmn-id"),
        ("ng_enb_id", "enb-id"),
        ("MacroNgEnbId", "enb-ID-macro"),
        ("ShortMacroNgEnbId", "enb-ID-shortmacro"),
        ("LongMacroNgEnbId", "enb-ID-longmacro"),
        ("system_frame_number", "systemFramNumber"),
        ("smg_priority", "smgProirity"),
        ("prb_bundling_size_indicator", "prbBundlingSizeIndicagor"),
        ("use_cs_rnti", "useCsiRnti"),
        ("received_timestamp", "receivedTimstamp"),
        ("dl_grant_outcome_list", "dlGrantOutome-List"),
    ];
    if OTHERWISE.contains(&(ours, theirs)) {
        return true;
    }
    // an unused format of a revision
    let ours = &ours.replace("Unused", "Format");
    plain(theirs).ends_with(&plain(ours)) || plain(theirs).starts_with(&plain(ours))
}

/// Compares a decoded value with that of the independent encoder, in JSON Encoding Rules (X.697).
fn compare(ours: &Value, theirs: &Value, at: &str) {
    match (ours, theirs) {
        // in v02.01 MatchingCondItem is the CHOICE itself
        (Value::Object(a), Value::Object(b)) if a.contains_key("choice") && !b.contains_key("matchingCondChoice") => {
            assert_eq!(a.len(), 1, "{at}");
            compare(&a["choice"], theirs, at);
        }
        (Value::Object(a), Value::Object(b)) => {
            assert_eq!(a.len(), b.len(), "{at}: {:?} and {:?}", a.keys(), b.keys());
            for (name, value) in a {
                // the best match: `qci` is the first of `qCI`, `qCImax` and `qCImin`
                let same = b.iter().filter(|(theirs, _)| same_name(name, theirs));
                let Some((theirs_name, theirs)) = same.min_by_key(|(theirs, _)| theirs.len()) else {
                    panic!("{at}: {name} is not among {:?}", b.keys());
                };
                compare(value, theirs, &format!("{at}.{theirs_name}"));
            }
        }
        (Value::Array(a), Value::Array(b)) => {
            assert_eq!(a.len(), b.len(), "{at}");
            for (i, (a, b)) in a.iter().zip(b).enumerate() {
                compare(a, b, &format!("{at}[{i}]"));
            }
        }
        // a BIT STRING of fixed size is a string of digits in X.697
        (Value::Object(bits), Value::String(digits)) if bits.contains_key("length") => {
            assert_eq!(bits["value"].as_str().map(str::to_lowercase), Some(digits.to_lowercase()), "{at}");
        }
        (Value::Number(a), Value::Number(b)) => assert_eq!(a.as_f64(), b.as_f64(), "{at}"),
        // digits and symbols differ in case, and symbols have no hyphens here
        (Value::String(a), Value::String(b)) => {
            assert!(a.eq_ignore_ascii_case(b) || a.eq_ignore_ascii_case(&b.replace('-', "")), "{at}: {a} and {b}");
        }
        (a, b) => assert_eq!(a, b, "{at}"),
    }
}

/// Decodes a vector, compares it with the expected value and encodes it again.
fn check(name: &str, of_type: &str, bytes: &[u8], theirs: &Value) {
    let arena = Arena::new();
    let value =
        e2sm::registry::decode(of_type, bytes, &arena).unwrap_or_else(|error| panic!("{name} {of_type}: {error}"));
    compare(&json(&value), theirs, name);
    let mut again = Vec::new();
    value.encode(&mut again).unwrap();
    assert_eq!(again, bytes, "{name} {of_type}");
}

/// The messages of a model, one in each file.
fn messages(model: &str, least: usize) {
    let vectors = folder(model);
    assert!(vectors.len() >= least, "{} vectors", vectors.len());
    for (name, bytes, about) in vectors {
        let (revision, of_type) = (about["revision"].as_str().unwrap(), about["type"].as_str().unwrap());
        check(&name, &format!("{model}-v0{revision}:{of_type}"), &bytes, &about["value"]);
    }
}

#[test]
fn kpm_vectors_round_trip() {
    messages("kpm", 110);
    let seen = types("kpm", "v01.00");
    assert!(seen > 80, "{seen} types");
}

#[test]
fn llc_vectors_round_trip() {
    messages("llc", 60);
    let seen = types("llc", "v01.00");
    assert!(seen > 100, "{seen} types");
}

#[test]
fn ni_vectors_round_trip() {
    messages("ni", 40);
    let seen = types("ni", "v01.00");
    assert!(seen > 80, "{seen} types");
}

#[test]
fn rc_vectors_round_trip() {
    messages("rc", 180);
}

/// The types of messages, one in each line.
fn types(model: &str, revision: &str) -> usize {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../vectors").join(model);
    let text = fs::read_to_string(dir.join(format!("types-{revision}.jsonl"))).unwrap();
    for line in text.lines() {
        let about: Value = serde_json::from_str(line).unwrap();
        let of_type = format!("{model}-{revision}:{}", about["type"].as_str().unwrap());
        check(revision, &of_type, &hex(about["hex"].as_str().unwrap()), &about["value"]);
    }
    text.lines().count()
}

#[test]
fn rc_type_vectors_round_trip() {
    let seen: usize = ["v01.03", "v03.00", "v05.00"].into_iter().map(|revision| types("rc", revision)).sum();
    assert!(seen > 700, "{seen} types");
}

/// JSON is compared as JSON: the samples do not fix its formatting.
#[test]
fn ccc_samples_round_trip() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../vectors/ccc");
    let mut seen = BTreeSet::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|e| e != "json") {
            continue;
        }
        let about: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        let of_type = about["type"].as_str().unwrap();
        let (arena, text) = (Arena::new(), about["message"].to_string());
        let value = e2sm::registry::decode(&format!("ccc:{of_type}"), text.as_bytes(), &arena)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert_eq!(json(&value), about["message"], "{}", path.display());
        let mut again = Vec::new();
        value.encode(&mut again).unwrap();
        assert_eq!(serde_json::from_slice::<Value>(&again).unwrap(), about["message"], "{}", path.display());
        seen.insert(of_type.to_owned());
    }
    let known: BTreeSet<_> = e2sm::registry::types().filter(|(module, _)| *module == "ccc").collect();
    assert_eq!(seen.len(), known.len(), "a sample of each type: {seen:?}");
}

#[test]
fn hw_vectors_round_trip() {
    let vectors = folder("hw");
    assert!(!vectors.is_empty());
    for (name, bytes, about) in vectors {
        let arena = Arena::new();
        let value = e2sm::registry::decode(&format!("hw:{}", about["type"].as_str().unwrap()), &bytes, &arena)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(json(&value), about["value"], "{name}");
        let mut again = Vec::new();
        value.encode(&mut again).unwrap();
        assert_eq!(again, bytes, "{name}");
    }
}

/// FlexRIC's models and those of ferric, in PER and in FlexRIC's layout.
#[test]
fn models_round_trip_in_every_encoding() {
    let models = ["mac", "rlc", "pdcp", "gtp"].map(|model| (model, 15));
    for (model, least) in models.into_iter().chain([("slice", 30), ("tc", 60), ("rrc", 5), ("cpu", 20)]) {
        let vectors = folder(model);
        assert!(vectors.len() >= least, "{} vectors of {model}", vectors.len());
        for (name, bytes, about) in vectors {
            let arena = Arena::new();
            let value = e2sm::registry::decode(about["type"].as_str().unwrap(), &bytes, &arena)
                .unwrap_or_else(|error| panic!("{model} {name}: {error}"));
            compare(&json(&value), &about["value"], &format!("{model} {name}"));
            let mut again = Vec::new();
            value.encode(&mut again).unwrap();
            assert_eq!(again, bytes, "{model} {name}");
        }
    }
}
