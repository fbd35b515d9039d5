//! Scheduling latency of threads, as in tables 2 to 5 of the paper.
//!
//! BPF programs on the scheduler's tracepoints count (`programs`). Where the kernel or the rights do not allow BPF, samples of
//! the same tracepoints are read by `perf_event_open` and counted here (`samples`): that costs more, and says so. Where that is refused
//! as well, the text of a trace of tracefs is (`trace`).

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering::Relaxed;

use crate::programs::{self, CLASSES, Maps, Points, TICK_NS, cpu, record};
use crate::samples::Samples;
use crate::sys::{self, EventAttributes, ProgramKind};
use crate::threads::Thread;
use crate::trace::Trace;
use crate::tracepoints::Tracing;
use crate::{Cpus, Error, Host, Selection};

/// So many threads are counted.
pub const MAX_THREADS: usize = programs::MAX_THREADS as usize;

/// `PERF_TYPE_SOFTWARE`, `PERF_TYPE_TRACEPOINT`, and the clock event of the first.
pub(crate) const SOFTWARE: u32 = 1;
pub(crate) const TRACEPOINT: u32 = 2;
pub(crate) const CPU_CLOCK: u64 = 0;
/// `exclude_idle`.
pub(crate) const EXCLUDE_IDLE: u64 = 1 << 7;
const RIGHT: &str = "root (CAP_BPF and CAP_PERFMON)";
/// How often all processes are looked at for new ones.
const SCAN_PERIOD: Duration = Duration::from_secs(5);

/// Times by powers of two: the first class is that of 0 and 1 us, the class `n` that of 2^n us and more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Histogram(pub [u64; CLASSES]);

impl Histogram {
    /// The names of the classes that the paper's tables have, and of all above.
    pub const BUCKETS: [&'static str; 5] = ["0-1", "2-3", "4-7", "8-15", "16-"];

    /// How many times there are.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// The share of each of [`Histogram::BUCKETS`], in percent. Zeros if there are no times.
    #[must_use]
    pub fn percentages(&self) -> [f64; 5] {
        let total = self.total();
        let share = |count: u64| if total == 0 { 0.0 } else { 100.0 * count as f64 / total as f64 };
        let [a, b, c, d, ..] = self.0;
        [a, b, c, d, self.0[4..].iter().sum()].map(share)
    }

    pub(crate) fn add(&mut self, ns: u64) {
        let us = ns / 1000;
        let class = us.max(1).ilog2() as usize;
        self.0[class.min(CLASSES - 1)] += 1;
    }

    fn of(words: &[u64], first: usize) -> Histogram {
        let mut histogram = Histogram::default();
        histogram.0.copy_from_slice(&words[first..first + CLASSES]);
        histogram
    }
}

/// What was measured of a thread.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ThreadLatency {
    /// Its name when it was last seen.
    pub name: String,
    /// Its number.
    pub tid: u32,
    /// Waits from a wake-up until it ran, without those that a stall voids.
    pub wakeup_waits: Histogram,
    /// Waits from a preemption until it ran again, without those that a stall voids.
    pub preemption_waits: Histogram,
    /// How often the CPU was taken from it.
    pub preempted: u64,
    /// Waits that are void since the host itself had stalled.
    pub stalls: u64,
    /// The mean of the waits after wake-ups, in us.
    pub mean_us: f64,
    /// The longest wait, in us.
    pub longest_us: f64,
    /// The period of a periodic thread, in us.
    pub period_us: Option<f64>,
    /// By how much its activations began later than a period after the one before. Empty until the period is known.
    pub lateness: Histogram,
}

/// Stalls of the host: times without a timer interrupt on a busy CPU, and those in which an idle CPU did not run a thread that was
/// woken on it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stalls {
    /// How many there were on all CPUs.
    pub count: u64,
    /// All of them, in us.
    pub total_us: f64,
    /// The longest, in us.
    pub longest_us: f64,
    /// The CPUs that have stalled.
    pub cpus: Cpus,
}

