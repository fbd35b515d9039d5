//! The rate of requests: of each host, and of each token. Services limit rates of their own with it.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::{Duration, Instant};

/// The most keys that are remembered. Those that have not used their rate are forgotten first.
const MAX_KEYS: usize = 4096;

/// Limits the rate of each key by the generic cell rate algorithm (ITU-T I.371): a steady rate, and bursts of one second of it.
#[derive(Debug)]
pub struct RateLimit<K> {
    /// The time that one request takes of the rate.
    interval: Duration,
    /// The time at which the rate of a key is unused again.
    unused_at: HashMap<K, Instant>,
}

/// The burst that a key may have.
const BURST: Duration = Duration::from_secs(1);

impl<K: Eq + Hash> RateLimit<K> {
    /// A limit of requests per second.
    #[must_use]
    pub fn new(per_second: u32) -> Self {
        RateLimit { interval: Duration::from_secs(1) / per_second.max(1), unused_at: HashMap::new() }
    }

    /// Counts a request.
    ///
    /// # Errors
    /// The time after which it would be allowed.
    pub fn take(&mut self, key: K, now: Instant) -> Result<(), Duration> {
        if !self.unused_at.contains_key(&key) && self.unused_at.len() >= MAX_KEYS {
            self.unused_at.retain(|_, unused_at| *unused_at > now);
            if self.unused_at.len() >= MAX_KEYS {
                return Err(BURST);
            }
        }
        let unused_at = self.unused_at.entry(key).or_insert(now);
        let next = (*unused_at).max(now) + self.interval;
        let excess = next.duration_since(now).saturating_sub(BURST.max(self.interval));
        if !excess.is_zero() {
            return Err(excess);
        }
        *unused_at = next;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_has_a_burst_of_a_second_and_then_its_rate() {
        let (mut limit, start) = (RateLimit::new(10), Instant::now());
        assert_eq!((0..20).filter(|_| limit.take("a", start).is_ok()).count(), 10);
        assert_eq!(limit.take("a", start), Err(Duration::from_millis(100)));
        assert_eq!(limit.take("b", start), Ok(()));
        let later = start + Duration::from_millis(250);
        assert_eq!((0..20).filter(|_| limit.take("a", later).is_ok()).count(), 2);
        // a second without requests restores the burst, and no more
        let later = start + Duration::from_secs(60);
        assert_eq!((0..20).filter(|_| limit.take("a", later).is_ok()).count(), 10);
    }

    #[test]
    fn keys_are_bounded_and_unused_ones_are_forgotten() {
        let (mut limit, start) = (RateLimit::new(10), Instant::now());
        for key in 0..MAX_KEYS {
            assert_eq!(limit.take(key, start), Ok(()));
        }
        assert!(limit.take(MAX_KEYS, start).is_err());
        assert_eq!(limit.take(MAX_KEYS, start + BURST), Ok(()));
        assert_eq!(limit.unused_at.len(), 1);
    }

    #[test]
    fn slow_rate_allows_one_request() {
        let (mut limit, start) = (RateLimit::new(1), Instant::now());
        assert_eq!(limit.take("a", start), Ok(()));
        assert_eq!(limit.take("a", start), Err(Duration::from_secs(1)));
        assert_eq!(limit.take("a", start + Duration::from_secs(1)), Ok(()));
    }
}
