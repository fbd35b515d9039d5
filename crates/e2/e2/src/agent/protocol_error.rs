//! Answers to PDUs that cannot be decoded.

use e2ap::{
    CauseProtocol, CriticalityDiagnostics, E2ConnectionUpdateFailure, E2RemovalFailure, Kind, Pdu, ProcedureCode,
    RanFunctionId, RicControlFailure, RicQueryFailure, RicRequestId, RicSubscriptionDeleteFailure,
    RicSubscriptionFailure, RicSubscriptionModificationFailure, TransactionId, Version,
};

use super::{Agent, AgentEvent};
use crate::protocol_error::malformed;
use crate::{Notice, Time};

impl Agent {
    // Clause 10.3.4.2/1 node: An IE that is not comprehended, with criticality reject, in a request leads to the
    //   failure message, and nothing is executed. Tests: agent_malformed, conform:subscription-unknown-ie-reject,
    //   conform:unknown-ie-reject.
    // Clause 10.3.4.2/2 node: If the failure message cannot be filled, an Error Indication is sent instead. Tests:
    //   agent_malformed, conform:repeated-ie.
    // Clause 10.3.4.2/3 node: In a message without a failure message it leads to an Error Indication. Tests:
    //   agent_malformed.
    // Clause 10.3.4.2/4 node: In an answer it ends the procedure unsuccessfully, which is handled locally. Does: the
    //   answer is dropped. The procedure ends at its time limit. Tests: agent_setup_unexpected_answers.
    // Clause 10.3.5/1 node: A missing IE with criticality reject in a request leads to the failure message. Does: as
    //   for an IE that is not comprehended. Tests: missing_ie_rejects_message_unless_ignorable, agent_malformed.
    // Clause 10.3.5/2 node: If the failure message cannot be filled, an Error Indication is sent instead. Tests:
    //   agent_malformed.
    // Clause 10.3.5/3 node: In an answer it ends the procedure unsuccessfully, which is handled locally. Does: as for
    //   10.3.4.2/4. Tests: agent_setup_unexpected_answers.
    // Clause 10.3.6/1 node: An IE in the wrong order or too often in a request leads to the failure message with the
    //   cause falsely constructed message. Tests: agent_setup_out_of_order_strict,
    //   duplicate_ie_is_falsely_constructed_message, conform:repeated-ie. Deviation: the order is enforced with
    //   `strict_ie_order` only, since some peers send another one (docs/peers.md).
    // Clause 10.3.6/2 node: In an answer it ends the procedure unsuccessfully, which is handled locally. Does: as for
    //   10.3.4.2/4. Tests: agent_setup_out_of_order_strict, duplicate_ie_is_refused_in_any_order. Deviation: the order
    //   is enforced with `strict_ie_order` only, since some peers send another one (docs/peers.md).
    // Clause 10.4/1 node: A logical error in a request of class 1 leads to the failure message. Tests:
    //   agent_connection_update, agent_subscription_refused, agent_modification.
    // Clause 10.4/2 node: Without a failure message it leads to an Error Indication. Tests:
    //   agent_unsupported_procedures.
    // Clause 10.5/2 both: If the receiver of an answer is unknown, the error is handled locally. Does: an answer goes
    //   to the association that the error came on, which is always known. Tests: garbage_after_setup, agent_malformed.
    // Clause 10.5/3 both: The cause is that of the error that ends a procedure, not that of an earlier one that was
    //   ignored. Tests: criticality_notify, agent_criticality_notify.
    /// Answers a PDU that cannot be decoded: by the failure message of its procedure, if it has one whose ids are known (E2AP
    /// v03.01 10.3.4, 10.3.5), otherwise by an error indication; an answer is dropped.
    pub(super) fn answer_malformed(&mut self, now: Time, pdu: &[u8], error: e2ap::Error) {
        match self.failure(pdu, &error) {
            Some(failure) if self.answers.take(now) => {
                self.events.push_back(AgentEvent::Notice(Notice::Malformed(error)));
                self.send(&failure);
            }
            // `complain` counts an answer beyond the budget
            _ => {
                // an error in an answer is handled locally: its procedure ends at its time limit (E2AP v03.01 10.3.4.2, 10.3.5)
                let is_answer = matches!(error.message(), Some((Kind::Successful | Kind::Unsuccessful, _)));
                let answer = malformed(self.config.codec.outline(pdu), &error).filter(|_| !is_answer);
                let notice = if answer.is_some() { Notice::Malformed } else { Notice::Unreadable };
                self.complain(now, notice(error), answer);
            }
        }
    }

