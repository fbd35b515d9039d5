//! A near-RT RIC's side of all its nodes.
//!
//! One procedure a file; [`procedures`] keeps those that are about a node as a whole, [`answer`] tells a peer what was
//! wrong, [`requests`] gives out request ids, [`holdings`] counts who has what, [`sharing`] finds what may be shared,
//! [`restore`] brings back what was lost with a node. This file takes what happens to the right one.

mod answer;
mod associations;
mod components;
mod configuration_update;
mod connection_update;
mod control;
mod delete_required;
mod dispatch;
mod error_indication;
mod functions;
mod holdings;
mod ids;
mod indication;
mod modification;
mod modification_required;
mod order;
mod outcomes;
mod procedures;
mod query;
mod removal;
mod requests;
mod reset;
mod restore;
mod routes;
mod service_query;
mod service_update;
mod setup;
mod sharing;
mod subscription;
mod subscription_delete;
mod types;

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use e2ap::{
    Codec, GlobalE2NodeId, GlobalRicId, Pdu, ProcedureCode, RanFunctionId, RicActionType, RicRequestId, Version,
};

use crate::budget::Budget;
use crate::outbox::Outbox;
use crate::timers::Timers;
use crate::{AssocId, CloseReason, NodeRights, Notice, Time};
use associations::Remains;
use holdings::Holdings;
use procedures::Procedures;
use requests::{Request, Requests};
use sharing::Sharing;
use subscription::State;

pub use components::Components;
pub use ids::{Consumer, NodeId, SubscriptionId, Ticket};
pub use order::{Action, SubscriptionOrder, SubscriptionSpec};
pub use outcomes::{
    ConnectionOutcome, ControlOutcome, Misuse, ModifyOutcome, QueryOutcome, RefusalCode, RequestEvent, SubscribeError,
    SubscriptionEnd,
};
pub use routes::Route;
pub use types::*;

#[derive(Debug)]
struct Assoc {
    /// Who is there, once it has set up.
    node: Option<NodeId>,
    /// What is known of who it is.
    rights: Option<NodeRights>,
    /// What is spoken; once there is a node, the node's.
    version: Version,
    /// How it is written.
    codec: Codec,
    /// When it must have set up.
    setup_by: Time,
    /// PDUs that could not be taken before the setup.
    bad: u32,
    /// Complaints and repeated setups.
    answers: Budget,
    /// Lines in the log about what is only odd.
    remarks: Budget,
    /// What was asked of the node as a whole.
    procedures: Procedures,
    /// Other associations are not asked for before.
    connection_not_before: Time,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Deadline {
    /// Meant while it is the association's.
    Setup(AssocId, Time),
    Procedure(AssocId, ProcedureCode, Time),
    /// A request by its place, and which deadline of the place is meant.
    Request(u32, u32),
}

/// A near-RT RIC's side of all its nodes: the RAN database, the subscriptions, the procedures.
#[derive(Debug)]
pub struct Controller {
    config: ControllerConfig,
    assocs: HashMap<AssocId, Assoc>,
    nodes: BTreeMap<NodeId, Node>,
    by_key: HashMap<GlobalE2NodeId, NodeId>,
    /// Associations that joined a node that has set up on another.
    joined: associations::Joined,
    /// Octets that are kept of all nodes.
    octets_of_nodes: usize,
    next_node: u32,
    transaction: u8,
    requests: Requests,
    sharing: Sharing,
    /// Restored subscriptions that somebody may ask for again.
    restored: Sharing,
    holdings: Holdings,
    /// Subscriptions that wait for their nodes to come back.
    suspended: HashMap<GlobalE2NodeId, BTreeSet<u32>>,
    suspended_count: usize,
    strays: u64,
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
            holdings: Holdings::new(config.max_requests_per_consumer, config.max_octets_per_consumer),
            config,
            assocs: HashMap::new(),
            nodes: BTreeMap::new(),
            by_key: HashMap::new(),
            joined: HashMap::new(),
            octets_of_nodes: 0,
            next_node: 1,
            transaction: 0,
            sharing: Sharing::default(),
            restored: Sharing::default(),
            suspended: HashMap::new(),
            suspended_count: 0,
            strays: 0,
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

    /// The nodes that have set up, by id.
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

