//! Known attacks on E2 agents, one test for each class: one of a node's controllers misbehaves, and the reports to the
//! other must continue, each once and in order.

mod common;

use std::net::{Shutdown, TcpListener};
use std::time::Duration;

use common::function::{Reporter, impatient, poll_agents_until};
use common::noise;
use common::peer::{FUNCTION, Peer, node_id, report_spec};
use common::session::{node_id_of, session};
use common::test_server::{Ric, free_ports};
use e2ap::{
    Cause, CauseMisc, CauseProtocol, CauseRicRequest, E2NodeComponentConfigAdditionAckItem,
    E2NodeComponentConfigurationAck, E2NodeComponentId, E2NodeComponentInterfaceNg, E2NodeComponentInterfaceType,
    E2SetupFailure, E2SetupResponse, ErrorIndication, GlobalRicId, Pdu, PlmnIdentity, RanFunctionId, ResetRequest,
    RicActionId, RicActionToBeSetup, RicActionType, RicControlAckRequest, RicControlRequest, RicRequestId,
    RicServiceQuery, RicSubscriptionDeleteRequest, RicSubscriptionDetails, RicSubscriptionRequest, TimeToWait,
    TransactionId, UpdateOutcome,
};
use ferric::agent::{AgentLoop, NodeConfig};
use ferric::xapp::{RequestEvent, Xapp, XappEvent};
use per::PrintableString;

/// A node with a well-behaved RIC and one that the test drives.
struct Fixture {
    agents: AgentLoop,
    listener: TcpListener,
    good_xapp: Xapp,
    /// The number of the well-behaved xApp's next report.
    next: Option<u64>,
    _ric: Ric,
}

impl Fixture {
    fn new() -> Fixture {
        let ric = Ric::start(free_ports());
        let mut agents = AgentLoop::new(impatient()).unwrap();
        let reporter = Reporter::new(Duration::from_millis(1));
        let node = agents.add_node(NodeConfig::new(node_id(1)), vec![Box::new(reporter)]);
        agents.add_controller(node, ric.e2[0].clone().into());
        poll_agents_until(&mut agents, "the setup", |agents| agents.connected_controllers() == 1);
        let mut good_xapp = session(&ric);
        let name = node_id_of(&mut good_xapp, 1);
        good_xapp.commands().subscribe(name, FUNCTION, report_spec(b"well-behaved"));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        agents.add_controller(node, format!("tcp://{}", listener.local_addr().unwrap()).parse().unwrap());
        listener.set_nonblocking(true).unwrap();
        let mut fixture = Fixture { agents, listener, good_xapp, next: None, _ric: ric };
        fixture.check_progress();
        fixture
    }

    /// Checks that further reports reach the well-behaved xApp, each once.
    fn check_progress(&mut self) {
        let (mut count, next, good_xapp) = (0, &mut self.next, &mut self.good_xapp);
        poll_agents_until(&mut self.agents, "twenty more reports", |_| {
            good_xapp
                .poll(Some(Duration::ZERO), |event, _| match event {
                    XappEvent::Indication(indication) => {
                        let message = indication.peek().unwrap().message;
                        let number = u64::from_be_bytes(message[..8].try_into().unwrap());
                        assert!(next.is_none_or(|next| next == number), "{next:?} was to come, not {number}");
                        *next = Some(number + 1);
                        count += 1;
                    }
                    XappEvent::NodeLost(_)
                    | XappEvent::ReportsDropped(_)
                    | XappEvent::Request(RequestEvent::SubscriptionEnded { .. }) => {
                        panic!("the well-behaved xApp is affected: {event:?}");
                    }
                    _ => {}
                })
                .unwrap();
            count >= 20
        });
    }

    /// Accepts the node's connection to the RIC that the test drives.
    fn connection(&mut self) -> Peer {
        let (mut peer, listener) = (None, &self.listener);
        poll_agents_until(&mut self.agents, "a connection", |_| {
            peer = peer.take().or_else(|| {
                let (stream, _) = listener.accept().ok()?;
                stream.set_nonblocking(false).unwrap();
                Some(Peer::of(stream))
            });
            peer.is_some()
        });
        peer.unwrap()
    }

