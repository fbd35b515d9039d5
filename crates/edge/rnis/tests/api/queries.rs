//! The four queries, of both versions.

use crate::support::{TestService, plmn};
use serde_json::{Value, json};

fn cells_of(answer: &Value) -> Vec<&str> {
    answer["cellUserInfo"].as_array().unwrap().iter().map(|it| it["ecgi"]["cellId"].as_str().unwrap()).collect()
}

#[test]
fn rab_info_has_cells_ues_and_bearers() {
    let rnis = TestService::start();
    rnis.fill();
    let response = rnis.request_with("GET", "/rni/v2/queries/rab_info?app_ins_id=a-1", "x-request-id: r-7\r\n", None);
    let answer = response.expect(200);
    assert_eq!((&answer["appInstanceId"], &answer["requestId"]), (&json!("a-1"), &json!("r-7")));
    assert!(answer["timeStamp"]["seconds"].as_u64().unwrap() > 1_700_000_000);
    assert_eq!(cells_of(&answer), ["000000001", "000000002"]);
    assert_eq!(answer["cellUserInfo"][0]["ecgi"]["plmn"], plmn());
    let ue = &answer["cellUserInfo"][0]["ueInfo"][0];
    assert_eq!(ue["associateId"][1], json!({ "type": 2, "value": "2001:db8::2" }));
    let rates = json!({ "erabMbrDl": 2000, "erabMbrUl": 1000, "erabGbrDl": 800, "erabGbrUl": 400 });
    assert_eq!(ue["erabInfo"][0], json!({ "erabId": 5, "erabQosParameters": { "qci": 1, "qosInformation": rates } }));
    assert_eq!(ue["erabInfo"][1], json!({ "erabId": 6, "erabQosParameters": { "qci": 9 } }));
    assert!(answer["cellUserInfo"][1]["ueInfo"][0].get("associateId").is_none());
}

#[test]
fn each_parameter_of_rab_info_selects() {
    let rnis = TestService::start();
    rnis.fill();
    for (query, cells) in [
        ("cell_id=2", None),
        ("cell_id=000000002", Some(&["000000002"][..])),
        ("cell_id=0x000000002,000000001", Some(&["000000001", "000000002"])),
        ("ue_ipv4_address=10.45.0.9,10.45.0.2", Some(&["000000001"])),
        ("ue_ipv6_address=2001:DB8:0:0:0:0:0:2", Some(&["000000001"])),
        ("nated_ip_address=192.0.2.7", Some(&["000000001"])),
        ("gtp_teid=2A", Some(&["000000001"])),
        ("ue_ipv4_address=10.45.0.9", None),
        ("erab_id=5", Some(&["000000001"])),
        ("erab_id=7", None),
        ("qci=9", Some(&["000000001", "000000002"])),
        ("qci=1&cell_id=000000002", None),
        ("erab_mbr_dl=2000", Some(&["000000001"])),
        ("erab_mbr_ul=1000&erab_gbr_dl=800&erab_gbr_ul=400", Some(&["000000001"])),
        ("erab_gbr_ul=401", None),
    ] {
        for version in ["v1", "v2"] {
            let path = format!("/rni/{version}/queries/rab_info?{query}");
            let answer = rnis.rest.request("GET", &path, None);
            match cells {
                None => drop(answer.expect_problem(404, &["nothing"])),
                Some(cells) => {
                    let answer = answer.expect(200);
                    assert_eq!(cells_of(answer.get("RabInfo").unwrap_or(&answer)), cells, "{path}");
                }
            }
        }
    }
}

#[test]
fn plmn_info_has_an_item_for_each_application() {
    let rnis = TestService::start();
    rnis.rest.request("GET", "/rni/v2/queries/plmn_info", None).expect_problem(404, &["nothing"]);
    rnis.rest.request("GET", "/rni/v1/queries/plmn_info", None).expect_problem(404, &["nothing"]);
    rnis.fill();
    let answer = rnis.rest.get("/rni/v2/queries/plmn_info?app_ins_id=a,b");
    let items = answer.as_array().unwrap();
    assert_eq!((items.len(), &items[1]["appInstanceId"], &items[1]["plmn"]), (2, &json!("b"), &json!([plmn()])));
    let answer = rnis.rest.get("/rni/v1/queries/plmn_info?app_ins_id=a");
    let cell = |digits: &str| json!({ "plmn": plmn(), "cellId": digits });
    assert_eq!(answer["PlmnInfo"]["ecgi"], json!([cell("000000001"), cell("000000002")]));
    assert_eq!(answer["PlmnInfo"]["appInsId"], "a");
}

