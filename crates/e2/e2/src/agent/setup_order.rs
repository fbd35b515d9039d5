//! The setup request with its IEs in another order, as some base stations send it.

use core::cmp::Ordering;

use e2ap::{Codec, Pdu};

use super::AgentConfig;

/// Returns the octets of a setup request in the configured order; `None` if the order is that of the specification, or the
/// encoding is not PER, or an IE has 16,384 octets or more.
pub(super) fn encode(request: &Pdu<'_>, config: &AgentConfig) -> Option<Vec<u8>> {
    if config.setup_order.is_empty() || config.codec != Codec::Per {
        return None;
    }
    let mut octets = Vec::new();
    config.codec.encode(request, config.version, &mut octets).ok()?;
    reordered(&octets, &config.setup_order)
}

/// A length determinant below 16,384 (X.691 11.9) at the beginning of `octets`: its value and its own octets.
fn length(octets: &[u8]) -> Option<(usize, usize)> {
    match *octets {
        [length @ 0..=0x7f, ..] => Some((length.into(), 1)),
        [high @ 0x80..=0xbf, low, ..] => Some((usize::from(high & 0x3f) << 8 | usize::from(low), 2)),
        _ => None,
    }
}

/// Reorders the IEs of an encoded PDU. Its other octets stay, since no length changes.
fn reordered(pdu: &[u8], order: &[u16]) -> Option<Vec<u8>> {
    // the choice, the procedure code and the criticality; the length of the value; its extension bit and the number of IEs
    const BEFORE_LENGTH: usize = 3;
    const BEFORE_IES: usize = 3;
    // the id and the criticality of an IE
    const BEFORE_CONTENT: usize = 3;
    let (_, octets) = length(pdu.get(BEFORE_LENGTH..)?)?;
    let first = BEFORE_LENGTH + octets + BEFORE_IES;
    let mut rest = pdu.get(first..)?;
    let mut ies: Vec<(u16, &[u8])> = Vec::new();
    while let Some(id) = rest.first_chunk() {
        let (content, octets) = length(rest.get(BEFORE_CONTENT..)?)?;
        let (ie, after) = rest.split_at_checked(BEFORE_CONTENT + octets + content)?;
        ies.push((u16::from_be_bytes(*id), ie));
        rest = after;
    }
    let place = |id: u16| order.iter().position(|ordered| *ordered == id);
    ies.sort_by(|(a, _), (b, _)| match (place(*a), place(*b)) {
        (Some(a), Some(b)) => a.cmp(&b),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => Ordering::Equal,
    });
    let mut octets = pdu[..first].to_vec();
    ies.iter().for_each(|(_, ie)| octets.extend_from_slice(ie));
    octets.extend_from_slice(rest);
    Some(octets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ies_are_reordered_and_all_other_octets_stay() {
        let ie = |id: u8, content: &[u8]| [&[0, id, 0, content.len() as u8], content].concat();
        let pdu = |ies: &[Vec<u8>]| {
            let ies = ies.concat();
            [&[0, 1, 0, (ies.len() + 3) as u8, 0, 0, 3], &ies[..]].concat()
        };
        let (a, b, c) = (ie(49, &[7]), ie(3, &[1, 2, 3]), ie(10, &[]));
        let sent = pdu(&[a.clone(), b.clone(), c.clone()]);
        assert_eq!(reordered(&sent, &[3, 10, 49]), Some(pdu(&[b.clone(), c.clone(), a.clone()])));
        assert_eq!(reordered(&sent, &[10]), Some(pdu(&[c, a, b])), "others follow in their order");
    }

    #[test]
    fn what_has_no_short_length_is_left() {
        assert_eq!(reordered(&[0, 1, 0, 0xc1], &[3]), None);
        assert_eq!(reordered(&[0, 1, 0, 7, 0, 0, 1, 0, 3, 0, 9], &[3]), None, "shorter than it says");
    }
}
