//! The status codes of each operation of MEC 012: requests produce each one that the OpenAPI documents declare, and no other one.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use rest::{Access, AccessFiles, ServerConfig};
use rnis::api::ApiConfig;
use rnis::{
    Broker, BrokerCounts, BrokerError, Criteria, Embedded, Event, Feed, Key, LogRecord, SharedLog, Sink,
    SubscriptionLimits,
};
use serde_json::{Value, json};
use testkit::http::Client;

use crate::support::{TestService, bodies};
use crate::tenancy::{Folder, Tenancy, tenant};

const CALLBACK: &str = "http://127.0.0.1:9/x";
const DOCUMENTS: [&str; 2] = ["/rni/v1/openapi.json", "/rni/v2/openapi.json"];
/// The types of v1.
const TYPES: [&str; 8] =
    ["cell_change", "s1_bearer", "ta", "meas_rep_ue", "rab_est", "rab_mod", "rab_rel", "ca_reconf"];
/// The table for people.
const DOCUMENTATION: &str = include_str!("../../../../../docs/rnis.md");
const HANDSHAKE: &str = "connection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n\
                         sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
const JSON: &str = "content-type: application/json\r\n";
/// The cell that the tenant may not see, and the one that it may.
const FOREIGN: &str = "000000009";
const OWN: &str = "000000001";
/// A subscription that does not exist.
const NONE: &str = "99999";

/// An operation, and a request that succeeds.
#[derive(Clone)]
struct Operation {
    method: &'static str,
    /// Its path in the document.
    documented: String,
    path: String,
    fields: &'static str,
    body: Option<Value>,
}

impl Operation {
    fn new(method: &'static str, documented: &str, path: &str, body: Option<&Value>) -> Self {
        let fields = if body.is_some() { JSON } else { "" };
        Operation { method, documented: documented.into(), path: path.into(), fields, body: body.cloned() }
    }

    fn is_query(&self) -> bool {
        self.documented.contains("/queries/")
    }

    fn is_websocket(&self) -> bool {
        self.documented.contains("/notifications/")
    }

    fn is_of_one(&self) -> bool {
        self.documented.ends_with("{subscriptionId}")
    }

    fn is_change(&self) -> bool {
        self.method != "GET"
    }
}

/// The body of a subscription of v1.
fn v1_body(kind: &str, cell: Option<&str>) -> Value {
    let member = if kind == "s1_bearer" { "s1BearerSubscriptionCriteria" } else { "filterCriteria" };
    let criteria = match cell {
        Some(cell) => json!({ "plmn": { "mcc": "001", "mnc": "01" }, "cellId": [cell] }),
        None => json!({}),
    };
    json!({ "callbackReference": CALLBACK, member: criteria })
}

/// The body of a subscription of v2.
fn v2_body(cell: &str) -> Value {
    let mut body = bodies(CALLBACK).remove(0).1;
    body["filterCriteriaAssocHo"]["ecgi"][0]["cellId"] = json!(cell);
    body["filterCriteriaAssocHo"]["associateId"] = json!([]);
    body
}

/// All operations. `create` creates a subscription and returns its path.
fn operations(create: impl Fn(&str, &Value) -> String) -> Vec<Operation> {
    let mut all = Vec::new();
    for query in ["rab_info", "plmn_info", "s1_bearer_info", "layer2_meas"] {
        for version in ["v1", "v2"].into_iter().filter(|version| (*version, query) != ("v1", "layer2_meas")) {
            let path = format!("/rni/{version}/queries/{query}");
            all.push(Operation::new("GET", &path, &path, None));
        }
    }
    all.push(Operation::new("GET", "/rni/v1/subscriptions/", "/rni/v1/subscriptions/", None));
    let of_v1 = TYPES.map(|kind| (format!("/rni/v1/subscriptions/{kind}"), v1_body(kind, Some(OWN))));
    for (list, body) in of_v1.into_iter().chain([("/rni/v2/subscriptions".to_owned(), v2_body(OWN))]) {
        let one = format!("{list}/{{subscriptionId}}");
        all.push(Operation::new("GET", &list, &list, None));
        all.push(Operation::new("POST", &list, &list, Some(&body)));
        all.push(Operation::new("GET", &one, &create(&list, &body), None));
        all.push(Operation::new("PUT", &one, &create(&list, &body), Some(&body)));
        all.push(Operation::new("DELETE", &one, &create(&list, &body), None));
    }
    let mut body = v2_body(OWN);
    body.as_object_mut().unwrap().remove("callbackReference");
    body["websockNotifConfig"] = json!({ "requestWebsocketUri": true });
    let created = create("/rni/v2/subscriptions", &body);
    let id = created.rsplit('/').next().unwrap();
    let documented = "/rni/v2/notifications/{subscriptionId}";
    let websocket = Operation::new("GET", documented, &format!("/rni/v2/notifications/{id}"), None);
    all.push(Operation { fields: HANDSHAKE, ..websocket });
    all
}

