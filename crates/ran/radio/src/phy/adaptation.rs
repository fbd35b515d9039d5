//! Link adaptation: CQI, MCS and block error rate from the SINR.

use super::blocks::modulation;
use super::decibel::{decibels, linear};
use super::mcs::mcs_count;
use super::rank::{MAX_LAYERS, layer_loss_db, rank_thresholds_db};
use super::{Cqi, Direction, Grid, Modulation, Rat};
use crate::Random;

/// The block error rate at the required SINR of an MCS: the target of link adaptation (TS 38.214 5.2.2.1).
const AIM: f64 = 0.1;

/// The slope of the block error rate: each dB changes the odds by a factor of e to this. The error rate of code blocks of 500
/// to 2000 bits falls from one half to one in a hundred within about 1 dB.
const SLOPE_PER_DB: f64 = 4.0;

/// The SINR in dB at which one block in ten is lost.
///
/// Shannon's bound plus the gap of a real code: 1.3 dB, and 0.2 dB more per bit that a resource element carries. This is within
/// 0.6 dB of simulated blocks of 500 to 2000 bits with the LDPC codes of NR from QPSK to 256QAM, without fading; the turbo codes
/// of LTE need about 0.7 dB more.
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
    /// The required SINR of each MCS.
    needs_db: Box<[f64]>,
    /// The running maximum of it.
    ascending_db: Box<[f64]>,
    /// Bits per symbol of each MCS.
    orders: Box<[u8]>,
    /// The required SINR of CQI 1 to 15.
    cqi_needs_db: [f64; 15],
    /// The highest MCS that is no more efficient than a CQI.
    mcs_of_cqi: [u8; 16],
    /// The most layers.
    layers: u8,
    rank_thresholds_db: [f64; MAX_LAYERS - 1],
}

impl Adaptation {
    /// Creates the link adaptation of a carrier.
    #[must_use]
    pub fn new(grid: &Grid, direction: Direction) -> Self {
        let carrier = grid.carrier();
        let (table, layers) = match direction {
            Direction::Downlink => (carrier.downlink_mcs, carrier.downlink_layers),
            Direction::Uplink => (carrier.uplink_mcs, carrier.uplink_layers),
        };
        let modulations: Vec<_> =
            (0..mcs_count(table, carrier.rat)).map(|mcs| modulation(grid, direction, mcs)).collect();
        let needs_db: Box<[f64]> = modulations.iter().map(|mcs| threshold_db(*mcs, carrier.rat)).collect();
        let mut ascending_db = needs_db.clone();
        for mcs in 1..ascending_db.len() {
            ascending_db[mcs] = ascending_db[mcs].max(ascending_db[mcs - 1]);
        }
        let mut mcs_of_cqi = [0; 16];
        for (of_cqi, cqi) in mcs_of_cqi[1..].iter_mut().zip(table.cqis()) {
            // in LTE the efficiencies of MCS and CQI agree only approximately
            let carries = |mcs: &Modulation| mcs.efficiency() <= 1.01 * cqi.efficiency();
            *of_cqi = modulations.iter().rposition(carries).unwrap_or(0) as u8;
        }
        let cqi_needs_db = table.cqis().map(|cqi| threshold_db(cqi, carrier.rat));
        let orders = modulations.iter().map(|mcs| mcs.order).collect();
        let rank_thresholds_db = rank_thresholds_db(layers, cqi_needs_db[14]);
        Adaptation { needs_db, ascending_db, orders, cqi_needs_db, mcs_of_cqi, layers, rank_thresholds_db }
    }

    /// Bits per symbol of an MCS: 2 is QPSK, 8 is 256QAM.
    ///
    /// # Panics
    /// When the carrier has no such MCS.
    #[must_use]
    pub fn modulation_order(&self, mcs: u8) -> u8 {
        self.orders[usize::from(mcs)]
    }

    /// The highest CQI that a SINR allows.
    #[must_use]
    pub fn cqi(&self, sinr_db: f64) -> Cqi {
        Cqi(self.cqi_needs_db.partition_point(|needed| *needed <= sinr_db) as u8)
    }

