//! The internal database of RAN statistics: the last reports of each connected node.
//!
//! It subscribes to each [`ReportModel`] that a node offers when the node connects, and again when its RAN functions change.

use e2sm::Arena;
use e2sm::common::{Cgi, NrCgi};
use e2sm::rrc::{Event, Notification};
use ferric::e2::topology::RanDatabase;
use ferric::e2::{self, Indication, NodeId, SubscribeError};
use ferric::server::{IappContext, IappEvent, RequestEvent};
use per::Gather;
use tracing::{info, warn};

use super::associations::RuleOfUe;
use super::model::ReportModel;
use super::node::{Node, ReportContent, Source, SourceState};
use super::ues::Ue;

/// The last reports of all nodes.
#[derive(Debug)]
pub(super) struct Database {
    /// The reporting period, in milliseconds.
    period_ms: u32,
    /// Sorted by id.
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

    /// Returns the node of a name, as logged.
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
                if let Some((_, _, source)) = self.find(&SourceState::Requested(*ticket)) {
                    source.state = SourceState::Subscribed(*subscription);
                }
            }
            IappEvent::Request(RequestEvent::SubscriptionFailed { ticket, error }) => {
                if let Some((id, node, source)) = self.find(&SourceState::Requested(*ticket)) {
                    source.set_unavailable(node, why(error), ric.allows_line(id));
                }
            }
            IappEvent::Request(RequestEvent::SubscriptionEnded { subscription, end }) => {
                if let Some((id, node, source)) = self.find(&SourceState::Subscribed(*subscription)) {
                    source.set_unavailable(node, format!("the subscription ended: {end}"), ric.allows_line(id));
                }
            }
            _ => {}
        }
    }

    /// Decodes and stores an indication. Returns content that needs further processing.
    pub fn handle_indication(&mut self, indication: &Indication<'_>, ric: &IappContext<'_>) -> Option<ReportContent> {
        let at = self.nodes.binary_search_by_key(&indication.node, |node| node.id).ok()?;
        let node = self.nodes.get_mut(at)?;
        let source = node.sources.iter_mut().find(|source| source.function == indication.ran_function_id)?;
        source.reports += 1;
        let (model, wire) = (source.model, source.wire);
        self.arena.reset();
        let gather = Gather::new();
        let stored = match indication.payload {
            Some((_, message)) => {
                node.store_report(model, wire, message, &self.arena).map_err(|error| error.to_string())
            }
            None => match indication.decode(&gather) {
                Ok(decoded) => node
                    .store_report(model, wire, &decoded.message.to_cow(), &self.arena)
                    .map_err(|error| error.to_string()),
                Err(error) => Err(error.to_string()),
            },
        };
        stored
            .inspect_err(|error| {
                let name = &node.name;
                let Some(source) = node.sources.iter_mut().find(|source| source.model == model) else { return };
                source.undecodable += 1;
                // logged at powers of two: a node may send only such reports
                if source.undecodable.is_power_of_two() && ric.allows_line(indication.node) {
                    warn!(node = name, model = model.name(), undecodable = source.undecodable, %error, "cannot decode a report");
                }
            })
            .ok()
    }

    /// Handles events of UEs that a node reports. Returns the nodes that serve these UEs.
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
                if let Some(before) = self.node_mut(before)
                    && let Some(rnti) = before.ues.leave(&notification.ue_id)
                    && before.id != serving
                {
                    before.forget_ue(rnti);
                }
            }
            // the reporting node stores it too, for serving nodes that connect later
            for id in [node, serving] {
                if let Some(known) = self.node_mut(id) {
                    known.ues.notified(node, notification);
                    // the departure may be reported before the handover
                    if notification.event == Event::Detached {
                        known.forget_ue(notification.rnti.0);
                    }
                }
            }
            concerned.push(serving);
        }
        concerned.sort_unstable();
        concerned.dedup();
        concerned
    }

    /// Returns the node that has the slices of a cell that `node` reports: that node, or the DU of its base station that reported
    /// the cell, or the only DU.
    fn serving(&self, node: NodeId, cell: &Cgi, ran: &RanDatabase) -> NodeId {
        let has_slices = |id: &NodeId| self.node(*id).is_some_and(|node| node.source(ReportModel::Slice).is_some());
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

    /// Adds UEs that were reported before to the nodes that serve them, after a node has connected or changed its cells.
    pub fn place_ues(&mut self, changed: NodeId, ran: &RanDatabase) {
        for (reporter, _) in ran.station_of(changed).into_iter().flat_map(|station| station.nodes()) {
            let Some(reporting) = self.node(reporter) else { continue };
            let ues = reporting.ues.iter().filter(|(_, ue)| ue.reporter == reporter);
            let served: Vec<_> =
                ues.map(|(rnti, ue)| (self.serving(reporter, &ue.cell, ran), rnti, ue.clone())).collect();
            for (serving, rnti, ue) in served.into_iter().filter(|(serving, ..)| *serving != reporter) {
                if let Some(known) = self.node_mut(serving)
                    && known.ues.get(rnti).is_none()
                {
                    known.ues.add(rnti, Ue { rule: RuleOfUe::New, ..ue });
                }
            }
        }
    }

    /// Returns the source in a certain state, and the name of its node.
    fn find(&mut self, wanted: &SourceState) -> Option<(NodeId, &str, &mut Source)> {
        self.nodes.iter_mut().find_map(|node| {
            let source = node.sources.iter_mut().find(|source| source.state == *wanted)?;
            Some((node.id, &*node.name, source))
        })
    }

    /// Adds or updates a node, and subscribes to its RAN functions.
    fn update_node(&mut self, reported: &e2::Node, ric: &mut IappContext<'_>) {
        let at = match self.nodes.binary_search_by_key(&reported.id, |node| node.id) {
            Ok(at) => at,
            Err(at) => {
                self.nodes.insert(at, Node::new(reported));
                at
            }
        };
        let node = &mut self.nodes[at];
        node.update(reported);
        for model in ReportModel::ALL {
            let offered = reported.functions.iter().find_map(|function| Some((function.id, model.wire_of(function)?)));
            let known = node.source(model).map(|source| (source.function, source.wire));
            if offered == known {
                continue;
            }
            // the subscription ended with its function
            node.remove_reports(model);
            let Some((function, wire)) = offered else { continue };
            let state = match model.order(wire, self.period_ms) {
                Ok(order) => match ric.subscribe(reported.id, function, order) {
                    Ok(ticket) => SourceState::Requested(ticket),
                    Err(misuse) => SourceState::Unavailable(misuse.to_string()),
                },
                Err(error) => SourceState::Unavailable(error.to_string()),
            };
            if let SourceState::Unavailable(why) = &state
                && ric.allows_line(reported.id)
            {
                warn!(node = node.name, model = model.name(), "no statistics: {why}");
            }
            node.sources.push(Source { model, function, wire, state, reports: 0, undecodable: 0 });
        }
        let reports_ues = node.source(ReportModel::Rrc).is_some();
        if ric.allows_line(reported.id) {
            let models: Vec<_> = node.sources.iter().map(|source| source.model.name()).collect();
            info!(node = node.name, ?models, "subscribed to statistics for REST");
        }
        if !reports_ues {
            self.nodes.iter_mut().for_each(|node| node.ues.remove_of_reporter(reported.id));
        }
    }
}

fn why(error: &SubscribeError) -> String {
    match error {
        SubscribeError::Refused { cause, .. } => format!("the node refuses: {cause}"),
        SubscribeError::TimedOut => "the node did not answer".to_owned(),
        SubscribeError::NodeLost => "the node was lost".to_owned(),
        other => other.to_string(),
    }
}
