//! Fast fading: the interference of waves over many paths.

use std::sync::Arc;

use super::decibel::{decibels, linear};
use super::multipath::{MAX_POINTS, MAX_TAPS, Response};
use super::path_loss::LIGHT_M_PER_S;
use crate::Random;

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

/// The gain of a fading channel at the frequencies of a [`Response`].
///
/// Each tap of each branch is a complex normal variable with first-order autoregression; the first has a constant wave as well, if
/// there is line of sight. Their mean power is 1.
#[derive(Clone, Debug)]
pub(super) struct Gain {
    response: Arc<Response>,
    /// By tap and branch.
    scattered: [[[f32; 2]; MAX_BRANCHES]; MAX_TAPS],
    /// The taps whose waves have been drawn.
    drawn: usize,
    branches: u8,
    min_speed_m_per_s: f64,
    /// The amplitude of the constant wave, and that of the real and imaginary parts of the scattered waves.
    constant: f32,
    others: f32,
    frequency_hz: f64,
    decay: Decay,
    /// By frequency, the mean over the branches.
    powers: [f32; MAX_POINTS],
    /// At the first frequency, in dB.
    first_db: f64,
}

/// How much of the waves remains over a time, and how much is new. Most updates have the time and the speed of the one before.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Decay {
    seconds: f64,
    doppler_hz: f64,
    old: f32,
    new: f32,
}

impl Decay {
    /// All waves are new.
    const RENEWED: Decay = Decay { seconds: f64::INFINITY, doppler_hz: 0.0, old: 0.0, new: 1.0 };

    fn over(seconds: f64, doppler_hz: f64) -> Self {
        // the autocorrelation of the power, which is the square of that of the gain, is one half after 9 / (16 pi f) (Clarke's
        // model)
        let coherence_s = 9.0 / (16.0 * std::f64::consts::PI) / doppler_hz;
        let old = (-0.5 * seconds / coherence_s).exp2();
        Decay { seconds, doppler_hz, old: old as f32, new: (1.0 - old * old).sqrt() as f32 }
    }
}

/// The smallest power: 0 practically does not occur, but its logarithm must be finite.
const LEAST_POWER: f32 = 1e-9;

impl Gain {
    pub fn new(fading: &Fading, response: Arc<Response>, frequency_mhz: f64, random: &mut Random) -> Self {
        let mut gain = Gain {
            response: Arc::clone(&response),
            scattered: [[[0.0; 2]; MAX_BRANCHES]; MAX_TAPS],
            drawn: 0,
            branches: fading.branches,
            min_speed_m_per_s: fading.min_speed_m_per_s,
            constant: 0.0,
            others: 0.0,
            frequency_hz: 0.0,
            decay: Decay::RENEWED,
            powers: [1.0; MAX_POINTS],
            first_db: 0.0,
        };
        gain.set_propagation(response, None, frequency_mhz);
        gain.renew(random);
        gain
    }

    /// Sets the propagation from the serving site, from the next update on.
    pub fn set_propagation(&mut self, response: Arc<Response>, rice_factor_db: Option<f64>, frequency_mhz: f64) {
        let rice = rice_factor_db.map_or(0.0, |db| 10.0_f64.powf(db / 10.0));
        self.constant = (rice / (rice + 1.0)).sqrt() as f32;
        self.others = (0.5 / (rice + 1.0)).sqrt() as f32;
        self.frequency_hz = frequency_mhz * 1e6;
        self.response = response;
    }

    /// The SINR of the whole carrier from the SINR without fading, both in dB. Over several frequencies it is the SINR whose
    /// Shannon capacity is the mean of theirs.
    pub fn faded_db(&self, sinr_db: f64) -> f64 {
        let points = self.response.points;
        if points == 1 {
            return sinr_db + self.first_db;
        }
        let sinr = linear(sinr_db);
        // at most 36 factors, each below 1e8: no overflow
        let product: f64 = self.powers[..points].iter().map(|power| 1.0 + sinr * f64::from(*power)).product();
        decibels(((product.log2() / points as f64).exp2() - 1.0).max(1e-12))
    }

    /// Whether the gain is the same at all frequencies.
    pub fn is_flat(&self) -> bool {
        self.response.points == 1
    }

    /// The gain of a subband in dB: the mean of its frequencies.
    pub fn subband_db(&self, subband: usize) -> f64 {
        let points = &self.powers[self.response.points_of(subband)];
        decibels(f64::from(points.iter().sum::<f32>() / points.len() as f32))
    }

    /// Advances the gain by a time at a speed.
    pub fn update(&mut self, seconds: f64, speed_m_per_s: f64, random: &mut Random) {
        let doppler_hz = speed_m_per_s.max(self.min_speed_m_per_s) * self.frequency_hz / LIGHT_M_PER_S;
        if (self.decay.seconds, self.decay.doppler_hz) != (seconds, doppler_hz) {
            self.decay = Decay::over(seconds, doppler_hz);
        }
        self.renew(random);
    }

