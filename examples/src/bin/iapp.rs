//! A RIC with an iApp that subscribes to the PRB usage of each node's KPM function, and counts the indications.
//!
//! `cargo run -p ferric-examples --bin iapp`, which is a complete RIC, then `ferric ran`

use std::collections::BTreeMap;

use e2sm::kpm::{MeasurementRequest, RanFunctionDefinition, ReportRequest, Revision, Scope};
use ferric::e2::{Action, Indication, Node, NodeId, SubscriptionSpec};
use ferric::e2ap::{RanFunctionId, RicActionId, RicActionType};
use ferric::server::{Iapp, IappContext, IappEvent, Server, ServerConfig};

/// Counts indications per node.
pub struct Counter<F> {
    /// The number of indications of each node.
    pub counts: BTreeMap<NodeId, u64>,
    /// Called for each indication with the node's count.
    pub on_count: F,
}

impl<F: FnMut(NodeId, u64) + Send> Iapp for Counter<F> {
    fn name(&self) -> &str {
        "counter"
    }

    fn on_event(&mut self, event: &IappEvent<'_>, ric: &mut IappContext<'_>) {
        if let IappEvent::NodeUp(node) = event
            && let Some(spec) = prb_use(node)
        {
            let _ = ric.subscribe(node.id, RanFunctionId(2), spec); // the result is an event
        }
    }

    fn on_indication(&mut self, indication: &Indication<'_>, _ric: &mut IappContext<'_>) {
        let count = self.counts.entry(indication.node).or_default();
        *count += 1;
        (self.on_count)(indication.node, *count);
    }
}

/// The PRB usage, ten times a second, if the node has a KPM function of v03.00 that offers it.
fn prb_use(node: &Node) -> Option<SubscriptionSpec> {
    let (kpm, revision) = (node.function(RanFunctionId(2))?, Revision::V3_00);
    let offered = RanFunctionDefinition::decode_owned(&kpm.definition, revision).ok()?;
    let measurements = &[MeasurementRequest::named("RRU.PrbTotDl")];
    let request =
        ReportRequest { measurements, granularity_period_ms: 100, reporting_period_ms: 100, scope: Scope::Node };
    let plan = request.plan(&offered, revision).ok()?;
    let (mut event_trigger, mut definition) = (Vec::new(), Vec::new());
    plan.trigger.encode(revision, &mut event_trigger).ok()?;
    plan.action.encode(revision, &mut definition).ok()?;
    let (id, kind) = (RicActionId(0), RicActionType::Report);
    let actions = vec![Action { id, kind, definition: Some(definition), subsequent: None }];
    Some(SubscriptionSpec { event_trigger, actions })
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut server = Server::bind(ServerConfig::default())?;
    let on_count = |node: NodeId, count| println!("node {}: {count} indications", node.0);
    server.add_iapp(Box::new(Counter { counts: BTreeMap::new(), on_count }));
    Ok(server.run()?)
}
