//! A block: one scenario under one policy for some seconds, and what was measured in it.

use std::path::PathBuf;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use cpu::latency::{Histogram, Latency, Report, ThreadLatency};
use cpu::{Cpus, Selection};

use super::host::{HostTime, disturbances};
use super::load::{Scenario, WITHOUT_STRESS, check_rights, stress_program};
use super::policy::{Choice, Held};
use super::unit::{Period, UnitProcess};
use crate::Context;

/// How often each block is measured, in turn with all others.
pub const ROUNDS: usize = 3;
/// A block that the host disturbs is repeated so often, as long as all repeats are not more than the points.
const REPEATS: usize = 2;
/// The time from the start of load and policy to the measurement.
const SETTLING: Duration = Duration::from_millis(700);
/// The arguments of a unit on virtual Ethernet devices.
const UNIT: [&str; 2] = ["--network", "veth"];

/// What is measured in one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    pub scenario: Scenario,
    pub choice: Choice,
}

/// What was measured in all rounds of a point.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// The waits of each thread.
    pub waits: Vec<(String, Histogram)>,
    pub periods: Vec<Period>,
    /// The packets per second of a flood that its receiver got, in each round.
    pub flood_per_s: Vec<f64>,
    /// What voids a round, a sentence each.
    pub faults: Vec<String>,
}

impl Measured {
    fn add(&mut self, Block { report, threads, periods, flood_per_s, faults }: Block) {
        for (name, tid) in &threads {
            let found = report.threads.iter().find(|thread| thread.tid == *tid);
            let waits = found.map(|ThreadLatency { wakeup_waits, .. }| *wakeup_waits).unwrap_or_default();
            let place = match self.waits.iter().position(|(known, _)| known == name) {
                Some(place) => place,
                None => {
                    self.waits.push((name.clone(), Histogram::default()));
                    self.waits.len() - 1
                }
            };
            self.waits[place].1.0.iter_mut().zip(waits.0).for_each(|(sum, count)| *sum += count);
        }
        self.periods.extend(periods);
        self.flood_per_s.extend(flood_per_s);
        self.faults.extend(faults);
    }

    /// The shares of a thread's waits: 0-1, 2-3, 4-7, 8-15, 16 us and more, in percent; none if it has not waited.
    pub fn shares(&self, thread: &str) -> Option<[f64; 5]> {
        let (_, waits) = self.waits.iter().find(|(name, _)| name == thread)?;
        (waits.total() > 0).then(|| waits.percentages())
    }

    fn sum(&self, of: impl Fn(&Period) -> u64) -> f64 {
        self.periods.iter().map(of).sum::<u64>() as f64
    }

    pub fn subframes(&self) -> f64 {
        self.sum(|period| period.subframes)
    }

    pub fn misses(&self) -> f64 {
        self.sum(|period| period.misses)
    }

    pub fn nacks(&self) -> f64 {
        self.sum(|period| period.nacks)
    }

    pub fn nacks_of_misses(&self) -> f64 {
        self.sum(|period| period.nacks_of_misses)
    }

    pub fn nacks_per_1000(&self) -> f64 {
        1000.0 * self.nacks() / self.subframes().max(1.0)
    }
}

/// What was measured in one block.
struct Block {
    report: Report,
    /// The unit's, name and number. Its process has ended with the block: the next one needs its network.
    threads: Vec<(String, u32)>,
    periods: Vec<Period>,
    flood_per_s: Option<f64>,
    faults: Vec<String>,
}

/// The programs of the experiments.
pub struct Rig {
    pub unit: PathBuf,
    /// `ferric-cpu`, the watchdog of policies.
    pub cpu: PathBuf,
    pub seconds: f64,
}

impl Rig {
    pub fn start(context: &Context<'_>) -> anyhow::Result<Rig> {
        check_rights()?;
        let program = |name: &str| {
            let path = context.ferric.with_file_name(name);
            path.exists().then_some(path).with_context(|| format!("the program `{name}` is not beside `ferric`"))
        };
        Ok(Rig { unit: program("ferric-vbbu")?, cpu: program("ferric-cpu")?, seconds: context.seconds })
    }

