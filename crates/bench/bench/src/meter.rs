//! Samples of a controller's load: processor time, memory and reports per second.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use crate::process::Accounts;

/// Time before each sample in which buffers grow and caches warm up.
const WARM_UP: Duration = Duration::from_millis(300);
/// Time beyond the sample's within which the reports must arrive.
const PATIENCE: Duration = Duration::from_secs(10);

/// What was measured of a controller.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// Of one core; `None` where the process is not known.
    pub cpu_percent: Option<f64>,
    pub rss_mib: Option<f64>,
    /// Reports that came a second.
    pub reports_per_s: f64,
    /// Octets of their messages, or of their PDUs where the peer does not tell.
    pub mbit_per_s: f64,
    /// Of one core: what the agents took.
    pub agents_cpu_percent: f64,
}

/// Controllers and agents over which a measurement runs.
pub struct Meter<'a> {
    /// What takes the reports: none, one, or several in a row.
    pub controllers: &'a [Accounts],
    pub agents: Accounts,
    pub seconds: f64,
    /// On a busy host it lasts longer than it should, until so many reports have come.
    pub least_reports: u64,
}

/// What our own controllers must have got for a sample.
pub const LEAST_REPORTS: u64 = 30;

impl Meter<'_> {
    /// A sample of each controller; of none, one without processor time and memory. `count` tells the reports until now,
    /// and their octets.
    pub fn measure(&self, mut count: impl FnMut() -> anyhow::Result<(u64, u64)>) -> anyhow::Result<Vec<Sample>> {
        let span = Duration::from_secs_f64(self.seconds);
        thread::sleep(WARM_UP.min(span));
        let cpu_ns = || self.controllers.iter().map(|of| of.cpu_ns()).collect::<anyhow::Result<Vec<_>>>();
        let (begun, before, agents_before, first) = (Instant::now(), cpu_ns()?, self.agents.cpu_ns()?, count()?);
        thread::sleep(span);
        while count()?.0 < first.0 + self.least_reports {
            if begun.elapsed() > span + PATIENCE {
                bail!("the agents' reports do not come");
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

    /// The same, of one controller or of nobody's process.
    pub fn measure_one(&self, count: impl FnMut() -> anyhow::Result<(u64, u64)>) -> anyhow::Result<Sample> {
        self.measure(count)?.pop().context("no sample")
    }
}
