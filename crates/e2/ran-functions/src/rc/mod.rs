//! E2SM-RC: RAN control (v01.03, v03.00 and v05.00).
//!
//! A base station implements [`RcSource`]; [`RcFunction`] implements the RAN function.
//!
//! * What the base station does not implement is not part of the RAN function definition. A request for it is refused with
//!   a cause, the parameter at fault, and the reason as text (see [`REFUSAL_REASON`]).
//! * A control with several actions (style 255) is checked as a whole, and then executed in order until an action is
//!   refused; the outcome identifies that action.
//! * A procedure that reaches a breakpoint is suspended while a controller decides (insert): until a control with its call
//!   process ID arrives, or the time to wait expires; then it continues or ends, as the subscription requests. A policy
//!   decides at once, before any insert. A procedure without policy or insert continues at once.
//! * A trigger on layer 2 variables or on the UE context (event trigger style 4) reports UEs that start to meet its
//!   conditions, not those that meet them already at the subscription. At most 16 actions have such triggers, with 64 tests
//!   each.
//! * Triggers on UE IDs or on MIMO modes are refused, and so are messages combined with UE events, and conditions on the
//!   node: the interface to the base station does not cover them. On-demand reports exist in v01.03 only; later revisions
//!   have queries.
//! * A control can execute another action for UEs that pass a filter (message format 3), or request parameters (format 4).
//! * Reports contain, and controls affect, only those UEs that the controller [may see](ferric::agent::Views).

mod conditions;
mod control;
mod definition;
mod events;
mod offer;
mod query;
mod source;
mod subscription;
#[cfg(test)]
mod tests;
mod ues;

use std::fmt;
use std::time::Duration;

use e2sm::Wire;
use e2sm::rc::Revision;
use ferric::agent::{Admission, ControlFailure, ControllerId, FunctionContext, RanFunction, RequestKey, Views};
use ferric::e2::{ControlRequest, Function, QueryRequest, SubscriptionRequest, Time};
use ferric::e2ap::{Cause, RanFunctionId};

use crate::admission::admit;
use crate::announcement::Announcement;
use crate::cause::{ACTION_NOT_SUPPORTED, RESOURCE_LIMIT};
use crate::pending::Pending;
use crate::shared_source::SharedSource;
use events::PendingInsert;
use subscription::{Subscription, Trigger};

pub use control::REFUSAL_REASON;
pub use offer::{ControlRequirement, RcOffer, ReportParameter, RequiredUeId};
pub use source::{
    Event, EventKind, Origin, ProcedureId, RcSource, Refusal, SupportedBreakpoint, SupportedInsert, SupportedParameter,
    Verdict,
};

/// Configuration of [`RcFunction`].
#[derive(Clone, Debug)]
pub struct RcConfig {
    /// The RAN function ID within the node. Default: 3.
    pub function_id: RanFunctionId,
    /// The revision of E2SM-RC. Default: v03.00.
    pub revision: Revision,
    /// The encoding, which the object identifier states: PER or FlatBuffers. Default: PER.
    pub wire: Wire,
    /// The maximum number of actions at a time. Default: 256.
    pub max_actions: usize,
    /// The maximum number of procedures that are suspended at a time; others continue without an insert. Default: 1024.
    pub max_pending: usize,
    /// How long a procedure is suspended if the subscription does not state a time to wait, in milliseconds. Default: 100.
    pub default_wait_ms: u32,
    /// The interval at which the conditions of triggers are evaluated for all UEs, in milliseconds. Default: 100.
    pub ue_check_period_ms: u32,
    /// What it offers of the specification, and requires of controls. Default: all; nothing besides the specification.
    pub offer: RcOffer,
    /// The names under which it announces itself. Default: those of the specification.
    pub announcement: Announcement,
}

impl Default for RcConfig {
    fn default() -> Self {
        RcConfig {
            function_id: RanFunctionId(3),
            revision: Revision::V3_00,
            wire: Wire::Per,
            max_actions: 256,
            max_pending: 1024,
            default_wait_ms: 100,
            ue_check_period_ms: 100,
            offer: RcOffer::default(),
            announcement: Announcement::default(),
        }
    }
}

/// The maximum number of actions whose triggers are evaluated for all UEs periodically.
const MAX_UE_CONDITIONS: usize = 16;

/// The RAN function of E2SM-RC, for all controllers of its node.
pub struct RcFunction<H: SharedSource<Source: RcSource>> {
    source: H,
    state: State,
}

/// The state of the function. Its methods get the source from the function, which accesses it once in each call.
struct State {
    config: RcConfig,
    subscriptions: Vec<Subscription>,
    /// Suspended procedures.
    pending: Pending<PendingInsert>,
    /// Subscriptions whose on-demand report is due.
    on_demand: Vec<RequestKey>,
    /// The time of the next evaluation of the conditions on UEs; `None` if there are no conditions.
    next_ue_check: Option<Time>,
    /// Procedures that were not suspended because the table was full.
    skipped_inserts: u64,
    /// The time of the latest call.
    now: Time,
}

