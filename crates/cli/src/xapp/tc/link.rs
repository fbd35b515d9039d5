//! Records and controls over the RIC's own link for xApps.

use std::collections::HashMap;
use std::time::Duration;

use ::ric::traffic::record::{RlcRecord, TcRecord};
use ::ric::traffic::{Answer, record::Record, subscription};
use anyhow::Context;
use e2sm::tc::{ControlHeader, ControlMessage, ControlOutcome};
use e2sm::{Arena, Wire, rlc, tc};
use ferric::e2::xapp::{ControlResult, NodeInfo};
use ferric::e2::{NodeId, SubscriptionId, Ticket};
use ferric::e2ap::RanFunctionId;
use ferric::xapp::{Commands, Indication, Xapp, XappEvent};
use per::Gather;
use tracing::warn;

use super::Happened;

/// The session with the RIC.
pub struct LinkSide {
    xapp: Xapp,
    desk: Desk,
}

/// What is known of it.
struct Desk {
    /// From report to report; none where records come another way.
    period_ms: Option<u32>,
    nodes: HashMap<NodeId, LinkNode>,
    asked: HashMap<Ticket, Source>,
    sources: HashMap<SubscriptionId, Source>,
    /// Controls that were not answered: of which node, and the wire form of its outcome.
    controls: HashMap<Ticket, (String, Wire)>,
    arena: Arena,
    happened: Vec<Happened>,
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

impl LinkSide {
    pub fn new(xapp: Xapp, period_ms: Option<u32>) -> Self {
        let desk = Desk {
            period_ms,
            nodes: HashMap::new(),
            asked: HashMap::new(),
            sources: HashMap::new(),
            controls: HashMap::new(),
            arena: Arena::new(),
            happened: Vec::new(),
        };
        LinkSide { xapp, desk }
    }

    /// What comes within `patience`.
    pub fn turn(&mut self, patience: Duration) -> anyhow::Result<Vec<Happened>> {
        let LinkSide { xapp, desk } = self;
        xapp.turn(Some(patience), |event, ric| desk.handle(event, ric)).context("the RIC is gone")?;
        Ok(std::mem::take(&mut desk.happened))
    }

    /// Has a node's TC do something. What becomes of it comes by [`LinkSide::turn`].
    pub fn control(&mut self, node: &str, control: &ControlMessage<'_>) {
        let LinkSide { xapp, desk } = self;
        let known = desk.nodes.iter().find(|(_, known)| known.name == node);
        let Some((id, (function, wire))) = known.and_then(|(id, known)| Some((*id, known.tc?))) else {
            return desk.answer(node, Answer::Unknown); // lost meanwhile
        };
        let (mut header, mut message) = (Vec::new(), Vec::new());
        let written = ControlHeader::default().encode(wire, &mut header);
        if let Err(error) = written.and_then(|()| control.encode(wire, &mut message)) {
            return desk.answer(node, Answer::Refused(error.to_string()));
        }
        let ticket = xapp.commands().control(id, function, &header, &message);
        desk.controls.insert(ticket, (node.to_owned(), wire));
    }
}

impl Desk {
    fn answer(&mut self, node: &str, answer: Answer) {
        self.happened.push(Happened::Answered(node.to_owned(), answer));
    }

    fn handle(&mut self, event: XappEvent<'_>, ric: &mut Commands<'_>) {
        match event {
            XappEvent::NodeUp(node) | XappEvent::NodeChanged(node) => self.node_up(node, ric),
            XappEvent::NodeLost(node) => {
                let name = node.global_id.to_string();
                self.nodes.remove(&node.id);
                self.sources.retain(|_, source| source.node != name);
                self.controls.retain(|_, (of, _)| *of != name);
                self.happened.push(Happened::Lost(name));
            }
            XappEvent::Subscribed { ticket, subscription, .. } => {
                if let Some(source) = self.asked.remove(&ticket) {
                    self.sources.insert(subscription, source);
                }
            }
            XappEvent::SubscribeFailed { ticket, failure } => {
                if let Some(source) = self.asked.remove(&ticket) {
                    warn!(node = source.node, ?failure, "cannot subscribe");
                }
            }
            XappEvent::SubscriptionEnded { subscription, end } => {
                if let Some(source) = self.sources.remove(&subscription) {
                    warn!(node = source.node, ?end, "the subscription ended");
                }
            }
            XappEvent::Indication(indication) => self.indication(&indication),
            XappEvent::Controlled { ticket, result } => {
                if let Some((node, wire)) = self.controls.remove(&ticket) {
                    self.answer(&node, answer(result, wire));
                }
            }
            XappEvent::Dropped(reports) => warn!(reports, "we read too slowly: the RIC dropped reports"),
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
            self.happened.push(Happened::Lacking(name.clone()));
        }
        let known = self.nodes.insert(node.id, LinkNode { name: name.clone(), tc });
        let is_same = known.is_some_and(|known| known.tc == tc);
        let (Some(period_ms), false, Some(rlc), Some(tc)) = (self.period_ms, is_same, rlc, tc) else { return };
        for (model, (function, wire)) in [(Model::Rlc, rlc), (Model::Tc, tc)] {
            let ticket = ric.subscribe(node.id, function, subscription(period_ms, wire));
            self.asked.insert(ticket, Source { node: name.clone(), model, wire });
        }
    }

    fn indication(&mut self, indication: &Indication<'_>) {
        let Some(Source { node, model, wire }) = self.sources.get(&indication.subscription) else { return };
        let gather = Gather::new();
        let full; // an indication in fragments is gathered
        let message = match indication.peek() {
            Some(peeked) => peeked.message,
            None => match indication.decode(&gather) {
                Ok(decoded) => {
                    full = decoded.message.to_cow().into_owned();
                    &full[..]
                }
                Err(error) => return warn!(node, %error, "an indication cannot be read"),
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
            Ok(record) => self.happened.push(Happened::Told(node.clone(), record)),
            Err(error) => warn!(node, %error, "an indication message cannot be read"),
        }
    }
}

/// What became of a control; why, in the RAN function's words where its wire form has some.
fn answer(result: ControlResult, wire: Wire) -> Answer {
    match result {
        ControlResult::Acknowledged(_) | ControlResult::Sent => Answer::Done,
        ControlResult::Failed(cause, outcome) => {
            let outcome = outcome.and_then(|outcome| ControlOutcome::decode_owned(&outcome, wire).ok());
            let told = outcome.map(|outcome| outcome.diagnostic.to_string()).filter(|told| !told.is_empty());
            Answer::Refused(told.unwrap_or_else(|| format!("{cause} (the node's log says why)")))
        }
        ControlResult::TimedOut | ControlResult::NodeLost => Answer::Unknown,
        ControlResult::Misuse(code) => Answer::Refused(format!("the RIC does not ask for this: {code:?}")),
    }
}
