//! The state of a session on its thread: nodes, UEs, streams and requests without an answer.

mod indications;
mod streams;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use e2::topology::UeSource;
use e2::xapp::NodeInfo;
use e2::{
    Action, ControlOutcome, NodeId, RefusalCode, RequestEvent, SubscribeError, SubscriptionId, SubscriptionOrder,
    SubscriptionSpec, Ticket,
};
use e2ap::{RanFunctionId, RicActionId, RicActionType};
use e2sm::ccc::CellQueried;
use e2sm::{Arena, Wire, slice};

use super::a1::TypesReplies;
use super::arbiter;
use super::control::PendingControl;
use super::directory::Directory;
use super::error::{Error, Noun};
use super::event::Event;
use super::names::CellId;
use super::node::NodeEntry;
use super::query;
use super::raw::{Commands, XappEvent};
use super::session::Reply;
use streams::{AtNode, Stream, request};
pub(super) use streams::{Planned, Purpose, Reader, StreamId};

/// The names of known cells in an error.
const NEAREST: usize = 3;
/// The period of reports of slices.
const SLICES_PERIOD_MS: u32 = 100;
/// How long the RIC waits for a node's answer.
pub(super) const NODE_ANSWER: Duration = Duration::from_secs(5);

/// A job that is tried after each event; with `true` for the last time.
type Waiting = Box<dyn FnMut(&mut Core, &mut Commands<'_>, bool) -> bool + Send>;

/// The state of a session.
pub(super) struct Core {
    nodes: BTreeMap<NodeId, NodeEntry>,
    pub directory: Directory,
    streams: BTreeMap<StreamId, Stream>,
    next_stream: u64,
    subscriptions: HashMap<SubscriptionId, Subscribed>,
    requested: HashMap<Ticket, Requested>,
    pub controls: HashMap<Ticket, PendingControl>,
    /// Queries without an answer, each with the name of its node.
    pub queries: HashMap<Ticket, (String, Reply<Vec<CellQueried>>)>,
    /// Decisions on conflicts without an answer, by the number of the question, each with the name of the node.
    pub decisions: HashMap<u64, (String, Reply<()>)>,
    pub ei_types: TypesReplies,
    /// The slices of nodes, as each has reported them last.
    pub slices: BTreeMap<NodeId, slice::IndicationMessage<'static>>,
    waiting: Vec<(Instant, Waiting)>,
    /// Whether something has changed that a waiting job may need.
    has_changed: bool,
    follows_ues: bool,
    follows_slices: bool,
    dropped: u64,
    is_lost: bool,
    arena: Arena,
}

/// A subscription without an answer.
enum Requested {
    Stream {
        stream: StreamId,
        node: NodeId,
        reader: Reader,
        others: Vec<Planned>,
    },
    /// Reports of UEs, and the subscriptions to try instead if it is refused.
    Ues {
        node: NodeId,
        source: Box<UeSource>,
        others: Vec<UeSource>,
    },
    Slices {
        node: NodeId,
        wire: Wire,
    },
}

/// A subscription.
enum Subscribed {
    Stream { stream: StreamId, node: NodeId, reader: Reader },
    Ues { node: NodeId, source: Box<UeSource> },
    Slices { node: NodeId, wire: Wire },
}

impl Core {
    pub fn new() -> Self {
        Core {
            nodes: BTreeMap::new(),
            directory: Directory::new(),
            streams: BTreeMap::new(),
            next_stream: 0,
            subscriptions: HashMap::new(),
            requested: HashMap::new(),
            controls: HashMap::new(),
            queries: HashMap::new(),
            decisions: HashMap::new(),
            ei_types: TypesReplies::new(),
            slices: BTreeMap::new(),
            waiting: Vec::new(),
            has_changed: false,
            follows_ues: false,
            follows_slices: false,
            dropped: 0,
            is_lost: false,
            arena: Arena::new(),
        }
    }

    pub fn nodes(&self) -> impl ExactSizeIterator<Item = &NodeEntry> {
        self.nodes.values()
    }

    pub fn node(&self, id: NodeId) -> Option<&NodeEntry> {
        self.nodes.get(&id)
    }

    /// The node of that name.
    pub fn node_named(&self, name: &str) -> Result<&NodeEntry, Error> {
        self.nodes.values().find(|node| *node.name == *name).ok_or_else(|| Error::Unknown {
            kind: Noun::Node,
            name: name.to_owned(),
            nearest: e2sm::kpm::nearest_names(name, self.nodes.values().map(|node| &*node.name)),
        })
    }

    /// The reports that the RIC has dropped because this session reads too slowly.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// The cells of nodes: those in definitions of CCC, and those that UEs are in.
    pub fn cells(&self) -> BTreeMap<CellId, Arc<str>> {
        let mut cells = BTreeMap::new();
        for (node, cell) in self.directory.cells() {
            if let Some(node) = self.nodes.get(&node) {
                cells.insert(cell, Arc::clone(&node.name));
            }
        }
        for node in self.nodes.values() {
            cells.extend(node.cells().map(|cell| (cell, Arc::clone(&node.name))));
        }
        cells
    }

    /// Fails for a cell that no node has, if nodes state theirs.
    pub fn check_cell(&self, cell: CellId) -> Result<(), Error> {
        let cells = self.cells();
        if cells.is_empty() || cells.contains_key(&cell) {
            return Ok(());
        }
        let mut nearest: Vec<_> = cells.keys().copied().collect();
        nearest.sort_by_key(|known| known.identity().abs_diff(cell.identity()));
        nearest.truncate(NEAREST);
        let nearest = nearest.iter().map(CellId::to_string).collect();
        Err(Error::Unknown { kind: Noun::Cell, name: cell.to_string(), nearest })
    }

    /// Tries a job now and after each event, until it is done or the time is over.
    pub fn wait(&mut self, commands: &mut Commands<'_>, until: Instant, mut job: Waiting) {
        if !job(self, commands, Instant::now() >= until) {
            self.waiting.push((until, job));
        }
    }

    /// Tries the waiting jobs again.
    pub fn advance(&mut self, commands: &mut Commands<'_>) {
        let now = Instant::now();
        if self.has_changed {
            self.has_changed = false;
            self.subscribe_streams(commands);
        } else if !self.waiting.iter().any(|(until, _)| *until <= now) {
            return;
        }
        for (until, mut job) in std::mem::take(&mut self.waiting) {
            if !job(self, commands, until <= now) && until > now {
                self.waiting.push((until, job));
            }
        }
    }

    /// The earliest time at which a job has waited long enough.
    pub fn next_deadline(&self) -> Option<Instant> {
        let changed = self.has_changed.then(Instant::now);
        self.waiting.iter().map(|(until, _)| *until).chain(changed).min()
    }

    /// Ends all streams and requests.
    pub fn end(&mut self, error: Option<Error>) {
        self.end_streams(error);
        // dropped replies tell the handles
        self.requested.clear();
        self.controls.clear();
        self.queries.clear();
        self.decisions.clear();
        self.ei_types.clear();
        self.waiting.clear();
    }

    pub fn handle(&mut self, event: XappEvent<'_>, commands: &mut Commands<'_>) {
        match event {
            XappEvent::Indication(indication) => self.handle_indication(&indication, commands),
            XappEvent::NodeUp(node) | XappEvent::NodeChanged(node) => self.handle_node(node, commands),
            XappEvent::NodeLost(node) => {
                self.nodes.remove(&node.id);
                self.directory.remove_node(node.id);
                self.slices.remove(&node.id);
                self.tell(&Event::NodeLost(node.global_id.to_string().into()));
                for stream in self.streams.values_mut() {
                    stream.nodes.remove(&node.id);
                }
                self.has_changed = true;
            }
            XappEvent::Request(event) => self.handle_request(event, commands),
            XappEvent::ReportsDropped(reports) => {
                self.dropped = reports;
                self.tell(&Event::ReportsDropped(reports));
                tracing::warn!(reports, "the RIC dropped reports: this xApp reads too slowly");
            }
            XappEvent::Disconnected { .. } => {
                // dropped replies tell the handles
                self.ei_types.clear();
                if !std::mem::replace(&mut self.is_lost, true) {
                    self.tell(&Event::RicLost);
                    // the questions are lost with it
                    let lost = self.decisions.drain().map(|(_, of)| of);
                    lost.for_each(|of| arbiter::answer(of, Some(RefusalCode::UnknownQuestion)));
                }
            }
            XappEvent::Reconnected(_) => {
                self.is_lost = false;
                self.request_services(commands);
                self.tell(&Event::RicBack);
                if self.is_arbiter() && !commands.set_arbiter(true) {
                    self.arbiter_set(Some(RefusalCode::Version));
                }
            }
            XappEvent::NodeMoved { node, from, to } => self.handle_move(node, from, to),
            XappEvent::ServicesMoved => self.request_services(commands),
            XappEvent::Service { kind, document } => self.handle_service(kind, document),
            XappEvent::NoService => self.handle_no_service(),
            XappEvent::Verified { .. } => {}
        }
    }

    fn handle_node(&mut self, info: &NodeInfo, commands: &mut Commands<'_>) {
        let mut node = NodeEntry::new(info);
        self.directory.add_node(node.id, node.global_id);
        let id = node.id;
        let is_new = !self.nodes.contains_key(&id);
        if is_new {
            self.tell(&Event::NodeUp(Arc::clone(&node.name)));
        } else if self.follows_ues {
            // they are subscribed to
            node.ue_sources.clear();
        }
        self.nodes.insert(id, node);
        for stream in self.streams.values_mut() {
            // what it has refused it may offer now
            stream.nodes.retain(|node, state| *node != id || *state != AtNode::Refused);
        }
        if self.follows_ues {
            self.follow_ues_of(id, commands);
        }
        if self.follows_slices && is_new {
            self.follow_slices_of(id, commands);
        }
        // at once: a subscription that was resumed by the RIC is recognised by its request
        self.subscribe_streams(commands);
        self.has_changed = true;
    }

    /// The slices of a node, as it has reported them last.
    pub fn slices_of(&self, node: &str) -> Option<&slice::IndicationMessage<'static>> {
        self.slices.get(&self.node_named(node).ok()?.id)
    }

    /// Subscribes to the slices of nodes, from now on at each node that has them.
    pub fn follow_slices(&mut self, commands: &mut Commands<'_>) {
        if !std::mem::replace(&mut self.follows_slices, true) {
            for node in self.nodes.keys().copied().collect::<Vec<_>>() {
                self.follow_slices_of(node, commands);
            }
        }
    }

    fn follow_slices_of(&mut self, id: NodeId, commands: &mut Commands<'_>) {
        let Some((function, wire)) = self.nodes.get(&id).and_then(|node| node.model(slice::MODEL)) else { return };
        let mut event_trigger = Vec::new();
        let trigger = slice::EventTriggerDefinition { period_ms: SLICES_PERIOD_MS };
        if trigger.encode(wire, &mut event_trigger).is_err() {
            return; // an encoding that is not built in
        }
        let (action, kind) = (RicActionId(0), RicActionType::Report);
        let actions = vec![Action { id: action, kind, definition: None, subsequent: None }];
        let ticket = subscribe(commands, id, function, SubscriptionSpec { event_trigger, actions });
        self.requested.insert(ticket, Requested::Slices { node: id, wire });
    }

    /// Subscribes to the events of UEs, from now on at each node.
    pub fn follow_ues(&mut self, commands: &mut Commands<'_>) {
        if !std::mem::replace(&mut self.follows_ues, true) {
            for node in self.nodes.keys().copied().collect::<Vec<_>>() {
                self.follow_ues_of(node, commands);
            }
        }
    }

    fn follow_ues_of(&mut self, id: NodeId, commands: &mut Commands<'_>) {
        let Some(node) = self.nodes.get_mut(&id) else { return };
        for mut sources in std::mem::take(&mut node.ue_sources) {
            // its alternatives are tried if the node refuses
            sources.reverse();
            request_ues(commands, &mut self.requested, id, sources);
        }
    }

    fn handle_request(&mut self, event: RequestEvent, commands: &mut Commands<'_>) {
        self.has_changed = true;
        match event {
            RequestEvent::Subscribed { ticket, subscription, .. } => match self.requested.remove(&ticket) {
                Some(Requested::Stream { stream: id, node, reader, .. }) => {
                    let Some(stream) = self.streams.get_mut(&id) else { return commands.unsubscribe(subscription) };
                    stream.nodes.insert(node, AtNode::Active(subscription));
                    // it is not refused by all
                    let _ = stream.settle(id);
                    self.subscriptions.insert(subscription, Subscribed::Stream { stream: id, node, reader });
                }
                Some(Requested::Slices { node, wire }) => {
                    self.subscriptions.insert(subscription, Subscribed::Slices { node, wire });
                }
                Some(Requested::Ues { node, source, .. }) => {
                    self.subscriptions.insert(subscription, Subscribed::Ues { node, source });
                }
                None => {}
            },
            // of a UE that is not known again yet: the session has requested it by itself
            RequestEvent::SubscriptionResumed { subscription, node: at, .. } => {
                if let Some(Subscribed::Stream { stream, node, .. }) = self.subscriptions.get_mut(&subscription) {
                    *node = at;
                    if let Some(stream) = self.streams.get_mut(stream) {
                        stream.nodes.insert(at, AtNode::Active(subscription));
                    }
                }
            }
            RequestEvent::SubscriptionFailed { ticket, error } => self.handle_refusal(ticket, error, commands),
            RequestEvent::SubscriptionEnded { subscription, end } => {
                if let Some(Subscribed::Stream { stream, node, .. }) = self.subscriptions.remove(&subscription)
                    && let Some(stream) = self.streams.get_mut(&stream)
                    && stream.nodes.get(&node) == Some(&AtNode::Active(subscription))
                {
                    if let Some(node) = self.nodes.get(&node) {
                        tracing::warn!(node = %node.name, %end, "the node has ended a subscription");
                    }
                    // it is requested again when the node changes
                    stream.nodes.insert(node, AtNode::Refused);
                }
            }
            RequestEvent::Queried { ticket, outcome } => {
                if let Some((node, reply)) = self.queries.remove(&ticket) {
                    reply.send(query::read(node, outcome));
                }
            }
            RequestEvent::Controlled { ticket, outcome } => self.handle_controlled(ticket, outcome),
            RequestEvent::ControlAsked(asked) => self.control_asked(&asked),
            RequestEvent::ArbiterSet { refusal } => self.arbiter_set(refusal),
            RequestEvent::Decided { question, refusal } => {
                if let Some(of) = self.decisions.remove(&question) {
                    arbiter::answer(of, refusal);
                }
            }
            _ => {}
        }
    }

    fn handle_refusal(&mut self, ticket: Ticket, error: SubscribeError, commands: &mut Commands<'_>) {
        let (id, at, others) = match self.requested.remove(&ticket) {
            Some(Requested::Stream { stream, node, others, .. }) => (stream, node, others),
            Some(Requested::Ues { node, source, others }) => {
                tracing::debug!(source = source.model().name(), %error, "no reports of UEs");
                return request_ues(commands, &mut self.requested, node, others);
            }
            Some(Requested::Slices { node, .. }) => {
                return tracing::warn!(node = node.0, %error, "no reports of slices");
            }
            None => return,
        };
        let Core { nodes, streams, requested, .. } = self;
        let Some(stream) = streams.get_mut(&id) else { return };
        // a node that was lost is subscribed to when it is back
        let Some(node) = nodes.get(&at) else {
            stream.nodes.remove(&at);
            return;
        };
        if matches!(error, SubscribeError::Refused { .. }) && request(commands, requested, id, at, others) {
            return tracing::debug!(node = %node.name, %error, "subscription refused: trying another one");
        }
        let name = node.name.to_string();
        match error {
            SubscribeError::NodeLost => {
                stream.nodes.remove(&at);
            }
            SubscribeError::Refused { cause, .. } => {
                stream.refuse(node, Error::Refused { node: name, cause, parameter: None, text: None });
            }
            SubscribeError::Misuse(code) => stream.refuse(node, Error::RefusedByRic { node: name, code }),
            _ => stream.refuse(node, Error::Timeout { what: format!("{name} has not answered"), after: NODE_ANSWER }),
        }
        if stream.settle(id) {
            streams.remove(&id);
        }
    }

    fn handle_controlled(&mut self, ticket: Ticket, outcome: ControlOutcome) {
        if let Some(control) = self.controls.remove(&ticket) {
            control.finish(outcome);
        }
    }
}

/// Requests the last of the subscriptions; the others are alternatives.
fn request_ues(
    commands: &mut Commands<'_>,
    requested: &mut HashMap<Ticket, Requested>,
    node: NodeId,
    mut sources: Vec<UeSource>,
) {
    if let Some(source) = sources.pop() {
        let order = SubscriptionOrder { restore: false, ..source.order() };
        let ticket = commands.subscribe(node, source.function, order);
        requested.insert(ticket, Requested::Ues { node, source: Box::new(source), others: sources });
    }
}

/// Subscribes for as long as the node is there: a node that comes back is subscribed to as it is then.
fn subscribe(commands: &mut Commands<'_>, node: NodeId, function: RanFunctionId, spec: SubscriptionSpec) -> Ticket {
    commands.subscribe(node, function, SubscriptionOrder { restore: false, ..SubscriptionOrder::from(spec) })
}
