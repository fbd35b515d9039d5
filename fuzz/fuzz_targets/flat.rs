//! Arbitrary octets as FlatBuffers: as an E2AP PDU of every version, and as any type of any service model. A decoded value
//! round-trips, a rejected PDU can be answered, and peek agrees with the decoder.

#![no_main]

use std::sync::OnceLock;

use e2ap::{Codec, ErrorIndication, Pdu, RicIndication, Version};
use libfuzzer_sys::fuzz_target;
use per::{Gather, Octets};

/// The names of the types of the models.
fn names() -> &'static [String] {
    static NAMES: OnceLock<Vec<String>> = OnceLock::new();
    NAMES.get_or_init(|| {
        let flat =
            |(module, name): (&str, &str)| format!("{}-flat:{name}", module.strip_suffix("-per").unwrap_or(module));
        // the other models have no FlatBuffers
        let has_flat = |(module, _): &(&str, &str)| !module.ends_with("-plain") && *module != "ccc";
        e2sm::registry::types().filter(has_flat).map(flat).collect()
    })
}

fn message(bytes: &[u8], version: Version) {
    let gather = Gather::new();
    let peeked = Codec::FLAT.peek_indication(bytes);
    match Codec::FLAT.decode(bytes, version, &gather) {
        Ok(decoded) => {
            let outline = Codec::FLAT.outline(bytes).expect("whatever can be read has an outline");
            assert_eq!((outline.kind, outline.procedure_code), (decoded.pdu.kind(), decoded.pdu.procedure_code()));
            let mut again = Vec::new();
            Codec::FLAT.encode_decoded(&decoded, version, &mut again).expect("what was read can be written");
            let read = Codec::FLAT.decode(&again, version, &gather).expect("what was written can be read");
            assert_eq!(read.pdu, decoded.pdu);
            // A message in this encoding can be converted to PER, except for values that the version does not have: below the IEs,
            // FlatBuffers are the same in all versions.
            let mut per = Vec::new();
            match Codec::Per.encode_decoded(&decoded, version, &mut per) {
                Ok(()) => {
                    let gather = Gather::new();
                    let read = e2ap::decode(&per, version, &gather).expect("what was written can be read");
                    assert_eq!(read.pdu, decoded.pdu);
                }
                Err(error) => {
                    let kind = error.kind;
                    assert!(matches!(kind, per::ErrorKind::NotInRevision | per::ErrorKind::Missing), "{error}");
                }
            }
            if let Some(peeked) = peeked {
                let found = RicIndication {
                    request_id: peeked.request_id,
                    ran_function_id: peeked.ran_function_id,
                    action_id: peeked.action_id,
                    sn: peeked.sn,
                    kind: peeked.kind,
                    header: Octets::from(peeked.header),
                    message: Octets::from(peeked.message),
                    call_process_id: peeked.call_process_id.map(Octets::from),
                };
                assert_eq!(Pdu::from(found), decoded.pdu);
            }
        }
        Err(error) => {
            assert_eq!(peeked, None, "peeked, but {error}");
            let answer = ErrorIndication {
                transaction_id: None,
                request_id: None,
                ran_function_id: None,
                cause: Some(error.cause().in_version(version)),
                criticality_diagnostics: error.diagnostics(),
            };
            let answer = Pdu::from(answer);
            Codec::FLAT.encode(&answer, version, &mut Vec::new()).expect("whatever is wrong can be told");
        }
    }
}

fn model(name: &str, bytes: &[u8]) {
    let arena = e2sm::Arena::new();
    let Ok(value) = e2sm::registry::decode(name, bytes, &arena) else { return };
    let mut again = Vec::new();
    value.encode(&mut again).expect("what was read can be written");
    let read = e2sm::registry::decode(name, &again, &arena).expect("what was written can be read");
    let mut third = Vec::new();
    read.encode(&mut third).expect("what was read can be written");
    assert_eq!(again, third, "{name}");
}

fuzz_target!(|bytes: &[u8]| {
    let [first, second, rest @ ..] = bytes else { return };
    match first {
        0..64 => Version::ALL.into_iter().for_each(|version| message(rest, version)),
        _ => {
            let choice = usize::from(u16::from_be_bytes([*first, *second]));
            model(&names()[choice % names().len()], rest);
        }
    }
});
