//! Passes the RIC's controls to the functions and sends their answers.
//!
//! Procedure: RIC Control. Clause: E2AP v03.01 8.2.4. Role: node. Since: v01.00. Scenarios: agent_control*

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
    // Clause 8.2.4.2/2 node: The RAN function id selects the function, which executes the control message. Tests:
    //   agent_control, conform:control.
    // Clause 8.2.4.2/3 node: The call process id selects the procedure that an insert has suspended. Tests:
    //   handover_is_suspended_until_the_answer, insert_and_its_answer_carry_the_call_process_id.
    // Clause 8.2.4.3/5 node: An unknown RAN function leads to a failure. Tests: agent_control,
    //   conform:control-unknown-function.
    pub(super) fn control_request(&mut self, request: &RicControlRequest<'_>) {
        let (id, ran_function_id) = (request.request_id, request.ran_function_id);
        let call_process_id = request.call_process_id.as_ref().map(|c| c.to_cow().into_owned());
        let control = Control {
            ran_function_id,
            call_process_id: call_process_id.clone(),
            ack: request.ack_request.unwrap_or(match self.config.version {
                Version::V1_00 | Version::V1_01 => RicControlAckRequest::NoAck,
                _ => RicControlAckRequest::Ack,
            }),
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

    // Clause 8.2.4.2/4 node: An executed control is acknowledged if that is requested or RIC Control Ack Request is
    //   absent. Tests: agent_control, agent_control_in_each_version, conform:control. Versions: v1 has the value nAck,
    //   which requests failures only; absent, nothing is requested there.
    // Clause 8.2.4.2/5 node: An executed control is not acknowledged if the request says NoAck. Tests: agent_control,
    //   conform:control-no-ack.
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

    // Clause 8.2.4.3/1 node: An invalid call process id leads to a failure. Tests:
    //   handover_is_suspended_until_the_answer.
    // Clause 8.2.4.3/2 node: A call process id after its time to wait leads to a failure. Tests:
    //   time_to_wait_expires.
    // Clause 8.2.4.3/3 node: A control that cannot be executed leads to a failure. Does: whatever RIC Control Ack
    //   Request says. Tests: agent_control, agent_control_in_each_version, agent_control_without_answer_in_v1. Versions:
    //   in v1 only if it is Ack or nAck.
    // Clause 8.2.4.3/4 node: Content that the service model cannot decode or accept leads to a failure. Tests:
    //   undecodable_controls_are_refused, invalid_controls_are_refused.
    // Clause 8.2.4.3/6 node: An action that the function does not support leads to a failure. Tests:
    //   invalid_controls_are_refused.
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
        // v1 has a value of its own, nAck, for failures without acknowledgements
        if control.ack == RicControlAckRequest::NoAck && self.config.version < Version::V2_03 {
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
