//! Subscriptions to base stations, which tenants share.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use ferric::agent::{Admission, RequestKey};
use ferric::e2::{NodeId, SubscriptionId, SubscriptionOrder, SubscriptionSpec, Ticket};
use ferric::e2ap::{Cause, RanFunctionId, RicActionId};
use ferric::server::IappContext;

use crate::node::View;
use crate::share::{Usage, Usages, octets_of};

/// The subscriptions of the RIC.
pub(crate) trait Requests {
    /// Subscribes to a RAN function of a node.
    ///
    /// # Errors
    /// The reason why the RIC refuses.
    fn subscribe(&mut self, node: NodeId, function: RanFunctionId, order: SubscriptionOrder) -> Result<Ticket, String>;

    /// Deletes a subscription.
    fn unsubscribe(&mut self, id: SubscriptionId);
}

impl Requests for IappContext<'_> {
    fn subscribe(&mut self, node: NodeId, function: RanFunctionId, order: SubscriptionOrder) -> Result<Ticket, String> {
        IappContext::subscribe(self, node, function, order).map_err(|misuse| misuse.to_string())
    }

    fn unsubscribe(&mut self, id: SubscriptionId) {
        // fails only for one that has ended
        let _ = IappContext::unsubscribe(self, id);
    }
}

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
    spec: Arc<SubscriptionSpec>,
    state: State,
    pub subscribers: Vec<Subscriber>,
    /// The tenant that has asked for it first; without subscribers it counts for this one until the base station answers.
    first: Option<usize>,
    /// Whether the app itself receives the reports.
    pub is_own: bool,
    /// Whether it has one subscriber only.
    is_single: bool,
}

impl Subscription {
    /// The tenant that it counts for although that one has left it.
    fn left_by(&self) -> Option<usize> {
        let is_left = self.subscribers.is_empty() && !self.is_own && self.state.id().is_none();
        self.first.filter(|_| is_left)
    }

    /// The tenants that it counts for, each as often as it has it.
    fn tenants(&self) -> impl Iterator<Item = usize> {
        self.subscribers.iter().map(|subscriber| subscriber.tenant).chain(self.left_by())
    }

    /// What subscribers may share.
    fn key(&self) -> Option<Key> {
        (!self.is_single).then(|| (self.node, self.function, self.spec.clone()))
    }
}

/// What equal subscriptions have in common.
type Key = (NodeId, RanFunctionId, Arc<SubscriptionSpec>);

