//! RRCReconfiguration on DL-DCCH, as far as it configures measurements (TS 38.331 5.3.5.3, 5.5.2 and 6.3.2 MeasConfig).

use crate::rrc_bits::{BitReader, Bits};
use crate::rrc_measurements::{MeasConfig, OTHER, OWN, hysteresis, nearest, offset, time_to_trigger};

use super::{Condition, MeasurementChanges, Report, ReportKind, RrcError};

/// The index of RRCReconfiguration among the messages of DL-DCCH.
pub const RRC_RECONFIGURATION: i64 = 0;
/// The largest measurement identity (maxNrofMeasId).
pub const MAX_MEAS_ID: u8 = 64;
/// The largest ARFCN-ValueNR and ARFCN-ValueEUTRA.
const MAX_ARFCN: u32 = 3_279_165;
const MAX_EUTRA_ARFCN: u32 = 262_143;
/// The subcarrier spacings of SSBs, in kHz.
const SPACINGS_KHZ: [u16; 5] = [15, 30, 60, 120, 240];
/// The PRBs of the values of allowedMeasBandwidth.
const EUTRA_BANDWIDTHS: [u8; 6] = [6, 15, 25, 50, 75, 100];
/// The values of ReportInterval, in ms.
const INTERVALS_MS: [u64; 14] =
    [120, 240, 480, 640, 1024, 2048, 5120, 10_240, 20_480, 40_960, 60_000, 360_000, 720_000, 1_800_000];
/// The interval of the reports of an event while it lasts, in ms.
const EVENT_INTERVAL_MS: u64 = 1024;
/// maxCellReport.
const MAX_REPORTED_CELLS: u32 = 8;
/// The index of E-UTRA among the extensions of measObject and reportConfig.
const EUTRA: u32 = 0;
/// Its MeasConfig: behind the lists are s-MeasureConfig, quantityConfig, measGapConfig and measGapSharingConfig.
const MEAS_CONFIG: MeasConfig = MeasConfig { id_bits: 6, later_members: 4 };

/// An RRCReconfiguration that replaces measurements of a UE.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MeasurementConfiguration {
    /// rrc-TransactionIdentifier, 0 to 3.
    pub transaction: u8,
    /// The measurement identities that are removed before, 1 to 64. A UE ignores those that it does not have.
    pub removed: Vec<u8>,
    /// The measurements by identity, 1 to 64. That is their reportConfigId too.
    pub measurements: Vec<(u8, Report)>,
    /// The carrier of the cell: ARFCN and subcarrier spacing of its SSB, in kHz. The object of measurements of NR.
    pub carrier: (u32, u16),
    /// A carrier of E-UTRA, ARFCN and PRBs: the object of measurements of E-UTRA, which need it.
    pub eutra_carrier: Option<(u32, u8)>,
}

impl MeasurementConfiguration {
    /// Encodes a DL-DCCH-Message.
    ///
    /// # Errors
    /// [`RrcError::OutOfRange`].
    pub fn encode(&self) -> Result<Vec<u8>, RrcError> {
        MEAS_CONFIG.check(self.transaction, &self.removed, &self.measurements)?;
        let has_inter_rat = self.measurements.iter().any(|(_, report)| report.is_inter_rat());
        let other = self.eutra_carrier.filter(|_| has_inter_rat);
        if has_inter_rat && other.is_none() {
            return Err(RrcError::OutOfRange("the carrier of E-UTRA"));
        }
        let mut bits = Bits::default();
        bits.push(0, 1); // c1
        bits.push(RRC_RECONFIGURATION as u32, 4);
        bits.push(self.transaction.into(), 2);
        bits.push(0, 1); // rrcReconfiguration
        bits.push(0b0_0100, 5); // measConfig only
        let push_objects = |bits: &mut Bits| {
            self.push_object(bits)?;
            other.map_or(Ok(()), |other| push_eutra_object(other, bits))
        };
        let objects = (1 + u32::from(other.is_some()), push_objects);
        MEAS_CONFIG.encode(&self.removed, &self.measurements, objects, push_report, &mut bits)?;
        Ok(bits.octets)
    }

