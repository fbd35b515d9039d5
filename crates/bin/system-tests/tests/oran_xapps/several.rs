//! xApps of the reference platform where several RICs share nodes through a real Redis.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ferric::e2::{FunctionName, Grant, Selection, XappRights};
use ferric::e2ap::{Pdu, RanFunctionId, RicControlAckRequest, RicRequestId, RicSubscriptionDeleteRequest, decode};
use per::Gather;
use ric::oran_host::RmrEntry;
use rmr::{Header, MessageType};
use serde_json::json;
use system_tests::platform::{Kpm, NODE, VERSION, Xapp, control_request, header, kpm, quota_of, ran_config};
use system_tests::rmr_peer::{Connection, SILENCE};
use system_tests::{TestRan, eventually};
use testkit::{Redis, RedisCluster, RedisStore};

use crate::group::{ENTRIES, Group, Indications, Member, VERSION_KEY, requests, share};

#[test]
fn xapp_at_one_ric_uses_the_nodes_of_another() {
    let Some(redis) = Redis::start(&[]) else { return };
    use_nodes_of_another_ric(&redis);
}

#[test]
fn xapp_at_one_ric_uses_the_nodes_of_another_through_a_cluster() {
    let Some(cluster) = RedisCluster::start(3) else { return };
    use_nodes_of_another_ric(&cluster);
}

fn use_nodes_of_another_ric(store: &dyn RedisStore) {
    let mut group = Group::start(store);
    let owner = group.owner(store);
    let guest = (owner + 1) % 3;
    let (kpm, xapp) = (kpm(&group.members[guest].rest), Xapp::new());
    let id = group.members[guest].subscribe(&kpm, NODE, &xapp, 7).expect(201)["SubscriptionId"].clone();
    let subscription_id = xapp.subscribed(&id, 7);
    let mut indications = Indications::accept(&xapp, subscription_id);
    indications.receive_for(Duration::from_millis(500));
    // the same request at the RIC of the node is the same subscription
    let version = store.command(&["GET", VERSION_KEY]);
    let again = group.members[owner].subscribe(&kpm, NODE, &xapp, 7).expect(201);
    assert_eq!((&again["SubscriptionId"], xapp.subscribed(&id, 7)), (&id, subscription_id));
    indications.receive_for(Duration::from_millis(500));
    assert_eq!(store.command(&["GET", VERSION_KEY]), version, "nothing is written, as nothing has changed");
    let listed = group.list(1);
    assert_eq!((&listed[0]["SubscriptionId"], &listed[0]["Meid"]), (&json!(subscription_id), &json!(NODE)));

    // a control is passed on, and its answer comes back
    let (function, control_header, message) = quota_of(&group.members[guest].rest, 30);
    let mut requests_of_xapp = Connection::open(group.members[guest].rmr);
    let octets = control_request(function, &control_header, &message, RicControlAckRequest::Ack);
    let ask = |requests: &mut Connection, octets: &[u8]| {
        requests
            .send(&Header { data: &[5, 0, 0, 0], ..header(MessageType::CONTROL_REQUEST, "127.0.0.1:4560") }, octets);
        let answer = requests.receive();
        assert_eq!((&answer.transaction[..11], &answer.data[..]), (&b"transaction"[..], &[5, 0, 0, 0][..]));
        answer
    };
    eventually("the RICs are connected", || {
        ask(&mut requests_of_xapp, &octets).kind == MessageType::CONTROL_ACKNOWLEDGE
    });
    let answer = ask(&mut requests_of_xapp, &octets);
    let gather = Gather::new();
    let Pdu::RicControlAcknowledge(acknowledge) = decode(&answer.payload, VERSION, &gather).unwrap().pdu else {
        panic!("{answer:?}")
    };
    assert_eq!(acknowledge.request_id, RicRequestId { requestor: 123, instance: 9 });
    let octets = control_request(function, &control_header, b"?", RicControlAckRequest::Ack);
    assert_eq!(ask(&mut requests_of_xapp, &octets).kind, MessageType::CONTROL_FAILURE);

    // the RIC of the node is gone: another sets the subscription up
    let lost = Instant::now();
    drop(group.members.remove(owner));
    indications.follow(&xapp);
    println!("indications from the next RIC after {:?}", lost.elapsed());
    indications.receive_for(Duration::from_millis(500));
    // it is not notified again: the next notification is that of the next request
    let next = group.owner(store);
    let other = (next + 1) % 2;
    let second = group.members[other].subscribe(&kpm, NODE, &xapp, 8).expect(201)["SubscriptionId"].clone();
    assert_ne!(xapp.subscribed(&second, 8), subscription_id);
    group.list(2);
    for id in [&id, &second] {
        group.members[other].delete(id);
    }
    group.list(0);
    assert!(indications.connection.is_closed_after_messages());
    assert_eq!(requests(store), 0);
}

#[test]
fn xapp_subscribes_over_rmr_to_the_node_of_another_ric() {
    let Some(redis) = Redis::start(&[]) else { return };
    let group = Group::start(&redis);
    let guest = (group.owner(&redis) + 1) % 3;
    let (kpm, xapp) = (kpm(&group.members[guest].rest), Xapp::new());
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
    let mut indications = Indications::on(connection, answer.subscription_id);
    indications.receive_for(Duration::from_millis(500));
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
    assert!(indications.connection.is_closed_after_messages());
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
    let (kpm, xapp) = (kpm(&guest.rest), Xapp::new());
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
    let kpm = Kpm { function: 4000, ..kpm(&guest.rest) };
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
