//! The OpenAPI document of a service: its route, and its comparison with the routes that are served.
//!
//! A test of a service calls [`faults`], so that the document cannot deviate from the routes:
//!
//! ```
//! use rest::{Method, Response, Route, openapi};
//!
//! let routes = [Route::new(Method::GET, "/v1/cells", |_| Ok(Response::ok(["cell"])))];
//! let document = serde_json::json!({ "paths": { "/v1/cells": { "get": {
//!     "operationId": "listCells",
//!     "summary": "Lists the cells.",
//!     "responses": { "200": {}, "default": { "$ref": "#/components/responses/Problem" } },
//! } } }, "components": { "responses": { "Problem": {} } } });
//! assert_eq!(openapi::faults(&document, &routes), Vec::<String>::new());
//! ```

use std::collections::BTreeSet;
use std::sync::Arc;

use hyper::Method;
use serde_json::Value;

use super::{Response, Route};

/// The response of every operation for its refusals.
const PROBLEM: &str = "#/components/responses/Problem";

/// Returns the route of a document.
pub fn route(path: &'static str, document: &Value) -> Route {
    let text: Arc<str> = format!("{document:#}\n").into();
    Route::new(Method::GET, path, move |_| Ok(Response::text("application/json", &text)))
}

/// Removes the operations that are not served from a document: for a service some of whose parts are optional.
pub fn retain_served(document: &mut Value, routes: &[Route]) {
    let Some(paths) = document["paths"].as_object_mut() else { return };
    for (path, item) in paths.iter_mut() {
        let Some(item) = item.as_object_mut() else { continue };
        item.retain(|key, _| {
            let serves = |route: &Route| route.path() == path && route.method().as_str().eq_ignore_ascii_case(key);
            key == "parameters" || routes.iter().any(serves)
        });
    }
    paths.retain(|_, item| item.as_object().is_some_and(|item| item.keys().any(|key| key != "parameters")));
}

/// Compares an OpenAPI document with routes. Returns every fault as a sentence:
///
/// - a route that is not documented or not unique, a documented operation that is not served;
/// - an operation without a unique `operationId`, a summary, a 2xx response, or `#/components/responses/Problem` as its default
///   response;
/// - an operation whose path parameters are not listed as references `#/components/parameters/NAME`, in their order;
/// - a request body of GET or DELETE, and PUT or POST without one;
/// - a reference whose target does not exist.
#[must_use]
pub fn faults(document: &Value, routes: &[Route]) -> Vec<String> {
    let mut faults = Vec::new();
    let served: BTreeSet<_> = routes.iter().map(|route| (route.method().to_string(), route.path())).collect();
    if served.len() != routes.len() {
        faults.push("two routes have the same method and path".to_owned());
    }
    let operations = operations(document);
    let documented: BTreeSet<_> = operations.iter().map(|(method, path, _)| (method.clone(), *path)).collect();
    faults.extend(served.difference(&documented).map(|(method, path)| format!("{method} {path} is not documented")));
    faults.extend(documented.difference(&served).map(|(method, path)| format!("{method} {path} is not served")));
    let mut ids = BTreeSet::new();
    for (method, path, operation) in operations {
        let mut require = |holds: bool, what: &str| {
            if !holds {
                faults.push(format!("{method} {path}: {what}"));
            }
        };
        require(operation["operationId"].as_str().is_some_and(|id| ids.insert(id)), "no unique operationId");
        require(operation["summary"].is_string(), "no summary");
        require(operation["responses"]["default"]["$ref"] == PROBLEM, "the default response is not Problem");
        let mut statuses = operation["responses"].as_object().into_iter().flat_map(|responses| responses.keys());
        require(statuses.any(|status| status.starts_with('2')), "no 2xx response");
        let has_body = operation.get("requestBody").is_some();
        require(has_body == matches!(&*method, "PUT" | "POST"), "a request body belongs to PUT and POST");
        let names = path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
        let expected: Vec<_> = names.map(|name| format!("#/components/parameters/{name}")).collect();
        let listed = document["paths"][path]["parameters"].as_array();
        let listed: Vec<_> = listed.into_iter().flatten().map(|parameter| parameter["$ref"].as_str()).collect();
        require(expected.iter().map(|name| Some(&**name)).eq(listed), "its path parameters are not listed");
    }
    let mut references = Vec::new();
    collect_references(document, &mut references);
    let has_target = |reference: &str| reference.strip_prefix('#').is_some_and(|p| document.pointer(p).is_some());
    let dangling = references.into_iter().filter(|reference| !has_target(reference));
    faults.extend(dangling.map(|reference| format!("{reference} has no target")));
    faults
}

/// Returns the operations of a document: method, path and description.
fn operations(document: &Value) -> Vec<(String, &str, &Value)> {
    let paths = document["paths"].as_object().into_iter().flatten();
    paths
        .flat_map(|(path, item)| {
            let methods = item.as_object().into_iter().flatten().filter(|(key, _)| *key != "parameters");
            methods.map(move |(method, operation)| (method.to_uppercase(), &**path, operation))
        })
        .collect()
}

fn collect_references<'d>(value: &'d Value, references: &mut Vec<&'d str>) {
    match value {
        Value::Object(members) => {
            references.extend(members.get("$ref").and_then(Value::as_str));
            members.values().for_each(|member| collect_references(member, references));
        }
        Value::Array(items) => items.iter().for_each(|item| collect_references(item, references)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_deviation_is_reported() {
        let routes = [
            Route::new(Method::GET, "/a/{x}", |_| Ok(Response::no_content())),
            Route::new(Method::PUT, "/b", |_| Ok(Response::no_content())),
            Route::new(Method::PUT, "/b", |_| Ok(Response::no_content())),
        ];
        let document = json!({ "paths": { "/a/{x}": {
            "get": { "operationId": "a", "requestBody": {}, "responses": { "404": { "$ref": "#/nowhere" } } },
            "delete": { "operationId": "a", "summary": "", "responses": { "204": {} } },
        } } });
        let found = faults(&document, &routes);
        for fault in [
            "two routes have the same method and path",
            "PUT /b is not documented",
            "DELETE /a/{x} is not served",
            "DELETE /a/{x}: no unique operationId",
            "GET /a/{x}: no summary",
            "GET /a/{x}: no 2xx response",
            "GET /a/{x}: the default response is not Problem",
            "GET /a/{x}: a request body belongs to PUT and POST",
            "GET /a/{x}: its path parameters are not listed",
            "#/nowhere has no target",
        ] {
            assert!(found.iter().any(|found| found == fault), "{fault}: {found:#?}");
        }
    }

    #[test]
    fn operations_that_are_not_served_are_removed() {
        let routes = [Route::new(Method::GET, "/a", |_| Ok(Response::no_content()))];
        let mut document = json!({ "paths": {
            "/a": { "parameters": [], "get": {}, "put": {} },
            "/b": { "parameters": [], "get": {} },
        } });
        retain_served(&mut document, &routes);
        assert_eq!(document, json!({ "paths": { "/a": { "parameters": [], "get": {} } } }));
    }
}
