//! RRC of NR (TS 38.331), in unaligned PER: the measurement report on UL-DCCH, and on DL-DCCH the configuration of measurements.
//!
//! Encoding and decoding cover what a UE reports by SSB: RSRP, RSRQ and SINR of the serving cells and of up to eight neighbours, of NR
//! or of E-UTRA.
//!
//! ```
//! use ap::nr_rrc::{CellResult, MeasurementReport};
//!
//! let serving = CellResult { pci: Some(584), rsrp: Some(70), rsrq: Some(60), sinr: Some(80) };
//! let neighbours = vec![CellResult { pci: Some(585), ..serving }];
//! let report = MeasurementReport { meas_id: 1, serving, neighbours, ..MeasurementReport::default() };
//! let octets = report.encode().expect("values in range");
//! assert_eq!(MeasurementReport::decode(&octets), Ok(report));
//! ```

mod reconfiguration;

use crate::rrc_bits::{BitReader, Bits};

pub use crate::rrc_bits::RrcError;
pub use crate::rrc_measurements::{Condition, MeasurementChanges, Report, ReportKind};
pub use reconfiguration::{MAX_MEAS_ID, MeasurementConfiguration, RRC_RECONFIGURATION};

/// The index of MeasurementReport among the messages of UL-DCCH.
pub const MEASUREMENT_REPORT: i64 = 0;
/// The most neighbours in a report (maxCellReport).
pub const MAX_CELLS: usize = 8;
/// The most serving cells (maxNrofServingCells).
pub const MAX_SERVING_CELLS: usize = 32;
/// The largest physical cell identity, and that of E-UTRA.
const MAX_PCI: u16 = 1007;
const MAX_EUTRA_PCI: u16 = 503;
/// The largest RSRP-RangeEUTRA and RSRQ-RangeEUTRA.
const MAX_EUTRA_RSRP: u8 = 97;
const MAX_EUTRA_RSRQ: u8 = 34;
/// The number of E-UTRA among the neighbours that are extensions.
const EUTRA: u32 = 0;

/// A MeasurementReport.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MeasurementReport {
    /// The measurement identity, 1 to 64.
    pub meas_id: u8,
    /// The primary cell.
    pub serving: CellResult,
    /// Secondary cells.
    pub secondary: Vec<SecondaryResult>,
    /// Neighbours of NR, at most [`MAX_CELLS`].
    pub neighbours: Vec<CellResult>,
    /// Neighbours of E-UTRA, at most [`MAX_CELLS`]. A report has neighbours of one kind.
    pub eutra_neighbours: Vec<EutraCellResult>,
}

/// The results of a secondary cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SecondaryResult {
    /// The serving cell index, 1 to 31.
    pub index: u8,
    /// The cell.
    pub cell: CellResult,
    /// The best neighbour on its frequency.
    pub best_neighbour: Option<CellResult>,
}

/// The results of a cell of E-UTRA: the values of TS 36.133.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EutraCellResult {
    /// The physical cell identity, 0 to 503.
    pub pci: u16,
    /// RSRP-RangeEUTRA, 0 to 97.
    pub rsrp: Option<u8>,
    /// RSRQ-RangeEUTRA, 0 to 34.
    pub rsrq: Option<u8>,
    /// SINR-RangeEUTRA, 0 to 127.
    pub sinr: Option<u8>,
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
        let counts = [self.neighbours.len(), self.eutra_neighbours.len()];
        if counts.iter().any(|count| *count > MAX_CELLS) || counts.iter().all(|count| *count > 0) {
            return Err(RrcError::OutOfRange("number of neighbours"));
        }
        if self.secondary.len() >= MAX_SERVING_CELLS {
            return Err(RrcError::OutOfRange("number of serving cells"));
        }
        let mut bits = Bits::default();
        bits.push(0, 1); // c1
        bits.push(MEASUREMENT_REPORT as u32, 4);
        bits.push(0, 1); // criticalExtensions: measurementReport
        bits.push(0, 2); // no lateNonCriticalExtension, no nonCriticalExtension
        bits.push(0, 1); // MeasResults: no extension
        bits.push(u32::from(counts.iter().any(|count| *count > 0)), 1);
        bits.push(u32::from(self.meas_id) - 1, 6);
        bits.push(self.secondary.len() as u32, 5);
        let primary = SecondaryResult { index: 0, cell: self.serving, best_neighbour: None };
        for serving in std::iter::once(&primary).chain(&self.secondary) {
            if serving.index > 31 {
                return Err(RrcError::OutOfRange("servCellId"));
            }
            bits.push(0, 1); // no extension
            bits.push(u32::from(serving.best_neighbour.is_some()), 1);
            bits.push(serving.index.into(), 5);
            serving.cell.encode(&mut bits)?;
            serving.best_neighbour.iter().try_for_each(|cell| cell.encode(&mut bits))?;
        }
        if counts[0] > 0 {
            bits.push(0, 1); // measResultListNR
            bits.push(counts[0] as u32 - 1, 3);
            self.neighbours.iter().try_for_each(|cell| cell.encode(&mut bits))?;
        } else if counts[1] > 0 {
            bits.push(1, 1); // an extension
            bits.push(EUTRA, 7); // a small number
            let mut list = Bits::default();
            list.push(counts[1] as u32 - 1, 3);
            self.eutra_neighbours.iter().try_for_each(|cell| cell.encode(&mut list))?;
            bits.push_open(list)?;
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
        let secondary_count = bits.take(5)?;
        let mut serving_cells = Vec::new();
        for _ in 0..=secondary_count {
            bits.expect_zero(1, "an extension of a serving cell")?;
            let has_best = bits.flag()?;
            let index = bits.take(5)? as u8;
            let cell = CellResult::decode(&mut bits)?;
            let best_neighbour = if has_best { Some(CellResult::decode(&mut bits)?) } else { None };
            serving_cells.push(SecondaryResult { index, cell, best_neighbour });
        }
        let primary = serving_cells.iter().position(|serving| serving.index == 0);
        let primary = primary.ok_or(RrcError::Unsupported("a report without the primary cell"))?;
        let serving = serving_cells.remove(primary).cell;
        let mut report =
            MeasurementReport { meas_id, serving, secondary: serving_cells, ..MeasurementReport::default() };
        if has_neighbours && !bits.flag()? {
            for _ in 0..=bits.take(3)? {
                report.neighbours.push(CellResult::decode(&mut bits)?);
            }
        } else if has_neighbours {
            if bits.take(7)? != EUTRA {
                return Err(RrcError::Unsupported("neighbours that are neither NR nor E-UTRA"));
            }
            let length = bits.open_length()?;
            let end = bits.at + 8 * length;
            for _ in 0..=bits.take(3)? {
                report.eutra_neighbours.push(EutraCellResult::decode(&mut bits)?);
            }
            if bits.at > end {
                return Err(RrcError::Truncated);
            }
        }
        Ok(report)
    }
}

