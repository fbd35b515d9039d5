//! Requests the changes that a consumer makes to its subscription.
//!
//! Procedure: RIC Subscription Modification. Clause: E2AP v03.01 8.2.5. Role: ric. Since: v03.01. Scenarios: modification modification_timeout modification_ended_by_other_procedure
//!
//! Only a subscription with a single consumer can be changed, and from its first change on no other consumer can join it. One
//! change is in progress at a time. After a timeout it is unknown which actions the node has; the consumer is notified, and a
//! late answer is still applied unless a newer change was requested.

use e2ap::{
    Cause, CauseMisc, CauseProtocol, ProcedureCode, RicSubscriptionModificationFailure,
    RicSubscriptionModificationResponse, Version,
};

use super::records::{PendingChange, Request, SubscriptionState};
use super::{
    Consumer, Controller, Event, Misuse, ModifyOutcome, NodeId, RequestEvent, SubscriptionEnd, SubscriptionId, Ticket,
};
use crate::{ChangeResult, Notice, SubscriptionChange, Time};

impl Controller {
    // Clause 8.2.5.1/1 ric: The near-RT RIC starts the procedure. Tests: modification, unsupported_procedures.
    //   Versions: from v03 on.
    // Clause 8.2.5.2/1 ric: TRICEVENTmodify starts with the request. Does: `modification_timeout`, 5 s by default.
    //   Tests: modification_timeout. Versions: from v03 on.
    /// Changes a subscription. [`RequestEvent::Modified`] reports the outcome.
    ///
    /// # Errors
    /// If the command is invalid; nothing was sent then.
    pub fn modify(
        &mut self,
        now: Time,
        consumer: Consumer,
        ticket: Ticket,
        id: SubscriptionId,
        change: SubscriptionChange,
    ) -> Result<(), Misuse> {
        let Some(Request::Subscription(s)) = self.requests.get(id.0) else { return Err(Misuse::UnknownSubscription) };
        if !s.consumers.contains(&consumer) || !s.is_active() {
            return Err(Misuse::UnknownSubscription);
        }
        let node = self.nodes.get(&s.node).ok_or(Misuse::UnknownNode)?;
        if node.version < Version::V3_01 {
            let procedure_code = ProcedureCode::RIC_SUBSCRIPTION_MODIFICATION;
            return Err(Misuse::NoProcedure { procedure_code, version: node.version });
        }
        if s.holders().count() > 1 {
            return Err(Misuse::Shared);
        }
        if s.change.as_ref().is_some_and(|change| change.is_awaited()) || s.required.is_some() {
            return Err(Misuse::InProgress);
        }
        if !change.fits(&s.admitted) {
            return Err(Misuse::BadActions);
        }
        let octets = change.octets();
        self.check_pdu(octets)?;
        self.check_kept(consumer, octets)?;
        self.check_share(consumer, s.node, octets)?;
        let request_id = self.requests.id(id.0);
        let Some(Request::Subscription(s)) = self.requests.get_mut(id.0) else {
            return Err(Misuse::UnknownSubscription);
        };
        self.sharing.remove(s, id.0);
        self.restored.remove(s, id.0);
        let (node, function) = (s.node, s.function);
        let pending = s.change.insert(Box::new(PendingChange { waiting: Some((consumer, ticket)), change }));
        if let Some(node) = self.nodes.get(&node) {
            let request = pending.change.request(request_id, function).into();
            self.outbox.push_of(Some(consumer), node.assoc, node.version, &request);
        }
        self.set_deadline(now + self.config.modification_timeout, id.0);
        Ok(())
    }

    /// Finds the active subscription with a pending change that an answer refers to; drops any other answer.
    fn find_change(
        &mut self,
        now: Time,
        node: NodeId,
        id: e2ap::RicRequestId,
        function: e2ap::RanFunctionId,
        message: &'static str,
    ) -> Option<u32> {
        let place = self.find_answered(now, node, id, function, message)?;
        match self.requests.get(place) {
            Some(Request::Subscription(s)) if s.state == SubscriptionState::Deleting => None, // late
            Some(Request::Subscription(s)) if s.is_active() && s.change.is_some() => Some(place),
            _ => {
                self.answered_before(now, node, message); // not requested
                None
            }
        }
    }