    /// Encodes a MeasObjectToAddMod of NR.
    fn push_object(&self, bits: &mut Bits) -> Result<(), RrcError> {
        let (arfcn, spacing_khz) = self.carrier;
        let spacing = SPACINGS_KHZ.iter().position(|khz| *khz == spacing_khz);
        let spacing = spacing.ok_or(RrcError::OutOfRange("ssbSubcarrierSpacing"))?;
        if arfcn > MAX_ARFCN {
            return Err(RrcError::OutOfRange("ssbFrequency"));
        }
        bits.push(OWN - 1, 6);
        bits.push(0, 1); // measObjectNR
        bits.push(0, 1); // no extension
        bits.push(0b111_0000_0000_0000, 15); // ssbFrequency, ssbSubcarrierSpacing, smtc1
        bits.push(arfcn, 22);
        bits.push(spacing as u32, 3);
        bits.push(2, 3); // every 20 ms
        bits.push(0, 5); // without an offset
        bits.push(4, 3); // 5 ms
        bits.push(0b10, 2); // ssb-ConfigMobility only
        bits.push(0, 3); // no extension, no ssb-ToMeasure, no ss-RSSI-Measurement
        bits.push(1, 1); // deriveSSB-IndexFromCell
        bits.push(0, 1); // quantityConfigIndex 1
        bits.push(0, 6); // offsetMO: 0 dB
        Ok(())
    }
}

/// Encodes a MeasObjectToAddMod of E-UTRA.
fn push_eutra_object((arfcn, prbs): (u32, u8), bits: &mut Bits) -> Result<(), RrcError> {
    let bandwidth = EUTRA_BANDWIDTHS.iter().position(|known| *known == prbs);
    let bandwidth = bandwidth.ok_or(RrcError::OutOfRange("allowedMeasBandwidth"))?;
    if arfcn > MAX_EUTRA_ARFCN {
        return Err(RrcError::OutOfRange("carrierFreq"));
    }
    let mut object = Bits::default();
    object.push(0, 1); // no extension
    object.push(0, 5); // no lists, no eutra-Q-OffsetRange
    object.push(arfcn, 18);
    object.push(bandwidth as u32, 3);
    object.push(0b00, 2); // eutra-PresenceAntennaPort1, widebandRSRQ-Meas
    bits.push(OTHER - 1, 6);
    push_alternative(EUTRA, object, bits)
}

/// Encodes an alternative of a choice that is an extension.
fn push_alternative(index: u32, content: Bits, bits: &mut Bits) -> Result<(), RrcError> {
    bits.push(1, 1);
    bits.push(index, 7);
    bits.push_open(content)
}

