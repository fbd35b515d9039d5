//! WebSockets of binary messages in both directions, for protocols that have a framing of their own.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use hyper::upgrade::OnUpgrade;
use tokio::time::{Instant, interval_at, timeout};
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::{Error, Message};

use super::connection::{SILENT_PINGS, StreamGuard};
use super::websocket::{End, Socket, close, open};

/// What serves a WebSocket of binary messages. It lives on the server's thread, and is dropped when the WebSocket ends.
pub trait MessageService: Send {
    /// Returns the next message for the client; `None` closes the WebSocket.
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Vec<u8>>>;

    /// Takes a message of the client, of at most 4 KiB.
    ///
    /// # Errors
    /// The reason why it is malformed, with which the WebSocket is closed.
    fn receive(&mut self, message: &[u8]) -> Result<(), &'static str>;
}

/// Serves a WebSocket until its end. `ping` is the interval of pings; a client that is silent for three of them is disconnected.
pub(super) async fn serve(
    upgrade: OnUpgrade,
    mut service: Box<dyn MessageService>,
    ping: Duration,
    guard: StreamGuard,
) {
    let Some(mut socket) = open(upgrade, ping).await else { return };
    let end = exchange(&mut socket, &mut *service, ping, &guard).await;
    // the service ends before the client has answered
    drop(service);
    close(socket, end, ping).await;
}

/// What happens next on a socket.
enum Step {
    Received(Option<Result<Message, Error>>),
    Next(Option<Vec<u8>>),
    PingIsDue,
    Revoked,
}

async fn exchange(socket: &mut Socket, service: &mut dyn MessageService, ping: Duration, guard: &StreamGuard) -> End {
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
            if let Poll::Ready(next) = service.poll_next(context) {
                return Poll::Ready(Step::Next(next));
            }
            pings.poll_tick(context).map(|_| Step::PingIsDue)
        });
        let message = match step.await {
            Step::Revoked => return End::Close(CloseCode::Policy, "the token is not valid any more"),
            Step::Received(Some(Ok(Message::Close(_))) | None) => return End::Gone,
            Step::Received(Some(Ok(Message::Binary(message)))) => {
                heard = Instant::now();
                match service.receive(&message) {
                    Ok(()) => continue,
                    Err(reason) => return End::Close(CloseCode::Protocol, reason),
                }
            }
            Step::Received(Some(Ok(Message::Text(_)))) => {
                return End::Close(CloseCode::Unsupported, "messages are binary");
            }
            Step::Received(Some(Ok(_))) => {
                heard = Instant::now();
                continue;
            }
            Step::Received(Some(Err(error))) => return End::of(&error),
            Step::Next(Some(message)) => Message::Binary(message.into()),
            Step::Next(None) => return End::Close(CloseCode::Normal, "the service has ended"),
            Step::PingIsDue if heard.elapsed() > patience => return End::Gone,
            Step::PingIsDue => Message::Ping(Vec::new().into()),
        };
        // a client that takes nothing keeps its place no longer than one that is gone
        if !matches!(timeout(patience, socket.send(message)).await, Ok(Ok(()))) {
            return End::Gone;
        }
    }
}
