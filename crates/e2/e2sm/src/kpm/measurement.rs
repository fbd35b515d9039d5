//! Measurements: names, labels and values.

use core::ops::Deref;

use per::{Error, List, ListBuilder, Per, PrintableString, Reader, Real, Store};

use super::label::NO_LABEL_OCTETS;
use super::{LabelInfoList, MatchCondReportItem};
use crate::common::True;

/// MeasurementTypeName, 1 to 150 characters (KPM 8.3.9).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
#[per(size = 1..=150, extensible)]
pub struct MeasurementTypeName<'a>(pub PrintableString<'a>);

impl<'a> Deref for MeasurementTypeName<'a> {
    type Target = PrintableString<'a>;
    fn deref(&self) -> &PrintableString<'a> {
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
#[per(extensible, hot, shortcut = named_without_label)]
pub struct MeasurementInfoItem<'a> {
    /// The measurement.
    pub meas_type: MeasurementType<'a>,
    /// Its subcounters.
    pub label_info_list: LabelInfoList<'a>,
    /// Conditions for reporting a value (v04.00).
    #[per(addition, since = 3, size = 1..=32768)]
    pub match_cond_report_list: Option<List<'a, MatchCondReportItem<'a>>>,
}

/// Reads a measurement by its name, without a label, at an octet boundary: four zero bits (no extension of the item, of the
/// type and of the size; the alternative measName), the length of the name in eight bits, padding, the name, and the label list.
#[inline(always)]
fn named_without_label<'a, S: Store<'a>>(
    reader: &mut Reader<'a, S>,
    items: &mut impl ListBuilder<'a, MeasurementInfoItem<'a>>,
) -> bool {
    let Some((&head, rest)) = reader.octets_ahead().and_then(|octets| octets.split_first_chunk::<2>()) else {
        return false;
    };
    let length = usize::from(u16::from_be_bytes(head) >> 4) + 1;
    if length > 150 {
        return false; // or an extension bit, or the alternative measID
    }
    let Some((name, rest)) = rest.split_at_checked(length) else { return false };
    if !rest.starts_with(&NO_LABEL_OCTETS) {
        return false;
    }
    let Some(name) = PrintableString::from_octets(name) else { return false };
    reader.skip_octets(2 + length + NO_LABEL_OCTETS.len());
    items.push(MeasurementInfoItem {
        meas_type: MeasurementType::MeasName(MeasurementTypeName(name)),
        label_info_list: LabelInfoList::NO_LABEL,
        match_cond_report_list: None,
    });
    true
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
#[per(extensible, hot, shortcut = whole_number)]
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

/// Reads a whole number at an octet boundary: three zero bits (no extension, the alternative integer), the number of octets
/// less one in two bits, padding, and the octets.
#[inline(always)]
fn whole_number<'a, S: Store<'a>>(
    reader: &mut Reader<'a, S>,
    items: &mut impl ListBuilder<'a, MeasurementRecordItem<'a>>,
) -> bool {
    let Some(&[head, ref number @ ..]) = reader.octets_ahead().and_then(|octets| octets.first_chunk::<5>()) else {
        return false;
    };
    if head & 0xE0 != 0 {
        return false;
    }
    let count = u32::from(head >> 3) + 1;
    reader.skip_octets(1 + count as usize);
    let number = u32::from_be_bytes([number[0], number[1], number[2], number[3]]);
    items.push(MeasurementRecordItem::Integer(number >> (32 - 8 * count)));
    true
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
