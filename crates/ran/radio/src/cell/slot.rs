//! What a cell does in a slot: what was under way arrives, UEs ask, resource blocks are divided, transport blocks are sent.

use super::{AHEAD, Cell, CellConfig, Event, EventKind, REQUEST_OCTETS};
use crate::Time;
use crate::harq::{Harq, HarqConfig};
use crate::mac::{Candidate, Got};
use crate::phy::{Adaptation, Direction, Reception, TransportBlocks};
use crate::rlc::LATER_HEADER_OCTETS;
use crate::ue::{RadioLink, Ue};

/// A block smaller than this would carry little but headers.
const LEAST_OCTETS: u32 = 2 * LATER_HEADER_OCTETS;

impl Cell {
    /// One slot.
    pub fn step(&mut self) {
        let (slot, now) = (self.slot, self.now());
        let (down_symbols, up_symbols) = self.grid.slot_kind(slot);
        self.happen(slot, now);
        if let Some(given) = self.granted[slot as usize % AHEAD].take() {
            let prbs = self.prbs(Direction::Uplink);
            self.usage[Direction::Uplink as usize].count(given, prbs);
        }
        self.keep_up(slot, now, up_symbols > 0);
        if !self.is_locked {
            let granted = slot + u64::from(self.config.grant_slots());
            let (_, granted_symbols) = self.grid.slot_kind(granted);
            if granted_symbols > 0 {
                self.schedule_uplink(slot, granted, granted_symbols);
            }
            if down_symbols > 0 {
                self.schedule_downlink(slot, now, down_symbols);
            }
        }
        self.slot += 1;
    }

    /// What is due at UEs at the beginning of a slot, and whose they are: who has something to send in it is among them.
    fn keep_up(&mut self, slot: u64, now: Time, is_uplink: bool) {
        let request_period = u64::from(self.config.request_period_slots.max(1));
        self.busy.clear();
        for (at, ue, idle_until) in self.places.due(now) {
            ue.upkeep(now, &self.tables);
            if is_uplink && ue.asks(now, slot, self.uplink_slot, request_period) {
                let event = Event { ue: at as u32, kind: EventKind::Request };
                self.events[(slot as usize + 1) % AHEAD].push(event);
            }
            *idle_until = ue.idle_until();
            self.busy.push(at as u32);
        }
        if is_uplink {
            self.uplink_slot = Some(slot);
        }
    }

    /// What was on the way to this slot.
    fn happen(&mut self, slot: u64, now: Time) {
        let mut events = std::mem::take(&mut self.now_events);
        std::mem::swap(&mut events, &mut self.events[slot as usize % AHEAD]);
        for Event { ue: at, kind } in events.drain(..) {
            let Some(ue) = self.places.ue_mut(at as usize) else { continue };
            match kind {
                EventKind::Decoded { direction, process, is_understood } => {
                    ue.done(now, direction, process, is_understood);
                    // of the uplink the base station knows by itself, of the downlink it hears as late as of what is lost
                    let kind = EventKind::Answered { direction, process, is_understood };
                    let HarqConfig { round_trip_slots, decoding_slots, .. } = self.config.harq.bounded();
                    let after = match direction {
                        Direction::Downlink => round_trip_slots.saturating_sub(decoding_slots),
                        Direction::Uplink => 0,
                    };
                    if after > 0 {
                        self.events[(slot as usize + usize::from(after)) % AHEAD].push(Event { ue: at, kind });
                        continue;
                    }
                    answered(&self.config, &self.tables, ue, (direction, process), is_understood).release(process);
                }
                EventKind::Answered { direction, process, is_understood } => {
                    answered(&self.config, &self.tables, ue, (direction, process), is_understood).release(process);
                }
                EventKind::Again(direction, process) => {
                    answered(&self.config, &self.tables, ue, (direction, process), false).send_again(process);
                }
                EventKind::Request => {
                    ue.requests.is_asking = false;
                    ue.requests.known_octets = ue.requests.known_octets.max(REQUEST_OCTETS);
                }
                EventKind::Grant { process, used_octets } => {
                    ue.requests.grants -= 1;
                    if let Some(used_octets) = used_octets {
                        ue.fill(now, process, Direction::Uplink);
                        let buffer_octets = ue.uplink_demand(now);
                        let block = ue.up.harq.block(process);
                        (block.buffer_octets, block.used_octets) = (buffer_octets, used_octets);
                    }
                    let (after, kind) = send(ue, Direction::Uplink, process, &self.tables, &self.config);
                    self.events[(slot as usize + after) % AHEAD].push(Event { ue: at, kind });
                }
            }
        }
        self.now_events = events;
    }

