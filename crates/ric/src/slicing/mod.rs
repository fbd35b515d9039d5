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
mod ues;

use std::time::Duration;

use ferric::e2::{Indication, NodeId};
use ferric::server::{Iapp, IappEvent, Ric, Server};

use crate::rest::{Route, attach};
use associations::Rules;
use controls::Controls;
use database::Database;
use model::Feed;
use node::Kept;

/// The internal app.
struct SlicingController {
    database: Database,
    controls: Controls,
    rules: Rules,
}

/// Adds it to a RIC. Nodes report to it by `period`. Its resources come back.
pub(crate) fn add_to(server: &mut Server, period: Duration) -> Result<Vec<Route>, ferric::Error> {
    let period_ms = period.as_millis().try_into().unwrap_or(u32::MAX);
    let app = SlicingController {
        database: Database::new(period_ms),
        controls: Controls::default(),
        rules: Rules::default(),
    };
    Ok(api::routes(&attach(server, app)?))
}

impl SlicingController {
    fn apply_rules(&mut self, node: NodeId, ric: &mut Ric<'_>) {
        let SlicingController { database, controls, rules } = self;
        rules.apply(node, controls, database, ric);
    }

    fn apply_all_rules(&mut self, ric: &mut Ric<'_>) {
        let nodes: Vec<_> = self.database.nodes().iter().map(|node| node.id).collect();
        nodes.into_iter().for_each(|node| self.apply_rules(node, ric));
    }
}

impl Iapp for SlicingController {
    fn name(&self) -> &'static str {
        "slicing controller"
    }

    fn on_event(&mut self, event: &IappEvent<'_>, ric: &mut Ric<'_>) {
        let SlicingController { database, controls, .. } = self;
        database.handle_event(event, ric);
        if let IappEvent::NodeUp(node) | IappEvent::NodeChanged(node) = event {
            database.place_ues(node.id, ric.ran());
        }
        if let Some(node) = controls.handle_event(event, database, ric) {
            self.apply_rules(node, ric);
        }
    }

    fn on_indication(&mut self, indication: &Indication<'_>, ric: &mut Ric<'_>) {
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
