//! The ids of UEs in REST: those of the parts of a split gNB are joined.

use ran::{RanConfig, Scenario};
use serde_json::{Value, json};
use system_tests::station::Station;
use system_tests::{TestRan, TestRic};

#[test]
fn ids_of_the_parts_of_a_split_gnb_are_joined() {
    let ric = TestRic::with(|config| config.ue_ids_period = Some(std::time::Duration::from_millis(100)));
    let mut scenario = Scenario::without_traffic(1);
    scenario.cells[0].is_split = true;
    let _ran = TestRan::start(&ric.e2, RanConfig { scenario, ..RanConfig::default() });
    let listed = ric.rest.eventually("/v1/ues", |listed| {
        let ues = listed["ues"].as_array().unwrap();
        // the DU is listed by its C-RNTI before its KPM report has the ids
        let has_ids = |node: &Value| {
            let ids = &node["ids"];
            ids["gnb_cu_ue_f1ap_ids"].is_array() || ids["gnb_cu_cp_ue_e1ap_ids"].is_array()
        };
        ues.len() == 1 && ues[0]["nodes"].as_array().is_some_and(|nodes| nodes.len() == 3 && nodes.iter().all(has_ids))
    });
    let ue = &listed["ues"][0];
    assert_eq!((&ue["base_station"], &ue["state"]), (&json!("gnb-00101-e00"), &json!("joined")), "{ue:#}");
    let nodes = ue["nodes"].as_array().unwrap();
    let of = |name: &str| &nodes.iter().find(|node| node["node"] == name).unwrap()["ids"];
    let (cu_cp, du, cu_up) = (of("gnb-00101-e00"), of("gnb-00101-e00-du-1"), of("gnb-00101-e00-cu-up-1"));
    assert_eq!(cu_cp["gnb_cu_ue_f1ap_ids"], du["gnb_cu_ue_f1ap_ids"], "{ue:#}");
    assert_eq!(cu_cp["gnb_cu_cp_ue_e1ap_ids"], cu_up["gnb_cu_cp_ue_e1ap_ids"], "{ue:#}");
    assert_eq!(cu_cp["ran_ue_id"], du["ran_ue_id"], "{ue:#}");
    assert_eq!((&du["amf_ue_ngap_id"], &du["guami"]), (&Value::Null, &Value::Null), "{ue:#}");
    for (name, id) in cu_cp.as_object().unwrap() {
        assert_eq!(&ue[name], id, "{ue:#}");
    }
    assert_eq!(cu_cp["guami"], json!("00101:1:1:1"), "{ue:#}");
}

#[test]
fn ids_come_from_rrc_and_go_with_the_ue() {
    let ric = TestRic::start();
    let station = Station::start(&ric.e2);
    ric.rest.eventually("/v1/nodes", |nodes| nodes["nodes"].as_array().unwrap().len() == 1);
    station.attach(10, [1, 1], &[]);
    station.attach(11, [1, 1], &[]);
    let ids = |listed: &Value| -> Vec<Value> {
        let ues = listed["ues"].as_array().unwrap().iter();
        ues.map(|ue| ue["gnb_cu_ue_f1ap_ids"][0].clone()).collect()
    };
    let listed = ric.rest.eventually("/v1/ues", |listed| ids(listed) == [10, 11]);
    assert_eq!(listed["ues"][0]["state"], "sole_node");
    station.detach(10);
    let listed = ric.rest.eventually("/v1/ues", |listed| ids(listed) == [11]);
    assert_eq!(listed["omitted"], 0);
}
