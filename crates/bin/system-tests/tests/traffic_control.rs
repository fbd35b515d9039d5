//! TC over REST: a RIC, an emulated RAN, and an HTTP client.

use e2sm::Wire;
use ran::{RanConfig, Scenario};
use ran_functions::PeriodicConfig;
use serde_json::{Value, json};
use system_tests::{RicAndRan, eventually};

struct Client {
    base: String,
    running: RicAndRan,
}

impl Client {
    /// Starts a RIC, and a RAN whose TC uses a wire form.
    fn start(wire: Wire) -> Client {
        let periodic = PeriodicConfig { wire, ..PeriodicConfig::default() };
        let running = RicAndRan::start(
            Vec::new(),
            RanConfig { scenario: Scenario::with_mixed_traffic(1, 8, 1), periodic, ..RanConfig::default() },
        );
        let base = "/v1/nodes/gnb-00101-e00/tc".to_owned();
        let client = Client { base, running };
        eventually("a report of the node", || client.get("").0 == 200);
        client
    }

    fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> (u16, Value, Option<String>) {
        let response = self.running.ric.rest.request(method, &format!("{}{path}", self.base), body.cloned());
        let location = response.header("location").map(str::to_owned);
        (response.status, serde_json::from_str(&response.body).unwrap_or(Value::Null), location)
    }

    fn get(&self, path: &str) -> (u16, Value) {
        let (status, value, _) = self.ask("GET", path, None);
        (status, value)
    }

    #[track_caller]
    fn put(&self, path: &str, body: Value) -> Value {
        let (status, value, _) = self.ask("PUT", path, Some(&body));
        assert_eq!(status, 200, "{value}");
        value
    }

    /// Checks that a request is refused with this status. Returns the reason.
    #[track_caller]
    fn refused(&self, method: &str, path: &str, body: Option<&Value>, status: u16) -> String {
        let before = self.set();
        let (came, problem, _) = self.ask(method, path, body);
        assert_eq!(came, status, "{problem}");
        assert_eq!(problem["status"], status);
        assert_eq!(self.set(), before, "the RAN is unchanged");
        problem["detail"].as_str().unwrap().to_owned()
    }

    /// The configuration, without times and counters.
    fn set(&self) -> Value {
        const COUNTED: [&str; 10] = [
            "timestamp_us",
            "rate_kbps",
            "octets",
            "packets",
            "forwarded_octets",
            "forwarded_packets",
            "queue_forwarded_packets",
            "dropped_packets",
            "mean_sojourn_us",
            "last_sojourn_us",
        ];
        fn strip(value: &mut Value) {
            match value {
                Value::Object(map) => {
                    map.retain(|name, _| !COUNTED.contains(&name.as_str()));
                    map.values_mut().for_each(strip);
                }
                Value::Array(items) => items.iter_mut().for_each(strip),
                _ => {}
            }
        }
        let (status, mut document) = self.get("");
        assert_eq!(status, 200, "{document}");
        strip(&mut document);
        document
    }
}

fn voip(queue_id: u32) -> Value {
    json!({"queue_id": queue_id, "protocol": "udp", "destination_address": "10.0.0.2", "destination_port": 5060})
}

/// The three actions of the paper, and their reversal.
#[test]
fn flow_gets_its_own_queue() {
    for wire in [Wire::Plain, Wire::Per, Wire::Flat] {
        let client = Client::start(wire);
        let fresh = client.set();
        assert_eq!(fresh["queues"][0]["kind"], "fifo");
        assert_eq!(fresh["scheduler"], json!({"kind": "round_robin"}));
        assert_eq!((&fresh["pacer"]["kind"], &fresh["classifier"]["kind"]), (&json!("off"), &json!("round_robin")));

        let (status, queue, location) = client.ask("POST", "/queues", Some(&json!({"kind": "fifo"})));
        assert_eq!((status, &queue["id"], &queue["packets"]), (201, &json!(1), &json!(0)), "{queue}");
        assert_eq!(location.as_deref(), Some("/v1/nodes/gnb-00101-e00/tc/queues/1"));
        let (status, filter, location) = client.ask("POST", "/filters", Some(&voip(1)));
        assert_eq!((status, &filter["id"], &filter["destination_port"]), (201, &json!(0), &json!(5060)), "{filter}");
        assert_eq!(filter["protocol"], "udp");
        assert_eq!(filter["source_port"], Value::Null);
        assert_eq!(location.as_deref(), Some("/v1/nodes/gnb-00101-e00/tc/filters/0"));
        // there is no call: the counter shows that the filter matches nothing
        let matched = || client.get("/filters/0").1["queue_forwarded_packets"].as_u64().unwrap();
        let all = || client.get("/queues/0").1["forwarded_packets"].as_u64().unwrap();
        let (matched_before, all_before) = (matched(), all());
        eventually("traffic that the filter does not match", || all() > all_before);
        assert_eq!(matched(), matched_before);
        assert_eq!(client.put("/pacer", json!({"kind": "5g_bdp"}))["kind"], "5g_bdp");
        assert_eq!(client.get("/queues/1").1["kind"], "fifo");

        // in use: the node refuses, and the response has the reason, whether or not the wire form can carry one
        let reason = client.refused("DELETE", "/queues/1", None, 422);
        assert!(reason.contains("filter") && reason.contains("sends packets to queue 1"), "{reason}");

        assert_eq!(client.put("/pacer", json!({"kind": "off"}))["kind"], "off");
        assert_eq!(client.ask("DELETE", "/filters/0", None).0, 204);
        assert_eq!(client.ask("DELETE", "/queues/1", None).0, 204);
        assert_eq!(client.put("/classifier", json!({"kind": "round_robin"}))["kind"], "round_robin");
        assert_eq!(client.set(), fresh);
    }
}

