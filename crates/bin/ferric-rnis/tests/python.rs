//! The example application in Python, as its users run it: the standard library is sufficient.

use std::path::Path;
use std::process::{Command, Stdio};

use testkit::http::Client;
use testkit::program::Program;

#[test]
fn python_application_subscribes_adapts_and_unsubscribes() {
    if Command::new("python3").arg("--version").stdout(Stdio::null()).status().is_err() {
        eprintln!("NOT TESTED: there is no python3");
        return;
    }
    let mut demo = Program::start(env!("CARGO_BIN_EXE_ferric-rnis"), &["demo", "--rest", "127.0.0.1:0"]);
    let url = demo.line("rnis=");
    let url = url.trim_end_matches("/rni/v2");
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../examples/rnis/video.py");
    assert!(std::fs::read_to_string(&example).unwrap().lines().count() < 100);
    let mut application = Program::start("python3", &[example.to_str().unwrap(), url]);
    let subscription = application.line("subscribed: ");
    assert!(subscription.starts_with(&format!("{url}/rni/v2/subscriptions/")), "{subscription}");
    let decision = application.line("10.45.");
    assert!(decision.contains(" dB: video in "), "{decision}");
    application.stop();
    let address = url.trim_start_matches("http://").parse().unwrap();
    let left = Client::connect(address).request("GET", "/rnis/v1/subscriptions", None).expect(200);
    assert_eq!(left["subscriptions"].as_array().unwrap().len(), 2, "those of the demo: {left}");
}
