//! What is known of the controls of all xApps, and the decision on the next one.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use audit::AuditLog;
use ferric::e2::{
    Consumer, ConsumerIdentity, ControlOutcome, Mediation, Node, NodeId, ReleasedControl, RequestedControl, Ticket,
    Time, XappRights,
};
use ferric::e2ap::{Cause, CauseRicRequest, RanFunctionId};
use serde_json::Value;

use crate::decision::{Action, Conflict, Decision, Kind, describe};
use crate::holders::{Holder, Holders, Key};
use crate::implicit::Watches;
use crate::parameters::{Amount, Model, Setting};
use crate::questions::{Question, Questions};
use crate::rules::{ConflictRules, Merge, Policy, is_for};

/// The decisions on conflicts that are kept for readers.
const MAX_DECISIONS: usize = 1024;
/// The xApps that are refused because of implicit conflicts at a time; the oldest one is forgotten for another.
const MAX_BLOCKS: usize = 256;

/// The cause for a control that another xApp's control stands against.
const CONFLICT: Cause = Cause::RicRequest(CauseRicRequest::ControlFailedToExecute);
/// The cause for a control that no arbiter has decided on in time.
const NO_ANSWER: Cause = Cause::RicRequest(CauseRicRequest::ControlTimerExpired);
const INVALID: Cause = Cause::RicRequest(CauseRicRequest::ControlMessageInvalid);
const LIMIT: Cause = Cause::RicRequest(CauseRicRequest::FunctionResourceLimit);
const NODE_LOST: Cause = Cause::RicRequest(CauseRicRequest::SystemNotReady);

/// The time of holds, in place of that of the RIC.
pub type ConflictClock = Arc<dyn Fn() -> Time + Send + Sync>;

/// The controls so far, by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counters {
    pub sent: u64,
    pub changed: u64,
    pub refused: u64,
    pub asked: u64,
    pub unreadable: u64,
}

/// A control that was sent and has no outcome yet.
#[derive(Debug)]
struct Pending {
    number: u64,
    /// What the xApp did not hold before.
    new: Vec<Key>,
}

/// An xApp that is refused some parameters of a node for a time.
#[derive(Debug)]
struct Block {
    node: NodeId,
    xapp: Arc<str>,
    parameters: Vec<String>,
    until: Time,
    kpi: String,
}

/// A parameter that a control gets if it is sent.
#[derive(Debug)]
pub(crate) struct Grant {
    pub key: Key,
    pub holder: Holder,
    pub is_shared: bool,
}

pub(crate) struct State {
    pub rules: ConflictRules,
    audit: Option<AuditLog>,
    clock: Option<ConflictClock>,
    pub holders: Holders,
    models: HashMap<(NodeId, RanFunctionId), Option<Model>>,
    pending: HashMap<(Consumer, Ticket), Pending>,
    pub questions: Questions,
    blocks: VecDeque<Block>,
    pub watches: Watches,
    pub decisions: VecDeque<Decision>,
    pub counters: Counters,
    controls: u64,
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State").field("controls", &self.controls).finish_non_exhaustive()
    }
}

/// What is asked for, in terms of the rules.
pub(crate) struct Asked<'a> {
    pub now: Time,
    pub number: u64,
    pub xapp: Arc<str>,
    pub node: &'a Node,
    pub node_name: String,
    pub settings: Vec<Setting>,
}

/// What the rules say about one parameter.
enum Judgement {
    /// Nothing stands against it, or less than it.
    Free(Option<Conflict>),
    Refuse(Conflict),
    Change(f64, Conflict),
    Ask(Conflict),
}

/// What the rules say about a control.
#[derive(Default)]
struct Verdict {
    refusal: Option<Conflict>,
    question: Option<(Conflict, Policy)>,
    /// A conflict in which the control wins, or in which its numbers are changed.
    won: Option<Conflict>,
    numbers: Vec<Option<f64>>,
    grants: Vec<Grant>,
}

