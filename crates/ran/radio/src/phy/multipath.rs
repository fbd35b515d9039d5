//! Tapped delay lines, and what they do to a carrier (TR 38.901 7.7.2).

use std::f64::consts::TAU;

use super::site::{GeometryError, within};

/// The taps of a reduced delay line.
pub(super) const MAX_TAPS: usize = 8;
/// The most subbands of a carrier: 144 PRBs in subbands of 8.
pub(super) const MAX_SUBBANDS: usize = 18;
/// The frequencies of each subband at which the channel is evaluated.
const SUBBAND_POINTS: usize = 2;
/// The frequencies of a carrier at which the channel is evaluated.
pub(super) const MAX_POINTS: usize = MAX_SUBBANDS * SUBBAND_POINTS;
/// Subbands of a carrier that is too narrow for reports on subbands, in PRBs.
const NARROW_SUBBAND_PRBS: u16 = 4;

/// A delay profile without line of sight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DelayProfile {
    /// TDL-A.
    A,
    /// TDL-B.
    B,
    /// TDL-C.
    C,
}

/// How waves over several paths interfere at the receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Multipath {
    /// Not at all: no fast fading.
    None,
    /// In the same way over the whole carrier.
    #[default]
    Flat,
    /// By a tapped delay line: the gain depends on the frequency.
    DelayLine {
        /// The delay profile.
        profile: DelayProfile,
        /// The rms delay spread: 1 to 5000 ns.
        delay_spread_ns: f64,
    },
}

impl Multipath {
    /// Validates all fields.
    pub(super) fn check(&self) -> Result<(), GeometryError> {
        match self {
            Multipath::DelayLine { delay_spread_ns, .. } => {
                within("delay_spread_ns", *delay_spread_ns, 1.0, 5000.0, "1 to 5000")
            }
            Multipath::None | Multipath::Flat => Ok(()),
        }
    }
}

/// Normalized delays and powers in dB (TR 38.901 tables 7.7.2-1 to 7.7.2-3).
#[expect(clippy::approx_constant, reason = "a delay near 2 / pi is a coincidence")]
fn taps(profile: DelayProfile) -> &'static [(f64, f64)] {
    match profile {
        DelayProfile::A => &[
            (0.0, -13.4),
            (0.3819, 0.0),
            (0.4025, -2.2),
            (0.5868, -4.0),
            (0.4610, -6.0),
            (0.5375, -8.2),
            (0.6708, -9.9),
            (0.5750, -10.5),
            (0.7618, -7.5),
            (1.5375, -15.9),
            (1.8978, -6.6),
            (2.2242, -16.7),
            (2.1718, -12.4),
            (2.4942, -15.2),
            (2.5119, -10.8),
            (3.0582, -11.3),
            (4.0810, -12.7),
            (4.4579, -16.2),
            (4.5695, -18.3),
            (4.7966, -18.9),
            (5.0066, -16.6),
            (5.3043, -19.9),
            (9.6586, -29.7),
        ],
        DelayProfile::B => &[
            (0.0, 0.0),
            (0.1072, -2.2),
            (0.2155, -4.0),
            (0.2095, -3.2),
            (0.2870, -9.8),
            (0.2986, -1.2),
            (0.3752, -3.4),
            (0.5055, -5.2),
            (0.3681, -7.6),
            (0.3697, -3.0),
            (0.5700, -8.9),
            (0.5283, -9.0),
            (1.1021, -4.8),
            (1.2756, -5.7),
            (1.5474, -7.5),
            (1.7842, -1.9),
            (2.0169, -7.6),
            (2.8294, -12.2),
            (3.0219, -9.8),
            (3.6187, -11.4),
            (4.1067, -14.9),
            (4.2790, -9.2),
            (4.7834, -11.3),
        ],
        DelayProfile::C => &[
            (0.0, -4.4),
            (0.2099, -1.2),
            (0.2219, -3.5),
            (0.2329, -5.2),
            (0.2176, -2.5),
            (0.6366, 0.0),
            (0.6448, -2.2),
            (0.6560, -3.9),
            (0.6584, -7.4),
            (0.7935, -7.1),
            (0.8213, -10.7),
            (0.9336, -11.1),
            (1.2285, -5.1),
            (1.3083, -6.8),
            (2.1704, -8.7),
            (2.7105, -13.2),
            (4.2589, -13.9),
            (4.6003, -13.9),
            (5.4902, -15.8),
            (5.6077, -17.1),
            (6.3065, -16.0),
            (6.6374, -15.7),
            (7.0427, -21.6),
            (8.6523, -22.8),
        ],
    }
}

