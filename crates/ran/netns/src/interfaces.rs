//! All ends of an emulated RAN: the core's and the UEs'.

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
/// The least that a host of IPv4 takes (RFC 791 3.1), and the most that Ethernet commonly has.
const MTU: RangeInclusive<u16> = 576..=9000;

/// Where programs of the core's side run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Core {
    /// In a namespace of their own.
    #[default]
    Namespace,
    /// Anywhere on the host, whose routes grow by one.
    Host,
}

/// How the ends are set up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// How all names begin: `PREFIX-ue1` and on, `PREFIX-core`, and the devices, `PREFIX0`. 1 to 10 of a-z, 0-9 and '-'.
    /// Default: `ferric`.
    pub prefix: String,
    /// Where programs of the core's side run. Default: in a namespace.
    pub core: Core,
    /// The core's address. Default: 10.45.0.1.
    pub core_address: Ipv4Addr,
    /// How many bits of that address all UEs' have in common: 8 to 30. Default: 16.
    pub subnet_bits: u8,
    /// The UEs' addresses, at most [`Config::MAX_UES`]. Default: 10.45.0.2 alone.
    pub ues: Vec<Ipv4Addr>,
    /// The longest packet in octets, 576 to 9000. Default: 1400, what mobile networks commonly leave of 1500.
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
    /// Most UEs.
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

/// All ends of an emulated RAN. Devices go when their ports are dropped, namespaces when [`Namespaces`] are.
pub struct Interfaces {
    /// The core's end.
    pub core: Port,
    /// The UEs' ends, in the order of their addresses in [`Config::ues`].
    pub ues: Vec<Port>,
    /// Where programs are at these ends. Whoever moves the ports to a thread of their own can keep these.
    pub namespaces: Namespaces,
}

/// Where programs are at the ends of an emulated RAN.
pub struct Namespaces {
    /// The core's side; `None` where that is the host.
    pub core: Option<Namespace>,
    /// The UEs', in the order of their addresses in [`Config::ues`].
    pub ues: Vec<Namespace>,
}

impl Interfaces {
    /// Makes all namespaces and devices, after having removed what programs that died have left behind.
    ///
    /// # Errors
    /// A configuration outside its bounds; names that others have; a host that does not allow it. Then nothing of it is
    /// left.
    pub fn open(config: &Config) -> Result<Interfaces, Error> {
        config.check()?;
        check_host()?;
        if config.core == Core::Host {
            let routes = fs::read_to_string("/proc/net/route").map_err(Error::of_io("read the host's routes"))?;
            if let Some(device) = route_into(&routes, config.core_address, config.subnet_bits) {
                return Err(Error::SubnetTaken { device: device.to_owned() });
            }
        }
        // What was made before something failed is removed after the registry has been let go, which that takes.
        let mut namespaces = Namespaces { core: None, ues: Vec::new() };
        let ports = {
            let registry = Registry::lock()?;
            registry.sweep();
            make(config, &registry, &mut namespaces)
        };
        let (core, ues) = ports?;
        Ok(Interfaces { core, ues, namespaces })
    }
}

fn make(config: &Config, registry: &Registry, namespaces: &mut Namespaces) -> Result<(Port, Vec<Port>), Error> {
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
        namespace.enter(|| tun::take_loopback_up().and_then(|()| tun::make(device)))?
    };
    let for_core = device(*core_address, *subnet_bits, false);
    let core = match config.core {
        Core::Namespace => {
            let namespace = namespaces.core.insert(Namespace::make(registry, &format!("{prefix}-core"))?);
            in_namespace(namespace, &for_core)?
        }
        Core::Host => tun::make(&for_core)?,
    };
    let mut ues = Vec::with_capacity(config.ues.len());
    for (number, address) in (1..).zip(&config.ues) {
        namespaces.ues.push(Namespace::make(registry, &format!("{prefix}-ue{number}"))?);
        let tun = in_namespace(&namespaces.ues[ues.len()], &device(*address, 32, true))?;
        ues.push(Port::new(tun, *address, *mtu));
    }
    Ok((Port::new(core, *core_address, *mtu), ues))
}

/// Whether this host and this user can have such interfaces.
///
/// # Errors
/// What is missing: rights, `/dev/net/tun`, a newer kernel.
pub fn check_host() -> Result<(), Error> {
    let operation = "make network namespaces and devices";
    let rights = capabilities(None).map_err(Error::of(operation))?.effective;
    if !rights.contains(CapabilitySet::NET_ADMIN | CapabilitySet::SYS_ADMIN) {
        return Err(Error::NotRoot { operation });
    }
    namespace::cookie()?;
    tun::look()
}

/// The device over which a host's routes (`/proc/net/route`) lead into a subnet; the default route leads everywhere.
fn route_into(routes: &str, address: Ipv4Addr, bits: u8) -> Option<&str> {
    let mask = !(u32::MAX >> bits);
    let subnet = u32::from(address);
    routes.lines().skip(1).find_map(|line| {
        // octets as the network has them, read as a number of this machine
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
    fn a_configuration_is_held_to_its_bounds() {
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
    fn an_address_is_a_host_s_of_the_subnet_and_one_s_own() {
        let ue = |address: [u8; 4]| config(|c| c.ues.push(address.into()));
        assert!(ue([10, 45, 255, 254]).is_ok());
        for other in
            [[10, 45, 0, 1], [10, 45, 0, 2], [10, 45, 0, 0], [10, 45, 255, 255], [10, 46, 0, 3], [10, 44, 0, 3]]
        {
            assert!(matches!(ue(other), Err(Error::Address(address)) if address == Ipv4Addr::from(other)), "{other:?}");
        }
    }

    #[test]
    fn a_route_into_the_subnet_is_found() {
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
