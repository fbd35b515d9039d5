//! Controls: carried out, refused with the cause and reason.

use e2sm::common::{PartialUeId, SNssai, Sst};
use e2sm::rc::{
    Comparison, ControlActions, ControlTarget, Decision, Drx, EntityFilter, EntityFilterId, FilteredAction,
    OtherAction, RanFunctionDefinition, RanParameterElementTrue, RanParameterValueType, SlicePrbQuota,
    UeGroupDefinition, UeGroupDefinitionIdentifierItem, UeGroupId,
};
use ferric::e2ap::CauseRicRequest::{
    self, ActionNotSupported, ControlFailedToExecute, ControlMessageInvalid, FunctionResourceLimit,
    RicCallProcessIdInvalid,
};

use super::*;

fn quota() -> ControlAction {
    ControlAction::SlicePrbQuota(SlicePrbQuota::of_slice(NETWORK, SNssai { sst: Sst([1]), sd: None }, 30, 50))
}

fn drx() -> ControlAction {
    ControlAction::Drx(Drx::long(320))
}

fn release() -> ControlAction {
    ControlAction::Other(OtherAction { id: RELEASE, parameters: Vec::new() })
}

fn refused(result: Result<Option<Vec<u8>>, ControlFailure>, cause: CauseRicRequest) -> Option<Vec<u8>> {
    let failure = result.unwrap_err();
    assert_eq!(failure.cause, Cause::RicRequest(cause));
    failure.outcome
}

#[test]
fn definition_lists_supported_actions() {
    for revision in Revision::ALL {
        let bench = Bench::new(revision);
        let function = bench.function.definition();
        let detected = e2sm::rc::Detection::from_ran_function(&function.oid, function.revision.0, &function.definition);
        assert_eq!(detected.unwrap().revision, revision);
        let definition = RanFunctionDefinition::decode_owned(&function.definition, revision).unwrap();
        let controls = definition.control.unwrap().control_style_list;
        let styles: Vec<_> = controls.iter().map(|style| style.ric_control_style_type.0).collect();
        assert_eq!(styles, [2, 3, 4, 9, 255]);
        let actions = controls[0].control_action_list.as_ref().unwrap();
        let names: Vec<_> = actions.iter().map(|action| action.ric_control_action_name.0.as_str()).collect();
        assert_eq!(names, ["Slice-level PRB quota", "DRX parameter configuration"]);
        let call_process = controls.iter().map(|style| style.ric_call_process_id_format_type.is_some());
        assert_eq!(call_process.collect::<Vec<_>>(), [false, true, false, false, true], "actions of inserts");

        let reports = definition.report.unwrap().report_style_list;
        let styles: Vec<_> = reports.iter().map(|style| style.ric_report_style_type.0).collect();
        let is_old = revision == Revision::V1_03;
        assert_eq!(styles, if is_old { vec![1, 2, 3, 4, 5] } else { vec![1, 2, 3, 4] });
        let inserts = definition.insert.unwrap().insert_style_list;
        assert_eq!(inserts.iter().map(|style| style.ric_insert_style_type.0).collect::<Vec<_>>(), [3, 255]);
        assert_eq!(definition.policy.unwrap().policy_style_list.len(), 1);
        assert_eq!(definition.query.is_none(), is_old);
        let trigger = definition.event_trigger.unwrap();
        assert_eq!(trigger.call_process_types_list.unwrap()[0].call_process_type_id.0, 3);
        assert_eq!(trigger.l2_parameters_list.unwrap().len(), 1);
        assert_eq!(trigger.ue_identification_parameters_list.unwrap()[0].ran_parameter_name.0.as_str(), "RSRP");
    }
}

/// A base station with nothing but cells and UEs offers next to nothing.
struct Bare;

impl RcSource for Bare {
    fn cells(&self) -> Vec<Cgi> {
        Vec::new()
    }
    fn ues(&self, _out: &mut Vec<Ue>) {}
    fn ue_id(&self, ue: Ue) -> UeId<'static> {
        name(ue.0)
    }
    fn control_actions(&self) -> &[ActionId] {
        &[]
    }
    fn control(
        &mut self,
        _now: Time,
        _origin: Origin,
        _ue: Option<Ue>,
        action: &ControlAction,
    ) -> Result<Vec<RanParameterElementItem<'static>>, Refusal> {
        panic!("not offered: {action:?}")
    }
}

