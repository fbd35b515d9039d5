//! What the RIC shows of its relay and of its nodes: counters of subscriptions and xApps, messages of a node, states of cells.

use std::time::{Duration, Instant};

use e2sm::ccc::{AdministrativeState, NrCellDu, RanConfigurationStructure};
use ferric::xapp::Ric;
use ran::{RanConfig, Scenario};
use serde_json::{Value, json};
use system_tests::{PATIENCE, Reader, TestRan, TestRic, eventually};

const NODE: &str = "gnb-00101-e00";

fn ran(ric: &TestRic) -> TestRan {
    TestRan::start(&ric.e2, RanConfig { scenario: Scenario::with_mixed_traffic(1, 2, 1), ..RanConfig::default() })
}

fn with_loops(loops: usize) -> TestRic {
    TestRic::with(|config| {
        config.server.loops = loops;
        config.rest_limits.stream_ping = Some(Duration::from_secs(1));
    })
}

fn xapp(ric: &TestRic) -> Ric {
    Ric::options().address(ric.xapp.to_string()).name("test").connect().unwrap()
}

/// The KPM subscriptions of the RIC that an xApp receives.
fn of_xapp(ric: &TestRic) -> Vec<Value> {
    let document = ric.rest.get("/v1/subscriptions");
    let all = document["subscriptions"].as_array().unwrap().iter();
    let functions = ric.rest.get(&format!("/v1/nodes/{NODE}"))["functions"].clone();
    let is_kpm = |id: &Value| {
        let of = functions.as_array().unwrap().iter().find(|function| function["id"] == *id);
        of.is_some_and(|of| of["oid"].as_str().is_some_and(|oid| e2sm::kpm::OIDS.contains(&oid)))
    };
    let of_xapp = |of: &&Value| of["apps"].as_array().unwrap().iter().any(|app| app != "iApp");
    all.filter(of_xapp).filter(|of| is_kpm(&of["function"])).cloned().collect()
}

#[test]
fn subscriptions_and_xapps_are_counted_on_every_loop() {
    for loops in [1, 3] {
        let ric = with_loops(loops);
        let _ran = ran(&ric);
        ric.await_slices(NODE);
        let api = xapp(&ric);
        let mut stream = api.kpm(["DRB.UEThpDl"]).every(20).unwrap();
        let first = stream.next().unwrap();
        assert!(first.is_ok(), "{first:?}");
        let of = eventually_some("a second indication", || {
            of_xapp(&ric).into_iter().find(|of| of["indications"].as_u64() >= Some(2))
        });
        let (indications, octets) = (of["indications"].as_u64().unwrap(), of["indication_octets"].as_u64().unwrap());
        assert!(octets / indications > 20 && octets / indications < 10_000, "{of}");
        let age_ms = of["newest_age_ms"].as_f64().unwrap();
        assert!((0.0..PATIENCE.as_secs_f64() * 1e3).contains(&age_ms), "{of}");
        // nothing is dropped for an xApp that reads
        let xapps = ric.rest.get("/v1/xapps");
        assert_eq!(
            (&xapps["xapps"][0]["dropped_reports"], xapps["xapps"][0]["outbox_octets"].is_u64()),
            (&json!(0), true)
        );
        // the next subscription begins with zero, although it may have the same id
        drop(stream);
        eventually("the end of the subscription", || of_xapp(&ric).is_empty());
        let _slow = api.kpm(["DRB.UEThpDl"]).every(60_000).unwrap();
        let fresh = eventually_some("a subscription", || of_xapp(&ric).pop());
        assert_eq!((&fresh["indications"], &fresh["newest_age_ms"]), (&json!(0), &Value::Null), "{fresh}");
    }
}

fn eventually_some<T>(what: &str, mut find: impl FnMut() -> Option<T>) -> T {
    let mut found = None;
    eventually(what, || {
        found = find();
        found.is_some()
    });
    found.unwrap()
}

