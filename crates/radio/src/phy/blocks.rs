//! What an allocation carries.

use std::sync::Arc;

use super::duplex::SYMBOLS;
use super::mcs::Modulation;
use super::{Direction, Grid, Rat, lte_sizes, nr_sizes};

/// Subcarriers of a PRB.
const SUBCARRIERS: u32 = 12;

/// The transport block sizes of one direction of a carrier, worked out beforehand. Clones share them.
///
/// With LTE and two layers, an allocation is two transport blocks of one layer each; here they are one.
#[derive(Clone, Debug)]
pub struct TransportBlocks {
    /// Octets: by kind of slot, then MCS, then PRBs from 0 on.
    octets: Arc<[u32]>,
    /// Which kind of slot has so many symbols: its place in `octets` over the size of a kind; `NO_KIND` is none.
    kinds: [u8; SYMBOLS as usize + 1],
    mcs_count: u8,
    prbs: u16,
}

const NO_KIND: u8 = u8::MAX;

impl TransportBlocks {
    /// Those of a carrier, for the numbers of symbols that its slots have.
    #[must_use]
    pub fn new(grid: &Grid, direction: Direction) -> Self {
        let carrier = grid.carrier();
        let (prbs, table) = match direction {
            Direction::Downlink => (grid.prbs(), carrier.downlink_mcs),
            Direction::Uplink => (grid.uplink_prbs(), carrier.uplink_mcs),
        };
        let mcs_count = table.len(carrier.rat);
        let mut kinds = [NO_KIND; SYMBOLS as usize + 1];
        let mut octets = Vec::new();
        for symbols in 1..=SYMBOLS {
            let has = |kind: &(u8, u8)| match direction {
                Direction::Downlink => kind.0 == symbols,
                Direction::Uplink => kind.1 == symbols,
            };
            if !grid.pattern().iter().any(has) {
                continue;
            }
            let rows = usize::from(mcs_count) * (usize::from(prbs) + 1);
            kinds[usize::from(symbols)] = (octets.len() / rows) as u8;
            for mcs in 0..mcs_count {
                octets.extend((0..=prbs).map(|prbs| bits(grid, direction, mcs, prbs, symbols) / 8));
            }
        }
        TransportBlocks { octets: octets.into(), kinds, mcs_count, prbs }
    }

    /// PRBs that may be allocated in a slot.
    #[must_use]
    pub fn prbs(&self) -> u16 {
        self.prbs
    }

    /// How many MCSs there are: they are counted from 0.
    #[must_use]
    pub fn mcs_count(&self) -> u8 {
        self.mcs_count
    }

    /// What an allocation carries, in a slot with so many symbols of this direction, as [`Grid::slot_kind`] tells them.
    ///
    /// # Panics
    /// Where the carrier has no such MCS, so many PRBs, or a slot with so many symbols.
    #[must_use]
    pub fn octets(&self, mcs: u8, prbs: u16, symbols: u8) -> u32 {
        match symbols {
            0 => 0,
            _ => self.row(mcs, symbols)[usize::from(prbs)],
        }
    }

    /// The least number of PRBs that carries so many octets, or all where none does; 0 for no octets, and in a slot that
    /// carries none.
    ///
    /// # Panics
    /// Where the carrier has no such MCS, or a slot with so many symbols.
    #[must_use]
    pub fn prbs_for(&self, mcs: u8, octets: u32, symbols: u8) -> u16 {
        if symbols == 0 {
            return 0;
        }
        let row = self.row(mcs, symbols);
        if row[usize::from(self.prbs)] == 0 {
            return 0;
        }
        (row.partition_point(|carried| *carried < octets) as u16).min(self.prbs)
    }

    fn row(&self, mcs: u8, symbols: u8) -> &[u32] {
        let kind = self.kinds[usize::from(symbols)];
        assert!(kind != NO_KIND && mcs < self.mcs_count, "no MCS {mcs} in a slot with {symbols} symbols here");
        let length = usize::from(self.prbs) + 1;
        let row = usize::from(kind) * usize::from(self.mcs_count) + usize::from(mcs);
        &self.octets[row * length..(row + 1) * length]
    }
}

/// What an MCS stands for. LTE's tables have no code rates: it is what its TBS index makes of half of 20 MHz, two control
/// symbols and two antenna ports.
pub(super) fn modulation(grid: &Grid, direction: Direction, mcs: u8) -> Modulation {
    const PRBS: u16 = 50;
    let carrier = grid.carrier();
    let table = match direction {
        Direction::Downlink => carrier.downlink_mcs,
        Direction::Uplink => carrier.uplink_mcs,
    };
    if carrier.rat == Rat::Nr {
        return table.modulations()[usize::from(mcs)];
    }
    let ((order, tbs_index), resource_elements) = match direction {
        // of 14 symbols, two are the control channel's, and reference signals have 12 resource elements of the others
        Direction::Downlink => (lte_sizes::downlink(mcs), 12 * 12 - 12),
        // two are reference signals
        Direction::Uplink => (lte_sizes::uplink(mcs), 12 * 12),
    };
    let coded = u32::from(PRBS) * resource_elements * u32::from(order);
    Modulation { order, rate_2048: (lte_sizes::bits(tbs_index, PRBS) * 2048 / coded) as u16 }
}

fn bits(grid: &Grid, direction: Direction, mcs: u8, prbs: u16, symbols: u8) -> u32 {
    let carrier = grid.carrier();
    match (carrier.rat, direction) {
        (Rat::Nr, _) => {
            let (layers, control) = match direction {
                Direction::Downlink => (carrier.downlink_layers, carrier.control_symbols),
                Direction::Uplink => (carrier.uplink_layers, 0),
            };
            let data = symbols.saturating_sub(control + dmrs_symbols(carrier.additional_dmrs, symbols));
            let resource_elements = (u32::from(data) * SUBCARRIERS).saturating_sub(carrier.overhead.into());
            nr_sizes::bits(modulation(grid, direction, mcs), layers, prbs, resource_elements)
        }
        (Rat::Lte, Direction::Downlink) => {
            let counted = if symbols == SYMBOLS { prbs } else { lte_sizes::special_subframe_prbs(prbs, symbols) };
            lte_sizes::bits(lte_sizes::downlink(mcs).1, counted) * u32::from(carrier.downlink_layers)
        }
        (Rat::Lte, Direction::Uplink) => {
            lte_sizes::bits(lte_sizes::uplink(mcs).1, lte_sizes::uplink_prbs(prbs)) * u32::from(carrier.uplink_layers)
        }
    }
}

/// Symbols with demodulation reference signals (TS 38.211 table 7.4.1.1.2-3, mapping type A).
fn dmrs_symbols(additional: u8, symbols: u8) -> u8 {
    let most = match symbols {
        0..=7 => 0,
        8..=9 => 1,
        10..=11 => 2,
        _ => 3,
    };
    1 + additional.min(most)
}
