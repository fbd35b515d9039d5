//! TC: traffic control between the core network and the radio bearers: periodic reports, and control.
//!
//! A base station implements [`TcSource`]; [`TcFunction`] implements the RAN function.
//!
//! * A control is checked against the configuration: the queues that it refers to must exist, and a queue in use cannot be
//!   deleted. It takes effect as a whole or not at all. The reason for a refusal is logged; in PER the outcome contains it
//!   too (FlexRIC's encoding has a number only).
//! * Each queue has a policer and a shaper, which are inactive until they are modified and after they are deleted. A new
//!   queue or filter gets the smallest unused ID.
//! * The configuration applies to the traffic of every UE, so only the controller that sees every UE may change it.

mod configuration;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt;
use std::time::SystemTime;

use e2sm::tc::{
    ControlHeader, ControlMessage, ControlOutcome, IndicationHeader, IndicationMessage, MODEL, Meter, Pacer, PacerKind,
    PacerParameters, Policer, Queue, QueueEntry, Shaper,
};
use ferric::agent::{Admission, ControlFailure, ControllerId, FunctionContext, RanFunction, RequestKey, Views};
use ferric::e2::{ControlRequest, Function, SubscriptionRequest, Time};
use ferric::e2ap::{Cause, RanFunctionId};
use per::PrintableString;
use tracing::{debug, info, warn};

use crate::cause::{ACTION_NOT_SUPPORTED, CONTROL_FAILED, CONTROL_MESSAGE_INVALID, TRANSFER_SYNTAX_ERROR};
use crate::periodic::{PeriodicActions, PeriodicConfig};
use crate::shared_source::SharedSource;
use crate::wall_clock::WallClock;

pub use configuration::{Configuration, QueueConfiguration};

/// Why requests of other controllers are refused.
const ONLY_FIRST: &str = "traffic control is for the controller that sees every UE";

/// Codes of the control outcome.
const SUCCESS: u32 = 0;
const FAILURE: u32 = 1;

/// The counters of a queue, its policer and its shaper.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct QueueCounters {
    /// The rate through the shaper, averaged over its window, in kbit/s.
    pub shaper_rate_kbps: f32,
    /// The recent rate through the policer, in kbit/s.
    pub policer_rate_kbps: f32,
    /// The number of packets that the policer dropped.
    pub policer_dropped_packets: u32,
    /// The number of packets that the policer marked.
    pub policer_marked_packets: u32,
    /// The counters of the queue; the function fills in its kind.
    pub queue: Queue,
}

/// What a base station implements to support the TC service model.
pub trait TcSource {
    /// The current configuration.
    fn configuration(&self) -> &Configuration;

    /// Replaces the configuration. It was checked: every queue that it refers to exists.
    ///
    /// # Errors
    /// The reason in ASCII, which the controller receives. Then nothing has changed.
    fn configure(&mut self, configuration: Configuration) -> Result<(), Cow<'static, str>>;

    /// The counters of a configured queue; all 0 for a base station that does not count.
    fn queue_counters(&self, queue_id: u32) -> QueueCounters {
        let _ = queue_id;
        QueueCounters::default()
    }

    /// The recent rate through the pacer, in kbit/s.
    fn pacer_rate_kbps(&self) -> f32 {
        0.0
    }

    /// Brings the counters up to date with `now`. A real base station, whose counters change by themselves, does nothing;
    /// an emulated one computes.
    fn advance(&mut self, now: Time) {
        let _ = now;
    }
}

/// The RAN function of the TC service model, for all controllers of its node.
pub struct TcFunction<H: SharedSource<Source: TcSource>> {
    source: H,
    config: PeriodicConfig,
    wall_clock: WallClock,
    actions: PeriodicActions,
}

impl<H: SharedSource<Source: TcSource>> TcFunction<H> {
    /// Creates a function without subscriptions.
    ///
    /// # Panics
    /// If the service model does not have the configured encoding.
    #[must_use]
    pub fn new(source: H, config: PeriodicConfig) -> Self {
        config.function(&MODEL);
        TcFunction { source, config, wall_clock: WallClock::system(), actions: PeriodicActions::default() }
    }

    /// Replaces the system clock as the source of the time of day in reports.
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

    fn outcome(&self, code: u32, text: &str) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        let diagnostic = PrintableString::try_from(text).ok()?;
        ControlOutcome { code, diagnostic }.encode(self.config.wire, &mut out).ok()?;
        Some(out)
    }

    fn refuse(&self, controller: ControllerId, cause: Cause, text: &str) -> ControlFailure {
        info!(controller = controller.0, %cause, "traffic control refused: {text}");
        ControlFailure { cause, outcome: self.outcome(FAILURE, text) }
    }
}

impl<H: SharedSource<Source: TcSource>> RanFunction for TcFunction<H> {
    fn id(&self) -> RanFunctionId {
        self.config.function_id(&MODEL)
    }

