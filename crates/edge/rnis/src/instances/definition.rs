//! What an instance is to be: the resource that tenants' operators create, change and delete.

use std::net::SocketAddr;
use std::time::Duration;

use ferric::link::Address;
use rest::Problem;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::dimensioning::Bounds;

/// Octets of a name: it is a part of paths, of log lines and of the name of a control group.
const MAX_NAME: usize = 32;
/// The bounds of a share, in processors.
const SHARES: std::ops::RangeInclusive<f64> = 0.01..=64.0;
const MEMORY_MIB: std::ops::RangeInclusive<u32> = 32..=65_536;

/// An instance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Definition {
    /// Its name: 1 to 32 lower-case letters, digits and hyphens, the first one a letter.
    pub name: String,
    /// The address of its REST interface; without it a free port of 127.0.0.1, which it keeps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub rest: Option<SocketAddr>,
    /// The URL of the RIC whose nodes it collects from; without it that of the supervisor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub ric: Option<String>,
    /// The period of measurements, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32")]
    pub period_ms: Option<u32>,
    /// Generate so many synthetic events per second instead of collecting those of a RIC, for measurements.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32")]
    pub load_per_s: Option<u32>,
    /// Its subscriptions at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32")]
    pub max_subscriptions: Option<u32>,
    /// Its part of the budget, relative to other instances, when all need more than there is: 1 to 1000.
    #[serde(default = "default_weight")]
    pub weight: u32,
    /// The processors that it may use at least.
    #[serde(default = "default_min_share")]
    pub min_share: f64,
    /// The processors that it may use at most.
    #[serde(default = "default_max_share")]
    pub max_share: f64,
    /// The 99th percentile of the time from the queue of a notification to its answer that is to be kept, in milliseconds.
    #[serde(default = "default_p99_target_ms")]
    pub p99_target_ms: f64,
    /// The memory with which it is restarted, in MiB.
    #[serde(default = "default_memory")]
    pub max_memory_mib: u32,
}

const fn default_weight() -> u32 {
    1
}

const fn default_min_share() -> f64 {
    0.05
}

const fn default_max_share() -> f64 {
    1.0
}

const fn default_p99_target_ms() -> f64 {
    10.0
}

const fn default_memory() -> u32 {
    512
}

