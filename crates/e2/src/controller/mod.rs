//! A near-RT RIC's side of all its nodes.
//!
//! One procedure a file: [`setup`], [`subscription`], [`control`], [`reset`]; [`answer`] tells a peer what was wrong,
//! [`requests`] gives out request ids. This file takes what happens to the right one.

mod answer;
mod control;
mod requests;
mod reset;
mod setup;
mod subscription;

use core::fmt;
use core::time::Duration;
use std::collections::{HashMap, VecDeque};

use e2ap::{
    Cause, Decoded, GlobalE2NodeId, GlobalRicId, Pdu, RanFunctionId, RanFunctionRevision, RicActionId, RicIndication,
    RicIndicationSn, RicIndicationType, RicRequestId, Version, peek,
};
use per::Gather;

use crate::outbox::Outbox;
use crate::timers::Timers;
use crate::{AssocId, CloseReason, Notice, Time};
use answer::ErrorBudget;
use requests::{Request, Requests};

pub use control::ControlOutcome;
pub use subscription::{Action, SubscribeError, SubscriptionEnd, SubscriptionSpec};

/// What a controller is and when it loses patience.
#[derive(Clone, Debug)]
pub struct ControllerConfig {
    /// Who we are.
    pub ric_id: GlobalRicId,
    /// The version that a peer speaks, where it is to be another than its setup tells. Default: none.
    pub version: Option<Version>,
    /// The first requestor id that is given out; more are taken once its 65536 instances are used up. Default: 1021.
    pub first_requestor: u16,
    /// Requests that may run or rest at a time. Default: 262144.
    pub max_requests: u32,
    /// How long a request id rests before it is used again. Default: 10 s.
    pub request_rest: Duration,
    /// A new association must set up within this. Default: 10 s.
    pub setup_timeout: Duration,
    /// A subscription must be answered within this. Default: 5 s.
    pub subscription_timeout: Duration,
    /// A subscription's deletion must be answered within this. Default: 5 s.
    pub delete_timeout: Duration,
    /// A control must be answered within this. Default: 5 s.
    pub control_timeout: Duration,
    /// Nodes at a time; more are told to wait. Default: 4096.
    pub max_nodes: usize,
    /// Subscriptions and controls that one consumer may have at a time. Default: 16384.
    pub max_requests_per_consumer: usize,
}

impl Default for ControllerConfig {
    fn default() -> Self {
        ControllerConfig {
            ric_id: GlobalRicId::new(e2ap::PlmnIdentity::from_codes(1, 1, 2), 1),
            version: None,
            first_requestor: 1021,
            max_requests: 262_144,
            request_rest: Duration::from_secs(10),
            setup_timeout: Duration::from_secs(10),
            subscription_timeout: Duration::from_secs(5),
            delete_timeout: Duration::from_secs(5),
            control_timeout: Duration::from_secs(5),
            max_nodes: 4096,
            max_requests_per_consumer: 16_384,
        }
    }
}

/// Names a node from its setup to its loss; never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u32);

/// Names a subscription towards a node; several consumers may share it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SubscriptionId(pub u32);

/// Who subscribes and controls: an iApp, or an xApp's session. The caller gives the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Consumer(pub u32);

/// Pairs an event with the command that asked for it. The caller gives the numbers, each consumer its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ticket(pub u32);

/// A RAN function as its node tells of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RanFunction {
    /// Its id within the node.
    pub id: RanFunctionId,
    /// Counts changes of its definition.
    pub revision: RanFunctionRevision,
    /// The service model's object identifier; empty in v01.00, which has none.
    pub oid: Box<str>,
    /// The service model's RAN function definition.
    pub definition: Box<[u8]>,
}

/// A node in the RAN database.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its name here.
    pub id: NodeId,
    /// Its key.
    pub global_id: GlobalE2NodeId,
    /// The association it is on.
    pub assoc: AssocId,
    /// The version that it speaks.
    pub version: Version,
    /// What it offers, by id.
    pub functions: Vec<RanFunction>,
}

impl Node {
    /// One of the node's functions.
    #[must_use]
    pub fn function(&self, id: RanFunctionId) -> Option<&RanFunction> {
        self.functions.binary_search_by_key(&id, |f| f.id).ok().map(|at| &self.functions[at])
    }
}

