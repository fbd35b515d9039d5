//! The TC SM manager: what is set in TC and what it counts, and controls relayed, by REST.
//!
//! An internal app that subscribes to TC of every node that offers it. Each node has one control under way at a time; others
//! wait in order. A control is answered once the node has acknowledged it *and* told anew what is set: so the answer has the
//! number that a new queue or filter was given, and a GET after it shows what was done.

mod api;
mod controls;
mod told;

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
use iapp_rest::{add_iapp, encoding_problem, misuse_problem, node_lost};
use rest::{Problem, Reply, Response, Route, StatusCode};
use told::Told;

/// How often nodes tell.
const PERIOD_MS: u32 = 100;
/// Controls that may wait for a node; more are told 503.
const MAX_WAITING: usize = 64;

/// Adds it to a RIC. Its resources come back.
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
    /// What it told last.
    set: Option<IndicationMessage<'static>>,
    running: Option<Running>,
    waiting: VecDeque<Order>,
    told_unreadable: bool,
}

enum Subscription {
    Asked(Ticket),
    Stands(SubscriptionId),
    /// There are no reports, and why.
    None(String),
}

/// Says which control is meant, by what is set when its turn comes.
type Plan = Box<dyn FnOnce(&Told) -> Result<ControlMessage<'static>, Problem> + Send>;
/// Answers by what is set before and after.
type Answer = Box<dyn FnOnce(&Told, &Told) -> Response + Send>;

/// Something to be done.
struct Order {
    plan: Plan,
    answer: Answer,
    reply: Reply,
}

/// A control that is under way.
struct Running {
    control: ControlMessage<'static>,
    before: Told,
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

    /// Has something done, at once or when what came before is done.
    fn order(&mut self, name: &str, order: Order, ric: &mut IappContext<'_>) {
        match self.by_name(name, ric) {
            Err(problem) => order.reply.send(Err(problem)),
            Ok((_, node)) if node.waiting.len() >= MAX_WAITING => {
                let problem = Problem::unavailable("too many requests wait for this node; ask again later");
                order.reply.send(Err(problem));
            }
            Ok((id, node)) => {
                node.waiting.push_back(order);
                node.go_on(id, ric);
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
            Ok(ticket) => Subscription::Asked(ticket),
            Err(misuse) => Subscription::None(misuse.to_string()),
        };
        let waiting = VecDeque::new();
        let known = TcNode { name, function, wire, state, set: None, running: None, waiting, told_unreadable: false };
        if let Some(before) = self.nodes.insert(node.id, known) {
            before.end();
        }
    }

    fn of_subscription(&mut self, id: SubscriptionId) -> Option<&mut TcNode> {
        self.nodes.values_mut().find(|node| matches!(node.state, Subscription::Stands(stands) if stands == id))
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
                info!(node = node.name, "traffic control is not changed: {}", problem.document()["detail"]);
                running.reply.send(Err(problem));
                node.go_on(*id, ric);
            }
        }
    }
}

impl TcNode {
    /// What is set.
    fn told(&self) -> Result<Told, Problem> {
        match (&self.set, &self.state) {
            (Some(set), Subscription::Stands(_)) => Ok(Told::new(&self.name, set)),
            (_, Subscription::None(why)) => {
                let detail = format!("node {} does not tell what is set: {why}", self.name);
                Err(Problem::new(StatusCode::BAD_GATEWAY, detail))
            }
            _ => Err(Problem::unavailable(format!("node {} has not told yet what is set", self.name))),
        }
    }

    /// Begins what waits, where nothing is under way. What the node has not told yet is waited for.
    fn go_on(&mut self, id: NodeId, ric: &mut IappContext<'_>) {
        // it was done, and whoever asked for it does not wait for a node that tells nothing more: nor do those behind them
        self.running.take_if(|running| running.stage == Stage::Done && running.reply.is_closed());
        let is_known = self.set.is_some() || matches!(self.state, Subscription::None(_));
        while is_known
            && self.running.is_none()
            && let Some(Order { plan, answer, reply }) = self.waiting.pop_front()
        {
            if reply.is_closed() {
                continue; // nobody waits for it any more
            }
            let begun = self.told().and_then(|before| {
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

    /// Takes a report.
    fn keep(&mut self, id: NodeId, message: &[u8], ric: &mut IappContext<'_>) {
        match IndicationMessage::decode_owned(message, self.wire) {
            Ok(set) => self.set = Some(set),
            Err(error) => {
                if !std::mem::replace(&mut self.told_unreadable, true) {
                    warn!(node = self.name, %error, "what is told of traffic control cannot be read");
                }
                return;
            }
        }
        if self.running.as_ref().is_some_and(|running| running.stage == Stage::Done)
            && let (Some(running), Some(set)) = (self.running.take(), &self.set)
        {
            running.reply.send(Ok((running.answer)(&running.before, &Told::new(&self.name, set))));
        }
        self.go_on(id, ric);
    }

    /// There are no more reports.
    fn silence(&mut self, why: String) {
        self.state = Subscription::None(why);
        self.set = None;
        self.fail();
    }

    /// Nothing that was asked for comes to an end here.
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
                let asked = |node: &&mut TcNode| matches!(node.state, Subscription::Asked(asked) if asked == *ticket);
                if let Some(node) = self.nodes.values_mut().find(asked) {
                    node.state = Subscription::Stands(*subscription);
                }
            }
            IappEvent::Request(RequestEvent::SubscriptionFailed { ticket, error }) => {
                let asked = |node: &&mut TcNode| matches!(node.state, Subscription::Asked(asked) if asked == *ticket);
                if let Some(node) = self.nodes.values_mut().find(asked) {
                    warn!(node = node.name, ?error, "the node gives no subscription to traffic control");
                    node.silence(format!("it gives no subscription ({error:?})"));
                }
            }
            IappEvent::Request(RequestEvent::SubscriptionEnded { subscription, end }) => {
                if let Some(node) = self.of_subscription(*subscription) {
                    node.silence(format!("its subscription ended ({end:?})"));
                }
            }
            IappEvent::Request(RequestEvent::Controlled { ticket, outcome }) => self.controlled(*ticket, outcome, ric),
            _ => {}
        }
    }

    fn on_indication(&mut self, indication: &Indication<'_>, ric: &mut IappContext<'_>) {
        let Some(node) = self.nodes.get_mut(&indication.node) else { return };
        match indication.payload {
            Some((_, message)) => node.keep(indication.node, message, ric),
            None => {
                let gather = Gather::new();
                if let Ok(decoded) = indication.decode(&gather) {
                    node.keep(indication.node, &decoded.message.to_cow(), ric);
                }
            }
        }
    }
}
