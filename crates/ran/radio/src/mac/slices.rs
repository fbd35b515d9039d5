//! The slice scheduler trait, and the schedulers without state: no slices, static slices.

use super::Allocation;

/// The input of a slice scheduler for one slot.
#[derive(Clone, Copy, Debug)]
pub struct SlotDemand<'a> {
    /// Resource blocks of the slot.
    pub prbs: u32,
    /// Resource blocks that the backlog of each slice needs, retransmissions of this slot included; UEs without a slice
    /// last.
    pub wanted: &'a [u32],
    /// UEs with something to send, by slice.
    pub ues: &'a [u32],
}

/// The share of a slice in a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SliceShare {
    /// The slice; the number of slices for UEs without one.
    pub slice: u32,
    /// Upper bound of its resource blocks.
    pub prbs: u32,
}

/// Divides slots among slices.
pub trait SliceScheduler: Send {
    /// The number of slices.
    fn slices(&self) -> usize;

    /// Divides a slot. Shares are served in order, each from the remaining resource blocks. A slice may have several.
    fn divide(&mut self, demand: &SlotDemand<'_>, shares: &mut Vec<SliceShare>);

    /// Reports the resource blocks that each slice received, and then those of UEs without a slice. Called once per slot;
    /// `length` is the capacity of the slot relative to a full one, 0 to 1.
    fn account(&mut self, prbs: u32, length: f64, allocations: &[Allocation]) {
        let _ = (prbs, length, allocations);
    }
}

/// No slices: all UEs share the carrier.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoSlices;

impl SliceScheduler for NoSlices {
    fn slices(&self) -> usize {
        0
    }

    fn divide(&mut self, demand: &SlotDemand<'_>, shares: &mut Vec<SliceShare>) {
        shares.push(SliceShare { slice: 0, prbs: demand.prbs });
    }
}

/// A range of resource block groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Positions {
    /// The first group.
    pub low: u32,
    /// The last group, inclusive.
    pub high: u32,
}

/// Static slices: unused resource blocks of a slice stay unused. UEs without a slice share those that belong to no slice.
#[derive(Clone, Debug)]
pub struct StaticSlices {
    prbs: Vec<u32>,
    rest: u32,
}

impl StaticSlices {
    /// Creates static slices of a carrier with `carrier_prbs` resource blocks in groups of `group_prbs`.
    ///
    /// # Panics
    /// When `group_prbs` is 0.
    #[must_use]
    pub fn new(positions: &[Positions], carrier_prbs: u32, group_prbs: u32) -> Self {
        assert!(group_prbs > 0, "a group has at least one resource block");
        let edge = |group: u32| group.saturating_mul(group_prbs).min(carrier_prbs);
        let prbs: Vec<u32> =
            positions.iter().map(|at| edge(at.high.saturating_add(1)).saturating_sub(edge(at.low))).collect();
        let rest = carrier_prbs.saturating_sub(prbs.iter().sum());
        StaticSlices { prbs, rest }
    }
}

impl SliceScheduler for StaticSlices {
    fn slices(&self) -> usize {
        self.prbs.len()
    }

    fn divide(&mut self, _demand: &SlotDemand<'_>, shares: &mut Vec<SliceShare>) {
        let all = self.prbs.iter().chain([&self.rest]);
        shares.extend(all.zip(0..).map(|(prbs, slice)| SliceShare { slice, prbs: *prbs }));
    }
}
