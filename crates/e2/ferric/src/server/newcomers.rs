//! Who may connect: a pool of connections for each kind of peer, a share of it for each host, and a reserve for hosts that are
//! known.

use std::collections::{HashSet, VecDeque};
use std::fmt;

use e2::Host;
use rustix::process::{Resource, getrlimit};
use tracing::warn;

use super::ServerConfig;
use crate::peers::Peers;

/// The reserve of each pool for known hosts: an eighth.
const RESERVE: usize = 8;
/// The most known hosts; beyond it, the one that was learned first is forgotten.
const MAX_KNOWN: usize = 4096;
/// The limits of connections.
pub(super) struct Newcomers {
    percent: usize,
    known: HashSet<Host>,
    /// The same, in the order in which they were learned.
    order: VecDeque<Host>,
}

/// Why a connection is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rejection {
    /// All connections are in use.
    Full { limit: usize },
    /// The host has its share.
    Host { limit: usize },
    /// What is left is reserved for known hosts.
    Reserved { limit: usize },
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rejection::Full { limit } => write!(f, "all {limit} connections are in use"),
            Rejection::Host { limit } => {
                write!(f, "its host has {limit} connections, its share; see `max_host_percent`")
            }
            Rejection::Reserved { limit } => {
                write!(f, "what is left of {limit} connections is reserved for hosts that were connected before")
            }
        }
    }
}

impl Newcomers {
    /// Creates the limits. Reduces those of the configuration if the process may not open so many files.
    pub fn new(config: &mut ServerConfig) -> Self {
        if let Some(files) = getrlimit(Resource::Nofile).current {
            fit(config, files);
        }
        let percent = usize::from(config.controller.max_host_percent.min(100));
        Newcomers { percent, known: HashSet::new(), order: VecDeque::new() }
    }

    /// Returns why a connection of a host is rejected, in a pool of `limit` connections; `is_known` states whether nodes of
    /// the host have set up before.
    pub fn check(&self, peers: &Peers, limit: usize, host: Host, is_known: bool) -> Result<(), Rejection> {
        let of_host = (limit * self.percent / 100).max(1);
        if peers.len() >= limit {
            Err(Rejection::Full { limit })
        } else if peers.of_host(host) >= of_host {
            Err(Rejection::Host { limit: of_host })
        } else if peers.len() + limit / RESERVE >= limit && !is_known && !self.known.contains(&host) {
            Err(Rejection::Reserved { limit })
        } else {
            Ok(())
        }
    }

    /// Records that an xApp of a host has been served for a while.
    pub fn learn(&mut self, host: Host) {
        if !self.known.insert(host) {
            return;
        }
        self.order.push_back(host);
        if self.order.len() > MAX_KNOWN
            && let Some(first) = self.order.pop_front()
        {
            self.known.remove(&first);
        }
    }
}

/// Reduces the pools in proportion, so that together they fit into `files`.
fn fit(config: &mut ServerConfig, files: u64) {
    let room = files.saturating_sub(config.other_files).max(files / 2);
    let ServerConfig { max_connections, max_xapp_connections, max_e42_connections, .. } = config;
    let pools = [max_connections, max_xapp_connections, max_e42_connections];
    let wanted: u64 = pools.iter().map(|pool| **pool as u64).sum();
    if wanted <= room {
        return;
    }
    for pool in pools {
        *pool = ((*pool as u64 * room / wanted) as usize).max(1);
    }
    warn!(
        files,
        nodes = config.max_connections,
        xapps = config.max_xapp_connections,
        e42 = config.max_e42_connections,
        "fewer connections than configured: the limit of open files (ulimit -n) is too low"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pools_fit_into_the_file_descriptors() {
        let mut config = ServerConfig::default();
        fit(&mut config, 20_000);
        assert_eq!(
            (config.max_connections, config.max_xapp_connections, config.max_e42_connections),
            (8192, 1024, 256)
        );
        fit(&mut config, 1024);
        let pools = (config.max_connections, config.max_xapp_connections, config.max_e42_connections);
        assert_eq!(pools, (664, 83, 20));
    }

    #[test]
    fn known_hosts_are_bounded() {
        let mut newcomers = Newcomers { percent: 75, known: HashSet::new(), order: VecDeque::new() };
        for number in 0..5000_u32 {
            newcomers.learn(Host::V4(number.into()));
        }
        assert_eq!((newcomers.known.len(), newcomers.order.len()), (MAX_KNOWN, MAX_KNOWN));
    }
}