/// All operations of a service to which their requests do not get.
fn unreached_operations() -> Vec<Operation> {
    operations(|list, _| format!("{list}/1"))
}

/// The status codes that were produced, by operation: method and path of the document.
#[derive(Default)]
struct Produced(Mutex<BTreeMap<(String, String), BTreeSet<u16>>>);

impl Produced {
    /// Records what an operation was answered with.
    #[track_caller]
    fn expect(&self, operation: &Operation, answered: u16, expected: u16) {
        assert_eq!(answered, expected, "{} {:.100}", operation.method, operation.path);
        let key = (operation.method.to_lowercase(), operation.documented.clone());
        self.0.lock().unwrap().entry(key).or_default().insert(answered);
    }
}

/// A request, and what differs from the one that succeeds.
struct Attempt<'r> {
    rnis: &'r TestService,
    operation: &'r Operation,
    fields: String,
    path: String,
    body: String,
    host: &'r str,
    /// The declared length of the body; else it is its length.
    length: Option<usize>,
}

impl<'r> Attempt<'r> {
    fn new(rnis: &'r TestService, operation: &'r Operation) -> Self {
        let body = operation.body.as_ref().map_or_else(String::new, Value::to_string);
        let (fields, path) = (operation.fields.to_owned(), operation.path.clone());
        Attempt { rnis, operation, fields, path, body, host: "localhost", length: None }
    }

    fn path(self, path: String) -> Self {
        Attempt { path, ..self }
    }

    fn fields(self, fields: &str) -> Self {
        Attempt { fields: fields.to_owned(), ..self }
    }

    fn with(self, field: &str) -> Self {
        let fields = format!("{}{field}\r\n", self.fields);
        Attempt { fields, ..self }
    }

    fn body(self, body: &Value) -> Self {
        Attempt { body: body.to_string(), ..self }
    }

    /// Sends the request. Returns the status and an ETag.
    fn send(self) -> (u16, Option<String>) {
        let Attempt { rnis, operation, fields, path, body, host, length } = self;
        let length = length.or_else(|| (!body.is_empty()).then_some(body.len()));
        let length = length.map_or_else(String::new, |octets| format!("content-length: {octets}\r\n"));
        let head = format!("{} {path} HTTP/1.1\r\nhost: {host}\r\n{fields}{length}\r\n", operation.method);
        let mut client = Client::connect(rnis.rest.address);
        client.write(head.as_bytes());
        // a server that refuses the head may have closed the connection
        let _ = client.try_write(body.as_bytes());
        let answer = client.receive();
        (answer.status, answer.header("etag").map(str::to_owned))
    }

    fn status(self) -> u16 {
        self.send().0
    }
}

/// What clients cause: mistakes in requests, and success.
fn produce_by_requests(produced: &Produced) {
    let rnis = TestService::start();
    rnis.fill();
    let all = operations(|list, body| rnis.create(list, body).0);
    for operation in &all {
        let attempt = || Attempt::new(&rnis, operation);
        let expect = |attempt: Attempt<'_>, status| produced.expect(operation, attempt.status(), status);
        expect(attempt().path(format!("{}?unknown=1", operation.path)), 400);
        expect(attempt().path(format!("{}?x={}", operation.path, "x".repeat(9000))), 414);
        expect(Attempt { host: "other.example", ..attempt() }, 421);
        expect(Attempt { length: Some(2_000_000), body: String::new(), ..attempt() }, 413);
        if operation.method != "DELETE" && !operation.is_websocket() {
            expect(attempt().with("accept: image/png"), 406);
        }
        if operation.is_of_one() {
            expect(attempt().path(operation.documented.replace("{subscriptionId}", NONE)), 404);
        }
        if operation.documented.ends_with("plmn_info") {
            let empty = TestService::start();
            produced.expect(operation, Attempt::new(&empty, operation).status(), 404);
        } else if operation.is_query() {
            expect(attempt().path(format!("{}?cell_id={FOREIGN}", operation.path)), 404);
        }
        if let Some(mut body) = operation.body.clone() {
            expect(attempt().fields("content-type: text/plain\r\n"), 415);
            body["expiryDeadline"] = json!({ "seconds": 1, "nanoSeconds": 0 });
            expect(attempt().body(&body), 422);
        }
        if operation.is_websocket() {
            expect(attempt().fields(""), 426);
            expect(attempt().with("origin: http://other.example"), 403);
            expect(attempt(), 101);
            continue;
        }
        if operation.is_of_one() && operation.is_change() {
            expect(attempt().with("if-match: \"x\""), 412);
        }
        let (status, tag) = attempt().send();
        let success = match operation.method {
            "POST" => 201,
            "DELETE" => 204,
            _ => 200,
        };
        produced.expect(operation, status, success);
        if let (Some(tag), "GET") = (tag, operation.method) {
            expect(attempt().with(&format!("if-none-match: {tag}")), 304);
        }
    }
}