impl EutraCellResult {
    /// Encodes a MeasResultEUTRA.
    fn encode(&self, bits: &mut Bits) -> Result<(), RrcError> {
        if !self.is_in_range() {
            return Err(RrcError::OutOfRange("a result"));
        }
        bits.push(0, 2); // no extension, no cgi-Info
        bits.push(self.pci.into(), 10); // the type of NR's identities
        [self.rsrp, self.rsrq, self.sinr].iter().for_each(|value| bits.push(u32::from(value.is_some()), 1));
        self.rsrp.iter().for_each(|value| bits.push((*value).into(), 7));
        self.rsrq.iter().for_each(|value| bits.push((*value).into(), 6));
        self.sinr.iter().for_each(|value| bits.push((*value).into(), 7));
        Ok(())
    }

    fn decode(bits: &mut BitReader<'_>) -> Result<Self, RrcError> {
        bits.expect_zero(1, "an extension of MeasResultEUTRA")?;
        bits.expect_zero(1, "the global identity of a neighbour")?;
        let pci = bits.take(10)? as u16;
        let present = [bits.flag()?, bits.flag()?, bits.flag()?];
        let mut value = |is_present: bool, count| Ok(if is_present { Some(bits.take(count)? as u8) } else { None });
        let [rsrp, rsrq, sinr] = [value(present[0], 7)?, value(present[1], 6)?, value(present[2], 7)?];
        let result = EutraCellResult { pci, rsrp, rsrq, sinr };
        if result.is_in_range() { Ok(result) } else { Err(RrcError::OutOfRange("a result")) }
    }

    fn is_in_range(&self) -> bool {
        self.pci <= MAX_EUTRA_PCI
            && self.rsrp.is_none_or(|rsrp| rsrp <= MAX_EUTRA_RSRP)
            && self.rsrq.is_none_or(|rsrq| rsrq <= MAX_EUTRA_RSRQ)
            && self.sinr.is_none_or(|sinr| sinr <= 127)
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
        let (serving, none) = (cell(Some(584), 70, 60, 80), MeasurementReport::default);
        let secondary =
            |best_neighbour| SecondaryResult { index: 1, cell: cell(Some(585), 66, 58, 77), best_neighbour };
        let eutra = |pci, rsrp, rsrq, sinr| EutraCellResult { pci, rsrp: Some(rsrp), rsrq, sinr };
        for (report, octets) in [
            (MeasurementReport { meas_id: 1, serving, neighbours, ..none() }, "00400006485e33ca02c92bcb8169fbd70007f8"),
            (MeasurementReport { meas_id: 64, serving: cell(Some(0), 127, 127, 0), ..none() }, "003f0004005ffff000"),
            (
                MeasurementReport {
                    meas_id: 5,
                    serving,
                    eutra_neighbours: vec![eutra(503, 60, Some(20), Some(70)), eutra(0, 10, None, None)],
                    ..none()
                },
                "00440006485e33ca1001047dfbc52300041400",
            ),
            (
                MeasurementReport {
                    meas_id: 5,
                    serving,
                    secondary: vec![secondary(None)],
                    neighbours: vec![cell(Some(586), 50, 40, 30)],
                    ..none()
                },
                "00440806485e33ca005925784ea683252ec941e0",
            ),
            (
                MeasurementReport {
                    meas_id: 5,
                    serving,
                    secondary: vec![secondary(Some(cell(Some(587), 60, 50, 40)))],
                    ..none()
                },
                "00040806485e33ca085925784ea6b25aef1928",
            ),
        ] {
            let encoded = report.encode().unwrap();
            assert_eq!(encoded.iter().map(|octet| format!("{octet:02x}")).collect::<String>(), octets);
            assert_eq!(MeasurementReport::decode(&encoded), Ok(report));
            for length in 0..encoded.len() - 2 {
                assert_eq!(MeasurementReport::decode(&encoded[..length]), Err(RrcError::Truncated));
            }
        }
    }

    #[test]
    fn invalid_reports_are_refused() {
        let serving = cell(Some(1), 1, 1, 1);
        let report = |meas_id, serving, count| MeasurementReport {
            meas_id,
            serving,
            neighbours: vec![serving; count],
            ..MeasurementReport::default()
        };
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
