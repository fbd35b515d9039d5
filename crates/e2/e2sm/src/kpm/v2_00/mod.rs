//! E2SM-KPM v02.00: measurements of cells that the RAN function definition lists.
//!
//! It shares its object identifier with v02.01 and its terms with all later revisions, but few encodings: numbers of styles
//! are constrained, the definition lists the node's cells (ric-KPM-Node-List), each action names one of them and a
//! subscription id, and each message repeats both. So its messages have types of their own, which convert to those of later
//! revisions. ONOS and its RAN simulator use it.
//!
//! The event trigger is that of v02.01: [`EventTriggerDefinition`](super::EventTriggerDefinition) with
//! [`Revision::V2_01`](super::Revision::V2_01).
//!
//! ```
//! use e2sm::Arena;
//! use e2sm::kpm::v2_00::{CellReports, IndicationMessage, RanFunctionDefinition};
//!
//! fn actions(definition: &[u8]) -> Result<Vec<Vec<u8>>, e2sm::Error> {
//!     let arena = Arena::new();
//!     let definition = RanFunctionDefinition::decode(definition, &arena)?;
//!     let reports = CellReports { measurements: &["RRC.Conn.Avg"], granularity_period_ms: 1000 };
//!     let encode = |action: e2sm::kpm::v2_00::ActionDefinition<'_>| {
//!         let mut bytes = Vec::new();
//!         action.encode(&mut bytes).map(|()| bytes)
//!     };
//!     Ok(reports.actions(&definition)?.into_iter().map(encode).collect::<Result<_, _>>()?)
//! }
//!
//! fn print(message: &[u8]) -> Result<(), per::Error> {
//!     let arena = Arena::new();
//!     let message = IndicationMessage::decode(message, &arena)?;
//!     let cell = message.cell_obj_id().unwrap_or("the node");
//!     for row in message.to_current().rows(None) {
//!         println!("{cell}: {:?} = {:?}", row.measurement, row.value);
//!     }
//!     Ok(())
//! }
//! ```

mod action;
mod convert;
mod definition;
mod indication;
mod reports;

pub use action::{
    ActionDefinition, ActionDefinitionFormat1, ActionDefinitionFormat2, ActionDefinitionFormat3,
    ActionDefinitionFormats, LabelInfoItem, MatchingCondItem, MeasurementCondItem, MeasurementInfoItem,
    MeasurementLabel,
};
pub use definition::{
    CellMeasurementObjectItem, GlobalKpmNodeEnGnbId, GlobalKpmNodeEnbId, GlobalKpmNodeGnbId, GlobalKpmNodeId,
    GlobalKpmNodeNgEnbId, GlobalNgEnbId, KpmNodeItem, MeasurementInfoActionItem, NgEnbIdChoice, RanFunctionDefinition,
    RanFunctionName, RicEventTriggerStyleItem, RicReportStyleItem,
};
pub use indication::{
    IndicationHeader, IndicationHeaderFormat1, IndicationHeaderFormats, IndicationMessage, IndicationMessageFormat1,
    IndicationMessageFormat2, IndicationMessageFormats, MatchingUeidItem, MeasurementCondUeidItem,
};
pub use reports::CellReports;

use per::{Octets, Per, PrintableString};

/// CellObjectID: a name of a cell within the node.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Per)]
#[per(size = 0..=400, extensible)]
pub struct CellObjectId<'a>(pub PrintableString<'a>);

/// SubscriptionID: a number that the controller gives to an action and that its reports repeat, at least 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
#[per(range = 1..=4_294_967_295)]
pub struct SubscriptionId(pub u32);

/// UE-Identity: octets in a format of the node.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Per)]
pub struct UeIdentity<'a>(pub Octets<'a>);

/// RIC-Style-Type and RIC-Format-Type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
#[per(range = 0..=255, extensible)]
pub struct Number(pub i64);
