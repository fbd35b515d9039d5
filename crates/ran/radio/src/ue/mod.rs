//! A UE: its channel, bearers, flows and MAC state.

mod activity;
mod bearer;
mod channel_state;
mod drx;
mod link;
mod outer_loop;
mod secondary;
mod sublayers;

use std::net::Ipv4Addr;
use std::time::Duration;

use crate::cell::CellConfig;
use crate::network::MobilityHistory;
use crate::phy::{Channel, Direction};
use crate::rlc::RlcCounts;
use crate::traffic::Flow;
use crate::{FlowId, Packet, Random, Time};

pub(crate) use activity::Activity;
pub use activity::INACTIVITY_TIMER;
pub use bearer::Bearer;
pub use channel_state::ChannelStateConfig;
use channel_state::Reports;
pub(crate) use channel_state::{CHANNEL_INTERVAL, CellContext};
use drx::Drx;
pub use drx::{
    DrxConfig, DrxError, INACTIVITY_MS, LONG_CYCLES_MS, ON_DURATIONS_MS, RETRANSMISSION_SLOTS, SHORT_CYCLES_MS,
    ShortCycle,
};
pub use link::{HarqFeedback, LinkCounts, RadioLink};
pub use outer_loop::OuterLoop;
pub use secondary::{MAX_CARRIERS, SecondaryCell};
pub(crate) use sublayers::ALL_BEARERS;

/// The maximum number of data radio bearers: DRB-Identity is 1 to 32 (TS 38.331).
const MAX_BEARERS: usize = 32;

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

