//! What FlexRIC's xApps look for in the announcements of a node, as conditions: an xApp ends with an assertion, or reads a
//! null pointer, where one does not hold. The subscriptions and controls are those that the xApps build from the definitions.

use std::time::{SystemTime, UNIX_EPOCH};

use e2sm::common::True;
use e2sm::kpm::{
    ActionDefinition, ActionDefinitionFormat1, ActionDefinitionFormat4, ActionDefinitionFormats, GranularityPeriod,
    IndicationHeader, IndicationHeaderFormats, IndicationMessage, IndicationMessageFormats, LabelInfoList,
    MatchingUeCondPerSubItem, MeasurementInfoItem, MeasurementRecordItem, MeasurementType, MeasurementTypeName,
    TestCondExpression, TestCondInfo, TestCondType, TestCondValue, TimeStamp,
};
use e2sm::rc::{Control, ControlAction, FlowDirection, MappedFlow, QosFlowMapping, RanParameterDefinitionChoice};
use per::{List, Octets, PrintableString};

use super::*;

/// The node types of the profiles, with a split gNB.
const NODES: [NodeType; 4] = [NodeType::Gnb, NodeType::CuCp, NodeType::CuUp, NodeType::Du];
const PROFILES: [&str; 2] = ["flexric", "oai"];

/// The values that the monitors print as integers and as real numbers.
const INTEGERS: [&str; 4] = ["RRU.PrbTotDl", "RRU.PrbTotUl", "DRB.PdcpSduVolumeDL", "DRB.PdcpSduVolumeUL"];
const REALS: [&str; 3] = ["DRB.RlcSduDelayDl", "DRB.UEThpDl", "DRB.UEThpUl"];

/// The configuration for nodes of this type, with UEs in slice 1, as the monitors select them.
fn with(profile: &str, node_type: NodeType) -> RanConfig {
    let mut config = config(profile);
    config.scenario.cells[0].is_split = node_type != NodeType::Gnb;
    for ue in &mut config.scenario.ues {
        (ue.subscription.sst, ue.subscription.sd) = (1, None);
    }
    config
}

fn announced_by(profile: &str, node_type: NodeType) -> Vec<Announced> {
    let config = with(profile, node_type);
    announced(&testing::setup_request(node_of(&config, node_type), &config), config.e2ap_version)
}

fn named(name: &str) -> MeasurementInfoItem<'_> {
    MeasurementInfoItem {
        meas_type: MeasurementType::MeasName(MeasurementTypeName(PrintableString::literal(name))),
        label_info_list: LabelInfoList::NO_LABEL,
        match_cond_report_list: None,
    }
}

/// The action of `xapp_kpm_moni` and `xapp_kpm_rc` for a report style: all its measurements every second, of the UEs in slice 1.
fn monitor_action(style: &kpm::RicReportStyleItem<'_>) -> (Vec<u8>, Vec<u8>) {
    let names: Vec<String> = style.meas_info_action_list.iter().map(|item| item.meas_name.to_string()).collect();
    let condition = MatchingUeCondPerSubItem {
        test_cond_info: TestCondInfo {
            test_type: TestCondType::SNssai(True),
            test_expr: Some(TestCondExpression::Equal),
            test_value: Some(TestCondValue::ValueOctS(Octets::from(vec![1]))),
        },
        logical_or: None,
    };
    let subscription_info = ActionDefinitionFormat1 {
        meas_info_list: names.iter().map(|name| named(name)).collect(),
        granul_period: GranularityPeriod(1000),
        cell_global_id: None,
        dist_meas_bin_range_info: None,
    };
    let matching_ue_cond_list = List::from(vec![condition]);
    let format = ActionDefinitionFormat4 { matching_ue_cond_list, subscription_info };
    let definition = ActionDefinition {
        ric_style_type: style.ric_report_style_type,
        formats: ActionDefinitionFormats::Format4(format),
    };
    kpm_subscription(&definition, 1000)
}

