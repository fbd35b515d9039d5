//! Traffic flows between a server behind the core and a UE. A [`Flow`] holds both ends and runs in virtual time; the
//! caller is the RAN between them.
//!
//! [`Flow::downlink`] returns the server's packets that have crossed the core, and [`Flow::deliver_to_ue`] takes those
//! that the RAN has delivered. [`Flow::uplink`] returns the UE's packets, including acknowledgements, and
//! [`Flow::deliver_to_core`] takes those that leave the RAN. [`Flow::next_event`] returns when to call next.

mod application;
mod counts;
mod dialogue;
mod durations;
mod end;
mod path;
mod source;
mod specification;
mod tcp;
#[cfg(test)]
mod tests;
mod users;

pub use counts::{DirectionCounts, FlowCounts, Samples};
pub use durations::Durations;
pub use specification::{
    CongestionControl, Direction, FlowSpecification, Kind, OnOffVideo, OutOfRange, SlowStart, Tcp,
};
pub use tcp::TcpState;
pub use users::{UserMix, VideoPlayer, Web};

use self::application::Application;
use self::end::{End, Ends};
use self::path::{Path, Side};
use crate::{Content, FiveTuple, FlowId, Packet, Random, Time};

/// A traffic flow with its two ends.
#[derive(Clone, Debug)]
pub struct Flow {
    specification: FlowSpecification,
    path: Path,
    ends: Ends,
    application: Application,
    next_event: Time,
}

impl Flow {
    /// Creates a flow. `tuple` is the 5-tuple of its downlink packets, `random` its source of randomness.
    ///
    /// # Panics
    ///
    /// If [`FlowSpecification::check`] rejects the specification.
    #[must_use]
    pub fn new(id: FlowId, specification: FlowSpecification, tuple: FiveTuple, mut random: Random) -> Self {
        if let Err(error) = specification.check() {
            panic!("{error}");
        }
        let path = Path::new(id, &specification, tuple);
        let server = End::new(Side::Server, &specification, &mut random);
        let ue = End::new(Side::Ue, &specification, &mut random);
        let application = Application::new(&specification, Random::new(random.next_u64(), 0));
        let ends = Ends { server, ue };
        let mut flow = Flow { specification, path, ends, application, next_event: Time::NEVER };
        flow.update_next_event();
        flow
    }

    /// The specification of the flow.
    #[must_use]
    pub fn specification(&self) -> &FlowSpecification {
        &self.specification
    }

    /// When the flow next has packets to fetch or work to do; [`Time::NEVER`] if only a received packet can cause any.
    #[must_use]
    #[inline]
    pub fn next_event(&self) -> Time {
        self.next_event
    }

    /// Appends the packets that have reached the base station from the core until `now`. A packet's `entered` is the time of
    /// its arrival.
    pub fn downlink(&mut self, now: Time, out: &mut Vec<Packet>) {
        if now < self.next_event {
            return;
        }
        self.advance(now);
        self.path.take_downlink(now, out);
        self.update_next_event();
    }

    /// Appends the packets that the UE's end has handed to its modem until `now`.
    pub fn uplink(&mut self, now: Time, out: &mut Vec<Packet>) {
        if now < self.next_event {
            return;
        }
        self.advance(now);
        self.path.take_uplink(out);
        self.update_next_event();
    }

    /// Takes a downlink packet that the RAN has delivered to the UE.
    pub fn deliver_to_ue(&mut self, now: Time, packet: &Packet) {
        self.advance(now);
        self.arrive(Side::Ue, now, packet);
        self.update_next_event();
    }

    /// Takes an uplink packet that leaves the base station for the core.
    pub fn deliver_to_core(&mut self, now: Time, packet: &Packet) {
        self.path.leave_ran(now, packet);
        self.update_next_event();
    }

    /// Stops both ends. Packets in flight may still arrive; no more are sent.
    pub fn stop(&mut self, now: Time) {
        self.advance(now);
        self.stop_ends();
        self.update_next_event();
    }

    /// The counters of packets sent and received so far.
    #[must_use]
    pub fn counts(&self) -> &FlowCounts {
        &self.path.counts
    }

    /// Packets that were sent and are not in the RAN: in the downlink between server and base station, in the uplink in the
    /// UE's modem or between base station and server.
    #[must_use]
    pub fn packets_outside_ran(&self) -> [usize; 2] {
        self.path.packets_outside_ran()
    }

    /// The state of the TCP sender of a direction, if there is one and it has sent a segment.
    #[must_use]
    pub fn tcp(&self, direction: Direction) -> Option<TcpState> {
        match direction {
            Direction::Down => self.ends.server.tcp_state(),
            Direction::Up => self.ends.ue.tcp_state(),
            Direction::Both => None,
        }
        .filter(|state| state.sent_segments > 0)
    }

    /// Processes all events until `now` in order of time. At equal times the server goes first.
    fn advance(&mut self, now: Time) {
        loop {
            let arrival = self.path.next_arrival();
            let server = arrival.min(self.ends.server.due());
            let application = self.application.due();
            let at = server.min(self.ends.ue.due()).min(application).min(self.specification.stop);
            if at > now || at == Time::NEVER {
                return;
            }
            if at == self.specification.stop {
                self.stop_ends();
            } else if at == application {
                self.application.act(at, &mut self.ends, &mut self.path);
            } else if at == arrival {
                let packet = self.path.pop_arrival();
                self.arrive(Side::Server, at, &packet);
            } else if at == server {
                self.ends.server.act(at, &mut self.path);
            } else {
                self.ends.ue.act(at, &mut self.path);
            }
        }
    }

    fn stop_ends(&mut self) {
        self.specification.stop = Time::NEVER;
        self.application = Application::None;
        self.ends.server.stop();
        self.ends.ue.stop();
    }

    /// Delivers a packet to an end.
    fn arrive(&mut self, side: Side, now: Time, packet: &Packet) {
        self.path.count_received(side, now, packet);
        let end = self.ends.of(side);
        match &packet.content {
            Content::Filler => end.on_request(now, packet, &mut self.path),
            Content::Syn { syn_sent } => end.on_syn(now, packet, *syn_sent, &mut self.path),
            Content::Segment(segment) => {
                end.on_segment(now, packet, *segment, &mut self.path);
                self.application.on_segment(side, now, &mut self.ends, &mut self.path);
            }
            Content::Acknowledgement(ack) => end.on_acknowledgement(now, ack, &mut self.path),
            Content::Live(_) => panic!("a simulated flow received a live packet"),
        }
    }

    /// Recomputes when the next event is due.
    fn update_next_event(&mut self) {
        let ends = self.ends.server.due().min(self.ends.ue.due()).min(self.application.due());
        self.next_event = ends.min(self.path.next_event()).min(self.specification.stop);
    }
}

/// Returns `time` plus `duration_ns`, saturating.
#[inline]
fn after(time: Time, duration_ns: u64) -> Time {
    Time::from_nanos(time.as_nanos().saturating_add(duration_ns))
}

/// The transmission time of some octets at a rate.
fn transmission_ns(octets: u32, rate_bps: u64) -> u64 {
    u64::from(octets) * 8_000_000_000 / rate_bps
}
