//! E2SM-RC: control of the RAN (v01.03, v03.00 and v05.00).
//!
//! A base station implements [`RcSource`]; [`RcFunction`] does the rest.
//!
//! * What the base station does not implement is not offered, and refused where it is asked for all the same: with the
//!   cause, the parameter at fault, and reason in words (see [`REFUSAL_REASON`]).
//! * A control of several actions (style 255) is checked as a whole, then carried out in order; the first refusal ends it,
//!   and the outcome tells at which action.
//! * A procedure that comes to a point waits while a controller is asked (insert): until the control comes that carries
//!   its call process id, or the time to wait has passed; then it goes on, or ends, as the subscription says. A policy
//!   decides without asking, and before anybody is asked. Where nobody has a say, it goes on at once.
//! * A trigger on variables of layer 2 or on the UE's context (event trigger style 4) is pulled by the UEs that come to meet
//!   its conditions; those that meet them already are not told of. 16 actions can have such a trigger, of 64 tests each.
//! * Triggers on a UE's names or on how MIMO is used are refused, and so are messages together with events of the UE, and
//!   conditions on the node: no base station can tell of them here. On demand is for v01.03 alone; later it is a query.
//! * A control can act otherwise on UEs that pass filters (message format 3), and ask for parameters (format 4).
//! * A controller learns of those UEs only that it [may see](ferric::agent::Views), and acts on no others.

mod conditions;
mod control;
mod definition;
mod events;
mod query;
mod source;
mod subscription;
#[cfg(test)]
mod tests;
mod ues;

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;
use std::time::Duration;

use e2sm::Wire;
use e2sm::rc::Revision;
use ferric::agent::{Admission, ControlFailure, ControllerId, FunctionContext, RanFunction, RequestKey, Views};
use ferric::e2::{ControlRequest, Function, QueryRequest, SubscriptionRequest, Time};
use ferric::e2ap::{Cause, RanFunctionId};

use crate::admission::admit;
use crate::pending::Pending;
use events::Asked;
use subscription::{Subscription, TOO_MUCH, Trigger};

pub use control::REFUSAL_REASON;
pub use source::{
    Event, EventKind, Origin, ProcedureId, RcSource, Refusal, SupportedBreakpoint, SupportedInsert, SupportedParameter,
    Verdict,
};

/// What a function offers, and its bounds.
#[derive(Clone, Debug)]
pub struct RcConfig {
    /// Its id within the node. Default: 3.
    pub function_id: RanFunctionId,
    /// The revision of E2SM-RC that it speaks. Default: v03.00.
    pub revision: Revision,
    /// The wire form that it speaks, which its object identifier tells: PER, or FlatBuffers. Default: PER.
    pub wire: Wire,
    /// Actions that may be set up at a time. Default: 256.
    pub max_actions: usize,
    /// Procedures that may wait for answers at a time; others go on unasked. Default: 1024.
    pub max_pending: usize,
    /// How long a procedure waits where the subscription does not say, in milliseconds. Default: 100.
    pub default_wait_ms: u32,
    /// How often it is looked whether UEs meet the conditions of triggers, in milliseconds. Default: 100.
    pub ue_check_period_ms: u32,
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
        }
    }
}

/// Actions whose triggers look at every UE again and again.
const MAX_WATCHING: usize = 16;

/// The RAN function of E2SM-RC, towards all controllers of its node.
pub struct RcFunction<S: RcSource> {
    source: Rc<RefCell<S>>,
    config: RcConfig,
    subscriptions: Vec<Subscription>,
    held: Pending<Asked>,
    /// Subscriptions that are to be told at once.
    on_demand: Vec<RequestKey>,
    /// When it is looked next whether UEs meet conditions, where any trigger has some.
    next_look: Option<Time>,
    /// Procedures that found no room to wait.
    unasked: u64,
    /// The latest time that was told.
    now: Time,
}

impl<S: RcSource> RcFunction<S> {
    /// A function without subscriptions.
    ///
    /// # Panics
    /// Where the source offers what cannot be told: a name that is not 1 to 150 characters of ASCII, say. Where the model
    /// does not have the configured wire form, or it is not built in.
    #[must_use]
    pub fn new(source: Rc<RefCell<S>>, config: RcConfig) -> Self {
        definition::function(&*source.borrow(), &config);
        RcFunction {
            source,
            held: Pending::new(config.max_pending),
            config,
            subscriptions: Vec::new(),
            on_demand: Vec::new(),
            next_look: None,
            unasked: 0,
            now: Time::default(),
        }
    }

