//! E2SM-CCC: cell configuration and control, in JSON.
//!
//! The messages are those of the revision in srsRAN: RAN configuration structures of the node and its cells, which are
//! reported periodically or on change, set by controls and read by queries. Known structures have their attributes as
//! fields, and unknown attributes in them are refused; other structures keep their attributes as sent.
//!
//! Messages are bounded ([`MAX_OCTETS`], [`MAX_DEPTH`], [`MAX_VALUES`], [`MAX_ITEMS`]), and errors contain the path of the
//! fault:
//!
//! ```
//! use e2sm::ccc::{ControlHeader, ControlMessage};
//!
//! let header = ControlHeader::decode(br#"{"controlHeaderFormat": {"ricStyleType": 2}}"#)?;
//! assert_eq!(header.format.ric_style_type, 2);
//!
//! let bad = br#"{"controlMessageFormat": {"listOfConfigurationStructures": [{
//!     "ranConfigurationStructureName": "O-GNBDUFunction",
//!     "oldValuesOfAttributes": {"ranConfigurationStructure": {}},
//!     "newValuesOfAttributes": {"ranConfigurationStructure": {"gNBDUNam": "north"}}}]}}"#;
//! assert_eq!(
//!     ControlMessage::decode(bad).unwrap_err().to_string(),
//!     "controlMessageFormat.listOfConfigurationStructures[0].newValuesOfAttributes.ranConfigurationStructure.gNBDUNam \
//!      is not a key of the model; similar: gNBDUName",
//! );
//! # Ok::<(), e2sm::ccc::JsonError>(())
//! ```

mod control;
mod definition;
mod identity;
mod indication;
pub(crate) mod json;
mod of_cells;
mod query;
mod structures;
mod subscription;
#[cfg(test)]
mod tests;

pub use control::{
    Cause, CellControlled, CellOutcome, ControlHeader, ControlHeaderFormat1, ControlMessage, ControlMessageFormat,
    ControlOutcome, ControlOutcomeFormat, StructureAccepted, StructureControlled, StructureFailed,
};
pub use definition::{
    ControlService, ControlStyle, EventTriggerService, EventTriggerStyle, EventTriggerStyleType, QueryService,
    QueryStyle, RanFunctionDefinition, RanFunctionName, ReportService, ReportStyle, SupportedAttribute, SupportedCell,
    SupportedServices, SupportedStructure,
};
pub use identity::TimeStamp;
pub use indication::{
    CellReported, ChangeType, IndicationHeader, IndicationHeaderFormat1, IndicationMessage, IndicationMessageFormat,
    IndicationReason, StructureReported,
};
pub use json::{JsonError, JsonErrorKind, MAX_DEPTH, MAX_ITEMS, MAX_OCTETS, MAX_VALUES};
pub use of_cells::{CELL_STYLE, Octets, first_not_set, query_of_cells};
pub use query::{
    CellForQuery, CellQueried, QueryDefinition, QueryDefinitionFormat, QueryHeader, QueryHeaderFormat1, QueryOutcome,
    QueryOutcomeFormat, StructureForQuery, StructureQueried,
};
pub use structures::{
    AdministrativeState, Bwp, BwpContext, CellState, CesManagementFunction, DataDirection, EnergySavingControl,
    EnergySavingState, GnbCuCpFunction, GnbCuUpFunction, GnbDuFunction, InitialBwp, NesPolicy, NesPolicyType, NrCellCu,
    NrCellDu, NrCellRelation, OperationalState, Partition, PartitionFlow, PlmnInfo, QOffsetRangeList,
    RanConfigurationStructure, ResourceType, RrmPolicyMember, RrmPolicyRatio, SleepMode,
};
pub use subscription::{
    ActionDefinition, ActionDefinitionFormat, AttributeName, CellForAction, CellForEventTrigger,
    EventTriggerDefinition, EventTriggerDefinitionFormat, ReportType, StructureForAction, StructureForEventTrigger,
    TriggerAttribute,
};

/// The object identifier that srsRAN registers.
pub const OID: &str = "1.3.6.1.4.1.53148.1.6.2.4";
/// The short name.
pub const SHORT_NAME: &str = "ORAN-E2SM-CCC";

/// Implements the decoding and encoding functions of a message.
macro_rules! message {
    ($name:ident) => {
        impl $name {
            /// Decodes all of `bytes`.
            ///
            /// # Errors
            /// The fault and its path.
            pub fn decode(bytes: &[u8]) -> Result<Self, $crate::ccc::JsonError> {
                $crate::ccc::json::decode(bytes)
            }

            /// Appends the text to `out`. After an error `out` is as it was.
            ///
            /// # Errors
            /// A value outside its bounds.
            pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), $crate::ccc::JsonError> {
                $crate::ccc::json::encode(self, out)
            }
        }
    };
}
use message;