/// A value that makes no sense: the member and the reason.
type Fault = (&'static str, String);

impl Definition {
    /// Checks what the types do not.
    ///
    /// # Errors
    /// 422 with the member.
    pub fn check(&self) -> Result<(), Problem> {
        let refused = |(at, why): Fault| Err(Problem::unprocessable(format!("{at}: {why}")).with("at", at));
        self.fault().map_or(Ok(()), refused)
    }

    fn fault(&self) -> Option<Fault> {
        let out_of = |at, value: &dyn std::fmt::Display, from: &dyn std::fmt::Display, to: &dyn std::fmt::Display| {
            Some((at, format!("{value} is out of range {from} to {to}")))
        };
        let Definition { min_share, max_share, .. } = self;
        if !is_name(&self.name) {
            let why = format!("1 to {MAX_NAME} lower-case letters, digits and hyphens, the first one a letter");
            return Some(("name", why));
        }
        if let Some(Err(error)) = self.ric.as_ref().map(|ric| ric.parse::<Address>()) {
            return Some(("ric", error.to_string()));
        }
        if self.ric.is_some() && self.load_per_s.is_some() {
            return Some((
                "loadPerS",
                "an instance with synthetic events collects from no RIC: leave out `ric`".into(),
            ));
        }
        for (at, value, range) in [
            ("periodMs", self.period_ms, 10..=3_600_000),
            ("loadPerS", self.load_per_s, 1..=100_000),
            ("maxSubscriptions", self.max_subscriptions, 1..=1_000_000),
            ("weight", Some(self.weight), 1..=1000),
            ("maxMemoryMib", Some(self.max_memory_mib), MEMORY_MIB),
        ] {
            if let Some(value) = value.filter(|value| !range.contains(value)) {
                return out_of(at, &value, range.start(), range.end());
            }
        }
        for (at, value, range) in [
            ("minShare", *min_share, SHARES),
            ("maxShare", *max_share, SHARES),
            ("p99TargetMs", self.p99_target_ms, 0.1..=60_000.0),
        ] {
            if !range.contains(&value) {
                return out_of(at, &value, range.start(), range.end());
            }
        }
        (max_share < min_share).then(|| ("maxShare", format!("{max_share} is below minShare, {min_share}")))
    }

    /// What it may have.
    #[must_use]
    pub fn bounds(&self) -> Bounds {
        let Definition { weight, min_share, max_share, p99_target_ms, .. } = *self;
        Bounds { weight, min_share, max_share, p99_target: Duration::from_secs_f64(p99_target_ms / 1e3) }
    }

    /// Whether a running instance of this definition becomes one of `new` without a restart.
    #[must_use]
    pub fn is_changed_in_place(&self, new: &Definition) -> bool {
        let of_process = |definition: &Definition| {
            let Definition { rest, ric, period_ms, load_per_s, max_subscriptions, .. } = definition;
            (*rest, ric.clone(), *period_ms, load_per_s.is_some(), *max_subscriptions)
        };
        of_process(self) == of_process(new)
    }

    /// The arguments of its process. `ric` is the RIC where the definition names none.
    #[must_use]
    pub fn arguments(&self, ric: &str) -> Vec<String> {
        let mut arguments = vec!["serve".to_owned(), "--supervised".to_owned()];
        let mut add = |name: &str, value: &dyn std::fmt::Display| arguments.push(format!("--{name}={value}"));
        if let Some(rest) = &self.rest {
            add("rest", rest);
        }
        match &self.load_per_s {
            Some(rate) => add("load", rate),
            None => add("ric", &self.ric.as_deref().unwrap_or(ric)),
        }
        if let Some(period_ms) = &self.period_ms {
            add("period-ms", period_ms);
        }
        if let Some(most) = &self.max_subscriptions {
            add("max-subscriptions", most);
            add("max-application-subscriptions", most);
        }
        arguments
    }
}

fn is_name(name: &str) -> bool {
    let is_known = |octet: u8| octet.is_ascii_lowercase() || octet.is_ascii_digit() || octet == b'-';
    name.len() <= MAX_NAME && name.starts_with(|first: char| first.is_ascii_lowercase()) && name.bytes().all(is_known)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn with(member: &str, value: Value) -> Definition {
        let mut document = json!({ "name": "video" });
        document[member] = value;
        serde_json::from_value(document).unwrap()
    }

    #[test]
    fn defaults_are_valid_and_written() {
        let definition: Definition = serde_json::from_value(json!({ "name": "v" })).unwrap();
        definition.check().unwrap();
        let written = serde_json::to_value(&definition).unwrap();
        assert_eq!(
            (&written["weight"], &written["p99TargetMs"], &written["ric"]),
            (&json!(1), &json!(10.0), &Value::Null)
        );
        assert_eq!(serde_json::from_value::<Definition>(written).unwrap(), definition);
    }

    #[test]
    fn values_that_make_no_sense_are_refused_with_their_member() {
        for (member, value) in [
            ("name", json!("")),
            ("name", json!("Video")),
            ("name", json!("../video")),
            ("name", json!("-v")),
            ("name", json!("a".repeat(33))),
            ("ric", json!("http://127.0.0.1")),
            ("ric", json!("--log=off")),
            ("periodMs", json!(9)),
            ("loadPerS", json!(0)),
            ("maxSubscriptions", json!(0)),
            ("weight", json!(0)),
            ("minShare", json!(0.0)),
            ("minShare", json!(-1)),
            ("maxShare", json!(65)),
            ("maxShare", json!(0.02)),
            ("p99TargetMs", json!(0)),
            ("maxMemoryMib", json!(1)),
        ] {
            let problem = with(member, value.clone()).check().unwrap_err();
            assert_eq!((problem.status().as_u16(), &problem.document()["at"]), (422, &json!(member)), "{value}");
        }
        let both = Definition { ric: Some("tcp://127.0.0.1:1".into()), ..with("loadPerS", json!(1)) };
        assert_eq!(both.check().unwrap_err().document()["at"], "loadPerS");
    }

    #[test]
    fn arguments_are_those_of_the_program() {
        let definition = Definition { period_ms: Some(100), ..with("rest", json!("127.0.0.1:9101")) };
        let arguments = definition.arguments("tcp://127.0.0.1:36423");
        let expected =
            ["serve", "--supervised", "--rest=127.0.0.1:9101", "--ric=tcp://127.0.0.1:36423", "--period-ms=100"];
        assert_eq!(arguments, expected);
        let loaded = Definition { load_per_s: Some(10), ..definition };
        assert!(loaded.arguments("x").contains(&"--load=10".to_owned()));
        let other = Definition { load_per_s: Some(20), weight: 2, ..loaded.clone() };
        assert!(loaded.is_changed_in_place(&other));
        assert!(!loaded.is_changed_in_place(&Definition { load_per_s: None, ..loaded.clone() }));
    }
}