/// How waits were counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// In the kernel, by BPF programs.
    Bpf,
    /// In this process, by samples of tracepoints.
    PerfEvent,
    /// In this process, by the text of a trace: in whole us, and without a notice of stalls of busy CPUs.
    Tracefs,
}

impl Source {
    /// Its name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Source::Bpf => "bpf",
            Source::PerfEvent => "perf_event",
            Source::Tracefs => "tracefs",
        }
    }
}

/// A measurement's result.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The threads that have woken up or were preempted, by number.
    pub threads: Vec<ThreadLatency>,
    /// The host's own stalls.
    pub stalls: Stalls,
    /// How long it took, in seconds.
    pub seconds: f64,
    /// How waits were counted.
    pub source: Source,
    /// Samples that the kernel has dropped; always 0 with BPF.
    pub lost: u64,
}

impl Report {
    /// What makes the measurement void or incomplete, a sentence each. Empty if it is sound.
    #[must_use]
    pub fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let Stalls { count, longest_us, cpus, .. } = &self.stalls;
        if *count > 0 {
            let longest = longest_us / 1000.0;
            faults.push(format!(
                "the host itself stalled {count} times on CPUs {cpus}, for up to {longest:.1} ms: measure again when it is quiet"
            ));
        }
        if self.lost > 0 {
            faults.push(format!("{} samples were lost: measure with BPF, or fewer threads", self.lost));
        }
        if self.threads.len() + 1 >= MAX_THREADS {
            faults.push(format!("more threads than {} are not counted: select fewer", MAX_THREADS));
        }
        faults
    }
}

/// A running measurement.
#[derive(Debug)]
pub struct Latency {
    selection: Selection,
    /// The name of each thread that is or was watched.
    names: BTreeMap<u32, String>,
    /// The period of each thread that has one, in ns. One that was given is that of all.
    periods: BTreeMap<u32, u64>,
    given_period_ns: Option<u64>,
    started: Instant,
    last_scan: Option<Instant>,
    counter: Counter,
}

#[derive(Debug)]
enum Counter {
    Bpf(Bpf),
    Samples(Box<Samples>),
    Trace(Box<Trace>),
}

/// Programs that are attached; they are detached when this is dropped, or its process ends.
#[derive(Debug)]
struct Bpf {
    maps: Maps,
    _events: Vec<OwnedFd>,
    cpus: usize,
}

impl Latency {
    /// Starts a measurement of the selected threads, with BPF if that is possible, else with samples of `perf_event_open`, else with a trace
    /// of tracefs. The second value says why it is not with BPF.
    ///
    /// # Errors
    /// [`Error::NotFound`] if no thread is selected; [`Error::Unsupported`] and [`Error::System`] if waits cannot be measured at all.
    pub fn start(selection: Selection, period_us: Option<u64>) -> Result<(Latency, Option<String>), Error> {
        match Latency::start_with(selection.clone(), period_us, Source::Bpf) {
            Ok(latency) => Ok((latency, None)),
            Err(error @ (Error::NotFound(_) | Error::Invalid(_))) => Err(error),
            Err(error) => match Latency::start_with(selection.clone(), period_us, Source::PerfEvent) {
                Ok(latency) => {
                    let instead = "samples of perf_event are counted instead, which costs more and may lose some";
                    Ok((latency, Some(format!("{error}; {instead}"))))
                }
                Err(second) => {
                    let latency = Latency::start_with(selection, period_us, Source::Tracefs)?;
                    let instead = "the text of a trace is counted instead, which costs much more, has whole us, and does not \
                                   notice stalls of busy CPUs";
                    Ok((latency, Some(format!("{error}; {second}; {instead}"))))
                }
            },
        }
    }

