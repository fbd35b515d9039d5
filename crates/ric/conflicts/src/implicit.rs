//! Implicit conflicts: a KPI that becomes worse after another xApp's control.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use ferric::e2::content::Setting;
use ferric::e2::{NodeId, Time};

use crate::rules::{Better, ConflictRules, Kpi, Protection, is_for};

/// The values of a KPI that are kept.
const MAX_VALUES: usize = 1024;
/// The controls before which and after which a KPI is compared; further ones in a window are not.
const MAX_SUSPECTS: usize = 64;

/// A control after which a KPI is compared.
#[derive(Debug)]
struct Suspect {
    at: Time,
    control: u64,
    xapp: Arc<str>,
    settings: Vec<Setting>,
}

/// A control that is sent now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SentControl<'a> {
    pub at: Time,
    pub number: u64,
    pub xapp: &'a Arc<str>,
    pub node: NodeId,
    pub node_name: &'a str,
    pub settings: &'a [Setting],
}

/// A KPI of a node.
#[derive(Debug, Default)]
struct Watch {
    values: VecDeque<(Time, f64)>,
    suspects: VecDeque<Suspect>,
}

/// A control after which a KPI has become worse.
#[derive(Debug)]
pub(crate) struct Degradation {
    pub control: u64,
    pub xapp: Arc<str>,
    pub settings: Vec<Setting>,
    pub before: f64,
    pub after: f64,
}

/// The KPIs that nodes report, by the number of the rule.
#[derive(Debug, Default)]
pub(crate) struct Watches(HashMap<(NodeId, usize), Watch>);

impl Watches {
    /// Begins to compare a KPI.
    pub fn begin(&mut self, node: NodeId, kpi: usize) {
        self.0.entry((node, kpi)).or_default();
    }

    /// Ends it: the node reports the KPI no more.
    pub fn end(&mut self, node: NodeId, kpi: usize) {
        self.0.remove(&(node, kpi));
    }

    pub fn has_any(&self) -> bool {
        !self.0.is_empty()
    }

    pub fn forget_node(&mut self, node: NodeId) {
        self.0.retain(|(of, _), _| *of != node);
    }

    /// Notes a control that is sent, for the KPIs of others that it may move.
    pub fn suspect(&mut self, rules: &ConflictRules, sent: SentControl<'_>) {
        for (number, kpi) in rules.kpis.iter().enumerate() {
            let Some(watch) = self.0.get_mut(&(sent.node, number)) else { continue };
            let is_own = kpi.protection.as_ref().is_none_or(|protection| protection.xapp == **sent.xapp);
            if is_own || !is_for(kpi.nodes.as_deref(), sent.node_name) || watch.suspects.len() >= MAX_SUSPECTS {
                continue;
            }
            let moving = sent.settings.iter().filter(|setting| moves(kpi, &setting.parameter));
            let settings: Vec<_> = moving.cloned().collect();
            if !settings.is_empty() {
                let (control, xapp) = (sent.number, Arc::clone(sent.xapp));
                watch.suspects.push_back(Suspect { at: sent.at, control, xapp, settings });
            }
        }
    }

    /// Forgets a control that the node has not executed.
    pub fn forget_control(&mut self, node: NodeId, control: u64) {
        let of_node = self.0.iter_mut().filter(|((of, _), _)| *of == node);
        of_node.for_each(|(_, watch)| watch.suspects.retain(|suspect| suspect.control != control));
    }

    /// Takes a report of a KPI, which may have no value: then nothing happened in its period that could be measured. Returns the controls
    /// after which the KPI is worse, of those that a whole window has followed.
    pub fn report(
        &mut self,
        rules: &ConflictRules,
        of: (NodeId, usize),
        value: Option<f64>,
        now: Time,
    ) -> Vec<Degradation> {
        let protection = rules.kpis.get(of.1).and_then(|kpi| kpi.protection.as_ref());
        let (Some(watch), Some(protection)) = (self.0.get_mut(&of), protection) else { return Vec::new() };
        watch.values.extend(value.map(|value| (now, value)));
        let period = protection.period();
        let mut found = Vec::new();
        while watch.suspects.front().is_some_and(|suspect| suspect.at + protection.window <= now) {
            let Some(suspect) = watch.suspects.pop_front() else { break };
            let at = suspect.at;
            let before = mean(&watch.values, |time| time <= at && at - time <= protection.window);
            // a report is of the period before it: the first one after a control is also of the time before the control
            let after = mean(&watch.values, |time| time - at >= period && time - at <= protection.window);
            if let (Some(before), Some(after)) = (before, after)
                && is_worse(protection, before, after)
            {
                let Suspect { control, xapp, settings, .. } = suspect;
                found.push(Degradation { control, xapp, settings, before, after });
            }
        }
        // each control that is compared later has its window before it
        let oldest = watch.suspects.front().map_or(now, |suspect| suspect.at);
        while watch.values.len() > MAX_VALUES
            || watch.values.front().is_some_and(|(time, _)| oldest - *time > protection.window)
        {
            watch.values.pop_front();
        }
        found
    }
}

/// Whether a parameter may move a KPI: one of those that are declared, or any if none is.
fn moves(kpi: &Kpi, parameter: &str) -> bool {
    kpi.parameters.is_empty() || kpi.parameters.iter().any(|pattern| pattern.has(parameter))
}

fn is_worse(protection: &Protection, before: f64, after: f64) -> bool {
    let margin = before.abs() * protection.degradation;
    match protection.better {
        Better::Higher => after < before - margin,
        Better::Lower => after > before + margin,
    }
}

fn mean(values: &VecDeque<(Time, f64)>, is_in: impl Fn(Time) -> bool) -> Option<f64> {
    let (count, sum) = values
        .iter()
        .filter(|(time, _)| is_in(*time))
        .fold((0_u32, 0.0), |(count, sum), (_, value)| (count + 1, sum + value));
    (count > 0).then(|| sum / f64::from(count))
}
