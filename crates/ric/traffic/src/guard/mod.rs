//! Separates a low-latency flow from the queue of the others (FlexRIC paper, 6.1.1).
//!
//! A greedy flow fills the bearer's RLC buffer, and every other flow of the bearer waits behind it. When packets wait longer
//! than the limit of the low-latency flow, the guard takes three steps, one after the other: a second FIFO queue in TC, a filter that
//! sends the flow there, and the 5G-BDP pacer, which limits RLC to what the radio can send, so that the rest waits in the
//! first queue of TC.
//!
//! [`FlowGuard`] decides for one node. It has no socket, clock or thread: the caller passes records and answers in, and
//! takes controls and events out.
//!
//! ```
//! use std::time::Duration;
//!
//! use e2sm::tc::FiveTuple;
//! use traffic::record::{BearerRecord, RlcRecord};
//! use traffic::{FlowGuard, GuardConfig};
//!
//! let flow = FiveTuple { destination_port: Some(5060), protocol: Some(17), ..FiveTuple::default() };
//! let mut guard = FlowGuard::new(GuardConfig::new(flow, Duration::from_millis(20)));
//! let bearer = BearerRecord { rnti: 0x4601, rb_id: 1, tx_sdu_wait_us: 45_000, ..BearerRecord::default() };
//! guard.handle_rlc(&RlcRecord { timestamp_us: 0, bearers: vec![bearer] });
//! while let Some(event) = guard.poll_event() {
//!     println!("{event}"); // a packet of bearer 1 of UE 0x4601 waits for 45.0 ms, longer than 20.0 ms
//! }
//! // the first step depends on the configuration of TC, which guard.handle_tc(…) provides
//! assert!(guard.poll_control().is_none());
//! ```

mod event;
mod measured;
mod plan;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::time::Duration;

use e2sm::tc::{Bdp, ControlMessage, FiveTuple};
use ferric::e2::Time;

use super::record::{BearerRecord, RlcRecord, TcRecord};
use plan::TcView;

pub use event::GuardEvent;
pub use measured::{WaitStatistics, WaitTimes};
pub use plan::{CoveredByOtherFilter, Step};

/// The number of consecutive controls with an unknown outcome after which the guard gives up.
const MAX_UNANSWERED: u32 = 3;
/// The time without controls after one with an unknown outcome: earlier reports may be older than the control.
const SETTLE: Duration = Duration::from_secs(1);
/// The most events in the queue; further ones are dropped.
const MAX_EVENTS: usize = 64;

/// The configuration of a guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GuardConfig {
    /// The low-latency flow.
    pub flow: FiveTuple,
    /// The longest acceptable waiting time of its packets.
    pub limit: Duration,
    /// The C-RNTI of the flow's UE. `None`: the bearer of the node on which packets wait longest decides.
    pub rnti: Option<u32>,
    /// The time within which the node's reports must show an acknowledged control. Default: 5 s.
    pub report_timeout: Duration,
    /// The time without packets in the flow's queue after which the filter is reported to match nothing. Default: 5 s.
    pub no_match_timeout: Duration,
}

impl GuardConfig {
    /// Returns the configuration for a flow and the longest waiting time of its packets.
    #[must_use]
    pub fn new(flow: FiveTuple, limit: Duration) -> Self {
        let seconds = Duration::from_secs(5);
        GuardConfig { flow, limit, rnti: None, report_timeout: seconds, no_match_timeout: seconds }
    }
}

/// The outcome of a control.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The node has executed it.
    Done,
    /// The node refuses, with its reason.
    Refused(String),
    /// The outcome is unknown.
    Unknown,
}

/// The goal of a guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Goal {
    /// Acts when packets wait too long.
    Watch,
    /// Takes the steps that are missing.
    Protect,
    /// All steps are done: checks that they remain in effect.
    Monitor,
    /// Undoes all steps, or only those of this guard.
    Undo { own_only: bool },
    /// The guard gave up, or everything is undone.
    Finished,
}

/// A control whose effect is not reported yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pending {
    step: Step,
    /// If it was acknowledged: the time by which a report must show it.
    shown_by: Option<Time>,
}

/// Protects a flow in one node; see the [module](self).
#[derive(Debug)]
pub struct FlowGuard {
    config: GuardConfig,
    goal: Goal,
    /// Whether the node has reported its configuration.
    was_read: bool,
    pending: Option<Pending>,
    unanswered: u32,
    /// No control is sent before this time.
    hold_until: Option<Time>,
    /// The flow's queue.
    queue: Option<u32>,
    /// The steps that this guard has taken.
    own_steps: OwnSteps,
    /// The octets in the bearer's RLC buffer, with their time.
    bdp: Bdp,
    /// The waiting time in the flow's queue of TC.
    tc_us: u32,
    measured: WaitTimes,
    silent: Option<Silent>,
    has_reported_silence: bool,
    controls: VecDeque<ControlMessage<'static>>,
    events: VecDeque<GuardEvent>,
}

