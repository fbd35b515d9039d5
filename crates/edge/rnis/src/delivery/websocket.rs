//! Delivery on a WebSocket that the subscriber opens, with the framing of 3GPP.
//!
//! Each notification is one binary message: a line with a sequence number of four octets, header fields, and the JSON. The
//! subscriber answers with the same first line, a status line, and header fields if it wants. One notification waits for its
//! answer at a time; without one within five seconds it counts as failed, and is sent again with the next number.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use rest::{MessageService, Operation, Parameter, Problem, Response, Route, StreamForms};
use schemars::JsonSchema;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{Sleep, sleep};

use super::Shared;
use super::http1::judge;
use super::scheduler::Job;
use super::state::DeliveryError;
use crate::api::refusals::Kind;
use crate::matcher::Key;
use crate::service::Service;

/// Time for an answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
/// How each message begins.
const SEQUENCE: &[u8] = b"3GPP-WS-Notif-Seq: ";
const PATH: &str = "/rni/v2/notifications/{subscriptionId}";

/// The path at which the subscriber of a subscription opens its WebSocket.
#[must_use]
pub fn websocket_path(key: Key) -> String {
    format!("/rni/v2/notifications/{}", key.0)
}

/// A message on the WebSocket: for the OpenAPI document.
#[derive(JsonSchema)]
#[schemars(
    description = "A binary message: `3GPP-WS-Notif-Seq: ` and a number of four octets, then the header fields \
                          Content-Type and Content-Length, an empty line, and a notification as JSON."
)]
struct NotificationMessage(#[allow(dead_code, reason = "it is a schema")] String);

/// The WebSockets of a service.
#[must_use]
pub fn route(service: &Arc<Service>) -> Route {
    let service = Arc::clone(service);
    let subscription = Parameter::text("subscriptionId", "The id of the subscription.");
    let operation = Operation::get(PATH, "NotificationsWebSocket", "Notifications of a subscription by WebSocket")
        .tag("subscriptions")
        .path(&[subscription])
        .streams::<NotificationMessage>(StreamForms::WebSocket, "The WebSocket of the notifications.");
    let operation = Kind::WebSocket.of(operation);
    Route::new(operation, move |request| {
        let key = Key(request.number(0, "subscription")?);
        let none = || Problem::not_found(format!("there is no subscription `{}` with a WebSocket", key.0));
        // of a tenant's subscription only the tenant learns that it exists
        if service.tenants().is_some() {
            let owner = request.subject().map_or(crate::api::OWNER, |subject| subject);
            service.subscription(key).filter(|it| *it.owner == *owner).ok_or_else(none)?;
        }
        Ok(Response::messages(service.open_websocket(key).ok_or_else(none)?))
    })
}

/// The notifications of a subscription for its WebSocket. The subscription waits again when it is dropped.
pub struct WebSocketSession {
    shared: Arc<Shared>,
    key: Key,
    /// Which of the WebSockets of the subscription it is.
    number: u64,
    jobs: UnboundedReceiver<Job>,
    sequence: u32,
    /// The notification without an answer, and the end of its time.
    unanswered: Option<(Job, Pin<Box<Sleep>>)>,
}

impl fmt::Debug for WebSocketSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebSocketSession")
            .field("key", &self.key)
            .field("sequence", &self.sequence)
            .finish_non_exhaustive()
    }
}

impl WebSocketSession {
    pub(super) fn new(shared: Arc<Shared>, key: Key, number: u64, jobs: UnboundedReceiver<Job>) -> Self {
        WebSocketSession { shared, key, number, jobs, sequence: 0, unanswered: None }
    }

    fn finish(&mut self, result: Result<(), DeliveryError>) {
        if let Some((job, _)) = self.unanswered.take() {
            self.shared.finish(job, result);
        }
    }
}

impl Drop for WebSocketSession {
    fn drop(&mut self) {
        self.shared.close_websocket(self.key, self.number);
        self.finish(Err(DeliveryError::Closed));
        // one that was assigned in the same moment
        self.jobs.close();
        while let Ok(job) = self.jobs.try_recv() {
            self.shared.finish(job, Err(DeliveryError::Closed));
        }
    }
}

