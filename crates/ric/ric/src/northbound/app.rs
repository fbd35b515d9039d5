//! The internal app behind the resources that concern the RIC as a whole.

use std::collections::HashMap;

use ferric::e2::topology::RanEvent;
use ferric::e2::{ControlOutcome, Indication, NodeId};
use ferric::server::{Iapp, IappContext, IappEvent, IappWaker};
use iapp_rest::{Job, Topic};
use rest::{Broadcast, RequestQueue, StreamEvent};
use serde_json::{Value, json};
use tracing::warn;

use super::cell_configuration::CellConfigurations;
use super::cell_states::CellStateReports;
use super::handover_requests::HandoverRequests;
use super::kpm::KpmStreams;
use super::messages::MessageStreams;
use super::metrics::RicMetrics;
use super::policies::Policies;
use super::ue_controls::UeControls;
use super::verification::Verifications;

/// The queue of requests to the app.
pub(super) type AppQueue = RequestQueue<Job<RicApp>>;

/// The internal app.
pub(super) struct RicApp {
    pub events: Broadcast,
    pub cells: CellStateReports,
    pub configurations: CellConfigurations,
    pub handovers: HandoverRequests,
    pub kpm: KpmStreams,
    pub messages: MessageStreams,
    pub metrics: RicMetrics,
    pub policies: Policies,
    pub ues: UeControls,
    pub verifications: Verifications,
    /// The names of nodes, for events of those that are lost.
    names: HashMap<NodeId, String>,
}

impl RicApp {
    pub fn new(events: Broadcast, metrics: RicMetrics, waker: IappWaker) -> Self {
        RicApp {
            events,
            cells: CellStateReports::default(),
            configurations: CellConfigurations::default(),
            handovers: HandoverRequests::default(),
            kpm: KpmStreams::default(),
            messages: MessageStreams::new(waker.clone()),
            metrics,
            policies: Policies::default(),
            ues: UeControls::default(),
            verifications: Verifications::new(waker),
            names: HashMap::new(),
        }
    }

    fn publish(&self, topic: Topic, kind: &'static str, data: impl FnOnce() -> Value) {
        self.events.publish(topic.bit(), || StreamEvent::new(kind, &data()));
    }

    fn publish_of_ran(&self, event: &RanEvent, ric: &IappContext<'_>) {
        let (kind, station) = match event {
            RanEvent::Complete(station) => ("base_station_complete", station),
            RanEvent::Incomplete(station) => ("base_station_incomplete", station),
            RanEvent::UesJoined { stays, gone } => {
                return self.publish(Topic::Ues, "ues_joined", || json!({ "stays": stays.0, "gone": gone.0 }));
            }
            // events of nodes have these
            _ => return,
        };
        self.publish(Topic::Nodes, kind, || {
            let station = ric.ran().station(*station);
            json!({
                "base_station": station.map(|station| station.key().to_string()),
                "missing": station.map(|station| station.missing().map(|part| part.to_string()).collect::<Vec<_>>()),
            })
        });
    }
}

impl Iapp for RicApp {
    fn name(&self) -> &'static str {
        "northbound"
    }

    fn on_event(&mut self, event: &IappEvent<'_>, ric: &mut IappContext<'_>) {
        match event {
            IappEvent::NodeUp(node) => {
                let name = node.global_id.to_string();
                self.publish(
                    Topic::Nodes,
                    "node_up",
                    || json!({ "node": name, "e2ap": node.version.to_string(), "functions": node.functions.len() }),
                );
                self.names.insert(node.id, name);
                self.cells.add_node(node, ric);
                self.kpm.add_node(node, &self.cells, ric);
                self.policies.add_node(node, ric);
                self.handovers.add_node(node, ric);
                self.messages.update_node(node, ric);
            }
            IappEvent::NodeChanged(node) => {
                self.publish(
                    Topic::Nodes,
                    "node_changed",
                    || json!({ "node": node.global_id.to_string(), "functions": node.functions.len() }),
                );
                self.messages.update_node(node, ric);
            }
            IappEvent::ConnectionUpdated { node, .. } => self.messages.update_associations(*node, ric),
            IappEvent::NodeLost(node) => {
                let name = self.names.remove(node);
                self.publish(Topic::Nodes, "node_lost", || json!({ "node": name }));
                self.cells.remove_node(*node);
                self.kpm.remove_node(*node);
                self.policies.remove_node(*node, ric);
                self.handovers.remove_node(*node);
                self.messages.remove_node(*node);
            }
            IappEvent::Ran(event) => self.publish_of_ran(event, ric),
            IappEvent::ControlEnded(ended) => {
                self.metrics.note_control(&ended.outcome, ended.duration);
                self.publish(Topic::Controls, "control", || {
                    json!({
                        "node": self.names.get(&ended.node),
                        "app": ric.name_of(ended.consumer),
                        "function": ended.function.0,
                        "outcome": outcome(&ended.outcome),
                        "cause": match &ended.outcome {
                            ControlOutcome::Failed { cause, .. } => Some(cause.to_string()),
                            _ => None,
                        },
                        "duration_ms": ended.duration.as_secs_f64() * 1e3,
                    })
                });
            }
            IappEvent::Request(request) => {
                self.cells.handle_request(request, ric);
                self.kpm.handle_request(request, ric);
                self.policies.handle_request(request, ric);
                self.handovers.handle_request(request, ric);
                self.configurations.handle_request(request);
                self.ues.handle_request(request, &mut self.verifications, ric);
                self.verifications.handle_request(request, ric);
            }
            _ => {}
        }
    }

    fn on_indication(&mut self, indication: &Indication<'_>, ric: &mut IappContext<'_>) {
        match self.cells.handle_indication(indication) {
            None => {
                let is_taken = self.verifications.handle_indication(indication, ric)
                    || self.handovers.handle_indication(indication, ric);
                if !is_taken {
                    self.kpm.handle_indication(indication, ric);
                }
            }
            Some(Ok(changed)) => {
                for ((plmn, cell), states) in changed {
                    let (plmn, cell) = (plmn.to_string(), cell.to_string());
                    let node = self.names.get(&indication.node);
                    self.publish(
                        Topic::Nodes,
                        "cell_changed",
                        || json!({ "cell": cell, "plmn": plmn, "node": node, "states": states }),
                    );
                }
            }
            Some(Err(error)) => {
                if ric.allows_line(indication.node) {
                    let node = self.names.get(&indication.node);
                    warn!(node, "states of cells are unknown: malformed report: {error}");
                }
            }
        }
    }

    fn on_wake(&mut self, ric: &mut IappContext<'_>) {
        self.kpm.forget_closed(ric);
        self.messages.forget_closed(ric);
        self.verifications.advance(ric);
    }
}

/// The outcome of a control in one word.
pub(super) fn outcome(outcome: &ControlOutcome) -> &'static str {
    match outcome {
        ControlOutcome::Acknowledged(_) => "acknowledged",
        ControlOutcome::Failed { .. } => "refused",
        ControlOutcome::TimedOut => "timed_out",
        ControlOutcome::NodeLost => "node_lost",
        ControlOutcome::Sent => "sent",
        _ => "other",
    }
}
