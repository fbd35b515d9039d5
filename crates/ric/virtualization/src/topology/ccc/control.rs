//! Controls of configuration structures: each goes to the parts that offer its structures, and their outcomes are one.
//!
//! | a structure | |
//! |---|---|
//! | that several parts offer | is asked of each of them, and accepted if one of them accepts it |
//! | of the node that several parts offer | has old values, which say of which part it is: semanticError |
//! | of the node that no part offers | notSupported |
//! | of a cell that no definition lists | is asked of the parts with the cell, whose definitions may be short |
//! | of a cell that no part has | notAvailable |
//! | whose parts are lost, or refuse without an outcome | notAvailable |

use std::collections::BTreeMap;

use e2sm::ccc::{
    CELL_STYLE, Cause as Why, CellControlled, CellOutcome, ControlHeader, ControlMessage, ControlMessageFormat,
    ControlOutcome, ControlOutcomeFormat, StructureAccepted, StructureControlled, StructureFailed, TimeStamp,
};
use e2sm::common::Cgi;
use ferric::agent::ControlFailure;
use ferric::e2::{ControlRequest, NodeId};
use ferric::e2ap::{Cause, CauseProtocol, CauseRicRequest, RanFunctionId};

use super::super::offers::Ranked;
use super::offer::{CccParts, OfCells, Place};

const SYNTAX: Cause = Cause::Protocol(CauseProtocol::TransferSyntaxError);
const FAILED: Cause = Cause::RicRequest(CauseRicRequest::ControlFailedToExecute);

/// A control, divided.
#[derive(Debug)]
pub(in super::super) struct DividedControl {
    /// The node and the function of each part, and its message. The header is that of the controller.
    pub parts: Vec<(NodeId, RanFunctionId, Vec<u8>)>,
    pub composition: Composition,
}

/// The outcome of a control, composed of those of the parts.
#[derive(Debug)]
pub(in super::super) struct Composition {
    is_of_node: bool,
    /// When the first part has received the control.
    received: Option<TimeStamp>,
    structures: Vec<Asked>,
    /// Why the first part that has refused everything did so.
    cause: Option<Cause>,
}

/// A structure of a control.
#[derive(Debug)]
struct Asked {
    cell: Option<Cgi>,
    requested: StructureControlled,
    /// The parts that are asked.
    nodes: Vec<NodeId>,
    accepted: Vec<StructureAccepted>,
    /// As the first part that has refused it says.
    failed: Option<StructureFailed>,
}

/// What an outcome says of a structure.
enum Found {
    Accepted(StructureAccepted),
    Failed(StructureFailed),
}

impl Asked {
    fn refuse(&mut self, cause: Why) {
        let StructureControlled { old_values, new_values: requested_values } = self.requested.clone();
        self.failed.get_or_insert(StructureFailed { old_values, requested_values, cause });
    }
}

/// Divides a control.
///
/// # Errors
/// The cause with which it is refused.
pub(in super::super) fn divide(parts: &CccParts, request: &ControlRequest) -> Result<DividedControl, ControlFailure> {
    let header = ControlHeader::decode(&request.header).map_err(|_| SYNTAX)?;
    let message = ControlMessage::decode(&request.message).map_err(|_| SYNTAX)?;
    let (is_of_node, cells): (bool, Vec<_>) = match message.format {
        ControlMessageFormat::NodeLevel(structures) => (true, vec![(None, structures)]),
        ControlMessageFormat::CellLevel(cells) => {
            (false, cells.into_iter().map(|cell| (Some(cell.cell_global_id), cell.structures)).collect())
        }
    };
    // style 1 is that of the node
    if (header.format.ric_style_type == CELL_STYLE) == is_of_node {
        return Err(Cause::RicRequest(CauseRicRequest::ControlMessageInvalid).into());
    }
    let mut asked = Vec::new();
    let mut of_parts: BTreeMap<Ranked, OfCells<StructureControlled>> = BTreeMap::new();
    for (cell, structures) in cells {
        for requested in structures {
            let mut structure = Asked { cell, requested, nodes: Vec::new(), accepted: Vec::new(), failed: None };
            match asked_parts(parts, cell, &structure.requested) {
                Ok(owners) => {
                    for owner in owners {
                        let Some((node, _)) = parts.target(owner) else { continue };
                        structure.nodes.push(node);
                        let of_part = of_parts.entry(owner).or_default();
                        match of_part.last_mut() {
                            Some((of, structures)) if *of == cell => structures.push(structure.requested.clone()),
                            _ => of_part.push((cell, vec![structure.requested.clone()])),
                        }
                    }
                    if structure.nodes.is_empty() {
                        structure.refuse(Why::NotAvailable);
                    }
                }
                Err(cause) => structure.refuse(cause),
            }
            asked.push(structure);
        }
    }
    let encode = |(part, own): (Ranked, OfCells<StructureControlled>)| {
        let (node, function) = parts.target(part)?;
        let cell = |(cell, structures)| Some(CellControlled { cell_global_id: cell?, structures });
        let format = if is_of_node {
            ControlMessageFormat::NodeLevel(own.into_iter().flat_map(|(_, structures)| structures).collect())
        } else {
            ControlMessageFormat::CellLevel(own.into_iter().filter_map(cell).collect())
        };
        let mut octets = Vec::new();
        let encoded = ControlMessage { format }.encode(&mut octets);
        Some(encoded.map(|()| (node, function, octets)).map_err(|_| ControlFailure::from(SYNTAX)))
    };
    let parts = of_parts.into_iter().filter_map(encode).collect::<Result<_, _>>()?;
    let composition = Composition { is_of_node, received: None, structures: asked, cause: None };
    Ok(DividedControl { parts, composition })
}

