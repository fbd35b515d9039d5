//! A node's components as it tells of them, held to their bounds.

use e2ap::{
    Cause, CauseE2Node, CauseMisc, E2NodeComponentConfigAdditionItem, E2NodeComponentConfigRemovalItem,
    E2NodeComponentConfigUpdateItemV1, E2NodeComponentConfigUpdateV1, E2NodeComponentConfigurationAck,
    E2NodeComponentId, E2NodeComponentInterfaceType, UpdateOutcome, Version,
};
use per::{IntoOwned, Octets};

type ItemV1 = E2NodeComponentConfigUpdateItemV1<'static>;

/// The most components of a node: as many as one setup tells.
const MAX_COMPONENTS: usize = 1024;

/// What a node's interfaces are: one of the lists is empty, by its version.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Components {
    /// From v2 on.
    pub listed: Vec<E2NodeComponentConfigAdditionItem<'static>>,
    /// In v01.01.
    pub listed_v1: Vec<E2NodeComponentConfigUpdateItemV1<'static>>,
}

/// Octets that are kept of a component.
pub(super) fn octets(item: &E2NodeComponentConfigAdditionItem<'_>) -> usize {
    item.configuration.request_part.len() + item.configuration.response_part.len()
}

/// The same, of one of v01.01.
pub(super) fn octets_v1(item: &E2NodeComponentConfigUpdateItemV1<'_>) -> usize {
    use E2NodeComponentConfigUpdateV1::{EnGnb, Enb, Gnb, NgEnb};
    let of = |parts: &[&Option<Octets<'_>>]| parts.iter().map(|part| part.as_ref().map_or(0, |p| p.len())).sum();
    match &item.configuration {
        Gnb(gnb) => of(&[&gnb.ng_ap, &gnb.xn_ap, &gnb.e1_ap, &gnb.f1_ap]),
        EnGnb(en_gnb) => of(&[&en_gnb.x2_ap]),
        NgEnb(ng_enb) => of(&[&ng_enb.ng_ap, &ng_enb.xn_ap]),
        Enb(enb) => of(&[&enb.s1_ap, &enb.x2_ap]),
    }
}

pub(super) const TAKEN: E2NodeComponentConfigurationAck =
    E2NodeComponentConfigurationAck { outcome: UpdateOutcome::Success, failure_cause: None };

fn refused(cause: Cause, version: Version) -> E2NodeComponentConfigurationAck {
    let failure_cause = Some(cause.in_version(version));
    E2NodeComponentConfigurationAck { outcome: UpdateOutcome::Failure, failure_cause }
}

const NO_ROOM: Cause = Cause::Misc(CauseMisc::ControlProcessingOverload);
const UNKNOWN: Cause = Cause::E2Node(CauseE2Node::ComponentUnknown);

impl Components {
    pub(super) fn octets(&self) -> usize {
        self.listed.iter().map(octets).sum::<usize>() + self.listed_v1.iter().map(octets_v1).sum::<usize>()
    }

    fn find(&self, interface: E2NodeComponentInterfaceType, id: &E2NodeComponentId<'_>) -> Option<usize> {
        self.listed.iter().position(|item| item.interface_type == interface && item.id == *id)
    }

    /// Takes a component in, in the place of one of its name.
    pub(super) fn add(
        &mut self,
        item: &E2NodeComponentConfigAdditionItem<'_>,
        max_octets: usize,
        version: Version,
    ) -> E2NodeComponentConfigurationAck {
        let item = item.clone().into_owned();
        let before = self.find(item.interface_type, &item.id);
        let left = max_octets.saturating_sub(self.octets() - before.map_or(0, |at| octets(&self.listed[at])));
        if octets(&item) > left || (before.is_none() && self.listed.len() >= MAX_COMPONENTS) {
            return refused(NO_ROOM, version);
        }
        match before {
            Some(at) => self.listed[at] = item,
            None => self.listed.push(item),
        }
        TAKEN
    }

    /// Changes a component that is there.
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

    /// Takes a component out.
    pub(super) fn remove(
        &mut self,
        item: &E2NodeComponentConfigRemovalItem<'_>,
        version: Version,
    ) -> E2NodeComponentConfigurationAck {
        match self.find(item.interface_type, &item.id) {
            Some(at) => {
                self.listed.remove(at);
                TAKEN
            }
            None => refused(UNKNOWN, version),
        }
    }

    /// Takes a component of v01.01 in, in the place of one of its name.
    pub(super) fn add_v1(
        &mut self,
        item: &E2NodeComponentConfigUpdateItemV1<'_>,
        max_octets: usize,
    ) -> E2NodeComponentConfigurationAck {
        let item = item.clone().into_owned();
        let same = |old: &ItemV1| old.component_type == item.component_type && old.id == item.id;
        let before = self.listed_v1.iter().position(same);
        let left = max_octets.saturating_sub(self.octets() - before.map_or(0, |at| octets_v1(&self.listed_v1[at])));
        if octets_v1(&item) > left || (before.is_none() && self.listed_v1.len() >= MAX_COMPONENTS) {
            return refused(NO_ROOM, Version::V1_01);
        }
        match before {
            Some(at) => self.listed_v1[at] = item,
            None => self.listed_v1.push(item),
        }
        TAKEN
    }
}
