//! Each status code of docs/rnis.md, of each operation of both OpenAPI documents. An operation that is added is tested without a change here.

use std::collections::{BTreeMap, BTreeSet};

use rest::{Access, AccessFiles};
use rnis::api::ApiConfig;
use rnis::{Broker, Embedded, SubscriptionLimits};
use serde_json::{Value, json};
use testkit::http::Response;

use crate::support::{TestService, bodies};

const DOCUMENTS: [&str; 2] = ["/rni/v1/openapi.json", "/rni/v2/openapi.json"];
const JSON: &str = "content-type: application/json\r\n";
const CALLBACK: &str = "http://127.0.0.1:9/x";
const READER: &str = "0123456789abcdef0123";

/// An operation of a document.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Operation {
    method: String,
    /// With parameters in braces.
    path: String,
}

impl Operation {
    fn takes_body(&self) -> bool {
        matches!(&*self.method, "POST" | "PUT")
    }

    fn is_of_one(&self) -> bool {
        self.path.ends_with('}')
    }

    fn is_of_subscriptions(&self) -> bool {
        self.path.starts_with("/rni/") && self.path.contains("/subscriptions")
    }

    /// The path of what does not exist.
    fn of_none(&self) -> String {
        self.path.replace("{subscriptionId}", "99999").replace("{name}", "amf:99999")
    }

    /// A body that it accepts; none if it takes none.
    fn body(&self) -> Option<Value> {
        let v1 = || {
            let member =
                if self.path.contains("s1_bearer") { "s1BearerSubscriptionCriteria" } else { "filterCriteria" };
            json!({ "callbackReference": CALLBACK, member: {} })
        };
        self.takes_body().then(|| match &*self.path {
            path if path.contains("directory") => json!({ "names": ["amf:1"] }),
            path if path.starts_with("/rni/v1") => v1(),
            _ => bodies(CALLBACK).remove(0).1,
        })
    }
}

/// A service with an entry in its directory, and its operations.
struct Subject {
    rnis: TestService,
    operations: BTreeSet<Operation>,
}

impl Subject {
    fn start(limits: SubscriptionLimits, adapt: impl FnOnce(&mut rest::ServerConfig)) -> Self {
        let api = ApiConfig { directory: Some(std::sync::Arc::default()), ..ApiConfig::default() };
        let broker = |sink| Box::new(Embedded::new(sink)) as Box<dyn Broker>;
        let rnis = TestService::of(broker, limits, &api, adapt);
        rnis.fill();
        let mut operations = BTreeSet::new();
        for document in DOCUMENTS {
            let fields = format!("authorization: Bearer {READER}\r\n");
            let document = rnis.request_with("GET", document, &fields, None).expect(200);
            for (path, item) in document["paths"].as_object().unwrap() {
                let methods = item.as_object().unwrap().keys().filter(|key| *key != "parameters");
                operations.extend(methods.map(|it| Operation { method: it.to_uppercase(), path: path.clone() }));
            }
        }
        Subject { rnis, operations }
    }

    fn send(&self, operation: &Operation, path: &str, fields: &str, body: Option<&str>) -> Response {
        self.rnis.request_with(&operation.method, path, fields, body)
    }
}

/// What was answered.
#[derive(Default)]
struct Seen(BTreeMap<Operation, BTreeSet<u16>>);

impl Seen {
    /// Notes an answer, which must have the status.
    #[track_caller]
    fn note(&mut self, operation: &Operation, status: u16, answer: &Response) {
        assert_eq!(answer.status, status, "{operation:?}: {answer:?}");
        if status >= 400 {
            answer.expect_problem(status, &[]);
        }
        self.0.entry(operation.clone()).or_default().insert(status);
    }
}

/// What does not depend on the resource: parameters, negotiation, targets, methods, bodies, and what does not exist.
fn refusals(subject: &Subject, seen: &mut Seen) {
    let long = "x".repeat(9000);
    let large = format!("{{\"x\":\"{}\"}}", "x".repeat(1024 * 1024));
    for operation in &subject.operations {
        let path = operation.of_none();
        let body = operation.body().map(|body| body.to_string());
        let fields = if body.is_some() { JSON } else { "" };
        let send = |path: &str, fields: &str, body: Option<&str>| subject.send(operation, path, fields, body);
        seen.note(operation, 400, &send(&format!("{path}?unknown=1"), fields, body.as_deref()));
        // what has no content, and a WebSocket, are not negotiated
        if operation.method != "DELETE" && !operation.path.contains("/notifications/") {
            seen.note(operation, 406, &send(&path, &format!("accept: image/png\r\n{fields}"), body.as_deref()));
        }
        seen.note(operation, 414, &send(&format!("{path}?x={long}"), fields, body.as_deref()));
        subject.rnis.request_with("PATCH", &path, JSON, Some("{}")).expect_problem(405, &[]);
        if operation.takes_body() {
            seen.note(operation, 413, &send(&path, JSON, Some(&large)));
        }
        if operation.is_of_one() && !(operation.method == "PUT" && operation.path.contains("directory")) {
            let status = if operation.path.contains("notifications") { 426 } else { 404 };
            seen.note(operation, status, &send(&path, fields, body.as_deref()));
        }
        if operation.path.contains("/queries/") && !operation.path.ends_with("plmn_info") {
            seen.note(operation, 404, &send(&format!("{path}?cell_id=000000009"), "", None));
        }
    }
}

