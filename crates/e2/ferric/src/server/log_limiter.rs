//! The limit of log lines that peers cause. The machines limit those of one association; this limits those of all peers
//! together, with a share per host.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Duration;

use e2::{AssocId, NodeId};
use link::{Address, Identity, Link};
use log_lines::{Host, LogBudget};
use tracing::{debug, warn};

use crate::peers;

/// The budget of lines, with the hosts of links. All event loops share one.
#[derive(Clone, Debug)]
pub(super) struct LogLimiter(LogBudget);

impl LogLimiter {
    pub fn new(per_minute: u32) -> Self {
        LogLimiter(LogBudget::new(per_minute))
    }

    /// Returns the budget, for others who log about peers of this server.
    pub fn budget(&self) -> &LogBudget {
        &self.0
    }

    /// Returns whether one more line about no particular peer is allowed, and counts it.
    pub fn allow(&self) -> bool {
        self.0.allow(Host::Unknown)
    }

    /// Returns whether one more line about a peer is allowed, and counts it.
    pub fn allow_from(&self, peer: &Address) -> bool {
        self.0.allow(host(peer))
    }

    /// Reports the suppressed lines once the minute has passed.
    pub fn report_suppressed(&self) {
        self.0.report_suppressed();
    }

    /// Returns the time until suppressed lines are to be reported.
    pub fn report_deadline(&self) -> Option<Duration> {
        self.0.report_deadline()
    }

    /// Reports the suppressed lines at once, at the end of the program.
    pub fn finish(&self) {
        self.0.finish();
    }

    /// Logs the loss of a link.
    pub fn lost(&self, what: &'static str, link: &Link, error: &link::Error) {
        let peer = link.peer();
        match error {
            link::Error::Closed => debug!(%peer, "{what} disconnected"),
            _ if !self.allow_from(peer) => {}
            link::Error::OutboxFull { .. } => {
                warn!(%peer, %error, "{what} disconnected: it does not read messages that must not be dropped");
            }
            _ => warn!(%peer, %error, "{what} connection closed"),
        }
    }
}

/// Returns the host of a peer's address.
pub(super) fn host(peer: &Address) -> Host {
    let name = match peer {
        Address::Tcp { host, .. } | Address::Tls { host, .. } => host,
        Address::Sctp { hosts, .. } => match hosts.first() {
            Some(host) => host,
            None => return Host::Unknown,
        },
        Address::Unix(_) | Address::Shm(_) | Address::Memory(_) => return Host::Local,
    };
    // a link-local address has a zone after it
    let address = name.split('%').next().unwrap_or(name);
    address.parse::<IpAddr>().map_or(Host::Unknown, Host::from)
}

/// What is kept of an association, whichever loop it is on.
#[derive(Clone, Debug)]
pub(super) struct Association {
    pub assoc: AssocId,
    pub peer: Address,
    /// The certificate of the peer, once it is admitted.
    pub identity: Option<Identity>,
}

/// The hosts of associations and nodes.
#[derive(Debug, Default)]
pub(super) struct Hosts {
    /// By kind and place of the association: a later association of that place replaces it, so that their number is that of
    /// simultaneous connections.
    associations: HashMap<(u64, usize), Association>,
    /// Of nodes that are up.
    nodes: HashMap<NodeId, Host>,
}

impl Hosts {
    /// Notes the host of a new association.
    pub fn insert(&mut self, assoc: AssocId, peer: &Address) {
        let association = Association { assoc, peer: peer.clone(), identity: None };
        self.associations.insert(place(assoc), association);
    }

    /// Notes that the peer of an association is admitted with this certificate.
    pub fn admit(&mut self, assoc: AssocId, peer: &Address, identity: Option<&Identity>) {
        let association = Association { assoc, peer: peer.clone(), identity: identity.cloned() };
        self.associations.insert(place(assoc), association);
    }

    /// Returns all associations; some of them have ended.
    pub fn associations(&self) -> impl Iterator<Item = &Association> {
        self.associations.values()
    }

    /// Returns the host of an association.
    pub fn of(&self, assoc: AssocId) -> Host {
        let found = self.associations.get(&place(assoc)).filter(|found| found.assoc == assoc);
        found.map_or(Host::Unknown, |found| host(&found.peer))
    }

    /// Notes the host of a node that is up.
    pub fn insert_node(&mut self, node: NodeId, assoc: AssocId) {
        let host = self.of(assoc);
        self.nodes.insert(node, host);
    }

    /// Removes a node, and returns its host.
    pub fn remove_node(&mut self, node: NodeId) -> Host {
        self.nodes.remove(&node).unwrap_or(Host::Unknown)
    }

    /// Returns the host of a node.
    pub fn of_node(&self, node: NodeId) -> Host {
        self.nodes.get(&node).copied().unwrap_or(Host::Unknown)
    }
}

fn place(assoc: AssocId) -> (u64, usize) {
    (peers::kind(assoc.0), peers::place(assoc.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_is_that_of_the_address() {
        let host = |url: &str| host(&url.parse().unwrap()).to_string();
        assert_eq!(host("tcp://192.0.2.1:7"), "192.0.2.1");
        assert_eq!(host("tls://[2001:db8::1]:7"), "2001:db8::/64");
        assert_eq!(host("sctp://192.0.2.1,192.0.2.2:7"), "192.0.2.1");
        assert_eq!(host("unix:/tmp/x"), "this host");
        assert_eq!(host("tcp://name.example:7"), "unknown host");
    }

    #[test]
    fn association_that_ended_has_no_host() {
        let mut hosts = Hosts::default();
        let assoc =
            |generation: u64| AssocId(peers::token(super::super::KIND_NODE, 3) | generation << peers::PLACE_BITS);
        hosts.insert(assoc(1), &"tcp://192.0.2.1:7".parse().unwrap());
        hosts.insert_node(NodeId(1), assoc(1));
        hosts.insert(assoc(2), &"tcp://192.0.2.2:7".parse().unwrap());
        assert_eq!(hosts.of(assoc(1)), Host::Unknown);
        assert_eq!(hosts.of(assoc(2)).to_string(), "192.0.2.2");
        assert_eq!(hosts.of_node(NodeId(1)).to_string(), "192.0.2.1");
        assert_eq!(hosts.remove_node(NodeId(1)).to_string(), "192.0.2.1");
        assert_eq!(hosts.remove_node(NodeId(1)), Host::Unknown);
    }
}
