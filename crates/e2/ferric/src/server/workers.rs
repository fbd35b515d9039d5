//! The workers as the main loop sees them: it moves links to them, and sends over these links.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use std::thread;
use std::time::Duration;

use e2::{AssocId, Controller, SubscriptionId, Time, XappHost};
use e2ap::Codec;
use link::{Address, Class, Link, LinkObserver, Poll};

use super::balance::{Balance, Displaced, LoopTimer, nodes_to_move, thread_time_ns};
use super::counters::SharedCounters;
use super::indication_counts::{IndicationCounter, LoopCounts};
use super::log_limiter::LogLimiter;
use super::recall::{ClosedOnTheWay, Recalled};
use super::ring::{Doorbell, Reader, RecordHeader, ring};
use super::routes::{RouteReader, RouteWriter};
use super::send_queue::{Progress, SendQueue, WorkerOutbox};
use super::trace::{OpenTrace, WorkerTraces};
use super::worker::{RETRY_INTERVAL, Worker, WorkerConnections};
use super::worker_handle::{End, WorkerHandle};
use super::worker_inbox::WorkerInbox;
use super::{Counters, KIND_BELL, KIND_NODE, OutboxLevel, ServerConfig, sweep};
use crate::Error;
use crate::event_loop::Clock;
use crate::peers;

/// The most event loops: a route has a bit for each.
pub const MAX_LOOPS: usize = 64;

/// An xApp or a node on another loop.
struct Remote {
    assoc: AssocId,
    event_loop: usize,
    peer: Address,
    /// What waits for an xApp.
    level: Arc<OutboxLevel>,
    /// Whether an xApp has sent anything.
    has_sent: bool,
    /// An upper bound of the octets that must not be dropped and are still queued for it.
    kept_octets: u64,
    /// The octets of these that were sent after its room was requested; `None` while no request is pending.
    since_asked: Option<u64>,
    /// Of a node that returns from its worker.
    recalled: Option<Box<Recalled>>,
}

impl Remote {
    fn new(assoc: AssocId, event_loop: usize, link: &Link) -> Self {
        let (peer, kept_octets) = (link.peer().clone(), link.kept_octets() as u64);
        Remote {
            assoc,
            event_loop,
            peer,
            level: Arc::default(),
            has_sent: false,
            kept_octets,
            since_asked: None,
            recalled: None,
        }
    }
}

/// All workers; none if there is a single loop.
pub(super) struct Workers {
    handles: Vec<WorkerHandle>,
    /// The nodes on workers.
    nodes: HashMap<AssocId, Remote>,
    /// With more octets queued for a node, its worker is asked for its progress.
    progress_octets: u64,
    /// The xApps on workers, by the index in their association.
    xapps: Vec<Option<Remote>>,
    /// The doorbell of the main loop.
    bell: Option<Arc<Doorbell>>,
    route_writer: RouteWriter,
    stop: Arc<AtomicBool>,
    /// Of tracing, and the traces of the workers.
    traces: Option<(WorkerTraces, Receiver<OpenTrace>)>,
    balance: Balance,
    pub displaced: Displaced,
    closed_on_the_way: ClosedOnTheWay,
}

