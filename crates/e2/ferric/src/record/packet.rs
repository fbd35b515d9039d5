//! Messages as IP packets with DATA chunks of SCTP: assembled for the recorder, parsed for readers (RFC 9260).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The IP protocol number of SCTP.
const IP_PROTOCOL_SCTP: u8 = 132;
/// The most octets of a message in one DATA chunk; a longer message is fragmented.
pub(super) const FRAGMENT_OCTETS: usize = 16 * 1024;

const CHUNK_DATA: u8 = 0;
const CHUNK_SHUTDOWN: u8 = 7;
const FLAG_ENDING: u8 = 1;
const FLAG_BEGINNING: u8 = 2;
const FLAG_UNORDERED: u8 = 4;

/// The ends of a packet, and the verification tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Route {
    pub source: SocketAddr,
    pub destination: SocketAddr,
    pub tag: u32,
}

/// A DATA chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Data<'a> {
    pub beginning: bool,
    pub ending: bool,
    pub unordered: bool,
    pub tsn: u32,
    pub stream: u16,
    pub sequence: u16,
    pub ppid: u32,
    pub octets: &'a [u8],
}

/// The chunks that matter here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Chunk<'a> {
    Data(Data<'a>),
    /// The association ends, by shutdown or abort.
    End,
}

/// Appends a packet with one DATA chunk.
pub(super) fn put_data(out: &mut Vec<u8>, route: &Route, data: &Data<'_>) {
    let flag = |set, flag| if set { flag } else { 0 };
    let flags =
        flag(data.ending, FLAG_ENDING) | flag(data.beginning, FLAG_BEGINNING) | flag(data.unordered, FLAG_UNORDERED);
    put_packet(out, route, |out| {
        let octets = 16 + data.octets.len();
        out.extend_from_slice(&[CHUNK_DATA, flags]);
        out.extend_from_slice(&(octets as u16).to_be_bytes()); // bounded by FRAGMENT_OCTETS
        out.extend_from_slice(&data.tsn.to_be_bytes());
        out.extend_from_slice(&data.stream.to_be_bytes());
        out.extend_from_slice(&data.sequence.to_be_bytes());
        out.extend_from_slice(&data.ppid.to_be_bytes());
        out.extend_from_slice(data.octets);
    });
}

/// Appends a packet with a SHUTDOWN chunk that acknowledges everything up to `tsn`.
pub(super) fn put_shutdown(out: &mut Vec<u8>, route: &Route, tsn: u32) {
    put_packet(out, route, |out| {
        out.extend_from_slice(&[CHUNK_SHUTDOWN, 0, 0, 8]);
        out.extend_from_slice(&tsn.to_be_bytes());
    });
}

fn put_packet(out: &mut Vec<u8>, route: &Route, chunk: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    let header_octets = match (route.source.ip(), route.destination.ip()) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            out.extend_from_slice(&[0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, IP_PROTOCOL_SCTP, 0, 0]);
            out.extend_from_slice(&source.octets());
            out.extend_from_slice(&destination.octets());
            20
        }
        (source, destination) => {
            out.extend_from_slice(&[0x60, 0, 0, 0, 0, 0, IP_PROTOCOL_SCTP, 64]);
            out.extend_from_slice(&v6(source).octets());
            out.extend_from_slice(&v6(destination).octets());
            40
        }
    };
    let sctp = start + header_octets;
    out.extend_from_slice(&route.source.port().to_be_bytes());
    out.extend_from_slice(&route.destination.port().to_be_bytes());
    out.extend_from_slice(&route.tag.to_be_bytes());
    out.extend_from_slice(&[0; 4]);
    chunk(out);
    // the padding is not part of a chunk's length, and RFC 9260 3.2 counts it from the start of the packet
    while !(out.len() - sctp).is_multiple_of(4) {
        out.push(0);
    }
    let checksum = crc32c(&out[sctp..]);
    out[sctp + 8..sctp + 12].copy_from_slice(&checksum.to_le_bytes()); // RFC 9260, appendix A
    let octets = out.len() - start;
    if header_octets == 20 {
        out[start + 2..start + 4].copy_from_slice(&(octets as u16).to_be_bytes());
        let checksum = internet_checksum(&out[start..sctp]);
        out[start + 10..start + 12].copy_from_slice(&checksum.to_be_bytes());
    } else {
        out[start + 4..start + 6].copy_from_slice(&((octets - 40) as u16).to_be_bytes());
    }
}

fn v6(ip: IpAddr) -> Ipv6Addr {
    match ip {
        IpAddr::V4(ip) => ip.to_ipv6_mapped(),
        IpAddr::V6(ip) => ip,
    }
}

