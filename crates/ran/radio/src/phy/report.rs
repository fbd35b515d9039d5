//! What a base station learns of a channel, and when.

use super::rank::{best_rank, layer_loss_db};
use super::{Adaptation, Cqi, Link, SubbandCqis};

/// A report about one direction of a channel, or the base station's own estimate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ChannelReport {
    /// The number of layers to use.
    pub layers: u8,
    /// The quality of each of them.
    pub cqi: Cqi,
    /// The SINR in dB of each layer that the base station assumes, in the uplink on one PRB.
    pub sinr_db: f64,
    /// The quality of each subband.
    pub subbands: SubbandCqis,
    /// A fixed MCS of the channel.
    pub mcs: Option<u8>,
    /// The number of PRBs for which the UE's power suffices, from its power headroom.
    pub full_power_prbs: f64,
}

impl ChannelReport {
    /// No report yet: out of coverage.
    pub const NONE: ChannelReport = ChannelReport {
        layers: 1,
        cqi: Cqi(0),
        sinr_db: f64::NEG_INFINITY,
        subbands: SubbandCqis::NONE,
        mcs: None,
        full_power_prbs: f64::INFINITY,
    };

    /// A report of the UE: RI and CQI (TS 38.214 5.2.1.4). The base station assumes the least SINR of the CQI.
    pub fn of_ue(link: &Link, adaptation: &Adaptation, most_layers: u8) -> Self {
        let estimate = Self::estimate(link, adaptation, most_layers);
        match link.mcs {
            Some(_) => estimate,
            None => ChannelReport { sinr_db: adaptation.cqi_sinr_db(estimate.cqi), ..estimate },
        }
    }

    /// An estimate of the base station from sounding reference signals and power headroom, which is not quantized.
    /// The rank is at most `most_layers`.
    pub fn estimate(link: &Link, adaptation: &Adaptation, most_layers: u8) -> Self {
        let Link { sinr_db, mcs, full_power_prbs, .. } = *link;
        let (layers, cqi) = match mcs {
            Some(_) => (adaptation.layers().min(most_layers), adaptation.cqi(sinr_db)),
            None => best_rank(adaptation, sinr_db, most_layers),
        };
        let loss_db = if mcs.is_some() { 0.0 } else { layer_loss_db(layers, adaptation.layers()) };
        ChannelReport { layers, cqi, sinr_db: sinr_db - loss_db, subbands: SubbandCqis::NONE, mcs, full_power_prbs }
    }

    /// Adds a report on subbands, from their SINRs of a single layer in dB.
    pub fn with_subbands(self, sinrs_db: impl Iterator<Item = f64>, adaptation: &Adaptation) -> Self {
        let loss_db = layer_loss_db(self.layers, adaptation.layers());
        let sinrs_db = sinrs_db.map(|sinr_db| sinr_db - loss_db);
        ChannelReport { subbands: SubbandCqis::new(sinrs_db, self.cqi, adaptation), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phy::{Carrier, Direction};

    #[test]
    fn report_of_ue_has_only_what_cqi_says() {
        let carrier = Carrier { downlink_layers: 2, ..Carrier::default() };
        let adaptation = Adaptation::new(&carrier.check().unwrap(), Direction::Downlink);
        for step in -150..350 {
            let link = Link::of_sinr(f64::from(step) / 10.0);
            let (report, estimate) =
                (ChannelReport::of_ue(&link, &adaptation, 4), ChannelReport::estimate(&link, &adaptation, 4));
            assert_eq!((report.layers, report.cqi), (estimate.layers, estimate.cqi));
            assert_eq!(report.sinr_db, adaptation.cqi_sinr_db(report.cqi), "one of 16 values");
            assert!(report.sinr_db <= estimate.sinr_db && estimate.sinr_db <= link.sinr_db);
            let mcs = adaptation.mcs(report.sinr_db);
            assert_eq!(mcs, adaptation.mcs_of_cqi(report.cqi), "{report:?}");
        }
    }

    #[test]
    fn fixed_mcs_uses_all_layers() {
        let carrier = Carrier { downlink_layers: 4, ..Carrier::default() };
        let adaptation = Adaptation::new(&carrier.check().unwrap(), Direction::Downlink);
        let link = Link { mcs: Some(5), ..Link::of_sinr(-3.0) };
        let report = ChannelReport::of_ue(&link, &adaptation, 4);
        assert_eq!((report.layers, report.mcs, report.sinr_db), (4, Some(5), -3.0));
        assert_eq!(ChannelReport::of_ue(&link, &adaptation, 2).layers, 2);
    }
}
