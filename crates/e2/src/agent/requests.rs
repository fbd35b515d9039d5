//! What the RIC asks of the node's functions: subscriptions (E2AP v03.01 8.2.1, 8.2.2), indications (8.2.5), controls
//! (8.2.6).

use e2ap::{
    Cause, CauseRicRequest, RanFunctionId, RicActionAdmitted, RicActionId, RicActionNotAdmitted, RicActionType,
    RicControlAckRequest, RicControlAcknowledge, RicControlFailure, RicControlRequest, RicControlStatus, RicIndication,
    RicIndicationSn, RicIndicationType, RicRequestId, RicSubscriptionDeleteFailure, RicSubscriptionDeleteRequest,
    RicSubscriptionDeleteResponse, RicSubscriptionFailure, RicSubscriptionRequest, RicSubscriptionResponse, Version,
};
use per::Octets;

use super::{ActionState, Agent, AgentEvent, AgentMisuse};
use crate::Action;

/// The RIC wants to subscribe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubscriptionRequest {
    /// Names the subscription.
    pub request_id: RicRequestId,
    /// The function it is with.
    pub ran_function_id: RanFunctionId,
    /// The service model's event trigger definition.
    pub event_trigger: Vec<u8>,
    /// What is wanted.
    pub actions: Vec<Action>,
}

/// The RIC wants something done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlRequest {
    /// Names the control.
    pub request_id: RicRequestId,
    /// The function that is to act.
    pub ran_function_id: RanFunctionId,
    /// The process that waits for this.
    pub call_process_id: Option<Vec<u8>>,
    /// The service model's header.
    pub header: Vec<u8>,
    /// The service model's message.
    pub message: Vec<u8>,
}

#[derive(Debug)]
pub(super) struct Subscription {
    pub ran_function_id: RanFunctionId,
    asked: Vec<RicActionId>,
    /// Actions that are set up: none while the function has not answered.
    admitted: Vec<ActionState>,
}

#[derive(Debug)]
pub(super) struct Control {
    ran_function_id: RanFunctionId,
    call_process_id: Option<Vec<u8>>,
    ack: RicControlAckRequest,
}

impl Control {
    /// Octets that are kept of it.
    fn octets(&self) -> usize {
        self.call_process_id.as_ref().map_or(0, Vec::len)
    }
}

/// Octets of call process ids, which E2AP does not bound, of all controls that wait for their answer.
const MAX_CONTROL_OCTETS: usize = 1 << 20;

impl Agent {
    fn offers(&self, id: RanFunctionId) -> bool {
        self.config.functions.iter().any(|function| function.id == id)
    }

    pub(super) fn subscription_request(&mut self, request: &RicSubscriptionRequest<'_>) {
        let (id, function) = (request.request_id, request.ran_function_id);
        let actions = &request.details.actions;
        let refusal = if !self.offers(function) {
            Some(CauseRicRequest::RanFunctionIdInvalid)
        } else if self.subscriptions.contains_key(&id) {
            Some(CauseRicRequest::DuplicateRicRequestId)
        } else if self.subscriptions.len() >= self.config.max_subscriptions {
            Some(CauseRicRequest::FunctionResourceLimit)
        } else if actions.iter().enumerate().any(|(i, a)| actions[..i].iter().any(|b| b.id == a.id)) {
            Some(CauseRicRequest::DuplicateAction)
        } else {
            None
        };
        if let Some(cause) = refusal {
            let ids: Vec<_> = actions.iter().map(|a| a.id).collect();
            return self.send_failure(id, function, &ids, Cause::RicRequest(cause));
        }
        let asked = actions.iter().map(|a| a.id).collect();
        self.subscriptions.insert(id, Subscription { ran_function_id: function, asked, admitted: Vec::new() });
        self.events.push_back(AgentEvent::Subscribe(SubscriptionRequest {
            request_id: id,
            ran_function_id: function,
            event_trigger: request.details.event_trigger_definition.to_cow().into_owned(),
            actions: actions
                .iter()
                .map(|action| Action {
                    id: action.id,
                    kind: action.kind,
                    definition: action.definition.as_ref().map(|d| d.to_cow().into_owned()),
                    subsequent: action.subsequent_action,
                })
                .collect(),
        }));
    }

