//! What iApps see of the relay: counters of subscriptions, outboxes of xApps, and the PDUs of a node.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::common::eventually;
use crate::common::peer::{FUNCTION, report_spec};
use crate::common::session::{node_id_of, plain, poll_until, subscribe};
use crate::common::test_server::{Ric, free_ports};
use ferric::e2::{Indication, RequestEvent};
use ferric::link::{self, Direction, LinkObserver, StreamId};
use ferric::server::{Iapp, IappContext, IappEvent, SubscriptionOverview, XappOverview};
use ferric::xapp::{Xapp, XappConfig, XappEvent};

type View = (Vec<SubscriptionOverview>, Vec<XappOverview>);

/// What is asked of the operator.
enum Order {
    View(Sender<View>),
    Watch(Option<Arc<dyn LinkObserver>>),
}

/// An iApp that answers when the RIC has something to do, which the indications of a node of its own ensure.
struct Operator(Receiver<Order>);

impl Operator {
    fn obey(&mut self, ric: &mut IappContext<'_>) {
        for order in self.0.try_iter() {
            match order {
                Order::View(answer) => {
                    let _ = answer.send((ric.subscriptions().collect(), ric.xapps().collect()));
                }
                Order::Watch(observer) => {
                    let nodes: Vec<_> = ric.nodes().map(|node| node.id).collect();
                    nodes.into_iter().for_each(|node| ric.watch(node, observer.clone()));
                }
            }
        }
    }
}

impl Iapp for Operator {
    fn name(&self) -> &str {
        "operator"
    }

    fn on_event(&mut self, event: &IappEvent<'_>, ric: &mut IappContext<'_>) {
        // a node that sets up wakes the operator
        if let IappEvent::NodeUp(_) | IappEvent::NodeLost(_) = event {
            self.obey(ric);
        }
    }

    fn on_indication(&mut self, _: &Indication<'_>, _: &mut IappContext<'_>) {}
}

/// Has the operator act: a node sets up.
fn wake(ric: &Ric) {
    ric.node().set_up(99);
}

fn view(ric: &Ric, orders: &Sender<Order>) -> View {
    let (answer, answers) = channel();
    orders.send(Order::View(answer)).unwrap();
    wake(ric);
    answers.recv_timeout(crate::common::PATIENCE).unwrap()
}

fn start() -> (Ric, Sender<Order>) {
    let (orders, received) = channel();
    let mut config = free_ports();
    config.link.send_buffer_octets = Some(16 * 1024);
    config.link.outbox_octets = 256 * 1024;
    (Ric::with_iapps(config, move || vec![Box::new(Operator(received)) as Box<dyn Iapp>]), orders)
}

#[test]
fn outbox_of_an_xapp_that_does_not_read_is_seen_and_so_are_its_losses() {
    let (ric, orders) = start();
    let mut node = ric.node();
    node.set_up(1);
    let link = link::Config { receive_buffer_octets: Some(16 * 1024), ..plain().link };
    let mut slow = Xapp::connect(&ric.xapp, "slow", XappConfig { link, ..plain() }).unwrap();
    let (_, request_id, action) = subscribe(&mut slow, &mut node, 1);
    let (subscriptions, xapps) = view(&ric, &orders);
    assert_eq!((subscriptions[0].counters.indications, subscriptions[0].newest_age), (0, None));
    assert_eq!((xapps[0].outbox_octets, xapps[0].dropped_reports), (0, 0));
    for _ in 0..200 {
        node.report(request_id, action, &[0x5E; 5000]);
    }
    let mut last = None;
    eventually("losses", || {
        let (subscriptions, xapps) = view(&ric, &orders);
        let counters = subscriptions[0].counters;
        let has_all = counters.indications == 200 && counters.octets > 200 * 5000 && counters.octets < 200 * 5200;
        // the only subscription, so that all losses are its own
        let is_behind = xapps[0].outbox_octets > 100_000 && xapps[0].dropped_reports > 0;
        let is_same = counters.dropped_reports == xapps[0].dropped_reports;
        last = Some((counters, xapps[0].clone()));
        has_all && is_behind && is_same && subscriptions[0].newest_age.is_some()
    });
    let (_, before) = last.unwrap();
    assert!(before.outbox_octets <= 256 * 1024 && before.dropped_reports < 200, "{before:?}");
    // it reads again
    poll_until(&mut slow, |event| matches!(event, XappEvent::ReportsDropped(_)).then_some(()));
    eventually("an empty outbox", || {
        slow.poll(Some(Duration::from_millis(5)), |_, _| ()).unwrap();
        view(&ric, &orders).1[0].outbox_octets == 0
    });
    assert!(view(&ric, &orders).1[0].dropped_reports >= before.dropped_reports);
}

#[derive(Default)]
struct Notes(Mutex<Vec<(Direction, Vec<u8>)>>);

impl LinkObserver for Notes {
    fn pdu(&self, direction: Direction, _: StreamId, parts: &[&[u8]]) {
        self.0.lock().unwrap().push((direction, parts.concat()));
    }
}

#[test]
fn pdus_of_a_node_are_observed_until_the_watch_ends() {
    let (ric, orders) = start();
    let mut node = ric.node();
    node.set_up(1);
    let mut xapp = Xapp::connect(&ric.xapp, "first", plain()).unwrap();
    // the node is on the loop of its xApp before the watch begins, and moves there after it
    for follows_move_before in [true, false] {
        let notes = Arc::new(Notes::default());
        let mut other = ric.node();
        let number = if follows_move_before { 1 } else { 2 };
        let peer = if follows_move_before {
            &mut node
        } else {
            other.set_up(2);
            &mut other
        };
        let routed = follows_move_before.then(|| subscribe(&mut xapp, peer, number));
        orders.send(Order::Watch(Some(notes.clone()))).unwrap();
        wake(&ric);
        let (_, request_id, action) = routed.unwrap_or_else(|| subscribe(&mut xapp, peer, number));
        peer.report(request_id, action, b"observed");
        let has = |wanted: Direction, piece: &[u8]| {
            let notes = notes.0.lock().unwrap();
            notes.iter().any(|(of, pdu)| *of == wanted && pdu.windows(piece.len()).any(|window| window == piece))
        };
        eventually("the observed report", || {
            peer.report(request_id, action, b"observed");
            xapp.poll(Some(Duration::from_millis(5)), |_, _| ()).unwrap();
            has(Direction::Received, b"observed")
        });
        let id = node_id_of(&mut xapp, number);
        xapp.commands().subscribe(id, FUNCTION, report_spec(b"another trigger"));
        xapp.poll(Some(Duration::ZERO), |_, _| ()).unwrap();
        peer.admit();
        poll_until(&mut xapp, |event| {
            matches!(event, XappEvent::Request(RequestEvent::Subscribed { .. })).then_some(())
        });
        eventually("the observed request", || has(Direction::Sent, b"another trigger"));
        orders.send(Order::Watch(None)).unwrap();
        wake(&ric);
        // the observer is dropped by the loop of the link
        eventually("the end of the watch", || Arc::strong_count(&notes) == 1);
    }
}
