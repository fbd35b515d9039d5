//! Subscriptions to reports, inserts and policies, and the indications that follow, with named fields.

use per::{IntoOwned, List};

use super::dictionary::{self, Breakpoint, MULTIPLE_ACTIONS};
use super::known::ParameterFault;
use super::{
    ActionDefinition, ActionDefinitionFormat1, ActionDefinitionFormat2, ActionDefinitionFormat2Item,
    ActionDefinitionFormat3, ActionDefinitionFormat4, ActionDefinitionFormat4IndicationItem,
    ActionDefinitionFormat4StyleItem, ActionDefinitionFormats, ControlAction, Decision, E2NodeInfoChangeId,
    EventTrigger, EventTriggerFormat1, EventTriggerFormat1Item, EventTriggerFormat2, EventTriggerFormat3,
    EventTriggerFormat3Item, EventTriggerFormat4, EventTriggerFormat4Item, EventTriggerFormat5, EventTriggerFormats,
    Handover, IndicationHeader, IndicationHeaderFormats, IndicationMessage, IndicationMessageFormats, LogicalOr,
    MessageTypeChoice, MessageTypeNi, MessageTypeRrc, ParameterError, RanParameterId, RanParameterTesting,
    RanParameterValue, RanParameterValueType, Revision, RicCallProcessBreakpointId, RicCallProcessTypeId,
    RicEventTriggerConditionId, RicInsertIndicationId, RicPolicyAction, RrcState, TriggerTypeChoice,
    TriggerTypeL2State, TriggerTypeRrcState, TriggerTypeRrcStateItem, TriggerTypeUeContext, WantedRanParameter,
};
use crate::common::{RicStyleType, RrcMessageId, True, UeId};
use crate::{Arena, Error, Wire};

/// An event trigger and an action definition that belong together.
///
/// ```
/// use e2sm::rc::{Plan, Revision, RrcState};
///
/// let plan = Plan::report_rrc_states(&[RrcState::RrcConnected, RrcState::RrcIdle]);
/// let (trigger, action) = plan.encode(Revision::V1_03)?;
/// assert!(!trigger.is_empty() && !action.is_empty());
/// # Ok::<(), per::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The event trigger.
    pub trigger: EventTrigger<'static>,
    /// The action.
    pub action: ActionDefinition<'static>,
}

/// One rule of a policy: a condition and an action.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// The condition; if absent, the rule always applies.
    pub condition: Option<RanParameterTesting<'static>>,
    /// The action.
    pub action: ControlAction,
    /// The decision on the procedure of the UE.
    pub decision: Option<Decision>,
}

impl Plan {
    /// Reports copies of RRC messages with the identity of the UE (report style 1).
    #[must_use]
    pub fn report_rrc_messages(messages: &[RrcMessageId]) -> Self {
        use dictionary::message_copy::{RRC_MESSAGE, UE_ID};
        let kinds = messages.iter().map(|message| MessageTypeChoice::Rrc(MessageTypeRrc { rrc_message: *message }));
        Plan::new(messages_of(kinds), 1, report(&[RRC_MESSAGE, UE_ID]))
    }

    /// Reports copies of messages of network interfaces with the identity of the UE (report style 1).
    #[must_use]
    pub fn report_ni_messages(messages: &[MessageTypeNi]) -> Self {
        use dictionary::message_copy::{NI_MESSAGE, UE_ID};
        let kinds = messages.iter().map(|message| MessageTypeChoice::Ni(*message));
        Plan::new(messages_of(kinds), 1, report(&[NI_MESSAGE, UE_ID]))
    }

    /// Reports the outcome of procedures at a breakpoint: parameters of [`dictionary::call_process_outcome`] (report style
    /// 2).
    #[must_use]
    pub fn report_call_process(breakpoint: Breakpoint, parameters: &[RanParameterId]) -> Self {
        Plan::new(at(breakpoint), 2, report(parameters))
    }

    /// Reports changes of the node and its cells by number: parameters of [`dictionary::node_information`] (report style 3).
    #[must_use]
    pub fn report_node_changes(changes: &[E2NodeInfoChangeId], parameters: &[RanParameterId]) -> Self {
        let conditions = changes.iter().enumerate().map(|(at, change)| EventTriggerFormat3Item {
            ric_event_trigger_condition_id: condition(at),
            e2_node_info_change_id: *change,
            associated_cell_info: None,
            logical_or: Some(LogicalOr::True),
        });
        let e2_node_info_change_list = conditions.collect();
        let trigger = EventTriggerFormats::Format3(EventTriggerFormat3 { e2_node_info_change_list });
        Plan::new(trigger, 3, report(parameters))
    }

