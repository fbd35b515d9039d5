//! Malformed messages and their errors. Samples of valid messages are in `tests/vectors.rs`.

use serde_json::{Value, json};

use super::*;
use crate::common::{Cgi, NrCgi, PlmnIdentity};

fn refused<T: std::fmt::Debug>(read: Result<T, JsonError>) -> String {
    read.unwrap_err().to_string()
}

fn control(structure: &str, new: &Value) -> Vec<u8> {
    let values = |values: &Value| json!({ "ranConfigurationStructure": values });
    let item = json!({
        "ranConfigurationStructureName": structure,
        "oldValuesOfAttributes": values(&json!({})),
        "newValuesOfAttributes": values(new),
    });
    json!({ "controlMessageFormat": { "listOfConfigurationStructures": [item] } }).to_string().into_bytes()
}

const NEW: &str =
    "controlMessageFormat.listOfConfigurationStructures[0].newValuesOfAttributes.ranConfigurationStructure";

#[test]
fn attribute_errors_contain_path() {
    let ratio = "O-RRMPolicyRatio";
    let sst = json!({ "sst": 256 });
    for (structure, new, expected) in [
        (ratio, json!({ "rRMPolicyMaxRatio": 101 }), ".rRMPolicyMaxRatio is not within 0 to 100"),
        (ratio, json!({ "rRMPolicyMaxRatio": -1 }), ".rRMPolicyMaxRatio is not within 0 to 255"),
        (ratio, json!({ "rRMPolicyMaxRatio": 10.5 }), ".rRMPolicyMaxRatio is not a whole number"),
        (ratio, json!({ "rRMPolicyMaxRatio": "10" }), ".rRMPolicyMaxRatio is not a whole number"),
        (ratio, json!({ "resourceType": "PRB" }), ".resourceType is none of PRB_DL, PRB_UL, DRB, RRC"),
        (ratio, json!({ "resourceType": null }), ".resourceType is not a text"),
        (ratio, json!({ "rRMPolicyMemberList": {} }), ".rRMPolicyMemberList is not a list"),
        (ratio, json!({ "rRMPolicyMemberList": [] }), ".rRMPolicyMemberList does not have 1 to 1024 items"),
        (
            ratio,
            json!({ "rRMPolicyMemberList": [{}, { "snssai": sst }] }),
            ".rRMPolicyMemberList[1].snssai.sst is not within 0 to 255",
        ),
        (
            ratio,
            json!({ "rRMPolicyMemberList": [{ "snssai": { "sst": 1, "sd": "12345g" } }] }),
            ".rRMPolicyMemberList[0].snssai.sd is not 6 hex digits",
        ),
        (
            ratio,
            json!({ "rRMPolicyMemberList": [{ "plmnId": { "mcc": "1", "mnc": "01" } }] }),
            ".rRMPolicyMemberList[0].plmnId.mcc is not 3 digits",
        ),
        (
            ratio,
            json!({ "rRMPolicyMemberList": [{ "plmnId": { "mcc": "001" } }] }),
            ".rRMPolicyMemberList[0].plmnId.mnc is missing",
        ),
        (ratio, json!({ "resourceType": "DRB", "x": 2 }), ".x is not a key of the model"),
        (
            ratio,
            json!({ "rRMPolicyMxRatio": 1 }),
            ".rRMPolicyMxRatio is not a key of the model; similar: rRMPolicyMaxRatio",
        ),
        (ratio, json!([]), " is not an object"),
        ("X-Vendor", json!("x"), " is not an object"),
        ("O-NRCellDU", json!({ "nRPCI": 1008 }), ".nRPCI is not within 0 to 1007"),
        ("O-CESManagementFunction", json!({ "cesSwitch": 1 }), ".cesSwitch is not true or false"),
        ("O-NESPolicy", json!({ "symbolMask": 16384 }), ".symbolMask is not within 0 to 16383"),
        ("O-NESPolicy", json!({ "policyType": "TRX" }), ".policyType is none of ASM, TRX_CONTROL"),
        (
            "O-GNBDUFunction",
            json!({ "gNBDUName": "n".repeat(1001) }),
            ".gNBDUName is not a text of at most 1000 octets",
        ),
    ] {
        assert_eq!(refused(ControlMessage::decode(&control(structure, &new))), format!("{NEW}{expected}"));
    }
    ControlMessage::decode(&control("X-Vendor", &json!({ "anything": [1, { "at": "all" }] }))).unwrap();
}

