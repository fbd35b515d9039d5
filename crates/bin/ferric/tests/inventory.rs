//! `ferric nodes`, `cells`, `ues`, `slices`, `subscriptions` and `xapps` with a RIC and an emulated RAN.

mod program;

use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use program::{FERRIC, File, PATIENCE, Program};
use serde_json::{Value, json};

const NODE: &str = "gnb-00101-e00";
const RESOURCES: [&str; 6] = ["nodes", "cells", "ues", "slices", "subscriptions", "xapps"];

/// A RIC with REST.
struct Ric {
    program: Program,
    e2: String,
    xapp: String,
    rest: String,
}

impl Ric {
    fn start(options: &[&str]) -> Ric {
        let any = "tcp://127.0.0.1:0";
        let mut program =
            program::start(&[&["ric", "--e2", any, "--xapp", any, "--rest", "127.0.0.1:0"], options].concat());
        let e2 = program.line("e2=");
        let xapp = program.line("xapp=");
        let rest = program.line("rest=");
        Ric { program, e2, xapp, rest }
    }
}

/// Runs the program with variables of the environment.
fn run(arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(FERRIC);
    command.args(arguments).env_remove("FERRIC_REST").env_remove("FERRIC_REST_TOKEN").stdin(Stdio::null());
    command.envs(variables.iter().copied()).output().unwrap()
}

#[track_caller]
fn stdout(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[track_caller]
fn complains(output: &Output, code: i32, pieces: &[&str]) {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), &*output.stdout), (Some(code), &b""[..]), "{stderr}");
    for piece in pieces {
        assert!(stderr.contains(piece), "missing: {piece}\n{stderr}");
    }
}

