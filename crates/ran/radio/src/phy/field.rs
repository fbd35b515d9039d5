//! Random fields over the ground: shadowing and line of sight that depend on the position only.

use std::f64::consts::TAU;

use crate::Random;

/// The waves of a field. Their sum is normal within 2 % of a standard deviation up to twice the standard deviation.
const WAVES: usize = 32;
/// The shortest wave, in correlation distances: its number times 2 pi.
const MOST_WAVE_NUMBER: f64 = 300.0;

/// A stationary field over the ground with mean 0, variance 1 and the autocorrelation exp(-distance), in correlation distances
/// (TR 38.901 7.4.4).
///
/// It is a sum of plane waves. The density of their wave numbers is that of the exponential autocorrelation in the plane,
/// proportional to k (1 + k²)^(-3/2); its inverse distribution is sqrt(1/(1-u)² - 1).
#[derive(Clone, Debug)]
pub(super) struct Field {
    /// Periods per correlation distance, to the east and to the north, and the phases in periods.
    east: [f64; WAVES],
    north: [f64; WAVES],
    phase: [f64; WAVES],
}

impl Field {
    pub fn new(random: &mut Random) -> Self {
        let mut field = Field { east: [0.0; WAVES], north: [0.0; WAVES], phase: [0.0; WAVES] };
        let turn = random.uniform();
        for wave in 0..WAVES {
            // one wave in each of equally probable rings, and directions that are spread evenly (by the golden ratio)
            let part = (wave as f64 + random.uniform()) / WAVES as f64;
            let number = (1.0 / (1.0 - part).powi(2) - 1.0).sqrt().min(MOST_WAVE_NUMBER) / TAU;
            let (sin, cos) = (TAU * (turn + wave as f64 * 0.618_033_988_749_895)).sin_cos();
            (field.east[wave], field.north[wave]) = (number * cos, number * sin);
            field.phase[wave] = random.uniform();
        }
        field
    }

    /// The value at a position in correlation distances.
    pub fn at(&self, east: f64, north: f64) -> f64 {
        let mut sum = 0.0;
        for wave in 0..WAVES {
            sum += cos_turns(self.east[wave] * east + self.north[wave] * north + self.phase[wave]);
        }
        sum * (2.0 / WAVES as f64).sqrt()
    }
}

/// cos(2 pi t) within 4e-6, for |t| below 2^50, without a branch or a call.
fn cos_turns(turns: f64) -> f64 {
    // adding and subtracting 1.5 times 2^52 rounds to the nearest integer
    const ROUND: f64 = 6_755_399_441_055_744.0;
    let part = turns - ((turns + ROUND) - ROUND);
    let angle = TAU * (0.25 - part.abs());
    let square = angle * angle;
    // products: a division takes several times as long
    const PARTS: [f64; 4] = [1.0 / 6.0, 1.0 / 20.0, 1.0 / 42.0, 1.0 / 72.0];
    let series = PARTS.iter().rev().fold(1.0, |rest, part| 1.0 - square * part * rest);
    angle * series
}

/// The distribution function of a normal variable, within 1e-7 (Abramowitz and Stegun 7.1.26).
pub(super) fn normal_distribution(value: f64) -> f64 {
    let scaled = value.abs() / std::f64::consts::SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * scaled);
    let series =
        t * (0.254_829_592 + t * (-0.284_496_736 + t * (1.421_413_741 + t * (-1.453_152_027 + t * 1.061_405_429))));
    let tail = 0.5 * series * (-scaled * scaled).exp();
    if value < 0.0 { tail } else { 1.0 - tail }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cosine_is_exact_enough() {
        for step in -10_000..10_000 {
            let turns = f64::from(step) * 0.001_37 + 5e5;
            assert!((cos_turns(turns) - (TAU * (turns - 5e5)).cos()).abs() < 1e-5, "{turns}");
        }
    }

    #[test]
    fn normal_distribution_has_known_values() {
        for (value, expected) in [(0.0, 0.5), (1.0, 0.841_345), (-1.96, 0.024_998), (3.0, 0.998_650), (-9.0, 0.0)] {
            assert!((normal_distribution(value) - expected).abs() < 1e-6, "{value}");
        }
    }

    #[test]
    fn field_is_normal_and_its_correlation_is_exponential() {
        let distances = [0.0, 0.2, 0.5, 1.0, 2.0];
        let mut products = [0.0; 5];
        let (mut sum, mut beyond, mut count) = (0.0, 0, 0.0);
        for seed in 0..400 {
            let mut random = Random::new(seed, 0);
            let field = Field::new(&mut random);
            for _ in 0..250 {
                let [east, north] = [(); 2].map(|()| 1e3 * random.uniform());
                let (sin, cos) = (TAU * random.uniform()).sin_cos();
                let here = field.at(east, north);
                sum += here;
                count += 1.0;
                beyond += u32::from(here < -1.0);
                for (product, distance) in products.iter_mut().zip(distances) {
                    *product += here * field.at(east + distance * cos, north + distance * sin);
                }
            }
        }
        assert!((sum / count).abs() < 0.02, "{}", sum / count);
        assert!((f64::from(beyond) / count - 0.158_7).abs() < 0.005, "{}", f64::from(beyond) / count);
        for (product, distance) in products.iter().zip(distances) {
            let correlation = product / count;
            assert!((correlation - (-distance).exp()).abs() < 0.02, "{distance}: {correlation}");
        }
    }
}
