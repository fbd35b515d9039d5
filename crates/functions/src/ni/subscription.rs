//! Subscriptions: which messages, and what is done with them.

use e2sm::ni::{
    ActionDefinition, ActionDefinitionFormat, EventTriggerDefinition, NiDirection, NiMessageTypeApproach1,
    NiProtocolIeItem, NiProtocolIeTest, NiProtocolIeValue, RanParameterItem, RanParameterValue, TypeOfMessage,
};
use ferric::agent::RequestKey;
use ferric::e2;
use ferric::e2ap::{Cause, CauseProtocol, CauseRicRequest, RicActionId, RicActionType, RicSubsequentActionType};
use tracing::debug;

use super::definition::{EVERY_NTH, FATE, FATE_DROP, FATE_PASS, FATE_REPLACE, REPLACEMENT, STYLE};
use super::pdu::Pdu;
use super::{Fate, Interface, Message, NiConfig, NiSource, Way};

const NOT_SUPPORTED: Cause = Cause::RicRequest(CauseRicRequest::ActionNotSupported);
const NOT_AVAILABLE: Cause = Cause::RicRequest(CauseRicRequest::RequestedInformationUnavailable);
const TRIGGER_NOT_SUPPORTED: Cause = Cause::RicRequest(CauseRicRequest::EventTriggerNotSupported);
const SEMANTIC: Cause = Cause::Protocol(CauseProtocol::SemanticError);
const SYNTAX: Cause = Cause::Protocol(CauseProtocol::TransferSyntaxError);

/// Which messages.
#[derive(Clone, Debug)]
pub(super) struct Trigger {
    /// The interfaces that are meant, by their places among the source's.
    interfaces: Vec<usize>,
    direction: NiDirection,
    message: NiMessageTypeApproach1,
    tests: Vec<Test>,
}

/// A test of an IE's encoded value.
#[derive(Clone, Debug)]
struct Test {
    ie: u16,
    what: What,
}

#[derive(Clone, Debug)]
enum What {
    IsThere,
    Equals(Vec<u8>),
    Contains(Vec<u8>),
}

impl Trigger {
    pub fn new<S: NiSource>(source: &S, bytes: &[u8]) -> Result<Self, Cause> {
        let EventTriggerDefinition::Format1(format) = EventTriggerDefinition::decode_owned(bytes).map_err(|error| {
            debug!(%error, "event trigger definition");
            SYNTAX
        })?;
        let kind = format.interface_type;
        if format.interface_message_type.interface() != kind {
            return Err(SEMANTIC);
        }
        let is_meant = |interface: &Interface| interface.kind == kind && interface.id == format.interface_id;
        let all = source.interfaces().iter().enumerate();
        let interfaces: Vec<usize> = all.filter(|(_, interface)| is_meant(interface)).map(|(at, _)| at).collect();
        if interfaces.is_empty() {
            debug!(?kind, "no such interface");
            return Err(NOT_AVAILABLE);
        }
        let tests = format.interface_protocol_ie_list.iter().flatten().map(Test::new);
        Ok(Trigger {
            interfaces,
            direction: format.interface_direction,
            message: format.interface_message_type.approach1(),
            tests: tests.collect::<Option<_>>().ok_or(TRIGGER_NOT_SUPPORTED)?,
        })
    }

    /// Whether a message is meant.
    pub fn is_of(&self, message: &Message, pdu: &Pdu<'_>) -> bool {
        let way = match message.way {
            Way::Incoming => NiDirection::Incoming,
            Way::Outgoing => NiDirection::Outgoing,
        };
        self.interfaces.contains(&message.interface)
            && (self.direction == NiDirection::Both || self.direction == way)
            && self.message.procedure_code == pdu.kind.procedure_code
            && (self.message.type_of_message == TypeOfMessage::Nothing
                || self.message.type_of_message == pdu.kind.type_of_message)
            && self.tests.iter().all(|test| test.holds(pdu))
    }
}

impl Test {
    /// `None` for what would need the IE's type: numbers and texts are not compared.
    fn new(item: &NiProtocolIeItem<'_>) -> Option<Self> {
        let octets = match &item.interface_protocol_ie_value {
            NiProtocolIeValue::ValueOctS(octets) => Some(octets.to_cow().into_owned()),
            _ => None,
        };
        let what = match item.interface_protocol_ie_test {
            NiProtocolIeTest::Present => What::IsThere,
            NiProtocolIeTest::Equal => What::Equals(octets?),
            NiProtocolIeTest::Contains => What::Contains(octets.filter(|octets| !octets.is_empty())?),
            NiProtocolIeTest::GreaterThan | NiProtocolIeTest::LessThan => return None,
        };
        Some(Test { ie: item.interface_protocol_ie_id, what })
    }

