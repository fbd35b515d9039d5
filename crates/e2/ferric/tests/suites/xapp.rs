//! xApps and their RIC: sessions, shared subscriptions, controls, and nodes that are lost and return.

use std::sync::mpsc;
use std::time::Duration;

use crate::common::peer::{FUNCTION, Peer, indication_of, node_id, report_spec};
use crate::common::session::{node_id_of, poll_until, session, subscribe};
use crate::common::test_server::{Ric, free_ports};
use crate::common::{eventually, unique};
use e2ap::{Cause, CauseRicRequest, Pdu, RanFunctionId, RicActionId, RicActionType, RicRequestId};
use ferric::Error;
use ferric::e2::xapp::{OLDEST_PROTOCOL_VERSION, PROTOCOL_VERSION, RicMessage, XappMessage};
use ferric::e2::{ControlOutcome, RefusalCode, SubscribeError};
use ferric::e2::{ControllerConfig, Indication, NodeId, SubscriptionEnd, SubscriptionId};
use ferric::server::{Iapp, IappContext as Commands, IappEvent, RequestEvent, ServerConfig};
use ferric::xapp::{Xapp, XappConfig, XappEvent};

fn start() -> Ric {
    Ric::start(free_ports())
}

fn node(ric: &Ric, number: u32) -> Peer {
    let mut node = ric.node();
    node.set_up(number);
    node
}

/// Returns the octets of the next indication.
fn indication(xapp: &mut Xapp) -> Vec<u8> {
    poll_until(xapp, |event| match event {
        XappEvent::Indication(indication) => Some(indication.pdu.to_vec()),
        _ => None,
    })
}

fn ended(xapp: &mut Xapp) -> (SubscriptionId, SubscriptionEnd) {
    poll_until(xapp, |event| match event {
        XappEvent::Request(RequestEvent::SubscriptionEnded { subscription, end }) => Some((subscription, end)),
        _ => None,
    })
}

fn controlled(xapp: &mut Xapp, wanted: ferric::e2::Ticket) -> ControlOutcome {
    poll_until(xapp, |event| match event {
        XappEvent::Request(RequestEvent::Controlled { ticket, outcome: result }) => {
            assert_eq!(ticket, wanted);
            Some(result)
        }
        _ => None,
    })
}

/// Sends the commands, without an event yet.
fn send(xapp: &mut Xapp) {
    xapp.poll(Some(Duration::ZERO), |event, _| assert!(matches!(event, XappEvent::NodeUp(_)), "{event:?}")).unwrap();
}

#[test]
fn session_without_common_version_is_refused() {
    let ric = start();
    for (lowest, highest) in [(PROTOCOL_VERSION + 1, 9), (1, OLDEST_PROTOCOL_VERSION - 1)] {
        let mut peer = ric.xapp();
        peer.send_message(&XappMessage::Hello { lowest, highest, name: "other".into() });
        peer.receive_message(|message| assert_eq!(message, RicMessage::Refused(RefusalCode::Version)));
        assert_eq!(peer.try_receive(), None);
    }
    // one of an older version is served without what is new
    let mut peer = ric.xapp();
    let (lowest, highest) = (1, OLDEST_PROTOCOL_VERSION);
    peer.send_message(&XappMessage::Hello { lowest, highest, name: "older".into() });
    peer.receive_message(|message| {
        assert!(matches!(message, RicMessage::Welcome { version: OLDEST_PROTOCOL_VERSION, .. }))
    });
    peer.send_message(&XappMessage::SetArbiter { is_offered: true });
    peer.receive_message(|message| assert_eq!(message, RicMessage::Refused(RefusalCode::Protocol)));
    assert_eq!(peer.try_receive(), None);
    // an xApp that supports several versions is accepted
    let mut peer = ric.xapp();
    peer.send_message(&XappMessage::Hello { lowest: 0, highest: 9, name: "newer".into() });
    peer.receive_message(|message| assert!(matches!(message, RicMessage::Welcome { version: PROTOCOL_VERSION, .. })));
}