impl Workers {
    /// Starts `config.loops - 1` workers beside the main loop, which waits with `poll`.
    pub fn start(
        config: &ServerConfig,
        xapps: &link::Config,
        poll: &Poll,
        clock: Clock,
        log_limiter: &LogLimiter,
    ) -> Result<(Workers, Vec<WorkerInbox>), Error> {
        assert!((1..=MAX_LOOPS).contains(&config.loops), "loops must be 1 to {MAX_LOOPS}, not {}", config.loops);
        let stop = Arc::new(AtomicBool::new(false));
        let route_writer = RouteWriter::default();
        let progress_octets = config.link.outbox_octets as u64 / 16;
        let mut workers = Workers {
            handles: Vec::new(),
            nodes: HashMap::new(),
            progress_octets,
            xapps: Vec::new(),
            bell: None,
            route_writer,
            stop,
            traces: None,
            balance: Balance::new(config.balance, config.loops),
            displaced: Displaced::default(),
            closed_on_the_way: ClosedOnTheWay::default(),
        };
        let mut inboxes = Vec::new();
        if config.loops == 1 {
            return Ok((workers, inboxes));
        }
        let owner_bell = Doorbell::new(poll, peers::token(KIND_BELL, 0)).map_err(Error::epoll)?;
        workers.bell = Some(owner_bell.clone());
        let (traces, traces_of_workers) = WorkerTraces::new(&owner_bell);

        let mut rooms = Vec::new();
        for _ in 1..config.loops {
            let poll = Poll::new().map_err(Error::epoll)?;
            let bell = Doorbell::new(&poll, peers::token(KIND_BELL, 0)).map_err(Error::epoll)?;
            let ticker = sweep::ticker(&poll, config.pdu_timeout).map_err(Error::epoll)?;
            rooms.push((poll, bell, ticker));
        }
        // from each worker to each other
        let mut writers: Vec<Vec<Option<SendQueue>>> = Vec::new();
        let mut readers: Vec<Vec<Option<Reader>>> = rooms.iter().map(|_| vec![None]).collect();
        for from in 0..rooms.len() {
            let mut queues: Vec<Option<SendQueue>> = vec![None]; // the rings of the main loop are separate
            for (to, (_, bell, _)) in rooms.iter().enumerate() {
                let (writer, reader) = (to != from).then(|| ring(bell)).unzip();
                queues.push(writer.map(SendQueue::new));
                readers[to].push(reader);
            }
            writers.push(queues);
        }
        for (at, (((poll, bell, ticker), across), others)) in rooms.into_iter().zip(writers).zip(readers).enumerate() {
            let event_loop = at + 1;
            let (up, reader) = ring(&owner_bell);
            let (down, owner) = ring(&bell);
            let progress = Arc::new(Progress::default());
            let shared_counters = Arc::new(SharedCounters::default());
            let counter = IndicationCounter::default();
            let counts = counter.counts();
            let timer = LoopTimer::new(config.balance);
            let time = timer.time();
            let connections = WorkerConnections {
                event_loop,
                poll,
                bell: bell.clone(),
                stop: workers.stop.clone(),
                shared_counters: shared_counters.clone(),
                counter,
                clock,
                routes: RouteReader::new(workers.route_writer.board()),
                up: WorkerOutbox::new(up, progress.clone()),
                across,
                owner,
                others,
                first_requestor: config.controller.first_requestor,
                ticker,
                log_limiter: log_limiter.clone(),
                traces: traces.clone(),
                time: timer,
            };
            let ended = Arc::new(AtomicBool::new(false));
            let end = End { ended: ended.clone(), owner: owner_bell.clone() };
            let mut worker = Worker::new(connections, &config.link, xapps);
            let thread = thread::Builder::new()
                .name(format!("loop-{event_loop}"))
                .spawn(move || {
                    let _end = end;
                    worker.run().map_err(Error::epoll)
                })
                .map_err(|source| Error::System { what: "a thread", source })?;
            inboxes.push(WorkerInbox { reader, done: 0, progress, bell: bell.clone(), event_loop, joined: Vec::new() });
            workers.handles.push(WorkerHandle {
                down: SendQueue::new(down),
                bell,
                shared_counters,
                counts,
                time,
                nodes: 0,
                xapps: 0,
                ended,
                last_record: 0,
                behind: vec![0; config.loops],
                thread: Some(thread),
            });
        }
        workers.traces = Some((traces, traces_of_workers));
        Ok((workers, inboxes))
    }

    /// Has the workers trace one indication in `one_in`.
    pub fn begin_traces(&self, one_in: u32) {
        if let Some((traces, _)) = &self.traces {
            traces.begin(one_in);
        }
    }

    /// Returns the traces of the workers.
    pub fn traces(&self) -> impl Iterator<Item = OpenTrace> {
        self.traces.iter().flat_map(|(_, of_workers)| of_workers.try_iter())
    }

    pub fn is_empty(&self) -> bool {
        self.handles.is_empty()
    }

