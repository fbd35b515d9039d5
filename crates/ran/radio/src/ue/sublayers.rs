//! What a UE's packets go through: flows, traffic control, RLC, and transport blocks.

use super::{MAX_BEARERS, Ue};
use crate::phy::{Adaptation, Direction};
use crate::tc::Below;
use crate::{Packet, Time};

impl Ue {
    /// What is due at the beginning of a slot.
    pub(crate) fn upkeep(&mut self, now: Time, tables: &[Adaptation; 2]) {
        if self.next_report <= now {
            self.report(now, tables);
        }
        self.flows_at(now);
        self.release(now);
        self.pump(now);
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

    /// What was held back behind a loss goes on where it is time, and what has waited too long goes.
    pub(crate) fn release(&mut self, now: Time) {
        for at in 0..self.bearers.len() {
            let bearer = &mut self.bearers[at];
            bearer.down.discard_late(now);
            bearer.up.discard_late(now);
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

    /// A transport block was understood, or given up. Its process is not free yet.
    pub(crate) fn done(&mut self, now: Time, direction: Direction, process: u8, is_understood: bool) {
        let is_uplink = direction == Direction::Uplink;
        let harq = if is_uplink { &mut self.up.harq } else { &mut self.down.harq };
        let block = harq.block(process);
        for (bearer, piece) in block.pieces.drain(..) {
            let bearer = &mut self.bearers[usize::from(bearer)];
            let rlc = if is_uplink { &mut bearer.up } else { &mut bearer.down };
            if is_understood { rlc.received(now, piece, &mut self.packets) } else { rlc.failed(now, piece) }
        }
        if is_uplink && is_understood {
            self.requests.reported(block.buffer_octets, block.used_octets);
        }
        if is_uplink { self.left(now) } else { self.reached(now) }
    }

    /// Downlink packets have come to the UE.
    pub(super) fn reached(&mut self, now: Time) {
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
    pub(super) fn left(&mut self, now: Time) {
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
    pub(crate) fn downlink_demand(&mut self, now: Time) -> u32 {
        let each = self.bearers.iter().map(|bearer| bearer.down.demand_octets(now));
        let demand = each.fold(0, u32::saturating_add);
        if let Some(drx) = &mut self.drx {
            let cycle = now.as_nanos() / drx.cycle_nanos;
            let begins = std::mem::replace(&mut drx.cycle, cycle) != cycle;
            drx.is_awake = demand > 0 && (drx.is_awake || begins);
            if !drx.is_awake {
                return 0;
            }
        }
        demand
    }

    /// Octets that transport blocks of the uplink would carry now.
    pub(crate) fn uplink_demand(&self, now: Time) -> u32 {
        self.bearers.iter().map(|bearer| bearer.up.demand_octets(now)).fold(0, u32::saturating_add)
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
