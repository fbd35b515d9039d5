//! `peek` agrees with the full decoder, for any octets.

mod common;

use common::{Random, by_rule, encoded};
use e2ap::*;
use per::{Gather, Octets};

/// If peek accepts octets, the full decoder decodes the same indication in every version of `versions`.
#[track_caller]
fn agree_in(octets: &[u8], versions: &[Version]) -> bool {
    let Some(peeked) = peek::indication(octets) else { return false };
    for &version in versions {
        let gather = Gather::new();
        let decoded = match decode(octets, version, &gather) {
            Ok(decoded) => decoded,
            Err(error) => panic!("v{version} refuses what was peeked: {error}\n{octets:02x?}"),
        };
        assert_eq!(decoded.unknown, [], "{octets:02x?}");
        let Pdu::RicIndication(full) = decoded.pdu else { panic!("{octets:02x?}") };
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
        assert_eq!(found, full, "v{version} {octets:02x?}");
    }
    true
}

#[track_caller]
fn agree(octets: &[u8]) -> bool {
    agree_in(octets, &Version::ALL)
}

/// Indications of several forms, from an independent encoder and from ours.
fn indications() -> Vec<Vec<u8>> {
    let mut all: Vec<_> =
        common::every_vector().into_iter().map(|(_, _, octets)| octets).filter(|octets| agree(octets)).collect();
    assert_eq!(all.len(), 8, "all IEs and the mandatory ones, in four versions");
    for (header, message) in [(0, 0), (1, 127), (20, 128), (20, 150)] {
        let (header, message) = (by_rule(header), by_rule(message));
        all.push(encoded(&common::indication(&header, &message), Version::V2_03));
    }
    all
}

#[test]
fn common_indications_are_peeked() {
    let payload = by_rule(16_400);
    let header = by_rule(20);
    let (mut peeked, mut fragmented) = (0, 0);
    for count in (0..400).chain((400..16_200).step_by(79)).chain(16_300..16_400) {
        let octets = encoded(&common::indication(&header, &payload[..count]), Version::V2_03);
        if octets[3] & 0xC0 == 0xC0 {
            assert_eq!(peek::indication(&octets), None, "{count}");
            assert!(decode(&octets, Version::V2_03, &Gather::new()).is_ok(), "{count}");
            fragmented += 1;
        } else {
            assert!(agree_in(&octets, &[Version::V2_03]), "{count}");
            peeked += 1;
        }
    }
    assert!(peeked > 600 && fragmented > 50, "{peeked} {fragmented}");
}

#[test]
fn peek_agrees_with_decoder_after_changed_octet() {
    let mut peeked = 0;
    for mut octets in indications() {
        for at in 0..octets.len() {
            let was = octets[at];
            for now in 0..=255 {
                octets[at] = now;
                peeked += usize::from(agree(&octets));
            }
            octets[at] = was;
        }
    }
    assert!(peeked > 10_000, "{peeked}");
}

#[test]
fn peek_agrees_with_decoder_on_truncated_and_extended_octets() {
    for octets in indications() {
        for end in 0..octets.len() {
            assert!(!agree(&octets[..end]), "{octets:02x?}");
        }
        for more in [0, 1, 0xFF] {
            assert!(!agree(&[&octets[..], &[more]].concat()));
        }
    }
}

#[test]
fn peek_agrees_with_decoder_on_spliced_octets() {
    let all = indications();
    let mut random = Random(0x5EED);
    for _ in 0..100_000 {
        let (a, b) = (&all[random.below(all.len())], &all[random.below(all.len())]);
        let (end, start) = (random.below(a.len() + 1), random.below(b.len() + 1));
        let mut octets = [&a[..end], &b[start..]].concat();
        // the length is often valid, so that the IEs are decoded
        if octets.len() > 4 && octets.len() < 132 && random.below(2) == 0 {
            octets[3] = (octets.len() - 4) as u8;
        }
        agree(&octets);
    }
}

