//! The sites of a network, with the propagation around each mast.

use std::collections::HashMap;
use std::sync::Arc;

use super::antenna::{Heading, Pattern};
use super::field::{Field, normal_distribution};
use super::multipath::Response;
use super::path_loss::Ends;
use super::site::{GeometryError, Site, within};
use super::{LineOfSight, Position, Propagation, UeRadio};
use crate::Random;

/// The random stream of the shadowing that all sites have in common; those of the masts follow.
const STREAM: u64 = 1 << 63;
/// The default correlation of the shadowing of two masts.
const SITE_CORRELATION: f64 = 0.5;

/// The sites of a network, and the shadowing and line of sight around them, which depend on the place of a UE only. Clones share
/// everything.
///
/// Sites at one position are on one mast: the sectors of a mast share line of sight and shadowing (TR 38.901 7.5, step 4). The
/// shadowing of different masts has the correlation of [`Deployment::with_site_correlation`].
#[derive(Clone, Debug)]
pub struct Deployment(Arc<Contents>);

#[derive(Clone, Debug)]
struct Contents {
    sites: Arc<[Site]>,
    /// The mast of each site, its pattern, and its transmit power per resource element, before the antenna.
    radiators: Box<[Radiator]>,
    masts: Box<[Mast]>,
    /// Shifts of the whole network under which it repeats, the first of which is zero.
    shifts: Box<[Position]>,
    /// The shadowing that all masts have in common, and its weight; the weight of each mast's own.
    common: Field,
    weights: [f64; 2],
}

#[derive(Clone, Debug)]
struct Radiator {
    mast: u32,
    pattern: Pattern,
    gain_db: f64,
    element_dbm: f64,
    response: Arc<Response>,
}

/// Sites at one position, of one height, frequency and propagation.
#[derive(Clone, Debug)]
struct Mast {
    position: Position,
    height_m: f64,
    frequency_ghz: f64,
    propagation: Propagation,
    shadowing: Field,
    sight: Field,
}

/// The path from a mast to a place.
#[derive(Clone, Copy, Debug)]
pub(super) struct MastPath {
    /// The direction of the UE, seen from the mast.
    heading: Heading,
    /// The path loss with shadowing.
    loss_db: f32,
    pub line_of_sight: bool,
}

impl From<Arc<[Site]>> for Deployment {
    /// A deployment without wrap-around, with the shadowing of seed 1.
    fn from(sites: Arc<[Site]>) -> Self {
        Deployment::new(sites, 1)
    }
}

impl Deployment {
    /// Creates a deployment without wrap-around. The seed determines shadowing and line of sight.
    #[must_use]
    pub fn new(sites: Arc<[Site]>, seed: u64) -> Self {
        let mut numbers: HashMap<[u64; 2], u64> = HashMap::new();
        let mut masts: Vec<Mast> = Vec::new();
        let mut radiators: Vec<Radiator> = Vec::with_capacity(sites.len());
        let mut by_place: HashMap<[u64; 2], Vec<u32>> = HashMap::new();
        for site in sites.iter() {
            let place = [site.position.x_m, site.position.y_m].map(f64::to_bits);
            let candidates = by_place.entry(place).or_default();
            let frequency_ghz = site.frequency_mhz / 1000.0;
            let is_same = |mast: &Mast| {
                mast.height_m == site.height_m
                    && mast.propagation == site.propagation
                    && mast.frequency_ghz == frequency_ghz
            };
            let mast = candidates.iter().copied().find(|mast| is_same(&masts[*mast as usize])).unwrap_or_else(|| {
                // sites at one position have the same fields, whatever else differs
                let next = numbers.len() as u64 + 1;
                let number = *numbers.entry(place).or_insert(next);
                let mut random = Random::new(seed, STREAM + number);
                let [shadowing, sight] = [(); 2].map(|()| Field::new(&mut random));
                let Site { position, height_m, propagation, .. } = *site;
                masts.push(Mast { position, height_m, frequency_ghz, propagation, shadowing, sight });
                candidates.push(masts.len() as u32 - 1);
                masts.len() as u32 - 1
            });
            // most sites are like the one before
            let before = radiators.last().zip(radiators.len().checked_sub(1).map(|before| &sites[before]));
            let response = match before {
                Some((radiator, other)) if has_same_response(site, other) => Arc::clone(&radiator.response),
                _ => Arc::new(Response::new(&site.multipath, site.prbs, site.subcarrier_hz, site.subband_prbs)),
            };
            radiators.push(Radiator {
                response,
                mast,
                pattern: Pattern::new(&site.antenna),
                gain_db: site.gain_db,
                element_dbm: site.element_dbm(),
            });
        }
        Deployment(Arc::new(Contents {
            sites,
            radiators: radiators.into(),
            masts: masts.into(),
            shifts: [Position::default()].into(),
            common: Field::new(&mut Random::new(seed, STREAM)),
            weights: weights(SITE_CORRELATION),
        }))
    }

