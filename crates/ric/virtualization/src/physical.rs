//! Subscriptions to base stations, which tenants share.

use std::collections::HashMap;

use ferric::agent::{Admission, RequestKey};
use ferric::e2::{NodeId, SubscriptionId, SubscriptionOrder, SubscriptionSpec, Ticket};
use ferric::e2ap::{Cause, RanFunctionId, RicActionId};
use ferric::server::IappContext;

use crate::node::View;

/// Who receives the reports of a subscription.
#[derive(Clone, Debug)]
pub(crate) struct Subscriber {
    pub tenant: usize,
    pub key: RequestKey,
    pub view: View,
    /// Actions that are not passed on.
    pub refused: Vec<(RicActionId, Cause)>,
}

impl Subscriber {
    /// What the tenant has of its subscription, if the base station has answered with `admission`.
    pub fn admission(&self, admission: &Admission) -> Admission {
        let mut own = admission.clone();
        own.not_admitted.extend_from_slice(&self.refused);
        own
    }
}

#[derive(Clone, Debug, PartialEq)]
enum State {
    Requested(Ticket),
    Active(SubscriptionId, Admission),
}

impl State {
    fn id(&self) -> Option<SubscriptionId> {
        match self {
            State::Active(id, _) => Some(*id),
            State::Requested(_) => None,
        }
    }
}

/// A subscription to a base station.
#[derive(Debug)]
pub(crate) struct Subscription {
    pub node: NodeId,
    pub function: RanFunctionId,
    spec: SubscriptionSpec,
    state: State,
    pub subscribers: Vec<Subscriber>,
    /// Whether the app itself receives the reports.
    pub is_own: bool,
    /// Whether it has one subscriber only.
    is_single: bool,
}

/// All subscriptions of the app.
#[derive(Debug, Default)]
pub(crate) struct Subscriptions {
    all: Vec<Subscription>,
    active: HashMap<SubscriptionId, usize>,
}

impl Subscriptions {
    /// Adds a subscriber, or the app itself, to an equal subscription or to a new one. Returns the admission of an equal one that the
    /// base station has answered.
    ///
    /// # Errors
    /// The reason why the RIC refuses to subscribe.
    pub fn add(
        &mut self,
        node: NodeId,
        function: RanFunctionId,
        spec: SubscriptionSpec,
        subscriber: Option<Subscriber>,
        ric: &mut IappContext<'_>,
    ) -> Result<Option<Admission>, String> {
        let equal = |known: &&mut Subscription| {
            known.node == node && known.function == function && known.spec == spec && !known.is_single
        };
        if let Some(known) = self.all.iter_mut().find(equal) {
            known.is_own |= subscriber.is_none();
            known.subscribers.extend(subscriber);
            return Ok(match &known.state {
                State::Active(_, admission) => Some(admission.clone()),
                State::Requested(_) => None,
            });
        }
        self.request(node, function, spec, subscriber, false, ric).map(|()| None)
    }

    /// Adds a subscription of its own for a subscriber: the node reports to it what it reports once, at the begin. The node's requests
    /// to change it are [`RequestEvent::ChangeRequired`](ferric::e2::RequestEvent::ChangeRequired).
    ///
    /// # Errors
    /// The reason why the RIC refuses to subscribe.
    pub fn add_single(
        &mut self,
        node: NodeId,
        function: RanFunctionId,
        spec: SubscriptionSpec,
        subscriber: Subscriber,
        ric: &mut IappContext<'_>,
    ) -> Result<(), String> {
        self.request(node, function, spec, Some(subscriber), true, ric)
    }

