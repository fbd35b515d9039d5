//! Channels of UEs at positions, against hand calculation.

use super::*;
use crate::phy::{Area, Carrier, DeploymentScenario, LineOfSight, Motion, Propagation};

const AREA: Area = Area { min: Position { x_m: -2000.0, y_m: -2000.0 }, max: Position { x_m: 2000.0, y_m: 2000.0 } };

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
    let products = before.iter().zip(&after).map(|(a, b)| (a - mean_before) * (b - mean_after)).sum::<f64>() / 2000.0;
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

/// A transmission in few resource elements is hit by the strongest interferer, or is not.
#[test]
fn few_elements_are_hit_by_the_strongest_interferer_or_are_not() {
    let sites = sites(&[0.0, 300.0, 2000.0]);
    let milliwatts = |dbm: f64| 10.0_f64.powf(dbm / 10.0);
    for ue in 0..20 {
        let geometry = geometry(&sites, 200.0, Motion::Still, ue);
        let [one, two] = [1, 2].map(|site| milliwatts(geometry.rsrp_dbm(site)));
        let activity = [1.0, 0.25, 0.5f32];
        let interference = Interference::new(1, vec![0; 3].into(), [activity.into()].into(), vec![0.0; 3].into());
        let noise_mw = milliwatts(-129.229 + 7.0);
        let (share, with_mw, without_mw) = if 0.25 * one >= 0.5 * two {
            (0.25, one + 0.5 * two, 0.5 * two)
        } else {
            (0.5, two + 0.25 * one, 0.25 * one)
        };
        let expected = [(share, with_mw), (1.0 - share, without_mw)].map(|(probability, disturbing_mw)| {
            let sinr_db = geometry.rsrp_dbm(0) - 10.0 * (noise_mw + disturbing_mw).log10();
            (probability, geometry.gain.faded_db(sinr_db))
        });
        for (is, expected) in geometry.element_sinrs_db(&interference).into_iter().zip(expected) {
            assert!(
                (is.0 - expected.0).abs() < 1e-6 && (is.1 - expected.1).abs() < 0.01,
                "{is:?} and not {expected:?}"
            );
        }
        let [(never, _), (always, sinr_db)] = geometry.element_sinrs_db(&Interference::default());
        assert_eq!((never, always), (0.0, 1.0));
        assert!((sinr_db - geometry.sinr_db()).abs() < 0.01);
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
        Geometry::new(sites.clone(), serving, ue_radio, mobile_ue(), &mut Random::new(0, 0)).unwrap_err().to_string()
    };
    assert_eq!(new(&sites, 1, UeRadio::default()), "serving is 1: must be the index of a site");
    assert_eq!(new(&sites, 0, UeRadio { power_dbm: 51.0, ..UeRadio::default() }), "power_dbm is 51: must be -50 to 50");
    let low: Arc<[Site]> = Arc::new([Site { height_m: 1.0, ..sites[0].clone() }]);
    assert!(new(&low, 0, UeRadio::default()).starts_with("height_m is 1: must be 1.5 to 150"));
}
