//! FlexRIC's xApps, which use E42.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use e2::{AssocId, Consumer, Controller, E42Host, Event, Indication, Selection, Time, XappRights};
use e2ap::e42::E42Version;
use e2ap::{RanFunctionId, RicIndicationType};
use link::{Address, Class, Link, Poll, State, Tap};
use tracing::{debug, info, warn};

use super::log_limiter::LogLimiter;
use super::receive::BUDGET_OCTETS;
use super::rights::Admission;
use super::{Counters, Server};
use crate::peers::Peers;

/// The configuration of the E42 interface for FlexRIC's xApps.
#[derive(Clone, Debug)]
pub struct E42Config {
    /// The addresses to listen on. FlexRIC's xApps are built for SCTP, port 36422.
    pub addresses: Vec<E42Address>,
    /// The version of E2AP that the xApps were built with; no message carries it.
    pub version: E42Version,
    /// The RAN functions that xApps see. Default: those that FlexRIC knows, since its xApps abort on others
    /// ([`E42Host::known_functions`]).
    pub functions: Selection<RanFunctionId>,
    /// The rights of xApps without a certificate when xApps have rights by certificate. Default: none, so that they
    /// are rejected.
    pub without_certificate: Option<Arc<XappRights>>,
    /// The tap of their links. Default: none.
    pub tap: Option<Tap>,
}

/// The default port of E42.
pub const DEFAULT_E42_PORT: u16 = 36422;

/// No addresses, E2AP v2, which FlexRIC uses by default, and the functions that FlexRIC knows.
impl Default for E42Config {
    fn default() -> Self {
        E42Config {
            addresses: Vec::new(),
            version: E42Version::V2,
            functions: E42Host::known_functions(),
            without_certificate: None,
            tap: None,
        }
    }
}

/// An address of the E42 interface: `e42+sctp://…`, `e42+tcp://…` or `e42+tls://…`. The `e42+` and the port
/// ([`DEFAULT_E42_PORT`]) are optional. FlexRIC's own xApps do not support TLS: either a proxy beside them does, or
/// the xApp is built otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct E42Address(pub Address);

impl FromStr for E42Address {
    type Err = link::AddressError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Address::from_url(text.strip_prefix("e42+").unwrap_or(text), DEFAULT_E42_PORT).map(E42Address)
    }
}

impl fmt::Display for E42Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "e42+{}", self.0)
    }
}

/// The sessions of E42 xApps, and their links.
pub(super) struct E42Apps {
    pub host: E42Host,
    pub peers: Peers,
    log_limiter: LogLimiter,
    out: Vec<u8>,
}

impl E42Apps {
    pub fn new(host: E42Host, peers: Peers, log_limiter: LogLimiter) -> Self {
        E42Apps { host, peers, log_limiter, out: Vec::new() }
    }

    /// Handles an event that concerns one of these xApps; returns any other.
    #[inline]
    pub fn handle_event(&mut self, event: Event) -> Option<Event> {
        self.host.handle_event(event)
    }

    /// Moves the host's output into the outboxes.
    pub fn send_queued(&mut self, lost: &mut Vec<(AssocId, link::Error)>) {
        while let Some(assoc) = self.host.poll_transmit(&mut self.out) {
            if let Err(error) = self.peers.send(assoc, &[&self.out], Class::Keep) {
                lost.push((assoc, error));
            }
            self.out.clear();
        }
        while let Some((assoc, notice)) = self.host.poll_notice() {
            let peer = self.peers.get_mut(assoc).map(|peer| peer.link.peer());
            if peer.map_or_else(|| self.log_limiter.allow(), |peer| self.log_limiter.allow_from(peer)) {
                warn!(xapp = peer.map(ToString::to_string), "{notice}");
            }
        }
    }

    /// Puts an indication into an xApp's outbox, with the request id that the xApp knows.
    pub fn forward(
        &mut self,
        consumer: Consumer,
        indication: &Indication<'_>,
        counters: &mut Counters,
        lost: &mut Vec<(AssocId, link::Error)>,
    ) {
        let class = match indication.kind {
            RicIndicationType::Report => Class::Report,
            RicIndicationType::Insert => Class::Keep, // a procedure of the node waits for the answer
        };
        let E42Apps { host, peers, out, .. } = self;
        let sent =
            host.relay_indication(consumer, indication, out, |assoc, parts| (assoc, peers.send(assoc, parts, class)));
        out.clear();
        let Some((assoc, sent)) = sent else { return };
        match sent {
            Ok(sent) if sent.dropped_reports == 0 => {}
            Ok(sent) => {
                counters.dropped_reports += u64::from(sent.dropped_reports);
                // E42 has no message for dropped reports, so that the first loss is logged
                if let Some(peer) = self.peers.get_mut(assoc)
                    && !std::mem::replace(&mut peer.has_unreported_loss, true)
                    && self.log_limiter.allow_from(peer.link.peer())
                {
                    warn!(xapp = %peer.link.peer(), "xApp reads too slowly: reports are dropped");
                }
            }
            Err(error) => lost.push((assoc, error)),
        }
    }

    /// Closes the links that the host wants closed.
    pub fn close_wanted(&mut self, poll: &Poll) {
        while let Some((assoc, reason)) = self.host.poll_close() {
            if let Some(link) = self.peers.remove(poll, assoc) {
                if self.log_limiter.allow_from(link.peer()) {
                    info!(xapp = %link.peer(), %reason, "E42 xApp disconnected");
                }
                link.close();
            }
        }
    }

