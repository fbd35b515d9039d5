//! The process of an emulated unit, and what it prints.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use anyhow::{Context as _, bail};
use serde_json::Value;

use super::load::end_group;

/// The length of a period in which the unit reports, in ms.
pub const PERIOD_MS: u64 = 100;

/// What a unit has counted in a period.
#[derive(Clone, Copy, Debug, Default)]
pub struct Period {
    pub subframes: u64,
    pub misses: u64,
    pub nacks: u64,
    pub nacks_of_misses: u64,
    pub dl_mbps: f64,
}

/// A running unit, ended when this is dropped.
pub struct UnitProcess {
    child: Child,
    reader: Option<JoinHandle<()>>,
    periods: Arc<Mutex<Vec<Period>>>,
    /// Its threads: name and number.
    pub threads: Vec<(String, u32)>,
}

impl UnitProcess {
    /// Starts a unit with these arguments, and waits until its threads run.
    pub fn start(program: &Path, arguments: &[&str]) -> anyhow::Result<UnitProcess> {
        let mut child = Command::new(program)
            .args(["--json", "--report-ms", &PERIOD_MS.to_string(), "--log", "error"])
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()
            .with_context(|| format!("cannot run {}", program.display()))?;
        let output = child.stdout.take().context("its output is piped")?;
        let mut lines = BufReader::new(output).lines();
        let first = lines.next().and_then(Result::ok).and_then(|line| serde_json::from_str::<Value>(&line).ok());
        let threads = first.as_ref().and_then(|first| first["threads"].as_array());
        let Some(threads) = threads else {
            end_group(&mut child);
            bail!("`ferric vbbu {}` has not started: run it to see why", arguments.join(" "));
        };
        let of = |thread: &Value| Some((thread["name"].as_str()?.to_owned(), thread["tid"].as_u64()?.try_into().ok()?));
        let threads: Vec<_> = threads.iter().filter_map(of).collect();
        let periods = Arc::<Mutex<Vec<Period>>>::default();
        let shared = Arc::clone(&periods);
        let reader = std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let Ok(value) = serde_json::from_str::<Value>(&line) else { continue };
                // the last line has totals
                if value["at_ms"].is_null() {
                    continue;
                }
                let count = |name: &str| value[name].as_u64().unwrap_or(0);
                lock(&shared).push(Period {
                    subframes: count("subframes"),
                    misses: count("misses"),
                    nacks: count("nacks"),
                    nacks_of_misses: count("nacks_of_misses"),
                    dl_mbps: value["dl_mbps"].as_f64().unwrap_or(0.0),
                });
            }
        });
        Ok(UnitProcess { child, reader: Some(reader), periods, threads })
    }

    pub fn group(&self) -> u32 {
        self.child.id()
    }

    /// The periods that have ended since the start.
    pub fn periods(&self) -> usize {
        lock(&self.periods).len()
    }

    /// The periods from one on.
    pub fn since(&self, first: usize) -> Vec<Period> {
        lock(&self.periods).get(first..).unwrap_or_default().to_vec()
    }

    pub fn tids(&self) -> Vec<u32> {
        self.threads.iter().map(|(_, tid)| *tid).collect()
    }
}

/// A list is whole after each push, also of a thread that has panicked.
fn lock(periods: &Mutex<Vec<Period>>) -> MutexGuard<'_, Vec<Period>> {
    periods.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for UnitProcess {
    fn drop(&mut self) {
        end_group(&mut self.child);
        if let Some(reader) = self.reader.take()
            && reader.join().is_err()
        {
            eprintln!("ferric paper: the reader of a unit's output has panicked");
        }
    }
}
