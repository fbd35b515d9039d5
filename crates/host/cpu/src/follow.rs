//! Applies a policy to threads that are started or renamed, and to processes that are forked, while it is held.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use crate::change::{Change, Target};
use crate::plan::affinities;
use crate::{Controller, Cpus, CpusetMount, Error, Plan, Policy, Request, threads};

/// How often all processes of the host are looked at for new ones. In between only those that are known are.
const SCAN_PERIOD: Duration = Duration::from_secs(1);

/// What follows the threads of a base station.
#[derive(Debug)]
pub struct Follower {
    request: Request,
    cpus: Cpus,
    shield: Option<(CpusetMount, std::path::PathBuf)>,
    /// The name and the CPUs that each thread was given.
    known: BTreeMap<u32, (Target, Cpus)>,
    last_scan: Option<Instant>,
}

impl Follower {
    /// Follows the threads of a request whose plan was applied.
    #[must_use]
    pub fn new(request: Request, plan: &Plan) -> Follower {
        let (cpus, shield) = (plan.cpus.clone(), plan.shield.clone());
        Follower { request, cpus, shield, known: BTreeMap::new(), last_scan: None }
    }

    /// Gives new and renamed threads their CPUs. Returns how many were moved. Call it every 100 ms or so.
    ///
    /// # Errors
    /// Those of the system; [`Error::Invalid`] if a CPU of the base station has gone offline.
    pub fn step(&mut self, controller: &mut Controller) -> Result<usize, Error> {
        let online = crate::change::read(std::path::Path::new("/sys/devices/system/cpu/online"))?;
        let online: Cpus = online.parse().map_err(|error| Error::Unsupported(format!("cpu/online: {error}")))?;
        let offline = self.cpus.without(&online);
        if !offline.is_empty() {
            return Err(Error::Invalid(format!(
                "CPUs {offline} of the base station have gone offline: apply the policy anew"
            )));
        }
        let is_scan = self.last_scan.is_none_or(|last| last.elapsed() >= SCAN_PERIOD);
        let threads = if is_scan {
            self.last_scan = Some(Instant::now());
            self.request.selection.find()?
        } else {
            let processes: BTreeSet<u32> = self.known.values().map(|(thread, _)| thread.pid).collect();
            let mut found = Vec::new();
            for pid in processes {
                let all = threads::of_process(pid).map_err(|source| Error::system("list threads", "", source))?;
                // of a process that was selected as a whole, new threads are too
                let whole = self.known.contains_key(&pid);
                found.extend(all.into_iter().filter(|thread| whole || self.known.contains_key(&thread.tid)));
            }
            found
        };
        let mut changes = affinities(&self.request, &threads, &self.cpus);
        // only what is new: a thread that has chosen other CPUs since is left alone
        changes.retain(|change| match change {
            Change::Affinity { thread, cpus } => {
                self.known.insert(thread.tid, (thread.clone(), cpus.clone())) != Some((thread.clone(), cpus.clone()))
            }
            _ => true,
        });
        let selected: BTreeSet<u32> = threads.iter().map(|thread| thread.tid).collect();
        self.known.retain(|tid, _| selected.contains(tid));
        let count = changes.len();
        if let Some((cpuset, path)) = &self.shield {
            // a process that was started meanwhile is elsewhere, where it has other CPUs
            let is_new = |tid: u32| {
                changes.iter().any(|change| matches!(change, Change::Affinity { thread, .. } if thread.tid == tid))
            };
            let moves: Vec<Change> =
                threads.iter().filter(|thread| is_new(thread.tid)).map(|thread| cpuset.move_to(thread, path)).collect();
            // as in the plan
            let at = if cpuset.version == 2 { changes.len() } else { 0 };
            changes.splice(at..at, moves);
        }
        controller.make(&changes)?;
        Ok(count)
    }

    /// Whether all threads that were followed have ended.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.last_scan.is_some() && self.known.is_empty() && !matches!(self.request.policy, Policy::None | Policy::Ia)
    }
}