impl State {
    pub fn new(rules: ConflictRules, audit: Option<AuditLog>, clock: Option<ConflictClock>) -> Self {
        State {
            rules,
            audit,
            clock,
            holders: Holders::default(),
            models: HashMap::new(),
            pending: HashMap::new(),
            questions: Questions::default(),
            blocks: VecDeque::new(),
            watches: Watches::default(),
            decisions: VecDeque::new(),
            counters: Counters::default(),
            controls: 0,
        }
    }

    /// The time of holds.
    pub fn time(&self, now: Time) -> Time {
        self.clock.as_ref().map_or(now, |clock| clock())
    }

    pub fn mediate(&mut self, control: &RequestedControl<'_>) -> Mediation {
        self.controls += 1;
        let model = self.model(control.node, control.function);
        let xapp = match control.identity {
            Some(identity) => Arc::from(&*identity.name),
            None => Arc::from(format!("consumer {}", control.consumer.0)),
        };
        let mut asked = Asked {
            now: self.time(control.now),
            number: self.controls,
            xapp,
            node: control.node,
            node_name: control.node.global_id.to_string(),
            settings: Vec::new(),
        };
        let concerned = model.as_ref().filter(|model| self.rules.concern(model.name()) || self.watches.has_any());
        let readable = model.as_ref().filter(|_| concerned.is_some() || self.audit.is_some());
        if let Some(model) = readable {
            match model.settings(control.header, control.message) {
                Ok(settings) => asked.settings = settings,
                Err(error) => {
                    self.counters.unreadable += 1;
                    if concerned.is_some() && !self.rules.passes_unreadable {
                        let conflict =
                            Conflict::alone(Kind::Unreadable, format!("the control cannot be read: {error}"));
                        return self.refuse(control, &asked, conflict, INVALID);
                    }
                }
            }
        }
        if let Some(conflict) = self.block(&asked) {
            return self.refuse(control, &asked, conflict, CONFLICT);
        }
        let verdict = self.judge(&asked);
        if let Some(conflict) = verdict.refusal {
            return self.refuse(control, &asked, conflict, CONFLICT);
        }
        if !self.holders.has_room(&asked.xapp, verdict.grants.len(), asked.now) {
            let conflict = Conflict::alone(Kind::Limit, "the xApp holds as many parameters as it may".to_owned());
            return self.refuse(control, &asked, conflict, LIMIT);
        }
        if let Some((conflict, policy)) = verdict.question {
            return self.ask(control, &asked, conflict, policy, verdict.grants);
        }
        let changed = match &model {
            Some(model) if verdict.numbers.iter().any(Option::is_some) => {
                match model.with_numbers(control.header, control.message, &verdict.numbers) {
                    Ok(content) => Some(content),
                    Err(error) => {
                        let reason = format!("the combined numbers cannot be encoded: {error}");
                        return self.refuse(control, &asked, Conflict::alone(Kind::Unreadable, reason), INVALID);
                    }
                }
            }
            _ => None,
        };
        let action = if changed.is_some() { Action::Changed } else { Action::Sent };
        self.decided(control.identity, &asked, action, verdict.won);
        self.admit(control.consumer, control.ticket, &asked, verdict.grants);
        match changed {
            Some((header, message)) => Mediation::Change { header, message },
            None => Mediation::Send,
        }
    }

    /// The service model of a RAN function.
    fn model(&mut self, node: &Node, function: RanFunctionId) -> Option<Model> {
        let identify = || {
            let function = node.function(function)?;
            Model::of(&function.oid, function.revision.0, &function.definition)
        };
        self.models.entry((node.id, function)).or_insert_with(identify).clone()
    }

    /// Forgets what is known of the functions of a node, which have changed.
    pub fn forget_models(&mut self, node: NodeId) {
        self.models.retain(|(of, _), _| *of != node);
    }

