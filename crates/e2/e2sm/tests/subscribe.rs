//! Report requests to nodes with different report styles.

use e2sm::Error;
use e2sm::common::{
    Cgi, GnbCuUeF1apId, NrCgi, PlmnIdentity, RanFunctionName, RicFormatType, RicStyleName, RicStyleType, SNssai, Sd,
    Sst, True, UeId, UeIdGnbDu,
};
use e2sm::kpm::{
    ActionDefinition, ActionDefinitionFormats, EventTriggerDefinition, EveryUe, LabelInfoItem, LabelInfoList,
    MatchingCondItem, MatchingCondItemChoice, MeasurementInfoActionItem, MeasurementLabel, MeasurementRequest,
    MeasurementType, MeasurementTypeName, RanFunctionDefinition, ReportRequest, Revision, RicReportStyleItem, Scope,
    TestCondExpression, TestCondInfo, TestCondType, TestCondValue,
};
use per::{Bits, List, PrintableString};

/// A node whose report styles have these numbers, action formats and measurements.
fn node(styles: &[(i64, i64, &[&'static str])]) -> RanFunctionDefinition<'static> {
    let style = |&(number, format, names): &(i64, i64, &[&'static str])| RicReportStyleItem {
        ric_report_style_type: RicStyleType(number),
        ric_report_style_name: RicStyleName(PrintableString::literal("style")),
        ric_action_format_type: RicFormatType(format),
        meas_info_action_list: names
            .iter()
            .map(|name| MeasurementInfoActionItem {
                meas_name: MeasurementTypeName::try_from(*name).unwrap(),
                meas_id: None,
                bin_range_def: None,
            })
            .collect(),
        ric_indication_header_format_type: RicFormatType(1),
        ric_indication_message_format_type: RicFormatType(if format == 3 { 2 } else { 1 }),
    };
    RanFunctionDefinition {
        ran_function_name: RanFunctionName {
            short_name: PrintableString::literal("ORAN-E2SM-KPM"),
            e2sm_oid: PrintableString::literal("1.3.6.1.4.1.53148.1.2.2.2"),
            description: PrintableString::literal("KPM monitor"),
            instance: None,
        },
        ric_event_trigger_style_list: None,
        ric_report_style_list: Some(styles.iter().map(style).collect()),
    }
}

const THROUGHPUT: &[MeasurementRequest<'static>] =
    &[MeasurementRequest::named("DRB.UEThpDl"), MeasurementRequest::named("DRB.UEThpUl")];

fn request(scope: Scope<'_>) -> ReportRequest<'_> {
    ReportRequest { measurements: THROUGHPUT, granularity_period_ms: 100, reporting_period_ms: 1000, scope }
}

fn ue(id: u32) -> UeId<'static> {
    UeId::GnbDu(UeIdGnbDu { gnb_cu_ue_f1ap_id: GnbCuUeF1apId(id), ran_ueid: None, cell_rnti: None })
}

/// The definitions of a plan must round-trip.
fn over_the_wire(action: &ActionDefinition<'_>, revision: Revision) {
    let mut bytes = Vec::new();
    action.encode(revision, &mut bytes).unwrap();
    assert_eq!(ActionDefinition::decode_owned(&bytes, revision).unwrap(), *action);
}

#[test]
fn scope_selects_report_style() {
    let names: &[&str] = &["DRB.UEThpDl", "DRB.UEThpUl"];
    // nodes number their styles freely
    let node = node(&[(11, 1, names), (12, 2, names), (13, 3, names), (14, 4, names), (15, 5, names)]);
    let cell = Cgi::NrCgi(NrCgi {
        plmn_identity: PlmnIdentity::from_codes(1, 1, 2),
        nr_cell_identity: Bits::new(0x1234_5678, 36),
    });
    let test = TestCondInfo {
        test_type: TestCondType::Rsrp(True),
        test_expr: Some(TestCondExpression::LessThan),
        test_value: Some(TestCondValue::ValueInt(30)),
    };
    let group = [MatchingCondItem { choice: MatchingCondItemChoice::TestCondInfo(test), logical_or: None }];
    let ues = [ue(1), ue(2), ue(3)];
    for revision in Revision::FROM_V2 {
        for (scope, style) in [
            (Scope::Node, 11),
            (Scope::Cell(cell), 11),
            (Scope::Ues(&ues[..1]), 12),
            (Scope::Group(&group), 13),
            (Scope::EveryUe(EveryUe::AnySignal), 14),
            (Scope::Ues(&ues), 15),
        ] {
            let plan = request(scope).plan(&node, revision).unwrap();
            assert_eq!(plan.trigger, EventTriggerDefinition::every(1000));
            assert_eq!(plan.action.ric_style_type, RicStyleType(style));
            over_the_wire(&plan.action, revision);
        }
    }
}

/// Nodes of FlexRIC and OAI offer styles 4 and 1 and support tests for a slice only.
#[test]
fn every_ue_is_requested_by_slice_condition() {
    let node = node(&[(4, 4, &["DRB.UEThpUl", "DRB.UEThpDl", "RRU.PrbTotDl"]), (1, 1, &["CARR.PDSCHMCSDist"])]);
    let slice = SNssai { sst: Sst([1]), sd: None };
    let plan = request(Scope::EveryUe(EveryUe::InSlice(slice))).plan(&node, Revision::V2_03).unwrap();
    let mut bytes = Vec::new();
    plan.action.encode(Revision::V2_03, &mut bytes).unwrap();
    // style 4, format 4, one condition: S-NSSAI equal to the octet string 01, as in FlexRIC's xApps
    let recorded_head = [0x00, 0x01, 0x04, 0x80];
    assert_eq!(bytes[..4], recorded_head);
    let recorded_condition = [0x38, 0x40, 0x01, 0x00, 0x04, 0x01, 0x01];
    assert!(bytes.windows(7).any(|w| w == recorded_condition), "{bytes:02x?}");

    let with_sd = SNssai { sst: Sst([1]), sd: Some(Sd([0, 0, 5])) };
    let plan = request(Scope::EveryUe(EveryUe::InSlice(with_sd))).plan(&node, Revision::V2_03).unwrap();
    let ActionDefinitionFormats::Format4(format4) = &plan.action.formats else { panic!("format 4") };
    let value = format4.matching_ue_cond_list[0].test_cond_info.test_value.as_ref();
    assert_eq!(value, Some(&TestCondValue::ValueOctS((&[1, 0, 0, 5]).into())));

    assert_eq!(request(Scope::Ues(&[ue(1)])).plan(&node, Revision::V2_03), Err(Error::NoReportStyle));
}

#[test]
fn missing_measurement_is_reported_with_similar_names() {
    let node = node(&[(1, 1, &["DRB.UEThpUl", "RRU.PrbTotDl", "RRU.PrbTotUl", "DRB.UEThpDL"]), (2, 1, &["RSRP"])]);
    let error = request(Scope::Node).plan(&node, Revision::V3_00).unwrap_err();
    let Error::NotOffered { wanted, nearest } = &error else { panic!("{error}") };
    assert_eq!((&wanted[..], nearest.len()), ("DRB.UEThpDl", 3));
    assert_eq!(nearest[..2], ["DRB.UEThpDL", "DRB.UEThpUl"]);
    assert!(error.to_string().starts_with("the node does not offer DRB.UEThpDl; similar: DRB.UEThpDL, "));

    let empty = RanFunctionDefinition { ric_report_style_list: None, ..node };
    assert_eq!(request(Scope::Node).plan(&empty, Revision::V3_00), Err(Error::NoReportStyle));
}

#[test]
fn style_with_all_measurements_is_selected() {
    let node = node(&[(1, 1, &["DRB.UEThpDl"]), (7, 1, &["DRB.UEThpUl", "DRB.UEThpDl"])]);
    let plan = request(Scope::Node).plan(&node, Revision::V3_00).unwrap();
    assert_eq!(plan.action.ric_style_type, RicStyleType(7));
}

/// A definition repeats its list for each style: a node may list a measurement of UEs in one of them only.
#[test]
fn measurement_of_another_style_for_ues_is_requested() {
    let ues = [ue(1)];
    let both = &["DRB.UEThpDl", "DRB.UEThpUl"];
    let node = node(&[(1, 1, both), (2, 2, &["DRB.UEThpDl"]), (4, 4, &["DRB.UEThpUl"]), (6, 2, &["CQI"])]);
    let plan = request(Scope::Ues(&ues)).plan(&node, Revision::V3_00).unwrap();
    assert_eq!(plan.action.ric_style_type, RicStyleType(2), "the first of its format");
    // that of the cell is none of a UE
    let node = self::node(&[(1, 1, both), (2, 2, &["DRB.UEThpDl"])]);
    assert!(matches!(request(Scope::Ues(&ues)).plan(&node, Revision::V3_00), Err(Error::NotOffered { .. })));
    let node = self::node(&[(1, 1, &["DRB.UEThpDl"]), (4, 4, both)]);
    assert!(matches!(request(Scope::Node).plan(&node, Revision::V3_00), Err(Error::NotOffered { .. })));
}

#[test]
fn labels_are_passed_on() {
    let node = node(&[(1, 1, &["CARR.PDSCHMCSDist"])]);
    let labels = [1, 2].map(|bin| LabelInfoItem {
        meas_label: MeasurementLabel { dist_bin_x: Some(bin), ..MeasurementLabel::default() },
    });
    let measurements = [MeasurementRequest { name: "CARR.PDSCHMCSDist", labels: &labels }];
    let plan =
        ReportRequest { measurements: &measurements, ..request(Scope::Node) }.plan(&node, Revision::V3_00).unwrap();
    let ActionDefinitionFormats::Format1(format1) = &plan.action.formats else { panic!("format 1") };
    let [info] = &format1.meas_info_list[..] else { panic!("one measurement") };
    assert_eq!(info.label_info_list, LabelInfoList(List::from(&labels[..])));
    assert!(matches!(&info.meas_type, MeasurementType::MeasName(name) if **name == *"CARR.PDSCHMCSDist"));
}

#[test]
fn empty_requests_are_refused() {
    let node = node(&[(1, 1, &["DRB.UEThpDl"])]);
    for empty in [
        ReportRequest { measurements: &[], ..request(Scope::Node) },
        ReportRequest { granularity_period_ms: 0, ..request(Scope::Node) },
        ReportRequest { reporting_period_ms: 0, ..request(Scope::Node) },
        request(Scope::Ues(&[])),
        request(Scope::MatchingUes(&[])),
        request(Scope::Group(&[])),
    ] {
        assert_eq!(empty.plan(&node, Revision::V3_00), Err(Error::EmptyRequest));
    }
}
