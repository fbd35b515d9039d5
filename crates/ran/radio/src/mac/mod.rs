//! MAC's scheduler: a slice scheduler divides a slot's resource blocks among slices, and in each slice a UE scheduler among
//! UEs (FlexRIC paper, Fig. 12). Either is a trait; both can be changed at run time.

mod nvs;
mod quota;
mod slices;
#[cfg(test)]
mod tests;
mod ue_scheduler;

pub use nvs::{Nvs, Reservation, SMOOTHING};
pub use quota::{Quota, Quotas};
pub use slices::{Division, Fixed, Positions, Share, SliceScheduler, Whole};
pub use ue_scheduler::{MaxCi, ProportionalFair, RoundRobin, UeScheduler, ue_scheduler};

/// A UE that has something to send in this slot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// Its place in the cell.
    pub ue: u32,
    /// The slice that it is in: one behind the last for those in none.
    pub slice: u32,
    /// Resource blocks that would carry all that it has to send.
    pub prbs: u32,
    /// Fewer than these would carry nothing of use.
    pub least_prbs: u32,
    /// Whether it sends a block again: it needs just so many resource blocks, or none.
    pub is_again: bool,
    /// Octets that all resource blocks of the slot would carry for it.
    pub rate_octets: u32,
    /// What it got of late, in octets a slot.
    pub average_octets: f32,
    /// How much it counts for its bearers' priority: 1 is usual.
    pub preference: f32,
}

/// Resource blocks for a UE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Its place in the cell.
    pub ue: u32,
    /// Its slice.
    pub slice: u32,
    /// How many resource blocks.
    pub prbs: u32,
    /// Whether they are for a block that is sent again.
    pub is_again: bool,
}

/// What a slice got in a slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Got {
    /// Resource blocks.
    pub prbs: u32,
    /// Octets of transport blocks.
    pub octets: u32,
}

/// A direction's scheduler: a slice scheduler over a UE scheduler for each slice, and one for UEs in none.
pub struct Scheduler {
    slices: Box<dyn SliceScheduler>,
    ue_schedulers: Vec<Box<dyn UeScheduler>>,
    /// Memory that is used again in each slot.
    wanted: Vec<u32>,
    ues: Vec<u32>,
    /// Blocks that each slice sends again.
    again: Vec<u32>,
    shares: Vec<Share>,
    of_slice: Vec<Candidate>,
    got: Vec<Got>,
}

impl Scheduler {
    /// That slice scheduler, over a UE scheduler for each of its slices and, last, one for UEs in none.
    ///
    /// # Panics
    /// Where these are not as many.
    #[must_use]
    pub fn new(slices: Box<dyn SliceScheduler>, ue_schedulers: Vec<Box<dyn UeScheduler>>) -> Self {
        assert_eq!(ue_schedulers.len(), slices.slices() + 1, "each slice has a UE scheduler, and what is in none");
        Scheduler {
            slices,
            got: vec![Got::default(); ue_schedulers.len()],
            ue_schedulers,
            wanted: Vec::new(),
            ues: Vec::new(),
            again: Vec::new(),
            shares: Vec::new(),
            of_slice: Vec::new(),
        }
    }

    /// How many slices there are.
    #[must_use]
    pub fn slices(&self) -> usize {
        self.slices.slices()
    }

    /// Divides a slot's resource blocks; how many were given.
    ///
    /// What is sent again goes first: it needs as many blocks as it had, also where its slice has fewer by now. Its slice has
    /// so many less in this slot.
    pub fn schedule(&mut self, prbs: u32, candidates: &[Candidate], grants: &mut Vec<Grant>) -> u32 {
        let first_grant = grants.len();
        let groups = self.ue_schedulers.len();
        for (numbers, fill) in [(&mut self.wanted, 0), (&mut self.ues, 0), (&mut self.again, 0)] {
            numbers.clear();
            numbers.resize(groups, fill);
        }
        let mut left = prbs;
        for candidate in candidates {
            let Candidate { ue, slice, prbs, is_again, .. } = *candidate;
            if !is_again {
                self.wanted[slice as usize] += prbs;
                self.ues[slice as usize] += 1;
            } else if prbs <= left {
                left -= prbs;
                // it has these already, out of what it gets
                self.again[slice as usize] += prbs;
                self.wanted[slice as usize] += prbs;
                grants.push(Grant { ue, slice, prbs, is_again });
            }
        }
        self.shares.clear();
        self.slices.divide(&Division { prbs, wanted: &self.wanted, ues: &self.ues }, &mut self.shares);
        for share in &self.shares {
            let again = &mut self.again[share.slice as usize];
            let of_share = share.prbs.saturating_sub(*again).min(left);
            *again = again.saturating_sub(share.prbs);
            let of_slice = &mut self.of_slice;
            of_slice.clear();
            of_slice
                .extend(candidates.iter().filter(|candidate| candidate.slice == share.slice && !candidate.is_again));
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

    /// What became of a grant.
    pub fn count(&mut self, slice: u32, got: Got) {
        let sum = &mut self.got[slice as usize];
        sum.prbs += got.prbs;
        sum.octets += got.octets;
    }

    /// The slot is done: to be called once a slot of the direction, also where there was nothing to send. `length` is what
    /// its resource blocks carry of what a whole slot's do: slots that are shared with the other direction are shorter.
    pub fn account(&mut self, prbs: u32, length: f64) {
        self.slices.account(prbs, length, &self.got);
        self.got.fill(Got::default());
    }
}

impl std::fmt::Debug for Scheduler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scheduler")
            .field("slices", &self.slices.slices())
            .field("got", &self.got)
            .finish_non_exhaustive()
    }
}

/// A UE has one grant a slot.
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
