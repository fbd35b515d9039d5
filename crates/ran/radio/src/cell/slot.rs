//! One slot of a cell: due events, UE updates, scheduling and transmission.

use super::energy::SlotActivity;
use super::guests::{FIRST_GUEST, NoOtherCells, PrimaryCells};
use super::{Cell, CellConfig, EVENT_HORIZON_SLOTS, Event, EventKind, REQUEST_GRANT_OCTETS, context};
use crate::harq::{Harq, HarqConfig};
use crate::mac::Grant;
use crate::mac::{Allocation, Candidate};
use crate::phy::{Adaptation, Direction, Reception, TransportBlocks};
use crate::ue::{ALL_BEARERS, RadioLink, Ue};
use crate::{Random, Time};

impl Cell {
    /// Runs one slot of a cell that is a secondary cell of no UE.
    pub fn step(&mut self) {
        self.step_among(&mut NoOtherCells);
    }

    /// Runs one slot of a cell of a base station. UEs for which it is a secondary cell are in the `others`.
    pub(crate) fn step_among(&mut self, others: &mut impl PrimaryCells) {
        let (slot, now) = (self.slot, self.now());
        let (dl_symbols, ul_symbols) = self.grid.slot_kind(slot);
        self.update_power_state(now);
        self.process_due_events(slot, now, ul_symbols, others);
        let (mut downlink_prbs, mut is_granted) = (0, false);
        if let Some(given) = self.granted[slot as usize % EVENT_HORIZON_SLOTS].take() {
            is_granted = given > 0;
            let prbs = self.prbs(Direction::Uplink);
            self.usage[Direction::Uplink as usize].count(given, prbs, self.ul_blocks.elements(ul_symbols));
        }
        self.emission.count_uplink(ul_symbols);
        self.update_ues(slot, now, ul_symbols > 0);
        if !self.guests.is_empty() {
            self.update_guests(now, others);
        }
        let is_on_air = self.is_on_air();
        if is_on_air {
            let granted = slot + u64::from(self.config.grant_slots());
            let (_, granted_symbols) = self.grid.slot_kind(granted);
            if granted_symbols > 0 {
                self.schedule_uplink(slot, now, granted, granted_symbols);
            }
            if dl_symbols > 0 {
                downlink_prbs = self.schedule_downlink(slot, now, dl_symbols, others);
            }
        }
        self.slot += 1;
        self.is_downlink_lost = false;
        let activity =
            SlotActivity { downlink: (dl_symbols, downlink_prbs), uplink: if is_granted { ul_symbols } else { 0 } };
        self.energy.count_slot(self.now(), self.sleep.state, is_on_air.then_some(activity));
    }

    /// Updates the UEs that are due and collects their indices: they include every UE with something to send in this slot.
    fn update_ues(&mut self, slot: u64, now: Time, is_uplink: bool) {
        let request_period = u64::from(self.config.request_period_slots.max(1));
        self.busy.clear();
        let context = context(&self.tables, &self.config, &self.interference, self.muting);
        for (at, ue, idle_until) in self.ue_table.due(now) {
            let was_connected = ue.is_connected;
            ue.begin_slot(now, &context);
            if ue.is_connected != was_connected {
                self.connections.change(now, if ue.is_connected { 1 } else { -1 });
            }
            if is_uplink && ue.needs_scheduling_request(now, slot, self.uplink_slot, request_period) {
                let event = Event { ue: at as u32, kind: EventKind::SchedulingRequest };
                self.events[(slot as usize + 1) % EVENT_HORIZON_SLOTS].push(event);
            }
            *idle_until = ue.idle_until();
            self.busy.push(at as u32);
        }
        if is_uplink {
            self.uplink_slot = Some(slot);
        }
    }

