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
                        < scenario.line_of_sight_probability(outdoors_m)
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
