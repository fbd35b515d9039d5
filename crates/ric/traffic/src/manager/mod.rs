//! The TC SM manager: the configuration and counters of TC, and controls, by REST.
//!
//! An internal app that subscribes to TC of every node that offers it. A node executes one control at a time; others wait in
//! order. A control is answered once the node has acknowledged it *and* sent its next report: the response contains the id of a
//! new queue or filter, and a GET after it shows the change.

mod api;
mod controls;
mod document;
mod new_filter;

use std::collections::{HashMap, VecDeque};

use e2sm::Wire;
use e2sm::tc::{ControlHeader, ControlMessage, IndicationMessage, MODEL};
use ferric::e2::{ControlOutcome, Indication, Node, NodeId, SubscriptionId, Ticket};
use ferric::e2ap::RanFunctionId;
use ferric::server::{Iapp, IappContext, IappEvent, RequestEvent, Server};
use per::Gather;
use tracing::{info, warn};

use super::subscription;
use controls::problem_of;
use document::TcDocument;
use iapp_rest::{add_iapp, encoding_problem, misuse_problem, node_lost};
use rest::{Problem, Reply, Response, Route, StatusCode};

/// The reporting period.
const PERIOD_MS: u32 = 100;
/// The most waiting controls per node; further ones are answered with 503.
const MAX_WAITING: usize = 64;

/// Adds the TC SM manager to a RIC. Returns the routes of its resources.
///
/// # Errors
/// If the system refuses a file descriptor.
pub fn add_to(server: &mut Server) -> Result<Vec<Route>, ferric::Error> {
    Ok(api::routes(&add_iapp(server, TcManager::default())?))
}

/// The internal app.
#[derive(Default)]
struct TcManager {
    nodes: HashMap<NodeId, TcNode>,
}

/// A node that offers TC.
struct TcNode {
    name: String,
    function: RanFunctionId,
    wire: Wire,
    state: Subscription,
    /// Its last report.
    set: Option<IndicationMessage<'static>>,
    running: Option<Running>,
    waiting: VecDeque<Order>,
    has_logged_undecodable: bool,
}

enum Subscription {
    Requested(Ticket),
    Active(SubscriptionId),
    /// There is no subscription, with the reason.
    None(String),
}

/// Returns the control, from the configuration when the order starts.
type Plan = Box<dyn FnOnce(&TcDocument) -> Result<ControlMessage<'static>, Problem> + Send>;
/// Returns the response, from the configuration before and after.
type Answer = Box<dyn FnOnce(&TcDocument, &TcDocument) -> Response + Send>;

/// A waiting request.
struct Order {
    plan: Plan,
    answer: Answer,
    reply: Reply,
}

/// A control without a response yet.
struct Running {
    control: ControlMessage<'static>,
    before: TcDocument,
    answer: Answer,
    reply: Reply,
    stage: Stage,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Sent(Ticket),
    /// Acknowledged: the next report shows it.
    Done,
}

impl TcManager {
    fn by_name(&mut self, name: &str, ric: &IappContext<'_>) -> Result<(NodeId, &mut TcNode), Problem> {
        let id = ric.nodes().find(|node| node.global_id.to_string() == name).map(|node| node.id);
        let id = id.ok_or_else(|| Problem::not_found(format!("there is no node `{name}`")))?;
        let node = self.nodes.get_mut(&id);
        Ok((id, node.ok_or_else(|| Problem::not_found(format!("node {name} offers no traffic control (TC)")))?))
    }

    /// Queues a request, and starts it if no other is running.
    fn order(&mut self, name: &str, order: Order, ric: &mut IappContext<'_>) {
        match self.by_name(name, ric) {
            Err(problem) => order.reply.send(Err(problem)),
            Ok((_, node)) if node.waiting.len() >= MAX_WAITING => {
                let problem = Problem::unavailable("request queue of this node full (64); try again later");
                order.reply.send(Err(problem));
            }
            Ok((id, node)) => {
                node.waiting.push_back(order);
                node.start_waiting(id, ric);
            }
        }
    }

