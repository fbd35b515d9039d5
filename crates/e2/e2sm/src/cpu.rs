//! CPU: the state of the host of a software base station, and its control.
//!
//! How long the threads of the base-band unit wait for a CPU, which CPUs they may use and how busy these are; a controller chooses
//! the CPUs and a policy. The policies, their names and the classes of waits are those of Ocampo et al., "Assessing the Cloud-RAN in
//! the Linux Kernel" (Sensors 24(7), 2365). This is a model of ferric, without a plain layout. Its number is 150.
//!
//! | message | type |
//! |---|---|
//! | event trigger | [`EventTriggerDefinition`]: the period |
//! | indication | [`IndicationHeader`], [`IndicationMessage`]: the host, the unit and its threads |
//! | control | [`ControlHeader`], [`ControlMessage`]: set the policy and the CPUs, or withdraw what was set |
//! | control outcome | [`ControlOutcome`]: what is in force after the control; after a refusal also its reason |
//!
//! All counts only grow, until what counts them starts again: consumers take differences ([`IndicationMessage::since`]).

use core::fmt;
use core::str::FromStr;

use per::{List, Per, PrintableString};

pub use crate::flexric::{ControlHeader, EventTriggerDefinition, RanFunctionDefinition};
use crate::wire::{Model, Wire, message};

/// The RAN function ID, name and encodings of this model.
pub const MODEL: Model = Model { function_id: 150, name: "CPU_STATE_V0", wires: &[Wire::Per, Wire::Flat] };

/// The most octets of the name of a thread, as Linux keeps it.
pub const MAX_THREAD_NAME: usize = 15;
/// The most threads of a report.
pub const MAX_THREADS: usize = 4096;
/// The most CPUs of a host.
pub const MAX_CPUS: usize = 1024;
/// The most steps of a report.
pub const MAX_STEPS: usize = 64;
/// The most characters of the name of a unit, of a step and of a diagnostic text.
pub const MAX_UNIT_NAME: usize = 64;
/// The most characters of a step.
pub const MAX_STEP: usize = 150;
/// The most characters of a diagnostic text.
pub const MAX_DIAGNOSTIC: usize = 255;

/// The indication header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct IndicationHeader {
    /// The time stamp, in microseconds of Unix time.
    pub timestamp_us: i64,
}

message!(IndicationHeader, owning, per only);

/// The indication message.
#[derive(Clone, Debug, Default, PartialEq, Per)]
#[per(extensible)]
pub struct IndicationMessage<'a> {
    /// The time over which waits were counted, in microseconds. It is smaller than in the report before if counting has started
    /// again.
    pub measured_us: u64,
    /// The host.
    pub host: Host<'a>,
    /// The base-band unit.
    pub unit: Unit<'a>,
    /// Its threads, by number; none while it is not running.
    #[per(size = 0..=4096)]
    pub threads: List<'a, Thread<'a>>,
}

message!(IndicationMessage, borrowing, per only);

/// The host.
#[derive(Clone, Debug, Default, PartialEq, Per)]
#[per(extensible)]
pub struct Host<'a> {
    /// The CPUs that are online, in ascending order.
    #[per(size = 0..=1024)]
    pub cpus: List<'a, HostCpu>,
    /// How often a CPU of the host itself was without a timer interrupt for some milliseconds: a hypervisor did not run it. Waits
    /// meanwhile are not counted.
    pub stalls: u64,
    /// All stalls, in microseconds.
    pub stalled_us: u64,
}

/// A CPU of the host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct HostCpu {
    /// Its number.
    pub number: CpuNumber,
    /// The time for which it ran anything, in microseconds.
    pub busy_us: u64,
    /// The time for which it ran nothing, in microseconds.
    pub idle_us: u64,
}

impl HostCpu {
    /// The share of time for which it was busy, in percent; 0 if no time has passed.
    #[must_use]
    pub fn utilisation_percent(&self) -> f64 {
        let total = self.busy_us.saturating_add(self.idle_us);
        if total == 0 { 0.0 } else { 100.0 * self.busy_us as f64 / total as f64 }
    }
}

/// The number of a CPU, as the kernel counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
#[per(range = 0..=1023)]
pub struct CpuNumber(pub u16);