/// Encodes a reportConfig.
fn push_report(report: Report, bits: &mut Bits) -> Result<(), RrcError> {
    if !report.is_inter_rat() {
        bits.push(0, 1); // reportConfigNR
        bits.push(0, 1); // no extension of reportType
    }
    match report {
        Report::Periodical { interval_ms } => {
            bits.push(0, 1); // periodical
            bits.push(0, 3); // no extension, no reportQuantityRS-Indexes, no maxNrofRS-IndexesToReport
            push_reporting(interval_ms, bits);
            bits.push(0b00, 2); // includeBeamMeasurements, useAllowedCellList
        }
        Report::Event { condition, hysteresis_db, time_to_trigger_ms } if !report.is_inter_rat() => {
            bits.push(1, 1); // eventTriggered
            bits.push(0, 4); // no extension, no indexes, no reportAddNeighMeas
            bits.push(0, 1); // no extension of eventId
            let thresholds: &[f64] = match &condition {
                Condition::A1(one) | Condition::A2(one) | Condition::A4(one) => &[*one],
                Condition::A5(one, two) => &[*one, *two],
                _ => &[],
            };
            bits.push(u32::from(number_of(condition)) - 1, 3);
            thresholds.iter().for_each(|dbm| push_threshold(*dbm, bits));
            if let Condition::A3(db) = condition {
                bits.push(0, 2); // rsrp
                bits.push(offset(db), 6);
            }
            push_trigger(hysteresis_db, time_to_trigger_ms, bits);
            if number_of(condition) > 2 {
                bits.push(0, 1); // useAllowedCellList
            }
            push_reporting(EVENT_INTERVAL_MS, bits);
            bits.push(0, 1); // includeBeamMeasurements
        }
        Report::Event { condition, hysteresis_db, time_to_trigger_ms } => {
            let mut content = Bits::default();
            content.push(0b0_01, 3); // eventTriggered
            content.push(0, 1); // no extension
            content.push(0, 1); // no extension of eventId
            content.push(u32::from(number_of(condition)) - 1, 1);
            content.push(0, 1); // no extension of the event
            let eutra_dbm = match condition {
                Condition::B2(serving, other) => {
                    push_threshold(serving, &mut content);
                    other
                }
                Condition::B1(other) => other,
                _ => return Err(RrcError::OutOfRange("an event")),
            };
            content.push(0, 2); // rsrp
            // RSRP-RangeEUTRA as a threshold (TS 36.331 6.3.5)
            content.push((eutra_dbm.round() + 140.0).clamp(0.0, 97.0) as u32, 7);
            push_trigger(hysteresis_db, time_to_trigger_ms, &mut content);
            push_reporting(EVENT_INTERVAL_MS, &mut content);
            push_alternative(EUTRA, content, bits)?;
        }
    }
    Ok(())
}

/// The number of an event of a condition.
fn number_of(condition: Condition) -> u8 {
    match condition {
        Condition::A1(_) | Condition::B1(_) => 1,
        Condition::A2(_) | Condition::B2(..) => 2,
        Condition::A3(_) => 3,
        Condition::A4(_) => 4,
        Condition::A5(..) => 5,
    }
}

/// Encodes a MeasTriggerQuantity: RSRP-Range as a threshold.
fn push_threshold(dbm: f64, bits: &mut Bits) {
    bits.push(0, 2); // rsrp
    bits.push((dbm.round() + 156.0).clamp(0.0, 126.0) as u32, 7);
}

/// Encodes reportOnLeave, hysteresis and timeToTrigger.
fn push_trigger(hysteresis_db: f64, time_to_trigger_ms: u64, bits: &mut Bits) {
    bits.push(0, 1);
    bits.push(hysteresis(hysteresis_db), 5);
    bits.push(time_to_trigger(time_to_trigger_ms), 4);
}

/// Encodes what is reported, and how often: RSRP, RSRQ and SINR by SSB of up to eight cells, without an end.
fn push_reporting(interval_ms: u64, bits: &mut Bits) {
    bits.push(0, 1); // rsType: ssb
    bits.push(nearest(&INTERVALS_MS, interval_ms), 4);
    bits.push(7, 3); // reportAmount: infinity
    bits.push(0b111, 3); // rsrp, rsrq, sinr
    bits.push(MAX_REPORTED_CELLS - 1, 3);
}

impl MeasurementChanges {
    /// Decodes a DL-DCCH-Message of NR. One that changes radio bearers is not supported.
    ///
    /// # Errors
    /// [`RrcError`].
    pub fn decode_nr(octets: &[u8]) -> Result<Self, RrcError> {
        let mut bits = BitReader { octets, at: 0 };
        if bits.take(1)? != 0 || i64::from(bits.take(4)?) != RRC_RECONFIGURATION {
            return Err(RrcError::Unsupported("a message other than RRCReconfiguration"));
        }
        bits.skip(2)?;
        bits.expect_zero(1, "a critical extension of RRCReconfiguration")?;
        bits.expect_zero(1, "a reconfiguration of radio bearers")?;
        let [has_cell_group, has_measurements] = [bits.flag()?, bits.flag()?];
        bits.skip(2)?; // what follows measConfig
        if has_cell_group {
            let octets = bits.open_length()?;
            bits.skip(8 * octets)?;
        }
        if !has_measurements {
            return Ok(MeasurementChanges::default());
        }
        MEAS_CONFIG.decode(&mut bits, skip_object, take_report)
    }
}

