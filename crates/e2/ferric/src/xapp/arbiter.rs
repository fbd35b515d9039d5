//! Arbiters: xApps that decide on conflicts between controls of others.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use e2::{ControlQuestion, RefusalCode};
use e2ap::RanFunctionId;

use super::core::Purpose;
use super::error::Error;
use super::feed::{Buffer, Feed};
use super::ric::{Handle, Ric};
use super::session::Reply;

/// A control of another xApp that waits for a decision. Without one, the rule decides by its default.
pub struct ConflictQuestion {
    /// The node.
    pub node: Arc<str>,
    /// The RAN function.
    pub function: RanFunctionId,
    /// The xApp that requests the control.
    pub xapp: String,
    /// The xApp that it is in conflict with.
    pub with: String,
    /// The parameter of the conflict, and what it is of: `rc/2/1/1 of ue amf:7`.
    pub parameter: String,
    /// What the control sets, separated by `; `.
    pub settings: String,
    /// When the time for the answer is over.
    pub until: Instant,
    /// The control header of its service model.
    pub header: Vec<u8>,
    /// The control message of its service model.
    pub message: Vec<u8>,
    number: u64,
    handle: Handle,
}

impl ConflictQuestion {
    pub(super) fn new(node: Arc<str>, asked: ControlQuestion, handle: Handle) -> Self {
        let ControlQuestion { question, function, xapp, with, parameter, settings, left_ms, header, message, .. } =
            asked;
        let until = Instant::now() + Duration::from_millis(left_ms.into());
        ConflictQuestion {
            node,
            function,
            xapp,
            with,
            parameter,
            settings,
            until,
            header,
            message,
            number: question,
            handle,
        }
    }

    /// Has the control sent.
    ///
    /// # Errors
    /// [`Error::RefusedByRic`] if the answer is late, the question is answered already, or this xApp is no arbiter any more;
    /// [`Error::Closed`], [`Error::Timeout`].
    pub fn accept(&self) -> Result<(), Error> {
        self.decide(true)
    }

    /// Has the control fail.
    ///
    /// # Errors
    /// As [`ConflictQuestion::accept`].
    pub fn refuse(&self) -> Result<(), Error> {
        self.decide(false)
    }

    fn decide(&self, accepts: bool) -> Result<(), Error> {
        let (number, node) = (self.number, self.node.to_string());
        self.handle.session.ask(
            || format!("decision on the conflict of {} with {}", self.xapp, self.with),
            self.handle.deadline,
            move |core, commands, reply: Reply<()>| {
                core.decisions.insert(number, (node, reply));
                commands.decide(number, accepts);
            },
        )
    }
}

impl fmt::Debug for ConflictQuestion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ConflictQuestion { node, xapp, with, parameter, .. } = self;
        write!(f, "ConflictQuestion({parameter} of {node}: {xapp} against {with})")
    }
}

/// Answers a decision.
pub(super) fn answer((node, reply): (String, Reply<()>), refusal: Option<RefusalCode>) {
    reply.send(refusal.map_or(Ok(()), |code| Err(Error::RefusedByRic { node, code })));
}

impl Ric {
    /// Offers this xApp as an arbiter. From now on it is asked about controls of other xApps that are in conflict, if a rule of the RIC
    /// has the policy `ask`, until the feed is dropped. The rules of the RIC name the xApps that may be arbiters.
    ///
    /// # Errors
    /// [`Error::RefusedByRic`] if this xApp may not be one, or the RIC has no arbiters; [`Error::Closed`], [`Error::Timeout`].
    pub fn conflict_questions(&self) -> Result<Feed<ConflictQuestion>, Error> {
        let handle = self.handle().clone();
        let buffer = Arc::new(Buffer::new().map_err(|source| handle.system_error("eventfd", source))?);
        let to_core = Arc::clone(&buffer);
        let session = Arc::downgrade(&handle.session);
        let deadline = handle.deadline;
        let id = handle.session.ask(
            || "offer to be an arbiter".into(),
            deadline,
            move |core, commands, reply| {
                core.add_stream(commands, Purpose::Conflicts { buffer: to_core, session, deadline }, None, reply);
            },
        )?;
        Ok(Feed::new(buffer, id, handle.session))
    }
}
