//! `/metrics` by Prometheus' own tool, and the Grafana dashboard against what a RIC exposes.
//!
//! `FERRIC_PROMTOOL` names promtool; scripts/northbound has it. Without it, these tests say what they did not test.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU32, Ordering};

use audit::{AuditLog, LogConfig};
use conflicts::{ConflictConfig, ConflictRules};
use ran::{RanConfig, Scenario};
use ric::oran_host::OranConfig;
use serde_json::{Value, json};
use system_tests::{TestRan, TestRic};
use testkit::prometheus::{check_metrics, promtool};

const NODE: &str = "gnb-00101-e00";
const DASHBOARD: &str = include_str!("../../../../packaging/grafana/ferric-ric.json");

/// The text of `/metrics` of a RIC that has a node, a control, a conflict, refused requests and a stream.
fn metrics() -> String {
    let path = std::env::temp_dir().join(format!("ferric-metrics-{}.log", unique()));
    let audit = AuditLog::start(LogConfig::new(&path)).unwrap();
    let rules = "[[rule]]\nparameter = \"slice/dl\"\npolicy = \"cooldown\"\nhold_ms = 600000";
    let rules = ConflictRules::parse(rules).unwrap();
    let (ric, ..) = TestRic::with_oran_host(|config| {
        config.conflicts = Some(ConflictConfig { rules, audit: Some(audit.clone()), clock: None });
        // nobody listens there
        config.oran.alert_manager = Some(OranConfig::alert_manager("http://127.0.0.1:9").unwrap());
    });
    let scenario = Scenario::with_mixed_traffic(1, 2, 1);
    let _ran = TestRan::start(&ric.e2, RanConfig { scenario, ..RanConfig::default() });
    ric.await_slices(NODE);
    let slices = json!({ "algorithm": "NVS", "slices": [{ "id": 1, "share_percent": 50 }] });
    ric.rest.request("PUT", &format!("/v1/nodes/{NODE}/slices/dl"), slices.clone()).expect(200);
    ric.rest.request("PUT", &format!("/v1/nodes/{NODE}/slices/dl"), slices).expect_problem(409, &[]);
    ric.rest.request("GET", "/metrics", None);
    let text = ric.rest.request("GET", "/metrics", None).body;
    drop(ric);
    audit.finish();
    std::fs::remove_file(path).unwrap();
    text
}

/// A number for each call in this process, with that of the process.
fn unique() -> String {
    static CALLS: AtomicU32 = AtomicU32::new(0);
    format!("{}-{}", std::process::id(), CALLS.fetch_add(1, Ordering::Relaxed))
}

#[test]
fn conflicts_audit_and_alarms_are_counted() {
    let text = metrics();
    let has = |line: &str| assert!(text.lines().any(|other| other == line), "{line}: {text}");
    has("ferric_conflicts_total{kind=\"direct\",policy=\"cooldown\",decision=\"refused\"} 1");
    has("ferric_mediated_controls_total{decision=\"refused\"} 1");
    has("ferric_mediated_controls_total{decision=\"sent\"} 1");
    has("ferric_conflict_questions_total{answer=\"timeout\"} 0");
    has("ferric_audit_lost_records_total 0");
    has("ferric_alarms_active{severity=\"critical\"} 0");
    let records = text.lines().find_map(|line| line.strip_prefix("ferric_audit_records_total ")).unwrap();
    assert!(records.parse::<u32>().unwrap() >= 3, "two decisions and an outcome: {records}");
}

#[test]
fn names_and_units_follow_the_conventions_of_prometheus() {
    check_metrics(&metrics());
}

#[test]
fn clients_cannot_create_series() {
    let ric = TestRic::start();
    let series =
        || ric.rest.request("GET", "/metrics", None).body.lines().filter(|line| !line.starts_with('#')).count();
    let request = |number: u32| {
        ric.rest.request("GET", &format!("/v1/none-{number}"), None).expect_problem(404, &[]);
        ric.rest.request("GET", &format!("/v1/nodes/none-{number}/slices"), None);
        ric.rest.request(&format!("VERB{number}"), "/v1/nodes", None);
        ric.rest.request("GET", &format!("/v1/events?topics=none{number}"), None);
    };
    request(0);
    series();
    let before = series();
    (1..100).for_each(request);
    assert_eq!(series(), before);
}

