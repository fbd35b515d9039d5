//! Controls that wait for an arbiter: questions and their answers.

use std::sync::Arc;
use std::time::SystemTime;

use ferric::e2::{
    Consumer, ConsumerIdentity, ControlQuestion, Mediation, RefusalCode, ReleasedControl, RequestedControl, Time,
};
use ferric::e2ap::Cause;

use super::{Asked, CONFLICT, Grant, LIMIT, NO_ANSWER, Pending, State};
use crate::decision::{Action, Conflict, Decision, Kind, describe};
use crate::implicit::SentControl;
use crate::questions::Question;
use crate::rules::Policy;

/// The longest text of a question over the RIC-xApp protocol, in octets.
const MAX_TEXT: usize = 1024;

/// A text within its bound.
fn bounded(text: &str) -> String {
    let mut end = text.len().min(MAX_TEXT);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].to_owned()
}

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
            asked_of: None,
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

    /// Makes an xApp an arbiter, if the rules allow it.
    pub fn set_arbiter(
        &mut self,
        consumer: Consumer,
        identity: Option<&ConsumerIdentity>,
        is_offered: bool,
    ) -> Result<(), RefusalCode> {
        if !is_offered {
            self.questions.remove_arbiter(consumer);
            return Ok(());
        }
        let identity = identity.ok_or(RefusalCode::NotAllowed)?;
        match self.questions.add_arbiter(consumer, &identity.name, &self.rules.arbiters) {
            true => Ok(()),
            false => Err(RefusalCode::NotAllowed),
        }
    }

    /// Returns the next question that an arbiter is to get.
    pub fn poll_question(&mut self, now: Time) -> Option<(Consumer, ControlQuestion)> {
        let (consumer, question) = self.questions.poll_unsent()?;
        let left = question.deadline - now;
        let settings: Vec<_> = question.settings.iter().map(describe).collect();
        let Conflict { with, parameter, scope, .. } = &question.conflict;
        let parameter = if scope.is_empty() { parameter.clone() } else { format!("{parameter} of {scope}") };
        let question = ControlQuestion {
            question: question.number,
            node: question.node,
            function: question.control.function,
            xapp: bounded(&question.xapp),
            with: bounded(with.as_deref().unwrap_or_default()),
            parameter: bounded(&parameter),
            settings: bounded(&settings.join("; ")),
            left_ms: u32::try_from(left.as_millis()).unwrap_or(u32::MAX),
            header: question.control.content.0.clone(),
            message: question.control.content.1.clone(),
        };
        Some((consumer, question))
    }

    /// Takes the decision of an arbiter.
    pub fn decide(&mut self, consumer: Consumer, number: u64, accepts: bool, now: Time) -> Result<(), RefusalCode> {
        let arbiter = self.questions.arbiter(consumer).ok_or(RefusalCode::NotAllowed)?;
        let question = self.questions.open().iter().find(|question| question.number == number);
        // after the deadline the default counts, which follows at once
        let question = question.filter(|question| question.deadline > now).ok_or(RefusalCode::UnknownQuestion)?;
        if question.asked_of != Some(consumer) {
            return Err(RefusalCode::NotAllowed);
        }
        self.answer_of(number, accepts, &format!("the arbiter {arbiter}"), now).ok_or(RefusalCode::UnknownQuestion)
    }

    /// Answers a question. `None`: there is no such question any more.
    pub fn answer(&mut self, number: u64, accepts: bool, now: Time) -> Option<()> {
        self.answer_of(number, accepts, "an arbiter over REST", now)
    }

    fn answer_of(&mut self, number: u64, accepts: bool, who: &str, now: Time) -> Option<()> {
        let question = self.questions.take(number)?;
        let (verb, word) = if accepts { ("accepts", "accepted") } else { ("refuses", "refused") };
        self.count_answer(word, 1);
        self.settle(question, accepts, &format!("{who} {verb} it"), CONFLICT, now);
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
            let (node, settings) = (control.node, &settings);
            let sent = SentControl { at: now, number, xapp: &xapp, node, node_name: &node_name, settings };
            self.watches.suspect(&self.rules, sent);
            self.pending.insert((control.consumer, control.ticket), Pending { number, node, new });
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