#[test]
fn xapp_kpm_moni_finds_report_style_4_first() {
    for (profile, node_type) in PROFILES.into_iter().flat_map(|profile| NODES.map(|node_type| (profile, node_type))) {
        let announced = announced_by(profile, node_type);
        let kpm = function(&announced, 2);
        assert_eq!((kpm.revision, kpm.oid.as_deref()), (3, Some("1.3.6.1.4.1.53148.1.3.2.2")));
        let arena = Arena::new();
        let definition = kpm_definition(&announced, &arena);
        let triggers = definition.ric_event_trigger_style_list.as_deref().unwrap();
        assert_eq!(triggers[0].ric_event_trigger_format_type.0, 1);
        let Some(styles) = &definition.ric_report_style_list else {
            assert_eq!(node_type, NodeType::CuCp, "only the CU-CP reports no measurements");
            continue;
        };
        let style = &styles[0];
        assert_eq!((style.ric_report_style_type.0, style.ric_action_format_type.0), (4, 4), "{profile} {node_type:?}");
        assert_eq!((style.ric_indication_header_format_type.0, style.ric_indication_message_format_type.0), (1, 3));
        let others: Vec<i64> = styles[1..].iter().map(|style| style.ric_report_style_type.0).collect();
        assert_eq!(others, [1]);
        for item in style.meas_info_action_list.iter() {
            let name: &str = &item.meas_name;
            assert!(INTEGERS.contains(&name) || REALS.contains(&name), "the monitors do not know {name}");
            assert_eq!((item.meas_id, &item.bin_range_def), (None, &None));
        }
    }
}

#[test]
fn xapp_kpm_moni_reads_every_record() {
    for (profile, node_type) in
        PROFILES.into_iter().flat_map(|profile| [NodeType::Gnb, NodeType::CuUp, NodeType::Du].map(|of| (profile, of)))
    {
        let mut config = with(profile, node_type);
        // an idle UE has no delay and no throughput
        config.scenario.ues.iter_mut().for_each(|ue| ue.flows.clear());
        let announced = announced(&testing::setup_request(node_of(&config, node_type), &config), config.e2ap_version);
        let arena = Arena::new();
        let definition = kpm_definition(&announced, &arena);
        let (trigger, action) = monitor_action(&definition.ric_report_style_list.as_ref().unwrap()[0]);
        let mut node = Driven::new(&config, node_type);
        node.subscribe(2, trigger, vec![report_action(0, Some(action))]).unwrap();
        let (header, message) = node.report(2).unwrap();

        let header = IndicationHeader::decode(&header, kpm::Revision::V3_00).unwrap();
        let IndicationHeaderFormats::Format1(header) = header.formats;
        let TimeStamp::Long(octets) = header.collet_start_time else { panic!("8 octets") };
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros() as u64;
        let day = 24 * 3600 * 1_000_000;
        assert!(u64::from_be_bytes(octets).abs_diff(now) < day, "microseconds since 1970");

        let message = IndicationMessage::decode(&message, kpm::Revision::V3_00, &arena).unwrap();
        let IndicationMessageFormats::Format3(message) = message.formats else { panic!("format 3") };
        assert_eq!(message.ue_meas_report_list.len(), 4);
        for report in message.ue_meas_report_list.iter() {
            let of_node = match report.ue_id {
                UeId::Gnb(_) => [NodeType::Gnb, NodeType::CuCp].contains(&node_type),
                UeId::GnbDu(_) => node_type == NodeType::Du,
                UeId::GnbCuUp(_) => node_type == NodeType::CuUp,
                _ => false,
            };
            assert!(of_node, "the UE ID has the type of the node");
            let info = report.meas_report.meas_info_list.as_ref().unwrap();
            for data in report.meas_report.meas_data.iter() {
                assert_eq!(data.meas_record.len(), info.len());
                for (item, value) in info.iter().zip(data.meas_record.iter()) {
                    let MeasurementType::MeasName(name) = &item.meas_type else { panic!("named") };
                    let name: &str = name;
                    let is_read = match value {
                        MeasurementRecordItem::Integer(_) => INTEGERS.contains(&name),
                        MeasurementRecordItem::Real(_) => REALS.contains(&name),
                        _ => false, // the monitors read a null pointer
                    };
                    assert!(is_read, "{profile} {node_type:?}: {name} is {value:?}");
                }
            }
        }
    }
}

