//! Agents against a controller, ours or a peer's, and what it takes that one.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use super::peer::Peer;
use super::table::Cell;
use crate::part::{Agents, AgentsCount, Controller, ControllerCount, Encoding, Load, Part, ask};
use crate::process::{Accounts, Process};

/// Our controller must have subscribed to all agents within this.
const PATIENCE: Duration = Duration::from_secs(10);
/// A peer must have taken the agents' setups within this.
const TAKES_SETUPS: Duration = Duration::from_secs(5);
/// A peer must have subscribed within this, if it does at all.
const SUBSCRIBES: Duration = Duration::from_secs(2);
/// Before the measurement, so that buffers have grown and caches are warm.
const WARM_UP: Duration = Duration::from_millis(300);

/// The part of the reports that must have come, or been asked for, where numbers are compared.
pub(super) const COMPARABLE: f64 = 0.9;

/// What agents are, against whomever.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Crowd {
    pub nodes: u16,
    pub ues: u16,
    pub load: Load,
    /// Of the service models.
    pub encoding: Encoding,
    pub period_ms: u32,
}

/// What was measured of a controller.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
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

impl Sample {
    /// Which part of the reports came that had been asked for.
    pub fn delivered(&self, crowd: &Crowd) -> f64 {
        let asked = f64::from(crowd.nodes) * crowd.load.statistics() as f64 * 1e3 / f64::from(crowd.period_ms);
        self.reports_per_s / asked
    }
}

impl Crowd {
    /// The agents' process.
    pub fn start(&self, ric: &str) -> anyhow::Result<Process> {
        let Crowd { nodes, ues, load, encoding, .. } = *self;
        Part::Agents(Agents { ric: ric.to_owned(), nodes, ues, load, encoding, stages: false }).start()
    }

    /// Against a controller of our own, with E2AP in `e2ap`.
    pub fn on_ours(&self, e2ap: Encoding, decodes: bool, seconds: f64) -> anyhow::Result<Sample> {
        let part = Controller { encoding: e2ap, period_ms: self.period_ms, decodes };
        let mut controller = Part::Controller(part).start()?;
        let agents = self.start(controller.said("e2")?)?;
        let wanted = u64::from(self.nodes) * self.load.statistics();
        let deadline = Instant::now() + PATIENCE;
        while ask::<ControllerCount>(&mut controller)?.subscribed < wanted {
            if Instant::now() > deadline {
                bail!("the agents are not subscribed to within {} s", PATIENCE.as_secs());
            }
            thread::sleep(Duration::from_millis(10));
        }
        let least_reports = LEAST_REPORTS;
        let meter = Meter { controllers: &[*controller], agents: *agents, seconds, least_reports };
        meter.measure_one(|| {
            let ControllerCount { reports, octets, unread, .. } = ask(&mut controller)?;
            if unread > 0 {
                bail!("the controller could not read {unread} reports");
            }
            Ok((reports, octets))
        })
    }

    /// Against a peer; one that is known to ask for nothing is not waited for.
    pub fn on_peer(&self, peer: &Peer, is_silent: bool, seconds: f64) -> anyhow::Result<Sample> {
        let accounts = peer.pid.map(Accounts::of).transpose()?;
        let mut agents = self.start(&peer.endpoint.to_string())?;
        let deadline = Instant::now() + TAKES_SETUPS;
        loop {
            let up = ask::<AgentsCount>(&mut agents)?.up;
            if up == u64::from(self.nodes) {
                break;
            }
            if Instant::now() > deadline {
                let (all, patience) = (self.nodes, TAKES_SETUPS.as_secs());
                bail!(
                    "took the setup of {up} of {all} agents within {patience} s (`ferric doctor --ric {}` says why)",
                    peer.endpoint
                );
            }
            thread::sleep(Duration::from_millis(10));
        }
        let deadline = Instant::now() + SUBSCRIBES;
        let mut reports = 0;
        while !is_silent && reports == 0 && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(10));
            reports = ask::<AgentsCount>(&mut agents)?.reports;
        }
        let least_reports = reports.min(1);
        let controllers: Vec<_> = accounts.into_iter().collect();
        let meter = Meter { controllers: &controllers, agents: *agents, seconds, least_reports };
        meter.measure_one(|| {
            let AgentsCount { reports, octets, dropped, .. } = ask(&mut agents)?;
            Ok((reports.saturating_sub(dropped), octets))
        })
    }
}

/// Controllers and agents over which a measurement runs.
pub(crate) struct Meter<'a> {
    /// What takes the reports: none, one, or several in a row.
    pub controllers: &'a [Accounts],
    pub agents: Accounts,
    pub seconds: f64,
    /// On a busy host it lasts longer than it should, until so many reports have come.
    pub least_reports: u64,
}

/// What our own controllers must have got for a sample.
pub(crate) const LEAST_REPORTS: u64 = 30;

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

/// The columns of a controller.
pub(super) const SAMPLE_COLUMNS: [&str; 3] = ["cpu_percent", "rss_mib", "reports_per_s"];

/// The cells of those columns; of a controller that could not be measured they are empty.
pub(super) fn cells(sample: Option<Sample>) -> [Cell; 3] {
    match sample {
        Some(sample) => [sample.cpu_percent.into(), sample.rss_mib.into(), sample.reports_per_s.into()],
        None => [Cell::Nothing, Cell::Nothing, Cell::Nothing],
    }
}
