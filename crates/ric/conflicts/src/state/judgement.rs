//! What the rules say about a control.

use std::sync::Arc;
use std::time::Duration;

use ferric::e2::content::Amount;

use super::{Asked, Grant, State};
use crate::decision::{Conflict, Kind};
use crate::holders::{Holder, Key, OF_KPI};
use crate::rules::{Merge, Policy, is_for};

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
pub(super) struct Verdict {
    pub refusal: Option<Conflict>,
    pub question: Option<(Conflict, Policy)>,
    /// A conflict in which the control wins, or in which its numbers are changed.
    pub won: Option<Conflict>,
    pub numbers: Vec<Option<f64>>,
    pub grants: Vec<Grant>,
}

impl State {
    /// Compares a control with what the rules say about each of its settings.
    pub(super) fn judge(&self, asked: &Asked<'_>) -> Verdict {
        let mut verdict = Verdict { numbers: vec![None; asked.settings.len()], ..Verdict::default() };
        for (at, setting) in asked.settings.iter().enumerate() {
            if let Some(rule) = self.rules.rule(&asked.node_name, &setting.parameter) {
                let key = asked.keys[at].clone();
                let judgement = self.judge_one(asked, &key, 0, rule.policy, setting.amount);
                let grant = self.grant(asked, key, 0, rule.policy, rule.hold, setting.amount);
                verdict.add(at, judgement, rule.policy, grant);
            }
            for kpi in self.rules.kpis.iter().filter(|kpi| is_for(kpi.nodes.as_deref(), &asked.node_name)) {
                let pattern = kpi.parameters.iter().position(|pattern| pattern.has(&setting.parameter));
                let Some(pattern) = pattern.filter(|_| kpi.parameters.len() > 1) else { continue };
                let parameter = format!("{OF_KPI}{}", kpi.name).into();
                let key = Key { node: asked.node.id, parameter, scope: "".into() };
                let judgement = self.judge_one(asked, &key, pattern + 1, kpi.policy, None);
                let grant = self.grant(asked, key, pattern + 1, kpi.policy, kpi.hold, None);
                verdict.add(at, judgement, kpi.policy, grant);
            }
        }
        verdict
    }

    /// Compares with the holders of a parameter (`pattern` is 0), or of a KPI (`pattern` is the number of its parameter, from 1).
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
        hold: Duration,
        amount: Option<Amount>,
    ) -> Grant {
        // who came first does not stay so by repeating itself
        let own = self.holders.live(&key, asked.now).find(|holder| holder.xapp == asked.xapp);
        let until = own.filter(|_| policy == Policy::First).map_or(asked.now + hold, |own| own.until);
        let xapp = Arc::clone(&asked.xapp);
        let holder = Holder { xapp, pattern, since: asked.now, until, amount, control: asked.number };
        Grant { key, holder, is_shared: matches!(policy, Policy::Merge(_)) }
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
