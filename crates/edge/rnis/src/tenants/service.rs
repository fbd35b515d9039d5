//! Tenants of a service.

use std::collections::HashMap;
use std::sync::Arc;

use tracing::{info, warn};

use super::{Tenant, TenantTable, Tenants};
use crate::api::OWNER;
use crate::delivery::TenantShare;
use crate::directory::Directory;
use crate::matcher::Key;
use crate::service::Service;
use crate::subscriptions::SubscriptionLimits;

impl Service {
    /// Gives the service tenants: each has subscriptions of its own, within its rights. Without them all requests are of one
    /// application.
    #[must_use]
    pub fn with_tenants(mut self, tenants: Arc<Tenants>) -> Self {
        self.tenants = Some(tenants);
        self.apply_tenants(&TenantTable::default());
        self
    }

    /// The tenants, if there are any.
    #[must_use]
    pub fn tenants(&self) -> Option<&Arc<Tenants>> {
        self.tenants.as_ref()
    }

    /// Sets what has the identities of UEs that rights of tenants name.
    pub fn set_directory(&self, directory: &Arc<Directory>) {
        if let Some(tenants) = &self.tenants {
            tenants.set_directory(directory);
        }
    }

    /// The tenant of an owner; `None` if its rights are not restricted.
    ///
    /// # Errors
    /// If it was removed.
    pub(crate) fn tenant(&self, owner: &str) -> Result<Option<Arc<Tenant>>, NoTenant> {
        match &self.tenants {
            Some(tenants) if owner != OWNER => {
                tenants.table().get(owner).map(|it| Some(Arc::clone(it))).ok_or(NoTenant)
            }
            _ => Ok(None),
        }
    }

    /// Whose share of the delivery the notifications of an owner are of.
    pub(crate) fn share_of<'o>(&self, owner: &'o str) -> &'o str {
        if self.tenants.is_some() && owner != OWNER { owner } else { "" }
    }

    /// The bounds of an owner's subscriptions.
    pub(crate) fn limits_of(&self, owner: &str) -> SubscriptionLimits {
        let most = self.tenants.as_ref().and_then(|tenants| tenants.table().get(owner)?.max_subscriptions);
        let limits = self.limits();
        SubscriptionLimits { max_per_owner: limits.max_per_owner.min(most.unwrap_or(usize::MAX)), ..*limits }
    }

    /// Puts changes of the tenants into force: the subscriptions of those that were removed end.
    pub(crate) fn refresh_tenants(&self) {
        let Some(tenants) = &self.tenants else { return };
        let before = tenants.table();
        if tenants.refresh() {
            self.apply_tenants(&before);
        }
    }

    fn apply_tenants(&self, before: &TenantTable) {
        let Some(tenants) = &self.tenants else { return };
        let table = tenants.table();
        let of_tenants: HashMap<_, _> =
            table.iter().filter_map(|tenant| Some((Arc::clone(&tenant.name), tenant.callbacks.clone()?))).collect();
        self.delivery().callbacks().set_tenants(of_tenants);
        for tenant in table.iter() {
            if before.get(&tenant.name).is_none_or(|it| it.share != tenant.share) {
                self.delivery().set_share(&tenant.name, tenant.share);
            }
        }
        self.dispatcher.set_tenants(Arc::clone(&table));
        let is_removed = |owner: &str| owner != OWNER && before.get(owner).is_some() && table.get(owner).is_none();
        for (key, subscription) in self.find(|subscription| is_removed(&subscription.owner)) {
            info!(tenant = %subscription.owner, subscription = key.0, "the tenant was removed: its subscription ends");
            if let Err(error) = self.unsubscribe(key) {
                // it is sent nothing any more, since the tenant has no rights
                warn!(subscription = key.0, "the subscriptions of removed tenants stay in the log: {error}");
                break;
            }
        }
        let removed = before.iter().filter(|tenant| table.get(&tenant.name).is_none());
        removed.for_each(|tenant| self.delivery().set_share(&tenant.name, TenantShare::default()));
    }

    /// Whether the tenant of a subscription that was just added is still there: it may have been removed meanwhile.
    pub(crate) fn confirm_tenant(&self, key: Key, tenant: &str) -> Result<(), NoTenant> {
        // a subscription of the process itself is of none
        if tenant.is_empty() || self.tenant(tenant).is_ok() {
            return Ok(());
        }
        // its entry may be gone already, before its events were routed
        if !self.unsubscribe(key).unwrap_or(false) {
            self.withdraw(key);
        }
        Err(NoTenant)
    }
}

/// The tenant was removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoTenant;
