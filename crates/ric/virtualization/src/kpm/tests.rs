use e2sm::Wire;
use e2sm::common::{Cgi, NrCgi, PlmnIdentity, RanFunctionName, RicFormatType, RicStyleName, SNssai, Sst, True};

use e2sm::kpm::{
    ActionDefinitionFormat1, ActionDefinitionFormat2, EveryUe, GranularityPeriod, IndicationMessageFormat3,
    LabelInfoItem, LabelInfoList, MeasurementLabel, MeasurementRecordItem, MeasurementRequest, MeasurementType,
    MeasurementTypeId, ReportRequest, Scope, UeMeasurementReportItem,
};
use e2sm::rrc::Event;
use ferric::e2::Action;
use ferric::e2ap::RicActionType;
use per::{PrintableString, Real};

use super::*;
use crate::testing::{A, B, notify, notify_as, station, station_of, ue_id};

const ACTION: RicActionId = RicActionId(1);
const UNAVAILABLE: Cause = Cause::RicRequest(CauseRicRequest::RequestedInformationUnavailable);
const NOT_SUPPORTED: Cause = Cause::RicRequest(CauseRicRequest::ActionNotSupported);
const PRBS: &str = "RRU.PrbTotDl";
const NONE: MeasurementLabel = MeasurementLabel::NO_LABEL;

fn detections() -> impl Iterator<Item = Detection> {
    let of = |revision| {
        [Wire::Per, Wire::Flat].map(|wire| {
            let mut detection = Detection::configured(revision);
            detection.wire = wire;
            detection
        })
    };
    Revision::FROM_V2.into_iter().flat_map(of)
}

fn slice(sst: u8) -> SNssai {
    SNssai { sst: Sst([sst]), sd: None }
}

fn label(plmn: Option<PlmnIdentity>, sst: Option<u8>) -> MeasurementLabel {
    MeasurementLabel { plmn_id: plmn, slice_id: sst.map(slice), ..MeasurementLabel::default() }
}

