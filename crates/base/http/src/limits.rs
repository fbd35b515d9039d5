//! The number of connections, in total and per host.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::net::IpAddr;
use std::rc::Rc;

/// The bounds on connections, and the connections that exist.
#[derive(Debug)]
pub(super) struct ConnectionLimits {
    max: usize,
    max_of_host: usize,
    count: Cell<usize>,
    /// Hosts with at least one connection.
    of_hosts: RefCell<HashMap<IpAddr, usize>>,
}

/// The permission for one connection. It is returned on drop.
#[derive(Debug)]
pub(super) struct ConnectionPermit {
    limits: Rc<ConnectionLimits>,
    host: IpAddr,
}

impl ConnectionLimits {
    pub fn new(max: usize, max_of_host: usize) -> Rc<Self> {
        Rc::new(ConnectionLimits { max, max_of_host, count: Cell::default(), of_hosts: RefCell::default() })
    }

    /// Permits a connection of a host, or returns the reason why not.
    pub fn acquire(self: &Rc<Self>, host: IpAddr) -> Result<ConnectionPermit, &'static str> {
        let host = host.to_canonical();
        let mut of_hosts = self.of_hosts.borrow_mut();
        if self.count.get() >= self.max {
            return Err("too many connections; try again later");
        }
        let of_host = of_hosts.get(&host).copied().unwrap_or_default();
        if of_host >= self.max_of_host {
            return Err("too many connections of this host; close some, or try again later");
        }
        of_hosts.insert(host, of_host + 1);
        self.count.update(|count| count + 1);
        Ok(ConnectionPermit { limits: Rc::clone(self), host })
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        let mut of_hosts = self.limits.of_hosts.borrow_mut();
        self.limits.count.update(|count| count - 1);
        if let Some(of_host) = of_hosts.get_mut(&self.host) {
            *of_host -= 1;
            if *of_host == 0 {
                of_hosts.remove(&self.host);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_host_cannot_take_all_connections() {
        let limits = ConnectionLimits::new(3, 2);
        let host = |text: &str| text.parse::<IpAddr>().unwrap();
        let first = limits.acquire(host("192.0.2.1")).unwrap();
        let second = limits.acquire(host("::ffff:192.0.2.1")).unwrap();
        assert!(limits.acquire(host("192.0.2.1")).unwrap_err().contains("of this host"));
        let other = limits.acquire(host("2001:db8::1")).unwrap();
        assert!(limits.acquire(host("2001:db8::2")).unwrap_err().contains("too many connections;"));
        drop(second);
        assert!(limits.acquire(host("192.0.2.1")).is_ok());
        drop((first, other));
        assert_eq!((limits.count.get(), limits.of_hosts.borrow().len()), (0, 0));
    }
}
