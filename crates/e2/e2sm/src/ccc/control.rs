//! Control headers, messages and outcomes.

use serde_json::Value;

use super::identity::TimeStamp;
use super::json::{Fields, Json, JsonError, Path, choice, object, symbols};
use super::structures::{RanConfigurationStructure, named, values};
use crate::common::Cgi;

object! {
    /// RIC-Control-Header.
    pub struct ControlHeader {
        /// The header in its only format.
        pub format: ControlHeaderFormat1 = "controlHeaderFormat",
    }

    /// E2SM-CCC-ControlHeaderFormat1.
    pub struct ControlHeaderFormat1 {
        /// The control style: 1 for the node, 2 for cells.
        pub ric_style_type: i64 = "ricStyleType",
    }

    /// RIC-Control-Message.
    pub struct ControlMessage {
        /// The message in its format.
        pub format: ControlMessageFormat = "controlMessageFormat",
    }

    /// The structures of a cell to set.
    pub struct CellControlled {
        /// The cell.
        pub cell_global_id: Cgi = "cellGlobalId",
        /// Its structures.
        pub structures: Vec<StructureControlled> = "listOfConfigurationStructures",
    }

    /// RIC-Control-Outcome.
    pub struct ControlOutcome {
        /// The outcome in its format.
        pub format: ControlOutcomeFormat = "controlOutcomeFormat",
    }

    /// The outcome for the structures of a cell.
    pub struct CellOutcome {
        /// The cell.
        pub cell_global_id: Cgi = "cellGlobalId",
        /// The accepted structures.
        pub accepted: Option<Vec<StructureAccepted>> = "ranConfigurationStructuresAcceptedList",
        /// The failed structures.
        pub failed: Option<Vec<StructureFailed>> = "ranConfigurationStructuresFailedList",
    }
}

choice! {
    /// The formats of a control message.
    pub enum ControlMessageFormat {
        /// Format 1: structures of the node.
        NodeLevel(Vec<StructureControlled>) = "listOfConfigurationStructures",
        /// Format 2: structures of cells.
        CellLevel(Vec<CellControlled>) = "listOfCellsControlled",
    }
}

symbols! {
    /// The cause of a failure.
    pub enum Cause {
        /// The structure or attribute is not supported, or cannot be set.
        NotSupported = "notSupported",
        /// It is not available at present.
        NotAvailable = "notAvailable",
        /// It is incompatible with the current state: the old values differ, or other settings conflict.
        IncompatibleState = "incompatibleState",
        /// The message is malformed.
        JsonError = "jsonError",
        /// The values are semantically wrong.
        SemanticError = "semanticError",
        /// Another cause.
        Unspecified = "unspecified",
    }
}

/// ConfigurationStructureWrite: a structure to set.
#[derive(Clone, Debug, PartialEq)]
pub struct StructureControlled {
    /// The old values of the attributes, as the sender assumes.
    pub old_values: RanConfigurationStructure,
    /// The new values: the name of the structure and the attributes to set.
    pub new_values: RanConfigurationStructure,
}

/// ConfigurationStructureAccepted: a structure that was set.
#[derive(Clone, Debug, PartialEq)]
pub struct StructureAccepted {
    /// The old values of the attributes.
    pub old_values: RanConfigurationStructure,
    /// The current values.
    pub current_values: RanConfigurationStructure,
    /// The time of the change.
    pub applied_timestamp: Option<TimeStamp>,
}

/// ConfigurationStructureFailed: a structure that was not set.
#[derive(Clone, Debug, PartialEq)]
pub struct StructureFailed {
    /// The current values of the attributes.
    pub old_values: RanConfigurationStructure,
    /// The requested values.
    pub requested_values: RanConfigurationStructure,
    /// The cause.
    pub cause: Cause,
}

const NAME: &str = "ranConfigurationStructureName";
const OLD: &str = "oldValuesOfAttributes";
const NEW: &str = "newValuesOfAttributes";
const CURRENT: &str = "currentValuesOfAttributes";
const APPLIED: &str = "appliedTimestamp";
const REQUESTED: &str = "requestedValuesOfAttributes";
const CAUSE: &str = "cause";

fn object<const N: usize>(fields: [Option<(&str, Value)>; N]) -> Value {
    Value::Object(fields.into_iter().flatten().map(|(key, value)| (key.to_owned(), value)).collect())
}

