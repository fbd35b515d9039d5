//! E2SM-LLC v01.00, lower layers control: reports of what the lower layers of a gNB-DU know, slot by slot, and control of its
//! downlink scheduling by slot.
//!
//! | | |
//! |---|---|
//! | object identifier | [`OID`] |
//! | event trigger styles | 1: a signal or a control message of a UE arrives; 2: periodic, in milliseconds |
//! | report styles | 1: copies of SRS or CSI; 2: measurements: buffers of RLC and PDCP, HARQ statistics, slot time stamps |
//! | control styles | 1: which logical channels a controller schedules; 2: the downlink scheduling of slots |
//!
//! The model uses the common types of E2SM v07.00, of which all that it needs are those of v05.00.
//!
//! ```
//! use e2sm::Arena;
//! use e2sm::llc::{ControlHeader, ControlHeaderFormat1, RicControlActionId, SlotInfo};
//! use e2sm::common::RicStyleType;
//!
//! // the downlink scheduling of slots
//! let header = ControlHeader::new(RicStyleType(2), RicControlActionId(1));
//! let mut bytes = Vec::new();
//! header.encode(&mut bytes)?;
//! assert_eq!(ControlHeader::decode(&bytes)?, header);
//! // slot 7 of frame 1023, with subcarriers of 30 kHz, has a number that repeats after 10.24 s
//! let slot = SlotInfo::of(20_467, 1);
//! assert_eq!((slot.system_frame_number, slot.numerology()), (1023, 1));
//! assert_eq!(slot.nearest(20_480), 20_467);
//! # Ok::<(), per::Error>(())
//! ```

mod allocation;
mod control;
mod definition;
mod indication;
mod outcome;
mod slot;
mod subscription;
#[cfg(test)]
mod tests;

use per::Per;

pub use allocation::{ResourceAllocation, resource_indication_value};
pub use control::{
    CompressionInformation, ControlHeader, ControlHeaderFormat1, ControlHeaderFormats, ControlMessage,
    ControlMessageFormat1, ControlMessageFormats, ControlType, CsConfigured, CsConfiguredWithActivation,
    CsiRsPrecodingBandItem, Dci10, Dci11, DlControlInfoType, DlGrantItem, DlSchedulingControl, DlSlotToBeScheduledItem,
    LogicalChannelControlItem, LogicalChannelHandlingControl, LogicalChannelItem, LogicalChannelUeIdItem, PdschSmgItem,
    PrecoderCoeffItem, PrecoderItem, SpsActivation, VrbToPrbMapping,
};
pub use definition::{
    RanFunctionDefinition, RanFunctionDefinitionControl, RanFunctionDefinitionControlActionItem,
    RanFunctionDefinitionControlItem, RanFunctionDefinitionEventTrigger, RanFunctionDefinitionEventTriggerStyleItem,
    RanFunctionDefinitionReport, RanFunctionDefinitionReportItem,
};
pub use indication::{
    ChannelCarryingUci, Csi, CsiReportItem, CsiUeIdentifierItem, DlHarqCodewordItem, DlHarqStatistics,
    DlHarqUeIdentifierItem, DlPdcpBufferStatus, DlPdcpUeBearersItem, DlPdcpUeIdentifiersItem, DlRlcBufferStatus,
    DlRlcUeBearersItem, DlRlcUeIdentifiersItem, IndicationHeader, IndicationHeaderFormat1, IndicationHeaderFormats,
    IndicationMessage, IndicationMessageFormat1, IndicationMessageFormat2, IndicationMessageFormats, LowerLayersInfo,
    LowerLayersMeasurement, LowerLayersMeasurementItem, Srs, SrsReceiveAntennaItem, SrsSymbolItem,
};
pub use outcome::{
    AdditionalDlAllocationItem, ControlOutcome, ControlOutcomeFormat1, ControlOutcomeFormats,
    CsiRsPrecodingBandsNotExecutedItem, DlGrantOutcomeItem, DlScheduledSlotOutcomeItem, DlSchedulingControlOutcome,
    ExecutionCause, ExecutionLevel, NotFullyExecuted, OutcomeType, PRECODING_CAUSE_OTHER,
    PRECODING_CAUSE_UNRECOGNIZED_UE, ScheduledLogicalChannelOutcomeItem,
};
pub use slot::{FRAMES, SlotIndex, SlotInfo, SlotTimeStamp};
pub use subscription::{
    ActionDefinition, ActionDefinitionFormat1, ActionDefinitionFormat2, ActionDefinitionFormats, EventTrigger,
    EventTriggerFormat1, EventTriggerFormat1Item, EventTriggerFormat2, EventTriggerFormats, EventTriggerUeInfo,
    EventTriggerUeInfoItem, GroupOfUes, GroupUeInfo, IndividualUeInfo, LogicalOr, LowerLayersInfoType,
    LowerLayersMeasType, MeasurementToReportItem, UeIdentifierItem, UeType,
};

/// The object identifier.
pub const OID: &str = "1.3.6.1.4.1.53148.1.1.2.5";
/// The short name.
pub const SHORT_NAME: &str = "ORAN-E2SM-LLC";
/// Control style 1: which logical channels a controller schedules.
pub const STYLE_LOGICAL_CHANNELS: i64 = 1;
/// Control style 2: the downlink scheduling of slots.
pub const STYLE_SCHEDULING: i64 = 2;

/// The wire revision: the common types are those since E2SM v05.00.
const WIRE: u8 = crate::common::WIRE_E2SM_V5;

/// Implements the decoding and encoding functions of a message.
macro_rules! message {
    ($name:ident, $kind:ident $($more:ident)?) => {
        $crate::message::message_of_one_format!($name, $kind $($more)?, $crate::llc::WIRE);
    };
}
pub(crate) use message;

/// LogicalChannelID (TS 38.331): 1 to 32; 1 to 3 are signalling radio bearers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
#[per(range = 1..=32, extensible)]
pub struct LogicalChannelId(pub u16);

/// RIC-ControlAction-ID: the number of an action in its control style.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
#[per(range = 1..=65535, extensible)]
pub struct RicControlActionId(pub u32);

/// RIC-ControlAction-Name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Per)]
#[per(size = 1..=150, extensible)]
pub struct RicControlActionName<'a>(pub per::PrintableString<'a>);

/// RIC-EventTriggerCondition-ID: which event of the trigger has caused an indication.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
#[per(range = 1..=65535, extensible)]
pub struct RicEventTriggerConditionId(pub u32);

/// RIC-EventTrigger-UE-ID: the number of a condition on UEs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
#[per(range = 1..=65535, extensible)]
pub struct RicEventTriggerUeId(pub u32);

/// SpsConfigIndex: one of several configurations of semi-persistent scheduling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
#[per(range = 0..=7, extensible)]
pub struct SpsConfigIndex(pub u16);