    fn holds(&self, pdu: &Pdu<'_>) -> bool {
        let Some(value) = pdu.ie(self.ie) else { return false };
        match &self.what {
            What::IsThere => true,
            What::Equals(octets) => value == octets,
            What::Contains(octets) => value.windows(octets.len()).any(|window| window == octets),
        }
    }
}

/// An action that is set up.
#[derive(Clone, Debug)]
pub(super) struct Action {
    pub key: RequestKey,
    pub id: RicActionId,
    pub trigger: Trigger,
    pub service: Service,
}

/// What is done with messages that match.
#[derive(Clone, Debug)]
pub(super) enum Service {
    Report(EveryNth),
    Insert(EveryNth, Patience),
    Policy(Fate),
}

/// One of so many.
#[derive(Clone, Copy, Debug)]
pub(super) struct EveryNth {
    n: u64,
    passed_over: u64,
}

impl EveryNth {
    /// Whether this one is it.
    pub fn next(&mut self) -> bool {
        let is_it = self.passed_over == 0;
        self.passed_over = (self.passed_over + 1) % self.n;
        is_it
    }
}

/// How long a message waits, and what then becomes of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    pub wait_ms: u32,
    pub goes_on: bool,
}

impl Action {
    pub fn new(config: &NiConfig, trigger: &Trigger, key: RequestKey, wanted: &e2::Action) -> Result<Self, Cause> {
        // a report or an insert says nothing but its style: without a definition it is the only one
        let parameters = match &wanted.definition {
            None => Vec::new(),
            Some(bytes) => {
                let definition = ActionDefinition::decode_owned(bytes).map_err(|error| {
                    debug!(%error, "action definition");
                    SYNTAX
                })?;
                if definition.ric_style_type.0 != STYLE {
                    return Err(NOT_SUPPORTED);
                }
                match definition.action_definition_format {
                    ActionDefinitionFormat::Format1(format) => {
                        format.action_parameter_list.map(|list| list.iter().cloned().collect()).unwrap_or_default()
                    }
                    // no groups of UEs are told apart in octets
                    ActionDefinitionFormat::Format2(_) => return Err(NOT_SUPPORTED),
                }
            }
        };
        let service = match wanted.kind {
            RicActionType::Report => Service::Report(every_nth(&parameters)?),
            RicActionType::Insert => {
                let subsequent = wanted.subsequent;
                let patience = Patience {
                    wait_ms: subsequent.map_or(config.default_wait_ms, |next| next.time_to_wait.milliseconds()),
                    goes_on: subsequent.is_none_or(|next| next.kind == RicSubsequentActionType::Continue),
                };
                Service::Insert(every_nth(&parameters)?, patience)
            }
            RicActionType::Policy => Service::Policy(fate(&parameters)?),
        };
        Ok(Action { key, id: wanted.id, trigger: trigger.clone(), service })
    }
}

fn every_nth(parameters: &[RanParameterItem<'_>]) -> Result<EveryNth, Cause> {
    let n = match parameters {
        [] => 1,
        [RanParameterItem { ran_parameter_id: EVERY_NTH, ran_parameter_value: RanParameterValue::ValueInt(n) }] => {
            u64::try_from(*n).ok().filter(|n| *n > 0).ok_or(SEMANTIC)?
        }
        _ => return Err(NOT_SUPPORTED),
    };
    Ok(EveryNth { n, passed_over: 0 })
}

fn fate(parameters: &[RanParameterItem<'_>]) -> Result<Fate, Cause> {
    let find = |id| parameters.iter().find(|item| item.ran_parameter_id == id).map(|item| &item.ran_parameter_value);
    if parameters.iter().any(|item| ![FATE, REPLACEMENT].contains(&item.ran_parameter_id)) {
        return Err(NOT_SUPPORTED);
    }
    match (find(FATE), find(REPLACEMENT)) {
        (Some(RanParameterValue::ValueEnum(FATE_PASS)), None) => Ok(Fate::Pass),
        (Some(RanParameterValue::ValueEnum(FATE_DROP)), None) => Ok(Fate::Drop),
        (Some(RanParameterValue::ValueEnum(FATE_REPLACE)), Some(RanParameterValue::ValueOctS(octets))) => {
            Ok(Fate::Replace(octets.to_cow().into_owned()))
        }
        _ => Err(SEMANTIC),
    }
}
