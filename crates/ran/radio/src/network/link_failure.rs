//! Radio link monitoring (TS 38.331 5.3.10, TS 38.133 8.1): out-of-sync and in-sync indications, N310, N311 and T310.
//!
//! The UE evaluates the SINR of its serving cell over the last 200 ms against Qout and over the last 100 ms against Qin, and has
//! an indication in each epoch, which is the shortest interval of indications.

use super::LinkFailureConfig;
use crate::Time;
use crate::phy::{decibels, linear};

/// The evaluation periods of out-of-sync and in-sync, in epochs.
const OUT_OF_SYNC_EPOCHS: usize = 20;
const IN_SYNC_EPOCHS: usize = 10;

/// The radio link monitoring of a UE in its cell.
#[derive(Clone, Debug)]
pub(super) struct LinkMonitor {
    /// The SINRs of the last epochs, linear, a ring.
    samples: [f32; OUT_OF_SYNC_EPOCHS],
    count: u32,
    /// Consecutive out-of-sync indications, or in-sync indications while T310 runs.
    indications: u8,
    /// When T310 expires, while it runs.
    t310: Option<Time>,
}

impl Default for LinkMonitor {
    fn default() -> Self {
        LinkMonitor { samples: [0.0; OUT_OF_SYNC_EPOCHS], count: 0, indications: 0, t310: None }
    }
}

impl LinkMonitor {
    /// The earliest epoch, from `next` on, in which the link can fail.
    pub fn next_failure(&self, next: Time, config: &LinkFailureConfig) -> Time {
        self.t310.unwrap_or(next + config.t310)
    }

    /// Adds the SINR of an epoch. Returns whether the radio link has failed: T310 has expired.
    pub fn update(&mut self, now: Time, sinr_db: f64, config: &LinkFailureConfig) -> bool {
        let at = self.count as usize % OUT_OF_SYNC_EPOCHS;
        self.samples[at] = linear(sinr_db) as f32;
        self.count += 1;
        if (self.count as usize) < OUT_OF_SYNC_EPOCHS {
            return false;
        }
        if self.t310.is_none() {
            let mean = self.samples.iter().sum::<f32>() / OUT_OF_SYNC_EPOCHS as f32;
            let is_out_of_sync = decibels(f64::from(mean)) < config.out_of_sync_db;
            self.indications = if is_out_of_sync { self.indications.saturating_add(1) } else { 0 };
            if self.indications >= config.n310.max(1) {
                self.t310 = Some(now + config.t310);
                self.indications = 0;
            }
        } else {
            let recent =
                (0..IN_SYNC_EPOCHS).map(|back| self.samples[(at + OUT_OF_SYNC_EPOCHS - back) % OUT_OF_SYNC_EPOCHS]);
            let mean = recent.sum::<f32>() / IN_SYNC_EPOCHS as f32;
            let is_in_sync = decibels(f64::from(mean)) > config.in_sync_db;
            self.indications = if is_in_sync { self.indications.saturating_add(1) } else { 0 };
            if self.indications >= config.n311.max(1) {
                (self.t310, self.indications) = (None, 0);
            }
        }
        self.t310.is_some_and(|expiry| expiry <= now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// When the link fails, in ms, within 10 s.
    fn failure_ms(config: &LinkFailureConfig, sinr_db: impl Fn(u64) -> f64) -> Option<u64> {
        let mut monitor = LinkMonitor::default();
        (0..1000).map(|epoch| 10 * epoch).find(|ms| monitor.update(Time::from_millis(*ms), sinr_db(*ms), config))
    }

    #[test]
    fn link_fails_when_t310_expires() {
        let config = LinkFailureConfig::default();
        // the first indication after 200 ms, T310 after it
        assert_eq!(failure_ms(&config, |_| -9.0), Some(190 + 1000));
        assert_eq!(failure_ms(&config, |_| -7.9), None);
        assert_eq!(failure_ms(&LinkFailureConfig { n310: 10, ..config }, |_| -9.0), Some(280 + 1000));
        let from = |ms: u64| move |at: u64| if at < ms { 20.0 } else { -20.0 };
        // the mean over 200 ms falls below -8 dB with the last of 20 samples
        assert_eq!(failure_ms(&config, from(3000)), Some(3000 + 190 + 1000));
    }

    #[test]
    fn in_sync_indications_stop_t310() {
        let config = LinkFailureConfig::default();
        let recovers = |from: u64, sinr_db: f64| move |at: u64| if at < from { -9.0 } else { sinr_db };
        assert_eq!(failure_ms(&config, recovers(1000, -5.9)), None);
        assert_eq!(failure_ms(&config, recovers(1000, -6.1)), Some(1190), "above Qout and below Qin: T310 runs on");
        assert_eq!(failure_ms(&config, recovers(1150, -5.0)), Some(1190), "too late");
        assert_eq!(failure_ms(&LinkFailureConfig { n311: 20, ..config }, recovers(1000, -5.0)), Some(1190));
    }
}
