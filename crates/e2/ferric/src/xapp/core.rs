//! The state of a session on its thread: nodes, UEs, streams and requests without an answer.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use e2::topology::{UeReference, UeSource};
use e2::xapp::NodeInfo;
use e2::{
    Action, ControlOutcome, ControlQuestion, NodeId, RefusalCode, RequestEvent, SubscribeError, SubscriptionId,
    SubscriptionOrder, SubscriptionSpec, Ticket,
};
use e2ap::{RanFunctionId, RicActionId, RicActionType};
use e2sm::ccc::CellQueried;
use e2sm::common::RrcMessageId;
use e2sm::{Arena, Wire, rc, slice};
use per::Gather;

use super::a1::{A1Policy, EiEvent, TypesReplies};
use super::arbiter::{self, ConflictQuestion};
use super::configuration::{self, CellConfiguration};
use super::control::PendingControl;
use super::cpu::{self, CpuReader, CpuReport};
use super::decision::{self, HandoverRequest, Process, plan_handover_rules, plan_handovers, plan_policy};
use super::directory::Directory;
use super::error::{Error, Noun};
use super::event::Event;
use super::feed::Buffer;
use super::kpm::{About, Report, Sink, Source, Wanted, plans};
use super::names::CellId;
use super::node::NodeEntry;
use super::query;
use super::raw::{Commands, Indication, XappEvent};
use super::ric::Handle;
use super::rrc::{self, RrcMessage};
use super::session::{Reply, Session};

/// Identifies a stream of the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct StreamId(u64);

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

/// What the subscriptions of a stream are for.
pub(super) enum Purpose {
    Records {
        wanted: Wanted,
        sink: Box<Sink>,
    },
    /// Requests of nodes for decisions on handovers, with what answers need.
    Handovers {
        buffer: Arc<Buffer<HandoverRequest>>,
        session: Weak<Session>,
        deadline: Duration,
    },
    Policy(Box<rc::Plan>),
    /// A policy of rules on handovers.
    HandoverRules(Vec<rc::HandoverRule>),
    /// Reports of configuration structures of cells, by name.
    Configuration {
        names: Vec<String>,
        buffer: Arc<Buffer<CellConfiguration>>,
    },
    /// Copies of RRC messages.
    RrcMessages {
        kinds: Vec<RrcMessageId>,
        buffer: Arc<Buffer<RrcMessage>>,
    },
    /// Reports of the CPUs of hosts.
    Cpus {
        period_ms: u32,
        buffer: Arc<Buffer<CpuReport>>,
    },
    /// Questions to an arbiter, with what answers need: without subscriptions.
    Conflicts {
        buffer: Arc<Buffer<ConflictQuestion>>,
        session: Weak<Session>,
        deadline: Duration,
    },
    /// A1 policies of a type: without subscriptions, as all services.
    A1Policies {
        policy_type: i32,
        buffer: Arc<Buffer<A1Policy>>,
        session: Weak<Session>,
        deadline: Duration,
    },
    /// A job of enrichment information.
    EiJob {
        job_id: String,
        request: String,
        buffer: Arc<Buffer<EiEvent>>,
    },
    /// Events of the session: without subscriptions.
    Events(Arc<Buffer<Event>>),
}

/// How the indications of a subscription are read.
pub(super) enum Reader {
    Records(Box<Source>),
    Handovers(Option<rc::Detection>),
    Configuration,
    RrcMessages(rc::Detection),
    Cpus(Box<CpuReader>),
    Nothing,
}

/// A subscription to be requested.
pub(super) struct Planned {
    pub function: RanFunctionId,
    pub spec: SubscriptionSpec,
    /// Whether it begins with the present state: a consumer that shared it later would not see that.
    pub begins_with_state: bool,
    pub reader: Reader,
}

/// A stream: subscriptions at every node that fits it.
struct Stream {
    purpose: Purpose,
    /// The only node, by name.
    node: Option<String>,
    /// The subscription of each node, once it is requested.
    nodes: HashMap<NodeId, AtNode>,
    /// The reply to the request, until nodes have answered.
    reply: Option<Reply<StreamId>>,
    first_refusal: Option<Error>,
}

