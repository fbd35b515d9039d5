//! Waits counted in this process, by samples of the scheduler's tracepoints: what measures where BPF is not allowed.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;

use rustix::time::{ClockId, clock_gettime};

use crate::latency::{EXCLUDE_IDLE, Histogram, Stalls, TRACEPOINT, tick_attributes};
use crate::programs::{CLASSES, Points, STALL_NS, STATE_MASK, cpu, record};
use crate::sys::{self, Buffer, EventAttributes};
use crate::{Error, Host};

/// Pages of a CPU's buffer: 1 MiB, some 10,000 switches.
const PAGES: usize = 256;
/// What a sample has: its time, its CPU, the tracepoint's record (`PERF_SAMPLE_TIME`, `PERF_SAMPLE_CPU`, `PERF_SAMPLE_RAW`).
const SAMPLE: u64 = 1 << 2 | 1 << 7 | 1 << 10;
/// `use_clockid`, for the clock that BPF has too.
const USE_CLOCK: u64 = 1 << 25;
const RECORD_LOST: u32 = 2;
const RECORD_SAMPLE: u32 = 9;
/// Samples are counted when they are so old: until then a CPU may still be writing one that is older.
const SETTLING_NS: u64 = 1_000_000;
const RIGHT: &str = "root (CAP_PERFMON)";

/// A thing that has happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Happening {
    /// A CPU's timer has ticked.
    Tick,
    /// A thread has been woken on a CPU.
    Wakeup { tid: u32, target_cpu: u32 },
    /// A thread has started another one.
    Fork { parent: u32, child: u32 },
    /// A CPU has switched.
    Switch { prev: u32, is_runnable: bool, next: u32 },
}

/// The samples of all CPUs, and what is counted of them.
#[derive(Debug)]
pub(crate) struct Samples {
    points: Points,
    buffers: Vec<Buffer>,
    /// Samples that are read and not yet counted: the buffers are read one after the other, and others may have older ones.
    waiting: Vec<(u64, u32, Happening)>,
    _events: Vec<OwnedFd>,
    waits: Waits,
    lost: u64,
}

impl Samples {
    pub(crate) fn start(points: Points, host: &Host) -> Result<Samples, Error> {
        let failed = |source| Error::system("read samples of the scheduler's tracepoints", RIGHT, source);
        let common = EventAttributes {
            sample_type: SAMPLE,
            flags: USE_CLOCK,
            clock: libc::CLOCK_MONOTONIC,
            ..EventAttributes::default()
        };
        let (mut buffers, mut events) = (Vec::new(), Vec::new());
        for cpu in host.online.iter() {
            let tick = EventAttributes {
                sample_type: SAMPLE,
                flags: USE_CLOCK | EXCLUDE_IDLE,
                clock: libc::CLOCK_MONOTONIC,
                ..tick_attributes()
            };
            let first = sys::open_event(&tick, cpu).map_err(failed)?;
            buffers.push(Buffer::map(&first, PAGES).map_err(failed)?);
            for id in [points.fork.0, points.switch.0, points.wakeup.0, points.wakeup_new.0] {
                let attributes = EventAttributes { kind: TRACEPOINT, config: id, sample_period: 1, ..common };
                let event = sys::open_event(&attributes, cpu).map_err(failed)?;
                sys::redirect(&event, &first).map_err(failed)?;
                sys::enable(&event).map_err(failed)?;
                events.push(event);
            }
            sys::enable(&first).map_err(failed)?;
            events.push(first);
        }
        Ok(Samples { points, buffers, waiting: Vec::new(), _events: events, waits: Waits::default(), lost: 0 })
    }

    pub(crate) fn watch(&mut self, tid: u32) {
        self.waits.watch(tid);
    }

    pub(crate) fn set_period(&mut self, tid: u32, period_ns: u64) {
        self.waits.set_period(tid, period_ns);
    }

