//! Indications: what the node reported (KPM 8.2.1.3 and 8.2.1.4).

use per::{
    Decode, Describe, Encode, Error, ErrorKind, Flat, IntoOwned, List, Memo, Per, PrintableString, Reader, Store,
    Visitor, Writer,
};

use super::{
    GranularityPeriod, MatchingCondItem, MatchingUeidItem, MatchingUeidPerGpItem, MeasurementDataItem,
    MeasurementInfoItem, MeasurementType, Revision,
};
use crate::common::UeId;

/// E2SM-KPM-IndicationHeader.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct IndicationHeader<'a> {
    /// The header in its format.
    pub formats: IndicationHeaderFormats<'a>,
}

super::message!(IndicationHeader, no lists);

/// The formats of an indication header.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub enum IndicationHeaderFormats<'a> {
    /// The only one.
    Format1(IndicationHeaderFormat1<'a>),
}

/// E2SM-KPM-IndicationHeader-Format1.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct IndicationHeaderFormat1<'a> {
    /// When the first record's period began.
    pub collet_start_time: TimeStamp,
    /// The version of the file format that the report follows.
    #[per(size = 0..=15, extensible)]
    pub file_format_version: Option<PrintableString<'a>>,
    /// The sender's name.
    #[per(size = 0..=400, extensible)]
    pub sender_name: Option<PrintableString<'a>>,
    /// The type of the sender.
    #[per(size = 0..=8, extensible)]
    pub sender_type: Option<PrintableString<'a>>,
    /// The vendor of the sender.
    #[per(size = 0..=32, extensible)]
    pub vendor_name: Option<PrintableString<'a>>,
}

/// TimeStamp: 4 octets up to v02.03, 8 octets from v03.00 on.
///
/// The 8 octets are specified as an NTP time stamp (RFC 5905 6). What existing nodes send varies: see
/// [`TimestampFormat`](super::TimestampFormat).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Flat)]
pub enum TimeStamp {
    /// The time stamp of v02.01 and v02.03.
    Short([u8; 4]),
    /// The time stamp of v03.00 and v04.00.
    Long([u8; 8]),
}

impl TimeStamp {
    /// Returns the octets as a number in big-endian order.
    #[must_use]
    pub fn value(self) -> u64 {
        match self {
            TimeStamp::Short(octets) => u64::from(u32::from_be_bytes(octets)),
            TimeStamp::Long(octets) => u64::from_be_bytes(octets),
        }
    }

    /// Returns the octets.
    #[must_use]
    pub fn octets(&self) -> &[u8] {
        match self {
            TimeStamp::Short(octets) => octets,
            TimeStamp::Long(octets) => octets,
        }
    }

    fn is_short_in(revision: u8) -> bool {
        revision <= Revision::V2_03.wire()
    }
}

impl<'a, S: Store<'a>> Decode<'a, S> for TimeStamp {
    fn decode_after(reader: &mut Reader<'a, S>, _: Option<&Self>) -> Result<Self, Error> {
        if TimeStamp::is_short_in(reader.revision()) {
            <[u8; 4]>::decode(reader).map(TimeStamp::Short)
        } else {
            <[u8; 8]>::decode(reader).map(TimeStamp::Long)
        }
    }
}

impl Encode for TimeStamp {
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        if TimeStamp::is_short_in(writer.revision()) != matches!(self, TimeStamp::Short(_)) {
            return Err(writer.error(ErrorKind::NotInRevision).within("TimeStamp"));
        }
        writer.octets(self.octets());
        Ok(())
    }
}

impl IntoOwned for TimeStamp {
    type Owned = TimeStamp;
    fn into_owned(self) -> TimeStamp {
        self
    }
}

impl Describe for TimeStamp {
    fn describe(&self, visitor: &mut dyn Visitor) {
        visitor.octets(&mut core::iter::once(self.octets()));
    }
}

/// E2SM-KPM-IndicationMessage.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct IndicationMessage<'a> {
    /// The message in its format.
    pub formats: IndicationMessageFormats<'a>,
}

super::message!(IndicationMessage, lists);

/// The formats of an indication message.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub enum IndicationMessageFormats<'a> {
    /// Of the node, a cell or one UE.
    Format1(IndicationMessageFormat1<'a>),
    /// Of groups of UEs; each measurement has conditions.
    Format2(IndicationMessageFormat2<'a>),
    /// Of several UEs.
    #[per(addition)]
    Format3(IndicationMessageFormat3<'a>),
}

/// E2SM-KPM-IndicationMessage-Format1: values of the node, a cell or one UE.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible, hot)]
pub struct IndicationMessageFormat1<'a> {
    /// A record for each granularity period.
    #[per(size = 1..=65535)]
    pub meas_data: List<'a, MeasurementDataItem<'a>>,
    /// The measurements; if absent, those of the action definition.
    #[per(size = 1..=65535)]
    pub meas_info_list: Option<Memo<'a, List<'a, MeasurementInfoItem<'a>>>>,
    /// The granularity period; if absent, that of the action definition.
    pub granul_period: Option<GranularityPeriod>,
}

/// E2SM-KPM-IndicationMessage-Format2: values over groups of UEs.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct IndicationMessageFormat2<'a> {
    /// A record for each granularity period.
    #[per(size = 1..=65535)]
    pub meas_data: List<'a, MeasurementDataItem<'a>>,
    /// The measurements and conditions.
    #[per(size = 1..=65535)]
    pub meas_cond_ueid_list: List<'a, MeasurementCondUeidItem<'a>>,
    /// The granularity period; if absent, that of the action definition.
    pub granul_period: Option<GranularityPeriod>,
}

/// MeasurementCondUEidItem: a measurement, its conditions and the UEs that met them.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct MeasurementCondUeidItem<'a> {
    /// The measurement.
    pub meas_type: MeasurementType<'a>,
    /// The conditions.
    #[per(size = 1..=32768)]
    pub matching_cond: List<'a, MatchingCondItem<'a>>,
    /// The UEs that met them.
    #[per(size = 1..=65535)]
    pub matching_ueid_list: Option<List<'a, MatchingUeidItem<'a>>>,
    /// The same for each granularity period (v02.03).
    #[per(addition, since = 1, size = 1..=65535)]
    pub matching_ueid_per_gp: Option<List<'a, MatchingUeidPerGpItem<'a>>>,
}

/// E2SM-KPM-IndicationMessage-Format3: values of several UEs.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct IndicationMessageFormat3<'a> {
    /// A report for each UE.
    #[per(size = 1..=65535)]
    pub ue_meas_report_list: List<'a, UeMeasurementReportItem<'a>>,
}

/// UEMeasurementReportItem: the values of one UE.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible, hot, shortcut = super::ue_report::gnb_du_reports)]
pub struct UeMeasurementReportItem<'a> {
    /// The UE.
    pub ue_id: UeId<'a>,
    /// Its values.
    pub meas_report: IndicationMessageFormat1<'a>,
}
