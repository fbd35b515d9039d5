//! The links of an event loop, by association.

use std::io;

use e2::AssocId;
use link::{Class, Interest, Link, PathEvent, Poll, Sent, StreamId};

/// The token of an association consists of its kind, a generation and an index.
pub(crate) const PLACE_BITS: u32 = 32;
const KIND_SHIFT: u32 = 60;
const GENERATION_MASK: u64 = (1 << (KIND_SHIFT - PLACE_BITS)) - 1;

/// Returns the kind of a token.
#[cfg(feature = "server")]
pub(crate) fn kind(token: u64) -> u64 {
    token >> KIND_SHIFT
}

/// Returns the token of the entry at index `place`.
pub(crate) fn token(kind: u64, place: usize) -> u64 {
    kind << KIND_SHIFT | place as u64
}

/// Returns the index of a token.
pub(crate) fn place(token: u64) -> usize {
    (token & ((1 << PLACE_BITS) - 1)) as usize
}

/// A link with its state.
pub(crate) struct Peer {
    pub link: Link,
    pub assoc: AssocId,
    /// Whether reports were dropped that the peer was not informed about.
    #[cfg(feature = "server")]
    pub has_unreported_loss: bool,
    /// Whether the peer is identified and admitted. Nothing is read from it before; an established link is not enough,
    /// since a write may have completed its handshake.
    #[cfg(feature = "server")]
    pub admitted: bool,
    /// Whether the peer has sent anything.
    #[cfg(feature = "server")]
    pub has_sent: bool,
    /// The number of the last record with a PDU of this link that its worker sent to the main loop.
    #[cfg(feature = "server")]
    pub sent_up: u64,
    /// Reports for this peer that found no room between two loops.
    #[cfg(feature = "server")]
    pub missed_reports: u64,
    /// Whether reading is suspended.
    #[cfg(feature = "server")]
    pub paused: bool,
    /// The encoding of E2AP, for a node.
    #[cfg(feature = "server")]
    pub codec: e2ap::Codec,
    /// Whether the loop for this link was chosen.
    #[cfg(feature = "server")]
    pub is_placed: bool,
    /// The number of the unfinished PDU at the last sweep, and the sweeps that have seen it.
    #[cfg(feature = "server")]
    pub unfinished: Option<(u64, u32)>,
    /// Where a worker states what waits for this xApp.
    #[cfg(feature = "server")]
    pub level: Option<std::sync::Arc<crate::server::OutboxLevel>>,
    /// Whether anything was sent since the last sweep.
    #[cfg(feature = "server")]
    pub is_used: bool,
    /// PDUs that were too long for the link.
    too_long: u64,
    writable_wanted: bool,
    /// Whether the kernel took less than it was given: writing again is useless before the link is writable.
    full: bool,
    dirty: bool,
}

impl Peer {
    /// Logs events of the paths of an SCTP association.
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
        #[cfg(feature = "server")]
        if let Some(level) = &self.level {
            level.set(self.link.queued_octets(), self.lost_reports());
        }
        Ok(())
    }

    /// Waits for what the link needs next: readability, and writability if it has something to write.
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

    /// Returns the number of reports for this peer that were dropped.
    #[cfg(feature = "server")]
    pub fn lost_reports(&self) -> u64 {
        self.link.dropped_reports() + self.missed_reports
    }
}

/// The octets that a link gathers within an iteration before they are written, at most; less if the outbox is shorter
/// than twice that.
const GATHER_OCTETS: usize = 128 * 1024;

/// All links of one kind.
pub(crate) struct Peers {
    kind: u64,
    slots: Vec<Option<Peer>>,
    free: Vec<usize>,
    generation: u64,
    dirty: Vec<AssocId>,
    gather_octets: usize,
    /// The host of each index in use, and the links of each host.
    #[cfg(feature = "server")]
    hosts: Vec<Option<e2::Host>>,
    #[cfg(feature = "server")]
    of_hosts: std::collections::HashMap<e2::Host, usize>,
    /// The number of links on this loop.
    #[cfg(feature = "server")]
    present: usize,
    /// The number of links that were removed, those included that another loop has closed.
    #[cfg(feature = "server")]
    closed: u64,
}

impl Peers {
    pub fn new(kind: u64, config: &link::Config) -> Self {
        let gather_octets = GATHER_OCTETS.min(config.outbox_octets / 2);
        Peers {
            kind,
            slots: Vec::new(),
            free: Vec::new(),
            generation: 0,
            dirty: Vec::new(),
            gather_octets,
            #[cfg(feature = "server")]
            hosts: Vec::new(),
            #[cfg(feature = "server")]
            of_hosts: std::collections::HashMap::new(),
            #[cfg(feature = "server")]
            present: 0,
            #[cfg(feature = "server")]
            closed: 0,
        }
    }

    /// Returns the number of links, those included that were moved out.
    #[cfg(feature = "server")]
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Returns the number of links on this loop.
    #[cfg(feature = "server")]
    pub fn present(&self) -> usize {
        self.present
    }

    /// Returns the number of links that were removed.
    #[cfg(feature = "server")]
    pub fn closed(&self) -> u64 {
        self.closed
    }

    /// Returns the links of this loop.
    #[cfg(feature = "server")]
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Peer> {
        self.slots.iter_mut().flatten()
    }

    /// Returns the number of links of a host, those included that were moved out.
    #[cfg(feature = "server")]
    pub fn of_host(&self, host: e2::Host) -> usize {
        self.of_hosts.get(&host).copied().unwrap_or_default()
    }

    /// Returns the host of a link.
    #[cfg(feature = "server")]
    pub fn host_of(&self, assoc: AssocId) -> Option<e2::Host> {
        self.hosts.get(place(assoc.0)).copied().flatten()
    }

