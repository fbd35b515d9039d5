//! The function in virtual time, on one NG interface whose messages the test makes.

use e2sm::common::{GlobalGnbId, GlobalNgRanNodeId, GnbId, PlmnIdentity, RicStyleType};
use e2sm::ni::{
    ActionDefinition, ActionDefinitionFormat, ActionDefinitionFormat1, ActionDefinitionFormat2, ControlHeaderFormat1,
    EventTriggerDefinition, EventTriggerDefinitionFormat1, NiIdentifier, NiMessageType, NiMessageTypeApproach1,
    NiProtocolIeItem, NiProtocolIeTest, NiProtocolIeValue, NiType, OID, RanFunctionDefinition, RanParameterId,
    TypeOfMessage,
};
use ferric::agent::{FunctionTransport, Ue};
use ferric::e2::{self, AgentMisuse};
use ferric::e2ap::{
    GlobalRicId, RicActionType, RicRequestId, RicSubsequentAction, RicSubsequentActionType, RicTimeToWait,
};
use per::Bits;

use super::*;
use crate::testing::{ExclusiveSource, FIRST, GUEST, millis, request_id};

pub fn unhex(text: &str) -> Vec<u8> {
    let digits = |pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    text.as_bytes().chunks(2).map(digits).collect()
}

/// The interface that vectors mean.
pub fn interface_of(name: &str) -> NiType {
    match name {
        "s1" => NiType::S1,
        "x2" => NiType::X2,
        "ng" => NiType::Ng,
        "xn" => NiType::Xn,
        "f1" => NiType::F1,
        "e1" => NiType::E1,
        other => panic!("{other}"),
    }
}

/// What has become of messages.
type Fates = Vec<(u64, MessageDecision)>;

#[derive(Default)]
struct Ng {
    waiting: Vec<Message>,
    decisions: Fates,
    injected: Vec<(MessageDirection, Vec<u8>)>,
    is_watched: bool,
}

fn gnb() -> NiIdentifier {
    NiIdentifier::GlobalNgRanId(GlobalNgRanNodeId::Gnb(GlobalGnbId {
        plmn_identity: PlmnIdentity::from_codes(1, 1, 2),
        gnb_id: GnbId::GnbId(Bits::new(0xe00, 22)),
    }))
}

impl NiSource for Ng {
    fn interfaces(&self) -> &[Interface] {
        static INTERFACES: std::sync::OnceLock<[Interface; 1]> = std::sync::OnceLock::new();
        INTERFACES.get_or_init(|| [Interface { kind: NiType::Ng, id: gnb() }])
    }

    fn set_watched(&mut self, _now: Time, is_watched: bool) {
        self.is_watched = is_watched;
    }

    fn next_message(&mut self, _now: Time) -> Option<Message> {
        (!self.waiting.is_empty()).then(|| self.waiting.remove(0))
    }

    fn next_poll(&self) -> Option<Time> {
        self.waiting.first().map(|message| message.at)
    }

    fn decide(&mut self, _now: Time, message: MessageId, decision: MessageDecision) {
        self.decisions.push((message.0, decision));
    }

    fn inject(
        &mut self,
        _now: Time,
        _origin: ControllerId,
        _interface: usize,
        direction: MessageDirection,
        octets: &[u8],
    ) -> Result<(), std::borrow::Cow<'static, str>> {
        if direction == MessageDirection::Incoming {
            return Err("nobody acts on it".into());
        }
        self.injected.push((direction, octets.to_vec()));
        Ok(())
    }
}

/// A PDU of that procedure with one IE, 85, of one octet.
fn pdu(procedure_code: u8, value: u8) -> Vec<u8> {
    vec![0x00, procedure_code, 0x40, 0x08, 0x00, 0x00, 0x01, 0x00, 0x55, 0x00, 0x01, value]
}

#[derive(Debug, PartialEq)]
struct Sent {
    controller: ControllerId,
    action: u8,
    process: Option<Vec<u8>>,
    octets: Vec<u8>,
}

#[derive(Default)]
struct Recorder {
    sent: Vec<Sent>,
    is_gone: bool,
}

impl FunctionTransport for Recorder {
    fn send(
        &mut self,
        key: RequestKey,
        action: RicActionId,
        process: Option<&[u8]>,
        header: &[u8],
        message: &[u8],
    ) -> Result<(), AgentMisuse> {
        if self.is_gone {
            return Err(AgentMisuse::UnknownRequest);
        }
        let IndicationHeader::Format1(header) = IndicationHeader::decode(header).unwrap();
        assert_eq!((header.interface_type, header.interface_id), (NiType::Ng, gnb()));
        assert!(header.timestamp.is_some());
        let IndicationMessage::Format1(message) = IndicationMessage::decode(message).unwrap();
        self.sent.push(Sent {
            controller: key.controller,
            action: action.0,
            process: process.map(<[u8]>::to_vec),
            octets: message.interface_message.to_cow().into_owned(),
        });
        Ok(())
    }

