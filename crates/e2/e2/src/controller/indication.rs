//! Handles indications without an active subscription, and publishes the routes of the others.
//!
//! [`Controller::handle_pdu`] returns the indications of active subscriptions. Callers with several event loops, of which one
//! owns the controller, route them by the published routes without asking the controller each time.
//!
//! Procedure: RIC Indication. Clause: E2AP v03.01 8.2.3. Role: ric. Since: v01.00. Scenarios: indication*

use e2ap::{Codec, Pdu, RanFunctionId, RicIndication, RicRequestId, RicSubscriptionDeleteRequest};

use super::records::{Request, SubscriptionState};
use super::{Consumer, Controller, NodeId, SubscriptionId};
use crate::{AssocId, Notice, Time};

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

/// The maximum number of orphaned subscriptions of an association that are deleted.
const MAX_ORPHANS: usize = 64;

impl Controller {
    // Clause 10.4/4 ric: A logical error in a message of class 2 is answered by an Error Indication. Tests:
    //   indications_without_subscription, indications_answered. Deviation: an indication without a subscription is
    //   dropped and counted, since FlexRIC's agents abort when they receive an Error Indication;
    //   `answer_stray_indications` sends it.
    /// Counts and drops an indication without an active subscription. No procedure of the node waits for an answer, and an
    /// Error Indication aborts some agents; `answer_stray_indications` sends it nevertheless.
    pub(super) fn stray_indication(&mut self, now: Time, assoc: AssocId, node: NodeId, indication: &RicIndication<'_>) {
        self.stray_indications += 1;
        let (id, function) = (indication.request_id, indication.ran_function_id);
        let place = self.requests.place(id);
        match place.map(|place| (place, self.requests.get(place))) {
            // in flight when the subscription ended, or ahead of the response: not an error
            Some((place, None)) if self.requests.is_in_reuse_delay(place) => {
                self.requests.record_late_message(now, place);
            }
            Some((_, Some(Request::Subscription(s)))) if s.node == node && !s.is_active() => {}
            _ if self.config.answer_stray_indications => self.unknown_request(now, node, id, function, "RicIndication"),
            Some((_, Some(_))) => self.report_stray(assoc, id, false), // another node's or function's
            _ => {
                self.report_stray(assoc, id, false);
                if self.add_orphan(assoc, id, function) {
                    self.delete_orphan(node, id, function);
                }
            }
        }
    }

    /// Counts and drops an indication that arrives before the setup: the node continues what it reported to the RIC before a
    /// restart. The time limit of the setup bounds their number.
    pub(super) fn indication_before_setup(&mut self, now: Time, assoc: AssocId, message: &Pdu<'_>, pdu: &[u8]) {
        let Pdu::RicIndication(indication) = message else { return };
        self.stray_indications += 1;
        if self.config.answer_stray_indications {
            self.not_in_state(now, assoc, message, pdu);
        } else {
            self.report_stray(assoc, indication.request_id, true);
            self.add_orphan(assoc, indication.request_id, indication.ran_function_id);
        }
    }

    /// Notes a subscription that the node has and the RIC does not. Returns whether it is new and within the bound.
    fn add_orphan(&mut self, assoc: AssocId, id: RicRequestId, function: RanFunctionId) -> bool {
        let Some(state) = self.assocs.get_mut(&assoc) else { return false };
        let is_new = state.orphans.len() < MAX_ORPHANS && !state.orphans.contains(&(id, function));
        if is_new {
            state.orphans.push((id, function));
        }
        is_new
    }

    /// Deletes the subscriptions of a node that sent indications before its setup, ahead of any other request to it: they are
    /// those of a RIC before its restart, and would report for ever, or twice where the RIC restores them.
    pub(super) fn delete_orphans(&mut self, assoc: AssocId, node: NodeId) {
        let orphans = self.assocs.get(&assoc).map(|state| state.orphans.clone()).unwrap_or_default();
        for (id, function) in orphans {
            self.delete_orphan(node, id, function);
        }
    }

    fn delete_orphan(&mut self, node: NodeId, request_id: RicRequestId, ran_function_id: RanFunctionId) {
        self.send(node, &RicSubscriptionDeleteRequest { request_id, ran_function_id }.into());
    }

    /// Whether the RIC awaits the answer to the deletion of an orphaned subscription, not that of one of its own.
    pub(super) fn is_orphan(&self, node: NodeId, id: RicRequestId, function: RanFunctionId) -> bool {
        let own = self.requests.place(id).and_then(|place| self.requests.get(place));
        let is_deleting = matches!(own, Some(Request::Subscription(s)) if s.state == SubscriptionState::Deleting);
        let assoc = self.nodes.get(&node).and_then(|node| self.assocs.get(&node.assoc));
        !is_deleting && assoc.is_some_and(|assoc| assoc.orphans.contains(&(id, function)))
    }

    /// Reports the first dropped indication of an association.
    fn report_stray(&mut self, assoc: AssocId, request_id: RicRequestId, before_setup: bool) {
        let Some(state) = self.assocs.get_mut(&assoc) else { return };
        if !std::mem::replace(&mut state.stray_reported, true) {
            self.notice(assoc, Notice::StrayIndication { request_id, before_setup });
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
