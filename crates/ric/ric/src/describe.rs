//! What nodes offer and xApps ask for, in the words of the service models.

use std::collections::HashMap;
#[cfg(feature = "models")]
use std::sync::Arc;

use e2sm::kpm::Detection;
use e2sm::{FunctionSummary, Wire};
use ferric::e2::{Node, NodeId, RanFunction, SubscriptionSpec};
use ferric::e2ap::RanFunctionId;
use ferric::server::Describe;
#[cfg(feature = "models")]
use model_plugin::Model;

use crate::NodeConfig;

/// The most functions of a node that a line names.
const MAX_FUNCTIONS: usize = 16;

/// The phrases of the RIC's log. A function's model is identified once, when it is first needed.
#[derive(Debug, Default)]
pub struct Descriptions {
    nodes: Vec<NodeConfig>,
    #[cfg(feature = "models")]
    models: Vec<Arc<Model>>,
    known: HashMap<NodeId, Vec<(RanFunctionId, Option<FunctionSummary>)>>,
}

impl Descriptions {
    /// Phrases that use the configured facts about nodes.
    #[must_use]
    pub fn new(nodes: Vec<NodeConfig>) -> Self {
        Descriptions { nodes, ..Descriptions::default() }
    }

    /// Adds service models from shared objects.
    #[cfg(feature = "models")]
    #[must_use]
    pub fn with_models(mut self, models: Vec<Arc<Model>>) -> Self {
        self.models = models;
        self
    }

    /// Returns the summary of a function; `None` for an unknown model or a definition that cannot be decoded.
    fn summary(&mut self, node: &Node, function: RanFunctionId) -> Option<&FunctionSummary> {
        if !self.known.contains_key(&node.id) {
            let name = node.global_id.to_string();
            let configured = self.nodes.iter().find(|other| other.id == name).and_then(|node| node.kpm);
            let summary = |function: &RanFunction| {
                let (oid, revision) = (&*function.oid, function.revision.0);
                match (configured, Detection::from_ran_function(oid, revision, &function.definition)) {
                    (Some(revision), detected) if detected != Err(e2sm::Error::UnknownOid) => {
                        Some(FunctionSummary::of_kpm(revision, Wire::of(oid.trim()).0))
                    }
                    _ => FunctionSummary::of(oid, revision, &function.definition).ok(),
                }
            };
            let summaries = node.functions.iter().map(|function| (function.id, summary(function))).collect();
            self.known.insert(node.id, summaries);
        }
        let functions = self.known.get(&node.id)?;
        functions.iter().find(|(id, _)| *id == function)?.1.as_ref()
    }

    /// Returns the name of a function's model: `KPM v3.00`.
    fn model(&mut self, node: &Node, function: &RanFunction) -> String {
        #[cfg(feature = "models")]
        if let Some(model) = self.models.iter().find(|model| model.has_oid(&function.oid)) {
            return model.name().to_owned();
        }
        match self.summary(node, function.id) {
            Some(summary) => summary.name().to_owned(),
            None => format!("function {}", function.id.0),
        }
    }
}

impl Describe for Descriptions {
    fn node(&mut self, node: &Node) -> String {
        let names: Vec<_> =
            node.functions.iter().take(MAX_FUNCTIONS).map(|function| self.model(node, function)).collect();
        let more = node.functions.len().saturating_sub(MAX_FUNCTIONS);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let cells = match node.components.served_cells() {
            (_, None) => String::new(),
            (0 | 1, Some(carrier)) => format!("{carrier}; "),
            (cells, Some(carrier)) => format!("{cells} cells, {carrier}; "),
        };
        let functions = if names.is_empty() { "no RAN functions".to_owned() } else { names.join(", ") };
        format!("{cells}{functions}{more}; E2AP {}", node.version)
    }

    fn subscription(&mut self, node: &Node, function: RanFunctionId, spec: &SubscriptionSpec) -> Option<String> {
        let summary = self.summary(node, function)?;
        let actions = spec.actions.iter().map(|action| action.definition.as_deref());
        let about = summary.subscription(&spec.event_trigger, actions);
        Some(about.unwrap_or_else(|| match spec.actions.len() {
            1 => format!("{}, one action", summary.name()),
            actions => format!("{}, {actions} actions", summary.name()),
        }))
    }

    fn control(&mut self, node: &Node, function: RanFunctionId, header: &[u8], message: &[u8]) -> Option<String> {
        let summary = self.summary(node, function)?;
        let about = summary.control(header, message);
        Some(about.unwrap_or_else(|| format!("{} with {} octets", summary.name(), header.len() + message.len())))
    }

    fn forget(&mut self, node: NodeId) {
        self.known.remove(&node);
    }
}
