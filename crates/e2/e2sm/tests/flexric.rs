//! FlexRIC's plain layout: recorded messages of FlexRIC, and malformed octets.

mod support;

use e2sm::plain::ErrorKind;
use e2sm::slice::{Algorithm, ControlMessage, ControlOutcome, Parameters, Positions};
use e2sm::{Arena, Error, Wire, detect, gtp, mac, pdcp, registry, rlc, slice, tc};
use support::hex;
use support::recorded::{Recorded, find_ie, ie, prefixed, shared};

const MODELS: [(&str, e2sm::Model); 6] = [
    ("mac", mac::MODEL),
    ("rlc", rlc::MODEL),
    ("pdcp", pdcp::MODEL),
    ("slice", slice::MODEL),
    ("tc", tc::MODEL),
    ("gtp", gtp::MODEL),
];

/// Decodes and encodes again.
fn round(name: &str, bytes: &[u8]) {
    let arena = Arena::new();
    let value = registry::decode(name, bytes, &arena).unwrap_or_else(|error| panic!("{name} {bytes:02x?}: {error}"));
    let mut again = Vec::new();
    value.encode(&mut again).unwrap();
    assert_eq!(again, bytes, "{name}");
}

#[test]
fn recorded_messages_round_trip() {
    let Some(shared) = shared() else { return };
    let recorded = Recorded::read(&shared);
    let mut indications = 0;
    for (module, model) in MODELS {
        let name = |of: &str| format!("{module}-plain:{of}");
        let function = Some(u64::from(model.function_id));
        for pdu in recorded.samples("initiatingMessage", "RICsubscription", function) {
            // RICsubscriptionDetails: a preamble octet, then the trigger
            round(&name("EventTriggerDefinition"), prefixed(&ie(&pdu, 30, 0x00)[1..]).0);
        }
        for pdu in recorded.samples("initiatingMessage", "RICindication", function) {
            round(&name("IndicationHeader"), prefixed(ie(&pdu, 25, 0x00)).0);
            round(&name("IndicationMessage"), prefixed(ie(&pdu, 26, 0x00)).0);
            indications += 1;
        }
        for pdu in recorded.samples("initiatingMessage", "RICcontrol", function) {
            round(&name("ControlHeader"), prefixed(ie(&pdu, 22, 0x00)).0);
            round(&name("ControlMessage"), prefixed(ie(&pdu, 23, 0x00)).0);
        }
        for pdu in recorded.samples("successfulOutcome", "RICcontrol", function) {
            if let Some(outcome) = find_ie(&pdu, 32, 0x00) {
                round(&name("ControlOutcome"), prefixed(outcome).0);
            }
        }
    }
    assert_eq!(indications, 10, "two of each of five models");
}

#[test]
fn recorded_functions_are_detected() {
    let Some(shared) = shared() else { return };
    let setup = &Recorded::read(&shared).samples("initiatingMessage", "E2setup", None)[0];
    for (_, model) in MODELS {
        let name = model.name.as_bytes();
        let at = setup.windows(name.len()).position(|w| w == name).expect("the setup contains the name");
        let (definition, rest) = prefixed(&setup[at - 1..]);
        let read = e2sm::flexric::RanFunctionDefinition::decode_owned(definition, Wire::Plain).unwrap();
        assert_eq!(*read.name, *model.name);
        // the revision, then the object identifier: an extension bit and its length minus 1
        let oid = &rest[5..5 + usize::from(rest[4]) + 1];
        let oid = std::str::from_utf8(oid).unwrap();
        assert_eq!((detect(oid), oid), (Some((model.function_id, Wire::Plain)), &*model.oid(Wire::Plain)));
    }
}

/// A MAC message of FlexRIC's emulated base station, decoded by hand.
#[test]
fn values_are_at_expected_offsets() {
    let Some(shared) = shared() else { return };
    let recorded = Recorded::read(&shared);
    let message = |function: u16| {
        let pdu = &recorded.samples("initiatingMessage", "RICindication", Some(function.into()))[0];
        prefixed(ie(pdu, 26, 0x00)).0.to_vec()
    };
    let arena = Arena::new();
    let bytes = message(142);
    let read = mac::IndicationMessage::decode(&bytes, Wire::Plain, &arena).unwrap();
    let [ue] = &*read.ues else { panic!("one UE") };
    assert_eq!(
        (ue.dl_aggr_tbs_octets, ue.ul_aggr_sdu_octets, ue.pusch_snr_db, ue.pucch_snr_db),
        (787, 873, 64.0, 64.0)
    );
    assert_eq!((ue.rnti, ue.phr_db), (559, -98));
    // microseconds: between 2020 and 2033
    assert!((1_600_000_000_000_000..2_000_000_000_000_000).contains(&read.timestamp_us));

    let bytes = message(143);
    let read = rlc::IndicationMessage::decode(&bytes, Wire::Plain, &arena).unwrap();
    assert_eq!(read.bearers.len(), 2);
    assert_eq!(
        (read.bearers[0].tx_sdu_octets, read.bearers[0].rx_sdu_octets, read.bearers[0].mode),
        (561, 168, rlc::Mode::AM)
    );

    let bytes = message(144);
    let read = pdcp::IndicationMessage::decode(&bytes, Wire::Plain, &arena).unwrap();
    assert_eq!((read.bearers.len(), read.bearers[1].rnti, read.bearers[1].mode, read.bearers[1].rb_id), (6, 202, 2, 4));

    let bytes = message(148);
    let read = gtp::IndicationMessage::decode(&bytes, Wire::Plain, &arena).unwrap();
    let tunnel = gtp::Tunnel { rnti: 787, teid_gnb: 819, qfi: 0x13, teid_upf: 0x69 };
    assert_eq!((read.tunnels.len(), read.tunnels[0]), (2, tunnel));

    let bytes = message(145);
    let read = slice::IndicationMessage::decode(&bytes, Wire::Plain, &arena).unwrap();
    let [slice] = &*read.slices.ul.slices else { panic!("one slice") };
    assert_eq!((&*read.slices.dl.scheduler, &*slice.label), ("MY SLICE", "This is my label"));
    assert_eq!(slice.parameters, Parameters::Static(Positions { low: 2, high: 21 }));
    assert_eq!((read.ues.len(), read.ues[0].rnti), (4, 455));
}

