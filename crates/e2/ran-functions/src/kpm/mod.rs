//! E2SM-KPM: measurements, reported by the period (v02.01, v02.03, v03.00 and v04.00: report styles 1 to 5; v01.00: the
//! containers of DU, CU-CP and CU-UP with the 5G core).
//!
//! A base station implements [`KpmSource`]; [`KpmFunction`] does the rest.
//!
//! * An action that asks for what the base station does not have is refused with its cause; the others of the
//!   subscription stand.
//! * A period begins with the subscription and is kept without drift. A host that comes late sends nothing twice and no
//!   burst: the record that was due is marked incomplete, those that were missed have no values, and reports that were
//!   missed altogether are skipped and counted.
//! * A report on every UE that meets conditions (style 4) is not sent where there is none: the message cannot be empty.
//!   A UE that comes or goes has no values in those periods in which it did not meet them.
//! * Conditions on a measurement (style 3) select UEs; the value is of those UEs together, with all their traffic. Where
//!   others meet them in other periods of a report, it tells which UEs did in which (v02.03).
//! * A distribution has up to three dimensions, with bins of the base station's or of the controller's. A label names a bin
//!   in each, and may say whose share is meant too. A range of bins is told with the last dimension counted first.
//! * A label that the base station does not know, such as a QCI or an SSB of one that has none, is refused.

mod action;
mod collect;
mod conditions;
mod definition;
mod message;
mod source;
#[cfg(test)]
mod tests;
mod v1;

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;
use std::time::SystemTime;

use e2sm::Wire;
use e2sm::kpm::{EventTriggerDefinition, EventTriggerDefinitionFormats, Revision};
use ferric::agent::{Admission, ControllerId, FunctionContext, RanFunction, RequestKey, Views};
use ferric::e2::{Function, SubscriptionRequest, Time};
use ferric::e2ap::{Cause, CauseProtocol, CauseRicRequest, RanFunctionId};
use tracing::{debug, warn};

use crate::admission::admit;
use crate::wall_clock::WallClock;
use action::Action;
use message::Writer;

pub use definition::ReportStyle;
pub use source::{Bin, KpmSource, MeasuredObject, SupportedMeasurement};

/// What a function offers, and its bounds.
#[derive(Clone, Debug)]
pub struct KpmConfig {
    /// Its id within the node. Default: 2.
    pub function_id: RanFunctionId,
    /// The revision of E2SM-KPM that it speaks. Default: v03.00.
    pub revision: Revision,
    /// The wire form that it speaks, which its object identifier tells; v01.00 has PER only. Default: PER.
    pub wire: Wire,
    /// The report styles that it offers. Default: all.
    pub styles: Vec<ReportStyle>,
    /// The shortest granularity period, in milliseconds. Default: 1.
    pub min_period_ms: u32,
    /// Actions that may be set up at a time. Default: 1024.
    pub max_actions: usize,
    /// Values in one report: an action that needs more for one UE is refused, UEs beyond are left out. Default: 65536.
    pub max_values: usize,
}

impl Default for KpmConfig {
    fn default() -> Self {
        KpmConfig {
            function_id: RanFunctionId(2),
            revision: Revision::V3_00,
            wire: Wire::Per,
            styles: ReportStyle::ALL.to_vec(),
            min_period_ms: 1,
            max_actions: 1024,
            max_values: 65_536,
        }
    }
}

/// The RAN function of E2SM-KPM. Controllers see reports on those UEs that they may see; what is measured of the cell is of
/// the whole cell.
pub struct KpmFunction<S: KpmSource> {
    source: Rc<RefCell<S>>,
    config: KpmConfig,
    wall_clock: WallClock,
    actions: Vec<Action<S::Snapshot>>,
    /// The earliest of the actions' deadlines.
    next: Option<Time>,
    writer: Writer,
    /// Actions that are due, in the order of their periods' ends.
    due: Vec<(Time, usize)>,
    skipped_reports: u64,
    told_skipped: u64,
}

impl<S: KpmSource> KpmFunction<S> {
    /// A function without subscriptions.
    ///
    /// # Panics
    /// Where the source offers nothing of any of the styles, or a name that is not 1 to 150 characters of ASCII.
    #[must_use]
    pub fn new(source: Rc<RefCell<S>>, config: KpmConfig) -> Self {
        definition::check(&*source.borrow(), &config);
        KpmFunction {
            source,
            config,
            wall_clock: WallClock::new(SystemTime::now),
            actions: Vec::new(),
            next: None,
            writer: Writer::default(),
            due: Vec::new(),
            skipped_reports: 0,
            told_skipped: 0,
        }
    }

