//! The radio channel of a UE at a position among base stations.

mod secondary;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use super::channel::Surroundings;
use super::decibel::{decibels, linear};
use super::deployment::MastPath;
use super::fading::Gain;
use super::power_control::UplinkPower;
use super::site::{GeometryError, Site, UeRadio};
use super::{Deployment, Interference, MobileUe, Position, PowerControl};
use crate::{Random, Time};

pub(crate) use secondary::SecondaryPath;

/// The interval of updates of the position.
const POSITION_INTERVAL: Duration = Duration::from_millis(40);
/// The distance between updates of the paths to near sites: a twelfth of the shortest correlation distance of shadowing.
const PATH_INTERVAL_M: f64 = 0.5;
/// The same of far sites: two thirds of that distance, and a tenth of that of urban macro cells.
const FAR_PATH_INTERVAL_M: f64 = 4.0;
/// Sites are near within this of the strongest. All farther ones together rarely have a tenth of its power, and what they have
/// changes with the next update of far sites.
const NEAR_DB: f64 = 25.0;
/// The interval of updates of fading. With a longer coherence time, successive values are correlated; with a shorter one they
/// are practically independent.
const FADING_INTERVAL: Duration = Duration::from_millis(5);

/// The channel of a UE at a position among base stations.
///
/// Path loss, line of sight and shadowing of each cell depend on the position, the fading of the serving cell on the UE's speed. Both
/// directions share them. Reported powers exclude fading, as after layer 3 filtering.
#[derive(Clone, Debug)]
pub struct Geometry {
    deployment: Deployment,
    serving: usize,
    ue_radio: UeRadio,
    mobile_ue: MobileUe,
    /// The position for which the paths were computed.
    paths_at: Position,
    far_paths_at: Position,
    /// The near sites and their masts, as of the last update of far sites.
    near: Box<[u32]>,
    near_masts: Box<[u32]>,
    masts: Box<[MastPath]>,
    /// By site: the coupling loss, and the received power per resource element.
    loss_db: Box<[f32]>,
    received_mw: Box<[f32]>,
    gain: Gain,
    /// The SINRs in the serving cell, without fading; in the uplink on one PRB.
    sinr_db: f64,
    uplink_sinr_db: f64,
    uplink_power: UplinkPower,
    receiver: Receiver,
    /// The interference that the SINRs contain; `None` when a path or the serving cell has changed since.
    interference: Option<u64>,
    position_clock: Clock,
    fading_clock: Clock,
}

/// What the SINRs contain besides interference, for the current paths.
#[derive(Clone, Copy, Debug, Default)]
struct Receiver {
    /// Noise per resource element at the UE and at the base station.
    noise_mw: f64,
    uplink_noise_mw: f64,
    /// The power of the resource elements of the serving cell.
    element_mw: f64,
    uplink_rsrp_dbm: f64,
}

/// A periodic timer: last and next time.
#[derive(Clone, Copy, Debug, Default)]
struct Clock {
    last: Option<Time>,
    next: Time,
}

impl Clock {
    /// The seconds since the last tick, when the next one is due; 0 at the first, because a UE may arrive late.
    fn tick(&mut self, now: Time, interval: Duration) -> Option<f64> {
        if now < self.next {
            return None;
        }
        let elapsed = now - self.last.unwrap_or(now);
        *self = Clock { last: Some(now), next: now + interval };
        Some(elapsed.as_secs_f64())
    }
}

impl Geometry {
    /// Creates the channel of a UE among the sites of a deployment.
    pub fn new(
        deployment: impl Into<Deployment>,
        serving: usize,
        ue_radio: UeRadio,
        mobile_ue: MobileUe,
        random: &mut Random,
    ) -> Result<Self, GeometryError> {
        let deployment = deployment.into();
        let sites = deployment.sites();
        sites.iter().try_for_each(Site::check)?;
        ue_radio.check()?;
        let site = sites.get(serving).ok_or(GeometryError::Value {
            field: "serving",
            value: serving as f64,
            allowed: "the index of a site",
        })?;
        let gain = Gain::new(&ue_radio.fading, Arc::clone(deployment.response(serving)), site.frequency_mhz, random);
        let (position_clock, fading_clock) = Default::default();
        let mut geometry = Geometry {
            serving,
            ue_radio,
            paths_at: mobile_ue.position(),
            far_paths_at: mobile_ue.position(),
            near: Box::default(),
            near_masts: Box::default(),
            mobile_ue,
            masts: deployment.no_paths(),
            loss_db: vec![0.0; sites.len()].into(),
            received_mw: vec![0.0; sites.len()].into(),
            gain,
            sinr_db: 0.0,
            uplink_sinr_db: 0.0,
            uplink_power: UplinkPower::default(),
            receiver: Receiver::default(),
            interference: None,
            position_clock,
            fading_clock,
            deployment,
        };
        geometry.update_all_paths();
        geometry.gain.update(0.0, 0.0, random);
        let nothing = Surroundings { interference: &Interference::default(), power_control: &PowerControl::default() };
        geometry.update_sinr(&nothing);
        geometry.interference = None;
        Ok(geometry)
    }

