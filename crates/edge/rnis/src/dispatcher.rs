//! From events to notifications: finds the subscriptions of an event and hands each the notification.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::broker::{Audience, Received, Sink};
use crate::criteria::Criteria;
use crate::delivery::{Delivery, Notification, Target};
use crate::event::Event;
use crate::matcher::{Key, Matcher};
use crate::model;
use crate::tenants::TenantTable;

/// What a broker's events are given to.
#[derive(Debug)]
pub struct Dispatcher {
    state: Mutex<State>,
    delivery: Delivery,
    notifications: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    matcher: Matcher,
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
        Dispatcher { state: Mutex::default(), delivery, notifications: AtomicU64::new(0) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // no panic leaves it half changed: each change is one insertion or removal
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a subscription, or changes it.
    pub fn insert(&self, key: Key, subscriber: Arc<str>, criteria: Criteria, target: Target) {
        let tenant = Arc::clone(&target.tenant);
        self.delivery.insert(key, target);
        let mut state = self.state();
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
        drop(state);
        self.delivery.remove(key);
    }

    /// The notifications of events so far: one for each event and matching subscription.
    pub fn notifications(&self) -> u64 {
        self.notifications.load(Ordering::Relaxed)
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
            Audience::All => state.matcher.find(&event, &mut state.found),
            Audience::Subscriber(subscriber) => {
                state.matcher.find(&event, &mut state.found);
                state.found.retain(|key| state.subscribers.get(key).is_some_and(|(of, _)| of == subscriber));
            }
        }
        state.keep_permitted(&event);
        if state.found.is_empty() {
            return;
        }
        self.notifications.fetch_add(state.found.len() as u64, Ordering::Relaxed);
        // written once; each subscription adds its link
        let body = model::notification(&event);
        let notification =
            Notification { body: body.into(), received_ns: event.received_ns, acknowledgement, is_redelivered };
        self.delivery.send(&state.found, &notification);
    }
}
