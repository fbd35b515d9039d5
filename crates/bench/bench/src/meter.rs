//! Samples of a controller's load: processor time, memory and reports per second.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use crate::process::Accounts;

/// Time before each sample in which buffers grow and caches warm up.
const WARM_UP: Duration = Duration::from_millis(300);
/// Time beyond the sample's within which the reports must arrive.
const PATIENCE: Duration = Duration::from_secs(10);

/// A sample of a controller's load.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// Processor time in percent of one core; `None` if the process is unknown.
    pub cpu_percent: Option<f64>,
    /// Resident memory; `None` if the process is unknown.
    pub rss_mib: Option<f64>,
    /// Reports received per second.
    pub reports_per_s: f64,
    /// Rate of the reports' messages, or of their PDUs if the controller is a peer.
    pub mbit_per_s: f64,
    /// Processor time of the agents in percent of one core.
    pub agents_cpu_percent: f64,
}

/// The processes of a measurement.
pub struct Meter<'a> {
    /// The controllers: none if their processes are unknown, one, or a chain of them.
    pub controllers: &'a [Accounts],
    /// The agents.
    pub agents: Accounts,
    /// The length of the sample.
    pub seconds: f64,
    /// The least number of reports; on a busy host the sample lasts until it is reached.
    pub least_reports: u64,
}

/// The least number of reports in a sample of our own controllers.
pub const LEAST_REPORTS: u64 = 30;

impl Meter<'_> {
    /// Takes a sample of each controller, or one without processor time and memory. `count` returns the number of reports
    /// until now, and of their octets.
    ///
    /// # Errors
    /// If a process has ended, or the reports do not arrive.
    pub fn measure(&self, mut count: impl FnMut() -> anyhow::Result<(u64, u64)>) -> anyhow::Result<Vec<Sample>> {
        let span = Duration::from_secs_f64(self.seconds);
        thread::sleep(WARM_UP.min(span));
        let cpu_ns = || self.controllers.iter().map(|of| of.cpu_ns()).collect::<anyhow::Result<Vec<_>>>();
        let (begun, before, agents_before, first) = (Instant::now(), cpu_ns()?, self.agents.cpu_ns()?, count()?);
        thread::sleep(span);
        while count()?.0 < first.0 + self.least_reports {
            if begun.elapsed() > span + PATIENCE {
                bail!("no reports from the agents");
            }
            thread::sleep(Duration::from_millis(10));
        }
        let took = begun.elapsed().as_secs_f64();
        let (after, agents_after, last) = (cpu_ns()?, self.agents.cpu_ns()?, count()?);
        let percent = |before: u64, after: u64| after.saturating_sub(before) as f64 / 1e9 / took * 100.0;
        let bare = Sample {
            cpu_percent: None,
            rss_mib: None,
            reports_per_s: last.0.saturating_sub(first.0) as f64 / took,
            mbit_per_s: last.1.saturating_sub(first.1) as f64 * 8.0 / 1e6 / took,
            agents_cpu_percent: percent(agents_before, agents_after),
        };
        let mut samples = Vec::new();
        for ((of, before), after) in self.controllers.iter().zip(before).zip(after) {
            let rss_mib = Some(of.rss_bytes()? as f64 / f64::from(1 << 20));
            samples.push(Sample { cpu_percent: Some(percent(before, after)), rss_mib, ..bare });
        }
        if samples.is_empty() {
            samples.push(bare);
        }
        Ok(samples)
    }

    /// Takes one sample, of one controller or of none.
    ///
    /// # Errors
    /// As [`Meter::measure`].
    pub fn measure_one(&self, count: impl FnMut() -> anyhow::Result<(u64, u64)>) -> anyhow::Result<Sample> {
        self.measure(count)?.pop().context("no sample")
    }
}
