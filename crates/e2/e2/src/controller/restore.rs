//! Suspends subscriptions when their node is lost and restores them when it sets up again, without the consumers' help.
//!
//! ```text
//!            node lost               node is back                 response
//! Active ----------------> Suspended -------------> Restoring ----------------> Active
//!              ^               |                     |     |
//!              |               | restore_within      |     | failure, time-out
//!              |               v                     |     v
//!              |             (gone)                  |   (gone), or Deleting after a time-out
//!              +-------------- node lost again ------+
//! ```
//!
//! Consumers are notified when a subscription is suspended, and when it is resumed or ends. It keeps its id and its request
//! id, which is not free meanwhile, so that late messages under that id belong to the same subscription.
//!
//! A consumer that repeats its subscribe command for a restored (or restoring) subscription reclaims it under its old id.
//! Consumers that subscribe whenever a node comes up therefore need not handle any of this. That holds once for each consumer
//! and loss.
//!
//! A subscription is not restored if its consumer declined that, if the node was removed or reset, or if the node sets up
//! without the function. A subscription that was not answered before the loss fails. A loss during the restoration does not
//! extend the time limit.

use std::collections::BTreeSet;
use std::sync::Arc;

use e2ap::{GlobalE2NodeId, RanFunctionId, Version};

use super::records::Request;
use super::records::SubscriptionState;
use super::{
    Consumer, Controller, Event, NodeId, RequestEvent, SubscriptionEnd, SubscriptionId, SubscriptionSpec, Ticket,
};
use crate::Time;

impl Controller {
    /// Suspends the restorable subscriptions of a lost node.
    pub(super) fn suspend(&mut self, now: Time, node: NodeId, key: GlobalE2NodeId) {
        for place in self.requests.of_node(node) {
            if self.suspended_count >= self.config.max_suspended {
                return;
            }
            let Some(Request::Subscription(s)) = self.requests.get_mut(place) else { continue };
            let until = match s.state {
                SubscriptionState::Active => now + self.config.restore_within,
                SubscriptionState::Restoring { until } => until,
                _ => continue,
            };
            if s.consumers.iter().all(|consumer| s.fleeting.contains(consumer)) {
                continue;
            }
            self.drop_change(place);
            let Some(Request::Subscription(s)) = self.requests.get_mut(place) else { continue };
            let first = s.state == SubscriptionState::Active;
            self.sharing.remove(s, place);
            self.restored.remove(s, place);
            s.unclaimed.clear();
            s.state = SubscriptionState::Suspended { until, key };
            let (fleeting, staying): (Vec<_>, Vec<_>) =
                s.consumers.iter().copied().partition(|consumer| s.fleeting.contains(consumer));
            s.consumers.clone_from(&staying);
            s.fleeting.clear();
            let subscription = SubscriptionId(place);
            for consumer in fleeting {
                self.quotas.release(consumer, place, s.octets);
                let end = SubscriptionEnd::NodeLost;
                self.events.push_back(Event::Request {
                    consumer,
                    event: RequestEvent::SubscriptionEnded { subscription, end },
                });
            }
            if first {
                for consumer in staying {
                    self.events.push_back(Event::Request {
                        consumer,
                        event: RequestEvent::SubscriptionSuspended(subscription),
                    });
                }
            }
            self.requests.detach(place);
            self.suspended.entry(key).or_default().insert(place);
            self.suspended_count += 1;
            self.set_deadline(until, place);
        }
    }

    /// Repeats the subscription requests that were suspended, for a node that has set up.
    pub(super) fn restore(&mut self, now: Time, id: NodeId) {
        let Some(node) = self.nodes.get(&id) else { return };
        let (version, places) = (node.version, self.suspended.remove(&node.global_id).unwrap_or_default());
        self.suspended_count -= places.len();
        for place in places {
            let Some(Request::Subscription(s)) = self.requests.get_mut(place) else { continue };
            let SubscriptionState::Suspended { until, .. } = s.state else { continue };
            s.state = SubscriptionState::Restoring { until };
            s.node = id;
            let (function, plain, needs_v3) = (s.function, s.is_plain(), s.needs_v3());
            let sound = s.spec.is_sound(version) && (!needs_v3 || version >= Version::V3_01);
            self.requests.attach(place);
            let offered = self.nodes.get(&id).is_some_and(|node| node.function(function).is_some());
            if !offered || !sound {
                if let Some(Request::Subscription(subscription)) = self.free(now, place) {
                    self.subscription_gone(place, subscription, SubscriptionEnd::FunctionRemoved);
                }
                continue;
            }
            if let Some(Request::Subscription(s)) = self.requests.get_mut(place).filter(|_| plain) {
                s.unclaimed.clone_from(&s.consumers);
                self.restored.add(id, function, &s.spec, place);
            }
            if self.may_send_now(id, place) {
                self.send_request(None, place);
                self.set_deadline(now + self.config.subscription_timeout, place);
            } else {
                self.set_deadline(until.max(now + self.config.subscription_timeout), place);
            }
        }
    }

    /// Lets a consumer reclaim a restored or restoring subscription. Returns whether there is one.
    pub(super) fn reclaim(
        &mut self,
        consumer: Consumer,
        ticket: Ticket,
        node: NodeId,
        function: RanFunctionId,
        spec: &Arc<SubscriptionSpec>,
    ) -> bool {
        for &place in self.restored.find(node, function, spec) {
            let Some(Request::Subscription(s)) = self.requests.get_mut(place) else { continue };
            let Some(at) = s.unclaimed.iter().position(|unclaimed| *unclaimed == consumer) else { continue };
            s.unclaimed.remove(at);
            // the state before the loss, if it is not resumed yet
            let (admitted, not_admitted) = (s.admitted.clone(), s.not_admitted.clone());
            let subscription = SubscriptionId(place);
            self.events.push_back(Event::Request {
                consumer,
                event: RequestEvent::Subscribed { ticket, subscription, admitted, not_admitted },
            });
            if s.unclaimed.is_empty() {
                self.restored.remove(s, place);
            }
            return true;
        }
        false
    }

    /// Removes a suspended subscription from the index.
    pub(super) fn not_suspended(&mut self, key: &GlobalE2NodeId, place: u32) {
        if self.suspended.get_mut(key).is_some_and(|places| places.remove(&place)) {
            self.suspended_count -= 1;
        }
        if self.suspended.get(key).is_some_and(BTreeSet::is_empty) {
            self.suspended.remove(key);
        }
    }
}
