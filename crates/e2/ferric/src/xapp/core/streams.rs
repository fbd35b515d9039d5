//! The streams of a session: what each is for, and its subscriptions at the nodes that fit it.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use e2::{ControlQuestion, NodeId, RefusalCode, SubscriptionId, SubscriptionOrder, SubscriptionSpec, Ticket};
use e2ap::RanFunctionId;
use e2sm::common::RrcMessageId;
use e2sm::rc;

use super::super::a1::{A1Policy, EiEvent};
use super::super::arbiter::ConflictQuestion;
use super::super::configuration::{self, CellConfiguration};
use super::super::cpu::{self, CpuReader, CpuReport};
use super::super::decision::{HandoverRequest, plan_handover_rules, plan_handovers, plan_policy};
use super::super::error::Error;
use super::super::event::Event;
use super::super::feed::Buffer;
use super::super::kpm::{About, Sink, Source, Wanted, plans};
use super::super::node::NodeEntry;
use super::super::raw::Commands;
use super::super::ric::Handle;
use super::super::rrc::{self, RrcMessage};
use super::super::session::{Reply, Session};
use super::{Core, Requested, Subscribed};

/// Identifies a stream of the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StreamId(u64);

/// What the subscriptions of a stream are for.
pub enum Purpose {
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
pub enum Reader {
    Records(Box<Source>),
    Handovers(Option<rc::Detection>),
    Configuration,
    RrcMessages(rc::Detection),
    Cpus(Box<CpuReader>),
    Nothing,
}

/// A subscription to be requested.
pub struct Planned {
    pub function: RanFunctionId,
    pub spec: SubscriptionSpec,
    /// Whether it begins with the present state: a consumer that shared it later would not see that.
    pub begins_with_state: bool,
    pub reader: Reader,
}

/// A stream: subscriptions at every node that fits it.
pub(super) struct Stream {
    pub purpose: Purpose,
    /// The only node, by name.
    node: Option<String>,
    /// The subscription of each node, once it is requested.
    pub nodes: HashMap<NodeId, AtNode>,
    /// The reply to the request, until nodes have answered.
    reply: Option<Reply<StreamId>>,
    first_refusal: Option<Error>,
}

/// The state of a stream at a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AtNode {
    Requested,
    Active(SubscriptionId),
    Refused,
}

impl Core {
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

    /// Ends all streams.
    pub(super) fn end_streams(&mut self, error: Option<Error>) {
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
    }

    /// Marks the gap in the records of a node that was connected to another RIC.
    pub(super) fn handle_move(&mut self, id: NodeId, from: &str, to: &str) {
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
    pub(super) fn tell(&self, event: &Event) {
        for stream in self.streams.values() {
            if let Purpose::Events(buffer) = &stream.purpose {
                buffer.push(event.clone());
            }
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
    pub(super) fn is_arbiter(&self) -> bool {
        self.streams.values().any(|stream| matches!(stream.purpose, Purpose::Conflicts { .. }))
    }

    /// Handles the answer to the offer: streams of questions begin, or end.
    pub(super) fn arbiter_set(&mut self, refusal: Option<RefusalCode>) {
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
    pub(super) fn control_asked(&self, asked: &ControlQuestion) {
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
    pub(super) fn subscribe_streams(&mut self, commands: &mut Commands<'_>) {
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
}

impl Stream {
    pub fn refuse(&mut self, node: &NodeEntry, error: Error) {
        tracing::warn!(node = %node.name, %error, "no subscription at this node");
        if let Purpose::Records { sink, .. } = &self.purpose {
            sink.queue.count_refusal();
        }
        self.nodes.insert(node.id, AtNode::Refused);
        self.first_refusal.get_or_insert(error);
    }

    /// Replies once it is known whether there will be records: a node has accepted, all have refused, or there is none.
    /// Returns whether it was refused, so that the stream has no reader.
    pub fn settle(&mut self, id: StreamId) -> bool {
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
pub(super) fn request(
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