#[test]
fn definition_without_support_is_empty() {
    for revision in Revision::ALL {
        let config = RcConfig { revision, ..RcConfig::default() };
        let function = RcFunction::new(ExclusiveSource::new(Bare), config);
        let definition = RanFunctionDefinition::decode_owned(&function.definition().definition, revision).unwrap();
        assert_eq!((definition.insert, definition.control, definition.policy), (None, None, None));
        assert_eq!(definition.report.is_some(), revision == Revision::V1_03, "on demand");
        assert_eq!(function.next_report(), None);
    }
}

#[test]
fn control_is_executed_in_every_revision() {
    for revision in Revision::ALL {
        let mut bench = Bench::new(revision);
        let origin = Origin::Control(FIRST);
        let outcome = bench.control(FIRST, &Control::of_ue(name(2), drx())).unwrap();
        assert_eq!(bench.done(), [(origin, Some(Ue(2)), drx())]);
        // without parameters, v01.03 has no outcome and later revisions an empty one
        assert_eq!(outcome.is_none(), revision == Revision::V1_03);
        // quotas of a cell do not apply to UEs, even if the control names one
        bench.control(FIRST, &Control::of_ue(name(77), quota())).unwrap();
        assert_eq!(bench.done(), [(origin, None, quota())]);
        let outcome = bench.control(FIRST, &Control::of_ue(name(1), release())).unwrap();
        assert_eq!(outcome_parameters(outcome.as_ref(), revision), [(5, "ValueInt(1)".to_owned())]);
        bench.done();

        let actions = ControlActions::Several(vec![quota(), release(), drx()]);
        let several = Control { target: ControlTarget::Ue(name(2)), decision: None, actions };
        let outcome = bench.control(FIRST, &several).unwrap();
        assert_eq!(
            bench.done(),
            [(origin, None, quota()), (origin, Some(Ue(2)), release()), (origin, Some(Ue(2)), drx()),]
        );
        assert_eq!(outcome_parameters(outcome.as_ref(), revision), [(5, "ValueInt(2)".to_owned())]);
    }
}

#[test]
fn refused_control_has_cause_and_reason() {
    let revision = Revision::V3_00;
    let mut bench = Bench::new(revision);
    let mapping = e2sm::rc::QosFlowMapping { drb_id: 1, flows: vec![e2sm::rc::MappedFlow { qfi: 1, direction: None }] };
    let mapping = Control::of_ue(name(1), ControlAction::QosFlowMapping(mapping));
    let outcome = refused(bench.control(FIRST, &mapping), ActionNotSupported);
    let reason = "control style 1 action 2 (QoS flow mapping configuration) is not offered".to_owned();
    assert_eq!(outcome_parameters(outcome.as_ref(), revision), [(REFUSAL_REASON.0, reason)]);
    refused(bench.control(FIRST, &Control::of_ue(name(3), drx())), ControlFailedToExecute);
    // a guest acts on the UEs that it was shown
    refused(bench.control(GUEST, &Control::of_ue(name(1), drx())), ControlFailedToExecute);
    bench.control(GUEST, &Control::of_ue(name(2), drx())).unwrap();
    assert_eq!(bench.done(), [(Origin::Control(GUEST), Some(Ue(2)), drx())]);

    // the parameter at fault is named
    let (header, _) = Control::of_ue(name(1), drx()).encode(revision).unwrap();
    let mut message = Vec::new();
    let wrong = RanParameterElementTrue { value: RanParameterValue::ValueInt(20) };
    let list = vec![e2sm::rc::RanParameterItem {
        ran_parameter_id: RanParameterId(1),
        value_type: RanParameterValueType::ElementTrue(wrong),
    }];
    let formats =
        e2sm::rc::ControlMessageFormats::Format1(e2sm::rc::ControlMessageFormat1 { ran_p_list: List::from(list) });
    e2sm::rc::ControlMessage { formats }.encode(revision, &mut message).unwrap();
    let outcome = refused(bench.control_octets(FIRST, header.clone(), message, None), ControlMessageInvalid);
    let reason = "RAN parameter 1 (Long DRX Cycle Length) is out of range".to_owned();
    assert_eq!(outcome_parameters(outcome.as_ref(), revision), [(1, reason)]);
    refused(bench.control_octets(FIRST, header, vec![0xFF], None), ControlMessageInvalid);
    refused(bench.control_octets(FIRST, vec![], vec![], None), ControlMessageInvalid);

    // nothing waits
    let (header, message) =
        Control::answer(name(1), ControlAction::HANDOVER, Decision::Accept).encode(revision).unwrap();
    for id in [vec![0, 0, 1], vec![], vec![0xFF; 40]] {
        let answer = bench.control_octets(FIRST, header.clone(), message.clone(), Some(id));
        refused(answer, RicCallProcessIdInvalid);
    }

    // the base station's own refusal
    bench.source.lock().is_full = true;
    let failure = bench.control(FIRST, &Control::of_ue(name(1), quota())).unwrap_err();
    assert_eq!(failure.cause, Cause::Misc(CauseMisc::ControlProcessingOverload));
    assert_eq!(
        outcome_parameters(failure.outcome.as_ref(), revision),
        [(REFUSAL_REASON.0, "60 % of 40 % are wanted".to_owned())]
    );
    assert!(bench.done().is_empty());
}

