//! Says in the log what each node offers, in the words of the service models that we know.

use std::sync::Arc;

use e2sm::Arena;
use e2sm::kpm::{Detection, RanFunctionDefinition};
use ferric::e2::{Indication, RanFunction};
use ferric::server::{Iapp, IappContext, IappEvent};
use model_plugin::{DEFINITION, Model};
use tracing::{info, warn};

use crate::NodeConfig;

/// An internal app that only reads RAN function definitions.
#[derive(Debug, Default)]
pub struct Catalogue {
    nodes: Vec<NodeConfig>,
    models: Vec<Arc<Model>>,
}

impl Catalogue {
    /// A catalogue that knows some things beforehand. Where several models have an object identifier, the first one speaks.
    #[must_use]
    pub fn new(nodes: Vec<NodeConfig>, models: Vec<Arc<Model>>) -> Self {
        Catalogue { nodes, models }
    }

    fn say(&self, node: &str, function: &RanFunction) {
        let (id, oid) = (function.id.0, &*function.oid);
        if let Some(model) = self.models.iter().find(|model| model.has_oid(oid)) {
            return say_loaded(node, function, model);
        }
        let configured = self.nodes.iter().find(|n| n.id == node).and_then(|n| n.kpm);
        let detected = match (configured, Detection::from_ran_function(oid, function.revision.0, &function.definition))
        {
            (_, Err(e2sm::Error::UnknownOid)) => return say_another(node, function),
            (Some(revision), _) => Ok(Detection::configured(revision).in_wire_of(oid)),
            (None, detected) => detected,
        };
        match detected {
            Ok(detection) => {
                let arena = Arena::new();
                match RanFunctionDefinition::decode_in(&function.definition, detection.revision, detection.wire, &arena)
                {
                    Ok(definition) => say_kpm(node, id, &detection, &definition),
                    Err(error) => warn!(node, function = id, %detection, %error, "the KPM definition cannot be read"),
                }
            }
            Err(error) => {
                warn!(node, function = id, oid, %error, "the definition cannot be read; configure `kpm` for this node")
            }
        }
    }
}

/// What is not KPM's is told in a word.
fn say_another(node: &str, function: &RanFunction) {
    let (id, oid) = (function.id.0, &*function.oid);
    match e2sm::identify_function(oid, function.revision.0, &function.definition) {
        Ok(told) => info!(node, function = id, "offers {told}"),
        Err(e2sm::Error::UnknownOid) => info!(node, function = id, oid, "offers a model that is passed on as it is"),
        Err(error) => warn!(node, function = id, oid, %error, "the definition cannot be read"),
    }
}

/// A model from a shared object tells what the definition says.
fn say_loaded(node: &str, function: &RanFunction, model: &Model) {
    let (id, name) = (function.id.0, model.name());
    match model.describe(DEFINITION, &function.definition) {
        Ok(definition) => info!(node, function = id, definition, "offers {name}"),
        Err(error) => warn!(node, function = id, %error, "offers {name}, whose definition cannot be read"),
    }
}

fn say_kpm(node: &str, function: u16, detection: &Detection, definition: &RanFunctionDefinition<'_>) {
    let name = definition.ran_function_name.short_name.as_str();
    info!(node, function, name, "offers {detection}");
    for style in definition.ric_report_style_list.iter().flat_map(|styles| styles.iter()) {
        let names: Vec<&str> = style.meas_info_action_list.iter().map(|item| item.meas_name.0.as_str()).collect();
        let style = style.ric_report_style_type.0;
        info!(node, function, style, "reports {}", names.join(" "));
    }
}

impl Iapp for Catalogue {
    fn name(&self) -> &'static str {
        "catalogue"
    }

    fn on_event(&mut self, event: &IappEvent<'_>, _: &mut IappContext<'_>) {
        if let IappEvent::NodeUp(node) = event {
            let name = node.global_id.to_string();
            for function in &node.functions {
                self.say(&name, function);
            }
        }
    }

    fn on_indication(&mut self, _: &Indication<'_>, _: &mut IappContext<'_>) {}
}
