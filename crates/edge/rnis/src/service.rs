//! The service: subscriptions, the latest state, and the way of an event.

mod record;
mod replica;
mod state_feed;

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};
use std::time::Instant;

use rest::metrics::Registry;
use tracing::{info, warn};

use crate::broker::{Broker, BrokerCounts, BrokerError, Sink};
use crate::criteria::{Criteria, Topic};
use crate::delivery::{Delivery, DeliveryState, Notification, Target, WebSocketSession};
use crate::dispatcher::Dispatcher;
use crate::event::Event;
use crate::faults::Faults;
use crate::matcher::Key;
use crate::model::{self, TimeStamp};
use crate::shared_log::SharedLog;
use crate::state::State;
use crate::subscriptions::{Due, Full, Subscription, SubscriptionLimits, Table, Version};
use crate::telemetry::Telemetry;
use crate::tenants::Tenants;
use replica::{Replica, Running};
pub use state_feed::Collecting;

/// A Radio Network Information Service. Its methods may be called by any thread; none waits for a subscriber.
pub struct Service {
    pub(crate) dispatcher: Arc<Dispatcher>,
    pub(crate) tenants: Option<Arc<Tenants>>,
    broker: Box<dyn Broker>,
    /// A number that was used is not used again.
    last_key: AtomicU64,
    subscriptions: Mutex<Table>,
    limits: SubscriptionLimits,
    state: RwLock<State>,
    lost_events: Faults,
    /// Of a service of several processes.
    replica: OnceLock<Running>,
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Service").finish_non_exhaustive()
    }
}

/// A subscription that is to be created or changed.
#[derive(Clone, Debug)]
pub struct NewSubscription {
    /// What it is.
    pub subscription: Subscription,
    /// Where its notifications go.
    pub target: Target,
    /// A test notification is sent before all others.
    pub is_tested: bool,
}

impl NewSubscription {
    /// A subscription of this process, without a representation at the REST interface.
    pub fn new(owner: &str, criteria: Criteria, target: Target) -> Self {
        let (owner, version): (Arc<str>, _) = (owner.into(), Version::V2);
        let (subscriber, href, document) = (Arc::clone(&owner), "".into(), "".into());
        let subscription = Subscription { owner, subscriber, version, href, criteria, deadline: None, document };
        NewSubscription { subscription, target, is_tested: false }
    }
}

/// Why a subscription is refused.
#[derive(Debug)]
#[non_exhaustive]
pub enum SubscriptionError {
    /// By the broker.
    Broker(BrokerError),
    /// Its owner has as many as one may have.
    OwnerLimit(usize),
    /// The service has as many as it may have.
    TotalLimit(usize),
    /// It has changed since the client has seen it.
    Changed,
    /// Its tenant was removed.
    NoTenant,
}

impl fmt::Display for SubscriptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SubscriptionError::Broker(error) => error.fmt(f),
            SubscriptionError::OwnerLimit(most) => {
                write!(f, "this application has {most} subscriptions, which is the limit; delete some")
            }
            SubscriptionError::TotalLimit(most) => {
                write!(f, "the service has {most} subscriptions, which is the limit")
            }
            SubscriptionError::Changed => f.write_str("the subscription was changed meanwhile; read it again"),
            SubscriptionError::NoTenant => f.write_str("the tenant was removed"),
        }
    }
}

impl std::error::Error for SubscriptionError {}

impl From<Full> for SubscriptionError {
    fn from(full: Full) -> Self {
        match full {
            Full::Owner(most) => SubscriptionError::OwnerLimit(most),
            Full::Total(most) => SubscriptionError::TotalLimit(most),
        }
    }
}

impl Service {
    /// A service with a delivery and a broker, which `connect` creates for the sink of its events.
    ///
    /// # Errors
    /// Those of `connect`.
    pub fn new<E>(
        delivery: Delivery,
        connect: impl FnOnce(Arc<dyn Sink>) -> Result<Box<dyn Broker>, E>,
    ) -> Result<Self, E> {
        let dispatcher = Arc::new(Dispatcher::new(delivery));
        let sink: Arc<dyn Sink> = Arc::<Dispatcher>::clone(&dispatcher);
        Ok(Service {
            dispatcher,
            tenants: None,
            broker: connect(sink)?,
            last_key: AtomicU64::new(0),
            subscriptions: Mutex::default(),
            limits: SubscriptionLimits::default(),
            state: RwLock::default(),
            lost_events: Faults::default(),
            replica: OnceLock::new(),
        })
    }

    /// Changes the bounds of subscriptions. Those that exist are not affected.
    #[must_use]
    pub fn with_limits(self, limits: SubscriptionLimits) -> Self {
        Service { limits, ..self }
    }