#[test]
fn multiple_actions_are_checked_as_a_whole() {
    let revision = Revision::V1_03;
    let mut bench = Bench::new(revision);
    let several =
        |actions| Control { target: ControlTarget::NoUe, decision: None, actions: ControlActions::Several(actions) };
    refused(bench.control(FIRST, &several(vec![quota(), drx()])), ControlMessageInvalid);
    assert!(bench.done().is_empty(), "an action that requires a UE is not executed without one");
    bench.control(FIRST, &several(vec![quota(), quota()])).unwrap();
    assert_eq!(bench.done().len(), 2);
    bench.source.lock().is_full = true;
    let failure = bench.control(FIRST, &several(vec![quota()])).unwrap_err();
    assert_eq!(
        outcome_parameters(failure.outcome.as_ref(), revision),
        [(REFUSAL_REASON.0, "60 % of 40 % are wanted".to_owned())]
    );
}

#[test]
fn groups_and_partial_ue_ids_select_ues() {
    let revision = Revision::V5_00;
    let mut bench = Bench::new(revision);
    let group = |id, value| Control {
        target: ControlTarget::Group(
            UeGroupId(1),
            UeGroupDefinition {
                identifier_list: List::from(vec![UeGroupDefinitionIdentifierItem {
                    ran_parameter_id: id,
                    value_type: RanParameterValueType::ElementTrue(RanParameterElementTrue {
                        value: RanParameterValue::ValueInt(value),
                    }),
                    logical_or: None,
                }]),
            },
        ),
        decision: None,
        actions: ControlActions::One(drx()),
    };
    bench.control(FIRST, &group(RSRP, -102)).unwrap();
    assert_eq!(bench.done(), [(Origin::Control(FIRST), Some(Ue(2)), drx())]);
    refused(bench.control(FIRST, &group(RSRP, -50)), ControlFailedToExecute);
    refused(bench.control(FIRST, &group(RanParameterId(9), 1)), ControlMessageInvalid);

    let partial =
        |names| Control { target: ControlTarget::Partial(names), decision: None, actions: ControlActions::One(drx()) };
    let f1ap = PartialUeId { gnb_cu_ue_f1ap_id: Some(GnbCuUeF1apId(1)), ..PartialUeId::default() };
    bench.control(FIRST, &partial(f1ap)).unwrap();
    assert_eq!(bench.done(), [(Origin::Control(FIRST), Some(Ue(1)), drx())]);
    refused(bench.control(FIRST, &partial(PartialUeId::default())), ControlFailedToExecute);
}