#[test]
fn xapp_of_the_oldest_version_is_served_without_messages_of_services() {
    let ric = start();
    let service = XappMessage::Service { kind: 1, document: Vec::new() };
    let hello = |highest| XappMessage::Hello { lowest: OLDEST_PROTOCOL_VERSION, highest, name: "old".into() };
    for (highest, refusal) in [(OLDEST_PROTOCOL_VERSION, RefusalCode::Protocol), (9, RefusalCode::NoService)] {
        let mut peer = ric.xapp();
        peer.send_message(&hello(highest));
        let expected = highest.min(PROTOCOL_VERSION);
        peer.receive_message(|message| {
            assert!(matches!(message, RicMessage::Welcome { version, .. } if version == expected), "{message:?}");
        });
        peer.send_message(&service);
        peer.receive_message(|message| assert_eq!(message, RicMessage::Refused(refusal)));
    }
}

/// A service that returns each message, with its own kind, and says that xApps have gone.
struct Echo(mpsc::Sender<String>);

impl Iapp for Echo {
    fn name(&self) -> &str {
        "echo"
    }

    fn serves(&self, kind: u32) -> bool {
        kind == 7
    }

    fn on_event(&mut self, event: &IappEvent<'_>, ric: &mut Commands<'_>) {
        match event {
            IappEvent::XappMessage { xapp, identity, host, kind, document } => {
                self.0.send(format!("{} of {host}", identity.name)).unwrap();
                // a session that has ended takes none
                assert!(ric.send_to_xapp(*xapp, kind + 1, document) || document.is_empty());
            }
            IappEvent::XappEnded { xapp, name } => {
                assert!(!ric.send_to_xapp(*xapp, 8, b""));
                self.0.send(format!("{name} has ended")).unwrap();
            }
            _ => {}
        }
    }

    fn on_indication(&mut self, _: &Indication<'_>, _: &mut Commands<'_>) {}
}

#[test]
fn message_of_a_service_reaches_its_iapp_and_is_answered() {
    let (sender, received) = mpsc::channel();
    let ric = Ric::with_iapps(free_ports(), move || vec![Box::new(Echo(sender))]);
    let mut xapp = session(&ric);
    xapp.commands().service(7, b"content");
    let answer = poll_until(&mut xapp, |event| match event {
        XappEvent::Service { kind, document } => Some((kind, document.to_vec())),
        _ => None,
    });
    assert_eq!(answer, (8, b"content".to_vec()));
    let first = received.recv().unwrap();
    assert!(first.starts_with("test of ") && !first.contains("unknown"), "{first}");
    // no app takes another kind
    xapp.commands().service(9, b"content");
    poll_until(&mut xapp, |event| matches!(event, XappEvent::NoService).then_some(()));
    drop(xapp);
    assert_eq!(received.recv().unwrap(), "test has ended");
    // one that sends a message and leaves at once
    let mut peer = ric.xapp();
    peer.send_message(&XappMessage::Hello { lowest: 1, highest: PROTOCOL_VERSION, name: "brief".into() });
    peer.send_message(&XappMessage::Service { kind: 7, document: Vec::new() });
    drop(peer);
    assert!(received.recv().unwrap().starts_with("brief of "));
    assert_eq!(received.recv().unwrap(), "brief has ended");
}

/// The RIC's side of a session, written by the test.
fn fake_ric(act: impl FnOnce(Peer) + Send + 'static) -> (ferric::link::Address, std::thread::JoinHandle<()>) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("tcp://{}", listener.local_addr().unwrap()).parse().unwrap();
    (address, std::thread::spawn(move || act(Peer::of(listener.accept().unwrap().0))))
}

#[test]
fn failed_session_reports_its_reason() {
    let short = || XappConfig { connect_timeout: Duration::from_millis(200), ..XappConfig::default() };
    let connect = |address| Xapp::connect(&address, "test", short()).err().unwrap();

    let (address, ric) = fake_ric(|mut peer| {
        peer.receive();
        let mut refusal = Vec::new();
        RicMessage::Refused(RefusalCode::Version).encode(&mut refusal);
        peer.send(&refusal);
    });
    assert!(matches!(connect(address), Error::Refused(RefusalCode::Version)));
    ric.join().unwrap();

    let (address, ric) = fake_ric(|mut peer| peer.send(b"HTTP/1.1 400 Bad Request"));
    assert!(matches!(connect(address), Error::Protocol(_)));
    ric.join().unwrap();

    let (address, ric) = fake_ric(|mut peer| {
        peer.receive();
        assert_eq!(peer.try_receive(), None); // sends nothing until the xApp is gone
    });
    assert!(matches!(connect(address), Error::NoAnswer));
    ric.join().unwrap();

    let unused = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let address: ferric::link::Address = format!("tcp://{unused}").parse().unwrap();
    let error = connect(address.clone());
    assert!(error.to_string().contains(&address.to_string()), "{error}");
    assert!(matches!(connect(ferric::link::Address::Memory(unique("nobody"))), Error::Link(_)));
}

