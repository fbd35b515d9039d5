//! Answers to erroneous PDUs (E2AP v03.01 8.3.3, 10).
//!
//! Public agents abort when they receive an Error Indication, so that the RIC sends one only where the peer may wait for an
//! answer: `docs/error-indications.md` lists the messages. An erroneous answer ends the RIC's procedure and is handled
//! locally, as E2AP v03.01 10.4 allows.

use core::time::Duration;

use e2ap::{
    Cause, CauseProtocol, CauseRicRequest, CriticalityDiagnostics, E2NodeConfigurationUpdateFailure, E2RemovalFailure,
    E2SetupFailure, ErrorIndication, Kind, Pdu, ProcedureCode, RanFunctionId, RicRequestId, RicServiceUpdateFailure,
    TimeToWait, TransactionId, Version, peek::Outline,
};

use super::{Controller, Deadline, NodeId};
use crate::protocol_error::{about, in_version, malformed, not_supported};
use crate::{AssocId, CloseReason, Notice, Time};

/// Invalid PDUs after which an association that has not set up is closed.
const MAX_INVALID_PDUS: u32 = 4;

impl Controller {
    /// Sends an error indication and reports a notice, unless the association's budget is exhausted.
    pub(super) fn complain(&mut self, now: Time, assoc: AssocId, notice: Notice, answer: Option<ErrorIndication<'_>>) {
        let Some(state) = self.assocs.get_mut(&assoc) else { return };
        if !state.answers.take(now) {
            return self.withheld(assoc);
        }
        let version = state.version;
        self.notice(assoc, notice);
        if let Some(answer) = answer {
            self.outbox.push(assoc, version, &in_version(answer, version).into());
        }
    }

    /// Reports, at intervals, that answers are withheld.
    pub(super) fn withheld(&mut self, assoc: AssocId) {
        if let Some(count) = self.assocs.get(&assoc).and_then(|state| state.answers.withheld()) {
            self.notice(assoc, Notice::AnswersWithheld { count });
        }
    }

    /// Returns what can be read of a PDU without decoding it.
    fn outline(&self, assoc: AssocId, pdu: &[u8]) -> Option<Outline> {
        self.assocs.get(&assoc)?.codec.outline(pdu)
    }

    /// Counts an invalid PDU before the setup. Returns whether the association has reached the limit.
    fn out_of_patience(&mut self, assoc: AssocId) -> bool {
        let Some(state) = self.assocs.get_mut(&assoc).filter(|state| state.node.is_none()) else { return false };
        state.bad += 1;
        state.bad >= MAX_INVALID_PDUS
    }

    // Clause 10.3.4.2/3 ric: In a message without a failure message it leads to an Error Indication. Tests:
    //   malformed_requests. Deviation: a RIC Indication is dropped and counted, unless `answer_stray_indications` is
    //   set.
    // Clause 10.3.4.2/4 ric: In an answer it ends the procedure unsuccessfully, which is handled locally. Tests:
    //   answers_with_missing_ie.
    // Clause 10.3.5/3 ric: A missing IE in an answer ends the procedure unsuccessfully, which is handled locally.
    //   Tests: answers_with_missing_ie.
    // Clause 10.3.6/2 ric: An IE in the wrong order or too often in an answer ends the procedure unsuccessfully,
    //   which is handled locally. Tests: answers_with_missing_ie, duplicate_ie_is_refused_in_any_order. Deviation: the
    //   order is enforced with `strict_ie_order` only, since some nodes send another one (docs/peers.md).
    /// Answers a PDU that cannot be decoded as one of `version`.
    pub(super) fn answer_malformed(
        &mut self,
        now: Time,
        assoc: AssocId,
        pdu: &[u8],
        version: Version,
        error: e2ap::Error,
    ) {
        if self.out_of_patience(assoc) {
            self.notice(assoc, Notice::Unreadable(error));
            return self.close(now, assoc, CloseReason::Misbehaved);
        }
        let outline = self.outline(assoc, pdu);
        let transaction_id = outline.and_then(|outline| outline.transaction_id);
        match error.message() {
            // E2AP v03.01 8.3.1.3: an invalid setup request is answered by E2 SETUP FAILURE
            Some((Kind::Initiating, ProcedureCode::E2_SETUP)) => {
                let (cause, diagnostics) = (error.cause(), error.diagnostics());
                if self.refuse_setup(now, assoc, version, transaction_id, cause, None, diagnostics) {
                    self.notice(assoc, Notice::Malformed(error));
                }
            }
            _ => {
                if let (Some((Kind::Successful | Kind::Unsuccessful, code)), Some(outline)) = (error.message(), outline)
                {
                    self.answered_unreadably(now, assoc, outline, code, error.cause());
                }
                if let Some(failure) = self.failure(assoc, outline, version, &error) {
                    let Some(state) = self.assocs.get_mut(&assoc) else { return };
                    if !state.answers.take(now) {
                        return self.withheld(assoc);
                    }
                    self.notice(assoc, Notice::Malformed(error));
                    return self.outbox.push(assoc, version, &failure);
                }
                let answer = malformed(outline, &error).filter(|_| self.awaits_answer(error.message()));
                let notice = if answer.is_some() { Notice::Malformed } else { Notice::Unreadable };
                self.complain(now, assoc, notice(error), answer);
            }
        }
    }

