//! A TCP receiver: what has come, and when that is acknowledged.

use crate::traffic::after;
use crate::{Acknowledgement, Block, Ecn, Packet, Segment, Time};

/// A second full segment is acknowledged at once (RFC 9293 3.8.6.3).
const SEGMENTS_PER_ACKNOWLEDGEMENT: u32 = 2;

/// The receiving end of a connection.
#[derive(Clone, Debug)]
pub struct Receiver {
    /// All segments below this have come.
    cumulative: u64,
    /// What has come above, from first to before end, in order. No more than the sender's window holds.
    above: Vec<(u64, u64)>,
    /// A segment of each block that was told last, the newest first.
    told: [u64; Acknowledgement::BLOCKS],
    marked: u64,
    newest: u64,
    newest_sent: Time,
    newest_is_duplicate: bool,
    waiting: u32,
    /// When what waits is acknowledged at the latest.
    due: Time,
    delay_ns: u64,
}

impl Receiver {
    pub fn new(delayed_ack_ms: u64) -> Self {
        Receiver {
            cumulative: 0,
            above: Vec::new(),
            told: [0; Acknowledgement::BLOCKS],
            marked: 0,
            newest: 0,
            newest_sent: Time::START,
            newest_is_duplicate: false,
            waiting: 0,
            due: Time::NEVER,
            delay_ns: delayed_ack_ms * 1_000_000,
        }
    }

    /// When an acknowledgement is due.
    pub fn due(&self) -> Time {
        self.due
    }

    /// All segments below this have come.
    pub fn cumulative(&self) -> u64 {
        self.cumulative
    }

    /// A segment comes. Whether it is new.
    pub fn take(&mut self, now: Time, packet: &Packet, segment: Segment) -> bool {
        self.newest = segment.transmission;
        self.newest_sent = packet.sent;
        self.marked += u64::from(packet.ecn == Ecn::Ce);
        self.waiting += 1;
        let is_in_order = self.above.is_empty() && segment.sequence == self.cumulative;
        let is_new = self.insert(segment.sequence);
        self.newest_is_duplicate = !is_new;
        // what is out of order, or fills a gap, is acknowledged at once (RFC 5681 4.2)
        let at_once = !is_in_order || self.waiting >= SEGMENTS_PER_ACKNOWLEDGEMENT;
        self.due = if at_once { now } else { self.due.min(after(now, self.delay_ns)) };
        is_new
    }

    fn insert(&mut self, sequence: u64) -> bool {
        if sequence < self.cumulative {
            return false;
        }
        if sequence == self.cumulative {
            self.cumulative += 1;
            if self.above.first().is_some_and(|(first, _)| *first == self.cumulative) {
                self.cumulative = self.above.remove(0).1;
            }
            return true;
        }
        // the first interval that ends behind it
        let at = match self.above.last_mut() {
            Some((_, end)) if *end == sequence => {
                *end += 1;
                self.tell(sequence);
                return true;
            }
            Some((_, end)) if *end < sequence => self.above.len(),
            _ => self.above.partition_point(|(_, end)| *end <= sequence),
        };
        if self.above.get(at).is_some_and(|(first, _)| *first <= sequence) {
            self.tell(sequence);
            return false;
        }
        let joins_next = self.above.get(at).is_some_and(|(first, _)| *first == sequence + 1);
        let joins_last = at > 0 && self.above[at - 1].1 == sequence;
        match (joins_last, joins_next) {
            (true, true) => self.above[at - 1].1 = self.above.remove(at).1,
            (true, false) => self.above[at - 1].1 += 1,
            (false, true) => self.above[at].0 = sequence,
            (false, false) => self.above.insert(at, (sequence, sequence + 1)),
        }
        self.tell(sequence);
        true
    }

    /// The block that holds this is told first from now on.
    fn tell(&mut self, sequence: u64) {
        let block = self.block(sequence);
        let is_other = |told: u64| self.block(told).is_some_and(|other| Some(other) != block);
        let mut told = [0; Acknowledgement::BLOCKS];
        told[0] = sequence;
        let others = self.told.into_iter().filter(|told| is_other(*told));
        told[1..].iter_mut().zip(others).for_each(|(place, other)| *place = other);
        self.told = told;
    }

