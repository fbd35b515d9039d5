//! The radio channel of a UE at a position among base stations.

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phy::{Area, Carrier, DeploymentScenario, LineOfSight, Motion, Propagation};

    const AREA: Area =
        Area { min: Position { x_m: -2000.0, y_m: -2000.0 }, max: Position { x_m: 2000.0, y_m: 2000.0 } };

    fn sites(places_m: &[f64]) -> Arc<[Site]> {
        let grid = Carrier::default().check().unwrap();
        places_m.iter().map(|x_m| Site::new(&grid, Position { x_m: *x_m, y_m: 0.0 })).collect()
    }

    fn geometry(sites: &Arc<[Site]>, x_m: f64, motion: Motion, ue: u32) -> Geometry {
        let mobile_ue = MobileUe::new(AREA, Position { x_m, y_m: 0.0 }, motion).unwrap();
        let mut random = Random::new(1, ue.into());
        // each UE among shadowing of its own
        let deployment = Deployment::new(sites.clone(), ue.into());
        Geometry::new(deployment, 0, UeRadio::default(), mobile_ue, &mut random).unwrap()
    }

    /// Updates a channel among silent cells.
    fn update(geometry: &mut Geometry, now: Time, random: &mut Random) {
        update_among(geometry, now, &Interference::default(), random);
    }

    fn update_among(geometry: &mut Geometry, now: Time, interference: &Interference, random: &mut Random) {
        let power_control = PowerControl::default();
        geometry.update(now, &Surroundings { interference, power_control: &power_control }, random);
    }

    /// Interference between cells with equal carriers and a share of used resource elements.
    fn interference(cells: usize, activity: f32, uplink: f64) -> Interference {
        Interference::new(1, vec![0; cells].into(), [vec![activity; cells].into()].into(), vec![uplink; cells].into())
    }

    /// Mean and standard deviation.
    fn moments(values: &[f64]) -> (f64, f64) {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let squares = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
        (mean, (squares / values.len() as f64).sqrt())
    }

    #[test]
    fn rsrp_is_transmit_power_minus_path_loss() {
        let sites = sites(&[0.0]);
        let rsrps: Vec<f64> = (0..4000).map(|ue| geometry(&sites, 200.0, Motion::Still, ue).rsrp_dbm(0)).collect();
        let (mean, deviation) = moments(&rsrps);
        // 22.955 dBm and the median of the urban macro cell without line of sight, at 201.4 m and 3.6 GHz
        let expected = 22.955 - (13.54 + 39.08 * 201.375_f64.log10() + 20.0 * 3.6_f64.log10());
        assert!((mean - expected).abs() < 0.3, "{mean} and not {expected}");
        assert!((deviation - 6.0).abs() < 0.2, "{deviation}");
    }

    #[test]
    fn shadowing_of_two_masts_correlates_by_half_and_is_reproducible() {
        let sites = sites(&[-200.0, 200.0]);
        let pairs: Vec<[f64; 2]> = (0..4000)
            .map(|ue| geometry(&sites, 0.0, Motion::Still, ue))
            .map(|geometry| [geometry.rsrp_dbm(0), geometry.rsrp_dbm(1)])
            .collect();
        let differences: Vec<f64> = pairs.iter().map(|[one, other]| one - other).collect();
        let (mean, deviation) = moments(&differences);
        // the variance of the difference is 2 (1 - 0.5) times 6 dB squared
        assert!(mean.abs() < 0.4 && (deviation - 6.0).abs() < 0.2, "{mean} {deviation}");
        let again = geometry(&sites, 0.0, Motion::Still, 17);
        assert_eq!([again.rsrp_dbm(0), again.rsrp_dbm(1)], pairs[17]);
    }

    #[test]
    fn shadowing_decorrelates_over_distance() {
        // a tangential path far from the mast, so that the path loss stays the same
        let sites = sites(&[0.0]);
        let motion = Motion::Straight { speed_m_per_s: 25.0, heading_deg: 0.0 };
        let (mut before, mut after) = (Vec::new(), Vec::new());
        for ue in 0..2000 {
            let mut random = Random::new(2, ue);
            let mut geometry = geometry(&sites, 1900.0, motion, ue as u32);
            before.push(geometry.rsrp_dbm(0));
            for step in 0..=50 {
                update(&mut geometry, Time::from_millis(step * 40), &mut random);
            }
            assert!((geometry.position().y_m - 50.0).abs() < 1e-6, "{:?}", geometry.position());
            after.push(geometry.rsrp_dbm(0));
        }
        let (mean_before, deviation_before) = moments(&before);
        let (mean_after, deviation_after) = moments(&after);
        let products =
            before.iter().zip(&after).map(|(a, b)| (a - mean_before) * (b - mean_after)).sum::<f64>() / 2000.0;
        let kept = products / deviation_before / deviation_after;
        assert!((kept - (-1.0_f64).exp()).abs() < 0.06, "{kept}");
    }

    #[test]
    fn moving_ue_receives_other_cell_stronger_eventually() {
        let seen = Propagation { scenario: DeploymentScenario::UrbanMicro, line_of_sight: LineOfSight::Always };
        let site = |site: &Site| Site { propagation: seen, height_m: 10.0, ..site.clone() };
        let sites: Arc<[Site]> = sites(&[-500.0, 500.0]).iter().map(site).collect();
        let motion = Motion::Straight { speed_m_per_s: 20.0, heading_deg: 90.0 };
        let mut random = Random::new(3, 0);
        let mut geometry = geometry(&sites, -450.0, motion, 0);
        assert!(geometry.rsrp_dbm(0) > geometry.rsrp_dbm(1) + 10.0);
        let full = interference(2, 1.0, 0.0);
        update_among(&mut geometry, Time::START, &full, &mut random);
        let early_db = geometry.sinr_db;
        for step in 1..9000 {
            update_among(&mut geometry, Time::from_millis(step * 5), &full, &mut random);
        }
        assert!(geometry.rsrp_dbm(1) > geometry.rsrp_dbm(0) + 10.0, "{:?}", geometry.position());
        let (late_db, late_uplink_db) = (geometry.sinr_db, geometry.uplink_sinr_db);
        assert!(late_db < early_db - 20.0, "{late_db} {early_db}");
        geometry.set_serving(1);
        assert_eq!(geometry.serving(), 1);
        update_among(&mut geometry, Time::from_millis(45_000), &full, &mut random);
        assert!(geometry.sinr_db > late_db + 20.0 && geometry.uplink_sinr_db >= late_uplink_db);
    }

    /// RSRP over noise and the interference of the other cell, without fading.
    #[test]
    fn sinr_is_rsrp_over_noise_and_active_neighbours() {
        let sites = sites(&[0.0, 300.0]);
        let milliwatts = |dbm: f64| 10.0_f64.powf(dbm / 10.0);
        for ue in 0..20 {
            let mut geometry = geometry(&sites, 150.0, Motion::Still, ue);
            let mut random = Random::new(1, 0);
            for (epoch, activity) in [(1, 0.0), (2, 0.3), (3, 1.0)] {
                let interference = Interference::new(
                    epoch,
                    vec![0; 2].into(),
                    [vec![activity as f32; 2].into()].into(),
                    vec![0.0; 2].into(),
                );
                update_among(&mut geometry, Time::from_millis(10 * epoch), &interference, &mut random);
                // noise in 30 kHz, and 7 dB of noise figure
                let noise_mw = milliwatts(-129.229 + 7.0);
                let expected_db =
                    geometry.rsrp_dbm(0) - 10.0 * (noise_mw + activity * milliwatts(geometry.rsrp_dbm(1))).log10();
                assert!((geometry.sinr_db - expected_db).abs() < 0.01, "{} and not {expected_db}", geometry.sinr_db);
            }
        }
    }

    #[test]
    fn uplink_sinr_follows_power_control_and_interference() {
        let sites = sites(&[0.0]);
        let mut random = Random::new(1, 0);
        let mut limited = 0;
        for ue in 0..100 {
            let mut geometry = geometry(&sites, 20.0 + 15.0 * f64::from(ue), Motion::Still, ue);
            update(&mut geometry, Time::START, &mut random);
            let loss_db = geometry.loss_db(0);
            let power_dbm = (-80.0 + 3.0103 + 0.8 * loss_db).min(23.0);
            // 12 subcarriers, 3 dB of diversity, noise in 30 kHz and 5 dB of noise figure
            let expected_db = power_dbm - 10.7918 + 3.0 - loss_db + 129.229 - 5.0;
            let sinr_db = geometry.uplink_sinr_db;
            assert!((sinr_db - expected_db).abs() < 0.01, "{loss_db} dB: {sinr_db} and not {expected_db}");
            let headroom_db = 10.0 * geometry.full_power_prbs().log10();
            assert!((headroom_db - (23.0 + 80.0 - 3.0103 - 0.8 * loss_db)).abs() < 0.01);
            limited += u32::from(headroom_db < 0.0);
            let element_mw = 10.0_f64.powf(geometry.deployment.element_dbm(0) / 10.0);
            let noise_mw = 10.0_f64.powf((-129.229 + 5.0) / 10.0);
            // as much interference as noise
            let as_noise = interference(1, 0.0, noise_mw * element_mw);
            update_among(&mut geometry, Time::START, &as_noise, &mut random);
            assert!((geometry.uplink_sinr_db - (sinr_db - 3.0103)).abs() < 0.01);
        }
        assert!((10..90).contains(&limited), "{limited}");
    }

    #[test]
    fn same_seed_gives_same_channel() {
        let run = |seed| {
            let sites = sites(&[0.0, 400.0]);
            let motion = Motion::RandomWaypoint { min_speed_m_per_s: 1.0, max_speed_m_per_s: 30.0, pause_s: 1.0 };
            let mut geometry = geometry(&sites, 100.0, motion, 5);
            let mut random = Random::new(seed, 0);
            let step = |slot: u64| {
                update(&mut geometry, Time::from_nanos(slot * 500_000), &mut random);
                (geometry.sinr_db(), geometry.rsrp_dbm(1))
            };
            (0..20_000).map(step).collect::<Vec<_>>()
        };
        let once = run(1);
        assert_eq!(run(1), once);
        assert_ne!(run(2), once);
        // nothing changes within an interval
        assert!(once.windows(2).filter(|pair| pair[0] != pair[1]).count() <= 2000);
    }

    #[test]
    fn late_ue_starts_at_its_position() {
        let motion = Motion::Straight { speed_m_per_s: 10.0, heading_deg: 90.0 };
        let mut geometry = geometry(&sites(&[0.0]), 100.0, motion, 0);
        let mut random = Random::new(1, 0);
        update(&mut geometry, Time::from_millis(60_000), &mut random);
        assert_eq!(geometry.position().x_m, 100.0);
        update(&mut geometry, Time::from_millis(60_100), &mut random);
        assert!((geometry.position().x_m - 101.0).abs() < 1e-9, "{:?}", geometry.position());
    }

    #[test]
    fn unknown_serving_site_is_rejected() {
        let sites = sites(&[0.0]);
        let mobile_ue = || MobileUe::new(AREA, Position::default(), Motion::Still).unwrap();
        let new = |sites: &Arc<[Site]>, serving, ue_radio| {
            Geometry::new(sites.clone(), serving, ue_radio, mobile_ue(), &mut Random::new(0, 0))
                .unwrap_err()
                .to_string()
        };
        assert_eq!(new(&sites, 1, UeRadio::default()), "serving is 1: must be the index of a site");
        assert_eq!(
            new(&sites, 0, UeRadio { power_dbm: 51.0, ..UeRadio::default() }),
            "power_dbm is 51: must be -50 to 50"
        );
        let low: Arc<[Site]> = Arc::new([Site { height_m: 1.0, ..sites[0].clone() }]);
        assert!(new(&low, 0, UeRadio::default()).starts_with("height_m is 1: must be 1.5 to 150"));
    }
}