/// The state of a stream at a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AtNode {
    Requested,
    Active(SubscriptionId),
    Refused,
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

    /// Wakes the readers of streams that have grown.
    pub fn notify_streams(&mut self) {
        for stream in self.streams.values_mut() {
            if let Purpose::Records { sink, .. } = &mut stream.purpose
                && std::mem::replace(&mut sink.is_touched, false)
            {
                sink.queue.notify();
            }
        }
    }

    /// Ends all streams and requests.
    pub fn end(&mut self, error: Option<Error>) {
        for stream in std::mem::take(&mut self.streams).into_values() {
            match stream.purpose {
                Purpose::Records { sink, .. } => sink.queue.end(error.clone()),
                Purpose::Handovers { buffer, .. } => buffer.end(error.clone()),
                Purpose::Events(buffer) => buffer.end(error.clone()),
                Purpose::Configuration { buffer, .. } => buffer.end(error.clone()),
                Purpose::RrcMessages { buffer, .. } => buffer.end(error.clone()),
                Purpose::Cpus { buffer, .. } => buffer.end(error.clone()),
                Purpose::Conflicts { buffer, .. } => buffer.end(error.clone()),
                Purpose::A1Policies { buffer, .. } => buffer.end(error.clone()),
                Purpose::EiJob { buffer, .. } => buffer.end(error.clone()),
                Purpose::Policy(_) | Purpose::HandoverRules(_) => {}
            }
        }
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

    /// Marks the gap in the records of a node that was connected to another RIC.
    fn handle_move(&mut self, id: NodeId, from: &str, to: &str) {
        let Some(node) = self.nodes.get(&id) else { return };
        for stream in self.streams.values_mut() {
            if let Purpose::Records { sink, .. } = &mut stream.purpose
                && stream.node.as_ref().is_none_or(|wanted| **wanted == *node.name)
            {
                sink.moved.retain(|moved| self.nodes.contains_key(moved));
                sink.moved.insert(id);
            }
        }
        self.tell(&Event::NodeMoved { node: Arc::clone(&node.name), from: from.into(), to: to.into() });
    }

    /// What the streams are for.
    pub fn purposes(&self) -> impl Iterator<Item = &Purpose> {
        self.streams.values().map(|stream| &stream.purpose)
    }

    /// Ends the streams of services that the RIC does not have.
    pub fn end_services(&mut self) {
        self.streams.retain(|_, stream| !stream.purpose.end_service());
    }

    /// Passes an event to the feeds of events.
    fn tell(&self, event: &Event) {
        for stream in self.streams.values() {
            if let Purpose::Events(buffer) = &stream.purpose {
                buffer.push(event.clone());
            }
        }
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

    /// Adds a stream; its reply comes when all nodes have answered: with the first refusal if all refuse.
    pub fn add_stream(
        &mut self,
        commands: &mut Commands<'_>,
        purpose: Purpose,
        node: Option<String>,
        reply: Reply<StreamId>,
    ) {
        if let Purpose::Records { wanted, .. } = &purpose
            && matches!(wanted.about, About::EachUe | About::Ue(_))
        {
            self.follow_ues(commands);
        }
        if let Purpose::Events(buffer) = &purpose {
            self.nodes.values().for_each(|node| buffer.push(Event::NodeUp(Arc::clone(&node.name))));
        }
        let id = StreamId(self.next_stream);
        self.next_stream += 1;
        let is_offer = matches!(purpose, Purpose::Conflicts { .. });
        let stream = Stream { purpose, node, nodes: HashMap::new(), reply: Some(reply), first_refusal: None };
        self.streams.insert(id, stream);
        match is_offer {
            false => self.subscribe_stream(id, commands),
            true if commands.set_arbiter(true) => {}
            true => self.arbiter_set(Some(RefusalCode::Version)),
        }
    }

    /// Whether this xApp offers itself as an arbiter.
    fn is_arbiter(&self) -> bool {
        self.streams.values().any(|stream| matches!(stream.purpose, Purpose::Conflicts { .. }))
    }

    /// Handles the answer to the offer: streams of questions begin, or end.
    fn arbiter_set(&mut self, refusal: Option<RefusalCode>) {
        let refused = |code| Error::RefusedByRic { node: "an arbiter".to_owned(), code };
        for (id, stream) in &mut self.streams {
            let Purpose::Conflicts { buffer, .. } = &stream.purpose else { continue };
            match (stream.reply.take(), refusal) {
                (Some(reply), None) => reply.send(Ok(*id)),
                (Some(reply), Some(code)) => reply.send(Err(refused(code))),
                (None, None) => {}
                (None, Some(code)) => buffer.end(Some(refused(code))),
            }
        }
        if refusal.is_some() {
            self.streams.retain(|_, stream| !matches!(stream.purpose, Purpose::Conflicts { .. }));
        }
    }

    /// Passes a question to the streams of questions.
    fn control_asked(&self, asked: &ControlQuestion) {
        let Some(node) = self.nodes.get(&asked.node) else { return };
        for stream in self.streams.values() {
            if let Purpose::Conflicts { buffer, session, deadline } = &stream.purpose
                && let Some(session) = session.upgrade()
            {
                let handle = Handle { session, deadline: *deadline, verify: None };
                buffer.push(ConflictQuestion::new(Arc::clone(&node.name), asked.clone(), handle));
            }
        }
    }

    /// Removes a stream and its subscriptions.
    pub fn remove_stream(&mut self, commands: &mut Commands<'_>, id: StreamId) {
        let removed = self.streams.remove(&id);
        if let Some(stream) = &removed
            && !self.purposes().any(|other| other.has_job_of(&stream.purpose))
        {
            stream.purpose.withdraw_service(commands);
        }
        let was_arbiter = removed.is_some_and(|stream| matches!(stream.purpose, Purpose::Conflicts { .. }));
        if was_arbiter && !self.is_arbiter() {
            // a RIC without arbiters has not admitted it
            let _ = commands.set_arbiter(false);
        }
        let is_of_it =
            |subscribed: &Subscribed| matches!(subscribed, Subscribed::Stream { stream, .. } if *stream == id);
        for (subscription, _) in self.subscriptions.extract_if(|_, subscribed| is_of_it(subscribed)) {
            commands.unsubscribe(subscription);
        }
    }

    /// Requests the subscriptions that streams lack.
    fn subscribe_streams(&mut self, commands: &mut Commands<'_>) {
        for id in self.streams.keys().copied().collect::<Vec<_>>() {
            self.subscribe_stream(id, commands);
        }
    }

    fn subscribe_stream(&mut self, id: StreamId, commands: &mut Commands<'_>) {
        let Core { nodes, streams, directory, requested, .. } = self;
        let Some(stream) = streams.get_mut(&id) else { return };
        let about_ue = match &stream.purpose {
            Purpose::Records { wanted: Wanted { about: About::Ue(ue), .. }, .. } => match directory.find(ue) {
                Ok(ue) => Some(ue),
                Err(_) => return, // it may come
            },
            _ => None,
        };
        let at = about_ue.map(|ue| directory.nodes_of(ue));
        // a cell that nodes state is measured there alone
        let at = at.or_else(|| match &stream.purpose {
            Purpose::Records { wanted: Wanted { about: About::Cell(cell), .. }, .. } => {
                let has_it = nodes.values().filter(|node| node.cells().any(|known| known == *cell));
                Some(has_it.map(|node| node.id).collect::<Vec<_>>()).filter(|nodes| !nodes.is_empty())
            }
            _ => None,
        });
        for node in nodes.values() {
            let is_wanted = stream.node.as_ref().is_none_or(|wanted| **wanted == *node.name)
                && at.as_ref().is_none_or(|at| at.contains(&node.id));
            if !is_wanted || stream.nodes.contains_key(&node.id) {
                continue;
            }
            let planned = match &stream.purpose {
                Purpose::Records { wanted, .. } => {
                    let ue_id = about_ue.and_then(|ue| directory.ue_id_for(node.id, ue));
                    if about_ue.is_some() && ue_id.is_none() {
                        continue; // not known to this part yet
                    }
                    plans(wanted, node, ue_id.as_ref())
                }
                Purpose::Handovers { .. } => plan_handovers(node),
                Purpose::Policy(plan) => plan_policy(node, plan),
                Purpose::HandoverRules(rules) => plan_handover_rules(node, rules),
                Purpose::Configuration { names, .. } => configuration::plan(node, names),
                Purpose::RrcMessages { kinds, .. } => rrc::plan(node, kinds),
                Purpose::Cpus { period_ms, .. } => cpu::plan(node, *period_ms),
                Purpose::Events(_) | Purpose::Conflicts { .. } | Purpose::A1Policies { .. } | Purpose::EiJob { .. } => {
                    Ok(Vec::new())
                }
            };
            match planned {
                Ok(mut planned) => {
                    // the last is requested first, the others if the node refuses it
                    planned.reverse();
                    if request(commands, requested, id, node.id, planned) {
                        stream.nodes.insert(node.id, AtNode::Requested);
                    }
                }
                Err(error) => stream.refuse(node, error),
            }
        }
        if stream.settle(id) {
            streams.remove(&id);
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

    fn handle_indication(&mut self, indication: &Indication<'_>, commands: &mut Commands<'_>) {
        let Core { subscriptions, streams, directory, arena, nodes, .. } = self;
        let Some(subscribed) = subscriptions.get_mut(&indication.subscription) else {
            // one that was left while its node was lost
            return commands.unsubscribe(indication.subscription);
        };
        let gather = Gather::new();
        let full; // holds the parts of a fragmented indication
        let (header, message) = match indication.peek() {
            Some(peeked) => (peeked.header, peeked.message),
            None => match indication.decode(&gather) {
                Ok(decoded) => {
                    full = (decoded.header.to_cow().into_owned(), decoded.message.to_cow().into_owned());
                    (&full.0[..], &full.1[..])
                }
                Err(error) => return tracing::warn!(%error, "cannot decode an indication"),
            },
        };
        match subscribed {
            Subscribed::Stream { stream, reader, node } => {
                let Some(stream) = streams.get_mut(stream) else { return };
                match (&mut stream.purpose, reader) {
                    (Purpose::Records { sink, .. }, Reader::Records(source)) => {
                        source.read(&Report { node: *node, header, message }, arena, sink, directory);
                    }
                    (Purpose::Configuration { buffer, .. }, Reader::Configuration) => {
                        let Some(node) = nodes.get(node) else { return };
                        match configuration::read(&node.name, message) {
                            Ok(cells) => cells.into_iter().for_each(|cell| buffer.push(cell)),
                            Err(error) => {
                                tracing::warn!(node = %node.name, %error, "cannot read a report of configuration")
                            }
                        }
                    }
                    (Purpose::RrcMessages { buffer, .. }, Reader::RrcMessages(detection)) => {
                        let Some(node) = nodes.get(node) else { return };
                        match rrc::read(*detection, message) {
                            Ok(Some((ue_id, octets))) => {
                                directory.learn(node.id, &ue_id);
                                let ue = directory.place(node.id, &ue_id).ue;
                                let ue = ue.unwrap_or_else(|| UeReference::of(&ue_id));
                                buffer.push(RrcMessage { node: Arc::clone(&node.name), ue, octets });
                            }
                            Ok(None) => {}
                            Err(error) => {
                                tracing::warn!(node = %node.name, %error, "cannot read a copy of an RRC message: it is skipped");
                            }
                        }
                    }
                    (Purpose::Cpus { buffer, .. }, Reader::Cpus(reader)) => {
                        let Some(node) = nodes.get(node) else { return };
                        match reader.read(&node.name, header, message) {
                            Ok(report) => report.into_iter().for_each(|report| buffer.push(report)),
                            Err(error) => {
                                tracing::warn!(node = %node.name, %error, "cannot read a report of CPUs: it is skipped")
                            }
                        }
                    }
                    (Purpose::Handovers { buffer, session, deadline }, Reader::Handovers(Some(detection))) => {
                        let process = indication.peek().and_then(|peeked| peeked.call_process_id);
                        let (Some(node), Some(process), Some(session)) = (nodes.get(node), process, session.upgrade())
                        else {
                            return;
                        };
                        match decision::read_request(*detection, header, message) {
                            Ok(Some((ue_id, target))) => {
                                let ue = directory.place(node.id, &ue_id).ue;
                                let ue = ue.unwrap_or_else(|| UeReference::of(&ue_id));
                                let handle = Handle { session, deadline: *deadline, verify: None };
                                let process = Process { node: node.id, ue_id, id: process.to_vec(), handle };
                                buffer.push(HandoverRequest::new(Arc::clone(&node.name), ue, target, process));
                            }
                            Ok(None) => {}
                            Err(error) => tracing::warn!(node = %node.name, %error, "cannot read a request"),
                        }
                    }
                    _ => {}
                }
            }
            Subscribed::Slices { node, wire } => {
                arena.reset();
                match slice::IndicationMessage::decode_owned(message, *wire) {
                    Ok(message) => {
                        self.slices.insert(*node, message);
                        self.has_changed = true;
                    }
                    Err(error) => tracing::warn!(node = node.0, %error, "cannot read a report of slices"),
                }
            }
            Subscribed::Ues { node, source } => {
                arena.reset();
                match source.read(message, arena) {
                    Ok(changes) => {
                        directory.apply(*node, &changes);
                        self.has_changed = true;
                    }
                    Err(error) => {
                        tracing::warn!(source = source.model().name(), %error, "cannot decode a report of UEs")
                    }
                }
            }
        }
    }
}

impl Stream {
    fn refuse(&mut self, node: &NodeEntry, error: Error) {
        tracing::warn!(node = %node.name, %error, "no subscription at this node");
        if let Purpose::Records { sink, .. } = &self.purpose {
            sink.queue.count_refusal();
        }
        self.nodes.insert(node.id, AtNode::Refused);
        self.first_refusal.get_or_insert(error);
    }

    /// Replies once it is known whether there will be records: a node has accepted, all have refused, or there is none.
    /// Returns whether it was refused, so that the stream has no reader.
    fn settle(&mut self, id: StreamId) -> bool {
        // the RIC answers an offer to be an arbiter, not nodes
        if matches!(self.purpose, Purpose::Conflicts { .. }) {
            return false;
        }
        if self.reply.is_none() || self.nodes.values().any(|state| *state == AtNode::Requested) {
            return false;
        }
        let Some(reply) = self.reply.take() else { return false };
        let is_active = self.nodes.values().any(|state| matches!(state, AtNode::Active(_)));
        match self.first_refusal.take().filter(|_| !is_active && !self.nodes.is_empty()) {
            Some(refusal) => {
                reply.send(Err(refusal));
                true
            }
            None => {
                reply.send(Ok(id));
                false
            }
        }
    }
}

/// Requests the last of the planned subscriptions; the others are alternatives. Returns whether there is one.
fn request(
    commands: &mut Commands<'_>,
    requested: &mut HashMap<Ticket, Requested>,
    stream: StreamId,
    node: NodeId,
    mut planned: Vec<Planned>,
) -> bool {
    let Some(Planned { function, spec, begins_with_state, reader }) = planned.pop() else { return false };
    // a subscription with consent is not shared
    let order = SubscriptionOrder { restore: false, consent: begins_with_state, ..SubscriptionOrder::from(spec) };
    let ticket = commands.subscribe(node, function, order);
    requested.insert(ticket, Requested::Stream { stream, node, reader, others: planned });
    true
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
