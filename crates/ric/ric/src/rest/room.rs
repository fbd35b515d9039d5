//! How many connections there may be, and of one host.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::net::IpAddr;
use std::rc::Rc;

/// Places for connections.
#[derive(Debug)]
pub(super) struct Room {
    max: usize,
    max_of_host: usize,
    taken: Cell<usize>,
    /// Hosts that have some; no more of them than connections.
    of_hosts: RefCell<HashMap<IpAddr, usize>>,
}

/// A place, until it is dropped.
#[derive(Debug)]
pub(super) struct Place {
    room: Rc<Room>,
    host: IpAddr,
}

impl Room {
    pub fn new(max: usize, max_of_host: usize) -> Rc<Self> {
        Rc::new(Room { max, max_of_host, taken: Cell::default(), of_hosts: RefCell::default() })
    }

    /// A place for a host's connection, or why there is none.
    pub fn take(self: &Rc<Self>, host: IpAddr) -> Result<Place, &'static str> {
        let host = host.to_canonical();
        let mut of_hosts = self.of_hosts.borrow_mut();
        if self.taken.get() >= self.max {
            return Err("too many connections; come again later");
        }
        let of_host = of_hosts.get(&host).copied().unwrap_or_default();
        if of_host >= self.max_of_host {
            return Err("too many connections of this host; end some, or come again later");
        }
        of_hosts.insert(host, of_host + 1);
        self.taken.update(|taken| taken + 1);
        Ok(Place { room: Rc::clone(self), host })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut of_hosts = self.room.of_hosts.borrow_mut();
        self.room.taken.update(|taken| taken - 1);
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
    fn one_host_leaves_room_for_others() {
        let room = Room::new(3, 2);
        let host = |text: &str| text.parse::<IpAddr>().unwrap();
        let first = room.take(host("192.0.2.1")).unwrap();
        let second = room.take(host("::ffff:192.0.2.1")).unwrap();
        assert!(room.take(host("192.0.2.1")).unwrap_err().contains("of this host"));
        let other = room.take(host("2001:db8::1")).unwrap();
        assert!(room.take(host("2001:db8::2")).unwrap_err().contains("too many connections;"));
        drop(second);
        assert!(room.take(host("192.0.2.1")).is_ok());
        drop((first, other));
        assert_eq!((room.taken.get(), room.of_hosts.borrow().len()), (0, 0));
    }
}
