//! The scoreboard of a TCP sender: the state of all segments that are not cumulatively acknowledged (RFC 6675). Losses are
//! detected from the order and the times of transmissions (RACK, RFC 8985), which also finds lost retransmissions and losses
//! near the end of the data.

use std::collections::VecDeque;

use super::rate::Stamp;
use crate::fifo::pop_front;
use crate::traffic::after;
use crate::{Acknowledgement, Time};

/// A transmission is lost when this number of later ones were delivered (RFC 6675 2, DupThresh).
const DUPLICATE_THRESHOLD: u64 = 3;

/// A segment that is not cumulatively acknowledged.
#[derive(Clone, Debug)]
pub struct Outstanding {
    /// The number of its last transmission.
    transmission: u64,
    /// When that transmission was sent.
    pub sent: Time,
    pub stamp: Stamp,
    pub octets: u32,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    InFlight,
    Lost,
    Delivered,
}

/// The new information of an acknowledgement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckSummary {
    /// Newly delivered segments.
    pub delivered: u64,
    /// Newly lost segments.
    pub lost: u64,
    /// Whether the cumulative acknowledgement has advanced.
    pub has_advanced: bool,
}

/// The outstanding segments, oldest first.
#[derive(Clone, Debug, Default)]
pub struct Scoreboard {
    first: u64,
    segments: VecDeque<Outstanding>,
    in_flight: u64,
    transmissions: u64,
    /// The transmission and segment numbers of transmissions that are not yet delivered or lost, in order of transmission.
    log: VecDeque<(u64, u64)>,
    /// One more than the latest delivered transmission.
    highest: u64,
    /// The round-trip time of that transmission (RFC 8985: RACK.rtt).
    highest_rtt_ns: u64,
    /// Lost segments in the order of detection; some may have been delivered since.
    lost: VecDeque<u64>,
    /// The SACK blocks of the previous acknowledgement, as first and end (exclusive).
    previous_blocks: [(u64, u64); Acknowledgement::BLOCKS],
}

impl Scoreboard {
    /// The first segment that is not acknowledged.
    pub fn first(&self) -> u64 {
        self.first
    }

    /// The next new segment.
    pub fn next(&self) -> u64 {
        self.first + self.segments.len() as u64
    }

    /// The number of segments from the first one that is not acknowledged to the last one sent.
    pub fn len(&self) -> u64 {
        self.segments.len() as u64
    }

    /// Segments that are neither known to be delivered nor lost (RFC 6675: pipe).
    pub fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// The number of transmissions so far.
    pub fn transmissions(&self) -> u64 {
        self.transmissions
    }

    /// Sends a new segment. Returns the number of the transmission.
    pub fn send(&mut self, now: Time, octets: u32, stamp: Stamp) -> u64 {
        let sequence = self.next();
        let transmission = self.transmit(sequence);
        self.segments.push_back(Outstanding { transmission, sent: now, stamp, octets, state: State::InFlight });
        transmission
    }

    /// The segment to retransmit next.
    pub fn next_lost(&mut self) -> Option<u64> {
        while let Some(sequence) = self.lost.front() {
            if self.get(*sequence).is_some_and(|segment| segment.state == State::Lost) {
                return Some(*sequence);
            }
            self.lost.pop_front();
        }
        None
    }

    /// Retransmits the segment that [`Self::next_lost`] returned. Returns the number of the transmission and the octets.
    pub fn retransmit(&mut self, now: Time, sequence: u64, stamp: Stamp) -> (u64, u32) {
        let transmission = self.transmit(sequence);
        let segment = self.segments.get_mut((sequence - self.first) as usize).expect("a lost segment is outstanding");
        segment.transmission = transmission;
        segment.sent = now;
        segment.stamp = stamp;
        segment.state = State::InFlight;
        let octets = segment.octets;
        self.lost.pop_front();
        (transmission, octets)
    }