    /// Compares a control with what the rules say about each of its settings.
    fn judge(&self, asked: &Asked<'_>) -> Verdict {
        let mut verdict = Verdict { numbers: vec![None; asked.settings.len()], ..Verdict::default() };
        for (at, setting) in asked.settings.iter().enumerate() {
            if let Some(rule) = self.rules.rule(&asked.node_name, &setting.parameter) {
                let key = Key {
                    node: asked.node.id,
                    parameter: setting.parameter.as_str().into(),
                    scope: setting.scope.as_str().into(),
                };
                let judgement = self.judge_one(asked, &key, 0, rule.policy, setting.amount);
                let grant = self.grant(asked, key, 0, rule.policy, rule.hold, setting.amount);
                verdict.add(at, judgement, rule.policy, grant);
            }
            for kpi in self.rules.kpis.iter().filter(|kpi| is_for(kpi.nodes.as_deref(), &asked.node_name)) {
                let pattern = kpi.parameters.iter().position(|pattern| pattern.has(&setting.parameter));
                let Some(pattern) = pattern.filter(|_| kpi.parameters.len() > 1) else { continue };
                let parameter = format!("kpi/{}", kpi.name).into();
                let key = Key { node: asked.node.id, parameter, scope: "".into() };
                let judgement = self.judge_one(asked, &key, pattern + 1, kpi.policy, None);
                let grant = self.grant(asked, key, pattern + 1, kpi.policy, kpi.hold, None);
                verdict.add(at, judgement, kpi.policy, grant);
            }
        }
        verdict
    }

    /// Compares with the holders of a parameter; or of a KPI, whose parameters have numbers from 1.
    fn judge_one(
        &self,
        asked: &Asked<'_>,
        key: &Key,
        pattern: usize,
        policy: Policy,
        amount: Option<Amount>,
    ) -> Judgement {
        let kind = if pattern == 0 { Kind::Direct } else { Kind::Indirect };
        let live = self.holders.live(key, asked.now);
        let is_other = |holder: &&Holder| holder.xapp != asked.xapp && (pattern == 0 || holder.pattern != pattern);
        let mut others = live.clone().filter(is_other);
        let conflict = |with: &Holder, reason: String| Conflict {
            kind,
            policy: Some(policy.name()),
            with: Some(with.xapp.to_string()),
            parameter: key.parameter.to_string(),
            scope: key.scope.to_string(),
            reason,
        };
        let left = |holder: &Holder| (holder.until - asked.now).as_millis();
        if policy == Policy::Cooldown {
            // also of its own change
            return match live.clone().next() {
                Some(last) => {
                    Judgement::Refuse(conflict(last, format!("it was changed; not again within {} ms", left(last))))
                }
                None => Judgement::Free(None),
            };
        }
        let Some(first) = others.clone().next() else { return Judgement::Free(None) };
        match policy {
            Policy::Priority => {
                let own = self.rules.priority(&asked.xapp);
                let strongest = others.max_by_key(|holder| self.rules.priority(&holder.xapp)).unwrap_or(first);
                let priority = self.rules.priority(&strongest.xapp);
                if own > priority {
                    let reason = format!("priority {own} is above {priority}");
                    Judgement::Free(Some(conflict(strongest, reason)))
                } else {
                    let reason = format!("priority {own} is not above {priority}; held for {} ms", left(strongest));
                    Judgement::Refuse(conflict(strongest, reason))
                }
            }
            Policy::First => Judgement::Refuse(conflict(first, format!("it came first; held for {} ms", left(first)))),
            Policy::Merge(merge) => {
                let Some(own) = amount else {
                    return Judgement::Refuse(conflict(first, "it is no number that could be combined".to_owned()));
                };
                if let Some(other) = others.find(|holder| holder.amount.is_none_or(|amount| amount.unit != own.unit)) {
                    let reason = "its number has another unit, or it is none".to_owned();
                    return Judgement::Refuse(conflict(other, reason));
                }
                let others = live.filter(is_other).filter_map(|holder| holder.amount);
                let number = merge.of(others.map(|amount| amount.number).chain([own.number]));
                let word = match merge {
                    Merge::Min => "minimum",
                    Merge::Max => "maximum",
                    Merge::Mean => "mean",
                };
                Judgement::Change(number, conflict(first, format!("the {word} is {number} in place of {}", own.number)))
            }
            Policy::Ask { .. } => Judgement::Ask(conflict(first, "an arbiter is asked".to_owned())),
            Policy::Cooldown => unreachable!("handled above"),
        }
    }

