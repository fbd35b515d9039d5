//! The controller under test as a process of this host: its processor time, memory and context switches.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, bail};
use bench::process::Accounts;
use ferric::link::Address;
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Processes whose accounts are added.
#[derive(Clone, Debug, Default)]
pub struct Target {
    /// Their ids. Empty if the controller is on another host: its accounts are unknown.
    pub processes: Vec<u32>,
}

/// The accounts at a moment.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    /// Processor time of all threads.
    pub cpu_ns: u64,
    /// The shares of it in user mode and in the kernel, in clock ticks.
    pub user_ticks: u64,
    /// Ticks in the kernel.
    pub system_ticks: u64,
    /// Processor time by thread.
    pub threads: BTreeMap<String, u64>,
    /// Context switches of all threads.
    pub switches: u64,
    /// Resident memory.
    pub rss_bytes: u64,
}

impl Target {
    /// The processes with these ids.
    ///
    /// # Errors
    /// If one does not exist, or its accounts may not be read.
    pub fn of(processes: Vec<u32>) -> anyhow::Result<Self> {
        for id in &processes {
            Accounts::of(*id)?;
        }
        Ok(Target { processes })
    }

    /// The process of this host that listens at an address; none if it is elsewhere or belongs to another user.
    #[must_use]
    pub fn listening_at(address: &Address) -> Self {
        let processes = match address {
            Address::Tcp { port, .. } | Address::Tls { port, .. } if address.is_local() => owner_of(*port),
            _ => None,
        };
        Target { processes: processes.into_iter().collect() }
    }

    /// The TCP ports at which it listens.
    #[must_use]
    pub fn ports(&self) -> Vec<u16> {
        let sockets = listening_sockets();
        let ports =
            self.processes.iter().flat_map(|id| inodes_of(*id)).filter_map(|inode| sockets.get(&inode).copied());
        ports.collect()
    }

    /// The name of its program.
    #[must_use]
    pub fn program(&self) -> Option<String> {
        let path: PathBuf = fs::read_link(format!("/proc/{}/exe", self.processes.first()?)).ok()?;
        Some(path.file_name()?.to_string_lossy().into_owned())
    }

    /// The accounts now; `None` of an unknown process.
    ///
    /// # Errors
    /// If the process has ended.
    pub fn sample(&self) -> anyhow::Result<Option<Sample>> {
        if self.processes.is_empty() {
            return Ok(None);
        }
        let mut sample = Sample::default();
        for id in &self.processes {
            let accounts = Accounts::of(*id).context("the controller has ended")?;
            sample.rss_bytes += accounts.rss_bytes()?;
            for task in fs::read_dir(format!("/proc/{id}/task"))? {
                let folder = task?.path();
                // a thread may end between two reads
                let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default();
                let (stat, schedstat, status) = (read("stat"), read("schedstat"), read("status"));
                let cpu_ns = schedstat.split_whitespace().next().and_then(|n| n.parse().ok()).unwrap_or(0);
                sample.cpu_ns += cpu_ns;
                // the name, in parentheses, may contain spaces
                let Some((head, fields)) = stat.rsplit_once(") ") else { continue };
                let name = head.split_once('(').map_or("", |(_, name)| name);
                *sample.threads.entry(name.to_owned()).or_default() += cpu_ns;
                let fields: Vec<&str> = fields.split(' ').collect();
                let ticks = |at: usize| fields.get(at).and_then(|n| n.parse::<u64>().ok()).unwrap_or(0);
                sample.user_ticks += ticks(11);
                sample.system_ticks += ticks(12);
                let switches = status.lines().filter(|line| line.contains("ctxt_switches"));
                let switches = switches.filter_map(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
                sample.switches += switches.sum::<u64>();
            }
        }
        Ok(Some(sample))
    }

    /// Restricts all threads to the first `cores` processors that this program may use.
    ///
    /// # Errors
    /// If there are fewer, the process is unknown, or this user may not do that.
    pub fn use_cores(&self, cores: usize) -> anyhow::Result<()> {
        if self.processes.is_empty() {
            bail!("the cores of a controller can be set on this host only; give its process with --pid");
        }
        let allowed = sched_getaffinity(None).context("cannot read the affinity of this program")?;
        let mut chosen = CpuSet::new();
        (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu)).take(cores).for_each(|cpu| chosen.set(cpu));
        if (chosen.count() as usize) < cores {
            bail!("this host offers {} cores instead of {cores}", chosen.count());
        }
        for id in &self.processes {
            for task in fs::read_dir(format!("/proc/{id}/task"))? {
                let Some(id) = task?.file_name().to_str().and_then(|id| id.parse().ok()) else { continue };
                sched_setaffinity(Pid::from_raw(id), &chosen).context("cannot set the affinity of the controller")?;
            }
        }
        Ok(())
    }
}

