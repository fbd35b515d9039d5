//! What an iApp may read of the whole server: the apps, their subscriptions, and the counters.

use std::time::Duration;

use e2::{AssocId, Consumer, Node, NodeId, SubscriptionId};
use e2ap::RanFunctionId;
use log_lines::escaped;

use super::{Counters, IappContext, SubscriptionCounters};

/// The numbers of consumers from which on they are no iApps.
const FIRST_EXTERNAL: u32 = 1 << 16;

/// A subscription, as an operator sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubscriptionOverview {
    /// Its id.
    pub id: SubscriptionId,
    /// Its node.
    pub node: NodeId,
    /// The RAN function.
    pub function: RanFunctionId,
    /// Whether the node has confirmed it.
    pub is_active: bool,
    /// The number of its actions.
    pub actions: usize,
    /// The apps that receive its indications.
    pub apps: Vec<Consumer>,
    /// What was received for it since it was set up.
    pub counters: SubscriptionCounters,
    /// The time since the newest indication was read from its link; `None` if there was none.
    pub newest_age: Option<Duration>,
}

/// An xApp that is connected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct XappOverview {
    /// The consumer that it is.
    pub consumer: Consumer,
    /// The name that it gave itself, with control characters escaped.
    pub name: String,
    /// Its number among the sessions, from 1.
    pub number: u32,
    /// The number of its subscriptions, and of its controls and queries without an answer.
    pub requests: usize,
    /// The octets of messages that wait until the xApp reads: as of the last write to its link.
    pub outbox_octets: u64,
    /// Reports that were dropped since it reads too slowly.
    pub dropped_reports: u64,
}

impl IappContext<'_> {
    /// Returns the xApps that are connected.
    pub fn xapps(&self) -> impl Iterator<Item = XappOverview> {
        self.host.xapps().map(|(consumer, name, number)| {
            let (name, requests) = (escaped(name).to_string(), self.controller.requests_of(consumer));
            let (outbox_octets, dropped_reports) =
                self.host.assoc(consumer).map_or((0, 0), |xapp| self.outbox_of(xapp));
            XappOverview { consumer, name, number, requests, outbox_octets, dropped_reports }
        })
    }

    /// Returns all subscriptions.
    pub fn subscriptions(&self) -> impl Iterator<Item = SubscriptionOverview> {
        self.controller.subscriptions().map(|(id, node, function, is_active)| {
            let requested = self.controller.requested_at(id);
            let counters = requested.map(|requested| self.insight.counts.of(id, requested)).unwrap_or_default();
            SubscriptionOverview {
                id,
                node,
                function,
                is_active,
                actions: self.controller.subscription(id).map_or(0, |(_, _, spec)| spec.actions.len()),
                apps: self.controller.consumers(id).to_vec(),
                counters,
                newest_age: counters.newest.map(|newest| self.now - newest),
            }
        })
    }

    /// Returns the octets in an xApp's outbox, and the reports dropped there or on the way to it.
    fn outbox_of(&self, xapp: AssocId) -> (u64, u64) {
        let of_worker = self.insight.workers.outbox_level(xapp);
        of_worker.unwrap_or_else(|| {
            let peer = self.insight.xapp_links.xapps.get(xapp);
            peer.map_or((0, 0), |peer| (peer.link.queued_octets() as u64, peer.lost_reports()))
        })
    }

    /// Returns a node that is up.
    #[must_use]
    pub fn node(&self, id: NodeId) -> Option<&Node> {
        self.controller.node(id)
    }

    /// Returns the name of an app, for people: of an xApp its name and number, `iApp`, or `E42`.
    #[must_use]
    pub fn name_of(&self, app: Consumer) -> String {
        match self.host.name(app) {
            Some((name, number)) => format!("{} ({number})", escaped(name)),
            None if app.0 < FIRST_EXTERNAL => "iApp".to_owned(),
            None => "E42".to_owned(),
        }
    }

    /// Returns the counters of the server, as they were when the iApps were last woken ([`Iapp::on_wake`](super::Iapp::on_wake)).
    #[must_use]
    pub fn counters(&self) -> Counters {
        *self.counters
    }
}
