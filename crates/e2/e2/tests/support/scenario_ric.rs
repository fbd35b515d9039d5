//! A controller and an xApp host, and peers whose messages a test states.

use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::Mutex;

use e2::xapp::{RicMessage, XappMessage};
use e2::{
    Action, ActionChange, AddedAction, AssocId, CloseReason, Consumer, ControlOutcome, Controller, ControllerConfig,
    Event, NodeId, NodePlacement, Placement, RequestEvent, Routed, SubscribeError, SubscriptionChange, SubscriptionEnd,
    SubscriptionId, SubscriptionOrder, SubscriptionSpec, SubscriptionTimes, Ticket, Time, XappClient, XappHost,
};
use e2ap::{GlobalE2NodeId, RicActionId, RicActionType, RicIndicationType, Version};

use super::notation::{self, Args};
use super::notation_parse::{connection, tnl};

/// Parses a duration: `1500ms`, `5s`.
pub fn duration(text: &str) -> Duration {
    match text.strip_suffix("ms") {
        Some(ms) => Duration::from_millis(ms.parse().unwrap()),
        None => Duration::from_secs(text.strip_suffix('s').expect("ms or s").parse().unwrap()),
    }
}

/// Directs each of these nodes to the address 10.0.0.7 once.
#[derive(Debug)]
struct OnceElsewhere(Mutex<Vec<GlobalE2NodeId>>);

impl NodePlacement for OnceElsewhere {
    fn place(&self, _: Time, node: &GlobalE2NodeId) -> Placement {
        let mut nodes = self.0.lock().unwrap();
        match nodes.iter().position(|of| of == node) {
            Some(at) => {
                nodes.remove(at);
                Placement::Elsewhere(tnl(7))
            }
            None => Placement::Here,
        }
    }
}

struct Peer {
    assoc: AssocId,
    version: Version,
}

pub struct ScenarioRic {
    pub now: Time,
    pub controller: Controller,
    pub host: XappHost,
    nodes: BTreeMap<String, Peer>,
    xapps: BTreeMap<String, (AssocId, XappClient)>,
    next_assoc: u64,
    next_ticket: u32,
    /// The default version of nodes.
    version: Version,
    out: Vec<String>,
}

impl ScenarioRic {
    /// Creates the parties from the arguments in the first line of a scenario, after `ric`.
    pub fn new(args: &Args<'_>) -> Self {
        let mut config = ControllerConfig::default();
        if let Some(nodes) = args.number("max-nodes") {
            config.max_nodes = nodes;
        }
        if let Some(requests) = args.number("max-requests") {
            config.max_requests = requests;
        }
        if let Some(requests) = args.number("quota") {
            config.max_requests_per_consumer = requests;
        }
        if let Some(octets) = args.number("quota-octets") {
            config.max_octets_per_consumer = octets;
        }
        if let Some(octets) = args.number("max-function-octets") {
            config.max_function_octets = octets;
        }
        if let Some(octets) = args.number("max-pdu-octets") {
            config.max_pdu_octets = octets;
        }
        if let Some(octets) = args.number("max-component-octets") {
            config.max_component_octets = octets;
        }
        if let Some(octets) = args.number("max-octets-of-nodes") {
            config.max_octets_of_nodes = octets;
        }
        if let Some(suspended) = args.number("max-suspended") {
            config.max_suspended = suspended;
        }
        config.answer_stray_indications = args.has("answer-stray-indications");
        config.strict_ie_order = args.has("strict-ie-order");
        let version: Option<Version> = args.get("v").map(|text| text.parse().unwrap());
        config.version = args.get("version").map(|text| text.parse().unwrap()).or(version);
        let mut controller = Controller::new(config);
        if args.has("elsewhere") {
            let nodes = args.numbers("elsewhere").into_iter().map(notation::gnb).collect();
            controller.set_placement(Box::new(OnceElsewhere(Mutex::new(nodes))));
        }
        ScenarioRic {
            now: Time::from_nanos(1_000_000_000),
            controller,
            host: XappHost::new(),
            nodes: BTreeMap::new(),
            xapps: BTreeMap::new(),
            next_assoc: 1,
            next_ticket: 0,
            version: version.unwrap_or(Version::V2_03),
            out: Vec::new(),
        }
    }

