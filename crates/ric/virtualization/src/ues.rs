//! The UEs of a base station, and the tenants that they are subscribers of.

use std::collections::{BTreeMap, HashMap};

use e2sm::common::{PartialUeId, UeId};
use e2sm::rrc::{Event, Notification};
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

/// The UEs of a base station, by RNTI.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ues {
    owners: Owners,
    by_rnti: BTreeMap<u16, Ue>,
    /// The RNTI of each UE ID.
    by_id: HashMap<UeId<'static>, u16>,
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
        self.by_id.get(id).and_then(|rnti| self.tenant((*rnti).into()))
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
        self.by_rnti.values().filter(move |ue| ue.tenant == Some(tenant)).map(|ue| &ue.notification.ue_id)
    }

    /// Whether a tenant has a UE with this IPv4 address, as far as the base station reports addresses.
    pub fn has_address(&self, tenant: usize, address: u32) -> bool {
        let has = |ue: &Ue| ue.notification.addresses.iter().flatten().any(|own| u32::from_be_bytes(own.0) == address);
        self.by_rnti.values().any(|ue| ue.tenant == Some(tenant) && has(ue))
    }

    /// The RNTIs of a tenant's UEs.
    pub fn of(&self, tenant: usize) -> impl Iterator<Item = u16> {
        self.by_rnti.iter().filter(move |(_, ue)| ue.tenant == Some(tenant)).map(|(rnti, _)| *rnti)
    }

    /// The events with which a new subscriber learns a tenant's UEs.
    pub fn present(&self, tenant: usize) -> impl Iterator<Item = Notification<'_>> {
        let own = self.by_rnti.values().filter(move |ue| ue.tenant == Some(tenant));
        own.map(|ue| Notification { event: Event::Present, ..ue.notification.clone() })
    }

    /// Records an event. Returns what has changed, a UE that has left first.
    pub fn notified(&mut self, notification: &Notification<'_>, sla: &Sla) -> Vec<Change> {
        let rnti = notification.rnti.0;
        let is_present = notification.event != Event::Detached;
        let arrived = sla.tenant_of(notification.plmn, &notification.s_nssais).filter(|_| is_present);
        // a base station may use the RNTI of a UE again, or give a UE another one, without an event of the former
        let former = self.by_id.get(&notification.ue_id).copied().filter(|former| *former != rnti);
        let mut changes = Vec::new();
        for rnti in former.into_iter().chain([rnti]) {
            if let Some(tenant) = self.remove(rnti)
                && (arrived != Some(tenant) || former == Some(rnti))
            {
                changes.push(Change::Left { tenant, rnti });
            }
        }
        if is_present {
            let notification = notification.clone().into_owned();
            self.by_id.insert(notification.ue_id.clone(), rnti);
            self.by_rnti.insert(rnti, Ue { tenant: arrived, notification });
            self.owners.set(rnti, arrived);
        }
        changes.extend(arrived.map(Change::Arrived));
        changes
    }

    /// Finds the tenant of each UE in new agreements.
    pub fn reassign(&mut self, sla: &Sla) {
        for (rnti, ue) in &mut self.by_rnti {
            ue.tenant = sla.tenant_of(ue.notification.plmn, &ue.notification.s_nssais);
            self.owners.set(*rnti, ue.tenant);
        }
    }

    /// Removes a UE, and returns its tenant.
    fn remove(&mut self, rnti: u16) -> Option<usize> {
        let ue = self.by_rnti.remove(&rnti)?;
        self.owners.set(rnti, None);
        if self.by_id.get(&ue.notification.ue_id) == Some(&rnti) {
            self.by_id.remove(&ue.notification.ue_id);
        }
        ue.tenant
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{A, B, notify, notify_as, station, ue_id};

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
}
