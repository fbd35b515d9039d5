//! Shields: a cpuset that keeps other tasks off the base station's CPUs.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::{Plan, Request};
use crate::change::{Change, Target, cgroup_of, read};
use crate::host::{Host, names};
use crate::threads::{self, Thread};
use crate::{Cpus, CpusetMount, Error};

/// The names of a shield's control groups.
const SHIELD: &str = "ferric-base-station";
/// From this version on, the kernel keeps what a thread has asked for beside what its cpuset allows (`user_cpus_ptr`).
const REMEMBERS_AFFINITIES: (u32, u32) = (6, 2);
const OTHERS: &str = "ferric-others";

/// Plans the shield itself: its control groups, and who moves where.
pub(crate) fn plan(request: &Request, host: &Host, threads: &[Thread], plan: &mut Plan) -> Result<(), Error> {
    let cpuset = host.cpuset.as_ref().ok_or_else(|| {
        let remedy = "mount -t cgroup -o cpuset none /sys/fs/cgroup/cpuset, or use ia-wa";
        Error::Unsupported(format!("the cpuset controller is not mounted: {remedy}"))
    })?;
    if cpuset.version == 2 && host.kernel < REMEMBERS_AFFINITIES {
        let (major, minor) = host.kernel;
        return Err(Error::Unsupported(format!(
            "Linux {major}.{minor} forgets the affinities of all threads when a partition comes or goes, so that a shield could not be \
             undone: use ia-wa or ia-ta, Linux 6.2, or cpusets of version 1"
        )));
    }
    let scope = scope(request, cpuset)?;
    let own = cpus_of(&scope, host)?;
    let (shield, others) = (plan.cpus.clone(), own.without(&plan.cpus));
    if !shield.without(&own).is_empty() {
        return Err(Error::Invalid(format!(
            "CPUs {shield} are not all of {} ({own}): give others with --cpus",
            scope.display()
        )));
    }
    if others.is_empty() {
        return Err(Error::Invalid("a shield leaves no CPU to everything else: give fewer CPUs with --cpus".into()));
    }
    let (inside, outside) = (scope.join(SHIELD), scope.join(OTHERS));
    if inside.exists() || outside.exists() {
        return Err(Error::Invalid(format!(
            "{} exists already: remove it with rmdir if nobody uses it",
            inside.display()
        )));
    }
    plan.shield = Some((cpuset.clone(), inside.clone()));
    if cpuset.version == 2 {
        plan.changes.push(Change::Subtree { path: scope });
        // others lose these CPUs without being moved
        let files = [("cpuset.cpus", shield.to_string()), ("cpuset.cpus.partition", "root".into())];
        let files = files.map(|(name, value)| (name.to_owned(), value)).to_vec();
        plan.changes.push(Change::Cgroup { path: inside.clone(), files });
        let mut moved = BTreeSet::new();
        let leaders = threads.iter().filter(|thread| moved.insert(thread.pid));
        plan.changes.extend(leaders.map(|thread| cpuset.move_to(thread, &inside)));
        return Ok(());
    }
    // control groups of others lose the CPUs, the inner ones first
    shrink(&scope, &shield, &BTreeSet::new(), plan)?;
    let memory = read(&scope.join("cpuset.effective_mems"))?;
    for (path, cpus) in [(&inside, &shield), (&outside, &others)] {
        let files = [("cpuset.cpus", cpus.to_string()), ("cpuset.mems", memory.clone())];
        let files = files.map(|(name, value)| (name.to_owned(), value)).to_vec();
        plan.changes.push(Change::Cgroup { path: path.clone(), files });
    }
    plan.changes.extend(threads.iter().map(|thread| cpuset.move_to(thread, &inside)));
    move_others(cpuset, &scope, &outside, threads, plan)
}

/// The control group whose tasks a shield concerns.
pub(crate) fn scope(request: &Request, cpuset: &CpusetMount) -> Result<PathBuf, Error> {
    let scope = cpuset.root.join(&request.scope);
    if request.scope.components().any(|part| !matches!(part, std::path::Component::Normal(_))) || !scope.is_dir() {
        return Err(Error::Invalid(format!(
            "{} is no control group below {}",
            request.scope.display(),
            cpuset.root.display()
        )));
    }
    Ok(scope)
}

