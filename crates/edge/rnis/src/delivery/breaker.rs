//! The circuit breaker of a subscription, and its pauses after failures.

use std::time::Duration;

use serde::Serialize;

use super::config::DeliveryConfig;

/// The shortest pause of an open breaker.
const OPEN: Duration = Duration::from_secs(1);

/// Whether notifications are sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum BreakerState {
    /// They are.
    #[default]
    Closed,
    /// They wait: the subscriber has failed several times.
    Open,
    /// One is sent as a probe. Its answer closes or opens the breaker.
    HalfOpen,
}

/// The failures in a row.
#[derive(Debug, Default)]
pub struct Breaker {
    failures: u32,
}

impl Breaker {
    /// Notes an answer.
    pub fn close(&mut self) {
        self.failures = 0;
    }

    /// Notes a failure. Returns how long nothing is sent. `random` is any number.
    pub fn note_failure(&mut self, config: &DeliveryConfig, random: u64) -> Duration {
        let doubled = 1u32.checked_shl(self.failures).unwrap_or(u32::MAX).max(1);
        self.failures = self.failures.saturating_add(1);
        let pause = config.first_pause.saturating_mul(doubled).min(config.longest_pause);
        let pause = if self.is_tripped(config) { pause.max(OPEN.min(config.longest_pause)) } else { pause };
        // subscribers that failed together are not called together again
        let percent = 50 + (random % 51) as u32;
        pause / 100 * percent
    }

    /// Whether the breaker is not closed.
    pub fn is_tripped(&self, config: &DeliveryConfig) -> bool {
        self.failures >= config.breaker_failures
    }

    /// The state, while a notification is in flight or not.
    pub fn state(&self, config: &DeliveryConfig, is_in_flight: bool) -> BreakerState {
        match (self.is_tripped(config), is_in_flight) {
            (false, _) => BreakerState::Closed,
            (true, false) => BreakerState::Open,
            (true, true) => BreakerState::HalfOpen,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_within_their_bounds_and_an_answer_ends_them() {
        let config = DeliveryConfig::default();
        let mut breaker = Breaker::default();
        let longest: Vec<u128> = (0..40).map(|_| breaker.note_failure(&config, 50).as_millis()).collect();
        assert_eq!(longest[..7], [100, 200, 400, 800, 1600, 3200, 6400]);
        assert!(longest[9..].iter().all(|pause| *pause == 30_000), "{longest:?}");
        assert_eq!(breaker.state(&config, false), BreakerState::Open);
        assert_eq!(breaker.state(&config, true), BreakerState::HalfOpen);
        breaker.close();
        assert_eq!(breaker.state(&config, false), BreakerState::Closed);
        assert_eq!(breaker.note_failure(&config, 51).as_millis(), 50);
    }

    #[test]
    fn breaker_opens_at_its_number_of_failures_with_a_pause_of_a_second() {
        let config = DeliveryConfig { breaker_failures: 2, ..DeliveryConfig::default() };
        let mut breaker = Breaker::default();
        breaker.note_failure(&config, 0);
        assert_eq!(breaker.state(&config, false), BreakerState::Closed);
        assert_eq!(breaker.note_failure(&config, 50).as_millis(), 1000);
        assert_eq!(breaker.state(&config, false), BreakerState::Open);
    }
}
