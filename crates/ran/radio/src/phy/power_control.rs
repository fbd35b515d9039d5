//! Uplink power control (TS 38.213 7.1.1) and power headroom (7.7.1), open loop.

use super::decibel::linear;
use super::site::{GeometryError, within};

/// The values of alpha (TS 38.331, information element Alpha).
const ALPHAS: [f64; 8] = [0.0, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0];

/// The open-loop power control of a cell.
///
/// A UE transmits min(P_CMAX, P0 + 10 log10(2^µ M) + alpha PL) dBm on M PRBs, PL being its path loss to the serving cell. Terms for
/// the transport format and the closed loop are 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PowerControl {
    /// The nominal power of a PRB of 15 kHz subcarriers, P0: -202 to 24. Default: -80.
    pub p0_dbm: f64,
    /// The compensated part of the path loss: 0, 0.4, 0.5, ... 1. Default: 0.8.
    pub alpha: f64,
}

impl Default for PowerControl {
    /// Fractional compensation of 0.8 keeps nearly the throughput of the cell edge and lowers the interference to other cells,
    /// compared with full compensation (Castellanos et al., VTC 2008). With it, -80 dBm gives about 20 dB of SNR at a path loss of
    /// 100 dB, which is what the highest MCS of 64QAM needs, and 13 dB at 130 dB, as far as the power suffices.
    fn default() -> Self {
        PowerControl { p0_dbm: -80.0, alpha: 0.8 }
    }
}

impl PowerControl {
    /// Validates both values.
    ///
    /// # Errors
    /// A value out of range.
    pub fn check(&self) -> Result<(), GeometryError> {
        within("p0_dbm", self.p0_dbm, -202.0, 24.0, "-202 to 24")?;
        match ALPHAS.contains(&self.alpha) {
            true => Ok(()),
            false => Err(GeometryError::Value {
                field: "alpha",
                value: self.alpha,
                allowed: "0, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9 or 1",
            }),
        }
    }

    /// The power in dBm that a UE would use for one PRB if its power were not limited.
    pub(super) fn prb_dbm(&self, subcarrier_hz: u32, loss_db: f64) -> f64 {
        self.p0_dbm + 10.0 * (f64::from(subcarrier_hz) / 15e3).log10() + self.alpha * loss_db
    }
}

/// The uplink power of a UE.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct UplinkPower {
    /// The power for one PRB, by power control.
    prb_mw: f64,
    /// The largest power, P_CMAX.
    most_mw: f64,
}

impl UplinkPower {
    pub fn new(prb_dbm: f64, most_dbm: f64) -> Self {
        UplinkPower { prb_mw: linear(prb_dbm), most_mw: linear(most_dbm) }
    }

    /// The power on `prbs` PRBs, in mW.
    pub fn on(&self, prbs: u16) -> f64 {
        (self.prb_mw * f64::from(prbs)).min(self.most_mw)
    }

    /// The number of PRBs for which the power suffices: the power headroom on M PRBs is 10 log10 of this over M.
    pub fn full_power_prbs(&self) -> f64 {
        self.most_mw / self.prb_mw
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn power_follows_path_loss_and_bandwidth_up_to_its_limit() {
        let power = |loss_db: f64, prbs: u16| {
            let prb_dbm = PowerControl::default().prb_dbm(30_000, loss_db);
            10.0 * UplinkPower::new(prb_dbm, 23.0).on(prbs).log10()
        };
        // -80 + 10 log10(2) + 0.8 x 100
        assert!((power(100.0, 1) - 3.0103).abs() < 1e-3, "{}", power(100.0, 1));
        assert!((power(100.0, 10) - 13.0103).abs() < 1e-3);
        assert!((power(110.0, 1) - power(100.0, 1) - 8.0).abs() < 1e-9, "a part of the loss is compensated");
        assert!((power(100.0, 104) - 23.0).abs() < 0.2 && (power(140.0, 1) - 23.0).abs() < 1e-9);
        let full = PowerControl { p0_dbm: -100.0, alpha: 1.0 };
        assert_eq!(full.prb_dbm(15_000, 100.0), 0.0);
    }

    #[test]
    fn headroom_is_zero_where_power_just_suffices() {
        let power = UplinkPower::new(13.0, 23.0);
        assert!((power.full_power_prbs() - 10.0).abs() < 1e-9);
        assert!(power.on(9) < power.on(10) && power.on(11) == power.on(100));
    }

    #[test]
    fn invalid_power_control_is_rejected() {
        assert_eq!(PowerControl::default().check(), Ok(()));
        for (p0_dbm, alpha, expected) in [
            (-203.0, 0.8, "p0_dbm is -203: must be -202 to 24"),
            (f64::NAN, 0.8, "p0_dbm is NaN: must be -202 to 24"),
            (-80.0, 0.85, "alpha is 0.85: must be 0, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9 or 1"),
            (-80.0, f64::NAN, "alpha is NaN: must be 0, 0.4"),
        ] {
            let error = PowerControl { p0_dbm, alpha }.check().unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
