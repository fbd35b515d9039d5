//! Medians and tails of what was measured.

/// Microseconds of the latest measurements; bounded.
#[derive(Debug, Default)]
pub struct Percentiles {
    values_us: Vec<u32>,
    next: usize,
}

/// Older measurements than these give way.
const KEPT: usize = 1 << 20;

impl Percentiles {
    pub fn add(&mut self, us: u64) {
        let us = u32::try_from(us).unwrap_or(u32::MAX);
        if self.values_us.len() < KEPT {
            self.values_us.push(us);
        } else {
            self.values_us[self.next] = us;
            self.next = (self.next + 1) % KEPT;
        }
    }

    /// The values below which the given shares of all lie, in per cent; zeros where there is none.
    pub fn at<const N: usize>(&self, shares: [u32; N]) -> [u32; N] {
        let mut sorted = self.values_us.clone();
        sorted.sort_unstable();
        shares.map(|share| {
            let place = (sorted.len() * share as usize / 100).min(sorted.len().saturating_sub(1));
            sorted.get(place).copied().unwrap_or(0)
        })
    }
}