    /// Advances the channel to `now`.
    pub fn update(&mut self, now: Time, surroundings: &Surroundings<'_>, random: &mut Random) {
        self.update_position_and_fading(now, random);
        if self.interference != Some(surroundings.interference.number()) {
            self.update_sinr(surroundings);
        }
    }

    fn update_position_and_fading(&mut self, now: Time, random: &mut Random) {
        let Some(seconds) = self.fading_clock.tick(now, FADING_INTERVAL) else { return };
        self.gain.update(seconds, self.mobile_ue.speed_m_per_s(), random);
        if !self.mobile_ue.moves() {
            return;
        }
        if let Some(seconds) = self.position_clock.tick(now, POSITION_INTERVAL) {
            self.mobile_ue.advance(seconds, random);
            let position = self.mobile_ue.position();
            if self.far_paths_at.distance_m(position) >= FAR_PATH_INTERVAL_M {
                self.update_all_paths();
            } else if self.paths_at.distance_m(position) >= PATH_INTERVAL_M {
                self.update_near_paths();
            }
        }
    }

    /// The position of the UE.
    #[must_use]
    pub fn position(&self) -> Position {
        self.mobile_ue.position()
    }

    /// The length of the line from the UE to the antenna of the serving site, in metres.
    #[must_use]
    pub fn line_m(&self) -> f64 {
        let site = &self.sites()[self.serving];
        self.position().distance_m(site.position).hypot(site.height_m - self.ue_radio.height_m)
    }

    /// The index of the serving site.
    #[must_use]
    pub fn serving(&self) -> usize {
        self.serving
    }

    /// Changes the serving site, at the end of a handover. The SINRs are those of the new site from the next update on.
    ///
    /// # Panics
    /// When there is no such site.
    pub fn set_serving(&mut self, site: usize) {
        let sites = self.sites();
        assert!(site < sites.len(), "site {site} of {}", sites.len());
        self.serving = site;
        // the new one may have been far
        self.update_all_paths();
    }

    /// All sites.
    #[must_use]
    pub fn sites(&self) -> &[Site] {
        self.deployment.sites()
    }

    /// RSRP of a site.
    ///
    /// # Panics
    /// When there is no such site.
    #[must_use]
    pub fn rsrp_dbm(&self, site: usize) -> f64 {
        self.deployment.element_dbm(site) - self.loss_db(site)
    }

    /// The SINR at the UE if a site served it, without fading.
    ///
    /// # Panics
    /// When there is no such site.
    #[must_use]
    pub fn site_sinr_db(&self, site: usize, interference: &Interference) -> f64 {
        self.rsrp_dbm(site) - decibels(self.disturbing_mw(site, interference))
    }

    /// Noise and interference per resource element at the UE, for a site.
    fn disturbing_mw(&self, number: usize, interference: &Interference) -> f64 {
        let site = &self.sites()[number];
        let noise_dbm = site.noise_dbm() + self.ue_radio.noise_figure_db + site.noise_rise_db;
        linear(noise_dbm) + interference.downlink_mw(number, &self.received_mw)
    }

    /// The coupling loss of a site: path loss and shadowing, minus the antenna gain in the direction of the UE.
    ///
    /// # Panics
    /// When there is no such site.
    #[must_use]
    pub fn loss_db(&self, site: usize) -> f64 {
        self.loss_db[site].into()
    }

    /// The received power of each site per resource element in mW, without fading.
    #[must_use]
    pub fn received_mw(&self) -> &[f32] {
        &self.received_mw
    }

    /// Whether there is line of sight to a site.
    ///
    /// # Panics
    /// When there is no such site.
    #[must_use]
    pub fn has_line_of_sight(&self, site: usize) -> bool {
        self.masts[self.deployment.mast(site)].line_of_sight
    }

    /// Whether the UE is in a building.
    #[must_use]
    pub fn is_indoors(&self) -> bool {
        self.ue_radio.indoors.is_some()
    }

    /// Power of the UE's reference signals at the serving site per resource element, sent on one PRB.
    #[must_use]
    pub fn uplink_rsrp_dbm(&self) -> f64 {
        let site = &self.sites()[self.serving];
        decibels(self.uplink_power.on(1) / 12.0) + site.uplink_gain_db - self.loss_db(self.serving)
    }

    /// The transmit power of the UE on `prbs` PRBs, in mW.
    #[must_use]
    pub fn uplink_power_mw(&self, prbs: u16) -> f64 {
        self.uplink_power.on(prbs)
    }

    /// The number of PRBs for which the power of the UE suffices.
    #[must_use]
    pub fn full_power_prbs(&self) -> f64 {
        self.uplink_power.full_power_prbs()
    }

    /// The SINR in dB at the UE.
    #[must_use]
    pub fn sinr_db(&self) -> f64 {
        self.gain.faded_db(self.sinr_db)
    }

