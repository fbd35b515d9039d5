//! The delivery's thread: it takes what the scheduler has to send, and owns the connections.
//!
//! Each connection of HTTP/1.1 is a task. While it is idle it waits for a notification, or for its server to close it. Time-outs
//! have no timers of their own: every [`SWEEP`] the deadlines of all connections are compared.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::sync::Notify;
use tracing::debug;

use super::Shared;
use super::callback::{Callback, Channel, Endpoint};
use super::connector::{Connector, Socket};
use super::http1::{self, Buffers, Reuse};
use super::http2;
use super::scheduler::Job;
use super::state::DeliveryError;
use crate::telemetry::{CountedConnection, Protocol};

/// The precision of time-outs.
const SWEEP: Duration = Duration::from_millis(50);
/// Notifications that are begun before answers are looked at again: the order of tenants decides which they are.
const MAX_BATCH: usize = 64;

/// A connection, as the others see it.
struct Slot {
    id: u64,
    /// The address of the server, once it is connected to.
    peer: Cell<Option<SocketAddr>>,
    deadline: Cell<Instant>,
    expired: Notify,
    assigned: Notify,
    job: Cell<Option<Job>>,
}

/// A connection of HTTP/2.
enum Multiplexed {
    /// It is being opened; these wait for it.
    Opening(Vec<Job>),
    Open {
        sender: http2::Sender,
        peer: SocketAddr,
        used: Instant,
        _counted: CountedConnection,
    },
}

/// The connections.
pub struct Worker {
    shared: Arc<Shared>,
    connector: Connector,
    slots: RefCell<HashMap<u64, Rc<Slot>>>,
    last_id: Cell<u64>,
    idle: RefCell<HashMap<Arc<Endpoint>, Vec<Rc<Slot>>>>,
    idle_count: Cell<usize>,
    multiplexed: RefCell<HashMap<Arc<Endpoint>, Multiplexed>>,
}

/// A connection is open to an address that the subscriber's tenant may not use.
fn not_allowed(endpoint: &Endpoint) -> DeliveryError {
    DeliveryError::Connect(format!("`{}` has no address that callbacks may be sent to", endpoint.host))
}

/// Sends until the handle is dropped.
pub async fn run(shared: Arc<Shared>, connector: Connector) {
    let worker = Rc::new(Worker {
        shared,
        connector,
        slots: RefCell::default(),
        last_id: Cell::new(0),
        idle: RefCell::default(),
        idle_count: Cell::new(0),
        multiplexed: RefCell::default(),
    });
    let mut batch = Vec::with_capacity(MAX_BATCH);
    let mut next_sweep = Instant::now() + SWEEP;
    while !worker.shared.is_over.load(Ordering::Acquire) {
        if let Some(quota) = &worker.shared.config.quota {
            quota.wait();
        }
        let now = Instant::now();
        if now >= next_sweep {
            worker.sweep(now);
            next_sweep = now + SWEEP;
        }
        let next_timer = {
            let mut scheduler = worker.shared.scheduler();
            batch.extend(std::iter::from_fn(|| scheduler.next(now)).take(MAX_BATCH));
            scheduler.next_timer()
        };
        let is_full = batch.len() == MAX_BATCH;
        batch.drain(..).for_each(|job| worker.start(job));
        if is_full {
            tokio::task::yield_now().await;
            continue;
        }
        let has_connections = !worker.slots.borrow().is_empty() || !worker.multiplexed.borrow().is_empty();
        let wake = next_timer.into_iter().chain(has_connections.then_some(next_sweep)).min();
        match wake {
            Some(when) => {
                let _ = tokio::time::timeout_at(when.into(), worker.shared.wake.notified()).await;
            }
            None => worker.shared.wake.notified().await,
        }
    }
}

