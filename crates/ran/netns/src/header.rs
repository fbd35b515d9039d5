//! Parses IPv4 headers, and sets the mark of congestion.

use std::net::Ipv4Addr;

use radio::{Content, Ecn, FiveTuple, FlowId, Packet, Time};

/// The octets of the shortest IPv4 header.
const MIN_HEADER: usize = 20;
const ICMP: u8 = 1;

/// The reason why a packet is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InvalidPacket {
    /// It is not IPv4.
    Version,
    /// Its lengths contradict each other.
    Malformed,
}

/// The packet of an emulated UE in these octets; `None` if they are no complete packet of IPv4. The caller sets the time of sending.
#[must_use]
pub fn parse_packet(octets: &[u8]) -> Option<Packet> {
    parse(octets).ok()
}

/// Parses a packet of IPv4 (RFC 791 3.1). ICMP echoes get their identifier as both ports, so that each `ping` is a flow.
/// Fragments get no ports, not even the first, so that all fragments of a datagram are treated alike. The caller sets the
/// time of sending.
///
/// # Errors
/// A packet that is not a complete packet of IPv4.
pub(crate) fn parse(octets: &[u8]) -> Result<Packet, InvalidPacket> {
    let header = octets.first_chunk::<MIN_HEADER>().ok_or(InvalidPacket::Malformed);
    let version = octets.first().map(|first| first >> 4);
    if version.is_some_and(|version| version != 4) {
        return Err(InvalidPacket::Version);
    }
    let [first, service, length_high, length_low, _, _, part_high, part_low, _, protocol, _, _, ends @ ..] = *header?;
    let [s0, s1, s2, s3, d0, d1, d2, d3] = ends;
    let header_octets = usize::from(first & 0xf) * 4;
    if header_octets < MIN_HEADER
        || header_octets > octets.len()
        || usize::from(u16::from_be_bytes([length_high, length_low])) != octets.len()
    {
        return Err(InvalidPacket::Malformed);
    }
    // the flag "more fragments", and the fragment offset
    let is_fragment = u16::from_be_bytes([part_high, part_low]) & 0x3fff != 0;
    let (source_port, destination_port) = match (&octets[header_octets..], protocol) {
        _ if is_fragment => (0, 0),
        (&[a, b, c, d, ..], FiveTuple::TCP | FiveTuple::UDP) => {
            (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]))
        }
        // echo request and reply (RFC 792)
        (&[8 | 0, _, _, _, a, b, ..], ICMP) => (u16::from_be_bytes([a, b]), u16::from_be_bytes([a, b])),
        _ => (0, 0),
    };
    Ok(Packet {
        flow: FlowId::EXTERNAL,
        tuple: FiveTuple {
            source: Ipv4Addr::new(s0, s1, s2, s3),
            destination: Ipv4Addr::new(d0, d1, d2, d3),
            source_port,
            destination_port,
            protocol,
        },
        octets: octets.len() as u32,
        ecn: match service & 3 {
            0 => Ecn::NotEct,
            3 => Ecn::Ce,
            _ => Ecn::Ect,
        },
        dscp: service >> 2,
        number: 0,
        sent: Time::START,
        entered: Time::START,
        content: Content::Live(octets.into()),
    })
}