    fn definition(&self) -> Function {
        self.config.function(&MODEL)
    }

    fn subscribe(
        &mut self,
        now: Time,
        controller: ControllerId,
        request: &SubscriptionRequest,
        views: &Views,
    ) -> Result<Admission, Cause> {
        if !views.sees_all(controller) {
            debug!(controller = controller.0, "traffic control subscription refused: {ONLY_FIRST}");
            return Err(ACTION_NOT_SUPPORTED);
        }
        self.actions.subscribe(now, controller, request, &self.config)
    }

    fn unsubscribe(&mut self, key: RequestKey) {
        self.actions.unsubscribe(key);
    }

    fn control(
        &mut self,
        now: Time,
        controller: ControllerId,
        request: &ControlRequest,
        context: &mut FunctionContext<'_>,
    ) -> Result<Option<Vec<u8>>, ControlFailure> {
        if !context.views().sees_all(controller) {
            return Err(self.refuse(controller, CONTROL_FAILED, ONLY_FIRST));
        }
        let control = ControlHeader::decode(&request.header, self.config.wire)
            .and_then(|_| ControlMessage::decode_owned(&request.message, self.config.wire))
            .map_err(|error| self.refuse(controller, TRANSFER_SYNTAX_ERROR, &error.to_string()))?;
        let mut source = self.source.write();
        // the control takes effect at `now`, not earlier
        source.advance(now);
        let next = source.configuration().after(&control);
        let next = next.map_err(|fault| self.refuse(controller, CONTROL_MESSAGE_INVALID, &fault.to_string()))?;
        source.configure(next).map_err(|reason| {
            let reason: String = reason.chars().map(|c| if c.is_ascii() { c } else { '?' }).collect();
            self.refuse(controller, CONTROL_FAILED, &reason)
        })?;
        Ok(self.outcome(SUCCESS, ""))
    }

    fn next_report(&self) -> Option<Time> {
        self.actions.next_due()
    }

    fn report(&mut self, now: Time, context: &mut FunctionContext<'_>) {
        let TcFunction { source, config, wall_clock, actions } = self;
        wall_clock.update(now);
        let mut source = source.write();
        source.advance(now);
        let (mut header, mut message) = (Vec::new(), Vec::new());
        let encoded = IndicationHeader::default()
            .encode(config.wire, &mut header)
            .and_then(|()| indication(&*source, wall_clock.unix_us(now)).encode(config.wire, &mut message));
        if let Err(error) = encoded {
            warn!(%error, "cannot encode a traffic control report: a value of the source is out of range");
        }
        actions.report_due(now, &MODEL, |key, action| {
            // another controller may have become the one that sees every UE since the subscription
            if !message.is_empty() && context.views().sees_all(key.controller) {
                // fails only for a subscription that has ended, which the pending `unsubscribe` removes
                let _ = context.report(key, action, &header, &message);
            }
        });
    }
}

/// The configuration and the counters.
fn indication<S: TcSource>(source: &S, timestamp_us: i64) -> IndicationMessage<'static> {
    let Configuration { scheduler, pacer, classifier, queues } = source.configuration().clone();
    let entry = |queue: &QueueConfiguration| {
        let counters = source.queue_counters(queue.id);
        let (shaper, policer) = (queue.shaper.unwrap_or_default(), queue.policer.unwrap_or_default());
        QueueEntry {
            shaper: Shaper {
                id: queue.id,
                active: shaper.active,
                max_rate_kbps: shaper.max_rate_kbps,
                meter: Meter { rate_kbps: counters.shaper_rate_kbps, window_ms: shaper.window_ms },
            },
            policer: Policer {
                id: queue.id,
                meter: Meter { rate_kbps: counters.policer_rate_kbps, window_ms: 0 },
                dropped_packets: counters.policer_dropped_packets,
                marked_packets: counters.policer_marked_packets,
                max_rate_kbps: policer.drop_rate_kbps as f32,
                active: policer.active,
                destination_id: queue.id,
                deviation_id: policer.deviation_id,
            },
            queue: Queue { kind: queue.parameters.kind(), ..counters.queue },
        }
    };
    let kind = match pacer {
        PacerParameters::Off => PacerKind::Off,
        PacerParameters::Bdp5g(_) => PacerKind::Bdp5g,
    };
    let meter = Meter { rate_kbps: source.pacer_rate_kbps(), window_ms: 0 };
    let queues = queues.iter().map(entry).collect();
    IndicationMessage { scheduler, pacer: Pacer { kind, id: 0, meter }, classifier, queues, timestamp_us }
}

impl<H: SharedSource<Source: TcSource>> fmt::Debug for TcFunction<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TcFunction")
            .field("config", &self.config)
            .field("actions", &self.actions)
            .finish_non_exhaustive()
    }
}