    /// Takes the time of day for headers from elsewhere than the system's clock.
    #[must_use]
    pub fn with_wall_clock(mut self, wall_clock: impl Fn() -> SystemTime + 'static) -> Self {
        self.wall_clock = WallClock::new(wall_clock);
        self
    }

    /// Reports that were not sent because the host came late, until now.
    #[must_use]
    pub fn skipped_reports(&self) -> u64 {
        self.skipped_reports
    }

    /// Collects the records that are due, and sends the reports that they complete.
    fn collect(&mut self, now: Time, reports: &mut FunctionContext<'_>) {
        self.wall_clock.tick(now);
        let mut source = self.source.borrow_mut();
        self.due.clear();
        let ends = self.actions.iter().enumerate().filter_map(|(at, action)| Some((action.passed_until(now)?, at)));
        self.due.extend(ends);
        self.due.sort_unstable(); // time goes forward for the source
        for (until, at) in self.due.drain(..) {
            let action = &mut self.actions[at];
            source.advance(until);
            if let Some(start) = action.collect(&*source, reports.views(), until) {
                match self.writer.write(&self.config, self.wall_clock.at(start), action) {
                    Ok(true) => {
                        // a subscription that is gone by now is forgotten by the `unsubscribe` to come
                        let (header, message) = (self.writer.header(), self.writer.message());
                        let _ = reports.report(action.key(), action.id(), header, message);
                    }
                    Ok(false) => {}
                    Err(error) => warn!(%error, "a report cannot be written: the source's values break a constraint"),
                }
                action.begin_report();
            }
            self.skipped_reports += action.skip(until);
        }
        drop(source);
        self.schedule();
        self.warn_late();
    }

    fn schedule(&mut self) {
        self.next = self.actions.iter().map(Action::due).min();
    }

    fn warn_late(&mut self) {
        // once for each doubling: a host that is always late is told so a few times
        if self.skipped_reports >= 2 * self.told_skipped.max(1) || self.told_skipped == 0 && self.skipped_reports > 0 {
            self.told_skipped = self.skipped_reports;
            let (function, reports) = (self.config.function_id.0, self.skipped_reports);
            warn!(function, reports, "reports skipped until now: the host came too late for them");
        }
    }
}

impl<S: KpmSource> RanFunction for KpmFunction<S> {
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
        let key = RequestKey { controller, id: request.request_id };
        let reporting_period_ms = reporting_period(&request.event_trigger, &self.config)?;
        let mut source = self.source.borrow_mut();
        source.advance(now);
        let admission = admit(&mut self.actions, self.config.max_actions, request, |wanted| {
            Action::new(now, &*source, views, &self.config, reporting_period_ms, key, wanted)
        });
        drop(source);
        self.schedule();
        admission
    }

    fn unsubscribe(&mut self, key: RequestKey) {
        self.actions.retain(|action| action.key() != key);
        self.schedule();
    }

    fn next_report(&self) -> Option<Time> {
        self.next
    }

    fn report(&mut self, now: Time, reports: &mut FunctionContext<'_>) {
        self.collect(now, reports);
    }
}

impl<S: KpmSource> fmt::Debug for KpmFunction<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KpmFunction")
            .field("config", &self.config)
            .field("actions", &self.actions.len())
            .field("next", &self.next)
            .field("skipped_reports", &self.skipped_reports)
            .finish_non_exhaustive()
    }
}

/// Milliseconds from report to report.
fn reporting_period(trigger: &[u8], config: &KpmConfig) -> Result<u32, Cause> {
    let period_ms = if config.revision == Revision::V1_00 {
        v1::reporting_period(trigger)?
    } else {
        let trigger = EventTriggerDefinition::decode_in(trigger, config.revision, config.wire).map_err(|error| {
            debug!(%error, "event trigger definition");
            Cause::Protocol(CauseProtocol::TransferSyntaxError)
        })?;
        let EventTriggerDefinitionFormats::Format1(format1) = trigger.formats;
        format1.reporting_period
    };
    if period_ms < config.min_period_ms {
        return Err(Cause::RicRequest(CauseRicRequest::EventTriggerNotSupported));
    }
    Ok(period_ms)
}
