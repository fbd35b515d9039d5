//! From SINR to CQI to what a resource block carries.

/// Bits a resource element at CQI 0 (out of range) to 15, up to 256QAM (TS 38.214 table 5.2.2.1-3).
const EFFICIENCY: [f64; 16] = [
    0.0, 0.1523, 0.3770, 0.8770, 1.4766, 1.9141, 2.4063, 2.7305, 3.3223, 3.9023, 4.5234, 5.1152, 5.5547, 6.2266,
    6.9141, 7.4063,
];

/// The SINR in dB that CQI 1 to 15 need, by Shannon's bound attenuated to three quarters.
const THRESHOLD_DB: [f64; 15] =
    [-8.21, -3.80, 0.97, 4.65, 6.87, 9.16, 10.60, 13.13, 15.54, 18.09, 20.49, 22.27, 24.98, 27.74, 29.72];

/// Resource elements of a resource block in a slot: 12 subcarriers, 14 symbols.
const RESOURCE_ELEMENTS: f64 = 12.0 * 14.0;
/// The share of them that control channels and reference signals leave to data.
const DATA_SHARE: f64 = 0.86;

/// The highest CQI that a SINR allows.
pub fn cqi(sinr_db: f64) -> u8 {
    THRESHOLD_DB.partition_point(|threshold| *threshold <= sinr_db) as u8
}

/// Bits that one resource block carries in a slot and layer.
pub fn bits_per_block(cqi: u8) -> f64 {
    EFFICIENCY[usize::from(cqi)] * RESOURCE_ELEMENTS * DATA_SHARE
}

/// The probability that a transport block, sent as `cqi` allows, is not understood at `sinr_db`: one in ten where the
/// SINR is just what the CQI needs, ten times more or fewer a dB and a half below or above.
pub fn block_error_rate(cqi: u8, sinr_db: f64) -> f64 {
    let Some(at) = usize::from(cqi).checked_sub(1) else { return 1.0 };
    let margin_db = sinr_db - THRESHOLD_DB[at];
    (0.1 * (-margin_db * (core::f64::consts::LN_10 / 1.5)).exp()).clamp(1e-4, 0.9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_follow_the_formula() {
        for (threshold, efficiency) in THRESHOLD_DB.iter().zip(&EFFICIENCY[1..]) {
            let sinr = (efficiency / 0.75).exp2() - 1.0;
            assert!((10.0 * sinr.log10() - threshold).abs() < 0.01, "{efficiency}");
        }
    }

    #[test]
    fn better_channels_carry_more() {
        assert_eq!((cqi(-20.0), cqi(-8.21), cqi(40.0)), (0, 1, 15));
        for cqi in 1..=15 {
            assert!(bits_per_block(cqi) > bits_per_block(cqi - 1));
        }
        assert!((block_error_rate(7, 10.60) - 0.1).abs() < 1e-9);
        assert!(block_error_rate(7, 12.0) < 0.02 && block_error_rate(7, 8.0) > 0.8);
    }
}
