//! The administrative state, the cell state and energy saving of cells, as nodes with E2SM-CCC report them.
//!
//! The RIC subscribes at each node that offers the structures: the node reports their state, and then each change
//! (E2SM-CCC 7.3.2, 7.4.2).

use std::collections::{BTreeMap, HashMap};

use e2sm::ccc::{
    ActionDefinition, ActionDefinitionFormat, AdministrativeState, CellForAction, CellForEventTrigger, CellState,
    EnergySavingState, EventTriggerDefinition, EventTriggerDefinitionFormat, IndicationMessage,
    IndicationMessageFormat, JsonError, OID, RanConfigurationStructure, RanFunctionDefinition, ReportType,
    StructureForAction, StructureForEventTrigger,
};
use e2sm::common::Cgi;
use ferric::e2::{
    Action, Indication, Node, NodeId, RequestEvent, SubscriptionId, SubscriptionOrder, SubscriptionSpec, Ticket,
};
use ferric::e2ap::{RanFunctionId, RicActionId, RicActionType};
use ferric::server::IappContext;
use ids::{CellIdentity, PlmnIdentity};
use schemars::JsonSchema;
use serde::Serialize;
use tracing::warn;

/// The structures that have the states.
const STRUCTURES: [&str; 2] = ["O-NRCellDU", "O-CESManagementFunction"];
/// The style of structures of cells (E2SM-CCC 7.4).
const CELLS: i64 = 2;
/// The most cells of a node; states of further ones are ignored.
const MAX_CELLS: usize = 4096;

/// The states of a cell; null: its node does not report it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub(super) struct CellStates {
    /// Whether the cell may serve UEs (TS 28.541, ITU-T X.731): `locked`; `shutting_down`, when it serves those that it has;
    /// `unlocked`.
    #[schemars(extend("enum" = ["locked", "shutting_down", "unlocked", null]))]
    pub administrative_state: Option<&'static str>,
    /// Whether it is in use: `idle`, `inactive` or `active`.
    #[schemars(extend("enum" = ["idle", "inactive", "active", null]))]
    pub cell_state: Option<&'static str>,
    /// Whether it saves energy (TS 28.541, energySavingState).
    pub is_energy_saving: Option<bool>,
}

/// A cell by its network and its identity.
pub(super) type CellName = (PlmnIdentity, CellIdentity);

/// A cell whose node reports its states.
#[derive(Debug)]
pub(super) struct ReportedCell {
    pub name: CellName,
    pub node: NodeId,
    pub states: CellStates,
}

/// The states that nodes have reported.
#[derive(Default)]
pub(super) struct CellStateReports {
    requested: HashMap<Ticket, NodeId>,
    sources: HashMap<SubscriptionId, NodeId>,
    states: HashMap<NodeId, BTreeMap<CellName, CellStates>>,
}

impl CellStateReports {
    /// Subscribes at a node that has set up, if it offers the structures.
    pub fn add_node(&mut self, node: &Node, ric: &mut IappContext<'_>) {
        let Some((function, spec)) = plan(node) else { return };
        // it is not shared, since the node reports the state once
        let order = SubscriptionOrder { restore: false, consent: true, ..spec.into() };
        match ric.subscribe(node.id, function, order) {
            Ok(ticket) => drop(self.requested.insert(ticket, node.id)),
            Err(error) if ric.allows_line(node.id) => {
                warn!(node = %node.global_id, "states of cells are unknown: cannot subscribe: {error}");
            }
            Err(_) => {}
        }
    }

    /// Forgets a node that is lost.
    pub fn remove_node(&mut self, node: NodeId) {
        self.requested.retain(|_, of| *of != node);
        self.sources.retain(|_, of| *of != node);
        self.states.remove(&node);
    }