#[test]
fn older_ric_is_asked_for_no_service() {
    let (address, ric) = fake_ric(|mut peer| {
        let hello = XappMessage::decode(&peer.receive()).unwrap();
        let expected = (OLDEST_PROTOCOL_VERSION, PROTOCOL_VERSION);
        assert!(
            matches!(hello, XappMessage::Hello { lowest, highest, .. } if (lowest, highest) == expected),
            "{hello:?}"
        );
        let mut welcome = Vec::new();
        let ric_id = ferric::e2ap::GlobalRicId::new(ferric::e2ap::PlmnIdentity([0; 3]), 1);
        RicMessage::Welcome { version: OLDEST_PROTOCOL_VERSION, ric_id }.encode(&mut welcome);
        peer.send(&welcome);
        assert_eq!(peer.try_receive(), None, "it would end the session");
    });
    let xapp = ferric::xapp::Ric::options().address(address.to_string()).name("test").connect().unwrap();
    let mut policies = xapp.a1_policies(1).unwrap();
    for error in [policies.next_within(Duration::from_secs(10)).unwrap_err(), xapp.ei_types().unwrap_err()] {
        assert!(matches!(error, ferric::xapp::Error::Service { .. }), "{error}");
    }
    drop((policies, xapp));
    ric.join().unwrap();
}

#[test]
fn loss_of_the_ric_ends_the_session() {
    let ric = start();
    let _node = node(&ric, 1);
    let mut xapp = session(&ric);
    node_id_of(&mut xapp, 1);
    drop(ric);
    let mut result = Ok(());
    eventually("the end", || {
        result = xapp.poll(Some(Duration::from_millis(10)), |_, _| ());
        result.is_err()
    });
    assert!(matches!(result, Err(Error::Link(_))), "{result:?}");
}

#[test]
fn two_xapps_share_a_subscription_and_its_pdus() {
    let ric = start();
    let mut node = node(&ric, 1);
    let (mut first, mut second) = (session(&ric), session(&ric));
    let (subscription, request_id, action) = subscribe(&mut first, &mut node, 1);
    let id = node_id_of(&mut second, 1);
    second.commands().subscribe(id, FUNCTION, report_spec(b"trigger"));
    let shared = poll_until(&mut second, |event| match event {
        XappEvent::Request(RequestEvent::Subscribed { subscription, admitted, .. }) => {
            assert_eq!(admitted, [action]);
            Some(subscription)
        }
        _ => None,
    });
    assert_eq!(shared, subscription);
    for octets in [60, 5000, 300_000] {
        let sent = indication_of(request_id, action, octets);
        node.send(&sent);
        assert!(indication(&mut first) == sent && indication(&mut second) == sent);
    }
    // one unsubscribes, the other stays
    first.commands().unsubscribe(subscription);
    assert_eq!(ended(&mut first), (subscription, SubscriptionEnd::Deleted));
    let sent = indication_of(request_id, action, 100);
    node.send(&sent);
    assert_eq!(indication(&mut second), sent);
    // another trigger is another subscription
    let id = node_id_of(&mut first, 1);
    first.commands().subscribe(id, FUNCTION, report_spec(b"other"));
    send(&mut first);
    let request = node.receive_subscription(); // the first message to the node since
    assert_ne!(request.request_id, request_id);
    assert_eq!(request.details.event_trigger_definition.to_cow(), &b"other"[..]);
    // the last one ends its subscription by closing its session
    drop(second);
    match node.receive_pdu() {
        Pdu::RicSubscriptionDeleteRequest(request) => assert_eq!(request.request_id, request_id),
        other => panic!("{other:?}"),
    }
}

