//! Policies, and the changes that each consists of on a host. Nothing here changes anything.

pub(crate) mod shield;

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::change::Change;
use crate::host::{Host, Interrupt, names};
use crate::profile::{Knob, Profile};
use crate::threads::{self, Thread};
use crate::{Cpus, CpusetMount, Error};

/// A policy, by the names of paper 004 (Ocampo et al., Sensors 24(7), 2365), sections 3.4 and 3.5.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Nothing is changed: the reference of measurements.
    None,
    /// Wide affinity: all threads of the base station share its CPUs.
    Wa,
    /// Thread affinity: each urgent group of threads has CPUs of its own.
    Ta,
    /// Interrupt affinity: interrupts of network devices run on one CPU.
    Ia,
    /// Both `ia` and `wa`.
    IaWa,
    /// Both `ia` and `ta`.
    IaTa,
    /// `ia-wa`, and a cpuset that keeps other tasks off the base station's CPUs.
    Shield,
    /// `ia-ta` on CPUs that the boot line has isolated.
    Isolcpus,
}

impl Policy {
    /// All policies, by their names.
    pub const ALL: [(&'static str, Policy); 8] = [
        ("none", Policy::None),
        ("wa", Policy::Wa),
        ("ta", Policy::Ta),
        ("ia", Policy::Ia),
        ("ia-wa", Policy::IaWa),
        ("ia-ta", Policy::IaTa),
        ("shield", Policy::Shield),
        ("isolcpus", Policy::Isolcpus),
    ];

    fn moves_interrupts(self) -> bool {
        matches!(self, Policy::Ia | Policy::IaWa | Policy::IaTa | Policy::Shield | Policy::Isolcpus)
    }

    fn moves_threads(self) -> bool {
        !matches!(self, Policy::None | Policy::Ia)
    }

    fn separates_threads(self) -> bool {
        matches!(self, Policy::Ta | Policy::IaTa | Policy::Isolcpus)
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Policy::ALL.iter().find(|(_, policy)| policy == self).map_or("", |(name, _)| name))
    }
}

impl FromStr for Policy {
    type Err = String;

    fn from_str(text: &str) -> Result<Policy, String> {
        let found = Policy::ALL.iter().find(|(name, _)| *name == text);
        let all = || Policy::ALL.map(|(name, _)| name).join(", ");
        found.map(|(_, policy)| *policy).ok_or_else(|| format!("`{}` is none of {}", text.escape_debug(), all()))
    }
}

/// Which threads are the base station's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Patterns of names of processes (all of their threads) and of threads.
    pub names: Vec<String>,
    /// Numbers of processes (all of their threads) and of threads.
    pub pids: Vec<u32>,
}

impl Selection {
    /// The threads that are selected now. Threads of the kernel, process 1 and this process never are. What a selected process has
    /// forked belongs to it.
    ///
    /// # Errors
    /// [`Error::Invalid`] if one of these is selected by number; [`Error::System`].
    pub fn find(&self) -> Result<Vec<Thread>, Error> {
        let own = std::process::id();
        if self.pids.contains(&1) {
            return Err(Error::Invalid(
                "process 1 is never moved: give the number of the base station's process".into(),
            ));
        }
        if self.pids.contains(&own) {
            return Err(Error::Invalid(
                "ferric cpu does not move itself: give the number of the base station's process".into(),
            ));
        }
        let failed = |source| Error::system("list processes", "", source);
        let (mut found, mut whole) = (Vec::new(), BTreeSet::new());
        let mut others = Vec::new();
        for pid in threads::processes().map_err(failed)?.into_iter().filter(|pid| *pid != 1 && *pid != own) {
            let all = threads::of_process(pid).map_err(failed)?;
            let Some(first) = all.iter().find(|thread| thread.tid == pid) else { continue };
            if first.is_kernel {
                if self.pids.contains(&pid) {
                    return Err(Error::Invalid(format!(
                        "{pid} ({}) is a thread of the kernel, which is never moved",
                        first.name
                    )));
                }
            } else if self.pids.contains(&pid) || self.is_named(first) {
                whole.insert(pid);
                found.extend(all);
            } else {
                others.push(all);
            }
        }
        // numbers wrap around, so a parent may come after its child
        loop {
            let is_child = |all: &mut Vec<Thread>| all.first().is_some_and(|first| whole.contains(&first.parent));
            let children: Vec<_> = others.extract_if(.., is_child).collect();
            if children.is_empty() {
                break;
            }
            whole.extend(children.iter().flatten().map(|thread| thread.pid));
            found.extend(children.into_iter().flatten());
        }
        let is_selected = |thread: &Thread| self.pids.contains(&thread.tid) || self.is_named(thread);
        found.extend(others.into_iter().flatten().filter(is_selected));
        found.retain(|thread| !thread.is_bound);
        Ok(found)
    }