    /// The bounds of subscriptions.
    #[must_use]
    pub fn limits(&self) -> &SubscriptionLimits {
        &self.limits
    }

    /// Shares the subscriptions, and the latest state, with other processes: those of the log are there when it returns. To be
    /// called before anything else.
    ///
    /// # Errors
    /// If the log does not answer.
    pub fn replicate(self: &Arc<Self>, log: Box<dyn SharedLog>) -> Result<(), BrokerError> {
        let running = Replica::start(self, log)?;
        self.replica.get_or_init(|| running);
        Ok(())
    }

    fn replica(&self) -> Option<&Replica> {
        self.replica.get().map(|running| &*running.replica)
    }

    /// Whether this process is the one that collects by default, of those that share their subscriptions.
    #[must_use]
    pub fn is_leader(&self) -> bool {
        self.replica().is_none_or(Replica::is_leader)
    }

    /// Whether this process collects, of those that share the latest state: it takes no state from the others then.
    pub fn set_collecting(&self, collecting: Option<Collecting>) {
        if let Some(replica) = self.replica() {
            replica.set_collecting(self, collecting);
        }
    }

    /// Waits until this process knows what was changed at others.
    ///
    /// # Errors
    /// If the broker does not answer.
    pub fn catch_up(&self) -> Result<(), SubscriptionError> {
        self.replica().map_or(Ok(()), Replica::catch_up).map_err(SubscriptionError::Broker)
    }

    /// Opens the WebSocket of a subscription; `None` if it has none.
    #[must_use]
    pub fn open_websocket(&self, key: Key) -> Option<WebSocketSession> {
        if let Some(replica) = self.replica() {
            replica.claim(self, key);
        }
        self.delivery().open_websocket(key)
    }

