//! Standard input as a control channel: of the load generator, and of a process under a supervisor.

use std::io::{BufRead, stdin};
use std::process::exit;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::thread;
use std::time::Duration;

use clap::Args;
use program::outln;
use rnis::instances::RecentAnswer;
use rnis::{CpuQuota, Service};
use serde_json::json;

use crate::load::Command;

/// How long an end without its input may take: the supervisor may not be there to end this process.
const PATIENCE: Duration = Duration::from_secs(5);

/// An instance under a supervisor.
#[derive(Clone, Debug, Args)]
pub struct InputArgs {
    /// Obey the lines on standard input, and end with it: for `ferric rnis serve --instances`, which starts its instances so
    #[arg(long, hide = true)]
    supervised: bool,
}

impl InputArgs {
    /// The quota of the process, if it is to have one.
    pub fn quota(&self) -> Option<Arc<CpuQuota>> {
        self.supervised.then(Arc::default)
    }

    /// Whether standard input has lines for this process.
    pub fn is_supervised(&self) -> bool {
        self.supervised
    }
}

/// Who obeys the lines.
pub struct Listeners {
    /// The service, whose counters are the answers.
    pub service: Arc<Service>,
    /// Is raised at the end of the input.
    pub stop: Arc<AtomicBool>,
    /// The load generator, if there is one, and what it has published.
    pub load: Option<(Sender<Command>, Arc<AtomicU64>)>,
}

impl Listeners {
    /// Obeys lines on a thread of its own.
    ///
    /// # Errors
    /// If the system refuses the thread.
    pub fn start(self) -> anyhow::Result<()> {
        thread::Builder::new().name("input".into()).spawn(move || {
            for line in stdin().lock().lines() {
                let Ok(line) = line else { break };
                self.obey(&line);
            }
            self.stop.store(true, Ordering::Release);
            thread::sleep(PATIENCE);
            // a thread hangs
            exit(1);
        })?;
        Ok(())
    }

    fn obey(&self, line: &str) {
        let (name, value) = line.split_once(' ').unwrap_or((line, ""));
        let command = match (name, value.parse::<u32>()) {
            ("start", _) => Some(Command::Start),
            ("stop", _) => Some(Command::Stop),
            ("rate", Ok(rate)) if crate::load::RATES.contains(&i64::from(rate)) => Some(Command::Rate(rate)),
            _ => None,
        };
        if let (Some(command), Some((commands, _))) = (command, &self.load) {
            // the generator may have ended
            let _ = commands.send(command);
        }
        let delivery = self.service.delivery();
        if let (Some(quota), "share", Ok(share)) = (delivery.quota(), name, value.parse::<f64>()) {
            quota.set(Some(share));
        }
        let mut answer = json!(delivery.totals());
        if let Some((_, published)) = &self.load {
            answer["published"] = published.load(Ordering::Acquire).into();
        }
        if name == "measure" {
            let recent = delivery.take_recent();
            let paused = delivery.quota().map_or(Duration::ZERO, CpuQuota::paused);
            answer["recent"] = json!(RecentAnswer {
                events: self.service.events(),
                notifications: self.service.notifications(),
                delivered: recent.delivered,
                p99_us: recent.p99_us,
                paused_us: paused.as_micros() as u64,
            });
        }
        outln!("{answer}");
    }
}