    /// Returns whether an xApp is connected that has sent nothing yet.
    pub fn is_silent(&mut self, assoc: AssocId) -> bool {
        self.peers.get_mut(assoc).is_some_and(|peer| !peer.has_sent)
    }

    /// Returns whether an xApp is connected that has sent something.
    pub fn has_sent(&mut self, assoc: AssocId) -> bool {
        self.peers.get_mut(assoc).is_some_and(|peer| peer.has_sent)
    }

    /// Closes an xApp that has sent nothing.
    pub fn close_silent(&mut self, now: Time, poll: &Poll, assoc: AssocId, controller: &mut Controller) {
        if self.is_silent(assoc)
            && let Some(link) = self.peers.remove(poll, assoc)
        {
            if self.log_limiter.allow_from(link.peer()) {
                info!(xapp = %link.peer(), "connection closed: no E42 setup within the setup timeout");
            }
            self.host.handle_close(now, assoc, controller);
        }
    }
}

impl Server {
    /// Returns the addresses on which E42 xApps connect, with the assigned port for port 0.
    pub fn e42_addresses(&self) -> impl Iterator<Item = &Address> {
        self.addresses(super::KIND_E42)
    }

    pub(super) fn handle_accepted_e42(&mut self, now: Time, host: e2::Host, link: Link) {
        let peer = link.peer().clone();
        let is_established = link.state() == State::Established;
        match self.apps.e42.peers.insert(&self.poll, link) {
            Ok(assoc) => {
                debug!(%peer, "E42 xApp connecting");
                self.apps.e42.peers.set_host(assoc, host);
                self.expect_hello(now, assoc);
                self.apps.e42.host.handle_open(assoc);
                if is_established {
                    self.admit_e42(now, assoc);
                }
            }
            Err(error) if self.log_limiter.allow_from(&peer) => {
                warn!(%peer, %error, "connection rejected: cannot register it with epoll")
            }
            Err(_) => {}
        }
    }

    /// Identifies a peer whose handshake is complete, and gives it its rights or rejects it. Returns whether it is
    /// admitted.
    fn admit_e42(&mut self, now: Time, assoc: AssocId) -> bool {
        let Some(peer) = self.apps.e42.peers.get_mut(assoc) else { return false };
        let (xapp, identity) = (peer.link.peer(), peer.link.identity());
        if let Some(certificate) = identity
            && self.log_limiter.allow_from(xapp)
        {
            info!(%xapp, %certificate, "E42 xApp authenticated");
        }
        if let Some(certificate) = identity {
            self.apps.e42.host.set_certificate(assoc, &certificate.to_string());
        }
        let without = || self.config.e42.as_ref().and_then(|e42| e42.without_certificate.clone());
        let rights = match (self.config.rights.of_xapp(identity), identity) {
            (Admission::Unknown, _) => {
                self.apps.hosts.admit(assoc, xapp, identity);
                peer.admitted = true;
                return true;
            }
            (Admission::Known(rights), _) => Some(rights),
            (Admission::Refused, None) => without(),
            (Admission::Refused, Some(_)) => None,
        };
        if let Some(rights) = rights {
            self.apps.e42.host.set_rights(assoc, rights);
            self.apps.hosts.admit(assoc, xapp, identity);
            peer.admitted = true;
            return true;
        }
        match identity {
            _ if !self.log_limiter.allow_from(xapp) => {}
            Some(certificate) => {
                let fingerprint = &certificate.fingerprint;
                warn!(%xapp, %certificate, %fingerprint, "connection rejected: no access rule for the peer's certificate");
            }
            None => warn!(
                %xapp,
                "connection rejected: access rules need a certificate and the peer has none; use e42+tls://, or set \\
                 `e42_rights` for xApps without a certificate"
            ),
        }
        // E42 has no message for a refusal
        self.apps.e42.peers.remove(&self.poll, assoc);
        self.apps.e42.host.handle_close(now, assoc, &mut self.controller);
        false
    }

    /// Continues the handshake of a link. Returns whether it is complete and the peer admitted.
    fn continue_e42_handshake(&mut self, now: Time, assoc: AssocId) -> bool {
        let peers = &mut self.apps.e42.peers;
        let Some(peer) = peers.get_mut(assoc) else { return false };
        match peer.link.finish_connect() {
            Ok(State::Established) => self.admit_e42(now, assoc),
            Ok(_) => {
                // the rest is written when the link is writable
                peers.touch(assoc);
                false
            }
            Err(error) => {
                self.lose_e42(now, assoc, &error);
                false
            }
        }
    }

    pub(super) fn receive_from_e42(&mut self, now: Time, assoc: AssocId) {
        if self.apps.e42.peers.get_mut(assoc).is_some_and(|peer| !peer.admitted)
            && !self.continue_e42_handshake(now, assoc)
        {
            return;
        }
        let Server { apps, controller, scratch, .. } = self;
        let E42Apps { host, peers, .. } = &mut apps.e42;
        let Some(peer) = peers.get_mut(assoc) else { return };
        let has_sent = &mut peer.has_sent;
        let received = peer.link.receive(scratch, BUDGET_OCTETS, &mut |_stream, pdu| {
            *has_sent = true;
            host.handle_pdu(now, assoc, pdu, controller);
        });
        if let Err(error) = received {
            self.lose_e42(now, assoc, &error);
        }
    }

    pub(super) fn lose_e42(&mut self, now: Time, assoc: AssocId, error: &link::Error) {
        let Some(link) = self.apps.e42.peers.remove(&self.poll, assoc) else { return };
        self.log_limiter.lost("E42 xApp", &link, error);
        self.apps.e42.host.handle_close(now, assoc, &mut self.controller);
    }
}
