//! The secondary cells of a UE (TS 38.300 6.7, TS 36.300 5.5): the carriers that it aggregates with that of its primary cell.

use super::sublayers::ALL_BEARERS;
use super::{Bearer, RadioLink, Ue};
use crate::Time;
use crate::harq::Block;
use crate::phy::Direction;

/// The most carriers of a UE: the primary cell and four secondary cells, as in Release 10 of E-UTRA (TS 36.300 5.5).
pub const MAX_CARRIERS: u8 = 5;

/// A secondary cell of a UE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SecondaryCell {
    /// sCellIndex, from 1 on; 0 is the primary cell.
    pub index: u8,
    /// The number of the cell in the network.
    pub cell: usize,
    /// The place of the UE among the guests of the cell.
    pub(crate) guest: u32,
}

impl Ue {
    /// Sets the most carriers that the UE can aggregate, from 1, which is no carrier aggregation, to [`MAX_CARRIERS`].
    pub fn set_max_carriers(&mut self, carriers: u8) {
        self.max_carriers = carriers.clamp(1, MAX_CARRIERS);
    }

    /// The most carriers that it can aggregate.
    #[must_use]
    pub fn max_carriers(&self) -> u8 {
        self.max_carriers
    }

    /// Its secondary cells, whether activated or not.
    #[must_use]
    pub fn secondary_cells(&self) -> &[SecondaryCell] {
        &self.secondary
    }

    /// Whether a cell is one of its secondary cells.
    pub(crate) fn is_secondary(&self, cell: usize) -> bool {
        self.secondary.iter().any(|secondary| secondary.cell == cell)
    }

    /// Fills a transport block of a secondary cell.
    pub(crate) fn fill_secondary(&mut self, now: Time, block: &mut Block) {
        super::sublayers::fill(&mut self.bearers, now, block, Direction::Downlink, ALL_BEARERS);
    }

    /// Ends a transport block of a secondary cell: decoded, or dropped after its last transmission.
    pub(crate) fn finish_secondary_block(&mut self, now: Time, link: &mut RadioLink, process: u8, is_decoded: bool) {
        let Ue { bearers, packets, .. } = self;
        super::sublayers::finish(bearers, packets, now, link, (Direction::Downlink, process), is_decoded);
        self.reached(now);
    }

    /// Gives the blocks in flight of a secondary cell up: RLC learns that they are lost.
    pub(crate) fn lose_blocks(&mut self, now: Time, link: &mut RadioLink) {
        for (bearer, pdu) in link.harq.reset_with_content() {
            let Bearer { dl, .. } = &mut self.bearers[usize::from(bearer)];
            dl.failed(now, pdu);
        }
    }
}
