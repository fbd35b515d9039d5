//! The deployments beside 3GPP's own calibration of its channel model: large-scale calibration of TR 38.901 7.8.1 at 6 GHz.
//!
//! References are the medians of 20 companies in R1-165974 (2016), at each percentile. The companies differ by 2 to 6 dB in the
//! coupling loss and by about 1 dB in the geometry. This model differs in the height of the surroundings of UEs above 13 m, which is
//! that of the street, and in the path loss of UMa with line of sight, which is that of later versions of the report.

use std::sync::Arc;

use radio::Random;
use radio::phy::{
    Antenna, Area, Building, Carrier, Deployment, DeploymentScenario, Geometry, Indoors, Layout, LineOfSight, MobileUe,
    Motion, Propagation, SectorAntenna, Site, UeRadio,
};

const SEEDS: u64 = 8;
const UES: usize = 1140;
/// The noise in 20 MHz at a UE with a noise figure of 9 dB.
const NOISE_DBM: f64 = -174.0 + 73.01 + 9.0;

/// Coupling losses, and geometries without and with noise, sorted.
struct Measured {
    coupling_db: Vec<f64>,
    sir_db: Vec<f64>,
    sinr_db: Vec<f64>,
}

/// Drops UEs as TR 38.901 table 7.8-1 says: 19 sites with three sectors, ten antenna elements with 12 degrees of tilt, 80 % of the UEs
/// in buildings with 4 to 8 floors, half of which have high losses, wrap-around, and independent shadowing of the sites.
fn measure(scenario: DeploymentScenario, power_dbm: f64) -> Measured {
    let (inter_site_m, height_m, least_m) = match scenario {
        DeploymentScenario::UrbanMacro => (500.0, 25.0, 35.0),
        _ => (200.0, 10.0, 10.0),
    };
    let carrier = Carrier { frequency_mhz: 6000.0, bandwidth_mhz: 20.0, ..Carrier::default() };
    let grid = carrier.check().unwrap();
    let layout = Layout::Hexagons { rings: 2, inter_site_m };
    let sectors = layout.sites().into_iter().flat_map(|position| {
        let propagation = Propagation { scenario, line_of_sight: LineOfSight::ByProbability };
        let site = Site { power_dbm, height_m, propagation, ..Site::new(&grid, position) };
        [30.0, 150.0, 270.0].map(|azimuth_deg| {
            let electrical_tilt_deg = 12.0;
            let antenna =
                SectorAntenna { azimuth_deg, electrical_tilt_deg, vertical_elements: 10, ..SectorAntenna::default() };
            Site { antenna: Antenna::Sector(antenna), ..site.clone() }
        })
    });
    let sites: Arc<[Site]> = sectors.collect();
    let area: Area = layout.area();
    let mut measured = Measured { coupling_db: Vec::new(), sir_db: Vec::new(), sinr_db: Vec::new() };
    for seed in 0..SEEDS {
        let deployment =
            Deployment::new(sites.clone(), seed).with_site_correlation(0.0).unwrap().with_wrap_around(&layout.shifts());
        let mut random = Random::new(seed, 0);
        for number in 0..UES {
            let position = layout.place(number, least_m, &mut random);
            let mut ue = UeRadio::default();
            if random.uniform() < 0.8 {
                let floors = 4.0 + (random.uniform() * 5.0).floor();
                ue.height_m = 1.5 + 3.0 * (random.uniform() * floors).floor();
                let building = if random.uniform() < 0.5 { Building::LowLoss } else { Building::HighLoss };
                let depth_m = 25.0 * random.uniform().min(random.uniform());
                ue.indoors = Some(Indoors { building, depth_m, deviation: random.normal() });
            }
            let mobile_ue = MobileUe::new(area, position, Motion::Still).unwrap();
            let geometry = Geometry::new(deployment.clone(), 0, ue, mobile_ue, &mut random).unwrap();
            let gains: Vec<f64> = (0..sites.len()).map(|site| 10.0_f64.powf(-geometry.loss_db(site) / 10.0)).collect();
            let best = gains.iter().copied().fold(0.0, f64::max);
            let others = gains.iter().sum::<f64>() - best;
            let noise = 10.0_f64.powf((NOISE_DBM - power_dbm) / 10.0);
            measured.coupling_db.push(-10.0 * best.log10());
            measured.sir_db.push(10.0 * (best / others).log10());
            measured.sinr_db.push(10.0 * (best / (others + noise)).log10());
        }
    }
    for values in [&mut measured.coupling_db, &mut measured.sir_db, &mut measured.sinr_db] {
        values.sort_by(f64::total_cmp);
    }
    measured
}

fn percentile(sorted: &[f64], percent: usize) -> f64 {
    sorted[(sorted.len() - 1) * percent / 100]
}

/// Compares percentiles with references, each with its tolerance.
fn compare(what: &str, sorted: &[f64], references: &[(usize, f64)], tolerance_db: f64) {
    for (percent, reference_db) in references {
        let measured_db = percentile(sorted, *percent);
        println!("{what}, {percent} %: {measured_db:.1} dB, reference {reference_db:.1} dB");
        assert!((measured_db - reference_db).abs() <= tolerance_db, "{what}, {percent} %: {measured_db} dB");
    }
}

#[test]
fn urban_macro_is_near_the_published_calibration() {
    let measured = measure(DeploymentScenario::UrbanMacro, 49.0);
    let coupling = [(5, 86.0), (20, 102.5), (50, 119.9), (80, 136.6), (95, 150.1)];
    compare("UMa coupling loss", &measured.coupling_db, &coupling, 1.5);
    compare("UMa SIR", &measured.sir_db, &[(5, -1.0), (20, 2.0), (50, 8.6), (80, 18.6), (95, 25.6)], 0.5);
    compare("UMa SINR", &measured.sinr_db, &[(5, -9.1), (20, -0.5), (50, 5.9), (80, 16.3), (95, 24.8)], 1.0);
}

#[test]
fn urban_micro_is_near_the_published_calibration() {
    let measured = measure(DeploymentScenario::UrbanMicro, 44.0);
    let coupling = [(5, 74.7), (20, 92.0), (50, 111.5), (80, 128.4), (95, 141.9)];
    compare("UMi coupling loss", &measured.coupling_db, &coupling, 1.5);
    compare("UMi SIR", &measured.sir_db, &[(5, -1.6), (20, 1.3), (50, 7.4), (80, 17.0), (95, 24.9)], 0.5);
    compare("UMi SINR", &measured.sinr_db, &[(5, -6.4), (20, -0.3), (50, 5.8), (80, 15.5), (95, 24.0)], 1.0);
}
