//! Operations: what a route declares about itself. The router and the OpenAPI document use the same declaration.

use hyper::{Method, StatusCode};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::Value;

use super::bearer::OAuth2;
use super::parameter::Parameter;
use super::tokens::Role;

/// The media type of JSON.
pub(super) const JSON: &str = "application/json";
/// The media type of Server-Sent Events (WHATWG HTML 9.2).
pub(super) const EVENT_STREAM: &str = "text/event-stream";

/// Adds the schema of a type to a generator, and returns it or a reference to it.
pub(super) type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// A method of a resource: its path, parameters, bodies, answers, and the role that it requires.
///
/// ```
/// use rest::{Operation, Parameter, Role};
///
/// #[derive(serde::Serialize, schemars::JsonSchema)]
/// struct Cell {
///     /// Hertz.
///     bandwidth_hz: u64,
/// }
///
/// const CELL: Parameter = Parameter::of::<u32>("cell", "The number of a cell.");
/// let read = Operation::get("/v1/cells/{cell}", "getCell", "A cell").path(&[CELL]).returns::<Cell>("The cell.");
/// let stop = Operation::delete("/v1/cells/{cell}", "stopCell", "Stop a cell").path(&[CELL]).role(Role::Admin).empties();
/// ```
#[derive(Clone, Debug)]
pub struct Operation {
    pub(super) method: Method,
    pub(super) path: &'static str,
    pub(super) id: &'static str,
    pub(super) summary: &'static str,
    pub(super) description: String,
    pub(super) tag: &'static str,
    /// The role that it requires; none for what everybody may read.
    pub(super) role: Option<Role>,
    /// The client credentials whose tokens it takes.
    pub(super) oauth2: Option<OAuth2>,
    pub(super) path_parameters: Vec<Parameter>,
    pub(super) query: Vec<Parameter>,
    pub(super) ignores_other_parameters: bool,
    pub(super) body: Option<Body>,
    pub(super) answers: Vec<Answer>,
    /// Whether the OpenAPI document has it.
    pub(super) is_documented: bool,
    /// Whether it is a stream: Server-Sent Events, or WebSocket.
    pub(super) stream: Option<StreamForms>,
}

/// The body of a request.
#[derive(Clone, Debug)]
pub(super) struct Body {
    pub schema: SchemaOf,
    pub example: Option<Value>,
}

/// An answer that is no refusal, or a refusal that deserves words of its own.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    pub status: StatusCode,
    pub description: &'static str,
    pub content: Option<(&'static str, Option<SchemaOf>)>,
}

/// How a stream can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamForms {
    /// As Server-Sent Events, or by WebSocket if the client asks for an upgrade.
    Both,
    /// By WebSocket only.
    WebSocket,
}

impl Operation {
    fn new(method: Method, path: &'static str, id: &'static str, summary: &'static str, role: Role) -> Self {
        Operation {
            method,
            path,
            id,
            summary,
            description: String::new(),
            tag: "",
            role: Some(role),
            oauth2: None,
            path_parameters: Vec::new(),
            query: Vec::new(),
            ignores_other_parameters: false,
            body: None,
            answers: Vec::new(),
            is_documented: true,
            stream: None,
        }
    }

    /// Leaves it out of the OpenAPI document: it is no part of the programming interface.
    #[must_use]
    pub fn undocumented(self) -> Self {
        Operation { is_documented: false, ..self }
    }

    /// Reads a resource. `path` is written as in OpenAPI: `/v1/nodes/{node}`; `id` is the operation's unique name there. It
    /// requires [`Role::Read`].
    #[must_use]
    pub fn get(path: &'static str, id: &'static str, summary: &'static str) -> Self {
        Operation::new(Method::GET, path, id, summary, Role::Read)
    }

    /// Replaces a resource. It requires [`Role::Control`], as the methods below.
    #[must_use]
    pub fn put(path: &'static str, id: &'static str, summary: &'static str) -> Self {
        Operation::new(Method::PUT, path, id, summary, Role::Control)
    }

    /// Adds to a resource.
    #[must_use]
    pub fn post(path: &'static str, id: &'static str, summary: &'static str) -> Self {
        Operation::new(Method::POST, path, id, summary, Role::Control)
    }

    /// Deletes a resource.
    #[must_use]
    pub fn delete(path: &'static str, id: &'static str, summary: &'static str) -> Self {
        Operation::new(Method::DELETE, path, id, summary, Role::Control)
    }

