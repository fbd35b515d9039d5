//! The RAN topology: the base stations, cells and UEs that the E2 nodes make up (FlexRIC paper, 4.2.2).
//!
//! An E2 node can be a part of a base station: a gNB may consist of a CU-CP, several CU-UPs and several DUs, each with its own
//! association and RAN functions. The database groups the nodes of a base station, reports when it is complete, and merges
//! the names that its parts use for one UE.
//!
//! The database sends nothing. Cells come from the component configurations of the nodes; UEs come from callers that decode
//! service models ([`RanDatabase::learn_ue`]; feature `ue-reports` has what asks nodes for their UEs and reads the answers).
//! [`RanDatabase::resolve`] finds the UE that a person or a program names, and [`RanDatabase::identity`] has all its names.

mod base_station;
mod identity;
mod resolve;
#[cfg(test)]
mod tests;
mod ue;
mod ue_id;
mod ue_reference;
#[cfg(feature = "ue-reports")]
mod ue_reports;

use std::collections::{BTreeMap, HashMap, VecDeque};

use e2ap::GlobalE2NodeId;
use e2sm::common::UeId;

use crate::{Components, NodeId, Time};
use ue::Ues;

pub use base_station::{BaseStation, BaseStationKey, MissingPart, Part};
pub use identity::{IdentityField, UeContext, UeIdentity};
pub use resolve::ResolveError;
pub use ue::{Ue, UeMergeState, UeName, UeRef, UeView};
pub use ue_id::cell_identity;
pub use ue_reference::{RntiScope, UeReference, UeReferenceError};
#[cfg(feature = "ue-reports")]
pub use ue_reports::{OfferedFunction, UeChange, UeModel, UeReportConfig, UeSource};

/// Identifies a base station from its first node to the loss of its last one. An id is not reused before 2^32 others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BaseStationId(pub u32);

/// An event of the topology.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RanEvent {
    /// A node was added to its base station.
    NodeCame {
        /// The node.
        node: NodeId,
        /// Its base station.
        station: BaseStationId,
    },
    /// All parts of the base station that its interfaces lead to are connected.
    Complete(BaseStationId),
    /// A part of the base station is missing again: it was lost, or a new interface leads to it.
    Incomplete(BaseStationId),
    /// A node was lost.
    NodeLost {
        /// The node.
        node: NodeId,
        /// Its base station.
        station: BaseStationId,
    },
    /// The last node of a base station was lost.
    StationLost(BaseStationId),
    /// Two UEs were merged into one.
    UesJoined {
        /// The remaining id.
        stays: UeRef,
        /// The id that is no longer valid.
        gone: UeRef,
    },
}

/// Base stations, their nodes, cells and UEs.
#[derive(Debug)]
pub struct RanDatabase {
    stations: BTreeMap<BaseStationId, BaseStation>,
    by_key: HashMap<BaseStationKey, BaseStationId>,
    of_node: HashMap<NodeId, BaseStationId>,
    next_station: u32,
    ues: Ues,
    events: VecDeque<RanEvent>,
}

impl RanDatabase {
    /// Creates an empty database with a limit of UEs. Beyond the limit, the UE that was reported the longest ago is dropped.
    #[must_use]
    pub fn new(max_ues: usize) -> Self {
        RanDatabase {
            stations: BTreeMap::new(),
            by_key: HashMap::new(),
            of_node: HashMap::new(),
            next_station: 1,
            ues: Ues::new(max_ues),
            events: VecDeque::new(),
        }
    }

    /// Returns the base stations, ordered by id.
    pub fn stations(&self) -> impl Iterator<Item = &BaseStation> {
        self.stations.values()
    }

    /// Returns a base station.
    #[must_use]
    pub fn station(&self, id: BaseStationId) -> Option<&BaseStation> {
        self.stations.get(&id)
    }

    /// Returns the base station of a node.
    #[must_use]
    pub fn station_of(&self, node: NodeId) -> Option<&BaseStation> {
        self.stations.get(self.of_node.get(&node)?)
    }

    /// Returns the next event.
    pub fn poll_event(&mut self) -> Option<RanEvent> {
        self.events.pop_front()
    }

    /// Adds a node that has set up, or updates one whose components have changed.
    pub fn update_node(&mut self, node: NodeId, id: GlobalE2NodeId, components: &Components) {
        let key = BaseStationKey::of(&id);
        let next = BaseStationId(self.next_station);
        let station = *self.by_key.entry(key).or_insert(next);
        if station == next {
            self.next_station = self.next_station.wrapping_add(1);
            self.stations.insert(station, BaseStation::new(station, key));
        }
        if self.of_node.insert(node, station).is_none() {
            self.events.push_back(RanEvent::NodeCame { node, station });
        }
        if let Some(known) = self.stations.get_mut(&station) {
            let was = known.is_complete();
            known.set_node(node, id, components);
            if let Some(event) = completeness_change(known, was) {
                self.events.push_back(event);
            }
        }
    }

