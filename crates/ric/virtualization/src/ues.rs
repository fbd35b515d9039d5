//! The UEs of a base station, and the tenants that they are subscribers of.

use std::collections::{BTreeMap, HashMap};

use e2sm::common::{PartialUeId, UeId};
use e2sm::rrc::{Event, Notification};
use ferric::e2::topology::UeName;
use per::IntoOwned;

use crate::sla::Sla;

/// The RNTIs of a page of [`Owners`].
const PAGE: usize = 256;

/// The tenant of each RNTI, which is asked for with each record of each report: two array accesses.
#[derive(Clone, Debug, Default)]
struct Owners(Vec<Option<Box<[Option<u8>; PAGE]>>>);

impl Owners {
    fn get(&self, rnti: u16) -> Option<usize> {
        let page = self.0.get(usize::from(rnti) / PAGE)?.as_ref()?;
        page[usize::from(rnti) % PAGE].map(usize::from)
    }

    fn set(&mut self, rnti: u16, tenant: Option<usize>) {
        // there are at most 64 tenants
        let tenant = tenant.and_then(|tenant| u8::try_from(tenant).ok());
        let page = usize::from(rnti) / PAGE;
        if self.0.len() <= page {
            self.0.resize(page + 1, None);
        }
        self.0[page].get_or_insert_with(|| Box::new([None; PAGE]))[usize::from(rnti) % PAGE] = tenant;
    }
}

/// The maximum number of UEs of a base station; the RNTIs of further ones belong to no tenant.
const MAX_UES: usize = 65_536;

/// The name that each UE ID of its kind has.
pub(crate) fn mandatory_name(id: &UeId<'_>) -> Option<UeName> {
    UeName::all_of(id).first().copied()
}

/// The UEs of a base station.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ues {
    /// An RNTI that UEs of several tenants have, in several cells, belongs to none: reports name no cell.
    owners: Owners,
    /// In different cells, several UEs may have one RNTI.
    by_rnti: BTreeMap<u16, Vec<Ue>>,
    /// The RNTI of each UE, by the name that it keeps when optional parts of its UE ID change: it has another gNB-CU UE F1AP ID at
    /// another DU.
    by_id: HashMap<UeName, u16>,
}

/// A UE.
#[derive(Clone, Debug, PartialEq)]
struct Ue {
    /// The place of the tenant that it is a subscriber of; `None` if there is none. A tenant that comes later may have it.
    tenant: Option<usize>,
    /// Its last event.
    notification: Notification<'static>,
}

/// What an event of a UE has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// The tenant has one UE more.
    Arrived(usize),
    /// The tenant has one UE less.
    Left { tenant: usize, rnti: u16 },
}

impl Ues {
    /// The tenant of a UE; `None` for a UE of no tenant, and for one that was not reported.
    pub fn tenant(&self, rnti: u32) -> Option<usize> {
        let rnti = u16::try_from(rnti).ok()?;
        self.owners.get(rnti)
    }

    /// The tenant of the UE with exactly this UE ID, as the base station reports it.
    pub fn owner(&self, id: &UeId<'_>) -> Option<usize> {
        let ues = self.by_rnti.get(self.by_id.get(&mandatory_name(id)?)?)?;
        ues.iter().find(|ue| ue.notification.ue_id == *id)?.tenant
    }

    /// Whether a tenant has a UE with exactly this UE ID, as the base station reports it.
    pub fn has(&self, tenant: usize, id: &UeId<'_>) -> bool {
        self.owner(id) == Some(tenant)
    }

    /// The UE ID, as the base station reports it, of a tenant's UE that a controller names; optional parts may be missing.
    pub fn find(&self, tenant: usize, id: &UeId<'_>) -> Option<&UeId<'static>> {
        self.ids(tenant).find(|own| own.is_same_ue(id))
    }

    /// The UE IDs, as the base station reports them, of a tenant's UEs that have all parts.
    pub fn find_partial(&self, tenant: usize, id: &PartialUeId) -> impl Iterator<Item = &UeId<'static>> {
        self.ids(tenant).filter(|own| id.matches(own))
    }

