//! How much of the cell was used, step by step: how often each share of its blocks.

/// Steps in which so many percent of the blocks were given: 0 to 100.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage([u64; 101]);

impl Default for Usage {
    fn default() -> Self {
        Usage([0; 101])
    }
}

impl Usage {
    /// Counts a step.
    pub fn count(&mut self, given: u32, blocks: u32) {
        let percent = (100 * given).div_ceil(blocks.max(1)).min(100);
        self.0[percent as usize] += 1;
    }

    /// What was counted since.
    pub fn since(&self, before: &Usage) -> Usage {
        Usage(std::array::from_fn(|percent| self.0[percent].saturating_sub(before.0[percent])))
    }

    /// Steps with a share from `from` and below `to`, in percent.
    pub fn between(&self, from: f64, to: f64) -> u64 {
        let is_in = |percent: usize| (from..to).contains(&(percent as f64));
        (0..=100).filter(|percent| is_in(*percent)).map(|percent| self.0[percent]).sum()
    }

    /// The least share that there was, in percent.
    pub fn min(&self) -> Option<u32> {
        self.0.iter().position(|steps| *steps > 0).map(|percent| percent as u32)
    }

    /// The greatest.
    pub fn max(&self) -> Option<u32> {
        self.0.iter().rposition(|steps| *steps > 0).map(|percent| percent as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_counted() {
        let mut usage = Usage::default();
        assert_eq!((usage.min(), usage.max()), (None, None));
        usage.count(0, 106);
        let before = usage;
        for given in [53, 54, 106] {
            usage.count(given, 106);
        }
        let of_late = usage.since(&before);
        assert_eq!((of_late.min(), of_late.max(), usage.min()), (Some(50), Some(100), Some(0)));
        assert_eq!((of_late.between(0.0, 50.0), of_late.between(50.0, 101.0), of_late.between(50.0, 51.0)), (0, 3, 1));
    }
}
