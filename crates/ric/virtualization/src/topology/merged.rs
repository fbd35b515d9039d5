//! The subscriptions of a controller to a function that several parts have: each part is subscribed to what it has of them.
//!
//! | | the controller |
//! |---|---|
//! | all parts have answered | has the actions that all their parts admit |
//! | a part refuses to check conditions | has the actions that other parts can check |
//! | a part is lost | keeps its subscription |
//! | a part comes back | has its reports again, under the same subscription |

use std::collections::{BTreeMap, BTreeSet, HashMap};

use e2sm::Arena;
use ferric::agent::{Admission, RequestKey, SendAgentLoop};
use ferric::e2::{
    Action, NodeId, RequestEvent, SubscribeError, SubscriptionId, SubscriptionOrder, SubscriptionSpec, Ticket,
};
use ferric::e2ap::{Cause, CauseRicRequest, RanFunctionId, RicActionId};
use ferric::server::IappContext;
use tracing::warn;

use super::exposed::Station;
use super::offers::Ranked;
use super::ues::SharedCu;
use crate::outgoing::Outgoing;

/// The maximum number of subscriptions of all base stations to the functions of a service model.
const MAX_SUBSCRIPTIONS: usize = 4096;
const UNAVAILABLE: Cause = Cause::RicRequest(CauseRicRequest::RequestedInformationUnavailable);

/// What the merged functions act on.
pub(super) struct Env<'e, 'r> {
    pub stations: &'e mut [Station],
    pub agents: &'e mut SendAgentLoop,
    /// The CU-CPs of several base stations.
    pub cus: &'e HashMap<NodeId, SharedCu>,
    pub ric: &'e mut IappContext<'r>,
}

/// An action, divided among parts, and what has been reported for it.
pub(super) trait DividedAction {
    fn id(&self) -> RicActionId;

    /// The parts that are asked.
    fn parts(&self) -> impl Iterator<Item = Ranked> + Clone;

    /// What a part is asked for.
    fn request(&self, part: Ranked) -> Option<PartRequest>;

    /// Whether a part is asked to check conditions, which another part may be able to check if it is not.
    fn has_conditions(&self, part: Ranked) -> bool;

    /// Takes over what the parts are asked for from the same action, divided again.
    fn renew(&mut self, again: Self);
}

/// What a part is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PartRequest {
    /// `None`: that of the controller. All actions of a subscription have the same.
    pub event_trigger: Option<Vec<u8>>,
    pub definition: Vec<u8>,
}

/// A divided subscription.
#[derive(Debug)]
pub(super) struct Divided<A> {
    pub actions: Vec<A>,
    pub refused: Vec<(RicActionId, Cause)>,
}

impl<A> Divided<A> {
    /// Divides the actions of a subscription.
    ///
    /// # Errors
    /// The cause of the first one if all are refused.
    pub fn of(spec: &SubscriptionSpec, mut divide: impl FnMut(&Action) -> Result<A, Cause>) -> Result<Self, Cause> {
        let (mut actions, mut refused) = (Vec::new(), Vec::new());
        for action in &spec.actions {
            match divide(action) {
                Ok(divided) => actions.push(divided),
                Err(cause) => refused.push((action.id, cause)),
            }
        }
        match (&actions[..], &refused[..]) {
            ([], [(_, cause), ..]) => Err(*cause),
            ([], []) => Err(Cause::RicRequest(CauseRicRequest::ActionNotSupported)),
            _ => Ok(Divided { actions, refused }),
        }
    }
}

/// A service model whose functions are merged.
pub(super) trait MergedModel {
    type Action: DividedAction;

    /// The node and the function of a part; `None` while it is lost.
    fn target(station: &Station, part: Ranked) -> Option<(NodeId, RanFunctionId)>;

