//! Subscriptions: event triggers and action definitions, read and checked.

use e2sm::common::{Cgi, RrcMessageId, UeId};
use e2sm::rc::dictionary::{self, Breakpoint};
use e2sm::rc::{
    ActionDefinition, ActionDefinitionFormats, ActionId, ControlAction, Decision, EventTrigger, EventTriggerCellInfo,
    EventTriggerCellType, EventTriggerFormats, EventTriggerUeInfo, MessageDirection, MessageTypeChoice, OtherAction,
    RanParameterId, RanParameterTesting, RicEventTriggerConditionId, RrcState, TriggerTypeChoice,
};
use ferric::agent::RequestKey;
use ferric::e2::{Action, Time};
use ferric::e2ap::{Cause, CauseProtocol, CauseRicRequest, RicActionId, RicActionType, RicSubsequentActionType};
use tracing::debug;

use super::{BreakpointOffer, Happening, RcConfig, RcSource, conditions, definition};

/// What can be reported by a style: the parameters that a function fills in whatever the base station.
pub(super) const fn reportable(style: i64) -> &'static [(RanParameterId, &'static str)] {
    use dictionary::{call_process_outcome, message_copy, node_information, ue_information};
    match style {
        1 => &[
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

/// An action that is set up.
#[derive(Debug)]
pub(super) struct Subscription {
    pub key: RequestKey,
    pub action: RicActionId,
    pub trigger: Trigger,
    pub what: What,
}

/// When.
#[derive(Clone, Debug)]
pub(super) enum Trigger {
    Messages(Vec<MessageCondition>),
    Breakpoint(Breakpoint, Option<EventTriggerUeInfo<'static>>),
    NodeChanges(Vec<NodeCondition>),
    RrcStates(Vec<StateCondition>),
    OnDemand(Option<EventTriggerUeInfo<'static>>),
}

#[derive(Clone, Debug)]
pub(super) struct MessageCondition {
    pub id: RicEventTriggerConditionId,
    pub message: RrcMessageId,
    pub direction: Option<MessageDirection>,
    pub ues: Option<EventTriggerUeInfo<'static>>,
    /// Those of the whole trigger.
    pub all_ues: Option<EventTriggerUeInfo<'static>>,
}

#[derive(Clone, Debug)]
pub(super) struct NodeCondition {
    pub id: RicEventTriggerConditionId,
    pub change: u16,
    /// All cells where none is named.
    pub cells: Option<Vec<Cgi>>,
}

#[derive(Clone, Debug)]
pub(super) struct StateCondition {
    pub id: RicEventTriggerConditionId,
    pub states: Vec<RrcState>,
    pub ues: Option<EventTriggerUeInfo<'static>>,
}

/// What is done then.
#[derive(Debug)]
pub(super) enum What {
    Report { wanted: Vec<RanParameterId> },
    Insert(Insert),
    Policy { rules: Vec<Rule> },
}

#[derive(Debug)]
pub(super) struct Insert {
    pub offer: BreakpointOffer,
    pub wanted: Vec<RanParameterId>,
    /// Any UE where none is named.
    pub ue: Option<UeId<'static>>,
    pub wait_ms: u32,
    /// Whether the procedure goes on when nobody has answered in time.
    pub goes_on: bool,
}

#[derive(Debug)]
pub(super) struct Rule {
    pub condition: Option<RanParameterTesting<'static>>,
    pub action: ControlAction,
    pub decision: Option<Decision>,
}

const NOT_SUPPORTED: Cause = Cause::RicRequest(CauseRicRequest::ActionNotSupported);
const NO_SUCH_TRIGGER: Cause = Cause::RicRequest(CauseRicRequest::EventTriggerNotSupported);

fn unreadable(what: &'static str) -> impl Fn(per::Error) -> Cause {
    move |error| {
        debug!(%error, what, "cannot be read");
        Cause::Protocol(CauseProtocol::TransferSyntaxError)
    }
}

/// The UEs of a trigger, where the base station can tell them.
fn ues_of<S: RcSource>(
    source: &S,
    ues: Option<EventTriggerUeInfo<'static>>,
) -> Result<Option<EventTriggerUeInfo<'static>>, Cause> {
    match ues {
        Some(ues) if !conditions::can_select(source, &ues) => Err(NO_SUCH_TRIGGER),
        ues => Ok(ues),
    }
}

/// Cells by their names; groups of cells are not told apart here.
fn cells_of(cells: EventTriggerCellInfo<'static>) -> Result<Vec<Cgi>, Cause> {
    let cell = |item: &e2sm::rc::EventTriggerCellInfoItem<'_>| match &item.cell_type {
        EventTriggerCellType::Individual(cell) => Ok(cell.cell_global_id),
        EventTriggerCellType::Group(_) => Err(NO_SUCH_TRIGGER),
    };
    cells.cell_info_list.iter().map(cell).collect()
}

impl Trigger {
    /// Reads an event trigger, and refuses what the base station never tells of.
    pub(super) fn new<S: RcSource>(source: &S, config: &RcConfig, bytes: &[u8]) -> Result<Self, Cause> {
        let trigger = EventTrigger::decode_owned(bytes, config.revision).map_err(unreadable("event trigger"))?;
        let happens = |happening| source.happenings().contains(&happening).then_some(()).ok_or(NO_SUCH_TRIGGER);
        match trigger.formats {
            EventTriggerFormats::Format1(format) => {
                happens(Happening::RrcMessages)?;
                let all_ues = ues_of(source, format.global_associated_ue_info)?;
                let condition = |item: &e2sm::rc::EventTriggerFormat1Item<'static>| {
                    let MessageTypeChoice::Rrc(rrc) = item.message_type else { return Err(NO_SUCH_TRIGGER) };
                    if item.associated_ue_event.is_some() {
                        return Err(NO_SUCH_TRIGGER);
                    }
                    Ok(MessageCondition {
                        id: item.ric_event_trigger_condition_id,
                        message: rrc.rrc_message,
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
                let is_known = source.breakpoints().iter().any(|offer| offer.breakpoint == breakpoint);
                if !is_known || format.associated_e2_node_info.is_some() {
                    return Err(NO_SUCH_TRIGGER);
                }
                Ok(Trigger::Breakpoint(breakpoint, ues_of(source, format.associated_ue_info)?))
            }
            EventTriggerFormats::Format3(format) => {
                happens(Happening::NodeChanges)?;
                let condition = |item: &e2sm::rc::EventTriggerFormat3Item<'static>| {
                    Ok(NodeCondition {
                        id: item.ric_event_trigger_condition_id,
                        change: item.e2_node_info_change_id.0,
                        cells: item.associated_cell_info.clone().map(cells_of).transpose()?,
                    })
                };
                let conditions = format.e2_node_info_change_list.iter().map(condition);
                conditions.collect::<Result<_, Cause>>().map(Trigger::NodeChanges)
            }
            EventTriggerFormats::Format4(format) => {
                happens(Happening::RrcStates)?;
                let condition = |item: &e2sm::rc::EventTriggerFormat4Item<'static>| {
                    let TriggerTypeChoice::RrcState(states) = &item.trigger_type else { return Err(NO_SUCH_TRIGGER) };
                    Ok(StateCondition {
                        id: item.ric_event_trigger_condition_id,
                        states: states.rrc_state_list.iter().map(|item| item.state_changed_to).collect(),
                        ues: ues_of(source, item.associated_ue_info.clone())?,
                    })
                };
                let conditions = format.ue_info_change_list.iter().map(condition);
                conditions.collect::<Result<_, _>>().map(Trigger::RrcStates)
            }
            EventTriggerFormats::Format5(format) => Ok(Trigger::OnDemand(ues_of(source, format.associated_ue_info)?)),
            EventTriggerFormats::Unused5 => Err(NO_SUCH_TRIGGER),
        }
    }

    /// The style, which is that of the reports that go with it.
    fn style(&self) -> i64 {
        match self {
            Trigger::Messages(_) => 1,
            Trigger::Breakpoint(..) => 2,
            Trigger::NodeChanges(_) => 3,
            Trigger::RrcStates(_) => 4,
            Trigger::OnDemand(_) => 5,
        }
    }
}

impl Subscription {
    /// Reads an action definition, and refuses what the base station cannot do.
    pub(super) fn new<S: RcSource>(
        source: &S,
        config: &RcConfig,
        key: RequestKey,
        trigger: &Trigger,
        wanted: &Action,
    ) -> Result<Self, Cause> {
        let definition = wanted.definition.as_deref().ok_or(Cause::Protocol(CauseProtocol::SemanticError))?;
        let definition =
            ActionDefinition::decode_owned(definition, config.revision).map_err(unreadable("action definition"))?;
        let style = definition.ric_style_type.0;
        let what = match (wanted.kind, definition.formats, trigger) {
            (RicActionType::Report, ActionDefinitionFormats::Format1(format), trigger) => {
                if style != trigger.style() || !definition::report_styles(source, config).contains(&style) {
                    return Err(NOT_SUPPORTED);
                }
                let known = reportable(style);
                let wanted: Vec<_> = format.to_be_reported_list.iter().map(|item| item.ran_parameter_id).collect();
                if wanted.iter().any(|id| known.iter().all(|(known, _)| known != id)) {
                    return Err(NOT_SUPPORTED);
                }
                What::Report { wanted }
            }
            (RicActionType::Insert, ActionDefinitionFormats::Format3(format), Trigger::Breakpoint(breakpoint, _)) => {
                let is_meant = |offer: &&BreakpointOffer| {
                    offer.breakpoint == *breakpoint
                        && (offer.insert.style, offer.insert.indication) == (style, format.ric_insert_indication_id.0)
                };
                let offer = *source.breakpoints().iter().find(is_meant).ok_or(NOT_SUPPORTED)?;
                let subsequent = wanted.subsequent;
                What::Insert(Insert {
                    offer,
                    wanted: format.insert_indication_list.iter().map(|item| item.ran_parameter_id).collect(),
                    ue: format.ue_id,
                    wait_ms: subsequent.map_or(config.default_wait_ms, |s| s.time_to_wait.milliseconds()),
                    goes_on: subsequent.is_none_or(|s| s.kind == RicSubsequentActionType::Continue),
                })
            }
            (RicActionType::Policy, ActionDefinitionFormats::Format2(format), Trigger::Breakpoint(..)) => {
                let rules = format.policy_conditions_list.iter().map(|item| rule(source, style, item));
                What::Policy { rules: rules.collect::<Result<_, _>>()? }
            }
            _ => return Err(NOT_SUPPORTED),
        };
        Ok(Subscription { key, action: wanted.id, trigger: trigger.clone(), what })
    }
}

fn rule<S: RcSource>(
    source: &S,
    style: i64,
    item: &e2sm::rc::ActionDefinitionFormat2Item<'static>,
) -> Result<Rule, Cause> {
    let id = ActionId::new(style, item.policy_action.policy_action_id.0);
    let condition = item.policy_condition_definition.clone();
    let can_answer = condition.as_ref().is_none_or(|testing| conditions::can_answer(source, testing));
    if !source.policies().contains(&id) || !can_answer {
        return Err(NOT_SUPPORTED);
    }
    let parameters = item.policy_action.ran_parameters_list.as_deref().unwrap_or_default();
    let decision = item.policy_action.policy_decision;
    // a decision need not say again what the procedure wants
    let action = if parameters.is_empty() && decision.is_some() {
        ControlAction::Other(OtherAction { id, parameters: Vec::new() })
    } else {
        ControlAction::from_parameters(id, parameters).map_err(|error| {
            debug!(%error, "policy");
            Cause::RicRequest(CauseRicRequest::InconsistentActionSubsequentActionSequence)
        })?
    };
    Ok(Rule { condition, action, decision })
}

/// When an answer is too late.
pub(super) fn deadline(now: Time, wait_ms: u32) -> Time {
    now + std::time::Duration::from_millis(wait_ms.into())
}