    /// Removes a lost node and its names of UEs.
    pub fn node_lost(&mut self, node: NodeId) {
        let Some(id) = self.of_node.remove(&node) else { return };
        self.ues.forget_node(node);
        self.events.push_back(RanEvent::NodeLost { node, station: id });
        let Some(station) = self.stations.get_mut(&id) else { return };
        let was = station.is_complete();
        station.remove_node(node);
        if station.nodes().next().is_none() {
            self.by_key.remove(&station.key());
            self.stations.remove(&id);
            self.events.push_back(RanEvent::StationLost(id));
        } else if let Some(event) = completeness_change(station, was) {
            self.events.push_back(event);
        }
    }

    /// Records all names that a node has for a UE, as an xApp or iApp has decoded them. Returns `None` if there is no such node
    /// or no name.
    ///
    /// UEs that share a name are merged, unless other names of theirs contradict: then the name has moved to this UE.
    pub fn learn_ue(&mut self, now: Time, node: NodeId, names: &[UeName]) -> Option<UeRef> {
        let station = *self.of_node.get(&node)?;
        let (ue, gone) = self.ues.learn(now, station, node, names)?;
        self.events.extend(gone.into_iter().map(|gone| RanEvent::UesJoined { stays: ue, gone }));
        Some(ue)
    }

    /// As [`RanDatabase::learn_ue`], with the names in a UE ID that the node has reported.
    pub fn learn_ue_id(&mut self, now: Time, node: NodeId, ue_id: &UeId<'_>) -> Option<UeRef> {
        self.learn_ue(now, node, &UeName::all_of(ue_id))
    }

    /// Records that a node serves a UE with a C-RNTI, from a report that contains no other name. `cell` is its NR or E-UTRA cell
    /// identity, if the report has it; otherwise the only cell of the node. `None` if there is no such node.
    pub fn see_rnti(&mut self, now: Time, node: NodeId, rnti: u16, cell: Option<u64>) -> Option<UeRef> {
        let station = self.station_of(node)?.id();
        let cell = cell.or_else(|| self.only_cell(node));
        Some(self.ues.see_rnti(now, station, node, rnti, cell))
    }

    /// Returns the cell of a node that declares, or whose C-RNTIs belong to, one cell only.
    fn only_cell(&self, node: NodeId) -> Option<u64> {
        let mut declared = self.station_of(node)?.cells().filter(|(of, _)| *of == node);
        match (declared.next(), declared.next()) {
            (Some((_, cell)), None) => Some(cell.nr_cell_identity.value),
            (None, _) => self.ues.only_cell(node),
            _ => None,
        }
    }

    /// Records what a node has reported of a UE besides its names. What the report leaves out stays.
    pub fn set_ue_context(&mut self, ue: UeRef, context: &UeContext) {
        self.ues.set_context(ue, context);
    }

    /// Returns the UE ID of a UE for controls to a node, with all names that are known: those that the node has reported, and of
    /// each other kind those of the other parts. `None` if a mandatory one is unknown.
    #[must_use]
    pub fn ue_id_for(&self, node: NodeId, ue: &Ue) -> Option<UeId<'static>> {
        let id = self.station_of(node)?.global_id_of(node)?;
        UeName::to_ue_id(&ue.names_for(node), &id)
    }

    /// Records that a UE has left a node. Returns whether the UE was known.
    pub fn forget_ue(&mut self, node: NodeId, name: &UeName) -> bool {
        let Some(station) = self.of_node.get(&node) else { return false };
        self.ues.forget(*station, node, name)
    }

    /// Returns a UE.
    #[must_use]
    pub fn ue(&self, ue: UeRef) -> Option<&Ue> {
        self.ues.get(ue)
    }

    /// Returns the UE that a node knows by a name.
    #[must_use]
    pub fn find_ue(&self, node: NodeId, name: &UeName) -> Option<&Ue> {
        self.ues.get(self.ues.find(*self.of_node.get(&node)?, node, name)?)
    }

    /// Returns all UEs, ordered by id.
    pub fn ues(&self) -> impl ExactSizeIterator<Item = &Ue> {
        self.ues.iter()
    }

    /// Returns the UEs of a base station, ordered by id.
    pub fn ues_of(&self, station: BaseStationId) -> impl Iterator<Item = &Ue> {
        self.ues.iter().filter(move |ue| ue.station() == station)
    }

    /// Returns whether several parts of the base station know the UE, and if not, why.
    #[must_use]
    pub fn merge_state(&self, ue: &Ue) -> UeMergeState {
        let nodes = self.station(ue.station()).map_or(0, |station| station.nodes().count());
        ue.merge_state(nodes)
    }
}

/// Returns the event if the completeness of a base station has changed.
fn completeness_change(station: &BaseStation, was: bool) -> Option<RanEvent> {
    match (was, station.is_complete()) {
        (false, true) => Some(RanEvent::Complete(station.id())),
        (true, false) => Some(RanEvent::Incomplete(station.id())),
        _ => None,
    }
}
