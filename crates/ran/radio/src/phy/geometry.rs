//! The radio channel of a UE at a position among base stations.

use std::sync::Arc;
use std::time::Duration;

use super::fading::Gain;
use super::path_loss::Ends;
use super::site::{GeometryError, Site, UeRadio};
use super::{MobileUe, Position};
use crate::{Random, Time};

/// The interval of updates of the position and the path loss. A car moves about a metre in it.
const POSITION_INTERVAL: Duration = Duration::from_millis(40);
/// The interval of updates of fading. With a longer coherence time, successive values are correlated; with a shorter one they
/// are practically independent.
const FADING_INTERVAL: Duration = Duration::from_millis(5);

/// The path between a UE and a site.
#[derive(Clone, Debug)]
struct Path {
    /// The normalized shadowing: mean 0, variance 1, spatially correlated.
    shadow: f64,
    /// The source of randomness of this pair of UE and cell.
    random: Random,
    /// The path loss with shadowing, minus the antenna gain.
    loss_db: f64,
    /// The received power of the site per resource element.
    rsrp_dbm: f64,
}

/// The channel of a UE at a position among base stations.
///
/// The shadowing of each cell depends on the distance that the UE has moved, the fading of the serving cell on its speed. Both
/// directions share them. Reported powers exclude fading, as after layer 3 filtering.
#[derive(Clone, Debug)]
pub struct Geometry {
    sites: Arc<[Site]>,
    serving: usize,
    ue_radio: UeRadio,
    mobile_ue: MobileUe,
    paths: Box<[Path]>,
    gain: Gain,
    /// The SINRs in the serving cell, without fading.
    sinr_db: f64,
    uplink_sinr_db: f64,
    position_clock: Clock,
    fading_clock: Clock,
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
    /// Creates the channel of a UE among `sites`. The UE's number and the common seed determine the shadowing.
    pub fn new(
        sites: Arc<[Site]>,
        serving: usize,
        ue_radio: UeRadio,
        mobile_ue: MobileUe,
        (seed, ue): (u64, u32),
        random: &mut Random,
    ) -> Result<Self, GeometryError> {
        sites.iter().try_for_each(Site::check)?;
        ue_radio.check()?;
        let site = sites.get(serving).ok_or(GeometryError::Value {
            field: "serving",
            value: serving as f64,
            allowed: "the index of a site",
        })?;
        let gain = Gain::new(&ue_radio.fading, site.propagation.rice_factor_db(), site.frequency_mhz, random);
        let path = |cell| {
            let mut random = Random::new(seed, u64::from(ue) << 32 | cell);
            Path { shadow: random.normal(), random, loss_db: 0.0, rsrp_dbm: 0.0 }
        };
        let paths = (0..sites.len() as u64).map(path).collect();
        let (position_clock, fading_clock) = Default::default();
        let mut geometry = Geometry {
            sites,
            serving,
            ue_radio,
            mobile_ue,
            paths,
            gain,
            sinr_db: 0.0,
            uplink_sinr_db: 0.0,
            position_clock,
            fading_clock,
        };
        geometry.update_paths(0.0);
        Ok(geometry)
    }

