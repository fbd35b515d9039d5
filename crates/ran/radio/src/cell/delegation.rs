//! Downlink scheduling by somebody else, slot by slot: a controller decides about the bearers that are delegated to it.
//!
//! The cell retransmits, schedules what is not delegated, and schedules every slot without a decision itself.

use std::collections::BTreeMap;

use super::{Cell, Event, EventKind};
use crate::mac::{Allocation, Candidate};
use crate::phy::Direction;
use crate::ue::Ue;

/// The most decisions that wait for their slots; a decision beyond them replaces the one that is furthest ahead.
pub const MAX_DECISIONS: usize = 1024;

/// A bearer whose downlink somebody else schedules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelegatedBearer {
    /// The index of its UE in the cell.
    pub ue: u32,
    /// The bearer, DRB identity 1 to 32.
    pub bearer: u8,
    /// The first slot.
    pub from: u64,
    /// The first slot in which the cell schedules it again.
    pub until: u64,
}

/// A grant of a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecidedGrant {
    /// The index of its UE in the cell; a decision has one grant for a UE.
    pub ue: u32,
    /// The number of resource blocks; all grants of a decision together have at most those of the cell.
    pub prbs: u32,
    /// The MCS, one of the carrier's.
    pub mcs: u8,
    /// The octets of each bearer in the block, RLC headers included, by DRB identity.
    pub shares: Vec<(u8, u32)>,
}

/// Why a bearer does not get what a grant has for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shortfall {
    /// The UE is not in the cell.
    NoUe,
    /// The resources, or the UE, are taken by retransmissions.
    Retransmission,
    /// The buffer has less.
    Buffer,
    /// The transport block has less room, or the UE no free HARQ process.
    Room,
}

/// How decisions about slots went; the counters only grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DelegationCounts {
    /// Slots that were scheduled by a decision.
    pub decided: u64,
    /// Slots with delegated bearers and without a decision, which the cell has scheduled itself.
    pub missed: u64,
    /// Transmitted grants of decisions.
    pub grants: u64,
    /// The ones among them with fewer resource blocks than decided, because of retransmissions.
    pub reduced: u64,
    /// Grants that were not transmitted: the UE had left, slept, or had a retransmission.
    pub dropped: u64,
    /// Decisions that came too late for their slots.
    pub late: u64,
    /// Decisions that were impossible.
    pub refused: u64,
}

/// A decision, and the octets of each share that the cell has promised.
#[derive(Debug)]
struct Decision {
    grants: Vec<DecidedGrant>,
    promised: Vec<Vec<u32>>,
}

/// The delegated bearers of a cell, and the decisions about its slots.
#[derive(Debug, Default)]
pub(super) struct Delegation {
    bearers: Vec<DelegatedBearer>,
    decisions: BTreeMap<u64, Decision>,
    counts: DelegationCounts,
}

impl Delegation {
    /// The decision about a slot, which is counted as missed if bearers are delegated and there is none.
    pub fn take(&mut self, slot: u64) -> Option<Vec<DecidedGrant>> {
        if self.bearers.is_empty() && self.decisions.is_empty() {
            return None;
        }
        let decision = self.decisions.remove(&slot);
        self.decisions = self.decisions.split_off(&slot);
        match decision {
            Some(_) => self.counts.decided += 1,
            None => self.counts.missed += u64::from(self.bearers.iter().any(|held| is_in(held, slot))),
        }
        decision.map(|decision| decision.grants)
    }

    /// The bearers of a UE that are delegated in a slot, one bit each.
    fn of_ue(&self, ue: u32, slot: u64) -> u32 {
        let held = self.bearers.iter().filter(|held| held.ue == ue && is_in(held, slot));
        held.fold(0, |mask, held| mask | bit(held.bearer))
    }

    /// The octets that a bearer has been promised in slots that are not over.
    fn promised(&self, ue: u32, bearer: u8) -> u32 {
        let grants = self.decisions.values().flat_map(|decision| decision.grants.iter().zip(&decision.promised));
        let shares =
            grants.filter(|(grant, _)| grant.ue == ue).flat_map(|(grant, octets)| grant.shares.iter().zip(octets));
        let octets = shares.filter(|((of, _), _)| *of == bearer).map(|(_, octets)| *octets);
        octets.fold(0, u32::saturating_add)
    }
}

fn is_in(held: &DelegatedBearer, slot: u64) -> bool {
    (held.from..held.until).contains(&slot)
}

