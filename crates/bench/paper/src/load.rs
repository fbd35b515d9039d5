//! The load of agents on a controller, ours or a peer.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::bail;
use bench::meter::{LEAST_REPORTS, Meter, Sample};
use bench::part::{Agents, AgentsCount, Controller, ControllerCount, Encoding, Load, Part, ask};
use bench::process::{Accounts, Process};

use crate::peer::Peer;
use crate::table::Cell;

/// The longest time for our controller to subscribe to all agents.
const PATIENCE: Duration = Duration::from_secs(10);
/// The longest time for a peer to accept the agents' setups.
const SETUP_TIMEOUT: Duration = Duration::from_secs(5);

/// The fraction of the reports that must arrive for a comparison.
pub(crate) const COMPARABLE: f64 = 0.9;

/// A number of agents with their load.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Crowd {
    pub nodes: u16,
    pub ues: u16,
    pub load: Load,
    /// The encoding of the service models.
    pub encoding: Encoding,
    pub period_ms: u32,
}

impl Crowd {
    /// The fraction of the subscribed reports that arrived.
    pub fn delivered(&self, sample: &Sample) -> f64 {
        let subscribed = f64::from(self.nodes) * self.load.statistics() as f64 * 1e3 / f64::from(self.period_ms);
        sample.reports_per_s / subscribed
    }

    /// Starts the agents' process.
    pub fn start(&self, ric: &str) -> anyhow::Result<Process> {
        let Crowd { nodes, ues, load, encoding, .. } = *self;
        Part::Agents(Agents { ric: ric.to_owned(), nodes, ues, load, encoding, stages: false }).start()
    }

    /// Measures our controller, with E2AP in `e2ap`.
    pub fn on_ours(&self, e2ap: Encoding, decodes: bool, seconds: f64) -> anyhow::Result<Sample> {
        let part = Controller { encoding: e2ap, period_ms: self.period_ms, decodes };
        let mut controller = Part::Controller(part).start()?;
        let agents = self.start(controller.value("e2")?)?;
        let wanted = u64::from(self.nodes) * self.load.statistics();
        let deadline = Instant::now() + PATIENCE;
        while ask::<ControllerCount>(&mut controller)?.subscribed < wanted {
            if Instant::now() > deadline {
                bail!("no subscription to all agents within {} s", PATIENCE.as_secs());
            }
            thread::sleep(Duration::from_millis(10));
        }
        let least_reports = LEAST_REPORTS;
        let meter = Meter { controllers: &[*controller], agents: *agents, seconds, least_reports };
        meter.measure_one(|| {
            let ControllerCount { reports, octets, undecodable, .. } = ask(&mut controller)?;
            if undecodable > 0 {
                bail!("the controller could not decode {undecodable} reports");
            }
            Ok((reports, octets))
        })
    }

    /// Measures a peer, with `patience` for its first subscription.
    pub fn on_peer(&self, peer: &Peer, patience: Duration, seconds: f64) -> anyhow::Result<Sample> {
        let accounts = peer.pid.map(Accounts::of).transpose()?;
        let mut agents = self.start(&peer.endpoint.to_string())?;
        let deadline = Instant::now() + SETUP_TIMEOUT;
        loop {
            let up = ask::<AgentsCount>(&mut agents)?.up;
            if up == u64::from(self.nodes) {
                break;
            }
            if Instant::now() > deadline {
                let (all, patience) = (self.nodes, SETUP_TIMEOUT.as_secs());
                bail!(
                    "accepted the setup of {up} of {all} agents within {patience} s (run `ferric doctor --ric {}` for the reason)",
                    peer.endpoint
                );
            }
            thread::sleep(Duration::from_millis(10));
        }
        let deadline = Instant::now() + patience;
        let mut reports = 0;
        while reports == 0 && Instant::now() < deadline {
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

/// The columns of a sample.
pub(crate) const SAMPLE_COLUMNS: [&str; 3] = ["cpu_percent", "rss_mib", "reports_per_s"];

/// The cells of these columns, empty without a sample.
pub(crate) fn cells(sample: Option<Sample>) -> [Cell; 3] {
    match sample {
        Some(sample) => [sample.cpu_percent.into(), sample.rss_mib.into(), sample.reports_per_s.into()],
        None => [Cell::Nothing, Cell::Nothing, Cell::Nothing],
    }
}
