//! Base stations and their UEs, as REST shows them.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ferric::e2::topology::Part;
use ferric::e2::{Indication, Node};
use ferric::server::{Iapp, IappContext, IappEvent};
use ferric::xapp::Ric;
use ran::scenario::{CellScenario, ScenarioFolders};
use ran::{RanConfig, Scenario};
use serde_json::{Value, json};
use system_tests::{TestRan, TestRic, eventually};
use virtualization::topology::Topology;

#[test]
fn base_station_of_three_parts_has_its_only_cell_once() {
    let ric = TestRic::start();
    let cells = vec![CellScenario { is_split: true, ..CellScenario::default() }];
    let scenario = Scenario { cells, ..Scenario::with_mixed_traffic(1, 2, 1) };
    let _ran = TestRan::start(&ric.e2, RanConfig { scenario, ..RanConfig::default() });
    let complete = |stations: &Value| stations["base_stations"][0]["is_complete"] == true;
    let stations = ric.rest.eventually("/v1/base-stations", complete);
    let station = &stations["base_stations"][0];
    assert_eq!((&station["id"], &station["missing"]), (&json!("gnb-00101-e00"), &json!([])));
    let cell = json!({ "id": "003800001", "node": "gnb-00101-e00-du-1" });
    assert_eq!(station["cells"], json!([cell]), "CU-CP and DU declare it");
    let mut parts: Vec<_> = station["nodes"].as_array().unwrap().iter().map(|node| node["part"].clone()).collect();
    parts.sort_by_key(Value::to_string);
    assert_eq!(parts, ["cu-cp", "cu-up", "du"]);
}

/// Another controller sees CU-CP, CU-UP and DU as one base station, and uses the functions of all of them.
#[test]
fn split_gnb_is_one_base_station_towards_another_controller() {
    let controller = TestRic::start();
    let text = format!("ric = \"{}\"\n[[base_station]]\ngnb = \"gnb-00101-e00\"\n", controller.e2);
    let topology = Topology::parse(&text).unwrap();
    let owner = TestRic::with(|config| config.topology = Some(topology));
    let cells = vec![CellScenario { is_split: true, ..CellScenario::default() }];
    let scenario = Scenario { cells, ..Scenario::with_mixed_traffic(1, 2, 1) };
    let mut ran = TestRan::start(&owner.e2, RanConfig { scenario, ..RanConfig::default() });
    controller.await_slices("gnb-00101-e00");
    let names = || -> Vec<Value> {
        let nodes = controller.rest.get("/v1/nodes");
        nodes["nodes"].as_array().unwrap().iter().map(|node| node["id"].clone()).collect()
    };
    assert_eq!(names(), ["gnb-00101-e00"]);
    // slices are those of the DU, UEs those of the CU-CP and the DU
    let slices =
        json!({ "algorithm": "NVS", "slices": [{ "id": 1, "share_percent": 60 }, { "id": 2, "share_percent": 40 }] });
    controller.rest.request("PUT", "/v1/nodes/gnb-00101-e00/slices/dl", slices).expect(200);
    let of_du = "/v1/nodes/gnb-00101-e00-du-1/slices/dl";
    owner.rest.eventually(of_du, |dl| dl["slices"].as_array().is_some_and(|slices| slices.len() == 2));
    let is_known = |ues: &Value| ues["ues"].as_array().is_some_and(|ues| ues.len() == 2);
    controller.rest.eventually("/v1/nodes/gnb-00101-e00/ues", is_known);
    // DRX is an action of the DU, which knows the UE by another name
    let ric = Ric::options().address(controller.xapp.to_string()).name("test").connect().unwrap();
    eventually("UEs with names of the CU-CP", || {
        ric.ues().unwrap().iter().any(|ue| ue.reference().to_string().starts_with("amf:"))
    });
    let ue = ric.ues().unwrap().into_iter().find(|ue| ue.reference().to_string().starts_with("amf:")).unwrap();
    let answer = ue.drx(40).unwrap();
    assert_eq!(answer.node, "gnb-00101-e00");
    // it comes back as the same
    ran.restart();
    controller.rest.eventually("/v1/nodes/gnb-00101-e00/slices/dl", |dl| dl["slices"].as_array().unwrap().is_empty());
    assert_eq!(names(), ["gnb-00101-e00"]);
}

/// Has the CU-UP set up again whenever it is woken with this flag.
struct LoseCuUp(Arc<AtomicBool>);

