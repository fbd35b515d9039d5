//! RLC of one bearer in one direction, both ends of it: the buffer at the sender, pieces of SDUs in transport blocks, and at
//! the receiver the SDUs that are whole, in order (TS 38.322; the order is PDCP's work, TS 38.323 5.2.2.2).
//!
//! * Acknowledged mode: what HARQ has given up is sent again once a status report has told of it, as often as it takes: who is
//!   out of range goes on when it is back. Nothing is lost, but what finds the buffer full or waits too long.
//! * Unacknowledged mode: such an SDU is lost; what came after it waits for it as long as reordering takes.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::time::Duration;

use crate::recent::Recent;
use crate::{Packet, Time};

/// Octets of headers of a piece that is a whole SDU or the first of its pieces: RLC with a sequence number of 18 bits, and
/// MAC with a length of 16 (TS 38.322 6.2.2.4, TS 38.321 6.1.2).
pub const HEADER_OCTETS: u32 = 3 + 3;
/// The same of a later piece, which tells its offset too.
pub const LATER_HEADER_OCTETS: u32 = HEADER_OCTETS + 2;
/// What PDCP and SDAP put before an SDU (TS 38.323 6.2.2.1, TS 37.324 6.2.2).
pub const PDCP_HEADER_OCTETS: u32 = 3 + 1;

/// Whether what is lost on the air is sent again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mode {
    /// It is (AM).
    #[default]
    Acknowledged,
    /// It is not (UM).
    Unacknowledged,
}

/// How a bearer's RLC works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RlcConfig {
    /// Its mode. Default: acknowledged.
    pub mode: Mode,
    /// What its buffer holds, with PDCP's headers: what comes while it is full is dropped. Default: 1 MB.
    pub buffer_octets: u32,
    /// How long what came early waits for what is lost (t-Reordering). Default: 40 ms.
    pub reordering: Duration,
    /// From HARQ's giving up until a status report has told of it (t-StatusProhibit and a way back). Default: 15 ms.
    pub status: Duration,
    /// An SDU that has waited longer is thrown away in place of sent (PDCP's discardTimer). Default: none.
    pub discard: Option<Duration>,
}

impl Default for RlcConfig {
    fn default() -> Self {
        RlcConfig {
            mode: Mode::default(),
            buffer_octets: 1_000_000,
            reordering: Duration::from_millis(40),
            status: Duration::from_millis(15),
            discard: None,
        }
    }
}

/// Part of an SDU, in a transport block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    sn: u64,
    octets: u32,
}

/// What was counted of a bearer in one direction, from its beginning. Octets are those of SDUs, with PDCP's headers, unless
/// said otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RlcCounts {
    /// SDUs that came from above.
    pub in_packets: u64,
    /// Their octets.
    pub in_octets: u64,
    /// SDUs that found the buffer full.
    pub full_packets: u64,
    /// Their octets.
    pub full_octets: u64,
    /// SDUs that waited too long.
    pub discarded_packets: u64,
    /// Their octets.
    pub discarded_octets: u64,
    /// SDUs that were sent, all of them: those sent anew from another cell once more.
    pub sent_packets: u64,
    /// Octets that were sent for the first time.
    pub sent_octets: u64,
    /// Pieces that were sent: RLC PDUs.
    pub sent_pieces: u64,
    /// Pieces that were not whole SDUs.
    pub segments: u64,
    /// Octets of RLC's and MAC's headers.
    pub header_octets: u64,
    /// Pieces that were sent again by RLC.
    pub again_pieces: u64,
    /// Octets of SDUs that were sent again by RLC.
    pub again_octets: u64,
    /// Pieces that came to the other end.
    pub received_pieces: u64,
    /// Octets of SDUs in them, without headers.
    pub received_octets: u64,
    /// SDUs that came to the other end, in order.
    pub delivered_packets: u64,
    /// Their octets.
    pub delivered_octets: u64,
    /// SDUs that were lost on the air.
    pub lost_packets: u64,
    /// Their octets.
    pub lost_octets: u64,
    /// Nanoseconds that SDUs waited until all of them was sent, summed up: divide by `sent_packets`.
    pub sojourn_nanos: u64,
    /// The same of the last one, in nanoseconds.
    pub last_sojourn_nanos: u64,
}

