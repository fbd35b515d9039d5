//! RRC of NR (TS 38.331): the measurement report on UL-DCCH, in unaligned PER.
//!
//! Encoding and decoding cover what a UE without carrier aggregation reports by SSB: RSRP, RSRQ and SINR of the serving cell and of
//! up to eight NR neighbours.
//!
//! ```
//! use ap::nr_rrc::{CellResult, MeasurementReport};
//!
//! let serving = CellResult { pci: Some(584), rsrp: Some(70), rsrq: Some(60), sinr: Some(80) };
//! let report = MeasurementReport { meas_id: 1, serving, neighbours: vec![CellResult { pci: Some(585), ..serving }] };
//! let octets = report.encode().expect("values in range");
//! assert_eq!(MeasurementReport::decode(&octets), Ok(report));
//! ```

use std::fmt;

/// The index of MeasurementReport among the messages of UL-DCCH.
pub const MEASUREMENT_REPORT: i64 = 0;
/// The most neighbours in a report (maxCellReport).
pub const MAX_CELLS: usize = 8;
/// The largest physical cell identity.
const MAX_PCI: u16 = 1007;

/// A MeasurementReport.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeasurementReport {
    /// The measurement identity, 1 to 64.
    pub meas_id: u8,
    /// The serving cell.
    pub serving: CellResult,
    /// Neighbours, at most [`MAX_CELLS`].
    pub neighbours: Vec<CellResult>,
}

/// The results of a cell, as reported: see [`rsrp_dbm`], [`rsrq_db`] and [`sinr_db`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CellResult {
    /// The physical cell identity, 0 to 1007.
    pub pci: Option<u16>,
    /// RSRP-Range, 0 to 127.
    pub rsrp: Option<u8>,
    /// RSRQ-Range, 0 to 127.
    pub rsrq: Option<u8>,
    /// SINR-Range, 0 to 127.
    pub sinr: Option<u8>,
}

/// Why a message cannot be encoded or decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RrcError {
    /// A value is out of range: misuse.
    OutOfRange(&'static str),
    /// The message ends too early.
    Truncated,
    /// It is another message, or has parts that are not supported.
    Unsupported(&'static str),
}

impl fmt::Display for RrcError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RrcError::OutOfRange(what) => write!(f, "{what} is out of range"),
            RrcError::Truncated => f.write_str("message is truncated"),
            RrcError::Unsupported(what) => write!(f, "{what} is not supported"),
        }
    }
}

impl std::error::Error for RrcError {}

/// The reported value of an RSRP (TS 38.133 10.1.6.1).
#[must_use]
pub fn rsrp_range(dbm: f64) -> u8 {
    (dbm.floor() + 157.0).clamp(0.0, 126.0) as u8
}

/// The lower bound of a reported RSRP in dBm.
#[must_use]
pub fn rsrp_dbm(range: u8) -> f64 {
    f64::from(range) - 157.0
}

/// The reported value of an RSRQ (TS 38.133 10.1.11.1).
#[must_use]
pub fn rsrq_range(db: f64) -> u8 {
    ((db + 43.5) * 2.0).floor().clamp(0.0, 127.0) as u8
}

/// The lower bound of a reported RSRQ in dB.
#[must_use]
pub fn rsrq_db(range: u8) -> f64 {
    f64::from(range) / 2.0 - 43.5
}

/// The reported value of a SINR (TS 38.133 10.1.16.1).
#[must_use]
pub fn sinr_range(db: f64) -> u8 {
    ((db + 23.5) * 2.0).floor().clamp(0.0, 127.0) as u8
}

/// The lower bound of a reported SINR in dB.
#[must_use]
pub fn sinr_db(range: u8) -> f64 {
    f64::from(range) / 2.0 - 23.5
}

