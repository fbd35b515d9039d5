//! E2SM-KPM v02.00 as ONOS speaks it, and the messages of O-RAN SC's simulator: octets of independent encoders.

mod support;

use std::fs;
use std::path::Path;

use e2sm::kpm::v2_00::{self, CellReports};
use e2sm::kpm::{Detection, MeasurementType, OID_V2, Reason, Revision, Value, v1};
use e2sm::{Arena, Error};
use support::hex;

fn vector(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../../vectors/kpm/{name}.hex"));
    hex(&fs::read_to_string(path).unwrap())
}

#[test]
fn v2_00_is_detected_by_its_definition() {
    for name in ["v02.00-definition-1", "v02.00-definition-2", "v02.00-definition-3"] {
        let seen = Detection::from_ran_function(OID_V2, 1, &vector(name)).unwrap();
        assert_eq!((seen.revision, seen.reason), (Revision::V2_00, Reason::Definition), "{name}");
        assert_eq!(seen.candidates().collect::<Vec<_>>(), [Revision::V2_00], "{name}");
        assert_eq!(seen.with_header(&vector("v02.00-header-1")), seen, "{name}");
    }
    for name in ["v02.01-definition-1", "v02.03-definition-1", "v03.00-definition-1"] {
        let seen = Detection::from_ran_function(OID_V2, 1, &vector(name)).unwrap();
        assert!(seen.candidates().all(|revision| revision != Revision::V2_00), "{name}: {seen}");
    }
}

#[test]
fn each_cell_of_the_definition_gets_an_action() {
    let octets = vector("v02.00-definition-1");
    let arena = Arena::new();
    let definition = v2_00::RanFunctionDefinition::decode(&octets, &arena).unwrap();
    let reports = CellReports { measurements: &["RRU.PrbUsedDl", "RRC.Conn.Avg"], granularity_period_ms: 500 };
    let actions = reports.actions(&definition).unwrap();
    let seen: Vec<_> = actions
        .iter()
        .map(|action| {
            let mut bytes = Vec::new();
            action.encode(&mut bytes).unwrap();
            assert_eq!(v2_00::ActionDefinition::decode_owned(&bytes).unwrap(), *action);
            let v2_00::ActionDefinitionFormats::Format1(format1) = &action.formats else { panic!("{action:?}") };
            assert_eq!((format1.granul_period.0, format1.meas_info_list.len()), (500, 2));
            (action.ric_style_type.0, format1.cell_obj_id.0.as_str().to_owned(), format1.subscript_id.0)
        })
        .collect();
    assert_eq!(seen, [(1, "a1".into(), 1), (1, "a2".into(), 2), (1, "LTE 3".into(), 3)]);

    let error = CellReports { measurements: &["RRC.Conn.Avx"], ..reports }.actions(&definition).unwrap_err();
    let Error::NotOffered { nearest, .. } = error else { panic!("{error}") };
    assert_eq!(nearest[0], "RRC.Conn.Avg");

    // a node that lists no cells gets one action, for a cell without a name
    let octets = vector("v02.00-definition-2");
    let definition = v2_00::RanFunctionDefinition::decode(&octets, &arena).unwrap();
    let reports = CellReports { measurements: &["RRC.Conn.Avg"], ..reports };
    assert_eq!(reports.actions(&definition).unwrap().len(), 1);
    let octets = vector("v02.00-definition-3");
    let definition = v2_00::RanFunctionDefinition::decode(&octets, &arena).unwrap();
    assert_eq!(reports.actions(&definition), Err(Error::NoReportStyle));
}