#[test]
fn xapp_rc_moni_finds_the_rrc_state() {
    for (profile, node_type) in PROFILES.into_iter().flat_map(|profile| NODES.map(|node_type| (profile, node_type))) {
        let announced = announced_by(profile, node_type);
        let function = function(&announced, 3);
        assert_eq!((function.revision, function.oid.as_deref()), (1, Some("1.3.6.1.4.1.53148.1.1.2.3")));
        let arena = Arena::new();
        let definition = rc_definition(&announced, rc::Revision::V1_03, &arena);
        let Some(report) = &definition.report else {
            assert!([NodeType::CuUp, NodeType::Du].contains(&node_type), "nodes with RRC report");
            continue;
        };
        for style in report.report_style_list.iter() {
            assert_eq!(&*style.ric_report_style_name.0, "UE Information");
            // FlexRIC numbers formats from 0, and takes the event trigger style for a format
            assert_eq!((style.ric_supported_event_trigger_style_type.0, style.ric_report_action_format_type.0), (3, 0));
            assert_eq!((style.ric_indication_header_format_type.0, style.ric_indication_message_format_type.0), (0, 1));
            let parameters: Vec<_> = style.report_parameters_list.iter().flatten().collect();
            let named: Vec<_> = parameters.iter().map(|p| (p.ran_parameter_id.0, &*p.ran_parameter_name.0)).collect();
            assert_eq!(named, [(202, "RRC State")]);
        }
        let triggers = definition.event_trigger.as_ref().unwrap();
        let triggers: Vec<_> =
            triggers.event_trigger_style_list.iter().map(|style| style.ric_event_trigger_format_type.0).collect();
        assert_eq!(triggers, [3]);
    }
}

#[test]
fn xapp_kpm_rc_finds_the_mapping_of_qos_flows() {
    for (profile, node_type) in PROFILES.into_iter().flat_map(|profile| NODES.map(|node_type| (profile, node_type))) {
        let announced = announced_by(profile, node_type);
        let arena = Arena::new();
        let definition = rc_definition(&announced, rc::Revision::V1_03, &arena);
        assert_eq!((&definition.insert, &definition.policy, &definition.query), (&None, &None, &None));
        let Some(control) = &definition.control else {
            assert!([NodeType::CuUp, NodeType::Du].contains(&node_type), "nodes with RRC have controls");
            continue;
        };
        for style in control.control_style_list.iter() {
            assert_eq!(&*style.ric_control_style_name.0, "Radio Bearer Control");
            assert_eq!((style.ric_control_header_format_type.0, style.ric_control_message_format_type.0), (0, 0));
            for action in style.control_action_list.iter().flatten() {
                assert_eq!(&*action.ric_control_action_name.0, "QoS flow mapping configuration");
                let parameters: Vec<_> =
                    action.control_action_parameters_list.iter().flatten().map(|p| p.ran_parameter_id.0).collect();
                assert_eq!(parameters, [1, 2]);
                // the decoder of all xApps asserts that what is within a list or a structure has no definition of its own
                for parameter in action.control_action_parameters_list.iter().flatten() {
                    let within = match parameter.ran_parameter_definition.as_ref().map(|of| &of.definition_choice) {
                        None => continue,
                        Some(RanParameterDefinitionChoice::List(list)) => &list.list,
                        Some(RanParameterDefinitionChoice::Structure(structure)) => &structure.structure,
                    };
                    for item in within.iter() {
                        assert_eq!(
                            item.ran_parameter_definition, None,
                            "{profile} {node_type:?}: {}",
                            item.ran_parameter_id.0
                        );
                    }
                }
            }
        }
        // DRB 5 and flow 10, which the UE does not have; its RIC and the xApp end with an assertion on a failure
        let mut node = Driven::new(&with(profile, node_type), node_type);
        let ue = node.ue_ids().remove(0);
        let flows = vec![MappedFlow { qfi: 10, direction: Some(FlowDirection::Downlink) }];
        let mapping = ControlAction::QosFlowMapping(QosFlowMapping { drb_id: 5, flows });
        let (header, message) = Control::of_ue(ue, mapping).encode(rc::Revision::V1_03).unwrap();
        node.control(3, header, message).unwrap();
        // handovers are not announced
        let ue = node.ue_ids().remove(0);
        let handover = ControlAction::Handover(e2sm::rc::Handover::to(testing::cell_of(0)));
        let (header, message) = Control::of_ue(ue, handover).encode(rc::Revision::V1_03).unwrap();
        let refused = node.control(3, header, message).unwrap_err();
        assert_eq!(refused.cause, Cause::RicRequest(e2ap::CauseRicRequest::ActionNotSupported));
    }
}

