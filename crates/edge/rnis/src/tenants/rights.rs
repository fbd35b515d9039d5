//! What a tenant may see of the radio network.

use std::collections::BTreeSet;
use std::net::IpAddr;

use ids::PlmnIdentity;

use crate::criteria::{Criteria, Topic};
use crate::delivery::contains;
use crate::event::{Change, Event, UeIds};
use crate::identity::{AssociateId, AssociateIdType, Cell, Slice};

/// The rights of a tenant. What is `None` is not restricted; all that are there must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rights {
    /// Types of events.
    pub topics: Option<BTreeSet<Topic>>,
    /// Queries by their names in paths, such as `rab_info`.
    pub queries: Option<BTreeSet<String>>,
    /// PLMNs of cells.
    pub plmns: Option<BTreeSet<PlmnIdentity>>,
    /// Cells.
    pub cells: Option<BTreeSet<Cell>>,
    /// Slices in which a UE has a session; one without a differentiator includes all of its type.
    pub slices: Option<Vec<Slice>>,
    /// UEs.
    pub ues: Option<UeRights>,
}

/// UEs by their identities.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UeRights {
    /// Networks of their addresses.
    pub addresses: Vec<(IpAddr, u8)>,
    /// Networks of their addresses behind a NAT.
    pub nated: Vec<(IpAddr, u8)>,
    /// Identities: TEIDs of the file, and those that the directory has for `names`.
    pub ids: BTreeSet<AssociateId>,
    /// Names of the directory.
    pub names: Vec<String>,
}

/// What a tenant has no right to: a criterion of a subscription that no event can meet within its rights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Denied {
    /// The type of the subscription.
    Topic,
    /// All cells that it names.
    Cells,
    /// The PLMN that it names.
    Plmn,
    /// All UEs that it names.
    Ues,
}

/// Whether a right is not restricted, or has a value.
fn has<T: Ord>(right: Option<&BTreeSet<T>>, value: &T) -> bool {
    right.is_none_or(|set| set.contains(value))
}

impl Rights {
    /// Whether an event may be shown: its type, its UE, and all cells in which it happens. Those are the UE's cell, the targets of a
    /// cell change, and the secondary cells that are added or removed; cells that a UE measures are part of what it reports.
    #[must_use]
    pub fn permit_event(&self, event: &Event) -> bool {
        let secondary: [&[Cell]; 2] = match &event.change {
            Change::CarrierAggregation { added, removed, .. } => [added, removed],
            _ => [&[], &[]],
        };
        has(self.topics.as_ref(), &event.topic())
            && event.cells().chain(secondary.concat()).all(|cell| self.permit_cell(cell))
            && self.permit_ue(&event.ue)
    }

    /// Whether a cell may be shown.
    #[must_use]
    pub fn permit_cell(&self, cell: Cell) -> bool {
        has(self.plmns.as_ref(), &cell.plmn()) && has(self.cells.as_ref(), &cell)
    }

    /// Whether a UE may be shown: one of its identities, and one of its slices. A UE whose slices are not known is in none.
    #[must_use]
    pub fn permit_ue(&self, ue: &UeIds) -> bool {
        let in_slice =
            |slices: &Vec<Slice>| ue.slices.iter().any(|slice| slices.iter().any(|it| it.0.includes(&slice.0)));
        self.ues.as_ref().is_none_or(|ues| ue.associate_ids.iter().any(|id| ues.permit(id)))
            && self.slices.as_ref().is_none_or(in_slice)
    }

    /// Whether a query may be sent.
    #[must_use]
    pub fn permit_query(&self, name: &str) -> bool {
        self.queries.as_ref().is_none_or(|queries| queries.contains(name))
    }

    /// Whether events can meet criteria within the rights. A list needs one value that is permitted: the others select nothing.
    ///
    /// # Errors
    /// The criterion that cannot be met.
    pub fn check(&self, criteria: &Criteria) -> Result<(), Denied> {
        if !has(self.topics.as_ref(), &criteria.topic) {
            return Err(Denied::Topic);
        }
        if criteria.plmn.is_some_and(|plmn| !has(self.plmns.as_ref(), &plmn)) {
            return Err(Denied::Plmn);
        }
        if !criteria.cells.is_empty() && !criteria.cells.iter().any(|cell| self.permit_cell(*cell)) {
            return Err(Denied::Cells);
        }
        let may_be_met = |ues: &UeRights| criteria.ues.is_empty() || criteria.ues.iter().any(|id| ues.may_permit(id));
        if self.ues.as_ref().is_some_and(|ues| !may_be_met(ues)) {
            return Err(Denied::Ues);
        }
        Ok(())
    }
}

