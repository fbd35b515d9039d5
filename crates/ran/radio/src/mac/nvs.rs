//! NVS, the network virtualization substrate (Kokku, Mahindra, Zhang and Rangarajan, 2012; FlexRIC paper, appendix B).
//!
//! A capacity slice reserves a share `c` of the cell. A rate slice reserves the rate `r` over the reference rate `ref`; its
//! share is `r / ref`, so the reservations of a cell add up to at most 1. Each slot goes to the slice with the largest weight
//! among those with something to send, the rest of the slot to the next one:
//!
//! ```text
//! weight = share / average
//! capacity slice: average = PRBs received / PRBs of the cell
//! rate slice:     average = max(PRBs received / PRBs of the cell, rate received / ref)
//! ```
//!
//! A rate slice whose UEs reach more than the reference rate per PRB receives its rate with fewer PRBs. One whose UEs reach
//! less receives its share of the PRBs and no more: the shares of the others do not depend on its channels. Both kinds may use
//! what the others leave.
//!
//! Averages are sums since the first slot, not moving averages: the order of `share / average` is that of `received / share`,
//! which is the service tag of start-time fair queueing (Goyal, Vin and Cheng, 1997). So backlogged slices receive their
//! shares within one slot, over any time. PRBs count by their resource elements for data ([`crate::PrbUsage`]).
//!
//! A slice that leaves capacity to others does not accumulate a claim to it: see [`CLAIM_SLOTS`]. UEs without a slice form a
//! slice whose reservation is the unreserved part of the cell.

#[cfg(test)]
mod tests;

use super::{Allocation, SliceScheduler, SliceShare, SlotDemand};

/// The slots to whose share a slice keeps its claim while it has less to send than it may. A slice that becomes busy receives
/// its share of these slots in advance; all such slices together delay the others by at most as many slots. It is the default
/// HARQ round trip: a slice whose UEs pause until their feedback arrives keeps its share, a longer pause is not made up for.
pub const CLAIM_SLOTS: f64 = 8.0;
/// The slots over which the rate of a rate slice is averaged for the comparison with its PRBs: UEs with better and worse
/// channels than the reference compensate each other within this time.
pub const RATE_WINDOW_SLOTS: f64 = 100.0;
/// Lower bound of a share, for the order among slices without a reservation.
const LEAST: f64 = 1e-6;
/// The largest valid sum of reservations. Admission control accepts a sum up to a millionth above 1 for rounding, and may
/// have added in another order.
const MOST_PROMISED: f64 = 1.0 + 2e-6;

/// The reservation of a slice.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reservation {
    /// A share of the resource blocks, from 0 to 1.
    Capacity(f64),
    /// A bit rate, relative to a reference: the rate that the slice would reach with all resource blocks.
    Rate {
        /// The reserved rate.
        reserved_bps: f64,
        /// The reference rate, above 0.
        reference_bps: f64,
    },
}

impl Reservation {
    /// The share of the cell that admission control counts for it.
    #[must_use]
    pub fn share(&self) -> f64 {
        match *self {
            Reservation::Capacity(share) => share,
            Reservation::Rate { reserved_bps, reference_bps } => reserved_bps / reference_bps,
        }
    }
}

/// A slice, with what it received in slots of the whole carrier, divided by its share.
#[derive(Clone, Copy, Debug)]
struct Slice {
    share: f64,
    /// Without a reservation it is served after all others.
    has_reservation: bool,
    /// Octets of a slot at the reference rate, of a rate slice.
    reference_octets: Option<f64>,
    by_prbs: f64,
    /// Of a capacity slice, minus infinity.
    by_rate: f64,
    /// What it needs in this slot, in resource blocks.
    wanted: u32,
}

impl Slice {
    fn new(reservation: Reservation, reference_octets: Option<f64>) -> Self {
        let by_rate = if reference_octets.is_some() { 0.0 } else { f64::NEG_INFINITY };
        let (share, has_reservation) = (reservation.share().max(LEAST), reservation.share() > 0.0);
        Slice { share, has_reservation, reference_octets, by_prbs: 0.0, by_rate, wanted: 0 }
    }

    fn received(&self) -> f64 {
        self.by_prbs.max(self.by_rate)
    }

    fn shift(&mut self, by: f64) {
        self.by_prbs += by;
        self.by_rate += by;
    }

    /// Adds what it received: `slots` of the whole carrier.
    fn count(&mut self, slots: f64, octets: u32) {
        self.by_prbs += slots / self.share;
        if let Some(reference_octets) = self.reference_octets {
            self.by_rate += f64::from(octets) / reference_octets / self.share;
            self.by_rate = self.by_rate.max(self.by_prbs - RATE_WINDOW_SLOTS);
            self.by_prbs = self.by_prbs.max(self.by_rate - RATE_WINDOW_SLOTS);
        }
    }

