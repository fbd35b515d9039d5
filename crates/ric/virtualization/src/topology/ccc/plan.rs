//! Divides the subscriptions to configuration structures among the parts that have them.

use std::collections::BTreeMap;

use e2sm::ccc::{
    ActionDefinition, ActionDefinitionFormat, CellForAction, CellForEventTrigger, EventTriggerDefinition,
    EventTriggerDefinitionFormat, JsonError, StructureForAction, StructureForEventTrigger,
};
use e2sm::common::Cgi;
use ferric::e2::Action;
use ferric::e2ap::{Cause, CauseProtocol, CauseRicRequest, RicActionId, RicActionType};
use tracing::debug;

use super::super::offers::Ranked;
use super::offer::{CccParts, OfCells, Place};

const NOT_SUPPORTED: Cause = Cause::RicRequest(CauseRicRequest::ActionNotSupported);
const UNAVAILABLE: Cause = Cause::RicRequest(CauseRicRequest::RequestedInformationUnavailable);
const MALFORMED: Cause = Cause::Protocol(CauseProtocol::TransferSyntaxError);
const SEMANTIC_ERROR: Cause = Cause::Protocol(CauseProtocol::SemanticError);

/// An event trigger, divided.
#[derive(Debug)]
pub(super) enum Trigger {
    /// Each part reports with the period of the controller.
    Periodic,
    /// Each part reports changes of its own structures.
    Change(BTreeMap<Ranked, Vec<u8>>),
}

/// An action, divided.
#[derive(Debug)]
pub(super) struct Split {
    pub id: RicActionId,
    pub is_periodic: bool,
    pub parts: Vec<PartAction>,
}

/// What a part is asked for.
#[derive(Debug)]
pub(super) struct PartAction {
    pub part: Ranked,
    /// `None`: that of the controller.
    pub event_trigger: Option<Vec<u8>>,
    pub definition: Vec<u8>,
}

/// A structure that a controller names, and its attributes.
trait Requested: Clone {
    fn name(&self) -> &str;

    /// The attributes; `None`: all.
    fn attributes(&self) -> Option<Vec<&str>>;

    fn retain(&mut self, keep: impl Fn(&str) -> bool);
}

impl Requested for StructureForEventTrigger {
    fn name(&self) -> &str {
        &self.name
    }

    fn attributes(&self) -> Option<Vec<&str>> {
        Some(self.attributes.as_ref()?.iter().map(|attribute| attribute.0.as_str()).collect())
    }

    fn retain(&mut self, keep: impl Fn(&str) -> bool) {
        self.attributes.iter_mut().for_each(|attributes| attributes.retain(|name| keep(&name.0)));
    }
}

impl Requested for StructureForAction {
    fn name(&self) -> &str {
        &self.name
    }

    fn attributes(&self) -> Option<Vec<&str>> {
        Some(self.attributes.as_ref()?.iter().map(|attribute| attribute.name.as_str()).collect())
    }

    fn retain(&mut self, keep: impl Fn(&str) -> bool) {
        self.attributes.iter_mut().for_each(|attributes| attributes.retain(|of| keep(&of.name)));
    }
}

/// Returns the structures at a place that each part is asked for. Of several parts, each is asked for the attributes that it offers.
///
/// # Errors
/// No part has one of them.
fn assign<S: Requested>(parts: &CccParts, place: Place, structures: &[S]) -> Result<BTreeMap<Ranked, Vec<S>>, Cause> {
    let mut assigned: BTreeMap<Ranked, Vec<S>> = BTreeMap::new();
    for structure in structures {
        let name = structure.name();
        let unknown = |attribute: &str| {
            debug!(structure = name, attribute, ?place, "no part offers a configuration structure that is asked for");
            UNAVAILABLE
        };
        let offering = parts.offering(place, name);
        let attributes = structure.attributes();
        match (&offering[..], &attributes) {
            ([], _) => return Err(unknown("")),
            // the part says which attributes it has not
            ([one], _) => assigned.entry(*one).or_default().push(structure.clone()),
            (several, None) => {
                several.iter().for_each(|part| assigned.entry(*part).or_default().push(structure.clone()));
            }
            (several, Some(attributes)) => {
                let has = |part: Ranked, attribute: &str| parts.has_attribute(part, place, name, attribute);
                if let Some(missing) = attributes.iter().find(|wanted| !several.iter().any(|part| has(*part, wanted))) {
                    return Err(unknown(missing));
                }
                for part in several.iter().filter(|part| attributes.iter().any(|wanted| has(**part, wanted))) {
                    let mut own = structure.clone();
                    own.retain(|attribute| has(*part, attribute));
                    assigned.entry(*part).or_default().push(own);
                }
            }
        }
    }
    Ok(assigned)
}