    /// Retransmits the last segment as a probe, although it is not known to be lost. Returns its number, that of the
    /// transmission, and the octets; `None` if the segment is not in flight.
    pub fn probe(&mut self, now: Time, stamp: Stamp) -> Option<(u64, u64, u32)> {
        let sequence = self.next().checked_sub(1)?;
        if self.segments.back()?.state != State::InFlight {
            return None;
        }
        let transmission = self.transmit(sequence);
        // the segment was in flight already
        self.in_flight -= 1;
        let segment = self.segments.back_mut()?;
        (segment.transmission, segment.sent, segment.stamp) = (transmission, now, stamp);
        Some((sequence, transmission, segment.octets))
    }

    fn transmit(&mut self, sequence: u64) -> u64 {
        let transmission = self.transmissions;
        self.transmissions += 1;
        self.in_flight += 1;
        self.log.push_back((transmission, sequence));
        transmission
    }

    fn get(&self, sequence: u64) -> Option<&Outstanding> {
        self.segments.get(usize::try_from(sequence.checked_sub(self.first)?).ok()?)
    }

    /// Processes an acknowledgement. Calls `deliver` for each newly delivered segment. Segments sent before the latest
    /// delivered one are lost when they exceed its round-trip time by the reordering window (RFC 8985 6.2).
    pub fn acknowledge(
        &mut self,
        now: Time,
        ack: &Acknowledgement,
        reordering_window_ns: u64,
        mut deliver: impl FnMut(&Outstanding),
    ) -> AckSummary {
        let mut summary = AckSummary::default();
        let cumulative = ack.cumulative.min(self.next());
        while self.first < cumulative {
            let segment = pop_front(&mut self.segments).expect("a segment below the next one is outstanding");
            self.first += 1;
            summary.has_advanced = true;
            if segment.state != State::Delivered {
                self.in_flight -= u64::from(segment.state == State::InFlight);
                summary.delivered += 1;
                deliver(&segment);
            }
        }
        self.apply_blocks(ack, &mut summary, &mut deliver);
        let newest = (ack.newest + 1).min(self.transmissions);
        if newest > self.highest {
            self.highest = newest;
            self.highest_rtt_ns = now.as_nanos().saturating_sub(ack.newest_sent.as_nanos());
        }
        summary.lost = self.detect_losses(now, reordering_window_ns);
        summary
    }

    fn apply_blocks(
        &mut self,
        ack: &Acknowledgement,
        summary: &mut AckSummary,
        deliver: &mut impl FnMut(&Outstanding),
    ) {
        let mut blocks = [(0, 0); Acknowledgement::BLOCKS];
        for (range, block) in blocks.iter_mut().zip(ack.selective) {
            let (first, end) = (ack.cumulative + u64::from(block.first), ack.cumulative + u64::from(block.end));
            let end = end.min(self.next());
            let mut sequence = first.max(self.first);
            while sequence < end {
                // the previous acknowledgement contained most of the block
                if let Some((_, end)) =
                    self.previous_blocks.iter().find(|(first, end)| (*first..*end).contains(&sequence))
                {
                    sequence = *end;
                    continue;
                }
                let segment = &mut self.segments[(sequence - self.first) as usize];
                if segment.state != State::Delivered {
                    self.in_flight -= u64::from(segment.state == State::InFlight);
                    segment.state = State::Delivered;
                    summary.delivered += 1;
                    deliver(segment);
                }
                sequence += 1;
            }
            *range = (first, end);
        }
        self.previous_blocks = blocks;
    }

    /// Detects segments that are lost by now. Returns the number of newly lost ones.
    pub fn detect_losses(&mut self, now: Time, reordering_window_ns: u64) -> u64 {
        let mut lost = 0;
        while let Some((transmission, sequence)) = self.log.front().copied() {
            let at = sequence.checked_sub(self.first).map(|at| at as usize);
            let segment = at.and_then(|at| self.segments.get_mut(at));
            let is_current =
                |segment: &&mut Outstanding| segment.state == State::InFlight && segment.transmission == transmission;
            if let Some(segment) = segment.filter(is_current) {
                let is_passed = transmission + DUPLICATE_THRESHOLD < self.highest;
                let late_at = after(segment.sent, self.highest_rtt_ns.saturating_add(reordering_window_ns));
                let is_late = transmission + 1 < self.highest && late_at <= now;
                if !is_passed && !is_late {
                    break;
                }
                segment.state = State::Lost;
                self.in_flight -= 1;
                self.lost.push_back(sequence);
                lost += 1;
            }
            pop_front(&mut self.log);
        }
        lost
    }

