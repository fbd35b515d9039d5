//! PDUs that a machine wants sent, until its caller takes them.

use std::collections::{HashMap, VecDeque};

use e2ap::{Codec, Pdu, Version};

use crate::AssocId;

/// Control-plane PDUs in one buffer, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    bytes: VecDeque<u8>,
    pdus: VecDeque<Queued>,
    scratch: Vec<u8>,
    /// The associations whose encoding is another than PER.
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
    /// Messages for that association are written in this encoding.
    pub fn open(&mut self, assoc: AssocId, codec: Codec) {
        if codec != Codec::Per {
            self.codecs.insert(assoc, codec);
        }
    }

    /// Nothing more comes for that association.
    pub fn close(&mut self, assoc: AssocId) {
        self.codecs.remove(&assoc);
    }

    /// Queues `pdu`.
    ///
    /// # Panics
    /// Where `pdu` cannot be written in `version`: the machines build only what the version has.
    pub fn push(&mut self, assoc: AssocId, version: Version, pdu: &Pdu<'_>) {
        self.scratch.clear();
        let codec = self.codecs.get(&assoc).copied().unwrap_or_default();
        if let Err(error) = codec.encode(pdu, version, &mut self.scratch) {
            panic!("a machine built a {} that E2AP v{version} cannot carry: {error}", pdu.name());
        }
        self.bytes.extend(&self.scratch);
        self.pdus.push_back(Queued { assoc, octets: self.scratch.len(), again: false });
    }

    /// Queues bytes that are a PDU already, for each of `assocs`; they are kept once.
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
        // a ring's iterator would copy octet by octet
        let (first, second) = self.bytes.as_slices();
        let split = octets.min(first.len());
        out.extend_from_slice(&first[..split]);
        out.extend_from_slice(&second[..octets - split]);
        if !again {
            self.bytes.drain(..octets);
        }
        Some(assoc)
    }

    /// Forgets all that is queued.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.pdus.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_around_the_end_of_the_ring_comes_whole() {
        let mut outbox = Outbox::default();
        let mut out = Vec::new();
        for i in 0..1000u32 {
            let pdu = |i: u32| vec![i as u8; 1 + i as usize % 37];
            outbox.push_bytes([AssocId(1)], &pdu(i));
            if i >= 3 {
                out.clear();
                outbox.pop(&mut out);
                assert_eq!(out, pdu(i - 3));
            }
        }
    }

    #[test]
    fn the_same_bytes_to_many_and_to_none() {
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
