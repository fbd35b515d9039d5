//! One suite for all encodings.

mod common;

use common::Random;
use e2ap::{Codec, Decoded, Error, Kind, ProcedureCode, Version};
use per::Gather;

/// Every message of every version, decoded from its PER vector.
fn every_message(mut with: impl FnMut(&str, Version, &Decoded<'_>)) {
    for (path, version, octets) in common::every_vector() {
        let gather = Gather::new();
        let decoded = e2ap::decode(&octets, version, &gather).unwrap();
        with(&path.display().to_string(), version, &decoded);
    }
}

#[test]
fn every_message_round_trips() {
    for codec in Codec::ALL {
        every_message(|name, version, message| {
            let mut octets = vec![0xAA; 3];
            codec.encode(&message.pdu, version, &mut octets).unwrap_or_else(|error| panic!("{codec} {name}: {error}"));
            assert_eq!(octets[..3], [0xAA; 3], "{codec} {name}: appends");
            let octets = &octets[3..];

            let gather = Gather::new();
            let again = codec.decode(octets, version, &gather).unwrap_or_else(|e| panic!("{codec} {name}: {e}"));
            assert_eq!(again, *message, "{codec} {name}");

            let outline = codec.outline(octets).unwrap_or_else(|| panic!("{codec} {name} has no outline"));
            assert_eq!((outline.kind, outline.procedure_code), (message.pdu.kind(), message.pdu.procedure_code()));
            let per = Codec::Per.outline(&encoded(Codec::Per, message, version)).unwrap();
            assert_eq!(outline, per, "{codec} {name}");
            let setup = codec.version_of_setup(octets);
            let is_setup = (outline.kind, outline.procedure_code) == (Kind::Initiating, ProcedureCode::E2_SETUP);
            assert_eq!(setup.is_some(), is_setup, "{codec} {name}");
            assert_eq!(setup, Version::of_setup(&encoded(Codec::Per, message, version)), "{codec} {name}");
        });
    }
}

fn encoded(codec: Codec, message: &Decoded<'_>, version: Version) -> Vec<u8> {
    let mut octets = Vec::new();
    codec.encode_decoded(message, version, &mut octets).unwrap();
    octets
}

#[test]
fn peeked_indication_equals_decoded_indication() {
    for codec in Codec::ALL {
        for size in [0, 1, 100, 1500, 16_383, 100_000] {
            let (header, payload) = (common::by_rule(20), common::by_rule(size));
            let indication = common::indication(&header, &payload);
            let mut octets = Vec::new();
            codec.encode_indication(&indication, Version::V2_03, &mut octets).unwrap();
            let gather = Gather::new();
            assert_eq!(
                codec.decode_indication(&octets, Version::V2_03, &gather).unwrap(),
                indication,
                "{codec} {size}"
            );
            // from 16384 octets on PER has fragments, which are not peeked
            let Some(peeked) = codec.peek_indication(&octets) else {
                assert!(*codec == Codec::Per && size >= 16_383, "{codec} {size}");
                continue;
            };
            assert_eq!(peeked.request_id, indication.request_id);
            assert_eq!(peeked.ran_function_id, indication.ran_function_id);
            assert_eq!(
                (peeked.action_id, peeked.sn, peeked.kind),
                (indication.action_id, indication.sn, indication.kind)
            );
            assert_eq!((peeked.header, peeked.message), (&header[..], &payload[..]), "{codec} {size}");
            assert_eq!(peeked.call_process_id, None);
        }
        every_message(|name, version, message| {
            let peeked = codec.peek_indication(&encoded(*codec, message, version)).is_some();
            assert_eq!(peeked, message.pdu.name() == "RicIndication", "{codec} {name}");
        });
    }
}

/// Octets of another encoding are rejected, unless they happen to be valid.
#[test]
fn octets_of_another_encoding_are_rejected() {
    for writer in Codec::ALL {
        for reader in Codec::ALL.iter().filter(|reader| *reader != writer) {
            every_message(|name, version, message| {
                let octets = encoded(*writer, message, version);
                let gather = Gather::new();
                assert!(reader.decode(&octets, version, &gather).is_err(), "{name}, {writer} read as {reader}");
                assert_eq!(reader.peek_indication(&octets), None, "{name}, {writer} read as {reader}");
            });
        }
    }
}

/// For truncated, changed and random octets, decoding returns, and peeked values equal decoded ones.
#[test]
fn modified_buffers_decode_or_fail() {
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    for codec in Codec::ALL {
        every_message(|name, version, message| {
            let whole = encoded(*codec, message, version);
            for end in 0..whole.len() {
                let gather = Gather::new();
                let cut = codec.decode(&whole[..end], version, &gather);
                // the last octets of a buffer may be padding, or belong to an optional IE that can be ignored
                assert!(cut.is_err() || codec.name() != "per", "{codec} {name} cut at {end}");
                probe(*codec, &whole[..end], version);
            }
            for _ in 0..200 {
                let mut changed = whole.clone();
                for _ in 0..=random.below(3) {
                    let at = random.below(changed.len());
                    changed[at] = [0, 1, 0x7F, 0x80, 0xFF, changed[at].wrapping_add(1)][random.below(6)];
                }
                probe(*codec, &changed, version);
            }
        });
        for _ in 0..20_000 {
            let octets: Vec<u8> = (0..random.below(64)).map(|_| random.below(256) as u8).collect();
            probe(*codec, &octets, Version::V3_01);
        }
    }
}

fn probe(codec: Codec, octets: &[u8], version: Version) {
    let _ = codec.version_of_setup(octets);
    let gather = Gather::new();
    let decoded = codec.decode(octets, version, &gather);
    if let Some(peeked) = codec.peek_indication(octets) {
        let indication = codec.decode_indication(octets, version, &gather).unwrap();
        assert_eq!(peeked.request_id, indication.request_id);
        assert_eq!(Some(peeked.message), indication.message.as_slice());
    }
    match decoded {
        // a decoded message round-trips
        Ok(decoded) => {
            let again = encoded(codec, &decoded, version);
            let gather = Gather::new();
            assert_eq!(codec.decode(&again, version, &gather).unwrap().pdu, decoded.pdu);
        }
        Err(error) => {
            let _ = (error.cause(), error.diagnostics(), error.to_string());
            if let Error::Ie { kind, procedure_code, .. } = error {
                let outline = codec.outline(octets).unwrap();
                assert_eq!((outline.kind, outline.procedure_code), (kind, procedure_code));
            }
        }
    }
}
