//! CoDel against drop times computed by hand: an interval over the square root of the number of the drop.

use std::net::Ipv4Addr;

use super::*;
use crate::{Content, FiveTuple, FlowId};

const LONG: Amount = Amount { packets: 100, octets: 150_000 };

fn packet(entered_us: u64, ecn: Ecn) -> Packet {
    let nowhere = Ipv4Addr::UNSPECIFIED;
    Packet {
        flow: FlowId(0),
        tuple: FiveTuple {
            source: nowhere,
            destination: nowhere,
            source_port: 0,
            destination_port: 0,
            protocol: FiveTuple::TCP,
        },
        octets: 1500,
        ecn,
        dscp: 0,
        number: 0,
        sent: Time::START,
        entered: at(entered_us),
        content: Content::Filler,
    }
}

fn at(us: u64) -> Time {
    Time::from_nanos(us * 1000)
}

/// Dequeues every 10 us a packet with a sojourn time. Returns the times of a verdict.
fn verdicts(codel: &mut CoDel, us: std::ops::Range<u64>, sojourn_us: u64, ecn: Ecn, verdict: Verdict) -> Vec<u64> {
    let mut when = Vec::new();
    for us in us.step_by(10) {
        while codel.on_dequeue(at(us), &packet(us - sojourn_us, ecn), LONG) == Some(verdict) {
            when.push(us);
            if verdict == Verdict::Mark {
                break;
            }
        }
    }
    when
}

/// The drop times of the control law, rounded up to the next dequeue.
fn due(first_us: f64, counts: std::ops::RangeInclusive<u32>) -> Vec<u64> {
    let mut due_us = first_us;
    let mut all = vec![first_us as u64];
    for count in counts {
        due_us += 100_000.0 / f64::from(count).sqrt();
        all.push((due_us / 10.0).ceil() as u64 * 10);
    }
    all
}

#[test]
fn drop_intervals_follow_control_law() {
    let mut codel = CoDel::dropping(DelayTarget::default());
    // above the target from 10 ms on: the first drop follows an interval later
    let dropped = verdicts(&mut codel, 10_000..700_000, 6000, Ecn::NotEct, Verdict::Drop);
    assert_eq!(dropped[..4], [110_000, 210_000, 280_720, 338_450]);
    assert_eq!(dropped, due(110_000.0, 1..=dropped.len() as u32 - 1));
    // 110 ms and 100 ms * (1 + 1/sqrt(2) + ... + 1/sqrt(13)) are 698.9 ms
    assert_eq!(dropped.len(), 14);
}

#[test]
fn no_drop_below_target_or_with_single_packet() {
    let mut codel = CoDel::dropping(DelayTarget::default());
    assert_eq!(verdicts(&mut codel, 10_000..1_000_000, 4999, Ecn::NotEct, Verdict::Drop), [0; 0]);
    // a sojourn time below the target restarts the interval
    assert_eq!(verdicts(&mut codel, 1_000_000..1_099_990, 5000, Ecn::NotEct, Verdict::Drop), [0; 0]);
    assert_eq!(verdicts(&mut codel, 1_099_990..1_100_000, 4000, Ecn::NotEct, Verdict::Drop), [0; 0]);
    assert_eq!(verdicts(&mut codel, 1_100_000..1_200_000, 5000, Ecn::NotEct, Verdict::Drop), [0; 0]);
    let last = Amount { packets: 1, octets: 1514 };
    for ms in 1200..2000 {
        let verdict = codel.on_dequeue(Time::from_millis(ms), &packet(0, Ecn::NotEct), last);
        assert_eq!(verdict, Some(Verdict::Pass));
    }
}

#[test]
fn packet_after_drop_passes() {
    let mut codel = CoDel::dropping(DelayTarget::default());
    let mut look = |us, entered_us| codel.on_dequeue(at(us), &packet(entered_us, Ecn::NotEct), LONG).unwrap();
    assert_eq!(look(10_000, 0), Verdict::Pass);
    assert_eq!(look(110_000, 0), Verdict::Drop);
    assert_eq!(look(110_000, 0), Verdict::Pass);
    // a late dequeue performs the drops of 210 and 280.7 ms; that of 338 ms is not due
    assert_eq!(look(300_000, 0), Verdict::Drop);
    assert_eq!(look(300_000, 0), Verdict::Drop);
    assert_eq!(look(300_000, 0), Verdict::Pass);
    // the packet after a drop is below the target: the dropping state ends
    assert_eq!(look(340_000, 0), Verdict::Drop);
    assert_eq!(look(340_000, 339_000), Verdict::Pass);
    assert_eq!(look(400_000, 0), Verdict::Pass);
}

