//! A TCP receiver: reassembly and acknowledgements.

use crate::traffic::after;
use crate::{Acknowledgement, Ecn, Packet, SackBlock, Segment, Time};

/// Delayed acknowledgements cover this number of segments (RFC 9293 3.8.6.3).
const SEGMENTS_PER_ACKNOWLEDGEMENT: u32 = 2;

/// The receiving end of a connection.
#[derive(Clone, Debug)]
pub struct Receiver {
    /// All segments below this number have been received.
    cumulative: u64,
    /// The ranges of segments received out of order, as first and end (exclusive), sorted. Bounded by the sender's window.
    out_of_order: Vec<(u64, u64)>,
    /// A segment of each block that is reported next, the most recent one first.
    reported: [u64; Acknowledgement::BLOCKS],
    marked: u64,
    newest: u64,
    newest_sent: Time,
    newest_is_duplicate: bool,
    /// Segments received since the last acknowledgement.
    unacknowledged: u32,
    /// When the next acknowledgement is due.
    due: Time,
    delay_ns: u64,
}

impl Receiver {
    pub fn new(delayed_ack_ms: u64) -> Self {
        Receiver {
            cumulative: 0,
            out_of_order: Vec::new(),
            reported: [0; Acknowledgement::BLOCKS],
            marked: 0,
            newest: 0,
            newest_sent: Time::START,
            newest_is_duplicate: false,
            unacknowledged: 0,
            due: Time::NEVER,
            delay_ns: delayed_ack_ms * 1_000_000,
        }
    }

    /// When the next acknowledgement is due.
    pub fn due(&self) -> Time {
        self.due
    }

    /// All segments below this number have been received.
    pub fn cumulative(&self) -> u64 {
        self.cumulative
    }

    /// Receives a segment. Returns whether it is new.
    pub fn receive(&mut self, now: Time, packet: &Packet, segment: Segment) -> bool {
        self.newest = segment.transmission;
        self.newest_sent = packet.sent;
        self.marked += u64::from(packet.ecn == Ecn::Ce);
        self.unacknowledged += 1;
        let is_in_order = self.out_of_order.is_empty() && segment.sequence == self.cumulative;
        let is_new = self.insert(segment.sequence);
        self.newest_is_duplicate = !is_new;
        // a segment that is out of order or fills a gap is acknowledged at once (RFC 5681 4.2)
        let is_immediate = !is_in_order || self.unacknowledged >= SEGMENTS_PER_ACKNOWLEDGEMENT;
        self.due = if is_immediate { now } else { self.due.min(after(now, self.delay_ns)) };
        is_new
    }

    fn insert(&mut self, sequence: u64) -> bool {
        if sequence < self.cumulative {
            return false;
        }
        if sequence == self.cumulative {
            self.cumulative += 1;
            if self.out_of_order.first().is_some_and(|(first, _)| *first == self.cumulative) {
                self.cumulative = self.out_of_order.remove(0).1;
            }
            return true;
        }
        // the first range that ends after the segment
        let at = match self.out_of_order.last_mut() {
            Some((_, end)) if *end == sequence => {
                *end += 1;
                self.report_first(sequence);
                return true;
            }
            Some((_, end)) if *end < sequence => self.out_of_order.len(),
            _ => self.out_of_order.partition_point(|(_, end)| *end <= sequence),
        };
        if self.out_of_order.get(at).is_some_and(|(first, _)| *first <= sequence) {
            self.report_first(sequence);
            return false;
        }
        let joins_next = self.out_of_order.get(at).is_some_and(|(first, _)| *first == sequence + 1);
        let joins_last = at > 0 && self.out_of_order[at - 1].1 == sequence;
        match (joins_last, joins_next) {
            (true, true) => self.out_of_order[at - 1].1 = self.out_of_order.remove(at).1,
            (true, false) => self.out_of_order[at - 1].1 += 1,
            (false, true) => self.out_of_order[at].0 = sequence,
            (false, false) => self.out_of_order.insert(at, (sequence, sequence + 1)),
        }
        self.report_first(sequence);
        true
    }