    fn subscriptions(&self) -> MutexGuard<'_, Table> {
        self.subscriptions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the latest state.
    pub fn update(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.write().unwrap_or_else(PoisonError::into_inner));
    }

    /// Reads the latest state.
    pub fn read<T>(&self, read: impl FnOnce(&State) -> T) -> T {
        read(&self.state.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes an event of a collector. It waits while the process has used up its quota.
    pub fn publish(&self, event: Event) {
        if let Some(quota) = self.delivery().quota() {
            quota.wait();
        }
        self.telemetry().note_event(event.topic());
        let event = Arc::new(event);
        if let Err(error) = self.broker.publish(&event)
            && let Some(lost) = self.lost_events.count()
        {
            warn!(lost, "events are lost: {error}");
        }
    }

    /// What is counted for metrics and the page.
    pub(crate) fn telemetry(&self) -> &Arc<Telemetry> {
        self.dispatcher.delivery().telemetry()
    }

    /// The registry of the metrics: [`ServerConfig::metrics`](rest::ServerConfig::metrics) of the server of its routes.
    #[must_use]
    pub fn metrics(&self) -> &Registry {
        self.telemetry().registry()
    }

    /// The subscriptions of a version, by type.
    pub(crate) fn subscription_counts(&self, version: Version) -> [usize; Topic::ALL.len()] {
        self.subscriptions().counts(version)
    }

    /// The first subscriptions in the order of their numbers.
    pub(crate) fn first_subscriptions(&self, at_most: usize) -> Vec<(Key, Arc<Subscription>)> {
        let table = self.subscriptions();
        table.iter(Instant::now()).take(at_most).map(|(key, subscription)| (key, Arc::clone(subscription))).collect()
    }

    /// The kind of the broker.
    #[must_use]
    pub fn broker_name(&self) -> &'static str {
        self.broker.name()
    }

    /// What has happened to the broker.
    #[must_use]
    pub fn broker_counts(&self) -> BrokerCounts {
        self.broker.counts()
    }

    /// The notifications of events that subscriptions had so far: one for each event and matching subscription.
    #[must_use]
    pub fn notifications(&self) -> u64 {
        self.dispatcher.notifications()
    }

    /// The events so far that met a subscription.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.dispatcher.events()
    }

    /// Adds a subscription, which `create` makes for its number.
    ///
    /// # Errors
    /// If the broker refuses, or the owner or the service has too many.
    pub fn subscribe(
        &self,
        create: impl FnOnce(Key) -> NewSubscription,
    ) -> Result<(Key, Arc<Subscription>), SubscriptionError> {
        if let Some(replica) = self.replica() {
            let mut tenant = Arc::from("");
            let (key, subscription) = replica.subscribe(self, |key| {
                let new = create(key);
                tenant = Arc::clone(&new.target.tenant);
                new
            })?;
            self.confirm_tenant(key, &tenant).map_err(|_| SubscriptionError::NoTenant)?;
            return Ok((key, subscription));
        }
        let key = Key(self.last_key.fetch_add(1, Ordering::Relaxed) + 1);
        let new = create(key);
        let subscription = new.subscription.clone();
        let limits = self.limits_of(&subscription.owner);
        self.subscriptions().insert(key, subscription.clone(), &limits, Instant::now())?;
        if let Err(error) = self.broker.subscribe(key, &subscription.subscriber, &subscription.criteria) {
            self.subscriptions().remove(key);
            return Err(SubscriptionError::Broker(error));
        }
        let tenant = Arc::clone(&new.target.tenant);
        self.route(key, new);
        self.confirm_tenant(key, &tenant).map_err(|_| SubscriptionError::NoTenant)?;
        Ok((key, Arc::new(subscription)))
    }

    /// Changes a subscription: if `seen` is given, only if it is still that one. Returns whether it exists. Changes of one subscription
    /// at one process must not be concurrent.
    ///
    /// # Errors
    /// If the broker refuses, or another process was faster; the subscription is as before then.
    pub fn change(
        &self,
        key: Key,
        new: NewSubscription,
        seen: Option<&Subscription>,
    ) -> Result<bool, SubscriptionError> {
        if let Some(replica) = self.replica() {
            return replica.change(self, key, &new, seen);
        }
        let subscription = &new.subscription;
        let Subscription { subscriber, criteria, .. } = subscription;
        self.broker.subscribe(key, subscriber, criteria).map_err(SubscriptionError::Broker)?;
        let exists = self.subscriptions().replace(key, subscription.clone(), &self.limits, Instant::now());
        if exists {
            self.route(key, new);
        } else {
            self.broker.unsubscribe(key);
        }
        Ok(exists)
    }

    /// Lets notifications reach a subscription: the test notification first.
    fn route(&self, key: Key, new: NewSubscription) {
        let NewSubscription { subscription, target, is_tested } = new;
        if is_tested {
            self.dispatcher.delivery().insert(key, target.clone());
            self.notify(key, model::notification::test());
        }
        self.dispatcher.insert(key, subscription.subscriber, subscription.criteria, target);
    }

    /// Sends a notification that is of no event.
    fn notify(&self, key: Key, body: String) {
        self.telemetry().feed.pass_on(&body, 1);
        let received_ns = TimeStamp::now().to_nanos();
        let notification =
            Notification { body: body.into(), received_ns, acknowledgement: None, is_redelivered: false };
        self.dispatcher.delivery().send(&[key], &notification);
    }

    /// Returns a subscription.
    #[must_use]
    pub fn subscription(&self, key: Key) -> Option<Arc<Subscription>> {
        self.subscriptions().get(key, Instant::now()).map(Arc::clone)
    }

    /// Returns the subscriptions that meet a condition, in the order of their numbers.
    pub fn find(&self, condition: impl Fn(&Subscription) -> bool) -> Vec<(Key, Arc<Subscription>)> {
        let table = self.subscriptions();
        let found = table.iter(Instant::now()).filter(|(_, subscription)| condition(subscription));
        found.map(|(key, subscription)| (key, Arc::clone(subscription))).collect()
    }

    /// Returns what the delivery has done for a subscription.
    #[must_use]
    pub fn delivery_state(&self, key: Key) -> Option<DeliveryState> {
        self.dispatcher.delivery().state(key)
    }

    /// The delivery: the state of subscriptions, shares of tenants, WebSockets.
    pub fn delivery(&self) -> &Delivery {
        self.dispatcher.delivery()
    }

    /// Removes a subscription. Returns whether there was one.
    ///
    /// # Errors
    /// If it is shared with other processes, and the broker does not answer.
    pub fn unsubscribe(&self, key: Key) -> Result<bool, SubscriptionError> {
        if let Some(replica) = self.replica() {
            return replica.unsubscribe(key).map_err(SubscriptionError::Broker);
        }
        let existed = self.subscriptions().remove(key).is_some();
        if existed {
            self.withdraw(key);
        }
        Ok(existed)
    }

    pub(crate) fn withdraw(&self, key: Key) {
        self.dispatcher.remove(key);
        self.broker.unsubscribe(key);
    }

    /// Removes subscriptions whose deadline has passed, and notifies those that are about to expire. The program calls it about
    /// ten times a second; without anything due it costs a comparison. It also puts changes of the tenants into force.
    pub fn expire(&self) {
        self.refresh_tenants();
        if self.replica().is_some() {
            // the leader does so by itself
            return;
        }
        let due = self.subscriptions().due(Instant::now());
        for due in due {
            match due {
                Due::Notice(key, deadline) => self.notify(key, model::notification::expiry(deadline)),
                Due::Expired(key) => {
                    info!(subscription = key.0, "subscription expired: removed");
                    self.withdraw(key);
                }
            }
        }
    }
}
