//! Strictness of srsRAN's readers: what makes them end with a fault is refused here.

use e2sm::common::RicStyleType;
use e2sm::kpm::{
    ActionDefinition, ActionDefinitionFormat1, ActionDefinitionFormats, GranularityPeriod, IndicationMessage,
    IndicationMessageFormats, LabelInfoList, MeasurementInfoItem, MeasurementRecordItem, MeasurementType,
    MeasurementTypeName,
};
use e2sm::rc::{
    Control, ControlAction, ControlHeader, ControlHeaderFormat1, ControlHeaderFormats, ControlMessage,
    ControlMessageFormat1, ControlMessageFormats, ControlOutcome, ControlOutcomeFormats, Handover,
    RanParameterElementFalse, RanParameterId, RanParameterItem, RanParameterList, RanParameterStructure,
    RanParameterValue, RanParameterValueType, RanParameterValueTypeList, RanParameterValueTypeStructure,
};
use ferric::e2ap::CauseRicRequest;
use per::{List, Octets, PrintableString};

use super::*;

type Item = RanParameterItem<'static>;

fn item(id: u32, value_type: RanParameterValueType<'static>) -> Item {
    RanParameterItem { ran_parameter_id: RanParameterId(id), value_type }
}

fn element(id: u32, value: RanParameterValue<'static>) -> Item {
    item(id, RanParameterValueType::ElementFalse(RanParameterElementFalse { value: Some(value) }))
}

fn number(id: u32, value: i64) -> Item {
    element(id, RanParameterValue::ValueInt(value))
}

fn octets(id: u32, value: &[u8]) -> Item {
    element(id, RanParameterValue::ValueOctS(Octets::from(value.to_vec())))
}

fn contents(items: Vec<Item>) -> RanParameterStructure<'static> {
    RanParameterStructure { parameters: Some(List::from(items)) }
}

fn structure(id: u32, items: Vec<Item>) -> Item {
    item(id, RanParameterValueType::Structure(RanParameterValueTypeStructure { structure: contents(items) }))
}

fn list(id: u32, items: Vec<Item>) -> Item {
    let list = RanParameterList { list: List::from(vec![contents(items)]) };
    item(id, RanParameterValueType::List(RanParameterValueTypeList { list }))
}

/// A control of one action with these parameters.
fn control(ue_id: &UeId<'static>, (style, action): (i64, u16), items: Vec<Item>) -> (Vec<u8>, Vec<u8>) {
    let (mut header, mut message) = (Vec::new(), Vec::new());
    let format = ControlHeaderFormat1 {
        ue_id: ue_id.clone(),
        ric_style_type: RicStyleType(style),
        ric_control_action_id: e2sm::rc::RicControlActionId(action),
        ric_control_decision: None,
    };
    let formats = ControlHeaderFormats::Format1(format);
    ControlHeader { formats }.encode(rc::Revision::V3_00, &mut header).unwrap();
    let formats = ControlMessageFormats::Format1(ControlMessageFormat1 { ran_p_list: List::from(items) });
    ControlMessage { formats }.encode(rc::Revision::V3_00, &mut message).unwrap();
    (header, message)
}

/// The slice-level PRB quota as srsRAN reads it, without the parameters in `left_out`: their contents move up.
fn quota(left_out: &[u32]) -> Vec<Item> {
    let has = |id: &u32| !left_out.contains(id);
    let slice = structure(
        8,
        [octets(9, &[1]), octets(10, &[0, 0, 1])].into_iter().filter(|i| has(&i.ran_parameter_id.0)).collect(),
    );
    let member: Vec<Item> =
        [octets(7, &[0x00, 0xf1, 0x10]), slice].into_iter().filter(|i| has(&i.ran_parameter_id.0)).collect();
    let member = if has(&6) { vec![structure(6, member)] } else { member };
    let policy = structure(3, vec![list(5, member)]);
    let ratios = [number(11, 10), number(12, 50), number(13, 5)];
    let mut group = vec![policy];
    group.extend(ratios.into_iter().filter(|i| has(&i.ran_parameter_id.0)));
    vec![list(1, if has(&2) { vec![structure(2, group)] } else { group })]
}

/// The parameter and the text of the outcome of a refused control.
fn reason(failure: &ControlFailure) -> (u32, String) {
    let arena = Arena::new();
    let outcome = ControlOutcome::decode(failure.outcome.as_ref().unwrap(), rc::Revision::V3_00, &arena).unwrap();
    let ControlOutcomeFormats::Format1(outcome) = outcome.formats else { panic!("format 1") };
    let RanParameterValue::ValuePrintableString(text) = &outcome.ran_p_list[0].value else { panic!("text") };
    (outcome.ran_p_list[0].ran_parameter_id.0, text.to_string())
}

