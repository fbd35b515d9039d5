//! The OpenAPI document (3.1) of a service, made from its routes: operations as they are declared, schemas from the types of
//! bodies. There is no second description that could deviate.
//!
//! ```
//! use rest::{Operation, Response, Route, openapi};
//!
//! let list = Operation::get("/v1/cells", "getCells", "The cells").tag("cells").returns::<Vec<String>>("The cells.");
//! let routes = [Route::new(list, |_| Ok(Response::ok(["cell"])))];
//! let api = openapi::Api { title: "Cells", tags: &[("cells", "Cells of the network.")], ..openapi::Api::default() };
//! assert_eq!(api.faults(&routes), Vec::<String>::new());
//! let document = api.document(&routes);
//! assert_eq!(document["paths"]["/v1/cells"]["get"]["operationId"], "getCells");
//! ```

use std::collections::{BTreeMap, BTreeSet};

use hyper::StatusCode;
use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::bearer::OAuth2;
use super::operation::{Answer, JSON, Operation, SchemaOf};
use super::parameter::Parameter;
use super::problem::ProblemSchema;
use super::tokens::Role;
use super::{Response, Route};

/// Where schemas are in a document.
const SCHEMAS: &str = "#/components/schemas/";
/// The response of every operation for its refusals.
const PROBLEM: &str = "#/components/responses/Problem";

/// What a document says beside the operations.
#[derive(Clone, Copy, Debug, Default)]
pub struct Api {
    /// The name of the service.
    pub title: &'static str,
    /// The service in one sentence.
    pub summary: &'static str,
    /// What holds for all operations.
    pub description: &'static str,
    /// The groups of operations: names and descriptions.
    pub tags: &'static [(&'static str, &'static str)],
}

impl Api {
    /// Returns the route of the document at a path. It describes `routes` and itself.
    #[must_use]
    pub fn route(&self, path: &'static str, routes: &[Route]) -> Route {
        let tag = self.tags.first().map_or("", |(name, _)| name);
        let operation = Operation::get(path, "getDocument", "This document").tag(tag);
        let mut operation = operation.returns::<Map<String, Value>>("The document, OpenAPI 3.1.");
        operation.oauth2 = routes.iter().find_map(|route| route.operation().oauth2.clone());
        let operations = routes.iter().map(Route::operation).chain([&operation]);
        let text = format!("{:#}\n", self.describe(operations));
        Route::new(operation, move |_| Ok(Response::text(JSON, text.clone()).tagged()))
    }

    /// Returns the document that describes routes.
    #[must_use]
    pub fn document(&self, routes: &[Route]) -> Value {
        self.describe(routes.iter().map(Route::operation))
    }

