//! RRC of E-UTRA (TS 36.331), in unaligned PER: the measurement report on UL-DCCH, and on DL-DCCH the reconfiguration of secondary
//! cells and of measurements.
//!
//! Encoding and decoding of reports cover RSRP and RSRQ of the serving cells, and either E-UTRA neighbours or NR neighbours. What a
//! message has besides them is read over.
//!
//! ```
//! use ap::lte_rrc::{CellResult, MeasurementReport};
//!
//! let neighbours = vec![CellResult { pci: 503, rsrp: Some(55), rsrq: Some(15) }];
//! let report = MeasurementReport { meas_id: 1, rsrp: 60, rsrq: 20, neighbours, ..MeasurementReport::default() };
//! let octets = report.encode().expect("values in range");
//! assert_eq!(MeasurementReport::decode(&octets), Ok(report));
//! ```

mod measurements;
mod reconfiguration;

use crate::rrc_bits::{BitReader, Bits};

pub use crate::rrc_bits::RrcError;
pub use crate::rrc_measurements::{Condition, MeasurementChanges, Report, ReportKind};
pub use measurements::MeasurementConfiguration;
pub use reconfiguration::{
    AddedCell, RRC_CONNECTION_RECONFIGURATION, SPECIAL_SUBFRAME_PATTERNS, SUBFRAME_ASSIGNMENTS, SecondaryCells,
};

/// The index of MeasurementReport among the messages of UL-DCCH.
pub const MEASUREMENT_REPORT: i64 = 1;
/// The most neighbours in a report (maxCellReport).
pub const MAX_CELLS: usize = 8;
/// The largest measurement identity.
pub const MAX_MEAS_ID: u8 = 32;
/// The largest physical cell identity of E-UTRA.
pub const MAX_PCI: u16 = 503;
/// The largest physical cell identity of NR.
const MAX_NR_PCI: u16 = 1007;
/// The most serving cells besides the primary one in a report (maxServCell-r10).
const MAX_SERVING_CELLS: usize = 5;
/// The largest serving cell index in a report.
const MAX_SERVING_CELL_INDEX: u8 = 7;
/// The groups of extensions of MeasResults, and the index of the one with the serving frequencies among them.
const MEAS_RESULTS_EXTENSIONS: u32 = 10;
const SERVING_FREQUENCIES: u32 = 1;
/// The largest RSRP-Range and RSRQ-Range.
const MAX_RSRP: u8 = 97;
const MAX_RSRQ: u8 = 34;

/// A MeasurementReport.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MeasurementReport {
    /// The measurement identity, 1 to 32.
    pub meas_id: u8,
    /// RSRP-Range of the primary cell, 0 to 97: see [`rsrp_range`].
    pub rsrp: u8,
    /// RSRQ-Range of the primary cell, 0 to 34: see [`rsrq_range`].
    pub rsrq: u8,
    /// The secondary cells, at most 5. A report names them by index only: [`SecondaryCells`] has their identities.
    pub secondary: Vec<SecondaryResult>,
    /// Neighbours of E-UTRA, at most [`MAX_CELLS`].
    pub neighbours: Vec<CellResult>,
    /// Neighbours of NR, at most [`MAX_CELLS`]. A report has neighbours of one kind.
    pub nr_neighbours: Vec<NrCellResult>,
}

/// The results of a secondary cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SecondaryResult {
    /// The serving cell index, 1 to 7.
    pub index: u8,
    /// RSRP-Range and RSRQ-Range of the cell.
    pub quality: Option<Quality>,
    /// The best neighbour on its frequency: its physical cell identity, and its quality.
    pub best_neighbour: Option<(u16, Quality)>,
}

/// RSRP-Range, 0 to 97, and RSRQ-Range, 0 to 34.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quality {
    /// RSRP-Range.
    pub rsrp: u8,
    /// RSRQ-Range.
    pub rsrq: u8,
}

