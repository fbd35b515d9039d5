//! The queue of PDUs that a machine wants to send, until its caller takes them.

use std::collections::{HashMap, VecDeque};

use e2ap::{Codec, Pdu, Version};

use crate::AssocId;

/// Sent octets are released when they exceed this and the octets still queued; an empty buffer with a larger capacity is
/// released, too.
const RETAINED_OCTETS: usize = 64 * 1024;

/// Control-plane PDUs in one buffer, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    bytes: Vec<u8>,
    /// The octets of `bytes` that were taken already.
    taken: usize,
    pdus: VecDeque<Queued>,
    /// The associations with another encoding than PER.
    codecs: HashMap<AssocId, Codec>,
}

#[derive(Debug)]
struct Queued {
    assoc: AssocId,
    octets: usize,
    /// Whether the next one has the same bytes.
    again: bool,
}

impl Outbox {
    /// Sets the encoding of an association.
    pub fn open(&mut self, assoc: AssocId, codec: Codec) {
        if codec != Codec::Per {
            self.codecs.insert(assoc, codec);
        }
    }

    /// Ends an association.
    pub fn close(&mut self, assoc: AssocId) {
        self.codecs.remove(&assoc);
    }

    /// Queues `pdu` and returns its octets.
    ///
    /// # Panics
    /// If `version` cannot carry `pdu`: the machines build only what the version has.
    pub fn push(&mut self, assoc: AssocId, version: Version, pdu: &Pdu<'_>) -> usize {
        let codec = self.codecs.get(&assoc).copied().unwrap_or_default();
        let before = self.bytes.len();
        if let Err(error) = codec.encode(pdu, version, &mut self.bytes) {
            // values copied from a peer's PDU were decoded within the bounds of this version
            panic!("a machine built a {} that E2AP v{version} cannot carry: {error}", pdu.name());
        }
        let octets = self.bytes.len() - before;
        self.pdus.push_back(Queued { assoc, octets, again: false });
        octets
    }

    /// Queues an encoded PDU for each of `assocs`; it is stored once.
    pub fn push_bytes(&mut self, assocs: impl IntoIterator<Item = AssocId>, bytes: &[u8]) {
        let before = self.pdus.len();
        let octets = bytes.len();
        self.pdus.extend(assocs.into_iter().map(|assoc| Queued { assoc, octets, again: true }));
        if self.pdus.len() > before
            && let Some(last) = self.pdus.back_mut()
        {
            last.again = false;
            self.bytes.extend(bytes);
        }
    }

    /// Appends the oldest PDU to `out`.
    pub fn pop(&mut self, out: &mut Vec<u8>) -> Option<AssocId> {
        let Queued { assoc, octets, again } = self.pdus.pop_front()?;
        out.extend_from_slice(&self.bytes[self.taken..][..octets]);
        if !again {
            self.taken += octets;
        }
        if self.taken >= RETAINED_OCTETS && self.taken * 2 >= self.bytes.len() || self.pdus.is_empty() {
            self.bytes.drain(..self.taken);
            self.taken = 0;
            if self.pdus.is_empty() && self.bytes.capacity() > RETAINED_OCTETS {
                self.bytes = Vec::new();
            }
        }
        Some(assoc)
    }

    /// Returns whether nothing is queued.
    pub fn is_empty(&self) -> bool {
        self.pdus.is_empty()
    }

    /// Drops all queued PDUs.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.taken = 0;
        self.pdus.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sent_octets_are_released_while_more_are_queued() {
        let mut outbox = Outbox::default();
        let mut out = Vec::new();
        let pdu = |i: u32| vec![i as u8; 1 + i as usize % 3700];
        for i in 0..1000 {
            outbox.push_bytes([AssocId(1)], &pdu(i));
            if i >= 3 {
                out.clear();
                outbox.pop(&mut out);
                assert_eq!(out, pdu(i - 3));
            }
            assert!(outbox.bytes.len() <= RETAINED_OCTETS + 5 * 3700);
        }
        while outbox.pop(&mut out).is_some() {}
        assert!(outbox.bytes.is_empty() && outbox.bytes.capacity() <= RETAINED_OCTETS);
    }

    #[test]
    fn encoding_does_not_depend_on_queued_pdus() {
        let reset =
            |id| e2ap::ResetResponse { transaction_id: Some(e2ap::TransactionId(id)), criticality_diagnostics: None };
        for codec in [Codec::Per, Codec::FLAT] {
            let mut outbox = Outbox::default();
            outbox.open(AssocId(1), codec);
            outbox.push_bytes([AssocId(2)], b"odd");
            let mut expected = Vec::new();
            for id in 0..5 {
                outbox.push(AssocId(1), Version::V3_01, &reset(id).into());
                let mut alone = Vec::new();
                codec.encode(&reset(id).into(), Version::V3_01, &mut alone).unwrap();
                expected.push(alone);
            }
            let mut out = Vec::new();
            assert_eq!(outbox.pop(&mut out), Some(AssocId(2)));
            for alone in expected {
                out.clear();
                assert_eq!(outbox.pop(&mut out), Some(AssocId(1)));
                assert_eq!(out, alone);
            }
        }
    }

    #[test]
    fn same_bytes_go_to_several_associations() {
        let mut outbox = Outbox::default();
        outbox.push_bytes([AssocId(1)], b"one");
        outbox.push_bytes([], b"nobody");
        outbox.push_bytes([AssocId(2), AssocId(3)], b"both");
        outbox.push_bytes([AssocId(4)], b"");
        let mut got = Vec::new();
        let mut out = Vec::new();
        while let Some(assoc) = outbox.pop(&mut out) {
            got.push((assoc.0, String::from_utf8(std::mem::take(&mut out)).unwrap()));
        }
        assert_eq!(got, [(1, "one".into()), (2, "both".into()), (3, "both".into()), (4, String::new())]);
        assert!(outbox.bytes.is_empty());
    }
}
