//! Threads as `/proc` has them.

use std::fs;
use std::io::{self, ErrorKind};

use crate::Cpus;

/// Flags of a task in `/proc/PID/stat` (`include/linux/sched.h`): a kernel thread, and one whose affinity is fixed.
const PF_KTHREAD: u64 = 0x0020_0000;
const PF_NO_SETAFFINITY: u64 = 0x0400_0000;
/// The kernel keeps so many octets of a thread's name.
pub const MAX_NAME_OCTETS: usize = 15;

/// A thread at one moment. `tid` and `start` together identify it: the kernel reuses numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    /// The number of its process.
    pub pid: u32,
    /// Its own number.
    pub tid: u32,
    /// When it was started, in clock ticks since the host was.
    pub start: u64,
    /// Its name: at most 15 octets.
    pub name: String,
    /// The number of its process's parent.
    pub parent: u32,
    /// Whether it is a thread of the kernel.
    pub is_kernel: bool,
    /// Whether the kernel refuses to change its affinity.
    pub is_bound: bool,
    /// Its scheduling policy: 0 other, 1 FIFO, 2 round robin, 3 batch, 5 idle, 6 deadline.
    pub policy: u32,
    /// Its real-time priority, 1 to 99; 0 without one.
    pub priority: u32,
    /// The CPUs that it may use.
    pub cpus: Cpus,
}

impl Thread {
    /// Reads a thread of a process. `None` if it has ended.
    ///
    /// # Errors
    /// Those of reading `/proc`.
    pub fn read(pid: u32, tid: u32) -> io::Result<Option<Thread>> {
        let folder = format!("/proc/{pid}/task/{tid}");
        let Some(stat) = present(fs::read(format!("{folder}/stat")))? else { return Ok(None) };
        let Some(status) = present(fs::read(format!("{folder}/status")))? else { return Ok(None) };
        let malformed = || io::Error::new(ErrorKind::InvalidData, format!("{folder}/stat cannot be parsed"));
        parse(pid, tid, &String::from_utf8_lossy(&stat), &String::from_utf8_lossy(&status))
            .ok_or_else(malformed)
            .map(Some)
    }

    /// Whether its scheduling policy is a real-time one.
    #[must_use]
    pub fn is_real_time(&self) -> bool {
        matches!(self.policy, 1 | 2 | 6)
    }
}

/// The value, or `None` where the thread has ended meanwhile.
pub(crate) fn present<T>(read: io::Result<T>) -> io::Result<Option<T>> {
    match read {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == ErrorKind::NotFound || error.raw_os_error() == Some(libc::ESRCH) => Ok(None),
        Err(error) => Err(error),
    }
}

fn parse(pid: u32, tid: u32, stat: &str, status: &str) -> Option<Thread> {
    // a name may contain spaces and parentheses
    let (name, rest) = (stat.find('(')? + 1, stat.rfind(')')?);
    let fields: Vec<&str> = stat.get(rest + 1..)?.split_ascii_whitespace().collect();
    // proc_pid_stat(5) counts from 1; the first field after the name is the third
    let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
    let flags = field(9)?;
    let cpus = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?.parse().ok()?;
    Some(Thread {
        pid,
        tid,
        start: field(22)?,
        name: stat.get(name..rest)?.to_owned(),
        parent: field(4)?.try_into().ok()?,
        is_kernel: flags & PF_KTHREAD != 0,
        is_bound: flags & PF_NO_SETAFFINITY != 0,
        policy: field(41)?.try_into().ok()?,
        priority: field(40)?.try_into().ok()?,
        cpus,
    })
}

/// The CPU time of a process or a thread (a folder of `/proc`), in clock ticks, and its state, such as `R`. `None` if it has ended.
///
/// # Errors
/// Those of reading `/proc`.
pub(crate) fn usage(folder: &str) -> io::Result<Option<(u64, char)>> {
    let Some(stat) = present(fs::read(format!("{folder}/stat")))? else { return Ok(None) };
    let stat = String::from_utf8_lossy(&stat);
    let parsed = || {
        let fields: Vec<&str> = stat.get(stat.rfind(')')? + 1..)?.split_ascii_whitespace().collect();
        let number = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
        Some((number(14)? + number(15)?, fields.first()?.chars().next()?))
    };
    parsed().ok_or_else(|| io::Error::new(ErrorKind::InvalidData, format!("{folder}/stat cannot be parsed"))).map(Some)
}

