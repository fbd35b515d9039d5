//! The exchange of interference between cells.

use std::sync::Arc;
use std::time::Duration;

use crate::cell::Emission;
use crate::phy::{Interference, Spectrum};
use crate::{Cell, Time};

/// The interval of the exchange: the interference of a cell is what the others have transmitted on average in the one before. UEs
/// move, and sample other cells, at the same interval. A multiple of [`EPOCH`](super::EPOCH).
pub const INTERVAL: Duration = Duration::from_millis(40);

/// Which cells interfere with each other, and the number of the last exchange.
#[derive(Debug)]
pub(super) struct Exchange {
    /// The distinct carriers, and the one of each cell.
    spectra: Vec<Spectrum>,
    carriers: Box<[u32]>,
    is_shared: bool,
    number: u64,
}

impl Exchange {
    pub fn new<'a>(cells: impl Iterator<Item = &'a Cell>) -> Self {
        let mut spectra: Vec<Spectrum> = Vec::new();
        let mut is_shared = false;
        let carriers = cells.map(|cell| {
            let spectrum = Spectrum::new(cell.grid());
            is_shared |= spectra.iter().any(|other| other.overlaps(&spectrum));
            let known = spectra.iter().position(|other| *other == spectrum);
            known.unwrap_or_else(|| {
                spectra.push(spectrum);
                spectra.len() - 1
            }) as u32
        });
        let carriers = carriers.collect();
        Exchange { spectra, carriers, is_shared, number: 0 }
    }

    /// Whether any two cells share spectrum.
    pub fn is_shared(&self) -> bool {
        self.is_shared
    }

    /// Whether the cells exchange interference in an epoch.
    pub fn is_due(&self, epoch: Time) -> bool {
        self.is_shared && epoch.as_nanos().is_multiple_of(INTERVAL.as_nanos() as u64)
    }

    /// What each receiver meets during the next interval, from the emissions of all cells during the last one.
    pub fn interference<'a>(&mut self, emissions: impl Iterator<Item = &'a Emission> + Clone) -> Arc<Interference> {
        self.number += 1;
        let of = |cell: usize| &self.spectra[self.carriers[cell] as usize];
        let weighted = |carrier: &Spectrum| -> Box<[f32]> {
            let each = emissions.clone().enumerate();
            each.map(|(cell, emission)| (emission.downlink * carrier.share_per_element(of(cell))) as f32).collect()
        };
        let downlink = self.spectra.iter().map(weighted).collect();
        let mut uplink = vec![0.0; self.carriers.len()];
        // by distinct carrier of the transmitters, since most networks have few
        let mut shares = Vec::with_capacity(uplink.len());
        let mut last = None;
        for (cell, emission) in emissions.enumerate() {
            let carrier = self.carriers[cell];
            if last.replace(carrier) != Some(carrier) {
                shares.clear();
                shares.extend((0..uplink.len()).map(|to| of(to).share_of_total(of(cell))));
            }
            for (to, ((sum, share), sent)) in uplink.iter_mut().zip(&shares).zip(&emission.uplink).enumerate() {
                if to != cell {
                    *sum += share * sent;
                }
            }
        }
        Arc::new(Interference::new(self.number, self.carriers.clone(), downlink, uplink.into()))
    }
}

/// Lets cells with the same carrier share their tables.
pub(super) fn share_tables<'a>(cells: impl Iterator<Item = &'a mut Cell>) {
    let mut first: Vec<&'a mut Cell> = Vec::new();
    for cell in cells {
        match first.iter().find(|other| other.grid() == cell.grid()) {
            Some(other) => cell.share_tables(other),
            None => first.push(cell),
        }
    }
}
