//! The log of what each node offers in detail, at debug level, and of what cannot be decoded.

use std::fmt::Write;
#[cfg(feature = "models")]
use std::sync::Arc;

use e2sm::Arena;
use e2sm::kpm::{Detection, RanFunctionDefinition, Revision, v1, v2_00};
use ferric::e2::{Indication, RanFunction};
use ferric::server::{Iapp, IappContext, IappEvent};
use log_lines::escaped;
#[cfg(feature = "models")]
use model_plugin::{DEFINITION, Model};
use tracing::{Level, debug, enabled, warn};

use crate::NodeConfig;

/// The most octets of measurement names in a line.
const MAX_NAMES_OCTETS: usize = 700;

/// A line at debug level, if the budget allows one.
macro_rules! detail {
    ($may_log:ident, $($line:tt)*) => {
        if enabled!(Level::DEBUG) && $may_log() {
            debug!($($line)*);
        }
    };
}

/// A warning, if the budget allows a line.
macro_rules! fault {
    ($may_log:ident, $($line:tt)*) => {
        if $may_log() {
            warn!($($line)*);
        }
    };
}

/// An internal app that logs the RAN functions of each node that sets up, as far as their service models are known: what they
/// offer at debug level, and warnings about definitions that cannot be decoded.
#[derive(Debug, Default)]
pub struct Catalogue {
    nodes: Vec<NodeConfig>,
    #[cfg(feature = "models")]
    models: Vec<Arc<Model>>,
}

impl Catalogue {
    /// A catalogue with the configured facts about nodes.
    #[must_use]
    pub fn new(nodes: Vec<NodeConfig>) -> Self {
        Catalogue {
            nodes,
            #[cfg(feature = "models")]
            models: Vec::new(),
        }
    }

    /// Adds service models from shared objects. The first model with a function's object identifier reads its definition.
    #[cfg(feature = "models")]
    #[must_use]
    pub fn with_models(mut self, models: Vec<Arc<Model>>) -> Self {
        self.models = models;
        self
    }

    fn log(&self, node: &str, function: &RanFunction, may_log: &dyn Fn() -> bool) {
        let (id, oid) = (function.id.0, &*function.oid);
        #[cfg(feature = "models")]
        if let Some(model) = self.models.iter().find(|model| model.has_oid(oid)) {
            return log_loaded(node, function, model, may_log);
        }
        let configured = self.nodes.iter().find(|n| n.id == node).and_then(|n| n.kpm);
        let detected = match (configured, Detection::from_ran_function(oid, function.revision.0, &function.definition))
        {
            (_, Err(e2sm::Error::UnknownOid)) => return log_other(node, function, may_log),
            (Some(revision), _) => Ok(Detection::configured(revision).in_wire_of(oid)),
            (None, detected) => detected,
        };
        match detected {
            Ok(detection) if detection.revision == Revision::V1_00 => log_kpm_v1(node, function, &detection, may_log),
            Ok(detection) if detection.revision == Revision::V2_00 => {
                log_kpm_v2_00(node, function, &detection, may_log)
            }
            Ok(detection) => {
                let arena = Arena::new();
                match RanFunctionDefinition::decode_in(&function.definition, detection.revision, detection.wire, &arena)
                {
                    Ok(definition) => log_kpm(node, id, &detection, &definition, may_log),
                    Err(error) => {
                        fault!(may_log, node, function = id, %detection, %error, "cannot decode the RAN function definition of KPM")
                    }
                }
            }
            Err(error) => {
                fault!(may_log, node, function = id, oid, %error, "cannot decode the RAN function definition; configure `kpm` for this node")
            }
        }
    }
}

/// Logs a function whose model is not KPM.
fn log_other(node: &str, function: &RanFunction, may_log: &dyn Fn() -> bool) {
    let (id, oid) = (function.id.0, &*function.oid);
    match e2sm::identify_function(oid, function.revision.0, &function.definition) {
        Ok(description) => detail!(may_log, node, function = id, "RAN function: {description}"),
        Err(e2sm::Error::UnknownOid) => detail!(
            may_log,
            node,
            function = id,
            oid,
            "RAN function of an unknown service model: xApps receive its messages unchanged"
        ),
        Err(error) => fault!(may_log, node, function = id, oid, %error, "cannot decode the RAN function definition"),
    }
}

