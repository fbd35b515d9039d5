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

/// The rank with the largest capacity at the SINR of a single layer, with the CQI of its layers (RI and CQI of TS 38.214 5.2.2.2).
/// The capacity is that of Shannon, of each layer up to the SINR of CQI 15: more is of no use. Of equal ranks, the lowest.
pub(super) fn best_rank(adaptation: &Adaptation, sinr_db: f64) -> (u8, Cqi) {
    let antennas = adaptation.layers();
    if antennas == 1 {
        return (1, adaptation.cqi(sinr_db));
    }
    let most_db = adaptation.cqi_sinr_db(Cqi(15));
    let layer_sinr_db = |layers| sinr_db - layer_loss_db(layers, antennas);
    let capacity = |layers: u8| {
        let sinr = 10.0_f64.powf(layer_sinr_db(layers).min(most_db) / 10.0);
        f64::from(layers) * (1.0 + sinr).log2()
    };
    let (mut best, mut most) = (1, capacity(1));
    for layers in 2..=antennas {
        let bits = capacity(layers);
        if bits > most {
            (best, most) = (layers, bits);
        }
    }
    (best, adaptation.cqi(layer_sinr_db(best)))
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
            let ranks: Vec<u8> = (-100..450).map(|step| best_rank(&adaptation, f64::from(step) / 10.0).0).collect();
            assert!(ranks.is_sorted(), "{downlink_layers}: {ranks:?}");
            if downlink_layers == 2 {
                // 2 log2(1 + x/4) = log2(1 + x) at x = 8, which is 9.03 dB
                assert_eq!((ranks[190], ranks[191]), (1, 2));
            }
            assert_eq!((ranks[0], ranks[50], ranks[549]), (1, 1, downlink_layers), "a single layer up to -5 dB");
        }
    }
}