    /// Returns the number of links on workers.
    pub fn links(&self) -> usize {
        self.handles.iter().map(WorkerHandle::load).sum()
    }

    /// Returns the loop with the fewest links, and their number, where the main loop has `own`.
    fn least_loaded(&self, own: usize) -> (usize, usize) {
        let loads = std::iter::once(own).chain(self.handles.iter().map(WorkerHandle::load));
        let least = loads.zip(0..).min().expect("the main loop is one");
        (least.1, least.0)
    }

    /// Returns the loop for a new xApp: the one with the fewest links, where the main loop has `own`.
    pub fn loop_for_xapp(&self, own: usize) -> usize {
        self.least_loaded(own).0
    }

    /// Moves the link of an xApp to a worker.
    pub fn place_xapp(&mut self, event_loop: usize, assoc: AssocId, link: Link) {
        let place = peers::place(assoc.0);
        if place >= self.xapps.len() {
            self.xapps.resize_with(place + 1, || None);
        }
        let remote = Remote::new(assoc, event_loop, &link);
        let level = remote.level.clone();
        self.xapps[place] = Some(remote);
        let worker = &mut self.handles[event_loop - 1];
        worker.xapps += 1;
        worker.adopt(assoc, link, Codec::Per, level);
    }

    /// Returns a node with a first subscription, and its loop: that of a consumer as long as it is not busy and has at most
    /// `affinity_links` more links than the one with the fewest links, else the one that is least busy, or the latter.
    ///
    /// An indication that crosses loops wakes two of them. While a core has capacity, that costs more than an uneven
    /// load.
    pub fn next_to_place(&mut self, own: usize, affinity_links: usize) -> Option<(AssocId, Codec, usize)> {
        let (route, codec) = self.route_writer.next_new_route()?;
        let (least_loaded, fewest) = self.least_loaded(own);
        let of_taker = route.loops.trailing_zeros() as usize;
        if self.balance.is_busy(of_taker) {
            return Some((route.assoc, codec, self.balance.least_busy()));
        }
        let load =
            of_taker.checked_sub(1).map_or(own, |at| self.handles.get(at).map_or(usize::MAX, WorkerHandle::load));
        Some((route.assoc, codec, if load <= fewest + affinity_links { of_taker } else { least_loaded }))
    }

    /// Moves the link of a node to a worker.
    pub fn place_node(&mut self, event_loop: usize, assoc: AssocId, link: Link, codec: Codec) {
        let remote = Remote::new(assoc, event_loop, &link);
        let level = remote.level.clone();
        self.nodes.insert(assoc, remote);
        let worker = &mut self.handles[event_loop - 1];
        worker.nodes += 1;
        worker.adopt(assoc, link, codec, level);
    }

    /// Measures the loops. Returns the loop that has to give nodes, that which takes them, and how many, where the main loop has
    /// `own_nodes` nodes with subscriptions, and `own_xapps` xApps.
    pub fn measure(&mut self, now: Time, own_nodes: usize, own_xapps: usize) -> Option<(usize, usize, usize)> {
        let times = self.handles.iter().map(|worker| worker.time.load(Ordering::Relaxed));
        self.balance.measure(now, std::iter::once(thread_time_ns()).chain(times));
        self.balance.shift(|from| match from.checked_sub(1).and_then(|at| self.handles.get(at)) {
            Some(worker) => nodes_to_move(worker.nodes, worker.xapps),
            None => nodes_to_move(own_nodes, own_xapps),
        })
    }

    /// Has a worker return so many of its nodes, which are to be on another loop.
    pub fn recall_some(&mut self, from: usize, to: usize, nodes: usize) {
        let is_there = |remote: &&Remote| remote.event_loop == from && remote.recalled.is_none();
        let some: Vec<_> = self.nodes.values().filter(is_there).take(nodes).map(|remote| remote.assoc).collect();
        for assoc in some {
            self.displaced.insert(assoc, from, to);
            self.recall(assoc, to);
        }
    }