/// The three controls of FlexRIC's slice example, and the outcome of its base station.
#[test]
fn recorded_slice_controls_decode() {
    let Some(shared) = shared() else { return };
    let recorded = Recorded::read(&shared);
    let pdus = recorded.samples("initiatingMessage", "RICcontrol", Some(145));
    let read: Vec<_> = pdus
        .iter()
        .map(|pdu| ControlMessage::decode_owned(prefixed(ie(pdu, 23, 0x00)).0, Wire::Plain).unwrap())
        .collect();
    let [ControlMessage::AddOrModify(add), ControlMessage::Delete(delete), ControlMessage::Associate(ues)] = &*read
    else {
        panic!("add, delete, associate: {read:?}")
    };
    let ids: Vec<_> = add.dl.slices.iter().map(|slice| (slice.id, slice.parameters.algorithm())).collect();
    assert_eq!(ids, [(0, Algorithm::Static), (2, Algorithm::Static), (5, Algorithm::Static)]);
    assert_eq!((&*add.ul.scheduler, add.ul.slices.len()), ("round_robin_ul", 0));
    assert_eq!((&*delete.dl, &*delete.ul), (&[2][..], &[][..]));
    assert_eq!(&**ues, [slice::UeSlices { dl_id: 5, ul_id: 0, rnti: 0xd6 }]);
    let pdu = &recorded.samples("successfulOutcome", "RICcontrol", Some(145))[0];
    let outcome = ControlOutcome::decode_owned(prefixed(ie(pdu, 32, 0x00)).0, Wire::Plain).unwrap();
    assert_eq!(&*outcome.diagnostic, "");
}

fn refused(name: &str, bytes: &[u8]) -> (ErrorKind, usize) {
    match registry::decode(name, bytes, &Arena::new()) {
        Err(Error::Plain(error)) => (error.kind, error.octet),
        Err(error) => panic!("{name}: {error}"),
        Ok(_) => panic!("{name} {bytes:02x?} is read"),
    }
}

/// A truncated message of any length is an error within its octets.
#[test]
fn truncated_and_longer_messages_are_errors() {
    let vectors = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../vectors");
    let mut seen = 0;
    for (module, _) in MODELS {
        for entry in std::fs::read_dir(vectors.join(module)).unwrap() {
            let path = entry.unwrap().path();
            let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
            if !stem.starts_with("plain") || stem.ends_with("definition") || path.extension().unwrap() != "hex" {
                continue;
            }
            let bytes = hex(&std::fs::read_to_string(&path).unwrap());
            let about = std::fs::read_to_string(path.with_extension("json")).unwrap();
            let about: serde_json::Value = serde_json::from_str(&about).unwrap();
            let name = about["type"].as_str().unwrap();
            // the last four octets of a new filter are a defect of FlexRIC: they may be missing
            let needed = bytes.len() - if stem.contains("add-filter") { 4 } else { 0 };
            for len in 0..needed {
                let (kind, octet) = refused(name, &bytes[..len]);
                assert!(kind == ErrorKind::Truncated && octet <= len, "{name} cut to {len}: {kind:?} at {octet}");
            }
            let longer = [&bytes[..], &[0]].concat();
            assert_eq!(refused(name, &longer), (ErrorKind::TrailingOctets, needed), "{name}");
            seen += 1;
        }
    }
    assert!(seen > 60, "{seen} vectors");
}