    /// The node and the function of a subscription, and the kinds of its actions.
    pub(crate) fn subscribed_to(
        &self,
        subscription: SubscriptionId,
    ) -> Option<(NodeId, RanFunctionId, impl Iterator<Item = RicActionType>)> {
        match self.requests.get(subscription.0) {
            Some(Request::Subscription(of)) => {
                Some((of.node, of.function, of.spec.actions.iter().map(|action| action.kind)))
            }
            _ => None,
        }
    }

    /// Requests that run: subscriptions towards nodes, in whatever state, and controls.
    #[must_use]
    pub fn requests(&self) -> usize {
        self.requests.in_use()
    }

    /// Requests that a consumer has a part in: what counts against its quota.
    #[must_use]
    pub fn requests_of(&self, consumer: Consumer) -> usize {
        self.holdings.count(consumer)
    }

    /// Indications until now that were dropped since their subscription had ended, or did not stand yet.
    #[must_use]
    pub fn stray_indications(&self) -> u64 {
        self.strays
    }

    /// A node's association is there; PDUs are in PER.
    pub fn handle_open(&mut self, now: Time, assoc: AssocId) {
        self.handle_open_in(now, assoc, Codec::Per);
    }

    /// A node's association is there, with an encoding that its link was told.
    pub fn handle_open_in(&mut self, now: Time, assoc: AssocId, codec: Codec) {
        self.outbox.open(assoc, codec);
        let state = Assoc {
            node: None,
            rights: None,
            version: self.config.version.unwrap_or(Version::V2_03),
            codec,
            setup_by: now + self.config.setup_timeout,
            bad: 0,
            answers: Budget::new(now),
            remarks: Budget::new(now),
            procedures: Procedures::default(),
            connection_not_before: now,
        };
        let setup_by = state.setup_by;
        self.assocs.insert(assoc, state);
        self.set_timer(setup_by, Deadline::Setup(assoc, setup_by));
    }

    /// A node's association is gone.
    pub fn handle_close(&mut self, now: Time, assoc: AssocId, reason: CloseReason) {
        self.outbox.close(assoc);
        let Some(Assoc { node: Some(node), procedures, connection_not_before, .. }) = self.assocs.remove(&assoc) else {
            return;
        };
        if !self.goes_on(now, node, assoc, Remains { procedures, connection_not_before }) {
            self.lose_node(now, node, LostReason::Closed(reason));
        }
    }

    /// A PDU came over a node's association.
    ///
    /// An indication of a subscription that stands is given back, borrowed; all else is done within.
    #[inline]
    pub fn handle_pdu<'a>(&mut self, now: Time, assoc: AssocId, pdu: &'a [u8]) -> Routed<'a> {
        if let Some(Assoc { node: Some(node), version, codec, .. }) = self.assocs.get(&assoc)
            && let Some(peeked) = codec.peek_indication(pdu)
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
                codec: *codec,
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

