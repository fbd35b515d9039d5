//! E2SM-LLC: reports of what the lower layers know, slot by slot, and downlink scheduling by a controller.
//!
//! A base station implements [`LlcSource`] and its part [`SlotScheduler`]. [`LlcFunction`] implements the RAN function.
//!
//! * Periodic reports have RLC and PDCP buffers, HARQ feedback since the last report, and slot time stamps, of the UEs that a
//!   subscription names. Events report channel state and sounding reference signals of a slot when it is over. Conditions are
//!   joined by "or"; a trigger that joins some by "and" is refused.
//! * A controller first takes logical channels, from a slot on, and returns them when it ends. One controller schedules a cell at a
//!   time; others are refused. A controller that gives no sign for [`LlcConfig::idle_release`] loses its channels.
//! * A control decides about slots, each alone. A decision about a slot that is over or too far ahead, that contradicts itself
//!   (overlapping or unknown resource blocks, two grants for a UE, unknown MCS, impossible numbers of octets), or that comes after
//!   another one about the same slot is refused with its cause ([`SlotRefusal`]). Of an accepted decision, grants for absent UEs and
//!   channels that are not delegated are left out. If no slot is accepted, the control fails, with the same outcome.
//! * The base station schedules each slot without a decision itself, so that nothing waits for a controller.
//! * The outcome states what the base station will execute, as it knows when it has processed the control. What changes until the
//!   slot shows in its reports: retransmissions that take the place of a grant in HARQ statistics, octets in buffers.
//! * Grants have one transport block. Second transport blocks, semi-persistent scheduling, other carriers and allocations of type 0
//!   are not executed, nor are precoders of reference signals; precoders of data are checked and otherwise ignored.

mod control;
mod definition;
mod delegation;
mod refusal;
mod report;
mod source;
mod subscription;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use e2sm::common::ntp_timestamp;
use e2sm::llc::{
    IndicationHeader, IndicationMessage, LowerLayersInfoType, LowerLayersMeasType, SlotInfo, SlotTimeStamp,
};
use ferric::agent::{Admission, ControlFailure, ControllerId, FunctionContext, RanFunction, RequestKey, Ue, Views};
use ferric::e2::{ControlRequest, Function, SubscriptionRequest, Time};
use ferric::e2ap::{Cause, RanFunctionId, RicActionId};
use tracing::{info, warn};

use crate::admission::admit;
use crate::schedule::SkippedReports;
use crate::shared_source::SharedSource;
use crate::wall_clock::WallClock;
use control::Control;
use delegation::Delegations;
use subscription::{Action, Content, Trigger};

pub use refusal::SlotRefusal;
pub use source::{
    Arrivals, BufferStatus, CellFormat, ChannelShare, CsiReport, DelegatedChannel, HarqCounts, LlcSource, ReceivedSrs,
    SlotDecision, SlotGrant, SlotScheduler, SrsSymbol,
};

/// The configuration of the function.
#[derive(Clone, Debug)]
pub struct LlcConfig {
    /// The RAN function id. Default: 6.
    pub function_id: RanFunctionId,
    /// The maximum number of actions. Default: 256.
    pub max_actions: usize,
    /// The maximum number of delegated logical channels. Default: 4096.
    pub max_channels: usize,
    /// The most slots by which a decision may be ahead of the next slot. Default: 128.
    pub horizon_slots: u16,
    /// The time without a sign of a controller after which its channels return to the base station. Default: 1 s.
    pub idle_release: Duration,
    /// An observer of indications and decisions, for measurements. Default: none.
    pub observer: Option<SlotObserver>,
}

impl Default for LlcConfig {
    fn default() -> Self {
        LlcConfig {
            function_id: RanFunctionId(6),
            max_actions: 256,
            max_channels: 4096,
            horizon_slots: 128,
            idle_release: Duration::from_secs(1),
            observer: None,
        }
    }
}

