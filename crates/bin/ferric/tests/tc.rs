//! The traffic control xApp with a RIC and a RAN, over the RIC's link and over a real Redis and REST.

mod program;

use std::time::{Duration, Instant};

use program::{Outcome, PATIENCE, Program, run};
use serde_json::Value;
use testkit::Redis;
use testkit::http::Service;

const TC: &str = "/v1/nodes/gnb-00101-e00/tc";

/// A RIC with REST, and a RAN whose bearers always have waiting packets.
struct Network {
    xapp: String,
    rest: String,
    _ric: Program,
    _ran: Program,
}

impl Network {
    fn start(more: &[&str]) -> Network {
        let fixed = ["ric", "--e2", "tcp://127.0.0.1:0", "--xapp", "tcp://127.0.0.1:0", "--rest", "127.0.0.1:0"];
        let mut ric = program::start(&[&fixed, more].concat());
        let (e2, xapp, rest) = (ric.line("e2="), ric.line("xapp="), ric.line("rest="));
        let mut ran = program::start(&["ran", "--ric", &e2, "--ues", "32"]);
        ran.logs(" up: ");
        let network = Network { xapp, rest, _ric: ric, _ran: ran };
        // the first report of the node arrives later
        let end = Instant::now() + PATIENCE;
        while network.service().request("GET", TC, None).status != 200 {
            assert!(Instant::now() < end, "timed out: {TC}");
            std::thread::sleep(Duration::from_millis(20));
        }
        network
    }

    fn service(&self) -> Service {
        Service { address: self.rest.trim_start_matches("http://").parse().unwrap() }
    }

    /// The configuration of TC: the queues, the filters with their queue and port, the pacer.
    fn set(&self) -> (usize, Vec<(u64, u64)>, String) {
        let tc: Value = self.service().get(TC);
        let number = |value: &Value| value.as_u64().unwrap();
        let filter = |filter: &Value| (number(&filter["queue_id"]), number(&filter["destination_port"]));
        (
            tc["queues"].as_array().unwrap().len(),
            tc["filters"].as_array().unwrap().iter().map(filter).collect(),
            tc["pacer"]["kind"].as_str().unwrap().to_owned(),
        )
    }

