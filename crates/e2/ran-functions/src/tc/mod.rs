//! TC: what happens to packets between the core and the radio bearer, told by the period and set.
//!
//! A base station implements [`TcSource`]; [`TcFunction`] does the rest.
//!
//! * A control is checked against what is set: queues that it names are there, and none that is in use goes away. It is
//!   carried out as a whole or not at all; where not, the log says why, and in PER the outcome does too (FlexRIC's layout
//!   has a number only).
//! * A queue brings a policer and a shaper along, which do nothing until they are modified, and again once they are
//!   deleted. Numbers of queues and filters are the least that are free.
//! * What is set touches the traffic of every UE. So it is for the controller that sees every UE: others are refused.

mod configuration;
mod source;
#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;
use std::time::SystemTime;

use e2sm::tc::{
    ControlHeader, ControlMessage, ControlOutcome, IndicationHeader, IndicationMessage, Lane, MODEL, Meter, Pacer,
    PacerKind, PacerParameters, Policer, Queue, Shaper,
};
use ferric::agent::{Admission, ControlFailure, ControllerId, FunctionContext, RanFunction, RequestKey, Views};
use ferric::e2::{ControlRequest, Function, SubscriptionRequest, Time};
use ferric::e2ap::{Cause, CauseProtocol, CauseRicRequest, RanFunctionId};
use per::PrintableString;
use tracing::{debug, info, warn};

use crate::periodic::{PeriodicConfig, Schedule};
use crate::wall_clock::WallClock;

pub use configuration::{Configuration, QueueConfiguration};
pub use source::{QueueCounters, TcSource};

/// In the outcome: carried out, and not.
const DONE: u32 = 0;
const NOT_DONE: u32 = 1;

/// The RAN function of TC, towards all controllers of its node.
pub struct TcFunction<S: TcSource> {
    source: Rc<RefCell<S>>,
    config: PeriodicConfig,
    wall_clock: WallClock,
    schedule: Schedule,
}

impl<S: TcSource> TcFunction<S> {
    /// A function without subscriptions.
    ///
    /// # Panics
    /// Where the model does not have the configured wire form.
    #[must_use]
    pub fn new(source: Rc<RefCell<S>>, config: PeriodicConfig) -> Self {
        config.function(&MODEL);
        let (wall_clock, schedule) = (WallClock::new(SystemTime::now), Schedule::default());
        TcFunction { source, config, wall_clock, schedule }
    }

    /// Reports that were not sent because the host came late, until now.
    #[must_use]
    pub fn skipped_reports(&self) -> u64 {
        self.schedule.skipped()
    }

    fn outcome(&self, code: u32, text: &str) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        let diagnostic = PrintableString::try_from(text).ok()?;
        ControlOutcome { code, diagnostic }.encode(self.config.wire, &mut out).ok()?;
        Some(out)
    }

    fn refuse(&self, controller: ControllerId, cause: Cause, text: &str) -> ControlFailure {
        info!(controller = controller.0, %cause, "traffic control refused: {text}");
        ControlFailure { cause, outcome: self.outcome(NOT_DONE, text) }
    }
}

