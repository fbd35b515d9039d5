//! The MAC scheduler. A slice scheduler divides the resource blocks of a slot among slices; in each slice a UE scheduler
//! divides them among UEs (FlexRIC paper, Fig. 12). Both are traits and can be exchanged at run time.

mod nvs;
mod quota;
mod slices;
#[cfg(test)]
mod tests;
mod ue_scheduler;

pub use nvs::{CLAIM_SLOTS, Nvs, RATE_WINDOW_SLOTS, Reservation};
pub use quota::{Quota, Quotas};
pub use slices::{NoSlices, Positions, SliceScheduler, SliceShare, SlotDemand, StaticSlices};
pub use ue_scheduler::{MaximumThroughput, ProportionalFair, RoundRobin, UeScheduler, ue_scheduler};

/// A UE with something to send in this slot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// Its index in the cell.
    pub ue: u32,
    /// Its slice; the number of slices for a UE without one.
    pub slice: u32,
    /// Resource blocks that its whole backlog needs.
    pub prbs: u32,
    /// The smallest useful allocation.
    pub least_prbs: u32,
    /// Whether it has a retransmission, which needs exactly `prbs` resource blocks.
    pub is_retransmission: bool,
    /// Octets that it could send in all resource blocks of the slot.
    pub rate_octets: u32,
    /// Its average throughput, in octets per slot.
    pub average_octets: f32,
    /// The weight of its most important bearer; 1 is neutral.
    pub preference: f32,
}

/// Resource blocks allocated to a UE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Its index in the cell.
    pub ue: u32,
    /// Its slice.
    pub slice: u32,
    /// The number of resource blocks.
    pub prbs: u32,
    /// Whether they carry a retransmission.
    pub is_retransmission: bool,
}

/// What a slice received in a slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Allocation {
    /// Resource blocks.
    pub prbs: u32,
    /// Octets of new transport blocks.
    pub octets: u32,
}

/// The scheduler of one direction: a slice scheduler, a UE scheduler per slice, and one for UEs without a slice.
pub struct Scheduler {
    slices: Box<dyn SliceScheduler>,
    ue_schedulers: Vec<Box<dyn UeScheduler>>,
    /// Buffers that are reused in each slot.
    wanted: Vec<u32>,
    ues: Vec<u32>,
    /// PRBs of retransmissions, by slice.
    again: Vec<u32>,
    shares: Vec<SliceShare>,
    of_slice: Vec<Candidate>,
    allocations: Vec<Allocation>,
}

impl Scheduler {
    /// Combines a slice scheduler with one UE scheduler per slice and, last, the one of UEs without a slice.
    ///
    /// # Panics
    /// When the number of UE schedulers is not the number of slices plus one.
    #[must_use]
    pub fn new(slices: Box<dyn SliceScheduler>, ue_schedulers: Vec<Box<dyn UeScheduler>>) -> Self {
        assert_eq!(
            ue_schedulers.len(),
            slices.slices() + 1,
            "one UE scheduler per slice and one for UEs without a slice"
        );
        Scheduler {
            slices,
            allocations: vec![Allocation::default(); ue_schedulers.len()],
            ue_schedulers,
            wanted: Vec::new(),
            ues: Vec::new(),
            again: Vec::new(),
            shares: Vec::new(),
            of_slice: Vec::new(),
        }
    }

    /// The number of slices.
    #[must_use]
    pub fn slices(&self) -> usize {
        self.slices.slices()
    }

    /// Allocates the resource blocks of a slot and returns how many were allocated.
    ///
    /// Retransmissions go first. Each needs as many resource blocks as its first transmission, even when its slice has fewer
    /// now; they are deducted from the share of its slice in this slot.
    pub fn schedule(&mut self, prbs: u32, candidates: &[Candidate], grants: &mut Vec<Grant>) -> u32 {
        let first_grant = grants.len();
        let groups = self.ue_schedulers.len();
        for (numbers, fill) in [(&mut self.wanted, 0), (&mut self.ues, 0), (&mut self.again, 0)] {
            numbers.clear();
            numbers.resize(groups, fill);
        }
        let mut left = prbs;
        for candidate in candidates {
            let Candidate { ue, slice, prbs, is_retransmission, .. } = *candidate;
            if !is_retransmission {
                self.wanted[slice as usize] += prbs;
                self.ues[slice as usize] += 1;
            } else if prbs <= left {
                left -= prbs;
                // deducted from the slice's share below
                self.again[slice as usize] += prbs;
                self.wanted[slice as usize] += prbs;
                grants.push(Grant { ue, slice, prbs, is_retransmission });
            }
        }
        self.shares.clear();
        self.slices.divide(&SlotDemand { prbs, wanted: &self.wanted, ues: &self.ues }, &mut self.shares);
        for share in &self.shares {
            let again = &mut self.again[share.slice as usize];
            let of_share = share.prbs.saturating_sub(*again).min(left);
            *again = again.saturating_sub(share.prbs);
            let of_slice = &mut self.of_slice;
            of_slice.clear();
            of_slice.extend(
                candidates.iter().filter(|candidate| candidate.slice == share.slice && !candidate.is_retransmission),
            );
            if grants.len() > first_grant {
                // a slice may have several shares
                for candidate in of_slice.iter_mut() {
                    let had = grants[first_grant..].iter().filter(|grant| grant.ue == candidate.ue);
                    let had: u32 = had.map(|grant| grant.prbs).sum();
                    candidate.prbs = candidate.prbs.saturating_sub(had);
                    candidate.least_prbs = candidate.least_prbs.saturating_sub(had);
                }
            }
            of_slice.retain(|candidate| candidate.prbs > 0);
            if of_share > 0 && !of_slice.is_empty() {
                left -= self.ue_schedulers[share.slice as usize].schedule(of_share, of_slice, grants);
            }
        }
        merge(grants, first_grant);
        prbs - left
    }

    /// Records the outcome of a grant.
    pub fn count(&mut self, slice: u32, allocation: Allocation) {
        let sum = &mut self.allocations[slice as usize];
        sum.prbs += allocation.prbs;
        sum.octets += allocation.octets;
    }

    /// Ends a slot. Called once for each slot of the direction, also for idle ones. `length` is the capacity of its resource
    /// blocks relative to a full slot: slots shared with the other direction are shorter.
    pub fn account(&mut self, prbs: u32, length: f64) {
        self.slices.account(prbs, length, &self.allocations);
        self.allocations.fill(Allocation::default());
    }
}

impl std::fmt::Debug for Scheduler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scheduler")
            .field("slices", &self.slices.slices())
            .field("allocations", &self.allocations)
            .finish_non_exhaustive()
    }
}

/// Merges the grants of each UE: it has one per slot.
fn merge(grants: &mut Vec<Grant>, first: usize) {
    let mut at = first;
    while at < grants.len() {
        let Grant { ue, prbs, .. } = grants[at];
        match (first..at).find(|earlier| grants[*earlier].ue == ue) {
            Some(earlier) => {
                grants[earlier].prbs += prbs;
                grants.remove(at);
            }
            None => at += 1,
        }
    }
}
