//! UEs: one id for all names that the parts of a base station have for a UE.
//!
//! The CU-CP knows a UE on NG, F1 and E1; a DU on F1 only; a CU-UP on E1 only (TS 38.401 8). Two parts that use the same F1AP or
//! E1AP id, or RAN UE ID, mean the same UE.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{BaseStationId, UeContext};
use crate::{NodeId, Time};

/// Identifies a UE in the database. An id is not reused before 2^64 others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UeRef(pub u64);

/// A name that a part of a base station has for a UE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum UeName {
    /// On NG: AMF UE NGAP ID and the AMF that assigned it (GUAMI: PLMN, region, set and pointer).
    Ngap {
        /// The AMF.
        guami: [u8; 6],
        /// The UE at the AMF.
        amf_ue_ngap_id: u64,
    },
    /// On S1: MME UE S1AP ID and the MME that assigned it (GUMMEI: PLMN, group and code).
    S1ap {
        /// The MME.
        gummei: [u8; 6],
        /// The UE at the MME.
        mme_ue_s1ap_id: u32,
    },
    /// RAN UE ID, which all parts know if it was assigned.
    RanUeId([u8; 8]),
    /// gNB-CU UE F1AP ID.
    F1ap(u32),
    /// ng-eNB-CU UE W1AP ID.
    W1ap(u32),
    /// gNB-CU-CP UE E1AP ID.
    E1ap(u32),
    /// A C-RNTI.
    Rnti {
        /// The C-RNTI.
        rnti: u16,
        /// The NR or E-UTRA cell identity of its cell; `None` if the node does not tell it.
        cell: Option<u64>,
    },
    /// Another number that is valid within the node only: the id of a UE of an en-gNB at its master eNB.
    Local(u64),
}

impl UeName {
    /// Whether other parts of the base station use the name, too.
    #[must_use]
    pub const fn is_shared(&self) -> bool {
        matches!(
            self,
            UeName::RanUeId(_)
                | UeName::F1ap(_)
                | UeName::W1ap(_)
                | UeName::E1ap(_)
                | UeName::Rnti { cell: Some(_), .. }
        )
    }

    /// Whether it is a C-RNTI: it changes during the connection, and is reused soon.
    const fn is_rnti(&self) -> bool {
        matches!(self, UeName::Rnti { .. })
    }

    /// Whether both are of one kind.
    fn is_like(&self, other: &UeName) -> bool {
        core::mem::discriminant(self) == core::mem::discriminant(other)
    }

    /// Whether a UE has one of this kind at a time.
    const fn is_single(&self) -> bool {
        matches!(self, UeName::Ngap { .. } | UeName::S1ap { .. } | UeName::RanUeId(_))
    }

    /// Whether both names cannot belong to one UE.
    fn contradicts(&self, other: &UeName) -> bool {
        self.is_single() && self.is_like(other) && self != other
    }
}

/// Whether several parts of a base station know a UE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UeMergeState {
    /// The base station has one node.
    SoleNode,
    /// Several parts have reported it.
    Joined,
    /// One part has reported it by a shared name; the others have not reported it yet.
    Alone,
    /// One part has reported it by names that the others do not use: it cannot be merged.
    NoSharedName,
}

/// The names that one node has for a UE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UeView {
    /// The node.
    pub node: NodeId,
    /// The names.
    pub names: BTreeSet<UeName>,
}

/// The maximum number of names per node and UE in a report; further ones are ignored.
const MAX_NAMES: usize = 16;
/// The maximum number of cells per node for which C-RNTIs are distinguished by cell.
const MAX_CELLS: usize = 16;

/// A UE.
#[derive(Clone, Debug)]
pub struct Ue {
    id: UeRef,
    station: BaseStationId,
    views: Vec<UeView>,
    context: UeContext,
    arrived: Time,
    heard: Time,
}

impl Ue {
    /// Its id in the database.
    #[must_use]
    pub fn id(&self) -> UeRef {
        self.id
    }

    /// Its base station.
    #[must_use]
    pub fn station(&self) -> BaseStationId {
        self.station
    }

    /// The names that each node has for it.
    #[must_use]
    pub fn views(&self) -> &[UeView] {
        &self.views
    }

    /// All its names.
    pub fn names(&self) -> impl Iterator<Item = &UeName> {
        self.views.iter().flat_map(|view| &view.names)
    }

    /// Its names for messages to a node: those that the node has reported, and of each other kind those of the other parts.
    #[must_use]
    pub fn names_for(&self, node: NodeId) -> BTreeSet<UeName> {
        let own = self.views.iter().find(|view| view.node == node).map(|view| &view.names);
        let mut names = own.cloned().unwrap_or_default();
        let is_new = |name: &&UeName| {
            !matches!(name, UeName::Local(_)) && !own.is_some_and(|own| own.iter().any(|own| own.is_like(name)))
        };
        names.extend(self.names().filter(is_new));
        names
    }