    /// Processes the events that are due in this slot, which has `ul_symbols` uplink symbols.
    fn process_due_events(&mut self, slot: u64, now: Time, ul_symbols: u8, others: &mut impl PrimaryCells) {
        let ul_elements = self.ul_blocks.elements(ul_symbols);
        let mut events = std::mem::take(&mut self.now_events);
        std::mem::swap(&mut events, &mut self.events[slot as usize % EVENT_HORIZON_SLOTS]);
        for Event { ue: at, kind } in events.drain(..) {
            if at >= FIRST_GUEST {
                self.process_guest_event(slot, now, (at, kind), others);
                continue;
            }
            let Some(ue) = self.ue_table.ue_mut(at as usize) else { continue };
            match kind {
                EventKind::BlockDecoded { direction, process, is_decoded } => {
                    ue.finish_block(now, direction, process, is_decoded);
                    if direction == Direction::Uplink {
                        ue.wait_for_retransmission(now, self.grid.slot(), (direction, process));
                    }
                    // the base station decodes the uplink itself; downlink feedback takes as long as a NACK does
                    let kind = EventKind::HarqFeedback { direction, process, is_decoded };
                    let HarqConfig { round_trip_slots, decoding_slots, .. } = self.config.harq.bounded();
                    let after = match direction {
                        Direction::Downlink => round_trip_slots.saturating_sub(decoding_slots),
                        Direction::Uplink => 0,
                    };
                    if after > 0 {
                        self.events[(slot as usize + usize::from(after)) % EVENT_HORIZON_SLOTS]
                            .push(Event { ue: at, kind });
                        continue;
                    }
                    apply_harq_feedback(&self.config, &self.tables, ue, (direction, process), is_decoded)
                        .release(process);
                }
                EventKind::HarqFeedback { direction, process, is_decoded } => {
                    apply_harq_feedback(&self.config, &self.tables, ue, (direction, process), is_decoded)
                        .release(process);
                }
                EventKind::RetransmissionRequest(direction, process) => {
                    ue.wait_for_retransmission(now, self.grid.slot(), (direction, process));
                    apply_harq_feedback(&self.config, &self.tables, ue, (direction, process), false)
                        .queue_retransmission(process);
                }
                EventKind::SchedulingRequest => {
                    ue.requests.is_request_pending = false;
                    ue.requests.known_octets = ue.requests.known_octets.max(REQUEST_GRANT_OCTETS);
                }
                EventKind::Grant { process, used_octets } => {
                    ue.requests.grants -= 1;
                    if let Some(used_octets) = used_octets {
                        ue.end_scheduling_request(now);
                        ue.fill(now, process, Direction::Uplink, ALL_BEARERS);
                        let buffer_octets = ue.uplink_demand(now);
                        let block = ue.ul.harq.block(process);
                        (block.buffer_octets, block.used_octets) = (buffer_octets, used_octets);
                    }
                    let prbs = ue.ul.harq.block(process).prbs;
                    self.emission.count_block(at, &ue.channel, prbs, ul_symbols);
                    let process = (Direction::Uplink, process);
                    let Ue { ul, random, .. } = ue;
                    let (after, kind) =
                        send((ul, random), now, process, ul_elements, &self.tables, &self.config, false);
                    self.events[(slot as usize + after) % EVENT_HORIZON_SLOTS].push(Event { ue: at, kind });
                }
            }
        }
        self.now_events = events;
    }

