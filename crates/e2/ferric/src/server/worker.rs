//! A loop without a controller: it owns links of nodes and xApps, and takes reports straight from the ones to the others,
//! its own and those of other workers. All else it sends up to the loop with the controller, which answers.
//!
//! # Order
//!
//! It is as with a single loop: an xApp hears that a subscription stands, then gets its indications in the order of the
//! node, then hears that it ended, and gets none after that.
//!
//! - A node's PDUs go up while one of them is on its way there: none overtakes it directly ([`Up::is_done`]). A record is
//!   called done once all that came of it is written, and a worker learns of that before it reads what was written.
//! - Rings are read so that what goes directly overtakes nothing from the first loop: a worker looks how far the other
//!   workers have written, then reads all that the first loop wrote, and then those others up to there.
//! - Nor the other way round: where the first loop has heard from a worker since, it says so ([`Head::Behind`]), and what
//!   that worker had written directly before is read first.
//! - Who gets what is told by what the xApps have been told ([`Takers`]), not by routes, which reach each loop at a time of
//!   its own.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use e2::xapp::{Envelope, Taking};
use e2::{AssocId, SubscriptionId};
use e2ap::{Codec, RicIndicationType};
use link::{Class, Events, Link, Poll, Scratch};
use tracing::warn;

use super::lane::{Lane, Up};
use super::lines::Lines;
use super::outlets::Outlets;
use super::ring::{Bell, Head, Moved, Reader, Record};
use super::routes::{Follower, Way};
use super::takers::Takers;
use super::{BUDGET_OCTETS, Counters, KIND_NODE, KIND_XAPP, reason};
use crate::peers::{self, Peers};

/// After this, a loop tries again to tell of reports for which another loop had no room.
pub(super) const TELL_AGAIN: Duration = Duration::from_millis(10);

/// What a worker counts, for others to read.
#[derive(Default)]
pub(super) struct Tally {
    indications: AtomicU64,
    deliveries: AtomicU64,
    dropped_reports: AtomicU64,
}

impl Tally {
    fn set(&self, counters: &Counters) {
        self.indications.store(counters.indications, Ordering::Release);
        self.deliveries.store(counters.deliveries, Ordering::Release);
        self.dropped_reports.store(counters.dropped_reports, Ordering::Release);
    }

    pub fn add_to(&self, counters: &mut Counters) {
        counters.indications += self.indications.load(Ordering::Acquire);
        counters.deliveries += self.deliveries.load(Ordering::Acquire);
        counters.dropped_reports += self.dropped_reports.load(Ordering::Acquire);
    }
}

/// What ties a worker to the others.
pub(super) struct Ties {
    /// Its number; that of the loop with the controller is 0.
    pub event_loop: usize,
    pub poll: Poll,
    pub bell: Arc<Bell>,
    pub stop: Arc<AtomicBool>,
    pub tally: Arc<Tally>,
    pub routes: Follower,
    pub up: Up,
    /// Towards the other workers, by number.
    pub across: Vec<Option<Lane>>,
    /// From the loop with the controller.
    pub owner: Reader,
    /// From the other workers, by number.
    pub others: Vec<Option<Reader>>,
    /// What request ids begin with.
    pub first_requestor: u16,
    pub lines: Lines,
}

pub(super) struct Worker {
    poll: Poll,
    events: Events,
    scratch: Scratch,
    bell: Arc<Bell>,
    stop: Arc<AtomicBool>,
    tally: Arc<Tally>,
    owner: Reader,
    others: Vec<Option<Reader>>,
    /// How far each of the others' rings is read this turn.
    ends: Vec<u64>,
    nodes: Peers,
    relay: Relay,
    /// Links that are not read for now.
    paused: Vec<AssocId>,
    /// xApps whose room was asked for.
    asked: Vec<(AssocId, u64)>,
    /// Links that were handed over in this turn. What their last loop has read of them is read here, whatever the system
    /// says of their readiness.
    adopted: Vec<AssocId>,
    outbox_octets: usize,
    lines: Lines,
}

/// What a node's PDU meets on its way.
struct Relay {
    event_loop: usize,
    first_requestor: u16,
    routes: Follower,
    takers: Takers,
    outlets: Outlets,
    across: Vec<Option<Lane>>,
    up: Up,
    counters: Counters,
}

