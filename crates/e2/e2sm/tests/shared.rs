//! Messages of other implementations, from a `shared/vectors` folder beside the workspace, if there is one.

mod support;

use std::fs;
use std::path::Path;

use e2sm::kpm::{
    ActionDefinition, ActionDefinitionFormats, Detection, EventTriggerDefinition, IndicationHeader, IndicationMessage,
    OID_V2, RanFunctionDefinition, Reason, Revision, Value,
};
use e2sm::{Arena, Error};
use support::recorded::{Recorded, ie, prefixed, shared};
use support::{hex, json};

#[test]
fn indications_of_32_ues_round_trip() {
    let Some(shared) = shared() else { return };
    let mut arena = Arena::new();
    for (file, reals) in [("kpm_ind_32ue.hex", false), ("kpm_ind_32ue_real.hex", true)] {
        let bytes = hex(&fs::read_to_string(shared.join("e2sm").join(file)).unwrap());
        arena.reset();
        let message = IndicationMessage::decode(&bytes, Revision::V3_00, &arena).unwrap();
        let rows: Vec<_> = message.rows(None).collect();
        assert_eq!(rows.len(), 32 * 8);
        assert!(rows.iter().all(|row| row.ue.is_some() && row.measurement.is_some() && row.label.is_some()));
        assert_eq!(reals, rows.iter().any(|row| matches!(row.value, Value::Real(_))));
        let mut again = Vec::new();
        message.encode(Revision::V3_00, &mut again).unwrap();
        assert_eq!(again, bytes, "{file}");
    }
}

/// Octets from the tests of other projects, as every module and type that an independent decoder accepts.
#[test]
fn public_samples_round_trip() {
    let Some(shared) = shared() else { return };
    let mut seen = 0;
    for line in fs::read_to_string(shared.join("e2sm/public.jsonl")).unwrap().lines() {
        let piece: serde_json::Value = serde_json::from_str(line).unwrap();
        let bytes = hex(piece["hex"].as_str().unwrap());
        for fits in piece["types"].as_array().unwrap() {
            let (module, name) = (fits[0].as_str().unwrap(), fits[1].as_str().unwrap());
            let arena = Arena::new();
            let value = match e2sm::registry::decode(&format!("{module}:{name}"), &bytes, &arena) {
                Ok(value) => value,
                // ascending octets, which form a call process ID of 136 bits: not from a node, and too long
                Err(Error::Codec(error)) if bytes[..3] == [0x10, 0x11, 0x12] => {
                    assert_eq!(error.kind, per::ErrorKind::OutOfRange);
                    continue;
                }
                // of RC; as NI it would contain an interface that v01.00 does not have
                Err(Error::Codec(error)) if module == "ni-v01.00" => {
                    assert_eq!(error.kind, per::ErrorKind::UnknownExtension);
                    continue;
                }
                Err(error) => panic!("{module} {name} {}: {error}", piece["from"]),
            };
            let mut again = Vec::new();
            value.encode(&mut again).unwrap();
            assert_eq!(again, bytes, "{module} {name} {}", json(&value));
            seen += 1;
        }
    }
    assert!(seen >= 27, "{seen} pieces");
}

/// srsRAN's messages of E2SM-CCC, each identified by its first key.
#[test]
fn srsran_messages_round_trip() {
    let Some(shared) = shared() else { return };
    let text = fs::read_to_string(shared.join("e2sm/ccc_samples.json")).unwrap();
    let samples: Vec<serde_json::Value> = serde_json::from_str(&text).unwrap();
    let mut seen = 0;
    for sample in &samples {
        let name = match sample.as_object().unwrap().keys().next().unwrap().as_str() {
            "ranFunctionName" => "RANFunctionDefinition",
            "controlHeaderFormat" => "RIC-Control-Header",
            "controlMessageFormat" => "RIC-Control-Message",
            "indicationHeaderFormat" => "RIC-Indication-Header",
            "indicationMessageFormat" => "RIC-Indication-Message",
            _ => continue, // part of a message
        };
        let (arena, text) = (Arena::new(), sample.to_string());
        let value = e2sm::registry::decode(&format!("ccc:{name}"), text.as_bytes(), &arena)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut again = Vec::new();
        value.encode(&mut again).unwrap();
        assert_eq!(&serde_json::from_slice::<serde_json::Value>(&again).unwrap(), sample, "{name}");
        seen += 1;
    }
    assert_eq!(seen, 5);
}

