//! What is known of the controls of all xApps, and the decision on the next one.

mod arbitration;
mod judgement;
mod record;

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::fmt;
use std::sync::Arc;

use audit::AuditLog;
use ferric::e2::content::{ControlModel, Setting, TargetUe};
use ferric::e2::topology::RanDatabase;
use ferric::e2::{Consumer, ControlOutcome, Mediation, Node, NodeId, RequestedControl, Ticket, Time};
use ferric::e2ap::{Cause, CauseRicRequest, RanFunctionId};

use crate::decision::{Action, Conflict, Decision, Kind, describe};
use crate::holders::{Holder, Holders, Key};
use crate::implicit::{SentControl, Watches};
use crate::questions::Questions;
use crate::rules::{ConflictRules, Policy};
use crate::settings::settings;
pub(crate) use record::{Counters, who};

/// The decisions on conflicts that are kept for readers.
const MAX_DECISIONS: usize = 1024;
/// The xApps that are refused because of implicit conflicts at a time; the oldest one is forgotten for another.
const MAX_BLOCKS: usize = 256;

/// The most other names of a UE that are looked up, over all nodes of its base station.
const MAX_NAMES: usize = 128;

/// The cause for a control that another xApp's control stands against.
const CONFLICT: Cause = Cause::RicRequest(CauseRicRequest::ControlFailedToExecute);
/// The cause for a control that no arbiter has decided on in time.
const NO_ANSWER: Cause = Cause::RicRequest(CauseRicRequest::ControlTimerExpired);
const INVALID: Cause = Cause::RicRequest(CauseRicRequest::ControlMessageInvalid);
const LIMIT: Cause = Cause::RicRequest(CauseRicRequest::FunctionResourceLimit);
const NODE_LOST: Cause = Cause::RicRequest(CauseRicRequest::SystemNotReady);

/// The time of holds, in place of that of the RIC.
pub type ConflictClock = Arc<dyn Fn() -> Time + Send + Sync>;

/// A control that was sent and has no outcome yet.
#[derive(Debug)]
struct Pending {
    number: u64,
    node: NodeId,
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
    /// Rules that are to replace the present ones.
    pub next_rules: Option<ConflictRules>,
    pub audit: Option<AuditLog>,
    clock: Option<ConflictClock>,
    pub holders: Holders,
    models: HashMap<(NodeId, RanFunctionId), Option<ControlModel>>,
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
    /// The parameters, one for each setting.
    pub keys: Vec<Key>,
}

