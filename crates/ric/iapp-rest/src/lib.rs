//! REST resources that internal apps of a RIC answer.
//!
//! An internal app runs on the RIC's event loop, the REST server on a thread of its own. [`add_iapp`] adds an app to a RIC and
//! returns a queue, through which routes call closures on the app:
//!
//! ```
//! use ferric::server::{Iapp, IappContext, IappEvent, Server, ServerConfig};
//! use iapp_rest::{Job, add_iapp};
//! use rest::{Operation, Response, Route};
//!
//! /// Counts the nodes.
//! #[derive(Default)]
//! struct NodeCounter(u32);
//!
//! impl Iapp for NodeCounter {
//!     fn name(&self) -> &str {
//!         "node counter"
//!     }
//!     fn on_event(&mut self, event: &IappEvent<'_>, _: &mut IappContext<'_>) {
//!         self.0 += u32::from(matches!(event, IappEvent::NodeUp(_)));
//!     }
//!     fn on_indication(&mut self, _: &ferric::e2::Indication<'_>, _: &mut IappContext<'_>) {}
//! }
//!
//! let mut ric = Server::bind(ServerConfig { e2: vec!["memory:nodes".parse()?], xapp: None, ..ServerConfig::default() })?;
//! let queue = add_iapp(&mut ric, NodeCounter::default())?;
//! let operation = Operation::get("/v1/node-count", "getNodeCount", "The number of nodes").returns::<u32>("The number.");
//! let route = Route::queued(operation, &queue, |_request| {
//!     let job: Job<NodeCounter> = Box::new(|app, _ric, reply| reply.send(Ok(Response::ok(app.0))));
//!     Ok(job)
//! });
//! # drop(route);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The job runs between two indications. It must not block; it may keep the [`Reply`] and answer later, when a node has
//! answered. [`problem_of`] and its neighbours turn the outcomes of E2 controls into problem details.

#![forbid(unsafe_code)]

mod control;
mod kpm;
mod topic;
mod ue;

use std::time::Duration;

use ferric::e2::Indication;
use ferric::server::{Iapp, IappContext, IappEvent, IappWaker, Server};
use rest::{Reply, RequestQueue, RequestReceiver, request_queue};

pub use control::{encoding_problem, misuse_problem, node_lost, problem_of};
pub use kpm::{PlannedReport, plan_report};
pub use ue::{UE, resolve_ue};

pub use topic::Topic;

/// Requests that an app takes per wake-up, so that they do not delay indications.
const BATCH: usize = 16;

/// How old the state in the answer to a GET may be, once clients read often: then those that read the same resource within it share
/// one answer. Each answer interrupts the relay of indications, and otherwise clients would decide how often.
pub const MAX_AGE: Duration = Duration::from_millis(100);
/// Reads per second of an app that need not share, beyond a burst of as many.
const OWN_ANSWERS_PER_SECOND: u32 = 20;

/// A closure that handles a request on the RIC's event loop.
pub type Job<A> = Box<dyn FnOnce(&mut A, &mut IappContext<'_>, Reply) + Send>;

/// Adds an internal app to a RIC. Returns the queue of its requests; reads of it that are frequent share answers for
/// [`MAX_AGE`].
///
/// # Errors
/// If the system refuses a file descriptor.
pub fn add_iapp<A: Iapp + 'static>(server: &mut Server, app: A) -> Result<RequestQueue<Job<A>>, ferric::Error> {
    let waker = server.iapp_waker()?;
    let own_waker = waker.clone();
    let (queue, requests) = request_queue(move || waker.wake());
    server.add_iapp(Box::new(RestIapp { app, requests, waker: own_waker }));
    Ok(queue.with_shared_reads(MAX_AGE, OWN_ANSWERS_PER_SECOND))
}

/// An app that handles requests when it is woken.
struct RestIapp<A> {
    app: A,
    requests: RequestReceiver<Job<A>>,
    waker: IappWaker,
}

impl<A: Iapp> Iapp for RestIapp<A> {
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
            match self.requests.try_next() {
                Some((job, reply)) => job(&mut self.app, ric, reply),
                None => return,
            }
        }
        // the others follow after the events that wait now
        self.waker.wake();
    }

    fn serves(&self, kind: u32) -> bool {
        self.app.serves(kind)
    }

    fn on_iteration_end(&mut self) {
        self.app.on_iteration_end();
    }
}
