//! The send queue of a link: bounded in octets; drops the oldest reports when it is full.
//!
//! There is one queue per [`Class`], each a ring of octets and a ring of entries; sequence numbers order the entries of both.
//! The oldest report is dropped from the front of its queue, so no octets are moved to close a gap. PDUs sent in succession
//! are contiguous, and a burst is written in one gathered write.

use std::collections::VecDeque;
use std::io::IoSlice;
use std::ops::Range;

use crate::budget::Held;
use crate::frame::HEADER_OCTETS;
use crate::{Class, Error, MemoryBudget, Sent, StreamId};

/// The overhead of each queued PDU in [`Config::outbox_octets`](crate::Config::outbox_octets), beside its octets and framing:
/// the memory for its queue entry.
pub const PDU_OVERHEAD_OCTETS: usize = 24;

/// A queue that is larger than this frees its memory when it becomes empty.
const RETAINED_OCTETS: usize = 256 * 1024;
const RETAINED_ENTRIES: usize = 4096;

/// The octets at the beginning of a dropped report that are noted, fewer if it is shorter: see
/// [`Link::note_dropped`](crate::Link::note_dropped).
pub const NOTED_OCTETS: usize = 16;
/// The most notes; further ones are left out.
const MAX_NOTES: usize = 4096;

/// The most entries of one gathered write when both queues are in use.
const GATHER_ENTRIES: usize = 512;

struct Entry {
    /// The sequence number of the PDU, across both queues.
    order: u64,
    /// Octets still to be written, framing included.
    octets: usize,
    stream: StreamId,
}

#[derive(Default)]
struct SendQueue {
    bytes: VecDeque<u8>,
    entries: VecDeque<Entry>,
}

impl SendQueue {
    fn cost(&self) -> usize {
        self.bytes.len() + self.entries.len() * PDU_OVERHEAD_OCTETS
    }

    /// Makes room for one PDU of `more` octets, if `held` and the system have memory. Doubles the capacity, but exceeds
    /// `limit` only if the octets need it.
    #[inline]
    fn reserve(&mut self, more: usize, limit: usize, held: &mut Held) -> bool {
        let needed = self.bytes.len() + more;
        if needed <= self.bytes.capacity() && self.entries.len() < self.entries.capacity() {
            return true;
        }
        self.grow(needed, limit, held)
    }

    #[cold]
    fn grow(&mut self, needed: usize, limit: usize, held: &mut Held) -> bool {
        let capacity = self.bytes.capacity();
        if needed > capacity {
            let target = (2 * capacity).max(256).min(limit).max(needed);
            let reserved = [target, needed].into_iter().any(|target| {
                let more = target - capacity;
                if !held.grow(more) {
                    return false;
                }
                let reserved = self.bytes.try_reserve_exact(target - self.bytes.len()).is_ok();
                if !reserved {
                    held.give_back(more);
                }
                reserved
            });
            if !reserved {
                return false;
            }
        }
        let entries = self.entries.capacity();
        if self.entries.len() == entries {
            let more = entries.max(8);
            if !held.grow(more * size_of::<Entry>()) {
                return false;
            }
            if self.entries.try_reserve_exact(more).is_err() {
                held.give_back(more * size_of::<Entry>());
                return false;
            }
        }
        true
    }

    /// The memory of the queue.
    fn memory(&self) -> usize {
        self.bytes.capacity() + self.entries.capacity() * size_of::<Entry>()
    }

    /// The octets of a range, which may wrap around the ring's end.
    fn slices(&self, range: Range<usize>) -> [&[u8]; 2] {
        let (first, second) = self.bytes.as_slices();
        let split = first.len();
        if range.end <= split {
            [&first[range], &[]]
        } else if range.start >= split {
            [&second[range.start - split..range.end - split], &[]]
        } else {
            [&first[range.start..], &second[..range.end - split]]
        }
    }

