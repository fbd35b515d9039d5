//! What a TCP sender has sent and not had acknowledged: what of it has come all the same, and what is lost (RFC 6675,
//! with losses told by the order of transmissions and their times as in RFC 8985, so that what is lost a second time, and
//! what has few behind it, is noticed too).

use std::collections::VecDeque;

use super::rate::Stamp;
use crate::traffic::after;
use crate::{Acknowledgement, Time};

/// So many later transmissions must have come before an earlier one is lost (RFC 6675 2, DupThresh).
const DUPLICATE_THRESHOLD: u64 = 3;

/// A segment that is not acknowledged cumulatively.
#[derive(Clone, Debug)]
pub struct Outstanding {
    /// Which transmission was the last.
    transmission: u64,
    /// When that was sent.
    pub sent: Time,
    pub stamp: Stamp,
    pub octets: u32,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    InFlight,
    Lost,
    Come,
}

/// What an acknowledgement has told that was not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct News {
    /// Segments that have come.
    pub delivered: u64,
    /// Segments that were lost.
    pub lost: u64,
    /// Whether the first outstanding segment is another one now.
    pub is_advance: bool,
}

/// The segments of the window, oldest first.
#[derive(Clone, Debug, Default)]
pub struct Scoreboard {
    first: u64,
    segments: VecDeque<Outstanding>,
    in_flight: u64,
    transmissions: u64,
    /// Transmission and segment of what was sent and not yet passed by `DUPLICATE_THRESHOLD` later ones that came.
    log: VecDeque<(u64, u64)>,
    /// The latest transmission that has come, and one more; and how long that took.
    highest: u64,
    highest_rtt_ns: u64,
    /// What is to be sent again, in the order in which it was found lost; some of it may have come since.
    lost: VecDeque<u64>,
    /// The blocks of the acknowledgement before, from first to before end.
    known: [(u64, u64); Acknowledgement::BLOCKS],
}

impl Scoreboard {
    /// The first segment that is not acknowledged.
    pub fn first(&self) -> u64 {
        self.first
    }

    /// The segment that is sent next for the first time.
    pub fn next(&self) -> u64 {
        self.first + self.segments.len() as u64
    }

    /// Segments from the first one that is not acknowledged to the last one sent.
    pub fn len(&self) -> u64 {
        self.segments.len() as u64
    }

    /// Segments that have neither come nor been lost, as far as the sender knows (RFC 6675: pipe).
    pub fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// Transmissions so far.
    pub fn transmissions(&self) -> u64 {
        self.transmissions
    }

    /// A segment is sent for the first time: which transmission that is.
    pub fn send(&mut self, now: Time, octets: u32, stamp: Stamp) -> u64 {
        let sequence = self.next();
        let transmission = self.transmit(sequence);
        self.segments.push_back(Outstanding { transmission, sent: now, stamp, octets, state: State::InFlight });
        transmission
    }

    /// The segment that is to be sent again next.
    pub fn next_lost(&mut self) -> Option<u64> {
        while let Some(sequence) = self.lost.front() {
            if self.get(*sequence).is_some_and(|segment| segment.state == State::Lost) {
                return Some(*sequence);
            }
            self.lost.pop_front();
        }
        None
    }

