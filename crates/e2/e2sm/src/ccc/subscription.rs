//! Event triggers and action definitions: when and what the node reports.

use serde_json::{Value, json};

use super::json::{Fields, Json, JsonError, Path, choice, object, symbols};
use crate::common::Cgi;

object! {
    /// RICEventTriggerDefinition.
    pub struct EventTriggerDefinition {
        /// The definition in its format.
        pub format: EventTriggerDefinitionFormat = "eventTriggerDefinitionFormat",
    }

    /// A structure of whose attributes a change triggers.
    pub struct StructureForEventTrigger {
        /// The name.
        pub name: String = "ranConfigurationStructureName",
        /// Its attributes; without the list all.
        pub attributes: Option<Vec<TriggerAttribute>> = "listOfAttributes",
    }

    /// Structures of a cell of which a change triggers.
    pub struct CellForEventTrigger {
        /// The cell; without it each.
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
        /// How much of it.
        pub report_type: ReportType = "reportType",
        /// The name.
        pub name: String = "ranConfigurationStructureName",
        /// Its attributes; without the list all.
        pub attributes: Option<Vec<AttributeName>> = "listOfAttributes",
    }

    /// Structures of a cell to report.
    pub struct CellForAction {
        /// The cell; without it each.
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
        /// Format 1: changes of the node's structures.
        NodeLevelChange(Vec<StructureForEventTrigger>) = "listOfNodeLevelConfigurationStructuresForEventTrigger",
        /// Format 2: changes of cells' structures.
        CellLevelChange(Vec<CellForEventTrigger>) = "listOfCellLevelConfigurationStructuresForEventTrigger",
        /// Format 3: the time; the period in milliseconds.
        PeriodMs(u32) = "period" in 1..=4_294_967_295,
    }

    /// The formats of an action definition.
    pub enum ActionDefinitionFormat {
        /// Format 1: the node's structures.
        NodeLevel(Vec<StructureForAction>) = "listOfNodeLevelRANConfigurationStructuresForADF",
        /// Format 2: cells' structures.
        CellLevel(Vec<CellForAction>) = "listOfCellConfigurationsToBeReportedForADF",
    }
}

symbols! {
    /// How much of a structure is reported.
    pub enum ReportType {
        /// All attributes that are asked for.
        All = "all",
        /// Those of them that have changed.
        Change = "change",
    }
}

/// An attribute that triggers. srsRAN has its bare name here, others an object as in action definitions: both are read,
/// the first is written.
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
