//! Arbitrary octets as any type of any service model: a decoded value round-trips.

#![no_main]

use std::sync::OnceLock;

use e2sm::kpm::{Detection, IndicationMessage, OIDS, Revision};
use e2sm::{Arena, Wire, mac};
use libfuzzer_sys::fuzz_target;

/// The names of the types.
fn names() -> &'static [String] {
    static NAMES: OnceLock<Vec<String>> = OnceLock::new();
    NAMES.get_or_init(|| e2sm::registry::types().map(|(module, name)| format!("{module}:{name}")).collect())
}

fuzz_target!(|bytes: &[u8]| {
    let [first, choice, rest @ ..] = bytes else { return };
    let name = &names()[usize::from(u16::from_be_bytes([*first, *choice])) % names().len()];
    let arena = e2sm::Arena::new();
    if let Ok(value) = e2sm::registry::decode(name, rest, &arena) {
        let mut again = Vec::new();
        value.encode(&mut again).expect("what was read can be written");
        let read = e2sm::registry::decode(name, &again, &arena).expect("what was written can be read");
        let mut third = Vec::new();
        read.encode(&mut third).expect("what was read can be written");
        assert_eq!(again, third, "{name}");
    }
    // as an xApp does with the octets of any node
    let revision = Revision::FROM_V2[usize::from(*choice) % 4];
    let arena = Arena::new();
    if let Ok(message) = IndicationMessage::decode(rest, revision, &arena) {
        let values = message.rows(None).filter(|row| row.value.number().is_some()).count();
        assert!(values <= per::MAX_ITEMS as usize);
    }
    // as a virtualization controller does
    let (mut map, wire) = (e2sm::RecordMap::default(), [Wire::Per, Wire::Plain][usize::from(*choice) % 2]);
    let found = mac::IndicationMessage::find_records(rest, wire, &mut map);
    let decoded = mac::IndicationMessage::decode(rest, wire, &arena);
    match (found, decoded) {
        (Ok(true), Ok(report)) => assert_eq!(map.records().len(), report.ues.len()),
        (Ok(true), Err(error)) => panic!("records of {error}"),
        (Err(error), Ok(_)) => panic!("no records: {error}"),
        _ => {}
    }
    for oid in OIDS.into_iter().chain([""]) {
        if let Ok(detection) = Detection::from_ran_function(oid, u16::from(*choice % 5), rest) {
            let _ = detection.with_header(rest);
        }
    }
});
