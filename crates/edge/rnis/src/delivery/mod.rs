//! Delivery: an ordered, bounded queue for each subscription, and the thread that empties them.
//!
//! ```text
//!  Delivery::send ─► Scheduler: queues, tags of tenants, quotas, breakers ─► Worker ─┬─► http1   connections, shared per server
//!                        ▲                                                           ├─► http2   one connection per server
//!                        └────────────────── finish(result) ─────────────────────────┴─► websocket
//! ```

mod addresses;
mod allow_list;
mod breaker;
mod callback;
mod config;
mod connector;
mod http1;
mod http2;
mod queue;
mod resolver;
mod scheduler;
mod state;
mod tenant;
mod websocket;
mod worker;

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::Notify;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::task::LocalSet;

use crate::broker::Acknowledgement;
use crate::matcher::Key;
use crate::quota::CpuQuota;
use crate::telemetry::Telemetry;

pub(crate) use addresses::contains;
pub use allow_list::{AllowList, AllowRule, CallbackPolicy, MAX_RULES};
pub use breaker::BreakerState;
pub use callback::{Callback, CallbackError, Channel, Endpoint, Target};
pub use config::DeliveryConfig;
use connector::Connector;
pub use connector::DeliveryStartError;
pub use resolver::Resolver;
use scheduler::{Job, Scheduler};
pub use state::{DeliveryError, DeliveryState, DeliveryTotals, RecentDeliveries};
pub use tenant::TenantShare;
pub use websocket::{WebSocketSession, route as websocket_route, websocket_path};

/// Threads that resolve host names.
const MAX_RESOLVERS: usize = 8;

/// A notification for several subscriptions.
#[derive(Clone, Debug)]
pub struct Notification {
    /// JSON without what the tail of a [`Target`] adds.
    pub body: Arc<str>,
    /// When the collector received the event, in nanoseconds of Unix time.
    pub received_ns: u64,
    /// Is sent to the broker when no clone is left.
    pub acknowledgement: Option<Acknowledgement>,
    /// Subscribers may have received it before.
    pub is_redelivered: bool,
}

/// The WebSockets that are open: each with its number, and what gives it a notification.
#[derive(Default)]
struct WebSockets {
    open: HashMap<Key, (u64, UnboundedSender<Job>)>,
    last_number: u64,
}

/// What the thread and the handle share.
struct Shared {
    config: DeliveryConfig,
    scheduler: Mutex<Scheduler>,
    /// The scheduler may have something to send.
    wake: Notify,
    is_over: AtomicBool,
    websockets: Mutex<WebSockets>,
    telemetry: Arc<Telemetry>,
}

impl Shared {
    fn scheduler(&self) -> MutexGuard<'_, Scheduler> {
        self.scheduler.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn websockets(&self) -> MutexGuard<'_, WebSockets> {
        self.websockets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn finish(&self, job: Job, result: Result<(), DeliveryError>) {
        self.telemetry.note_attempt(job.waiting.notification.received_ns, &result);
        self.scheduler().finish(job, result, Instant::now());
        self.wake.notify_one();
    }

    fn pass_to_websocket(&self, job: Job) {
        let key = job.key;
        let sent = match self.websockets().open.get(&key) {
            Some((_, websocket)) => websocket.send(job).map_err(|error| error.0),
            None => Err(job),
        };
        if let Err(job) = sent {
            self.finish(job, Err(DeliveryError::Closed));
        }
    }

    /// Notes the end of a WebSocket, unless the subscriber has opened another one since.
    fn close_websocket(&self, key: Key, number: u64) {
        let mut websockets = self.websockets();
        if websockets.open.get(&key).is_some_and(|(open, _)| *open == number) {
            websockets.open.remove(&key);
            self.scheduler().set_connected(key, false);
        }
    }
}

/// The handle of the delivery thread, which ends when it is dropped. Its methods do not wait.
pub struct Delivery {
    shared: Arc<Shared>,
    has_tls: bool,
}

impl fmt::Debug for Delivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Delivery").field("totals", &self.totals()).finish_non_exhaustive()
    }
}

impl Drop for Delivery {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Release);
        self.shared.wake.notify_one();
    }
}