#[derive(Clone, Copy, Debug, Default)]
struct OwnSteps {
    queue: bool,
    filter: bool,
    pacer: bool,
}

/// The time since which the flow's queue has forwarded no packets.
#[derive(Clone, Copy, Debug)]
struct Silent {
    forwarded_packets: u32,
    since: Time,
}

impl FlowGuard {
    /// Returns a guard that watches a node.
    #[must_use]
    pub fn new(config: GuardConfig) -> Self {
        FlowGuard {
            config,
            goal: Goal::Watch,
            was_read: false,
            pending: None,
            unanswered: 0,
            hold_until: None,
            queue: None,
            own_steps: OwnSteps::default(),
            bdp: Bdp::default(),
            tc_us: 0,
            measured: WaitTimes::default(),
            silent: None,
            has_reported_silence: false,
            controls: VecDeque::new(),
            events: VecDeque::new(),
        }
    }

    /// Sets the C-RNTI of the flow's UE, which has changed.
    pub fn set_rnti(&mut self, rnti: u32) {
        self.config.rnti = Some(rnti);
    }

    /// Undoes the protection of the flow, or, with `own_only`, only the steps of this guard. The guard is done when
    /// [`FlowGuard::is_finished`].
    pub fn undo(&mut self, own_only: bool) {
        self.goal = Goal::Undo { own_only };
        self.unanswered = 0;
    }