#[test]
fn statistics_slice_and_traffic_xapps_find_their_functions() {
    let ids = |profile, node_type| {
        let mut ids: Vec<u16> = announced_by(profile, node_type).iter().map(|function| function.id).collect();
        ids.sort_unstable();
        ids
    };
    // xapp_gtp_mac_rlc_pdcp_moni subscribes to 142, 143, 144 and 148 of a gNB, 142 and 143 of a DU, 144 and 148 of a CU-UP;
    // the slice xApp to 145, the TC xApps to 146; hw prints them all
    assert_eq!(ids("flexric", NodeType::Gnb), [2, 3, 142, 143, 144, 145, 146, 148]);
    assert_eq!(ids("flexric", NodeType::Du), [2, 3, 142, 143, 145]);
    assert_eq!(ids("flexric", NodeType::CuUp), [2, 3, 144, 146, 148]);
    assert_eq!(ids("flexric", NodeType::CuCp), [2, 3]);
    assert_eq!(ids("oai", NodeType::Gnb), [2, 3, 142, 143, 144, 148]);
    for function in announced_by("flexric", NodeType::Gnb).iter().filter(|function| function.id >= 142) {
        let expected = format!("0.0.0.0.0.0.0.0.1.{}.0", function.id);
        assert_eq!((function.oid.as_deref(), function.revision), (Some(&*expected), 1));
    }
}

#[test]
fn schedulers_of_flexric_slice_xapp_are_accepted() {
    use e2sm::slice::{DirectionSlices, SliceConfiguration};
    use ran_functions::slice::SliceSource;

    // a name that the model does not have, which the xApp of December 2023 sends
    let uplink =
        || DirectionSlices { scheduler: PrintableString::literal("round_robin_ul"), slices: Vec::new().into() };
    let wanted = || SliceConfiguration { ul: uplink(), ..SliceConfiguration::default() };
    let mut node = node_of(&config("flexric"), NodeType::Gnb);
    SliceSource::set_slices(&mut node, wanted()).unwrap();
    assert_eq!(SliceSource::slices(&node).ul, uplink());
    let mut full = node_of(&config("full"), NodeType::Gnb);
    assert!(SliceSource::set_slices(&mut full, wanted()).is_err());
}

#[test]
fn slice_xapp_finds_the_rnti_of_a_ue_without_slice() {
    use e2sm::Wire;
    use e2sm::slice::{EventTriggerDefinition, IndicationMessage, NO_SLICE};

    // the xApp associates the first UE of the report with a slice, and RNTI 0 if there is none
    let listed = |profile| {
        let mut node = Driven::new(&with(profile, NodeType::Gnb), NodeType::Gnb);
        let mut trigger = Vec::new();
        EventTriggerDefinition { period_ms: 5 }.encode(Wire::Plain, &mut trigger).unwrap();
        node.subscribe(145, trigger, vec![report_action(0, None)]).unwrap();
        let (_, message) = node.report(145).unwrap();
        let message = IndicationMessage::decode_owned(&message, Wire::Plain).unwrap();
        message.ues.iter().map(|ue| (ue.dl_id, ue.ul_id, ue.rnti != 0)).collect::<Vec<_>>()
    };
    assert_eq!(listed("flexric"), [(NO_SLICE, NO_SLICE, true); 4]);
    assert_eq!(listed("full"), []);
}
