//! An xApp that reads statistics.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use e2sm::{Arena, Model, Wire, mac, rlc, tc};
use ferric::e2::xapp::NodeInfo;
use ferric::e2::{SubscriptionId, Ticket};
use ferric::link::Address;
use ferric::xapp::{Commands, Indication, Xapp, XappConfig, XappEvent};

use super::PATIENCE;

/// From report to report.
const PERIOD_MS: u32 = 10;
/// Slots of 30 kHz.
const SLOT_S: f64 = 0.0005;
const SLOTS_PER_FRAME: u64 = 20;
/// Frames have so many numbers (TS 38.211 4.3.1).
const FRAMES: u64 = 1024;

/// What a report tells.
pub enum Report<'a> {
    Mac(&'a mac::IndicationMessage<'a>),
    Rlc(&'a rlc::IndicationMessage<'a>),
    Tc(&'a tc::IndicationMessage<'a>),
}

/// Reads what the RAN's node tells, and from it the model's time.
pub struct Watch {
    xapp: Xapp,
    desk: Desk,
}

struct Desk {
    models: &'static [Model],
    asked: HashMap<Ticket, Source>,
    sources: HashMap<SubscriptionId, Source>,
    clock: Clock,
    arena: Arena,
    /// What ends it all.
    failure: Option<anyhow::Error>,
}

#[derive(Clone, Copy)]
struct Source {
    model: Model,
    wire: Wire,
}

impl Watch {
    /// Connects to a RIC whose RAN has that speed. MAC must be among the models: it tells the time.
    pub fn new(ric: &Address, models: &'static [Model], speed: f64) -> anyhow::Result<Self> {
        assert!(models.contains(&mac::MODEL), "MAC tells the time");
        let config = XappConfig { reconnect: None, ..XappConfig::default() };
        let xapp = Xapp::connect(ric, "paper", config).context("cannot use the RIC")?;
        let desk = Desk {
            models,
            asked: HashMap::new(),
            sources: HashMap::new(),
            clock: Clock::new(speed),
            arena: Arena::new(),
            failure: None,
        };
        Ok(Watch { xapp, desk })
    }

    /// Hands over what is told, with the model's time in seconds, until it is so late there.
    pub fn until(
        &mut self,
        end_s: f64,
        mut take: impl FnMut(f64, Report<'_>) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let mut last = Instant::now();
        while self.desk.clock.now_s().is_none_or(|now_s| now_s < end_s) {
            let Watch { xapp, desk } = self;
            xapp.turn(Some(Duration::from_millis(100)), |event, ric| {
                if desk.handle(event, ric, &mut take) {
                    last = Instant::now();
                }
            })
            .context("the RIC is gone")?;
            if let Some(failure) = self.desk.failure.take() {
                return Err(failure);
            }
            if last.elapsed() > PATIENCE {
                bail!("the RAN has told nothing for {} s", PATIENCE.as_secs());
            }
        }
        Ok(())
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
            XappEvent::Subscribed { ticket, subscription, .. } => {
                self.sources.extend(self.asked.remove(&ticket).map(|source| (subscription, source)));
            }
            XappEvent::SubscribeFailed { failure, .. } => self.fail(format!("a subscription failed: {failure:?}")),
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
                    let ticket = ric.subscribe(node.id, function, ric::traffic::subscription(PERIOD_MS, wire));
                    self.asked.insert(ticket, Source { model: *model, wire });
                }
                None => self.fail(format!("{} does not offer {}", node.global_id, model.name)),
            }
        }
    }

    fn indication(
        &mut self,
        indication: &Indication<'_>,
        take: &mut impl FnMut(f64, Report<'_>) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let Some(Source { model, wire }) = self.sources.get(&indication.subscription).copied() else { return Ok(()) };
        let message =
            indication.peek().with_context(|| format!("an indication of {} in fragments", model.name))?.message;
        self.arena.reset();
        if model == mac::MODEL {
            let message = mac::IndicationMessage::decode(message, wire, &self.arena)?;
            let Some(ue) = message.ues.first() else { return Ok(()) };
            let now_s = self.clock.tell(message.timestamp_us, ue.frame, ue.slot);
            take(now_s, Report::Mac(&message))
        } else if model == rlc::MODEL {
            let message = rlc::IndicationMessage::decode(message, wire, &self.arena)?;
            self.clock.at_s(message.timestamp_us).map_or(Ok(()), |now_s| take(now_s, Report::Rlc(&message)))
        } else {
            let message = tc::IndicationMessage::decode(message, wire, &self.arena)?;
            self.clock.at_s(message.timestamp_us).map_or(Ok(()), |now_s| take(now_s, Report::Tc(&message)))
        }
    }
}

/// The model's time, by the frames and slots that MAC tells. Their numbers repeat after ten seconds, of which the time stamps
/// tell how many have passed.
struct Clock {
    speed: f64,
    /// A time stamp, and slots since the model's beginning.
    last: Option<(i64, f64)>,
}

impl Clock {
    fn new(speed: f64) -> Self {
        Clock { speed, last: None }
    }

    /// Slots since the model's beginning, by the time stamps alone.
    fn slots(&self, timestamp_us: i64) -> Option<f64> {
        let (at_us, slots) = self.last?;
        Some(slots + (timestamp_us - at_us) as f64 * 1e-6 * self.speed / SLOT_S)
    }

    /// MAC tells its slot, and when; the time in seconds.
    fn tell(&mut self, timestamp_us: i64, frame: u16, slot: u16) -> f64 {
        let told = (u64::from(frame) * SLOTS_PER_FRAME + u64::from(slot)) as f64;
        let around = (FRAMES * SLOTS_PER_FRAME) as f64;
        let passed = self.slots(timestamp_us).map_or(0.0, |slots| ((slots - told) / around).round().max(0.0));
        let slots = told + passed * around;
        self.last = Some((timestamp_us, slots));
        slots * SLOT_S
    }

    /// When that was, in seconds.
    fn at_s(&self, timestamp_us: i64) -> Option<f64> {
        self.slots(timestamp_us).map(|slots| slots * SLOT_S)
    }

    fn now_s(&self) -> Option<f64> {
        self.last.map(|(_, slots)| slots * SLOT_S)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_that_repeat_are_told_apart() {
        let mut clock = Clock::new(5.0);
        assert_eq!(clock.at_s(0), None);
        assert_eq!(clock.tell(1_000_000, 100, 0), 1.0);
        assert_eq!(clock.at_s(1_100_000), Some(1.5));
        // 2 s later, 10 s of the model: 10.24 s are a round
        let near = |told: f64, wanted: f64| assert!((told - wanted).abs() < 1e-9, "{told} {wanted}");
        near(clock.tell(3_000_000, 76, 0), 11.0);
        // later than it should be
        near(clock.tell(5_000_000, 0, 1), 20.4805);
        near(clock.tell(5_100_000, 60, 0), 21.08);
        near(clock.at_s(5_000_000).unwrap(), 20.58);
    }
}