/// A part of a delay line: power and mean delay, and the sum of power times squared delay.
#[derive(Clone, Copy, Debug, Default)]
struct Group {
    power: f64,
    moment: f64,
    square: f64,
}

impl Group {
    fn of(taps: &[(f64, f64)]) -> Self {
        taps.iter().fold(Group::default(), |group, (delay, power)| Group {
            power: group.power + power,
            moment: group.moment + power * delay,
            square: group.square + power * delay * delay,
        })
    }

    fn delay(&self) -> f64 {
        self.moment / self.power
    }

    /// The power times the variance of the delay: what is lost when the group becomes one tap.
    fn spread(&self) -> f64 {
        self.square - self.moment * self.delay()
    }
}

/// The delays and powers of a profile in linear units: their sum is 1.
fn normalized(profile: DelayProfile) -> Vec<(f64, f64)> {
    let mut all: Vec<(f64, f64)> = taps(profile).iter().map(|(delay, db)| (*delay, 10.0_f64.powf(db / 10.0))).collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let total: f64 = all.iter().map(|(_, power)| power).sum();
    all.iter_mut().for_each(|(_, power)| *power /= total);
    all
}

/// Reduces a profile to [`MAX_TAPS`] taps: neighbours are merged so that the least delay spread is lost, and the delays are scaled so
/// that the rms delay spread is 1 again.
fn reduced(profile: DelayProfile) -> Vec<(f64, f64)> {
    let all = normalized(profile);
    let count = all.len();
    // the least loss when the first `end` taps become `groups` taps, and where the last of these begins
    let mut best = vec![vec![(f64::INFINITY, 0); count + 1]; MAX_TAPS + 1];
    best[0][0].0 = 0.0;
    for groups in 1..=MAX_TAPS {
        for end in 1..=count {
            let from = (0..end).map(|begin| (best[groups - 1][begin].0 + Group::of(&all[begin..end]).spread(), begin));
            best[groups][end] = from.min_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or((f64::INFINITY, 0));
        }
    }
    let mut merged = Vec::with_capacity(MAX_TAPS);
    let mut end = count;
    for groups in (1..=MAX_TAPS).rev() {
        let begin = best[groups][end].1;
        let group = Group::of(&all[begin..end]);
        merged.push((group.delay(), group.power));
        end = begin;
    }
    merged.reverse();
    let scale = 1.0 / Group::of(&merged).spread().sqrt();
    merged.iter_mut().for_each(|(delay, _)| *delay *= scale);
    merged
}

/// The effect of a delay line on a carrier: the amplitudes of its taps, and their phases at each frequency.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Response {
    pub taps: usize,
    pub points: usize,
    pub amplitudes: [f32; MAX_TAPS],
    /// Cosine and sine of the phase of each tap at each frequency.
    pub cos: [[f32; MAX_POINTS]; MAX_TAPS],
    pub sin: [[f32; MAX_POINTS]; MAX_TAPS],
}

