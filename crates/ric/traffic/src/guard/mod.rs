//! Keeping the flow that must not wait out of the queue of the others (FlexRIC paper, 6.1.1).
//!
//! A greedy flow fills the bearer's RLC buffer, and every other flow of the bearer waits behind it. When packets wait longer
//! than the low-latency flow may, the guard does three things, one after the other: a second FIFO queue in TC, a filter that
//! sends the flow there, and the 5G-BDP pacer, which keeps in RLC no more than the radio takes, so that the rest waits in TC's
//! first queue.
//!
//! [`FlowGuard`] decides for one node. It owns no socket, no clock and no thread: who drives it hands in records and answers,
//! and takes controls and news out.
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
//! while let Some(news) = guard.poll_event() {
//!     println!("{news}"); // a packet of bearer 1 of UE 0x4601 waits for 45.0 ms, longer than 20.0 ms
//! }
//! // what is to be done is known once the node has told what is set: guard.handle_tc(…), then
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
pub use plan::{Shadowed, Step};

/// Controls that may go without a sign of what became of them, before the guard gives up.
const MAX_UNANSWERED: u32 = 3;
/// Where nobody knows what became of a control, what the node tells is not looked at for so long: it may be older.
const SETTLE: Duration = Duration::from_secs(1);
/// GuardEvent that nobody takes: then no more are kept.
const MAX_EVENTS: usize = 64;

/// What a guard is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GuardConfig {
    /// The flow that must not wait.
    pub flow: FiveTuple,
    /// How long its packets may wait.
    pub limit: Duration,
    /// The UE that the flow is of, by its C-RNTI. None: the bearer of the node on which packets wait longest counts.
    pub rnti: Option<u32>,
    /// A control must show in what the node tells within this time of its acknowledgement. Default: 5 s.
    pub patience: Duration,
    /// Where the flow's queue has sent nothing on for so long, the filter is told to fit nothing. Default: 5 s.
    pub silence: Duration,
}

impl GuardConfig {
    /// A flow, and how long its packets may wait.
    #[must_use]
    pub fn new(flow: FiveTuple, limit: Duration) -> Self {
        let seconds = Duration::from_secs(5);
        GuardConfig { flow, limit, rnti: None, patience: seconds, silence: seconds }
    }
}

/// What became of a control.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The node has done it.
    Done,
    /// The node refuses, with its reason.
    Refused(String),
    /// Nobody knows.
    Unknown,
}

/// What the guard works for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Goal {
    /// To act when packets wait too long.
    Watch,
    /// To have all of it done.
    Protect,
    /// It is done: to see that it stays.
    Keep,
    /// To take all of it away, or what the guard itself has done.
    Undo { own_only: bool },
    /// Nothing more: it gave up, or all is undone.
    Rest,
}

/// A control that is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pending {
    step: Step,
    /// Whether it was acknowledged: then it must show by that time.
    shown_by: Option<Time>,
}

