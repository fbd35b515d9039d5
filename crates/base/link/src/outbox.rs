//! What waits to be written: bounded in octets, dropping the oldest reports when full.
//!
//! Two lanes, one per [`Class`], each a ring of octets and a ring of entries; the order of arrival joins them. Dropping the
//! oldest report is taking from the front of its lane, so nothing is ever moved to close a gap, and the octets of PDUs that are
//! sent one after the other lie one after the other: a burst leaves in one gathered write.

use std::collections::VecDeque;
use std::io::IoSlice;
use std::ops::Range;

use crate::frame::HEADER_OCTETS;
use crate::{Class, Error, Sent, StreamId};

/// What each waiting PDU counts against [`Config::outbox_octets`](crate::Config::outbox_octets) beside its own octets and
/// framing: the memory that its book-keeping takes.
pub const PDU_OVERHEAD_OCTETS: usize = 24;

/// A lane that is larger than this gives its memory back when it runs empty.
const RETAINED_OCTETS: usize = 256 * 1024;
const RETAINED_ENTRIES: usize = 4096;

/// Entries looked at for one gathered write when both lanes are in use.
const GATHER_ENTRIES: usize = 512;

struct Entry {
    /// Counts all PDUs of both lanes.
    order: u64,
    /// Octets still to be written, framing included.
    octets: usize,
    stream: StreamId,
}

#[derive(Default)]
struct Lane {
    bytes: VecDeque<u8>,
    entries: VecDeque<Entry>,
}

impl Lane {
    fn cost(&self) -> usize {
        self.bytes.len() + self.entries.len() * PDU_OVERHEAD_OCTETS
    }

    /// Makes room for `more` octets; grows by doubling, but not beyond `limit` for the sake of doubling.
    fn reserve(&mut self, more: usize, limit: usize) {
        let needed = self.bytes.len() + more;
        let capacity = self.bytes.capacity();
        if needed > capacity {
            let target = (2 * capacity).max(256).min(limit).max(needed);
            self.bytes.reserve_exact(target - self.bytes.len());
        }
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

    fn relax_if_empty(&mut self) {
        if self.entries.is_empty() {
            debug_assert!(self.bytes.is_empty());
            // An empty ring starts anew at its beginning, so that the next burst does not wrap.
            self.bytes.clear();
            if self.bytes.capacity() > RETAINED_OCTETS {
                self.bytes = VecDeque::new();
            }
            if self.entries.capacity() > RETAINED_ENTRIES {
                self.entries = VecDeque::new();
            }
        }
    }
}

/// The outbox of one direction of a link.
pub(crate) struct Outbox {
    keep: Lane,
    report: Lane,
    /// Class of the oldest PDU if its beginning was written already, so that it can't be dropped.
    begun: Option<Class>,
    /// The rest of a begun report that was taken out of the way so that younger reports could be dropped. Written first.
    torn: VecDeque<u8>,
    next_order: u64,
    framed: bool,
    limit_octets: usize,
    dropped_reports: u64,
}

impl Outbox {
    /// `framed` puts a length before each PDU.
    pub(crate) fn new(framed: bool, limit_octets: usize) -> Self {
        Outbox {
            keep: Lane::default(),
            report: Lane::default(),
            begun: None,
            torn: VecDeque::new(),
            next_order: 0,
            framed,
            limit_octets,
            dropped_reports: 0,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.keep.entries.is_empty() && self.report.entries.is_empty() && self.torn.is_empty()
    }

    /// What counts against the bound.
    pub(crate) fn queued_octets(&self) -> usize {
        self.keep.cost() + self.report.cost() + self.torn_cost()
    }

    /// What of it no younger PDU can displace.
    pub(crate) fn kept_octets(&self) -> usize {
        self.keep.cost()
    }

    pub(crate) fn dropped_reports(&self) -> u64 {
        self.dropped_reports
    }

    fn torn_cost(&self) -> usize {
        if self.torn.is_empty() { 0 } else { self.torn.len() + PDU_OVERHEAD_OCTETS }
    }

    /// Throws everything away, memory included, since nobody will read it. What was dropped before stays counted.
    pub(crate) fn discard(&mut self) {
        self.keep = Lane::default();
        self.report = Lane::default();
        self.torn = VecDeque::new();
        self.begun = None;
    }

    /// Adds one PDU, dropping the oldest reports if there is no room otherwise.
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
                        self.dropped_reports += 1;
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
        let order = self.next_order;
        self.next_order += 1;
        let lane = self.lane_mut(class);
        lane.reserve(octets, limit_octets);
        if framed {
            let announced = u32::try_from(pdu_octets).expect("an outbox's bound, and so a PDU in it, is below 4 GiB");
            lane.bytes.extend(&announced.to_be_bytes());
        }
        for part in parts {
            lane.bytes.extend(*part);
        }
        lane.entries.push_back(Entry { order, octets, stream });
        Ok(Sent { queued: true, dropped_reports })
    }