/// Random IEs with valid framing: values and counts, lengths in both forms, padding bits, criticalities.
#[test]
fn peek_agrees_with_decoder_on_random_ies() {
    let good: [(u16, &[u8]); 9] = [
        (29, &[0, 3, 253, 0, 7]),
        (5, &[0, 147]),
        (15, &[3]),
        (27, &[156, 64]),
        (28, &[0]),
        (25, &[2, 5, 6]),
        (26, &[3, 7, 8, 9]),
        (20, &[1, 1]),
        (777, &[1]),
    ];
    let mut random = Random(0xACE1);
    let mut peeked = 0;
    for _ in 0..100_000 {
        let mut order: Vec<usize> = (0..8).collect();
        match random.below(8) {
            0 => drop(order.pop()),
            1 => order.push(random.below(9)),
            2 => order.swap(random.below(8), random.below(8)),
            3 => drop(order.remove(random.below(8))),
            _ => {}
        }
        let mut message = vec![random.below(128) as u8];
        message.extend((order.len() as u16).to_be_bytes());
        for ie in order {
            let (id, value) = good[ie];
            let mut value = value.to_vec();
            match random.below(24) {
                0 => drop(value.pop()),
                1 => value.push(random.below(256) as u8),
                2..=5 => {
                    let at = random.below(value.len());
                    value[at] ^= 1 << random.below(8);
                }
                _ => {}
            }
            message.extend(id.to_be_bytes());
            message.push(match random.below(40) {
                0 => random.below(256) as u8,
                _ => random.below(192) as u8,
            });
            if random.below(8) == 0 {
                message.push(0x80);
            }
            message.push(value.len() as u8);
            message.extend(value);
        }
        let mut octets = vec![random.below(32) as u8, 5, random.below(192) as u8];
        if message.len() > 127 || random.below(8) == 0 {
            octets.push(0x80);
        }
        octets.push(message.len() as u8);
        octets.extend(message);
        peeked += usize::from(agree(&octets));
    }
    assert!(peeked > 5_000, "{peeked}");
}

#[test]
fn peek_accepts_one_order_of_ies() {
    let whole = common::vector("v03.01/ric_indication");
    // the separate IEs, which are all short
    let (head, mut rest) = whole.split_at(7);
    let mut ies = Vec::new();
    while let [_, _, _, length, ..] = *rest {
        let (ie, more) = rest.split_at(4 + usize::from(length));
        ies.push(ie);
        rest = more;
    }
    assert_eq!((ies.len(), rest.len()), (8, 0));
    let gather = Gather::new();
    let expected = decode(&whole, Version::V3_01, &gather).unwrap();
    let (mut count, mut taken) = (0, 0);
    permute(&mut ies, 0, &mut |ies| {
        let octets = [head, &ies.concat()].concat();
        let version = Version::ALL[count % 4];
        if agree_in(&octets, &[version]) {
            assert_eq!(octets, whole);
            taken += 1;
        } else {
            let gather = Gather::new();
            let decoded = decode(&octets, version, &gather).unwrap();
            assert!(matches!(decoded.out_of_order(), Some(Error::Ie { fault: IeFault::OutOfOrder { .. }, .. })));
            assert_eq!(decoded.pdu, expected.pdu);
        }
        count += 1;
    });
    assert_eq!((count, taken), (40_320, 1));
}

