//! Subscriptions: event triggers and action definitions, read and checked.

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
use ferric::agent::{RequestKey, Ue};
use ferric::e2::{Action, Time};
use ferric::e2ap::{Cause, CauseProtocol, CauseRicRequest, RicActionId, RicActionType, RicSubsequentActionType};
use per::IntoOwned;
use tracing::debug;

use super::{EventKind, RcConfig, RcSource, SupportedBreakpoint, SupportedParameter, conditions, definition};

/// Tests of UEs in a trigger, each of which is made again and again.
const MAX_TESTS: usize = 64;

/// What can be reported by a style: the parameters that a function fills in whatever the base station.
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

/// An action that is set up.
#[derive(Debug)]
pub(super) struct Subscription {
    pub key: RequestKey,
    pub action: RicActionId,
    pub trigger: Trigger,
    pub what: What,
    /// Of a trigger on UEs: the conditions, by their places, and the UEs that meet them.
    pub met: BTreeSet<(usize, Ue)>,
}

/// A message that has come or gone.
#[derive(Clone, Copy, Debug)]
pub(super) enum Copied {
    Rrc(RrcMessageId),
    Ni(InterfaceIdentifier, InterfaceMessageId),
}

/// When.
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
    /// Those of the whole trigger.
    pub all_ues: Option<EventTriggerUeInfo<'static>>,
}

#[derive(Clone, Debug)]
pub(super) struct NodeCondition {
    pub id: RicEventTriggerConditionId,
    pub change: E2NodeInfoChangeId,
    /// All cells where none is named.
    pub cells: Option<Vec<Cgi>>,
}

#[derive(Clone, Debug)]
pub(super) struct UeCondition {
    pub id: RicEventTriggerConditionId,
    pub change: UeChange,
    pub ues: Option<EventTriggerUeInfo<'static>>,
}