    /// Starts a measurement that counts in a certain way.
    ///
    /// # Errors
    /// As of [`Latency::start`].
    pub fn start_with(selection: Selection, period_us: Option<u64>, source: Source) -> Result<Latency, Error> {
        let threads = selection.find()?;
        if threads.is_empty() {
            return Err(Error::NotFound("no such thread is running: `ps -eLo pid,tid,comm` lists all".into()));
        }
        let host = Host::read()?;
        let tracing = Tracing::open()?;
        let counter = match source {
            Source::Bpf => Counter::Bpf(Bpf::start(&Points::read(&tracing)?, &host)?),
            Source::PerfEvent => Counter::Samples(Box::new(Samples::start(Points::read(&tracing)?, &host)?)),
            Source::Tracefs => Counter::Trace(Box::new(Trace::start(tracing, &host)?)),
        };
        let mut latency = Latency {
            selection,
            names: BTreeMap::new(),
            periods: BTreeMap::new(),
            given_period_ns: period_us.map(|us| us * 1000),
            started: Instant::now(),
            last_scan: Some(Instant::now()),
            counter,
        };
        latency.watch(threads)?;
        Ok(latency)
    }

    fn watch(&mut self, threads: Vec<Thread>) -> Result<(), Error> {
        for thread in threads {
            let is_new = self.names.insert(thread.tid, thread.name).is_none();
            let Some(period) = self.given_period_ns.filter(|_| is_new) else {
                self.counter.watch(thread.tid, is_new)?;
                continue;
            };
            self.counter.watch(thread.tid, is_new)?;
            self.set_period(thread.tid, period);
        }
        Ok(())
    }

    fn set_period(&mut self, tid: u32, period_ns: u64) {
        self.periods.insert(tid, period_ns);
        self.counter.set_period(tid, period_ns);
    }

    /// Reads what has been counted, looks for new threads, and finds periods. Call it every 100 ms or so.
    ///
    /// # Errors
    /// Those of the system.
    pub fn poll(&mut self) -> Result<(), Error> {
        self.counter.read();
        if self.last_scan.is_none_or(|last| last.elapsed() >= SCAN_PERIOD) {
            self.last_scan = Some(Instant::now());
            let threads = self.selection.find()?;
            self.watch(threads)?;
        }
        if self.given_period_ns.is_none() {
            for (tid, words) in self.counter.records() {
                let period = period_of(&words).filter(|_| !self.periods.contains_key(&tid));
                if let Some(period) = period {
                    self.set_period(tid, period);
                }
            }
        }
        Ok(())
    }

    /// What was measured until now.
    ///
    /// # Errors
    /// Those of the system.
    pub fn report(&mut self) -> Result<Report, Error> {
        self.counter.read();
        let mut threads = Vec::new();
        for (tid, words) in self.counter.records() {
            // one that a watched thread has started meanwhile
            let name = || Thread::read(tid, tid).ok().flatten().map(|thread| thread.name);
            let name = self.names.get(&tid).cloned().or_else(name).unwrap_or_else(|| "?".into());
            let wakeup_waits = Histogram::of(&words, record::WAITS);
            let us = |ns: u64| ns as f64 / 1000.0;
            let thread = ThreadLatency {
                name,
                tid,
                wakeup_waits,
                preemption_waits: Histogram::of(&words, record::WAITS + CLASSES),
                preempted: words[record::PREEMPTED],
                stalls: words[record::STALLS],
                mean_us: us(words[record::TOTAL]) / wakeup_waits.total().max(1) as f64,
                longest_us: us(words[record::LONGEST]),
                period_us: self.periods.get(&tid).copied().map(us),
                lateness: Histogram::of(&words, record::LATENESS),
            };
            threads.push(thread);
        }
        threads.sort_by_key(|thread| thread.tid);
        let (stalls, lost, source) = match &self.counter {
            Counter::Bpf(bpf) => (bpf.stalls(), 0, Source::Bpf),
            Counter::Samples(samples) => (samples.stalls(), samples.lost(), Source::PerfEvent),
            Counter::Trace(trace) => (trace.waits.stalls(), trace.lost(), Source::Tracefs),
        };
        Ok(Report { threads, stalls, seconds: self.started.elapsed().as_secs_f64(), source, lost })
    }
}