    fn begin(&mut self, now: Time) {
        self.now = now;
        self.source.borrow_mut().advance(now);
    }

    /// Looks at UEs as long as a trigger has conditions on them.
    fn look_again(&mut self) {
        let has_conditions = self.subscriptions.iter().any(|subscription| subscription.trigger.has_conditions());
        let next = self.next_look.unwrap_or(self.now + Duration::from_millis(self.config.ue_check_period_ms.into()));
        self.next_look = has_conditions.then_some(next);
    }

    /// Procedures that wait for an answer.
    #[must_use]
    pub fn held(&self) -> usize {
        self.held.len()
    }

    /// Procedures that went on unasked because as many waited as may, until now.
    #[must_use]
    pub fn unasked(&self) -> u64 {
        self.unasked
    }
}

impl<S: RcSource> RanFunction for RcFunction<S> {
    fn id(&self) -> RanFunctionId {
        self.config.function_id
    }

    fn definition(&self) -> Function {
        definition::function(&*self.source.borrow(), &self.config)
    }

    fn subscribe(
        &mut self,
        now: Time,
        controller: ControllerId,
        request: &SubscriptionRequest,
        views: &Views,
    ) -> Result<Admission, Cause> {
        self.begin(now);
        let source = self.source.borrow();
        let trigger = Trigger::new(&*source, &self.config, &request.event_trigger)?;
        let key = RequestKey { controller, id: request.request_id };
        let has_conditions = trigger.has_conditions();
        let mut watching =
            self.subscriptions.iter().filter(|subscription| subscription.trigger.has_conditions()).count();
        let admission = admit(&mut self.subscriptions, self.config.max_actions, request, |wanted| {
            watching += usize::from(has_conditions);
            if watching > MAX_WATCHING {
                return Err(TOO_MUCH);
            }
            Subscription::new(&*source, &self.config, key, &trigger, wanted)
        })?;
        drop(source);
        if self.subscriptions.len() == admission.admitted.len() {
            self.source.borrow_mut().set_events_enabled(true);
        }
        let new = self.subscriptions.len() - admission.admitted.len();
        for at in new..self.subscriptions.len() {
            self.subscriptions[at].met = self.meet(&self.subscriptions[at], views);
        }
        self.look_again();
        if matches!(trigger, Trigger::OnDemand(_)) {
            self.on_demand.push(key);
        }
        Ok(admission)
    }

    fn unsubscribe(&mut self, key: RequestKey) {
        self.subscriptions.retain(|subscription| subscription.key != key);
        self.on_demand.retain(|pending| *pending != key);
        self.look_again();
        if self.subscriptions.is_empty() {
            self.source.borrow_mut().set_events_enabled(false);
        }
        // who was asked will not answer any more
        for asked in self.held.remove_matching(|asked| asked.key == key) {
            let verdict = if asked.goes_on { Verdict::Continue } else { Verdict::Cancel };
            self.source.borrow_mut().resume(self.now, asked.stopped.procedure, verdict);
        }
    }

    fn control(
        &mut self,
        now: Time,
        controller: ControllerId,
        request: &ControlRequest,
        reports: &mut FunctionContext<'_>,
    ) -> Result<Option<Vec<u8>>, ControlFailure> {
        self.begin(now);
        self.carry_out(now, controller, request, reports)
    }

    fn query(
        &mut self,
        now: Time,
        controller: ControllerId,
        request: &QueryRequest,
        views: &Views,
    ) -> Result<Vec<u8>, Cause> {
        self.begin(now);
        self.answer_query(controller, views, &request.header, &request.definition)
    }

    fn next_report(&self) -> Option<Time> {
        let at_once = (!self.on_demand.is_empty()).then_some(self.now);
        [at_once, self.held.next_deadline(), self.next_look, self.source.borrow().next_event_time()]
            .into_iter()
            .flatten()
            .min()
    }

    fn report(&mut self, now: Time, reports: &mut FunctionContext<'_>) {
        self.begin(now);
        self.look(now, reports);
    }
}

impl<S: RcSource> fmt::Debug for RcFunction<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RcFunction")
            .field("config", &self.config)
            .field("subscriptions", &self.subscriptions.len())
            .field("held", &self.held.len())
            .field("unasked", &self.unasked)
            .finish_non_exhaustive()
    }
}