    /// Measures all points in turn, [`ROUNDS`] times. `None` where the scenario cannot be measured here.
    pub fn measure(&self, points: &[Point]) -> anyhow::Result<Vec<Option<Measured>>> {
        let mut all: Vec<Option<Measured>> = points
            .iter()
            .map(|point| (point.scenario != Scenario::User || stress_program().is_some()).then(Measured::default))
            .collect();
        let mut repeats = points.len();
        for _ in 0..ROUNDS {
            for (point, measured) in points.iter().zip(&mut all) {
                if let Some(measured) = measured {
                    let block = undisturbed(&mut repeats, || self.block(*point), |block| !block.faults.is_empty());
                    measured.add(block.with_context(|| {
                        format!("scenario {}, policy {}", point.scenario.name(), point.choice.name)
                    })?);
                }
            }
        }
        Ok(all)
    }

    fn block(&self, point: Point) -> anyhow::Result<Block> {
        let unit = UnitProcess::start(&self.unit, &UNIT)?;
        let load = point.scenario.start()?;
        let held = Held::apply(point.choice, &unit.tids(), &self.cpu)?;
        sleep(SETTLING);
        let groups: Vec<u32> = [unit.group()].into_iter().chain(load.group()).collect();
        let selection = Selection { names: Vec::new(), pids: unit.tids() };
        let (mut latency, _) = Latency::start(selection, None)?;
        let (first, before, begun) = (unit.periods(), HostTime::read(&groups), Instant::now());
        let packets = load.packets();
        while begun.elapsed().as_secs_f64() < self.seconds {
            sleep(Duration::from_millis(100));
            latency.poll()?;
        }
        let (report, seconds) = (latency.report()?, begun.elapsed().as_secs_f64());
        let foreign = HostTime::read(&groups).foreign_percent(&before, seconds);
        let flood_per_s = load.packets().zip(packets).map(|(after, before)| (after - before) as f64 / seconds);
        let periods = unit.since(first);
        ensure!(!periods.is_empty(), "the unit has reported nothing in {:.1} s", self.seconds);
        drop(held);
        drop(load);
        let faults = disturbances(&report, foreign);
        Ok(Block { report, threads: unit.threads.clone(), periods, flood_per_s, faults })
    }
}

/// Measures a block, and again up to [`REPEATS`] times while the host disturbs it and there are repetitions left of those that all blocks
/// of a figure have. The last one counts.
pub fn undisturbed<T>(
    left: &mut usize,
    mut measure: impl FnMut() -> anyhow::Result<T>,
    is_disturbed: impl Fn(&T) -> bool,
) -> anyhow::Result<T> {
    let mut block = measure()?;
    for _ in 0..REPEATS {
        if *left == 0 || !is_disturbed(&block) {
            break;
        }
        *left -= 1;
        block = measure()?;
    }
    Ok(block)
}

/// What the notes of a figure say about disturbed and missing blocks.
pub fn notes(points: &[Point], all: &[Option<Measured>]) -> Vec<String> {
    let mut notes = Vec::new();
    for (Point { scenario, choice }, measured) in points.iter().zip(all) {
        match measured {
            None => notes.push(format!("{}, {}: {WITHOUT_STRESS}", scenario.name(), choice.name)),
            Some(measured) => {
                if !measured.flood_per_s.is_empty() {
                    let rate = crate::statistics::mean(&measured.flood_per_s);
                    notes.push(format!("{}, {}: {rate:.0} packets/s were received", scenario.name(), choice.name));
                }
                if let Some(fault) = measured.faults.first() {
                    let count = measured.faults.len();
                    notes.push(format!("{}, {}: {count} disturbances, such as: {fault}", scenario.name(), choice.name));
                }
            }
        }
    }
    notes.dedup();
    notes
}

/// Whether nothing has disturbed any block.
pub fn is_quiet(all: &[Option<Measured>]) -> bool {
    all.iter().flatten().all(|measured| measured.faults.is_empty())
}

/// The CPUs of this host, for notes.
pub fn online() -> String {
    cpu::Host::read().map_or_else(|_| "?".into(), |host| Cpus::to_string(&host.online))
}
