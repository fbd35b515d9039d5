//! The links of an event loop, by association.

use std::io;

use e2::AssocId;
use link::{Class, Interest, Link, PathEvent, Poll, Sent, StreamId};

/// What an association's token tells: its kind, a generation, and its place.
const PLACE_BITS: u32 = 32;
const KIND_SHIFT: u32 = 60;
const GENERATION_MASK: u64 = (1 << (KIND_SHIFT - PLACE_BITS)) - 1;

/// The kind of thing that a token is of.
#[cfg(feature = "server")]
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
    /// Whether it lost reports that it was not told of.
    #[cfg(feature = "server")]
    pub has_unreported_loss: bool,
    /// Whether it is known who it is, and that it may stay: nothing is read from it before. That the link stands does not
    /// say so: what writes may be what ends its handshake.
    #[cfg(feature = "server")]
    pub admitted: bool,
    /// Whether the peer has said anything.
    #[cfg(feature = "server")]
    pub has_sent: bool,
    /// The last of its PDUs that its loop sent to the loop that owns the controller, by number.
    #[cfg(feature = "server")]
    pub sent_up: u64,
    /// Reports for it that found no room between two loops.
    #[cfg(feature = "server")]
    pub missed_reports: u64,
    /// Whether nothing is read from it for now.
    #[cfg(feature = "server")]
    pub paused: bool,
    /// How a node speaks.
    #[cfg(feature = "server")]
    pub codec: e2ap::Codec,
    /// Whether it was decided on which loop it lives.
    #[cfg(feature = "server")]
    pub is_placed: bool,
    /// PDUs that the link does not carry.
    too_long: u64,
    writable_wanted: bool,
    /// The kernel took less than it was given: there is no use in trying before it says so.
    full: bool,
    dirty: bool,
}

impl Peer {
    /// The log hears of the paths beneath an SCTP association.
    pub fn log_paths(&mut self) {
        while let Some(event) = self.link.poll_path_event() {
            let peer = self.link.peer();
            match event {
                PathEvent::Unreachable(_) | PathEvent::Restarted => tracing::warn!(%peer, "{event}"),
                _ => tracing::info!(%peer, "{event}"),
            }
        }
    }

    fn write(&mut self) -> Result<(), link::Error> {
        self.full = self.link.flush()?.waiting;
        Ok(())
    }

    /// Waits for what the link needs next: room to write, or only something to read.
    pub fn wait_for_more(&mut self, poll: &Poll) -> Result<(), link::Error> {
        let wanted = self.link.wants_write();
        if wanted == self.writable_wanted {
            return Ok(());
        }
        self.writable_wanted = wanted;
        poll.modify(&self.link, self.assoc.0, self.interest()).map_err(link::Error::Lost)
    }

    fn interest(&self) -> Interest {
        #[cfg(feature = "server")]
        let read = !self.paused;
        #[cfg(not(feature = "server"))]
        let read = true;
        Interest { read, write: self.writable_wanted }
    }

    /// Reports that were for it and that it did not get.
    #[cfg(feature = "server")]
    pub fn lost_reports(&self) -> u64 {
        self.link.dropped_reports() + self.missed_reports
    }
}

/// What gathers for a link within a turn before it is written, at most; less where the outbox has no room for twice that.
const GATHER_OCTETS: usize = 128 * 1024;

/// All links of one kind.
pub(crate) struct Peers {
    kind: u64,
    slots: Vec<Option<Peer>>,
    free: Vec<usize>,
    generation: u64,
    dirty: Vec<AssocId>,
    gather_octets: usize,
}

impl Peers {
    pub fn new(kind: u64, config: &link::Config) -> Self {
        let gather_octets = GATHER_OCTETS.min(config.outbox_octets / 2);
        Peers { kind, slots: Vec::new(), free: Vec::new(), generation: 0, dirty: Vec::new(), gather_octets }
    }

    /// How many there are, those that were moved out included.
    #[cfg(feature = "server")]
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Takes a link in and waits for it.
    pub fn insert(&mut self, poll: &Poll, link: Link) -> io::Result<AssocId> {
        let place = self.free.last().copied().unwrap_or(self.slots.len());
        self.generation = (self.generation + 1) & GENERATION_MASK;
        let assoc = AssocId(token(self.kind, place) | self.generation << PLACE_BITS);
        self.insert_as(poll, assoc, link)?;
        self.free.pop();
        Ok(assoc)
    }

    /// Takes a link in whose association somebody else has named, at a place that is free.
    pub fn insert_as(&mut self, poll: &Poll, assoc: AssocId, link: Link) -> io::Result<()> {
        let writable_wanted = link.wants_write();
        let peer = Peer {
            link,
            assoc,
            #[cfg(feature = "server")]
            has_unreported_loss: false,
            #[cfg(feature = "server")]
            admitted: false,
            #[cfg(feature = "server")]
            has_sent: false,
            #[cfg(feature = "server")]
            sent_up: 0,
            #[cfg(feature = "server")]
            missed_reports: 0,
            #[cfg(feature = "server")]
            paused: false,
            #[cfg(feature = "server")]
            codec: e2ap::Codec::Per,
            #[cfg(feature = "server")]
            is_placed: false,
            too_long: 0,
            writable_wanted,
            full: false,
            dirty: false,
        };
        poll.add(&peer.link, assoc.0, peer.interest())?;
        let place = place(assoc.0);
        if place >= self.slots.len() {
            self.slots.resize_with(place + 1, || None);
        }
        self.slots[place] = Some(peer);
        Ok(())
    }