#[test]
fn all_parts_are_configurable() {
    let client = Client::start(Wire::Per);
    let codel = json!({"kind": "codel", "target_ms": 5, "interval_ms": 100});
    assert_eq!(client.ask("POST", "/queues", Some(&codel)).1["kind"], "codel");
    let ecn = json!({"kind": "ecn_codel", "target_ms": 5, "interval_ms": 100});
    assert_eq!(client.put("/queues/0", ecn)["kind"], "ecn_codel");
    let priority = json!({"kind": "priority", "priorities": [1, 0]});
    assert_eq!(client.put("/scheduler", priority.clone()), priority);
    let quanta = json!({"kind": "deficit_round_robin", "quanta_octets": [500, 1500]});
    assert_eq!(client.put("/scheduler", quanta.clone()), quanta);
    let policer = client.put("/policers/0", json!({"drop_rate_kbps": 9000, "deviation_queue_id": 1}));
    let reported = (&policer["drop_rate_kbps"], &policer["deviation_queue_id"], &policer["active"]);
    assert_eq!(reported, (&json!(9000.0), &json!(1), &json!(true)));
    let shaper = client.put("/shapers/1", json!({"window_ms": 100, "max_rate_kbps": 15_000}));
    assert_eq!((&shaper["max_rate_kbps"], &shaper["window_ms"]), (&json!(15_000), &json!(100)));
    assert_eq!(client.ask("POST", "/filters", Some(&voip(1))).0, 201);
    let tcp = json!({"queue_id": 0, "protocol": 6, "source_address": "192.0.2.7", "source_port": 443});
    let filter = client.put("/filters/0", tcp);
    assert_eq!((&filter["protocol"], &filter["destination_address"]), (&json!("tcp"), &Value::Null));
    assert_eq!(client.ask("DELETE", "/policers/0", None).1, Value::Null);
    assert_eq!(client.get("/policers/0").1["active"], false);
    assert_eq!(client.ask("DELETE", "/shapers/1", None).0, 204);
    assert_eq!(client.get("/queues").1.as_array().unwrap().len(), 2);
    // a CoDel queue is deleted by its number
    assert_eq!(client.put("/filters/0", voip(0))["queue_id"], 0);
    assert_eq!(client.ask("DELETE", "/queues/1", None).0, 204);
}

