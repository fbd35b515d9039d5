//! Shares as quotas of control groups (cgroup v2, `cpu.max`): the kernel enforces them.
//!
//! The folder must be delegated to this user, have the controller `cpu`, and hold no processes itself (systemd: `Delegate=cpu`).

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The period of a quota, in microseconds: an instance that has used its quota waits for at most so long.
const PERIOD_US: u64 = 20_000;
/// The kernel's least quota.
const MIN_QUOTA_US: u64 = 1000;

/// The folder below which each instance has a group.
#[derive(Clone, Debug)]
pub struct ControlGroups(PathBuf);

/// The group of an instance.
#[derive(Debug)]
pub struct ControlGroup(PathBuf);

fn at(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    fs::write(path, text).map_err(|error| at(path, &error))
}

impl ControlGroups {
    /// Uses a folder.
    ///
    /// # Errors
    /// If it is no control group with the controller `cpu`, or this user may not change it.
    pub fn open(folder: &Path) -> io::Result<Self> {
        let path = folder.join("cgroup.controllers");
        let controllers = fs::read_to_string(&path).map_err(|error| at(&path, &error))?;
        if !controllers.split_whitespace().any(|controller| controller == "cpu") {
            let why =
                format!("{}: the controller `cpu` is not there; delegate it (systemd: Delegate=cpu)", path.display());
            return Err(io::Error::new(io::ErrorKind::Unsupported, why));
        }
        write(&folder.join("cgroup.subtree_control"), "+cpu")?;
        Ok(ControlGroups(folder.to_owned()))
    }

    /// Creates the group of an instance for a process.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn add(&self, name: &str, process: u32) -> io::Result<ControlGroup> {
        let folder = self.0.join(format!("rnis-{name}"));
        match fs::create_dir(&folder) {
            // an earlier process had it
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(at(&folder, &error)),
            _ => {}
        }
        let group = ControlGroup(folder);
        write(&group.0.join("cgroup.procs"), &process.to_string())?;
        Ok(group)
    }
}

impl ControlGroup {
    /// Limits its processes to so many processors.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn set(&self, share: f64) -> io::Result<()> {
        let quota_us = ((share * PERIOD_US as f64) as u64).max(MIN_QUOTA_US);
        let burst = self.0.join("cpu.max.burst");
        // the kernel refuses a quota below the burst; kernels before 5.14 have none: they keep nothing that was not used
        let _ = fs::write(&burst, "0");
        write(&self.0.join("cpu.max"), &format!("{quota_us} {PERIOD_US}"))?;
        let _ = fs::write(&burst, quota_us.to_string());
        Ok(())
    }

    /// The time that its quota has stopped its processes.
    #[must_use]
    pub fn throttled(&self) -> Duration {
        let text = fs::read_to_string(self.0.join("cpu.stat")).unwrap_or_default();
        let value = text.lines().find_map(|line| line.strip_prefix("throttled_usec ")?.trim().parse().ok());
        Duration::from_micros(value.unwrap_or_default())
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        // a group with processes stays, and the next process of the instance uses it
        let _ = fs::remove_dir(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The files of a control group, as far as they are read and written. That the kernel enforces them: tests/guest.rs of `ferric-rnis`.
    #[test]
    fn quota_is_written_in_the_kernels_form() {
        let folder = std::env::temp_dir().join(format!("ferric-control-group-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let missing = ControlGroups::open(&folder).unwrap_err().to_string();
        assert!(missing.contains("cgroup.controllers"), "{missing}");
        fs::write(folder.join("cgroup.controllers"), "memory pids\n").unwrap();
        let without = ControlGroups::open(&folder).unwrap_err().to_string();
        assert!(without.contains("Delegate=cpu"), "{without}");
        fs::write(folder.join("cgroup.controllers"), "memory cpu\n").unwrap();
        let groups = ControlGroups::open(&folder).unwrap();
        let group = groups.add("video", 17).unwrap();
        group.set(0.25).unwrap();
        let read = |name: &str| fs::read_to_string(folder.join("rnis-video").join(name)).unwrap();
        assert_eq!((&*read("cpu.max"), &*read("cgroup.procs")), ("5000 20000", "17"));
        group.set(0.001).unwrap();
        assert_eq!(read("cpu.max"), "1000 20000");
        assert_eq!(group.throttled(), Duration::ZERO);
        fs::write(folder.join("rnis-video/cpu.stat"), "usage_usec 5\nthrottled_usec 1500\n").unwrap();
        assert_eq!(group.throttled(), Duration::from_micros(1500));
        fs::remove_dir_all(&folder).unwrap();
    }
}
