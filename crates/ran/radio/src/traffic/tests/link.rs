//! A simulated RAN for tests: a link per direction with a rate, a FIFO buffer and losses, in virtual time.

use std::collections::VecDeque;
use std::net::Ipv4Addr;

use crate::traffic::{Flow, FlowSpecification, Kind, after, transmission_ns};
use crate::{Ecn, FiveTuple, FlowId, Packet, Random, Time};

/// A link of one direction.
pub struct Link {
    /// Bits per second; 0 for no transmission time.
    pub rate_bps: u64,
    pub buffer_octets: u64,
    /// Packets are marked when the buffer holds at least this.
    pub mark_octets: u64,
    /// Packets that enter leave no earlier than this.
    pub blocked_until: Time,
    /// Selects the packets that are lost.
    pub loses: Box<dyn FnMut(&Packet) -> bool>,
    /// Decides whether the departing packet is overtaken by the next one.
    pub is_overtaken: Box<dyn FnMut() -> bool>,
    pub lost: u64,
    pub overflowed: u64,
    pub carried_octets: u64,
    pub max_queued_octets: u64,
    queued_octets: u64,
    queue: VecDeque<(Time, usize, Packet)>,
}

impl Link {
    pub fn new(rate_bps: u64, buffer_octets: u64) -> Self {
        Link {
            rate_bps,
            buffer_octets,
            mark_octets: u64::MAX,
            blocked_until: Time::START,
            loses: Box::new(|_| false),
            is_overtaken: Box::new(|| false),
            lost: 0,
            overflowed: 0,
            carried_octets: 0,
            max_queued_octets: 0,
            queued_octets: 0,
            queue: VecDeque::new(),
        }
    }

    fn enter(&mut self, now: Time, flow: usize, mut packet: Packet) {
        let octets = u64::from(packet.octets);
        if (self.loses)(&packet) {
            self.lost += 1;
        } else if self.queued_octets + octets > self.buffer_octets {
            self.overflowed += 1;
        } else {
            if self.queued_octets >= self.mark_octets && packet.ecn == Ecn::Ect {
                packet.ecn = Ecn::Ce;
            }
            self.queued_octets += octets;
            self.max_queued_octets = self.max_queued_octets.max(self.queued_octets);
            let free = self.queue.back().map_or(now, |(departure, ..)| (*departure).max(now)).max(self.blocked_until);
            let transmission_time_ns =
                if self.rate_bps == 0 { 0 } else { transmission_ns(packet.octets, self.rate_bps) };
            self.queue.push_back((after(free, transmission_time_ns), flow, packet));
        }
    }

    fn next(&self) -> Time {
        self.queue.front().map_or(Time::NEVER, |(departure, ..)| *departure)
    }

    fn leave(&mut self) -> (Time, usize, Packet) {
        let (departure, mut flow, mut packet) = self.queue.pop_front().unwrap();
        if let Some((_, next_flow, next)) = self.queue.front_mut()
            && (self.is_overtaken)()
        {
            std::mem::swap(next_flow, &mut flow);
            std::mem::swap(next, &mut packet);
        }
        self.queued_octets -= u64::from(packet.octets);
        self.carried_octets += u64::from(packet.octets);
        (departure, flow, packet)
    }
}

/// Flows that share a link per direction.
pub struct Network {
    pub flows: Vec<Flow>,
    pub down: Link,
    pub up: Link,
    pub now: Time,
    pub steps: u64,
    buffer: Vec<Packet>,
}

impl Network {
    pub fn new(specifications: impl IntoIterator<Item = FlowSpecification>, down: Link, up: Link) -> Self {
        let flow = |(at, specification)| {
            let at: u32 = at;
            Flow::new(FlowId(at), specification, tuple(), Random::new(7, u64::from(at)))
        };
        let flows = (0..).zip(specifications).map(flow).collect();
        Network { flows, down, up, now: Time::START, steps: 0, buffer: Vec::new() }
    }

    /// One flow over links without losses and transmission times.
    pub fn ideal(specification: FlowSpecification) -> Self {
        Network::new([specification], Link::new(0, u64::MAX), Link::new(0, u64::MAX))
    }

    /// One flow over a downlink with a rate and a buffer, and an ideal uplink.
    pub fn bottleneck(kind: Kind, rate_bps: u64, buffer_octets: u64) -> Self {
        let down = Link::new(rate_bps, buffer_octets);
        Network::new([FlowSpecification::new(kind)], down, Link::new(0, u64::MAX))
    }

    pub fn run_s(&mut self, seconds: f64) {
        self.run(Time::from_secs_f64(seconds), |_| {});
    }

    /// Runs until a time and calls `observe` after each step.
    pub fn run(&mut self, until: Time, mut observe: impl FnMut(&Network)) {
        loop {
            let flows = self.flows.iter().map(Flow::next_event).min().unwrap();
            let next = flows.min(self.down.next()).min(self.up.next());
            if next > until || next == Time::NEVER {
                self.now = until;
                return;
            }
            assert!(next >= self.now, "time runs backwards: {next} after {}", self.now);
            self.now = next;
            self.steps += 1;
            self.step();
            observe(self);
        }
    }

    fn step(&mut self) {
        let now = self.now;
        while self.down.next() <= now {
            let (at, flow, packet) = self.down.leave();
            self.flows[flow].deliver_to_ue(at, &packet);
        }
        while self.up.next() <= now {
            let (at, flow, packet) = self.up.leave();
            self.flows[flow].deliver_to_core(at, &packet);
        }
        for at in 0..self.flows.len() {
            self.flows[at].downlink(now, &mut self.buffer);
            self.buffer.drain(..).for_each(|packet| self.down.enter(now, at, packet));
            self.flows[at].uplink(now, &mut self.buffer);
            self.buffer.drain(..).for_each(|packet| self.up.enter(now, at, packet));
        }
    }
}

pub fn tuple() -> FiveTuple {
    FiveTuple {
        source: Ipv4Addr::new(10, 0, 0, 1),
        destination: Ipv4Addr::new(10, 1, 0, 1),
        source_port: 5201,
        destination_port: 40_000,
        protocol: FiveTuple::TCP,
    }
}
