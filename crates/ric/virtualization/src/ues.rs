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
    Left(usize),
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

    /// Records an event.
    pub fn notified(&mut self, notification: &Notification<'_>, sla: &Sla) -> Option<Change> {
        let rnti = notification.rnti.0;
        let former = self.remove(rnti);
        if notification.event == Event::Detached {
            return former.map(Change::Left);
        }
        let tenant = sla.tenant_of(notification.plmn, &notification.s_nssais);
        let notification = notification.clone().into_owned();
        self.by_id.insert(notification.ue_id.clone(), rnti);
        self.by_rnti.insert(rnti, Ue { tenant, notification });
        self.owners.set(rnti, tenant);
        tenant.map(Change::Arrived)
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
