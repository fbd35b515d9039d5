//! Reports changes of the node's RAN functions.
//!
//! Procedure: RIC Service Update. Clause: E2AP v03.01 8.3.4. Role: node. Since: v01.00. Scenarios: agent_service_update*
//!
//! One update is in progress at a time. It contains the difference between the reported and the present functions;
//! [`update`](super::update) repeats and postpones the attempts.

use std::collections::BTreeMap;

use e2ap::{
    Items, ProcedureCode, RanFunctionId, RanFunctionIdItem, RanFunctionItem, RanFunctionRevision, RicServiceUpdate,
    RicServiceUpdateAcknowledge, RicServiceUpdateFailure,
};

use super::update::{Due, GivenUp, Phase};
use super::{Agent, AgentEvent, AgentMisuse, Function};
use crate::change::{all, list};
use crate::{Notice, Time};

/// The revisions of functions: a changed definition has another revision.
pub(super) type Revisions = BTreeMap<RanFunctionId, RanFunctionRevision>;

pub(super) fn revisions(functions: &[Function]) -> Revisions {
    functions.iter().map(|function| (function.id, function.revision)).collect()
}

impl Agent {
    // Clause 8.3.4.1/1 node: The E2 node starts the procedure. Tests: agent_service_update,
    //   agent_unsupported_procedures.
    /// Replaces the node's RAN functions. The agent reports the difference to the RIC, now or after the setup;
    /// [`AgentEvent::FunctionsUpdated`] or [`AgentEvent::GivenUp`] reports the outcome.
    ///
    /// The subscriptions and unanswered requests of a removed function end. Those of a function with a changed definition
    /// remain.
    ///
    /// # Errors
    /// If the functions are invalid, or one changed without a new revision. Nothing has changed then.
    pub fn update_functions(&mut self, now: Time, functions: Vec<Function>) -> Result<(), AgentMisuse> {
        for function in &functions {
            let old = self.config.functions.iter().find(|old| old.id == function.id);
            if old.is_some_and(|old| old.revision == function.revision && old != function) {
                return Err(AgentMisuse::SameRevision(function.id));
            }
        }
        let before = std::mem::replace(&mut self.config.functions, functions);
        if let Err(error) = self.config.check() {
            self.config.functions = before;
            return Err(AgentMisuse::Config(error));
        }
        self.forget_requests_of_gone_functions();
        self.functions.given_up = false;
        self.report_functions(now);
        Ok(())
    }

    /// Sends the difference to the reported functions, if that is possible now.
    pub(super) fn report_functions(&mut self, now: Time) {
        if !self.is_up() || !self.functions.is_idle() || self.functions.given_up || self.removal.is_some() {
            return;
        }
        let then = revisions(&self.config.functions);
        if then != self.functions.reported {
            self.send_functions(now, then);
        }
    }

    /// Sends the difference, even if it is empty.
    pub(super) fn send_functions(&mut self, now: Time, then: Revisions) {
        let transaction = self.next_transaction();
        let by = now + self.config.answer_timeout;
        self.functions.phase = Phase::Sent { transaction, by, tries: 1, then };
        self.write_functions();
    }

    // Clause 8.3.4.2/1 node: New RAN functions are in the list of added ones. Tests: agent_service_update.
    // Clause 8.3.4.2/2 node: Changed RAN functions are in the list of modified ones. Tests: agent_service_update.
    // Clause 8.3.4.2/3 node: Removed RAN functions are in the list of deleted ones. Tests: agent_service_update.
    fn write_functions(&mut self) {
        let Phase::Sent { transaction, ref then, .. } = self.functions.phase else { return };
        let reported = &self.functions.reported;
        // a function that changed since the first attempt is part of the next update
        let items = |wanted: &dyn Fn(&Function) -> bool| -> Option<Items<'_, RanFunctionItem<'_>>> {
            let still = |f: &&Function| then.get(&f.id) == Some(&f.revision);
            list(self.config.functions.iter().filter(still).filter(|f| wanted(f)).map(|f| self.config.item(f)))
        };
        let gone = reported.iter().filter(|(id, _)| !then.contains_key(id));
        let update = RicServiceUpdate {
            transaction_id: transaction,
            ran_functions_added: items(&|f| !reported.contains_key(&f.id)),
            ran_functions_modified: items(&|f| reported.get(&f.id).is_some_and(|revision| *revision != f.revision)),
            ran_functions_deleted: list(gone.map(|(id, revision)| RanFunctionIdItem { id: *id, revision: *revision })),
        };
        self.outbox.push(super::ASSOC, self.config.version, &update.into());
    }

    pub(super) fn service_update_acknowledged(&mut self, now: Time, ack: &RicServiceUpdateAcknowledge<'_>) {
        let accepted = all(&ack.ran_functions_accepted).map(|item| item.id).collect();
        let rejected: Vec<_> = all(&ack.ran_functions_rejected).map(|item| (item.id, item.cause)).collect();
        for (ran_function_id, cause) in &rejected {
            let notice = Notice::FunctionRejected { ran_function_id: *ran_function_id, cause: *cause };
            self.events.push_back(AgentEvent::Notice(notice));
        }
        self.events.push_back(AgentEvent::FunctionsUpdated { accepted, rejected });
        self.report_functions(now);
    }

    // Clause 8.3.4.3/2 node: The node waits for the time to wait of the failure before it repeats the update. Tests:
    //   agent_service_update_refused, agent_service_update_refused_in_v1.
    // Clause 8.3.4.3/3 both: After a failure both sides continue with the RAN functions that they had. Does: the RIC
    //   does. The node reports the difference again after its next change or a query. Tests: service_update_refused,
    //   agent_service_update_refused.
    pub(super) fn service_update_failed(&mut self, now: Time, failure: &RicServiceUpdateFailure<'_>) {
        let cause = failure.cause.or_else(|| all(&failure.ran_functions_rejected).next().map(|item| item.cause));
        if let Some(cause) = cause {
            self.events.push_back(AgentEvent::Notice(Notice::UpdateRefused { cause }));
        }
        for item in all(&failure.ran_functions_rejected) {
            let notice = Notice::FunctionRejected { ran_function_id: item.id, cause: item.cause };
            self.events.push_back(AgentEvent::Notice(notice));
        }
        if !self.functions.refused(now, failure.time_to_wait) {
            self.give_up(GivenUp { procedure_code: ProcedureCode::RIC_SERVICE_UPDATE, cause });
        }
    }

    pub(super) fn service_update_due(&mut self, now: Time) {
        match self.functions.due(now, self.config.answer_timeout) {
            Due::Nothing => {}
            Due::Again => {
                self.timed_out(now, ProcedureCode::RIC_SERVICE_UPDATE, None);
                self.write_functions();
            }
            Due::GivenUp => {
                self.timed_out(now, ProcedureCode::RIC_SERVICE_UPDATE, None);
                self.give_up(GivenUp { procedure_code: ProcedureCode::RIC_SERVICE_UPDATE, cause: None });
            }
            Due::Report => self.report_functions(now),
        }
    }
}
