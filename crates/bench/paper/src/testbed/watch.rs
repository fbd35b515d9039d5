//! An xApp that reads statistics.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use e2sm::{Arena, Model, Wire, mac, rlc, tc};
use ferric::e2::xapp::NodeInfo;
use ferric::e2::{SubscriptionId, Ticket};
use ferric::link::Address;
use ferric::xapp::{Commands, Indication, RequestEvent, Xapp, XappConfig, XappEvent};
use radio::Time;
use ran::Steps;

use super::clock::{Clock, is_numbered};
use super::{Mode, PATIENCE, SLOT};

/// The reporting period in live mode.
const LIVE_PERIOD_MS: u32 = 10;
/// The reporting period in steps: the shortest, since the model waits for reports.
const STEPPED_PERIOD_MS: u32 = 1;
/// A step of the model: 10 ms.
const STEP_SLOTS: u64 = 20;

/// A report by its service model.
pub enum Report<'a> {
    Mac(&'a mac::IndicationMessage<'a>),
    Rlc(&'a rlc::IndicationMessage<'a>),
    Tc(&'a tc::IndicationMessage<'a>),
}

/// Reads the reports of the RAN's node, and derives the model's time from them.
///
/// In steps, the model advances by 10 ms, and continues when one report of each service model for that slot has been handled.
/// The real time that this takes does not affect the result.
pub struct Watch<'a> {
    xapp: Xapp,
    mode: Mode<'a>,
    reader: Reader,
}

struct Reader {
    models: &'static [Model],
    period_ms: u32,
    pending: HashMap<Ticket, Source>,
    sources: HashMap<SubscriptionId, Source>,
    pace: Pace,
    arena: Arena,
    /// The first error.
    failure: Option<anyhow::Error>,
}

/// The source of the model's time.
enum Pace {
    Live(Clock),
    Stepped {
        steps: Steps,
        /// The slot until which the model may advance.
        slot: u64,
        /// The service models whose report of that slot has arrived. They arrive in order, MAC first.
        reported: usize,
    },
}

#[derive(Clone, Copy)]
struct Source {
    model: Model,
    wire: Wire,
}

impl<'a> Watch<'a> {
    /// Connects to a RIC whose RAN advances in that mode. MAC must be the first of the service models, since its reports
    /// contain the time.
    pub fn new(ric: &Address, models: &'static [Model], mode: Mode<'a>, steps: &Steps) -> anyhow::Result<Self> {
        assert_eq!(models.first(), Some(&mac::MODEL), "MAC is the first service model");
        let config = XappConfig { reconnect: None, ..XappConfig::default() };
        let xapp = Xapp::connect(ric, "paper", config).context("cannot use the RIC")?;
        let (pace, period_ms) = match mode {
            Mode::Live { .. } => (Pace::Live(Clock::default()), LIVE_PERIOD_MS),
            Mode::Stepped => (Pace::Stepped { steps: steps.clone(), slot: 0, reported: 0 }, STEPPED_PERIOD_MS),
        };
        let reader = Reader {
            models,
            period_ms,
            pending: HashMap::new(),
            sources: HashMap::new(),
            pace,
            arena: Arena::new(),
            failure: None,
        };
        Ok(Watch { xapp, mode, reader })
    }

