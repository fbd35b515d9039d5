//! What has taken down E2 agents in public, a case for each class: one of a node's controllers misbehaves, and the reports to
//! the other one must go on, each once and in order.

mod common;

use std::net::{Shutdown, TcpListener};
use std::time::Duration;

use common::function::{Reporter, impatient, work_until};
use common::noise;
use common::peer::{FUNCTION, Peer, node_id, report_spec};
use common::scene::{Ric, free_ports};
use common::session::{name_of, session};
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

/// A node with a well-behaved RIC and one that is driven by hand.
struct Scene {
    agents: AgentLoop,
    listener: TcpListener,
    witness: Xapp,
    /// The number of the witness's next report.
    next: Option<u64>,
    _ric: Ric,
}

impl Scene {
    fn new() -> Scene {
        let ric = Ric::start(free_ports());
        let mut agents = AgentLoop::new(impatient()).unwrap();
        let reporter = Reporter::new(Duration::from_millis(1));
        let node = agents.add_node(NodeConfig::new(node_id(1)), vec![Box::new(reporter)]);
        agents.add_controller(node, ric.e2[0].clone().into());
        work_until(&mut agents, "the setup", |agents| agents.up() == 1);
        let mut witness = session(&ric);
        let name = name_of(&mut witness, 1);
        witness.commands().subscribe(name, FUNCTION, report_spec(b"witness"));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        agents.add_controller(node, format!("tcp://{}", listener.local_addr().unwrap()).parse().unwrap());
        listener.set_nonblocking(true).unwrap();
        let mut scene = Scene { agents, listener, witness, next: None, _ric: ric };
        scene.goes_on();
        scene
    }