    /// The segment that [`Self::next_lost`] gave is sent again: which transmission that is, and its octets.
    pub fn resend(&mut self, now: Time, sequence: u64, stamp: Stamp) -> (u64, u32) {
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

    /// The last segment is sent again although nobody knows that it is lost: which it is, which transmission, and its octets.
    /// `None` where nothing is in flight.
    pub fn probe(&mut self, now: Time, stamp: Stamp) -> Option<(u64, u64, u32)> {
        let sequence = self.next().checked_sub(1)?;
        if self.segments.back()?.state != State::InFlight {
            return None;
        }
        let transmission = self.transmit(sequence);
        // it is in flight already
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

    /// An acknowledgement comes; `deliver` is told of each segment that it is the first to say has come. Where something has
    /// come that was sent later, what took that much longer is lost (RFC 8985 6.2).
    pub fn acknowledge(
        &mut self,
        now: Time,
        told: &Acknowledgement,
        reordering_ns: u64,
        mut deliver: impl FnMut(&Outstanding),
    ) -> News {
        let mut news = News::default();
        let cumulative = told.cumulative.min(self.next());
        while self.first < cumulative {
            let segment = self.segments.pop_front().expect("it lies below the next");
            self.first += 1;
            news.is_advance = true;
            if segment.state != State::Come {
                self.in_flight -= u64::from(segment.state == State::InFlight);
                news.delivered += 1;
                deliver(&segment);
            }
        }
        self.take_blocks(told, &mut news, &mut deliver);
        let newest = (told.newest + 1).min(self.transmissions);
        if newest > self.highest {
            self.highest = newest;
            self.highest_rtt_ns = now.as_nanos().saturating_sub(told.newest_sent.as_nanos());
        }
        news.lost = self.find_losses(now, reordering_ns);
        news
    }

    fn take_blocks(&mut self, told: &Acknowledgement, news: &mut News, deliver: &mut impl FnMut(&Outstanding)) {
        let mut blocks = [(0, 0); Acknowledgement::BLOCKS];
        for (place, block) in blocks.iter_mut().zip(told.selective) {
            let (first, end) = (told.cumulative + u64::from(block.first), told.cumulative + u64::from(block.end));
            let end = end.min(self.next());
            let mut sequence = first.max(self.first);
            while sequence < end {
                // most of a block was told before
                if let Some((_, end)) = self.known.iter().find(|(first, end)| (*first..*end).contains(&sequence)) {
                    sequence = *end;
                    continue;
                }
                let segment = &mut self.segments[(sequence - self.first) as usize];
                if segment.state != State::Come {
                    self.in_flight -= u64::from(segment.state == State::InFlight);
                    segment.state = State::Come;
                    news.delivered += 1;
                    deliver(segment);
                }
                sequence += 1;
            }
            *place = (first, end);
        }
        self.known = blocks;
    }

    /// How many segments are lost by now that were not yet.
    pub fn find_losses(&mut self, now: Time, reordering_ns: u64) -> u64 {
        let mut lost = 0;
        while let Some((transmission, sequence)) = self.log.front().copied() {
            let at = sequence.checked_sub(self.first).map(|at| at as usize);
            let segment = at.and_then(|at| self.segments.get_mut(at));
            let is_this =
                |segment: &&mut Outstanding| segment.state == State::InFlight && segment.transmission == transmission;
            if let Some(segment) = segment.filter(is_this) {
                let is_passed = transmission + DUPLICATE_THRESHOLD < self.highest;
                let late_at = after(segment.sent, self.highest_rtt_ns.saturating_add(reordering_ns));
                let is_late = transmission + 1 < self.highest && late_at <= now;
                if !is_passed && !is_late {
                    break;
                }
                segment.state = State::Lost;
                self.in_flight -= 1;
                self.lost.push_back(sequence);
                lost += 1;
            }
            self.log.pop_front();
        }
        lost
    }

    /// When the next one is lost if nothing is told of it; never where nothing has come that was sent later.
    pub fn next_late(&self, reordering_ns: u64) -> Time {
        let first = self.log.front().filter(|(transmission, _)| transmission + 1 < self.highest);
        let segment = first.and_then(|(_, sequence)| self.get(*sequence));
        segment.map_or(Time::NEVER, |segment| after(segment.sent, self.highest_rtt_ns.saturating_add(reordering_ns)))
    }

    /// The retransmission timer went off: whatever is in flight is lost (RFC 6675 5.1).
    pub fn lose_all(&mut self) {
        self.log.clear();
        self.lost.clear();
        for (sequence, segment) in (self.first..).zip(&mut self.segments) {
            if segment.state != State::Come {
                segment.state = State::Lost;
                self.lost.push_back(sequence);
            }
        }
        self.in_flight = 0;
    }

    /// What [`Self::lose_all`] took for lost is in flight all the same, unless it has come.
    pub fn lose_none(&mut self) {
        self.lost.clear();
        self.log.clear();
        let mut log: Vec<(u64, u64)> = Vec::new();
        for (sequence, segment) in (self.first..).zip(&mut self.segments) {
            if segment.state != State::Come {
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
    use crate::Block;

    fn sent(count: u64) -> Scoreboard {
        let mut board = Scoreboard::default();
        (0..count).for_each(|_| {
            board.send(Time::START, 1400, Stamp::default());
        });
        board
    }

    fn told(cumulative: u64, newest: u64, blocks: &[(u32, u32)]) -> Acknowledgement {
        let mut told = Acknowledgement { cumulative, newest, ..Acknowledgement::default() };
        for (place, (first, end)) in told.selective.iter_mut().zip(blocks) {
            *place = Block { first: *first, end: *end };
        }
        told
    }

    fn news(board: &mut Scoreboard, cumulative: u64, newest: u64, blocks: &[(u32, u32)]) -> (u64, u64) {
        // all was sent at once, and takes no time
        let news = board.acknowledge(Time::START, &told(cumulative, newest, blocks), 1, |_| {});
        (news.delivered, news.lost)
    }

    #[test]
    fn three_later_ones_tell_of_a_loss_and_a_second_loss_is_noticed() {
        let mut board = sent(10); // 1 and 2 are lost
        assert_eq!(news(&mut board, 1, 0, &[]), (1, 0));
        assert_eq!(news(&mut board, 1, 3, &[(2, 3)]), (1, 0));
        assert_eq!(news(&mut board, 1, 4, &[(2, 4)]), (1, 1));
        assert_eq!(news(&mut board, 1, 5, &[(2, 5)]), (1, 1));
        assert_eq!(board.in_flight(), 4);
        assert_eq!(board.next_lost(), Some(1));
        assert_eq!(board.resend(Time::START, 1, Stamp::default()), (10, 1400));
        assert_eq!(board.next_lost(), Some(2));
        assert_eq!(board.resend(Time::START, 2, Stamp::default()), (11, 1400));
        assert_eq!((board.next_lost(), board.in_flight()), (None, 6));
        board.send(Time::START, 1400, Stamp::default()); // transmission 12
        // 6 to 9 come, 1 is lost again, 2 comes, and 10
        assert_eq!(news(&mut board, 1, 9, &[(2, 9)]), (4, 0));
        assert_eq!(news(&mut board, 1, 11, &[(1, 9)]), (1, 0));
        assert_eq!(news(&mut board, 1, 12, &[(1, 10)]), (1, 0));
        board.send(Time::START, 1400, Stamp::default());
        assert_eq!(news(&mut board, 1, 13, &[(1, 11)]), (1, 1));
        assert_eq!(board.next_lost(), Some(1));
        board.resend(Time::START, 1, Stamp::default());
        assert_eq!(news(&mut board, 12, 14, &[]), (1, 0));
        assert_eq!((board.in_flight(), board.len(), board.next()), (0, 0, 12));
    }

    #[test]
    fn a_lost_acknowledgement_is_made_up_for_by_the_next() {
        let mut board = sent(10);
        assert_eq!(news(&mut board, 0, 7, &[(6, 8), (1, 3)]), (4, 3));
        assert_eq!(board.in_flight(), 3);
        // what was taken for lost had only been late
        assert_eq!(news(&mut board, 8, 9, &[(1, 2)]), (5, 0));
        assert_eq!((board.in_flight(), board.next_lost()), (1, None));
    }

    #[test]
    fn a_timeout_loses_all_that_has_not_come() {
        let mut board = sent(5);
        news(&mut board, 1, 3, &[(2, 3)]);
        board.lose_all();
        assert_eq!(board.in_flight(), 0);
        let mut again = Vec::new();
        while let Some(sequence) = board.next_lost() {
            board.resend(Time::START, sequence, Stamp::default());
            again.push(sequence);
        }
        assert_eq!((again, board.in_flight()), (vec![1, 2, 4], 3));
    }

    #[test]
    fn an_acknowledgement_of_what_was_never_sent_does_no_harm() {
        let mut board = sent(3);
        assert_eq!(news(&mut board, 90, u64::MAX - 1, &[(5, 900)]), (3, 0));
        assert_eq!((board.first(), board.in_flight()), (3, 0));
    }

    #[test]
    fn what_was_sent_long_before_what_has_come_is_lost() {
        let mut board = Scoreboard::default();
        let sent_ms = |board: &mut Scoreboard, ms| board.send(Time::from_millis(ms), 1400, Stamp::default());
        for ms in [0, 1, 4, 5] {
            sent_ms(&mut board, ms);
        }
        // the last one has come: two were sent 4 ms before it and more, the third 1 ms
        let newest_sent = Time::from_millis(5);
        let told = Acknowledgement { newest_sent, ..told(0, 3, &[(3, 4)]) };
        assert_eq!(board.next_late(4_000_000), Time::NEVER);
        let news = board.acknowledge(Time::from_millis(25), &told, 4_000_000, |_| {});
        assert_eq!((news.delivered, news.lost, board.in_flight()), (1, 2, 1));
        assert_eq!(board.next_lost(), Some(0));
        // 4 ms, the round trip of 20 ms, and 4 ms
        assert_eq!(board.next_late(4_000_000), Time::from_millis(28));
        assert_eq!(board.find_losses(Time::from_millis(27), 4_000_000), 0);
        assert_eq!(board.find_losses(Time::from_millis(28), 4_000_000), 1);
        assert_eq!(board.next_late(4_000_000), Time::NEVER);
    }

    #[test]
    fn a_probe_is_the_last_one_again_and_tells_of_those_before() {
        let mut board = sent(3);
        let at = Time::from_millis(40);
        assert_eq!(board.probe(at, Stamp::default()), Some((2, 3, 1400)));
        assert_eq!((board.in_flight(), board.transmissions(), board.next()), (3, 4, 3));
        let told = Acknowledgement { newest_sent: at, ..told(0, 3, &[(2, 3)]) };
        let news = board.acknowledge(Time::from_millis(60), &told, 5_000_000, |_| {});
        assert_eq!((news.delivered, news.lost, board.in_flight()), (1, 2, 0));
        assert_eq!(board.probe(at, Stamp::default()), None, "that has come");
    }
}