#[test]
fn wrong_counts_are_errors() {
    let much = [0xFF, 0xFF, 0xFF, 0x7F];
    for module in ["mac", "rlc", "pdcp", "gtp"] {
        let bytes = [&much[..], &[0; 300]].concat();
        assert_eq!(refused(&format!("{module}-plain:IndicationMessage"), &bytes), (ErrorKind::Truncated, 0));
    }
    // a count of two and one UE
    let bytes = [&[2, 0, 0, 0][..], &[0; 176 + 8]].concat();
    assert_eq!(refused("mac-plain:IndicationMessage", &bytes), (ErrorKind::Truncated, 0));
    // slices: the scheduler's name, the count of slices
    assert_eq!(refused("slice-plain:IndicationMessage", &[&much[..], &[0; 60]].concat()), (ErrorKind::Truncated, 0));
    let bytes = [&[0, 0, 0, 0][..], &much, &[0; 60]].concat();
    assert_eq!(refused("slice-plain:IndicationMessage", &bytes), (ErrorKind::Truncated, 4));
    assert_eq!(refused("slice-plain:ControlOutcome", &[5, 0, 0, 0, b'x']), (ErrorKind::Truncated, 0));
}

#[test]
fn unknown_numbers_are_errors() {
    let add = |rest: &[u8]| [&[0; 4][..], &[0; 4], &[1, 0, 0, 0], &[0; 12], rest].concat();
    for algorithm in [0, 5, 255] {
        // add: a direction without a name, one slice with id 0 and without names, then its algorithm
        let bytes = add(&[&[algorithm, 0, 0, 0][..], &[0; 24]].concat());
        assert_eq!(refused("slice-plain:ControlMessage", &bytes), (ErrorKind::UnknownValue, 24), "{algorithm}");
    }
    let bytes = add(&[&[2, 0, 0, 0][..], &[9, 0, 0, 0], &[0; 24]].concat());
    assert_eq!(refused("slice-plain:ControlMessage", &bytes), (ErrorKind::UnknownValue, 28), "NVS");
    assert_eq!(refused("slice-plain:ControlMessage", &[3; 20]), (ErrorKind::UnknownValue, 0));
    assert_eq!(refused("slice-plain:ControlOutcome", &[1, 0, 0, 0, 0xC3]), (ErrorKind::BadText, 4));

    for (at, kind) in [(0, "part"), (4, "action"), (8, "discipline")] {
        let mut bytes = hex("02000000 00000000 01000000 05000000 64000000");
        bytes[at] = 9;
        assert_eq!(refused("tc-plain:ControlMessage", &bytes), (ErrorKind::UnknownValue, at), "{kind}");
    }
    // a shaper that is neither on nor off
    let bytes = hex("04000000 02000000 02000000 64000000 983a0000 02000000");
    assert_eq!(refused("tc-plain:ControlMessage", &bytes), (ErrorKind::UnknownValue, 20));
    // a filter on port -2, on port 65536, on protocol 256; a queue with a negative number
    let filter = |source: i32, protocol: i32, queue: i32| {
        let mut bytes = hex("00000000 00000000 01000000");
        bytes.extend([0xFF; 16]);
        for number in [source, -1, protocol, queue] {
            bytes.extend(number.to_le_bytes());
        }
        bytes
    };
    round("tc-plain:ControlMessage", &[&filter(-1, 17, 0)[..], &[0; 4]].concat());
    assert_eq!(refused("tc-plain:ControlMessage", &filter(-2, 17, 0)), (ErrorKind::OutOfRange, 28));
    assert_eq!(refused("tc-plain:ControlMessage", &filter(65536, 17, 0)), (ErrorKind::OutOfRange, 28));
    assert_eq!(refused("tc-plain:ControlMessage", &filter(80, 256, 0)), (ErrorKind::OutOfRange, 36));
    assert_eq!(refused("tc-plain:ControlMessage", &filter(80, 6, -1)), (ErrorKind::OutOfRange, 40));
}

/// Padding between numbers is undefined.
#[test]
fn padding_is_ignored() {
    let padded = |fill: u8| {
        let mut bytes = vec![1, 0, 0, 0];
        bytes.extend([7; 68]);
        let padding = bytes.len() - 2;
        bytes[padding..].fill(fill);
        bytes.extend([0; 8]);
        bytes
    };
    let read = |bytes: &[u8]| pdcp::IndicationMessage::decode_owned(bytes, Wire::Plain).unwrap();
    assert_eq!(read(&padded(0xEE)), read(&padded(0)));
    let mut again = Vec::new();
    read(&padded(0xEE)).encode(Wire::Plain, &mut again).unwrap();
    assert_eq!(again, padded(0), "padding is encoded as zeros");
}

#[test]
fn values_without_plain_layout_are_refused() {
    let control = tc::ControlMessage::Scheduler(tc::SchedulerControl::Modify(tc::Scheduler::DeficitRoundRobin(
        vec![1500, 300].into(),
    )));
    let mut out = vec![1, 2, 3];
    let error = control.encode(Wire::Plain, &mut out).unwrap_err();
    assert!(matches!(error, Error::Plain(e) if (e.kind, e.octet) == (ErrorKind::NotInLayout, 8)), "{error}");
    assert_eq!(out, [1, 2, 3], "unchanged after an error");
    control.encode(Wire::Per, &mut out).unwrap();
    assert_eq!(tc::ControlMessage::decode_owned(&out[3..], Wire::Per).unwrap(), control);

    let error = e2sm::rrc::EventTriggerDefinition::ALL.encode(Wire::Plain, &mut out).unwrap_err();
    assert_eq!(error.to_string(), "the model has no encoding plain");
}
