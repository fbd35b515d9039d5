//! A node in the RAN database: its RAN functions and components, within bounds.

use e2ap::{
    Cause, CauseE2Node, CauseMisc, CauseRicService, Codec, E2NodeComponentConfigAdditionItem,
    E2NodeComponentConfigRemovalItem, E2NodeComponentConfigUpdateItemV1, E2NodeComponentConfigUpdateV1,
    E2NodeComponentConfigurationAck, E2NodeComponentId, E2NodeComponentInterfaceType, GlobalE2NodeId, RanFunctionId,
    RanFunctionIdCauseItem, RanFunctionItem, RanFunctionRevision, UpdateOutcome, Version,
};
use per::{IntoOwned, Octets};

use super::ids::NodeId;
use crate::{AssocId, ControllerPath};

/// A RAN function that a node offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RanFunction {
    /// Its id within the node.
    pub id: RanFunctionId,
    /// The revision of its definition.
    pub revision: RanFunctionRevision,
    /// The service model's object identifier; empty in v01.00, which has none.
    pub oid: Box<str>,
    /// The service model's RAN function definition.
    pub definition: Box<[u8]>,
}

/// A node in the RAN database.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its id in this controller.
    pub id: NodeId,
    /// Its global id, the key of the database.
    pub global_id: GlobalE2NodeId,
    /// The association that the RIC sends on.
    pub assoc: AssocId,
    /// Its E2AP version.
    pub version: Version,
    /// Its encoding.
    pub codec: Codec,
    /// Its RAN functions, ordered by id.
    pub functions: Vec<RanFunction>,
    /// Its component configurations.
    pub components: Components,
    /// The controllers that it stems from, by its setup; none for a base station.
    pub controller_path: ControllerPath,
}

impl Node {
    /// Octets stored of it.
    pub(super) fn octets(&self) -> usize {
        let functions = self.functions.iter().map(function_octets).sum::<usize>();
        functions + self.components.octets() + self.controller_path.octets()
    }

    /// Returns one of its RAN functions.
    #[must_use]
    pub fn function(&self, id: RanFunctionId) -> Option<&RanFunction> {
        self.functions.binary_search_by_key(&id, |f| f.id).ok().map(|at| &self.functions[at])
    }
}

/// The longest OID in the RIC-xApp protocol. E2AP's bound is extensible (E2AP v03.01 9.2.31); real OIDs have 30 octets.
const MAX_OID_OCTETS: usize = crate::xapp::wire::MAX_OID;

/// The maximum number of functions of a node: that of one setup request, and of one message to an xApp.
const MAX_FUNCTIONS: usize = crate::xapp::wire::MAX_FUNCTIONS;

/// The RAN functions accepted from a node, ordered by id, and those rejected.
pub(super) struct FunctionList {
    pub accepted: Vec<RanFunction>,
    pub rejected: Vec<RanFunctionIdCauseItem>,
    octets_left: usize,
}

/// Octets stored of a function.
pub(super) fn function_octets(function: &RanFunction) -> usize {
    function.oid.len() + function.definition.len()
}

/// Octets that the item would take when stored.
pub(super) fn item_octets(item: &RanFunctionItem<'_>) -> usize {
    item.oid.as_ref().map_or(0, |oid| oid.as_str().len()) + item.definition.len()
}

impl FunctionList {
    /// Starts from the functions accepted so far.
    pub fn of(accepted: Vec<RanFunction>, max_octets: usize) -> Self {
        let octets_left = max_octets.saturating_sub(accepted.iter().map(function_octets).sum());
        FunctionList { accepted, rejected: Vec::new(), octets_left }
    }

    pub fn remove(&mut self, id: RanFunctionId) {
        if let Ok(at) = self.accepted.binary_search_by_key(&id, |f| f.id) {
            self.octets_left += function_octets(&self.accepted.remove(at));
        }
    }

    /// Accepts a function unless its id is taken or a bound is reached.
    pub fn add(&mut self, item: &RanFunctionItem<'_>) {
        let oid = item.oid.as_ref().map_or("", |oid| oid.as_str());
        let octets = item_octets(item);
        let cause = match self.accepted.binary_search_by_key(&item.id, |f| f.id) {
            // the first one stays: a duplicate id is the node's fault
            Ok(_) => CauseRicService::ExcessiveFunctions,
            Err(_) if self.accepted.len() >= MAX_FUNCTIONS => CauseRicService::ExcessiveFunctions,
            Err(_) if oid.len() > MAX_OID_OCTETS => CauseRicService::RanFunctionNotSupported,
            Err(_) if octets > self.octets_left => CauseRicService::RicResourceLimit,
            Err(at) => {
                self.octets_left -= octets;
                let (id, revision, definition) = (item.id, item.revision, item.definition.to_cow().into());
                return self.accepted.insert(at, RanFunction { id, revision, oid: oid.into(), definition });
            }
        };
        self.rejected.push(RanFunctionIdCauseItem { id: item.id, cause: Cause::RicService(cause) });
    }
}

type ItemV1 = E2NodeComponentConfigUpdateItemV1<'static>;