    fn controllers(&self) -> Vec<(ControllerId, Option<GlobalRicId>)> {
        Vec::new()
    }
}

struct Bench {
    source: ExclusiveSource<Ng>,
    function: NiFunction<ExclusiveSource<Ng>>,
    views: Views,
    recorder: Recorder,
    messages: u64,
}

impl Bench {
    fn new() -> Self {
        let source = ExclusiveSource::new(Ng::default());
        let config = NiConfig { max_actions: 3, max_held: 2, ..NiConfig::default() };
        let function = NiFunction::new(source.clone(), config);
        let views = Views::with_first(FIRST);
        Bench { source, function, views, recorder: Recorder::default(), messages: 0 }
    }

    fn subscribe(
        &mut self,
        controller: ControllerId,
        trigger: &[u8],
        actions: Vec<e2::Action>,
    ) -> Result<Admission, Cause> {
        let request = crate::testing::subscription(controller, trigger.to_vec(), actions);
        self.function.subscribe(millis(0), controller, &request, &self.views)
    }

    /// A message comes, and is looked at; what was sent.
    fn comes(&mut self, at_ms: u64, octets: Vec<u8>, ue: Option<u64>) -> Vec<Sent> {
        self.messages += 1;
        let message = Message {
            id: MessageId(self.messages),
            at: millis(at_ms),
            interface: 0,
            direction: MessageDirection::Outgoing,
            octets,
            ue: ue.map(Ue),
        };
        self.source.lock().waiting.push(message);
        self.at(at_ms)
    }

    fn at(&mut self, at_ms: u64) -> Vec<Sent> {
        self.function.report(millis(at_ms), &mut FunctionContext::new(&mut self.views, &mut self.recorder));
        std::mem::take(&mut self.recorder.sent)
    }

    fn decisions(&mut self) -> Fates {
        std::mem::take(&mut self.source.lock().decisions)
    }

    fn control(
        &mut self,
        controller: ControllerId,
        process: Option<Vec<u8>>,
        direction: NiDirection,
        octets: &[u8],
    ) -> Result<Option<Vec<u8>>, Cause> {
        let header = ControlHeader::Format1(ControlHeaderFormat1 {
            interface_type: NiType::Ng,
            interface_id: gnb(),
            interface_direction: direction,
            ric_control_message_priority: None,
        });
        let message = ControlMessage::Format1(InterfaceMessage { interface_message: Octets::from(octets) });
        let (mut header_bytes, mut message_bytes) = (Vec::new(), Vec::new());
        header.encode(&mut header_bytes).unwrap();
        message.encode(&mut message_bytes).unwrap();
        let request = ControlRequest {
            request_id: RicRequestId { requestor: 9, instance: 9 },
            ran_function_id: RanFunctionId(5),
            call_process_id: process,
            header: header_bytes,
            message: message_bytes,
        };
        let mut reports = FunctionContext::new(&mut self.views, &mut self.recorder);
        self.function.control(millis(50), controller, &request, &mut reports).map_err(|failure| failure.cause)
    }
}

