//! Layouts of sites (TR 38.901 7.2): hexagonal grids and the indoor office.

use std::f64::consts::TAU;

use super::{Area, Position};
use crate::Random;

/// The office of TR 38.901 table 7.2-2: its length and width, and the distance of the sites.
const OFFICE_M: [f64; 2] = [120.0, 50.0];
const OFFICE_SITES_M: f64 = 20.0;
/// How often a place that is too near to a site is drawn again.
const MOST_DRAWS: u32 = 1000;

/// A layout of sites.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Layout {
    /// A site in the middle and `rings` rings of sites around it: 7 sites with one ring, 19 with two. The nearest neighbours of a
    /// site are at the azimuths 30, 90, 150, 210, 270 and 330 degrees.
    Hexagons {
        /// The number of rings: 1 or 2.
        rings: u8,
        /// The inter-site distance.
        inter_site_m: f64,
    },
    /// An office of 120 m x 50 m with twelve sites in two rows, 20 m apart. Its south-west corner is the origin.
    Office,
}

impl Layout {
    /// The positions of the sites; of hexagons from the middle outwards.
    #[must_use]
    pub fn sites(&self) -> Vec<Position> {
        match *self {
            Layout::Hexagons { rings, inter_site_m } => {
                let rings = i32::from(rings);
                let within = |(q, r): &(i32, i32)| (q + r).abs() <= rings;
                let all = (-rings..=rings).flat_map(|r| (-rings..=rings).map(move |q| (q, r))).filter(within);
                let mut all: Vec<(i32, i32)> = all.collect();
                all.sort_by_key(|(q, r)| q.abs().max(r.abs()).max((q + r).abs()));
                all.into_iter().map(|(q, r)| on_grid(q, r, inter_site_m)).collect()
            }
            Layout::Office => {
                let at = |number: u32| Position {
                    x_m: OFFICE_SITES_M * (f64::from(number % 6) + 0.5),
                    y_m: OFFICE_M[1] / 2.0 + OFFICE_SITES_M * (f64::from(number / 6) - 0.5),
                };
                (0..12).map(at).collect()
            }
        }
    }

    /// The shifts under which a hexagonal layout repeats over the whole plane, for wrap-around: six. None for an office.
    #[must_use]
    pub fn shifts(&self) -> Vec<Position> {
        let Layout::Hexagons { rings, inter_site_m } = *self else { return Vec::new() };
        // a cluster of 3 n (n + 1) + 1 hexagons repeats at the grid's point (n + 1, n), and at its rotations by 60 degrees
        let mut at = (i32::from(rings) + 1, i32::from(rings));
        let rotated = |(q, r): (i32, i32)| (-r, q + r);
        let each = (0..6).map(|_| {
            at = rotated(at);
            on_grid(at.0, at.1, inter_site_m)
        });
        each.collect()
    }

    /// The area of the layout: the rectangle around its hexagons, or the office.
    #[must_use]
    pub fn area(&self) -> Area {
        let Layout::Hexagons { inter_site_m, .. } = *self else {
            return Area { min: Position::default(), max: Position { x_m: OFFICE_M[0], y_m: OFFICE_M[1] } };
        };
        // half a hexagon around the sites
        let [x_m, y_m] = [inter_site_m / 2.0, inter_site_m / 3.0_f64.sqrt()];
        let sites = self.sites();
        let most = |of: fn(&Position) -> f64| sites.iter().map(of).fold(0.0, f64::max);
        let max = Position { x_m: most(|site| site.x_m) + x_m, y_m: most(|site| site.y_m) + y_m };
        Area { min: Position { x_m: -max.x_m, y_m: -max.y_m }, max }
    }

    /// Draws a place for the UE with a number: uniform over the hexagon of a site, in turn, or over the office; at least
    /// `least_m` from the site of the hexagon. When a thousand places are too near, the last one.
    pub fn place(&self, number: usize, least_m: f64, random: &mut Random) -> Position {
        let Layout::Hexagons { inter_site_m, .. } = *self else {
            return Position { x_m: OFFICE_M[0] * random.uniform(), y_m: OFFICE_M[1] * random.uniform() };
        };
        let sites = self.sites();
        let site = sites[number % sites.len()];
        let mut place = site;
        for _ in 0..MOST_DRAWS {
            // a rhombus, of which three form the hexagon
            let [a, b] = [(); 2].map(|()| random.uniform() * inter_site_m / 3.0_f64.sqrt());
            let turn = (random.uniform() * 3.0).floor() / 3.0;
            // corners of the hexagon are at the azimuths 0, 60 and so on
            let [(a_sin, a_cos), (b_sin, b_cos)] = [turn, turn + 1.0 / 3.0].map(|turn| (TAU * turn).sin_cos());
            place = Position { x_m: site.x_m + a * a_sin + b * b_sin, y_m: site.y_m + a * a_cos + b * b_cos };
            if place.distance_m(site) >= least_m {
                break;
            }
        }
        place
    }
}

