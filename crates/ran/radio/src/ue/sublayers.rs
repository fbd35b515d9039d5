//! The path of a UE's packets: flows, traffic control, RLC, transport blocks.

use super::{Bearer, CellContext, MAX_BEARERS, RadioLink, Ue};
use crate::harq::Block;
use crate::phy::Direction;
use crate::tc::RlcState;
use crate::{Packet, Time};

impl Ue {
    /// Processes due reports, flows and timers at the beginning of a slot.
    pub(crate) fn begin_slot(&mut self, now: Time, cell: &CellContext<'_>) {
        if let Some(drx) = &mut self.drx {
            drx.update(now);
        }
        self.run_reports(now, cell);
        self.flows_at(now);
        self.run_rlc_timers(now);
        self.forward_to_rlc(now);
    }

    /// Moves due packets of flows to traffic control (downlink) and RLC (uplink).
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
                    bearer.ul.push(now, packet);
                });
            }
            self.next_flow = self.next_flow.min(flow.next_event());
        }
    }

    /// Enqueues a packet of a live interface from the core.
    pub fn push_downlink(&mut self, now: Time, packet: Packet) {
        self.bearers[usize::from(self.live_bearer)].tc.push(now, packet);
    }

    /// Enqueues a packet of a live interface from the UE. Returns false when the RLC buffer is full.
    pub fn push_uplink(&mut self, now: Time, packet: Packet) -> bool {
        self.bearers[usize::from(self.live_bearer)].ul.push(now, packet)
    }

    /// Takes the packets for live interfaces of the UE.
    pub fn live_at_ue(&mut self) -> impl Iterator<Item = Packet> + '_ {
        self.live_at_ue.drain(..)
    }

    /// Takes the packets for live interfaces of the core.
    pub fn live_at_core(&mut self) -> impl Iterator<Item = Packet> + '_ {
        self.live_at_core.drain(..)
    }

    /// Forwards packets from traffic control to RLC.
    pub(crate) fn forward_to_rlc(&mut self, now: Time) {
        for bearer in &mut self.bearers {
            if bearer.tc.is_empty() {
                continue;
            }
            loop {
                let below =
                    RlcState { rlc_octets: bearer.dl.waiting_octets(), rlc_room_octets: bearer.dl.room_octets() };
                let Some(packet) = bearer.tc.pop(now, below) else { break };
                bearer.dl.push(now, packet);
            }
        }
    }

    /// Discards expired SDUs and delivers those whose reordering timer has expired.
    pub(crate) fn run_rlc_timers(&mut self, now: Time) {
        for at in 0..self.bearers.len() {
            let bearer = &mut self.bearers[at];
            bearer.dl.discard_late(now);
            bearer.ul.discard_late(now);
            if bearer.dl.next_release() <= now {
                bearer.dl.deliver(now, &mut self.packets);
                self.reached(now);
            }
            let bearer = &mut self.bearers[at];
            if bearer.ul.next_release() <= now {
                bearer.ul.deliver(now, &mut self.packets);
                self.left(now);
            }
        }
    }

    /// Ends a transport block: decoded, or dropped after its last transmission. Its process is not free yet.
    pub(crate) fn finish_block(&mut self, now: Time, direction: Direction, process: u8, is_decoded: bool) {
        let is_uplink = direction == Direction::Uplink;
        let Ue { dl, ul, bearers, packets, requests, .. } = self;
        let link = if is_uplink { ul } else { dl };
        finish(bearers, packets, now, link, (direction, process), is_decoded);
        if is_uplink && is_decoded {
            let block = link.harq.block(process);
            requests.reported(block.buffer_octets, block.used_octets);
        }
        if is_uplink { self.left(now) } else { self.reached(now) }
    }

    /// Delivers downlink packets at the UE.
    pub(super) fn reached(&mut self, now: Time) {
        for packet in self.packets.drain(..) {
            match self.flows.get_mut(packet.flow.0 as usize) {
                Some(flow) => {
                    flow.deliver_to_ue(now, &packet);
                    self.next_flow = self.next_flow.min(flow.next_event());
                }
                None => self.live_at_ue.push(packet),
            }
        }
    }

    /// Delivers uplink packets at the core.
    pub(super) fn left(&mut self, now: Time) {
        for packet in self.packets.drain(..) {
            match self.flows.get_mut(packet.flow.0 as usize) {
                Some(flow) => {
                    flow.deliver_to_core(now, &packet);
                    self.next_flow = self.next_flow.min(flow.next_event());
                }
                None => self.live_at_core.push(packet),
            }
        }
    }

    /// Octets that transport blocks of the downlink would carry now.
    pub(crate) fn downlink_demand(&self, now: Time) -> u32 {
        self.bearers.iter().map(|bearer| bearer.dl.demand_octets(now)).fold(0, u32::saturating_add)
    }

    /// The same of some bearers, one bit each.
    pub(crate) fn downlink_demand_of(&self, now: Time, bearers: u32) -> u32 {
        let wanted = self.bearers.iter().filter(|bearer| has(bearers, bearer));
        wanted.map(|bearer| bearer.dl.demand_octets(now)).fold(0, u32::saturating_add)
    }

    /// Octets that uplink transport blocks could carry now.
    pub(crate) fn uplink_demand(&self, now: Time) -> u32 {
        self.bearers.iter().map(|bearer| bearer.ul.demand_octets(now)).fold(0, u32::saturating_add)
    }

    /// The scheduling weight of a UE with data: that of the most important bearer with data.
    pub(crate) fn preference(&self, now: Time) -> f32 {
        if let [only] = &*self.bearers {
            return only.preference;
        }
        let waiting = self.bearers.iter().filter(|bearer| bearer.dl.demand_octets(now) > 0);
        waiting.map(|bearer| bearer.preference).reduce(f32::max).unwrap_or(1.0)
    }

    /// Fills a transport block of a direction from some bearers, one bit each, the most important first.
    pub(crate) fn fill(&mut self, now: Time, process: u8, direction: Direction, wanted: u32) {
        let Ue { dl, ul, bearers, .. } = self;
        let link = if direction == Direction::Uplink { ul } else { dl };
        fill(bearers, now, link.harq.block(process), direction, wanted);
    }

    /// Fills a transport block of the downlink with at most so many octets of bearers, by DRB identity, in this order.
    pub(crate) fn fill_shares(&mut self, now: Time, process: u8, shares: &[(u8, u32)]) {
        let Ue { dl, bearers, .. } = self;
        let block = dl.harq.block(process);
        let mut room = block.octets;
        for (id, octets) in shares {
            let Some(at) = bearers.iter().position(|bearer| bearer.id == *id) else { continue };
            let bearer = &mut bearers[at];
            let used = bearer.dl.pull(now, room.min(*octets), |pdu| block.pdus.push((at as u8, pdu)));
            room -= used;
            if used > 0 {
                bearer.tc.transmitted(now, used, bearer.dl.waiting_octets() == 0);
            }
        }
    }
}

