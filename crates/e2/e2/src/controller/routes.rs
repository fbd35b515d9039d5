//! Which way indications go, for callers that route them without asking the controller each time: several event loops,
//! of which one owns the controller and the others read what it last published.

use e2ap::{Codec, RanFunctionId};

use super::requests::Request;
use super::{Consumer, Controller, NodeId, SubscriptionId};
use crate::AssocId;

/// The way of the indications of a subscription that stands.
#[derive(Clone, Copy, Debug)]
pub struct Route<'a> {
    /// The node that they come from.
    pub node: NodeId,
    /// The association that they come over.
    pub assoc: AssocId,
    /// The encoding that it speaks.
    pub codec: Codec,
    /// The function that they come from.
    pub ran_function_id: RanFunctionId,
    /// Who takes them.
    pub consumers: &'a [Consumer],
}

impl Controller {
    /// From now on, [`Controller::poll_route`] tells of changes. Each subscription waits there once at most.
    pub fn track_routes(&mut self) {
        self.requests.track();
    }

    /// The next subscription whose [`Controller::route_of`] may have changed, in no order.
    pub fn poll_route(&mut self) -> Option<SubscriptionId> {
        self.requests.next_touched().map(SubscriptionId)
    }

    /// The way of a subscription's indications, while it stands.
    #[must_use]
    pub fn route_of(&self, subscription: SubscriptionId) -> Option<Route<'_>> {
        let Some(Request::Subscription(subscription)) = self.requests.get(subscription.0) else { return None };
        let node = self.nodes.get(&subscription.node)?;
        let codec = self.assocs.get(&node.assoc)?.codec;
        subscription.is_active().then(|| Route {
            node: node.id,
            assoc: node.assoc,
            codec,
            ran_function_id: subscription.function,
            consumers: subscription.consumers(),
        })
    }
}
