//! A worker: an event loop without the controller machine. It has links of nodes and xApps, and forwards reports from
//! the former to the latter, its own and those of other workers. Everything else goes to the main loop, which has the
//! controller.
//!
//! # Order
//!
//! The order is that of a single loop: an xApp gets the message that a subscription is set up, then its indications in
//! the order of the node, then the message that it ended, and none after that.
//!
//! - While a PDU of a node is on its way to the main loop, the node's later PDUs follow it, so that none overtakes it
//!   ([`WorkerOutbox::is_done`]). A record is done once all its consequences are written; a worker learns that before it
//!   reads what was written.
//! - Nothing that workers exchange overtakes records of the main loop: a worker notes how far the other workers have
//!   written, then reads all records of the main loop, then those of the other workers up to the noted position.
//! - Nor vice versa: after the main loop has read a record of a worker, it sends [`RecordHeader::OrderAfter`], upon
//!   which the earlier records of that worker are read first.
//! - The receivers of an indication follow from the messages that the xApps got ([`SubscriberTable`]), not from
//!   routes, which reach each loop at a different time.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use e2::xapp::{DeliveryChange, Envelope};
use e2::{AssocId, SubscriptionId, Time};
use e2ap::{Codec, RicIndicationType};
use link::{Class, Events, Link, Poll, Scratch, Ticker};
use tracing::warn;

use super::balance::LoopTimer;
use super::counters::{Counters, SharedCounters};
use super::indication_counts::IndicationCounter;
use super::log_limiter::LogLimiter;
use super::pending::reason;
use super::receive::BUDGET_OCTETS;
use super::ring::{Doorbell, Moved, Reader, Record, RecordHeader};
use super::routes::{Route, RouteReader};
use super::send_queue::{SendQueue, WorkerOutbox};
use super::subscribers::SubscriberTable;
use super::sweep;
use super::trace::{Delivered, Tracer, WorkerTraces};
use super::xapp_links::XappLinks;
use super::{KIND_NODE, KIND_TICK, KIND_XAPP};
use crate::event_loop::Clock;
use crate::peers::{self, Peers};

/// The delay before another attempt to report missed reports to a loop whose ring is full.
pub(super) const RETRY_INTERVAL: Duration = Duration::from_millis(10);

/// What connects a worker to the other loops.
pub(super) struct WorkerConnections {
    /// The worker's number; the main loop is 0.
    pub event_loop: usize,
    pub poll: Poll,
    pub bell: Arc<Doorbell>,
    pub stop: Arc<AtomicBool>,
    pub shared_counters: Arc<SharedCounters>,
    pub counter: IndicationCounter,
    /// That of the main loop.
    pub clock: Clock,
    pub routes: RouteReader,
    pub up: WorkerOutbox,
    /// To the other workers, by number.
    pub across: Vec<Option<SendQueue>>,
    /// From the main loop.
    pub owner: Reader,
    /// From the other workers, by number.
    pub others: Vec<Option<Reader>>,
    /// The requestor id of the first request.
    pub first_requestor: u16,
    /// Of [`sweep::sweep`].
    pub ticker: Ticker,
    pub log_limiter: LogLimiter,
    pub traces: WorkerTraces,
    pub time: LoopTimer,
}

pub(super) struct Worker {
    poll: Poll,
    events: Events,
    scratch: Scratch,
    bell: Arc<Doorbell>,
    stop: Arc<AtomicBool>,
    shared_counters: Arc<SharedCounters>,
    clock: Clock,
    owner: Reader,
    others: Vec<Option<Reader>>,
    /// The position up to which each ring of the other workers is read in this iteration.
    ends: Vec<u64>,
    nodes: Peers,
    relay: Relay,
    /// Links with suspended reading.
    paused: Vec<AssocId>,
    /// Links whose room was requested.
    room_requests: Vec<(AssocId, u64)>,
    /// Links that were moved here in this iteration. Their previous loop may have read part of a PDU and what follows,
    /// so that they are read whether or not epoll reports them.
    adopted: Vec<AssocId>,
    outbox_octets: usize,
    /// Of [`sweep::sweep`].
    ticker: Ticker,
    log_limiter: LogLimiter,
    traces: WorkerTraces,
    time: LoopTimer,
}

