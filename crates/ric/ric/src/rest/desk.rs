//! What the thread of HTTP asks internal apps, and how they answer.

use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, TrySendError, sync_channel};

use ferric::e2::Indication;
use ferric::server::{Iapp, IappContext, IappEvent, IappWaker, Server};
use hyper::StatusCode;
use tokio::sync::oneshot;

use super::{Problem, Response};

/// Requests that may wait for an app; more are told 503.
const MAX_WAITING: usize = 256;
/// Requests that an app takes up each time that it is woken, so that indications are not held up by them.
const BATCH: usize = 16;

/// What is to be done for a request, on the RIC's loop: it must not block. The reply may be kept and given later.
pub(crate) type Job<A> = Box<dyn FnOnce(&mut A, &mut IappContext<'_>, Reply) + Send>;

/// Where requests for an internal app are handed in.
pub(crate) struct Desk<A> {
    jobs: SyncSender<(Job<A>, Reply)>,
    waker: IappWaker,
}

impl<A> Clone for Desk<A> {
    fn clone(&self) -> Self {
        Desk { jobs: self.jobs.clone(), waker: self.waker.clone() }
    }
}

/// What a request is answered with. Where it is dropped, 500 is told.
pub(crate) struct Reply(oneshot::Sender<Result<Response, Problem>>);

impl Reply {
    /// Whether nobody waits for it any more: the client is gone, or was told that it took too long.
    pub fn is_closed(&self) -> bool {
        self.0.is_closed()
    }

    /// A client that is gone gets nothing.
    pub fn send(self, answer: Result<Response, Problem>) {
        let _ = self.0.send(answer);
    }
}

impl<A> Desk<A> {
    /// Has the app do something, and waits for its answer.
    pub async fn ask(&self, job: Job<A>) -> Result<Response, Problem> {
        let (reply, answer) = oneshot::channel();
        self.jobs.try_send((job, Reply(reply))).map_err(|error| match error {
            TrySendError::Full(_) => Problem::unavailable("too many requests wait; ask again later"),
            TrySendError::Disconnected(_) => Problem::unavailable("the RIC is ending"),
        })?;
        self.waker.wake();
        answer.await.unwrap_or_else(|_| {
            // the RIC ends, or the app has lost it
            Err(Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "the RIC has dropped the request"))
        })
    }
}

/// Adds an internal app to a server, with a desk.
pub(crate) fn attach<A: Iapp + 'static>(server: &mut Server, app: A) -> Result<Desk<A>, ferric::Error> {
    let (jobs, waiting) = sync_channel(MAX_WAITING);
    let waker = server.iapp_waker()?;
    server.add_iapp(Box::new(Attended { app, waiting, waker: waker.clone() }));
    Ok(Desk { jobs, waker })
}

/// An app that does what is handed in at its desk.
struct Attended<A> {
    app: A,
    waiting: Receiver<(Job<A>, Reply)>,
    waker: IappWaker,
}

impl<A: Iapp> Iapp for Attended<A> {
    fn name(&self) -> &str {
        self.app.name()
    }

    fn on_event(&mut self, event: &IappEvent<'_>, ric: &mut IappContext<'_>) {
        self.app.on_event(event, ric);
    }

    fn on_indication(&mut self, indication: &Indication<'_>, ric: &mut IappContext<'_>) {
        self.app.on_indication(indication, ric);
    }

    fn on_wake(&mut self, ric: &mut IappContext<'_>) {
        self.app.on_wake(ric);
        for _ in 0..BATCH {
            match self.waiting.try_recv() {
                Ok((job, reply)) => job(&mut self.app, ric, reply),
                Err(TryRecvError::Empty | TryRecvError::Disconnected) => return,
            }
        }
        // there may be more: after the others' turn
        self.waker.wake();
    }
}