    /// Frees a large empty ring. Returns whether memory was freed.
    fn relax_if_empty(&mut self) -> bool {
        let mut freed = false;
        if self.entries.is_empty() {
            debug_assert!(self.bytes.is_empty());
            // An empty ring restarts at its beginning, so that the next burst does not wrap.
            self.bytes.clear();
            if self.bytes.capacity() > RETAINED_OCTETS {
                self.bytes = VecDeque::new();
                freed = true;
            }
            if self.entries.capacity() > RETAINED_ENTRIES {
                self.entries = VecDeque::new();
                freed = true;
            }
        }
        freed
    }
}

/// The outbox of one direction of a link.
pub(crate) struct Outbox {
    keep: SendQueue,
    report: SendQueue,
    /// The class of the oldest PDU if a part of it was written already, so that it cannot be dropped.
    begun: Option<Class>,
    /// The rest of a partly written report, moved here so that younger reports could be dropped, or of a PDU that was written directly.
    /// Written first.
    torn: VecDeque<u8>,
    next_order: u64,
    framed: bool,
    limit_octets: usize,
    dropped_reports: u64,
    /// The beginnings of dropped reports, if they are to be noted.
    notes: Option<Vec<[u8; NOTED_OCTETS]>>,
    /// The memory of all three.
    held: Held,
}

impl Outbox {
    /// `framed` puts a length before each PDU.
    pub(crate) fn new(framed: bool, limit_octets: usize) -> Self {
        Outbox {
            keep: SendQueue::default(),
            report: SendQueue::default(),
            begun: None,
            torn: VecDeque::new(),
            next_order: 0,
            framed,
            limit_octets,
            dropped_reports: 0,
            notes: None,
            held: Held::default(),
        }
    }

    /// Counts the memory against a budget.
    pub(crate) fn within(mut self, budget: Option<&MemoryBudget>) -> Self {
        self.held = Held::of(budget);
        self
    }

    /// Frees the memory that empty queues keep for the next PDUs.
    pub(crate) fn free_spare_memory(&mut self) {
        for queue in [&mut self.keep, &mut self.report] {
            if queue.entries.is_empty() {
                *queue = SendQueue::default();
            }
        }
        self.account();
    }

    /// Gives memory that was freed back to the budget.
    fn account(&mut self) {
        self.held.shrink_to(self.keep.memory() + self.report.memory() + self.torn.capacity());
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.keep.entries.is_empty() && self.report.entries.is_empty() && self.torn.is_empty()
    }

    /// The octets that count against the bound.
    pub(crate) fn queued_octets(&self) -> usize {
        self.keep.cost() + self.report.cost() + self.torn_cost()
    }

    /// The part of [`queued_octets`](Self::queued_octets) that no younger PDU can displace.
    pub(crate) fn kept_octets(&self) -> usize {
        self.keep.cost()
    }

    pub(crate) fn dropped_reports(&self) -> u64 {
        self.dropped_reports
    }

    /// Notes the beginning of each report that is dropped from now on, until [`Outbox::take_notes`].
    pub(crate) fn note_dropped(&mut self) {
        self.notes.get_or_insert_default();
    }

    /// Passes the notes to `take` and removes them.
    pub(crate) fn take_notes(&mut self, take: &mut dyn FnMut(&[u8; NOTED_OCTETS])) {
        if let Some(notes) = &mut self.notes {
            notes.iter().for_each(take);
            notes.clear();
        }
    }

    fn note(&mut self, parts: &[&[u8]]) {
        self.dropped_reports += 1;
        if let Some(notes) = &mut self.notes {
            note(notes, parts.iter().flat_map(|part| part.iter().copied()));
        }
    }

    fn torn_cost(&self) -> usize {
        if self.torn.is_empty() { 0 } else { self.torn.len() + PDU_OVERHEAD_OCTETS }
    }

