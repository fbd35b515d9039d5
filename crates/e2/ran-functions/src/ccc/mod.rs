//! E2SM-CCC: the configuration of the node and of its cells, reported and set.
//!
//! A base station implements [`CccSource`]; [`CccFunction`] does the rest.
//!
//! * A subscription is told at once what is so, and then by the period or when what it watches changes: all that it asks
//!   for, or what has changed.
//! * A control sets each structure as a whole or not at all. Its old values say which structure is meant and what the
//!   sender takes it to be; where that is no longer so, nothing is set. The outcome names each structure that was set and
//!   each that was not, the latter with the attributes at fault, the present values and the cause.
//! * A query is answered with what is so.
//! * What cannot be read is refused as a whole, and the log says where in the message the fault is.

mod control;
mod definition;
mod report;
mod source;
#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;
use std::time::SystemTime;

use e2sm::ccc::{IndicationHeader, IndicationHeaderFormat1, TimeStamp};
use ferric::agent::{Admission, ControlFailure, ControllerId, FunctionContext, RanFunction, RequestKey, Views};
use ferric::e2::{ControlRequest, Function, QueryRequest, SubscriptionRequest, Time};
use ferric::e2ap::{Cause, CauseRicRequest, RanFunctionId};
use tracing::warn;

use crate::admission::admit;
use crate::wall_clock::{WallClock, ntp};
use report::{Action, Trigger};

pub use source::{CccSource, ConfigLevel, ConfigScope, Refusal, SupportedAttribute, SupportedStructure};

/// What a function offers, and its bounds.
#[derive(Clone, Debug)]
pub struct CccConfig {
    /// Its id within the node. Default: 4.
    pub function_id: RanFunctionId,
    /// The shortest reporting period, in milliseconds. Default: 100.
    pub min_period_ms: u32,
    /// Actions that may be set up at a time. Default: 256.
    pub max_actions: usize,
}

impl Default for CccConfig {
    fn default() -> Self {
        CccConfig { function_id: RanFunctionId(4), min_period_ms: 100, max_actions: 256 }
    }
}

/// The RAN function of E2SM-CCC, towards all controllers of its node.
pub struct CccFunction<S: CccSource> {
    source: Rc<RefCell<S>>,
    config: CccConfig,
    wall_clock: WallClock,
    actions: Vec<Action>,
    /// The source's count of changes when it was last looked at.
    seen: u64,
    /// The latest time that was told.
    now: Time,
}

impl<S: CccSource> CccFunction<S> {
    /// A function without subscriptions.
    ///
    /// # Panics
    /// Where the source offers nothing, or what cannot be told.
    #[must_use]
    pub fn new(source: Rc<RefCell<S>>, config: CccConfig) -> Self {
        definition::function(&*source.borrow(), &config);
        let seen = source.borrow().change_count();
        CccFunction {
            source,
            config,
            wall_clock: WallClock::new(SystemTime::now),
            actions: Vec::new(),
            seen,
            now: Time::default(),
        }
    }

    /// Takes the time of day from elsewhere than the system's clock.
    #[must_use]
    pub fn with_wall_clock(mut self, wall_clock: impl Fn() -> SystemTime + 'static) -> Self {
        self.wall_clock = WallClock::new(wall_clock);
        self
    }

    fn time_stamp(&mut self, now: Time) -> TimeStamp {
        self.now = now;
        self.wall_clock.tick(now);
        TimeStamp(ntp(self.wall_clock.at(now)).to_be_bytes())
    }
}

impl<S: CccSource> RanFunction for CccFunction<S> {
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
        _views: &Views,
    ) -> Result<Admission, Cause> {
        self.now = now;
        let source = self.source.borrow();
        let trigger = Trigger::new(&*source, &self.config, &request.event_trigger)?;
        let key = RequestKey { controller, id: request.request_id };
        admit(&mut self.actions, self.config.max_actions, request, |wanted| {
            Action::new(now, &*source, &trigger, key, wanted)
        })
    }

    fn unsubscribe(&mut self, key: RequestKey) {
        self.actions.retain(|action| action.key != key);
    }

    fn control(
        &mut self,
        now: Time,
        controller: ControllerId,
        request: &ControlRequest,
        _reports: &mut FunctionContext<'_>,
    ) -> Result<Option<Vec<u8>>, ControlFailure> {
        let received = self.time_stamp(now);
        let outcome = control::carry_out(&mut *self.source.borrow_mut(), now, controller, request, received)?;
        Ok(Some(outcome).filter(|outcome| !outcome.is_empty()))
    }

    fn query(
        &mut self,
        now: Time,
        _controller: ControllerId,
        request: &QueryRequest,
        _views: &Views,
    ) -> Result<Vec<u8>, Cause> {
        self.now = now;
        let outcome = report::query(&*self.source.borrow(), &request.header, &request.definition)?;
        let mut bytes = Vec::new();
        outcome.encode(&mut bytes).map_err(|error| {
            warn!(%error, "an answer cannot be written: the source's values break a bound");
            Cause::RicRequest(CauseRicRequest::RequestedInformationUnavailable)
        })?;
        Ok(bytes)
    }

    fn controller_removed(&mut self, controller: ControllerId) {
        self.source.borrow_mut().controller_removed(controller);
    }

    fn next_report(&self) -> Option<Time> {
        let by_change =
            self.actions.iter().any(Action::is_by_change) && self.source.borrow().change_count() != self.seen;
        let due = self.actions.iter().filter_map(|action| action.due).min();
        if by_change { Some(due.map_or(self.now, |due| due.min(self.now))) } else { due }
    }

    fn report(&mut self, now: Time, reports: &mut FunctionContext<'_>) {
        let event_time = self.time_stamp(now);
        let source = self.source.borrow();
        let changes = source.change_count();
        let changed = changes != std::mem::replace(&mut self.seen, changes);
        let (mut header, mut message) = (Vec::new(), Vec::new());
        for action in &mut self.actions {
            let Some((indication_reason, told)) = action.report(now, &*source, changed) else { continue };
            header.clear();
            message.clear();
            let format = IndicationHeaderFormat1 { indication_reason, event_time };
            let written = IndicationHeader { format }.encode(&mut header).and_then(|()| told.encode(&mut message));
            match written {
                // a subscription that is gone by now is forgotten by the `unsubscribe` to come
                Ok(()) => drop(reports.report(action.key, action.id, &header, &message)),
                Err(error) => warn!(%error, "a report cannot be written: the source's values break a bound"),
            }
        }
    }
}

impl<S: CccSource> fmt::Debug for CccFunction<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CccFunction")
            .field("config", &self.config)
            .field("actions", &self.actions.len())
            .field("seen", &self.seen)
            .finish_non_exhaustive()
    }
}
