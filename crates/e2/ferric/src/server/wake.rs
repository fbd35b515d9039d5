//! Wakes iApps from other threads.

use std::fmt;
use std::io;

use link::{Poll, Waker};

use super::KIND_WAKE;
use crate::peers;

/// Has the loop with the iApps call [`Iapp::on_wake`](super::Iapp::on_wake). May be used from any thread.
///
/// It carries no data: a thread puts its request into a channel and wakes the iApps.
///
/// ```
/// use std::sync::mpsc::{Receiver, sync_channel};
///
/// use ferric::e2::Indication;
/// use ferric::server::{Iapp, IappEvent, IappContext, Server, ServerConfig};
///
/// /// Counts the nodes.
/// struct Count(Receiver<std::sync::mpsc::SyncSender<usize>>);
///
/// impl Iapp for Count {
///     fn name(&self) -> &str {
///         "count"
///     }
///     fn on_event(&mut self, _: &IappEvent<'_>, _: &mut IappContext<'_>) {}
///     fn on_indication(&mut self, _: &Indication<'_>, _: &mut IappContext<'_>) {}
///     fn on_wake(&mut self, ric: &mut IappContext<'_>) {
///         for answer in self.0.try_iter().take(16) {
///             let _ = answer.try_send(ric.nodes().count()); // the requester may be gone
///         }
///     }
/// }
///
/// let config = ServerConfig { e2: vec!["tcp://127.0.0.1:0".parse()?], xapp: None, ..ServerConfig::default() };
/// let mut server = Server::bind(config)?;
/// let (requester, requests) = sync_channel(16);
/// server.add_iapp(Box::new(Count(requests)));
/// let waker = server.iapp_waker()?;
///
/// let thread = std::thread::spawn(move || {
///     let (answer, answered) = sync_channel(1);
///     requester.send(answer).expect("the server is running");
///     waker.wake();
///     answered.recv().expect("the iApp answers")
/// });
/// while !thread.is_finished() {
///     server.poll(Some(std::time::Duration::from_millis(10)))?;
/// }
/// assert_eq!(thread.join().expect("the thread does not panic"), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct IappWaker(Waker);

impl IappWaker {
    pub(super) fn new(poll: &Poll) -> io::Result<Self> {
        Ok(IappWaker(Waker::new(poll, peers::token(KIND_WAKE, 0))?))
    }

    /// Wakes all iApps of the server. Several calls before the server's next iteration count as one.
    pub fn wake(&self) {
        self.0.wake();
    }
}

impl fmt::Debug for IappWaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IappWaker").finish_non_exhaustive()
    }
}
