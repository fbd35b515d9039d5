//! Requests as routes see them, and responses.

use std::fmt;
use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::sync::Arc;

use hyper::StatusCode;
use hyper::body::Bytes;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, HeaderMap, HeaderName, HeaderValue, LOCATION};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::conditional::EntityTag;
use super::messages::MessageService;
use super::operation::JSON;
use super::parameter::Query;
use super::reader_message::Filter;
use super::request_id::RequestId;
use super::stream::{self, StreamReceiver, StreamSender};
use super::{Problem, body};

/// A request that has a route.
#[derive(Clone, Debug)]
pub struct Request {
    pub(super) parameters: Vec<String>,
    pub(super) query: Query,
    pub(super) max_stream_events: usize,
    pub(super) subject: Option<Arc<str>>,
    pub(super) peer: IpAddr,
    /// Its id, for log lines about it.
    pub id: RequestId,
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

    /// Whom the token of the request stands for, if a [`BearerVerifier`](crate::BearerVerifier) has verified it.
    #[must_use]
    pub fn subject(&self) -> Option<&Arc<str>> {
        self.subject.as_ref()
    }

    /// The address of the client.
    #[must_use]
    pub fn peer(&self) -> IpAddr {
        self.peer
    }

    /// Returns a parameter of the query, decoded; `None` if it is absent.
    #[must_use]
    pub fn query(&self, name: &str) -> Option<&str> {
        self.query.get(name)
    }

