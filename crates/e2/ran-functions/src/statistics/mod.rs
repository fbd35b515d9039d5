//! FlexRIC's statistics: what MAC, RLC, PDCP and GTP count for each UE, reported by the period.
//!
//! A base station implements [`StatisticsSource`] for the records of each model that it has; [`StatisticsFunction`] does
//! the rest, the same for all of them.
//!
//! * A controller is told of those UEs that it may see.
//! * A report is of the moment at which it is made, also where the host comes late; what was missed meanwhile is skipped and
//!   counted.
//! * There is no control: it is refused.

#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;
use std::time::SystemTime;

#[cfg(feature = "gtp")]
use e2sm::gtp;
#[cfg(feature = "mac")]
use e2sm::mac;
#[cfg(feature = "pdcp")]
use e2sm::pdcp;
#[cfg(feature = "rlc")]
use e2sm::rlc;
use e2sm::{Error, Model, Wire, flexric};
use ferric::agent::{Admission, ControllerId, FunctionContext, RanFunction, RequestKey, Ue, Views};
use ferric::e2::{Function, SubscriptionRequest, Time};
use ferric::e2ap::{Cause, RanFunctionId};
use tracing::warn;

use crate::periodic::{PeriodicConfig, Schedule};
use crate::wall_clock::WallClock;

/// MAC statistics.
#[cfg(feature = "mac")]
pub type MacFunction<S> = StatisticsFunction<mac::UeStats, S>;
/// RLC statistics.
#[cfg(feature = "rlc")]
pub type RlcFunction<S> = StatisticsFunction<rlc::BearerStats, S>;
/// PDCP statistics.
#[cfg(feature = "pdcp")]
pub type PdcpFunction<S> = StatisticsFunction<pdcp::BearerStats, S>;
/// GTP statistics.
#[cfg(feature = "gtp")]
pub type GtpFunction<S> = StatisticsFunction<gtp::Tunnel, S>;

/// The getters that a base station implements, to offer the statistics whose records are `R`: `e2sm::mac::UeStats`,
/// `e2sm::rlc::BearerStats`, `e2sm::pdcp::BearerStats` or `e2sm::gtp::Tunnel`.
pub trait StatisticsSource<R> {
    /// Appends the UEs that are there, always in the same order.
    fn ues(&self, out: &mut Vec<Ue>);

    /// Appends what there is of a UE that [`StatisticsSource::ues`] has just told of: one record of it, or one for each of
    /// its bearers or flows.
    fn records(&self, ue: Ue, out: &mut Vec<R>);

    /// Counting has come to `now`. A base station whose counters grow by themselves has nothing to do; a model of one
    /// computes.
    fn advance(&mut self, now: Time) {
        let _ = now;
    }
}

/// What is counted of a UE, a bearer or a flow, and the model that carries it.
pub trait StatisticsRecord: Clone + 'static {
    /// The model.
    const MODEL: Model;

    /// Appends the indication message.
    ///
    /// # Errors
    /// Records that the wire form cannot carry.
    fn encode(records: &[Self], timestamp_us: i64, wire: Wire, out: &mut Vec<u8>) -> Result<(), Error>;
}

/// Implements [`StatisticsRecord`] for the records of a model, which stand in field `$list` of its indication message.
macro_rules! record {
    ($feature:literal, $model:ident::$record:ident, $list:ident) => {
        #[cfg(feature = $feature)]
        impl StatisticsRecord for $model::$record {
            const MODEL: Model = $model::MODEL;

            fn encode(records: &[Self], timestamp_us: i64, wire: Wire, out: &mut Vec<u8>) -> Result<(), Error> {
                $model::IndicationMessage { $list: per::List::from(records), timestamp_us }.encode(wire, out)
            }
        }
    };
}

record!("mac", mac::UeStats, ues);
record!("rlc", rlc::BearerStats, bearers);
record!("pdcp", pdcp::BearerStats, bearers);
record!("gtp", gtp::Tunnel, tunnels);

