//! An instance as the supervisor has it: its definition, its process, what was measured, and what was decided.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::Serialize;

use super::accounts::Accounts;
use super::control_group::ControlGroup;
use super::definition::Definition;
use super::process::{Answer, Process};
use crate::dimensioning::{Decision, Measurement, Reason};
use crate::model::TimeStamp;

/// Decisions that are kept of an instance.
const MAX_DECISIONS: usize = 256;
/// The first and the longest pause before a process is started again.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// A process that has run for so long has recovered.
const RECOVERED: Duration = Duration::from_secs(30);
/// A process that uses so many processors more than its share, and twice as many, for so long does not keep its quota.
const EXCESS: f64 = 0.5;
const MAX_EXCESS_TIME: Duration = Duration::from_secs(10);

/// What an instance does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Phase {
    /// Its process was started and does not serve yet.
    Starting,
    /// It serves.
    Running,
    /// Its process ends, and another one follows.
    Ending,
    /// Its process has ended, and is started again after a pause.
    Waiting,
}

/// What keeps an instance to its share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Enforcement {
    /// The threads of its process pause by themselves.
    OwnThreads,
    /// The kernel, by a control group.
    ControlGroup,
}

/// What was measured in an interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Measured {
    /// The length of the interval, in milliseconds.
    pub interval_ms: f64,
    /// Events per second that met a subscription.
    pub events_per_s: f64,
    /// Notifications of these events, per second.
    pub notifications_per_s: f64,
    /// Deliveries per second, failed ones included.
    pub deliveries_per_s: f64,
    /// Notifications that wait.
    pub waiting: u64,
    /// The 99th percentile of the time from the queue to the answer, in milliseconds; absent if nothing was delivered.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64")]
    pub p99_ms: Option<f64>,
    /// The processors that it used.
    pub cpu_cores: f64,
    /// The time that its threads waited for a processor, all together, divided by the time.
    pub run_queue_cores: f64,
    /// The time that its quota stopped its threads, all together, divided by the time.
    pub throttled_cores: f64,
}

impl From<Measurement> for Measured {
    fn from(it: Measurement) -> Self {
        let seconds = it.interval.as_secs_f64().max(1e-9);
        let per_s = |count: u64| count as f64 / seconds;
        Measured {
            interval_ms: seconds * 1e3,
            events_per_s: per_s(it.events),
            notifications_per_s: per_s(it.arrived),
            deliveries_per_s: per_s(it.delivered),
            waiting: it.waiting,
            p99_ms: it.p99.map(|p99| p99.as_secs_f64() * 1e3),
            cpu_cores: it.cpu.as_secs_f64() / seconds,
            run_queue_cores: it.run_queue.as_secs_f64() / seconds,
            throttled_cores: it.throttled.as_secs_f64() / seconds,
        }
    }
}

/// A decision about the share of an instance.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DecisionRecord {
    /// When it was made.
    pub time: TimeStamp,
    /// Why.
    pub reason: Reason,
    /// The share before, in processors.
    pub old_share: f64,
    /// The share since then.
    pub new_share: f64,
    /// What the instance needs, in processors.
    pub needed: f64,
    /// The processor time of a delivery as estimated, in microseconds; zero while there is no estimate.
    pub cost_us: f64,
    /// What it was decided from; absent if another instance, or a definition, was the cause.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Measured")]
    pub measured: Option<Measured>,
}

/// The state of an instance.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct State {
    /// The name.
    pub name: String,
    /// What it does.
    pub phase: Phase,
    /// Where it serves.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub url: Option<String>,
    /// The id of its process.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32")]
    pub process_id: Option<u32>,
    /// How often its process was started again after it had ended by itself.
    pub restarts: u32,
    /// How it has ended the last time.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub last_end: Option<String>,
    /// The processors that it may use.
    pub share: f64,
    /// What keeps it to that.
    pub enforcement: Enforcement,
    /// Resident memory, in octets.
    pub memory_octets: u64,
    /// The last measurement.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Measured")]
    pub measured: Option<Measured>,
}

/// An instance.
#[derive(Debug)]
pub struct Instance {
    pub name: Arc<str>,
    pub definition: Definition,
    pub process: Option<Process>,
    pub group: Option<ControlGroup>,
    /// When a process is started, if there is none.
    pub next_start: Instant,
    pub decisions: VecDeque<DecisionRecord>,
    pause: Duration,
    restarts: u32,
    last_end: Option<String>,
    measured: Option<Measured>,
    /// The totals of the last measurement.
    last: Option<Totals>,
    /// Since when it uses more than its share.
    excess_since: Option<Instant>,
    /// Why the supervisor has killed the process.
    fault: Option<String>,
}

/// Counters since the start of a process.
#[derive(Clone, Copy, Debug)]
struct Totals {
    at: Instant,
    answer: Answer,
    accounts: Accounts,
    throttled: Duration,
}

impl Instance {
    pub fn new(definition: Definition) -> Self {
        Instance {
            name: definition.name.as_str().into(),
            definition,
            process: None,
            group: None,
            next_start: Instant::now(),
            decisions: VecDeque::new(),
            pause: FIRST_PAUSE,
            restarts: 0,
            last_end: None,
            measured: None,
            last: None,
            excess_since: None,
            fault: None,
        }
    }