/// The base-band unit.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct Unit<'a> {
    /// Its name.
    #[per(size = 0..=64)]
    pub name: PrintableString<'a>,
    /// The CPUs that are meant for it, in ascending order.
    #[per(size = 0..=1024)]
    pub cpus: List<'a, CpuNumber>,
    /// The policy that is in force.
    pub policy: Policy,
    /// How many changes of the host are in force for it.
    pub changes: u32,
    /// The latest of these changes that do not concern a single thread, each as the command that it equals.
    #[per(size = 0..=64)]
    pub steps: List<'a, Step<'a>>,
    /// Downlink HARQ feedback that was negative or absent, if the unit counts it.
    pub dl_nacks: Option<u64>,
}

impl Default for Unit<'_> {
    fn default() -> Self {
        Unit {
            name: PrintableString::literal(""),
            cpus: List::default(),
            policy: Policy::None,
            changes: 0,
            steps: List::default(),
            dl_nacks: None,
        }
    }
}

/// A change of the host, as the command that it equals.
#[derive(Clone, Debug, PartialEq, Eq, Per)]
#[per(size = 0..=150)]
pub struct Step<'a>(pub PrintableString<'a>);

/// A thread of the unit.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct Thread<'a> {
    /// Its name.
    #[per(size = 0..=15)]
    pub name: PrintableString<'a>,
    /// Its number.
    pub tid: u32,
    /// Its waits from a wake-up until it ran.
    pub waits: Waits,
    /// How often its CPU was taken from it.
    pub preempted: u64,
    /// The subframes (or other periods) that it has processed, if known.
    pub subframes: Option<u64>,
    /// How many of them it has processed too late, if known.
    pub deadline_misses: Option<u64>,
}

/// The number of waits by their length, in whole microseconds: the classes of tables 2 to 5 of the paper.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct Waits {
    /// 0 and 1 us.
    pub us_0_1: u64,
    /// 2 and 3 us.
    pub us_2_3: u64,
    /// 4 to 7 us.
    pub us_4_7: u64,
    /// 8 to 15 us.
    pub us_8_15: u64,
    /// 16 us and more.
    pub us_16: u64,
}

impl Waits {
    /// The number of waits.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.counts().into_iter().fold(0, u64::saturating_add)
    }

    /// The classes in ascending order.
    #[must_use]
    pub fn counts(&self) -> [u64; 5] {
        [self.us_0_1, self.us_2_3, self.us_4_7, self.us_8_15, self.us_16]
    }

    /// Waits by class, in ascending order.
    #[must_use]
    pub fn from_counts([us_0_1, us_2_3, us_4_7, us_8_15, us_16]: [u64; 5]) -> Self {
        Waits { us_0_1, us_2_3, us_4_7, us_8_15, us_16 }
    }

    /// These waits and others.
    #[must_use]
    pub fn with(&self, others: &Waits) -> Waits {
        let (a, b) = (self.counts(), others.counts());
        Waits::from_counts(std::array::from_fn(|class| a[class].saturating_add(b[class])))
    }

    fn since(&self, earlier: &Waits) -> Waits {
        let (now, before) = (self.counts(), earlier.counts());
        Waits::from_counts(std::array::from_fn(|class| now[class].saturating_sub(before[class])))
    }
}

