//! E2SM-KPM: periodic reports of measurements (v02.01, v02.03, v03.00 and v04.00; v01.00 is [`v1`], v02.00 [`v2_00`]).
//!
//! One set of types serves all revisions. [`Revision`] selects the wire format, and [`Detection`] determines the revision
//! of a node. [`ReportRequest`] turns measurements and a scope into the definitions of a subscription,
//! [`IndicationMessage::rows`] a report into named values, and [`dictionary`] contains the unit of each measurement.
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
mod detection;
pub mod dictionary;
mod indication;
mod label;
mod measurement;
mod report;
mod revision;
mod subscribe;
mod timestamp;
mod ue_ids;
mod ue_report;
pub mod v1;
pub mod v2_00;

pub use crate::Reason;
pub use action::{
    ActionDefinition, ActionDefinitionFormat1, ActionDefinitionFormat2, ActionDefinitionFormat3,
    ActionDefinitionFormat4, ActionDefinitionFormat5, ActionDefinitionFormats, EventTriggerDefinition,
    EventTriggerDefinitionFormat1, EventTriggerDefinitionFormats, MatchingUeCondPerSubItem, MatchingUeidPerSubItem,
    MeasurementCondItem,
};
pub use conditions::{
    LogicalOr, MatchCondReportItem, MatchedPerGp, MatchingCondItem, MatchingCondItemChoice, MatchingUeidItem,
    MatchingUeidItemPerGp, MatchingUeidPerGpItem, MeasValueReportCond, MeasValueTestCondExpression, TestCondExpression,
    TestCondInfo, TestCondType, TestCondValue,
};
pub use definition::{MeasurementInfoActionItem, RanFunctionDefinition, RicEventTriggerStyleItem, RicReportStyleItem};
pub use detection::Detection;
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
pub use report::{CountMismatch, Row, Rows, Value};
pub use revision::{OID_V1, OID_V2, OID_V3, OIDS, Revision};
use subscribe::nearest;
pub use subscribe::nearest as nearest_names;
pub use subscribe::{EveryUe, MeasurementRequest, Plan, ReportRequest, Scope};
pub use timestamp::{TimestampFormat, TimestampMoment, TimestampReader};

use crate::message::message;