fn permute<'a>(items: &mut [&'a [u8]], from: usize, visit: &mut impl FnMut(&[&'a [u8]])) {
    if from == items.len() {
        return visit(items);
    }
    for i in from..items.len() {
        items.swap(from, i);
        permute(items, from + 1, visit);
        items.swap(from, i);
    }
}

#[test]
fn outlines_agree_with_every_message() {
    for (path, version, octets) in common::every_vector() {
        let gather = Gather::new();
        let pdu = decode(&octets, version, &gather).unwrap().pdu;
        let outline = peek::outline(&octets).unwrap();
        assert_eq!((outline.kind, outline.procedure_code), (pdu.kind(), pdu.procedure_code()));

        let meaning: serde_json::Value = serde_json::from_str(&common::json(&pdu)).unwrap();
        let ies = &meaning[pdu.name()];
        let number = |value: &serde_json::Value| value.as_u64().map(|n| u32::try_from(n).unwrap());
        assert_eq!(outline.transaction_id.map(|id| id.0), number(&ies["transaction_id"]), "{}", path.display());
        let request_id = outline.request_id.map(|id| (id.requestor.into(), id.instance.into()));
        let expected_id = &ies["request_id"];
        assert_eq!(
            request_id,
            number(&expected_id["requestor"]).zip(number(&expected_id["instance"])),
            "{}",
            path.display()
        );
        assert_eq!(
            outline.ran_function_id.map(|id| id.0.into()),
            number(&ies["ran_function_id"]),
            "{}",
            path.display()
        );
    }
}

#[test]
fn outline_of_damaged_pdu_has_ids_before_damage() {
    for (_, _, octets) in common::every_vector() {
        let whole = peek::outline(&octets).unwrap();
        for end in 0..octets.len() {
            let cut = peek::outline(&octets[..end]);
            assert_eq!(cut.is_some(), end >= 3);
            let Some(cut) = cut else { continue };
            assert_eq!((cut.kind, cut.procedure_code), (whole.kind, whole.procedure_code));
            assert!(cut.transaction_id.is_none() || cut.transaction_id == whole.transaction_id);
            assert!(cut.request_id.is_none() || cut.request_id == whole.request_id);
        }
    }
    let mut random = Random(0xB0B);
    let all = common::every_vector();
    for _ in 0..50_000 {
        let (_, _, octets) = &all[random.below(all.len())];
        let mut octets = octets.clone();
        for _ in 0..random.below(4) {
            let at = random.below(octets.len());
            octets[at] = random.below(256) as u8;
        }
        // no panic
        let _ = (peek::outline(&octets), Version::of_setup(&octets));
    }
}

#[test]
fn outline_of_fragmented_message_reads_first_fragment() {
    let payload = by_rule(40_000);
    let octets = encoded(&common::indication(&[], &payload), Version::V2_03);
    let outline = peek::outline(&octets).unwrap();
    assert_eq!(outline.request_id, Some(RicRequestId { requestor: 1021, instance: 7 }));
    assert_eq!(outline.ran_function_id, Some(RanFunctionId(147)));
}

#[test]
fn ids_are_replaced_in_place() {
    let mut replaced = (0, 0);
    for (path, version, octets) in common::every_vector() {
        let before = peek::outline(&octets).unwrap();
        let mut changed = octets.clone();
        let request = peek::replace_request_id(&mut changed, RicRequestId { requestor: 0x1234, instance: 0xFEDC });
        let transaction = peek::replace_transaction_id(&mut changed, TransactionId(0xA5));
        let after = peek::outline(&changed).unwrap();
        assert_eq!(changed.len(), octets.len());
        assert_eq!(request, before.request_id.is_some(), "{}", path.display());
        if request {
            assert_eq!(after.request_id, Some(RicRequestId { requestor: 0x1234, instance: 0xFEDC }));
            replaced.0 += 1;
        }
        if transaction {
            assert_eq!(after.transaction_id, Some(TransactionId(0xA5)));
            replaced.1 += 1;
        }
        let gather = Gather::new();
        decode(&changed, version, &gather).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        // with the old ids it is unchanged
        if let Some(id) = before.request_id {
            peek::replace_request_id(&mut changed, id);
        }
        if let Some(id) = before.transaction_id {
            peek::replace_transaction_id(&mut changed, id);
        }
        assert_eq!(changed, octets, "{}", path.display());
    }
    assert!(replaced.0 > 40 && replaced.1 > 40, "{replaced:?}");
    // also in a fragmented message, since ids are first; other octets are not changed
    let mut long = encoded(&common::indication(&[], &by_rule(40_000)), Version::V2_03);
    assert!(peek::replace_request_id(&mut long, RicRequestId { requestor: 1, instance: 2 }));
    let gather = Gather::new();
    let id = decode_indication(&long, Version::V2_03, &gather).unwrap().request_id;
    assert_eq!(id, RicRequestId { requestor: 1, instance: 2 });
    for end in 0..12 {
        let mut cut = long[..end].to_vec();
        assert!(!peek::replace_request_id(&mut cut, RicRequestId { requestor: 9, instance: 9 }));
        assert_eq!(cut, long[..end]);
    }
    assert!(!peek::replace_transaction_id(&mut long, TransactionId(256)));
}
