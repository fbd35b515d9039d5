//! The SC SM manager: sends requests as E2 controls, and answers with their outcomes.
//!
//! A node executes one request at a time, so that a request changes the state that it was checked against; the others wait in
//! order. A request may need several controls. If the node refuses one of them, the ones before it are undone.

use std::collections::{HashMap, VecDeque};

use e2sm::Wire;
use e2sm::slice::{ControlHeader, ControlMessage, ControlOutcome as SliceControlOutcome};
use ferric::e2::{ControlOutcome, NodeId, Ticket};
use ferric::server::{IappContext, IappEvent, RequestEvent};
use tracing::{info, warn};

use super::database::Database;
use super::model::ReportModel;
use super::node::Node;
use iapp_rest::{encoding_problem, misuse_problem, node_lost, problem_of};
use rest::{Problem, Reply, Response};

/// The most waiting requests per node; further ones are answered with 503.
const MAX_WAITING: usize = 64;

/// Plans the controls, from the state of the node when the order starts.
pub(super) type Planning = Box<dyn FnOnce(&Node) -> Result<Plan, Problem> + Send>;
/// Answers a request, from the state of the node after the controls and from their outcome.
pub(super) type Answer = Box<dyn FnOnce(&Node, Result<Option<Subject>, Problem>) -> Result<Response, Problem> + Send>;

/// A change of a node's slices.
pub(super) struct Order {
    pub plan: Planning,
    pub origin: Origin,
}

/// The origin of an order.
pub(super) enum Origin {
    /// A request of a client, and its response.
    Client(Reply, Answer),
    /// A rule, for a UE.
    Rule { rule: u32, rnti: u16 },
}

impl Origin {
    /// Whether the client is gone. Such an order is not started.
    fn is_gone(&self) -> bool {
        matches!(self, Origin::Client(reply, _) if reply.is_closed())
    }

    /// Reports the outcome. The node may be lost.
    fn finish(self, node: Option<&mut Node>, result: Result<Option<Subject>, Problem>, ric: &IappContext<'_>) {
        match (self, node) {
            (Origin::Client(reply, answer), Some(node)) => reply.send(answer(node, result)),
            (Origin::Client(reply, _), None) => reply.send(Err(result.err().unwrap_or_else(node_lost))),
            (Origin::Rule { rule, rnti }, Some(node)) => node.rule_applied(rule, rnti, result.map(drop), ric),
            (Origin::Rule { .. }, None) => {}
        }
    }
}

/// The controls of an order.
#[derive(Clone, Debug, Default)]
pub(super) struct Plan {
    /// The controls; each is sent when the one before it is acknowledged.
    pub steps: VecDeque<ControlMessage<'static>>,
    /// The controls that undo them if one after the first is refused.
    pub undo: VecDeque<ControlMessage<'static>>,
    /// The slice that the order concerns, for the response.
    pub subject: Option<Subject>,
}

/// The slice that an order concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Subject {
    pub id: u32,
    pub is_new: bool,
}

impl Plan {
    /// A plan of a single control, which the node executes as a whole or not at all.
    pub fn one(control: ControlMessage<'static>) -> Self {
        Plan { steps: [control].into(), ..Plan::default() }
    }
}

/// All orders.
#[derive(Default)]
pub(super) struct Controls {
    nodes: HashMap<NodeId, Queue>,
}

#[derive(Default)]
struct Queue {
    /// The current control and its order.
    running: Option<(Ticket, ControlMessage<'static>, Running)>,
    waiting: VecDeque<Order>,
}

struct Running {
    plan: Plan,
    /// Whether a control of it was acknowledged.
    is_begun: bool,
    /// The reason why its controls are being undone.
    failed: Option<Problem>,
    origin: Origin,
}

impl Controls {
    /// The number of orders that a node has not finished.
    pub fn waiting(&self, node: NodeId) -> usize {
        self.nodes.get(&node).map_or(0, |queue| queue.waiting.len() + usize::from(queue.running.is_some()))
    }

    /// Queues an order, and starts it if no other is running.
    pub fn order(&mut self, node: NodeId, order: Order, database: &mut Database, ric: &mut IappContext<'_>) {
        let queue = self.nodes.entry(node).or_default();
        if queue.waiting.len() >= MAX_WAITING {
            let problem = Problem::unavailable("request queue of this node full (64); try again later");
            return order.origin.finish(database.node_mut(node), Err(problem), ric);
        }
        queue.waiting.push_back(order);
        self.start_waiting(node, database, ric);
    }

    /// Handles an event. Returns the node that has finished a control.
    pub fn handle_event(
        &mut self,
        event: &IappEvent<'_>,
        database: &mut Database,
        ric: &mut IappContext<'_>,
    ) -> Option<NodeId> {
        match event {
            IappEvent::Request(RequestEvent::Controlled { ticket, outcome }) => {
                self.controlled(*ticket, outcome, database, ric)
            }
            IappEvent::NodeLost(node) => {
                // the running control reports its own outcome
                let waiting = self.nodes.get_mut(node).map(|queue| std::mem::take(&mut queue.waiting));
                waiting.into_iter().flatten().for_each(|order| order.origin.finish(None, Err(node_lost()), ric));
                self.nodes.retain(|_, queue| queue.running.is_some());
                None
            }
            _ => None,
        }
    }

