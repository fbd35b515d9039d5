//! What the decisions are made of: blame, the base station's load, the share of everything else.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use super::steps::Steps;
use super::{Blamed, Observation, Settings};
use crate::blame::{Blame, Class, Culprit};
use crate::threads::{self, Thread};
use crate::{Error, Request};

/// How often CPU times are read. The kernel counts them in ticks of 10 ms.
const LOAD_PERIOD: Duration = Duration::from_millis(200);
/// The weight of the newest load in the mean.
const NEWEST: f64 = 0.3;
/// How often the tasks of names that were moved are looked at.
const NAMES_PERIOD: Duration = Duration::from_secs(1);
/// Tasks that could run all the time and had less of one CPU than this are starved.
const STARVED_CPUS: f64 = 0.05;

/// The names of tasks that were moved, with the number and the start of each.
pub(super) type Names = BTreeMap<String, BTreeSet<(u32, u64)>>;

/// CPU times at one moment, in ticks.
#[derive(Clone, Copy, Debug, Default)]
struct Times {
    total: u64,
    busy: u64,
    family: u64,
}

/// Measures a base station.
#[derive(Debug)]
pub(super) struct Meter {
    request: Request,
    least_us: u32,
    blame: Blame,
    last_stall_ns: u64,
    times: Option<(Instant, Times)>,
    load: Option<f64>,
    others: f64,
    is_crowded: bool,
    names_read: Instant,
    /// The ticks of the tasks of each name that could run, when they were last read, with those of the host.
    progress: BTreeMap<String, (BTreeMap<u32, u64>, u64)>,
}

impl Meter {
    /// # Errors
    /// Those of [`Blame::start`].
    pub(super) fn start(request: &Request, settings: &Settings) -> Result<Meter, Error> {
        let blame = Blame::start_urgent(request.selection.clone(), request.profile.clone(), settings.least_us)?;
        Ok(Meter {
            request: request.clone(),
            least_us: settings.least_us,
            last_stall_ns: blame.last_stall_ns(),
            blame,
            times: None,
            load: None,
            others: 1.0,
            is_crowded: false,
            names_read: Instant::now(),
            progress: BTreeMap::new(),
        })
    }

    /// The base station's threads as they were last seen.
    pub(super) fn threads(&self) -> Vec<Thread> {
        self.blame.family().values().cloned().collect()
    }

    /// Looks for new threads. A measurement that has no place for new culprits begins anew.
    ///
    /// # Errors
    /// Those of the system.
    pub(super) fn rescan(&mut self) -> Result<(), Error> {
        if self.blame.is_nearly_full() {
            match Blame::start_urgent(self.request.selection.clone(), self.request.profile.clone(), self.least_us) {
                Ok(blame) => self.blame = blame,
                Err(Error::NotFound(_)) => {}
                Err(error) => return Err(error),
            }
        }
        self.blame.rescan()
    }

    /// What has happened since the last call. `names`: those whose tasks were moved.
    ///
    /// # Errors
    /// Those of the system.
    pub(super) fn observe(&mut self, steps: &Steps, names: &Names) -> Result<Observation, Error> {
        let stall_ns = self.blame.last_stall_ns();
        let is_void = std::mem::replace(&mut self.last_stall_ns, stall_ns) != stall_ns;
        let news = self.blame.news();
        let is_real_time = |tid: u32| self.blame.family().get(&tid).is_some_and(Thread::is_real_time);
        // only what may be moved is
        let is_outside = |culprit: &Culprit| culprit.class == Class::UserTask && !steps.is_inside(culprit.number);
        let blamed = news.into_iter().map(|culprit| Blamed {
            is_outside: is_outside(&culprit),
            class: culprit.class,
            number: culprit.number,
            waited_ns: (culprit.total_us * 1000.0) as u64,
            is_real_time: is_real_time(culprit.victim_tid),
            name: culprit.name,
            victim: culprit.victim,
        });
        let blamed = blamed.collect();
        if self.times.is_none_or(|(at, _)| at.elapsed() >= LOAD_PERIOD) {
            self.read_times()?;
        }
        let mut observation = Observation {
            is_void,
            blamed,
            load: self.load.unwrap_or(0.0),
            others: self.others,
            is_crowded: self.is_crowded,
            ..Observation::default()
        };
        if self.names_read.elapsed() >= NAMES_PERIOD {
            self.names_read = Instant::now();
            self.read_names(steps, names, &mut observation)?;
        }
        Ok(observation)
    }

    fn read_times(&mut self) -> Result<(), Error> {
        let text = crate::change::read(std::path::Path::new("/proc/stat"))?;
        let (mut times, running) = parse(&text)
            .ok_or_else(|| Error::Unsupported("/proc/stat cannot be parsed: it has no line `cpu`".into()))?;
        times.family = self.family_ticks()?;
        let (now, online) = (Instant::now(), online_count(&text));
        if let Some((_, before)) = self.times.replace((now, times)) {
            let total = times.total.saturating_sub(before.total) as f64;
            if total > 0.0 {
                // a thread that has ended takes its ticks with it
                let family = (times.family.saturating_sub(before.family) as f64).min(total);
                let busy = times.busy.saturating_sub(before.busy) as f64;
                let load = family / total * online as f64;
                self.load = Some(self.load.map_or(load, |mean| mean + NEWEST * (load - mean)));
                self.others = (busy - family).max(0.0) / total;
            }
        }
        self.is_crowded = running > online as u64;
        Ok(())
    }

