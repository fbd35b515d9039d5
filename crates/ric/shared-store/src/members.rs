//! The RICs that share nodes, and which of them serves a node: rendezvous hashing (Thaler and Ravishankar, 1998). Each RIC has a
//! weight for each node, and the one with the highest serves it. When a RIC goes, its nodes alone move, evenly to the others.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::net::SocketAddr;
use std::time::Duration;

use ferric::e2::xapp::RicList;
use ferric::e2::{Placement, Time};
use ferric::e2ap::{GlobalE2NodeId, TnlInformation};
use ferric::link::Address;

/// The most RICs that share nodes.
pub const MAX_MEMBERS: usize = 64;
/// A node that returns within this time was not served by the RIC that it was directed to.
const RETURN_WITHIN: Duration = Duration::from_secs(30);
/// The most nodes that are remembered. Beyond it, nodes of other RICs are served here.
const MAX_NODES: usize = 8192;

/// A node that was directed to other RICs.
#[derive(Clone, Copy, Debug)]
struct Directed {
    times: usize,
    last: Time,
}

/// The addresses of a RIC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RicAddresses {
    /// The one that nodes are directed to.
    pub nodes: SocketAddr,
    /// The one for xApps, if it has one that others can use.
    pub xapps: Option<Address>,
}

/// The RICs as one of them knows them.
#[derive(Debug)]
pub struct Members {
    own: String,
    /// All of them, this one included.
    rics: BTreeMap<String, RicAddresses>,
    /// Counts the changes.
    pub generation: u64,
    directed: HashMap<GlobalE2NodeId, Directed>,
    /// Nodes of other RICs that are served here because those did not, or that were handed over already, since the RICs changed.
    settled: HashSet<GlobalE2NodeId>,
}

impl Members {
    pub fn new(own: String, addresses: RicAddresses) -> Self {
        let rics = BTreeMap::from([(own.clone(), addresses)]);
        Members { own, rics, generation: 0, directed: HashMap::new(), settled: HashSet::new() }
    }

    /// The names of all RICs.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.rics.keys().map(String::as_str)
    }

    /// The addresses for xApps.
    pub fn for_xapps(&self) -> RicList {
        let address = |addresses: &RicAddresses| addresses.xapps.as_ref().map(Address::to_string);
        let others = self.rics.iter().filter(|(name, _)| **name != self.own);
        RicList {
            own: self.rics.get(&self.own).and_then(address),
            others: others.filter_map(|(_, addresses)| address(addresses)).collect(),
        }
    }

    /// Replaces the other RICs. Returns the names of those that are gone if anything has changed.
    pub fn set_others(&mut self, others: impl Iterator<Item = (String, RicAddresses)>) -> Option<Vec<String>> {
        let mut rics: BTreeMap<_, _> = others.filter(|(name, _)| *name != self.own).take(MAX_MEMBERS - 1).collect();
        let own = self.rics.get(&self.own).cloned();
        rics.extend(own.map(|addresses| (self.own.clone(), addresses)));
        if rics == self.rics {
            return None;
        }
        let gone = self.rics.keys().filter(|name| !rics.contains_key(*name)).cloned().collect();
        self.rics = rics;
        self.generation += 1;
        // what was found of the others holds no more
        self.directed.clear();
        self.settled.clear();
        Some(gone)
    }

    /// The RICs in the order in which they should serve a node.
    fn ranking(&self, node: &GlobalE2NodeId) -> Vec<(&str, SocketAddr)> {
        let node = node.to_string();
        let mut ranking: Vec<_> = self.rics.iter().map(|(name, ric)| (weight(name, &node), name, ric.nodes)).collect();
        ranking.sort_by(|(a, a_name, _), (b, b_name, _)| b.cmp(a).then(a_name.cmp(b_name)));
        ranking.into_iter().map(|(_, name, address)| (name.as_str(), address)).collect()
    }

    /// Whether another RIC should serve a node that is connected here, and it was not handed over since the RICs have changed.
    pub fn belongs_elsewhere(&self, node: &GlobalE2NodeId) -> bool {
        !self.settled.contains(node) && self.ranking(node).first().is_some_and(|(first, _)| *first != self.own)
    }

    /// A node is handed over: it is not again until the RICs change.
    pub fn hand_over(&mut self, node: GlobalE2NodeId) {
        // beyond the bound, nodes may be handed over once more
        if self.settled.len() >= MAX_NODES {
            self.settled.clear();
        }
        self.settled.insert(node);
    }

    /// Where a node belongs that sets up here. It is directed to the RIC that should serve it; each time that it returns soon, that
    /// RIC did not, and the next one is its turn. So a RIC that is lost but not known to be, or that a node does not reach, costs
    /// the node one attempt.
    pub fn place(&mut self, now: Time, node: &GlobalE2NodeId) -> Placement {
        let times = self.directed.get(node).filter(|directed| directed.last + RETURN_WITHIN > now);
        let times = times.map_or(0, |directed| directed.times);
        let ranking = self.ranking(node);
        let own_rank = ranking.iter().position(|(name, _)| *name == self.own).unwrap_or(0);
        let target = ranking.get(times).map(|(_, address)| *address);
        if own_rank > times && self.directed.len() >= MAX_NODES {
            self.directed.retain(|_, directed| directed.last + RETURN_WITHIN > now);
        }
        match target {
            Some(address) if own_rank > times && self.directed.len() < MAX_NODES => {
                self.directed.insert(*node, Directed { times: times + 1, last: now });
                Placement::Elsewhere(TnlInformation::new(address.ip(), Some(address.port())))
            }
            _ => {
                self.directed.remove(node);
                if own_rank > 0 {
                    self.hand_over(*node);
                } else {
                    self.settled.remove(node);
                }
                Placement::Here
            }
        }
    }
}

