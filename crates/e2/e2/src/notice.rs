//! The events that a machine reports for the log.

use core::fmt;
use core::net::{IpAddr, SocketAddr};

use e2ap::{Cause, Decoded, GlobalE2NodeId, ProcedureCode, ProtocolIeId, RanFunctionId, RicRequestId, TnlInformation};

use crate::{ControllerPath, Host, Lacking, Origin};

/// An error or oddity, and the reaction to it. `Display` writes the log line.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Notice {
    /// A PDU cannot be decoded. It was answered by an error indication or a failure.
    Malformed(e2ap::Error),
    /// A PDU cannot be decoded. It was not answered.
    Unreadable(e2ap::Error),
    /// The first message of an association whose IEs are out of order, but complete. It was accepted. Further ones are not
    /// reported.
    OutOfOrder(e2ap::Error),
    /// Unknown IEs were ignored.
    UnknownIes {
        /// The procedure.
        procedure_code: ProcedureCode,
        /// Their number.
        count: usize,
    },
    /// Mandatory IEs are missing; the message is processed without them (E2AP v03.01 10.3.5).
    MissingIes {
        /// The procedure.
        procedure_code: ProcedureCode,
        /// The first of them.
        ie: ProtocolIeId,
        /// Their number.
        count: usize,
    },
    /// A message is not compatible with the state of the association, or of the request that it refers to.
    NotInState {
        /// The message.
        message: &'static str,
        /// Whether it was answered by an error indication; otherwise it was dropped.
        answered: bool,
    },
    /// A procedure is not supported. It was answered by an error indication.
    NotSupported {
        /// The message.
        message: &'static str,
    },
    /// A procedure is not supported and was ignored, as its criticality allows.
    Ignored {
        /// The message.
        message: &'static str,
    },
    /// An answer contradicts the request that it refers to, which has failed thereby. It was dropped.
    Contradiction {
        /// The message.
        message: &'static str,
        /// The request.
        request_id: RicRequestId,
    },
    /// A message refers to an unknown request.
    UnknownRequest {
        /// The message.
        message: &'static str,
        /// The request.
        request_id: RicRequestId,
        /// Whether it was answered by an error indication; otherwise it was dropped.
        answered: bool,
    },
    /// The first indication of an association without an active subscription was dropped. Further ones are counted only.
    StrayIndication {
        /// The request that it names.
        request_id: RicRequestId,
        /// Whether it arrived before the E2 setup.
        before_setup: bool,
    },
    /// Messages are dropped because the association's budget of answers is exhausted.
    AnswersWithheld {
        /// Their number so far.
        count: u64,
    },
    /// The peer sent an error indication.
    ErrorIndication {
        /// The cause.
        cause: Option<Cause>,
        /// The procedure that it refers to.
        procedure_code: Option<ProcedureCode>,
        /// The request that it refers to.
        request_id: Option<RicRequestId>,
    },
    /// The peer requested a reset.
    Reset {
        /// Why.
        cause: Cause,
    },
    /// A node repeated the setup on its association and restarts.
    RepeatedSetup {
        /// Its previous id.
        was: GlobalE2NodeId,
        /// Its id now.
        is: GlobalE2NodeId,
    },
    /// A node set up on another association. The older one is closed.
    TakenOver {
        /// The node.
        node: GlobalE2NodeId,
    },
    /// A peer is not authorized to set up as this node. It was refused.
    NodeNotAllowed {
        /// The node.
        node: GlobalE2NodeId,
    },
    /// A peer with another identity tried to take a node over. It was refused.
    TakeoverRefused {
        /// The node.
        node: GlobalE2NodeId,
    },
    /// A virtual node tried to set up that is made of a node of this controller itself. It was refused.
    VirtualizationLoop {
        /// The virtual node.
        node: GlobalE2NodeId,
        /// The node of this controller.
        of: String,
        /// The number of controllers in the loop.
        controllers: usize,
    },
    /// A virtual node tried to set up that stems from too many controllers. It was refused.
    TooManyLevels {
        /// The virtual node.
        node: GlobalE2NodeId,
    },
    /// A configuration update of a virtual node named other controllers that it stems from than its setup. It was refused.
    ControllerPathChanged {
        /// The virtual node.
        node: GlobalE2NodeId,
    },
    /// A peer tried to set up as, or to join, a node that is connected from another host. It was refused.
    NodeConnected {
        /// The node.
        node: GlobalE2NodeId,
        /// The host of the node.
        of: Origin,
    },
    /// A peer on another host tried to set up as this node, or to join it. It was refused.
    TakeoverAttempted {
        /// The node.
        node: GlobalE2NodeId,
        /// The host of the peer.
        by: Origin,
    },
    /// An xApp is not authorized for a command. It was refused.
    XappNotAllowed {
        /// The node.
        node: GlobalE2NodeId,
        /// The RAN function.
        ran_function_id: RanFunctionId,
        /// The object identifier of its service model; empty if the node sent none.
        oid: Box<str>,
        /// The right that it lacks.
        lacking: Lacking,
        /// The number of refusals of this xApp so far.
        count: u64,
    },
    /// A setup would exceed the bound of the octets stored of all nodes. It was refused.
    NodesTooLarge {
        /// The node.
        node: GlobalE2NodeId,
        /// Octets of functions and components of all nodes including this one.
        octets: usize,
        /// The bound.
        limit_octets: usize,
    },
    /// A setup was refused because of what its host has already.
    HostLimit {
        /// The node.
        node: GlobalE2NodeId,
        /// The host of the peer, if it is known.
        host: Option<Host>,
        /// The limit, and the setting.
        limit: &'static str,
    },
    /// A setup was refused.
    SetupRefused {
        /// Why.
        cause: Cause,
    },
    /// A setup was refused, because another RIC serves the node.
    Directed {
        /// The node.
        node: GlobalE2NodeId,
        /// The address of the other RIC.
        to: TnlInformation<'static>,
    },
    /// A RAN function was rejected.
    FunctionRejected {
        /// The RAN function.
        ran_function_id: RanFunctionId,
        /// Why.
        cause: Cause,
    },
    /// A component was rejected.
    ComponentRejected {
        /// Why.
        cause: Cause,
    },
    /// An update of functions, components or associations was refused.
    UpdateRefused {
        /// Why.
        cause: Cause,
    },
    /// A node announced the removal of associations. Each ends when its link does.
    AssociationsGivenUp {
        /// Their number.
        count: usize,
    },
    /// An association joined a node.
    AssociationJoined {
        /// The node.
        node: GlobalE2NodeId,
        /// The number of its associations.
        count: usize,
    },
    /// An association was refused as a further one of a node. It is closed.
    JoinRefused {
        /// The node.
        node: GlobalE2NodeId,
    },
    /// The first association of a node ended; another one takes its place.
    AssociationLost {
        /// The node.
        node: GlobalE2NodeId,
        /// The number of its remaining associations.
        left: usize,
    },
    /// A procedure was not answered in time.
    TimedOut {
        /// The procedure.
        procedure_code: ProcedureCode,
        /// The request.
        request_id: Option<RicRequestId>,
    },
    /// An xApp's request was refused, because too much of it waits for a node that reads slowly.
    NodeBusy {
        /// The node.
        node: GlobalE2NodeId,
        /// The octets that wait to be sent to it.
        octets: usize,
        /// The number of refusals of this xApp so far.
        count: u64,
    },
    /// Nodes were omitted from an E42 setup response: E42 cannot represent them, none of their functions is to be listed, or
    /// the message is full.
    NodesOmitted {
        /// Their number.
        count: usize,
    },
    /// A subscription of an E42 xApp ended, which E42 has no message for.
    EndNotReported {
        /// The xApp's request id.
        request_id: RicRequestId,
        /// Why it ended.
        end: crate::SubscriptionEnd,
    },
    /// An xApp violated the protocol.
    XappMisuse {
        /// The violation.
        what: &'static str,
    },
}