/// The parts that are asked to set a structure.
fn asked_parts(parts: &CccParts, cell: Option<Cgi>, requested: &StructureControlled) -> Result<Vec<Ranked>, Why> {
    let name = requested.new_values.name();
    let offering = parts.offering(cell.map_or(Place::Node, Place::Cell), name);
    match (cell, &offering[..]) {
        (None, []) => Err(Why::NotSupported),
        (None, [_, _, ..]) if requested.old_values.attributes().is_empty() => Err(Why::SemanticError),
        (Some(cell), []) => Some(parts.with_cell(cell)).filter(|parts| !parts.is_empty()).ok_or(Why::NotAvailable),
        _ => Ok(offering),
    }
}

impl Composition {
    /// Records the answer of a part.
    pub fn add(&mut self, node: NodeId, answer: &Result<Option<Vec<u8>>, ControlFailure>) {
        let octets = match answer {
            Ok(outcome) => outcome,
            Err(failure) => {
                self.cause.get_or_insert(failure.cause);
                &failure.outcome
            }
        };
        let outcome = octets.as_ref().and_then(|octets| ControlOutcome::decode(octets).ok());
        let (received, mut cells) = match outcome.map(|outcome| outcome.format) {
            Some(ControlOutcomeFormat::NodeLevel { received_timestamp, accepted, failed }) => {
                (received_timestamp, vec![(None, accepted.unwrap_or_default(), failed.unwrap_or_default())])
            }
            Some(ControlOutcomeFormat::CellLevel { received_timestamp, cells }) => {
                let lists = |cell: CellOutcome| {
                    (Some(cell.cell_global_id), cell.accepted.unwrap_or_default(), cell.failed.unwrap_or_default())
                };
                (received_timestamp, cells.into_iter().map(lists).collect())
            }
            None => (None, Vec::new()),
        };
        self.received = self.received.into_iter().chain(received).min();
        for structure in self.structures.iter_mut().filter(|structure| structure.nodes.contains(&node)) {
            let new = &structure.requested.new_values;
            // those that are found are taken: a cell has several structures of some names
            let found =
                cells.iter_mut().filter(|(cell, ..)| *cell == structure.cell).find_map(|(_, accepted, failed)| {
                    // the attributes that are rejected are some of those that were requested
                    let is_it = |of: &StructureFailed| new.agrees_with(&of.requested_values);
                    if let Some(at) = failed.iter().position(is_it) {
                        return Some(Found::Failed(failed.remove(at)));
                    }
                    let is_it = |of: &StructureAccepted| of.current_values.name() == new.name();
                    accepted.iter().position(is_it).map(|at| Found::Accepted(accepted.remove(at)))
                });
            match (found, answer) {
                (Some(Found::Accepted(accepted)), _) => structure.accepted.push(accepted),
                (Some(Found::Failed(failed)), _) => drop(structure.failed.get_or_insert(failed)),
                // an acknowledgement without an outcome
                (None, Ok(None)) => {
                    let StructureControlled { old_values, new_values: current_values } = structure.requested.clone();
                    let accepted = StructureAccepted { old_values, current_values, applied_timestamp: None };
                    structure.accepted.push(accepted);
                }
                (None, Ok(Some(_))) => structure.refuse(Why::Unspecified),
                (None, Err(_)) => structure.refuse(Why::NotAvailable),
            }
        }
    }

    /// The outcome of the control, which fails if no structure is accepted.
    ///
    /// # Errors
    /// The failure, with its outcome.
    pub fn outcome(self) -> Result<Option<Vec<u8>>, ControlFailure> {
        let mut cells: Vec<(Option<Cgi>, Vec<StructureAccepted>, Vec<StructureFailed>)> = Vec::new();
        for Asked { cell, accepted, failed, .. } in self.structures {
            if cells.last().is_none_or(|(known, ..)| *known != cell) {
                cells.push((cell, Vec::new(), Vec::new()));
            }
            let Some((_, all_accepted, all_failed)) = cells.last_mut() else { continue };
            if accepted.is_empty() {
                all_failed.extend(failed);
            }
            all_accepted.extend(accepted);
        }
        let is_refused = cells.iter().all(|(_, accepted, _)| accepted.is_empty());
        // a list has at least one item
        let mut cells = cells.into_iter().map(|(cell, accepted, failed)| {
            (cell, Some(accepted).filter(|list| !list.is_empty()), Some(failed).filter(|list| !list.is_empty()))
        });
        let received_timestamp = self.received;
        let format = if self.is_of_node {
            let (_, accepted, failed) = cells.next().unwrap_or_default();
            ControlOutcomeFormat::NodeLevel { received_timestamp, accepted, failed }
        } else {
            let outcome = |(cell, accepted, failed)| {
                Option::map(cell, |cell_global_id| CellOutcome { cell_global_id, accepted, failed })
            };
            ControlOutcomeFormat::CellLevel { received_timestamp, cells: cells.filter_map(outcome).collect() }
        };
        let mut octets = Vec::new();
        let outcome = ControlOutcome { format }.encode(&mut octets).is_ok().then_some(octets);
        if is_refused { Err(ControlFailure { cause: self.cause.unwrap_or(FAILED), outcome }) } else { Ok(outcome) }
    }
}
