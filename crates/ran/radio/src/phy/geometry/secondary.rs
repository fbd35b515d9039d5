//! The channel of a UE to a secondary cell, beside that to its primary cell.

use std::sync::Arc;

use super::{Clock, FADING_INTERVAL, Gain, Geometry};
use crate::phy::Interference;
use crate::{Random, Time};

/// The channel of a UE at a position to a secondary cell: path loss, line of sight and shadowing are those of the [`Geometry`], the
/// fading is its own, since carriers are further apart than the coherence bandwidth.
#[derive(Clone, Debug)]
pub(crate) struct SecondaryPath {
    site: usize,
    gain: Gain,
    clock: Clock,
}

impl SecondaryPath {
    /// `None` when the UE does not receive the site.
    pub fn new(geometry: &Geometry, site: usize, random: &mut Random) -> Option<Self> {
        let frequency_mhz = geometry.sites().get(site)?.frequency_mhz;
        let response = Arc::clone(geometry.deployment.response(site));
        let gain = Gain::new(&geometry.ue_radio.fading, response, frequency_mhz, random);
        Some(SecondaryPath { site, gain, clock: Clock::default() })
    }

    /// Advances the fading to `now`.
    pub fn update(&mut self, now: Time, geometry: &Geometry, random: &mut Random) {
        let Some(seconds) = self.clock.tick(now, FADING_INTERVAL) else { return };
        let site = &geometry.sites()[self.site];
        let rice_factor_db = site.propagation.scenario.rice_factor_db(geometry.has_line_of_sight(self.site));
        let response = Arc::clone(geometry.deployment.response(self.site));
        self.gain.set_propagation(response, rice_factor_db, site.frequency_mhz);
        self.gain.update(seconds, geometry.mobile_ue.speed_m_per_s(), random);
    }

    /// The SINR in dB at the UE.
    pub fn sinr_db(&self, geometry: &Geometry, interference: &Interference) -> f64 {
        self.gain.faded_db(geometry.site_sinr_db(self.site, interference))
    }

    /// RSRP at the UE.
    pub fn rsrp_dbm(&self, geometry: &Geometry) -> f64 {
        geometry.rsrp_dbm(self.site)
    }
}