    /// Executes an input line. Returns its output.
    pub fn input(&mut self, line: &str) -> Vec<String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[0] {
            "wait" => self.wait(duration(words[1])),
            "state" => {
                let nodes: Vec<_> =
                    self.controller.nodes().map(|n| format!("{}={} v{}", n.id.0, n.global_id, n.version)).collect();
                let (requests, strays) = (self.controller.requests(), self.controller.stray_indications());
                let xapps = self.host.sessions();
                let answers = match self.controller.stray_answers() {
                    0 => String::new(),
                    count => format!(" stray-answers={count}"),
                };
                let nodes = nodes.join(", ");
                self.out.push(format!("= nodes [{nodes}] requests={requests} strays={strays}{answers} xapps={xapps}"));
            }
            "reset" => {
                let args = Args::new(&words[1..]);
                let result = self.controller.reset(self.now, NodeId(args.number("node").unwrap()), args.cause());
                self.misuse(result);
            }
            "service-query" => {
                let node = NodeId(Args::new(&words[1..]).number("node").unwrap());
                let result = self.controller.service_query(self.now, node);
                self.misuse(result);
            }
            "release" => {
                let node = NodeId(Args::new(&words[1..]).number("node").unwrap());
                if !self.controller.release(self.now, node) {
                    self.out.push("! not connected".to_owned());
                }
            }
            "remove" => {
                let node = NodeId(Args::new(&words[1..]).number("node").unwrap());
                let result = self.controller.remove(self.now, node);
                self.misuse(result);
            }
            "connections" => {
                let args = Args::new(&words[1..]);
                let update = e2::ConnectionUpdate {
                    add: args.numbers("add").into_iter().map(connection).collect(),
                    remove: args.numbers("remove").into_iter().map(tnl).collect(),
                    modify: args.numbers("modify").into_iter().map(connection).collect(),
                };
                let node = NodeId(args.number("node").unwrap());
                let result = self.controller.connection_update(self.now, node, &update);
                self.misuse(result);
            }
            "functions" => {
                let node = NodeId(Args::new(&words[1..]).number("node").unwrap());
                let node = self.controller.node(node).expect("the node is known");
                let functions: Vec<_> = node
                    .functions
                    .iter()
                    .map(|f| format!("{}r{}:{}", f.id.0, f.revision.0, f.definition.len()))
                    .collect();
                self.out.push(format!("= functions [{}]", functions.join(", ")));
            }
            "components" => {
                let node = NodeId(Args::new(&words[1..]).number("node").unwrap());
                let components = &self.controller.node(node).expect("the node is known").components;
                self.out.push(format!("= components {}", components.listed.len() + components.listed_v1.len()));
            }
            name if name.starts_with("iapp") => self.iapp(name, &words[1..]),
            name if name.starts_with('x') => self.xapp(name, &words[1..]),
            name => self.node(name, &words[1..]),
        }
        self.settle();
        std::mem::take(&mut self.out)
    }

    fn misuse(&mut self, result: Result<(), e2::Misuse>) {
        if let Err(misuse) = result {
            self.out.push(format!("! misuse: {misuse}"));
        }
    }

    fn open(&mut self) -> AssocId {
        self.next_assoc += 1;
        AssocId(self.next_assoc)
    }

    fn node(&mut self, name: &str, words: &[&str]) {
        match words[0] {
            "open" => {
                let version = Args::new(words).get("v").map_or(self.version, |text| text.parse().unwrap());
                let assoc = self.open();
                self.nodes.insert(name.to_owned(), Peer { assoc, version });
                self.controller.handle_open(self.now, assoc);
            }
            "close" => self.controller.handle_close(self.now, self.nodes[name].assoc, CloseReason::Transport),
            _ => {
                let peer = self.nodes.get_mut(name).expect("a node opens first");
                // from now on
                peer.version = Args::new(words).get("v").map_or(peer.version, |text| text.parse().unwrap());
                let Peer { assoc, version } = *peer;
                let pdu = notation::encode_line(words, version);
                self.pdu(assoc, &pdu);
            }
        }
    }

    fn pdu(&mut self, assoc: AssocId, pdu: &[u8]) {
        let Routed::Indication(indication) = self.controller.handle_pdu(self.now, assoc, pdu) else { return };
        let e2::Indication { node, subscription, action_id, sn, kind, .. } = indication;
        let gather = Default::default();
        assert_eq!(indication.decode(&gather).unwrap().action_id, action_id);
        let consumers = self.controller.consumers(subscription).to_vec();
        assert!(!consumers.is_empty(), "an active subscription has a consumer");
        for consumer in consumers {
            let what = format!("indication node={} s={} action={}", node.0, subscription.0, action_id.0);
            let sn = sn.map_or(String::new(), |sn| format!(" sn={}", sn.0));
            let insert = if kind == RicIndicationType::Insert { " insert" } else { "" };
            let line = match self.host.assoc(consumer) {
                Some(assoc) => format!("{} < {what}{sn}{insert}", self.name(assoc)),
                None => format!("! iapp{} {what}{sn}{insert}", consumer.0),
            };
            self.out.push(line);
        }
    }

    fn change(args: &Args<'_>) -> SubscriptionChange {
        let action = |id| Action {
            id: RicActionId(id),
            kind: RicActionType::Report,
            definition: Some(args.octets("def")),
            subsequent: None,
        };
        SubscriptionChange {
            event_trigger: args.has("trigger").then(|| args.octets("trigger")),
            remove: args.numbers("remove").into_iter().map(RicActionId).collect(),
            modify: args
                .numbers("modify")
                .into_iter()
                .map(|id| ActionChange {
                    id: RicActionId(id),
                    definition: args.has("def").then(|| args.octets("def")),
                    execution_order: None,
                    subsequent: None,
                })
                .collect(),
            add: args
                .numbers("add")
                .into_iter()
                .map(|id| AddedAction { action: action(id), execution_order: 1 })
                .collect(),
        }
    }

    fn refused(args: &Args<'_>) -> Vec<(RicActionId, e2ap::Cause)> {
        args.numbers("refuse").into_iter().map(|id| (RicActionId(id), args.cause())).collect()
    }

    fn order(args: &Args<'_>) -> SubscriptionOrder {
        let time = |key| args.number(key).map(|at: u64| e2ap::RicSubscriptionTime(at.to_be_bytes()));
        let times = SubscriptionTimes { start: time("start"), end: time("end") };
        let ids = args.numbers(if args.has("ordered") { "ordered" } else { "actions" });
        SubscriptionOrder {
            spec: Self::spec(args),
            times,
            restore: !args.has("fleeting"),
            execution_order: ids.into_iter().map(RicActionId).zip(args.numbers("order")).collect(),
            consent: args.has("consent"),
        }
    }

    fn spec(args: &Args<'_>) -> SubscriptionSpec {
        let kind = match () {
            () if args.has("insert") => RicActionType::Insert,
            () if args.has("policy") => RicActionType::Policy,
            () => RicActionType::Report,
        };
        let actions = args.numbers("actions").into_iter().map(|id| Action {
            id: RicActionId(id),
            kind,
            definition: args.has("def").then(|| args.octets("def")),
            subsequent: args.has("zero").then_some(e2ap::RicSubsequentAction {
                kind: e2ap::RicSubsequentActionType::Continue,
                time_to_wait: e2ap::RicTimeToWait::Zero,
            }),
        });
        let event_trigger = match args.number("big") {
            Some(octets) => vec![0; octets],
            None => args.octets("trigger"),
        };
        SubscriptionSpec { event_trigger, actions: actions.collect() }
    }

    fn iapp(&mut self, name: &str, words: &[&str]) {
        let consumer = Consumer(name.trim_start_matches("iapp").parse().unwrap());
        let args = Args::new(&words[1..]);
        let node = NodeId(args.number("node").unwrap_or(0));
        let result = match words[0] {
            "subscribe" => {
                self.next_ticket += 1;
                let (ticket, function) = (Ticket(self.next_ticket), args.function());
                self.controller.subscribe(self.now, consumer, ticket, node, function, Self::order(&args))
            }
            "modify" => {
                self.next_ticket += 1;
                let (ticket, s) = (Ticket(self.next_ticket), SubscriptionId(args.number("s").unwrap()));
                self.controller.modify(self.now, consumer, ticket, s, Self::change(&args))
            }
            "query" => {
                self.next_ticket += 1;
                let (ticket, function) = (Ticket(self.next_ticket), args.function());
                let (header, definition) = (args.octets("header"), args.octets("definition"));
                self.controller.query(self.now, consumer, ticket, node, function, &header, &definition)
            }
            "answer-change" => {
                let s = SubscriptionId(args.number("s").unwrap());
                self.controller.answer_change(self.now, consumer, s, &Self::refused(&args))
            }
            "unsubscribe" => self.controller.unsubscribe(self.now, consumer, SubscriptionId(args.number("s").unwrap())),
            "control" => {
                self.next_ticket += 1;
                let (header, message) = (args.octets("header"), vec![0; args.number("octets").unwrap_or(0)]);
                let call = args.get("call").map(notation::hex);
                let (ticket, ack) = (Ticket(self.next_ticket), !args.has("noack"));
                self.controller.control(
                    self.now,
                    consumer,
                    ticket,
                    node,
                    args.function(),
                    &header,
                    &message,
                    call.as_deref(),
                    ack,
                )
            }
            "held" => {
                self.out.push(format!("= held {}", self.controller.requests_of(consumer)));
                Ok(())
            }
            other => panic!("unknown iApp command {other}"),
        };
        self.misuse(result);
    }

    fn xapp(&mut self, name: &str, words: &[&str]) {
        if words[0] == "open" {
            let assoc = self.open();
            self.xapps.insert(name.to_owned(), (assoc, XappClient::new()));
            return self.host.handle_open(assoc);
        }
        let (assoc, client) = self.xapps.get_mut(name).expect("an xApp opens first");
        let (assoc, args) = (*assoc, Args::new(&words[1..]));
        let mut pdu = Vec::new();
        match words[0] {
            "close" => return self.host.handle_close(self.now, assoc, &mut self.controller),
            "hello" => match args.number("version") {
                Some(version) => {
                    XappMessage::Hello { lowest: version, highest: version, name: name.into() }.encode(&mut pdu);
                }
                None => client.hello(name, &mut pdu),
            },
            "subscribe" => {
                let (node, function) = (NodeId(args.number("node").unwrap()), args.function());
                client.subscribe(node, function, Self::order(&args), &mut pdu);
            }
            "modify" => {
                client.modify(SubscriptionId(args.number("s").unwrap()), Self::change(&args), &mut pdu);
            }
            "query" => {
                let (node, function) = (NodeId(args.number("node").unwrap()), args.function());
                client.query(node, function, &args.octets("header"), &args.octets("definition"), &mut pdu);
            }
            "answer-change" => {
                let s = SubscriptionId(args.number("s").unwrap());
                client.answer_change(s, &Self::refused(&args), &mut pdu);
            }
            "unsubscribe" => client.unsubscribe(SubscriptionId(args.number("s").unwrap()), &mut pdu),
            "control" => {
                let (node, function) = (NodeId(args.number("node").unwrap()), args.function());
                let (header, message) = (args.octets("header"), args.octets("message"));
                let call = args.get("call").map(notation::hex);
                let ack = !args.has("noack");
                client.control(node, function, &header, &message, call.as_deref(), ack, &mut pdu);
            }
            "welcome" => RicMessage::NodeLost(NodeId(1)).encode(&mut pdu),
            "hex" => pdu = notation::hex(&words[1..].concat()),
            other => panic!("unknown xApp command {other}"),
        }
        self.host.handle_pdu(self.now, assoc, &pdu, &mut self.controller);
    }

    fn wait(&mut self, span: Duration) {
        let end = self.now + span;
        while let Some(at) = self.controller.poll_timeout().filter(|at| *at <= end) {
            assert!(at >= self.now, "no expired deadline is left");
            self.now = at;
            self.controller.handle_timeout(at);
            self.settle();
        }
        self.now = end;
    }

    fn name(&self, assoc: AssocId) -> &str {
        let nodes = self.nodes.iter().map(|(name, peer)| (name, peer.assoc));
        let xapps = self.xapps.iter().map(|(name, (assoc, _))| (name, *assoc));
        nodes.chain(xapps).find(|(_, a)| *a == assoc).map_or("(gone)", |(name, _)| name)
    }

    fn settle(&mut self) {
        while let Some(event) = self.controller.poll_event() {
            if let Some(event) = self.host.handle_event(event, &self.controller) {
                let line = self.event(&event);
                self.out.push(line);
            }
        }
        while let Some((assoc, notice)) = self.host.poll_notice() {
            self.out.push(format!("! {}: {notice}", self.name(assoc)));
        }
        let mut bytes = Vec::new();
        while let Some(assoc) = self.controller.poll_transmit(&mut bytes) {
            let version = self.nodes.values().find(|peer| peer.assoc == assoc).map_or(Version::V2_03, |p| p.version);
            let gather = Default::default();
            let pdu = e2ap::decode(&bytes, version, &gather).expect("a sent PDU decodes");
            self.out.push(format!("{} < {}", self.name(assoc), notation::format_pdu(&pdu.pdu)));
            bytes.clear();
        }
        while let Some(assoc) = self
            .host
            .poll_transmit(&mut bytes)
            .or_else(|| self.host.poll_announcement(&self.controller, &mut bytes, |_| true))
        {
            let message = RicMessage::decode(&bytes).expect("a message of the host decodes");
            self.out.push(format!("{} < {}", self.name(assoc), show_message(&message)));
            bytes.clear();
        }
        while let Some((assoc, reason)) = self.controller.poll_close() {
            self.out.push(format!("{} closed: {reason}", self.name(assoc)));
        }
        while let Some((assoc, reason)) = self.host.poll_close() {
            self.out.push(format!("{} closed: {reason}", self.name(assoc)));
        }
    }

    fn event(&self, event: &Event) -> String {
        match event {
            Event::NodeUp(id) => match self.controller.node(*id) {
                Some(node) => format!("! node-up {} {} on {}", id.0, node.global_id, self.name(node.assoc)),
                None => format!("! node-up {} and gone", id.0),
            },
            Event::NodeChanged(id) => match self.controller.node(*id) {
                Some(node) => {
                    let functions: Vec<_> = node.functions.iter().map(|f| f.id.0.to_string()).collect();
                    format!("! node-changed {} v{} fns={}", id.0, node.version, functions.join(","))
                }
                None => format!("! node-changed {} and gone", id.0),
            },
            Event::NodeLost { node, global_id, reason } => match reason {
                e2::LostReason::Removed => format!("! node-lost {} {global_id}: removed", node.0),
                e2::LostReason::Closed(reason) => format!("! node-lost {} {global_id}: {reason}", node.0),
                e2::LostReason::SetupAgain => format!("! node-lost {} {global_id}: it sets up again", node.0),
                other => panic!("no notation for {other:?}"),
            },
            Event::Request { consumer, event } => format!("! iapp{} {}", consumer.0, show_request_event(event)),
            Event::ConnectionUpdated { node, outcome } => match outcome {
                e2::ConnectionOutcome::Done(result) => {
                    format!("! connections of {} set-up={} failed={}", node.0, result.set_up.len(), result.failed.len())
                }
                other => format!("! connections of {} {other:?}", node.0),
            },
            Event::RemovalRefused { node, cause } => format!("! {} stays: {cause}", node.0),
            Event::Notice { assoc, notice } => format!("! {}: {notice}", self.name(*assoc)),
            other => panic!("no notation for {other:?}"),
        }
    }
}