impl State {
    pub fn new(rules: ConflictRules, audit: Option<AuditLog>, clock: Option<ConflictClock>) -> Self {
        State {
            rules,
            next_rules: None,
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

    /// Replaces the rules. What is held stays held, and questions that wait keep their time. Returns whether those on KPIs are others.
    pub fn set_rules(&mut self, rules: ConflictRules) -> bool {
        let is_changed = rules.kpis != self.rules.kpis;
        if is_changed {
            // both know a KPI by its number
            self.holders.forget_kpis();
            self.watches = Watches::default();
            self.blocks.retain(|block| rules.kpis.iter().any(|kpi| kpi.name == block.kpi));
        }
        self.questions.retain_arbiters(&rules.arbiters);
        self.rules = rules;
        is_changed
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
            keys: Vec::new(),
        };
        let concerned = model.as_ref().filter(|model| self.rules.concern(model.name()) || self.watches.has_any());
        let readable = model.as_ref().filter(|_| concerned.is_some() || self.audit.is_some());
        if let Some(model) = readable {
            match settings(model, control.header, control.message) {
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
        asked.keys = self.keys(&asked, control.ran);
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

    /// The parameters that a control sets. One that is held under another name of the same UE is that one: parts of a base station,
    /// and xApps, name a UE by different identifiers.
    fn keys(&mut self, asked: &Asked<'_>, ran: &RanDatabase) -> Vec<Key> {
        let mut keys = Vec::new();
        // most controls name one UE
        let mut known: Option<(Arc<TargetUe>, OtherNames)> = None;
        for setting in &asked.settings {
            let key = |node: NodeId, scope: String| Key {
                node,
                parameter: setting.parameter.as_str().into(),
                scope: scope.into(),
            };
            let own = key(asked.node.id, setting.target());
            let Some(ue) =
                setting.ue.as_ref().filter(|_| self.rules.rule(&asked.node_name, &setting.parameter).is_some())
            else {
                keys.push(own);
                continue;
            };
            if known.as_ref().is_none_or(|(of, _)| !Arc::ptr_eq(of, ue)) {
                known = Some((Arc::clone(ue), other_names(ran, asked.node.id, ue)));
            }
            let others = known.iter().flat_map(|(_, others)| others);
            let others = others.map(|(node, text)| key(*node, setting.target_as(text)));
            let all = std::iter::once(own.clone()).chain(others);
            let mut held = all.filter(|key| self.holders.is_held(key, asked.now)).collect::<Vec<_>>().into_iter();
            let key = held.next().unwrap_or(own);
            // two names that were not known to be of one UE when both got holders
            held.for_each(|other| self.holders.join(&key, &other));
            keys.push(key);
        }
        keys
    }

    /// The service model of a RAN function.
    fn model(&mut self, node: &Node, function: RanFunctionId) -> Option<ControlModel> {
        let identify = || node.function(function).and_then(ControlModel::of);
        self.models.entry((node.id, function)).or_insert_with(identify).clone()
    }

    /// Forgets what is known of the functions of a node, which have changed.
    pub fn forget_models(&mut self, node: NodeId) {
        self.models.retain(|(of, _), _| *of != node);
    }

    /// Records what a control gets that is sent now.
    fn admit(&mut self, consumer: Consumer, ticket: Ticket, asked: &Asked<'_>, grants: Vec<Grant>) {
        let mut new = Vec::new();
        for Grant { key, holder, is_shared } in grants {
            if !self.holders.give(key.clone(), holder, is_shared) {
                new.push(key);
            }
        }
        let sent = SentControl {
            at: asked.now,
            number: asked.number,
            xapp: &asked.xapp,
            node: asked.node.id,
            node_name: &asked.node_name,
            settings: &asked.settings,
        };
        self.watches.suspect(&self.rules, sent);
        self.pending.insert((consumer, ticket), Pending { number: asked.number, node: asked.node.id, new });
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

    pub fn control_ended(&mut self, consumer: Consumer, ticket: Ticket, outcome: &ControlOutcome) {
        let Some(pending) = self.pending.remove(&(consumer, ticket)) else { return };
        // after a timeout the node may have executed it
        let is_executed =
            matches!(outcome, ControlOutcome::Acknowledged(_) | ControlOutcome::Sent | ControlOutcome::TimedOut);
        if !is_executed {
            pending.new.iter().for_each(|key| self.holders.take_back(key, pending.number));
            self.watches.forget_control(pending.node, pending.number);
        }
        self.audit_outcome(pending.number, &outcome.to_string());
    }

    pub fn consumer_gone(&mut self, consumer: Consumer) {
        let dropped = self.questions.forget_consumer(consumer);
        self.count_answer("dropped", dropped as u64);
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
            self.count_answer("dropped", 1);
            self.settle(question, false, "the node is lost", NODE_LOST, now);
        }
    }

    /// Takes a report of a KPI, and judges the controls before it.
    pub fn kpi_reported(&mut self, node: NodeId, node_name: &str, kpi: usize, value: Option<f64>, now: Time) {
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

/// Names of a UE in controls, each with a node.
type OtherNames = Vec<(NodeId, String)>;

/// The other names of a UE at the nodes of its base station, as controls there have them.
fn other_names(ran: &RanDatabase, node: NodeId, ue: &TargetUe) -> OtherNames {
    let Some(known) = ue.names.iter().find_map(|name| ran.find_ue(node, name)) else { return Vec::new() };
    let names: BTreeSet<_> = known.names().filter_map(TargetUe::text_of).chain([ue.text.clone()]).collect();
    let nodes = ran.station(known.station()).into_iter().flat_map(|station| station.nodes());
    let all = nodes.flat_map(|(at, _)| names.iter().map(move |name| (at, name.clone())));
    all.filter(|(at, name)| *at != node || *name != ue.text).take(MAX_NAMES).collect()
}

#[cfg(test)]
mod tests;
