//! Agents against a controller, ours or a peer's, and what it takes that one.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::bail;
use bench::meter::{LEAST_REPORTS, Meter, Sample};
use bench::part::{Agents, AgentsCount, Controller, ControllerCount, Encoding, Load, Part, ask};
use bench::process::{Accounts, Process};

use crate::peer::Peer;
use crate::table::Cell;

/// Our controller must have subscribed to all agents within this.
const PATIENCE: Duration = Duration::from_secs(10);
/// A peer must have taken the agents' setups within this.
const TAKES_SETUPS: Duration = Duration::from_secs(5);
/// A peer must have subscribed within this, if it does at all.
const SUBSCRIBES: Duration = Duration::from_secs(2);

/// The part of the reports that must have come, or been asked for, where numbers are compared.
pub(crate) const COMPARABLE: f64 = 0.9;

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

impl Crowd {
    /// The fraction of the subscribed reports that arrived.
    pub fn delivered(&self, sample: &Sample) -> f64 {
        let subscribed = f64::from(self.nodes) * self.load.statistics() as f64 * 1e3 / f64::from(self.period_ms);
        sample.reports_per_s / subscribed
    }

    /// The agents' process.
    pub fn start(&self, ric: &str) -> anyhow::Result<Process> {
        let Crowd { nodes, ues, load, encoding, .. } = *self;
        Part::Agents(Agents { ric: ric.to_owned(), nodes, ues, load, encoding, stages: false }).start()
    }

    /// Against a controller of our own, with E2AP in `e2ap`.
    pub fn on_ours(&self, e2ap: Encoding, decodes: bool, seconds: f64) -> anyhow::Result<Sample> {
        let part = Controller { encoding: e2ap, period_ms: self.period_ms, decodes };
        let mut controller = Part::Controller(part).start()?;
        let agents = self.start(controller.value("e2")?)?;
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

/// The columns of a controller.
pub(crate) const SAMPLE_COLUMNS: [&str; 3] = ["cpu_percent", "rss_mib", "reports_per_s"];

/// The cells of those columns; of a controller that could not be measured they are empty.
pub(crate) fn cells(sample: Option<Sample>) -> [Cell; 3] {
    match sample {
        Some(sample) => [sample.cpu_percent.into(), sample.rss_mib.into(), sample.reports_per_s.into()],
        None => [Cell::Nothing, Cell::Nothing, Cell::Nothing],
    }
}
