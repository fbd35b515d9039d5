//! Requests subscriptions and follows them from the request to the end.
//!
//! Procedure: RIC Subscription. Clause: E2AP v03.01 8.2.1. Role: ric. Since: v01.00. Scenarios: subscription* shared_* request_id_reuse_delay
//!
//! Consumers whose REPORT subscriptions to a function have byte-equal triggers and actions share one subscription.
//!
//! ```text
//!             response                  last consumer leaves
//! Requested ------------> Active ------------------------------> Deleting --> (gone)
//!     |  failure, time-out   |  node lost, reset, delete required    response, failure, time-out
//!     +----> (gone)          +----> (gone)
//! ```
//!
//! A subscription whose consumers left before the response is deleted after the response. After a timeout the node may still
//! have it, so that a deletion is sent then, too. [`restore`](super::restore) shows what follows the loss of a node.

use std::sync::Arc;

use e2ap::{
    Cause, CauseProtocol, CauseRicRequest, ProcedureCode, RanFunctionId, RicActionExecutionOrder, RicActionId,
    RicActionToBeSetup, RicRequestId, RicSubscriptionDetails, RicSubscriptionFailure, RicSubscriptionRequest,
    RicSubscriptionResponse, Version,
};
use per::Octets;

use super::records::{Request, Subscription, SubscriptionState};
use super::sharing::SharingIndex;
use super::spec::{SubscriptionOrder, SubscriptionSpec};
use super::{
    Consumer, Controller, Event, Misuse, ModifyOutcome, NodeId, RequestEvent, SubscribeError, SubscriptionEnd,
    SubscriptionId, Ticket,
};
use crate::change::twice;
use crate::{Notice, SubscriptionTimes, Time};

/// What a message about a subscription refers to.
pub(super) enum Found {
    /// The subscription in this slot.
    Subscription(u32),
    /// One that has ended: the message is late.
    Ended,
    /// None of this node and function.
    Nothing,
}

impl Controller {
    // Clause 8.2.1.1/1 ric: The near-RT RIC starts the procedure. Tests: subscription, unsupported_procedures.
    // Clause 8.2.1.2/1 ric: The request contains a request id that no other request has. Tests: subscription,
    //   request_id_reuse_delay, conform:subscription.
    // Clause 8.2.1.2/2 ric: TRICEVENTcreate starts with the request. Does: `subscription_timeout`, 5 s by default.
    //   Tests: subscription_timeout_then_late_response.
    /// Subscribes to a RAN function. [`RequestEvent::Subscribed`] or [`RequestEvent::SubscriptionFailed`] reports the outcome.
    ///
    /// # Errors
    /// If the command is invalid; nothing was sent then.
    pub fn subscribe(
        &mut self,
        now: Time,
        consumer: Consumer,
        ticket: Ticket,
        node: NodeId,
        function: RanFunctionId,
        order: impl Into<SubscriptionOrder>,
    ) -> Result<(), Misuse> {
        let order = order.into();
        let actions = order.spec.actions.len();
        let result = self.request_subscription(now, consumer, ticket, node, function, order);
        self.note_request(consumer, node, function, actions, result.map(|()| ticket));
        result
    }

    fn request_subscription(
        &mut self,
        now: Time,
        consumer: Consumer,
        ticket: Ticket,
        node: NodeId,
        function: RanFunctionId,
        order: SubscriptionOrder,
    ) -> Result<(), Misuse> {
        let SubscriptionOrder { spec, times, restore, execution_order, consent } = order;
        let version = self.check_function(node, function)?.version;
        if !spec.is_sound(version) {
            return Err(Misuse::BadActions);
        }
        let places = || execution_order.iter().map(|(id, _)| *id);
        if twice(places()) || !places().all(|id| spec.actions.iter().any(|action| action.id == id)) {
            return Err(Misuse::BadActions);
        }
        let (timed, ordered) = (times != SubscriptionTimes::default(), !execution_order.is_empty());
        if (timed || ordered) && version < Version::V3_01 {
            return Err(Misuse::NotInVersion);
        }
        let plain = !timed && !ordered && !consent;
        let (octets, spec) = (spec.octets(), Arc::new(spec));
        if plain && self.reclaim(consumer, ticket, node, function, &spec) {
            return Ok(());
        }
        self.check_room(consumer, octets, octets)?;
        let shared = SharingIndex::allows(&spec) && plain;
        if shared && self.join(consumer, ticket, node, function, &spec, restore) {
            return Ok(());
        }
        self.check_share(consumer, node, octets)?;
        let subscription = Subscription {
            requested: now,
            node,
            function,
            spec: spec.clone(),
            times,
            execution_order,
            is_ordered: ordered,
            consent,
            octets,
            state: SubscriptionState::Requested,
            consumers: Vec::new(),
            fleeting: if restore { Vec::new() } else { vec![consumer] },
            unclaimed: Vec::new(),
            waiting: vec![(consumer, ticket)],
            admitted: Vec::new(),
            not_admitted: Vec::new(),
            change: None,
            required: None,
        };
        let place = self.requests.add(now, Request::Subscription(subscription)).ok_or(Misuse::NoRequestId)?;
        self.quotas.charge(consumer, place, octets);
        if shared {
            self.sharing.add(node, function, &spec, place);
        }
        self.send_request(Some(consumer), place);
        self.set_deadline(now + self.config.subscription_timeout, place);
        Ok(())
    }

