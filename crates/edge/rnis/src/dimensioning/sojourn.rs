//! The queue of an instance, and the share that keeps its latency below a target.
//!
//! An event is a batch of `b` notifications, each of which costs `c` of processor time. With a share of `s` processors a batch takes
//! `b*c/s`, and the instance is busy for the part `a/s` of the time, where `a` is the load: notifications per second times `c`. Batches of
//! equal size that come at random are a queue M/D/1. Its waiting time has an exponential tail: in heavy traffic it exceeds `t` with
//! probability `exp(-2 (1 - a/s) t / (b*c/s))` (Kingman's limit for a deterministic service). So 99 % of the batches are through within
//!
//! ```text
//! (b*c/s) (1 + k a/s / (1 - a/s)),   k = ln(100)/2
//! ```
//!
//! where the factor `a/s` makes the waiting time vanish with the load, as it does. To keep that below a target `T` is a quadratic equation
//! in `s`.

use std::time::Duration;

/// ln(100)/2: the tail beyond which one of a hundred batches waits.
const TAIL: f64 = 2.302_585;

/// The share, in processors, with which 99 % of the batches are through within `target`.
///
/// `load` is the processor time that arrives in a second, in processors; `batch` that of a batch, in seconds.
#[must_use]
pub fn share_for(load: f64, batch: f64, target: Duration) -> f64 {
    let target = target.as_secs_f64().max(1e-6);
    // T s^2 - (T a + B) s - (k - 1) a B = 0
    let linear = target * load + batch;
    (linear + (linear * linear + 4.0 * target * (TAIL - 1.0) * load * batch).sqrt()) / (2.0 * target)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The latency that the formula at the top predicts, in seconds.
    fn p99_s(load: f64, batch: f64, share: f64) -> f64 {
        let part = load / share;
        batch / share * (1.0 + TAIL * part / (1.0 - part))
    }

    #[test]
    fn share_meets_the_target_exactly() {
        for (load, batch) in [(0.001, 0.000_02), (0.1, 0.001), (0.5, 0.001), (1.0, 0.001), (2.0, 0.01)] {
            for target_ms in [1, 10, 100] {
                let target = Duration::from_millis(target_ms);
                let share = share_for(load, batch, target);
                assert!(share > load, "{load} {batch} {target_ms}: {share}");
                let p99_s = p99_s(load, batch, share);
                assert!((p99_s / target.as_secs_f64() - 1.0).abs() < 1e-6, "{load} {batch} {target_ms}: {p99_s}");
            }
        }
        assert_eq!(share_for(0.0, 0.0, Duration::from_millis(10)), 0.0);
    }

    /// The formula against a queue of batches at random times, whose service is deterministic.
    #[test]
    fn simulated_queue_keeps_the_target() {
        let mut random = 7u64;
        let mut uniform = || {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            (random >> 11) as f64 / (1u64 << 53) as f64
        };
        for (load, batch, target_ms) in [(0.1, 0.001, 10), (0.6, 0.001, 10), (0.05, 0.002, 50), (0.9, 0.0005, 5)] {
            let share = share_for(load, batch, Duration::from_millis(target_ms));
            let (mut now, mut free, mut latencies) = (0.0_f64, 0.0_f64, Vec::new());
            for _ in 0..200_000 {
                now -= (1.0 - uniform()).ln() * batch / load;
                free = free.max(now) + batch / share;
                latencies.push(free - now);
            }
            latencies.sort_by(f64::total_cmp);
            let p99_ms = latencies[latencies.len() * 99 / 100] * 1e3;
            let target_ms = target_ms as f64;
            assert!(p99_ms < 1.1 * target_ms, "{load} {batch}: {p99_ms} of {target_ms}");
            // it is no waste either
            assert!(p99_ms > 0.3 * target_ms, "{load} {batch}: {p99_ms} of {target_ms}");
        }
    }
}