/// The results of a cell of E-UTRA.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CellResult {
    /// The physical cell identity, 0 to 503.
    pub pci: u16,
    /// RSRP-Range, 0 to 97.
    pub rsrp: Option<u8>,
    /// RSRQ-Range, 0 to 34.
    pub rsrq: Option<u8>,
}

/// The results of a cell of NR: the values of TS 38.133.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NrCellResult {
    /// The physical cell identity, 0 to 1007.
    pub pci: u16,
    /// RSRP-Range, 0 to 127.
    pub rsrp: Option<u8>,
    /// RSRQ-Range, 0 to 127.
    pub rsrq: Option<u8>,
    /// SINR-Range, 0 to 127.
    pub sinr: Option<u8>,
}

/// The reported value of an RSRP (TS 36.133 9.1.4).
#[must_use]
pub fn rsrp_range(dbm: f64) -> u8 {
    (dbm.floor() + 141.0).clamp(0.0, f64::from(MAX_RSRP)) as u8
}

/// The reported value of an RSRQ (TS 36.133 9.1.7).
#[must_use]
pub fn rsrq_range(db: f64) -> u8 {
    ((db + 20.0) * 2.0).floor().clamp(0.0, f64::from(MAX_RSRQ)) as u8
}

/// The reported value of an RS-SINR (TS 36.133 9.1.17).
#[must_use]
pub fn sinr_range(db: f64) -> u8 {
    ((db + 23.5) * 2.0).floor().clamp(0.0, 127.0) as u8
}

/// The neighbours' alternatives in the root of the choice, of which the first is E-UTRA.
const EUTRA: u32 = 0;
/// The number of NR among the alternatives that are extensions.
const NR: u32 = 0;

impl MeasurementReport {
    /// Encodes a UL-DCCH-Message.
    ///
    /// # Errors
    /// [`RrcError::OutOfRange`].
    pub fn encode(&self) -> Result<Vec<u8>, RrcError> {
        if !(1..=MAX_MEAS_ID).contains(&self.meas_id) {
            return Err(RrcError::OutOfRange("measId"));
        }
        if self.rsrp > MAX_RSRP || self.rsrq > MAX_RSRQ {
            return Err(RrcError::OutOfRange("a result"));
        }
        let counts = [self.neighbours.len(), self.nr_neighbours.len()];
        if counts.iter().any(|count| *count > MAX_CELLS) || counts.iter().all(|count| *count > 0) {
            return Err(RrcError::OutOfRange("number of neighbours"));
        }
        let mut bits = Bits::default();
        bits.push(0, 1); // c1
        bits.push(MEASUREMENT_REPORT as u32, 4);
        bits.push(0, 1); // criticalExtensions: c1
        bits.push(0, 3); // measurementReport-r8
        bits.push(0, 1); // no nonCriticalExtension
        bits.push(u32::from(!self.secondary.is_empty()), 1); // MeasResults: an extension
        bits.push(u32::from(counts.iter().any(|count| *count > 0)), 1);
        bits.push(u32::from(self.meas_id) - 1, 5);
        bits.push(self.rsrp.into(), 7);
        bits.push(self.rsrq.into(), 6);
        if counts[0] > 0 {
            bits.push(0, 1);
            bits.push(EUTRA, 2);
            bits.push(counts[0] as u32 - 1, 3);
            self.neighbours.iter().try_for_each(|cell| cell.encode(&mut bits))?;
        } else if counts[1] > 0 {
            bits.push(1, 1); // an extension
            bits.push(NR, 7); // a small number
            let mut list = Bits::default();
            list.push(counts[1] as u32 - 1, 3);
            self.nr_neighbours.iter().try_for_each(|cell| cell.encode(&mut list))?;
            bits.push_open(list)?;
        }
        if !self.secondary.is_empty() {
            bits.push(MEAS_RESULTS_EXTENSIONS - 1, 7);
            (0..MEAS_RESULTS_EXTENSIONS).for_each(|group| bits.push(u32::from(group == SERVING_FREQUENCIES), 1));
            bits.push_open(self.encode_secondary()?)?;
        }
        Ok(bits.octets)
    }

