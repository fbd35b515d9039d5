//! Signal processing with a measured cost: the work of the real-time threads.
//!
//! The kernels are those that dominate an LTE base station: the FFT of OFDM symbols, and the trellis of a turbo decoder. Their
//! cost is measured when the unit starts, so that a subframe takes the same time on a fast host as on a slow one.

use std::f32::consts::PI;
use std::time::{Duration, Instant};

/// Subcarriers of the FFT of a 5 MHz LTE carrier (TS 36.104 annex E.5).
const FFT_POINTS: usize = 512;
/// Trellis steps of one run of the decoder, and states of the trellis (TS 36.212 5.1.3.2.1).
const STEPS: usize = 64;
const STATES: usize = 8;
/// How long a kernel is measured.
const CALIBRATION: Duration = Duration::from_millis(20);

/// A piece of signal processing that is repeated.
pub trait Kernel: Send {
    /// Runs it once.
    fn run(&mut self);
}

/// The FFT of one OFDM symbol: radix 2, decimation in time.
#[derive(Debug)]
pub struct Fft {
    samples: Vec<(f32, f32)>,
    factors: Vec<(f32, f32)>,
}

impl Default for Fft {
    fn default() -> Self {
        let angle = |index: usize| -2.0 * PI * index as f32 / FFT_POINTS as f32;
        Fft {
            samples: (0..FFT_POINTS).map(|index| (if index == 1 { 1.0 } else { 0.0 }, 0.0)).collect(),
            factors: (0..FFT_POINTS / 2).map(|index| (angle(index).cos(), angle(index).sin())).collect(),
        }
    }
}

impl Kernel for Fft {
    fn run(&mut self) {
        let bits = FFT_POINTS.trailing_zeros();
        for index in 0..FFT_POINTS {
            let reversed = index.reverse_bits() >> (usize::BITS - bits);
            if index < reversed {
                self.samples.swap(index, reversed);
            }
        }
        let mut half = 1;
        while half < FFT_POINTS {
            let stride = FFT_POINTS / (2 * half);
            for block in self.samples.chunks_exact_mut(2 * half) {
                let (low, high) = block.split_at_mut(half);
                for (index, (a, b)) in low.iter_mut().zip(high).enumerate() {
                    let (re, im) = self.factors[index * stride];
                    let turned = (b.0 * re - b.1 * im, b.0 * im + b.1 * re);
                    (*a, *b) = ((a.0 + turned.0, a.1 + turned.1), (a.0 - turned.0, a.1 - turned.1));
                }
            }
            half *= 2;
        }
        // the power stays the same however often it runs
        let scale = (FFT_POINTS as f32).sqrt().recip();
        self.samples.iter_mut().for_each(|sample| *sample = (sample.0 * scale, sample.1 * scale));
    }
}

/// The forward and backward recursions of a max-log-MAP decoder over the trellis of LTE's turbo code.
#[derive(Debug)]
pub struct Decoder {
    /// Soft bits: systematic and parity.
    soft: Vec<(f32, f32)>,
    forward: Vec<[f32; STATES]>,
    decided: Vec<f32>,
}

impl Default for Decoder {
    fn default() -> Self {
        let sign = |index: usize, by: usize| if (index * by).is_multiple_of(3) { 1.0 } else { -1.0 };
        Decoder {
            soft: (0..STEPS).map(|step| (sign(step, 1), sign(step, 2))).collect(),
            forward: vec![[0.0; STATES]; STEPS + 1],
            decided: vec![0.0; STEPS],
        }
    }
}

/// The next state and the parity bit of the constituent code: feedback 1 + D^2 + D^3, parity 1 + D + D^3.
fn transition(state: usize, bit: usize) -> (usize, usize) {
    let (d1, d2, d3) = (state & 1, state >> 1 & 1, state >> 2 & 1);
    let feedback = bit ^ d2 ^ d3;
    (feedback | d1 << 1 | d2 << 2, feedback ^ d1 ^ d3)
}

fn metric((systematic, parity): (f32, f32), bit: usize, parity_bit: usize) -> f32 {
    let sign = |bit: usize| if bit == 0 { 0.5 } else { -0.5 };
    systematic * sign(bit) + parity * sign(parity_bit)
}

