//! E2 procedures as machines that own no socket, no clock and no thread.
//!
//! | machine | is |
//! |---|---|
//! | [`Agent`] | an E2 node's side of one association |
//! | [`Controller`] | a near-RT RIC's side of all its nodes, with the RAN database and the subscriptions |
//! | [`topology::RanDatabase`] | what the nodes make up together: base stations, cells, UEs |
//! | [`XappHost`] | a RIC's side of the RIC-xApp protocol, an ordinary user of the controller |
//! | [`XappClient`] | an xApp's side of it |
//!
//! All are driven alike. Something happens: an association opens or closes, a PDU comes, time passes, somebody
//! commands. The caller says so, with the present [`Time`], and then drains what the machine wants: bytes to be sent
//! (`poll_transmit`), news (`poll_event`), associations to be closed (`poll_close`), and when to come back
//! (`poll_timeout`). Nothing else happens in between, so that every procedure, timer and race is tested in virtual time,
//! and a run replays from what was said to the machines: their order is never a hash table's.
//!
//! ```
//! use e2::{Agent, AgentConfig, AgentEvent, AssocId, Controller, ControllerConfig, Event, Function, Time};
//! use e2ap::{GlobalE2NodeId, GnbId, PlmnIdentity, RanFunctionId, RanFunctionRevision};
//!
//! let node = GlobalE2NodeId::gnb(PlmnIdentity::from_codes(1, 1, 2), GnbId::new(0xE00, 28));
//! let kpm = Function {
//!     id: RanFunctionId(2),
//!     revision: RanFunctionRevision(1),
//!     oid: "1.3.6.1.4.1.53148.1.2.2.2".into(),
//!     definition: vec![0x20],
//! };
//! let mut agent = Agent::new(AgentConfig::new(node, vec![kpm]));
//! let mut ric = Controller::new(ControllerConfig::default());
//!
//! // The agent wants a connection; there is one, and both sides learn of it.
//! let (now, assoc) = (Time::from_nanos(0), AssocId(1));
//! assert_eq!(agent.poll_event(), Some(AgentEvent::Connect));
//! ric.handle_open(now, assoc);
//! agent.handle_open(now);
//!
//! // The setup request goes one way, its answer the other.
//! let (mut request, mut response) = (Vec::new(), Vec::new());
//! assert!(agent.poll_transmit(&mut request));
//! ric.handle_pdu(now, assoc, &request);
//! assert_eq!(ric.poll_transmit(&mut response), Some(assoc));
//! agent.handle_pdu(now, &response);
//!
//! assert!(agent.is_up());
//! let Some(Event::NodeUp(id)) = ric.poll_event() else { panic!("the node is up") };
//! assert_eq!(ric.node(id).unwrap().functions[0].id, RanFunctionId(2));
//! ```
//!
//! An indication is never queued: [`Controller::handle_pdu`] gives it back at once, borrowed, and
//! [`Controller::consumers`] tells who wants it.
//!
//! Errors are bad input, panics are bugs. Bytes from a peer never cause a panic, nor harm to another peer: what is wrong
//! is answered as E2AP says (clause 10), told as a [`Notice`], and bounded: answers and lines in the log to ten a second
//! for each association, memory by [`ControllerConfig`] and [`AgentConfig`]. What a caller misuses is told by
//! [`Misuse`], [`AgentMisuse`] and [`AgentConfigError`].

#![forbid(unsafe_code)]

mod agent;
mod answer;
mod budget;
mod change;
mod connection;
mod controller;
pub mod e42;
mod notice;
mod outbox;
mod rights;
mod time;
mod timers;
pub mod topology;
pub mod xapp;

pub use agent::{
    Agent, AgentConfig, AgentConfigError, AgentEvent, AgentMisuse, ControlRequest, Function, ModificationRequest,
    QueryRequest, SubscriptionRequest,
};
pub use change::{ActionChange, AddedAction, ChangeResult, SubscriptionChange, SubscriptionTimes};
pub use connection::{ConnectionResult, ConnectionUpdate};
pub use controller::{
    Action, Components, ConnectionOutcome, Consumer, ControlOutcome, Controller, ControllerConfig, Event, Indication,
    LostReason, Misuse, ModifyOutcome, Node, NodeId, QueryOutcome, RanFunction, RefusalCode, RequestEvent, Route,
    Routed, SubscribeError, SubscriptionEnd, SubscriptionId, SubscriptionOrder, SubscriptionSpec, Ticket,
};
pub use e42::E42Host;
pub use notice::Notice;
pub use rights::{FunctionName, Grant, NodeRights, Selection, XappRights};
pub use time::Time;
pub use xapp::{XappClient, XappHost};

/// Names an association, as its owner does; never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AssocId(pub u64);

/// Why a caller ends an association, or why a machine wants it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CloseReason {
    /// The peer closed it, or the transport failed.
    Transport,
    /// No E2 Setup in time.
    SetupTimeout,
    /// No answer to a reset in time.
    ResetTimeout,
    /// It sent what cannot be understood.
    Misbehaved,
    /// The node came back on another association.
    TakenOver,
    /// Whoever it is has no right to be here.
    NotAllowed,
    /// What it is to be sent does not fit its bound.
    Overflow,
    /// The node leaves in order, or is let go.
    Removed,
    /// No answer to a removal in time.
    RemovalTimeout,
    /// We end.
    Local,
}

impl core::fmt::Display for CloseReason {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            CloseReason::Transport => "the connection ended",
            CloseReason::SetupTimeout => "no setup in time",
            CloseReason::ResetTimeout => "no answer to a reset in time",
            CloseReason::Misbehaved => "it sent what cannot be understood",
            CloseReason::TakenOver => "the node came back on another association",
            CloseReason::NotAllowed => "it has no right to be here",
            CloseReason::Overflow => "the peer does not read what it must be told",
            CloseReason::Removed => "the node is removed",
            CloseReason::RemovalTimeout => "no answer to a removal in time",
            CloseReason::Local => "closed here",
        })
    }
}
