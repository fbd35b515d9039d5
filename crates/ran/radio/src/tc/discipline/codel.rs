//! CoDel (RFC 8289 5): when all packets of an interval have waited longer than the target, the one that is to go on is
//! dropped, or marked, and again after ever shorter times until the queue is below the target. In its other form packets
//! that can be marked are not dropped; those that cannot be are (RFC 3168 5).

use std::time::Duration;

use super::{Discipline, Verdict};
use crate::tc::Amount;
use crate::tc::configuration::DelayTarget;
use crate::{Ecn, Packet, Time};

/// The longest packet. A queue that holds no more is never too long (RFC 8289 5.5 has an interface's largest packet).
const MAX_PACKET_OCTETS: u64 = 1514;

/// The state of RFC 8289 5.3, by its names there.
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

/// Where in a dequeue it is: the packet that comes after one that was dropped is judged otherwise than one that comes first.
#[derive(Clone, Copy, PartialEq)]
enum Step {
    First,
    /// After the drop that began the dropping state: this one goes on.
    AfterEntry,
    /// After a drop in the dropping state.
    AfterDrop,
}

impl CoDel {
    /// The target is above 0 and below the interval.
    pub(super) fn dropping(target: DelayTarget) -> Self {
        CoDel::new(target, false)
    }

    /// As [`CoDel::dropping`], and packets that can be marked are.
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

    /// Whether packets have waited too long for long enough (RFC 8289 5.5).
    fn ok_to_drop(&mut self, now: Time, sojourn: Duration, waiting: Amount) -> bool {
        if sojourn < self.target || waiting.octets <= MAX_PACKET_OCTETS {
            self.first_above_time = None;
            return false;
        }
        let first_above_time = *self.first_above_time.get_or_insert(now + self.interval);
        now >= first_above_time
    }

    /// When the next drop is due: ever sooner (RFC 8289 5.4).
    fn control_law(&self, from: Time) -> Time {
        from + Duration::from_nanos((self.interval.as_nanos() as f64 / f64::from(self.count).sqrt()) as u64)
    }

    /// The dropping state begins. Where the last one is not long ago, it goes on at the rate that it had (RFC 8289 5.5).
    fn enter(&mut self, now: Time) {
        self.dropping = true;
        let delta = self.count - self.last_count;
        let recent = now.since(self.drop_next) < 16 * self.interval;
        self.count = if delta > 1 && recent { delta } else { 1 };
        self.drop_next = self.control_law(now);
        self.last_count = self.count;
    }

    /// Marked packets go on, so that the next one to be asked about comes first again.
    fn act(&mut self, packet: &Packet, after: Step) -> Verdict {
        if self.marks && packet.ecn != Ecn::NotEct {
            return Verdict::Mark;
        }
        self.step = after;
        Verdict::Drop
    }

    /// In the dropping state, and there is still reason for it.
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
    fn leaving(&mut self, now: Time, packet: &Packet, waiting: Amount) -> Option<Verdict> {
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