#[test]
fn subscriptions_with_inserts_are_not_shared() {
    let ric = start();
    let mut node = node(&ric, 1);
    let (mut first, mut second) = (session(&ric), session(&ric));
    let mut spec = report_spec(b"insert");
    spec.actions[0].kind = RicActionType::Insert;
    let mut ids = Vec::new();
    for xapp in [&mut first, &mut second] {
        let id = node_id_of(xapp, 1);
        xapp.commands().subscribe(id, FUNCTION, spec.clone());
        send(xapp);
        ids.push(node.admit().0);
    }
    assert_ne!(ids[0], ids[1]);
}

#[test]
fn failed_subscriptions_report_their_reason() {
    let timeouts = ControllerConfig {
        subscription_timeout: Duration::from_millis(100),
        delete_timeout: Duration::from_millis(100),
        ..ControllerConfig::default()
    };
    let ric = Ric::start(ServerConfig { controller: timeouts, ..free_ports() });
    let mut node = node(&ric, 1);
    let mut xapp = session(&ric);
    let id = node_id_of(&mut xapp, 1);
    let failure = |xapp: &mut Xapp| {
        poll_until(xapp, |event| match event {
            XappEvent::Request(RequestEvent::SubscriptionFailed { error: failure, .. }) => Some(failure),
            _ => None,
        })
    };
    for (node, function, code) in
        [(NodeId(9999), FUNCTION, RefusalCode::UnknownNode), (id, RanFunctionId(8), RefusalCode::UnknownFunction)]
    {
        xapp.commands().subscribe(node, function, report_spec(b""));
        assert_eq!(failure(&mut xapp), SubscribeError::Misuse(code));
    }
    let mut none = report_spec(b"");
    none.actions.clear();
    xapp.commands().subscribe(id, FUNCTION, none);
    assert_eq!(failure(&mut xapp), SubscribeError::Misuse(RefusalCode::BadActions));

    // the node refuses
    xapp.commands().subscribe(id, FUNCTION, report_spec(b"refuse"));
    send(&mut xapp);
    let request = node.receive_subscription();
    let cause = Cause::RicRequest(CauseRicRequest::ActionNotSupported);
    node.send_pdu(e2ap::RicSubscriptionFailure {
        request_id: request.request_id,
        ran_function_id: FUNCTION,
        actions_not_admitted: None,
        cause: Some(cause),
        criticality_diagnostics: None,
    });
    assert_eq!(failure(&mut xapp), SubscribeError::Refused { cause, actions: vec![] });

    // the node does not answer: it must delete what it may have set up
    xapp.commands().subscribe(id, FUNCTION, report_spec(b"silence"));
    assert_eq!(failure(&mut xapp), SubscribeError::TimedOut);
    let request = node.receive_subscription();
    match node.receive_pdu() {
        Pdu::RicSubscriptionDeleteRequest(delete) => assert_eq!(delete.request_id, request.request_id),
        other => panic!("{other:?}"),
    }

    // the node is lost
    xapp.commands().subscribe(id, FUNCTION, report_spec(b"loss"));
    send(&mut xapp);
    node.receive_subscription();
    drop(node);
    assert_eq!(failure(&mut xapp), SubscribeError::NodeLost);
}