impl Worker {
    /// Begins to send a notification.
    fn start(self: &Rc<Self>, job: Job) {
        let target = Arc::clone(&job.target);
        let Channel::Callback(callback) = &target.channel else {
            self.shared.pass_to_websocket(job);
            return;
        };
        let endpoint = callback.endpoint();
        let is_assumed = self.shared.config.is_http2_assumed && !endpoint.is_secured;
        let mut multiplexed = self.multiplexed.borrow_mut();
        match multiplexed.get_mut(endpoint) {
            Some(Multiplexed::Opening(waiting)) => return waiting.push(job),
            Some(Multiplexed::Open { sender, peer, used, .. }) if !sender.is_closed() => {
                if !self.connector.allows(&target.tenant, endpoint, *peer) {
                    drop(multiplexed);
                    self.finish(job, Err(not_allowed(endpoint)));
                    return;
                }
                *used = Instant::now();
                tokio::task::spawn_local(Rc::clone(self).exchange_http2(sender.clone(), job));
                return;
            }
            Some(Multiplexed::Open { .. }) => {
                multiplexed.remove(endpoint);
            }
            None => {}
        }
        if is_assumed {
            multiplexed.insert(Arc::clone(endpoint), Multiplexed::Opening(vec![job]));
            tokio::task::spawn_local(Rc::clone(self).open_http2(Arc::clone(&target.tenant), Arc::clone(endpoint)));
            return;
        }
        drop(multiplexed);
        match self.take_idle(&target.tenant, endpoint) {
            Some(slot) => {
                slot.job.set(Some(job));
                slot.assigned.notify_one();
            }
            None => {
                tokio::task::spawn_local(Rc::clone(self).open(job));
            }
        }
    }

    /// Takes a connection that waits for a notification: one to an address that the tenant may use.
    fn take_idle(&self, tenant: &str, endpoint: &Arc<Endpoint>) -> Option<Rc<Slot>> {
        let mut idle = self.idle.borrow_mut();
        let slots = idle.get_mut(endpoint)?;
        let is_allowed =
            |slot: &Rc<Slot>| slot.peer.get().is_some_and(|it| self.connector.allows(tenant, endpoint, it));
        let slot = slots.iter().rposition(is_allowed).map(|at| slots.swap_remove(at));
        if slots.is_empty() {
            idle.remove(endpoint);
        }
        self.idle_count.update(|count| count - usize::from(slot.is_some()));
        slot
    }

    /// Offers a connection to the next notification. Returns whether there is room for it.
    fn park(&self, endpoint: &Arc<Endpoint>, slot: &Rc<Slot>) -> bool {
        if self.idle_count.get() >= self.shared.config.max_idle_connections {
            return false;
        }
        self.idle_count.update(|count| count + 1);
        self.idle.borrow_mut().entry(Arc::clone(endpoint)).or_default().push(Rc::clone(slot));
        true
    }

    /// Withdraws a connection that ends.
    fn unpark(&self, endpoint: &Arc<Endpoint>, slot: &Rc<Slot>) {
        let mut idle = self.idle.borrow_mut();
        let Some(slots) = idle.get_mut(endpoint) else { return };
        if let Some(at) = slots.iter().position(|other| Rc::ptr_eq(other, slot)) {
            slots.swap_remove(at);
            self.idle_count.update(|count| count - 1);
        }
        if slots.is_empty() {
            idle.remove(endpoint);
        }
    }

    /// Adds a connection, whose time begins now.
    fn add_slot(&self) -> Rc<Slot> {
        self.last_id.update(|id| id + 1);
        let slot = Rc::new(Slot {
            id: self.last_id.get(),
            peer: Cell::new(None),
            deadline: Cell::new(Instant::now() + self.shared.config.timeout),
            expired: Notify::new(),
            assigned: Notify::new(),
            job: Cell::new(None),
        });
        let mut slots = self.slots.borrow_mut();
        if slots.is_empty() {
            // deadlines are compared from now on
            self.shared.wake.notify_one();
        }
        slots.insert(slot.id, Rc::clone(&slot));
        slot
    }

    fn remove_slot(&self, slot: &Slot) {
        self.slots.borrow_mut().remove(&slot.id);
    }

    fn sweep(&self, now: Instant) {
        self.slots
            .borrow()
            .values()
            .filter(|slot| slot.deadline.get() <= now)
            .for_each(|slot| slot.expired.notify_one());
        let idle = self.shared.config.idle_timeout;
        self.multiplexed.borrow_mut().retain(|_, multiplexed| match multiplexed {
            Multiplexed::Opening(_) => true,
            Multiplexed::Open { sender, used, .. } => {
                !sender.is_closed() && now.saturating_duration_since(*used) < idle
            }
        });
    }

