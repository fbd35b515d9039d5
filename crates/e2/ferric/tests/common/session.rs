//! xApps that use the library.

use std::time::{Duration, Instant};

use e2ap::{RicActionId, RicRequestId};
use ferric::e2::{NodeId, SubscriptionId};
use ferric::xapp::{RequestEvent, Xapp, XappConfig, XappEvent};

use super::PATIENCE;
use super::peer::{FUNCTION, Peer, node_id, report_spec};
use super::test_server::Ric;

/// A session that ends with its RIC.
pub fn plain() -> XappConfig {
    XappConfig { reconnect: None, ..XappConfig::default() }
}

/// Opens an xApp's session.
pub fn session(ric: &Ric) -> Xapp {
    Xapp::connect(&ric.xapp, "test", plain()).unwrap()
}

/// Polls until `wanted` finds its event.
pub fn poll_until<T>(xapp: &mut Xapp, mut wanted: impl FnMut(XappEvent<'_>) -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    let mut found = None;
    while found.is_none() {
        assert!(Instant::now() < deadline, "the event does not arrive");
        xapp.poll(Some(Duration::from_millis(100)), |event, _| found = found.take().or_else(|| wanted(event))).unwrap();
    }
    found.unwrap()
}

/// Returns the id that the RIC assigned to a node.
pub fn node_id_of(xapp: &mut Xapp, number: u32) -> NodeId {
    if let Some(node) = xapp.nodes().find(|node| node.global_id == node_id(number)) {
        return node.id;
    }
    poll_until(xapp, |event| match event {
        XappEvent::NodeUp(node) if node.global_id == node_id(number) => Some(node.id),
        _ => None,
    })
}

/// Subscribes `xapp` to the node `number` behind `node`, which admits it.
pub fn subscribe(xapp: &mut Xapp, node: &mut Peer, number: u32) -> (SubscriptionId, RicRequestId, RicActionId) {
    let id = node_id_of(xapp, number);
    xapp.commands().subscribe(id, FUNCTION, report_spec(b"trigger"));
    xapp.poll(Some(Duration::ZERO), |_, _| ()).unwrap();
    let (request_id, action) = node.admit();
    let subscription = poll_until(xapp, |event| match event {
        XappEvent::Request(RequestEvent::Subscribed { subscription, .. }) => Some(subscription),
        _ => None,
    });
    (subscription, request_id, action)
}
