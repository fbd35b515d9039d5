//! Subscriptions: decoding and checking of event triggers and action definitions.

use std::collections::BTreeSet;

use e2sm::Arena;
use e2sm::common::{Cgi, InterfaceIdentifier, InterfaceMessageId, InterfaceType, RrcMessageId, UeId};
use e2sm::rc::dictionary::{self, Breakpoint, MULTIPLE_ACTIONS};
use e2sm::rc::{
    ActionDefinition, ActionDefinitionFormats, ActionId, ControlAction, Decision, E2NodeInfoChangeId, EventTrigger,
    EventTriggerCellInfo, EventTriggerCellType, EventTriggerFormats, EventTriggerUeInfo, MessageDirection,
    MessageTypeChoice, MessageTypeNi, OtherAction, RanParameterId, RanParameterTesting, RicEventTriggerConditionId,
    RrcState, TriggerTypeChoice, WantedRanParameter,
};
use ferric::agent::{RequestKey, Ue, Views};
use ferric::e2::{Action, Time};
use ferric::e2ap::{Cause, CauseRicRequest, RicActionId, RicActionType, RicSubsequentActionType};
use per::IntoOwned;
use tracing::debug;

use super::{EventKind, RcConfig, RcSource, SupportedBreakpoint, SupportedParameter, conditions, definition, ues};
use crate::cause::{ACTION_NOT_SUPPORTED, RESOURCE_LIMIT, SEMANTIC_ERROR, TRIGGER_NOT_SUPPORTED, undecodable};

/// The maximum number of tests of UEs in a trigger, since each is evaluated periodically.
const MAX_TESTS: usize = 64;

/// The parameters that a report style contains independently of the base station.
pub(super) const fn reportable(style: i64) -> &'static [(RanParameterId, &'static str)] {
    use dictionary::{call_process_outcome, message_copy, node_information, ue_information};
    match style {
        1 => &[
            (message_copy::NI_MESSAGE, "NI Message"),
            (message_copy::RRC_MESSAGE, "RRC Message"),
            (message_copy::UE_ID, "UE ID"),
            (message_copy::CELL_GLOBAL_ID, "Cell Global ID"),
        ],
        2 => &[
            (call_process_outcome::CURRENT_UE_ID, "Current UE ID"),
            (call_process_outcome::CURRENT_RRC_STATE, "Current RRC State"),
        ],
        3 => &[(node_information::NEIGHBOUR_RELATION_TABLE, "Neighbour Relation Table")],
        4 => &[
            (ue_information::CURRENT_RRC_STATE, "Current RRC State"),
            (ue_information::RRC_STATE_CHANGED_TO, "RRC State Changed To"),
        ],
        5 => &[(RanParameterId(3), "Neighbour Relation Table")],
        _ => &[],
    }
}

/// An action of a subscription.
#[derive(Debug)]
pub(super) struct Subscription {
    pub key: RequestKey,
    pub action: RicActionId,
    pub trigger: Trigger,
    pub service: Service,
    /// For a trigger on UE changes: the index of each condition with the UEs that met it at the latest evaluation.
    pub matches: BTreeSet<(usize, Ue)>,
}

/// The type of a message that was sent or received.
#[derive(Clone, Copy, Debug)]
pub(super) enum MessageType {
    Rrc(RrcMessageId),
    Ni(InterfaceIdentifier, InterfaceMessageId),
}