impl Json for StructureControlled {
    fn read(value: &Value, at: &Path<'_>) -> Result<Self, JsonError> {
        let fields = Fields::of(value, at, &[NAME, OLD, NEW])?;
        let name: String = fields.field(NAME)?;
        let structure = |key| named(&fields, &name, key, at);
        Ok(StructureControlled { old_values: structure(OLD)?, new_values: structure(NEW)? })
    }

    fn write(&self) -> Value {
        object([
            Some((NAME, Value::from(self.new_values.name()))),
            Some((OLD, values(&self.old_values).write())),
            Some((NEW, values(&self.new_values).write())),
        ])
    }
}

impl Json for StructureAccepted {
    fn read(value: &Value, at: &Path<'_>) -> Result<Self, JsonError> {
        let fields = Fields::of(value, at, &[NAME, OLD, CURRENT, APPLIED])?;
        let name: String = fields.field(NAME)?;
        let structure = |key| named(&fields, &name, key, at);
        let (old_values, current_values) = (structure(OLD)?, structure(CURRENT)?);
        Ok(StructureAccepted { old_values, current_values, applied_timestamp: fields.field(APPLIED)? })
    }

    fn write(&self) -> Value {
        object([
            Some((NAME, Value::from(self.current_values.name()))),
            Some((OLD, values(&self.old_values).write())),
            Some((CURRENT, values(&self.current_values).write())),
            self.applied_timestamp.map(|at| (APPLIED, at.write())),
        ])
    }
}

impl Json for StructureFailed {
    fn read(value: &Value, at: &Path<'_>) -> Result<Self, JsonError> {
        let fields = Fields::of(value, at, &[NAME, OLD, REQUESTED, CAUSE])?;
        let name: String = fields.field(NAME)?;
        let structure = |key| named(&fields, &name, key, at);
        let (old_values, requested_values) = (structure(OLD)?, structure(REQUESTED)?);
        Ok(StructureFailed { old_values, requested_values, cause: fields.field(CAUSE)? })
    }

    fn write(&self) -> Value {
        object([
            Some((NAME, Value::from(self.requested_values.name()))),
            Some((OLD, values(&self.old_values).write())),
            Some((REQUESTED, values(&self.requested_values).write())),
            Some((CAUSE, self.cause.write())),
        ])
    }
}

/// The formats of a control outcome.
#[derive(Clone, Debug, PartialEq)]
pub enum ControlOutcomeFormat {
    /// Format 1: structures of the node.
    NodeLevel {
        /// The time of receipt of the control.
        received_timestamp: Option<TimeStamp>,
        /// The accepted structures.
        accepted: Option<Vec<StructureAccepted>>,
        /// The failed structures.
        failed: Option<Vec<StructureFailed>>,
    },
    /// Format 2: structures of cells.
    CellLevel {
        /// The time of receipt of the control.
        received_timestamp: Option<TimeStamp>,
        /// The cells.
        cells: Vec<CellOutcome>,
    },
}

const RECEIVED: &str = "receivedTimestamp";
const ACCEPTED: &str = "ranConfigurationStructuresAcceptedList";
const FAILED: &str = "ranConfigurationStructuresFailedList";
const CELLS: &str = "listOfCellsForControlOutcome";

impl Json for ControlOutcomeFormat {
    fn read(value: &Value, at: &Path<'_>) -> Result<Self, JsonError> {
        let cell_level = value.get(CELLS).is_some();
        let known: &[&str] = if cell_level { &[RECEIVED, CELLS] } else { &[RECEIVED, ACCEPTED, FAILED] };
        let fields = Fields::of(value, at, known)?;
        let received_timestamp = fields.field(RECEIVED)?;
        if cell_level {
            return Ok(ControlOutcomeFormat::CellLevel { received_timestamp, cells: fields.field(CELLS)? });
        }
        let (accepted, failed) = (fields.field(ACCEPTED)?, fields.field(FAILED)?);
        Ok(ControlOutcomeFormat::NodeLevel { received_timestamp, accepted, failed })
    }

    fn write(&self) -> Value {
        match self {
            ControlOutcomeFormat::NodeLevel { received_timestamp, accepted, failed } => object([
                received_timestamp.map(|at| (RECEIVED, at.write())),
                accepted.as_ref().map(|list| (ACCEPTED, list.write())),
                failed.as_ref().map(|list| (FAILED, list.write())),
            ]),
            ControlOutcomeFormat::CellLevel { received_timestamp, cells } => {
                object([received_timestamp.map(|at| (RECEIVED, at.write())), Some((CELLS, cells.write()))])
            }
        }
    }
}

super::message!(ControlHeader);
super::message!(ControlMessage);
super::message!(ControlOutcome);
