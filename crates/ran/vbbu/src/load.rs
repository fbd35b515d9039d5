//! What a subframe costs: resource blocks and MCS of the emulated cell, and how the work is divided among the threads.

use radio::phy::{Direction, McsTable};
use radio::{Cell, PrbUsage};

use crate::threads::Role;

/// The load of one subframe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SubframeLoad {
    /// Used resource blocks of the downlink, retransmissions included.
    pub dl_prbs: u8,
    /// The mean MCS on them.
    pub dl_mcs: u8,
    /// Used resource blocks of the uplink.
    pub ul_prbs: u8,
    /// The mean MCS on them.
    pub ul_mcs: u8,
}

impl SubframeLoad {
    pub(crate) fn to_word(self) -> u64 {
        u32::from_le_bytes([self.dl_prbs, self.dl_mcs, self.ul_prbs, self.ul_mcs]).into()
    }

    pub(crate) fn from_word(word: u64) -> Self {
        let [dl_prbs, dl_mcs, ul_prbs, ul_mcs, ..] = word.to_le_bytes();
        SubframeLoad { dl_prbs, dl_mcs, ul_prbs, ul_mcs }
    }
}

/// Reads the load of each slot from the counters of a cell.
#[derive(Debug, Default)]
pub(crate) struct LoadMeter {
    before: [PrbUsage; 2],
    mcs_prbs: [[u64; 32]; 2],
}

impl LoadMeter {
    /// The load since the last call, which was one slot before.
    pub fn read(&mut self, cell: &Cell) -> SubframeLoad {
        let mut of = |direction: Direction| {
            let index = direction as usize;
            let usage = cell.usage(direction);
            let used = usage.since(&self.before[index]);
            self.before[index] = *usage;
            let mut sums = [0_u64; 32];
            for (_, ue) in cell.ues() {
                let counts = if direction == Direction::Downlink { ue.downlink() } else { ue.uplink() }.counts();
                for layer in &counts.mcs_prbs {
                    sums.iter_mut().zip(layer).for_each(|(sum, prbs)| *sum += prbs);
                }
            }
            let (mut prbs, mut weighted) = (0, 0);
            for (mcs, (sum, before)) in sums.iter().zip(&self.mcs_prbs[index]).enumerate() {
                // sums fall when a UE leaves
                let new = sum.saturating_sub(*before);
                (prbs, weighted) = (prbs + new, weighted + new * mcs as u64);
            }
            self.mcs_prbs[index] = sums;
            let blocks = used.used_elements.checked_div(used.elements_per_prb).unwrap_or(0);
            // at most 110 resource blocks and MCS 31
            (blocks.min(255) as u8, weighted.checked_div(prbs).unwrap_or(0).min(31) as u8)
        };
        let ((dl_prbs, dl_mcs), (ul_prbs, ul_mcs)) = (of(Direction::Downlink), of(Direction::Uplink));
        SubframeLoad { dl_prbs, dl_mcs, ul_prbs, ul_mcs }
    }
}

/// How the time of a fully loaded subframe is divided: fixed work, and work by resource blocks and by coded bits of each direction.
/// The sum over all threads is 1. Decoding has the largest part, as the literature on software base stations finds.
struct Shares {
    fixed: f64,
    ul_prbs: f64,
    ul_bits: f64,
    dl_prbs: f64,
    dl_bits: f64,
}

fn shares(role: Role, is_transform_elsewhere: bool) -> Shares {
    let none = Shares { fixed: 0.0, ul_prbs: 0.0, ul_bits: 0.0, dl_prbs: 0.0, dl_bits: 0.0 };
    // in split 7.1 the radio unit has the transforms
    let transform = if is_transform_elsewhere { 0.0 } else { 0.1 };
    match role {
        Role::RadioUnit => Shares { fixed: 0.3, ..none },
        Role::FrontEndReceive => Shares { fixed: transform, ul_prbs: 0.05, ..none },
        Role::L1L2 => Shares { fixed: 0.05, ul_bits: 0.27, dl_bits: 0.08, ..none },
        Role::FrontEndTransmit => Shares { fixed: transform, dl_prbs: 0.05, ..none },
        _ => none,
    }
}

/// The time that a subframe takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget {
    /// The work of all real-time threads in a subframe with all resource blocks at the highest MCS, in us.
    pub full_us: f64,
    /// The resource blocks of the carrier, down and up.
    pub prbs: (u32, u32),
    /// Split 7.1: the transforms are in the radio unit.
    pub is_transform_elsewhere: bool,
}

impl Budget {
    /// The work of a thread in a subframe, in ns.
    #[must_use]
    pub fn work_ns(&self, role: Role, load: SubframeLoad) -> f64 {
        let share = shares(role, self.is_transform_elsewhere);
        let part = |used: u8, of: u32| f64::from(used) / f64::from(of.max(1));
        let (dl, ul) = (part(load.dl_prbs, self.prbs.0), part(load.ul_prbs, self.prbs.1));
        let bits = |prbs: f64, mcs: u8| prbs * efficiency(mcs) / efficiency(u8::MAX);
        let part = share.fixed
            + share.ul_prbs * ul
            + share.ul_bits * bits(ul, load.ul_mcs)
            + share.dl_prbs * dl
            + share.dl_bits * bits(dl, load.dl_mcs);
        part * self.full_us * 1000.0
    }
}

/// Bits per resource element of an MCS; the highest one's for a number above it.
fn efficiency(mcs: u8) -> f64 {
    let table = McsTable::Qam64.modulations();
    table[usize::from(mcs).min(table.len() - 1)].efficiency()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUDGET: Budget = Budget { full_us: 600.0, prbs: (25, 25), is_transform_elsewhere: false };
    const REAL_TIME: [Role; 4] = [Role::RadioUnit, Role::FrontEndReceive, Role::L1L2, Role::FrontEndTransmit];

    fn all_ns(budget: Budget, load: SubframeLoad) -> f64 {
        REAL_TIME.iter().map(|role| budget.work_ns(*role, load)).sum()
    }

    #[test]
    fn full_subframe_takes_the_budget() {
        let full = SubframeLoad { dl_prbs: 25, dl_mcs: 28, ul_prbs: 25, ul_mcs: 28 };
        assert!((all_ns(BUDGET, full) - 600_000.0).abs() < 1.0);
    }

    #[test]
    fn work_follows_resource_blocks_and_mcs() {
        let of = |prbs, mcs| all_ns(BUDGET, SubframeLoad { dl_prbs: prbs, dl_mcs: mcs, ul_prbs: prbs, ul_mcs: mcs });
        assert!(of(0, 0) < of(10, 10) && of(10, 10) < of(20, 10) && of(20, 10) < of(20, 25));
    }

    #[test]
    fn load_survives_its_word() {
        let load = SubframeLoad { dl_prbs: 110, dl_mcs: 28, ul_prbs: 1, ul_mcs: 31 };
        assert_eq!(SubframeLoad::from_word(load.to_word()), load);
    }
}
