//! Code shared by the functions of FlexRIC's periodic service models: configuration, event trigger and subscriptions.
//!
//! The first period begins with the subscription, and periods do not drift. If the agent is polled late, each action
//! sends one report; the missed ones are skipped and counted.

use e2sm::flexric::EventTriggerDefinition;
use e2sm::{Model, Wire};
use ferric::agent::{Admission, ControllerId, RequestKey};
use ferric::e2::{Function, SubscriptionRequest, Time};
use ferric::e2ap::{Cause, RanFunctionId, RanFunctionRevision, RicActionId};

use crate::admission::{admit, require_plain_report};
use crate::cause::{TRIGGER_NOT_SUPPORTED, undecodable};
use crate::schedule::{Period, SkippedReports};

/// Configuration of a RAN function with periodic reports.
#[derive(Clone, Debug)]
pub struct PeriodicConfig {
    /// The RAN function ID within the node. Default: that of the service model, as in FlexRIC.
    pub function_id: Option<RanFunctionId>,
    /// The encoding of the service model, which its object identifier states. Default: [`Wire::Plain`], which FlexRIC's
    /// RIC and xApps understand, and which costs the least CPU time.
    pub wire: Wire,
    /// The shortest reporting period, in milliseconds. Default: 1.
    pub min_period_ms: u32,
    /// The maximum number of actions at a time. Default: 1024.
    pub max_actions: usize,
    /// Whether the functions of statistics acknowledge controls, which have no effect, as FlexRIC's MAC does. Default: they are
    /// refused.
    pub accepts_controls: bool,
}

impl Default for PeriodicConfig {
    fn default() -> Self {
        PeriodicConfig {
            function_id: None,
            wire: Wire::Plain,
            min_period_ms: 1,
            max_actions: 1024,
            accepts_controls: false,
        }
    }
}

impl PeriodicConfig {
    /// The RAN function item of E2 Setup for a function of this service model.
    ///
    /// # Panics
    /// If the service model does not have the configured encoding.
    pub(crate) fn function(&self, model: &Model) -> Function {
        assert!(model.wires.contains(&self.wire), "{} has no encoding {}", model.name, self.wire);
        let mut definition = Vec::new();
        let name = per::PrintableString::literal(model.name);
        if let Err(error) = (e2sm::flexric::RanFunctionDefinition { name }).encode(self.wire, &mut definition) {
            panic!("cannot encode the constant RAN function definition of {}: {error}", model.name);
        }
        let (id, oid) = (self.function_id(model), model.oid(self.wire));
        Function { id, revision: RanFunctionRevision(1), oid, definition }
    }

    pub(crate) fn function_id(&self, model: &Model) -> RanFunctionId {
        self.function_id.unwrap_or(RanFunctionId(model.function_id))
    }
}

/// A report action of a subscription.
#[derive(Clone, Copy, Debug)]
struct PeriodicAction {
    key: RequestKey,
    id: RicActionId,
    period: Period,
}

/// The report actions of all subscriptions, and when the next one is due.
#[derive(Debug, Default)]
pub(crate) struct PeriodicActions {
    actions: Vec<PeriodicAction>,
    /// The earliest end of a period.
    next_due: Option<Time>,
    skipped: SkippedReports,
}

impl PeriodicActions {
    /// Admits the actions of a subscription; their first period begins at `now`.
    pub fn subscribe(
        &mut self,
        now: Time,
        controller: ControllerId,
        request: &SubscriptionRequest,
        config: &PeriodicConfig,
    ) -> Result<Admission, Cause> {
        let trigger = EventTriggerDefinition::decode(&request.event_trigger, config.wire)
            .map_err(undecodable("event trigger definition"))?;
        if trigger.period_ms < config.min_period_ms.max(1) {
            return Err(TRIGGER_NOT_SUPPORTED);
        }
        let period = Period::new(now, trigger.period_ms);
        let admission = admit(&mut self.actions, config.max_actions, controller, request, |key, action| {
            require_plain_report(action).map(|()| PeriodicAction { key, id: action.id, period })
        });
        self.update_next_due();
        admission
    }

    pub fn unsubscribe(&mut self, key: RequestKey) {
        self.actions.retain(|action| action.key != key);
        self.update_next_due();
    }

    pub fn next_due(&self) -> Option<Time> {
        self.next_due
    }

    /// The number of reports that were skipped because the agent was polled late.
    pub fn skipped_reports(&self) -> u64 {
        self.skipped.total()
    }

    /// Calls `report` for each action whose period has ended, and starts its next period.
    pub fn report_due(&mut self, now: Time, model: &Model, mut report: impl FnMut(RequestKey, RicActionId)) {
        for action in &mut self.actions {
            if let Some(missed) = action.period.advance(now) {
                self.skipped.add(missed);
                report(action.key, action.id);
            }
        }
        self.update_next_due();
        self.skipped.log(model.name);
    }

    fn update_next_due(&mut self) {
        self.next_due = self.actions.iter().map(|action| action.period.end()).min();
    }
}