/// Logs a function whose model is in a shared object.
#[cfg(feature = "models")]
fn log_loaded(node: &str, function: &RanFunction, model: &Model, may_log: &dyn Fn() -> bool) {
    let (id, name) = (function.id.0, model.name());
    match model.describe(DEFINITION, &function.definition) {
        Ok(definition) => detail!(may_log, node, function = id, definition, "RAN function: {name}"),
        Err(error) => {
            fault!(may_log, node, function = id, %error, "cannot decode the RAN function definition of {name}")
        }
    }
}

/// KPM v01.00 has report styles in place of measurements.
fn log_kpm_v1(node: &str, function: &RanFunction, detection: &Detection, may_log: &dyn Fn() -> bool) {
    let id = function.id.0;
    let arena = Arena::new();
    match v1::RanFunctionDefinition::decode(&function.definition, &arena) {
        Ok(definition) => {
            detail!(
                may_log,
                node,
                function = id,
                name = definition.ran_function_name.shown(),
                "RAN function: {detection}"
            );
            for style in definition.e2sm_kpm_ran_function_item.ric_report_style_list.iter().flatten() {
                let (style, name) = (style.ric_report_style_type.0, style.ric_report_style_name.0.as_str());
                detail!(may_log, node, function = id, style, "reports: {name}");
            }
        }
        Err(error) => {
            fault!(may_log, node, function = id, %detection, %error, "cannot decode the RAN function definition of KPM")
        }
    }
}

/// KPM v02.00 has cells besides measurements.
fn log_kpm_v2_00(node: &str, function: &RanFunction, detection: &Detection, may_log: &dyn Fn() -> bool) {
    let id = function.id.0;
    let arena = Arena::new();
    match v2_00::RanFunctionDefinition::decode(&function.definition, &arena) {
        Ok(definition) => {
            let nodes = definition.ric_kpm_node_list.iter().flatten();
            let cells = nodes.flat_map(|node| node.cell_measurement_object_list.iter().flatten()).count();
            let name = definition.ran_function_name.short_name.as_str();
            detail!(may_log, node, function = id, name, cells, "RAN function: {detection}");
            for style in definition.ric_report_style_list.iter().flatten() {
                let names = names(style.meas_info_action_list.iter().map(|item| item.meas_name.as_str()));
                let style = style.ric_report_style_type.0;
                detail!(may_log, node, function = id, style, "measurements: {names}");
            }
        }
        Err(error) => {
            fault!(may_log, node, function = id, %detection, %error, "cannot decode the RAN function definition of KPM")
        }
    }
}

fn log_kpm(
    node: &str,
    function: u16,
    detection: &Detection,
    definition: &RanFunctionDefinition<'_>,
    may_log: &dyn Fn() -> bool,
) {
    let name = definition.ran_function_name.short_name.as_str();
    detail!(may_log, node, function, name, "RAN function: {detection}");
    for style in definition.ric_report_style_list.iter().flat_map(|styles| styles.iter()) {
        let names = names(style.meas_info_action_list.iter().map(|item| item.meas_name.0.as_str()));
        let style = style.ric_report_style_type.0;
        detail!(may_log, node, function, style, "measurements: {names}");
    }
}

/// Returns names, separated by spaces, as many as a line takes, and how many more there are.
fn names<'a>(mut names: impl ExactSizeIterator<Item = &'a str>) -> String {
    let mut text = String::new();
    while let Some(name) = names.next() {
        if text.len() + name.len() > MAX_NAMES_OCTETS {
            let _ = write!(text, " and {} more", names.len() + 1); // writing to a string does not fail
            break;
        }
        if !text.is_empty() {
            text.push(' ');
        }
        let _ = write!(text, "{}", escaped(name));
    }
    text
}

impl Iapp for Catalogue {
    fn name(&self) -> &'static str {
        "catalogue"
    }

    fn on_event(&mut self, event: &IappEvent<'_>, ric: &mut IappContext<'_>) {
        if let IappEvent::NodeUp(node) = event {
            let name = node.global_id.to_string();
            let may_log = || ric.allows_line(node.id);
            for function in &node.functions {
                self.log(&name, function, &may_log);
            }
        }
    }

    fn on_indication(&mut self, _: &Indication<'_>, _: &mut IappContext<'_>) {}
}