    /// Encodes the extension with the serving frequencies.
    fn encode_secondary(&self) -> Result<Bits, RrcError> {
        if self.secondary.len() > MAX_SERVING_CELLS {
            return Err(RrcError::OutOfRange("number of serving cells"));
        }
        let mut list = Bits::default();
        list.push(0b01, 2); // no locationInfo, measResultServFreqList
        list.push(self.secondary.len() as u32 - 1, 3);
        self.secondary.iter().try_for_each(|cell| cell.encode(&mut list))?;
        Ok(list)
    }

    /// Reads the extensions of MeasResults, as far as they are known.
    fn decode_extensions(&mut self, bits: &mut BitReader<'_>) -> Result<(), RrcError> {
        bits.expect_zero(1, "more than 64 extensions")?;
        let count = bits.take(6)? + 1;
        let mut are_present = 0_u64;
        for group in 0..count {
            are_present |= u64::from(bits.take(1)?) << group;
        }
        for group in (0..=SERVING_FREQUENCIES.min(count - 1)).filter(|group| are_present >> group & 1 == 1) {
            let end = bits.open_length()? * 8 + bits.at;
            // what locationInfo takes is not known
            if group == SERVING_FREQUENCIES && !bits.flag()? && bits.flag()? {
                for _ in 0..=bits.take(3)? {
                    self.secondary.push(SecondaryResult::decode(bits)?);
                }
                if self.secondary.len() > MAX_SERVING_CELLS {
                    return Err(RrcError::OutOfRange("number of serving cells"));
                }
            }
            if bits.at > end || end > 8 * bits.octets.len() {
                return Err(RrcError::Truncated);
            }
            bits.at = end;
        }
        Ok(())
    }

    /// Decodes a UL-DCCH-Message.
    ///
    /// # Errors
    /// [`RrcError`].
    pub fn decode(octets: &[u8]) -> Result<Self, RrcError> {
        let mut bits = BitReader { octets, at: 0 };
        if bits.take(1)? != 0 || i64::from(bits.take(4)?) != MEASUREMENT_REPORT || bits.take(4)? != 0 {
            return Err(RrcError::Unsupported("a message other than MeasurementReport"));
        }
        // what they announce follows what is read
        let _has_non_critical_extension = bits.take(1)?;
        let has_extension = bits.flag()?;
        let has_neighbours = bits.flag()?;
        let meas_id = bits.take(5)? as u8 + 1;
        let (rsrp, rsrq) = (bits.take(7)? as u8, bits.take(6)? as u8);
        if rsrp > MAX_RSRP || rsrq > MAX_RSRQ {
            return Err(RrcError::OutOfRange("a result"));
        }
        let mut report = MeasurementReport { meas_id, rsrp, rsrq, ..MeasurementReport::default() };
        if has_neighbours && !bits.flag()? {
            if bits.take(2)? != EUTRA {
                // nothing behind neighbours of an older technology can be found
                return Ok(report);
            }
            for _ in 0..=bits.take(3)? {
                report.neighbours.push(CellResult::decode(&mut bits)?);
            }
        } else if has_neighbours {
            let is_nr = bits.take(7)? == NR;
            let length = bits.open_length()?;
            let end = bits.at + 8 * length;
            if is_nr {
                for _ in 0..=bits.take(3)? {
                    report.nr_neighbours.push(NrCellResult::decode(&mut bits)?);
                }
            }
            if bits.at > end {
                return Err(RrcError::Truncated);
            }
            bits.at = end;
        }
        if has_extension {
            report.decode_extensions(&mut bits)?;
        }
        Ok(report)
    }
}

impl Quality {
    fn encode(self, bits: &mut Bits) -> Result<(), RrcError> {
        if self.rsrp > MAX_RSRP || self.rsrq > MAX_RSRQ {
            return Err(RrcError::OutOfRange("a result"));
        }
        bits.push(self.rsrp.into(), 7);
        bits.push(self.rsrq.into(), 6);
        Ok(())
    }

