//! Traces of indications to a receiver of OTLP.
//!
//! The receiver is one of this test: no registry that the tests use has a collector. `FERRIC_OTLP_PYTHON` names a Python with the package
//! `opentelemetry-proto`, which reads the requests by the published protocol definition; scripts/northbound has it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::process::Command;
use std::sync::mpsc::{Receiver, channel};

use ran::{RanConfig, Scenario};
use ric::TraceConfig;
use serde_json::Value;
use system_tests::{PATIENCE, TestRan, TestRic, log};

/// Accepts requests and answers them with a status; returns the address, and each request with its head and body.
fn receiver(status: &'static str) -> (SocketAddr, Receiver<(String, String)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, requests) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.unwrap());
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") {
                if stream.read_line(&mut head).unwrap() == 0 {
                    return;
                }
            }
            let length = head.to_ascii_lowercase();
            let length = length.split_once("content-length: ").unwrap().1.split_once('\r').unwrap().0.parse().unwrap();
            let mut body = vec![0; length];
            stream.read_exact(&mut body).unwrap();
            let answer = format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{{}}");
            stream.get_mut().write_all(answer.as_bytes()).unwrap();
            if sender.send((head, String::from_utf8(body).unwrap())).is_err() {
                return;
            }
        }
    });
    (address, requests)
}

/// A RIC that traces one indication in `one_in`, and a RAN whose statistics it receives.
fn network(collector: SocketAddr, one_in: u32) -> (TestRic, TestRan) {
    let ric = TestRic::with(|config| {
        config.traces = Some(TraceConfig { one_in, ..TraceConfig::new(&format!("http://{collector}")) });
    });
    let scenario = Scenario::with_mixed_traffic(1, 2, 1);
    let ran = TestRan::start(&ric.e2, RanConfig { scenario, ..RanConfig::default() });
    (ric, ran)
}

fn time(span: &Value, key: &str) -> u64 {
    span[key].as_str().unwrap().parse().unwrap()
}

/// Reads a request by the published definition. Ids are in hexadecimal digits in OTLP, in base64 in the JSON of protobuf.
const CHECK: &str = r#"
import base64, json, sys
from google.protobuf.json_format import ParseDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
request = json.load(sys.stdin)
for resource in request["resourceSpans"]:
    for scope in resource["scopeSpans"]:
        for span in scope["spans"]:
            for key, octets in ("traceId", 16), ("spanId", 8), ("parentSpanId", 8):
                if key in span:
                    number = bytes.fromhex(span[key])
                    assert len(number) == octets and any(number)
                    span[key] = base64.b64encode(number).decode()
spans = ParseDict(request, ExportTraceServiceRequest()).resource_spans[0].scope_spans[0].spans
roots = [span for span in spans if not span.parent_span_id]
assert roots and len(spans) == 4 * len(roots)
assert all(span.kind in (1, 5) and 0 < span.start_time_unix_nano <= span.end_time_unix_nano for span in spans)
"#;

#[test]
fn life_of_an_indication_is_a_trace() {
    let (collector, requests) = receiver("200 OK");
    let (ric, _ran) = network(collector, 2);
    let (head, body) = requests.recv_timeout(PATIENCE).unwrap();
    assert!(
        head.starts_with("POST /v1/traces HTTP/1.1\r\n") && head.contains("content-type: application/json\r\n"),
        "{head}"
    );
    let request: Value = serde_json::from_str(&body).unwrap();
    let resource = &request["resourceSpans"][0];
    assert_eq!(resource["resource"]["attributes"][0]["value"]["stringValue"], "ferric-ric");
    let spans = resource["scopeSpans"][0]["spans"].as_array().unwrap();
    for trace in spans.chunks(4) {
        let names: Vec<_> = trace.iter().map(|span| span["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["RIC indication", "route", "deliver", "write"]);
        let [whole, route, deliver, write] = trace else { panic!("{trace:?}") };
        assert!([route, deliver, write].iter().all(|part| part["parentSpanId"] == whole["spanId"]));
        assert!(trace.iter().all(|span| span["traceId"] == whole["traceId"]));
        // the parts follow each other and are the whole
        assert_eq!(time(whole, "startTimeUnixNano"), time(route, "startTimeUnixNano"));
        assert_eq!(time(route, "endTimeUnixNano"), time(deliver, "startTimeUnixNano"));
        assert_eq!(time(deliver, "endTimeUnixNano"), time(write, "startTimeUnixNano"));
        assert_eq!(time(write, "endTimeUnixNano"), time(whole, "endTimeUnixNano"));
        let attributes = whole["attributes"].as_array().unwrap();
        assert_eq!(
            (&attributes[0]["key"], &attributes[0]["value"]["stringValue"]),
            (&"ferric.node".into(), &"gnb-00101-e00".into())
        );
        assert!(attributes.iter().any(|of| of["key"] == "ferric.deliveries" && of["value"]["intValue"] != "0"));
    }
    // about one in two: the counter of all is read later
    let metrics = ric.rest.request("GET", "/metrics", None).body;
    let indications = metrics.lines().find_map(|line| line.strip_prefix("ferric_indications_total ")).unwrap();
    assert!(spans.len() as f64 / 4.0 <= indications.parse::<f64>().unwrap() / 2.0 + 1.0);
    let Some(python) = std::env::var_os("FERRIC_OTLP_PYTHON") else {
        eprintln!(
            "NOT TESTED: FERRIC_OTLP_PYTHON does not name a Python with opentelemetry-proto; scripts/northbound has it"
        );
        return;
    };
    let mut child = Command::new(python).args(["-c", CHECK]).stdin(std::process::Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(body.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
}

#[test]
fn collector_that_refuses_loses_traces_and_disturbs_nothing() {
    let (collector, requests) = receiver("503 Service Unavailable");
    let (ric, _ran) = network(collector, 1);
    for _ in 0..2 {
        requests.recv_timeout(PATIENCE).unwrap();
    }
    let line = format!("collector=\"http://{collector}\"");
    system_tests::eventually("a warning", || log().contains(&line));
    let warnings = log().lines().filter(|text| text.contains(&line) && text.contains("cannot send traces")).count();
    assert_eq!(warnings, 1, "one warning until it works again");
    ric.await_slices("gnb-00101-e00");
}
