//! xApps of the reference platform where several RICs share nodes through a real Redis.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ferric::e2::{FunctionName, Grant, Selection, XappRights};
use ferric::e2ap::{Pdu, RanFunctionId, RicControlAckRequest, RicRequestId, RicSubscriptionDeleteRequest, decode};
use ferric::link::Address;
use per::Gather;
use ran::RanConfig;
use ric::SharedNodes;
use ric::oran_host::{RmrEntry, RmrRightsHandle};
use rmr::{Header, MessageType};
use serde_json::{Value, json};
use system_tests::platform::{NODE, VERSION, Xapp, control_request, header, quota_of, ran_config};
use system_tests::rmr_peer::{Connection, Received, SILENCE};
use system_tests::{Platform, TestRan, TestRic, eventually, log};
use testkit::Redis;
use testkit::http::Service;

const ENTRIES: &str = "{ferric-xapps},entries";
const VERSION_KEY: &str = "{ferric-xapps},version";

/// Writes an entry as another RIC does.
pub fn share(redis: &Redis, key: &str, content: &str) {
    let script = "local v = redis.call('INCR', KEYS[2]); redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
        redis.call('ZADD', KEYS[3], v, ARGV[1]); return 1";
    let words = ["EVAL", script, "3", ENTRIES, VERSION_KEY, "{ferric-xapps},changed", key, content];
    assert_eq!(redis.command(&words), ":1\r\n");
}

/// The requests to subscribe that are shared.
fn requests(redis: &Redis) -> usize {
    redis.command(&["HKEYS", ENTRIES]).matches("subscription/").count()
}

const TIME_TO_LIVE: Duration = Duration::from_millis(1500);

/// A RIC of a group.
pub struct Member {
    name: String,
    ric: TestRic,
    pub rmr: SocketAddr,
    rest: Service,
    rights: RmrRightsHandle,
}

impl Member {
    pub fn start(redis: &Redis, number: usize) -> Member {
        Member::with_routes(redis, number, Vec::new())
    }

    fn with_routes(redis: &Redis, number: usize, routes: Vec<String>) -> Member {
        // the log is one for all tests
        let name = format!("ric-{}-{number}", redis.port());
        let peers = SharedNodes {
            name: Some(name.clone()),
            time_to_live: TIME_TO_LIVE,
            ..SharedNodes::new(redis.url().parse().unwrap())
        };
        let (ric, platform) = TestRic::with_platform(|config| {
            config.peers = Some(peers);
            config.oran.rmr_routes = routes;
        });
        let Platform { rmr: Address::Tcp { host, port }, rest, rights } = platform else { panic!("RMR is over TCP") };
        Member { name, ric, rmr: SocketAddr::new(host.parse().unwrap(), port), rest, rights }
    }
}

/// Three RICs, and a node that one of them has. The RICs stand in the order of the list until they are lost.
struct Group {
    members: Vec<Member>,
    _ran: TestRan,
}

impl Group {
    fn start(redis: &Redis) -> Group {
        let members: Vec<_> = (0..3).map(|number| Member::start(redis, number)).collect();
        let names: Vec<_> = members.iter().map(|member| &*member.name).collect();
        let line = format!("3 RICs share the nodes: {}", names.join(", "));
        eventually("the RICs know each other", || log().matches(&line).count() == 3);
        let next_rics = members[1..].iter().map(|member| member.ric.e2.clone().into()).collect();
        let _ran = TestRan::start(&members[0].ric.e2, RanConfig { next_rics, ..ran_config() });
        let group = Group { members, _ran };
        for member in &group.members {
            member.rest.eventually(&format!("/v1/nodeb/{NODE}"), |_| true);
        }
        group
    }

    /// The place of the RIC that has the node.
    fn owner(&self, redis: &Redis) -> usize {
        let entry = redis.command(&["HGET", "{ferric-xapps},entries", &format!("node/{NODE}")]);
        let has = |member: &Member| entry.contains(&format!("\"ric\":\"{}\"", member.name));
        self.members.iter().position(has).unwrap_or_else(|| panic!("{entry}"))
    }

    /// Waits until all RICs list a number of subscriptions.
    fn list(&self, count: usize) -> Value {
        for member in &self.members {
            member.rest.eventually("/ric/v1/subscriptions", |all| all.as_array().unwrap().len() == count);
        }
        self.members[0].rest.get("/ric/v1/subscriptions")
    }
}