/// What an observer sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotEvent {
    /// Periodic reports begin to be sent, while this slot is the next one.
    Reported(u64),
    /// A decision has been applied whose first slot is this one.
    Decided(u64),
    /// A control with decisions was refused.
    Refused,
}

/// An observer of a function, which is called on its thread.
#[derive(Clone)]
pub struct SlotObserver(Arc<dyn Fn(SlotEvent) + Send + Sync>);

impl SlotObserver {
    /// Creates an observer.
    pub fn new(observe: impl Fn(SlotEvent) + Send + Sync + 'static) -> Self {
        SlotObserver(Arc::new(observe))
    }
}

impl fmt::Debug for SlotObserver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SlotObserver")
    }
}

/// The RAN function of E2SM-LLC, towards all controllers of its node.
pub struct LlcFunction<H: SharedSource<Source: LlcSource>> {
    source: H,
    state: State,
}

struct State {
    config: LlcConfig,
    wall_clock: WallClock,
    actions: Vec<Action>,
    delegations: Delegations,
    decided: BTreeSet<u64>,
    /// When events are looked for next, while there are subscriptions to them.
    next_look: Option<Time>,
    /// The length of a slot.
    slot: Duration,
    skipped: SkippedReports,
    /// Reused buffers.
    ues: Vec<Ue>,
    header: Vec<u8>,
    message: Vec<u8>,
}

impl<H: SharedSource<Source: LlcSource>> LlcFunction<H> {
    /// Returns a function without subscriptions.
    #[must_use]
    pub fn new(source: H, config: LlcConfig) -> Self {
        let numerology = source.read().format().numerology;
        let state = State {
            config,
            wall_clock: WallClock::system(),
            actions: Vec::new(),
            delegations: Delegations::default(),
            decided: BTreeSet::new(),
            next_look: None,
            slot: Duration::from_micros(1000 >> numerology.min(3)),
            skipped: SkippedReports::default(),
            ues: Vec::new(),
            header: Vec::new(),
            message: Vec::new(),
        };
        LlcFunction { source, state }
    }

    /// Replaces the system's clock as the source of time stamps.
    #[must_use]
    pub fn with_wall_clock(mut self, wall_clock: impl Fn() -> SystemTime + Send + 'static) -> Self {
        self.state.wall_clock = WallClock::new(wall_clock);
        self
    }

    /// The number of periodic reports that were skipped because the agent was polled late.
    #[must_use]
    pub fn skipped_reports(&self) -> u64 {
        self.state.skipped.total()
    }
}

impl State {
    fn observe(&self, event: SlotEvent) {
        if let Some(SlotObserver(observe)) = &self.config.observer {
            observe(event);
        }
    }

    /// When the cell returns to the base station without a sign of the controller.
    fn release_at(&self) -> Option<Time> {
        self.delegations.last_sign().map(|last| last + self.config.idle_release)
    }

    /// Returns the channels of a controller that gives no sign, and those of UEs that have left.
    fn clean<S: LlcSource>(&mut self, source: &mut S, now: Time) {
        if self.release_at().is_some_and(|at| at <= now) {
            let (controller, after_ms) =
                (self.delegations.scheduler().map_or(0, |id| id.0), self.config.idle_release.as_millis());
            warn!(controller, after_ms, "controller has not scheduled the cell for too long: its channels return");
            self.delegations.clear();
            source.set_delegated(&[]);
            return;
        }
        let ues = &self.ues;
        if self.delegations.clean(source.next_slot(), |ue| ues.contains(&ue)) {
            source.set_delegated(self.delegations.channels());
        }
    }

    fn stamp<S: LlcSource>(&self, source: &S, now: Time, slot: u64) -> SlotTimeStamp {
        let offset = source.slot_offset_ns(now, slot);
        let distance = Duration::from_nanos(offset.unsigned_abs());
        let now = self.wall_clock.at(now);
        let start = if offset < 0 { now.checked_sub(distance) } else { now.checked_add(distance) };
        SlotTimeStamp {
            slot_info: SlotInfo::of(slot, source.format().numerology),
            slot_start_time: ntp_timestamp(start.unwrap_or(now)).to_be_bytes(),
        }
    }