#[test]
fn messages_of_a_node_are_streamed_while_they_are_read() {
    for loops in [1, 3] {
        let ric = with_loops(loops);
        let mut ran = ran(&ric);
        ric.await_slices(NODE);
        // an xApp, so that the node is on a worker if there is one
        let api = xapp(&ric);
        let mut stream = api.kpm(["DRB.UEThpDl"]).every(10).unwrap();
        assert!(stream.next().unwrap().is_ok());
        let path = format!("/v1/nodes/{NODE}/messages");
        let (mut reader, begin) = (Reader::open(ric.rest.address, &path), Instant::now());
        let slices = json!({ "algorithm": "NVS", "slices": [{ "id": 1, "share_percent": 50 }] });
        ric.rest.request("PUT", &format!("/v1/nodes/{NODE}/slices/dl"), slices).expect(200);
        let (mut control, mut answer, mut indications, mut omitted) = (Value::Null, Value::Null, 0_u32, 0);
        while control.is_null() || answer.is_null() || indications < 10 || omitted == 0 {
            let message = reader.next("message");
            omitted += message["omitted"].as_u64().unwrap();
            match message["message"].as_str().unwrap() {
                "RicIndication" => indications += 1,
                "RicControlRequest" => control = message,
                "RicControlAcknowledge" => answer = message,
                _ => {}
            }
        }
        let sampled = begin.elapsed().as_millis() / 50 + 1;
        assert!(u128::from(indications) <= sampled, "{indications} indications, at most {sampled}");
        assert_eq!((&control["direction"], &answer["direction"]), (&json!("to_node"), &json!("from_node")));
        assert_eq!((&control["request"], &control["function"]), (&answer["request"], &answer["function"]));
        assert!(control["request"].is_array() && control["function"].is_u64(), "{control}");
        for message in [&control, &answer] {
            let octets = message["pdu"].as_str().unwrap();
            assert_eq!(octets.len() as u64 / 2, message["octets"].as_u64().unwrap());
            let body = json!({ "type": message["type"], "octets": octets });
            ric.rest.request("POST", "/v1/decode", body).expect(200);
        }
        // the stream survives a restart of the node
        ran.restart();
        assert_eq!(reader.next("node_lost"), json!({ "node": NODE }));
        assert_eq!(reader.next("node_up"), json!({ "node": NODE }));
        reader.next("message");
    }
}

#[test]
fn readers_of_messages_are_bounded_and_need_the_role_control() {
    let ric = with_loops(1);
    let _ran = ran(&ric);
    ric.await_slices(NODE);
    let path = format!("/v1/nodes/{NODE}/messages");
    ric.rest.request("GET", "/v1/nodes/nowhere/messages", None).expect_problem(404, &["no node `nowhere`"]);
    let readers: Vec<Reader> = (0..8).map(|_| Reader::open(ric.rest.address, &path)).collect();
    ric.rest.request("GET", &path, None).expect_problem(503, &["8 readers already"]);
    drop(readers);
    // what was read is forgotten, whether or not the node sends anything
    eventually("room for a reader", || Reader::status(ric.rest.address, &path).contains(" 200 "));
    let document = ric.rest.get("/v1/openapi.json");
    assert_eq!(document["paths"]["/v1/nodes/{node}/messages"]["get"]["security"][1], json!({ "bearer": ["control"] }));
}

#[test]
fn states_of_cells_are_those_that_the_node_reports() {
    let ric = with_loops(1);
    let mut events = Reader::open(ric.rest.address, "/v1/events?topics=nodes");
    let mut ran = ran(&ric);
    let cell = || ric.rest.get("/v1/cells")["cells"][0].clone();
    eventually("states of the cell", || cell()["administrative_state"] == "unlocked");
    let before = cell();
    assert_eq!((&before["cell_state"], &before["is_energy_saving"]), (&json!("active"), &json!(false)), "{before}");
    assert_eq!(events.next("cell_changed")["cell"], before["id"]);
    let api = xapp(&ric);
    let lock = |state| {
        let structure = NrCellDu { administrative_state: Some(state), ..NrCellDu::default() };
        let node = eventually_some("the node", || api.node(NODE).ok());
        node.configure([RanConfigurationStructure::NrCellDu(structure)]).unwrap();
    };
    lock(AdministrativeState::Locked);
    let changed = events.next("cell_changed");
    assert_eq!((&changed["states"]["administrative_state"], &changed["node"]), (&json!("locked"), &json!(NODE)));
    // a locked cell without UEs is still listed
    eventually("a locked cell", || cell()["administrative_state"] == "locked");
    assert_eq!((&cell()["id"], &cell()["node"]), (&before["id"], &json!(NODE)));
    lock(AdministrativeState::Unlocked);
    eventually("an unlocked cell", || cell()["administrative_state"] == "unlocked");
    ran.restart();
    events.next("node_lost");
    eventually("states after a restart of the node", || cell()["administrative_state"] == "unlocked");
}
