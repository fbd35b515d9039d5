//! Passes the RIC's requests for other associations to the caller, who owns the links and answers.
//!
//! Procedure: E2 Connection Update. Clause: E2AP v03.01 8.3.6. Role: node. Since: v01.01. Scenarios: agent_connection_update*

use e2ap::{
    Cause, CauseMisc, CauseProtocol, E2ConnectionSetupFailedItem, E2ConnectionUpdate, E2ConnectionUpdateAcknowledge,
    E2ConnectionUpdateFailure, E2NodeConfigurationUpdate, Pdu, TimeToWait, TnlInformation, TransactionId, Version,
};
use per::Gather;

use super::{Agent, AgentEvent, AgentMisuse};
use crate::change::list;
use crate::protocol_error::or_unspecified;
use crate::{ConnectionResult, ConnectionUpdate};

/// An update that awaits the caller's answer.
#[derive(Debug)]
pub(super) struct PendingConnection {
    transaction: Option<TransactionId>,
    /// The associations to set up or modify.
    wanted: Vec<TnlInformation<'static>>,
}

impl Agent {
    // Clause 8.3.6.2/7 node: A request without content is acknowledged and changes nothing. Tests:
    //   agent_connection_update, conform:connection-update-empty. Versions: from v01.01 on.
    // Clause 8.3.6.3/1 node: A request that cannot be accepted is answered by the failure message with a cause.
    //   Tests: agent_connection_update. Versions: from v01.01 on.
    pub(super) fn connection_update(&mut self, update: &E2ConnectionUpdate<'_>) {
        let transaction = update.transaction_id;
        let wanted = ConnectionUpdate::of(update);
        if self.connection.is_some() {
            // one at a time
            let cause = Cause::Misc(CauseMisc::ControlProcessingOverload);
            return self.send_connection_failure(transaction, cause, Some(TimeToWait::V1s));
        }
        if !wanted.is_sound() {
            return self.send_connection_failure(transaction, Cause::Protocol(CauseProtocol::SemanticError), None);
        }
        if wanted.is_empty() {
            let ack = E2ConnectionUpdateAcknowledge { transaction_id: transaction, setup: None, setup_failed: None };
            return self.send(&ack.into());
        }
        let tnl = wanted.add.iter().chain(&wanted.modify).map(|item| item.tnl_information.clone()).collect();
        self.connection = Some(PendingConnection { transaction, wanted: tnl });
        self.events.push_back(AgentEvent::ConnectionUpdate(wanted));
    }

    // Clause 8.3.6.2/6 node: After the update the acknowledgement is sent. Tests: agent_connection_update,
    //   node_with_several_associations_survives_loss_of_the_first. Versions: from v01.01 on.
    /// Answers an [`AgentEvent::ConnectionUpdate`] that was applied completely or in part.
    ///
    /// # Errors
    /// If no update awaits its answer, or the result names an association that was not requested.
    pub fn connection_updated(&mut self, result: &ConnectionResult) -> Result<(), AgentMisuse> {
        let Some(pending) = &self.connection else { return Err(AgentMisuse::UnknownRequest) };
        let set_up = result.set_up.iter().map(|item| &item.tnl_information);
        let mut named: Vec<_> = set_up.chain(result.failed.iter().map(|(tnl, _)| tnl)).collect();
        let count = named.len();
        named.retain(|tnl| pending.wanted.contains(tnl));
        let twice = named.iter().enumerate().any(|(i, tnl)| named[..i].contains(tnl));
        if named.len() != count || twice || result.set_up.len().max(result.failed.len()) > 32 {
            return Err(AgentMisuse::BadAnswer);
        }
        let (transaction_id, version) = (pending.transaction, self.config.version);
        let failed = result.failed.iter().map(|(tnl_information, cause)| E2ConnectionSetupFailedItem {
            tnl_information: tnl_information.clone(),
            cause: cause.in_version(version),
        });
        let ack = E2ConnectionUpdateAcknowledge {
            transaction_id,
            setup: list(result.set_up.iter().cloned()),
            setup_failed: list(failed),
        };
        self.connection = None;
        self.send(&ack.into());
        Ok(())
    }

