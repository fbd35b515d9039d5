//! What a subscription brings. Inserts wait for the control that carries their call process id.
//!
//! Procedure: RIC Indication. Clause: E2AP v03.01 8.2.5. Role: node. Since: v01.00. Scenarios: agent_indication*

use e2ap::{RicActionId, RicIndication, RicIndicationSn, RicIndicationType, RicRequestId};
use per::Octets;

use super::{Agent, AgentMisuse};

impl Agent {
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
        // the ids were decoded in this version, the number is a whole u16, and the octets have no bound
        if let Err(error) = self.config.codec.encode_indication(&indication, self.config.version, out) {
            panic!("every version carries such an indication: {error}");
        }
        Ok(())
    }
}
