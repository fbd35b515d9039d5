//! Waits counted in this process by the text of the kernel's trace: what measures where perf_event_open(2) is refused, too.
//!
//! The trace is that of an instance of tracefs of its own, so other tools' traces are left alone. It is removed at the end; one of a
//! process that was killed is removed by the next start. Its times have whole us.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, Mode, OFlags, mkdirat, openat, unlinkat};

use crate::samples::{Happening, Waits};
use crate::tracepoints::Tracing;
use crate::{Error, Host};

const RIGHT: &str = "root, and a tracefs that can be written";
const PREFIX: &str = "ferric-cpu-";
/// The size of each CPU's buffer, in kB: some 40,000 switches.
const BUFFER_KB: &str = "4096";
/// What is read at once, at most: the rest stays in the kernel until the next time.
const MAX_READ_OCTETS: usize = 64 << 20;
const EVENTS: [&str; 4] = ["sched_switch", "sched_wakeup", "sched_wakeup_new", "sched_process_fork"];

/// A trace, and what is counted of it.
#[derive(Debug)]
pub(crate) struct Trace {
    tracing: Tracing,
    name: String,
    pipe: Option<File>,
    /// The beginning of a line whose end was not read yet.
    rest: Vec<u8>,
    pub(crate) waits: Waits,
    lost: u64,
}

impl Trace {
    /// Starts a trace.
    ///
    /// # Errors
    /// [`Error::System`] if tracefs cannot be written; [`Error::Unsupported`] if the kernel lacks a tracepoint.
    pub(crate) fn start(tracing: Tracing, host: &Host) -> Result<Trace, Error> {
        remove_left(&tracing);
        let name = format!("{PREFIX}{}-{}", std::process::id(), host.online.len());
        let failed = |action: &str| {
            let action = action.to_owned();
            move |source: io::Error| Error::system(action, RIGHT, source)
        };
        let made = mkdirat(tracing.folder(), format!("instances/{name}"), Mode::from(0o700));
        made.map_err(|error| failed("make an instance of tracefs")(error.into()))?;
        // removed again, whatever fails
        let mut trace = Trace { tracing, name, pipe: None, rest: Vec::new(), waits: Waits::default(), lost: 0 };
        // the clock that is compared with nothing but itself: any that all CPUs share
        trace.write("trace_clock", "mono").map_err(failed("choose the clock of a trace"))?;
        trace.write("buffer_size_kb", BUFFER_KB).map_err(failed("size the buffer of a trace"))?;
        for event in EVENTS {
            match trace.write(&format!("events/sched/{event}/enable"), "1") {
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    return Err(Error::Unsupported(format!("this kernel has no tracepoint sched/{event}")));
                }
                enabled => enabled.map_err(failed("trace the scheduler"))?,
            }
        }
        let pipe = trace.open("trace_pipe", OFlags::RDONLY | OFlags::NONBLOCK).map_err(failed("read a trace"))?;
        trace.pipe = Some(File::from(pipe));
        Ok(trace)
    }

    fn open(&self, file: &str, flags: OFlags) -> io::Result<OwnedFd> {
        let path = format!("instances/{}/{file}", self.name);
        Ok(openat(self.tracing.folder(), path, flags | OFlags::CLOEXEC, Mode::empty())?)
    }

    fn write(&self, file: &str, value: &str) -> io::Result<()> {
        File::from(self.open(file, OFlags::WRONLY)?).write_all(value.as_bytes())
    }

    /// Reads what was traced, and counts it.
    pub(crate) fn read(&mut self) {
        let Some(pipe) = &mut self.pipe else { return };
        let mut octets = vec![0; 1 << 16];
        let mut total = 0;
        while total < MAX_READ_OCTETS {
            match pipe.read(&mut octets) {
                Ok(count) if count > 0 => {
                    total += count;
                    self.rest.extend_from_slice(&octets[..count]);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // nothing is left
                _ => break,
            }
            let Some(end) = self.rest.iter().rposition(|octet| *octet == b'\n') else { continue };
            let text = String::from_utf8_lossy(&self.rest[..end]).into_owned();
            self.rest.drain(..=end);
            for line in text.lines() {
                match parse(line) {
                    Some(Line::Happening(time, cpu, happening)) => self.waits.happen(time, cpu, happening),
                    Some(Line::Lost(count)) => self.lost += count,
                    None => {}
                }
            }
        }
    }

    /// How many events the kernel has dropped.
    pub(crate) fn lost(&self) -> u64 {
        self.lost
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        // an instance whose pipe is open cannot be removed
        self.pipe = None;
        // what cannot be removed now is at the next start
        let _ = remove(&self.tracing, &self.name);
    }
}

fn remove(tracing: &Tracing, name: &str) -> rustix::io::Result<()> {
    unlinkat(tracing.folder(), format!("instances/{name}"), AtFlags::REMOVEDIR)
}

