//! What the controller records of each request until it has ended: a subscription, a control or a query.
//!
//! The procedures use these types; the types use none of the procedures.

use std::sync::Arc;

use e2ap::{Cause, GlobalE2NodeId, RanFunctionId, RicActionId, RicTimeToWait};

use super::ids::{Consumer, NodeId, Ticket};
use super::spec::SubscriptionSpec;
use crate::{ChangeResult, SubscriptionChange, SubscriptionTimes, Time};

/// A request that has a RIC request id.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)] // each is in a box, and most are subscriptions
pub(super) enum Request {
    Subscription(Subscription),
    Control(Control),
    Query(Query),
}

impl Request {
    pub fn node(&self) -> NodeId {
        match self {
            Request::Subscription(subscription) => subscription.node,
            Request::Control(control) => control.node,
            Request::Query(query) => query.node,
        }
    }

    /// The RAN function that the request addresses.
    pub fn function(&self) -> RanFunctionId {
        match self {
            Request::Subscription(subscription) => subscription.function,
            Request::Control(control) => control.function,
            Request::Query(query) => query.function,
        }
    }
}

/// A control that awaits its answer.
#[derive(Debug)]
pub(super) struct Control {
    pub node: NodeId,
    pub function: RanFunctionId,
    pub consumer: Consumer,
    pub ticket: Ticket,
    /// Whether an acknowledgement was requested; if not, the timeout means success.
    pub ack: bool,
    pub sent: Time,
    /// Its header and message, if they are kept for [`Event::ControlEnded`](super::Event::ControlEnded).
    pub content: Option<Box<(Vec<u8>, Vec<u8>)>>,
}

impl Control {
    /// Octets kept of it.
    pub fn kept_octets(&self) -> usize {
        self.content.as_ref().map_or(0, |content| content.0.len() + content.1.len())
    }
}

/// A query that awaits its answer.
#[derive(Debug)]
pub(super) struct Query {
    pub node: NodeId,
    pub function: RanFunctionId,
    pub consumer: Consumer,
    pub ticket: Ticket,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SubscriptionState {
    Requested,
    Active,
    /// The node is lost and has until then to set up again.
    Suspended {
        until: Time,
        key: GlobalE2NodeId,
    },
    /// The node has set up again and the request was repeated; `until` dates from the loss.
    Restoring {
        until: Time,
    },
    Deleting,
}

/// A subscription towards a node.
#[derive(Debug)]
pub(super) struct Subscription {
    /// When it was requested first.
    pub requested: Time,
    pub node: NodeId,
    pub function: RanFunctionId,
    pub spec: Arc<SubscriptionSpec>,
    pub times: SubscriptionTimes,
    /// The execution order of actions. It is not sent to a node whose version does not have it.
    pub execution_order: Vec<(RicActionId, u8)>,
    /// Whether the consumer requested an execution order: an action that a change adds always has one.
    pub is_ordered: bool,
    /// Whether its only consumer must consent to a change that the node requires.
    pub consent: bool,
    /// Octets that count against the quota of each holder.
    pub octets: usize,
    pub state: SubscriptionState,
    /// The consumers that receive its indications.
    pub consumers: Vec<Consumer>,
    /// Consumers, active or waiting, whose part in it ends when the node is lost.
    pub fleeting: Vec<Consumer>,
    /// Consumers that have not repeated their subscribe command since it was restored.
    pub unclaimed: Vec<Consumer>,
    /// The consumers that await the response.
    pub waiting: Vec<(Consumer, Ticket)>,
    pub admitted: Vec<RicActionId>,
    pub not_admitted: Vec<(RicActionId, Cause)>,
    /// The change that was requested last, until it is answered.
    pub change: Option<Box<PendingChange>>,
    /// A change that the node requires and that awaits the consumer's consent.
    pub required: Option<Box<RequiredChange>>,
}

impl Subscription {
    /// The consumers whose quotas it counts against.
    pub fn holders(&self) -> impl Iterator<Item = Consumer> + use<'_> {
        self.consumers.iter().copied().chain(self.waiting.iter().map(|(consumer, _)| *consumer))
    }

    /// Whether an indication of `node`'s `function` belongs to it.
    #[inline]
    pub fn takes(&self, node: NodeId, function: RanFunctionId) -> bool {
        self.is_active() && self.node == node && self.function == function
    }

