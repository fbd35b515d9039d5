//! The RAN function definition.

use e2sm::ccc::{
    self as model, ControlService, ControlStyle, EventTriggerService, EventTriggerStyle, EventTriggerStyleType, OID,
    QueryService, QueryStyle, RanFunctionDefinition, RanFunctionName, ReportService, ReportStyle, SHORT_NAME,
    SupportedCell, SupportedServices,
};
use ferric::e2::Function;
use ferric::e2ap::RanFunctionRevision;

use super::{CccConfig, CccSource, ConfigLevel, SupportedAttribute, SupportedStructure};

/// Event trigger style and format 3: periodic. Styles and formats 1 and 2 are changes of the node and of cells.
const PERIODIC: i64 = 3;

impl ConfigLevel {
    /// The number of its report and control styles and their formats, and of its event trigger style for changes.
    pub(super) const fn number(self) -> i64 {
        match self {
            ConfigLevel::Node => 1,
            ConfigLevel::Cell => 2,
        }
    }
}

/// The RAN function item of E2 Setup.
///
/// # Panics
/// If the source supports no structures, or a name exceeds the length that the specification allows.
pub(super) fn function<S: CccSource>(source: &S, config: &CccConfig) -> Function {
    let structures = |level| -> Vec<model::SupportedStructure> {
        let listed = source.structures().iter().filter(|structure| structure.is_listed && structure.level == level);
        listed.map(structure).collect()
    };
    let (node, cell) = (structures(ConfigLevel::Node), structures(ConfigLevel::Cell));
    let cells: Vec<_> = source
        .cells()
        .into_iter()
        .filter(|_| !cell.is_empty())
        .map(|cell_global_id| SupportedCell { cell_global_id, structures: cell.clone() })
        .collect();
    assert!(!node.is_empty() || !cells.is_empty(), "the source supports no structure of the node or of a cell");
    let definition = RanFunctionDefinition {
        ran_function_name: RanFunctionName {
            short_name: config.announcement.short_name(SHORT_NAME).to_owned(),
            service_model_oid: config.announcement.definition_oid(OID).to_owned(),
            description: "CCC".to_owned(),
            instance: None,
        },
        node_level: Some(node).filter(|list| !list.is_empty()),
        cells: Some(cells).filter(|list| !list.is_empty()),
    };
    let mut bytes = Vec::new();
    if let Err(error) = definition.encode(&mut bytes) {
        panic!("cannot encode the RAN function definition: {error}");
    }
    Function {
        id: config.function_id,
        revision: RanFunctionRevision(config.announcement.revision(1)),
        oid: config.announcement.oid(OID.into()),
        definition: bytes,
    }
}

fn structure(supported: &SupportedStructure) -> model::SupportedStructure {
    let attribute = |attribute: &SupportedAttribute| model::SupportedAttribute {
        name: attribute.name.to_string(),
        supported_services: services(supported.level, attribute),
    };
    model::SupportedStructure {
        name: supported.name.to_string(),
        attributes: supported.attributes.iter().map(attribute).collect(),
    }
}

/// The services for an attribute. Each attribute repeats them, so the names of styles are short.
fn services(level: ConfigLevel, attribute: &SupportedAttribute) -> SupportedServices {
    let number = level.number();
    let (change, report) = match level {
        ConfigLevel::Node => ("Change", "Node"),
        ConfigLevel::Cell => ("Change", "Cell"),
    };
    let trigger =
        |style: i64, name: &str| EventTriggerStyle { style_type: style, name: name.to_owned(), format_type: style };
    let mut triggers = vec![trigger(number, change)];
    if attribute.lists_periodic {
        triggers.push(trigger(PERIODIC, "Periodic"));
    }
    let event_trigger_styles =
        triggers.iter().map(|style| EventTriggerStyleType { style_type: style.style_type }).collect();
    SupportedServices {
        event_trigger: attribute.reported.then_some(EventTriggerService { styles: triggers }),
        report: attribute.reported.then(|| ReportService {
            styles: vec![ReportStyle {
                style_type: number,
                name: report.to_owned(),
                event_trigger_styles,
                action_definition_format_type: number,
                indication_header_format_type: 1,
                indication_message_format_type: number,
            }],
        }),
        control: attribute.writable.then(|| ControlService {
            styles: vec![ControlStyle {
                style_type: number,
                name: report.to_owned(),
                header_format_type: 1,
                message_format_type: number,
                call_process_id_format_type: None,
                control_outcome_format_type: number,
            }],
        }),
        query: attribute.queried.then(|| QueryService {
            styles: vec![QueryStyle {
                style_type: number,
                name: report.to_owned(),
                header_format_type: 1,
                definition_format_type: number,
                outcome_format_type: number,
            }],
        }),
        ..SupportedServices::default()
    }
}
