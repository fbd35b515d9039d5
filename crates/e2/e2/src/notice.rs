//! What an operator wants to read in the log.

use core::fmt;

use e2ap::{Cause, Decoded, GlobalE2NodeId, ProcedureCode, ProtocolIeId, RanFunctionId, RicRequestId};

/// Something that went wrong or is odd, and what was done about it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Notice {
    /// A PDU that cannot be read. It was answered by an error indication or a failure.
    Malformed(e2ap::Error),
    /// A PDU that cannot be read, and is not to be answered or answered no more.
    Unreadable(e2ap::Error),
    /// IEs that are not known were ignored.
    UnknownIes {
        /// The procedure they were in.
        procedure_code: ProcedureCode,
        /// How many.
        count: usize,
    },
    /// Mandatory IEs are missing, and the message goes on without them (E2AP v03.01 10.3.5).
    MissingIes {
        /// The procedure they should have been in.
        procedure_code: ProcedureCode,
        /// The first of them.
        ie: ProtocolIeId,
        /// How many.
        count: usize,
    },
    /// A message that does not fit the state of the association. It was answered by an error indication.
    NotInState {
        /// The message.
        message: &'static str,
    },
    /// A procedure that this implementation does not support. It was answered by an error indication.
    NotSupported {
        /// The message.
        message: &'static str,
    },
    /// A procedure that this implementation does not support, and that may be ignored.
    Ignored {
        /// The message.
        message: &'static str,
    },
    /// A message that contradicts what it is about. It was answered by an error indication.
    Contradiction {
        /// The message.
        message: &'static str,
        /// The request.
        request_id: RicRequestId,
    },
    /// A message about a request that we do not know. It was answered by an error indication.
    UnknownRequest {
        /// The message.
        message: &'static str,
        /// The request.
        request_id: RicRequestId,
    },
    /// Messages of a kind that was answered too often lately. They are dropped.
    AnswersWithheld {
        /// How many until now.
        count: u64,
    },
    /// The peer says that something was wrong.
    ErrorIndication {
        /// What.
        cause: Option<Cause>,
        /// About which procedure.
        procedure_code: Option<ProcedureCode>,
        /// About which request.
        request_id: Option<RicRequestId>,
    },
    /// The peer resets.
    Reset {
        /// Why.
        cause: Cause,
    },
    /// A node sets up again on its association, which begins anew.
    RepeatedSetup {
        /// The node as it was.
        was: GlobalE2NodeId,
        /// The node as it is.
        is: GlobalE2NodeId,
    },
    /// A node came back on another association. The older one is closed.
    TakenOver {
        /// The node.
        node: GlobalE2NodeId,
    },
    /// A peer set up as a node that it may not be. It was refused.
    NodeNotAllowed {
        /// The node.
        node: GlobalE2NodeId,
    },
    /// A node that somebody has whose identity is known was claimed by somebody else. The older one keeps it.
    TakeoverRefused {
        /// The node.
        node: GlobalE2NodeId,
    },
    /// An xApp asked for what it has no right to. It was refused.
    XappNotAllowed {
        /// Of which node.
        node: GlobalE2NodeId,
        /// Of which function.
        ran_function_id: RanFunctionId,
        /// Of which service model, by its object identifier; empty where the node did not tell.
        oid: Box<str>,
        /// Whether it was to control it, or to read from it.
        control: bool,
        /// How many such refusals the xApp had until now.
        count: u64,
    },
    /// A node came with which more would be kept of all nodes than may be. It was refused.
    NodesTooLarge {
        /// The node.
        node: GlobalE2NodeId,
        /// Octets of functions and components of all nodes, with it.
        octets: usize,
        /// How many there may be.
        limit_octets: usize,
    },
    /// A setup was refused.
    SetupRefused {
        /// Why.
        cause: Cause,
    },
    /// A RAN function that the peer did not take.
    FunctionRejected {
        /// Which one.
        ran_function_id: RanFunctionId,
        /// Why.
        cause: Cause,
    },
    /// A component that the peer did not take.
    ComponentRejected {
        /// Why.
        cause: Cause,
    },
    /// An update of functions, components or associations was refused.
    UpdateRefused {
        /// Why.
        cause: Cause,
    },
    /// A node gave associations up. Each ends when its link does.
    AssociationsGivenUp {
        /// How many.
        count: usize,
    },
    /// A node has another association.
    AssociationJoined {
        /// The node.
        node: GlobalE2NodeId,
        /// How many it has.
        count: usize,
    },
    /// An association was to be one of a node's, and is not. It is closed.
    JoinRefused {
        /// The node.
        node: GlobalE2NodeId,
    },
    /// A node's first association is gone; it goes on over another.
    AssociationLost {
        /// The node.
        node: GlobalE2NodeId,
        /// How many it has.
        left: usize,
    },
    /// An answer that did not come in time.
    TimedOut {
        /// Of what.
        procedure_code: ProcedureCode,
        /// Of which request.
        request_id: Option<RicRequestId>,
    },
    /// Nodes that an xApp is not told of: E42 cannot tell of them, or there was no room.
    NodesUntold {
        /// How many.
        count: usize,
    },
    /// A subscription of an xApp ended, and E42 has no words for it.
    EndUntold {
        /// What the xApp calls it.
        request_id: RicRequestId,
        /// Why it ended.
        end: crate::SubscriptionEnd,
    },
    /// An xApp said something that the protocol does not allow.
    XappMisuse {
        /// What.
        what: &'static str,
    },
}

