//! FlexRIC's xApps, over E42.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use e2::{AssocId, Consumer, Controller, E42Host, Event, Indication, Time, XappRights};
use e2ap::RicIndicationType;
use e2ap::e42::E42Version;
use link::{Address, Class, Link, Poll, State, Tap};
use tracing::{debug, info, warn};

use super::log_limiter::LogLimiter;
use super::rights::Admission;
use super::{BUDGET_OCTETS, Counters, Server};
use crate::peers::Peers;

/// Where FlexRIC's xApps are awaited, and what they speak.
#[derive(Clone, Debug)]
pub struct E42Config {
    /// Where they connect. FlexRIC's are built for SCTP, port 36422.
    pub addresses: Vec<E42Address>,
    /// The version of E2AP that they were built with, which no message tells.
    pub version: E42Version,
    /// What those may do that show no certificate, where xApps have rights by certificate. Default: nothing, and they are
    /// turned away.
    pub without_certificate: Option<Arc<XappRights>>,
    /// Who looks on at their links. Default: nobody.
    pub tap: Option<Tap>,
}

/// The port on which FlexRIC's xApps connect.
pub const DEFAULT_E42_PORT: u16 = 36422;

/// None yet, for xApps that were built with E2AP v2, as FlexRIC builds them by default.
impl Default for E42Config {
    fn default() -> Self {
        E42Config { addresses: Vec::new(), version: E42Version::V2, without_certificate: None, tap: None }
    }
}

/// An address on which E42 is spoken: `e42+sctp://…`, `e42+tcp://…` or `e42+tls://…`; the `e42+` may be left out, and
/// so may the port ([`DEFAULT_E42_PORT`]). FlexRIC's own xApps do not speak TLS: what puts their framed PDUs into TLS is a
/// proxy beside them, or an xApp of another make.
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

/// The sessions and their links.
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

    /// Takes the news that is for one of these xApps.
    #[inline]
    pub fn handle_event(&mut self, event: Event) -> Option<Event> {
        self.host.handle_event(event)
    }

    /// Puts what the host wants said into the outboxes.
    pub fn send_queued(&mut self, lost: &mut Vec<(AssocId, link::Error)>) {
        while let Some(assoc) = self.host.poll_transmit(&mut self.out) {
            if let Err(error) = self.peers.send(assoc, &[&self.out], Class::Keep) {
                lost.push((assoc, error));
            }
            self.out.clear();
        }
        while let Some((assoc, notice)) = self.host.poll_notice() {
            if self.log_limiter.allow() {
                let peer = self.peers.get_mut(assoc).map(|peer| peer.link.peer().to_string());
                warn!(xapp = peer, "{notice}");
            }
        }
    }

    /// Puts an indication into the outbox of an xApp, under the name that it has there.
    pub fn forward(
        &mut self,
        consumer: Consumer,
        indication: &Indication<'_>,
        counters: &mut Counters,
        lost: &mut Vec<(AssocId, link::Error)>,
    ) {
        self.out.clear();
        let Some(assoc) = self.host.write_indication(consumer, indication, &mut self.out) else { return };
        let class = match indication.kind {
            RicIndicationType::Report => Class::Report,
            RicIndicationType::Insert => Class::Keep, // a procedure of the node waits for its answer
        };
        match self.peers.send(assoc, &[&self.out], class) {
            Ok(sent) if sent.dropped_reports == 0 => {}
            Ok(sent) => {
                counters.dropped_reports += u64::from(sent.dropped_reports);
                // E42 has no words for that: the log has them, once
                if let Some(peer) = self.peers.get_mut(assoc)
                    && !std::mem::replace(&mut peer.has_unreported_loss, true)
                {
                    warn!(xapp = %peer.link.peer(), "reads too slowly: reports are dropped");
                }
            }
            Err(error) => lost.push((assoc, error)),
        }
        self.out.clear();
    }

    /// Closes what the host wants closed.
    pub fn close_wanted(&mut self, poll: &Poll) {
        while let Some((assoc, reason)) = self.host.poll_close() {
            if let Some(link) = self.peers.remove(poll, assoc) {
                if self.log_limiter.allow() {
                    info!(xapp = %link.peer(), %reason, "closed");
                }
                link.close();
            }
        }
    }

    /// Whether an xApp is there and has said nothing yet.
    pub fn is_silent(&mut self, assoc: AssocId) -> bool {
        self.peers.get_mut(assoc).is_some_and(|peer| !peer.has_sent)
    }

    /// Takes out an xApp that said nothing.
    pub fn close_silent(&mut self, now: Time, poll: &Poll, assoc: AssocId, controller: &mut Controller) {
        if self.is_silent(assoc)
            && let Some(link) = self.peers.remove(poll, assoc)
        {
            if self.log_limiter.allow() {
                info!(xapp = %link.peer(), "closed: no E42 setup in time");
            }
            self.host.handle_close(now, assoc, controller);
        }
    }
}