/// All bearers, one bit each.
pub(crate) const ALL_BEARERS: u32 = u32::MAX;

/// Whether a bearer is among some, one bit each by DRB identity from 1 on.
fn has(bearers: u32, bearer: &Bearer) -> bool {
    bearers.checked_shr(u32::from(bearer.id).wrapping_sub(1)).is_some_and(|bits| bits & 1 != 0)
}

/// Fills a transport block of a direction from some bearers, one bit each, the most important first.
pub(super) fn fill(bearers: &mut [Bearer], now: Time, block: &mut Block, direction: Direction, wanted: u32) {
    let is_uplink = direction == Direction::Uplink;
    let mut room = block.octets;
    let mut order: [usize; MAX_BEARERS] = std::array::from_fn(|at| at);
    let count = bearers.len().min(order.len());
    if count > 1 {
        let preference = |at: &usize| bearers[*at].preference;
        order[..count].sort_by(|a, b| preference(b).total_cmp(&preference(a)));
    }
    for at in order[..count].iter().copied() {
        let bearer = &mut bearers[at];
        if !has(wanted, bearer) {
            continue;
        }
        let rlc = if is_uplink { &mut bearer.ul } else { &mut bearer.dl };
        let used = rlc.pull(now, room, |pdu| block.pdus.push((at as u8, pdu)));
        room -= used;
        if !is_uplink && used > 0 {
            bearer.tc.transmitted(now, used, bearer.dl.waiting_octets() == 0);
        }
    }
}

/// Takes the content of a transport block that was decoded, or dropped after its last transmission: what RLC delivers is in
/// `packets`.
pub(super) fn finish(
    bearers: &mut [Bearer],
    packets: &mut Vec<Packet>,
    now: Time,
    link: &mut RadioLink,
    (direction, process): (Direction, u8),
    is_decoded: bool,
) {
    let RadioLink { harq, counts, .. } = link;
    let block = harq.block(process);
    if is_decoded {
        let pdus = block.pdus.len() as u64;
        counts.air_pdus += pdus;
        counts.air_ns += pdus * now.nanos_since(block.sent);
    }
    for (bearer, pdu) in block.pdus.drain(..) {
        let bearer = &mut bearers[usize::from(bearer)];
        let rlc = if direction == Direction::Uplink { &mut bearer.ul } else { &mut bearer.dl };
        if is_decoded { rlc.received(now, pdu, packets) } else { rlc.failed(now, pdu) }
    }
}
