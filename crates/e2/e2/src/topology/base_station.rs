//! A base station: its nodes, cells and missing parts.

use core::fmt;
use std::collections::{BTreeMap, BTreeSet};

use ap::f1ap::ServedCarrier;
use e2ap::{
    E2NodeComponentConfigUpdateV1, E2NodeComponentId, E2NodeComponentIdV1, GlobalE2NodeEnGnbId, GlobalE2NodeEnbId,
    GlobalE2NodeId, GlobalE2NodeNgEnbId, GlobalEnGnbId, GlobalEnbId, GlobalGnbId, GlobalNgEnbId,
};
use ids::NrCgi;
use per::Octets;

use super::BaseStationId;
use crate::{Components, NodeId};

/// The maximum number of cells stored per node.
const MAX_CELLS: usize = 512;

/// The global id of a base station, which its nodes share: their ids without the ids of parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum BaseStationKey {
    /// gNB.
    Gnb(GlobalGnbId),
    /// en-gNB.
    EnGnb(GlobalEnGnbId),
    /// ng-eNB.
    NgEnb(GlobalNgEnbId),
    /// eNB.
    Enb(GlobalEnbId),
}

impl BaseStationKey {
    /// Returns the key of the base station that a node belongs to.
    #[must_use]
    pub const fn of(node: &GlobalE2NodeId) -> Self {
        match node {
            GlobalE2NodeId::Gnb(id) => BaseStationKey::Gnb(id.global_gnb_id),
            GlobalE2NodeId::EnGnb(id) => BaseStationKey::EnGnb(id.global_en_gnb_id),
            GlobalE2NodeId::NgEnb(id) => BaseStationKey::NgEnb(id.global_ng_enb_id),
            GlobalE2NodeId::Enb(id) => BaseStationKey::Enb(id.global_enb_id),
        }
    }
}

/// Writes type, PLMN and number, as operators do: `gnb-00101-e00`.
impl fmt::Display for BaseStationKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // the same as the node id of an unsplit base station
        let whole = match *self {
            BaseStationKey::Gnb(GlobalGnbId { plmn_identity, gnb_id }) => GlobalE2NodeId::gnb(plmn_identity, gnb_id),
            BaseStationKey::EnGnb(global_en_gnb_id) => {
                let (en_gnb_cu_up_id, en_gnb_du_id) = (None, None);
                GlobalE2NodeId::EnGnb(GlobalE2NodeEnGnbId { global_en_gnb_id, en_gnb_cu_up_id, en_gnb_du_id })
            }
            BaseStationKey::NgEnb(global_ng_enb_id) => {
                let (global_enb_id, ng_enb_du_id) = (None, None);
                GlobalE2NodeId::NgEnb(GlobalE2NodeNgEnbId { global_ng_enb_id, global_enb_id, ng_enb_du_id })
            }
            BaseStationKey::Enb(global_enb_id) => GlobalE2NodeId::Enb(GlobalE2NodeEnbId { global_enb_id }),
        };
        whole.fmt(f)
    }
}

/// The part of its base station that a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Part {
    /// The whole base station, or its CU-CP: the ids do not distinguish them.
    Control,
    /// A DU, by its id.
    Du(u64),
    /// A CU-UP, by its id.
    CuUp(u64),
}

impl Part {
    /// Returns the part that a node id denotes.
    #[must_use]
    pub fn of(node: &GlobalE2NodeId) -> Self {
        let (du, cu_up) = match node {
            GlobalE2NodeId::Gnb(id) => (id.gnb_du_id.map(|du| du.0), id.gnb_cu_up_id),
            GlobalE2NodeId::EnGnb(id) => (id.en_gnb_du_id.map(|du| du.0), id.en_gnb_cu_up_id),
            GlobalE2NodeId::NgEnb(id) => (id.ng_enb_du_id.map(|du| du.0), None),
            GlobalE2NodeId::Enb(_) => (None, None),
        };
        match (du, cu_up) {
            (Some(du), _) => Part::Du(du as u64), // ids of 36 bits
            (None, Some(cu_up)) => Part::CuUp(cu_up.0 as u64),
            (None, None) => Part::Control,
        }
    }
}

/// A part that an interface leads to and that is not connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MissingPart(pub Part);

impl fmt::Display for MissingPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Part::Control => f.write_str("the CU-CP"),
            Part::Du(id) => write!(f, "the DU {id}, which an F1 or W1 leads to"),
            Part::CuUp(id) => write!(f, "the CU-UP {id}, which an E1 leads to"),
        }
    }
}

#[derive(Clone, Debug)]
struct NodeEntry {
    global_id: GlobalE2NodeId,
    part: Part,
    /// The parts that the node's interfaces lead to.
    interfaces: BTreeSet<Part>,
    cells: Vec<NrCgi>,
}

/// A base station with its connected nodes.
#[derive(Clone, Debug)]
pub struct BaseStation {
    id: BaseStationId,
    key: BaseStationKey,
    nodes: BTreeMap<NodeId, NodeEntry>,
}

impl BaseStation {
    pub(super) fn new(id: BaseStationId, key: BaseStationKey) -> Self {
        BaseStation { id, key, nodes: BTreeMap::new() }
    }

    /// Its id in the database.
    #[must_use]
    pub fn id(&self) -> BaseStationId {
        self.id
    }

