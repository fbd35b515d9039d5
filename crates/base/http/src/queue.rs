//! Requests that another thread answers.

use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};

use hyper::StatusCode;
use tokio::sync::oneshot;

use super::{Problem, Response};

/// Requests that may wait in a queue; further ones are answered with 503.
const MAX_WAITING: usize = 256;

/// Creates a queue between the server's thread and a loop of the service.
///
/// `J` is what a route derives from a request: a command, or a closure that the loop calls. After each request, `wake` is called
/// on the server's thread; it must not block.
///
/// ```
/// use rest::{Method, Problem, Request, Response, Route, request_queue};
///
/// let (queue, receiver) = request_queue::<u32>(|| { /* wake the loop */ });
/// let route = Route::queued(Method::GET, "/v1/cells/{cell}", &queue, |request| request.number(0, "cell"));
/// // in the loop, after each wake-up:
/// while let Some((cell, reply)) = receiver.try_next() {
///     reply.send(Ok(Response::ok(cell + 1)));
/// }
/// ```
pub fn request_queue<J: Send>(wake: impl Fn() + Send + Sync + 'static) -> (RequestQueue<J>, RequestReceiver<J>) {
    let (requests, receiver) = sync_channel(MAX_WAITING);
    (RequestQueue { requests, wake: Arc::new(wake) }, RequestReceiver(receiver))
}

/// The sending end of a queue of requests: see [`request_queue`].
pub struct RequestQueue<J> {
    requests: SyncSender<(J, Reply)>,
    wake: Arc<dyn Fn() + Send + Sync>,
}

impl<J> Clone for RequestQueue<J> {
    fn clone(&self) -> Self {
        RequestQueue { requests: self.requests.clone(), wake: Arc::clone(&self.wake) }
    }
}

impl<J> fmt::Debug for RequestQueue<J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestQueue").finish_non_exhaustive()
    }
}

/// The receiving end of a queue of requests: see [`request_queue`].
#[derive(Debug)]
pub struct RequestReceiver<J>(Receiver<(J, Reply)>);

impl<J> RequestReceiver<J> {
    /// Returns the next request, and the handle to answer it; `None` if no request waits.
    pub fn try_next(&self) -> Option<(J, Reply)> {
        self.0.try_recv().ok()
    }
}

/// The handle to answer a request. If it is dropped, the response is 500.
#[derive(Debug)]
pub struct Reply(oneshot::Sender<Result<Response, Problem>>);

impl Reply {
    /// Whether nobody waits for the response: the client closed the connection, or was answered with 504.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.0.is_closed()
    }

    /// Answers the request. If nobody waits for the response, it is discarded.
    pub fn send(self, response: Result<Response, Problem>) {
        let _ = self.0.send(response);
    }
}

impl<J> RequestQueue<J> {
    /// Queues a request, and waits for its response.
    pub(super) async fn request(&self, job: J) -> Result<Response, Problem> {
        let (reply, response) = oneshot::channel();
        self.requests.try_send((job, Reply(reply))).map_err(|error| match error {
            TrySendError::Full(_) => Problem::unavailable("request queue full (256); try again later"),
            TrySendError::Disconnected(_) => Problem::unavailable("the service is stopping"),
        })?;
        (self.wake)();
        response.await.unwrap_or_else(|_| {
            let detail = "the service has dropped the request"; // it stops, or has a bug
            Err(Problem::new(StatusCode::INTERNAL_SERVER_ERROR, detail))
        })
    }
}