/// What the resources answer that exist.
fn answers(subject: &Subject, seen: &mut Seen) {
    for operation in &subject.operations {
        let body = operation.body();
        let text = body.as_ref().map(Value::to_string);
        let mut path = operation.of_none();
        if operation.is_of_one() && operation.is_of_subscriptions() {
            let list = operation.path.trim_end_matches("/{subscriptionId}");
            let creation = Operation { method: "POST".into(), path: list.into() };
            path = subject.rnis.create(list, &creation.body().unwrap()).0;
        } else if operation.path.contains("directory/") {
            path = "/rnis/v1/directory/amf:1".into();
            subject.rnis.rest.request("PUT", &path, json!({ "names": ["amf:1"] })).expect(200);
        }
        let status = match &*operation.method {
            _ if operation.path.contains("/notifications/") || operation.path.contains("/stream") => continue,
            "POST" => 201,
            "DELETE" => 204,
            _ => 200,
        };
        if operation.is_of_one() && operation.method != "GET" {
            let fields = format!("if-match: \"another\"\r\n{JSON}");
            seen.note(operation, 412, &subject.send(operation, &path, &fields, text.as_deref()));
        }
        if let Some(mut body) = body.clone() {
            for fields in ["", "content-type: application/xml\r\n", "content-type: text/plain\r\n"] {
                seen.note(operation, 415, &subject.send(operation, &path, fields, text.as_deref()));
            }
            let all = ["{", "", "[[[[", "\u{0}"];
            for broken in &all[..if operation.is_of_subscriptions() { 4 } else { 1 }] {
                seen.note(operation, 400, &subject.send(operation, &path, JSON, Some(broken)));
            }
            if operation.is_of_subscriptions() {
                body["expiryDeadline"] = json!({ "seconds": 1, "nanoSeconds": 0 });
            } else {
                body["names"] = json!([]);
            }
            seen.note(operation, 422, &subject.send(operation, &path, JSON, Some(&body.to_string())));
        }
        let fields = if text.is_some() { JSON } else { "" };
        seen.note(operation, status, &subject.send(operation, &path, fields, text.as_deref()));
    }
}

/// Subscriptions beyond the limits.
fn limits(seen: &mut Seen) {
    let no_more = [
        (403, SubscriptionLimits { max_per_owner: 0, ..SubscriptionLimits::default() }),
        (503, SubscriptionLimits { max_total: 0, ..SubscriptionLimits::default() }),
    ];
    for (status, limits) in no_more {
        let subject = Subject::start(limits, |_| ());
        for operation in subject.operations.iter().filter(|it| it.method == "POST") {
            let body = operation.body().unwrap().to_string();
            seen.note(operation, status, &subject.send(operation, &operation.path, JSON, Some(&body)));
        }
    }
}

/// Requests without a token, and too many of them.
fn access(seen: &mut Seen) {
    let file = std::env::temp_dir().join(format!("ferric-rnis-statuses-{}", std::process::id()));
    std::fs::write(&file, format!("read {READER}\n")).unwrap();
    let access = Access::load(AccessFiles { tls: None, tokens: Some(file.clone()) }).unwrap();
    let subject = Subject::start(SubscriptionLimits::default(), |config| config.access = access);
    std::fs::remove_file(file).unwrap();
    for operation in &subject.operations {
        let body = operation.body().map(|body| body.to_string());
        let answer = subject.send(operation, &operation.of_none(), JSON, body.as_deref());
        seen.note(operation, 401, &answer);
        assert!(answer.header("www-authenticate").unwrap().starts_with("Bearer"), "{answer:?}");
    }
    let subject = Subject::start(SubscriptionLimits::default(), |config| config.max_requests_per_second = 4);
    for operation in &subject.operations {
        let body = operation.body().map(|body| body.to_string());
        let path = format!("{}?unknown=1", operation.of_none());
        let refused =
            (0..100).map(|_| subject.send(operation, &path, JSON, body.as_deref())).find(|it| it.status == 429);
        let refused = refused.unwrap_or_else(|| panic!("no 429: {operation:?}"));
        assert!(refused.header("retry-after").unwrap().parse::<u32>().unwrap() >= 1);
        seen.note(operation, 429, &refused);
    }
}

#[test]
fn each_operation_answers_with_each_of_its_status_codes() {
    let mut seen = Seen::default();
    let subject = Subject::start(SubscriptionLimits::default(), |_| ());
    refusals(&subject, &mut seen);
    answers(&subject, &mut seen);
    limits(&mut seen);
    access(&mut seen);
    for document in DOCUMENTS {
        let document = subject.rnis.rest.get(document);
        for operation in &subject.operations {
            let responses = &document["paths"][&operation.path][operation.method.to_lowercase()]["responses"];
            let Some(responses) = responses.as_object() else { continue };
            let documented = responses.keys().filter_map(|status| status.parse::<u16>().ok());
            let missing: Vec<_> = documented
                .filter(|status| !seen.0[operation].contains(status))
                // a WebSocket and a stream, and entries of a file: tests/websocket.rs, live.rs and directory.rs have these
                .filter(|status| !matches!((&*operation.path, status), (path, 101 | 200) if path.contains("/notifications/") || path.contains("/stream")))
                .filter(|status| *status != 409 && !(*status == 403 && operation.path.contains("directory")))
                .collect();
            assert_eq!(missing, [0; 0], "{operation:?} was never answered so");
        }
    }
    let pairs: usize = seen.0.values().map(BTreeSet::len).sum();
    println!("operations={} status codes of operations={pairs}", seen.0.len());
    assert!(seen.0.len() >= 60 && pairs >= 6 * seen.0.len(), "{} operations, {pairs} pairs", seen.0.len());
}
