//! Configurations of measurements, of NR and of E-UTRA: what a message configures, and what a reader has to know of it.

use crate::rrc_bits::{BitReader, Bits, RrcError};

/// The values of TimeToTrigger, in ms.
const TIMES_TO_TRIGGER_MS: [u16; 16] = [0, 40, 64, 80, 100, 128, 160, 256, 320, 480, 512, 640, 1024, 1280, 2560, 5120];
/// The largest hysteresis, in units of 0.5 dB.
const MAX_HYSTERESIS: f64 = 30.0;
/// The largest offset of event A3, in units of 0.5 dB.
const MAX_OFFSET: f64 = 30.0;

/// What triggers the reports of a measurement: reportType of NR (TS 38.331 6.3.2, ReportConfigNR and ReportConfigInterRAT), or
/// triggerType of E-UTRA (TS 36.331 6.3.5, ReportConfigEUTRA and ReportConfigInterRAT).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReportKind {
    /// Periodical reports of the serving cell and the strongest neighbours.
    Periodical,
    /// The same, to find neighbours (E-UTRA only).
    PeriodicalForSon,
    /// The global identity of a cell.
    Cgi,
    /// An event of the serving cell and its neighbours, by number: A1 to A6.
    EventA(u8),
    /// An event of cells of another radio access technology, by number: B1 and B2.
    EventB(u8),
    /// Periodical reports of cells of another radio access technology.
    InterRatPeriodical,
    /// The global identity of a cell of another radio access technology.
    InterRatCgi,
    /// Something else.
    Other,
}

/// The condition of an event, on RSRP.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Condition {
    /// The serving cell is better than a threshold, in dBm.
    A1(f64),
    /// The serving cell is worse than a threshold, in dBm.
    A2(f64),
    /// A neighbour is better than the serving cell by an offset, in dB.
    A3(f64),
    /// A neighbour is better than a threshold, in dBm.
    A4(f64),
    /// The serving cell is worse than the first threshold, and a neighbour better than the second one, in dBm.
    A5(f64, f64),
    /// A cell of the other radio access technology is better than a threshold, in dBm.
    B1(f64),
    /// The serving cell is worse than the first threshold, and one of the other radio access technology better than the second one,
    /// in dBm.
    B2(f64, f64),
}

impl Condition {
    /// Whether it is of the other radio access technology.
    pub(crate) fn is_inter_rat(self) -> bool {
        matches!(self, Condition::B1(_) | Condition::B2(..))
    }
}

/// When a UE reports. A message has the nearest of its values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Report {
    /// Periodically.
    Periodical {
        /// reportInterval, in ms.
        interval_ms: u64,
    },
    /// By an event.
    Event {
        /// Its condition.
        condition: Condition,
        /// Hysteresis, 0 to 15 dB.
        hysteresis_db: f64,
        /// timeToTrigger, in ms.
        time_to_trigger_ms: u64,
    },
}

impl Report {
    /// Whether it is of the other radio access technology.
    pub(crate) fn is_inter_rat(self) -> bool {
        matches!(self, Report::Event { condition, .. } if condition.is_inter_rat())
    }
}

/// What a message changes of the measurements of a UE, in this order (TS 38.331 5.5.2.1, TS 36.331 5.5.2.1).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MeasurementChanges {
    /// reportConfigToRemoveList.
    pub removed_reports: Vec<u8>,
    /// reportConfigToAddModList: by reportConfigId.
    pub reports: Vec<(u8, ReportKind)>,
    /// measIdToRemoveList.
    pub removed: Vec<u8>,
    /// measIdToAddModList: measId, and its reportConfigId.
    pub added: Vec<(u8, u8)>,
}

/// MeasConfig (TS 38.331 6.3.2, TS 36.331 6.3.5), as far as it has one form in NR and E-UTRA: lists of objects, reports and measurement
/// identities. A measurement has the number of its report.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MeasConfig {
    /// The bits of an identity and of the length of a list, which both count from 1.
    pub id_bits: usize,
    /// The optional members that follow the lists.
    pub later_members: usize,
}

/// The identities of the measurement objects: the carrier of the cell, and one of the other radio access technology.
pub(crate) const OWN: u32 = 1;
pub(crate) const OTHER: u32 = 2;

impl MeasConfig {
    /// Checks rrc-TransactionIdentifier and identities.
    pub fn check(self, transaction: u8, removed: &[u8], measurements: &[(u8, Report)]) -> Result<(), RrcError> {
        if transaction > 3 {
            return Err(RrcError::OutOfRange("rrc-TransactionIdentifier"));
        }
        let most = 1_usize << self.id_bits;
        let mut ids = removed.iter().chain(measurements.iter().map(|(id, _)| id));
        let count = removed.len().max(measurements.len());
        if ids.any(|id| !(1..=most).contains(&usize::from(*id))) || count > most {
            return Err(RrcError::OutOfRange("measId"));
        }
        Ok(())
    }