fn trigger_with(
    procedure_code: u8,
    kind: NiType,
    tests: Vec<NiProtocolIeItem<'static>>,
    type_of_message: TypeOfMessage,
) -> Vec<u8> {
    let trigger = EventTriggerDefinition::Format1(EventTriggerDefinitionFormat1 {
        interface_type: kind,
        interface_id: gnb(),
        interface_direction: NiDirection::Both,
        interface_message_type: NiMessageType::Ng(NiMessageTypeApproach1 { procedure_code, type_of_message }),
        interface_protocol_ie_list: Some(List::from(tests)).filter(|list: &List<'_, _>| !list.is_empty()),
    });
    let mut bytes = Vec::new();
    trigger.encode(&mut bytes).unwrap();
    bytes
}

fn on(procedure_code: u8) -> Vec<u8> {
    trigger_with(procedure_code, NiType::Ng, Vec::new(), TypeOfMessage::Nothing)
}

fn ie(id: u16, test: NiProtocolIeTest, value: NiProtocolIeValue<'static>) -> NiProtocolIeItem<'static> {
    NiProtocolIeItem {
        interface_protocol_ie_id: id,
        interface_protocol_ie_test: test,
        interface_protocol_ie_value: value,
    }
}

fn octets(value: u8) -> NiProtocolIeValue<'static> {
    NiProtocolIeValue::ValueOctS(Octets::from(vec![value]))
}

fn definition_of(style: i64, parameters: Vec<(u16, RanParameterValue<'static>)>) -> Vec<u8> {
    let parameters = parameters.into_iter().map(|(id, ran_parameter_value)| RanParameterItem {
        ran_parameter_id: RanParameterId(id),
        ran_parameter_value,
    });
    let list: List<'static, _> = parameters.collect();
    let format = ActionDefinitionFormat1 { action_parameter_list: Some(list).filter(|list| !list.is_empty()) };
    let definition = ActionDefinition {
        ric_style_type: RicStyleType(style),
        action_definition_format: ActionDefinitionFormat::Format1(format),
    };
    let mut bytes = Vec::new();
    definition.encode(&mut bytes).unwrap();
    bytes
}

fn action(id: u8, kind: RicActionType, definition: Option<Vec<u8>>) -> e2::Action {
    e2::Action { id: RicActionId(id), kind, definition, subsequent: None }
}

fn insert(id: u8, kind: RicSubsequentActionType) -> e2::Action {
    let subsequent = Some(RicSubsequentAction { kind, time_to_wait: RicTimeToWait::W200ms });
    e2::Action { subsequent, ..action(id, RicActionType::Insert, None) }
}

fn process(number: i64) -> Vec<u8> {
    let mut bytes = Vec::new();
    CallProcessId::Format1(CallProcessIdFormat1 { call_process_id: number }).encode(&mut bytes).unwrap();
    bytes
}

#[test]
fn definition_lists_interfaces() {
    let function = Bench::new().function.definition();
    assert_eq!((function.id, function.oid.as_str()), (RanFunctionId(5), OID));
    let definition = RanFunctionDefinition::decode_owned(&function.definition).unwrap();
    let items = definition.ni_type_list.unwrap();
    assert_eq!(items.iter().map(|item| item.interface_type).collect::<Vec<_>>(), [NiType::Ng]);
    assert!(items[0].ric_insert_style_list.is_some() && items[0].ric_policy_style_list.is_some());
}

#[test]
fn matching_messages_are_reported_and_all_pass() {
    let mut bench = Bench::new();
    let tests = vec![ie(85, NiProtocolIeTest::Equal, octets(7))];
    let trigger = trigger_with(37, NiType::Ng, tests, TypeOfMessage::InitiatingMessage);
    bench.subscribe(FIRST, &trigger, vec![action(0, RicActionType::Report, None)]).unwrap();
    assert!(bench.source.lock().is_watched);
    let sent = bench.comes(1, pdu(37, 7), None);
    assert_eq!(sent, [Sent { controller: FIRST, action: 0, process: None, octets: pdu(37, 7) }]);
    for other in [pdu(37, 8), pdu(38, 7), vec![0x20, 37, 0x40, 0], vec![], vec![0xFF; 9]] {
        assert_eq!(bench.comes(2, other, None), []);
    }
    assert_eq!(bench.decisions(), (1..=6).map(|id| (id, MessageDecision::Pass)).collect::<Vec<_>>());
    // one of three
    let every = definition_of(1, vec![(1, RanParameterValue::ValueInt(3))]);
    bench.subscribe(GUEST, &on(37), vec![action(1, RicActionType::Report, Some(every))]).unwrap();
    bench.views.expose(GUEST, Ue(4)).unwrap();
    let of_guest: Vec<_> = (0..7).map(|_| bench.comes(3, pdu(37, 1), Some(4)).len()).collect();
    assert_eq!(of_guest, [1, 0, 0, 1, 0, 0, 1]);
    assert_eq!(bench.comes(3, pdu(37, 1), Some(5)), [], "a UE that it does not see");
    for controller in [FIRST, GUEST] {
        bench.function.unsubscribe(RequestKey { controller, id: request_id(controller) });
    }
    assert!(!bench.source.lock().is_watched);
    assert_eq!(bench.function.next_report(), None);
}

#[test]
fn held_message_waits_for_control() {
    let mut bench = Bench::new();
    bench.subscribe(FIRST, &on(37), vec![insert(0, RicSubsequentActionType::Continue)]).unwrap();
    let sent = bench.comes(1, pdu(37, 7), Some(1));
    assert_eq!(sent, [Sent { controller: FIRST, action: 0, process: Some(process(1)), octets: pdu(37, 7) }]);
    assert_eq!((bench.decisions(), bench.function.held()), (vec![], 1));
    assert_eq!(bench.function.next_report(), Some(millis(201)));
    // who was not asked, another direction, another number
    let out = NiDirection::Outgoing;
    let invalid = Err(Cause::RicRequest(CauseRicRequest::RicCallProcessIdInvalid));
    assert_eq!(bench.control(GUEST, Some(process(1)), out, &pdu(37, 7)), invalid);
    assert_eq!(bench.control(FIRST, Some(process(2)), out, &pdu(37, 7)), invalid);
    assert_eq!(bench.control(FIRST, Some(vec![0xFF]), out, &pdu(37, 7)), invalid);
    let message = Err(Cause::RicRequest(CauseRicRequest::ControlMessageInvalid));
    assert_eq!(bench.control(FIRST, Some(process(1)), NiDirection::Incoming, &pdu(37, 7)), message);
    assert_eq!(bench.control(FIRST, Some(process(1)), NiDirection::Both, &pdu(37, 7)), message);
    assert_eq!(bench.function.held(), 1);

    assert_eq!(bench.control(FIRST, Some(process(1)), out, &pdu(37, 7)), Ok(outcome(true)));
    assert_eq!(bench.decisions(), [(1, MessageDecision::Pass)]);
    assert_eq!(bench.control(FIRST, Some(process(1)), out, &pdu(37, 7)), invalid, "once");
    bench.comes(2, pdu(37, 7), Some(1));
    assert_eq!(bench.control(FIRST, Some(process(2)), out, &pdu(37, 9)), Ok(outcome(true)));
    bench.comes(2, pdu(37, 7), Some(1));
    assert_eq!(bench.control(FIRST, Some(process(3)), out, &[]), Ok(outcome(false)));
    assert_eq!(bench.decisions(), [(2, MessageDecision::Replace(pdu(37, 9))), (3, MessageDecision::Drop)]);
}

#[test]
fn held_messages_are_released() {
    let mut bench = Bench::new();
    let (goes_on, stays) = (RicSubsequentActionType::Continue, RicSubsequentActionType::Wait);
    bench.subscribe(FIRST, &on(37), vec![insert(0, goes_on)]).unwrap();
    bench.subscribe(GUEST, &on(38), vec![insert(0, stays)]).unwrap();
    bench.views.expose(GUEST, Ue(1)).unwrap();
    assert_eq!(bench.comes(0, pdu(37, 1), Some(1)).len(), 1);
    assert_eq!(bench.comes(10, pdu(38, 1), Some(1)).len(), 1);
    assert_eq!(bench.comes(20, pdu(37, 2), Some(1)), [], "there is no more room");
    assert_eq!(bench.comes(20, pdu(38, 2), None), [], "a guest does not touch what is about no UE");
    assert_eq!(bench.decisions(), [(3, MessageDecision::Pass), (4, MessageDecision::Pass)]);
    bench.at(200);
    bench.at(210);
    assert_eq!(bench.decisions(), [(1, MessageDecision::Pass), (2, MessageDecision::Drop)]);
    // the subscription ends
    bench.comes(300, pdu(38, 1), Some(1));
    bench.function.unsubscribe(RequestKey { controller: GUEST, id: request_id(GUEST) });
    assert_eq!(bench.decisions(), [(5, MessageDecision::Drop)]);
    // nobody can be asked
    bench.recorder.is_gone = true;
    bench.comes(400, pdu(37, 1), Some(1));
    assert_eq!((bench.decisions(), bench.function.held()), (vec![(6, MessageDecision::Pass)], 0));
}

#[test]
fn policies_decide_first() {
    let mut bench = Bench::new();
    let policy = |decision, replacement: Option<u8>| {
        let mut parameters = vec![(1, RanParameterValue::ValueEnum(decision))];
        parameters.extend(replacement.map(|octet| (2, octets(octet))));
        action(9, RicActionType::Policy, Some(definition_of(1, parameters)))
    };
    bench.subscribe(FIRST, &on(37), vec![policy(1, None)]).unwrap();
    bench.subscribe(GUEST, &on(37), vec![action(1, RicActionType::Report, None), policy(2, Some(5))]).unwrap();
    bench.views.expose(GUEST, Ue(1)).unwrap();
    assert_eq!(bench.comes(0, pdu(37, 1), Some(1)).len(), 1, "reported as it came");
    assert_eq!(bench.decisions(), [(1, MessageDecision::Drop)]);
    bench.function.unsubscribe(RequestKey { controller: FIRST, id: request_id(FIRST) });
    bench.comes(1, pdu(37, 1), Some(1));
    bench.comes(1, pdu(37, 1), Some(2));
    assert_eq!(bench.decisions(), [(2, MessageDecision::Replace(vec![5])), (3, MessageDecision::Pass)]);
}

#[test]
fn messages_are_injected() {
    let mut bench = Bench::new();
    let failed = Err(Cause::RicRequest(CauseRicRequest::ControlFailedToExecute));
    assert_eq!(bench.control(FIRST, None, NiDirection::Outgoing, &pdu(37, 1)), Ok(outcome(true)));
    assert_eq!(bench.control(FIRST, None, NiDirection::Incoming, &pdu(37, 1)), failed);
    assert_eq!(bench.control(GUEST, None, NiDirection::Outgoing, &pdu(37, 1)), failed, "it does not see all UEs");
    assert_eq!(bench.source.lock().injected, [(MessageDirection::Outgoing, pdu(37, 1))]);
    let request = ControlRequest {
        request_id: RicRequestId { requestor: 9, instance: 9 },
        ran_function_id: RanFunctionId(5),
        call_process_id: None,
        header: vec![0xFF],
        message: vec![],
    };
    let mut reports = FunctionContext::new(&mut bench.views, &mut bench.recorder);
    let failure = bench.function.control(millis(0), FIRST, &request, &mut reports).unwrap_err();
    assert_eq!(failure.cause, Cause::Protocol(CauseProtocol::TransferSyntaxError));
}

#[test]
fn invalid_subscription_is_rejected_with_cause() {
    use CauseRicRequest::{
        ActionNotSupported, EventTriggerNotSupported, FunctionResourceLimit, RequestedInformationUnavailable,
    };
    let mut bench = Bench::new();
    let request = Cause::RicRequest;
    let (syntax, semantic) =
        (Cause::Protocol(CauseProtocol::TransferSyntaxError), Cause::Protocol(CauseProtocol::SemanticError));
    let report = || action(0, RicActionType::Report, None);
    let with = |kind, parameters| action(0, kind, Some(definition_of(1, parameters)));
    let test = |item| trigger_with(37, NiType::Ng, vec![item], TypeOfMessage::Nothing);
    let number = || NiProtocolIeValue::ValueInt(7);
    let mut elsewhere = EventTriggerDefinition::decode_owned(&on(37)).unwrap();
    let EventTriggerDefinition::Format1(format) = &mut elsewhere;
    format.interface_id = NiIdentifier::GlobalEnGnbId(GlobalGnbId {
        plmn_identity: PlmnIdentity::from_codes(1, 1, 2),
        gnb_id: GnbId::GnbId(Bits::new(1, 22)),
    });
    let mut elsewhere_bytes = Vec::new();
    elsewhere.encode(&mut elsewhere_bytes).unwrap();
    let mut groups = Vec::new();
    let format2 = ActionDefinitionFormat::Format2(ActionDefinitionFormat2::default());
    let definition = ActionDefinition { ric_style_type: RicStyleType(1), action_definition_format: format2 };
    definition.encode(&mut groups).unwrap();
    for (trigger, action, cause) in [
        (vec![], report(), syntax),
        (trigger_with(37, NiType::F1, vec![], TypeOfMessage::Nothing), report(), semantic),
        (elsewhere_bytes, report(), request(RequestedInformationUnavailable)),
        (test(ie(15, NiProtocolIeTest::Equal, number())), report(), request(EventTriggerNotSupported)),
        (test(ie(85, NiProtocolIeTest::GreaterThan, octets(1))), report(), request(EventTriggerNotSupported)),
        (on(37), action(0, RicActionType::Report, Some(vec![])), syntax),
        (on(37), action(0, RicActionType::Report, Some(definition_of(2, vec![]))), request(ActionNotSupported)),
        (on(37), action(0, RicActionType::Report, Some(groups)), request(ActionNotSupported)),
        (on(37), with(RicActionType::Report, vec![(1, RanParameterValue::ValueInt(0))]), semantic),
        (on(37), with(RicActionType::Insert, vec![(2, RanParameterValue::ValueInt(1))]), request(ActionNotSupported)),
        (on(37), action(0, RicActionType::Policy, None), semantic),
        (on(37), with(RicActionType::Policy, vec![(1, RanParameterValue::ValueEnum(2))]), semantic),
        (on(37), with(RicActionType::Policy, vec![(3, RanParameterValue::ValueEnum(1))]), request(ActionNotSupported)),
    ] {
        assert_eq!(bench.subscribe(FIRST, &trigger, vec![action]), Err(cause), "{trigger:x?}");
    }
    assert!(!bench.source.lock().is_watched);
    let admission = bench.subscribe(FIRST, &on(37), (0..4).map(|_| report()).collect()).unwrap();
    assert_eq!(admission.not_admitted, [(RicActionId(0), request(FunctionResourceLimit))]);
}
