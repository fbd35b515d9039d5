//! Transport network layer addresses (E2AP v03.01 9.2.29).

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use per::{BitString, Bits, Per};

use super::Cause;
use crate::items::item;

/// An address and port of the transport network layer.
#[derive(Clone, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
pub struct TnlInformation<'a> {
    /// IPv4 (32 bits), IPv6 (128), or IPv4 then IPv6 (160).
    #[per(size = 1..=160, extensible)]
    pub address: BitString<'a>,
    /// Port.
    #[per(size = 16..=16)]
    pub port: Option<Bits>,
}

impl TnlInformation<'_> {
    /// Returns an address with a port; without one, E2's default port applies.
    #[must_use]
    pub fn new(address: IpAddr, port: Option<u16>) -> TnlInformation<'static> {
        let address = match address {
            IpAddr::V4(address) => BitString::new(u32::from(address).into(), 32),
            IpAddr::V6(address) => BitString::Long { octets: address.octets().to_vec().into(), count: 128 },
        };
        TnlInformation { address, port: port.map(|port| Bits::new(port.into(), 16)) }
    }

    /// Returns the addresses: IPv4, IPv6, or both (TS 38.414); neither if the length is different.
    #[must_use]
    pub fn addresses(&self) -> (Option<Ipv4Addr>, Option<Ipv6Addr>) {
        let octets = self.address.to_octets();
        let (v4, v6) = match self.address.len() {
            32 => (octets.as_slice(), &[][..]),
            128 => (&[][..], octets.as_slice()),
            160 => octets.split_at(4),
            _ => return (None, None),
        };
        let v4 = v4.first_chunk::<4>().map(|octets| Ipv4Addr::from(*octets));
        (v4, v6.first_chunk::<16>().map(|octets| Ipv6Addr::from(*octets)))
    }

    /// Returns the port number, if present.
    #[must_use]
    pub fn port_number(&self) -> Option<u16> {
        self.port.map(|port| port.value as u16) // 16 bits
    }
}

/// TNL Usage: the purpose of an association.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum TnlUsage {
    /// RIC services.
    RicService,
    /// Support functions.
    SupportFunction,
    /// Both.
    Both,
}

/// An association to be added or modified.
#[derive(Clone, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
pub struct E2ConnectionUpdateItem<'a> {
    /// The address.
    pub tnl_information: TnlInformation<'a>,
    /// The purpose.
    pub tnl_usage: TnlUsage,
}
item!(E2ConnectionUpdateItem<'a>: 43 Ignore 1..=32);

/// An association to be removed.
#[derive(Clone, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
pub struct E2ConnectionUpdateRemoveItem<'a> {
    /// The address.
    pub tnl_information: TnlInformation<'a>,
}
item!(E2ConnectionUpdateRemoveItem<'a>: 47 Ignore 1..=32);

/// An association that failed to be set up.
#[derive(Clone, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
pub struct E2ConnectionSetupFailedItem<'a> {
    /// The address.
    pub tnl_information: TnlInformation<'a>,
    /// The cause.
    pub cause: Cause,
}
item!(E2ConnectionSetupFailedItem<'a>: 41 Ignore 1..=32);

/// An association that the node removed.
#[derive(Clone, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
pub struct E2NodeTnlAssociationRemovalItem<'a> {
    /// The address of the node.
    pub tnl_information: TnlInformation<'a>,
    /// The address of the RIC.
    pub tnl_information_ric: TnlInformation<'a>,
}
item!(E2NodeTnlAssociationRemovalItem<'a>: 59 Reject 1..=32);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_survive_encoding_and_decoding() {
        let v4 = TnlInformation::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 7)), Some(36421));
        assert_eq!(v4.addresses(), (Some(Ipv4Addr::new(10, 0, 0, 7)), None));
        assert_eq!(v4.port_number(), Some(36421));
        let v6 = TnlInformation::new(IpAddr::V6(Ipv6Addr::LOCALHOST), None);
        assert_eq!((v6.addresses(), v6.port_number()), ((None, Some(Ipv6Addr::LOCALHOST)), None));
        let octets: Vec<u8> = [127, 0, 0, 1].into_iter().chain(Ipv6Addr::LOCALHOST.octets()).collect();
        let both = TnlInformation { address: BitString::Long { octets: octets.into(), count: 160 }, port: None };
        assert_eq!(both.addresses(), (Some(Ipv4Addr::LOCALHOST), Some(Ipv6Addr::LOCALHOST)));
        let other = TnlInformation { address: BitString::new(1, 7), port: None };
        assert_eq!(other.addresses(), (None, None));
    }
}
