//! Data bursts of a bearer: the samples of the UE throughput (TS 28.552 5.1.1.3.1 and 5.1.1.3.3).
//!
//! A burst begins with the first transmission after the buffer was empty and ends with the transmission that empties it. What
//! a slot carries of it is a piece. The throughput has all pieces but the last one, from the beginning of the burst until the
//! second last piece is acknowledged. A burst of one piece, in which all of the buffer fits into one transport block, has no
//! throughput; its volume is unrestricted (5.1.1.3.5).
//!
//! A piece is counted when it and all pieces before it are acknowledged: a burst that continues over a reporting period
//! counts in each period with what was acknowledged in it.

use std::collections::VecDeque;

use super::{RlcCounts, RlcPdu};
use crate::Time;
use crate::fifo::pop_front;

/// The new octets that a slot carried.
#[derive(Clone, Copy, Debug)]
struct Piece {
    octets: u32,
    /// Octets that are not acknowledged.
    missing: u32,
    /// When its burst began, for the first piece of a burst.
    start: Option<Time>,
    /// Whether it emptied the buffer.
    is_last: bool,
}

/// The bursts of a bearer in one direction.
#[derive(Debug, Default)]
pub(super) struct Bursts {
    /// Pieces that are not acknowledged, or that follow one.
    pieces: VecDeque<Piece>,
    /// The number of the first of them; numbers wrap around.
    first: u32,
    /// Whether the buffer was not emptied since the last piece.
    is_open: bool,
    /// The slot of the last piece.
    slot: Option<Time>,
    /// The time until which the burst of the first piece is counted.
    counted_until: Time,
}

impl Bursts {
    /// The number of the piece that is sent in the slot of `now`.
    pub fn piece_of(&self, now: Time) -> u32 {
        let count = self.pieces.len() as u32;
        self.first.wrapping_add(if self.continues(now) { count - 1 } else { count })
    }

    /// Whether the last piece was sent in this slot.
    fn continues(&self, now: Time) -> bool {
        self.slot == Some(now) && !self.pieces.is_empty()
    }

    /// Adds new octets that are sent in the slot of `now`.
    pub fn sent(&mut self, now: Time, octets: u32, empties: bool) {
        if octets == 0 {
            return;
        }
        match self.pieces.back_mut() {
            Some(last) if self.slot == Some(now) => {
                last.octets += octets;
                last.missing += octets;
                last.is_last = empties;
            }
            _ => {
                let start = (!self.is_open).then_some(now);
                self.pieces.push_back(Piece { octets, missing: octets, start, is_last: empties });
            }
        }
        self.slot = Some(now);
        self.is_open = !empties;
    }

    /// Ends the burst: the buffer has become empty without a transmission.
    pub fn end(&mut self) {
        self.is_open = false;
    }

    /// Counts the pieces that are acknowledged with the octets of a PDU.
    pub fn acknowledged(&mut self, now: Time, pdu: RlcPdu, counts: &mut RlcCounts) {
        if let Some(piece) = self.piece_mut(pdu.piece) {
            piece.missing -= pdu.octets;
            self.count(now, counts);
        }
    }

    /// Removes octets that are lost for good: they belong to no throughput.
    pub fn lost(&mut self, now: Time, pdu: RlcPdu, counts: &mut RlcCounts) {
        if let Some(piece) = self.piece_mut(pdu.piece) {
            piece.missing -= pdu.octets;
            piece.octets -= pdu.octets;
            self.count(now, counts);
        }
    }

    /// Moves the octets of a PDU, which is merged into one of another piece.
    pub fn merge(&mut self, pdu: RlcPdu, into: u32) {
        if self.piece_mut(into).is_none() {
            return;
        }
        if let Some(piece) = self.piece_mut(pdu.piece) {
            piece.missing -= pdu.octets;
            piece.octets -= pdu.octets;
        }
        if let Some(piece) = self.piece_mut(into) {
            piece.missing += pdu.octets;
            piece.octets += pdu.octets;
        }
    }

    /// Forgets all pieces, at a handover.
    pub fn clear(&mut self) {
        self.first = self.first.wrapping_add(self.pieces.len() as u32);
        self.pieces.clear();
        self.is_open = false;
        self.slot = None;
    }

    fn piece_mut(&mut self, number: u32) -> Option<&mut Piece> {
        self.pieces.get_mut(number.wrapping_sub(self.first) as usize)
    }

    fn count(&mut self, now: Time, counts: &mut RlcCounts) {
        while let Some(piece) = self.pieces.front().copied().filter(|piece| piece.missing == 0) {
            pop_front(&mut self.pieces);
            self.first = self.first.wrapping_add(1);
            if let Some(start) = piece.start {
                self.counted_until = start;
            }
            let octets = u64::from(piece.octets);
            match (piece.is_last, piece.start) {
                (false, _) => {
                    counts.throughput_octets += octets;
                    counts.throughput_ns += now.nanos_since(self.counted_until);
                    self.counted_until = self.counted_until.max(now);
                }
                (true, Some(_)) => counts.unrestricted_octets += octets,
                (true, None) => {}
            }
        }
    }
}
