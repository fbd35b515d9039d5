//! The service: subscriptions, the latest state, and the way of an event.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Instant;

use tracing::{info, warn};

use crate::broker::{Broker, BrokerCounts, BrokerError, Sink};
use crate::criteria::Criteria;
use crate::delivery::{Delivery, DeliveryState, Notification, Target};
use crate::dispatcher::Dispatcher;
use crate::event::Event;
use crate::faults::Faults;
use crate::matcher::Key;
use crate::model::{self, TimeStamp};
use crate::state::State;
use crate::subscriptions::{Due, Full, Subscription, SubscriptionLimits, Table, Version};
use crate::tenants::Tenants;

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

    /// Takes an event of a collector.
    pub fn publish(&self, event: Event) {
        let event = Arc::new(event);
        if let Err(error) = self.broker.publish(&event)
            && let Some(lost) = self.lost_events.count()
        {
            warn!(lost, "events are lost: {error}");
        }
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

    /// Adds a subscription, which `create` makes for its number.
    ///
    /// # Errors
    /// If the broker refuses, or the owner or the service has too many.
    pub fn subscribe(
        &self,
        create: impl FnOnce(Key) -> NewSubscription,
    ) -> Result<(Key, Arc<Subscription>), SubscriptionError> {
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

    /// Changes a subscription. Returns whether it exists. Changes of one subscription must not be concurrent.
    ///
    /// # Errors
    /// If the broker refuses; the subscription is as before then.
    pub fn change(&self, key: Key, new: NewSubscription) -> Result<bool, SubscriptionError> {
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
    pub fn unsubscribe(&self, key: Key) -> bool {
        let existed = self.subscriptions().remove(key).is_some();
        if existed {
            self.withdraw(key);
        }
        existed
    }

    pub(crate) fn withdraw(&self, key: Key) {
        self.dispatcher.remove(key);
        self.broker.unsubscribe(key);
    }

    /// Removes subscriptions whose deadline has passed, and notifies those that are about to expire. The program calls it about
    /// ten times a second; without anything due it costs a comparison. It also puts changes of the tenants into force.
    pub fn expire(&self) {
        self.refresh_tenants();
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
