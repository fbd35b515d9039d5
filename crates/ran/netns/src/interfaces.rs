//! All endpoints of an emulated RAN: the core's and the UEs'.

use std::collections::BTreeSet;
use std::fs;
use std::net::Ipv4Addr;
use std::ops::RangeInclusive;

use rustix::thread::{CapabilitySet, capabilities};

use crate::error::Error;
use crate::namespace::{self, Namespace};
use crate::port::Port;
use crate::records::Registry;
use crate::tun::{self, Device};

const PREFIX_OCTETS: RangeInclusive<usize> = 1..=10;
const SUBNET_BITS: RangeInclusive<u8> = 8..=30;
/// The least that an IPv4 host accepts (RFC 791 3.1), and the largest common MTU of Ethernet.
const MTU: RangeInclusive<u16> = 576..=9000;

/// Where programs on the core side run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Core {
    /// In a namespace.
    #[default]
    Namespace,
    /// On the host, which gets a route to the UEs.
    Host,
}

/// The configuration of the endpoints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The prefix of all names: the namespaces `PREFIX-ue1` and on, `PREFIX-core`, and the devices, `PREFIX0`. 1 to 10
    /// characters of a-z, 0-9 and '-'. Default: `ferric`.
    pub prefix: String,
    /// Where programs on the core side run. Default: in a namespace.
    pub core: Core,
    /// The core's address. Default: 10.45.0.1.
    pub core_address: Ipv4Addr,
    /// The prefix length of the subnet of that address and all UEs' addresses: 8 to 30. Default: 16.
    pub subnet_bits: u8,
    /// The UEs' addresses, at most [`Config::MAX_UES`]. Default: 10.45.0.2 alone.
    pub ues: Vec<Ipv4Addr>,
    /// The longest packet in octets, 576 to 9000. Default: 1400, as in mobile networks, whose headers take some of 1500.
    pub mtu: u16,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            prefix: "ferric".to_owned(),
            core: Core::default(),
            core_address: Ipv4Addr::new(10, 45, 0, 1),
            subnet_bits: 16,
            ues: vec![Ipv4Addr::new(10, 45, 0, 2)],
            mtu: 1400,
        }
    }
}

impl Config {
    /// The most UEs.
    pub const MAX_UES: usize = 256;

    fn check(&self) -> Result<(), Error> {
        let is_plain = |octet: u8| octet.is_ascii_lowercase() || octet.is_ascii_digit() || octet == b'-';
        if !PREFIX_OCTETS.contains(&self.prefix.len()) || !self.prefix.bytes().all(is_plain) {
            return Err(Error::Prefix);
        }
        if !MTU.contains(&self.mtu) {
            return Err(Error::Mtu);
        }
        if !(1..=Self::MAX_UES).contains(&self.ues.len()) {
            return Err(Error::Ues);
        }
        if !SUBNET_BITS.contains(&self.subnet_bits) {
            return Err(Error::Subnet);
        }
        let hosts = u32::MAX >> self.subnet_bits;
        let subnet = u32::from(self.core_address) & !hosts;
        let mut known = BTreeSet::new();
        for address in [&self.core_address].into_iter().chain(&self.ues) {
            let host = u32::from(*address).wrapping_sub(subnet);
            if !(1..hosts).contains(&host) || !known.insert(host) {
                return Err(Error::Address(*address));
            }
        }
        Ok(())
    }
}

/// All endpoints of an emulated RAN. Devices are removed when their ports are dropped, namespaces with [`Namespaces`].
pub struct Interfaces {
    /// The core's endpoint.
    pub core: Port,
    /// The UEs' endpoints, in the order of their addresses in [`Config::ues`].
    pub ues: Vec<Port>,
    /// The namespaces of these endpoints. They can stay on another thread than the ports.
    pub namespaces: Namespaces,
}

/// The namespaces of an emulated RAN.
pub struct Namespaces {
    /// The core's; `None` if the core is the host.
    pub core: Option<Namespace>,
    /// The UEs', in the order of their addresses in [`Config::ues`].
    pub ues: Vec<Namespace>,
}

impl Interfaces {
    /// Creates all namespaces and devices, after removing those of processes that have died.
    ///
    /// # Errors
    /// An invalid configuration; names in use; a host without the permissions or devices. Then nothing is left behind.
    pub fn open(config: &Config) -> Result<Interfaces, Error> {
        config.check()?;
        check_host()?;
        if config.core == Core::Host {
            let routes = fs::read_to_string("/proc/net/route").map_err(Error::of_io("read the host's routes"))?;
            if let Some(device) = route_into(&routes, config.core_address, config.subnet_bits) {
                return Err(Error::SubnetTaken { device: device.to_owned() });
            }
        }
        // If creation fails halfway, the namespaces are dropped after the registry's lock, which their removal needs.
        let mut namespaces = Namespaces { core: None, ues: Vec::new() };
        let ports = {
            let registry = Registry::lock()?;
            registry.sweep();
            create(config, &registry, &mut namespaces)
        };
        let (core, ues) = ports?;
        Ok(Interfaces { core, ues, namespaces })
    }
}