#[test]
fn s1_bearer_info_has_tunnels() {
    let rnis = TestService::start();
    rnis.fill();
    let answer = rnis.rest.get("/rni/v2/queries/s1_bearer_info?temp_ue_id=1-1234,7&cell_id=000000001&erab_id=4,5");
    let ue = &answer["s1UeInfo"][0];
    assert_eq!(
        (&ue["tempUeId"], &ue["ecgi"][0]["cellId"]),
        (&json!({ "mmec": "1", "mtmsi": "1234" }), &json!("000000001"))
    );
    let bearer = json!({
        "erabId": 5,
        "enbInfo": { "ipAddress": "10.0.0.1", "tunnelId": "0000002a" },
        "sGwInfo": { "ipAddress": "10.0.0.9", "tunnelId": "00000102" },
    });
    assert_eq!(ue["s1BearerInfoDetailed"], json!([bearer]));
    let old = rnis.rest.get("/rni/v1/queries/s1_bearer_info?temp_ue_id=1234");
    let ue = &old["S1BearerInfo"]["s1UeInfo"][0];
    assert_eq!(ue["s1BearerInfoDetailed"][0]["s1EnbInfo"], bearer["enbInfo"]);
    for none in ["temp_ue_id=2-1234", "erab_id=6", "gtp_teid=1", "cell_id=000000002"] {
        rnis.rest
            .request("GET", &format!("/rni/v2/queries/s1_bearer_info?{none}"), None)
            .expect_problem(404, &["nothing"]);
    }
}

#[test]
fn layer2_meas_selects_by_cell_by_ue_and_by_value() {
    let rnis = TestService::start();
    rnis.fill();
    let all = rnis.rest.get("/rni/v2/queries/layer2_meas");
    assert_eq!(all["cellInfo"].as_array().unwrap().len(), 2);
    // the second UE has no identity
    let cell = json!({ "plmn": plmn(), "cellId": "000000001" });
    let first = json!({
        "ecgi": cell, "associateId": { "type": 1, "value": "10.45.0.2" }, "dl_gbr_delay_ue": 7,
        "dl_nongbr_throughput_ue": 1500, "ul_nongbr_throughput_ue": 20,
    });
    assert_eq!(all["cellUEInfo"], json!([first]));
    assert_eq!(
        all["cellInfo"][0],
        json!({ "ecgi": cell, "dl_total_prb_usage_cell": 40, "ul_total_prb_usage_cell": 3 })
    );
    for (query, cells, ues) in [
        ("cell_id=000000002", 1, 0),
        ("dl_total_prb_usage_cell=40", 1, 0),
        ("dl_total_prb_usage_cell=40&ul_nongbr_throughput_ue=20", 1, 1),
        ("ul_nongbr_throughput_ue=20", 0, 1),
        ("gtp_teid=2a", 0, 1),
        ("cell_id=000000001", 1, 1),
    ] {
        let answer = rnis.rest.get(&format!("/rni/v2/queries/layer2_meas?{query}"));
        let count = |member: &str| answer.get(member).map_or(0, |list| list.as_array().unwrap().len());
        assert_eq!((count("cellInfo"), count("cellUEInfo")), (cells, ues), "{query}: {answer}");
    }
    // the identity by which it was selected
    let answer = rnis.rest.get("/rni/v2/queries/layer2_meas?nated_ip_address=192.0.2.7");
    assert_eq!(answer["cellUEInfo"][0]["associateId"]["type"], 3);
    for none in
        ["dl_total_prb_usage_cell=41", "dl_gbr_delay_ue=8", "received_randomly_selecte_preambles_low_range_cell=1"]
    {
        rnis.rest
            .request("GET", &format!("/rni/v2/queries/layer2_meas?{none}"), None)
            .expect_problem(404, &["nothing"]);
    }
}

#[test]
fn unknown_and_malformed_parameters_are_refused_by_name() {
    let rnis = TestService::start();
    rnis.fill();
    for (query, name) in [
        ("rab_info?cel_id=1", "cel_id"),
        ("rab_info?cell_id=", "cell_id"),
        ("rab_info?cell_id=1,,2", "cell_id"),
        ("rab_info?cell_id=12345678901", "cell_id"),
        ("rab_info?cell_id=g", "cell_id"),
        ("rab_info?cell_id=1&cell_id=2", "cell_id"),
        ("rab_info?ue_ipv4_address=10.45.0", "ue_ipv4_address"),
        ("rab_info?ue_ipv6_address=10.45.0.2", "ue_ipv6_address"),
        ("rab_info?nated_ip_address=x", "nated_ip_address"),
        ("rab_info?gtp_teid=123456789", "gtp_teid"),
        ("rab_info?gtp_teid=-1", "gtp_teid"),
        ("rab_info?erab_id=300", "erab_id"),
        ("rab_info?qci=-1", "qci"),
        ("rab_info?erab_mbr_dl=fast", "erab_mbr_dl"),
        ("rab_info?app_ins_id=", "app_ins_id"),
        ("plmn_info?app_instance_id=a", "app_instance_id"),
        ("s1_bearer_info?temp_ue_id=", "temp_ue_id"),
        ("s1_bearer_info?erab_id=5,x", "erab_id"),
    ] {
        for version in ["v1", "v2"] {
            let problem =
                rnis.rest.request("GET", &format!("/rni/{version}/queries/{query}"), None).expect_problem(400, &[name]);
            assert_eq!(problem["at"], name, "{problem}");
        }
    }
    let many = format!("/rni/v2/queries/rab_info?cell_id={}1", "1,".repeat(200));
    rnis.rest.request("GET", &many, None).expect_problem(400, &["cell_id: a list has at most"]);
    let problem = rnis.rest.request("GET", "/rni/v2/queries/layer2_meas?dl_gbr_delay_ue=", None);
    problem.expect_problem(400, &["dl_gbr_delay_ue"]);
    rnis.rest.request("GET", "/rni/v1/queries/layer2_meas", None).expect_problem(404, &["/rni/v1/openapi.json"]);
}