impl Response {
    /// The response of a carrier with `prbs` PRBs, which are reported in subbands of `subband_prbs`, or not if that is 0.
    pub fn new(multipath: &Multipath, prbs: u16, subcarrier_hz: u32, subband_prbs: u16) -> Self {
        let mut response = Response {
            taps: 1,
            points: 1,
            amplitudes: [1.0; MAX_TAPS],
            cos: [[1.0; MAX_POINTS]; MAX_TAPS],
            sin: [[0.0; MAX_POINTS]; MAX_TAPS],
        };
        let (profile, delay_spread_s) = match multipath {
            Multipath::None => return Response { taps: 0, ..response },
            Multipath::Flat => return response,
            Multipath::DelayLine { profile, delay_spread_ns } => (*profile, delay_spread_ns * 1e-9),
        };
        let subband = if subband_prbs == 0 { NARROW_SUBBAND_PRBS } else { subband_prbs };
        let subbands = usize::from(prbs.div_ceil(subband)).min(MAX_SUBBANDS);
        (response.taps, response.points) = (MAX_TAPS, subbands * SUBBAND_POINTS);
        let point_hz = 12.0 * f64::from(subcarrier_hz) * f64::from(subband) / SUBBAND_POINTS as f64;
        for (tap, (delay, power)) in reduced(profile).into_iter().enumerate() {
            response.amplitudes[tap] = power.sqrt() as f32;
            for point in 0..response.points {
                let (sin, cos) = (TAU * delay * delay_spread_s * point_hz * (point as f64 + 0.5)).sin_cos();
                (response.cos[tap][point], response.sin[tap][point]) = (cos as f32, sin as f32);
            }
        }
        response
    }

    /// The frequencies of a subband; of a channel that is flat its only one.
    pub fn points_of(&self, subband: usize) -> std::ops::Range<usize> {
        match self.points {
            1 => 0..1,
            points => (subband * SUBBAND_POINTS).min(points - 1)..((subband + 1) * SUBBAND_POINTS).min(points),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROFILES: [DelayProfile; 3] = [DelayProfile::A, DelayProfile::B, DelayProfile::C];

    /// The tables are normalized to an rms delay spread of 1.
    #[test]
    fn published_profiles_have_unit_delay_spread() {
        for profile in PROFILES {
            let spread = Group::of(&normalized(profile)).spread().sqrt();
            assert!((spread - 1.0).abs() < 0.01, "{profile:?}: {spread}");
        }
    }

    #[test]
    fn reduced_profiles_keep_power_and_delay_spread() {
        for profile in PROFILES {
            let taps = reduced(profile);
            let whole = Group::of(&taps);
            assert_eq!(taps.len(), MAX_TAPS);
            assert!((whole.power - 1.0).abs() < 1e-9 && (whole.spread() - 1.0).abs() < 1e-9, "{profile:?}");
            assert!(taps.is_sorted_by(|a, b| a.0 < b.0), "{taps:?}");
            // the correlation over frequency is that of the published profile where it matters, above one half
            let correlation = |taps: &[(f64, f64)], turns: f64| {
                let [cos, sin] = [f64::cos, f64::sin]
                    .map(|of| taps.iter().map(|(delay, power)| power * of(TAU * delay * turns)).sum::<f64>());
                cos.hypot(sin)
            };
            for turns in [0.02, 0.05, 0.1, 0.15, 0.2] {
                let [published, here] = [normalized(profile), taps.clone()].map(|taps| correlation(&taps, turns));
                assert!((published - here).abs() < 0.05, "{profile:?} {turns}: {published} and {here}");
            }
        }
    }

    #[test]
    fn wide_carriers_have_two_points_in_each_subband() {
        let multipath = Multipath::DelayLine { profile: DelayProfile::A, delay_spread_ns: 100.0 };
        let points = |prbs, subband_prbs| Response::new(&multipath, prbs, 30_000, subband_prbs).points;
        assert_eq!((points(106, 8), points(273, 16), points(51, 4), points(11, 0)), (28, 36, 26, 6));
        let response = Response::new(&multipath, 106, 30_000, 8);
        assert_eq!((response.points_of(0), response.points_of(13)), (0..2, 26..28));
        let flat = Response::new(&Multipath::Flat, 106, 30_000, 8);
        assert_eq!((flat.taps, flat.points_of(13)), (1, 0..1));
        let wrong = Multipath::DelayLine { profile: DelayProfile::B, delay_spread_ns: 0.0 };
        assert_eq!(wrong.check().unwrap_err().to_string(), "delay_spread_ns is 0: must be 1 to 5000");
    }
}