impl UeRights {
    fn permit(&self, id: &AssociateId) -> bool {
        let is_in = |networks: &[(IpAddr, u8)]| {
            let address = id.value.parse::<IpAddr>();
            address.is_ok_and(|address| networks.iter().any(|(network, length)| contains(*network, *length, address)))
        };
        let in_network = match id.kind {
            AssociateIdType::UeIpv4 | AssociateIdType::UeIpv6 => is_in(&self.addresses),
            AssociateIdType::NatedIp => is_in(&self.nated),
            AssociateIdType::GtpTeid => false,
        };
        in_network || self.ids.contains(id)
    }

    /// Whether a UE with this identity may have one that is permitted: certainly not if the identities of this kind are named, and this
    /// one is not among them.
    fn may_permit(&self, id: &AssociateId) -> bool {
        let of_kind = |kind: AssociateIdType| match kind {
            AssociateIdType::UeIpv4 => self.addresses.iter().any(|(network, _)| network.is_ipv4()),
            AssociateIdType::UeIpv6 => self.addresses.iter().any(|(network, _)| network.is_ipv6()),
            AssociateIdType::NatedIp => !self.nated.is_empty(),
            AssociateIdType::GtpTeid => self.ids.iter().any(|id| id.kind == AssociateIdType::GtpTeid),
        };
        self.permit(id) || !self.names.is_empty() || !of_kind(id.kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(kind: AssociateIdType, value: &str) -> AssociateId {
        AssociateId::read(kind, value).unwrap()
    }

    fn cell(plmn: &str, number: u64) -> Cell {
        Cell::nr(plmn.parse().unwrap(), number)
    }

    #[test]
    fn ue_is_permitted_by_any_of_its_identities() {
        use AssociateIdType::{GtpTeid, NatedIp, UeIpv4, UeIpv6};
        let ues = UeRights {
            addresses: vec![("10.45.0.0".parse().unwrap(), 24)],
            nated: vec![("192.0.2.7".parse().unwrap(), 32)],
            ids: [id(GtpTeid, "2a")].into(),
            names: Vec::new(),
        };
        let rights = Rights { ues: Some(ues), ..Rights::default() };
        let permits =
            |ids: &[AssociateId]| rights.permit_ue(&UeIds { associate_ids: ids.to_vec(), ..UeIds::default() });
        assert!(permits(&[id(UeIpv4, "10.45.0.9")]) && permits(&[id(GtpTeid, "0x2a")]));
        assert!(permits(&[id(UeIpv6, "2001:db8::1"), id(NatedIp, "192.0.2.7")]));
        assert!(!permits(&[id(UeIpv4, "10.45.1.9")]) && !permits(&[id(NatedIp, "10.45.0.9")]) && !permits(&[]));
        let check = |ue| rights.check(&Criteria { ues: vec![ue], ..Criteria::all(Topic::CellChange) });
        assert_eq!(check(id(UeIpv4, "10.46.0.1")), Err(Denied::Ues));
        assert_eq!(check(id(UeIpv4, "10.45.0.1")), Ok(()));
        // a UE with this address may have an IPv4 address as well
        assert_eq!(check(id(UeIpv6, "2001:db8::1")), Ok(()));
    }

    #[test]
    fn criteria_that_no_event_can_meet_are_denied() {
        let rights = Rights {
            topics: Some([Topic::CellChange].into()),
            plmns: Some(["00101".parse().unwrap()].into()),
            cells: Some([cell("00101", 1), cell("00102", 2)].into()),
            ..Rights::default()
        };
        let check = |criteria: Criteria| rights.check(&criteria);
        let all = Criteria::all(Topic::CellChange);
        assert_eq!(check(all.clone()), Ok(()));
        assert_eq!(check(Criteria::all(Topic::S1Bearer)), Err(Denied::Topic));
        let cells = |cells: &[Cell]| check(Criteria { cells: cells.to_vec(), ..all.clone() });
        assert_eq!(cells(&[cell("00101", 1), cell("00101", 9)]), Ok(()));
        assert_eq!(cells(&[cell("00102", 2)]), Err(Denied::Cells), "a cell of another PLMN");
        assert_eq!(check(Criteria { plmn: "00102".parse().ok(), ..all.clone() }), Err(Denied::Plmn));
    }

    #[test]
    fn slice_is_permitted_alone_or_by_its_type() {
        let slice = |text: &str| Slice::try_from(text.to_owned()).unwrap();
        let rights = |permitted| Rights { slices: Some(vec![slice(permitted)]), ..Rights::default() };
        let ue = |slices: &[&str]| {
            let slices = slices.iter().map(|text| slice(text)).collect();
            UeIds { slices, ..UeIds::default() }
        };
        let one = rights("1-0000ab");
        assert!(one.permit_ue(&ue(&["2", "1-0000ab"])) && !one.permit_ue(&ue(&["1"])) && !one.permit_ue(&ue(&[])));
        let of_type = rights("1");
        assert!(
            of_type.permit_ue(&ue(&["1-0000ab"])) && of_type.permit_ue(&ue(&["1"])) && !of_type.permit_ue(&ue(&["2"]))
        );
    }
}
