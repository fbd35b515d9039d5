//! WebSocket (RFC 6455, over HTTP/2 RFC 8441): a stream as text messages, `{"event":KIND,"data":…}`. Frames are those of
//! `tungstenite`; the handshake is a response of the kit, so that access control and bounds apply to it as to any request.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use data_encoding::{BASE64, BASE64URL_NOPAD};
use futures_util::{FutureExt, SinkExt, StreamExt};
use hyper::StatusCode;
use hyper::ext::Protocol;
use hyper::header::{
    CONNECTION, HOST, HeaderMap, HeaderName, HeaderValue, ORIGIN, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY,
    SEC_WEBSOCKET_PROTOCOL, SEC_WEBSOCKET_VERSION, UPGRADE,
};
use hyper::upgrade::OnUpgrade;
use hyper::{Method, Uri, Version};
use hyper_util::rt::TokioIo;
use ring::digest::{Context, SHA1_FOR_LEGACY_USE_ONLY};
use tokio::time::{Instant, interval_at, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message};

use super::Problem;
use super::connection::{SILENT_PINGS, StreamGuard};
use super::reader_message::{Filter, Flow, TooManyMessages};
use super::stream::{Next, StreamReceiver};

/// Appended to the key of a handshake (RFC 6455 1.3).
const GUID: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/// The subprotocol of streams, which a client may offer.
const PROTOCOL: &str = "ferric.v1";
/// The subprotocol that carries a token, in base64url: browsers cannot send the header `Authorization` with a handshake.
const BEARER: &str = "bearer.";
/// The longest message of a reader.
pub(super) const MAX_MESSAGE_OCTETS: usize = 4096;
/// The most events that are written together.
const MAX_BATCH: usize = 64;

/// Whether a request asks for WebSocket.
pub(super) fn is_requested<B>(request: &hyper::Request<B>) -> bool {
    let over_http_2 = request.extensions().get::<Protocol>().is_some_and(|protocol| protocol.as_str() == "websocket");
    over_http_2 || has_token(request.headers(), &UPGRADE, "websocket")
}

/// Returns the token that a handshake offers as a subprotocol.
pub(super) fn offered_token(headers: &HeaderMap) -> Option<Vec<u8>> {
    let offered = protocols(headers).find_map(|protocol| Some(protocol.strip_prefix(BEARER)?.to_owned()))?;
    // what is no base64url is no token either, and is refused as unknown
    Some(BASE64URL_NOPAD.decode(offered.as_bytes()).unwrap_or_default())
}

fn protocols(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let values = headers.get_all(SEC_WEBSOCKET_PROTOCOL).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',').map(str::trim))
}

/// Whether a header that is a list contains a word.
fn has_token(headers: &HeaderMap, name: &HeaderName, token: &str) -> bool {
    let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|word| word.trim().eq_ignore_ascii_case(token))
}

/// Refuses pages of other sites. Browsers let them open a WebSocket to any server, and send the client certificate along.
pub(super) fn check_origin(headers: &HeaderMap, uri: &Uri) -> Result<(), Problem> {
    let Some(origin) = headers.get(ORIGIN) else { return Ok(()) };
    let origin = String::from_utf8_lossy(origin.as_bytes());
    // HTTP/2 has the host in the target
    let target = uri.authority().map(|authority| authority.as_str().into());
    let host = target.or_else(|| headers.get(HOST).map(|host| String::from_utf8_lossy(host.as_bytes())));
    let of_origin = origin.split_once("://").map(|(_, host)| host);
    if host.is_some_and(|host| of_origin.is_some_and(|of_origin| of_origin.eq_ignore_ascii_case(&host))) {
        return Ok(());
    }
    Err(Problem::new(StatusCode::FORBIDDEN, format!("pages of `{origin}` may not open streams of this server")))
}

