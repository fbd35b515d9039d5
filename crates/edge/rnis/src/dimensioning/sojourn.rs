//! The queue of an instance, and the share that keeps its latency below a target.
//!
//! An event is a batch of `b` notifications, each of which costs `c` of processor time. With a share of `s` processors a batch takes
//! `X = b*c/s`, and the instance is busy for the part `p = a/s` of the time, where `a` is the load: notifications per second times `c`.
//! Batches of equal size that come at random are a queue M/D/1. A batch waits with probability `p`, and the waiting time has an
//! exponential tail, whose mean in heavy traffic is `X / (2 (1 - p))` (Kingman). So 99 % of the batches are through within
//!
//! ```text
//! X (1 + ln(100 p) / (2 (1 - p)))     where 100 p > 1, else X
//! ```
//!
//! A quota does not stop an instance at once: what it was granted and has not used is kept for a time `t`, so that a burst runs at the
//! speed of the host until it has used `s*t`. Such a quota is the queue above, whose waiting time counts from `t` on: a target `T` of the
//! latency, of which the batch itself takes `b*c` at the speed of the host, is kept if 99 % of the batches of the queue are through within
//! `T - b*c + t`. That is what [`share_for`] is given.
//!
//! In light traffic the tail is somewhat shorter than that. Batches that come at equal intervals do not wait at all: for them the share is
//! larger than necessary, by at most the factor that the waiting time has.

use std::time::Duration;

/// The part of the batches that may take longer.
const TAIL: f64 = 0.01;
/// Halvings of the interval that contains the share.
const HALVINGS: u32 = 50;

/// The time within which 99 % of the batches are through, in seconds; infinite if the share is below the load.
fn p99_s(load: f64, batch: f64, share: f64) -> f64 {
    let part = load / share;
    if part >= 1.0 {
        return f64::INFINITY;
    }
    batch / share * (1.0 + (part / TAIL).ln().max(0.0) / (2.0 * (1.0 - part)))
}

/// The share, in processors, with which 99 % of the batches are through within `target`.
///
/// `load` is the processor time that arrives in a second, in processors; `batch` that of a batch, in seconds.
#[must_use]
pub fn share_for(load: f64, batch: f64, target: Duration) -> f64 {
    let target = target.as_secs_f64().max(1e-6);
    // with the upper end a batch takes a tenth of the target, or the instance is busy for half of the time
    let (mut low, mut high) = (0.0, 2.0 * load + 10.0 * batch / target);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if p99_s(load, batch, middle) > target {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

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
        // a load that is no number that makes sense ends as well
        assert!(share_for(1e300, 1e300, Duration::ZERO) > 0.0);
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