    #[inline]
    pub fn is_active(&self) -> bool {
        matches!(self.state, SubscriptionState::Active)
    }

    /// Whether the node has not answered the subscription request yet.
    pub fn is_awaited(&self) -> bool {
        matches!(self.state, SubscriptionState::Requested | SubscriptionState::Restoring { .. })
    }

    /// Whether it has a start time, an end time or an execution order, which E2AP has since v3.
    pub fn needs_v3(&self) -> bool {
        self.times != SubscriptionTimes::default() || self.is_ordered
    }

    /// Whether its spec is all that it consists of, so that other consumers may share it.
    pub fn is_plain(&self) -> bool {
        !self.needs_v3() && !self.consent
    }

    /// Removes the consumer, whether active or waiting.
    pub fn remove_consumer(&mut self, consumer: Consumer) {
        self.consumers.retain(|other| *other != consumer);
        self.fleeting.retain(|other| *other != consumer);
        self.unclaimed.retain(|other| *other != consumer);
        self.waiting.retain(|(other, _)| *other != consumer);
        if let Some(change) = &mut self.change {
            change.waiting = change.waiting.filter(|(waiting, _)| *waiting != consumer);
        }
    }

    /// Applies the part of a change that the node has made. Actions that were not admitted at first are dropped.
    pub fn apply(&mut self, change: &SubscriptionChange, result: &ChangeResult) {
        let spec = Arc::make_mut(&mut self.spec);
        if let Some(trigger) = &change.event_trigger {
            spec.event_trigger.clone_from(trigger);
        }
        self.admitted.retain(|id| !result.removed.contains(id));
        spec.actions.retain(|action| self.admitted.contains(&action.id));
        for change in change.modify.iter().filter(|change| result.modified.contains(&change.id)) {
            if let Some(action) = spec.actions.iter_mut().find(|action| action.id == change.id) {
                action.definition = change.definition.clone().or(action.definition.take());
                action.subsequent = change.subsequent.or(action.subsequent);
            }
            if let Some(place) = change.execution_order {
                self.execution_order.retain(|(id, _)| *id != change.id);
                self.execution_order.push((change.id, place));
            }
        }
        for added in change.add.iter().filter(|added| result.added.contains(&added.action.id)) {
            self.admitted.push(added.action.id);
            self.execution_order.push((added.action.id, added.execution_order));
            spec.actions.push(added.action.clone());
        }
        self.execution_order.retain(|(id, _)| self.admitted.contains(id));
        self.not_admitted.clear();
    }

    /// Applies a change that the node required and the RIC has agreed to.
    pub fn apply_required(&mut self, removed: &[(RicActionId, Cause)], modified: &[(RicActionId, RicTimeToWait)]) {
        let spec = Arc::make_mut(&mut self.spec);
        let gone = |id: RicActionId| removed.iter().any(|(other, _)| *other == id);
        spec.actions.retain(|action| !gone(action.id));
        self.admitted.retain(|id| !gone(*id));
        self.execution_order.retain(|(id, _)| !gone(*id));
        for (id, wait) in modified {
            let action = spec.actions.iter_mut().find(|action| action.id == *id);
            if let Some(subsequent) = action.and_then(|action| action.subsequent.as_mut()) {
                subsequent.time_to_wait = *wait;
            }
        }
    }
}

/// A change that was requested from the node.
#[derive(Debug)]
pub(super) struct PendingChange {
    /// The consumer that awaits the outcome; none after the timeout.
    pub waiting: Option<(Consumer, Ticket)>,
    pub change: SubscriptionChange,
}

impl PendingChange {
    pub fn is_awaited(&self) -> bool {
        self.waiting.is_some()
    }
}

/// A change that a node requires and that awaits the consumer's consent.
#[derive(Debug)]
pub(super) struct RequiredChange {
    pub modify: Vec<(RicActionId, RicTimeToWait)>,
    pub remove: Vec<(RicActionId, Cause)>,
}

impl RequiredChange {
    pub fn names(&self, id: RicActionId) -> bool {
        self.modify.iter().any(|(other, _)| *other == id) || self.remove.iter().any(|(other, _)| *other == id)
    }
}
