//! Path loss, line of sight and shadowing (TR 38.901 7.4).

use std::f64::consts::PI;

pub(super) const LIGHT_M_PER_S: f64 = 299_792_458.0;

/// The deployment scenario of a site.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum DeploymentScenario {
    /// Urban macro (UMa): antennas above roof level.
    #[default]
    UrbanMacro,
    /// Urban micro (UMi street canyon): antennas below roof level.
    UrbanMicro,
    /// Rural macro (RMa): buildings 5 m high, streets 20 m wide.
    RuralMacro,
    /// Indoor office (InH) with open rooms.
    IndoorOpen,
    /// Indoor office (InH) with rooms and corridors.
    IndoorMixed,
}

/// Whether UEs have line of sight to a site.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum LineOfSight {
    /// No UE has.
    #[default]
    Never,
    /// Each UE has.
    Always,
    /// By the LOS probability of the scenario (TR 38.901 table 7.4.2-1): drawn for each place on the ground, equal for all sites of a
    /// mast, and spatially correlated (TR 38.901 7.6.3.3).
    ByProbability,
}

/// The propagation between a site and the UEs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Propagation {
    /// The deployment scenario. Default: UMa.
    pub scenario: DeploymentScenario,
    /// Whether there is line of sight. Default: never.
    pub line_of_sight: LineOfSight,
}

/// The two ends of a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ends {
    /// Distance on the ground.
    pub distance_m: f64,
    /// Height of the base station's antennas.
    pub base_m: f64,
    /// Height of the UE.
    pub ue_m: f64,
    /// The carrier frequency.
    pub frequency_ghz: f64,
}

/// The loss of a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Loss {
    pub median_db: f64,
    /// The standard deviation of the shadowing.
    pub shadowing_db: f64,
}

impl Ends {
    /// The three-dimensional distance.
    fn line_m(&self) -> f64 {
        self.distance_m.hypot(self.base_m - self.ue_m)
    }

    /// The breakpoint distance.
    fn break_point_m(&self, heights: f64) -> f64 {
        heights * self.frequency_ghz * 1e9 / LIGHT_M_PER_S
    }
}

impl DeploymentScenario {
    /// The shortest distance on the ground for which the path loss holds; shorter ones count as this.
    fn least_m(self) -> f64 {
        match self {
            DeploymentScenario::IndoorOpen | DeploymentScenario::IndoorMixed => 1.0,
            _ => 10.0,
        }
    }

    /// The correlation distance of the shadowing (TR 38.901 table 7.5-6).
    pub(super) fn shadowing_distance_m(self, line_of_sight: bool) -> f64 {
        match (self, line_of_sight) {
            (DeploymentScenario::UrbanMacro, true) => 37.0,
            (DeploymentScenario::UrbanMacro, false) => 50.0,
            (DeploymentScenario::UrbanMicro, true) => 10.0,
            (DeploymentScenario::UrbanMicro, false) => 13.0,
            (DeploymentScenario::RuralMacro, true) => 37.0,
            (DeploymentScenario::RuralMacro, false) => 120.0,
            (DeploymentScenario::IndoorOpen | DeploymentScenario::IndoorMixed, true) => 10.0,
            (DeploymentScenario::IndoorOpen | DeploymentScenario::IndoorMixed, false) => 6.0,
        }
    }

    /// The standard deviation and the correlation distance of the shadowing of UEs in buildings (TR 38.901 table 7.5-6, O2I); none
    /// where the sites are in the building.
    pub(super) fn shadowing_in_buildings(self) -> Option<(f64, f64)> {
        match self {
            DeploymentScenario::UrbanMacro | DeploymentScenario::UrbanMicro => Some((7.0, 7.0)),
            DeploymentScenario::RuralMacro => Some((8.0, 120.0)),
            DeploymentScenario::IndoorOpen | DeploymentScenario::IndoorMixed => None,
        }
    }