    /// Schedules a downlink slot and transmits its blocks. Returns the number of used resource blocks.
    fn schedule_downlink(&mut self, slot: u64, now: Time, symbols: u8, others: &mut impl PrimaryCells) -> u32 {
        let (prbs, elements) = (self.prbs(Direction::Downlink), self.dl_blocks.elements(symbols));
        let decision = self.delegation.take(slot);
        self.candidates.clear();
        let slices = self.dl.slices();
        for at in &self.busy {
            let Some(ue) = self.ue_table.ue_unchanged(*at as usize).filter(|ue| ue.is_awake()) else { continue };
            let demand = ue.downlink_demand(now);
            let preference = if demand > 0 { ue.preference(now) } else { 1.0 };
            let input = CandidateInput { at: *at, demand, preference, slot, symbols, slices };
            self.candidates.extend(candidate(&mut ue.dl, &input, &self.dl_blocks, &self.tables[0]));
        }
        for place in 0..self.guests.len() {
            let Some((guest, ue)) = self.guests.unchanged(place, others) else { continue };
            if !guest.is_active() || !ue.is_awake() {
                continue;
            }
            let demand = ue.downlink_demand(now);
            let preference = if demand > 0 { ue.preference(now) } else { 1.0 };
            let input = CandidateInput { at: FIRST_GUEST + place, demand, preference, slot, symbols, slices };
            self.candidates.extend(candidate(&mut guest.link, &input, &self.dl_blocks, &self.tables[0]));
        }
        let is_decided = decision.is_some();
        let (decided, decided_prbs) =
            decision.map_or_else(Default::default, |grants| self.apply_decision(slot, symbols, grants));
        self.grants.clear();
        let given = decided_prbs + self.dl.schedule(prbs - decided_prbs, &self.candidates, &mut self.grants);
        for grant in &decided {
            let Some(process) = self.fill_decided(slot, symbols, grant) else { continue };
            self.transmit((slot, now), (grant.ue, process), elements);
        }
        for at in 0..self.grants.len() {
            let grant = self.grants[at];
            if grant.ue >= FIRST_GUEST {
                self.send_to_guest((slot, now, symbols), grant, others);
                continue;
            }
            let bearers = if is_decided { self.own_bearers(grant.ue, slot) } else { ALL_BEARERS };
            let Some(ue) = self.ue_table.ue_mut(grant.ue as usize) else { continue };
            let mut octets = 0;
            let process =
                if grant.is_retransmission { ue.dl.harq.take_retransmission() } else { ue.dl.harq.take_free() };
            let Some(process) = process else { continue };
            ue.count_grant(now, self.grid.slot(), (Direction::Downlink, process), grant.is_retransmission);
            if !grant.is_retransmission {
                octets = allocate(&mut ue.dl, process, grant.prbs, symbols, &self.dl_blocks, &self.tables[0]);
                ue.fill(now, process, Direction::Downlink, bearers);
                ue.dl.record_allocation(slot, octets);
            }
            self.transmit((slot, now), (grant.ue, process), elements);
            self.dl.count(grant.slice, Allocation { prbs: grant.prbs, octets });
        }
        self.dl.account(prbs, length(&self.dl_blocks, symbols));
        let usage = &mut self.usage[Direction::Downlink as usize];
        usage.count(given, prbs, elements);
        usage.scheduled_slots += 1;
        self.emission.count_downlink(given, prbs, symbols);
        given
    }

    /// Transmits a downlink block of a UE.
    fn transmit(&mut self, (slot, now): (u64, Time), (at, process): (u32, u8), elements: u32) {
        let Some(Ue { dl, random, .. }) = self.ue_table.ue_mut(at as usize) else { return };
        let (process, is_lost) = ((Direction::Downlink, process), self.is_downlink_lost);
        let (after, kind) = send((dl, random), now, process, elements, &self.tables, &self.config, is_lost);
        self.lost_transmissions += u64::from(is_lost);
        self.events[(slot as usize + after) % EVENT_HORIZON_SLOTS].push(Event { ue: at, kind });
    }

    /// Transmits a block to a guest.
    fn send_to_guest(&mut self, (slot, now, symbols): (u64, Time, u8), grant: Grant, others: &mut impl PrimaryCells) {
        let Some((guest, ue)) = self.guests.changed(grant.ue - FIRST_GUEST, others) else { return };
        let link = &mut guest.link;
        let process = if grant.is_retransmission { link.harq.take_retransmission() } else { link.harq.take_free() };
        let Some(process) = process else { return };
        let mut octets = 0;
        if !grant.is_retransmission {
            octets = allocate(link, process, grant.prbs, symbols, &self.dl_blocks, &self.tables[0]);
            ue.fill_secondary(now, link.harq.block(process));
            link.record_allocation(slot, octets);
        }
        let elements = self.dl_blocks.elements(symbols);
        let of_link = (Direction::Downlink, process);
        let (after, kind) = send((link, &mut ue.random), now, of_link, elements, &self.tables, &self.config, false);
        self.events[(slot as usize + after) % EVENT_HORIZON_SLOTS].push(Event { ue: grant.ue, kind });
        ue.count_grant(now, self.grid.slot(), guest.process(process), grant.is_retransmission);
        guest.restart_timer(now);
        self.dl.count(grant.slice, Allocation { prbs: grant.prbs, octets });
    }