    /// Checks that a further association can join the node.
    ///
    /// # Errors
    /// In v1, whose message on a further association does not name the node.
    pub fn check_join(&self) -> Result<(), AgentMisuse> {
        let version = self.config.version;
        if version < Version::V2_03 { Err(AgentMisuse::CannotJoin(version)) } else { Ok(()) }
    }

    // Clause 8.3.6.2/9 node: A node without changes sends a configuration update without content as the first
    //   procedure of a further association. Does: it contains the Global E2 Node ID, which 8.3.6.2/8 requires. Tests:
    //   node_with_several_associations_survives_loss_of_the_first. Versions: v1 cannot name the node: there further
    //   associations are reported as failed.
    /// Writes the first message of a further association, which makes it join the node (E2AP v03.01 8.3.6.2). Returns the
    /// transaction id for [`Agent::joined`].
    ///
    /// # Errors
    /// If the agent is not up, or as [`Agent::check_join`].
    pub fn join(&mut self, out: &mut Vec<u8>) -> Result<TransactionId, AgentMisuse> {
        self.check_join()?;
        if !self.is_up() {
            return Err(AgentMisuse::NotUp);
        }
        let transaction_id = self.next_transaction().ok_or(AgentMisuse::CannotJoin(self.config.version))?;
        let update = E2NodeConfigurationUpdate {
            transaction_id: Some(transaction_id),
            global_e2_node_id: Some(self.config.node_id),
            component_config_update_v1: None,
            component_config_addition: None,
            component_config_update: None,
            component_config_removal: None,
            tnl_association_removal: None,
        };
        match self.config.codec.encode(&update.into(), self.config.version, out) {
            Ok(()) => Ok(transaction_id),
            // `AgentConfig::check` has checked the node id; nothing in the message comes from a peer
            Err(error) => panic!("an update that v2 and later have: {error}"),
        }
    }

    /// Reads the answer to [`Agent::join`] from a PDU: success, or the cause of the refusal. `None` if the PDU is another one,
    /// which belongs to [`Agent::handle_pdu`].
    #[must_use]
    pub fn joined(&self, transaction: TransactionId, pdu: &[u8]) -> Option<Result<(), Cause>> {
        let gather = Gather::new();
        match self.config.codec.decode(pdu, self.config.version, &gather).ok()?.pdu {
            Pdu::E2NodeConfigurationUpdateAcknowledge(m) if m.transaction_id == Some(transaction) => Some(Ok(())),
            Pdu::E2NodeConfigurationUpdateFailure(m) if m.transaction_id == Some(transaction) => {
                Some(Err(or_unspecified(m.cause)))
            }
            Pdu::ErrorIndication(m) if m.transaction_id == Some(transaction) => Some(Err(or_unspecified(m.cause))),
            _ => None,
        }
    }

    /// Refuses an [`AgentEvent::ConnectionUpdate`].
    ///
    /// # Errors
    /// If no update awaits its answer.
    pub fn refuse_connection_update(&mut self, cause: Cause, wait: Option<TimeToWait>) -> Result<(), AgentMisuse> {
        let pending = self.connection.take().ok_or(AgentMisuse::UnknownRequest)?;
        self.send_connection_failure(pending.transaction, cause, wait);
        Ok(())
    }

    pub(super) fn send_connection_failure(
        &mut self,
        transaction_id: Option<TransactionId>,
        cause: Cause,
        time_to_wait: Option<TimeToWait>,
    ) {
        let cause = Some(cause.in_version(self.config.version));
        let failure = E2ConnectionUpdateFailure { transaction_id, cause, time_to_wait, criticality_diagnostics: None };
        self.send(&failure.into());
    }
}
