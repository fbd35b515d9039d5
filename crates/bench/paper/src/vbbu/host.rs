//! How busy the host is with other work than the experiment's: that voids a measurement as a stall of the host does.

use std::fs;

use cpu::latency::Report;

/// Clock ticks per second of `/proc` (`USER_HZ`, fixed in the kernel's interface).
const TICKS_PER_S: f64 = 100.0;
/// The flag of a kernel thread in `/proc/PID/stat`.
const PF_KTHREAD: u64 = 0x0020_0000;

/// Other work of the host, in percent of one CPU, that voids a block.
const MAX_FOREIGN_PERCENT: f64 = 20.0;
/// Stalls of the host, in percent of the time of its CPUs, that void a block. Waits across a stall are not counted, and a virtual machine
/// is hardly ever without any.
const MAX_STALLED_PERCENT: f64 = 0.5;

/// What voids a block, a sentence each: stalls, lost samples, and other programs that used a share of one CPU, in percent.
pub fn disturbances(report: &Report, foreign_percent: f64) -> Vec<String> {
    let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get) as f64;
    let stalled = report.stalls.total_us / 1e4 / report.seconds / cpus;
    let mut faults = report.clone();
    if stalled <= MAX_STALLED_PERCENT {
        faults.stalls = Default::default();
    }
    let mut faults = faults.faults();
    if foreign_percent > MAX_FOREIGN_PERCENT {
        faults
            .push(format!("other programs used {foreign_percent:.0} % of a CPU: measure again when the host is quiet"));
    }
    faults
}

/// Processor time at a moment.
#[derive(Clone, Copy, Debug)]
pub struct HostTime {
    /// Of all tasks, without interrupts, in ticks.
    all: u64,
    /// Of the experiment's processes and of the kernel's threads.
    known: u64,
    /// Of idle CPUs.
    idle: u64,
}

impl HostTime {
    /// Reads it. `groups` are the process groups of the experiment's processes.
    pub fn read(groups: &[u32]) -> HostTime {
        HostTime::read_with(groups, &[])
    }

    /// Reads it, with single processes of the experiment besides its groups.
    pub fn read_with(groups: &[u32], processes: &[u32]) -> HostTime {
        let text = fs::read_to_string("/proc/stat").unwrap_or_default();
        let fields: Vec<u64> = text
            .lines()
            .next()
            .into_iter()
            .flat_map(|line| line.split_ascii_whitespace().skip(1))
            .map_while(|field| field.parse().ok())
            .collect();
        // user, nice, system, idle, waiting for I/O
        let sum = |range: std::ops::Range<usize>| fields.get(range).unwrap_or_default().iter().sum();
        let own = std::process::id();
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let of_process = |entry: fs::DirEntry| -> Option<u64> {
            let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
            let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
            let rest: Vec<&str> = stat.get(stat.rfind(')')? + 1..)?.split_ascii_whitespace().collect();
            // proc_pid_stat(5): process group, flags, user and system time; the first field here is the third
            let field = |number: usize| rest.get(number - 3)?.parse::<u64>().ok();
            let is_known = pid == own
                || processes.contains(&pid)
                || field(9)? & PF_KTHREAD != 0
                || field(5).is_some_and(|group| groups.iter().any(|own| u64::from(*own) == group));
            is_known.then_some(field(14)? + field(15)?)
        };
        HostTime { all: sum(0..3), known: entries.filter_map(of_process).sum(), idle: sum(3..5) }
    }

    /// What others have used since an earlier moment, in percent of one CPU.
    pub fn foreign_percent(&self, before: &HostTime, seconds: f64) -> f64 {
        let foreign = (self.all - before.all).saturating_sub(self.known.saturating_sub(before.known));
        100.0 * foreign as f64 / TICKS_PER_S / seconds
    }

    /// How long CPUs were idle since an earlier moment, in s.
    pub fn idle_s(&self, before: &HostTime) -> f64 {
        self.idle.saturating_sub(before.idle) as f64 / TICKS_PER_S
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn own_work_is_not_foreign() {
        let before = HostTime::read(&[]);
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(300) {
            std::hint::spin_loop();
        }
        let after = HostTime::read(&[]);
        assert!(after.known > before.known && after.all >= before.all);
        // the rest of the host is whatever it is, and at most all of its CPUs
        let cpus = std::thread::available_parallelism().unwrap().get() as f64;
        assert!(after.foreign_percent(&before, 0.3) <= 110.0 * cpus);
    }
}