    /// Sets the correlation of the shadowing of two masts at one place, 0 to 1. Default: 0.5.
    ///
    /// # Errors
    /// A value out of range.
    pub fn with_site_correlation(self, correlation: f64) -> Result<Self, GeometryError> {
        within("site_correlation", correlation, 0.0, 1.0, "0 to 1")?;
        let mut contents = Arc::unwrap_or_clone(self.0);
        contents.weights = weights(correlation);
        Ok(Deployment(Arc::new(contents)))
    }

    /// Lets the network repeat under shifts: each UE receives the nearest copy of a site.
    #[must_use]
    pub fn with_wrap_around(self, shifts: &[Position]) -> Self {
        let mut contents = Arc::unwrap_or_clone(self.0);
        contents.shifts = [Position::default()].iter().chain(shifts).copied().collect();
        Deployment(Arc::new(contents))
    }

    /// All sites.
    #[must_use]
    pub fn sites(&self) -> &Arc<[Site]> {
        &self.0.sites
    }

    /// The strongest site at a place, by received power without fading; the first when several are equal. `None` without sites.
    #[must_use]
    pub fn strongest_site(&self, position: Position, ue: &UeRadio) -> Option<usize> {
        let mut masts = self.no_paths();
        self.update_masts(position, ue, &mut masts);
        let dbm = |site: usize| self.0.radiators[site].element_dbm - self.loss_db(site, &masts);
        (0..self.0.sites.len()).max_by(|a, b| dbm(*a).total_cmp(&dbm(*b)).then(b.cmp(a)))
    }

    /// Paths to be filled by [`Deployment::update_masts`].
    pub(super) fn no_paths(&self) -> Box<[MastPath]> {
        let heading = Heading { east: 0.0, north: 0.0, up: 0.0 };
        vec![MastPath { heading, loss_db: 0.0, line_of_sight: false }; self.0.masts.len()].into()
    }

    /// Computes the paths from all masts to a place.
    pub(super) fn update_masts(&self, position: Position, ue: &UeRadio, paths: &mut [MastPath]) {
        self.update_some_masts(0..paths.len(), position, ue, paths);
    }

