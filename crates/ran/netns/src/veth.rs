//! Pairs of virtual Ethernet devices: wires between the host and namespaces, or between two namespaces.

use std::net::Ipv4Addr;
use std::os::fd::AsRawFd;

use rustix::io::Errno;

use crate::error::Error;
use crate::interfaces::check_host;
use crate::namespace::Namespace;
use crate::netlink::Netlink;
use crate::records::Registry;
use crate::tun;

/// One end of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End<'a> {
    /// The name of the device, at most 15 octets.
    pub device: &'a str,
    /// Its address.
    pub address: Ipv4Addr,
}

/// Creates namespaces in which only the loopback device is up, after removing those of processes that have died.
///
/// # Errors
/// Names in use; a host without the permissions. Then nothing is left behind.
pub fn create_namespaces(names: &[String]) -> Result<Vec<Namespace>, Error> {
    check_host()?;
    let mut namespaces = Vec::new();
    let result = {
        let registry = Registry::lock()?;
        registry.sweep();
        names.iter().try_for_each(|name| {
            let namespace = Namespace::create(&registry, name)?;
            let is_up = namespace.enter(tun::bring_loopback_up);
            namespaces.push(namespace);
            is_up?
        })
    };
    // namespaces are dropped after the registry's lock, which their removal needs
    result.map(|()| namespaces)
}

/// A pair whose first end is on the host: both devices are removed when this is dropped. A pair between namespaces is removed with
/// one of them.
#[derive(Debug)]
pub struct Veth {
    /// The host's device.
    host_device: Option<u32>,
}

impl Veth {
    /// Connects the host, or the first namespace, with the second namespace. Both devices are up, with addresses in one subnet of
    /// `prefix_bits`.
    ///
    /// # Errors
    /// [`Error::DeviceTaken`]; a host without the permissions. Then nothing is left behind.
    pub fn connect(
        first: Option<&Namespace>,
        second: &Namespace,
        ends: [End<'_>; 2],
        prefix_bits: u8,
    ) -> Result<Veth, Error> {
        let peer = second.file().as_raw_fd();
        let create = || -> Result<u32, Error> {
            let mut netlink = Netlink::new()?;
            netlink.add_veth(ends[0].device, ends[1].device, peer).map_err(|errno| match errno {
                Errno::EXIST => Error::DeviceTaken { name: ends[0].device.to_owned() },
                errno => Error::of("create a pair of network devices")(errno),
            })?;
            netlink.index(ends[0].device)
        };
        let host_device = match first {
            None => Some(create()?),
            Some(namespace) => {
                namespace.enter(create)??;
                None
            }
        };
        // dropped, and so removed, after a failure
        let veth = Veth { host_device };
        let configure = |end: End<'_>| -> Result<(), Error> {
            let mut netlink = Netlink::new()?;
            let device = netlink.index(end.device)?;
            netlink.add_address(device, end.address, prefix_bits)?;
            netlink.bring_up(device, None, None)
        };
        match first {
            None => configure(ends[0])?,
            Some(namespace) => namespace.enter(|| configure(ends[0]))??,
        }
        second.enter(|| configure(ends[1]))??;
        Ok(veth)
    }
}

impl Drop for Veth {
    fn drop(&mut self) {
        if let Some(device) = self.host_device
            && let Ok(mut netlink) = Netlink::new()
        {
            // it is gone already where its namespace is
            let _ = netlink.delete(device);
        }
    }
}