/// Receives indications of a subscription for some time, of which none comes twice.
fn receive_for(connection: &mut Connection, seen: &mut HashSet<Vec<u8>>, subscription_id: i32, time: Duration) {
    let begun = Instant::now();
    while begun.elapsed() < time {
        let Some(message) = connection.receive_within(SILENCE) else { panic!("no indication for {SILENCE:?}") };
        if message.kind == MessageType::HEALTH_CHECK_REQUEST {
            continue;
        }
        check(&message, subscription_id);
        assert!(seen.insert(message.payload), "an indication came twice");
    }
}

/// Checks that a message is an indication of the node with a subscription id.
fn check(message: &Received, subscription_id: i32) {
    let of = (message.kind, message.subscription_id, &*message.meid);
    assert_eq!(of, (MessageType::INDICATION, subscription_id, NODE));
    let gather = Gather::new();
    let pdu = decode(&message.payload, VERSION, &gather).unwrap().pdu;
    assert!(matches!(pdu, Pdu::RicIndication(_)), "{message:?}");
}

#[test]
fn xapp_at_one_ric_uses_the_nodes_of_another() {
    let Some(redis) = Redis::start(&[]) else { return };
    let mut group = Group::start(&redis);
    let owner = group.owner(&redis);
    let guest = (owner + 1) % 3;
    let (kpm, xapp) = (system_tests::platform::kpm(&group.members[guest].rest), Xapp::new());
    let request = kpm.request(&xapp, 7);
    let created = group.members[guest].rest.request("POST", "/ric/v1/subscriptions", request.clone()).expect(201);
    let id = created["SubscriptionId"].clone();
    let subscription_id = xapp.subscribed(&id, 7);
    let (mut connection, mut seen) = (xapp.accept(), HashSet::new());
    receive_for(&mut connection, &mut seen, subscription_id, Duration::from_millis(500));
    // the same request at the RIC of the node is the same subscription
    let version = redis.command(&["GET", VERSION_KEY]);
    let again = group.members[owner].rest.request("POST", "/ric/v1/subscriptions", request.clone()).expect(201);
    assert_eq!((&again["SubscriptionId"], xapp.subscribed(&id, 7)), (&id, subscription_id));
    receive_for(&mut connection, &mut seen, subscription_id, Duration::from_millis(500));
    assert_eq!(redis.command(&["GET", VERSION_KEY]), version, "nothing is written, as nothing has changed");
    let listed = group.list(1);
    assert_eq!((&listed[0]["SubscriptionId"], &listed[0]["Meid"]), (&json!(subscription_id), &json!(NODE)));

    // a control is passed on, and its answer comes back
    let (function, control_header, message) = quota_of(&group.members[guest].rest, 30);
    let mut requests = Connection::open(group.members[guest].rmr);
    let octets = control_request(function, &control_header, &message, RicControlAckRequest::Ack);
    let ask = |requests: &mut Connection, octets: &[u8]| {
        requests
            .send(&Header { data: &[5, 0, 0, 0], ..header(MessageType::CONTROL_REQUEST, "127.0.0.1:4560") }, octets);
        let answer = requests.receive();
        assert_eq!((&answer.transaction[..11], &answer.data[..]), (&b"transaction"[..], &[5, 0, 0, 0][..]));
        answer
    };
    eventually("the RICs are connected", || ask(&mut requests, &octets).kind == MessageType::CONTROL_ACKNOWLEDGE);
    let answer = ask(&mut requests, &octets);
    let gather = Gather::new();
    let Pdu::RicControlAcknowledge(acknowledge) = decode(&answer.payload, VERSION, &gather).unwrap().pdu else {
        panic!("{answer:?}")
    };
    assert_eq!(acknowledge.request_id, RicRequestId { requestor: 123, instance: 9 });
    let octets = control_request(function, &control_header, b"?", RicControlAckRequest::Ack);
    assert_eq!(ask(&mut requests, &octets).kind, MessageType::CONTROL_FAILURE);

    // the RIC of the node is gone: another sets the subscription up
    let lost = Instant::now();
    drop(group.members.remove(owner));
    assert!(connection.is_closed_after_messages());
    let mut connection = xapp.accept();
    let first = connection.receive();
    println!("indications from the next RIC after {:?}", lost.elapsed());
    check(&first, subscription_id);
    receive_for(&mut connection, &mut seen, subscription_id, Duration::from_millis(500));
    // it is not notified again: the next notification is that of the next request
    let next = group.owner(&redis);
    let other = (next + 1) % 2;
    let second = kpm.request(&xapp, 8);
    let created = group.members[other].rest.request("POST", "/ric/v1/subscriptions", second).expect(201);
    assert_ne!(xapp.subscribed(&created["SubscriptionId"], 8), subscription_id);
    group.list(2);
    for id in [&id, &created["SubscriptionId"]] {
        let path = format!("/ric/v1/subscriptions/{}", id.as_str().unwrap());
        assert_eq!(group.members[other].rest.request("DELETE", &path, json!({})).status, 204);
    }
    group.list(0);
    assert!(connection.is_closed_after_messages());
    assert_eq!(redis.command(&["HKEYS", "{ferric-xapps},entries"]).matches("subscription/").count(), 0);
}

