//! The share of each tenant of the subscriptions to base stations. Others cannot take it, whatever they ask for.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use ferric::e2::{NodeId, SubscriptionSpec};

/// The subscriptions to a base station, of all tenants.
const OF_A_NODE: usize = 512;
/// The least share of them, and the largest.
const SHARES_OF_A_NODE: (usize, usize) = (16, 256);
/// The subscriptions to all base stations, of all tenants: the RIC allows 16,384, of which the app needs some itself
/// ([`ControllerConfig::max_requests_per_consumer`](ferric::e2::ControllerConfig::max_requests_per_consumer)).
const OF_ALL: usize = 12_288;
/// The octets of their event triggers and action definitions, of which the RIC allows 16 MiB.
const OCTETS: usize = 12 * 1024 * 1024;

/// The subscriptions of a tenant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    /// Those to one base station.
    pub of_node: usize,
    /// Those to all.
    pub of_all: usize,
    /// The octets of the latter.
    pub octets: usize,
}

/// The subscriptions of all tenants, counted as they come and go: a request has the same cost whatever tenants have.
#[derive(Debug, Default)]
pub(crate) struct Usages {
    of_node: HashMap<(NodeId, usize), usize>,
    /// By tenant, those to all base stations and their octets.
    of_all: HashMap<usize, (usize, usize)>,
}

impl Usages {
    /// What a tenant has, of a base station and of all.
    pub fn of(&self, node: NodeId, tenant: usize) -> Usage {
        let (of_all, octets) = self.of_all.get(&tenant).copied().unwrap_or_default();
        Usage { of_node: self.of_node.get(&(node, tenant)).copied().unwrap_or_default(), of_all, octets }
    }

    /// Counts a subscription with these octets.
    pub fn add(&mut self, node: NodeId, tenant: usize, octets: usize) {
        *self.of_node.entry((node, tenant)).or_default() += 1;
        let (all, total) = self.of_all.entry(tenant).or_default();
        (*all, *total) = (*all + 1, *total + octets);
    }

    /// Does not count one any more.
    pub fn remove(&mut self, node: NodeId, tenant: usize, octets: usize) {
        if let Entry::Occupied(mut of_node) = self.of_node.entry((node, tenant)) {
            *of_node.get_mut() -= 1;
            if *of_node.get() == 0 {
                of_node.remove();
            }
        }
        if let Entry::Occupied(mut of_all) = self.of_all.entry(tenant) {
            let (all, total) = of_all.get_mut();
            (*all, *total) = (*all - 1, *total - octets);
            if *all == 0 {
                of_all.remove();
            }
        }
    }
}

/// What a tenant may have. Subscriptions that tenants share count for each of them, as often as it has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Share {
    tenants: usize,
    most: Usage,
}

/// The octets that are stored of a subscription.
pub(crate) fn octets_of(spec: &SubscriptionSpec) -> usize {
    let definitions = spec.actions.iter().filter_map(|action| action.definition.as_ref());
    spec.event_trigger.len() + definitions.map(Vec::len).sum::<usize>()
}

impl Share {
    /// The share of each of so many tenants.
    pub fn of(tenants: usize) -> Self {
        let of = |all: usize| all / tenants.max(1);
        let (least, largest) = SHARES_OF_A_NODE;
        let most = Usage { of_node: of(OF_A_NODE).clamp(least, largest), of_all: of(OF_ALL), octets: of(OCTETS) };
        Share { tenants, most }
    }

    /// Checks whether a tenant may have one more subscription.
    ///
    /// # Errors
    /// The reason why not.
    pub fn check(&self, usage: &Usage, spec: &SubscriptionSpec) -> Result<(), String> {
        let Share { tenants, most } = self;
        let share = |most: usize, what: &str| {
            format!("it has its share of {most} {what}, as one of {tenants} tenants; its controller can delete some")
        };
        if usage.of_node >= most.of_node {
            return Err(share(most.of_node, "subscriptions to this base station"));
        }
        if usage.of_all >= most.of_all {
            return Err(share(most.of_all, "subscriptions to all base stations"));
        }
        if octets_of(spec) > most.octets.saturating_sub(usage.octets) {
            return Err(share(most.octets, "octets of subscriptions to all base stations"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(octets: usize) -> SubscriptionSpec {
        SubscriptionSpec { event_trigger: vec![0; octets], actions: Vec::new() }
    }

    #[test]
    fn share_is_refused_beyond_its_limits_with_the_limit() {
        let refused = |usage, octets| Share::of(3).check(&usage, &spec(octets)).unwrap_err();
        let (few, mib) = (Usage::default(), 1024 * 1024);
        assert_eq!(Share::of(3).check(&Usage { of_node: 169, of_all: 4095, octets: 3 * mib }, &spec(mib)), Ok(()));
        assert!(
            refused(Usage { of_node: 170, ..few }, 1).contains("170 subscriptions to this base station, as one of 3")
        );
        assert!(refused(Usage { of_all: 4096, ..few }, 1).contains("4096 subscriptions to all base stations"));
        assert!(refused(Usage { octets: 3 * mib, ..few }, mib + 1).contains("4194304 octets"));
    }

    #[test]
    fn shares_of_all_tenants_are_what_the_ric_allows() {
        let limits = ferric::e2::ControllerConfig::default();
        for tenants in 1..=crate::MAX_TENANTS {
            let Share { most, .. } = Share::of(tenants);
            assert!(most.of_node >= 16 && most.of_all >= most.of_node.min(192), "{tenants}: {most:?}");
            assert!(most.of_all * tenants <= limits.max_requests_per_consumer * 3 / 4);
            assert!(most.octets * tenants <= limits.max_octets_per_consumer * 3 / 4);
            assert!(most.of_node * tenants <= 1024);
        }
    }
}