    /// The order of service: largest weight first.
    fn order(&self, other: &Self) -> std::cmp::Ordering {
        let without = |slice: &Self| !slice.has_reservation;
        without(self).cmp(&without(other)).then(self.received().total_cmp(&other.received()))
    }
}

/// The NVS slice scheduler.
#[derive(Clone, Debug)]
pub struct Nvs {
    /// The configured slices, then the one of UEs without a slice.
    slices: Vec<Slice>,
    is_shared: bool,
    /// The slice that owns the current slot, when slots are not shared.
    turn: Option<usize>,
}

impl Nvs {
    /// Creates the scheduler. Unless `is_shared`, slots of an idle slice stay unused, and a rate slice receives its share of the
    /// slots whatever its rate. `slots_per_s` is the number of slots of the direction per second, each counted by its
    /// length.
    ///
    /// # Panics
    /// When the reservations exceed the cell. Admission control rejects such reservations first.
    #[must_use]
    pub fn new(reservations: &[Reservation], is_shared: bool, slots_per_s: f64) -> Self {
        let sum: f64 = reservations.iter().map(Reservation::share).sum();
        assert!(sum <= MOST_PROMISED, "{sum} of the cell is reserved");
        let rest = Reservation::Capacity((1.0 - sum).max(0.0));
        let slice = |reservation: &Reservation| {
            let reference_octets = match *reservation {
                // without sharing, slots that a rate slice does not need stay unused
                Reservation::Rate { reference_bps, .. } if is_shared => Some(reference_bps / 8.0 / slots_per_s),
                _ => None,
            };
            Slice::new(*reservation, reference_octets)
        };
        Nvs { slices: reservations.iter().chain([&rest]).map(slice).collect(), is_shared, turn: None }
    }
}

impl SliceScheduler for Nvs {
    fn slices(&self) -> usize {
        self.slices.len() - 1
    }

    fn divide(&mut self, demand: &SlotDemand<'_>, shares: &mut Vec<SliceShare>) {
        let SlotDemand { prbs, wanted, .. } = *demand;
        let first = shares.len();
        self.slices.iter_mut().zip(wanted).for_each(|(slice, wanted)| slice.wanted = *wanted);
        if self.is_shared {
            let some = (0u32..).zip(wanted).filter(|(_, wanted)| **wanted > 0);
            shares.extend(some.map(|(slice, _)| SliceShare { slice, prbs }));
            // stable: slices of equal weight keep their order
            shares[first..].sort_by(|a, b| self.slices[a.slice as usize].order(&self.slices[b.slice as usize]));
        } else {
            let heavier = |best: usize, at: usize| {
                if self.slices[at].order(&self.slices[best]).is_lt() { at } else { best }
            };
            let turn = (0..self.slices.len()).reduce(heavier);
            shares.extend(turn.map(|slice| SliceShare { slice: slice as u32, prbs }));
            self.turn = turn;
        }
    }

    fn account(&mut self, prbs: u32, length: f64, allocations: &[Allocation]) {
        let slots = |prbs_received: u32| length * f64::from(prbs_received) / f64::from(prbs.max(1));
        if !self.is_shared {
            let given: u32 = allocations.iter().map(|allocation| allocation.prbs).sum();
            for (at, (slice, allocation)) in self.slices.iter_mut().zip(allocations).enumerate() {
                // unused PRBs of its own slot count for the slice; retransmissions of others in it count for them
                let unused = if self.turn == Some(at) { prbs.saturating_sub(given) } else { 0 };
                slice.count(slots(allocation.prbs + unused), allocation.octets);
            }
            return;
        }
        // what a UE needs is bounded by the slot, so a slice that needs all of it may have more
        let waits = |slice: &Slice, allocation: &Allocation| allocation.prbs < slice.wanted || slice.wanted >= prbs;
        let both = self.slices.iter().zip(allocations);
        let waiting = both.filter(|(slice, allocation)| waits(slice, allocation)).map(|(slice, _)| slice.received());
        // what a slice receives while no other slice waits counts for no share
        let Some(least) = waiting.reduce(f64::min) else { return };
        for (slice, allocation) in self.slices.iter_mut().zip(allocations) {
            let is_waiting = waits(slice, allocation);
            slice.count(slots(allocation.prbs), allocation.octets);
            if !is_waiting {
                slice.shift((least - CLAIM_SLOTS - slice.received()).max(0.0));
            }
        }
        // sums stay small
        let floor = self.slices.iter().map(Slice::received).fold(f64::INFINITY, f64::min);
        self.slices.iter_mut().for_each(|slice| slice.shift(-floor));
    }
}
