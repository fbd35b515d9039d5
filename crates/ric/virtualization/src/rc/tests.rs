use e2sm::common::{GnbCuUeF1apId, InterfaceType, NrCgi, PartialUeId, PlmnIdentity, SNssai, Sst, UeIdGnbDu};
use e2sm::rc::{
    Drx, FilteredAction, Handover, IndicationMessageFormat1, IndicationMessageFormat2, IndicationMessageFormat2Item,
    MessageTypeNi, OtherAction, Plan, RanParameterElementFalse, Revision, RrcState, UeGroupDefinition,
    UeGroupDefinitionIdentifierItem, UeGroupId,
};
use e2sm::rrc::Event;
use ferric::e2::Action;
use ferric::e2ap::{RanFunctionId, RicActionType, RicRequestId};
use per::Octets;

use super::*;
use crate::testing::{A, B, notify, station, ue_id};

fn detection() -> Detection {
    Detection::configured(Revision::V5_00)
}

/// UEs 1 and 2 of tenant a, 3 and 4 of b.
fn node() -> NodeState {
    let mut node = station();
    (1..=2).for_each(|number| notify(&mut node, number, A, Event::Attached));
    (3..=4).for_each(|number| notify(&mut node, number, B, Event::Attached));
    node
}

fn request(control: &Control) -> ControlRequest {
    let (header, message) = control.encode(Revision::V5_00).unwrap();
    ControlRequest {
        request_id: RicRequestId { requestor: 1, instance: 1 },
        ran_function_id: RanFunctionId(3),
        call_process_id: None,
        header,
        message,
    }
}

fn pass(node: &mut NodeState, tenant: usize, request: &ControlRequest) -> Result<Control, ControlFailure> {
    let passed = control(&detection(), tenant, node, ControllerId(0), request)?;
    Ok(Control::decode(&passed.header, &passed.message, Revision::V5_00).unwrap())
}

fn drx(ue: u16) -> Control {
    Control::of_ue(ue_id(ue), ControlAction::Drx(Drx::long(320)))
}