    /// Discards all PDUs and frees the memory. The count of dropped reports stays.
    pub(crate) fn discard(&mut self) {
        self.keep = SendQueue::default();
        self.report = SendQueue::default();
        self.torn = VecDeque::new();
        self.begun = None;
        self.account();
    }

    /// Adds one PDU. Drops the oldest reports if there is no room otherwise.
    pub(crate) fn push(&mut self, stream: StreamId, parts: &[&[u8]], class: Class) -> Result<Sent, Error> {
        let pdu_octets: usize = parts.iter().map(|part| part.len()).sum();
        let octets = pdu_octets + if self.framed { HEADER_OCTETS } else { 0 };
        let cost = octets + PDU_OVERHEAD_OCTETS;
        let mut dropped_reports = 0;
        if self.queued_octets() + cost > self.limit_octets {
            if self.immovable_octets() + cost > self.limit_octets {
                return match class {
                    Class::Keep => Err(Error::OutboxFull { limit_octets: self.limit_octets }),
                    Class::Report => {
                        self.note(parts);
                        Ok(Sent { queued: false, dropped_reports: 1 })
                    }
                };
            }
            while self.queued_octets() + cost > self.limit_octets {
                self.drop_oldest_report();
                dropped_reports += 1;
            }
        }
        let limit_octets = self.limit_octets;
        let framed = self.framed;
        let (queue, held) = self.queue_and_budget(class);
        if !queue.reserve(octets, limit_octets, held) {
            dropped_reports += self.make_room(octets, class)?;
            // it grows no more: there is room now, or the report is dropped
            if !self.has_memory(octets, class) {
                self.note(parts);
                return Ok(Sent { queued: false, dropped_reports: dropped_reports + 1 });
            }
        }
        let order = self.next_order;
        self.next_order += 1;
        let queue = self.queue_mut(class);
        if framed {
            queue.bytes.extend(&announced(pdu_octets));
        }
        for part in parts {
            queue.bytes.extend(*part);
        }
        queue.entries.push_back(Entry { order, octets, stream });
        Ok(Sent { queued: true, dropped_reports })
    }

    /// The length before a PDU, if there is one.
    pub(crate) fn header(&self, parts: &[&[u8]]) -> Option<[u8; HEADER_OCTETS]> {
        self.framed.then(|| announced(parts.iter().map(|part| part.len()).sum()))
    }