impl Delivery {
    /// Starts the thread.
    ///
    /// # Errors
    /// If the system refuses a thread or an epoll instance, or the CA cannot be read.
    pub fn start(config: DeliveryConfig) -> Result<Self, DeliveryStartError> {
        let connector = Connector::new(&config)?;
        let has_tls = connector.has_tls();
        let shared = Arc::new(Shared {
            scheduler: Mutex::new(Scheduler::new(config.clone())),
            config,
            wake: Notify::new(),
            is_over: AtomicBool::new(false),
            websockets: Mutex::default(),
            telemetry: Arc::default(),
        });
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .max_blocking_threads(MAX_RESOLVERS)
            .build()
            .map_err(DeliveryStartError::System)?;
        let of_thread = Arc::clone(&shared);
        let body = move || {
            LocalSet::new().block_on(&runtime, worker::run(of_thread, connector));
            // the resolver of a name may hang
            runtime.shutdown_background();
        };
        std::thread::Builder::new().name("delivery".into()).spawn(body).map_err(DeliveryStartError::System)?;
        Ok(Delivery { shared, has_tls })
    }

    /// Whether a target can be reached with this configuration.
    ///
    /// # Errors
    /// [`CallbackError::NoTls`] for `https` without a CA, [`CallbackError::NotAllowed`] for a server that the target's tenant may not
    /// send callbacks to.
    pub fn check(&self, target: &Target) -> Result<(), CallbackError> {
        let Some(endpoint) = target.endpoint() else { return Ok(()) };
        if endpoint.is_secured && !self.has_tls {
            return Err(CallbackError::NoTls);
        }
        self.shared.config.callbacks.check(&target.tenant, endpoint)
    }

    /// Adds a subscription, or changes its target.
    pub fn insert(&self, key: Key, target: Target) {
        self.shared.scheduler().insert(key, target, Instant::now());
        self.shared.wake.notify_one();
    }

    /// Removes a subscription; what waits for it is dropped, and its WebSocket is closed.
    pub fn remove(&self, key: Key) {
        self.shared.scheduler().remove(key, Instant::now());
        self.shared.websockets().open.remove(&key);
    }

    /// Sets the weight and the quota of a tenant; those of subscriptions without one are of the tenant "".
    pub fn set_share(&self, tenant: &str, share: TenantShare) {
        self.shared.scheduler().set_share(tenant.into(), share, Instant::now());
        self.shared.wake.notify_one();
    }

    /// The servers that callbacks may be sent to.
    pub fn callbacks(&self) -> &CallbackPolicy {
        &self.shared.config.callbacks
    }

    /// Queues a notification for subscriptions.
    pub fn send(&self, keys: &[Key], notification: &Notification) {
        self.shared.scheduler().send(keys, notification.clone(), Instant::now());
        self.shared.wake.notify_one();
    }

    /// The delivery of a subscription.
    #[must_use]
    pub fn state(&self, key: Key) -> Option<DeliveryState> {
        self.shared.scheduler().state(key)
    }

    /// Where the notifications of a subscription go.
    pub(crate) fn target(&self, key: Key) -> Option<Arc<Target>> {
        self.shared.scheduler().target(key)
    }

    /// The WebSockets that are open.
    #[must_use]
    pub fn websockets(&self) -> usize {
        self.shared.websockets().open.len()
    }

    /// What is counted for metrics and the page.
    pub(crate) fn telemetry(&self) -> &Arc<Telemetry> {
        &self.shared.telemetry
    }

    /// The delivery of all subscriptions.
    #[must_use]
    pub fn totals(&self) -> DeliveryTotals {
        self.shared.scheduler().totals()
    }

    /// What was delivered since the last call.
    #[must_use]
    pub fn take_recent(&self) -> RecentDeliveries {
        self.shared.scheduler().take_recent()
    }

    /// The quota of this process, if it has one.
    #[must_use]
    pub fn quota(&self) -> Option<&CpuQuota> {
        self.shared.config.quota.as_deref()
    }

    /// Opens the WebSocket of a subscription; one that was open is closed. `None` if there is no such subscription, or it has a
    /// callback.
    #[must_use]
    pub fn open_websocket(&self, key: Key) -> Option<WebSocketSession> {
        let (sender, receiver) = unbounded_channel();
        // it is there before the scheduler sends anything to it
        let mut websockets = self.shared.websockets();
        if !self.shared.scheduler().set_connected(key, true) {
            return None;
        }
        websockets.last_number += 1;
        let number = websockets.last_number;
        websockets.open.insert(key, (number, sender));
        drop(websockets);
        self.shared.wake.notify_one();
        Some(WebSocketSession::new(Arc::clone(&self.shared), key, number, receiver))
    }
}
