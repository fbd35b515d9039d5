//! `ferric ric --rest` over HTTP.

mod program;

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use program::run;
use testkit::PATIENCE;
use testkit::http::{Client, Response};

fn ask(address: SocketAddr, path: &str) -> Response {
    Client::connect(address).request("GET", path, None)
}

#[test]
fn rest_shows_nodes_and_sets_slices() {
    let mut ric =
        program::start(&["ric", "--e2", "tcp://127.0.0.1:0", "--xapp", "tcp://127.0.0.1:0", "--rest", "127.0.0.1:0"]);
    let e2 = ric.line("e2=");
    let rest: SocketAddr = ric.line("rest=http://").parse().unwrap();
    assert_eq!(ask(rest, "/v1/nodes").expect(200)["nodes"].as_array().unwrap().len(), 0);
    let ran = program::start(&["ran", "--ric", &e2, "--ues", "2"]);
    let deadline = Instant::now() + PATIENCE;
    while ask(rest, "/v1/nodes/gnb-00101-e00/slices/dl").status != 200 {
        assert!(Instant::now() < deadline, "no slices of the node");
        std::thread::sleep(Duration::from_millis(10));
    }
    let wanted = r#"{"algorithm": "NVS", "slices": [{"id": 1, "share_percent": 50}]}"#;
    let answer = Client::connect(rest).request("PUT", "/v1/nodes/gnb-00101-e00/slices/dl", Some(wanted));
    assert_eq!(answer.expect(200)["slices"][0]["share_percent"], 50.0);
    ran.stop();
    // a second RIC cannot use the address
    let taken = run(&["ric", "--e2", "tcp://127.0.0.1:0", "--xapp", "tcp://127.0.0.1:0", "--rest", &rest.to_string()]);
    taken.complains(1, &["cannot listen on", &rest.to_string(), "end the program that listens there"]);
    ric.stop();
}

#[test]
fn demo_has_rest() {
    let mut demo = program::start(&["demo", "--plain", "--rest", "127.0.0.1:0"]);
    let rest: SocketAddr = demo.line("rest=http://").parse().unwrap();
    assert_eq!(demo.line("page="), format!("http://{rest}/"));
    let page = Client::connect(rest).request("GET", "/", None);
    assert!(page.status == 200 && page.body.contains("ferric RIC"), "{page:?}");
    let deadline = Instant::now() + PATIENCE;
    while ask(rest, "/v1/nodes/gnb-00101-e00/slices/dl").status != 200 {
        assert!(Instant::now() < deadline, "no slices of the node");
        std::thread::sleep(Duration::from_millis(10));
    }
    // the demo states where its UEs are
    while ask(rest, "/v1/positions").expect(200)["ues"].as_array().unwrap().len() != 32 {
        assert!(Instant::now() < deadline, "no positions of the UEs");
        std::thread::sleep(Duration::from_millis(10));
    }
    // until it ends
    let mut client = Client::connect(rest);
    client.request("GET", "/v1/nodes", None).expect(200);
    demo.stop();
    client.expect_closed();
}

#[test]
fn positions_need_the_address_of_a_rest_interface() {
    run(&["ran", "--positions", "tcp://127.0.0.1:8080"])
        .complains(1, &["`tcp://127.0.0.1:8080` is not http://HOST:PORT"]);
    run(&["ran", "--positions", "https://127.0.0.1:8080"]).complains(1, &["https:// requires the CA"]);
    run(&["ran", "--positions-token", "token"]).complains(2, &["--positions <URL>"]);
}

/// The texts between two marks.
fn between<'t>(text: &'t str, begin: &str, end: &str) -> Vec<&'t str> {
    text.split(begin).skip(1).map(|part| part.split(end).next().unwrap()).collect()
}