    fn describe<'r>(&self, operations: impl Iterator<Item = &'r Operation>) -> Value {
        let mut schemas = Schemas::new();
        let mut paths = Map::new();
        let mut parameters = Map::new();
        let mut oauth2 = None;
        for operation in operations.filter(|operation| operation.is_documented) {
            let item = paths.entry(operation.path).or_insert_with(|| json!({}));
            if !operation.path_parameters.is_empty() {
                let references: Vec<_> = operation
                    .path_parameters
                    .iter()
                    .map(|parameter| json!({ "$ref": format!("#/components/parameters/{}", parameter.name) }))
                    .collect();
                item["parameters"] = references.into();
            }
            for parameter in &operation.path_parameters {
                parameters.entry(parameter.name).or_insert_with(|| describe_parameter(parameter, "path", &mut schemas));
            }
            oauth2 = oauth2.or(operation.oauth2.as_ref());
            item[operation.method.as_str().to_lowercase()] = describe_operation(operation, &mut schemas);
        }
        let problem = schemas.of_answers.subschema_for::<ProblemSchema>();
        let problem = json!({
            "description": "The request is refused (RFC 9457).",
            "headers": { "X-Request-Id": { "$ref": "#/components/headers/X-Request-Id" } },
            "content": { "application/problem+json": { "schema": problem } },
        });
        let mut document = json!({
            "openapi": "3.1.0",
            "info": {
                "title": self.title,
                "version": "1",
                "summary": self.summary,
                "description": self.description,
                "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
            },
            "tags": self.tags.iter().map(|(name, about)| json!({ "name": name, "description": about })).collect::<Vec<_>>(),
            "paths": paths,
            "components": {
                "parameters": parameters,
                "responses": { "Problem": problem },
                "headers": {
                    "X-Request-Id": {
                        "description": "The id of the request: that of the request's header of this name, else a new one.",
                        "schema": { "type": "string", "pattern": "^[A-Za-z0-9._-]{1,64}$" },
                    },
                },
                "securitySchemes": {
                    "bearer": { "type": "http", "scheme": "bearer", "description": "A token, if the server requires tokens." },
                    "certificate": {
                        "type": "mutualTLS",
                        "description": "A client certificate, if the server requires one.",
                    },
                },
            },
        });
        if let Some(OAuth2 { token_url, scope, about }) = oauth2 {
            document["components"]["securitySchemes"]["oauth2"] = json!({
                "type": "oauth2",
                "description": "OAuth 2.0 client credentials (RFC 6749 4.4).",
                "flows": { "clientCredentials": { "tokenUrl": token_url, "scopes": { (*scope): about } } },
            });
        }
        schemas.add_to(&mut document);
        drop_null_defaults(&mut document);
        document
    }

    /// Returns every fault of the declarations of routes as a sentence:
    ///
    /// - two routes with the same method and path;
    /// - an operation without a unique id, a summary, a known tag, or an answer that is no refusal;
    /// - path parameters that are not declared in their order, or by one name in two ways;
    /// - a body of GET or DELETE, and PUT or POST without one;
    /// - a reference without a target.
    #[must_use]
    pub fn faults(&self, routes: &[Route]) -> Vec<String> {
        let mut faults = Vec::new();
        let (mut served, mut ids, mut parameters) = (BTreeSet::new(), BTreeSet::new(), BTreeMap::new());
        for route in routes {
            let operation = route.operation();
            let mut require = |holds: bool, what: &str| {
                if !holds {
                    faults.push(format!("{route:?}: {what}"));
                }
            };
            require(served.insert((operation.method.as_str(), operation.path)), "two routes have this method and path");
            if !operation.is_documented {
                continue;
            }
            require(!operation.id.is_empty() && ids.insert(operation.id), "no unique id");
            require(!operation.summary.is_empty(), "no summary");
            require(self.tags.iter().any(|(name, _)| *name == operation.tag), "no known tag");
            let is_good = |answer: &Answer| answer.status.is_success() || answer.status.is_informational();
            require(operation.answers.iter().any(is_good), "no answer that is no refusal");
            let has_body = matches!(operation.method.as_str(), "PUT" | "POST");
            require(operation.body.is_some() == has_body, "a body belongs to PUT and POST");
            let names = operation.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
            let declared = operation.path_parameters.iter().map(|parameter| parameter.name);
            require(names.eq(declared), "its path parameters are not declared");
            for parameter in &operation.path_parameters {
                let known = parameters.entry(parameter.name).or_insert(parameter.description);
                require(*known == parameter.description, &format!("{} is described in two ways", parameter.name));
            }
        }
        let document = self.document(routes);
        let mut references = Vec::new();
        collect_references(&document, &mut references);
        let has_target = |reference: &str| reference.strip_prefix('#').is_some_and(|p| document.pointer(p).is_some());
        let dangling = references.into_iter().filter(|reference| !has_target(reference));
        faults.extend(dangling.map(|reference| format!("{reference} has no target")));
        faults
    }
}

/// The schemas of types: as they are read, and as they are written. A type with defaults has different ones.
struct Schemas {
    of_bodies: SchemaGenerator,
    of_answers: SchemaGenerator,
}