impl MeasurementReport {
    /// Encodes a UL-DCCH-Message.
    ///
    /// # Errors
    /// [`RrcError::OutOfRange`].
    pub fn encode(&self) -> Result<Vec<u8>, RrcError> {
        if !(1..=64).contains(&self.meas_id) {
            return Err(RrcError::OutOfRange("measId"));
        }
        if self.neighbours.len() > MAX_CELLS {
            return Err(RrcError::OutOfRange("number of neighbours"));
        }
        let mut bits = Bits::default();
        bits.push(0, 1); // c1
        bits.push(MEASUREMENT_REPORT as u32, 4);
        bits.push(0, 1); // criticalExtensions: measurementReport
        bits.push(0, 2); // no lateNonCriticalExtension, no nonCriticalExtension
        bits.push(0, 1); // MeasResults: no extension
        bits.push(u32::from(!self.neighbours.is_empty()), 1);
        bits.push(u32::from(self.meas_id) - 1, 6);
        bits.push(0, 5); // one serving cell
        bits.push(0, 2); // no extension, no best neighbour
        bits.push(0, 5); // servCellId 0
        self.serving.encode(&mut bits)?;
        if !self.neighbours.is_empty() {
            bits.push(0, 1); // measResultListNR
            bits.push(self.neighbours.len() as u32 - 1, 3);
            self.neighbours.iter().try_for_each(|cell| cell.encode(&mut bits))?;
        }
        Ok(bits.octets)
    }

    /// Decodes a UL-DCCH-Message.
    ///
    /// # Errors
    /// [`RrcError::Truncated`] and [`RrcError::Unsupported`].
    pub fn decode(octets: &[u8]) -> Result<Self, RrcError> {
        let mut bits = BitReader { octets, at: 0 };
        if bits.take(1)? != 0 || i64::from(bits.take(4)?) != MEASUREMENT_REPORT || bits.take(1)? != 0 {
            return Err(RrcError::Unsupported("a message other than MeasurementReport"));
        }
        bits.expect_zero(2, "an extension of MeasurementReport")?;
        bits.expect_zero(1, "an extension of MeasResults")?;
        let has_neighbours = bits.take(1)? == 1;
        let meas_id = bits.take(6)? as u8 + 1;
        bits.expect_zero(5, "more than one serving cell")?;
        bits.expect_zero(2, "a best neighbour of the serving cell")?;
        bits.expect_zero(5, "a secondary cell")?;
        let serving = CellResult::decode(&mut bits)?;
        let mut neighbours = Vec::new();
        if has_neighbours {
            bits.expect_zero(1, "neighbours of another technology")?;
            let count = bits.take(3)? + 1;
            for _ in 0..count {
                neighbours.push(CellResult::decode(&mut bits)?);
            }
        }
        Ok(MeasurementReport { meas_id, serving, neighbours })
    }
}

impl CellResult {
    /// Encodes a MeasResultNR.
    fn encode(&self, bits: &mut Bits) -> Result<(), RrcError> {
        let quantities = [self.rsrp, self.rsrq, self.sinr];
        if self.pci.is_some_and(|pci| pci > MAX_PCI) || quantities.iter().flatten().any(|value| *value > 127) {
            return Err(RrcError::OutOfRange("a result"));
        }
        bits.push(0, 1); // no extension
        bits.push(u32::from(self.pci.is_some()), 1);
        if let Some(pci) = self.pci {
            bits.push(pci.into(), 10);
        }
        bits.push(0, 1); // no rsIndexResults
        bits.push(0b10, 2); // resultsSSB-Cell only
        quantities.iter().for_each(|value| bits.push(u32::from(value.is_some()), 1));
        quantities.iter().flatten().for_each(|value| bits.push((*value).into(), 7));
        Ok(())
    }

    fn decode(bits: &mut BitReader<'_>) -> Result<Self, RrcError> {
        bits.expect_zero(1, "an extension of MeasResultNR")?;
        let pci = if bits.take(1)? == 1 { Some(bits.take(10)? as u16) } else { None };
        if pci.is_some_and(|pci| pci > MAX_PCI) {
            return Err(RrcError::OutOfRange("physCellId"));
        }
        bits.expect_zero(1, "results of beams")?;
        if bits.take(2)? != 0b10 {
            return Err(RrcError::Unsupported("a cell without results by SSB only"));
        }
        let present = [bits.take(1)?, bits.take(1)?, bits.take(1)?];
        let mut value = |present: u32| Ok(if present == 1 { Some(bits.take(7)? as u8) } else { None });
        let [rsrp, rsrq, sinr] = present;
        Ok(CellResult { pci, rsrp: value(rsrp)?, rsrq: value(rsrq)?, sinr: value(sinr)? })
    }
}

/// A writer of bits.
#[derive(Default)]
struct Bits {
    octets: Vec<u8>,
    used: usize,
}

impl Bits {
    fn push(&mut self, value: u32, count: usize) {
        for bit in (0..count).rev() {
            if self.used.is_multiple_of(8) {
                self.octets.push(0);
            }
            if let Some(last) = self.octets.last_mut() {
                *last |= ((value >> bit & 1) as u8) << (7 - self.used % 8);
            }
            self.used += 1;
        }
    }
}