impl Iapp for LoseCuUp {
    fn name(&self) -> &'static str {
        "loses the CU-UP"
    }

    fn on_event(&mut self, _: &IappEvent<'_>, _: &mut IappContext<'_>) {}

    fn on_indication(&mut self, _: &Indication<'_>, _: &mut IappContext<'_>) {}

    fn on_wake(&mut self, ric: &mut IappContext<'_>) {
        if self.0.swap(false, Ordering::Relaxed) {
            let is_cu_up = |node: &&Node| matches!(Part::of(&node.global_id), Part::CuUp(_));
            let node = ric.nodes().find(is_cu_up).map(|node| node.id);
            assert!(ric.release(node.expect("a CU-UP")));
        }
    }
}

/// A controller of base stations with these lines of a topology, the RIC that has their parts, and a gNB of three parts with two UEs.
fn split_gnb(lines: &str) -> (TestRic, TestRic, TestRan) {
    split_gnb_with(lines, Vec::new())
}

/// The same with internal apps of the RIC that has the parts.
fn split_gnb_with(lines: &str, iapps: Vec<Box<dyn Iapp>>) -> (TestRic, TestRic, TestRan) {
    let controller = TestRic::start();
    let text = format!("ric = \"{}\"\n[[base_station]]\n{lines}\n", controller.e2);
    let topology = Topology::parse(&text).unwrap();
    let owner = TestRic::with_iapps(iapps, |config| config.topology = Some(topology));
    let cells = vec![CellScenario { is_split: true, ..CellScenario::default() }];
    let scenario = Scenario { cells, ..Scenario::with_mixed_traffic(1, 2, 1) };
    let ran = TestRan::start(&owner.e2, RanConfig { scenario, ..RanConfig::default() });
    owner.rest.eventually("/v1/nodes", |nodes| nodes["nodes"].as_array().is_some_and(|nodes| nodes.len() == 3));
    (controller, owner, ran)
}

/// CU-CP, CU-UP and DU have a KPM function each; towards the controller there is one, with what all of them measure.
#[test]
fn measurements_of_all_parts_are_those_of_one_function() {
    // the second base station could have other DUs of the same CU
    for (lines, id) in [
        ("gnb = \"gnb-00101-e00\"", "gnb-00101-e00"),
        ("gnb = \"gnb-00101-e00\"\nid = \"gnb-00101-f01\"\ndus = [1]", "gnb-00101-f01"),
    ] {
        let (controller, _owner, _ran) = split_gnb(lines);
        controller.await_slices(id);
        let ric = Ric::options().address(controller.xapp.to_string()).name("test").connect().unwrap();
        // throughput of the DU, volume of the CU-UP
        let names = ["DRB.UEThpDl", "DRB.PdcpSduVolumeUL"];
        let mut ues = BTreeSet::new();
        eventually("records of two UEs with the measurements of DU and CU-UP", || {
            let Ok(mut stream) = ric.kpm(names).node(id).every(20) else { return false };
            let deadline = Instant::now() + Duration::from_secs(2);
            while Instant::now() < deadline
                && let Ok(Some(record)) = stream.next_within(Duration::from_millis(200))
            {
                let ue = record.ue.as_ref().map(|ue| ue.to_string()).unwrap_or_default();
                if names.iter().all(|name| record.number(name).is_some()) {
                    ues.insert(ue);
                }
            }
            ues.len() >= 2
        });
        assert_eq!(ues.len(), 2, "each UE has one name: {ues:?}");
        assert!(ues.iter().all(|ue| ue.starts_with("amf:")), "{ues:?}");
        // one of them, by the name of the CU-CP
        let ue = ues.first().unwrap().clone();
        let mut stream = ric.kpm(names).node(id).ue(ue.as_str()).every(20).unwrap();
        eventually("a record of one UE with the measurements of DU and CU-UP", || {
            let record = stream.next_within(Duration::from_secs(1)).unwrap();
            record.is_some_and(|record| {
                let has_name = record.ue.as_ref().is_some_and(|of| of.to_string() == ue);
                has_name && names.iter().all(|name| record.number(name).is_some())
            })
        });
        let functions = controller.rest.get(&format!("/v1/nodes/{id}"))["functions"].clone();
        let functions = functions.as_array().unwrap();
        let is_kpm = |of: &&Value| of["oid"].as_str().is_some_and(|oid| e2sm::kpm::OIDS.contains(&oid));
        assert_eq!(functions.iter().filter(is_kpm).count(), 1, "{functions:?}");
        // of the node: a measurement of the CU-CP, and one of the DU
        let names = ["RRC.ConnMean", "RRU.PrbTotDl"];
        let mut stream = ric.kpm(names).node(id).whole_node().every(20).unwrap();
        eventually("a record of the node with the measurements of CU-CP and DU", || {
            let record = stream.next_within(Duration::from_secs(1)).unwrap();
            record.is_some_and(|record| names.iter().all(|name| record.number(name).is_some()))
        });
    }
}

