//! A UE: its channel, its bearers, its flows, and what its cell's MAC knows of it.

use std::net::Ipv4Addr;
use std::time::Duration;

use crate::cell::CellConfig;
use crate::harq::{Harq, HarqConfig};
use crate::phy::{Adaptation, Channel, Direction, Link};
use crate::rlc::{Rlc, RlcConfig};
use crate::tc::{self, Below, TrafficControl};
use crate::traffic::Flow;
use crate::{FlowId, Packet, Random, Time};

/// The share of a UE's average that a slot of a direction is: it reaches back some 200 slots.
const AVERAGE: f32 = 0.005;
/// Data radio bearers of a UE: their numbers are 1 to 32 (TS 38.331 DRB-Identity).
const MAX_BEARERS: usize = 32;
/// How often the channel is reported.
const REPORT: Duration = Duration::from_millis(5);

/// A network and a slice that a UE has chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Subscription {
    /// Mobile country code.
    pub mcc: u16,
    /// Mobile network code, and whether it has three digits.
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

/// What one direction of a radio link did, from the beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LinkCounts {
    /// Slots in which there was something to send.
    pub active_slots: u64,
    /// Resource blocks that were used, those of blocks sent again among them.
    pub prbs: u64,
    /// Of them those of blocks sent again.
    pub again_prbs: u64,
    /// Transport blocks that were sent for the first time.
    pub blocks: u64,
    /// Their octets.
    pub block_octets: u64,
    /// Transport blocks that were understood after so many transmissions, the last for all beyond.
    pub rounds: [u64; 8],
    /// Transport blocks that were given up.
    pub lost_blocks: u64,
    /// Octets of the last transport block, and of the slot in which it was sent.
    pub last_octets: u32,
    /// Its resource blocks.
    pub last_prbs: u32,
    /// Reports of the channel's quality, and of each of them the CQI in all: divide for the mean.
    pub reports: u64,
    /// The sum of reported CQIs.
    pub cqi: u64,
    /// The sum of SINRs at reports, in dB.
    pub sinr_db: f64,
    /// The sum of received powers at reports, in dBm.
    pub rsrp_dbm: f64,
    /// How often each CQI was reported.
    pub cqis: [u64; 16],
}

/// One direction of a radio link, as MAC has it.
#[derive(Debug)]
pub struct RadioLink {
    pub(crate) harq: Harq,
    /// What the scheduler goes by.
    pub(crate) mcs: u8,
    pub(crate) cqi: u8,
    /// What the channel is like.
    pub(crate) air: Link,
    average_octets: f32,
    average_at: u64,
    /// The slice that it is in; `None` is none.
    pub(crate) slice: Option<u32>,
    pub(crate) counts: LinkCounts,
}

impl RadioLink {
    fn new(harq: &HarqConfig) -> Self {
        RadioLink {
            harq: Harq::new(harq.processes),
            mcs: 0,
            cqi: 0,
            air: Link::of_sinr(f64::NEG_INFINITY),
            average_octets: 0.0,
            average_at: 0,
            slice: None,
            counts: LinkCounts::default(),
        }
    }

    /// The index of modulation and coding that new blocks are sent with.
    #[must_use]
    pub fn mcs(&self) -> u8 {
        self.mcs
    }

    /// The channel quality indicator that was last reported.
    #[must_use]
    pub fn cqi(&self) -> u8 {
        self.cqi
    }

    /// The SINR in dB.
    #[must_use]
    pub fn sinr_db(&self) -> f64 {
        self.air.sinr_db
    }

    /// The slice that it is in.
    #[must_use]
    pub fn slice(&self) -> Option<u32> {
        self.slice
    }

    /// What was counted.
    #[must_use]
    pub fn counts(&self) -> &LinkCounts {
        &self.counts
    }

    /// What it got of late, in octets a slot.
    pub(crate) fn average(&mut self, slot: u64) -> f32 {
        let since = slot.saturating_sub(self.average_at);
        if since > 0 {
            self.average_octets *= (1.0 - AVERAGE).powi(since.min(1 << 16) as i32);
            self.average_at = slot;
        }
        self.average_octets
    }