#[test]
fn controls_report_every_outcome() {
    let timeouts = ControllerConfig { control_timeout: Duration::from_millis(100), ..ControllerConfig::default() };
    let ric = Ric::start(ServerConfig { controller: timeouts, ..free_ports() });
    let mut node = node(&ric, 1);
    let mut xapp = session(&ric);
    let id = node_id_of(&mut xapp, 1);
    let ask = |xapp: &mut Xapp, node: &mut Peer| {
        let ticket = xapp.commands().control(id, FUNCTION, b"header", b"message");
        send(xapp);
        match node.receive_pdu() {
            Pdu::RicControlRequest(request) => {
                assert_eq!(request.header.to_cow(), &b"header"[..]);
                assert_eq!(request.message.to_cow(), &b"message"[..]);
                (ticket, request.request_id)
            }
            other => panic!("{other:?}"),
        }
    };
    let acknowledge = |request_id: RicRequestId, outcome: Option<&'static [u8]>| e2ap::RicControlAcknowledge {
        request_id,
        ran_function_id: FUNCTION,
        call_process_id: None,
        status: None,
        outcome: outcome.map(Into::into),
    };

    let (ticket, request_id) = ask(&mut xapp, &mut node);
    node.send_pdu(acknowledge(request_id, Some(b"done")));
    assert_eq!(controlled(&mut xapp, ticket), ControlOutcome::Acknowledged(Some(b"done".to_vec().into())));

    let (ticket, request_id) = ask(&mut xapp, &mut node);
    let cause = Cause::RicRequest(CauseRicRequest::ControlMessageInvalid);
    node.send_pdu(e2ap::RicControlFailure {
        request_id,
        ran_function_id: FUNCTION,
        call_process_id: None,
        cause: Some(cause),
        outcome: Some(b"why".into()),
        criticality_diagnostics: None,
    });
    assert_eq!(controlled(&mut xapp, ticket), ControlOutcome::Failed { cause, outcome: Some(b"why".to_vec().into()) });

    let (ticket, request_id) = ask(&mut xapp, &mut node);
    assert_eq!(controlled(&mut xapp, ticket), ControlOutcome::TimedOut);
    node.send_pdu(acknowledge(request_id, None)); // late: it has no receiver

    let ticket = xapp.commands().control(NodeId(9999), FUNCTION, b"", b"");
    assert_eq!(controlled(&mut xapp, ticket), ControlOutcome::Misuse(RefusalCode::UnknownNode));

    let (ticket, _) = ask(&mut xapp, &mut node);
    drop(node);
    assert_eq!(controlled(&mut xapp, ticket), ControlOutcome::NodeLost);
}

#[test]
fn xapp_follows_loss_and_return_of_nodes() {
    let ric = start();
    let mut early = node(&ric, 1);
    let mut xapp = session(&ric);
    let id = node_id_of(&mut xapp, 1);
    let info = xapp.nodes().next().unwrap().clone();
    assert_eq!((info.id, info.global_id), (id, node_id(1)));
    assert_eq!(info.functions[0].id, FUNCTION);
    assert_eq!(info.functions[0].definition, b"definition");
    let (subscription, ..) = subscribe(&mut xapp, &mut early, 1);
    let late = node(&ric, 2);
    node_id_of(&mut xapp, 2);
    assert_eq!(xapp.nodes().count(), 2);
    drop(early);
    let mut waits = None;
    poll_until(&mut xapp, |event| match event {
        XappEvent::Request(RequestEvent::SubscriptionSuspended(subscription)) => {
            waits = Some(subscription);
            None
        }
        XappEvent::NodeLost(node) => {
            assert_eq!(node.global_id, node_id(1));
            Some(())
        }
        _ => None,
    });
    assert_eq!(waits, Some(subscription));
    assert_eq!(xapp.nodes().count(), 1);
    // it is resumed under the same ids
    let mut back = node(&ric, 1);
    let (request_id, action) = back.admit();
    let resumed = poll_until(&mut xapp, |event| match event {
        XappEvent::Request(RequestEvent::SubscriptionResumed { subscription, .. }) => Some(subscription),
        _ => None,
    });
    assert_eq!(resumed, subscription);
    back.report(request_id, action, b"again");
    assert!(indication(&mut xapp).ends_with(b"again"));
    drop((back, late));
    eventually("the other is lost", || {
        xapp.poll(Some(Duration::from_millis(10)), |_, _| ()).unwrap();
        xapp.nodes().count() == 0
    });
}

/// An iApp that subscribes to every node and forwards its events.
struct Watcher(mpsc::Sender<String>);

impl Iapp for Watcher {
    fn name(&self) -> &str {
        "watcher"
    }