    fn finish(&self, job: Job, result: Result<(), DeliveryError>) {
        if let (Err(error), Channel::Callback(callback)) = (&result, &job.target.channel) {
            debug!(subscription = job.key.0, %callback, "notification not delivered: {error}");
        }
        self.shared.finish(job, result);
    }

    /// Connects, sends a notification, and those that follow.
    async fn open(self: Rc<Self>, job: Job) {
        let slot = self.add_slot();
        let target = Arc::clone(&job.target);
        if let Channel::Callback(callback) = &target.channel {
            let endpoint = callback.endpoint();
            let connected = slot.within(self.connector.connect(&target.tenant, endpoint)).await;
            let connected =
                connected.unwrap_or_else(|| Err(DeliveryError::Connect("no connection in time".to_owned())));
            slot.peer.set(connected.as_ref().ok().map(|(_, peer)| *peer));
            match connected {
                Err(error) => self.finish(job, Err(error)),
                Ok((socket, peer)) if socket.is_http2() => {
                    let opened = slot.within(self.begin_http2(socket)).await;
                    match opened.unwrap_or(Err(DeliveryError::TimedOut)) {
                        Ok(sender) => {
                            let new = self.opened_http2(sender.clone(), peer);
                            self.multiplexed.borrow_mut().insert(Arc::clone(endpoint), new);
                            self.shared.scheduler().note_http2(endpoint);
                            tokio::task::spawn_local(Rc::clone(&self).exchange_http2(sender, job));
                        }
                        Err(error) => self.finish(job, Err(error)),
                    }
                }
                Ok((Socket::Plain(stream), _)) => self.serve(stream, &slot, endpoint, job).await,
                #[cfg(feature = "tls")]
                Ok((Socket::Tls(stream), _)) => self.serve(*stream, &slot, endpoint, job).await,
            }
        }
        self.remove_slot(&slot);
    }

    /// Uses a connection of HTTP/1.1 until it ends.
    async fn serve<S: AsyncRead + AsyncWrite + Unpin>(
        self: &Rc<Self>,
        mut stream: S,
        slot: &Rc<Slot>,
        endpoint: &Arc<Endpoint>,
        first: Job,
    ) {
        let config = &self.shared.config;
        let _counted = self.shared.telemetry.count_connection(Protocol::Http1);
        let mut buffers = Buffers::default();
        let mut next = Some(first);
        let mut is_used = false;
        while let Some(mut job) = next.take() {
            let target = Arc::clone(&job.target);
            let Channel::Callback(callback) = &target.channel else { return };
            if is_used {
                slot.deadline.set(Instant::now() + config.timeout);
            }
            let exchanged = slot.within(http1::exchange(&mut stream, callback, &job, &mut buffers)).await;
            let (result, reuse) = exchanged.unwrap_or_else(|| {
                // an answer that never ends is an answer
                let result = buffers.status.map_or(Err(DeliveryError::TimedOut), http1::judge);
                (result, Reuse::Close)
            });
            if is_used && !buffers.has_answer && result == Err(DeliveryError::Closed) {
                // the server has closed the connection while the request was on its way (RFC 9112 9.3.1), or after it had it
                job.is_repeated = true;
                tokio::task::spawn_local(Rc::clone(self).open(job));
                return;
            }
            // a connection is offered before its next notification is chosen
            slot.deadline.set(Instant::now() + config.idle_timeout);
            let is_parked = reuse == Reuse::Open && self.park(endpoint, slot);
            self.finish(job, result);
            if !is_parked {
                return;
            }
            is_used = true;
            next = self.wait(&mut stream, slot, endpoint).await;
        }
    }