impl Notice {
    /// Returns the notice about IEs that were ignored or are missing.
    pub(crate) fn overlooked(decoded: &Decoded<'_>) -> Option<Self> {
        let procedure_code = decoded.pdu.procedure_code();
        let mut missing = decoded.missing();
        let count = missing.len();
        match (missing.next(), decoded.unknown.len()) {
            (None, 0) => None,
            // an IE that is present but invalid counts as both
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
            Notice::OutOfOrder(error) => {
                write!(f, "{error}; accepted, further ones are not logged (`strict_ie_order` refuses them)")
            }
            Notice::UnknownIes { procedure_code, count } => {
                write!(f, "unknown IEs in {procedure_code:?}: {count} ignored")
            }
            Notice::MissingIes { procedure_code, ie, count } => write!(
                f,
                "{count} mandatory IEs of {procedure_code:?} are missing or invalid, the first is {}: message processed \
                 without them",
                ie.0
            ),
            Notice::NotInState { message, answered } => {
                write!(f, "{message} is not compatible with the state; {}", reaction(*answered))
            }
            Notice::NotSupported { message } => {
                write!(f, "{message} is not supported; answered with an error indication")
            }
            Notice::Ignored { message } => write!(f, "{message} is not supported; ignored"),
            Notice::Contradiction { message, request_id } => {
                write!(f, "{message} contradicts request {}/{}; dropped", request_id.requestor, request_id.instance)
            }
            Notice::UnknownRequest { message, request_id, answered } => write!(
                f,
                "{message} for unknown request {}/{}; {}",
                request_id.requestor,
                request_id.instance,
                reaction(*answered)
            ),
            Notice::StrayIndication { request_id: RicRequestId { requestor, instance }, before_setup } => {
                let what = if *before_setup {
                    "before the setup; dropped, its subscription is deleted after the setup"
                } else {
                    "without an active subscription; dropped"
                };
                write!(f, "RicIndication of request {requestor}/{instance} {what}, further ones are counted only")
            }
            Notice::AnswersWithheld { count } => {
                write!(f, "budget of answers exhausted: messages dropped so far: {count}")
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
            Notice::Reset { cause } => write!(f, "reset by the peer ({cause}): all subscriptions have ended"),
            Notice::RepeatedSetup { was, is } if was == is => {
                write!(f, "{is} sets up again: the node restarts")
            }
            Notice::RepeatedSetup { was, is } => write!(f, "{was} sets up again as {is}"),
            Notice::TakenOver { node } => write!(
                f,
                "{node} set up on another association; the older one is closed. If this repeats, two base stations have this \
                 identity: give each its own"
            ),
            Notice::NodeNotAllowed { node } => write!(
                f,
                "setup as {node} refused: no [[node_rights]] entry of the peer's certificate lists it; add it to `nodes` there \
                 to allow it"
            ),
            Notice::TakeoverRefused { node } => write!(
                f,
                "setup as {node} refused: the node is connected already, with the identity of another certificate"
            ),
            Notice::VirtualizationLoop { node, of, controllers } => write!(
                f,
                "setup as {node} refused: it is a virtual node of {of}, which this controller itself shares (a loop over {controllers} \
                 controllers); it may try again in 60 s. Give the tenant of this network the address of another controller: \
                 `ric` of its [[tenant]], or of the topology"
            ),
            Notice::ControllerPathChanged { node } => write!(
                f,
                "configuration update of {node} refused: the setup of this node named other controllers that it is a virtual node of; set \
                 it up again"
            ),
            Notice::TooManyLevels { node } => write!(
                f,
                "setup as {node} refused: it is a virtual node over more than {} levels of virtualization; check whether the \
                 controllers of tenants are in a loop",
                ControllerPath::MAX_LEVELS
            ),
            Notice::NodeConnected { node, of } => write!(
                f,
                "setup as {node} refused: the node is connected from {of}; it may try again in 10 s, when that connection has \
                 ended if no peer answers there; `node_takeover` states who may take a node over"
            ),
            Notice::TakeoverAttempted { node, by } => write!(
                f,
                "another peer, from {by}, tried to set up as {node} and was refused; check whether two nodes have this id; \
                 `node_takeover` states who may take a node over"
            ),
            Notice::XappNotAllowed { node, ran_function_id, oid, lacking, count } => write!(
                f,
                "command to RAN function {} (OID {oid}) of {node} refused ({count} so far): {lacking}; to allow it, add it to the rights of \
                 the xApp's certificate",
                ran_function_id.0
            ),
            Notice::NodesTooLarge { node, octets, limit_octets } => write!(
                f,
                "node database full: {node} would increase it to {octets} octets of functions and components, limit \
                 {limit_octets}; raise `max_octets_of_nodes` to allow it"
            ),
            Notice::HostLimit { node, host: Some(host), limit } => {
                write!(f, "setup as {node} from {host} refused: {limit}")
            }
            Notice::Directed { node, to } => {
                let (v4, v6) = to.addresses();
                let (host, port) = (v4.map(IpAddr::V4).or(v6.map(IpAddr::V6)), to.port_number().unwrap_or_default());
                match host {
                    Some(host) => write!(f, "{node} directed to the RIC at {}", SocketAddr::new(host, port)),
                    None => write!(f, "{node} directed to another RIC"),
                }
            }
            Notice::HostLimit { node, host: None, limit } => write!(f, "setup as {node} refused: {limit}"),
            Notice::SetupRefused { cause } => write!(f, "setup refused: {cause}"),
            Notice::FunctionRejected { ran_function_id, cause } => {
                write!(f, "RAN function {} was rejected: {cause}", ran_function_id.0)
            }
            Notice::ComponentRejected { cause } => write!(f, "a component was rejected: {cause}"),
            Notice::UpdateRefused { cause } => write!(f, "an update was refused: {cause}"),
            Notice::AssociationsGivenUp { count } => {
                write!(f, "the node removes {count} associations; each ends when its link does")
            }
            Notice::AssociationJoined { node, count } => {
                write!(f, "association joined {node}: it has {count} now")
            }
            Notice::JoinRefused { node } => write!(
                f,
                "association refused as a further one of {node}: unknown node, other encoding, changes in the message, or \
                 too many associations"
            ),
            Notice::AssociationLost { node, left } => {
                write!(f, "first association of {node} ended: another one takes its place; {left} left")
            }
            Notice::TimedOut { procedure_code, request_id } => {
                write!(f, "no answer in time to {procedure_code:?}")?;
                if let Some(id) = request_id {
                    write!(f, ", request {}/{}", id.requestor, id.instance)?;
                }
                Ok(())
            }
            Notice::NodeBusy { node, octets, count } => write!(
                f,
                "request refused: {octets} octets wait to be sent to {node}, which reads slowly, and the xApp's share of \
                 them is used up ({count} refused so far); raise `outbox_octets` if its requests are this long"
            ),
            Notice::NodesOmitted { count } => {
                write!(
                    f,
                    "{count} nodes omitted from the setup response: E42 cannot represent them, no function of theirs is in \
                     `e42_functions`, or the message is full"
                )
            }
            Notice::EndNotReported { request_id, end } => write!(
                f,
                "subscription {}/{} ended ({end}): not reported, since E42 has no message for that",
                request_id.requestor, request_id.instance
            ),
            Notice::XappMisuse { what } => write!(f, "refused: {what}"),
        }
    }
}

/// Returns how a message was handled.
fn reaction(answered: bool) -> &'static str {
    if answered { "answered with an error indication" } else { "dropped" }
}
