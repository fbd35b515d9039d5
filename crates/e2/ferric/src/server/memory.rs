//! The memory that links may hold together, and its return to the system.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use link::MemoryBudget;

use super::ServerConfig;

/// The share of the memory limit for each budget: an eighth.
const SHARE: usize = 8;
/// The bounds of a budget that is derived from the memory limit.
const LEAST_OCTETS: usize = 16 << 20;
const MOST_OCTETS: usize = 1 << 30;

/// Sets the budgets of the links: those configured, or an eighth of the memory that this process may use.
pub(super) fn set_budgets(config: &mut ServerConfig) {
    let derived = || (memory_limit(Path::new("/")) / SHARE).clamp(LEAST_OCTETS, MOST_OCTETS);
    let (receive, send) = (config.max_receive_octets, config.max_send_octets);
    config.link.receive_budget = Some(MemoryBudget::new(receive.unwrap_or_else(derived)));
    config.link.send_budget = Some(MemoryBudget::new(send.unwrap_or_else(derived)));
}

/// Returns the octets of memory that this process may use: the least of the limits of its control groups, and the physical
/// memory.
fn memory_limit(root: &Path) -> usize {
    let read = |path: &str| fs::read_to_string(root.join(path)).unwrap_or_default();
    let mut limit = usize::MAX;
    // proc(5): "MemTotal:  24014124 kB"
    for line in read("proc/meminfo").lines() {
        let kib = line.strip_prefix("MemTotal:").and_then(|rest| rest.trim().strip_suffix("kB"));
        if let Some(kib) = kib.and_then(|kib| kib.trim().parse::<usize>().ok()) {
            limit = limit.min(kib.saturating_mul(1024));
        }
    }
    // cgroups(7): "0::/path" is version 2, "9:memory:/path" version 1
    for line in read("proc/self/cgroup").lines() {
        let mut fields = line.splitn(3, ':');
        let (base, file) = match (fields.next(), fields.next()) {
            (Some("0"), Some("")) => ("sys/fs/cgroup", "memory.max"),
            (_, Some(controllers)) if controllers.split(',').any(|name| name == "memory") => {
                ("sys/fs/cgroup/memory", "memory.limit_in_bytes")
            }
            _ => continue,
        };
        // each group within a group has a limit; in a container, the outermost is at the root
        let mut path = fields.next().unwrap_or_default();
        loop {
            let group = read(&format!("{base}/{}/{file}", path.trim_matches('/')));
            limit = limit.min(group.trim().parse().unwrap_or(usize::MAX)); // "max" is no limit
            match path.trim_end_matches('/').rsplit_once('/') {
                Some((outer, _)) => path = outer,
                None => break,
            }
        }
    }
    limit
}

/// The pause between two returns of memory.
const RELEASE_INTERVAL: Duration = Duration::from_secs(5);
/// Memory is returned after so many octets were freed, or so many links closed.
const FREED_OCTETS: usize = 8 << 20;
const CLOSED_LINKS: u64 = 64;

/// Decides when freed memory is returned to the system: after a storm, not in steady state.
pub(super) struct MemoryReturn {
    last: Instant,
    /// The most octets that the budgets had in use since then.
    peak_octets: usize,
    closed_links: u64,
}

impl MemoryReturn {
    pub fn new(now: Instant) -> Self {
        MemoryReturn { last: now, peak_octets: 0, closed_links: 0 }
    }

    /// Notes the octets that the budgets have in use.
    pub fn note_use(&mut self, used_octets: usize) {
        self.peak_octets = self.peak_octets.max(used_octets);
    }

    /// Returns whether memory is to be returned now. `used_octets` is what the budgets have in use, `closed_links` the number of
    /// links that were closed since the start.
    pub fn is_due(&mut self, now: Instant, used_octets: usize, closed_links: u64) -> bool {
        self.note_use(used_octets);
        let was_freed =
            self.peak_octets - used_octets >= FREED_OCTETS || closed_links - self.closed_links >= CLOSED_LINKS;
        let due = was_freed && now.duration_since(self.last) >= RELEASE_INTERVAL;
        if due {
            (self.last, self.peak_octets, self.closed_links) = (now, used_octets, closed_links);
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limit_is_the_least_of_the_control_groups_and_the_physical_memory() {
        let root = std::env::temp_dir().join(format!("ferric-memory-{}", std::process::id()));
        let write = |path: &str, text: &str| {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        assert_eq!(memory_limit(&root), usize::MAX, "nothing is known");
        write("proc/meminfo", "MemTotal:       4096 kB\nMemFree:         12 kB\n");
        assert_eq!(memory_limit(&root), 4096 * 1024);
        write("proc/self/cgroup", "0::/system.slice/ferric.service\n");
        write("sys/fs/cgroup/system.slice/ferric.service/memory.max", "max\n");
        assert_eq!(memory_limit(&root), 4096 * 1024);
        write("sys/fs/cgroup/system.slice/memory.max", "1000000\n");
        assert_eq!(memory_limit(&root), 1_000_000, "the limit of an outer group");
        // version 1, in a container whose own group is at the root
        write("proc/self/cgroup", "9:cpu,memory:/docker/abc\n0::/\n");
        write("sys/fs/cgroup/memory/memory.limit_in_bytes", "500000\n");
        assert_eq!(memory_limit(&root), 500_000);
        write("sys/fs/cgroup/memory.max", "400000\n");
        assert_eq!(memory_limit(&root), 400_000);
        fs::remove_dir_all(&root).unwrap();
        let here = memory_limit(Path::new("/"));
        assert!((1 << 20..usize::MAX).contains(&here), "{here}");
    }

    #[test]
    fn memory_is_returned_after_a_storm_only() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut memory = MemoryReturn::new(start);
        assert!(!memory.is_due(at(10), 1000, 1) && !memory.is_due(at(20), 2000, 2));
        assert!(!memory.is_due(at(30), 100 << 20, 3), "it is in use");
        assert!(memory.is_due(at(40), 1000, 4));
        assert!(!memory.is_due(at(50), 1000, 4));
        assert!(!memory.is_due(at(51), 1000, 4 + CLOSED_LINKS - 1) && memory.is_due(at(52), 1000, 4 + CLOSED_LINKS));
        assert!(!memory.is_due(at(53), 1000, 1000), "too early");
    }
}