/// A RAN function of statistics, towards all controllers of its node.
pub struct StatisticsFunction<R, S> {
    source: Rc<RefCell<S>>,
    config: PeriodicConfig,
    wall_clock: WallClock,
    schedule: Schedule,
    header: Vec<u8>,
    /// Memory that is used again for each report.
    ues: Vec<Ue>,
    records: Vec<R>,
    message: Vec<u8>,
}

impl<R: StatisticsRecord, S: StatisticsSource<R>> StatisticsFunction<R, S> {
    /// A function without subscriptions.
    ///
    /// # Panics
    /// Where the model does not have the configured wire form.
    #[must_use]
    pub fn new(source: Rc<RefCell<S>>, config: PeriodicConfig) -> Self {
        config.function(&R::MODEL);
        let mut header = Vec::new();
        if let Err(error) = flexric::IndicationHeader::default().encode(config.wire, &mut header) {
            panic!("a header without contents can be encoded: {error}");
        }
        StatisticsFunction {
            source,
            config,
            wall_clock: WallClock::new(SystemTime::now),
            schedule: Schedule::default(),
            header,
            ues: Vec::new(),
            records: Vec::new(),
            message: Vec::new(),
        }
    }

    /// Takes the time of day from elsewhere than the system's clock.
    #[must_use]
    pub fn with_wall_clock(mut self, wall_clock: impl Fn() -> SystemTime + 'static) -> Self {
        self.wall_clock = WallClock::new(wall_clock);
        self
    }

    /// Reports that were not sent because the host came late, until now.
    #[must_use]
    pub fn skipped_reports(&self) -> u64 {
        self.schedule.skipped()
    }
}

impl<R: StatisticsRecord, S: StatisticsSource<R>> RanFunction for StatisticsFunction<R, S> {
    fn id(&self) -> RanFunctionId {
        self.config.function_id(&R::MODEL)
    }

    fn definition(&self) -> Function {
        self.config.function(&R::MODEL)
    }

    fn subscribe(
        &mut self,
        now: Time,
        controller: ControllerId,
        request: &SubscriptionRequest,
        _views: &Views,
    ) -> Result<Admission, Cause> {
        self.schedule.subscribe(now, controller, request, &self.config)
    }

    fn unsubscribe(&mut self, key: RequestKey) {
        self.schedule.unsubscribe(key);
    }

    fn next_report(&self) -> Option<Time> {
        self.schedule.next()
    }

    fn report(&mut self, now: Time, reports: &mut FunctionContext<'_>) {
        let StatisticsFunction { source, config, wall_clock, schedule, header, ues, records, message } = self;
        wall_clock.tick(now);
        let timestamp_us = wall_clock.unix_us(now);
        let mut source = source.borrow_mut();
        source.advance(now);
        ues.clear();
        source.ues(ues);
        // controllers that see the same are told by the same octets
        let mut written_for: Option<Option<ControllerId>> = None;
        schedule.due(now, |key, action| {
            let viewer = (!reports.views().sees_all(key.controller)).then_some(key.controller);
            if written_for != Some(viewer) {
                records.clear();
                let views = reports.views();
                let seen = ues.iter().filter(|ue| views.sees(key.controller, **ue));
                seen.for_each(|ue| source.records(*ue, records));
                message.clear();
                if let Err(error) = R::encode(records, timestamp_us, config.wire, message) {
                    warn!(model = R::MODEL.name, %error, "a report cannot be written: the source's values break a bound");
                    return;
                }
                written_for = Some(viewer);
            }
            // a subscription that is gone by now is forgotten by the `unsubscribe` to come
            let _ = reports.report(key, action, header, message);
        });
        schedule.warn_late(&R::MODEL);
    }
}

impl<R, S> fmt::Debug for StatisticsFunction<R, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StatisticsFunction")
            .field("config", &self.config)
            .field("schedule", &self.schedule)
            .finish_non_exhaustive()
    }
}
