//! Measurements: codec nanoseconds, the RIC as a relay against a bare mover, an agent's report, the ping, memory of idle
//! nodes; and our side of the FlexRIC paper's figures.
//!
//! What is compared is compared in one run, interleaved, by medians: machines are shared and noisy. The RIC and the
//! mover are processes of their own (this program, started again), so that their time and memory are the kernel's own
//! accounts of them.

use std::time::Duration;

mod agent;
mod codec;
mod idle;
mod links;
mod load;
mod many;
mod mover;
mod paper;
mod part;
mod ping;
mod pinger;
mod placement;
mod plot;
mod process;
mod ran;
mod relay;
mod report;
mod soak;

pub use mover::mover;
pub use paper::{Cell, Figure, FigureReport, Peer, PeerError, Setting, Table, paper};
pub use part::part;
pub use ping::{PingReport, PingRow, ping};
pub use plot::{Mark, Panel, Plot, Series, X};
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
pub fn e2(effort: Effort) -> anyhow::Result<Report> {
    Ok(Report {
        codec: codec::measure(Duration::from_secs_f64(effort.seconds))?,
        relay: relay::measure(effort)?,
        agent: agent::measure(effort)?,
        ping: ping(effort.repetitions, PINGS)?,
        loops: relay::measure_loops(effort)?,
        many: many::measure(effort)?,
        storm: many::storm(effort)?,
        idle: idle::measure(effort)?,
        host: Host::here(),
    })
}