    fn controlled(
        &mut self,
        ticket: Ticket,
        outcome: &ControlOutcome,
        database: &mut Database,
        ric: &mut IappContext<'_>,
    ) -> Option<NodeId> {
        let mut queues = self.nodes.iter_mut();
        let found = queues.find(|(_, queue)| queue.running.as_ref().is_some_and(|(running, ..)| *running == ticket));
        let (node, (_, control, running)) = found.and_then(|(node, queue)| Some((*node, queue.running.take()?)))?;
        let known = database.node_mut(node);
        let wire = known.as_ref().and_then(|node| node.source(ReportModel::Slice)).map(|source| source.wire);
        match problem_of(outcome, |outcome| diagnostic(outcome, wire)) {
            None => {
                if let Some(slices) = known.and_then(|node| node.slices.as_mut()) {
                    slices.apply(&control);
                }
                self.next(node, Running { is_begun: true, ..running }, database, ric);
            }
            Some(problem) => self.failed(node, running, problem, database, ric),
        }
        self.start_waiting(node, database, ric);
        Some(node)
    }

    /// Sends the next control of an order, or finishes the order.
    fn next(&mut self, node: NodeId, mut running: Running, database: &mut Database, ric: &mut IappContext<'_>) {
        let Some(control) = running.plan.steps.pop_front() else {
            let undone =
                |problem: Problem| problem.with_more_detail("earlier changes are undone").with("restored", true);
            let result = running.failed.map_or(Ok(running.plan.subject), |problem| Err(undone(problem)));
            let known = database.node_mut(node);
            if let (Origin::Client(..), Ok(_), Some(known)) = (&running.origin, &result, &known)
                && ric.allows_line(node)
            {
                info!(node = known.name, "slices changed by REST");
            }
            return running.origin.finish(known, result, ric);
        };
        match send(node, &control, database, ric) {
            Ok(ticket) => self.nodes.entry(node).or_default().running = Some((ticket, control, running)),
            Err(problem) => self.failed(node, running, problem, database, ric),
        }
    }

    /// Handles a failed control: undoes the controls before it, or finishes the order.
    fn failed(
        &mut self,
        node: NodeId,
        running: Running,
        why: Problem,
        database: &mut Database,
        ric: &mut IappContext<'_>,
    ) {
        let name = database.node(node).map(|node| node.name.clone());
        match running.failed {
            Some(first) => {
                if ric.allows_line(node) {
                    warn!(node = name, "slices are partly changed; cannot undo: {}", why.detail());
                }
                let problem = first.with_more_detail(&format!("cannot undo earlier changes: {}", why.detail()));
                running.origin.finish(database.node_mut(node), Err(problem.with("restored", false)), ric);
            }
            // a node that does not answer would not answer the undoing controls either
            None if running.is_begun && why.status().is_client_error() => {
                let plan = Plan { steps: running.plan.undo, ..Plan::default() };
                self.next(node, Running { plan, failed: Some(why), ..running }, database, ric);
            }
            None => {
                if ric.allows_line(node) {
                    info!(node = name, "cannot change slices: {}", why.detail());
                }
                running.origin.finish(database.node_mut(node), Err(why), ric);
            }
        }
    }

    /// Starts waiting orders if none is running.
    fn start_waiting(&mut self, node: NodeId, database: &mut Database, ric: &mut IappContext<'_>) {
        while let Some(queue) = self.nodes.get_mut(&node) {
            if queue.running.is_some() {
                return;
            }
            let Some(Order { plan, origin }) = queue.waiting.pop_front() else {
                self.nodes.remove(&node);
                return;
            };
            match database.node(node).map(plan) {
                _ if origin.is_gone() => {}
                None => origin.finish(None, Err(node_lost()), ric),
                Some(Ok(plan)) => {
                    self.next(node, Running { plan, is_begun: false, failed: None, origin }, database, ric);
                }
                Some(Err(problem)) => origin.finish(database.node_mut(node), Err(problem), ric),
            }
        }
    }
}

/// Sends a control.
fn send(
    node: NodeId,
    control: &ControlMessage<'static>,
    database: &Database,
    ric: &mut IappContext<'_>,
) -> Result<Ticket, Problem> {
    let known = database.node(node).ok_or_else(node_lost)?;
    let source =
        known.source(ReportModel::Slice).ok_or_else(|| Problem::not_found("the node offers no SLICE function"))?;
    let (mut header, mut message) = (Vec::new(), Vec::new());
    ControlHeader::default()
        .encode(source.wire, &mut header)
        .and_then(|()| control.encode(source.wire, &mut message))
        .map_err(|error| encoding_problem(&error))?;
    ric.control(node, source.function, &header, &message).map_err(misuse_problem)
}

/// Returns the diagnostic with which the RAN function refuses a control.
fn diagnostic(outcome: Option<&[u8]>, wire: Option<Wire>) -> Option<String> {
    let outcome = SliceControlOutcome::decode_owned(outcome?, wire?).ok()?;
    Some(outcome.diagnostic.to_string())
}