/// The KPM contents of FlexRIC's messages.
struct Kpm {
    definition: Vec<u8>,
    triggers: Vec<Vec<u8>>,
    actions: Vec<Vec<u8>>,
    indications: Vec<(Vec<u8>, Vec<u8>)>,
}

fn recorded(shared: &Path) -> Kpm {
    let file = Recorded::read(shared);
    let samples = |procedure, function| file.samples("initiatingMessage", procedure, function);
    let setup = &samples("E2setup", None)[0];
    // RANfunction-Item of function 2: the ID, then the definition
    let item = setup.windows(4).position(|w| w == [0x00, 0x00, 0x02, 0x81]).unwrap();
    let mut found = Kpm {
        definition: prefixed(&setup[item + 3..]).0.to_vec(),
        triggers: Vec::new(),
        actions: Vec::new(),
        indications: Vec::new(),
    };
    for pdu in samples("RICsubscription", Some(2)) {
        // RICsubscriptionDetails: a preamble octet, the trigger, one action with ID, type and definition
        let (trigger, rest) = prefixed(&ie(&pdu, 30, 0x00)[1..]);
        let to_be_setup = rest.windows(3).position(|w| w == [0x00, 0x13, 0x00]).unwrap();
        let (action, _) = prefixed(&rest[to_be_setup + 3..]);
        found.triggers.push(trigger.to_vec());
        found.actions.push(prefixed(&action[3..]).0.to_vec());
    }
    for pdu in samples("RICindication", Some(2)) {
        let header = prefixed(ie(&pdu, 25, 0x00)).0.to_vec();
        found.indications.push((header, prefixed(ie(&pdu, 26, 0x00)).0.to_vec()));
    }
    found
}

#[test]
fn flexric_node_is_detected() {
    let Some(shared) = shared() else { return };
    let recorded = recorded(&shared);

    let detection = Detection::from_ran_function(OID_V2, 2, &recorded.definition).unwrap();
    assert_eq!((detection.revision, detection.reason), (Revision::V2_03, Reason::FunctionRevision));
    let revision = detection.revision;
    let definition = RanFunctionDefinition::decode_owned(&recorded.definition, revision).unwrap();
    let formats: Vec<_> =
        definition.ric_report_style_list.iter().flatten().map(|style| style.ric_action_format_type.0).collect();
    assert_eq!(formats, [4, 1]);

    assert!(!recorded.triggers.is_empty() && !recorded.indications.is_empty());
    for bytes in &recorded.triggers {
        let trigger = EventTriggerDefinition::decode(bytes, revision).unwrap();
        let mut again = Vec::new();
        trigger.encode(revision, &mut again).unwrap();
        assert_eq!(&again, bytes);
    }
    let mut with_conditions = 0;
    for bytes in &recorded.actions {
        let action = ActionDefinition::decode_owned(bytes, revision).unwrap();
        with_conditions += usize::from(matches!(action.formats, ActionDefinitionFormats::Format4(_)));
        let mut again = Vec::new();
        action.encode(revision, &mut again).unwrap();
        assert_eq!(&again, bytes);
    }
    assert!(with_conditions > 0);
    for (header, message) in &recorded.indications {
        assert_eq!(detection.with_header(header), detection);
        let read = IndicationHeader::decode(header, revision).unwrap();
        let mut again = Vec::new();
        read.encode(revision, &mut again).unwrap();
        assert_eq!(&again, header);
        let arena = Arena::new();
        let read = IndicationMessage::decode(message, revision, &arena).unwrap();
        assert!(read.rows(None).count() > 0);
        again.clear();
        read.encode(revision, &mut again).unwrap();
        assert_eq!(&again, message);
    }
}
