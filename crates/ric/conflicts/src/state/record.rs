//! What is kept of decisions: the counters, the latest ones, and the audit log.

use std::collections::BTreeMap;

use ferric::e2::{ConsumerIdentity, Lacking, Node, XappRights};
use ferric::e2ap::RanFunctionId;
use serde_json::Value;

use super::{Asked, MAX_DECISIONS, State};
use crate::decision::{Action, Conflict, Decision};

/// The controls so far, by what became of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counters {
    pub sent: u64,
    pub changed: u64,
    pub refused: u64,
    pub asked: u64,
    pub unreadable: u64,
    /// Conflicts by kind, policy (or `none`) and decision.
    pub conflicts: BTreeMap<[&'static str; 3], u64>,
    /// Questions by how they ended.
    pub answers: BTreeMap<&'static str, u64>,
}

impl State {
    /// Records the decision on a control.
    pub(super) fn decided(
        &mut self,
        identity: Option<&ConsumerIdentity>,
        asked: &Asked<'_>,
        action: Action,
        conflict: Option<Conflict>,
    ) {
        match action {
            Action::Sent => self.counters.sent += 1,
            Action::Changed => self.counters.changed += 1,
            Action::Refused => self.counters.refused += 1,
            Action::Waits => self.counters.asked += 1,
        }
        let decision = Decision::new(asked.number, &asked.xapp, &asked.node_name, &asked.settings, action, conflict);
        self.record(identity, decision);
    }

    /// Counts questions that have ended.
    pub(super) fn count_answer(&mut self, how: &'static str, questions: u64) {
        *self.counters.answers.entry(how).or_default() += questions;
    }

    pub(super) fn record(&mut self, identity: Option<&ConsumerIdentity>, decision: Decision) {
        if let Some(audit) = &self.audit {
            let who = who(identity);
            audit.record("decision", &[&who[..], &decision.fields()].concat());
        }
        if let Some(conflict) = &decision.conflict {
            let key = [conflict.kind_name(), conflict.policy.unwrap_or("none"), decision.decision.name()];
            *self.counters.conflicts.entry(key).or_default() += 1;
            if self.decisions.len() >= MAX_DECISIONS {
                self.decisions.pop_front();
            }
            self.decisions.push_back(decision);
        }
    }

    pub fn not_allowed(
        &mut self,
        identity: Option<&ConsumerIdentity>,
        node: &Node,
        function: RanFunctionId,
        lacking: &Lacking,
    ) {
        self.controls += 1;
        self.counters.refused += 1;
        let Some(audit) = &self.audit else { return };
        let mut fields = who(identity);
        let xapp = identity.map_or_else(String::new, |identity| identity.name.to_string());
        fields.extend([
            ("control", self.controls.into()),
            ("xapp", xapp.into()),
            ("node", node.global_id.to_string().into()),
            ("settings", Value::from(format!("a control of RAN function {}", function.0))),
            ("decision", "refused".into()),
            ("reason", lacking.to_string().into()),
        ]);
        audit.record("decision", &fields);
    }

    pub(super) fn audit_outcome(&self, number: u64, outcome: &str) {
        if let Some(audit) = &self.audit {
            audit.record("outcome", &[("control", number.into()), ("outcome", outcome.into())]);
        }
    }
}

/// Who asks, for the audit log: whether a certificate says so, and the rights.
pub(crate) fn who(identity: Option<&ConsumerIdentity>) -> Vec<(&'static str, Value)> {
    let rights = identity.and_then(|identity| identity.rights.as_deref());
    let rights = rights.map_or_else(|| "all".to_owned(), XappRights::summary);
    let is_authenticated = identity.is_some_and(|identity| identity.is_authenticated);
    vec![("authenticated", is_authenticated.into()), ("rights", rights.into())]
}
