//! The header of GTP-U (TS 29.281 5.1) around the packets of UEs.

/// The port of GTP-U (TS 29.281 4.4.2.3).
pub const PORT: u16 = 2152;
/// G-PDU (TS 29.281 6.1).
const G_PDU: u8 = 255;
/// Version 1, protocol type GTP; no optional field.
const FLAGS: u8 = 0x30;
const HEADER: usize = 8;
/// Sequence number, N-PDU number, and the type of the next extension header.
const OPTIONAL: usize = 4;

/// A packet of a UE with its tunnel.
pub fn encapsulate(teid: u32, packet: &[u8]) -> Vec<u8> {
    let mut octets = Vec::with_capacity(HEADER + packet.len());
    octets.extend([FLAGS, G_PDU]);
    // an IP packet has at most 65,535 octets, and one in a datagram fewer
    octets.extend((packet.len() as u16).to_be_bytes());
    octets.extend(teid.to_be_bytes());
    octets.extend(packet);
    octets
}

/// The tunnel and the packet in a G-PDU; `None` of another message or a malformed one.
#[must_use]
pub fn decapsulate(octets: &[u8]) -> Option<(u32, &[u8])> {
    let (header, rest) = octets.split_first_chunk::<HEADER>()?;
    let [flags, kind, l0, l1, t0, t1, t2, t3] = *header;
    if flags & 0xf0 != FLAGS || kind != G_PDU {
        return None;
    }
    let mut payload = rest.get(..u16::from_be_bytes([l0, l1]).into())?;
    if flags & 0x07 != 0 {
        let (optional, after) = payload.split_first_chunk::<OPTIONAL>()?;
        payload = after;
        let mut next = if flags & 0x04 != 0 { optional[3] } else { 0 };
        // the length of an extension header counts units of 4 octets; its last octet is the type of the next one
        while next != 0 {
            let octets = usize::from(*payload.first()?) * 4;
            let extension = payload.get(..octets)?;
            next = *extension.last()?;
            payload = &payload[octets..];
        }
    }
    Some((u32::from_be_bytes([t0, t1, t2, t3]), payload))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packet_passes_a_tunnel() {
        assert_eq!(decapsulate(&encapsulate(7, b"packet")), Some((7, &b"packet"[..])));
    }

    #[test]
    fn optional_fields_and_extensions_are_skipped() {
        let extended = [0x34, 255, 0, 9, 0, 0, 0, 1, 0, 0, 0, 0x85, 1, 0, 0, 0, b'x'];
        assert_eq!(decapsulate(&extended), Some((1, &b"x"[..])));
    }

    #[test]
    fn malformed_messages_are_refused() {
        let good = encapsulate(7, b"packet");
        for length in 0..good.len() {
            assert_eq!(decapsulate(&good[..length]), None, "{length}");
        }
        // echo request; GTP'; an extension of no octets, and one that is longer than the message
        for bad in [
            &[0x30, 1, 0, 0, 0, 0, 0, 0][..],
            &[0x20, 255, 0, 0, 0, 0, 0, 0],
            &[0x34, 255, 0, 5, 0, 0, 0, 1, 0, 0, 0, 0x85, 0],
            &[0x34, 255, 0, 8, 0, 0, 0, 1, 0, 0, 0, 0x85, 2, 0, 0, 0],
        ] {
            assert_eq!(decapsulate(bad), None, "{bad:?}");
        }
    }
}