    /// Stores the rest of a PDU whose beginning was written without the outbox, which is empty.
    pub(crate) fn keep_rest<'a>(&mut self, parts: impl Iterator<Item = &'a [u8]>, mut written: usize) {
        debug_assert!(self.is_empty(), "a PDU is written directly when no other one waits");
        for part in parts {
            let skipped = written.min(part.len());
            self.torn.extend(&part[skipped..]);
            written -= skipped;
        }
    }

    /// The octets that dropping reports cannot free.
    fn immovable_octets(&self) -> usize {
        let begun_report = match (self.begun, self.report.entries.front()) {
            (Some(Class::Report), Some(entry)) => entry.octets + PDU_OVERHEAD_OCTETS,
            _ => 0,
        };
        self.keep.cost() + self.torn_cost() + begun_report
    }

    fn drop_oldest_report(&mut self) {
        if self.begun == Some(Class::Report) {
            // The rest of the partly written report is written first, so it can be stored separately.
            debug_assert!(self.torn.is_empty(), "no other PDU is partly written while a torn report waits");
            let octets = self.report.entries.pop_front().expect("a partly written report is in its queue").octets;
            self.torn.extend(self.report.bytes.drain(..octets));
            self.begun = None;
        }
        let entry = self.report.entries.pop_front().expect("the caller knows that reports can make room");
        let octets = self.report.bytes.drain(..entry.octets);
        if let Some(notes) = &mut self.notes {
            note(notes, octets.skip(if self.framed { HEADER_OCTETS } else { 0 }));
        }
        self.dropped_reports += 1;
    }

    /// Drops reports, the oldest first, while that makes room for a PDU within the memory of the outbox. Returns their number.
    /// Fails if the PDU must not be dropped and there is no room.
    #[cold]
    fn make_room(&mut self, octets: usize, class: Class) -> Result<u32, Error> {
        let mut dropped_reports = 0;
        while !self.has_memory(octets, class)
            && self.report.entries.len() > usize::from(self.begun == Some(Class::Report))
        {
            self.drop_oldest_report();
            dropped_reports += 1;
        }
        if class == Class::Keep && !self.has_memory(octets, class) {
            if self.report.entries.is_empty() {
                self.report = SendQueue::default();
            }
            self.account();
            let (queue, held) = self.queue_and_budget(class);
            if !queue.reserve(octets, 0, held) {
                return Err(Error::SendMemoryFull { limit_octets: held.limit_octets() });
            }
        }
        Ok(dropped_reports)
    }

    /// Whether a PDU fits into the present memory of its queue.
    fn has_memory(&self, octets: usize, class: Class) -> bool {
        let queue = self.queue(class);
        queue.bytes.len() + octets <= queue.bytes.capacity() && queue.entries.len() < queue.entries.capacity()
    }

    fn queue_and_budget(&mut self, class: Class) -> (&mut SendQueue, &mut Held) {
        match class {
            Class::Keep => (&mut self.keep, &mut self.held),
            Class::Report => (&mut self.report, &mut self.held),
        }
    }

    fn queue(&self, class: Class) -> &SendQueue {
        match class {
            Class::Keep => &self.keep,
            Class::Report => &self.report,
        }
    }

    fn queue_mut(&mut self, class: Class) -> &mut SendQueue {
        match class {
            Class::Keep => &mut self.keep,
            Class::Report => &mut self.report,
        }
    }

    /// The class of the oldest PDU.
    fn oldest_class(&self) -> Option<Class> {
        self.entries().next().map(|message| message.class)
    }

    /// Returns all octets to write if they are contiguous and in one queue, which is the usual case.
    pub(crate) fn in_one_slice(&self) -> Option<&[u8]> {
        let queue = if self.keep.entries.is_empty() { &self.report } else { &self.keep };
        let (first, second) = queue.bytes.as_slices();
        let is_all = second.is_empty() && self.torn.is_empty();
        (is_all && (self.keep.entries.is_empty() || self.report.entries.is_empty())).then_some(first)
    }

    /// Fills `slices` with the octets to write next, in order; returns how many slices are filled, and their octets.
    pub(crate) fn gather<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> (usize, usize) {
        let mut filled = 0;
        let mut octets = 0;
        let mut add = |pieces: [&'a [u8]; 2]| {
            for piece in pieces {
                if !piece.is_empty() {
                    if filled == slices.len() {
                        return false;
                    }
                    slices[filled] = IoSlice::new(piece);
                    filled += 1;
                    octets += piece.len();
                }
            }
            true
        };
        let (first, second) = self.torn.as_slices();
        let mut room = add([first, second]);
        if self.keep.entries.is_empty() || self.report.entries.is_empty() {
            // The usual case: one queue, which is already in order.
            let queue = if self.keep.entries.is_empty() { &self.report } else { &self.keep };
            if room {
                add(queue.slices(0..queue.bytes.len()));
            }
            return (filled, octets);
        }
        let mut run: Option<(Class, Range<usize>)> = None;
        for message in self.entries().take(GATHER_ENTRIES) {
            if let Some((class, range)) = &mut run
                && *class == message.class
            {
                range.end = message.range.end;
                continue;
            }
            if let Some((class, range)) = run.replace((message.class, message.range)) {
                room = room && add(self.queue(class).slices(range));
                if !room {
                    return (filled, octets);
                }
            }
        }
        if let Some((class, range)) = run {
            add(self.queue(class).slices(range));
        }
        (filled, octets)
    }

    /// Removes the next `octets` of those that [`gather`](Self::gather) returned, after they were written.
    pub(crate) fn wrote(&mut self, mut octets: usize) {
        let torn = octets.min(self.torn.len());
        self.torn.drain(..torn);
        octets -= torn;
        if self.torn.is_empty() && self.torn.capacity() > 0 {
            self.torn = VecDeque::new();
        }
        let mut freed = false;
        if octets == self.keep.bytes.len() + self.report.bytes.len() {
            for queue in [&mut self.keep, &mut self.report] {
                queue.bytes.clear();
                queue.entries.clear();
                freed |= queue.relax_if_empty();
            }
            self.begun = None;
            if freed {
                self.account();
            }
            return;
        }
        while octets > 0 {
            let class = self.oldest_class().expect("no more is written than was gathered");
            let queue = self.queue_mut(class);
            let entry = queue.entries.front_mut().expect("the oldest queue is not empty");
            let taken = octets.min(entry.octets);
            entry.octets -= taken;
            octets -= taken;
            queue.bytes.drain(..taken);
            if entry.octets == 0 {
                queue.entries.pop_front();
                freed |= queue.relax_if_empty();
                self.begun = None;
            } else {
                self.begun = Some(class);
            }
        }
        if freed {
            self.account();
        }
    }

    /// The PDUs to write next, in order, for links that keep message boundaries.
    pub(crate) fn messages(&self) -> impl Iterator<Item = (StreamId, [&[u8]; 2])> {
        self.entries().map(|message| (message.stream, self.queue(message.class).slices(message.range)))
    }

    /// Removes the next `count` PDUs of those that [`messages`](Self::messages) returned, after they were written.
    pub(crate) fn wrote_messages(&mut self, count: usize) {
        for _ in 0..count {
            let class = self.oldest_class().expect("no more is written than was given");
            let queue = self.queue_mut(class);
            let entry = queue.entries.pop_front().expect("the oldest queue is not empty");
            queue.bytes.drain(..entry.octets);
            if queue.relax_if_empty() {
                self.account();
            }
        }
    }

    fn entries(&self) -> Entries<'_> {
        Entries { outbox: self, next: [0; 2], offset: [0; 2] }
    }
}

