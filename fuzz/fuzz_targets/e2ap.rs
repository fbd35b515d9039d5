//! Arbitrary octets as an E2AP PDU of every version: a decoded PDU round-trips, a rejected one can be answered, and peek agrees
//! with the full decoder.

#![no_main]

use e2ap::{ErrorIndication, Pdu, RicIndication, Version, decode, encode, peek};
use libfuzzer_sys::fuzz_target;
use per::{Gather, Octets};

fuzz_target!(|bytes: &[u8]| {
    let peeked = peek::indication(bytes);
    let outline = peek::outline(bytes);
    let _ = Version::of_setup(bytes);
    for version in Version::ALL {
        let gather = Gather::new();
        match decode(bytes, version, &gather) {
            Ok(decoded) => {
                let outline = outline.expect("whatever can be read has an outline");
                assert_eq!((outline.kind, outline.procedure_code), (decoded.pdu.kind(), decoded.pdu.procedure_code()));
                let mut again = Vec::new();
                decoded.encode(version, &mut again).expect("what was read can be written");
                let gather = Gather::new();
                let read = decode(&again, version, &gather).expect("what was written can be read");
                assert_eq!(read.pdu, decoded.pdu);
                assert!(read.unknown.is_empty());
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
                    assert!(decoded.unknown.is_empty());
                }
                assert_eq!(decoded.pdu.into_owned(), read.pdu);
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
                encode(&answer, version, &mut Vec::new()).expect("whatever is wrong can be told");
                assert!(error.bit().is_none_or(|bit| bit <= bytes.len() * 8));
            }
        }
    }
});