/// An event trigger.
#[derive(Clone, Debug)]
pub(super) enum Trigger {
    Messages(Vec<MessageCondition>),
    Breakpoint(Breakpoint, Option<EventTriggerUeInfo<'static>>),
    NodeChanges(Vec<NodeCondition>),
    UeChanges(Vec<UeCondition>),
    OnDemand(Option<EventTriggerUeInfo<'static>>),
}

#[derive(Clone, Debug)]
pub(super) struct MessageCondition {
    pub id: RicEventTriggerConditionId,
    pub message: MessageTypeChoice,
    pub direction: Option<MessageDirection>,
    pub ues: Option<EventTriggerUeInfo<'static>>,
    /// The UEs of the whole trigger, for all its conditions.
    pub all_ues: Option<EventTriggerUeInfo<'static>>,
}

#[derive(Clone, Debug)]
pub(super) struct NodeCondition {
    pub id: RicEventTriggerConditionId,
    pub change: E2NodeInfoChangeId,
    /// `None` for all cells.
    pub cells: Option<Vec<Cgi>>,
}

#[derive(Clone, Debug)]
pub(super) struct UeCondition {
    pub id: RicEventTriggerConditionId,
    pub change: UeChange,
    pub ues: Option<EventTriggerUeInfo<'static>>,
}

/// A change of a UE.
#[derive(Clone, Debug)]
pub(super) enum UeChange {
    /// The RRC state changes to one of these.
    EntersState(Vec<RrcState>),
    /// The UE starts to meet these conditions.
    StartsToMeet(RanParameterTesting<'static>),
}

/// The service that an action requests.
#[derive(Debug)]
pub(super) enum Service {
    Report { parameters: Vec<RanParameterId> },
    Insert(Insert),
    Policy { rules: Vec<Rule> },
}

#[derive(Debug)]
pub(super) struct Insert {
    pub indications: Vec<InsertIndication>,
    /// Whether insert style 255 (multiple actions) is used.
    pub is_multiple: bool,
    /// `None` for any UE.
    pub ue: Option<UeId<'static>>,
    pub wait_ms: u32,
    /// Whether the procedure continues if the controller does not answer in time.
    pub continues: bool,
}

/// An insert indication and the parameters that it contains.
#[derive(Debug)]
pub(super) struct InsertIndication {
    pub breakpoint: SupportedBreakpoint,
    pub parameters: Vec<RanParameterId>,
}

#[derive(Debug)]
pub(super) struct Rule {
    pub condition: Option<RanParameterTesting<'static>>,
    pub action: ControlAction,
    pub decision: Option<Decision>,
}

/// Checks that the base station can evaluate the UE conditions of a trigger.
fn ues_of<S: RcSource>(
    source: &S,
    ues: Option<EventTriggerUeInfo<'static>>,
) -> Result<Option<EventTriggerUeInfo<'static>>, Cause> {
    match ues {
        Some(ues) if !conditions::can_select(source, &ues) => Err(TRIGGER_NOT_SUPPORTED),
        ues => Ok(ues),
    }
}

/// The cell IDs of a trigger; groups of cells are not supported.
fn cells_of(cells: EventTriggerCellInfo<'static>) -> Result<Vec<Cgi>, Cause> {
    let cell = |item: &e2sm::rc::EventTriggerCellInfoItem<'_>| match &item.cell_type {
        EventTriggerCellType::Individual(cell) => Ok(cell.cell_global_id),
        EventTriggerCellType::Group(_) => Err(TRIGGER_NOT_SUPPORTED),
    };
    cells.cell_info_list.iter().map(cell).collect()
}

impl Trigger {
    /// Decodes an event trigger, and refuses events that the base station does not report.
    pub(super) fn new<S: RcSource>(source: &S, config: &RcConfig, bytes: &[u8]) -> Result<Self, Cause> {
        let arena = Arena::new();
        let trigger = EventTrigger::decode_in(bytes, config.revision, config.wire, &arena)
            .map_err(undecodable("event trigger definition"))?
            .into_owned();
        let require = |kind| source.event_kinds().contains(&kind).then_some(()).ok_or(TRIGGER_NOT_SUPPORTED);
        match trigger.formats {
            EventTriggerFormats::Format1(format) => {
                let all_ues = ues_of(source, format.global_associated_ue_info)?;
                let condition = |item: &e2sm::rc::EventTriggerFormat1Item<'static>| {
                    require(match item.message_type {
                        MessageTypeChoice::Ni(_) => EventKind::NiMessages,
                        MessageTypeChoice::Rrc(_) => EventKind::RrcMessages,
                    })?;
                    if item.associated_ue_event.is_some() {
                        return Err(TRIGGER_NOT_SUPPORTED);
                    }
                    Ok(MessageCondition {
                        id: item.ric_event_trigger_condition_id,
                        message: item.message_type,
                        direction: item.message_direction,
                        ues: ues_of(source, item.associated_ue_info.clone())?,
                        all_ues: all_ues.clone(),
                    })
                };
                format.message_list.iter().map(condition).collect::<Result<_, _>>().map(Trigger::Messages)
            }
            EventTriggerFormats::Format2(format) => {
                let breakpoint = Breakpoint {
                    call_process_type: format.ric_call_process_type_id.0,
                    breakpoint: format.ric_call_process_breakpoint_id.0,
                };
                let is_known = source.breakpoints().iter().any(|known| known.breakpoint == breakpoint);
                if !is_known || format.associated_e2_node_info.is_some() {
                    return Err(TRIGGER_NOT_SUPPORTED);
                }
                Ok(Trigger::Breakpoint(breakpoint, ues_of(source, format.associated_ue_info)?))
            }
            EventTriggerFormats::Format3(format) => {
                require(EventKind::NodeChanges)?;
                let condition = |item: &e2sm::rc::EventTriggerFormat3Item<'static>| {
                    Ok(NodeCondition {
                        id: item.ric_event_trigger_condition_id,
                        change: item.e2_node_info_change_id,
                        cells: item.associated_cell_info.clone().map(cells_of).transpose()?,
                    })
                };
                let conditions = format.e2_node_info_change_list.iter().map(condition);
                conditions.collect::<Result<_, Cause>>().map(Trigger::NodeChanges)
            }
            EventTriggerFormats::Format4(format) => {
                let tests = format.ue_info_change_list.iter().map(|item| match &item.trigger_type {
                    TriggerTypeChoice::L2State(l2) => l2.associated_l2_variables.0.len(),
                    TriggerTypeChoice::UeContext(context) => context.associated_ue_ctxt_variables.0.len(),
                    _ => 1,
                });
                if tests.sum::<usize>() > MAX_TESTS {
                    return Err(RESOURCE_LIMIT);
                }
                let meets = |testing: &RanParameterTesting<'static>, is_known: fn(&SupportedParameter) -> bool| {
                    let can_evaluate = conditions::can_evaluate(source, testing, is_known);
                    can_evaluate.then(|| UeChange::StartsToMeet(testing.clone())).ok_or(TRIGGER_NOT_SUPPORTED)
                };
                let condition = |item: &e2sm::rc::EventTriggerFormat4Item<'static>| {
                    let change = match &item.trigger_type {
                        TriggerTypeChoice::RrcState(states) => {
                            require(EventKind::RrcStates)?;
                            UeChange::EntersState(
                                states.rrc_state_list.iter().map(|item| item.state_changed_to).collect(),
                            )
                        }
                        TriggerTypeChoice::L2State(l2) => meets(&l2.associated_l2_variables, |known| known.is_layer_2)?,
                        TriggerTypeChoice::UeContext(context) => {
                            meets(&context.associated_ue_ctxt_variables, |known| !known.is_layer_2)?
                        }
                        // the source does not report changes of UE IDs and MIMO modes
                        TriggerTypeChoice::UeId(_) | TriggerTypeChoice::L2MacSchChg(_) => {
                            return Err(TRIGGER_NOT_SUPPORTED);
                        }
                    };
                    let ues = ues_of(source, item.associated_ue_info.clone())?;
                    Ok(UeCondition { id: item.ric_event_trigger_condition_id, change, ues })
                };
                let conditions = format.ue_info_change_list.iter().map(condition);
                conditions.collect::<Result<_, _>>().map(Trigger::UeChanges)
            }
            EventTriggerFormats::Format5(_) if !config.offer.on_demand_reports => Err(TRIGGER_NOT_SUPPORTED),
            EventTriggerFormats::Format5(format) => Ok(Trigger::OnDemand(ues_of(source, format.associated_ue_info)?)),
            EventTriggerFormats::Unused5 => Err(TRIGGER_NOT_SUPPORTED),
        }
    }

    /// Whether it has conditions that must be evaluated periodically.
    pub(super) fn has_conditions(&self) -> bool {
        let meets = |condition: &UeCondition| matches!(condition.change, UeChange::StartsToMeet(_));
        matches!(self, Trigger::UeChanges(conditions) if conditions.iter().any(meets))
    }

    /// The event trigger style, which is also the style of its reports.
    fn style(&self) -> i64 {
        match self {
            Trigger::Messages(_) => 1,
            Trigger::Breakpoint(..) => 2,
            Trigger::NodeChanges(_) => 3,
            Trigger::UeChanges(_) => 4,
            Trigger::OnDemand(_) => 5,
        }
    }
}

