//! From SINR to CQI and MCS, and to what of it is lost.

use super::blocks::modulation;
use super::{Cqi, Direction, Grid, Modulation, Rat};
use crate::Random;

/// The part of transport blocks that is lost where the SINR is just what the MCS needs: what link adaptation aims at
/// (TS 38.214 5.2.2.1).
const AIM: f64 = 0.1;

/// How fast errors get rarer: the odds by a factor of e to this for each dB. Code blocks of 500 to 2000 bits fall from one
/// half to one in a hundred within about 1 dB.
const SLOPE_PER_DB: f64 = 4.0;

/// The SINR in dB at which one block in ten is lost.
///
/// Shannon's bound, and how far a real code is from it: 1.3 dB, and 0.2 dB more for each bit that a resource element
/// carries. That is within 0.6 dB of simulated blocks of 500 to 2000 bits with NR's LDPC codes from QPSK to 256QAM, without
/// fading; the turbo codes of LTE are some 0.7 dB behind.
fn threshold_db(modulation: Modulation, rat: Rat) -> f64 {
    let efficiency = modulation.efficiency();
    let behind_db = match rat {
        Rat::Lte => 0.7,
        Rat::Nr => 0.0,
    };
    10.0 * (efficiency.exp2() - 1.0).log10() + 1.3 + 0.2 * efficiency + behind_db
}

/// The link adaptation of one direction of a carrier.
#[derive(Clone, Debug)]
pub struct Adaptation {
    /// The SINR in dB that each MCS needs.
    needs_db: Box<[f64]>,
    /// The same, and no less than any MCS below needs.
    ascending_db: Box<[f64]>,
    /// The SINR in dB that CQI 1 to 15 need.
    cqi_needs_db: [f64; 15],
    /// The highest MCS that is no more efficient than a CQI.
    mcs_of_cqi: [u8; 16],
}

impl Adaptation {
    /// That of a carrier.
    #[must_use]
    pub fn new(grid: &Grid, direction: Direction) -> Self {
        let carrier = grid.carrier();
        let table = match direction {
            Direction::Downlink => carrier.downlink_mcs,
            Direction::Uplink => carrier.uplink_mcs,
        };
        let modulations: Vec<_> = (0..table.len(carrier.rat)).map(|mcs| modulation(grid, direction, mcs)).collect();
        let needs_db: Box<[f64]> = modulations.iter().map(|mcs| threshold_db(*mcs, carrier.rat)).collect();
        let mut ascending_db = needs_db.clone();
        for mcs in 1..ascending_db.len() {
            ascending_db[mcs] = ascending_db[mcs].max(ascending_db[mcs - 1]);
        }
        let mut mcs_of_cqi = [0; 16];
        for (of_cqi, cqi) in mcs_of_cqi[1..].iter_mut().zip(table.cqis()) {
            // LTE's MCSs are no more than near what its CQIs stand for
            let carries = |mcs: &Modulation| mcs.efficiency() <= 1.01 * cqi.efficiency();
            *of_cqi = modulations.iter().rposition(carries).unwrap_or(0) as u8;
        }
        let cqi_needs_db = table.cqis().map(|cqi| threshold_db(cqi, carrier.rat));
        Adaptation { needs_db, ascending_db, cqi_needs_db, mcs_of_cqi }
    }

    /// The highest CQI that a SINR allows.
    #[must_use]
    pub fn cqi(&self, sinr_db: f64) -> Cqi {
        Cqi(self.cqi_needs_db.partition_point(|needed| *needed <= sinr_db) as u8)
    }

    /// The highest MCS that carries no more than a CQI allows; MCS 0 where even that carries more.
    #[must_use]
    pub fn mcs_of_cqi(&self, cqi: Cqi) -> u8 {
        self.mcs_of_cqi[usize::from(cqi.0.min(15))]
    }

    /// The highest MCS that a SINR allows: finer than by CQI. MCS 0 where the SINR is too low for any.
    #[must_use]
    pub fn mcs(&self, sinr_db: f64) -> u8 {
        (self.ascending_db.partition_point(|needed| *needed <= sinr_db) as u8).saturating_sub(1)
    }

    /// How many MCSs there are: they are counted from 0.
    #[must_use]
    pub fn mcs_count(&self) -> u8 {
        self.needs_db.len() as u8
    }

    /// The SINR in dB at which one transport block in ten is lost.
    ///
    /// # Panics
    /// Where there is no such MCS.
    #[must_use]
    pub fn needed_sinr_db(&self, mcs: u8) -> f64 {
        self.needs_db[usize::from(mcs)]
    }

    /// The part of transport blocks that is lost.
    ///
    /// # Panics
    /// Where there is no such MCS.
    #[must_use]
    pub fn block_error_rate(&self, mcs: u8, sinr_db: f64) -> f64 {
        let margin_db = sinr_db - self.needed_sinr_db(mcs);
        1.0 / (1.0 + (1.0 / AIM - 1.0) * (SLOPE_PER_DB * margin_db).exp())
    }
}

/// What the two ends of one direction of a UE's channel go by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// The SINR in dB.
    pub sinr_db: f64,
    /// The MCS to be used, whatever the SINR.
    pub mcs: Option<u8>,
    /// The part of all transmissions that is lost, whatever the SINR and the MCS.
    pub block_error_rate: Option<f64>,
}

impl Link {
    /// A SINR, and all that follows from it.
    #[must_use]
    pub fn of_sinr(sinr_db: f64) -> Self {
        Link { sinr_db, mcs: None, block_error_rate: None }
    }

