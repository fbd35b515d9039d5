//! Records and controls over the RIC's interface for xApps.

use std::collections::HashMap;
use std::fmt;
use std::time::Duration;

use e2sm::tc::{ControlHeader, ControlMessage, ControlOutcome};
use e2sm::{Arena, Wire, rlc, tc};
use ferric::e2;
use ferric::e2::xapp::NodeInfo;
use ferric::e2::{NodeId, SubscriptionId, Ticket};
use ferric::e2ap::RanFunctionId;
use ferric::xapp::{Commands, Indication, RequestEvent, Xapp, XappEvent};
use per::Gather;
use tracing::warn;

use super::record::{RlcRecord, TcRecord};
use super::{Answer, record::Record, subscription};

/// An event of a [`TrafficLink`]. Nodes are named as logged.
#[derive(Clone, Debug, PartialEq)]
pub enum LinkEvent {
    /// A record of a node.
    Record(String, Record),
    /// The outcome of a control of a node.
    Outcome(String, Answer),
    /// A node was lost.
    NodeLost(String),
    /// A node does not offer both RLC and TC.
    MissingFunctions(String),
}

/// The session of an xApp that drives a [`FlowGuard`](super::FlowGuard): it subscribes to RLC and TC of every node that offers
/// both, and sends controls to TC.
pub struct TrafficLink {
    xapp: Xapp,
    session: Session,
}

/// The state of the session.
struct Session {
    /// The reporting period; `None` if records come by Redis.
    period_ms: Option<u32>,
    nodes: HashMap<NodeId, LinkNode>,
    requested: HashMap<Ticket, Source>,
    sources: HashMap<SubscriptionId, Source>,
    /// Controls without an outcome: their node, and the wire form of the outcome.
    controls: HashMap<Ticket, (String, Wire)>,
    arena: Arena,
    events: Vec<LinkEvent>,
}

struct LinkNode {
    name: String,
    tc: Option<(RanFunctionId, Wire)>,
}

#[derive(Clone)]
struct Source {
    node: String,
    model: Model,
    wire: Wire,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Model {
    Rlc,
    Tc,
}

impl TrafficLink {
    /// Creates a session. `period_ms` is the reporting period; `None` subscribes to nothing and sends controls only.
    #[must_use]
    pub fn new(xapp: Xapp, period_ms: Option<u32>) -> Self {
        let session = Session {
            period_ms,
            nodes: HashMap::new(),
            requested: HashMap::new(),
            sources: HashMap::new(),
            controls: HashMap::new(),
            arena: Arena::new(),
            events: Vec::new(),
        };
        TrafficLink { xapp, session }
    }

    /// Returns the events that arrive within `patience`.
    ///
    /// # Errors
    /// As [`Xapp::poll`].
    pub fn poll(&mut self, patience: Duration) -> Result<Vec<LinkEvent>, ferric::Error> {
        self.poll_observed(patience, |_, _| ())
    }

    /// As [`TrafficLink::poll`]; `observe` sees every event of the session first, and may have subscriptions of its own.
    ///
    /// # Errors
    /// As [`Xapp::poll`].
    pub fn poll_observed(
        &mut self,
        patience: Duration,
        mut observe: impl FnMut(&XappEvent<'_>, &mut Commands<'_>),
    ) -> Result<Vec<LinkEvent>, ferric::Error> {
        let TrafficLink { xapp, session } = self;
        xapp.poll(Some(patience), |event, ric| {
            observe(&event, ric);
            session.handle(event, ric);
        })?;
        Ok(std::mem::take(&mut session.events))
    }

    /// Sends a control to a node's TC. Its outcome is an event of [`TrafficLink::poll`], unless the node is lost before.
    pub fn control(&mut self, node: &str, control: &ControlMessage<'_>) {
        let TrafficLink { xapp, session } = self;
        let known = session.nodes.iter().find(|(_, known)| known.name == node);
        let Some((id, (function, wire))) = known.and_then(|(id, known)| Some((*id, known.tc?))) else {
            return session.answer(node, Answer::Unknown); // it was lost
        };
        let (mut header, mut message) = (Vec::new(), Vec::new());
        let written = ControlHeader::default().encode(wire, &mut header);
        if let Err(error) = written.and_then(|()| control.encode(wire, &mut message)) {
            return session.answer(node, Answer::Refused(error.to_string()));
        }
        let ticket = xapp.commands().control(id, function, &header, &message);
        session.controls.insert(ticket, (node.to_owned(), wire));
    }
}

impl fmt::Debug for TrafficLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TrafficLink").field("nodes", &self.session.nodes.len()).finish_non_exhaustive()
    }
}

impl Session {
    fn answer(&mut self, node: &str, answer: Answer) {
        self.events.push(LinkEvent::Outcome(node.to_owned(), answer));
    }