impl MessageCondition {
    /// Whether the condition selects a message of this type.
    pub fn matches(&self, message: &MessageType) -> bool {
        match (&self.message, message) {
            (MessageTypeChoice::Rrc(selected), MessageType::Rrc(id)) => selected.rrc_message == *id,
            (MessageTypeChoice::Ni(selected), MessageType::Ni(interface, id)) => {
                let MessageTypeNi { ni_type, ni_identifier, ni_message } = selected;
                *ni_type == interface_type(interface)
                    && ni_identifier.is_none_or(|selected| selected == *interface)
                    && ni_message.is_none_or(|selected| selected == *id)
            }
            _ => false,
        }
    }
}

fn interface_type(interface: &InterfaceIdentifier) -> InterfaceType {
    match interface {
        InterfaceIdentifier::Ng(_) => InterfaceType::Ng,
        InterfaceIdentifier::Xn(_) => InterfaceType::Xn,
        InterfaceIdentifier::F1(_) => InterfaceType::F1,
        InterfaceIdentifier::E1(_) => InterfaceType::E1,
        InterfaceIdentifier::S1(_) => InterfaceType::S1,
        InterfaceIdentifier::X2(_) => InterfaceType::X2,
        InterfaceIdentifier::W1(_) => InterfaceType::W1,
    }
}