impl Schemas {
    fn new() -> Self {
        let settings =
            || SchemaSettings::draft2020_12().with(|settings| settings.definitions_path = SCHEMAS[1..].into());
        Schemas {
            of_bodies: settings().for_deserialize().into_generator(),
            of_answers: settings().for_serialize().into_generator(),
        }
    }

    /// Adds all schemas to a document. One that differs between bodies and answers is named `New…` for bodies, whose references
    /// are changed accordingly.
    fn add_to(mut self, document: &mut Value) {
        let (mut of_bodies, mut all) = (self.of_bodies.take_definitions(true), self.of_answers.take_definitions(true));
        let mut renamed: BTreeSet<String> = BTreeSet::new();
        loop {
            let refers = |schema: &Value| {
                let mut references = Vec::new();
                collect_references(schema, &mut references);
                references.iter().any(|reference| renamed.contains(reference.trim_start_matches(SCHEMAS)))
            };
            let differs =
                |name: &String, schema: &Value| all.get(name).is_some_and(|other| other != schema || refers(schema));
            let more = of_bodies.iter().filter(|(name, schema)| !renamed.contains(*name) && differs(name, schema));
            let more: Vec<_> = more.map(|(name, _)| name.clone()).collect();
            if more.is_empty() {
                break;
            }
            renamed.extend(more);
        }
        let new_name = |name: &str| format!("New{name}");
        for (name, mut schema) in std::mem::take(&mut of_bodies) {
            rename_references(&mut schema, &renamed, &new_name);
            let name = if renamed.contains(&name) { new_name(&name) } else { name };
            all.insert(name, schema);
        }
        for item in document["paths"].as_object_mut().into_iter().flat_map(|paths| paths.values_mut()) {
            for operation in item.as_object_mut().into_iter().flat_map(|item| item.values_mut()) {
                if let Some(body) = operation.get_mut("requestBody") {
                    rename_references(body, &renamed, &new_name);
                }
            }
        }
        document["components"]["schemas"] = Value::Object(all);
    }
}

/// Removes defaults that are null where null is no value: a member that may be absent, and is not null when it is there.
fn drop_null_defaults(value: &mut Value) {
    match value {
        Value::Object(members) => {
            let takes_null = match members.get("type") {
                Some(Value::String(name)) => name == "null",
                Some(Value::Array(names)) => names.iter().any(|name| name == "null"),
                _ => true,
            };
            if !takes_null && members.get("default").is_some_and(Value::is_null) {
                members.remove("default");
            }
            members.values_mut().for_each(drop_null_defaults);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_null_defaults),
        _ => {}
    }
}

fn rename_references(value: &mut Value, renamed: &BTreeSet<String>, new_name: &dyn Fn(&str) -> String) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                let target = member.as_str().filter(|_| name == "$ref").and_then(|text| text.strip_prefix(SCHEMAS));
                match target.filter(|target| renamed.contains(*target)) {
                    Some(target) => *member = format!("{SCHEMAS}{}", new_name(target)).into(),
                    None => rename_references(member, renamed, new_name),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| rename_references(item, renamed, new_name)),
        _ => {}
    }
}

fn describe_parameter(parameter: &Parameter, place: &str, schemas: &mut Schemas) -> Value {
    let mut schema = Value::from((parameter.schema)(&mut schemas.of_answers));
    if !parameter.choices.is_empty() {
        schema["enum"] = parameter.choices.into();
    }
    json!({
        "name": parameter.name,
        "in": place,
        "required": place == "path" || parameter.is_required,
        "description": parameter.description,
        "schema": schema,
    })
}

