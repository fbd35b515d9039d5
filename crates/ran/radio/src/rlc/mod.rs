//! RLC of one bearer in one direction, sender and receiver: the transmission buffer, segments in transport blocks, and
//! in-order delivery of complete SDUs (TS 38.322; the ordering belongs to PDCP, TS 38.323 5.2.2.2).
//!
//! * Acknowledged mode: segments that HARQ dropped are retransmitted after a status report, without a maximum: a UE that was
//!   out of coverage resumes. SDUs are lost only to a full buffer or the discard timer.
//! * Unacknowledged mode: such an SDU is lost; later ones wait for the reordering timer.

mod bursts;
mod counts;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::time::Duration;

use crate::fifo::pop_front;
use crate::sojourn_window::SojournWindow;
use crate::{Packet, Time};

use bursts::Bursts;
pub use counts::RlcCounts;

/// Header octets of a complete SDU or its first segment: RLC with an 18-bit sequence number, MAC with a 16-bit length
/// (TS 38.322 6.2.2.4, TS 38.321 6.1.2).
pub const HEADER_OCTETS: u32 = 3 + 3;
/// Header octets of a later segment, which also contains its offset.
pub const LATER_HEADER_OCTETS: u32 = HEADER_OCTETS + 2;
/// Header octets of PDCP and SDAP (TS 38.323 6.2.2.1, TS 37.324 6.2.2).
pub const PDCP_HEADER_OCTETS: u32 = 3 + 1;

/// The RLC mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Acknowledged mode (AM): lost segments are retransmitted.
    #[default]
    Acknowledged,
    /// Unacknowledged mode (UM).
    Unacknowledged,
}

/// RLC parameters of a bearer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RlcConfig {
    /// The mode. Default: acknowledged.
    pub mode: Mode,
    /// Buffer size, PDCP headers included; SDUs that do not fit are dropped. Default: 1 MB.
    pub buffer_octets: u32,
    /// How long later SDUs wait for a missing one (t-Reordering). Default: 40 ms.
    pub reordering: Duration,
    /// From a HARQ failure to the status report about it (t-StatusProhibit plus one way). Default: 15 ms.
    pub status: Duration,
    /// SDUs that have waited longer are discarded (PDCP discardTimer). Default: none.
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

/// An RLC PDU in a transport block, which contains an SDU or a segment of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RlcPdu {
    sn: u64,
    octets: u32,
    /// The slot in which its octets were sent first: a number of [`Bursts`].
    piece: u32,
}

/// An SDU that was sent, at least in part, and is not delivered yet.
#[derive(Debug)]
struct InFlight {
    /// The SDU once it was sent completely; until then it is the head of the buffer.
    packet: Option<Packet>,
    octets: u32,
    /// Octets not received yet.
    missing: u32,
    state: State,
    /// When its last part was sent for the first time.
    sent: Time,
    /// When its first part was received.
    first_received: Time,
    /// When its last part was received.
    complete: Time,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Not lost so far.
    Pending,
    /// Lost; later SDUs are held back until this time.
    Lost(Time),
}

/// RLC of a bearer in one direction, sender and receiver.
#[derive(Debug)]
pub struct Rlc {
    config: RlcConfig,
    waiting: VecDeque<Packet>,
    /// Octets in the buffer, without the sent part of its head.
    waiting_octets: u32,
    /// Octets of the head that were sent: it is in `in_flight` as well.
    head_sent: u32,
    in_flight: VecDeque<InFlight>,
    /// The sequence number of the first of `in_flight`.
    first_sn: u64,
    /// Segments to retransmit, each with its earliest time.
    retransmissions: VecDeque<(Time, RlcPdu)>,
    /// When the reordering timer of the first lost SDU expires.
    release: Time,
    counts: RlcCounts,
    /// The start of the counters: delays are counted from then on.
    counts_since: Time,
    bursts: Bursts,
    /// The time from the reception of a transport block until its sender knows of it.
    feedback: Duration,
    recent: SojournWindow,
}

/// Octets of an SDU with its PDCP header.
fn sdu_octets(packet: &Packet) -> u32 {
    packet.octets + PDCP_HEADER_OCTETS
}

