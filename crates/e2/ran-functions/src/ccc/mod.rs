//! E2SM-CCC: reports and control of the configuration of the node and its cells.
//!
//! A base station implements [`CccSource`]; [`CccFunction`] implements the RAN function.
//!
//! * A subscription gets its first report at once, and further ones periodically or when a structure of the trigger
//!   changes: of all subscribed structures, or of the changed ones.
//! * A control sets each structure as a whole or not at all. Its old values identify the structure and must still be
//!   current. The outcome lists each structure that was set and each that was not, the latter with the rejected attributes,
//!   the current values and the cause.
//! * A query returns the current values.
//! * A message that cannot be decoded is refused as a whole; the log contains the position of the error.

mod control;
mod definition;
mod report;
mod source;
#[cfg(test)]
mod tests;

use std::fmt;
use std::time::SystemTime;

use e2sm::ccc::{IndicationHeader, IndicationHeaderFormat1, TimeStamp};
use e2sm::common::ntp_timestamp;
use ferric::agent::{Admission, ControlFailure, ControllerId, FunctionContext, RanFunction, RequestKey, Views};
use ferric::e2::{ControlRequest, Function, QueryRequest, SubscriptionRequest, Time};
use ferric::e2ap::{Cause, RanFunctionId};
use tracing::warn;

use crate::admission::admit;
use crate::announcement::Announcement;
use crate::cause::INFORMATION_UNAVAILABLE;
use crate::shared_source::SharedSource;
use crate::wall_clock::WallClock;
use report::{Action, Trigger};

pub use source::{CccSource, ConfigLevel, ConfigScope, Refusal, SupportedAttribute, SupportedStructure};

/// Configuration of [`CccFunction`].
#[derive(Clone, Debug)]
pub struct CccConfig {
    /// The RAN function ID within the node. Default: 4.
    pub function_id: RanFunctionId,
    /// The shortest reporting period, in milliseconds. Default: 100.
    pub min_period_ms: u32,
    /// The maximum number of actions at a time. Default: 256.
    pub max_actions: usize,
    /// The names under which it announces itself. Default: those of the specification.
    pub announcement: Announcement,
}

impl Default for CccConfig {
    fn default() -> Self {
        CccConfig {
            function_id: RanFunctionId(4),
            min_period_ms: 100,
            max_actions: 256,
            announcement: Announcement::default(),
        }
    }
}

/// The RAN function of E2SM-CCC, for all controllers of its node.
pub struct CccFunction<H: SharedSource<Source: CccSource>> {
    source: H,
    config: CccConfig,
    wall_clock: WallClock,
    actions: Vec<Action>,
    /// The source's change count at the latest report.
    change_count: u64,
    /// The time of the latest call.
    now: Time,
}

impl<H: SharedSource<Source: CccSource>> CccFunction<H> {
    /// Creates a function without subscriptions.
    ///
    /// # Panics
    /// If the source supports no structures, or their names cannot be encoded.
    #[must_use]
    pub fn new(source: H, config: CccConfig) -> Self {
        let change_count = {
            let source = source.read();
            definition::function(&*source, &config);
            source.change_count()
        };
        CccFunction {
            source,
            config,
            wall_clock: WallClock::system(),
            actions: Vec::new(),
            change_count,
            now: Time::default(),
        }
    }

    /// Replaces the system clock as the source of the time of day.
    #[must_use]
    pub fn with_wall_clock(mut self, wall_clock: impl Fn() -> SystemTime + Send + 'static) -> Self {
        self.wall_clock = WallClock::new(wall_clock);
        self
    }

    fn time_stamp(&mut self, now: Time) -> TimeStamp {
        self.now = now;
        self.wall_clock.update(now);
        TimeStamp(ntp_timestamp(self.wall_clock.at(now)).to_be_bytes())
    }
}

impl<H: SharedSource<Source: CccSource>> RanFunction for CccFunction<H> {
    fn id(&self) -> RanFunctionId {
        self.config.function_id
    }

    fn definition(&self) -> Function {
        definition::function(&*self.source.read(), &self.config)
    }

    fn subscribe(
        &mut self,
        now: Time,
        controller: ControllerId,
        request: &SubscriptionRequest,
        _views: &Views,
    ) -> Result<Admission, Cause> {
        self.now = now;
        let source = self.source.read();
        let trigger = Trigger::new(&*source, &self.config, &request.event_trigger)?;
        admit(&mut self.actions, self.config.max_actions, controller, request, |key, requested| {
            Action::new(now, &*source, &trigger, key, requested)
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
        _context: &mut FunctionContext<'_>,
    ) -> Result<Option<Vec<u8>>, ControlFailure> {
        let received = self.time_stamp(now);
        let outcome = control::execute(&mut *self.source.write(), now, controller, request, received)?;
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
        let outcome = report::query(&*self.source.read(), &request.header, &request.definition)?;
        let mut bytes = Vec::new();
        outcome.encode(&mut bytes).map_err(|error| {
            warn!(%error, "cannot encode a query outcome: a value of the source is out of range");
            INFORMATION_UNAVAILABLE
        })?;
        Ok(bytes)
    }

    fn controller_removed(&mut self, controller: ControllerId) {
        self.source.write().controller_removed(controller);
    }

    fn next_report(&self) -> Option<Time> {
        let may_report_change =
            self.actions.iter().any(Action::reports_changes) && self.source.read().change_count() != self.change_count;
        let due = self.actions.iter().filter_map(Action::due).min();
        if may_report_change { Some(due.map_or(self.now, |due| due.min(self.now))) } else { due }
    }

    fn report(&mut self, now: Time, context: &mut FunctionContext<'_>) {
        let event_time = self.time_stamp(now);
        let source = self.source.read();
        let change_count = source.change_count();
        let has_changed = change_count != std::mem::replace(&mut self.change_count, change_count);
        let (mut header, mut message) = (Vec::new(), Vec::new());
        for action in &mut self.actions {
            let Some((indication_reason, report)) = action.report(now, &*source, has_changed) else { continue };
            header.clear();
            message.clear();
            let format = IndicationHeaderFormat1 { indication_reason, event_time };
            let encoded = IndicationHeader { format }.encode(&mut header).and_then(|()| report.encode(&mut message));
            match encoded {
                // fails only for a subscription that has ended, which the pending `unsubscribe` removes
                Ok(()) => drop(context.report(action.key, action.id, &header, &message)),
                Err(error) => {
                    warn!(%error, "cannot encode a configuration report: a value of the source is out of range")
                }
            }
        }
    }
}

impl<H: SharedSource<Source: CccSource>> fmt::Debug for CccFunction<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CccFunction")
            .field("config", &self.config)
            .field("actions", &self.actions.len())
            .field("change_count", &self.change_count)
            .finish_non_exhaustive()
    }
}
