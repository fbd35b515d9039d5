//! A request as a resource sees it, and what is answered.

use std::fmt;

use hyper::StatusCode;
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Problem, body};

/// A request that has a route.
#[derive(Debug)]
pub(crate) struct Request {
    /// The parameters of its path, decoded, in the order of the route's.
    pub parameters: Vec<String>,
    /// Where it went: the path as it came.
    pub path: String,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

impl Request {
    /// A parameter of the path.
    ///
    /// # Panics
    /// Where the route has fewer.
    pub fn parameter(&self, at: usize) -> &str {
        &self.parameters[at]
    }

    /// A parameter that is a number.
    pub fn number<T: std::str::FromStr>(&self, at: usize, what: &str) -> Result<T, Problem> {
        let text = self.parameter(at);
        // one way to write it: no sign
        let digits = text.bytes().all(|digit| digit.is_ascii_digit());
        text.parse().ok().filter(|_| digits).ok_or_else(|| Problem::not_found(format!("there is no {what} `{text}`")))
    }

    /// The body, read as JSON.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, Problem> {
        body::read(&self.headers, &self.body)
    }
}

/// What is answered. The body is written where HTTP is.
pub(crate) struct Response {
    pub status: StatusCode,
    pub headers: HeaderMap,
    write: Option<Write>,
}

/// Writes a body.
type Write = Box<dyn FnOnce() -> Vec<u8> + Send>;

impl Response {
    /// JSON.
    pub fn json(status: StatusCode, value: impl Serialize + Send + 'static) -> Self {
        let write: Write = Box::new(move || {
            let mut text = match serde_json::to_vec(&value) {
                Ok(text) => text,
                Err(error) => panic!("what we tell can be written as JSON: {error}"),
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

    /// 200 with JSON that is made where it is written.
    pub fn lazy(make: impl FnOnce() -> serde_json::Value + Send + 'static) -> Self {
        let write: Write = Box::new(move || {
            // a `Value` is written as it is
            let mut text = make().to_string().into_bytes();
            text.push(b'\n');
            text
        });
        Response { write: Some(write), ..Response::ok(()) }
    }

    /// 201 with JSON, and where the new resource is.
    pub fn created(location: &str, value: impl Serialize + Send + 'static) -> Self {
        let mut response = Response::json(StatusCode::CREATED, value);
        if let Ok(location) = HeaderValue::from_str(location) {
            response.headers.insert(LOCATION, location);
        }
        response
    }

    /// 204.
    pub fn no_content() -> Self {
        Response { status: StatusCode::NO_CONTENT, headers: HeaderMap::new(), write: None }
    }

    /// Text that stands already, of a media type.
    pub fn text(media_type: &'static str, text: &'static str) -> Self {
        let headers = [(CONTENT_TYPE, HeaderValue::from_static(media_type))].into_iter().collect();
        Response { status: StatusCode::OK, headers, write: Some(Box::new(|| text.as_bytes().to_vec())) }
    }

    /// Writes the body.
    pub fn into_body(self) -> Vec<u8> {
        self.write.map_or_else(Vec::new, |write| write())
    }
}

impl fmt::Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Response").field("status", &self.status).field("headers", &self.headers).finish_non_exhaustive()
    }
}