    fn renew(&mut self, random: &mut Random) {
        let response = &*self.response;
        let (taps, points) = (response.taps, response.points);
        if taps == 0 {
            (self.powers, self.first_db) = ([1.0; MAX_POINTS], 0.0);
            return;
        }
        let Decay { old, new, .. } = self.decay;
        if taps == 1 && points == 1 {
            return self.renew_flat((old, new), random);
        }
        let (mut powers, mut real, mut imaginary) = ([0.0; MAX_POINTS], [0.0; MAX_POINTS], [0.0; MAX_POINTS]);
        for branch in 0..usize::from(self.branches) {
            real[..points].fill(self.constant);
            imaginary[..points].fill(0.0);
            for (tap, waves) in self.scattered[..taps].iter_mut().enumerate() {
                let wave = &mut waves[branch];
                let (old, new) = if tap < self.drawn { (old, new) } else { (0.0, 1.0) };
                wave[0] = old * wave[0] + new * random.normal() as f32;
                wave[1] = old * wave[1] + new * random.normal() as f32;
                let amplitude = self.others * response.amplitudes[tap];
                let (x, y) = (amplitude * wave[0], amplitude * wave[1]);
                let (cos, sin) = (&response.cos[tap][..points], &response.sin[tap][..points]);
                let sums = real[..points].iter_mut().zip(&mut imaginary[..points]);
                for ((real, imaginary), (cos, sin)) in sums.zip(cos.iter().zip(sin)) {
                    *real += x * cos + y * sin;
                    *imaginary += y * cos - x * sin;
                }
            }
            let parts = real[..points].iter().zip(&imaginary[..points]);
            for (power, (real, imaginary)) in powers[..points].iter_mut().zip(parts) {
                *power += real * real + imaginary * imaginary;
            }
        }
        self.drawn = self.drawn.max(taps);
        let share = 1.0 / f32::from(self.branches);
        for (mean, power) in self.powers[..points].iter_mut().zip(powers) {
            *mean = (power * share).max(LEAST_POWER);
        }
        self.first_db = decibels(f64::from(self.powers[0]));
    }

    /// The same for a single tap at a single frequency, without delay: only its amplitude matters.
    fn renew_flat(&mut self, (old, new): (f32, f32), random: &mut Random) {
        let (old, new) = if self.drawn == 0 { (0.0, 1.0) } else { (old, new) };
        let amplitude = self.others * self.response.amplitudes[0];
        let mut power = 0.0;
        for wave in &mut self.scattered[0][..usize::from(self.branches)] {
            wave[0] = old * wave[0] + new * random.normal() as f32;
            wave[1] = old * wave[1] + new * random.normal() as f32;
            let (real, imaginary) = (self.constant + amplitude * wave[0], amplitude * wave[1]);
            power += real * real + imaginary * imaginary;
        }
        self.drawn = self.drawn.max(1);
        self.powers[0] = (power / f32::from(self.branches)).max(LEAST_POWER);
        self.first_db = decibels(f64::from(self.powers[0]));
    }
}

#[cfg(test)]
mod tests {
    use super::super::multipath::{DelayProfile, Multipath};
    use super::*;

    const FREQUENCY_HZ: f64 = 3.6e9;

