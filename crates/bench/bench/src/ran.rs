//! The speed of the RAN model, compared with real time.

use std::fmt;
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use anyhow::Context;
use radio::phy::Direction;
use radio::{Network, Time};
use ran::Scenario;
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;

use crate::median;
use crate::report::Host;

/// The result of `ferric bench ran`.
#[derive(Clone, Debug, Serialize)]
pub struct RanReport {
    /// A row for each RAN.
    pub rows: Vec<RanRow>,
    /// The host of the measurement.
    pub host: Host,
}

/// A RAN of NR cells with slots of half a millisecond.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct RanRow {
    /// Number of cells.
    pub cells: usize,
    /// UEs of each cell.
    pub ues: u16,
    /// Threads of the model.
    pub threads: usize,
    /// Model seconds per second: the median of the repetitions.
    pub times_real_time: f64,
    /// Model seconds per second of processor time of a thread: what the model reaches when no other process needs the processors,
    /// and no thread has to wait for another one. The median likewise.
    pub times_processor_time: f64,
    /// Processor time of a slot of a cell, in nanoseconds over all threads.
    pub slot_ns: f64,
    /// Downlink throughput of all cells, in Mbit/s of model time.
    pub delivered_mbps: f64,
    /// Used downlink resource blocks, in percent.
    pub used_percent: f64,
}

impl fmt::Display for RanReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "The RAN model: NR cells of 40 MHz, slots of 0.5 ms, users that read, watch and talk")?;
        writeln!(f, "                            times real time by")?;
        writeln!(f, "  cells  UEs each  threads    clock  processor  ns a slot   Mbit/s  blocks used")?;
        for row in &self.rows {
            writeln!(
                f,
                "  {:5}  {:8}  {:7}  {:7.1}  {:9.1}  {:9.0}  {:7.0}  {:9.0} %",
                row.cells,
                row.ues,
                row.threads,
                row.times_real_time,
                row.times_processor_time,
                row.slot_ns,
                row.delivered_mbps,
                row.used_percent
            )?;
        }
        let Host { cpu, cores, .. } = &self.host;
        write!(f, "On {cpu}, {cores} processors.")
    }
}

/// A running model.
struct Running {
    cells: u16,
    ues: u16,
    threads: usize,
    network: Network,
    /// For each repetition, of a second of the model.
    seconds: Vec<f64>,
    processor_s: Vec<f64>,
}

/// The processor time of this process, threads that have ended included.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}

/// Measures each RAN for `seconds` of model time in each repetition.
///
/// # Errors
/// If a scenario is invalid, which none of these is.
pub fn ran(repetitions: usize, seconds: f64) -> anyhow::Result<RanReport> {
    let make = |(cells, ues, threads): (u16, u16, usize)| {
        let threads_of = NonZeroUsize::new(threads).context("no threads")?;
        let mut network = Scenario { threads: threads_of, ..Scenario::with_mixed_traffic(cells, ues, 1) }.network()?;
        // users start one after the other
        network.advance(Time::from_millis(2000));
        anyhow::Ok(Running { cells, ues, threads, network, seconds: Vec::new(), processor_s: Vec::new() })
    };
    let mut all = [(1, 1, 1), (1, 32, 1), (1, 128, 1), (100, 32, 1), (100, 32, 2)]
        .into_iter()
        .map(make)
        .collect::<Result<Vec<_>, _>>()?;
    let of = |network: &Network| {
        let mut sum = (0, 0, 0);
        for cell in (0..network.cells()).map(|cell| network.cell(cell)) {
            let usage = cell.usage(Direction::Downlink);
            let octets = (0..cell.ue_indices()).filter_map(|place| cell.counts(place));
            let octets: u64 = octets.map(|counts| counts.dl_rlc.delivered_octets).sum();
            sum = (sum.0 + usage.used_elements, sum.1 + usage.elements, sum.2 + octets);
        }
        sum
    };
    let before: Vec<_> = all.iter().map(|running| of(&running.network)).collect();
    for _ in 0..repetitions {
        for running in &mut all {
            // the same amount of work in each row
            let span = seconds * 100.0 / f64::from(running.cells.max(10));
            let until = running.network.cell(0).now().as_secs_f64() + span;
            let (begin, processor) = (Instant::now(), processor_time());
            running.network.advance(Time::from_secs_f64(until));
            running.seconds.push(begin.elapsed().as_secs_f64() / span);
            running.processor_s.push((processor_time() - processor).as_secs_f64() / span);
        }
    }
    let rows = all.iter_mut().zip(before).map(|(running, before)| {
        let [seconds, processor_s] =
            [&mut running.seconds, &mut running.processor_s].map(|samples| median(std::mem::take(samples)));
        let now = of(&running.network);
        let span = running.network.cell(0).now().as_secs_f64() - 2.0;
        let slots_per_s = 1.0 / running.network.cell(0).grid().slot().as_secs_f64();
        RanRow {
            cells: running.cells.into(),
            ues: running.ues,
            threads: running.threads,
            times_real_time: 1.0 / seconds,
            times_processor_time: running.threads as f64 / processor_s,
            slot_ns: processor_s * 1e9 / slots_per_s / f64::from(running.cells),
            delivered_mbps: (now.2 - before.2) as f64 * 8e-6 / span,
            used_percent: 100.0 * (now.0 - before.0) as f64 / (now.1 - before.1) as f64,
        }
    });
    Ok(RanReport { rows: rows.collect(), host: Host::current() })
}