    /// Processes an event of a guest, which has a downlink only.
    fn process_guest_event(
        &mut self,
        slot: u64,
        now: Time,
        (at, kind): (u32, EventKind),
        others: &mut impl PrimaryCells,
    ) {
        let Some((guest, ue)) = self.guests.changed(at - FIRST_GUEST, others) else { return };
        let (outer_loop, adaptation) = (self.config.outer_loop.as_ref(), &self.tables[0]);
        match kind {
            EventKind::BlockDecoded { direction, process, is_decoded } => {
                ue.finish_secondary_block(now, &mut guest.link, process, is_decoded);
                let HarqConfig { round_trip_slots, decoding_slots, .. } = self.config.harq.bounded();
                let after = usize::from(round_trip_slots.saturating_sub(decoding_slots));
                if after > 0 {
                    let kind = EventKind::HarqFeedback { direction, process, is_decoded };
                    self.events[(slot as usize + after) % EVENT_HORIZON_SLOTS].push(Event { ue: at, kind });
                    return;
                }
                guest.link.apply_harq_feedback(process, is_decoded, outer_loop, adaptation);
                guest.link.harq.release(process);
            }
            EventKind::HarqFeedback { process, is_decoded, .. } => {
                guest.link.apply_harq_feedback(process, is_decoded, outer_loop, adaptation);
                guest.link.harq.release(process);
            }
            EventKind::RetransmissionRequest(_, process) => {
                ue.wait_for_retransmission(now, self.grid.slot(), guest.process(process));
                guest.link.apply_harq_feedback(process, false, outer_loop, adaptation);
                guest.link.harq.queue_retransmission(process);
            }
            EventKind::SchedulingRequest | EventKind::Grant { .. } => {}
        }
    }

    /// Schedules a future uplink slot among the UEs whose buffer status is known.
    fn schedule_uplink(&mut self, slot: u64, now: Time, granted_slot: u64, symbols: u8) {
        let prbs = self.prbs(Direction::Uplink);
        self.candidates.clear();
        let slices = self.ul.slices();
        for at in &self.busy {
            let Some(ue) = self.ue_table.ue_unchanged(*at as usize).filter(|ue| ue.is_awake()) else { continue };
            let demand = ue.requests.known_octets;
            let input = CandidateInput { at: *at, demand, preference: 1.0, slot, symbols, slices };
            self.candidates.extend(candidate(&mut ue.ul, &input, &self.ul_blocks, &self.tables[1]));
        }
        self.grants.clear();
        let given = self.ul.schedule(prbs, &self.candidates, &mut self.grants);
        for grant in &self.grants {
            let Some(ue) = self.ue_table.ue_mut(grant.ue as usize) else { continue };
            let process =
                if grant.is_retransmission { ue.ul.harq.take_retransmission() } else { ue.ul.harq.take_free() };
            let Some(process) = process else { continue };
            ue.count_grant(now, self.grid.slot(), (Direction::Uplink, process), grant.is_retransmission);
            let (mut octets, mut used_octets) = (0, None);
            if !grant.is_retransmission {
                octets = allocate(&mut ue.ul, process, grant.prbs, symbols, &self.ul_blocks, &self.tables[1]);
                ue.requests.known_octets = ue.requests.known_octets.saturating_sub(octets);
                ue.requests.granted_octets += u64::from(octets);
                used_octets = Some(ue.requests.granted_octets);
                ue.ul.record_allocation(slot, octets);
            }
            ue.requests.grants += 1;
            let kind = EventKind::Grant { process, used_octets };
            self.events[granted_slot as usize % EVENT_HORIZON_SLOTS].push(Event { ue: grant.ue, kind });
            self.ul.count(grant.slice, Allocation { prbs: grant.prbs, octets });
        }
        self.ul.account(prbs, length(&self.ul_blocks, symbols));
        self.granted[granted_slot as usize % EVENT_HORIZON_SLOTS] = Some(given);
        self.usage[Direction::Uplink as usize].scheduled_slots += 1;
    }
}

/// What the scheduler needs to know about a UE in a slot.
struct CandidateInput {
    at: u32,
    demand: u32,
    preference: f32,
    slot: u64,
    symbols: u8,
    slices: usize,
}

/// The scheduling candidate of a UE; `None` when it has nothing to send or is out of coverage.
fn candidate(
    link: &mut RadioLink,
    input: &CandidateInput,
    blocks: &TransportBlocks,
    adaptation: &Adaptation,
) -> Option<Candidate> {
    let CandidateInput { at, demand, preference, slot, symbols, slices } = *input;
    let again =
        link.harq.next_retransmission().filter(|block| block.symbols <= symbols).map(|block| u32::from(block.prbs));
    if demand == 0 && again.is_none() {
        return None;
    }
    link.counts.active_slots += 1;
    let (is_retransmission, wanted) = match again {
        Some(prbs) => (true, prbs),
        // out of coverage
        None if link.cqi() == 0 || !link.harq.has_free() => return None,
        None => (false, u32::from(link.prbs_for(demand, symbols, blocks, adaptation))),
    };
    let offer = link.offer(symbols, blocks, adaptation);
    let least = if is_retransmission { wanted } else { u32::from(offer.least_prbs) };
    Some(Candidate {
        ue: at,
        slice: link.slice.filter(|slice| (*slice as usize) < slices).unwrap_or(slices as u32),
        prbs: wanted,
        least_prbs: least.min(wanted),
        is_retransmission,
        rate_octets: offer.most_octets,
        average_octets: link.average(slot),
        preference,
    })
}