impl Rlc {
    /// Creates an empty entity.
    #[must_use]
    pub fn new(config: RlcConfig) -> Self {
        Rlc {
            config,
            waiting: VecDeque::new(),
            waiting_octets: 0,
            head_sent: 0,
            in_flight: VecDeque::new(),
            first_sn: 0,
            retransmissions: VecDeque::new(),
            release: Time::NEVER,
            counts: RlcCounts::default(),
            counts_since: Time::START,
            bursts: Bursts::default(),
            feedback: Duration::ZERO,
            recent: SojournWindow::default(),
        }
    }

    /// The parameters.
    #[must_use]
    pub fn config(&self) -> &RlcConfig {
        &self.config
    }

    /// Sets the time from the reception of a transport block until its sender knows of it. Default: 0.
    pub(crate) fn set_feedback(&mut self, feedback: Duration) {
        self.feedback = feedback;
    }

    /// That time.
    pub(crate) fn feedback(&self) -> Duration {
        self.feedback
    }

    /// The counters.
    #[must_use]
    pub fn counts(&self) -> &RlcCounts {
        &self.counts
    }

    /// Octets in the buffer, without the sent part of the head.
    #[must_use]
    pub fn waiting_octets(&self) -> u32 {
        self.waiting_octets
    }

    /// SDUs in the buffer, including a partly sent head.
    #[must_use]
    pub fn waiting_packets(&self) -> usize {
        self.waiting.len()
    }

    /// Free octets of the buffer.
    #[must_use]
    pub fn room_octets(&self) -> u32 {
        self.config.buffer_octets.saturating_sub(self.waiting_octets)
    }

    /// The waiting time of the head of the buffer.
    #[must_use]
    pub fn head_wait(&self, now: Time) -> Duration {
        self.waiting.front().map_or(Duration::ZERO, |packet| now.since(packet.entered))
    }

    /// The mean waiting time of SDUs sent within the last 50 to 100 ms; 0 without any.
    #[must_use]
    pub fn recent_sojourn(&self, now: Time) -> Duration {
        self.recent.mean(now)
    }

    /// SDUs in flight and their octets, including the unsent part of a partly sent SDU.
    #[must_use]
    pub fn in_flight(&self) -> (usize, u64) {
        (self.in_flight.len(), self.in_flight.iter().map(|in_flight| u64::from(in_flight.octets)).sum())
    }

    /// SDUs that the receiver has, at least in part, and cannot deliver yet, and the octets that it has of them.
    #[must_use]
    pub fn held(&self) -> (usize, u64) {
        let octets = self.in_flight.iter().map(|in_flight| u64::from(in_flight.octets - in_flight.missing));
        octets.filter(|octets| *octets > 0).fold((0, 0), |(packets, sum), octets| (packets + 1, sum + octets))
    }

    /// When the next timer expires: reordering or discard.
    pub(crate) fn next_timer(&self) -> Time {
        let first = self.waiting.get(usize::from(self.head_sent > 0));
        let late = self.config.discard.zip(first).map_or(Time::NEVER, |(limit, packet)| packet.entered + limit);
        self.release.min(late)
    }