impl std::ops::AddAssign for RlcCounts {
    /// Of two bearers together; of the last sojourn the longer one.
    fn add_assign(&mut self, other: Self) {
        self.in_packets += other.in_packets;
        self.in_octets += other.in_octets;
        self.full_packets += other.full_packets;
        self.full_octets += other.full_octets;
        self.discarded_packets += other.discarded_packets;
        self.discarded_octets += other.discarded_octets;
        self.sent_packets += other.sent_packets;
        self.sent_octets += other.sent_octets;
        self.sent_pieces += other.sent_pieces;
        self.segments += other.segments;
        self.header_octets += other.header_octets;
        self.again_pieces += other.again_pieces;
        self.again_octets += other.again_octets;
        self.received_pieces += other.received_pieces;
        self.received_octets += other.received_octets;
        self.delivered_packets += other.delivered_packets;
        self.delivered_octets += other.delivered_octets;
        self.lost_packets += other.lost_packets;
        self.lost_octets += other.lost_octets;
        self.sojourn_nanos += other.sojourn_nanos;
        self.last_sojourn_nanos = self.last_sojourn_nanos.max(other.last_sojourn_nanos);
    }
}

/// An SDU of which something was sent, and which is not delivered yet.
#[derive(Debug)]
struct Flying {
    /// The SDU, once all of it was sent; before, it is the first that waits.
    packet: Option<Packet>,
    octets: u32,
    /// Octets that have not come to the other end yet.
    missing: u32,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Part of it is under way.
    UnderWay,
    /// Lost; what comes after it is held back until then.
    Lost(Time),
}

/// RLC of a bearer in one direction.
#[derive(Debug)]
pub struct Rlc {
    config: RlcConfig,
    waiting: VecDeque<Packet>,
    /// Octets that wait, without what of the first was sent.
    waiting_octets: u32,
    /// What of the first that waits was sent: the rest of it is in `flying` too.
    head_sent: u32,
    flying: VecDeque<Flying>,
    /// The sequence number of the first of `flying`.
    first_sn: u64,
    /// What is to be sent again, and from when on.
    again: VecDeque<(Time, Piece)>,
    /// When what is held back behind a loss goes on.
    release: Time,
    counts: RlcCounts,
    recent: Recent,
}

/// Octets of an SDU with PDCP's header.
fn sdu_octets(packet: &Packet) -> u32 {
    packet.octets + PDCP_HEADER_OCTETS
}

impl Rlc {
    /// An empty one.
    #[must_use]
    pub fn new(config: RlcConfig) -> Self {
        Rlc {
            config,
            waiting: VecDeque::new(),
            waiting_octets: 0,
            head_sent: 0,
            flying: VecDeque::new(),
            first_sn: 0,
            again: VecDeque::new(),
            release: Time::NEVER,
            counts: RlcCounts::default(),
            recent: Recent::default(),
        }
    }

    /// How it works.
    #[must_use]
    pub fn config(&self) -> &RlcConfig {
        &self.config
    }

    /// What was counted.
    #[must_use]
    pub fn counts(&self) -> &RlcCounts {
        &self.counts
    }

    /// Octets in the buffer, without what was sent.
    #[must_use]
    pub fn waiting_octets(&self) -> u32 {
        self.waiting_octets
    }

    /// SDUs in the buffer, with one of which a part was sent.
    #[must_use]
    pub fn waiting_packets(&self) -> usize {
        self.waiting.len()
    }

    /// Octets that the buffer still takes.
    #[must_use]
    pub fn room_octets(&self) -> u32 {
        self.config.buffer_octets.saturating_sub(self.waiting_octets)
    }

    /// How long the first SDU of the buffer has waited.
    #[must_use]
    pub fn head_wait(&self, now: Time) -> Duration {
        self.waiting.front().map_or(Duration::ZERO, |packet| now.since(packet.entered))
    }

    /// How long SDUs have waited, in the mean, that were sent within the last 50 to 100 ms; nothing where none was.
    #[must_use]
    pub fn recent_sojourn(&self, now: Time) -> Duration {
        self.recent.mean(now)
    }

    /// SDUs that were sent in part or whole and are not delivered, and their octets, with those of the last one that still wait.
    #[must_use]
    pub fn flying(&self) -> (usize, u64) {
        (self.flying.len(), self.flying.iter().map(|flying| u64::from(flying.octets)).sum())
    }

    /// SDUs of which the other end has something and which it cannot deliver yet, and the octets that it has.
    #[must_use]
    pub fn held(&self) -> (usize, u64) {
        let octets = self.flying.iter().map(|flying| u64::from(flying.octets - flying.missing));
        octets.filter(|octets| *octets > 0).fold((0, 0), |(packets, sum), octets| (packets + 1, sum + octets))
    }