    /// Whether a thread has one of the names.
    fn is_named(&self, thread: &Thread) -> bool {
        self.names.iter().any(|pattern| threads::matches(pattern, &thread.name))
    }
}

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Request {
    /// The policy.
    pub policy: Policy,
    /// The base station's threads.
    pub selection: Selection,
    /// Its profile.
    pub profile: Profile,
    /// The control group, relative to the hierarchy's root, whose tasks a shield keeps off the base station's CPUs. Empty: the root.
    pub scope: PathBuf,
}

/// What would be done.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The changes, in their order.
    pub changes: Vec<Change>,
    /// What is left out or needs attention, a sentence each.
    pub notes: Vec<String>,
    /// The boot line that `isolcpus` takes.
    pub boot_line: Option<String>,
    /// The base station's CPUs.
    pub cpus: Cpus,
    /// The CPUs of interrupts.
    pub irq_cpus: Cpus,
    /// The hierarchy and the folder of a shield's control group.
    pub shield: Option<(CpusetMount, PathBuf)>,
}

/// The CPUs of a base station on a host: as the profile says, else the upper half of those that are online. CPU 0 stays with the
/// others if there is another one.
///
/// # Errors
/// [`Error::Invalid`] if none is left for the base station, or one is offline.
pub fn base_station_cpus(profile: &Profile, host: &Host) -> Result<Cpus, Error> {
    let upper = || {
        let count = host.online.len().div_ceil(2).min(host.online.len().saturating_sub(1)).max(1);
        host.online.iter().rev().take(count).collect()
    };
    let cpus: Cpus = profile.cpus.clone().unwrap_or_else(upper);
    let offline = cpus.without(&host.online);
    if cpus.is_empty() {
        return Err(Error::Invalid("no CPU is left for the base station: give --cpus, such as --cpus 2-3".into()));
    }
    if !offline.is_empty() {
        let online = &host.online;
        return Err(Error::Invalid(format!(
            "CPUs {offline} are not online (online: {online}): give others with --cpus"
        )));
    }
    Ok(cpus)
}

/// The CPUs of each group of a profile and, last, those of all other threads.
///
/// As in section 3.4 of the paper: the last CPU is that of the threads that are not urgent; each urgent group has one of the others,
/// in the order of the profile. If there are too few, neighbours share; what is left over goes to the pools, else to the others.
pub(crate) fn thread_cpus(profile: &Profile, cpus: &Cpus) -> Vec<Cpus> {
    let all: Vec<usize> = cpus.iter().collect();
    let last: Cpus = cpus.last();
    let urgent: Vec<usize> = if all.len() == 1 { all.clone() } else { all[..all.len() - 1].to_vec() };
    let groups = profile.groups.iter().filter(|group| group.is_real_time).count();
    let spare: Cpus = urgent.iter().skip(groups).copied().collect();
    let has_pool = profile.groups.iter().any(|group| group.is_real_time && group.is_pool);
    let rest = if has_pool || all.len() == 1 { last } else { last.with(&spare) };
    let mut index = 0;
    let mut found: Vec<Cpus> = profile
        .groups
        .iter()
        .map(|group| {
            if !group.is_real_time {
                return group.cpus.clone().unwrap_or_else(|| rest.clone());
            }
            let place = if groups <= urgent.len() { index } else { index * urgent.len() / groups };
            index += 1;
            let own = Cpus::from_iter([urgent[place]]);
            group.cpus.clone().unwrap_or(if group.is_pool { own.with(&spare) } else { own })
        })
        .collect();
    found.push(rest);
    found
}

