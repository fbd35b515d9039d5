//! UE schedulers: which UE of a slice gets how many of its resource blocks.

use super::{Candidate, Grant};

/// A UE scheduler.
pub trait UeScheduler: Send {
    /// Divides up to so many resource blocks among candidates, which all want some; how many were given. It may change the
    /// candidates' order.
    fn schedule(&mut self, prbs: u32, candidates: &mut [Candidate], grants: &mut Vec<Grant>) -> u32;
}

/// The UE scheduler of that name: `RR`, `PF` or `MT` (maximum throughput, max C/I); without a name it is `PF`.
#[must_use]
pub fn ue_scheduler(name: &str) -> Option<Box<dyn UeScheduler>> {
    match name {
        "RR" => Some(Box::new(RoundRobin::default())),
        "" | "PF" => Some(Box::new(ProportionalFair)),
        "MT" => Some(Box::new(MaxCi::default())),
        _ => None,
    }
}

/// Gives to the UE with the largest metric what it wants, then to the next.
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
            grants.push(Grant { ue, slice, prbs, is_again: false });
            left -= prbs;
        }
        let last = rest.len() - 1;
        rest.swap(best, last);
        rest = &mut rest[..last];
    }
    prbs - left
}

/// Orders candidates from the one on whose turn it is.
fn in_turn(next: u32, candidates: &mut [Candidate]) {
    candidates.sort_unstable_by_key(|candidate| (candidate.ue < next, candidate.ue));
}

/// Each in turn: a slot is divided evenly among those that want it, and who is first changes.
#[derive(Clone, Copy, Debug, Default)]
pub struct RoundRobin {
    next: u32,
}

impl UeScheduler for RoundRobin {
    fn schedule(&mut self, prbs: u32, candidates: &mut [Candidate], grants: &mut Vec<Grant>) -> u32 {
        let mut left = prbs;
        in_turn(self.next, candidates);
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
                // who has some already can use any number more
                candidate.least_prbs = 0;
                left -= given;
                open += u32::from(candidate.prbs > 0);
                match grants[first..].iter_mut().find(|grant| grant.ue == candidate.ue) {
                    Some(grant) => grant.prbs += given,
                    None => {
                        let Candidate { ue, slice, .. } = *candidate;
                        grants.push(Grant { ue, slice, prbs: given, is_again: false });
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

/// An average counts as this much at least, in octets a slot: who got nothing comes first, but not without measure. In a small
/// cell with many UEs, averages are well below one octet.
const LEAST_OCTETS: f32 = 1e-6;

/// Who could get most, measured by what he got of late.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProportionalFair;

impl UeScheduler for ProportionalFair {
    fn schedule(&mut self, prbs: u32, candidates: &mut [Candidate], grants: &mut Vec<Grant>) -> u32 {
        by_metric(prbs, candidates, grants, |candidate| {
            candidate.preference * candidate.rate_octets as f32 / candidate.average_octets.max(LEAST_OCTETS)
        })
    }
}

/// Who could get most. Those that could get as much as each other are first in turn.
#[derive(Clone, Copy, Debug, Default)]
pub struct MaxCi {
    next: u32,
}

impl UeScheduler for MaxCi {
    fn schedule(&mut self, prbs: u32, candidates: &mut [Candidate], grants: &mut Vec<Grant>) -> u32 {
        in_turn(self.next, candidates);
        let first = grants.len();
        let given =
            by_metric(prbs, candidates, grants, |candidate| candidate.preference * candidate.rate_octets as f32);
        self.next = grants.get(first).map_or(0, |grant| grant.ue + 1);
        given
    }
}
