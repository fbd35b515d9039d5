//! The UEs of a base station, and the tenants that they are subscribers of.

use std::collections::BTreeMap;

use e2sm::common::UeId;
use e2sm::rrc::{Event, Notification};
use per::IntoOwned;

use crate::sla::{Sla, Tenant};

/// The maximum number of UEs of a base station; further ones belong to no tenant.
const MAX_UES: usize = 65_536;

/// The UEs of a base station, by RNTI.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ues {
    by_rnti: BTreeMap<u16, Ue>,
}

/// A UE that is the subscriber of a tenant.
#[derive(Clone, Debug, PartialEq)]
struct Ue {
    /// The place of the tenant in the agreement.
    tenant: usize,
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
        self.by_rnti.get(&rnti).map(|ue| ue.tenant)
    }

    /// Whether a tenant has a UE with this id.
    pub fn has(&self, tenant: usize, id: &UeId<'_>) -> bool {
        self.by_rnti.values().any(|ue| ue.tenant == tenant && ue.notification.ue_id == *id)
    }

    /// The RNTIs of a tenant's UEs.
    pub fn of(&self, tenant: usize) -> impl Iterator<Item = u16> {
        self.by_rnti.iter().filter(move |(_, ue)| ue.tenant == tenant).map(|(rnti, _)| *rnti)
    }

    /// The events with which a new subscriber learns a tenant's UEs.
    pub fn present(&self, tenant: usize) -> impl Iterator<Item = Notification<'_>> {
        let own = self.by_rnti.values().filter(move |ue| ue.tenant == tenant);
        own.map(|ue| Notification { event: Event::Present, ..ue.notification.clone() })
    }

    /// Records an event.
    pub fn notified(&mut self, notification: &Notification<'_>, sla: &Sla) -> Option<Change> {
        let rnti = notification.rnti.0;
        if notification.event == Event::Detached {
            return self.by_rnti.remove(&rnti).map(|ue| Change::Left(ue.tenant));
        }
        // of two tenants of a PLMN, the one with network slices has priority
        let is_subscriber = |tenant: &Tenant| tenant.has_subscriber(notification.plmn, &notification.s_nssais);
        let tenants = sla.tenants.iter().enumerate().filter(|(_, tenant)| is_subscriber(tenant));
        let (tenant, _) = tenants.min_by_key(|(_, tenant)| tenant.s_nssais.is_empty())?;
        if self.by_rnti.len() >= MAX_UES && !self.by_rnti.contains_key(&rnti) {
            return None;
        }
        self.by_rnti.insert(rnti, Ue { tenant, notification: notification.clone().into_owned() });
        Some(Change::Arrived(tenant))
    }
}