    /// Time has passed.
    pub fn handle_timeout(&mut self, now: Time) {
        while let Some(deadline) = self.timers.pop(now) {
            match deadline {
                Deadline::Setup(assoc, by) => {
                    if self.assocs.get(&assoc).is_some_and(|a| a.node.is_none() && a.setup_by == by) {
                        self.close(now, assoc, CloseReason::SetupTimeout);
                    }
                }
                Deadline::Procedure(assoc, code, by) => self.procedure_timeout(now, assoc, code, by),
                Deadline::Request(place, deadline) => self.request_timeout(now, place, deadline),
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

    /// A line in the log about what is only odd, unless there were too many of them lately.
    fn remark(&mut self, now: Time, assoc: AssocId, notice: Notice) {
        if self.assocs.get_mut(&assoc).is_some_and(|state| state.remarks.take(now)) {
            self.notice(assoc, notice);
        }
    }

    /// Queues a PDU for a node.
    fn send(&mut self, node: NodeId, pdu: &Pdu<'_>) {
        if let Some(node) = self.nodes.get(&node) {
            self.outbox.push(node.assoc, node.version, pdu);
        }
    }

    /// Octets that may be kept of something of a node, of which there is so much by now.
    fn room_of_nodes(&self, of_node: usize, kept: usize) -> usize {
        of_node.min(kept + self.config.max_octets_of_nodes.saturating_sub(self.octets_of_nodes))
    }

    /// Forgets a node and all that hangs on it.
    fn lose_node(&mut self, now: Time, id: NodeId, reason: LostReason) {
        let Some(node) = self.nodes.remove(&id) else { return };
        self.close_joined(now, id);
        self.by_key.remove(&node.global_id);
        self.octets_of_nodes -= node.octets();
        if reason != LostReason::Removed {
            self.suspend(now, id, node.global_id);
        }
        self.drop_requests(now, id, SubscriptionEnd::NodeLost);
        self.events.push_back(Event::NodeLost { node: id, global_id: node.global_id, reason });
    }

    /// Ends all requests of a node.
    fn drop_requests(&mut self, now: Time, node: NodeId, end: SubscriptionEnd) {
        for place in self.requests.of_node(node) {
            match self.free(now, place) {
                Some(Request::Subscription(subscription)) => self.subscription_gone(place, subscription, end),
                Some(Request::Control(control)) => self.control_gone(&control),
                Some(Request::Query(query)) => self.query_gone(&query),
                None => {}
            }
        }
    }

    /// Takes a request out, its consumers' share of their quotas with it.
    fn free(&mut self, now: Time, place: u32) -> Option<Request> {
        let request = self.requests.free(now, place)?;
        match &request {
            Request::Subscription(subscription) => {
                self.sharing.remove(subscription, place);
                self.restored.remove(subscription, place);
                if let State::Suspended { key, .. } = subscription.state {
                    self.not_suspended(&key, place);
                }
                for consumer in subscription.holders() {
                    self.holdings.leave(consumer, place, subscription.octets);
                }
            }
            Request::Control(control) => self.holdings.leave(control.consumer, place, 0),
            Request::Query(query) => self.holdings.leave(query.consumer, place, 0),
        }
        Some(request)
    }

    /// The node's function, or why a command about it makes no sense.
    fn check_function(&self, node: NodeId, function: RanFunctionId) -> Result<&Node, Misuse> {
        let node = self.nodes.get(&node).ok_or(Misuse::UnknownNode)?;
        node.function(function).map(|_| node).ok_or(Misuse::UnknownFunction)
    }

    /// Whether a PDU with so many octets of the caller's can be sent, and the consumer may keep that many.
    fn check_room(&self, consumer: Consumer, octets: usize, kept: usize) -> Result<(), Misuse> {
        self.check_pdu(octets)?;
        if self.holdings.has_room(consumer, kept) { Ok(()) } else { Err(Misuse::TooManyRequests) }
    }

    /// Whether a PDU with so many octets of the caller's can be sent.
    fn check_pdu(&self, octets: usize) -> Result<(), Misuse> {
        // what E2AP puts around them: below 1 KiB, and an octet or two a fragment of 16 KiB at three levels
        if octets + octets / 1024 + 1024 > self.config.max_pdu_octets { Err(Misuse::TooLarge) } else { Ok(()) }
    }

    /// Whether a consumer may keep so many octets more in a request that it has.
    fn check_kept(&self, consumer: Consumer, octets: usize) -> Result<(), Misuse> {
        if self.holdings.has_room_for(consumer, octets) { Ok(()) } else { Err(Misuse::TooManyRequests) }
    }

    fn set_timer(&mut self, at: Time, deadline: Deadline) {
        let Controller { timers, assocs, requests, .. } = self;
        // an association has one for its setup and one for each kind of procedure at most, a request one
        let live = 5 * assocs.len() + requests.in_use();
        timers.set(at, deadline, live, |deadline| match *deadline {
            Deadline::Setup(assoc, by) => assocs.get(&assoc).is_some_and(|a| a.node.is_none() && a.setup_by == by),
            Deadline::Procedure(assoc, code, by) => assocs.get(&assoc).is_some_and(|a| a.procedures.is_meant(code, by)),
            Deadline::Request(place, deadline) => requests.is_meant(place, deadline),
        });
    }

    /// Gives the request at `place` until `at`, whatever it was given before.
    fn set_deadline(&mut self, at: Time, place: u32) {
        let deadline = self.requests.renew_deadline(place);
        self.set_timer(at, Deadline::Request(place, deadline));
    }

    fn request_timeout(&mut self, now: Time, place: u32, deadline: u32) {
        if !self.requests.is_meant(place, deadline) {
            return; // answered long ago
        }
        match self.requests.get(place) {
            Some(Request::Subscription(_)) => self.subscription_timeout(now, place),
            Some(Request::Control(_)) => self.control_timeout(now, place),
            Some(Request::Query(_)) => self.query_timeout(now, place),
            None => {}
        }
    }
}