    /// Returns the node's next PDU.
    fn next_pdu(&mut self, peer: &mut Peer) -> Pdu<'static> {
        peer.stream.set_nonblocking(true).unwrap();
        poll_agents_until(&mut self.agents, "an answer", |_| peer.stream.peek(&mut [0]).is_ok());
        peer.stream.set_nonblocking(false).unwrap();
        peer.receive_pdu()
    }

    /// Accepts a connection and the setup on it.
    fn set_up(&mut self) -> Peer {
        let mut peer = self.connection();
        let Pdu::E2SetupRequest(request) = self.next_pdu(&mut peer) else { panic!("the first message is the setup") };
        peer.send_pdu(setup_response(request.transaction_id));
        let peer_is_up = |agents: &mut AgentLoop| agents.connected_controllers() == 2;
        poll_agents_until(&mut self.agents, "the setup", peer_is_up);
        peer
    }

    /// Checks that the node is well and owes this RIC no answer.
    fn is_served(&mut self, peer: &mut Peer) {
        let cause = Cause::Misc(CauseMisc::OmIntervention);
        peer.send_pdu(ResetRequest { transaction_id: Some(TransactionId(77)), cause: Some(cause) });
        match self.next_pdu(peer) {
            Pdu::ResetResponse(response) => assert_eq!(response.transaction_id, Some(TransactionId(77))),
            other => panic!("unexpected: {other:?}"),
        }
        self.check_progress();
    }
}

fn setup_response(transaction_id: Option<TransactionId>) -> E2SetupResponse<'static> {
    let acknowledged = E2NodeComponentConfigAdditionAckItem {
        interface_type: E2NodeComponentInterfaceType::Ng,
        id: E2NodeComponentId::Ng(E2NodeComponentInterfaceNg { amf_name: PrintableString::literal("none") }),
        ack: E2NodeComponentConfigurationAck { outcome: UpdateOutcome::Success, failure_cause: None },
    };
    E2SetupResponse {
        transaction_id,
        global_ric_id: GlobalRicId::new(PlmnIdentity::from_codes(1, 1, 2), 99),
        ran_functions_accepted: None,
        ran_functions_rejected: None,
        component_config_update_ack_v1: None,
        component_config_addition_ack: Some(vec![acknowledged].into()),
    }
}

const REQUEST: RicRequestId = RicRequestId { requestor: 1, instance: 1 };

fn subscription(request_id: RicRequestId, function: RanFunctionId, actions: &[u8]) -> RicSubscriptionRequest<'static> {
    let action = |id: &u8| RicActionToBeSetup {
        id: RicActionId(*id),
        kind: RicActionType::Report,
        definition: None,
        subsequent_action: None,
        execution_order: None,
    };
    RicSubscriptionRequest {
        request_id,
        ran_function_id: function,
        details: RicSubscriptionDetails {
            event_trigger_definition: b"trigger".into(),
            actions: actions.iter().map(action).collect(),
        },
        start_time: None,
        end_time: None,
    }
}

fn control(request_id: RicRequestId, function: RanFunctionId) -> RicControlRequest<'static> {
    RicControlRequest {
        request_id,
        ran_function_id: function,
        call_process_id: None,
        header: b"header".into(),
        message: b"message".into(),
        ack_request: Some(RicControlAckRequest::Ack),
    }
}

#[test]
fn garbage_is_rejected_and_the_agent_continues() {
    let mut fixture = Fixture::new();
    let mut peer = fixture.set_up();
    for octet in [0, 0x20, 0x40, 0xFF] {
        peer.send(&[octet]);
        assert!(matches!(fixture.next_pdu(&mut peer), Pdu::ErrorIndication(_)), "{octet}");
    }
    for seed in 0..100 {
        peer.send(&noise(seed, 40));
    }
    let mut answers = 0;
    peer.send_pdu(ResetRequest {
        transaction_id: Some(TransactionId(1)),
        cause: Some(Cause::Misc(CauseMisc::Unspecified)),
    });
    while !matches!(fixture.next_pdu(&mut peer), Pdu::ResetResponse(_)) {
        answers += 1;
    }
    assert!(answers <= 20, "{answers} answers in a second");
    fixture.is_served(&mut peer);
}

#[test]
fn excessive_lengths_are_rejected() {
    let mut fixture = Fixture::new();
    for length in [u32::MAX, 0] {
        let mut peer = fixture.set_up();
        peer.write(&length.to_be_bytes());
        poll_agents_until(&mut fixture.agents, "the end", |agents| agents.connected_controllers() == 1);
        assert_eq!(peer.expect_closed(), []);
        fixture.check_progress();
    }
    // it reconnects
    fixture.set_up();
}

