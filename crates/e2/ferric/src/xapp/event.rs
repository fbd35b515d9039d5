//! Events of the session.

use std::sync::Arc;

use super::core::Purpose;
use super::error::Error;
use super::feed::{Buffer, Feed};
use super::ric::Ric;

/// An event of the session.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// The RIC is lost, of several the last one; the session connects again.
    RicLost,
    /// The RIC is back, of several one.
    RicBack,
    /// A node has set up; also each one that is up when the feed begins.
    NodeUp(Arc<str>),
    /// A node is lost.
    NodeLost(Arc<str>),
    /// A node is connected to another RIC than before, after its `NodeLost` and `NodeUp`: streams go on with its reports from there. What
    /// it has reported in between is missing.
    NodeMoved {
        /// The node.
        node: Arc<str>,
        /// The address of the RIC before.
        from: Arc<str>,
        /// The address of the RIC now.
        to: Arc<str>,
    },
    /// The RIC has dropped reports, so many since the session began, because this session reads too slowly.
    ReportsDropped(u64),
}

impl Ric {
    /// What happens to the RIC and its nodes: begins with the nodes that are up.
    ///
    /// # Errors
    /// [`Error::Closed`], [`Error::Timeout`].
    pub fn events(&self) -> Result<Feed<Event>, Error> {
        let handle = self.handle().clone();
        let buffer = Arc::new(Buffer::new().map_err(|source| handle.system_error("eventfd", source))?);
        let to_core = Arc::clone(&buffer);
        let id = handle.session.ask(
            || "events".into(),
            handle.deadline,
            move |core, commands, reply| core.add_stream(commands, Purpose::Events(to_core), None, reply),
        )?;
        Ok(Feed::new(buffer, id, handle.session))
    }
}
