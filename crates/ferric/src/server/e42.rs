//! FlexRIC's xApps, over E42.

use std::fmt;
use std::str::FromStr;

use e2::{AssocId, Consumer, Controller, E42Host, Event, Indication, Time};
use e2ap::RicIndicationType;
use e2ap::e42::E42Version;
use link::{Address, Class, Link, Poll, Tap};
use tracing::{debug, info, warn};

use super::rights::Admission;
use super::{BUDGET_OCTETS, Counters, Server, report_loss};
use crate::peers::Peers;

/// Where FlexRIC's xApps are awaited, and what they speak.
#[derive(Clone, Debug)]
pub struct E42Config {
    /// Where they connect. FlexRIC's are built for SCTP, port 36422.
    pub addresses: Vec<E42Address>,
    /// The version of E2AP that they were built with, which no message tells.
    pub version: E42Version,
    /// Who looks on at their links. Default: nobody.
    pub tap: Option<Tap>,
}

/// The port on which FlexRIC's xApps connect.
pub const DEFAULT_E42_PORT: u16 = 36422;

/// None yet, for xApps that were built with E2AP v2, as FlexRIC builds them by default.
impl Default for E42Config {
    fn default() -> Self {
        E42Config { addresses: Vec::new(), version: E42Version::V2, tap: None }
    }
}

/// An address on which E42 is spoken: `e42+sctp://…` or `e42+tcp://…`; the `e42+` may be left out. A port should be
/// named, since the usual one ([`DEFAULT_E42_PORT`]) is not that of E2.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct E42Address(pub Address);

/// Why a text is not an [`E42Address`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum E42AddressError {
    /// It is no address at all.
    Address(link::AddressError),
    /// It is one of TLS, which FlexRIC's xApps do not speak.
    Tls,
}

impl fmt::Display for E42AddressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            E42AddressError::Address(error) => error.fmt(f),
            E42AddressError::Tls => f.write_str("E42 goes without TLS, which FlexRIC's xApps do not speak"),
        }
    }
}

impl std::error::Error for E42AddressError {}

impl FromStr for E42Address {
    type Err = E42AddressError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.strip_prefix("e42+").unwrap_or(text).parse() {
            Ok(Address::Tls { .. }) => Err(E42AddressError::Tls),
            Ok(address) => Ok(E42Address(address)),
            Err(error) => Err(E42AddressError::Address(error)),
        }
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
    out: Vec<u8>,
}

impl E42Apps {
    pub fn new(host: E42Host, peers: Peers) -> Self {
        E42Apps { host, peers, out: Vec::new() }
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
            let peer = self.peers.get_mut(assoc).map(|peer| peer.link.peer().to_string());
            warn!(xapp = peer, "{notice}");
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
                    && !std::mem::replace(&mut peer.untold, true)
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
                info!(xapp = %link.peer(), %reason, "closed");
                link.close();
            }
        }
    }

    /// Whether an xApp is there and has said nothing yet.
    pub fn is_silent(&mut self, assoc: AssocId) -> bool {
        self.peers.get_mut(assoc).is_some_and(|peer| !peer.spoke)
    }

    /// Takes out an xApp that said nothing.
    pub fn end_silence(&mut self, now: Time, poll: &Poll, assoc: AssocId, controller: &mut Controller) {
        if self.is_silent(assoc)
            && let Some(link) = self.peers.remove(poll, assoc)
        {
            info!(xapp = %link.peer(), "closed: no E42 setup in time");
            self.host.handle_close(now, assoc, controller);
        }
    }
}

impl Server {
    /// Where FlexRIC's xApps can connect, with the real port where port 0 was asked for.
    pub fn e42_addresses(&self) -> impl Iterator<Item = &Address> {
        self.addresses(super::KIND_E42)
    }

    /// Where xApps have rights by certificate, one that can show none has no business here.
    pub(super) fn welcome_e42(&mut self, now: Time, link: Link) {
        let peer = link.peer().clone();
        if matches!(self.config.rights.of_xapp(None), Admission::Refused) {
            warn!(xapp = %peer, "closed: xApps have rights by certificate here, and over E42 none is shown");
            return;
        }
        match self.apps.e42.peers.insert(&self.poll, link) {
            Ok(assoc) => {
                debug!(%peer, "an E42 xApp connects");
                self.await_greeting(now, assoc);
                self.apps.e42.host.handle_open(assoc);
            }
            Err(error) => warn!(%peer, %error, "closed at once: cannot wait for it"),
        }
    }

    pub(super) fn receive_from_e42(&mut self, now: Time, assoc: AssocId) {
        let Server { apps, controller, scratch, .. } = self;
        let E42Apps { host, peers, .. } = &mut apps.e42;
        let Some(peer) = peers.get_mut(assoc) else { return };
        let spoke = &mut peer.spoke;
        let received = peer.link.receive(scratch, BUDGET_OCTETS, &mut |_stream, pdu| {
            *spoke = true;
            host.handle_pdu(now, assoc, pdu, controller);
        });
        if let Err(error) = received {
            self.lose_e42(now, assoc, &error);
        }
    }

    pub(super) fn lose_e42(&mut self, now: Time, assoc: AssocId, error: &link::Error) {
        let Some(link) = self.apps.e42.peers.remove(&self.poll, assoc) else { return };
        report_loss("E42 xApp", &link, error);
        self.apps.e42.host.handle_close(now, assoc, &mut self.controller);
    }
}