    /// Reads all samples, and counts those before now, but for the last millisecond, in the order of their times.
    pub(crate) fn read(&mut self) {
        let now = clock_gettime(ClockId::Monotonic);
        let settled_ns = (now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64).saturating_sub(SETTLING_NS);
        let (points, lost, waiting) = (&self.points, &mut self.lost, &mut self.waiting);
        for buffer in &mut self.buffers {
            buffer.drain(|kind, content| match kind {
                RECORD_SAMPLE => waiting.extend(parse(points, content)),
                // its number, and how many
                RECORD_LOST => {
                    *lost +=
                        content.get(8..16).map_or(1, |count| u64::from_ne_bytes(count.try_into().unwrap_or_default()))
                }
                _ => {}
            });
        }
        waiting.sort_unstable();
        let settled = waiting.partition_point(|(time, ..)| *time < settled_ns);
        for (time, cpu, happening) in waiting.drain(..settled) {
            self.waits.happen(time, cpu, happening);
        }
    }

    pub(crate) fn records(&self) -> Vec<(u32, Vec<u64>)> {
        self.waits.records()
    }

    pub(crate) fn stalls(&self) -> Stalls {
        self.waits.stalls()
    }

    pub(crate) fn lost(&self) -> u64 {
        self.lost
    }
}

/// Parses a sample; `None` for one of no interest.
fn parse(points: &Points, content: &[u8]) -> Option<(u64, u32, Happening)> {
    let time = u64::from_ne_bytes(content.get(..8)?.try_into().ok()?);
    let cpu = u32::from_ne_bytes(content.get(8..12)?.try_into().ok()?);
    // after the CPU's number four octets of nothing, and the record's length
    let record = content.get(20..).unwrap_or_default();
    let id = record.get(..2).map_or(0, |id| u64::from(u16::from_ne_bytes([id[0], id[1]])));
    let number = |field: &crate::tracepoints::Field| field.value(record)?.try_into().ok();
    let happening = match id {
        0 => Happening::Tick,
        _ if id == points.wakeup.0 || id == points.wakeup_new.0 => {
            let fields = if id == points.wakeup.0 { &points.wakeup.1 } else { &points.wakeup_new.1 };
            Happening::Wakeup { tid: number(&fields.thread)?, target_cpu: number(&fields.target_cpu)? }
        }
        _ if id == points.fork.0 => Happening::Fork { parent: number(&points.fork.1)?, child: number(&points.fork.2)? },
        _ if id == points.switch.0 => {
            let fields = &points.switch.1;
            let is_runnable = fields.prev_state.value(record)? & STATE_MASK as u64 == 0;
            Happening::Switch { prev: number(&fields.prev)?, is_runnable, next: number(&fields.next)? }
        }
        _ => return None,
    };
    Some((time, cpu, happening))
}

/// Counts waits: the same rules as those of the BPF programs, without a kernel, so that recorded traces can be counted too.
#[derive(Clone, Debug, Default)]
pub(crate) struct Waits {
    /// Records as of the BPF programs, by thread and by CPU.
    pub(crate) threads: BTreeMap<u32, Vec<u64>>,
    pub(crate) cpus: BTreeMap<u32, Vec<u64>>,
}

impl Waits {
    pub(crate) fn watch(&mut self, tid: u32) {
        if self.threads.len() < crate::programs::MAX_THREADS as usize {
            self.threads.entry(tid).or_insert_with(|| vec![0; record::WORDS]);
        }
    }

    pub(crate) fn set_period(&mut self, tid: u32, period_ns: u64) {
        if let Some(words) = self.threads.get_mut(&tid) {
            words[record::PERIOD] = period_ns;
        }
    }

    /// The record of each thread.
    pub(crate) fn records(&self) -> Vec<(u32, Vec<u64>)> {
        self.threads.iter().map(|(tid, words)| (*tid, words.clone())).collect()
    }

    /// The stalls of all CPUs.
    pub(crate) fn stalls(&self) -> Stalls {
        let mut stalls = Stalls::default();
        self.cpus.iter().for_each(|(cpu, words)| stalls.add(*cpu as usize, words));
        stalls
    }

