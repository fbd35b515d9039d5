//! Equal subscriptions of several xApps are one subscription of the RIC.

use std::collections::HashMap;
use std::sync::Arc;

use ferric::e2::{NodeId, SubscriptionId, SubscriptionSpec, Ticket};
use ferric::e2ap::{Cause, RanFunctionId, RicActionId, RicActionType, RicRequestId};

use super::links::EndpointId;

/// A subscription of the RIC in [`Merging`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct MergedId(u32);

/// What is known of a subscription when its node has answered.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Active {
    pub subscription: SubscriptionId,
    pub request_id: RicRequestId,
    pub admitted: Vec<RicActionId>,
    pub not_admitted: Vec<(RicActionId, Cause)>,
}

/// An xApp's share of a subscription.
#[derive(Debug)]
pub(crate) struct Holder<O> {
    /// Where it receives indications.
    pub endpoint: Option<EndpointId>,
    /// Whose it is.
    pub owner: O,
}

/// A subscription of the RIC.
#[derive(Debug)]
pub(crate) struct Merged<O> {
    pub node: NodeId,
    pub function: RanFunctionId,
    pub spec: Arc<SubscriptionSpec>,
    /// `None` until the node has answered.
    pub active: Option<Active>,
    pub holders: Vec<Holder<O>>,
}

impl<O> Merged<O> {
    /// The endpoints of its holders, each once.
    pub fn endpoints(&self) -> Vec<EndpointId> {
        let mut endpoints: Vec<_> = self.holders.iter().filter_map(|holder| holder.endpoint).collect();
        endpoints.sort_by_key(|endpoint| endpoint.0);
        endpoints.dedup();
        endpoints
    }
}

type Key = (NodeId, RanFunctionId, Arc<SubscriptionSpec>);

/// All subscriptions. `O` is the owner of a share.
#[derive(Debug)]
pub(crate) struct Merging<O> {
    all: HashMap<MergedId, Merged<O>>,
    keys: HashMap<Key, MergedId>,
    tickets: HashMap<Ticket, MergedId>,
    subscriptions: HashMap<SubscriptionId, MergedId>,
    last: u32,
}

impl<O> Default for Merging<O> {
    fn default() -> Self {
        Merging {
            all: HashMap::new(),
            keys: HashMap::new(),
            tickets: HashMap::new(),
            subscriptions: HashMap::new(),
            last: 0,
        }
    }
}

/// Whether equal subscriptions may be one: only reports. An insert needs one xApp to answer, a policy one owner.
fn can_be_shared(spec: &SubscriptionSpec) -> bool {
    spec.actions.iter().all(|action| action.kind == RicActionType::Report)
}

impl<O> Merging<O> {
    /// The subscription that an equal one can be a share of.
    pub fn equal(&self, node: NodeId, function: RanFunctionId, spec: &Arc<SubscriptionSpec>) -> Option<MergedId> {
        self.keys.get(&(node, function, Arc::clone(spec))).copied()
    }