    /// Handles the answer to a subscription request, and its end.
    pub fn handle_request(&mut self, event: &RequestEvent, ric: &mut IappContext<'_>) {
        match event {
            RequestEvent::Subscribed { ticket, subscription, .. } => {
                if let Some(node) = self.requested.remove(ticket) {
                    self.sources.insert(*subscription, node);
                }
            }
            RequestEvent::SubscriptionFailed { ticket, error } => {
                if let Some(node) = self.requested.remove(ticket)
                    && ric.allows_line(node)
                {
                    let node = ric.node(node).map(|node| node.global_id.to_string());
                    warn!(node, "states of cells are unknown: the node refuses to report them: {error}");
                }
            }
            RequestEvent::ChangeRequired { subscription, .. } if self.sources.contains_key(subscription) => {
                // whatever the node leaves is taken; it may have lost the subscription meanwhile
                let _ = ric.answer_change(*subscription, &[]);
            }
            RequestEvent::SubscriptionEnded { subscription, .. } => {
                if let Some(node) = self.sources.remove(subscription) {
                    self.states.remove(&node);
                }
            }
            _ => {}
        }
    }

    /// Reads a report. Returns the cells whose states have changed; `None` if it is for others.
    pub fn handle_indication(
        &mut self,
        indication: &Indication<'_>,
    ) -> Option<Result<Vec<(CellName, CellStates)>, JsonError>> {
        let node = *self.sources.get(&indication.subscription)?;
        let gather = per::Gather::new();
        let decoded = indication.payload.is_none().then(|| indication.decode(&gather));
        let message = match (indication.payload, &decoded) {
            (Some((_, message)), _) => message.into(),
            (None, Some(Ok(decoded))) => decoded.message.to_cow(),
            // the controller has answered what cannot be decoded
            _ => return Some(Ok(Vec::new())),
        };
        Some(apply(self.states.entry(node).or_default(), &message))
    }

    /// Returns all cells whose nodes report states.
    pub fn cells(&self) -> impl Iterator<Item = ReportedCell> + '_ {
        self.states.iter().flat_map(|(node, cells)| {
            cells.iter().map(|(name, states)| ReportedCell { name: *name, node: *node, states: *states })
        })
    }
}

/// The subscription to the structures that the cells of a node offer; `None` if there are none.
fn plan(node: &Node) -> Option<(RanFunctionId, SubscriptionSpec)> {
    let function = node.functions.iter().find(|function| &*function.oid == OID)?;
    let definition = RanFunctionDefinition::decode(&function.definition).ok()?;
    let offered = |name: &&&str| {
        let structures = definition.cells.iter().flatten().flat_map(|cell| &cell.structures);
        structures.into_iter().any(|structure| structure.name == ***name)
    };
    let names: Vec<String> = STRUCTURES.iter().filter(offered).map(|name| (*name).to_owned()).collect();
    if names.is_empty() {
        return None;
    }
    let structures = names.iter().map(|name| StructureForEventTrigger { name: name.clone(), attributes: None });
    let cells = vec![CellForEventTrigger { cell_global_id: None, structures: structures.collect() }];
    let trigger = EventTriggerDefinition { format: EventTriggerDefinitionFormat::CellLevelChange(cells) };
    let structures =
        names.into_iter().map(|name| StructureForAction { report_type: ReportType::All, name, attributes: None });
    let cells = vec![CellForAction { cell_global_id: None, structures: structures.collect() }];
    let action = ActionDefinition { ric_style_type: CELLS, format: ActionDefinitionFormat::CellLevel(cells) };
    let (mut event_trigger, mut definition) = (Vec::new(), Vec::new());
    trigger.encode(&mut event_trigger).and_then(|()| action.encode(&mut definition)).ok()?;
    let (id, kind) = (RicActionId(1), RicActionType::Report);
    let actions = vec![Action { id, kind, definition: Some(definition), subsequent: None }];
    Some((function.id, SubscriptionSpec { event_trigger, actions }))
}

