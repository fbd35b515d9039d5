//! A UE: its channel, its bearers, its flows, and what its cell's MAC knows of it.

mod activity;
mod bearer;
mod link;
mod outer_loop;
mod sublayers;

use std::net::Ipv4Addr;
use std::time::Duration;

use crate::cell::CellConfig;
use crate::phy::{Adaptation, Channel, Direction};
use crate::tc;
use crate::traffic::Flow;
use crate::{FlowId, Packet, Random, Time};

pub(crate) use activity::Activity;
pub use activity::INACTIVITY;
pub use bearer::Bearer;
pub use link::{LinkCounts, RadioLink};
pub use outer_loop::OuterLoop;

/// Data radio bearers of a UE: their numbers are 1 to 32 (TS 38.331 DRB-Identity).
const MAX_BEARERS: usize = 32;
/// How often the channel is reported.
const REPORT: Duration = Duration::from_millis(5);

/// A network and a slice that a UE has chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Subscription {
    /// Mobile country code.
    pub mcc: u16,
    /// Mobile network code.
    pub mnc: u16,
    /// Whether the network code has three digits.
    pub has_long_mnc: bool,
    /// Slice/service type.
    pub sst: u8,
    /// Slice differentiator.
    pub sd: Option<[u8; 3]>,
    /// The 5QI of its default bearer (TS 23.501 5.7.4), or QCI.
    pub five_qi: u8,
}

/// What a base station knows of a UE that wants to send.
///
/// A UE with data is never silent for good: it may ask unless something is known, granted or asked already
/// ([`Ue::asks`]). What is known is granted once a slot has room, each grant is carried out in its slot, and a request
/// arrives a slot later; and a grant that is carried out may ask for more or leaves nothing known.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Requests {
    /// Octets that the UE has told of, without what it was granted.
    pub known_octets: u32,
    /// Grants that are not carried out yet.
    pub grants: u32,
    /// Octets that were granted for new blocks since it came to its cell.
    pub granted_octets: u64,
    /// Those of them that it had used for blocks when the newest report that was understood was written.
    pub used_octets: u64,
    /// A scheduling request is under way.
    pub is_asking: bool,
    /// Its first slot in the cell: it may send one in the uplink's first slot from then on.
    pub first_slot: u64,
}

impl Requests {
    /// A report was understood: what the UE had left when it had used so much of its grants. Later grants are for that. One
    /// that comes after a newer one, since its block was sent again, says nothing.
    pub fn reported(&mut self, buffer_octets: u32, used_octets: u64) {
        if used_octets >= self.used_octets {
            self.used_octets = used_octets;
            self.known_octets = u64::from(buffer_octets).saturating_sub(self.granted_octets - used_octets) as u32;
        }
    }
}

/// The first of a UE's occasions for scheduling requests after a slot: they are a period apart, and UEs' are spread.
fn next_occasion(slot: u64, number: u64, period_slots: u64) -> u64 {
    let offset = number % period_slots;
    ((slot + offset) / period_slots + 1) * period_slots - offset
}

/// Discontinuous reception (TS 38.321 5.7): a UE that has been sent all there was sleeps until its cycle begins anew. It
/// listens in the first slot of the downlink from then on.
#[derive(Clone, Copy, Debug)]
struct Drx {
    cycle_nanos: u64,
    /// The number of the cycle in which it listened last.
    cycle: u64,
    is_awake: bool,
}

/// A UE.
#[derive(Debug)]
pub struct Ue {
    pub(crate) number: u64,
    pub(crate) random: Random,
    pub(crate) subscription: Subscription,
    pub(crate) address: Ipv4Addr,
    leaves_at: Time,
    pub(crate) channel: Channel,
    pub(crate) down: RadioLink,
    pub(crate) up: RadioLink,
    pub(crate) bearers: Vec<Bearer>,
    flows: Vec<Flow>,
    /// The place of the bearer that each flow goes over.
    flow_bearers: Vec<u8>,
    /// The same of packets of live interfaces.
    live_bearer: u8,
    next_flow: Time,
    pub(crate) requests: Requests,
    next_report: Time,
    drx: Option<Drx>,
    pub(crate) activity: Activity,
    /// Memory that is used again.
    packets: Vec<Packet>,
    /// Packets of live interfaces that are to go out: at the UE, and at the core.
    pub(crate) live_at_ue: Vec<Packet>,
    pub(crate) live_at_core: Vec<Packet>,
}