    fn grant(
        &self,
        asked: &Asked<'_>,
        key: Key,
        pattern: usize,
        policy: Policy,
        hold: std::time::Duration,
        amount: Option<Amount>,
    ) -> Grant {
        // who came first does not stay so by repeating itself
        let own = self.holders.live(&key, asked.now).find(|holder| holder.xapp == asked.xapp);
        let until = own.filter(|_| policy == Policy::First).map_or(asked.now + hold, |own| own.until);
        let xapp = Arc::clone(&asked.xapp);
        let holder = Holder { xapp, pattern, since: asked.now, until, amount, control: asked.number };
        Grant { key, holder, is_shared: matches!(policy, Policy::Merge(_)) }
    }

    /// Records what a control gets that is sent now.
    fn admit(&mut self, consumer: Consumer, ticket: Ticket, asked: &Asked<'_>, grants: Vec<Grant>) {
        let mut new = Vec::new();
        for Grant { key, holder, is_shared } in grants {
            if !self.holders.give(key.clone(), holder, is_shared) {
                new.push(key);
            }
        }
        self.watches.suspect(&self.rules, asked);
        self.pending.insert((consumer, ticket), Pending { number: asked.number, new });
    }

    fn block(&mut self, asked: &Asked<'_>) -> Option<Conflict> {
        self.blocks.retain(|block| block.until > asked.now);
        let block = self.blocks.iter().find(|block| {
            block.node == asked.node.id
                && block.xapp == asked.xapp
                && asked.settings.iter().any(|setting| block.parameters.contains(&setting.parameter))
        })?;
        let left = (block.until - asked.now).as_millis();
        let reason = format!("{} has become worse after it; refused for {left} ms", block.kpi);
        Some(Conflict::alone(Kind::Implicit, reason))
    }

    fn refuse(
        &mut self,
        control: &RequestedControl<'_>,
        asked: &Asked<'_>,
        conflict: Conflict,
        cause: Cause,
    ) -> Mediation {
        self.decided(control.identity, asked, Action::Refused, Some(conflict));
        Mediation::Refuse(cause)
    }

    fn ask(
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
        let reason = if accepts { "the arbiter accepts it" } else { "the arbiter refuses it" };
        self.settle(question, accepts, reason, CONFLICT, now);
        Some(())
    }

