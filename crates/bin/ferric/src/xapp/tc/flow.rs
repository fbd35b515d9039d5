//! A flow, as it is given by hand.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use anyhow::bail;
use e2sm::tc::FiveTuple;

/// The flow that must not wait: its 5-tuple, of which what is left out may be anything.
#[derive(Clone, Debug, clap::Args)]
pub struct FlowArgs {
    /// The flow's protocol: udp, tcp, icmp, or a number.
    #[arg(long, value_name = "NAME")]
    protocol: Option<Protocol>,
    /// Where its packets come from: ADDRESS, ADDRESS:PORT or :PORT, in IPv4.
    #[arg(long, value_name = "ADDRESS:PORT")]
    source: Option<End>,
    /// Where they go to.
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
            number => number.parse().map_err(|_| "a protocol is udp, tcp, icmp or a number of 0 to 255")?,
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
        const FORM: &str = "an end of a flow is ADDRESS, ADDRESS:PORT or :PORT, such as 10.0.0.2:5060";
        if text.trim_matches(['[', ']']).split("]:").next().is_some_and(|text| text.parse::<Ipv6Addr>().is_ok()) {
            return Err("TC's filters know IPv4 addresses only");
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
    /// The 5-tuple.
    pub fn flow(&self) -> anyhow::Result<FiveTuple> {
        let (source, destination) = (self.source.unwrap_or_default(), self.destination.unwrap_or_default());
        let flow = FiveTuple {
            source_address: source.address,
            destination_address: destination.address,
            source_port: source.port,
            destination_port: destination.port,
            protocol: self.protocol.map(|protocol| protocol.0),
        };
        if flow == FiveTuple::default() {
            bail!("which flow must not wait? Say it by --protocol, --source and --destination");
        }
        Ok(flow)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_of_flows() {
        let end = |text: &str| text.parse::<End>();
        let address = Some(0x0A00_0002);
        assert_eq!(end("10.0.0.2:5060"), Ok(End { address, port: Some(5060) }));
        assert_eq!(end("10.0.0.2"), Ok(End { address, port: None }));
        assert_eq!(end(":53"), Ok(End { address: None, port: Some(53) }));
        for wrong in ["", ":", "10.0.0", "10.0.0.2:", "10.0.0.2:65536", "host:1", "10.0.0.2:1:2"] {
            assert!(end(wrong).unwrap_err().contains("such as 10.0.0.2:5060"), "{wrong}");
        }
        for six in ["::1", "[::1]:53", "2001:db8::5"] {
            assert_eq!(end(six), Err("TC's filters know IPv4 addresses only"), "{six}");
        }
    }

    #[test]
    fn protocols() {
        assert_eq!(("udp".parse(), "6".parse()), (Ok(Protocol(17)), Ok(Protocol(6))));
        assert!("256".parse::<Protocol>().is_err() && "quic".parse::<Protocol>().is_err());
    }
}