impl Kernel for Decoder {
    fn run(&mut self) {
        self.forward[0] = [-1e3; STATES];
        self.forward[0][0] = 0.0;
        for step in 0..STEPS {
            let mut next = [f32::MIN; STATES];
            for state in 0..STATES {
                for bit in 0..2 {
                    let (to, parity) = transition(state, bit);
                    let value = self.forward[step][state] + metric(self.soft[step], bit, parity);
                    next[to] = next[to].max(value);
                }
            }
            self.forward[step + 1] = next;
        }
        let mut backward = [0.0_f32; STATES];
        for step in (0..STEPS).rev() {
            let (mut best, mut before) = ([f32::MIN; 2], [f32::MIN; STATES]);
            for (state, before) in before.iter_mut().enumerate() {
                for (bit, best) in best.iter_mut().enumerate() {
                    let (to, parity) = transition(state, bit);
                    let value = backward[to] + metric(self.soft[step], bit, parity);
                    *before = before.max(value);
                    *best = best.max(self.forward[step][state] + value);
                }
            }
            backward = before;
            self.decided[step] = best[0] - best[1];
        }
        std::hint::black_box(&self.decided);
    }
}

/// A kernel with its cost.
pub struct Work {
    kernel: Box<dyn Kernel>,
    /// What one run takes when nothing disturbs it, in ns.
    unit_ns: f64,
    /// Time that is due and too short for a run.
    due_ns: f64,
}

impl Work {
    /// A kernel that takes `unit_ns`: [`Work::calibrate`] measures that.
    pub fn new(kernel: Box<dyn Kernel>, unit_ns: f64) -> Self {
        Work { kernel, unit_ns, due_ns: 0.0 }
    }

    /// The time of one run of a kernel, in ns: the lowest of many.
    pub fn calibrate(kernel: &mut dyn Kernel) -> f64 {
        let begun = Instant::now();
        let mut least = f64::MAX;
        while begun.elapsed() < CALIBRATION {
            let run = Instant::now();
            (0..4).for_each(|_| kernel.run());
            least = least.min(run.elapsed().as_nanos() as f64 / 4.0);
        }
        least.max(1.0)
    }

    /// Works for as long as a run of this many ns takes; the rest is due in the next call.
    pub fn spend(&mut self, ns: f64) {
        self.due_ns += ns;
        while self.due_ns >= self.unit_ns {
            self.due_ns -= self.unit_ns;
            self.kernel.run();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fft_of_a_delayed_impulse_is_a_rotation() {
        let mut fft = Fft::default();
        fft.run();
        let scale = (FFT_POINTS as f32).sqrt();
        for (index, (re, im)) in fft.samples.iter().enumerate() {
            let angle = -2.0 * PI * index as f32 / FFT_POINTS as f32;
            assert!((re * scale - angle.cos()).abs() < 1e-3 && (im * scale - angle.sin()).abs() < 1e-3, "{index}");
        }
    }

    #[test]
    fn decoder_finds_the_encoded_bits() {
        let bits: Vec<usize> = (0..STEPS).map(|step| (step * step / 3) & 1).collect();
        let (mut decoder, mut state) = (Decoder::default(), 0);
        for (step, bit) in bits.iter().enumerate() {
            let (to, parity) = transition(state, *bit);
            let sign = |bit: usize| if bit == 0 { 1.0 } else { -1.0 };
            // one systematic bit in eight is received wrongly
            let systematic = if step % 8 == 5 { -0.3 * sign(*bit) } else { sign(*bit) };
            decoder.soft[step] = (systematic, sign(parity));
            state = to;
        }
        decoder.run();
        let decided: Vec<usize> = decoder.decided.iter().map(|soft| usize::from(*soft < 0.0)).collect();
        assert_eq!(decided, bits);
    }

    #[test]
    fn work_of_fractions_adds_up() {
        struct Counter(std::sync::Arc<std::sync::atomic::AtomicU32>);
        impl Kernel for Counter {
            fn run(&mut self) {
                self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            }
        }
        let runs = std::sync::Arc::default();
        let mut work = Work::new(Box::new(Counter(std::sync::Arc::clone(&runs))), 1000.0);
        (0..10).for_each(|_| work.spend(250.0));
        assert_eq!(runs.load(std::sync::atomic::Ordering::Relaxed), 2);
    }
}
