//! Steps as changes of the host.

use std::collections::BTreeSet;

use super::{Abilities, Step};
use crate::change::{Change, Target, cgroup_of};
use crate::host::Host;
use crate::plan::{affinities, base_station_cpus, plan_interrupts, plan_knob, shield};
use crate::profile::Knob;
use crate::threads::{self, Thread};
use crate::{Cpus, Error, Plan, Policy, Request};

const SCHEDULING_OTHER: u32 = 0;
const SCHEDULING_BATCH: u32 = 3;
pub(super) const SCHEDULING_IDLE: u32 = 5;

/// What turns steps into changes.
#[derive(Debug)]
pub(super) struct Steps {
    request: Request,
    host: Host,
    pub(super) cpus: Cpus,
    others: Cpus,
    irq_cpus: Cpus,
}

impl Steps {
    /// # Errors
    /// [`Error::Invalid`] if the base station's CPUs are none, offline, or all.
    pub(super) fn new(request: &Request, host: Host) -> Result<Steps, Error> {
        let cpus = base_station_cpus(&request.profile, &host)?;
        let others = host.online.without(&cpus);
        if others.is_empty() {
            return Err(Error::Invalid(
                "the dynamic policy leaves no CPU to everything else: give fewer CPUs with --cpus".into(),
            ));
        }
        if let Some(cpuset) = host.cpuset.as_ref().filter(|_| !request.scope.as_os_str().is_empty()) {
            shield::scope(request, cpuset)?;
        }
        // unlike in a plan they never are the base station's: that is what helps
        let irq_cpus = request.profile.irq_cpus.clone().unwrap_or_else(|| others.last());
        Ok(Steps { request: request.clone(), host, cpus, others, irq_cpus })
    }

    /// How many CPUs the host has.
    pub(super) fn online_count(&self) -> usize {
        self.host.online.len()
    }

    fn request(&self, policy: Policy) -> Request {
        Request { policy, ..self.request.clone() }
    }

    /// What can be done for a base station with these threads.
    pub(super) fn abilities(&self, threads: &[Thread]) -> Abilities {
        let has = |step| self.changes(&step, threads, &Cpus::default()).is_ok_and(|changes| !changes.is_empty());
        let separate = affinities(&self.request(Policy::Ta), threads, &self.cpus);
        let lists: BTreeSet<String> = separate.iter().map(|change| change.command()).collect();
        let is_divided = lists.len() > 1 && self.cpus.len() > 1;
        let shield = match self.host.cpuset.as_ref().map(|cpuset| cpuset.version) {
            Some(1) => self.cpus.iter().rev().map(|cpu| Cpus::from_iter([cpu])).collect(),
            // a partition takes all of them at once
            Some(_) => vec![self.cpus.clone()],
            None => Vec::new(),
        };
        Abilities {
            confine: threads.iter().any(|thread| !thread.cpus.without(&self.cpus).is_empty()),
            elsewhere: true,
            separate: is_divided,
            workqueue: has(Step::Workqueue),
            interrupts: has(Step::Interrupts),
            steering: has(Step::Steering),
            shield,
        }
    }

    /// The changes of a step. `lost`: the CPUs that all others have lost already.
    ///
    /// # Errors
    /// Those of reading the host.
    pub(super) fn changes(&self, step: &Step, threads: &[Thread], lost: &Cpus) -> Result<Vec<Change>, Error> {
        let mut plan = Plan { cpus: self.cpus.clone(), irq_cpus: self.irq_cpus.clone(), ..Plan::default() };
        match step {
            Step::Confine => return Ok(affinities(&self.request(Policy::Wa), threads, &self.cpus)),
            Step::Separate => return Ok(affinities(&self.request(Policy::Ta), threads, &self.cpus)),
            Step::Workqueue => plan_knob(Knob::Workqueue, &self.request, &self.host, &mut plan),
            Step::Steering => plan_knob(Knob::Rps, &self.request, &self.host, &mut plan),
            Step::Interrupts => plan_interrupts(&self.request, &self.host, &mut plan),
            Step::Interrupt { number } => plan.changes.push(Change::File {
                path: format!("/proc/irq/{number}/smp_affinity_list").into(),
                value: self.irq_cpus.to_string(),
                may_fail: false,
            }),
            Step::Yield { name } => {
                let tasks = self.tasks(name, threads)?;
                // what has a policy of its own choice keeps it
                let fair = tasks.iter().filter(|task| [SCHEDULING_OTHER, SCHEDULING_BATCH].contains(&task.policy));
                plan.changes
                    .extend(fair.map(|task| Change::Scheduling { thread: task.into(), policy: SCHEDULING_IDLE }));
            }
            Step::Evict { name } => {
                let change = |task: &Thread| {
                    let rest = task.cpus.without(&self.cpus);
                    let cpus = if rest.is_empty() { self.others.clone() } else { rest };
                    Change::Affinity { thread: task.into(), cpus }
                };
                plan.changes.extend(self.tasks(name, threads)?.iter().map(change));
            }
            Step::Shield { cpus } => {
                if self.host.cpuset.as_ref().is_some_and(|cpuset| cpuset.version == 2) {
                    shield::plan(&self.request, &self.host, threads, &mut plan)?;
                } else {
                    return shield::exclude(&self.request, &self.host, threads, lost, cpus);
                }
            }
        }
        Ok(plan.changes)
    }

    /// The user tasks of a name that may be moved: not the base station's, not this process and what it has started, not process 1, and
    /// only those of the control group that is managed.
    ///
    /// # Errors
    /// Those of reading `/proc`.
    pub(super) fn tasks(&self, name: &str, threads: &[Thread]) -> Result<Vec<Thread>, Error> {
        let own = std::process::id();
        let family: BTreeSet<u32> = threads.iter().map(|thread| thread.tid).collect();
        let mut found = threads::named(&[name]).map_err(|source| Error::system("list threads", "", source))?;
        found.retain(|task| {
            task.pid != 1 && task.pid != own && task.parent != own && !task.is_bound && !family.contains(&task.tid)
        });
        found.retain(|task| self.is_in_scope(&Target::from(task)));
        Ok(found)
    }

    /// Whether a thread may be moved, as far as the control group that is managed says. One that has ended is not.
    pub(super) fn is_inside(&self, tid: u32) -> bool {
        let target = |thread: Thread| self.is_in_scope(&Target::from(&thread));
        self.request.scope.as_os_str().is_empty() || Thread::read(tid, tid).ok().flatten().is_some_and(target)
    }

    fn is_in_scope(&self, target: &Target) -> bool {
        let Some(cpuset) = self.host.cpuset.as_ref().filter(|_| !self.request.scope.as_os_str().is_empty()) else {
            return true;
        };
        let scope = cpuset.root.join(&self.request.scope);
        let group = cgroup_of(target, cpuset.version, &cpuset.root).ok().flatten();
        group.is_some_and(|path| path.starts_with(&scope))
    }
}
