//! The host that a peer is on, as a key of shares.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The host of a peer. Peers of one host share what is left to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Host {
    /// This host, by other means than IP: a Unix socket, shared memory.
    Local,
    /// An IPv4 address; also one that is mapped to IPv6.
    V4(Ipv4Addr),
    /// The first 64 bits of an IPv6 address: a host can choose the others freely (RFC 4291 2.5.1).
    V6(u64),
    /// Not known, or no particular one.
    Unknown,
}

impl From<IpAddr> for Host {
    fn from(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(address) => Host::V4(address),
            IpAddr::V6(address) => Host::V6((address.to_bits() >> 64) as u64),
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Host::Local => f.write_str("this host"),
            Host::V4(address) => write!(f, "{address}"),
            Host::V6(prefix) => write!(f, "{}/64", Ipv6Addr::from_bits(u128::from(*prefix) << 64)),
            Host::Unknown => f.write_str("unknown host"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_is_an_ipv4_address_or_the_network_of_an_ipv6_address() {
        let host = |text: &str| Host::from(text.parse::<IpAddr>().unwrap()).to_string();
        assert_eq!(host("192.0.2.7"), "192.0.2.7");
        assert_eq!(host("::ffff:192.0.2.7"), "192.0.2.7");
        assert_eq!(host("2001:db8:1:2::7"), "2001:db8:1:2::/64");
        assert_eq!(host("2001:db8:1:2:ffff::1"), "2001:db8:1:2::/64");
        assert_ne!(host("2001:db8:1:3::7"), "2001:db8:1:2::/64");
    }
}
