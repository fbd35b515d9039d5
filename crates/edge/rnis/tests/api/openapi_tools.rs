//! The OpenAPI documents by a validator, and the service by requests that are generated from them.
//!
//! `FERRIC_OPENAPI_TOOLS` names the folder with `openapi-spec-validator` and `schemathesis`; scripts/northbound has them. Without
//! it, these tests say what they did not test. `FERRIC_CLIENT_GENERATOR` names the folder with `openapi-python-client`.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::support::{Callbacks, TestService, bodies};
use crate::tenancy::{Tenancy, tenant};

const DOCUMENTS: [&str; 2] = ["/rni/v1/openapi.json", "/rni/v2/openapi.json"];
/// Generated requests of each operation.
const EXAMPLES: &str = "20";

/// What a request that fits its schema may be answered with: a schema says little about texts that are URIs, addresses and lists
/// (400, and 422 for what is understood), and nothing about what is known of the network (404).
const CONFIGURATION: &str = r#"
[checks]
positive_data_acceptance.expected-statuses = ["2xx", "400", "401", "403", "404", "422", "429"]
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

/// A folder for a test, empty.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("ferric-rnis-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn documents_are_valid_openapi() {
    let Some(tools) = tools() else { return };
    let (rnis, folder) = (TestService::start(), folder("validator"));
    for document in DOCUMENTS {
        let file = folder.join("document.json");
        std::fs::write(&file, rnis.rest.request("GET", document, None).body).unwrap();
        let validator =
            Command::new(tools.join("openapi-spec-validator")).args(["--schema", "3.1"]).arg(&file).output();
        succeeds(&validator.unwrap());
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// Sends generated requests to all operations of a document, with further arguments.
fn try_generated_requests(tools: &Path, folder: &Path, rnis: &TestService, document: &str, arguments: &[&str]) {
    std::fs::write(folder.join("schemathesis.toml"), CONFIGURATION).unwrap();
    let schemathesis = Command::new(tools.join("schemathesis"))
        .current_dir(folder)
        .args(["run", &format!("http://{}{document}", rnis.rest.address)])
        .args(["--seed", "1", "--generation-deterministic", "--no-color"])
        .args(["--request-timeout", "20", "--warnings", "off"])
        .args(arguments)
        .output();
    succeeds(&schemathesis.unwrap());
}

/// How many requests, and what not: a WebSocket is opened by a handshake, and a stream has no end.
const ALL: [&str; 6] = [
    "--phases",
    "examples,coverage,fuzzing",
    "--max-examples",
    EXAMPLES,
    "--exclude-path-regex",
    "/rni/v2/notifications/|/rnis/v1/stream",
];
/// The same for tenants: what is not for them is refused, whatever the request.
const OF_TENANTS: [&str; 6] = [
    "--phases",
    "examples,fuzzing",
    "--max-examples",
    "5",
    "--exclude-path-regex",
    "/rni/v2/notifications/|/rnis/v1/stream|/metrics",
];

#[test]
fn generated_requests_are_answered_as_the_documents_say() {
    let Some(tools) = tools() else { return };
    let (rnis, folder) = (TestService::start(), folder("schemathesis"));
    rnis.fill();
    for document in DOCUMENTS {
        try_generated_requests(&tools, &folder, &rnis, document, &ALL);
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// One tenant has all rights, the other one few. What is generated without a token, or with another one, must be refused.
#[test]
fn generated_requests_of_two_tenants_are_answered_as_the_documents_say() {
    let Some(tools) = tools() else { return };
    let few = "event_types = [\"cell_change\", \"rab_est\"]\nqueries = [\"rab_info\"]\ncells = [\"00101-000000001\"]\nmax_subscriptions = 5";
    let (rnis, folder) = (Tenancy::start(&(tenant("all", "") + &tenant("few", few))), folder("schemathesis-tenants"));
    rnis.rnis.fill();
    for name in ["all", "few"] {
        let header = format!("Authorization: Bearer {}", rnis.token(name));
        for document in DOCUMENTS {
            let arguments = [&OF_TENANTS[..], &["--header", &header]].concat();
            try_generated_requests(&tools, &folder, &rnis.rnis, document, &arguments);
        }
    }
    let subscriptions = |owner: &str| rnis.rnis.service.find(|subscription| &*subscription.owner == owner).len();
    // generated requests delete subscriptions too
    assert!(subscriptions("few") <= 5, "{} subscriptions of the second one", subscriptions("few"));
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn generated_client_compiles_and_subscribes() {
    let Some(tools) = std::env::var_os("FERRIC_CLIENT_GENERATOR").map(PathBuf::from) else {
        eprintln!("NOT TESTED: FERRIC_CLIENT_GENERATOR does not name openapi-python-client; scripts/northbound has it");
        return;
    };
    let (rnis, callbacks, folder) = (TestService::start(), Callbacks::start(), folder("client"));
    let document = folder.join("document.json");
    std::fs::write(&document, rnis.rest.request("GET", "/rni/v2/openapi.json", None).body).unwrap();
    let client = folder.join("client");
    // it formats what it has written with a tool that is beside it
    let path = std::env::join_paths(
        std::iter::once(tools.clone()).chain(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())),
    );
    let generated = Command::new(tools.join("openapi-python-client"))
        .env("PATH", path.unwrap())
        .args(["generate", "--meta", "none", "--overwrite", "--path"])
        .args([&document, &PathBuf::from("--output-path"), &client])
        // a part of the document that it does not understand would be missing
        .arg("--fail-on-warning")
        .output();
    succeeds(&generated.unwrap());
    let python = tools.join("python");
    succeeds(&Command::new(&python).args(["-m", "compileall", "-q"]).arg(&client).output().unwrap());

    let ids = bodies(&callbacks.url("typed")).into_iter().map(|(_, body)| {
        let (path, _) = rnis.create("/rni/v2/subscriptions", &body);
        path.rsplit('/').next().unwrap().to_owned()
    });
    let ids: Vec<String> = ids.collect();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/api/generated_client.py");
    let url = format!("http://{}", rnis.rest.address);
    let subscribed = Command::new(&python)
        .env("PYTHONPATH", &folder)
        .args([script, &url, &callbacks.url("generated")])
        .args(ids)
        .output();
    succeeds(&subscribed.unwrap());
    let received = callbacks.expect("generated", 1);
    assert_eq!(received[0]["notificationType"], "TestNotification");
    std::fs::remove_dir_all(folder).unwrap();
}