    fn handle(&mut self, event: XappEvent<'_>, ric: &mut Commands<'_>) {
        match event {
            XappEvent::NodeUp(node) | XappEvent::NodeChanged(node) => self.node_up(node, ric),
            XappEvent::NodeLost(node) => {
                let name = node.global_id.to_string();
                self.nodes.remove(&node.id);
                self.sources.retain(|_, source| source.node != name);
                self.controls.retain(|_, (of, _)| *of != name);
                self.events.push(LinkEvent::NodeLost(name));
            }
            XappEvent::Request(RequestEvent::Subscribed { ticket, subscription, .. }) => {
                if let Some(source) = self.requested.remove(&ticket) {
                    self.sources.insert(subscription, source);
                }
            }
            XappEvent::Request(RequestEvent::SubscriptionFailed { ticket, error }) => {
                if let Some(source) = self.requested.remove(&ticket) {
                    warn!(node = source.node, %error, "cannot subscribe to its statistics");
                }
            }
            XappEvent::Request(RequestEvent::SubscriptionEnded { subscription, end }) => {
                if let Some(source) = self.sources.remove(&subscription) {
                    warn!(node = source.node, %end, "the subscription ended");
                }
            }
            XappEvent::Indication(indication) => self.indication(&indication),
            XappEvent::Request(RequestEvent::Controlled { ticket, outcome: result }) => {
                if let Some((node, wire)) = self.controls.remove(&ticket) {
                    self.answer(&node, answer(result, wire));
                }
            }
            XappEvent::ReportsDropped(reports) => warn!(reports, "this xApp reads too slowly: the RIC dropped reports"),
            // a node that comes back is subscribed to again: that gives back what was suspended
            _ => {}
        }
    }

    fn node_up(&mut self, node: &NodeInfo, ric: &mut Commands<'_>) {
        let name = node.global_id.to_string();
        let offered = |model: e2sm::Model| {
            node.functions.iter().find_map(|function| Some((function.id, model.wire_of(&function.oid)?)))
        };
        let (rlc, tc) = (offered(rlc::MODEL), offered(tc::MODEL));
        if rlc.is_none() || tc.is_none() {
            self.events.push(LinkEvent::MissingFunctions(name.clone()));
        }
        let known = self.nodes.insert(node.id, LinkNode { name: name.clone(), tc });
        let is_same = known.is_some_and(|known| known.tc == tc);
        let (Some(period_ms), false, Some(rlc), Some(tc)) = (self.period_ms, is_same, rlc, tc) else { return };
        for (model, (function, wire)) in [(Model::Rlc, rlc), (Model::Tc, tc)] {
            let ticket = ric.subscribe(node.id, function, subscription(period_ms, wire));
            self.requested.insert(ticket, Source { node: name.clone(), model, wire });
        }
    }

    fn indication(&mut self, indication: &Indication<'_>) {
        let Some(Source { node, model, wire }) = self.sources.get(&indication.subscription) else { return };
        let gather = Gather::new();
        let full; // a fragmented indication is gathered
        let message = match indication.peek() {
            Some(peeked) => peeked.message,
            None => match indication.decode(&gather) {
                Ok(decoded) => {
                    full = decoded.message.to_cow().into_owned();
                    &full[..]
                }
                Err(error) => return warn!(node, %error, "cannot decode an indication"),
            },
        };
        self.arena.reset();
        let record = match model {
            Model::Rlc => rlc::IndicationMessage::decode(message, *wire, &self.arena)
                .map(|message| Record::Rlc(RlcRecord::from(&message))),
            Model::Tc => tc::IndicationMessage::decode(message, *wire, &self.arena)
                .map(|message| Record::Tc(TcRecord::from(&message))),
        };
        match record {
            Ok(record) => self.events.push(LinkEvent::Record(node.clone(), record)),
            Err(error) => warn!(node, %error, "cannot decode an indication message"),
        }
    }
}

/// Returns the outcome of a control, with the RAN function's own reason if its wire form has one.
fn answer(outcome: e2::ControlOutcome, wire: Wire) -> Answer {
    match outcome {
        e2::ControlOutcome::Acknowledged(_) | e2::ControlOutcome::Sent => Answer::Done,
        e2::ControlOutcome::Failed { cause, outcome } => {
            let outcome = outcome.and_then(|outcome| ControlOutcome::decode_owned(&outcome, wire).ok());
            let diagnostic = outcome.map(|outcome| outcome.diagnostic.to_string()).filter(|text| !text.is_empty());
            Answer::Refused(diagnostic.unwrap_or_else(|| format!("{cause} (see the log of the node)")))
        }
        e2::ControlOutcome::TimedOut | e2::ControlOutcome::NodeLost => Answer::Unknown,
        e2::ControlOutcome::Misuse(code) => Answer::Refused(format!("the RIC refuses the control: {code}")),
        _ => Answer::Unknown,
    }
}