impl<'a> IndicationMessage<'a> {
    /// The same report with the counts since an earlier one of the same node. What is counted anew since has all of its counts:
    /// a thread that is new, or everything if counting has started again.
    #[must_use]
    pub fn since(&self, earlier: &IndicationMessage<'_>) -> IndicationMessage<'a> {
        if self.measured_us < earlier.measured_us {
            return self.clone();
        }
        let cpus = self.host.cpus.iter().map(|cpu| {
            let before = earlier.host.cpus.iter().find(|before| before.number == cpu.number);
            let since = |now: u64, before: u64| now.saturating_sub(before);
            before.map_or(*cpu, |before| HostCpu {
                number: cpu.number,
                busy_us: since(cpu.busy_us, before.busy_us),
                idle_us: since(cpu.idle_us, before.idle_us),
            })
        });
        let threads = self.threads.iter().map(|thread| {
            let is_it = |before: &&Thread<'_>| before.tid == thread.tid && before.waits.total() <= thread.waits.total();
            let Some(before) = earlier.threads.iter().find(is_it) else { return thread.clone() };
            Thread {
                name: thread.name.clone(),
                tid: thread.tid,
                waits: thread.waits.since(&before.waits),
                preempted: thread.preempted.saturating_sub(before.preempted),
                subframes: since(thread.subframes, before.subframes),
                deadline_misses: since(thread.deadline_misses, before.deadline_misses),
            }
        });
        IndicationMessage {
            measured_us: self.measured_us - earlier.measured_us,
            host: Host {
                cpus: cpus.collect(),
                stalls: self.host.stalls.saturating_sub(earlier.host.stalls),
                stalled_us: self.host.stalled_us.saturating_sub(earlier.host.stalled_us),
            },
            unit: Unit { dl_nacks: since(self.unit.dl_nacks, earlier.unit.dl_nacks), ..self.unit.clone() },
            threads: threads.collect(),
        }
    }
}

/// The difference of optional counts; the new one if there was none.
fn since(now: Option<u64>, before: Option<u64>) -> Option<u64> {
    now.map(|now| now.saturating_sub(before.unwrap_or(0)))
}

/// A policy for the CPUs of a base-band unit: those of the paper's sections 3.4 and 3.5, and a dynamic controller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum Policy {
    /// Nothing is changed.
    #[default]
    None,
    /// Wide affinity: all threads of the unit share its CPUs.
    Wa,
    /// Thread affinity: each urgent group of threads has CPUs of its own.
    Ta,
    /// Interrupt affinity: interrupts of network devices run on one CPU.
    Ia,
    /// Interrupt affinity and wide affinity.
    IaWa,
    /// Interrupt affinity and thread affinity.
    IaTa,
    /// Interrupt affinity and wide affinity; other tasks lose the unit's CPUs.
    Shield,
    /// Interrupt affinity and thread affinity on CPUs that were isolated at boot.
    Isolcpus,
    /// A controller of the node moves what it has measured to hurt.
    Dynamic,
}

impl Policy {
    /// All policies by their names.
    pub const ALL: [(&'static str, Policy); 9] = [
        ("none", Policy::None),
        ("wa", Policy::Wa),
        ("ta", Policy::Ta),
        ("ia", Policy::Ia),
        ("ia-wa", Policy::IaWa),
        ("ia-ta", Policy::IaTa),
        ("shield", Policy::Shield),
        ("isolcpus", Policy::Isolcpus),
        ("dynamic", Policy::Dynamic),
    ];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        Policy::ALL.iter().find(|(_, policy)| *policy == self).map_or("", |(name, _)| name)
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A text that names no [`Policy`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownPolicy;

impl fmt::Display for UnknownPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no policy; policies are {}", Policy::ALL.map(|(name, _)| name).join(", "))
    }
}

impl std::error::Error for UnknownPolicy {}

impl FromStr for Policy {
    type Err = UnknownPolicy;

    fn from_str(text: &str) -> Result<Policy, UnknownPolicy> {
        Policy::ALL.iter().find(|(name, _)| *name == text).map(|(_, policy)| *policy).ok_or(UnknownPolicy)
    }
}

/// The control message.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub enum ControlMessage<'a> {
    /// Set something; what is absent stays.
    Apply(Setting<'a>),
    /// Withdraw what controls have set: the node has the policy and CPUs again that its operator configured.
    Withdraw,
}

message!(ControlMessage, borrowing, per only);

/// `policy shield, CPUs 2,3, for 60 s`; `withdrawal`.
impl fmt::Display for ControlMessage<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ControlMessage::Apply(Setting { policy, cpus, valid_s }) = self else { return f.write_str("withdrawal") };
        let mut separator = "";
        if let Some(policy) = policy {
            write!(f, "policy {policy}")?;
            separator = ", ";
        }
        match cpus {
            Some(CpuChoice::Count(count)) => write!(f, "{separator}{count} CPUs")?,
            Some(CpuChoice::List(list)) => {
                let list: Vec<String> = list.iter().map(|cpu| cpu.0.to_string()).collect();
                write!(f, "{separator}CPUs {}", list.join(","))?;
            }
            None => {}
        }
        valid_s.map_or(Ok(()), |seconds| write!(f, ", for {seconds} s"))
    }
}

/// What a control sets: at least the policy or the CPUs.
#[derive(Clone, Debug, Default, PartialEq, Per)]
#[per(extensible)]
pub struct Setting<'a> {
    /// The policy.
    pub policy: Option<Policy>,
    /// The CPUs of the unit.
    pub cpus: Option<CpuChoice<'a>>,
    /// The node withdraws what controls have set after so many seconds without another control. Absent: never.
    #[per(range = 1..=86_400)]
    pub valid_s: Option<u32>,
}

/// CPUs of the unit.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub enum CpuChoice<'a> {
    /// So many; the node chooses them.
    #[per(range = 1..=1024)]
    Count(u16),
    /// These.
    #[per(size = 1..=1024)]
    List(List<'a, CpuNumber>),
}

