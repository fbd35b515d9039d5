//! RRCConnectionReconfiguration on DL-DCCH, as far as it configures measurements (TS 36.331 5.3.5.3, 5.5.2 and 6.3.5 MeasConfig).

use crate::rrc_bits::{BitReader, Bits};
use crate::rrc_measurements::{MeasConfig, OTHER, OWN, hysteresis, nearest, offset, time_to_trigger};

use super::reconfiguration::BANDWIDTHS;
use super::{Condition, MeasurementChanges, RRC_CONNECTION_RECONFIGURATION, Report, ReportKind, RrcError};

/// The values of ReportInterval, in ms.
const INTERVALS_MS: [u64; 13] =
    [120, 240, 480, 640, 1024, 2048, 5120, 10_240, 60_000, 360_000, 720_000, 1_800_000, 3_600_000];
/// The interval of the reports of an event while it lasts, in ms.
const EVENT_INTERVAL_MS: u64 = 1024;
/// maxCellReport.
const MAX_REPORTED_CELLS: u32 = 8;
/// The largest ARFCN-ValueNR-r15.
const MAX_NR_ARFCN: u32 = 3_279_165;
/// The subcarrier spacings of SSBs, in kHz.
const SPACINGS_KHZ: [u16; 4] = [15, 30, 120, 240];
/// The index of NR among the extensions of measObject.
const NR_OBJECT: u32 = 1;
/// The index of event B1-NR among the extensions of eventId; B2-NR follows.
const B1_NR: u32 = 3;
/// Its MeasConfig: behind the lists are quantityConfig, measGapConfig, s-Measure, preRegistrationInfoHRPD and speedStatePars.
const MEAS_CONFIG: MeasConfig = MeasConfig { id_bits: 5, later_members: 5 };

/// An RRCConnectionReconfiguration that replaces measurements of a UE.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MeasurementConfiguration {
    /// rrc-TransactionIdentifier, 0 to 3.
    pub transaction: u8,
    /// The measurement identities that are removed before, 1 to 32. A UE ignores those that it does not have.
    pub removed: Vec<u8>,
    /// The measurements by identity, 1 to 32. That is their reportConfigId too.
    pub measurements: Vec<(u8, Report)>,
    /// The carrier of the cell, EARFCN and PRBs: the object of measurements of E-UTRA.
    pub carrier: (u16, u8),
    /// A carrier of NR, ARFCN and subcarrier spacing of its SSB in kHz: the object of measurements of NR, which need it.
    pub nr_carrier: Option<(u32, u16)>,
}

impl MeasurementConfiguration {
    /// Encodes a DL-DCCH-Message.
    ///
    /// # Errors
    /// [`RrcError::OutOfRange`].
    pub fn encode(&self) -> Result<Vec<u8>, RrcError> {
        MEAS_CONFIG.check(self.transaction, &self.removed, &self.measurements)?;
        let has_inter_rat = self.measurements.iter().any(|(_, report)| report.is_inter_rat());
        let other = self.nr_carrier.filter(|_| has_inter_rat);
        if has_inter_rat && other.is_none() {
            return Err(RrcError::OutOfRange("the carrier of NR"));
        }
        let mut bits = Bits::default();
        bits.push(0, 1); // c1
        bits.push(RRC_CONNECTION_RECONFIGURATION as u32, 4);
        bits.push(self.transaction.into(), 2);
        bits.push(0, 1); // criticalExtensions: c1
        bits.push(0, 3); // rrcConnectionReconfiguration-r8
        bits.push(0b10_0000, 6); // measConfig only
        let push_objects = |bits: &mut Bits| {
            push_object(self.carrier, bits)?;
            other.map_or(Ok(()), |other| push_nr_object(other, bits))
        };
        let objects = (1 + u32::from(other.is_some()), push_objects);
        MEAS_CONFIG.encode(&self.removed, &self.measurements, objects, push_report, &mut bits)?;
        Ok(bits.octets)
    }
}

/// Encodes a MeasObjectToAddMod of E-UTRA.
fn push_object((earfcn, prbs): (u16, u8), bits: &mut Bits) -> Result<(), RrcError> {
    let bandwidth = BANDWIDTHS.iter().position(|known| *known == prbs);
    let bandwidth = bandwidth.ok_or(RrcError::OutOfRange("allowedMeasBandwidth"))?;
    bits.push(OWN - 1, 5);
    bits.push(0, 3); // no extension, measObjectEUTRA
    bits.push(0, 7); // no extension, no optional member
    bits.push(earfcn.into(), 16);
    bits.push(bandwidth as u32, 3);
    bits.push(0b0_00, 3); // presenceAntennaPort1, neighCellConfig
    Ok(())
}