    /// Divides a subscription of a base station. Parts that are `unable` to check its conditions are not asked to.
    ///
    /// # Errors
    /// The cause with which it is refused.
    fn divide(
        station: usize,
        spec: &SubscriptionSpec,
        unable: &BTreeSet<Ranked>,
        env: &Env<'_, '_>,
    ) -> Result<Divided<Self::Action>, Cause>;

    /// Takes over the report of a part, a node, for an action.
    fn report(
        merged: &mut Merged<Self::Action>,
        of: (Ranked, NodeId, usize),
        report: (&[u8], &[u8]),
        arena: &Arena,
        env: &mut Env<'_, '_>,
    );

    /// Sends the reports of an action for which no part is waited for.
    fn progress(merged: &mut Merged<Self::Action>, action: usize, env: &mut Env<'_, '_>);
}

/// The subscription to a part.
#[derive(Debug)]
struct PartSubscription {
    node: NodeId,
    state: PartState,
    /// What it has been asked for.
    asked: Vec<(RicActionId, PartRequest)>,
    /// The actions that the part has not admitted.
    refused: Vec<(RicActionId, Cause)>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum PartState {
    Requested(Ticket),
    Active(SubscriptionId),
    /// Refused, or ended by the part.
    Ended,
}

/// A subscription of the controller.
#[derive(Debug)]
pub(super) struct Merged<A> {
    pub station: usize,
    pub function: RanFunctionId,
    pub key: RequestKey,
    pub actions: Vec<A>,
    pub is_answered: bool,
    spec: SubscriptionSpec,
    refused: Vec<(RicActionId, Cause)>,
    parts: BTreeMap<Ranked, PartSubscription>,
    /// The parts that have refused to check the conditions.
    unable: BTreeSet<Ranked>,
}

/// The subscriptions to the merged functions of a service model.
pub(super) struct MergedSubscriptions<M: MergedModel> {
    all: Vec<Merged<M::Action>>,
    /// Subscriptions that have ended before the part has answered.
    abandoned: BTreeSet<Ticket>,
    /// By the subscription to a part: the place in `all`, and the part.
    active: HashMap<SubscriptionId, (usize, Ranked)>,
}

impl<M: MergedModel> Default for MergedSubscriptions<M> {
    fn default() -> Self {
        MergedSubscriptions { all: Vec::new(), abandoned: BTreeSet::new(), active: HashMap::new() }
    }
}

impl<M: MergedModel> MergedSubscriptions<M> {
    /// Subscribes to what the parts have of a subscription of the controller.
    pub fn subscribe(
        &mut self,
        (station, function): (usize, RanFunctionId),
        key: RequestKey,
        spec: SubscriptionSpec,
        env: &mut Env<'_, '_>,
    ) {
        let divided = if self.all.len() >= MAX_SUBSCRIPTIONS {
            Err(Cause::RicRequest(CauseRicRequest::FunctionResourceLimit))
        } else {
            M::divide(station, &spec, &BTreeSet::new(), env)
        };
        let subscribed = divided.and_then(|Divided { actions, refused }| {
            let (parts, unable) = (BTreeMap::new(), BTreeSet::new());
            let mut merged =
                Merged { station, function, key, actions, is_answered: false, spec, refused, parts, unable };
            merged.wanted().into_iter().for_each(|part| merged.ask::<M>(part, env));
            if merged.parts.is_empty() { Err(UNAVAILABLE) } else { Ok(merged) }
        });
        match subscribed {
            Ok(merged) => self.all.push(merged),
            Err(cause) => env.stations[station].send(function, Outgoing::Subscribed { key, answer: Err(cause) }),
        }
    }

    /// Ends the subscriptions of a base station that `is_gone` selects.
    pub fn remove(&mut self, station: usize, is_gone: impl Fn(RequestKey) -> bool, ric: &mut IappContext<'_>) {
        let abandoned = &mut self.abandoned;
        self.all.retain(|merged| {
            let stays = merged.station != station || !is_gone(merged.key);
            if !stays {
                merged.parts.values().for_each(|part| part.end(abandoned, ric));
            }
            stays
        });
        self.index();
    }