/// The JSON of a list, once it is as expected.
fn await_json(rest: &str, resource: &str, is_expected: impl Fn(&Value) -> bool) -> Value {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let text = stdout(&run(&[resource, "--json", "--rest", rest], &[]));
        assert_eq!(text.lines().count(), 1, "{text}");
        let document = serde_json::from_str(&text).unwrap();
        if is_expected(&document) {
            return document;
        }
        assert!(Instant::now() < deadline, "{resource}: {document}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The words of each line of a table, the heading first.
fn table(rest: &str, resource: &str) -> Vec<Vec<String>> {
    let text = stdout(&run(&[resource, "--rest", rest], &[]));
    assert!(!text.contains('\x1b'), "it is plain where there is no terminal: {text:?}");
    let words = |line: &str| {
        let words = line.split("  ").filter(|word| !word.is_empty());
        words.map(|word| word.trim().to_owned()).collect()
    };
    text.lines().map(words).collect()
}

#[test]
fn lists_show_a_network() {
    let ric = Ric::start(&[]);
    for resource in RESOURCES {
        assert_eq!(table(&ric.rest, resource).len(), 1, "{resource}: a heading");
    }
    let output = run(&["nodes", "--rest", &ric.rest], &[]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("connect a base station, or `ferric ran`"), "{output:?}");

    let ran = program::start(&["ran", "--ric", &ric.e2, "--ues", "2"]);
    let xapp = program::start(&["xapp", "kpm", "--ric", &ric.xapp]);
    let has_all = |all: &Value| all["ues"].as_array().is_some_and(|ues| ues.len() == 2 && !ues[1]["slices"].is_null());
    let ues = await_json(&ric.rest, "ues", has_all);
    let name = |of: usize| ues["ues"][of]["ue"].as_str().unwrap().to_owned();
    assert!(name(0).starts_with("amf:"), "{ues}");

    let nodes = await_json(&ric.rest, "nodes", |all| all["nodes"][0]["ues"] == 2);
    assert_eq!((&nodes["nodes"][0]["id"], &nodes["nodes"][0]["has_slices"]), (&json!(NODE), &json!(true)));
    let rows = table(&ric.rest, "nodes");
    assert_eq!(rows[0], ["NODE", "E2AP", "UES", "SLICES"]);
    assert_eq!(rows[1], [NODE, nodes["nodes"][0]["e2ap"].as_str().unwrap(), "2", "yes"]);

    let rows = table(&ric.rest, "ues");
    assert_eq!(rows[0], ["UE", "RNTI", "CELL", "S-NSSAI", "SLICE", "ADDRESS", "NODE"]);
    let rnti = format!("{:#06x}", ues["ues"][0]["rnti"].as_u64().unwrap());
    assert_eq!((&rows[1][0], &rows[1][1], &*rows[1][6]), (&name(0), &rnti, NODE), "{rows:?}");

    let cell = await_json(&ric.rest, "cells", |all| !all["cells"].as_array().unwrap().is_empty());
    assert_eq!(cell["cells"][0]["node"], NODE);
    let number = |text: &Value| u64::from_str_radix(text.as_str().unwrap().rsplit('-').next().unwrap(), 16).unwrap();
    assert_eq!(number(&cell["cells"][0]["id"]), number(&ues["ues"][0]["cell"]), "{cell} {ues}");
    await_json(&ric.rest, "cells", |all| all["cells"][0]["administrative_state"] == "unlocked");
    let rows = table(&ric.rest, "cells");
    assert_eq!(
        (&rows[0][3..], &*rows[1][1]),
        (&["ADMINISTRATIVE", "STATE", "ENERGY SAVING"].map(str::to_owned)[..], NODE)
    );
    assert_eq!(rows[1][3..], ["unlocked", "active", "no"]);

    let of_xapp = |all: &Value| all["xapps"][0]["subscriptions"].as_array().is_some_and(|all| !all.is_empty());
    let xapps = await_json(&ric.rest, "xapps", of_xapp);
    assert_eq!(xapps["xapps"][0]["name"], "ferric-kpm");
    assert_eq!(table(&ric.rest, "xapps")[1][..2], ["ferric-kpm", "1"]);
    let id = xapps["xapps"][0]["subscriptions"][0].to_string();
    let subscription = table(&ric.rest, "subscriptions").into_iter().find(|row| row[0] == id).unwrap();
    assert_eq!((&*subscription[1], &*subscription[3], &*subscription[5]), (NODE, "active", "ferric-kpm (1)"));
    let counted = await_json(&ric.rest, "subscriptions", |all| {
        let of_xapp = all["subscriptions"]
            .as_array()
            .unwrap()
            .iter()
            .find(|of| of["id"].as_u64().is_some_and(|of| of.to_string() == id));
        of_xapp.is_some_and(|of| of["indications"].as_u64() > Some(1))
    });
    let of_xapp = counted["subscriptions"]
        .as_array()
        .unwrap()
        .iter()
        .find(|of| of["id"].as_u64().is_some_and(|of| of.to_string() == id))
        .unwrap();
    assert!(of_xapp["indication_octets"].as_u64() > of_xapp["indications"].as_u64(), "{of_xapp}");
    assert!(of_xapp["newest_age_ms"].as_f64().is_some_and(|age| (0.0..60_000.0).contains(&age)), "{of_xapp}");

    let half = r#"{"algorithm": "NVS", "slices": [{"id": 1, "label": "half", "share_percent": 50}]}"#;
    let address = ric.rest.strip_prefix("http://").unwrap().parse().unwrap();
    let mut client = testkit::http::Client::connect(address);
    client.request("PUT", &format!("/v1/nodes/{NODE}/slices/dl"), Some(half)).expect(200);
    let slices = await_json(&ric.rest, "slices", |all| all["nodes"][0]["dl"]["slices"][0]["id"] == 1);
    assert_eq!((&slices["nodes"][0]["id"], &slices["nodes"][0]["dl"]["algorithm"]), (&json!(NODE), &json!("NVS")));
    assert_eq!(table(&ric.rest, "slices")[1][..6], [NODE, "dl", "1", "half", "NVS", "50.0 %"]);

    xapp.stop();
    ran.stop();
    ric.program.stop();
}

#[test]
fn watched_list_changes_and_survives_a_restart_of_the_ric() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let url = format!("http://{free}");
    let any = "tcp://127.0.0.1:0";
    let start = || {
        let mut ric = program::start(&["ric", "--e2", any, "--xapp", any, "--rest", &free]);
        let e2 = ric.line("e2=");
        ric.line("rest=");
        (ric, e2)
    };
    let (ric, _) = start();
    let mut watch = program::start(&["nodes", "--json", "--watch", "1", "--rest", &url]);
    assert_eq!(watch.line("{\"nodes\":"), "[]}");
    ric.stop();
    watch.logs("start a RIC with REST");
    let (ric, e2) = start();
    let ran = program::start(&["ran", "--ric", &e2, "--ues", "1"]);
    while !watch.line("{\"nodes\":").contains(NODE) {}
    watch.stop();
    ran.stop();
    ric.stop();
}

#[test]
fn address_is_that_of_the_option_then_of_the_variable() {
    let ric = Ric::start(&[]);
    assert_eq!(stdout(&run(&["nodes", "--json"], &[("FERRIC_REST", &ric.rest)])), "{\"nodes\":[]}\n");
    let nothing = [("FERRIC_REST", "http://127.0.0.1:1")];
    assert_eq!(stdout(&run(&["nodes", "--json", "--rest", &ric.rest], &nothing)), "{\"nodes\":[]}\n");
    complains(
        &run(&["nodes"], &nothing),
        1,
        &["http://127.0.0.1:1/v1/nodes", "ferric ric --rest 127.0.0.1:8080", "FERRIC_REST"],
    );
    complains(&run(&["nodes"], &[("FERRIC_REST", "tcp://x")]), 1, &["FERRIC_REST=tcp://x: not http://HOST:PORT"]);
    complains(&run(&["nodes", "--rest", "127.0.0.1:8080"], &[]), 2, &["not http://HOST:PORT"]);
    complains(&run(&["nodes", "--watch", "0"], &[]), 2, &["1..=3600"]);
    complains(&run(&["nodes", "--rest", "https://127.0.0.1:1"], &[]), 1, &["https:// requires --rest-ca"]);
    ric.program.stop();
}

#[test]
fn token_is_that_of_the_file_then_of_the_variable() {
    const TOKEN: &str = "0123456789abcdef0123456789abcdef";
    let tokens = File::new("inventory.tokens", format!("read {TOKEN}\n").as_bytes());
    let file = File::new("inventory.token", format!("{TOKEN}\n").as_bytes());
    let ric = Ric::start(&["--rest-tokens", tokens.name()]);
    let nodes = ["nodes", "--json", "--rest", &ric.rest];
    let with = |more: &[&'static str]| [&nodes[..], more].concat();
    complains(&run(&nodes, &[]), 1, &["requires a token", "--rest-token FILE or FERRIC_REST_TOKEN"]);
    assert_eq!(stdout(&run(&nodes, &[("FERRIC_REST_TOKEN", TOKEN)])), "{\"nodes\":[]}\n");
    let wrong = [("FERRIC_REST_TOKEN", "0123456789abcdef0123456789abcdee")];
    complains(&run(&nodes, &wrong), 1, &["does not accept the token", "unknown bearer token", "--rest-tokens file"]);
    assert_eq!(stdout(&run(&[&nodes[..], &["--rest-token", file.name()]].concat(), &wrong)), "{\"nodes\":[]}\n");
    let words = [("FERRIC_REST_TOKEN", "read 0123456789abcdef")];
    complains(&run(&nodes, &words), 1, &["FERRIC_REST_TOKEN does not contain a token"]);
    complains(&run(&with(&["--rest-token", "/nowhere"]), &[]), 1, &["cannot read /nowhere"]);
    ric.program.stop();
}

/// Answers one request with a text.
fn server(answer: &'static str) -> (String, std::thread::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let thread = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = Vec::new();
        let mut octet = [0];
        while !request.ends_with(b"\r\n\r\n") {
            stream.read_exact(&mut octet).unwrap();
            request.push(octet[0]);
        }
        stream.write_all(answer.as_bytes()).unwrap();
    });
    (url, thread)
}

#[test]
fn other_server_and_older_ric_are_recognised() {
    let older = "HTTP/1.1 404 Not Found\r\ncontent-type: application/problem+json\r\ncontent-length: 42\r\nconnection: \
                 close\r\n\r\n{\"status\":404,\"detail\":\"no such resource\"}";
    assert_eq!(older.split("\r\n\r\n").nth(1).unwrap().len(), 42);
    let page = "HTTP/1.1 200 OK\r\ncontent-length: 6\r\nconnection: close\r\n\r\n<html>";
    let other_json = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}";
    let other_404 = "HTTP/1.1 404 Not Found\r\ncontent-length: 4\r\nconnection: close\r\n\r\nnone";
    let busy = "HTTP/1.1 429 Too Many Requests\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    let wrong = "is not the REST interface of a RIC: check the address";
    for (answer, pieces) in [
        (older, &["has no /v1/xapps: it is older than this program", "update it"][..]),
        (page, &[wrong]),
        (other_json, &[wrong]),
        (other_404, &[wrong]),
        (busy, &["limits the rate of requests", "try again later"]),
    ] {
        let (url, thread) = server(answer);
        complains(&run(&["xapps", "--rest", &url], &[]), 1, pieces);
        thread.join().unwrap();
    }
}