impl Subscription {
    /// Decodes an action definition, and refuses services that the base station does not support.
    pub(super) fn new<S: RcSource>(
        source: &S,
        config: &RcConfig,
        key: RequestKey,
        trigger: &Trigger,
        requested: &Action,
    ) -> Result<Self, Cause> {
        let definition = requested.definition.as_deref().ok_or(SEMANTIC_ERROR)?;
        let arena = Arena::new();
        let definition = ActionDefinition::decode_in(definition, config.revision, config.wire, &arena)
            .map_err(undecodable("action definition"))?
            .into_owned();
        let style = definition.ric_style_type.0;
        let service = match (requested.kind, definition.formats, trigger) {
            (RicActionType::Report, ActionDefinitionFormats::Format1(format), trigger) => {
                if style != trigger.style() || !definition::report_styles(source, config).contains(&style) {
                    return Err(ACTION_NOT_SUPPORTED);
                }
                let parameters = ids(&format.to_be_reported_list);
                let is_known = |id: &RanParameterId| {
                    config.offer.report_parameters(style).iter().any(|(known, _)| known == id)
                        || style == 4 && source.ue_parameters().iter().any(|known| known.id == *id)
                };
                if !parameters.iter().all(is_known) {
                    return Err(ACTION_NOT_SUPPORTED);
                }
                Service::Report { parameters }
            }
            (RicActionType::Insert, ActionDefinitionFormats::Format3(format), Trigger::Breakpoint(breakpoint, _)) => {
                let id = format.ric_insert_indication_id.0;
                let indication = insert_indication(source, *breakpoint, style, id, &format.insert_indication_list)?;
                Service::Insert(Insert::new(config, vec![indication], false, format.ue_id, requested))
            }
            (RicActionType::Insert, ActionDefinitionFormats::Format4(format), Trigger::Breakpoint(breakpoint, _))
                if style == MULTIPLE_ACTIONS =>
            {
                let mut indications = Vec::new();
                for item in &format.insert_style_list {
                    for indication in &item.insert_indication_list {
                        let (style, id) = (item.requested_insert_style_type.0, indication.ric_insert_indication_id.0);
                        let parameters = &indication.insert_indication_list;
                        indications.push(insert_indication(source, *breakpoint, style, id, parameters)?);
                    }
                }
                Service::Insert(Insert::new(config, indications, true, format.ue_id, requested))
            }
            (RicActionType::Policy, ActionDefinitionFormats::Format2(format), Trigger::Breakpoint(..)) => {
                let rules = format.policy_conditions_list.iter().map(|item| rule(source, style, item));
                Service::Policy { rules: rules.collect::<Result<_, _>>()? }
            }
            _ => return Err(ACTION_NOT_SUPPORTED),
        };
        Ok(Subscription { key, action: requested.id, trigger: trigger.clone(), service, matches: BTreeSet::new() })
    }

