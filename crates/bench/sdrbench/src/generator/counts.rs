//! What the generator counts in a window.

use bench::latency_histogram;
use hdrhistogram::Histogram;

use crate::statistics::add;

/// The counts of a window, by planned times.
#[derive(Clone, Debug)]
pub struct WindowCounts {
    /// Reports that were planned.
    pub offered: u64,
    /// Of these, the reports that were passed to the kernel or wait for it.
    pub sent: u64,
    /// Reports that were dropped since the controller does not read.
    pub dropped: u64,
    /// Octets of the messages sent.
    pub octets: u64,
    /// Times between the planned time of a report and its turn, in nanoseconds. One that is late by more than 5 s is not sent.
    pub lateness: Histogram<u64>,
    /// Times from the planned time of a connection to the end of the setup, in nanoseconds.
    pub setups: Histogram<u64>,
    /// The processor time of the busiest thread, as a share of a core.
    pub cpu_share: f64,
    /// The processor time of all threads, in nanoseconds.
    pub cpu_ns: u64,
}

impl Default for WindowCounts {
    fn default() -> Self {
        WindowCounts {
            offered: 0,
            sent: 0,
            dropped: 0,
            octets: 0,
            lateness: latency_histogram(),
            setups: latency_histogram(),
            cpu_share: 0.0,
            cpu_ns: 0,
        }
    }
}

impl WindowCounts {
    /// Adds the counts of another thread.
    pub fn add(&mut self, other: &WindowCounts) {
        self.offered += other.offered;
        self.sent += other.sent;
        self.dropped += other.dropped;
        self.octets += other.octets;
        add(&mut self.lateness, &other.lateness);
        add(&mut self.setups, &other.setups);
        self.cpu_share = self.cpu_share.max(other.cpu_share);
        self.cpu_ns += other.cpu_ns;
    }
}