fn describe_operation(operation: &Operation, schemas: &mut Schemas) -> Value {
    let mut document = json!({ "operationId": operation.id, "summary": operation.summary, "tags": [operation.tag] });
    if !operation.description.is_empty() {
        document["description"] = operation.description.as_str().into();
    }
    if !operation.query.is_empty() {
        let query = operation.query.iter().map(|parameter| describe_parameter(parameter, "query", schemas));
        document["parameters"] = query.collect();
    }
    if let Some(body) = &operation.body {
        let mut content = json!({ "schema": (body.schema)(&mut schemas.of_bodies) });
        if let Some(example) = &body.example {
            content["example"] = example.clone();
        }
        document["requestBody"] = json!({ "required": true, "content": { JSON: content } });
    }
    let mut responses = Map::new();
    for answer in &operation.answers {
        responses.insert(answer.status.as_u16().to_string(), describe_answer(answer, schemas));
    }
    responses.insert("default".into(), json!({ "$ref": PROBLEM }));
    document["responses"] = responses.into();
    document["security"] = describe_security(operation);
    document
}

fn describe_answer(answer: &Answer, schemas: &mut Schemas) -> Value {
    let mut document = json!({ "description": answer.description });
    if answer.status.is_client_error() || answer.status.is_server_error() {
        let schema = schemas.of_answers.subschema_for::<ProblemSchema>();
        document["content"] = json!({ "application/problem+json": { "schema": schema } });
    }
    if let Some((media_type, schema)) = answer.content {
        let schema = schema.map(|schema: SchemaOf| schema(&mut schemas.of_answers).to_value());
        let schema = schema.unwrap_or_else(|| json!({ "type": "string" }));
        document["content"] = json!({ media_type: { "schema": schema } });
    }
    let mut headers = json!({ "X-Request-Id": { "$ref": "#/components/headers/X-Request-Id" } });
    if answer.status == StatusCode::CREATED {
        headers["Location"] = json!({ "description": "The path of the new resource.", "schema": { "type": "string" } });
    }
    document["headers"] = headers;
    document
}