    /// The least SINR in dB of a CQI; minus infinity for CQI 0.
    #[must_use]
    pub fn cqi_sinr_db(&self, cqi: Cqi) -> f64 {
        match cqi.0.min(15) {
            0 => f64::NEG_INFINITY,
            cqi => self.cqi_needs_db[usize::from(cqi) - 1],
        }
    }

    /// The SINRs in dB from which on ranks 2, 3 and 4 are used.
    pub(super) fn rank_thresholds_db(&self) -> &[f64; MAX_LAYERS - 1] {
        &self.rank_thresholds_db
    }

    /// The most spatial layers.
    #[must_use]
    pub fn layers(&self) -> u8 {
        self.layers
    }

    /// The highest MCS that is no more efficient than a CQI; MCS 0 when all are.
    #[must_use]
    pub fn mcs_of_cqi(&self, cqi: Cqi) -> u8 {
        self.mcs_of_cqi[usize::from(cqi.0.min(15))]
    }

    /// The highest MCS that a SINR allows, at a finer resolution than the CQI; MCS 0 when the SINR is too low for any.
    #[must_use]
    pub fn mcs(&self, sinr_db: f64) -> u8 {
        (self.ascending_db.partition_point(|needed| *needed <= sinr_db) as u8).saturating_sub(1)
    }

    /// The number of MCS indices, which start at 0.
    #[must_use]
    pub fn mcs_count(&self) -> u8 {
        self.needs_db.len() as u8
    }

    /// The SINR in dB at which one transport block in ten is lost.
    ///
    /// # Panics
    /// When the carrier has no such MCS.
    #[must_use]
    pub fn needed_sinr_db(&self, mcs: u8) -> f64 {
        self.needs_db[usize::from(mcs)]
    }

    /// The block error rate.
    ///
    /// # Panics
    /// When the carrier has no such MCS.
    #[must_use]
    pub fn block_error_rate(&self, mcs: u8, sinr_db: f64) -> f64 {
        let margin_db = sinr_db - self.needed_sinr_db(mcs);
        1.0 / (1.0 + (1.0 / AIM - 1.0) * (SLOPE_PER_DB * margin_db).exp())
    }
}

/// The state of one direction of a UE's channel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// The SINR in dB of a single layer; in the uplink on one PRB. With a fixed MCS that of each layer.
    pub sinr_db: f64,
    /// A fixed MCS on all layers, independent of the SINR.
    pub mcs: Option<u8>,
    /// A fixed error rate of all transmissions, independent of SINR and MCS.
    pub block_error_rate: Option<f64>,
    /// The number of PRBs for which the power of the transmitter suffices: on more, each has less. Infinite without power
    /// control.
    pub full_power_prbs: f64,
}

impl Link {
    /// A channel that is defined by its SINR.
    #[must_use]
    pub fn of_sinr(sinr_db: f64) -> Self {
        Link { sinr_db, mcs: None, block_error_rate: None, full_power_prbs: f64::INFINITY }
    }

    /// The SINR in dB of each layer of a transport block.
    #[must_use]
    pub fn block_sinr_db(&self, layers: u8, prbs: u16, adaptation: &Adaptation) -> f64 {
        match self.mcs {
            Some(_) => self.sinr_db,
            None => {
                let loss_db = layer_loss_db(layers, adaptation.layers()) + power_loss_db(self.full_power_prbs, prbs);
                self.sinr_db - loss_db
            }
        }
    }
}

/// How much less power a PRB has in an allocation of `prbs` PRBs than in one of a single PRB, in dB.
#[must_use]
pub(crate) fn power_loss_db(full_power_prbs: f64, prbs: u16) -> f64 {
    let over = f64::from(prbs) / full_power_prbs.max(1.0);
    if over > 1.0 { decibels(over) } else { 0.0 }
}

/// The soft-combining state of a transport block (chase combining: two equal transmissions gain 3 dB).
#[derive(Clone, Copy, Debug)]
pub struct Reception {
    /// The block is decoded when the block error rate is at most this.
    hardness: f64,
    /// The combined SINR in dB: the linear SINRs add up.
    sinr_db: f64,
}

