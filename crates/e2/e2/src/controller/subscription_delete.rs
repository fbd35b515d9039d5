//! Unsubscribes consumers; deletes a subscription when its last consumer leaves.
//!
//! Procedure: RIC Subscription Delete. Clause: E2AP v03.01 8.2.2. Role: ric. Since: v01.00. Scenarios: subscription_unsubscribed* subscription_restored subscription delete_timeout

use e2ap::{RanFunctionId, RicRequestId, RicSubscriptionDeleteRequest};

use super::records::Request;
use super::records::SubscriptionState;
use super::{Consumer, Controller, Event, Misuse, NodeId, RequestEvent, SubscriptionEnd, SubscriptionId};
use crate::Time;

impl Controller {
    // Clause 8.2.2.1/1 ric: The near-RT RIC starts the procedure. Tests: subscription, unsupported_procedures.
    /// Unsubscribes a consumer. The subscription is deleted when its last consumer unsubscribes.
    ///
    /// # Errors
    /// If the subscription is not this consumer's.
    pub fn unsubscribe(&mut self, now: Time, consumer: Consumer, id: SubscriptionId) -> Result<(), Misuse> {
        let Some(Request::Subscription(subscription)) = self.requests.get_mut(id.0) else {
            return Err(Misuse::UnknownSubscription);
        };
        let at = subscription.consumers.iter().position(|c| *c == consumer).ok_or(Misuse::UnknownSubscription)?;
        subscription.consumers.remove(at);
        subscription.fleeting.retain(|c| *c != consumer);
        subscription.unclaimed.retain(|c| *c != consumer);
        let last = subscription.consumers.is_empty();
        self.quotas.release(consumer, id.0, subscription.octets);
        if last {
            self.drop_change(id.0);
            self.delete_if_unused(now, id.0);
        }
        let end = SubscriptionEnd::Deleted;
        self.events
            .push_back(Event::Request { consumer, event: RequestEvent::SubscriptionEnded { subscription: id, end } });
        Ok(())
    }

    /// Drops a consumer and all its requests, without further events to it.
    pub fn drop_consumer(&mut self, now: Time, consumer: Consumer) {
        self.identities.remove(&consumer);
        if let Some(mediator) = &mut self.mediator {
            mediator.consumer_gone(now, consumer);
        }
        for place in self.quotas.forget(consumer) {
            match self.requests.get_mut(place) {
                Some(Request::Subscription(s)) => {
                    s.remove_consumer(consumer);
                    if s.consumers.is_empty() {
                        self.delete_if_unused(now, place);
                    }
                }
                // the node may still execute it; its answer is ignored
                Some(Request::Control(control)) => {
                    self.kept_controls.release(consumer, control.kept_octets());
                    drop(self.requests.free(now, place));
                }
                Some(Request::Query(_)) => drop(self.requests.free(now, place)),
                None => {}
            }
        }
        self.events.retain(|event| event.consumer() != Some(consumer));
    }

    /// Deletes a subscription that has no consumers any more, if its state allows that.
    fn delete_if_unused(&mut self, now: Time, place: u32) {
        let Some(Request::Subscription(s)) = self.requests.get(place) else { return };
        match s.state {
            SubscriptionState::Active => self.send_delete(now, place),
            SubscriptionState::Suspended { .. } => drop(self.free(now, place)), // there is no node to ask
            // after the answer: another consumer may await it
            SubscriptionState::Requested | SubscriptionState::Restoring { .. } | SubscriptionState::Deleting => {}
        }
    }

    /// Requests the deletion of a subscription without consumers from the node.
    pub(super) fn send_delete(&mut self, now: Time, place: u32) {
        let Some(Request::Subscription(subscription)) = self.requests.get_mut(place) else { return };
        subscription.state = SubscriptionState::Deleting;
        subscription.required = None;
        self.sharing.remove(subscription, place);
        self.restored.remove(subscription, place);
        let node = subscription.node;
        if self.may_send_now(node, place) {
            self.write_delete(now, place);
        } else {
            self.requests.renew_deadline(place); // it begins when the request is sent
        }
    }

    // Clause 8.2.2.2/1 ric: TRICEVENTdelete starts with the request. Does: `delete_timeout`, 5 s by default; it
    //   begins when the request leaves the queue of its node. Tests: delete_timeout.
    pub(super) fn write_delete(&mut self, now: Time, place: u32) {
        let request_id = self.requests.id(place);
        let Some(Request::Subscription(subscription)) = self.requests.get(place) else { return };
        let (node, ran_function_id) = (subscription.node, subscription.function);
        self.send(node, &RicSubscriptionDeleteRequest { request_id, ran_function_id }.into());
        self.set_deadline(now + self.config.delete_timeout, place);
    }

    // Clause 8.2.2.2/4 ric: The response stops TRICEVENTdelete and releases the subscription. Tests: subscription,
    //   conform:subscription-delete.
    // Clause 8.2.2.3/3 ric: The failure stops TRICEVENTdelete and ends the procedure. Does: the subscription is
    //   released, too: the node does not have it. Tests: subscription_in_each_version.
    /// Handles the answer to a deletion. After a failure, too, the node does not have the subscription.
    pub(super) fn delete_response(
        &mut self,
        now: Time,
        node: NodeId,
        id: RicRequestId,
        function: RanFunctionId,
        message: &'static str,
    ) {
        if self.is_orphan(node, id, function) {
            return;
        }
        let Some(place) = self.find_answered(now, node, id, function, message) else { return };
        match self.requests.get(place) {
            Some(Request::Subscription(s)) if s.state == SubscriptionState::Deleting => drop(self.free(now, place)),
            _ => self.answered_before(now, node, message), // not requested
        }
    }
}