    /// Ends a question: its control is sent or refused.
    fn settle(&mut self, question: Question, accepts: bool, reason: &str, cause: Cause, now: Time) {
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
            let accepts = question.accepts_by_default;
            let word = if accepts { "accepted" } else { "refused" };
            let reason = format!("the arbiter has not answered in time: {word} by default");
            self.settle(question, accepts, &reason, NO_ANSWER, now);
        }
    }

    /// Records the decision on a control.
    fn decided(
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

    fn record(&mut self, identity: Option<&ConsumerIdentity>, decision: Decision) {
        if let Some(audit) = &self.audit {
            let who = who(identity);
            audit.record("decision", &[&who[..], &decision.fields()].concat());
        }
        if decision.conflict.is_some() {
            if self.decisions.len() >= MAX_DECISIONS {
                self.decisions.pop_front();
            }
            self.decisions.push_back(decision);
        }
    }

    pub fn not_allowed(&mut self, identity: Option<&ConsumerIdentity>, node: &Node, function: RanFunctionId) {
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
            ("reason", "the xApp has no right to control this RAN function of this node".into()),
        ]);
        audit.record("decision", &fields);
    }

    pub fn control_ended(&mut self, consumer: Consumer, ticket: Ticket, outcome: &ControlOutcome) {
        let Some(pending) = self.pending.remove(&(consumer, ticket)) else { return };
        // after a timeout the node may have executed it
        let is_executed =
            matches!(outcome, ControlOutcome::Acknowledged(_) | ControlOutcome::Sent | ControlOutcome::TimedOut);
        if !is_executed {
            pending.new.iter().for_each(|key| self.holders.take_back(key, pending.number));
        }
        self.audit_outcome(pending.number, &outcome.to_string());
    }

    fn audit_outcome(&self, number: u64, outcome: &str) {
        if let Some(audit) = &self.audit {
            audit.record("outcome", &[("control", number.into()), ("outcome", outcome.into())]);
        }
    }

    pub fn consumer_gone(&mut self, consumer: Consumer) {
        self.questions.forget_consumer(consumer);
        let gone: Vec<_> = self.pending.extract_if(|(of, _), _| *of == consumer).collect();
        for (_, pending) in gone {
            self.audit_outcome(pending.number, "unknown: the xApp was gone before the node answered");
        }
    }

    pub fn node_lost(&mut self, node: NodeId, now: Time) {
        self.forget_models(node);
        self.holders.forget_node(node);
        self.watches.forget_node(node);
        self.blocks.retain(|block| block.node != node);
        for question in self.questions.take_of_node(node) {
            self.settle(question, false, "the node is lost", NODE_LOST, now);
        }
    }

    /// Takes a value of a KPI that a node has reported, and judges the controls before it.
    pub fn kpi_reported(&mut self, node: NodeId, node_name: &str, kpi: usize, value: f64, now: Time) {
        let now = self.time(now);
        for found in self.watches.report(&self.rules, (node, kpi), value, now) {
            let Some(of) = self.rules.kpis.get(kpi) else { continue };
            let Some(protection) = &of.protection else { continue };
            let is_weaker = self.rules.priority(&found.xapp) < self.rules.priority(&protection.xapp);
            let is_blocked = of.policy == Policy::Cooldown || is_weaker;
            let change = format!("{} was {:.3} before and {:.3} after it", of.name, found.before, found.after);
            let reason = if is_blocked {
                format!("{change}; refused for {} ms", of.hold.as_millis())
            } else {
                format!("{change}; its priority is not below that of {}", protection.xapp)
            };
            let conflict = Conflict {
                kind: Kind::Implicit,
                policy: Some(of.policy.name()),
                with: Some(protection.xapp.clone()),
                parameter: format!("kpi/{}", of.name),
                scope: String::new(),
                reason,
            };
            let action = if is_blocked { Action::Refused } else { Action::Sent };
            let mut decision = Decision::new(found.control, &found.xapp, node_name, &[], action, Some(conflict));
            decision.settings = found.settings.iter().take(16).map(describe).collect();
            let until = now + of.hold;
            let kpi = of.name.clone();
            self.record(None, decision);
            if is_blocked {
                if self.blocks.len() >= MAX_BLOCKS {
                    self.blocks.pop_front();
                }
                let parameters = found.settings.into_iter().map(|setting| setting.parameter).collect();
                self.blocks.push_back(Block { node, xapp: found.xapp, parameters, until, kpi });
            }
        }
    }
}

impl Verdict {
    fn add(&mut self, at: usize, judgement: Judgement, policy: Policy, grant: Grant) {
        match judgement {
            Judgement::Free(won) => self.won = self.won.take().or(won),
            Judgement::Refuse(conflict) => self.refusal = self.refusal.take().or(Some(conflict)),
            Judgement::Change(number, conflict) => {
                self.numbers[at] = Some(number);
                self.won = self.won.take().or(Some(conflict));
            }
            Judgement::Ask(conflict) => self.question = self.question.take().or(Some((conflict, policy))),
        }
        self.grants.push(grant);
    }
}

/// Who asks, for the audit log: whether a certificate says so, and the rights.
pub(crate) fn who(identity: Option<&ConsumerIdentity>) -> Vec<(&'static str, Value)> {
    let rights = identity.and_then(|identity| identity.rights.as_deref());
    let rights = rights.map_or_else(|| "all".to_owned(), XappRights::summary);
    let is_authenticated = identity.is_some_and(|identity| identity.is_authenticated);
    vec![("authenticated", is_authenticated.into()), ("rights", rights.into())]
}

#[cfg(test)]
mod tests;
