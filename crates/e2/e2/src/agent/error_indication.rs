//! Ends the procedure that an Error Indication of the RIC refers to.
//!
//! Procedure: Error Indication. Clause: E2AP v03.01 8.3.3. Role: node. Since: v01.00. Scenarios: agent_error*

use e2ap::{ErrorIndication, ProcedureCode};

use super::Agent;
use super::setup::State;
use super::update::GivenUp;
use crate::protocol_error::goes_on;
use crate::{Notice, Time};

impl Agent {
    pub(super) fn error_indication(&mut self, now: Time, indication: &ErrorIndication<'_>) {
        let diagnostics = indication.criticality_diagnostics.as_ref();
        let procedure_code = diagnostics.and_then(|d| d.procedure_code);
        let (transaction, cause, request_id) = (indication.transaction_id, indication.cause, indication.request_id);
        self.complain(now, Notice::ErrorIndication { cause, procedure_code, request_id }, None);
        if goes_on(indication) {
            return;
        }
        // a RIC that cannot decode the setup request may answer this way: no response will follow
        let about_setup = procedure_code.is_none_or(|code| code == ProcedureCode::E2_SETUP);
        if matches!(self.state, State::AwaitSetup { .. }) && about_setup {
            self.setup_failed(now, None);
        }
        // the same holds for other procedures, found by transaction id, or by procedure code in v1, which has none
        let is = |code| procedure_code == Some(code) || (procedure_code.is_none() && transaction.is_some());
        if is(ProcedureCode::RIC_SERVICE_UPDATE) && self.functions.awaits(transaction) {
            self.functions.refused(now, None);
            self.give_up(GivenUp { procedure_code: ProcedureCode::RIC_SERVICE_UPDATE, cause });
        } else if is(ProcedureCode::E2_NODE_CONFIGURATION_UPDATE) && self.components.awaits(transaction) {
            self.components.refused(now, None);
            self.give_up(GivenUp { procedure_code: ProcedureCode::E2_NODE_CONFIGURATION_UPDATE, cause });
        } else if is(ProcedureCode::E2_REMOVAL) && self.awaits_removal(transaction) {
            self.removal_refused(now, cause);
        } else if let Some(id) = request_id.filter(|id| self.awaits_required(*id)) {
            self.modification_refused(id, cause);
        }
    }
}
