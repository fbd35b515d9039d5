//! Sounding reference signals as a base station receives them, made from the state of the channel model.
//!
//! One receive antenna, one symbol, comb 2, the whole carrier, no frequency hopping. The amplitude of a subband follows its SINR; the
//! model has no phases, so that all subcarriers have one. The noise is the unit of the samples, and is not added.

use std::f64::consts::PI;

use radio::{Cell, Ue};
use ran_functions::llc::SrsSymbol;

/// Subcarriers of a resource block.
const SUBCARRIERS: usize = 12;
/// Every second subcarrier has a reference signal.
const COMB: usize = 2;
/// The amplitude of the noise in the samples: 16 bits then reach 54 dB above it.
const UNIT: f64 = 64.0;
/// The most resource blocks of a section; a section with all of the carrier's states 0.
const MAX_SECTION_BLOCKS: usize = 255;
/// udCompHdr without compression: samples of 16 bits, which is stated as 0.
const UNCOMPRESSED: u8 = 0;

/// The largest prime below a number, which is at least 3.
fn prime_below(number: usize) -> usize {
    let is_prime =
        |n: &usize| (2..).take_while(|divisor| divisor * divisor <= *n).all(|divisor| !n.is_multiple_of(divisor));
    (2..number).rev().find(is_prime).unwrap_or(2)
}

/// The base sequence of group 0 (TS 38.211 5.2.2.1), of at least 36 elements; shorter ones would take tables.
fn base_sequence(length: usize) -> impl Iterator<Item = (f64, f64)> {
    let prime = prime_below(length);
    let root = (prime as f64 / 31.0 + 0.5).floor();
    (0..length).map(move |n| {
        let m = (n % prime) as f64;
        let phase = -PI * root * m * (m + 1.0) / prime as f64;
        (phase.cos(), phase.sin())
    })
}

/// The SINR of each resource block in dB: that of the uplink, with the differences of the subbands that the model knows.
fn sinrs_db(ue: &Ue, blocks: usize) -> Vec<f64> {
    let mean_db = ue.uplink().sinr_db();
    let subbands: Vec<f64> = ue.channel().geometry().map(|it| it.subband_sinrs_db().collect()).unwrap_or_default();
    if subbands.is_empty() {
        return vec![mean_db; blocks];
    }
    let wideband_db = ue.channel().sinr_db();
    let of_block = |block: usize| subbands[block * subbands.len() / blocks.max(1)] - wideband_db + mean_db;
    (0..blocks).map(of_block).collect()
}

/// The received symbol, as a section of the fronthaul's uplink data (WG4 CUS 8.3.2).
pub(super) fn symbol(cell: &Cell, ue: &Ue) -> SrsSymbol {
    let blocks = usize::from(cell.grid().prbs());
    let sinrs_db = sinrs_db(ue, blocks);
    let mut section = Vec::with_capacity(5 + blocks * SUBCARRIERS * 4);
    // section id 0 in 12 bits, every resource block, no change of the symbol, the first block in 10 bits
    section.extend([0, 0, 0]);
    section.push(if blocks > MAX_SECTION_BLOCKS { 0 } else { blocks as u8 });
    let mut sequence = base_sequence(blocks * SUBCARRIERS / COMB);
    for subcarrier in 0..blocks * SUBCARRIERS {
        let (i, q) = match subcarrier % COMB {
            0 => sequence.next().unwrap_or_default(),
            _ => (0.0, 0.0),
        };
        let amplitude = UNIT * 10_f64.powf(sinrs_db[subcarrier / SUBCARRIERS].max(-200.0) / 20.0);
        for part in [i, q] {
            // a conversion from f64 saturates
            section.extend(((part * amplitude).round() as i16).to_be_bytes());
        }
    }
    SrsSymbol { compression_header: UNCOMPRESSED, section }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_sequence_has_constant_amplitude_and_no_correlation() {
        let length = 106 * SUBCARRIERS / COMB;
        assert_eq!(prime_below(length), 631);
        let sequence: Vec<_> = base_sequence(length).collect();
        assert!(sequence.iter().all(|(i, q)| (i * i + q * q - 1.0).abs() < 1e-9));
        // a Zadoff-Chu sequence is orthogonal to its cyclic shifts
        for shift in [1, 7, 300] {
            let sum = (0..631).fold((0.0, 0.0), |(re, im), n| {
                let ((a, b), (c, d)) = (sequence[n], sequence[(n + shift) % 631]);
                (re + a * c + b * d, im + b * c - a * d)
            });
            assert!(sum.0.hypot(sum.1) < 1e-6 * 631.0, "shift {shift}: {sum:?}");
        }
    }
}
