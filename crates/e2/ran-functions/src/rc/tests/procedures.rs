//! Procedures that wait: inserts and their answers, deadlines, policies.

use e2sm::rc::{
    Comparison, Decision, HandoverRequest, OtherAction, RanParameterTesting, RanParameterTestingCondition,
    RanParameterTestingElementFalse, RanParameterTestingItem, RanParameterTestingType, Rule,
};
use ferric::e2ap::CauseRicRequest::{ControlMessageInvalid, FunctionResourceLimit, RicCallProcessIdInvalid};

use super::*;

fn then(kind: RicSubsequentActionType, time_to_wait: RicTimeToWait) -> Option<RicSubsequentAction> {
    Some(RicSubsequentAction { kind, time_to_wait })
}

/// A bench whose first controller has subscribed to inserts for handovers.
fn asking(revision: Revision) -> (Bench, RequestKey) {
    let mut bench = Bench::new(revision);
    let key = bench.subscribe(FIRST, RicActionType::Insert, &Plan::insert_handover(None)).unwrap();
    (bench, key)
}

fn answer(
    bench: &mut Bench,
    of: ControllerId,
    control: &Control,
    id: &Sent,
) -> Result<Option<Vec<u8>>, ControlFailure> {
    let (header, message) = control.encode_in(bench.revision, bench.wire).unwrap();
    bench.control_octets(of, header, message, id.call_process_id.clone())
}

#[test]
fn handover_is_suspended_until_the_answer() {
    for revision in Revision::ALL {
        for (number, control, verdict) in [
            (1, Control::answer(name(1), ControlAction::HANDOVER, Decision::Accept), "goes on"),
            (2, Control::answer(name(1), ControlAction::HANDOVER, Decision::Reject), "ends"),
            (3, Control::of_ue(name(1), ControlAction::Handover(Handover::to(cell(9)))), "to true"),
            (
                4,
                Control::of_ue(name(1), ControlAction::Handover(Handover::to(cell(9)))).deciding(Decision::Accept),
                "to true",
            ),
        ] {
            let (mut bench, key) = asking(revision);
            bench.emit(handover(number, 1));
            assert_eq!(
                (bench.resumed(), bench.function.pending_procedures()),
                (vec![], 1),
                "the procedure is suspended"
            );
            let sent = bench.sent();
            let [insert] = &sent[..] else { panic!("{sent:?}") };
            assert_eq!(insert.key, key);
            let request = HandoverRequest::decode(&insert.header, &insert.message, revision).unwrap().unwrap();
            assert_eq!((request.ue_id, request.handover.target), (name(1), cell(2)));

            answer(&mut bench, FIRST, &control, insert).unwrap();
            assert_eq!(bench.resumed(), [(ProcedureId(number), verdict.to_owned())]);
            // it was answered
            let again = answer(&mut bench, FIRST, &control, insert).unwrap_err();
            assert_eq!(again.cause, Cause::RicRequest(RicCallProcessIdInvalid));
            assert_eq!((bench.resumed(), bench.function.next_report()), (vec![], None));
        }
    }
}

