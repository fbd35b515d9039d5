//! The path of a request: its checks, its route, and its response.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use http_body_util::{BodyExt, Limited};
use hyper::body::{Body, Bytes, Incoming};
use hyper::header::{
    CACHE_CONTROL, CONNECTION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HOST, HeaderMap, HeaderName, HeaderValue,
    REFERRER_POLICY, STRICT_TRANSPORT_SECURITY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use hyper::http::request::Parts;
use hyper::upgrade::OnUpgrade;
use hyper::{Method, StatusCode, Uri, Version};
use tokio::time::{interval_at, timeout};
use tracing::debug;

use super::conditional::{accepted_age, accepts, is_known};
use super::connection::{Connection, StreamGuard};
use super::limits::Permit;
use super::messages::{self, MessageService};
use super::operation::{EVENT_STREAM, StreamForms};
use super::reader_message::Filter;
use super::request::{Content, Request, Response, Written};
use super::request_id::{RequestId, X_REQUEST_ID};
use super::route::{Route, Sharing};
use super::serve::Shared;
use super::sse::{EventBody, ResponseBody};
use super::tokens::Client;
use super::write_observer::{NotedWrite, WriteRecord};
use super::{Problem, ServerConfig, websocket};

/// Octets of a request's target; a longer one is answered with 414.
const MAX_TARGET_OCTETS: usize = 8 * 1024;
const CROSS_ORIGIN_RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");
/// What a page may do: for responses that are none, nothing.
const NO_PAGE: HeaderValue = HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'");

/// Answers a request.
pub(super) async fn respond(
    mut request: hyper::Request<Incoming>,
    connection: &Rc<Connection>,
    shared: &Rc<Shared>,
) -> hyper::Response<ResponseBody> {
    let begun = Instant::now();
    let guard = connection.begin_request();
    let id = RequestId::of(request.headers(), &shared.ids);
    let upgrade = websocket::is_requested(&request).then(|| hyper::upgrade::on(&mut request));
    let (mut head, body) = request.into_parts();
    if upgrade.is_some() && head.version == Version::HTTP_2 && head.method == Method::CONNECT {
        // RFC 8441 4: the resource is that of the target, as with GET over HTTP/1.1
        head.method = Method::GET;
    }
    let mut handling =
        Handling { id: &id, head: &head, connection, shared, route: None, upgrade, noted: NotedWrite::default() };
    let mut response = match handling.answer(body).await {
        Ok(response) => response,
        Err(problem) => {
            handling.noted.refusal = Some(problem.detail().to_owned());
            handling.write(problem.with("request_id", id.as_str()).into())
        }
    };
    let (route, status) = (handling.route, response.status());
    handling.observe_write(status);
    let headers = response.headers_mut();
    headers.insert(X_REQUEST_ID, id.header());
    if head.version <= Version::HTTP_11 && matches!(status, StatusCode::REQUEST_TIMEOUT | StatusCode::PAYLOAD_TOO_LARGE)
    {
        // the rest of the request is not read
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
    secure(headers, shared.is_secured);
    let duration = begun.elapsed();
    shared.metrics.note_request(&head.method, route, status, duration);
    let (method, path, peer) = (&head.method, head.uri.path(), connection.peer);
    debug!(%peer, request_id = %id, %method, path, status = status.as_u16(), ?duration, "REST request answered");
    drop(guard);
    response
}

/// Adds the headers that keep browsers from using a response for anything else, unless it has its own.
fn secure(headers: &mut HeaderMap, is_secured: bool) {
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    headers.entry(CONTENT_SECURITY_POLICY).or_insert(NO_PAGE);
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(CROSS_ORIGIN_RESOURCE_POLICY, HeaderValue::from_static("same-origin"));
    if is_secured {
        headers.insert(STRICT_TRANSPORT_SECURITY, HeaderValue::from_static("max-age=31536000"));
    }
}

/// A request while it is handled.
struct Handling<'r> {
    id: &'r RequestId,
    head: &'r Parts,
    connection: &'r Rc<Connection>,
    shared: &'r Rc<Shared>,
    /// The path of its route, once it is found.
    route: Option<&'static str>,
    upgrade: Option<OnUpgrade>,
    /// For the record of a request that may change something.
    noted: NotedWrite,
}

/// Who sends a request, unless everybody may; its route, and the parameters of its path.
type Admitted<'r> = (Option<Client>, &'r Route, Vec<String>);

/// The permission to stream to a client, and as what.
struct StreamPermit {
    permit: Permit,
    /// The response that accepts a WebSocket; none for Server-Sent Events.
    websocket: Option<HeaderMap>,
}

