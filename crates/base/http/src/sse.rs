//! Server-Sent Events (WHATWG HTML 9.2): a stream as the body of a response.

use std::convert::Infallible;
use std::fmt::Write;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame, SizeHint};
use tokio::time::Interval;

use super::connection::StreamGuard;
use super::stream::{Next, StreamReceiver};

/// Octets of events that are written together.
const MAX_CHUNK_OCTETS: usize = 16 * 1024;

/// The body of a response: octets, or events until the stream or the connection ends.
pub(super) enum ResponseBody {
    Octets(Option<Bytes>),
    Events(Box<EventBody>),
}

/// Events that are written as they come.
pub(super) struct EventBody {
    pub receiver: StreamReceiver,
    /// Comments while there is no event, so that a dead connection is noticed.
    pub pings: Interval,
    pub guard: StreamGuard,
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut *self {
            ResponseBody::Octets(octets) => Poll::Ready(octets.take().map(|octets| Ok(Frame::data(octets)))),
            ResponseBody::Events(events) => {
                events.poll_chunk(context).map(|chunk| chunk.map(|chunk| Ok(Frame::data(chunk))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, ResponseBody::Octets(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            ResponseBody::Octets(octets) => SizeHint::with_exact(octets.as_ref().map_or(0, Bytes::len) as u64),
            ResponseBody::Events(_) => SizeHint::default(),
        }
    }
}

impl EventBody {
    /// Returns the events that wait, as one chunk; `None` at the end.
    fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        self.guard.note_progress();
        if self.guard.is_revoked() {
            return Poll::Ready(None);
        }
        let mut text = String::new();
        while text.len() < MAX_CHUNK_OCTETS {
            match self.receiver.poll_next(context) {
                Poll::Ready(Some(next)) => self.write(&next, &mut text),
                Poll::Ready(None) if text.is_empty() => return Poll::Ready(None),
                Poll::Ready(None) | Poll::Pending => break,
            }
        }
        if !text.is_empty() {
            self.pings.reset();
            return Poll::Ready(Some(text.into()));
        }
        self.pings.poll_tick(context).map(|_| Some(Bytes::from_static(b": ping\n\n")))
    }

    /// Writes an event. JSON in one line needs one `data` field.
    fn write(&self, next: &Next, text: &mut String) {
        // a string has room
        let _ = match next {
            Next::Event(event) => write!(text, "event: {}\ndata: {}\n\n", event.kind, event.data),
            Next::Lost { events, total } => {
                self.guard.note_lost(*events);
                write!(text, "event: lost\ndata: {{\"events\":{events},\"total\":{total}}}\n\n")
            }
        };
    }
}