    fn update_next_look(&mut self, now: Time) {
        let has_events = self.actions.iter().any(|action| matches!(action.content, Content::Copies { .. }));
        self.next_look = has_events.then(|| self.next_look.unwrap_or(now + self.slot));
    }

    /// Sends the periodic reports that are due.
    fn report_measurements<S: LlcSource>(&mut self, source: &S, now: Time, reports: &mut FunctionContext<'_>) {
        let next = source.next_slot();
        let stamps = (self.stamp(source, now, next.saturating_sub(1)), self.stamp(source, now, next));
        let mut has_reported = false;
        for at in 0..self.actions.len() {
            let Action { key, id, content } = &mut self.actions[at];
            let (key, id) = (*key, *id);
            let Content::Measurements { period, kinds, ues, harq } = content else { continue };
            let Some(missed) = period.advance(now) else { continue };
            self.skipped.add(missed);
            let views = reports.views();
            let visible: Vec<Ue> =
                self.ues.iter().copied().filter(|ue| views.sees(key.controller, *ue) && ues.has(source, *ue)).collect();
            if !has_reported {
                has_reported = true;
                if let Some(SlotObserver(observe)) = &self.config.observer {
                    observe(SlotEvent::Reported(next));
                }
            }
            let message = report::measurements(source, &visible, kinds, stamps, harq);
            if kinds.contains(&LowerLayersMeasType::DlHarqStatistics) {
                report::remember(harq, &visible, |ue| source.harq(ue));
            }
            if let Some(message) = message {
                self.send((key, id), IndicationHeader::new(None), &message, reports);
            }
        }
        self.skipped.log("LLC");
    }

    /// Sends copies of what has arrived.
    fn report_copies<S: LlcSource>(&mut self, source: &S, now: Time, reports: &mut FunctionContext<'_>) {
        let stamp = self.stamp(source, now, source.next_slot().saturating_sub(1));
        for at in 0..self.actions.len() {
            let (key, id) = (self.actions[at].key, self.actions[at].id);
            let Content::Copies { events, seen } = &self.actions[at].content else { continue };
            let Some(kind) = events.first().map(|event| event.kind) else { continue };
            let views = reports.views();
            let mut new: Vec<Ue> = self.ues.clone();
            new.retain(|ue| views.sees(key.controller, *ue) && report::is_new(source, seen, *ue, kind));
            let mut messages: Vec<(IndicationHeader, IndicationMessage<'static>)> = Vec::new();
            for event in events {
                // each UE counts for the first event that names it
                let (of_event, others): (Vec<Ue>, Vec<Ue>) = new.iter().partition(|ue| event.ues.has(source, **ue));
                new = others;
                let header = IndicationHeader::new(Some(event.condition));
                match kind {
                    LowerLayersInfoType::Csi => {
                        messages.extend(report::csi(source, &of_event, stamp).map(|message| (header, message)));
                    }
                    LowerLayersInfoType::Srs => {
                        let received = of_event.iter().filter_map(|ue| source.srs(*ue));
                        messages.extend(received.map(|received| (header, report::srs(&received, stamp))));
                    }
                }
            }
            for (header, message) in messages {
                self.send((key, id), header, &message, reports);
            }
            if let Content::Copies { seen, .. } = &mut self.actions[at].content {
                report::remember(seen, &self.ues, |ue| report::arrived(source, ue, kind));
            }
        }
    }

    fn send(
        &mut self,
        (key, action): (RequestKey, RicActionId),
        header: IndicationHeader,
        message: &IndicationMessage<'_>,
        reports: &mut FunctionContext<'_>,
    ) {
        self.header.clear();
        self.message.clear();
        match header.encode(&mut self.header).and_then(|()| message.encode(&mut self.message)) {
            // fails only for a subscription that has ended, which the pending `unsubscribe` removes
            Ok(()) => drop(reports.report(key, action, &self.header, &self.message)),
            Err(error) => warn!(%error, "cannot encode a report of E2SM-LLC: a value of the source is out of range"),
        }
    }
}

impl<H: SharedSource<Source: LlcSource>> RanFunction for LlcFunction<H> {
    fn id(&self) -> RanFunctionId {
        self.state.config.function_id
    }