    /// What has come around a segment, if that has come and is above what is missing.
    fn block(&self, sequence: u64) -> Option<(u64, u64)> {
        let last = self.above.last().copied().filter(|(first, _)| *first <= sequence);
        let found = last.or_else(|| self.above.get(self.above.partition_point(|(_, end)| *end <= sequence)).copied());
        found.filter(|(first, end)| (*first..*end).contains(&sequence))
    }

    /// The acknowledgement that is due, and of how many blocks.
    pub fn acknowledge(&mut self) -> (Acknowledgement, u32) {
        self.waiting = 0;
        self.due = Time::NEVER;
        let mut acknowledgement = Acknowledgement {
            cumulative: self.cumulative,
            newest: self.newest,
            newest_sent: self.newest_sent,
            newest_is_duplicate: self.newest_is_duplicate,
            selective: [Block::default(); Acknowledgement::BLOCKS],
            marked: self.marked,
        };
        if self.above.is_empty() {
            return (acknowledgement, 0);
        }
        let mut blocks = 0;
        for told in self.told {
            let Some((first, end)) = self.block(told) else { continue };
            // the distance is bounded by the window
            let block = Block { first: (first - self.cumulative) as u32, end: (end - self.cumulative) as u32 };
            if !acknowledgement.selective.contains(&block) {
                acknowledgement.selective[blocks as usize] = block;
                blocks += 1;
            }
        }
        (acknowledgement, blocks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Content, FiveTuple, FlowId};
    use std::net::Ipv4Addr;

    fn come(receiver: &mut Receiver, sequence: u64) -> bool {
        let segment = Segment { sequence, transmission: sequence };
        let (source, destination) = (Ipv4Addr::LOCALHOST, Ipv4Addr::LOCALHOST);
        let packet = Packet {
            flow: FlowId(0),
            tuple: FiveTuple { source, destination, source_port: 0, destination_port: 0, protocol: 6 },
            octets: 1452,
            ecn: Ecn::NotEct,
            dscp: 0,
            number: 0,
            sent: Time::START,
            entered: Time::START,
            content: Content::Segment(segment),
        };
        receiver.take(Time::from_millis(1), &packet, segment)
    }

    fn blocks(receiver: &mut Receiver) -> Vec<(u32, u32)> {
        let (acknowledgement, blocks) = receiver.acknowledge();
        acknowledgement.selective[..blocks as usize].iter().map(|block| (block.first, block.end)).collect()
    }

    #[test]
    fn the_newest_block_comes_first_and_none_twice() {
        let mut receiver = Receiver::new(40);
        for sequence in [0, 1, 5, 6, 3, 9, 4] {
            assert!(come(&mut receiver, sequence));
        }
        assert!(!come(&mut receiver, 4) && !come(&mut receiver, 0));
        assert_eq!(receiver.above, [(3, 7), (9, 10)]);
        assert_eq!(blocks(&mut receiver), [(1, 5), (7, 8)]);
        for sequence in [11, 13] {
            come(&mut receiver, sequence);
        }
        assert_eq!(blocks(&mut receiver), [(11, 12), (9, 10), (1, 5)]);
        come(&mut receiver, 2);
        assert_eq!(receiver.cumulative, 7);
        assert_eq!(blocks(&mut receiver), [(6, 7), (4, 5)]);
        for sequence in [7, 8, 10, 12] {
            come(&mut receiver, sequence);
        }
        assert_eq!((receiver.cumulative, blocks(&mut receiver)), (14, vec![]));
    }

    #[test]
    fn every_second_segment_is_acknowledged_and_what_is_odd_at_once() {
        let mut receiver = Receiver::new(40);
        come(&mut receiver, 0);
        assert_eq!(receiver.due(), Time::from_millis(41));
        come(&mut receiver, 1);
        assert_eq!(receiver.due(), Time::from_millis(1));
        assert_eq!(receiver.acknowledge().0.cumulative, 2);
        assert_eq!(receiver.due(), Time::NEVER);
        for sequence in [3, 2, 2] {
            come(&mut receiver, sequence);
            assert_eq!(receiver.due(), Time::from_millis(1));
            receiver.acknowledge();
        }
    }
}
