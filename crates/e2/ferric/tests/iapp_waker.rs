//! iApps that other threads wake.

mod common;

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use common::peer::{FUNCTION, Peer};
use common::test_server::free_ports;
use common::{PATIENCE, eventually};
use e2ap::{Pdu, Version};
use ferric::e2::Indication;
use ferric::server::{Iapp, IappContext, IappEvent, Server};

/// Sends a control to every node for each payload that it is given.
struct Relay {
    wanted: Receiver<&'static [u8]>,
    woken: SyncSender<usize>,
}

impl Iapp for Relay {
    fn name(&self) -> &str {
        "relay"
    }

    fn on_event(&mut self, _: &IappEvent<'_>, _: &mut IappContext<'_>) {}

    fn on_indication(&mut self, _: &Indication<'_>, _: &mut IappContext<'_>) {}

    fn on_wake(&mut self, ric: &mut IappContext<'_>) {
        let nodes: Vec<_> = ric.nodes().map(|node| node.id).collect();
        if let Ok(message) = self.wanted.try_recv() {
            for node in &nodes {
                ric.control(*node, FUNCTION, b"", message).unwrap();
            }
        }
        self.woken.send(nodes.len()).unwrap();
    }
}

fn server() -> (Server, SyncSender<&'static [u8]>, Receiver<usize>) {
    let mut server = Server::bind(free_ports()).unwrap();
    let ((wants, wanted), (woken, wakes)) = (sync_channel(4), sync_channel(16));
    server.add_iapp(Box::new(Relay { wanted, woken }));
    (server, wants, wakes)
}

#[test]
fn woken_iapp_sends_controls_at_once() {
    let (mut server, wants, wakes) = server();
    let (waker, stop) = (server.iapp_waker().unwrap(), server.stop_handle());
    let e2 = server.e2_addresses().next().unwrap().clone();
    let running = std::thread::spawn(move || server.run().unwrap());
    let mut node = Peer::connect(&e2);
    node.set_up(1);
    wants.send(b"do this").unwrap();
    waker.clone().wake();
    assert_eq!(wakes.recv_timeout(PATIENCE), Ok(1));
    let gather = Default::default();
    match e2ap::decode(&node.receive(), Version::V2_03, &gather).unwrap().pdu {
        Pdu::RicControlRequest(control) => assert_eq!(control.message.to_cow(), b"do this".as_slice()),
        other => panic!("{other:?}"),
    }
    stop.stop();
    running.join().unwrap();
    waker.wake(); // the server is gone
}

#[test]
fn wakes_between_iterations_are_combined_and_none_is_lost() {
    let (mut server, _wants, wakes) = server();
    let waker = server.iapp_waker().unwrap();
    // before the first iteration
    (0..10).for_each(|_| waker.wake());
    eventually("the first wake-up", || {
        server.poll(Some(Duration::ZERO)).unwrap();
        wakes.try_recv().is_ok()
    });
    for _ in 0..100 {
        server.poll(Some(Duration::ZERO)).unwrap();
    }
    assert!(wakes.try_recv().is_err(), "one wake-up only");
    server.iapp_waker().unwrap().wake();
    eventually("the second", || {
        server.poll(Some(Duration::ZERO)).unwrap();
        wakes.try_recv().is_ok()
    });
}

/// Postpones its work when it is woken, and as often as `left` says.
struct Postponing {
    left: usize,
    calls: SyncSender<()>,
}

impl Iapp for Postponing {
    fn name(&self) -> &str {
        "postponing"
    }

    fn on_event(&mut self, _: &IappEvent<'_>, _: &mut IappContext<'_>) {}

    fn on_indication(&mut self, _: &Indication<'_>, _: &mut IappContext<'_>) {}

    fn on_wake(&mut self, ric: &mut IappContext<'_>) {
        ric.call_after_reading();
        ric.call_after_reading();
    }

    fn after_reading(&mut self, ric: &mut IappContext<'_>) {
        self.calls.send(()).unwrap();
        self.left -= 1;
        if self.left > 0 {
            ric.call_after_reading();
        }
    }
}

#[test]
fn postponed_work_is_done_once_in_each_iteration() {
    let mut server = Server::bind(free_ports()).unwrap();
    let (calls, called) = sync_channel(16);
    server.add_iapp(Box::new(Postponing { left: 3, calls }));
    server.iapp_waker().unwrap().wake();
    eventually("the first call", || {
        server.poll(Some(Duration::ZERO)).unwrap();
        called.try_recv().is_ok()
    });
    for _ in 0..2 {
        // without a wait, since there is work
        server.poll(None).unwrap();
        assert_eq!(called.try_iter().count(), 1);
    }
    server.poll(Some(Duration::from_millis(1))).unwrap();
    assert_eq!(called.try_iter().count(), 0);
}