    /// The SINRs in dB at the UE of a transmission in few resource elements, each with its probability: the cell that disturbs it most
    /// transmits in them, or does not. Other cells have their mean power.
    pub(super) fn element_sinrs_db(&self, interference: &Interference) -> [(f64, f64); 2] {
        let serving_dbm = self.rsrp_dbm(self.serving);
        let mean_mw = self.disturbing_mw(self.serving, interference);
        let (share, power_mw) = interference.strongest(self.serving, &self.received_mw).unwrap_or_default();
        let without_mw = mean_mw - share * power_mw;
        let sinr_db = |disturbing_mw: f64| self.gain.faded_db(serving_dbm - decibels(disturbing_mw));
        [(share, sinr_db(without_mw + power_mw)), (1.0 - share, sinr_db(without_mw))]
    }

    /// The SINR in dB at the UE in each subband of CQI reports, from the lowest frequency on. None where the carrier has no subbands or
    /// the channel is flat.
    pub fn subband_sinrs_db(&self) -> impl Iterator<Item = f64> + '_ {
        let Site { prbs, subband_prbs, .. } = self.sites()[self.serving];
        let count = if self.gain.is_flat() || subband_prbs == 0 { 0 } else { prbs.div_ceil(subband_prbs) };
        (0..usize::from(count)).map(|subband| self.sinr_db + self.gain.subband_db(subband))
    }

    /// The SINR in dB at the base station, of a transmission on one PRB.
    #[must_use]
    pub fn uplink_sinr_db(&self) -> f64 {
        self.gain.faded_db(self.uplink_sinr_db)
    }

    /// Recomputes all paths from the current position.
    fn update_all_paths(&mut self) {
        let position = self.mobile_ue.position();
        (self.paths_at, self.far_paths_at) = (position, position);
        self.deployment.update_masts(position, &self.ue_radio, &mut self.masts);
        (0..self.received_mw.len()).for_each(|site| self.update_site(site));
        let strongest_mw = self.received_mw.iter().copied().fold(0.0, f32::max);
        let near_mw = strongest_mw * linear(-NEAR_DB) as f32;
        let is_near = |site: &u32| self.received_mw[*site as usize] >= near_mw || *site as usize == self.serving;
        self.near = (0..self.received_mw.len() as u32).filter(is_near).collect();
        let mut masts: Vec<u32> = self.near.iter().map(|site| self.deployment.mast(*site as usize) as u32).collect();
        masts.sort_unstable();
        masts.dedup();
        self.near_masts = masts.into();
        self.update_serving();
    }

    /// Recomputes the paths to near sites.
    fn update_near_paths(&mut self) {
        self.paths_at = self.mobile_ue.position();
        let masts = self.near_masts.iter().map(|mast| *mast as usize);
        self.deployment.update_some_masts(masts, self.paths_at, &self.ue_radio, &mut self.masts);
        for at in 0..self.near.len() {
            self.update_site(self.near[at] as usize);
        }
        self.update_serving();
    }

    /// Recomputes what is received of a site.
    fn update_site(&mut self, site: usize) {
        let loss = self.deployment.loss_db(site, &self.masts);
        self.loss_db[site] = loss as f32;
        self.received_mw[site] = linear(self.deployment.element_dbm(site) - loss) as f32;
    }

    /// Recomputes what depends on the serving site.
    fn update_serving(&mut self) {
        let site = &self.deployment.sites()[self.serving];
        let rice_factor_db = site.propagation.scenario.rice_factor_db(self.has_line_of_sight(self.serving));
        let response = Arc::clone(self.deployment.response(self.serving));
        self.gain.set_propagation(response, rice_factor_db, site.frequency_mhz);
        self.interference = None;
    }

    /// Recomputes the SINRs of the serving cell.
    fn update_sinr(&mut self, surroundings: &Surroundings<'_>) {
        let Surroundings { interference, power_control } = surroundings;
        let (site, serving) = (&self.deployment.sites()[self.serving], self.serving);
        if self.interference.is_none() {
            let prb_dbm = power_control.prb_dbm(site.subcarrier_hz, self.loss_db(serving));
            self.uplink_power = UplinkPower::new(prb_dbm, self.ue_radio.power_dbm);
            self.receiver = Receiver {
                noise_mw: linear(site.noise_dbm() + self.ue_radio.noise_figure_db + site.noise_rise_db),
                uplink_noise_mw: linear(site.noise_dbm() + site.noise_figure_db + site.uplink_noise_rise_db),
                element_mw: linear(self.deployment.element_dbm(serving)),
                uplink_rsrp_dbm: self.uplink_rsrp_dbm(),
            };
        }
        let Receiver { noise_mw, uplink_noise_mw, element_mw, uplink_rsrp_dbm } = self.receiver;
        let disturbing_mw = noise_mw + interference.downlink_mw(serving, &self.received_mw);
        self.sinr_db = self.rsrp_dbm(serving) - decibels(disturbing_mw);
        let disturbing_mw = uplink_noise_mw + interference.uplink_mw(serving, element_mw);
        self.uplink_sinr_db = uplink_rsrp_dbm - decibels(disturbing_mw);
        self.interference = Some(interference.number());
    }
}