    /// When something is due though nothing happens: what is held back goes on, or what waits has waited too long.
    pub(crate) fn next_timer(&self) -> Time {
        let first = self.waiting.get(usize::from(self.head_sent > 0));
        let late = self.config.discard.zip(first).map_or(Time::NEVER, |(limit, packet)| packet.entered + limit);
        self.release.min(late)
    }

    /// Whether nothing is to be sent, now or later.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting_octets == 0 && self.again.is_empty()
    }

    /// What transport blocks would have to carry now, with headers.
    #[must_use]
    pub fn demand_octets(&self, now: Time) -> u32 {
        let due = self.again.iter().take_while(|(due, _)| *due <= now);
        let again: u32 = due.map(|(_, piece)| piece.octets + LATER_HEADER_OCTETS).sum();
        let later = if self.head_sent > 0 { LATER_HEADER_OCTETS - HEADER_OCTETS } else { 0 };
        again + self.waiting_octets + HEADER_OCTETS * self.waiting.len() as u32 + later
    }

    /// An SDU comes from above; whether there was room.
    pub fn push(&mut self, now: Time, mut packet: Packet) -> bool {
        let octets = sdu_octets(&packet);
        self.counts.in_packets += 1;
        self.counts.in_octets += u64::from(octets);
        self.discard_late(now);
        if octets > self.room_octets() {
            self.counts.full_packets += 1;
            self.counts.full_octets += u64::from(octets);
            return false;
        }
        packet.entered = now;
        self.waiting_octets += octets;
        self.waiting.push_back(packet);
        true
    }

    /// Fills up to so many octets of a transport block; how many were used, headers among them.
    pub fn pull(&mut self, now: Time, room_octets: u32, mut take: impl FnMut(Piece)) -> u32 {
        self.discard_late(now);
        let mut room = room_octets;
        while let Some((due, piece)) = self.again.front_mut() {
            if *due > now || room <= LATER_HEADER_OCTETS {
                break;
            }
            let octets = piece.octets.min(room - LATER_HEADER_OCTETS);
            let part = Piece { sn: piece.sn, octets };
            piece.octets -= octets;
            if piece.octets == 0 {
                self.again.pop_front();
            }
            self.counts.again_pieces += 1;
            self.counts.again_octets += u64::from(octets);
            take(self.send(part, LATER_HEADER_OCTETS, &mut room));
        }
        while let Some(packet) = self.waiting.front() {
            let header = if self.head_sent == 0 { HEADER_OCTETS } else { LATER_HEADER_OCTETS };
            if room <= header {
                break;
            }
            let whole = sdu_octets(packet);
            let left = whole - self.head_sent;
            let octets = left.min(room - header);
            if self.head_sent == 0 {
                self.flying.push_back(Flying { packet: None, octets: whole, missing: whole, state: State::UnderWay });
            }
            let sn = self.first_sn + self.flying.len() as u64 - 1;
            self.counts.segments += u64::from(octets < whole);
            self.counts.sent_octets += u64::from(octets);
            self.waiting_octets -= octets;
            if octets == left {
                let waited = now.since(packet.entered);
                self.recent.record(now, waited);
                let sojourn = waited.as_nanos() as u64;
                self.counts.sent_packets += 1;
                self.counts.sojourn_nanos += sojourn;
                self.counts.last_sojourn_nanos = sojourn;
                let sent = self.waiting.pop_front();
                if let Some(flying) = self.flying.back_mut() {
                    flying.packet = sent;
                }
                self.head_sent = 0;
            } else {
                self.head_sent += octets;
            }
            take(self.send(Piece { sn, octets }, header, &mut room));
        }
        room_octets - room
    }

    fn send(&mut self, piece: Piece, header: u32, room: &mut u32) -> Piece {
        self.counts.sent_pieces += 1;
        self.counts.header_octets += u64::from(header);
        *room -= piece.octets + header;
        piece
    }

    /// Throws away what has waited too long and of which nothing was sent (TS 38.323 5.3).
    pub fn discard_late(&mut self, now: Time) {
        let Some(limit) = self.config.discard else { return };
        let first = usize::from(self.head_sent > 0);
        while let Some(packet) = self.waiting.get(first).filter(|packet| now.since(packet.entered) > limit) {
            let octets = sdu_octets(packet);
            self.counts.discarded_packets += 1;
            self.counts.discarded_octets += u64::from(octets);
            self.waiting_octets -= octets;
            self.waiting.remove(first);
        }
    }

    /// A piece has come to the other end. What is whole now and in order is delivered.
    pub fn received(&mut self, now: Time, piece: Piece, out: &mut Vec<Packet>) {
        self.counts.received_pieces += 1;
        self.counts.received_octets += u64::from(piece.octets);
        let Some(at) = piece.sn.checked_sub(self.first_sn) else { return };
        let Some(flying) = self.flying.get_mut(at as usize) else { return };
        flying.missing -= piece.octets;
        if at == 0 {
            self.deliver(now, out);
        }
    }

    /// HARQ has given a piece up.
    pub fn failed(&mut self, now: Time, piece: Piece) {
        let Some(at) = piece.sn.checked_sub(self.first_sn) else { return };
        let Some(flying) = self.flying.get_mut(at as usize) else { return };
        match self.config.mode {
            Mode::Acknowledged => {
                let due = now + self.config.status;
                match self.again.back_mut() {
                    // pieces of an SDU are sent again as one: else they would get smaller and smaller
                    Some((last_due, last)) if last.sn == piece.sn => {
                        *last_due = due;
                        last.octets += piece.octets;
                    }
                    _ => self.again.push_back((due, piece)),
                }
            }
            Mode::Unacknowledged => {
                // the timer runs from the first loss
                if flying.state == State::UnderWay {
                    let until = now + self.config.reordering;
                    flying.state = State::Lost(until);
                    if at == 0 {
                        self.release = until;
                    }
                }
            }
        }
    }

    /// When something that was held back behind a loss goes on: [`Time::NEVER`] where nothing is.
    #[must_use]
    pub fn next_release(&self) -> Time {
        self.release
    }

    /// Delivers what is whole and in order, and what was held back long enough.
    pub fn deliver(&mut self, now: Time, out: &mut Vec<Packet>) {
        self.release = Time::NEVER;
        while let Some(flying) = self.flying.front() {
            // the last one may still wait in part
            let octets = u64::from(flying.octets);
            match flying.state {
                State::UnderWay if flying.missing > 0 => break,
                State::Lost(until) if until > now || self.flying.len() == 1 && self.head_sent > 0 => {
                    self.release = until.max(now + Duration::from_millis(1));
                    break;
                }
                State::UnderWay => {
                    self.counts.delivered_packets += 1;
                    self.counts.delivered_octets += octets;
                    out.extend(self.flying.pop_front().and_then(|flying| flying.packet));
                }
                State::Lost(_) => {
                    self.counts.lost_packets += 1;
                    self.counts.lost_octets += octets;
                    self.flying.pop_front();
                }
            }
            self.first_sn += 1;
        }
    }

    /// Counts from here on: what is in the buffer has just come.
    pub fn reset_counts(&mut self) {
        let in_packets = self.waiting.len() as u64;
        self.counts = RlcCounts { in_packets, in_octets: u64::from(self.waiting_octets), ..RlcCounts::default() };
    }

    /// The UE goes to another cell. In acknowledged mode what was not delivered is sent anew from there, in order; in the
    /// other what was under way is lost (TS 38.323 5.1.2).
    pub fn reestablish(&mut self, out: &mut Vec<Packet>) {
        self.again.clear();
        if self.head_sent > 0 {
            // all of it is to be sent anew
            self.flying.pop_back();
            self.first_sn += 1;
            self.waiting_octets += self.head_sent;
            self.head_sent = 0;
        }
        self.first_sn += self.flying.len() as u64;
        self.release = Time::NEVER;
        match self.config.mode {
            Mode::Acknowledged => {
                // what has come early comes again: PDCP knows it by its number
                for packet in self.flying.drain(..).rev().filter_map(|flying| flying.packet) {
                    self.waiting_octets += sdu_octets(&packet);
                    self.waiting.push_front(packet);
                }
            }
            Mode::Unacknowledged => {
                for flying in self.flying.drain(..) {
                    let whole = flying.missing == 0 && flying.state == State::UnderWay;
                    let (packets, octets) = if whole {
                        (&mut self.counts.delivered_packets, &mut self.counts.delivered_octets)
                    } else {
                        (&mut self.counts.lost_packets, &mut self.counts.lost_octets)
                    };
                    *packets += 1;
                    *octets += u64::from(flying.octets);
                    out.extend(flying.packet.filter(|_| whole));
                }
            }
        }
    }
}