impl Ue {
    /// A UE with one bearer, whose number is 1.
    #[must_use]
    pub fn new(
        number: u64,
        subscription: Subscription,
        address: Ipv4Addr,
        channel: Channel,
        random: Random,
        config: &CellConfig,
    ) -> Self {
        Ue {
            number,
            random,
            subscription,
            address,
            leaves_at: Time::NEVER,
            channel,
            down: RadioLink::new(&config.harq),
            up: RadioLink::new(&config.harq),
            bearers: vec![Bearer::new(1, &config.tc, config.rlc)],
            flows: Vec::new(),
            flow_bearers: Vec::new(),
            live_bearer: 0,
            next_flow: Time::NEVER,
            requests: Requests::default(),
            next_report: Time::START,
            drx: None,
            activity: Activity::new(Time::START),
            packets: Vec::new(),
            live_at_ue: Vec::new(),
            live_at_core: Vec::new(),
        }
    }

    /// Its number in the network.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// What it has chosen.
    #[must_use]
    pub fn subscription(&self) -> &Subscription {
        &self.subscription
    }

    /// Its address.
    #[must_use]
    pub fn address(&self) -> Ipv4Addr {
        self.address
    }

    /// When it leaves the network for good.
    pub(crate) fn leaves_at(&self) -> Time {
        self.leaves_at
    }

    pub(crate) fn set_leaves_at(&mut self, leaves_at: Time) {
        self.leaves_at = leaves_at;
    }

    /// It is to be served by another cell.
    pub(crate) fn serve(&mut self, cell: usize) {
        // who knows one cell only hears the next one as well
        if let Some(geometry) = self.channel.geometry_mut().filter(|geometry| cell < geometry.sites().len()) {
            geometry.set_serving(cell);
        }
    }

    /// Its channel.
    #[must_use]
    pub fn channel(&self) -> &Channel {
        &self.channel
    }

    /// Another channel from now on.
    pub fn set_channel(&mut self, channel: Channel) {
        self.channel = channel;
    }

    /// The downlink, as MAC has it.
    #[must_use]
    pub fn downlink(&self) -> &RadioLink {
        &self.down
    }

    /// The uplink, as MAC has it.
    #[must_use]
    pub fn uplink(&self) -> &RadioLink {
        &self.up
    }

    /// Octets of which the base station knows that the UE wants to send them: the buffer status report, without what was
    /// granted since.
    #[must_use]
    pub fn buffer_status_octets(&self) -> u32 {
        self.requests.known_octets
    }

    /// Whether it had nothing to send or to receive for [`INACTIVITY`], as far as its cell has looked.
    #[must_use]
    pub fn is_inactive(&self, now: Time) -> bool {
        self.activity.is_inactive(now)
    }

    /// Its bearers.
    #[must_use]
    pub fn bearers(&self) -> &[Bearer] {
        &self.bearers
    }

    /// Its flows.
    #[must_use]
    pub fn flows(&self) -> &[Flow] {
        &self.flows
    }

    /// A flow more, over the first bearer.
    pub fn add_flow(&mut self, make: impl FnOnce(FlowId, Random) -> Flow) -> FlowId {
        let id = FlowId(self.flows.len() as u32);
        let flow = make(id, Random::new(self.random.next_u64(), 0));
        self.next_flow = self.next_flow.min(flow.next_event());
        self.flows.push(flow);
        self.flow_bearers.push(0);
        id
    }

    /// A flow ends.
    pub fn stop_flow(&mut self, now: Time, flow: FlowId) {
        if let Some(flow) = self.flows.get_mut(flow.0 as usize) {
            flow.stop(now);
        }
    }

    /// Has it listen once in so many nanoseconds while nothing comes; `None`: always.
    pub fn set_drx(&mut self, cycle_nanos: Option<u64>) {
        self.drx =
            cycle_nanos.filter(|nanos| *nanos > 0).map(|cycle_nanos| Drx { cycle_nanos, cycle: 0, is_awake: true });
    }

    /// Has all its flows and live packets go over the bearer of that number, 1 to 32, which is made where it is not there.
    pub fn move_flows(&mut self, bearer: u8) {
        assert!((1..=MAX_BEARERS).contains(&usize::from(bearer)), "no bearer has number {bearer}");
        let at = self.bearers.iter().position(|there| there.id == bearer).unwrap_or_else(|| {
            let first = &self.bearers[0];
            let made = Bearer::new(bearer, first.tc.configuration(), *first.down.config());
            self.bearers.push(made);
            self.bearers.len() - 1
        });
        self.flow_bearers.fill(at as u8);
        self.live_bearer = at as u8;
    }

    /// What an octet of the bearer of that number is worth to the scheduler, of others' octets.
    pub fn set_preference(&mut self, bearer: u8, preference: f32) {
        for there in self.bearers.iter_mut().filter(|there| there.id == bearer) {
            there.preference = preference;
        }
    }

    pub(crate) fn link_mut(&mut self, direction: Direction) -> &mut RadioLink {
        match direction {
            Direction::Downlink => &mut self.down,
            Direction::Uplink => &mut self.up,
        }
    }

