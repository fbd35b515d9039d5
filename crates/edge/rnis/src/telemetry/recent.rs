//! Latencies of the last seconds: a histogram for each second, used in turn.

use std::time::Instant;

use hdrhistogram::Histogram;
use serde::Serialize;

/// The seconds that are kept, the current one included.
const SECONDS: usize = 5;
/// The longest latency that is distinguished, in microseconds.
const MAX_US: u64 = 60_000_000;

/// The latencies of the last five seconds, from the reception of an event to the answer of a subscriber.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RecentLatency {
    /// Notifications.
    pub count: u64,
    /// The median, in microseconds; to 1 %.
    pub p50_us: u64,
    /// The 99th percentile.
    pub p99_us: u64,
    /// The longest.
    pub max_us: u64,
}

/// The histograms.
#[derive(Debug)]
pub struct Window {
    begun: Instant,
    /// The second that is counted now, since the beginning.
    second: u64,
    slots: [Histogram<u32>; SECONDS],
}

fn histogram() -> Histogram<u32> {
    Histogram::new_with_bounds(1, MAX_US, 2).unwrap_or_else(|error| panic!("the bounds are constants: {error}"))
}

impl Window {
    /// A window that begins now.
    pub fn new(now: Instant) -> Self {
        Window { begun: now, second: 0, slots: std::array::from_fn(|_| histogram()) }
    }

    /// Forgets the seconds that have left the window.
    fn advance(&mut self, now: Instant) {
        let second = now.saturating_duration_since(self.begun).as_secs();
        for gone in (self.second + 1..=second).take(SECONDS) {
            self.slots[(gone % SECONDS as u64) as usize].reset();
        }
        if second > self.second + SECONDS as u64 {
            self.slots.iter_mut().for_each(Histogram::reset);
        }
        self.second = self.second.max(second);
    }

    /// Counts a latency.
    pub fn record(&mut self, us: u64, now: Instant) {
        self.advance(now);
        self.slots[(self.second % SECONDS as u64) as usize].saturating_record(us.max(1));
    }

    /// The percentiles of what is in the window.
    pub fn read(&mut self, now: Instant) -> RecentLatency {
        self.advance(now);
        let mut all = histogram();
        for slot in &self.slots {
            // the bounds are the same
            let _ = all.add(slot);
        }
        if all.is_empty() {
            return RecentLatency::default();
        }
        let at = |quantile| all.value_at_quantile(quantile);
        RecentLatency { count: all.len(), p50_us: at(0.5), p99_us: at(0.99), max_us: all.max() }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn window_has_the_percentiles_of_the_last_seconds() {
        let begun = Instant::now();
        let at = |ms: u64| begun + Duration::from_millis(ms);
        let mut window = Window::new(begun);
        assert_eq!(window.read(at(0)), RecentLatency::default());
        (1..=99).for_each(|_| window.record(1000, at(500)));
        window.record(50_000, at(900));
        let RecentLatency { count, p50_us, p99_us, max_us } = window.read(at(1000));
        assert_eq!(count, 100);
        assert!((990..1010).contains(&p50_us) && (990..1010).contains(&p99_us), "{p50_us} {p99_us}");
        assert!((49_500..51_000).contains(&max_us), "{max_us}");
        window.record(2000, at(4999));
        assert_eq!(window.read(at(4999)).count, 101);
        // the first second has left it
        assert_eq!(window.read(at(5000)).count, 1);
        assert_eq!(window.read(at(9999)), RecentLatency::default());
    }

    #[test]
    fn pause_of_any_length_empties_the_window() {
        let begun = Instant::now();
        for pause_s in 5..20 {
            let mut window = Window::new(begun);
            (0..5).for_each(|second| window.record(7, begun + Duration::from_secs(second)));
            assert_eq!(window.read(begun + Duration::from_secs(4 + pause_s)).count, 0, "{pause_s}");
        }
        // a time before the current second counts in it
        let mut window = Window::new(begun);
        window.record(7, begun + Duration::from_secs(3));
        window.record(7, begun);
        assert_eq!(window.read(begun + Duration::from_secs(3)).count, 2);
    }
}