    /// The function takes a subscription: some of its actions at least.
    ///
    /// # Errors
    /// Where no such subscription waits for its answer, or the actions are not those that were asked for.
    pub fn admit(
        &mut self,
        id: RicRequestId,
        admitted: &[RicActionId],
        not_admitted: &[(RicActionId, Cause)],
    ) -> Result<(), AgentMisuse> {
        let version = self.config.version;
        let subscription = self.subscriptions.get_mut(&id).filter(|s| s.admitted.is_empty());
        let subscription = subscription.ok_or(AgentMisuse::UnknownRequest)?;
        let named: Vec<_> = admitted.iter().copied().chain(not_admitted.iter().map(|(id, _)| *id)).collect();
        let twice = named.iter().enumerate().any(|(i, id)| named[..i].contains(id));
        if admitted.is_empty() || twice || !named.iter().all(|id| subscription.asked.contains(id)) {
            return Err(AgentMisuse::BadActions);
        }
        subscription.admitted = admitted.iter().map(|id| ActionState { id: *id, sn: 0 }).collect();
        let refused =
            not_admitted.iter().map(|(id, cause)| RicActionNotAdmitted { id: *id, cause: cause.in_version(version) });
        let response = RicSubscriptionResponse {
            request_id: id,
            ran_function_id: subscription.ran_function_id,
            actions_admitted: admitted.iter().map(|id| RicActionAdmitted { id: *id }).collect(),
            actions_not_admitted: (!not_admitted.is_empty()).then(|| refused.collect()),
        };
        self.send(&response.into());
        Ok(())
    }

    /// The function does not take a subscription.
    ///
    /// # Errors
    /// Where no such subscription waits for its answer.
    pub fn refuse(&mut self, id: RicRequestId, cause: Cause) -> Result<(), AgentMisuse> {
        if !self.subscriptions.get(&id).is_some_and(|s| s.admitted.is_empty()) {
            return Err(AgentMisuse::UnknownRequest);
        }
        if let Some(subscription) = self.subscriptions.remove(&id) {
            self.send_failure(id, subscription.ran_function_id, &subscription.asked, cause);
        }
        Ok(())
    }

    fn send_failure(&mut self, id: RicRequestId, function: RanFunctionId, actions: &[RicActionId], cause: Cause) {
        let cause = cause.in_version(self.config.version);
        let v1 = self.config.version < Version::V2_03;
        let failure = RicSubscriptionFailure {
            request_id: id,
            ran_function_id: function,
            actions_not_admitted: v1
                .then(|| actions.iter().map(|id| RicActionNotAdmitted { id: *id, cause }).collect()),
            cause: (!v1).then_some(cause),
            criticality_diagnostics: None,
        };
        self.send(&failure.into());
    }

    pub(super) fn delete_request(&mut self, request: &RicSubscriptionDeleteRequest) {
        let (request_id, ran_function_id) = (request.request_id, request.ran_function_id);
        let stands = self.subscriptions.get(&request_id).is_some_and(|s| s.ran_function_id == ran_function_id);
        if !stands {
            let cause = if self.offers(ran_function_id) {
                CauseRicRequest::RequestIdUnknown
            } else {
                CauseRicRequest::RanFunctionIdInvalid
            };
            let failure = RicSubscriptionDeleteFailure {
                request_id,
                ran_function_id,
                cause: Cause::RicRequest(cause),
                criticality_diagnostics: None,
            };
            return self.send(&failure.into());
        }
        self.subscriptions.remove(&request_id);
        self.events.push_back(AgentEvent::Unsubscribe { request_id, ran_function_id });
        self.send(&RicSubscriptionDeleteResponse { request_id, ran_function_id }.into());
    }

    /// Writes an indication of a subscription that stands to the end of `out`; the caller sends it.
    ///
    /// # Errors
    /// Where the subscription or its action does not stand: it may be gone by now. Then `out` is as it was.
    pub fn write_indication(
        &mut self,
        id: RicRequestId,
        action: RicActionId,
        kind: RicIndicationType,
        header: &[u8],
        message: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), AgentMisuse> {
        self.write(id, action, kind, None, header, message, out)
    }

    /// Writes an insert, as [`Agent::write_indication`] does; the control that answers it brings `call_process_id` back.
    ///
    /// # Errors
    /// As [`Agent::write_indication`].
    pub fn write_insert(
        &mut self,
        id: RicRequestId,
        action: RicActionId,
        call_process_id: &[u8],
        header: &[u8],
        message: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), AgentMisuse> {
        self.write(id, action, RicIndicationType::Insert, Some(call_process_id), header, message, out)
    }