    /// Whether the guard sends no more controls: it gave up, or everything is undone.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.goal == Goal::Finished
    }

    /// Whether the flow has its queue, its filter and the pacer.
    #[must_use]
    pub fn is_protected(&self) -> bool {
        self.goal == Goal::Monitor
    }

    /// Returns the waiting times of packets before and after the protection.
    #[must_use]
    pub fn measured(&self) -> &WaitTimes {
        &self.measured
    }

    /// Handles a report of RLC.
    pub fn handle_rlc(&mut self, record: &RlcRecord) {
        let of_ue = |bearer: &&BearerRecord| self.config.rnti.is_none_or(|rnti| rnti == bearer.rnti);
        let Some(worst) = record.bearers.iter().filter(of_ue).max_by_key(|bearer| bearer.sojourn_us()) else { return };
        self.bdp = Bdp { drb_octets: worst.tx_buffer_octets, timestamp_us: record.timestamp_us };
        let waits_us = worst.sojourn_us().saturating_add(self.tc_us);
        self.measured.add(waits_us, self.goal == Goal::Monitor);
        let limit_us = u32::try_from(self.config.limit.as_micros()).unwrap_or(u32::MAX);
        if self.goal == Goal::Watch && waits_us > limit_us {
            let (rnti, rb_id) = (worst.rnti, worst.rb_id);
            self.push_event(GuardEvent::LimitPassed { rnti, rb_id, waits_us, limit_us });
            self.goal = Goal::Protect;
        }
    }

    /// Handles a report of TC.
    pub fn handle_tc(&mut self, now: Time, record: &TcRecord) {
        let view = TcView::new(record, self.config.flow);
        let queue = view.separate_queue();
        let entry = record.queues.iter().find(|entry| Some(entry.shaper.id) == queue).or(record.queues.first());
        self.tc_us = entry.map_or(0, |entry| entry.queue.sojourn_us());
        self.queue = queue.or(self.queue);
        self.detect_existing_steps(&view);
        if let Some(Pending { shown_by: None, .. }) = self.pending {
            return; // one control at a time
        }
        match self.goal {
            Goal::Watch | Goal::Finished => {}
            Goal::Monitor => match view.missing() {
                Ok(None) => self.check_silence(now, entry.map_or(0, |entry| entry.queue.forwarded_packets)),
                _ => {
                    self.push_event(GuardEvent::RemovedByOther);
                    self.goal = Goal::Watch;
                }
            },
            Goal::Protect => match view.missing() {
                Ok(Some(step)) => self.start(now, step),
                Ok(None) => {
                    self.pending = None;
                    self.goal = Goal::Monitor;
                    self.silent = None;
                    self.has_reported_silence = false;
                    self.push_event(GuardEvent::Protected { queue });
                }
                Err(CoveredByOtherFilter { filter }) => self.give_up(GuardEvent::CoveredByOtherFilter { filter }),
            },
            // a report must show the previous step first
            Goal::Undo { .. } if self.is_step_unconfirmed(now, &view) => {}
            Goal::Undo { own_only } => match self.to_undo(&view, own_only) {
                Some(step) => self.start(now, step),
                None => {
                    self.pending = None;
                    self.goal = Goal::Finished;
                    self.push_event(GuardEvent::Undone);
                }
            },
        }
    }

    /// Detects steps of another client, on the first report.
    fn detect_existing_steps(&mut self, view: &TcView<'_>) {
        let is_first = !std::mem::replace(&mut self.was_read, true);
        if !is_first || !matches!(self.goal, Goal::Watch | Goal::Protect) || view.own().is_none() {
            return;
        }
        match view.missing() {
            Ok(None) => {
                self.push_event(GuardEvent::FoundDone { queue: view.separate_queue() });
                self.goal = Goal::Monitor;
            }
            Ok(Some(_)) => {
                self.push_event(GuardEvent::FoundPartlyDone);
                self.goal = Goal::Protect;
            }
            Err(CoveredByOtherFilter { .. }) => {} // reported when the limit is passed
        }
    }

    /// Whether a step towards protection was acknowledged, and reports do not show it yet.
    fn is_step_unconfirmed(&self, now: Time, view: &TcView<'_>) -> bool {
        let Some(Pending { step, shown_by: Some(by) }) = self.pending else { return false };
        now < by && view.missing() == Ok(Some(step))
    }

    fn to_undo(&self, view: &TcView<'_>, own_only: bool) -> Option<Step> {
        let step = view.left(self.queue)?;
        let is_own = match step {
            Step::Unpace => self.own_steps.pacer,
            Step::DeleteFilter { .. } => self.own_steps.filter,
            _ => self.own_steps.queue,
        };
        if is_own || !own_only {
            return Some(step);
        }
        // another client set the pacer before the filter
        match view.own() {
            Some(own) if step == Step::Unpace && self.own_steps.filter => Some(Step::DeleteFilter { id: own.id }),
            _ => None,
        }
    }

    /// Queues the control of a step, unless it is in progress.
    fn start(&mut self, now: Time, step: Step) {
        match self.pending {
            // not shown yet: the report may be older than the answer
            Some(pending) if pending.step == step => {
                if pending.shown_by.is_some_and(|by| now >= by) {
                    self.give_up(GuardEvent::NotShown { step });
                }
            }
            _ if self.hold_until.is_some_and(|until| now < until) => {}
            _ => {
                self.controls.push_back(step.control(self.config.flow, self.bdp));
                self.pending = Some(Pending { step, shown_by: None });
            }
        }
    }

    /// Handles the outcome of the last control.
    pub fn handle_answer(&mut self, now: Time, answer: Answer) {
        let Some(pending) = &mut self.pending else { return };
        let step = pending.step;
        match answer {
            Answer::Done => {
                pending.shown_by = Some(now + self.config.report_timeout);
                self.unanswered = 0;
                match step {
                    Step::AddQueue => self.own_steps.queue = true,
                    Step::AddFilter { .. } => self.own_steps.filter = true,
                    Step::Pace => self.own_steps.pacer = true,
                    Step::MoveFilter { .. } | Step::Unpace | Step::DeleteFilter { .. } | Step::DeleteQueue { .. } => {}
                }
                self.push_event(GuardEvent::Done { step });
            }
            Answer::Refused(reason) => self.give_up(GuardEvent::Refused { step, reason }),
            Answer::Unknown => {
                // a later report shows whether it was executed
                self.pending = None;
                self.hold_until = Some(now + SETTLE);
                self.unanswered += 1;
                self.push_event(GuardEvent::Unanswered { step });
                if self.unanswered >= MAX_UNANSWERED {
                    self.give_up(GuardEvent::TooManyUnanswered);
                }
            }
        }
    }

    fn give_up(&mut self, event: GuardEvent) {
        self.push_event(event);
        self.pending = None;
        self.controls.clear();
        self.goal = Goal::Finished;
    }

    /// Reports a filter that matches no packets: the node accepts it, but it is probably wrong.
    fn check_silence(&mut self, now: Time, forwarded_packets: u32) {
        match self.silent {
            Some(silent) if silent.forwarded_packets == forwarded_packets => {
                if now >= silent.since + self.config.no_match_timeout
                    && !std::mem::replace(&mut self.has_reported_silence, true)
                {
                    let queue = self.queue.unwrap_or_default();
                    self.push_event(GuardEvent::NoMatches { queue, time: self.config.no_match_timeout });
                }
            }
            _ => self.silent = Some(Silent { forwarded_packets, since: now }),
        }
    }

    fn push_event(&mut self, event: GuardEvent) {
        if self.events.len() < MAX_EVENTS {
            self.events.push_back(event);
        }
    }

    /// Returns the next control for the node. The caller passes its outcome to [`FlowGuard::handle_answer`].
    pub fn poll_control(&mut self) -> Option<ControlMessage<'static>> {
        self.controls.pop_front()
    }

    /// Returns the next event.
    pub fn poll_event(&mut self) -> Option<GuardEvent> {
        self.events.pop_front()
    }
}