/// Reads over a MeasObjectToAddMod.
fn skip_object(bits: &mut BitReader<'_>) -> Result<(), RrcError> {
    bits.skip(6)?;
    if bits.flag()? {
        return bits.extension_alternative(|_, _| Ok(()));
    }
    let has_extension = bits.flag()?;
    let mut present = [false; 15];
    for is_present in &mut present {
        *is_present = bits.flag()?;
    }
    let [frequency, spacing, smtc1, smtc2, csi_frequency, beams, csi, beam_count, csi_count, lists @ ..] = present;
    if smtc2 || beams || csi {
        return Err(RrcError::Unsupported("a measurement object with thresholds of beams or a second SMTC"));
    }
    bits.skip(if frequency { 22 } else { 0 } + if spacing { 3 } else { 0 })?;
    if smtc1 {
        // an offset below a period of 5, 10, 20, 40, 80 or 160 ms, and the duration
        let offset = match bits.take(3)? {
            period @ 0..=5 => period as usize + 3,
            _ => return Err(RrcError::OutOfRange("periodicityAndOffset")),
        };
        bits.skip(offset + 3)?;
    }
    bits.skip(if csi_frequency { 22 } else { 0 })?;
    let has_ssb = bits.flag()?;
    bits.expect_zero(1, "a measurement object with CSI-RS")?;
    if has_ssb {
        let [has_extension, has_bitmap, has_rssi] = [bits.flag()?, bits.flag()?, bits.flag()?];
        // a bitmap is set up, or released
        if has_bitmap && bits.flag()? {
            let length = match bits.take(2)? {
                0 => 4,
                1 => 8,
                _ => 64,
            };
            bits.skip(length)?;
        }
        bits.skip(1)?;
        if has_rssi {
            let slots = bits.take(7)? as usize + 1;
            bits.skip(slots + 2)?;
        }
        if has_extension {
            bits.skip_extensions()?;
        }
    }
    bits.skip(if beam_count { 4 } else { 0 } + if csi_count { 4 } else { 0 })?;
    bits.skip(1)?;
    skip_offsets(bits)?;
    let [removed, added, excluded_removed, excluded, allowed_removed, allowed] = lists;
    if removed {
        bits.list(5, |bits| bits.skip(10))?;
    }
    if added {
        bits.list(5, |bits| {
            bits.skip(10)?;
            skip_offsets(bits)
        })?;
    }
    for (removed, added) in [(excluded_removed, excluded), (allowed_removed, allowed)] {
        if removed {
            bits.list(3, |bits| bits.skip(3))?;
        }
        if added {
            bits.list(3, |bits| {
                bits.skip(3)?;
                let has_range = bits.flag()?;
                bits.skip(if has_range { 14 } else { 10 })
            })?;
        }
    }
    if has_extension { bits.skip_extensions() } else { Ok(()) }
}

/// Reads over a Q-OffsetRangeList.
fn skip_offsets(bits: &mut BitReader<'_>) -> Result<(), RrcError> {
    let present = bits.take(6)?.count_ones() as usize;
    bits.skip(5 * present)
}

/// Reads over a MeasTriggerQuantity.
fn skip_threshold(bits: &mut BitReader<'_>) -> Result<(), RrcError> {
    match bits.take(2)? {
        0..=2 => bits.skip(7),
        _ => Err(RrcError::OutOfRange("MeasTriggerQuantity")),
    }
}

