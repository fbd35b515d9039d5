//! Leaving subscriptions: the last consumer's leaving deletes one.
//!
//! Procedure: RIC Subscription Delete. Clause: E2AP v03.01 8.2.2. Role: ric. Since: v01.00. Scenarios: subscription_left* subscription_comes_back subscription delete_timeout

use e2ap::{RanFunctionId, RicRequestId, RicSubscriptionDeleteRequest};

use super::requests::Request;
use super::subscription::State;
use super::{Consumer, Controller, Event, Misuse, NodeId, RequestEvent, SubscriptionEnd, SubscriptionId};
use crate::Time;

impl Controller {
    /// Leaves a subscription. Its last consumer's leaving deletes it.
    ///
    /// # Errors
    /// Where it is not this consumer's.
    pub fn unsubscribe(&mut self, now: Time, consumer: Consumer, id: SubscriptionId) -> Result<(), Misuse> {
        let Some(Request::Subscription(subscription)) = self.requests.get_mut(id.0) else {
            return Err(Misuse::UnknownSubscription);
        };
        let at = subscription.consumers.iter().position(|c| *c == consumer).ok_or(Misuse::UnknownSubscription)?;
        subscription.consumers.remove(at);
        subscription.fleeting.retain(|c| *c != consumer);
        subscription.unclaimed.retain(|c| *c != consumer);
        let last = subscription.consumers.is_empty();
        self.holdings.leave(consumer, id.0, subscription.octets);
        if last {
            self.drop_change(id.0);
            self.leave_to_nobody(now, id.0);
        }
        let end = SubscriptionEnd::Deleted;
        self.events
            .push_back(Event::Request { consumer, event: RequestEvent::SubscriptionEnded { subscription: id, end } });
        Ok(())
    }

    /// A consumer is gone: leaves all that it has, without telling it.
    pub fn drop_consumer(&mut self, now: Time, consumer: Consumer) {
        for place in self.holdings.forget(consumer) {
            match self.requests.get_mut(place) {
                Some(Request::Subscription(s)) => {
                    s.consumers.retain(|c| *c != consumer);
                    s.fleeting.retain(|c| *c != consumer);
                    s.unclaimed.retain(|c| *c != consumer);
                    s.waiting.retain(|(c, _)| *c != consumer);
                    if let Some(change) = &mut s.change {
                        change.forget(consumer);
                    }
                    if s.consumers.is_empty() {
                        self.leave_to_nobody(now, place);
                    }
                }
                // The node may still act on it; its answer finds nobody.
                Some(Request::Control(_) | Request::Query(_)) => drop(self.requests.free(now, place)),
                None => {}
            }
        }
        self.events.retain(|event| event.consumer() != Some(consumer));
    }

    /// Nobody takes a subscription's indications any more.
    fn leave_to_nobody(&mut self, now: Time, place: u32) {
        let Some(Request::Subscription(s)) = self.requests.get(place) else { return };
        match s.state {
            State::Active => self.send_delete(now, place),
            State::Suspended { .. } => drop(self.free(now, place)), // there is nobody to ask
            // once it is answered: somebody may wait for it
            State::Requested | State::Restoring { .. } | State::Deleting => {}
        }
    }

    /// Asks the node to delete a subscription that nobody has a part in any more.
    pub(super) fn send_delete(&mut self, now: Time, place: u32) {
        let request_id = self.requests.id(place);
        let Some(Request::Subscription(subscription)) = self.requests.get_mut(place) else { return };
        subscription.state = State::Deleting;
        subscription.required = None;
        self.sharing.remove(subscription, place);
        self.restored.remove(subscription, place);
        let (node, ran_function_id) = (subscription.node, subscription.function);
        self.send(node, &RicSubscriptionDeleteRequest { request_id, ran_function_id }.into());
        self.set_deadline(now + self.config.delete_timeout, place);
    }

    /// The deletion was answered: well or not, the node does not have it.
    pub(super) fn delete_response(
        &mut self,
        now: Time,
        node: NodeId,
        id: RicRequestId,
        function: RanFunctionId,
        message: &'static str,
    ) {
        let Some(place) = self.find(now, node, id, function, message) else { return };
        match self.requests.get(place) {
            Some(Request::Subscription(s)) if s.state == State::Deleting => drop(self.free(now, place)),
            _ => self.answered_before(now, node, id, function, message), // not asked for
        }
    }
}
