//! Transport block sizes of a carrier.

use std::sync::Arc;

use super::duplex::SYMBOLS;
use super::mcs::mcs_count;
use super::{Direction, Grid, Modulation, Rat, lte_sizes, nr_sizes};

/// Subcarriers of a PRB.
const SUBCARRIERS: u32 = 12;

/// The precomputed transport block sizes of one direction of a carrier. Clones share them.
///
/// In LTE an allocation with two layers is two transport blocks of one layer each; here they count as one.
#[derive(Clone, Debug)]
pub struct TransportBlocks {
    /// Octets by slot kind, layers, MCS and number of PRBs, which starts at 0.
    octets: Arc<[u32]>,
    /// The slot kind of each number of symbols; `NO_KIND` if no slot has this number.
    kinds: [u8; SYMBOLS as usize + 1],
    /// Resource elements for data of a PRB, by number of symbols; 0 if no slot has this number.
    elements: [u32; SYMBOLS as usize + 1],
    mcs_count: u8,
    layers: u8,
    prbs: u16,
}

const NO_KIND: u8 = u8::MAX;

/// Resource elements for data of a PRB in an LTE subframe: two of the 14 symbols are for control, and reference signals take 12
/// resource elements of the others.
const LTE_DOWNLINK_ELEMENTS: u32 = 12 * 12 - 12;
/// In the uplink, two symbols are reference signals.
const LTE_UPLINK_ELEMENTS: u32 = 12 * 12;

impl TransportBlocks {
    /// Computes the sizes of a carrier, for all numbers of symbols that its slots have.
    #[must_use]
    pub fn new(grid: &Grid, direction: Direction) -> Self {
        let carrier = grid.carrier();
        let (prbs, table, layers) = match direction {
            Direction::Downlink => (grid.prbs(), carrier.downlink_mcs, carrier.downlink_layers),
            Direction::Uplink => (grid.uplink_prbs(), carrier.uplink_mcs, carrier.uplink_layers),
        };
        let mcs_count = mcs_count(table, carrier.rat);
        let mut kinds = [NO_KIND; SYMBOLS as usize + 1];
        let mut elements = [0; SYMBOLS as usize + 1];
        let mut octets = Vec::new();
        for symbols in 1..=SYMBOLS {
            let has = |kind: &(u8, u8)| match direction {
                Direction::Downlink => kind.0 == symbols,
                Direction::Uplink => kind.1 == symbols,
            };
            if !grid.pattern().iter().any(has) {
                continue;
            }
            let rows = usize::from(layers) * usize::from(mcs_count) * (usize::from(prbs) + 1);
            kinds[usize::from(symbols)] = (octets.len() / rows) as u8;
            elements[usize::from(symbols)] = data_elements(grid, direction, symbols);
            for (layers, mcs) in (1..=layers).flat_map(|layers| (0..mcs_count).map(move |mcs| (layers, mcs))) {
                octets.extend((0..=prbs).map(|prbs| bits(grid, direction, (layers, mcs), prbs, symbols) / 8));
            }
        }
        TransportBlocks { octets: octets.into(), kinds, elements, mcs_count, layers, prbs }
    }

    /// The resource elements of a PRB that carry data in a slot with `symbols` symbols of this direction; 0 if the carrier has
    /// no such slot.
    #[must_use]
    pub fn elements(&self, symbols: u8) -> u32 {
        self.elements[usize::from(symbols.min(SYMBOLS))]
    }

    /// The resource elements of a PRB that carry data in the longest slot of the direction.
    #[must_use]
    pub fn full_elements(&self) -> u32 {
        self.elements.into_iter().max().unwrap_or_default()
    }

    /// PRBs that may be allocated in a slot.
    #[must_use]
    pub fn prbs(&self) -> u16 {
        self.prbs
    }

    /// The number of MCS indices, which start at 0.
    #[must_use]
    pub fn mcs_count(&self) -> u8 {
        self.mcs_count
    }

    /// The number of layers of the carrier.
    #[must_use]
    pub fn layers(&self) -> u8 {
        self.layers
    }

    /// The octets of a transport block on all layers of the carrier and `prbs` PRBs, in a slot with `symbols` symbols of this
    /// direction, as returned by [`Grid::slot_kind`].
    ///
    /// # Panics
    /// If the carrier does not have this MCS, number of PRBs, or number of symbols.
    #[must_use]
    pub fn octets(&self, mcs: u8, prbs: u16, symbols: u8) -> u32 {
        self.octets_on(self.layers, mcs, prbs, symbols)
    }

    /// The octets of a transport block on a number of layers.
    ///
    /// # Panics
    /// If the carrier does not have this number of layers, MCS, number of PRBs, or number of symbols.
    #[must_use]
    pub fn octets_on(&self, layers: u8, mcs: u8, prbs: u16, symbols: u8) -> u32 {
        match symbols {
            0 => 0,
            _ => self.row(layers, mcs, symbols)[usize::from(prbs)],
        }
    }