/// The same in FlatBuffers: subscriptions, inserts, call process IDs, answers, reports and outcomes.
#[test]
fn handover_is_suspended_in_flatbuffers() {
    use e2sm::rc::{ControlOutcome, Detection, IndicationMessage, rrc_states};
    let arena = e2sm::Arena::new();
    for revision in Revision::ALL {
        let mut bench = Bench::in_wire(revision, Wire::Flat);
        let function = bench.function.definition();
        let detected = Detection::from_ran_function(&function.oid, function.revision.0, &function.definition).unwrap();
        assert_eq!((detected.wire, detected.revision), (Wire::Flat, revision));
        assert!(detected.to_string().contains("encoded as flat"));
        bench.subscribe(FIRST, RicActionType::Insert, &Plan::insert_handover(None)).unwrap();
        bench.subscribe(FIRST, RicActionType::Report, &Plan::report_rrc_states(&[RrcState::Any])).unwrap();
        bench.emit(handover(1, 1));
        bench.emit(Event::RrcState { ue: Ue(1), state: RrcState::RrcIdle });
        let sent = bench.sent();
        let [insert, report] = &sent[..] else { panic!("{sent:?}") };
        let request = HandoverRequest::decode_in(&insert.header, &insert.message, revision, Wire::Flat).unwrap();
        assert_eq!(request.unwrap().handover.target, cell(2));
        let reported = IndicationMessage::decode_in(&report.message, revision, Wire::Flat, &arena).unwrap();
        assert_eq!(rrc_states(&reported).unwrap(), [(name(1), RrcState::RrcIdle)]);
        let elsewhere = Control::of_ue(name(1), ControlAction::Handover(Handover::to(cell(9))));
        answer(&mut bench, FIRST, &elsewhere, insert).unwrap();
        assert_eq!(bench.resumed(), [(ProcedureId(1), "to true".to_owned())]);
        let failure = answer(&mut bench, FIRST, &elsewhere, insert).unwrap_err();
        ControlOutcome::decode_in(&failure.outcome.unwrap(), revision, Wire::Flat, &arena).unwrap();
        // octets of PER are none here
        let (header, message) = elsewhere.encode(revision).unwrap();
        let failure = bench.control_octets(FIRST, header, message, None).unwrap_err();
        assert_eq!(failure.cause, Cause::RicRequest(ControlMessageInvalid));
    }
}

/// Several questions at a time (style 255), of which the procedure puts one.
#[test]
fn handover_is_one_of_multiple_insert_indications() {
    let indication = e2sm::rc::RicInsertIndicationId(1);
    let target = RanParameterId(1);
    for revision in Revision::ALL {
        let mut bench = Bench::new(revision);
        let plan = Plan::insert_several(HANDOVER_PREPARATION, &[(3, indication, &[target])], None);
        bench.subscribe(FIRST, RicActionType::Insert, &plan).unwrap();
        let unknown = Plan::insert_several(
            HANDOVER_PREPARATION,
            &[(3, indication, &[target]), (3, e2sm::rc::RicInsertIndicationId(2), &[target])],
            None,
        );
        let refused = bench.subscribe(FIRST, RicActionType::Insert, &unknown);
        assert_eq!(refused, Err(Cause::RicRequest(ferric::e2ap::CauseRicRequest::ActionNotSupported)));
        let bare = ControlAction::Other(OtherAction { id: ControlAction::HANDOVER, parameters: Vec::new() });
        let elsewhere = ControlAction::Handover(Handover::to(cell(9)));
        let several = |actions: Vec<ControlAction>, decision| Control {
            target: e2sm::rc::ControlTarget::Ue(name(1)),
            decision: Some(decision),
            actions: e2sm::rc::ControlActions::Several(actions),
        };
        for (number, control, verdict) in [
            (1, several(vec![bare.clone()], Decision::Accept), "goes on"),
            (2, several(vec![bare.clone()], Decision::Reject), "ends"),
            (3, several(vec![elsewhere.clone()], Decision::Accept), "to true"),
            (4, Control::answer(name(1), ControlAction::HANDOVER, Decision::Accept), "goes on"),
        ] {
            bench.emit(handover(number, 1));
            let sent = bench.sent();
            let [insert] = &sent[..] else { panic!("{sent:?}") };
            let request = HandoverRequest::decode(&insert.header, &insert.message, revision).unwrap().unwrap();
            assert_eq!((request.ue_id, request.handover.target), (name(1), cell(2)));
            let two = several(vec![elsewhere.clone(), elsewhere.clone()], Decision::Accept);
            let failure = answer(&mut bench, FIRST, &two, insert).unwrap_err();
            assert_eq!(failure.cause, Cause::RicRequest(ControlMessageInvalid));
            answer(&mut bench, FIRST, &control, insert).unwrap();
            assert_eq!(bench.resumed(), [(ProcedureId(number), verdict.to_owned())]);
        }
    }
}

