//! The kernel's accounts of a process, below `/proc`.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// What a process has used since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Accounts {
    /// Processor time of its threads.
    pub cpu: Duration,
    /// The time that its threads were ready to run and had no processor. A kernel without `CONFIG_SCHED_INFO` has none: then it is zero.
    pub run_queue: Duration,
    /// Resident memory, in octets.
    pub memory: u64,
}

/// Processor time in `/proc/PID/stat` is counted in these: `USER_HZ` is 100 on all architectures that Rust's standard library runs on.
const TICK: Duration = Duration::from_millis(10);

impl Accounts {
    /// Reads those of a process.
    ///
    /// # Errors
    /// If it has ended.
    pub fn of(process: u32) -> io::Result<Self> {
        let folder = PathBuf::from(format!("/proc/{process}"));
        let status = fs::read_to_string(folder.join("status"))?;
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let memory = resident.and_then(|kib| numbers(kib).next()).unwrap_or_default() * 1024;
        let (mut cpu_ns, mut run_queue_ns) = (0, 0);
        for task in fs::read_dir(folder.join("task"))? {
            // a thread may end meanwhile
            let Ok(text) = fs::read_to_string(task?.path().join("schedstat")) else { continue };
            let mut numbers = numbers(&text);
            cpu_ns += numbers.next().unwrap_or_default();
            run_queue_ns += numbers.next().unwrap_or_default();
        }
        let cpu = match cpu_ns {
            0 => of_stat(&fs::read_to_string(folder.join("stat"))?),
            ns => Duration::from_nanos(ns),
        };
        Ok(Accounts { cpu, run_queue: Duration::from_nanos(run_queue_ns), memory })
    }
}

fn numbers(text: &str) -> impl Iterator<Item = u64> {
    text.split_whitespace().map(|number| number.parse().unwrap_or_default())
}

/// The processor time in `/proc/PID/stat`, of threads that have ended included: `utime` and `stime` (proc(5)), to ten milliseconds.
fn of_stat(line: &str) -> Duration {
    // the command's name, in parentheses, may have spaces
    let after_name = line.rsplit_once(')').map_or("", |(_, rest)| rest);
    // the first field after it is the third
    let ticks: u64 = numbers(after_name).skip(11).take(2).sum();
    TICK * u32::try_from(ticks).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_accounts_grow_with_work() {
        let before = Accounts::of(std::process::id()).unwrap();
        let begun = std::time::Instant::now();
        let mut sum = 0u64;
        while begun.elapsed() < Duration::from_millis(50) {
            sum = std::hint::black_box(sum + 1);
        }
        let after = Accounts::of(std::process::id()).unwrap();
        assert!(after.cpu > before.cpu, "{before:?} {after:?}");
        assert!(after.memory > 1 << 20, "{after:?}");
    }

    #[test]
    fn line_of_stat_is_read_whatever_the_name_of_the_command() {
        let line = "17 (a) b (c)) S 1 17 17 0 -1 4194560 1 2 3 4 150 50 7 8 20 0 1 0 5 6 7";
        assert_eq!(of_stat(line), Duration::from_secs(2));
        assert_eq!(of_stat(""), Duration::ZERO);
        assert!(Accounts::of(u32::MAX).is_err());
    }
}