/// Reads a reportConfig.
fn take_report(bits: &mut BitReader<'_>) -> Result<ReportKind, RrcError> {
    if bits.flag()? {
        // reportConfigInterRAT, or that of the sidelink
        return bits.extension_alternative(|index, bits| {
            if index != EUTRA {
                return Ok(ReportKind::Other);
            }
            if bits.flag()? {
                return Ok(ReportKind::Other);
            }
            match bits.take(2)? {
                0 => Ok(ReportKind::InterRatPeriodical),
                1 => {
                    bits.skip(1)?;
                    let is_utra = bits.flag()?;
                    Ok(if is_utra { ReportKind::Other } else { ReportKind::EventB(bits.take(1)? as u8 + 1) })
                }
                2 => Ok(ReportKind::InterRatCgi),
                _ => Err(RrcError::OutOfRange("reportType")),
            }
        });
    }
    if bits.flag()? {
        // reportCGI is the first one
        return bits.extension_alternative(|index, _| Ok(if index == 0 { ReportKind::Cgi } else { ReportKind::Other }));
    }
    let is_event = bits.flag()?;
    let has_extension = bits.flag()?;
    let [has_indexes, has_count] = [bits.flag()?, bits.flag()?];
    let mut kind = ReportKind::Periodical;
    if is_event {
        bits.skip(1)?; // reportAddNeighMeas has one value
        kind = take_event(bits)?;
    }
    // rsType, reportInterval, reportAmount, reportQuantityCell, maxReportCells
    bits.skip(1 + 4 + 3 + 3 + 3)?;
    bits.skip(if has_indexes { 3 } else { 0 } + if has_count { 5 } else { 0 })?;
    // includeBeamMeasurements; of periodical reports useAllowedCellList
    bits.skip(if is_event { 1 } else { 2 })?;
    if has_extension {
        bits.skip_extensions()?;
    }
    Ok(kind)
}

/// Reads an eventId.
fn take_event(bits: &mut BitReader<'_>) -> Result<ReportKind, RrcError> {
    if bits.flag()? {
        return bits.extension_alternative(|_, _| Ok(ReportKind::Other));
    }
    let event = bits.take(3)? as u8 + 1;
    match event {
        1 | 2 | 4 => skip_threshold(bits)?,
        3 | 6 => match bits.take(2)? {
            0..=2 => bits.skip(6)?,
            _ => return Err(RrcError::OutOfRange("MeasTriggerQuantityOffset")),
        },
        5 => {
            skip_threshold(bits)?;
            skip_threshold(bits)?;
        }
        _ => return Err(RrcError::OutOfRange("eventId")),
    }
    // reportOnLeave, hysteresis, timeToTrigger; useAllowedCellList
    bits.skip(1 + 5 + 4 + usize::from(event > 2))?;
    Ok(ReportKind::EventA(event))
}