impl Worker {
    pub fn new(ties: Ties, nodes: &link::Config, xapps: &link::Config) -> Self {
        let Ties { event_loop, poll, bell, stop, tally, routes, up, across, owner, others, first_requestor, lines } =
            ties;
        let outlets = Outlets::new(Peers::new(KIND_XAPP, xapps));
        let (takers, counters) = (Takers::default(), Counters::default());
        Worker {
            poll,
            events: Events::new(),
            scratch: Scratch::new(),
            bell,
            stop,
            tally,
            owner,
            ends: vec![0; others.len()],
            others,
            nodes: Peers::new(KIND_NODE, nodes),
            relay: Relay { event_loop, first_requestor, routes, takers, outlets, across, up, counters },
            paused: Vec::new(),
            asked: Vec::new(),
            adopted: Vec::new(),
            outbox_octets: nodes.outbox_octets,
            lines,
        }
    }

    /// Works until it is to stop.
    pub fn run(&mut self) -> io::Result<()> {
        while !self.stop.load(Ordering::Acquire) {
            self.turn()?;
        }
        Ok(())
    }

    fn turn(&mut self) -> io::Result<()> {
        let timeout = self.doze();
        self.poll.wait(&mut self.events, timeout)?;
        self.bell.rise();
        for (reader, end) in self.others.iter().zip(&mut self.ends) {
            *end = reader.as_ref().map_or(0, Reader::end);
        }
        self.relay.up.look();
        self.obey();
        for (reader, end) in self.others.iter_mut().zip(&self.ends) {
            if let Some(reader) = reader {
                reader.read(*end, |_| true, |record| self.relay.arrive(&record));
            }
        }
        self.resume();
        while let Some(assoc) = self.adopted.pop() {
            match peers::kind(assoc.0) {
                KIND_NODE => self.receive_from_node(assoc),
                _ => self.receive_from_xapp(assoc),
            }
        }
        let mut at = 0;
        while let Some(event) = self.events.get(at) {
            at += 1;
            let assoc = AssocId(event.token);
            match peers::kind(event.token) {
                KIND_NODE => {
                    if event.readable {
                        self.receive_from_node(assoc);
                    }
                    if event.writable {
                        self.nodes.touch(assoc);
                    }
                }
                KIND_XAPP => {
                    if event.readable {
                        self.receive_from_xapp(assoc);
                    }
                    if event.writable {
                        self.relay.outlets.xapps.touch(assoc);
                    }
                }
                _ => {} // the bell
            }
        }
        self.settle();
        Ok(())
    }

    /// How long to wait. Once this has looked, whoever has something for this loop rings.
    fn doze(&mut self) -> Option<Duration> {
        self.relay.up.await_news(!self.paused.is_empty());
        self.bell.doze();
        let written = self.owner.has_records() || self.others.iter().flatten().any(Reader::has_records);
        if written || self.relay.up.has_news() {
            return Some(Duration::ZERO);
        }
        let told = self.relay.across.iter_mut().flatten().all(Lane::tell_missed);
        if told { None } else { Some(TELL_AGAIN) }
    }

