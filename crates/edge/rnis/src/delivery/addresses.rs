//! What an IP address is for: whether it may lead into the network of the service.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What an address is for (IANA's registries of special-purpose addresses, RFC 6890).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// It is globally reachable.
    Public,
    /// It is of a private network: RFC 1918, RFC 4193, and the shared addresses of RFC 6598.
    Private,
    /// It is of this host, of this link, of a group, or of no host.
    Inner,
}

/// IPv4 networks that are not public: address, length, scope.
const IPV4: [(Ipv4Addr, u8, Scope); 14] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8, Scope::Inner),
    (Ipv4Addr::new(10, 0, 0, 0), 8, Scope::Private),
    (Ipv4Addr::new(100, 64, 0, 0), 10, Scope::Private),
    (Ipv4Addr::new(127, 0, 0, 0), 8, Scope::Inner),
    (Ipv4Addr::new(169, 254, 0, 0), 16, Scope::Inner),
    (Ipv4Addr::new(172, 16, 0, 0), 12, Scope::Private),
    (Ipv4Addr::new(192, 0, 0, 0), 24, Scope::Inner),
    (Ipv4Addr::new(192, 0, 2, 0), 24, Scope::Inner),
    (Ipv4Addr::new(192, 88, 99, 0), 24, Scope::Inner),
    (Ipv4Addr::new(192, 168, 0, 0), 16, Scope::Private),
    (Ipv4Addr::new(198, 18, 0, 0), 15, Scope::Inner),
    (Ipv4Addr::new(198, 51, 100, 0), 24, Scope::Inner),
    (Ipv4Addr::new(203, 0, 113, 0), 24, Scope::Inner),
    // multicast, reserved, broadcast
    (Ipv4Addr::new(224, 0, 0, 0), 3, Scope::Inner),
];

/// Networks within the global unicast addresses of IPv6, 2000::/3, that are not public: address, length.
const IPV6: [(Ipv6Addr, u8); 4] = [
    // IETF protocol assignments, with Teredo
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32),
    // 6to4: any IPv4 address may be in it
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20),
];
const GLOBAL_UNICAST: (Ipv6Addr, u8) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);
const UNIQUE_LOCAL: (Ipv6Addr, u8) = (Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0), 7);
/// The prefix by which IPv4 is reached over IPv6 (RFC 6052 2.1).
const NAT64: (Ipv6Addr, u8) = (Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0), 96);

/// Whether an address is in a network.
pub fn contains(network: IpAddr, length: u8, address: IpAddr) -> bool {
    match (network, address) {
        (IpAddr::V4(network), IpAddr::V4(address)) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(length)).unwrap_or(0);
            network.to_bits() & mask == address.to_bits() & mask
        }
        (IpAddr::V6(network), IpAddr::V6(address)) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(length)).unwrap_or(0);
            network.to_bits() & mask == address.to_bits() & mask
        }
        _ => false,
    }
}

impl Scope {
    /// The scope of an address. An IPv4 address that is mapped to IPv6, or reached by NAT64, has its own scope.
    pub fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(address) => {
                let is_in = |(network, length, _): &&(Ipv4Addr, u8, Scope)| {
                    contains(IpAddr::V4(*network), *length, IpAddr::V4(address))
                };
                IPV4.iter().find(is_in).map_or(Scope::Public, |(_, _, scope)| *scope)
            }
            IpAddr::V6(address) => {
                let is_in =
                    |(network, length): (Ipv6Addr, u8)| contains(IpAddr::V6(network), length, IpAddr::V6(address));
                if is_in(NAT64) {
                    let [.., a, b, c, d] = address.octets();
                    // a translator into a private network is a way into it
                    return match Scope::of(IpAddr::from([a, b, c, d])) {
                        Scope::Public => Scope::Public,
                        Scope::Private | Scope::Inner => Scope::Inner,
                    };
                }
                if is_in(UNIQUE_LOCAL) {
                    return Scope::Private;
                }
                let is_public = is_in(GLOBAL_UNICAST) && !IPV6.into_iter().any(is_in);
                if is_public { Scope::Public } else { Scope::Inner }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_addresses_are_not_public() {
        for (scope, addresses) in [
            (
                Scope::Public,
                &[
                    "1.1.1.1",
                    "100.63.255.255",
                    "100.128.0.0",
                    "172.15.0.1",
                    "172.32.0.1",
                    "198.20.0.1",
                    "223.255.255.255",
                    "2606:4700::1",
                    "2001:4860::1",
                    "::ffff:1.1.1.1",
                    "64:ff9b::101:101",
                ][..],
            ),
            (
                Scope::Private,
                &[
                    "10.0.0.1",
                    "100.64.0.1",
                    "100.127.255.255",
                    "172.16.0.1",
                    "172.31.255.255",
                    "192.168.1.1",
                    "fc00::1",
                    "fdff::1",
                    "::ffff:10.0.0.1",
                ],
            ),
            (
                Scope::Inner,
                &[
                    "0.0.0.0",
                    "0.1.2.3",
                    "127.0.0.1",
                    "127.255.255.255",
                    "169.254.169.254",
                    "192.0.0.8",
                    "192.0.2.1",
                    "192.88.99.1",
                    "198.18.0.1",
                    "198.19.255.255",
                    "198.51.100.1",
                    "203.0.113.1",
                    "224.0.0.1",
                    "239.1.1.1",
                    "240.0.0.1",
                    "255.255.255.255",
                    "::",
                    "::1",
                    "::7f00:1",
                    "::ffff:127.0.0.1",
                    "::ffff:169.254.169.254",
                    "64:ff9b::7f00:1",
                    "64:ff9b::a00:1",
                    "64:ff9b:1::1",
                    "100::1",
                    "2001::1",
                    "2001:db8::1",
                    "2002:7f00:1::",
                    "3fff::1",
                    "5f00::1",
                    "fe80::1",
                    "fec0::1",
                    "ff02::1",
                ],
            ),
        ] {
            for address in addresses {
                assert_eq!(Scope::of(address.parse().unwrap()), scope, "{address}");
            }
        }
    }

    #[test]
    fn network_of_any_length_contains_its_addresses() {
        let is_in =
            |network: &str, length, address: &str| contains(network.parse().unwrap(), length, address.parse().unwrap());
        assert!(is_in("0.0.0.0", 0, "255.1.1.1") && is_in("::", 0, "ff::1") && is_in("10.0.0.1", 32, "10.0.0.1"));
        assert!(!is_in("10.0.0.1", 32, "10.0.0.2") && !is_in("0.0.0.0", 0, "::1") && !is_in("::1", 128, "::2"));
    }
}