/// Sets the size of a new block on granted PRBs, and returns it.
fn allocate(
    link: &mut RadioLink,
    process: u8,
    prbs: u32,
    symbols: u8,
    blocks: &TransportBlocks,
    adaptation: &Adaptation,
) -> u32 {
    let (prbs, layers) = (prbs as u16, link.layers());
    let mcs = link.mcs_on(prbs, adaptation);
    let octets = blocks.octets_on(layers, mcs, prbs, symbols);
    link.harq.block(process).set_allocation(octets, prbs, (layers, mcs), symbols);
    octets
}

/// The length of a slot for the slice schedulers, relative to a full one: by what its resource blocks carry.
fn length(blocks: &TransportBlocks, symbols: u8) -> f64 {
    f64::from(blocks.elements(symbols)) / f64::from(blocks.full_elements().max(1))
}

/// Applies the HARQ feedback of a block to link adaptation.
fn apply_harq_feedback<'u>(
    config: &CellConfig,
    tables: &[Adaptation; 2],
    ue: &'u mut Ue,
    (direction, process): (Direction, u8),
    is_decoded: bool,
) -> &'u mut Harq {
    let link = ue.link_mut(direction);
    link.apply_harq_feedback(process, is_decoded, config.outer_loop.as_ref(), &tables[direction as usize]);
    &mut link.harq
}

/// Transmits a block in a slot with `elements` resource elements for data in each resource block; a lost one does not reach the
/// receiver. Returns the resulting event and in how many slots it is due.
fn send(
    (link, random): (&mut RadioLink, &mut Random),
    now: Time,
    (direction, process): (Direction, u8),
    elements: u32,
    tables: &[Adaptation; 2],
    config: &CellConfig,
    is_lost: bool,
) -> (usize, EventKind) {
    let HarqConfig { transmissions, decoding_slots, round_trip_slots, .. } = config.harq.bounded();
    let adaptation = &tables[direction as usize];
    let block = link.harq.block(process);
    let (layers, prbs) = (block.layers, block.prbs);
    let channel = link.meet_channel(layers, prbs, adaptation);
    let block = link.harq.block(process);
    block.transmissions += 1;
    let (sent, octets, mcs) = (block.transmissions, block.octets, block.mcs);
    let elements = u64::from(prbs) * u64::from(elements);
    let reception = block.reception.get_or_insert_with(|| Reception::new(random));
    let is_decoded = !is_lost && reception.receive(adaptation, block.mcs, channel, random);
    let counts = &mut link.counts;
    counts.elements += elements;
    counts.transmissions += 1;
    counts.failed_transmissions += u64::from(!is_decoded);
    counts.mcs_prbs[usize::from(layers.max(1) - 1) & 3][usize::from(mcs & 31)] += u64::from(prbs);
    (counts.last_octets, counts.last_prbs) = (octets, u32::from(prbs));
    if sent == 1 {
        block.sent = now;
        counts.blocks += 1;
        counts.failed_blocks += u64::from(!is_decoded);
        counts.modulations[usize::from(adaptation.modulation_order(mcs) / 2 - 1) & 3] += 1;
        counts.block_octets += u64::from(octets);
    } else {
        counts.retransmission_elements += elements;
    }
    if is_decoded {
        counts.rounds[usize::from(sent - 1).min(counts.rounds.len() - 1)] += 1;
    } else if sent < transmissions {
        let after = match direction {
            Direction::Downlink => round_trip_slots,
            // the grant of the retransmission precedes it, and follows the failed decoding
            Direction::Uplink => round_trip_slots.saturating_sub(config.grant_slots()).max(decoding_slots),
        };
        return (after.into(), EventKind::RetransmissionRequest(direction, process));
    } else {
        counts.lost_blocks += 1;
    }
    (decoding_slots.into(), EventKind::BlockDecoded { direction, process, is_decoded })
}