    fn index(&mut self) {
        let parts = self.all.iter().enumerate().flat_map(|(at, merged)| merged.parts.iter().map(move |of| (at, of)));
        let parts = parts.filter_map(|(at, (part, subscription))| match subscription.state {
            PartState::Active(id) => Some((id, (at, *part))),
            _ => None,
        });
        self.active = parts.collect();
    }

    /// Subscribes to the parts that have come back: to what they have of each subscription now.
    pub fn refresh(&mut self, env: &mut Env<'_, '_>) {
        for merged in &mut self.all {
            let station = &env.stations[merged.station];
            let is_back = |part: &Ranked| !merged.parts.contains_key(part) && M::target(station, *part).is_some();
            if merged.wanted().iter().any(is_back) {
                merged.renew::<M>(&mut self.abandoned, env);
            }
        }
        self.index();
    }

    /// Divides subscriptions again, of which `is_changed` selects an action: parts that are asked for something else now are
    /// subscribed to again.
    pub fn renew(&mut self, is_changed: impl Fn(&M::Action) -> bool, env: &mut Env<'_, '_>) {
        let mut is_any = false;
        for merged in self.all.iter_mut().filter(|merged| merged.actions.iter().any(&is_changed)) {
            merged.renew::<M>(&mut self.abandoned, env);
            is_any = true;
        }
        if is_any {
            self.index();
        }
    }

    /// Reports without a lost node.
    pub fn node_lost(&mut self, node: NodeId, env: &mut Env<'_, '_>) {
        let mut refused = Vec::new();
        for merged in &mut self.all {
            let before = merged.parts.len();
            merged.parts.retain(|_, part| part.node != node);
            if merged.parts.len() < before {
                // the others are not waited for any longer
                if merged.answer(env) {
                    merged.progress::<M>(env);
                } else {
                    refused.push((merged.station, merged.key));
                }
            }
        }
        refused.into_iter().for_each(|(station, key)| self.remove(station, |of| of == key, env.ric));
        self.index();
    }

    /// Handles the answer of a part. Returns whether it was to one of these subscriptions.
    pub fn handle_request(&mut self, event: &RequestEvent, env: &mut Env<'_, '_>) -> bool {
        let is_own = self.handle(event, env);
        if is_own {
            self.index();
        }
        is_own
    }

    fn handle(&mut self, event: &RequestEvent, env: &mut Env<'_, '_>) -> bool {
        let (ticket, answer) = match event {
            RequestEvent::Subscribed { ticket, subscription, not_admitted, .. } => {
                (ticket, Ok((*subscription, not_admitted.clone())))
            }
            RequestEvent::SubscriptionFailed { ticket, error } => {
                let cause = if let SubscribeError::Refused { cause, .. } = error { *cause } else { UNAVAILABLE };
                (ticket, Err(cause))
            }
            RequestEvent::SubscriptionEnded { subscription, .. } => return self.ended(*subscription, env),
            _ => return false,
        };
        if self.abandoned.remove(ticket) {
            if let Ok((subscription, _)) = answer {
                // fails only for one that has ended
                let _ = env.ric.unsubscribe(subscription);
            }
            return true;
        }
        let is_asked = |part: &PartSubscription| part.state == PartState::Requested(*ticket);
        let Some(merged) = self.all.iter_mut().find(|merged| merged.parts.values().any(is_asked)) else { return false };
        if let Some((at, part)) = merged.parts.iter_mut().find(|(_, part)| is_asked(part)) {
            (part.state, part.refused) = match answer {
                Ok((subscription, refused)) => (PartState::Active(subscription), refused),
                Err(cause) => (PartState::Ended, part.asked.iter().map(|(id, _)| (*id, cause)).collect()),
            };
            let at = *at;
            merged.ask_others::<M>(at, &mut self.abandoned, env);
        }
        if merged.answer(env) {
            merged.progress::<M>(env);
        } else {
            let (station, key) = (merged.station, merged.key);
            self.remove(station, |of| of == key, env.ric);
        }
        true
    }