    /// Lets a consumer join an equal subscription that it does not hold yet. Returns whether there is one.
    fn join(
        &mut self,
        consumer: Consumer,
        ticket: Ticket,
        node: NodeId,
        function: RanFunctionId,
        spec: &Arc<SubscriptionSpec>,
        restore: bool,
    ) -> bool {
        for &place in self.sharing.find(node, function, spec) {
            let Some(Request::Subscription(other)) = self.requests.get_mut(place) else { continue };
            if other.holders().any(|holder| holder == consumer) {
                continue;
            }
            self.quotas.charge(consumer, place, other.octets);
            if !restore {
                other.fleeting.push(consumer);
            }
            if other.state == SubscriptionState::Requested {
                other.waiting.push((consumer, ticket));
            } else {
                other.consumers.push(consumer);
                let (admitted, not_admitted) = (other.admitted.clone(), other.not_admitted.clone());
                let subscription = SubscriptionId(place);
                self.events.push_back(Event::Request {
                    consumer,
                    event: RequestEvent::Subscribed { ticket, subscription, admitted, not_admitted },
                });
            }
            return true;
        }
        false
    }

    /// Sends the request of a subscription, which a consumer asked for, or which the RIC repeats.
    pub(super) fn send_request(&mut self, consumer: Option<Consumer>, place: u32) {
        let request_id = self.requests.id(place);
        let Some(Request::Subscription(subscription)) = self.requests.get(place) else { return };
        let Some(node) = self.nodes.get(&subscription.node) else { return };
        let place = |id| {
            if node.version < Version::V3_01 {
                return None;
            }
            let (_, place) = subscription.execution_order.iter().find(|(of, _)| *of == id)?;
            Some(RicActionExecutionOrder((*place).into()))
        };
        let actions = subscription.spec.actions.iter().map(|action| RicActionToBeSetup {
            id: action.id,
            kind: action.kind,
            definition: action.definition.as_deref().map(Octets::from),
            subsequent_action: action.subsequent,
            execution_order: place(action.id),
        });
        let request = RicSubscriptionRequest {
            request_id,
            ran_function_id: subscription.function,
            details: RicSubscriptionDetails {
                event_trigger_definition: subscription.spec.event_trigger.as_slice().into(),
                actions: actions.collect(),
            },
            start_time: subscription.times.start,
            end_time: subscription.times.end,
        };
        self.outbox.push_of(consumer, node.assoc, node.version, &request.into());
    }

    /// Returns the slot of the subscription that a message refers to.
    pub(super) fn find(&self, node: NodeId, id: RicRequestId, function: RanFunctionId) -> Found {
        let place = self.requests.place(id);
        match place.map(|place| (place, self.requests.get(place))) {
            Some((place, Some(Request::Subscription(s)))) if s.node == node && s.function == function => {
                Found::Subscription(place)
            }
            Some((place, None)) if self.requests.is_in_reuse_delay(place) => Found::Ended,
            _ => Found::Nothing,
        }
    }

    /// Returns the slot of the subscription that an answer refers to; drops any other answer.
    pub(super) fn find_answered(
        &mut self,
        now: Time,
        node: NodeId,
        id: RicRequestId,
        function: RanFunctionId,
        message: &'static str,
    ) -> Option<u32> {
        match self.find(node, id, function) {
            Found::Subscription(place) => return Some(place),
            Found::Ended => self.late_answer(), // its time-out has passed
            Found::Nothing => self.answer_to_unknown(now, node, id, message),
        }
        None
    }