    /// Counts what has happened at a time, in ns, on a CPU.
    pub(crate) fn happen(&mut self, now: u64, cpu: u32, happening: Happening) {
        match happening {
            Happening::Tick => {
                let words = self.cpus.entry(cpu).or_insert_with(|| vec![0; cpu::WORDS]);
                let gap = now.saturating_sub(words[cpu::LAST_TICK]);
                if words[cpu::LAST_TICK] != 0 && gap > STALL_NS {
                    count_stall(words, now, gap);
                }
                words[cpu::LAST_TICK] = now;
            }
            Happening::Wakeup { tid, target_cpu } => {
                if let Some(words) = self.threads.get_mut(&tid).filter(|words| words[record::RUNNABLE_SINCE] == 0) {
                    words[record::RUNNABLE_SINCE] = now & !1;
                    words[record::WOKEN_ON] = target_cpu.into();
                }
            }
            Happening::Fork { parent, child } => {
                if self.threads.contains_key(&parent) {
                    self.watch(child);
                }
            }
            Happening::Switch { prev, is_runnable, next } => {
                if let Some(words) = self.threads.get_mut(&prev) {
                    words[record::RUNNABLE_SINCE] = if is_runnable { now | 1 } else { 0 };
                    words[record::PREEMPTED] += u64::from(is_runnable);
                }
                let of_cpu = self.cpus.entry(cpu).or_insert_with(|| vec![0; cpu::WORDS]);
                if prev == 0 {
                    of_cpu[cpu::LAST_TICK] = now;
                }
                if let Some(words) = self.threads.get_mut(&next).filter(|words| words[record::RUNNABLE_SINCE] != 0) {
                    begin(words, now, of_cpu, (prev == 0).then_some(cpu));
                }
            }
        }
    }
}

/// A CPU's stall ends.
fn count_stall(of_cpu: &mut [u64], now: u64, length: u64) {
    of_cpu[cpu::STALL_END] = now;
    of_cpu[cpu::STALLS] += 1;
    of_cpu[cpu::TOTAL] += length;
    of_cpu[cpu::LONGEST] = of_cpu[cpu::LONGEST].max(length);
}

/// A waiting thread begins to run, on a CPU that may have been idle until then.
fn begin(words: &mut [u64], now: u64, of_cpu: &mut [u64], idle_cpu: Option<u32>) {
    let since = std::mem::take(&mut words[record::RUNNABLE_SINCE]);
    if of_cpu[cpu::STALL_END] > since {
        words[record::STALLS] += 1;
        return;
    }
    let (kind, wait) = (since as usize & 1, now.saturating_sub(since & !1));
    if kind == 0 && wait > STALL_NS && idle_cpu.is_some_and(|cpu| words[record::WOKEN_ON] == u64::from(cpu)) {
        words[record::STALLS] += 1;
        count_stall(of_cpu, now, wait);
        return;
    }
    words[record::LONGEST] = words[record::LONGEST].max(wait);
    count(words, record::WAITS + kind * CLASSES, wait);
    if kind == 1 {
        return;
    }
    words[record::TOTAL] += wait;
    let starts = words[record::STARTS];
    words[record::STARTS] += 1;
    words[record::RING + starts as usize % record::RING_LENGTH] = now;
    let last = std::mem::replace(&mut words[record::LAST_START], now);
    let period = words[record::PERIOD];
    if last != 0 && period != 0 {
        count(words, record::LATENESS, now.saturating_sub(last).saturating_sub(period));
    }
}