/// The expected octets are those of an independent encoder (pycrate 0.8.1).
#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_vectors::unhex;

    /// Each kind of report, and the removal of three.
    const ALL: &str = "0221700403800138800502420018004000627a01c0200420989ff024045c1313fe08811204c27fc19031c04c27fc21041c0f\
        42613fe160014808c2627fc6800724331404c4ff801c017fc08007f1c00000400420020c00c40041411460461c01c0";
    /// One report.
    const ONE: &str = "002150000380013880050242000fc811204c27fc07e07e";
    /// The removal of a report.
    const REMOVED: &str = "0620200080";
    /// What is not encoded here, with a secondaryCellGroup before it.
    const FOREIGN: &str = "04601891a2b3d80060027a5e1388006a6927100677c20d62c3260401008002c10211100c48070900284d004824401000401c\
        009755b09ad1cf2428003015d000e0009012040c23fffc080204c8";

    fn event(condition: Condition) -> Report {
        Report::Event { condition, hysteresis_db: 1.0, time_to_trigger_ms: 150 }
    }

    fn all() -> MeasurementConfiguration {
        let reports = [
            event(Condition::A1(-90.0)),
            event(Condition::A2(-110.0)),
            event(Condition::A3(3.0)),
            event(Condition::A4(-100.0)),
            event(Condition::A5(-100.0, -95.0)),
            event(Condition::B1(-105.0)),
            event(Condition::B2(-105.0, -100.0)),
            Report::Periodical { interval_ms: 500 },
        ];
        MeasurementConfiguration {
            transaction: 1,
            removed: vec![1, 2, 64],
            measurements: (1..).zip(reports).collect(),
            carrier: (640_000, 30),
            eutra_carrier: Some((1575, 100)),
        }
    }

    fn kinds() -> Vec<(u8, ReportKind)> {
        let events = (1..=5).map(ReportKind::EventA).chain([1, 2].map(ReportKind::EventB));
        (1..).zip(events.chain([ReportKind::Periodical])).collect()
    }

    fn messages() -> [(MeasurementConfiguration, &'static str, MeasurementChanges); 3] {
        let one = MeasurementConfiguration {
            measurements: vec![(64, event(Condition::A3(3.0)))],
            carrier: (640_000, 30),
            ..MeasurementConfiguration::default()
        };
        let removed =
            MeasurementConfiguration { transaction: 3, removed: vec![9], ..MeasurementConfiguration::default() };
        let changes = MeasurementChanges {
            reports: kinds(),
            removed: vec![1, 2, 64],
            added: (1..=8).map(|id| (id, id)).collect(),
            ..MeasurementChanges::default()
        };
        let changes_of_one = MeasurementChanges {
            reports: vec![(64, ReportKind::EventA(3))],
            added: vec![(64, 64)],
            ..MeasurementChanges::default()
        };
        let removal = MeasurementChanges { removed: vec![9], ..MeasurementChanges::default() };
        [(all(), ALL, changes), (one, ONE, changes_of_one), (removed, REMOVED, removal)]
    }

    #[test]
    fn configurations_match_vectors() {
        for (configuration, octets, changes) in messages() {
            let encoded = configuration.encode().unwrap();
            assert_eq!(encoded, unhex(octets), "{configuration:?}");
            assert_eq!(MeasurementChanges::decode_nr(&encoded), Ok(changes));
            for length in 0..encoded.len() - 2 {
                assert_eq!(MeasurementChanges::decode_nr(&encoded[..length]), Err(RrcError::Truncated), "{length}");
            }
        }
    }

    #[test]
    fn configuration_of_another_base_station_is_read() {
        let kinds = [
            ReportKind::Cgi,
            ReportKind::EventA(6),
            ReportKind::InterRatPeriodical,
            ReportKind::InterRatCgi,
            ReportKind::Periodical,
        ];
        let expected = MeasurementChanges {
            removed_reports: vec![9, 10],
            reports: (1..).zip(kinds).collect(),
            removed: Vec::new(),
            added: vec![(33, 2)],
        };
        assert_eq!(MeasurementChanges::decode_nr(&unhex(FOREIGN)), Ok(expected));
    }

    #[test]
    fn invalid_configurations_are_refused() {
        for (change, what) in [
            ((|wrong| wrong.transaction = 4) as fn(&mut MeasurementConfiguration), "rrc-TransactionIdentifier"),
            (|wrong| wrong.removed = vec![0], "measId"),
            (|wrong| wrong.measurements[0].0 = 65, "measId"),
            (|wrong| wrong.removed = vec![1; 65], "measId"),
            (|wrong| wrong.carrier.0 = MAX_ARFCN + 1, "ssbFrequency"),
            (|wrong| wrong.carrier.1 = 17, "ssbSubcarrierSpacing"),
            (|wrong| wrong.eutra_carrier = None, "the carrier of E-UTRA"),
            (|wrong| wrong.eutra_carrier = Some((1, 7)), "allowedMeasBandwidth"),
        ] {
            let mut wrong = all();
            change(&mut wrong);
            assert_eq!(wrong.encode(), Err(RrcError::OutOfRange(what)));
        }
        assert!(matches!(MeasurementChanges::decode_nr(&[0x08, 0, 0]), Err(RrcError::Unsupported(_))));
        // radioBearerConfig
        assert!(matches!(MeasurementChanges::decode_nr(&[0x00, 0x80, 0, 0]), Err(RrcError::Unsupported(_))));
    }

    #[test]
    fn any_octets_are_read_or_refused() {
        for vector in [ALL, FOREIGN].map(unhex) {
            for at in 0..vector.len() {
                for value in 0..=255 {
                    let mut octets = vector.clone();
                    octets[at] = value;
                    if let Ok(changes) = MeasurementChanges::decode_nr(&octets) {
                        assert!(changes.added.len() <= 64 && changes.reports.len() <= 64);
                    }
                }
            }
        }
    }
}
