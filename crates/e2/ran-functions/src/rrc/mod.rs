//! RRC notifications: UEs that attach, detach and are handed over, reported as events.
//!
//! A base station implements [`RrcSource`]; [`RrcFunction`] implements the RAN function.
//!
//! * A subscription to attachments first gets a report of the UEs that are connected already.
//! * A report contains the UEs that the controller may see. If a UE is exposed to a controller later, the controller learns
//!   of it with the UE's next event.
//! * Events are reported in order; an indication contains at most 256 of them.

#[cfg(test)]
mod tests;

use std::fmt;
use std::time::SystemTime;

use e2sm::Wire;
use e2sm::rrc::{Event, EventTriggerDefinition, IndicationHeader, IndicationMessage, MODEL, Notification};
use ferric::agent::{Admission, ControllerId, FunctionContext, RanFunction, RequestKey, Ue, Views};
use ferric::e2::{Function, SubscriptionRequest, Time};
use ferric::e2ap::{Cause, RanFunctionId, RicActionId};
use per::List;
use tracing::warn;

use crate::admission::{admit, require_plain_report};
use crate::cause::{TRIGGER_NOT_SUPPORTED, undecodable};
use crate::periodic::PeriodicConfig;
use crate::shared_source::SharedSource;
use crate::wall_clock::WallClock;

/// The maximum number of notifications in an indication.
const MAX_NOTIFICATIONS: usize = 256;

/// What a base station implements to report RRC notifications.
pub trait RrcSource {
    /// Appends the connected UEs, always in the same order.
    fn ues(&self, out: &mut Vec<Ue>);

    /// The notification of a UE that is connected already, with [`Event::Present`].
    fn present(&self, ue: Ue) -> Notification<'static>;

    /// Whether there are events that [`RrcSource::take_events`] has not returned yet. When that becomes true, the base
    /// station calls [`wake`](ferric::agent::AgentLoop::wake).
    fn has_events(&self) -> bool;

