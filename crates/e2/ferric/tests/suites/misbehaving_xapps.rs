//! Misbehaving xApps with a real server over real sockets, while a well-behaved node and xApp must not be affected.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::common::peer::{FUNCTION, framed, indication, indication_of, node_id, report_spec};
use crate::common::session::{node_id_of, plain, poll_until, session, subscribe};
use crate::common::test_server::TestServer;
use crate::common::well_behaved_peers::WELL_BEHAVED_NODE;
use crate::common::{PATIENCE, eventually, noise};
use e2ap::Pdu;
use ferric::e2::RefusalCode;
use ferric::e2::xapp::{PROTOCOL_VERSION, RicMessage, XappMessage};
use ferric::e2::{NodeId, SubscriptionEnd, SubscriptionId, Ticket};
use ferric::link::{Address, Class, Config, Events, Interest, Link, Poll, Scratch, State, StreamId};
use ferric::xapp::{RequestEvent, Xapp, XappEvent};

/// An xApp with small buffers, which reads only when the test does.
struct SlowXapp {
    link: Link,
    poll: Poll,
    scratch: Scratch,
}

impl SlowXapp {
    fn connect(address: &Address) -> SlowXapp {
        let config = Config { receive_buffer_octets: Some(4096), max_pdu_octets: 2 << 20, ..Config::default() };
        let link = Link::connect(address, &config).unwrap();
        let poll = Poll::new().unwrap();
        poll.add(&link, 0, Interest::READ_WRITE).unwrap();
        let mut xapp = SlowXapp { link, poll, scratch: Scratch::new() };
        eventually("the connection", || xapp.link.finish_connect().unwrap() == State::Established);
        xapp.poll.modify(&xapp.link, 0, Interest::READ).unwrap();
        xapp.send(&XappMessage::Hello { lowest: PROTOCOL_VERSION, highest: PROTOCOL_VERSION, name: "slow".into() });
        xapp
    }

    fn send(&mut self, message: &XappMessage) {
        let mut bytes = Vec::new();
        message.encode(&mut bytes);
        self.link.send(StreamId(0), &[&bytes], Class::Keep).unwrap();
        while self.link.flush().unwrap().waiting {
            std::thread::yield_now();
        }
    }

