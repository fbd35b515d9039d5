//! Triggers and actions of subscriptions.

use std::cmp::Ordering;

use ap::{NumericIe, NumericType, PduView};
use e2sm::ni::{
    ActionDefinition, ActionDefinitionFormat, EventTriggerDefinition, NiDirection, NiMessageTypeApproach1,
    NiProtocolIeItem, NiProtocolIeTest, NiProtocolIeValue, NiType, RanParameterItem, RanParameterValue, TypeOfMessage,
};
use ferric::agent::RequestKey;
use ferric::e2;
use ferric::e2ap::{Cause, CauseProtocol, CauseRicRequest, RicActionId, RicActionType, RicSubsequentActionType};
use tracing::debug;

use super::definition::{DECISION, DECISION_DROP, DECISION_PASS, DECISION_REPLACE, EVERY_NTH, REPLACEMENT, STYLE};
use super::{Interface, Message, MessageDecision, MessageDirection, NiConfig, NiSource};

const NOT_SUPPORTED: Cause = Cause::RicRequest(CauseRicRequest::ActionNotSupported);
const NOT_AVAILABLE: Cause = Cause::RicRequest(CauseRicRequest::RequestedInformationUnavailable);
const TRIGGER_NOT_SUPPORTED: Cause = Cause::RicRequest(CauseRicRequest::EventTriggerNotSupported);
const SEMANTIC: Cause = Cause::Protocol(CauseProtocol::SemanticError);
const SYNTAX: Cause = Cause::Protocol(CauseProtocol::TransferSyntaxError);

/// The messages that a subscription selects.
#[derive(Clone, Debug)]
pub(super) struct Trigger {
    /// The indices of the interfaces.
    interfaces: Vec<usize>,
    direction: NiDirection,
    message: NiMessageTypeApproach1,
    tests: Vec<IeTest>,
}

/// A condition on an IE.
#[derive(Clone, Debug)]
struct IeTest {
    ie: u16,
    condition: Condition,
}

#[derive(Clone, Debug)]
enum Condition {
    IsPresent,
    Equals(Vec<u8>),
    Contains(Vec<u8>),
    /// The number compares to another in this order.
    Compares(NumericIe, Ordering, i64),
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
            debug!(?kind, "unknown interface: subscription rejected");
            return Err(NOT_AVAILABLE);
        }
        let tests = format.interface_protocol_ie_list.iter().flatten().map(|item| IeTest::new(kind, item));
        Ok(Trigger {
            interfaces,
            direction: format.interface_direction,
            message: format.interface_message_type.approach1(),
            tests: tests.collect::<Option<_>>().ok_or(TRIGGER_NOT_SUPPORTED)?,
        })
    }

    /// Returns whether the trigger selects a message.
    pub fn matches(&self, message: &Message, pdu: &PduView<'_>) -> bool {
        let direction = match message.direction {
            MessageDirection::Incoming => NiDirection::Incoming,
            MessageDirection::Outgoing => NiDirection::Outgoing,
        };
        let kind = NiMessageTypeApproach1::of(pdu);
        self.interfaces.contains(&message.interface)
            && (self.direction == NiDirection::Both || self.direction == direction)
            && self.message.procedure_code == kind.procedure_code
            && (self.message.type_of_message == TypeOfMessage::Nothing
                || self.message.type_of_message == kind.type_of_message)
            && self.tests.iter().all(|test| test.holds(pdu))
    }
}

impl IeTest {
    /// Returns `None` for a comparison that the type of the IE does not allow.
    fn new(interface: NiType, item: &NiProtocolIeItem<'_>) -> Option<Self> {
        let ie = item.interface_protocol_ie_id;
        let (octets, number) = match &item.interface_protocol_ie_value {
            NiProtocolIeValue::ValueOctS(octets) => (Some(octets.to_cow().into_owned()), None),
            NiProtocolIeValue::ValueInt(number) => (
                None,
                numeric_ie(interface, ie)
                    .filter(|ie| matches!(ie.value_type, NumericType::Integer { .. }))
                    .zip(Some(*number)),
            ),
            NiProtocolIeValue::ValueEnum(number) => (
                None,
                numeric_ie(interface, ie)
                    .filter(|ie| matches!(ie.value_type, NumericType::Enumerated { .. }))
                    .zip(Some(*number)),
            ),
            _ => (None, None),
        };
        let is = |order| number.map(|(kind, with)| Condition::Compares(kind, order, with));
        let condition = match item.interface_protocol_ie_test {
            NiProtocolIeTest::Present => Condition::IsPresent,
            NiProtocolIeTest::Equal => is(Ordering::Equal).or(octets.map(Condition::Equals))?,
            NiProtocolIeTest::Contains => Condition::Contains(octets.filter(|octets| !octets.is_empty())?),
            NiProtocolIeTest::GreaterThan => is(Ordering::Greater)?,
            NiProtocolIeTest::LessThan => is(Ordering::Less)?,
        };
        Some(IeTest { ie, condition })
    }

