//! Base stations and their UEs, as REST shows them.

use std::path::Path;

use ran::scenario::{CellScenario, ScenarioFolders};
use ran::{RanConfig, Scenario};
use serde_json::{Value, json};
use system_tests::{TestRan, TestRic};

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
