//! Flows: a server beyond the core, a UE, and what they send each other. Both ends are one value, driven in virtual
//! time; the RAN between them is the caller.
//!
//! What the server sends comes out of [`Flow::downlink`] when it has crossed the core; what the RAN has delivered goes
//! into [`Flow::reached_ue`]; what the UE sends, acknowledgements among it, comes out of [`Flow::uplink`]; and what has
//! crossed the RAN that way goes into [`Flow::left_ran`]. [`Flow::next_event`] says when there is something to fetch.

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

/// A flow, both its ends.
#[derive(Clone, Debug)]
pub struct Flow {
    specification: FlowSpecification,
    path: Path,
    ends: Ends,
    application: Application,
    next_event: Time,
}

impl Flow {
    /// A flow. `tuple` is that of the downlink; `random` is its chance.
    ///
    /// # Panics
    ///
    /// Where [`FlowSpecification::check`] refuses the specification.
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
        flow.settle();
        flow
    }

    /// What it is.
    #[must_use]
    pub fn specification(&self) -> &FlowSpecification {
        &self.specification
    }

    /// When there is something to fetch or to do; [`Time::NEVER`] where nothing is unless something comes.
    #[must_use]
    #[inline]
    pub fn next_event(&self) -> Time {
        self.next_event
    }

    /// Appends what reaches the base station from the core by now. A packet's `entered` says when it did.
    pub fn downlink(&mut self, now: Time, out: &mut Vec<Packet>) {
        if now < self.next_event {
            return;
        }
        self.advance(now);
        self.path.take_downlink(now, out);
        self.settle();
    }

    /// Appends what the UE's end hands to its modem by now.
    pub fn uplink(&mut self, now: Time, out: &mut Vec<Packet>) {
        if now < self.next_event {
            return;
        }
        self.advance(now);
        self.path.take_uplink(out);
        self.settle();
    }

    /// The RAN has delivered a packet of the downlink.
    pub fn reached_ue(&mut self, now: Time, packet: &Packet) {
        self.advance(now);
        self.arrive(Side::Ue, now, packet);
        self.settle();
    }

    /// A packet of the uplink leaves the base station for the core.
    pub fn left_ran(&mut self, now: Time, packet: &Packet) {
        self.path.leave_ran(now, packet);
        self.settle();
    }

    /// Both ends end: what is on the way may still arrive, and nothing more is sent.
    pub fn stop(&mut self, now: Time) {
        self.advance(now);
        self.end();
        self.settle();
    }

    /// What was sent and received so far.
    #[must_use]
    pub fn counts(&self) -> &FlowCounts {
        &self.path.counts
    }

    /// What the TCP sender of a direction is at, if there is one and it has sent something.
    #[must_use]
    pub fn tcp(&self, direction: Direction) -> Option<TcpState> {
        match direction {
            Direction::Down => self.ends.server.tcp_state(),
            Direction::Up => self.ends.ue.tcp_state(),
            Direction::Both => None,
        }
        .filter(|state| state.sent_segments > 0)
    }

    /// Does what is due until then, in order. The server goes first where both have something to do.
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
                self.end();
            } else if at == application {
                self.application.act(at, &mut self.ends, &mut self.path);
            } else if at == arrival {
                let packet = self.path.arrived();
                self.arrive(Side::Server, at, &packet);
            } else if at == server {
                self.ends.server.act(at, &mut self.path);
            } else {
                self.ends.ue.act(at, &mut self.path);
            }
        }
    }

    fn end(&mut self) {
        self.specification.stop = Time::NEVER;
        self.application = Application::None;
        self.ends.server.stop();
        self.ends.ue.stop();
    }

    /// A packet comes to an end.
    fn arrive(&mut self, side: Side, now: Time, packet: &Packet) {
        self.path.count(side, now, packet);
        let end = self.ends.of(side);
        match &packet.content {
            Content::Filler => end.request(now, packet, &mut self.path),
            Content::Synchronize { answers } => end.synchronize(now, packet, *answers, &mut self.path),
            Content::Segment(segment) => {
                end.segment(now, packet, *segment, &mut self.path);
                self.application.arrived(side, now, &mut self.ends, &mut self.path);
            }
            Content::Acknowledgement(told) => end.acknowledgement(now, told, &mut self.path),
            Content::Live(_) => panic!("a flow of the model sends no live packets"),
        }
    }

    fn settle(&mut self) {
        let ends = self.ends.server.due().min(self.ends.ue.due()).min(self.application.due());
        self.next_event = ends.min(self.path.next_event()).min(self.specification.stop);
    }
}

/// So many nanoseconds later.
#[inline]
fn after(time: Time, nanos: u64) -> Time {
    Time::from_nanos(time.as_nanos().saturating_add(nanos))
}

/// How long so many octets take at that rate.
fn transmission_ns(octets: u32, rate_bps: u64) -> u64 {
    u64::from(octets) * 8_000_000_000 / rate_bps
}