/// What changes of a UE.
#[derive(Clone, Debug)]
pub(super) enum UeChange {
    /// It comes to one of these states.
    Comes(Vec<RrcState>),
    /// It comes to meet these conditions.
    Meets(RanParameterTesting<'static>),
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
    pub questions: Vec<Question>,
    /// Whether they are asked as several (insert style 255).
    pub is_several: bool,
    /// Any UE where none is named.
    pub ue: Option<UeId<'static>>,
    pub wait_ms: u32,
    /// Whether the procedure goes on when nobody has answered in time.
    pub goes_on: bool,
}

/// What is asked, and what is told with it.
#[derive(Debug)]
pub(super) struct Question {
    pub offer: SupportedBreakpoint,
    pub wanted: Vec<RanParameterId>,
}

#[derive(Debug)]
pub(super) struct Rule {
    pub condition: Option<RanParameterTesting<'static>>,
    pub action: ControlAction,
    pub decision: Option<Decision>,
}

const NOT_SUPPORTED: Cause = Cause::RicRequest(CauseRicRequest::ActionNotSupported);
pub(super) const TOO_MUCH: Cause = Cause::RicRequest(CauseRicRequest::FunctionResourceLimit);
const NO_SUCH_TRIGGER: Cause = Cause::RicRequest(CauseRicRequest::EventTriggerNotSupported);

fn unreadable(what: &'static str) -> impl Fn(e2sm::Error) -> Cause {
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
        let arena = Arena::new();
        let trigger = EventTrigger::decode_in(bytes, config.revision, config.wire, &arena)
            .map_err(unreadable("event trigger"))?
            .into_owned();
        let happens = |happening| source.event_kinds().contains(&happening).then_some(()).ok_or(NO_SUCH_TRIGGER);
        match trigger.formats {
            EventTriggerFormats::Format1(format) => {
                let all_ues = ues_of(source, format.global_associated_ue_info)?;
                let condition = |item: &e2sm::rc::EventTriggerFormat1Item<'static>| {
                    happens(match item.message_type {
                        MessageTypeChoice::Ni(_) => EventKind::NiMessages,
                        MessageTypeChoice::Rrc(_) => EventKind::RrcMessages,
                    })?;
                    if item.associated_ue_event.is_some() {
                        return Err(NO_SUCH_TRIGGER);
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
                let is_known = source.breakpoints().iter().any(|offer| offer.breakpoint == breakpoint);
                if !is_known || format.associated_e2_node_info.is_some() {
                    return Err(NO_SUCH_TRIGGER);
                }
                Ok(Trigger::Breakpoint(breakpoint, ues_of(source, format.associated_ue_info)?))
            }
            EventTriggerFormats::Format3(format) => {
                happens(EventKind::NodeChanges)?;
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
                    return Err(TOO_MUCH);
                }
                let meets = |testing: &RanParameterTesting<'static>, is_known: fn(&SupportedParameter) -> bool| {
                    let can_answer = conditions::can_answer(source, testing, is_known);
                    can_answer.then(|| UeChange::Meets(testing.clone())).ok_or(NO_SUCH_TRIGGER)
                };
                let condition = |item: &e2sm::rc::EventTriggerFormat4Item<'static>| {
                    let change = match &item.trigger_type {
                        TriggerTypeChoice::RrcState(states) => {
                            happens(EventKind::RrcStates)?;
                            UeChange::Comes(states.rrc_state_list.iter().map(|item| item.state_changed_to).collect())
                        }
                        TriggerTypeChoice::L2State(l2) => meets(&l2.associated_l2_variables, |offer| offer.is_layer_2)?,
                        TriggerTypeChoice::UeContext(context) => {
                            meets(&context.associated_ue_ctxt_variables, |offer| !offer.is_layer_2)?
                        }
                        // of a UE's names, and of how it is sent to, nobody is told
                        TriggerTypeChoice::UeId(_) | TriggerTypeChoice::L2MacSchChg(_) => return Err(NO_SUCH_TRIGGER),
                    };
                    let ues = ues_of(source, item.associated_ue_info.clone())?;
                    Ok(UeCondition { id: item.ric_event_trigger_condition_id, change, ues })
                };
                let conditions = format.ue_info_change_list.iter().map(condition);
                conditions.collect::<Result<_, _>>().map(Trigger::UeChanges)
            }
            EventTriggerFormats::Format5(format) => Ok(Trigger::OnDemand(ues_of(source, format.associated_ue_info)?)),
            EventTriggerFormats::Unused5 => Err(NO_SUCH_TRIGGER),
        }
    }

    /// Whether it has conditions that UEs may come to meet.
    pub(super) fn has_conditions(&self) -> bool {
        let meets = |condition: &UeCondition| matches!(condition.change, UeChange::Meets(_));
        matches!(self, Trigger::UeChanges(conditions) if conditions.iter().any(meets))
    }

    /// The style, which is that of the reports that go with it.
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
    /// Whether a message of RRC or of an interface is meant.
    pub fn is_of(&self, message: &Copied) -> bool {
        match (&self.message, message) {
            (MessageTypeChoice::Rrc(wanted), Copied::Rrc(id)) => wanted.rrc_message == *id,
            (MessageTypeChoice::Ni(wanted), Copied::Ni(interface, id)) => {
                let MessageTypeNi { ni_type, ni_identifier, ni_message } = wanted;
                *ni_type == kind(interface)
                    && ni_identifier.is_none_or(|wanted| wanted == *interface)
                    && ni_message.is_none_or(|wanted| wanted == *id)
            }
            _ => false,
        }
    }
}