    /// Whether nothing is left to send, now or later.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting_octets == 0 && self.retransmissions.is_empty()
    }

    /// Octets that transport blocks would need now, headers included.
    #[must_use]
    pub fn demand_octets(&self, now: Time) -> u32 {
        let due = self.retransmissions.iter().take_while(|(due, _)| *due <= now);
        let again: u32 = due.map(|(_, pdu)| pdu.octets + LATER_HEADER_OCTETS).sum();
        let later = if self.head_sent > 0 { LATER_HEADER_OCTETS - HEADER_OCTETS } else { 0 };
        again + self.waiting_octets + HEADER_OCTETS * self.waiting.len() as u32 + later
    }

    /// Enqueues an SDU. Returns false when the buffer is full.
    pub fn push(&mut self, now: Time, mut packet: Packet) -> bool {
        let octets = sdu_octets(&packet);
        self.counts.in_packets += 1;
        self.counts.in_octets += u64::from(octets);
        self.discard_late(now);
        if octets > self.room_octets() {
            self.counts.buffer_full_packets += 1;
            self.counts.buffer_full_octets += u64::from(octets);
            return false;
        }
        packet.entered = now;
        if self.waiting_octets == 0 {
            self.bursts.end();
        }
        self.waiting_octets += octets;
        self.waiting.push_back(packet);
        true
    }

    /// Fills up to `room_octets` of a transport block. Returns the octets used, headers included.
    pub fn pull(&mut self, now: Time, room_octets: u32, mut take: impl FnMut(RlcPdu)) -> u32 {
        self.discard_late(now);
        let mut room = room_octets;
        while let Some((due, pdu)) = self.retransmissions.front_mut() {
            if *due > now || room <= LATER_HEADER_OCTETS {
                break;
            }
            let octets = pdu.octets.min(room - LATER_HEADER_OCTETS);
            let part = RlcPdu { octets, ..*pdu };
            pdu.octets -= octets;
            if pdu.octets == 0 {
                self.retransmissions.pop_front();
            }
            self.counts.retransmitted_pdus += 1;
            self.counts.retransmitted_octets += u64::from(octets);
            take(self.send(part, LATER_HEADER_OCTETS, &mut room));
        }
        let (piece, sent_before) = (self.bursts.piece_of(now), self.counts.sent_octets);
        while let Some(packet) = self.waiting.front() {
            let header = if self.head_sent == 0 { HEADER_OCTETS } else { LATER_HEADER_OCTETS };
            if room <= header {
                break;
            }
            let whole = sdu_octets(packet);
            let left = whole - self.head_sent;
            let octets = left.min(room - header);
            if self.head_sent == 0 {
                self.in_flight.push_back(InFlight {
                    packet: None,
                    octets: whole,
                    missing: whole,
                    state: State::Pending,
                    sent: now,
                    first_received: now,
                    complete: now,
                });
            }
            let sn = self.first_sn + self.in_flight.len() as u64 - 1;
            self.counts.segments += u64::from(octets < whole);
            self.counts.sent_octets += u64::from(octets);
            self.waiting_octets -= octets;
            if octets == left {
                let waited = now.since(packet.entered);
                self.recent.record(now, waited);
                let sojourn = now.nanos_since(packet.entered.max(self.counts_since));
                self.counts.sent_packets += 1;
                self.counts.sojourn_ns += sojourn;
                self.counts.last_sojourn_ns = sojourn;
                let sent = pop_front(&mut self.waiting);
                if let Some(in_flight) = self.in_flight.back_mut() {
                    in_flight.packet = sent;
                    in_flight.sent = now;
                }
                self.head_sent = 0;
            } else {
                self.head_sent += octets;
            }
            take(self.send(RlcPdu { sn, octets, piece }, header, &mut room));
        }
        self.bursts.sent(now, (self.counts.sent_octets - sent_before) as u32, self.waiting_octets == 0);
        room_octets - room
    }

    fn send(&mut self, pdu: RlcPdu, header: u32, room: &mut u32) -> RlcPdu {
        self.counts.sent_pdus += 1;
        self.counts.header_octets += u64::from(header);
        *room -= pdu.octets + header;
        pdu
    }

    /// Discards unsent SDUs whose discard timer has expired (TS 38.323 5.3).
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

    /// Discards all SDUs of a re-established entity, because the bearer is released.
    pub(crate) fn discard_all(&mut self) {
        debug_assert!(self.in_flight.is_empty() && self.head_sent == 0, "the entity is re-established first");
        for packet in self.waiting.drain(..) {
            self.counts.discarded_packets += 1;
            self.counts.discarded_octets += u64::from(sdu_octets(&packet));
        }
        self.waiting_octets = 0;
    }

    /// Receives a segment and delivers SDUs that are complete and in order.
    pub fn received(&mut self, now: Time, pdu: RlcPdu, out: &mut Vec<Packet>) {
        self.counts.received_pdus += 1;
        self.counts.received_octets += u64::from(pdu.octets);
        let acknowledged = now + self.feedback;
        self.bursts.acknowledged(acknowledged, pdu, &mut self.counts);
        let Some(at) = pdu.sn.checked_sub(self.first_sn) else { return };
        let Some(in_flight) = self.in_flight.get_mut(at as usize) else { return };
        if in_flight.missing == in_flight.octets {
            in_flight.first_received = now;
        }
        in_flight.missing -= pdu.octets;
        if in_flight.missing == 0 {
            in_flight.complete = now;
            self.counts.complete_packets += 1;
            self.counts.air_ns += acknowledged.nanos_since(in_flight.sent);
            self.counts.assembly_ns += now.nanos_since(in_flight.first_received);
        }
        if at == 0 {
            self.deliver(now, out);
        }
    }

    /// Handles a segment that HARQ has dropped.
    pub fn failed(&mut self, now: Time, pdu: RlcPdu) {
        if self.config.mode == Mode::Unacknowledged {
            self.bursts.lost(now + self.feedback, pdu, &mut self.counts);
        }
        let Some(at) = pdu.sn.checked_sub(self.first_sn) else { return };
        let Some(in_flight) = self.in_flight.get_mut(at as usize) else { return };
        match self.config.mode {
            Mode::Acknowledged => {
                let due = now + self.config.status;
                match self.retransmissions.back_mut() {
                    // segments of an SDU are merged: otherwise they would become smaller with each retransmission
                    Some((last_due, last)) if last.sn == pdu.sn => {
                        *last_due = due;
                        last.octets += pdu.octets;
                        self.bursts.merge(pdu, last.piece);
                    }
                    _ => self.retransmissions.push_back((due, pdu)),
                }
            }
            Mode::Unacknowledged => {
                // the reordering timer starts with the first loss
                if in_flight.state == State::Pending {
                    let until = now + self.config.reordering;
                    in_flight.state = State::Lost(until);
                    if at == 0 {
                        self.release = until;
                    }
                }
            }
        }
    }

    /// When the reordering timer expires; [`Time::NEVER`] when it is not running.
    #[must_use]
    pub fn next_release(&self) -> Time {
        self.release
    }

    /// Delivers SDUs that are complete and in order, and those whose reordering timer has expired.
    pub fn deliver(&mut self, now: Time, out: &mut Vec<Packet>) {
        self.release = Time::NEVER;
        while let Some(in_flight) = self.in_flight.front() {
            // the last SDU may be sent only in part
            let octets = u64::from(in_flight.octets);
            match in_flight.state {
                State::Pending if in_flight.missing > 0 => break,
                State::Lost(until) if until > now || self.in_flight.len() == 1 && self.head_sent > 0 => {
                    self.release = until.max(now + Duration::from_millis(1));
                    break;
                }
                State::Pending => {
                    self.counts.delivered_packets += 1;
                    self.counts.delivered_octets += octets;
                    self.counts.reordering_ns += now.nanos_since(in_flight.complete);
                    out.extend(pop_front(&mut self.in_flight).and_then(|in_flight| in_flight.packet));
                }
                State::Lost(_) => {
                    self.counts.lost_packets += 1;
                    self.counts.lost_octets += octets;
                    pop_front(&mut self.in_flight);
                }
            }
            self.first_sn += 1;
        }
    }

    /// Resets the counters at `now`: buffered SDUs count as just arrived.
    pub fn reset_counts(&mut self, now: Time) {
        self.counts_since = now;
        let in_packets = self.waiting.len() as u64;
        self.counts = RlcCounts { in_packets, in_octets: u64::from(self.waiting_octets), ..RlcCounts::default() };
    }

    /// Re-establishes the entity at a handover. In acknowledged mode, undelivered SDUs are sent again in order; in
    /// unacknowledged mode, SDUs in flight are lost (TS 38.323 5.1.2).
    pub fn reestablish(&mut self, out: &mut Vec<Packet>) {
        self.retransmissions.clear();
        self.bursts.clear();
        if self.head_sent > 0 {
            // the partly sent head is sent again as a whole
            self.in_flight.pop_back();
            self.first_sn += 1;
            self.waiting_octets += self.head_sent;
            self.head_sent = 0;
        }
        self.first_sn += self.in_flight.len() as u64;
        self.release = Time::NEVER;
        match self.config.mode {
            Mode::Acknowledged => {
                // the receiver discards duplicates by their PDCP sequence number
                for packet in self.in_flight.drain(..).rev().filter_map(|in_flight| in_flight.packet) {
                    self.waiting_octets += sdu_octets(&packet);
                    self.waiting.push_front(packet);
                }
            }
            Mode::Unacknowledged => {
                for in_flight in self.in_flight.drain(..) {
                    let whole = in_flight.missing == 0 && in_flight.state == State::Pending;
                    let (packets, octets) = if whole {
                        (&mut self.counts.delivered_packets, &mut self.counts.delivered_octets)
                    } else {
                        (&mut self.counts.lost_packets, &mut self.counts.lost_octets)
                    };
                    *packets += 1;
                    *octets += u64::from(in_flight.octets);
                    out.extend(in_flight.packet.filter(|_| whole));
                }
            }
        }
    }
}