/// Message format 3: UEs that pass a filter are treated otherwise; all of it is checked before anything is done.
#[test]
fn filters_select_actions_of_ues() {
    let revision = Revision::V5_00;
    let mut bench = Bench::new(revision);
    let cycle = |cycle: i64| RanParameterItem {
        ran_parameter_id: RanParameterId(1),
        value_type: RanParameterValueType::ElementTrue(RanParameterElementTrue {
            value: RanParameterValue::ValueInt(cycle),
        }),
    };
    let all = |id| UeGroupDefinition {
        identifier_list: List::from(vec![UeGroupDefinitionIdentifierItem {
            ran_parameter_id: id,
            value_type: RanParameterValueType::ElementTrue(RanParameterElementTrue {
                value: RanParameterValue::ValueInt(0),
            }),
            logical_or: None,
        }]),
    };
    let filtered = |id, filter_by, of_filter: i64, of_all: Vec<RanParameterItem<'static>>| Control {
        target: ControlTarget::Group(UeGroupId(1), all(SLICE)),
        decision: None,
        actions: ControlActions::Filtered(FilteredAction {
            id,
            filters: vec![EntityFilter {
                entity_filter_id: EntityFilterId(7),
                entity_filter_definition: procedures::test(filter_by, Comparison::LessThan, -101),
                entity_specific_control_ran_p_list: List::from(vec![cycle(of_filter)]),
            }],
            for_all: of_all,
        }),
    };
    let mut endless = filtered(ControlAction::DRX, RSRP, 3, vec![cycle(9)]);
    let ControlActions::Filtered(action) = &mut endless.actions else { panic!("filters") };
    let test = action.filters[0].entity_filter_definition.0.to_vec();
    action.filters[0].entity_filter_definition.0 = test.iter().cycle().take(129).cloned().collect();
    action.filters.push(action.filters[0].clone());
    refused(bench.control(FIRST, &endless), FunctionResourceLimit);
    let drx = |long_cycle| ControlAction::Drx(Drx { long_cycle, short_cycle: None, short_cycle_timer: None });
    bench.control(FIRST, &filtered(ControlAction::DRX, RSRP, 3, vec![cycle(9)])).unwrap();
    let origin = Origin::Control(FIRST);
    assert_eq!(bench.done(), [(origin, Some(Ue(1)), drx(9)), (origin, Some(Ue(2)), drx(3))]);
    for (control, cause) in [
        // the cycle of UE 1 is missing; an unsupported parameter cannot filter; a quota of the cell does not apply to UEs
        (filtered(ControlAction::DRX, RSRP, 3, vec![]), ControlMessageInvalid),
        (filtered(ControlAction::DRX, RSRP, 99, vec![cycle(9)]), ControlMessageInvalid),
        (filtered(ControlAction::DRX, RanParameterId(99), 3, vec![cycle(9)]), ControlMessageInvalid),
        (filtered(ControlAction::SLICE_PRB_QUOTA, RSRP, 3, vec![]), ControlMessageInvalid),
        (filtered(ControlAction::DRB_QOS, RSRP, 3, vec![]), ActionNotSupported),
    ] {
        refused(bench.control(FIRST, &control), cause);
        assert_eq!(bench.done(), [], "nothing is done");
    }
}

