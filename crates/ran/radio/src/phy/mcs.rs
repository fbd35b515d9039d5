//! Channel quality indicators (CQI), and the MCS indices of a radio access technology.

use ids::McsTable;

use super::carrier::Rat;

/// A channel quality indicator: 0 is out of coverage, 15 is the best.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cqi(pub u8);

/// The number of MCS indices of a table, without those for retransmissions only.
#[must_use]
pub(super) fn mcs_count(table: McsTable, rat: Rat) -> u8 {
    match rat {
        Rat::Lte => 29,
        Rat::Nr => table.modulations().len() as u8,
    }
}
