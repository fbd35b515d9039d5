//! A well-behaved node and xApp that exchange numbered reports throughout a test.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use e2ap::RicIndicationType;
use ferric::StopHandle;
use ferric::xapp::{RequestEvent, Xapp, XappEvent};

use super::eventually;
use super::peer::{FUNCTION, Peer, report_spec};
use super::session::plain;
use super::test_server::Ric;

#[derive(Default)]
struct Shared {
    ended: AtomicBool,
    sent: AtomicU64,
    received: AtomicU64,
}

/// A node id that no other peer uses.
pub const WELL_BEHAVED_NODE: u32 = 0x00F0_0D00;

pub struct WellBehavedPeers {
    shared: Arc<Shared>,
    node: JoinHandle<Peer>,
    xapp: JoinHandle<()>,
    stop: StopHandle,
}

impl WellBehavedPeers {
    pub fn start(ric: &Ric) -> WellBehavedPeers {
        let shared = Arc::new(Shared::default());
        let mut peer = ric.node();
        peer.set_up(WELL_BEHAVED_NODE);
        let mut xapp = Xapp::connect(&ric.xapp, "well-behaved", plain()).unwrap();
        let stop = xapp.stop_handle();
        let xapp = {
            let (shared, stop) = (shared.clone(), stop.clone());
            std::thread::spawn(move || {
                let mut node = None;
                while !stop.is_stopped() {
                    let turned = xapp.poll(None, |event, ric| match event {
                        XappEvent::NodeUp(up) if up.global_id == super::peer::node_id(WELL_BEHAVED_NODE) => {
                            assert!(node.replace(up.id).is_none(), "the node is announced twice");
                            ric.subscribe(up.id, FUNCTION, report_spec(b"well-behaved"));
                        }
                        XappEvent::Indication(indication) => {
                            let peeked = indication.peek().unwrap();
                            assert_eq!(peeked.kind, RicIndicationType::Report);
                            let number = u64::from_be_bytes(peeked.message.try_into().unwrap());
                            assert_eq!(number, shared.received.load(Ordering::Relaxed), "a report is lost");
                            shared.received.store(number + 1, Ordering::Release);
                        }
                        XappEvent::NodeLost(lost) if Some(lost.id) == node => panic!("the node is lost"),
                        XappEvent::Request(RequestEvent::SubscriptionEnded { end, .. }) => {
                            panic!("the subscription ended: {end:?}")
                        }
                        XappEvent::Request(RequestEvent::SubscriptionFailed { error: failure, .. }) => {
                            panic!("{failure:?}")
                        }
                        XappEvent::ReportsDropped(reports) => panic!("{reports} reports were dropped"),
                        _ => {}
                    });
                    turned.expect("the session is open");
                }
            })
        };
        let node = {
            let shared = shared.clone();
            std::thread::spawn(move || {
                let (request_id, action) = peer.admit();
                while !shared.ended.load(Ordering::Acquire) {
                    for _ in 0..3 {
                        let number = shared.sent.fetch_add(1, Ordering::AcqRel);
                        peer.report(request_id, action, &number.to_be_bytes());
                    }
                    std::thread::sleep(Duration::from_millis(1)); // its period
                }
                eventually("every report", || {
                    shared.received.load(Ordering::Acquire) == shared.sent.load(Ordering::Acquire)
                });
                peer
            })
        };
        let peers = WellBehavedPeers { shared, node, xapp, stop };
        peers.check_progress();
        peers
    }

    /// Checks that reports still arrive.
    pub fn check_progress(&self) {
        let sent = self.shared.sent.load(Ordering::Acquire);
        eventually("reports of the well-behaved node", || {
            assert!(!self.node.is_finished() && !self.xapp.is_finished(), "a well-behaved peer failed");
            self.shared.received.load(Ordering::Acquire) > sent + 20
        });
    }

    /// Checks that all reports have arrived, in order.
    pub fn end(self) {
        self.shared.ended.store(true, Ordering::Release);
        let node = self.node.join();
        self.stop.stop();
        let xapp = self.xapp.join();
        drop(node.expect("the well-behaved node is served"));
        xapp.expect("the well-behaved xApp is served");
        assert_eq!(self.shared.sent.load(Ordering::Acquire), self.shared.received.load(Ordering::Acquire));
    }
}