    /// Its global id.
    #[must_use]
    pub fn key(&self) -> BaseStationKey {
        self.key
    }

    /// Its connected nodes, ordered by id.
    pub fn nodes(&self) -> impl Iterator<Item = (NodeId, Part)> {
        self.nodes.iter().map(|(node, entry)| (*node, entry.part))
    }

    /// Returns the node that is this part.
    #[must_use]
    pub fn node(&self, part: Part) -> Option<NodeId> {
        self.nodes().find(|(_, other)| *other == part).map(|(node, _)| node)
    }

    /// Returns the global id of one of its nodes.
    #[must_use]
    pub fn global_id_of(&self, node: NodeId) -> Option<GlobalE2NodeId> {
        self.nodes.get(&node).map(|entry| entry.global_id)
    }

    /// Returns its cells, each once: those in the F1 setup messages of the component configurations, which both ends of an F1
    /// may declare. The node is the DU, or the other end as long as the DU is not connected.
    pub fn cells(&self) -> impl Iterator<Item = (NodeId, NrCgi)> {
        let mut cells: BTreeMap<NrCgi, NodeId> = BTreeMap::new();
        let (of_dus, of_others): (Vec<_>, Vec<_>) =
            self.nodes.iter().partition(|(_, entry)| matches!(entry.part, Part::Du(_)));
        for (node, entry) in of_dus.into_iter().chain(of_others) {
            for cell in &entry.cells {
                cells.entry(*cell).or_insert(*node);
            }
        }
        cells.into_iter().map(|(cell, node)| (node, cell))
    }

    /// Whether it is complete as far as is known: both ends of all interfaces that its nodes declare (F1, W1 and E1 in their
    /// component configurations, and those that their ids imply) are connected.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        !self.nodes.is_empty() && self.missing().next().is_none()
    }

    /// Returns the missing parts.
    pub fn missing(&self) -> impl Iterator<Item = MissingPart> {
        let there: BTreeSet<_> = self.nodes.values().map(|entry| entry.part).collect();
        let wanted: BTreeSet<_> = self.nodes.values().flat_map(|entry| entry.interfaces.iter().copied()).collect();
        wanted.into_iter().filter(move |part| !there.contains(part)).map(MissingPart)
    }

    pub(super) fn set_node(&mut self, node: NodeId, id: GlobalE2NodeId, components: &Components) {
        let part = Part::of(&id);
        let (mut interfaces, mut cells) = (BTreeSet::new(), Vec::new());
        if part != Part::Control {
            // every part has an interface to the CU-CP, whether it declares one or not
            interfaces.insert(Part::Control);
        }
        for (far, f1_setup) in interfaces_of(components) {
            interfaces.insert(far);
            let request = f1_setup.map(Octets::to_cow).unwrap_or_default();
            ap::f1ap::visit_served_cells(&request, |cell, _| {
                if cells.len() < MAX_CELLS && !cells.contains(&cell) {
                    cells.push(cell);
                }
            });
        }
        self.nodes.insert(node, NodeEntry { global_id: id, part, interfaces, cells });
    }

    pub(super) fn remove_node(&mut self, node: NodeId) {
        self.nodes.remove(&node);
    }
}

impl Components {
    /// Returns the number of cells in the F1 setup messages, and the carrier of the first one whose carrier can be read.
    #[must_use]
    pub fn served_cells(&self) -> (usize, Option<ServedCarrier>) {
        let (mut cells, mut first) = (0, None);
        for f1_setup in interfaces_of(self).filter_map(|(_, f1_setup)| f1_setup) {
            ap::f1ap::visit_served_cells(&f1_setup.to_cow(), |_, carrier| {
                cells += 1;
                first = first.or(carrier);
            });
        }
        (cells, first)
    }
}

/// Returns the parts that components lead to, each with its F1 setup message.
fn interfaces_of(components: &Components) -> impl Iterator<Item = (Part, Option<&Octets<'static>>)> {
    let v1 = components.listed_v1.iter().filter_map(|item| {
        let far = match item.id? {
            E2NodeComponentIdV1::GnbDu(du) => Part::Du(du.gnb_du_id.0 as u64),
            E2NodeComponentIdV1::GnbCuUp(cu_up) => Part::CuUp(cu_up.gnb_cu_up_id.0 as u64),
        };
        let f1_setup = match &item.configuration {
            E2NodeComponentConfigUpdateV1::Gnb(gnb) => gnb.f1_ap.as_ref(),
            _ => None,
        };
        Some((far, f1_setup))
    });
    let listed = components.listed.iter().filter_map(|item| match &item.id {
        E2NodeComponentId::F1(f1) => Some((Part::Du(f1.gnb_du_id.0 as u64), Some(&item.configuration.request_part))),
        E2NodeComponentId::W1(w1) => Some((Part::Du(w1.ng_enb_du_id.0 as u64), None)),
        E2NodeComponentId::E1(e1) => Some((Part::CuUp(e1.gnb_cu_up_id.0 as u64), None)),
        E2NodeComponentId::Ng(_) | E2NodeComponentId::Xn(_) | E2NodeComponentId::S1(_) | E2NodeComponentId::X2(_) => {
            None
        }
    });
    listed.chain(v1)
}
