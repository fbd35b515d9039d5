//! UE schedulers: they divide the resource blocks of a slice among its UEs.

use super::{Candidate, Grant};

/// Divides resource blocks among the UEs of a slice.
pub trait UeScheduler: Send {
    /// Allocates up to `prbs` resource blocks to candidates, each of which needs some, and returns how many were allocated.
    /// It may reorder the candidates.
    fn schedule(&mut self, prbs: u32, candidates: &mut [Candidate], grants: &mut Vec<Grant>) -> u32;
}

/// Returns the UE scheduler with a name: `RR`, `PF` or `MT` (maximum throughput, max C/I); the empty name is `PF`.
#[must_use]
pub fn ue_scheduler(name: &str) -> Option<Box<dyn UeScheduler>> {
    match name {
        "RR" => Some(Box::new(RoundRobin::default())),
        "" | "PF" => Some(Box::new(ProportionalFair)),
        "MT" => Some(Box::new(MaximumThroughput::default())),
        _ => None,
    }
}

/// Serves candidates in descending order of a metric, each completely.
fn by_metric(
    prbs: u32,
    candidates: &mut [Candidate],
    grants: &mut Vec<Grant>,
    metric: impl Fn(&Candidate) -> f32,
) -> u32 {
    let mut left = prbs;
    let mut rest = candidates;
    while left > 0 {
        let better = |best: usize, at: usize| if metric(&rest[at]) > metric(&rest[best]) { at } else { best };
        let Some(best) = (0..rest.len()).reduce(better) else { break };
        let Candidate { ue, slice, prbs, least_prbs, .. } = rest[best];
        if least_prbs <= left {
            let prbs = prbs.min(left);
            grants.push(Grant { ue, slice, prbs, is_retransmission: false });
            left -= prbs;
        }
        let last = rest.len() - 1;
        rest.swap(best, last);
        rest = &mut rest[..last];
    }
    prbs - left
}

/// Rotates the order of candidates to begin at UE `next`.
fn rotate(next: u32, candidates: &mut [Candidate]) {
    candidates.sort_unstable_by_key(|candidate| (candidate.ue < next, candidate.ue));
}

/// Round robin: divides a slot evenly and rotates the order.
#[derive(Clone, Copy, Debug, Default)]
pub struct RoundRobin {
    next: u32,
}

impl UeScheduler for RoundRobin {
    fn schedule(&mut self, prbs: u32, candidates: &mut [Candidate], grants: &mut Vec<Grant>) -> u32 {
        let mut left = prbs;
        rotate(self.next, candidates);
        self.next = candidates.first().map_or(0, |candidate| candidate.ue + 1);
        let first = grants.len();
        let mut open = candidates.len() as u32;
        while left > 0 && open > 0 {
            let each = (left / open).max(1);
            open = 0;
            let before = left;
            for candidate in candidates.iter_mut() {
                let given = each.max(candidate.least_prbs).min(candidate.prbs).min(left);
                if given < candidate.least_prbs || given == 0 {
                    continue;
                }
                candidate.prbs -= given;
                // a UE with an allocation can use any further PRB
                candidate.least_prbs = 0;
                left -= given;
                open += u32::from(candidate.prbs > 0);
                match grants[first..].iter_mut().find(|grant| grant.ue == candidate.ue) {
                    Some(grant) => grant.prbs += given,
                    None => {
                        let Candidate { ue, slice, .. } = *candidate;
                        grants.push(Grant { ue, slice, prbs: given, is_retransmission: false });
                    }
                }
            }
            if left == before {
                break;
            }
        }
        prbs - left
    }
}

/// Lower bound of the average in the metric, in octets per slot: bounds the priority of a UE that received nothing. In a
/// small cell with many UEs, averages are well below one octet.
const MIN_AVERAGE_OCTETS: f32 = 1e-6;

/// Proportional fair: achievable rate over average rate.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProportionalFair;

impl UeScheduler for ProportionalFair {
    fn schedule(&mut self, prbs: u32, candidates: &mut [Candidate], grants: &mut Vec<Grant>) -> u32 {
        by_metric(prbs, candidates, grants, |candidate| {
            candidate.preference * candidate.rate_octets as f32 / candidate.average_octets.max(MIN_AVERAGE_OCTETS)
        })
    }
}

/// Maximum C/I: highest achievable rate first; UEs of equal rate take turns.
#[derive(Clone, Copy, Debug, Default)]
pub struct MaximumThroughput {
    next: u32,
}

impl UeScheduler for MaximumThroughput {
    fn schedule(&mut self, prbs: u32, candidates: &mut [Candidate], grants: &mut Vec<Grant>) -> u32 {
        rotate(self.next, candidates);
        let first = grants.len();
        let given =
            by_metric(prbs, candidates, grants, |candidate| candidate.preference * candidate.rate_octets as f32);
        self.next = grants.get(first).map_or(0, |grant| grant.ue + 1);
        given
    }
}