/// The expressions of the dashboard's panels, with numbers in place of Grafana's variables.
fn expressions(dashboard: &Value) -> Vec<String> {
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().unwrap());
    let expressions = targets.map(|target| target["expr"].as_str().unwrap().replace("$__rate_interval", "1m"));
    expressions.map(|expression| expression.replace("$instance", ".*")).collect()
}

/// The names of metrics in a text.
fn names(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| word.starts_with("ferric_")).map(str::to_owned).collect()
}

#[test]
fn dashboard_shows_metrics_that_the_ric_exposes_and_all_of_them() {
    let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
    let exposed: BTreeSet<_> = metrics()
        .lines()
        .filter(|line| !line.starts_with('#'))
        .flat_map(|line| names(line.split(['{', ' ']).next().unwrap()))
        .collect();
    let expressions = expressions(&dashboard);
    let shown: BTreeSet<_> = expressions.iter().flat_map(|expression| names(expression)).collect();
    assert_eq!(shown.difference(&exposed).collect::<Vec<_>>(), Vec::<&String>::new(), "not exposed");
    // of a histogram, the quantiles are shown
    let is_counted_otherwise = |name: &str| name.ends_with("_sum") || name.ends_with("_count");
    let missing: Vec<_> = exposed.difference(&shown).filter(|name| !is_counted_otherwise(name)).collect();
    assert_eq!(missing, Vec::<&String>::new(), "not shown");
    let rules: Vec<_> = expressions
        .iter()
        .enumerate()
        .map(|(number, expression)| json!({ "record": format!("dashboard:panel:{number}"), "expr": expression }))
        .collect();
    // JSON is YAML
    let file = std::env::temp_dir().join(format!("ferric-dashboard-{}.yml", std::process::id()));
    std::fs::write(&file, json!({ "groups": [{ "name": "dashboard", "rules": rules }] }).to_string()).unwrap();
    promtool(&["check", "rules", file.to_str().unwrap()], "");
    std::fs::remove_file(file).unwrap();
}

#[test]
fn dashboard_has_the_structure_that_grafana_loads() {
    let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
    assert!(dashboard["schemaVersion"].as_u64().unwrap() >= 36 && dashboard["uid"].is_string());
    // Grafana gives it a number
    assert_eq!(dashboard.get("id"), None);
    let variables: Vec<_> = dashboard["templating"]["list"]
        .as_array()
        .unwrap()
        .iter()
        .map(|variable| variable["name"].as_str().unwrap())
        .collect();
    assert_eq!(variables, ["datasource", "instance"]);
    let panels = dashboard["panels"].as_array().unwrap();
    let ids: BTreeSet<_> = panels.iter().map(|panel| panel["id"].as_u64().unwrap()).collect();
    assert_eq!(ids.len(), panels.len());
    let mut taken = BTreeSet::new();
    for panel in panels {
        let title = panel["title"].as_str().unwrap();
        assert_eq!(panel["datasource"]["uid"], "${datasource}", "{title}");
        assert!(matches!(panel["type"].as_str().unwrap(), "stat" | "timeseries"), "{title}");
        assert!(matches!(
            panel["fieldConfig"]["defaults"]["unit"].as_str().unwrap(),
            "short" | "ops" | "reqps" | "s" | "bytes"
        ));
        let at = |key: &str| panel["gridPos"][key].as_u64().unwrap();
        assert!(at("x") + at("w") <= 24, "{title}");
        for x in at("x")..at("x") + at("w") {
            for y in at("y")..at("y") + at("h") {
                assert!(taken.insert((x, y)), "{title} covers another panel");
            }
        }
        let targets = panel["targets"].as_array().unwrap();
        let references: BTreeSet<_> = targets.iter().map(|target| target["refId"].as_str().unwrap()).collect();
        assert_eq!(references.len(), targets.len(), "{title}");
        assert!(
            targets.iter().all(|target| target["expr"].as_str().unwrap().contains("instance=~\"$instance\"")),
            "{title}"
        );
    }
}