#[test]
fn values_of_v2_00_are_named_by_message_or_action() {
    let octets = vector("v02.00-message-format1-1");
    let arena = Arena::new();
    let message = v2_00::IndicationMessage::decode(&octets, &arena).unwrap();
    assert_eq!((message.cell_obj_id(), message.subscript_id().0), (Some("a1"), 1));
    let current = message.to_current();
    let rows: Vec<_> = current.rows(None).map(|row| (row.record, row.value, row.label.is_some())).collect();
    let integer = |record, value| (record, Value::Integer(value), true);
    let expected = [
        integer(0, 12),
        integer(0, 0),
        integer(0, u32::MAX),
        (1, Value::NoValue, true),
        (1, Value::Real(0.5), true),
        integer(1, 7),
    ];
    assert_eq!(rows, expected);
    let first = current.rows(None).next().unwrap();
    assert!(matches!(first.measurement, Some(MeasurementType::MeasName(name)) if &**name == "RRC.Conn.Avg"));
    assert!(first.incomplete);

    // one value where the action asks for three
    let octets = vector("v02.00-message-format1-2");
    let message = v2_00::IndicationMessage::decode(&octets, &arena).unwrap();
    let octets = vector("v02.00-action-format1");
    let action = v2_00::ActionDefinition::decode(&octets, &arena).unwrap().to_current().unwrap();
    let current = message.to_current();
    assert!(current.rows(Some(&action)).all(|row| row.measurement.is_none()));
    assert_eq!(
        current.count_mismatch(Some(&action)).map(|mismatch| (mismatch.expected, mismatch.reported)),
        Some((3, 1))
    );

    let octets = vector("v02.00-message-format2");
    let message = v2_00::IndicationMessage::decode(&octets, &arena).unwrap().to_current();
    let conditions: Vec<_> = message.rows(None).map(|row| row.group.unwrap().matching_cond.len()).collect();
    assert_eq!(conditions, [1, 1]);
}

#[test]
fn values_of_the_simulator_have_cells_and_ues() {
    let rows = |name| v1::IndicationMessage::decode_owned(&vector(name)).unwrap().rows();
    let of = |name| rows(name).iter().map(|row| (row.c_rnti, row.counter, row.value)).collect::<Vec<_>>();
    use v1::Counter::{ActiveUes, AvailablePrbsDl, AvailablePrbsUl, PdcpBytesDl, PdcpBytesUl, PrbUsageDl, PrbUsageUl};
    assert_eq!(
        of("v01.02-message-du-ue"),
        [(Some(0x4601), PrbUsageDl, 40), (Some(0x4601), PrbUsageUl, 25), (Some(7), PrbUsageDl, 0)]
    );
    assert_eq!(
        of("v01.02-message-cuup-ue"),
        [(Some(0xFFFF), PdcpBytesDl, 123_456), (Some(0xFFFF), PdcpBytesUl, 10_000_000_000)]
    );
    assert_eq!(of("v01.02-message-cucp-ue"), [], "texts");
    assert_eq!(of("v01.02-message-style3"), [(None, ActiveUes, 12)]);
    let prbs = [(AvailablePrbsDl, 273), (AvailablePrbsUl, 106), (PrbUsageDl, 200), (PrbUsageUl, 60), (PrbUsageDl, 100)];
    assert_eq!(of("v01.02-message-style1"), prbs.map(|(counter, value)| (None, counter, value)));
    let seen = of("v01.02-message-style5");
    assert_eq!(seen, [(PdcpBytesDl, 40_000), (PdcpBytesUl, 20_000), (PdcpBytesUl, 1)].map(|(c, v)| (None, c, v)));
}

#[test]
fn no_message_is_valid_in_both_layouts() {
    let arena = Arena::new();
    let mut seen = [0; 2];
    for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../vectors/kpm")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let Some(layout) = ["v01.00-message", "v01.02-message"].iter().position(|start| name.starts_with(start)) else {
            continue;
        };
        if name.ends_with(".hex") {
            seen[layout] += 1;
            let octets = vector(name.trim_end_matches(".hex"));
            let of = |module| format!("{module}:E2SM-KPM-IndicationMessage");
            let reads = ["kpm-v01.00", "kpm-v01.02"].map(|m| e2sm::registry::decode(&of(m), &octets, &arena).is_ok());
            assert_eq!(reads, [layout == 0, layout == 1], "{name}");
        }
    }
    assert!(seen[0] >= 8 && seen[1] >= 6, "{seen:?}");
}

#[test]
fn definition_without_short_name_is_that_of_v1() {
    let octets = vector("v01.00-definition-unnamed");
    let seen = Detection::from_ran_function("", 0, &octets).unwrap();
    assert_eq!(seen.revision, Revision::V1_00);
    let definition = v1::RanFunctionDefinition::decode_owned(&octets).unwrap();
    assert_eq!(definition.ran_function_name.shown(), "KPM monitor");
    assert_eq!(definition.e2sm_kpm_ran_function_item.ric_report_style_list.map_or(0, |styles| styles.len()), 6);
    assert!(Revision::V1_00.reads_definition(&octets) && !Revision::V3_00.reads_definition(&octets));
}