/// Formats an event of an app.
fn show_request_event(event: &RequestEvent) -> String {
    match event {
        RequestEvent::Subscribed { ticket, subscription, admitted, not_admitted } => {
            format!("subscribed t={} s={}{}", ticket.0, subscription.0, actions(admitted, not_admitted))
        }
        RequestEvent::SubscriptionFailed { ticket, error } => format!("not subscribed t={} {error:?}", ticket.0),
        RequestEvent::SubscriptionEnded { subscription, end } => {
            format!("ended s={} {}", subscription.0, show_end(*end))
        }
        RequestEvent::SubscriptionSuspended(subscription) => format!("suspended s={}", subscription.0),
        RequestEvent::SubscriptionResumed { subscription, node, admitted, not_admitted } => {
            format!("resumed s={} node={}{}", subscription.0, node.0, actions(admitted, not_admitted))
        }
        RequestEvent::ChangeRequired { subscription, remove, modify } => {
            format!("asked s={} remove={remove:?} modify={modify:?}", subscription.0)
        }
        RequestEvent::SubscriptionChanged { subscription, removed, modified } => {
            format!("changed s={} removed={removed:?} modified={modified:?}", subscription.0)
        }
        RequestEvent::Modified { ticket, subscription, outcome } => {
            format!("modified t={} s={} {outcome:?}", ticket.0, subscription.0)
        }
        RequestEvent::Queried { ticket, outcome } => format!("queried t={} {outcome:?}", ticket.0),
        RequestEvent::Controlled { ticket, outcome } => format!("controlled t={} {outcome:?}", ticket.0),
        RequestEvent::ArbiterSet { refusal } => format!("arbiter {refusal:?}"),
        RequestEvent::Decided { question, refusal } => format!("decided q={question} {refusal:?}"),
        other => panic!("no notation for {other:?}"),
    }
}