/// What forwards a node's PDUs.
struct Relay {
    event_loop: usize,
    first_requestor: u16,
    routes: RouteReader,
    subscribers: SubscriberTable,
    xapp_links: XappLinks,
    across: Vec<Option<SendQueue>>,
    up: WorkerOutbox,
    counters: Counters,
    tracer: Option<Tracer>,
    counter: IndicationCounter,
    /// The beginning of this iteration.
    now: Time,
}

impl Worker {
    pub fn new(connections: WorkerConnections, nodes: &link::Config, xapps: &link::Config) -> Self {
        let WorkerConnections {
            event_loop,
            poll,
            bell,
            stop,
            shared_counters,
            counter,
            clock,
            routes,
            up,
            across,
            owner,
            others,
            first_requestor,
            ticker,
            log_limiter,
            traces,
            time,
        } = connections;
        let xapp_links = XappLinks::new(Peers::new(KIND_XAPP, xapps));
        let (subscribers, counters) = (SubscriberTable::default(), Counters::default());
        Worker {
            poll,
            events: Events::new(),
            scratch: Scratch::new(),
            bell,
            stop,
            shared_counters,
            clock,
            owner,
            ends: vec![0; others.len()],
            others,
            nodes: Peers::new(KIND_NODE, nodes),
            relay: Relay {
                event_loop,
                first_requestor,
                routes,
                subscribers,
                xapp_links,
                across,
                up,
                counters,
                tracer: None,
                counter,
                now: clock.now(),
            },
            paused: Vec::new(),
            room_requests: Vec::new(),
            adopted: Vec::new(),
            outbox_octets: nodes.outbox_octets,
            ticker,
            log_limiter,
            traces,
            time,
        }
    }

    /// Runs until the server stops.
    pub fn run(&mut self) -> io::Result<()> {
        while !self.stop.load(Ordering::Acquire) {
            self.run_once()?;
        }
        Ok(())
    }

