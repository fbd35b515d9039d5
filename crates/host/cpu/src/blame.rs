//! Who ran while a thread waited, which class of culprit that is, the knob that removes it, and what the knob costs.

mod programs;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use crate::threads::Thread;
use crate::tracepoints::Tracing;
use crate::{Error, Host, Profile, Selection};
use programs::{Maps, entry, kind};

const RIGHT: &str = "root (CAP_BPF and CAP_PERFMON)";
const SCAN_PERIOD: Duration = Duration::from_secs(1);

/// A class of culprits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// A program of somebody else.
    UserTask,
    /// A thread of the kernel, such as a worker.
    KernelThread,
    /// A softirq: the processing of packets, timers, block requests.
    Softirq,
    /// A hardware interrupt.
    Interrupt,
    /// Another thread of the base station.
    Sibling,
    /// The kernel, which keeps real-time threads from taking all of a CPU.
    Throttling,
    /// Nobody: the CPU was idle, or the host did not run it.
    Host,
}

impl Class {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Class::UserTask => "user task",
            Class::KernelThread => "kernel thread",
            Class::Softirq => "softirq",
            Class::Interrupt => "interrupt",
            Class::Sibling => "sibling",
            Class::Throttling => "throttling",
            Class::Host => "host",
        }
    }

    /// What removes it, and what that costs.
    #[must_use]
    pub fn knob(self) -> (&'static str, &'static str) {
        match self {
            Class::UserTask => {
                ("ferric cpu apply shield", "other programs lose the base station's CPUs, also while it is idle")
            }
            Class::KernelThread => (
                "ferric cpu apply POLICY --with workqueue",
                "kernel work of all programs runs on the other CPUs; per-CPU threads stay",
            ),
            Class::Softirq => {
                ("ferric cpu apply ia-ta --with rps", "packets cross CPUs: some us each, and one CPU is busier")
            }
            Class::Interrupt => ("ferric cpu apply ia-ta", "one CPU takes all interrupts of the device"),
            Class::Sibling => ("ferric cpu apply ta --cpus MORE", "one CPU more for the base station"),
            Class::Throttling => (
                "ferric cpu apply POLICY --with rt-throttling",
                "a real-time thread that never sleeps stops everything else on its CPU",
            ),
            Class::Host => {
                ("CPUs that the hypervisor reserves; or less power saving", "other virtual machines, or power")
            }
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Somebody who ran while a thread waited.
#[derive(Clone, Debug, PartialEq)]
pub struct Culprit {
    /// The name of the thread that waited.
    pub victim: String,
    /// Its number.
    pub victim_tid: u32,
    /// The class.
    pub class: Class,
    /// The culprit's name: of a thread, a softirq, or the handlers of an interrupt.
    pub name: String,
    /// The number of the thread or of the interrupt.
    pub number: u32,
    /// How often it was.
    pub count: u64,
    /// For how long together, in us.
    pub total_us: f64,
    /// For how long at most, in us.
    pub longest_us: f64,
}

/// A running measurement.
#[derive(Debug)]
pub struct Blame {
    selection: Selection,
    /// Of which the urgent threads are watched. None: all selected ones are.
    urgent_of: Option<Profile>,
    /// The selected threads as they were last seen.
    family: BTreeMap<u32, Thread>,
    /// How often each entry had counted, by place, and its total, when it was last told as news.
    told: Vec<(u64, u64)>,
    maps: Maps,
    _events: Vec<OwnedFd>,
    names: BTreeMap<u32, String>,
    /// Threads that were blamed: whether each is one of the kernel. They may end before the report.
    is_kernel: BTreeMap<u32, bool>,
    interrupts: BTreeMap<u32, String>,
    started: Instant,
    last_scan: Instant,
}

impl Blame {
    /// Starts to watch the selected threads. Times up to `least_us` are not blamed on anybody.
    ///
    /// # Errors
    /// [`Error::NotFound`] if no thread is selected; [`Error::System`], [`Error::Unsupported`] if the kernel or the rights do not allow it.
    pub fn start(selection: Selection, least_us: u32) -> Result<Blame, Error> {
        Blame::start_with(selection, None, least_us)
    }

    /// As [`Blame::start`], for the urgent threads only: those of the profile's urgent groups, else those with a real-time priority,
    /// else all.
    ///
    /// # Errors
    /// As of [`Blame::start`].
    pub fn start_urgent(selection: Selection, profile: Profile, least_us: u32) -> Result<Blame, Error> {
        Blame::start_with(selection, Some(profile), least_us)
    }

    fn start_with(selection: Selection, urgent_of: Option<Profile>, least_us: u32) -> Result<Blame, Error> {
        let threads = selection.find()?;
        if threads.is_empty() {
            return Err(Error::NotFound("no such thread is running: `ps -eLo pid,tid,comm` lists all".into()));
        }
        let host = Host::read()?;
        let failed = |source| Error::system("watch the scheduler by BPF", RIGHT, source);
        let maps = Maps::create(host.online.iter().last().map_or(1, |last| last + 1)).map_err(failed)?;
        let least_ns = i32::try_from(u64::from(least_us) * 1000).unwrap_or(i32::MAX);
        let programs = programs::all(&Tracing::open()?, &maps, least_ns)?;
        let events = programs::attach(&programs, &host.online).map_err(failed)?;
        let interrupts =
            host.interrupts.iter().map(|interrupt| (interrupt.number, interrupt.names.join(" "))).collect();
        let (names, is_kernel, now) = (BTreeMap::new(), BTreeMap::new(), Instant::now());
        let mut blame = Blame {
            selection,
            urgent_of,
            family: BTreeMap::new(),
            told: Vec::new(),
            maps,
            _events: events,
            names,
            is_kernel,
            interrupts,
            started: now,
            last_scan: now,
        };
        blame.watch(threads)?;
        Ok(blame)
    }

    fn watch(&mut self, threads: Vec<Thread>) -> Result<(), Error> {
        let is_urgent = |thread: &Thread| match &self.urgent_of {
            None => true,
            Some(profile) => match profile.group_of(thread) {
                Some(group) => profile.groups[group].is_real_time,
                None => thread.is_real_time(),
            },
        };
        let mut urgent: Vec<Thread> = threads.iter().filter(|thread| is_urgent(thread)).cloned().collect();
        if urgent.is_empty() {
            urgent.clone_from(&threads);
        }
        self.family = threads.into_iter().map(|thread| (thread.tid, thread)).collect();
        for thread in urgent {
            if self.names.insert(thread.tid, thread.name).is_none() {
                let watched = self.maps.watch(thread.tid);
                watched.map_err(|source| Error::system(format!("watch thread {}", thread.tid), RIGHT, source))?;
            }
        }
        Ok(())
    }

    /// The selected threads as they were last seen.
    pub(crate) fn family(&self) -> &BTreeMap<u32, Thread> {
        &self.family
    }

    /// Looks for new threads now.
    ///
    /// # Errors
    /// Those of the system.
    pub(crate) fn rescan(&mut self) -> Result<(), Error> {
        self.last_scan = Instant::now();
        let threads = self.selection.find()?;
        self.watch(threads)
    }

    /// Whether so many pairs of victim and culprit were seen that new ones may soon have no place.
    pub(crate) fn is_nearly_full(&self) -> bool {
        self.told.len() > programs::MAX_ENTRIES as usize * 3 / 4
    }

    /// When the last stall of the host ended, in ns since it was started; 0 without one.
    pub(crate) fn last_stall_ns(&self) -> u64 {
        self.maps.last_stall_ns()
    }

    /// Who was blamed since the last call. Nothing is read of what has not changed.
    pub(crate) fn news(&mut self) -> Vec<Culprit> {
        let watched: BTreeSet<u32> = self.family.keys().copied().collect();
        let mut news = Vec::new();
        for place in self.maps.taken() {
            let index = place - 1;
            if index >= self.told.len() {
                self.told.resize(index + 1, (0, 0));
            }
            let count = self.maps.count(place);
            if count == self.told[index].0 {
                continue;
            }
            let words = self.maps.entry(place);
            let ([victim_tid, kind, number, _, name @ ..], [count, total, longest]) = parts(&words);
            let (last_count, last_total) = std::mem::replace(&mut self.told[index], (count, total));
            if kind == kind::TASK && number != 0 {
                self.note_kernel(number, &text(&name));
            }
            let (class, name) = self.classify(kind, number, text(&name), &watched);
            let us = |ns: u64| ns as f64 / 1000.0;
            news.push(Culprit {
                victim: self.names.get(&victim_tid).cloned().unwrap_or_default(),
                victim_tid,
                class,
                name,
                number,
                count: count.saturating_sub(last_count),
                total_us: us(total.saturating_sub(last_total)),
                longest_us: us(longest),
            });
        }
        news
    }

    fn note_kernel(&mut self, tid: u32, name: &str) {
        self.is_kernel.entry(tid).or_insert_with(|| match Thread::read(tid, tid) {
            Ok(Some(thread)) => thread.is_kernel,
            _ => is_kernels(name),
        });
    }

    /// The entries by key, with the words of the value.
    fn entries(&self) -> BTreeMap<[u32; 8], [u64; 3]> {
        let mut entries: BTreeMap<[u32; 8], [u64; 3]> = BTreeMap::new();
        for words in self.maps.entries() {
            let (key, value) = parts(&words);
            let [count, total, longest] = entries.entry(key).or_default();
            *count += value[0];
            *total += value[1];
            *longest = (*longest).max(value[2]);
        }
        entries
    }

    /// Looks for new threads, and at those that were blamed while they live. Call it every 100 ms or so.
    ///
    /// # Errors
    /// Those of the system.
    pub fn poll(&mut self) -> Result<(), Error> {
        if self.last_scan.elapsed() >= SCAN_PERIOD {
            self.rescan()?;
        }
        for ([_, kind, tid, _, name @ ..], _) in self.entries() {
            if kind == kind::TASK && tid != 0 {
                self.note_kernel(tid, &text(&name));
            }
        }
        Ok(())
    }

    /// How long it has been running, in seconds.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    /// Who was blamed until now, the one for the longest time first.
    ///
    /// # Errors
    /// Those of the system.
    pub fn report(&mut self) -> Result<Vec<Culprit>, Error> {
        self.poll()?;
        let watched: BTreeSet<u32> = self.names.keys().copied().collect();
        let mut culprits: Vec<Culprit> = Vec::new();
        for ([victim_tid, kind, number, _, name @ ..], words) in self.entries() {
            let (class, name) = self.classify(kind, number, text(&name), &watched);
            let us = |ns: u64| ns as f64 / 1000.0;
            culprits.push(Culprit {
                victim: self.names.get(&victim_tid).cloned().unwrap_or_default(),
                victim_tid,
                class,
                name,
                number,
                count: words[0],
                total_us: us(words[1]),
                longest_us: us(words[2]),
            });
        }
        culprits.sort_by(|a, b| b.total_us.total_cmp(&a.total_us));
        Ok(culprits)
    }

    fn classify(&self, kind: u32, number: u32, name: String, watched: &BTreeSet<u32>) -> (Class, String) {
        match kind {
            kind::INTERRUPT => {
                (Class::Interrupt, self.interrupts.get(&number).cloned().unwrap_or_else(|| number.to_string()))
            }
            kind::SOFTIRQ => (Class::Softirq, SOFTIRQS.get(number as usize).unwrap_or(&"?").to_string()),
            kind::THROTTLING => (Class::Throttling, name),
            kind::STALL => (Class::Host, "stall".into()),
            _ if number == 0 => (Class::Host, "idle".into()),
            _ if watched.contains(&number) => (Class::Sibling, name),
            _ if name.starts_with("ksoftirqd/") => (Class::Softirq, name),
            _ if name.starts_with("irq/") => (Class::Interrupt, name),
            _ if self.is_kernel.get(&number).copied().unwrap_or(false) => (Class::KernelThread, name),
            _ => (Class::UserTask, name),
        }
    }
}

/// The key of an entry, and its count, total and longest time.
fn parts(words: &[u64]) -> ([u32; 8], [u64; 3]) {
    let mut key = [0; 8];
    for (index, word) in words[entry::KEY..entry::KEY + 4].iter().enumerate() {
        let [a, b, c, d, e, f, g, h] = word.to_ne_bytes();
        (key[2 * index], key[2 * index + 1]) = (u32::from_ne_bytes([a, b, c, d]), u32::from_ne_bytes([e, f, g, h]));
    }
    (key, [words[entry::COUNT], words[entry::TOTAL], words[entry::LONGEST]])
}

/// The names of softirqs by number (`enum` in `include/linux/interrupt.h`).
const SOFTIRQS: [&str; 10] =
    ["HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"];

/// Whether a name is that of a thread of the kernel, of one that has ended.
fn is_kernels(name: &str) -> bool {
    ["kworker/", "ksoftirqd/", "migration/", "rcu", "kswapd", "irq/", "kcompactd", "jbd2/"]
        .iter()
        .any(|start| name.starts_with(start))
}

/// A name of 16 octets, in words.
fn text(words: &[u32]) -> String {
    let octets: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).take_while(|octet| *octet != 0).collect();
    String::from_utf8_lossy(&octets).into_owned()
}