/// Encodes a MeasObjectToAddMod of NR.
fn push_nr_object((arfcn, spacing_khz): (u32, u16), bits: &mut Bits) -> Result<(), RrcError> {
    let spacing = SPACINGS_KHZ.iter().position(|khz| *khz == spacing_khz);
    let spacing = spacing.ok_or(RrcError::OutOfRange("subcarrierSpacingSSB"))?;
    if arfcn > MAX_NR_ARFCN {
        return Err(RrcError::OutOfRange("carrierFreq"));
    }
    let mut object = Bits::default();
    object.push(0, 7); // no extension, no optional member
    object.push(arfcn, 22);
    object.push(0, 1); // no extension of rs-ConfigSSB
    object.push(2, 3); // every 20 ms
    object.push(0, 5); // without an offset
    object.push(4, 3); // 5 ms
    object.push(spacing as u32, 2);
    object.push(0, 1); // quantityConfigSet 1
    bits.push(OTHER - 1, 5);
    push_alternative(NR_OBJECT, object, bits)
}

/// Encodes an alternative of a choice that is an extension.
fn push_alternative(index: u32, content: Bits, bits: &mut Bits) -> Result<(), RrcError> {
    bits.push(1, 1);
    bits.push(index, 7);
    bits.push_open(content)
}

/// Encodes a reportConfig.
fn push_report(report: Report, bits: &mut Bits) -> Result<(), RrcError> {
    bits.push(u32::from(report.is_inter_rat()), 1);
    bits.push(0, 1); // no extension
    let interval_ms = match report {
        Report::Periodical { interval_ms } => {
            bits.push(1, 1); // periodical
            bits.push(0, 1); // reportStrongestCells
            interval_ms
        }
        Report::Event { condition, hysteresis_db, time_to_trigger_ms } => {
            bits.push(0, 1); // event
            push_event(condition, bits)?;
            bits.push(hysteresis(hysteresis_db), 5);
            bits.push(time_to_trigger(time_to_trigger_ms), 4);
            EVENT_INTERVAL_MS
        }
    };
    if !report.is_inter_rat() {
        bits.push(0, 1); // triggerQuantity: rsrp
        bits.push(1, 1); // reportQuantity: both
    }
    bits.push(MAX_REPORTED_CELLS - 1, 3);
    bits.push(nearest(&INTERVALS_MS, interval_ms), 4);
    bits.push(7, 3); // reportAmount: infinity
    Ok(())
}

/// Encodes an eventId.
fn push_event(condition: Condition, bits: &mut Bits) -> Result<(), RrcError> {
    let (event, thresholds): (u32, &[f64]) = match &condition {
        Condition::A1(one) => (0, &[*one]),
        Condition::A2(one) => (1, &[*one]),
        Condition::A3(_) => (2, &[]),
        Condition::A4(one) => (3, &[*one]),
        Condition::A5(one, two) => (4, &[*one, *two]),
        Condition::B1(_) | Condition::B2(..) => {
            let mut content = Bits::default();
            let (event, nr_dbm) = match condition {
                Condition::B2(serving, other) => {
                    push_threshold(serving, &mut content);
                    (B1_NR + 1, other)
                }
                Condition::B1(other) => (B1_NR, other),
                _ => return Err(RrcError::OutOfRange("an event")),
            };
            content.push(0, 2); // nr-RSRP
            // RSRP-Range as a threshold (TS 38.331 6.3.2)
            content.push((nr_dbm.round() + 156.0).clamp(0.0, 126.0) as u32, 7);
            content.push(0, 1); // reportOnLeave
            return push_alternative(event, content, bits);
        }
    };
    bits.push(0, 1); // no extension
    bits.push(event, 3);
    thresholds.iter().for_each(|dbm| push_threshold(*dbm, bits));
    if let Condition::A3(db) = condition {
        bits.push(offset(db), 6);
        bits.push(0, 1); // reportOnLeave
    }
    Ok(())
}

/// Encodes a ThresholdEUTRA: RSRP-Range as a threshold.
fn push_threshold(dbm: f64, bits: &mut Bits) {
    bits.push(0, 1); // threshold-RSRP
    bits.push((dbm.round() + 140.0).clamp(0.0, 97.0) as u32, 7);
}