/// A body that does not arrive.
fn produce_late_bodies(produced: &Produced) {
    let adapt = |config: &mut ServerConfig| config.read_timeout = Duration::from_millis(250);
    let rnis = TestService::with(SubscriptionLimits::default(), adapt);
    let all = unreached_operations();
    thread::scope(|scope| {
        for operation in &all {
            scope.spawn(|| {
                let attempt = Attempt { length: Some(10), body: String::new(), ..Attempt::new(&rnis, operation) };
                produced.expect(operation, attempt.status(), 408);
            });
        }
    });
}

/// Requests without a token where the server has tokens.
fn produce_without_token(produced: &Produced) {
    let folder = Folder::new();
    let tokens = Some(folder.write("tokens", "read 0123456789abcdef0123\n"));
    let access = Access::load(AccessFiles { tls: None, tokens }).unwrap();
    let rnis = TestService::with(SubscriptionLimits::default(), |config| config.access = access);
    for operation in &unreached_operations() {
        produced.expect(operation, Attempt::new(&rnis, operation).status(), 401);
    }
}

/// Requests of a tenant beyond its rights.
fn produce_without_rights(produced: &Produced) {
    let rights = format!("queries = []\ncells = [\"00101-{OWN}\"]");
    let tenancy = Tenancy::start(&tenant("few", &rights));
    let token = tenancy.token("few");
    let all = operations(|list, body| tenancy.create(&token, list, body));
    let bearer = format!("authorization: Bearer {token}");
    for operation in &all {
        let attempt = Attempt::new(&tenancy.rnis, operation).with(&bearer);
        if operation.is_query() {
            produced.expect(operation, attempt.status(), 403);
        } else if operation.body.is_some() {
            let kind = TYPES.iter().find(|kind| operation.documented.contains(&format!("v1/subscriptions/{kind}")));
            let beyond = kind.map_or_else(|| v2_body(FOREIGN), |kind| v1_body(kind, Some(FOREIGN)));
            produced.expect(operation, attempt.body(&beyond).status(), 403);
        }
    }
}

/// More requests than the server answers.
fn produce_too_many(produced: &Produced) {
    let rnis = TestService::with(SubscriptionLimits::default(), |config: &mut ServerConfig| {
        config.max_requests_per_second = 1
    });
    for operation in &unreached_operations() {
        let refused = (0..200).map(|_| Attempt::new(&rnis, operation).status()).find(|status| *status == 429);
        produced.expect(operation, refused.unwrap_or(0), 429);
    }
}

/// A log that several processes share, which answers at the start only.
struct SilentLog(Mutex<VecDeque<LogRecord>>);

impl SilentLog {
    fn error() -> BrokerError {
        BrokerError::Unreachable { address: "kafka://127.0.0.1:9".into(), reason: "no answer".into() }
    }
}

impl SharedLog for SilentLog {
    fn append(&self, feed: Feed, key: &str, value: Option<&str>, request: u64) -> Result<(), BrokerError> {
        let (key, value) = (key.to_owned(), value.map(str::to_owned));
        self.0.lock().unwrap().push_back(LogRecord { feed, position: 0, key, value, request: Some(request) });
        Ok(())
    }

    fn read(&self, at_most: Duration) -> Option<LogRecord> {
        let record = self.0.lock().unwrap().pop_front();
        if record.is_none() {
            thread::sleep(at_most);
        }
        record
    }

    fn end(&self) -> Result<i64, BrokerError> {
        Err(SilentLog::error())
    }

    fn is_leader(&self) -> bool {
        false
    }

    fn follow(&self, _: Arc<dyn Sink>) -> Result<(), BrokerError> {
        Err(SilentLog::error())
    }

    fn silent(&self) -> BrokerError {
        SilentLog::error()
    }
}

/// A broker that cannot be reached, and no room for WebSockets.
fn produce_unavailable(produced: &Produced) {
    let rnis = TestService::with(SubscriptionLimits::default(), |config: &mut ServerConfig| config.max_streams = 0);
    rnis.service.replicate(Box::new(SilentLog(Mutex::default()))).unwrap();
    for operation in unreached_operations().iter().filter(|it| it.is_change() || it.is_websocket()) {
        produced.expect(operation, Attempt::new(&rnis, operation).status(), 503);
    }
}