    // Clause 10.3.4.2/1 ric: An IE that is not comprehended, with criticality reject, in a request leads to the
    //   failure message, and nothing is executed. Tests: malformed_requests, setup_malformed,
    //   conform:unknown-ie-reject, conform:setup-unknown-ie-reject.
    // Clause 10.3.4.2/2 ric: If the failure message cannot be filled, an Error Indication is sent instead. Tests:
    //   malformed_requests.
    // Clause 10.3.5/1 ric: A missing IE with criticality reject in a request leads to the failure message. Tests:
    //   setup_out_of_order, conform:missing-ie.
    // Clause 10.3.5/2 ric: If the failure message cannot be filled, an Error Indication is sent instead. Tests:
    //   malformed_requests.
    // Clause 10.3.6/1 ric: An IE in the wrong order or too often in a request leads to the failure message with the
    //   cause falsely constructed message. Tests: setup_out_of_order, setup_out_of_order_strict, conform:repeated-ie.
    //   Deviation: the order is enforced with `strict_ie_order` only, since some nodes send another one
    //   (docs/peers.md).
    /// Returns the failure message of a node's procedure whose request cannot be processed, if it has one whose transaction is known
    /// (E2AP v03.01 10.3.4.2, 10.3.5, 10.3.6). After a transfer syntax error the procedure is unknown (10.2).
    fn failure(
        &self,
        assoc: AssocId,
        outline: Option<Outline>,
        version: Version,
        error: &e2ap::Error,
    ) -> Option<Pdu<'static>> {
        self.assocs.get(&assoc)?.node?;
        let is_known = !matches!(error, e2ap::Error::UnknownProcedure { .. });
        let cause = error.cause().in_version(version);
        if !is_known || cause == Cause::Protocol(CauseProtocol::TransferSyntaxError) {
            return None;
        }
        let Some((Kind::Initiating, code)) = error.message() else { return None };
        let has_transactions = version >= Version::V2_03;
        let transaction_id = outline.and_then(|outline| outline.transaction_id).filter(|_| has_transactions);
        if has_transactions && transaction_id.is_none() {
            return None;
        }
        let (time_to_wait, criticality_diagnostics) = (None, error.diagnostics());
        Some(match code {
            ProcedureCode::RIC_SERVICE_UPDATE => RicServiceUpdateFailure {
                transaction_id,
                ran_functions_rejected: None,
                // v1 has causes per function only
                cause: has_transactions.then_some(cause),
                time_to_wait,
                criticality_diagnostics,
            }
            .into(),
            ProcedureCode::E2_NODE_CONFIGURATION_UPDATE => E2NodeConfigurationUpdateFailure {
                transaction_id,
                cause: Some(cause),
                time_to_wait,
                criticality_diagnostics,
            }
            .into(),
            ProcedureCode::E2_REMOVAL => {
                E2RemovalFailure { transaction_id, cause: Some(cause), criticality_diagnostics }.into()
            }
            _ => return None,
        })
    }

    /// Whether a message that cannot be decoded is answered: not an answer, for which no procedure of the peer waits, and an
    /// indication only if that is configured. What is unknown may await one.
    fn awaits_answer(&mut self, message: Option<(Kind, ProcedureCode)>) -> bool {
        match message {
            Some((Kind::Initiating, ProcedureCode::RIC_INDICATION)) => {
                self.stray_indications += 1;
                self.config.answer_stray_indications
            }
            Some((Kind::Successful | Kind::Unsuccessful, _)) => {
                self.stray_answers += 1;
                false
            }
            Some((Kind::Initiating, _)) | None => true,
        }
    }

    // Clause 8.3.1.4/1 ric: Another first message than a setup or a configuration update is a logical error. Does: a
    //   request is answered by an Error Indication, an answer or an indication is dropped. Tests: answers_before_setup,
    //   indication_before_setup, conform:before-setup.
    /// Answers a message received before the setup (E2AP v03.01 10.4).
    pub(super) fn before_setup(&mut self, now: Time, assoc: AssocId, pdu: &Pdu<'_>, bytes: &[u8]) {
        let last = self.out_of_patience(assoc);
        self.not_in_state(now, assoc, pdu, bytes);
        if last {
            self.close(now, assoc, CloseReason::Misbehaved);
        }
    }

    // Clause 10.4/1 ric: A logical error in a request of class 1 leads to the failure message. Tests:
    //   service_update_refused, configuration_update, modification_required, setup_with_id_of_another_node.
    // Clause 10.4/2 ric: Without a failure message it leads to an Error Indication. Tests: answers_before_setup,
    //   unsupported_procedures.
    /// Answers a message that is not compatible with the state (E2AP v03.01 10.4).
    pub(super) fn not_in_state(&mut self, now: Time, assoc: AssocId, pdu: &Pdu<'_>, bytes: &[u8]) {
        let answer = about(pdu, self.outline(assoc, bytes), CauseProtocol::MessageNotCompatibleWithReceiverState, None);
        self.complain(now, assoc, Notice::NotInState { message: pdu.name(), answered: true }, Some(answer));
    }

    /// Answers a message of an unsupported procedure by its criticality (E2AP v03.01 10.3.4.1).
    pub(super) fn not_supported(&mut self, now: Time, assoc: AssocId, pdu: &Pdu<'_>, bytes: &[u8]) {
        let (notice, answer) = not_supported(pdu, self.outline(assoc, bytes));
        self.complain(now, assoc, notice, answer);
    }

    /// Answers a request or an indication with an unknown RIC request id (E2AP v03.01 10.4).
    pub(super) fn unknown_request(
        &mut self,
        now: Time,
        node: NodeId,
        request_id: RicRequestId,
        function: RanFunctionId,
        message: &'static str,
    ) {
        let Some(assoc) = self.nodes.get(&node).map(|n| n.assoc) else { return };
        let answer = ErrorIndication {
            transaction_id: None,
            request_id: Some(request_id),
            ran_function_id: Some(function),
            cause: Some(Cause::RicRequest(CauseRicRequest::RequestIdUnknown)),
            criticality_diagnostics: None,
        };
        self.complain(now, assoc, Notice::UnknownRequest { message, request_id, answered: true }, Some(answer));
    }

    // Clause 10.4/3 ric: A logical error in an answer ends its procedure unsuccessfully and is handled locally.
    //   Tests: answers_without_request, answers_repeated_or_of_another_function,
    //   subscription_response_with_unknown_actions, conform:unexpected-answer.
    /// Drops an answer to an unknown request.
    pub(super) fn answer_to_unknown(
        &mut self,
        now: Time,
        node: NodeId,
        request_id: RicRequestId,
        message: &'static str,
    ) {
        self.drop_answer(now, node, Notice::UnknownRequest { message, request_id, answered: false });
    }

    /// Drops a second answer to one request.
    pub(super) fn answered_before(&mut self, now: Time, node: NodeId, message: &'static str) {
        self.drop_answer(now, node, Notice::NotInState { message, answered: false });
    }

    /// Drops an answer that contradicts its request.
    pub(super) fn contradiction(&mut self, now: Time, node: NodeId, request_id: RicRequestId, message: &'static str) {
        self.drop_answer(now, node, Notice::Contradiction { message, request_id });
    }

    /// Drops an answer on an association that has no procedure which awaits it.
    pub(super) fn unexpected_answer(&mut self, now: Time, assoc: AssocId, pdu: &Pdu<'_>) {
        self.stray_answers += 1;
        self.complain(now, assoc, Notice::NotInState { message: pdu.name(), answered: false }, None);
    }

    /// Counts an answer to a request that has timed out or was dropped: it is late, not an error.
    pub(super) fn late_answer(&mut self) {
        self.stray_answers += 1;
    }

    fn drop_answer(&mut self, now: Time, node: NodeId, notice: Notice) {
        self.stray_answers += 1;
        if let Some(assoc) = self.nodes.get(&node).map(|n| n.assoc) {
            self.complain(now, assoc, notice, None);
        }
    }

    // Clause 8.3.1.3/1 ric: A setup that cannot be accepted is answered by the failure message with a cause. Tests:
    //   setup_when_full, setup_malformed, setup_with_id_of_another_node, conform:missing-ie.
    /// Sends E2 SETUP FAILURE, unless the association's budget is exhausted. Returns whether it was sent.
    #[allow(clippy::too_many_arguments)] // what the message has
    pub(super) fn refuse_setup(
        &mut self,
        now: Time,
        assoc: AssocId,
        version: Version,
        transaction_id: Option<TransactionId>,
        cause: Cause,
        time_to_wait: Option<TimeToWait>,
        criticality_diagnostics: Option<CriticalityDiagnostics<'static>>,
    ) -> bool {
        let Some(state) = self.assocs.get_mut(&assoc) else { return false };
        if !state.answers.take(now) {
            self.withheld(assoc);
            return false;
        }
        if let Some(wait) = time_to_wait {
            // the node must not repeat the setup earlier, and has the usual time limit afterwards
            let by = now + Duration::from_secs(wait.seconds().into()) + self.config.setup_timeout;
            state.setup_by = by;
            self.set_timer(by, Deadline::Setup(assoc, by));
        }
        let cause = cause.in_version(version);
        let transaction_id = (version >= Version::V2_03).then(|| transaction_id.unwrap_or(TransactionId(0)));
        let failure = E2SetupFailure {
            transaction_id,
            cause: Some(cause),
            time_to_wait,
            criticality_diagnostics,
            tnl_information: None,
        };
        self.outbox.push(assoc, version, &failure.into());
        self.notice(assoc, Notice::SetupRefused { cause });
        true
    }
}