    /// What nodes have reported of it besides its names.
    #[must_use]
    pub fn context(&self) -> &UeContext {
        &self.context
    }

    /// The time since which its base station reports it.
    #[must_use]
    pub fn arrived(&self) -> Time {
        self.arrived
    }

    /// The time of the last report about it.
    #[must_use]
    pub fn heard(&self) -> Time {
        self.heard
    }

    /// Whether names that the node reports together with a C-RNTI belong to another UE: of some kind, none is the same.
    fn is_another(&self, node: NodeId, names: &[UeName]) -> bool {
        let Some(view) = self.views.iter().find(|view| view.node == node) else { return false };
        let is_changed = |known: &UeName| {
            names.iter().any(|name| name.is_like(known))
                && !names.iter().any(|name| view.names.contains(name) && name.is_like(known))
        };
        view.names.iter().filter(|name| !name.is_rnti()).any(is_changed)
    }

    pub(super) fn merge_state(&self, nodes: usize) -> UeMergeState {
        match self.views.len() {
            0 | 1 if nodes <= 1 => UeMergeState::SoleNode,
            0 | 1 if self.names().any(UeName::is_shared) => UeMergeState::Alone,
            0 | 1 => UeMergeState::NoSharedName,
            _ => UeMergeState::Joined,
        }
    }
}

/// The scope of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Scope {
    Station(BaseStationId),
    Node(NodeId),
}

impl Scope {
    fn of(station: BaseStationId, node: NodeId, name: &UeName) -> Self {
        match name {
            UeName::Local(_) | UeName::Rnti { cell: None, .. } => Scope::Node(node),
            _ => Scope::Station(station),
        }
    }
}

/// All UEs.
#[derive(Debug)]
pub(super) struct Ues {
    max: usize,
    next: u64,
    ues: BTreeMap<UeRef, Ue>,
    by_name: HashMap<(Scope, UeName), UeRef>,
    by_heard: BTreeSet<(Time, UeRef)>,
    of_node: HashMap<NodeId, BTreeSet<UeRef>>,
    /// The cells of the C-RNTIs that each node has reported.
    cells: HashMap<NodeId, BTreeSet<u64>>,
}

impl Ues {
    pub fn new(max: usize) -> Self {
        Ues {
            max: max.max(1),
            next: 1,
            ues: BTreeMap::new(),
            by_name: HashMap::new(),
            by_heard: BTreeSet::new(),
            of_node: HashMap::new(),
            cells: HashMap::new(),
        }
    }

