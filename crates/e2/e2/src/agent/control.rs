//! Passes the RIC's controls to the functions and sends their answers.
//!
//! Procedure: RIC Control. Clause: E2AP v03.01 8.2.6. Role: node. Since: v01.00. Scenarios: agent_control*

use e2ap::{
    Cause, CauseRicRequest, RanFunctionId, RicControlAckRequest, RicControlAcknowledge, RicControlFailure,
    RicControlRequest, RicControlStatus, RicRequestId, Version,
};
use per::Octets;

use super::{Agent, AgentEvent, AgentMisuse};

/// A control request of the RIC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlRequest {
    /// Its request id.
    pub request_id: RicRequestId,
    /// The RAN function that it addresses.
    pub ran_function_id: RanFunctionId,
    /// The id of the suspended procedure that it answers.
    pub call_process_id: Option<Vec<u8>>,
    /// The service model's header.
    pub header: Vec<u8>,
    /// The service model's message.
    pub message: Vec<u8>,
}

#[derive(Debug)]
pub(super) struct Control {
    pub ran_function_id: RanFunctionId,
    call_process_id: Option<Vec<u8>>,
    ack: RicControlAckRequest,
}

impl Control {
    /// Octets stored of it.
    pub fn octets(&self) -> usize {
        self.call_process_id.as_ref().map_or(0, Vec::len)
    }
}

/// The maximum octets of the call process ids, which E2AP does not bound, of all unanswered controls.
const MAX_CONTROL_OCTETS: usize = 1 << 20;

impl Agent {
    pub(super) fn control_request(&mut self, request: &RicControlRequest<'_>) {
        let (id, ran_function_id) = (request.request_id, request.ran_function_id);
        let call_process_id = request.call_process_id.as_ref().map(|c| c.to_cow().into_owned());
        let control = Control {
            ran_function_id,
            call_process_id: call_process_id.clone(),
            // E2AP v03.01 8.2.6.2: without the IE no answer is requested; v1's nAck requests failures only
            ack: request.ack_request.unwrap_or(RicControlAckRequest::NoAck),
        };
        let refusal = if !self.offers(ran_function_id) {
            Some(CauseRicRequest::RanFunctionIdInvalid)
        } else if self.removal.is_some() {
            Some(CauseRicRequest::SystemNotReady)
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

    /// Acknowledges a control.
    ///
    /// # Errors
    /// If no such control awaits its answer.
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

    /// Reports that a control failed.
    ///
    /// # Errors
    /// If no such control awaits its answer.
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
            cause: Some(cause.in_version(self.config.version)),
            outcome: outcome.map(Octets::from),
            criticality_diagnostics: None,
        };
        self.send(&failure.into());
    }
}