    /// When the next segment counts as lost unless it is acknowledged (RFC 8985: RACK reordering timer); never if no later
    /// transmission was delivered.
    pub fn reordering_timeout(&self, reordering_window_ns: u64) -> Time {
        let first = self.log.front().filter(|(transmission, _)| transmission + 1 < self.highest);
        let segment = first.and_then(|(_, sequence)| self.get(*sequence));
        segment.map_or(Time::NEVER, |segment| {
            after(segment.sent, self.highest_rtt_ns.saturating_add(reordering_window_ns))
        })
    }

    /// Marks all segments that are not delivered as lost, after a retransmission timeout (RFC 6675 5.1).
    pub fn mark_all_lost(&mut self) {
        self.log.clear();
        self.lost.clear();
        for (sequence, segment) in (self.first..).zip(&mut self.segments) {
            if segment.state != State::Delivered {
                segment.state = State::Lost;
                self.lost.push_back(sequence);
            }
        }
        self.in_flight = 0;
    }

    /// Reverts [`Self::mark_all_lost`] after a spurious timeout: segments that are not delivered are in flight.
    pub fn unmark_lost(&mut self) {
        self.lost.clear();
        self.log.clear();
        let mut log: Vec<(u64, u64)> = Vec::new();
        for (sequence, segment) in (self.first..).zip(&mut self.segments) {
            if segment.state != State::Delivered {
                self.in_flight += u64::from(segment.state == State::Lost);
                segment.state = State::InFlight;
                log.push((segment.transmission, sequence));
            }
        }
        log.sort_unstable();
        self.log.extend(log);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SackBlock;

    fn sent(count: u64) -> Scoreboard {
        let mut board = Scoreboard::default();
        (0..count).for_each(|_| {
            board.send(Time::START, 1400, Stamp::default());
        });
        board
    }

    fn ack(cumulative: u64, newest: u64, blocks: &[(u32, u32)]) -> Acknowledgement {
        let mut ack = Acknowledgement { cumulative, newest, ..Acknowledgement::default() };
        for (slot, (first, end)) in ack.selective.iter_mut().zip(blocks) {
            *slot = SackBlock { first: *first, end: *end };
        }
        ack
    }

    fn acknowledge(board: &mut Scoreboard, cumulative: u64, newest: u64, blocks: &[(u32, u32)]) -> (u64, u64) {
        // all segments are sent at the start and take no time
        let summary = board.acknowledge(Time::START, &ack(cumulative, newest, blocks), 1, |_| {});
        (summary.delivered, summary.lost)
    }

    #[test]
    fn loss_is_detected_after_three_later_deliveries_also_of_retransmission() {
        let mut board = sent(10); // 1 and 2 are lost
        assert_eq!(acknowledge(&mut board, 1, 0, &[]), (1, 0));
        assert_eq!(acknowledge(&mut board, 1, 3, &[(2, 3)]), (1, 0));
        assert_eq!(acknowledge(&mut board, 1, 4, &[(2, 4)]), (1, 1));
        assert_eq!(acknowledge(&mut board, 1, 5, &[(2, 5)]), (1, 1));
        assert_eq!(board.in_flight(), 4);
        assert_eq!(board.next_lost(), Some(1));
        assert_eq!(board.retransmit(Time::START, 1, Stamp::default()), (10, 1400));
        assert_eq!(board.next_lost(), Some(2));
        assert_eq!(board.retransmit(Time::START, 2, Stamp::default()), (11, 1400));
        assert_eq!((board.next_lost(), board.in_flight()), (None, 6));
        board.send(Time::START, 1400, Stamp::default()); // transmission 12
        // 6 to 9 are delivered, 1 is lost again, 2 and 10 are delivered
        assert_eq!(acknowledge(&mut board, 1, 9, &[(2, 9)]), (4, 0));
        assert_eq!(acknowledge(&mut board, 1, 11, &[(1, 9)]), (1, 0));
        assert_eq!(acknowledge(&mut board, 1, 12, &[(1, 10)]), (1, 0));
        board.send(Time::START, 1400, Stamp::default());
        assert_eq!(acknowledge(&mut board, 1, 13, &[(1, 11)]), (1, 1));
        assert_eq!(board.next_lost(), Some(1));
        board.retransmit(Time::START, 1, Stamp::default());
        assert_eq!(acknowledge(&mut board, 12, 14, &[]), (1, 0));
        assert_eq!((board.in_flight(), board.len(), board.next()), (0, 0, 12));
    }

    #[test]
    fn next_acknowledgement_replaces_lost_one() {
        let mut board = sent(10);
        assert_eq!(acknowledge(&mut board, 0, 7, &[(6, 8), (1, 3)]), (4, 3));
        assert_eq!(board.in_flight(), 3);
        // the segments that counted as lost had only been late
        assert_eq!(acknowledge(&mut board, 8, 9, &[(1, 2)]), (5, 0));
        assert_eq!((board.in_flight(), board.next_lost()), (1, None));
    }

    #[test]
    fn timeout_marks_undelivered_segments_lost() {
        let mut board = sent(5);
        acknowledge(&mut board, 1, 3, &[(2, 3)]);
        board.mark_all_lost();
        assert_eq!(board.in_flight(), 0);
        let mut retransmitted = Vec::new();
        while let Some(sequence) = board.next_lost() {
            board.retransmit(Time::START, sequence, Stamp::default());
            retransmitted.push(sequence);
        }
        assert_eq!((retransmitted, board.in_flight()), (vec![1, 2, 4], 3));
    }

    #[test]
    fn acknowledgement_of_unsent_segments_is_harmless() {
        let mut board = sent(3);
        assert_eq!(acknowledge(&mut board, 90, u64::MAX - 1, &[(5, 900)]), (3, 0));
        assert_eq!((board.first(), board.in_flight()), (3, 0));
    }

    #[test]
    fn segment_is_lost_after_reordering_window() {
        let mut board = Scoreboard::default();
        let sent_ms = |board: &mut Scoreboard, ms| board.send(Time::from_millis(ms), 1400, Stamp::default());
        for ms in [0, 1, 4, 5] {
            sent_ms(&mut board, ms);
        }
        // the last one is delivered: two were sent at least 4 ms before it, the third 1 ms
        let newest_sent = Time::from_millis(5);
        let ack = Acknowledgement { newest_sent, ..ack(0, 3, &[(3, 4)]) };
        assert_eq!(board.reordering_timeout(4_000_000), Time::NEVER);
        let summary = board.acknowledge(Time::from_millis(25), &ack, 4_000_000, |_| {});
        assert_eq!((summary.delivered, summary.lost, board.in_flight()), (1, 2, 1));
        assert_eq!(board.next_lost(), Some(0));
        // sent at 4 ms, the round trip of 20 ms, and the window of 4 ms
        assert_eq!(board.reordering_timeout(4_000_000), Time::from_millis(28));
        assert_eq!(board.detect_losses(Time::from_millis(27), 4_000_000), 0);
        assert_eq!(board.detect_losses(Time::from_millis(28), 4_000_000), 1);
        assert_eq!(board.reordering_timeout(4_000_000), Time::NEVER);
    }

    #[test]
    fn probe_repeats_last_segment_and_reveals_losses_before_it() {
        let mut board = sent(3);
        let at = Time::from_millis(40);
        assert_eq!(board.probe(at, Stamp::default()), Some((2, 3, 1400)));
        assert_eq!((board.in_flight(), board.transmissions(), board.next()), (3, 4, 3));
        let ack = Acknowledgement { newest_sent: at, ..ack(0, 3, &[(2, 3)]) };
        let summary = board.acknowledge(Time::from_millis(60), &ack, 5_000_000, |_| {});
        assert_eq!((summary.delivered, summary.lost, board.in_flight()), (1, 2, 0));
        assert_eq!(board.probe(at, Stamp::default()), None, "the last segment is delivered");
    }
}