#[test]
fn invalid_answer_leaves_procedure_suspended() {
    let (mut bench, _) = asking(Revision::V3_00);
    bench.emit(handover(1, 1));
    let sent = bench.sent();
    let accept = Control::answer(name(1), ControlAction::HANDOVER, Decision::Accept);
    let other_ue = Control::answer(name(2), ControlAction::HANDOVER, Decision::Accept);
    let other_action = Control::answer(name(1), ControlAction::DRX, Decision::Accept);
    for (of, control, cause) in [
        (GUEST, &accept, RicCallProcessIdInvalid),
        (FIRST, &other_ue, ControlMessageInvalid),
        (FIRST, &other_action, ControlMessageInvalid),
    ] {
        let failure = answer(&mut bench, of, control, &sent[0]).unwrap_err();
        assert_eq!(failure.cause, Cause::RicRequest(cause));
    }
    assert_eq!((bench.resumed(), bench.function.pending_procedures()), (vec![], 1));
    answer(&mut bench, FIRST, &accept, &sent[0]).unwrap();
}

#[test]
fn time_to_wait_expires() {
    for (subsequent, wait_ms, verdict) in [
        (None, 100, "goes on"),
        (then(RicSubsequentActionType::Continue, RicTimeToWait::W20ms), 20, "goes on"),
        (then(RicSubsequentActionType::Wait, RicTimeToWait::W1s), 1000, "ends"),
        (then(RicSubsequentActionType::Continue, RicTimeToWait::Zero), 0, "goes on"),
    ] {
        let mut bench = Bench::new(Revision::V3_00);
        let plan = Plan::insert_handover(None);
        bench.subscribe_then(FIRST, RicActionType::Insert, &plan, subsequent).unwrap();
        let asked_at = bench.now;
        bench.emit(handover(1, 1));
        let deadline = asked_at + Duration::from_millis(wait_ms);
        if wait_ms > 0 {
            assert_eq!((bench.resumed(), bench.function.next_report()), (vec![], Some(deadline)));
            bench.now = deadline;
            bench.report();
        }
        assert_eq!(bench.resumed(), [(ProcedureId(1), verdict.to_owned())]);
        // the answer is too late
        let sent = bench.sent();
        let accept = Control::answer(name(1), ControlAction::HANDOVER, Decision::Accept);
        let late = answer(&mut bench, FIRST, &accept, &sent[0]).unwrap_err();
        assert_eq!(late.cause, Cause::RicRequest(RicCallProcessIdInvalid));
    }
}

#[test]
fn unsubscribe_resumes_procedures() {
    let (mut bench, key) = asking(Revision::V3_00);
    bench.emit(handover(1, 1));
    bench.function.unsubscribe(key);
    assert_eq!(bench.resumed(), [(ProcedureId(1), "goes on".to_owned())]);
    bench.emit(handover(2, 1));
    assert_eq!(bench.resumed(), [(ProcedureId(2), "goes on".to_owned())], "nobody asks");

    let (mut bench, _) = asking(Revision::V3_00);
    bench.recorder.is_gone = true;
    bench.emit(handover(1, 1));
    assert_eq!(
        (bench.resumed(), bench.function.pending_procedures()),
        (vec![(ProcedureId(1), "goes on".to_owned())], 0)
    );
}

#[test]
fn full_table_lets_procedures_continue() {
    let (mut bench, _) = asking(Revision::V3_00);
    for number in 1..=3 {
        bench.emit(handover(number, 1));
    }
    assert_eq!(bench.resumed(), [(ProcedureId(3), "goes on".to_owned())]);
    assert_eq!((bench.function.pending_procedures(), bench.function.skipped_inserts()), (2, 1));
}

/// A controller gets inserts for the visible UEs that its subscription selects.
#[test]
fn insert_goes_to_the_subscription_that_selects_the_ue() {
    let mut bench = Bench::new(Revision::V3_00);
    bench.subscribe(GUEST, RicActionType::Insert, &Plan::insert_handover(None)).unwrap();
    bench.subscribe(FIRST, RicActionType::Insert, &Plan::insert_handover(Some(name(1)))).unwrap();
    for (ue, asked) in [(1, FIRST), (2, GUEST)] {
        bench.emit(handover(ue, ue));
        let sent = bench.sent();
        assert_eq!((sent.len(), sent[0].key.controller), (1, asked));
    }
}

