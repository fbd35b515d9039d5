//! How busy each CPU is, as `/proc/stat` has it.

use std::fs;

use crate::{Cpus, Error};

/// The time for which a CPU was busy and idle since the host was started. The kernel counts in ticks, mostly of 10 ms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTime {
    /// Its number.
    pub cpu: usize,
    /// In user space, in the kernel and in interrupts, in us. Time that a hypervisor has stolen is in neither sum.
    pub busy_us: u64,
    /// Idle, or waiting for a device, in us.
    pub idle_us: u64,
}

/// Reads the times of all CPUs that are online, in ascending order.
///
/// # Errors
/// If `/proc/stat` cannot be read.
pub fn read() -> Result<Vec<CpuTime>, Error> {
    let text = fs::read_to_string("/proc/stat").map_err(|source| Error::system("read /proc/stat", "", source))?;
    Ok(parse(&text, rustix::param::clock_ticks_per_second()))
}

fn parse(stat: &str, ticks_per_second: u64) -> Vec<CpuTime> {
    let us = |ticks: u64| ticks.saturating_mul(1_000_000) / ticks_per_second.max(1);
    let line = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        // the sum of all CPUs has no number
        let cpu =
            words.next()?.strip_prefix("cpu")?.parse().ok().filter(|cpu| Cpus::from_iter([*cpu]).contains(*cpu))?;
        let ticks: Vec<u64> = words.map_while(|word| word.parse().ok()).collect();
        // proc_stat(5): the times of guests are in those of user space already
        let [user, nice, system, idle, iowait, irq, softirq, ..] = ticks[..] else { return None };
        let busy = [user, nice, system, irq, softirq].into_iter().fold(0, u64::saturating_add);
        Some(CpuTime { cpu, busy_us: us(busy), idle_us: us(idle.saturating_add(iowait)) })
    };
    let mut times: Vec<CpuTime> = stat.lines().filter_map(line).collect();
    times.sort_by_key(|time| time.cpu);
    times.dedup_by_key(|time| time.cpu);
    times
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_kernel_in_microseconds() {
        let stat = "cpu  9 9 9 9 9 9 9\ncpu1 1 2 3 40 5 6 7 100 50 0\ncpu0 1 1 1 1 1 1 1\ncpu0 9 9 9 9 9 9 9\ncpu2 1 2\n\
                    cpu9999 1 1 1 1 1 1 1\nintr 5\n";
        let time = |cpu, busy_us, idle_us| CpuTime { cpu, busy_us, idle_us };
        assert_eq!(parse(stat, 100), [time(0, 50_000, 20_000), time(1, 190_000, 450_000)]);
        assert_eq!(parse("", 0), []);
    }

    #[test]
    fn times_of_this_host_grow() {
        let first = read().unwrap();
        let second = read().unwrap();
        assert!(!first.is_empty() && second[0].busy_us >= first[0].busy_us && second[0].idle_us > 0);
    }
}
