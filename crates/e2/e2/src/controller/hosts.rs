//! What one host may have of the nodes, so that others find room.
//!
//! - A host sets up at most a share of all nodes ([`ControllerConfig::max_host_percent`](super::ControllerConfig::max_host_percent)).
//! - The setups of a host are limited per second; a burst as large as its share of nodes is possible, as of an emulator.
//! - An eighth of the nodes is reserved for known ones: those that were connected before, have a configured version, or are
//!   listed for the certificate of their peer.
//!
//! An association without an [`Origin`](crate::Origin) counts for no host.

use std::collections::{HashMap, HashSet, VecDeque};

use e2ap::GlobalE2NodeId;

use super::{ControllerConfig, NodeId};
use crate::{Host, Time};

/// The reserve for known nodes: an eighth.
const RESERVE: usize = 8;
/// The most hosts with a budget of setups that is not full; further hosts share one.
const MAX_BUDGETS: usize = 4096;

/// The nodes of each host, and the setups that it may send now.
#[derive(Debug)]
pub(super) struct NodesOfHosts {
    max_nodes: usize,
    max_of_host: usize,
    setups_per_second: u32,
    of_node: HashMap<NodeId, Host>,
    counts: HashMap<Host, usize>,
    budgets: HashMap<Option<Host>, SetupBudget>,
    known: KnownNodes,
}

/// Why a setup is refused because of its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The nodes of the host.
    TooManyNodes,
    /// The setups of the host per second.
    TooManySetups,
    /// The rest is reserved for known nodes.
    Reserved,
}

impl Refusal {
    /// Returns the limit for the log.
    pub fn limit(self) -> &'static str {
        match self {
            Refusal::TooManyNodes => "it has its share of `max_nodes` already; see `max_host_percent`",
            Refusal::TooManySetups => "it sets up too often; see `max_setups_per_second`",
            Refusal::Reserved => {
                "the rest of `max_nodes` is reserved for nodes that were connected before or are configured"
            }
        }
    }
}

impl NodesOfHosts {
    pub fn new(config: &ControllerConfig) -> Self {
        let max_of_host = (config.max_nodes * usize::from(config.max_host_percent.min(100)) / 100).max(1);
        NodesOfHosts {
            max_nodes: config.max_nodes,
            max_of_host,
            setups_per_second: config.max_setups_per_second,
            of_node: HashMap::new(),
            counts: HashMap::new(),
            budgets: HashMap::new(),
            known: KnownNodes::new(config.max_nodes),
        }
    }

    /// Counts a setup of a host; returns why it is refused. `nodes` is the number of nodes without the one that it replaces,
    /// `is_new` states whether it replaces none, `is_listed` whether the configuration names the node.
    pub fn check(
        &mut self,
        now: Time,
        host: Option<Host>,
        node: &GlobalE2NodeId,
        nodes: usize,
        is_new: bool,
        is_listed: bool,
    ) -> Result<(), Refusal> {
        if host.is_some() && !self.take_setup(now, host) {
            return Err(Refusal::TooManySetups);
        }
        if !is_new {
            return Ok(());
        }
        if host.is_some_and(|host| self.counts.get(&host).is_some_and(|count| *count >= self.max_of_host)) {
            return Err(Refusal::TooManyNodes);
        }
        let has_reserve = nodes + self.max_nodes / RESERVE < self.max_nodes;
        if has_reserve || is_listed || self.known.contains(node) { Ok(()) } else { Err(Refusal::Reserved) }
    }

    fn take_setup(&mut self, now: Time, host: Option<Host>) -> bool {
        let (burst, rate) = (self.max_of_host as f64, f64::from(self.setups_per_second));
        let host = if self.budgets.len() >= MAX_BUDGETS && !self.budgets.contains_key(&host) {
            // those that are full again are the same as new ones
            self.budgets.retain(|_, budget| budget.at(now, rate) < burst);
            if self.budgets.len() >= MAX_BUDGETS { None } else { host }
        } else {
            host
        };
        let budget = self.budgets.entry(host).or_insert(SetupBudget { left: burst, since: now });
        let left = budget.at(now, rate).min(burst);
        let is_left = left >= 1.0;
        *budget = SetupBudget { left: if is_left { left - 1.0 } else { left }, since: now };
        is_left
    }

    /// Records that a node has set up.
    pub fn add(&mut self, id: NodeId, node: GlobalE2NodeId, host: Option<Host>) {
        self.known.add(node, host);
        if let Some(host) = host {
            self.of_node.insert(id, host);
            *self.counts.entry(host).or_default() += 1;
        }
    }

    /// Returns whether nodes of a host are known.
    pub fn is_known_host(&self, host: Host) -> bool {
        self.known.of_hosts.contains_key(&Some(host))
    }

    /// Records that a node is lost.
    pub fn remove(&mut self, id: NodeId) {
        if let Some(host) = self.of_node.remove(&id)
            && let Some(count) = self.counts.get_mut(&host)
        {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&host);
            }
        }
    }
}

