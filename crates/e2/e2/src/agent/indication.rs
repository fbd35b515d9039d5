//! Writes the indications of subscriptions. An insert is answered by a control with its call process id.
//!
//! Procedure: RIC Indication. Clause: E2AP v03.01 8.2.3. Role: node. Since: v01.00. Scenarios: agent_indication*

use e2ap::{RicActionId, RicIndication, RicIndicationSn, RicIndicationType, RicRequestId};
use per::Octets;

use super::{Agent, AgentMisuse};

impl Agent {
    // Clause 8.2.3.1/1 node: The E2 node starts the procedure. Tests: agent_indication, agent_unsupported_procedures.
    /// Appends an indication of an active subscription to `out`; the caller sends it.
    ///
    /// # Errors
    /// If the subscription or its action is not active (any more); `out` is unchanged then.
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

    /// Appends an insert, as [`Agent::write_indication`] does; the control that answers it contains `call_process_id`.
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

    #[allow(clippy::too_many_arguments)] // the fields of the message
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
        let actions = subscription.admitted.as_mut().ok_or(AgentMisuse::UnknownAction)?;
        let state = actions.iter_mut().find(|a| a.id == action).ok_or(AgentMisuse::UnknownAction)?;
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
        // the ids were decoded in this version, the sequence number is any u16, and the octets are unbounded
        if let Err(error) = self.config.codec.encode_indication(&indication, self.config.version, out) {
            panic!("every version carries such an indication: {error}");
        }
        Ok(())
    }
}