    /// The correlation distance of the line-of-sight state (TR 38.901 table 7.6.3.1-2).
    pub(super) fn line_of_sight_distance_m(self) -> f64 {
        match self {
            DeploymentScenario::UrbanMacro | DeploymentScenario::UrbanMicro => 50.0,
            DeploymentScenario::RuralMacro => 60.0,
            DeploymentScenario::IndoorOpen | DeploymentScenario::IndoorMixed => 10.0,
        }
    }

    /// The probability of line of sight over a distance on the ground (TR 38.901 table 7.4.2-1). UEs above 13 m look over some of the
    /// buildings of an urban macro cell.
    pub(super) fn line_of_sight_probability(self, distance_m: f64, ue_m: f64) -> f64 {
        let fades = |over_m: f64, m: f64| (-over_m / m).exp();
        let street = |m: f64| {
            let near = 18.0 / distance_m.max(18.0);
            near + fades(distance_m, m) * (1.0 - near)
        };
        match self {
            DeploymentScenario::UrbanMacro => {
                let above = ((ue_m - 13.0).max(0.0) / 10.0).powf(1.5);
                street(63.0) * (1.0 + above * 1.25 * (distance_m / 100.0).powi(3) * fades(distance_m, 150.0))
            }
            DeploymentScenario::UrbanMicro => street(36.0),
            DeploymentScenario::RuralMacro => fades((distance_m - 10.0).max(0.0), 1000.0),
            DeploymentScenario::IndoorOpen if distance_m <= 49.0 => fades((distance_m - 5.0).max(0.0), 70.8),
            DeploymentScenario::IndoorOpen => 0.54 * fades(distance_m - 49.0, 211.7),
            DeploymentScenario::IndoorMixed if distance_m < 6.5 => fades((distance_m - 1.2).max(0.0), 4.7),
            DeploymentScenario::IndoorMixed => 0.32 * fades(distance_m - 6.5, 32.6),
        }
    }

    /// The Ricean K-factor in dB (TR 38.901 table 7.5-6); none without line of sight.
    pub(super) fn rice_factor_db(self, line_of_sight: bool) -> Option<f64> {
        line_of_sight.then_some(match self {
            DeploymentScenario::UrbanMacro | DeploymentScenario::UrbanMicro => 9.0,
            DeploymentScenario::RuralMacro | DeploymentScenario::IndoorOpen | DeploymentScenario::IndoorMixed => 7.0,
        })
    }

    /// The path loss (TR 38.901 table 7.4.1-1). Without line of sight it is at least that with it.
    pub(super) fn loss(self, line_of_sight: bool, ends: &Ends) -> Loss {
        let ends = &Ends { distance_m: ends.distance_m.max(self.least_m()), ..*ends };
        let seen = match self {
            DeploymentScenario::UrbanMacro => (urban(ends, [28.0, 22.0, 9.0]), 4.0),
            DeploymentScenario::UrbanMicro => (urban(ends, [32.4, 21.0, 9.5]), 4.0),
            DeploymentScenario::RuralMacro => rural(ends),
            DeploymentScenario::IndoorOpen | DeploymentScenario::IndoorMixed => {
                (by_decades(ends, [32.4, 17.3, 20.0]), 3.0)
            }
        };
        let (median_db, shadowing_db) = if line_of_sight { seen } else { self.hidden(ends, seen.0) };
        Loss { median_db, shadowing_db }
    }

    /// The loss without line of sight: median, at least `seen_db`, and standard deviation.
    fn hidden(self, ends: &Ends, seen_db: f64) -> (f64, f64) {
        let above_m = ends.ue_m - 1.5;
        let (hidden_db, shadowing_db) = match self {
            DeploymentScenario::UrbanMacro => (by_decades(ends, [13.54, 39.08, 20.0]) - 0.6 * above_m, 6.0),
            DeploymentScenario::UrbanMicro => (by_decades(ends, [22.4, 35.3, 21.3]) - 0.3 * above_m, 7.82),
            DeploymentScenario::RuralMacro => (rural_hidden(ends), 8.0),
            DeploymentScenario::IndoorOpen | DeploymentScenario::IndoorMixed => {
                (by_decades(ends, [17.3, 38.3, 24.9]), 8.03)
            }
        };
        (hidden_db.max(seen_db), shadowing_db)
    }
}

