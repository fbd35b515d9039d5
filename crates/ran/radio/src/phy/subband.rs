//! CQI reports on subbands (TS 38.214 5.2.1.4, 5.2.2.1).

use super::multipath::MAX_SUBBANDS;
use super::{Adaptation, Cqi, Grid, Rat};

/// The PRBs of a subband of a carrier, 0 where there are no reports on subbands: the smaller size of TS 38.214 table 5.2.1.4-2, for
/// LTE that of TS 36.213 table 7.2.1-3. The last subband may be smaller.
pub(super) fn subband_prbs(grid: &Grid) -> u16 {
    match (grid.carrier().rat, grid.prbs()) {
        (Rat::Nr, 0..24) | (Rat::Lte, 0..8) => 0,
        (Rat::Nr, 24..=72) | (Rat::Lte, 8..=26) => 4,
        (Rat::Lte, 27..=63) => 6,
        (Rat::Nr, 73..=144) | (Rat::Lte, _) => 8,
        (Rat::Nr, _) => 16,
    }
}

/// The CQIs of a carrier's subbands, as the base station learns them: the wideband CQI plus -1, 0, 1 or 2 (the differential CQI of
/// TS 38.214 table 5.2.2.1-1, whose first and last value stand for smaller and larger offsets too).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubbandCqis {
    cqis: [u8; MAX_SUBBANDS],
    count: u8,
}

impl SubbandCqis {
    /// No report on subbands.
    pub const NONE: SubbandCqis = SubbandCqis { cqis: [0; MAX_SUBBANDS], count: 0 };

    /// A report: the SINR in dB of each layer in each subband, and the wideband CQI.
    pub(super) fn new(sinrs_db: impl Iterator<Item = f64>, wideband: Cqi, adaptation: &Adaptation) -> Self {
        let mut report = SubbandCqis::NONE;
        for (sinr_db, cqi) in sinrs_db.zip(&mut report.cqis) {
            let offset = i16::from(adaptation.cqi(sinr_db).0) - i16::from(wideband.0);
            *cqi = (i16::from(wideband.0) + offset.clamp(-1, 2)).clamp(0, 15) as u8;
            report.count += 1;
        }
        report
    }

    /// The CQI of each subband, from the lowest frequency on. Empty where the carrier has no subbands or the channel is flat.
    #[must_use]
    pub fn cqis(&self) -> &[u8] {
        &self.cqis[..usize::from(self.count)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phy::{Carrier, Direction};

    #[test]
    fn subband_sizes_are_those_of_the_tables() {
        let nr = |bandwidth_mhz, numerology| Carrier { bandwidth_mhz, numerology, ..Carrier::default() };
        let lte = |bandwidth_mhz| Carrier { bandwidth_mhz, ..Carrier::lte() };
        for (carrier, prbs, size) in [
            (nr(5.0, 1), 11, 0),
            (nr(10.0, 1), 24, 4),
            (nr(20.0, 1), 51, 4),
            (nr(40.0, 1), 106, 8),
            (nr(100.0, 1), 273, 16),
            (lte(1.4), 6, 0),
            (lte(5.0), 25, 4),
            (lte(10.0), 50, 6),
            (lte(20.0), 100, 8),
        ] {
            let grid = carrier.check().unwrap();
            assert_eq!((grid.prbs(), subband_prbs(&grid)), (prbs, size));
            assert!(size == 0 || usize::from(prbs.div_ceil(size)) <= MAX_SUBBANDS);
        }
    }

    #[test]
    fn differences_to_the_wideband_cqi_are_limited() {
        let adaptation = Adaptation::new(&Carrier::default().check().unwrap(), Direction::Downlink);
        let at = |cqi: u8| adaptation.cqi_sinr_db(Cqi(cqi)) + 0.01;
        let report = SubbandCqis::new([at(3), at(6), at(7), at(8), at(9), at(14)].into_iter(), Cqi(7), &adaptation);
        assert_eq!(report.cqis(), [6, 6, 7, 8, 9, 9]);
        let report = SubbandCqis::new([-30.0, 40.0].into_iter(), Cqi(0), &adaptation);
        assert_eq!(report.cqis(), [0, 2]);
        assert!(SubbandCqis::NONE.cqis().is_empty());
    }
}
