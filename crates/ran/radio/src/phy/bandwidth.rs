//! The number of PRBs of each channel bandwidth.

use super::carrier::{CarrierError, Rat};

/// LTE's bandwidths in MHz and their PRBs (TS 36.104 table 5.6-1).
const LTE: [(f64, u16); 6] = [(1.4, 6), (3.0, 15), (5.0, 25), (10.0, 50), (15.0, 75), (20.0, 100)];

/// NR's bandwidths in MHz below 7.125 GHz and their PRBs with subcarriers of 15, 30 and 60 kHz; 0: no such carrier
/// (TS 38.101-1 table 5.3.2-1).
const NR: [(f64, [u16; 3]); 15] = [
    (5.0, [25, 11, 0]),
    (10.0, [52, 24, 11]),
    (15.0, [79, 38, 18]),
    (20.0, [106, 51, 24]),
    (25.0, [133, 65, 31]),
    (30.0, [160, 78, 38]),
    (35.0, [188, 92, 44]),
    (40.0, [216, 106, 51]),
    (45.0, [242, 119, 58]),
    (50.0, [270, 133, 65]),
    (60.0, [0, 162, 79]),
    (70.0, [0, 189, 93]),
    (80.0, [0, 217, 107]),
    (90.0, [0, 245, 121]),
    (100.0, [0, 273, 135]),
];

/// The PRBs of a carrier. The numerology is a valid one of the RAT.
pub(super) fn prbs(rat: Rat, numerology: u8, bandwidth_mhz: f64) -> Result<u16, CarrierError> {
    let prbs = match rat {
        Rat::Lte => LTE.iter().find(|(mhz, _)| *mhz == bandwidth_mhz).map(|(_, prbs)| *prbs),
        Rat::Nr => {
            let row = NR.iter().find(|(mhz, _)| *mhz == bandwidth_mhz);
            row.map(|(_, prbs)| prbs[usize::from(numerology)]).filter(|prbs| *prbs != 0)
        }
    };
    let allowed = match (rat, numerology) {
        (Rat::Lte, _) => "1.4, 3, 5, 10, 15 or 20 with LTE",
        (Rat::Nr, 0) => "5, 10, ... 50 with NR and subcarriers of 15 kHz",
        (Rat::Nr, 1) => "5, 10, ... 50, 60, ... 100 with NR and subcarriers of 30 kHz",
        (Rat::Nr, _) => "10, 15, ... 50, 60, ... 100 with NR and subcarriers of 60 kHz",
    };
    prbs.ok_or(CarrierError::Value { field: "bandwidth_mhz", value: bandwidth_mhz, allowed })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_values() {
        assert_eq!(prbs(Rat::Lte, 0, 1.4), Ok(6));
        assert_eq!(prbs(Rat::Lte, 0, 20.0), Ok(100));
        assert_eq!(prbs(Rat::Nr, 1, 40.0), Ok(106));
        assert_eq!(prbs(Rat::Nr, 0, 20.0), Ok(106));
        assert_eq!(prbs(Rat::Nr, 1, 100.0), Ok(273));
        assert_eq!(prbs(Rat::Nr, 2, 100.0), Ok(135));
    }

    #[test]
    fn prbs_fit_into_bandwidth() {
        for (numerology, khz) in [(0, 15.0), (1, 30.0), (2, 60.0)] {
            for (mhz, _) in NR {
                let Ok(prbs) = prbs(Rat::Nr, numerology, mhz) else { continue };
                let used = f64::from(prbs) * 12.0 * khz / 1000.0 / mhz;
                assert!((0.78..0.99).contains(&used), "{mhz} MHz, {khz} kHz: {used}");
            }
        }
    }

    #[test]
    fn unknown_bandwidths_are_rejected() {
        for (rat, numerology, mhz) in
            [(Rat::Lte, 0, 40.0), (Rat::Lte, 0, f64::NAN), (Rat::Nr, 0, 60.0), (Rat::Nr, 2, 5.0), (Rat::Nr, 1, 41.0)]
        {
            assert!(matches!(prbs(rat, numerology, mhz), Err(CarrierError::Value { field: "bandwidth_mhz", .. })));
        }
        let error = prbs(Rat::Nr, 0, 100.0).unwrap_err().to_string();
        assert_eq!(error, "bandwidth_mhz is 100: must be 5, 10, ... 50 with NR and subcarriers of 15 kHz");
    }
}