/// The same for structures of cells; no cell stands for every cell.
fn assign_cells<'s, S: Requested + 's>(
    parts: &CccParts,
    cells: impl Iterator<Item = (Option<Cgi>, &'s [S])>,
) -> Result<BTreeMap<Ranked, OfCells<S>>, Cause> {
    let mut assigned: BTreeMap<Ranked, Vec<_>> = BTreeMap::new();
    for (cell, structures) in cells {
        let place = cell.map_or(Place::EveryCell, Place::Cell);
        for (part, structures) in assign(parts, place, structures)? {
            assigned.entry(part).or_default().push((cell, structures));
        }
    }
    Ok(assigned)
}

fn encoded(encode: impl FnOnce(&mut Vec<u8>) -> Result<(), JsonError>) -> Result<Vec<u8>, Cause> {
    let mut out = Vec::new();
    encode(&mut out).map_err(|_| MALFORMED)?;
    Ok(out)
}

/// Divides an event trigger.
///
/// # Errors
/// The cause with which the subscription is refused.
pub(super) fn trigger(parts: &CccParts, octets: &[u8]) -> Result<Trigger, Cause> {
    let definition = EventTriggerDefinition::decode(octets).map_err(|_| MALFORMED)?;
    let encode = |format: EventTriggerDefinitionFormat| encoded(|out| EventTriggerDefinition { format }.encode(out));
    let of_parts = match &definition.format {
        EventTriggerDefinitionFormat::PeriodMs(_) => return Ok(Trigger::Periodic),
        EventTriggerDefinitionFormat::NodeLevelChange(structures) => {
            let assigned = assign(parts, Place::Node, structures)?.into_iter();
            let encode = |(part, own)| Ok((part, encode(EventTriggerDefinitionFormat::NodeLevelChange(own))?));
            assigned.map(encode).collect::<Result<_, Cause>>()?
        }
        EventTriggerDefinitionFormat::CellLevelChange(cells) => {
            let cells = cells.iter().map(|cell| (cell.cell_global_id, &cell.structures[..]));
            let cell = |(cell_global_id, structures)| CellForEventTrigger { cell_global_id, structures };
            let encode = |(part, own): (_, Vec<_>)| {
                let own = own.into_iter().map(cell).collect();
                Ok((part, encode(EventTriggerDefinitionFormat::CellLevelChange(own))?))
            };
            assign_cells(parts, cells)?.into_iter().map(encode).collect::<Result<_, Cause>>()?
        }
    };
    Ok(Trigger::Change(of_parts))
}

/// Divides an action.
///
/// # Errors
/// The cause with which it is refused.
pub(super) fn split(parts: &CccParts, trigger: &Trigger, action: &Action) -> Result<Split, Cause> {
    if action.kind != RicActionType::Report {
        return Err(NOT_SUPPORTED);
    }
    let octets = action.definition.as_deref().ok_or(SEMANTIC_ERROR)?;
    let definition = ActionDefinition::decode(octets).map_err(|_| MALFORMED)?;
    let ric_style_type = definition.ric_style_type;
    let encode =
        |format: ActionDefinitionFormat| encoded(|out| ActionDefinition { ric_style_type, format }.encode(out));
    let of_parts: Vec<(Ranked, Vec<u8>)> = match &definition.format {
        ActionDefinitionFormat::NodeLevel(structures) => {
            let encode = |(part, own)| Ok((part, encode(ActionDefinitionFormat::NodeLevel(own))?));
            assign(parts, Place::Node, structures)?.into_iter().map(encode).collect::<Result<_, Cause>>()?
        }
        ActionDefinitionFormat::CellLevel(cells) => {
            let cells = cells.iter().map(|cell| (cell.cell_global_id, &cell.structures[..]));
            let cell = |(cell_global_id, structures)| CellForAction { cell_global_id, structures };
            let encode = |(part, own): (_, Vec<_>)| {
                let own = own.into_iter().map(cell).collect();
                Ok((part, encode(ActionDefinitionFormat::CellLevel(own))?))
            };
            assign_cells(parts, cells)?.into_iter().map(encode).collect::<Result<_, Cause>>()?
        }
    };
    if !of_parts.iter().any(|(part, _)| parts.target(*part).is_some()) {
        return Err(UNAVAILABLE);
    }
    let own_trigger = |part: Ranked| {
        match trigger {
        Trigger::Periodic => Ok(None),
        Trigger::Change(of_parts) => of_parts.get(&part).cloned().map(Some).ok_or_else(|| {
            // it does not see the changes of other parts
            debug!(
                ?part,
                "an action is refused: it has structures of a part, and the event trigger has none of that part; name one there too"
            );
            NOT_SUPPORTED
        }),
    }
    };
    let of_part = |(part, definition)| Ok(PartAction { part, event_trigger: own_trigger(part)?, definition });
    Ok(Split {
        id: action.id,
        is_periodic: matches!(trigger, Trigger::Periodic),
        parts: of_parts.into_iter().map(of_part).collect::<Result<_, Cause>>()?,
    })
}