    fn on_event(&mut self, event: &IappEvent<'_>, ric: &mut Commands<'_>) {
        let events = match event {
            IappEvent::NodeUp(node) => {
                ric.subscribe(node.id, FUNCTION, report_spec(b"trigger")).unwrap();
                format!("up {}", node.global_id)
            }
            IappEvent::Ran(_) => return,
            IappEvent::NodeLost(_) => "lost".to_owned(),
            IappEvent::Request(RequestEvent::Subscribed { .. }) => "subscribed".to_owned(),
            IappEvent::Request(RequestEvent::SubscriptionEnded { end, .. }) => format!("ended {end:?}"),
            IappEvent::Request(event) => format!("{event:?}"),
            other => format!("{other:?}"),
        };
        self.0.send(events).unwrap();
    }

    fn on_indication(&mut self, indication: &Indication<'_>, ric: &mut Commands<'_>) {
        let (_, message) = indication.payload.unwrap();
        assert_eq!(ric.nodes().count(), 1);
        self.0.send(String::from_utf8(message.to_vec()).unwrap()).unwrap();
    }
}

#[test]
fn iapp_and_xapp_share_a_subscription() {
    let (sender, events) = mpsc::channel();
    let ric = Ric::with_iapps(free_ports(), move || vec![Box::new(Watcher(sender)) as Box<dyn Iapp>]);
    let mut first = node(&ric, 1);
    let (request_id, action): (_, RicActionId) = first.admit();
    let mut xapp = session(&ric);
    let id = node_id_of(&mut xapp, 1);
    xapp.commands().subscribe(id, FUNCTION, report_spec(b"trigger"));
    let subscription = poll_until(&mut xapp, |event| match event {
        XappEvent::Request(RequestEvent::Subscribed { subscription, .. }) => Some(subscription),
        _ => None,
    });
    first.report(request_id, action, b"to both");
    indication(&mut xapp);
    xapp.commands().unsubscribe(subscription);
    ended(&mut xapp);
    first.report(request_id, action, b"to one");
    drop(first);
    let next = || events.recv_timeout(crate::common::PATIENCE).unwrap();
    assert_eq!(next(), format!("up {}", node_id(1)));
    assert_eq!(next(), "subscribed");
    assert_eq!((next(), next()), ("to both".into(), "to one".into()));
    assert_eq!((next(), next()), ("SubscriptionSuspended(SubscriptionId(0))".into(), "lost".into()));
    // the node returns: the app subscribes again, and gets the resumed subscription
    let mut back = node(&ric, 1);
    let again = back.admit();
    assert_eq!(again, (request_id, action));
    assert_eq!((next(), next()), (format!("up {}", node_id(1)), "subscribed".into()));
    assert!(next().starts_with("SubscriptionResumed"));
    back.report(request_id, action, b"again");
    assert_eq!(next(), "again");
    let counters = ric.stop();
    assert_eq!((counters.indications, counters.deliveries), (3, 4));
}

/// A node may send its first report right behind its answer: both in one read of the RIC's.
#[test]
fn subscription_is_reported_before_its_first_indication() {
    let ric = start();
    let mut node = node(&ric, 1);
    let mut xapp = session(&ric);
    let id = node_id_of(&mut xapp, 1);
    for _ in 0..20 {
        xapp.commands().subscribe(id, FUNCTION, report_spec(b"trigger"));
        send(&mut xapp);
        let request = node.receive_subscription();
        let action = request.details.actions[0].id;
        let response = e2ap::RicSubscriptionResponse {
            request_id: request.request_id,
            ran_function_id: request.ran_function_id,
            actions_admitted: vec![e2ap::RicActionAdmitted { id: action }].into(),
            actions_not_admitted: None,
        };
        let report = crate::common::peer::indication(request.request_id, action, b"first");
        let version = e2ap::Version::V2_03;
        let both = [crate::common::peer::encoded(response, version), crate::common::peer::encoded(report, version)];
        node.write(&both.map(|pdu| crate::common::peer::framed(&pdu)).concat());
        let mut order = Vec::new();
        eventually("both", || {
            let turned = xapp.poll(Some(Duration::from_millis(10)), |event, _| match event {
                XappEvent::Request(RequestEvent::Subscribed { .. }) => order.push("subscribed"),
                XappEvent::Indication(_) => order.push("report"),
                other => panic!("{other:?}"),
            });
            turned.unwrap();
            order.len() == 2
        });
        assert_eq!(order, ["subscribed", "report"]);
    }
}