/// Parses an IP packet. `None` if it is malformed, not SCTP, a fragment, or truncated.
pub(super) fn parse<'a>(packet: &'a [u8], mut each: impl FnMut(Route, Chunk<'a>)) -> Option<()> {
    let (source, destination, sctp) = match packet.first()? >> 4 {
        4 => {
            let header = usize::from(packet.first()? & 0xF) * 4;
            let octets = usize::from(pair(packet, 2)?);
            if *packet.get(9)? != IP_PROTOCOL_SCTP || pair(packet, 6)? & 0x3FFF != 0 {
                return None;
            }
            let ip = |at: usize| Some(IpAddr::V4(Ipv4Addr::from(*packet.get(at..)?.first_chunk::<4>()?)));
            (ip(12)?, ip(16)?, packet.get(header..octets)?)
        }
        6 => {
            let octets = usize::from(pair(packet, 4)?);
            if *packet.get(6)? != IP_PROTOCOL_SCTP {
                return None;
            }
            let ip = |at: usize| Some(IpAddr::V6(Ipv6Addr::from(*packet.get(at..)?.first_chunk::<16>()?)));
            (ip(8)?, ip(24)?, packet.get(40..40 + octets)?)
        }
        _ => return None,
    };
    let route = Route {
        source: SocketAddr::new(source, pair(sctp, 0)?),
        destination: SocketAddr::new(destination, pair(sctp, 2)?),
        tag: word(sctp, 4)?,
    };
    let mut chunks = sctp.get(12..)?;
    while let [kind, flags, ..] = *chunks {
        let octets = usize::from(pair(chunks, 2)?);
        let chunk = chunks.get(..octets)?;
        match kind {
            CHUNK_DATA => each(
                route,
                Chunk::Data(Data {
                    beginning: flags & FLAG_BEGINNING != 0,
                    ending: flags & FLAG_ENDING != 0,
                    unordered: flags & FLAG_UNORDERED != 0,
                    tsn: word(chunk, 4)?,
                    stream: pair(chunk, 8)?,
                    sequence: pair(chunk, 10)?,
                    ppid: word(chunk, 12)?,
                    octets: chunk.get(16..)?,
                }),
            ),
            // ABORT, SHUTDOWN, SHUTDOWN ACK, SHUTDOWN COMPLETE
            6 | CHUNK_SHUTDOWN | 8 | 14 => each(route, Chunk::End),
            _ => {}
        }
        // a length below 4 would not advance
        chunks = chunks.get(octets.max(4).next_multiple_of(4)..).unwrap_or_default();
    }
    Some(())
}

fn pair(octets: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*octets.get(at..)?.first_chunk()?))
}

fn word(octets: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*octets.get(at..)?.first_chunk()?))
}

/// The Internet checksum: RFC 791 3.1.
fn internet_checksum(header: &[u8]) -> u16 {
    let sum: u32 =
        header.chunks(2).map(|pair| u32::from(pair[0]) << 8 | pair.get(1).map_or(0, |low| u32::from(*low))).sum();
    let sum = (sum & 0xFFFF) + (sum >> 16);
    !(sum as u16 + (sum >> 16) as u16)
}

/// CRC-32C, reflected: RFC 9260, appendix A.
fn crc32c(octets: &[u8]) -> u32 {
    const TABLE: [u32; 256] = {
        let mut table = [0; 256];
        let mut at = 0;
        while at < 256 {
            let mut crc = at as u32;
            let mut bit = 0;
            while bit < 8 {
                crc = if crc & 1 == 1 { crc >> 1 ^ 0x82F6_3B78 } else { crc >> 1 };
                bit += 1;
            }
            table[at] = crc;
            at += 1;
        }
        table
    };
    !octets.iter().fold(!0, |crc: u32, octet| crc >> 8 ^ TABLE[usize::from(crc as u8 ^ octet)])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(source: &str, destination: &str) -> Route {
        Route { source: source.parse().unwrap(), destination: destination.parse().unwrap(), tag: 7 }
    }

    #[test]
    fn checksums_match_the_standards() {
        // RFC 3720 B.4
        assert_eq!(crc32c(&[0; 32]), 0x8A91_36AA);
        assert_eq!(crc32c(&(0..32).collect::<Vec<u8>>()), 0x46DD_794E);
        // the sum of a header with its checksum is zero
        let mut packet = Vec::new();
        put_shutdown(&mut packet, &route("10.1.2.3:5", "10.1.2.4:6"), 1);
        assert_eq!(internet_checksum(&packet[..20]), 0);
    }

    #[test]
    fn packet_round_trips() {
        for route in [
            route("10.0.0.1:36421", "10.0.0.2:40000"),
            route("[::1]:36421", "[fe80::2]:1"),
            route("[::ffff:1.2.3.4]:1", "[::1]:2"),
        ] {
            for octets in [&b"abc"[..], b"abcd", &[9; FRAGMENT_OCTETS]] {
                let (stream, sequence, ppid) = (3, 4, 70);
                let data =
                    Data { beginning: true, ending: false, unordered: false, tsn: 9, stream, sequence, ppid, octets };
                let mut packet = Vec::new();
                put_data(&mut packet, &route, &data);
                let mut found = Vec::new();
                parse(&packet, |from, chunk| found.push((from, chunk))).unwrap();
                assert_eq!(found, [(route, Chunk::Data(data))]);
                // truncated packets are rejected
                for end in 0..packet.len().min(100) {
                    assert_eq!(parse(&packet[..end], |_, _| panic!("no chunk is complete")), None);
                }
            }
        }
    }

    #[test]
    fn chunk_with_length_zero_ends_parsing() {
        let mut packet = Vec::new();
        put_shutdown(&mut packet, &route("10.1.2.3:5", "10.1.2.4:6"), 1);
        packet[35] = 0;
        let mut chunks = 0;
        let _ = parse(&packet, |_, _| chunks += 1);
        assert_eq!(chunks, 1);
    }
}
