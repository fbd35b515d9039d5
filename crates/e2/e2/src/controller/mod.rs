//! The near-RT RIC's side of E2AP, for all its nodes.
//!
//! Each procedure has a file of its own that names its clause and its scenarios. The files below them hold data and use no
//! procedure: [`ids`], [`spec`], [`outcomes`], [`node`], [`event`] and [`config`] are the public types; [`records`] holds
//! the state of each request, [`requests`] the table of request ids, [`quotas`] the use that each consumer makes of it,
//! [`mediation`] has the mediator of controls decide, [`sharing`] the index of subscriptions that consumers may share, [`unsent`]
//! what waits for nodes that read slowly, [`hosts`] what one host may have, [`placement`] which RIC of several serves a node,
//! [`procedures`] the transactions of node-level
//! procedures. [`dispatch`] decodes and dispatches received PDUs, [`answer`] answers erroneous ones, and [`restore`]
//! suspends and resumes subscriptions. This file holds the machine itself and its timers.

mod associations;
mod config;
mod configuration_update;
mod connection_update;
mod control;
mod delete_required;
mod dispatch;
mod error_indication;
mod event;
mod hosts;
mod ids;
mod indication;
mod kept_controls;
mod mediation;
mod modification;
mod modification_required;
mod node;
mod outcomes;
mod placement;
mod procedures;
mod protocol_error;
mod query;
mod quotas;
mod records;
mod removal;
mod requests;
mod reset;
mod restore;
mod service_query;
mod service_update;
mod setup;
mod sharing;
mod spec;
mod subscription;
mod subscription_delete;
mod unsent;

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use e2ap::{Codec, GlobalE2NodeId, GlobalRicId, Pdu, ProcedureCode, RanFunctionId, RicRequestId, Version};

use crate::budget::Budget;
use crate::controller_path::ControllerInstance;
use crate::timers::Timers;
use crate::topology::RanDatabase;
use crate::{AssocId, CloseReason, NodeRights, Notice, Origin, Time};
use associations::Handover;
use kept_controls::KeptControls;
use procedures::Procedures;
use quotas::Quotas;
use records::{Request, SubscriptionState};
use requests::RequestTable;
use sharing::SharingIndex;
use unsent::TrackedOutbox;

pub use config::ControllerConfig;
pub use event::{EndedControl, Event, Indication, LostReason, Routed};
pub use ids::{Consumer, NodeId, SubscriptionId, Ticket};
pub use indication::Route;
pub use mediation::{
    ConsumerIdentity, ControlQuestion, Mediation, Mediator, ReleasedControl, RequestedControl, SubscriptionFact,
    SubscriptionStep, SubscriptionSummary,
};
pub use node::{Components, Node, RanFunction};
pub use outcomes::{
    ConnectionOutcome, ControlOutcome, Misuse, ModifyOutcome, QueryOutcome, RefusalCode, RequestEvent, SubscribeError,
    SubscriptionEnd,
};
pub use placement::{NodePlacement, Placement};
pub use spec::{Action, SubscriptionOrder, SubscriptionSpec};

#[derive(Debug)]
struct Assoc {
    /// The node, once it has set up.
    node: Option<NodeId>,
    /// The rights of the peer, if it was authenticated.
    rights: Option<NodeRights>,
    /// The host of the peer.
    origin: Origin,
    /// Whether the caller was asked to check that the peer is still there.
    is_probed: bool,
    /// The associations from other hosts that may join the node, since the RIC requested them.
    expected_joins: usize,
    /// The E2AP version: the node's, once it has set up.
    version: Version,
    /// The encoding.
    codec: Codec,
    /// The deadline of its setup.
    setup_by: Time,
    /// The number of invalid PDUs received before the setup.
    bad: u32,
    /// The budget of error answers and repeated setups.
    answers: Budget,
    /// The budget of log lines about oddities that need no answer.
    remarks: Budget,
    /// Whether a dropped indication was reported.
    stray_reported: bool,
    /// Subscriptions that the peer reports for and the RIC does not have; each was deleted, or will be after the setup.
    orphans: Vec<(RicRequestId, RanFunctionId)>,
    /// Whether a message out of order was reported.
    disorder_reported: bool,
    /// The RIC's pending node-level procedures.
    procedures: Procedures,
    /// The earliest time of the next E2 Connection Update.
    connection_not_before: Time,
}