    fn phase(&self) -> Phase {
        match &self.process {
            None => Phase::Waiting,
            Some(process) if process.is_ending() => Phase::Ending,
            Some(process) if process.url.is_some() => Phase::Running,
            Some(_) => Phase::Starting,
        }
    }

    /// The state, with the share that it has.
    pub fn state(&self, share: f64) -> State {
        let enforcement = if self.group.is_some() { Enforcement::ControlGroup } else { Enforcement::OwnThreads };
        State {
            name: self.name.to_string(),
            phase: self.phase(),
            url: self.process.as_ref().and_then(|process| process.url.clone()),
            process_id: self.process.as_ref().map(Process::id),
            restarts: self.restarts,
            last_end: self.last_end.clone(),
            share,
            enforcement,
            memory_octets: self.last.map_or(0, |last| last.accounts.memory),
            measured: self.measured,
        }
    }

    /// Lets the process keep a share.
    pub fn enforce(&mut self, share: f64) {
        let Some(process) = self.process.as_mut().filter(|process| process.url.is_some()) else { return };
        match &self.group {
            Some(group) => {
                if let Err(error) = group.set(share) {
                    tracing::warn!(instance = %self.name, "cannot limit the processors of an instance: {error}");
                }
            }
            None => process.write(&format!("share {share:.6}")),
        }
    }

    /// Takes an answer of the process. Returns what was measured since the answer before.
    pub fn measure(&mut self, answer: Answer) -> Option<Measurement> {
        let recent = answer.recent?;
        let process = self.process.as_ref()?;
        // it may have ended
        let accounts = Accounts::of(process.id()).ok()?;
        let throttled = self.group.as_ref().map_or(Duration::from_micros(recent.paused_us), ControlGroup::throttled);
        let now = Totals { at: Instant::now(), answer, accounts, throttled };
        let before = self.last.replace(now)?;
        let before_recent = before.answer.recent.unwrap_or_default();
        let attempts = |answer: Answer| answer.delivered + answer.failures;
        let measurement = Measurement {
            interval: now.at.saturating_duration_since(before.at),
            events: recent.events.saturating_sub(before_recent.events),
            arrived: recent.notifications.saturating_sub(before_recent.notifications),
            delivered: attempts(answer).saturating_sub(attempts(before.answer)),
            waiting: answer.waiting,
            p99: (recent.delivered > 0).then(|| Duration::from_micros(recent.p99_us)),
            // threads that have ended are not in the sum any more
            cpu: accounts.cpu.saturating_sub(before.accounts.cpu),
            run_queue: accounts.run_queue.saturating_sub(before.accounts.run_queue),
            throttled: throttled.saturating_sub(before.throttled),
        };
        self.measured = Some(measurement.into());
        Some(measurement)
    }

    /// Ends a process that harms others or does not answer. Returns the reason, if there is one.
    pub fn kill_if_faulty(&mut self, share: f64, patience: Duration) -> Option<&str> {
        let fault = self.fault(share, patience).filter(|_| self.fault.is_none())?;
        if let Some(process) = &mut self.process {
            process.kill();
        }
        Some(self.fault.insert(fault))
    }

    /// Why the process must be ended, if it must.
    fn fault(&mut self, share: f64, patience: Duration) -> Option<String> {
        let process = self.process.as_ref().filter(|process| !process.is_ending())?;
        if let Some(since) = process.silent_since()
            && since.elapsed() > patience
        {
            return Some(format!("has not answered for {} s", since.elapsed().as_secs()));
        }
        let most = u64::from(self.definition.max_memory_mib) << 20;
        let memory = self.last.map_or(0, |last| last.accounts.memory);
        if memory > most {
            return Some(format!("has {} MiB of memory, and may have {}", memory >> 20, most >> 20));
        }
        let used = self.measured.map_or(0.0, |measured| measured.cpu_cores);
        if used <= share + EXCESS.max(share) {
            self.excess_since = None;
            return None;
        }
        let since = *self.excess_since.get_or_insert_with(Instant::now);
        let is_long = since.elapsed() > MAX_EXCESS_TIME;
        is_long.then(|| format!("uses {used:.2} processors, and may use {share:.2}"))
    }

    /// The process has ended.
    pub fn note_end(&mut self, how: String) {
        let Some(process) = self.process.take() else { return };
        (self.group, self.last, self.measured, self.excess_since) = (None, None, None, None);
        if process.is_ending() {
            self.fault = None;
            (self.next_start, self.pause) = (Instant::now(), FIRST_PAUSE);
            return;
        }
        if process.started.elapsed() > RECOVERED {
            self.pause = FIRST_PAUSE;
        }
        let how = self.fault.take().map_or(how, |fault| format!("it was killed: it {fault}"));
        let log = process.last_log();
        self.last_end = Some(if log.is_empty() { how } else { format!("{how}; its last log line: {log}") });
        self.restarts += 1;
        self.next_start = Instant::now() + self.pause;
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
    }

    /// Keeps a decision.
    pub fn note_decision(&mut self, decision: &Decision) {
        if self.decisions.len() == MAX_DECISIONS {
            self.decisions.pop_front();
        }
        self.decisions.push_back(DecisionRecord {
            time: TimeStamp::now(),
            reason: decision.reason,
            old_share: decision.old_share,
            new_share: decision.new_share,
            needed: decision.needed,
            cost_us: decision.cost.as_secs_f64() * 1e6,
            measured: decision.measured.map(Measured::from),
        });
    }
}