/// A loss with an offset, and a slope per decade of the distance and of the frequency.
fn by_decades(ends: &Ends, [offset, distance, frequency]: [f64; 3]) -> f64 {
    offset + distance * ends.line_m().log10() + frequency * ends.frequency_ghz.log10()
}

/// Urban loss with line of sight: offset, slope per decade before the breakpoint, and correction by the breakpoint behind it.
fn urban(ends: &Ends, [offset, decade, behind]: [f64; 3]) -> f64 {
    // the effective environment height
    const TRAFFIC_M: f64 = 1.0;
    // the formula is for UEs from 1.5 m on
    let ue_m = ends.ue_m.max(1.5);
    let break_m = ends.break_point_m(4.0 * (ends.base_m - TRAFFIC_M) * (ue_m - TRAFFIC_M));
    let frequency = 20.0 * ends.frequency_ghz.log10();
    let line = ends.line_m().log10();
    if ends.distance_m <= break_m {
        return offset + decade * line + frequency;
    }
    let at_break = (break_m * break_m + (ends.base_m - ends.ue_m).powi(2)).log10();
    offset + 40.0 * line + frequency - behind * at_break
}

/// Building height and street width in the rural scenario.
const HOUSES_M: f64 = 5.0;
const STREETS_M: f64 = 20.0;

/// Rural loss with line of sight: median and standard deviation, both of which change at the breakpoint.
fn rural(ends: &Ends) -> (f64, f64) {
    let before = |line_m: f64| {
        let height = HOUSES_M.powf(1.72);
        20.0 * (40.0 * PI * line_m * ends.frequency_ghz / 3.0).log10() + (0.03 * height).min(10.0) * line_m.log10()
            - (0.044 * height).min(14.77)
            + 0.002 * HOUSES_M.log10() * line_m
    };
    let break_m = ends.break_point_m(2.0 * PI * ends.base_m * ends.ue_m);
    match ends.distance_m <= break_m {
        true => (before(ends.line_m()), 4.0),
        false => (before(break_m) + 40.0 * (ends.line_m() / break_m).log10(), 6.0),
    }
}