/// All subscriptions of the app.
#[derive(Debug, Default)]
pub(crate) struct Subscriptions {
    by_node: BTreeMap<NodeId, Vec<Subscription>>,
    /// The place of each active one in the list of its node.
    active: HashMap<SubscriptionId, (NodeId, usize)>,
    requested: HashMap<Ticket, NodeId>,
    /// The place of each that subscribers may share, in the list of its node.
    shared: HashMap<Key, usize>,
    usages: Usages,
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
        ric: &mut dyn Requests,
    ) -> Result<Option<Admission>, String> {
        let spec = Arc::new(spec);
        let at = self.shared.get(&(node, function, spec.clone()));
        if let Some(known) = at.and_then(|at| self.by_node.get_mut(&node)?.get_mut(*at)) {
            let octets = octets_of(&spec);
            known.left_by().into_iter().for_each(|tenant| self.usages.remove(node, tenant, octets));
            subscriber.iter().for_each(|subscriber| self.usages.add(node, subscriber.tenant, octets));
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
        ric: &mut dyn Requests,
    ) -> Result<(), String> {
        self.request(node, function, Arc::new(spec), Some(subscriber), true, ric)
    }

    fn request(
        &mut self,
        node: NodeId,
        function: RanFunctionId,
        spec: Arc<SubscriptionSpec>,
        subscriber: Option<Subscriber>,
        is_single: bool,
        ric: &mut dyn Requests,
    ) -> Result<(), String> {
        // a node that reconnects is subscribed to again; what requires consent is not shared with other apps of the RIC
        let order = SubscriptionOrder { restore: false, consent: is_single, ..(*spec).clone().into() };
        let ticket = ric.subscribe(node, function, order)?;
        self.requested.insert(ticket, node);
        let subscription = Subscription {
            node,
            function,
            spec,
            state: State::Requested(ticket),
            is_own: subscriber.is_none(),
            is_single,
            first: subscriber.as_ref().map(|subscriber| subscriber.tenant),
            subscribers: subscriber.into_iter().collect(),
        };
        let octets = octets_of(&subscription.spec);
        subscription.tenants().for_each(|tenant| self.usages.add(node, tenant, octets));
        let all = self.by_node.entry(node).or_default();
        if let Some(key) = subscription.key() {
            self.shared.insert(key, all.len());
        }
        all.push(subscription);
        Ok(())
    }

    /// Removes the subscribers that `is_gone` selects of a node, and subscriptions without any.
    pub fn remove(&mut self, node: NodeId, is_gone: impl Fn(&Subscriber) -> bool, ric: &mut dyn Requests) {
        let mut at = self.of(node).len();
        while let Some(before) = at.checked_sub(1) {
            at = before;
            let Some(known) = self.by_node.get_mut(&node).and_then(|all| all.get_mut(at)) else { return };
            let octets = octets_of(&known.spec);
            let was_left = known.left_by().is_some();
            known.subscribers.retain(|subscriber| {
                let is_gone = is_gone(subscriber);
                if is_gone {
                    self.usages.remove(node, subscriber.tenant, octets);
                }
                !is_gone
            });
            let left_by = known.left_by().filter(|_| !was_left);
            left_by.into_iter().for_each(|tenant| self.usages.add(node, tenant, octets));
            let is_used = known.is_own || !known.subscribers.is_empty();
            // others are deleted once the node has answered
            if let (State::Active(id, _), false) = (&known.state, is_used) {
                ric.unsubscribe(*id);
                self.take(node, at);
            }
        }
    }

    /// Removes the subscriptions of a lost node.
    pub fn forget_node(&mut self, node: NodeId) {
        for subscription in self.by_node.remove(&node).into_iter().flatten() {
            self.forget(&subscription);
            match subscription.state {
                State::Requested(ticket) => drop(self.requested.remove(&ticket)),
                State::Active(id, _) => drop(self.active.remove(&id)),
            }
        }
    }

    /// Removes what is known of a subscription by its key and by tenant.
    fn forget(&mut self, subscription: &Subscription) {
        let octets = octets_of(&subscription.spec);
        subscription.tenants().for_each(|tenant| self.usages.remove(subscription.node, tenant, octets));
        subscription.key().and_then(|key| self.shared.remove(&key));
    }

    /// Records that a subscription is active, and returns it, unless it is not needed any more.
    pub fn subscribed(
        &mut self,
        ticket: Ticket,
        id: SubscriptionId,
        admission: Admission,
        ric: &mut dyn Requests,
    ) -> Option<&Subscription> {
        let (node, at) = self.find_requested(ticket)?;
        let known = self.by_node.get_mut(&node)?.get_mut(at)?;
        let octets = octets_of(&known.spec);
        known.left_by().into_iter().for_each(|tenant| self.usages.remove(node, tenant, octets));
        known.state = State::Active(id, admission);
        self.active.insert(id, (node, at));
        self.remove(node, |_| false, ric);
        self.get(id)
    }

    /// Removes a subscription that was refused, and returns it.
    pub fn failed(&mut self, ticket: Ticket) -> Option<Subscription> {
        let (node, at) = self.find_requested(ticket)?;
        self.take(node, at)
    }

    /// Removes a subscription that has ended, and returns it.
    pub fn ended(&mut self, id: SubscriptionId) -> Option<Subscription> {
        let (node, at) = *self.active.get(&id)?;
        self.take(node, at)
    }

    /// The place of a subscription that was requested and is answered now.
    fn find_requested(&mut self, ticket: Ticket) -> Option<(NodeId, usize)> {
        let node = self.requested.remove(&ticket)?;
        let at = self.of(node).iter().position(|known| known.state == State::Requested(ticket))?;
        Some((node, at))
    }

    /// Removes one. The last one of the node takes its place: tenants that come and go do not make the others' places be searched.
    fn take(&mut self, node: NodeId, at: usize) -> Option<Subscription> {
        let all = self.by_node.get_mut(&node).filter(|all| at < all.len())?;
        let subscription = all.swap_remove(at);
        let moved = all.get(at).map(|moved| (moved.state.id(), moved.key()));
        if all.is_empty() {
            self.by_node.remove(&node);
        }
        self.forget(&subscription);
        if let Some(id) = subscription.state.id() {
            self.active.remove(&id);
        }
        if let Some((id, key)) = moved {
            self.active.extend(id.map(|id| (id, (node, at))));
            self.shared.extend(key.map(|key| (key, at)));
        }
        Some(subscription)
    }

    /// The subscriptions to a node.
    fn of(&self, node: NodeId) -> &[Subscription] {
        self.by_node.get(&node).map_or(&[], Vec::as_slice)
    }

    /// The subscription of an indication.
    pub fn get(&self, id: SubscriptionId) -> Option<&Subscription> {
        self.active.get(&id).and_then(|(node, at)| self.of(*node).get(*at))
    }

    /// The subscribers of a tenant to a RAN function of a node.
    pub fn of_tenant(&self, node: NodeId, function: RanFunctionId, tenant: usize) -> impl Iterator<Item = &Subscriber> {
        let of_function = self.of(node).iter().filter(move |known| known.function == function);
        let active = of_function.filter(|known| known.state.id().is_some());
        active.flat_map(|known| &known.subscribers).filter(move |subscriber| subscriber.tenant == tenant)
    }

    /// Whether the app itself receives the reports of a function of a node, or has asked for them.
    pub fn is_own(&self, node: NodeId, function: RanFunctionId) -> bool {
        self.of(node).iter().any(|known| known.function == function && known.is_own)
    }

    /// The number of subscriptions to a node.
    pub fn count(&self, node: NodeId) -> usize {
        self.of(node).len()
    }

    /// The subscriptions that a tenant has, or has had until the node answers: each as often as the tenant has it.
    pub fn usage_of(&self, node: NodeId, tenant: usize) -> Usage {
        self.usages.of(node, tenant)
    }
}

#[cfg(test)]
mod tests;
