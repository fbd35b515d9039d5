//! The octets of a connection: which version of HTTP they are, and problem details for requests that hyper refuses itself.
//!
//! A malformed request never reaches a route: hyper answers it with a status and no content, and closes the connection. This
//! stream replaces that response with one that has problem details. It recognizes hyper's responses by their missing content:
//! responses of routes have content for every status from 400 on.

use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use hyper::StatusCode;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};

use super::connection::MAX_HEAD_OCTETS;
use super::request::Written;
use super::request_id::{RequestId, RequestIds, X_REQUEST_ID};
use super::{Problem, Response};

/// What a client of HTTP/2 sends first (RFC 9113 3.4). No request of HTTP/1.1 begins with it.
const HTTP2_PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// A connection: see the module.
pub(super) struct Stream<S> {
    stream: S,
    /// What was read to find the version of HTTP, and how much of it hyper has read.
    first: (Vec<u8>, usize),
    is_http2: bool,
    ids: Arc<RequestIds>,
    /// The replacement of hyper's response, and how much of it is written.
    replacement: Option<(Vec<u8>, usize)>,
    /// What was read since the last response, at most as much as a head: it says what was wrong with it.
    read: Vec<u8>,
}

impl<S: AsyncWrite + Unpin> Stream<S> {
    pub fn new(stream: S, ids: Arc<RequestIds>) -> Self {
        Stream { stream, first: Default::default(), is_http2: false, ids, replacement: None, read: Vec::new() }
    }

    /// Writes the rest of the replacement.
    fn poll_replacement(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Stream { stream, replacement, .. } = self;
        if let Some((octets, written)) = replacement {
            while *written < octets.len() {
                *written += ready!(pin!(&mut *stream).poll_write(context, &octets[*written..]))?;
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + Unpin> Stream<S> {
    /// Reads what distinguishes HTTP/2 from HTTP/1.1. Returns whether it is HTTP/2; `None` if the connection ends before.
    pub async fn read_version(&mut self) -> io::Result<Option<bool>> {
        loop {
            let first = &mut self.first.0;
            let same = first.iter().zip(HTTP2_PREFACE).take_while(|(octet, expected)| octet == expected).count();
            if same < first.len() || same == HTTP2_PREFACE.len() {
                self.is_http2 = same == HTTP2_PREFACE.len();
                return Ok(Some(self.is_http2));
            }
            let mut octets = [0; HTTP2_PREFACE.len()];
            let room = &mut octets[..HTTP2_PREFACE.len() - same];
            match self.stream.read(room).await? {
                0 if first.is_empty() => return Ok(None),
                // hyper finds that the request is incomplete
                0 => return Ok(Some(false)),
                count => first.extend_from_slice(&room[..count]),
            }
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Stream<S> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        let Stream { stream, first: (first, at), .. } = &mut *self;
        if *at < first.len() {
            let count = (first.len() - *at).min(into.remaining());
            into.put_slice(&first[*at..*at + count]);
            *at += count;
        } else {
            ready!(pin!(stream).poll_read(context, into))?;
        }
        if self.is_http2 {
            return Poll::Ready(Ok(()));
        }
        let read = into.filled().get(before..).unwrap_or_default();
        let room = MAX_HEAD_OCTETS.saturating_sub(self.read.len());
        self.read.extend(read.iter().take(room));
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Stream<S> {
    // without vectored writes, hyper writes a head and the content that fits in one piece
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, octets: &[u8]) -> Poll<io::Result<usize>> {
        if self.is_http2 {
            return pin!(&mut self.stream).poll_write(context, octets);
        }
        if let Some(problem) = self.replacement.is_none().then(|| refusal(octets, &self.read)).flatten() {
            self.replacement = Some((to_octets(problem, &self.ids.next()), 0));
        }
        self.read.clear();
        if self.replacement.is_some() {
            // hyper writes nothing after it
            ready!(self.poll_replacement(context))?;
            return Poll::Ready(Ok(octets.len()));
        }
        pin!(&mut self.stream).poll_write(context, octets)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_replacement(context))?;
        pin!(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_replacement(context))?;
        pin!(&mut self.stream).poll_shutdown(context)
    }
}

/// Returns the problem that replaces a response without content. No other octets match: the JSON of this crate has no line
/// breaks. `request` is what the client sent before it.
fn refusal(octets: &[u8], request: &[u8]) -> Option<Problem> {
    let rest = octets.strip_prefix(b"HTTP/1.1 4").or_else(|| octets.strip_prefix(b"HTTP/1.0 4"))?;
    let head = std::str::from_utf8(rest).ok()?.strip_suffix("\r\n\r\n")?;
    if !head.contains("\r\ncontent-length: 0\r\n") {
        return None;
    }
    if let Some(length) = invalid_content_length(request) {
        return Some(Problem::bad_request(format!("Content-Length `{length}` is not a number of octets")));
    }
    let (status, detail) = match head.get(..2)? {
        "14" => (StatusCode::URI_TOO_LONG, "the request target is too long"),
        "31" => (StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, "the request head is too long"),
        _ => (StatusCode::BAD_REQUEST, "not an HTTP/1.1 request"),
    };
    Some(Problem::new(status, detail))
}

/// The longest content that hyper can count.
const MAX_CONTENT_LENGTH: u64 = u64::MAX - 2;

/// Returns the value of a Content-Length that is not a number, or too large (RFC 9110 8.6 sets no bound, and requires that an
/// overflow is noticed), at most 64 characters of it.
fn invalid_content_length(request: &[u8]) -> Option<String> {
    let head = String::from_utf8_lossy(request);
    let head = head.split("\r\n\r\n").next()?;
    let mut fields = head.lines().filter_map(|line| line.split_once(':'));
    let value = fields.find_map(|(name, value)| {
        let is_invalid = name.eq_ignore_ascii_case("content-length")
            && value.trim().parse().map_or(true, |octets: u64| octets > MAX_CONTENT_LENGTH);
        is_invalid.then(|| value.trim())
    })?;
    Some(value.chars().take(64).collect())
}

/// Writes a response after which the connection is closed.
pub(super) fn to_octets(problem: Problem, id: &RequestId) -> Vec<u8> {
    let response = Response::from(problem.with("request_id", id.as_str()));
    let Written { status, mut headers, octets: body } = response.write();
    headers.insert(X_REQUEST_ID, id.header());
    let mut octets =
        format!("HTTP/1.1 {}\r\nconnection: close\r\ncontent-length: {}\r\n", status, body.len()).into_bytes();
    for (name, value) in &headers {
        octets.extend_from_slice(name.as_str().as_bytes());
        octets.extend_from_slice(b": ");
        octets.extend_from_slice(value.as_bytes());
        octets.extend_from_slice(b"\r\n");
    }
    octets.extend_from_slice(b"\r\n");
    octets.extend_from_slice(&body);
    octets
}
