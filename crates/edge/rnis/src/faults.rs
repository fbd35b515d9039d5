//! Which of many equal faults are logged.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts faults of a kind, and decides which of them are logged: the first one, and whenever their number has doubled.
#[derive(Debug, Default)]
pub struct Faults(AtomicU64);

impl Faults {
    /// Counts a fault. Returns the number of faults if it is logged.
    pub fn count(&self) -> Option<u64> {
        let faults = self.0.fetch_add(1, Ordering::Relaxed) + 1;
        faults.is_power_of_two().then_some(faults)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_fault_and_each_doubling_are_logged() {
        let faults = Faults::default();
        let logged: Vec<u64> = (0..1000).filter_map(|_| faults.count()).collect();
        assert_eq!(logged, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]);
    }
}