/// The maximum number of components of a node: that of one setup request.
const MAX_COMPONENTS: usize = 1024;

/// The component configurations of a node. One of the lists is empty, depending on the node's version.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Components {
    /// Those of a node of v2 or later.
    pub listed: Vec<E2NodeComponentConfigAdditionItem<'static>>,
    /// Those of a v01.01 node.
    pub listed_v1: Vec<E2NodeComponentConfigUpdateItemV1<'static>>,
}

/// Octets stored of a component.
pub(super) fn component_octets(item: &E2NodeComponentConfigAdditionItem<'_>) -> usize {
    item.configuration.request_part.len() + item.configuration.response_part.len()
}

/// Octets stored of a v01.01 component.
pub(super) fn component_octets_v1(item: &E2NodeComponentConfigUpdateItemV1<'_>) -> usize {
    use E2NodeComponentConfigUpdateV1::{EnGnb, Enb, Gnb, NgEnb};
    let of = |parts: &[&Option<Octets<'_>>]| parts.iter().map(|part| part.as_ref().map_or(0, |p| p.len())).sum();
    match &item.configuration {
        Gnb(gnb) => of(&[&gnb.ng_ap, &gnb.xn_ap, &gnb.e1_ap, &gnb.f1_ap]),
        EnGnb(en_gnb) => of(&[&en_gnb.x2_ap]),
        NgEnb(ng_enb) => of(&[&ng_enb.ng_ap, &ng_enb.xn_ap]),
        Enb(enb) => of(&[&enb.s1_ap, &enb.x2_ap]),
    }
}

pub(super) const ACCEPTED: E2NodeComponentConfigurationAck =
    E2NodeComponentConfigurationAck { outcome: UpdateOutcome::Success, failure_cause: None };

fn refused(cause: Cause, version: Version) -> E2NodeComponentConfigurationAck {
    let failure_cause = Some(cause.in_version(version));
    E2NodeComponentConfigurationAck { outcome: UpdateOutcome::Failure, failure_cause }
}

const NO_ROOM: Cause = Cause::Misc(CauseMisc::ControlProcessingOverload);
const UNKNOWN: Cause = Cause::E2Node(CauseE2Node::ComponentUnknown);

impl Components {
    pub(super) fn octets(&self) -> usize {
        self.listed.iter().map(component_octets).sum::<usize>()
            + self.listed_v1.iter().map(component_octets_v1).sum::<usize>()
    }

    fn find(&self, interface: E2NodeComponentInterfaceType, id: &E2NodeComponentId<'_>) -> Option<usize> {
        self.listed.iter().position(|item| item.interface_type == interface && item.id == *id)
    }

    /// Adds a component, or replaces the one with the same id.
    pub(super) fn add(
        &mut self,
        item: &E2NodeComponentConfigAdditionItem<'_>,
        max_octets: usize,
        version: Version,
    ) -> E2NodeComponentConfigurationAck {
        let item = item.clone().into_owned();
        let before = self.find(item.interface_type, &item.id);
        let left = max_octets.saturating_sub(self.octets() - before.map_or(0, |at| component_octets(&self.listed[at])));
        if component_octets(&item) > left || (before.is_none() && self.listed.len() >= MAX_COMPONENTS) {
            return refused(NO_ROOM, version);
        }
        match before {
            Some(at) => self.listed[at] = item,
            None => self.listed.push(item),
        }
        ACCEPTED
    }

    /// Replaces a known component.
    pub(super) fn update(
        &mut self,
        item: &E2NodeComponentConfigAdditionItem<'_>,
        max_octets: usize,
        version: Version,
    ) -> E2NodeComponentConfigurationAck {
        match self.find(item.interface_type, &item.id) {
            Some(_) => self.add(item, max_octets, version),
            None => refused(UNKNOWN, version),
        }
    }

    /// Removes a known component.
    pub(super) fn remove(
        &mut self,
        item: &E2NodeComponentConfigRemovalItem<'_>,
        version: Version,
    ) -> E2NodeComponentConfigurationAck {
        match self.find(item.interface_type, &item.id) {
            Some(at) => {
                self.listed.remove(at);
                ACCEPTED
            }
            None => refused(UNKNOWN, version),
        }
    }

    /// Adds a v01.01 component, or replaces the one with the same id.
    pub(super) fn add_v1(
        &mut self,
        item: &E2NodeComponentConfigUpdateItemV1<'_>,
        max_octets: usize,
    ) -> E2NodeComponentConfigurationAck {
        let item = item.clone().into_owned();
        let same = |old: &ItemV1| old.component_type == item.component_type && old.id == item.id;
        let before = self.listed_v1.iter().position(same);
        let left =
            max_octets.saturating_sub(self.octets() - before.map_or(0, |at| component_octets_v1(&self.listed_v1[at])));
        if component_octets_v1(&item) > left || (before.is_none() && self.listed_v1.len() >= MAX_COMPONENTS) {
            return refused(NO_ROOM, Version::V1_01);
        }
        match before {
            Some(at) => self.listed_v1[at] = item,
            None => self.listed_v1.push(item),
        }
        ACCEPTED
    }
}
