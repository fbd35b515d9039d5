//! What xApps have queued for a node that does not read: each xApp has a share, and the node stays.

use std::time::Duration;

use e2ap::{Pdu, RicControlAcknowledge, RicSubscriptionResponse};
use ferric::e2::{ControlOutcome, RefusalCode, RequestEvent, SubscribeError};
use ferric::link;
use ferric::xapp::{Xapp, XappConfig, XappEvent};

use crate::common::eventually;
use crate::common::peer::{FUNCTION, Peer, report_spec};
use crate::common::session::{node_id_of, plain, poll_until, session};
use crate::common::test_server::TestServer;

/// The octets of a request that few of fill an outbox.
const LONG: usize = 900_000;

/// An xApp whose own outbox takes all that a test sends.
fn talkative(server: &TestServer) -> Xapp {
    let link = link::Config { outbox_octets: 128 << 20, ..link::Config::default() };
    Xapp::connect(&server.ric.xapp, "talkative", XappConfig { link, ..plain() }).unwrap()
}

/// Reads the requests that wait for the node and acknowledges its controls; returns the lengths of their messages.
fn serve(node: &mut Peer, until: impl Fn(&[usize]) -> bool) -> Vec<usize> {
    let mut lengths = Vec::new();
    while !until(&lengths) {
        match node.receive_pdu() {
            Pdu::RicControlRequest(control) => {
                lengths.push(control.message.len());
                node.send_pdu(RicControlAcknowledge {
                    request_id: control.request_id,
                    ran_function_id: control.ran_function_id,
                    call_process_id: None,
                    status: None,
                    outcome: None,
                });
            }
            Pdu::RicSubscriptionRequest(request) => lengths.push(request.details.event_trigger_definition.len()),
            other => panic!("{other:?}"),
        }
    }
    lengths
}

fn is_over(outcome: &ControlOutcome) -> bool {
    match outcome {
        ControlOutcome::Misuse(code) => {
            assert_eq!(*code, RefusalCode::NodeBusy);
            true
        }
        ControlOutcome::TimedOut | ControlOutcome::Acknowledged(_) => false,
        other => panic!("{other:?}"),
    }
}

#[test]
fn controls_beyond_an_xapps_share_of_a_nodes_outbox_are_refused_and_the_node_stays() {
    const CONTROLS: usize = 24;
    let server = TestServer::new();
    let mut node = server.ric.node();
    node.set_up(60);
    let mut greedy = talkative(&server);
    let id = node_id_of(&mut greedy, 60);
    for _ in 0..CONTROLS {
        greedy.commands().control(id, FUNCTION, b"header", &vec![0x5E; LONG]);
    }
    // the node reads nothing meanwhile
    let mut refused = 0;
    while refused == 0 {
        greedy
            .poll(Some(Duration::from_millis(100)), |event, _| match event {
                XappEvent::Request(RequestEvent::Controlled { outcome, .. }) => {
                    refused += usize::from(is_over(&outcome))
                }
                XappEvent::NodeLost(lost) => assert_ne!(lost.id, id, "one xApp cuts the node off"),
                _ => {}
            })
            .unwrap();
    }
    // another xApp is served as soon as the node reads
    let mut modest = session(&server.ric);
    let same = node_id_of(&mut modest, 60);
    modest.commands().control(same, FUNCTION, b"header", b"small");
    modest.poll(Some(Duration::ZERO), |_, _| ()).unwrap();
    let mut reader = node.another();
    let served = std::thread::spawn(move || serve(&mut reader, |lengths| lengths.last() == Some(&5)));
    poll_until(&mut modest, |event| match event {
        XappEvent::Request(RequestEvent::Controlled { outcome, .. }) => {
            assert_eq!(outcome, ControlOutcome::Acknowledged(None));
            Some(())
        }
        XappEvent::NodeLost(lost) => {
            assert_ne!(lost.id, same, "one xApp cuts the node off");
            None
        }
        _ => None,
    });
    let served = served.join().unwrap();
    assert!(served.len() < CONTROLS, "{} of {CONTROLS} were sent", served.len());
    eventually("the refusal's line", || {
        let log = server.ric.log.text();
        log.lines().any(|line| line.contains("gnb-00101-3c") && line.contains("wait to be sent"))
    });
    // what is left of the greedy xApp's requests arrives, too, and it may send again
    let mut reader = node.another();
    let rest = std::thread::spawn(move || serve(&mut reader, |lengths| lengths.last() == Some(&4)));
    eventually("room for the greedy xApp", || {
        greedy.commands().control(id, FUNCTION, b"header", b"last");
        greedy.poll(Some(Duration::from_millis(20)), |_, _| ()).unwrap();
        rest.is_finished()
    });
    rest.join().unwrap();
    assert!(!server.ric.log.text().contains("does not read messages that must not be dropped"));
    server.end();
}