/// The UEs that are known at a time.
const DEFAULT_MAX_UES: usize = 65_536;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Deadline {
    /// Valid while it is the association's current deadline.
    Setup(AssocId, Time),
    Procedure(AssocId, ProcedureCode, Time),
    /// The slot of a request, and the sequence number of its deadline.
    Request(u32, u32),
}

impl Deadline {
    /// Whether the procedure that it limits is still in progress.
    fn is_current(self, assocs: &HashMap<AssocId, Assoc>, requests: &RequestTable) -> bool {
        match self {
            Deadline::Setup(assoc, by) => assocs.get(&assoc).is_some_and(|a| a.node.is_none() && a.setup_by == by),
            Deadline::Procedure(assoc, code, by) => {
                assocs.get(&assoc).is_some_and(|a| a.procedures.is_current_deadline(code, by))
            }
            Deadline::Request(place, deadline) => requests.is_current_deadline(place, deadline),
        }
    }
}

/// The near-RT RIC's side of E2AP: its nodes, their subscriptions, and the procedures with them.
///
/// The caller reports events by the `handle_` methods and commands, then drains the `poll_` methods.
#[derive(Debug)]
pub struct Controller {
    config: ControllerConfig,
    assocs: HashMap<AssocId, Assoc>,
    nodes: BTreeMap<NodeId, Node>,
    by_key: HashMap<GlobalE2NodeId, NodeId>,
    /// Associations that joined a node that has set up on another.
    joined: associations::Joined,
    /// Octets stored of all nodes together.
    octets_of_nodes: usize,
    hosts: hosts::NodesOfHosts,
    /// Its number, if it shares its nodes.
    instance: Option<ControllerInstance>,
    /// Which RIC serves a node, if several share them.
    placement: Option<Box<dyn NodePlacement>>,
    next_node: u32,
    transaction: u8,
    requests: RequestTable,
    sharing: SharingIndex,
    /// Restored subscriptions that a consumer may reclaim.
    restored: SharingIndex,
    quotas: Quotas,
    kept_controls: KeptControls,
    /// What decides on controls before they are sent.
    mediator: Option<Box<dyn Mediator>>,
    /// Who the consumers are.
    identities: HashMap<Consumer, ConsumerIdentity>,
    /// What the nodes make up.
    ran: RanDatabase,
    /// Subscriptions that wait for their nodes to set up again.
    suspended: HashMap<GlobalE2NodeId, BTreeSet<u32>>,
    suspended_count: usize,
    stray_indications: u64,
    stray_answers: u64,
    outbox: TrackedOutbox,
    events: VecDeque<Event>,
    closes: VecDeque<(AssocId, CloseReason)>,
    probes: VecDeque<AssocId>,
    timers: Timers<Deadline>,
}

impl Controller {
    /// Creates a controller without nodes.
    #[must_use]
    pub fn new(config: ControllerConfig) -> Self {
        Controller {
            requests: RequestTable::new(config.first_requestor, config.max_requests, config.request_reuse_delay),
            quotas: Quotas::new(config.max_requests_per_consumer, config.max_octets_per_consumer),
            outbox: TrackedOutbox::new(config.outbox_octets),
            kept_controls: KeptControls::new(config.kept_control_octets),
            hosts: hosts::NodesOfHosts::new(&config),
            instance: None,
            placement: None,
            config,
            assocs: HashMap::new(),
            nodes: BTreeMap::new(),
            by_key: HashMap::new(),
            joined: HashMap::new(),
            mediator: None,
            identities: HashMap::new(),
            ran: RanDatabase::new(DEFAULT_MAX_UES),
            octets_of_nodes: 0,
            next_node: 1,
            transaction: 0,
            sharing: SharingIndex::default(),
            restored: SharingIndex::default(),
            suspended: HashMap::new(),
            suspended_count: 0,
            stray_indications: 0,
            stray_answers: 0,
            events: VecDeque::new(),
            closes: VecDeque::new(),
            probes: VecDeque::new(),
            timers: Timers::default(),
        }
    }

    /// The global id of this RIC.
    #[must_use]
    pub fn ric_id(&self) -> GlobalRicId {
        self.config.ric_id
    }

    /// Returns the base stations, cells and UEs that the nodes make up, as far as the caller has entered them
    /// ([`Controller::enter_node`], [`Controller::ran_mut`]).
    #[must_use]
    pub fn ran(&self) -> &RanDatabase {
        &self.ran
    }

