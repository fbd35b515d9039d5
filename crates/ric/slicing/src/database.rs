//! The internal database of RAN statistics: the last that each node told, until the node is lost.
//!
//! It subscribes to what a node offers of [`Feed`] when the node comes, and again where the node tells of other functions.

use e2sm::Arena;
use e2sm::common::{Cgi, NrCgi};
use e2sm::rrc::{Event, Notification};
use ferric::e2::topology::RanDatabase;
use ferric::e2::{self, Indication, NodeId, SubscribeError};
use ferric::server::{IappContext, IappEvent, RequestEvent};
use per::Gather;
use tracing::{info, warn};

use super::associations::RuleOfUe;
use super::model::Feed;
use super::node::{Node, ReportContent, Source, SourceState};
use super::ues::Ue;

/// What all nodes told last.
#[derive(Debug)]
pub(super) struct Database {
    /// From report to report, in milliseconds.
    period_ms: u32,
    /// By id.
    nodes: Vec<Node>,
    arena: Arena,
}

impl Database {
    pub fn new(period_ms: u32) -> Self {
        Database { period_ms, nodes: Vec::new(), arena: Arena::new() }
    }

    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    pub fn node(&self, id: NodeId) -> Option<&Node> {
        let at = self.nodes.binary_search_by_key(&id, |node| node.id).ok()?;
        self.nodes.get(at)
    }

    pub fn node_mut(&mut self, id: NodeId) -> Option<&mut Node> {
        let at = self.nodes.binary_search_by_key(&id, |node| node.id).ok()?;
        self.nodes.get_mut(at)
    }

    pub fn nodes_mut(&mut self) -> impl Iterator<Item = &mut Node> {
        self.nodes.iter_mut()
    }

    /// By the name that the log writes.
    pub fn named(&self, name: &str) -> Option<&Node> {
        self.nodes.iter().find(|node| node.name == name)
    }

    pub fn handle_event(&mut self, event: &IappEvent<'_>, ric: &mut IappContext<'_>) {
        match event {
            IappEvent::NodeUp(node) | IappEvent::NodeChanged(node) => self.update_node(node, ric),
            IappEvent::NodeLost(id) => {
                self.nodes.retain(|node| node.id != *id);
                self.nodes.iter_mut().for_each(|node| node.ues.remove_of_reporter(*id));
            }
            IappEvent::Request(RequestEvent::Subscribed { ticket, subscription, .. }) => {
                if let Some((_, source)) = self.find(&SourceState::Asked(*ticket)) {
                    source.state = SourceState::Subscribed(*subscription);
                }
            }
            IappEvent::Request(RequestEvent::SubscriptionFailed { ticket, error }) => {
                if let Some((node, source)) = self.find(&SourceState::Asked(*ticket)) {
                    source.silence(node, why(error));
                }
            }
            IappEvent::Request(RequestEvent::SubscriptionEnded { subscription, end }) => {
                if let Some((node, source)) = self.find(&SourceState::Subscribed(*subscription)) {
                    source.silence(node, format!("the subscription has ended: {end:?}"));
                }
            }
            _ => {}
        }
    }

    /// Takes an indication. What is more than numbers is told.
    pub fn handle_indication(&mut self, indication: &Indication<'_>) -> Option<ReportContent> {
        let at = self.nodes.binary_search_by_key(&indication.node, |node| node.id).ok()?;
        let node = self.nodes.get_mut(at)?;
        let source = node.sources.iter_mut().find(|source| source.function == indication.ran_function_id)?;
        source.reports += 1;
        let (feed, wire) = (source.feed, source.wire);
        self.arena.reset();
        let gather = Gather::new();
        let kept = match indication.payload {
            Some((_, message)) => node.keep(feed, wire, message, &self.arena).map_err(|error| error.to_string()),
            None => match indication.decode(&gather) {
                Ok(whole) => {
                    node.keep(feed, wire, &whole.message.to_cow(), &self.arena).map_err(|error| error.to_string())
                }
                Err(error) => Err(error.to_string()),
            },
        };
        kept.inspect_err(|error| {
            let name = &node.name;
            let Some(source) = node.sources.iter_mut().find(|source| source.feed == feed) else { return };
            source.unread += 1;
            // a node that always sends such is told of a few times
            if source.unread.is_power_of_two() {
                warn!(node = name, model = feed.name(), unread = source.unread, %error, "a report cannot be read");
            }
        })
        .ok()
    }