    /// Advances the channel to `now`.
    pub fn update(&mut self, now: Time, random: &mut Random) {
        let Some(seconds) = self.fading_clock.tick(now, FADING_INTERVAL) else { return };
        self.gain.update(seconds, self.mobile_ue.speed_m_per_s(), random);
        if !self.mobile_ue.moves() {
            return;
        }
        if let Some(seconds) = self.position_clock.tick(now, POSITION_INTERVAL) {
            let before = self.mobile_ue.position();
            self.mobile_ue.advance(seconds, random);
            // the straight distance; around a corner it is shorter than the path, a negligible difference for shadowing
            let moved_m = before.distance_m(self.mobile_ue.position());
            if moved_m > 0.0 {
                self.update_paths(moved_m);
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

    /// Changes the serving site, at the end of a handover.
    ///
    /// # Panics
    /// When there is no such site.
    pub fn set_serving(&mut self, site: usize) {
        assert!(site < self.sites.len(), "site {site} of {}", self.sites.len());
        self.serving = site;
        let site = &self.sites[site];
        self.gain.set_propagation(site.propagation.rice_factor_db(), site.frequency_mhz);
        self.update_sinr();
    }

    /// All sites.
    #[must_use]
    pub fn sites(&self) -> &[Site] {
        &self.sites
    }

    /// RSRP of a site.
    ///
    /// # Panics
    /// When there is no such site.
    #[must_use]
    pub fn rsrp_dbm(&self, site: usize) -> f64 {
        self.paths[site].rsrp_dbm
    }

    /// The SINR at the UE if a site served it, without fading.
    ///
    /// # Panics
    /// When there is no such site.
    #[must_use]
    pub fn site_sinr_db(&self, site: usize) -> f64 {
        self.paths[site].rsrp_dbm - 10.0 * self.disturbing_mw(site).log10()
    }

    /// Noise and interference per resource element at the UE, for a site.
    fn disturbing_mw(&self, number: usize) -> f64 {
        let site = &self.sites[number];
        let milliwatts = |dbm: f64| 10.0_f64.powf(dbm / 10.0);
        let noise_dbm = site.noise_dbm() + self.ue_radio.noise_figure_db + site.noise_rise_db;
        let others = self.sites.iter().zip(&self.paths).enumerate();
        let interfering = others.filter(|(other, (at, _))| *other != number && at.frequency_mhz == site.frequency_mhz);
        let sum: f64 = interfering.map(|(_, (at, path))| at.activity * milliwatts(path.rsrp_dbm)).sum();
        milliwatts(noise_dbm) + sum
    }

    /// Power of the UE's reference signals at the serving site.
    #[must_use]
    pub fn uplink_rsrp_dbm(&self) -> f64 {
        self.uplink_sinr_db + self.uplink_noise_dbm()
    }

    /// The SINR in dB at the UE.
    #[must_use]
    pub fn sinr_db(&self) -> f64 {
        self.sinr_db + self.gain.db()
    }

    /// The SINR in dB at the base station.
    #[must_use]
    pub fn uplink_sinr_db(&self) -> f64 {
        self.uplink_sinr_db + self.gain.db()
    }

    /// Recomputes all paths from the current position.
    fn update_paths(&mut self, moved_m: f64) {
        let position = self.mobile_ue.position();
        for (site, path) in self.sites.iter().zip(&mut self.paths) {
            let keep = (-moved_m / site.propagation.shadowing_distance_m()).exp();
            path.shadow = keep * path.shadow + (1.0 - keep * keep).sqrt() * path.random.normal();
            let loss = site.propagation.loss(&Ends {
                distance_m: position.distance_m(site.position),
                base_m: site.height_m,
                ue_m: self.ue_radio.height_m,
                frequency_ghz: site.frequency_mhz / 1000.0,
            });
            path.loss_db = loss.median_db + loss.shadowing_db * path.shadow - site.gain_db;
            path.rsrp_dbm = site.element_dbm() - site.gain_db - path.loss_db;
        }
        self.update_sinr();
    }

    /// Recomputes the SINRs of the serving cell from all paths.
    fn update_sinr(&mut self) {
        let site = &self.sites[self.serving];
        let path = &self.paths[self.serving];
        self.sinr_db = path.rsrp_dbm - 10.0 * self.disturbing_mw(self.serving).log10();
        let subcarriers = 12.0 * f64::from(self.ue_radio.uplink_prbs);
        let at_most_dbm = self.ue_radio.power_dbm - 10.0 * subcarriers.log10() + site.uplink_gain_db - path.loss_db;
        self.uplink_sinr_db = (at_most_dbm - self.uplink_noise_dbm()).min(self.ue_radio.uplink_target_db);
    }

    fn uplink_noise_dbm(&self) -> f64 {
        let site = &self.sites[self.serving];
        site.noise_dbm() + site.noise_figure_db + site.uplink_noise_rise_db
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phy::{Area, Carrier, DeploymentScenario, Motion, Propagation};

    const AREA: Area =
        Area { min: Position { x_m: -2000.0, y_m: -2000.0 }, max: Position { x_m: 2000.0, y_m: 2000.0 } };

    fn sites(places_m: &[f64]) -> Arc<[Site]> {
        let grid = Carrier::default().check().unwrap();
        places_m.iter().map(|x_m| Site::new(&grid, Position { x_m: *x_m, y_m: 0.0 })).collect()
    }

    fn geometry(sites: &Arc<[Site]>, x_m: f64, motion: Motion, ue: u32) -> Geometry {
        let mobile_ue = MobileUe::new(AREA, Position { x_m, y_m: 0.0 }, motion).unwrap();
        let mut random = Random::new(1, ue.into());
        Geometry::new(sites.clone(), 0, UeRadio::default(), mobile_ue, (9, ue), &mut random).unwrap()
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
    fn shadowing_is_independent_per_cell_and_reproducible() {
        let sites = sites(&[-200.0, 200.0]);
        let pairs: Vec<[f64; 2]> = (0..4000)
            .map(|ue| geometry(&sites, 0.0, Motion::Still, ue))
            .map(|geometry| [geometry.rsrp_dbm(0), geometry.rsrp_dbm(1)])
            .collect();
        let differences: Vec<f64> = pairs.iter().map(|[one, other]| one - other).collect();
        let (mean, deviation) = moments(&differences);
        assert!(mean.abs() < 0.4 && (deviation - 72.0_f64.sqrt()).abs() < 0.3, "{mean} {deviation}");
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
                geometry.update(Time::from_millis(step * 40), &mut random);
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
        let seen = Propagation { scenario: DeploymentScenario::UrbanMicro, line_of_sight: true };
        let site = |site: &Site| Site { propagation: seen, height_m: 10.0, ..site.clone() };
        let sites: Arc<[Site]> = sites(&[-500.0, 500.0]).iter().map(site).collect();
        let motion = Motion::Straight { speed_m_per_s: 20.0, heading_deg: 90.0 };
        let mut random = Random::new(3, 0);
        let mut geometry = geometry(&sites, -450.0, motion, 0);
        assert!(geometry.rsrp_dbm(0) > geometry.rsrp_dbm(1) + 10.0);
        let early_db = geometry.sinr_db;
        for step in 0..9000 {
            geometry.update(Time::from_millis(step * 5), &mut random);
        }
        assert!(geometry.rsrp_dbm(1) > geometry.rsrp_dbm(0) + 10.0, "{:?}", geometry.position());
        let (late_db, late_uplink_db) = (geometry.sinr_db, geometry.uplink_sinr_db);
        assert!(late_db < early_db - 20.0, "{late_db} {early_db}");
        geometry.set_serving(1);
        assert_eq!(geometry.serving(), 1);
        assert!(geometry.sinr_db > late_db + 20.0 && geometry.uplink_sinr_db >= late_uplink_db);
    }

    #[test]
    fn interference_follows_activity_of_other_cells() {
        let quiet = sites(&[0.0, 300.0]);
        let change = |change: fn(&Site) -> Site| -> Arc<[Site]> { quiet.iter().map(change).collect() };
        let sinr_db = |sites: &Arc<[Site]>| geometry(sites, 150.0, Motion::Still, 4).sinr_db;
        let silent = sinr_db(&change(|site| Site { activity: 0.0, ..site.clone() }));
        let half = sinr_db(&quiet);
        let full = sinr_db(&change(|site| Site { activity: 1.0, ..site.clone() }));
        assert!(silent > half + 3.0 && half > full + 2.5 && full > half - 3.1, "{silent} {half} {full}");
        let elsewhere: Arc<[Site]> = Arc::new([quiet[0].clone(), Site { frequency_mhz: 2600.0, ..quiet[1].clone() }]);
        assert_eq!(sinr_db(&elsewhere), silent);
        assert_eq!(sinr_db(&sites(&[0.0])), silent);
    }

    #[test]
    fn power_control_reaches_target_sinr() {
        let sites = sites(&[0.0]);
        assert_eq!(geometry(&sites, 20.0, Motion::Still, 0).uplink_sinr_db, 20.0);
        let far = geometry(&sites, 1500.0, Motion::Still, 0);
        assert!(far.uplink_sinr_db < 5.0, "{}", far.uplink_sinr_db);
        // noise in 30 kHz, 5 dB noise figure and 3 dB noise rise
        assert!((far.uplink_rsrp_dbm() - far.uplink_sinr_db + 121.23).abs() < 0.01);
    }

    #[test]
    fn same_seed_gives_same_channel() {
        let run = |seed| {
            let sites = sites(&[0.0, 400.0]);
            let motion = Motion::RandomWaypoint { min_speed_m_per_s: 1.0, max_speed_m_per_s: 30.0, pause_s: 1.0 };
            let mut geometry = geometry(&sites, 100.0, motion, 5);
            let mut random = Random::new(seed, 0);
            let step = |slot: u64| {
                geometry.update(Time::from_nanos(slot * 500_000), &mut random);
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
        geometry.update(Time::from_millis(60_000), &mut random);
        assert_eq!(geometry.position().x_m, 100.0);
        geometry.update(Time::from_millis(60_100), &mut random);
        assert!((geometry.position().x_m - 101.0).abs() < 1e-9, "{:?}", geometry.position());
    }

    #[test]
    fn unknown_serving_site_is_rejected() {
        let sites = sites(&[0.0]);
        let mobile_ue = || MobileUe::new(AREA, Position::default(), Motion::Still).unwrap();
        let new = |sites: &Arc<[Site]>, serving, ue_radio| {
            Geometry::new(sites.clone(), serving, ue_radio, mobile_ue(), (0, 0), &mut Random::new(0, 0))
                .unwrap_err()
                .to_string()
        };
        assert_eq!(new(&sites, 1, UeRadio::default()), "serving is 1: must be the index of a site");
        assert_eq!(
            new(&sites, 0, UeRadio { uplink_prbs: 0, ..UeRadio::default() }),
            "uplink_prbs is 0: must be 1 to 273"
        );
        let low: Arc<[Site]> = Arc::new([Site { height_m: 2.0, ..sites[0].clone() }]);
        assert!(new(&low, 0, UeRadio::default()).starts_with("height_m is 2: must be 10 to 150"));
    }
}
