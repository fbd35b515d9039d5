//! NVS, the network virtualization substrate (Kokku, Mahindra, Zhang and Rangarajan, 2012; FlexRIC paper, appendix B).
//!
//! Each slot goes to the slice with the largest weight among those with something to send: what it is promised over the
//! average of what it got. What that one leaves of the slot goes to the next. UEs in no slice are a slice that is promised
//! what is promised to nobody.

use super::{Division, Got, Share, SliceScheduler};

/// How much of the averages is the last slot: they reach back some 100 slots.
pub const SMOOTHING: f64 = 0.01;
/// An average counts as this much at least, of the cell: who got nothing comes first, but not without measure.
const LEAST: f64 = 1e-6;
/// Who admits slices takes a sum that is above 1 by rounding, up to a millionth, and may have added in another order: a sum
/// above this was not admitted by anybody.
const MOST_PROMISED: f64 = 1.0 + 2e-6;

/// What a slice is promised.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reservation {
    /// A share of the resource blocks, from 0 to 1.
    Capacity(f64),
    /// A rate out of a reference, which is what the slice would get at least with all blocks: both in bits a second.
    Rate {
        /// What it is promised.
        reserved_bps: f64,
        /// What that is out of: above 0.
        reference_bps: f64,
    },
}

impl Reservation {
    /// The share of the cell that it counts as in the admission sum.
    #[must_use]
    pub fn share(&self) -> f64 {
        match *self {
            Reservation::Capacity(share) => share,
            Reservation::Rate { reserved_bps, reference_bps } => reserved_bps / reference_bps,
        }
    }
}

/// A slice with its average: of the share of the blocks, or of the rate in bits a second.
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
            // by its rate, a slice with nothing to send would be due for ever
            _ => (reservation.share(), false, LEAST),
        };
        Slice { reserved, average: reserved, is_rate, least }
    }

    fn weight(&self) -> f64 {
        self.reserved / self.average.max(self.least)
    }
}

/// The scheduler.
#[derive(Clone, Debug)]
pub struct Nvs {
    /// Those of UEs in no slice last.
    slices: Vec<Slice>,
    is_shared: bool,
    slots_per_s: f64,
    /// The slice that a slot was for, where slots are not shared.
    turn: Option<usize>,
}

impl Nvs {
    /// Slices with those promises. Where slots are not shared, those of a slice with nothing to send stay unused.
    /// `slots_per_s` are those of the direction.
    ///
    /// # Panics
    /// Where the promises exceed the cell, or a rate has no reference: these are refused before.
    #[must_use]
    pub fn new(reservations: &[Reservation], is_shared: bool, slots_per_s: f64) -> Self {
        let sum: f64 = reservations.iter().map(Reservation::share).sum();
        assert!(sum <= MOST_PROMISED, "{sum} of the cell are promised");
        let rest = Reservation::Capacity((1.0 - sum).max(0.0));
        let slices =
            reservations.iter().chain([&rest]).map(|reservation| Slice::new(*reservation, is_shared)).collect();
        Nvs { slices, is_shared, slots_per_s, turn: None }
    }

    /// The average share or rate of each slice; of UEs in none last.
    pub fn averages(&self) -> impl Iterator<Item = f64> {
        self.slices.iter().map(|slice| slice.average)
    }
}

impl SliceScheduler for Nvs {
    fn slices(&self) -> usize {
        self.slices.len() - 1
    }

    fn divide(&mut self, division: &Division<'_>, shares: &mut Vec<Share>) {
        let Division { prbs, wanted, .. } = *division;
        let first = shares.len();
        if self.is_shared {
            let some = (0u32..).zip(wanted).filter(|(_, wanted)| **wanted > 0);
            shares.extend(some.map(|(slice, _)| Share { slice, prbs }));
            let weight = |share: &Share| self.slices[share.slice as usize].weight();
            // the first of those that weigh the same stays the first
            shares[first..].sort_by(|a, b| weight(b).total_cmp(&weight(a)));
        } else {
            let heavier =
                |best: usize, at: usize| if self.slices[at].weight() > self.slices[best].weight() { at } else { best };
            let turn = (0..self.slices.len()).reduce(heavier);
            shares.extend(turn.map(|slice| Share { slice: slice as u32, prbs }));
            self.turn = turn;
        }
    }

    fn account(&mut self, prbs: u32, length: f64, got: &[Got]) {
        let given: u32 = got.iter().map(|got| got.prbs).sum();
        for (at, (slice, got)) in self.slices.iter_mut().zip(got).enumerate() {
            // what a slice leaves unused of its slot was its own; what others send again in it is theirs
            let is_unshared_turn = !self.is_shared && self.turn == Some(at);
            let unused = if is_unshared_turn { prbs.saturating_sub(given) } else { 0 };
            let used = f64::from(got.prbs + unused) / f64::from(prbs.max(1));
            if slice.is_rate {
                slice.average += SMOOTHING * (f64::from(got.octets) * 8.0 * self.slots_per_s - slice.average);
            } else {
                // half a slot counts as half of one: else who gets these always would be short of its share
                slice.average += SMOOTHING * length * (used - slice.average);
            }
        }
    }
}