impl<'r> Handling<'r> {
    async fn answer(&mut self, body: Incoming) -> Result<hyper::Response<ResponseBody>, Problem> {
        let Handling { id, head, shared, .. } = *self;
        let peer = self.connection.peer;
        let log_refusal = |problem: &Problem| {
            shared.log_refusal(peer, &format!("request_id={id} request"), &problem.detail());
        };
        let (client, route, parameters) = self.admit().inspect_err(log_refusal)??;
        let operation = route.operation();
        self.route = Some(operation.path);
        (self.noted.client, self.noted.operation) = (client.clone(), Some(operation.id));
        if let (Some(client), Some(role)) = (&client, operation.role) {
            client.require(role).inspect_err(log_refusal)?;
        }
        let query = route.query(&head.uri)?;
        let stream = operation.stream.map(|forms| self.permit_stream(forms)).transpose()?;
        if stream.as_ref().is_none_or(|stream| stream.websocket.is_none()) {
            check_accept(&head.headers, route)?;
        }
        let config = &shared.config;
        let body = read_body(body, config).await?;
        if self.is_observed() {
            self.noted.body.clone_from(&body);
        }
        let subject = client.as_ref().and_then(|client| Some(Arc::clone(&client.subject.as_ref()?.0)));
        let is_of_subject = subject.is_some();
        let request = Request {
            parameters,
            query,
            max_stream_events: config.max_stream_events,
            subject,
            peer: peer.ip().to_canonical(),
            id: (*id).clone(),
            path: head.uri.path().to_owned(),
            headers: with_host(&head.headers, &head.uri),
            body,
        };
        let target = head.uri.path_and_query().map_or("", |target| target.as_str());
        let answer = async {
            match route.sharing() {
                // what one subject may see is not for the others
                Sharing::Shared(reads) if !is_of_subject => {
                    let write = || async { route.answer(request).await.map(Response::write) };
                    shared.snapshots.get(target, reads, accepted_age(&head.headers), write).await.map(Response::from)
                }
                _ => route.answer(request).await,
            }
        };
        let response = timeout(config.response_timeout, answer).await.unwrap_or_else(|_| {
            let within_s = config.response_timeout.as_secs();
            Err(Problem::new(StatusCode::GATEWAY_TIMEOUT, format!("no answer within {within_s} s")))
        });
        if matches!(route.sharing(), Sharing::Ends) {
            shared.snapshots.clear();
        }
        let response = response?;
        shared.known.borrow_mut().learn(self.connection.peer.ip());
        match (stream, response) {
            (Some(stream), Response { content: Content::Stream(receiver, filter), .. }) => {
                let client = client.zip(operation.role);
                let guard = StreamGuard::new(shared, self.connection, stream.permit, client);
                Ok(self.stream(stream.websocket, receiver, filter, guard))
            }
            (Some(stream), Response { content: Content::Messages(service), .. }) => {
                let client = client.zip(operation.role);
                let guard = StreamGuard::new(shared, self.connection, stream.permit, client);
                Ok(self.exchange_messages(stream.websocket.unwrap_or_default(), service, guard))
            }
            (_, response) => Ok(self.write(response)),
        }
    }

    /// Whether the request may change something, and there is an observer of that.
    fn is_observed(&self) -> bool {
        let is_read = matches!(self.head.method, Method::GET | Method::HEAD | Method::OPTIONS | Method::CONNECT);
        !is_read && self.shared.config.write_observer.is_some()
    }

    /// Passes a request that may have changed something to the observer.
    fn observe_write(&self, status: StatusCode) {
        let Handling { id, head, connection, shared, noted, .. } = self;
        let Some(observer) = shared.config.write_observer.as_ref().filter(|_| self.is_observed()) else { return };
        // what is beyond the rate is counted and logged, so that nobody fills the record with it
        if status == StatusCode::TOO_MANY_REQUESTS {
            return;
        }
        observer.observe(&WriteRecord {
            peer: connection.peer,
            client: &noted.client(),
            method: head.method.as_str(),
            path: head.uri.path(),
            operation: noted.operation,
            body: &noted.body,
            status: status.as_u16(),
            refusal: noted.refusal.as_deref(),
            request_id: id.as_str(),
        });
    }