    /// Reports the RRC states that UEs enter (report style 4).
    #[must_use]
    pub fn report_rrc_states(states: &[RrcState]) -> Self {
        let items = states
            .iter()
            .map(|state| TriggerTypeRrcStateItem { state_changed_to: *state, logical_or: Some(LogicalOr::True) });
        let states = TriggerTypeChoice::RrcState(TriggerTypeRrcState { rrc_state_list: items.collect() });
        Plan::new(ue_changes(states), 4, report(&[dictionary::ue_information::RRC_STATE_CHANGED_TO]))
    }

    /// Reports UEs that begin to meet conditions on layer 2 variables, with parameters (report style 4).
    #[must_use]
    pub fn report_layer_2(conditions: RanParameterTesting<'static>, parameters: &[RanParameterId]) -> Self {
        let trigger = TriggerTypeChoice::L2State(TriggerTypeL2State { associated_l2_variables: conditions });
        Plan::new(ue_changes(trigger), 4, report(parameters))
    }

    /// Reports UEs whose context begins to meet conditions, with parameters (report style 4, v03.00).
    #[must_use]
    pub fn report_ue_context(conditions: RanParameterTesting<'static>, parameters: &[RanParameterId]) -> Self {
        let trigger = TriggerTypeChoice::UeContext(TriggerTypeUeContext { associated_ue_ctxt_variables: conditions });
        Plan::new(ue_changes(trigger), 4, report(parameters))
    }

    /// Reports the current state of UEs and cells (report style 5, v01.03).
    #[must_use]
    pub fn report_on_demand(parameters: &[RanParameterId]) -> Self {
        let format = EventTriggerFormat5 { on_demand: True, associated_ue_info: None, associated_cell_info: None };
        Plan::new(EventTriggerFormats::Format5(format), 5, report(parameters))
    }

    /// Suspends a procedure at a breakpoint and requests a decision: an indication of an insert style, with parameters.
    #[must_use]
    pub fn insert(
        breakpoint: Breakpoint,
        style: i64,
        indication: RicInsertIndicationId,
        parameters: &[RanParameterId],
        ue_id: Option<UeId<'static>>,
    ) -> Self {
        let format = ActionDefinitionFormat3 {
            ric_insert_indication_id: indication,
            insert_indication_list: wanted(parameters),
            ue_id,
        };
        Plan::new(at(breakpoint), style, ActionDefinitionFormats::Format3(format))
    }

    /// Requests a decision before each handover (insert style 3, indication 1).
    #[must_use]
    pub fn insert_handover(ue_id: Option<UeId<'static>>) -> Self {
        let target = RanParameterId(1);
        Plan::insert(dictionary::HANDOVER_PREPARATION, 3, RicInsertIndicationId(1), &[target], ue_id)
    }

    /// Suspends a procedure and requests several decisions at a time (insert style 255): each is an indication of a style,
    /// with parameters. Indications of the same style are grouped.
    #[must_use]
    pub fn insert_several(
        breakpoint: Breakpoint,
        questions: &[(i64, RicInsertIndicationId, &[RanParameterId])],
        ue_id: Option<UeId<'static>>,
    ) -> Self {
        let question = |(_, id, parameters): &(i64, RicInsertIndicationId, &[RanParameterId])| {
            ActionDefinitionFormat4IndicationItem {
                ric_insert_indication_id: *id,
                insert_indication_list: wanted(parameters),
            }
        };
        let styles = questions.chunk_by(|a, b| a.0 == b.0).map(|of_style| ActionDefinitionFormat4StyleItem {
            requested_insert_style_type: RicStyleType(of_style[0].0),
            insert_indication_list: of_style.iter().map(question).collect(),
        });
        let format = ActionDefinitionFormat4 { insert_style_list: styles.collect(), ue_id };
        Plan::new(at(breakpoint), MULTIPLE_ACTIONS, ActionDefinitionFormats::Format4(format))
    }

    /// Installs a policy at a breakpoint of a procedure. All rules are of one style; the first whose condition holds
    /// applies.
    #[must_use]
    pub fn policy(breakpoint: Breakpoint, style: i64, rules: &[Rule]) -> Self {
        Plan::new(at(breakpoint), style, ActionDefinitionFormats::Format2(policy(rules)))
    }

    fn new(trigger: EventTriggerFormats<'static>, style: i64, action: ActionDefinitionFormats<'static>) -> Self {
        Plan {
            trigger: EventTrigger { formats: trigger },
            action: ActionDefinition { ric_style_type: RicStyleType(style), formats: action },
        }
    }

