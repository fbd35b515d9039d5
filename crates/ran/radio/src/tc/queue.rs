//! A queue with its policer, discipline and shaper.

use std::collections::VecDeque;

use super::bucket::Bucket;
use super::configuration::{Configuration, Divert, QueueConfiguration};
use super::counts::{Meter, QueueCounts};
use super::discipline::{self, Discipline, Verdict};
use super::{Faults, QueueId};
use crate::fifo::pop_front;
use crate::{Ecn, Packet, Time};

/// The size of a policer's token buckets.
const POLICER_HOLD_MS: u32 = 100;

/// A FIFO queue with its policer, discipline and shaper.
pub(super) struct ManagedQueue {
    configuration: QueueConfiguration,
    discipline: Box<dyn Discipline>,
    policer: Option<Policer>,
    shaper: Option<Shaper>,
    packets: VecDeque<Packet>,
    counts: QueueCounts,
}

struct Policer {
    limit: Bucket,
    /// The divert rate, and the position of the target queue.
    divert: Option<(Bucket, usize)>,
    meter: Meter,
}

struct Shaper {
    limit: Bucket,
    meter: Meter,
}

/// The decision of a policer.
pub(super) enum PolicerVerdict {
    Pass,
    /// To the queue at this position.
    Divert(usize),
    Drop,
}

impl ManagedQueue {
    /// Creates an empty queue. `configuration` is one of the validated configuration `all`.
    pub(super) fn new(now: Time, configuration: &QueueConfiguration, all: &Configuration) -> Self {
        let mut queue = ManagedQueue {
            discipline: discipline::make(&configuration.discipline),
            policer: None,
            shaper: None,
            packets: VecDeque::new(),
            counts: QueueCounts::default(),
            configuration: QueueConfiguration { policer: None, shaper: None, ..configuration.clone() },
        };
        queue.configure(now, configuration, all);
        queue
    }

    /// Applies a new configuration. Unchanged parts keep their state.
    pub(super) fn configure(&mut self, now: Time, next: &QueueConfiguration, all: &Configuration) {
        if next.discipline != self.configuration.discipline {
            self.discipline = discipline::make(&next.discipline);
        }
        if next.policer != self.configuration.policer {
            self.policer = next.policer.map(|settings| Policer {
                limit: Bucket::new(now, settings.drop_rate_bps, POLICER_HOLD_MS),
                divert: settings.divert.map(|Divert { rate_bps, .. }| (Bucket::new(now, rate_bps, POLICER_HOLD_MS), 0)),
                meter: Meter::new(POLICER_HOLD_MS),
            });
        }
        if next.shaper != self.configuration.shaper {
            self.shaper = next.shaper.map(|settings| Shaper {
                limit: Bucket::new(now, settings.rate_bps, settings.window_ms),
                meter: Meter::new(settings.window_ms),
            });
        }
        self.configuration = next.clone();
        // the target queue may have another position now
        let divert = next.policer.and_then(|policer| policer.divert);
        if let (Some(Divert { to, .. }), Some((_, target))) =
            (divert, self.policer.as_mut().and_then(|policer| policer.divert.as_mut()))
        {
            *target = all.position(to).expect("the configuration is validated");
        }
    }

    pub(super) fn id(&self) -> QueueId {
        self.configuration.id
    }

    pub(super) fn counts(&self) -> &QueueCounts {
        &self.counts
    }

    /// Resets the counters: queued packets count as just arrived.
    pub(super) fn reset_counts(&mut self) {
        self.counts = QueueCounts::with_waiting(self.counts.waiting);
    }

    /// The free space.
    pub(super) fn room_octets(&self) -> u64 {
        u64::from(self.configuration.limit_octets).saturating_sub(self.counts.waiting.octets)
    }

    pub(super) fn is_shaped(&self) -> bool {
        self.shaper.is_some()
    }

    pub(super) fn policer_rate_bps(&self, now: Time) -> f64 {
        self.policer.as_ref().map_or(0.0, |policer| policer.meter.rate_bps(now))
    }

    pub(super) fn shaper_rate_bps(&self, now: Time) -> f64 {
        self.shaper.as_ref().map_or(0.0, |shaper| shaper.meter.rate_bps(now))
    }

