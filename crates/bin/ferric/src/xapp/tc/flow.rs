//! A flow as command-line arguments.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use anyhow::bail;
use e2sm::tc::FiveTuple;

/// The flow to protect: its 5-tuple. An omitted part matches anything.
#[derive(Clone, Debug, clap::Args)]
pub struct FlowArgs {
    /// Protocol of the flow: udp, tcp, icmp or a number.
    #[arg(long, value_name = "NAME")]
    protocol: Option<Protocol>,
    /// Source of the flow: ADDRESS, ADDRESS:PORT or :PORT (IPv4).
    #[arg(long, value_name = "ADDRESS:PORT")]
    source: Option<End>,
    /// Destination of the flow, in the same form.
    #[arg(long, value_name = "ADDRESS:PORT")]
    destination: Option<End>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Protocol(u8);

impl FromStr for Protocol {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Protocol(match text {
            "icmp" => 1,
            "tcp" => 6,
            "udp" => 17,
            number => number.parse().map_err(|_| "not udp, tcp, icmp or a number from 0 to 255")?,
        }))
    }
}

/// One end of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct End {
    address: Option<u32>,
    port: Option<u16>,
}

impl FromStr for End {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const FORM: &str = "not ADDRESS, ADDRESS:PORT or :PORT, such as 10.0.0.2:5060";
        if text.trim_matches(['[', ']']).split("]:").next().is_some_and(|text| text.parse::<Ipv6Addr>().is_ok()) {
            return Err("TC filters support IPv4 addresses only");
        }
        let (address, port) = match text.rsplit_once(':') {
            Some((address, port)) => (address, Some(port.parse().map_err(|_| FORM)?)),
            None => (text, None),
        };
        let address = match address {
            "" if port.is_some() => None,
            address => Some(u32::from(address.parse::<Ipv4Addr>().map_err(|_| FORM)?)),
        };
        Ok(End { address, port })
    }
}

impl FlowArgs {
    /// The 5-tuple. `has_ue`: the flow is that of a UE, whose address is not known yet.
    pub fn flow(&self, has_ue: bool) -> anyhow::Result<FiveTuple> {
        let (source, destination) = (self.source.unwrap_or_default(), self.destination.unwrap_or_default());
        let flow = FiveTuple {
            source_address: source.address,
            destination_address: destination.address,
            source_port: source.port,
            destination_port: destination.port,
            protocol: self.protocol.map(|protocol| protocol.0),
        };
        if flow == FiveTuple::default() && !has_ue {
            bail!("no flow is given: use --protocol, --source, --destination or --ue");
        }
        Ok(flow)
    }
}

/// The flow to a UE with this address: packets to it, unless the flow has addresses of its own.
pub fn to_ue(flow: FiveTuple, address: Option<Ipv4Addr>) -> FiveTuple {
    let has_addresses = flow.source_address.is_some() || flow.destination_address.is_some();
    let destination_address = address.map(u32::from).filter(|_| !has_addresses);
    FiveTuple { destination_address: destination_address.or(flow.destination_address), ..flow }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn end_is_parsed() {
        let end = |text: &str| text.parse::<End>();
        let address = Some(0x0A00_0002);
        assert_eq!(end("10.0.0.2:5060"), Ok(End { address, port: Some(5060) }));
        assert_eq!(end("10.0.0.2"), Ok(End { address, port: None }));
        assert_eq!(end(":53"), Ok(End { address: None, port: Some(53) }));
        for wrong in ["", ":", "10.0.0", "10.0.0.2:", "10.0.0.2:65536", "host:1", "10.0.0.2:1:2"] {
            assert!(end(wrong).unwrap_err().contains("such as 10.0.0.2:5060"), "{wrong}");
        }
        for six in ["::1", "[::1]:53", "2001:db8::5"] {
            assert_eq!(end(six), Err("TC filters support IPv4 addresses only"), "{six}");
        }
    }

    #[test]
    fn flow_of_a_ue_has_its_address_unless_it_has_one() {
        let voice = FiveTuple { protocol: Some(17), destination_port: Some(5060), ..FiveTuple::default() };
        let address = Some(Ipv4Addr::new(10, 45, 0, 2));
        let to = |flow| to_ue(flow, address).destination_address;
        assert_eq!(to(voice), Some(0x0A2D_0002));
        assert_eq!(
            to(FiveTuple { source_address: Some(1), ..voice }),
            None,
            "packets from an address, of any destination"
        );
        assert_eq!(to(FiveTuple { destination_address: Some(1), ..voice }), Some(1));
        assert_eq!(to_ue(voice, None), voice);
    }

    #[test]
    fn protocol_is_parsed() {
        assert_eq!(("udp".parse(), "6".parse()), (Ok(Protocol(17)), Ok(Protocol(6))));
        assert!("256".parse::<Protocol>().is_err() && "quic".parse::<Protocol>().is_err());
    }
}