#[test]
fn unexpected_answers_are_ignored() {
    let mut fixture = Fixture::new();
    let mut peer = fixture.connection();
    let Pdu::E2SetupRequest(request) = fixture.next_pdu(&mut peer) else { panic!("the first message is the setup") };
    let wrong_state = Some(Cause::Protocol(CauseProtocol::MessageNotCompatibleWithReceiverState));
    let wrong = |answer| matches!(answer, Pdu::ErrorIndication(ErrorIndication { cause, .. }) if cause == wrong_state);
    // of another transaction: dropped, while a request before the setup is answered
    let other = request.transaction_id.map(|id| TransactionId(id.0 ^ 0x55));
    peer.send_pdu(setup_response(other));
    peer.send_pdu(subscription(REQUEST, FUNCTION, &[1]));
    assert!(wrong(fixture.next_pdu(&mut peer)));
    assert_eq!(fixture.agents.connected_controllers(), 1);
    peer.send_pdu(setup_response(request.transaction_id));
    poll_agents_until(&mut fixture.agents, "the setup", |agents| agents.connected_controllers() == 2);
    // repeated octet by octet
    peer.send_pdu(setup_response(request.transaction_id));
    peer.send_pdu(e2ap::ResetResponse { transaction_id: Some(TransactionId(3)), criticality_diagnostics: None });
    // messages that only nodes send may be ignored
    peer.send_pdu(common::peer::indication(REQUEST, RicActionId(1), b"report"));
    fixture.is_served(&mut peer);
}

#[test]
fn unknown_functions_and_requests_are_refused() {
    let mut fixture = Fixture::new();
    let mut peer = fixture.set_up();
    let (unknown, invalid) = (CauseRicRequest::RequestIdUnknown, CauseRicRequest::RanFunctionIdInvalid);
    let nowhere = RanFunctionId(4095);
    peer.send_pdu(subscription(REQUEST, nowhere, &[1]));
    match fixture.next_pdu(&mut peer) {
        Pdu::RicSubscriptionFailure(failure) => assert_eq!(failure.cause, Some(Cause::RicRequest(invalid))),
        other => panic!("{other:?}"),
    }
    peer.send_pdu(control(REQUEST, nowhere));
    match fixture.next_pdu(&mut peer) {
        Pdu::RicControlFailure(failure) => assert_eq!(failure.cause, Some(Cause::RicRequest(invalid))),
        other => panic!("{other:?}"),
    }
    for (ran_function_id, cause) in [(nowhere, invalid), (FUNCTION, unknown)] {
        peer.send_pdu(RicSubscriptionDeleteRequest { request_id: REQUEST, ran_function_id });
        match fixture.next_pdu(&mut peer) {
            Pdu::RicSubscriptionDeleteFailure(failure) => assert_eq!(failure.cause, Some(Cause::RicRequest(cause))),
            other => panic!("{other:?}"),
        }
    }
    fixture.is_served(&mut peer);
}

#[test]
fn repeated_and_contradictory_requests_are_refused() {
    let mut fixture = Fixture::new();
    let mut peer = fixture.set_up();
    let failed = |answer, expected| matches!(answer, Pdu::RicSubscriptionFailure(f) if f.cause.map(|cause| cause == Cause::RicRequest(expected)) == Some(true));
    peer.send_pdu(subscription(REQUEST, FUNCTION, &[1, 1]));
    assert!(failed(fixture.next_pdu(&mut peer), CauseRicRequest::DuplicateAction));
    peer.send_pdu(subscription(REQUEST, FUNCTION, &[1]));
    let mut reports = 0;
    // reports may arrive in between
    loop {
        match fixture.next_pdu(&mut peer) {
            Pdu::RicSubscriptionResponse(_) => peer.send_pdu(subscription(REQUEST, FUNCTION, &[2])),
            Pdu::RicSubscriptionFailure(failure) => {
                // v02.03 has no cause for a request id that is in use
                assert!(matches!(failure.cause, Some(Cause::RicRequest(_))), "{failure:?}");
                break;
            }
            Pdu::RicIndication(_) => reports += 1,
            other => panic!("{other:?}"),
        }
    }
    // the first subscription stays
    while reports < 50 {
        assert!(matches!(fixture.next_pdu(&mut peer), Pdu::RicIndication(_)));
        reports += 1;
    }
    fixture.check_progress();
}