    /// Returns a parameter of the query that is a decimal number within a range.
    ///
    /// # Errors
    /// 400 if it is not.
    pub fn query_number<T>(&self, name: &'static str, range: RangeInclusive<T>) -> Result<Option<T>, Problem>
    where
        T: std::str::FromStr + PartialOrd + fmt::Display,
    {
        let Some(text) = self.query.get(name) else { return Ok(None) };
        let number = text.parse().ok().filter(|number| range.contains(number));
        let (least, most) = (range.start(), range.end());
        let problem = || Problem::bad_request(format!("{name}: `{text}` is not a number from {least} to {most}"));
        number.map(Some).ok_or_else(|| problem().with("at", name))
    }

    /// Checks that the client knows the representation that it is about to change: that `If-Match` names it, if it is there.
    ///
    /// # Errors
    /// 412 if it names others.
    pub fn check_if_match(&self, tag: &EntityTag) -> Result<(), Problem> {
        if tag.meets_if_match(&self.headers) {
            return Ok(());
        }
        let detail = format!("the resource has changed: its ETag is {tag} now; read it again");
        Err(Problem::new(StatusCode::PRECONDITION_FAILED, detail))
    }

    /// Creates a stream for the client. The response is to be returned, the sender to be kept by what has events.
    #[must_use]
    pub fn open_stream(&self) -> (StreamSender, Response) {
        let (sender, receiver) = stream::stream(self.max_stream_events);
        (
            sender,
            Response { status: StatusCode::OK, headers: HeaderMap::new(), content: Content::Stream(receiver, None) },
        )
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
    pub(super) content: Content,
}

/// What a response contains.
pub(super) enum Content {
    Empty,
    Octets(Bytes),
    /// It is written later.
    Write(Write),
    /// It is written later, and gets an entity tag.
    Tagged(Write),
    /// Events, and what changes which of them the reader gets.
    Stream(StreamReceiver, Option<Filter>),
    /// Binary messages of a WebSocket.
    Messages(Box<dyn MessageService>),
}

/// A response whose body is written. Copies share the body.
#[derive(Clone, Debug)]
pub(super) struct Written {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub octets: Bytes,
}

impl From<Written> for Response {
    fn from(Written { status, headers, octets }: Written) -> Self {
        Response { status, headers, content: Content::Octets(octets) }
    }
}

/// Writes a body.
pub(super) type Write = Box<dyn FnOnce() -> Vec<u8> + Send>;

impl Response {
    fn of(status: StatusCode, media_type: &'static str, content: Content) -> Self {
        let headers = [(CONTENT_TYPE, HeaderValue::from_static(media_type))].into_iter().collect();
        Response { status, headers, content }
    }

    /// A response with a status and JSON.
    ///
    /// # Panics
    /// On the server's thread, if `value` cannot be written as JSON.
    pub fn json(status: StatusCode, value: impl Serialize + Send + 'static) -> Self {
        let write: Write = Box::new(move || {
            let mut text = match serde_json::to_vec(&value) {
                Ok(text) => text,
                // values are structs, lists, and maps by text, of which serde_json writes each: an error is one of the handler's
                // own `Serialize`
                Err(error) => panic!("a response cannot be written as JSON: {error}"),
            };
            text.push(b'\n');
            text
        });
        Response::of(status, JSON, Content::Write(write))
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
        Response::of(StatusCode::OK, JSON, Content::Write(write))
    }

    /// 201 with JSON, and the path of the new resource.
    pub fn created(location: &str, value: impl Serialize + Send + 'static) -> Self {
        Response::ok(value).created_at(location)
    }

    /// Turns 200 into 201 with the path of the new resource.
    #[must_use]
    pub fn created_at(self, location: &str) -> Self {
        let mut headers = self.headers;
        if let Ok(location) = HeaderValue::from_str(location) {
            headers.insert(LOCATION, location);
        }
        Response { status: StatusCode::CREATED, headers, ..self }
    }

    /// Adds a header, or replaces it.
    #[must_use]
    pub fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    /// 202, without a body.
    #[must_use]
    pub fn accepted() -> Self {
        Response { status: StatusCode::ACCEPTED, headers: HeaderMap::new(), content: Content::Empty }
    }

    /// 204.
    #[must_use]
    pub fn no_content() -> Self {
        Response { status: StatusCode::NO_CONTENT, headers: HeaderMap::new(), content: Content::Empty }
    }

    /// 200 with a text of a media type.
    #[must_use]
    pub fn text(media_type: &'static str, text: impl Into<Bytes>) -> Self {
        Response::of(StatusCode::OK, media_type, Content::Octets(text.into()))
    }

    /// Gives the response an entity tag: a client that has it already is answered with 304, and a change of the resource can
    /// name it ([`Request::check_if_match`]).
    #[must_use]
    pub fn tagged(self) -> Self {
        let content = match self.content {
            Content::Write(write) => Content::Tagged(write),
            Content::Octets(octets) => Content::Tagged(Box::new(move || octets.to_vec())),
            other => other,
        };
        Response { content, ..self }
    }

    /// A WebSocket of binary messages, which `service` writes and reads. The operation declares a stream of
    /// [`StreamForms::WebSocket`](crate::StreamForms::WebSocket).
    #[must_use]
    pub fn messages(service: impl MessageService + 'static) -> Self {
        Response { status: StatusCode::OK, headers: HeaderMap::new(), content: Content::Messages(Box::new(service)) }
    }

    /// Lets the reader of a stream by WebSocket change which events it gets: `change` is called on the server's thread with the
    /// members of each message of type `filter`, and returns the reason if it refuses them.
    #[must_use]
    pub fn filtered_by(self, change: impl FnMut(&Map<String, Value>) -> Result<(), String> + Send + 'static) -> Self {
        let content = match self.content {
            Content::Stream(receiver, _) => Content::Stream(receiver, Some(Box::new(change))),
            other => other,
        };
        Response { content, ..self }
    }

    /// Returns the entity tag of JSON as [`Response::ok`] writes it.
    ///
    /// # Panics
    /// If `value` cannot be written as JSON.
    #[must_use]
    pub fn tag_of(value: impl Serialize + Send + 'static) -> EntityTag {
        EntityTag::of(&Response::ok(value).write().octets)
    }

    /// Writes the body of a response that is no stream.
    pub(super) fn write(self) -> Written {
        let Response { status, mut headers, content } = self;
        let octets = match content {
            Content::Empty | Content::Stream(..) | Content::Messages(_) => Bytes::new(),
            Content::Octets(octets) => octets,
            Content::Write(write) => write().into(),
            Content::Tagged(write) => {
                let octets = Bytes::from(write());
                headers.insert(ETAG, EntityTag::of(&octets).header());
                headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-cache"));
                octets
            }
        };
        Written { status, headers, octets }
    }
}

impl fmt::Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Response").field("status", &self.status).field("headers", &self.headers).finish_non_exhaustive()
    }
}

/// A request without a body, for tests of handlers.
#[cfg(test)]
pub(super) fn for_tests(path: &str) -> Request {
    Request {
        parameters: Vec::new(),
        query: Query::default(),
        max_stream_events: 8,
        subject: None,
        peer: IpAddr::from([127, 0, 0, 1]),
        id: RequestId::of(&HeaderMap::new(), &super::request_id::RequestIds::new()),
        path: path.to_owned(),
        headers: HeaderMap::new(),
        body: Vec::new(),
    }
}
