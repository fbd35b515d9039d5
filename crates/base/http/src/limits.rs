//! What hosts may have open at a time: connections, and streams.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet, VecDeque};
use std::net::IpAddr;
use std::rc::Rc;

/// The part of a pool that is reserved for known hosts: an eighth.
const RESERVE: usize = 8;
/// The most known hosts; beyond it, the one that was learned first is forgotten.
const MAX_KNOWN: usize = 4096;

/// A pool of connections or streams: its bounds, and what is in use.
#[derive(Debug)]
pub(super) struct Pool {
    /// What is counted, for messages: `connections`.
    what: &'static str,
    max: usize,
    max_of_host: usize,
    count: Cell<usize>,
    /// Hosts that use the pool.
    of_hosts: RefCell<HashMap<IpAddr, usize>>,
}

/// The permission for one connection or stream. It is returned on drop.
#[derive(Debug)]
pub(super) struct Permit {
    pool: Rc<Pool>,
    host: IpAddr,
}

impl Pool {
    /// Creates a pool of which one host may have `host_percent`.
    pub fn new(what: &'static str, max: usize, host_percent: u8) -> Rc<Self> {
        let max_of_host = (max * usize::from(host_percent.min(100)) / 100).max(1);
        Rc::new(Pool { what, max, max_of_host, count: Cell::default(), of_hosts: RefCell::default() })
    }

    /// Permits a connection or stream of a host, or returns the reason why not. What is left of the pool at last is for known
    /// hosts.
    pub fn acquire(self: &Rc<Self>, host: IpAddr, is_known: bool) -> Result<Permit, String> {
        let Pool { what, max, max_of_host, .. } = **self;
        let host = host.to_canonical();
        let mut of_hosts = self.of_hosts.borrow_mut();
        if self.count.get() >= max {
            return Err(format!("too many {what}: all {max} are in use; try again later"));
        }
        let of_host = of_hosts.get(&host).copied().unwrap_or_default();
        if of_host >= max_of_host {
            return Err(format!("too many {what} of this host, which may have {max_of_host}; close some"));
        }
        if self.count.get() + max / RESERVE >= max && !is_known {
            return Err(format!(
                "too many {what}: what is left of {max} is reserved for hosts that were served before"
            ));
        }
        of_hosts.insert(host, of_host + 1);
        self.count.update(|count| count + 1);
        Ok(Permit { pool: Rc::clone(self), host })
    }

    /// The number that is in use.
    pub fn in_use(&self) -> usize {
        self.count.get()
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut of_hosts = self.pool.of_hosts.borrow_mut();
        self.pool.count.update(|count| count - 1);
        if let Some(of_host) = of_hosts.get_mut(&self.host) {
            *of_host -= 1;
            if *of_host == 0 {
                of_hosts.remove(&self.host);
            }
        }
    }
}

/// Hosts that were served before: for these is the reserve of each pool.
#[derive(Debug, Default)]
pub(super) struct KnownHosts {
    hosts: HashSet<IpAddr>,
    /// The same, in the order in which they were learned.
    order: VecDeque<IpAddr>,
}

impl KnownHosts {
    pub fn contains(&self, host: IpAddr) -> bool {
        self.hosts.contains(&host.to_canonical())
    }

    /// Records that a host was served with success.
    pub fn learn(&mut self, host: IpAddr) {
        let host = host.to_canonical();
        if !self.hosts.insert(host) {
            return;
        }
        self.order.push_back(host);
        if self.order.len() > MAX_KNOWN
            && let Some(first) = self.order.pop_front()
        {
            self.hosts.remove(&first);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn one_host_cannot_take_all_connections() {
        let limits = Pool::new("connections", 4, 50);
        let first = limits.acquire(host("192.0.2.1"), false).unwrap();
        let second = limits.acquire(host("::ffff:192.0.2.1"), false).unwrap();
        assert!(limits.acquire(host("192.0.2.1"), false).unwrap_err().contains("of this host"));
        let other = limits.acquire(host("2001:db8::1"), false).unwrap();
        let third = limits.acquire(host("2001:db8::2"), false).unwrap();
        assert!(limits.acquire(host("2001:db8::3"), false).unwrap_err().contains("all 4 are in use"));
        drop(second);
        assert!(limits.acquire(host("192.0.2.1"), false).is_ok());
        drop((first, other, third));
        assert_eq!((limits.in_use(), limits.of_hosts.borrow().len()), (0, 0));
    }

    #[test]
    fn last_eighth_is_for_known_hosts() {
        let limits = Pool::new("connections", 16, 100);
        let taken: Vec<_> = (0..14).map(|_| limits.acquire(host("192.0.2.1"), false).unwrap()).collect();
        assert!(limits.acquire(host("192.0.2.2"), false).unwrap_err().contains("reserved"));
        let known = limits.acquire(host("192.0.2.2"), true).unwrap();
        drop((taken, known));
    }

    #[test]
    fn known_hosts_are_bounded() {
        let mut known = KnownHosts::default();
        for number in 0..5000_u32 {
            known.learn(IpAddr::V4(number.into()));
        }
        assert_eq!((known.hosts.len(), known.order.len()), (MAX_KNOWN, MAX_KNOWN));
        assert!(known.contains(host("::ffff:0.0.19.135")) && !known.contains(host("0.0.0.1")));
    }
}