    fn ids(&self, tenant: usize) -> impl Iterator<Item = &UeId<'static>> {
        self.own(tenant).map(|ue| &ue.notification.ue_id)
    }

    fn own(&self, tenant: usize) -> impl Iterator<Item = &Ue> {
        self.by_rnti.values().flatten().filter(move |ue| ue.tenant == Some(tenant))
    }

    /// Whether a UE of a tenant has this IPv4 address and no other UE has, as far as the base station reports addresses: networks may use
    /// the same ones.
    pub fn has_address(&self, tenant: usize, address: u32) -> bool {
        let has = |ue: &&Ue| ue.notification.addresses.iter().flatten().any(|own| u32::from_be_bytes(own.0) == address);
        let mut with_address = self.by_rnti.values().flatten().filter(has).peekable();
        with_address.peek().is_some() && with_address.all(|ue| ue.tenant == Some(tenant))
    }

    /// The RNTIs of a tenant's UEs, in ascending order.
    pub fn of(&self, tenant: usize) -> impl Iterator<Item = u16> {
        self.by_rnti.keys().copied().filter(move |rnti| self.owners.get(*rnti) == Some(tenant))
    }

    /// The events with which a new subscriber learns a tenant's UEs.
    pub fn present(&self, tenant: usize) -> impl Iterator<Item = Notification<'_>> {
        self.own(tenant).map(|ue| Notification { event: Event::Present, ..ue.notification.clone() })
    }

    /// Records an event. Returns what has changed, a UE that has left first.
    pub fn notified(&mut self, notification: &Notification<'_>, sla: &Sla) -> Vec<Change> {
        let rnti = notification.rnti.0;
        let name = mandatory_name(&notification.ue_id);
        let former = name.and_then(|name| self.by_id.get(&name).copied()).filter(|former| *former != rnti);
        let affected = || former.into_iter().chain([rnti]);
        let before: Vec<_> = affected().map(|rnti| self.owners.get(rnti)).collect();
        // a base station may use the RNTI of a UE again, or give a UE another one, without an event of the former
        for rnti in affected() {
            self.remove(rnti, |known| mandatory_name(&known.ue_id) == name || known.cell == notification.cell);
        }
        if notification.event != Event::Detached {
            let tenant = sla.tenant_of(notification.plmn, &notification.s_nssais);
            let notification = notification.clone().into_owned();
            if self.by_id.len() < MAX_UES {
                self.by_id.extend(name.map(|name| (name, rnti)));
                self.by_rnti.entry(rnti).or_default().push(Ue { tenant, notification });
            } else {
                self.remove(rnti, |_| true);
            }
        }
        let mut changes = Vec::new();
        for (rnti, before) in affected().zip(before) {
            let after = self.update_owner(rnti);
            if let Some(tenant) = before.filter(|_| after != before) {
                changes.push(Change::Left { tenant, rnti });
            }
            changes.extend(after.map(Change::Arrived));
        }
        changes
    }

    /// Finds the tenant of each UE in new agreements.
    pub fn reassign(&mut self, sla: &Sla) {
        for ue in self.by_rnti.values_mut().flatten() {
            ue.tenant = sla.tenant_of(ue.notification.plmn, &ue.notification.s_nssais);
        }
        for rnti in self.by_rnti.keys().copied().collect::<Vec<_>>() {
            self.update_owner(rnti);
        }
    }

    /// Removes UEs with an RNTI.
    fn remove(&mut self, rnti: u16, is_gone: impl Fn(&Notification<'_>) -> bool) {
        let Some(ues) = self.by_rnti.get_mut(&rnti) else { return };
        for gone in ues.extract_if(.., |ue| is_gone(&ue.notification)) {
            if let Some(name) = mandatory_name(&gone.notification.ue_id)
                && self.by_id.get(&name) == Some(&rnti)
            {
                self.by_id.remove(&name);
            }
        }
        if ues.is_empty() {
            self.by_rnti.remove(&rnti);
        }
    }

    /// Determines the tenant of an RNTI: the one that all its UEs belong to.
    fn update_owner(&mut self, rnti: u16) -> Option<usize> {
        let ues = self.by_rnti.get(&rnti).map_or(&[][..], Vec::as_slice);
        let first = ues.first().and_then(|ue| ue.tenant);
        let owner = first.filter(|tenant| ues.iter().all(|ue| ue.tenant == Some(*tenant)));
        self.owners.set(rnti, owner);
        owner
    }
}

#[cfg(test)]
mod tests {
    use e2sm::rrc::Ipv4Address;

    use super::*;
    use crate::testing::{A, B, notify, notify_as, notify_in, notify_with_address, station, ue_id};

