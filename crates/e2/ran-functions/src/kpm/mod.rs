//! E2SM-KPM: periodic measurement reports (v02.01, v02.03, v03.00 and v04.00: report styles 1 to 5; v02.00: report style 1;
//! v01.00: the containers of DU, CU-CP and CU-UP with the 5G core).
//!
//! A base station implements [`KpmSource`]; [`KpmFunction`] implements the RAN function.
//!
//! * An action that requests an unsupported measurement is refused with its cause; the other actions of the subscription
//!   are admitted.
//! * The first period begins with the subscription, and periods do not drift. If the agent is polled late, nothing is sent
//!   twice or in a burst: the record that was due is marked incomplete, missed records have no values, and missed reports
//!   are skipped and counted. A source that computes its counters can catch up instead ([`KpmConfig::catch_up_periods`]).
//! * A report on the UEs that meet common conditions (style 4) is not sent if there are none, because the message cannot be
//!   empty. A UE has no values in the periods in which it does not meet the conditions.
//! * The matching conditions of a measurement (style 3) select UEs; the value covers all traffic of these UEs together. If
//!   different UEs match in different periods of a report, the report lists them for each period (v02.03).
//! * A distribution has up to three dimensions, with bins of the base station or of the controller. A label selects a bin in
//!   each dimension and may also select a share, such as a slice. A range of bins is ordered by the last dimension first.
//! * A label that the base station does not support, such as a QCI or an SSB index, is refused.

mod action;
mod collect;
mod conditions;
mod definition;
mod message;
mod source;
#[cfg(test)]
mod tests;
mod v1;
mod v2_00;

use std::fmt;
use std::time::SystemTime;

use e2sm::Wire;
use e2sm::kpm::{EventTriggerDefinition, EventTriggerDefinitionFormats, Revision, TimestampFormat, TimestampMoment};
use ferric::agent::{Admission, ControllerId, FunctionContext, RanFunction, RequestKey, Views};
use ferric::e2::{Function, SubscriptionRequest, Time};
use ferric::e2ap::{Cause, RanFunctionId};
use per::PrintableString;
use tracing::warn;

use crate::admission::admit;
use crate::announcement::Announcement;
use crate::cause::{RESOURCE_LIMIT, TRIGGER_NOT_SUPPORTED, undecodable};
use crate::schedule::SkippedReports;
use crate::shared_source::SharedSource;
use crate::wall_clock::WallClock;
use action::Action;
use message::Writer;

pub use definition::ReportStyle;
pub use source::{Bin, KpmSource, MeasuredObject, SupportedMeasurement};

/// Configuration of [`KpmFunction`].
#[derive(Clone, Debug)]
pub struct KpmConfig {
    /// The RAN function ID within the node. Default: 2.
    pub function_id: RanFunctionId,
    /// The revision of E2SM-KPM. Default: v03.00.
    pub revision: Revision,
    /// The encoding, which the object identifier states; v01.00 and v02.00 have PER only. Default: PER.
    pub wire: Wire,
    /// The supported report styles, in the order of the definition; v01.00 has its own. Without any, the function announces
    /// itself and refuses all subscriptions. Default: all.
    pub styles: Vec<ReportStyle>,
    /// The name of the gNB in headers of v01.00. Headers and messages then have the layout of v01.02, which O-RAN SC's simulator
    /// sends as v01.00 ([`e2sm::kpm::v1`]). Default: none, the layout of v01.00.
    pub v1_name: Option<PrintableString<'static>>,
    /// The shortest granularity period, in milliseconds. Default: 1.
    pub min_period_ms: u32,
    /// The maximum number of actions at a time. Default: 1024.
    pub max_actions: usize,
    /// The maximum number of values in a report. An action that needs more for a single UE is refused; UEs for which there
    /// is no room are omitted. Default: 65536.
    pub max_values: usize,
    /// The maximum number of actions of a subscription, which is refused if it has more. Default: 16, as in E2AP.
    pub max_actions_per_subscription: usize,
    /// The names under which it announces itself. Default: those of the specification.
    pub announcement: Announcement,
    /// What a record contains where there is no value. Default: "no value".
    pub missing_value: MissingValue,
    /// The format of the time stamp in an indication header. Default: NTP, as specified.
    pub timestamp_format: TimestampFormat,
    /// The moment that this time stamp states. Default: the start of the reported period, as specified.
    pub timestamp_moment: TimestampMoment,
    /// Whether conditions that select UEs are evaluated; otherwise all UEs are selected. Default: yes.
    pub evaluates_conditions: bool,
    /// The most periods that a late poll reports one by one for each action, for a source that can compute its counters at the
    /// end of each ([`KpmSource::advance`]); later ones are handled as for other sources. Default: 0, since a base station knows
    /// its present counters only.
    pub catch_up_periods: u32,
}