    /// Divides a downlink slot, and sends.
    fn schedule_downlink(&mut self, slot: u64, now: Time, symbols: u8) {
        let prbs = self.prbs(Direction::Downlink);
        self.candidates.clear();
        let slices = self.down.slices();
        for at in &self.busy {
            let Some(ue) = self.places.ask(*at as usize) else { continue };
            let demand = ue.downlink_demand(now);
            let preference = if demand > 0 { ue.preference(now) } else { 1.0 };
            let wish = Wish { at: *at, demand, preference, slot, symbols, slices };
            self.candidates.extend(candidate(&mut ue.down, &wish, &self.down_blocks));
        }
        self.grants.clear();
        let given = self.down.schedule(prbs, &self.candidates, &mut self.grants);
        for grant in &self.grants {
            let Some(ue) = self.places.ue_mut(grant.ue as usize) else { continue };
            let mut octets = 0;
            let process = if grant.is_again { ue.down.harq.take_again() } else { ue.down.harq.take_free() };
            let Some(process) = process else { continue };
            if !grant.is_again {
                let mcs = ue.down.mcs;
                octets = self.down_blocks.octets(mcs, grant.prbs as u16, symbols);
                ue.down.harq.block(process).is_new(octets, grant.prbs as u16, mcs, symbols);
                ue.fill(now, process, Direction::Downlink);
                ue.down.got(slot, octets);
            }
            let (after, kind) = send(ue, Direction::Downlink, process, &self.tables, &self.config);
            self.events[(slot as usize + after) % AHEAD].push(Event { ue: grant.ue, kind });
            self.down.count(grant.slice, Got { prbs: grant.prbs, octets });
        }
        self.down.account(prbs, self.length(Direction::Downlink, symbols));
        let usage = &mut self.usage[Direction::Downlink as usize];
        usage.count(given, prbs);
        usage.divided_slots += 1;
    }

    /// What a slot with so many symbols carries of what a whole slot does.
    fn length(&self, direction: Direction, symbols: u8) -> f64 {
        let octets = |symbols: u8| {
            let blocks = self.blocks(direction);
            blocks.octets(blocks.mcs_count() / 2, blocks.prbs(), symbols)
        };
        let whole = self.grid.pattern().iter().map(|(down, up)| match direction {
            Direction::Downlink => *down,
            Direction::Uplink => *up,
        });
        f64::from(octets(symbols)) / f64::from(whole.max().map_or(1, octets).max(1))
    }

    /// Divides an uplink slot to come among UEs of which it is known that they want to send.
    fn schedule_uplink(&mut self, slot: u64, granted_slot: u64, symbols: u8) {
        let prbs = self.prbs(Direction::Uplink);
        self.candidates.clear();
        let slices = self.up.slices();
        for at in &self.busy {
            let Some(ue) = self.places.ask(*at as usize) else { continue };
            let demand = ue.requests.known_octets;
            let wish = Wish { at: *at, demand, preference: 1.0, slot, symbols, slices };
            self.candidates.extend(candidate(&mut ue.up, &wish, &self.up_blocks));
        }
        self.grants.clear();
        let given = self.up.schedule(prbs, &self.candidates, &mut self.grants);
        for grant in &self.grants {
            let Some(ue) = self.places.ue_mut(grant.ue as usize) else { continue };
            let process = if grant.is_again { ue.up.harq.take_again() } else { ue.up.harq.take_free() };
            let Some(process) = process else { continue };
            let (mut octets, mut used_octets) = (0, None);
            if !grant.is_again {
                let mcs = ue.up.mcs;
                octets = self.up_blocks.octets(mcs, grant.prbs as u16, symbols);
                ue.up.harq.block(process).is_new(octets, grant.prbs as u16, mcs, symbols);
                ue.requests.known_octets = ue.requests.known_octets.saturating_sub(octets);
                ue.requests.granted_octets += u64::from(octets);
                used_octets = Some(ue.requests.granted_octets);
                ue.up.got(slot, octets);
            }
            ue.requests.grants += 1;
            let kind = EventKind::Grant { process, used_octets };
            self.events[granted_slot as usize % AHEAD].push(Event { ue: grant.ue, kind });
            self.up.count(grant.slice, Got { prbs: grant.prbs, octets });
        }
        self.up.account(prbs, self.length(Direction::Uplink, symbols));
        self.granted[granted_slot as usize % AHEAD] = Some(given);
        self.usage[Direction::Uplink as usize].divided_slots += 1;
    }
}