    pub fn get_mut(&mut self, id: MergedId) -> Option<&mut Merged<O>> {
        self.all.get_mut(&id)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Merged<O>> {
        self.all.values()
    }

    /// Adds a subscription that was requested.
    pub fn add(&mut self, ticket: Ticket, merged: Merged<O>) -> MergedId {
        self.last = self.last.wrapping_add(1);
        let id = MergedId(self.last);
        if can_be_shared(&merged.spec) {
            self.keys.insert((merged.node, merged.function, Arc::clone(&merged.spec)), id);
        }
        self.tickets.insert(ticket, id);
        self.all.insert(id, merged);
        id
    }

    /// The subscription that was requested with a ticket.
    pub fn answered(&mut self, ticket: Ticket) -> Option<MergedId> {
        self.tickets.remove(&ticket)
    }

    /// Notes that a subscription was set up.
    pub fn activate(&mut self, id: MergedId, active: Active) {
        if let Some(merged) = self.all.get_mut(&id) {
            self.subscriptions.insert(active.subscription, id);
            merged.active = Some(active);
        }
    }

    /// Finds a subscription that was set up.
    pub fn find(&self, subscription: SubscriptionId) -> Option<MergedId> {
        self.subscriptions.get(&subscription).copied()
    }

    /// Notes that a subscription is one of another node from now on: that with the same identity.
    pub fn move_to(&mut self, id: MergedId, node: NodeId) {
        let Some(merged) = self.all.get_mut(&id) else { return };
        let (function, spec) = (merged.function, Arc::clone(&merged.spec));
        let before = std::mem::replace(&mut merged.node, node);
        if self.keys.get(&(before, function, Arc::clone(&spec))) == Some(&id) {
            self.keys.remove(&(before, function, Arc::clone(&spec)));
            self.keys.insert((node, function, spec), id);
        }
    }

    /// Removes a subscription.
    pub fn remove(&mut self, id: MergedId) -> Option<Merged<O>> {
        let merged = self.all.remove(&id)?;
        let key = (merged.node, merged.function, Arc::clone(&merged.spec));
        if self.keys.get(&key) == Some(&id) {
            self.keys.remove(&key);
        }
        if let Some(active) = &merged.active {
            self.subscriptions.remove(&active.subscription);
        }
        Some(merged)
    }

    /// Removes the shares that `is_removed` names. Returns them, and whether none is left.
    pub fn remove_shares(
        &mut self,
        id: MergedId,
        mut is_removed: impl FnMut(&Holder<O>) -> bool,
    ) -> (Vec<Holder<O>>, bool) {
        let Some(merged) = self.all.get_mut(&id) else { return (Vec::new(), false) };
        let removed = merged.holders.extract_if(.., |holder| is_removed(holder)).collect();
        (removed, merged.holders.is_empty())
    }

    /// The subscriptions of which a share has a property.
    pub fn with_share(&self, mut has: impl FnMut(&Holder<O>) -> bool) -> Vec<MergedId> {
        self.all.iter().filter(|(_, merged)| merged.holders.iter().any(&mut has)).map(|(id, _)| *id).collect()
    }
}

#[cfg(test)]
mod tests {
    use ferric::e2::Action;

    use super::*;

    fn spec(kind: RicActionType) -> Arc<SubscriptionSpec> {
        let action = Action { id: RicActionId(1), kind, definition: None, subsequent: None };
        Arc::new(SubscriptionSpec { event_trigger: vec![1], actions: vec![action] })
    }

    fn merged(kind: RicActionType, holders: Vec<Holder<u8>>) -> Merged<u8> {
        Merged { node: NodeId(1), function: RanFunctionId(2), spec: spec(kind), active: None, holders }
    }

    fn holder(endpoint: u32, owner: u8) -> Holder<u8> {
        Holder { endpoint: Some(EndpointId(endpoint)), owner }
    }

    fn active(subscription: u32) -> Active {
        Active {
            subscription: SubscriptionId(subscription),
            request_id: RicRequestId { requestor: 1, instance: 2 },
            admitted: vec![],
            not_admitted: vec![],
        }
    }

    #[test]
    fn only_reports_are_shared() {
        for (kind, is_shared) in
            [(RicActionType::Report, true), (RicActionType::Insert, false), (RicActionType::Policy, false)]
        {
            let mut merging = Merging::default();
            let id = merging.add(Ticket(1), merged(kind, vec![]));
            let equal = merging.equal(NodeId(1), RanFunctionId(2), &spec(kind));
            assert_eq!(equal, is_shared.then_some(id), "{kind:?}");
        }
    }

    #[test]
    fn subscription_leaves_no_trace() {
        let mut merging = Merging::default();
        let id = merging.add(Ticket(1), merged(RicActionType::Report, vec![holder(7, 1), holder(7, 2), holder(8, 3)]));
        assert_eq!((merging.answered(Ticket(1)), merging.answered(Ticket(1))), (Some(id), None));
        merging.activate(id, active(9));
        assert_eq!(merging.find(SubscriptionId(9)), Some(id));
        assert_eq!(merging.get_mut(id).unwrap().endpoints(), [EndpointId(7), EndpointId(8)]);
        merging.move_to(id, NodeId(5));
        assert_eq!(merging.equal(NodeId(5), RanFunctionId(2), &spec(RicActionType::Report)), Some(id));
        assert_eq!(merging.with_share(|holder| holder.owner == 2), [id]);
        let mut removed = |is_removed: fn(&Holder<u8>) -> bool| {
            let (holders, is_unused) = merging.remove_shares(id, is_removed);
            (holders.into_iter().map(|holder| holder.owner).collect::<Vec<_>>(), is_unused)
        };
        assert_eq!(removed(|holder| holder.owner < 3), (vec![1, 2], false));
        assert_eq!(removed(|_| true), (vec![3], true));
        assert!(merging.remove(id).is_some() && merging.remove(id).is_none());
        assert_eq!((merging.all.len(), merging.find(SubscriptionId(9))), (0, None));
        assert!(merging.keys.is_empty() && merging.tickets.is_empty() && merging.subscriptions.is_empty());
    }
}