    /// Does what the loop with the controller says.
    fn obey(&mut self) {
        let Worker { poll, owner, others, nodes, relay, asked, adopted, lines, .. } = self;
        let obey = |record: Record<'_>| match record.head {
            Head::Adopt(assoc) => {
                let Moved { link, codec } = *record.link.expect("a link comes with it");
                let peer = link.peer().clone();
                let peers = if peers::kind(assoc.0) == KIND_NODE { &mut *nodes } else { &mut relay.outlets.xapps };
                match peers.insert_as(poll, assoc, link) {
                    Ok(()) => {
                        if let Some(peer) = peers.get_mut(assoc) {
                            peer.codec = codec;
                        }
                        adopted.push(assoc);
                    }
                    Err(error) => {
                        if lines.take() {
                            warn!(%peer, %error, "closed at once: cannot wait for it");
                        }
                        relay.up.send(Head::Gone(assoc, e2::CloseReason::Transport), &[]);
                    }
                }
            }
            Head::Send(assoc) if peers::kind(assoc.0) == KIND_NODE => {
                let [first, second] = record.payload;
                if let Err(error) = nodes.send(assoc, &[first, second], Class::Keep) {
                    relay.outlets.lost.push((assoc, error));
                }
            }
            Head::Send(assoc) => relay.tell_xapp(assoc, record.payload),
            Head::Ask(assoc, octets) => {
                asked.push((assoc, octets));
                relay.outlets.xapps.touch(assoc);
            }
            Head::Close(assoc) => {
                let link = match peers::kind(assoc.0) {
                    KIND_NODE => nodes.move_out(poll, assoc),
                    _ => relay.remove_xapp(poll, assoc),
                };
                if let Some(link) = link {
                    link.close();
                }
            }
            Head::Deliver(..) | Head::Missed(..) => relay.arrive(&record),
            Head::Behind(event_loop, sent_up) => {
                if let Some(Some(other)) = others.get_mut(event_loop as usize) {
                    let before = |head| !matches!(head, Head::Deliver(_, _, at) if at >= sent_up);
                    other.read(other.end(), before, |record| relay.arrive(&record));
                }
            }
            Head::Came(_) | Head::Gone(..) | Head::Room(..) => {
                unreachable!("a worker says this to the loop with the controller: {:?}", record.head)
            }
        };
        owner.read(owner.end(), |_| true, obey);
    }

    /// The hot path: from a node's read buffer to where its reports go.
    fn receive_from_node(&mut self, assoc: AssocId) {
        let Worker { poll, scratch, nodes, relay, paused, .. } = self;
        let Some(peer) = nodes.get_mut(assoc) else { return };
        if peer.paused {
            return;
        }
        let (codec, mut sent_up, mut held_up) = (peer.codec, peer.sent_up, false);
        let received = if relay.up.is_crowded() {
            held_up = true;
            Ok(link::Received::default())
        } else {
            peer.link.receive(scratch, BUDGET_OCTETS, &mut |_stream, pdu| {
                let direct = relay.way_of(assoc, codec, pdu);
                match direct {
                    Some((way, subscription, kind)) if relay.up.is_done(sent_up) => {
                        relay.deliver(&way, subscription, kind, pdu);
                    }
                    _ => {
                        // it goes up only since another did: better soon no more
                        held_up |= direct.is_some();
                        sent_up = relay.up.send(Head::Came(assoc), &[pdu]);
                    }
                }
            })
        };
        peer.sent_up = sent_up;
        peer.log_paths();
        let outcome = match received {
            Ok(_) if held_up || relay.up.is_stashed(sent_up) => {
                paused.push(assoc);
                nodes.pause(poll, assoc)
            }
            other => other.map(drop),
        };
        if let Err(error) = outcome {
            self.lose(assoc, &error);
        }
        self.relay.ring_bells();
    }

    fn receive_from_xapp(&mut self, assoc: AssocId) {
        let Worker { poll, scratch, relay: Relay { outlets: Outlets { xapps, .. }, up, .. }, paused, .. } = self;
        let Some(peer) = xapps.get_mut(assoc) else { return };
        if peer.paused {
            return;
        }
        let mut sent_up = peer.sent_up;
        let crowded = up.is_crowded();
        let received = if crowded {
            Ok(link::Received::default())
        } else {
            peer.link.receive(scratch, BUDGET_OCTETS, &mut |_stream, pdu| {
                sent_up = up.send(Head::Came(assoc), &[pdu]);
            })
        };
        peer.sent_up = sent_up;
        peer.log_paths();
        let outcome = match received {
            Ok(_) if crowded || up.is_stashed(sent_up) => {
                paused.push(assoc);
                xapps.pause(poll, assoc)
            }
            other => other.map(drop),
        };
        if let Err(error) = outcome {
            self.lose(assoc, &error);
        }
        self.relay.ring_bells();
    }

    /// Reads again from links of which nothing is on its way up any more.
    fn resume(&mut self) {
        let Worker { poll, nodes, relay: Relay { outlets, up, .. }, paused, .. } = self;
        if up.is_crowded() {
            return;
        }
        paused.retain(|assoc| {
            let peers = if peers::kind(assoc.0) == KIND_NODE { &mut *nodes } else { &mut outlets.xapps };
            match peers.get_mut(*assoc) {
                Some(peer) if !up.is_done(peer.sent_up) => return true,
                _ => {}
            }
            if let Err(error) = peers.resume(poll, *assoc) {
                outlets.lost.push((*assoc, error));
            }
            false
        });
    }

    /// Writes what has gathered, and says what is to be said of it.
    fn settle(&mut self) {
        self.tally.set(&self.relay.counters);
        loop {
            self.flush();
            self.tell_room();
            if self.relay.outlets.tell_slow(self.outbox_octets / 2) {
                self.flush();
            }
            if self.relay.outlets.lost.is_empty() {
                break;
            }
            for (assoc, error) in std::mem::take(&mut self.relay.outlets.lost) {
                self.lose(assoc, &error);
            }
        }
        self.relay.ring_bells();
    }

    fn flush(&mut self) {
        let (nodes, Outlets { xapps, lost, .. }) = (&mut self.nodes, &mut self.relay.outlets);
        nodes.flush(&self.poll, |assoc, error| lost.push((assoc, error)));
        xapps.flush(&self.poll, |assoc, error| lost.push((assoc, error)));
    }

    /// Tells of xApps that have room again, where it was asked for.
    fn tell_room(&mut self) {
        let Relay { outlets, up, .. } = &mut self.relay;
        self.asked.retain(|(assoc, octets)| {
            let room = outlets.xapps.has_room(*assoc, *octets as usize);
            let Some(peer) = outlets.xapps.get_mut(*assoc) else { return false };
            if room {
                up.send(Head::Room(*assoc, peer.link.kept_octets() as u64), &[]);
            } // else its writability is waited for
            !room
        });
    }

    fn lose(&mut self, assoc: AssocId, error: &link::Error) {
        let (what, link) = match peers::kind(assoc.0) {
            KIND_NODE => ("node", self.nodes.move_out(&self.poll, assoc)),
            _ => ("xApp", self.relay.remove_xapp(&self.poll, assoc)),
        };
        let Some(link) = link else { return };
        self.lines.lost(what, &link, error);
        self.relay.up.send(Head::Gone(assoc, reason(error)), &[]);
    }
}

