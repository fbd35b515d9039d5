//! The requests and subscriptions of a session, so that they can be repeated when a RIC that was lost is back.
//!
//! A subscription keeps the id that the xApp knows. A RIC that is back assigns another id, so that ids are translated
//! from then on; before the first loss both are the same.

use std::collections::{BTreeMap, HashMap};

use e2::{NodeId, SubscriptionId, SubscriptionOrder, Ticket};
use e2ap::{GlobalE2NodeId, RanFunctionId};

/// A request without an answer.
#[derive(Clone, Debug)]
pub(super) enum PendingRequest {
    Subscribe {
        node: NodeId,
        function: RanFunctionId,
        order: SubscriptionOrder,
        /// The subscription that it resumes.
        resumes: Option<SubscriptionId>,
    },
    Modify(SubscriptionId),
    Control,
    Query,
}

/// A subscription that exists at the RIC, or is to be resumed.
#[derive(Clone, Debug)]
struct StoredSubscription {
    node: GlobalE2NodeId,
    function: RanFunctionId,
    order: SubscriptionOrder,
    /// The RIC's id; `None` while the RIC is lost, and until it has resumed the subscription.
    remote: Option<SubscriptionId>,
}

/// The requests and subscriptions of a session.
#[derive(Debug, Default)]
pub(super) struct SessionState {
    enabled: bool,
    requests: BTreeMap<Ticket, PendingRequest>,
    subscriptions: BTreeMap<SubscriptionId, StoredSubscription>,
    /// The xApp's ids of subscriptions for which the RIC's id differs.
    local_ids: HashMap<SubscriptionId, SubscriptionId>,
    /// Subscriptions that the xApp has left while the RIC was lost.
    unsubscribed: Vec<SubscriptionId>,
}

/// The meaning of a subscription that was set up.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SubscribedAs {
    /// A new subscription, with its id.
    New(SubscriptionId),
    /// An existing subscription that is resumed, with its node.
    Existing(SubscriptionId, NodeId),
}

impl SessionState {
    pub fn new(enabled: bool) -> Self {
        SessionState { enabled, ..SessionState::default() }
    }

    /// Adds a request.
    pub fn add_request(&mut self, ticket: Ticket, request: impl FnOnce() -> PendingRequest) {
        if self.enabled {
            self.requests.insert(ticket, request());
        }
    }

    /// Removes a request that is answered.
    pub fn take_request(&mut self, ticket: Ticket) -> Option<PendingRequest> {
        self.requests.remove(&ticket)
    }

    /// Returns the xApp's id of a subscription.
    #[inline]
    pub fn local(&self, remote: SubscriptionId) -> SubscriptionId {
        if self.local_ids.is_empty() { remote } else { self.local_ids.get(&remote).copied().unwrap_or(remote) }
    }

    /// Returns the RIC's id of a subscription; `None` while the RIC does not have it.
    pub fn remote(&self, local: SubscriptionId) -> Option<SubscriptionId> {
        self.subscriptions.get(&local).map_or(Some(local), |subscription| subscription.remote)
    }

    /// Handles the answer that a subscription is set up. `key` returns the global id of a node.
    pub fn subscribed(
        &mut self,
        ticket: Ticket,
        remote: SubscriptionId,
        key: impl FnOnce(NodeId) -> Option<GlobalE2NodeId>,
    ) -> SubscribedAs {
        let Some(PendingRequest::Subscribe { node, function, order, resumes }) = self.take_request(ticket) else {
            return SubscribedAs::New(remote);
        };
        if let Some(local) = resumes
            && let Some(subscription) = self.subscriptions.get_mut(&local)
        {
            subscription.remote = Some(remote);
            self.set_local_id(remote, local);
            return SubscribedAs::Existing(local, node);
        }
        let Some(node) = key(node) else { return SubscribedAs::New(self.local(remote)) };
        // an xApp that subscribes for each `NodeUp` gets the existing subscription: from the RIC if the node was lost,
        // else here
        let known = self.local(remote);
        if self.subscriptions.get(&known).is_some_and(|subscription| subscription.remote == Some(remote)) {
            return SubscribedAs::New(known);
        }
        let same = |subscription: &StoredSubscription| {
            subscription.remote.is_none()
                && subscription.node == node
                && subscription.function == function
                && subscription.order == order
        };
        if let Some((local, subscription)) = self.subscriptions.iter_mut().find(|(_, subscription)| same(subscription))
        {
            subscription.remote = Some(remote);
            let local = *local;
            self.set_local_id(remote, local);
            return SubscribedAs::New(local);
        }
        // the id of a subscription that is to be resumed is not assigned again
        let mut local = remote;
        while self.subscriptions.contains_key(&local) {
            local = SubscriptionId(local.0.wrapping_sub(1));
        }
        self.set_local_id(remote, local);
        self.subscriptions.insert(local, StoredSubscription { node, function, order, remote: Some(remote) });
        SubscribedAs::New(local)
    }

