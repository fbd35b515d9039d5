//! Decisions, as they are kept, shown and audited.

use std::time::{SystemTime, UNIX_EPOCH};

use ferric::e2::content::Setting;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// The settings of a control that a decision names; the others are counted.
const MAX_NAMED: usize = 16;

/// The kind of a conflict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    /// Two xApps set the same parameter of the same target.
    Direct,
    /// Two xApps set different parameters that move the same KPI.
    Indirect,
    /// A KPI has become worse after the control.
    Implicit,
    /// What the control sets is not known.
    Unreadable,
    /// A limit of the mitigation.
    Limit,
}

/// What became of a control.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Action {
    /// It was sent as it is.
    Sent,
    /// It was sent with other numbers.
    Changed,
    /// It was refused.
    Refused,
    /// It waits for an arbiter.
    Waits,
}

impl Action {
    pub fn name(self) -> &'static str {
        match self {
            Action::Sent => "sent",
            Action::Changed => "changed",
            Action::Refused => "refused",
            Action::Waits => "waits",
        }
    }
}

/// A conflict of a control with an earlier one.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Conflict {
    /// Its kind.
    pub kind: Kind,
    /// The policy that decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<&'static str>,
    /// The other xApp.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub with: Option<String>,
    /// The parameter, or `kpi/` and the KPI.
    pub parameter: String,
    /// What the parameter is of; empty for the node.
    pub scope: String,
    /// Why it was decided so.
    pub reason: String,
}

impl Conflict {
    /// A refusal without another xApp.
    pub fn alone(kind: Kind, reason: String) -> Self {
        Conflict { kind, policy: None, with: None, parameter: String::new(), scope: String::new(), reason }
    }

    pub fn kind_name(&self) -> &'static str {
        match self.kind {
            Kind::Direct => "direct",
            Kind::Indirect => "indirect",
            Kind::Implicit => "implicit",
            Kind::Unreadable => "unreadable",
            Kind::Limit => "limit",
        }
    }
}

/// A decision on a control.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "ConflictDecision")]
pub(crate) struct Decision {
    /// The number of the control, from 1.
    pub control: u64,
    /// When, in milliseconds of Unix time.
    pub time_ms: u64,
    /// The xApp.
    pub xapp: String,
    /// The node.
    pub node: String,
    /// What the control sets.
    pub settings: Vec<String>,
    /// What became of it.
    pub decision: Action,
    /// The conflict.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conflict: Option<Conflict>,
}

impl Decision {
    pub fn new(
        control: u64,
        xapp: &str,
        node: &str,
        settings: &[Setting],
        decision: Action,
        conflict: Option<Conflict>,
    ) -> Self {
        let mut named: Vec<_> = settings.iter().take(MAX_NAMED).map(describe).collect();
        if settings.len() > MAX_NAMED {
            named.push(format!("and {} more", settings.len() - MAX_NAMED));
        }
        let time_ms = unix_ms(SystemTime::now());
        Decision { control, time_ms, xapp: xapp.to_owned(), node: node.to_owned(), settings: named, decision, conflict }
    }

    /// Its fields in the audit log.
    pub fn fields(&self) -> Vec<(&'static str, Value)> {
        let mut fields: Vec<(&'static str, Value)> = vec![
            ("control", self.control.into()),
            ("xapp", self.xapp.as_str().into()),
            ("node", self.node.as_str().into()),
            ("settings", self.settings.join("; ").into()),
            ("decision", self.decision.name().into()),
        ];
        if let Some(conflict) = &self.conflict {
            fields.push(("conflict", conflict.kind_name().into()));
            fields.extend(conflict.policy.map(|policy| ("policy", policy.into())));
            fields.extend(conflict.with.as_deref().map(|with| ("with", with.into())));
            fields.push(("reason", conflict.reason.as_str().into()));
        }
        fields
    }
}

/// `slice/dl of slice 1 = 0.7 share`
pub(crate) fn describe(setting: &Setting) -> String {
    let mut text = setting.parameter.clone();
    let target = setting.target();
    if !target.is_empty() {
        text = format!("{text} of {target}");
    }
    if let Some(amount) = setting.amount {
        text = format!("{text} = {}", amount.number);
        if !amount.unit.is_empty() {
            text = format!("{text} {}", amount.unit);
        }
    }
    text
}

pub(crate) fn unix_ms(at: SystemTime) -> u64 {
    at.duration_since(UNIX_EPOCH).map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
