//! The IEs of an encoded E2AP message, for octets that a valid message does not have.
//!
//! The codec of `e2ap` writes valid messages only. [`RawMessage`] takes the octets of one apart, down to the IEs, and puts them
//! together again with other IEs, criticalities and lengths (X.691 11.9, 11.2; E2AP 9.3.8).

use e2ap::Criticality;

/// The first id of IEs that no version of E2AP defines.
pub const UNKNOWN_IE: u16 = 65_000;
/// A procedure that no version of E2AP defines.
pub const UNKNOWN_PROCEDURE: u8 = 250;

/// An IE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawIe {
    /// The id.
    pub id: u16,
    /// The criticality.
    pub criticality: Criticality,
    /// The encoded value.
    pub value: Vec<u8>,
}

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawMessage {
    /// The choice: 0x00 initiating message, 0x20 successful, 0x40 unsuccessful outcome.
    pub kind: u8,
    /// The procedure code.
    pub procedure: u8,
    /// The procedure's criticality.
    pub criticality: Criticality,
    /// The IEs.
    pub ies: Vec<RawIe>,
}

fn criticality(octet: u8) -> Option<Criticality> {
    [Criticality::Reject, Criticality::Ignore, Criticality::Notify].get(usize::from(octet >> 6)).copied()
}

fn octet(criticality: Criticality) -> u8 {
    (criticality as u8) << 6
}

/// Splits `octets` after a length determinant below 16,384 and its content (X.691 11.9).
fn split(octets: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = match octets {
        [length @ 0..=0x7f, rest @ ..] => (usize::from(*length), rest),
        [high @ 0x80..=0xbf, low, rest @ ..] => (usize::from(*high & 0x3f) << 8 | usize::from(*low), rest),
        _ => return None,
    };
    rest.split_at_checked(length)
}

/// Appends a length determinant and the content; longer content than 16,383 octets is cut off, which no check has.
fn append(out: &mut Vec<u8>, content: &[u8]) {
    let content = &content[..content.len().min(0x3fff)];
    match u8::try_from(content.len()) {
        Ok(length @ ..=0x7f) => out.push(length),
        _ => out.extend_from_slice(&(0x8000 | content.len() as u16).to_be_bytes()),
    }
    out.extend_from_slice(content);
}

impl RawMessage {
    /// A message with an unknown IE only.
    #[must_use]
    pub fn unknown_procedure(criticality: Criticality) -> Self {
        RawMessage {
            kind: 0,
            procedure: UNKNOWN_PROCEDURE,
            criticality,
            ies: vec![RawIe::unknown(Criticality::Ignore)],
        }
    }

    /// Takes a message apart; `None` if a part has 16,384 octets or more, or it is no E2AP message.
    #[must_use]
    pub fn parse(pdu: &[u8]) -> Option<Self> {
        let [kind, procedure, first, rest @ ..] = pdu else { return None };
        let (content, []) = split(rest)? else { return None };
        // the extension bit, then the number of IEs at the next octet
        let [_, high, low, rest @ ..] = content else { return None };
        let mut rest = rest;
        let mut ies = Vec::new();
        for _ in 0..u16::from_be_bytes([*high, *low]) {
            let [high, low, own, tail @ ..] = rest else { return None };
            let (value, after) = split(tail)?;
            let id = u16::from_be_bytes([*high, *low]);
            ies.push(RawIe { id, criticality: criticality(*own)?, value: value.to_vec() });
            rest = after;
        }
        Some(RawMessage { kind: *kind, procedure: *procedure, criticality: criticality(*first)?, ies })
    }

    /// Puts the message together.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut content = vec![0];
        content.extend_from_slice(&(self.ies.len() as u16).to_be_bytes());
        for ie in &self.ies {
            content.extend_from_slice(&ie.id.to_be_bytes());
            content.push(octet(ie.criticality));
            append(&mut content, &ie.value);
        }
        let mut pdu = vec![self.kind, self.procedure, octet(self.criticality)];
        append(&mut pdu, &content);
        pdu
    }

    /// Appends an IE that no version defines.
    #[must_use]
    pub fn with_unknown(mut self, criticality: Criticality) -> Self {
        self.ies.push(RawIe::unknown(criticality));
        self
    }

    /// Removes an IE.
    #[must_use]
    pub fn without(mut self, id: u16) -> Self {
        self.ies.retain(|ie| ie.id != id);
        self
    }

    /// Repeats an IE at the end.
    #[must_use]
    pub fn with_repeated(mut self, id: u16) -> Self {
        self.ies.extend(self.ies.iter().find(|ie| ie.id == id).cloned());
        self
    }

    /// Replaces the value of an IE.
    #[must_use]
    pub fn with_value(mut self, id: u16, value: &[u8]) -> Self {
        self.ies.iter_mut().filter(|ie| ie.id == id).for_each(|ie| ie.value = value.to_vec());
        self
    }
}

impl RawIe {
    fn unknown(criticality: Criticality) -> Self {
        RawIe { id: UNKNOWN_IE, criticality, value: vec![0x5a] }
    }
}

#[cfg(test)]
mod tests {
    use e2ap::{Pdu, ResetRequest, TransactionId, Version};

    use super::*;

    fn reset() -> Vec<u8> {
        let cause = Some(e2ap::Cause::Misc(e2ap::CauseMisc::OmIntervention));
        let reset = Pdu::from(ResetRequest { transaction_id: Some(TransactionId(7)), cause });
        let mut octets = Vec::new();
        reset.encode(Version::V2_03, &mut octets).unwrap();
        octets
    }

    #[test]
    fn message_is_taken_apart_and_put_together() {
        let message = RawMessage::parse(&reset()).unwrap();
        assert_eq!((message.procedure, message.ies.len()), (3, 2));
        assert_eq!(message.encode(), reset());
        let mut long = message;
        long.ies[1].value = vec![0; 300];
        assert_eq!(RawMessage::parse(&long.encode()), Some(long));
    }

    #[test]
    fn decoder_sees_the_unknown_ie_and_the_missing_one() {
        let gather = Default::default();
        let notify = RawMessage::parse(&reset()).unwrap().with_unknown(Criticality::Notify).encode();
        let decoded = e2ap::decode(&notify, Version::V2_03, &gather).unwrap();
        assert_eq!(decoded.unknown[0].id.0, UNKNOWN_IE);
        let missing = RawMessage::parse(&reset()).unwrap().without(49).encode();
        assert!(e2ap::decode(&missing, Version::V2_03, &gather).is_err());
        let twice = RawMessage::parse(&reset()).unwrap().with_repeated(1).encode();
        assert!(e2ap::decode(&twice, Version::V2_03, &gather).is_err());
    }

    #[test]
    fn octets_that_are_no_message_are_not_taken_apart() {
        let whole = reset();
        for end in 0..whole.len() {
            assert_eq!(RawMessage::parse(&whole[..end]), None, "{end}");
        }
        assert_eq!(RawMessage::parse(&[0, 3, 0, 0xc1, 0, 0, 0]), None);
    }
}
