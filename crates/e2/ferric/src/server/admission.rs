//! Admission of new connections: accept, handshake, identification, rights.

use e2::{AssocId, CloseReason, Host, Origin, Time};
use e2ap::Codec;
use link::{Address, Link, State};
use tracing::{debug, info, warn};

use super::rights::Admission;
use super::{KIND_E42, KIND_NODE, KIND_XAPP, Server, ServerConfig};
use crate::{endpoint, peers};

/// The most connections that are accepted in one iteration.
const ACCEPT_BATCH: usize = 64;

impl Server {
    pub(super) fn accept(&mut self, now: Time, at: usize) {
        endpoint::renew_certificates(&self.config.link);
        for _ in 0..ACCEPT_BATCH {
            let Some((listener, kind)) = self.listeners.get_mut(at) else { return };
            let kind = *kind;
            // the listeners for E2 come first
            let codec = self.config.e2.get(at).map(|endpoint| endpoint.codec).unwrap_or_default();
            match listener.accept() {
                Ok(Some(link)) => self.handle_accepted(now, kind, codec, link),
                Ok(None) => return,
                Err(error) => {
                    if self.log_limiter.allow() {
                        warn!(address = %listener.local_address(), %error, "cannot accept a connection");
                    }
                    return;
                }
            }
        }
    }

    fn handle_accepted(&mut self, now: Time, kind: u64, codec: Codec, mut link: Link) {
        let peer = link.peer().clone();
        let ServerConfig { max_connections, max_xapp_connections, max_e42_connections, .. } = self.config;
        let (peers, limit, setting) = match kind {
            KIND_NODE => (&mut self.nodes, max_connections, "max_connections"),
            KIND_E42 => (&mut self.apps.e42.peers, max_e42_connections, "max_e42_connections"),
            _ => (&mut self.apps.xapp_links.xapps, max_xapp_connections, "max_xapp_connections"),
        };
        let origin = origin(&peer);
        // a peer that is gone already has no address
        let host = origin.host().unwrap_or(Host::Local);
        let is_known = self.controller.is_known_host(host);
        if let Err(rejection) = self.newcomers.check(peers, limit, host, is_known) {
            if self.log_limiter.allow_from(&peer) {
                warn!(%peer, "connection rejected: {rejection}; the limit is `{setting}`");
            }
            return;
        }
        let is_established = link.state() == State::Established;
        if kind == KIND_E42 {
            return self.handle_accepted_e42(now, host, link);
        }
        if kind == KIND_XAPP {
            // each loss is counted for its subscription
            link.note_dropped();
        }
        let inserted = peers.insert(&self.poll, link);
        if let Ok(assoc) = inserted {
            peers.set_host(assoc, host);
        }
        let assoc = match inserted {
            Ok(assoc) if kind == KIND_NODE => {
                self.apps.hosts.insert(assoc, &peer);
                debug!(%peer, "node connecting");
                self.controller.handle_open_in(now, assoc, codec);
                self.controller.set_origin(assoc, origin);
                assoc
            }
            Ok(assoc) => {
                debug!(%peer, "xApp connecting");
                self.expect_hello(now, assoc);
                self.apps.host.handle_open(assoc);
                assoc
            }
            Err(error) => {
                if self.log_limiter.allow_from(&peer) {
                    warn!(%peer, %error, "connection rejected: cannot register it with epoll");
                }
                return;
            }
        };
        if is_established {
            self.admit(now, assoc);
        }
    }

    /// Sets the deadline for an xApp's hello.
    pub(super) fn expect_hello(&mut self, now: Time, assoc: AssocId) {
        let connections = self.config.max_xapp_connections + self.config.max_e42_connections;
        if self.hello_deadlines.len() > 2 * connections {
            let apps = &mut self.apps;
            self.hello_deadlines.retain(|(_, assoc)| apps.is_silent(*assoc));
        }
        self.hello_deadlines.push_back((now + self.config.controller.setup_timeout, assoc));
    }

    /// Returns the earliest deadline for a hello that has not arrived.
    pub(super) fn hello_deadline(&mut self) -> Option<Time> {
        while let Some((by, assoc)) = self.hello_deadlines.front().copied() {
            if self.apps.is_silent(assoc) {
                return Some(by);
            }
            self.hello_deadlines.pop_front();
        }
        None
    }