/// What a record contains for a measurement without a value in its period, such as the delay of a UE without data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MissingValue {
    /// "No value" (KPM 8.2.1.4.1).
    #[default]
    NoValue,
    /// The number 0, as FlexRIC and OAI report: their xApps cannot read "no value".
    Zero,
    /// Nothing: the record has fewer values than the subscription has measurements, as srsRAN's CU-UP reports. The last one
    /// stays as "no value", since a record cannot be empty.
    Omitted,
}

impl Default for KpmConfig {
    fn default() -> Self {
        KpmConfig {
            function_id: RanFunctionId(2),
            revision: Revision::V3_00,
            wire: Wire::Per,
            styles: ReportStyle::ALL.to_vec(),
            v1_name: None,
            min_period_ms: 1,
            max_actions: 1024,
            max_values: 65_536,
            max_actions_per_subscription: 16,
            announcement: Announcement::default(),
            missing_value: MissingValue::default(),
            timestamp_format: TimestampFormat::Ntp,
            timestamp_moment: TimestampMoment::PeriodStart,
            evaluates_conditions: true,
            catch_up_periods: 0,
        }
    }
}

/// The RAN function of E2SM-KPM, for all controllers of its node.
///
/// Reports on UEs contain those that the controller may see; measurements of the cell cover the whole cell.
pub struct KpmFunction<H: SharedSource<Source: KpmSource>> {
    source: H,
    config: KpmConfig,
    wall_clock: WallClock,
    actions: Vec<Action<<H::Source as KpmSource>::Snapshot>>,
    /// The earliest of the actions' deadlines.
    next: Option<Time>,
    writer: Writer,
    /// The indices of the actions that are due, in the order of their periods' ends.
    due: Vec<(Time, usize)>,
    skipped: SkippedReports,
}

impl<H: SharedSource<Source: KpmSource>> KpmFunction<H> {
    /// Creates a function without subscriptions.
    ///
    /// # Panics
    /// If there are report styles and the source has no measurement for any of them; if it has a measurement with an invalid name, ID or
    /// distribution; if the revision does not have the configured encoding.
    #[must_use]
    pub fn new(source: H, config: KpmConfig) -> Self {
        definition::check(&*source.read(), &config);
        KpmFunction {
            source,
            config,
            wall_clock: WallClock::system(),
            actions: Vec::new(),
            next: None,
            writer: Writer::default(),
            due: Vec::new(),
            skipped: SkippedReports::default(),
        }
    }

    /// Replaces the system clock as the source of the time of day in indication headers.
    #[must_use]
    pub fn with_wall_clock(mut self, wall_clock: impl Fn() -> SystemTime + Send + 'static) -> Self {
        self.wall_clock = WallClock::new(wall_clock);
        self
    }

    /// The number of reports that were skipped because the agent was polled late.
    #[must_use]
    pub fn skipped_reports(&self) -> u64 {
        self.skipped.total()
    }

    /// Collects the records that are due, and sends the reports that are complete.
    fn collect(&mut self, now: Time, context: &mut FunctionContext<'_>) {
        self.wall_clock.update(now);
        self.catch_up(now, context);
        self.due.clear();
        let ends = self.actions.iter().enumerate().filter_map(|(at, action)| Some((action.last_period_end(now)?, at)));
        self.due.extend(ends);
        self.due.sort_unstable(); // the time of the source must not go backwards
        let due = std::mem::take(&mut self.due);
        due.iter().for_each(|(until, at)| self.collect_action(now, *until, *at, context));
        self.due = due;
        self.update_next();
        self.skipped.log("KPM");
    }