    fn set_local_id(&mut self, remote: SubscriptionId, local: SubscriptionId) {
        if remote != local {
            self.local_ids.insert(remote, local);
        }
    }

    /// Removes a subscription that has ended. Returns the xApp's id.
    pub fn ended(&mut self, remote: SubscriptionId) -> SubscriptionId {
        let local = self.local(remote);
        self.local_ids.remove(&remote);
        self.subscriptions.remove(&local);
        local
    }

    /// Removes a subscription that could not be resumed.
    pub fn forget(&mut self, local: SubscriptionId) {
        self.subscriptions.remove(&local);
    }

    /// Removes a subscription at the xApp's request. Returns the RIC's id if the RIC has it.
    pub fn unsubscribe(&mut self, local: SubscriptionId) -> Option<SubscriptionId> {
        let remote = self.remote(local);
        if remote.is_none() {
            self.subscriptions.remove(&local);
            self.unsubscribed.push(local);
        }
        remote
    }

    /// Returns the subscriptions that the xApp has left while the RIC was lost, to be reported as ended.
    pub fn take_unsubscribed(&mut self) -> Vec<SubscriptionId> {
        std::mem::take(&mut self.unsubscribed)
    }

    /// Handles the loss of the RIC. Returns the requests that will not be answered, and the suspended subscriptions.
    /// Requests that resume a subscription are repeated instead.
    pub fn handle_loss(&mut self) -> (BTreeMap<Ticket, PendingRequest>, Vec<SubscriptionId>) {
        self.local_ids.clear();
        let mut suspended = Vec::new();
        for (local, subscription) in &mut self.subscriptions {
            if subscription.remote.take().is_some() {
                suspended.push(*local);
            }
        }
        let mut unanswered = std::mem::take(&mut self.requests);
        unanswered.retain(|_, request| !matches!(request, PendingRequest::Subscribe { resumes: Some(_), .. }));
        (unanswered, suspended)
    }

    /// Returns the subscriptions to resume at a node that is up, except those that the xApp has requested itself.
    pub fn to_resubscribe(
        &self,
        id: NodeId,
        key: GlobalE2NodeId,
    ) -> Vec<(SubscriptionId, RanFunctionId, SubscriptionOrder)> {
        let is_requested = |of: &StoredSubscription| {
            self.requests.values().any(|request| match request {
                PendingRequest::Subscribe { node, function, order, .. } => {
                    (*node, *function) == (id, of.function) && *order == of.order
                }
                _ => false,
            })
        };
        let missing = |subscription: &StoredSubscription| {
            subscription.remote.is_none() && subscription.node == key && !is_requested(subscription)
        };
        let missing = self.subscriptions.iter().filter(|(_, subscription)| missing(subscription));
        missing.map(|(local, subscription)| (*local, subscription.function, subscription.order.clone())).collect()
    }
}

#[cfg(test)]
mod tests {
    use e2::SubscriptionSpec;
    use e2ap::{GnbId, PlmnIdentity};

    use super::*;

    const NODE: NodeId = NodeId(1);
    const FUNCTION: RanFunctionId = RanFunctionId(2);