/// What a UE has to send in a slot.
struct Wish {
    at: u32,
    demand: u32,
    preference: f32,
    slot: u64,
    symbols: u8,
    slices: usize,
}

/// A UE that could send in a slot.
fn candidate(link: &mut RadioLink, wish: &Wish, blocks: &TransportBlocks) -> Option<Candidate> {
    let Wish { at, demand, preference, slot, symbols, slices } = *wish;
    let again = link.harq.first_again().filter(|block| block.symbols <= symbols).map(|block| u32::from(block.prbs));
    if demand == 0 && again.is_none() {
        return None;
    }
    link.counts.active_slots += 1;
    let (is_again, wanted) = match again {
        Some(prbs) => (true, prbs),
        // out of range
        None if link.cqi == 0 || !link.harq.has_free() => return None,
        None => (false, blocks.prbs_for(link.mcs, demand, symbols).into()),
    };
    Some(Candidate {
        ue: at,
        slice: link.slice.filter(|slice| (*slice as usize) < slices).unwrap_or(slices as u32),
        prbs: wanted,
        least_prbs: u32::from(blocks.prbs_for(link.mcs, LEAST_OCTETS, symbols)).min(wanted),
        is_again,
        rate_octets: blocks.octets(link.mcs, blocks.prbs(), symbols),
        average_octets: link.average(slot),
        preference,
    })
}

/// The base station hears what became of a block.
fn answered<'u>(
    config: &CellConfig,
    tables: &[Adaptation; 2],
    ue: &'u mut Ue,
    (direction, process): (Direction, u8),
    is_understood: bool,
) -> &'u mut Harq {
    let link = ue.link_mut(direction);
    link.answered(process, is_understood, config.outer_loop.as_ref(), &tables[direction as usize]);
    &mut link.harq
}

/// Sends a block; what becomes of it, and in how many slots.
fn send(
    ue: &mut Ue,
    direction: Direction,
    process: u8,
    tables: &[Adaptation; 2],
    config: &CellConfig,
) -> (usize, EventKind) {
    let HarqConfig { transmissions, decoding_slots, round_trip_slots, .. } = config.harq.bounded();
    let link = match direction {
        Direction::Downlink => &mut ue.down,
        Direction::Uplink => &mut ue.up,
    };
    let block = link.harq.block(process);
    block.transmissions += 1;
    let (sent, prbs, octets) = (block.transmissions, u64::from(block.prbs), block.octets);
    let reception = block.reception.get_or_insert_with(|| Reception::new(&mut ue.random));
    let is_understood = reception.receive(&tables[direction as usize], block.mcs, &link.air, &mut ue.random);
    let counts = &mut link.counts;
    counts.prbs += prbs;
    (counts.last_octets, counts.last_prbs) = (octets, prbs as u32);
    if sent == 1 {
        counts.blocks += 1;
        counts.block_octets += u64::from(octets);
    } else {
        counts.again_prbs += prbs;
    }
    if is_understood {
        counts.rounds[usize::from(sent - 1).min(counts.rounds.len() - 1)] += 1;
    } else if sent < transmissions {
        let after = match direction {
            Direction::Downlink => round_trip_slots,
            // the grant for it has to come before, and not before it is known to be lost
            Direction::Uplink => round_trip_slots.saturating_sub(config.grant_slots()).max(decoding_slots),
        };
        return (after.into(), EventKind::Again(direction, process));
    } else {
        counts.lost_blocks += 1;
    }
    (decoding_slots.into(), EventKind::Decoded { direction, process, is_understood })
}
