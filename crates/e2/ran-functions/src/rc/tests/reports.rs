//! Reports of every style, and queries.

use e2sm::common::{
    Guami, InterfaceIdNg, InterfaceIdentifier, InterfaceMessageId, InterfaceMessageType, InterfaceType, PartialUeId,
    RrcClassNr, RrcMessageId, RrcType,
};
use e2sm::rc::dictionary::{call_process_outcome, node_change, node_information, ue_information};
use e2sm::rc::{
    AssociatedUeInfo, AssociatedUeInfoItem, AssociatedUeType, Comparison, EventTrigger, EventTriggerFormat4,
    EventTriggerFormat4Item, EventTriggerFormats, IndicationHeader, IndicationHeaderFormats, IndicationMessage,
    IndicationMessageFormats, MessageTypeNi, QueriedRanParameter, QueryDefinition, QueryDefinitionFormat1,
    QueryDefinitionFormats, QueryHeader, QueryHeaderFormat1, QueryHeaderFormats, QueryOutcome, QueryOutcomeFormats,
    RanParameterValueType, RicEventTriggerConditionId, TriggerTypeChoice, TriggerTypeUeId, UeFilterId, UeIdChangeId,
    UeQuery, rrc_message, rrc_states,
};
use ferric::e2ap::CauseRicRequest::{
    ActionNotSupported, EventTriggerNotSupported, FunctionResourceLimit, RequestedInformationUnavailable,
};

use super::*;

fn message(sent: &Sent, revision: Revision) -> IndicationMessageFormats<'static> {
    IndicationMessage::decode_owned(&sent.message, revision).unwrap().formats
}

/// The condition that a report states as met.
fn condition(sent: &Sent, revision: Revision) -> Option<u16> {
    match IndicationHeader::decode_owned(&sent.header, revision).unwrap().formats {
        IndicationHeaderFormats::Format1(header) => header.ric_event_trigger_condition_id.map(|id| id.0),
        other => panic!("{other:?}"),
    }
}

#[test]
fn rrc_states_of_visible_ues_are_reported() {
    for revision in Revision::ALL {
        let mut bench = Bench::new(revision);
        let plan = Plan::report_rrc_states(&[RrcState::RrcIdle, RrcState::RrcInactive]);
        bench.subscribe(FIRST, RicActionType::Report, &plan).unwrap();
        bench.subscribe(GUEST, RicActionType::Report, &Plan::report_rrc_states(&[RrcState::Any])).unwrap();
        let state = |ue, state| Event::RrcState { ue: Ue(ue), state };
        bench.emit(state(1, RrcState::RrcIdle));
        let sent = bench.sent();
        assert_eq!((sent.len(), sent[0].key.controller, condition(&sent[0], revision)), (1, FIRST, Some(1)));
        let reported = IndicationMessage::decode_owned(&sent[0].message, revision).unwrap();
        assert_eq!(rrc_states(&reported).unwrap(), [(name(1), RrcState::RrcIdle)]);
        bench.emit(state(2, RrcState::RrcConnected));
        let sent = bench.sent();
        assert_eq!((sent.len(), sent[0].key.controller), (1, GUEST));
    }
}