    /// Encodes event trigger and action definition.
    ///
    /// # Errors
    /// The revision has no such subscription, or a list in it is empty.
    pub fn encode(&self, revision: Revision) -> Result<(Vec<u8>, Vec<u8>), per::Error> {
        let (mut trigger, mut action) = (Vec::new(), Vec::new());
        self.trigger.encode(revision, &mut trigger)?;
        self.action.encode(revision, &mut action)?;
        Ok((trigger, action))
    }

    /// As [`Plan::encode`], in any encoding.
    ///
    /// # Errors
    /// As [`Plan::encode`]; [`Error::NotInWire`].
    pub fn encode_in(&self, revision: Revision, wire: Wire) -> Result<(Vec<u8>, Vec<u8>), Error> {
        let (mut trigger, mut action) = (Vec::new(), Vec::new());
        self.trigger.encode_in(revision, wire, &mut trigger)?;
        self.action.encode_in(revision, wire, &mut action)?;
        Ok((trigger, action))
    }
}

fn condition(at: usize) -> RicEventTriggerConditionId {
    // the encoder refuses lists that are too long
    RicEventTriggerConditionId(u16::try_from(at + 1).unwrap_or(u16::MAX))
}

fn messages_of(kinds: impl Iterator<Item = MessageTypeChoice>) -> EventTriggerFormats<'static> {
    let item = |(at, message_type)| EventTriggerFormat1Item {
        ric_event_trigger_condition_id: condition(at),
        message_type,
        message_direction: None,
        associated_ue_info: None,
        associated_ue_event: None,
        logical_or: Some(LogicalOr::True),
    };
    let message_list = kinds.enumerate().map(item).collect();
    EventTriggerFormats::Format1(EventTriggerFormat1 { message_list, global_associated_ue_info: None })
}

fn ue_changes(trigger_type: TriggerTypeChoice<'static>) -> EventTriggerFormats<'static> {
    let item = EventTriggerFormat4Item {
        ric_event_trigger_condition_id: condition(0),
        trigger_type,
        associated_ue_info: None,
        logical_or: None,
    };
    EventTriggerFormats::Format4(EventTriggerFormat4 { ue_info_change_list: List::from(vec![item]) })
}

fn at(breakpoint: Breakpoint) -> EventTriggerFormats<'static> {
    EventTriggerFormats::Format2(EventTriggerFormat2 {
        ric_call_process_type_id: RicCallProcessTypeId(breakpoint.call_process_type),
        ric_call_process_breakpoint_id: RicCallProcessBreakpointId(breakpoint.breakpoint),
        associated_e2_node_info: None,
        associated_ue_info: None,
    })
}

fn wanted(parameters: &[RanParameterId]) -> List<'static, WantedRanParameter<'static>> {
    let wanted = |id: &RanParameterId| WantedRanParameter { ran_parameter_id: *id, ran_parameter_definition: None };
    parameters.iter().map(wanted).collect()
}

fn report(parameters: &[RanParameterId]) -> ActionDefinitionFormats<'static> {
    ActionDefinitionFormats::Format1(ActionDefinitionFormat1 { to_be_reported_list: wanted(parameters) })
}

fn policy(rules: &[Rule]) -> ActionDefinitionFormat2<'static> {
    let item = |rule: &Rule| {
        let parameters = rule.action.to_parameters();
        ActionDefinitionFormat2Item {
            policy_action: RicPolicyAction {
                policy_action_id: rule.action.id().action,
                ran_parameters_list: (!parameters.is_empty()).then(|| List::from(parameters)),
                policy_decision: rule.decision,
            },
            policy_condition_definition: rule.condition.clone(),
        }
    };
    ActionDefinitionFormat2 { policy_conditions_list: rules.iter().map(item).collect() }
}

/// A handover that waits for a decision (insert style 3, indication 1, alone or among several in style 255).
#[derive(Clone, Debug, PartialEq)]
pub struct HandoverRequest {
    /// The UE.
    pub ue_id: UeId<'static>,
    /// The target cell.
    pub handover: Handover,
}

impl HandoverRequest {
    /// Decodes an insert indication; `None` if it concerns something else.
    ///
    /// # Errors
    /// [`Error::Codec`], [`Error::Parameter`].
    pub fn decode(header: &[u8], message: &[u8], revision: Revision) -> Result<Option<Self>, Error> {
        HandoverRequest::decode_in(header, message, revision, Wire::Per)
    }