fn measurement(name: &'static str, labels: &[MeasurementLabel]) -> MeasurementInfoItem<'static> {
    let meas_type = MeasurementType::MeasName(name.try_into().unwrap());
    let labels = labels.iter().map(|label| LabelInfoItem { meas_label: *label });
    MeasurementInfoItem { meas_type, label_info_list: LabelInfoList(labels.collect()), match_cond_report_list: None }
}

fn format1(measurements: &[MeasurementInfoItem<'static>]) -> ActionDefinitionFormat1<'static> {
    ActionDefinitionFormat1 {
        meas_info_list: measurements.iter().cloned().collect(),
        granul_period: GranularityPeriod(100),
        cell_global_id: None,
        dist_meas_bin_range_info: None,
    }
}

fn spec(detection: &Detection, style: i64, formats: ActionDefinitionFormats<'_>) -> SubscriptionSpec {
    let mut octets = Vec::new();
    let definition = ActionDefinition { ric_style_type: RicStyleType(style), formats };
    definition.encode_in(detection.revision, detection.wire, &mut octets).unwrap();
    let kind = RicActionType::Report;
    let action = Action { id: ACTION, kind, definition: Some(octets), subsequent: None };
    SubscriptionSpec { event_trigger: vec![0], actions: vec![action] }
}

/// The definition of a function in which measurement 6 is the usage of resource blocks.
fn offered(detection: &Detection) -> Vec<u8> {
    let measurement = MeasurementInfoActionItem {
        meas_name: PRBS.try_into().unwrap(),
        meas_id: Some(MeasurementTypeId(6)),
        bin_range_def: None,
    };
    let style = RicReportStyleItem {
        ric_report_style_type: RicStyleType(1),
        ric_report_style_name: RicStyleName(PrintableString::literal("E2 Node Measurement")),
        ric_action_format_type: RicFormatType(1),
        meas_info_action_list: vec![measurement].into(),
        ric_indication_header_format_type: RicFormatType(1),
        ric_indication_message_format_type: RicFormatType(1),
    };
    let definition = RanFunctionDefinition {
        ran_function_name: RanFunctionName {
            short_name: PrintableString::literal("ORAN-E2SM-KPM"),
            e2sm_oid: PrintableString::literal("1.3.6.1.4.1.53148.1.2.2.2"),
            description: PrintableString::literal("KPM monitor"),
            instance: None,
        },
        ric_event_trigger_style_list: None,
        ric_report_style_list: Some(vec![style].into()),
    };
    let mut octets = Vec::new();
    definition.encode_in(detection.revision, detection.wire, &mut octets).unwrap();
    octets
}

/// Translates the measurements of a tenant. Returns its view, and the labels that the base station is asked for.
fn translate(
    detection: &Detection,
    node: &NodeState,
    tenant: usize,
    measurements: &[MeasurementInfoItem<'static>],
) -> Result<(Arc<KpmView>, Vec<MeasurementLabel>), Cause> {
    let asked = spec(detection, 1, ActionDefinitionFormats::Format1(format1(measurements)));
    let (view, sent) = KpmView::translate(detection, &offered(detection), asked, tenant, node)?;
    let (octets, arena) = (sent.actions[0].definition.clone().unwrap(), Arena::new());
    let definition = ActionDefinition::decode_in(&octets, detection.revision, detection.wire, &arena).unwrap();
    let ActionDefinitionFormats::Format1(format) = definition.formats else { panic!() };
    let labels = format.meas_info_list.iter().flat_map(|item| item.label_info_list.iter());
    Ok((view, labels.map(|item| item.meas_label).collect()))
}

/// What a tenant receives of a report with these values, if the base station repeats the labels that it was asked for, and if not.
fn received(
    detection: &Detection,
    view: &KpmView,
    node: &NodeState,
    sent: Option<&[MeasurementInfoItem<'static>]>,
    values: Vec<MeasurementRecordItem<'static>>,
) -> Option<Vec<MeasurementRecordItem<'static>>> {
    let record = MeasurementDataItem { meas_record: values.clone().into(), incomplete_flag: None };
    let report = IndicationMessage {
        formats: IndicationMessageFormats::Format1(IndicationMessageFormat1 {
            meas_data: vec![record].into(),
            meas_info_list: sent.map(|sent| List::from(sent.to_vec()).into()),
            granul_period: None,
        }),
    };
    let mut octets = Vec::new();
    match view.partition(detection, node, 0, ACTION, &report, &mut octets).unwrap() {
        Content::Unchanged => Some(values),
        Content::Nothing => None,
        Content::Written => {
            let arena = Arena::new();
            let report = IndicationMessage::decode_in(&octets, detection.revision, detection.wire, &arena).unwrap();
            let IndicationMessageFormats::Format1(format) = report.formats else { panic!() };
            Some(format.meas_data[0].meas_record.iter().map(|value| value.clone().into_owned()).collect())
        }
    }
}

fn integers(values: &[u32]) -> Vec<MeasurementRecordItem<'static>> {
    values.iter().map(|value| MeasurementRecordItem::Integer(*value)).collect()
}

#[test]
fn labels_are_those_of_the_plmn_and_of_the_slices_of_a_tenant() {
    let slices = station_of(&[(A, "\"1\""), (B, "\"1\""), (A, "\"2\", \"3\"")]);
    let rest = station_of(&[(A, ""), (B, "\"1\""), (A, "\"2\", \"3\"")]);
    let of = |plmn, sst| label(Some(plmn), Some(sst));
    let cases = [
        // of two tenants with a slice of the same number, each has that of its PLMN
        (&slices, 0, NONE, vec![of(A, 1)]),
        (&slices, 1, NONE, vec![of(B, 1)]),
        (&slices, 0, of(A, 1), vec![of(A, 1)]),
        (&slices, 2, NONE, vec![of(A, 2), of(A, 3)]),
        (&slices, 2, label(None, Some(3)), vec![of(A, 3)]),
        // what others leave of a PLMN
        (&rest, 0, NONE, vec![label(Some(A), None), of(A, 2), of(A, 3)]),
        (&rest, 0, label(None, Some(7)), vec![of(A, 7)]),
        (&station(), 1, NONE, vec![label(Some(B), None)]),
    ];
    for detection in detections() {
        for (node, tenant, asked, expected) in &cases {
            let (_, sent) = translate(&detection, node, *tenant, &[measurement(PRBS, &[*asked])]).unwrap();
            assert_eq!(&sent, expected, "{detection:?}: {tenant} {asked:?}");
        }
        // by its number
        let by_number = MeasurementInfoItem {
            meas_type: MeasurementType::MeasId(MeasurementTypeId(6)),
            ..measurement(PRBS, &[NONE])
        };
        assert_eq!(translate(&detection, &rest, 0, &[by_number]).unwrap().1.len(), 3);
    }
}

#[test]
fn measurement_that_would_show_another_tenant_is_refused() {
    let slices = station_of(&[(A, "\"1\""), (B, "\"1\""), (A, "\"2\", \"3\"")]);
    let rest = station_of(&[(A, ""), (B, "\"1\""), (A, "\"2\", \"3\"")]);
    let unknown =
        MeasurementInfoItem { meas_type: MeasurementType::MeasId(MeasurementTypeId(7)), ..measurement(PRBS, &[NONE]) };
    let cases = [
        (&slices, 0, measurement(PRBS, &[label(Some(B), None)]), UNAVAILABLE),
        (&slices, 0, measurement(PRBS, &[label(None, Some(2))]), UNAVAILABLE),
        (&slices, 0, measurement(PRBS, &[NONE, label(Some(B), Some(1))]), UNAVAILABLE),
        (&slices, 2, measurement(PRBS, &[label(None, Some(1))]), UNAVAILABLE),
        (&rest, 0, measurement(PRBS, &[label(None, Some(2))]), UNAVAILABLE),
        // not a sum over UEs
        (&slices, 2, measurement("DRB.UEThpDl", &[NONE]), NOT_SUPPORTED),
        (&rest, 0, measurement("DRB.UEThpDl", &[NONE]), NOT_SUPPORTED),
        (
            &rest,
            0,
            measurement(PRBS, &[MeasurementLabel { max: Some(True), ..MeasurementLabel::default() }]),
            NOT_SUPPORTED,
        ),
        (&rest, 0, unknown, NOT_SUPPORTED),
    ];
    for detection in detections() {
        for (node, tenant, asked, cause) in &cases {
            let refused = translate(&detection, node, *tenant, &[measurement(PRBS, &[NONE]), asked.clone()]);
            assert_eq!(refused.map(|_| ()), Err(*cause), "{detection:?}: {tenant} {asked:?}");
        }
        // one label makes it up
        assert!(translate(&detection, &rest, 0, &[measurement("DRB.UEThpDl", &[label(None, Some(7))])]).is_ok());
        assert!(translate(&detection, &slices, 0, &[measurement("DRB.UEThpDl", &[NONE])]).is_ok());
        // the request grows by the slices of others
        let many = vec![NONE; 1366];
        let limit = Cause::RicRequest(CauseRicRequest::FunctionResourceLimit);
        assert_eq!(translate(&detection, &rest, 0, &[measurement(PRBS, &many)]).map(|_| ()), Err(limit));
        assert!(translate(&detection, &rest, 0, &[measurement(PRBS, &many[1..])]).is_ok());
    }
}

#[test]
fn value_of_the_rest_of_a_plmn_is_without_the_slices_of_others() {
    let rest = station_of(&[(A, ""), (A, "\"2\", \"3\"")]);
    let sums = station_of(&[(A, "\"2\", \"3\""), (A, "")]);
    let of = |sst| label(Some(A), Some(sst));
    let no_value = MeasurementRecordItem::NoValue;
    for detection in detections() {
        let asked =
            [measurement(PRBS, &[NONE, label(None, Some(7))]), measurement("DRB.UEThpDl", &[label(None, Some(7))])];
        let (view, _) = translate(&detection, &rest, 0, &asked).unwrap();
        let sent =
            [measurement(PRBS, &[label(Some(A), None), of(2), of(3), of(7)]), measurement("DRB.UEThpDl", &[of(7)])];
        for reported in [None, Some(&sent[..])] {
            let received = |values| received(&detection, &view, &rest, reported, values);
            assert_eq!(received(integers(&[100, 30, 20, 9, 4])), Some(integers(&[50, 9, 4])));
            // rounded parts
            assert_eq!(received(integers(&[50, 30, 21, 0, 4])), Some(integers(&[0, 0, 4])));
            let mut values = integers(&[100, 30, 20, 9, 4]);
            values[1] = MeasurementRecordItem::Real(Real::from(30.5));
            let expected = MeasurementRecordItem::Real(Real::from(49.5));
            assert_eq!(received(values.clone()).unwrap()[0], expected);
            values[2] = no_value.clone();
            assert_eq!(received(values).unwrap()[0], no_value);
            // a base station that reports other values than it was asked for
            assert_eq!(received(integers(&[100, 30, 20, 9])), None);
        }
        let other = [measurement(PRBS, &[label(Some(A), None), of(2), of(3)]), sent[1].clone()];
        assert_eq!(received(&detection, &view, &rest, Some(&other), integers(&[100, 30, 20, 9, 4])), None);
        let (view, _) = translate(&detection, &sums, 0, &[measurement(PRBS, &[NONE])]).unwrap();
        let sent = [measurement(PRBS, &[of(2), of(3)])];
        let received = received(&detection, &view, &sums, Some(&sent), integers(&[30, 20]));
        assert_eq!(received, Some(integers(&[50])));
    }
}

#[test]
fn report_with_measurements_in_another_order_or_with_other_labels_is_not_passed_on() {
    let node = station_of(&[(A, "\"1\""), (A, "\"2\", \"3\"")]);
    let (own, other) = (label(Some(A), Some(1)), label(Some(A), Some(2)));
    let bin = MeasurementLabel { dist_bin_x: Some(2), ..own };
    let throughput = "DRB.UEThpDl";
    for detection in detections() {
        let asked = [
            measurement(PRBS, &[NONE, MeasurementLabel { plmn_id: None, slice_id: None, ..bin }]),
            measurement(throughput, &[NONE]),
        ];
        let (view, _) = translate(&detection, &node, 0, &asked).unwrap();
        let received = |sent: &[MeasurementInfoItem<'static>]| {
            received(&detection, &view, &node, Some(sent), integers(&[1, 2, 3]))
        };
        let sent = [measurement(PRBS, &[own, bin]), measurement(throughput, &[own])];
        assert_eq!(received(&sent), Some(integers(&[1, 2, 3])));
        for others in [
            // equal counts each
            [sent[1].clone(), sent[0].clone()],
            [measurement(PRBS, &[bin, own]), sent[1].clone()],
            [measurement(PRBS, &[own]), measurement(throughput, &[own, bin])],
            [sent[0].clone(), measurement(PRBS, &[own])],
            [sent[0].clone(), measurement(throughput, &[other])],
            [sent[0].clone(), measurement(throughput, &[NONE])],
        ] {
            assert_eq!(received(&others), None, "{detection:?}: {others:?}");
        }
    }
}

#[test]
fn report_of_a_ue_ends_when_its_id_is_that_of_another_tenants_ue() {
    for detection in detections() {
        let mut node = station();
        notify(&mut node, 7, A, Event::Attached);
        let format =
            ActionDefinitionFormat2 { ue_id: ue_id(7), subscript_info: format1(&[measurement(PRBS, &[NONE])]) };
        let asked = spec(&detection, 2, ActionDefinitionFormats::Format2(format));
        let (view, _) = KpmView::translate(&detection, &offered(&detection), asked, 0, &node).unwrap();
        assert_eq!(received(&detection, &view, &node, None, integers(&[5])), Some(integers(&[5])));
        notify_as(&mut node, (7, 9), B, Event::Attached);
        assert_eq!(received(&detection, &view, &node, None, integers(&[5])), None);
    }
}

/// The values of UEs, each with its number as value.
fn values_of(ues: &[u16]) -> IndicationMessage<'static> {
    let of_ue = |number: &u16| UeMeasurementReportItem {
        ue_id: ue_id(*number),
        meas_report: IndicationMessageFormat1 {
            meas_data: vec![MeasurementDataItem {
                meas_record: integers(&[(*number).into()]).into(),
                incomplete_flag: None,
            }]
            .into(),
            meas_info_list: None,
            granul_period: None,
        },
    };
    let ue_meas_report_list = ues.iter().map(of_ue).collect();
    IndicationMessage { formats: IndicationMessageFormats::Format3(IndicationMessageFormat3 { ue_meas_report_list }) }
}

#[test]
fn report_of_several_ues_has_those_of_the_tenant_only() {
    let mut node = station();
    for (number, plmn) in [(1, A), (2, B), (3, A)] {
        notify(&mut node, number, plmn, Event::Attached);
    }
    let view = KpmView { asked: Vec::new(), with_cells: Vec::new() };
    for detection in detections() {
        let part = |tenant: usize, ues: &[u16]| {
            let mut octets = Vec::new();
            let content = view.partition(&detection, &node, tenant, ACTION, &values_of(ues), &mut octets).unwrap();
            (content, octets)
        };
        let written = |ues: &[u16]| {
            let mut octets = Vec::new();
            values_of(ues).encode_in(detection.revision, detection.wire, &mut octets).unwrap();
            (Content::Written, octets)
        };
        assert_eq!(part(0, &[1, 2, 3, 9]), written(&[1, 3]), "{detection:?}");
        assert_eq!(part(1, &[1, 2, 3, 9]), written(&[2]), "{detection:?}");
        // the list has at least one UE
        assert_eq!(part(1, &[1, 9]).0, Content::Nothing, "{detection:?}");
    }
}

fn cell(plmn: PlmnIdentity) -> Cgi {
    Cgi::NrCgi(NrCgi::new(plmn, 7))
}

/// The cell of an action is that of the base station, in each style and revision; a tenant may also name it as the base station does.
#[test]
fn cell_of_an_action_is_that_of_the_base_station() {
    use e2sm::kpm::{
        ActionDefinitionFormat4, ActionDefinitionFormat5, MatchingUeCondPerSubItem, MatchingUeidPerSubItem,
        TestCondExpression, TestCondInfo, TestCondType, TestCondValue,
    };
    let mut node = station();
    (3..=4).for_each(|number| notify(&mut node, number, B, Event::Attached));
    let other = PlmnIdentity::from_codes(9, 9, 3);
    for detection in detections() {
        let formats = |cell_global_id| {
            let subscription_info =
                ActionDefinitionFormat1 { cell_global_id, ..format1(&[measurement(PRBS, &[label(Some(B), None)])]) };
            let subscript_info = subscription_info.clone();
            let ue = |number| MatchingUeidPerSubItem { ue_id: ue_id(number) };
            let condition = MatchingUeCondPerSubItem {
                test_cond_info: TestCondInfo {
                    test_type: TestCondType::Rsrp(True),
                    test_expr: Some(TestCondExpression::GreaterThan),
                    test_value: Some(TestCondValue::ValueInt(1)),
                },
                logical_or: None,
            };
            [
                (1, ActionDefinitionFormats::Format1(subscription_info.clone())),
                (2, ActionDefinitionFormats::Format2(ActionDefinitionFormat2 { ue_id: ue_id(3), subscript_info })),
                (
                    4,
                    ActionDefinitionFormats::Format4(ActionDefinitionFormat4 {
                        matching_ue_cond_list: vec![condition].into(),
                        subscription_info: subscription_info.clone(),
                    }),
                ),
                (
                    5,
                    ActionDefinitionFormats::Format5(ActionDefinitionFormat5 {
                        matching_ueid_list: vec![ue(3), ue(4)].into(),
                        subscription_info,
                    }),
                ),
            ]
        };
        let specs = |of| formats(of).map(|(style, formats)| spec(&detection, style, formats));
        for (named, sent) in [(cell(B), cell(A)), (cell(A), cell(A)), (cell(other), cell(other))] {
            for (asked, expected) in specs(Some(named)).into_iter().zip(specs(Some(sent))) {
                let (_, translated) = KpmView::translate(&detection, &offered(&detection), asked, 1, &node).unwrap();
                assert_eq!(translated, expected, "{detection:?}: {named:?}");
            }
        }
    }
}

/// Labels of v04.00 may name cells; reports of UEs may repeat them.
#[test]
fn cells_of_labels_are_those_of_the_tenant() {
    let mut node = station();
    notify(&mut node, 3, B, Event::Attached);
    let mut detection = Detection::configured(Revision::V4_00);
    for wire in [Wire::Per, Wire::Flat] {
        detection.wire = wire;
        let label = |plmn| MeasurementLabel { cell_global_id: Some(cell(plmn)), ..label(Some(B), None) };
        let (view, sent) = translate(&detection, &node, 1, &[measurement(PRBS, &[label(B)])]).unwrap();
        assert_eq!(sent, [label(A)]);
        let report = |of| IndicationMessageFormat1 {
            meas_data: vec![MeasurementDataItem {
                meas_record: vec![MeasurementRecordItem::Integer(5)].into(),
                incomplete_flag: None,
            }]
            .into(),
            meas_info_list: Some(List::from(vec![measurement(PRBS, &[label(of)])]).into()),
            granul_period: None,
        };
        let received = |view: &KpmView, formats| {
            let mut out = Vec::new();
            let message = IndicationMessage { formats };
            let content = view.partition(&detection, &node, 1, ACTION, &message, &mut out).unwrap();
            assert_eq!(content, Content::Written);
            out
        };
        let encoded = |formats| {
            let mut out = Vec::new();
            IndicationMessage { formats }.encode_in(detection.revision, wire, &mut out).unwrap();
            out
        };
        let of_node = |of| IndicationMessageFormats::Format1(report(of));
        assert_eq!(received(&view, of_node(A)), encoded(of_node(B)));
        // of a UE, alone and in a list
        let subscript_info = format1(&[measurement(PRBS, &[label(B)])]);
        let formats = ActionDefinitionFormats::Format2(ActionDefinitionFormat2 { ue_id: ue_id(3), subscript_info });
        let asked = spec(&detection, 2, formats);
        let (view, _) = KpmView::translate(&detection, &offered(&detection), asked, 1, &node).unwrap();
        assert_eq!(received(&view, of_node(A)), encoded(of_node(B)));
        let of_ues = |of| {
            let item = UeMeasurementReportItem { ue_id: ue_id(3), meas_report: report(of) };
            IndicationMessageFormats::Format3(IndicationMessageFormat3 { ue_meas_report_list: vec![item].into() })
        };
        assert_eq!(received(&view, of_ues(A)), encoded(of_ues(B)));
    }
}

/// The names that a definition offers in a style; `None` without the style.
fn names(detection: &Detection, definition: &[u8], style: i64) -> Option<Vec<String>> {
    let arena = Arena::new();
    let read = RanFunctionDefinition::decode_in(definition, detection.revision, detection.wire, &arena).unwrap();
    let styles = read.ric_report_style_list?;
    let style = styles.iter().find(|of| of.ric_report_style_type == RicStyleType(style))?;
    Some(style.meas_info_action_list.iter().map(|item| item.meas_name.as_str().to_owned()).collect())
}

/// A definition with these measurements by style.
fn with_styles(detection: &Detection, styles: &[(i64, &[&'static str])]) -> Vec<u8> {
    let (plain, arena) = (offered(detection), Arena::new());
    let mut read = RanFunctionDefinition::decode_in(&plain, detection.revision, detection.wire, &arena).unwrap();
    read.ran_function_name.e2sm_oid = PrintableString::literal(detection.revision.oid());
    let template = read.ric_report_style_list.take().unwrap()[0].clone();
    let items = |names: &[&'static str]| {
        let item = |name: &&'static str| MeasurementInfoActionItem {
            meas_name: (*name).try_into().unwrap(),
            meas_id: None,
            bin_range_def: None,
        };
        names.iter().map(item).collect()
    };
    let style = |(number, names): &(i64, &[&'static str])| RicReportStyleItem {
        ric_report_style_type: RicStyleType(*number),
        ric_action_format_type: RicFormatType(*number),
        meas_info_action_list: items(names),
        ..template.clone()
    };
    read.ric_report_style_list = Some(styles.iter().map(style).collect());
    let mut octets = Vec::new();
    read.encode_in(detection.revision, detection.wire, &mut octets).unwrap();
    octets
}

#[test]
fn offered_definition_is_detected_as_that_of_the_base_station() {
    for configured in detections() {
        let oid = configured.wire.oid(configured.revision.oid());
        let physical = with_styles(&configured, &[(1, &[PRBS, "RRC.ConnMean"]), (3, &[PRBS]), (4, &[PRBS])]);
        for revision in 0..=4 {
            let of = |definition: &[u8]| Detection::from_ran_function(&oid, revision, definition).unwrap();
            let detected = of(&physical);
            let offered = offered_definition(&detected, &physical).unwrap();
            assert_eq!(of(&offered), detected, "{configured:?}, function revision {revision}");
            assert_eq!(names(&detected, &offered, 3), None);
        }
    }
}

#[test]
fn measurements_of_the_cell_as_a_whole_are_not_offered() {
    let of_node: &[_] =
        &[PRBS, "RRC.ConnMean", "DRB.MeanActiveUeDl", "RRU.PrbAvailDl", "RRU.PrbTotDlDist", "HO.OfUe", "Vendor.Load"];
    for detection in detections() {
        let physical = with_styles(&detection, &[(1, of_node), (4, &[PRBS, "HO.OfUe"])]);
        let offered = offered_definition(&detection, &physical).unwrap();
        let expected = [PRBS, "DRB.MeanActiveUeDl", "HO.OfUe", "Vendor.Load"].map(str::to_owned).to_vec();
        assert_eq!(names(&detection, &offered, 1), Some(expected), "{detection:?}");
        assert_eq!(names(&detection, &offered, 4), Some(vec![PRBS.to_owned(), "HO.OfUe".to_owned()]));
        // a list has at least one measurement
        let physical = with_styles(&detection, &[(1, &["RRC.ConnMean"]), (4, &[PRBS])]);
        let offered = offered_definition(&detection, &physical).unwrap();
        assert_eq!(names(&detection, &offered, 1), None);
        assert!(names(&detection, &offered, 4).is_some());
    }
}

/// v02.01 has another encoding of conditions than those that it cannot be told from.
#[test]
fn action_of_each_possible_revision_is_passed_on_in_it() {
    let node = station();
    for sent in [Revision::V2_01, Revision::V2_03, Revision::V3_00] {
        let oid = sent.oid();
        let physical = with_styles(&Detection::configured(sent), &[(1, &[PRBS]), (4, &[PRBS])]);
        let detected = Detection::from_ran_function(oid, 1, &physical).unwrap();
        let (arena, mut octets) = (Arena::new(), Vec::new());
        let definition = RanFunctionDefinition::decode(&physical, sent, &arena).unwrap();
        let request = ReportRequest {
            measurements: &[MeasurementRequest::named(PRBS)],
            granularity_period_ms: 100,
            reporting_period_ms: 100,
            scope: Scope::EveryUe(EveryUe::AnySignal),
        };
        request.plan(&definition, sent).unwrap().action.encode(sent, &mut octets).unwrap();
        let kind = RicActionType::Report;
        let action = Action { id: ACTION, kind, definition: Some(octets.clone()), subsequent: None };
        let spec = SubscriptionSpec { event_trigger: vec![0], actions: vec![action] };
        let (_, passed) = KpmView::translate(&detected, &physical, spec.clone(), 0, &node).unwrap();
        assert_eq!(passed.actions[0].definition, Some(octets.clone()), "{sent}, detected as {detected}");
        // octets of no revision
        let mut cut = spec;
        cut.actions[0].definition = Some(octets[..octets.len() / 2].to_vec());
        let refused = KpmView::translate(&detected, &physical, cut, 0, &node).map(|_| ());
        assert_eq!(refused, Err(Cause::Protocol(CauseProtocol::TransferSyntaxError)), "{sent}");
    }
}

#[test]
fn revisions_before_v02_01_are_not_offered() {
    let supported = Revision::ALL.into_iter().filter(|revision| is_supported(*revision));
    assert!(supported.eq(Revision::FROM_V2));
}