    /// More reports reach the witness, none lost and none twice.
    fn goes_on(&mut self) {
        let (mut count, next, witness) = (0, &mut self.next, &mut self.witness);
        work_until(&mut self.agents, "twenty more reports", |_| {
            witness
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
                        panic!("the witness came to harm: {event:?}");
                    }
                    _ => {}
                })
                .unwrap();
            count >= 20
        });
    }

    /// The node connects to the RIC that is driven by hand.
    fn connection(&mut self) -> Peer {
        let (mut peer, listener) = (None, &self.listener);
        work_until(&mut self.agents, "a connection", |_| {
            peer = peer.take().or_else(|| {
                let (stream, _) = listener.accept().ok()?;
                stream.set_nonblocking(false).unwrap();
                Some(Peer::of(stream))
            });
            peer.is_some()
        });
        peer.unwrap()
    }

    /// What the node says next.
    fn said(&mut self, peer: &mut Peer) -> Pdu<'static> {
        peer.stream.set_nonblocking(true).unwrap();
        work_until(&mut self.agents, "an answer", |_| peer.stream.peek(&mut [0]).is_ok());
        peer.stream.set_nonblocking(false).unwrap();
        peer.receive_pdu()
    }

    /// A connection over which the setup is taken.
    fn set_up(&mut self) -> Peer {
        let mut peer = self.connection();
        let Pdu::E2SetupRequest(request) = self.said(&mut peer) else { panic!("a setup comes first") };
        peer.send_pdu(setup_response(request.transaction_id));
        let peer_is_up = |agents: &mut AgentLoop| agents.up() == 2;
        work_until(&mut self.agents, "the setup", peer_is_up);
        peer
    }

    /// The node is well, and owes this RIC nothing.
    fn is_served(&mut self, peer: &mut Peer) {
        let cause = Cause::Misc(CauseMisc::OmIntervention);
        peer.send_pdu(ResetRequest { transaction_id: Some(TransactionId(77)), cause: Some(cause) });
        match self.said(peer) {
            Pdu::ResetResponse(response) => assert_eq!(response.transaction_id, Some(TransactionId(77))),
            other => panic!("owed: {other:?}"),
        }
        self.goes_on();
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
fn octets_and_garbage() {
    let mut scene = Scene::new();
    let mut peer = scene.set_up();
    for octet in [0, 0x20, 0x40, 0xFF] {
        peer.send(&[octet]);
        assert!(matches!(scene.said(&mut peer), Pdu::ErrorIndication(_)), "{octet}");
    }
    for seed in 0..100 {
        peer.send(&noise(seed, 40));
    }
    let mut answers = 0;
    peer.send_pdu(ResetRequest {
        transaction_id: Some(TransactionId(1)),
        cause: Some(Cause::Misc(CauseMisc::Unspecified)),
    });
    while !matches!(scene.said(&mut peer), Pdu::ResetResponse(_)) {
        answers += 1;
    }
    assert!(answers <= 20, "{answers} answers in a second");
    scene.is_served(&mut peer);
}

#[test]
fn lengths_beyond_all_bounds() {
    let mut scene = Scene::new();
    for length in [u32::MAX, 0] {
        let mut peer = scene.set_up();
        peer.write(&length.to_be_bytes());
        work_until(&mut scene.agents, "the end", |agents| agents.up() == 1);
        assert_eq!(peer.expect_closed(), []);
        scene.goes_on();
    }
    // it comes back as ever
    scene.set_up();
}

#[test]
fn answers_that_nobody_waits_for() {
    let mut scene = Scene::new();
    let mut peer = scene.connection();
    let Pdu::E2SetupRequest(request) = scene.said(&mut peer) else { panic!("a setup comes first") };
    let wrong_state = Some(Cause::Protocol(CauseProtocol::MessageNotCompatibleWithReceiverState));
    let wrong = |answer| matches!(answer, Pdu::ErrorIndication(ErrorIndication { cause, .. }) if cause == wrong_state);
    // of another transaction
    let other = request.transaction_id.map(|id| TransactionId(id.0 ^ 0x55));
    peer.send_pdu(setup_response(other));
    assert!(wrong(scene.said(&mut peer)));
    assert_eq!(scene.agents.up(), 1);
    peer.send_pdu(setup_response(request.transaction_id));
    work_until(&mut scene.agents, "the setup", |agents| agents.up() == 2);
    // again, byte for byte
    peer.send_pdu(setup_response(request.transaction_id));
    assert!(wrong(scene.said(&mut peer)));
    peer.send_pdu(e2ap::ResetResponse { transaction_id: Some(TransactionId(3)), criticality_diagnostics: None });
    assert!(wrong(scene.said(&mut peer)));
    // what only a node says, and may be ignored
    peer.send_pdu(common::peer::indication(REQUEST, RicActionId(1), b"report"));
    scene.is_served(&mut peer);
}

#[test]
fn unknown_functions_and_requests() {
    let mut scene = Scene::new();
    let mut peer = scene.set_up();
    let (unknown, invalid) = (CauseRicRequest::RequestIdUnknown, CauseRicRequest::RanFunctionIdInvalid);
    let nowhere = RanFunctionId(4095);
    peer.send_pdu(subscription(REQUEST, nowhere, &[1]));
    match scene.said(&mut peer) {
        Pdu::RicSubscriptionFailure(failure) => assert_eq!(failure.cause, Some(Cause::RicRequest(invalid))),
        other => panic!("{other:?}"),
    }
    peer.send_pdu(control(REQUEST, nowhere));
    match scene.said(&mut peer) {
        Pdu::RicControlFailure(failure) => assert_eq!(failure.cause, Some(Cause::RicRequest(invalid))),
        other => panic!("{other:?}"),
    }
    for (ran_function_id, cause) in [(nowhere, invalid), (FUNCTION, unknown)] {
        peer.send_pdu(RicSubscriptionDeleteRequest { request_id: REQUEST, ran_function_id });
        match scene.said(&mut peer) {
            Pdu::RicSubscriptionDeleteFailure(failure) => assert_eq!(failure.cause, Some(Cause::RicRequest(cause))),
            other => panic!("{other:?}"),
        }
    }
    scene.is_served(&mut peer);
}

#[test]
fn requests_that_repeat_and_contradict_themselves() {
    let mut scene = Scene::new();
    let mut peer = scene.set_up();
    let failed = |answer, expected| matches!(answer, Pdu::RicSubscriptionFailure(f) if f.cause.map(|cause| cause == Cause::RicRequest(expected)) == Some(true));
    peer.send_pdu(subscription(REQUEST, FUNCTION, &[1, 1]));
    assert!(failed(scene.said(&mut peer), CauseRicRequest::DuplicateAction));
    peer.send_pdu(subscription(REQUEST, FUNCTION, &[1]));
    let mut reports = 0;
    // its reports are on their way by now, too
    loop {
        match scene.said(&mut peer) {
            Pdu::RicSubscriptionResponse(_) => peer.send_pdu(subscription(REQUEST, FUNCTION, &[2])),
            Pdu::RicSubscriptionFailure(failure) => {
                // v02.03 has no name for a request id that is in use
                assert!(matches!(failure.cause, Some(Cause::RicRequest(_))), "{failure:?}");
                break;
            }
            Pdu::RicIndication(_) => reports += 1,
            other => panic!("{other:?}"),
        }
    }
    // the first one stands
    while reports < 50 {
        assert!(matches!(scene.said(&mut peer), Pdu::RicIndication(_)));
        reports += 1;
    }
    scene.goes_on();
}

#[test]
fn more_subscriptions_than_there_may_be() {
    const ASKED: u16 = 1500;
    let mut scene = Scene::new();
    let mut peer = scene.set_up();
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
    work_until(&mut scene.agents, "all answers", |_| answers.is_finished());
    assert_eq!(answers.join().unwrap(), (1024, ASKED - 1024));
    drop(writer.join().unwrap());
    work_until(&mut scene.agents, "the end of them", |agents| agents.up() == 1);
    scene.goes_on();
}

#[test]
fn a_reset_an_error_or_a_query_at_any_moment() {
    let mut scene = Scene::new();
    let about_nothing = || ErrorIndication {
        transaction_id: None,
        request_id: None,
        ran_function_id: None,
        cause: Some(Cause::Protocol(CauseProtocol::SemanticError)),
        criticality_diagnostics: None,
    };
    // before the setup's answer
    let mut peer = scene.connection();
    assert!(matches!(scene.said(&mut peer), Pdu::E2SetupRequest(_)));
    peer.send_pdu(ResetRequest {
        transaction_id: Some(TransactionId(1)),
        cause: Some(Cause::Misc(CauseMisc::Unspecified)),
    });
    assert!(matches!(scene.said(&mut peer), Pdu::ErrorIndication(_)));
    peer.send_pdu(about_nothing());
    // taken as the answer that it may be: the setup is tried again
    let Pdu::E2SetupRequest(request) = scene.said(&mut peer) else { panic!("a setup comes again") };
    peer.send_pdu(setup_response(request.transaction_id));
    work_until(&mut scene.agents, "the setup", |agents| agents.up() == 2);
    // at any time after it
    for _ in 0..50 {
        peer.send_pdu(about_nothing());
        peer.send_pdu(RicServiceQuery { transaction_id: Some(TransactionId(5)), ran_functions_accepted: None });
    }
    scene.goes_on();
    // whatever was answered to the queries is valid, and comes to an end
    peer.send_pdu(ResetRequest {
        transaction_id: Some(TransactionId(7)),
        cause: Some(Cause::Misc(CauseMisc::Unspecified)),
    });
    while !matches!(scene.said(&mut peer), Pdu::ResetResponse(_)) {}
    scene.goes_on();
}

#[test]
fn a_controller_that_takes_and_says_nothing() {
    let mut scene = Scene::new();
    // accepted, and never answered; then closed for writing; then refused with a time to wait
    let silent = scene.connection();
    scene.goes_on();
    let _ = silent.stream.shutdown(Shutdown::Write);
    drop(silent);
    let mut peer = scene.connection();
    let Pdu::E2SetupRequest(request) = scene.said(&mut peer) else { panic!("a setup comes first") };
    peer.send_pdu(E2SetupFailure {
        transaction_id: request.transaction_id,
        cause: Some(Cause::Misc(CauseMisc::ControlProcessingOverload)),
        time_to_wait: Some(TimeToWait::V1s),
        criticality_diagnostics: None,
        tnl_information: None,
    });
    let again = scene.said(&mut peer);
    assert!(matches!(again, Pdu::E2SetupRequest(_)), "{again:?}");
    scene.goes_on();
}

#[test]
fn a_controller_that_does_not_read() {
    let mut scene = Scene::new();
    let mut peer = scene.set_up();
    peer.send_pdu(subscription(REQUEST, FUNCTION, &[1]));
    // a minute of reports would not fit, were they kept: the witness's go on all the while
    for _ in 0..20 {
        scene.goes_on();
    }
    assert_eq!(scene.agents.up(), 2);
}
