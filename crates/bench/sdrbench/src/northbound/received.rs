//! What an application receives in a window.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use bench::latency_histogram;
use hdrhistogram::Histogram;

use crate::generator::Window;
use crate::statistics::{add, count};

/// The most subscriptions whose reports are told apart: a controller may send reports of any.
const MAX_SUBSCRIPTIONS: usize = 1 << 17;

/// The reports and answers that an application has received, by their planned times.
#[derive(Clone, Debug)]
pub struct Received {
    /// Reports of the window.
    pub reports: u64,
    /// Reports that came twice.
    pub duplicates: u64,
    /// Reports that came after a later one of their subscription.
    pub reordered: u64,
    /// From the planned time of a report to its reading, in nanoseconds.
    pub latency: Histogram<u64>,
    /// From the planned time of a slice request to its answer.
    pub controls: Histogram<u64>,
    /// From a subscription to its answer.
    pub subscriptions: Histogram<u64>,
    /// By tenant: slice requests that were answered, and the sum of their delays in nanoseconds.
    pub by_tenant: HashMap<u32, (u64, u64)>,
    /// Requests that have failed or were not answered.
    pub failed: u64,
    /// Reports of the window by subscription.
    pub by_subscription: HashMap<u32, u64>,
    /// The course of the window, second by second.
    pub seconds: Vec<Second>,
    /// The processor time of the application's thread while it counted, as a share of a core.
    pub cpu_share: f64,
    window: Option<Window>,
    subscriptions_seen: HashMap<u32, Subscription>,
    of_second: Histogram<u64>,
    /// All reports that were read, of whatever window.
    read: u64,
}

/// The reports of a subscription.
#[derive(Clone, Copy, Debug, Default)]
struct Subscription {
    /// The number and the planned time of the last report.
    last: Option<(u16, u64)>,
    /// Reports of the window.
    reports: u64,
}

/// A second of the window.
#[derive(Clone, Copy, Debug, Default)]
pub struct Second {
    /// Its end, after the beginning of the run.
    pub at_s: f64,
    /// Reports that were read.
    pub reports: u64,
    /// Percentiles of their latency, and its maximum.
    pub p50_us: f64,
    /// The 99th percentile.
    pub p99_us: f64,
    /// The largest.
    pub max_us: f64,
}

impl Default for Received {
    fn default() -> Self {
        Received {
            reports: 0,
            duplicates: 0,
            reordered: 0,
            latency: latency_histogram(),
            controls: latency_histogram(),
            subscriptions: latency_histogram(),
            by_tenant: HashMap::new(),
            failed: 0,
            by_subscription: HashMap::new(),
            seconds: Vec::new(),
            cpu_share: 0.0,
            window: None,
            subscriptions_seen: HashMap::new(),
            of_second: latency_histogram(),
            read: 0,
        }
    }
}

impl Received {
    /// Begins a window.
    pub fn begin(&mut self, window: Window) {
        let mut subscriptions_seen = std::mem::take(&mut self.subscriptions_seen);
        subscriptions_seen.values_mut().for_each(|subscription| subscription.reports = 0);
        *self = Received { window: Some(window), subscriptions_seen, read: self.read, ..Received::default() };
    }

    /// Whether something that was planned then counts.
    pub fn counts(&self, due_ns: u64) -> bool {
        self.window.is_some_and(|window| window.contains(due_ns))
    }

    /// Counts a report.
    pub fn report(&mut self, subscription: u32, sn: Option<u16>, due_ns: u64, now_ns: u64) {
        self.read += 1;
        let (counts, latency_ns) = (self.counts(due_ns), now_ns.saturating_sub(due_ns));
        if let Some(seen) = self.subscription(subscription) {
            seen.reports += u64::from(counts);
            let last = sn.and_then(|sn| Some((sn, seen.last.replace((sn, due_ns))?)));
            // the numbers wrap around, and begin again when a node is set up again: what was planned later is later
            match last.map(|(sn, (last, last_due_ns))| (sn.wrapping_sub(last), due_ns.cmp(&last_due_ns))) {
                Some((0, Ordering::Equal)) => self.duplicates += 1,
                Some((32_768.., Ordering::Less)) => self.reordered += 1,
                _ => {}
            }
        }
        if counts {
            self.reports += 1;
            count(&mut self.latency, latency_ns);
        }
        count(&mut self.of_second, latency_ns);
    }

    /// Counts a report of which only the arrival is known.
    pub fn count_only(&mut self, subscription: u32, due_ns: u64) {
        if self.counts(due_ns) {
            self.reports += 1;
            if let Some(seen) = self.subscription(subscription) {
                seen.reports += 1;
            }
        }
    }

    fn subscription(&mut self, id: u32) -> Option<&mut Subscription> {
        let is_full = self.subscriptions_seen.len() >= MAX_SUBSCRIPTIONS;
        match self.subscriptions_seen.entry(id) {
            Entry::Occupied(seen) => Some(seen.into_mut()),
            Entry::Vacant(_) if is_full => None,
            Entry::Vacant(place) => Some(place.insert(Subscription::default())),
        }
    }

    /// All reports that were read until now.
    pub fn read(&self) -> u64 {
        self.read
    }