    /// As [`HandoverRequest::decode`], in any encoding.
    ///
    /// # Errors
    /// As [`HandoverRequest::decode`]; [`Error::NotInWire`].
    pub fn decode_in(header: &[u8], message: &[u8], revision: Revision, wire: Wire) -> Result<Option<Self>, Error> {
        let arena = Arena::new();
        let header = IndicationHeader::decode_in(header, revision, wire, &arena)?.into_owned();
        let message = IndicationMessage::decode_in(message, revision, wire, &arena)?;
        match (header.formats, message.formats) {
            (IndicationHeaderFormats::Format2(header), IndicationMessageFormats::Format5(message))
                if (header.ric_insert_style_type.0, header.ric_insert_indication_id.0) == (3, 1) =>
            {
                let handover = Handover::from_parameters(&message.requested_list)?;
                Ok(Some(HandoverRequest { ue_id: header.ue_id, handover }))
            }
            (IndicationHeaderFormats::Format3(header), IndicationMessageFormats::Format6(message)) => {
                let of_style = message.insert_style_list.iter().filter(|item| item.indicated_insert_style_type.0 == 3);
                let mut questions = of_style.flat_map(|item| &item.insert_indication_list);
                let question = questions.find(|question| question.ric_insert_indication_id.0 == 1);
                let Some((question, ue_id)) = question.zip(header.ue_id) else { return Ok(None) };
                let handover = Handover::from_parameters(&question.insert_indication_list)?;
                Ok(Some(HandoverRequest { ue_id, handover }))
            }
            _ => Ok(None),
        }
    }
}

/// Returns the RRC states in a report of [`Plan::report_rrc_states`].
///
/// # Errors
/// [`Error::Parameter`] for an undefined state. UEs without a state are skipped.
pub fn rrc_states(message: &IndicationMessage<'_>) -> Result<Vec<(UeId<'static>, RrcState)>, Error> {
    let IndicationMessageFormats::Format2(format) = &message.formats else { return Ok(Vec::new()) };
    let mut states = Vec::new();
    for item in &format.ue_parameter_list {
        let changed = dictionary::ue_information::RRC_STATE_CHANGED_TO;
        let Some(parameter) = item.ran_p_list.iter().find(|p| p.ran_parameter_id == changed) else { continue };
        let state = match element(&parameter.value_type) {
            Some(RanParameterValue::ValueInt(0)) => RrcState::RrcConnected,
            Some(RanParameterValue::ValueInt(1)) => RrcState::RrcInactive,
            Some(RanParameterValue::ValueInt(2)) => RrcState::RrcIdle,
            _ => {
                let (name, fault) = (Some("RRC State Changed To"), ParameterFault::OutOfRange);
                return Err(Error::Parameter(ParameterError { id: changed, name, within: None, fault }));
            }
        };
        states.push((item.ue_id.clone().into_owned(), state));
    }
    Ok(states)
}

/// Returns the UE and the octets of the RRC message in a report of [`Plan::report_rrc_messages`]; `None` if it has none.
///
/// # Errors
/// A malformed identity of the UE.
pub fn rrc_message(
    message: &IndicationMessage<'_>,
    revision: Revision,
) -> Result<Option<(UeId<'static>, Vec<u8>)>, per::Error> {
    message_copy(message, dictionary::message_copy::RRC_MESSAGE, revision)
}

/// Returns the UE and the octets of the message in a report of [`Plan::report_ni_messages`]; `None` if it has none.
///
/// # Errors
/// A malformed identity of the UE.
pub fn interface_message(
    message: &IndicationMessage<'_>,
    revision: Revision,
) -> Result<Option<(UeId<'static>, Vec<u8>)>, per::Error> {
    message_copy(message, dictionary::message_copy::NI_MESSAGE, revision)
}

fn message_copy(
    message: &IndicationMessage<'_>,
    content: RanParameterId,
    revision: Revision,
) -> Result<Option<(UeId<'static>, Vec<u8>)>, per::Error> {
    let IndicationMessageFormats::Format1(format) = &message.formats else { return Ok(None) };
    let octets = |id| {
        let parameter = format.reported_list.iter().find(|parameter| parameter.ran_parameter_id == id)?;
        match element(&parameter.value_type)? {
            RanParameterValue::ValueOctS(octets) => Some(octets.to_cow()),
            _ => None,
        }
    };
    let ue_id = octets(dictionary::message_copy::UE_ID);
    let Some((ue_id, copy)) = ue_id.zip(octets(content)) else { return Ok(None) };
    let ue_id: UeId<'_> = per::decode(&ue_id, revision.wire())?;
    Ok(Some((ue_id.into_owned(), copy.into_owned())))
}

/// The value of an element.
fn element<'v, 'a>(value: &'v RanParameterValueType<'a>) -> Option<&'v RanParameterValue<'a>> {
    match value {
        RanParameterValueType::ElementTrue(element) => Some(&element.value),
        RanParameterValueType::ElementFalse(element) => element.value.as_ref(),
        _ => None,
    }
}