impl MeasurementChanges {
    /// Decodes a DL-DCCH-Message of E-UTRA.
    ///
    /// # Errors
    /// [`RrcError`].
    pub fn decode_eutra(octets: &[u8]) -> Result<Self, RrcError> {
        let mut bits = BitReader { octets, at: 0 };
        if bits.take(1)? != 0 || i64::from(bits.take(4)?) != RRC_CONNECTION_RECONFIGURATION {
            return Err(RrcError::Unsupported("a message other than RRCConnectionReconfiguration"));
        }
        bits.skip(2)?;
        bits.expect_zero(4, "a critical extension of RRCConnectionReconfiguration")?;
        let has_measurements = bits.flag()?;
        bits.skip(5)?; // what follows measConfig
        if !has_measurements {
            return Ok(MeasurementChanges::default());
        }
        MEAS_CONFIG.decode(&mut bits, skip_object, take_report)
    }
}

/// Reads over a MeasObjectToAddMod.
fn skip_object(bits: &mut BitReader<'_>) -> Result<(), RrcError> {
    bits.skip(5)?;
    if bits.flag()? {
        return bits.extension_alternative(|_, _| Ok(()));
    }
    bits.expect_zero(2, "a measurement object of UTRA, GERAN or CDMA2000")?;
    let has_extension = bits.flag()?;
    let mut present = [false; 6];
    for is_present in &mut present {
        *is_present = bits.flag()?;
    }
    let [has_offset, removed, added, excluded_removed, excluded, has_cgi] = present;
    bits.skip(16 + 3 + 1 + 2)?;
    bits.skip(if has_offset { 5 } else { 0 })?;
    if removed {
        bits.list(5, |bits| bits.skip(5))?;
    }
    if added {
        // cellIndex, physCellId, cellIndividualOffset
        bits.list(5, |bits| bits.skip(5 + 9 + 5))?;
    }
    if excluded_removed {
        bits.list(5, |bits| bits.skip(5))?;
    }
    if excluded {
        bits.list(5, |bits| {
            bits.skip(5)?;
            let has_range = bits.flag()?;
            bits.skip(if has_range { 9 + 4 } else { 9 })
        })?;
    }
    bits.skip(if has_cgi { 9 } else { 0 })?;
    if has_extension { bits.skip_extensions() } else { Ok(()) }
}

/// Reads over a ThresholdEUTRA.
fn skip_threshold(bits: &mut BitReader<'_>) -> Result<(), RrcError> {
    let is_rsrq = bits.flag()?;
    bits.skip(if is_rsrq { 6 } else { 7 })
}

/// Reads a reportConfig.
fn take_report(bits: &mut BitReader<'_>) -> Result<ReportKind, RrcError> {
    let is_inter_rat = bits.flag()?;
    let has_extension = bits.flag()?;
    let is_periodical = bits.flag()?;
    let kind = match (is_inter_rat, is_periodical) {
        (false, false) => take_event(bits)?,
        (true, false) => take_inter_rat_event(bits)?,
        (false, true) => {
            if bits.flag()? {
                ReportKind::Cgi
            } else {
                ReportKind::Periodical
            }
        }
        (true, true) => match bits.take(2)? {
            0 => ReportKind::InterRatPeriodical,
            1 => ReportKind::PeriodicalForSon,
            2 => ReportKind::InterRatCgi,
            _ => return Err(RrcError::OutOfRange("purpose")),
        },
    };
    // hysteresis and timeToTrigger of events
    bits.skip(if is_periodical { 0 } else { 5 + 4 })?;
    // triggerQuantity and reportQuantity of E-UTRA; maxReportCells, reportInterval, reportAmount
    bits.skip(if is_inter_rat { 0 } else { 2 } + 3 + 4 + 3)?;
    if has_extension {
        bits.skip_extensions()?;
    }
    Ok(kind)
}

/// Reads an eventId of E-UTRA.
fn take_event(bits: &mut BitReader<'_>) -> Result<ReportKind, RrcError> {
    if bits.flag()? {
        // A6 is the first extension
        return bits
            .extension_alternative(|index, _| Ok(if index == 0 { ReportKind::EventA(6) } else { ReportKind::Other }));
    }
    let event = bits.take(3)? as u8 + 1;
    match event {
        1 | 2 | 4 => skip_threshold(bits)?,
        3 => bits.skip(6 + 1)?,
        5 => {
            skip_threshold(bits)?;
            skip_threshold(bits)?;
        }
        _ => return Err(RrcError::OutOfRange("eventId")),
    }
    Ok(ReportKind::EventA(event))
}

/// Reads an eventId of other radio access technologies.
fn take_inter_rat_event(bits: &mut BitReader<'_>) -> Result<ReportKind, RrcError> {
    if !bits.flag()? {
        return Err(RrcError::Unsupported("an event of UTRA, GERAN or CDMA2000"));
    }
    bits.extension_alternative(|index, _| {
        Ok(match index {
            B1_NR => ReportKind::EventB(1),
            index if index == B1_NR + 1 => ReportKind::EventB(2),
            _ => ReportKind::Other,
        })
    })
}