impl<H: SharedSource<Source: RcSource>> RcFunction<H> {
    /// Creates a function without subscriptions.
    ///
    /// # Panics
    /// If a name of the source is not 1 to 150 ASCII characters, or if the configured encoding is not compiled in.
    #[must_use]
    pub fn new(source: H, config: RcConfig) -> Self {
        definition::function(&*source.read(), &config);
        let state = State {
            pending: Pending::new(config.max_pending),
            config,
            subscriptions: Vec::new(),
            on_demand: Vec::new(),
            next_ue_check: None,
            skipped_inserts: 0,
            now: Time::default(),
        };
        RcFunction { source, state }
    }

    /// The number of suspended procedures.
    #[must_use]
    pub fn pending_procedures(&self) -> usize {
        self.state.pending.len()
    }

    /// The number of procedures that continued without an insert because the table of suspended procedures was full.
    #[must_use]
    pub fn skipped_inserts(&self) -> u64 {
        self.state.skipped_inserts
    }
}

impl State {
    fn begin<S: RcSource>(&mut self, now: Time, source: &mut S) {
        self.now = now;
        source.advance(now);
    }

    /// Schedules the evaluation of the conditions on UEs while any trigger has some.
    fn schedule_ue_check(&mut self) {
        let has_conditions = self.subscriptions.iter().any(|subscription| subscription.trigger.has_conditions());
        let period = Duration::from_millis(self.config.ue_check_period_ms.into());
        let next = self.next_ue_check.unwrap_or(self.now + period);
        self.next_ue_check = has_conditions.then_some(next);
    }
}

impl<H: SharedSource<Source: RcSource>> RanFunction for RcFunction<H> {
    fn id(&self) -> RanFunctionId {
        self.state.config.function_id
    }

    fn definition(&self) -> Function {
        definition::function(&*self.source.read(), &self.state.config)
    }

    fn subscribe(
        &mut self,
        now: Time,
        controller: ControllerId,
        request: &SubscriptionRequest,
        views: &Views,
    ) -> Result<Admission, Cause> {
        let RcFunction { source, state } = self;
        let mut source = source.write();
        state.begin(now, &mut *source);
        let trigger = Trigger::new(&*source, &state.config, &request.event_trigger)?;
        let has_conditions = trigger.has_conditions();
        let mut with_conditions =
            state.subscriptions.iter().filter(|subscription| subscription.trigger.has_conditions()).count();
        let limit = state.config.max_actions;
        let admission = admit(&mut state.subscriptions, limit, controller, request, |key, action| {
            with_conditions += usize::from(has_conditions);
            if with_conditions > MAX_UE_CONDITIONS {
                return Err(RESOURCE_LIMIT);
            }
            Subscription::new(&*source, &state.config, key, &trigger, action)
        })?;
        if state.subscriptions.len() == admission.admitted.len() {
            source.set_events_enabled(true);
        }
        let new = state.subscriptions.len() - admission.admitted.len();
        for subscription in &mut state.subscriptions[new..] {
            subscription.matches = subscription.current_matches(&*source, views);
        }
        state.schedule_ue_check();
        if matches!(trigger, Trigger::OnDemand(_)) {
            state.on_demand.push(RequestKey { controller, id: request.request_id });
        }
        Ok(admission)
    }

    fn unsubscribe(&mut self, key: RequestKey) {
        let RcFunction { source, state } = self;
        let mut source = source.write();
        state.subscriptions.retain(|subscription| subscription.key != key);
        state.on_demand.retain(|due| *due != key);
        state.schedule_ue_check();
        if state.subscriptions.is_empty() {
            source.set_events_enabled(false);
        }
        // the controller will not answer any more
        for insert in state.pending.remove_matching(|insert| insert.key == key) {
            source.resume(state.now, insert.suspended.procedure, insert.default_verdict());
        }
    }

    fn control(
        &mut self,
        now: Time,
        controller: ControllerId,
        request: &ControlRequest,
        context: &mut FunctionContext<'_>,
    ) -> Result<Option<Vec<u8>>, ControlFailure> {
        let RcFunction { source, state } = self;
        let mut source = source.write();
        state.begin(now, &mut *source);
        state.execute(&mut *source, now, controller, request, context)
    }

    fn query(
        &mut self,
        now: Time,
        controller: ControllerId,
        request: &QueryRequest,
        views: &Views,
    ) -> Result<Vec<u8>, Cause> {
        let RcFunction { source, state } = self;
        if !state.config.offer.queries {
            return Err(ACTION_NOT_SUPPORTED);
        }
        let mut source = source.write();
        state.begin(now, &mut *source);
        state.answer_query(&*source, controller, views, &request.header, &request.definition)
    }

    fn next_report(&self) -> Option<Time> {
        let RcFunction { source, state } = self;
        let on_demand = (!state.on_demand.is_empty()).then_some(state.now);
        [on_demand, state.pending.next_deadline(), state.next_ue_check, source.read().next_event_time()]
            .into_iter()
            .flatten()
            .min()
    }

    fn report(&mut self, now: Time, context: &mut FunctionContext<'_>) {
        let RcFunction { source, state } = self;
        let mut source = source.write();
        state.begin(now, &mut *source);
        state.process_events(&mut *source, now, context);
    }
}

impl<H: SharedSource<Source: RcSource>> fmt::Debug for RcFunction<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RcFunction")
            .field("config", &self.state.config)
            .field("subscriptions", &self.state.subscriptions.len())
            .field("pending", &self.state.pending.len())
            .field("skipped_inserts", &self.state.skipped_inserts)
            .finish_non_exhaustive()
    }
}
