//! From events to notifications: finds the subscriptions of an event and hands each the notification.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::broker::{Audience, Received, Sink};
use crate::criteria::{Criteria, Topic};
use crate::delivery::{Channel, Delivery, Notification, Target};
use crate::event::Event;
use crate::matcher::{Key, Matcher};
use crate::model;
use crate::tenants::TenantTable;

/// What a broker's events are given to.
#[derive(Debug)]
pub struct Dispatcher {
    state: Mutex<State>,
    delivery: Delivery,
    events: AtomicU64,
    /// Events for WebSockets come apart from those for callbacks: the service has several processes.
    is_shared: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    matcher: Matcher,
    /// Subscriptions with a WebSocket, of a service of several processes.
    websockets: HashSet<Key>,
    /// For each subscription its subscriber, for brokers with a queue for each, and its tenant, if it is not empty.
    subscribers: HashMap<Key, (Arc<str>, Arc<str>)>,
    /// The tenants whose rights hold.
    tenants: Option<Arc<TenantTable>>,
    /// Which tenants may see an event. Reused between events.
    permitted: HashMap<Arc<str>, bool>,
    /// Reused between events.
    found: Vec<Key>,
}

impl Dispatcher {
    /// A dispatcher without subscriptions.
    pub fn new(delivery: Delivery) -> Self {
        let (events, is_shared) = (AtomicU64::new(0), AtomicBool::new(false));
        Dispatcher { state: Mutex::default(), delivery, events, is_shared }
    }

    /// Separates the events for WebSockets from those for callbacks. There are no subscriptions yet.
    pub fn share(&self) {
        self.is_shared.store(true, Ordering::Release);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // no panic leaves it half changed: each change is one insertion or removal
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a subscription, or changes it.
    pub fn insert(&self, key: Key, subscriber: Arc<str>, criteria: Criteria, target: Target) {
        let is_apart = self.is_shared.load(Ordering::Acquire) && matches!(target.channel, Channel::WebSocket);
        let tenant = Arc::clone(&target.tenant);
        self.delivery.insert(key, target);
        let mut state = self.state();
        if is_apart {
            state.websockets.insert(key);
        } else {
            state.websockets.remove(&key);
        }
        state.subscribers.insert(key, (subscriber, tenant));
        state.matcher.insert(key, criteria);
    }

    /// Replaces the tenants whose rights hold for the next event.
    pub fn set_tenants(&self, tenants: Arc<TenantTable>) {
        self.state().tenants = Some(tenants);
    }

    /// Removes a subscription. What waits for it is dropped.
    pub fn remove(&self, key: Key) {
        let mut state = self.state();
        state.matcher.remove(key);
        state.subscribers.remove(&key);
        state.websockets.remove(&key);
        drop(state);
        self.delivery.remove(key);
    }

    /// The notifications of events so far: one for each event and matching subscription.
    pub fn notifications(&self) -> u64 {
        Topic::ALL.into_iter().map(|topic| self.delivery.telemetry().notifications(topic)).sum()
    }

    /// The events so far that met a subscription.
    pub fn events(&self) -> u64 {
        self.events.load(Ordering::Relaxed)
    }

    /// The delivery, for what is no event: test and expiry notifications, and counters.
    pub fn delivery(&self) -> &Delivery {
        &self.delivery
    }
}

impl State {
    /// Removes the subscriptions whose tenants may not see the event. A tenant's rights are compared once.
    fn keep_permitted(&mut self, event: &Event) {
        let State { subscribers, tenants, permitted, found, .. } = self;
        let Some(tenants) = tenants else { return };
        permitted.clear();
        found.retain(|key| match subscribers.get(key) {
            Some((_, tenant)) if !tenant.is_empty() => *permitted.entry(Arc::clone(tenant)).or_insert_with(|| {
                // one that was removed may see nothing
                tenants.get(tenant).is_some_and(|tenant| tenant.rights.permit_event(event))
            }),
            _ => true,
        });
    }
}

impl Sink for Dispatcher {
    fn receive(&self, received: Received) {
        let Received { event, audience, acknowledgement, is_redelivered } = received;
        let mut guard = self.state();
        let state = &mut *guard;
        match &audience {
            Audience::Subscriptions(keys) => {
                state.found.clear();
                state.found.extend(keys.iter().copied().filter(|key| state.subscribers.contains_key(key)));
            }
            Audience::All => {
                state.matcher.find(&event, &mut state.found);
                state.found.retain(|key| !state.websockets.contains(key));
            }
            Audience::WebSockets => {
                state.matcher.find(&event, &mut state.found);
                state.found.retain(|key| state.websockets.contains(key));
            }
            Audience::Subscriber(subscriber) => {
                state.matcher.find(&event, &mut state.found);
                state.found.retain(|key| state.subscribers.get(key).is_some_and(|(of, _)| of == subscriber));
            }
        }
        state.keep_permitted(&event);
        if state.found.is_empty() {
            return;
        }
        self.events.fetch_add(1, Ordering::Relaxed);
        let telemetry = self.delivery.telemetry();
        telemetry.note_matches(event.topic(), state.found.len());
        // written once; each subscription adds its link
        let body = model::notification(&event);
        telemetry.feed.pass_on(&body, state.found.len());
        let notification =
            Notification { body: body.into(), received_ns: event.received_ns, acknowledgement, is_redelivered };
        self.delivery.send(&state.found, &notification);
    }
}
