//! What the live page reads beside the other resources: its files, decoded messages and positions. The page itself is tested in a
//! browser: `scripts/page test`.

use serde_json::{Value, json};
use system_tests::TestRic;
use testkit::http::Client;

/// An E2 setup request of E2AP v02.03.
const SETUP: &str = include_str!("../../../../vectors/e2ap/v02.03/e2_setup_request-minimal.hex");

#[test]
fn page_and_its_files_are_served_with_a_strict_policy() {
    let ric = TestRic::start();
    let get = |path: &str| Client::connect(ric.rest.address).request("GET", path, None);
    let page = get("/");
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
    let mut files = 0;
    for path in page.body.split('"').filter(|text| text.starts_with("/page/")) {
        let file = get(path);
        assert_eq!(file.status, 200, "{path}");
        assert!(file.body.len() > 100 && file.header("etag").is_some(), "{path}");
        files += 1;
    }
    assert_eq!(files, 3, "script, styles and icon: {}", page.body);
    // a browser asks no other server
    assert!(!page.body.contains("://"), "{}", page.body);
}

#[test]
fn messages_are_decoded_and_what_is_none_is_refused() {
    let ric = TestRic::start();
    let decode =
        |name: &str, octets: &str| ric.rest.request("POST", "/v1/decode", json!({ "type": name, "octets": octets }));
    let setup = decode("e2ap", SETUP).expect(200);
    assert_eq!(setup["message"]["e2ap"], "2.03", "{setup}");
    assert!(setup["message"].to_string().contains("transaction_id"), "{setup}");
    let period = decode("mac-plain:EventTriggerDefinition", "e8 03 00 00").expect(200);
    assert_eq!(period["message"], json!({ "period_ms": 1000 }));
    let types = ric.rest.get("/v1/decode/types");
    assert!(types["types"].as_array().unwrap().contains(&json!("mac-plain:EventTriggerDefinition")));
    for (name, octets, at, piece) in [
        ("e2ap", "0001", "octets", "not E2AP v2.03"),
        ("e2ap", "0g", "octets", "hexadecimal digits"),
        ("e2ap", "", "octets", "hexadecimal digits"),
        ("e2ap-v09.00", "00", "type", "unknown E2AP version"),
        ("mac:Nothing", "00", "type", "unknown type `mac:Nothing`"),
        ("mac-plain:EventTriggerDefinition", "e8", "octets", "not a mac-plain:EventTriggerDefinition"),
    ] {
        let problem = decode(name, octets).expect_problem(422, &[piece]);
        assert_eq!(problem["at"], at, "{problem}");
    }
    let long = "00".repeat(256 * 1024 + 1);
    decode("e2ap", &long).expect_problem(422, &["more than 262144 octets"]);
}

#[test]
fn positions_are_stated_and_read() {
    let ric = TestRic::start();
    assert_eq!(ric.rest.get("/v1/positions"), json!({ "cells": [], "ues": [], "age_ms": null }));
    let cells = json!([{ "cell": "003800001", "x_m": 0.0, "y_m": -10_000_000.0 }]);
    let ues = json!([{ "ue": "ip:10.45.0.2", "x_m": 120.5, "y_m": 7.0 }]);
    let put = |body: Value| ric.rest.request("PUT", "/v1/positions", body);
    put(json!({ "cells": cells, "ues": ues })).expect(204);
    let stated = ric.rest.get("/v1/positions");
    assert_eq!((&stated["cells"], &stated["ues"]), (&cells, &ues));
    assert!(stated["age_ms"].as_u64().is_some_and(|age| age < 600_000), "{stated}");
    let ue = |name: &str, x_m: f64| json!({ "cells": [], "ues": [{ "ue": name, "x_m": x_m, "y_m": 0.0 }] });
    put(ue("amf:1", 10_000_000.1)).expect_problem(422, &["ues[0].x_m", "10000000.1 m is beyond"]);
    put(ue("", 0.0)).expect_problem(422, &["ues[0].ue", "1 to 64 octets"]);
    put(ue(&"a".repeat(65), 0.0)).expect_problem(422, &["ues[0].ue"]);
    put(json!({ "cells": [] })).expect_problem(422, &["ues"]);
    let many = vec![json!({ "cell": "a", "x_m": 0, "y_m": 0 }); 10_001];
    put(json!({ "cells": many, "ues": [] })).expect_problem(422, &["cells: 10001 entries"]);
    // a refusal changes nothing
    assert_eq!(ric.rest.get("/v1/positions")["ues"], ues);
}