    fn ended(&mut self, subscription: SubscriptionId, env: &mut Env<'_, '_>) -> bool {
        for merged in &mut self.all {
            let is_ended = |part: &&mut PartSubscription| part.state == PartState::Active(subscription);
            if let Some(part) = merged.parts.values_mut().find(is_ended) {
                part.state = PartState::Ended;
                merged.progress::<M>(env);
                return true;
            }
        }
        false
    }

    /// Takes over a report. Returns whether it is one of these subscriptions.
    pub fn report(
        &mut self,
        (node, subscription, action): (NodeId, SubscriptionId, RicActionId),
        report: (&[u8], &[u8]),
        arena: &Arena,
        env: &mut Env<'_, '_>,
    ) -> bool {
        let Some((at, part)) = self.active.get(&subscription).copied() else { return false };
        let merged = &mut self.all[at];
        if let Some(action) = merged.actions.iter().position(|known| known.id() == action) {
            M::report(merged, (part, node, action), report, arena, env);
            merged.progress::<M>(env);
        }
        true
    }
}

impl PartSubscription {
    fn end(&self, abandoned: &mut BTreeSet<Ticket>, ric: &mut IappContext<'_>) {
        match self.state {
            PartState::Requested(ticket) => drop(abandoned.insert(ticket)),
            // fails only for one that has ended
            PartState::Active(id) => drop(ric.unsubscribe(id)),
            PartState::Ended => {}
        }
    }
}

impl<A: DividedAction> Merged<A> {
    /// Whether a part reports.
    pub fn is_active(&self, part: Ranked) -> bool {
        self.parts.get(&part).is_some_and(|of| matches!(of.state, PartState::Active(_)))
    }

    fn wanted(&self) -> BTreeSet<Ranked> {
        self.actions.iter().flat_map(DividedAction::parts).collect()
    }

    /// What a part is asked for; nothing if it has nothing of the subscription.
    fn requests(&self, part: Ranked) -> Vec<(RicActionId, PartRequest)> {
        self.actions.iter().filter_map(|action| Some((action.id(), action.request(part)?))).collect()
    }

    /// Subscribes to a part; if it refuses at once, it has no values.
    fn ask<M: MergedModel<Action = A>>(&mut self, part: Ranked, env: &mut Env<'_, '_>) {
        let station = &env.stations[self.station];
        let Some((node, function)) = M::target(station, part) else { return };
        let asked = self.requests(part);
        let own_trigger = asked.iter().find_map(|(_, request)| request.event_trigger.clone());
        let event_trigger = own_trigger.unwrap_or_else(|| self.spec.event_trigger.clone());
        let of_part = |(id, request): &(RicActionId, PartRequest)| {
            let of_controller = self.spec.actions.iter().find(|action| action.id == *id)?;
            Some(Action { definition: Some(request.definition.clone()), ..of_controller.clone() })
        };
        let actions = asked.iter().filter_map(of_part).collect();
        let order = SubscriptionOrder { restore: false, ..SubscriptionSpec { event_trigger, actions }.into() };
        match env.ric.subscribe(node, function, order) {
            Ok(ticket) => {
                let state = PartState::Requested(ticket);
                self.parts.insert(part, PartSubscription { node, state, asked, refused: Vec::new() });
            }
            Err(misuse) if env.ric.allows_line(node) => {
                warn!(station = %station.config, function = function.0, "cannot subscribe to a part: {misuse}");
            }
            Err(_) => {}
        }
    }

    /// Divides the subscription again, and subscribes to the parts that have come back, or are asked for something else now. An action
    /// that cannot be divided any more stays as it is.
    fn renew<M: MergedModel<Action = A>>(&mut self, abandoned: &mut BTreeSet<Ticket>, env: &mut Env<'_, '_>) {
        if let Ok(divided) = M::divide(self.station, &self.spec, &self.unable, env) {
            self.take_over::<M>(divided.actions, abandoned, env);
        }
    }