    /// What dropping reports can't free.
    fn immovable_octets(&self) -> usize {
        let begun_report = match (self.begun, self.report.entries.front()) {
            (Some(Class::Report), Some(entry)) => entry.octets + PDU_OVERHEAD_OCTETS,
            _ => 0,
        };
        self.keep.cost() + self.torn_cost() + begun_report
    }

    fn drop_oldest_report(&mut self) {
        if self.begun == Some(Class::Report) {
            // The rest of the begun report is written before anything else, so it may as well wait apart.
            debug_assert!(self.torn.is_empty(), "nothing else is begun while a torn report waits");
            let octets = self.report.entries.pop_front().expect("a begun report is in its lane").octets;
            self.torn.extend(self.report.bytes.drain(..octets));
            self.begun = None;
        }
        let entry = self.report.entries.pop_front().expect("the caller knows that reports can make room");
        self.report.bytes.drain(..entry.octets);
        self.dropped_reports += 1;
    }

    fn lane(&self, class: Class) -> &Lane {
        match class {
            Class::Keep => &self.keep,
            Class::Report => &self.report,
        }
    }

    fn lane_mut(&mut self, class: Class) -> &mut Lane {
        match class {
            Class::Keep => &mut self.keep,
            Class::Report => &mut self.report,
        }
    }

    /// The lane whose first PDU is older.
    fn oldest_lane(&self) -> Option<Class> {
        self.entries().next().map(|message| message.class)
    }

    /// All that is to be written, if it lies in one piece and in one lane, as it mostly does.
    pub(crate) fn in_one_slice(&self) -> Option<&[u8]> {
        let lane = if self.keep.entries.is_empty() { &self.report } else { &self.keep };
        let (first, second) = lane.bytes.as_slices();
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
            // The usual case: one lane, which is in order as it lies.
            let lane = if self.keep.entries.is_empty() { &self.report } else { &self.keep };
            if room {
                add(lane.slices(0..lane.bytes.len()));
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
                room = room && add(self.lane(class).slices(range));
                if !room {
                    return (filled, octets);
                }
            }
        }
        if let Some((class, range)) = run {
            add(self.lane(class).slices(range));
        }
        (filled, octets)
    }

    /// Notes that the next `octets` of what [`gather`](Self::gather) gave were written.
    pub(crate) fn wrote(&mut self, mut octets: usize) {
        let torn = octets.min(self.torn.len());
        self.torn.drain(..torn);
        octets -= torn;
        if self.torn.is_empty() && self.torn.capacity() > 0 {
            self.torn = VecDeque::new();
        }
        if octets == self.keep.bytes.len() + self.report.bytes.len() {
            for lane in [&mut self.keep, &mut self.report] {
                lane.bytes.clear();
                lane.entries.clear();
                lane.relax_if_empty();
            }
            self.begun = None;
            return;
        }
        while octets > 0 {
            let class = self.oldest_lane().expect("no more is written than was gathered");
            let lane = self.lane_mut(class);
            let entry = lane.entries.front_mut().expect("the oldest lane is not empty");
            let taken = octets.min(entry.octets);
            entry.octets -= taken;
            octets -= taken;
            lane.bytes.drain(..taken);
            if entry.octets == 0 {
                lane.entries.pop_front();
                lane.relax_if_empty();
                self.begun = None;
            } else {
                self.begun = Some(class);
            }
        }
    }

    /// The PDUs to write next, in order, for links that keep message boundaries.
    pub(crate) fn messages(&self) -> impl Iterator<Item = (StreamId, [&[u8]; 2])> {
        self.entries().map(|message| (message.stream, self.lane(message.class).slices(message.range)))
    }

    /// Notes that the next `count` of what [`messages`](Self::messages) gave were written.
    pub(crate) fn wrote_messages(&mut self, count: usize) {
        for _ in 0..count {
            let class = self.oldest_lane().expect("no more is written than was given");
            let lane = self.lane_mut(class);
            let entry = lane.entries.pop_front().expect("the oldest lane is not empty");
            lane.bytes.drain(..entry.octets);
            lane.relax_if_empty();
        }
    }

    fn entries(&self) -> Entries<'_> {
        Entries { outbox: self, next: [0; 2], offset: [0; 2] }
    }
}

/// One PDU, and where its octets lie in its lane.
struct Located {
    class: Class,
    stream: StreamId,
    range: Range<usize>,
}

/// Walks both lanes in order of arrival.
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
        let (class, lane, entry) = match (keep, report) {
            (None, None) => return None,
            (Some(keep), Some(report)) if report.order < keep.order => (Class::Report, 1, report),
            (Some(keep), _) => (Class::Keep, 0, keep),
            (None, Some(report)) => (Class::Report, 1, report),
        };
        let start = self.offset[lane];
        self.next[lane] += 1;
        self.offset[lane] += entry.octets;
        Some(Located { class, stream: entry.stream, range: start..start + entry.octets })
    }
}

#[cfg(test)]
#[path = "outbox_tests.rs"]
mod tests;
