//! The E2AP procedures as state machines that own no socket, no clock and no thread.
//!
//! | machine | role |
//! |---|---|
//! | [`Agent`] | the E2 node's side of one association |
//! | [`Controller`] | the near-RT RIC's side of all its nodes: node database, subscriptions, procedures |
//! | [`topology::RanDatabase`] | the base stations, cells and UEs that the nodes make up |
//! | [`XappHost`] | the RIC's side of the RIC-xApp protocol, an ordinary user of the controller |
//! | [`XappClient`] | the xApp's side of that protocol |
//! | [`E42Host`] | the RIC's side of FlexRIC's xApp protocol |
//!
//! # Driving a machine
//!
//! Every machine has the same interface. The caller reports what happens, with the current [`Time`]: an association opened
//! (`handle_open`) or closed (`handle_close`), a PDU arrived (`handle_pdu`), a deadline passed (`handle_timeout`), or a command
//! such as [`Controller::subscribe`]. After each call the caller drains the outputs: PDUs to send (`poll_transmit`), events
//! (`poll_event`), associations to close (`poll_close`), and the next deadline (`poll_timeout`). The machines do nothing
//! else, so that every procedure, timer and race is tested in virtual time, and a run replays from its inputs: no output
//! depends on the order of a hash table.
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
//! // The agent requests a connection; the caller reports one to both sides.
//! let (now, assoc) = (Time::from_nanos(0), AssocId(1));
//! assert_eq!(agent.poll_event(), Some(AgentEvent::Connect));
//! ric.handle_open(now, assoc);
//! agent.handle_open(now);
//!
//! // The caller carries the setup request to the RIC and the response back.
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
//! # Indications
//!
//! An indication is never queued: [`Controller::handle_pdu`] returns it at once, borrowed from the PDU, and
//! [`Controller::consumers`] lists its receivers.
//!
//! # Requests and consumers
//!
//! An iApp or an xApp session is a [`Consumer`]. Its commands carry a [`Ticket`]; [`Event::Request`] reports their outcome as
//! a [`RequestEvent`], which the RIC-xApp protocol carries unchanged. Equal REPORT subscriptions of several consumers share
//! one subscription towards the node, and subscriptions are restored when a lost node sets up again.
//!
//! # Errors
//!
//! Errors are bad input, panics are bugs. PDUs of a peer never cause a panic or harm another peer: an invalid PDU is answered
//! as E2AP clause 10 requires and reported as a [`Notice`]. Answers and notices are limited to ten per second and
//! association, memory by [`ControllerConfig`] and [`AgentConfig`]. An invalid call returns [`Misuse`], [`AgentMisuse`] or
//! [`AgentConfigError`].

#![forbid(unsafe_code)]

mod agent;
mod budget;
mod change;
mod connection;
#[cfg(feature = "content")]
pub mod content;
mod controller;
mod controller_path;
pub mod e42;
mod notice;
mod origin;
mod outbox;
mod protocol_error;
mod rights;
mod time;
mod timers;
pub mod topology;
pub mod xapp;

pub use agent::{
    Agent, AgentConfig, AgentConfigError, AgentEvent, AgentMisuse, ControlRequest, Function, ModificationRequest,
    QueryRequest, SubscriptionRequest, Target,
};
pub use change::{ActionChange, AddedAction, ChangeResult, SubscriptionChange, SubscriptionTimes};
pub use connection::{ConnectionResult, ConnectionUpdate};
pub use controller::{
    Action, Components, ConnectionOutcome, Consumer, ConsumerIdentity, ControlOutcome, ControlQuestion, Controller,
    ControllerConfig, EndedControl, Event, Indication, LostReason, Mediation, Mediator, Misuse, ModifyOutcome, Node,
    NodeId, NodePlacement, Placement, QueryOutcome, RanFunction, RefusalCode, ReleasedControl, RequestEvent,
    RequestedControl, Route, Routed, SubscribeError, SubscriptionEnd, SubscriptionFact, SubscriptionId,
    SubscriptionOrder, SubscriptionSpec, SubscriptionStep, SubscriptionSummary, Ticket,
};
pub use controller_path::{ControllerInstance, ControllerPath, PathEntry};
pub use e42::E42Host;
pub use log_lines::Host;
pub use notice::Notice;
pub use origin::{NodeTakeover, Origin};
#[cfg(feature = "content")]
pub use rights::GrantLimits;
pub use rights::{FunctionName, Grant, Lacking, NodeRights, Right, Selection, XappRights};
pub use time::Time;
pub use xapp::{XappClient, XappHost};

/// Identifies an association. The caller chooses the number and never reuses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AssocId(pub u64);

/// Why an association has ended, or why a machine closes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CloseReason {
    /// The peer closed it, or the transport failed.
    Transport,
    /// There was no E2 Setup in time.
    SetupTimeout,
    /// A reset was not answered in time.
    ResetTimeout,
    /// The peer sent invalid PDUs.
    Misbehaved,
    /// The node set up again on another association.
    TakenOver,
    /// The peer is not authorized.
    NotAllowed,
    /// The send queue of the peer exceeded its bound.
    Overflow,
    /// The node was removed by the E2 Removal procedure.
    Removed,
    /// A removal was not answered in time.
    RemovalTimeout,
    /// The node goes to another RIC.
    Elsewhere,
    /// This side ended.
    Local,
}

impl core::fmt::Display for CloseReason {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            CloseReason::Transport => "the connection ended",
            CloseReason::SetupTimeout => "no setup in time",
            CloseReason::ResetTimeout => "no answer to a reset in time",
            CloseReason::Misbehaved => "the peer sent invalid PDUs",
            CloseReason::TakenOver => "the node set up on another association",
            CloseReason::NotAllowed => "the peer is not authorized",
            CloseReason::Overflow => "send queue full: the peer does not read",
            CloseReason::Removed => "the node was removed",
            CloseReason::RemovalTimeout => "no answer to a removal in time",
            CloseReason::Elsewhere => "the node goes to another RIC",
            CloseReason::Local => "closed here",
        })
    }
}
