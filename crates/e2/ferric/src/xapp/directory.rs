//! The UEs of the RAN, as nodes report them.

use std::time::Instant;

use e2::topology::{RanDatabase, ResolveError, RntiScope, Ue, UeChange, UeIdentity, UeName, UeReference};
use e2::{Components, NodeId, Time};
use e2ap::GlobalE2NodeId;
use e2sm::common::UeId;

use super::error::{Error, Noun};
use super::names::{CellId, NetworkSlice};

/// The most UEs; beyond them the one that was reported the longest ago is forgotten.
const MAX_UES: usize = 65_536;
/// The known names in an error.
const NEAREST: usize = 3;

/// The nodes' UEs.
pub(super) struct Directory {
    ran: RanDatabase,
    /// Changes when a UE may have come, gone or moved.
    version: u64,
    start: Instant,
}

/// Where a UE is, for records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    pub ue: Option<UeReference>,
    pub cell: Option<CellId>,
    pub slice: Option<NetworkSlice>,
}

impl Directory {
    pub fn new() -> Self {
        Directory { ran: RanDatabase::new(MAX_UES), version: 0, start: Instant::now() }
    }

    pub fn version(&self) -> u64 {
        self.version
    }

    pub fn add_node(&mut self, node: NodeId, global_id: GlobalE2NodeId) {
        self.ran.update_node(node, global_id, &Components::default());
        self.settle();
    }

    pub fn remove_node(&mut self, node: NodeId) {
        self.ran.node_lost(node);
        self.settle();
    }

    fn now(&self) -> Time {
        Time::from_nanos(u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    /// Records a UE ID in a report of measurements.
    pub fn learn(&mut self, node: NodeId, ue_id: &UeId<'_>) {
        let names = UeName::all_of(ue_id);
        let is_known = names.iter().all(|name| self.ran.find_ue(node, name).is_some());
        self.ran.learn_ue(self.now(), node, &names);
        if !is_known {
            self.settle();
        }
    }

    /// Records what a report of UEs says.
    pub fn apply(&mut self, node: NodeId, changes: &[UeChange]) {
        let now = self.now();
        for change in changes {
            self.ran.apply(now, node, change);
        }
        self.settle();
    }

    fn settle(&mut self) {
        // what it reports is looked up when it is needed
        while self.ran.poll_event().is_some() {}
        self.version += 1;
    }

    /// All UEs, each at the base station that serves it, by the most stable name.
    pub fn references(&self) -> Vec<UeReference> {
        let ues = self.ran.current_ues();
        let mut references: Vec<_> = ues.into_iter().filter_map(|ue| self.reference(ue)).collect();
        references.sort_unstable();
        references
    }

    /// The most stable name of a UE; of one whose C-RNTI alone is known, that at its node.
    fn reference(&self, ue: &Ue) -> Option<UeReference> {
        let identity = self.ran.identity(ue);
        identity.reference().or_else(|| {
            let node = self.ran.station(ue.station())?.global_id_of(ue.views().first()?.node)?;
            Some(UeReference::Rnti { rnti: identity.rnti?, of: RntiScope::Node(node.to_string().into()) })
        })
    }

    /// The cells that UEs are in.
    pub fn cells(&self) -> impl Iterator<Item = (NodeId, CellId)> {
        self.ran.current_ues().into_iter().filter_map(|ue| {
            let cell = self.ran.identity(ue).cell?;
            Some((ue.views().first()?.node, CellId::new(cell)))
        })
    }

    /// The UE of a name.
    pub fn find(&self, wanted: &UeReference) -> Result<&Ue, Error> {
        self.ran.resolve(wanted).map_err(|error| match error {
            ResolveError::Unknown { reference, mut known, .. } => {
                known.truncate(NEAREST);
                Error::Unknown { kind: Noun::Ue, name: reference.to_string(), nearest: known }
            }
            ResolveError::Ambiguous { reference, candidates, .. } => Error::Invalid {
                parameter: "ue".into(),
                value: reference.to_string(),
                expected: format!("the name of one UE; it is that of {}", candidates.join(", ")),
            },
        })
    }

    /// The nodes of a UE's base station.
    pub fn nodes_of(&self, ue: &Ue) -> Vec<NodeId> {
        let station = self.ran.station(ue.station());
        station.map_or_else(Vec::new, |station| station.nodes().map(|(node, _)| node).collect())
    }

    /// The UE ID for messages to a node.
    pub fn ue_id_for(&self, node: NodeId, ue: &Ue) -> Option<UeId<'static>> {
        self.ran.ue_id_for(node, ue)
    }

    /// A UE of a node's base station that a control can name, for controls that need any.
    pub fn any_ue_id(&self, node: NodeId) -> Option<UeId<'static>> {
        let station = self.ran.station_of(node)?;
        self.ran.ues_of(station.id()).find_map(|ue| self.ran.ue_id_for(node, ue))
    }

    /// What is known of a UE.
    pub fn identity(&self, ue: &Ue) -> UeIdentity {
        self.ran.identity(ue)
    }

    /// Where the UE of a report is.
    pub fn place(&self, node: NodeId, reported: &UeId<'_>) -> Place {
        let found = UeName::all_of(reported).iter().find_map(|name| self.ran.find_ue(node, name));
        let place = found.map(|ue| self.place_of(ue)).unwrap_or_default();
        // a UE that is not known, or has no name of its own, is named as the node names it
        Place { ue: place.ue.or_else(|| Some(UeReference::of(reported))), ..place }
    }

    /// Where a UE is.
    pub fn place_of(&self, ue: &Ue) -> Place {
        let identity = self.ran.identity(ue);
        Place {
            ue: self.reference(ue),
            cell: identity.cell.map(CellId::new),
            // a UE of several network slices is in none of them alone
            slice: match identity.context.s_nssais[..] {
                [slice] => Some(NetworkSlice(slice)),
                _ => None,
            },
        }
    }
}