    /// The least number of PRBs that carries `octets` on all layers, or all PRBs if none does; 0 for no octets, and in a slot
    /// without capacity.
    ///
    /// # Panics
    /// If the carrier does not have this MCS or number of symbols.
    #[must_use]
    pub fn prbs_for(&self, mcs: u8, octets: u32, symbols: u8) -> u16 {
        self.prbs_for_on(self.layers, mcs, octets, symbols)
    }

    /// The same on a number of layers.
    ///
    /// # Panics
    /// If the carrier does not have this number of layers, MCS or number of symbols.
    #[must_use]
    pub fn prbs_for_on(&self, layers: u8, mcs: u8, octets: u32, symbols: u8) -> u16 {
        if symbols == 0 {
            return 0;
        }
        let row = self.row(layers, mcs, symbols);
        if row[usize::from(self.prbs)] == 0 {
            return 0;
        }
        // most UEs have more than a slot carries, or little
        let most = usize::from(self.prbs);
        if octets > row[most - 1] {
            return self.prbs;
        }
        let mut end = 1;
        while end < most && row[end] < octets {
            end *= 2;
        }
        let (begin, end) = (end / 2, end.min(most));
        (begin + row[begin..end].partition_point(|carried| *carried < octets)) as u16
    }

    fn row(&self, layers: u8, mcs: u8, symbols: u8) -> &[u32] {
        let kind = self.kinds[usize::from(symbols)];
        assert!(kind != NO_KIND && mcs < self.mcs_count, "no MCS {mcs} in a slot with {symbols} symbols here");
        assert!((1..=self.layers).contains(&layers), "{layers} layers of {}", self.layers);
        let length = usize::from(self.prbs) + 1;
        let of_kind = usize::from(kind) * usize::from(self.layers) + usize::from(layers - 1);
        let row = of_kind * usize::from(self.mcs_count) + usize::from(mcs);
        &self.octets[row * length..(row + 1) * length]
    }
}

/// The modulation and code rate of an MCS. The tables of LTE have no code rates: the rate is computed from the TBS index for 50
/// PRBs, two control symbols and two antenna ports.
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
        Direction::Downlink => (lte_sizes::downlink(mcs), LTE_DOWNLINK_ELEMENTS),
        Direction::Uplink => (lte_sizes::uplink(mcs), LTE_UPLINK_ELEMENTS),
    };
    let coded = u32::from(PRBS) * resource_elements * u32::from(order);
    Modulation { order, rate_2048: (lte_sizes::bits(tbs_index, PRBS) * 2048 / coded) as u16 }
}

/// The resource elements of a PRB that carry data: without control, reference signals and configured overhead
/// (TS 38.214 5.1.3.2); in an LTE special subframe, the part that its transport blocks have (TS 36.213 7.1.7).
fn data_elements(grid: &Grid, direction: Direction, symbols: u8) -> u32 {
    let carrier = grid.carrier();
    match (carrier.rat, direction) {
        (Rat::Nr, _) => {
            let control = if direction == Direction::Downlink { carrier.control_symbols } else { 0 };
            let data = symbols.saturating_sub(control + dmrs_symbols(carrier.additional_dmrs, symbols));
            (u32::from(data) * SUBCARRIERS).saturating_sub(carrier.overhead.into())
        }
        (Rat::Lte, Direction::Downlink) if symbols == SYMBOLS => LTE_DOWNLINK_ELEMENTS,
        (Rat::Lte, Direction::Downlink) => {
            lte_sizes::special_subframe_prbs(LTE_DOWNLINK_ELEMENTS as u16, symbols).into()
        }
        (Rat::Lte, Direction::Uplink) => LTE_UPLINK_ELEMENTS,
    }
}