impl Relay {
    /// The way of a PDU that this loop can take to whom it is for: all on workers, and nothing that must not be dropped
    /// between two of them.
    #[inline]
    fn way_of(&mut self, assoc: AssocId, codec: Codec, pdu: &[u8]) -> Option<(Way, SubscriptionId, RicIndicationType)> {
        let peeked = codec.peek_indication(pdu)?;
        let subscription = SubscriptionId::of_request(self.first_requestor, peeked.request_id)?;
        let way = self.routes.routes().get(subscription)?;
        let is_its_own = way.assoc == assoc && way.ran_function_id == peeked.ran_function_id;
        let is_direct = way.loops & 1 == 0;
        let is_kept = peeked.kind == RicIndicationType::Report || way.loops == 1 << self.event_loop;
        (is_its_own && is_direct && is_kept).then_some((*way, subscription, peeked.kind))
    }

    #[inline]
    fn deliver(&mut self, way: &Way, subscription: SubscriptionId, kind: RicIndicationType, pdu: &[u8]) {
        self.counters.indications += 1;
        let head = Envelope { node: way.node, subscription, pdu }.head();
        let mut loops = way.loops;
        while loops != 0 {
            let event_loop = loops.trailing_zeros() as usize;
            loops &= loops - 1;
            if event_loop == self.event_loop {
                let class = match kind {
                    RicIndicationType::Report => Class::Report,
                    RicIndicationType::Insert => Class::Keep,
                };
                self.hand_out(subscription, class, &[&head, pdu]);
            } else if let Some(lane) = &mut self.across[event_loop] {
                lane.report(subscription, self.up.sent(), &[&head, pdu]);
            }
        }
    }

    /// An enveloped indication goes to those xApps of this loop that take it.
    #[inline]
    fn hand_out(&mut self, subscription: SubscriptionId, class: Class, parts: &[&[u8]]) {
        for xapp in self.takers.of(subscription) {
            self.outlets.forward(*xapp, parts, class, &mut self.counters);
        }
    }

    /// Something for the xApps of this loop comes from another.
    fn arrive(&mut self, record: &Record<'_>) {
        match record.head {
            Head::Deliver(subscription, class, _) => self.hand_out(subscription, class, &record.payload),
            Head::Missed(subscription, reports) => {
                for xapp in self.takers.of(subscription) {
                    self.outlets.missed(*xapp, reports, &mut self.counters);
                }
            }
            other => unreachable!("no worker says this to another: {other:?}"),
        }
    }

    /// An xApp is told something.
    fn tell_xapp(&mut self, xapp: AssocId, payload: [&[u8]; 2]) {
        let [first, second] = payload;
        let mut beginning = [0; 16];
        let octets = beginning.iter_mut().zip(first.iter().chain(second)).map(|(to, from)| *to = *from).count();
        let change = Taking::of(&beginning[..octets]);
        if let Some(ends @ Taking::Ends(_)) = change {
            self.takers.change(xapp, ends);
        }
        self.outlets.send(xapp, &[first, second]);
        // one that is gone was forgotten already
        if let Some(begins @ Taking::Begins(_)) = change
            && self.outlets.xapps.get_mut(xapp).is_some()
        {
            self.takers.change(xapp, begins);
        }
    }

    fn remove_xapp(&mut self, poll: &Poll, xapp: AssocId) -> Option<Link> {
        self.takers.forget(xapp);
        self.outlets.xapps.move_out(poll, xapp)
    }

    fn ring_bells(&mut self) {
        self.up.writer.ring_bell();
        self.across.iter_mut().flatten().for_each(|lane| lane.writer.ring_bell());
    }
}