/// The numbers in the names of a folder of `/proc`. Empty if it does not exist.
fn numbers(folder: &str) -> io::Result<Vec<u32>> {
    let Some(entries) = present(fs::read_dir(folder))? else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for entry in entries {
        let Some(entry) = present(entry)? else { break };
        found.extend(entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()));
    }
    found.sort_unstable();
    Ok(found)
}

/// The numbers of all processes.
///
/// # Errors
/// Those of reading `/proc`.
pub fn processes() -> io::Result<Vec<u32>> {
    numbers("/proc")
}

/// The threads of a process. Empty if it has ended.
///
/// # Errors
/// Those of reading `/proc`.
pub fn of_process(pid: u32) -> io::Result<Vec<Thread>> {
    let mut threads = Vec::new();
    for tid in numbers(&format!("/proc/{pid}/task"))? {
        threads.extend(Thread::read(pid, tid)?);
    }
    Ok(threads)
}

/// The threads of all processes that have one of some names, without those of the kernel.
///
/// # Errors
/// Those of reading `/proc`.
pub(crate) fn named(names: &[&str]) -> io::Result<Vec<Thread>> {
    let mut found = Vec::new();
    for pid in processes()? {
        for tid in numbers(&format!("/proc/{pid}/task"))? {
            let Some(name) = present(fs::read_to_string(format!("/proc/{pid}/task/{tid}/comm")))? else { continue };
            if names.contains(&name.trim_end_matches('\n')) {
                found.extend(Thread::read(pid, tid)?.filter(|thread| !thread.is_kernel));
            }
        }
    }
    Ok(found)
}

/// Whether a name matches a pattern. `*` stands for any octets. As the kernel cuts names, a pattern without `*` is cut too.
#[must_use]
pub fn matches(pattern: &str, name: &str) -> bool {
    if !pattern.contains('*') {
        let end = pattern.len().min(MAX_NAME_OCTETS);
        return pattern.as_bytes()[..end] == *name.as_bytes();
    }
    let mut pieces = pattern.split('*');
    let Some(mut rest) = name.strip_prefix(pieces.next().unwrap_or_default()) else { return false };
    let pieces: Vec<&str> = pieces.collect();
    let Some((last, middle)) = pieces.split_last() else { return rest.is_empty() };
    for piece in middle {
        let Some(found) = rest.find(piece) else { return false };
        rest = &rest[found + piece.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_names_as_the_kernel_cuts_them() {
        for (pattern, name) in [
            ("ru_thread", "ru_thread"),
            ("a-name-of-more-than-15", "a-name-of-more-"),
            ("Tpool*", "Tpool0_-1"),
            ("*", ""),
            ("up_phy_*#*", "up_phy_dl#0"),
            ("*worker", "phy worker"),
        ] {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [("ru", "ru_thread"), ("Tpool*", "tpool"), ("a*b", "ab c"), ("ab*ba", "aba"), ("", "x")]
        {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
    }

    #[test]
    fn name_with_parentheses_and_spaces_is_read() {
        let mut fields = vec!["0"; 50];
        (fields[1], fields[6], fields[19], fields[37], fields[38]) = ("7", "67108864", "99", "50", "1");
        let stat = format!("12 (a) b (c)) S {}", fields[1..].join(" "));
        let thread = parse(12, 12, &stat, "Name:\tx\nCpus_allowed_list:\t0-1\n").unwrap();
        assert_eq!((&*thread.name, thread.parent, thread.start), ("a) b (c)", 7, 99));
        assert_eq!((thread.is_bound, thread.priority, thread.policy), (true, 50, 1));
        for bad in ["", "12 (a", "12 (a) S", ")("] {
            assert_eq!(parse(1, 1, bad, ""), None, "{bad}");
        }
    }

    #[test]
    fn threads_of_this_process_are_found() {
        let thread = Thread::read(std::process::id(), std::process::id()).unwrap().unwrap();
        assert!(!thread.is_kernel && !thread.cpus.is_empty() && thread.start > 0);
        assert!(of_process(std::process::id()).unwrap().contains(&thread));
        assert!(of_process(u32::MAX).unwrap().is_empty());
    }
}
