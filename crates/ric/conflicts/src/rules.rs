//! The rules: which controls are in conflict, and what is done about it.

use std::ops::RangeInclusive;
use std::path::Path;
use std::time::Duration;

use e2sm::common::SNssai;
use ferric::e2::content::ParameterPattern;
use settings::{Document, Error, Table, TableKeys};

/// The most rules of each kind, and xApps.
const MAX_ENTRIES: usize = 256;
/// The most parameters of a rule on a KPI.
const MAX_PARAMETERS: usize = 64;
/// The most nodes that a rule names.
const MAX_NODES: usize = 256;
/// The most arbiters.
const MAX_ARBITERS: usize = 16;
/// The longest name of an xApp, in octets.
const MAX_NAME: usize = 256;
/// The largest file, in octets.
const MAX_FILE: u64 = 256 * 1024;
/// The default of `hold_ms`.
const HOLD: Duration = Duration::from_secs(2);
/// The default of `timeout_ms`.
const TIMEOUT: Duration = Duration::from_millis(500);
/// The default of `window_ms`.
const WINDOW: Duration = Duration::from_secs(2);
/// The range of `window_ms`: four reports of 10 ms, the shortest period; an hour.
const WINDOWS_MS: RangeInclusive<i64> = 40..=3_600_000;
/// The reports of a KPI in a window.
const REPORTS_PER_WINDOW: u32 = 4;
/// The longest period of reports.
const MAX_PERIOD: Duration = Duration::from_secs(10);
/// The default of `degradation_percent`.
const DEGRADATION: f64 = 20.0;

const FILE: TableKeys = TableKeys { name: "the file", keys: &["unreadable", "arbiters", "xapp", "rule", "kpi"] };
const XAPP: TableKeys = TableKeys { name: "[[xapp]]", keys: &["name", "priority"] };
const RULE: TableKeys = TableKeys {
    name: "[[rule]]",
    keys: &["parameter", "nodes", "policy", "hold_ms", "merge", "timeout_ms", "default"],
};
const KPI: TableKeys = TableKeys {
    name: "[[kpi]]",
    keys: &[
        "name",
        "nodes",
        "parameters",
        "policy",
        "hold_ms",
        "timeout_ms",
        "default",
        "protects",
        "s_nssai",
        "better",
        "degradation_percent",
        "window_ms",
    ],
};

/// How numbers are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Merge {
    Min,
    Max,
    Mean,
}

impl Merge {
    /// Combines numbers, of which there is at least one.
    pub fn of(self, numbers: impl Iterator<Item = f64> + Clone) -> f64 {
        match self {
            Merge::Min => numbers.fold(f64::INFINITY, f64::min),
            Merge::Max => numbers.fold(f64::NEG_INFINITY, f64::max),
            Merge::Mean => {
                let count = numbers.clone().count().max(1);
                numbers.sum::<f64>() / count as f64
            }
        }
    }
}

/// What is done about a conflict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Policy {
    /// The xApp with the higher priority takes the parameter over; another one is refused while it is held.
    Priority,
    /// The xApp that comes first has the parameter for the hold time, which its own controls do not extend.
    First,
    /// The numbers that the xApps ask for are combined.
    Merge(Merge),
    /// Nobody changes the parameter again within the hold time.
    Cooldown,
    /// An arbiter decides; without an answer in time, the default.
    Ask { timeout: Duration, accepts_by_default: bool },
}

impl Policy {
    /// Its word in the file.
    pub fn name(self) -> &'static str {
        match self {
            Policy::Priority => "priority",
            Policy::First => "first",
            Policy::Merge(_) => "merge",
            Policy::Cooldown => "cooldown",
            Policy::Ask { .. } => "ask",
        }
    }
}

/// A rule on direct conflicts: several xApps set the same parameter of the same target.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rule {
    pub parameter: ParameterPattern,
    /// The nodes that it is for; `None`: all.
    pub nodes: Option<Vec<String>>,
    pub policy: Policy,
    pub hold: Duration,
}

/// Which values of a KPI are better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Better {
    Higher,
    Lower,
}

/// What is declared of a KPI's degradation: implicit conflicts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Protection {
    /// The xApp whose KPI it is.
    pub xapp: String,
    /// The network slice whose KPI it is; `None`: that of the node.
    pub s_nssai: Option<SNssai>,
    pub better: Better,
    /// The change to the worse, relative to the value before, from which on it is a conflict.
    pub degradation: f64,
    /// The time before and after a control over which the KPI is averaged.
    pub window: Duration,
}

impl Protection {
    /// The period of reports: a whole number of milliseconds.
    pub fn period(&self) -> Duration {
        let period = (self.window / REPORTS_PER_WINDOW).min(MAX_PERIOD);
        Duration::from_millis(period.as_millis() as u64) // at most 10000
    }
}