/// The reason in the outcome of a refusal.
fn reason(failure: &ControlFailure) -> String {
    let outcome = failure.outcome.as_deref().expect("an outcome");
    let arena = Arena::new();
    let outcome = ControlOutcome::decode(outcome, Revision::V5_00, &arena).unwrap();
    let ControlOutcomeFormats::Format1(format) = outcome.formats else { panic!("{outcome:?}") };
    match &format.ran_p_list[0].value {
        RanParameterValue::ValuePrintableString(text) => text.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn control_of_own_ue_is_passed_on_unchanged() {
    let mut node = node();
    let asked = request(&drx(1));
    let passed = control(&detection(), 0, &mut node, ControllerId(0), &asked).unwrap();
    assert_eq!((passed.header, passed.message), (asked.header, asked.message));
}

#[test]
fn own_ue_is_named_as_the_base_station_names_it() {
    let mut node = node();
    // without the optional parts
    let short = UeIdGnbDu { gnb_cu_ue_f1ap_id: GnbCuUeF1apId(3), ran_ueid: None, cell_rnti: None };
    let control = Control::of_ue(UeId::GnbDu(short), ControlAction::Drx(Drx::long(320)));
    assert_eq!(pass(&mut node, 1, &request(&control)).unwrap(), drx(3));
    // by a part
    let partial = PartialUeId { gnb_cu_ue_f1ap_id: Some(GnbCuUeF1apId(3)), ..PartialUeId::default() };
    let control = Control { target: ControlTarget::Partial(partial), ..drx(3) };
    assert_eq!(pass(&mut node, 1, &request(&control)).unwrap(), drx(3));
    assert_eq!(reason(&pass(&mut node, 0, &request(&control)).unwrap_err()), "there is no such UE");
}

#[test]
fn target_cell_has_the_plmn_of_the_base_station() {
    let handover =
        |plmn| Control::of_ue(ue_id(3), ControlAction::Handover(Handover::to(Cgi::NrCgi(NrCgi::new(plmn, 7)))));
    assert_eq!(pass(&mut node(), 1, &request(&handover(B))).unwrap(), handover(A));
}

/// Cells have the PLMN of the tenant in reports, and that of the base station in event triggers.
#[test]
fn cells_of_subscriptions_and_reports_are_translated() {
    use e2sm::rc::{
        EventTriggerCellIndividual, EventTriggerCellInfo, EventTriggerCellInfoItem, EventTriggerCellType,
        EventTriggerFormats, IndicationMessageFormat3, IndicationMessageFormat3Item, RicEventTriggerCellId,
    };
    let node = node();
    let cell = |plmn| Cgi::NrCgi(NrCgi::new(plmn, 7));
    let changes = [dictionary::node_change::CELL_CONFIGURATION];
    let plan = |plmn| {
        let mut plan = Plan::report_node_changes(&changes, &[dictionary::node_information::CELL_DELETED]);
        let EventTriggerFormats::Format3(format) = &mut plan.trigger.formats else { panic!() };
        let item = EventTriggerCellInfoItem {
            event_trigger_cell_id: RicEventTriggerCellId(1),
            cell_type: EventTriggerCellType::Individual(EventTriggerCellIndividual { cell_global_id: cell(plmn) }),
            logical_or: None,
        };
        let mut items = format.e2_node_info_change_list.to_vec();
        items[0].associated_cell_info = Some(EventTriggerCellInfo { cell_info_list: vec![item].into() });
        format.e2_node_info_change_list = items.into();
        plan
    };
    // the second tenant may name the cell by its own PLMN or by that of the base station
    for named in [B, A] {
        let mut asked = subscription(&plan(named), RicActionType::Report);
        RcView::of(&detection(), &mut asked, 1, &node).unwrap();
        assert_eq!(asked, subscription(&plan(A), RicActionType::Report));
    }
    // one that cannot be decoded is for the base station to refuse
    let mut asked = SubscriptionSpec { event_trigger: vec![0xff], ..subscription(&plan(B), RicActionType::Report) };
    RcView::of(&detection(), &mut asked, 1, &node).unwrap();
    assert_eq!(asked.event_trigger, [0xff]);

    let report = |plmn| {
        let item = IndicationMessageFormat3Item {
            cell_global_id: cell(plmn),
            cell_context_info: None,
            cell_deleted: Some(true),
            neighbor_relation_table: None,
        };
        let cell_info_list = vec![item].into();
        encoded(IndicationMessageFormats::Format3(IndicationMessageFormat3 { cell_info_list }))
    };
    let view = RcView::default();
    assert_eq!(received(&view, &node, 0, &report(A)), Some(report(A)));
    assert_eq!(received(&view, &node, 1, &report(A)), Some(report(B)));
}

/// The message of an insert names the target cell in the network of the tenant.
#[test]
fn insert_names_the_cell_of_the_tenants_network() {
    use e2sm::rc::{IndicationHeaderFormat2, IndicationMessageFormat5, RicInsertIndicationId};
    let node = node();
    let message = |plmn| {
        let requested_list = Handover::to(Cgi::NrCgi(NrCgi::new(plmn, 7))).to_parameters().into();
        encoded(IndicationMessageFormats::Format5(IndicationMessageFormat5 { requested_list }))
    };
    let header = IndicationHeaderFormats::Format2(IndicationHeaderFormat2 {
        ue_id: ue_id(3),
        ric_insert_style_type: ControlAction::HANDOVER.style,
        ric_insert_indication_id: RicInsertIndicationId(1),
    });
    let mut octets = Vec::new();
    IndicationHeader { formats: header }.encode(Revision::V5_00, &mut octets).unwrap();
    let insert = Insert::decode(&detection(), &octets, &message(A)).unwrap();
    let of = |tenant| insert.message_for(&detection(), CellPlmn::to_tenant(&node, tenant), &message(A));
    assert_eq!((of(0), of(1)), (None, Some(message(B))));
    assert_eq!(insert.message_for(&detection(), CellPlmn::to_tenant(&node, 1), &[0xff]), None);
}

#[test]
fn controls_beyond_the_virtual_network_are_refused_with_cause_and_reason() {
    let other = OtherAction { id: ActionId::new(4, 1), parameters: Vec::new() };
    let group = Control { target: ControlTarget::Group(UeGroupId(1), group()), ..drx(1) };
    let filtered = FilteredAction { id: ActionId::new(4, 1), filters: Vec::new(), for_all: Vec::new() };
    let filtered = Control { actions: ControlActions::Filtered(filtered), ..drx(1) };
    let cases = [
        (drx(3), CauseRicRequest::ControlFailedToExecute, "there is no such UE"),
        (drx(9), CauseRicRequest::ControlFailedToExecute, "there is no such UE"),
        (group, CauseRicRequest::ActionNotSupported, "controls of groups of UEs are not offered in a virtual network"),
        (
            Control::of_ue(ue_id(1), other.into()),
            CauseRicRequest::ActionNotSupported,
            "control style 4 action 1 (RACH backoff control) is not offered",
        ),
        (
            filtered,
            CauseRicRequest::ActionNotSupported,
            "control style 4 action 1 (RACH backoff control) is not offered",
        ),
        (
            quota(B, 1, 10),
            CauseRicRequest::ControlFailedToExecute,
            "slice 1 of PLMN 00102 does not belong to this network alone",
        ),
    ];
    for (control, cause, text) in cases {
        let failure = pass(&mut node(), 0, &request(&control)).unwrap_err();
        assert_eq!(failure.cause, Cause::RicRequest(cause), "{control:?}");
        let name = reason(&failure);
        assert!(name.starts_with(text.split(" (").next().unwrap()), "{name}");
    }
}

/// UEs by their RRC state.
fn group() -> UeGroupDefinition<'static> {
    let value = RanParameterElementFalse { value: Some(RanParameterValue::ValueInt(0)) };
    let identifier = UeGroupDefinitionIdentifierItem {
        ran_parameter_id: dictionary::ue_information::RRC_STATE_CHANGED_TO,
        value_type: RanParameterValueType::ElementFalse(value),
        logical_or: None,
    };
    UeGroupDefinition { identifier_list: vec![identifier].into() }
}

fn quota(plmn: PlmnIdentity, sst: u8, min: u8) -> Control {
    let quota = SlicePrbQuota::of_slice(plmn, SNssai { sst: Sst([sst]), sd: None }, min, 100);
    Control::of_cell(ControlAction::SlicePrbQuota(quota))
}

#[test]
fn quota_is_a_part_of_the_share() {
    let mut node = node();
    let asked = request(&quota(A, 1, 60));
    assert_eq!(pass(&mut node, 0, &asked).unwrap(), quota(A, 1, 30));
    let passed = control(&detection(), 0, &mut node, ControllerId(0), &asked).unwrap();
    let Effect::Policies(policies) = passed.effect else { panic!("{passed:?}") };
    node.tenants[0].policies = policies;
    let failure = pass(&mut node, 0, &request(&quota(A, 2, 41))).unwrap_err();
    assert_eq!(failure.cause, Cause::RicRequest(CauseRicRequest::FunctionResourceLimit));
    assert_eq!(reason(&failure), "the minimum ratios would take 101 % of the virtual cell");
}

#[test]
fn quota_is_refused_beside_slices() {
    let mut node = NodeState { has_slices: true, ..node() };
    let failure = pass(&mut node, 0, &request(&quota(A, 1, 60))).unwrap_err();
    assert_eq!(failure.cause, Cause::RicRequest(CauseRicRequest::ControlFailedToExecute));
    assert!(reason(&failure).starts_with("slices of the SLICE model divide the cell"), "{}", reason(&failure));
}

#[test]
fn insert_is_answered_by_its_tenant_only() {
    let mut node = node();
    let mut answer = request(&Control::answer(ue_id(1), ControlAction::HANDOVER, Decision::Reject));
    answer.call_process_id = Some(vec![7]);
    let failure = pass(&mut node, 0, &answer).unwrap_err();
    assert_eq!(failure.cause, Cause::RicRequest(CauseRicRequest::RicCallProcessIdInvalid));
    node.tenants[0].inserts.add(&[7]);
    assert!(pass(&mut node, 0, &answer).is_ok());
    assert!(pass(&mut node, 1, &answer).is_err());
    // an action without parameters is for answers only
    answer.call_process_id = None;
    assert!(pass(&mut node, 0, &answer).is_err());
}

fn subscription(plan: &Plan, kind: RicActionType) -> SubscriptionSpec {
    let (event_trigger, definition) = plan.encode(Revision::V5_00).unwrap();
    let action = Action { id: RicActionId(5), kind, definition: Some(definition), subsequent: None };
    SubscriptionSpec { event_trigger, actions: vec![action] }
}

fn view(plan: &Plan, kind: RicActionType, tenant: usize, node: &NodeState) -> Result<Arc<RcView>, Cause> {
    RcView::of(&detection(), &mut subscription(plan, kind), tenant, node)
}

fn states(ues: &[u16]) -> Vec<u8> {
    let item = |number: &u16| {
        let value = RanParameterElementFalse { value: Some(RanParameterValue::ValueInt(0)) };
        let id = dictionary::ue_information::RRC_STATE_CHANGED_TO;
        let item = RanParameterItem { ran_parameter_id: id, value_type: RanParameterValueType::ElementFalse(value) };
        IndicationMessageFormat2Item { ue_id: ue_id(*number), ran_p_list: vec![item].into() }
    };
    let list = ues.iter().map(item).collect();
    encoded(IndicationMessageFormats::Format2(IndicationMessageFormat2 { ue_parameter_list: list }))
}

fn encoded(formats: IndicationMessageFormats<'static>) -> Vec<u8> {
    let mut out = Vec::new();
    IndicationMessage { formats }.encode(Revision::V5_00, &mut out).unwrap();
    out
}

fn received(view: &RcView, node: &NodeState, tenant: usize, message: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let arena = Arena::new();
    let report = IndicationMessage::decode(message, Revision::V5_00, &arena).unwrap();
    match view.partition(&detection(), node, tenant, RicActionId(5), &report, &mut out).unwrap() {
        Content::Unchanged => Some(message.to_vec()),
        Content::Written => Some(out),
        Content::Nothing => None,
    }
}

#[test]
fn report_of_ues_contains_own_ues() {
    let node = node();
    let plan = Plan::report_rrc_states(&[RrcState::RrcConnected]);
    let of = |tenant: usize, ues: &[u16]| {
        let view = view(&plan, RicActionType::Report, tenant, &node).unwrap();
        received(&view, &node, tenant, &states(ues))
    };
    assert_eq!(of(0, &[1, 3, 2, 9]), Some(states(&[1, 2])));
    assert_eq!(of(1, &[1, 3, 2, 9]), Some(states(&[3])));
    assert_eq!(of(0, &[3, 4]), None);
}

#[test]
fn copies_of_messages_are_those_of_own_ues() {
    use dictionary::message_copy::{NI_MESSAGE, UE_ID};
    let node = node();
    let messages = MessageTypeNi { ni_type: InterfaceType::Ng, ni_identifier: None, ni_message: None };
    let view = view(&Plan::report_ni_messages(&[messages]), RicActionType::Report, 0, &node).unwrap();
    let octets = |id, octets: Vec<u8>| {
        let value = RanParameterElementFalse { value: Some(RanParameterValue::ValueOctS(Octets::from(octets))) };
        RanParameterItem { ran_parameter_id: id, value_type: RanParameterValueType::ElementFalse(value) }
    };
    let copy = |ue: Option<u16>| {
        let ue_id = ue.map(|number| {
            let mut out = Vec::new();
            per::encode(&ue_id(number), Revision::V5_00.wire(), &mut out).unwrap();
            octets(UE_ID, out)
        });
        let reported_list = [octets(NI_MESSAGE, vec![1, 2, 3])].into_iter().chain(ue_id).collect();
        encoded(IndicationMessageFormats::Format1(IndicationMessageFormat1 { reported_list }))
    };
    assert_eq!(received(&view, &node, 0, &copy(Some(1))), Some(copy(Some(1))));
    assert_eq!(received(&view, &node, 0, &copy(Some(3))), None);
    assert_eq!(received(&view, &node, 0, &copy(None)), None, "a message of no particular UE");
}

#[test]
fn insert_of_a_foreign_ue_is_refused() {
    let node = node();
    let of = |ue| view(&Plan::insert_handover(ue), RicActionType::Insert, 0, &node);
    assert_eq!(of(Some(ue_id(3))).unwrap_err(), UNAVAILABLE);
    let one = of(Some(ue_id(1))).unwrap();
    assert_eq!((one.insert_for(&ue_id(1)), one.insert_for(&ue_id(2))), (Some(RicActionId(5)), None));
    assert_eq!(of(None).unwrap().insert_for(&ue_id(2)), Some(RicActionId(5)));
}

/// A source of random numbers that a seed repeats (xorshift64*).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u16) -> u16 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        ((self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % u64::from(bound)) as u16
    }
}

