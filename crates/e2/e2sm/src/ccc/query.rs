//! Queries of the current values of structures.

use serde_json::Value;

use super::json::{Fields, Json, JsonError, Path, choice, object};
use super::structures::{RanConfigurationStructure, named, values};
use super::subscription::AttributeName;
use crate::common::Cgi;

object! {
    /// RIC-Query-Header.
    pub struct QueryHeader {
        /// The header in its only format.
        pub format: QueryHeaderFormat1 = "queryHeaderFormat",
    }

    /// E2SM-CCC-QueryHeaderFormat1.
    pub struct QueryHeaderFormat1 {
        /// The query style: 1 for the node, 2 for cells.
        pub ric_style_type: i64 = "ricStyleType",
    }

    /// RIC-Query-Definition.
    pub struct QueryDefinition {
        /// The definition in its format.
        pub format: QueryDefinitionFormat = "queryDefinitionFormat",
    }

    /// A queried structure.
    pub struct StructureForQuery {
        /// The name.
        pub name: String = "ranConfigurationStructureName",
        /// Its attributes; if absent, all.
        pub attributes: Option<Vec<AttributeName>> = "listOfAttributes",
    }

    /// The queried structures of a cell.
    pub struct CellForQuery {
        /// The cell; if absent, every cell.
        pub cell_global_id: Option<Cgi> = "cellGlobalId",
        /// The structures.
        pub structures: Vec<StructureForQuery> = "listOfCelllevelConfigurationStructuresForQuery",
    }

    /// RIC-Query-Outcome.
    pub struct QueryOutcome {
        /// The outcome in its format.
        pub format: QueryOutcomeFormat = "queryOutcomeFormat",
    }

    /// The structures of a cell.
    pub struct CellQueried {
        /// The cell.
        pub cell_global_id: Cgi = "cellGlobalId",
        /// Its structures.
        pub structures: Vec<StructureQueried> = "listOfConfigurationStructuresToBeReportedForQuery",
    }
}

choice! {
    /// The formats of a query definition.
    pub enum QueryDefinitionFormat {
        /// Format 1: structures of the node.
        NodeLevel(Vec<StructureForQuery>) = "listOfNodelevelRanConfigurationStructuresForQuery",
        /// Format 2: structures of cells.
        CellLevel(Vec<CellForQuery>) = "listOfCellsToBeQueriedForQuery",
    }

    /// The formats of a query outcome.
    pub enum QueryOutcomeFormat {
        /// Format 1: structures of the node.
        NodeLevel(Vec<StructureQueried>) = "listOfConfigurationStructuresToBeReportedForQuery",
        /// Format 2: structures of cells.
        CellLevel(Vec<CellQueried>) = "listOfCellsToBeReportedForQuery",
    }
}

/// The values of a queried structure.
#[derive(Clone, Debug, PartialEq)]
pub struct StructureQueried(pub RanConfigurationStructure);

const NAME: &str = "ranConfigurationStructureName";
const VALUES: &str = "valuesOfAttributes";

impl Json for StructureQueried {
    fn read(value: &Value, at: &Path<'_>) -> Result<Self, JsonError> {
        let fields = Fields::of(value, at, &[NAME, VALUES])?;
        named(&fields, &fields.field::<String>(NAME)?, VALUES, at).map(StructureQueried)
    }

    fn write(&self) -> Value {
        let fields = [(NAME, Value::from(self.0.name())), (VALUES, values(&self.0).write())];
        Value::Object(fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
    }
}

super::message!(QueryHeader);
super::message!(QueryDefinition);
super::message!(QueryOutcome);