/// A condition on one parameter.
pub fn test(id: RanParameterId, comparison: Comparison, with: i64) -> RanParameterTesting<'static> {
    RanParameterTesting(List::from(vec![RanParameterTestingItem {
        ran_parameter_id: id,
        ran_parameter_type: RanParameterTestingType::ElementFalse(RanParameterTestingElementFalse {
            test_condition: RanParameterTestingCondition::Comparison(comparison),
            value: Some(RanParameterValue::ValueInt(with)),
            logical_or: None,
        }),
    }]))
}

fn below(dbm: i64) -> RanParameterTesting<'static> {
    test(RSRP, Comparison::LessThan, dbm)
}

#[test]
fn policy_decides_before_inserts() {
    let decision = || ControlAction::Other(OtherAction { id: ControlAction::HANDOVER, parameters: Vec::new() });
    let rules = [
        // UE 2 has -102 dBm
        Rule { condition: Some(below(-101)), action: ControlAction::Handover(Handover::to(cell(9))), decision: None },
        Rule { condition: None, action: decision(), decision: Some(Decision::Reject) },
    ];
    for revision in Revision::ALL {
        let (mut bench, _) = asking(revision);
        let plan = Plan::policy(HANDOVER_PREPARATION, 3, &rules);
        let key = bench.subscribe(FIRST, RicActionType::Policy, &plan).unwrap();
        bench.emit(handover(1, 1));
        bench.emit(handover(2, 2));
        let verdicts = [(ProcedureId(1), "ends".to_owned()), (ProcedureId(2), "to true".to_owned())];
        assert_eq!((bench.resumed(), bench.sent().len()), (verdicts.to_vec(), 0), "no insert is sent");

        // if no rule holds, the controller gets an insert
        bench.function.unsubscribe(key);
        bench.subscribe(FIRST, RicActionType::Policy, &Plan::policy(HANDOVER_PREPARATION, 3, &rules[..1])).unwrap();
        bench.emit(handover(3, 1));
        assert_eq!((bench.resumed(), bench.sent().len()), (vec![], 1));
    }
}

#[test]
fn unsupported_subscriptions_are_refused() {
    let mut bench = Bench::new(Revision::V3_00);
    let mut refused = |kind, plan: &Plan, cause| {
        assert_eq!(bench.subscribe(FIRST, kind, plan), Err(Cause::RicRequest(cause)));
    };
    use ferric::e2ap::CauseRicRequest::{ActionNotSupported, EventTriggerNotSupported};
    let elsewhere = e2sm::rc::dictionary::Breakpoint { call_process_type: 1, breakpoint: 1 };
    let indication = e2sm::rc::RicInsertIndicationId(1);
    refused(RicActionType::Insert, &Plan::insert(elsewhere, 3, indication, &[RSRP], None), EventTriggerNotSupported);
    let other_style = Plan::insert(HANDOVER_PREPARATION, 1, indication, &[RSRP], None);
    refused(RicActionType::Insert, &other_style, ActionNotSupported);
    refused(RicActionType::Report, &Plan::insert_handover(None), ActionNotSupported);
    let drx = ControlAction::Drx(e2sm::rc::Drx::long(20));
    let rule = Rule { condition: None, action: drx, decision: None };
    refused(RicActionType::Policy, &Plan::policy(HANDOVER_PREPARATION, 2, &[rule]), ActionNotSupported);
    let mut unknown = below(-100).0.to_vec();
    unknown[0].ran_parameter_id = RanParameterId(99);
    let rule = Rule {
        condition: Some(RanParameterTesting(List::from(unknown))),
        action: ControlAction::Handover(Handover::to(cell(9))),
        decision: None,
    };
    refused(RicActionType::Policy, &Plan::policy(HANDOVER_PREPARATION, 3, &[rule]), ActionNotSupported);
    for _ in 0..4 {
        bench.subscribe(FIRST, RicActionType::Insert, &Plan::insert_handover(None)).unwrap();
    }
    let full = bench.subscribe(FIRST, RicActionType::Insert, &Plan::insert_handover(None));
    assert_eq!(full, Err(Cause::RicRequest(FunctionResourceLimit)));
}
