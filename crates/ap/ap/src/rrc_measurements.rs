//! Configurations of measurements, of NR and of E-UTRA: what a message configures, and what a reader has to know of it.

use crate::rrc_bits::{BitReader, RrcError};

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
