//! What functions share that report by the period: FlexRIC's event trigger, its actions, and when each is due.
//!
//! A period begins with the subscription and is kept without drift. A host that comes late sends nothing twice and no
//! burst: what was missed is skipped and counted.

use std::time::Duration;

use e2sm::flexric::EventTriggerDefinition;
use e2sm::{Model, Wire};
use ferric::agent::{Admission, ControllerId, RequestKey};
use ferric::e2::{Function, SubscriptionRequest, Time};
use ferric::e2ap::{Cause, CauseProtocol, CauseRicRequest, RanFunctionId, RanFunctionRevision, RicActionId};
use tracing::{debug, warn};

use crate::admission::{admit, only_bare_reports};

/// What a function that reports by the period offers, and its bounds.
#[derive(Clone, Debug)]
pub struct PeriodicConfig {
    /// Its id within the node. Default: the model's own, which is FlexRIC's.
    pub function_id: Option<RanFunctionId>,
    /// The wire form that it speaks, which its object identifier tells. Default: [`Wire::Plain`], which FlexRIC's RIC and
    /// xApps understand, and which costs least.
    pub wire: Wire,
    /// The shortest period, in milliseconds. Default: 1.
    pub min_period_ms: u32,
    /// Actions that may be set up at a time. Default: 1024.
    pub max_actions: usize,
}

impl Default for PeriodicConfig {
    fn default() -> Self {
        PeriodicConfig { function_id: None, wire: Wire::Plain, min_period_ms: 1, max_actions: 1024 }
    }
}

impl PeriodicConfig {
    /// What controllers are told of a function of that model.
    ///
    /// # Panics
    /// Where the model does not have the configured wire form.
    pub(crate) fn function(&self, model: &Model) -> Function {
        assert!(model.wires.contains(&self.wire), "{} has no wire form {}", model.name, self.wire);
        let mut definition = Vec::new();
        let name = per::PrintableString::literal(model.name);
        if let Err(error) = (e2sm::flexric::RanFunctionDefinition { name }).encode(self.wire, &mut definition) {
            panic!("a model's name can be encoded: {error}");
        }
        let (id, oid) = (self.function_id(model), model.oid(self.wire));
        Function { id, revision: RanFunctionRevision(1), oid, definition }
    }

    pub(crate) fn function_id(&self, model: &Model) -> RanFunctionId {
        self.function_id.unwrap_or(RanFunctionId(model.function_id))
    }
}

/// An action that is set up.
#[derive(Clone, Copy, Debug)]
struct Periodic {
    key: RequestKey,
    id: RicActionId,
    period_ns: u64,
    /// The end of the present period.
    due: Time,
}

/// The actions that are set up.
#[derive(Debug, Default)]
pub(crate) struct Schedule {
    actions: Vec<Periodic>,
    /// The earliest end of a period.
    next: Option<Time>,
    skipped: u64,
    told_skipped: u64,
}

impl Schedule {
    /// Sets up what can be; the first period begins now.
    pub fn subscribe(
        &mut self,
        now: Time,
        controller: ControllerId,
        request: &SubscriptionRequest,
        config: &PeriodicConfig,
    ) -> Result<Admission, Cause> {
        let trigger = EventTriggerDefinition::decode(&request.event_trigger, config.wire).map_err(|error| {
            debug!(%error, "event trigger definition");
            Cause::Protocol(CauseProtocol::TransferSyntaxError)
        })?;
        if trigger.period_ms < config.min_period_ms.max(1) {
            return Err(Cause::RicRequest(CauseRicRequest::EventTriggerNotSupported));
        }
        let key = RequestKey { controller, id: request.request_id };
        let period_ns = u64::from(trigger.period_ms) * 1_000_000;
        let due = now + Duration::from_nanos(period_ns);
        let admission = admit(&mut self.actions, config.max_actions, request, |action| {
            only_bare_reports(action).map(|()| Periodic { key, id: action.id, period_ns, due })
        });
        self.schedule();
        admission
    }

    pub fn unsubscribe(&mut self, key: RequestKey) {
        self.actions.retain(|action| action.key != key);
        self.schedule();
    }

    pub fn next(&self) -> Option<Time> {
        self.next
    }

    /// Reports that were not sent because the host came late, until now.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Hands out the actions whose period has ended, and begins their next.
    pub fn due(&mut self, now: Time, mut report: impl FnMut(RequestKey, RicActionId)) {
        for action in self.actions.iter_mut().filter(|action| action.due <= now) {
            let late_ns = now.as_nanos().saturating_sub(action.due.as_nanos());
            let missed = late_ns / action.period_ns;
            action.due = action.due + Duration::from_nanos((missed + 1) * action.period_ns);
            self.skipped += missed;
            report(action.key, action.id);
        }
        self.schedule();
    }

    fn schedule(&mut self) {
        self.next = self.actions.iter().map(|action| action.due).min();
    }

    /// Says that reports were skipped, once for each doubling: a host that is always late is told so a few times.
    pub fn warn_late(&mut self, model: &Model) {
        if self.skipped >= 2 * self.told_skipped.max(1) || self.told_skipped == 0 && self.skipped > 0 {
            self.told_skipped = self.skipped;
            warn!(
                model = model.name,
                reports = self.skipped,
                "reports skipped until now: the host came too late for them"
            );
        }
    }
}