impl Counter {
    /// Counts what was collected, where this process does.
    fn read(&mut self) {
        match self {
            Counter::Samples(samples) => samples.read(),
            Counter::Trace(trace) => trace.read(),
            Counter::Bpf(_) => {}
        }
    }

    fn watch(&mut self, tid: u32, is_new: bool) -> Result<(), Error> {
        match self {
            Counter::Samples(samples) => samples.watch(tid),
            Counter::Trace(trace) => trace.waits.watch(tid),
            Counter::Bpf(bpf) if is_new => {
                let watched = match bpf.place(tid) {
                    // the kernel has added it at its parent's fork
                    Some(place) => bpf.maps.places.set(tid, place as u64),
                    None => bpf.maps.watch(tid).map(drop),
                };
                watched.map_err(|source| Error::system(format!("watch thread {tid}"), RIGHT, source))?;
            }
            Counter::Bpf(_) => {}
        }
        Ok(())
    }

    fn set_period(&mut self, tid: u32, period_ns: u64) {
        match self {
            Counter::Samples(samples) => samples.set_period(tid, period_ns),
            Counter::Trace(trace) => trace.waits.set_period(tid, period_ns),
            Counter::Bpf(bpf) => {
                if let Some(place) = bpf.place(tid) {
                    bpf.maps.threads.word(place, record::PERIOD).store(period_ns, Relaxed);
                }
            }
        }
    }

    /// The record of each thread.
    fn records(&self) -> Vec<(u32, Vec<u64>)> {
        match self {
            Counter::Samples(samples) => samples.records(),
            Counter::Trace(trace) => trace.waits.records(),
            Counter::Bpf(bpf) => {
                let record = |place| {
                    let words = bpf.maps.threads.record(place);
                    (words[record::TID] as u32, words)
                };
                bpf.maps.taken().map(record).collect()
            }
        }
    }
}

impl Bpf {
    fn start(points: &Points, host: &Host) -> Result<Bpf, Error> {
        let failed = |what: &str| {
            let action = format!("{what} by BPF");
            move |source| Error::system(action, RIGHT, source)
        };
        let cpus = host.online.iter().last().map_or(1, |last| last + 1);
        let maps = Maps::create(cpus).map_err(failed("keep counts"))?;
        let mut events = Vec::new();
        let mut attach = |id: u64, code: &[crate::assembler::Instruction]| -> Result<(), Error> {
            let program = sys::load(ProgramKind::Tracepoint, code).map_err(failed("watch the scheduler"))?;
            let attributes = EventAttributes { kind: TRACEPOINT, config: id, ..EventAttributes::default() };
            // a program runs on all CPUs, whichever the event is of
            let cpu = host.online.iter().next().unwrap_or(0);
            let event = sys::open_event(&attributes, cpu).map_err(failed("watch the scheduler"))?;
            sys::attach(&event, &program).map_err(failed("watch the scheduler"))?;
            events.push(event);
            Ok(())
        };
        attach(points.fork.0, &programs::fork(&maps, &points.fork.1, &points.fork.2))?;
        attach(points.switch.0, &programs::switch(&maps, &points.switch.1))?;
        attach(points.wakeup.0, &programs::wakeup(&maps, &points.wakeup.1))?;
        attach(points.wakeup_new.0, &programs::wakeup(&maps, &points.wakeup_new.1))?;
        let tick = sys::load(ProgramKind::PerfEvent, &programs::tick(&maps)).map_err(failed("watch for stalls"))?;
        for cpu in host.online.iter() {
            let event = sys::open_event(&tick_attributes(), cpu).map_err(failed("watch for stalls"))?;
            sys::attach(&event, &tick).map_err(failed("watch for stalls"))?;
            events.push(event);
        }
        Ok(Bpf { maps, _events: events, cpus })
    }

    /// The place of a thread's record: the last one, where its number was used again.
    fn place(&self, tid: u32) -> Option<usize> {
        let is_its = |place: &usize| self.maps.threads.word(*place, record::TID).load(Relaxed) == u64::from(tid);
        self.maps.taken().rev().find(is_its)
    }

