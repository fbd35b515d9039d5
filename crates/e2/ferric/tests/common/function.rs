//! A RAN function that reports numbers, and a loop that runs it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use e2ap::{Cause, CauseRicRequest, RanFunctionId, RanFunctionRevision, RicActionId};
use ferric::agent::{
    Admission, AgentLoop, AgentLoopConfig, ControlFailure, ControllerId, FunctionContext, RanFunction, RequestKey,
    Views,
};
use ferric::e2::{ControlRequest, Function, SubscriptionRequest, Time};

use super::eventually;
use super::peer::{FUNCTION, OID};

/// The calls of a function.
#[derive(Debug, Default)]
pub struct Log {
    pub subscribed: AtomicU64,
    pub unsubscribed: AtomicU64,
    pub reported: AtomicU64,
    /// The number of removed controllers.
    pub removed: AtomicU64,
}

impl Log {
    pub fn subscribed(&self) -> u64 {
        self.subscribed.load(Ordering::Acquire)
    }
    pub fn unsubscribed(&self) -> u64 {
        self.unsubscribed.load(Ordering::Acquire)
    }
    pub fn removed(&self) -> u64 {
        self.removed.load(Ordering::Acquire)
    }
    pub fn reported(&self) -> u64 {
        self.reported.load(Ordering::Acquire)
    }
}

/// Reports a counter to all subscriptions every period. Acknowledges a control with its message; fails for `fail`;
/// reports at once for `report`.
pub struct Reporter {
    period: Duration,
    octets: usize,
    pub log: Arc<Log>,
    subscriptions: Vec<(RequestKey, RicActionId)>,
    next: Option<Time>,
}

impl Reporter {
    pub fn new(period: Duration) -> Reporter {
        Reporter { period, octets: 8, log: Arc::default(), subscriptions: Vec::new(), next: None }
    }

    /// Sets the length of its messages, from 8 octets on.
    pub fn with_octets(self, octets: usize) -> Reporter {
        Reporter { octets, ..self }
    }
}

impl RanFunction for Reporter {
    fn id(&self) -> RanFunctionId {
        FUNCTION
    }

    fn definition(&self) -> Function {
        let (id, revision) = (FUNCTION, RanFunctionRevision(1));
        Function { id, revision, oid: OID.to_owned(), definition: b"reporter".to_vec() }
    }

    fn subscribe(
        &mut self,
        now: Time,
        controller: ControllerId,
        request: &SubscriptionRequest,
        _views: &Views,
    ) -> Result<Admission, Cause> {
        if request.event_trigger == b"refuse" {
            return Err(Cause::RicRequest(CauseRicRequest::FunctionResourceLimit));
        }
        self.log.subscribed.fetch_add(1, Ordering::AcqRel);
        let key = RequestKey { controller, id: request.request_id };
        self.subscriptions.push((key, request.actions[0].id));
        self.next.get_or_insert(now);
        Ok(Admission { admitted: request.actions.iter().map(|a| a.id).collect(), not_admitted: Vec::new() })
    }

    fn unsubscribe(&mut self, key: RequestKey) {
        self.log.unsubscribed.fetch_add(1, Ordering::AcqRel);
        self.subscriptions.retain(|(other, _)| *other != key);
        if self.subscriptions.is_empty() {
            self.next = None;
        }
    }

    fn control(
        &mut self,
        _now: Time,
        _controller: ControllerId,
        request: &ControlRequest,
        reports: &mut FunctionContext<'_>,
    ) -> Result<Option<Vec<u8>>, ControlFailure> {
        match request.message.as_slice() {
            b"fail" => Err(Cause::RicRequest(CauseRicRequest::ControlFailedToExecute).into()),
            b"report" => {
                for (key, action) in &self.subscriptions {
                    reports.report(*key, *action, b"", b"at once").unwrap();
                }
                Ok(None)
            }
            message => Ok(Some(message.to_vec())),
        }
    }

    fn next_report(&self) -> Option<Time> {
        self.next
    }

    fn report(&mut self, now: Time, reports: &mut FunctionContext<'_>) {
        let number = self.log.reported.fetch_add(1, Ordering::AcqRel);
        let mut message = vec![0; self.octets];
        message[..8].copy_from_slice(&number.to_be_bytes());
        for (key, action) in &self.subscriptions {
            reports.report(*key, *action, b"header", &message).unwrap();
        }
        self.next = Some(now + self.period);
    }

    fn controller_removed(&mut self, controller: ControllerId) {
        assert!(
            self.subscriptions.iter().all(|(key, _)| key.controller != controller),
            "subscriptions end before the removal"
        );
        self.log.removed.fetch_add(1, Ordering::AcqRel);
    }
}

/// A configuration with short delays.
pub fn impatient() -> AgentLoopConfig {
    AgentLoopConfig {
        retry_first: Duration::from_millis(20),
        retry_last: Duration::from_millis(100),
        ..AgentLoopConfig::default()
    }
}

/// Polls the loop until `condition` holds.
pub fn poll_agents_until(agents: &mut AgentLoop, what: &str, mut condition: impl FnMut(&mut AgentLoop) -> bool) {
    eventually(what, || {
        agents.poll(Some(Duration::from_millis(5))).unwrap();
        condition(agents)
    });
}