fn bit(bearer: u8) -> u32 {
    1_u32.checked_shl(u32::from(bearer).wrapping_sub(1)).unwrap_or(0)
}

impl Cell {
    /// Replaces the delegated bearers.
    pub fn set_delegated(&mut self, bearers: Vec<DelegatedBearer>) {
        if bearers.is_empty() {
            self.delegation.decisions.clear();
        }
        self.delegation.bearers = bearers;
    }

    /// How decisions about slots went.
    #[must_use]
    pub fn delegation_counts(&self) -> DelegationCounts {
        self.delegation.counts
    }

    /// Counts a decision that was not taken: it came too late for its slot, or was impossible.
    pub fn count_refused(&mut self, is_late: bool) {
        let counts = &mut self.delegation.counts;
        *(if is_late { &mut counts.late } else { &mut counts.refused }) += 1;
    }

    /// Whether bearers are delegated in the next slot, which has a downlink, and no decision about it has come.
    #[must_use]
    pub fn awaits_decision(&self) -> bool {
        let Delegation { bearers, decisions, .. } = &self.delegation;
        let has_downlink = self.grid.slot_kind(self.slot).0 > 0;
        has_downlink && !decisions.contains_key(&self.slot) && bearers.iter().any(|held| is_in(held, self.slot))
    }

    /// Takes a decision about a slot that is not over. Returns for each share of each grant the octets that the cell will transmit as
    /// far as it knows, and why they are fewer.
    ///
    /// # Panics
    /// When an MCS is not one of the carrier's, or a grant has more resource blocks than the cell. Callers validate both first.
    pub fn decide(&mut self, slot: u64, grants: Vec<DecidedGrant>) -> Vec<Vec<(u32, Option<Shortfall>)>> {
        let plan = self.plan(slot, &grants);
        let decisions = &mut self.delegation.decisions;
        if slot >= self.slot {
            let promised = plan.iter().map(|shares| shares.iter().map(|(octets, _)| *octets).collect()).collect();
            decisions.insert(slot, Decision { grants, promised });
        }
        if decisions.len() > MAX_DECISIONS {
            decisions.pop_last();
        }
        plan
    }

    fn plan(&mut self, slot: u64, grants: &[DecidedGrant]) -> Vec<Vec<(u32, Option<Shortfall>)>> {
        let (now, symbols) = (self.now(), self.grid.slot_kind(slot).0);
        let retransmissions = if slot == self.slot { self.due_retransmissions(symbols) } else { Vec::new() };
        let taken: u32 = retransmissions.iter().map(|(_, prbs)| prbs).sum();
        let mut left = self.prbs(Direction::Downlink).saturating_sub(taken);
        let mut plan = Vec::new();
        for grant in grants {
            let none = |why| grant.shares.iter().map(|_| (0, Some(why))).collect::<Vec<_>>();
            let prbs = grant.prbs.min(left);
            let Some(ue) = self.ue_table.ue(grant.ue as usize) else {
                plan.push(none(Shortfall::NoUe));
                continue;
            };
            if prbs == 0 || retransmissions.iter().any(|(ue, _)| *ue == grant.ue) {
                plan.push(none(Shortfall::Retransmission));
                continue;
            }
            if slot == self.slot && !ue.downlink().harq.has_free() {
                plan.push(none(Shortfall::Room));
                continue;
            }
            left -= prbs;
            let mut room = self.dl_blocks.octets_on(ue.downlink().layers(), grant.mcs, prbs as u16, symbols);
            let share = |(bearer, wanted): &(u8, u32)| {
                let queued = ue
                    .bearers()
                    .iter()
                    .find(|known| known.id == *bearer)
                    .map_or(0, |bearer| bearer.dl.demand_octets(now));
                let queued = queued.saturating_sub(self.delegation.promised(grant.ue, *bearer));
                let octets = (*wanted).min(queued).min(room);
                room -= octets;
                let why = if octets == queued {
                    Shortfall::Buffer
                } else if prbs < grant.prbs {
                    Shortfall::Retransmission
                } else {
                    Shortfall::Room
                };
                (octets, (octets < *wanted).then_some(why))
            };
            plan.push(grant.shares.iter().map(share).collect());
        }
        plan
    }