fn cpus_of(scope: &Path, host: &Host) -> Result<Cpus, Error> {
    let effective = ["cpuset.effective_cpus", "cpuset.cpus.effective"]
        .iter()
        .map(|name| scope.join(name))
        .find(|path| path.exists());
    match effective {
        Some(path) => read(&path)?.parse().map_err(|error| Error::Unsupported(format!("{}: {error}", path.display()))),
        None => Ok(host.online.clone()),
    }
}

/// Plans that all but the base station's threads lose CPUs beside those that they have `lost`, by cpusets of version 1. The base
/// station's threads stay where they are.
///
/// # Errors
/// [`Error::Invalid`] if others would have no CPU; [`Error::System`].
pub(crate) fn exclude(
    request: &Request,
    host: &Host,
    threads: &[Thread],
    lost: &Cpus,
    cpus: &Cpus,
) -> Result<Vec<Change>, Error> {
    let cpuset = host
        .cpuset
        .as_ref()
        .filter(|cpuset| cpuset.version == 1)
        .ok_or_else(|| Error::Unsupported("the cpuset controller of version 1 is not mounted".into()))?;
    let scope = scope(request, cpuset)?;
    let rest = cpus_of(&scope, host)?.without(lost).without(cpus);
    if rest.is_empty() {
        return Err(Error::Invalid("a shield leaves no CPU to everything else: give fewer CPUs with --cpus".into()));
    }
    let mut plan = Plan::default();
    let outside = scope.join(OTHERS);
    let mut stays = BTreeSet::from([outside.clone()]);
    for thread in threads {
        stays.extend(cgroup_of(&Target::from(thread), 1, &cpuset.root)?);
    }
    shrink(&scope, cpus, &stays, &mut plan)?;
    if !lost.is_empty() {
        plan.changes.push(Change::File { path: outside.join("cpuset.cpus"), value: rest.to_string(), may_fail: false });
        return Ok(plan.changes);
    }
    if outside.exists() {
        let outside = outside.display();
        return Err(Error::Invalid(format!("{outside} exists already: remove it with rmdir if nobody uses it")));
    }
    let memory = read(&scope.join("cpuset.effective_mems"))?;
    let files = [("cpuset.cpus", rest.to_string()), ("cpuset.mems", memory)];
    let files = files.map(|(name, value)| (name.to_owned(), value)).to_vec();
    plan.changes.push(Change::Cgroup { path: outside.clone(), files });
    move_others(cpuset, &scope, &outside, threads, &mut plan)?;
    Ok(plan.changes)
}

/// Plans that the tasks of a control group of version 1 move to another one, but for the base station's threads.
fn move_others(
    cpuset: &CpusetMount,
    scope: &Path,
    outside: &Path,
    threads: &[Thread],
    plan: &mut Plan,
) -> Result<(), Error> {
    let selected: BTreeSet<u32> = threads.iter().map(|thread| thread.tid).collect();
    let stays = [1, std::process::id()];
    for pid in threads::processes().map_err(|source| Error::system("list processes", "", source))? {
        if stays.contains(&pid) {
            continue;
        }
        let all = threads::of_process(pid).map_err(|source| Error::system("list threads", "", source))?;
        for thread in
            all.iter().filter(|thread| !thread.is_kernel && !thread.is_bound && !selected.contains(&thread.tid))
        {
            if cgroup_of(&Target::from(thread), 1, &cpuset.root)?.as_deref() == Some(scope) {
                plan.changes.push(cpuset.move_to(thread, outside));
            }
        }
    }
    Ok(())
}

/// Takes a shield's CPUs from the control groups within one, but for those that keep theirs, and what is above these.
fn shrink(group: &Path, shield: &Cpus, stays: &BTreeSet<PathBuf>, plan: &mut Plan) -> Result<(), Error> {
    for name in names(group) {
        let child = group.join(name);
        if !child.is_dir() {
            continue;
        }
        shrink(&child, shield, stays, plan)?;
        if stays.iter().any(|path| path.starts_with(&child)) {
            continue;
        }
        let path = child.join("cpuset.cpus");
        let cpus: Cpus =
            read(&path)?.parse().map_err(|error| Error::Unsupported(format!("{}: {error}", path.display())))?;
        let rest = cpus.without(shield);
        if rest != cpus {
            if rest.is_empty() {
                return Err(Error::Invalid(format!("{} would have no CPU: give others with --cpus", child.display())));
            }
            plan.changes.push(Change::File { path, value: rest.to_string(), may_fail: false });
        }
    }
    Ok(())
}
