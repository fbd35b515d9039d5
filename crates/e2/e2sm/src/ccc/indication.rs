//! Indications: the values of structures and their changes.

use serde_json::Value;

use super::identity::TimeStamp;
use super::json::{Fields, Json, JsonError, Path, choice, object, symbols};
use super::structures::{RanConfigurationStructure, named, values};
use crate::common::Cgi;

object! {
    /// RIC-Indication-Header.
    pub struct IndicationHeader {
        /// The header in its only format.
        pub format: IndicationHeaderFormat1 = "indicationHeaderFormat",
    }

    /// E2SM-CCC-IndicationHeaderFormat1.
    pub struct IndicationHeaderFormat1 {
        /// The reason of the report.
        pub indication_reason: IndicationReason = "indicationReason",
        /// The time of the event.
        pub event_time: TimeStamp = "eventTime",
    }

    /// RIC-Indication-Message.
    pub struct IndicationMessage {
        /// The message in its format.
        pub format: IndicationMessageFormat = "indicationMessageFormat",
    }

    /// The structures of a cell.
    pub struct CellReported {
        /// The cell.
        pub cell_global_id: Cgi = "cellGlobalId",
        /// Its structures.
        pub structures: Vec<StructureReported> = "listOfConfigurationStructuresReported",
    }
}

choice! {
    /// The formats of an indication message.
    pub enum IndicationMessageFormat {
        /// Format 1: structures of the node.
        NodeLevel(Vec<StructureReported>) = "listOfConfigurationStructuresReported",
        /// Format 2: structures of cells.
        CellLevel(Vec<CellReported>) = "listOfCellsReported",
    }
}

symbols! {
    /// The reason of a report.
    pub enum IndicationReason {
        /// The subscription was set up.
        UponSubscription = "uponSubscription",
        /// A value changed.
        UponChange = "uponChange",
        /// The period elapsed.
        Periodic = "periodic",
    }

    /// The change of a structure.
    pub enum ChangeType {
        /// None.
        None = "none",
        /// Attributes changed.
        Modification = "modification",
        /// The structure was added.
        Addition = "addition",
        /// The structure was deleted.
        Deletion = "deletion",
    }
}

/// ConfigurationStructure: a structure that is reported.
#[derive(Clone, Debug, PartialEq)]
pub struct StructureReported {
    /// Its change.
    pub change_type: ChangeType,
    /// Its name and attributes.
    pub values: RanConfigurationStructure,
    /// The old values.
    pub old_values: Option<RanConfigurationStructure>,
}

const NAME: &str = "ranConfigurationStructureName";
const CHANGE: &str = "changeType";
const VALUES: &str = "valuesOfAttributes";
const OLD: &str = "oldValuesOfAttributes";

impl Json for StructureReported {
    fn read(value: &Value, at: &Path<'_>) -> Result<Self, JsonError> {
        let fields = Fields::of(value, at, &[CHANGE, NAME, VALUES, OLD])?;
        let name: String = fields.field(NAME)?;
        let old_values = fields.has(OLD).then(|| named(&fields, &name, OLD, at)).transpose()?;
        let values = named(&fields, &name, VALUES, at)?;
        Ok(StructureReported { change_type: fields.field(CHANGE)?, values, old_values })
    }

    fn write(&self) -> Value {
        let fields = [
            Some((CHANGE, self.change_type.write())),
            Some((NAME, Value::from(self.values.name()))),
            Some((VALUES, values(&self.values).write())),
            self.old_values.as_ref().map(|old| (OLD, values(old).write())),
        ];
        Value::Object(fields.into_iter().flatten().map(|(key, value)| (key.to_owned(), value)).collect())
    }
}

super::message!(IndicationHeader);
super::message!(IndicationMessage);
