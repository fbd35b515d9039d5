//! The OpenAPI document by a validator, and the RIC by requests that are generated from the document.
//!
//! `FERRIC_OPENAPI_TOOLS` names the folder with `openapi-spec-validator` and `schemathesis`; scripts/northbound has them. Without
//! it, these tests say what they did not test.

use std::path::PathBuf;
use std::process::{Command, Output};

use ran::{RanConfig, Scenario};
use system_tests::{TestRan, TestRic};

const NODE: &str = "gnb-00101-e00";
/// Generated requests of each operation.
const EXAMPLES: &str = "20";
/// Streams have no end.
const STREAMS: &str = "/v1/(events|stream|kpm/stream|nodes/.*/messages)$";

/// What a request that fits its schema may be answered with. A schema says little about fields that exclude each other, and nothing
/// about what a node can do: 422. The text of a UE is a path parameter with a grammar of its own: 400.
const CONFIGURATION: &str = r#"
[checks]
positive_data_acceptance.expected-statuses = ["2xx", "400", "401", "403", "404", "409", "422", "429"]
"#;

fn tools() -> Option<PathBuf> {
    let tools = std::env::var_os("FERRIC_OPENAPI_TOOLS").map(PathBuf::from);
    if tools.is_none() {
        eprintln!("NOT TESTED: FERRIC_OPENAPI_TOOLS does not name the tools; scripts/northbound has them");
    }
    tools
}

fn succeeds(output: &Output) {
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{stdout}\n{stderr}");
}

#[test]
fn document_is_valid_openapi() {
    let Some(tools) = tools() else { return };
    let ric = TestRic::start();
    let document = ric.rest.request("GET", "/v1/openapi.json", None).body;
    let file = std::env::temp_dir().join(format!("ferric-openapi-{}.json", std::process::id()));
    std::fs::write(&file, document).unwrap();
    let validator = Command::new(tools.join("openapi-spec-validator")).args(["--schema", "3.1"]).arg(&file).output();
    succeeds(&validator.unwrap());
    std::fs::remove_file(file).unwrap();
}

#[test]
fn generated_requests_are_answered_as_the_document_says() {
    let Some(tools) = tools() else { return };
    let ric = TestRic::start();
    let scenario = Scenario::with_mixed_traffic(1, 2, 1);
    let _ran = TestRan::start(&ric.e2, RanConfig { scenario, ..RanConfig::default() });
    ric.await_slices(NODE);
    let folder = std::env::temp_dir().join(format!("ferric-schemathesis-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("schemathesis.toml"), CONFIGURATION).unwrap();
    let schemathesis = Command::new(tools.join("schemathesis"))
        .current_dir(&folder)
        .args(["run", &format!("http://{}/v1/openapi.json", ric.rest.address)])
        .args(["--max-examples", EXAMPLES, "--seed", "1", "--generation-deterministic", "--no-color"])
        .args(["--phases", "examples,coverage,fuzzing", "--exclude-path-regex", STREAMS])
        .args(["--request-timeout", "20", "--warnings", "off"])
        .output();
    succeeds(&schemathesis.unwrap());
    std::fs::remove_dir_all(folder).unwrap();
}
