//! FlexRIC's statistics service models: periodic reports of the MAC, RLC, PDCP and GTP counters of each UE.
//!
//! A base station implements [`StatisticsSource`] for the records of each service model that it supports;
//! [`StatisticsFunction`] implements the RAN function, the same for all of them.
//!
//! * A report contains the UEs that the controller may see.
//! * A report contains the values at the time of its creation, even if the agent is polled late; reports that were missed
//!   are skipped and counted.
//! * Controls are refused, or acknowledged without effect ([`PeriodicConfig::accepts_controls`]).

#[cfg(test)]
mod tests;

use std::fmt;
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
use ferric::agent::{Admission, ControlFailure, ControllerId, FunctionContext, RanFunction, RequestKey, Ue, Views};
use ferric::e2::{ControlRequest, Function, SubscriptionRequest, Time};
use ferric::e2ap::{Cause, RanFunctionId};
use tracing::{debug, warn};

use crate::cause::ACTION_NOT_SUPPORTED;
use crate::periodic::{PeriodicActions, PeriodicConfig};
use crate::shared_source::SharedSource;
use crate::wall_clock::WallClock;

/// The RAN function of MAC statistics.
#[cfg(feature = "mac")]
pub type MacFunction<H> = StatisticsFunction<mac::UeStats, H>;
/// The RAN function of RLC statistics.
#[cfg(feature = "rlc")]
pub type RlcFunction<H> = StatisticsFunction<rlc::BearerStats, H>;
/// The RAN function of PDCP statistics.
#[cfg(feature = "pdcp")]
pub type PdcpFunction<H> = StatisticsFunction<pdcp::BearerStats, H>;
/// The RAN function of GTP statistics.
#[cfg(feature = "gtp")]
pub type GtpFunction<H> = StatisticsFunction<gtp::Tunnel, H>;

/// What a base station implements to report statistics in records of type `R`: `e2sm::mac::UeStats`,
/// `e2sm::rlc::BearerStats`, `e2sm::pdcp::BearerStats` or `e2sm::gtp::Tunnel`.
///
/// The fields of the records state their units.
pub trait StatisticsSource<R> {
    /// Appends the connected UEs, always in the same order.
    fn ues(&self, out: &mut Vec<Ue>);

    /// Appends the records of a UE that [`StatisticsSource::ues`] has just returned: one for the UE, or one for each of
    /// its bearers or tunnels.
    fn records(&self, ue: Ue, out: &mut Vec<R>);

    /// Brings the counters up to date with `now`. A real base station, whose counters change by themselves, does nothing;
    /// an emulated one computes.
    fn advance(&mut self, now: Time) {
        let _ = now;
    }
}

/// The statistics of a UE, a bearer or a tunnel, as one of the service models reports them.
pub trait StatisticsRecord: Clone + 'static {
    /// The service model.
    const MODEL: Model;

    /// Encodes an indication message of these records and appends it to `out`.
    ///
    /// # Errors
    /// If a value is out of the range of the encoding.
    fn encode(records: &[Self], timestamp_us: i64, wire: Wire, out: &mut Vec<u8>) -> Result<(), Error>;
}

/// Implements [`StatisticsRecord`] for the records of a service model; `$list` is their field of the indication message.
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

/// The RAN function of one statistics service model, for all controllers of its node.
pub struct StatisticsFunction<R, H> {
    source: H,
    config: PeriodicConfig,
    wall_clock: WallClock,
    actions: PeriodicActions,
    header: Vec<u8>,
    // buffers that are reused for each report
    ues: Vec<Ue>,
    records: Vec<R>,
    message: Vec<u8>,
}

impl<R: StatisticsRecord, H: SharedSource<Source: StatisticsSource<R>>> StatisticsFunction<R, H> {
    /// Creates a function without subscriptions.
    ///
    /// # Panics
    /// If the service model does not have the configured encoding.
    #[must_use]
    pub fn new(source: H, config: PeriodicConfig) -> Self {
        config.function(&R::MODEL);
        let mut header = Vec::new();
        if let Err(error) = flexric::IndicationHeader::default().encode(config.wire, &mut header) {
            panic!("cannot encode an indication header without content: {error}");
        }
        StatisticsFunction {
            source,
            config,
            wall_clock: WallClock::system(),
            actions: PeriodicActions::default(),
            header,
            ues: Vec::new(),
            records: Vec::new(),
            message: Vec::new(),
        }
    }

    /// Replaces the system clock as the source of the time of day.
    #[must_use]
    pub fn with_wall_clock(mut self, wall_clock: impl Fn() -> SystemTime + Send + 'static) -> Self {
        self.wall_clock = WallClock::new(wall_clock);
        self
    }

    /// The number of reports that were skipped because the agent was polled late.
    #[must_use]
    pub fn skipped_reports(&self) -> u64 {
        self.actions.skipped_reports()
    }
}

impl<R: StatisticsRecord, H: SharedSource<Source: StatisticsSource<R>>> RanFunction for StatisticsFunction<R, H> {
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
        self.actions.subscribe(now, controller, request, &self.config)
    }

    fn unsubscribe(&mut self, key: RequestKey) {
        self.actions.unsubscribe(key);
    }

    fn control(
        &mut self,
        _now: Time,
        controller: ControllerId,
        _request: &ControlRequest,
        _context: &mut FunctionContext<'_>,
    ) -> Result<Option<Vec<u8>>, ControlFailure> {
        if !self.config.accepts_controls {
            return Err(ACTION_NOT_SUPPORTED.into());
        }
        debug!(controller = controller.0, model = R::MODEL.name, "control acknowledged: it has no effect");
        Ok(None)
    }

    fn next_report(&self) -> Option<Time> {
        self.actions.next_due()
    }

    fn report(&mut self, now: Time, context: &mut FunctionContext<'_>) {
        let StatisticsFunction { source, config, wall_clock, actions, header, ues, records, message } = self;
        wall_clock.update(now);
        let timestamp_us = wall_clock.unix_us(now);
        let mut source = source.write();
        source.advance(now);
        ues.clear();
        source.ues(ues);
        // a message is encoded once for all controllers that see the same UEs; `None` stands for those that see all
        let mut encoded_for: Option<Option<ControllerId>> = None;
        actions.report_due(now, &R::MODEL, |key, action| {
            let viewer = (!context.views().sees_all(key.controller)).then_some(key.controller);
            if encoded_for != Some(viewer) {
                records.clear();
                let views = context.views();
                let visible = ues.iter().filter(|ue| views.sees(key.controller, **ue));
                visible.for_each(|ue| source.records(*ue, records));
                message.clear();
                if let Err(error) = R::encode(records, timestamp_us, config.wire, message) {
                    warn!(model = R::MODEL.name, %error, "cannot encode a report: a value of the source is out of range");
                    return;
                }
                encoded_for = Some(viewer);
            }
            // fails only for a subscription that has ended, which the pending `unsubscribe` removes
            let _ = context.report(key, action, header, message);
        });
    }
}

impl<R, H> fmt::Debug for StatisticsFunction<R, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StatisticsFunction")
            .field("config", &self.config)
            .field("actions", &self.actions)
            .finish_non_exhaustive()
    }
}
