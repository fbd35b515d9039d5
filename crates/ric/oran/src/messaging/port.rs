//! What other threads hand to messaging, and what they read of it.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use ferric::server::IappWaker;

use super::alarms::{AlarmCounts, AlarmSink, MAX_WAITING};

#[cfg(feature = "a1")]
use super::enrichment::EnrichmentInbox;
#[cfg(feature = "a1")]
use super::policies::OwnedRequest;
use super::rights::{NamedXapp, RmrEntry};
#[cfg(feature = "a1")]
use crate::a1::WeakA1;

/// Octets of policies that may wait for the event loop.
#[cfg(feature = "a1")]
const MAX_WAITING_OCTETS: usize = 8 << 20;

/// What an xApp has answered to its last health check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Health {
    /// Whether it is well.
    pub is_well: bool,
    /// When it has answered.
    pub answered: Instant,
}

/// The state that threads share.
#[derive(Default)]
struct State {
    /// The records of registered xApps, if they have changed.
    routes: Option<Vec<String>>,
    /// The endpoints that are asked for their health even if nothing else is sent to them, if they have changed.
    watched: Option<Vec<String>>,
    health: HashMap<String, Health>,
    /// The endpoints that alarms are forwarded to, if they have changed.
    alarm_endpoints: Option<Vec<String>>,
    /// Alarms to forward, and how many were lost since the last look.
    alarms: VecDeque<Arc<[u8]>>,
    lost_alarms: u64,
    alarm_sink: Option<Arc<dyn AlarmSink>>,
    alarm_counts: AlarmCounts,
    /// The xApps that rules of rights may name, if they have changed.
    named: Option<Vec<NamedXapp>>,
    /// The rights of xApps, if they have changed.
    rights: Option<Option<Vec<RmrEntry>>>,
    #[cfg(feature = "a1")]
    policies: VecDeque<OwnedRequest>,
    #[cfg(feature = "a1")]
    policy_octets: usize,
    #[cfg(feature = "a1")]
    a1: Option<WeakA1>,
    #[cfg(feature = "a1")]
    enrichment: EnrichmentInbox,
}

/// The way to messaging. Clones are the same.
#[derive(Clone)]
pub(super) struct Port {
    state: Arc<Mutex<State>>,
    waker: IappWaker,
}

impl fmt::Debug for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Port").finish_non_exhaustive()
    }
}

impl Port {
    pub fn new(waker: IappWaker) -> Self {
        Port { state: Arc::default(), waker }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // each change is one assignment
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn set_routes(&self, records: Vec<String>) {
        self.state().routes = Some(records);
        self.waker.wake();
    }

    pub fn take_routes(&self) -> Option<Vec<String>> {
        self.state().routes.take()
    }

    pub fn watch(&self, endpoints: Vec<String>) {
        self.state().watched = Some(endpoints);
        self.waker.wake();
    }

    pub fn take_watched(&self) -> Option<Vec<String>> {
        self.state().watched.take()
    }

    pub fn set_alarm_endpoints(&self, endpoints: Vec<String>) {
        self.state().alarm_endpoints = Some(endpoints);
        self.waker.wake();
    }

    pub fn take_alarm_endpoints(&self) -> Option<Vec<String>> {
        self.state().alarm_endpoints.take()
    }

    pub fn push_alarm(&self, payload: Vec<u8>) {
        let mut state = self.state();
        if state.alarms.len() >= MAX_WAITING {
            state.alarms.pop_front();
            state.lost_alarms += 1;
        }
        state.alarms.push_back(payload.into());
        drop(state);
        self.waker.wake();
    }

    /// The alarms to forward, and how many were lost.
    pub fn take_alarms(&self) -> (VecDeque<Arc<[u8]>>, u64) {
        let mut state = self.state();
        (std::mem::take(&mut state.alarms), std::mem::take(&mut state.lost_alarms))
    }

    pub fn set_alarm_sink(&self, sink: Arc<dyn AlarmSink>) {
        self.state().alarm_sink = Some(sink);
    }

    pub fn alarm_sink(&self) -> Option<Arc<dyn AlarmSink>> {
        self.state().alarm_sink.clone()
    }

    pub fn set_alarm_counts(&self, counts: AlarmCounts) {
        self.state().alarm_counts = counts;
    }

    pub fn alarm_counts(&self) -> AlarmCounts {
        self.state().alarm_counts
    }

    pub fn set_named(&self, xapps: Vec<NamedXapp>) {
        self.state().named = Some(xapps);
        self.waker.wake();
    }

    pub fn set_rights(&self, rights: Option<Vec<RmrEntry>>) {
        self.state().rights = Some(rights);
        self.waker.wake();
    }

    /// The named xApps and the rights, if they have changed.
    pub fn take_access(&self) -> (Option<Vec<NamedXapp>>, Option<Option<Vec<RmrEntry>>>) {
        let mut state = self.state();
        (state.named.take(), state.rights.take())
    }

    pub fn health(&self, endpoint: &str) -> Option<Health> {
        self.state().health.get(endpoint).copied()
    }

    pub fn set_health(&self, endpoint: String, health: Health) -> Option<Health> {
        self.state().health.insert(endpoint, health)
    }

    /// Forgets the health of endpoints that are no more.
    pub fn retain_health(&self, is_there: impl Fn(&str) -> bool) {
        self.state().health.retain(|endpoint, _| is_there(endpoint));
    }
}

#[cfg(feature = "a1")]
impl Port {
    /// Takes a policy for xApps. Returns whether there is room.
    pub fn push_policy(&self, request: OwnedRequest) -> bool {
        let mut state = self.state();
        if state.policy_octets + request.octets > MAX_WAITING_OCTETS {
            return false;
        }
        state.policy_octets += request.octets;
        state.policies.push_back(request);
        drop(state);
        self.waker.wake();
        true
    }

    pub fn take_policies(&self) -> VecDeque<OwnedRequest> {
        let mut state = self.state();
        state.policy_octets = 0;
        std::mem::take(&mut state.policies)
    }

    /// Changes what enrichment information hands over, and has the event loop look at it.
    pub fn with_enrichment<T>(&self, change: impl FnOnce(&mut EnrichmentInbox) -> T) -> T {
        let result = change(&mut self.state().enrichment);
        self.waker.wake();
        result
    }

    /// What enrichment information has handed over.
    pub fn take_enrichment(&self) -> EnrichmentInbox {
        self.state().enrichment.take()
    }

    /// Enrichment information, if the RIC has it.
    pub fn enrichment(&self) -> Option<crate::a1::enrichment::Enrichment> {
        let weak = self.state().enrichment.service.clone();
        weak?.upgrade()
    }

    pub fn set_a1(&self, a1: WeakA1) {
        self.state().a1 = Some(a1);
    }

    /// Who takes what xApps say of policies.
    pub fn a1(&self) -> Option<crate::a1::A1> {
        let weak = self.state().a1.clone();
        weak?.upgrade()
    }
}