fn du() -> Driven {
    Driven::new(&config("srsran-du"), NodeType::Du)
}

#[test]
fn split_gnb_announces_what_srsran_announces() {
    let arena = Arena::new();
    let du = functions_of("srsran", NodeType::Du);
    let ids: Vec<u16> = du.iter().map(|function| function.id).collect();
    assert_eq!(ids, [2, 4, 3]);
    assert!(du.iter().all(|function| function.revision == 0));
    let kpm = kpm_definition(&du, &arena);
    assert_eq!(function(&du, 2).oid.as_deref(), Some("1.3.6.1.4.1.53148.1.2.2.2"));
    assert_eq!(&*kpm.ran_function_name.e2sm_oid, "1.3.6.1.4.1.53148.1.2.2.2");
    let styles = kpm.ric_report_style_list.as_ref().unwrap();
    assert_eq!(styles.iter().map(|style| style.ric_report_style_type.0).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
    assert_eq!((styles[0].meas_info_action_list.len(), styles[3].meas_info_action_list.len()), (15, 14));
    let definition = rc_definition(&du, rc::Revision::V3_00, &arena);
    let others = (&definition.event_trigger, &definition.report, &definition.query, &definition.policy);
    assert_eq!(others, (&None, &None, &None, &None));
    let style = &definition.control.as_ref().unwrap().control_style_list;
    let action = &style[0].control_action_list.as_ref().unwrap()[0];
    assert_eq!((style.len(), style[0].ric_control_style_type.0, action.ric_control_action_id.0), (1, 2, 6));
    let parameters = action.control_action_parameters_list.as_ref().unwrap();
    let listed: Vec<_> =
        parameters.iter().map(|p| (p.ran_parameter_id.0, p.ran_parameter_definition.is_some())).collect();
    assert_eq!(listed, [1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13].map(|id| (id, false)), "side by side");

    let cu_cp = functions_of("srsran", NodeType::CuCp);
    assert_eq!(kpm_definition(&cu_cp, &arena).ric_report_style_list, None, "without measurements");
    let definition = rc_definition(&cu_cp, rc::Revision::V3_00, &arena);
    let style = &definition.control.as_ref().unwrap().control_style_list[0];
    let action = &style.control_action_list.as_ref().unwrap()[0];
    assert_eq!((style.ric_control_style_type.0, action.ric_control_action_id.0), (3, 1));
    let listed: Vec<_> =
        action.control_action_parameters_list.iter().flatten().map(|parameter| parameter.ran_parameter_id.0).collect();
    assert_eq!(listed, [1, 2, 3, 4, 5, 6]);

    let cu_up = functions_of("srsran", NodeType::CuUp);
    let kpm = kpm_definition(&cu_up, &arena);
    let styles = kpm.ric_report_style_list.as_ref().unwrap();
    let names: Vec<_> = styles[0].meas_info_action_list.iter().map(|item| item.meas_name.to_string()).collect();
    assert_eq!(
        (styles.len(), &names[..]),
        (1, &["DRB.PacketSuccessRateUlgNBUu".to_owned(), "DRB.PdcpReordDelayUl".to_owned()][..])
    );
    assert_eq!(rc_definition(&cu_up, rc::Revision::V3_00, &arena).control, None, "RC without any style");
}

#[test]
fn single_parts_have_the_only_e2_agent() {
    for (profile, node_type) in
        [("srsran-du", NodeType::Du), ("srsran-cucp", NodeType::CuCp), ("srsran-cuup", NodeType::CuUp)]
    {
        let nodes = testing::nodes(&config(profile));
        assert_eq!(nodes.iter().map(|node| node.node_type).collect::<Vec<_>>(), [node_type]);
    }
}

#[test]
fn slice_quota_with_the_whole_nesting_is_executed() {
    let mut du = du();
    let ue = du.ue_ids().remove(0);
    let UeId::GnbDu(id) = &ue else { panic!("{ue:?}") };
    assert_eq!(id.ran_ueid, None, "srsRAN's DU reports the gNB-CU UE F1AP ID only");
    let (header, message) = control(&ue, (2, 6), quota(&[]));
    du.control(3, header, message).unwrap();
}

#[test]
fn slice_quota_without_a_required_parameter_names_it() {
    // each of these ends srsRAN's DU, or is refused by it
    for left_out in [2, 6, 7, 9, 11, 12, 13] {
        let mut du = du();
        let ue = du.ue_ids().remove(0);
        let (header, message) = control(&ue, (2, 6), quota(&[left_out]));
        let refused = du.control(3, header, message).unwrap_err();
        assert_eq!(refused.cause, Cause::RicRequest(CauseRicRequest::ControlMessageInvalid));
        let (parameter, text) = reason(&refused);
        assert_eq!(parameter, left_out, "{text}");
        assert!(text.contains(&format!("RAN parameter {left_out} is missing")), "{text}");
    }
}

#[test]
fn slice_quota_requires_a_ue_of_the_du() {
    let mut du = du();
    let mut ue = du.ue_ids().remove(0);
    let UeId::GnbDu(id) = &mut ue else { panic!("{ue:?}") };
    id.gnb_cu_ue_f1ap_id.0 += 1000;
    let (header, message) = control(&ue, (2, 6), quota(&[]));
    let refused = du.control(3, header, message).unwrap_err();
    assert_eq!(refused.cause, Cause::RicRequest(CauseRicRequest::ControlFailedToExecute));
}

#[test]
fn handover_requires_the_f1ap_id_of_the_ue() {
    let mut config = config("srsran-cucp");
    config.scenario = Scenario::with_mixed_traffic(2, 4, 1);
    let mut cu_cp = Driven::new(&config, NodeType::CuCp);
    let ue = cu_cp.ue_ids().remove(0);
    let UeId::Gnb(id) = &ue else { panic!("{ue:?}") };
    assert!(id.gnb_cu_ue_f1ap_id_list.is_some() && id.ran_ueid.is_none());
    let bare = UeId::Gnb(per::Single::from(e2sm::common::UeIdGnb {
        gnb_cu_ue_f1ap_id_list: None,
        gnb_cu_cp_ue_e1ap_id_list: None,
        ..(**id).clone()
    }));
    let handover = |ue: &UeId<'static>| {
        let action = ControlAction::Handover(Handover::to(testing::cell_of(1)));
        Control::of_ue(ue.clone(), action).encode(rc::Revision::V3_00).unwrap()
    };
    let (header, message) = handover(&bare);
    let refused = cu_cp.control(3, header, message).unwrap_err();
    assert_eq!(refused.cause, Cause::RicRequest(CauseRicRequest::ControlMessageInvalid));
    assert!(reason(&refused).1.contains("F1AP ID"));
    let (header, message) = handover(&ue);
    cu_cp.control(3, header, message).unwrap();
}

