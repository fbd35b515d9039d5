//! `ferric ric --rest`, asked from outside.

#[path = "../../ric/tests/common/http.rs"]
#[allow(dead_code, reason = "each test takes what it needs")]
mod http;
mod program;

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use http::{Client, PATIENCE};
use program::{Program, run};

fn ask(address: SocketAddr, path: &str) -> http::Answer {
    Client::connect(address).ask("GET", path, None)
}

#[test]
fn a_ric_with_rest_tells_of_a_ran() {
    let mut ric =
        Program::start(&["ric", "--e2", "tcp://127.0.0.1:0", "--xapp", "tcp://127.0.0.1:0", "--rest", "127.0.0.1:0"]);
    let e2 = ric.line("e2=");
    let rest: SocketAddr = ric.line("rest=http://").parse().unwrap();
    assert_eq!(ask(rest, "/v1/nodes").is(200)["nodes"].as_array().unwrap().len(), 0);
    let ran = Program::start(&["ran", "--ric", &e2, "--ues", "2"]);
    let deadline = Instant::now() + PATIENCE;
    while ask(rest, "/v1/nodes/gnb-00101-e00/slices/dl").status != 200 {
        assert!(Instant::now() < deadline, "the node's slices are never told");
        std::thread::sleep(Duration::from_millis(10));
    }
    let wanted = r#"{"algorithm": "NVS", "slices": [{"id": 1, "share_percent": 50}]}"#;
    let answer = Client::connect(rest).ask("PUT", "/v1/nodes/gnb-00101-e00/slices/dl", Some(wanted));
    assert_eq!(answer.is(200)["slices"][0]["share_percent"], 50.0);
    ran.stop();
    // another finds its place taken, and is told what to do
    let taken = run(&["ric", "--e2", "tcp://127.0.0.1:0", "--xapp", "tcp://127.0.0.1:0", "--rest", &rest.to_string()]);
    taken.complains(1, &["cannot listen on", &rest.to_string(), "end the program that listens there"]);
    ric.stop();
}

#[test]
fn the_demo_speaks_rest_too() {
    let mut demo = Program::start(&["demo", "--rest", "127.0.0.1:0"]);
    let rest: SocketAddr = demo.line("rest=http://").parse().unwrap();
    let deadline = Instant::now() + PATIENCE;
    while ask(rest, "/v1/nodes/gnb-00101-e00/slices/dl").status != 200 {
        assert!(Instant::now() < deadline, "the node's slices are never told");
        std::thread::sleep(Duration::from_millis(10));
    }
    // until it ends
    let mut client = Client::connect(rest);
    client.ask("GET", "/v1/nodes", None).is(200);
    demo.stop();
    client.expect_closed();
}

#[test]
fn an_address_that_is_none_is_refused() {
    run(&["ric", "--rest", "localhost"]).complains(2, &["--rest", "invalid socket address"]);
    let config = std::env::temp_dir().join(format!("ferric-rest-{}.toml", std::process::id()));
    std::fs::write(&config, "rest = \"localhost:8080\"").unwrap();
    let outcome = run(&["ric", "--config", config.to_str().unwrap()]);
    let _ = std::fs::remove_file(&config);
    outcome.complains(1, &["rest: `localhost:8080` is not an address and a port, such as 127.0.0.1:8080"]);
}

#[test]
fn an_interface_that_others_reach_is_warned_of() {
    let config = std::env::temp_dir().join(format!("ferric-rest-open-{}.toml", std::process::id()));
    std::fs::write(&config, "e2 = [\"tcp://127.0.0.1:0\"]\nxapp = \"tcp://127.0.0.1:0\"\nrest = \"0.0.0.0:0\"")
        .unwrap();
    let mut ric = Program::start(&["ric", "--config", config.to_str().unwrap()]);
    ric.logs("REST has no authentication and is reachable from other hosts");
    let rest: SocketAddr = ric.line("rest=http://").parse().unwrap();
    let _ = std::fs::remove_file(&config);
    // by any name
    let mut client = Client::connect(SocketAddr::from(([127, 0, 0, 1], rest.port())));
    client.write(b"GET /v1/nodes HTTP/1.1\r\nhost: ric.example\r\n\r\n");
    client.receive().is(200);
    ric.stop();
}
