//! The slicing controller of the FlexRIC paper's 6.1.2 (its table 4): an internal database of RAN statistics, the SC SM
//! manager that relays slice controls, and rules that put UEs into slices; all of it asked by REST.
//!
//! It knows no radio access technology: what it says to an LTE cell is what it says to an NR cell. Whether slices can be,
//! the node's RAN function decides, by its own admission; a refusal goes to the client in the function's words.

mod api;
mod associations;
mod controls;
mod database;
mod direction;

mod model;
mod node;
mod rule_file;
mod ues;

use std::time::Duration;

use ferric::e2::{Indication, NodeId};
use ferric::server::{Iapp, IappContext, IappEvent, Server};

use associations::Rules;
use controls::Controls;
use database::Database;
use iapp_rest::add_iapp;
use model::Feed;
use node::Kept;
use rest::{Problem, Reply, Response, Route};
use rule_file::Keeper;
pub use rule_file::{RuleFile, RuleFileError};

/// The internal app.
struct SlicingController {
    database: Database,
    controls: Controls,
    rules: Rules,
    keeper: Option<Keeper>,
}

/// Adds it to a RIC. Nodes report to it by `period`; its rules are kept in a file, where there is one. Its resources come back.
pub fn add_to(server: &mut Server, period: Duration, rules: Option<RuleFile>) -> Result<Vec<Route>, ferric::Error> {
    let kept = rules.map(RuleFile::start).transpose();
    let kept = kept.map_err(|source| ferric::Error::System { what: "start a thread", source })?;
    let (rules, keeper) = kept.map_or_else(Default::default, |(rules, keeper)| (rules, Some(keeper)));
    let period_ms = period.as_millis().try_into().unwrap_or(u32::MAX);
    let app = SlicingController { database: Database::new(period_ms), controls: Controls::default(), rules, keeper };
    Ok(api::routes(&add_iapp(server, app)?))
}

impl SlicingController {
    fn apply_rules(&mut self, node: NodeId, ric: &mut IappContext<'_>) {
        let SlicingController { database, controls, rules, .. } = self;
        rules.apply(node, controls, database, ric);
    }

    /// Answers a request by which rules were changed, once they are kept.
    fn changed_rules(&mut self, reply: Reply, answer: Result<Response, Problem>) {
        match (&self.keeper, &answer) {
            (Some(keeper), Ok(_)) => keeper.keep(&self.rules, reply, answer),
            _ => reply.send(answer),
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
        match self.database.handle_indication(indication) {
            Some(Kept::Slices) => self.apply_rules(indication.node, ric),
            Some(Kept::Ues(notifications)) => {
                let concerned = self.database.handle_notifications(indication.node, &notifications, ric.ran());
                concerned.into_iter().for_each(|node| self.apply_rules(node, ric));
            }
            Some(Kept::Statistics) | None => {}
        }
    }
}
