//! Measured quantities in the values of their reports.
//!
//! Those of NR are in `ap::nr_rrc`, which reads them from messages.

/// The reported value of an RSRP of E-UTRA, 0 to 97 (TS 36.133 9.1.4).
pub(super) fn eutra_rsrp(dbm: f64) -> u8 {
    (dbm.floor() + 141.0).clamp(0.0, 97.0) as u8
}

/// The reported value of an RSRQ of E-UTRA, 0 to 34 (TS 36.133 9.1.7).
pub(super) fn eutra_rsrq(db: f64) -> u8 {
    ((db + 20.0) * 2.0).floor().clamp(0.0, 34.0) as u8
}

/// The reported value of an RS-SINR of E-UTRA, 0 to 127 (TS 36.133 9.1.17).
pub(super) fn eutra_sinr(db: f64) -> u8 {
    ((db + 23.5) * 2.0).floor().clamp(0.0, 127.0) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_the_ranges_of_eutra() {
        assert_eq!([-140.5, -140.0, -90.3, -44.0, 0.0].map(eutra_rsrp), [0, 1, 50, 97, 97]);
        assert_eq!([-19.6, -19.5, -10.8, -3.0].map(eutra_rsrq), [0, 1, 18, 34]);
        assert_eq!([-23.1, -23.0, 7.5, 40.1].map(eutra_sinr), [0, 1, 62, 127]);
    }
}