#[test]
fn xapp_subscribes_over_rmr_to_the_node_of_another_ric() {
    let Some(redis) = Redis::start(&[]) else { return };
    let group = Group::start(&redis);
    let guest = (group.owner(&redis) + 1) % 3;
    let (kpm, xapp) = (system_tests::platform::kpm(&group.members[guest].rest), Xapp::new());
    let source = format!("127.0.0.1:{}", xapp.rmr_port());
    let mut requests = Connection::open(group.members[guest].rmr);
    requests.send(&header(MessageType::SUBSCRIPTION_REQUEST, &source), &kpm.subscription_request());
    // the RIC of the node answers
    let mut connection = xapp.accept();
    let answer = connection.receive();
    assert_eq!((answer.kind, &answer.transaction[..11]), (MessageType::SUBSCRIPTION_RESPONSE, &b"transaction"[..]));
    let gather = Gather::new();
    let Pdu::RicSubscriptionResponse(response) = decode(&answer.payload, VERSION, &gather).unwrap().pdu else {
        panic!("{answer:?}")
    };
    assert_eq!(i32::from(response.request_id.instance), answer.subscription_id & 0xFFFF);
    let mut seen = HashSet::new();
    receive_for(&mut connection, &mut seen, answer.subscription_id, Duration::from_millis(500));
    group.list(1);
    let delete = |member: &Member| {
        let mut octets = Vec::new();
        let function = RanFunctionId(kpm.function);
        let request = RicSubscriptionDeleteRequest { request_id: response.request_id, ran_function_id: function };
        Pdu::from(request).encode(VERSION, &mut octets).unwrap();
        let mut requests = Connection::open(member.rmr);
        requests.send(&header(MessageType::SUBSCRIPTION_DELETE_REQUEST, &source), &octets);
        requests.receive().kind
    };
    // at the third one
    assert_eq!(delete(&group.members[(guest + 1) % 3]), MessageType::SUBSCRIPTION_DELETE_RESPONSE);
    group.list(0);
    assert_eq!(delete(&group.members[guest]), MessageType::SUBSCRIPTION_DELETE_FAILURE);
    assert!(connection.is_closed_after_messages());
}

/// What permits the xApps of this host to read a RAN function.
fn may_read(function: u16) -> Vec<RmrEntry> {
    let functions = [FunctionName::Id(RanFunctionId(function))].into_iter().collect();
    let read = vec![Grant::new(Selection::All, functions)];
    vec![RmrEntry { peer: "127.0.0.1".parse().unwrap(), rights: Arc::new(XappRights { read, control: Vec::new() }) }]
}