/// Refuses processors that this program may not use.
///
/// # Errors
/// The first of them.
pub fn check_cpus(cpus: &[usize]) -> anyhow::Result<()> {
    let allowed = sched_getaffinity(None).context("cannot read the affinity of this program")?;
    let is_allowed = |cpu: usize| cpu < CpuSet::MAX_CPU && allowed.is_set(cpu);
    match cpus.iter().find(|cpu| !is_allowed(**cpu)) {
        Some(cpu) => bail!("this program may not use processor {cpu}, or the host does not have it"),
        None => Ok(()),
    }
}

/// Restricts this thread to some processors, which were checked; an empty list leaves it as it is.
///
/// # Errors
/// If the system refuses.
pub fn pin(cpus: &[usize]) -> anyhow::Result<()> {
    if cpus.is_empty() {
        return Ok(());
    }
    let mut set = CpuSet::new();
    cpus.iter().for_each(|cpu| set.set(*cpu));
    sched_setaffinity(None, &set).with_context(|| format!("cannot use the processors {cpus:?}"))
}

/// The sockets that listen for TCP, by inode.
fn listening_sockets() -> BTreeMap<u64, u16> {
    const LISTEN: &str = "0A";
    let mut sockets = BTreeMap::new();
    for path in ["/proc/net/tcp", "/proc/net/tcp6"] {
        for line in fs::read_to_string(path).unwrap_or_default().lines().skip(1) {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let (Some(local), Some(&LISTEN), Some(inode)) = (fields.get(1), fields.get(3), fields.get(9)) else {
                continue;
            };
            let port = local.rsplit_once(':').and_then(|(_, port)| u16::from_str_radix(port, 16).ok());
            if let (Some(port), Ok(inode)) = (port, inode.parse()) {
                sockets.insert(inode, port);
            }
        }
    }
    sockets
}

/// The sockets of a process.
fn inodes_of(process: u32) -> Vec<u64> {
    let Ok(files) = fs::read_dir(format!("/proc/{process}/fd")) else { return Vec::new() };
    let links = files.filter_map(|file| fs::read_link(file.ok()?.path()).ok());
    links.filter_map(|link| link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()).collect()
}

/// The process that listens at a port.
fn owner_of(port: u16) -> Option<u32> {
    let inodes: Vec<u64> =
        listening_sockets().into_iter().filter(|(_, at)| *at == port).map(|(inode, _)| inode).collect();
    let processes = fs::read_dir("/proc").ok()?;
    let mut ids = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    ids.find(|id| inodes_of(*id).iter().any(|inode| inodes.contains(inode)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn process_is_found_by_its_port() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let target = Target::listening_at(&Address::Tcp { host: "127.0.0.1".into(), port });
        assert_eq!(target.processes, [std::process::id()]);
        assert!(target.ports().contains(&port));
        let sample = target.sample().unwrap().unwrap();
        assert!(sample.cpu_ns > 0 && sample.rss_bytes > 0 && !sample.threads.is_empty());
        assert!(check_cpus(&[]).is_ok());
        assert!(check_cpus(&[1023]).unwrap_err().to_string().contains("processor 1023"));
        assert!(check_cpus(&[usize::MAX]).is_err());
        let elsewhere = Address::Tcp { host: "192.0.2.1".into(), port };
        assert!(Target::listening_at(&elsewhere).sample().unwrap().is_none());
    }
}