/// The packets that RLC has dropped without sending them.
fn dropped_packets(counts: &RlcCounts) -> u64 {
    counts.discarded_packets + counts.buffer_full_packets
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
    /// The most carriers that it can aggregate, and its secondary cells.
    max_carriers: u8,
    pub(crate) secondary: Vec<SecondaryCell>,
    pub(crate) bearers: Vec<Bearer>,
    flows: Vec<Flow>,
    /// The index of each flow's bearer.
    flow_bearers: Vec<u8>,
    /// The index of the bearer of live packets.
    live_bearer: u8,
    next_flow: Time,
    pub(crate) requests: Requests,
    reports: Reports,
    drx: Option<Drx>,
    /// The DRX that was set for this UE; otherwise it has that of its cell.
    own_drx: Option<Option<DrxConfig>>,
    /// The time awake, and the time in RRC_CONNECTED, when DRX was switched off.
    awake_before: (Duration, Duration),
    pub(crate) activity: Activity,
    /// Whether it was in RRC_CONNECTED at the last update of its channel.
    pub(crate) is_connected: bool,
    lost_between_cells: [u64; 2],
    is_in_cell: bool,
    /// Its past handovers and link failures, for the classification of failures.
    pub(crate) history: MobilityHistory,
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
            max_carriers: 1,
            secondary: Vec::new(),
            bearers: vec![Bearer::new(1, &config.tc, config.rlc)],
            flows: Vec::new(),
            flow_bearers: Vec::new(),
            live_bearer: 0,
            next_flow: Time::NEVER,
            requests: Requests::default(),
            reports: Reports::default(),
            drx: None,
            own_drx: None,
            awake_before: (Duration::ZERO, Duration::ZERO),
            activity: Activity::new(Time::START),
            is_connected: true,
            lost_between_cells: [0; 2],
            is_in_cell: false,
            history: MobilityHistory::default(),
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

    /// Sets DRX from now on, also in further cells; `None` disables it. Otherwise the UE has the DRX of its cell.
    ///
    /// # Panics
    /// When [`DrxConfig::check`] rejects the configuration. Callers validate it first.
    pub fn set_drx(&mut self, now: Time, config: Option<DrxConfig>) {
        self.own_drx = Some(config);
        self.start_drx(now, config);
    }

    /// Its DRX parameters, if it has DRX.
    #[must_use]
    pub fn drx(&self) -> Option<&DrxConfig> {
        self.drx.as_ref().map(Drx::config)
    }

    /// The time in its cell in which it can receive grants and assignments: Active Time with DRX, otherwise RRC_CONNECTED.
    #[must_use]
    pub fn awake(&self, now: Time) -> Duration {
        match &self.drx {
            Some(drx) => drx.awake(now),
            None => self.awake_before.0 + self.connected(now).saturating_sub(self.awake_before.1),
        }
    }

    fn connected(&self, now: Time) -> Duration {
        self.activity.present(now).saturating_sub(self.activity.inactive(now))
    }

    fn start_drx(&mut self, now: Time, config: Option<DrxConfig>) {
        if let Some(refused) = config.and_then(|config| config.check().err()) {
            panic!("DRX of a UE: {refused}");
        }
        let awake = self.awake(now);
        self.awake_before = (awake, self.connected(now));
        self.drx = config.map(|config| Drx::new(config, self.number, now).with_awake(awake));
    }

    /// Whether it receives grants and assignments in this slot.
    pub(crate) fn is_awake(&self) -> bool {
        self.drx.as_ref().is_none_or(Drx::is_awake)
    }

    /// A block was assigned or granted in the slot that begins now.
    pub(crate) fn count_grant(&mut self, now: Time, slot: Duration, process: (Direction, u8), is_retransmission: bool) {
        if let Some(drx) = &mut self.drx {
            drx.retransmitted(now, process);
            if !is_retransmission {
                drx.transmitted(now, slot);
            }
        }
    }

    /// The base station may retransmit a block from now on. In the uplink the UE does not know whether it has to.
    pub(crate) fn wait_for_retransmission(&mut self, now: Time, slot: Duration, process: (Direction, u8)) {
        if let Some(drx) = &mut self.drx {
            drx.wait_for_retransmission(now, process, slot);
        }
    }

    /// The UE has used a grant, which ends a scheduling request.
    pub(crate) fn end_scheduling_request(&mut self, now: Time) {
        if let Some(drx) = &mut self.drx {
            drx.set_request_sent(now, false);
        }
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

    /// Begins the time in no cell, after [`Ue::depart`]: what follows belongs to no cell's counters.
    pub(crate) fn departed(&mut self, now: Time) {
        self.is_in_cell = false;
        for bearer in &mut self.bearers {
            bearer.dl.reset_counts(now);
            bearer.ul.reset_counts(now);
        }
    }

    /// Releases its bearers while it is in no cell: their packets are lost.
    pub(crate) fn release_bearers(&mut self) {
        for bearer in &mut self.bearers {
            bearer.tc.discard_all();
            bearer.dl.discard_all();
            bearer.ul.discard_all();
        }
    }

    /// Packets of a direction that its RLC entities have dropped while it was in no cell. The counters of a cell do not contain
    /// them.
    #[must_use]
    pub fn lost_between_cells(&self, direction: Direction) -> u64 {
        let bearers = self.bearers.iter().map(|bearer| match direction {
            Direction::Downlink => &bearer.dl,
            Direction::Uplink => &bearer.ul,
        });
        // the counters begin with the departure
        let since = if self.is_in_cell { 0 } else { bearers.map(|rlc| dropped_packets(rlc.counts())).sum() };
        self.lost_between_cells[direction as usize] + since
    }

    /// Resets the state that belongs to a cell, on arrival; `slot` is the cell's next slot.
    ///
    /// `feedback` is the time from the decoding of a downlink block until the base station knows of it.
    pub(crate) fn arrived(
        &mut self,
        slot: u64,
        now: Time,
        cell: &CellContext<'_>,
        config: &CellConfig,
        feedback: Duration,
    ) {
        for link in [&mut self.dl, &mut self.ul] {
            link.arrived(slot);
        }
        for bearer in &mut self.bearers {
            bearer.dl.set_feedback(feedback);
            for (rlc, lost) in [&mut bearer.dl, &mut bearer.ul].into_iter().zip(&mut self.lost_between_cells) {
                *lost += dropped_packets(rlc.counts());
                rlc.reset_counts(now);
            }
            // when its packets do not fit into this cell's queues, it keeps the configuration of the other cell
            let _ = bearer.tc.configure(now, &config.tc);
            bearer.tc.reset_counts();
        }
        self.is_in_cell = true;
        self.requests = Requests { first_slot: slot, ..Requests::default() };
        self.activity = Activity::new(now);
        (self.drx, self.awake_before) = (None, (Duration::ZERO, Duration::ZERO));
        self.start_drx(now, self.own_drx.unwrap_or(config.drx));
        self.begin_reports(now, cell);
    }

    /// Re-establishes RLC on departure: packets in flight are sent again or lost.
    pub(crate) fn depart(&mut self, now: Time) {
        self.secondary.clear();
        for at in 0..self.bearers.len() {
            self.bearers[at].dl.reestablish(&mut self.packets);
            self.reached(now);
            self.bearers[at].ul.reestablish(&mut self.packets);
            self.left(now);
        }
    }

    /// The time until which the UE needs no processing, unless an event occurs. A UE with something to send is never idle.
    pub(crate) fn idle_until(&self) -> Time {
        let Requests { known_octets, grants, is_request_pending, .. } = self.requests;
        let is_retransmission = [&self.dl, &self.ul].iter().any(|link| link.harq.next_retransmission().is_some());
        if known_octets > 0 || is_retransmission {
            return Time::START;
        }
        let may_ask = grants == 0 && !is_request_pending;
        let mut until = self.reports.next_event().min(self.next_flow);
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
        if let Some(drx) = &mut self.drx {
            drx.set_request_sent(now, true);
        }
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