/// The changes that give threads their CPUs.
pub(crate) fn affinities(request: &Request, threads: &[Thread], cpus: &Cpus) -> Vec<Change> {
    if !request.policy.moves_threads() {
        return Vec::new();
    }
    let Request { profile, .. } = request;
    let of_groups = thread_cpus(profile, cpus);
    let urgent: Cpus = if cpus.len() > 1 { cpus.without(&cpus.last()) } else { cpus.clone() };
    let change = |thread: &Thread| {
        let own = match profile.group_of(thread) {
            _ if !request.policy.separates_threads() => cpus.clone(),
            Some(group) => of_groups[group].clone(),
            // without a group: what is urgent says so by its scheduling policy
            None if profile.groups.is_empty() && thread.is_real_time() => urgent.clone(),
            None if profile.groups.is_empty() => cpus.last(),
            None => of_groups[profile.groups.len()].clone(),
        };
        Change::Affinity { thread: thread.into(), cpus: own }
    };
    threads.iter().map(change).collect()
}

/// Plans a policy.
///
/// # Errors
/// [`Error::NotFound`] if there is no such thread; [`Error::Invalid`] and [`Error::Unsupported`] if the policy cannot be applied;
/// [`Error::System`] if the host cannot be read.
pub fn plan(request: &Request, host: &Host) -> Result<Plan, Error> {
    let cpus = base_station_cpus(&request.profile, host)?;
    let others = host.online.without(&cpus);
    // as in the paper the CPU of the threads that are not urgent, if that is not one with urgent ones
    let default = || if cpus.len() == 1 && !others.is_empty() { others.last() } else { cpus.last() };
    let irq_cpus = request.profile.irq_cpus.clone().unwrap_or_else(default);
    if irq_cpus.common(&host.online).is_empty() {
        return Err(Error::Invalid(format!(
            "none of the interrupts' CPUs {irq_cpus} is online: give others with --irq-cpus"
        )));
    }
    for group in &request.profile.groups {
        if let Some(outside) = group.cpus.as_ref().map(|own| own.without(&cpus)).filter(|outside| !outside.is_empty()) {
            let reason = format!("group {}: CPUs {outside} are not the base station's ({cpus})", group.name);
            return Err(Error::Invalid(reason));
        }
    }
    let mut plan = Plan { cpus, irq_cpus, ..Plan::default() };
    let threads = request.selection.find()?;
    if request.policy.moves_threads() && threads.is_empty() {
        let Selection { names, pids } = &request.selection;
        let names = names.iter().map(|name| format!("is called {name}"));
        let all: Vec<_> = names.chain(pids.iter().map(|pid| format!("has the number {pid}"))).collect();
        return Err(Error::NotFound(format!("no thread {}: `ps -eLo pid,tid,comm` lists all", all.join(" or "))));
    }
    if request.policy == Policy::Isolcpus {
        plan_isolation(host, &mut plan)?;
    }
    // first what may be refused as a whole
    if request.policy == Policy::Shield {
        shield::plan(request, host, &threads, &mut plan)?;
    }
    if request.policy.moves_interrupts() {
        plan_interrupts(request, host, &mut plan);
    }
    for knob in &request.profile.knobs {
        plan_knob(*knob, request, host, &mut plan);
    }
    let affinities = affinities(request, &threads, &plan.cpus);
    // in version 2 a process moves with all of its threads: their affinities are noted before
    let is_first = plan.shield.as_ref().is_some_and(|(cpuset, _)| cpuset.version == 2);
    let at = if is_first { 0 } else { plan.changes.len() };
    plan.changes.splice(at..at, affinities);
    Ok(plan)
}

pub(crate) fn plan_interrupts(request: &Request, host: &Host, plan: &mut Plan) {
    let patterns = &request.profile.interrupts;
    let is_meant = |interrupt: &&Interrupt| {
        let mut known = interrupt.names.iter().chain(&interrupt.device);
        if patterns.is_empty() {
            interrupt.device.is_some()
        } else {
            known.any(|name| patterns.iter().any(|pattern| threads::matches(pattern, name)))
        }
    };
    let meant: Vec<_> = host.interrupts.iter().filter(is_meant).collect();
    if meant.is_empty() {
        plan.notes
            .push("no interrupt of a network device was found: give names with --irq, as in /proc/interrupts".into());
    }
    plan.changes.extend(meant.iter().map(|interrupt| Change::File {
        path: format!("/proc/irq/{}/smp_affinity_list", interrupt.number).into(),
        value: plan.irq_cpus.to_string(),
        may_fail: true,
    }));
}