#[test]
fn message_errors_contain_path() {
    let format = |format: Value| json!({ "controlMessageFormat": format }).to_string();
    for (text, expected) in [
        ("", "the message is malformed at line 1 column 0"),
        ("{}", "controlMessageFormat is missing"),
        ("[]", "the message is not an object"),
        ("{\"controlMessageFormat\": {}} x", "the message is malformed at line 1 column 30"),
        ("{\"controlMessageFormat\": 1e999}", "the message is malformed at line 1 column 30"),
        ("{\"controlMessageFormat\": {}, \"controlMessageFormat\": {}}", "controlMessageFormat occurs twice"),
        ("{\"a\": [{\"b\": 1, \"b\": 2}]}", "a[0].b occurs twice"),
        (
            &format(json!({})),
            "controlMessageFormat does not have exactly one of listOfConfigurationStructures, listOfCellsControlled",
        ),
        (
            &format(json!({ "listOfConfigurationStructures": [], "listOfCellsControlled": [] })),
            "controlMessageFormat does not have exactly one of listOfConfigurationStructures, listOfCellsControlled",
        ),
        (
            &format(
                json!({ "listOfCellsControlled": [{ "cellGlobalId": { "plmnIdentity": { "mcc": "001", "mnc": "01" } } }] }),
            ),
            "controlMessageFormat.listOfCellsControlled[0].cellGlobalId does not have exactly one of nRCellIdentity, eUTRACellIdentity",
        ),
        (
            &format(
                json!({ "listOfCellsControlled": [{ "cellGlobalId": { "plmnIdentity": { "mcc": "001", "mnc": "01" },
                "nRCellIdentity": "123" } }] }),
            ),
            "controlMessageFormat.listOfCellsControlled[0].cellGlobalId.nRCellIdentity is not 9 hex digits",
        ),
    ] {
        assert_eq!(refused(ControlMessage::decode(text.as_bytes())), expected, "{text}");
    }
    let long = format!("{{\"{}\\u001b\": 1}}", "k".repeat(300));
    assert_eq!(
        refused(ControlHeader::decode(long.as_bytes())),
        format!("{} is not a key of the model", "k".repeat(64))
    );
    let header = json!({ "indicationHeaderFormat": { "indicationReason": "periodic", "eventTime": "12" } }).to_string();
    assert_eq!(
        refused(IndicationHeader::decode(header.as_bytes())),
        "indicationHeaderFormat.eventTime is not 16 hex digits"
    );
    assert!(ControlHeader::decode(b"{\"controlHeaderFormat\": {\"ricStyleType\": \xff}}").is_err());
}

#[test]
fn size_depth_and_number_of_values_are_bounded() {
    let deep = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let too_deep = refused(ControlHeader::decode(deep(MAX_DEPTH + 1).as_bytes()));
    assert!(too_deep.ends_with("is more than 24 levels deep"), "{too_deep}");
    assert_eq!(refused(ControlHeader::decode(deep(MAX_DEPTH).as_bytes())), "the message is not an object");
    assert!(ControlHeader::decode("[".repeat(1 << 20).as_bytes()).is_err());

    let many = format!("[{}0]", "0,".repeat(MAX_VALUES));
    let too_many = refused(ControlHeader::decode(many.as_bytes()));
    assert!(too_many.ends_with("exceeds the limit of 65536 values in a message"), "{too_many}");
    assert_eq!(
        refused(ControlHeader::decode(" ".repeat(MAX_OCTETS + 1).as_bytes())),
        "the message is longer than 1048576 octets"
    );
    let items = json!({ "eventTriggerDefinitionFormat": {
        "listOfNodeLevelConfigurationStructuresForEventTrigger":
            vec![json!({ "ranConfigurationStructureName": "x" }); MAX_ITEMS + 1] } });
    assert!(
        refused(EventTriggerDefinition::decode(items.to_string().as_bytes()))
            .ends_with("does not have 1 to 1024 items")
    );
}

