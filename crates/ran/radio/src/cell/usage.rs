//! PRB usage of a cell.

/// PRB usage of one direction, accumulated since the model started.
///
/// A PRB has no duration (TS 38.211 4.4.4.4), so each is counted with its resource elements for data in its slot: a PRB of a
/// special slot counts as the part of a full one that it is. Usage (TS 28.552 5.1.1.2: used over available PRBs) then means the
/// same as a share of the slice schedulers, and as a share of the capacity, in slots of any kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrbUsage {
    /// Resource elements for data of one resource block, over all slots.
    pub elements_per_prb: u64,
    /// Those of the available resource blocks.
    pub elements: u64,
    /// Those of the allocated resource blocks.
    pub used_elements: u64,
    /// Slots by the percentage of their resource blocks that was allocated: 0 to 100.
    pub slots: [u64; 101],
    /// Slots that the scheduler has divided. Uplink slots are scheduled ahead of time.
    pub scheduled_slots: u64,
}

impl Default for PrbUsage {
    fn default() -> Self {
        PrbUsage { elements_per_prb: 0, elements: 0, used_elements: 0, slots: [0; 101], scheduled_slots: 0 }
    }
}

impl PrbUsage {
    /// Counts a slot with `elements` resource elements for data in each resource block.
    pub(super) fn count(&mut self, used: u32, of: u32, elements: u32) {
        self.elements_per_prb += u64::from(elements);
        self.elements += u64::from(of) * u64::from(elements);
        self.used_elements += u64::from(used) * u64::from(elements);
        self.slots[(used * 100).div_ceil(of.max(1)).min(100) as usize] += 1;
    }

    /// The difference to an earlier snapshot.
    #[must_use]
    pub fn since(&self, before: &PrbUsage) -> PrbUsage {
        PrbUsage {
            elements_per_prb: self.elements_per_prb - before.elements_per_prb,
            elements: self.elements - before.elements,
            used_elements: self.used_elements - before.used_elements,
            slots: std::array::from_fn(|percent| self.slots[percent] - before.slots[percent]),
            scheduled_slots: self.scheduled_slots - before.scheduled_slots,
        }
    }

    /// The used part of the resource blocks, 0 to 1; 0 without any.
    #[must_use]
    pub fn used_share(&self) -> f64 {
        self.used_elements as f64 / self.elements.max(1) as f64
    }

    /// The number of slots.
    #[must_use]
    pub fn count_slots(&self) -> u64 {
        self.slots.iter().sum()
    }

    /// The number of slots whose usage was at least `from` and below `to`, in percent.
    #[must_use]
    pub fn between(&self, from: f64, to: f64) -> u64 {
        let is_in = |percent: usize| (from..to).contains(&(percent as f64));
        (0..=100).filter(|percent| is_in(*percent)).map(|percent| self.slots[percent]).sum()
    }

    /// The lowest usage of any slot, in percent.
    #[must_use]
    pub fn min(&self) -> Option<u32> {
        self.slots.iter().position(|slots| *slots > 0).map(|percent| percent as u32)
    }

    /// The highest usage of any slot, in percent.
    #[must_use]
    pub fn max(&self) -> Option<u32> {
        self.slots.iter().rposition(|slots| *slots > 0).map(|percent| percent as u32)
    }
}
