//! Measurements: names, labels and values.

use core::ops::Deref;

use per::{Error, List, Per, PrintableString, Real};

use super::{LabelInfoList, MatchCondReportItem};
use crate::common::True;

/// MeasurementTypeName, 1 to 150 characters (KPM 8.3.9).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
#[per(size = 1..=150, extensible)]
pub struct MeasurementTypeName<'a>(pub PrintableString<'a>);

impl Deref for MeasurementTypeName<'_> {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

impl<'a> TryFrom<&'a str> for MeasurementTypeName<'a> {
    type Error = Error;

    /// # Errors
    /// [`per::ErrorKind::BadCharacter`] if the text has a character that is not printable ASCII.
    fn try_from(text: &'a str) -> Result<Self, Error> {
        PrintableString::try_from(text).map(MeasurementTypeName)
    }
}

/// MeasurementTypeID (KPM 8.3.10).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
#[per(range = 1..=65536, extensible)]
pub struct MeasurementTypeId(pub u32);

/// MeasurementType: a measurement by name or number.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible, hot)]
pub enum MeasurementType<'a> {
    /// By its name.
    MeasName(MeasurementTypeName<'a>),
    /// By the number that the RAN function definition gives it.
    MeasId(MeasurementTypeId),
}

/// GranularityPeriod: the period that one record covers, in milliseconds, at least 1 (KPM 8.3.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
#[per(range = 1..=4_294_967_295)]
pub struct GranularityPeriod(pub u32);

/// MeasurementInfoItem: a measurement and its labels.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible, hot)]
pub struct MeasurementInfoItem<'a> {
    /// The measurement.
    pub meas_type: MeasurementType<'a>,
    /// Its subcounters.
    pub label_info_list: LabelInfoList<'a>,
    /// Conditions for reporting a value (v04.00).
    #[per(addition, since = 3, size = 1..=32768)]
    pub match_cond_report_list: Option<List<'a, MatchCondReportItem<'a>>>,
}

/// MeasurementDataItem: the values of one granularity period.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible, hot)]
pub struct MeasurementDataItem<'a> {
    /// The values, in the order of the measurements and of their labels.
    #[per(size = 1..=2_147_483_647)]
    pub meas_record: List<'a, MeasurementRecordItem<'a>>,
    /// The values are not reliable.
    pub incomplete_flag: Option<True>,
}

/// MeasurementRecordItem: a value.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible, hot)]
pub enum MeasurementRecordItem<'a> {
    /// A whole number.
    Integer(u32),
    /// A real number.
    Real(Real<'a>),
    /// No value.
    NoValue,
    /// The value does not meet the condition for reporting it (v04.00).
    #[per(addition, since = 3)]
    NotSatisfied,
}

/// BinIndex: the number of a bin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
#[per(range = 1..=65535, extensible)]
pub struct BinIndex(pub u16);

/// BinRangeValue: a bound of a bin.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub enum BinRangeValue<'a> {
    /// A whole number.
    ValueInt(i64),
    /// A real number.
    ValueReal(Real<'a>),
}

/// BinRangeItem: a bin of a distribution.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct BinRangeItem<'a> {
    /// Its number.
    pub bin_index: BinIndex,
    /// Its lower bound.
    pub start_value: BinRangeValue<'a>,
    /// Its upper bound.
    pub end_value: BinRangeValue<'a>,
}

/// BinRangeDefinition: the bins of a distribution, in up to three dimensions (v02.03).
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct BinRangeDefinition<'a> {
    /// The first dimension.
    #[per(size = 1..=65535)]
    pub bin_range_list_x: List<'a, BinRangeItem<'a>>,
    /// The second dimension.
    #[per(size = 1..=65535)]
    pub bin_range_list_y: Option<List<'a, BinRangeItem<'a>>>,
    /// The third dimension.
    #[per(size = 1..=65535)]
    pub bin_range_list_z: Option<List<'a, BinRangeItem<'a>>>,
}

/// DistMeasurementBinRangeItem: the requested bins of a distribution (v02.03).
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct DistMeasurementBinRangeItem<'a> {
    /// The measurement.
    pub meas_type: MeasurementType<'a>,
    /// Its bins.
    pub bin_range_def: BinRangeDefinition<'a>,
}