/// A rule on a KPI: indirect conflicts of the parameters that move it, and implicit ones.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Kpi {
    /// Its name: that of the measurement in E2SM-KPM, if it is protected.
    pub name: String,
    pub nodes: Option<Vec<String>>,
    /// The parameters that move it.
    pub parameters: Vec<ParameterPattern>,
    pub policy: Policy,
    pub hold: Duration,
    pub protection: Option<Protection>,
}

/// The rules on conflicts between xApps.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConflictRules {
    /// Names and priorities; an xApp without an entry has priority 0.
    pub(crate) xapps: Vec<(String, i32)>,
    pub(crate) rules: Vec<Rule>,
    pub(crate) kpis: Vec<Kpi>,
    /// The xApps that may be arbiters; the first one that is connected is asked.
    pub(crate) arbiters: Vec<String>,
    /// Whether controls whose settings are not known are sent, though there are rules for their service model.
    pub(crate) passes_unreadable: bool,
}

impl ConflictRules {
    /// Reads a file.
    ///
    /// # Errors
    /// A text with the path, and the line and key at fault.
    pub fn load(path: &Path) -> Result<ConflictRules, String> {
        let text = settings::read(path, MAX_FILE).map_err(|error| format!("{}: {error}", path.display()))?;
        ConflictRules::parse(&text).map_err(|error| format!("{}: {error}", path.display()))
    }

    /// Parses the text of a file.
    ///
    /// # Errors
    /// The line and the key at fault: an unknown key, a value out of range, a key that a policy does not have, or two entries for the
    /// same xApp, parameter or KPI.
    pub fn parse(text: &str) -> Result<ConflictRules, Error> {
        let document = Document::parse(text)?;
        let file = document.root(&FILE)?;
        let passes_unreadable = file.choice("unreadable", &[("refuse", false), ("pass", true)])?;
        let mut all =
            ConflictRules { passes_unreadable: passes_unreadable.unwrap_or(false), ..ConflictRules::default() };
        for name in file.texts("arbiters", MAX_ARBITERS, "names of xApps")?.unwrap_or_default() {
            if !is_name(name) || all.arbiters.iter().any(|other| other == name) {
                return Err(file.invalid("arbiters", "different names of 1 to 256 printable characters"));
            }
            all.arbiters.push(name.to_owned());
        }
        for table in file.tables("xapp", &XAPP, MAX_ENTRIES)? {
            let name = name(&table, "name", "the name of the xApp, or that in its certificate")?;
            let name = name.ok_or_else(|| table.missing("name", "each xApp has a name"))?;
            if all.xapps.iter().any(|(other, _)| *other == name) {
                return Err(table.invalid("name", format!("there are two xApps `{name}`")));
            }
            let priority = table.integer("priority", -1000..=1000)?;
            let priority = priority.ok_or_else(|| table.missing("priority", "an integer; the higher one wins"))?;
            all.xapps.push((name, priority));
        }
        for table in file.tables("rule", &RULE, MAX_ENTRIES)? {
            let rule = read_rule(&table)?;
            if all.rules.iter().any(|other| other.parameter == rule.parameter && other.nodes == rule.nodes) {
                return Err(table.invalid("parameter", format!("there are two rules for {}", rule.parameter)));
            }
            all.rules.push(rule);
        }
        for table in file.tables("kpi", &KPI, MAX_ENTRIES)? {
            let kpi = read_kpi(&table)?;
            if all.kpis.iter().any(|other| other.name == kpi.name) {
                return Err(table.invalid("name", format!("there are two KPIs `{}`", kpi.name)));
            }
            all.kpis.push(kpi);
        }
        let mut policies = all.rules.iter().map(|rule| rule.policy).chain(all.kpis.iter().map(|kpi| kpi.policy));
        if !all.arbiters.is_empty() && !policies.any(|policy| matches!(policy, Policy::Ask { .. })) {
            return Err(file.invalid("arbiters", "no rule has the policy `ask`"));
        }
        if all.rules.is_empty() && all.kpis.is_empty() {
            return Err(file.missing("rule", "at least one [[rule]] or [[kpi]]"));
        }
        Ok(all)
    }

    pub(crate) fn priority(&self, xapp: &str) -> i32 {
        self.xapps.iter().find(|(name, _)| name == xapp).map_or(0, |(_, priority)| *priority)
    }

    /// The first rule for a parameter of a node.
    pub(crate) fn rule(&self, node: &str, parameter: &str) -> Option<&Rule> {
        self.rules.iter().find(|rule| is_for(rule.nodes.as_deref(), node) && rule.parameter.has(parameter))
    }