    /// Records the host of a link.
    #[cfg(feature = "server")]
    pub fn set_host(&mut self, assoc: AssocId, host: e2::Host) {
        let place = place(assoc.0);
        if place >= self.hosts.len() {
            self.hosts.resize(place + 1, None);
        }
        self.hosts[place] = Some(host);
        *self.of_hosts.entry(host).or_default() += 1;
    }

    /// Records that a link is gone.
    #[cfg(feature = "server")]
    fn count_closed(&mut self, place: usize) {
        self.closed += 1;
        if let Some(host) = self.hosts.get_mut(place).and_then(Option::take)
            && let Some(count) = self.of_hosts.get_mut(&host)
        {
            *count -= 1;
            if *count == 0 {
                self.of_hosts.remove(&host);
            }
        }
    }

    /// Adds a link and waits for its events.
    pub fn insert(&mut self, poll: &Poll, link: Link) -> io::Result<AssocId> {
        let place = self.free.last().copied().unwrap_or(self.slots.len());
        self.generation = (self.generation + 1) & GENERATION_MASK;
        let assoc = AssocId(token(self.kind, place) | self.generation << PLACE_BITS);
        self.insert_as(poll, assoc, link)?;
        self.free.pop();
        Ok(assoc)
    }

    /// Adds a link under an association that another loop has assigned, at a free index.
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
            #[cfg(feature = "server")]
            unfinished: None,
            #[cfg(feature = "server")]
            level: None,
            #[cfg(feature = "server")]
            is_used: true,
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
        #[cfg(feature = "server")]
        {
            self.present += 1;
        }
        Ok(())
    }

    /// Suspends reading from a link until [`Peers::resume`]. Its end may still be reported.
    #[cfg(feature = "server")]
    pub fn pause(&mut self, poll: &Poll, assoc: AssocId) -> Result<(), link::Error> {
        self.set_paused(poll, assoc, true)
    }

    /// Resumes reading from a link.
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

    #[cfg(any(feature = "agent", feature = "server"))]
    pub fn get(&self, assoc: AssocId) -> Option<&Peer> {
        self.slots.get(place(assoc.0))?.as_ref().filter(|peer| peer.assoc == assoc)
    }

    /// Removes a link whose association stays assigned in another loop. Its index is not free before
    /// [`Peers::vacate`].
    #[cfg(feature = "server")]
    pub fn move_out(&mut self, poll: &Poll, assoc: AssocId) -> Option<Link> {
        self.get_mut(assoc)?;
        let peer = self.slots[place(assoc.0)].take()?;
        self.present -= 1;
        let _ = poll.remove(&peer.link); // the loop is its only user, so that this succeeds
        Some(peer.link)
    }

    /// Frees the index of a link that was moved out.
    #[cfg(feature = "server")]
    pub fn vacate(&mut self, assoc: AssocId) {
        self.free.push(place(assoc.0));
        self.count_closed(place(assoc.0));
    }

    /// Removes a link.
    pub fn remove(&mut self, poll: &Poll, assoc: AssocId) -> Option<Link> {
        self.get_mut(assoc)?;
        let peer = self.slots[place(assoc.0)].take()?;
        self.free.push(place(assoc.0));
        #[cfg(feature = "server")]
        {
            self.present -= 1;
            self.count_closed(place(assoc.0));
        }
        // closing the descriptor would do as well, unless it was duplicated
        let _ = poll.remove(&peer.link);
        Some(peer.link)
    }

    /// Queues one PDU, to be written by the next [`Peers::flush`], or now if much has gathered: reports are dropped
    /// only for a slow reader, never for a burst within one iteration.
    #[inline]
    pub fn send(&mut self, assoc: AssocId, parts: &[&[u8]], class: Class) -> Result<Sent, link::Error> {
        let gather_octets = self.gather_octets;
        let unsent = Sent { queued: false, dropped_reports: 0 };
        let Some(peer) = self.get_mut(assoc) else { return Ok(unsent) }; // closed: the PDU has no receiver any more
        if !peer.full && peer.link.queued_octets() >= gather_octets {
            peer.write()?;
        }
        let sent = match peer.link.send(StreamId(0), parts, class) {
            Err(link::Error::SendTooLong { octets, limit_octets }) => {
                // not the peer's fault
                peer.too_long += 1;
                if peer.too_long.is_power_of_two() {
                    let (peer, count) = (peer.link.peer(), peer.too_long);
                    tracing::warn!(%peer, octets, limit_octets, count, "PDU not sent: longer than the link's limit");
                }
                return Ok(unsent);
            }
            other => other?,
        };
        self.touch(assoc);
        Ok(sent)
    }

    /// Returns whether at most `octets` that must not be dropped are queued, after an attempt to write them. If not,
    /// the link's poll reports when it is writable.
    #[cfg(feature = "server")]
    pub fn has_room(&mut self, assoc: AssocId, octets: usize) -> bool {
        let Some(peer) = self.get_mut(assoc) else { return false };
        if peer.link.kept_octets() > octets {
            // tried even if the kernel took no more the last time: if it takes all now, no event follows. The error of
            // a lost link is reported again by the next flush.
            let _ = peer.write();
        }
        peer.link.kept_octets() <= octets
    }

    /// Schedules a link to be flushed at the end of the iteration.
    #[inline]
    pub fn touch(&mut self, assoc: AssocId) {
        if let Some(peer) = self.get_mut(assoc)
            && !peer.dirty
        {
            peer.dirty = true;
            #[cfg(feature = "server")]
            {
                peer.is_used = true;
            }
            self.dirty.push(assoc);
        }
    }

    /// Writes what is queued, and reports the links that were lost.
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