fn count(words: &mut [u64], first: usize, ns: u64) {
    let mut histogram = Histogram::default();
    histogram.add(ns);
    histogram.0.iter().enumerate().for_each(|(class, count)| words[first + class] += count);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A thread 7 on CPU 0, and what happens to it; times in us.
    fn waits(happenings: &[(u64, Happening)], period_us: Option<u64>) -> Vec<u64> {
        let mut waits = Waits::default();
        waits.watch(7);
        waits.threads.get_mut(&7).unwrap()[record::PERIOD] = period_us.unwrap_or(0) * 1000;
        happenings.iter().for_each(|(us, happening)| waits.happen(us * 1000, 0, *happening));
        waits.threads.remove(&7).unwrap()
    }

    fn switch(prev: u32, is_runnable: bool, next: u32) -> Happening {
        Happening::Switch { prev, is_runnable, next }
    }

    #[test]
    fn waits_of_both_kinds_are_counted_apart() {
        let wakeup = Happening::Wakeup { tid: 7, target_cpu: 0 };
        let words = waits(
            &[
                (100, wakeup),
                (105, switch(0, true, 7)),  // woken, waited 5 us
                (200, switch(7, true, 9)),  // preempted
                (220, switch(9, false, 7)), // waited 20 us
                (230, wakeup),              // while it runs: no wait
                (240, switch(7, false, 0)), // sleeps
                (250, switch(0, true, 8)),  // another thread
                (300, wakeup),
                (300, switch(8, true, 7)), // at once
                (400, switch(7, true, 8)), // preempted on its way to sleep
                (410, wakeup),             // that keeps it from sleeping
                (420, switch(8, true, 7)),
            ],
            None,
        );
        assert_eq!(words[record::WAITS..record::WAITS + 3], [1, 0, 1]);
        assert_eq!(words[record::WAITS + CLASSES + 4], 2);
        let rest = [record::PREEMPTED, record::LONGEST, record::TOTAL, record::STARTS].map(|word| words[word]);
        assert_eq!(rest, [2, 20_000, 5_000, 2]);
    }

    #[test]
    fn wait_across_a_stall_is_void() {
        let wakeup = Happening::Wakeup { tid: 7, target_cpu: 0 };
        let words = waits(
            &[
                (1000, Happening::Tick),
                (2000, Happening::Tick),
                (2500, wakeup),
                (9000, Happening::Tick),
                (9001, switch(0, true, 7)),
            ],
            None,
        );
        assert_eq!((words[record::STALLS], words[record::STARTS]), (1, 0));
        let words = waits(
            &[(1000, Happening::Tick), (3999, Happening::Tick), (2500, wakeup), (4001, switch(0, true, 7))],
            None,
        );
        assert_eq!((words[record::STALLS], words[record::STARTS]), (0, 1));
    }

    #[test]
    fn idle_cpu_without_ticks_has_not_stalled() {
        let mut waits = Waits::default();
        let happenings =
            [(1000, Happening::Tick), (1500, switch(7, false, 0)), (9000, switch(0, true, 7)), (9500, Happening::Tick)];
        happenings.iter().for_each(|(us, happening)| waits.happen(us * 1000, 0, *happening));
        assert_eq!(waits.cpus[&0][cpu::STALLS], 0);
    }

    #[test]
    fn idle_cpu_that_does_not_run_a_woken_thread_has_stalled() {
        let stalls = |target_cpu, prev| {
            let happenings = [
                (1000, Happening::Tick),
                (1100, switch(9, false, prev)),
                (1900, Happening::Tick),
                (2000, Happening::Wakeup { tid: 7, target_cpu }),
                (4900, Happening::Tick),
                (5001, switch(prev, true, 7)),
            ];
            waits(&happenings, None)[record::STALLS]
        };
        assert_eq!(stalls(0, 0), 1);
        // one that waited for another CPU, or for another thread
        assert_eq!((stalls(1, 0), stalls(0, 8)), (0, 0));
    }

    #[test]
    fn lateness_is_what_exceeds_the_period() {
        let wakeup = Happening::Wakeup { tid: 7, target_cpu: 0 };
        let mut happenings = Vec::new();
        for us in [1000, 2000, 3009, 4000] {
            happenings.extend([(us - 1, wakeup), (us, switch(0, true, 7)), (us + 10, switch(7, false, 0))]);
        }
        let words = waits(&happenings, Some(1000));
        // in time, 9 us late, and in time since the one before was late
        assert_eq!(words[record::LATENESS..record::LATENESS + 4], [2, 0, 0, 1]);
    }

    #[test]
    fn child_of_a_watched_thread_is_watched() {
        let mut waits = Waits::default();
        waits.watch(7);
        waits.happen(1, 0, Happening::Fork { parent: 7, child: 8 });
        waits.happen(1, 0, Happening::Fork { parent: 9, child: 10 });
        assert_eq!(waits.threads.keys().collect::<Vec<_>>(), [&7, &8]);
    }
}
