//! The read buffer that all links of one event loop share.

/// The most octets of one read.
pub(crate) const READ_OCTETS: usize = 128 * 1024;

/// Buffers kept for the next unfinished PDU, and the largest that is kept.
const SPARES: usize = 8;
const SPARE_OCTETS: usize = 256 * 1024;

/// The read buffer of an event loop: one for all its links.
///
/// An idle link owns no read buffer. All links read into this buffer and pass PDUs on from it; only an incomplete PDU is kept
/// with its link, in a spare buffer that is returned afterwards.
pub struct Scratch {
    read: Vec<u8>,
    spares: Spares,
}

impl Scratch {
    /// Allocates the read buffer (128 KiB).
    pub fn new() -> Self {
        Scratch { read: vec![0; READ_OCTETS], spares: Spares { buffers: Vec::new() } }
    }

    pub(crate) fn parts(&mut self) -> (&mut [u8], &mut Spares) {
        (&mut self.read, &mut self.spares)
    }
}

impl Default for Scratch {
    fn default() -> Self {
        Scratch::new()
    }
}

/// Empty buffers, kept so that unfinished PDUs cost no allocation in steady state.
pub(crate) struct Spares {
    buffers: Vec<Vec<u8>>,
}

impl Spares {
    #[cfg(test)]
    pub(crate) fn none() -> Self {
        Spares { buffers: Vec::new() }
    }

    pub(crate) fn take(&mut self) -> Vec<u8> {
        self.buffers.pop().unwrap_or_default()
    }

    pub(crate) fn give(&mut self, mut buffer: Vec<u8>) {
        if self.buffers.len() < SPARES && (1..=SPARE_OCTETS).contains(&buffer.capacity()) {
            buffer.clear();
            self.buffers.push(buffer);
        }
    }
}
