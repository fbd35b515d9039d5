//! Spatial multiplexing: the SINR of each layer, and the rank that carries most.

use super::{Adaptation, Cqi};

/// The most layers of a carrier.
pub(super) const MAX_LAYERS: usize = 4;

/// What the SINR of each layer is below that of a single one, in dB, when `layers` are sent to a receiver with `antennas`.
///
/// The layers share the power, and a receiver that separates them (zero forcing) keeps the diversity of `antennas - layers + 1`
/// antennas of `antennas`: with independent Rayleigh fading its SNR has a chi-square distribution with 2 (antennas - layers + 1)
/// degrees of freedom (Winters, Salz and Gitlin, 1994). A single layer has the gain of all antennas. So the mean SINR of a layer is
/// (antennas - layers + 1) / (layers antennas) of it.
pub(super) fn layer_loss_db(layers: u8, antennas: u8) -> f64 {
    LOSS_DB[usize::from(antennas.clamp(1, 4)) - 1][usize::from(layers.clamp(1, antennas.clamp(1, 4))) - 1]
}

/// 10 log10(layers antennas / (antennas - layers + 1)), by antennas and layers from 1 on.
const LOSS_DB: [[f64; MAX_LAYERS]; MAX_LAYERS] = [
    [0.0, 0.0, 0.0, 0.0],
    [0.0, 6.020_599_913_279_624, 0.0, 0.0],
    [0.0, 4.771_212_547_196_624, 9.542_425_094_393_248, 0.0],
    [0.0, 4.259_687_322_722_811, 7.781_512_503_836_437, 12.041_199_826_559_248],
];

/// The SINRs of a single layer in dB from which on each rank above 1 has the largest capacity, in ascending order; infinite for
/// ranks above `antennas`.
///
/// The capacity is that of Shannon, of each layer up to `most_db`, the SINR of the highest CQI: more is of no use. It never pays to
/// lower the rank at a higher SINR.
pub(super) fn rank_thresholds_db(antennas: u8, most_db: f64) -> [f64; MAX_LAYERS - 1] {
    let capacity = |layers: u8, sinr_db: f64| {
        let layer_db = (sinr_db - layer_loss_db(layers, antennas)).min(most_db);
        f64::from(layers) * (1.0 + 10.0_f64.powf(layer_db / 10.0)).log2()
    };
    let best_at = |sinr_db: f64| {
        let better =
            |best: u8, layers: u8| if capacity(layers, sinr_db) > capacity(best, sinr_db) { layers } else { best };
        (1..=antennas).reduce(better).unwrap_or(1)
    };
    std::array::from_fn(|at| {
        let rank = at as u8 + 2;
        if rank > antennas {
            return f64::INFINITY;
        }
        // one half of the interval after the other; all layers have the highest CQI at its end
        let (mut below, mut above) = (-50.0, most_db + layer_loss_db(antennas, antennas) + 1.0);
        for _ in 0..50 {
            let middle = (below + above) / 2.0;
            if best_at(middle) >= rank { above = middle } else { below = middle }
        }
        above
    })
}

/// The rank at the SINR of a single layer, at most `most`, with the CQI of its layers (RI and CQI of TS 38.214 5.2.2.2).
pub(super) fn best_rank(adaptation: &Adaptation, sinr_db: f64, most: u8) -> (u8, Cqi) {
    let rank = 1 + adaptation.rank_thresholds_db().partition_point(|threshold| *threshold <= sinr_db) as u8;
    let rank = rank.min(most.max(1));
    (rank, adaptation.cqi(sinr_db - layer_loss_db(rank, adaptation.layers())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phy::{Carrier, Direction, McsTable};

    #[test]
    fn losses_match_formula() {
        for antennas in 1..=4u8 {
            for layers in 1..=antennas {
                let kept = f64::from(antennas - layers + 1) / f64::from(layers) / f64::from(antennas);
                let loss_db = layer_loss_db(layers, antennas);
                assert!((loss_db + 10.0 * kept.log10()).abs() < 1e-9, "{layers} of {antennas}: {loss_db}");
            }
        }
    }

    /// The mean of the SINR of a zero-forcing receiver over random channels, from the inverse of the channel's Gram matrix.
    #[test]
    fn losses_match_random_channels() {
        use crate::Random;
        let mut random = Random::new(1, 0);
        for (antennas, layers) in [(2, 1), (4, 1), (4, 2), (3, 2)] {
            let (mut sum, draws) = (0.0, 40_000);
            for _ in 0..draws {
                let wave = |random: &mut Random| [random.normal(), random.normal()].map(|part| part * 0.5_f64.sqrt());
                let column = |random: &mut Random| (0..antennas).map(|_| wave(random)).collect::<Vec<_>>();
                let (own, other) = (column(&mut random), column(&mut random));
                let norm = |column: &[[f64; 2]]| column.iter().flatten().map(|part| part * part).sum::<f64>();
                // the power outside the direction of the other layer
                let inner = own
                    .iter()
                    .zip(&other)
                    .fold([0.0, 0.0], |[re, im], ([a, b], [c, d])| [re + a * c + b * d, im + b * c - a * d]);
                let lost = if layers == 2 { norm(&[inner]) / norm(&other) } else { 0.0 };
                sum += (norm(&own) - lost) / f64::from(layers) / antennas as f64;
            }
            let expected = -layer_loss_db(layers as u8, antennas as u8);
            let found = 10.0 * (sum / f64::from(draws)).log10();
            assert!((found - expected).abs() < 0.1, "{layers} of {antennas}: {found} and not {expected}");
        }
    }

    #[test]
    fn rank_rises_with_sinr() {
        for (downlink_layers, downlink_mcs) in [(1, McsTable::Qam64), (2, McsTable::Qam64), (4, McsTable::Qam256)] {
            let carrier = Carrier { downlink_layers, downlink_mcs, ..Carrier::default() };
            let adaptation = Adaptation::new(&carrier.check().unwrap(), Direction::Downlink);
            let ranks: Vec<u8> = (-100..450).map(|step| best_rank(&adaptation, f64::from(step) / 10.0, 4).0).collect();
            assert!(ranks.is_sorted(), "{downlink_layers}: {ranks:?}");
            if downlink_layers == 2 {
                // 2 log2(1 + x/4) = log2(1 + x) at x = 8, which is 9.03 dB
                assert_eq!((ranks[190], ranks[191]), (1, 2));
            }
            assert_eq!((ranks[0], ranks[50], ranks[549]), (1, 1, downlink_layers), "a single layer up to -5 dB");
        }
    }
}
