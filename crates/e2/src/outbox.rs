//! PDUs that a machine wants sent, until its caller takes them.

use std::collections::VecDeque;

use e2ap::{Pdu, Version};

use crate::AssocId;

/// Control-plane PDUs in one buffer, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    bytes: VecDeque<u8>,
    pdus: VecDeque<(AssocId, usize)>,
    scratch: Vec<u8>,
}

impl Outbox {
    /// Queues `pdu`.
    ///
    /// # Panics
    /// Where `pdu` cannot be written in `version`: the machines build only what the version has.
    pub fn push(&mut self, assoc: AssocId, version: Version, pdu: &Pdu<'_>) {
        self.scratch.clear();
        if let Err(error) = pdu.encode(version, &mut self.scratch) {
            panic!("a machine built a {} that E2AP v{version} cannot carry: {error}", pdu.name());
        }
        self.bytes.extend(&self.scratch);
        self.pdus.push_back((assoc, self.scratch.len()));
    }

    /// Queues bytes that are a PDU already.
    pub fn push_bytes(&mut self, assoc: AssocId, bytes: &[u8]) {
        self.bytes.extend(bytes);
        self.pdus.push_back((assoc, bytes.len()));
    }

    /// Appends the oldest PDU to `out`.
    pub fn pop(&mut self, out: &mut Vec<u8>) -> Option<AssocId> {
        let (assoc, len) = self.pdus.pop_front()?;
        out.extend(self.bytes.drain(..len));
        Some(assoc)
    }
}
