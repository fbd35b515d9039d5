//! The RAN database: what the nodes make up together (FlexRIC paper, 4.2.2).
//!
//! E2 nodes are parts: a gNB may come as a CU-CP, some CU-UPs and some DUs, each with an association and functions of its
//! own. The database merges those of one base station, tells when it is complete, and knows a UE of it as one, by
//! whatever name a part has for it.
//!
//! Nothing here asks a node for anything. Cells come from what nodes tell at setup; UEs from who decodes service models,
//! and tells of it ([`RanDatabase::learn_ue`]).

mod base_station;
#[cfg(test)]
mod tests;
mod ue;

use std::collections::{BTreeMap, HashMap, VecDeque};

use e2ap::GlobalE2NodeId;

use crate::{Components, NodeId, Time};
use ue::Ues;

pub use base_station::{BaseStation, BaseStationKey, MissingPart, Part};
pub use ue::{Joining, Ue, UeName, UeRef, UeView};

/// Names a base station from its first node to the loss of its last one; not used again before 2^32 others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BaseStationId(pub u32);

/// News of base stations.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RanEvent {
    /// A node came: the first of its base station, or another one.
    NodeCame {
        /// Which one.
        node: NodeId,
        /// Of which base station.
        station: BaseStationId,
    },
    /// All parts that the base station's interfaces lead to are there.
    Complete(BaseStationId),
    /// A part is gone, or an interface was told of that leads to one which is not there.
    Incomplete(BaseStationId),
    /// A node is gone.
    NodeLost {
        /// Which one.
        node: NodeId,
        /// Of which base station.
        station: BaseStationId,
    },
    /// Its last node is gone.
    StationLost(BaseStationId),
    /// Two UEs turn out to be one.
    UesJoined {
        /// The name that stays.
        stays: UeRef,
        /// The name that is no more.
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
    /// A database that knows nothing yet and keeps so many UEs at most: the one that was not heard of for the longest
    /// makes room.
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

    /// The base stations, by id.
    pub fn stations(&self) -> impl Iterator<Item = &BaseStation> {
        self.stations.values()
    }

    /// A base station.
    #[must_use]
    pub fn station(&self, id: BaseStationId) -> Option<&BaseStation> {
        self.stations.get(&id)
    }

    /// The base station that a node is of.
    #[must_use]
    pub fn station_of(&self, node: NodeId) -> Option<&BaseStation> {
        self.stations.get(self.of_node.get(&node)?)
    }

    /// The next piece of news.
    pub fn poll_event(&mut self) -> Option<RanEvent> {
        self.events.pop_front()
    }

    /// A node has set up, or its components have changed.
    pub fn node_told(&mut self, node: NodeId, id: GlobalE2NodeId, components: &Components) {
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
            if let Some(event) = turned(known, was) {
                self.events.push_back(event);
            }
        }
    }

    /// A node is gone, and its view of the UEs with it.
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
        } else if let Some(event) = turned(station, was) {
            self.events.push_back(event);
        }
    }

    /// A node tells of a UE by all the names that it has for it; an xApp or iApp has decoded them. `None` where there is no
    /// such node, or no name.
    ///
    /// UEs that turn out to be one are joined. A name that belonged to a UE which cannot be this one has moved: that UE has
    /// left.
    pub fn learn_ue(&mut self, now: Time, node: NodeId, names: &[UeName]) -> Option<UeRef> {
        let station = *self.of_node.get(&node)?;
        let (ue, gone) = self.ues.learn(now, station, node, names)?;
        self.events.extend(gone.into_iter().map(|gone| RanEvent::UesJoined { stays: ue, gone }));
        Some(ue)
    }

    /// A node tells that a UE has left it. Whether it was known.
    pub fn forget_ue(&mut self, node: NodeId, name: &UeName) -> bool {
        let Some(station) = self.of_node.get(&node) else { return false };
        self.ues.forget(*station, node, name)
    }

    /// A UE.
    #[must_use]
    pub fn ue(&self, ue: UeRef) -> Option<&Ue> {
        self.ues.get(ue)
    }

    /// The UE that a node knows by a name.
    #[must_use]
    pub fn find_ue(&self, node: NodeId, name: &UeName) -> Option<&Ue> {
        self.ues.get(self.ues.find(*self.of_node.get(&node)?, node, name)?)
    }

    /// The UEs of a base station, by name.
    pub fn ues_of(&self, station: BaseStationId) -> impl Iterator<Item = &Ue> {
        self.ues.iter().filter(move |ue| ue.station() == station)
    }

    /// Whether a UE is known as one by several parts of its base station, and where not, why.
    #[must_use]
    pub fn joining(&self, ue: &Ue) -> Joining {
        let nodes = self.station(ue.station()).map_or(0, |station| station.nodes().count());
        ue.joining(nodes)
    }
}

/// Whether a base station has become complete, or ceased to be.
fn turned(station: &BaseStation, was: bool) -> Option<RanEvent> {
    match (was, station.is_complete()) {
        (false, true) => Some(RanEvent::Complete(station.id())),
        (true, false) => Some(RanEvent::Incomplete(station.id())),
        _ => None,
    }
}
