//! A1 policies of several RICs that share nodes through a real Redis.

use rmr::MessageType;
use serde_json::{Value, json};
use system_tests::platform::{Xapp, header};
use system_tests::rmr_peer::{Connection, SILENCE};
use system_tests::{TestRic, eventually, log};
use testkit::{Redis, RedisCluster, RedisStore};

use crate::group::Member;

pub const TYPE: &str = "/A1-P/v2/policytypes/20008";
pub const POLICY: &str = "/A1-P/v2/policytypes/20008/policies/one";

/// Waits for a policy, and checks that it comes once.
fn receive_policy(connection: &mut Connection, operation: &str, threshold: u32) {
    let message = connection.receive();
    assert_eq!((message.kind, message.subscription_id), (MessageType::A1_POLICY_REQUEST, 20008));
    let document: Value = serde_json::from_slice(&message.payload).unwrap();
    assert_eq!((&document["operation"], &document["payload"]["threshold"]), (&json!(operation), &json!(threshold)));
    assert!(connection.receive_within(SILENCE).is_none(), "it comes once");
}

#[test]
fn policy_is_one_of_all_rics() {
    let Some(redis) = Redis::start(&[]) else { return };
    share_policy(&redis);
}

#[test]
fn policy_is_one_of_all_rics_through_a_cluster() {
    let Some(cluster) = RedisCluster::start(3) else { return };
    share_policy(&cluster);
}

fn share_policy(store: &dyn RedisStore) {
    let xapp = Xapp::new();
    let endpoint = format!("127.0.0.1:{}", xapp.rmr_port());
    let route = |number| match number {
        0 => vec![format!("mse|20010|20008|{endpoint}")],
        _ => Vec::new(),
    };
    let mut rics: Vec<_> = (0..3).map(|number| Member::with_routes(store, number, route(number))).collect();
    eventually("the routes of all", || {
        let mut connection = Connection::open(rics[2].rmr);
        connection.send(&header(MessageType::TABLE_REQUEST, "xapp:4561"), b"xapp:4560 ts=1\n\0");
        String::from_utf8(connection.receive().payload).unwrap().contains(&endpoint)
    });
    let schema = json!({ "type": "object", "properties": { "threshold": { "type": "integer" } } });
    let of_type = json!({ "name": "n", "description": "d", "policy_type_id": 20008, "create_schema": schema });
    rics[1].ric.rest.request("PUT", TYPE, of_type.clone()).expect(201);
    for ric in &rics {
        assert_eq!(ric.ric.rest.eventually(TYPE, |_| true), of_type);
    }
    rics[2].ric.rest.request("PUT", POLICY, json!({ "threshold": 5 })).expect(202);
    let mut connection = xapp.accept();
    receive_policy(&mut connection, "CREATE", 5);
    let status = format!("{POLICY}/status");
    let is = |enforced: &'static str| move |status: &Value| status["enforceStatus"] == enforced;
    for ric in &rics {
        ric.ric.rest.eventually(&status, is("NOT_ENFORCED"));
    }
    // the xApp answers at one RIC
    let answer = json!({ "policy_type_id": 20008, "policy_instance_id": "one", "handler_id": "x", "status": "OK" });
    let mut answers = Connection::open(rics[0].rmr);
    answers.send(&header(MessageType::A1_POLICY_RESPONSE, &endpoint), answer.to_string().as_bytes());
    for ric in &rics {
        ric.ric.rest.eventually(&status, is("ENFORCED"));
    }
    // a RIC that comes later has all of it
    rics.push(Member::start(store, 3));
    rics[3].ric.rest.eventually(&status, is("ENFORCED"));
    rics[0].ric.rest.request("PUT", POLICY, json!({ "threshold": 6 })).expect(202);
    let mut connection_of_other = xapp.accept();
    receive_policy(&mut connection_of_other, "UPDATE", 6);
    for ric in &rics {
        ric.ric.rest.eventually(POLICY, |policy| policy["threshold"] == 6);
        ric.ric.rest.eventually(&status, is("NOT_ENFORCED"));
    }
    rics[2].ric.rest.request("DELETE", POLICY, None).expect(202);
    receive_policy(&mut connection, "DELETE", 6);
    for ric in &rics {
        ric.ric.rest.eventually(&format!("{TYPE}/policies"), |all| *all == json!([]));
    }
    assert_eq!(rics[3].ric.rest.request("DELETE", TYPE, None).status, 204);
    for ric in &rics {
        ric.ric.rest.eventually("/A1-P/v2/policytypes", |all| *all == json!([]));
    }
}

#[test]
fn ric_starts_without_its_shared_data_layer() {
    let Some(mut redis) = Redis::start(&[]) else { return };
    let schema = json!({ "type": "object" });
    let of_type = json!({ "name": "n", "description": "d", "policy_type_id": 20008, "create_schema": schema });
    redis.kill();
    let url = redis.url();
    let ric = TestRic::with_iapps(Vec::new(), |config| config.sdl_redis = Some(url.parse().unwrap()));
    let refused = ric.rest.request("GET", "/A1-P/v2/policytypes", None);
    refused.expect_problem(503, &["the shared data layer, which has the policies, cannot be reached"]);
    assert_eq!(refused.header("retry-after"), Some("1"));
    ric.rest.request("PUT", TYPE, of_type.clone()).expect_problem(503, &["shared data layer"]);
    redis.restart();
    ric.rest.eventually("/A1-P/v2/policytypes", |all| *all == json!([]));
    ric.rest.request("PUT", TYPE, of_type).expect(201);
    eventually("it is stored", || redis.command(&["EXISTS", "{A1m_ns},a1.policy_type.20008"]) == ":1\r\n");
}

#[test]
fn policy_reaches_own_xapps_at_each_ric() {
    let Some(redis) = Redis::start(&[]) else { return };
    let rics: Vec<_> = (0..2).map(|number| Member::start(&redis, number)).collect();
    let line = format!("2 RICs share the nodes: {}, {}", rics[0].name, rics[1].name);
    eventually("the RICs know each other", || log().matches(&line).count() == 2);
    let addresses: Vec<_> = rics.iter().map(|member| member.ric.xapp.to_string()).collect();
    // one at each RIC, and one at both
    let xapps: Vec<_> = [&addresses[..1], &addresses[1..], &addresses[..]]
        .iter()
        .map(|addresses| ferric::xapp::Ric::options().addresses(*addresses).name("own").connect().unwrap())
        .collect();
    let mut streams: Vec<_> = xapps.iter().map(|xapp| xapp.a1_policies(20008).unwrap()).collect();
    let of_type = json!({ "name": "n", "description": "d", "policy_type_id": 20008, "create_schema": {} });
    rics[0].ric.rest.request("PUT", TYPE, of_type.clone()).expect(201);
    rics[1].ric.rest.eventually(TYPE, |_| true);
    rics[0].ric.rest.request("PUT", POLICY, json!({ "threshold": 5 })).expect(202);
    for policies in &mut streams {
        let policy = policies.next_within(testkit::PATIENCE).unwrap().unwrap();
        assert_eq!((policy.id(), policy.json()), ("one", "{\"threshold\":5}"));
    }
    rics[1].ric.rest.request("DELETE", POLICY, None).expect(202);
    for policies in &mut streams {
        let policy = policies.next_within(testkit::PATIENCE).unwrap().unwrap();
        assert_eq!(policy.operation(), ferric::xapp::PolicyOperation::Delete);
        policy.accept().unwrap();
        assert!(policies.try_next().unwrap().is_none(), "it comes once");
    }
}
