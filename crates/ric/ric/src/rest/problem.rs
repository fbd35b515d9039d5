//! What went wrong with a request, as RFC 9457 writes it.

use hyper::StatusCode;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use serde_json::{Value, json};

use super::Response;

/// The media type (RFC 9457 3).
const MEDIA_TYPE: HeaderValue = HeaderValue::from_static("application/problem+json");

/// A request that is not done, and why.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Problem {
    pub status: StatusCode,
    /// For people; never the only place of what a program needs.
    detail: String,
    /// Members of their own, for programs.
    members: Vec<(&'static str, Value)>,
    header: Extra,
}

/// A header of its own.
#[derive(Clone, Debug, PartialEq)]
enum Extra {
    None,
    RetryAfter,
    Allow(String),
    Challenge(&'static str),
}

impl Problem {
    pub fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Problem { status, detail: detail.into(), members: Vec::new(), header: Extra::None }
    }

    /// Adds a member of its own.
    pub fn with(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.members.push((name, value.into()));
        self
    }

    /// The same, found to be of another status.
    pub fn of_status(self, status: StatusCode) -> Self {
        Problem { status, ..self }
    }

    /// What there is to say, for people.
    pub fn detail(&self) -> &str {
        &self.detail
    }

    /// Says something more.
    pub fn and_says(mut self, more: &str) -> Self {
        self.detail = format!("{}; {more}", self.detail);
        self
    }

    pub fn bad_request(detail: impl Into<String>) -> Self {
        Problem::new(StatusCode::BAD_REQUEST, detail)
    }

    pub fn not_found(detail: impl Into<String>) -> Self {
        Problem::new(StatusCode::NOT_FOUND, detail)
    }

    pub fn conflict(detail: impl Into<String>) -> Self {
        Problem::new(StatusCode::CONFLICT, detail)
    }

    pub fn unprocessable(detail: impl Into<String>) -> Self {
        Problem::new(StatusCode::UNPROCESSABLE_ENTITY, detail)
    }

    /// Something may be done later.
    pub fn unavailable(detail: impl Into<String>) -> Self {
        Problem { header: Extra::RetryAfter, ..Problem::new(StatusCode::SERVICE_UNAVAILABLE, detail) }
    }

    /// The methods that a resource has (RFC 9110 15.5.6).
    pub fn method_not_allowed(allowed: &str) -> Self {
        let detail = format!("the resource has {allowed}");
        Problem { header: Extra::Allow(allowed.to_owned()), ..Problem::new(StatusCode::METHOD_NOT_ALLOWED, detail) }
    }

    /// How to ask so that it may be done (RFC 9110 11.6.1).
    pub fn challenging(self, challenge: &'static str) -> Self {
        Problem { header: Extra::Challenge(challenge), ..self }
    }

    /// The document.
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
            Extra::None => None,
            Extra::RetryAfter => Some((RETRY_AFTER, HeaderValue::from_static("1"))),
            Extra::Challenge(challenge) => Some((WWW_AUTHENTICATE, HeaderValue::from_static(challenge))),
            Extra::Allow(methods) => HeaderValue::from_str(&methods).ok().map(|methods| (ALLOW, methods)),
        };
        if let Some((name, value)) = header {
            response.headers.insert(name, value);
        }
        response
    }
}
