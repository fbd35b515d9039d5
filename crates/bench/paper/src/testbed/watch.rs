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

/// From report to report in live mode.
const LIVE_PERIOD_MS: u32 = 10;
/// The same, by the clock, where the model waits for what is told: as often as can be asked for.
const STEPPED_PERIOD_MS: u32 = 1;
/// A step of the model: 10 ms.
const STEP_SLOTS: u64 = 20;

/// What a report tells.
pub enum Report<'a> {
    Mac(&'a mac::IndicationMessage<'a>),
    Rlc(&'a rlc::IndicationMessage<'a>),
    Tc(&'a tc::IndicationMessage<'a>),
}

/// Reads what the RAN's node tells, and from it the model's time.
///
/// In steps, it has the model go on by 10 ms, awaits one report of each kind of that very moment, and goes on when these are
/// dealt with: how long that takes, by the clock, does not show.
pub struct Watch<'a> {
    xapp: Xapp,
    mode: Mode<'a>,
    desk: Desk,
}

struct Desk {
    models: &'static [Model],
    period_ms: u32,
    asked: HashMap<Ticket, Source>,
    sources: HashMap<SubscriptionId, Source>,
    pace: Pace,
    arena: Arena,
    /// What ends it all.
    failure: Option<anyhow::Error>,
}

/// How the model's time is known.
enum Pace {
    Live(Clock),
    Stepped {
        steps: Steps,
        /// The model has been let go on to this one.
        slot: u64,
        /// How many models have told of that. They do so in their order: what comes after MAC's report is not older.
        told: usize,
    },
}

#[derive(Clone, Copy)]
struct Source {
    model: Model,
    wire: Wire,
}

impl<'a> Watch<'a> {
    /// Connects to a RIC whose RAN goes on in that mode; in steps, in these. MAC is the first of the models: it tells the
    /// time.
    pub fn new(ric: &Address, models: &'static [Model], mode: Mode<'a>, steps: &Steps) -> anyhow::Result<Self> {
        assert_eq!(models.first(), Some(&mac::MODEL), "MAC tells the time");
        let config = XappConfig { reconnect: None, ..XappConfig::default() };
        let xapp = Xapp::connect(ric, "paper", config).context("cannot use the RIC")?;
        let (pace, period_ms) = match mode {
            Mode::Live { .. } => (Pace::Live(Clock::default()), LIVE_PERIOD_MS),
            Mode::Stepped => (Pace::Stepped { steps: steps.clone(), slot: 0, told: 0 }, STEPPED_PERIOD_MS),
        };
        let desk = Desk {
            models,
            period_ms,
            asked: HashMap::new(),
            sources: HashMap::new(),
            pace,
            arena: Arena::new(),
            failure: None,
        };
        Ok(Watch { xapp, mode, desk })
    }

    /// Hands over what is told, with the model's time in seconds, until it is so late there.
    pub fn until(
        &mut self,
        end_s: f64,
        mut take: impl FnMut(f64, Report<'_>) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let end = (end_s / SLOT.as_secs_f64()).round() as u64;
        loop {
            match &mut self.desk.pace {
                Pace::Live(_) => return self.turn_until(|desk| desk.pace.is_at(end_s), &mut take),
                Pace::Stepped { slot, .. } if *slot >= end => return Ok(()),
                Pace::Stepped { steps, slot, told } => {
                    *slot = end.min(*slot + STEP_SLOTS);
                    *told = 0;
                    steps.allow_until(Time::from_nanos(*slot * SLOT.as_nanos() as u64));
                }
            }
            self.turn_until(Desk::is_told, &mut take)?;
        }
    }

    fn turn_until(
        &mut self,
        is_over: impl Fn(&Desk) -> bool,
        take: &mut impl FnMut(f64, Report<'_>) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let mut last = Instant::now();
        while !is_over(&self.desk) {
            let Watch { xapp, desk, mode } = self;
            xapp.poll(Some(Duration::from_millis(100)), |event, ric| {
                if desk.handle(event, ric, take) {
                    last = Instant::now();
                }
            })
            .context("connection to the RIC lost")?;
            if let Some(failure) = desk.failure.take() {
                return Err(failure);
            }
            mode.check()?;
            if last.elapsed() > PATIENCE {
                bail!("the RAN has told nothing for {} s", PATIENCE.as_secs());
            }
        }
        Ok(())
    }
}

impl Pace {
    /// Whether it is so late.
    fn is_at(&self, end_s: f64) -> bool {
        match self {
            Pace::Live(clock) => clock.now_s().is_some_and(|now_s| now_s >= end_s),
            Pace::Stepped { slot, .. } => *slot as f64 * SLOT.as_secs_f64() >= end_s,
        }
    }

    /// MAC tells its slot, and when: the time in seconds, where it is the one that is awaited.
    fn mac(&mut self, timestamp_us: i64, frame: u16, slot_of_frame: u16) -> Option<f64> {
        match self {
            Pace::Live(clock) => Some(clock.tell(timestamp_us, frame, slot_of_frame)),
            Pace::Stepped { slot, told, .. } => is_numbered(*slot, frame, slot_of_frame).then(|| {
                *told += 1;
                *slot as f64 * SLOT.as_secs_f64()
            }),
        }
    }

    /// Another model tells: the time in seconds, where it is known.
    fn other(&mut self, timestamp_us: i64) -> Option<f64> {
        match self {
            Pace::Live(clock) => clock.at_s(timestamp_us),
            Pace::Stepped { slot, told, .. } => {
                *told += 1;
                Some(*slot as f64 * SLOT.as_secs_f64())
            }
        }
    }
}

impl Desk {
    /// Whether it was a report.
    fn handle(
        &mut self,
        event: XappEvent<'_>,
        ric: &mut Commands<'_>,
        take: &mut impl FnMut(f64, Report<'_>) -> anyhow::Result<()>,
    ) -> bool {
        match event {
            XappEvent::NodeUp(node) => self.node_up(node, ric),
            XappEvent::Request(RequestEvent::Subscribed { ticket, subscription, .. }) => {
                self.sources.extend(self.asked.remove(&ticket).map(|source| (subscription, source)));
            }
            XappEvent::Request(RequestEvent::SubscriptionFailed { error: failure, .. }) => {
                self.fail(format!("a subscription failed: {failure:?}"))
            }
            XappEvent::NodeLost(node) => self.fail(format!("{} is lost", node.global_id)),
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
                    self.asked.insert(ticket, Source { model: *model, wire });
                }
                None => self.fail(format!("{} does not offer {}", node.global_id, model.name)),
            }
        }
    }

    /// Whether all models have told of the step.
    fn is_told(&self) -> bool {
        matches!(self.pace, Pace::Stepped { told, .. } if told == self.models.len())
    }

    /// Whether a report of that model is of interest now.
    fn is_awaited(&self, model: Model) -> bool {
        match self.pace {
            Pace::Live(_) => true,
            Pace::Stepped { told, .. } => self.models.get(told) == Some(&model),
        }
    }

    fn indication(
        &mut self,
        indication: &Indication<'_>,
        take: &mut impl FnMut(f64, Report<'_>) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let Some(Source { model, wire }) = self.sources.get(&indication.subscription).copied() else { return Ok(()) };
        if !self.is_awaited(model) || self.failure.is_some() {
            return Ok(());
        }
        let message =
            indication.peek().with_context(|| format!("an indication of {} in fragments", model.name))?.message;
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
