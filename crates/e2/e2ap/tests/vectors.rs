//! The vectors of the project: every message of every version, from an independent encoder.
//!
//! `vectors/e2ap/<version>/<message>.hex` is a PDU with all its IEs, `<message>-<form>.hex` is another form of it, and the `.json`
//! beside each has its content. Contents are compared as text. `UPDATE_VECTORS=1` rewrites them for renamed fields and new octets;
//! review the difference.

mod common;

use std::collections::{BTreeMap, BTreeSet};

use e2ap::Version;
use e2ap::message::Presence;
use per::Gather;

#[test]
fn vectors_decode_to_json_and_encode_to_same_octets() {
    let update = std::env::var_os("UPDATE_VECTORS").is_some();
    for (path, version, octets) in common::every_vector() {
        let gather = Gather::new();
        let name = path.display();
        let decoded = e2ap::decode(&octets, version, &gather).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(decoded.unknown.is_empty(), "{name}: {:?}", decoded.unknown);
        assert_eq!(decoded.deviations, e2ap::Deviations::default(), "{name}: criticalities differ from the tables'");

        let meaning = format!("{}\n", common::json(&decoded.pdu));
        let file = path.with_extension("json");
        if update {
            std::fs::write(&file, &meaning).unwrap();
        }
        let expected = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        assert_eq!(meaning, expected, "{name}");

        let mut again = Vec::new();
        decoded.pdu.encode(version, &mut again).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(again, octets, "{name}");

        let owned = decoded.pdu.clone().into_owned();
        assert_eq!(owned, decoded.pdu, "{name}");
    }
}

/// Every message of every version has a vector with all IEs of its wire table, and a minimal one with the mandatory IEs unless
/// all are mandatory.
#[test]
fn vectors_cover_every_ie_of_every_message_of_every_version() {
    let mut shapes = BTreeMap::new();
    for (path, version, octets) in common::every_vector() {
        let gather = Gather::new();
        let pdu = e2ap::decode(&octets, version, &gather).unwrap().pdu;
        let meaning: serde_json::Value = serde_json::from_str(&common::json(&pdu)).unwrap();
        let ies: BTreeSet<String> = meaning[pdu.name()].as_object().unwrap().keys().cloned().collect();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let shape = name.split_once('-').map_or("", |(_, shape)| shape).to_owned();
        shapes.insert((version, pdu.name(), shape), ies);
    }
    let mut messages = [0; 4];
    for version in Version::ALL {
        let column = usize::from(version.revision());
        for (message, table) in e2ap::TABLES {
            let rows = |keep: fn(Presence) -> bool| -> BTreeSet<String> {
                table.iter().filter(|row| keep(row.presence[column])).map(|row| row.name.to_owned()).collect()
            };
            let there = rows(|presence| presence != Presence::Absent);
            if there.is_empty() {
                continue;
            }
            messages[column] += 1;
            let shape = |shape: &str| shapes.get(&(version, *message, shape.to_owned()));
            let all = shape("").unwrap_or_else(|| panic!("v{version} {message} has no vector"));
            assert_eq!(*all, there, "v{version} {message}");
            let mandatory = rows(|presence| presence == Presence::Mandatory);
            assert_eq!(*shape("minimal").unwrap_or(all), mandatory, "v{version} {message}");
        }
    }
    assert_eq!(messages, [20, 26, 30, 39]);
}

/// An id denotes one IE in a version: rows with the same id belong to different versions.
#[test]
fn ids_are_unique_in_every_version() {
    for (message, table) in e2ap::TABLES {
        for column in 0..4 {
            let ids: Vec<_> =
                table.iter().filter(|row| row.presence[column] != Presence::Absent).map(|row| row.id).collect();
            assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "{message}");
        }
    }
}