impl Notice {
    /// What a message goes on without, if anything.
    pub(crate) fn overlooked(decoded: &Decoded<'_>) -> Option<Self> {
        let procedure_code = decoded.pdu.procedure_code();
        let mut missing = decoded.missing();
        let count = missing.len();
        match (missing.next(), decoded.unknown.len()) {
            (None, 0) => None,
            // what is there and cannot be read counts as both
            (None, count) => Some(Notice::UnknownIes { procedure_code, count }),
            (Some(ie), _) => Some(Notice::MissingIes { procedure_code, ie, count }),
        }
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Notice::Malformed(error) => write!(f, "{error}; answered with {}", error.cause()),
            Notice::Unreadable(error) => write!(f, "{error}; not answered"),
            Notice::UnknownIes { procedure_code, count } => {
                write!(f, "unknown IEs in {procedure_code:?}: {count} ignored")
            }
            Notice::MissingIes { procedure_code, ie, count } => write!(
                f,
                "{count} mandatory IEs of {procedure_code:?} are missing or cannot be read, the first is {}: it goes on \
                 without",
                ie.0
            ),
            Notice::NotInState { message } => {
                write!(f, "{message} does not fit the state; answered with an error indication")
            }
            Notice::NotSupported { message } => {
                write!(f, "{message} is not supported here; answered with an error indication")
            }
            Notice::Ignored { message } => write!(f, "{message} is not supported here; ignored, as it may be"),
            Notice::Contradiction { message, request_id } => write!(
                f,
                "{message} for request {}/{} contradicts it; answered with an error indication",
                request_id.requestor, request_id.instance
            ),
            Notice::UnknownRequest { message, request_id } => write!(
                f,
                "{message} for request {}/{}, which is unknown; answered with an error indication",
                request_id.requestor, request_id.instance
            ),
            Notice::AnswersWithheld { count } => {
                write!(f, "it asks for too many answers: messages dropped for this until now: {count}")
            }
            Notice::ErrorIndication { cause, procedure_code, request_id } => {
                f.write_str("the peer sent an error indication")?;
                if let Some(cause) = cause {
                    write!(f, ": {cause}")?;
                }
                if let Some(code) = procedure_code {
                    write!(f, ", about {code:?}")?;
                }
                if let Some(id) = request_id {
                    write!(f, ", request {}/{}", id.requestor, id.instance)?;
                }
                Ok(())
            }
            Notice::Reset { cause } => write!(f, "the peer resets ({cause}): all subscriptions are gone"),
            Notice::RepeatedSetup { was, is } if was == is => {
                write!(f, "{is} sets up again: it begins anew")
            }
            Notice::RepeatedSetup { was, is } => write!(f, "{was} sets up again as {is}"),
            Notice::TakenOver { node } => write!(f, "{node} came back on another association; the older one is closed"),
            Notice::NodeNotAllowed { node } => write!(
                f,
                "setup as {node} refused: the peer's certificate has no right to that node; if it should, add the node to \
                 its `node_ids`"
            ),
            Notice::TakeoverRefused { node } => write!(
                f,
                "setup as {node} refused: the node is there already, with another certificate's identity, and keeps its \
                 place"
            ),
            Notice::XappNotAllowed { node, ran_function_id, oid, control, count } => write!(
                f,
                "refused for lack of rights: to {} RAN function {} (OID {oid}) of {node} ({count} refusals until now); if \
                 it should, add it to the rights of the xApp's certificate",
                if *control { "control" } else { "read from" },
                ran_function_id.0
            ),
            Notice::NodesTooLarge { node, octets, limit_octets } => write!(
                f,
                "there is no room for what {node} tells of functions and components: {octets} octets with all other nodes, \
                 of {limit_octets}; if there should be, raise `max_octets_of_nodes`"
            ),
            Notice::SetupRefused { cause } => write!(f, "setup refused: {cause}"),
            Notice::FunctionRejected { ran_function_id, cause } => {
                write!(f, "RAN function {} was rejected: {cause}", ran_function_id.0)
            }
            Notice::ComponentRejected { cause } => write!(f, "a component was rejected: {cause}"),
            Notice::UpdateRefused { cause } => write!(f, "an update was refused: {cause}"),
            Notice::AssociationsGivenUp { count } => {
                write!(f, "the node gives {count} associations up; each ends when its link does")
            }
            Notice::AssociationJoined { node, count } => {
                write!(f, "{node} has another association, the number {count}")
            }
            Notice::JoinRefused { node } => write!(
                f,
                "the first message asks to be another association of {node}, which is not there, or speaks otherwise, or \
                 has as many as it may have; refused"
            ),
            Notice::AssociationLost { node, left } => {
                write!(f, "an association of {node} ended: it goes on over another; {left} left")
            }
            Notice::TimedOut { procedure_code, request_id } => {
                write!(f, "no answer in time to {procedure_code:?}")?;
                if let Some(id) = request_id {
                    write!(f, ", request {}/{}", id.requestor, id.instance)?;
                }
                Ok(())
            }
            Notice::NodesUntold { count } => {
                write!(f, "it is not told of {count} nodes: E42 has no room or words for them")
            }
            Notice::EndUntold { request_id, end } => write!(
                f,
                "it is not told that its subscription {}/{} ended ({end:?}): E42 has no words for that",
                request_id.requestor, request_id.instance
            ),
            Notice::XappMisuse { what } => write!(f, "refused: {what}"),
        }
    }
}
