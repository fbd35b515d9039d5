//! The links of an event loop, by association.

use std::io;

use e2::AssocId;
use link::{Class, Interest, Link, Poll, StreamId};

/// What an association's token tells: its kind, a generation, and its place.
const PLACE_BITS: u32 = 32;
const KIND_SHIFT: u32 = 60;
const GENERATIONS: u64 = (1 << (KIND_SHIFT - PLACE_BITS)) - 1;

/// The kind of thing that a token is of.
pub(crate) fn kind(token: u64) -> u64 {
    token >> KIND_SHIFT
}

/// The token of the thing at `place`.
pub(crate) fn token(kind: u64, place: usize) -> u64 {
    kind << KIND_SHIFT | place as u64
}

/// The place that a token tells.
pub(crate) fn place(token: u64) -> usize {
    (token & ((1 << PLACE_BITS) - 1)) as usize
}

/// A link and what is to be done with it.
pub(crate) struct Peer {
    pub link: Link,
    pub assoc: AssocId,
    /// Reports dropped that the peer was told of.
    pub told_dropped: u64,
    writable_wanted: bool,
    dirty: bool,
}

/// All links of one kind.
pub(crate) struct Peers {
    kind: u64,
    slots: Vec<Option<Peer>>,
    free: Vec<usize>,
    generation: u64,
    dirty: Vec<AssocId>,
}

impl Peers {
    pub fn new(kind: u64) -> Self {
        Peers { kind, slots: Vec::new(), free: Vec::new(), generation: 0, dirty: Vec::new() }
    }

    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Takes a link in and waits for it.
    pub fn insert(&mut self, poll: &Poll, link: Link) -> io::Result<AssocId> {
        let place = self.free.last().copied().unwrap_or(self.slots.len());
        self.generation = (self.generation + 1) & GENERATIONS;
        let assoc = AssocId(token(self.kind, place) | self.generation << PLACE_BITS);
        let writable_wanted = link.wants_write();
        let interest = if writable_wanted { Interest::READ_WRITE } else { Interest::READ };
        poll.add(&link, assoc.0, interest)?;
        let peer = Peer { link, assoc, told_dropped: 0, writable_wanted, dirty: false };
        if self.free.pop().is_some() {
            self.slots[place] = Some(peer);
        } else {
            self.slots.push(Some(peer));
        }
        Ok(assoc)
    }

    #[inline]
    pub fn get_mut(&mut self, assoc: AssocId) -> Option<&mut Peer> {
        self.slots.get_mut(place(assoc.0))?.as_mut().filter(|peer| peer.assoc == assoc)
    }

    /// Takes a link out.
    pub fn remove(&mut self, poll: &Poll, assoc: AssocId) -> Option<Link> {
        self.get_mut(assoc)?;
        let peer = self.slots[place(assoc.0)].take()?;
        self.free.push(place(assoc.0));
        // Closing the descriptor would do as well, unless somebody duplicated it.
        let _ = poll.remove(&peer.link);
        Some(peer.link)
    }

    /// Queues one PDU, to be written by the next [`Peers::flush`].
    #[inline]
    pub fn send(&mut self, assoc: AssocId, parts: &[&[u8]], class: Class) -> Result<(), link::Error> {
        let Some(peer) = self.get_mut(assoc) else { return Ok(()) }; // gone: so is what it was to hear
        peer.link.send(StreamId(0), parts, class)?;
        self.touch(assoc);
        Ok(())
    }

    /// Has a link flushed at the end of the turn.
    #[inline]
    pub fn touch(&mut self, assoc: AssocId) {
        if let Some(peer) = self.get_mut(assoc)
            && !peer.dirty
        {
            peer.dirty = true;
            self.dirty.push(assoc);
        }
    }

    /// The links that will be flushed, one by one.
    #[cfg(feature = "server")]
    pub fn dirty(&self, at: usize) -> Option<AssocId> {
        self.dirty.get(at).copied()
    }

    /// Writes what was queued, and tells the links that were lost over it.
    pub fn flush(&mut self, poll: &Poll, mut lost: impl FnMut(AssocId, link::Error)) {
        let mut dirty = std::mem::take(&mut self.dirty);
        for assoc in dirty.drain(..) {
            let Some(peer) = self.get_mut(assoc) else { continue };
            peer.dirty = false;
            let flushed = peer.link.flush();
            let wanted = peer.link.wants_write();
            if wanted != peer.writable_wanted {
                peer.writable_wanted = wanted;
                let interest = if wanted { Interest::READ_WRITE } else { Interest::READ };
                if let Err(source) = poll.modify(&peer.link, assoc.0, interest) {
                    lost(assoc, link::Error::Lost(source));
                    continue;
                }
            }
            if let Err(error) = flushed {
                lost(assoc, error);
            }
        }
        self.dirty = dirty;
    }
}