fn create(config: &Config, registry: &Registry, namespaces: &mut Namespaces) -> Result<(Port, Vec<Port>), Error> {
    let Config { prefix, core_address, subnet_bits, mtu, .. } = config;
    let name = format!("{prefix}0");
    let device = |address, prefix_bits, is_default_route| Device {
        name: &name,
        address,
        prefix_bits,
        is_default_route,
        mtu: *mtu,
    };
    let in_namespace = |namespace: &Namespace, device: &Device<'_>| {
        namespace.enter(|| tun::bring_loopback_up().and_then(|()| tun::create(device)))?
    };
    let for_core = device(*core_address, *subnet_bits, false);
    let core = match config.core {
        Core::Namespace => {
            let namespace = namespaces.core.insert(Namespace::create(registry, &format!("{prefix}-core"))?);
            in_namespace(namespace, &for_core)?
        }
        Core::Host => tun::create(&for_core)?,
    };
    let mut ues = Vec::with_capacity(config.ues.len());
    for (number, address) in (1..).zip(&config.ues) {
        namespaces.ues.push(Namespace::create(registry, &format!("{prefix}-ue{number}"))?);
        let tun = in_namespace(&namespaces.ues[ues.len()], &device(*address, 32, true))?;
        ues.push(Port::new(tun, *address, *mtu));
    }
    Ok((Port::new(core, *core_address, *mtu), ues))
}

/// Checks that this host and user can create such interfaces.
///
/// # Errors
/// What is missing: permissions, `/dev/net/tun`, a newer kernel.
pub fn check_host() -> Result<(), Error> {
    let operation = "create network namespaces and devices";
    let rights = capabilities(None).map_err(Error::of(operation))?.effective;
    if !rights.contains(CapabilitySet::NET_ADMIN | CapabilitySet::SYS_ADMIN) {
        return Err(Error::NotRoot { operation });
    }
    namespace::cookie()?;
    tun::check()
}

/// The device of a route into a subnet in a host's routing table (`/proc/net/route`), other than the default route.
fn route_into(routes: &str, address: Ipv4Addr, bits: u8) -> Option<&str> {
    let mask = !(u32::MAX >> bits);
    let subnet = u32::from(address);
    routes.lines().skip(1).find_map(|line| {
        // octets in network order, printed as a number of this machine
        let number = |word: &str| u32::from_str_radix(word, 16).ok().map(u32::to_be);
        let mut words = line.split_whitespace();
        let device = words.next()?;
        let (to, of) = (number(words.next()?)?, number(words.nth(5)?)?);
        (of != 0 && (to ^ subnet) & of & mask == 0).then_some(device)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(change: impl FnOnce(&mut Config)) -> Result<(), Error> {
        let mut config = Config::default();
        change(&mut config);
        config.check()
    }

    #[test]
    fn configuration_is_checked() {
        assert!(config(|_| {}).is_ok());
        for prefix in ["", "Ferric", "a/b", "../x", "a b", "elevenchars", "é"] {
            assert!(matches!(config(|c| c.prefix = prefix.to_owned()), Err(Error::Prefix)), "{prefix}");
        }
        assert!(config(|c| c.prefix = "tencharsab".to_owned()).is_ok());
        for mtu in [0, 575, 9001] {
            assert!(matches!(config(|c| c.mtu = mtu), Err(Error::Mtu)));
        }
        for bits in [0, 7, 31, 32, 255] {
            assert!(matches!(config(|c| c.subnet_bits = bits), Err(Error::Subnet)));
        }
        assert!(matches!(config(|c| c.ues.clear()), Err(Error::Ues)));
        let many = |c: &mut Config| c.ues = (0..257).map(|n| Ipv4Addr::from(0x0a2d_0100 + n)).collect();
        assert!(matches!(config(many), Err(Error::Ues)));
    }

    #[test]
    fn addresses_are_unique_hosts_of_the_subnet() {
        let ue = |address: [u8; 4]| config(|c| c.ues.push(address.into()));
        assert!(ue([10, 45, 255, 254]).is_ok());
        for other in
            [[10, 45, 0, 1], [10, 45, 0, 2], [10, 45, 0, 0], [10, 45, 255, 255], [10, 46, 0, 3], [10, 44, 0, 3]]
        {
            assert!(matches!(ue(other), Err(Error::Address(address)) if address == Ipv4Addr::from(other)), "{other:?}");
        }
    }

    #[test]
    fn route_into_the_subnet_is_found() {
        let table = |to: [u8; 4], mask: [u8; 4]| {
            let number = |octets: [u8; 4]| u32::from_ne_bytes(octets);
            format!(
                "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n\
                 eth0\t00000000\t0100A8C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n\
                 eth1\t{:08X}\t00000000\t0001\t0\t0\t0\t{:08X}\t0\t0\t0\n",
                number(to),
                number(mask)
            )
        };
        let found = |to, mask| route_into(&table(to, mask), Ipv4Addr::new(10, 45, 0, 1), 16).is_some();
        assert!(found([10, 45, 0, 0], [255, 255, 0, 0]));
        assert!(found([10, 45, 7, 0], [255, 255, 255, 0]));
        assert!(found([10, 0, 0, 0], [255, 0, 0, 0]));
        assert!(!found([10, 46, 0, 0], [255, 255, 0, 0]));
        assert!(!found([192, 168, 0, 0], [255, 255, 0, 0]));
        assert_eq!(route_into("nonsense\neth0\neth0 x y\n", Ipv4Addr::new(10, 45, 0, 1), 16), None);
    }
}