#[test]
fn rights_by_rest_are_those_of_each_ric() {
    let Some(redis) = Redis::start(&[]) else { return };
    let group = Group::start(&redis);
    let owner = group.owner(&redis);
    let (owner, guest) = (&group.members[owner], &group.members[(owner + 1) % 3]);
    let (kpm, xapp) = (system_tests::platform::kpm(&guest.rest), Xapp::new());
    let permit = |rules: Option<Vec<RmrEntry>>| {
        for member in [owner, guest] {
            member.rights.replace(rules.clone());
        }
        // they are taken each 250 ms at least
        std::thread::sleep(Duration::from_millis(600));
    };
    let subscribe = |member: &Member| member.rest.request("POST", "/ric/v1/subscriptions", kpm.request(&xapp, 7));
    // without a grant, nothing is shared
    permit(Some(Vec::new()));
    let version = redis.command(&["GET", VERSION_KEY]);
    for member in [owner, guest] {
        subscribe(member).expect_problem(403, &["subscription 7: the xApp at ", "has no right `read` to it"]);
    }
    let mut connection = Connection::open(guest.rmr);
    let source = format!("127.0.0.1:{}", xapp.rmr_port());
    connection.send(&header(MessageType::SUBSCRIPTION_REQUEST, &source), &kpm.subscription_request());
    assert_eq!(connection.receive().kind, MessageType::SUBSCRIPTION_FAILURE);
    // with another one, the RIC of the node refuses it, and it is forgotten
    permit(Some(may_read(kpm.function + 1)));
    subscribe(owner).expect_problem(403, &["has no right `read` to it"]);
    assert_eq!(redis.command(&["GET", VERSION_KEY]), version);
    subscribe(guest).expect(201);
    let (_, document) = xapp.notification();
    assert!(document.to_string().contains("has no right `read` to it"), "{document}");
    eventually("it is forgotten", || requests(&redis) == 0);
    // only the host that has subscribed deletes it
    permit(Some(may_read(kpm.function)));
    let id = subscribe(guest).expect(201)["SubscriptionId"].clone();
    xapp.subscribed(&id, 7);
    let id = id.as_str().unwrap();
    let (key, path) = (format!("subscription/{id}"), format!("/ric/v1/subscriptions/{id}"));
    let active = || redis.command(&["HGET", ENTRIES, &key]);
    eventually("it is active", || active().contains("Active"));
    let record = active().lines().nth(1).unwrap().replace("\"host\":\"127.0.0.1\"", "\"host\":\"10.9.9.9\"");
    share(&redis, &key, &record);
    // the copies have it
    std::thread::sleep(Duration::from_millis(500));
    for member in [owner, guest] {
        member.rest.request("DELETE", &path, None).expect_problem(403, &["is one of 10.9.9.9"]);
    }
    assert_eq!(requests(&redis), 1);
    permit(None);
    assert_eq!(guest.rest.request("DELETE", &path, None).status, 204);
    group.list(0);
}

#[test]
fn alarm_of_a_lost_node_is_cleared_when_another_ric_serves_it() {
    let Some(redis) = Redis::start(&[]) else { return };
    let member = Member::start(&redis, 0);
    let definition = json!({ "alarmId": 8006, "alarmText": "gNB lost", "eventType": "Communication error" });
    member.rest.request("POST", "/ric/v1/alarms/define", json!({ "alarmdefinitions": [definition] })).expect(200);
    let actions = |actions: &[&str]| {
        member.rest.eventually("/ric/v1/alarms/history", |all| {
            all.as_array().unwrap().iter().map(|one| one["AlarmAction"].as_str().unwrap()).eq(actions.iter().copied())
        })
    };
    let (key, path) = (format!("node/{NODE}"), format!("/v1/nodeb/{NODE}"));
    let of_other = json!({ "ric": "other", "e2ap": 2, "identity": {}, "info": {} }).to_string();
    let ran = TestRan::start(&member.ric.e2, ran_config());
    member.rest.eventually(&path, |_| true);
    drop(ran);
    actions(&["RAISE"]);
    share(&redis, &key, &of_other);
    let history = actions(&["RAISE", "CLEAR"]);
    assert_eq!(history[1]["identifyingInfo"], "gnb-00101-e00", "{history}");
    // it has moved before its loss is noticed here
    let ran = TestRan::start(&member.ric.e2, ran_config());
    let is_own = || redis.command(&["HGET", ENTRIES, &key]).contains(&member.name);
    eventually("the node is back", is_own);
    share(&redis, &key, &of_other);
    // the copy has it
    std::thread::sleep(Duration::from_millis(500));
    drop(ran);
    member.ric.rest.eventually("/v1/nodes", |nodes| nodes["nodes"] == json!([]));
    std::thread::sleep(Duration::from_millis(1500));
    actions(&["RAISE", "CLEAR"]);
}