#[test]
fn refusals_contain_the_reason() {
    let client = Client::start(Wire::Per);
    let refused = |method: &str, path: &str, body: Value, status| client.refused(method, path, Some(&body), status);
    assert_eq!(refused("POST", "/filters", voip(7), 422), "there is no queue 7");
    let codel = json!({"kind": "codel", "target_ms": 100, "interval_ms": 100});
    assert!(refused("POST", "/queues", codel, 422).contains("must be above 0 and below the interval"));
    let two = json!({"kind": "priority", "priorities": [1, 0]});
    assert_eq!(refused("PUT", "/scheduler", two, 422), "the scheduler settings are for 2 queues, but there are 1");
    assert_eq!(client.refused("DELETE", "/queues/0", None, 422), "queue 0 is the last one");
    let shaper = json!({"window_ms": 0, "max_rate_kbps": 1});
    assert!(refused("PUT", "/shapers/0", shaper, 422).contains("rate and window of queue 0 must be above 0"));
    // unknown queues and filters
    assert_eq!(client.refused("DELETE", "/queues/7", None, 404), "there is no queue 7");
    assert_eq!(refused("PUT", "/filters/3", voip(0), 404), "there is no filter 3");
    assert_eq!(client.refused("DELETE", "/queues/x", None, 404), "there is no queue `x`");
    assert_eq!(client.get("/policers/9").0, 404);
    // invalid bodies
    assert!(refused("POST", "/queues", json!({"kind": "red"}), 422).contains("unknown variant `red`"));
    let unknown = refused("POST", "/queues", json!({"kid": "fifo"}), 422);
    assert!(unknown.ends_with("did you mean `kind`?"), "{unknown}");
    assert!(refused("POST", "/queues", json!({"kind": "codel"}), 422).contains("needs `target_ms`"));
    assert!(refused("POST", "/queues", json!({"kind": "fifo", "target_ms": 5}), 422).contains("neither"));
    assert!(refused("PUT", "/scheduler", json!({"kind": "priority"}), 422).contains("needs `priorities`"));
    assert!(refused("PUT", "/pacer", json!({"kind": "off", "drb_octets": 1}), 422).contains("neither"));
    assert!(refused("PUT", "/classifier", json!({"kind": "osi"}), 422).contains("add a filter"));
    let mut filter = voip(0);
    filter["protocol"] = json!("quic");
    assert!(refused("POST", "/filters", filter, 422).contains("a protocol is `tcp`, `udp`, `icmp` or a number"));
    let mut filter = voip(0);
    filter["destination_address"] = json!("10.0.0.256");
    assert!(refused("POST", "/filters", filter, 422).contains("destination_address: invalid IPv4 address"));
    assert!(refused("POST", "/filters", voip(u32::MAX), 422).contains("4294967295 is above 2147483647"));
    // FlexRIC's layout has no such scheduler
    let plain = Client::start(Wire::Plain);
    let quanta = json!({"kind": "deficit_round_robin", "quanta_octets": [1500]});
    let reason = plain.refused("PUT", "/scheduler", Some(&quanta), 422);
    assert!(reason.contains("cannot be encoded for this node"), "{reason}");
    // the wire form has no reason: the RIC derives one from the last report
    let refused = |method: &str, path: &str, body: Value| plain.refused(method, path, Some(&body), 422);
    let shaper = json!({"window_ms": 0, "max_rate_kbps": 1});
    assert_eq!(refused("PUT", "/shapers/0", shaper), "the shaper's rate and window must be above 0");
    assert_eq!(refused("PUT", "/policers/0", json!({"drop_rate_kbps": 0})), "the policer's rates must be above 0");
    let codel = json!({"kind": "codel", "target_ms": 100, "interval_ms": 100});
    let no_time = "the target of 100 ms must be above 0 and below the interval of 100 ms";
    assert_eq!(refused("POST", "/queues", codel.clone()), no_time);
    assert_eq!(refused("PUT", "/queues/0", codel), no_time);
    let two = json!({"kind": "priority", "priorities": [1, 0]});
    assert_eq!(refused("PUT", "/scheduler", two), "the scheduler settings are for 2 queues, but there are 1");
}

#[test]
fn unknown_nodes_are_not_found() {
    let client = Client::start(Wire::Plain);
    let base = client.base.replace("e00", "e77");
    for (method, path) in [("GET", ""), ("GET", "/queues"), ("DELETE", "/queues/0")] {
        let response = client.running.ric.rest.request(method, &format!("{base}{path}"), None);
        response.expect_problem(404, &["there is no node `gnb-00101-e77`"]);
    }
}

/// Requests of several clients are executed one after the other: each response contains the id of its own queue.
#[test]
fn concurrent_clients_are_served_in_order() {
    let client = Client::start(Wire::Plain);
    let mut ids: Vec<_> = std::thread::scope(|scope| {
        let ask = || client.ask("POST", "/queues", Some(&json!({"kind": "fifo"})));
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(ask)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap().1["id"].as_u64().unwrap()).collect()
    });
    ids.sort_unstable();
    assert_eq!(ids, [1, 2, 3, 4, 5, 6, 7, 8]);
}

/// A lost node is not found, and a node that reconnects is subscribed to again.
#[test]
fn reconnected_node_is_subscribed_again() {
    let mut client = Client::start(Wire::Plain);
    assert_eq!(client.ask("POST", "/queues", Some(&json!({"kind": "fifo"}))).0, 201);
    client.running.ran.restart();
    eventually("the node", || client.get("/queues").1.as_array().is_some_and(|queues| queues.len() == 1));
    assert_eq!(client.ask("POST", "/queues", Some(&json!({"kind": "fifo"}))).1["id"], 1);
}