    fn stalls(&self) -> Stalls {
        let mut stalls = Stalls::default();
        (0..self.cpus).for_each(|cpu| stalls.add(cpu, &self.maps.cpus.record(cpu)));
        stalls
    }
}

impl Stalls {
    pub(crate) fn add(&mut self, cpu: usize, words: &[u64]) {
        let us = |ns: u64| ns as f64 / 1000.0;
        if words[cpu::STALLS] == 0 {
            return;
        }
        self.cpus = self.cpus.with(&Cpus::from_iter([cpu]));
        self.count += words[cpu::STALLS];
        self.total_us += us(words[cpu::TOTAL]);
        self.longest_us = self.longest_us.max(us(words[cpu::LONGEST]));
    }
}

/// The event of the ticks.
///
/// It leaves out idle CPUs: the kernel stops an event that has ticked too often since the CPU's own timer did
/// (`perf_event_max_sample_rate`), and an idle CPU's own timer is off.
pub(crate) fn tick_attributes() -> EventAttributes {
    EventAttributes {
        kind: SOFTWARE,
        config: CPU_CLOCK,
        sample_period: TICK_NS,
        flags: EXCLUDE_IDLE,
        ..EventAttributes::default()
    }
}

/// The period of a thread's last activations, in ns: the median of the times between them, if three quarters of these are within a
/// tenth of it. `None` if they are irregular, or fewer than 32.
fn period_of(words: &[u64]) -> Option<u64> {
    let starts = usize::try_from(words[record::STARTS]).ok()?;
    if starts < record::RING_LENGTH {
        return None;
    }
    let ring = &words[record::RING..record::RING + record::RING_LENGTH];
    let oldest = starts % record::RING_LENGTH;
    let ordered: Vec<u64> = ring[oldest..].iter().chain(&ring[..oldest]).copied().collect();
    // one that was written while it was read is out of order
    let mut between: Vec<u64> = ordered.windows(2).filter_map(|pair| pair[1].checked_sub(pair[0])).collect();
    between.sort_unstable();
    let median = *between.get(between.len() / 2)?;
    let regular = between.iter().filter(|time| time.abs_diff(median) <= median / 10).count();
    (median > 0 && 4 * regular >= 3 * (record::RING_LENGTH - 1)).then_some(median)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_those_of_the_papers_tables() {
        let mut histogram = Histogram::default();
        for ns in [0, 999, 1_999, 2_000, 3_999, 4_000, 7_999, 8_000, 15_999, 16_000, 1_000_000, u64::MAX] {
            histogram.add(ns);
        }
        assert_eq!((histogram.0[..4].to_vec(), histogram.total(), histogram.0[CLASSES - 1]), (vec![3, 2, 2, 2], 12, 1));
        let shares = histogram.percentages();
        assert!((shares.iter().sum::<f64>() - 100.0).abs() < 1e-9 && (shares[0] - 25.0).abs() < 1e-9, "{shares:?}");
        assert_eq!(Histogram::default().percentages(), [0.0; 5]);
    }

    #[test]
    fn period_is_found_if_activations_are_regular() {
        let mut words = vec![0; record::WORDS];
        let fill = |words: &mut Vec<u64>, count: u64, time: &dyn Fn(u64) -> u64| {
            words[record::STARTS] = count;
            (0..count).for_each(|n| words[record::RING + n as usize % record::RING_LENGTH] = time(n));
        };
        fill(&mut words, 31, &|n| n * 1000);
        assert_eq!(period_of(&words), None);
        fill(&mut words, 77, &|n| 5_000_000 + n * 1_000_000 + n % 3 * 20_000);
        assert!(period_of(&words).unwrap().abs_diff(1_000_000) <= 40_000);
        fill(&mut words, 77, &|n| n * n * 1_000_000);
        assert_eq!(period_of(&words), None);
        fill(&mut words, 77, &|_| 7);
        assert_eq!(period_of(&words), None);
    }
}