    // Clause 8.2.5.2/19 ric: The response stops TRICEVENTmodify and ends the procedure. Tests: modification,
    //   conform:modification. Versions: from v03 on.
    pub(super) fn modification_response(
        &mut self,
        now: Time,
        node: NodeId,
        response: &RicSubscriptionModificationResponse<'_>,
    ) {
        let (id, function, message) =
            (response.request_id, response.ran_function_id, "RicSubscriptionModificationResponse");
        let Some(place) = self.find_change(now, node, id, function, message) else { return };
        let result = ChangeResult::of(response);
        let Some(Request::Subscription(s)) = self.requests.get_mut(place) else { return };
        let Some(pending) = s.change.take() else { return };
        if !result.answers(&pending.change) {
            self.contradiction(now, node, id, message);
            return self.change_ended(
                *pending,
                place,
                ModifyOutcome::Refused(Cause::Protocol(CauseProtocol::SemanticError)),
            );
        }
        s.apply(&pending.change, &result);
        let (before, consumers) = (s.octets, s.consumers.clone());
        s.octets = s.spec.octets();
        let (after, empty) = (s.octets, s.admitted.is_empty());
        for consumer in consumers {
            self.quotas.resize(consumer, before, after);
        }
        let cause = result.not_added.first().map_or(Cause::Misc(CauseMisc::Unspecified), |(_, cause)| *cause);
        self.change_ended(*pending, place, ModifyOutcome::Done(result));
        self.requests.renew_deadline(place);
        if empty {
            // no action is left
            self.end_consumers(place, SubscriptionEnd::ByNode(cause));
            self.send_delete(now, place);
        }
    }

    // Clause 8.2.5.3/6 ric: The failure stops TRICEVENTmodify and ends the procedure. Tests: modification. Versions:
    //   from v03 on.
    pub(super) fn modification_failure(
        &mut self,
        now: Time,
        node: NodeId,
        failure: &RicSubscriptionModificationFailure<'_>,
    ) {
        let (id, function) = (failure.request_id, failure.ran_function_id);
        let message = "RicSubscriptionModificationFailure";
        let Some(place) = self.find_change(now, node, id, function, message) else { return };
        self.modification_rejected(place, failure.cause);
    }

    /// Fails the pending change.
    pub(super) fn modification_rejected(&mut self, place: u32, cause: Cause) {
        if let Some(Request::Subscription(s)) = self.requests.get_mut(place)
            && let Some(pending) = s.change.take()
        {
            self.requests.renew_deadline(place);
            self.change_ended(*pending, place, ModifyOutcome::Refused(cause));
        }
    }

    /// Reports the outcome of a change to the consumer that awaits it.
    pub(super) fn change_ended(&mut self, pending: PendingChange, place: u32, outcome: ModifyOutcome) {
        if let Some((consumer, ticket)) = pending.waiting {
            let subscription = SubscriptionId(place);
            self.events.push_back(Event::Request {
                consumer,
                event: RequestEvent::Modified { ticket, subscription, outcome },
            });
        }
    }

    /// Drops the changes of a subscription that is not active any more.
    pub(super) fn drop_change(&mut self, place: u32) {
        if let Some(Request::Subscription(s)) = self.requests.get_mut(place) {
            s.required = None;
            if let Some(pending) = s.change.take() {
                self.change_ended(*pending, place, ModifyOutcome::Ended);
            }
        }
    }

    pub(super) fn modification_timeout(&mut self, now: Time, place: u32) {
        let request_id = Some(self.requests.id(place));
        let Some(Request::Subscription(s)) = self.requests.get_mut(place) else { return };
        if s.required.is_some() {
            return self.consent_timeout(now, place);
        }
        let Some((consumer, ticket)) = s.change.as_mut().and_then(|change| change.waiting.take()) else { return };
        let (subscription, outcome) = (SubscriptionId(place), ModifyOutcome::TimedOut);
        self.events
            .push_back(Event::Request { consumer, event: RequestEvent::Modified { ticket, subscription, outcome } });
        if let Some(assoc) = self.nodes.get(&s.node).map(|n| n.assoc) {
            let procedure_code = ProcedureCode::RIC_SUBSCRIPTION_MODIFICATION;
            self.remark(now, assoc, Notice::TimedOut { procedure_code, request_id });
        }
    }
}
