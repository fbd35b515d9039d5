//! The slicing controller, from curl's side: a real RIC, a real emulated RAN, real HTTP.

mod common;

use common::station::{self, Station};
use common::{Emulated, World};
use e2sm::Wire;
use ferric::e2ap::Version;
use ran::{RanConfig, Scenario};
use ran_functions::PeriodicConfig;
use serde_json::{Value, json};

const NODE: &str = "gnb-00101-e00";
const DL: &str = "/v1/nodes/gnb-00101-e00/slices/dl";

/// A RIC, and a gNB with four UEs.
fn world() -> (World, Emulated) {
    let world = World::start();
    let ran = Emulated::start(&world.e2, RanConfig { scenario: Scenario::crowd(1, 4, 1), ..RanConfig::default() });
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

#[test]
fn slices_are_added_changed_and_deleted_one_by_one() {
    let (world, _ran) = world();
    let made = world.ask("POST", DL, json!({ "label": "white", "share_percent": 50 }));
    assert_eq!(made.header("location"), Some("/v1/nodes/gnb-00101-e00/slices/dl/1"));
    let white = json!({ "id": 1, "label": "white", "ue_scheduler": "", "share_percent": 50.0 });
    assert_eq!(made.is(201), white);
    assert_eq!(world.ask("POST", DL, json!({ "share_percent": 12.5 })).is(201)["id"], 2);
    assert_eq!(world.ask("POST", DL, json!({ "id": 7, "share_percent": 0.01 })).is(201)["share_percent"], 0.01);
    world.ask("POST", DL, json!({ "id": 7, "share_percent": 1 })).complains(409, &["downlink slice 7 already; PUT"]);
    let one = format!("{DL}/1");
    assert_eq!(world.get(&one), white);
    let changed = world.ask("PUT", &one, share(1, 66.0)).is(200);
    assert_eq!(changed, share(1, 66.0));
    assert_eq!(world.get(&one), share(1, 66.0));
    let three = world.ask("PUT", &format!("{DL}/3"), json!({ "share_percent": 1 }));
    assert_eq!(three.header("location"), Some(&*format!("{DL}/3")));
    assert_eq!(three.is(201)["id"], 3);
    assert_eq!(world.ask("DELETE", &one, None).status, 204);
    world.ask("DELETE", &one, None).complains(404, &["there is no downlink slice 1"]);
    world.ask("GET", &one, None).complains(404, &["there is no downlink slice 1"]);
    let ids: Vec<_> = world.get(DL)["slices"].as_array().unwrap().iter().map(|slice| slice["id"].clone()).collect();
    assert_eq!(ids, [2, 7, 3]);
    // what the node reports is the same; one report may have been on its way
    let of_node = format!("/v1/nodes/{NODE}");
    let reports = |node: &Value| {
        let mut sources = node["sources"].as_array().unwrap().iter();
        sources.find(|source| source["model"] == "slice").unwrap()["reports"].as_u64().unwrap()
    };
    let before = reports(&world.get(&of_node));
    world.eventually(&of_node, |node| reports(node) > before + 1);
    let both = world.get("/v1/nodes/gnb-00101-e00/slices");
    assert_eq!(both["dl"]["slices"].as_array().unwrap().len(), 3);
    assert_eq!(both["ul"], json!({ "algorithm": "NONE", "slices": [] }));
    assert_eq!(world.ask("DELETE", DL, None).status, 204);
    assert_eq!(world.ask("DELETE", DL, None).status, 204, "it is as it should be");
    assert_eq!(world.get(DL)["slices"], json!([]));
}

#[test]
fn more_than_there_is_is_refused_with_the_numbers() {
    let (world, _ran) = world();
    let wanted = nvs(&[share(1, 50.0), share(2, 40.0)]);
    world.ask("PUT", DL, wanted.clone()).is(200);
    let problem = world
        .ask("PUT", &format!("{DL}/1"), share(1, 66.0))
        .complains(409, &["would take 106.0 %: 0.0 % are taken, 106.0 % asked for"]);
    assert_eq!(problem["cause"], "RIC request: FunctionResourceLimit");
    assert_eq!(problem["reason"], problem["detail"]);
    world.ask("POST", DL, json!({ "share_percent": 10.1 })).complains(409, &["100.1 %"]);
    // of which the last part is what nobody else gives up
    world.ask("PUT", DL, nvs(&[share(3, 60.0), share(2, 41.0)])).complains(409, &["101.0 %"]);
    assert_eq!(world.get(DL), wanted, "nothing has changed");
    assert_eq!(world.eventually(DL, |_| true), wanted);
}

#[test]
fn what_cannot_be_is_refused_in_the_words_of_the_node() {
    let (world, _ran) = world();
    let rate = |required: f32, reference: f32| json!({ "id": 1, "rate": { "required_mbps": required, "reference_mbps": reference } });
    let positions = |id: u32, first: u32, last: u32| json!({ "id": id, "positions": { "first": first, "last": last } });
    let of = |algorithm: &str, slices: &[Value]| json!({ "algorithm": algorithm, "slices": slices });
    let edf = json!({ "id": 1, "deadline": { "deadline_slots": 9, "guaranteed_prbs": 5, "max_replenish_prbs": 5 } });
    for (wanted, reason) in [
        (nvs(&[rate(5.0, 0.0)]), "the reference of a rate must be above 0"),
        (nvs(&[share(1, -5.0)]), "a share is from 0 to 100 %"),
        (nvs(&[share(1, 10.0), share(1, 10.0)]), "slice 1 stands twice"),
        (nvs(&[json!({ "id": 1, "share_percent": 5, "ue_scheduler": "LIFO" })]), "does not have that UE scheduler"),
        (of("STATIC", &[positions(1, 0, 100)]), "positions 0 to 100 are not among 0 to"),
        (of("STATIC", &[positions(1, 3, 2)]), "positions 3 to 2"),
        (of("STATIC", &[positions(1, 0, 4), positions(2, 4, 5)]), "slices 1 and 2 overlap"),
        (of("EDF", &[edf]), "does not have the algorithm EDF"),
    ] {
        let problem = world.ask("PUT", DL, wanted.clone()).complains(422, &[reason]);
        assert!(problem["cause"].as_str().unwrap().contains("ControlMessageInvalid"), "{problem}");
        assert_eq!(world.get(DL)["slices"], json!([]), "{wanted}");
    }
    let unknown = json!({ "algorithm": "FAIR", "slices": [share(1, 50.0)] });
    world.ask("PUT", DL, unknown).complains(409, &["unknown downlink scheduler FAIR: use NVS, NVS-PARTITION"]);
    assert_eq!(world.get(DL)["slices"], json!([]));
}

#[test]
fn what_makes_no_sense_is_refused_before_the_node_is_asked() {
    let (world, _ran) = world();
    let slice = |slice: Value| nvs(&[slice]);
    let over = |algorithm: &str, sharing: bool| json!({ "algorithm": algorithm, "sharing": sharing, "slices": [] });
    let pair = json!({ "id": 1, "share_percent": 5, "positions": { "first": 0, "last": 1 } });
    let umlaut = json!({ "id": 1, "share_percent": 5, "label": "wei\u{df}" });
    for (wanted, status, reason) in [
        (slice(json!({ "id": 1, "shre_percent": 5 })), 422, "slices[0].shre_percent: unknown field `shre_percent`"),
        (slice(json!({ "id": 1, "shre_percent": 5 })), 422, "did you mean `share_percent`?"),
        (slice(json!({ "id": 1 })), 422, "slices[0]: a slice has just one of `share_percent`"),
        (slice(pair), 422, "slices[0]: a slice has just one of"),
        (slice(json!({ "share_percent": 5 })), 422, "slices[0]: it has no id"),
        (slice(json!({ "id": u32::MAX, "share_percent": 5 })), 422, "means no slice"),
        (slice(json!({ "id": -1, "share_percent": 5 })), 422, "slices[0].id"),
        (slice(umlaut), 422, "label: a name has at most 255 printable ASCII characters"),
        (slice(json!({ "id": 1, "share_percent": 5, "label": "x".repeat(256) })), 422, "label: a name has"),
        (slice(json!({ "id": 1, "positions": { "first": 0, "last": 1 } })), 422, "NVS has no slices of that kind"),
        (json!({ "algorithm": "STATIC", "slices": [share(1, 5.0)] }), 422, "STATIC has no slices of that kind"),
        (json!({ "algorithm": "NONE", "slices": [share(1, 5.0)] }), 422, "with `NONE` there are no slices"),
        (json!({ "algorithm": "", "slices": [] }), 422, "algorithm: it is empty"),
        (json!({ "slices": [] }), 422, "missing field `algorithm`"),
        (over("STATIC", true), 422, "sharing: NVS alone has it"),
        (json!([]), 422, "no JSON object"),
        (json!("all of it"), 422, "no JSON object"),
        (slice(json!("all of it")), 422, "slices[0]: invalid type: string \"all of it\", expected an object: a slice"),
    ] {
        world.ask("PUT", DL, wanted).complains(status, &[reason]);
    }
    world.ask("PUT", &format!("{DL}/2"), share(1, 5.0)).complains(422, &["the path says slice 2, the body says 1"]);
    world.ask("POST", DL, json!({ "id": 1 })).complains(422, &["just one of"]);
    for (method, path, status) in [
        ("GET", "/v1/nodes/gnb-00101-e00/slices/sideways", 404),
        ("GET", "/v1/nodes/gnb-00101-e00/slices/dl/one", 404),
        ("GET", "/v1/nodes/gnb-00101-e00/slices/dl/+1", 404),
        ("GET", "/v1/nodes/gnb-00101-e00/slices/dl/4294967296", 404),
        ("GET", "/v1/nodes/nobody/slices/dl", 404),
        ("DELETE", "/v1/nodes/nobody/slices/dl", 404),
        ("DELETE", "/v1/nodes/nobody/slices/dl/1", 404),
        ("PATCH", "/v1/nodes/gnb-00101-e00/slices/dl", 405),
    ] {
        world.ask(method, path, None).complains(status, &[]);
    }
    let no_type = "POST /v1/nodes/gnb-00101-e00/slices/dl HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\n\r\n{}";
    let mut client = common::Client::connect(world.rest);
    client.write(no_type.as_bytes());
    client.receive().complains(415, &["application/json", "curl: --json"]);
    assert_eq!(world.get(DL)["slices"], json!([]));
}

#[test]
fn every_kind_of_slice_in_both_directions() {
    let (world, _ran) = world();
    let kinds = [
        nvs(&[
            json!({ "id": 1, "label": "a", "ue_scheduler": "RR", "rate": { "required_mbps": 5.5, "reference_mbps": 60.0 } }),
            json!({ "id": 2, "label": "b", "ue_scheduler": "", "share_percent": 33.3 }),
        ]),
        json!({ "algorithm": "NVS", "sharing": false, "slices": [share(1, 66.0), share(2, 34.0)] }),
        json!({ "algorithm": "STATIC", "slices": [
            { "id": 4, "label": "", "ue_scheduler": "MT", "positions": { "first": 0, "last": 3 } },
        ] }),
    ];
    round_trips(&world, NODE, &kinds);
}

#[test]
fn slices_that_a_base_station_has_besides() {
    let world = World::start();
    let _station = Station::start(&world.e2);
    world.knows_slices(station::NAME);
    let kinds = [
        json!({ "algorithm": "SCN19", "slices": [
            { "id": 1, "label": "", "ue_scheduler": "", "rate": { "required_mbps": 5.0, "reference_mbps": 60.0 } },
            { "id": 2, "label": "", "ue_scheduler": "", "positions": { "first": 0, "last": 1 } },
            { "id": 3, "label": "", "ue_scheduler": "",
              "on_demand": { "share_percent": 10.0, "log_delta": 1.5, "window_slots": 100 } },
        ] }),
        json!({ "algorithm": "EDF", "slices": [
            { "id": 1, "label": "", "ue_scheduler": "", "deadline": {
                "deadline_slots": 10, "guaranteed_prbs": 5, "max_replenish_prbs": 6, "over": [] } },
            { "id": 2, "label": "", "ue_scheduler": "", "deadline": {
                "deadline_slots": 20, "guaranteed_prbs": 7, "max_replenish_prbs": 8, "over": [1] } },
        ] }),
    ];
    round_trips(&world, station::NAME, &kinds);
    let path = format!("/v1/nodes/{}/slices/ul", station::NAME);
    let edf = json!({ "id": 1, "deadline": {
        "deadline_slots": 9, "guaranteed_prbs": 5, "max_replenish_prbs": 5, "over": [9],
    } });
    let refused = world.ask("PUT", &path, json!({ "algorithm": "EDF", "slices": [edf] }));
    refused.complains(422, &["may take from slice 9, which would not be there"]);
}

/// Each of `kinds`, in both directions: as it is set it is told, and as it is told it can be set.
#[track_caller]
fn round_trips(world: &World, node: &str, kinds: &[Value]) {
    for direction in ["dl", "ul"] {
        let path = format!("/v1/nodes/{node}/slices/{direction}");
        // each after the other: what was there leaves
        for wanted in kinds {
            assert_eq!(world.ask("PUT", &path, wanted.clone()).is(200), *wanted);
            // as the node itself tells it
            let of_slices = |source: &&Value| source["model"] == "slice";
            let reports = |node: &Value| {
                let source = node["sources"].as_array().unwrap().iter().find(of_slices).unwrap();
                source["reports"].as_u64().unwrap()
            };
            let of_node = format!("/v1/nodes/{node}");
            let until = reports(&world.get(&of_node)) + 2;
            world.eventually(&of_node, |node| reports(node) >= until);
            assert_eq!(world.get(&path), *wanted);
            // and as it is told it can be set
            assert_eq!(world.ask("PUT", &path, world.get(&path)).is(200), *wanted);
        }
        // a slice goes with those that are there, and with the first the direction is its algorithm's
        let mixed = world.ask("POST", &path, json!({ "share_percent": 1, "id": 77 }));
        mixed.complains(422, &["has no slices of that kind"]);
        assert_eq!(world.ask("DELETE", &path, None).status, 204);
        world.ask("POST", &path, json!({ "share_percent": 1, "id": 77 })).is(201);
        let told = world.get(&path);
        assert_eq!(told["algorithm"], "NVS");
        assert_eq!(world.ask("PUT", &path, told.clone()).is(200), told);
        let none = json!({ "algorithm": "NONE", "slices": [] });
        assert_eq!(world.ask("PUT", &path, none).is(200)["slices"], json!([]));
    }
}

#[test]
fn a_direction_that_is_set_anew_changes_as_a_whole_or_not_at_all() {
    let (world, _ran) = world();
    let before = nvs(&[share(1, 50.0), share(2, 50.0)]);
    world.ask("PUT", DL, before.clone()).is(200);
    let ues = world.eventually(&format!("/v1/nodes/{NODE}/ues"), |ues| ues["ues"].as_array().unwrap().len() == 4);
    let rnti = ues["ues"][0]["rnti"].as_u64().unwrap();
    let of_ue = format!("/v1/nodes/{NODE}/ues/{rnti}/slices");
    assert_eq!(world.ask("PUT", &of_ue, json!({ "dl": 2 })).is(200), json!({ "dl": 2, "ul": null }));
    // those that leave make room for who comes
    let swapped = nvs(&[share(2, 30.0), share(3, 70.0)]);
    assert_eq!(world.ask("PUT", DL, swapped.clone()).is(200), swapped);
    assert_eq!(world.get(&of_ue)["dl"], 2, "who stays stays");
    // another algorithm: the old slices leave first, and come back with their UEs where the others cannot be
    let positions = |last: u32| json!({ "algorithm": "STATIC", "slices": [{ "id": 9, "positions": { "first": 0, "last": last } }] });
    let problem = world.ask("PUT", DL, positions(99)).complains(422, &["positions 0 to 99", "is undone"]);
    assert_eq!(problem["restored"], true);
    assert_eq!(world.get(DL), swapped);
    assert_eq!(world.get(&of_ue)["dl"], 2);
    world.ask("PUT", DL, positions(3)).is(200);
    assert_eq!(world.get(&of_ue)["dl"], Value::Null);
    let none = nvs(&[]);
    assert_eq!(world.ask("PUT", DL, none.clone()).is(200), none);
}

#[test]
fn ues_are_moved_from_slice_to_slice() {
    let (world, _ran) = world();
    world.ask("PUT", DL, nvs(&[share(1, 50.0), share(2, 50.0)])).is(200);
    let path = format!("/v1/nodes/{NODE}/ues");
    let ues = world.eventually(&path, |ues| {
        ues["ues"].as_array().is_some_and(|ues| ues.len() == 4 && ues.iter().all(|ue| ue["plmn"] == "00101"))
    });
    let ue = &ues["ues"][1];
    assert_eq!(ue["slices"], json!({ "dl": null, "ul": null }));
    assert!(ue["cell"].as_str().unwrap().starts_with("nr-00101-"), "{ue}");
    assert!(ue["s_nssais"][0]["sst"].is_u64(), "{ue}");
    let rnti = ue["rnti"].as_u64().unwrap();
    let (one, slices) = (format!("{path}/{rnti}"), format!("{path}/{rnti}/slices"));
    assert_eq!(world.ask("PUT", &slices, json!({ "dl": 1 })).is(200), json!({ "dl": 1, "ul": null }));
    assert_eq!(world.get(&one)["slices"]["dl"], 1);
    world.ask("PUT", &slices, json!({ "dl": 9 })).complains(422, &["there is no downlink slice 9"]);
    world.ask("PUT", &slices, json!({ "ul": 1 })).complains(422, &["there is no uplink slice 1"]);
    // a direction without slices has none to be in, and another is left as it is
    assert_eq!(world.ask("PUT", &slices, json!({ "dl": 2, "ul": null })).is(200)["dl"], 2);
    assert_eq!(world.ask("DELETE", &format!("{DL}/2"), None).status, 204);
    assert_eq!(world.get(&slices), json!({ "dl": null, "ul": null }));
    world.ask("PUT", &slices, json!({ "dl": 1 })).is(200);
    assert_eq!(world.ask("PUT", &slices, json!({ "dl": null })).is(200)["dl"], Value::Null);
    world.ask("PUT", &slices, json!({})).complains(422, &["neither `dl` nor `ul`"]);
    world.ask("PUT", &slices, json!({ "dl": u32::MAX })).complains(422, &["means no slice; write null"]);
    world.ask("PUT", &slices, json!({ "dll": 1 })).complains(422, &["did you mean `dl`?"]);
    let nobody = format!("{path}/1/slices");
    world.ask("PUT", &nobody, json!({ "dl": 1 })).complains(404, &["there is no UE with RNTI 1"]);
    world.ask("GET", &nobody, None).complains(404, &["no UE with RNTI 1"]);
    world.ask("GET", &format!("{path}/65536"), None).complains(404, &["no UE `65536`"]);
    world.ask("PUT", "/v1/nodes/nobody/ues/1/slices", json!({ "dl": 1 })).complains(404, &["no node"]);
}

#[test]
fn statistics_are_what_the_node_told_last() {
    let (world, _ran) = world();
    let path = |model: &str| format!("/v1/nodes/{NODE}/statistics/{model}");
    let mac = world.eventually(&path("mac"), |mac| mac["ues"].as_array().unwrap().len() == 4);
    assert_eq!(mac["left_out"], 0);
    assert!(mac["ues"][0]["dl_aggr_tbs_octets"].is_u64(), "{mac}");
    // it goes on
    let then = mac["timestamp_us"].as_i64().unwrap();
    world.eventually(&path("mac"), |mac| mac["timestamp_us"].as_i64().unwrap() > then);
    let rlc = world.eventually(&path("rlc"), |rlc| rlc["bearers"].as_array().unwrap().len() == 4);
    assert!(rlc["bearers"][0]["tx_buffer_octets"].is_u64(), "{rlc}");
    let pdcp = world.eventually(&path("pdcp"), |pdcp| pdcp["bearers"].as_array().unwrap().len() == 4);
    assert!(pdcp["bearers"][0]["tx_sdu_octets"].is_u64(), "{pdcp}");
    assert!(world.eventually(&path("tc"), |_| true)["lanes"].is_array());
    world.ask("GET", &path("gtp"), None).complains(404, &["mac, rlc, pdcp and tc, not of `gtp`"]);
    world.ask("GET", "/v1/nodes/nobody/statistics/mac", None).complains(404, &["no node `nobody`"]);
}

#[test]
fn what_a_controller_leaves_behind_is_seen_and_removed_by_the_next() {
    let first = World::start();
    let address = first.e2.clone();
    let _ran = Emulated::start(&address, RanConfig { scenario: Scenario::crowd(1, 4, 1), ..RanConfig::default() });
    first.knows_slices(NODE);
    let wanted = nvs(&[share(1, 66.0), share(2, 34.0)]);
    first.ask("PUT", DL, wanted.clone()).is(200);
    let ues = first.eventually(&format!("/v1/nodes/{NODE}/ues"), |ues| ues["ues"].as_array().unwrap().len() == 4);
    let slices = format!("/v1/nodes/{NODE}/ues/{}/slices", ues["ues"][0]["rnti"]);
    first.ask("PUT", &slices, json!({ "dl": 1 })).is(200);
    drop(first);

    let next = World::at(address, |_| ());
    next.knows_slices(NODE);
    assert_eq!(next.get(DL), wanted);
    assert_eq!(next.get(&slices)["dl"], 1);
    assert_eq!(next.ask("DELETE", &format!("{DL}/2"), None).status, 204);
    next.ask("PUT", &format!("{DL}/1"), share(1, 100.0)).is(200);
    assert_eq!(next.ask("DELETE", DL, None).status, 204);
    assert_eq!(next.get(&slices)["dl"], Value::Null);
}

#[test]
fn many_clients_at_once_get_each_an_answer() {
    let (world, _ran) = world();
    std::thread::scope(|scope| {
        for id in 1..=20 {
            let world = &world;
            scope.spawn(move || {
                let path = format!("{DL}/{id}");
                for _ in 0..5 {
                    world.ask("PUT", &path, share(id, 5.0)).is(201);
                    assert_eq!(world.get(&path)["share_percent"], 5.0);
                    assert_eq!(world.ask("DELETE", &path, None).status, 204);
                }
            });
        }
    });
    assert_eq!(world.get(DL)["slices"], json!([]));
}

#[test]
fn nodes_of_every_version_and_wire_form_are_served_alike() {
    // E2AP v01.00 has no object identifiers: FlexRIC's functions are known by their definitions
    for (version, wire) in [
        (Version::V1_00, Wire::Plain),
        (Version::V1_01, Wire::Per),
        (Version::V2_03, Wire::Flat),
        (Version::V3_01, Wire::Plain),
    ] {
        let world = World::with(|config| {
            config.server.loops = 3;
            config.server.controller.node_versions.insert(NODE.to_owned(), version);
        });
        let periodic = PeriodicConfig { wire, ..PeriodicConfig::default() };
        let scenario = Scenario::crowd(1, 2, 1);
        let config = RanConfig { scenario, e2ap_version: version, periodic, ..RanConfig::default() };
        let _ran = Emulated::start(&world.e2, config);
        world.knows_slices(NODE);
        let wanted = nvs(&[share(1, 50.0), share(2, 50.0)]);
        assert_eq!(world.ask("PUT", DL, wanted.clone()).is(200), wanted, "{version} {wire}");
        world.ask("PUT", &format!("{DL}/1"), share(1, 66.0)).complains(409, &["116.0 % asked for"]);
        let mac = world.eventually(&format!("/v1/nodes/{NODE}/statistics/mac"), |mac| mac["ues"] != json!([]));
        let slices = format!("/v1/nodes/{NODE}/ues/{}/slices", mac["ues"][0]["rnti"]);
        assert_eq!(world.ask("PUT", &slices, json!({ "dl": 2 })).is(200)["dl"], 2);
        let node = world.get(&format!("/v1/nodes/{NODE}"));
        assert_eq!((&node["e2ap"], &node["sources"][0]["wire"]), (&json!(version.to_string()), &json!(wire.name())));
    }
}