    /// Reads once. Fails after the server has closed.
    fn read(&mut self, handle: &mut impl FnMut(RicMessage<'_>)) -> Result<(), ferric::link::Error> {
        let mut events = Events::new();
        self.poll.wait(&mut events, Some(PATIENCE)).unwrap();
        assert!(events.iter().next().is_some(), "no message arrives");
        let received =
            self.link.receive(&mut self.scratch, 1 << 16, &mut |_, pdu| handle(RicMessage::decode(pdu).unwrap()));
        received.map(drop)
    }

    fn read_until<T>(&mut self, mut wanted: impl FnMut(RicMessage<'_>) -> Option<T>) -> T {
        let mut found = None;
        while found.is_none() {
            self.read(&mut |message| found = found.take().or_else(|| wanted(message))).unwrap();
        }
        found.unwrap()
    }

    fn node(&mut self, number: u32) -> NodeId {
        self.read_until(|message| match message {
            RicMessage::NodeUp(node) if node.global_id == node_id(number) => Some(node.id),
            _ => None,
        })
    }
}

#[test]
fn slow_xapp_loses_its_oldest_reports_and_is_informed() {
    const REPORTS: u64 = 1500;
    const OUTBOX_OCTETS: usize = 256 * 1024;
    let server = TestServer::with(|config| {
        config.link.outbox_octets = OUTBOX_OCTETS;
        config.link.send_buffer_octets = Some(16 * 1024);
    });
    let mut node = server.ric.node();
    node.set_up(40);
    let mut slow = SlowXapp::connect(&server.ric.xapp);
    let name = slow.node(40);
    slow.send(&XappMessage::Subscribe {
        ticket: Ticket(1),
        node: name,
        function: FUNCTION,
        order: report_spec(b"").into(),
    });
    let (request_id, action) = node.admit();
    slow.read_until(|message| matches!(message, RicMessage::Request(RequestEvent::Subscribed { .. })).then_some(()));

    // a second xApp shares the reports, and reads
    let mut brisk = Xapp::connect(&server.ric.xapp, "brisk", plain()).unwrap();
    let name = node_id_of(&mut brisk, 40);
    brisk.commands().subscribe(name, FUNCTION, report_spec(b""));
    poll_until(&mut brisk, |event| matches!(event, XappEvent::Request(RequestEvent::Subscribed { .. })).then_some(()));
    let received = Arc::new(AtomicU64::new(0));
    let brisk = std::thread::spawn({
        let received = received.clone();
        move || {
            let mut next = 0;
            while next < REPORTS {
                brisk
                    .poll(Some(PATIENCE), |event, _| match event {
                        XappEvent::Indication(indication) => {
                            let message = indication.peek().unwrap().message;
                            assert_eq!(u64::from_be_bytes(*message.first_chunk().unwrap()), next);
                            next += 1;
                            received.store(next, Ordering::Release);
                        }
                        XappEvent::ReportsDropped(reports) => panic!("{reports} reports lost by an xApp that reads"),
                        _ => {}
                    })
                    .unwrap();
            }
        }
    });
    let mut message = vec![0; 4000];
    for number in 0..REPORTS {
        message[..8].copy_from_slice(&number.to_be_bytes());
        node.report(request_id, action, &message);
        // no faster than the reading xApp
        eventually("a report", || received.load(Ordering::Acquire) + 40 > number);
    }
    brisk.join().unwrap();
    node.is_served(); // all of them have passed the server; the subscription is reset

    // the slow xApp's messages: the oldest that were already written, then the newest
    let mut numbers: Vec<u64> = Vec::new();
    let (mut dropped_count, mut ended) = (0, false);
    while !(ended && dropped_count > 0) {
        slow.read(&mut |message| match message {
            RicMessage::Envelope(envelope) => {
                let message = e2ap::peek::indication(envelope.pdu).unwrap().message;
                numbers.push(u64::from_be_bytes(*message.first_chunk().unwrap()));
            }
            RicMessage::Dropped { reports } => dropped_count = reports,
            RicMessage::Request(RequestEvent::SubscriptionEnded { end: SubscriptionEnd::Reset, .. }) => ended = true,
            other => panic!("{other:?}"),
        })
        .unwrap();
    }
    assert!(numbers.is_sorted());
    assert_eq!(numbers.len() as u64 + dropped_count, REPORTS, "missing reports are counted");
    assert!(dropped_count > REPORTS / 2, "{dropped_count} dropped: the outbox was never full");
    // everything from the oldest in the outbox to the newest
    let kept = numbers.iter().rev().zip((0..REPORTS).rev()).take_while(|(got, sent)| *got == sent).count();
    assert!(kept > OUTBOX_OCTETS / 4100 * 3 / 4, "only {kept} of the newest");
    assert_eq!(numbers.first(), Some(&0), "those on their way arrive");
    assert_eq!(numbers.last(), Some(&(REPORTS - 1)), "the newest are kept");
    let counters = server.end();
    assert_eq!(counters.dropped_reports, dropped_count);
}

#[test]
fn slow_xapp_is_informed_without_further_reports() {
    // the outbox is smaller than the kernel's buffers: it empties at once
    let server = TestServer::with(|config| config.link.outbox_octets = 32 * 1024);
    let mut node = server.ric.node();
    node.set_up(41);
    let mut slow = SlowXapp::connect(&server.ric.xapp);
    let name = slow.node(41);
    slow.send(&XappMessage::Subscribe {
        ticket: Ticket(1),
        node: name,
        function: FUNCTION,
        order: report_spec(b"").into(),
    });
    let (request_id, action) = node.admit();
    slow.read_until(|message| matches!(message, RicMessage::Request(RequestEvent::Subscribed { .. })).then_some(()));
    let pdu = framed(&indication_of(request_id, action, 4000));
    let burst = pdu.repeat(200);
    let mut got = 0;
    for _ in 0..20 {
        node.stream.write_all(&burst).unwrap();
    }
    let dropped_count = slow.read_until(|message| match message {
        RicMessage::Dropped { reports } => Some(reports),
        RicMessage::Envelope(_) => {
            got += 1;
            None
        }
        other => panic!("{other:?}"),
    });
    assert!(dropped_count > 0 && got > 0 && dropped_count + got <= 4000, "{dropped_count} dropped, {got} received");
    server.end();
}

#[test]
fn xapp_that_does_not_read_acknowledgements_is_disconnected() {
    let server = TestServer::with(|config| {
        config.link.outbox_octets = 256 * 1024;
        config.link.send_buffer_octets = Some(16 * 1024);
    });
    let mut node = server.ric.node();
    node.set_up(42);
    let mut slow = SlowXapp::connect(&server.ric.xapp);
    let name = slow.node(42);
    for ticket in 0..40 {
        slow.send(&XappMessage::Control {
            ticket: Ticket(ticket),
            node: name,
            function: FUNCTION,
            ack: true,
            call_process_id: None,
            header: vec![],
            message: vec![1],
        });
    }
    for _ in 0..40 {
        let request = match node.receive_pdu() {
            Pdu::RicControlRequest(request) => request,
            other => panic!("{other:?}"),
        };
        node.send_pdu(e2ap::RicControlAcknowledge {
            request_id: request.request_id,
            ran_function_id: FUNCTION,
            call_process_id: None,
            status: None,
            outcome: Some(vec![3; 20_000].into()),
        });
    }
    node.is_served();
    let mut acknowledged = 0;
    let error = loop {
        let read = slow.read(&mut |message| match message {
            RicMessage::Request(RequestEvent::Controlled { .. }) => acknowledged += 1,
            other => panic!("{other:?}"),
        });
        if let Err(error) = read {
            break error;
        }
    };
    assert!((1..40).contains(&acknowledged), "{acknowledged} acknowledgements and {error}");
    server.end();
}

#[test]
fn xapp_that_does_not_read_inserts_is_disconnected() {
    let server = TestServer::with(|config| {
        config.link.outbox_octets = 256 * 1024;
        config.link.send_buffer_octets = Some(16 * 1024);
    });
    let mut node = server.ric.node();
    node.set_up(43);
    let mut slow = SlowXapp::connect(&server.ric.xapp);
    let name = slow.node(43);
    let mut spec = report_spec(b"");
    spec.actions[0].kind = e2ap::RicActionType::Insert;
    slow.send(&XappMessage::Subscribe { ticket: Ticket(1), node: name, function: FUNCTION, order: spec.into() });
    let (request_id, action) = node.admit();
    slow.read_until(|message| matches!(message, RicMessage::Request(RequestEvent::Subscribed { .. })).then_some(()));
    for number in 0..200u32 {
        let mut message = vec![3; 4000];
        message[..4].copy_from_slice(&number.to_be_bytes());
        let mut insert = indication(request_id, action, &message);
        insert.kind = e2ap::RicIndicationType::Insert;
        insert.call_process_id = Some(number.to_be_bytes().to_vec().into());
        node.send_pdu(insert);
    }
    // its subscription ends with it
    match node.receive_pdu() {
        Pdu::RicSubscriptionDeleteRequest(request) => assert_eq!(request.request_id, request_id),
        other => panic!("{other:?}"),
    }
    let mut next = 0;
    let error = loop {
        let read = slow.read(&mut |message| match message {
            RicMessage::Envelope(envelope) => {
                let message = e2ap::peek::indication(envelope.pdu).unwrap().message;
                assert_eq!(u32::from_be_bytes(*message.first_chunk().unwrap()), next, "none is dropped");
                next += 1;
            }
            other => panic!("{other:?}"),
        });
        if let Err(error) = read {
            break error;
        }
    };
    assert!((1..200).contains(&next), "{next} inserts and {error}");
    assert_eq!(server.end().dropped_reports, 0);
}

#[test]
fn xapp_with_another_protocol_is_rejected() {
    let server = TestServer::new();
    let hello = {
        let mut bytes = Vec::new();
        XappMessage::Hello { lowest: PROTOCOL_VERSION, highest: PROTOCOL_VERSION, name: "x".into() }.encode(&mut bytes);
        bytes
    };
    let subscribe = {
        let mut bytes = Vec::new();
        let (node, spec) = (NodeId(1), report_spec(b""));
        XappMessage::Subscribe { ticket: Ticket(1), node, function: FUNCTION, order: spec.into() }.encode(&mut bytes);
        bytes
    };
    let dropped = {
        let mut bytes = Vec::new();
        RicMessage::Dropped { reports: 1 }.encode(&mut bytes);
        bytes
    };
    let cases: &[(&str, &[&[u8]])] = &[
        ("garbage", &[&noise(1, 100)]),
        ("no hello", &[&subscribe]),
        ("two hellos", &[&hello, &hello]),
        ("a message of a RIC", &[&hello, &dropped]),
        ("garbage after the hello", &[&hello, &noise(2, 50)]),
        ("a message that is cut off", &[&hello, &subscribe[..subscribe.len() - 1]]),
        ("a message with trailing octets", &[&hello, &[&subscribe[..], &[0]].concat()]),
    ];
    for (case, frames) in cases {
        let mut peer = server.ric.xapp();
        frames.iter().for_each(|frame| peer.send(frame));
        let mut last = None;
        while let Some(frame) = peer.try_receive() {
            last = Some(match RicMessage::decode(&frame).unwrap() {
                RicMessage::Refused(code) => Some(code),
                _ => None,
            });
        }
        assert_eq!(last, Some(Some(RefusalCode::Protocol)), "{case}");
    }
    for length in [0, u32::MAX] {
        let mut peer = server.ric.xapp();
        peer.send(&hello);
        peer.write(&u32::to_be_bytes(length));
        while peer.try_receive().is_some() {}
    }
    server.end();
}

#[test]
fn xapp_can_only_unsubscribe_its_own_subscriptions() {
    let server = TestServer::new();
    let (mut owner, mut other) = (session(&server.ric), server.ric.xapp());
    let mut node = server.ric.node();
    node.set_up(43);
    let (subscription, request_id, action) = subscribe(&mut owner, &mut node, 43);
    other.send_message(&XappMessage::Hello {
        lowest: PROTOCOL_VERSION,
        highest: PROTOCOL_VERSION,
        name: "other".into(),
    });
    for id in [subscription, SubscriptionId(0), SubscriptionId(u32::MAX)] {
        other.send_message(&XappMessage::Unsubscribe { subscription: id });
    }
    let mut refusals = 0;
    while refusals < 3 {
        other.receive_message(|message| match message {
            RicMessage::Refused(code) => {
                assert_eq!(code, RefusalCode::UnknownSubscription);
                refusals += 1;
            }
            RicMessage::Welcome { .. } | RicMessage::NodeUp(_) => {}
            other => panic!("{other:?}"),
        });
    }
    node.report(request_id, action, b"still there");
    poll_until(&mut owner, |event| matches!(event, XappEvent::Indication(_)).then_some(()));
    server.end();
}

#[test]
fn truncated_xapp_messages_do_not_affect_others() {
    let server = TestServer::new();
    let messages = [
        XappMessage::Hello { lowest: PROTOCOL_VERSION, highest: PROTOCOL_VERSION, name: "x".into() },
        XappMessage::Subscribe {
            ticket: Ticket(1),
            node: NodeId(1),
            function: FUNCTION,
            order: report_spec(b"abc").into(),
        },
        XappMessage::Unsubscribe { subscription: SubscriptionId(1) },
    ];
    for message in messages {
        let mut bytes = Vec::new();
        message.encode(&mut bytes);
        for octets in 1..bytes.len() {
            let mut peer = server.ric.xapp();
            peer.send(&bytes[..octets]);
            peer.receive_message(|message| assert_eq!(message, RicMessage::Refused(RefusalCode::Protocol)));
            assert_eq!(peer.try_receive(), None);
        }
    }
    server.end();
}

#[test]
fn announcements_beyond_the_outbox_arrive_eventually() {
    const NODES: u32 = 40;
    let server = TestServer::with(|config| {
        config.link.outbox_octets = 128 * 1024;
        config.link.send_buffer_octets = Some(8192);
    });
    // one connects before the nodes, one after them; neither reads before all are up
    let mut early = SlowXapp::connect(&server.ric.xapp);
    let mut nodes: Vec<_> = (0..NODES).map(|_| server.ric.node()).collect();
    for (node, number) in nodes.iter_mut().zip(1000..) {
        node.set_up_with(number, &[0xDE; 30_000]);
    }
    let mut late = SlowXapp::connect(&server.ric.xapp);
    // half of them leave
    nodes.truncate(NODES as usize / 2);
    let stay: BTreeSet<_> =
        (1000..1000 + NODES / 2).chain([WELL_BEHAVED_NODE]).map(|n| node_id(n).to_string()).collect();

    for xapp in [&mut early, &mut late] {
        let (mut there, mut announced) = (BTreeMap::new(), 0);
        while there.len() != stay.len() || !there.values().all(|name| stay.contains(name)) {
            xapp.read(&mut |message| match message {
                RicMessage::NodeUp(node) => {
                    announced += 1;
                    assert_eq!(there.insert(node.id, node.global_id.to_string()), None, "announced twice");
                }
                RicMessage::NodeLost(node) => drop(there.remove(&node)),
                RicMessage::Welcome { .. } => {}
                other => panic!("{other:?}"),
            })
            .expect("the xApp is not disconnected for the number of announcements");
        }
        assert!(
            announced < NODES,
            "a node that leaves before there is room to announce it is not announced: {announced}"
        );
    }
    server.end();
}

#[test]
fn long_announcement_waits_for_room() {
    let server = TestServer::with(|config| {
        config.link.outbox_octets = 128 * 1024;
        config.link.send_buffer_octets = Some(8192);
    });
    let mut xapp = SlowXapp::connect(&server.ric.xapp);
    // most of the first one waits; both together exceed the outbox
    let mut nodes = [server.ric.node(), server.ric.node()];
    nodes[0].set_up_with(1000, &[0xDE; 40_000]);
    nodes[1].set_up_with(1001, &[0xDE; 120_000]);
    xapp.node(1000);
    xapp.node(1001);
    server.end();
}

#[test]
fn announcements_continue_after_a_complete_read() {
    const NODES: usize = 100;
    let server = TestServer::with(|config| config.link.outbox_octets = 128 * 1024);
    let mut xapp = server.ric.xapp();
    xapp.send_message(&XappMessage::Hello {
        lowest: PROTOCOL_VERSION,
        highest: PROTOCOL_VERSION,
        name: "pauses".into(),
    });
    let mut nodes: Vec<_> = (0..NODES).map(|_| server.ric.node()).collect();
    for (node, number) in nodes.iter_mut().zip(1000..) {
        node.set_up_with(number, &[0xDE; 100_000]);
    }
    // more than the outbox and the kernel's buffers hold
    let mut there = BTreeSet::new();
    while there.len() < NODES + 1 {
        xapp.receive_message(|message| {
            if let RicMessage::NodeUp(node) = message {
                assert!(there.insert(node.id), "announced twice");
            }
        });
        if there.len().is_multiple_of(10) {
            std::thread::sleep(Duration::from_millis(20)); // until everything is sent for which there is room
        }
    }
    server.end();
}