impl Reception {
    /// Starts the reception of a new block.
    #[must_use]
    pub fn new(random: &mut Random) -> Self {
        Reception { hardness: random.uniform(), sinr_db: f64::NEG_INFINITY }
    }

    /// Combines another transmission and returns whether the block is decoded.
    ///
    /// The hardness of a block is drawn once, so the error rate after each transmission is [`Adaptation::block_error_rate`]
    /// of the combined SINR, that of each layer. With a fixed error rate each transmission is drawn independently.
    #[must_use]
    pub fn receive(
        &mut self,
        adaptation: &Adaptation,
        mcs: u8,
        (sinr_db, block_error_rate): (f64, Option<f64>),
        random: &mut Random,
    ) -> bool {
        self.sinr_db = match self.sinr_db {
            f64::NEG_INFINITY => sinr_db,
            before_db => decibels(linear(before_db) + linear(sinr_db)),
        };
        match block_error_rate {
            Some(rate) => random.uniform() >= rate,
            None => self.hardness >= adaptation.block_error_rate(mcs, self.sinr_db),
        }
    }

    /// The combined SINR in dB.
    #[must_use]
    pub fn sinr_db(&self) -> f64 {
        self.sinr_db
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

    /// The SINR at 10 % block error rate in simulations of LDPC codes with blocks of 2000 bits, without fading.
    #[test]
    fn thresholds_are_near_simulated_ones() {
        let [qam64, qam256, ..] = adaptations();
        for (adaptation, simulated) in [
            (&qam64, [(3, -2.3), (9, 3.3), (10, 3.5), (16, 8.7), (17, 9.1), (20, 12.1), (24, 15.7), (28, 19.6)]),
            (&qam256, [(2, -1.4), (4, 2.4), (10, 8.7), (13, 11.8), (19, 17.8), (20, 18.6), (24, 22.3), (26, 24.3)]),
        ] {
            for (mcs, sinr_db) in simulated {
                let needed = adaptation.needed_sinr_db(mcs);
                assert!((needed - sinr_db).abs() < 0.7, "MCS {mcs}: {needed} instead of {sinr_db}");
            }
        }
    }

    #[test]
    fn higher_sinr_never_lowers_cqi_or_mcs() {
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
    fn block_error_rate_follows_margin() {
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
    fn fixed_error_rate_is_that_of_each_transmission() {
        let [adaptation, ..] = adaptations();
        let mut random = Random::new(1, 0);
        let receptions = 20_000;
        let mut lost = [0; 2];
        for _ in 0..receptions {
            let mut reception = Reception::new(&mut random);
            for lost in &mut lost {
                *lost += u32::from(!reception.receive(&adaptation, 20, (-40.0, Some(0.25)), &mut random));
            }
        }
        for lost in lost.map(|lost| f64::from(lost) / f64::from(receptions)) {
            assert!((lost - 0.25).abs() < 0.01, "{lost}");
        }
    }
    #[test]
    fn sinr_of_block_falls_with_prbs_beyond_full_power_and_with_layers() {
        let [_, qam256, ..] = adaptations();
        let link = Link { full_power_prbs: 10.0, ..Link::of_sinr(15.0) };
        assert_eq!(qam256.layers(), 1);
        let sinr_db = |prbs| link.block_sinr_db(1, prbs, &qam256);
        assert_eq!((sinr_db(1), sinr_db(10)), (15.0, 15.0));
        assert!((sinr_db(20) - 11.99).abs() < 0.01 && (sinr_db(100) - 5.0).abs() < 1e-9);
        // a UE without headroom on a single PRB
        let weak = Link { full_power_prbs: 0.1, ..link };
        assert!((weak.block_sinr_db(1, 10, &qam256) - 5.0).abs() < 1e-9);
        let fixed = Link { mcs: Some(3), ..weak };
        assert_eq!(fixed.block_sinr_db(1, 10, &qam256), 15.0);
    }
}