#[test]
fn answers_to_ports_that_do_not_receive_are_bounded() {
    let Some(redis) = Redis::start(&[]) else { return };
    let group = Group::start(&redis);
    let owner = group.owner(&redis);
    let (owner, guest) = (&group.members[owner], &group.members[(owner + 1) % 3]);
    // it is refused by the RIC of the node
    let kpm = system_tests::platform::Kpm { function: 4000, ..system_tests::platform::kpm(&guest.rest) };
    let mut connection = Connection::open(guest.rmr);
    for port in 1..=400 {
        let source = format!("127.0.0.1:{port}");
        connection.send(&header(MessageType::SUBSCRIPTION_REQUEST, &source), &kpm.subscription_request());
        if port % 200 == 0 {
            // the rate of a host
            std::thread::sleep(Duration::from_millis(1200));
        }
    }
    eventually("the requests are refused", || requests(&redis) == 0);
    let endpoints = owner.rest.get("/ric/v1/endpoints").as_array().unwrap().len();
    assert!((200..=256).contains(&endpoints), "{endpoints} endpoints");
    assert!(connection.receive_within(SILENCE).is_none(), "no request was refused because of its rate");
}

const TYPE: &str = "/A1-P/v2/policytypes/20008";
const POLICY: &str = "/A1-P/v2/policytypes/20008/policies/one";

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
    let xapp = Xapp::new();
    let endpoint = format!("127.0.0.1:{}", xapp.rmr_port());
    let route = |number| match number {
        0 => vec![format!("mse|20010|20008|{endpoint}")],
        _ => Vec::new(),
    };
    let mut rics: Vec<_> = (0..3).map(|number| Member::with_routes(&redis, number, route(number))).collect();
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
    rics.push(Member::start(&redis, 3));
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

/// Redis is gone for some time: nothing is lost or doubled, and what needs it is refused.
fn redis_is_away_for(time: Duration) {
    let Some(mut redis) = Redis::start(&[]) else { return };
    let group = Group::start(&redis);
    let owner = group.owner(&redis);
    let (guest, xapp) = ((owner + 1) % 3, Xapp::new());
    let kpm = system_tests::platform::kpm(&group.members[guest].rest);
    let subscribe = |member: usize, instance| {
        group.members[member].rest.request("POST", "/ric/v1/subscriptions", kpm.request(&xapp, instance))
    };
    let created = subscribe(guest, 1).expect(201);
    let subscription_id = xapp.subscribed(&created["SubscriptionId"], 1);
    let (mut connection, mut seen) = (xapp.accept(), HashSet::new());
    group.list(1);
    let line = format!("store={} map=\"ferric-xapps\"", redis.url());
    let lines = || {
        log()
            .lines()
            .filter(|text| text.contains("cannot reach the store of what RICs share") && text.contains(&line))
            .count()
    };
    let (before, begun) = (lines(), Instant::now());
    redis.kill();
    eventually("the RICs notice it", || lines() == before + 3);
    receive_for(&mut connection, &mut seen, subscription_id, time.saturating_sub(begun.elapsed()));
    // the RIC of the node does what it is asked for, the others say that they cannot
    let refused = subscribe(guest, 2).expect_problem(503, &["the store that the RICs share is away"]);
    assert!(refused.is_object());
    let other = Xapp::new();
    let request = kpm.request(&other, 3);
    let created_without =
        group.members[owner].rest.request("POST", "/ric/v1/subscriptions", request).expect(201)["SubscriptionId"]
            .clone();
    other.subscribed(&created_without, 3);
    let away = begun.elapsed();
    // it has lost everything
    redis.restart();
    let listed = group.list(2);
    println!("Redis was away for {away:?}; {} indications", seen.len());
    assert!(listed.to_string().contains(&subscription_id.to_string()));
    receive_for(&mut connection, &mut seen, subscription_id, Duration::from_secs(1));
    assert_eq!(group.owner(&redis), owner, "no node has moved");
    let created = subscribe(guest, 2).expect(201);
    xapp.subscribed(&created["SubscriptionId"], 2);
    group.list(3);
    assert_eq!(lines(), before + 3, "it is logged once");
}

#[test]
fn redis_that_is_away_for_longer_than_the_time_to_live_changes_nothing() {
    redis_is_away_for(3 * TIME_TO_LIVE);
}

#[test]
#[ignore = "it takes more than a minute: make test-realtime"]
fn redis_that_is_away_for_a_minute_changes_nothing() {
    redis_is_away_for(Duration::from_secs(60));
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