    /// Has the worker of a node return it, which is to be on another loop.
    pub fn recall(&mut self, assoc: AssocId, to: usize) {
        let Some(remote) = self.nodes.get_mut(&assoc).filter(|remote| remote.recalled.is_none()) else { return };
        remote.recalled = Some(Box::new(Recalled { event_loop: to, ..Recalled::default() }));
        let from = remote.event_loop;
        self.handle_mut(from).write(RecordHeader::Return(assoc), &[]);
    }

    /// If all loops have little to do, returns some of the nodes that have left a busy one, with that loop.
    pub fn take_displaced(&mut self) -> Vec<(AssocId, usize)> {
        if self.balance.is_quiet() { self.displaced.take_some() } else { Vec::new() }
    }

    /// Forgets the nodes that have left a busy loop and are not connected any more, of which the main loop knows its own.
    pub fn forget_displaced(&mut self, is_here: impl Fn(AssocId) -> bool) {
        let Workers { nodes, displaced, .. } = self;
        displaced.retain(|assoc| nodes.contains_key(&assoc) || is_here(assoc));
    }

    /// Takes a link that a worker has returned: it is on the main loop now. Returns what is to be done with it, and its loop to be;
    /// `None` if the link was closed meanwhile.
    pub fn take_returned(&mut self, assoc: AssocId, link: Link) -> Option<(Link, Box<Recalled>)> {
        let Some(recalled) = self.nodes.get_mut(&assoc).and_then(|remote| remote.recalled.take()) else {
            self.closed_on_the_way.close(assoc, link);
            return None;
        };
        self.forget(assoc);
        // what its former worker has written to others is read before anything that its next one writes
        for event_loop in 1..=self.handles.len() {
            self.handle_mut(event_loop);
        }
        Some((link, recalled))
    }

    /// Returns what a node that returns from its worker waits for.
    fn recalled_mut(&mut self, assoc: AssocId) -> Option<&mut Recalled> {
        self.nodes.get_mut(&assoc)?.recalled.as_deref_mut()
    }

    /// Returns the loop of a link, also after the link was lost there.
    #[inline]
    pub fn loop_of(&self, assoc: AssocId) -> usize {
        if self.handles.is_empty() {
            return 0;
        }
        match peers::kind(assoc.0) {
            KIND_NODE => self.nodes.get(&assoc).map_or(0, |remote| remote.event_loop),
            _ => self.xapp_remote(assoc).map_or(0, |remote| remote.event_loop),
        }
    }

    #[inline]
    fn xapp_remote(&self, xapp: AssocId) -> Option<&Remote> {
        self.xapps.get(peers::place(xapp.0))?.as_ref().filter(|remote| remote.assoc == xapp)
    }

    fn remote_mut(&mut self, assoc: AssocId) -> Option<&mut Remote> {
        match peers::kind(assoc.0) {
            KIND_NODE => self.nodes.get_mut(&assoc),
            _ => self.xapps.get_mut(peers::place(assoc.0))?.as_mut().filter(|remote| remote.assoc == assoc),
        }
    }

    /// Notes a worker's record: what is written to workers from now on is ordered after it.
    pub fn note_record(&mut self, event_loop: usize, record: u64) {
        self.handles[event_loop - 1].last_record = record;
    }

    /// Returns a worker to write to. The record is read after everything that other workers wrote to it before their
    /// last record that was read here.
    fn handle_mut(&mut self, event_loop: usize) -> &mut WorkerHandle {
        for other in 1..=self.handles.len() {
            let last_record = self.handles[other - 1].last_record;
            let worker = &mut self.handles[event_loop - 1];
            if other != event_loop && worker.behind[other] != last_record {
                worker.behind[other] = last_record;
                worker.write(RecordHeader::OrderAfter(other as u64, last_record), &[]);
            }
        }
        &mut self.handles[event_loop - 1]
    }

    /// Notes that an xApp has sent something.
    pub fn has_sent(&mut self, xapp: AssocId) {
        if let Some(remote) = self.remote_mut(xapp) {
            remote.has_sent = true;
        }
    }

    /// Returns the address of an xApp, and whether it has sent anything.
    pub fn xapp(&self, xapp: AssocId) -> Option<(&Address, bool)> {
        self.xapp_remote(xapp).map(|remote| (&remote.peer, remote.has_sent))
    }