    // Clause 8.2.1.2/9 ric: The response stops TRICEVENTcreate and ends the procedure. Tests: subscription,
    //   subscription_in_each_version.
    pub(super) fn subscription_response(&mut self, now: Time, node: NodeId, response: &RicSubscriptionResponse<'_>) {
        let (id, function, message) = (response.request_id, response.ran_function_id, "RicSubscriptionResponse");
        let Some(place) = self.find_answered(now, node, id, function, message) else { return };
        let Some(Request::Subscription(subscription)) = self.requests.get_mut(place) else { return };
        let restored = match subscription.state {
            SubscriptionState::Requested => false,
            SubscriptionState::Restoring { .. } => true,
            SubscriptionState::Active => return self.answered_before(now, node, message),
            SubscriptionState::Deleting | SubscriptionState::Suspended { .. } => return, // late: its deletion is in progress
        };
        let known = |id: &RicActionId| subscription.spec.actions.iter().any(|action| action.id == *id);
        let mut admitted: Vec<_> = response.actions_admitted.iter().map(|a| a.id).filter(known).collect();
        admitted.sort_unstable();
        admitted.dedup();
        let not_admitted: Vec<_> = response
            .actions_not_admitted
            .iter()
            .flat_map(|items| items.iter())
            .map(|item| (item.id, item.cause))
            .filter(|(id, _)| known(id))
            .collect();
        if admitted.is_empty() {
            // it admits no requested action
            self.contradiction(now, node, id, message);
            return self.subscription_rejected(now, place, Cause::Protocol(CauseProtocol::SemanticError));
        }
        subscription.state = SubscriptionState::Active;
        if restored {
            for consumer in subscription.consumers.iter().copied() {
                let (admitted, not_admitted) = (admitted.clone(), not_admitted.clone());
                let subscription = SubscriptionId(place);
                let event = Event::Request {
                    consumer,
                    event: RequestEvent::SubscriptionResumed { subscription, node, admitted, not_admitted },
                };
                self.events.push_back(event);
            }
            if SharingIndex::allows(&subscription.spec) && subscription.is_plain() {
                self.sharing.add(node, function, &subscription.spec, place);
            }
        }
        for (consumer, ticket) in std::mem::take(&mut subscription.waiting) {
            subscription.consumers.push(consumer);
            self.events.push_back(Event::Request {
                consumer,
                event: RequestEvent::Subscribed {
                    ticket,
                    subscription: SubscriptionId(place),
                    admitted: admitted.clone(),
                    not_admitted: not_admitted.clone(),
                },
            });
        }
        let orphan = subscription.consumers.is_empty();
        (subscription.admitted, subscription.not_admitted) = (admitted, not_admitted);
        self.requests.renew_deadline(place);
        if orphan {
            self.send_delete(now, place);
        }
    }

    // Clause 8.2.1.3/4 ric: The failure stops TRICEVENTcreate and ends the procedure. Tests: subscription_refused,
    //   conform:subscription-refused.
    /// Handles the node's refusal of a subscription.
    pub(super) fn subscription_failure(&mut self, now: Time, node: NodeId, failure: &RicSubscriptionFailure<'_>) {
        let (id, function, message) = (failure.request_id, failure.ran_function_id, "RicSubscriptionFailure");
        let Some(place) = self.find_answered(now, node, id, function, message) else { return };
        let Some(Request::Subscription(subscription)) = self.requests.get(place) else { return };
        match subscription.state {
            SubscriptionState::Requested | SubscriptionState::Restoring { .. } => {}
            SubscriptionState::Active => return self.answered_before(now, node, message),
            SubscriptionState::Deleting | SubscriptionState::Suspended { .. } => return, // late: the deletion will be answered, too
        }
        let actions: Vec<_> =
            failure.actions_not_admitted.iter().flat_map(|items| items.iter()).map(|a| (a.id, a.cause)).collect();
        let cause = failure.cause.or(actions.first().map(|(_, cause)| *cause));
        let cause = cause.unwrap_or(Cause::RicRequest(CauseRicRequest::Unspecified));
        if let Some(Request::Subscription(subscription)) = self.free(now, place) {
            for (consumer, ticket) in subscription.waiting {
                let error = SubscribeError::Refused { cause, actions: actions.clone() };
                self.events
                    .push_back(Event::Request { consumer, event: RequestEvent::SubscriptionFailed { ticket, error } });
            }
            for consumer in subscription.consumers {
                let (subscription, end) = (SubscriptionId(place), SubscriptionEnd::ByNode(cause));
                self.events.push_back(Event::Request {
                    consumer,
                    event: RequestEvent::SubscriptionEnded { subscription, end },
                });
            }
        }
    }

