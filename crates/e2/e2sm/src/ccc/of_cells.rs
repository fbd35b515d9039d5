//! Controls and queries of structures of all cells of a node that offer them, as its definition says.

use super::{
    CellControlled, CellForQuery, CellOutcome, ControlHeader, ControlHeaderFormat1, ControlMessage,
    ControlMessageFormat, ControlOutcome, ControlOutcomeFormat, JsonError, QueryDefinition, QueryDefinitionFormat,
    QueryHeader, QueryHeaderFormat1, RanConfigurationStructure, RanFunctionDefinition, StructureControlled,
    StructureForQuery, SupportedCell,
};

/// The style of structures of cells: of reports, controls and queries (E2SM-CCC 7.4, 7.6, 7.8).
pub const CELL_STYLE: i64 = 2;

/// A header and a message, or a query definition, encoded.
pub type Octets = (Vec<u8>, Vec<u8>);

impl RanFunctionDefinition {
    /// The names of the structures that cells offer; a name occurs once for each cell.
    pub fn structures_of_cells(&self) -> impl Iterator<Item = &str> {
        self.cells.iter().flatten().flat_map(|cell| &cell.structures).map(|structure| structure.name.as_str())
    }

    /// Encodes a control that sets structures in each cell that offers all of them; `None` if no cell does. Attributes that a structure
    /// leaves out stay.
    ///
    /// # Errors
    /// A value outside its bounds.
    pub fn control_of_cells(&self, structures: &[RanConfigurationStructure]) -> Result<Option<Octets>, JsonError> {
        let offers = |cell: &SupportedCell, name: &str| cell.structures.iter().any(|structure| structure.name == name);
        let offering = |cell: &&SupportedCell| structures.iter().all(|structure| offers(cell, structure.name()));
        // without old values the control applies to what these values identify, such as the policy of a slice, or adds it
        let controlled = structures.iter().map(|structure| StructureControlled {
            old_values: structure.only(|_| false),
            new_values: structure.clone(),
        });
        let controlled: Vec<_> = controlled.collect();
        let cells = self.cells.iter().flatten().filter(offering);
        let cells: Vec<_> = cells
            .map(|cell| CellControlled { cell_global_id: cell.cell_global_id, structures: controlled.clone() })
            .collect();
        if cells.is_empty() {
            return Ok(None);
        }
        let message = ControlMessage { format: ControlMessageFormat::CellLevel(cells) };
        let header = ControlHeader { format: ControlHeaderFormat1 { ric_style_type: CELL_STYLE } };
        let (mut header_octets, mut octets) = (Vec::new(), Vec::new());
        header.encode(&mut header_octets)?;
        message.encode(&mut octets)?;
        Ok(Some((header_octets, octets)))
    }
}

/// Encodes a query of structures of every cell, by name.
///
/// # Errors
/// A name outside its bounds.
pub fn query_of_cells(names: &[String]) -> Result<Octets, JsonError> {
    let structures = names.iter().map(|name| StructureForQuery { name: name.clone(), attributes: None });
    let cells = vec![CellForQuery { cell_global_id: None, structures: structures.collect() }];
    let definition = QueryDefinition { format: QueryDefinitionFormat::CellLevel(cells) };
    let header = QueryHeader { format: QueryHeaderFormat1 { ric_style_type: CELL_STYLE } };
    let (mut header_octets, mut octets) = (Vec::new(), Vec::new());
    header.encode(&mut header_octets)?;
    definition.encode(&mut octets)?;
    Ok((header_octets, octets))
}

/// The first structure that a control of cells has not set, with its cause: an acknowledgement lists them. `None`: all are set, or
/// the outcome cannot be read.
#[must_use]
pub fn first_not_set(outcome: &[u8]) -> Option<String> {
    let of_cell = |cell: &CellOutcome| {
        let failed = cell.failed.as_deref()?.first()?;
        Some(format!("{}: {:?}", failed.requested_values.name(), failed.cause))
    };
    match ControlOutcome::decode(outcome).ok()?.format {
        ControlOutcomeFormat::CellLevel { cells, .. } => cells.iter().find_map(of_cell),
        ControlOutcomeFormat::NodeLevel { .. } => None,
    }
}