    /// Has other parts check the conditions that a part refuses to check, if that is possible.
    fn ask_others<M: MergedModel<Action = A>>(
        &mut self,
        part: Ranked,
        abandoned: &mut BTreeSet<Ticket>,
        env: &mut Env<'_, '_>,
    ) {
        let refused = self.parts.get(&part).map_or(&[][..], |of| &of.refused[..]);
        let is_refused = |action: &A| refused.iter().any(|(id, _)| *id == action.id()) && action.has_conditions(part);
        let refused: Vec<RicActionId> = self.actions.iter().filter(|of| is_refused(of)).map(A::id).collect();
        if self.is_answered || refused.is_empty() {
            return;
        }
        let mut unable = self.unable.clone();
        unable.insert(part);
        if let Ok(divided) = M::divide(self.station, &self.spec, &unable, env)
            && refused.iter().all(|id| divided.actions.iter().any(|action| action.id() == *id))
        {
            self.unable = unable;
            self.take_over::<M>(divided.actions, abandoned, env);
        }
    }

    /// Takes over actions that are divided again, and subscribes to the parts that are asked for something else now.
    fn take_over<M: MergedModel<Action = A>>(
        &mut self,
        actions: Vec<A>,
        abandoned: &mut BTreeSet<Ticket>,
        env: &mut Env<'_, '_>,
    ) {
        for again in actions {
            if let Some(action) = self.actions.iter_mut().find(|action| action.id() == again.id()) {
                action.renew(again);
            }
        }
        let mut parts = self.wanted();
        parts.extend(self.parts.keys());
        for part in parts {
            let requests = self.requests(part);
            if self.parts.get(&part).is_some_and(|known| known.asked == requests) {
                continue;
            }
            if let Some(before) = self.parts.remove(&part) {
                before.end(abandoned, env.ric);
            }
            if !requests.is_empty() {
                self.ask::<M>(part, env);
            }
        }
        self.progress::<M>(env);
    }

    /// Answers the controller once all parts have answered. An action is admitted if all its parts admit it. Returns whether the
    /// subscription goes on.
    fn answer(&mut self, env: &mut Env<'_, '_>) -> bool {
        if self.is_answered || self.parts.values().any(|part| matches!(part.state, PartState::Requested(_))) {
            return true;
        }
        self.is_answered = true;
        for part in self.parts.values_mut() {
            self.refused.append(&mut part.refused);
        }
        self.refused.sort_by_key(|(id, _)| id.0);
        self.refused.dedup_by_key(|(id, _)| id.0);
        let refused = &self.refused;
        self.actions.retain(|action| !refused.iter().any(|(id, _)| *id == action.id()));
        let answer = match (&self.actions[..], &refused[..]) {
            ([], [(_, cause), ..]) => Err(*cause),
            ([], []) => Err(UNAVAILABLE),
            (actions, refused) => {
                let admitted = actions.iter().map(DividedAction::id).collect();
                Ok(Admission { admitted, not_admitted: refused.to_vec() })
            }
        };
        let goes_on = answer.is_ok();
        env.stations[self.station].send(self.function, Outgoing::Subscribed { key: self.key, answer });
        goes_on
    }

    /// Sends the reports for which no part is waited for.
    fn progress<M: MergedModel<Action = A>>(&mut self, env: &mut Env<'_, '_>) {
        (0..self.actions.len()).for_each(|action| M::progress(self, action, env));
    }

    /// Sends a report of an action.
    pub fn send(&self, action: RicActionId, header: &[u8], message: &[u8], env: &mut Env<'_, '_>) {
        let station = &mut env.stations[self.station];
        let mut shared = station.shared.lock();
        let of = (self.key, action);
        station.has_outgoing |= shared.outbox.report(env.agents, self.function, of, header, message);
    }
}
