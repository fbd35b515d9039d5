//! What the CCC functions of the parts offer, and the one function that offers all of it.
//!
//! A structure of the node or of a cell that several parts offer is that of all of them.

use std::collections::{BTreeMap, BTreeSet};

use e2sm::ccc::{JsonError, RanFunctionDefinition, SupportedCell, SupportedServices, SupportedStructure};
use e2sm::common::Cgi;
use ferric::e2::topology::Part;
use ferric::e2::{NodeId, RanFunction};
use ferric::e2ap::RanFunctionId;

use super::super::offers::{Offer, Offers, Ranked, ranked};
use crate::node::Offered;

/// Where a structure is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Node,
    Cell(Cgi),
    EveryCell,
}

/// The structures of a message, by cell; in requests no cell stands for the node, or for every cell.
pub(super) type OfCells<S> = Vec<(Option<Cgi>, Vec<S>)>;

/// The attributes of structures, by the name of the structure.
type Attributes = BTreeMap<String, BTreeSet<String>>;

/// What a part offers.
#[derive(Debug)]
pub(super) struct CccOffer {
    of_node: Attributes,
    of_cells: Vec<(Cgi, Attributes)>,
}

impl CccOffer {
    fn new(definition: &RanFunctionDefinition) -> Self {
        let attributes = |structure: &SupportedStructure| {
            let names = structure.attributes.iter().map(|attribute| attribute.name.clone());
            (structure.name.clone(), names.collect())
        };
        let cells = definition.cells.iter().flatten();
        CccOffer {
            of_node: definition.node_level.iter().flatten().map(attributes).collect(),
            of_cells: cells
                .map(|cell| (cell.cell_global_id, cell.structures.iter().map(attributes).collect()))
                .collect(),
        }
    }

    /// The structures at a place; of several cells, those of each.
    fn at(&self, place: Place) -> impl Iterator<Item = &Attributes> {
        let of_node = Some(&self.of_node).filter(|_| place == Place::Node);
        let is_meant = move |cell: &Cgi| match place {
            Place::Node => false,
            Place::Cell(of) => of == *cell,
            Place::EveryCell => true,
        };
        let of_cells = self.of_cells.iter().filter(move |(cell, _)| is_meant(cell)).map(|(_, attributes)| attributes);
        of_node.into_iter().chain(of_cells)
    }
}

/// The CCC functions of the parts of a base station.
#[derive(Debug, Default)]
pub(in super::super) struct CccParts {
    /// The function that gives its id, revision and object identifier.
    base: Option<(Part, RanFunction)>,
    offers: Offers<CccOffer>,
    definition: Vec<u8>,
}

impl CccParts {
    /// Takes over the CCC functions that the parts have now. `shares_cu` says whether other base stations have the same CU, whose
    /// function is then left alone.
    ///
    /// # Errors
    /// A definition cannot be decoded, or what they have together cannot be encoded.
    pub fn update<'f>(
        &mut self,
        functions: impl Iterator<Item = (Part, NodeId, &'f RanFunction)>,
        shares_cu: bool,
    ) -> Result<(), JsonError> {
        let mut present = BTreeMap::new();
        for (part, node, function) in functions {
            let is_own = !shares_cu || matches!(part, Part::Du(_));
            if is_own && matches!(Offered::of(function), Some(Offered::Ccc)) {
                present.entry(ranked(part)).or_insert((node, function));
            }
        }
        if self.base.is_none() {
            let first = present.first_key_value();
            self.base = first.map(|((_, part), (_, function))| (*part, (*function).clone()));
        }
        let read = |_, function: &RanFunction| {
            RanFunctionDefinition::decode(&function.definition).map(|definition| CccOffer::new(&definition))
        };
        if self.offers.update(present, read)? {
            self.definition = merged(self.offers.iter().map(|(_, offer)| offer))?;
        }
        Ok(())
    }

    pub fn clear(&mut self) {
        *self = CccParts::default();
    }

    /// The part and the function that the merged one is named like, and its definition.
    pub fn merged(&self) -> Option<(Part, &RanFunction, &[u8])> {
        let (part, function) = self.base.as_ref()?;
        (!self.definition.is_empty()).then_some((*part, function, &self.definition[..]))
    }

