//! A connection on which nothing is refused without a word.
//!
//! What is no HTTP never gets to a route: hyper answers it by itself, with a status and no content, and closes. On its way
//! out that answer is replaced by one with problem details. It is told apart by having no content: an answer of ours has
//! some wherever its status is 400 or above.

use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};

use hyper::StatusCode;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::{Problem, Response};

/// See the module.
pub(super) struct Stream<S> {
    stream: S,
    /// What is written in place of hyper's own answer, and how much of it is.
    instead: Option<(Vec<u8>, usize)>,
}

impl<S: AsyncWrite + Unpin> Stream<S> {
    pub fn new(stream: S) -> Self {
        Stream { stream, instead: None }
    }

    /// Writes what is left of the replacement.
    fn poll_instead(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Stream { stream, instead } = self;
        if let Some((answer, written)) = instead {
            while *written < answer.len() {
                *written += ready!(pin!(&mut *stream).poll_write(context, &answer[*written..]))?;
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Stream<S> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        pin!(&mut self.stream).poll_read(context, into)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Stream<S> {
    // hyper writes a head and what fits of its content in one piece where vectored writes are not told of
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, octets: &[u8]) -> Poll<io::Result<usize>> {
        if let Some(problem) = self.instead.is_none().then(|| own_words(octets)).flatten() {
            self.instead = Some((written(problem.into()), 0));
        }
        if self.instead.is_some() {
            // the last that is written here
            ready!(self.poll_instead(context))?;
            return Poll::Ready(Ok(octets.len()));
        }
        pin!(&mut self.stream).poll_write(context, octets)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_instead(context))?;
        pin!(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_instead(context))?;
        pin!(&mut self.stream).poll_shutdown(context)
    }
}

/// What is to be told in place of an answer without content. What goes out else never begins like that: JSON has no line
/// ends within.
fn own_words(octets: &[u8]) -> Option<Problem> {
    let rest = octets.strip_prefix(b"HTTP/1.1 4").or_else(|| octets.strip_prefix(b"HTTP/1.0 4"))?;
    let head = std::str::from_utf8(rest).ok()?.strip_suffix("\r\n\r\n")?;
    if !head.contains("\r\ncontent-length: 0\r\n") {
        return None;
    }
    let (status, detail) = match head.get(..2)? {
        "14" => (StatusCode::URI_TOO_LONG, "the request's target is too long"),
        "31" => (StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, "the request's head is too long"),
        _ => (StatusCode::BAD_REQUEST, "not a request of HTTP/1.1"),
    };
    Some(Problem::new(status, detail))
}

/// The octets of an answer after which the connection is closed.
pub(super) fn written(answer: Response) -> Vec<u8> {
    let (status, headers) = (answer.status, answer.headers.clone());
    let body = answer.into_body();
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