    /// The UEs that have a retransmission in the next slot, as far as the base station knows before it, with their resource blocks.
    fn due_retransmissions(&mut self, symbols: u8) -> Vec<(u32, u32)> {
        let mut due = Vec::new();
        for at in 0..self.ue_table.len() {
            let block = self.ue_table.ue(at).and_then(|ue| ue.dl.harq.next_retransmission());
            if let Some(block) = block.filter(|block| block.symbols <= symbols) {
                due.push((at as u32, u32::from(block.prbs)));
            }
        }
        for Event { ue: at, kind } in &self.events[self.slot as usize % super::EVENT_HORIZON_SLOTS] {
            let EventKind::RetransmissionRequest(Direction::Downlink, process) = kind else { continue };
            if due.iter().any(|(ue, _)| ue == at) {
                continue;
            }
            if let Some(ue) = self.ue_table.ue_unchanged(*at as usize) {
                let block = ue.dl.harq.block(*process);
                if block.symbols <= symbols {
                    due.push((*at, u32::from(block.prbs)));
                }
            }
        }
        due
    }

    /// Prepares the cell's own scheduling of a slot with a decision: the candidates are without what is delegated. Returns the grants of
    /// the decision that are transmitted, and their resource blocks.
    pub(super) fn apply_decision(
        &mut self,
        slot: u64,
        symbols: u8,
        grants: Vec<DecidedGrant>,
    ) -> (Vec<DecidedGrant>, u32) {
        let (now, all) = (self.now(), self.prbs(Direction::Downlink));
        let again: u32 = self.candidates.iter().filter(|candidate| candidate.is_retransmission).map(|it| it.prbs).sum();
        let mut left = all.saturating_sub(again);
        let mut transmitted = Vec::new();
        for mut grant in grants {
            let has_retransmission =
                self.candidates.iter().any(|candidate| candidate.ue == grant.ue && candidate.is_retransmission);
            let ue = self.ue_table.ue(grant.ue as usize);
            let can = ue.is_some_and(|ue| ue.is_awake() && ue.dl.harq.has_free());
            if !can || has_retransmission || left == 0 {
                self.delegation.counts.dropped += 1;
                continue;
            }
            self.delegation.counts.reduced += u64::from(grant.prbs > left);
            self.delegation.counts.grants += 1;
            grant.prbs = grant.prbs.min(left);
            left -= grant.prbs;
            transmitted.push(grant);
        }
        let Cell { candidates, delegation, ue_table, dl_blocks, tables, .. } = self;
        candidates.retain_mut(|candidate: &mut Candidate| {
            if candidate.is_retransmission || candidate.ue >= super::guests::FIRST_GUEST {
                return true;
            }
            if transmitted.iter().any(|grant| grant.ue == candidate.ue) {
                return false;
            }
            let delegated = delegation.of_ue(candidate.ue, slot);
            let Some(ue) = ue_table.ue(candidate.ue as usize).filter(|_| delegated != 0) else { return true };
            let demand = ue.downlink_demand_of(now, !delegated);
            candidate.prbs = match demand {
                0 => 0,
                demand => u32::from(ue.dl.prbs_for(demand, symbols, dl_blocks, &tables[0])),
            };
            candidate.least_prbs = candidate.least_prbs.min(candidate.prbs);
            candidate.prbs > 0
        });
        (transmitted, all - again.min(all) - left)
    }

    /// The bearers of a UE that the cell schedules itself in a slot with a decision, one bit each.
    pub(super) fn own_bearers(&self, ue: u32, slot: u64) -> u32 {
        !self.delegation.of_ue(ue, slot)
    }

    /// Fills the block of a grant of a decision, and returns its process and size.
    pub(super) fn fill_decided(&mut self, slot: u64, symbols: u8, grant: &DecidedGrant) -> Option<u8> {
        let now = self.now();
        let slices = self.dl.slices();
        let ue: &mut Ue = self.ue_table.ue_mut(grant.ue as usize)?;
        let process = ue.dl.harq.take_free()?;
        ue.count_grant(now, self.grid.slot(), (Direction::Downlink, process), false);
        let layers = ue.dl.layers();
        let octets = self.dl_blocks.octets_on(layers, grant.mcs, grant.prbs as u16, symbols);
        let block = ue.dl.harq.block(process);
        block.set_allocation(octets, grant.prbs as u16, (layers, grant.mcs), symbols);
        ue.fill_shares(now, process, &grant.shares);
        ue.dl.record_allocation(slot, octets);
        let slice = ue.dl.slice.filter(|slice| (*slice as usize) < slices).unwrap_or(slices as u32);
        self.dl.count(slice, Allocation { prbs: grant.prbs, octets });
        Some(process)
    }
}
