//! The RIC says that something was wrong with what it was sent.
//!
//! Procedure: Error Indication. Clause: E2AP v03.01 8.3.2. Role: node. Since: v01.00. Scenarios: agent_error_*

use e2ap::{ErrorIndication, ProcedureCode};

use super::Agent;
use super::setup::State;
use crate::{Notice, Time};

impl Agent {
    pub(super) fn error_indication(&mut self, now: Time, indication: &ErrorIndication<'_>) {
        let diagnostics = indication.criticality_diagnostics.as_ref();
        let procedure_code = diagnostics.and_then(|d| d.procedure_code);
        let (cause, request_id) = (indication.cause, indication.request_id);
        self.complain(now, Notice::ErrorIndication { cause, procedure_code, request_id }, None);
        // A RIC that cannot read the setup may say so this way: no use in waiting for its answer.
        let about_setup = procedure_code.is_none_or(|code| code == ProcedureCode::E2_SETUP);
        if matches!(self.state, State::AwaitSetup { .. }) && about_setup {
            self.state = State::Retry { at: now + self.next_pause() };
        }
    }
}
