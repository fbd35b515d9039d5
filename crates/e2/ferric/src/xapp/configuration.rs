//! Configuration of cells (E2SM-CCC): reports of structures, and controls that set them.

use std::sync::Arc;

use e2::{Action, SubscriptionSpec};
use e2ap::{RicActionId, RicActionType};
use e2sm::ccc::{
    ActionDefinition, ActionDefinitionFormat, CELL_STYLE, CellForAction, CellForEventTrigger, EventTriggerDefinition,
    EventTriggerDefinitionFormat, IndicationMessage, IndicationMessageFormat, JsonError, RanConfigurationStructure,
    ReportType, StructureForAction, StructureForEventTrigger, StructureReported,
};

use super::control::{Answer, Encoded, OutcomeModel};
use super::core::{Planned, Purpose, Reader};
use super::error::Error;
use super::feed::{Buffer, Feed};
use super::names::CellId;
use super::node::{CccFunction, NodeEntry};
use super::ric::{Node, Ric};

/// Structures of a cell, as its node has reported them.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CellConfiguration {
    /// The node.
    pub node: Arc<str>,
    /// The cell.
    pub cell: CellId,
    /// The structures, each with its change.
    pub structures: Vec<StructureReported>,
}

impl Ric {
    /// Reports of configuration structures of all cells, by name, such as `O-RRMPolicyRatio`: their state, if they have any, and
    /// then each change, also of nodes that come later (E2SM-CCC 7.4.2).
    ///
    /// # Errors
    /// [`Error::Invalid`] without a name; [`Error::NotOffered`] with the nearest structures, [`Error::Refused`]: if every node
    /// refuses.
    pub fn configuration(
        &self,
        structures: impl IntoIterator<Item = impl Into<String>>,
    ) -> Result<Feed<CellConfiguration>, Error> {
        let names = named(structures)?;
        let handle = self.handle().clone();
        let buffer = Arc::new(Buffer::new().map_err(|source| handle.system_error("eventfd", source))?);
        let purpose = Purpose::Configuration { names, buffer: Arc::clone(&buffer) };
        let id = handle.session.ask(
            || "reports of configuration".into(),
            handle.deadline,
            move |core, commands, reply| core.add_stream(commands, purpose, None, reply),
        )?;
        Ok(Feed::new(buffer, id, handle.session))
    }
}

impl Node {
    /// Sets configuration structures in each of the node's cells that offer them, all together or, for a structure that the node
    /// does not set, not at all (E2SM-CCC 7.6.2). Attributes that a structure leaves out stay.
    ///
    /// # Errors
    /// [`Error::Invalid`] without a structure, [`Error::NotOffered`], [`Error::Refused`]; [`Error::Unverified`] with the structure
    /// that the node has not set, and its cause.
    pub fn configure(
        &self,
        structures: impl IntoIterator<Item = RanConfigurationStructure>,
    ) -> Result<Vec<Answer>, Error> {
        let structures: Vec<_> = structures.into_iter().collect();
        if structures.is_empty() {
            return Err(Error::invalid("structures", "", "at least one structure"));
        }
        self.handle().control_nodes("these configuration structures (E2SM-CCC)", Some(self.name()), move |_, node| {
            encode(node, &structures)
        })
    }
}

/// The names of structures.
pub(super) fn named(structures: impl IntoIterator<Item = impl Into<String>>) -> Result<Vec<String>, Error> {
    let names: Vec<String> = structures.into_iter().map(Into::into).collect();
    if names.is_empty() {
        return Err(Error::invalid("structures", "", "at least one structure, such as O-NRCellDU"));
    }
    Ok(names)
}

/// The function of a node whose cells offer all these structures.
///
/// # Errors
/// [`Error::NotOffered`] with the nearest offered ones.
pub(super) fn function<'n>(node: &'n NodeEntry, names: &[String]) -> Result<&'n CccFunction, Error> {
    let Some(ccc) = &node.ccc else { return Err(node.lacks("configuration of cells (E2SM-CCC)")) };
    let offered = || ccc.definition.structures_of_cells();
    match names.iter().find(|name| !offered().any(|offered| offered == *name)) {
        Some(wanted) => Err(Error::NotOffered {
            node: Some(node.name.to_string()),
            what: wanted.clone(),
            nearest: e2sm::kpm::nearest_names(wanted, offered()),
        }),
        None => Ok(ccc),
    }
}

/// The subscription to reports of structures: all attributes after each change.
pub(super) fn plan(node: &NodeEntry, names: &[String]) -> Result<Vec<Planned>, Error> {
    let ccc = function(node, names)?;
    let triggers = names.iter().map(|name| StructureForEventTrigger { name: name.clone(), attributes: None });
    let cells = vec![CellForEventTrigger { cell_global_id: None, structures: triggers.collect() }];
    let trigger = EventTriggerDefinition { format: EventTriggerDefinitionFormat::CellLevelChange(cells) };
    let reported = names.iter().map(|name| StructureForAction {
        report_type: ReportType::All,
        name: name.clone(),
        attributes: None,
    });
    let cells = vec![CellForAction { cell_global_id: None, structures: reported.collect() }];
    let action = ActionDefinition { ric_style_type: CELL_STYLE, format: ActionDefinitionFormat::CellLevel(cells) };
    let (mut event_trigger, mut definition) = (Vec::new(), Vec::new());
    let written = trigger.encode(&mut event_trigger).and_then(|()| action.encode(&mut definition));
    written.map_err(|error| Error::invalid("structures", names.join(", "), error.to_string()))?;
    let (id, kind) = (RicActionId(0), RicActionType::Report);
    let actions = vec![Action { id, kind, definition: Some(definition), subsequent: None }];
    let spec = SubscriptionSpec { event_trigger, actions };
    Ok(vec![Planned { function: ccc.id, spec, begins_with_state: true, reader: Reader::Configuration }])
}

/// Reads a report.
pub(super) fn read(node: &Arc<str>, message: &[u8]) -> Result<Vec<CellConfiguration>, JsonError> {
    let IndicationMessageFormat::CellLevel(cells) = IndicationMessage::decode(message)?.format else {
        return Ok(Vec::new());
    };
    let configuration = |cell: e2sm::ccc::CellReported| CellConfiguration {
        node: Arc::clone(node),
        cell: CellId::of(&cell.cell_global_id),
        structures: cell.structures,
    };
    Ok(cells.into_iter().map(configuration).collect())
}

/// Encodes a control that sets structures in each cell that offers them; `None` if no cell does.
pub(super) fn encode(node: &NodeEntry, structures: &[RanConfigurationStructure]) -> Result<Option<Encoded>, Error> {
    let Some(ccc) = &node.ccc else { return Ok(None) };
    let names = || structures.iter().map(RanConfigurationStructure::name).collect::<Vec<_>>().join(", ");
    let control = ccc.definition.control_of_cells(structures);
    let control = control.map_err(|error| Error::invalid("structures", names(), error.to_string()))?;
    let Some((header, message)) = control else { return Ok(None) };
    Ok(Some(Encoded { function: ccc.id, header, message, outcome: OutcomeModel::Ccc }))
}