impl Server {
    /// Where FlexRIC's xApps can connect, with the real port where port 0 was asked for.
    pub fn e42_addresses(&self) -> impl Iterator<Item = &Address> {
        self.addresses(super::KIND_E42)
    }

    pub(super) fn welcome_e42(&mut self, now: Time, link: Link) {
        let peer = link.peer().clone();
        let is_established = link.state() == State::Established;
        match self.apps.e42.peers.insert(&self.poll, link) {
            Ok(assoc) => {
                debug!(%peer, "an E42 xApp connects");
                self.expect_hello(now, assoc);
                self.apps.e42.host.handle_open(assoc);
                if is_established {
                    self.admit_e42(now, assoc);
                }
            }
            Err(error) if self.log_limiter.allow() => warn!(%peer, %error, "closed at once: cannot wait for it"),
            Err(_) => {}
        }
    }

    /// Who it is that has connected is known by now: it is given its rights, or turned away. Whether it may stay.
    fn admit_e42(&mut self, now: Time, assoc: AssocId) -> bool {
        let Some(peer) = self.apps.e42.peers.get_mut(assoc) else { return false };
        let (xapp, identity) = (peer.link.peer(), peer.link.identity());
        if let Some(certificate) = identity
            && self.log_limiter.allow()
        {
            info!(%xapp, %certificate, "an E42 xApp shows who it is");
        }
        let without = || self.config.e42.as_ref().and_then(|e42| e42.without_certificate.clone());
        let rights = match (self.config.rights.of_xapp(identity), identity) {
            (Admission::Unknown, _) => {
                peer.admitted = true;
                return true;
            }
            (Admission::Known(rights), _) => Some(rights),
            (Admission::Refused, None) => without(),
            (Admission::Refused, Some(_)) => None,
        };
        if let Some(rights) = rights {
            self.apps.e42.host.set_rights(assoc, rights);
            peer.admitted = true;
            return true;
        }
        match identity {
            _ if !self.log_limiter.allow() => {}
            Some(certificate) => {
                let fingerprint = &certificate.fingerprint;
                warn!(%xapp, %certificate, %fingerprint, "closed: its certificate is in no entry of the rights");
            }
            None => warn!(
                %xapp,
                "closed: xApps have rights by certificate here, and it has shown none; use e42+tls://, or say in \
                 `e42_rights` what xApps without one may do"
            ),
        }
        // E42 has no words for it
        self.apps.e42.peers.remove(&self.poll, assoc);
        self.apps.e42.host.handle_close(now, assoc, &mut self.controller);
        false
    }

    /// Goes on with what must be before a link stands. Whether it stands, and its peer may say something.
    fn continue_e42_handshake(&mut self, now: Time, assoc: AssocId) -> bool {
        let peers = &mut self.apps.e42.peers;
        let Some(peer) = peers.get_mut(assoc) else { return false };
        match peer.link.finish_connect() {
            Ok(State::Established) => self.admit_e42(now, assoc),
            Ok(_) => {
                // what could not be written at once is waited for
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
