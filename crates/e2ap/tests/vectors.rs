//! The project's own vectors: every message of every version, made by an independent encoder.
//!
//! `vectors/e2ap/<version>/<message>.hex` holds a PDU with all its IEs, `<message>-<what>.hex` other shapes of it, and
//! the `.json` beside each what it means. A meaning is compared as text; `UPDATE_VECTORS=1` writes it anew, after a
//! field got another name or for new octets, to be read before it is committed.

mod common;

use std::collections::BTreeSet;

use e2ap::Version;
use e2ap::message::Presence;
use per::Gather;

#[test]
fn decode_to_their_meaning_and_encode_to_the_same_octets() {
    let update = std::env::var_os("UPDATE_VECTORS").is_some();
    for (path, version, octets) in common::every_vector() {
        let gather = Gather::new();
        let name = path.display();
        let decoded = e2ap::decode(&octets, version, &gather).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(decoded.unknown.is_empty(), "{name}: {:?}", decoded.unknown);
        assert_eq!(decoded.marks, e2ap::Marks::default(), "{name}: criticalities differ from the tables'");

        let meaning = format!("{}\n", common::json(&decoded.pdu));
        let file = path.with_extension("json");
        if update {
            std::fs::write(&file, &meaning).unwrap();
        }
        let told = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        assert_eq!(meaning, told, "{name}");

        let mut again = Vec::new();
        decoded.pdu.encode(version, &mut again).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(again, octets, "{name}");

        let owned = decoded.pdu.clone().into_owned();
        assert_eq!(owned, decoded.pdu, "{name}");
    }
}

/// No message of any version is without a vector, and no vector lacks an IE that its version has.
#[test]
fn cover_every_message_and_ie_of_every_version() {
    let mut seen = BTreeSet::new();
    for (_, version, octets) in common::every_vector() {
        let gather = Gather::new();
        let pdu = e2ap::decode(&octets, version, &gather).unwrap().pdu;
        let text = common::json(&pdu);
        let (_, table) = e2ap::TABLES.iter().find(|(name, _)| *name == pdu.name()).unwrap();
        for row in *table {
            if text.contains(&format!("\n    \"{}\": ", row.name)) {
                seen.insert((version, pdu.name(), row.name));
            }
        }
    }
    let mut messages = [0; 4];
    for version in Version::ALL {
        let column = usize::from(version.revision());
        for (message, table) in e2ap::TABLES {
            let rows: Vec<_> = table.iter().filter(|row| row.presence[column] != Presence::Absent).collect();
            for row in &rows {
                assert!(seen.contains(&(version, *message, row.name)), "v{version} {message} {}", row.name);
            }
            messages[column] += usize::from(!rows.is_empty());
        }
    }
    assert_eq!(messages, [20, 26, 30, 39]);
}