    /// Computes the paths from some masts to a place.
    pub(super) fn update_some_masts(
        &self,
        numbers: impl Iterator<Item = usize>,
        position: Position,
        ue: &UeRadio,
        paths: &mut [MastPath],
    ) {
        let ue_m = ue.height_m;
        let Contents { masts, shifts, common, weights: [shared, own], .. } = &*self.0;
        // positions in correlation distances: the common part has one value for each of them
        let mut last: Option<(f64, f64)> = None;
        for number in numbers {
            let (mast, path) = (&masts[number], &mut paths[number]);
            let Position { x_m: mut east_m, y_m: mut north_m } = mast.position;
            let from = |shift: &Position| Position {
                x_m: position.x_m - mast.position.x_m - shift.x_m,
                y_m: position.y_m - mast.position.y_m - shift.y_m,
            };
            let square = |at: &Position| at.x_m * at.x_m + at.y_m * at.y_m;
            let to = shifts.iter().map(from).min_by(|a, b| square(a).total_cmp(&square(b))).unwrap_or_default();
            (east_m, north_m) = (east_m + to.x_m, north_m + to.y_m);
            let distance_m = square(&to).sqrt();
            let Propagation { scenario, line_of_sight } = mast.propagation;
            let line_of_sight = match line_of_sight {
                LineOfSight::Never => false,
                LineOfSight::Always => true,
                LineOfSight::ByProbability => {
                    let m = scenario.line_of_sight_distance_m();
                    // the distance outdoors counts
                    let outdoors_m = (distance_m - ue.indoors.map_or(0.0, |indoors| indoors.depth_m)).max(0.0);
                    normal_distribution(mast.sight.at(east_m / m, north_m / m))
                        < scenario.line_of_sight_probability(outdoors_m, ue_m)
                }
            };
            let ends = Ends { distance_m, base_m: mast.height_m, ue_m, frequency_ghz: mast.frequency_ghz };
            let loss = scenario.loss(line_of_sight, &ends);
            let indoors = ue.indoors.and_then(|indoors| Some((indoors, scenario.shadowing_in_buildings()?)));
            let (deviation_db, m, building_db) = match indoors {
                Some((indoors, (deviation_db, m))) => (deviation_db, m, indoors.loss_db(mast.frequency_ghz)),
                None => (loss.shadowing_db, scenario.shadowing_distance_m(line_of_sight), 0.0),
            };
            let common = match last.filter(|(of_m, _)| *of_m == m) {
                Some((_, value)) => value,
                None if *shared == 0.0 => 0.0,
                None => common.at(position.x_m / m, position.y_m / m),
            };
            last = Some((m, common));
            let shadowing = shared * common + own * mast.shadowing.at(east_m / m, north_m / m);
            let below_m = mast.height_m - ue_m;
            let line_m = distance_m.hypot(below_m).max(1e-3);
            *path = MastPath {
                heading: Heading { east: to.x_m / line_m, north: to.y_m / line_m, up: -below_m / line_m },
                loss_db: (loss.median_db + building_db + deviation_db * shadowing) as f32,
                line_of_sight,
            };
        }
    }

    /// The coupling loss of a site: path loss with shadowing, minus the antenna gain.
    pub(super) fn loss_db(&self, site: usize, paths: &[MastPath]) -> f64 {
        let radiator = &self.0.radiators[site];
        let path = &paths[radiator.mast as usize];
        f64::from(path.loss_db) - radiator.gain_db - radiator.pattern.gain_db(&path.heading)
    }

    /// The response of a site's carrier to multipath.
    pub(super) fn response(&self, site: usize) -> &Arc<Response> {
        &self.0.radiators[site].response
    }

    /// The transmit power of a site per resource element, before the antenna.
    pub(super) fn element_dbm(&self, site: usize) -> f64 {
        self.0.radiators[site].element_dbm
    }

    /// The index of the path to a site in those of the masts.
    pub(super) fn mast(&self, site: usize) -> usize {
        self.0.radiators[site].mast as usize
    }
}

fn has_same_response(site: &Site, other: &Site) -> bool {
    let of = |site: &Site| (site.multipath, site.prbs, site.subcarrier_hz, site.subband_prbs);
    of(site) == of(other)
}