    fn run_once(&mut self) -> io::Result<()> {
        let timeout = self.begin_sleep();
        self.poll.wait(&mut self.events, timeout)?;
        self.bell.end_sleep();
        self.relay.now = self.clock.now();
        self.time.update(self.relay.now);
        for (reader, end) in self.others.iter().zip(&mut self.ends) {
            *end = reader.as_ref().map_or(0, Reader::end);
        }
        self.relay.up.update_progress();
        self.execute();
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
        let mut is_sweep_due = false;
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
                        self.relay.xapp_links.xapps.touch(assoc);
                    }
                }
                KIND_TICK => is_sweep_due = true,
                _ => {} // the doorbell
            }
        }
        if is_sweep_due {
            self.ticker.acknowledge();
            let XappLinks { xapps, lost, .. } = &mut self.relay.xapp_links;
            for peers in [&mut self.nodes, xapps] {
                sweep::sweep(peers, |assoc, error| lost.push((assoc, error)));
            }
        }
        self.process_pending();
        self.traces.update(&mut self.relay.tracer);
        if let Some(tracer) = &mut self.relay.tracer {
            self.traces.send_written(tracer);
        }
        Ok(())
    }

    /// Prepares to sleep: from now on other loops ring the doorbell. Returns the longest time to sleep.
    fn begin_sleep(&mut self) -> Option<Duration> {
        self.relay.up.await_progress(!self.paused.is_empty());
        self.bell.begin_sleep();
        let written = self.owner.has_records() || self.others.iter().flatten().any(Reader::has_records);
        if written || self.relay.up.has_progress() {
            return Some(Duration::ZERO);
        }
        let all_reported = self.relay.across.iter_mut().flatten().all(SendQueue::report_missed);
        if all_reported { None } else { Some(RETRY_INTERVAL) }
    }

    /// Executes the records of the main loop.
    fn execute(&mut self) {
        let Worker { poll, owner, others, nodes, relay, room_requests, adopted, log_limiter, .. } = self;
        let execute = |record: Record<'_>| match record.head {
            RecordHeader::Adopt(assoc) => {
                let Moved { link, codec, level } = *record.link.expect("its parcel contains a link");
                let peer = link.peer().clone();
                let peers = if peers::kind(assoc.0) == KIND_NODE { &mut *nodes } else { &mut relay.xapp_links.xapps };
                match peers.insert_as(poll, assoc, link) {
                    Ok(()) => {
                        if let Some(peer) = peers.get_mut(assoc) {
                            peer.codec = codec;
                            peer.level = Some(level);
                        }
                        adopted.push(assoc);
                    }
                    Err(error) => {
                        if log_limiter.allow_from(&peer) {
                            warn!(%peer, %error, "connection rejected: cannot register it with epoll");
                        }
                        relay.up.send(RecordHeader::Lost(assoc, e2::CloseReason::Transport), &[]);
                    }
                }
            }
            RecordHeader::Send(assoc) if peers::kind(assoc.0) == KIND_NODE => {
                let [first, second] = record.payload;
                if let Err(error) = nodes.send(assoc, &[first, second], Class::Keep) {
                    relay.xapp_links.lost.push((assoc, error));
                }
            }
            RecordHeader::Send(assoc) => relay.send_to_xapp(assoc, record.payload),
            RecordHeader::RequestRoom(assoc, octets) => {
                room_requests.push((assoc, octets));
                match peers::kind(assoc.0) {
                    KIND_NODE => nodes.touch(assoc),
                    _ => relay.xapp_links.xapps.touch(assoc),
                }
            }
            RecordHeader::Probe(assoc) => {
                if let Some(peer) = nodes.get_mut(assoc) {
                    peer.link.probe();
                }
            }
            RecordHeader::Watch(assoc) => {
                if let Some(peer) = nodes.get_mut(assoc) {
                    peer.link.watch(record.observer);
                }
            }
            RecordHeader::Close(assoc) => {
                let link = match peers::kind(assoc.0) {
                    KIND_NODE => nodes.move_out(poll, assoc),
                    _ => relay.remove_xapp(poll, assoc),
                };
                if let Some(link) = link {
                    link.close();
                }
            }
            RecordHeader::Return(assoc) => {
                // without the link, the main loop learns of its end
                let codec = nodes.get_mut(assoc).map(|peer| peer.codec);
                if let Some((codec, link)) = codec.zip(nodes.move_out(poll, assoc)) {
                    let moved = Box::new(Moved { link, codec, level: Arc::default() });
                    relay.up.send_link(RecordHeader::Returned(assoc), moved);
                }
            }
            RecordHeader::Deliver(..) | RecordHeader::Missed(..) => relay.arrive(&record),
            RecordHeader::OrderAfter(event_loop, sent_up) => {
                if let Some(Some(other)) = others.get_mut(event_loop as usize) {
                    let before = |head| !matches!(head, RecordHeader::Deliver(_, _, at) if at >= sent_up);
                    other.read(other.end(), before, |record| relay.arrive(&record));
                }
            }
            RecordHeader::Received(_)
            | RecordHeader::Lost(..)
            | RecordHeader::HasRoom(..)
            | RecordHeader::Returned(_) => {
                unreachable!("only workers send this record: {:?}", record.head)
            }
        };
        owner.read(owner.end(), |_| true, execute);
    }

    /// The hot path: from a node's read buffer to the receivers of its reports.
    fn receive_from_node(&mut self, assoc: AssocId) {
        let Worker { poll, scratch, nodes, relay, paused, .. } = self;
        let Some(peer) = nodes.get_mut(assoc) else { return };
        if peer.paused {
            return;
        }
        let (codec, mut sent_up, mut held_up) = (peer.codec, peer.sent_up, false);
        let received = if relay.up.is_over_limit() {
            held_up = true;
            Ok(link::Received::default())
        } else {
            peer.link.receive(scratch, BUDGET_OCTETS, &mut |_stream, pdu| {
                let begun = relay.tracer.as_mut().and_then(Tracer::begin);
                let direct = relay.direct_route(assoc, codec, pdu);
                match direct {
                    Some((route, subscription, kind)) if relay.up.is_done(sent_up) => {
                        match relay.tracer.as_mut().map(|tracer| tracer.route(begun)) {
                            Some(Some(times)) => relay.deliver_traced(&route, subscription, kind, pdu, times),
                            _ => relay.deliver(&route, subscription, kind, pdu),
                        }
                    }
                    _ => {
                        // it follows an earlier PDU to the main loop; reading pauses, so that later ones need not
                        held_up |= direct.is_some();
                        sent_up = relay.up.send(RecordHeader::Received(assoc), &[pdu]);
                    }
                }
            })
        };
        peer.sent_up = sent_up;
        peer.log_paths();
        let outcome = match received {
            Ok(_) if held_up || relay.up.is_queued(sent_up) => {
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
        let Worker { poll, scratch, relay: Relay { xapp_links: XappLinks { xapps, .. }, up, .. }, paused, .. } = self;
        let Some(peer) = xapps.get_mut(assoc) else { return };
        if peer.paused {
            return;
        }
        let mut sent_up = peer.sent_up;
        let crowded = up.is_over_limit();
        let received = if crowded {
            Ok(link::Received::default())
        } else {
            peer.link.receive(scratch, BUDGET_OCTETS, &mut |_stream, pdu| {
                sent_up = up.send(RecordHeader::Received(assoc), &[pdu]);
            })
        };
        peer.sent_up = sent_up;
        peer.log_paths();
        let outcome = match received {
            Ok(_) if crowded || up.is_queued(sent_up) => {
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

    /// Resumes reading from links without PDUs on their way to the main loop.
    fn resume(&mut self) {
        let Worker { poll, nodes, relay: Relay { xapp_links, up, .. }, paused, .. } = self;
        if up.is_over_limit() {
            return;
        }
        paused.retain(|assoc| {
            let peers = if peers::kind(assoc.0) == KIND_NODE { &mut *nodes } else { &mut xapp_links.xapps };
            match peers.get_mut(*assoc) {
                Some(peer) if !up.is_done(peer.sent_up) => return true,
                _ => {}
            }
            if let Err(error) = peers.resume(poll, *assoc) {
                xapp_links.lost.push((*assoc, error));
            }
            false
        });
    }

    /// Writes what has gathered, and handles the results.
    fn process_pending(&mut self) {
        self.shared_counters.set(&self.relay.counters);
        loop {
            self.flush();
            self.report_room();
            if self.relay.xapp_links.notify_slow_readers(self.outbox_octets / 2, &self.log_limiter) {
                self.flush();
            }
            if self.relay.xapp_links.lost.is_empty() {
                break;
            }
            for (assoc, error) in std::mem::take(&mut self.relay.xapp_links.lost) {
                self.lose(assoc, &error);
            }
        }
        self.relay.ring_bells();
    }

    fn flush(&mut self) {
        let (nodes, XappLinks { xapps, lost, .. }) = (&mut self.nodes, &mut self.relay.xapp_links);
        nodes.flush(&self.poll, |assoc, error| lost.push((assoc, error)));
        xapps.flush(&self.poll, |assoc, error| lost.push((assoc, error)));
    }

    /// Answers requests for links that have room again.
    fn report_room(&mut self) {
        let Worker { nodes, relay: Relay { xapp_links, up, .. }, room_requests, .. } = self;
        room_requests.retain(|(assoc, octets)| {
            let peers = if peers::kind(assoc.0) == KIND_NODE { &mut *nodes } else { &mut xapp_links.xapps };
            let room = peers.has_room(*assoc, *octets as usize);
            let Some(peer) = peers.get_mut(*assoc) else { return false };
            if room {
                up.send(RecordHeader::HasRoom(*assoc, peer.link.kept_octets() as u64), &[]);
            } // otherwise its writability is waited for
            !room
        });
    }

    fn lose(&mut self, assoc: AssocId, error: &link::Error) {
        let (what, link) = match peers::kind(assoc.0) {
            KIND_NODE => ("node", self.nodes.move_out(&self.poll, assoc)),
            _ => ("xApp", self.relay.remove_xapp(&self.poll, assoc)),
        };
        let Some(link) = link else { return };
        self.log_limiter.lost(what, &link, error);
        self.relay.up.send(RecordHeader::Lost(assoc, reason(error)), &[]);
    }
}

impl Relay {
    /// Returns the route of a PDU that this loop may forward itself: all consumers are on workers, and nothing that
    /// must not be dropped goes to another worker.
    #[inline]
    fn direct_route(
        &mut self,
        assoc: AssocId,
        codec: Codec,
        pdu: &[u8],
    ) -> Option<(Route, SubscriptionId, RicIndicationType)> {
        let peeked = codec.peek_indication(pdu)?;
        let subscription = SubscriptionId::of_request(self.first_requestor, peeked.request_id)?;
        let route = self.routes.routes().get(subscription)?;
        let is_its_own = route.assoc == assoc && route.ran_function_id == peeked.ran_function_id;
        let is_direct = route.loops & 1 == 0;
        let is_kept = peeked.kind == RicIndicationType::Report || route.loops == 1 << self.event_loop;
        (is_its_own && is_direct && is_kept).then_some((*route, subscription, peeked.kind))
    }

    #[inline]
    fn deliver(&mut self, route: &Route, subscription: SubscriptionId, kind: RicIndicationType, pdu: &[u8]) {
        self.counters.indications += 1;
        self.counter.count(subscription, pdu.len(), self.now);
        let head = Envelope { node: route.node, subscription, pdu }.head();
        let mut loops = route.loops;
        while loops != 0 {
            let event_loop = loops.trailing_zeros() as usize;
            loops &= loops - 1;
            if event_loop == self.event_loop {
                let class = match kind {
                    RicIndicationType::Report => Class::Report,
                    RicIndicationType::Insert => Class::Keep,
                };
                self.hand_out(subscription, class, &[&head, pdu]);
            } else if let Some(queue) = &mut self.across[event_loop] {
                queue.report(subscription, self.up.sent(), &[&head, pdu]);
            }
        }
    }

    /// Delivers an indication that is traced.
    #[cold]
    fn deliver_traced(
        &mut self,
        route: &Route,
        subscription: SubscriptionId,
        kind: RicIndicationType,
        pdu: &[u8],
        times: (Instant, Instant),
    ) {
        let before = self.counters.deliveries;
        self.deliver(route, subscription, kind, pdu);
        let delivered = Delivered {
            node: route.node,
            subscription,
            function: route.ran_function_id,
            octets: pdu.len(),
            deliveries: self.counters.deliveries - before,
            other_loops: (route.loops & !(1 << self.event_loop)).count_ones(),
        };
        if let Some(tracer) = &mut self.tracer {
            tracer.note_delivery(times, &delivered);
        }
    }

    /// Delivers an enveloped indication to the xApps of this loop that have the subscription.
    #[inline]
    fn hand_out(&mut self, subscription: SubscriptionId, class: Class, parts: &[&[u8]]) {
        for xapp in self.subscribers.of(subscription) {
            self.xapp_links.forward(*xapp, parts, class, &mut self.counters, &mut self.counter);
        }
    }

    /// Handles a record from another worker.
    fn arrive(&mut self, record: &Record<'_>) {
        match record.head {
            RecordHeader::Deliver(subscription, class, _) => self.hand_out(subscription, class, &record.payload),
            RecordHeader::Missed(subscription, reports) => {
                for xapp in self.subscribers.of(subscription) {
                    self.xapp_links.missed(*xapp, reports, &mut self.counters);
                    self.counter.count_dropped(subscription, reports);
                }
            }
            other => unreachable!("workers do not exchange this record: {other:?}"),
        }
    }

    /// Sends a message to an xApp.
    fn send_to_xapp(&mut self, xapp: AssocId, payload: [&[u8]; 2]) {
        let [first, second] = payload;
        let mut beginning = [0; 16];
        let octets = beginning.iter_mut().zip(first.iter().chain(second)).map(|(to, from)| *to = *from).count();
        let change = DeliveryChange::of(&beginning[..octets]);
        if let Some(ends @ DeliveryChange::Ends(_)) = change {
            self.subscribers.change(xapp, ends);
        }
        self.xapp_links.send(xapp, &[first, second]);
        // a lost xApp was removed already
        if let Some(begins @ DeliveryChange::Begins(_)) = change
            && self.xapp_links.xapps.get_mut(xapp).is_some()
        {
            self.subscribers.change(xapp, begins);
        }
    }

    fn remove_xapp(&mut self, poll: &Poll, xapp: AssocId) -> Option<Link> {
        self.subscribers.forget(xapp);
        self.xapp_links.xapps.move_out(poll, xapp)
    }

    fn ring_bells(&mut self) {
        self.up.writer.ring_bell();
        self.across.iter_mut().flatten().for_each(|queue| queue.writer.ring_bell());
    }
}