fn actions(admitted: &[RicActionId], not_admitted: &[(RicActionId, e2ap::Cause)]) -> String {
    let admitted: Vec<_> = admitted.iter().map(|id| id.0.to_string()).collect();
    let not: Vec<_> = not_admitted.iter().map(|(id, cause)| format!(" not={} ({cause})", id.0)).collect();
    format!(" admitted={}{}", admitted.join(","), not.concat())
}

fn show_end(end: SubscriptionEnd) -> String {
    match end {
        SubscriptionEnd::ByNode(cause) => format!("by node ({cause})"),
        other => format!("{other:?}"),
    }
}

pub fn show_message(message: &RicMessage<'_>) -> String {
    match message {
        RicMessage::Welcome { version, ric_id } => format!("welcome version={version} {ric_id}"),
        RicMessage::NodeUp(node) => {
            let functions: Vec<_> = node.functions.iter().map(|f| f.id.0.to_string()).collect();
            format!("node-up {} {} v{} fns={}", node.id.0, node.global_id, node.version, functions.join(","))
        }
        RicMessage::NodeChanged(node) => {
            let functions: Vec<_> = node.functions.iter().map(|f| f.id.0.to_string()).collect();
            format!("node-changed {} v{} fns={}", node.id.0, node.version, functions.join(","))
        }
        RicMessage::NodeLost(node) => format!("node-lost {}", node.0),
        // for xApps a cause is formatted as text
        RicMessage::Request(RequestEvent::SubscriptionFailed {
            ticket,
            error: SubscribeError::Refused { cause, .. },
        }) => format!("not subscribed t={} refused ({cause})", ticket.0),
        RicMessage::Request(RequestEvent::Controlled {
            ticket,
            outcome: ControlOutcome::Failed { cause, outcome },
        }) => {
            format!("controlled t={} failed ({cause}) {outcome:?}", ticket.0)
        }
        RicMessage::Request(event) => show_request_event(event),
        RicMessage::Refused(code) => format!("refused {code:?}"),
        other => format!("{other:?}"),
    }
}
