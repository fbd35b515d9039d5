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
    pub fn schedule(&mut self, prbs: u32, candidates: &[Candidate], grants: &mut Vec<Grant>) -> u32 {
        let first_grant = grants.len();
        let groups = self.ue_schedulers.len();
        self.wanted.clear();
        self.wanted.resize(groups, 0);
        self.ues.clear();
        self.ues.resize(groups, 0);
        for candidate in candidates {
            self.wanted[candidate.slice as usize] += candidate.prbs;
            self.ues[candidate.slice as usize] += 1;
        }
        self.shares.clear();
        self.slices.divide(&Division { prbs, wanted: &self.wanted, ues: &self.ues }, &mut self.shares);
        let mut left = prbs;
        for share in &self.shares {
            let of_slice = &mut self.of_slice;
            of_slice.clear();
            let in_slice = |candidate: &&Candidate| candidate.slice == share.slice;
            of_slice.extend(candidates.iter().filter(in_slice));
            if grants.len() > first_grant {
                // a slice may have several shares
                for candidate in of_slice.iter_mut() {
                    let had = grants[first_grant..].iter().filter(|grant| grant.ue == candidate.ue);
                    let had: u32 = had.map(|grant| grant.prbs).sum();
                    candidate.prbs = if candidate.is_again && had > 0 { 0 } else { candidate.prbs.saturating_sub(had) };
                }
            }
            let mut of_share = share.prbs.min(left);
            let before = of_share;
            // what is sent again goes first, whole
            for candidate in of_slice.iter_mut().filter(|candidate| candidate.is_again) {
                if candidate.prbs > 0 && candidate.prbs <= of_share {
                    of_share -= candidate.prbs;
                    let Candidate { ue, slice, prbs, .. } = *candidate;
                    grants.push(Grant { ue, slice, prbs, is_again: true });
                }
            }
            of_slice.retain(|candidate| !candidate.is_again && candidate.prbs > 0);
            if of_share > 0 && !of_slice.is_empty() {
                of_share -= self.ue_schedulers[share.slice as usize].schedule(of_share, of_slice, grants);
            }
            left -= before - of_share;
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