    /// Identifies a peer whose handshake is complete, and gives it its rights or rejects it. Returns whether it is
    /// admitted.
    fn admit(&mut self, now: Time, assoc: AssocId) -> bool {
        const REFUSED: &str = "connection rejected: no access rule for the peer's certificate";
        const NOBODY: &str = "connection rejected: access rules need a certificate and the peer has none; use tls://";
        let is_node = peers::kind(assoc.0) == KIND_NODE;
        let peers = if is_node { &mut self.nodes } else { &mut self.apps.xapp_links.xapps };
        let Some(entry) = peers.get_mut(assoc) else { return false };
        let (peer, identity) = (entry.link.peer(), entry.link.identity());
        let certificate = identity.map(ToString::to_string);
        if certificate.is_some() && self.log_limiter.allow_from(peer) {
            info!(%peer, certificate, "{}", if is_node { "node authenticated" } else { "xApp authenticated" });
        }
        let is_refused = if is_node {
            match self.config.rights.of_node(identity) {
                Admission::Unknown => false,
                Admission::Known(rights) => {
                    self.controller.set_node_rights(assoc, rights);
                    false
                }
                Admission::Refused => true,
            }
        } else {
            match self.config.rights.of_xapp(identity) {
                Admission::Unknown => false,
                Admission::Known(rights) => {
                    self.apps.host.set_rights(assoc, rights);
                    false
                }
                Admission::Refused => true,
            }
        };
        if let (false, Some(identity)) = (is_node, identity) {
            self.apps.host.set_certificate(assoc, &identity.to_string());
        }
        entry.admitted = !is_refused;
        self.apps.hosts.admit(assoc, peer, identity);
        if is_refused {
            if self.log_limiter.allow_from(peer) {
                let fingerprint = identity.map(|identity| identity.fingerprint.to_string());
                warn!(%peer, certificate, fingerprint, "{}", if identity.is_some() { REFUSED } else { NOBODY });
            }
            if is_node {
                self.nodes.remove(&self.poll, assoc);
                self.controller.handle_close(now, assoc, CloseReason::NotAllowed);
            } else {
                // the refusal is sent before the link is closed
                self.apps.host.refuse(now, assoc, &mut self.controller);
            }
        }
        if !is_node && !is_refused {
            self.place_xapp(assoc);
        }
        !is_refused
    }

    /// Moves an xApp's link to its loop once it is established and before anything is read from it.
    fn place_xapp(&mut self, assoc: AssocId) {
        let event_loop = self.apps.workers.loop_for_xapp(self.load());
        if event_loop > 0
            && let Some(link) = self.apps.xapp_links.xapps.move_out(&self.poll, assoc)
        {
            self.apps.workers.place_xapp(event_loop, assoc, link);
        }
    }

    /// Continues the handshake of a link. Returns whether it is complete and the peer admitted.
    pub(super) fn continue_handshake(&mut self, now: Time, assoc: AssocId) -> bool {
        let is_node = peers::kind(assoc.0) == KIND_NODE;
        let peers = if is_node { &mut self.nodes } else { &mut self.apps.xapp_links.xapps };
        let Some(peer) = peers.get_mut(assoc) else { return false };
        match peer.link.finish_connect() {
            Ok(State::Established) => self.admit(now, assoc),
            Ok(_) => {
                // the rest is written when the link is writable
                peers.touch(assoc);
                false
            }
            Err(error) if is_node => {
                self.lose_node(now, assoc, &error);
                false
            }
            Err(error) => {
                self.lose_xapp(now, assoc, &error);
                false
            }
        }
    }

    /// Closes xApps that have sent no hello in time, which would occupy the places of others.
    pub(super) fn close_silent(&mut self, now: Time) {
        while let Some((by, assoc)) = self.hello_deadlines.front().copied()
            && by <= now
        {
            self.hello_deadlines.pop_front();
            self.apps.e42.close_silent(now, &self.poll, assoc, &mut self.controller);
            let peers =
                if peers::kind(assoc.0) == KIND_E42 { &self.apps.e42.peers } else { &self.apps.xapp_links.xapps };
            let host = peers.host_of(assoc);
            if self.apps.peer(assoc).is_some_and(|(_, has_sent)| has_sent) || self.apps.e42.has_sent(assoc) {
                host.into_iter().for_each(|host| self.newcomers.learn(host));
            }
            if let Some((peer, false)) = self.apps.peer(assoc) {
                if self.log_limiter.allow_from(peer) {
                    info!(xapp = %peer, "connection closed: no hello within the setup timeout");
                }
                drop(self.close_xapp(assoc));
                self.apps.host.handle_close(now, assoc, &mut self.controller);
            }
        }
    }
}

/// Returns the host of an accepted link's peer.
fn origin(peer: &Address) -> Origin {
    match peer {
        Address::Unix(_) | Address::Shm(_) | Address::Memory(_) => Origin::ThisHost,
        _ => Origin::Addresses(peer.ip_addresses()),
    }
}

#[cfg(all(test, feature = "tls"))]
mod tests;