/// The weight of a RIC for a node: FNV-1a over both names, then the finalizer of SplitMix64, so that each bit depends on all. All
/// RICs must compute the same, whatever their release.
fn weight(ric: &str, node: &str) -> u64 {
    let octets = ric.bytes().chain([0]).chain(node.bytes());
    let hash = octets
        .fold(0xcbf2_9ce4_8422_2325, |hash: u64, octet| (hash ^ u64::from(octet)).wrapping_mul(0x0000_0100_0000_01b3));
    let hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use ferric::e2ap::{GnbId, PlmnIdentity};

    use super::*;

    fn node(number: u32) -> GlobalE2NodeId {
        GlobalE2NodeId::gnb(PlmnIdentity::from_codes(1, 1, 2), GnbId::new(number, 22))
    }

    fn address(number: u8) -> SocketAddr {
        (Ipv4Addr::new(10, 0, 0, number), 36421).into()
    }

    fn addresses(number: u8) -> RicAddresses {
        RicAddresses { nodes: address(number), xapps: None }
    }

    fn ric(own: u8, all: &[u8]) -> Members {
        let mut members = Members::new(format!("ric-{own}"), addresses(own));
        members.set_others(all.iter().map(|number| (format!("ric-{number}"), addresses(*number))));
        members
    }

    fn owner(members: &Members, node: &GlobalE2NodeId) -> String {
        members.ranking(node)[0].0.to_owned()
    }

    #[test]
    fn nodes_are_spread_and_only_those_of_a_lost_ric_move() {
        let (three, two) = (ric(1, &[1, 2, 3]), ric(1, &[1, 2]));
        let mut counts = BTreeMap::new();
        for number in 0..300 {
            let node = node(number);
            let (before, after) = (owner(&three, &node), owner(&two, &node));
            assert!(before == after || before == "ric-3", "{before} {after}");
            *counts.entry((before, after)).or_insert(0) += 1;
        }
        // 100 each, and 50 each of the lost one: within five standard deviations of a binomial distribution
        let of = |before: &str, after: &str| counts[&(before.to_owned(), after.to_owned())];
        assert!((60..=140).contains(&of("ric-1", "ric-1")) && (60..=140).contains(&of("ric-2", "ric-2")), "{counts:?}");
        assert!((20..=80).contains(&of("ric-3", "ric-1")) && (20..=80).contains(&of("ric-3", "ric-2")), "{counts:?}");
        // all RICs agree
        let other = ric(3, &[3, 2, 1]);
        assert!((0..300).all(|number| owner(&three, &node(number)) == owner(&other, &node(number))));
    }

    #[test]
    fn addresses_for_xapps_are_those_of_the_rics_that_have_one() {
        let of = |number: u8, url: Option<&str>| {
            let xapps = url.map(|url| url.parse().unwrap());
            (format!("ric-{number}"), RicAddresses { xapps, ..addresses(number) })
        };
        let mut members = Members::new("ric-2".to_owned(), of(2, Some("tcp://10.0.0.2:36422")).1);
        assert_eq!(members.for_xapps().encode(), b"tcp://10.0.0.2:36422");
        let others = [of(1, Some("tcp://10.0.0.1:36422")), of(3, None), of(4, Some("tls://10.0.0.4:1"))];
        members.set_others(others.into_iter());
        assert_eq!(members.for_xapps().encode(), b"tcp://10.0.0.2:36422\ntcp://10.0.0.1:36422\ntls://10.0.0.4:1");
        // a RIC of which only this address is another one has changed
        let generation = members.generation;
        members.set_others([of(1, None), of(3, None), of(4, Some("tls://10.0.0.4:1"))].into_iter());
        assert_ne!(members.generation, generation);
    }

    #[test]
    fn weight_is_that_of_all_releases() {
        // computed by an independent program
        assert_eq!(weight("ric-1", "gnb-00101-000e00"), 0xb5f9_2474_ab73_37a0);
    }

    /// The node of each rank of a RIC.
    fn node_with_ranking(members: &Members, names: [&str; 3]) -> GlobalE2NodeId {
        let has = |node: &GlobalE2NodeId| members.ranking(node).iter().map(|(name, _)| *name).eq(names);
        (0..300).map(node).find(has).unwrap()
    }

    #[test]
    fn node_that_returns_goes_to_the_next_ric() {
        let mut members = ric(3, &[1, 2, 3]);
        let node = node_with_ranking(&members, ["ric-1", "ric-2", "ric-3"]);
        let to = |number| Placement::Elsewhere(TnlInformation::new(address(number).ip(), Some(36421)));
        let now = Time::from_nanos(0);
        assert_eq!(members.place(now, &node), to(1));
        assert_eq!(members.place(now, &node), to(2));
        assert!(members.belongs_elsewhere(&node));
        assert_eq!(members.place(now, &node), Placement::Here);
        assert!(!members.belongs_elsewhere(&node), "the others did not serve it");
        assert_eq!(members.place(now, &node), to(1));
        assert_eq!(members.place(now + RETURN_WITHIN, &node), to(1), "it was away for long");
        // the RICs have changed
        let only_first = || [("ric-1".to_owned(), addresses(1))].into_iter();
        assert_eq!(members.set_others(only_first()), Some(vec!["ric-2".to_owned()]));
        assert_eq!(members.set_others(only_first()), None);
        assert!(members.belongs_elsewhere(&node));
        members.hand_over(node);
        assert!(!members.belongs_elsewhere(&node));
        (1000..9999).for_each(|number| members.hand_over(self::node(number)));
        assert!(members.settled.len() <= MAX_NODES);
        assert_eq!(ric(1, &[]).place(now, &node), Placement::Here, "it is alone");
    }

    #[test]
    fn directed_nodes_are_bounded() {
        let mut members = ric(1, &[1, 2]);
        let (mut served, mut number) = (0, 0);
        while members.directed.len() < MAX_NODES {
            served += u32::from(members.place(Time::default(), &node(number)) == Placement::Here);
            number += 1;
        }
        assert!(served > 1000, "{served}");
        let other = (number..).map(node).find(|node| owner(&members, node) == "ric-2").unwrap();
        assert_eq!(members.place(Time::default(), &other), Placement::Here);
        let later = Time::default() + RETURN_WITHIN;
        assert_ne!(members.place(later, &other), Placement::Here);
        assert_eq!(members.directed.len(), 1);
    }
}