    fn decode(bits: &mut BitReader<'_>) -> Result<Self, RrcError> {
        let quality = Quality { rsrp: bits.take(7)? as u8, rsrq: bits.take(6)? as u8 };
        let is_in_range = quality.rsrp <= MAX_RSRP && quality.rsrq <= MAX_RSRQ;
        if is_in_range { Ok(quality) } else { Err(RrcError::OutOfRange("a result")) }
    }
}

impl SecondaryResult {
    /// Encodes a MeasResultServFreq-r10.
    fn encode(&self, bits: &mut Bits) -> Result<(), RrcError> {
        if self.index > MAX_SERVING_CELL_INDEX || self.best_neighbour.is_some_and(|(pci, _)| pci > MAX_PCI) {
            return Err(RrcError::OutOfRange("a secondary cell"));
        }
        bits.push(0, 1); // no extension
        bits.push(u32::from(self.quality.is_some()), 1);
        bits.push(u32::from(self.best_neighbour.is_some()), 1);
        bits.push(self.index.into(), 3);
        self.quality.iter().try_for_each(|quality| quality.encode(bits))?;
        if let Some((pci, quality)) = self.best_neighbour {
            bits.push(pci.into(), 9);
            quality.encode(bits)?;
        }
        Ok(())
    }

    fn decode(bits: &mut BitReader<'_>) -> Result<Self, RrcError> {
        let [has_extension, has_quality, has_best] = [bits.flag()?, bits.flag()?, bits.flag()?];
        let index = bits.take(3)? as u8;
        let quality = if has_quality { Some(Quality::decode(bits)?) } else { None };
        let best_neighbour = if has_best { Some((bits.take(9)? as u16, Quality::decode(bits)?)) } else { None };
        if has_extension {
            bits.skip_extensions()?;
        }
        match best_neighbour {
            Some((pci, _)) if pci > MAX_PCI => Err(RrcError::OutOfRange("physCellId")),
            _ => Ok(SecondaryResult { index, quality, best_neighbour }),
        }
    }
}

impl CellResult {
    /// Encodes a MeasResultEUTRA.
    fn encode(&self, bits: &mut Bits) -> Result<(), RrcError> {
        let is_in_range =
            self.rsrp.is_none_or(|rsrp| rsrp <= MAX_RSRP) && self.rsrq.is_none_or(|rsrq| rsrq <= MAX_RSRQ);
        if self.pci > MAX_PCI || !is_in_range {
            return Err(RrcError::OutOfRange("a result"));
        }
        bits.push(0, 1); // no cgi-Info
        bits.push(self.pci.into(), 9);
        bits.push(0, 1); // measResult: no extension
        bits.push(u32::from(self.rsrp.is_some()), 1);
        bits.push(u32::from(self.rsrq.is_some()), 1);
        self.rsrp.iter().for_each(|rsrp| bits.push((*rsrp).into(), 7));
        self.rsrq.iter().for_each(|rsrq| bits.push((*rsrq).into(), 6));
        Ok(())
    }

    fn decode(bits: &mut BitReader<'_>) -> Result<Self, RrcError> {
        bits.expect_zero(1, "the global identity of a neighbour")?;
        let pci = bits.take(9)? as u16;
        let has_extension = bits.flag()?;
        let [has_rsrp, has_rsrq] = [bits.flag()?, bits.flag()?];
        let rsrp = if has_rsrp { Some(bits.take(7)? as u8) } else { None };
        let rsrq = if has_rsrq { Some(bits.take(6)? as u8) } else { None };
        if has_extension {
            bits.skip_extensions()?;
        }
        if pci > MAX_PCI || rsrp.is_some_and(|rsrp| rsrp > MAX_RSRP) || rsrq.is_some_and(|rsrq| rsrq > MAX_RSRQ) {
            return Err(RrcError::OutOfRange("a result"));
        }
        Ok(CellResult { pci, rsrp, rsrq })
    }
}

