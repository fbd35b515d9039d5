//! Subscriptions to reports, inserts and policies, and what comes of them, by name.

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
    /// When.
    pub trigger: EventTrigger<'static>,
    /// What.
    pub action: ActionDefinition<'static>,
}

/// A condition and what is done where it holds: one line of a policy.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// When it is done; always where nothing is said.
    pub condition: Option<RanParameterTesting<'static>>,
    /// What is done.
    pub action: ControlAction,
    /// Whether the UE is let have what it wants.
    pub decision: Option<Decision>,
}

impl Plan {
    /// Copies of RRC messages, and of whom they are (report style 1).
    #[must_use]
    pub fn report_rrc_messages(messages: &[RrcMessageId]) -> Self {
        use dictionary::message_copy::{RRC_MESSAGE, UE_ID};
        let kinds = messages.iter().map(|message| MessageTypeChoice::Rrc(MessageTypeRrc { rrc_message: *message }));
        Plan::new(messages_of(kinds), 1, report(&[RRC_MESSAGE, UE_ID]))
    }

    /// Copies of messages of interfaces between nodes, and of whom they are (report style 1).
    #[must_use]
    pub fn report_ni_messages(messages: &[MessageTypeNi]) -> Self {
        use dictionary::message_copy::{NI_MESSAGE, UE_ID};
        let kinds = messages.iter().map(|message| MessageTypeChoice::Ni(*message));
        Plan::new(messages_of(kinds), 1, report(&[NI_MESSAGE, UE_ID]))
    }

    /// What came of procedures that reached a point: parameters of [`dictionary::call_process_outcome`] (report style 2).
    #[must_use]
    pub fn report_call_process(breakpoint: Breakpoint, parameters: &[RanParameterId]) -> Self {
        Plan::new(at(breakpoint), 2, report(parameters))
    }

    /// Changes of the node and its cells, by their numbers: parameters of [`dictionary::node_information`] (report
    /// style 3).
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

    /// RRC states that UEs come to (report style 4).
    #[must_use]
    pub fn report_rrc_states(states: &[RrcState]) -> Self {
        let items = states
            .iter()
            .map(|state| TriggerTypeRrcStateItem { state_changed_to: *state, logical_or: Some(LogicalOr::True) });
        let states = TriggerTypeChoice::RrcState(TriggerTypeRrcState { rrc_state_list: items.collect() });
        Plan::new(ue_changes(states), 4, report(&[dictionary::ue_information::RRC_STATE_CHANGED_TO]))
    }

    /// UEs that come to meet conditions on variables of layer 2, with parameters of theirs (report style 4).
    #[must_use]
    pub fn report_layer_2(conditions: RanParameterTesting<'static>, parameters: &[RanParameterId]) -> Self {
        let trigger = TriggerTypeChoice::L2State(TriggerTypeL2State { associated_l2_variables: conditions });
        Plan::new(ue_changes(trigger), 4, report(parameters))
    }

    /// UEs whose context comes to meet conditions, with parameters of theirs (report style 4, v03.00).
    #[must_use]
    pub fn report_ue_context(conditions: RanParameterTesting<'static>, parameters: &[RanParameterId]) -> Self {
        let trigger = TriggerTypeChoice::UeContext(TriggerTypeUeContext { associated_ue_ctxt_variables: conditions });
        Plan::new(ue_changes(trigger), 4, report(parameters))
    }

    /// UEs and cells as they are now (report style 5, v01.03).
    #[must_use]
    pub fn report_on_demand(parameters: &[RanParameterId]) -> Self {
        let format = EventTriggerFormat5 { on_demand: True, associated_ue_info: None, associated_cell_info: None };
        Plan::new(EventTriggerFormats::Format5(format), 5, report(parameters))
    }

    /// Be asked before a procedure goes on: a question of an insert style, with the parameters to be told.
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

    /// Be asked before a handover (insert style 3, indication 1).
    #[must_use]
    pub fn insert_handover(ue_id: Option<UeId<'static>>) -> Self {
        let target = RanParameterId(1);
        Plan::insert(dictionary::HANDOVER_PREPARATION, 3, RicInsertIndicationId(1), &[target], ue_id)
    }

    /// Be asked several questions at a time before a procedure goes on (insert style 255): each an indication of a
    /// style, with the parameters to be told. Questions of the same style stand together.
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

    /// Have the node act by itself at a point of a procedure. All rules are of one style; the first that holds is the
    /// one that is carried out.
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

    /// The octets of trigger and action.
    ///
    /// # Errors
    /// Where the revision has no such subscription, or a list of it is empty.
    pub fn encode(&self, revision: Revision) -> Result<(Vec<u8>, Vec<u8>), per::Error> {
        let (mut trigger, mut action) = (Vec::new(), Vec::new());
        self.trigger.encode(revision, &mut trigger)?;
        self.action.encode(revision, &mut action)?;
        Ok((trigger, action))
    }

    /// As [`Plan::encode`], in any wire form that there is.
    ///
    /// # Errors
    /// As [`Plan::encode`]; a wire form that the model does not have.
    pub fn encode_in(&self, revision: Revision, wire: Wire) -> Result<(Vec<u8>, Vec<u8>), Error> {
        let (mut trigger, mut action) = (Vec::new(), Vec::new());
        self.trigger.encode_in(revision, wire, &mut trigger)?;
        self.action.encode_in(revision, wire, &mut action)?;
        Ok((trigger, action))
    }
}

fn condition(at: usize) -> RicEventTriggerConditionId {
    // more than a list can have are refused when it is written
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

/// A handover that waits for an answer (insert style 3, indication 1; by itself or among several, style 255).
#[derive(Clone, Debug, PartialEq)]
pub struct HandoverRequest {
    /// The UE.
    pub ue_id: UeId<'static>,
    /// Where it is to go.
    pub handover: Handover,
}

impl HandoverRequest {
    /// Reads it from an insert; `None` where that asks something else.
    ///
    /// # Errors
    /// [`Error::Codec`], [`Error::Parameter`].
    pub fn decode(header: &[u8], message: &[u8], revision: Revision) -> Result<Option<Self>, Error> {
        HandoverRequest::decode_in(header, message, revision, Wire::Per)
    }

    /// As [`HandoverRequest::decode`], in any wire form that there is.
    ///
    /// # Errors
    /// As [`HandoverRequest::decode`]; a wire form that the model does not have.
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

/// The RRC states that a report of [`Plan::report_rrc_states`] tells of.
///
/// # Errors
/// [`Error::Parameter`] for a state that is none. UEs without a state are passed over.
pub fn rrc_states(message: &IndicationMessage<'_>) -> Result<Vec<(UeId<'static>, RrcState)>, Error> {
    let IndicationMessageFormats::Format2(format) = &message.formats else { return Ok(Vec::new()) };
    let mut states = Vec::new();
    for item in &format.ue_parameter_list {
        let changed = dictionary::ue_information::RRC_STATE_CHANGED_TO;
        let Some(parameter) = item.ran_p_list.iter().find(|p| p.ran_parameter_id == changed) else { continue };
        let value = match &parameter.value_type {
            RanParameterValueType::ElementTrue(element) => Some(&element.value),
            RanParameterValueType::ElementFalse(element) => element.value.as_ref(),
            _ => None,
        };
        let state = match value {
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
