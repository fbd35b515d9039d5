//! What the host has: CPUs, interrupts, network queues, control groups.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::{Cpus, Error};

/// Where the cpuset controller is mounted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpusetMount {
    /// The version of control groups, 1 or 2.
    pub version: u8,
    /// The root of the hierarchy.
    pub root: PathBuf,
}

/// An interrupt line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interrupt {
    /// Its number.
    pub number: u32,
    /// The names of its handlers, such as `virtio2-input.0`.
    pub names: Vec<String>,
    /// The network device that it belongs to.
    pub device: Option<String>,
}

/// The host at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Host {
    /// The CPUs that are online.
    pub online: Cpus,
    /// The CPUs that the boot line has isolated.
    pub isolated: Cpus,
    /// The hardware threads that share a core, for each CPU.
    pub siblings: BTreeMap<usize, Cpus>,
    /// The kernel's boot line.
    pub boot_line: String,
    /// The kernel's version: its first two numbers.
    pub kernel: (u32, u32),
    /// The cpuset controller. None where it is not mounted.
    pub cpuset: Option<CpusetMount>,
    /// The interrupt lines with handlers.
    pub interrupts: Vec<Interrupt>,
    /// The network devices of this network namespace, without the loopback device.
    pub devices: Vec<String>,
}

impl Host {
    /// Reads the host.
    ///
    /// # Errors
    /// If `/proc` or `/sys` cannot be read.
    pub fn read() -> Result<Host, Error> {
        let cpu = |file: &str| read(&format!("/sys/devices/system/cpu/{file}"));
        let online: Cpus =
            cpu("online")?.parse().map_err(|error| Error::Unsupported(format!("cpu/online: {error}")))?;
        let sibling = |cpu: usize| {
            let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
            Some((cpu, fs::read_to_string(path).ok()?.parse().ok()?))
        };
        let device_of = interrupts_of_devices();
        let folders = fs::read_dir("/proc/irq").into_iter().flatten().flatten();
        let mut interrupts: Vec<_> = folders.filter_map(|folder| interrupt(&folder.path(), &device_of)).collect();
        interrupts.sort_by_key(|interrupt| interrupt.number);
        Ok(Host {
            siblings: online.iter().filter_map(sibling).collect(),
            isolated: cpu("isolated").ok().and_then(|text| text.parse().ok()).unwrap_or_default(),
            online,
            boot_line: read("/proc/cmdline")?.trim().to_owned(),
            kernel: version(&read("/proc/sys/kernel/osrelease")?),
            cpuset: cpuset_mount(&read("/proc/self/mounts")?),
            interrupts,
            devices: names("/sys/class/net").into_iter().filter(|name| name != "lo").collect(),
        })
    }
}

fn read(path: &str) -> Result<String, Error> {
    fs::read_to_string(path).map_err(|source| Error::system(format!("read {path}"), "", source))
}

/// The first two numbers of a release such as `6.1.0-56-amd64`; zeros where there are none.
fn version(release: &str) -> (u32, u32) {
    let mut numbers =
        release.split(|character: char| !character.is_ascii_digit()).map(|number| number.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

/// The names in a folder, sorted; none if it does not exist.
pub(crate) fn names(folder: impl AsRef<Path>) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<_> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}

/// The network device of each interrupt, by the folders of message-signalled interrupts. A virtio device has them one folder up.
fn interrupts_of_devices() -> BTreeMap<u32, String> {
    let mut found = BTreeMap::new();
    for device in names("/sys/class/net") {
        for folder in ["device/msi_irqs", "device/../msi_irqs"] {
            let numbers = names(Path::new("/sys/class/net").join(&device).join(folder));
            found.extend(numbers.into_iter().filter_map(|number| Some((number.parse().ok()?, device.clone()))));
        }
    }
    found
}

fn interrupt(folder: &Path, device_of: &BTreeMap<u32, String>) -> Option<Interrupt> {
    let number = folder.file_name()?.to_str()?.parse().ok()?;
    // each handler has a folder of its own
    let names: Vec<_> = names(folder).into_iter().filter(|name| folder.join(name).is_dir()).collect();
    let device = device_of.get(&number).cloned();
    (!names.is_empty()).then_some(Interrupt { number, names, device })
}

/// The hierarchy of the cpuset controller in the text of `/proc/self/mounts`. A controller is in one hierarchy only.
fn cpuset_mount(mounts: &str) -> Option<CpusetMount> {
    mounts.lines().find_map(|line| {
        let [_, point, kind, options, ..] = line.split(' ').collect::<Vec<_>>()[..] else { return None };
        let root = PathBuf::from(point);
        match kind {
            "cgroup" if options.split(',').any(|option| option == "cpuset") => Some(CpusetMount { version: 1, root }),
            "cgroup2" => {
                let controllers = fs::read_to_string(root.join("cgroup.controllers")).ok()?;
                let has_it = controllers.split_ascii_whitespace().any(|controller| controller == "cpuset");
                has_it.then_some(CpusetMount { version: 2, root })
            }
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_is_read() {
        let releases = ["6.1.0-56-cloud-amd64\n", "6.18", "7-rc1", ""];
        assert_eq!(releases.map(version), [(6, 1), (6, 18), (7, 0), (0, 0)]);
    }

    #[test]
    fn host_is_read() {
        let host = Host::read().unwrap();
        assert!(!host.online.is_empty() && host.interrupts.len() < 100_000, "{host:?}");
    }

    #[test]
    fn hierarchy_of_version_1_is_found_beside_version_2() {
        let mounts =
            "x /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\ny /c/cpuset cgroup rw,cpuset 0 0\nz /nowhere cgroup2 rw 0 0\n";
        assert_eq!(cpuset_mount(mounts), Some(CpusetMount { version: 1, root: "/c/cpuset".into() }));
        assert_eq!(cpuset_mount("z /nowhere cgroup2 rw 0 0\nbroken\n"), None);
    }
}