/// Checks a handshake (RFC 6455 4.2.1; over HTTP/2 RFC 8441 5). Returns the headers of the response that accepts it.
pub(super) fn accept(method: &Method, version: Version, headers: &HeaderMap) -> Result<HeaderMap, Problem> {
    let mut accepted = HeaderMap::new();
    if protocols(headers).any(|protocol| protocol == PROTOCOL) {
        accepted.insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(PROTOCOL));
    }
    if version == Version::HTTP_2 {
        return check_version(headers).map(|()| accepted);
    }
    if method != Method::GET || version != Version::HTTP_11 || !has_token(headers, &CONNECTION, "upgrade") {
        return Err(Problem::bad_request("a WebSocket handshake is a GET of HTTP/1.1 with `Connection: Upgrade`"));
    }
    check_version(headers)?;
    let mut keys = headers.get_all(SEC_WEBSOCKET_KEY).iter();
    let key = match (keys.next(), keys.next()) {
        (Some(key), None) if BASE64.decode(key.as_bytes()).is_ok_and(|key| key.len() == 16) => key,
        _ => return Err(Problem::bad_request("Sec-WebSocket-Key: one key of 16 octets in base64 is required")),
    };
    let mut digest = Context::new(&SHA1_FOR_LEGACY_USE_ONLY);
    digest.update(key.as_bytes());
    digest.update(GUID);
    let answer = BASE64.encode(digest.finish().as_ref());
    // base64 is visible ASCII
    let answer = HeaderValue::from_str(&answer).unwrap_or(HeaderValue::from_static(""));
    accepted.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    accepted.insert(UPGRADE, HeaderValue::from_static("websocket"));
    accepted.insert(SEC_WEBSOCKET_ACCEPT, answer);
    Ok(accepted)
}

fn check_version(headers: &HeaderMap) -> Result<(), Problem> {
    match headers.get(SEC_WEBSOCKET_VERSION) {
        Some(version) if version == "13" => Ok(()),
        _ => Err(upgrade_required("this server speaks version 13 of WebSocket")),
    }
}

/// 426: the resource is a stream for WebSocket only.
pub(super) fn upgrade_required(detail: &str) -> Problem {
    Problem::new(StatusCode::UPGRADE_REQUIRED, detail).with_upgrade()
}

