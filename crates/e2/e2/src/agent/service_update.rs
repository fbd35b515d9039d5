//! The node's functions changed: what came, what changed, what went.
//!
//! Procedure: RIC Service Update. Clause: E2AP v03.01 8.3.4. Role: node. Since: v01.00. Scenarios: agent_service_update*
//!
//! One update runs at a time, and tells the difference between what the RIC was told and what there is; see
//! [`telling`](super::telling) for its attempts.

use std::collections::BTreeMap;

use e2ap::{
    Items, ProcedureCode, RanFunctionId, RanFunctionIdItem, RanFunctionItem, RanFunctionRevision, RicServiceUpdate,
    RicServiceUpdateAcknowledge, RicServiceUpdateFailure,
};

use super::telling::{Due, GivenUp, Phase};
use super::{Agent, AgentEvent, AgentMisuse, Function};
use crate::change::{all, list};
use crate::{Notice, Time};

/// Functions by their revisions: a definition that changes has another.
pub(super) type Revisions = BTreeMap<RanFunctionId, RanFunctionRevision>;

pub(super) fn revisions(functions: &[Function]) -> Revisions {
    functions.iter().map(|function| (function.id, function.revision)).collect()
}

impl Agent {
    /// From now on the node offers `functions` and no others. The RIC is told what that changes, now or once it is there;
    /// what became of it is told by [`AgentEvent::FunctionsUpdated`] or [`AgentEvent::GivenUp`].
    ///
    /// Subscriptions to a function that is gone are gone, and so is what waited for an answer of it. Those to a function
    /// whose definition changed stand.
    ///
    /// # Errors
    /// Where there cannot be such a node, or a function changed without its revision. Then nothing has changed.
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
        self.tell_functions(now);
        Ok(())
    }

    /// Tells what changed since the RIC was told, if it can be told now.
    pub(super) fn tell_functions(&mut self, now: Time) {
        if !self.is_up() || !self.functions.is_idle() || self.functions.given_up || self.removal.is_some() {
            return;
        }
        let then = revisions(&self.config.functions);
        if then != self.functions.told {
            self.send_functions(now, then);
        }
    }

    /// Sends the difference, and be it nothing.
    pub(super) fn send_functions(&mut self, now: Time, then: Revisions) {
        let transaction = self.next_transaction();
        let by = now + self.config.answer_timeout;
        self.functions.phase = Phase::Sent { transaction, by, tries: 1, then };
        self.write_functions();
    }

    fn write_functions(&mut self) {
        let Phase::Sent { transaction, ref then, .. } = self.functions.phase else { return };
        let told = &self.functions.told;
        // what changed since it was first sent is told next
        let items = |wanted: &dyn Fn(&Function) -> bool| -> Option<Items<'_, RanFunctionItem<'_>>> {
            let still = |f: &&Function| then.get(&f.id) == Some(&f.revision);
            list(self.config.functions.iter().filter(still).filter(|f| wanted(f)).map(|f| self.config.item(f)))
        };
        let gone = told.iter().filter(|(id, _)| !then.contains_key(id));
        let update = RicServiceUpdate {
            transaction_id: transaction,
            ran_functions_added: items(&|f| !told.contains_key(&f.id)),
            ran_functions_modified: items(&|f| told.get(&f.id).is_some_and(|revision| *revision != f.revision)),
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
        self.tell_functions(now);
    }

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
            Due::Tell => self.tell_functions(now),
        }
    }
}