#[test]
fn number_of_subscriptions_is_limited() {
    const ASKED: u16 = 1500;
    let mut fixture = Fixture::new();
    let mut peer = fixture.set_up();
    let mut reader = peer.another();
    let answers = std::thread::spawn(move || {
        let (mut admitted, mut refused) = (0, 0);
        while admitted + refused < ASKED {
            match reader.receive_pdu() {
                Pdu::RicSubscriptionResponse(_) => admitted += 1,
                Pdu::RicSubscriptionFailure(_) => refused += 1,
                Pdu::RicIndication(_) => {}
                other => panic!("{other:?}"),
            }
        }
        (admitted, refused)
    });
    let writer = std::thread::spawn(move || {
        for instance in 0..ASKED {
            peer.send_pdu(subscription(RicRequestId { requestor: 9, instance }, FUNCTION, &[1]));
        }
        peer
    });
    poll_agents_until(&mut fixture.agents, "all answers", |_| answers.is_finished());
    assert_eq!(answers.join().unwrap(), (1024, ASKED - 1024));
    drop(writer.join().unwrap());
    poll_agents_until(&mut fixture.agents, "the end of them", |agents| agents.connected_controllers() == 1);
    fixture.check_progress();
}

#[test]
fn reset_error_or_query_is_handled_at_any_time() {
    let mut fixture = Fixture::new();
    let about_nothing = || ErrorIndication {
        transaction_id: None,
        request_id: None,
        ran_function_id: None,
        cause: Some(Cause::Protocol(CauseProtocol::SemanticError)),
        criticality_diagnostics: None,
    };
    // before the answer to the setup
    let mut peer = fixture.connection();
    assert!(matches!(fixture.next_pdu(&mut peer), Pdu::E2SetupRequest(_)));
    peer.send_pdu(ResetRequest {
        transaction_id: Some(TransactionId(1)),
        cause: Some(Cause::Misc(CauseMisc::Unspecified)),
    });
    assert!(matches!(fixture.next_pdu(&mut peer), Pdu::ErrorIndication(_)));
    peer.send_pdu(about_nothing());
    // an error indication may be the answer: the setup is repeated
    let Pdu::E2SetupRequest(request) = fixture.next_pdu(&mut peer) else { panic!("the setup is repeated") };
    peer.send_pdu(setup_response(request.transaction_id));
    poll_agents_until(&mut fixture.agents, "the setup", |agents| agents.connected_controllers() == 2);
    // at any time after it
    for _ in 0..50 {
        peer.send_pdu(about_nothing());
        peer.send_pdu(RicServiceQuery { transaction_id: Some(TransactionId(5)), ran_functions_accepted: None });
    }
    fixture.check_progress();
    // queries have valid answers, and end
    peer.send_pdu(ResetRequest {
        transaction_id: Some(TransactionId(7)),
        cause: Some(Cause::Misc(CauseMisc::Unspecified)),
    });
    while !matches!(fixture.next_pdu(&mut peer), Pdu::ResetResponse(_)) {}
    fixture.check_progress();
}

#[test]
fn silent_controller_does_not_affect_others() {
    let mut fixture = Fixture::new();
    // accepted, and never answered; then closed for writing; then refused with a time to wait
    let silent = fixture.connection();
    fixture.check_progress();
    let _ = silent.stream.shutdown(Shutdown::Write);
    drop(silent);
    let mut peer = fixture.connection();
    let Pdu::E2SetupRequest(request) = fixture.next_pdu(&mut peer) else { panic!("the first message is the setup") };
    peer.send_pdu(E2SetupFailure {
        transaction_id: request.transaction_id,
        cause: Some(Cause::Misc(CauseMisc::ControlProcessingOverload)),
        time_to_wait: Some(TimeToWait::V1s),
        criticality_diagnostics: None,
        tnl_information: None,
    });
    let again = fixture.next_pdu(&mut peer);
    assert!(matches!(again, Pdu::E2SetupRequest(_)), "{again:?}");
    fixture.check_progress();
}

#[test]
fn non_reading_controller_does_not_affect_others() {
    let mut fixture = Fixture::new();
    let mut peer = fixture.set_up();
    peer.send_pdu(subscription(REQUEST, FUNCTION, &[1]));
    // a minute of reports would not fit if they were all queued: those of the well-behaved xApp continue meanwhile
    for _ in 0..20 {
        fixture.check_progress();
    }
    assert_eq!(fixture.agents.connected_controllers(), 2);
}