    fn node_up(&mut self, node: &Node, ric: &mut IappContext<'_>) {
        let name = node.global_id.to_string();
        let found = node.functions.iter().find_map(|function| Some((function.id, MODEL.wire_of(&function.oid)?)));
        let Some((function, wire)) = found else {
            if let Some(gone) = self.nodes.remove(&node.id) {
                gone.end();
            }
            return;
        };
        if self.nodes.get(&node.id).is_some_and(|known| (known.function, known.wire) == (function, wire)) {
            return;
        }
        let state = match ric.subscribe(node.id, function, subscription(PERIOD_MS, wire)) {
            Ok(ticket) => Subscription::Requested(ticket),
            Err(misuse) => Subscription::None(misuse.to_string()),
        };
        let waiting = VecDeque::new();
        let known =
            TcNode { name, function, wire, state, set: None, running: None, waiting, has_logged_undecodable: false };
        if let Some(before) = self.nodes.insert(node.id, known) {
            before.end();
        }
    }

    fn of_subscription(&mut self, id: SubscriptionId) -> Option<&mut TcNode> {
        self.nodes.values_mut().find(|node| matches!(node.state, Subscription::Active(active) if active == id))
    }

    fn controlled(&mut self, ticket: Ticket, outcome: &ControlOutcome, ric: &mut IappContext<'_>) {
        let stage = Stage::Sent(ticket);
        let mut nodes = self.nodes.iter_mut();
        let found = nodes.find(|(_, node)| node.running.as_ref().is_some_and(|running| running.stage == stage));
        let Some((id, node)) = found else { return };
        let (Some(mut running), Some(set)) = (node.running.take(), &node.set) else { return };
        match problem_of(outcome, node.wire, &running.control, set) {
            None => {
                running.stage = Stage::Done;
                node.running = Some(running);
            }
            Some(problem) => {
                if ric.allows_line(*id) {
                    info!(node = node.name, "control of TC failed: {}", problem.document()["detail"]);
                }
                running.reply.send(Err(problem));
                node.start_waiting(*id, ric);
            }
        }
    }
}

impl TcNode {
    /// Returns the last report as a document.
    fn document(&self) -> Result<TcDocument, Problem> {
        match (&self.set, &self.state) {
            (Some(set), Subscription::Active(_)) => Ok(TcDocument::new(&self.name, set)),
            (_, Subscription::None(why)) => {
                let detail = format!("node {} does not report its TC: {why}", self.name);
                Err(Problem::new(StatusCode::BAD_GATEWAY, detail))
            }
            _ => Err(Problem::unavailable(format!("node {} has not reported its TC yet", self.name))),
        }
    }

    /// Starts the next request if none is running and the node has reported its TC.
    fn start_waiting(&mut self, id: NodeId, ric: &mut IappContext<'_>) {
        // an acknowledged control whose client is gone does not wait for a report, which may never arrive
        self.running.take_if(|running| running.stage == Stage::Done && running.reply.is_closed());
        let is_known = self.set.is_some() || matches!(self.state, Subscription::None(_));
        while is_known
            && self.running.is_none()
            && let Some(Order { plan, answer, reply }) = self.waiting.pop_front()
        {
            if reply.is_closed() {
                continue; // its client is gone
            }
            let begun = self.document().and_then(|before| {
                let control = plan(&before)?;
                Ok((before, self.send(id, &control, ric)?, control))
            });
            match begun {
                Ok((before, ticket, control)) => {
                    let stage = Stage::Sent(ticket);
                    self.running = Some(Running { control, before, answer, reply, stage });
                }
                Err(problem) => reply.send(Err(problem)),
            }
        }
    }