    #[allow(clippy::too_many_arguments)] // what the message has
    fn write(
        &mut self,
        id: RicRequestId,
        action: RicActionId,
        kind: RicIndicationType,
        call_process_id: Option<&[u8]>,
        header: &[u8],
        message: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), AgentMisuse> {
        let subscription = self.subscriptions.get_mut(&id).ok_or(AgentMisuse::UnknownRequest)?;
        let state = subscription.admitted.iter_mut().find(|a| a.id == action).ok_or(AgentMisuse::UnknownAction)?;
        let indication = RicIndication {
            request_id: id,
            ran_function_id: subscription.ran_function_id,
            action_id: action,
            sn: Some(RicIndicationSn(state.sn)),
            kind,
            header: header.into(),
            message: message.into(),
            call_process_id: call_process_id.map(Octets::from),
        };
        state.sn = state.sn.wrapping_add(1);
        // the ids were decoded in this version, the number is a whole u16, and the octets have no bound
        if let Err(error) = e2ap::encode(&indication, self.config.version, out) {
            panic!("every version carries such an indication: {error}");
        }
        Ok(())
    }

    pub(super) fn control_request(&mut self, request: &RicControlRequest<'_>) {
        let (id, ran_function_id) = (request.request_id, request.ran_function_id);
        let call_process_id = request.call_process_id.as_ref().map(|c| c.to_cow().into_owned());
        let control = Control {
            ran_function_id,
            call_process_id: call_process_id.clone(),
            // E2AP v03.01 8.2.6.2: without the IE no answer is wanted; v1's nAck wants only bad news.
            ack: request.ack_request.unwrap_or(RicControlAckRequest::NoAck),
        };
        let refusal = if !self.offers(ran_function_id) {
            Some(CauseRicRequest::RanFunctionIdInvalid)
        } else if self.controls.contains_key(&id) {
            Some(CauseRicRequest::DuplicateRicRequestId)
        } else if self.controls.len() >= self.config.max_controls
            || self.control_octets + control.octets() > MAX_CONTROL_OCTETS
        {
            Some(CauseRicRequest::FunctionResourceLimit)
        } else {
            None
        };
        if let Some(cause) = refusal {
            return self.send_control_failure(id, control, Cause::RicRequest(cause), None);
        }
        self.control_octets += control.octets();
        self.controls.insert(id, control);
        self.events.push_back(AgentEvent::Control(ControlRequest {
            request_id: id,
            ran_function_id,
            call_process_id,
            header: request.header.to_cow().into_owned(),
            message: request.message.to_cow().into_owned(),
        }));
    }

    fn take_control(&mut self, id: RicRequestId) -> Result<Control, AgentMisuse> {
        let control = self.controls.remove(&id).ok_or(AgentMisuse::UnknownRequest)?;
        self.control_octets -= control.octets();
        Ok(control)
    }

    /// The function did what a control wants.
    ///
    /// # Errors
    /// Where no such control waits for its answer.
    pub fn acknowledge(&mut self, id: RicRequestId, outcome: Option<&[u8]>) -> Result<(), AgentMisuse> {
        let control = self.take_control(id)?;
        if control.ack != RicControlAckRequest::Ack {
            return Ok(());
        }
        let ack = RicControlAcknowledge {
            request_id: id,
            ran_function_id: control.ran_function_id,
            call_process_id: control.call_process_id.map(Octets::from),
            status: (self.config.version < Version::V2_03).then_some(RicControlStatus::Success),
            outcome: outcome.map(Octets::from),
        };
        self.send(&ack.into());
        Ok(())
    }

    /// The function could not or would not do what a control wants.
    ///
    /// # Errors
    /// Where no such control waits for its answer.
    pub fn fail(&mut self, id: RicRequestId, cause: Cause, outcome: Option<&[u8]>) -> Result<(), AgentMisuse> {
        let control = self.take_control(id)?;
        self.send_control_failure(id, control, cause, outcome);
        Ok(())
    }

    fn send_control_failure(&mut self, id: RicRequestId, control: Control, cause: Cause, outcome: Option<&[u8]>) {
        if control.ack == RicControlAckRequest::NoAck {
            return;
        }
        let failure = RicControlFailure {
            request_id: id,
            ran_function_id: control.ran_function_id,
            call_process_id: control.call_process_id.map(Octets::from),
            cause: cause.in_version(self.config.version),
            outcome: outcome.map(Octets::from),
            criticality_diagnostics: None,
        };
        self.send(&failure.into());
    }
}

impl SubscriptionRequest {
    /// The actions of one kind.
    pub fn actions_of(&self, kind: RicActionType) -> impl Iterator<Item = &Action> {
        self.actions.iter().filter(move |action| action.kind == kind)
    }
}