/// Whatever arrives, leaves and moves between the networks: a control reaches the base station only if its UE is one of the tenant,
/// and a report to a tenant contains exactly its UEs.
#[test]
fn no_tenant_sees_or_controls_the_ue_of_another() {
    for seed in 1..=200 {
        let mut random = Random(seed);
        let mut node = station();
        let mut owners = std::collections::BTreeMap::new();
        for _ in 0..60 {
            let number = 1 + random.below(8);
            match random.below(4) {
                0 => {
                    let tenant = usize::from(random.below(2));
                    notify(&mut node, number, [A, B][tenant], Event::Attached);
                    owners.insert(number, tenant);
                }
                1 => {
                    notify(&mut node, number, A, Event::Detached);
                    owners.remove(&number);
                }
                2 => {
                    let tenant = usize::from(random.below(2));
                    let is_own = owners.get(&number) == Some(&tenant);
                    let passed = pass(&mut node, tenant, &request(&drx(number)));
                    assert_eq!(passed.is_ok(), is_own, "seed {seed}: UE {number}, tenant {tenant}");
                }
                _ => {
                    let ues: Vec<u16> = (1..=8).filter(|_| random.below(2) == 0).collect();
                    if ues.is_empty() {
                        continue;
                    }
                    for tenant in 0..2 {
                        let own: Vec<u16> = ues.iter().copied().filter(|ue| owners.get(ue) == Some(&tenant)).collect();
                        let expected = (!own.is_empty()).then(|| states(&own));
                        let message = received(&RcView::default(), &node, tenant, &states(&ues));
                        assert_eq!(message, expected, "seed {seed}: tenant {tenant} of {ues:?}");
                    }
                }
            }
        }
    }
}
