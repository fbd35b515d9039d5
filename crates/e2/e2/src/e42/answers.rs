//! The answers to FlexRIC's xApps.

use e2ap::{
    Cause, CauseRicRequest, Codec, Pdu, RanFunctionId, RicActionAdmitted, RicActionId, RicActionNotAdmitted,
    RicControlAcknowledge, RicControlFailure, RicControlStatus, RicRequestId, RicSubscriptionDeleteResponse,
    RicSubscriptionFailure, RicSubscriptionResponse, Version,
};
use per::{Gather, Octets};

use super::host::E42Host;
use crate::{
    AssocId, Consumer, ControlOutcome, Event, Indication, Notice, RequestEvent, SubscribeError, SubscriptionEnd,
};

impl E42Host {
    /// Handles an event of the controller. Returns the event unless it concerned an E42 xApp only.
    pub fn handle_event(&mut self, event: Event) -> Option<Event> {
        let Some(assoc) = event.consumer().and_then(|consumer| self.assoc(consumer)) else { return Some(event) };
        let Some(session) = self.sessions.get_mut(&assoc) else { return Some(event) };
        let Event::Request { event, .. } = event else { return Some(event) };
        match event {
            RequestEvent::Subscribed { ticket, subscription, admitted, not_admitted } => {
                let (request_id, ran_function_id) = session.tickets.remove(&ticket)?;
                if let Some(held) = session.subscriptions.get_mut(&request_id) {
                    held.subscription = Some(subscription);
                }
                session.by_subscription.insert(subscription, request_id);
                // even if it is empty: FlexRIC writes the empty list, and its xApps read by position
                let not_admitted = Some(self.not_admitted(not_admitted).into());
                let response = RicSubscriptionResponse {
                    request_id,
                    ran_function_id,
                    actions_admitted: admitted.into_iter().map(|id| RicActionAdmitted { id }).collect(),
                    actions_not_admitted: not_admitted,
                };
                self.send(assoc, &response.into());
            }
            RequestEvent::SubscriptionFailed { ticket, error } => {
                let (request_id, function) = session.tickets.remove(&ticket)?;
                session.subscriptions.remove(&request_id);
                let (cause, actions) = match error {
                    SubscribeError::Refused { cause, actions } => (cause, actions),
                    // `subscribe` returns what the RIC refuses
                    SubscribeError::Misuse(_) | SubscribeError::TimedOut | SubscribeError::NodeLost => {
                        (Cause::RicRequest(CauseRicRequest::SystemNotReady), Vec::new())
                    }
                };
                self.refuse_subscription(assoc, request_id, function, cause, actions);
            }
            RequestEvent::SubscriptionEnded { subscription, end } => {
                let request_id = session.by_subscription.remove(&subscription)?;
                let held = session.subscriptions.remove(&request_id)?;
                if end == SubscriptionEnd::Deleted {
                    let ran_function_id = held.function;
                    self.send(assoc, &RicSubscriptionDeleteResponse { request_id, ran_function_id }.into());
                } else {
                    self.notices.push_back((assoc, Notice::EndNotReported { request_id, end }));
                }
            }
            RequestEvent::Controlled { ticket, outcome } => {
                let (request_id, ran_function_id) = session.tickets.remove(&ticket)?;
                match outcome {
                    ControlOutcome::Acknowledged(outcome) => {
                        let is_v1 = self.version.e2ap() < Version::V2_03;
                        let acknowledge = RicControlAcknowledge {
                            request_id,
                            ran_function_id,
                            call_process_id: None,
                            status: is_v1.then_some(RicControlStatus::Success),
                            outcome: outcome.as_deref().map(Octets::from),
                        };
                        self.send(assoc, &acknowledge.into());
                    }
                    ControlOutcome::Sent => {}
                    ControlOutcome::Failed { cause, outcome } => {
                        self.fail_control(assoc, request_id, ran_function_id, cause, outcome.as_deref());
                    }
                    ControlOutcome::TimedOut => {
                        let cause = Cause::RicRequest(CauseRicRequest::ControlTimerExpired);
                        self.fail_control(assoc, request_id, ran_function_id, cause, None);
                    }
                    ControlOutcome::Misuse(_) | ControlOutcome::NodeLost => {
                        let cause = Cause::RicRequest(CauseRicRequest::SystemNotReady);
                        self.fail_control(assoc, request_id, ran_function_id, cause, None);
                    }
                }
            }
            // E42 has no messages for the others
            _ => {}
        }
        None
    }

    fn not_admitted(&self, actions: Vec<(RicActionId, Cause)>) -> Vec<RicActionNotAdmitted> {
        let version = self.version.e2ap();
        let item = |(id, cause): (RicActionId, Cause)| RicActionNotAdmitted { id, cause: cause.in_version(version) };
        actions.into_iter().map(item).collect()
    }

    pub(super) fn refuse_subscription(
        &mut self,
        assoc: AssocId,
        request_id: RicRequestId,
        ran_function_id: RanFunctionId,
        cause: Cause,
        actions: Vec<(RicActionId, Cause)>,
    ) {
        let is_v1 = self.version.e2ap() < Version::V2_03;
        let cause = cause.in_version(self.version.e2ap());
        // v1 has causes per action only
        let actions = if actions.is_empty() { vec![(RicActionId(0), cause)] } else { actions };
        let failure = RicSubscriptionFailure {
            request_id,
            ran_function_id,
            actions_not_admitted: is_v1.then(|| self.not_admitted(actions).into()),
            cause: (!is_v1).then_some(cause),
            criticality_diagnostics: None,
        };
        self.send(assoc, &failure.into());
    }

    pub(super) fn fail_control(
        &mut self,
        assoc: AssocId,
        request_id: RicRequestId,
        ran_function_id: RanFunctionId,
        cause: Cause,
        outcome: Option<&[u8]>,
    ) {
        let failure = RicControlFailure {
            request_id,
            ran_function_id,
            call_process_id: None,
            cause: Some(cause.in_version(self.version.e2ap())),
            outcome: outcome.map(Octets::from),
            criticality_diagnostics: None,
        };
        self.send(assoc, &failure.into());
    }

    /// Passes an indication for `consumer` to `send`, with the xApp's own request id: the association, and the parts of the PDU,
    /// of which only the request id is not the node's octets. Returns `None` if the consumer is not subscribed. `scratch` is used
    /// for PDUs that must be encoded again.
    pub fn relay_indication<R>(
        &self,
        consumer: Consumer,
        indication: &Indication<'_>,
        scratch: &mut Vec<u8>,
        send: impl FnOnce(AssocId, &[&[u8]]) -> R,
    ) -> Option<R> {
        let assoc = self.assoc(consumer)?;
        let request_id = *self.sessions.get(&assoc)?.by_subscription.get(&indication.subscription)?;
        if indication.codec == Codec::Per
            && let Some((before, after)) = e2ap::peek::around_request_id(indication.pdu)
        {
            let [r1, r0] = request_id.requestor.to_be_bytes();
            let [i1, i0] = request_id.instance.to_be_bytes();
            return Some(send(assoc, &[before, &[r1, r0, i1, i0], after]));
        }
        // another encoding, or an unusual order of IEs: decode and encode again
        let gather = Gather::new();
        let message = e2ap::RicIndication { request_id, ..indication.decode(&gather).ok()? };
        scratch.clear();
        Pdu::from(message).encode(self.version.e2ap(), scratch).ok()?;
        Some(send(assoc, &[scratch]))
    }
}
