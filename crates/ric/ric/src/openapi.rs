//! The document that tells what REST offers: OpenAPI 3.1.

use hyper::Method;

use crate::rest::{Response, Route};

/// The document.
const DOCUMENT: &str = include_str!("../openapi.json");

pub(crate) fn route() -> Route {
    Route::new(Method::GET, "/v1/openapi.json", |_| Ok(Response::text("application/json", DOCUMENT)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::time::Duration;

    use ferric::server::{Server, ServerConfig};
    use serde_json::Value;

    use super::*;

    fn document() -> Value {
        serde_json::from_str(DOCUMENT).unwrap()
    }

    /// Every operation that the document tells of: its method, path and description.
    fn operations(document: &Value) -> Vec<(String, String, &Value)> {
        let paths = document["paths"].as_object().unwrap();
        paths
            .iter()
            .flat_map(|(path, item)| {
                let methods = item.as_object().unwrap().iter().filter(|(key, _)| *key != "parameters");
                methods.map(move |(method, operation)| (method.to_uppercase(), path.clone(), operation))
            })
            .collect()
    }

    #[test]
    fn what_is_served_is_documented_and_the_other_way_round() {
        let any_port = "tcp://127.0.0.1:0".parse().unwrap();
        let mut server =
            Server::bind(ServerConfig { e2: vec![any_port], xapp: None, ..ServerConfig::default() }).unwrap();
        let routes = crate::routes(&mut server, Duration::from_secs(1), None).unwrap();
        let served: BTreeSet<_> =
            routes.iter().map(|route| (route.method.to_string(), route.path.to_owned())).collect();
        assert_eq!(served.len(), routes.len(), "no route twice");
        let document = document();
        let told: BTreeSet<_> = operations(&document).into_iter().map(|(method, path, _)| (method, path)).collect();
        let undocumented: Vec<_> = served.difference(&told).collect();
        assert!(undocumented.is_empty(), "{undocumented:?}");
        let unserved: Vec<_> = told.difference(&served).collect();
        assert!(unserved.is_empty(), "{unserved:?}");
    }

    #[test]
    fn every_operation_says_what_it_answers_and_every_reference_leads_somewhere() {
        let document = document();
        let mut ids = BTreeSet::new();
        for (method, path, operation) in operations(&document) {
            let id = operation["operationId"].as_str().unwrap();
            assert!(ids.insert(id), "{id} twice");
            assert!(operation["summary"].is_string(), "{id}");
            assert_eq!(operation["responses"]["default"]["$ref"], "#/components/responses/Problem", "{id}");
            let succeeds = operation["responses"].as_object().unwrap().keys().any(|status| status.starts_with('2'));
            assert!(succeeds, "{id}");
            assert_eq!(operation.get("requestBody").is_some(), matches!(&*method, "PUT" | "POST"), "{id}");
            let parameters = path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
            let parameters: Vec<_> = parameters.map(|name| format!("#/components/parameters/{name}")).collect();
            let item = document["paths"][&path]["parameters"].as_array();
            let told: Vec<_> = item.into_iter().flatten().map(|told| told["$ref"].as_str().unwrap()).collect();
            assert_eq!(parameters, told, "{id}");
        }
        let mut references = Vec::new();
        collect(&document, &mut references);
        for reference in references {
            let pointer = reference.strip_prefix('#').unwrap();
            assert!(document.pointer(pointer).is_some(), "{reference} leads nowhere");
        }
    }

    fn collect<'d>(value: &'d Value, references: &mut Vec<&'d str>) {
        match value {
            Value::Object(members) => {
                references.extend(members.get("$ref").and_then(Value::as_str));
                members.values().for_each(|member| collect(member, references));
            }
            Value::Array(items) => items.iter().for_each(|item| collect(item, references)),
            _ => {}
        }
    }
}