/// Measurement reporting has its own outcome format; a refusal states how many UEs were changed before.
#[test]
fn outcome_states_style_and_progress() {
    let revision = Revision::V5_00;
    let mut bench = Bench::new(revision);
    let delete = ControlAction::Other(OtherAction { id: DELETE_REPORTING, parameters: Vec::new() });
    let outcome = bench.control(FIRST, &Control::of_ue(name(1), delete.clone())).unwrap();
    let [(5, value)] = &outcome_parameters(outcome.as_ref(), revision)[..] else { panic!("a parameter") };
    assert!(value.contains("ElementFalse") && value.contains("ValueInt(1)"), "{value}");
    let bytes = bench.function.definition().definition;
    let definition = RanFunctionDefinition::decode_owned(&bytes, revision).unwrap();
    let formats: Vec<_> = definition
        .control
        .iter()
        .flat_map(|control| control.control_style_list.iter())
        .map(|style| (style.ric_control_style_type.0, style.ric_control_outcome_format_type.0))
        .collect();
    assert_eq!(formats, [(2, 1), (3, 1), (4, 1), (9, 3), (255, 2)]);

    bench.done();
    bench.source.lock().most = Some(1);
    let long = RanParameterItem {
        ran_parameter_id: RanParameterId(1),
        value_type: RanParameterValueType::ElementTrue(RanParameterElementTrue {
            value: RanParameterValue::ValueInt(9),
        }),
    };
    let group = Control {
        target: ControlTarget::Group(
            UeGroupId(1),
            UeGroupDefinition {
                identifier_list: List::from(vec![UeGroupDefinitionIdentifierItem {
                    ran_parameter_id: SLICE,
                    value_type: RanParameterValueType::ElementTrue(RanParameterElementTrue {
                        value: RanParameterValue::ValueInt(0),
                    }),
                    logical_or: None,
                }]),
            },
        ),
        decision: None,
        actions: ControlActions::One(drx()),
    };
    let of_each = FilteredAction { id: ControlAction::DRX, filters: Vec::new(), for_all: vec![long] };
    let filtered = Control { actions: ControlActions::Filtered(of_each), ..group.clone() };
    for control in [group, filtered] {
        let failure = bench.control(FIRST, &control).unwrap_err();
        let reason = "60 % of 40 % are wanted; executed for 1 UEs before".to_owned();
        assert_eq!(outcome_parameters(failure.outcome.as_ref(), revision), [(REFUSAL_REASON.0, reason)]);
        assert_eq!(bench.done().len(), 1);
    }
}

/// Message format 4: the current parameters of a UE are returned.
#[test]
fn requested_parameters_are_returned() {
    let revision = Revision::V5_00;
    let mut bench = Bench::new(revision);
    let tell = |ue, parameters| Control {
        target: ControlTarget::Ue(name(ue)),
        decision: None,
        actions: ControlActions::Query(ControlAction::DRX, parameters),
    };
    let outcome = bench.control(FIRST, &tell(2, vec![RSRP, SLICE])).unwrap();
    assert_eq!(
        outcome_parameters(outcome.as_ref(), revision),
        [(1, "ValueInt(-102)".to_owned()), (2, "ValueInt(0)".to_owned())]
    );
    assert_eq!(bench.done(), []);
    let outcome = refused(bench.control(FIRST, &tell(2, vec![RSRP, RanParameterId(9)])), ControlMessageInvalid);
    assert_eq!(outcome_parameters(outcome.as_ref(), revision), [(9, "the parameter is not supported".to_owned())]);
    refused(bench.control(GUEST, &tell(1, vec![RSRP])), ControlFailedToExecute);
}

/// Octets that make no sense are refused, whatever they are.
#[test]
fn invalid_octets_are_refused() {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut octets = |most: u64| -> Vec<u8> {
        let mut next = || {
            state ^= state >> 12;
            state ^= state << 25;
            state ^= state >> 27;
            state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33
        };
        (0..next() % most).map(|_| next() as u8).collect()
    };
    for revision in Revision::ALL {
        let mut bench = Bench::new(revision);
        let (header, message) = Control::of_ue(name(1), quota()).encode(revision).unwrap();
        for _ in 0..3000 {
            let _ = bench.control_octets(FIRST, octets(40), octets(60), Some(octets(8)));
            let _ = bench.control_octets(FIRST, header.clone(), octets(60), None);
            let mut spoilt = message.clone();
            let at = octets(200).len() % spoilt.len();
            spoilt[at] ^= 1 << (octets(9).len() % 8);
            let _ = bench.control_octets(FIRST, header.clone(), spoilt, None);
            let request = SubscriptionRequest {
                request_id: RicRequestId { requestor: 1, instance: 1 },
                ran_function_id: RanFunctionId(3),
                event_trigger: octets(30),
                actions: vec![e2::Action {
                    id: RicActionId(0),
                    kind: RicActionType::Insert,
                    definition: Some(octets(40)),
                    subsequent: None,
                }],
                times: Default::default(),
            };
            let _ = bench.function.subscribe(bench.now, FIRST, &request, &bench.views);
            let _ = bench.query(FIRST, &octets(30), &octets(30));
        }
        assert!(bench.function.state.subscriptions.len() <= 4);
    }
}
