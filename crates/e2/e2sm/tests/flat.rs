//! The models in FlatBuffers: the schemas in `schema/` match the declarations (`UPDATE_SCHEMA=1` writes them), every value
//! in PER round-trips through FlatBuffers, buffers of `flatc` decode, and malformed buffers are errors.

mod support;

use std::fs;
use std::path::{Path, PathBuf};

use e2sm::{Arena, Error, Wire, registry};
use serde_json::Value;
use support::{hex, json};

fn project(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").join(path)
}

#[test]
fn schemas_match_declarations() {
    for (model, schema) in e2sm::flat::schemas() {
        let file = project("schema").join(model).with_extension("fbs");
        if std::env::var_os("UPDATE_SCHEMA").is_some() {
            fs::write(&file, &schema).unwrap();
        }
        let committed = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        assert_eq!(
            committed, schema,
            "schema/{model}.fbs differs from the declarations: run the test with UPDATE_SCHEMA=1"
        );
    }
}

const MODELS: [&str; 12] = ["kpm", "rc", "llc", "mac", "rlc", "pdcp", "gtp", "slice", "tc", "rrc", "cpu", "hw"];

/// Every vector in PER: a name for it, its type in the registry, and its octets.
fn every_vector(mut with: impl FnMut(&str, &str, &[u8])) {
    for model in MODELS {
        for entry in fs::read_dir(project("vectors").join(model)).unwrap() {
            let path = entry.unwrap().path();
            let name = format!("{model}/{}", path.file_stem().unwrap().to_str().unwrap());
            if path.extension().is_some_and(|e| e == "jsonl") {
                let module = name.replace("/types", "");
                for line in fs::read_to_string(&path).unwrap().lines() {
                    let about: Value = serde_json::from_str(line).unwrap();
                    let of_type = format!("{module}:{}", about["type"].as_str().unwrap());
                    with(&name, &of_type, &hex(about["hex"].as_str().unwrap()));
                }
            }
            if path.extension().is_none_or(|e| e != "hex") {
                continue;
            }
            let about: Value = serde_json::from_str(&fs::read_to_string(path.with_extension("json")).unwrap()).unwrap();
            let of_type = about["type"].as_str().unwrap();
            let of_type = match about["revision"].as_str() {
                Some(revision) => format!("{model}-v0{revision}:{of_type}"),
                None if of_type.contains(':') => of_type.to_owned(),
                None => format!("{model}:{of_type}"),
            };
            if !of_type.contains("-plain:") {
                with(&name, &of_type, &hex(&fs::read_to_string(&path).unwrap()));
            }
        }
    }
}

/// The name of the same type in FlatBuffers.
fn in_flat(of_type: &str) -> String {
    let (module, name) = of_type.split_once(':').unwrap();
    format!("{}-flat:{name}", module.strip_suffix("-per").unwrap_or(module))
}

#[test]
fn every_vector_round_trips() {
    let mut seen = 0;
    every_vector(|name, of_type, octets| {
        let arena = Arena::new();
        let value = registry::decode(of_type, octets, &arena).unwrap();
        let mut flat = Vec::new();
        value.encode_as(Wire::Flat, &mut flat).unwrap_or_else(|error| panic!("{name}: {error}"));
        let again =
            registry::decode(&in_flat(of_type), &flat, &arena).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(json(&again), json(&value), "{name}");
        let mut per = Vec::new();
        again.encode_as(Wire::Per, &mut per).unwrap();
        // a REAL is encoded by its value
        if per != octets {
            let read = registry::decode(of_type, &per, &arena).unwrap();
            assert_eq!(json(&read), json(&value), "{name}");
        }
        let mut same = Vec::new();
        again.encode(&mut same).unwrap();
        assert_eq!(same, flat, "{name}");
        seen += 1;
    });
    assert!(seen > 1000, "{seen} vectors");
}

#[test]
fn buffers_of_flatc_decode() {
    let mut seen = 0;
    every_vector(|name, of_type, octets| {
        let file = project(&format!("vectors/flat/{name}.hex"));
        if let (Ok(text), false) = (fs::read_to_string(&file), name.contains("/types")) {
            let (arena, flat) = (Arena::new(), hex(&text));
            let read = registry::decode(&in_flat(of_type), &flat, &arena).unwrap_or_else(|e| panic!("{name}: {e}"));
            let expected = registry::decode(of_type, octets, &arena).unwrap();
            assert_eq!(json(&read), json(&expected), "{name}");
            seen += 1;
        }
    });
    assert!(seen >= 15, "{seen} vectors");
}

/// Modified octets decode to a value that can be described and encoded, or to an error.
#[test]
fn modified_buffers_decode_or_fail() {
    let mut seed = 0x9E37_79B9_7F4A_7C15_u64;
    let mut below = |end: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed % end as u64) as usize
    };
    let (mut read, mut refused) = (0, 0);
    every_vector(|name, of_type, octets| {
        let arena = Arena::new();
        let (of_type, value) = (in_flat(of_type), registry::decode(of_type, octets, &arena).unwrap());
        let mut flat = Vec::new();
        value.encode_as(Wire::Flat, &mut flat).unwrap();
        for _ in 0..20 {
            let mut spoilt = flat.clone();
            for _ in 0..=below(3) {
                let at = below(spoilt.len());
                match below(4) {
                    0 => spoilt.truncate(at.max(1)),
                    _ => spoilt[at] = [0, 1, 4, 0x7F, 0x80, 0xFF][below(6)],
                }
            }
            let arena = Arena::new();
            let Ok(value) = registry::decode(&of_type, &spoilt, &arena) else {
                refused += 1;
                continue;
            };
            let mut written = Vec::new();
            value.encode(&mut written).unwrap_or_else(|error| panic!("{name} {spoilt:02x?}: {error}"));
            let again = registry::decode(&of_type, &written, &arena).unwrap();
            assert_eq!(json(&again), json(&value), "{name} {spoilt:02x?}");
            read += 1;
        }
    });
    assert!(read > 1000 && refused > 1000, "{read} read, {refused} refused");
}

#[test]
fn missing_encodings_are_refused() {
    let arena = Arena::new();
    let no_value = registry::decode("kpm-v03.00:MeasurementRecordItem", &[0x40], &arena).unwrap();
    assert_eq!(no_value.encode_as(Wire::Plain, &mut Vec::new()), Err(Error::NotInWire(Wire::Plain)));
    let trigger = hex("00 08 01 00");
    for name in ["ccc-flat:RIC-Control-Header", "mac-plain-flat:ControlHeader", "none-flat:Nothing"] {
        let refused = registry::decode(name, &trigger, &arena).err();
        assert!(matches!(refused, Some(Error::NotInWire(Wire::Flat) | Error::UnknownType)), "{name}: {refused:?}");
    }
}
