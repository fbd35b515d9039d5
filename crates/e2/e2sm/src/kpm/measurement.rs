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

/// Reads measurements by name, without a label, from an octet boundary: four zero bits (no extension of the item, of the type
/// and of the size; the alternative measName), the length of the name in eight bits, padding, the name, and the label list.
#[inline(always)]
fn named_without_label<'a, S: Store<'a>>(
    reader: &mut Reader<'a, S>,
    most: usize,
    items: &mut impl ListBuilder<'a, MeasurementInfoItem<'a>>,
) -> usize {
    let Some(octets) = reader.octets_ahead() else { return 0 };
    let (mut rest, mut count) = (octets, 0);
    while count < most
        && let Some((&head, after)) = rest.split_first_chunk::<2>()
        // a longer one has an extension bit, or is the alternative measID
        && let length @ 1..=150 = usize::from(u16::from_be_bytes(head) >> 4) + 1
        && let Some((name, after)) = after.split_at_checked(length)
        && let Some(after) = after.strip_prefix(&NO_LABEL_OCTETS)
        && let Some(name) = PrintableString::from_octets(name)
    {
        items.push(MeasurementInfoItem {
            meas_type: MeasurementType::MeasName(MeasurementTypeName(name)),
            label_info_list: LabelInfoList::NO_LABEL,
            match_cond_report_list: None,
        });
        (rest, count) = (after, count + 1);
    }
    reader.skip_octets(octets.len() - rest.len());
    count
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
#[per(extensible, hot, list_shortcut = whole_numbers)]
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

#[inline(always)]
fn whole_numbers<'a, S: Store<'a>>(
    reader: &mut Reader<'a, S>,
    count: usize,
) -> Option<List<'a, MeasurementRecordItem<'a>>> {
    let octets = reader.octets_ahead()?;
    let (numbers, rest) = whole_numbers_in(octets, count, reader.store())?;
    reader.skip_octets(octets.len() - rest.len());
    Some(numbers)
}

/// Reads `count` whole numbers at the start of `octets`, and returns the octets behind them. Each has three zero bits (no
/// extension, the alternative integer), the number of octets less one in two bits, padding, and the octets.
#[inline(always)]
pub(super) fn whole_numbers_in<'a, 'o, S: Store<'a>>(
    octets: &'o [u8],
    count: usize,
    store: S,
) -> Option<(List<'a, MeasurementRecordItem<'a>>, &'o [u8])> {
    /// The number at the start of `octets`, and the octets behind it.
    #[inline(always)]
    fn number(octets: &[u8]) -> Option<(u32, &[u8])> {
        let &[head @ 0..=0x1F, n3, n2, n1, n0] = octets.first_chunk()? else { return None };
        let length = usize::from(head >> 3) + 1;
        Some((u32::from_be_bytes([n3, n2, n1, n0]) >> (32 - 8 * length), &octets[1 + length..]))
    }
    let mut end = octets;
    for _ in 0..count {
        end = number(end)?.1;
    }
    let mut rest = octets;
    let numbers = store.fill(count, || {
        let (number, after) = number(rest).unwrap_or((0, rest)); // all were read above
        rest = after;
        MeasurementRecordItem::Integer(number)
    });
    Some((numbers, end))
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