    /// Whether there may be rules for the controls of a service model.
    pub(crate) fn concern(&self, model: &str) -> bool {
        let of_kpis = self.kpis.iter().flat_map(|kpi| &kpi.parameters);
        self.rules.iter().map(|rule| &rule.parameter).chain(of_kpis).any(|pattern| pattern.may_have(model))
    }
}

/// Whether a rule is for a node.
pub(crate) fn is_for(nodes: Option<&[String]>, node: &str) -> bool {
    nodes.is_none_or(|nodes| nodes.iter().any(|other| other == node))
}

fn name(table: &Table<'_>, key: &'static str, expected: &str) -> Result<Option<String>, Error> {
    let Some(name) = table.text(key, expected)? else { return Ok(None) };
    if !is_name(name) {
        return Err(table.invalid(key, "a name has 1 to 256 printable characters"));
    }
    Ok(Some(name.to_owned()))
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.len() <= MAX_NAME && !name.chars().any(char::is_control)
}

fn milliseconds(table: &Table<'_>, key: &'static str, default: Duration) -> Result<Duration, Error> {
    milliseconds_in(table, key, 1..=3_600_000, default)
}

fn milliseconds_in(
    table: &Table<'_>,
    key: &'static str,
    range: RangeInclusive<i64>,
    default: Duration,
) -> Result<Duration, Error> {
    let given = table.integer::<u32>(key, range)?;
    Ok(given.map_or(default, |ms| Duration::from_millis(ms.into())))
}

fn nodes(table: &Table<'_>) -> Result<Option<Vec<String>>, Error> {
    let nodes = table.texts("nodes", MAX_NODES, "nodes such as gnb-00101-e00")?;
    Ok(nodes.map(|nodes| nodes.into_iter().map(str::to_owned).collect()))
}

/// Reads the policy and its keys.
fn policy(table: &Table<'_>, merge: Option<Merge>) -> Result<Policy, Error> {
    let words = [("priority", 0), ("first", 1), ("merge", 2), ("cooldown", 3), ("ask", 4)];
    let word = table.choice("policy", &words)?;
    let word = word.ok_or_else(|| table.missing("policy", "priority, first, merge, cooldown or ask"))?;
    let policy = match word {
        0 => Policy::Priority,
        1 => Policy::First,
        2 => Policy::Merge(merge.ok_or_else(|| table.missing("merge", "min, max or mean"))?),
        3 => Policy::Cooldown,
        _ => Policy::Ask {
            timeout: milliseconds(table, "timeout_ms", TIMEOUT)?,
            accepts_by_default: table.choice("default", &[("refuse", false), ("accept", true)])?.unwrap_or(false),
        },
    };
    if merge.is_some() && !matches!(policy, Policy::Merge(_)) {
        return Err(table.invalid("merge", "only the policy `merge` has it"));
    }
    for key in ["timeout_ms", "default"] {
        if table.contains(key) && !matches!(policy, Policy::Ask { .. }) {
            return Err(table.invalid(key, "only the policy `ask` has it"));
        }
    }
    Ok(policy)
}

fn read_rule(table: &Table<'_>) -> Result<Rule, Error> {
    let parameter = table.parsed::<ParameterPattern>("parameter", "a path such as rc/2/6")?;
    let parameter = parameter.ok_or_else(|| table.missing("parameter", "the parameters that the rule is for"))?;
    let merge = table.choice("merge", &[("min", Merge::Min), ("max", Merge::Max), ("mean", Merge::Mean)])?;
    Ok(Rule {
        parameter,
        nodes: nodes(table)?,
        policy: policy(table, merge)?,
        hold: milliseconds(table, "hold_ms", HOLD)?,
    })
}

