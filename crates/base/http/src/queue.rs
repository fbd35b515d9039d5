//! Requests that another thread answers.

use std::fmt;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hyper::StatusCode;
use tokio::sync::oneshot;

use super::rate::RateLimit;
use super::{Problem, Response};

/// Requests that may wait in a queue; further ones are answered with 503.
const MAX_WAITING: usize = 256;

/// Creates a queue between the server's thread and a loop of the service.
///
/// `J` is what a route derives from a request: a command, or a closure that the loop calls. After each request, `wake` is called
/// on the server's thread; it must not block.
///
/// ```
/// use rest::{Operation, Response, Route, request_queue};
///
/// let (queue, receiver) = request_queue::<u32>(|| { /* wake the loop */ });
/// let operation = Operation::get("/v1/cells/{cell}", "getCell", "A cell");
/// let route = Route::queued(operation, &queue, |request| request.number(0, "cell"));
/// // in the loop, after each wake-up:
/// while let Some((cell, reply)) = receiver.try_next() {
///     reply.send(Ok(Response::ok(cell + 1)));
/// }
/// ```
pub fn request_queue<J: Send>(wake: impl Fn() + Send + Sync + 'static) -> (RequestQueue<J>, RequestReceiver<J>) {
    let (requests, receiver) = sync_channel(MAX_WAITING);
    (RequestQueue { requests, wake: Arc::new(wake), shared_reads: None }, RequestReceiver(receiver))
}

/// The sending end of a queue of requests: see [`request_queue`].
pub struct RequestQueue<J> {
    requests: SyncSender<(J, Reply)>,
    wake: Arc<dyn Fn() + Send + Sync>,
    shared_reads: Option<Arc<SharedReads>>,
}

/// How the reads of a queue share answers.
#[derive(Debug)]
pub(super) struct SharedReads {
    /// How old a shared answer may be.
    pub max_age: Duration,
    /// The reads that have answers of their own.
    pub own: Option<Mutex<RateLimit<()>>>,
}

impl SharedReads {
    /// Whether a read has an answer of its own. Counts it.
    pub fn allows_own(&self) -> bool {
        self.own
            .as_ref()
            .is_some_and(|own| own.lock().unwrap_or_else(PoisonError::into_inner).take((), Instant::now()).is_ok())
    }
}

impl<J> Clone for RequestQueue<J> {
    fn clone(&self) -> Self {
        RequestQueue {
            requests: self.requests.clone(),
            wake: Arc::clone(&self.wake),
            shared_reads: self.shared_reads.clone(),
        }
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
    /// Lets reads share answers once there are many: so the loop handles each resource once per `max_age` and `own_per_second` further
    /// reads, however often clients read.
    ///
    /// The answer to a GET that is no stream also answers the same GET, whoever sends it, if that arrives within `max_age` of the
    /// first; but `own_per_second` reads of the queue, beyond a burst of as many, have answers of their own. A request with
    /// `Cache-Control: max-age` (RFC 9111 5.2.1.1) takes any answer of at most that age, and at most 10 s. An answer to another
    /// method is the end of all shared answers of the server, so that reads after a write show it. Refusals are shared by those who
    /// wait for the same answer only.
    #[must_use]
    pub fn with_shared_reads(self, max_age: Duration, own_per_second: u32) -> Self {
        let own = (own_per_second > 0).then(|| Mutex::new(RateLimit::new(own_per_second)));
        RequestQueue { shared_reads: Some(Arc::new(SharedReads { max_age, own })), ..self }
    }

    /// How reads share answers; `None`: each has its own.
    pub(super) fn shared_reads(&self) -> Option<&Arc<SharedReads>> {
        self.shared_reads.as_ref()
    }

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