    /// Passes each report with the model's time in seconds to `take`, until the model's time `end_s`.
    pub fn until(
        &mut self,
        end_s: f64,
        mut take: impl FnMut(f64, Report<'_>) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let end = (end_s / SLOT.as_secs_f64()).round() as u64;
        loop {
            match &mut self.reader.pace {
                Pace::Live(_) => return self.poll_until(|reader| reader.pace.is_at(end_s), &mut take),
                Pace::Stepped { slot, .. } if *slot >= end => return Ok(()),
                Pace::Stepped { steps, slot, reported } => {
                    *slot = end.min(*slot + STEP_SLOTS);
                    *reported = 0;
                    steps.allow_until(Time::from_nanos(*slot * SLOT.as_nanos() as u64));
                }
            }
            self.poll_until(Reader::is_complete, &mut take)?;
        }
    }

    fn poll_until(
        &mut self,
        is_complete: impl Fn(&Reader) -> bool,
        take: &mut impl FnMut(f64, Report<'_>) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let mut last = Instant::now();
        while !is_complete(&self.reader) {
            let Watch { xapp, reader, mode } = self;
            xapp.poll(Some(Duration::from_millis(100)), |event, ric| {
                if reader.handle(event, ric, take) {
                    last = Instant::now();
                }
            })
            .context("connection to the RIC lost")?;
            if let Some(failure) = reader.failure.take() {
                return Err(failure);
            }
            mode.check()?;
            if last.elapsed() > PATIENCE {
                bail!("no report from the RAN for {} s", PATIENCE.as_secs());
            }
        }
        Ok(())
    }
}

impl Pace {
    /// Whether the model has reached that time.
    fn is_at(&self, end_s: f64) -> bool {
        match self {
            Pace::Live(clock) => clock.now_s().is_some_and(|now_s| now_s >= end_s),
            Pace::Stepped { slot, .. } => *slot as f64 * SLOT.as_secs_f64() >= end_s,
        }
    }

    /// Takes the slot of a MAC report; returns the model's time if the report is expected.
    fn mac(&mut self, timestamp_us: i64, frame: u16, slot_of_frame: u16) -> Option<f64> {
        match self {
            Pace::Live(clock) => Some(clock.update(timestamp_us, frame, slot_of_frame)),
            Pace::Stepped { slot, reported, .. } => is_numbered(*slot, frame, slot_of_frame).then(|| {
                *reported += 1;
                *slot as f64 * SLOT.as_secs_f64()
            }),
        }
    }

    /// Takes a report of another service model; returns the model's time if it is known.
    fn other(&mut self, timestamp_us: i64) -> Option<f64> {
        match self {
            Pace::Live(clock) => clock.at_s(timestamp_us),
            Pace::Stepped { slot, reported, .. } => {
                *reported += 1;
                Some(*slot as f64 * SLOT.as_secs_f64())
            }
        }
    }
}

impl Reader {
    /// Handles an event; returns whether it was a report.
    fn handle(
        &mut self,
        event: XappEvent<'_>,
        ric: &mut Commands<'_>,
        take: &mut impl FnMut(f64, Report<'_>) -> anyhow::Result<()>,
    ) -> bool {
        match event {
            XappEvent::NodeUp(node) => self.node_up(node, ric),
            XappEvent::Request(RequestEvent::Subscribed { ticket, subscription, .. }) => {
                self.sources.extend(self.pending.remove(&ticket).map(|source| (subscription, source)));
            }
            XappEvent::Request(RequestEvent::SubscriptionFailed { error, .. }) => {
                self.fail(format!("a subscription failed: {error}"))
            }
            XappEvent::NodeLost(node) => self.fail(format!("{} lost", node.global_id)),
            XappEvent::Indication(indication) => {
                if let Err(error) = self.indication(&indication, take) {
                    self.failure.get_or_insert(error);
                }
                return true;
            }
            _ => {}
        }
        false
    }

    fn fail(&mut self, why: String) {
        self.failure.get_or_insert_with(|| anyhow::Error::msg(why));
    }

    fn node_up(&mut self, node: &NodeInfo, ric: &mut Commands<'_>) {
        for model in self.models {
            let offered = node.functions.iter().find_map(|function| Some((function.id, model.wire_of(&function.oid)?)));
            match offered {
                Some((function, wire)) => {
                    let spec = traffic::subscription(self.period_ms, wire);
                    let ticket = ric.subscribe(node.id, function, spec);
                    self.pending.insert(ticket, Source { model: *model, wire });
                }
                None => self.fail(format!("{} does not offer {}", node.global_id, model.name)),
            }
        }
    }

    /// Whether all reports of the step have arrived.
    fn is_complete(&self) -> bool {
        matches!(self.pace, Pace::Stepped { reported, .. } if reported == self.models.len())
    }

    /// Whether a report of that service model is expected next.
    fn is_expected(&self, model: Model) -> bool {
        match self.pace {
            Pace::Live(_) => true,
            Pace::Stepped { reported, .. } => self.models.get(reported) == Some(&model),
        }
    }

    fn indication(
        &mut self,
        indication: &Indication<'_>,
        take: &mut impl FnMut(f64, Report<'_>) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let Some(Source { model, wire }) = self.sources.get(&indication.subscription).copied() else { return Ok(()) };
        if !self.is_expected(model) || self.failure.is_some() {
            return Ok(());
        }
        let message = indication.peek().with_context(|| format!("fragmented indication of {}", model.name))?.message;
        self.arena.reset();
        if model == mac::MODEL {
            let message = mac::IndicationMessage::decode(message, wire, &self.arena)?;
            let Some(ue) = message.ues.first() else { return Ok(()) };
            let now_s = self.pace.mac(message.timestamp_us, ue.frame, ue.slot);
            now_s.map_or(Ok(()), |now_s| take(now_s, Report::Mac(&message)))
        } else if model == rlc::MODEL {
            let message = rlc::IndicationMessage::decode(message, wire, &self.arena)?;
            self.pace.other(message.timestamp_us).map_or(Ok(()), |now_s| take(now_s, Report::Rlc(&message)))
        } else {
            let message = tc::IndicationMessage::decode(message, wire, &self.arena)?;
            self.pace.other(message.timestamp_us).map_or(Ok(()), |now_s| take(now_s, Report::Tc(&message)))
        }
    }
}
