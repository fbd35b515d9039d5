//! Measurements: codec nanoseconds, the RIC as a relay against a bare mover, an agent's report, the ping, memory of idle
//! nodes; and our side of the FlexRIC paper's figures.
//!
//! What is compared is compared in one run, interleaved, by medians: machines are shared and noisy. The RIC and the
//! mover are processes of their own (this program, started again), so that their time and memory are the kernel's own
//! accounts of them.

use std::path::Path;
use std::time::Duration;

use hdrhistogram::Histogram;

mod agent;
mod codec;
mod idle;
mod links;
mod load;
mod many;
pub mod meter;
mod mover;
pub mod part;
mod ping;
pub mod pinger;
mod placement;
pub mod process;
mod ran;
mod relay;
mod report;
mod soak;

pub use mover::mover;
pub use ping::{PingReport, PingRow, ping};
pub use ran::{RanReport, RanRow, ran};
pub use report::{AgentRow, Codec, Host, Idle, LoopsRow, Many, RelayRow, Report, ShmRelay, Storm};
pub use soak::{Soak, SoakReport, Trend, soak};
pub use testkit::CountingAllocator;

/// Pings of each kind and repetition, in `ferric bench e2`.
const PINGS: usize = 200;

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Repetitions of each row of the relay's table; odd, so that there is a median.
    pub repetitions: usize,
    /// Seconds of each of them, and at most of each row of the codecs.
    pub seconds: f64,
    /// Nodes that are idle, and that come back all at once.
    pub idle_nodes: usize,
    /// Nodes that report at a time.
    pub many_nodes: usize,
}

impl Default for Effort {
    fn default() -> Self {
        Effort { repetitions: 3, seconds: 2.0, idle_nodes: 1000, many_nodes: 2000 }
    }
}

/// All of `ferric bench e2`.
///
/// # Errors
/// Where a process cannot be started or does not answer.
pub fn e2(ferric: &Path, effort: Effort) -> anyhow::Result<Report> {
    Ok(Report {
        codec: codec::measure(Duration::from_secs_f64(effort.seconds))?,
        relay: relay::measure(ferric, effort)?,
        agent: agent::measure(effort)?,
        ping: ping(effort.repetitions, PINGS)?,
        loops: relay::measure_loops(ferric, effort)?,
        many: many::measure(ferric, effort)?,
        storm: many::storm(ferric, effort)?,
        idle: idle::measure(ferric, effort)?,
        host: Host::here(),
    })
}

/// An empty histogram of nanoseconds with a relative error of at most 0.1 %.
///
/// # Panics
/// Never: three significant digits are within the limits of the histogram.
#[must_use]
pub fn latency_histogram() -> Histogram<u64> {
    Histogram::new(3).unwrap_or_else(|error| panic!("three significant digits: {error}"))
}

/// The median of a few repetitions; not a number if there are none.
#[must_use]
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
