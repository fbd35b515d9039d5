//! Slice schedulers: what part of a slot's resource blocks goes to which slice.

use super::Got;

/// What there is to be divided, and among whom.
#[derive(Clone, Copy, Debug)]
pub struct Division<'a> {
    /// The slot's resource blocks.
    pub prbs: u32,
    /// How many would carry all that each slice has to send, what it sends again in this slot among it: 0 where it has
    /// nothing. Those of UEs in no slice are the last.
    pub wanted: &'a [u32],
    /// How many UEs of each have something to send.
    pub ues: &'a [u32],
}

/// A part of a slot for a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// The slice: as many as there are for UEs in none.
    pub slice: u32,
    /// At most so many resource blocks, as far as they are left.
    pub prbs: u32,
}

/// A slice scheduler.
pub trait SliceScheduler: Send {
    /// How many slices there are.
    fn slices(&self) -> usize;

    /// Divides a slot: the shares are served in their order, each from what is left. A slice may have several.
    fn divide(&mut self, division: &Division<'_>, shares: &mut Vec<Share>);

    /// What each slice, and UEs in none, got of a slot's resource blocks. Called once for each slot; `length` is that of a
    /// part of a whole slot, from 0 to 1.
    fn account(&mut self, prbs: u32, length: f64, got: &[Got]) {
        let _ = (prbs, length, got);
    }
}

/// No slices: all UEs share the cell.
#[derive(Clone, Copy, Debug, Default)]
pub struct Whole;

impl SliceScheduler for Whole {
    fn slices(&self) -> usize {
        0
    }

    fn divide(&mut self, division: &Division<'_>, shares: &mut Vec<Share>) {
        shares.push(Share { slice: 0, prbs: division.prbs });
    }
}

/// Places in the carrier, of groups of resource blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Positions {
    /// The first group.
    pub low: u32,
    /// The last: it belongs to the slice.
    pub high: u32,
}

/// Fixed places in the carrier: what a slice does not use of its own stays unused. UEs in no slice have what is no slice's.
#[derive(Clone, Debug)]
pub struct Fixed {
    prbs: Vec<u32>,
    rest: u32,
}

impl Fixed {
    /// Slices at those places of a carrier with so many resource blocks, in groups of so many.
    ///
    /// # Panics
    /// Where a group has no blocks.
    #[must_use]
    pub fn new(positions: &[Positions], carrier_prbs: u32, group_prbs: u32) -> Self {
        assert!(group_prbs > 0, "a group has a resource block");
        let edge = |group: u32| group.saturating_mul(group_prbs).min(carrier_prbs);
        let prbs: Vec<u32> =
            positions.iter().map(|at| edge(at.high.saturating_add(1)).saturating_sub(edge(at.low))).collect();
        let rest = carrier_prbs.saturating_sub(prbs.iter().sum());
        Fixed { prbs, rest }
    }
}

impl SliceScheduler for Fixed {
    fn slices(&self) -> usize {
        self.prbs.len()
    }

    fn divide(&mut self, _division: &Division<'_>, shares: &mut Vec<Share>) {
        let all = self.prbs.iter().chain([&self.rest]);
        shares.extend(all.zip(0..).map(|(prbs, slice)| Share { slice, prbs: *prbs }));
    }
}