    /// Checks who sends the request and how often, and finds its route. The outer error is for the log as well.
    fn admit(&self) -> Result<Result<Admitted<'r>, Problem>, Problem> {
        let Handling { head, connection, shared, .. } = *self;
        let Parts { method, uri, headers, version, .. } = head;
        if uri.path_and_query().is_some_and(|target| target.as_str().len() > MAX_TARGET_OCTETS) {
            let detail = format!("a request target has at most {MAX_TARGET_OCTETS} octets");
            return Ok(Err(Problem::new(StatusCode::URI_TOO_LONG, detail)));
        }
        let suffixes = shared.is_loopback.then_some(shared.config.host_suffixes);
        check_host(headers, uri, *version, suffixes)?;
        let now = Instant::now();
        let taken = shared.rates.borrow_mut().0.take(connection.peer.ip().to_canonical(), now);
        taken.map_err(|after| Problem::too_many_requests("too many requests of this host; try again later", after))?;
        let found = shared.router.find(method, uri);
        if let Ok((route, _)) = &found
            && route.operation().role.is_none()
        {
            return Ok(found.map(|(route, parameters)| (None, route, parameters)));
        }
        let offered = self.upgrade.as_ref().and_then(|_| websocket::offered_token(headers));
        let client = {
            let mut access = shared.access.borrow_mut();
            access.refresh();
            access.client(headers, offered.as_deref())?
        };
        if client.subject.is_some() && found.as_ref().is_ok_and(|(route, _)| route.operation().oauth2.is_none()) {
            let detail = "this token is of a client of the service, which this resource is not for";
            return Err(Problem::new(StatusCode::FORBIDDEN, detail));
        }
        if let Some(token) = client.token {
            let taken = shared.rates.borrow_mut().1.take(token, now);
            taken.map_err(|after| {
                Problem::too_many_requests("too many requests with this token; try again later", after)
            })?;
        }
        Ok(found.map(|(route, parameters)| (Some(client), route, parameters)))
    }

    /// Checks that a stream can be opened.
    fn permit_stream(&self, forms: StreamForms) -> Result<StreamPermit, Problem> {
        let Handling { head, connection, shared, .. } = self;
        websocket::check_origin(&head.headers, &head.uri)?;
        let websocket = match (&self.upgrade, forms) {
            (Some(_), _) => Some(websocket::accept(&head.method, head.version, &head.headers)?),
            (None, StreamForms::WebSocket) => {
                return Err(websocket::upgrade_required("this resource is a WebSocket: send a handshake of HTTP/1.1"));
            }
            (None, StreamForms::Both) => None,
        };
        let host = connection.peer.ip();
        let is_known = shared.known.borrow().contains(host);
        let permit = shared.streams.acquire(host, is_known).map_err(Problem::unavailable)?;
        Ok(StreamPermit { permit, websocket })
    }

    /// Begins to stream.
    fn stream(
        &mut self,
        websocket: Option<HeaderMap>,
        receiver: super::stream::StreamReceiver,
        filter: Option<Filter>,
        guard: StreamGuard,
    ) -> hyper::Response<ResponseBody> {
        let ping = self.shared.config.stream_ping;
        match (websocket, self.upgrade.take()) {
            (Some(headers), Some(upgrade)) => {
                tokio::task::spawn_local(websocket::serve(upgrade, receiver, filter, ping, guard));
                self.upgraded(headers)
            }
            _ => {
                let mut response = hyper::Response::new(ResponseBody::Octets(None));
                let pings = interval_at(tokio::time::Instant::now() + ping, ping);
                *response.body_mut() = ResponseBody::Events(Box::new(EventBody { receiver, pings, guard }));
                response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(EVENT_STREAM));
                response
            }
        }
    }

    /// Begins to exchange binary messages.
    fn exchange_messages(
        &mut self,
        headers: HeaderMap,
        service: Box<dyn MessageService>,
        guard: StreamGuard,
    ) -> hyper::Response<ResponseBody> {
        if let Some(upgrade) = self.upgrade.take() {
            let ping = self.shared.config.stream_ping;
            tokio::task::spawn_local(messages::serve(upgrade, service, ping, guard));
        }
        self.upgraded(headers)
    }

    /// The response that accepts a WebSocket.
    fn upgraded(&self, headers: HeaderMap) -> hyper::Response<ResponseBody> {
        let mut response = hyper::Response::new(ResponseBody::Octets(None));
        // RFC 8441 5: 101 is of HTTP/1.1 only
        let is_http_2 = self.head.version == Version::HTTP_2;
        *response.status_mut() = if is_http_2 { StatusCode::OK } else { StatusCode::SWITCHING_PROTOCOLS };
        *response.headers_mut() = headers;
        response
    }

    /// Writes a response that is no stream.
    fn write(&self, response: Response) -> hyper::Response<ResponseBody> {
        let Written { mut status, mut headers, mut octets } = response.write();
        if matches!(self.head.method, Method::GET | Method::HEAD)
            && headers.get(ETAG).is_some_and(|tag| is_known(tag, &self.head.headers))
        {
            status = StatusCode::NOT_MODIFIED;
            headers.remove(CONTENT_TYPE);
            octets = Bytes::new();
        }
        let mut written = hyper::Response::new(ResponseBody::Octets(Some(octets)));
        *written.status_mut() = status;
        *written.headers_mut() = headers;
        written
    }
}

