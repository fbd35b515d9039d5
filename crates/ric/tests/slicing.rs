//! The slicing controller, from curl's side: a real RIC, a real emulated RAN, real HTTP.

mod common;

use common::{Emulated, World};
use ran::RanConfig;
use serde_json::{Value, json};

const NODE: &str = "gnb-00101-e00";
const DL: &str = "/v1/nodes/gnb-00101-e00/slices/dl";

/// A RIC, and a gNB with four UEs.
fn world() -> (World, Emulated) {
    let world = World::start();
    let ran = Emulated::start(&world.e2, RanConfig { ues: 4, ..RanConfig::default() });
    world.knows_slices(NODE);
    (world, ran)
}

fn share(id: u32, percent: f32) -> Value {
    json!({ "id": id, "label": "", "ue_scheduler": "PF", "share_percent": percent })
}

fn nvs(slices: &[Value]) -> Value {
    json!({ "algorithm": "NVS", "sharing": true, "slices": slices })
}

#[test]
fn nodes_are_told_with_what_is_read_of_them() {
    let (world, _ran) = world();
    let nodes = world.eventually("/v1/nodes", |nodes| nodes["nodes"][0]["ues"] == 4);
    assert_eq!(nodes["nodes"][0], json!({ "id": NODE, "e2ap": "2.03", "ues": 4, "has_slices": true }));
    let node = world.eventually("/v1/nodes/gnb-00101-e00", |node| {
        node["sources"].as_array().unwrap().iter().all(|source| source["reports"].as_u64() > Some(0))
    });
    let models: Vec<_> = node["sources"].as_array().unwrap().iter().map(|source| source["model"].clone()).collect();
    assert_eq!(models, ["mac", "rlc", "pdcp", "tc", "slice", "rrc"]);
    assert_eq!(node["sources"][0]["state"], "subscribed");
    assert_eq!(node["sources"][0]["wire"], "plain");
    assert!(node["functions"].as_array().unwrap().iter().any(|function| function["id"] == 145), "{node}");
    world.ask("GET", "/v1/nodes/gnb-00101-e01", None).complains(404, &["no node `gnb-00101-e01`", "/v1/nodes"]);
}

#[test]
fn a_slice_of_half_the_cell() {
    let (world, _ran) = world();
    assert_eq!(world.get(DL), json!({ "algorithm": "NONE", "slices": [] }));
    let wanted = nvs(&[share(1, 50.0), share(2, 50.0)]);
    assert_eq!(world.ask("PUT", DL, wanted.clone()).is(200), wanted);
    assert_eq!(world.get(DL), wanted);
}