    pub(crate) fn got(&mut self, slot: u64, octets: u32) {
        self.average(slot);
        self.average_octets += AVERAGE * octets as f32;
    }
}

/// A data radio bearer, both directions of it.
#[derive(Debug)]
pub struct Bearer {
    pub(crate) id: u8,
    /// Of how many others' octets one of its is worth to the scheduler.
    pub(crate) preference: f32,
    pub(crate) tc: TrafficControl,
    pub(crate) down: Rlc,
    pub(crate) up: Rlc,
}

impl Bearer {
    /// # Panics
    /// Where traffic control cannot be so: it is checked before.
    fn new(id: u8, tc: &tc::Configuration, rlc: RlcConfig) -> Self {
        let tc = TrafficControl::new(tc).unwrap_or_else(|refused| panic!("traffic control of a cell: {refused}"));
        Bearer { id, preference: 1.0, tc, down: Rlc::new(rlc), up: Rlc::new(rlc) }
    }

    /// Its number.
    #[must_use]
    pub fn id(&self) -> u8 {
        self.id
    }

    /// Traffic control of its downlink.
    #[must_use]
    pub fn tc(&self) -> &TrafficControl {
        &self.tc
    }

    /// RLC of its downlink.
    #[must_use]
    pub fn downlink(&self) -> &Rlc {
        &self.down
    }

    /// RLC of its uplink.
    #[must_use]
    pub fn uplink(&self) -> &Rlc {
        &self.up
    }
}

/// What a base station knows of a UE that wants to send.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Requests {
    /// Octets that the UE has told of, without what it was granted.
    pub known_octets: u32,
    /// Grants that are not carried out yet.
    pub grants: u32,
    /// Octets of grants of which nothing was heard yet.
    pub granted_octets: u32,
    /// A scheduling request is under way.
    pub is_asking: bool,
    /// The first slot in which it may send the next one.
    pub next_slot: u64,
}

/// Discontinuous reception (TS 38.321 5.7): a UE that has been sent all there was sleeps until its cycle begins anew.
#[derive(Clone, Copy, Debug)]
struct Drx {
    cycle_nanos: u64,
    is_awake: bool,
}

