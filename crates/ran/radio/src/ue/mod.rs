//! A UE: its channel, bearers, flows and MAC state.

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
pub use activity::INACTIVITY_TIMER;
pub use bearer::Bearer;
pub use link::{LinkCounts, RadioLink};
pub use outer_loop::OuterLoop;

/// The maximum number of data radio bearers: DRB-Identity is 1 to 32 (TS 38.331).
const MAX_BEARERS: usize = 32;
/// The period of channel quality reports.
const REPORT: Duration = Duration::from_millis(5);

/// The PLMN, S-NSSAI and QoS class of a UE.
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

/// The uplink state of a UE in its base station: reported data, grants and scheduling requests.
///
/// A UE with data cannot stall. It sends a scheduling request unless data is reported, a grant is outstanding, or a request
/// is in flight ([`Ue::needs_scheduling_request`]). Reported data is granted once a slot has room, each grant is used in its
/// slot, and a request arrives one slot later. A used grant carries a new buffer status report.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Requests {
    /// Reported octets minus granted ones.
    pub known_octets: u32,
    /// Outstanding grants.
    pub grants: u32,
    /// Octets granted for new blocks since the UE arrived in its cell.
    pub granted_octets: u64,
    /// The part of them that the UE had used when it wrote the latest decoded buffer status report.
    pub used_octets: u64,
    /// Whether a scheduling request is in flight.
    pub is_request_pending: bool,
    /// The first slot of the UE in the cell; its first occasion is in the next uplink slot.
    pub first_slot: u64,
}

impl Requests {
    /// Applies a decoded buffer status report: the UE's backlog after it had used `used_octets` of its grants. Later grants
    /// are deducted. A report that arrives after a newer one, because of retransmissions, is ignored.
    pub fn reported(&mut self, buffer_octets: u32, used_octets: u64) {
        if used_octets >= self.used_octets {
            self.used_octets = used_octets;
            self.known_octets = u64::from(buffer_octets).saturating_sub(self.granted_octets - used_octets) as u32;
        }
    }
}

/// The first scheduling request occasion of a UE after `slot`. Occasions are a period apart, with an offset by UE number.
fn next_occasion(slot: u64, number: u64, period_slots: u64) -> u64 {
    let offset = number % period_slots;
    ((slot + offset) / period_slots + 1) * period_slots - offset
}

/// Discontinuous reception (TS 38.321 5.7): a UE without downlink data sleeps until its next cycle, in which it listens in
/// the first downlink slot.
#[derive(Clone, Copy, Debug)]
struct Drx {
    cycle_ns: u64,
    /// The last cycle in which the UE listened.
    cycle: u64,
    is_awake: bool,
}

/// A UE with everything that moves with it at a handover.
#[derive(Debug)]
pub struct Ue {
    pub(crate) number: u64,
    pub(crate) random: Random,
    pub(crate) subscription: Subscription,
    pub(crate) address: Ipv4Addr,
    leaves_at: Time,
    pub(crate) channel: Channel,
    pub(crate) dl: RadioLink,
    pub(crate) ul: RadioLink,
    pub(crate) bearers: Vec<Bearer>,
    flows: Vec<Flow>,
    /// The index of each flow's bearer.
    flow_bearers: Vec<u8>,
    /// The index of the bearer of live packets.
    live_bearer: u8,
    next_flow: Time,
    pub(crate) requests: Requests,
    next_report: Time,
    drx: Option<Drx>,
    pub(crate) activity: Activity,
    /// Whether it was in RRC_CONNECTED at the last report.
    pub(crate) is_connected: bool,
    /// Reused buffer.
    packets: Vec<Packet>,
    /// Packets of live interfaces for delivery at the UE and at the core.
    pub(crate) live_at_ue: Vec<Packet>,
    pub(crate) live_at_core: Vec<Packet>,
}