    fn powers(fading: Fading, rice_factor_db: Option<f64>, step_s: f64, speed_m_per_s: f64) -> Vec<f64> {
        let mut random = Random::new(11, 0);
        let response = Arc::new(Response::new(&Multipath::Flat, 106, 30_000, 8));
        let mut gain = Gain::new(&fading, Arc::clone(&response), FREQUENCY_HZ / 1e6, &mut random);
        gain.set_propagation(response, rice_factor_db, FREQUENCY_HZ / 1e6);
        let step = |_| {
            gain.update(step_s, speed_m_per_s, &mut random);
            10.0_f64.powf(gain.faded_db(0.0) / 10.0)
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

    /// Powers of a channel over a delay line with one branch, by frequency, with independent channels.
    fn over_frequency(profile: DelayProfile, delay_spread_ns: f64, rice_factor_db: Option<f64>) -> Vec<Vec<f64>> {
        let multipath = Multipath::DelayLine { profile, delay_spread_ns };
        // 18 subbands of 1.44 MHz: a frequency every 0.72 MHz
        let response = Arc::new(Response::new(&multipath, 72, 30_000, 4));
        let fading = Fading { branches: 1, ..Fading::default() };
        let channel = |number| {
            let mut random = Random::new(5, number);
            let mut gain = Gain::new(&fading, Arc::clone(&response), FREQUENCY_HZ / 1e6, &mut random);
            gain.set_propagation(Arc::clone(&response), rice_factor_db, FREQUENCY_HZ / 1e6);
            gain.update(1.0, 30.0, &mut random);
            gain.powers.iter().map(|power| f64::from(*power)).collect()
        };
        (0..20_000).map(channel).collect()
    }

    #[test]
    fn power_without_line_of_sight_is_exponential() {
        for profile in [DelayProfile::A, DelayProfile::B, DelayProfile::C] {
            let powers = over_frequency(profile, 100.0, None);
            for point in [0, 17, 35] {
                assert!((mean(powers.iter().map(|at| at[point])) - 1.0).abs() < 0.03, "{profile:?}");
                // Rayleigh: the power is below x with the probability 1 - exp(-x)
                for x in [0.01_f64, 0.1, 0.5, 1.0, 2.0] {
                    let below = powers.iter().filter(|at| at[point] < x).count() as f64 / powers.len() as f64;
                    let expected = 1.0 - (-x).exp();
                    assert!((below - expected).abs() < 0.02 * expected.sqrt(), "{profile:?} {x}: {below}");
                }
            }
        }
    }

    /// The amplitude correlation over a distance in frequency is the Fourier transform of the delay profile. At the coherence
    /// bandwidth, 1 / (5 rms delay spread), it is somewhat above one half; at a fifth of that near 1.
    #[test]
    fn coherence_bandwidth_follows_delay_spread() {
        const STEP_HZ: f64 = 0.72e6;
        for (profile, steps) in
            [(DelayProfile::A, 5), (DelayProfile::B, 5), (DelayProfile::C, 5), (DelayProfile::C, 10)]
        {
            let delay_spread_s = 1.0 / (5.0 * STEP_HZ * f64::from(steps));
            let powers = over_frequency(profile, delay_spread_s * 1e9, None);
            let correlation = |apart: usize| {
                let products = |a: usize, b: usize| mean(powers.iter().map(|at| (at[a] - 1.0) * (at[b] - 1.0)));
                let pairs: Vec<f64> = (0..MAX_POINTS - apart).step_by(5).map(|at| products(at, at + apart)).collect();
                mean(pairs.into_iter())
            };
            // the correlation of the power is the square of that of the amplitude
            let amplitude = |apart| (correlation(apart) / correlation(0)).max(0.0).sqrt();
            let steps = steps as usize;
            let (near, at, far) = (amplitude(steps / 5), amplitude(steps), amplitude(2 * steps));
            assert!(near > 0.9 && (0.45..0.85).contains(&at) && far < at, "{profile:?}: {near} {at} {far}");
        }
    }

    #[test]
    fn faded_sinr_is_that_of_the_mean_capacity() {
        let multipath = Multipath::DelayLine { profile: DelayProfile::C, delay_spread_ns: 300.0 };
        let response = Arc::new(Response::new(&multipath, 106, 30_000, 8));
        let mut random = Random::new(1, 0);
        let gain = Gain::new(&Fading::default(), response, 3600.0, &mut random);
        let powers = &gain.powers[..28];
        for sinr_db in [-10.0, 0.0, 10.0, 30.0] {
            let sinr = 10.0_f64.powf(sinr_db / 10.0);
            let bits = mean(powers.iter().map(|power| (1.0 + sinr * f64::from(*power)).log2()));
            let expected_db = 10.0 * (bits.exp2() - 1.0).log10();
            assert!((gain.faded_db(sinr_db) - expected_db).abs() < 1e-6, "{sinr_db}");
        }
        let subbands: Vec<f64> = (0..14).map(|subband| 10.0_f64.powf(gain.subband_db(subband) / 10.0)).collect();
        let whole = mean(powers.iter().map(|power| f64::from(*power)));
        assert!((mean(subbands.iter().copied()) - whole).abs() < 1e-5);
        let spread = subbands.iter().fold(0.0, |most: f64, at| most.max((at - whole).abs()));
        assert!(spread > 0.1, "{subbands:?}");
    }

    #[test]
    fn channel_without_multipath_does_not_fade() {
        let response = Arc::new(Response::new(&Multipath::None, 106, 30_000, 8));
        let mut random = Random::new(1, 0);
        let mut gain = Gain::new(&Fading::default(), response, 3600.0, &mut random);
        gain.update(1.0, 30.0, &mut random);
        assert_eq!((gain.faded_db(7.5), gain.subband_db(3)), (7.5, 0.0));
        // a site with multipath begins with waves of its own
        let flat = Arc::new(Response::new(&Multipath::Flat, 106, 30_000, 8));
        gain.set_propagation(flat, None, 3600.0);
        gain.update(0.0, 0.0, &mut random);
        assert_ne!(gain.faded_db(7.5), 7.5);
    }
}
