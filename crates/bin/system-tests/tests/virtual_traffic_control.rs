//! Two operators on one emulated RAN, each with queues and filters of its own.

use e2sm::Wire;
use ran::scenario::ScenarioFolders;
use ran::{RanConfig, Scenario};
use ran_functions::PeriodicConfig;
use serde_json::{Value, json};
use system_tests::{TestRan, TestRic, two_operators};

/// A cell with a UE of each operator, which always have data. Their addresses are 10.45.0.2 and 10.45.0.3.
const SCENARIO: &str = r#"
[[cell]]
[[ue]]
plmn = "00101"
[[ue.flow]]
kind = "greedy"
[[ue]]
plmn = "00102"
[[ue.flow]]
kind = "greedy"
"#;

struct Operator {
    ric: TestRic,
    path: &'static str,
}

impl Operator {
    fn start(path: &'static str) -> Operator {
        Operator { ric: TestRic::start(), path }
    }

    fn get(&self, path: &str) -> Value {
        self.ric.rest.get(&format!("{}{path}", self.path))
    }

    fn eventually(&self, path: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        self.ric.rest.eventually(&format!("{}{path}", self.path), is_so)
    }

    #[track_caller]
    fn add(&self, path: &str, body: Value) -> Value {
        let response = self.ric.rest.request("POST", &format!("{}{path}", self.path), body);
        assert_eq!(response.status, 201, "{}", response.body);
        serde_json::from_str(&response.body).unwrap()
    }

    /// Checks that a request is refused for a reason.
    #[track_caller]
    fn refused(&self, method: &str, path: &str, body: Value, reason: &str) {
        let response = self.ric.rest.request(method, &format!("{}{path}", self.path), body);
        assert!((400..500).contains(&response.status), "{} {}", response.status, response.body);
        assert!(response.body.contains(reason), "{}", response.body);
    }
}

fn ids(tc: &Value) -> Vec<u64> {
    tc["queues"].as_array().unwrap().iter().map(|queue| queue["id"].as_u64().unwrap()).collect()
}

fn forwarded(tc: &Value, at: usize) -> u64 {
    tc["queues"][at]["forwarded_packets"].as_u64().unwrap()
}

#[test]
fn queues_and_filters_of_operators_are_apart() {
    let (a, b) = (Operator::start("/v1/nodes/gnb-00101-e00/tc"), Operator::start("/v1/nodes/gnb-00102-e00/tc"));
    let (host, sla) = TestRic::with_virtual_networks(two_operators(&a.ric, 50, &b.ric, 50));
    let host = Operator { ric: host, path: a.path };
    let scenario = Scenario::from_toml(SCENARIO, &ScenarioFolders::with_traces(".".as_ref())).unwrap();
    // refusals have a text in PER only
    let periodic = PeriodicConfig { wire: Wire::Per, ..PeriodicConfig::default() };
    let _ran = TestRan::start(&host.ric.e2, RanConfig { scenario, periodic, ..RanConfig::default() });
    let before = host.eventually("", |tc| forwarded(tc, 0) > 0);
    assert_eq!(before["classifier"]["kind"], "round_robin");
    for operator in [&a, &b] {
        let fresh = operator.eventually("", |tc| ids(tc) == [0]);
        assert_eq!(forwarded(&fresh, 0), 0, "counters of all operators");
        assert_eq!(operator.add("/queues", json!({"kind": "fifo"}))["id"], 1);
    }
    host.eventually("", |tc| ids(tc) == [0, 1, 2]);
    // the packets of a filter are counted in the queue of its operator
    let of_ue = |address: &str| json!({"queue_id": 1, "destination_address": address});
    b.add("/filters", of_ue("10.45.0.3"));
    let of_b = b.eventually("", |tc| forwarded(tc, 1) > 0);
    assert_eq!(ids(&of_b), [0, 1]);
    let of_a = a.get("");
    assert_eq!((ids(&of_a), forwarded(&of_a, 1)), (vec![0, 1], 0));
    host.eventually("", |tc| forwarded(tc, 1) == 0 && forwarded(tc, 2) > 0);
    // what concerns UEs of others
    let foreign = "the address of a UE of this network";
    a.refused("POST", "/filters", of_ue("10.45.0.3"), foreign);
    a.refused("POST", "/filters", json!({"queue_id": 1, "protocol": "udp"}), foreign);
    a.refused("PUT", "/pacer", json!({"kind": "5g_bdp"}), "the pacer is shared");
    a.refused("PUT", "/shapers/0", json!({"window_ms": 100, "max_rate_kbps": 100}), "queue 0 is shared");
    a.refused("PUT", "/queues/2", json!({"kind": "fifo"}), "there is no queue 2");
    host.eventually("/filters", |filters| filters.as_array().is_some_and(|filters| filters.len() == 1));
    assert_eq!(ids(&host.get("")), [0, 1, 2]);
    // the rate of its own queue is a matter of the operator
    let response =
        b.ric.rest.request("PUT", &format!("{}/shapers/1", b.path), json!({"window_ms": 100, "max_rate_kbps": 1000}));
    assert_eq!(response.status, 200, "{}", response.body);
    host.eventually("/shapers/2", |shaper| shaper["max_rate_kbps"] == 1000);
    // an operator that is gone leaves nothing
    let mut one = two_operators(&a.ric, 50, &b.ric, 50);
    one.tenants.truncate(1);
    sla.replace(one);
    host.eventually("", |tc| ids(tc) == [0, 1] && tc["filters"].as_array().unwrap().is_empty());
    // nor do all, after the last queue
    assert_eq!(ids(&a.get("")), [0, 1]);
    let response = a.ric.rest.request("DELETE", &format!("{}/queues/1", a.path), json!({}));
    assert!((200..300).contains(&response.status), "{} {}", response.status, response.body);
    let after = host.eventually("", |tc| ids(tc) == [0] && tc["classifier"]["kind"] == "round_robin");
    assert_eq!(after["scheduler"], before["scheduler"]);
}