impl MessageService for WebSocketSession {
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Vec<u8>>> {
        if let Some((_, end)) = &mut self.unanswered
            && end.as_mut().poll(context).is_ready()
        {
            self.finish(Err(DeliveryError::TimedOut));
        }
        // the next one comes after the result of the one before
        let Poll::Ready(job) = self.jobs.poll_recv(context) else { return Poll::Pending };
        let Some(job) = job else { return Poll::Ready(None) };
        self.sequence = self.sequence.wrapping_add(1);
        let message = write(self.sequence, &job.waiting.notification.body, &job.target.tail);
        let mut end = Box::pin(sleep(ANSWER_TIMEOUT));
        // registers the timer
        let _ = end.as_mut().poll(context);
        self.unanswered = Some((job, end));
        Poll::Ready(Some(message))
    }

    fn receive(&mut self, message: &[u8]) -> Result<(), &'static str> {
        let (sequence, status) =
            read(message).ok_or("an answer is `3GPP-WS-Notif-Seq: `, four octets, and a status line of HTTP/1.1")?;
        // the answer to a notification whose time is over changes nothing
        if sequence == self.sequence {
            self.finish(judge(status));
        }
        Ok(())
    }
}

/// Writes a notification.
fn write(sequence: u32, body: &str, tail: &str) -> Vec<u8> {
    let mut message = SEQUENCE.to_vec();
    message.extend_from_slice(&sequence.to_be_bytes());
    let octets = body.len() + tail.len();
    let head = format!("\r\nContent-Type: application/json\r\nContent-Length: {octets}\r\n\r\n");
    message.extend_from_slice(head.as_bytes());
    message.extend_from_slice(body.as_bytes());
    message.extend_from_slice(tail.as_bytes());
    message
}

/// Reads an answer: sequence number and status.
fn read(message: &[u8]) -> Option<(u32, u16)> {
    let (sequence, rest) = message.strip_prefix(SEQUENCE)?.split_first_chunk()?;
    let line = rest.strip_prefix(b"\r\n")?;
    let line = &line[..line.iter().position(|octet| *octet == b'\r').unwrap_or(line.len())];
    let mut words = std::str::from_utf8(line).ok()?.split(' ');
    words.next().filter(|version| version.starts_with("HTTP/1."))?;
    let status = words.next().filter(|status| status.len() == 3)?.parse().ok()?;
    Some((u32::from_be_bytes(*sequence), status))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_has_number_fields_and_json() {
        let message = write(0x0D0A_0001, r#"{"a":1"#, "}");
        let expected: &[u8] = b"3GPP-WS-Notif-Seq: \x0D\x0A\x00\x01\r\nContent-Type: application/json\r\n\
                                Content-Length: 7\r\n\r\n{\"a\":1}";
        assert_eq!(message, expected);
    }

    #[test]
    fn answer_is_a_number_and_a_status() {
        let answer = b"3GPP-WS-Notif-Seq: \x0D\x0A\x00\x01\r\nHTTP/1.1 204 No Content\r\nServer: x\r\n\r\n";
        assert_eq!(read(answer), Some((0x0D0A_0001, 204)));
        assert_eq!(read(b"3GPP-WS-Notif-Seq: \0\0\0\x02\r\nHTTP/1.1 500"), Some((2, 500)));
        for malformed in [
            &b""[..],
            b"3GPP-WS-Notif-Seq: ",
            b"3GPP-WS-Notif-Seq: \0\0\0",
            b"3GPP-WS-Notif-Seq: \0\0\0\x02",
            b"3GPP-WS-Notif-Seq: \0\0\0\x02\r\n",
            b"3GPP-WS-Notif-Seq: \0\0\0\x02\r\n204",
            b"3GPP-WS-Notif-Seq: \0\0\0\x02\r\nHTTP/1.1 9999999",
            b"3GPP-WS-Notif-Seq: \0\0\0\x02\r\nHTTP/1.1 \xFF\xFF\xFF",
            b"Seq: \0\0\0\x02\r\nHTTP/1.1 204",
        ] {
            assert_eq!(read(malformed), None, "{malformed:?}");
        }
    }
}
