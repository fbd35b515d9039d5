//! PRB quotas: minimum, maximum and dedicated shares of the resource blocks for groups of UEs (RRM policies, TS 28.541
//! 4.3.36; slice-level PRB quota, E2SM-RC control style 2).

use super::{Allocation, SliceScheduler, SliceShare, SlotDemand};

/// The weight of one slot in the averages: they cover about 100 slots.
const SMOOTHING: f64 = 0.01;

/// The quota of a group, in percent of the resource blocks: dedicated <= minimum <= maximum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// Reserved for the group, also while unused.
    pub dedicated_percent: u32,
    /// Guaranteed to the group when it has something to send.
    pub min_percent: u32,
    /// Upper bound.
    pub max_percent: u32,
}

/// The slice scheduler of PRB quotas. First each group receives its minimum. The rest goes to the groups, and to UEs without
/// a group, in ascending order of their average per UE, up to the maximum of each. Unused dedicated PRBs stay unused.
#[derive(Clone, Debug)]
pub struct Quotas {
    quotas: Vec<Quota>,
    /// The average share of each group, then that of UEs without a group.
    averages: Vec<f64>,
    order: Vec<usize>,
}

impl Quotas {
    /// Creates the scheduler of groups with these quotas.
    #[must_use]
    pub fn new(quotas: Vec<Quota>) -> Self {
        Quotas { averages: vec![0.0; quotas.len() + 1], order: Vec::new(), quotas }
    }

    fn max(&self, group: usize, prbs: u32) -> u32 {
        self.quotas.get(group).map_or(prbs, |quota| prbs * quota.max_percent.min(100) / 100)
    }
}

impl SliceScheduler for Quotas {
    fn slices(&self) -> usize {
        self.quotas.len()
    }

    fn divide(&mut self, demand: &SlotDemand<'_>, shares: &mut Vec<SliceShare>) {
        let SlotDemand { prbs, wanted, ues } = *demand;
        let of = |percent: u32| prbs * percent.min(100) / 100;
        let mut left = prbs;
        let first = shares.len();
        for (slice, quota) in (0u32..).zip(&self.quotas) {
            let least = of(quota.min_percent.max(quota.dedicated_percent)).min(of(quota.max_percent));
            let had = least.min(wanted[slice as usize]).min(left);
            shares.push(SliceShare { slice, prbs: had });
            left -= had;
        }
        for (quota, share) in self.quotas.iter().zip(&shares[first..]) {
            left = left.saturating_sub(of(quota.dedicated_percent).saturating_sub(share.prbs));
        }
        self.order.clear();
        self.order.extend((0..wanted.len()).filter(|group| wanted[*group] > 0));
        let averages = &self.averages;
        let had_each = |group: usize| averages[group] / f64::from(ues[group].max(1));
        self.order.sort_by(|a, b| had_each(*a).total_cmp(&had_each(*b)));
        for group in &self.order {
            let had = shares[first..]
                .get(*group)
                .filter(|share| share.slice as usize == *group && *group < self.quotas.len());
            let had = had.map_or(0, |share| share.prbs);
            let more = (wanted[*group] - had).min(self.max(*group, prbs).saturating_sub(had)).min(left);
            if more > 0 {
                shares.push(SliceShare { slice: *group as u32, prbs: more });
                left -= more;
            }
        }
    }

    fn account(&mut self, prbs: u32, length: f64, allocations: &[Allocation]) {
        for (average, allocation) in self.averages.iter_mut().zip(allocations) {
            *average += SMOOTHING * length * (f64::from(allocation.prbs) / f64::from(prbs.max(1)) - *average);
        }
    }
}