    /// What happened to UEs, as a node tells. The nodes that serve them are told.
    pub fn handle_notifications(
        &mut self,
        node: NodeId,
        notifications: &[Notification<'static>],
        ran: &RanDatabase,
    ) -> Vec<NodeId> {
        let mut concerned = Vec::new();
        for notification in notifications {
            let serving = self.serving(node, &notification.cell, ran);
            if let Event::HandedOver(from) = &notification.event {
                let before = self.serving(node, from, ran);
                if let Some(before) = self.node_mut(before) {
                    before.ues.leave(&notification.ue_id);
                }
            }
            // who tells it keeps it too, for nodes that are to come
            for place in [node, serving] {
                if let Some(known) = self.node_mut(place) {
                    known.ues.notified(node, notification);
                }
            }
            concerned.push(serving);
        }
        concerned.sort_unstable();
        concerned.dedup();
        concerned
    }

    /// The node that has the slices of a cell that `node` tells of: that node, or else the DU of its base station that has told
    /// of the cell, or the only one that there is.
    fn serving(&self, node: NodeId, cell: &Cgi, ran: &RanDatabase) -> NodeId {
        let has_slices = |id: &NodeId| self.node(*id).is_some_and(|node| node.source(Feed::Slice).is_some());
        let Some(station) = ran.station_of(node).filter(|_| !has_slices(&node)) else { return node };
        let Cgi::NrCgi(nr_cgi) = *cell else { return node };
        let of_cell = |cell: &NrCgi| *cell == nr_cgi;
        let mut of_cell = station.cells().filter(|(_, cell)| of_cell(cell)).map(|(node, _)| node).filter(has_slices);
        let mut all = station.nodes().map(|(node, _)| node).filter(has_slices);
        match (of_cell.next(), all.next(), all.next()) {
            (Some(serving), ..) | (None, Some(serving), None) => serving,
            _ => node,
        }
    }

    /// A node has come, or tells of other cells: UEs that were told of before are where they are served.
    pub fn place_ues(&mut self, come: NodeId, ran: &RanDatabase) {
        for (teller, _) in ran.station_of(come).into_iter().flat_map(|station| station.nodes()) {
            let Some(told) = self.node(teller) else { continue };
            let ues = told.ues.iter().filter(|(_, ue)| ue.reporter == teller);
            let served: Vec<_> =
                ues.map(|(rnti, ue)| (self.serving(teller, &ue.cell, ran), rnti, ue.clone())).collect();
            for (serving, rnti, ue) in served.into_iter().filter(|(serving, ..)| *serving != teller) {
                if let Some(known) = self.node_mut(serving)
                    && known.ues.get(rnti).is_none()
                {
                    known.ues.add(rnti, Ue { rule: RuleOfUe::New, ..ue });
                }
            }
        }
    }

    /// The source in a certain state, and the name of its node.
    fn find(&mut self, wanted: &SourceState) -> Option<(&str, &mut Source)> {
        self.nodes.iter_mut().find_map(|node| {
            let source = node.sources.iter_mut().find(|source| source.state == *wanted)?;
            Some((&*node.name, source))
        })
    }

    /// A node is there, or tells of other functions than before.
    fn update_node(&mut self, told: &e2::Node, ric: &mut IappContext<'_>) {
        let at = match self.nodes.binary_search_by_key(&told.id, |node| node.id) {
            Ok(at) => at,
            Err(at) => {
                self.nodes.insert(at, Node::new(told));
                at
            }
        };
        let node = &mut self.nodes[at];
        node.told(told);
        for feed in Feed::ALL {
            let offered = told.functions.iter().find_map(|function| Some((function.id, feed.wire_of(function)?)));
            let known = node.source(feed).map(|source| (source.function, source.wire));
            if offered == known {
                continue;
            }
            // what was subscribed to went with its function
            node.forget(feed);
            let Some((function, wire)) = offered else { continue };
            let state = match feed.order(wire, self.period_ms) {
                Ok(order) => match ric.subscribe(told.id, function, order) {
                    Ok(ticket) => SourceState::Asked(ticket),
                    Err(misuse) => SourceState::Silent(misuse.to_string()),
                },
                Err(error) => SourceState::Silent(error.to_string()),
            };
            if let SourceState::Silent(why) = &state {
                warn!(node = node.name, model = feed.name(), "no statistics: {why}");
            }
            node.sources.push(Source { feed, function, wire, state, reports: 0, unread: 0 });
        }
        let tells_of_ues = node.source(Feed::Rrc).is_some();
        let feeds: Vec<_> = node.sources.iter().map(|source| source.feed.name()).collect();
        info!(node = node.name, ?feeds, "is read for the REST interface");
        if !tells_of_ues {
            self.nodes.iter_mut().for_each(|node| node.ues.remove_of_reporter(told.id));
        }
    }
}

fn why(error: &SubscribeError) -> String {
    match error {
        SubscribeError::Refused { cause, .. } => format!("the node refuses: {cause}"),
        SubscribeError::TimedOut => "the node did not answer".to_owned(),
        SubscribeError::NodeLost => "the node is gone".to_owned(),
        other => other.to_string(),
    }
}