    /// Sends what must not be dropped over a link on a worker. Returns whether the link is there.
    pub fn send(&mut self, assoc: AssocId, payload: &[u8]) -> bool {
        let event_loop = self.loop_of(assoc);
        if event_loop == 0 {
            return false;
        }
        if let Some(remote) = self.remote_mut(assoc) {
            remote.kept_octets += payload.len() as u64;
            if let Some(octets) = &mut remote.since_asked {
                *octets += payload.len() as u64;
            }
            if let Some(recalled) = &mut remote.recalled {
                recalled.unsent.push(payload.to_vec());
                return true;
            }
        }
        self.handle_mut(event_loop).write(RecordHeader::Send(assoc), &[payload]);
        true
    }

    /// Returns an upper bound of the octets that are queued for a node on a worker. If they are many, the worker is
    /// asked to report when half of them are written. `None` for a node on the main loop.
    pub fn unsent_octets(&mut self, node: AssocId) -> Option<usize> {
        let octets = self.nodes.get(&node)?.kept_octets;
        if octets > self.progress_octets {
            self.has_room(node, octets as usize / 2);
        }
        Some(octets as usize)
    }

    /// Returns whether at most `octets` that must not be dropped are queued for a peer. If not,
    /// [`Workers::has_room_again`] is called once they are.
    pub fn has_room(&mut self, assoc: AssocId, octets: usize) -> bool {
        let octets = octets as u64;
        let Some(remote) = self.remote_mut(assoc) else { return false };
        if remote.kept_octets <= octets {
            return true;
        }
        // one that returns has its room asked for on its next loop
        if remote.since_asked.is_none() && remote.recalled.is_none() {
            remote.since_asked = Some(0);
            let event_loop = remote.event_loop;
            self.handle_mut(event_loop).write(RecordHeader::RequestRoom(assoc, octets), &[]);
        }
        false
    }

    /// Notes the queued octets of a peer, after its loop has found room.
    pub fn has_room_again(&mut self, assoc: AssocId, kept_octets: u64) {
        if let Some(remote) = self.remote_mut(assoc) {
            remote.kept_octets = kept_octets + remote.since_asked.take().unwrap_or(0);
        }
    }

    /// Sends an enveloped indication to the xApps of a worker that have the subscription.
    #[inline]
    pub fn deliver(&mut self, event_loop: usize, subscription: SubscriptionId, class: Class, parts: &[&[u8]]) {
        let worker = self.handle_mut(event_loop);
        match class {
            Class::Report => worker.down.report(subscription, 0, parts),
            Class::Keep => worker.write(RecordHeader::Deliver(subscription, class, 0), parts),
        }
    }

    /// Has the transport of a node on a worker find out whether the node is still there.
    pub fn probe(&mut self, node: AssocId) {
        if let Some(recalled) = self.recalled_mut(node) {
            recalled.is_probed = true;
            return;
        }
        let event_loop = self.loop_of(node);
        if event_loop > 0 {
            self.handle_mut(event_loop).write(RecordHeader::Probe(node), &[]);
        }
    }

    /// Has the PDUs of a node on a worker passed to an observer, or to none any more.
    pub fn watch(&mut self, node: AssocId, observer: Option<&Arc<dyn LinkObserver>>) {
        if let Some(recalled) = self.recalled_mut(node) {
            recalled.observer = Some(observer.cloned());
            return;
        }
        let event_loop = self.loop_of(node);
        if event_loop > 0 {
            self.handle_mut(event_loop).watch(node, observer);
        }
    }

    /// Has a link on a worker written and closed. Returns the peer's address.
    pub fn close(&mut self, assoc: AssocId) -> Option<Address> {
        let event_loop = self.loop_of(assoc);
        let recalled = self.nodes.get_mut(&assoc).and_then(|remote| remote.recalled.take());
        let peer = self.forget(assoc)?;
        match recalled {
            Some(recalled) => self.closed_on_the_way.insert(assoc, recalled),
            None => self.handle_mut(event_loop).write(RecordHeader::Close(assoc), &[]),
        }
        Some(peer)
    }