    /// The PLMN of no tenant.
    const C: e2sm::common::PlmnIdentity = e2sm::common::PlmnIdentity::from_codes(1, 3, 2);

    #[test]
    fn rnti_that_a_ue_of_no_tenant_uses_again_is_of_no_tenant() {
        let mut node = station();
        assert_eq!(notify_as(&mut node, (7, 7), A, Event::Attached), [Change::Arrived(0)]);
        // another UE, without an event that the first one has left
        let left = Change::Left { tenant: 0, rnti: 7 };
        assert_eq!(notify_as(&mut node, (8, 7), C, Event::Attached), [left]);
        assert_eq!(node.ues.tenant(7), None);
        assert_eq!(node.ues.of(0).count(), 0);
        for id in [7, 8] {
            assert!(!node.ues.has(0, &ue_id(id)) && node.ues.find(0, &ue_id(id)).is_none(), "{id}");
        }
        assert_eq!(notify_as(&mut node, (8, 7), C, Event::Detached), []);
        // one of another tenant
        assert_eq!(notify_as(&mut node, (7, 7), A, Event::Attached), [Change::Arrived(0)]);
        assert_eq!(notify_as(&mut node, (8, 7), B, Event::Attached), [left, Change::Arrived(1)]);
        assert!(node.ues.has(1, &ue_id(8)) && !node.ues.has(0, &ue_id(7)));
    }

    #[test]
    fn ue_with_another_rnti_leaves_the_former_one() {
        let mut node = station();
        notify(&mut node, 7, A, Event::Attached);
        let changes = notify_as(&mut node, (7, 9), A, Event::Attached);
        assert_eq!(changes, [Change::Left { tenant: 0, rnti: 7 }, Change::Arrived(0)]);
        assert_eq!((node.ues.tenant(7), node.ues.tenant(9)), (None, Some(0)));
        // a repeated event changes nothing
        assert_eq!(notify_as(&mut node, (7, 9), A, Event::Present), [Change::Arrived(0)]);
        assert_eq!(node.ues.of(0).collect::<Vec<_>>(), [9]);
    }

    /// Reports carry RNTIs without cells.
    #[test]
    fn rnti_of_ues_of_two_tenants_in_two_cells_is_of_neither() {
        let mut node = station();
        assert_eq!(notify_in(&mut node, 1, (5, 7), A, Event::Attached), [Change::Arrived(0)]);
        assert_eq!(notify_in(&mut node, 2, (6, 7), B, Event::Attached), [Change::Left { tenant: 0, rnti: 7 }]);
        assert_eq!(node.ues.tenant(7), None);
        assert_eq!((node.ues.of(0).count(), node.ues.of(1).count()), (0, 0));
        // they are known by their UE IDs
        assert!(node.ues.has(0, &ue_id(5)) && node.ues.has(1, &ue_id(6)));
        assert_eq!(node.ues.present(1).count(), 1);
        // also one of no tenant
        assert_eq!(notify_in(&mut node, 3, (8, 7), C, Event::Attached), []);
        assert_eq!(notify_in(&mut node, 1, (5, 7), A, Event::Detached), []);
        assert_eq!(notify_in(&mut node, 3, (8, 7), C, Event::Detached), [Change::Arrived(1)]);
        assert_eq!(node.ues.tenant(7), Some(1));
        // a handover to another cell, where it keeps its RNTI
        assert_eq!(notify_in(&mut node, 4, (6, 7), B, Event::Attached), [Change::Arrived(1)]);
        assert_eq!(node.ues.present(1).count(), 1);
    }

    #[test]
    fn address_that_ues_of_several_networks_have_is_of_no_tenant() {
        let (address, number) = (Ipv4Address([10, 0, 0, 1]), 0x0a00_0001);
        for other in [B, C] {
            let mut node = station();
            notify_with_address(&mut node, 1, A, Event::Attached, address);
            notify_with_address(&mut node, 3, A, Event::Attached, Ipv4Address([10, 0, 0, 3]));
            assert!(node.ues.has_address(0, number) && !node.ues.has_address(1, number));
            notify_with_address(&mut node, 2, other, Event::Attached, address);
            assert!(!node.ues.has_address(0, number) && !node.ues.has_address(1, number));
            assert!(node.ues.has_address(0, 0x0a00_0003));
            notify_with_address(&mut node, 2, other, Event::Detached, address);
            assert!(node.ues.has_address(0, number));
        }
    }
}