/// A point of the hexagonal grid.
fn on_grid(q: i32, r: i32, m: f64) -> Position {
    Position { x_m: m * (f64::from(q) + 0.5 * f64::from(r)), y_m: m * f64::from(r) * 0.75_f64.sqrt() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hexagons_have_neighbours_at_the_inter_site_distance() {
        for (rings, sites, at_once, twice) in [(1, 7, 6, 0), (2, 19, 6, 6)] {
            let layout = Layout::Hexagons { rings, inter_site_m: 500.0 };
            let positions = layout.sites();
            assert_eq!((positions.len(), positions[0]), (sites, Position::default()));
            let count = |m: f64| positions.iter().filter(|at| (at.distance_m(positions[0]) - m).abs() < 1e-6).count();
            assert_eq!((count(500.0), count(1000.0)), (at_once, twice));
            for at in &positions {
                let nearest = positions.iter().filter(|other| *other != at).map(|other| other.distance_m(*at));
                assert!((nearest.fold(f64::MAX, f64::min) - 500.0).abs() < 1e-6);
            }
        }
    }

    /// With the copies each site of the network has six neighbours at the inter-site distance.
    #[test]
    fn copies_continue_the_grid() {
        for rings in [1, 2] {
            let layout = Layout::Hexagons { rings, inter_site_m: 200.0 };
            let (sites, shifts) = (layout.sites(), layout.shifts());
            assert_eq!(shifts.len(), 6);
            let copies = shifts
                .iter()
                .flat_map(|shift| sites.iter().map(|at| Position { x_m: at.x_m + shift.x_m, y_m: at.y_m + shift.y_m }));
            let all: Vec<Position> = sites.iter().copied().chain(copies).collect();
            for at in &sites {
                let mut distances: Vec<f64> = all.iter().map(|other| other.distance_m(*at)).collect();
                distances.sort_by(f64::total_cmp);
                assert!(distances[0] < 1e-9, "no copy covers another");
                assert!(distances[1..7].iter().all(|m| (m - 200.0).abs() < 1e-6), "{distances:?}");
                assert!(distances[7] > 300.0);
            }
        }
    }

    #[test]
    fn office_has_two_rows_of_six_sites() {
        let sites = Layout::Office.sites();
        assert_eq!(sites.len(), 12);
        assert_eq!((sites[0], sites[11]), (Position { x_m: 10.0, y_m: 15.0 }, Position { x_m: 110.0, y_m: 35.0 }));
        assert!(Layout::Office.shifts().is_empty());
        let mut random = Random::new(1, 0);
        let places: Vec<Position> = (0..2000).map(|number| Layout::Office.place(number, 0.0, &mut random)).collect();
        assert!(places.iter().all(|at| (0.0..120.0).contains(&at.x_m) && (0.0..50.0).contains(&at.y_m)));
        let mean = places.iter().map(|at| at.x_m).sum::<f64>() / 2000.0;
        assert!((mean - 60.0).abs() < 3.0, "{mean}");
    }

    #[test]
    fn places_are_uniform_over_the_hexagon_and_keep_their_distance() {
        let layout = Layout::Hexagons { rings: 2, inter_site_m: 500.0 };
        let sites = layout.sites();
        let mut random = Random::new(3, 0);
        let area = layout.area();
        let (mut near, mut sum) = (0, 0.0);
        let count = 19_000;
        for number in 0..count {
            let at = layout.place(number, 35.0, &mut random);
            let own_m = at.distance_m(sites[number % 19]);
            assert!(own_m >= 35.0);
            let nearest_m = sites.iter().map(|site| site.distance_m(at)).fold(f64::MAX, f64::min);
            assert!((nearest_m - own_m).abs() < 1e-6, "{at:?} is nearer to another site");
            assert!(area.contains(at), "{at:?}");
            near += u32::from(own_m < 150.0);
            sum += own_m;
        }
        // the disk of 150 m without that of 35 m, over the hexagon of 500² sqrt(3)/2 without the latter
        let hexagon = 250_000.0 * 0.75_f64.sqrt();
        let disk = |m: f64| std::f64::consts::PI * m * m;
        let expected = (disk(150.0) - disk(35.0)) / (hexagon - disk(35.0));
        assert!((f64::from(near) / count as f64 - expected).abs() < 0.01, "{near} {expected}");
        assert!((170.0..190.0).contains(&(sum / count as f64)), "{}", sum / count as f64);
        // a distance that no place has
        let at = layout.place(0, 1e6, &mut random);
        assert!(at.distance_m(sites[0]) < 300.0);
    }
}
