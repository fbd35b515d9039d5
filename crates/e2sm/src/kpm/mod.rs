//! E2SM-KPM: measurements, reported by the period (v02.01, v02.03, v03.00 and v04.00).
//!
//! One set of types serves all revisions; [`Revision`] says which wire format is read or written, and [`Detection`]
//! which one a node speaks. [`Wish`] turns "this measurement of every UE" into definitions that a node accepts,
//! [`IndicationMessage::rows`] a report into values with their names, and [`dictionary`] names into units.
//!
//! ```
//! use e2sm::Arena;
//! use e2sm::kpm::{
//!     EventTriggerDefinition, IndicationMessage, IndicationMessageFormats, MeasurementRecordItem, Revision,
//! };
//!
//! let trigger = EventTriggerDefinition::every(1000);
//! let mut bytes = Vec::new();
//! trigger.encode(Revision::V3_00, &mut bytes)?;
//! assert_eq!(EventTriggerDefinition::decode(&bytes, Revision::V3_00)?, trigger);
//!
//! let bytes = [0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x2a];
//! let arena = Arena::new();
//! let message = IndicationMessage::decode(&bytes, Revision::V3_00, &arena)?;
//! let IndicationMessageFormats::Format1(report) = &message.formats else { panic!("a report on the node") };
//! assert_eq!(report.meas_data[0].meas_record[0], MeasurementRecordItem::Integer(42));
//! # Ok::<(), per::Error>(())
//! ```

mod action;
mod conditions;
mod definition;
pub mod dictionary;
mod indication;
mod label;
mod measurement;
mod report;
mod revision;
mod subscribe;
mod trigger;

pub use action::{
    ActionDefinition, ActionDefinitionFormat1, ActionDefinitionFormat2, ActionDefinitionFormat3,
    ActionDefinitionFormat4, ActionDefinitionFormat5, ActionDefinitionFormats, MatchingUeCondPerSubItem,
    MatchingUeidPerSubItem, MeasurementCondItem,
};
pub use conditions::{
    LogicalOr, MatchCondReportItem, MatchedPerGp, MatchingCondItem, MatchingCondItemChoice, MatchingUeidItem,
    MatchingUeidItemPerGp, MatchingUeidPerGpItem, MeasValueReportCond, MeasValueTestCondExpression, TestCondExpression,
    TestCondInfo, TestCondType, TestCondValue,
};
pub use definition::{MeasurementInfoActionItem, RanFunctionDefinition, RicEventTriggerStyleItem, RicReportStyleItem};
pub use indication::{
    IndicationHeader, IndicationHeaderFormat1, IndicationHeaderFormats, IndicationMessage, IndicationMessageFormat1,
    IndicationMessageFormat2, IndicationMessageFormat3, IndicationMessageFormats, MeasurementCondUeidItem, TimeStamp,
    UeMeasurementReportItem,
};
pub use label::{LabelInfoItem, LabelInfoList, MeasurementLabel, StartEndInd};
pub use measurement::{
    BinIndex, BinRangeDefinition, BinRangeItem, BinRangeValue, DistMeasurementBinRangeItem, GranularityPeriod,
    MeasurementDataItem, MeasurementInfoItem, MeasurementRecordItem, MeasurementType, MeasurementTypeId,
    MeasurementTypeName,
};
pub use report::{Row, Rows, Value};
pub use revision::{Detection, OID_V1, OID_V2, OID_V3, OIDS, Reason, Revision};
pub use subscribe::{EveryUe, Plan, Scope, Wish, WishedMeasurement};
pub use trigger::{EventTriggerDefinition, EventTriggerDefinitionFormat1, EventTriggerDefinitionFormats};

/// Gives a message its reading and writing functions.
macro_rules! message {
    ($name:ident, lists) => {
        impl<'a> $name<'a> {
            /// Reads all of `bytes`; lists go to `arena`.
            ///
            /// # Errors
            /// Whatever is wrong with the encoding.
            pub fn decode(
                bytes: &'a [u8],
                revision: $crate::kpm::Revision,
                arena: &'a $crate::Arena,
            ) -> Result<Self, per::Error> {
                let mut reader = per::Reader::with_store(bytes, revision.wire(), arena);
                let value = <Self as per::Decode<_>>::decode(&mut reader)?;
                reader.finish()?;
                Ok(value)
            }

            /// Reads all of `bytes` into a value to keep.
            ///
            /// # Errors
            /// Whatever is wrong with the encoding.
            pub fn decode_owned(
                bytes: &[u8],
                revision: $crate::kpm::Revision,
            ) -> Result<$name<'static>, per::Error> {
                let arena = $crate::Arena::new();
                $name::decode(bytes, revision, &arena).map(per::IntoOwned::into_owned)
            }
        }
        crate::kpm::message!(@encode $name<'_>);
    };
    ($name:ident, no lists) => {
        impl<'a> $name<'a> {
            /// Reads all of `bytes`.
            ///
            /// # Errors
            /// Whatever is wrong with the encoding.
            pub fn decode(bytes: &'a [u8], revision: $crate::kpm::Revision) -> Result<Self, per::Error> {
                per::decode(bytes, revision.wire())
            }
        }
        crate::kpm::message!(@encode $name<'_>);
    };
    ($name:ident, no borrow) => {
        impl $name {
            /// Reads all of `bytes`.
            ///
            /// # Errors
            /// Whatever is wrong with the encoding.
            pub fn decode(bytes: &[u8], revision: $crate::kpm::Revision) -> Result<Self, per::Error> {
                per::decode(bytes, revision.wire())
            }
        }
        crate::kpm::message!(@encode $name);
    };
    (@encode $type:ty) => {
        impl $type {
            /// Appends the encoding to `out`. After an error `out` is as it was.
            ///
            /// # Errors
            /// A value outside its constraints, or one that `revision` cannot carry.
            pub fn encode(&self, revision: $crate::kpm::Revision, out: &mut Vec<u8>) -> Result<(), per::Error> {
                per::encode(self, revision.wire(), out)
            }
        }
    };
}
use message;