    /// Notes that a worker has lost a link. Returns the peer's address, unless the link was closed meanwhile.
    pub fn lost(&mut self, assoc: AssocId) -> Option<Address> {
        self.closed_on_the_way.forget(assoc);
        self.forget(assoc)
    }

    /// Removes a link that was on a worker. Returns the peer's address.
    fn forget(&mut self, assoc: AssocId) -> Option<Address> {
        let worker = self.loop_of(assoc).checked_sub(1).map(|at| &mut self.handles[at])?;
        if peers::kind(assoc.0) == KIND_NODE {
            worker.nodes -= 1;
            self.nodes.remove(&assoc).map(|remote| remote.peer)
        } else {
            worker.xapps -= 1;
            self.xapps.get_mut(peers::place(assoc.0))?.take().map(|remote| remote.peer)
        }
    }

    /// Publishes routes that have changed. To be called before the events are dispatched: reports that an xApp causes
    /// by its reaction need the new route.
    #[inline]
    pub fn publish(&mut self, controller: &mut Controller, host: &XappHost) {
        if self.handles.is_empty() {
            return;
        }
        // iApps are on the main loop
        let Workers { route_writer, xapps, .. } = self;
        let event_loop = |consumer: &e2::Consumer| {
            let assoc = host.assoc(*consumer)?;
            let remote = xapps.get(peers::place(assoc.0))?.as_ref().filter(|remote| remote.assoc == assoc)?;
            Some(remote.event_loop)
        };
        route_writer.publish(controller, |consumers| {
            consumers.iter().fold(0, |loops, consumer| loops | 1 << event_loop(consumer).unwrap_or(0))
        });
    }

    /// Prepares to sleep: from now on workers ring the doorbell. Returns the longest time to sleep.
    pub fn begin_sleep(&mut self, inboxes: &[WorkerInbox]) -> Option<Duration> {
        self.bell.as_ref()?.begin_sleep();
        if inboxes.iter().any(|inbox| inbox.reader.has_records()) {
            return Some(Duration::ZERO);
        }
        let all_reported = self.handles.iter_mut().all(|worker| worker.down.report_missed());
        if all_reported { None } else { Some(RETRY_INTERVAL) }
    }

    /// Ends the sleep.
    pub fn end_sleep(&self) {
        if let Some(bell) = &self.bell {
            bell.end_sleep();
        }
    }

    /// Wakes the workers with new records.
    #[inline]
    pub fn ring_bells(&mut self) {
        for worker in &mut self.handles {
            worker.down.report_missed();
            worker.down.writer.ring_bell();
        }
    }

    /// Returns the counters of indications of each worker.
    pub fn indication_counts(&self) -> impl Iterator<Item = LoopCounts> {
        self.handles.iter().map(|worker| worker.counts.clone())
    }

    /// Returns the octets that wait for an xApp on a worker, and the reports dropped for it; `None` for one on the main loop.
    pub fn outbox_level(&self, xapp: AssocId) -> Option<(u64, u64)> {
        self.xapp_remote(xapp).map(|remote| remote.level.get())
    }

    /// Adds the counters of the workers.
    pub fn add_to(&self, counters: &mut Counters) {
        self.handles.iter().for_each(|worker| worker.shared_counters.add_to(counters));
    }

    /// Returns the error of a worker that has ended.
    #[inline]
    pub fn check(&mut self) -> Result<(), Error> {
        if self.handles.iter().any(|worker| worker.ended.load(Ordering::Acquire)) {
            return self.end();
        }
        Ok(())
    }

    /// Stops all workers and waits for their threads.
    pub fn end(&mut self) -> Result<(), Error> {
        self.stop.store(true, Ordering::Release);
        self.handles.iter().for_each(|worker| worker.bell.wake());
        let mut outcome = Ok(());
        for thread in self.handles.iter_mut().filter_map(|worker| worker.thread.take()) {
            match thread.join() {
                Ok(ended) => outcome = outcome.and(ended),
                Err(_) if thread::panicking() => {} // the panic is reported already
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        outcome
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        // an error has no receiver here
        let _ = self.end();
    }
}