    /// Reads no more from a link until [`Peers::resume`]. Its end may still be told.
    #[cfg(feature = "server")]
    pub fn pause(&mut self, poll: &Poll, assoc: AssocId) -> Result<(), link::Error> {
        self.set_paused(poll, assoc, true)
    }

    /// Reads from a link again.
    #[cfg(feature = "server")]
    pub fn resume(&mut self, poll: &Poll, assoc: AssocId) -> Result<(), link::Error> {
        self.set_paused(poll, assoc, false)
    }

    #[cfg(feature = "server")]
    fn set_paused(&mut self, poll: &Poll, assoc: AssocId, paused: bool) -> Result<(), link::Error> {
        match self.get_mut(assoc) {
            Some(peer) if peer.paused != paused => {
                peer.paused = paused;
                poll.modify(&peer.link, assoc.0, peer.interest()).map_err(link::Error::Lost)
            }
            _ => Ok(()),
        }
    }

    #[inline]
    pub fn get_mut(&mut self, assoc: AssocId) -> Option<&mut Peer> {
        self.slots.get_mut(place(assoc.0))?.as_mut().filter(|peer| peer.assoc == assoc)
    }

    #[cfg(feature = "agent")]
    pub fn get(&self, assoc: AssocId) -> Option<&Peer> {
        self.slots.get(place(assoc.0))?.as_ref().filter(|peer| peer.assoc == assoc)
    }

    /// Takes a link out whose association another loop has named, or still names: its place is not free before
    /// [`Peers::vacate`].
    #[cfg(feature = "server")]
    pub fn move_out(&mut self, poll: &Poll, assoc: AssocId) -> Option<Link> {
        self.get_mut(assoc)?;
        let peer = self.slots[place(assoc.0)].take()?;
        let _ = poll.remove(&peer.link); // it has no other owner, so that this succeeds
        Some(peer.link)
    }

    /// The association of a link that was moved out is gone.
    #[cfg(feature = "server")]
    pub fn vacate(&mut self, assoc: AssocId) {
        self.free.push(place(assoc.0));
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

    /// Queues one PDU, to be written by the next [`Peers::flush`], or now where much has gathered: a report is only ever
    /// dropped since its reader is slow, not since others had much to say in this turn.
    #[inline]
    pub fn send(&mut self, assoc: AssocId, parts: &[&[u8]], class: Class) -> Result<Sent, link::Error> {
        let gather_octets = self.gather_octets;
        let unsent = Sent { queued: false, dropped_reports: 0 };
        let Some(peer) = self.get_mut(assoc) else { return Ok(unsent) }; // gone: so is what it was to hear
        if !peer.full && peer.link.queued_octets() >= gather_octets {
            peer.write()?;
        }
        let sent = match peer.link.send(StreamId(0), parts, class) {
            Err(link::Error::SendTooLong { octets, limit_octets }) => {
                // nothing that the peer did
                peer.too_long += 1;
                if peer.too_long.is_power_of_two() {
                    let (peer, count) = (peer.link.peer(), peer.too_long);
                    tracing::warn!(%peer, octets, limit_octets, count, "not sent: longer than the link carries");
                }
                return Ok(unsent);
            }
            other => other?,
        };
        self.touch(assoc);
        Ok(sent)
    }

    /// Whether no more than `octets` that must not be dropped wait for a link, after an attempt to write them. If not, the
    /// link will be writable, and its poll tells.
    #[cfg(feature = "server")]
    pub fn has_room(&mut self, assoc: AssocId, octets: usize) -> bool {
        let Some(peer) = self.get_mut(assoc) else { return false };
        if peer.link.kept_octets() > octets {
            // Tried even if the kernel took no more the last time: it may take all of it now, and would then tell no more. A
            // link that is lost says so again when it is flushed.
            let _ = peer.write();
        }
        peer.link.kept_octets() <= octets
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

    /// Writes what was queued, and tells the links that were lost over it.
    pub fn flush(&mut self, poll: &Poll, mut lost: impl FnMut(AssocId, link::Error)) {
        let mut dirty = std::mem::take(&mut self.dirty);
        for assoc in dirty.drain(..) {
            let Some(peer) = self.get_mut(assoc) else { continue };
            peer.dirty = false;
            let flushed = peer.write();
            if let Err(error) = peer.wait_for_more(poll).and(flushed) {
                lost(assoc, error);
            }
        }
        self.dirty = dirty;
    }
}