    /// The MCS for a new transport block: one that the carrier has, whatever was to be used in another cell.
    #[must_use]
    pub fn mcs(&self, adaptation: &Adaptation) -> u8 {
        self.mcs.map_or_else(|| adaptation.mcs(self.sinr_db), |mcs| mcs.min(adaptation.mcs_count() - 1))
    }
}

/// What the receiver has of a transport block: HARQ adds up what each transmission brings (chase combining, so that two
/// equal ones have 3 dB more).
#[derive(Clone, Copy, Debug)]
pub struct Reception {
    /// How hard this block is: it is understood where no more than this part of all blocks is lost.
    hardness: f64,
    /// The sum of the SINRs, not in dB.
    sinr: f64,
}

impl Reception {
    /// Nothing yet of a new block.
    #[must_use]
    pub fn new(random: &mut Random) -> Self {
        Reception { hardness: random.uniform(), sinr: 0.0 }
    }

    /// One more transmission of the block: whether it is understood now.
    ///
    /// A block stays as hard as it is. So the part of all blocks that is lost after each transmission is
    /// [`Adaptation::block_error_rate`] of what has added up till then. Where the link says what is lost, chance decides
    /// each time anew.
    #[must_use]
    pub fn receive(&mut self, adaptation: &Adaptation, mcs: u8, link: &Link, random: &mut Random) -> bool {
        self.sinr += 10.0_f64.powf(link.sinr_db / 10.0);
        match link.block_error_rate {
            Some(rate) => random.uniform() >= rate,
            None => self.hardness >= adaptation.block_error_rate(mcs, self.sinr_db()),
        }
    }

    /// The SINR in dB that has added up.
    #[must_use]
    pub fn sinr_db(&self) -> f64 {
        10.0 * self.sinr.log10()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phy::{Carrier, McsTable};

    fn adaptations() -> [Adaptation; 4] {
        let carrier = |downlink_mcs| Carrier { downlink_mcs, ..Carrier::default() };
        [McsTable::Qam64, McsTable::Qam256, McsTable::Qam64LowSe]
            .map(carrier)
            .into_iter()
            .chain([Carrier::lte()])
            .map(|carrier| Adaptation::new(&carrier.check().unwrap(), Direction::Downlink))
            .collect::<Vec<_>>()
            .try_into()
            .unwrap()
    }

    /// One block in ten was lost there, in simulations of LDPC codes with blocks of 2000 bits and without fading.
    #[test]
    fn thresholds_are_near_simulated_ones() {
        let [qam64, qam256, ..] = adaptations();
        for (adaptation, simulated) in [
            (&qam64, [(3, -2.3), (9, 3.3), (10, 3.5), (16, 8.7), (17, 9.1), (20, 12.1), (24, 15.7), (28, 19.6)]),
            (&qam256, [(2, -1.4), (4, 2.4), (10, 8.7), (13, 11.8), (19, 17.8), (20, 18.6), (24, 22.3), (26, 24.3)]),
        ] {
            for (mcs, sinr_db) in simulated {
                let needed = adaptation.needed_sinr_db(mcs);
                assert!((needed - sinr_db).abs() < 0.7, "MCS {mcs}: {needed} and not {sinr_db}");
            }
        }
    }

    #[test]
    fn a_better_channel_allows_more() {
        for adaptation in adaptations() {
            let mut last = (Cqi(0), 0);
            for step in -300..400 {
                let sinr_db = f64::from(step) / 10.0;
                let now = (adaptation.cqi(sinr_db), adaptation.mcs(sinr_db));
                assert!(now.0 >= last.0 && now.1 >= last.1, "{sinr_db} dB");
                last = now;
                let by_cqi = adaptation.mcs_of_cqi(now.0);
                assert!(
                    by_cqi <= adaptation.mcs(sinr_db + 0.1),
                    "{sinr_db} dB: MCS {by_cqi} by CQI, {} by SINR",
                    now.1
                );
                if sinr_db >= adaptation.needed_sinr_db(0) {
                    assert!(adaptation.block_error_rate(now.1, sinr_db) <= 0.1 + 1e-9, "{sinr_db} dB");
                }
            }
            assert_eq!(last, (Cqi(15), adaptation.mcs_count() - 1));
        }
    }

    #[test]
    fn odds_of_errors_follow_the_margin() {
        for adaptation in adaptations() {
            for mcs in 0..adaptation.mcs_count() {
                let at = |margin_db| adaptation.block_error_rate(mcs, adaptation.needed_sinr_db(mcs) + margin_db);
                assert!((at(0.0) - 0.1).abs() < 1e-9);
                assert!(at(1.0) < 0.01 && at(-1.0) > 0.8);
                assert_eq!((at(f64::NEG_INFINITY), at(f64::INFINITY)), (1.0, 0.0));
            }
        }
    }

    #[test]
    fn a_link_may_say_the_mcs_and_what_is_lost() {
        let [adaptation, ..] = adaptations();
        let mut random = Random::new(1, 0);
        let link = Link { sinr_db: -40.0, mcs: Some(20), block_error_rate: Some(0.25) };
        assert_eq!(link.mcs(&adaptation), 20);
        let receptions = 20_000;
        let mut lost = [0; 2];
        for _ in 0..receptions {
            let mut reception = Reception::new(&mut random);
            for lost in &mut lost {
                *lost += u32::from(!reception.receive(&adaptation, 20, &link, &mut random));
            }
        }
        for lost in lost.map(|lost| f64::from(lost) / f64::from(receptions)) {
            assert!((lost - 0.25).abs() < 0.01, "{lost}");
        }
        assert_eq!(Link::of_sinr(12.5).mcs(&adaptation), adaptation.mcs(12.5));
    }
}