/// News from the machine.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A node has set up; [`Controller::node`] tells of it.
    NodeUp(NodeId),
    /// A node is gone, and every subscription with it.
    NodeLost {
        /// Which one.
        node: NodeId,
        /// Its key.
        global_id: GlobalE2NodeId,
        /// Why.
        reason: LostReason,
    },
    /// A subscription stands.
    Subscribed {
        /// Whose.
        consumer: Consumer,
        /// Of which command.
        ticket: Ticket,
        /// Its name from now on.
        subscription: SubscriptionId,
        /// Actions that are set up.
        admitted: Vec<RicActionId>,
        /// Actions that are not, and why.
        not_admitted: Vec<(RicActionId, Cause)>,
    },
    /// A subscription does not stand.
    SubscriptionFailed {
        /// Whose.
        consumer: Consumer,
        /// Of which command.
        ticket: Ticket,
        /// Why.
        error: SubscribeError,
    },
    /// A subscription stands no more.
    SubscriptionEnded {
        /// Whose.
        consumer: Consumer,
        /// Which one.
        subscription: SubscriptionId,
        /// Why.
        end: SubscriptionEnd,
    },
    /// What became of a control.
    Controlled {
        /// Whose.
        consumer: Consumer,
        /// Of which command.
        ticket: Ticket,
        /// What became of it.
        outcome: ControlOutcome,
    },
    /// For the log.
    Notice {
        /// Where.
        assoc: AssocId,
        /// What.
        notice: Notice,
    },
}

/// Why a node is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LostReason {
    /// Its association ended.
    Closed(CloseReason),
    /// It set up again, on the same association or another.
    SetupAgain,
}

/// A command that makes no sense: the caller's fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misuse {
    /// No such node.
    UnknownNode,
    /// The node has no such function.
    UnknownFunction,
    /// No such subscription, or not this consumer's.
    UnknownSubscription,
    /// A subscription without actions, with more than 16, or with one id twice.
    BadActions,
    /// The consumer has as many requests as it may have.
    TooManyRequests,
    /// All request ids are in use or at rest.
    NoRequestId,
}

impl fmt::Display for Misuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Misuse::UnknownNode => "no such node",
            Misuse::UnknownFunction => "the node has no such RAN function",
            Misuse::UnknownSubscription => "no such subscription, or not yours",
            Misuse::BadActions => "a subscription has 1 to 16 actions with different ids",
            Misuse::TooManyRequests => "too many subscriptions and controls at a time",
            Misuse::NoRequestId => "all request ids are in use or at rest",
        })
    }
}

impl std::error::Error for Misuse {}

/// What came of a PDU.
#[derive(Clone, Debug)]
pub enum Routed<'a> {
    /// It was an indication of a subscription that stands: whose, tells [`Controller::consumers`].
    Indication(Indication<'a>),
    /// It was something else, or nothing; see the polls.
    Done,
}

/// An indication, borrowed from the bytes that came.
#[derive(Clone, Copy, Debug)]
pub struct Indication<'a> {
    /// From which node.
    pub node: NodeId,
    /// Of which subscription.
    pub subscription: SubscriptionId,
    /// From which function.
    pub ran_function_id: RanFunctionId,
    /// From which action.
    pub action_id: RicActionId,
    /// Its number.
    pub sn: Option<RicIndicationSn>,
    /// Report or insert.
    pub kind: RicIndicationType,
    /// The version it is written in.
    pub version: Version,
    /// The whole PDU, untouched.
    pub pdu: &'a [u8],
    /// Header and message, where they lie in one piece each: below 16384 octets.
    pub payload: Option<(&'a [u8], &'a [u8])>,
}

