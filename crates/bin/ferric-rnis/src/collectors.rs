//! The collectors: their flags, and the loop that drives the one on E2.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::Args;
use ferric::link::Address;
use rnis::collector::e2::{E2Collector, E2Config};
use rnis::collector::flexran::{FlexRanCollector, FlexRanConfig};
use rnis::{Directory, Output, RicState, Service};
use tracing::{info, warn};

/// How long one wait for reports lasts: so often signals are looked at.
const TICK: Duration = Duration::from_millis(100);
/// The time between two attempts to connect to the RIC.
const RETRY: Duration = Duration::from_millis(500);
/// How often the file of the directory is looked at.
const DIRECTORY_PERIOD: Duration = Duration::from_secs(1);

/// Where radio information comes from.
#[derive(Debug, Args)]
pub struct Collectors {
    /// The RIC
    #[arg(long, value_name = "URL", env = "FERRIC_RIC", default_value = "tcp://127.0.0.1:36423")]
    ric: Address,
    /// Run without a RIC: FlexRAN agents are the only source
    #[arg(long, requires = "flexran")]
    no_ric: bool,
    /// The period of measurements and statistics, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(10..=3_600_000))]
    period_ms: u32,
    /// Why UEs whose configuration was not seen send reports of a measurement identity: MEAS_ID=TRIGGER, with a TriggerNr of
    /// MEC 012, of UEs of E-UTRA a Trigger, such as 1=12 for event A3
    #[arg(long, value_name = "MEAS_ID=TRIGGER", value_parser = trigger)]
    measurement_trigger: Vec<(u8, u8)>,
    /// Listen for FlexRAN agents; without an address at 127.0.0.1:2210
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = "127.0.0.1:2210")]
    flexran: Option<SocketAddr>,
    /// Identities of UEs that the RAN does not know: a TOML file, or a JSON file whose name ends with .json; it is read again
    /// when it changes
    #[arg(long, value_name = "FILE")]
    directory: Option<PathBuf>,
}

fn trigger(text: &str) -> Result<(u8, u8), String> {
    let numbers = text.split_once('=').and_then(|(id, trigger)| Some((id.parse().ok()?, trigger.parse().ok()?)));
    let numbers = numbers.filter(|(id, _)| (1..=64).contains(id));
    numbers.ok_or_else(|| "not a measurement identity from 1 to 64, `=` and a number, such as 1=12".to_owned())
}

impl Collectors {
    /// The URL of the RIC.
    pub fn ric(&self) -> String {
        self.ric.to_string()
    }

    /// Connects to the RIC; waits for one that does not listen yet. `None` if `stop` is set meanwhile.
    fn connect(
        &self,
        config: &E2Config,
        directory: &Arc<Directory>,
        stop: &AtomicBool,
    ) -> anyhow::Result<Option<E2Collector>> {
        let mut waits = false;
        while !stop.load(Ordering::Acquire) {
            match E2Collector::connect(&self.ric, config.clone(), Arc::clone(directory)) {
                Ok(e2) => return Ok(Some(e2)),
                Err(error) if error.is_absent() => {
                    if !std::mem::replace(&mut waits, true) {
                        warn!(ric = %self.ric, %error, "no RIC at this address yet: waiting for it; `ferric ric` starts one");
                    }
                    std::thread::sleep(RETRY);
                }
                Err(error) => return Err(error).with_context(|| format!("cannot use the RIC at {}", self.ric)),
            }
        }
        Ok(None)
    }

    /// The directory of UEs.
    pub fn directory(&self) -> anyhow::Result<Arc<Directory>> {
        let directory = match &self.directory {
            Some(path) => Directory::open(path)?,
            None => Directory::default(),
        };
        Ok(Arc::new(directory))
    }

    /// Runs the collectors until `stop` is set, or `is_over`.
    pub fn run(
        &self,
        service: &Arc<Service>,
        directory: &Arc<Directory>,
        stop: &AtomicBool,
        is_over: impl Fn() -> bool,
    ) -> anyhow::Result<()> {
        let flexran = self.flexran.map(|address| {
            let config = FlexRanConfig { period_ms: self.period_ms, ..FlexRanConfig::new(address) };
            let output: Arc<dyn Output + Send + Sync> = Arc::<Service>::clone(service);
            FlexRanCollector::start(config, Arc::clone(directory), output)
                .with_context(|| format!("cannot listen for FlexRAN agents at {address}"))
        });
        let flexran = flexran.transpose()?;
        if let Some(flexran) = &flexran {
            program::outln!("flexran={}", flexran.address());
        }
        let config = E2Config {
            period_ms: self.period_ms,
            triggers: self.measurement_trigger.iter().copied().collect(),
            ..E2Config::default()
        };
        if !self.no_ric {
            service.update(|state| state.sources.ric = Some(RicState::default()));
        }
        let mut e2 = match self.no_ric {
            true => None,
            false => match self.connect(&config, directory, stop)? {
                Some(e2) => Some(e2),
                // a signal has ended the wait for the RIC
                None => return Ok(()),
            },
        };
        let mut looked_at = Instant::now();
        while !stop.load(Ordering::Acquire) && !is_over() {
            match &mut e2 {
                Some(e2) => e2.poll(Some(TICK), &**service)?,
                None => std::thread::sleep(TICK),
            }
            service.expire();
            if looked_at.elapsed() < DIRECTORY_PERIOD {
                continue;
            }
            looked_at = Instant::now();
            match directory.reload_if_changed() {
                Ok(false) => {}
                Ok(true) => {
                    info!(ues = directory.entries().len(), "the directory of UEs was read again");
                    if let Some(e2) = &mut e2 {
                        e2.resolve_again(&**service);
                    }
                    if let Some(flexran) = &flexran {
                        flexran.resolve_again();
                    }
                }
                Err(error) => warn!("{error}; the entries stay as they were"),
            }
        }
        Ok(())
    }
}
