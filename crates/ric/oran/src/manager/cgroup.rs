//! Limits of what an xApp may use of the host: a cgroup of version 2.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What an xApp may use. Default: everything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Memory in MiB, with that of the files that it has in use.
    pub memory_mib: Option<u64>,
    /// Percent of one CPU.
    pub cpu_percent: Option<u32>,
    /// Processes and threads.
    pub processes: Option<u32>,
}

impl Limits {
    /// Whether nothing is limited.
    pub fn is_empty(&self) -> bool {
        *self == Limits::default()
    }

    /// The controllers, their files, and what is written to them.
    fn values(&self) -> Vec<(&'static str, &'static str, String)> {
        /// Microseconds.
        const PERIOD_US: u64 = 100_000;
        let memory = self.memory_mib.map(|mib| ("memory", "memory.max", (mib << 20).to_string()));
        let quota = self.cpu_percent.map(|percent| format!("{} {PERIOD_US}", u64::from(percent) * PERIOD_US / 100));
        let processes = self.processes.map(|processes| ("pids", "pids.max", processes.to_string()));
        memory.into_iter().chain(quota.map(|quota| ("cpu", "cpu.max", quota))).chain(processes).collect()
    }
}

/// The cgroup of an xApp; removed when dropped, which has an effect once its processes have ended.
#[derive(Debug)]
pub(super) struct Cgroup(PathBuf);

impl Cgroup {
    /// Creates a cgroup below another, with limits.
    ///
    /// # Errors
    /// Which right or controller is missing.
    pub fn create(parent: Option<&Path>, name: &str, limits: &Limits) -> Result<Cgroup, String> {
        let of_ric;
        let parent = match parent {
            Some(parent) => parent,
            None => {
                of_ric = below_own()?;
                &of_ric
            }
        };
        let failed = |what: &str, path: &Path, error: &io::Error| {
            format!(
                "cannot {what} {}: {error}; the RIC needs a cgroup of version 2 that its user may write, such as of a systemd unit \
                 with Delegate=yes and DelegateSubgroup=",
                path.display()
            )
        };
        create_folder(parent).map_err(|error| failed("create", parent, &error))?;
        let values = limits.values();
        let offered = parent.join("cgroup.controllers");
        let controllers = fs::read_to_string(&offered).map_err(|error| failed("read", &offered, &error))?;
        let is_offered = |controller: &str| controllers.split_ascii_whitespace().any(|offered| offered == controller);
        if let Some((missing, ..)) = values.iter().find(|(controller, ..)| !is_offered(controller)) {
            return Err(format!(
                "{} does not offer the controller {missing}: enable it in the cgroups above",
                parent.display()
            ));
        }
        let enabled: Vec<_> = values.iter().map(|(controller, ..)| format!("+{controller}")).collect();
        let subtree = parent.join("cgroup.subtree_control");
        fs::write(&subtree, enabled.join(" ")).map_err(|error| failed("write", &subtree, &error))?;
        let own = Cgroup(parent.join(name));
        create_folder(&own.0).map_err(|error| failed("create", &own.0, &error))?;
        for (_, file, value) in values {
            let path = own.0.join(file);
            fs::write(&path, value).map_err(|error| failed("write", &path, &error))?;
        }
        if limits.memory_mib.is_some() {
            // what exceeds the limit is not swapped out, and ends all of the xApp; kernels without swap or before 4.19 lack these files
            let _ = fs::write(own.0.join("memory.swap.max"), "0");
            let _ = fs::write(own.0.join("memory.oom.group"), "1");
        }
        Ok(own)
    }

    /// How often a process in it was killed because of its limit of memory.
    pub fn memory_kills(&self) -> u64 {
        let events = fs::read_to_string(self.0.join("memory.events")).unwrap_or_default();
        let kills = events.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok());
        kills.unwrap_or(0)
    }

    /// The file that takes the ids of processes.
    pub fn processes(&self) -> PathBuf {
        self.0.join("cgroup.procs")
    }

    /// Kills all that are in it.
    pub fn kill(&self) {
        // kernels before 5.14 have no such file: the process group is killed in any case
        let _ = fs::write(self.0.join("cgroup.kill"), "1");
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        /// The processes in it, which were killed, may take this long to end.
        const ATTEMPTS: u32 = 20;
        const PAUSE: Duration = Duration::from_millis(5);
        for _ in 0..ATTEMPTS {
            match fs::remove_dir(&self.0) {
                Err(error) if error.kind() == io::ErrorKind::ResourceBusy => std::thread::sleep(PAUSE),
                // one that stays is used again by the next xApp of this name
                _ => return,
            }
        }
    }
}

fn create_folder(path: &Path) -> io::Result<()> {
    match fs::create_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        result => result,
    }
}

/// The folder `ferric-xapps` in the cgroup of this process.
fn below_own() -> Result<PathBuf, String> {
    let text =
        fs::read_to_string("/proc/self/cgroup").map_err(|error| format!("cannot read /proc/self/cgroup: {error}"))?;
    let own = text.lines().find_map(|line| line.strip_prefix("0::/"));
    let own = own.map(|own| Path::new("/sys/fs/cgroup").join(own));
    // a host that mounts version 2 elsewhere has its controllers in version 1
    let own = own.filter(|own| own.join("cgroup.controllers").exists());
    own.map(|own| own.join("ferric-xapps"))
        .ok_or_else(|| "this host has no cgroups of version 2 in /sys/fs/cgroup".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_written_as_the_kernel_reads_them() {
        let limits = Limits { memory_mib: Some(64), cpu_percent: Some(150), processes: Some(7) };
        let values: Vec<_> = limits.values().into_iter().map(|(_, file, value)| (file, value)).collect();
        let expected = [("memory.max", "67108864"), ("cpu.max", "150000 100000"), ("pids.max", "7")];
        assert_eq!(values, expected.map(|(file, value)| (file, value.to_owned())));
    }

    #[test]
    fn missing_right_or_controller_is_named() {
        let limits = Limits { memory_mib: Some(64), ..Limits::default() };
        let refusal = |parent: &Path| Cgroup::create(Some(parent), "hw", &limits).unwrap_err();
        assert!(
            refusal(Path::new("/proc/none")).contains("cannot create /proc/none: "),
            "{}",
            refusal(Path::new("/proc/none"))
        );
        let folder = std::env::temp_dir().join(format!("ferric-cgroup-{}", std::process::id()));
        let text = refusal(&folder);
        assert!(text.contains("cannot read") && text.contains("Delegate=yes"), "{text}");
        fs::write(folder.join("cgroup.controllers"), "cpu pids\n").unwrap();
        let text = refusal(&folder);
        assert!(text.contains("does not offer the controller memory"), "{text}");
        fs::remove_dir_all(&folder).unwrap();
    }
}
