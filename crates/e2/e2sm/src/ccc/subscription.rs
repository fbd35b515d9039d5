//! Event triggers and action definitions.

use serde_json::{Value, json};

use super::json::{Fields, Json, JsonError, Path, choice, object, symbols};
use crate::common::Cgi;

object! {
    /// RICEventTriggerDefinition.
    pub struct EventTriggerDefinition {
        /// The definition in its format.
        pub format: EventTriggerDefinitionFormat = "eventTriggerDefinitionFormat",
    }

    /// A structure whose changes trigger a report.
    pub struct StructureForEventTrigger {
        /// The name.
        pub name: String = "ranConfigurationStructureName",
        /// Its attributes; if absent, all.
        pub attributes: Option<Vec<TriggerAttribute>> = "listOfAttributes",
    }

    /// Structures of a cell whose changes trigger a report.
    pub struct CellForEventTrigger {
        /// The cell; if absent, every cell.
        pub cell_global_id: Option<Cgi> = "cellGlobalId",
        /// The structures.
        pub structures: Vec<StructureForEventTrigger> = "listOfRANConfigurationStructuresForEventTrigger",
    }

    /// RICActionDefinition.
    pub struct ActionDefinition {
        /// The report style.
        pub ric_style_type: i64 = "ricStyleType",
        /// The definition in its format.
        pub format: ActionDefinitionFormat = "actionDefinitionFormat",
    }

    /// A structure to report.
    pub struct StructureForAction {
        /// The extent of the report.
        pub report_type: ReportType = "reportType",
        /// The name.
        pub name: String = "ranConfigurationStructureName",
        /// Its attributes; if absent, all.
        pub attributes: Option<Vec<AttributeName>> = "listOfAttributes",
    }

    /// Structures of a cell to report.
    pub struct CellForAction {
        /// The cell; if absent, every cell.
        pub cell_global_id: Option<Cgi> = "cellGlobalId",
        /// The structures.
        pub structures: Vec<StructureForAction> = "listOfCellLevelRANConfigurationStructuresForADF",
    }

    /// An attribute by its name.
    #[derive(Eq, Hash)]
    pub struct AttributeName {
        /// The name.
        pub name: String = "attributeName",
    }
}

choice! {
    /// The formats of an event trigger.
    pub enum EventTriggerDefinitionFormat {
        /// Format 1: changes of structures of the node.
        NodeLevelChange(Vec<StructureForEventTrigger>) = "listOfNodeLevelConfigurationStructuresForEventTrigger",
        /// Format 2: changes of structures of cells.
        CellLevelChange(Vec<CellForEventTrigger>) = "listOfCellLevelConfigurationStructuresForEventTrigger",
        /// Format 3: periodic; the period in milliseconds.
        PeriodMs(u32) = "period" in 1..=4_294_967_295,
    }

    /// The formats of an action definition.
    pub enum ActionDefinitionFormat {
        /// Format 1: structures of the node.
        NodeLevel(Vec<StructureForAction>) = "listOfNodeLevelRANConfigurationStructuresForADF",
        /// Format 2: structures of cells.
        CellLevel(Vec<CellForAction>) = "listOfCellConfigurationsToBeReportedForADF",
    }
}

symbols! {
    /// The extent of the report of a structure.
    pub enum ReportType {
        /// All requested attributes.
        All = "all",
        /// The requested attributes that changed.
        Change = "change",
    }
}

/// An attribute that triggers. srsRAN sends the bare name, others an object as in action definitions: both are accepted,
/// the bare name is sent.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TriggerAttribute(pub String);

impl Json for TriggerAttribute {
    fn read(value: &Value, at: &Path<'_>) -> Result<Self, JsonError> {
        if value.is_object() {
            return Fields::of(value, at, &["attributeName"])?.field("attributeName").map(TriggerAttribute);
        }
        String::read(value, at).map(TriggerAttribute)
    }

    fn write(&self) -> Value {
        json!(self.0)
    }
}

super::message!(EventTriggerDefinition);
super::message!(ActionDefinition);