impl<'a> Indication<'a> {
    /// The full message; `gather` takes the payload of one that came in fragments.
    ///
    /// # Errors
    /// None in an indication that the controller routed.
    pub fn decode(&self, gather: &'a Gather) -> Result<RicIndication<'a>, e2ap::Error> {
        match e2ap::decode(self.pdu, self.version, gather)?.pdu {
            Pdu::RicIndication(indication) => Ok(indication),
            // peeked or decoded before: it is one
            other => unreachable!("routed a {} as an indication", other.name()),
        }
    }
}

#[derive(Debug)]
struct Assoc {
    /// Who is there, once it has set up.
    node: Option<NodeId>,
    version: Version,
    errors: ErrorBudget,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Deadline {
    Setup(AssocId),
    /// A request by its place, and which use of the place is meant.
    Request(u32, u32),
}

/// A near-RT RIC's side of all its nodes: the RAN database, the subscriptions, the procedures.
#[derive(Debug)]
pub struct Controller {
    config: ControllerConfig,
    assocs: HashMap<AssocId, Assoc>,
    nodes: HashMap<NodeId, Node>,
    by_key: HashMap<GlobalE2NodeId, NodeId>,
    next_node: u32,
    requests: Requests,
    /// Requests that each consumer takes part in.
    held: HashMap<Consumer, usize>,
    outbox: Outbox,
    events: VecDeque<Event>,
    closes: VecDeque<(AssocId, CloseReason)>,
    timers: Timers<Deadline>,
}

impl Controller {
    /// A controller without nodes.
    #[must_use]
    pub fn new(config: ControllerConfig) -> Self {
        Controller {
            requests: Requests::new(config.first_requestor, config.max_requests, config.request_rest),
            config,
            assocs: HashMap::new(),
            nodes: HashMap::new(),
            by_key: HashMap::new(),
            next_node: 1,
            held: HashMap::new(),
            outbox: Outbox::default(),
            events: VecDeque::new(),
            closes: VecDeque::new(),
            timers: Timers::default(),
        }
    }

    /// Who we are.
    #[must_use]
    pub fn ric_id(&self) -> GlobalRicId {
        self.config.ric_id
    }

    /// The nodes that have set up, in no order.
    pub fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.nodes.values()
    }

    /// A node that has set up.
    #[must_use]
    pub fn node(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(&id)
    }

    /// Who takes a subscription's indications.
    #[inline]
    #[must_use]
    pub fn consumers(&self, subscription: SubscriptionId) -> &[Consumer] {
        match self.requests.get(subscription.0) {
            Some(Request::Subscription(subscription)) => subscription.consumers(),
            _ => &[],
        }
    }

    /// A node's association is there.
    pub fn handle_open(&mut self, now: Time, assoc: AssocId) {
        let version = self.config.version.unwrap_or(Version::V2_03);
        self.assocs.insert(assoc, Assoc { node: None, version, errors: ErrorBudget::new(now) });
        self.timers.set(now + self.config.setup_timeout, Deadline::Setup(assoc));
    }

    /// A node's association is gone.
    pub fn handle_close(&mut self, now: Time, assoc: AssocId, reason: CloseReason) {
        if let Some(Assoc { node: Some(node), .. }) = self.assocs.remove(&assoc) {
            self.lose_node(now, node, LostReason::Closed(reason));
        }
    }