#[test]
fn measurements_of_a_lost_part_have_no_values_until_it_is_back() {
    let loses = Arc::new(AtomicBool::new(false));
    let iapps: Vec<Box<dyn Iapp>> = vec![Box::new(LoseCuUp(Arc::clone(&loses)))];
    let (controller, owner, _ran) = split_gnb_with("gnb = \"gnb-00101-e00\"", iapps);
    controller.await_slices("gnb-00101-e00");
    let ric = Ric::options().address(controller.xapp.to_string()).name("test").connect().unwrap();
    let mut opened = None;
    eventually("a stream of measurements of DU and CU-UP", || {
        opened = ric.kpm(["DRB.UEThpDl", "DRB.PdcpSduVolumeUL"]).node("gnb-00101-e00").every(20).ok();
        opened.is_some()
    });
    let mut stream = opened.unwrap();
    let mut await_record = |what: &str, has_volume: bool| {
        eventually(what, || {
            let record = stream.next_within(Duration::from_secs(1)).unwrap();
            record.is_some_and(|record| {
                record.number("DRB.UEThpDl").is_some() && record.number("DRB.PdcpSduVolumeUL").is_some() == has_volume
            })
        });
    };
    await_record("a record with the measurements of both", true);
    loses.store(true, Ordering::Relaxed);
    owner.waker.wake();
    await_record("a record without those of the CU-UP", false);
    await_record("a record of the same stream with those of the CU-UP again", true);
}

/// A CU that several base stations may share suspends handovers of their UEs; the one with the UE decides.
#[test]
fn handovers_from_a_shared_cu_wait_for_its_base_station() {
    let controller = TestRic::start();
    let station = |gnb: &str, id: &str| format!("[[base_station]]\ngnb = \"{gnb}\"\nid = \"{id}\"\ndus = [1]\n");
    let stations = station("gnb-00101-e00", "gnb-00101-f01") + &station("gnb-00101-e01", "gnb-00101-f02");
    let topology = Topology::parse(&format!("ric = \"{}\"\n{stations}", controller.e2)).unwrap();
    let owner = TestRic::with(|config| config.topology = Some(topology));
    let cells = vec![CellScenario { is_split: true, ..CellScenario::default() }; 2];
    let scenario = Scenario { cells, ..Scenario::with_mixed_traffic(2, 2, 1) };
    let _ran = TestRan::start(&owner.e2, RanConfig { scenario, handovers_per_minute: 600, ..RanConfig::default() });
    controller.await_slices("gnb-00101-f01");
    let ric = Ric::options().address(controller.xapp.to_string()).name("test").connect().unwrap();
    let mut requests = ric.handover_requests().unwrap();
    let mut nodes = BTreeSet::new();
    eventually("a handover from each of the base stations is denied", || {
        let Some(request) = requests.next_within(Duration::from_secs(1)).unwrap() else { return false };
        let node = request.node.to_string();
        // otherwise all UEs might stay in one of them
        if nodes.contains(&node) {
            let _ = request.accept();
        } else if request.deny().is_ok() {
            nodes.insert(node);
        }
        nodes.len() == 2
    });
    assert!(nodes.iter().all(|node| node.starts_with("gnb-00101-f0")), "{nodes:?}");
}

#[test]
fn ue_that_was_handed_over_has_left_its_first_node() {
    // the next reports of MAC and slices come long after the handover
    let ric = TestRic::with(|config| config.statistics_period = std::time::Duration::from_secs(2));
    let text = "
        [[cell]]
        count = 2
        [[ue]]
        name = \"moving\"
        sinr_db = 20
        [[ue.flow]]
        kind = \"cbr\"
        rate_bps = 2_000_000
        [[at]]
        time_s = 4
        do = \"hand-over\"
        ue = \"moving\"
        to = 1
    ";
    let scenario = Scenario::from_toml(text, &ScenarioFolders::with_traces(Path::new(""))).unwrap();
    let _ran = TestRan::start(&ric.e2, RanConfig { scenario, ..RanConfig::default() });
    let ues = |number: u8| format!("/v1/nodes/gnb-00101-e0{number}/ues");
    let is_reported = |ues: &Value| ues["ues"].as_array().is_some_and(|ues| !ues.is_empty());
    ric.rest.eventually("/v1/nodes/gnb-00101-e00/statistics/mac", |mac| !mac["ues"].as_array().unwrap().is_empty());
    ric.rest.eventually(&ues(1), is_reported);
    assert_eq!(ric.rest.get(&ues(0))["ues"], json!([]), "the UE is at one node");
}
