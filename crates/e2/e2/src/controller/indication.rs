//! Handles indications without an active subscription, and publishes the routes of the others.
//!
//! [`Controller::handle_pdu`] returns the indications of active subscriptions. Callers with several event loops, of which one
//! owns the controller, route them by the published routes without asking the controller each time.
//!
//! Procedure: RIC Indication. Clause: E2AP v03.01 8.2.5. Role: ric. Since: v01.00. Scenarios: indication*

use e2ap::{Codec, RanFunctionId, RicIndication};

use super::records::Request;
use super::{Consumer, Controller, NodeId, SubscriptionId};
use crate::{AssocId, Time};

/// The route of the indications of an active subscription.
#[derive(Clone, Copy, Debug)]
pub struct Route<'a> {
    /// The node that sends them.
    pub node: NodeId,
    /// The association that they arrive on.
    pub assoc: AssocId,
    /// The encoding of the association.
    pub codec: Codec,
    /// The RAN function that sends them.
    pub ran_function_id: RanFunctionId,
    /// The consumers that receive them.
    pub consumers: &'a [Consumer],
}

impl Controller {
    /// Handles an indication without an active subscription.
    pub(super) fn stray_indication(&mut self, now: Time, node: NodeId, indication: &RicIndication<'_>) {
        let (id, function) = (indication.request_id, indication.ran_function_id);
        let place = self.requests.place(id);
        // in flight when the subscription ended, or ahead of the response: not an error
        match place.map(|place| (place, self.requests.get(place))) {
            Some((place, None)) if self.requests.is_in_reuse_delay(place) => {
                self.requests.record_late_message(now, place);
                self.strays += 1;
            }
            Some((_, Some(Request::Subscription(s)))) if s.node == node && !s.is_active() => self.strays += 1,
            _ => self.unknown_request(now, node, id, function, "RicIndication"),
        }
    }

    /// Starts recording route changes for [`Controller::poll_route`], each subscription at most once.
    pub fn track_routes(&mut self) {
        self.requests.track();
    }

    /// Returns the next subscription whose [`Controller::route_of`] may have changed, in no particular order.
    pub fn poll_route(&mut self) -> Option<SubscriptionId> {
        self.requests.next_touched().map(SubscriptionId)
    }

    /// Returns the route of a subscription's indications while it is active.
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
            consumers: &subscription.consumers,
        })
    }
}
