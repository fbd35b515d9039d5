//! The slicing controller of the FlexRIC paper's 6.1.2 (its table 4): an internal database of RAN statistics, the SC SM
//! manager that relays slice controls, and rules that associate UEs with slices. All of it is used by REST.
//!
//! It is independent of the radio access technology: LTE and NR cells receive the same controls. The node's RAN function
//! decides by its own admission control whether slices are possible; the client receives the function's reason for a refusal.

mod api;
mod associations;
mod controls;
mod database;
mod direction;

mod model;
mod node;
mod rule_file;
mod ue_id_reports;
mod ues;

use std::time::Duration;

use e2sm::rrc::{Event, Notification};
use ferric::e2::topology::{UeChange, UeReference};
use ferric::e2::{Indication, NodeId};
use ferric::server::{Iapp, IappContext, IappEvent, Server};

use serde_json::json;

use associations::Rules;
use controls::Controls;
use database::Database;
use iapp_rest::{Topic, add_iapp};
use model::ReportModel;
use node::ReportContent;
use rest::{Broadcast, Problem, Reply, Response, Route, StreamEvent};
use rule_file::RuleWriter;
pub use rule_file::{RuleFile, RuleFileError};
pub use ue_id_reports::ask_for_ue_ids;

/// The internal app.
struct SlicingController {
    database: Database,
    controls: Controls,
    rules: Rules,
    rule_writer: Option<RuleWriter>,
    /// Where events of UEs are published.
    events: Broadcast,
}

/// Adds the slicing controller to a RIC. Nodes report every `period`; rules are stored in a file if one is given; events of UEs are
/// published. Returns the routes of its resources.
///
/// # Errors
/// If the system refuses a thread or a file descriptor.
pub fn add_to(
    server: &mut Server,
    period: Duration,
    rules: Option<RuleFile>,
    events: Broadcast,
) -> Result<Vec<Route>, ferric::Error> {
    let stored = rules.map(RuleFile::start).transpose();
    let stored = stored.map_err(|source| ferric::Error::System { what: "start a thread", source })?;
    let (rules, rule_writer) = stored.map_or_else(Default::default, |(rules, rule_writer)| (rules, Some(rule_writer)));
    let period_ms = period.as_millis().try_into().unwrap_or(u32::MAX);
    let database = Database::new(period_ms);
    let app = SlicingController { database, controls: Controls::default(), rules, rule_writer, events };
    Ok(api::routes(&add_iapp(server, app)?))
}

impl SlicingController {
    fn apply_rules(&mut self, node: NodeId, ric: &mut IappContext<'_>) {
        let SlicingController { database, controls, rules, .. } = self;
        rules.apply(node, controls, database, ric);
    }

    /// Answers a request that changed rules, once they are stored.
    fn changed_rules(&mut self, reply: Reply, answer: Result<Response, Problem>) {
        match (&self.rule_writer, &answer) {
            (Some(rule_writer), Ok(_)) => rule_writer.write(&self.rules, reply, answer),
            _ => reply.send(answer),
        }
    }

    /// Publishes events of UEs.
    fn publish(&self, node: NodeId, notifications: &[Notification<'static>]) {
        for notification in notifications {
            self.events.publish(Topic::Ues.bit(), || {
                let kind = match notification.event {
                    Event::Attached => "ue_attached",
                    Event::Present => "ue_present",
                    Event::HandedOver(_) => "ue_handed_over",
                    Event::Detached => "ue_detached",
                };
                let node = self.database.node(node).map(|node| &*node.name);
                let (ue, rnti) = (UeReference::of(&notification.ue_id).to_string(), notification.rnti.0);
                StreamEvent::new(kind, &json!({ "node": node, "ue": ue, "rnti": rnti }))
            });
        }
    }

    fn apply_all_rules(&mut self, ric: &mut IappContext<'_>) {
        let nodes: Vec<_> = self.database.nodes().iter().map(|node| node.id).collect();
        nodes.into_iter().for_each(|node| self.apply_rules(node, ric));
    }
}

impl Iapp for SlicingController {
    fn name(&self) -> &'static str {
        "slicing controller"
    }

    fn on_event(&mut self, event: &IappEvent<'_>, ric: &mut IappContext<'_>) {
        let SlicingController { database, controls, .. } = self;
        database.handle_event(event, ric);
        if let IappEvent::NodeUp(node) | IappEvent::NodeChanged(node) = event {
            database.place_ues(node.id, ric.ran());
        }
        if let Some(node) = controls.handle_event(event, database, ric) {
            self.apply_rules(node, ric);
        }
    }

    fn on_indication(&mut self, indication: &Indication<'_>, ric: &mut IappContext<'_>) {
        match self.database.handle_indication(indication, ric) {
            Some(ReportContent::Slices) => self.apply_rules(indication.node, ric),
            Some(ReportContent::Ues(notifications)) => {
                for notification in &notifications {
                    ric.apply_ue(indication.node, &UeChange::of_notification(notification));
                }
                self.publish(indication.node, &notifications);
                let concerned = self.database.handle_notifications(indication.node, &notifications, ric.ran());
                concerned.into_iter().for_each(|node| self.apply_rules(node, ric));
            }
            Some(ReportContent::Rntis(changes)) => {
                changes.iter().for_each(|change| ric.apply_ue(indication.node, change));
            }
            Some(ReportContent::Statistics) | None => {}
        }
    }
}