impl NrCellResult {
    /// Encodes a MeasResultCellNR-r15.
    fn encode(&self, bits: &mut Bits) -> Result<(), RrcError> {
        let quantities = [self.rsrp, self.rsrq, self.sinr];
        if self.pci > MAX_NR_PCI || quantities.iter().flatten().any(|value| *value > 127) {
            return Err(RrcError::OutOfRange("a result"));
        }
        bits.push(0, 2); // no extension, no measResultRS-IndexList
        bits.push(self.pci.into(), 10);
        bits.push(0, 1); // MeasResultNR-r15: no extension
        quantities.iter().for_each(|value| bits.push(u32::from(value.is_some()), 1));
        quantities.iter().flatten().for_each(|value| bits.push((*value).into(), 7));
        Ok(())
    }

    fn decode(bits: &mut BitReader<'_>) -> Result<Self, RrcError> {
        let has_extension = bits.flag()?;
        bits.expect_zero(1, "results of beams")?;
        let pci = bits.take(10)? as u16;
        let has_result_extension = bits.flag()?;
        let present = [bits.flag()?, bits.flag()?, bits.flag()?];
        let mut value = |is_present: bool| Ok(if is_present { Some(bits.take(7)? as u8) } else { None });
        let [rsrp, rsrq, sinr] = present;
        let result = NrCellResult { pci, rsrp: value(rsrp)?, rsrq: value(rsrq)?, sinr: value(sinr)? };
        for _ in 0..u8::from(has_result_extension) + u8::from(has_extension) {
            bits.skip_extensions()?;
        }
        if pci > MAX_NR_PCI { Err(RrcError::OutOfRange("physCellId")) } else { Ok(result) }
    }
}

