//! Indications: what a structure holds, and what has changed.

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
        /// Why it is reported.
        pub indication_reason: IndicationReason = "indicationReason",
        /// When it was so.
        pub event_time: TimeStamp = "eventTime",
    }

    /// RIC-Indication-Message.
    pub struct IndicationMessage {
        /// The message in its format.
        pub format: IndicationMessageFormat = "indicationMessageFormat",
    }

    /// A cell's structures.
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
        /// Format 1: the node's structures.
        NodeLevel(Vec<StructureReported>) = "listOfConfigurationStructuresReported",
        /// Format 2: cells' structures.
        CellLevel(Vec<CellReported>) = "listOfCellsReported",
    }
}

symbols! {
    /// Why something is reported.
    pub enum IndicationReason {
        /// It was subscribed to just now.
        UponSubscription = "uponSubscription",
        /// It has changed.
        UponChange = "uponChange",
        /// The period is over.
        Periodic = "periodic",
    }

    /// What became of a structure.
    pub enum ChangeType {
        /// Nothing.
        None = "none",
        /// Attributes have changed.
        Modification = "modification",
        /// It is new.
        Addition = "addition",
        /// It is gone.
        Deletion = "deletion",
    }
}

/// ConfigurationStructure: a structure that is reported.
#[derive(Clone, Debug, PartialEq)]
pub struct StructureReported {
    /// What became of it.
    pub change_type: ChangeType,
    /// Its name and attributes.
    pub values: RanConfigurationStructure,
    /// What they were before.
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