    /// Encodes what was checked, with a number of objects.
    pub fn encode(
        self,
        removed: &[u8],
        measurements: &[(u8, Report)],
        (object_count, push_objects): (u32, impl FnOnce(&mut Bits) -> Result<(), RrcError>),
        push_report: impl Fn(Report, &mut Bits) -> Result<(), RrcError>,
        bits: &mut Bits,
    ) -> Result<(), RrcError> {
        let id_bits = self.id_bits;
        let [has_removed, has_measurements] = [!removed.is_empty(), !measurements.is_empty()];
        bits.push(0, 1); // no extension
        let optional = [false, has_measurements, false, has_measurements, has_removed, has_measurements];
        optional.iter().for_each(|is_there| bits.push(u32::from(*is_there), 1));
        bits.push(0, self.later_members);
        if has_measurements {
            bits.push(object_count - 1, id_bits);
            push_objects(bits)?;
            bits.push(measurements.len() as u32 - 1, id_bits);
            for (id, report) in measurements {
                bits.push(u32::from(*id) - 1, id_bits);
                push_report(*report, bits)?;
            }
        }
        if has_removed {
            bits.push(removed.len() as u32 - 1, id_bits);
            removed.iter().for_each(|id| bits.push(u32::from(*id) - 1, id_bits));
        }
        if has_measurements {
            bits.push(measurements.len() as u32 - 1, id_bits);
            for (id, report) in measurements {
                let object = if report.is_inter_rat() { OTHER } else { OWN };
                [u32::from(*id), object, u32::from(*id)].iter().for_each(|id| bits.push(id - 1, id_bits));
            }
        }
        Ok(())
    }

    /// Decodes the lists; what follows them is not read.
    pub fn decode(
        self,
        bits: &mut BitReader<'_>,
        skip_object: impl FnMut(&mut BitReader<'_>) -> Result<(), RrcError>,
        take_report: impl Fn(&mut BitReader<'_>) -> Result<ReportKind, RrcError>,
    ) -> Result<MeasurementChanges, RrcError> {
        let id_bits = self.id_bits;
        let mut changes = MeasurementChanges::default();
        bits.skip(1)?; // extensions are at the end
        let mut present = [false; 6];
        for is_present in &mut present {
            *is_present = bits.flag()?;
        }
        bits.skip(self.later_members)?;
        let id = |bits: &mut BitReader<'_>| Ok(bits.take(id_bits)? as u8 + 1);
        let [removes_objects, has_objects, removes_reports, has_reports, removes, has_added] = present;
        if removes_objects {
            bits.list(id_bits, id)?;
        }
        if has_objects {
            bits.list(id_bits, skip_object)?;
        }
        if removes_reports {
            changes.removed_reports = bits.list(id_bits, id)?;
        }
        if has_reports {
            changes.reports = bits.list(id_bits, |bits| Ok((id(bits)?, take_report(bits)?)))?;
        }
        if removes {
            changes.removed = bits.list(id_bits, id)?;
        }
        if has_added {
            changes.added = bits.list(id_bits, |bits| {
                let meas_id = id(bits)?;
                bits.skip(id_bits)?;
                Ok((meas_id, id(bits)?))
            })?;
        }
        Ok(changes)
    }
}

/// The index of the value that is nearest.
pub(crate) fn nearest(values: &[u64], wanted: u64) -> u32 {
    let distance = |index: &usize| values[*index].abs_diff(wanted);
    (0..values.len()).min_by_key(distance).unwrap_or(0) as u32
}

/// The index of the nearest TimeToTrigger.
pub(crate) fn time_to_trigger(ms: u64) -> u32 {
    nearest(&TIMES_TO_TRIGGER_MS.map(u64::from), ms)
}

/// A Hysteresis.
pub(crate) fn hysteresis(db: f64) -> u32 {
    (2.0 * db).round().clamp(0.0, MAX_HYSTERESIS) as u32
}

/// The offset of event A3, from -30.
pub(crate) fn offset(db: f64) -> u32 {
    ((2.0 * db).round().clamp(-MAX_OFFSET, MAX_OFFSET) + MAX_OFFSET) as u32
}

impl BitReader<'_> {
    /// Reads a list: the bits of its length, which counts from 1, and its items.
    pub fn list<T>(
        &mut self,
        length_bits: usize,
        mut item: impl FnMut(&mut Self) -> Result<T, RrcError>,
    ) -> Result<Vec<T>, RrcError> {
        (0..=self.take(length_bits)?).map(|_| item(self)).collect()
    }

    /// Reads over bits.
    pub fn skip(&mut self, bits: usize) -> Result<(), RrcError> {
        self.at += bits;
        if self.at > 8 * self.octets.len() { Err(RrcError::Truncated) } else { Ok(()) }
    }

    /// Reads the index of an alternative that is an extension, and its content by `read`; the reader is behind it then.
    pub fn extension_alternative<T>(
        &mut self,
        read: impl FnOnce(u32, &mut Self) -> Result<T, RrcError>,
    ) -> Result<T, RrcError> {
        self.expect_zero(1, "an alternative above 63")?;
        let index = self.take(6)?;
        let octets = self.open_length()?;
        let mut content = *self;
        self.skip(8 * octets)?;
        let value = read(index, &mut content)?;
        if content.at > self.at { Err(RrcError::Truncated) } else { Ok(value) }
    }
}