#[test]
fn services_that_are_not_announced_are_refused() {
    let mut cu_up = Driven::new(&config("srsran-cuup"), NodeType::CuUp);
    let ue = cu_up.ue_ids().remove(0);
    let (header, message) = control(&ue, (2, 6), quota(&[]));
    let refused = cu_up.control(3, header, message).unwrap_err();
    assert_eq!(refused.cause, Cause::RicRequest(CauseRicRequest::ActionNotSupported));
    let mut cu_cp = Driven::new(&config("srsran-cucp"), NodeType::CuCp);
    let (trigger, action) = kpm_subscription(&node_measurements(&["RRC.ConnMean"]), 1000);
    assert!(cu_cp.subscribe(2, trigger, vec![report_action(0, Some(action))]).is_err());
}

/// Report style 1 with these measurements.
fn node_measurements(names: &[&'static str]) -> ActionDefinition<'static> {
    let info = |name: &&'static str| MeasurementInfoItem {
        meas_type: MeasurementType::MeasName(MeasurementTypeName(PrintableString::literal(name))),
        label_info_list: LabelInfoList::NO_LABEL,
        match_cond_report_list: None,
    };
    ActionDefinition {
        ric_style_type: RicStyleType(1),
        formats: ActionDefinitionFormats::Format1(ActionDefinitionFormat1 {
            meas_info_list: names.iter().map(info).collect(),
            granul_period: GranularityPeriod(1000),
            cell_global_id: None,
            dist_meas_bin_range_info: None,
        }),
    }
}

#[test]
fn cu_up_drops_the_record_of_a_measurement_without_data() {
    let config = RanConfig { scenario: Scenario::without_traffic(4), ..config("srsran-cuup") };
    let mut cu_up = Driven::new(&config, NodeType::CuUp);
    let definition = node_measurements(&["DRB.PdcpReordDelayUl", "DRB.PacketSuccessRateUlgNBUu"]);
    let (trigger, action) = kpm_subscription(&definition, 1000);
    cu_up.subscribe(2, trigger, vec![report_action(0, Some(action))]).unwrap();
    let (_, message) = cu_up.report(2).unwrap();
    let arena = Arena::new();
    let message = IndicationMessage::decode(&message, kpm::Revision::V3_00, &arena).unwrap();
    let IndicationMessageFormats::Format1(message) = message.formats else { panic!("format 1") };
    assert_eq!(message.meas_info_list.as_ref().unwrap().len(), 2, "both are listed");
    let record = &message.meas_data[0].meas_record;
    // the delay has no value, so the success rate is in its place
    assert!(matches!(record[..], [MeasurementRecordItem::Integer(0)]), "{record:?}");
}