    /// Adds what another thread has counted in the same window. A second's percentiles are those of the slower one.
    pub fn add(&mut self, other: &Received) {
        self.reports += other.reports;
        add(&mut self.latency, &other.latency);
        for (subscription, reports) in &other.by_subscription {
            *self.by_subscription.entry(*subscription).or_default() += reports;
        }
        for (at, second) in other.seconds.iter().enumerate() {
            let Some(own) = self.seconds.get_mut(at) else {
                self.seconds.push(*second);
                continue;
            };
            own.reports += second.reports;
            own.p50_us = own.p50_us.max(second.p50_us);
            own.p99_us = own.p99_us.max(second.p99_us);
            own.max_us = own.max_us.max(second.max_us);
        }
    }

    /// Counts the answer to a slice request of a tenant.
    pub fn control(&mut self, tenant: u32, delay_ns: u64) {
        count(&mut self.controls, delay_ns);
        let (answers, sum_ns) = self.by_tenant.entry(tenant).or_default();
        *answers += 1;
        *sum_ns += delay_ns;
    }

    /// Closes a second of the course.
    pub fn end_second(&mut self, now_ns: u64) {
        if self.window.is_some() {
            let us = |ns: u64| ns as f64 / 1e3;
            self.seconds.push(Second {
                at_s: now_ns as f64 / 1e9,
                reports: self.of_second.len(),
                p50_us: us(self.of_second.value_at_quantile(0.5)),
                p99_us: us(self.of_second.value_at_quantile(0.99)),
                max_us: us(self.of_second.max()),
            });
        }
        self.of_second.reset();
    }

    /// Takes the counts.
    pub fn take(&mut self) -> Received {
        let of_window = self.subscriptions_seen.iter().filter(|(_, seen)| seen.reports > 0);
        self.by_subscription = of_window.map(|(id, seen)| (*id, seen.reports)).collect();
        let subscriptions_seen = std::mem::take(&mut self.subscriptions_seen);
        let next = Received { subscriptions_seen, read: self.read, ..Received::default() };
        std::mem::replace(self, next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_threads_are_added() {
        let mut all = Received::default();
        for thread in 0..2 {
            let mut received = Received::default();
            received.begin(Window { from_ns: 0, until_ns: 100 });
            received.report(thread, None, 10, 20 + u64::from(thread));
            received.count_only(thread, 20);
            received.count_only(thread, 200);
            received.end_second(1_000_000_000);
            all.add(&received.take());
        }
        assert_eq!((all.reports, all.latency.len(), all.by_subscription.len()), (4, 2, 2));
        assert_eq!((all.seconds.len(), all.seconds[0].reports), (1, 2));
    }

    #[test]
    fn percentiles_of_known_delays_are_within_the_error_of_the_histogram() {
        let mut received = Received::default();
        received.begin(Window { from_ns: 0, until_ns: 1_000_000 });
        // delays of 1 to 10,000 us, in another order
        for at in 0..10_000_u64 {
            let delay_ns = (at * 7919 % 10_000 + 1) * 1000;
            received.report(1, None, at, at + delay_ns);
        }
        let latency = received.take().latency;
        for (quantile, exact_us) in [(0.5, 5000.0), (0.99, 9900.0), (0.999, 9990.0), (1.0, 10_000.0)] {
            let found_us = latency.value_at_quantile(quantile) as f64 / 1e3;
            assert!((found_us / exact_us - 1.0_f64).abs() <= 0.001, "{quantile}: {found_us} in place of {exact_us}");
        }
    }

    #[test]
    fn order_of_reports_is_watched_across_the_wrap() {
        let mut received = Received::default();
        received.begin(Window { from_ns: 0, until_ns: 100 });
        // numbers with planned times; then the node is set up again, and its numbers begin again
        for (sn, due_ns) in [(65_534, 10), (65_535, 11), (0, 12), (2, 14), (1, 13), (1, 13), (3, 15), (0, 16), (1, 17)]
        {
            received.report(1, Some(sn), due_ns, due_ns + 10);
        }
        received.report(2, Some(1), 200, 210);
        let taken = received.take();
        assert_eq!((taken.reports, taken.duplicates, taken.reordered), (9, 1, 1));
        assert_eq!(taken.latency.max(), 10);
        assert_eq!(taken.by_subscription, HashMap::from([(1, 9)]));
        // the next window has the same subscriptions, and counts anew
        received.begin(Window { from_ns: 200, until_ns: 300 });
        received.report(1, Some(2), 201, 211);
        received.report(1, Some(2), 201, 212);
        let taken = received.take();
        assert_eq!((taken.duplicates, taken.by_subscription), (1, HashMap::from([(1, 2)])));
        assert_eq!(received.read(), 12);
    }

    #[test]
    fn subscriptions_that_a_controller_invents_are_bounded() {
        let mut received = Received::default();
        received.begin(Window { from_ns: 0, until_ns: 100 });
        let all = MAX_SUBSCRIPTIONS as u32 + 1000;
        (0..all).for_each(|subscription| received.report(subscription, Some(0), 1, 2));
        received.count_only(all + 1, 1);
        received.report(0, Some(1), 2, 3);
        let taken = received.take();
        assert_eq!(taken.by_subscription.len(), MAX_SUBSCRIPTIONS);
        assert_eq!((taken.reports, taken.by_subscription[&0]), (u64::from(all) + 2, 2), "every report counts");
    }
}