    /// Makes the block that contains a segment the first one of the next acknowledgement (RFC 2018 4).
    fn report_first(&mut self, sequence: u64) {
        let block = self.block(sequence);
        let is_other = |sequence: u64| self.block(sequence).is_some_and(|other| Some(other) != block);
        let mut reported = [0; Acknowledgement::BLOCKS];
        reported[0] = sequence;
        let others = self.reported.into_iter().filter(|sequence| is_other(*sequence));
        reported[1..].iter_mut().zip(others).for_each(|(slot, other)| *slot = other);
        self.reported = reported;
    }

    /// The range of received segments around a segment; `None` if it is missing or below the first gap.
    fn block(&self, sequence: u64) -> Option<(u64, u64)> {
        let last = self.out_of_order.last().copied().filter(|(first, _)| *first <= sequence);
        let found = last
            .or_else(|| self.out_of_order.get(self.out_of_order.partition_point(|(_, end)| *end <= sequence)).copied());
        found.filter(|(first, end)| (*first..*end).contains(&sequence))
    }

    /// Creates the acknowledgement that is due. Returns also the number of its SACK blocks.
    pub fn acknowledge(&mut self) -> (Acknowledgement, u32) {
        self.unacknowledged = 0;
        self.due = Time::NEVER;
        let mut acknowledgement = Acknowledgement {
            cumulative: self.cumulative,
            newest: self.newest,
            newest_sent: self.newest_sent,
            newest_is_duplicate: self.newest_is_duplicate,
            selective: [SackBlock::default(); Acknowledgement::BLOCKS],
            marked: self.marked,
        };
        if self.out_of_order.is_empty() {
            return (acknowledgement, 0);
        }
        let mut blocks = 0;
        for sequence in self.reported {
            let Some((first, end)) = self.block(sequence) else { continue };
            // the distance is bounded by the window
            let block = SackBlock { first: (first - self.cumulative) as u32, end: (end - self.cumulative) as u32 };
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

    fn receive(receiver: &mut Receiver, sequence: u64) -> bool {
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
        receiver.receive(Time::from_millis(1), &packet, segment)
    }

    fn blocks(receiver: &mut Receiver) -> Vec<(u32, u32)> {
        let (acknowledgement, blocks) = receiver.acknowledge();
        acknowledgement.selective[..blocks as usize].iter().map(|block| (block.first, block.end)).collect()
    }

    #[test]
    fn newest_block_is_first_and_blocks_are_distinct() {
        let mut receiver = Receiver::new(40);
        for sequence in [0, 1, 5, 6, 3, 9, 4] {
            assert!(receive(&mut receiver, sequence));
        }
        assert!(!receive(&mut receiver, 4) && !receive(&mut receiver, 0));
        assert_eq!(receiver.out_of_order, [(3, 7), (9, 10)]);
        assert_eq!(blocks(&mut receiver), [(1, 5), (7, 8)]);
        for sequence in [11, 13] {
            receive(&mut receiver, sequence);
        }
        assert_eq!(blocks(&mut receiver), [(11, 12), (9, 10), (1, 5)]);
        receive(&mut receiver, 2);
        assert_eq!(receiver.cumulative, 7);
        assert_eq!(blocks(&mut receiver), [(6, 7), (4, 5)]);
        for sequence in [7, 8, 10, 12] {
            receive(&mut receiver, sequence);
        }
        assert_eq!((receiver.cumulative, blocks(&mut receiver)), (14, vec![]));
    }

    #[test]
    fn every_second_segment_is_acknowledged_and_out_of_order_at_once() {
        let mut receiver = Receiver::new(40);
        receive(&mut receiver, 0);
        assert_eq!(receiver.due(), Time::from_millis(41));
        receive(&mut receiver, 1);
        assert_eq!(receiver.due(), Time::from_millis(1));
        assert_eq!(receiver.acknowledge().0.cumulative, 2);
        assert_eq!(receiver.due(), Time::NEVER);
        for sequence in [3, 2, 2] {
            receive(&mut receiver, sequence);
            assert_eq!(receiver.due(), Time::from_millis(1));
            receiver.acknowledge();
        }
    }
}