/// A token bucket of setups.
#[derive(Clone, Copy, Debug)]
struct SetupBudget {
    left: f64,
    since: Time,
}

impl SetupBudget {
    fn at(&self, now: Time, per_second: f64) -> f64 {
        self.left + (now - self.since).as_secs_f64() * per_second
    }
}

/// The ids of nodes that were connected before. When there are too many, the host with the most loses its oldest, so that
/// one host cannot displace the others.
#[derive(Debug)]
struct KnownNodes {
    max: usize,
    all: HashSet<GlobalE2NodeId>,
    of_hosts: HashMap<Option<Host>, VecDeque<GlobalE2NodeId>>,
}

impl KnownNodes {
    fn new(max: usize) -> Self {
        KnownNodes { max, all: HashSet::new(), of_hosts: HashMap::new() }
    }

    fn contains(&self, node: &GlobalE2NodeId) -> bool {
        self.all.contains(node)
    }

    fn add(&mut self, node: GlobalE2NodeId, host: Option<Host>) {
        if !self.all.insert(node) {
            return;
        }
        self.of_hosts.entry(host).or_default().push_back(node);
        if self.all.len() > self.max
            && let Some((host, nodes)) = self.of_hosts.iter_mut().max_by_key(|(_, nodes)| nodes.len())
        {
            let host = *host;
            if let Some(oldest) = nodes.pop_front() {
                self.all.remove(&oldest);
            }
            if nodes.is_empty() {
                self.of_hosts.remove(&host);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use e2ap::{GnbId, PlmnIdentity};

    use super::*;

    fn node(number: u32) -> GlobalE2NodeId {
        GlobalE2NodeId::gnb(PlmnIdentity::from_codes(1, 1, 2), GnbId::new(number, 32))
    }

    fn host(last: u8) -> Option<Host> {
        Some(Host::V4([192, 0, 2, last].into()))
    }

    fn hosts(max_nodes: usize, max_setups_per_second: u32) -> NodesOfHosts {
        NodesOfHosts::new(&ControllerConfig { max_nodes, max_setups_per_second, ..ControllerConfig::default() })
    }

    #[test]
    fn one_host_leaves_nodes_for_others_and_strangers_leave_some_for_known_ones() {
        let (mut hosts, now) = (hosts(80, 1000), Time::default());
        let mut nodes = 0;
        let mut set_up = |hosts: &mut NodesOfHosts, number: u32, last: u8| {
            let checked = hosts.check(now, host(last), &node(number), nodes, true, false);
            if checked.is_ok() {
                nodes += 1;
                hosts.add(NodeId(number), node(number), host(last));
            }
            checked
        };
        assert_eq!(set_up(&mut hosts, 1, 1), Ok(()));
        for number in 100..159 {
            assert_eq!(set_up(&mut hosts, number, 1), Ok(()), "{number}");
        }
        assert_eq!(set_up(&mut hosts, 159, 1), Err(Refusal::TooManySetups), "its burst is its share");
        for number in 200..210 {
            assert_eq!(set_up(&mut hosts, number, 2), Ok(()), "{number}");
        }
        assert_eq!(set_up(&mut hosts, 300, 3), Err(Refusal::Reserved));
        hosts.remove(NodeId(1));
        assert_eq!(hosts.check(now, host(9), &node(1), 70, true, false), Ok(()), "it was connected before");
        assert_eq!(hosts.check(now, host(9), &node(300), 70, true, true), Ok(()), "it is configured");
        let later = now + Duration::from_secs(1);
        hosts.add(NodeId(900), node(900), host(1));
        assert_eq!(hosts.check(later, host(1), &node(160), 20, true, false), Err(Refusal::TooManyNodes));
        assert_eq!(hosts.check(later, host(1), &node(100), 20, false, false), Ok(()), "it replaces one");
        assert_eq!(hosts.check(later, None, &node(160), 20, true, false), Ok(()), "an unknown host has no share");
    }

    #[test]
    fn setups_per_second_are_limited_per_host() {
        let (mut hosts, mut now) = (hosts(8, 2), Time::default());
        let taken = |hosts: &mut NodesOfHosts, now, last| {
            (0..20).filter(|_| hosts.check(now, host(last), &node(1), 0, false, false).is_ok()).count()
        };
        assert_eq!((taken(&mut hosts, now, 1), taken(&mut hosts, now, 2)), (6, 6));
        now = now + Duration::from_millis(1500);
        assert_eq!(taken(&mut hosts, now, 1), 3);
        now = now + Duration::from_secs(3600);
        assert_eq!(taken(&mut hosts, now, 1), 6, "never more than a burst");
    }

    #[test]
    fn one_host_does_not_displace_the_known_nodes_of_others() {
        let mut known = KnownNodes::new(10);
        known.add(node(1), host(1));
        for number in 100..200 {
            known.add(node(number), host(2));
        }
        assert!(known.contains(&node(1)) && known.contains(&node(199)) && !known.contains(&node(100)));
        assert_eq!(known.all.len(), 10);
        assert_eq!(known.of_hosts.values().map(VecDeque::len).sum::<usize>(), 10);
    }
}