/// Applies a report to the states of a node's cells. Returns those that have changed.
fn apply(known: &mut BTreeMap<CellName, CellStates>, message: &[u8]) -> Result<Vec<(CellName, CellStates)>, JsonError> {
    let IndicationMessageFormat::CellLevel(cells) = IndicationMessage::decode(message)?.format else {
        return Ok(Vec::new());
    };
    let mut changed = Vec::new();
    for cell in cells {
        let name = match cell.cell_global_id {
            Cgi::NrCgi(cell) => (cell.plmn_identity, CellIdentity(cell.nr_cell_identity.value)),
            Cgi::EutraCgi(cell) => (cell.plmn_identity, CellIdentity(cell.eutra_cell_identity.value)),
        };
        if known.len() >= MAX_CELLS && !known.contains_key(&name) {
            continue;
        }
        let states = known.entry(name).or_default();
        let before = *states;
        for structure in &cell.structures {
            match &structure.values {
                RanConfigurationStructure::NrCellDu(of) => {
                    states.administrative_state =
                        of.administrative_state.map(administrative).or(states.administrative_state);
                    states.cell_state = of.cell_state.map(in_use).or(states.cell_state);
                }
                RanConfigurationStructure::CesManagementFunction(of) => {
                    let is_saving = of.energy_saving_state.map(|state| state == EnergySavingState::IsEnergySaving);
                    states.is_energy_saving = is_saving.or(states.is_energy_saving);
                }
                _ => {}
            }
        }
        if *states != before {
            changed.push((name, *states));
        }
    }
    Ok(changed)
}

fn administrative(state: AdministrativeState) -> &'static str {
    match state {
        AdministrativeState::Locked => "locked",
        AdministrativeState::ShuttingDown => "shutting_down",
        AdministrativeState::Unlocked => "unlocked",
    }
}

fn in_use(state: CellState) -> &'static str {
    match state {
        CellState::Idle => "idle",
        CellState::Inactive => "inactive",
        CellState::Active => "active",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn report(structures: &Value) -> Vec<u8> {
        let cell = json!({
            "plmnIdentity": { "mcc": "001", "mnc": "01" }, "nRCellIdentity": "003800001",
        });
        let cells = json!([{ "cellGlobalId": cell, "listOfConfigurationStructuresReported": structures }]);
        serde_json::to_vec(&json!({ "indicationMessageFormat": { "listOfCellsReported": cells } })).unwrap()
    }

    fn structure(name: &str, values: &Value) -> Value {
        json!({ "changeType": "none", "ranConfigurationStructureName": name, "valuesOfAttributes": { "ranConfigurationStructure": values } })
    }

    #[test]
    fn what_a_report_leaves_out_stays() {
        let mut known = BTreeMap::new();
        let du = structure("O-NRCellDU", &json!({ "administrativeState": "UNLOCKED", "cellState": "ACTIVE" }));
        let saving = structure("O-CESManagementFunction", &json!({ "energySavingState": "isNotEnergySaving" }));
        let changed = apply(&mut known, &report(&json!([du, saving]))).unwrap();
        let mut states = CellStates {
            administrative_state: Some("unlocked"),
            cell_state: Some("active"),
            is_energy_saving: Some(false),
        };
        assert_eq!(changed, [(*known.keys().next().unwrap(), states)]);
        let locked = structure("O-NRCellDU", &json!({ "administrativeState": "LOCKED" }));
        let changed = apply(&mut known, &report(&json!([locked.clone()]))).unwrap();
        states.administrative_state = Some("locked");
        assert_eq!((changed[0].1, changed.len()), (states, 1));
        assert_eq!(apply(&mut known, &report(&json!([locked]))).unwrap(), [], "nothing has changed");
        assert_eq!(known.len(), 1);
    }

    #[test]
    fn malformed_report_changes_nothing() {
        let mut known = BTreeMap::new();
        for wrong in [&b"{"[..], b"\xff", b"{}", b"{\"indicationMessageFormat\":{\"listOfCellsReported\":[{}]}}"] {
            assert!(apply(&mut known, wrong).is_err(), "{wrong:?}");
        }
        assert!(known.is_empty());
    }
}