    /// Appends the events since the previous call, in order. It is called without subscriptions too, so the base station
    /// stores no more than the events between two polls of the agent.
    fn take_events(&mut self, out: &mut Vec<(Ue, Notification<'static>)>);
}

/// Configuration of [`RrcFunction`].
#[derive(Clone, Debug)]
pub struct RrcConfig {
    /// The RAN function ID within the node. Default: that of the service model.
    pub function_id: RanFunctionId,
    /// The maximum number of actions at a time. Default: 1024.
    pub max_actions: usize,
}

impl Default for RrcConfig {
    fn default() -> Self {
        RrcConfig { function_id: RanFunctionId(MODEL.function_id), max_actions: 1024 }
    }
}

/// A report action of a subscription.
#[derive(Clone, Copy, Debug)]
struct Action {
    key: RequestKey,
    id: RicActionId,
    trigger: EventTriggerDefinition,
    /// Whether the connected UEs were not reported yet.
    is_initial_report_due: bool,
}

impl Action {
    fn matches(&self, event: &Event) -> bool {
        match event {
            Event::Present | Event::Attached => self.trigger.attach,
            Event::Detached => self.trigger.detach,
            Event::HandedOver(_) => self.trigger.handover,
        }
    }
}

/// The RAN function of RRC notifications, for all controllers of its node.
pub struct RrcFunction<H: SharedSource<Source: RrcSource>> {
    source: H,
    config: RrcConfig,
    wall_clock: WallClock,
    actions: Vec<Action>,
    /// The time of the latest call.
    now: Time,
}

impl<H: SharedSource<Source: RrcSource>> RrcFunction<H> {
    /// Creates a function without subscriptions.
    #[must_use]
    pub fn new(source: H, config: RrcConfig) -> Self {
        RrcFunction { source, config, wall_clock: WallClock::system(), actions: Vec::new(), now: Time::default() }
    }

    /// Replaces the system clock as the source of the time of day in notifications.
    #[must_use]
    pub fn with_wall_clock(mut self, wall_clock: impl Fn() -> SystemTime + Send + 'static) -> Self {
        self.wall_clock = WallClock::new(wall_clock);
        self
    }
}

impl<H: SharedSource<Source: RrcSource>> RanFunction for RrcFunction<H> {
    fn id(&self) -> RanFunctionId {
        self.config.function_id
    }

    fn definition(&self) -> Function {
        let function_id = Some(self.config.function_id);
        PeriodicConfig { function_id, wire: Wire::Per, ..PeriodicConfig::default() }.function(&MODEL)
    }

    fn subscribe(
        &mut self,
        now: Time,
        controller: ControllerId,
        request: &SubscriptionRequest,
        _views: &Views,
    ) -> Result<Admission, Cause> {
        self.now = now;
        let trigger = EventTriggerDefinition::decode(&request.event_trigger, Wire::Per)
            .map_err(undecodable("event trigger definition"))?;
        if trigger == EventTriggerDefinition::default() {
            // a trigger without event types never reports
            return Err(TRIGGER_NOT_SUPPORTED);
        }
        admit(&mut self.actions, self.config.max_actions, controller, request, |key, action| {
            let is_initial_report_due = trigger.attach;
            require_plain_report(action).map(|()| Action { key, id: action.id, trigger, is_initial_report_due })
        })
    }

    fn unsubscribe(&mut self, key: RequestKey) {
        self.actions.retain(|action| action.key != key);
    }

    fn next_report(&self) -> Option<Time> {
        let is_due = self.actions.iter().any(|action| action.is_initial_report_due) || self.source.read().has_events();
        is_due.then_some(self.now)
    }

    fn report(&mut self, now: Time, context: &mut FunctionContext<'_>) {
        self.now = now;
        self.wall_clock.update(now);
        let mut source = self.source.write();
        let mut events = Vec::new();
        source.take_events(&mut events);
        let mut header = Vec::new();
        let timestamp = IndicationHeader { timestamp_us: self.wall_clock.unix_us(now) };
        if let Err(error) = timestamp.encode(Wire::Per, &mut header) {
            panic!("cannot encode an indication header of one number: {error}");
        }
        for action in &mut self.actions {
            let mut notifications = Vec::new();
            let sees = |ue: Ue| context.views().sees(action.key.controller, ue);
            if std::mem::take(&mut action.is_initial_report_due) {
                // the list of connected UEs includes the effect of the latest events
                let mut ues = Vec::new();
                source.ues(&mut ues);
                notifications.extend(ues.into_iter().filter(|ue| sees(*ue)).map(|ue| source.present(ue)));
            } else {
                let matching = events.iter().filter(|(ue, event)| sees(*ue) && action.matches(&event.event));
                notifications.extend(matching.map(|(_, event)| event.clone()));
            }
            send(action, &header, &notifications, context);
        }
        for (ue, notification) in &events {
            if notification.event == Event::Detached {
                context.views_mut().forget_ue(*ue);
            }
        }
    }
}

/// Sends notifications in as many indications as they need.
fn send(action: &Action, header: &[u8], all: &[Notification<'static>], context: &mut FunctionContext<'_>) {
    let mut message = Vec::new();
    for notifications in all.chunks(MAX_NOTIFICATIONS) {
        message.clear();
        match (IndicationMessage { notifications: List::from(notifications) }).encode(Wire::Per, &mut message) {
            // fails only for a subscription that has ended, which the pending `unsubscribe` removes
            Ok(()) => drop(context.report(action.key, action.id, header, &message)),
            Err(error) => warn!(%error, "cannot encode RRC notifications: a value of the source is out of range"),
        }
    }
}

impl<H: SharedSource<Source: RrcSource>> fmt::Debug for RrcFunction<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RrcFunction")
            .field("config", &self.config)
            .field("actions", &self.actions.len())
            .finish_non_exhaustive()
    }
}