/// The first 12 octets of a packet with the mark "congestion experienced" (RFC 3168 5) and the updated checksum (RFC 1624 3).
/// `None` if the packet has the mark already, or is not IPv4.
pub(crate) fn marked(octets: &[u8]) -> Option<[u8; 12]> {
    let mut head = *octets.first_chunk::<12>()?;
    let before = u16::from_be_bytes([head[0], head[1]]);
    let after = before | 3;
    if head[0] >> 4 != 4 || after == before {
        return None;
    }
    head[1] |= 3;
    let sum = u32::from(!u16::from_be_bytes([head[10], head[11]])) + u32::from(!before) + u32::from(after);
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = (sum & 0xffff) + (sum >> 16);
    [head[10], head[11]] = (!(sum as u16)).to_be_bytes();
    Some(head)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The checksum of RFC 1071: 0 for a header that contains its own correct checksum.
    fn checksum(header: &[u8]) -> u16 {
        let mut sum: u32 = header.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        !(sum as u16)
    }

    fn packet(service: u8, protocol: u8, part: u16, payload: &[u8]) -> Vec<u8> {
        let mut octets = vec![0x45, service, 0, 20 + payload.len() as u8, 0x12, 0x34];
        octets.extend(part.to_be_bytes());
        octets.extend([64, protocol, 0, 0, 10, 45, 0, 1, 10, 45, 0, 2]);
        let sum = checksum(&octets);
        octets[10..12].copy_from_slice(&sum.to_be_bytes());
        octets.extend(payload);
        octets
    }

    #[test]
    fn five_tuple_and_type_of_service_are_parsed() {
        let octets = packet(46 << 2 | 1, FiveTuple::UDP, 0x4000, &[0x12, 0x34, 0, 53, 0, 8, 0, 0]);
        let read = parse(&octets).unwrap();
        assert_eq!(read.tuple.source, Ipv4Addr::new(10, 45, 0, 1));
        assert_eq!(read.tuple.destination, Ipv4Addr::new(10, 45, 0, 2));
        assert_eq!((read.tuple.source_port, read.tuple.destination_port), (0x1234, 53));
        assert_eq!((read.tuple.protocol, read.dscp, read.ecn), (17, 46, Ecn::Ect));
        assert_eq!((read.octets, read.flow), (28, FlowId::EXTERNAL));
        assert_eq!(read.content, Content::Live(octets.into()));
    }

    #[test]
    fn ping_is_a_flow_by_its_identifier() {
        let echo = parse(&packet(0, ICMP, 0, &[8, 0, 0, 0, 0xab, 0xcd, 0, 1])).unwrap();
        assert_eq!((echo.tuple.source_port, echo.tuple.destination_port), (0xabcd, 0xabcd));
        let unreachable = parse(&packet(0, ICMP, 0, &[3, 0, 0, 0, 1, 2, 0, 1])).unwrap();
        assert_eq!((unreachable.tuple.source_port, unreachable.tuple.destination_port), (0, 0));
    }

    #[test]
    fn fragments_of_a_datagram_share_a_five_tuple() {
        let first = parse(&packet(0, FiveTuple::UDP, 0x2000, &[1, 2, 3, 4, 0, 8, 0, 0])).unwrap();
        let last = parse(&packet(0, FiveTuple::UDP, 1, &[5, 6, 7, 8, 9, 9, 9, 9])).unwrap();
        assert_eq!(first.tuple, last.tuple);
        assert_eq!(first.tuple.source_port, 0);
    }

    #[test]
    fn incomplete_packets_are_refused() {
        let whole = packet(0, FiveTuple::UDP, 0, &[1, 2, 3, 4, 0, 8, 0, 0]);
        for length in 0..whole.len() {
            assert_eq!(parse(&whole[..length]), Err(InvalidPacket::Malformed), "{length}");
        }
        let mut longer = whole.clone();
        longer.push(0);
        assert_eq!(parse(&longer), Err(InvalidPacket::Malformed));
        for words in [0, 4, 8, 15] {
            let mut header = whole.clone();
            header[0] = 0x40 | words;
            assert_eq!(parse(&header), Err(InvalidPacket::Malformed), "{words}");
        }
        let mut six = whole;
        six[0] = 0x60;
        assert_eq!(parse(&six), Err(InvalidPacket::Version));
        // a header without payload, of a protocol with ports
        assert_eq!(parse(&packet(0, FiveTuple::TCP, 0, &[])).unwrap().tuple.source_port, 0);
    }

    #[test]
    fn arbitrary_octets_cause_no_panic() {
        let mut random = radio::Random::new(1, 0);
        for _ in 0..20_000 {
            let length = (random.uniform() * 64.0) as usize;
            let mut octets: Vec<u8> = (0..length).map(|_| random.next_u64() as u8).collect();
            if let [first, _, _, second, ..] = &mut *octets {
                // a valid version and length, to reach the later checks
                (*first, *second) = (0x40 | *first & 0xf, length as u8);
            }
            if let [_, _, high, ..] = &mut *octets {
                *high = 0;
            }
            if let Ok(packet) = parse(&octets) {
                assert_eq!(packet.octets as usize, octets.len());
            }
            let _ = marked(&octets);
        }
    }

    #[test]
    fn mark_updates_the_checksum() {
        for service in 0..=255 {
            let mut octets = packet(service, FiveTuple::TCP, 0x4000, &[service; 24]);
            assert_eq!(checksum(&octets[..20]), 0);
            match marked(&octets) {
                Some(head) => octets[..12].copy_from_slice(&head),
                None => assert_eq!(service & 3, 3),
            }
            assert_eq!(checksum(&octets[..20]), 0, "{service:#x}");
            let read = parse(&octets).unwrap();
            assert_eq!((read.ecn, read.dscp), (Ecn::Ce, service >> 2));
        }
        assert_eq!(marked(&[0x60; 40]), None);
        assert_eq!(marked(&[0x45; 11]), None);
    }
}
