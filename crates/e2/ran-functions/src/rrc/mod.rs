//! RRC notifications: UEs that come, go and are handed over, told as it happens.
//!
//! A base station implements [`RrcSource`]; [`RrcFunction`] does the rest.
//!
//! * A subscription that asks for attachments is told at once of the UEs that are there.
//! * A controller is told of those UEs that it may see: of one that is exposed to it later, by its next event.
//! * What happened comes in order; where much happened at once, in several indications.

#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;
use std::time::SystemTime;

use e2sm::Wire;
use e2sm::rrc::{Event, EventTriggerDefinition, IndicationHeader, IndicationMessage, MODEL, Notification};
use ferric::agent::{Admission, ControllerId, FunctionContext, RanFunction, RequestKey, Ue, Views};
use ferric::e2::{Function, SubscriptionRequest, Time};
use ferric::e2ap::{Cause, CauseProtocol, CauseRicRequest, RanFunctionId, RicActionId};
use per::List;
use tracing::{debug, warn};

use crate::admission::{admit, only_bare_reports};
use crate::periodic::PeriodicConfig;
use crate::wall_clock::WallClock;

/// Notifications of one indication.
const MAX_NOTIFICATIONS: usize = 256;

/// What a base station implements, to offer RRC notifications.
pub trait RrcSource {
    /// Appends the UEs that are there, always in the same order.
    fn ues(&self, out: &mut Vec<Ue>);

    /// What is known of a UE that is there, told as [`Event::Present`].
    fn present(&self, ue: Ue) -> Notification<'static>;

    /// Whether something happened that was not taken yet. The host says [`wake`](ferric::agent::AgentLoop::wake) when it
    /// did.
    fn has_events(&self) -> bool;

    /// Hands over what happened since this was called last, in order. Without a subscription it is called too: a base
    /// station keeps no more than happens in a turn of the loop.
    fn take_events(&mut self, out: &mut Vec<(Ue, Notification<'static>)>);
}

/// What a function offers, and its bounds.
#[derive(Clone, Debug)]
pub struct RrcConfig {
    /// Its id within the node. Default: the model's own.
    pub function_id: RanFunctionId,
    /// Actions that may be set up at a time. Default: 1024.
    pub max_actions: usize,
}

impl Default for RrcConfig {
    fn default() -> Self {
        RrcConfig { function_id: RanFunctionId(MODEL.function_id), max_actions: 1024 }
    }
}

/// An action that is set up.
#[derive(Clone, Copy, Debug)]
struct Action {
    key: RequestKey,
    id: RicActionId,
    trigger: EventTriggerDefinition,
    /// Whether it was told of the UEs that are there.
    is_greeted: bool,
}

impl Action {
    fn wants(&self, event: &Event) -> bool {
        match event {
            Event::Present | Event::Attached => self.trigger.attach,
            Event::Detached => self.trigger.detach,
            Event::HandedOver(_) => self.trigger.handover,
        }
    }
}

/// The RAN function of RRC notifications, towards all controllers of its node.
pub struct RrcFunction<S: RrcSource> {
    source: Rc<RefCell<S>>,
    config: RrcConfig,
    wall_clock: WallClock,
    actions: Vec<Action>,
    /// The latest time that was told.
    now: Time,
}

impl<S: RrcSource> RrcFunction<S> {
    /// A function without subscriptions.
    #[must_use]
    pub fn new(source: Rc<RefCell<S>>, config: RrcConfig) -> Self {
        let wall_clock = WallClock::new(SystemTime::now);
        RrcFunction { source, config, wall_clock, actions: Vec::new(), now: Time::default() }
    }
}

impl<S: RrcSource> RanFunction for RrcFunction<S> {
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
        let trigger = EventTriggerDefinition::decode(&request.event_trigger, Wire::Per).map_err(|error| {
            debug!(%error, "event trigger definition");
            Cause::Protocol(CauseProtocol::TransferSyntaxError)
        })?;
        if trigger == EventTriggerDefinition::default() {
            // nothing would ever come
            return Err(Cause::RicRequest(CauseRicRequest::EventTriggerNotSupported));
        }
        let key = RequestKey { controller, id: request.request_id };
        admit(&mut self.actions, self.config.max_actions, request, |action| {
            only_bare_reports(action).map(|()| Action { key, id: action.id, trigger, is_greeted: !trigger.attach })
        })
    }

    fn unsubscribe(&mut self, key: RequestKey) {
        self.actions.retain(|action| action.key != key);
    }

    fn next_report(&self) -> Option<Time> {
        let is_due = self.actions.iter().any(|action| !action.is_greeted) || self.source.borrow().has_events();
        is_due.then_some(self.now)
    }

    fn report(&mut self, now: Time, reports: &mut FunctionContext<'_>) {
        self.now = now;
        self.wall_clock.tick(now);
        let mut source = self.source.borrow_mut();
        let mut news = Vec::new();
        source.take_events(&mut news);
        let mut header = Vec::new();
        let told = IndicationHeader { timestamp_us: self.wall_clock.unix_us(now) };
        if let Err(error) = told.encode(Wire::Per, &mut header) {
            panic!("a header of one number can be encoded: {error}");
        }
        for action in &mut self.actions {
            let mut told = Vec::new();
            let sees = |ue: Ue| reports.views().sees(action.key.controller, ue);
            if action.is_greeted {
                let wanted = news.iter().filter(|(ue, told)| sees(*ue) && action.wants(&told.event));
                told.extend(wanted.map(|(_, told)| told.clone()));
            } else {
                // what has just happened is seen in who is there
                action.is_greeted = true;
                let mut ues = Vec::new();
                source.ues(&mut ues);
                told.extend(ues.into_iter().filter(|ue| sees(*ue)).map(|ue| source.present(ue)));
            }
            send(action, &header, &told, reports);
        }
        for (ue, told) in &news {
            if told.event == Event::Detached {
                reports.views_mut().forget_ue(*ue);
            }
        }
    }
}

fn send(action: &Action, header: &[u8], told: &[Notification<'static>], reports: &mut FunctionContext<'_>) {
    let mut message = Vec::new();
    for notifications in told.chunks(MAX_NOTIFICATIONS) {
        message.clear();
        match (IndicationMessage { notifications: List::from(notifications) }).encode(Wire::Per, &mut message) {
            // a subscription that is gone by now is forgotten by the `unsubscribe` to come
            Ok(()) => drop(reports.report(action.key, action.id, header, &message)),
            Err(error) => warn!(%error, "notifications cannot be written: the source's values break a bound"),
        }
    }
}

impl<S: RrcSource> fmt::Debug for RrcFunction<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RrcFunction")
            .field("config", &self.config)
            .field("actions", &self.actions.len())
            .finish_non_exhaustive()
    }
}
