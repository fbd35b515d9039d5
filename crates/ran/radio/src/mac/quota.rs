//! Quotas: what part of the resource blocks is kept for groups of UEs, or denied them (RRM policies, TS 28.541 4.3.36; slice
//! level PRB quotas, O-RAN E2SM-RC control style 2).

use super::nvs::SMOOTHING;
use super::{Division, Got, Share, SliceScheduler};

/// What part of the resource blocks a group has, in percent: the dedicated part is part of the least, which is part of the
/// most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// What nobody else gets.
    pub dedicated_percent: u32,
    /// What it gets where it wants it.
    pub min_percent: u32,
    /// The most that it gets.
    pub max_percent: u32,
}

/// The quotas of groups. First each gets what it is to have at least; what is left goes to the groups, and UEs in none,
/// that have got least for each of their UEs, up to what each may have at most. What is dedicated and not used stays unused.
#[derive(Clone, Debug)]
pub struct Quotas {
    quotas: Vec<Quota>,
    /// The share of each group's UEs of late; that of UEs in none last.
    averages: Vec<f64>,
    order: Vec<usize>,
}

impl Quotas {
    /// Groups with those quotas.
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

    fn divide(&mut self, division: &Division<'_>, shares: &mut Vec<Share>) {
        let Division { prbs, wanted, ues } = *division;
        let of = |percent: u32| prbs * percent.min(100) / 100;
        let mut left = prbs;
        let first = shares.len();
        for (slice, quota) in (0u32..).zip(&self.quotas) {
            let least = of(quota.min_percent.max(quota.dedicated_percent)).min(of(quota.max_percent));
            let had = least.min(wanted[slice as usize]).min(left);
            shares.push(Share { slice, prbs: had });
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
                shares.push(Share { slice: *group as u32, prbs: more });
                left -= more;
            }
        }
    }

    fn account(&mut self, prbs: u32, length: f64, got: &[Got]) {
        for (average, got) in self.averages.iter_mut().zip(got) {
            *average += SMOOTHING * length * (f64::from(got.prbs) / f64::from(prbs.max(1)) - *average);
        }
    }
}