    fn key() -> GlobalE2NodeId {
        GlobalE2NodeId::gnb(PlmnIdentity::from_codes(1, 1, 2), GnbId::new(1, 22))
    }

    /// Adds a subscription request; the trigger identifies the order.
    fn add_request(state: &mut SessionState, ticket: u32, trigger: u8, resumes: Option<u32>) {
        let order = SubscriptionOrder::from(SubscriptionSpec { event_trigger: vec![trigger], actions: vec![] });
        let resumes = resumes.map(SubscriptionId);
        state.add_request(Ticket(ticket), || PendingRequest::Subscribe {
            node: NODE,
            function: FUNCTION,
            order,
            resumes,
        });
    }

    fn take(state: &mut SessionState, ticket: u32, remote: u32) -> SubscribedAs {
        state.subscribed(Ticket(ticket), SubscriptionId(remote), |_| Some(key()))
    }

    #[test]
    fn ids_stay_when_the_ric_assigns_others() {
        let mut state = SessionState::new(true);
        for ticket in [1, 2] {
            add_request(&mut state, ticket, ticket as u8, None);
            assert_eq!(take(&mut state, ticket, ticket + 10), SubscribedAs::New(SubscriptionId(ticket + 10)));
        }
        add_request(&mut state, 3, 3, None);
        let (unanswered, suspended) = state.handle_loss();
        assert_eq!(unanswered.keys().collect::<Vec<_>>(), [&Ticket(3)]);
        assert_eq!(suspended, [SubscriptionId(11), SubscriptionId(12)]);
        assert_eq!(state.remote(SubscriptionId(11)), None);

        let resumes: Vec<_> = state.to_resubscribe(NODE, key()).into_iter().map(|(local, ..)| local.0).collect();
        assert_eq!(resumes, [11, 12]);
        add_request(&mut state, 4, 1, Some(11));
        assert_eq!(state.to_resubscribe(NODE, key()).len(), 1, "once");
        // the RIC assigns the id of a subscription that is not resumed yet
        assert_eq!(take(&mut state, 4, 12), SubscribedAs::Existing(SubscriptionId(11), NODE));
        assert_eq!(state.local(SubscriptionId(12)), SubscriptionId(11));
        add_request(&mut state, 5, 2, Some(12));
        assert_eq!(take(&mut state, 5, 13), SubscribedAs::Existing(SubscriptionId(12), NODE));
        assert_eq!(
            (state.local(SubscriptionId(13)), state.remote(SubscriptionId(12))),
            (SubscriptionId(12), Some(SubscriptionId(13)))
        );
        // a new subscription with an RIC's id that is in use here
        add_request(&mut state, 6, 6, None);
        let SubscribedAs::New(fresh) = take(&mut state, 6, 11) else { panic!("it is a new subscription") };
        assert!(![11, 12].contains(&fresh.0));
        assert_eq!((state.local(SubscriptionId(11)), state.remote(fresh)), (fresh, Some(SubscriptionId(11))));

        assert_eq!(state.ended(SubscriptionId(12)), SubscriptionId(11));
        assert_eq!(state.unsubscribe(SubscriptionId(12)), Some(SubscriptionId(13)));
        assert_eq!(state.ended(SubscriptionId(13)), SubscriptionId(12));
        // one that the xApp leaves while the RIC is lost
        assert_eq!(state.handle_loss().1, [fresh]);
        assert_eq!(
            (state.unsubscribe(fresh), state.take_unsubscribed(), state.to_resubscribe(NODE, key()).len()),
            (None, vec![fresh], 0)
        );
    }

    #[test]
    fn disabled_state_stores_nothing() {
        let mut state = SessionState::new(false);
        add_request(&mut state, 1, 1, None);
        assert!(state.requests.is_empty());
        assert_eq!(take(&mut state, 1, 7), SubscribedAs::New(SubscriptionId(7)));
        assert!(state.subscriptions.is_empty() && state.handle_loss().1.is_empty());
        assert_eq!(
            (state.local(SubscriptionId(7)), state.unsubscribe(SubscriptionId(7))),
            (SubscriptionId(7), Some(SubscriptionId(7)))
        );
    }
}
