//! Shares of the resource blocks that are kept for slices, or denied them (TS 28.541 4.3.36).

use e2sm::common::SNssai;

use super::scheduler::{Demand, share_out};
use super::ue::Ue;

/// What share of the blocks some UEs have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quota {
    /// Their slices; no slice differentiator means all of that type. None at all: every UE.
    pub slices: Vec<SNssai>,
    /// What nobody else gets, in percent.
    pub dedicated_percent: u32,
    /// What they get where they want it, in percent.
    pub min_percent: u32,
    /// The most that they get, in percent.
    pub max_percent: u32,
}

impl Quota {
    fn is_of(&self, ue: &Ue) -> bool {
        let is_in =
            |slice: &SNssai| ue.slices().iter().any(|s| s.sst == slice.sst && (slice.sd.is_none() || s.sd == slice.sd));
        self.slices.is_empty() || self.slices.iter().any(is_in)
    }
}

/// The quotas of a direction. A UE counts for the first that it is in.
#[derive(Clone, Debug, Default)]
pub struct Quotas(pub Vec<Quota>);

/// As [`share_out`], within quotas: first what each is to have at least, then the rest, up to what each may have at
/// most. What is dedicated and not used stays unused.
pub fn share_out_within(quotas: &Quotas, blocks: u32, ues: &[Ue], demands: &[Demand], grants: &mut [u32]) {
    if quotas.0.is_empty() {
        return share_out(blocks, demands, grants);
    }
    let groups: Vec<Option<usize>> = ues.iter().map(|ue| quotas.0.iter().position(|quota| quota.is_of(ue))).collect();
    share_in_groups(quotas, blocks, &groups, demands, grants);
}

fn share_in_groups(quotas: &Quotas, blocks: u32, groups: &[Option<usize>], demands: &[Demand], grants: &mut [u32]) {
    let of = |percent: u32| blocks * percent.min(100) / 100;
    let mut round = vec![0; demands.len()];
    grants.fill(0);
    let mut left = blocks;
    let mut had = vec![0; quotas.0.len()];
    for (group, quota) in quotas.0.iter().enumerate() {
        let at_least = of(quota.min_percent.max(quota.dedicated_percent)).min(of(quota.max_percent)).min(left);
        had[group] = grant(at_least, |at| groups[at] == Some(group), demands, grants, &mut round);
        left -= had[group];
    }
    for (quota, had) in quotas.0.iter().zip(&had) {
        left = left.saturating_sub(of(quota.dedicated_percent).saturating_sub(*had));
    }
    // Who would get more of the rest than he may gets what he may, and the others share what is left then.
    let mut is_capped = vec![false; quotas.0.len()];
    loop {
        let is_open = |at: usize| groups[at].is_none_or(|group| !is_capped[group]);
        let open: Vec<Demand> = (0..demands.len()).map(|at| rest(&demands[at], grants[at], is_open(at))).collect();
        share_out(left, &open, &mut round);
        let over = (0..quotas.0.len()).find(|group| {
            let more: u32 = (0..demands.len()).filter(|at| groups[*at] == Some(*group)).map(|at| round[at]).sum();
            !is_capped[*group] && had[*group] + more > of(quotas.0[*group].max_percent)
        });
        let Some(group) = over else { break };
        is_capped[group] = true;
        let may = of(quotas.0[group].max_percent).saturating_sub(had[group]).min(left);
        left -= grant(may, |at| groups[at] == Some(group), demands, grants, &mut round);
    }
    grants.iter_mut().zip(&round).for_each(|(grant, more)| *grant += more);
}

/// What is left of a demand.
fn rest(demand: &Demand, granted: u32, is_open: bool) -> Demand {
    let blocks = if is_open { demand.blocks.saturating_sub(granted) } else { 0 };
    Demand { weight: if blocks > 0 { demand.weight } else { 0.0 }, blocks }
}

/// Shares out blocks among some, on top of what they have; how many that were.
fn grant(
    blocks: u32,
    is_meant: impl Fn(usize) -> bool,
    demands: &[Demand],
    grants: &mut [u32],
    round: &mut [u32],
) -> u32 {
    let open: Vec<Demand> = (0..demands.len()).map(|at| rest(&demands[at], grants[at], is_meant(at))).collect();
    share_out(blocks, &open, round);
    grants.iter_mut().zip(round.iter()).for_each(|(grant, more)| *grant += more);
    round.iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::random::Random;

    fn quota(dedicated_percent: u32, min_percent: u32, max_percent: u32) -> Quota {
        Quota { slices: Vec::new(), dedicated_percent, min_percent, max_percent }
    }

    /// Blocks that the UEs of each group get, those of none last; all weigh the same.
    fn shared(quotas: Vec<Quota>, wanted: &[(Option<usize>, u32)]) -> Vec<u32> {
        let groups: Vec<_> = wanted.iter().map(|(group, _)| *group).collect();
        let demands: Vec<_> = wanted.iter().map(|(_, blocks)| Demand { weight: 1.0, blocks: *blocks }).collect();
        let (mut grants, count) = (vec![0; demands.len()], quotas.len());
        share_in_groups(&Quotas(quotas), 100, &groups, &demands, &mut grants);
        assert!(grants.iter().zip(&demands).all(|(grant, demand)| *grant <= demand.blocks));
        let mut sums = vec![0; count + 1];
        groups.iter().zip(&grants).for_each(|(group, grant)| sums[group.unwrap_or(count)] += grant);
        sums
    }

    #[test]
    fn shares_are_kept_and_denied() {
        let (a, b, other) = (Some(0), Some(1), None);
        let two = || vec![quota(0, 60, 100), quota(0, 0, 30)];
        assert_eq!(shared(two(), &[(a, 500), (b, 500), (other, 500)]), [73, 14, 13], "60, and a third of the rest");
        assert_eq!(shared(two(), &[(a, 20), (b, 500), (other, 500)]), [20, 30, 50], "not more than it wants or may");
        assert_eq!(shared(two(), &[(b, 500)]), [0, 30, 0]);
        assert_eq!(shared(two(), &[(b, 500), (other, 20)]), [0, 30, 20]);
        let dedicated = || vec![quota(40, 40, 50)];
        assert_eq!(shared(dedicated(), &[(a, 5), (other, 500)]), [5, 60], "what is dedicated stays unused");
        assert_eq!(shared(dedicated(), &[(a, 500), (other, 500)]), [50, 50]);
        assert_eq!(shared(dedicated(), &[(a, 500)]), [50, 0]);
        assert_eq!(shared(vec![quota(0, 0, 0)], &[(a, 500), (other, 30)]), [0, 30]);
    }

    #[test]
    fn never_more_than_there_are() {
        let mut random = Random::new(4, 4);
        for _ in 0..5_000 {
            let mut percent = || (random.uniform() * 101.0) as u32;
            let quotas: Vec<_> = (0..3).map(|_| quota(percent() / 3, percent() / 3, percent())).collect();
            let wanted: Vec<_> =
                (0..20).map(|at: usize| ((at % 4 < 3).then_some(at % 4), random.exponential(8.0) as u32)).collect();
            let most: Vec<u32> = quotas.iter().map(|quota| quota.max_percent).collect();
            let sums = shared(quotas, &wanted);
            assert!(sums.iter().sum::<u32>() <= 100);
            assert!(sums.iter().zip(&most).all(|(sum, most)| sum <= most), "{sums:?} {most:?}");
        }
    }
}