    /// Waits for the next notification of a connection; `None` at its end.
    async fn wait<S: AsyncRead + Unpin>(
        self: &Rc<Self>,
        stream: &mut S,
        slot: &Rc<Slot>,
        endpoint: &Arc<Endpoint>,
    ) -> Option<Job> {
        let mut octet = [0];
        let is_alive = {
            let mut assigned = pin!(slot.assigned.notified());
            let mut ended = pin!(slot.within(stream.read(&mut octet)));
            poll_fn(|context| {
                if assigned.as_mut().poll(context).is_ready() {
                    return Poll::Ready(true);
                }
                // the server has closed it, speaks without being asked, or it was idle for too long
                ended.as_mut().poll(context).map(|_| false)
            })
            .await
        };
        if is_alive {
            return slot.job.take();
        }
        self.unpark(endpoint, slot);
        if let Some(job) = slot.job.take() {
            // it was assigned in the same moment
            tokio::task::spawn_local(Rc::clone(self).open(job));
        }
        None
    }

    async fn begin_http2(&self, socket: Socket) -> Result<http2::Sender, DeliveryError> {
        match socket {
            Socket::Plain(stream) => http2::open(stream).await,
            #[cfg(feature = "tls")]
            Socket::Tls(stream) => http2::open(*stream).await,
        }
    }

    fn opened_http2(&self, sender: http2::Sender, peer: SocketAddr) -> Multiplexed {
        let counted = self.shared.telemetry.count_connection(Protocol::Http2);
        Multiplexed::Open { sender, peer, used: Instant::now(), _counted: counted }
    }

    /// Opens the connection to a server that is assumed to speak HTTP/2.
    async fn open_http2(self: Rc<Self>, tenant: Arc<str>, endpoint: Arc<Endpoint>) {
        let slot = self.add_slot();
        let opening = async {
            let (socket, peer) = self.connector.connect(&tenant, &endpoint).await?;
            Ok((self.begin_http2(socket).await?, peer))
        };
        let opened = slot.within(opening).await;
        self.remove_slot(&slot);
        let old = self.multiplexed.borrow_mut().remove(&endpoint);
        let Some(Multiplexed::Opening(waiting)) = old else { return };
        match opened.unwrap_or_else(|| Err(DeliveryError::Connect("no connection in time".to_owned()))) {
            Ok((sender, peer)) => {
                let new = self.opened_http2(sender, peer);
                self.multiplexed.borrow_mut().insert(endpoint, new);
                waiting.into_iter().for_each(|job| self.start(job));
            }
            // other tenants may be allowed other addresses: each opens a connection of its own
            Err(error) => waiting.into_iter().for_each(|job| {
                if job.target.tenant == tenant {
                    self.finish(job, Err(error.clone()));
                } else {
                    self.start(job);
                }
            }),
        }
    }

    async fn exchange_http2(self: Rc<Self>, sender: http2::Sender, job: Job) {
        let slot = self.add_slot();
        let target = Arc::clone(&job.target);
        let mut status = None;
        let result = match &target.channel {
            Channel::Callback(callback) => self.within_http2(&slot, sender, callback, &job, &mut status).await,
            Channel::WebSocket => Err(DeliveryError::Closed),
        };
        self.remove_slot(&slot);
        self.finish(job, result);
    }

    async fn within_http2(
        &self,
        slot: &Slot,
        sender: http2::Sender,
        callback: &Callback,
        job: &Job,
        status: &mut Option<u16>,
    ) -> Result<(), DeliveryError> {
        let exchanged = slot.within(http2::exchange(sender, callback, job, status)).await;
        // an answer that never ends is an answer
        exchanged.unwrap_or_else(|| status.map_or(Err(DeliveryError::TimedOut), http1::judge))
    }
}

impl Slot {
    /// Waits for a future until the deadline; `None` if it has passed.
    async fn within<F: Future>(&self, future: F) -> Option<F::Output> {
        let mut future = pin!(future);
        let mut expired = pin!(self.expired.notified());
        poll_fn(|context| {
            if let Poll::Ready(output) = future.as_mut().poll(context) {
                return Poll::Ready(Some(output));
            }
            // a deadline that was moved in the meantime has not passed
            while expired.as_mut().poll(context).is_ready() {
                if Instant::now() >= self.deadline.get() {
                    return Poll::Ready(None);
                }
                expired.set(self.expired.notified());
            }
            Poll::Pending
        })
        .await
    }
}
