//! Requests as routes see them, and responses.

use std::fmt;

use hyper::StatusCode;
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Problem, body};

/// A request that has a route.
#[derive(Debug)]
pub struct Request {
    pub(super) parameters: Vec<String>,
    /// The path as it was received.
    pub path: String,
    /// The headers.
    pub headers: HeaderMap,
    /// The body; empty if there is none.
    pub body: Vec<u8>,
}

impl Request {
    /// Returns a parameter of the path, decoded, by its position among the parameters of the route's path.
    ///
    /// # Panics
    /// If the route has fewer parameters.
    #[must_use]
    pub fn parameter(&self, at: usize) -> &str {
        &self.parameters[at]
    }

    /// Returns a parameter that is a decimal number. `resource` names what the number identifies.
    ///
    /// # Errors
    /// 404 if it is not a number, or exceeds the type.
    pub fn number<T: std::str::FromStr>(&self, at: usize, resource: &str) -> Result<T, Problem> {
        let text = self.parameter(at);
        // each number has one spelling: no sign
        let digits = text.bytes().all(|digit| digit.is_ascii_digit());
        let number = text.parse().ok().filter(|_| digits);
        number.ok_or_else(|| Problem::not_found(format!("there is no {resource} `{text}`")))
    }

    /// Reads the body as JSON. Give the type `#[serde(deny_unknown_fields)]`.
    ///
    /// # Errors
    /// 415 if the content type is not JSON, 400 if the body is not JSON, 422 if it is not of the type.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, Problem> {
        body::read(&self.headers, &self.body)
    }
}

/// A response. Its body is written on the server's thread.
pub struct Response {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    write: Option<Write>,
}

/// Writes a body.
type Write = Box<dyn FnOnce() -> Vec<u8> + Send>;

impl Response {
    /// A response with a status and JSON.
    ///
    /// # Panics
    /// On the server's thread, if `value` cannot be written as JSON.
    pub fn json(status: StatusCode, value: impl Serialize + Send + 'static) -> Self {
        let write: Write = Box::new(move || {
            let mut text = match serde_json::to_vec(&value) {
                Ok(text) => text,
                Err(error) => panic!("a response cannot be written as JSON: {error}"),
            };
            text.push(b'\n');
            text
        });
        let headers = [(CONTENT_TYPE, HeaderValue::from_static("application/json"))].into_iter().collect();
        Response { status, headers, write: Some(write) }
    }

    /// 200 with JSON.
    pub fn ok(value: impl Serialize + Send + 'static) -> Self {
        Response::json(StatusCode::OK, value)
    }

    /// 200 with JSON that is created on the server's thread.
    pub fn lazy(create: impl FnOnce() -> serde_json::Value + Send + 'static) -> Self {
        let write: Write = Box::new(move || {
            let mut text = create().to_string().into_bytes();
            text.push(b'\n');
            text
        });
        Response { write: Some(write), ..Response::ok(()) }
    }

    /// 201 with JSON, and the path of the new resource.
    pub fn created(location: &str, value: impl Serialize + Send + 'static) -> Self {
        let mut response = Response::json(StatusCode::CREATED, value);
        if let Ok(location) = HeaderValue::from_str(location) {
            response.headers.insert(LOCATION, location);
        }
        response
    }

    /// 204.
    #[must_use]
    pub fn no_content() -> Self {
        Response { status: StatusCode::NO_CONTENT, headers: HeaderMap::new(), write: None }
    }

    /// 200 with a text of a media type.
    #[must_use]
    pub fn text(media_type: &'static str, text: &str) -> Self {
        let headers = [(CONTENT_TYPE, HeaderValue::from_static(media_type))].into_iter().collect();
        let text = text.as_bytes().to_vec();
        Response { status: StatusCode::OK, headers, write: Some(Box::new(|| text)) }
    }

    /// Writes the body.
    pub(super) fn into_body(self) -> Vec<u8> {
        self.write.map_or_else(Vec::new, |write| write())
    }
}

impl fmt::Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Response").field("status", &self.status).field("headers", &self.headers).finish_non_exhaustive()
    }
}