/// A UE.
#[derive(Debug)]
pub struct Ue {
    pub(crate) number: u64,
    pub(crate) random: Random,
    pub(crate) subscription: Subscription,
    pub(crate) address: Ipv4Addr,
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
        self.drx = cycle_nanos.filter(|nanos| *nanos > 0).map(|cycle_nanos| Drx { cycle_nanos, is_awake: true });
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
            link.harq.reset();
            link.average_at = slot;
            link.slice = None;
            link.counts = LinkCounts::default();
        }
        for bearer in &mut self.bearers {
            bearer.down.reset_counts();
            bearer.up.reset_counts();
            // where its packets do not fit into this cell's queues, it keeps those of the other one
            let _ = bearer.tc.configure(now, tc);
        }
        self.requests = Requests::default();
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

    /// What is due at the beginning of a slot.
    pub(crate) fn upkeep(&mut self, now: Time, tables: &[Adaptation; 2]) {
        if self.next_report <= now {
            self.report(now, tables);
        }
        self.flows_at(now);
        self.release(now);
        self.pump(now);
    }

    /// The channel goes on, and the scheduler hears of it: of what it was at the report before.
    fn report(&mut self, now: Time, tables: &[Adaptation; 2]) {
        self.next_report = now + REPORT;
        self.channel.update(now, &mut self.random);
        let powers = [self.channel.rsrp_dbm(), self.channel.uplink_rsrp_dbm()];
        let links = [(&mut self.down, Direction::Downlink), (&mut self.up, Direction::Uplink)];
        for (((link, direction), adaptation), rsrp_dbm) in links.into_iter().zip(tables).zip(powers) {
            let air = self.channel.link(direction);
            let told = if link.counts.reports == 0 { &air } else { &link.air };
            link.cqi = adaptation.cqi(told.sinr_db).0;
            link.mcs = told.mcs(adaptation);
            link.counts.reports += 1;
            link.counts.cqi += u64::from(link.cqi);
            link.counts.cqis[usize::from(link.cqi & 15)] += 1;
            link.counts.sinr_db += air.sinr_db;
            link.counts.rsrp_dbm += rsrp_dbm;
            link.air = air;
        }
    }

    /// Whether it sends a scheduling request in a slot of the uplink: there is something to send, nothing granted to tell it
    /// in, and its occasion has come.
    pub(crate) fn asks(&mut self, now: Time, slot: u64, period_slots: u64) -> bool {
        let requests = &mut self.requests;
        if slot < requests.next_slot {
            return false;
        }
        // occasions are spread over UEs
        requests.next_slot =
            (slot + self.number) / period_slots * period_slots + period_slots - self.number % period_slots;
        if requests.known_octets > 0 || requests.grants > 0 || requests.is_asking || self.uplink_demand(now) == 0 {
            return false;
        }
        self.requests.is_asking = true;
        true
    }

    /// Packets come from outside of the model, or leave its flows: due ones go to the sublayers.
    pub(crate) fn flows_at(&mut self, now: Time) {
        if self.next_flow > now {
            return;
        }
        let Ue { flows, flow_bearers, bearers, packets, .. } = self;
        self.next_flow = Time::NEVER;
        for (flow, bearer) in flows.iter_mut().zip(flow_bearers) {
            if flow.next_event() <= now {
                let bearer = &mut bearers[usize::from(*bearer)];
                flow.downlink(now, packets);
                packets.drain(..).for_each(|packet| bearer.tc.push(now, packet));
                flow.uplink(now, packets);
                packets.drain(..).for_each(|packet| {
                    bearer.up.push(now, packet);
                });
            }
            self.next_flow = self.next_flow.min(flow.next_event());
        }
    }

    /// A packet of a live interface comes from the core.
    pub fn push_downlink(&mut self, now: Time, packet: Packet) {
        self.bearers[usize::from(self.live_bearer)].tc.push(now, packet);
    }

    /// A packet of a live interface comes from the UE; whether there was room.
    pub fn push_uplink(&mut self, now: Time, packet: Packet) -> bool {
        self.bearers[usize::from(self.live_bearer)].up.push(now, packet)
    }

    /// Takes the packets of live interfaces that have come to the UE.
    pub fn live_at_ue(&mut self) -> impl Iterator<Item = Packet> + '_ {
        self.live_at_ue.drain(..)
    }

    /// Takes the packets of live interfaces that have come to the core.
    pub fn live_at_core(&mut self) -> impl Iterator<Item = Packet> + '_ {
        self.live_at_core.drain(..)
    }

    /// What traffic control lets go on goes to RLC.
    pub(crate) fn pump(&mut self, now: Time) {
        for bearer in &mut self.bearers {
            if bearer.tc.is_empty() {
                continue;
            }
            loop {
                let below =
                    Below { rlc_octets: bearer.down.waiting_octets(), rlc_room_octets: bearer.down.room_octets() };
                let Some(packet) = bearer.tc.pop(now, below) else { break };
                bearer.down.push(now, packet);
            }
        }
    }

    /// What was held back behind a loss goes on where it is time.
    pub(crate) fn release(&mut self, now: Time) {
        for at in 0..self.bearers.len() {
            let bearer = &mut self.bearers[at];
            if bearer.down.next_release() <= now {
                bearer.down.deliver(now, &mut self.packets);
                self.reached(now);
            }
            let bearer = &mut self.bearers[at];
            if bearer.up.next_release() <= now {
                bearer.up.deliver(now, &mut self.packets);
                self.left(now);
            }
        }
    }

    /// A transport block was understood, or given up.
    pub(crate) fn done(&mut self, now: Time, direction: Direction, process: u8, is_understood: bool) {
        let is_uplink = direction == Direction::Uplink;
        let harq = if is_uplink { &mut self.up.harq } else { &mut self.down.harq };
        let block = harq.block(process);
        for (bearer, piece) in block.pieces.drain(..) {
            let bearer = &mut self.bearers[usize::from(bearer)];
            let rlc = if is_uplink { &mut bearer.up } else { &mut bearer.down };
            if is_understood { rlc.received(now, piece, &mut self.packets) } else { rlc.failed(now, piece) }
        }
        if is_uplink {
            let requests = &mut self.requests;
            requests.granted_octets = requests.granted_octets.saturating_sub(block.octets);
            if is_understood {
                requests.known_octets = block.buffer_octets.saturating_sub(requests.granted_octets);
            }
        }
        harq.release(process);
        if is_uplink { self.left(now) } else { self.reached(now) }
    }

    /// Downlink packets have come to the UE.
    fn reached(&mut self, now: Time) {
        for packet in self.packets.drain(..) {
            match self.flows.get_mut(packet.flow.0 as usize) {
                Some(flow) => {
                    flow.reached_ue(now, &packet);
                    self.next_flow = self.next_flow.min(flow.next_event());
                }
                None => self.live_at_ue.push(packet),
            }
        }
    }

    /// Uplink packets leave the base station for the core.
    fn left(&mut self, now: Time) {
        for packet in self.packets.drain(..) {
            match self.flows.get_mut(packet.flow.0 as usize) {
                Some(flow) => {
                    flow.left_ran(now, &packet);
                    self.next_flow = self.next_flow.min(flow.next_event());
                }
                None => self.live_at_core.push(packet),
            }
        }
    }

    /// Octets that transport blocks of the downlink would carry now; none while the UE sleeps.
    pub(crate) fn downlink_demand(&mut self, now: Time, slot_nanos: u64) -> u32 {
        let demand: u32 = self.bearers.iter().map(|bearer| bearer.down.demand_octets(now)).sum();
        if let Some(drx) = &mut self.drx {
            let begins = now.as_nanos() % drx.cycle_nanos < slot_nanos;
            drx.is_awake = demand > 0 && (drx.is_awake || begins);
            if !drx.is_awake {
                return 0;
            }
        }
        demand
    }

    /// Octets that transport blocks of the uplink would carry now.
    pub(crate) fn uplink_demand(&self, now: Time) -> u32 {
        self.bearers.iter().map(|bearer| bearer.up.demand_octets(now)).sum()
    }

    /// How much the scheduler prefers it: that of its most preferred bearer with something to send.
    pub(crate) fn preference(&self, now: Time) -> f32 {
        let waiting = self.bearers.iter().filter(|bearer| bearer.down.demand_octets(now) > 0);
        waiting.map(|bearer| bearer.preference).reduce(f32::max).unwrap_or(1.0)
    }

    /// Fills a transport block of a direction, the most preferred bearer first.
    pub(crate) fn fill(&mut self, now: Time, process: u8, direction: Direction) {
        let is_uplink = direction == Direction::Uplink;
        let link = if is_uplink { &mut self.up } else { &mut self.down };
        let block = link.harq.block(process);
        let mut room = block.octets;
        let mut order: [usize; MAX_BEARERS] = std::array::from_fn(|at| at);
        let count = self.bearers.len().min(order.len());
        if count > 1 {
            let preference = |at: &usize| self.bearers[*at].preference;
            order[..count].sort_by(|a, b| preference(b).total_cmp(&preference(a)));
        }
        for at in order[..count].iter().copied() {
            let bearer = &mut self.bearers[at];
            let rlc = if is_uplink { &mut bearer.up } else { &mut bearer.down };
            let used = rlc.pull(now, room, |piece| block.pieces.push((at as u8, piece)));
            room -= used;
            if !is_uplink && used > 0 {
                bearer.tc.transmitted(now, used, bearer.down.waiting_octets() == 0);
            }
        }
    }
}