/// Requires that the client accepts what the route answers.
fn check_accept(headers: &HeaderMap, route: &Route) -> Result<(), Problem> {
    let produced = route.operation().media_types();
    if produced.is_empty() || accepts(headers, &produced) {
        return Ok(());
    }
    let detail = format!("the resource is {}, which the request does not accept", produced.join(" or "));
    Err(Problem::new(StatusCode::NOT_ACCEPTABLE, detail))
}

/// Refuses requests for other host names on a loopback address. A web page could otherwise resolve its own name to this host
/// (DNS rebinding), and its visitor's browser would take this server for the page's. `suffixes` are those of names that no page
/// has; `None`: the address is none of loopback.
fn check_host(headers: &HeaderMap, uri: &Uri, version: Version, suffixes: Option<&[&str]>) -> Result<(), Problem> {
    let mut hosts = headers.get_all(HOST).iter();
    // RFC 9112 3.2.2 and RFC 9113 8.3.1: the target overrides the header
    let target = uri.authority().map(|authority| authority.as_str());
    // RFC 9112 3.2
    let host = match (hosts.next(), hosts.next(), target) {
        (Some(host), None, _) => String::from_utf8_lossy(host.as_bytes()),
        (Some(_), Some(_), _) => return Err(Problem::bad_request("more than one Host header")),
        (None, _, Some(target)) if version == Version::HTTP_2 => target.into(),
        (None, _, _) if version < Version::HTTP_11 => return Ok(()),
        (None, _, _) => return Err(Problem::bad_request("a request requires a Host header")),
    };
    // RFC 9112 3.2: a Host header without user information; RFC 9110 4.2.4: so is a target of http
    if let Some(with_user) = [Some(&*host), target].into_iter().flatten().find(|name| name.contains('@')) {
        let problem = "user information before `@` is not allowed; use a bearer token";
        return Err(Problem::bad_request(format!("`{}` is not a host: {problem}", without_user(with_user))));
    }
    let Some(suffixes) = suffixes else { return Ok(()) };
    let host = target.unwrap_or(&host);
    let name = host.rsplit_once(':').filter(|(_, port)| !port.ends_with(']')).map_or(host, |(name, _)| name);
    let address = name.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
    let is_known = suffixes.iter().any(|suffix| name.ends_with(suffix));
    if is_known || name.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback()) {
        return Ok(());
    }
    Err(Problem::new(
        StatusCode::MISDIRECTED_REQUEST,
        format!("`{host}` is not served here: this is a loopback address"),
    ))
}

/// The headers of a request. HTTP/2 has the host in the target, where a handler does not look for it (RFC 9113 8.3.1).
fn with_host(headers: &HeaderMap, target: &Uri) -> HeaderMap {
    let mut headers = headers.clone();
    let host = target.authority().and_then(|authority| HeaderValue::from_str(authority.as_str()).ok());
    if let (None, Some(host)) = (headers.get(HOST), host) {
        headers.insert(HOST, host);
    }
    headers
}

/// Hides user information, which may be a password.
fn without_user(host: &str) -> String {
    let name = host.rsplit_once('@').map_or(host, |(_, name)| name);
    format!("…@{name}")
}

async fn read_body(body: Incoming, config: &ServerConfig) -> Result<Vec<u8>, Problem> {
    let max_octets = config.max_body_octets;
    let too_large = || Problem::new(StatusCode::PAYLOAD_TOO_LARGE, format!("a body has at most {max_octets} octets"));
    if body.size_hint().lower() > max_octets as u64 {
        return Err(too_large());
    }
    match timeout(config.read_timeout, Limited::new(body, max_octets).collect()).await {
        Ok(Ok(collected)) => Ok(collected.to_bytes().into()),
        Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => Err(too_large()),
        Ok(Err(error)) => Err(Problem::bad_request(format!("the body cannot be read: {error}"))),
        Err(_) => Err(Problem::new(StatusCode::REQUEST_TIMEOUT, "the body did not arrive in time")),
    }
}
