//! Controls that wait for an arbiter: questions and their answers.

use std::sync::Arc;
use std::time::SystemTime;

use ferric::e2::{Mediation, ReleasedControl, RequestedControl, Time};
use ferric::e2ap::Cause;

use super::{Asked, CONFLICT, Grant, LIMIT, NO_ANSWER, Pending, State};
use crate::decision::{Action, Conflict, Decision, Kind};
use crate::questions::Question;
use crate::rules::Policy;

impl State {
    pub(super) fn ask(
        &mut self,
        control: &RequestedControl<'_>,
        asked: &Asked<'_>,
        conflict: Conflict,
        policy: Policy,
        grants: Vec<Grant>,
    ) -> Mediation {
        let Policy::Ask { timeout, accepts_by_default } = policy else { return Mediation::Send };
        let question = Question {
            number: asked.number,
            asked: SystemTime::now(),
            xapp: Arc::clone(&asked.xapp),
            identity: control.identity.cloned(),
            node: asked.node.id,
            node_name: asked.node_name.clone(),
            settings: asked.settings.clone(),
            conflict: conflict.clone(),
            deadline: control.now + timeout,
            accepts_by_default,
            grants,
            control: ReleasedControl {
                consumer: control.consumer,
                ticket: control.ticket,
                node: asked.node.id,
                function: control.function,
                content: (control.header.to_vec(), control.message.to_vec()),
                call_process_id: control.call_process_id.map(<[u8]>::to_vec),
                ack: control.ack,
                refusal: None,
            },
        };
        if !self.questions.add(question) {
            let limit = Conflict {
                kind: Kind::Limit,
                reason: "too many questions wait for the arbiter".to_owned(),
                ..conflict
            };
            return self.refuse(control, asked, limit, LIMIT);
        }
        self.decided(control.identity, asked, Action::Waits, Some(conflict));
        Mediation::Hold
    }

    /// Answers a question. `None`: there is no such question any more.
    pub fn answer(&mut self, number: u64, accepts: bool, now: Time) -> Option<()> {
        let question = self.questions.take(number)?;
        let (reason, word) = match accepts {
            true => ("the arbiter accepts it", "accepted"),
            false => ("the arbiter refuses it", "refused"),
        };
        self.count_answer(word, 1);
        self.settle(question, accepts, reason, CONFLICT, now);
        Some(())
    }

    /// Ends a question: its control is sent or refused.
    pub(super) fn settle(&mut self, question: Question, accepts: bool, reason: &str, cause: Cause, now: Time) {
        let now = self.time(now);
        let Question { number, xapp, identity, node_name, settings, conflict, grants, mut control, .. } = question;
        let conflict = Conflict { reason: reason.to_owned(), ..conflict };
        let action = if accepts { Action::Sent } else { Action::Refused };
        let decision = Decision::new(number, &xapp, &node_name, &settings, action, Some(conflict));
        self.record(identity.as_ref(), decision);
        if accepts {
            let mut new = Vec::new();
            for Grant { key, mut holder, is_shared } in grants {
                let hold = holder.until - holder.since;
                (holder.since, holder.until) = (now, now + hold);
                if !self.holders.give(key.clone(), holder, is_shared) {
                    new.push(key);
                }
            }
            self.pending.insert((control.consumer, control.ticket), Pending { number, new });
        } else {
            control.refusal = Some(cause);
        }
        self.questions.release(control);
    }

    pub fn handle_timeout(&mut self, now: Time) {
        while let Some(question) = self.questions.take_due(now) {
            self.count_answer("timeout", 1);
            let accepts = question.accepts_by_default;
            let word = if accepts { "accepted" } else { "refused" };
            let reason = format!("the arbiter has not answered in time: {word} by default");
            self.settle(question, accepts, &reason, NO_ANSWER, now);
        }
    }
}
