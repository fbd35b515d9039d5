//! CoDel (RFC 8289 5). When the sojourn times of a whole interval exceed the target, the departing packet is dropped, and
//! further ones at decreasing intervals until the queue is below the target. The marking variant marks ECN-capable packets
//! and drops the others (RFC 3168 5).

use std::time::Duration;

use super::{Discipline, Verdict};
use crate::tc::Amount;
use crate::tc::configuration::DelayTarget;
use crate::{Ecn, Packet, Time};

/// The longest packet. A queue that holds no more is never too long (RFC 8289 5.5: the MTU of the interface).
const MAX_PACKET_OCTETS: u64 = 1514;

/// The state of RFC 8289 5.3, with its names.
pub(super) struct CoDel {
    target: Duration,
    interval: Duration,
    marks: bool,
    first_above_time: Option<Time>,
    drop_next: Time,
    count: u32,
    last_count: u32,
    dropping: bool,
    step: Step,
}

/// The position in the RFC's dequeue routine: a packet after a drop is judged differently from the first one.
#[derive(Clone, Copy, PartialEq)]
enum Step {
    First,
    /// After the drop that started the dropping state: this packet passes.
    AfterEntry,
    /// After a drop in the dropping state.
    AfterDrop,
}

impl CoDel {
    /// Creates the dropping variant. The target is above 0 and below the interval.
    pub(super) fn dropping(target: DelayTarget) -> Self {
        CoDel::new(target, false)
    }

    /// Creates the marking variant.
    pub(super) fn marking(target: DelayTarget) -> Self {
        CoDel::new(target, true)
    }

    fn new(DelayTarget { target_ms, interval_ms }: DelayTarget, marks: bool) -> Self {
        CoDel {
            target: Duration::from_millis(target_ms.into()),
            interval: Duration::from_millis(interval_ms.into()),
            marks,
            first_above_time: None,
            drop_next: Time::START,
            count: 0,
            last_count: 0,
            dropping: false,
            step: Step::First,
        }
    }

    /// Whether the sojourn time has exceeded the target for an interval (RFC 8289 5.5).
    fn ok_to_drop(&mut self, now: Time, sojourn: Duration, waiting: Amount) -> bool {
        if sojourn < self.target || waiting.octets <= MAX_PACKET_OCTETS {
            self.first_above_time = None;
            return false;
        }
        let first_above_time = *self.first_above_time.get_or_insert(now + self.interval);
        now >= first_above_time
    }

    /// The time of the next drop: the distance shrinks with the count (RFC 8289 5.4).
    fn control_law(&self, from: Time) -> Time {
        from + Duration::from_nanos((self.interval.as_nanos() as f64 / f64::from(self.count).sqrt()) as u64)
    }

    /// Enters the dropping state. Soon after the last one, it continues at the last rate (RFC 8289 5.5).
    fn enter(&mut self, now: Time) {
        self.dropping = true;
        let delta = self.count - self.last_count;
        let recent = now.since(self.drop_next) < 16 * self.interval;
        self.count = if delta > 1 && recent { delta } else { 1 };
        self.drop_next = self.control_law(now);
        self.last_count = self.count;
    }

    /// Marks or drops. A marked packet departs, so the next one is a first packet again.
    fn act(&mut self, packet: &Packet, after: Step) -> Verdict {
        if self.marks && packet.ecn != Ecn::NotEct {
            return Verdict::Mark;
        }
        self.step = after;
        Verdict::Drop
    }

    /// Acts in the dropping state when the next drop is due.
    fn act_when_due(&mut self, now: Time, packet: &Packet) -> Verdict {
        if now < self.drop_next {
            return Verdict::Pass;
        }
        self.count = self.count.saturating_add(1);
        let verdict = self.act(packet, Step::AfterDrop);
        if verdict == Verdict::Mark {
            self.drop_next = self.control_law(self.drop_next);
        }
        verdict
    }
}

impl Discipline for CoDel {
    fn on_dequeue(&mut self, now: Time, packet: &Packet, waiting: Amount) -> Option<Verdict> {
        let ok_to_drop = self.ok_to_drop(now, now.since(packet.entered), waiting);
        let step = std::mem::replace(&mut self.step, Step::First);
        Some(match step {
            Step::AfterEntry => Verdict::Pass,
            _ if self.dropping && !ok_to_drop => {
                self.dropping = false;
                Verdict::Pass
            }
            Step::AfterDrop => {
                self.drop_next = self.control_law(self.drop_next);
                self.act_when_due(now, packet)
            }
            Step::First if self.dropping => self.act_when_due(now, packet),
            Step::First if ok_to_drop => {
                self.enter(now);
                self.act(packet, Step::AfterEntry)
            }
            Step::First => Verdict::Pass,
        })
    }
}

#[cfg(test)]
mod tests;