    fn send(&self, id: NodeId, control: &ControlMessage<'_>, ric: &mut IappContext<'_>) -> Result<Ticket, Problem> {
        let (mut header, mut message) = (Vec::new(), Vec::new());
        ControlHeader::default()
            .encode(self.wire, &mut header)
            .and_then(|()| control.encode(self.wire, &mut message))
            .map_err(|error| encoding_problem(&error))?;
        ric.control(id, self.function, &header, &message).map_err(misuse_problem)
    }

    /// Decodes and stores a report, and answers the request that waits for it.
    fn handle_report(&mut self, id: NodeId, message: &[u8], ric: &mut IappContext<'_>) {
        match IndicationMessage::decode_owned(message, self.wire) {
            Ok(set) => self.set = Some(set),
            Err(error) => {
                if !std::mem::replace(&mut self.has_logged_undecodable, true) && ric.allows_line(id) {
                    warn!(node = self.name, %error, "cannot decode a report of TC");
                }
                return;
            }
        }
        if self.running.as_ref().is_some_and(|running| running.stage == Stage::Done)
            && let (Some(running), Some(set)) = (self.running.take(), &self.set)
        {
            running.reply.send(Ok((running.answer)(&running.before, &TcDocument::new(&self.name, set))));
        }
        self.start_waiting(id, ric);
    }

    /// Records that there is no subscription.
    fn set_unavailable(&mut self, why: String) {
        self.state = Subscription::None(why);
        self.set = None;
        self.fail();
    }

    /// Answers all requests with an error.
    fn fail(&mut self) {
        let running = self.running.take().map(|running| running.reply);
        let waiting = self.waiting.drain(..).map(|order| order.reply);
        running.into_iter().chain(waiting).for_each(|reply| reply.send(Err(node_lost())));
    }

    fn end(mut self) {
        self.fail();
    }
}

impl Iapp for TcManager {
    fn name(&self) -> &'static str {
        "TC SM manager"
    }

    fn on_event(&mut self, event: &IappEvent<'_>, ric: &mut IappContext<'_>) {
        match event {
            IappEvent::NodeUp(node) | IappEvent::NodeChanged(node) => self.node_up(node, ric),
            IappEvent::NodeLost(id) => {
                if let Some(node) = self.nodes.remove(id) {
                    node.end();
                }
            }
            IappEvent::Request(RequestEvent::Subscribed { ticket, subscription, .. }) => {
                let is_requested = |node: &&mut TcNode| matches!(node.state, Subscription::Requested(requested) if requested == *ticket);
                if let Some(node) = self.nodes.values_mut().find(is_requested) {
                    node.state = Subscription::Active(*subscription);
                }
            }
            IappEvent::Request(RequestEvent::SubscriptionFailed { ticket, error }) => {
                let is_requested =
                    |node: &TcNode| matches!(node.state, Subscription::Requested(requested) if requested == *ticket);
                if let Some((id, node)) = self.nodes.iter_mut().find(|(_, node)| is_requested(node)) {
                    if ric.allows_line(*id) {
                        warn!(node = node.name, %error, "cannot subscribe to TC");
                    }
                    node.set_unavailable(format!("the subscription failed: {error}"));
                }
            }
            IappEvent::Request(RequestEvent::SubscriptionEnded { subscription, end }) => {
                if let Some(node) = self.of_subscription(*subscription) {
                    node.set_unavailable(format!("its subscription ended: {end}"));
                }
            }
            IappEvent::Request(RequestEvent::Controlled { ticket, outcome }) => self.controlled(*ticket, outcome, ric),
            _ => {}
        }
    }

    fn on_indication(&mut self, indication: &Indication<'_>, ric: &mut IappContext<'_>) {
        let Some(node) = self.nodes.get_mut(&indication.node) else { return };
        match indication.payload {
            Some((_, message)) => node.handle_report(indication.node, message, ric),
            None => {
                let gather = Gather::new();
                if let Ok(decoded) = indication.decode(&gather) {
                    node.handle_report(indication.node, &decoded.message.to_cow(), ric);
                }
            }
        }
    }
}