    /// Waits until REST shows a configuration: changes over other interfaces appear with the next report.
    #[track_caller]
    fn shows(&self, wanted: &(usize, Vec<(u64, u64)>, String)) {
        let end = Instant::now() + PATIENCE;
        while self.set() != *wanted {
            assert!(Instant::now() < end, "{:?} is not {wanted:?}", self.set());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn xapp(&self, more: &[&str]) -> Outcome {
        run(&[&XAPP, more].concat())
    }

    /// Runs the xApp until it prints a line about the node.
    #[track_caller]
    fn xapp_until(&self, news: &str, more: &[&str]) -> Outcome {
        let mut xapp = program::start(&[&XAPP, more].concat());
        xapp.line(&format!("node=gnb-00101-e00 {news}"));
        xapp.stop()
    }
}

/// Enough time for a busy machine.
const UNDO: [&str; 3] = ["--undo", "--seconds", "60"];
const XAPP: [&str; 8] = ["xapp", "tc", "--protocol", "udp", "--destination", "10.0.0.2:5060", "--limit-ms", "1"];

/// The actions, in order.
fn done(outcome: &Outcome) -> Vec<&str> {
    assert_eq!(outcome.code(), Some(0), "{}\n{}", outcome.stdout, outcome.stderr);
    outcome.stdout.lines().filter_map(|line| line.strip_prefix("node=gnb-00101-e00 done: ")).collect()
}

const ACTIONS: [&str; 3] =
    ["add a second FIFO queue", "add a filter that sends the flow to queue 1", "set the 5G-BDP pacer"];
const UNDONE: [&str; 3] = ["remove the pacer", "delete filter 0", "delete queue 1"];

fn protected() -> (usize, Vec<(u64, u64)>, String) {
    (2, vec![(1, 5060)], "5g_bdp".to_owned())
}

fn bare() -> (usize, Vec<(u64, u64)>, String) {
    (1, vec![], "off".to_owned())
}

#[test]
fn flow_is_protected_over_the_link() {
    let network = Network::start(&[]);
    let link = ["--ric", &network.xapp, "--period-ms", "20"];
    let first = network.xapp_until("protected", &link);
    assert_eq!(done(&first), ACTIONS);
    assert!(first.stdout.contains("longer than 1.0 ms") && first.stdout.contains("before_p50_ms="), "{}", first.stdout);
    network.shows(&protected());
    // a second run finds everything set
    let again = network.xapp_until("already configured", &[&link[..], &["--restore"]].concat());
    assert_eq!(done(&again), [""; 0]);
    assert!(again.stdout.contains("already configured: the flow uses queue 1; the pacer is set"), "{}", again.stdout);
    // and restores only its own changes
    network.shows(&protected());
    // a part of the configuration is removed
    network.service().request("PUT", &format!("{TC}/pacer"), serde_json::json!({"kind": "off"})).expect(200);
    let half = network.xapp_until("protected", &link);
    assert_eq!(done(&half), ACTIONS[2..]);
    network.shows(&protected());
    assert_eq!(done(&network.xapp(&[&link[..], &UNDO].concat())), UNDONE);
    network.shows(&bare());
    // an interrupt restores as well
    let fixed = ["xapp", "tc", "--destination", ":5060", "--limit-ms", "1", "--restore"];
    let mut running = program::start(&[&fixed[..], &link].concat());
    running.line("node=gnb-00101-e00 protected");
    network.shows(&protected());
    running.stop();
    network.shows(&bare());
}

#[test]
fn flow_is_protected_over_redis_and_rest() {
    let Some(mut redis) = Redis::start(&[]) else { return };
    let network = Network::start(&["--redis", &redis.url()]);
    for way in ["pubsub", "stream"] {
        let url = redis.url();
        let redis = ["--redis", &url, "--from", way, "--rest", &network.rest];
        assert_eq!(done(&network.xapp_until("protected", &redis)), ACTIONS, "{way}");
        network.shows(&protected());
        assert_eq!(done(&network.xapp(&[&redis[..], &UNDO].concat())), UNDONE, "{way}");
        network.shows(&bare());
    }
    // Redis stops and restarts
    redis.kill();
    let flow = ["xapp", "tc", "--destination", ":5060", "--limit-ms", "1", "--restore"];
    let mut waiting = program::start(&[&flow[..], &["--redis", &redis.url(), "--rest", &network.rest]].concat());
    waiting.logs("cannot read records; retrying");
    redis.restart();
    waiting.line("node=gnb-00101-e00 protected");
    network.shows(&protected());
    waiting.stop();
    network.shows(&bare());
    // statistics from Redis, controls over the link; and the other way round
    let acted = network.xapp_until("protected", &["--redis", &redis.url(), "--ric", &network.xapp, "--restore"]);
    assert_eq!(done(&acted), [ACTIONS, UNDONE].concat());
    let acted = network.xapp_until("protected", &["--ric", &network.xapp, "--rest", &network.rest, "--restore"]);
    assert_eq!(done(&acted), [ACTIONS, UNDONE].concat());
}

#[test]
fn errors_are_reported() {
    let says = |arguments: &[&str], pieces: &[&str]| {
        run(&[&["xapp", "tc"], arguments].concat()).complains(1, pieces);
    };
    says(&[], &["no flow is given: use --protocol"]);
    let no_ric = ["--protocol", "udp", "--no-reconnect", "--ric", "tcp://127.0.0.1:1"];
    says(&no_ric, &["cannot use the RIC at tcp://127.0.0.1:1"]);
    let https = ["--protocol", "udp", "--rest", "https://127.0.0.1:1"];
    says(&https, &["https:// requires --rest-ca"]);
    let nothing = std::env::temp_dir().join(format!("ferric-tc-nothing-{}", std::process::id()));
    std::fs::write(&nothing, "\n").unwrap();
    let nothing = nothing.to_str().unwrap();
    says(&[&https[..], &["--rest-ca", nothing]].concat(), &["contains no certificate as PEM"]);
    let http = ["--protocol", "udp", "--rest", "http://127.0.0.1:1"];
    says(&[&http[..], &["--rest-ca", nothing]].concat(), &["--rest-ca requires https://"]);
    says(&[&http[..], &["--rest-token", nothing]].concat(), &["does not contain a token"]);
    says(&[&http[..], &["--rest-token", "/nowhere/token"]].concat(), &["cannot read /nowhere/token"]);
    let redis = ["--protocol", "udp", "--redis", "rediss://127.0.0.1"];
    says(&[&redis[..], &["--redis-ca", nothing]].concat(), &["TLS of Redis", "holds no certificate as PEM"]);
    says(
        &[&redis[..], &["--redis-password", nothing]].concat(),
        &["does not contain exactly one line, with the password"],
    );
    says(&["--protocol", "udp", "--redis-password", nothing], &["give --redis"]);
    std::fs::remove_file(nothing).unwrap();
    let refused = |arguments: &[&str], piece| run(&[&["xapp", "tc"], arguments].concat()).complains(2, &[piece]);
    refused(&["--source", "10.0.0.256"], "such as 10.0.0.2:5060");
    refused(&["--rest", "ftp://ric.example"], "not http://HOST:PORT or https://HOST:PORT");
    refused(&["--rest", "https://ric.example", "--rest-cert", "tc.pem"], "--rest-key");
    refused(&["--redis", "rediss://127.0.0.1/#insecure"], "`#insecure` is not supported");
    refused(&["--from", "mqtt", "--redis", "redis://127.0.0.1"], "not a Redis channel type: pubsub or stream");
    refused(&["--rnti", "0x10000"], "up to 0xffff");

    let mut ric = program::start(&["ric", "--e2", "tcp://127.0.0.1:0", "--xapp", "tcp://127.0.0.1:0"]);
    let xapp = ric.line("xapp=");
    let flow = ["--protocol", "udp", "--seconds", "1"];
    says(&[&flow[..], &["--ric", &xapp]].concat(), &["the RIC has no such node"]);
    let redis = ["--redis", "redis://127.0.0.1:1", "--rest", "http://127.0.0.1:1"];
    says(&[&flow[..], &redis].concat(), &["no records from Redis", "start a Redis there"]);
    ric.stop();

    // no server at the REST address
    let network = Network::start(&[]);
    let nowhere = ["--ric", &network.xapp, "--rest", "http://127.0.0.1:1"];
    let mut xapp = program::start(&[&XAPP[..], &nowhere].concat());
    xapp.line("node=gnb-00101-e00 no answer to three controls");
    xapp.interrupt();
    let outcome = xapp.end();
    outcome.complains(1, &["no response to the control", "controls failed"]);
    assert!(outcome.stdout.contains("no answer to three controls"), "{}", outcome.stdout);
    network.shows(&bare());
}