fn kind(interface: &InterfaceIdentifier) -> InterfaceType {
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
    /// Reads an action definition, and refuses what the base station cannot do.
    pub(super) fn new<S: RcSource>(
        source: &S,
        config: &RcConfig,
        key: RequestKey,
        trigger: &Trigger,
        wanted: &Action,
    ) -> Result<Self, Cause> {
        let definition = wanted.definition.as_deref().ok_or(Cause::Protocol(CauseProtocol::SemanticError))?;
        let arena = Arena::new();
        let definition = ActionDefinition::decode_in(definition, config.revision, config.wire, &arena)
            .map_err(unreadable("action definition"))?
            .into_owned();
        let style = definition.ric_style_type.0;
        let what = match (wanted.kind, definition.formats, trigger) {
            (RicActionType::Report, ActionDefinitionFormats::Format1(format), trigger) => {
                if style != trigger.style() || !definition::report_styles(source, config).contains(&style) {
                    return Err(NOT_SUPPORTED);
                }
                let wanted = ids(&format.to_be_reported_list);
                let is_known = |id: &RanParameterId| {
                    reportable(style).iter().any(|(known, _)| known == id)
                        || style == 4 && source.ue_parameters().iter().any(|offer| offer.id == *id)
                };
                if !wanted.iter().all(is_known) {
                    return Err(NOT_SUPPORTED);
                }
                What::Report { wanted }
            }
            (RicActionType::Insert, ActionDefinitionFormats::Format3(format), Trigger::Breakpoint(breakpoint, _)) => {
                let id = format.ric_insert_indication_id.0;
                let question = question(source, *breakpoint, style, id, &format.insert_indication_list)?;
                What::Insert(Insert::new(config, vec![question], false, format.ue_id, wanted))
            }
            (RicActionType::Insert, ActionDefinitionFormats::Format4(format), Trigger::Breakpoint(breakpoint, _))
                if style == MULTIPLE_ACTIONS =>
            {
                let mut questions = Vec::new();
                for item in &format.insert_style_list {
                    for asked in &item.insert_indication_list {
                        let (style, id) = (item.requested_insert_style_type.0, asked.ric_insert_indication_id.0);
                        let wanted = &asked.insert_indication_list;
                        questions.push(question(source, *breakpoint, style, id, wanted)?);
                    }
                }
                What::Insert(Insert::new(config, questions, true, format.ue_id, wanted))
            }
            (RicActionType::Policy, ActionDefinitionFormats::Format2(format), Trigger::Breakpoint(..)) => {
                let rules = format.policy_conditions_list.iter().map(|item| rule(source, style, item));
                What::Policy { rules: rules.collect::<Result<_, _>>()? }
            }
            _ => return Err(NOT_SUPPORTED),
        };
        Ok(Subscription { key, action: wanted.id, trigger: trigger.clone(), what, met: BTreeSet::new() })
    }
}

impl Insert {
    fn new(
        config: &RcConfig,
        questions: Vec<Question>,
        is_several: bool,
        ue: Option<UeId<'static>>,
        wanted: &Action,
    ) -> Self {
        let subsequent = wanted.subsequent;
        Insert {
            questions,
            is_several,
            ue,
            wait_ms: subsequent.map_or(config.default_wait_ms, |s| s.time_to_wait.milliseconds()),
            goes_on: subsequent.is_none_or(|s| s.kind == RicSubsequentActionType::Continue),
        }
    }
}

fn ids(wanted: &[WantedRanParameter<'_>]) -> Vec<RanParameterId> {
    wanted.iter().map(|item| item.ran_parameter_id).collect()
}

/// A question that the base station offers at that point.
fn question<S: RcSource>(
    source: &S,
    breakpoint: Breakpoint,
    style: i64,
    indication: u16,
    wanted: &[WantedRanParameter<'_>],
) -> Result<Question, Cause> {
    let is_meant = |offer: &&SupportedBreakpoint| {
        offer.breakpoint == breakpoint && (offer.insert.style, offer.insert.indication) == (style, indication)
    };
    let offer = *source.breakpoints().iter().find(is_meant).ok_or(NOT_SUPPORTED)?;
    Ok(Question { offer, wanted: ids(wanted) })
}

fn rule<S: RcSource>(
    source: &S,
    style: i64,
    item: &e2sm::rc::ActionDefinitionFormat2Item<'static>,
) -> Result<Rule, Cause> {
    let id = ActionId::new(style, item.policy_action.policy_action_id.0);
    let condition = item.policy_condition_definition.clone();
    let can_answer = condition.as_ref().is_none_or(|testing| conditions::can_answer(source, testing, |_| true));
    if !source.policy_actions().contains(&id) || !can_answer {
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