fn read_kpi(table: &Table<'_>) -> Result<Kpi, Error> {
    let name_of_kpi = name(table, "name", "the name of the KPI")?;
    let name_of_kpi = name_of_kpi.ok_or_else(|| table.missing("name", "the name of the KPI"))?;
    let parameters = table.parsed_texts::<ParameterPattern>("parameters", MAX_PARAMETERS, "paths such as rc/2/6")?;
    let parameters = parameters.unwrap_or_default();
    let read = policy(table, None);
    let policy = match (read, table.text("policy", "a word")?) {
        (_, Some("merge")) => {
            return Err(table.invalid("policy", "numbers of different parameters cannot be combined: not `merge`"));
        }
        (policy, _) => policy?,
    };
    let protection = match name(table, "protects", "the xApp whose KPI it is")? {
        Some(xapp) => {
            let better = table.choice("better", &[("higher", Better::Higher), ("lower", Better::Lower)])?;
            if !matches!(policy, Policy::Priority | Policy::Cooldown) {
                let text = "after a degradation there is nothing to ask or to wait for: `priority` or `cooldown`";
                return Err(table.invalid("policy", text));
            }
            Some(Protection {
                xapp,
                s_nssai: table.parsed("s_nssai", "an S-NSSAI such as 1 or 1-00000a")?,
                better: better.ok_or_else(|| table.missing("better", "higher or lower"))?,
                degradation: table.number("degradation_percent", 1.0..=1000.0)?.unwrap_or(DEGRADATION) / 100.0,
                window: milliseconds_in(table, "window_ms", WINDOWS_MS, WINDOW)?,
            })
        }
        None => {
            for key in ["s_nssai", "better", "degradation_percent", "window_ms"] {
                if table.contains(key) {
                    return Err(table.invalid(key, "only a KPI that `protects` an xApp has it"));
                }
            }
            None
        }
    };
    if parameters.len() < 2 && protection.is_none() {
        let text = "an indirect conflict is one of two parameters at least; or name the xApp that it `protects`";
        return Err(table.missing("parameters", text));
    }
    let hold = milliseconds(table, "hold_ms", HOLD)?;
    Ok(Kpi { name: name_of_kpi, nodes: nodes(table)?, parameters, policy, hold, protection })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pattern_has_what_is_below_it() {
        let has = |pattern: &str, parameter: &str| pattern.parse::<ParameterPattern>().unwrap().has(parameter);
        assert!(has("rc/2/6", "rc/2/6") && has("rc/2/6", "rc/2/6/11") && has("rc/*/6", "rc/2/6/11"));
        assert!(!has("rc/2/6", "rc/2/61") && !has("rc/2/6", "rc/2") && !has("rc/2/6", "slice/dl"));
        assert!(has("*", "tc/shaper"));
    }

    #[test]
    fn rules_that_mean_nothing_are_refused_with_line_and_key() {
        let rule = |more: &str| format!("[[rule]]\nparameter = \"rc/2/6\"\n{more}\n");
        let kpi = |more: &str| format!("[[kpi]]\nname = \"DRB.UEThpDl\"\n{more}\n");
        let cases = [
            (String::new(), "at least one [[rule]] or [[kpi]]"),
            (rule(""), "missing key `policy`"),
            (rule("policy = \"last\""), "\"last\" is not one of"),
            (rule("policy = \"merge\""), "missing key `merge`"),
            (rule("policy = \"first\"\nmerge = \"min\""), "only the policy `merge` has it"),
            (rule("policy = \"first\"\ntimeout_ms = 5"), "only the policy `ask` has it"),
            (rule("policy = \"first\"\nhold_ms = 0"), "hold_ms: 0 is out of range"),
            (rule("policy = \"first\"\npolicies = 1"), "unknown key `policies`"),
            (rule("policy = \"first\"") + &rule("policy = \"ask\""), "there are two rules for rc/2/6"),
            ("[[rule]]\nparameter = \"kpm/1\"\npolicy = \"first\"".to_owned(), "a parameter is a path"),
            ("[[rule]]\nparameter = \"rc//6\"\npolicy = \"first\"".to_owned(), "a parameter is a path"),
            (kpi("policy = \"first\""), "an indirect conflict is one of two parameters"),
            (kpi("policy = \"merge\"\nparameters = [\"rc/2/6\", \"slice/dl\"]"), "cannot be combined"),
            (kpi("policy = \"first\"\nprotects = \"a\"\nbetter = \"higher\""), "after a degradation"),
            (kpi("policy = \"priority\"\nprotects = \"a\""), "missing key `better`"),
            (
                kpi("policy = \"priority\"\nprotects = \"a\"\nbetter = \"lower\"\nwindow_ms = 39"),
                "window_ms: 39 is out of range",
            ),
            (kpi("policy = \"first\"\nwindow_ms = 5\nparameters = [\"tc\", \"rc\"]"), "only a KPI that `protects`"),
            (
                "[[xapp]]\nname = \"a\"\npriority = 1\n[[xapp]]\nname = \"a\"\npriority = 2\n".to_owned()
                    + &rule("policy = \"first\""),
                "there are two xApps `a`",
            ),
            ("[[xapp]]\nname = \"\"\npriority = 1\n".to_owned(), "a name has 1 to 256"),
            ("arbiters = [\"a\"]\n".to_owned() + &rule("policy = \"first\""), "no rule has the policy `ask`"),
            ("arbiters = [\"a\", \"a\"]\n".to_owned() + &rule("policy = \"ask\""), "different names"),
            ("arbiters = [\"\"]\n".to_owned() + &rule("policy = \"ask\""), "different names"),
        ];
        for (text, reason) in cases {
            let error = ConflictRules::parse(&text).unwrap_err().to_string();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
}