/// The expected octets are those of an independent encoder (pycrate 0.8.1).
#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_vectors::unhex;

    /// Each kind of report, and the removal of three.
    const ALL: &str = "2210170040000313d018106004e20010220380019099e9c204784cf4e205204cf4e30650267a7204282d133d39641810cc00\
        9ba7348403231c001374e727971003f38000080220086019004284a6098e0380";
    /// One report.
    const ONE: &str = "2010150000000313d00f8290267a707c1f";
    /// The removal of a report.
    const REMOVED: &str = "2610020010";
    /// What is not encoded here.
    const FOREIGN: &str = "24103d200c0107e00c82c8000049b00082081482030b0284900f0002600018008800182133d38aa600ec60100ca133d383c2\
        0b20";

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
            removed: vec![1, 2, 32],
            measurements: (1..).zip(reports).collect(),
            carrier: (1575, 100),
            nr_carrier: Some((640_000, 30)),
        }
    }

    #[test]
    fn configurations_match_vectors() {
        let one = MeasurementConfiguration {
            measurements: vec![(32, event(Condition::A3(3.0)))],
            carrier: (1575, 100),
            ..MeasurementConfiguration::default()
        };
        let removed =
            MeasurementConfiguration { transaction: 3, removed: vec![9], ..MeasurementConfiguration::default() };
        let events = (1..=5).map(ReportKind::EventA).chain([1, 2].map(ReportKind::EventB));
        let changes = MeasurementChanges {
            reports: (1..).zip(events.chain([ReportKind::Periodical])).collect(),
            removed: vec![1, 2, 32],
            added: (1..=8).map(|id| (id, id)).collect(),
            ..MeasurementChanges::default()
        };
        let changes_of_one = MeasurementChanges {
            reports: vec![(32, ReportKind::EventA(3))],
            added: vec![(32, 32)],
            ..MeasurementChanges::default()
        };
        let removal = MeasurementChanges { removed: vec![9], ..MeasurementChanges::default() };
        for (configuration, octets, changes) in
            [(all(), ALL, changes), (one, ONE, changes_of_one), (removed, REMOVED, removal)]
        {
            let encoded = configuration.encode().unwrap();
            assert_eq!(encoded, unhex(octets), "{configuration:?}");
            assert_eq!(MeasurementChanges::decode_eutra(&encoded), Ok(changes));
            for length in 0..encoded.len() - 2 {
                assert_eq!(MeasurementChanges::decode_eutra(&encoded[..length]), Err(RrcError::Truncated), "{length}");
            }
        }
    }

    #[test]
    fn configuration_of_another_base_station_is_read() {
        let kinds = [
            ReportKind::Cgi,
            ReportKind::EventA(6),
            ReportKind::PeriodicalForSon,
            ReportKind::InterRatCgi,
            ReportKind::EventA(2),
        ];
        let expected = MeasurementChanges {
            removed_reports: vec![9, 10],
            reports: (1..).zip(kinds).collect(),
            removed: Vec::new(),
            added: vec![(31, 2)],
        };
        assert_eq!(MeasurementChanges::decode_eutra(&unhex(FOREIGN)), Ok(expected));
    }

    #[test]
    fn invalid_configurations_are_refused() {
        for (change, what) in [
            ((|wrong| wrong.transaction = 4) as fn(&mut MeasurementConfiguration), "rrc-TransactionIdentifier"),
            (|wrong| wrong.removed = vec![33], "measId"),
            (|wrong| wrong.measurements[0].0 = 0, "measId"),
            (|wrong| wrong.carrier.1 = 7, "allowedMeasBandwidth"),
            (|wrong| wrong.nr_carrier = None, "the carrier of NR"),
            (|wrong| wrong.nr_carrier = Some((1, 60)), "subcarrierSpacingSSB"),
            (|wrong| wrong.nr_carrier = Some((MAX_NR_ARFCN + 1, 30)), "carrierFreq"),
        ] {
            let mut wrong = all();
            change(&mut wrong);
            assert_eq!(wrong.encode(), Err(RrcError::OutOfRange(what)));
        }
        assert!(matches!(MeasurementChanges::decode_eutra(&[0x08, 0, 0]), Err(RrcError::Unsupported(_))));
    }

    #[test]
    fn any_octets_are_read_or_refused() {
        for vector in [ALL, FOREIGN].map(unhex) {
            for at in 0..vector.len() {
                for value in 0..=255 {
                    let mut octets = vector.clone();
                    octets[at] = value;
                    if let Ok(changes) = MeasurementChanges::decode_eutra(&octets) {
                        assert!(changes.added.len() <= 32 && changes.reports.len() <= 32);
                    }
                }
            }
        }
    }
}