#[test]
fn rrc_messages_are_reported() {
    let setup = RrcMessageId { rrc_type: RrcType::Nr(RrcClassNr::UlCcch), message_id: 0 };
    let other = RrcMessageId { rrc_type: RrcType::Nr(RrcClassNr::UlDcch), message_id: 0 };
    let revision = Revision::V1_03;
    let mut bench = Bench::new(revision);
    bench.subscribe(FIRST, RicActionType::Report, &Plan::report_rrc_messages(&[other, setup])).unwrap();
    let copy = |id, octets: &[u8]| Event::RrcMessage { ue: Ue(2), id, from_ue: true, octets: octets.to_vec() };
    bench.emit(copy(setup, &[1, 2, 3]));
    bench.emit(copy(RrcMessageId { message_id: 7, ..setup }, &[4]));
    let sent = bench.sent();
    assert_eq!((sent.len(), condition(&sent[0], revision)), (1, Some(2)));
    let IndicationMessageFormats::Format1(format) = message(&sent[0], revision) else { panic!("format 1") };
    let values: Vec<_> = format
        .reported_list
        .iter()
        .map(|item| match &item.value_type {
            RanParameterValueType::ElementFalse(element) => match element.value.as_ref().unwrap() {
                RanParameterValue::ValueOctS(octets) => (item.ran_parameter_id.0, octets.to_cow().into_owned()),
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        })
        .collect();
    let mut ue = Vec::new();
    per::encode(&name(2), revision.wire(), &mut ue).unwrap();
    assert_eq!(values, [(3, vec![1, 2, 3]), (4, ue)]);
    let read = IndicationMessage::decode_owned(&sent[0].message, revision).unwrap();
    assert_eq!(rrc_message(&read, revision), Ok(Some((name(2), vec![1, 2, 3]))));
}

#[test]
fn report_without_rrc_message_has_none() {
    let revision = Revision::V3_00;
    let mut bench = Bench::new(revision);
    bench.subscribe(FIRST, RicActionType::Report, &Plan::report_rrc_states(&[RrcState::Any])).unwrap();
    bench.emit(Event::RrcState { ue: Ue(2), state: RrcState::RrcIdle });
    let sent = bench.sent();
    let read = IndicationMessage::decode_owned(&sent[0].message, revision).unwrap();
    assert_eq!(rrc_message(&read, revision), Ok(None));
}

#[test]
fn interface_messages_are_reported() {
    let revision = Revision::V3_00;
    let guami = |region| Guami {
        plmn_identity: NETWORK,
        amf_region_id: Bits::new(region, 8),
        amf_set_id: Bits::new(1, 10),
        amf_pointer: Bits::new(1, 6),
    };
    let ng = |region| InterfaceIdentifier::Ng(InterfaceIdNg { guami: guami(region) });
    let release =
        InterfaceMessageId { interface_procedure_id: 41, message_type: InterfaceMessageType::InitiatingMessage };
    let copy = |interface, id| Event::NiMessage { ue: Ue(1), interface, id, is_incoming: true, octets: vec![9] };
    let other = InterfaceMessageId { interface_procedure_id: 42, ..release };
    for (wanted, reported) in [
        (MessageTypeNi { ni_type: InterfaceType::Ng, ni_identifier: None, ni_message: None }, 3),
        (MessageTypeNi { ni_type: InterfaceType::Ng, ni_identifier: Some(ng(1)), ni_message: None }, 2),
        (MessageTypeNi { ni_type: InterfaceType::Ng, ni_identifier: Some(ng(1)), ni_message: Some(release) }, 1),
        (MessageTypeNi { ni_type: InterfaceType::Xn, ni_identifier: None, ni_message: None }, 0),
    ] {
        let mut bench = Bench::new(revision);
        bench.subscribe(FIRST, RicActionType::Report, &Plan::report_ni_messages(&[wanted])).unwrap();
        bench.subscribe(GUEST, RicActionType::Report, &Plan::report_ni_messages(&[wanted])).unwrap();
        bench.emit(copy(ng(1), release));
        bench.emit(copy(ng(1), other));
        bench.emit(copy(ng(2), release));
        let sent = bench.sent();
        assert_eq!(sent.iter().filter(|sent| sent.key.controller == FIRST).count(), reported, "{wanted:?}");
        assert_eq!(sent.len(), reported, "the guest does not see the UE");
        for sent in sent {
            let IndicationMessageFormats::Format1(format) = message(&sent, revision) else { panic!("format 1") };
            let ids: Vec<_> = format.reported_list.iter().map(|item| item.ran_parameter_id.0).collect();
            assert_eq!(ids, [2, 4]);
        }
    }
}

/// The UEs of a report of style 4, each with its parameters.
fn told_of(sent: &Sent, revision: Revision) -> Vec<(UeId<'static>, Vec<u32>)> {
    let IndicationMessageFormats::Format2(format) = message(sent, revision) else { panic!("format 2") };
    let ids = |items: &[e2sm::rc::RanParameterItem<'_>]| items.iter().map(|item| item.ran_parameter_id.0).collect();
    format.ue_parameter_list.iter().map(|item| (item.ue_id.clone(), ids(&item.ran_p_list))).collect()
}

#[test]
fn ues_that_start_to_meet_conditions_are_reported() {
    for revision in Revision::ALL {
        let mut bench = Bench::new(revision);
        let wanted = [ue_information::CURRENT_RRC_STATE, RSRP];
        let plan = Plan::report_layer_2(procedures::test(RSRP, Comparison::LessThan, -101), &wanted);
        let key = bench.subscribe(FIRST, RicActionType::Report, &plan).unwrap();
        bench.subscribe(GUEST, RicActionType::Report, &plan).unwrap();
        bench.look();
        assert!(bench.sent().is_empty(), "UE 2 met it before");
        bench.source.lock().fade_db = 5;
        bench.look();
        let sent = bench.sent();
        assert_eq!((sent.len(), sent[0].key, condition(&sent[0], revision)), (1, key, Some(1)));
        assert_eq!(told_of(&sent[0], revision), [(name(1), vec![201, 1])]);
        bench.look();
        assert!(bench.sent().is_empty(), "once");
        bench.source.lock().fade_db = -10;
        bench.look();
        bench.source.lock().fade_db = 10;
        bench.look();
        let sent = bench.sent();
        let all: Vec<_> = sent.iter().map(|sent| (sent.key.controller, told_of(sent, revision).len())).collect();
        assert_eq!(all, [(FIRST, 2), (GUEST, 1)], "again, each the UEs that it sees");
        bench.function.unsubscribe(key);
        assert!(bench.function.next_report().is_some(), "the guest remains subscribed");
    }
}

#[test]
fn ue_context_changes_are_reported() {
    let revision = Revision::V3_00;
    let mut bench = Bench::new(revision);
    let plan = Plan::report_ue_context(procedures::test(SLICE, Comparison::Equal, 2), &[SLICE]);
    let key = bench.subscribe(FIRST, RicActionType::Report, &plan).unwrap();
    bench.source.lock().slice = 2;
    bench.look();
    let sent = bench.sent();
    assert_eq!(told_of(&sent[0], revision), [(name(1), vec![2]), (name(2), vec![2])]);
    bench.function.unsubscribe(key);
    assert_eq!(bench.function.next_report(), None);

    let mut refused = |plan: &Plan, cause| {
        assert_eq!(bench.subscribe(FIRST, RicActionType::Report, plan), Err(Cause::RicRequest(cause)));
    };
    // each kind of trigger has parameters of its own
    let slice = procedures::test(SLICE, Comparison::Equal, 2);
    refused(&Plan::report_layer_2(slice.clone(), &[SLICE]), EventTriggerNotSupported);
    let rsrp = procedures::test(RSRP, Comparison::Equal, 2);
    refused(&Plan::report_ue_context(rsrp, &[SLICE]), EventTriggerNotSupported);
    refused(&Plan::report_ue_context(slice.clone(), &[RanParameterId(77)]), ActionNotSupported);
    // UE IDs are not reported; the number of tests is limited
    let trigger = |trigger_type: TriggerTypeChoice<'static>, count: u16| {
        let item = |id| EventTriggerFormat4Item {
            ric_event_trigger_condition_id: RicEventTriggerConditionId(id),
            trigger_type: trigger_type.clone(),
            associated_ue_info: None,
            logical_or: None,
        };
        let ue_info_change_list = (1..=count).map(item).collect();
        let formats = EventTriggerFormats::Format4(EventTriggerFormat4 { ue_info_change_list });
        Plan { trigger: EventTrigger { formats }, action: plan.action.clone() }
    };
    let names = TriggerTypeChoice::UeId(TriggerTypeUeId { ue_id_change_id: UeIdChangeId(1) });
    refused(&trigger(names, 1), EventTriggerNotSupported);
    let context = TriggerTypeChoice::UeContext(e2sm::rc::TriggerTypeUeContext { associated_ue_ctxt_variables: slice });
    refused(&trigger(context.clone(), 65), FunctionResourceLimit);

    // and to how many look
    let mut bench = Bench::with_room_for(17);
    for _ in 0..16 {
        bench.subscribe(FIRST, RicActionType::Report, &trigger(context.clone(), 64)).unwrap();
    }
    let more = bench.subscribe(FIRST, RicActionType::Report, &trigger(context, 1));
    assert_eq!(more, Err(Cause::RicRequest(FunctionResourceLimit)));
    bench.subscribe(FIRST, RicActionType::Report, &Plan::report_rrc_states(&[RrcState::Any])).unwrap();
}

#[test]
fn cell_changes_are_reported() {
    let revision = Revision::V5_00;
    let mut bench = Bench::new(revision);
    let table = [node_information::NEIGHBOUR_RELATION_TABLE];
    let plan = Plan::report_node_changes(&[node_change::CELL_NEIGHBOURS], &table);
    bench.subscribe(FIRST, RicActionType::Report, &plan).unwrap();
    bench.emit(Event::CellChanged { cell: cell(1), change: node_change::CELL_CONFIGURATION });
    bench.emit(Event::CellChanged { cell: cell(1), change: node_change::CELL_NEIGHBOURS });
    let sent = bench.sent();
    assert_eq!(sent.len(), 1);
    let IndicationMessageFormats::Format3(format) = message(&sent[0], revision) else { panic!("format 3") };
    let [reported] = &format.cell_info_list[..] else { panic!("one cell") };
    assert_eq!((reported.cell_global_id, reported.cell_deleted), (cell(1), Some(false)));
    assert_eq!(reported.neighbor_relation_table, Some(neighbours()));
}

#[test]
fn procedure_outcomes_are_reported() {
    let revision = Revision::V3_00;
    let mut bench = Bench::new(revision);
    let wanted = [call_process_outcome::CURRENT_UE_ID, call_process_outcome::CURRENT_RRC_STATE];
    let plan = Plan::report_call_process(HANDOVER_PREPARATION, &wanted);
    bench.subscribe(FIRST, RicActionType::Report, &plan).unwrap();
    bench.emit(handover(1, 1));
    assert_eq!(bench.resumed().len(), 1);
    let sent = bench.sent();
    assert_eq!((sent.len(), condition(&sent[0], revision)), (1, None));
    let IndicationMessageFormats::Format1(format) = message(&sent[0], revision) else { panic!("format 1") };
    assert_eq!(format.reported_list.iter().map(|item| item.ran_parameter_id.0).collect::<Vec<_>>(), [1, 3]);
}

#[test]
fn on_demand_report_is_sent_once() {
    let revision = Revision::V1_03;
    let mut bench = Bench::new(revision);
    let plan = Plan::report_on_demand(&[RanParameterId(3)]);
    bench.subscribe(GUEST, RicActionType::Report, &plan).unwrap();
    bench.report();
    let sent = bench.sent();
    let IndicationMessageFormats::Format4(format) = message(&sent[0], revision) else { panic!("format 4") };
    assert_eq!((sent.len(), format.ue_info_list.len(), format.cell_info_list.len()), (1, 1, 1));
    assert_eq!(format.ue_info_list[0].ue_id, name(2), "what the guest sees");
    assert_eq!(bench.function.next_report(), None);
}

#[test]
fn unsupported_reports_are_refused() {
    let mut bench = Bench::new(Revision::V3_00);
    let plan = Plan::report_call_process(HANDOVER_PREPARATION, &[call_process_outcome::OLD_UE_ID]);
    let refused = bench.subscribe(FIRST, RicActionType::Report, &plan);
    assert_eq!(refused, Err(Cause::RicRequest(ActionNotSupported)));
    let unused = Plan {
        trigger: e2sm::rc::EventTrigger { formats: e2sm::rc::EventTriggerFormats::Unused5 },
        action: Plan::report_rrc_states(&[RrcState::Any]).action,
    };
    let refused = bench.subscribe(FIRST, RicActionType::Report, &unused);
    assert_eq!(refused, Err(Cause::RicRequest(EventTriggerNotSupported)));
}

fn query(style: i64, parameter: u32, ues: Option<AssociatedUeInfo<'static>>, revision: Revision) -> (Vec<u8>, Vec<u8>) {
    let (mut header, mut definition) = (Vec::new(), Vec::new());
    let format = QueryHeaderFormat1 {
        ric_style_type: e2sm::common::RicStyleType(style),
        associated_e2_node_info: None,
        associated_ue_info: ues,
    };
    QueryHeader { formats: QueryHeaderFormats::Format1(format) }.encode(revision, &mut header).unwrap();
    let wanted = QueriedRanParameter { ran_parameter_id: RanParameterId(parameter), ran_parameter_definition: None };
    let format = QueryDefinitionFormat1 { ran_p_list: List::from(vec![wanted]) };
    QueryDefinition { formats: QueryDefinitionFormats::Format1(format) }.encode(revision, &mut definition).unwrap();
    (header, definition)
}

#[test]
fn queries_return_current_state() {
    for revision in [Revision::V3_00, Revision::V5_00] {
        let mut bench = Bench::new(revision);
        let mut ask = |of, (header, definition): (Vec<u8>, Vec<u8>)| {
            let outcome = bench.query(of, &header, &definition)?;
            Ok(QueryOutcome::decode_owned(&outcome, revision).unwrap().formats)
        };
        let QueryOutcomeFormats::Format1(cells) = ask(FIRST, query(1, 3, None, revision)).unwrap() else {
            panic!("cells")
        };
        assert_eq!(cells.cell_info_list[0].cell_global_id, cell(1));
        assert_eq!(cells.cell_info_list[0].neighbor_relation_table, Some(neighbours()));

        let mut ues_of = |of| match ask(of, query(2, RSRP.0, None, revision)).unwrap() {
            QueryOutcomeFormats::Format2(ues) => ues.ue_info_list.iter().map(|item| item.ue_id.clone()).collect(),
            other => panic!("{other:?}"),
        };
        assert_eq!((ues_of(FIRST), ues_of(GUEST)), (vec![name(1), name(2)], vec![name(2)]));

        let causes = [(2, 99, RequestedInformationUnavailable), (3, 1, ActionNotSupported)];
        for (style, parameter, cause) in causes {
            let refused: Result<_, Cause> = ask(FIRST, query(style, parameter, None, revision));
            assert_eq!(refused, Err(Cause::RicRequest(cause)));
        }
    }
    let refused = Bench::new(Revision::V1_03).query(FIRST, &[0], &[0]);
    assert_eq!(refused, Err(Cause::RicRequest(ActionNotSupported)));
}

#[test]
fn queries_select_ues_by_partial_ue_id() {
    let revision = Revision::V5_00;
    let mut bench = Bench::new(revision);
    let names = PartialUeId { gnb_cu_ue_f1ap_id: Some(GnbCuUeF1apId(2)), ..PartialUeId::default() };
    let item = AssociatedUeInfoItem {
        ue_filter_id: UeFilterId(7),
        ue_type: AssociatedUeType::UeQuery(UeQuery { partial_ueid: names, ran_parameter_testing: None }),
        logical_or: None,
    };
    let ues = AssociatedUeInfo { associated_ue_info_list: List::from(vec![item]) };
    let (header, definition) = query(2, RSRP.0, Some(ues), revision);
    let outcome = bench.query(FIRST, &header, &definition).unwrap();
    let QueryOutcomeFormats::Format2(reported) = QueryOutcome::decode_owned(&outcome, revision).unwrap().formats else {
        panic!("UEs")
    };
    let [ue] = &reported.ue_info_list[..] else { panic!("one UE") };
    assert_eq!((&ue.ue_id, ue.ue_filter_id, ue.ran_p_list.len()), (&name(2), Some(UeFilterId(7)), 1));
}