    /// The index of each condition of a trigger on UE changes, with the UEs that meet it.
    pub(super) fn current_matches<S: RcSource>(&self, source: &S, views: &Views) -> BTreeSet<(usize, Ue)> {
        let Trigger::UeChanges(conditions) = &self.trigger else { return BTreeSet::new() };
        let visible = ues::visible(source, views, self.key.controller);
        let mut matches = BTreeSet::new();
        for (index, condition) in conditions.iter().enumerate() {
            let UeChange::StartsToMeet(testing) = &condition.change else { continue };
            let is_match = |ue: &Ue| {
                conditions::hold(source, *ue, testing)
                    && condition.ues.as_ref().is_none_or(|ues| conditions::selects(source, *ue, ues))
            };
            matches.extend(visible.iter().copied().filter(is_match).map(|ue| (index, ue)));
        }
        matches
    }
}

impl Insert {
    fn new(
        config: &RcConfig,
        indications: Vec<InsertIndication>,
        is_multiple: bool,
        ue: Option<UeId<'static>>,
        requested: &Action,
    ) -> Self {
        let subsequent = requested.subsequent;
        Insert {
            indications,
            is_multiple,
            ue,
            wait_ms: subsequent.map_or(config.default_wait_ms, |s| s.time_to_wait.milliseconds()),
            continues: subsequent.is_none_or(|s| s.kind == RicSubsequentActionType::Continue),
        }
    }
}

fn ids(parameters: &[WantedRanParameter<'_>]) -> Vec<RanParameterId> {
    parameters.iter().map(|item| item.ran_parameter_id).collect()
}

/// An insert indication that the base station supports at this breakpoint.
fn insert_indication<S: RcSource>(
    source: &S,
    breakpoint: Breakpoint,
    style: i64,
    indication: u16,
    parameters: &[WantedRanParameter<'_>],
) -> Result<InsertIndication, Cause> {
    let matches = |known: &&SupportedBreakpoint| {
        known.breakpoint == breakpoint && (known.insert.style, known.insert.indication) == (style, indication)
    };
    let breakpoint = source.breakpoints().iter().find(matches).ok_or(ACTION_NOT_SUPPORTED)?.clone();
    Ok(InsertIndication { breakpoint, parameters: ids(parameters) })
}

fn rule<S: RcSource>(
    source: &S,
    style: i64,
    item: &e2sm::rc::ActionDefinitionFormat2Item<'static>,
) -> Result<Rule, Cause> {
    let id = ActionId::new(style, item.policy_action.policy_action_id.0);
    let condition = item.policy_condition_definition.clone();
    let can_evaluate = condition.as_ref().is_none_or(|testing| conditions::can_evaluate(source, testing, |_| true));
    if !source.policy_actions().contains(&id) || !can_evaluate {
        return Err(ACTION_NOT_SUPPORTED);
    }
    let parameters = item.policy_action.ran_parameters_list.as_deref().unwrap_or_default();
    let decision = item.policy_action.policy_decision;
    // a decision may omit the parameters of the action that the procedure requests
    let action = if parameters.is_empty() && decision.is_some() {
        ControlAction::Other(OtherAction { id, parameters: Vec::new() })
    } else {
        ControlAction::from_parameters(id, parameters).map_err(|error| {
            debug!(%error, "cannot decode the parameters of a policy action");
            Cause::RicRequest(CauseRicRequest::InconsistentActionSubsequentActionSequence)
        })?
    };
    Ok(Rule { condition, action, decision })
}

/// The time at which a suspended procedure resumes by default.
pub(super) fn deadline(now: Time, wait_ms: u32) -> Time {
    now + std::time::Duration::from_millis(wait_ms.into())
}