    pub fn get(&self, ue: UeRef) -> Option<&Ue> {
        self.ues.get(&ue)
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Ue> {
        self.ues.values()
    }

    pub fn find(&self, station: BaseStationId, node: NodeId, name: &UeName) -> Option<UeRef> {
        self.by_name.get(&(Scope::of(station, node, name), *name)).copied()
    }

    /// Returns the UE, and those that were merged into it.
    pub fn learn(
        &mut self,
        now: Time,
        station: BaseStationId,
        node: NodeId,
        names: &[UeName],
    ) -> Option<(UeRef, Vec<UeRef>)> {
        let names = &names[..names.len().min(MAX_NAMES)];
        self.replace_placeholders(station, node, names);
        let mut found = BTreeSet::new();
        for name in names {
            let Some(ue) = self.find(station, node, name) else { continue };
            let is_of_another = |ue: &Ue| {
                ue.names().any(|other| names.iter().any(|name| name.contradicts(other)))
                    || name.is_rnti() && ue.is_another(node, names)
            };
            if self.get(ue).is_some_and(is_of_another) {
                // the name has moved from another UE
                self.unname(station, node, ue, name);
            } else {
                found.insert(ue);
            }
        }
        names.first()?;
        let mut found = found.into_iter();
        let ue = found.next().unwrap_or_else(|| self.add(now, station));
        let mut gone = Vec::new();
        for other in found {
            // two UEs that are compatible with the report may contradict each other
            let apart = |a: &Ue, b: &Ue| a.names().any(|name| b.names().any(|other| name.contradicts(other)));
            let together = self.get(ue).zip(self.get(other)).is_some_and(|(a, b)| !apart(a, b));
            if together {
                self.absorb(ue, other);
                gone.push(other);
            } else {
                for name in names {
                    self.unname(station, node, other, name);
                }
            }
        }
        self.set_names(now, station, node, ue, names);
        Some((ue, gone))
    }

    /// Records that a node has a UE with a C-RNTI, of which nothing else is reported. Returns the UE.
    pub fn see_rnti(&mut self, now: Time, station: BaseStationId, node: NodeId, rnti: u16, cell: Option<u64>) -> UeRef {
        let name = UeName::Rnti { rnti, cell };
        let Some(id) = self.find(station, node, &name) else {
            let id = self.add(now, station);
            self.set_names(now, station, node, id, &[name]);
            return id;
        };
        if self.get(id).is_some_and(|ue| ue.views.iter().any(|view| view.node == node)) {
            self.hear(now, id);
        } else {
            self.set_names(now, station, node, id, &[name]);
        }
        id
    }

    /// The cell of a node that reports C-RNTIs of one cell only.
    pub fn only_cell(&self, node: NodeId) -> Option<u64> {
        let cells = self.cells.get(&node)?;
        cells.first().copied().filter(|_| cells.len() == 1)
    }

    pub fn set_context(&mut self, id: UeRef, context: &UeContext) {
        if let Some(ue) = self.ues.get_mut(&id) {
            ue.context.update(context);
        }
    }

    /// Removes what a node has reported by a C-RNTI without its cell, once it names the cell.
    fn replace_placeholders(&mut self, station: BaseStationId, node: NodeId, names: &[UeName]) {
        for name in names {
            let UeName::Rnti { rnti, cell: Some(cell) } = *name else { continue };
            let cells = self.cells.entry(node).or_default();
            if cells.len() < MAX_CELLS {
                cells.insert(cell);
            }
            self.forget(station, node, &UeName::Rnti { rnti, cell: None });
        }
    }

    fn hear(&mut self, now: Time, id: UeRef) {
        let Some(ue) = self.ues.get_mut(&id) else { return };
        self.by_heard.remove(&(ue.heard, id));
        self.by_heard.insert((now, id));
        ue.heard = now;
    }

    fn add(&mut self, now: Time, station: BaseStationId) -> UeRef {
        while self.ues.len() >= self.max
            && let Some((_, oldest)) = self.by_heard.first().copied()
        {
            self.remove(oldest);
        }
        let id = UeRef(self.next);
        self.next += 1;
        let (views, context) = (Vec::new(), UeContext::default());
        self.ues.insert(id, Ue { id, station, views, context, arrived: now, heard: now });
        self.by_heard.insert((now, id));
        id
    }

    /// Replaces the names that a node has for a UE. Its C-RNTI stays if the report contains none, and replaces those that other
    /// nodes have reported.
    fn set_names(&mut self, now: Time, station: BaseStationId, node: NodeId, id: UeRef, names: &[UeName]) {
        self.hear(now, id);
        let has_rnti = names.iter().any(UeName::is_rnti);
        if has_rnti {
            self.remove_former_rntis(station, node, id, names);
        }
        let Some(ue) = self.ues.get_mut(&id) else { return };
        let view = ue.views.iter().find(|view| view.node == node);
        let kept = view.into_iter().flat_map(|view| &view.names).filter(|name| name.is_rnti() && !has_rnti);
        let view_now = UeView { node, names: names.iter().chain(kept).copied().collect() };
        let old = match ue.views.iter_mut().find(|view| view.node == node) {
            Some(view) => core::mem::replace(view, view_now).names,
            None => {
                ue.views.push(view_now);
                BTreeSet::new()
            }
        };
        self.of_node.entry(node).or_default().insert(id);
        for name in old.iter().filter(|name| !names.contains(name)) {
            self.release(station, node, id, name);
        }
        for name in names {
            self.by_name.insert((Scope::of(station, node, name), *name), id);
        }
    }

    /// Removes the C-RNTIs that other nodes have reported of a UE and that are not among these names: a UE has one at a time.
    fn remove_former_rntis(&mut self, station: BaseStationId, node: NodeId, id: UeRef, names: &[UeName]) {
        let Some(ue) = self.ues.get(&id) else { return };
        let others = ue.views.iter().filter(|view| view.node != node);
        let former = others.flat_map(|view| view.names.iter().map(|name| (view.node, *name)));
        let former: Vec<_> = former.filter(|(_, name)| name.is_rnti() && !names.contains(name)).collect();
        for (other, name) in former {
            if let Some(view) = self.ues.get_mut(&id).and_then(|ue| ue.views.iter_mut().find(|view| view.node == other))
            {
                view.names.remove(&name);
            }
            self.release(station, other, id, &name);
        }
        self.drop_empty_views(id);
    }

    /// Removes a name from the index if no view has it any more.
    fn release(&mut self, station: BaseStationId, node: NodeId, id: UeRef, name: &UeName) {
        let key = (Scope::of(station, node, name), *name);
        let names = |view: &UeView| view.names.contains(name) && Scope::of(station, view.node, name) == key.0;
        let has = self.ues.get(&id).is_some_and(|ue| ue.views.iter().any(names));
        if !has && self.by_name.get(&key) == Some(&id) {
            self.by_name.remove(&key);
        }
    }

    /// Removes a name from all views of a UE. A UE without names is removed.
    fn unname(&mut self, station: BaseStationId, node: NodeId, id: UeRef, name: &UeName) {
        let Some(ue) = self.ues.get_mut(&id) else { return };
        let scope = Scope::of(station, node, name);
        for view in ue.views.iter_mut().filter(|view| Scope::of(station, view.node, name) == scope) {
            view.names.remove(name);
        }
        self.release(station, node, id, name);
        self.prune(id);
    }

    /// Removes views without names, and the UE with the last of them.
    fn prune(&mut self, id: UeRef) {
        self.drop_empty_views(id);
        if self.get(id).is_some_and(|ue| ue.views.is_empty()) {
            self.remove(id);
        }
    }

    fn drop_empty_views(&mut self, id: UeRef) {
        let Some(ue) = self.ues.get_mut(&id) else { return };
        let empty: Vec<_> = ue.views.iter().filter(|view| view.names.is_empty()).map(|view| view.node).collect();
        ue.views.retain(|view| !view.names.is_empty());
        for node in empty {
            self.leave(node, id);
        }
    }

    fn leave(&mut self, node: NodeId, id: UeRef) {
        if let Some(ues) = self.of_node.get_mut(&node) {
            ues.remove(&id);
            if ues.is_empty() {
                self.of_node.remove(&node);
            }
        }
    }

    /// Merges `other` into `ue`.
    fn absorb(&mut self, ue: UeRef, other: UeRef) {
        let Some(gone) = self.ues.remove(&other) else { return };
        self.by_heard.remove(&(gone.heard, other));
        for view in gone.views {
            self.leave(view.node, other);
            self.of_node.entry(view.node).or_default().insert(ue);
            for name in &view.names {
                self.by_name.insert((Scope::of(gone.station, view.node, name), *name), ue);
            }
            let Some(stays) = self.ues.get_mut(&ue) else { return };
            stays.arrived = stays.arrived.min(gone.arrived);
            stays.context.update(&gone.context);
            match stays.views.iter_mut().find(|there| there.node == view.node) {
                Some(there) => there.names.extend(view.names),
                None => stays.views.push(view),
            }
        }
    }

    fn remove(&mut self, id: UeRef) {
        let Some(ue) = self.ues.remove(&id) else { return };
        self.by_heard.remove(&(ue.heard, id));
        for view in ue.views {
            self.leave(view.node, id);
            for name in view.names {
                let key = (Scope::of(ue.station, view.node, &name), name);
                if self.by_name.get(&key) == Some(&id) {
                    self.by_name.remove(&key);
                }
            }
        }
    }

    /// Removes a UE from a node.
    pub fn forget(&mut self, station: BaseStationId, node: NodeId, name: &UeName) -> bool {
        let Some(id) = self.find(station, node, name) else { return false };
        self.forget_view(id, node);
        true
    }

    fn forget_view(&mut self, id: UeRef, node: NodeId) {
        let Some(ue) = self.ues.get_mut(&id) else { return };
        let Some(at) = ue.views.iter().position(|view| view.node == node) else { return };
        let (station, view) = (ue.station, ue.views.remove(at));
        self.leave(node, id);
        for name in &view.names {
            self.release(station, node, id, name);
        }
        self.prune(id);
    }

    pub fn forget_node(&mut self, node: NodeId) {
        for id in self.of_node.get(&node).cloned().unwrap_or_default() {
            self.forget_view(id, node);
        }
        self.cells.remove(&node);
    }
}

#[cfg(test)]
impl Ues {
    pub fn is_empty(&self) -> bool {
        self.ues.is_empty()
            && self.by_name.is_empty()
            && self.by_heard.is_empty()
            && self.of_node.is_empty()
            && self.cells.is_empty()
    }

    /// Checks that the indexes agree with the UEs.
    pub fn check(&self) {
        let mut names = HashMap::new();
        let mut of_node: HashMap<NodeId, BTreeSet<UeRef>> = HashMap::new();
        for ue in self.ues.values() {
            assert!(!ue.views.is_empty() && ue.views.iter().all(|view| !view.names.is_empty()), "{ue:?}");
            assert!(self.by_heard.contains(&(ue.heard, ue.id)));
            for view in &ue.views {
                of_node.entry(view.node).or_default().insert(ue.id);
                for name in &view.names {
                    let before = names.insert((Scope::of(ue.station, view.node, name), *name), ue.id);
                    assert!(before.is_none_or(|before| before == ue.id), "{name:?} is of two");
                }
            }
        }
        assert_eq!(self.by_heard.len(), self.ues.len());
        assert_eq!(names, self.by_name);
        assert_eq!(of_node, self.of_node);
    }
}
