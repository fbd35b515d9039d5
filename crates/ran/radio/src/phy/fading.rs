//! Fast fading: the interference of waves over many paths.

use crate::Random;

use super::path_loss::LIGHT_M_PER_S;

/// The maximum number of diversity branches, as [`super::UeRadio`] checks.
const MAX_BRANCHES: usize = 8;

/// The fading parameters of a UE.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fading {
    /// The diversity order: the number of independent gains that a transmission averages over, from several antennas or a
    /// bandwidth above the coherence bandwidth; 1 to 8. Default: 4, which gives a standard deviation of 2.3 dB.
    pub branches: u8,
    /// The minimum speed for the Doppler shift, which accounts for moving surroundings of a slow or standing UE. Default: 0.3.
    pub min_speed_m_per_s: f64,
}

impl Default for Fading {
    fn default() -> Self {
        Fading { branches: 4, min_speed_m_per_s: 0.3 }
    }
}

/// The gain of a fading channel.
///
/// Each branch is the sum of a constant wave, if there is line of sight, and a complex normal variable with first-order
/// autoregression. Their mean power is 1.
#[derive(Clone, Debug)]
pub(super) struct Gain {
    scattered: [[f64; 2]; MAX_BRANCHES],
    branches: u8,
    min_speed_m_per_s: f64,
    /// The amplitude of the constant wave, and that of the real and imaginary parts of the scattered waves.
    constant: f64,
    others: f64,
    frequency_hz: f64,
    db: f64,
}

impl Gain {
    pub fn new(fading: &Fading, rice_factor_db: Option<f64>, frequency_mhz: f64, random: &mut Random) -> Self {
        let mut gain = Gain {
            scattered: [[0.0; 2]; MAX_BRANCHES],
            branches: fading.branches,
            min_speed_m_per_s: fading.min_speed_m_per_s,
            constant: 0.0,
            others: 0.0,
            frequency_hz: 0.0,
            db: 0.0,
        };
        gain.set_propagation(rice_factor_db, frequency_mhz);
        gain.renew(0.0, random);
        gain
    }

    /// Sets the propagation from the serving site, from the next update on.
    pub fn set_propagation(&mut self, rice_factor_db: Option<f64>, frequency_mhz: f64) {
        let rice = rice_factor_db.map_or(0.0, |db| 10.0_f64.powf(db / 10.0));
        self.constant = (rice / (rice + 1.0)).sqrt();
        self.others = (0.5 / (rice + 1.0)).sqrt();
        self.frequency_hz = frequency_mhz * 1e6;
    }

    /// The gain in dB.
    pub fn db(&self) -> f64 {
        self.db
    }

    /// Advances the gain by a time at a speed.
    pub fn update(&mut self, seconds: f64, speed_m_per_s: f64, random: &mut Random) {
        let doppler_hz = speed_m_per_s.max(self.min_speed_m_per_s) * self.frequency_hz / LIGHT_M_PER_S;
        // the autocorrelation of the power, which is the square of that of the gain, is one half after 9 / (16 pi f) (Clarke's
        // model)
        let coherence_s = 9.0 / (16.0 * std::f64::consts::PI) / doppler_hz;
        self.renew((-0.5 * seconds / coherence_s).exp2(), random);
    }

    fn renew(&mut self, keep: f64, random: &mut Random) {
        let renew = (1.0 - keep * keep).sqrt();
        let mut power = 0.0;
        for [real, imaginary] in &mut self.scattered[..usize::from(self.branches)] {
            *real = keep * *real + renew * random.normal();
            *imaginary = keep * *imaginary + renew * random.normal();
            power += (self.constant + self.others * *real).powi(2) + (self.others * *imaginary).powi(2);
        }
        // a power of 0 practically does not occur, but its logarithm must be finite
        self.db = 10.0 * (power / f64::from(self.branches)).max(1e-9).log10();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FREQUENCY_HZ: f64 = 3.6e9;

    fn powers(fading: Fading, rice_factor_db: Option<f64>, step_s: f64, speed_m_per_s: f64) -> Vec<f64> {
        let mut random = Random::new(11, 0);
        let mut gain = Gain::new(&fading, rice_factor_db, FREQUENCY_HZ / 1e6, &mut random);
        let step = |_| {
            gain.update(step_s, speed_m_per_s, &mut random);
            10.0_f64.powf(gain.db() / 10.0)
        };
        (0..200_000).map(step).collect()
    }

    fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
        let count = values.len() as f64;
        values.sum::<f64>() / count
    }

    fn variance(powers: &[f64]) -> f64 {
        mean(powers.iter().map(|power| (power - 1.0).powi(2)))
    }

    #[test]
    fn mean_power_is_one_and_diversity_reduces_variance() {
        for branches in [1, 2, 4, 8] {
            let powers = powers(Fading { branches, ..Fading::default() }, None, 0.005, 1.5);
            assert!((mean(powers.iter().copied()) - 1.0).abs() < 0.02, "{branches}");
            // the mean of `branches` exponential variables
            let expected = 1.0 / f64::from(branches);
            assert!((variance(&powers) / expected - 1.0).abs() < 0.06, "{branches}: {}", variance(&powers));
        }
        let calm = powers(Fading { branches: 1, ..Fading::default() }, Some(9.0), 0.005, 1.5);
        assert!((mean(calm.iter().copied()) - 1.0).abs() < 0.02);
        // (1 + 2 k) / (1 + k)^2
        assert!((variance(&calm) - 0.212).abs() < 0.02, "{}", variance(&calm));
    }

    #[test]
    fn power_autocorrelation_is_half_after_coherence_time() {
        let speed_m_per_s = 1.0;
        let doppler_hz = speed_m_per_s * FREQUENCY_HZ / LIGHT_M_PER_S;
        let coherence_s = 0.179 / doppler_hz;
        let powers = powers(Fading::default(), None, coherence_s / 2.0, speed_m_per_s);
        let product = |later: usize| {
            let pairs = powers.iter().zip(&powers[later..]);
            mean(pairs.map(|(now, later)| (now - 1.0) * (later - 1.0)).collect::<Vec<_>>().into_iter())
        };
        let correlation = product(2) / product(0);
        assert!((correlation - 0.5).abs() < 0.03, "{correlation}");
    }

    #[test]
    fn standing_ue_in_static_surroundings_does_not_fade() {
        let still = Fading { min_speed_m_per_s: 0.0, ..Fading::default() };
        let powers = powers(still, None, 0.005, 0.0);
        assert!(powers.iter().all(|power| *power == powers[0]));
    }
}