    /// Returns them for a change.
    pub fn ran_mut(&mut self) -> &mut RanDatabase {
        &mut self.ran
    }

    /// Limits the UEs that are known, before the first node. Default: 65536.
    pub fn set_max_ues(&mut self, max_ues: usize) {
        self.ran = RanDatabase::new(max_ues);
    }

    /// Enters a node that has set up or changed into the database of base stations.
    pub fn enter_node(&mut self, id: NodeId) {
        if let Some(node) = self.nodes.get(&id) {
            self.ran.update_node(id, node.global_id, &node.components);
        }
    }

    /// Returns the nodes that have set up, ordered by id.
    pub fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.nodes.values()
    }

    /// Returns a node that has set up.
    #[must_use]
    pub fn node(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(&id)
    }

    /// Returns the consumers that receive a subscription's indications.
    #[inline]
    #[must_use]
    pub fn consumers(&self, subscription: SubscriptionId) -> &[Consumer] {
        match self.requests.get(subscription.0) {
            Some(Request::Subscription(subscription)) => &subscription.consumers,
            _ => &[],
        }
    }

    /// Returns the node and the RAN function of a subscription, and its event trigger and actions.
    #[must_use]
    pub fn subscription(&self, id: SubscriptionId) -> Option<(NodeId, RanFunctionId, &SubscriptionSpec)> {
        match self.requests.get(id.0) {
            Some(Request::Subscription(of)) => Some((of.node, of.function, &of.spec)),
            _ => None,
        }
    }

    /// Returns all associations of a node, with their encodings.
    pub fn associations(&self, node: NodeId) -> impl Iterator<Item = (AssocId, Codec)> {
        self.assocs.iter().filter(move |(_, of)| of.node == Some(node)).map(|(assoc, of)| (*assoc, of.codec))
    }

    /// Returns when a subscription was requested first: it is another one under the same id if that differs.
    #[must_use]
    pub fn requested_at(&self, id: SubscriptionId) -> Option<Time> {
        match self.requests.get(id.0) {
            Some(Request::Subscription(of)) => Some(of.requested),
            _ => None,
        }
    }

    /// Returns the RIC request id of a subscription.
    #[must_use]
    pub fn request_id(&self, id: SubscriptionId) -> RicRequestId {
        self.requests.id(id.0)
    }

    /// Returns all subscriptions with their nodes and RAN functions, and whether their nodes have confirmed them.
    pub fn subscriptions(&self) -> impl Iterator<Item = (SubscriptionId, NodeId, RanFunctionId, bool)> {
        self.requests.all().filter_map(|(place, request)| match request {
            Request::Subscription(of) => Some((SubscriptionId(place), of.node, of.function, of.is_active())),
            _ => None,
        })
    }

    /// The number of requests in progress: subscriptions in any state, controls and queries.
    #[must_use]
    pub fn requests(&self) -> usize {
        self.requests.in_use()
    }

    /// The number of requests that count against a consumer's quota.
    #[must_use]
    pub fn requests_of(&self, consumer: Consumer) -> usize {
        self.quotas.count(consumer)
    }

    /// The number of indications so far that were not delivered: without an active subscription, before the setup, or
    /// malformed.
    #[must_use]
    pub fn stray_indications(&self) -> u64 {
        self.stray_indications
    }

    /// The number of answers dropped so far: late ones, repeated ones, those that no request awaited, and malformed ones.
    #[must_use]
    pub fn stray_answers(&self) -> u64 {
        self.stray_answers
    }

    /// Reports a new association of a node that uses PER.
    pub fn handle_open(&mut self, now: Time, assoc: AssocId) {
        self.handle_open_in(now, assoc, Codec::Per);
    }

    /// Reports a new association of a node, with the encoding that its link is configured for.
    pub fn handle_open_in(&mut self, now: Time, assoc: AssocId, codec: Codec) {
        self.outbox.open(assoc, codec);
        let state = Assoc {
            node: None,
            rights: None,
            origin: Origin::default(),
            is_probed: false,
            expected_joins: 0,
            version: self.config.version.unwrap_or(Version::V2_03),
            codec,
            setup_by: now + self.config.setup_timeout,
            bad: 0,
            answers: Budget::new(now),
            remarks: Budget::new(now),
            stray_reported: false,
            orphans: Vec::new(),
            disorder_reported: false,
            procedures: Procedures::default(),
            connection_not_before: now,
        };
        let setup_by = state.setup_by;
        self.assocs.insert(assoc, state);
        self.set_timer(setup_by, Deadline::Setup(assoc, setup_by));
    }

    /// Reports that a node's association has ended.
    pub fn handle_close(&mut self, now: Time, assoc: AssocId, reason: CloseReason) {
        if let Some(Assoc { node: Some(node), procedures, connection_not_before, .. }) = self.assocs.remove(&assoc)
            && !self.continues(now, node, assoc, Handover { procedures, connection_not_before })
        {
            self.lose_node(now, node, LostReason::Closed(reason));
        }
        self.outbox.close(assoc);
    }

    /// Handles a PDU received over a node's association.
    ///
    /// Returns an indication of an active subscription at once, borrowed from `pdu`; handles every other PDU itself.
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
        self.dispatch(now, assoc, pdu)
    }

    /// Returns the active subscription of `node` that an indication belongs to.
    #[inline]
    fn route(&self, node: NodeId, id: RicRequestId, function: RanFunctionId) -> Option<SubscriptionId> {
        let place = self.requests.place(id)?;
        match self.requests.get(place)? {
            Request::Subscription(s) if s.takes(node, function) => Some(SubscriptionId(place)),
            _ => None,
        }
    }

    /// Processes the timers that have expired.
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
        self.mediate_due(now);
    }

    /// Returns the time at which [`Controller::handle_timeout`] must be called.
    #[must_use]
    pub fn poll_timeout(&mut self) -> Option<Time> {
        let of_mediator = self.mediator_timeout();
        let Controller { timers, assocs, requests, .. } = self;
        let of_procedures = timers.next_current(|deadline| deadline.is_current(assocs, requests));
        [of_procedures, of_mediator].into_iter().flatten().min()
    }

    /// Appends the next PDU to send to `out` and returns its association.
    pub fn poll_transmit(&mut self, out: &mut Vec<u8>) -> Option<AssocId> {
        self.outbox.pop(out)
    }

    /// Returns whether [`Controller::poll_transmit`] has something.
    #[must_use]
    pub fn has_output(&self) -> bool {
        self.outbox.has_output()
    }

    /// Returns the next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        let event = self.events.pop_front()?;
        self.note_event(&event);
        Some(event)
    }

    /// Returns the next association to close, after its queued PDUs are sent. The controller has already dropped it.
    pub fn poll_close(&mut self) -> Option<(AssocId, CloseReason)> {
        self.closes.pop_front()
    }

    /// Returns the next association whose peer may be gone: another one wants its place. The caller should find out by
    /// means of the transport, since not every peer survives a message that it does not expect, and report its end.
    pub fn poll_probe(&mut self) -> Option<AssocId> {
        self.probes.pop_front()
    }

    fn close(&mut self, now: Time, assoc: AssocId, reason: CloseReason) {
        self.handle_close(now, assoc, reason);
        self.closes.push_back((assoc, reason));
    }

    fn notice(&mut self, assoc: AssocId, notice: Notice) {
        self.events.push_back(Event::Notice { assoc, notice });
    }

    /// Reports an oddity for the log, unless the association's budget is exhausted.
    fn remark(&mut self, now: Time, assoc: AssocId, notice: Notice) {
        if self.assocs.get_mut(&assoc).is_some_and(|state| state.remarks.take(now)) {
            self.notice(assoc, notice);
        }
    }

    /// Queues a PDU of the RIC for a node.
    fn send(&mut self, node: NodeId, pdu: &Pdu<'_>) {
        if let Some(node) = self.nodes.get(&node) {
            self.outbox.push(node.assoc, node.version, pdu);
        }
    }

    /// Queues a PDU for a node that a consumer asked for.
    fn send_of(&mut self, consumer: Consumer, node: NodeId, pdu: &Pdu<'_>) {
        if let Some(node) = self.nodes.get(&node) {
            self.outbox.push_of(Some(consumer), node.assoc, node.version, pdu);
        }
    }

    /// Returns the octets that a node may use for a list that is bounded by `of_node` and has `kept` octets now.
    fn room_of_nodes(&self, of_node: usize, kept: usize) -> usize {
        of_node.min(kept + self.config.max_octets_of_nodes.saturating_sub(self.octets_of_nodes))
    }

    /// Drops a node, its associations and its requests.
    fn lose_node(&mut self, now: Time, id: NodeId, reason: LostReason) {
        let Some(node) = self.nodes.remove(&id) else { return };
        self.close_joined(now, id);
        self.by_key.remove(&node.global_id);
        self.drop_postponed(node.assoc);
        self.octets_of_nodes -= node.octets();
        self.hosts.remove(id);
        if reason != LostReason::Removed {
            self.suspend(now, id, node.global_id);
        }
        self.drop_requests(now, id, SubscriptionEnd::NodeLost);
        if let Some(mediator) = &mut self.mediator {
            mediator.node_lost(now, id);
        }
        self.events.push_back(Event::NodeLost { node: id, global_id: node.global_id, reason });
    }

    /// Ends every request of a node.
    fn drop_requests(&mut self, now: Time, node: NodeId, end: SubscriptionEnd) {
        for place in self.requests.of_node(node) {
            match self.free(now, place) {
                Some(Request::Subscription(subscription)) => self.subscription_gone(place, subscription, end),
                Some(Request::Control(control)) => self.control_ended(now, control, ControlOutcome::NodeLost),
                Some(Request::Query(query)) => self.query_gone(&query),
                None => {}
            }
        }
    }

    /// Removes a request from the table, the indexes and its consumers' quotas.
    fn free(&mut self, now: Time, place: u32) -> Option<Request> {
        let request = self.requests.free(now, place)?;
        match &request {
            Request::Subscription(subscription) => {
                self.sharing.remove(subscription, place);
                self.restored.remove(subscription, place);
                if let SubscriptionState::Suspended { key, .. } = subscription.state {
                    self.not_suspended(&key, place);
                }
                for consumer in subscription.holders() {
                    self.quotas.release(consumer, place, subscription.octets);
                }
            }
            Request::Control(control) => {
                self.kept_controls.release(control.consumer, control.kept_octets());
                self.quotas.release(control.consumer, place, 0);
            }
            Request::Query(query) => self.quotas.release(query.consumer, place, 0),
        }
        Some(request)
    }

    /// Returns the node, if it offers the RAN function.
    fn check_function(&self, node: NodeId, function: RanFunctionId) -> Result<&Node, Misuse> {
        let node = self.nodes.get(&node).ok_or(Misuse::UnknownNode)?;
        node.function(function).map(|_| node).ok_or(Misuse::UnknownFunction)
    }

    /// Checks that a PDU with `octets` of payload can be sent and that the consumer's quota admits one more request.
    fn check_room(&self, consumer: Consumer, octets: usize, kept: usize) -> Result<(), Misuse> {
        self.check_pdu(octets)?;
        if self.quotas.has_room(consumer, kept) { Ok(()) } else { Err(Misuse::TooManyRequests) }
    }

    /// Checks that a PDU with `octets` of payload can be sent.
    fn check_pdu(&self, octets: usize) -> Result<(), Misuse> {
        // E2AP adds less than 1 KiB, and an octet or two per fragment of 16 KiB at three levels
        if octets + octets / 1024 + 1024 > self.config.max_pdu_octets { Err(Misuse::TooLarge) } else { Ok(()) }
    }

    /// Checks that the consumer's quota admits `octets` more in one of its requests.
    fn check_kept(&self, consumer: Consumer, octets: usize) -> Result<(), Misuse> {
        if self.quotas.has_room_for(consumer, octets) { Ok(()) } else { Err(Misuse::TooManyRequests) }
    }

    fn set_timer(&mut self, at: Time, deadline: Deadline) {
        let Controller { timers, assocs, requests, .. } = self;
        // at most one per association for its setup, one per kind of procedure, and one per request
        let live = 5 * assocs.len() + requests.in_use();
        timers.set(at, deadline, live, |deadline| deadline.is_current(assocs, requests));
    }

    /// Sets the deadline of the request in `place`, in place of an earlier one.
    fn set_deadline(&mut self, at: Time, place: u32) {
        let deadline = self.requests.renew_deadline(place);
        self.set_timer(at, Deadline::Request(place, deadline));
    }

    fn request_timeout(&mut self, now: Time, place: u32, deadline: u32) {
        if !self.requests.is_current_deadline(place, deadline) {
            return; // answered in time
        }
        match self.requests.get(place) {
            Some(Request::Subscription(_)) => self.subscription_timeout(now, place),
            Some(Request::Control(_)) => self.control_timeout(now, place),
            Some(Request::Query(_)) => self.query_timeout(now, place),
            None => {}
        }
    }
}