/// The expected octets are those of an independent encoder (pycrate 0.8.1).
#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_vectors::unhex;

    const OF_PRIMARY: &str = "08003c50";
    const EUTRA_NEIGHBOURS: &str = "081fe18817ddb73c074000";
    const NR_NEIGHBOURS: &str = "08113c5200209f7bc679400113f8";
    /// With a secondary cell, and RS-SINR of a neighbour.
    const EXTENDED: &str = "0830bc501027b73c2100ab4000a6c8e128001a116450";
    const SECONDARY: &str = "0820bc504a000684632a";
    const SECONDARY_AND_NEIGHBOURS: &str = "0830bc500025b73c4a001496632bf7c311e0000000";
    const UTRA_NEIGHBOURS: &str = "0810bc50801243";

    fn quality(rsrp: u8, rsrq: u8) -> Option<Quality> {
        Some(Quality { rsrp, rsrq })
    }

    fn best(pci: u16, rsrp: u8, rsrq: u8) -> Option<(u16, Quality)> {
        Some((pci, Quality { rsrp, rsrq }))
    }

    fn cell(pci: u16, rsrp: u8, rsrq: Option<u8>) -> CellResult {
        CellResult { pci, rsrp: Some(rsrp), rsrq }
    }

    fn reports() -> [(MeasurementReport, &'static str); 5] {
        let nr = NrCellResult { pci: 1007, rsrp: Some(70), rsrq: Some(60), sinr: Some(80) };
        [
            (MeasurementReport { meas_id: 1, rsrp: 60, rsrq: 20, ..MeasurementReport::default() }, OF_PRIMARY),
            (
                MeasurementReport {
                    meas_id: 32,
                    rsrp: 97,
                    rsrq: 34,
                    neighbours: vec![cell(503, 55, Some(15)), cell(7, 0, None)],
                    ..MeasurementReport::default()
                },
                EUTRA_NEIGHBOURS,
            ),
            (
                MeasurementReport {
                    meas_id: 3,
                    rsrp: 60,
                    rsrq: 20,
                    nr_neighbours: vec![nr, NrCellResult { pci: 4, rsrp: Some(127), ..NrCellResult::default() }],
                    ..MeasurementReport::default()
                },
                NR_NEIGHBOURS,
            ),
            (
                MeasurementReport {
                    meas_id: 2,
                    rsrp: 60,
                    rsrq: 20,
                    secondary: vec![SecondaryResult { index: 1, quality: quality(70, 21), best_neighbour: None }],
                    ..MeasurementReport::default()
                },
                SECONDARY,
            ),
            (
                MeasurementReport {
                    meas_id: 2,
                    rsrp: 60,
                    rsrq: 20,
                    secondary: vec![
                        SecondaryResult { index: 1, quality: quality(70, 21), best_neighbour: best(503, 97, 34) },
                        SecondaryResult { index: 7, quality: None, best_neighbour: best(0, 0, 0) },
                    ],
                    neighbours: vec![cell(9, 55, Some(15))],
                    ..MeasurementReport::default()
                },
                SECONDARY_AND_NEIGHBOURS,
            ),
        ]
    }

    #[test]
    fn reports_match_vectors() {
        for (report, octets) in reports() {
            let encoded = report.encode().unwrap();
            assert_eq!(encoded, unhex(octets));
            assert_eq!(MeasurementReport::decode(&encoded), Ok(report));
            for length in 0..encoded.len() - 1 {
                assert!(MeasurementReport::decode(&encoded[..length]).is_err());
            }
        }
    }

    #[test]
    fn other_parts_are_read_over() {
        let report = MeasurementReport::decode(&unhex(EXTENDED)).unwrap();
        assert_eq!((report.meas_id, report.rsrp, report.rsrq), (2, 60, 20));
        assert_eq!(report.neighbours, [cell(9, 55, Some(15)), cell(10, 50, Some(14))]);
        assert_eq!(report.secondary.len(), 1);
        let report = MeasurementReport::decode(&unhex(UTRA_NEIGHBOURS)).unwrap();
        assert_eq!((report.meas_id, report.neighbours.len(), report.nr_neighbours.len()), (2, 0, 0));
    }

    #[test]
    fn invalid_reports_are_refused() {
        let report = reports()[1].0.clone();
        let with = |change: fn(&mut MeasurementReport)| {
            let mut wrong = report.clone();
            change(&mut wrong);
            wrong.encode()
        };
        for change in [
            (|wrong| wrong.meas_id = 0) as fn(&mut MeasurementReport),
            |wrong| wrong.meas_id = 33,
            |wrong| wrong.rsrp = 98,
            |wrong| wrong.rsrq = 35,
            |wrong| wrong.neighbours[0].pci = 504,
            |wrong| wrong.neighbours[0].rsrp = Some(98),
            |wrong| wrong.neighbours = vec![CellResult::default(); 9],
            |wrong| wrong.nr_neighbours = vec![NrCellResult::default()],
            |wrong| {
                wrong.neighbours.clear();
                wrong.nr_neighbours = vec![NrCellResult { pci: 1008, ..NrCellResult::default() }];
            },
        ] {
            assert!(matches!(with(change), Err(RrcError::OutOfRange(_))));
        }
        assert!(matches!(MeasurementReport::decode(&[0x10, 0, 0, 0]), Err(RrcError::Unsupported(_))));
    }

    #[test]
    fn any_octets_decode_or_are_refused() {
        let secondary = [SECONDARY, SECONDARY_AND_NEIGHBOURS];
        let others = [OF_PRIMARY, EUTRA_NEIGHBOURS, NR_NEIGHBOURS, EXTENDED, UTRA_NEIGHBOURS];
        for vector in others.into_iter().chain(secondary).map(unhex) {
            for at in 0..vector.len() {
                for value in 0..=255 {
                    let mut octets = vector.clone();
                    octets[at] = value;
                    if let Ok(report) = MeasurementReport::decode(&octets) {
                        let again = report.encode().expect("decoded values are in range");
                        assert_eq!(MeasurementReport::decode(&again), Ok(report));
                    }
                }
            }
        }
    }

    #[test]
    fn values_have_their_ranges() {
        assert_eq!([-140.5, -140.0, -90.3, -44.0, 0.0].map(rsrp_range), [0, 1, 50, 97, 97]);
        assert_eq!([-19.6, -19.5, -10.8, -3.0].map(rsrq_range), [0, 1, 18, 34]);
        assert_eq!([-23.1, -23.0, 7.5, 40.1].map(sinr_range), [0, 1, 62, 127]);
    }
}