    /// Handles an Error Indication or an invalid response about a subscription. The node may have set it up nevertheless, so
    /// that a requested one is deleted; a deletion counts as answered.
    pub(super) fn subscription_rejected(&mut self, now: Time, place: u32, cause: Cause) {
        let Some(Request::Subscription(subscription)) = self.requests.get_mut(place) else { return };
        match subscription.state {
            SubscriptionState::Requested => {
                let error = SubscribeError::Refused { cause, actions: Vec::new() };
                self.fail_waiting(place, &error);
                self.send_delete(now, place);
            }
            SubscriptionState::Restoring { .. } => {
                self.end_consumers(place, SubscriptionEnd::ByNode(cause));
                self.send_delete(now, place);
            }
            SubscriptionState::Active | SubscriptionState::Suspended { .. } => {} // the message refers to an earlier state, or is wrong
            SubscriptionState::Deleting => drop(self.free(now, place)),
        }
    }

    /// Reports the end of a subscription to its consumers. The caller deletes it at the node.
    pub(super) fn end_consumers(&mut self, place: u32, end: SubscriptionEnd) {
        self.drop_change(place);
        let Some(Request::Subscription(s)) = self.requests.get_mut(place) else { return };
        for consumer in std::mem::take(&mut s.consumers) {
            self.quotas.release(consumer, place, s.octets);
            let subscription = SubscriptionId(place);
            self.events
                .push_back(Event::Request { consumer, event: RequestEvent::SubscriptionEnded { subscription, end } });
        }
    }

    pub(super) fn fail_waiting(&mut self, place: u32, error: &SubscribeError) {
        let Some(Request::Subscription(subscription)) = self.requests.get_mut(place) else { return };
        for (consumer, ticket) in std::mem::take(&mut subscription.waiting) {
            self.quotas.release(consumer, place, subscription.octets);
            self.events.push_back(Event::Request {
                consumer,
                event: RequestEvent::SubscriptionFailed { ticket, error: error.clone() },
            });
        }
    }

    // Clause 8.2.1.3/5 ric: Without an answer before TRICEVENTcreate expires, the RIC deletes the subscription.
    //   Tests: subscription_timeout_then_late_response, conform:subscription-unanswered.
    // Clause 8.2.1.3/6 ric: Answers that arrive after the deletion was requested are ignored; resources are released.
    //   Tests: subscription_timeout_then_late_response, subscription_timeout_then_late_failure.
    pub(super) fn subscription_timeout(&mut self, now: Time, place: u32) {
        let request_id = Some(self.requests.id(place));
        let Some(Request::Subscription(subscription)) = self.requests.get_mut(place) else { return };
        let assoc = self.nodes.get(&subscription.node).map(|n| n.assoc);
        let procedure_code = match subscription.state {
            SubscriptionState::Active => return self.modification_timeout(now, place),
            SubscriptionState::Suspended { .. } => {
                if let Some(Request::Subscription(subscription)) = self.free(now, place) {
                    self.subscription_gone(place, subscription, SubscriptionEnd::NodeLost);
                }
                return;
            }
            SubscriptionState::Requested => {
                self.fail_waiting(place, &SubscribeError::TimedOut);
                self.send_delete(now, place);
                ProcedureCode::RIC_SUBSCRIPTION
            }
            SubscriptionState::Restoring { .. } => {
                self.end_consumers(place, SubscriptionEnd::NotRestored);
                self.send_delete(now, place);
                ProcedureCode::RIC_SUBSCRIPTION
            }
            SubscriptionState::Deleting => {
                self.free(now, place);
                ProcedureCode::RIC_SUBSCRIPTION_DELETE
            }
        };
        if let Some(assoc) = assoc {
            self.remark(now, assoc, Notice::TimedOut { procedure_code, request_id });
        }
    }

    /// Reports the end of a subscription that is no longer in the table.
    pub(super) fn subscription_gone(&mut self, place: u32, subscription: Subscription, end: SubscriptionEnd) {
        if let Some(pending) = subscription.change {
            self.change_ended(*pending, place, ModifyOutcome::Ended);
        }
        for (consumer, ticket) in subscription.waiting {
            let error = match end {
                SubscriptionEnd::FunctionRemoved => {
                    let cause = Cause::RicRequest(CauseRicRequest::RanFunctionIdInvalid);
                    SubscribeError::Refused { cause, actions: Vec::new() }
                }
                _ => SubscribeError::NodeLost,
            };
            self.events
                .push_back(Event::Request { consumer, event: RequestEvent::SubscriptionFailed { ticket, error } });
        }
        for consumer in subscription.consumers {
            let subscription = SubscriptionId(place);
            self.events
                .push_back(Event::Request { consumer, event: RequestEvent::SubscriptionEnded { subscription, end } });
        }
    }
}