/// Removes the instances of processes that have ended without doing it.
fn remove_left(tracing: &Tracing) {
    let Ok(folder) = openat(tracing.folder(), "instances", OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()) else {
        return;
    };
    let Ok(entries) = rustix::fs::Dir::read_from(&folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let pid = name.strip_prefix(PREFIX).and_then(|rest| rest.split('-').next()?.parse::<u32>().ok());
        if pid.is_some_and(|pid| !std::path::Path::new(&format!("/proc/{pid}")).exists()) {
            let _ = remove(tracing, &name);
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Line {
    /// The time in ns, the CPU, and what has happened.
    Happening(u64, u32, Happening),
    Lost(u64),
}

/// Parses a line such as `sh-12 [001] d..2. 34.567890: sched_wakeup: comm=x pid=7 prio=120 target_cpu=000`.
///
/// Names of threads are of others: they may look like fields, so what follows them is read from the end of the line.
fn parse(line: &str) -> Option<Line> {
    if let Some(rest) = line.strip_prefix("CPU:") {
        // `CPU:0 [LOST 12 EVENTS]`
        return Some(Line::Lost(rest.split_once("[LOST ")?.1.split(' ').next()?.parse().ok()?));
    }
    // longer than a name
    let find = |event: &'static str| Some((event, line.split_once(&*format!(": {event}: "))?));
    let (event, (head, fields)) = EVENTS.into_iter().find_map(find)?;
    let mut words = head.rsplit(' ').filter(|word| !word.is_empty());
    let (seconds, us) = words.next()?.split_once('.')?;
    if us.len() != 6 {
        return None;
    }
    let time_ns =
        seconds.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(us.parse::<u64>().ok()? * 1000)?;
    let cpu = words.find_map(|word| word.strip_prefix('[')?.strip_suffix(']')?.parse().ok())?;
    let happening = match event {
        "sched_switch" => {
            let separated = fields.match_indices(" ==> next_comm=").find_map(|(at, separator)| {
                let mut before = fields[..at].rsplit(' ');
                let state = before.next()?.strip_prefix("prev_state=")?;
                before.next()?.strip_prefix("prev_prio=")?;
                let prev = before.next()?.strip_prefix("prev_pid=")?.parse().ok()?;
                Some((prev, state.starts_with('R'), &fields[at + separator.len()..]))
            });
            let (prev, is_runnable, after) = separated?;
            let mut after = after.rsplit(' ');
            after.next()?.strip_prefix("next_prio=")?;
            Happening::Switch { prev, is_runnable, next: after.next()?.strip_prefix("next_pid=")?.parse().ok()? }
        }
        "sched_process_fork" => {
            let child = fields.rsplit_once(" child_pid=")?.1.parse().ok()?;
            let before = fields
                .match_indices(" child_comm=")
                .find_map(|(at, _)| fields[..at].rsplit_once(" pid=").and_then(|(_, pid)| pid.parse().ok()));
            Happening::Fork { parent: before?, child }
        }
        _ => {
            let mut words = fields.rsplit(' ');
            let target_cpu = words.next()?.strip_prefix("target_cpu=")?.parse().ok()?;
            words.next()?.strip_prefix("prio=")?;
            Happening::Wakeup { tid: words.next()?.strip_prefix("pid=")?.parse().ok()?, target_cpu }
        }
    };
    Some(Line::Happening(time_ns, cpu, happening))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn happening(line: &str) -> Option<Happening> {
        match parse(line)? {
            Line::Happening(_, _, happening) => Some(happening),
            Line::Lost(_) => None,
        }
    }

    #[test]
    fn lines_of_the_kernel_are_read() {
        let line = "          <idle>-0       [001] d..2.  1234.567890: sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 \
                    prev_state=R ==> next_comm=ru_thread next_pid=77 next_prio=59";
        let switch = Happening::Switch { prev: 0, is_runnable: true, next: 77 };
        assert_eq!(parse(line), Some(Line::Happening(1_234_567_890_000, 1, switch)));
        let line = "   a b [002]-12      [003] dNh4.    34.000001: sched_wakeup: comm=x pid=7 prio=120 target_cpu=000";
        assert_eq!(parse(line), Some(Line::Happening(34_000_001_000, 3, Happening::Wakeup { tid: 7, target_cpu: 0 })));
        let line = "sh-1 [000] .....  1.000000: sched_process_fork: comm=sh pid=1 child_comm=sh child_pid=9";
        assert_eq!(happening(line), Some(Happening::Fork { parent: 1, child: 9 }));
        assert_eq!(parse("CPU:1 [LOST 345 EVENTS]"), Some(Line::Lost(345)));
    }

    #[test]
    fn names_that_look_like_fields_are_names() {
        let head = "x-1 [000] d..2.  1.000000: ";
        let line = format!(
            "{head}sched_switch: prev_comm=a prev_pid=9 prev_pid=5 prev_prio=120 prev_state=S ==> next_comm= ==> next_comm= next_pid=6 next_prio=1"
        );
        assert_eq!(happening(&line), Some(Happening::Switch { prev: 5, is_runnable: false, next: 6 }));
        let line = format!("{head}sched_wakeup_new: comm=b pid=8 prio=1 pid=6 prio=120 target_cpu=001");
        assert_eq!(happening(&line), Some(Happening::Wakeup { tid: 6, target_cpu: 1 }));
        let line = format!("{head}sched_process_fork: comm=a pid=2 pid=3 child_comm= child_pid=4 child_pid=5");
        assert_eq!(happening(&line), Some(Happening::Fork { parent: 3, child: 5 }));
    }

    #[test]
    fn broken_lines_are_left_out() {
        for line in [
            "",
            "CPU:",
            "CPU:0 [LOST x EVENTS]",
            "# entries-in-buffer",
            "x-1 [000] d..2.  1.0000: sched_wakeup: comm=x pid=7 prio=120 target_cpu=000",
            "x-1 d..2.  1.000000: sched_wakeup: comm=x pid=7 prio=120 target_cpu=000",
            "x-1 [000] d..2.  99999999999999999999.000000: sched_wakeup: comm=x pid=7 prio=120 target_cpu=000",
            "x-1 [000] d..2.  18446744073.999999: sched_wakeup: comm=x pid=-7 prio=120 target_cpu=000",
            "x-1 [000] d..2.  1.000000: sched_switch: prev_comm=x prev_pid=1 prev_prio=1 prev_state=S ==> next_comm=y",
            "x-1 [000] d..2.  1.000000: sched_waking: comm=x pid=7 prio=120 target_cpu=000",
        ] {
            assert_eq!(parse(line), None, "{line}");
        }
    }
}