    /// The definition of the merged function; empty if there is none.
    pub fn definition(&self) -> &[u8] {
        &self.definition
    }

    /// Whether a function of a part is in the merged one.
    pub fn has(&self, part: Part, function: RanFunctionId) -> bool {
        !self.definition.is_empty() && self.offers.has(part, function)
    }

    /// The node and the function of a part; `None` while it is lost.
    pub(super) fn target(&self, part: Ranked) -> Option<(NodeId, RanFunctionId)> {
        self.offers.target(part)
    }

    /// The parts that offer a structure at a place.
    pub(super) fn offering(&self, place: Place, structure: &str) -> Vec<Ranked> {
        self.parts(|offer| offer.at(place).any(|offered| offered.contains_key(structure)))
    }

    /// The parts that offer structures of a cell.
    pub(super) fn with_cell(&self, cell: Cgi) -> Vec<Ranked> {
        self.parts(|offer| offer.at(Place::Cell(cell)).next().is_some())
    }

    /// Whether a part offers an attribute of a structure at a place.
    pub(super) fn has_attribute(&self, part: Ranked, place: Place, structure: &str, attribute: &str) -> bool {
        let has = |offered: &Attributes| offered.get(structure).is_some_and(|names| names.contains(attribute));
        self.offers.get(part).is_some_and(|offer| offer.content.at(place).any(has))
    }

    fn parts(&self, is_meant: impl Fn(&CccOffer) -> bool) -> Vec<Ranked> {
        self.offers.iter().filter(|(_, offer)| is_meant(&offer.content)).map(|(part, _)| part).collect()
    }
}

/// The definition with the structures of all parts.
fn merged<'o>(offers: impl Iterator<Item = &'o Offer<CccOffer>>) -> Result<Vec<u8>, JsonError> {
    let mut merged: Option<RanFunctionDefinition> = None;
    let (mut of_node, mut cells): (Vec<SupportedStructure>, Vec<SupportedCell>) = (Vec::new(), Vec::new());
    for offer in offers {
        let definition = RanFunctionDefinition::decode(&offer.definition)?;
        add_structures(&mut of_node, definition.node_level.iter().flatten());
        for cell in definition.cells.iter().flatten() {
            let known = cells.iter().position(|known| known.cell_global_id == cell.cell_global_id);
            let at = known.unwrap_or_else(|| {
                cells.push(SupportedCell { cell_global_id: cell.cell_global_id, structures: Vec::new() });
                cells.len() - 1
            });
            add_structures(&mut cells[at].structures, cell.structures.iter());
        }
        merged.get_or_insert(definition);
    }
    let Some(mut merged) = merged else { return Ok(Vec::new()) };
    // a list has at least one item
    merged.node_level = Some(of_node).filter(|structures| !structures.is_empty());
    merged.cells = Some(cells).filter(|cells| !cells.is_empty());
    let mut out = Vec::new();
    merged.encode(&mut out)?;
    Ok(out)
}

/// Adds the structures of a part. Queries are answered at once, so that parts cannot be asked.
fn add_structures<'s>(known: &mut Vec<SupportedStructure>, added: impl Iterator<Item = &'s SupportedStructure>) {
    for structure in added {
        let place = known.iter().position(|known| known.name == structure.name).unwrap_or_else(|| {
            known.push(SupportedStructure { name: structure.name.clone(), attributes: Vec::new() });
            known.len() - 1
        });
        let attributes = &mut known[place].attributes;
        for attribute in &structure.attributes {
            let SupportedServices { event_trigger, report, control, .. } = attribute.supported_services.clone();
            match attributes.iter_mut().find(|known| known.name == attribute.name) {
                None => {
                    let services = SupportedServices { event_trigger, report, control, ..SupportedServices::default() };
                    let name = attribute.name.clone();
                    attributes.push(e2sm::ccc::SupportedAttribute { name, supported_services: services });
                }
                Some(known) => {
                    let services = &mut known.supported_services;
                    services.event_trigger = services.event_trigger.take().or(event_trigger);
                    services.report = services.report.take().or(report);
                    services.control = services.control.take().or(control);
                }
            }
        }
    }
}