/// One PDU and the position of its octets in its queue.
struct Located {
    class: Class,
    stream: StreamId,
    range: Range<usize>,
}

/// Iterates over both queues in order of arrival.
struct Entries<'a> {
    outbox: &'a Outbox,
    next: [usize; 2],
    offset: [usize; 2],
}

impl Iterator for Entries<'_> {
    type Item = Located;

    fn next(&mut self) -> Option<Located> {
        let keep = self.outbox.keep.entries.get(self.next[0]);
        let report = self.outbox.report.entries.get(self.next[1]);
        let (class, queue, entry) = match (keep, report) {
            (None, None) => return None,
            (Some(keep), Some(report)) if report.order < keep.order => (Class::Report, 1, report),
            (Some(keep), _) => (Class::Keep, 0, keep),
            (None, Some(report)) => (Class::Report, 1, report),
        };
        let start = self.offset[queue];
        self.next[queue] += 1;
        self.offset[queue] += entry.octets;
        Some(Located { class, stream: entry.stream, range: start..start + entry.octets })
    }
}

/// The length before a PDU.
fn announced(pdu_octets: usize) -> [u8; HEADER_OCTETS] {
    u32::try_from(pdu_octets).expect("the longest PDU is below 4 GiB").to_be_bytes()
}

fn note(notes: &mut Vec<[u8; NOTED_OCTETS]>, octets: impl Iterator<Item = u8>) {
    if notes.len() < MAX_NOTES {
        let mut beginning = [0; NOTED_OCTETS];
        beginning.iter_mut().zip(octets).for_each(|(to, from)| *to = from);
        notes.push(beginning);
    }
}

#[cfg(test)]
mod tests;