    fn holds(&self, pdu: &PduView<'_>) -> bool {
        let Some(value) = pdu.ie(self.ie) else { return false };
        match &self.condition {
            Condition::IsPresent => true,
            Condition::Equals(octets) => value == octets,
            Condition::Contains(octets) => value.windows(octets.len()).any(|window| window == octets),
            Condition::Compares(kind, order, with) => kind.read(value).is_some_and(|number| number.cmp(with) == *order),
        }
    }
}

/// The IE of an interface's protocol, if its value is a number.
fn numeric_ie(interface: NiType, id: u16) -> Option<NumericIe> {
    let table = match interface {
        NiType::S1 => ap::s1ap::NUMERIC_IES,
        NiType::X2 => ap::x2ap::NUMERIC_IES,
        NiType::Ng => ap::ngap::NUMERIC_IES,
        NiType::Xn => ap::xnap::NUMERIC_IES,
        NiType::F1 => ap::f1ap::NUMERIC_IES,
        NiType::E1 => ap::e1ap::NUMERIC_IES,
    };
    NumericIe::find(table, id)
}

/// An action that is set up.
#[derive(Clone, Debug)]
pub(super) struct Action {
    pub key: RequestKey,
    pub id: RicActionId,
    pub trigger: Trigger,
    pub service: Service,
}

/// The service for matching messages.
#[derive(Clone, Debug)]
pub(super) enum Service {
    Report(EveryNth),
    Insert(EveryNth, HoldTime),
    Policy(MessageDecision),
}

/// Selects every n-th message.
#[derive(Clone, Copy, Debug)]
pub(super) struct EveryNth {
    n: u64,
    skipped: u64,
}

impl EveryNth {
    /// Returns whether this message is selected.
    pub fn next(&mut self) -> bool {
        let is_it = self.skipped == 0;
        self.skipped = (self.skipped + 1) % self.n;
        is_it
    }
}

/// The time for which a message is held, and whether it passes afterwards.
#[derive(Clone, Copy, Debug)]
pub(super) struct HoldTime {
    pub wait_ms: u32,
    pub passes: bool,
}

impl Action {
    pub fn new(config: &NiConfig, trigger: &Trigger, key: RequestKey, wanted: &e2::Action) -> Result<Self, Cause> {
        // without a definition, the only style of reports and inserts applies
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
                    // groups of UEs cannot be identified in octets
                    ActionDefinitionFormat::Format2(_) => return Err(NOT_SUPPORTED),
                }
            }
        };
        let service = match wanted.kind {
            RicActionType::Report => Service::Report(every_nth(&parameters)?),
            RicActionType::Insert => {
                let subsequent = wanted.subsequent;
                let hold_time = HoldTime {
                    wait_ms: subsequent.map_or(config.default_wait_ms, |next| next.time_to_wait.milliseconds()),
                    passes: subsequent.is_none_or(|next| next.kind == RicSubsequentActionType::Continue),
                };
                Service::Insert(every_nth(&parameters)?, hold_time)
            }
            RicActionType::Policy => Service::Policy(decision(&parameters)?),
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
    Ok(EveryNth { n, skipped: 0 })
}