/// Runs the scenario and the requests of `docs/first-slice.md`, and checks the shares.
#[test]
fn first_slice_page_is_correct() {
    let page = include_str!("../../../../docs/first-slice.md");
    let scenario = std::env::temp_dir().join(format!("ferric-first-slice-{}.toml", std::process::id()));
    std::fs::write(&scenario, between(page, "<<'END'\n", "\nEND")[0]).unwrap();
    let mut ric =
        program::start(&["ric", "--e2", "tcp://127.0.0.1:0", "--xapp", "tcp://127.0.0.1:0", "--rest", "127.0.0.1:0"]);
    let (e2, rest) = (ric.line("e2="), ric.line("rest=http://").parse::<SocketAddr>().unwrap());
    let ran = program::start(&["ran", "--ric", &e2, "--scenario", scenario.to_str().unwrap()]);
    let node = "/v1/nodes/gnb-00101-e00";
    let deadline = Instant::now() + PATIENCE;
    while ask(rest, &format!("{node}/ues")).json()["ues"].as_array().is_none_or(|ues| ues.len() < 3) {
        assert!(Instant::now() < deadline, "no UEs of the node");
        std::thread::sleep(Duration::from_millis(20));
    }
    // of each UE; reports come each second
    let received = || loop {
        let answer = ask(rest, &format!("{node}/statistics/mac"));
        let octets = |ue: &serde_json::Value| ue["dl_aggr_sdu_octets"].as_f64().unwrap();
        match answer.json()["ues"].as_array() {
            Some(ues) if answer.status == 200 => break ues.iter().map(octets).collect::<Vec<_>>(),
            _ => assert!(Instant::now() < deadline, "{answer:?}"),
        }
    };
    // the first UE's part
    let share = || {
        std::thread::sleep(Duration::from_millis(1100));
        let before = received();
        std::thread::sleep(Duration::from_millis(2200));
        let gained: Vec<f64> = received().iter().zip(before).map(|(after, before)| after - before).collect();
        gained[0] / gained.iter().sum::<f64>()
    };
    let is_about = |share: f64, wanted: f64| assert!((share - wanted).abs() < 0.03, "{share} for {wanted}");
    is_about(share(), 1.0 / 3.0);
    let orders = between(page, "curl -X PUT $NODE", "'\n");
    assert_eq!(orders.len(), 5);
    for (order, wanted) in orders.iter().zip([None, None, None, Some(0.5), Some(0.66)]) {
        let (path, body) = order.split_once(" --json '").unwrap();
        Client::connect(rest).request("PUT", &format!("{node}{path}"), Some(body)).expect(200);
        wanted.inspect(|wanted| is_about(share(), *wanted));
    }
    std::fs::remove_file(scenario).unwrap();
    ran.stop();
    ric.stop();
}

#[test]
fn invalid_rest_address_is_refused() {
    run(&["ric", "--rest", "localhost"])
        .complains(2, &["--rest", "not an IP address and a port, such as 127.0.0.1:8080"]);
    let config = std::env::temp_dir().join(format!("ferric-rest-{}.toml", std::process::id()));
    std::fs::write(&config, "rest = \"localhost:8080\"").unwrap();
    let outcome = run(&["ric", "--config", config.to_str().unwrap()]);
    let _ = std::fs::remove_file(&config);
    outcome.complains(1, &["rest: `localhost:8080` is not an address and a port, such as 127.0.0.1:8080"]);
}

#[test]
fn invalid_rest_access_is_refused() {
    let tokens = std::env::temp_dir().join(format!("ferric-rest-tokens-{}", std::process::id()));
    std::fs::write(&tokens, "control short").unwrap();
    let path = tokens.to_str().unwrap();
    let says = |arguments: &[&str], piece| run(&[&["ric"], arguments].concat()).complains(1, &[piece]);
    says(&["--rest", "127.0.0.1:0", "--rest-tokens", path], "line 1: a token has 16 to 1024 characters; `openssl rand");
    says(&["--rest", "127.0.0.1:0", "--rest-tokens", "/nowhere"], "cannot read the token file /nowhere");
    says(&["--rest", "127.0.0.1:0", "--rest-cert", path, "--rest-key", path], "holds no certificate as PEM");
    says(&["--rest-tokens", path], "give --rest");
    says(&["--rest", "127.0.0.1:0", "--rest-rules", path], "expected value at line 1 column 1; correct the file");
    says(&["--rest", "127.0.0.1:0", "--rest-rules", "/"], "cannot read the rules in /");
    says(&["--rest-rules", "/nowhere/rules.json"], "give --rest");
    run(&["ric", "--rest-cert", path]).complains(2, &["--rest-key"]);
    std::fs::remove_file(&tokens).unwrap();
}

#[test]
fn rest_interface_beyond_loopback_needs_authentication() {
    let folder = std::env::temp_dir().join(format!("ferric-rest-open-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (config, tokens) = (folder.join("ric.toml"), folder.join("tokens"));
    let base = "e2 = [\"tcp://127.0.0.1:0\"]\nxapp = \"tcp://127.0.0.1:0\"\nrest = \"0.0.0.0:0\"\n";
    std::fs::write(&config, base).unwrap();
    let refused = run(&["ric", "--config", config.to_str().unwrap()]);
    refused.complains(1, &["REST without authentication serves loopback addresses only", "configure tokens"]);
    std::fs::write(&tokens, "read 0123456789abcdef\n").unwrap();
    std::fs::write(&config, format!("{base}[rest_access]\ntokens = \"{}\"", tokens.display())).unwrap();
    let mut ric = program::start(&["ric", "--config", config.to_str().unwrap()]);
    ric.logs("REST receives its tokens unencrypted and is reachable from other hosts; configure a certificate");
    let rest: SocketAddr = ric.line("rest=http://").parse().unwrap();
    // with any host name
    let mut client = Client::connect(SocketAddr::from(([127, 0, 0, 1], rest.port())));
    client.write(b"GET /v1/nodes HTTP/1.1\r\nhost: ric.example\r\nauthorization: Bearer 0123456789abcdef\r\n\r\n");
    client.receive().expect(200);
    std::fs::remove_dir_all(&folder).unwrap();
    ric.stop();
}