/// Decides for one node; see the [module](self).
#[derive(Debug)]
pub struct FlowGuard {
    config: GuardConfig,
    goal: Goal,
    /// Whether the node has told what is set.
    was_read: bool,
    pending: Option<Pending>,
    unanswered: u32,
    /// No control before then.
    hold_until: Option<Time>,
    /// The queue that the flow has.
    queue: Option<u32>,
    /// What this guard has done itself.
    did: Did,
    /// What RLC holds of the bearer, and when.
    bdp: Bdp,
    /// How long packets wait in the flow's queue of TC.
    tc_us: u32,
    measured: WaitTimes,
    silent: Option<Silent>,
    told_silence: bool,
    controls: VecDeque<ControlMessage<'static>>,
    news: VecDeque<GuardEvent>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Did {
    queue: bool,
    filter: bool,
    pacer: bool,
}

/// Since when the flow's queue has sent nothing on.
#[derive(Clone, Copy, Debug)]
struct Silent {
    forwarded_packets: u32,
    since: Time,
}

impl FlowGuard {
    /// A guard that watches.
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
            did: Did::default(),
            bdp: Bdp::default(),
            tc_us: 0,
            measured: WaitTimes::default(),
            silent: None,
            told_silence: false,
            controls: VecDeque::new(),
            news: VecDeque::new(),
        }
    }

    /// Takes away what keeps the flow from waiting, whoever did it; with `own_only`, what this guard has done itself. It is
    /// under way until [`FlowGuard::is_at_rest`].
    pub fn undo(&mut self, own_only: bool) {
        self.goal = Goal::Undo { own_only };
        self.unanswered = 0;
    }

    /// Whether it is done with all that it was to do: it gave up, or everything is undone.
    #[must_use]
    pub fn is_at_rest(&self) -> bool {
        self.goal == Goal::Rest
    }

    /// Whether the flow has its queue, its filter and the pacer.
    #[must_use]
    pub fn is_protected(&self) -> bool {
        self.goal == Goal::Keep
    }

    /// How long packets waited, before and after.
    #[must_use]
    pub fn measured(&self) -> &WaitTimes {
        &self.measured
    }

    /// What the node tells of RLC.
    pub fn handle_rlc(&mut self, record: &RlcRecord) {
        let of_ue = |bearer: &&BearerRecord| self.config.rnti.is_none_or(|rnti| rnti == bearer.rnti);
        let Some(worst) = record.bearers.iter().filter(of_ue).max_by_key(|bearer| bearer.sojourn_us()) else { return };
        self.bdp = Bdp { drb_octets: worst.tx_buffer_octets, timestamp_us: record.timestamp_us };
        let waits_us = worst.sojourn_us().saturating_add(self.tc_us);
        self.measured.add(waits_us, self.goal == Goal::Keep);
        let limit_us = u32::try_from(self.config.limit.as_micros()).unwrap_or(u32::MAX);
        if self.goal == Goal::Watch && waits_us > limit_us {
            let (rnti, rb_id) = (worst.rnti, worst.rb_id);
            self.tell(GuardEvent::LimitPassed { rnti, rb_id, waits_us, limit_us });
            self.goal = Goal::Protect;
        }
    }

    /// What the node tells of TC: what is set, and what its queues do.
    pub fn handle_tc(&mut self, now: Time, record: &TcRecord) {
        let reading = TcView::new(record, self.config.flow);
        let queue = reading.apart();
        let lane = record.lanes.iter().find(|lane| Some(lane.shaper.id) == queue).or(record.lanes.first());
        self.tc_us = lane.map_or(0, |lane| lane.queue.sojourn_us());
        self.queue = queue.or(self.queue);
        self.look_at_first(&reading);
        if let Some(Pending { shown_by: None, .. }) = self.pending {
            return; // one control at a time
        }
        match self.goal {
            Goal::Watch | Goal::Rest => {}
            Goal::Keep => match reading.missing() {
                Ok(None) => self.look_for_silence(now, lane.map_or(0, |lane| lane.queue.forwarded_packets)),
                _ => {
                    self.tell(GuardEvent::Gone);
                    self.goal = Goal::Watch;
                }
            },
            Goal::Protect => match reading.missing() {
                Ok(Some(step)) => self.take(now, step),
                Ok(None) => {
                    self.pending = None;
                    self.goal = Goal::Keep;
                    self.silent = None;
                    self.told_silence = false;
                    self.tell(GuardEvent::Protected { queue });
                }
                Err(Shadowed { filter }) => self.give_up(GuardEvent::Shadowed { filter }),
            },
            // what was asked for before is to show first
            Goal::Undo { .. } if self.is_to_show(now, &reading) => {}
            Goal::Undo { own_only } => match self.to_undo(&reading, own_only) {
                Some(step) => self.take(now, step),
                None => {
                    self.pending = None;
                    self.goal = Goal::Rest;
                    self.tell(GuardEvent::Undone);
                }
            },
        }
    }

    /// What was there before the guard: another one's work, all of it or a part.
    fn look_at_first(&mut self, reading: &TcView<'_>) {
        let is_first = !std::mem::replace(&mut self.was_read, true);
        if !is_first || !matches!(self.goal, Goal::Watch | Goal::Protect) || reading.own().is_none() {
            return;
        }
        match reading.missing() {
            Ok(None) => {
                self.tell(GuardEvent::FoundDone { queue: reading.apart() });
                self.goal = Goal::Keep;
            }
            Ok(Some(_)) => {
                self.tell(GuardEvent::FoundHalfDone);
                self.goal = Goal::Protect;
            }
            Err(Shadowed { .. }) => {} // told when it matters
        }
    }

    /// Whether a step towards protection was acknowledged and does not show yet.
    fn is_to_show(&self, now: Time, reading: &TcView<'_>) -> bool {
        let Some(Pending { step, shown_by: Some(by) }) = self.pending else { return false };
        now < by && reading.missing() == Ok(Some(step))
    }

    fn to_undo(&self, reading: &TcView<'_>, own_only: bool) -> Option<Step> {
        let step = reading.left(self.queue)?;
        let did = match step {
            Step::Unpace => self.did.pacer,
            Step::DeleteFilter { .. } => self.did.filter,
            _ => self.did.queue,
        };
        if did || !own_only {
            return Some(step);
        }
        // the pacer was there before the filter
        match reading.own() {
            Some(own) if step == Step::Unpace && self.did.filter => Some(Step::DeleteFilter { id: own.id }),
            _ => None,
        }
    }

    /// Has a step carried out, unless it was.
    fn take(&mut self, now: Time, step: Step) {
        match self.pending {
            // not shown yet: what the node tells may be older than its answer
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

    /// What became of the last control.
    pub fn handle_answer(&mut self, now: Time, answer: Answer) {
        let Some(pending) = &mut self.pending else { return };
        let step = pending.step;
        match answer {
            Answer::Done => {
                pending.shown_by = Some(now + self.config.patience);
                self.unanswered = 0;
                match step {
                    Step::AddQueue => self.did.queue = true,
                    Step::AddFilter { .. } => self.did.filter = true,
                    Step::Pace => self.did.pacer = true,
                    Step::MoveFilter { .. } | Step::Unpace | Step::DeleteFilter { .. } | Step::DeleteQueue { .. } => {}
                }
                self.tell(GuardEvent::Done { step });
            }
            Answer::Refused(reason) => self.give_up(GuardEvent::Refused { step, reason }),
            Answer::Unknown => {
                // what the node tells next shows whether it was done
                self.pending = None;
                self.hold_until = Some(now + SETTLE);
                self.unanswered += 1;
                self.tell(GuardEvent::Unanswered { step });
                if self.unanswered >= MAX_UNANSWERED {
                    self.give_up(GuardEvent::GaveUp);
                }
            }
        }
    }

    fn give_up(&mut self, news: GuardEvent) {
        self.tell(news);
        self.pending = None;
        self.controls.clear();
        self.goal = Goal::Rest;
    }

    /// A filter that no packet fits is right for the node, and for nobody else.
    fn look_for_silence(&mut self, now: Time, forwarded_packets: u32) {
        match self.silent {
            Some(silent) if silent.forwarded_packets == forwarded_packets => {
                if now >= silent.since + self.config.silence && !std::mem::replace(&mut self.told_silence, true) {
                    let queue = self.queue.unwrap_or_default();
                    self.tell(GuardEvent::Silent { queue, time: self.config.silence });
                }
            }
            _ => self.silent = Some(Silent { forwarded_packets, since: now }),
        }
    }

    fn tell(&mut self, news: GuardEvent) {
        if self.news.len() < MAX_EVENTS {
            self.news.push_back(news);
        }
    }

    /// The next control for the node. Its answer is to be handed in by [`FlowGuard::handle_answer`].
    pub fn poll_control(&mut self) -> Option<ControlMessage<'static>> {
        self.controls.pop_front()
    }

    /// What happened, for people.
    pub fn poll_event(&mut self) -> Option<GuardEvent> {
        self.news.pop_front()
    }
}
