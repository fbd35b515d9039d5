//! The path between the ends of a flow outside the RAN: the core, and the UE's modem queue.

use std::collections::VecDeque;

use super::after;
use super::counts::{FlowCounts, Samples};
use super::specification::{Direction, FlowSpecification};
use crate::fifo::pop_front;
use crate::{Content, Ecn, FiveTuple, FlowId, Packet, Time};

/// An end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Server,
    Ue,
}

impl Side {
    pub fn other(self) -> Self {
        match self {
            Side::Server => Side::Ue,
            Side::Ue => Side::Server,
        }
    }

    /// Whether this end sends the data of a flow in this direction.
    pub fn sends(self, direction: Direction) -> bool {
        match self {
            Side::Server => direction != Direction::Up,
            Side::Ue => direction != Direction::Down,
        }
    }
}

/// The packets between the ends and the RAN, and the counters. The queues are bounded by what the ends send within the
/// core's delay and between two calls of the RAN.
#[derive(Clone, Debug)]
pub struct Path {
    id: FlowId,
    dscp: u8,
    downlink: FiveTuple,
    uplink: FiveTuple,
    core_delay_ns: u64,
    /// Packets in flight to the base station; `entered` is their arrival time.
    to_ran: VecDeque<Packet>,
    /// Packets in flight to the server; `entered` is their arrival time.
    from_ran: VecDeque<Packet>,
    /// Packets that the UE has handed to its modem.
    modem: VecDeque<Packet>,
    pub counts: FlowCounts,
}

impl Path {
    pub fn new(id: FlowId, specification: &FlowSpecification, tuple: FiveTuple) -> Self {
        Path {
            id,
            dscp: specification.dscp,
            downlink: tuple,
            uplink: tuple.reversed(),
            core_delay_ns: (specification.one_way_delay_ms * 1e6) as u64,
            to_ran: VecDeque::new(),
            from_ran: VecDeque::new(),
            modem: VecDeque::new(),
            counts: FlowCounts { rtt_samples: Samples::new(specification.rtt_samples), ..FlowCounts::default() },
        }
    }

    /// Sends a packet from an end.
    pub fn send(&mut self, side: Side, now: Time, octets: u32, ecn: Ecn, content: Content) {
        let (tuple, counts) = match side {
            Side::Server => (self.downlink, &mut self.counts.downlink),
            Side::Ue => (self.uplink, &mut self.counts.uplink),
        };
        let number = counts.sent_packets;
        counts.sent(octets);
        let entered = if side == Side::Server { after(now, self.core_delay_ns) } else { now };
        let (flow, dscp) = (self.id, self.dscp);
        let packet = Packet { flow, tuple, octets, ecn, dscp, number, sent: now, entered, content };
        match side {
            Side::Server => self.to_ran.push_back(packet),
            Side::Ue => self.modem.push_back(packet),
        }
    }

    /// Takes a packet that leaves the base station for the core.
    pub fn leave_ran(&mut self, now: Time, packet: &Packet) {
        let entered = after(now, self.core_delay_ns);
        self.from_ran.push_back(Packet { entered, ..packet.clone() });
    }

    /// When the next packet arrives at the server.
    pub fn next_arrival(&self) -> Time {
        self.from_ran.front().map_or(Time::NEVER, |packet| packet.entered)
    }

    /// Removes and returns the packet that has arrived at the server.
    pub fn pop_arrival(&mut self) -> Packet {
        pop_front(&mut self.from_ran).expect("a packet has arrived")
    }

    /// Packets on the way to the base station, and those in the modem or on the way to the server.
    pub fn packets_outside_ran(&self) -> [usize; 2] {
        [self.to_ran.len(), self.modem.len() + self.from_ran.len()]
    }

    pub fn take_downlink(&mut self, now: Time, out: &mut Vec<Packet>) {
        while self.to_ran.front().is_some_and(|packet| packet.entered <= now) {
            out.extend(pop_front(&mut self.to_ran));
        }
    }

    pub fn take_uplink(&mut self, out: &mut Vec<Packet>) {
        out.extend(self.modem.drain(..));
    }

    /// Counts a packet that has arrived at an end.
    pub fn count_received(&mut self, side: Side, now: Time, packet: &Packet) {
        let counts = match side {
            Side::Server => &mut self.counts.uplink,
            Side::Ue => &mut self.counts.downlink,
        };
        counts.marked_packets += u64::from(packet.ecn == Ecn::Ce);
        counts.received(packet.number, packet.octets, now.as_nanos().saturating_sub(packet.sent.as_nanos()));
    }

    /// Counts a segment that had arrived before.
    pub fn count_duplicate(&mut self, side: Side) {
        match side {
            Side::Server => self.counts.uplink.duplicate_packets += 1,
            Side::Ue => self.counts.downlink.duplicate_packets += 1,
        }
    }

    /// Records a round-trip time.
    pub fn count_rtt(&mut self, now: Time, rtt_ns: u64) {
        self.counts.rtt.record_ns(rtt_ns);
        self.counts.rtt_samples.record_ns(now, rtt_ns);
    }

    /// Records the completion of a transfer, page or video segment that was started at `start`.
    pub fn count_completed(&mut self, now: Time, start: Time) {
        self.counts.completed.record_ns(now.as_nanos().saturating_sub(start.as_nanos()));
    }

    /// When the next packet can be fetched or arrives at the server.
    pub fn next_event(&self) -> Time {
        let to_ran = self.to_ran.front().map_or(Time::NEVER, |packet| packet.entered);
        let modem = self.modem.front().map_or(Time::NEVER, |packet| packet.entered);
        to_ran.min(modem).min(self.next_arrival())
    }
}