    fn failure(&self, pdu: &[u8], error: &e2ap::Error) -> Option<Pdu<'static>> {
        // E2AP v03.01 10.2: after a transfer syntax error the procedure is unknown
        if error.cause() == e2ap::Cause::Protocol(CauseProtocol::TransferSyntaxError) || !self.is_up() {
            return None;
        }
        let Some((Kind::Initiating, code)) = error.message() else { return None };
        // so it is if the version does not have the procedure
        if let e2ap::Error::UnknownProcedure { .. } = error {
            return None;
        }
        let (outline, version) = (self.config.codec.outline(pdu)?, self.config.version);
        if let ProcedureCode::E2_CONNECTION_UPDATE | ProcedureCode::E2_REMOVAL = code {
            // v1 has no transaction ids
            let transaction = outline.transaction_id.filter(|_| version >= Version::V2_03);
            return (transaction.is_some() || version < Version::V2_03)
                .then(|| global_failure(code, transaction, version, error));
        }
        let (id, function) = (outline.request_id?, outline.ran_function_id?);
        failure(code, id, function, version, error)
    }
}

/// Returns the failure message of a node-level procedure: Connection Update or Removal.
fn global_failure(
    code: ProcedureCode,
    transaction_id: Option<TransactionId>,
    version: Version,
    error: &e2ap::Error,
) -> Pdu<'static> {
    let (cause, criticality_diagnostics) = (error.cause().in_version(version), error.diagnostics());
    let cause = Some(cause);
    if code == ProcedureCode::E2_REMOVAL {
        return E2RemovalFailure { transaction_id, cause, criticality_diagnostics }.into();
    }
    E2ConnectionUpdateFailure { transaction_id, cause, time_to_wait: None, criticality_diagnostics }.into()
}

fn failure(
    code: ProcedureCode,
    request_id: RicRequestId,
    ran_function_id: RanFunctionId,
    version: Version,
    error: &e2ap::Error,
) -> Option<Pdu<'static>> {
    let cause = error.cause().in_version(version);
    let criticality_diagnostics: Option<CriticalityDiagnostics<'static>> = error.diagnostics();
    let v2 = version >= Version::V2_03;
    Some(match code {
        ProcedureCode::RIC_SUBSCRIPTION => RicSubscriptionFailure {
            request_id,
            ran_function_id,
            // v1 has causes per action only, and the actions are unknown
            actions_not_admitted: (!v2).then(|| Vec::new().into()),
            cause: v2.then_some(cause),
            criticality_diagnostics,
        }
        .into(),
        ProcedureCode::RIC_SUBSCRIPTION_DELETE => {
            RicSubscriptionDeleteFailure { request_id, ran_function_id, cause: Some(cause), criticality_diagnostics }
                .into()
        }
        ProcedureCode::RIC_CONTROL => RicControlFailure {
            request_id,
            ran_function_id,
            call_process_id: None,
            cause: Some(cause),
            outcome: None,
            // v1 does not have them
            criticality_diagnostics: criticality_diagnostics.filter(|_| v2),
        }
        .into(),
        ProcedureCode::RIC_SUBSCRIPTION_MODIFICATION => {
            RicSubscriptionModificationFailure { request_id, ran_function_id, cause, criticality_diagnostics }.into()
        }
        ProcedureCode::RIC_QUERY => {
            RicQueryFailure { request_id, ran_function_id, cause: Some(cause), criticality_diagnostics }.into()
        }
        _ => return None,
    })
}
