//! Controls of a stepped RAN: encoded for the RAN functions of a node, as over E2.

use e2sm::ccc::{
    CellControlled, ControlHeader, ControlHeaderFormat1, ControlMessage, ControlMessageFormat, ControlOutcome,
    ControlOutcomeFormat, OID, RanConfigurationStructure, RanFunctionDefinition, StructureControlled,
};
use e2sm::common::{Cgi, NrCgi};
use e2sm::{Wire, slice, tc};
use ferric::agent::ControlFailure;
use ferric::e2ap::{Cause, CauseRicRequest, RanFunctionId};
use ferric::xapp::Error;
use ran::Stepped;

/// The control style of E2SM-CCC for cells.
const CELLS: i64 = 2;

fn not_offered(node: usize, what: &str) -> Error {
    Error::NotOffered { node: Some(format!("node {node}")), what: what.into(), nearest: Vec::new() }
}

fn refused(node: usize, failure: ControlFailure) -> Error {
    Error::Refused { node: format!("node {node}"), cause: failure.cause, parameter: None, text: None }
}

/// A RAN function of one of FlexRIC's models at a node.
#[derive(Clone, Copy, Debug)]
pub struct Function {
    pub node: usize,
    id: RanFunctionId,
    wire: Wire,
}

impl Function {
    /// The function of the slice model.
    ///
    /// # Errors
    /// [`Error::NotOffered`].
    pub fn of_slices(ran: &Stepped, node: usize) -> Result<Self, Error> {
        Function::find(ran, node, "slices", |oid| slice::MODEL.wire_of(oid))
    }

    /// The function of the traffic control model.
    ///
    /// # Errors
    /// [`Error::NotOffered`].
    pub fn of_traffic_control(ran: &Stepped, node: usize) -> Result<Self, Error> {
        Function::find(ran, node, "traffic control", |oid| tc::MODEL.wire_of(oid))
    }

    fn find(ran: &Stepped, node: usize, what: &str, wire: impl Fn(&str) -> Option<Wire>) -> Result<Self, Error> {
        let found = ran.functions(node).into_iter().find_map(|offer| Some((offer.id, wire(&offer.oid)?)));
        found.map(|(id, wire)| Function { node, id, wire }).ok_or_else(|| not_offered(node, what))
    }

    /// Sends a control of the slice model.
    ///
    /// # Errors
    /// [`Error::Refused`].
    pub fn control_slices(&self, ran: &mut Stepped, message: &slice::ControlMessage<'_>) -> Result<(), Error> {
        let (mut header, mut octets) = (Vec::new(), Vec::new());
        let written = slice::ControlHeader::default().encode(self.wire, &mut header);
        let written = written.and_then(|()| message.encode(self.wire, &mut octets));
        written.map_err(|error| super::task::invalid("slices", "these values", error.to_string()))?;
        self.send(ran, header, octets)
    }

    /// Sends a control of the traffic control model.
    ///
    /// # Errors
    /// [`Error::Refused`].
    pub fn control_traffic(&self, ran: &mut Stepped, message: &tc::ControlMessage<'_>) -> Result<(), Error> {
        let (mut header, mut octets) = (Vec::new(), Vec::new());
        let written = tc::ControlHeader::default().encode(self.wire, &mut header);
        let written = written.and_then(|()| message.encode(self.wire, &mut octets));
        written.map_err(|error| super::task::invalid("traffic control", "these values", error.to_string()))?;
        self.send(ran, header, octets)
    }

    fn send(&self, ran: &mut Stepped, header: Vec<u8>, message: Vec<u8>) -> Result<(), Error> {
        ran.control(self.node, self.id, header, message).map(drop).map_err(|failure| refused(self.node, failure))
    }
}

/// The E2SM-CCC function of a cell.
#[derive(Clone, Copy, Debug)]
pub struct CellFunction {
    pub node: usize,
    id: RanFunctionId,
    pub cell: NrCgi,
}

impl CellFunction {
    /// The functions of all cells, in the order of the scenario.
    ///
    /// # Errors
    /// [`Error::NotOffered`] for a cell without the structure.
    pub fn of_cells(ran: &Stepped, structure: &str) -> Result<Vec<Self>, Error> {
        let cells = ran.network().cells();
        let nodes = ran.nodes();
        let of_cell = |cell: usize| {
            let own = nodes.iter().enumerate().filter(|(_, (of, _))| *of == cell).map(|(node, _)| node);
            own.clone()
                .find_map(|node| CellFunction::find(ran, node, structure))
                .ok_or_else(|| not_offered(own.min().unwrap_or(cell), structure))
        };
        (0..cells).map(of_cell).collect()
    }

    fn find(ran: &Stepped, node: usize, structure: &str) -> Option<Self> {
        let offer = ran.functions(node).into_iter().find(|offer| offer.oid == OID)?;
        let cells = RanFunctionDefinition::decode(&offer.definition).ok()?.cells?;
        let cell = cells.into_iter().find(|cell| cell.structures.iter().any(|offered| offered.name == structure))?;
        let Cgi::NrCgi(cell) = cell.cell_global_id else { return None };
        Some(CellFunction { node, id: offer.id, cell })
    }

    /// Sets structures of the cell.
    ///
    /// # Errors
    /// [`Error::Refused`], also if the node refuses one structure only.
    pub fn set(
        &self,
        ran: &mut Stepped,
        structures: impl IntoIterator<Item = RanConfigurationStructure>,
    ) -> Result<(), Error> {
        let controlled = |new_values: RanConfigurationStructure| StructureControlled {
            old_values: new_values.only(|_| false),
            new_values,
        };
        let structures = structures.into_iter().map(controlled).collect();
        let cells = vec![CellControlled { cell_global_id: Cgi::NrCgi(self.cell), structures }];
        let (mut header, mut message) = (Vec::new(), Vec::new());
        let written = ControlHeader { format: ControlHeaderFormat1 { ric_style_type: CELLS } }.encode(&mut header);
        let written = written
            .and_then(|()| ControlMessage { format: ControlMessageFormat::CellLevel(cells) }.encode(&mut message));
        written.map_err(|error| super::task::invalid("cell", "these values", error.to_string()))?;
        let outcome =
            ran.control(self.node, self.id, header, message).map_err(|failure| refused(self.node, failure))?;
        let malformed = |reason: String| Error::Malformed { node: format!("node {}", self.node), reason };
        let outcome = ControlOutcome::decode(outcome.as_deref().unwrap_or_default());
        let outcome = outcome.map_err(|error| malformed(error.to_string()))?;
        let failed = match &outcome.format {
            ControlOutcomeFormat::CellLevel { cells, .. } => {
                cells.iter().flat_map(|cell| cell.failed.iter().flatten()).map(|failed| failed.cause).next()
            }
            other => return Err(malformed(format!("{other:?}"))),
        };
        let Some(reason) = failed else { return Ok(()) };
        let cause = Cause::RicRequest(CauseRicRequest::ControlFailedToExecute);
        let text = Some(format!("{reason:?}"));
        Err(Error::Refused { node: format!("node {}", self.node), cause, parameter: None, text })
    }
}
