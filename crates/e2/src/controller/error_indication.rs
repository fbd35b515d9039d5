//! The peer says that something was wrong with what it was sent: what it was about fails.
//!
//! Procedure: Error Indication. Clause: E2AP v03.01 8.3.2. Role: ric. Since: v01.00. Scenarios: error_indication_*

use e2ap::{Cause, CauseProtocol, ErrorIndication};

use super::requests::Request;
use super::{ControlOutcome, Controller, NodeId};
use crate::{AssocId, Notice, Time};

impl Controller {
    /// The peer says that something was wrong. What it was about fails.
    pub(super) fn error_indication(&mut self, now: Time, assoc: AssocId, indication: ErrorIndication<'_>) {
        let ErrorIndication { request_id, cause, criticality_diagnostics, .. } = indication;
        let procedure_code = criticality_diagnostics.as_ref().and_then(|d| d.procedure_code);
        let request_id = request_id.or(criticality_diagnostics.and_then(|d| d.ric_request_id));
        self.complain(now, assoc, Notice::ErrorIndication { cause, procedure_code, request_id }, None);
        let node = self.assocs.get(&assoc).and_then(|a| a.node);
        let place = request_id.and_then(|id| self.requests.place(id));
        if let (Some(node), Some(place)) = (node, place) {
            let cause = cause.unwrap_or(Cause::Protocol(CauseProtocol::Unspecified));
            self.request_failed(now, node, place, cause);
        }
    }

    /// The peer says that it could not do with a request.
    pub(super) fn request_failed(&mut self, now: Time, node: NodeId, place: u32, cause: Cause) {
        match self.requests.get(place) {
            Some(Request::Control(control)) if control.node == node => {
                self.finish_control(now, place, ControlOutcome::Failed { cause, outcome: None });
            }
            Some(Request::Subscription(subscription)) if subscription.node == node => {
                self.subscription_rejected(now, place, cause);
            }
            _ => {}
        }
    }
}
