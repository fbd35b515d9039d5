//! Deletes the subscriptions that a node requires to be deleted.
//!
//! Procedure: RIC Subscription Delete Required. Clause: E2AP v03.01 8.2.2A. Role: ric. Since: v02.03. Scenarios: delete_required*

use e2ap::RicSubscriptionDeleteRequired;

use super::records::Request;
use super::records::SubscriptionState;
use super::subscription::Found;
use super::{Controller, NodeId, SubscribeError, SubscriptionEnd};
use crate::change::all;
use crate::{Notice, Time};

impl Controller {
    // Clause 8.2.2A.3/1 ric: An unknown request id or RAN function is ignored. Tests: delete_required,
    //   conform:delete-required-unknown. Versions: from v02 on.
    /// Ends the listed subscriptions and requests their deletion from the node (E2AP v03.01 8.2.2A.2).
    pub(super) fn delete_required(&mut self, now: Time, node: NodeId, required: &RicSubscriptionDeleteRequired<'_>) {
        for item in all(&required.subscriptions) {
            let (id, function) = (item.request_id, item.ran_function_id);
            let place = match self.find(node, id, function) {
                Found::Subscription(place) => place,
                Found::Ended => continue, // its deletion was requested already
                // E2AP v03.01 8.2.2A.3: ignored
                Found::Nothing => {
                    let notice = Notice::UnknownRequest {
                        message: "RicSubscriptionDeleteRequired",
                        request_id: id,
                        answered: false,
                    };
                    if let Some(assoc) = self.nodes.get(&node).map(|node| node.assoc) {
                        self.complain(now, assoc, notice, None);
                    }
                    continue;
                }
            };
            let Some(Request::Subscription(subscription)) = self.requests.get(place) else { continue };
            match subscription.state {
                SubscriptionState::Requested => {
                    let error = SubscribeError::Refused { cause: item.cause, actions: Vec::new() };
                    self.fail_waiting(place, &error);
                }
                SubscriptionState::Active | SubscriptionState::Restoring { .. } => {
                    self.end_consumers(place, SubscriptionEnd::ByNode(item.cause));
                }
                SubscriptionState::Deleting | SubscriptionState::Suspended { .. } => continue, // already requested
            }
            self.send_delete(now, place);
        }
    }
}
