//! Ends the procedure or request that an Error Indication of the peer refers to.
//!
//! Procedure: Error Indication. Clause: E2AP v03.01 8.3.3. Role: ric. Since: v01.00. Scenarios: error_indication_*

use e2ap::{Cause, CauseProtocol, ErrorIndication, ProcedureCode, peek::Outline};

use super::records::Request;
use super::{Assoc, ConnectionOutcome, ControlOutcome, Controller, NodeId, QueryOutcome};
use crate::protocol_error::goes_on;
use crate::{AssocId, Notice, Time};

impl Controller {
    // Clause 8.2.4.4/1 ric: An Error Indication with the request id stops TRICcontrol and ends the procedure. Tests:
    //   error_indication_about_requests.
    // Clause 8.2.7.4/1 ric: An Error Indication with the request id stops TRICquery and ends the procedure. Tests:
    //   query. Versions: from v03 on.
    /// Handles an Error Indication: the procedure or request that it refers to fails.
    pub(super) fn error_indication(&mut self, now: Time, assoc: AssocId, indication: ErrorIndication<'_>) {
        let goes_on = goes_on(&indication);
        let ErrorIndication { transaction_id, request_id, cause, criticality_diagnostics, .. } = indication;
        let procedure_code = criticality_diagnostics.as_ref().and_then(|d| d.procedure_code);
        let request_id = request_id.or(criticality_diagnostics.and_then(|d| d.ric_request_id));
        self.complain(now, assoc, Notice::ErrorIndication { cause, procedure_code, request_id }, None);
        if goes_on {
            return;
        }
        let Some(Assoc { node: Some(node), .. }) = self.assocs.get(&assoc) else { return };
        let node = *node;
        let first = self.first_of(node, assoc);
        let Some(Assoc { procedures, .. }) = self.assocs.get_mut(&first) else { return };
        let reason = cause.unwrap_or(Cause::Protocol(CauseProtocol::Unspecified));
        if let Some(place) = request_id.and_then(|id| self.requests.place(id)) {
            return self.request_failed(now, node, place, procedure_code, reason);
        }
        match procedures.find_pending(procedure_code, transaction_id) {
            // the peer does not support the procedure; the RIC may retry it later
            Some(code @ ProcedureCode::RIC_SERVICE_QUERY) => drop(procedures.drop(code)),
            Some(code @ ProcedureCode::E2_CONNECTION_UPDATE) => {
                procedures.drop(code);
                self.connection_ended(node, ConnectionOutcome::Refused { cause, wait: None });
            }
            Some(code @ ProcedureCode::E2_REMOVAL) => {
                procedures.drop(code);
                self.removal_refused(node, cause);
            }
            // whether the peer has reset is unknown: the timeout decides
            _ => {}
        }
    }

    /// Fails the procedure whose answer cannot be decoded (E2AP v03.01 10.2, 10.3.4.2, 10.3.5).
    pub(super) fn answered_unreadably(
        &mut self,
        now: Time,
        assoc: AssocId,
        outline: Outline,
        code: ProcedureCode,
        cause: Cause,
    ) {
        let Some(Assoc { node: Some(node), .. }) = self.assocs.get(&assoc) else { return };
        let node = *node;
        let first = self.first_of(node, assoc);
        let Some(Assoc { procedures, .. }) = self.assocs.get_mut(&first) else { return };
        if let Some(place) = outline.request_id.and_then(|id| self.requests.place(id)) {
            return self.request_failed(now, node, place, Some(code), cause);
        }
        // whether a reset or a removal was done is unknown: the timeout decides
        if code == ProcedureCode::E2_CONNECTION_UPDATE && procedures.end(code, outline.transaction_id) {
            self.connection_ended(node, ConnectionOutcome::Refused { cause: None, wait: None });
        }
    }

    /// Fails a request after an Error Indication or an answer that cannot be decoded.
    fn request_failed(
        &mut self,
        now: Time,
        node: NodeId,
        place: u32,
        procedure_code: Option<ProcedureCode>,
        cause: Cause,
    ) {
        let may_be = |code| procedure_code.is_none_or(|about| about == code);
        match self.requests.get(place) {
            Some(Request::Control(control)) if control.node == node && may_be(ProcedureCode::RIC_CONTROL) => {
                self.finish_control(now, place, ControlOutcome::Failed { cause, outcome: None });
            }
            Some(Request::Query(query)) if query.node == node && may_be(ProcedureCode::RIC_QUERY) => {
                self.finish_query(now, place, QueryOutcome::Failed(cause));
            }
            Some(Request::Subscription(s)) if s.node == node => {
                if s.is_active() && s.change.is_some() && may_be(ProcedureCode::RIC_SUBSCRIPTION_MODIFICATION) {
                    self.modification_rejected(place, cause);
                } else {
                    self.subscription_rejected(now, place, cause);
                }
            }
            _ => {}
        }
    }
}
