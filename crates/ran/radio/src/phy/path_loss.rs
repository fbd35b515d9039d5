//! Path loss and shadowing (TR 38.901 7.4.1), from 10 m on.

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
}

/// The propagation between a site and the UEs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Propagation {
    /// The deployment scenario. Default: UMa.
    pub scenario: DeploymentScenario,
    /// Whether there is line of sight. Default: no.
    pub line_of_sight: bool,
}

/// The two ends of a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ends {
    /// Distance on the ground; less than 10 counts as 10.
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
        self.ground_m().hypot(self.base_m - self.ue_m)
    }

    fn ground_m(&self) -> f64 {
        self.distance_m.max(10.0)
    }

    /// The breakpoint distance.
    fn break_point_m(&self, heights: f64) -> f64 {
        heights * self.frequency_ghz * 1e9 / LIGHT_M_PER_S
    }
}

impl Propagation {
    /// The correlation distance of the shadowing (TR 38.901 table 7.5-6).
    pub(super) fn shadowing_distance_m(self) -> f64 {
        match (self.scenario, self.line_of_sight) {
            (DeploymentScenario::UrbanMacro, true) => 37.0,
            (DeploymentScenario::UrbanMacro, false) => 50.0,
            (DeploymentScenario::UrbanMicro, true) => 10.0,
            (DeploymentScenario::UrbanMicro, false) => 13.0,
            (DeploymentScenario::RuralMacro, true) => 37.0,
            (DeploymentScenario::RuralMacro, false) => 120.0,
        }
    }

    /// The Ricean K-factor in dB (TR 38.901 table 7.5-6); none without line of sight.
    pub(super) fn rice_factor_db(self) -> Option<f64> {
        self.line_of_sight.then_some(match self.scenario {
            DeploymentScenario::UrbanMacro | DeploymentScenario::UrbanMicro => 9.0,
            DeploymentScenario::RuralMacro => 7.0,
        })
    }

    /// The path loss (TR 38.901 table 7.4.1-1).
    pub(super) fn loss(self, ends: &Ends) -> Loss {
        let Ends { ue_m, frequency_ghz, .. } = *ends;
        let line_m = ends.line_m();
        match self.scenario {
            DeploymentScenario::UrbanMacro => {
                let seen = urban(ends, [28.0, 22.0, 9.0]);
                let hidden = 13.54 + 39.08 * line_m.log10() + 20.0 * frequency_ghz.log10() - 0.6 * (ue_m - 1.5);
                self.either((seen, 4.0), (hidden, 6.0))
            }
            DeploymentScenario::UrbanMicro => {
                let seen = urban(ends, [32.4, 21.0, 9.5]);
                let hidden = 22.4 + 35.3 * line_m.log10() + 21.3 * frequency_ghz.log10() - 0.3 * (ue_m - 1.5);
                self.either((seen, 4.0), (hidden, 7.82))
            }
            DeploymentScenario::RuralMacro => self.either(rural(ends), (rural_hidden(ends), 8.0)),
        }
    }

    /// Selects the loss with or without line of sight; without it, the loss is at least that with it.
    fn either(self, seen: (f64, f64), hidden: (f64, f64)) -> Loss {
        let (median_db, shadowing_db) = match self.line_of_sight {
            true => seen,
            false => (hidden.0.max(seen.0), hidden.1),
        };
        Loss { median_db, shadowing_db }
    }
}

/// Urban loss with line of sight: offset, slope per decade before the breakpoint, and correction by the breakpoint behind it.
fn urban(ends: &Ends, [offset, decade, behind]: [f64; 3]) -> f64 {
    // the effective environment height
    const TRAFFIC_M: f64 = 1.0;
    let break_m = ends.break_point_m(4.0 * (ends.base_m - TRAFFIC_M) * (ends.ue_m - TRAFFIC_M));
    let frequency = 20.0 * ends.frequency_ghz.log10();
    let line = ends.line_m().log10();
    if ends.ground_m() <= break_m {
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
    match ends.ground_m() <= break_m {
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
            let propagation = Propagation { scenario, line_of_sight: seen == 1.0 };
            let loss = propagation.loss(&Ends { distance_m, base_m, ue_m, frequency_ghz });
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
                let propagation = Propagation { scenario, line_of_sight };
                let loss = |distance_m: i32| {
                    let distance_m = distance_m.into();
                    propagation.loss(&Ends { distance_m, base_m: 25.0, ue_m: 1.5, frequency_ghz: 3.6 }).median_db
                };
                // at the breakpoint, both parts of the formulas agree within 0.1 dB
                let steps: Vec<f64> = (0..6000).map(loss).collect();
                assert!(steps.is_sorted_by(|nearer, farther| farther - nearer > -0.1), "{propagation:?}");
                assert_eq!(steps[0], steps[10]);
            }
        }
    }
}