/// The weights of the common and the own part of a mast's shadowing.
fn weights(correlation: f64) -> [f64; 2] {
    [correlation.sqrt(), (1.0 - correlation).sqrt()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phy::{Antenna, Carrier, DeploymentScenario, Layout, SectorAntenna};

    fn site(position: Position, scenario: DeploymentScenario, line_of_sight: LineOfSight) -> Site {
        let grid = Carrier::default().check().unwrap();
        Site { propagation: Propagation { scenario, line_of_sight }, ..Site::new(&grid, position) }
    }

    fn at(x_m: f64, y_m: f64) -> Position {
        Position { x_m, y_m }
    }

    /// The paths to all masts.
    fn paths(deployment: &Deployment, position: Position) -> Box<[MastPath]> {
        let mut paths = deployment.no_paths();
        deployment.update_masts(position, &UeRadio::default(), &mut paths);
        paths
    }

    /// The share of places in line of sight, over many drops, is the probability of the scenario.
    #[test]
    fn line_of_sight_has_its_probability() {
        for (scenario, distance_m, expected) in [
            (DeploymentScenario::UrbanMacro, 100.0, 0.347_7),
            (DeploymentScenario::UrbanMacro, 300.0, 0.068_0),
            (DeploymentScenario::UrbanMicro, 50.0, 0.519_6),
            (DeploymentScenario::RuralMacro, 1010.0, 0.367_9),
            (DeploymentScenario::IndoorOpen, 40.0, 0.609_9),
            (DeploymentScenario::IndoorMixed, 20.0, 0.211_5),
        ] {
            let sites: Arc<[Site]> = [site(at(0.0, 0.0), scenario, LineOfSight::ByProbability)].into();
            let (mut seen, drops) = (0, 6000);
            for seed in 0..drops {
                let deployment = Deployment::new(sites.clone(), seed);
                let (sin, cos) = (seed as f64).sin_cos();
                seen += u32::from(paths(&deployment, at(distance_m * sin, distance_m * cos))[0].line_of_sight);
            }
            let share = f64::from(seen) / drops as f64;
            assert!((share - expected).abs() < 0.02, "{scenario:?} at {distance_m} m: {share}");
        }
    }

    /// Line of sight changes over its correlation distance, not from metre to metre.
    #[test]
    fn line_of_sight_is_spatially_consistent() {
        let sites: Arc<[Site]> =
            [site(at(0.0, 0.0), DeploymentScenario::UrbanMacro, LineOfSight::ByProbability)].into();
        let seen = |deployment: &Deployment, angle: f64| {
            let (sin, cos) = angle.sin_cos();
            paths(deployment, at(100.0 * sin, 100.0 * cos))[0].line_of_sight
        };
        let changes = |metres: f64| {
            let drops = 2000;
            let changed = (0..drops).filter(|seed| {
                let deployment = Deployment::new(sites.clone(), *seed);
                seen(&deployment, 0.0) != seen(&deployment, metres / 100.0)
            });
            changed.count() as f64 / drops as f64
        };
        // independent places: 2 p (1 - p) of 0.45
        let (near, far) = (changes(1.0), changes(250.0));
        assert!(near < 0.12 && (far - 0.45).abs() < 0.04, "{near} {far}");
    }

    #[test]
    fn shadowing_has_its_deviation_and_correlation_distance() {
        use DeploymentScenario::{IndoorOpen, RuralMacro, UrbanMacro, UrbanMicro};
        for (scenario, line_of_sight, distance_m, deviation_db, correlation_m) in [
            (UrbanMacro, LineOfSight::Never, 200.0, 6.0, 50.0),
            (UrbanMacro, LineOfSight::Always, 200.0, 4.0, 37.0),
            (UrbanMicro, LineOfSight::Never, 100.0, 7.82, 13.0),
            (UrbanMicro, LineOfSight::Always, 100.0, 4.0, 10.0),
            (RuralMacro, LineOfSight::Never, 1000.0, 8.0, 120.0),
            (IndoorOpen, LineOfSight::Never, 30.0, 8.03, 6.0),
        ] {
            let sites: Arc<[Site]> = [site(at(0.0, 0.0), scenario, line_of_sight)].into();
            let (mut sum, mut square, mut product) = (0.0, 0.0, 0.0);
            let count = 8000;
            for seed in 0..count {
                let deployment = Deployment::new(sites.clone(), seed);
                let loss_db = |angle: f64| {
                    let (sin, cos) = angle.sin_cos();
                    f64::from(paths(&deployment, at(distance_m * sin, distance_m * cos))[0].loss_db)
                };
                // two places at the same distance, one correlation distance apart
                let angle = 2.0 * (correlation_m / 2.0 / distance_m).asin();
                let median_db = scenario
                    .loss(
                        line_of_sight == LineOfSight::Always,
                        &Ends { distance_m, base_m: 25.0, ue_m: 1.5, frequency_ghz: 3.6 },
                    )
                    .median_db;
                let [here, there] = [0.0, angle].map(|angle| loss_db(angle) - median_db);
                (sum, square, product) = (sum + here, square + here * here, product + here * there);
            }
            let count = count as f64;
            let deviation = (square / count).sqrt();
            assert!((sum / count).abs() < 0.3, "{scenario:?}: mean {}", sum / count);
            assert!((deviation / deviation_db - 1.0).abs() < 0.04, "{scenario:?}: {deviation} dB");
            let correlation = product / square;
            assert!((correlation - (-1.0_f64).exp()).abs() < 0.05, "{scenario:?}: {correlation}");
        }
    }

    #[test]
    fn sectors_of_a_mast_share_line_of_sight_and_shadowing() {
        let sector = |position, azimuth_deg| Site {
            antenna: Antenna::Sector(SectorAntenna { azimuth_deg, ..SectorAntenna::default() }),
            ..site(position, DeploymentScenario::UrbanMacro, LineOfSight::ByProbability)
        };
        let sites: Arc<[Site]> =
            [sector(at(0.0, 0.0), 30.0), sector(at(0.0, 0.0), 150.0), sector(at(300.0, 0.0), 30.0)].into();
        let deployment = Deployment::new(sites, 3);
        assert_eq!((deployment.mast(0), deployment.mast(1), deployment.mast(2)), (0, 0, 1));
        // 60 degrees off both main lobes, and in the main lobe of the first
        let equal = paths(&deployment, at(200.0, 0.0));
        assert!((deployment.loss_db(0, &equal) - deployment.loss_db(1, &equal)).abs() < 1e-5);
        let main = paths(&deployment, at(100.0, 173.205));
        let difference_db = deployment.loss_db(1, &main) - deployment.loss_db(0, &main);
        assert!((difference_db - 30.0).abs() < 2.0, "{difference_db}");
        assert_eq!(deployment.strongest_site(at(100.0, 173.205), &UeRadio::default()), Some(0));
    }

    /// With wrap-around a place and its copy under a shift have the same paths, but for the shadowing that all sites share.
    #[test]
    fn nearest_copy_of_a_site_is_received() {
        let layout = Layout::Hexagons { rings: 1, inter_site_m: 500.0 };
        let one = |position| site(position, DeploymentScenario::UrbanMacro, LineOfSight::ByProbability);
        let sites: Arc<[Site]> = layout.sites().into_iter().map(one).collect();
        let alone = Deployment::new(sites.clone(), 1).with_site_correlation(0.0).unwrap();
        let wrapped = alone.clone().with_wrap_around(&layout.shifts());
        for shift in layout.shifts() {
            let [here, there] =
                [at(40.0, 70.0), at(40.0 + shift.x_m, 70.0 + shift.y_m)].map(|place| paths(&wrapped, place));
            for (here, there) in here.iter().zip(&there) {
                assert!((here.loss_db - there.loss_db).abs() < 1e-3, "{here:?} {there:?}");
            }
        }
        // at an edge of the network there are as many near sites as in the middle
        let near = |deployment: &Deployment, place: Position| {
            let paths = paths(deployment, place);
            paths.iter().filter(|path| path.loss_db < 140.0).count()
        };
        let edge = at(-700.0, 0.0);
        assert!(near(&alone, edge) < near(&wrapped, edge));
        assert_eq!(
            alone.clone().with_site_correlation(1.1).unwrap_err().to_string(),
            "site_correlation is 1.1: must be 0 to 1"
        );
    }

    #[test]
    fn building_adds_its_loss() {
        use crate::phy::{Building, Indoors};
        let sites: Arc<[Site]> = [site(at(0.0, 0.0), DeploymentScenario::UrbanMacro, LineOfSight::Never)].into();
        let indoors = Indoors { building: Building::LowLoss, depth_m: 10.0, deviation: 0.0 };
        let mut sum = 0.0;
        for seed in 0..2000 {
            let deployment = Deployment::new(sites.clone(), seed);
            let loss_db = |indoors| {
                let mut paths = deployment.no_paths();
                deployment.update_masts(at(200.0, 0.0), &UeRadio { indoors, ..UeRadio::default() }, &mut paths);
                f64::from(paths[0].loss_db)
            };
            sum += loss_db(Some(indoors)) - loss_db(None);
        }
        assert!((sum / 2000.0 - indoors.loss_db(3.6)).abs() < 0.4, "{}", sum / 2000.0);
    }
}