/// A reader of bits.
struct BitReader<'o> {
    octets: &'o [u8],
    at: usize,
}

impl BitReader<'_> {
    fn take(&mut self, count: usize) -> Result<u32, RrcError> {
        let mut value = 0;
        for _ in 0..count {
            let octet = self.octets.get(self.at / 8).ok_or(RrcError::Truncated)?;
            value = value << 1 | u32::from(octet >> (7 - self.at % 8) & 1);
            self.at += 1;
        }
        Ok(value)
    }

    fn expect_zero(&mut self, count: usize, what: &'static str) -> Result<(), RrcError> {
        if self.take(count)? == 0 { Ok(()) } else { Err(RrcError::Unsupported(what)) }
    }
}

/// The expected octets are those of an independent encoder (pycrate 0.8.1).
#[cfg(test)]
mod tests {
    use super::*;

    fn cell(pci: Option<u16>, rsrp: u8, rsrq: u8, sinr: u8) -> CellResult {
        CellResult { pci, rsrp: Some(rsrp), rsrq: Some(rsrq), sinr: Some(sinr) }
    }

    #[test]
    fn reports_match_vectors() {
        let neighbours = vec![cell(Some(585), 75, 64, 90), cell(Some(1007), 0, 1, 127)];
        for (report, octets) in [
            (
                MeasurementReport { meas_id: 1, serving: cell(Some(584), 70, 60, 80), neighbours },
                "00400006485e33ca02c92bcb8169fbd70007f8",
            ),
            (
                MeasurementReport { meas_id: 64, serving: cell(Some(0), 127, 127, 0), neighbours: Vec::new() },
                "003f0004005ffff000",
            ),
        ] {
            let encoded = report.encode().unwrap();
            assert_eq!(encoded.iter().map(|octet| format!("{octet:02x}")).collect::<String>(), octets);
            assert_eq!(MeasurementReport::decode(&encoded), Ok(report));
            for length in 0..encoded.len() - 1 {
                assert_eq!(MeasurementReport::decode(&encoded[..length]), Err(RrcError::Truncated));
            }
        }
    }

    #[test]
    fn invalid_reports_are_refused() {
        let serving = cell(Some(1), 1, 1, 1);
        let report = |meas_id, serving, count| MeasurementReport { meas_id, serving, neighbours: vec![serving; count] };
        for (report, what) in [
            (report(0, serving, 0), "measId"),
            (report(65, serving, 0), "measId"),
            (report(1, serving, 9), "number of neighbours"),
            (report(1, cell(Some(1008), 1, 1, 1), 0), "a result"),
            (report(1, cell(None, 128, 1, 1), 0), "a result"),
        ] {
            assert_eq!(report.encode(), Err(RrcError::OutOfRange(what)));
        }
        assert!(matches!(MeasurementReport::decode(&[0x08, 0]), Err(RrcError::Unsupported(_))));
        assert_eq!(MeasurementReport::decode(&[0, 0x80, 0]), Err(RrcError::Unsupported("an extension of MeasResults")));
        assert_eq!(RrcError::OutOfRange("measId").to_string(), "measId is out of range");
    }

    #[test]
    fn any_octets_decode_or_are_refused() {
        let mut state = 1u64;
        for _ in 0..20_000 {
            let mut octets = [0u8; 24];
            for octet in &mut octets {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                *octet = (state >> 40) as u8;
            }
            octets[0] &= 0x01;
            octets[1] &= 0x7f;
            if let Ok(report) = MeasurementReport::decode(&octets) {
                let again = report.encode().expect("decoded values are in range");
                assert_eq!(MeasurementReport::decode(&again), Ok(report));
            }
        }
    }

    #[test]
    fn values_have_their_ranges() {
        assert_eq!([rsrp_range(-156.5), rsrp_range(-156.0), rsrp_range(-31.0), rsrp_range(-200.0)], [0, 1, 126, 0]);
        assert_eq!([rsrq_range(-43.1), rsrq_range(-43.0), rsrq_range(-10.8)], [0, 1, 65]);
        assert_eq!([sinr_range(-23.1), sinr_range(-23.0), sinr_range(40.0)], [0, 1, 127]);
        assert_eq!(
            (rsrp_dbm(rsrp_range(-90.0)), rsrq_db(rsrq_range(-12.5)), sinr_db(sinr_range(7.5))),
            (-90.0, -12.5, 7.5)
        );
    }
}