impl Ue {
    /// Creates a UE with one bearer, DRB 1.
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
            dl: RadioLink::new(&config.harq),
            ul: RadioLink::new(&config.harq),
            bearers: vec![Bearer::new(1, &config.tc, config.rlc)],
            flows: Vec::new(),
            flow_bearers: Vec::new(),
            live_bearer: 0,
            next_flow: Time::NEVER,
            requests: Requests::default(),
            next_report: Time::START,
            drx: None,
            activity: Activity::new(Time::START),
            is_connected: true,
            packets: Vec::new(),
            live_at_ue: Vec::new(),
            live_at_core: Vec::new(),
        }
    }

    /// Its number in the network, never reused.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Its PLMN, slice and QoS class.
    #[must_use]
    pub fn subscription(&self) -> &Subscription {
        &self.subscription
    }

    /// Its IP address.
    #[must_use]
    pub fn address(&self) -> Ipv4Addr {
        self.address
    }

    /// When it is released.
    pub(crate) fn leaves_at(&self) -> Time {
        self.leaves_at
    }

    pub(crate) fn set_leaves_at(&mut self, leaves_at: Time) {
        self.leaves_at = leaves_at;
    }

    /// Changes the serving cell of its channel.
    pub(crate) fn set_serving_cell(&mut self, cell: usize) {
        // a channel without geometry is the same in every cell
        if let Some(geometry) = self.channel.geometry_mut().filter(|geometry| cell < geometry.sites().len()) {
            geometry.set_serving(cell);
        }
    }

    /// Its channel.
    #[must_use]
    pub fn channel(&self) -> &Channel {
        &self.channel
    }

    /// Replaces its channel.
    pub fn set_channel(&mut self, channel: Channel) {
        self.channel = channel;
    }

    /// The downlink.
    #[must_use]
    pub fn downlink(&self) -> &RadioLink {
        &self.dl
    }

    /// The uplink.
    #[must_use]
    pub fn uplink(&self) -> &RadioLink {
        &self.ul
    }

    /// The buffer status at the base station: the last report minus what was granted since, in octets.
    #[must_use]
    pub fn buffer_status_octets(&self) -> u32 {
        self.requests.known_octets
    }

    /// Whether it had no traffic for [`INACTIVITY_TIMER`], as of the last channel report.
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

    /// Adds a flow on the first bearer.
    pub fn add_flow(&mut self, make: impl FnOnce(FlowId, Random) -> Flow) -> FlowId {
        let id = FlowId(self.flows.len() as u32);
        let flow = make(id, Random::new(self.random.next_u64(), 0));
        self.next_flow = self.next_flow.min(flow.next_event());
        self.flows.push(flow);
        self.flow_bearers.push(0);
        id
    }

    /// Stops a flow.
    pub fn stop_flow(&mut self, now: Time, flow: FlowId) {
        if let Some(flow) = self.flows.get_mut(flow.0 as usize) {
            flow.stop(now);
        }
    }

    /// Sets the DRX cycle; `None` disables DRX.
    pub fn set_drx(&mut self, cycle_ns: Option<u64>) {
        self.drx = cycle_ns.filter(|ns| *ns > 0).map(|cycle_ns| Drx { cycle_ns, cycle: 0, is_awake: true });
    }

    /// Moves all flows and live packets to a bearer, DRB identity 1 to 32, and creates it when it does not exist.
    pub fn move_flows(&mut self, bearer: u8) {
        assert!((1..=MAX_BEARERS).contains(&usize::from(bearer)), "no bearer has number {bearer}");
        let at = self.bearers.iter().position(|there| there.id == bearer).unwrap_or_else(|| {
            let first = &self.bearers[0];
            let mut made = Bearer::new(bearer, first.tc.configuration(), *first.dl.config());
            made.dl.set_feedback(first.dl.feedback());
            self.bearers.push(made);
            self.bearers.len() - 1
        });
        self.flow_bearers.fill(at as u8);
        self.live_bearer = at as u8;
    }

    /// Sets the scheduling weight of a bearer; 1 is neutral.
    pub fn set_preference(&mut self, bearer: u8, preference: f32) {
        for there in self.bearers.iter_mut().filter(|there| there.id == bearer) {
            there.preference = preference;
        }
    }

    pub(crate) fn link_mut(&mut self, direction: Direction) -> &mut RadioLink {
        match direction {
            Direction::Downlink => &mut self.dl,
            Direction::Uplink => &mut self.ul,
        }
    }

    /// Resets the state that belongs to a cell, on arrival; `slot` is the cell's next slot.
    ///
    /// `feedback` is the time from the decoding of a downlink block until the base station knows of it.
    pub(crate) fn arrived(
        &mut self,
        slot: u64,
        now: Time,
        tables: &[Adaptation; 2],
        tc: &tc::Configuration,
        feedback: Duration,
    ) {
        for link in [&mut self.dl, &mut self.ul] {
            link.arrived(slot);
        }
        for bearer in &mut self.bearers {
            bearer.dl.set_feedback(feedback);
            bearer.dl.reset_counts(now);
            bearer.ul.reset_counts(now);
            // when its packets do not fit into this cell's queues, it keeps the configuration of the other cell
            let _ = bearer.tc.configure(now, tc);
            bearer.tc.reset_counts();
        }
        self.requests = Requests { first_slot: slot, ..Requests::default() };
        self.activity = Activity::new(now);
        self.next_report = now;
        self.report(now, tables);
    }

    /// Re-establishes RLC on departure: packets in flight are sent again or lost.
    pub(crate) fn depart(&mut self, now: Time) {
        for at in 0..self.bearers.len() {
            self.bearers[at].dl.reestablish(&mut self.packets);
            self.reached(now);
            self.bearers[at].ul.reestablish(&mut self.packets);
            self.left(now);
        }
    }

    /// Updates the channel and applies the previous channel state as the report: reports are one period old.
    fn report(&mut self, now: Time, tables: &[Adaptation; 2]) {
        self.next_report = now + REPORT;
        self.activity.update(now, self.dl.counts.active_slots + self.ul.counts.active_slots);
        self.is_connected = !self.activity.is_inactive(now);
        self.channel.update(now, &mut self.random);
        let powers = [self.channel.rsrp_dbm(), self.channel.uplink_rsrp_dbm()];
        self.dl.counts.rsrq_db += self.channel.rsrq_db();
        let links = [(&mut self.dl, Direction::Downlink), (&mut self.ul, Direction::Uplink)];
        for (((link, direction), adaptation), rsrp_dbm) in links.into_iter().zip(tables).zip(powers) {
            let air = self.channel.link(direction);
            let reported = if link.counts.reports == 0 { air } else { link.air };
            link.apply_report(reported, adaptation);
            link.counts.reports += 1;
            link.counts.cqi += u64::from(link.cqi);
            link.counts.cqis[usize::from(link.cqi & 15)] += 1;
            link.counts.sinr_db += air.sinr_db;
            link.counts.rsrp_dbm += rsrp_dbm;
            link.air = air;
        }
    }

    /// The time until which the UE needs no processing, unless an event occurs. A UE with something to send is never idle.
    pub(crate) fn idle_until(&self) -> Time {
        let Requests { known_octets, grants, is_request_pending, .. } = self.requests;
        let is_retransmission = [&self.dl, &self.ul].iter().any(|link| link.harq.next_retransmission().is_some());
        // with DRX, the slots in which it listens have to be tracked
        if known_octets > 0 || is_retransmission || self.drx.is_some() {
            return Time::START;
        }
        let may_ask = grants == 0 && !is_request_pending;
        let mut until = self.next_report.min(self.next_flow);
        for bearer in &self.bearers {
            if !bearer.tc.is_empty() || !bearer.dl.is_empty() || (may_ask && !bearer.ul.is_empty()) {
                return Time::START;
            }
            until = until.min(bearer.dl.next_timer()).min(bearer.ul.next_timer());
        }
        until
    }

    /// Whether the UE sends a scheduling request in this uplink slot: it has data, no grant that could carry a buffer status
    /// report, and an occasion since the previous uplink slot. Marks the request as pending.
    pub(crate) fn needs_scheduling_request(
        &mut self,
        now: Time,
        slot: u64,
        slot_before: Option<u64>,
        period_slots: u64,
    ) -> bool {
        let Requests { known_octets, grants, is_request_pending, first_slot, .. } = self.requests;
        if known_octets > 0 || grants > 0 || is_request_pending || self.uplink_demand(now) == 0 {
            return false;
        }
        let before = slot_before.filter(|before| *before >= first_slot);
        if before.is_some_and(|before| next_occasion(before, self.number, period_slots) > slot) {
            return false;
        }
        self.requests.is_request_pending = true;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_occasions_are_one_period_apart() {
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
    fn later_grants_are_deducted_from_buffer_status() {
        let mut requests = Requests { granted_octets: 1000, ..Requests::default() };
        // 600 octets were used when the report was written
        requests.reported(900, 600);
        assert_eq!(requests.known_octets, 500);
        // an older report arrives late
        requests.reported(100, 300);
        assert_eq!(requests.known_octets, 500);
        requests.reported(100, 1000);
        assert_eq!(requests.known_octets, 100);
    }
}