    /// The oldest packet.
    pub(super) fn head(&self) -> Option<&Packet> {
        self.packets.front()
    }

    /// Applies the policer to a packet for this queue: two rates, as in RFC 2698 without colours.
    pub(super) fn police(&mut self, now: Time, packet: &Packet) -> PolicerVerdict {
        let Some(policer) = &mut self.policer else { return PolicerVerdict::Pass };
        if !policer.limit.is_open(now) {
            self.counts.arrived.add(packet);
            self.counts.dropped.policed.add(packet);
            return PolicerVerdict::Drop;
        }
        policer.limit.take(packet.octets);
        policer.meter.record(now, packet.octets);
        let Some((limit, target)) = &mut policer.divert else { return PolicerVerdict::Pass };
        if !limit.is_open(now) {
            self.counts.diverted_packets += 1;
            return PolicerVerdict::Divert(*target);
        }
        limit.take(packet.octets);
        PolicerVerdict::Pass
    }

    /// Enqueues a packet. Returns false when it was dropped.
    pub(super) fn push(&mut self, now: Time, mut packet: Packet, faults: &mut Faults) -> bool {
        self.counts.arrived.add(&packet);
        if u64::from(packet.octets) > self.room_octets() {
            self.counts.dropped.full.add(&packet);
            return false;
        }
        let verdict = self.discipline.on_enqueue(now, &packet, self.counts.waiting);
        if !self.apply_verdict(verdict, &mut packet, faults) {
            return false;
        }
        self.counts.waiting.add(&packet);
        self.packets.push_back(packet);
        true
    }

    /// Whether the shaper lets a packet pass.
    pub(super) fn is_open(&mut self, now: Time) -> bool {
        self.shaper.as_mut().is_none_or(|shaper| shaper.limit.is_open(now))
    }

    /// Dequeues the next packet; `None` when the discipline has dropped all of them.
    pub(super) fn pop(&mut self, now: Time, faults: &mut Faults) -> Option<Packet> {
        while let Some(mut packet) = pop_front(&mut self.packets) {
            self.counts.waiting.subtract(&packet);
            let verdict = self.discipline.on_dequeue(now, &packet, self.counts.waiting);
            if !self.apply_verdict(verdict, &mut packet, faults) {
                continue;
            }
            self.counts.departed.add(&packet);
            self.counts.sojourn.record(now, now.since(packet.entered));
            if let Some(shaper) = &mut self.shaper {
                shaper.limit.take(packet.octets);
                shaper.meter.record(now, packet.octets);
            }
            return Some(packet);
        }
        None
    }

    /// Drops all packets, because the bearer is released.
    pub(super) fn discard_all(&mut self) {
        for packet in self.packets.drain(..) {
            self.counts.waiting.subtract(&packet);
            self.counts.dropped.released.add(&packet);
        }
    }

    /// Applies a verdict. Returns whether the packet continues.
    fn apply_verdict(&mut self, verdict: Option<Verdict>, packet: &mut Packet, faults: &mut Faults) -> bool {
        match verdict {
            Some(Verdict::Pass) => true,
            Some(Verdict::Mark) if packet.ecn != Ecn::NotEct => {
                packet.ecn = Ecn::Ce;
                self.counts.marked_packets += 1;
                true
            }
            Some(Verdict::Mark | Verdict::Drop) => {
                self.counts.dropped.managed.add(packet);
                false
            }
            None => {
                faults.discipline += 1;
                true
            }
        }
    }

    /// Takes over the packets of a removed queue, merged in order of arrival. The caller has checked that they fit.
    pub(super) fn take_over(&mut self, removed: ManagedQueue) {
        for packet in &removed.packets {
            self.counts.arrived.add(packet);
            self.counts.waiting.add(packet);
        }
        let mut merged = VecDeque::with_capacity(self.packets.len() + removed.packets.len());
        let mut ours = std::mem::take(&mut self.packets).into_iter().peekable();
        let mut theirs = removed.packets.into_iter().peekable();
        while let (Some(our), Some(their)) = (ours.peek(), theirs.peek()) {
            let next = if our.entered <= their.entered { ours.next() } else { theirs.next() };
            merged.extend(next);
        }
        merged.extend(ours);
        merged.extend(theirs);
        self.packets = merged;
    }
}
