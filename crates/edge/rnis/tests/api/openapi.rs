//! The answers conform to the OpenAPI documents, and each operation of the documents is requested.

use std::collections::BTreeSet;

use crate::support::{TestService, bodies};
use serde_json::{Value, json};
use testkit::schema::fault;

/// The answer's schema.
fn schema<'d>(document: &'d Value, method: &str, path: &str, status: u16) -> &'d Value {
    let responses = &document["paths"][path][method.to_lowercase()]["responses"];
    match responses.get(status.to_string()).filter(|_| status < 400) {
        Some(response) => &response["content"]["application/json"]["schema"],
        None => &document["components"]["responses"]["Problem"]["content"]["application/problem+json"]["schema"],
    }
}

/// Sends requests, and compares answers and bodies with a document.
struct Comparison<'s> {
    rnis: &'s TestService,
    document: Value,
    requested: BTreeSet<(String, String)>,
}

impl<'s> Comparison<'s> {
    fn new(rnis: &'s TestService, path: &str) -> Self {
        Comparison { rnis, document: rnis.rest.get(path), requested: BTreeSet::new() }
    }

    /// Sends a request to the operation at `documented`.
    fn request(&mut self, method: &str, path: &str, documented: &str, body: Option<&Value>, status: u16) -> Value {
        let answer = self.rnis.rest.request(method, path, body.cloned());
        assert_eq!(answer.status, status, "{method} {path}: {answer:?}");
        self.requested.insert((method.to_lowercase(), documented.to_owned()));
        if let Some(body) = body.filter(|_| status < 300) {
            let content = &self.document["paths"][documented][method.to_lowercase()]["requestBody"]["content"];
            assert_eq!(
                fault(body, &content["application/json"]["schema"], &self.document, ""),
                None,
                "{method} {path}: {body}"
            );
        }
        if status == 204 {
            return Value::Null;
        }
        let document = answer.json();
        let expected = schema(&self.document, method, documented, status);
        assert_eq!(fault(&document, expected, &self.document, ""), None, "{method} {path}: {answer:?}");
        document
    }

    /// Each operation of the document was requested.
    fn end(self) {
        let paths = self.document["paths"].as_object().unwrap().iter().flat_map(|(path, item)| {
            let methods = item.as_object().unwrap().keys().filter(|key| *key != "parameters");
            methods.map(move |method| (method.clone(), path.clone()))
        });
        let left: Vec<_> = paths.filter(|operation| !self.requested.contains(operation)).collect();
        assert_eq!(left, [], "operations without a test request");
    }
}

/// The path of a subscription that was just created.
fn path_of(document: &Value) -> String {
    let link = &document["_links"]["self"];
    let href = link["href"].as_str().or(link.as_str()).unwrap();
    href[href.find("/rni/").unwrap()..].to_owned()
}

#[test]
fn answers_of_v2_conform_to_the_document() {
    let rnis = TestService::start();
    rnis.fill();
    let mut v2 = Comparison::new(&rnis, "/rni/v2/openapi.json");
    for query in ["rab_info", "plmn_info", "s1_bearer_info", "layer2_meas", "openapi.json"] {
        let path = if query == "openapi.json" {
            "/rni/v2/openapi.json".to_owned()
        } else {
            format!("/rni/v2/queries/{query}")
        };
        v2.request("GET", &path, &path, None, 200);
        v2.request("GET", &format!("{path}?x=1"), &path, None, 400);
    }
    let (list, one) = ("/rni/v2/subscriptions", "/rni/v2/subscriptions/{subscriptionId}");
    for (_, mut body) in bodies("http://127.0.0.1:9/x") {
        body["requestTestNotification"] = json!(false);
        body["expiryDeadline"] = json!({ "seconds": u32::MAX, "nanoSeconds": 0 });
        let created = v2.request("POST", list, list, Some(&body), 201);
        let path = path_of(&created);
        v2.request("GET", &path, one, None, 200);
        v2.request("PUT", &path, one, Some(&created), 200);
        v2.request("GET", list, list, None, 200);
        v2.request("GET", "/rnis/v1/subscriptions", "/rnis/v1/subscriptions", None, 200);
        v2.request("DELETE", &path, one, None, 204);
        v2.request("DELETE", &path, one, None, 404);
    }
    v2.request("POST", list, list, Some(&json!({})), 400);
    v2.request("GET", "/rni/v2/notifications/99", "/rni/v2/notifications/{subscriptionId}", None, 426);
    v2.request("GET", "/rnis/v1/stream?topics=x", "/rnis/v1/stream", None, 400);
    v2.request("GET", "/metrics?x=1", "/metrics", None, 400);
    let variants = v2.document["components"]["schemas"]["InlineSubscription"]["oneOf"].as_array().unwrap().len();
    assert_eq!(variants, 9);
    // what the schema refuses is refused
    let mut wrong = bodies("http://127.0.0.1:9/x").remove(0).1;
    wrong["filterCriteriaAssocHo"]["hoStatus"] = json!([6]);
    let content = &v2.document["paths"][list]["post"]["requestBody"]["content"]["application/json"]["schema"];
    assert!(fault(&wrong, content, &v2.document, "").is_some());
    v2.request("POST", list, list, Some(&wrong), 400);
    v2.end();
}

#[test]
fn answers_of_v1_conform_to_the_document() {
    let rnis = TestService::start();
    rnis.fill();
    let mut v1 = Comparison::new(&rnis, "/rni/v1/openapi.json");
    for path in [
        "/rni/v1/queries/rab_info",
        "/rni/v1/queries/plmn_info",
        "/rni/v1/queries/s1_bearer_info",
        "/rni/v1/openapi.json",
        "/rni/v1/subscriptions/",
    ] {
        v1.request("GET", path, path, None, 200);
    }
    for (word, name) in [
        ("cell_change", "CellChangeSubscription"),
        ("s1_bearer", "S1BearerSubscription"),
        ("ta", "MeasTaSubscription"),
        ("meas_rep_ue", "MeasRepUeSubscription"),
        ("rab_est", "RabEstSubscription"),
        ("rab_mod", "RabModSubscription"),
        ("rab_rel", "RabRelSubscription"),
        ("ca_reconf", "CaReConfSubscription"),
    ] {
        let (list, one) =
            (format!("/rni/v1/subscriptions/{word}"), format!("/rni/v1/subscriptions/{word}/{{subscriptionId}}"));
        let member = if word == "s1_bearer" { "s1BearerSubscriptionCriteria" } else { "filterCriteria" };
        let bare = json!({ "callbackReference": "http://127.0.0.1:9/x", member: {} });
        let created = v1.request("POST", &list, &list, Some(&bare), 201);
        let path = path_of(&created);
        v1.request("GET", &path, &one, None, 200);
        v1.request("PUT", &path, &one, Some(&created), 200);
        v1.request("PUT", &path, &one, Some(&json!({ name: bare })), 200);
        v1.request("GET", &list, &list, None, 200);
        v1.request("DELETE", &path, &one, None, 204);
        v1.request("POST", &list, &list, Some(&json!({ name: {} })), 400);
    }
    v1.end();
}