fn decision(parameters: &[RanParameterItem<'_>]) -> Result<MessageDecision, Cause> {
    let find = |id| parameters.iter().find(|item| item.ran_parameter_id == id).map(|item| &item.ran_parameter_value);
    if parameters.iter().any(|item| ![DECISION, REPLACEMENT].contains(&item.ran_parameter_id)) {
        return Err(NOT_SUPPORTED);
    }
    match (find(DECISION), find(REPLACEMENT)) {
        (Some(RanParameterValue::ValueEnum(DECISION_PASS)), None) => Ok(MessageDecision::Pass),
        (Some(RanParameterValue::ValueEnum(DECISION_DROP)), None) => Ok(MessageDecision::Drop),
        (Some(RanParameterValue::ValueEnum(DECISION_REPLACE)), Some(RanParameterValue::ValueOctS(octets))) => {
            Ok(MessageDecision::Replace(octets.to_cow().into_owned()))
        }
        _ => Err(SEMANTIC),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use ap::MessageKind;

    use super::super::tests::{interface_of, unhex};
    use super::*;

    /// Messages of an independent encoder (pycrate 0.8.1), and the values of their IEs.
    #[test]
    fn ies_of_messages_are_compared() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../vectors/interfaces");
        let (mut messages, mut compared) = (0, 0);
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|extension| extension != "json") {
                continue;
            }
            let about: serde_json::Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
            let octets = unhex(fs::read_to_string(path.with_extension("hex")).unwrap().trim());
            let interface = interface_of(about["interface"].as_str().unwrap());
            let pdu = PduView::read(interface.protocol(), &octets).unwrap();
            assert_eq!(pdu.kind, MessageKind::InitiatingMessage, "{about}");
            messages += 1;
            for (id, value) in about["ies"].as_object().unwrap() {
                let (id, value) = (id.parse().unwrap(), value.as_i64().unwrap());
                let holds = |test, number: i64| {
                    let interface_protocol_ie_value = match numeric_ie(interface, id).unwrap().value_type {
                        NumericType::Integer { .. } => NiProtocolIeValue::ValueInt(number),
                        NumericType::Enumerated { .. } => NiProtocolIeValue::ValueEnum(number),
                    };
                    let item = NiProtocolIeItem {
                        interface_protocol_ie_id: id,
                        interface_protocol_ie_test: test,
                        interface_protocol_ie_value,
                    };
                    IeTest::new(interface, &item).unwrap().holds(&pdu)
                };
                let of = |number| {
                    use NiProtocolIeTest::{Equal, GreaterThan, LessThan};
                    [Equal, GreaterThan, LessThan].map(|test| holds(test, number))
                };
                assert_eq!(of(value), [true, false, false], "{path:?} {id}");
                assert_eq!(of(value - 1), [false, true, false], "{path:?} {id}");
                assert_eq!(of(value + 1), [false, false, true], "{path:?} {id}");
                compared += 1;
            }
        }
        assert_eq!((messages, compared), (10, 20));
    }

    #[test]
    fn unsupported_comparison_is_rejected() {
        use NiProtocolIeTest::{Contains, Equal, GreaterThan};
        let test = |interface, id, test, value| {
            IeTest::new(
                interface,
                &NiProtocolIeItem {
                    interface_protocol_ie_id: id,
                    interface_protocol_ie_test: test,
                    interface_protocol_ie_value: value,
                },
            )
        };
        let int = |value| NiProtocolIeValue::ValueInt(value);
        let list = |value| NiProtocolIeValue::ValueEnum(value);
        // NGAP's RAN-UE-NGAP-ID, RRCState and Cause
        assert!(test(NiType::Ng, 85, GreaterThan, int(3)).is_some());
        assert!(test(NiType::Ng, 92, Equal, list(1)).is_some());
        for (id, how, value) in [
            (85, Contains, int(3)),
            (85, Equal, list(3)),
            (92, Equal, int(1)),
            (15, Equal, int(1)),
            (15, GreaterThan, NiProtocolIeValue::ValueOctS(vec![1].into())),
            (85, Equal, NiProtocolIeValue::ValueBool(true)),
        ] {
            assert!(test(NiType::Ng, id, how, value.clone()).is_none(), "{id} {how:?} {value:?}");
        }
        // octets that are not of the type match nothing
        let is_three = test(NiType::Ng, 85, Equal, int(3)).unwrap();
        for value in [&[][..], &[0x00], &[0x00, 0x03, 0x00], &[0xC0, 0x03]] {
            let mut pdu =
                vec![0x00, 1, 0x40, 7 + value.len() as u8, 0x00, 0x00, 0x01, 0x00, 0x55, 0x00, value.len() as u8];
            pdu.extend_from_slice(value);
            assert!(!is_three.holds(&PduView::read(NiType::Ng.protocol(), &pdu).unwrap()), "{value:?}");
        }
    }
}