fn rural_hidden(ends: &Ends) -> f64 {
    let base = ends.base_m.log10();
    161.04 - 7.1 * STREETS_M.log10() + 7.5 * HOUSES_M.log10() - (24.37 - 3.7 * (HOUSES_M / ends.base_m).powi(2)) * base
        + (43.42 - 3.1 * base) * (ends.line_m().log10() - 3.0)
        + 20.0 * ends.frequency_ghz.log10()
        - (3.2 * (11.75 * ends.ue_m).log10().powi(2) - 4.97)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_match_vectors() {
        let vectors = include_str!("../../../../../vectors/phy/path-loss.csv");
        let mut count = 0;
        for line in vectors.lines().skip(1) {
            let (name, numbers) = line.split_once(',').unwrap();
            let scenario = match name {
                "UMa" => DeploymentScenario::UrbanMacro,
                "UMi" => DeploymentScenario::UrbanMicro,
                "RMa" => DeploymentScenario::RuralMacro,
                _ => panic!("{line}"),
            };
            let numbers: Vec<f64> = numbers.split(',').map(|number| number.parse().unwrap()).collect();
            let [seen, distance_m, base_m, ue_m, frequency_ghz, expected_db] = numbers[..] else { panic!("{line}") };
            let loss = scenario.loss(seen == 1.0, &Ends { distance_m, base_m, ue_m, frequency_ghz });
            assert!((loss.median_db - expected_db).abs() < 1e-3, "{line}: {}", loss.median_db);
            count += 1;
        }
        assert_eq!(count, 108);
    }

    #[test]
    fn loss_never_decreases_with_distance() {
        for scenario in [DeploymentScenario::UrbanMacro, DeploymentScenario::UrbanMicro, DeploymentScenario::RuralMacro]
        {
            for line_of_sight in [true, false] {
                let loss = |distance_m: i32| {
                    let ends = Ends { distance_m: distance_m.into(), base_m: 25.0, ue_m: 1.5, frequency_ghz: 3.6 };
                    scenario.loss(line_of_sight, &ends).median_db
                };
                // at the breakpoint, both parts of the formulas agree within 0.1 dB
                let steps: Vec<f64> = (0..6000).map(loss).collect();
                assert!(steps.is_sorted_by(|nearer, farther| farther - nearer > -0.1), "{scenario:?} {line_of_sight}");
                assert_eq!(steps[0], steps[10]);
            }
        }
    }

    /// Values of TR 38.901 table 7.4.1-1, calculated by hand.
    #[test]
    fn office_losses_are_those_of_the_formulas() {
        for scenario in [DeploymentScenario::IndoorOpen, DeploymentScenario::IndoorMixed] {
            // sqrt(40² + 1.5²) = 40.0281 m and 3.5 GHz
            let ends = Ends { distance_m: 40.0, base_m: 3.0, ue_m: 1.5, frequency_ghz: 3.5 };
            let seen = scenario.loss(true, &ends);
            assert!((seen.median_db - (32.4 + 17.3 * 1.602_365 + 20.0 * 0.544_068)).abs() < 1e-3, "{seen:?}");
            let hidden = scenario.loss(false, &ends);
            assert!((hidden.median_db - (17.3 + 38.3 * 1.602_365 + 24.9 * 0.544_068)).abs() < 1e-3, "{hidden:?}");
            assert_eq!((seen.shadowing_db, hidden.shadowing_db), (3.0, 8.03));
            // nearby, the loss without line of sight is that with it
            let near = Ends { distance_m: 1.0, ..ends };
            assert_eq!(scenario.loss(false, &near).median_db, scenario.loss(true, &near).median_db);
            let nearer = Ends { distance_m: 0.1, ..ends };
            assert_eq!(scenario.loss(true, &nearer), scenario.loss(true, &near));
        }
    }

    #[test]
    fn line_of_sight_probabilities_are_those_of_the_formulas() {
        use DeploymentScenario::{IndoorMixed, IndoorOpen, RuralMacro, UrbanMacro, UrbanMicro};
        for (scenario, distance_m, ue_m, expected) in [
            (UrbanMacro, 18.0, 1.5, 1.0),
            // 0.18 + exp(-100/63) 0.82
            (UrbanMacro, 100.0, 1.5, 0.347_7),
            (UrbanMacro, 500.0, 13.0, 0.036_345),
            // times 1 + 1.25 exp(-100/150), the height being 10 m above 13 m
            (UrbanMacro, 100.0, 23.0, 0.347_7 * 1.641_77),
            (UrbanMicro, 10.0, 1.5, 1.0),
            // 0.18 + exp(-100/36) 0.82
            (UrbanMicro, 100.0, 1.5, 0.230_99),
            (RuralMacro, 5.0, 1.5, 1.0),
            (RuralMacro, 1010.0, 1.5, 0.367_879),
            (IndoorOpen, 5.0, 1.5, 1.0),
            (IndoorOpen, 40.0, 1.5, 0.609_9),
            (IndoorOpen, 60.0, 1.5, 0.512_66),
            (IndoorMixed, 1.0, 1.5, 1.0),
            (IndoorMixed, 5.9, 1.5, 0.367_879),
            (IndoorMixed, 39.1, 1.5, 0.117_72),
        ] {
            let probability = scenario.line_of_sight_probability(distance_m, ue_m);
            assert!((probability - expected).abs() < 2e-4, "{scenario:?} {distance_m}: {probability}");
        }
    }
}