/// What a client needs, each alternative with the role or the scope (OpenAPI 3.1, Security Requirement Object). Where there is
/// OAuth 2.0, every request needs a token.
fn describe_security(operation: &Operation) -> Value {
    match (operation.role.map(Role::name), &operation.oauth2) {
        (None, _) => json!([]),
        (Some(role), None) => {
            json!([{}, { "bearer": [role] }, { "certificate": [] }, { "bearer": [role], "certificate": [] }])
        }
        (Some(role), Some(oauth2)) => json!([
            { "oauth2": [oauth2.scope] },
            { "oauth2": [oauth2.scope], "certificate": [] },
            { "bearer": [role] },
            { "bearer": [role], "certificate": [] },
        ]),
    }
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
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};

    use super::*;

    const API: Api = Api { title: "T", summary: "", description: "", tags: &[("a", "A.")] };
    const X: Parameter = Parameter::text("x", "An x.");

    /// A slice.
    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Slice {
        /// Its id.
        id: u32,
        #[serde(default)]
        label: String,
        /// A number that may be absent, and is not null.
        #[serde(default)]
        #[schemars(with = "u32")]
        rank: Option<u32>,
        #[serde(default)]
        group: Option<u32>,
    }

    #[derive(Serialize, Deserialize, JsonSchema)]
    struct Slices {
        slices: Vec<Slice>,
    }

    fn route(operation: Operation) -> Route {
        Route::new(operation, |_| Ok(Response::no_content()))
    }

    #[test]
    fn every_fault_of_a_declaration_is_reported() {
        let routes = [
            Operation::get("/a/{x}", "a", "").tag("b").takes::<u32>(),
            Operation::put("/b/{x}", "a", "B").tag("a").path(&[X]).returns::<u32>("B."),
            Operation::put("/b/{x}", "c", "B").tag("a").path(&[X]).takes::<u32>().returns::<u32>("B."),
            Operation::delete("/b/{x}", "d", "B").tag("a").path(&[Parameter::text("x", "Another.")]).empties(),
        ];
        let found = API.faults(&routes.map(route));
        for fault in [
            "GET /a/{x}: no summary",
            "GET /a/{x}: no known tag",
            "GET /a/{x}: no answer that is no refusal",
            "GET /a/{x}: a body belongs to PUT and POST",
            "GET /a/{x}: its path parameters are not declared",
            "PUT /b/{x}: no unique id",
            "PUT /b/{x}: a body belongs to PUT and POST",
            "PUT /b/{x}: two routes have this method and path",
            "DELETE /b/{x}: x is described in two ways",
        ] {
            assert!(found.iter().any(|found| found == fault), "{fault}: {found:#?}");
        }
        assert_eq!(found.len(), 9, "{found:#?}");
    }

    #[test]
    fn document_has_parameters_bodies_answers_and_roles() {
        let query = [Parameter::of::<u32>("n", "N."), Parameter::choice("how", "How.", &["fast", "slow"]).required()];
        let put = Operation::put("/b/{x}", "putB", "Sets b").tag("a").path(&[X]).query(&query).takes::<Slices>();
        let put = put.example(json!({ "slices": [] })).returns::<Slices>("All.").creates::<Slice>("One.");
        let put = put.refuses(StatusCode::CONFLICT, "It exists.").role(Role::Admin);
        let routes = [put, Operation::get("/p", "p", "P").tag("a").public().returns_media("text/plain", "P.")];
        let document = API.document(&routes.map(route));
        let operation = &document["paths"]["/b/{x}"]["put"];
        assert_eq!(document["paths"]["/b/{x}"]["parameters"][0]["$ref"], "#/components/parameters/x");
        assert_eq!(document["components"]["parameters"]["x"]["required"], true);
        assert_eq!(operation["parameters"][0]["schema"]["type"], "integer");
        assert_eq!(operation["parameters"][1]["schema"]["enum"], json!(["fast", "slow"]));
        assert_eq!(
            (&operation["parameters"][0]["required"], &operation["parameters"][1]["required"]),
            (&json!(false), &json!(true))
        );
        assert_eq!(operation["security"][1], json!({ "bearer": ["admin"] }));
        assert_eq!(document["paths"]["/p"]["get"]["security"], json!([]));
        assert_eq!(
            operation["responses"]["409"]["content"]["application/problem+json"]["schema"]["$ref"],
            "#/components/schemas/Problem"
        );
        assert!(operation["responses"]["201"]["headers"]["Location"].is_object());
        // a default makes a field optional in a body, and it is always in an answer
        let body = &operation["requestBody"]["content"][JSON];
        assert_eq!(
            (&body["schema"]["$ref"], &body["example"]),
            (&json!("#/components/schemas/NewSlices"), &json!({ "slices": [] }))
        );
        let schemas = &document["components"]["schemas"];
        assert_eq!(schemas["NewSlices"]["properties"]["slices"]["items"]["$ref"], "#/components/schemas/NewSlice");
        assert_eq!(schemas["NewSlice"]["required"], json!(["id"]));
        assert_eq!(schemas["Slice"]["required"], json!(["id", "label", "rank", "group"]));
        let members = &schemas["NewSlice"]["properties"];
        assert_eq!((members["rank"].get("default"), members["group"].get("default")), (None, Some(&Value::Null)));
        assert_eq!(schemas["Slice"]["properties"]["id"]["description"], "Its id.");
        assert_eq!(schemas["NewSlice"]["additionalProperties"], false);
        assert_eq!(schemas["Slices"]["properties"]["slices"]["items"]["$ref"], "#/components/schemas/Slice");
    }

    #[test]
    fn document_describes_its_own_route() {
        let routes = [route(Operation::get("/p", "p", "P").tag("a").returns::<u32>("P."))];
        let own = API.route("/v1/openapi.json", &routes);
        assert_eq!(API.faults(&[own]), Vec::<String>::new());
        let request = crate::request::for_tests("/v1/openapi.json");
        let own = API.route("/v1/openapi.json", &routes);
        let response = futures_util::FutureExt::now_or_never(own.answer(request)).unwrap().unwrap();
        let document: Value = serde_json::from_slice(&response.write().octets).unwrap();
        let paths: Vec<_> = document["paths"].as_object().unwrap().keys().cloned().collect();
        assert_eq!(paths, ["/p", "/v1/openapi.json"]);
    }
}
