//! Problem details: why a request was refused (RFC 9457).

use std::time::Duration;

use hyper::StatusCode;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue, RETRY_AFTER, UPGRADE, WWW_AUTHENTICATE};
use schemars::JsonSchema;
use serde_json::{Value, json};

use super::Response;

/// The media type (RFC 9457 3).
const MEDIA_TYPE: HeaderValue = HeaderValue::from_static("application/problem+json");

/// The document of a refusal (RFC 9457 3.1). A problem may have further members.
#[derive(JsonSchema)]
#[schemars(rename = "Problem", extend("additionalProperties" = true))]
#[allow(dead_code, reason = "the schema of what `Problem::document` creates")]
pub(super) struct ProblemSchema {
    /// Always `about:blank`: the status says what kind of problem it is.
    r#type: String,
    /// The status in words.
    title: String,
    /// The status.
    status: u16,
    /// The explanation for people.
    detail: String,
    /// The id of the request, as in the header `X-Request-Id` and in the log of the server.
    request_id: String,
    /// The place in the body, or the parameter, that is wrong.
    #[schemars(skip_serializing_if = "Option::is_none", with = "String")]
    at: Option<String>,
    /// The diagnostic of a base station's RAN function.
    #[schemars(skip_serializing_if = "Option::is_none", with = "String")]
    reason: Option<String>,
    /// The E2AP cause.
    #[schemars(skip_serializing_if = "Option::is_none", with = "String")]
    cause: Option<String>,
}

/// The reason why a request is refused.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    status: StatusCode,
    /// For people. Everything that a program needs is in the status or in a member.
    detail: String,
    /// Extension members (RFC 9457 3.2), for programs.
    members: Vec<(&'static str, Value)>,
    header: Header,
}

/// The header that a status requires.
#[derive(Clone, Debug, PartialEq)]
enum Header {
    None,
    /// Seconds.
    RetryAfter(u64),
    Allow(String),
    Challenge(&'static str),
    Upgrade,
}

impl Problem {
    /// A problem with a status and a description for people.
    pub fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Problem { status, detail: detail.into(), members: Vec::new(), header: Header::None }
    }

    /// Adds an extension member to the document.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.members.push((name, value.into()));
        self
    }

    /// Returns the problem with another status.
    #[must_use]
    pub fn with_status(self, status: StatusCode) -> Self {
        Problem { status, ..self }
    }

    /// Appends to the description.
    #[must_use]
    pub fn with_more_detail(mut self, more: &str) -> Self {
        self.detail = format!("{}; {more}", self.detail);
        self
    }

    /// The status of the response.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// The description for people.
    #[must_use]
    pub fn detail(&self) -> &str {
        &self.detail
    }

    /// 400: the request is malformed.
    pub fn bad_request(detail: impl Into<String>) -> Self {
        Problem::new(StatusCode::BAD_REQUEST, detail)
    }

    /// 404: there is no such resource.
    pub fn not_found(detail: impl Into<String>) -> Self {
        Problem::new(StatusCode::NOT_FOUND, detail)
    }

    /// 409: the state of the resource does not allow the request.
    pub fn conflict(detail: impl Into<String>) -> Self {
        Problem::new(StatusCode::CONFLICT, detail)
    }

    /// 422: the body is well-formed and makes no sense.
    pub fn unprocessable(detail: impl Into<String>) -> Self {
        Problem::new(StatusCode::UNPROCESSABLE_ENTITY, detail)
    }

    /// 503: the same request may succeed later.
    pub fn unavailable(detail: impl Into<String>) -> Self {
        Problem { header: Header::RetryAfter(1), ..Problem::new(StatusCode::SERVICE_UNAVAILABLE, detail) }
    }

    /// 429: the same request is allowed after a time, which is rounded up to seconds.
    pub(super) fn too_many_requests(detail: impl Into<String>, after: Duration) -> Self {
        let seconds = after.as_millis().div_ceil(1000).max(1) as u64; // a minute at most
        Problem { header: Header::RetryAfter(seconds), ..Problem::new(StatusCode::TOO_MANY_REQUESTS, detail) }
    }

    /// 405, with the methods that the resource has (RFC 9110 15.5.6).
    pub(super) fn method_not_allowed(allowed: &str) -> Self {
        let detail = format!("the resource supports only {allowed}");
        Problem { header: Header::Allow(allowed.to_owned()), ..Problem::new(StatusCode::METHOD_NOT_ALLOWED, detail) }
    }

    /// Adds a challenge: what the client must authenticate with (RFC 9110 11.6.1).
    pub(super) fn with_challenge(self, challenge: &'static str) -> Self {
        Problem { header: Header::Challenge(challenge), ..self }
    }

    /// Adds what a client must upgrade to (RFC 9110 7.8).
    pub(super) fn with_upgrade(self) -> Self {
        Problem { header: Header::Upgrade, ..self }
    }

    /// Returns the document of the response.
    #[must_use]
    pub fn document(&self) -> Value {
        let mut document = json!({
            "type": "about:blank",
            "title": self.status.canonical_reason().unwrap_or("Error"),
            "status": self.status.as_u16(),
            "detail": self.detail,
        });
        if let Value::Object(members) = &mut document {
            members.extend(self.members.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
        }
        document
    }
}

impl From<Problem> for Response {
    fn from(problem: Problem) -> Self {
        let mut response = Response::json(problem.status, problem.document());
        response.headers.insert(CONTENT_TYPE, MEDIA_TYPE);
        let header = match problem.header {
            Header::None => None,
            Header::RetryAfter(seconds) => Some((RETRY_AFTER, HeaderValue::from(seconds))),
            Header::Upgrade => Some((UPGRADE, HeaderValue::from_static("websocket"))),
            Header::Challenge(challenge) => Some((WWW_AUTHENTICATE, HeaderValue::from_static(challenge))),
            Header::Allow(methods) => HeaderValue::from_str(&methods).ok().map(|methods| (ALLOW, methods)),
        };
        if let Some((name, value)) = header {
            response.headers.insert(name, value);
        }
        response
    }
}