    /// A PDU came over a node's association.
    ///
    /// An indication of a subscription that stands is given back, borrowed; all else is done within.
    #[inline]
    pub fn handle_pdu<'a>(&mut self, now: Time, assoc: AssocId, pdu: &'a [u8]) -> Routed<'a> {
        if let Some(peeked) = peek::indication(pdu)
            && let Some(Assoc { node: Some(node), version, .. }) = self.assocs.get(&assoc)
            && let Some(subscription) = self.route(*node, peeked.request_id, peeked.ran_function_id)
        {
            return Routed::Indication(Indication {
                node: *node,
                subscription,
                ran_function_id: peeked.ran_function_id,
                action_id: peeked.action_id,
                sn: peeked.sn,
                kind: peeked.kind,
                version: *version,
                pdu,
                payload: Some((peeked.header, peeked.message)),
            });
        }
        self.handle_slowly(now, assoc, pdu)
    }

    /// The subscription of `node` that an indication is for, if it stands.
    #[inline]
    fn route(&self, node: NodeId, id: RicRequestId, function: RanFunctionId) -> Option<SubscriptionId> {
        let place = self.requests.place(id)?;
        match self.requests.get(place)? {
            Request::Subscription(s) if s.takes(node, function) => Some(SubscriptionId(place)),
            _ => None,
        }
    }

    /// Everything that is no plain indication of a subscription that stands.
    fn handle_slowly<'a>(&mut self, now: Time, assoc: AssocId, pdu: &'a [u8]) -> Routed<'a> {
        let Some(state) = self.assocs.get_mut(&assoc) else { return Routed::Done };
        if let Some(version) = Version::of_setup(pdu) {
            // The setup tells the version, a repeated one too.
            state.version = self.config.version.unwrap_or(version);
        }
        let (version, node) = (state.version, state.node);
        let gather = Gather::new();
        let decoded = match e2ap::decode(pdu, version, &gather) {
            Ok(decoded) => decoded,
            Err(error) => match self.newer(assoc, pdu, version, &error, &gather) {
                Some(decoded) => decoded,
                None => {
                    self.answer_malformed(now, assoc, pdu, error);
                    return Routed::Done;
                }
            },
        };
        if !decoded.unknown.is_empty() {
            let (procedure_code, count) = (decoded.pdu.procedure_code(), decoded.unknown.len());
            self.notice(assoc, Notice::UnknownIes { procedure_code, count });
        }
        match (decoded.pdu, node) {
            (Pdu::E2SetupRequest(request), _) => self.setup(now, assoc, request),
            (Pdu::ErrorIndication(indication), _) => self.error_indication(now, assoc, indication),
            (other, None) => self.not_in_state(now, assoc, &other),
            (Pdu::RicIndication(indication), Some(node)) => {
                if let Some(subscription) = self.route(node, indication.request_id, indication.ran_function_id) {
                    return Routed::Indication(Indication {
                        node,
                        subscription,
                        ran_function_id: indication.ran_function_id,
                        action_id: indication.action_id,
                        sn: indication.sn,
                        kind: indication.kind,
                        version: self.assocs.get(&assoc).map_or(version, |a| a.version),
                        pdu,
                        payload: None,
                    });
                }
                self.stray_indication(now, assoc, node, &indication);
            }
            (Pdu::RicSubscriptionResponse(response), Some(node)) => self.subscription_response(now, node, &response),
            (Pdu::RicSubscriptionFailure(failure), Some(node)) => self.subscription_failure(now, node, &failure),
            (Pdu::RicSubscriptionDeleteResponse(response), Some(node)) => {
                self.delete_response(now, node, response.request_id, "RicSubscriptionDeleteResponse");
            }
            (Pdu::RicSubscriptionDeleteFailure(failure), Some(node)) => {
                self.delete_response(now, node, failure.request_id, "RicSubscriptionDeleteFailure");
            }
            (Pdu::RicSubscriptionDeleteRequired(required), Some(node)) => self.delete_required(now, node, &required),
            (Pdu::RicControlAcknowledge(ack), Some(node)) => self.control_acknowledge(now, node, &ack),
            (Pdu::RicControlFailure(failure), Some(node)) => self.control_failure(now, node, &failure),
            (Pdu::ResetRequest(request), Some(node)) => self.reset_request(now, node, &request),
            // Asked for nothing of the kind: an answer to an answer would only go to and fro.
            (other, Some(_)) if other.kind() != e2ap::Kind::Initiating => self.not_in_state(now, assoc, &other),
            (other, Some(_)) => self.not_supported(now, assoc, &other),
        }
        Routed::Done
    }

    /// A v02.03 peer that sends what only v03.01 has, speaks v03.01: their setups are alike.
    fn newer<'a>(
        &mut self,
        assoc: AssocId,
        pdu: &'a [u8],
        version: Version,
        error: &e2ap::Error,
        gather: &'a Gather,
    ) -> Option<Decoded<'a>> {
        if version != Version::V2_03 || self.config.version.is_some() || matches!(error, e2ap::Error::Header(_)) {
            return None;
        }
        let decoded = e2ap::decode(pdu, Version::V3_01, gather).ok()?;
        let state = self.assocs.get_mut(&assoc)?;
        state.version = Version::V3_01;
        if let Some(node) = state.node.and_then(|id| self.nodes.get_mut(&id)) {
            node.version = Version::V3_01;
        }
        Some(decoded)
    }

    /// Time has passed.
    pub fn handle_timeout(&mut self, now: Time) {
        while let Some(deadline) = self.timers.pop(now) {
            match deadline {
                Deadline::Setup(assoc) => {
                    if self.assocs.get(&assoc).is_some_and(|a| a.node.is_none()) {
                        self.close(now, assoc, CloseReason::SetupTimeout);
                    }
                }
                Deadline::Request(place, use_of) => self.request_timeout(now, place, use_of),
            }
        }
    }

    /// When to call [`Controller::handle_timeout`] at the latest.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Time> {
        self.timers.next()
    }

    /// Appends the next PDU to be sent to `out`, and tells where to.
    pub fn poll_transmit(&mut self, out: &mut Vec<u8>) -> Option<AssocId> {
        self.outbox.pop(out)
    }

    /// The next piece of news.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// The next association to be closed once what is to be sent is sent. It is forgotten here already.
    pub fn poll_close(&mut self) -> Option<(AssocId, CloseReason)> {
        self.closes.pop_front()
    }

    fn close(&mut self, now: Time, assoc: AssocId, reason: CloseReason) {
        self.handle_close(now, assoc, reason);
        self.closes.push_back((assoc, reason));
    }

    fn notice(&mut self, assoc: AssocId, notice: Notice) {
        self.events.push_back(Event::Notice { assoc, notice });
    }

    /// Queues a PDU for a node.
    fn send(&mut self, node: NodeId, pdu: &Pdu<'_>) {
        if let Some(node) = self.nodes.get(&node) {
            self.outbox.push(node.assoc, node.version, pdu);
        }
    }

    /// Forgets a node and all that hangs on it.
    fn lose_node(&mut self, now: Time, id: NodeId, reason: LostReason) {
        let Some(node) = self.nodes.remove(&id) else { return };
        self.by_key.remove(&node.global_id);
        self.drop_requests(now, id, SubscriptionEnd::NodeLost);
        self.events.push_back(Event::NodeLost { node: id, global_id: node.global_id, reason });
    }

    /// Ends all requests of a node.
    fn drop_requests(&mut self, now: Time, node: NodeId, end: SubscriptionEnd) {
        for place in self.requests.of_node(node) {
            match self.free(now, place) {
                Some(Request::Subscription(subscription)) => self.subscription_gone(place, &subscription, end),
                Some(Request::Control(control)) => self.control_gone(&control, end),
                None => {}
            }
        }
    }

    /// Takes a request out, and its consumers' share of the quota with it.
    fn free(&mut self, now: Time, place: u32) -> Option<Request> {
        let request = self.requests.free(now, place)?;
        match &request {
            Request::Subscription(subscription) => {
                for consumer in subscription.holders() {
                    self.let_go(consumer);
                }
            }
            Request::Control(control) => self.let_go(control.consumer),
        }
        Some(request)
    }

    /// Counts a request against its consumer's quota.
    fn hold(&mut self, consumer: Consumer) -> Result<(), Misuse> {
        let held = self.held.entry(consumer).or_default();
        if *held >= self.config.max_requests_per_consumer {
            return Err(Misuse::TooManyRequests);
        }
        *held += 1;
        Ok(())
    }

    fn let_go(&mut self, consumer: Consumer) {
        if let Some(held) = self.held.get_mut(&consumer) {
            *held -= 1;
            if *held == 0 {
                self.held.remove(&consumer);
            }
        }
    }

    /// The node's function, or why a command about it makes no sense.
    fn check_function(&self, node: NodeId, function: RanFunctionId) -> Result<(), Misuse> {
        let node = self.nodes.get(&node).ok_or(Misuse::UnknownNode)?;
        node.function(function).map(|_| ()).ok_or(Misuse::UnknownFunction)
    }

    fn request_timeout(&mut self, now: Time, place: u32, use_of: u32) {
        if self.requests.use_of(place) != Some(use_of) {
            return; // answered long ago
        }
        match self.requests.get(place) {
            Some(Request::Subscription(_)) => self.subscription_timeout(now, place),
            Some(Request::Control(_)) => self.control_timeout(now, place),
            None => {}
        }
    }
}