    /// The CPU time of the base station: of whole processes where these are selected, else of threads.
    fn family_ticks(&self) -> Result<u64, Error> {
        let family = self.blame.family();
        let failed = |source| Error::system("read the CPU time of the base station", "", source);
        let (mut ticks, mut seen) = (0, BTreeSet::new());
        for (tid, thread) in family {
            let is_whole = family.contains_key(&thread.pid);
            if is_whole && !seen.insert(thread.pid) {
                continue;
            }
            let folder =
                if is_whole { format!("/proc/{}", thread.pid) } else { format!("/proc/{}/task/{tid}", thread.pid) };
            ticks += threads::usage(&folder).map_err(failed)?.map_or(0, |(ticks, _)| ticks);
        }
        Ok(ticks)
    }

    fn read_names(&mut self, steps: &Steps, names: &Names, observation: &mut Observation) -> Result<(), Error> {
        let host_ticks = self.times.map_or(0, |(_, times)| times.total);
        let all = self.threads();
        self.progress.retain(|name, _| names.contains_key(name));
        for (name, known) in names {
            let mut tasks = steps.tasks(name, &all)?;
            // what was moved may have another name by now
            let named: BTreeSet<u32> = tasks.iter().map(|task| task.tid).collect();
            for (tid, start) in known.iter().filter(|(tid, _)| !named.contains(tid)) {
                let read = Thread::read(*tid, *tid).map_err(|source| Error::system("read threads", "", source))?;
                tasks.extend(read.filter(|task| task.start == *start));
            }
            if tasks.is_empty() {
                observation.gone.push(name.clone());
                continue;
            }
            let mut could_run = BTreeMap::new();
            for task in tasks {
                let usage = threads::usage(&format!("/proc/{}/task/{}", task.pid, task.tid));
                let usage = usage.map_err(|source| Error::system("read CPU times", "", source))?;
                could_run.extend(usage.filter(|(_, state)| *state == 'R').map(|(ticks, _)| (task.tid, ticks)));
            }
            let ran: u64 = match self.progress.get(name) {
                Some((before, _)) => {
                    could_run.iter().filter_map(|(tid, ticks)| Some(ticks.saturating_sub(*before.get(tid)?))).sum()
                }
                None => u64::MAX,
            };
            let passed = self.progress.get(name).map_or(0, |(_, ticks)| host_ticks.saturating_sub(*ticks));
            let cpus = steps.online_count() as f64;
            // at least one of them could run at both times
            let waited =
                self.progress.get(name).is_some_and(|(before, _)| could_run.keys().any(|tid| before.contains_key(tid)));
            if waited && passed > 0 && (ran as f64) < STARVED_CPUS * passed as f64 / cpus {
                observation.starved.push(name.clone());
            }
            self.progress.insert(name.clone(), (could_run, host_ticks));
        }
        Ok(())
    }
}

/// The host's times, and how many threads could run, in the text of `/proc/stat`.
fn parse(text: &str) -> Option<(Times, u64)> {
    let line = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
    // user, nice, system, idle, iowait, irq, softirq, steal: guests are in the first two
    let ticks: Vec<u64> = line.split_ascii_whitespace().take(8).map_while(|word| word.parse().ok()).collect();
    let [user, nice, system, idle, iowait, irq, softirq, steal] = ticks[..] else { return None };
    let busy = user + nice + system + irq + softirq;
    let running = text.lines().find_map(|line| line.strip_prefix("procs_running "))?.trim().parse().ok()?;
    Some((Times { total: busy + idle + iowait + steal, busy, family: 0 }, running))
}

/// The number of CPUs that are online in the text of `/proc/stat`.
fn online_count(text: &str) -> usize {
    let is_cpu = |line: &&str| line.starts_with("cpu") && line.as_bytes().get(3).is_some_and(u8::is_ascii_digit);
    text.lines().filter(is_cpu).count().max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_the_host_are_read() {
        let text = "cpu  10 1 5 100 2 3 4 7 9 0\ncpu0 5 0 0 0 0 0 0 0 0 0\ncpu1 5 0 0 0 0 0 0 0 0 0\nintr 1\nprocs_running 3\n";
        let (times, running) = parse(text).unwrap();
        assert_eq!((times.busy, times.total, running, online_count(text)), (23, 132, 3, 2));
        for bad in ["", "cpu  1 2\nprocs_running 1\n", "cpu  1 2 3 4 5 6 7 8\n", "cpu  a\nprocs_running 1\n"] {
            assert!(parse(bad).is_none(), "{bad}");
        }
    }
}