    fn definition(&self) -> Function {
        definition::function(&self.state.config)
    }

    fn subscribe(
        &mut self,
        now: Time,
        controller: ControllerId,
        request: &SubscriptionRequest,
        _views: &Views,
    ) -> Result<Admission, Cause> {
        let LlcFunction { source, state } = self;
        let trigger = Trigger::read(&request.event_trigger, &source.read().cell())?;
        let admission = admit(&mut state.actions, state.config.max_actions, controller, request, |key, wanted| {
            Action::new(now, &trigger, key, wanted)
        });
        state.update_next_look(now);
        admission
    }

    fn unsubscribe(&mut self, key: RequestKey) {
        self.state.actions.retain(|action| action.key != key);
        self.state.update_next_look(Time::default());
    }

    fn control(
        &mut self,
        now: Time,
        controller: ControllerId,
        request: &ControlRequest,
        reports: &mut FunctionContext<'_>,
    ) -> Result<Option<Vec<u8>>, ControlFailure> {
        let LlcFunction { source, state } = self;
        let mut source = source.write();
        // a slot that begins before the control has arrived is over
        source.advance(now);
        state.wall_clock.update(now);
        state.ues.clear();
        source.ues(&mut state.ues);
        state.clean(&mut *source, now);
        let State { config, wall_clock, delegations, decided, .. } = state;
        let control = Control {
            source: &mut *source,
            config,
            delegations,
            decided,
            wall_clock,
            views: reports.views(),
            controller,
            now,
        };
        match control.execute(request) {
            Ok((outcome, slot)) => {
                if let Some(slot) = slot {
                    state.observe(SlotEvent::Decided(slot));
                }
                Ok(Some(outcome))
            }
            Err(failure) => {
                state.observe(SlotEvent::Refused);
                Err(failure)
            }
        }
    }

    fn next_report(&self) -> Option<Time> {
        let State { actions, next_look, .. } = &self.state;
        let periods = actions.iter().filter_map(|action| match &action.content {
            Content::Measurements { period, .. } => Some(period.end()),
            Content::Copies { .. } => None,
        });
        periods.chain(*next_look).chain(self.state.release_at()).min()
    }

    fn report(&mut self, now: Time, reports: &mut FunctionContext<'_>) {
        let LlcFunction { source, state } = self;
        let mut source = source.write();
        source.advance(now);
        state.wall_clock.update(now);
        state.ues.clear();
        source.ues(&mut state.ues);
        state.clean(&mut *source, now);
        if let Some(look) = state.next_look.filter(|look| *look <= now) {
            let slot_ns = state.slot.as_nanos() as u64; // at most a millisecond
            let missed = (now.as_nanos() - look.as_nanos()) / slot_ns;
            state.next_look = Some(Time::from_nanos(look.as_nanos() + (missed + 1) * slot_ns));
            state.report_copies(&*source, now, reports);
        }
        state.report_measurements(&*source, now, reports);
    }

    fn controller_removed(&mut self, controller: ControllerId) {
        if self.state.delegations.scheduler() == Some(controller) {
            info!(controller = controller.0, "controller removed: its logical channels return to the base station");
            self.state.delegations.clear();
            self.source.write().set_delegated(&[]);
        }
    }
}

impl<H: SharedSource<Source: LlcSource>> fmt::Debug for LlcFunction<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LlcFunction")
            .field("config", &self.state.config)
            .field("actions", &self.state.actions.len())
            .field("delegations", &self.state.delegations)
            .finish_non_exhaustive()
    }
}
