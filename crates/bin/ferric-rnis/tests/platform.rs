//! Discovery of the service at a MEC platform: its own, and another one.

use testkit::http::Client;
use testkit::program::Program;

const PROGRAM: &str = env!("CARGO_BIN_EXE_ferric-rnis");

/// A service with the load generator in the place of a RIC, and a client of its REST interface.
fn start(arguments: &[&str]) -> (Program, String) {
    let arguments = [&["--rest", "127.0.0.1:0", "--load", "1"], arguments].concat();
    let mut program = Program::start_with_input(PROGRAM, &arguments);
    let url = program.line("rnis=");
    (program, url.trim_end_matches("/rni/v2").to_owned())
}

fn services(url: &str) -> Vec<String> {
    let address = url.trim_start_matches("http://").parse().unwrap();
    let found = Client::connect(address).request("GET", "/mec_service_mgmt/v1/services?ser_name=rni", None).expect(200);
    let uri =
        |service: &serde_json::Value| service["transportInfo"]["endpoint"]["uris"][0].as_str().unwrap().to_owned();
    found.as_array().unwrap().iter().map(uri).collect()
}

#[test]
fn service_is_discovered_at_its_own_platform() {
    let (_rnis, url) = start(&[]);
    assert_eq!(services(&url), [format!("{url}/rni/v2"), format!("{url}/rni/v1")]);
    let (_rnis, url) = start(&["--api-root", "https://mec.example/edge/"]);
    assert_eq!(services(&url)[0], "https://mec.example/edge/rni/v2");
}

#[test]
fn service_registers_at_another_platform_until_it_ends() {
    let (_platform, at) = start(&[]);
    let (rnis, url) = start(&["--mep", &at, "--app-instance-id", "second"]);
    testkit::eventually("the registration", || services(&at).contains(&format!("{url}/rni/v2")));
    // one version is registered after the other
    testkit::eventually("both versions", || services(&at).len() == 4);
    rnis.stop();
    testkit::eventually("the end of the registration", || services(&at).len() == 2);
}

#[test]
fn platform_options_are_refused_with_their_names() {
    let refused = |arguments: &[&str], pieces: &[&str]| {
        testkit::program::run(PROGRAM, &[&["--rest", "127.0.0.1:0", "--load", "1"], arguments].concat())
            .complains(1, pieces);
    };
    refused(&["--app-instance-id", "a b"], &["--app-instance-id", "a b"]);
    refused(&["--mep", "https://127.0.0.1:1"], &["--mep"]);
    refused(&["--mep", "ftp://127.0.0.1"], &["--mep", "ftp://127.0.0.1"]);
}