pub(crate) fn plan_knob(knob: Knob, request: &Request, host: &Host, plan: &mut Plan) {
    let set = |path: String, value: String, may_fail| Change::File { path: path.into(), value, may_fail };
    let others = host.online.without(&plan.cpus);
    let is_meant = |device: &&String| {
        let patterns = &request.profile.interrupts;
        patterns.is_empty() || patterns.iter().any(|pattern| threads::matches(pattern, device))
    };
    let queues = |start: &str, file: &str| -> Vec<String> {
        let of_device = |device: &String| {
            let folder = format!("/sys/class/net/{device}/queues");
            let own: Vec<_> = names(&folder).into_iter().filter(|queue| queue.starts_with(start)).collect();
            own.into_iter().map(move |queue| format!("{folder}/{queue}/{file}"))
        };
        host.devices.iter().filter(is_meant).flat_map(of_device).filter(|path| Path::new(path).exists()).collect()
    };
    let mut changes = Vec::new();
    match knob {
        Knob::Workqueue if others.is_empty() => {
            plan.notes.push("workqueue: left out, since the base station has all CPUs".into());
            return;
        }
        Knob::Workqueue => changes.push(set("/sys/devices/virtual/workqueue/cpumask".into(), others.mask(), false)),
        Knob::Rps => {
            changes.extend(queues("rx-", "rps_cpus").into_iter().map(|path| set(path, plan.irq_cpus.mask(), true)))
        }
        Knob::Xps => {
            changes.extend(queues("tx-", "xps_cpus").into_iter().map(|path| set(path, plan.irq_cpus.mask(), true)))
        }
        Knob::RtThrottling => {
            plan.notes.push(
                "rt-throttling: a real-time thread that never sleeps will stop everything else on its CPU".into(),
            );
            changes.push(set("/proc/sys/kernel/sched_rt_runtime_us".into(), "-1".into(), false));
        }
        Knob::Smt => {
            let siblings = plan
                .cpus
                .iter()
                .filter_map(|cpu| host.siblings.get(&cpu))
                .fold(Cpus::default(), |all, own| all.with(own));
            let idle = siblings.without(&plan.cpus);
            if idle.without(&Cpus::from_iter([0])).is_empty() {
                plan.notes.push("smt: the base station's CPUs have no hardware threads beside them".into());
            }
            // the kernel may not allow CPU 0 to go
            let offline = idle.iter().filter(|cpu| *cpu != 0);
            changes
                .extend(offline.map(|cpu| set(format!("/sys/devices/system/cpu/cpu{cpu}/online"), "0".into(), false)));
        }
        Knob::Governor => {
            let path = |cpu| format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor");
            let present = plan.cpus.iter().map(path).filter(|path| Path::new(path).exists());
            changes.extend(present.map(|path| set(path, "performance".into(), false)));
            if changes.is_empty() {
                plan.notes.push("governor: this host does not control the frequency of its CPUs".into());
            }
        }
    }
    plan.changes.extend(changes);
}

/// The boot line that isolates CPUs, and whether the host was booted with it.
fn plan_isolation(host: &Host, plan: &mut Plan) -> Result<(), Error> {
    let (cpus, others) = (&plan.cpus, host.online.without(&plan.cpus));
    if others.is_empty() {
        return Err(Error::Invalid("isolcpus leaves no CPU to everything else: give fewer CPUs with --cpus".into()));
    }
    plan.boot_line =
        Some(format!("isolcpus=domain,managed_irq,{cpus} nohz_full={cpus} rcu_nocbs={cpus} irqaffinity={others}"));
    let missing = cpus.without(&host.isolated);
    if !missing.is_empty() {
        plan.notes.push(format!(
            "CPUs {missing} are not isolated: add the boot line to the boot loader's, and restart the host"
        ));
    }
    Ok(())
}

#[cfg(test)]
#[path = "plan/tests.rs"]
mod tests;