fn bits(grid: &Grid, direction: Direction, (layers, mcs): (u8, u8), prbs: u16, symbols: u8) -> u32 {
    let carrier = grid.carrier();
    match (carrier.rat, direction) {
        (Rat::Nr, _) => {
            let elements = data_elements(grid, direction, symbols);
            nr_sizes::bits(modulation(grid, direction, mcs), layers, prbs, elements)
        }
        (Rat::Lte, Direction::Downlink) => {
            let counted = if symbols == SYMBOLS { prbs } else { lte_sizes::special_subframe_prbs(prbs, symbols) };
            lte_sizes::bits(lte_sizes::downlink(mcs).1, counted) * u32::from(layers)
        }
        (Rat::Lte, Direction::Uplink) => {
            lte_sizes::bits(lte_sizes::uplink(mcs).1, lte_sizes::uplink_prbs(prbs)) * u32::from(layers)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phy::{Carrier, Duplex, McsTable};

    fn carriers() -> [Carrier; 4] {
        [
            Carrier::default(),
            Carrier { downlink_mcs: McsTable::Qam256, downlink_layers: 4, bandwidth_mhz: 100.0, ..Carrier::default() },
            Carrier { uplink_mcs: McsTable::Qam64LowSe, duplex: Duplex::Fdd, ..Carrier::default() },
            Carrier { duplex: Duplex::LteTdd { configuration: 1, special_subframe: 9 }, ..Carrier::lte() },
        ]
    }

    #[test]
    fn prbs_for_is_the_least_that_carries_it() {
        for carrier in carriers() {
            let grid = carrier.check().unwrap();
            for direction in [Direction::Downlink, Direction::Uplink] {
                let blocks = TransportBlocks::new(&grid, direction);
                for kind in grid.pattern() {
                    let symbols = if direction == Direction::Downlink { kind.0 } else { kind.1 };
                    for mcs in 0..blocks.mcs_count() {
                        let most = blocks.octets(mcs, blocks.prbs(), symbols);
                        for octets in [1, 2, 40, 1500, most / 2, most.max(1) - 1, most] {
                            let prbs = blocks.prbs_for(mcs, octets.min(most), symbols);
                            assert!(blocks.octets(mcs, prbs, symbols) >= octets.min(most));
                            assert!(prbs == 0 || blocks.octets(mcs, prbs - 1, symbols) < octets.min(most));
                        }
                        let beyond = blocks.prbs_for(mcs, most + 1, symbols);
                        assert_eq!(beyond, if most == 0 { 0 } else { blocks.prbs() });
                    }
                }
            }
        }
    }

    #[test]
    fn control_and_reference_symbols_carry_no_data() {
        let grid = Carrier { control_symbols: 3, ..Carrier::default() }.check().unwrap();
        let blocks = TransportBlocks::new(&grid, Direction::Downlink);
        assert_eq!((blocks.octets(28, 106, 0), blocks.prbs_for(28, 100, 0)), (0, 0));
        assert_eq!((blocks.octets(28, 0, 14), blocks.prbs_for(28, 0, 14)), (0, 0));
        // six symbols, three control, one of reference signals
        let re = |symbols: u32| nr_sizes::bits(modulation(&grid, Direction::Downlink, 28), 1, 106, symbols * 12) / 8;
        assert_eq!(blocks.octets(28, 106, 6), re(2));
        assert_eq!(blocks.octets(28, 106, 14), re(9));
        let with_overhead = Carrier { overhead: 18, ..grid.carrier().clone() }.check().unwrap();
        let fewer = TransportBlocks::new(&with_overhead, Direction::Downlink);
        assert!(fewer.octets(28, 106, 6) < blocks.octets(28, 106, 6));
        // an LTE special subframe with six symbols counts for three eighths
        let grid = carriers()[3].check().unwrap();
        let blocks = TransportBlocks::new(&grid, Direction::Downlink);
        assert_eq!((blocks.octets(28, 50, 6), blocks.octets(28, 18, 14)), (blocks.octets(28, 18, 14), 13_536 / 8));
    }

    #[test]
    fn dmrs_symbols_depend_on_allocation_length() {
        let symbols = |additional| [4, 8, 10, 12, 14].map(|symbols| dmrs_symbols(additional, symbols));
        assert_eq!(symbols(0), [1, 1, 1, 1, 1]);
        assert_eq!(symbols(1), [1, 2, 2, 2, 2]);
        assert_eq!(symbols(3), [1, 2, 3, 4, 4]);
    }

    #[test]
    #[should_panic(expected = "no MCS 20 in a slot with 5 symbols here")]
    fn unknown_slot_kind_panics() {
        let blocks = TransportBlocks::new(&Carrier::default().check().unwrap(), Direction::Downlink);
        let _ = blocks.octets(20, 1, 5);
    }

    #[test]
    fn lte_code_rates_match_cqi_table() {
        let grid = Carrier::lte().check().unwrap();
        let rate = |direction, mcs| modulation(&grid, direction, mcs).code_rate();
        assert!((rate(Direction::Downlink, 28) - 0.927).abs() < 0.001, "{}", rate(Direction::Downlink, 28));
        assert!((0.1..0.12).contains(&rate(Direction::Downlink, 0)), "{}", rate(Direction::Downlink, 0));
        for direction in [Direction::Downlink, Direction::Uplink] {
            let efficiencies = (0..29).map(|mcs| modulation(&grid, direction, mcs).efficiency());
            // where the modulation order rises, the TBS index does not
            assert!(efficiencies.is_sorted_by(|lower, higher| higher - lower > -0.005));
        }
    }
}