#[test]
fn subscriptions_beyond_an_xapps_share_of_a_nodes_outbox_are_refused_and_the_node_stays() {
    const SUBSCRIPTIONS: u32 = 18; // within the quota of 16 MiB
    let server = TestServer::new();
    let mut node = server.ric.node();
    node.set_up(61);
    let mut greedy = talkative(&server);
    let id = node_id_of(&mut greedy, 61);
    for number in 0..SUBSCRIPTIONS {
        let mut trigger = vec![0x5E; LONG];
        trigger[..4].copy_from_slice(&number.to_be_bytes());
        greedy.commands().subscribe(id, FUNCTION, report_spec(&trigger));
    }
    poll_until(&mut greedy, |event| match event {
        XappEvent::Request(RequestEvent::SubscriptionFailed { error: SubscribeError::Misuse(code), .. }) => {
            assert_eq!(code, RefusalCode::NodeBusy);
            Some(())
        }
        XappEvent::NodeLost(lost) => {
            assert_ne!(lost.id, id, "one xApp cuts the node off");
            None
        }
        _ => None,
    });
    let mut modest = session(&server.ric);
    let same = node_id_of(&mut modest, 61);
    modest.commands().control(same, FUNCTION, b"header", b"small");
    modest.poll(Some(Duration::ZERO), |_, _| ()).unwrap();
    let served = serve(&mut node, |lengths| lengths.last() == Some(&5));
    assert!(served.len() < SUBSCRIPTIONS as usize, "{}", served.len());
    server.end();
}

/// The subscriptions of a node that was lost are requested again as fast as the node reads, not all at once.
#[test]
fn node_with_more_subscriptions_than_its_outbox_holds_gets_them_again() {
    const SUBSCRIPTIONS: u32 = 12;
    const TRIGGER: usize = 200_000;
    let server = TestServer::with(|config| {
        config.link.outbox_octets = 1 << 20;
        config.link.send_buffer_octets = Some(16 * 1024);
    });
    let mut node = server.ric.node();
    node.set_up(62);
    let mut xapp = session(&server.ric);
    let id = node_id_of(&mut xapp, 62);
    for number in 0..SUBSCRIPTIONS {
        let mut trigger = vec![0x5E; TRIGGER];
        trigger[..4].copy_from_slice(&number.to_be_bytes());
        xapp.commands().subscribe(id, FUNCTION, report_spec(&trigger));
        xapp.poll(Some(Duration::ZERO), |_, _| ()).unwrap();
        node.admit();
        poll_until(&mut xapp, |event| {
            matches!(event, XappEvent::Request(RequestEvent::Subscribed { .. })).then_some(())
        });
    }
    drop(node);
    poll_until(&mut xapp, |event| matches!(event, XappEvent::NodeLost(lost) if lost.id == id).then_some(()));
    // it is slow to read what it gets after its setup
    let mut node = Peer::with_socket(&server.ric.e2[0], |socket| socket.set_recv_buffer_size(16 * 1024).unwrap());
    node.set_up(62);
    std::thread::sleep(Duration::from_millis(300)); // until the RIC has written what fits
    let mut resumed = 0;
    for _ in 0..SUBSCRIPTIONS {
        let request = node.receive_subscription();
        let actions: Vec<_> =
            request.details.actions.iter().map(|action| e2ap::RicActionAdmitted { id: action.id }).collect();
        node.send_pdu(RicSubscriptionResponse {
            request_id: request.request_id,
            ran_function_id: request.ran_function_id,
            actions_admitted: actions.into(),
            actions_not_admitted: None,
        });
    }
    poll_until(&mut xapp, |event| {
        resumed += u32::from(matches!(event, XappEvent::Request(RequestEvent::SubscriptionResumed { .. })));
        (resumed == SUBSCRIPTIONS).then_some(())
    });
    node.is_served();
    server.end();
}