    /// The method.
    #[must_use]
    pub fn method(&self) -> &Method {
        &self.method
    }

    /// Names the group that it belongs to.
    #[must_use]
    pub fn tag(self, tag: &'static str) -> Self {
        Operation { tag, ..self }
    }

    /// Adds what the summary does not say.
    #[must_use]
    pub fn describe(self, description: impl Into<String>) -> Self {
        Operation { description: description.into(), ..self }
    }

    /// Requires another role than the method implies.
    #[must_use]
    pub fn role(self, role: Role) -> Self {
        Operation { role: Some(role), ..self }
    }

    /// Allows it without a token: for what holds no information, such as the files of a page.
    #[must_use]
    pub fn public(self) -> Self {
        Operation { role: None, ..self }
    }

    /// Declares the parameters of the path, in their order.
    #[must_use]
    pub fn path(self, parameters: &[Parameter]) -> Self {
        Operation { path_parameters: parameters.to_vec(), ..self }
    }

    /// Declares the parameters of the query. Others are refused with 400.
    #[must_use]
    pub fn query(self, parameters: &[Parameter]) -> Self {
        Operation { query: parameters.to_vec(), ..self }
    }

    /// Ignores query parameters that are not declared.
    #[must_use]
    pub fn ignores_other_parameters(self) -> Self {
        Operation { ignores_other_parameters: true, ..self }
    }

    /// Declares the body of the request: JSON of a type.
    #[must_use]
    pub fn takes<T: JsonSchema>(self) -> Self {
        Operation { body: Some(Body { schema: SchemaGenerator::subschema_for::<T>, example: None }), ..self }
    }

    /// Adds an example of the body.
    #[must_use]
    pub fn example(mut self, example: Value) -> Self {
        if let Some(body) = &mut self.body {
            body.example = Some(example);
        }
        self
    }

    /// Declares the answer 200: JSON of a type.
    #[must_use]
    pub fn returns<T: JsonSchema>(self, description: &'static str) -> Self {
        self.answer(StatusCode::OK, description, Some((JSON, Some(SchemaGenerator::subschema_for::<T>))))
    }

    /// Declares the answer 201, with the header `Location`: JSON of a type.
    #[must_use]
    pub fn creates<T: JsonSchema>(self, description: &'static str) -> Self {
        self.answer(StatusCode::CREATED, description, Some((JSON, Some(SchemaGenerator::subschema_for::<T>))))
    }

    /// Declares the answer 202: what was asked for will be done.
    #[must_use]
    pub fn accepts(self, description: &'static str) -> Self {
        self.answer(StatusCode::ACCEPTED, description, None)
    }

    /// Declares the answer 204.
    #[must_use]
    pub fn empties(self) -> Self {
        self.answer(StatusCode::NO_CONTENT, "Done.", None)
    }

    /// Declares the answer 200 of another media type than JSON.
    #[must_use]
    pub fn returns_media(self, media_type: &'static str, description: &'static str) -> Self {
        self.answer(StatusCode::OK, description, Some((media_type, None)))
    }

    /// Declares a stream, whose events have the schema of a type.
    #[must_use]
    pub fn streams<T: JsonSchema>(self, forms: StreamForms, description: &'static str) -> Self {
        let schema: SchemaOf = SchemaGenerator::subschema_for::<T>;
        let streaming = Operation { stream: Some(forms), ..self };
        match forms {
            StreamForms::Both => streaming.answer(StatusCode::OK, description, Some((EVENT_STREAM, Some(schema)))),
            StreamForms::WebSocket => {
                streaming.answer(StatusCode::SWITCHING_PROTOCOLS, description, Some((JSON, Some(schema))))
            }
        }
    }

    /// Explains a refusal that is particular to the operation.
    #[must_use]
    pub fn refuses(self, status: StatusCode, description: &'static str) -> Self {
        self.answer(status, description, None)
    }

    fn answer(
        mut self,
        status: StatusCode,
        description: &'static str,
        content: Option<(&'static str, Option<SchemaOf>)>,
    ) -> Self {
        self.answers.push(Answer { status, description, content });
        self
    }

    /// The media types of its answers that are no refusals.
    pub(super) fn media_types(&self) -> Vec<&'static str> {
        self.answers.iter().filter_map(|answer| Some(answer.content?.0)).collect()
    }
}