    /// Collects the records of actions of which more than one period has ended, in the order of their ends.
    fn catch_up(&mut self, now: Time, context: &mut FunctionContext<'_>) {
        let most = self.config.catch_up_periods as usize;
        if most == 0 || !self.actions.iter().any(|action| action.is_late(now)) {
            return;
        }
        for _ in 0..most.saturating_mul(self.actions.len()) {
            let ends = self.actions.iter().enumerate().map(|(at, action)| (action.due(), at));
            let Some((until, at)) = ends.filter(|(until, _)| *until <= now).min() else { return };
            self.collect_action(now, until, at, context);
        }
    }

    /// Collects the record of an action whose last period has ended at `until`, and sends the report when it is complete.
    fn collect_action(&mut self, now: Time, until: Time, at: usize, context: &mut FunctionContext<'_>) {
        let mut source = self.source.write();
        let action = &mut self.actions[at];
        source.advance(until);
        if let Some(start) = action.collect(&*source, context.views(), until) {
            if self.config.missing_value == MissingValue::Zero {
                action.zero_missing(&*source);
            }
            let stated = match self.config.timestamp_moment {
                TimestampMoment::PeriodStart => start,
                TimestampMoment::Report => now,
            };
            match self.writer.write(&self.config, self.wall_clock.at(stated), action) {
                Ok(true) => {
                    // fails only for a subscription that has ended, which the pending `unsubscribe` removes
                    let (header, message) = (self.writer.header(), self.writer.message());
                    let _ = context.report(action.key(), action.id(), header, message);
                }
                Ok(false) => {}
                Err(error) => warn!(%error, "cannot encode a KPM report: a value of the source is out of range"),
            }
            action.begin_report();
        }
        self.skipped.add(action.skip(until));
    }

    fn update_next(&mut self) {
        self.next = self.actions.iter().map(Action::due).min();
    }
}

impl<H: SharedSource<Source: KpmSource>> RanFunction for KpmFunction<H> {
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
        views: &Views,
    ) -> Result<Admission, Cause> {
        if request.actions.len() > self.config.max_actions_per_subscription {
            return Err(RESOURCE_LIMIT);
        }
        let reporting_period_ms = reporting_period(&request.event_trigger, &self.config)?;
        let mut source = self.source.write();
        source.advance(now);
        let admission = admit(&mut self.actions, self.config.max_actions, controller, request, |key, requested| {
            Action::new(now, &*source, views, &self.config, reporting_period_ms, key, requested)
        });
        drop(source);
        self.update_next();
        admission
    }

    fn unsubscribe(&mut self, key: RequestKey) {
        self.actions.retain(|action| action.key() != key);
        self.update_next();
    }

    fn next_report(&self) -> Option<Time> {
        self.next
    }

    fn report(&mut self, now: Time, context: &mut FunctionContext<'_>) {
        self.collect(now, context);
    }
}

impl<H: SharedSource<Source: KpmSource>> fmt::Debug for KpmFunction<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KpmFunction")
            .field("config", &self.config)
            .field("actions", &self.actions.len())
            .field("next", &self.next)
            .field("skipped_reports", &self.skipped.total())
            .finish_non_exhaustive()
    }
}

/// The reporting period of an event trigger, in milliseconds.
fn reporting_period(trigger: &[u8], config: &KpmConfig) -> Result<u32, Cause> {
    let period_ms = if config.revision == Revision::V1_00 {
        v1::reporting_period(trigger)?
    } else {
        // that of v02.00 is the same as that of v02.01
        let revision = config.revision.max(Revision::V2_01);
        let trigger = EventTriggerDefinition::decode_in(trigger, revision, config.wire)
            .map_err(undecodable("event trigger definition"))?;
        let EventTriggerDefinitionFormats::Format1(format1) = trigger.formats;
        format1.reporting_period
    };
    if period_ms < config.min_period_ms {
        return Err(TRIGGER_NOT_SUPPORTED);
    }
    Ok(period_ms)
}