/// Why a WebSocket is closed.
pub(super) enum End {
    /// With a status code (RFC 6455 7.4.1) and a reason.
    Close(CloseCode, &'static str),
    /// The connection is gone or does not react.
    Gone,
}

impl End {
    /// What a fault of the peer leads to.
    pub fn of(error: &Error) -> Self {
        match error {
            Error::Capacity(_) => End::Close(CloseCode::Size, "the message is too long"),
            Error::Protocol(_) => End::Close(CloseCode::Protocol, "the frame is malformed"),
            Error::Utf8(_) => End::Close(CloseCode::Invalid, "the text is not UTF-8"),
            _ => End::Gone,
        }
    }
}

/// Serves a WebSocket until its end. `ping` is the interval of pings; a reader that takes nothing for three of them is
/// disconnected.
pub(super) async fn serve(
    upgrade: OnUpgrade,
    receiver: StreamReceiver,
    filter: Option<Filter>,
    ping: Duration,
    guard: StreamGuard,
) {
    let Some(mut socket) = open(upgrade, ping).await else { return };
    let end = relay(&mut socket, &receiver, filter, ping, &guard).await;
    close(socket, end, ping).await;
}

/// Waits for the connection of an accepted handshake; `None` if it has ended.
pub(super) async fn open(upgrade: OnUpgrade, patience: Duration) -> Option<Socket> {
    let upgraded = timeout(patience, upgrade).await.ok()?.ok()?;
    let config =
        WebSocketConfig::default().max_message_size(Some(MAX_MESSAGE_OCTETS)).max_frame_size(Some(MAX_MESSAGE_OCTETS));
    Some(WebSocketStream::from_raw_socket(TokioIo::new(upgraded), Role::Server, Some(config)).await)
}

/// Closes a WebSocket.
pub(super) async fn close(mut socket: Socket, end: End, patience: Duration) {
    if let End::Close(code, reason) = end {
        // the peer answers by its close frame; whether it does makes no difference
        let _ = timeout(patience, async {
            let _ = socket.close(Some(CloseFrame { code, reason: reason.into() })).await;
            while let Some(Ok(_)) = socket.next().await {}
        })
        .await;
    }
}

pub(super) type Socket = WebSocketStream<TokioIo<hyper::upgrade::Upgraded>>;

/// What happens next on a socket.
enum Step {
    Received(Option<Result<Message, Error>>),
    Next(Option<Next>),
    PingIsDue,
    Revoked,
}

async fn relay(
    socket: &mut Socket,
    receiver: &StreamReceiver,
    mut filter: Option<Filter>,
    ping: Duration,
    guard: &StreamGuard,
) -> End {
    let mut flow = Flow::new();
    let mut pings = interval_at(Instant::now() + ping, ping);
    let mut heard = Instant::now();
    let patience = SILENT_PINGS * ping;
    let mut revoked = pin!(guard.revoked());
    loop {
        let step = poll_fn(|context| {
            if revoked.as_mut().poll(context).is_ready() {
                return Poll::Ready(Step::Revoked);
            }
            if let Poll::Ready(received) = socket.poll_next_unpin(context) {
                return Poll::Ready(Step::Received(received));
            }
            if flow.takes_events()
                && let Poll::Ready(next) = receiver.poll_next(context)
            {
                return Poll::Ready(Step::Next(next));
            }
            pings.poll_tick(context).map(|_| Step::PingIsDue)
        });
        let message = match step.await {
            Step::Revoked => return End::Close(CloseCode::Policy, "the token is not valid any more"),
            Step::Received(Some(Ok(Message::Ping(_) | Message::Pong(_)))) => {
                heard = Instant::now();
                continue;
            }
            Step::Received(Some(Ok(Message::Close(_))) | None) => return End::Gone,
            Step::Received(Some(Ok(Message::Text(message)))) => {
                heard = Instant::now();
                match flow.handle(&message, &mut filter) {
                    Ok(answer) => Message::Text(answer.into()),
                    Err(TooManyMessages) => return End::Close(CloseCode::Policy, "too many messages"),
                }
            }
            Step::Received(Some(Ok(_))) => return End::Close(CloseCode::Unsupported, "messages are text"),
            Step::Received(Some(Err(error))) => return End::of(&error),
            Step::Next(Some(next)) => text(&next, guard, &mut flow),
            Step::Next(None) => return End::Close(CloseCode::Normal, "the stream has ended"),
            Step::PingIsDue if heard.elapsed() > patience => return End::Gone,
            Step::PingIsDue => Message::Ping(Vec::new().into()),
        };
        let writing = async {
            socket.feed(message).await?;
            for _ in 1..MAX_BATCH {
                if !flow.takes_events() {
                    break;
                }
                match receiver.next().now_or_never() {
                    Some(Some(next)) => socket.feed(text(&next, guard, &mut flow)).await?,
                    Some(None) | None => break, // an end is found again
                }
            }
            socket.flush().await
        };
        // a reader that takes nothing keeps its place no longer than one that is gone
        if !matches!(timeout(patience, writing).await, Ok(Ok(()))) {
            return End::Gone;
        }
    }
}

fn text(next: &Next, guard: &StreamGuard, flow: &mut Flow) -> Message {
    let text = match next {
        Next::Event(event) => {
            flow.note_sent();
            format!("{{\"event\":\"{}\",\"data\":{}}}", event.kind, event.data)
        }
        Next::Lost { events, total } => {
            guard.note_lost(*events);
            format!("{{\"event\":\"lost\",\"data\":{{\"events\":{events},\"total\":{total}}}}}")
        }
    };
    Message::Text(text.into())
}
