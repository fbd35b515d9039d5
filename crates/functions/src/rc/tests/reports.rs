//! Reports of every style, and queries.

use e2sm::common::{PartialUeId, RrcClassNr, RrcMessageId, RrcType};
use e2sm::rc::dictionary::{call_process_outcome, node_information};
use e2sm::rc::{
    AssociatedUeInfo, AssociatedUeInfoItem, AssociatedUeType, E2NodeInfoChangeId, IndicationHeader,
    IndicationHeaderFormats, IndicationMessage, IndicationMessageFormats, QueriedRanParameter, QueryDefinition,
    QueryDefinitionFormat1, QueryDefinitionFormats, QueryHeader, QueryHeaderFormat1, QueryHeaderFormats, QueryOutcome,
    QueryOutcomeFormats, RanParameterValueType, UeFilterId, UeQuery, rrc_states,
};
use ferric::e2ap::CauseRicRequest::{ActionNotSupported, EventTriggerNotSupported, RequestedInformationUnavailable};

use super::*;

fn message(sent: &Sent, revision: Revision) -> IndicationMessageFormats<'static> {
    IndicationMessage::decode_owned(&sent.message, revision).unwrap().formats
}

/// The condition that a report says was met.
fn condition(sent: &Sent, revision: Revision) -> Option<u16> {
    match IndicationHeader::decode_owned(&sent.header, revision).unwrap().formats {
        IndicationHeaderFormats::Format1(header) => header.ric_event_trigger_condition_id.map(|id| id.0),
        other => panic!("{other:?}"),
    }
}

#[test]
fn rrc_states_of_ues_that_are_seen() {
    for revision in Revision::ALL {
        let mut bench = Bench::new(revision);
        let plan = Plan::report_rrc_states(&[RrcState::RrcIdle, RrcState::RrcInactive]);
        bench.subscribe(FIRST, RicActionType::Report, &plan).unwrap();
        bench.subscribe(GUEST, RicActionType::Report, &Plan::report_rrc_states(&[RrcState::Any])).unwrap();
        let state = |ue, state| Event::RrcState { ue: Ue(ue), state };
        bench.happen(state(1, RrcState::RrcIdle));
        let sent = bench.sent();
        assert_eq!((sent.len(), sent[0].key.controller, condition(&sent[0], revision)), (1, FIRST, Some(1)));
        let told = IndicationMessage::decode_owned(&sent[0].message, revision).unwrap();
        assert_eq!(rrc_states(&told).unwrap(), [(name(1), RrcState::RrcIdle)]);
        bench.happen(state(2, RrcState::RrcConnected));
        let sent = bench.sent();
        assert_eq!((sent.len(), sent[0].key.controller), (1, GUEST));
    }
}

#[test]
fn copies_of_messages() {
    let setup = RrcMessageId { rrc_type: RrcType::Nr(RrcClassNr::UlCcch), message_id: 0 };
    let other = RrcMessageId { rrc_type: RrcType::Nr(RrcClassNr::UlDcch), message_id: 0 };
    let revision = Revision::V1_03;
    let mut bench = Bench::new(revision);
    bench.subscribe(FIRST, RicActionType::Report, &Plan::report_rrc_messages(&[other, setup])).unwrap();
    let copy = |id, octets: &[u8]| Event::RrcMessage { ue: Ue(2), id, from_ue: true, octets: octets.to_vec() };
    bench.happen(copy(setup, &[1, 2, 3]));
    bench.happen(copy(RrcMessageId { message_id: 7, ..setup }, &[4]));
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
}

#[test]
fn changes_of_cells() {
    let revision = Revision::V5_00;
    let mut bench = Bench::new(revision);
    let table = [node_information::NEIGHBOUR_RELATION_TABLE];
    let plan = Plan::report_node_changes(&[E2NodeInfoChangeId(2)], &table);
    bench.subscribe(FIRST, RicActionType::Report, &plan).unwrap();
    bench.happen(Event::CellChanged { cell: cell(1), change: 1 });
    bench.happen(Event::CellChanged { cell: cell(1), change: 2 });
    let sent = bench.sent();
    assert_eq!(sent.len(), 1);
    let IndicationMessageFormats::Format3(format) = message(&sent[0], revision) else { panic!("format 3") };
    let [told] = &format.cell_info_list[..] else { panic!("one cell") };
    assert_eq!((told.cell_global_id, told.cell_deleted), (cell(1), Some(false)));
    assert_eq!(told.neighbor_relation_table, Some(neighbours()));
}

#[test]
fn outcomes_of_procedures() {
    let revision = Revision::V3_00;
    let mut bench = Bench::new(revision);
    let wanted = [call_process_outcome::CURRENT_UE_ID, call_process_outcome::CURRENT_RRC_STATE];
    let plan = Plan::report_call_process(HANDOVER_PREPARATION, &wanted);
    bench.subscribe(FIRST, RicActionType::Report, &plan).unwrap();
    bench.happen(handover(1, 1));
    assert_eq!(bench.resumed().len(), 1);
    let sent = bench.sent();
    assert_eq!((sent.len(), condition(&sent[0], revision)), (1, None));
    let IndicationMessageFormats::Format1(format) = message(&sent[0], revision) else { panic!("format 1") };
    assert_eq!(format.reported_list.iter().map(|item| item.ran_parameter_id.0).collect::<Vec<_>>(), [1, 3]);
}

#[test]
fn on_demand_is_told_at_once_and_once() {
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
fn what_cannot_be_reported_is_refused() {
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
fn queries_are_answered() {
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
fn queries_by_some_names() {
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
    let QueryOutcomeFormats::Format2(told) = QueryOutcome::decode_owned(&outcome, revision).unwrap().formats else {
        panic!("UEs")
    };
    let [ue] = &told.ue_info_list[..] else { panic!("one UE") };
    assert_eq!((&ue.ue_id, ue.ue_filter_id, ue.ran_p_list.len()), (&name(2), Some(UeFilterId(7)), 1));
}
