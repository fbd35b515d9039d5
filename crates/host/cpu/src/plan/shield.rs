//! Shields: a cpuset that keeps other tasks off the base station's CPUs.

use std::collections::BTreeSet;
use std::path::Path;

use super::{Plan, Request};
use crate::change::{Change, Target, cgroup_of, read};
use crate::host::{Host, names};
use crate::threads::{self, Thread};
use crate::{Cpus, Error};

/// The names of a shield's control groups.
const SHIELD: &str = "ferric-base-station";
/// From this version on, the kernel keeps what a thread has asked for beside what its cpuset allows (`user_cpus_ptr`).
const REMEMBERS_AFFINITIES: (u32, u32) = (6, 2);
const OTHERS: &str = "ferric-others";

/// Plans the shield itself: its control groups, and who moves where.
pub(super) fn plan(request: &Request, host: &Host, threads: &[Thread], plan: &mut Plan) -> Result<(), Error> {
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
    let is_whole = request.scope.as_os_str().is_empty();
    let scope = if is_whole { cpuset.root.clone() } else { cpuset.root.join(&request.scope) };
    if request.scope.components().any(|part| !matches!(part, std::path::Component::Normal(_))) || !scope.is_dir() {
        return Err(Error::Invalid(format!(
            "{} is no control group below {}",
            request.scope.display(),
            cpuset.root.display()
        )));
    }
    let effective = ["cpuset.effective_cpus", "cpuset.cpus.effective"]
        .iter()
        .map(|name| scope.join(name))
        .find(|path| path.exists());
    let own: Cpus = match effective {
        Some(path) => {
            read(&path)?.parse().map_err(|error| Error::Unsupported(format!("{}: {error}", path.display())))?
        }
        None => host.online.clone(),
    };
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
    shrink(&scope, &shield, plan)?;
    let memory = read(&scope.join("cpuset.effective_mems"))?;
    for (path, cpus) in [(&inside, &shield), (&outside, &others)] {
        let files = [("cpuset.cpus", cpus.to_string()), ("cpuset.mems", memory.clone())];
        let files = files.map(|(name, value)| (name.to_owned(), value)).to_vec();
        plan.changes.push(Change::Cgroup { path: path.clone(), files });
    }
    plan.changes.extend(threads.iter().map(|thread| cpuset.move_to(thread, &inside)));
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
            if cgroup_of(&Target::from(thread), 1, &cpuset.root)?.as_ref() == Some(&scope) {
                plan.changes.push(cpuset.move_to(thread, &outside));
            }
        }
    }
    Ok(())
}

/// Takes a shield's CPUs from the control groups within one.
fn shrink(group: &Path, shield: &Cpus, plan: &mut Plan) -> Result<(), Error> {
    for name in names(group) {
        let child = group.join(name);
        if !child.is_dir() {
            continue;
        }
        shrink(&child, shield, plan)?;
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