#[test]
fn invalid_values_are_not_encoded() {
    let plmn_identity = PlmnIdentity([0xAA; 3]); // no digits
    let cell = Cgi::NrCgi(NrCgi { plmn_identity, nr_cell_identity: per::Bits::new(1, 36) });
    let over = RrmPolicyRatio { rrm_policy_max_ratio: Some(101), ..RrmPolicyRatio::default() };
    let structure = |ratio: &RrmPolicyRatio| StructureReported {
        change_type: ChangeType::None,
        values: RanConfigurationStructure::RrmPolicyRatio(ratio.clone()),
        old_values: None,
    };
    let mut out = b"before".to_vec();
    for (format, expected) in [
        (IndicationMessageFormat::NodeLevel(Vec::new()), "does not have 1 to 1024 items"),
        (IndicationMessageFormat::NodeLevel(vec![structure(&over)]), "rRMPolicyMaxRatio is not within 0 to 100"),
        (
            IndicationMessageFormat::CellLevel(vec![CellReported {
                cell_global_id: cell,
                structures: vec![structure(&RrmPolicyRatio::default())],
            }]),
            "mcc is not 3 digits",
        ),
    ] {
        let error = IndicationMessage { format }.encode(&mut out).unwrap_err().to_string();
        assert!(error.ends_with(expected), "{error}");
    }
    assert_eq!(out, b"before");
}

#[test]
fn structures_are_cut_merged_and_compared() {
    let of = |value: Value| {
        let Value::Object(attributes) = value else { panic!("an object") };
        RanConfigurationStructure::new("O-RRMPolicyRatio", attributes).unwrap()
    };
    let whole = of(json!({ "resourceType": "DRB", "rRMPolicyMaxRatio": 50, "rRMPolicyMinRatio": 10 }));
    let part = whole.only(|name| name == "rRMPolicyMaxRatio");
    assert_eq!(part, of(json!({ "rRMPolicyMaxRatio": 50 })));
    assert!(whole.agrees_with(&part) && !part.agrees_with(&whole));
    assert!(!whole.agrees_with(&of(json!({ "rRMPolicyMaxRatio": 51 }))));
    let set = whole.merged(&of(json!({ "rRMPolicyMaxRatio": 60 })));
    assert_eq!(set, of(json!({ "resourceType": "DRB", "rRMPolicyMaxRatio": 60, "rRMPolicyMinRatio": 10 })));
}

/// Both encodings of the attributes of an event trigger are accepted; srsRAN's is sent.
#[test]
fn trigger_attributes_are_names_or_objects() {
    let text = |attributes: Value| {
        json!({ "eventTriggerDefinitionFormat": { "listOfNodeLevelConfigurationStructuresForEventTrigger": [
            { "ranConfigurationStructureName": "O-NRCellDU", "listOfAttributes": attributes }] } })
        .to_string()
    };
    let objects = text(json!([{ "attributeName": "cellState" }]));
    let names = text(json!(["cellState"]));
    let read = EventTriggerDefinition::decode(objects.as_bytes()).unwrap();
    assert_eq!(EventTriggerDefinition::decode(names.as_bytes()).unwrap(), read);
    let mut out = Vec::new();
    read.encode(&mut out).unwrap();
    assert_eq!(String::from_utf8(out).unwrap(), names);
}