impl<S: TcSource> RanFunction for TcFunction<S> {
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
            debug!(controller = controller.0, "traffic control is for the controller that sees every UE");
            return Err(Cause::RicRequest(CauseRicRequest::ActionNotSupported));
        }
        self.schedule.subscribe(now, controller, request, &self.config)
    }

    fn unsubscribe(&mut self, key: RequestKey) {
        self.schedule.unsubscribe(key);
    }

    fn control(
        &mut self,
        now: Time,
        controller: ControllerId,
        request: &ControlRequest,
        reports: &mut FunctionContext<'_>,
    ) -> Result<Option<Vec<u8>>, ControlFailure> {
        let failed = Cause::RicRequest(CauseRicRequest::ControlFailedToExecute);
        if !reports.views().sees_all(controller) {
            return Err(self.refuse(controller, failed, "traffic control is for the controller that sees every UE"));
        }
        let control = ControlHeader::decode(&request.header, self.config.wire)
            .and_then(|_| ControlMessage::decode_owned(&request.message, self.config.wire))
            .map_err(|error| {
                let cause = Cause::Protocol(CauseProtocol::TransferSyntaxError);
                self.refuse(controller, cause, &error.to_string())
            })?;
        // what was before goes on as it was
        self.source.borrow_mut().advance(now);
        let next = self.source.borrow().configuration().after(&control);
        let next = next.map_err(|fault| {
            let invalid = Cause::RicRequest(CauseRicRequest::ControlMessageInvalid);
            self.refuse(controller, invalid, &fault.to_string())
        })?;
        let done = self.source.borrow_mut().configure(next);
        done.map_err(|why| {
            let why: String = why.chars().map(|c| if c.is_ascii() { c } else { '?' }).collect();
            self.refuse(controller, failed, &why)
        })?;
        Ok(self.outcome(DONE, ""))
    }

    fn next_report(&self) -> Option<Time> {
        self.schedule.next()
    }

    fn report(&mut self, now: Time, reports: &mut FunctionContext<'_>) {
        let TcFunction { source, config, wall_clock, schedule } = self;
        wall_clock.tick(now);
        let mut source = source.borrow_mut();
        source.advance(now);
        let (mut header, mut message) = (Vec::new(), Vec::new());
        let written = IndicationHeader::default()
            .encode(config.wire, &mut header)
            .and_then(|()| told(&*source, wall_clock.unix_us(now)).encode(config.wire, &mut message));
        if let Err(error) = written {
            warn!(%error, "traffic control cannot be told");
        }
        schedule.due(now, |key, action| {
            // another may have become the one that sees every UE
            if !message.is_empty() && reports.views().sees_all(key.controller) {
                // a subscription that is gone by now is forgotten by the `unsubscribe` to come
                let _ = reports.report(key, action, &header, &message);
            }
        });
        schedule.warn_late(&MODEL);
    }
}

/// What is set, and what was counted.
fn told<S: TcSource>(source: &S, timestamp_us: i64) -> IndicationMessage<'static> {
    let Configuration { scheduler, pacer, classifier, queues } = source.configuration().clone();
    let lane = |queue: &QueueConfiguration| {
        let counts = source.queue_counters(queue.id);
        let (shaper, policer) = (queue.shaper.unwrap_or_default(), queue.policer.unwrap_or_default());
        Lane {
            shaper: Shaper {
                id: queue.id,
                active: shaper.active,
                max_rate_kbps: shaper.max_rate_kbps,
                meter: Meter { rate_kbps: counts.shaper_rate_kbps, window_ms: shaper.window_ms },
            },
            policer: Policer {
                id: queue.id,
                meter: Meter { rate_kbps: counts.policer_rate_kbps, window_ms: 0 },
                dropped_packets: counts.policer_dropped_packets,
                marked_packets: counts.policer_marked_packets,
                max_rate_kbps: policer.drop_rate_kbps as f32,
                active: policer.active,
                destination_id: queue.id,
                deviation_id: policer.deviation_id,
            },
            queue: Queue { kind: queue.parameters.kind(), ..counts.queue },
        }
    };
    let kind = match pacer {
        PacerParameters::Off => PacerKind::Off,
        PacerParameters::Bdp5g(_) => PacerKind::Bdp5g,
    };
    let meter = Meter { rate_kbps: source.pacer_rate_kbps(), window_ms: 0 };
    let lanes = queues.iter().map(lane).collect();
    IndicationMessage { scheduler, pacer: Pacer { kind, id: 0, meter }, classifier, lanes, timestamp_us }
}

impl<S: TcSource> fmt::Debug for TcFunction<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TcFunction")
            .field("config", &self.config)
            .field("schedule", &self.schedule)
            .finish_non_exhaustive()
    }
}