/// The control outcome.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct ControlOutcome<'a> {
    /// The reason of a refusal.
    pub refusal: Option<Refusal>,
    /// The reason as a text.
    #[per(size = 0..=255)]
    pub diagnostic: PrintableString<'a>,
    /// The policy that is in force.
    pub policy: Policy,
    /// The CPUs that are meant for the unit.
    #[per(size = 0..=1024)]
    pub cpus: List<'a, CpuNumber>,
}

message!(ControlOutcome, borrowing, per only);

/// Why a control is refused. Nothing is changed then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum Refusal {
    /// It sets neither the policy nor the CPUs.
    NothingToSet,
    /// The unit or everything else would have no CPU.
    NoCpuLeft,
    /// The host has no such CPU, or it is offline.
    UnknownCpu,
    /// The unit is not running.
    NotRunning,
    /// The node has no such policy, or the host does not support it.
    Unsupported,
    /// The node does not have the right.
    NotPermitted,
    /// Another process, or another controller, manages the CPUs of the host.
    Busy,
    /// It failed for another reason; what was changed is restored.
    Failed,
}

/// The text with what is not printable ASCII replaced, and cut to `max` characters: names of threads and messages of the system may
/// have any characters.
#[must_use]
pub fn printable(text: &str, max: usize) -> PrintableString<'static> {
    let replaced = |character: char| if character == ' ' || character.is_ascii_graphic() { character } else { '?' };
    let text: String = text.chars().map(replaced).take(max).collect();
    PrintableString::try_from(text).unwrap_or(PrintableString::literal(""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread(tid: u32, counts: [u64; 5], misses: Option<u64>) -> Thread<'static> {
        Thread {
            name: PrintableString::literal("ru_thread"),
            tid,
            waits: Waits::from_counts(counts),
            preempted: counts[4],
            subframes: Some(counts[0]),
            deadline_misses: misses,
        }
    }

    #[test]
    fn counts_of_a_period_are_differences() {
        let earlier = IndicationMessage {
            measured_us: 1000,
            threads: vec![thread(1, [5, 4, 3, 2, 1], Some(2)), thread(2, [9, 9, 9, 9, 9], None)].into(),
            ..IndicationMessage::default()
        };
        let now = IndicationMessage {
            measured_us: 1500,
            host: Host {
                cpus: vec![HostCpu { number: CpuNumber(3), busy_us: 30, idle_us: 10 }].into(),
                ..Host::default()
            },
            // the number of thread 2 was used again
            threads: vec![thread(1, [8, 4, 3, 2, 3], Some(3)), thread(2, [1, 0, 0, 0, 0], Some(0))].into(),
            ..IndicationMessage::default()
        };
        let period = now.since(&earlier);
        assert_eq!(period.measured_us, 500);
        assert_eq!(period.threads[0], thread(1, [3, 0, 0, 0, 2], Some(1)));
        assert_eq!(period.threads[1], thread(2, [1, 0, 0, 0, 0], Some(0)));
        assert!((period.host.cpus[0].utilisation_percent() - 75.0).abs() < 1e-9);
        // counting has started again
        assert_eq!(earlier.since(&now), earlier);
    }

    #[test]
    fn names_of_policies_are_read() {
        for (name, policy) in Policy::ALL {
            assert_eq!((name.parse(), policy.to_string().as_str()), (Ok(policy), name));
        }
        assert!("".parse::<Policy>().is_err() && "WA".parse::<Policy>().unwrap_err().to_string().contains("ia-wa"));
    }

    #[test]
    fn control_is_said_in_a_phrase() {
        let list = CpuChoice::List(vec![CpuNumber(2), CpuNumber(3)].into());
        let setting = Setting { policy: Some(Policy::Shield), cpus: Some(list), valid_s: Some(60) };
        assert_eq!(ControlMessage::Apply(setting).to_string(), "policy shield, CPUs 2,3, for 60 s");
        let setting = Setting { cpus: Some(CpuChoice::Count(2)), ..Setting::default() };
        assert_eq!(ControlMessage::Apply(setting).to_string(), "2 CPUs");
        assert_eq!(ControlMessage::Withdraw.to_string(), "withdrawal");
    }

    #[test]
    fn text_of_the_system_is_made_printable() {
        assert_eq!(&*printable("Tpool0_-1\u{1b}é", 15), "Tpool0_-1??");
        assert_eq!(&*printable("123456", 4), "1234");
    }
}
