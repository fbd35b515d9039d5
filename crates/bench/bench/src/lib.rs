//! Measurements of ferric: codecs, the RIC as a relay compared with a bare mover, an agent's report, pings, the memory of idle
//! nodes, the emulated RAN, and the soak.
//!
//! Variants are compared within one run, interleaved, by medians, since machines are shared and noisy. The RIC, the RAN and the
//! mover are separate processes, so that the kernel accounts for their time and memory.

use std::path::Path;
use std::time::Duration;

use hdrhistogram::Histogram;

mod agent;
mod codec;
pub mod e42_xapp;
mod failover;
mod idle;
mod links;
mod load;
mod many;
pub mod meter;
mod mover;
mod oran;
pub mod oran_xapp;
pub mod part;
mod ping;
pub mod pinger;
mod placement;
pub mod process;
mod ran;
mod relay;
mod report;
mod rest;
pub mod rnis;
mod soak;
mod virtual_networks;

pub use failover::{FailoverReport, FailoverRun, Times, failover};
pub use mover::mover;
pub use oran::{OranRelay, OranRelayRow, OranReport, OranSubscriptionRow, Percentiles, oran};
pub use ping::{PingReport, PingRow, ping};
pub use ran::{RanReport, RanRow, ran};
pub use report::{AgentRow, Codec, E42Relay, Host, Idle, LoopsRow, Many, RelayRow, Report, ShmRelay, Storm};
pub use rest::{RelayBesideRest, RestReport, rest};
pub use rnis::{Isolation, Matching, RnisReport, RnisRow, rnis};
pub use soak::{Soak, SoakReport, Trend, soak};
pub use testkit::CountingAllocator;
pub use virtual_networks::{VirtualReport, VirtualRow, virtual_networks};

/// Pings of each combination and repetition in `ferric bench e2`.
const PINGS: usize = 200;

/// The extent of a measurement.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Repetitions of each row of the relay's table; odd for the median.
    pub repetitions: usize,
    /// Seconds of each repetition, and the most of each row of the codecs.
    pub seconds: f64,
    /// Nodes that are idle, and nodes that reconnect at the same time.
    pub idle_nodes: usize,
    /// Nodes that report to one RIC.
    pub many_nodes: usize,
}

impl Default for Effort {
    fn default() -> Self {
        Effort { repetitions: 3, seconds: 2.0, idle_nodes: 1000, many_nodes: 2000 }
    }
}

/// Runs all measurements of `ferric bench e2` with the program `ferric`.
///
/// # Errors
/// If a process cannot be started or does not answer.
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
        host: Host::current(),
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