    /// It has come to a cell whose next slot is that one.
    pub(crate) fn arrived(&mut self, slot: u64, now: Time, tables: &[Adaptation; 2], tc: &tc::Configuration) {
        for link in [&mut self.down, &mut self.up] {
            link.arrived(slot);
        }
        for bearer in &mut self.bearers {
            bearer.down.reset_counts();
            bearer.up.reset_counts();
            // where its packets do not fit into this cell's queues, it keeps those of the other one
            let _ = bearer.tc.configure(now, tc);
            bearer.tc.reset_counts();
        }
        self.requests = Requests { first_slot: slot, ..Requests::default() };
        self.activity = Activity::new(now);
        self.next_report = now;
        self.report(now, tables);
    }

    /// It leaves its cell: what is under way there is sent anew, or lost.
    pub(crate) fn leaves(&mut self, now: Time) {
        for at in 0..self.bearers.len() {
            self.bearers[at].down.reestablish(&mut self.packets);
            self.reached(now);
            self.bearers[at].up.reestablish(&mut self.packets);
            self.left(now);
        }
    }

    /// The channel goes on, and the scheduler hears of it: of what it was at the report before.
    fn report(&mut self, now: Time, tables: &[Adaptation; 2]) {
        self.next_report = now + REPORT;
        self.activity.look(now, self.down.counts.active_slots + self.up.counts.active_slots);
        self.channel.update(now, &mut self.random);
        let powers = [self.channel.rsrp_dbm(), self.channel.uplink_rsrp_dbm()];
        let links = [(&mut self.down, Direction::Downlink), (&mut self.up, Direction::Uplink)];
        for (((link, direction), adaptation), rsrp_dbm) in links.into_iter().zip(tables).zip(powers) {
            let air = self.channel.link(direction);
            let told = if link.counts.reports == 0 { air } else { link.air };
            link.told(told, adaptation);
            link.counts.reports += 1;
            link.counts.cqi += u64::from(link.cqi);
            link.counts.cqis[usize::from(link.cqi & 15)] += 1;
            link.counts.sinr_db += air.sinr_db;
            link.counts.rsrp_dbm += rsrp_dbm;
            link.air = air;
        }
    }

    /// Until when there is nothing to do for it in any slot, unless something happens to it. Who has something to send, or may
    /// have at any time, is never idle.
    pub(crate) fn idle_until(&self) -> Time {
        let Requests { known_octets, grants, is_asking, .. } = self.requests;
        let is_again = [&self.down, &self.up].iter().any(|link| link.harq.first_again().is_some());
        // the slots in which a sleeper listens are counted
        if known_octets > 0 || is_again || self.drx.is_some() {
            return Time::START;
        }
        let may_ask = grants == 0 && !is_asking;
        let mut until = self.next_report.min(self.next_flow);
        for bearer in &self.bearers {
            if !bearer.tc.is_empty() || !bearer.down.is_empty() || (may_ask && !bearer.up.is_empty()) {
                return Time::START;
            }
            until = until.min(bearer.down.next_timer()).min(bearer.up.next_timer());
        }
        until
    }

    /// Whether it sends a scheduling request in a slot of the uplink: there is something to send, nothing granted to tell it
    /// in, and an occasion has come since the uplink's slot before.
    pub(crate) fn asks(&mut self, now: Time, slot: u64, slot_before: Option<u64>, period_slots: u64) -> bool {
        let Requests { known_octets, grants, is_asking, first_slot, .. } = self.requests;
        if known_octets > 0 || grants > 0 || is_asking || self.uplink_demand(now) == 0 {
            return false;
        }
        let before = slot_before.filter(|before| *before >= first_slot);
        if before.is_some_and(|before| next_occasion(before, self.number, period_slots) > slot) {
            return false;
        }
        self.requests.is_asking = true;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn occasions_are_a_period_apart_whoever_it_is() {
        for (number, period) in [(0, 1), (7, 1), (3, 20), (100, 20), (4095, 20), (999_999, 640)] {
            let mut slot = 0;
            for _ in 0..5 {
                let next = next_occasion(slot, number, period);
                assert!(next > slot && next <= slot + period, "UE {number}: {next} after {slot}");
                assert_eq!(next_occasion(next, number, period), next + period);
                slot = next;
            }
        }
    }

    #[test]
    fn a_report_counts_for_what_was_not_granted_since() {
        let mut requests = Requests { granted_octets: 1000, ..Requests::default() };
        // 600 were used when it was written
        requests.reported(900, 600);
        assert_eq!(requests.known_octets, 500);
        // an older one comes late
        requests.reported(100, 300);
        assert_eq!(requests.known_octets, 500);
        requests.reported(100, 1000);
        assert_eq!(requests.known_octets, 100);
    }
}