/// A broker that does not answer until the gate opens.
struct SlowBroker {
    broker: Embedded,
    is_open: Arc<(Mutex<bool>, Condvar)>,
}

impl Broker for SlowBroker {
    fn publish(&self, event: &Arc<Event>) -> Result<(), BrokerError> {
        self.broker.publish(event)
    }

    fn subscribe(&self, _: Key, _: &str, _: &Criteria) -> Result<(), BrokerError> {
        let (is_open, opened) = &*self.is_open;
        let is_open = is_open.lock().unwrap();
        drop(opened.wait_while(is_open, |is_open| !*is_open).unwrap());
        Ok(())
    }

    fn unsubscribe(&self, _: Key) {}

    fn counts(&self) -> BrokerCounts {
        self.broker.counts()
    }
}

/// Changes that wait for a broker: that of the request, or of an earlier one.
fn produce_slow(produced: &Produced) {
    let is_open: Arc<(Mutex<bool>, Condvar)> = Arc::default();
    let of_broker = Arc::clone(&is_open);
    let broker = |sink| Box::new(SlowBroker { broker: Embedded::new(sink), is_open: of_broker }) as Box<dyn Broker>;
    let adapt = |config: &mut ServerConfig| config.response_timeout = Duration::from_millis(100);
    let rnis = TestService::of(broker, SubscriptionLimits::default(), &ApiConfig::default(), adapt);
    let mut all = unreached_operations();
    // a change of a subscription that does not exist asks no broker
    all.sort_by_key(|operation| operation.method != "POST");
    for operation in all.iter().filter(|operation| operation.is_change()) {
        produced.expect(operation, Attempt::new(&rnis, operation).status(), 504);
    }
    let (is_open, opened) = &*is_open;
    *is_open.lock().unwrap() = true;
    opened.notify_all();
}

/// The declared status codes of the operations of MEC 012. The documents themselves are not of it, nor are `/rnis` and `/metrics`.
fn declared() -> BTreeMap<(String, String), BTreeSet<u16>> {
    let rnis = TestService::start();
    let mut all = BTreeMap::new();
    for document in DOCUMENTS.map(|path| rnis.rest.get(path)) {
        for (path, item) in document["paths"].as_object().unwrap() {
            if !path.starts_with("/rni/") || path.ends_with("/openapi.json") {
                continue;
            }
            for (method, operation) in item.as_object().unwrap().iter().filter(|(key, _)| *key != "parameters") {
                let statuses = operation["responses"].as_object().unwrap().keys().filter(|status| *status != "default");
                let statuses = statuses.map(|status| status.parse().unwrap()).collect();
                all.insert((method.clone(), path.clone()), statuses);
            }
        }
    }
    all
}

#[test]
fn each_declared_status_code_is_produced_and_no_other() {
    let produced = Produced::default();
    produce_by_requests(&produced);
    produce_late_bodies(&produced);
    produce_without_token(&produced);
    produce_without_rights(&produced);
    produce_too_many(&produced);
    produce_unavailable(&produced);
    produce_slow(&produced);
    let (declared, produced) = (declared(), produced.0.into_inner().unwrap());
    assert_eq!(declared.keys().collect::<Vec<_>>(), produced.keys().collect::<Vec<_>>(), "operations");
    for (operation, statuses) in &declared {
        assert_eq!(statuses, &produced[operation], "{operation:?}: declared, and produced");
    }
}

#[test]
fn documentation_has_the_declared_status_codes() {
    let mut rows: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for ((method, path), statuses) in declared() {
        let path = TYPES
            .iter()
            .fold(path, |path, kind| path.replace(&format!("v1/subscriptions/{kind}"), "v1/subscriptions/{type}"));
        let statuses = statuses.iter().map(u16::to_string).collect::<Vec<_>>().join(", ");
        rows.entry(format!("{} `{path}`", method.to_uppercase())).or_default().insert(statuses);
    }
    let expected = rows.iter().map(|(operation, statuses)| {
        assert_eq!(statuses.len(), 1, "{operation}: all types have the same");
        format!("| {operation} | {} |", statuses.first().unwrap())
    });
    let missing: Vec<_> = expected.filter(|row| !DOCUMENTATION.lines().any(|line| line == row)).collect();
    assert!(missing.is_empty(), "docs/rnis.md lacks:\n{}", missing.join("\n"));
    let has_row = |line: &&str| {
        ["| GET `/rni", "| POST `/rni", "| PUT `/rni", "| DELETE `/rni"].iter().any(|of| line.starts_with(of))
    };
    assert_eq!(DOCUMENTATION.lines().filter(has_row).count(), rows.len(), "rows of docs/rnis.md");
}