#[test]
fn soon_reentered_dropping_state_keeps_rate() {
    let mut codel = CoDel::dropping(DelayTarget::default());
    // 14 drops: the count grows from 1 to 14
    assert_eq!(verdicts(&mut codel, 10_000..700_000, 6000, Ecn::NotEct, Verdict::Drop).len(), 14);
    assert_eq!(verdicts(&mut codel, 700_000..710_000, 1000, Ecn::NotEct, Verdict::Drop), [0; 0]);
    // the count has grown by 13, so the second drop follows after 100 ms / sqrt(13)
    let again = verdicts(&mut codel, 710_000..1_000_000, 6000, Ecn::NotEct, Verdict::Drop);
    assert_eq!(again, due(810_000.0, 13..=12 + again.len() as u32 - 1));
    assert_eq!(again[1], 837_740);
    // after more than 16 intervals the count restarts at 1
    assert_eq!(verdicts(&mut codel, 1_000_000..3_000_000, 1000, Ecn::NotEct, Verdict::Drop), [0; 0]);
    let afresh = verdicts(&mut codel, 3_000_000..3_250_000, 6000, Ecn::NotEct, Verdict::Drop);
    assert_eq!(afresh, [3_100_000, 3_200_000]);
}

#[test]
fn ecn_capable_packets_are_marked() {
    let mut codel = CoDel::marking(DelayTarget::default());
    let marked = verdicts(&mut codel, 10_000..700_000, 6000, Ecn::Ect, Verdict::Mark);
    assert_eq!(marked, due(110_000.0, 1..=13));
    let mut codel = CoDel::marking(DelayTarget::default());
    assert_eq!(verdicts(&mut codel, 10_000..700_000, 6000, Ecn::Ce, Verdict::Mark), marked);
    let mut codel = CoDel::marking(DelayTarget::default());
    assert_eq!(verdicts(&mut codel, 10_000..700_000, 6000, Ecn::NotEct, Verdict::Drop), marked);
}

/// A reference implementation of RFC 8289 5: queue, state and control law, in microseconds.
#[derive(Default)]
struct Reference {
    queue: std::collections::VecDeque<u64>,
    first_above: Option<f64>,
    drop_next: f64,
    count: u32,
    last_count: u32,
    dropping: bool,
}

impl Reference {
    const TARGET: f64 = 5_000.0;
    const INTERVAL: f64 = 100_000.0;

    /// Returns the arrival time of the packet and whether it may be dropped.
    fn next(&mut self, now: f64) -> (Option<u64>, bool) {
        let Some(entered) = self.queue.pop_front() else {
            self.first_above = None;
            return (None, false);
        };
        if now - (entered as f64) < Self::TARGET || self.queue.len() <= 1 {
            self.first_above = None;
            return (Some(entered), false);
        }
        let above = *self.first_above.get_or_insert(now + Self::INTERVAL);
        (Some(entered), now >= above)
    }

    fn law(&self, from: f64) -> f64 {
        from + (Self::INTERVAL * 1000.0 / f64::from(self.count).sqrt()).floor() / 1000.0
    }

    fn dequeue(&mut self, now: f64, dropped: &mut u64) -> Option<u64> {
        let (mut packet, mut ok) = self.next(now);
        if self.dropping {
            self.dropping = ok;
            while self.dropping && now >= self.drop_next {
                *dropped += 1;
                self.count += 1;
                (packet, ok) = self.next(now);
                self.dropping = ok;
                if ok {
                    self.drop_next = self.law(self.drop_next);
                }
            }
        } else if ok {
            *dropped += 1;
            (packet, _) = self.next(now);
            self.dropping = true;
            let delta = self.count - self.last_count;
            let recent = now - self.drop_next < 16.0 * Self::INTERVAL;
            self.count = if delta > 1 && recent { delta } else { 1 };
            self.drop_next = self.law(now);
            self.last_count = self.count;
        }
        packet
    }
}

/// Under varying load and irregular dequeues, each packet is treated as by the pseudocode of the RFC.
#[test]
fn codel_matches_rfc_pseudocode() {
    let mut most = 0;
    for seed in 0..40 {
        let mut random = crate::Random::new(seed, 0);
        let (mut reference, mut dropped) = (Reference::default(), 0);
        let configuration = crate::tc::Configuration {
            queues: vec![crate::tc::QueueConfiguration::new(
                crate::tc::QueueId(0),
                crate::tc::DisciplineChoice::CoDel(DelayTarget::default()),
            )],
            ..crate::tc::Configuration::default()
        };
        let mut tc = crate::tc::TrafficControl::new(&configuration).unwrap();
        let below = crate::tc::RlcState { rlc_octets: 0, rlc_room_octets: u32::MAX };
        let (mut now_us, mut load) = (0, 1.0);
        for _ in 0..20_000 {
            now_us += 1 + (random.uniform() * 1_000.0) as u64;
            if random.uniform() < 0.001 {
                load = 2.0 * random.uniform();
            }
            if random.uniform() < 0.5 * load && reference.queue.len() < 690 {
                reference.queue.push_back(now_us);
                tc.push(at(now_us), packet(0, Ecn::NotEct));
            }
            if random.uniform() < 0.5 {
                let departed = tc.pop(at(now_us), below).map(|packet| packet.entered.as_nanos() / 1000);
                assert_eq!(departed, reference.dequeue(now_us as f64, &mut dropped), "seed {seed} at {now_us} us");
            }
        }
        assert_eq!(tc.totals().dropped.packets, dropped);
        most = most.max(dropped);
    }
    assert!(most > 500, "{most}");
}