    fn request(
        &mut self,
        node: NodeId,
        function: RanFunctionId,
        spec: SubscriptionSpec,
        subscriber: Option<Subscriber>,
        is_single: bool,
        ric: &mut IappContext<'_>,
    ) -> Result<(), String> {
        // a node that reconnects is subscribed to again; what requires consent is not shared with other apps of the RIC
        let order = SubscriptionOrder { restore: false, consent: is_single, ..spec.clone().into() };
        let ticket = ric.subscribe(node, function, order).map_err(|misuse| misuse.to_string())?;
        self.all.push(Subscription {
            node,
            function,
            spec,
            state: State::Requested(ticket),
            is_own: subscriber.is_none(),
            is_single,
            subscribers: subscriber.into_iter().collect(),
        });
        Ok(())
    }

    /// Removes the subscribers that `is_gone` selects of a node, and subscriptions without any.
    pub fn remove(&mut self, node: NodeId, is_gone: impl Fn(&Subscriber) -> bool, ric: &mut IappContext<'_>) {
        for subscription in self.all.iter_mut().filter(|subscription| subscription.node == node) {
            subscription.subscribers.retain(|subscriber| !is_gone(subscriber));
        }
        self.all.retain(|subscription| {
            let is_used = subscription.is_own || !subscription.subscribers.is_empty();
            match &subscription.state {
                State::Active(id, _) if !is_used => {
                    // fails only for one that has ended
                    let _ = ric.unsubscribe(*id);
                    false
                }
                // deleted once the node has answered
                _ => true,
            }
        });
        self.index();
    }

    /// Removes the subscriptions of a lost node.
    pub fn forget_node(&mut self, node: NodeId) {
        self.all.retain(|subscription| subscription.node != node);
        self.index();
    }

    /// Records that a subscription is active, and returns it, unless it is not needed any more.
    pub fn subscribed(
        &mut self,
        ticket: Ticket,
        id: SubscriptionId,
        admission: Admission,
        ric: &mut IappContext<'_>,
    ) -> Option<&Subscription> {
        let subscription = self.all.iter_mut().find(|known| known.state == State::Requested(ticket))?;
        subscription.state = State::Active(id, admission);
        let node = subscription.node;
        self.remove(node, |_| false, ric);
        self.get(id)
    }

    /// Removes a subscription that was refused, and returns it.
    pub fn failed(&mut self, ticket: Ticket) -> Option<Subscription> {
        self.take(|known| known.state == State::Requested(ticket))
    }

    /// Removes a subscription that has ended, and returns it.
    pub fn ended(&mut self, id: SubscriptionId) -> Option<Subscription> {
        self.take(|known| known.state.id() == Some(id))
    }

    fn take(&mut self, matches: impl Fn(&Subscription) -> bool) -> Option<Subscription> {
        let at = self.all.iter().position(matches)?;
        let subscription = self.all.swap_remove(at);
        self.index();
        Some(subscription)
    }

    /// The subscription of an indication.
    pub fn get(&self, id: SubscriptionId) -> Option<&Subscription> {
        self.active.get(&id).map(|at| &self.all[*at])
    }

    /// The subscribers of a tenant to a RAN function of a node.
    pub fn of_tenant(&self, node: NodeId, function: RanFunctionId, tenant: usize) -> impl Iterator<Item = &Subscriber> {
        let of_function = self.all.iter().filter(move |known| known.node == node && known.function == function);
        let active = of_function.filter(|known| known.state.id().is_some());
        active.flat_map(|known| &known.subscribers).filter(move |subscriber| subscriber.tenant == tenant)
    }

    /// Whether the app itself receives the reports of a function of a node, or has asked for them.
    pub fn is_own(&self, node: NodeId, function: RanFunctionId) -> bool {
        self.all.iter().any(|known| known.node == node && known.function == function && known.is_own)
    }

    /// The number of subscriptions to a node.
    pub fn count(&self, node: NodeId) -> usize {
        self.all.iter().filter(|subscription| subscription.node == node).count()
    }

    fn index(&mut self) {
        self.active.clear();
        for (at, subscription) in self.all.iter().enumerate() {
            if let Some(id) = subscription.state.id() {
                self.active.insert(id, at);
            }
        }
    }
}
