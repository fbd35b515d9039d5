//! NVS, the network virtualization substrate (Kokku, Mahindra, Zhang and Rangarajan, 2012; FlexRIC paper, appendix B).
//!
//! Each slot goes to the slice with the largest weight among those with something to send. The weight is the reservation
//! divided by the average that the slice received. The rest of the slot goes to the next one. UEs without a
//! slice form a slice whose reservation is the unreserved part of the cell.

use super::{Allocation, SliceScheduler, SliceShare, SlotDemand};

/// The weight of one slot in the averages: they cover about 100 slots.
pub const SMOOTHING: f64 = 0.01;
/// Lower bound of an average, as a share of the cell: bounds the weight of a slice that received nothing.
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

/// A slice with the average of its share of the PRBs, or of its rate in bit/s.
#[derive(Clone, Copy, Debug)]
struct Slice {
    reserved: f64,
    average: f64,
    is_rate: bool,
    least: f64,
}

impl Slice {
    fn new(reservation: Reservation, is_shared: bool) -> Self {
        let (reserved, is_rate, least) = match reservation {
            Reservation::Rate { reserved_bps, reference_bps } if is_shared => {
                (reserved_bps, true, LEAST * reference_bps)
            }
            // an idle slice with a rate reservation would otherwise be scheduled in every slot
            _ => (reservation.share(), false, LEAST),
        };
        Slice { reserved, average: reserved, is_rate, least }
    }

    fn weight(&self) -> f64 {
        self.reserved / self.average.max(self.least)
    }
}

/// The NVS slice scheduler.
#[derive(Clone, Debug)]
pub struct Nvs {
    /// The configured slices, then the one of UEs without a slice.
    slices: Vec<Slice>,
    is_shared: bool,
    slots_per_s: f64,
    /// The slice that owns the current slot, when slots are not shared.
    turn: Option<usize>,
}

impl Nvs {
    /// Creates the scheduler. Unless `is_shared`, slots of an idle slice stay unused. `slots_per_s` is the number of slots
    /// of the direction per second.
    ///
    /// # Panics
    /// When the reservations exceed the cell. Admission control rejects such reservations first.
    #[must_use]
    pub fn new(reservations: &[Reservation], is_shared: bool, slots_per_s: f64) -> Self {
        let sum: f64 = reservations.iter().map(Reservation::share).sum();
        assert!(sum <= MOST_PROMISED, "{sum} of the cell is reserved");
        let rest = Reservation::Capacity((1.0 - sum).max(0.0));
        let slices =
            reservations.iter().chain([&rest]).map(|reservation| Slice::new(*reservation, is_shared)).collect();
        Nvs { slices, is_shared, slots_per_s, turn: None }
    }

    /// The average share or rate of each slice, then that of UEs without a slice.
    pub fn averages(&self) -> impl Iterator<Item = f64> {
        self.slices.iter().map(|slice| slice.average)
    }
}

impl SliceScheduler for Nvs {
    fn slices(&self) -> usize {
        self.slices.len() - 1
    }

    fn divide(&mut self, demand: &SlotDemand<'_>, shares: &mut Vec<SliceShare>) {
        let SlotDemand { prbs, wanted, .. } = *demand;
        let first = shares.len();
        if self.is_shared {
            let some = (0u32..).zip(wanted).filter(|(_, wanted)| **wanted > 0);
            shares.extend(some.map(|(slice, _)| SliceShare { slice, prbs }));
            let weight = |share: &SliceShare| self.slices[share.slice as usize].weight();
            // stable: slices of equal weight keep their order
            shares[first..].sort_by(|a, b| weight(b).total_cmp(&weight(a)));
        } else {
            let heavier =
                |best: usize, at: usize| if self.slices[at].weight() > self.slices[best].weight() { at } else { best };
            let turn = (0..self.slices.len()).reduce(heavier);
            shares.extend(turn.map(|slice| SliceShare { slice: slice as u32, prbs }));
            self.turn = turn;
        }
    }

    fn account(&mut self, prbs: u32, length: f64, allocations: &[Allocation]) {
        let given: u32 = allocations.iter().map(|allocation| allocation.prbs).sum();
        for (at, (slice, allocation)) in self.slices.iter_mut().zip(allocations).enumerate() {
            // unused PRBs of its own slot count for the slice; retransmissions of others in it count for them
            let is_unshared_turn = !self.is_shared && self.turn == Some(at);
            let unused = if is_unshared_turn { prbs.saturating_sub(given) } else { 0 };
            let used = f64::from(allocation.prbs + unused) / f64::from(prbs.max(1));
            if slice.is_rate {
                slice.average += SMOOTHING * (f64::from(allocation.octets) * 8.0 * self.slots_per_s - slice.average);
            } else {
                // a half slot counts half: otherwise a slice that always receives the short slots would miss its share
                slice.average += SMOOTHING * length * (used - slice.average);
            }
        }
    }
}
