//! The RIC's pending node-level procedures, at most one of each kind per association.

use core::time::Duration;
use std::collections::BTreeMap;

use e2ap::{ProcedureCode, TransactionId, Version};

use super::{Controller, Deadline, Misuse, NodeId};
use crate::{AssocId, Notice, Time};

/// A procedure that awaits its answer.
#[derive(Clone, Copy, Debug)]
struct Pending {
    transaction_id: Option<TransactionId>,
    by: Time,
}

/// The pending procedures of an association.
#[derive(Debug, Default)]
pub(super) struct Procedures(BTreeMap<ProcedureCode, Pending>);

impl Procedures {
    /// Ends the procedure that an answer belongs to. Returns whether there is one.
    pub fn end(&mut self, code: ProcedureCode, transaction_id: Option<TransactionId>) -> bool {
        let awaited = self.0.get(&code).is_some_and(|pending| pending.transaction_id == transaction_id);
        awaited && self.0.remove(&code).is_some()
    }

    /// Whether the deadline is still that of a pending procedure.
    pub fn is_current_deadline(&self, code: ProcedureCode, by: Time) -> bool {
        self.0.get(&code).is_some_and(|pending| pending.by == by)
    }

    /// The deadline of each procedure.
    pub fn deadlines(&self) -> impl Iterator<Item = (ProcedureCode, Time)> {
        self.0.iter().map(|(code, pending)| (*code, pending.by))
    }

    /// Whether a procedure of this kind is pending.
    pub fn has(&self, code: ProcedureCode) -> bool {
        self.0.contains_key(&code)
    }

    /// Ends a procedure, whatever its transaction id.
    pub fn drop(&mut self, code: ProcedureCode) -> bool {
        self.0.remove(&code).is_some()
    }

    /// Finds the procedure that a transaction id, a procedure code or both refer to. v1 has no transaction ids.
    pub fn find_pending(
        &self,
        code: Option<ProcedureCode>,
        transaction_id: Option<TransactionId>,
    ) -> Option<ProcedureCode> {
        if code.is_none() && transaction_id.is_none() {
            return None;
        }
        let matches = |(c, p): &(&ProcedureCode, &Pending)| {
            code.is_none_or(|code| code == **c) && p.transaction_id == transaction_id
        };
        self.0.iter().find(matches).map(|(code, _)| *code)
    }
}

impl Controller {
    /// Begins a procedure that E2AP has since version `since`, with the time limit `patience`.
    pub(super) fn begin(
        &mut self,
        now: Time,
        node: NodeId,
        code: ProcedureCode,
        since: Version,
        patience: Duration,
    ) -> Result<Option<TransactionId>, Misuse> {
        let known = self.nodes.get(&node).ok_or(Misuse::UnknownNode)?;
        let (assoc, version) = (known.assoc, known.version);
        if version < since {
            return Err(Misuse::NoProcedure { procedure_code: code, version });
        }
        // every node has an association
        let state = self.assocs.get_mut(&assoc).ok_or(Misuse::UnknownNode)?;
        if state.procedures.has(code) {
            return Err(Misuse::InProgress);
        }
        self.transaction = self.transaction.wrapping_add(1);
        let transaction_id = (version >= Version::V2_03).then_some(TransactionId(self.transaction.into()));
        let by = now + patience;
        state.procedures.0.insert(code, Pending { transaction_id, by });
        self.set_timer(by, Deadline::Procedure(assoc, code, by));
        Ok(transaction_id)
    }

    /// Ends the procedure that an answer belongs to. Returns whether there is one.
    pub(super) fn ends(&mut self, assoc: AssocId, code: ProcedureCode, transaction_id: Option<TransactionId>) -> bool {
        self.assocs.get_mut(&assoc).is_some_and(|state| state.procedures.end(code, transaction_id))
    }

    pub(super) fn procedure_timeout(&mut self, now: Time, assoc: AssocId, code: ProcedureCode, by: Time) {
        let Some(state) = self.assocs.get_mut(&assoc).filter(|state| state.procedures.is_current_deadline(code, by))
        else {
            return;
        };
        state.procedures.drop(code);
        let node = state.node;
        self.notice(assoc, Notice::TimedOut { procedure_code: code, request_id: None });
        match (code, node) {
            (ProcedureCode::E2_CONNECTION_UPDATE, Some(node)) => self.connection_update_timeout(node),
            (ProcedureCode::E2_REMOVAL, Some(_)) => self.removal_timeout(now, assoc),
            _ => {}
        }
    }
}
