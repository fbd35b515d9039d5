//! Control outcomes: what of a control is executed, and why the rest is not.

use core::fmt;

use per::{List, Per};

use super::message;
use super::{LogicalChannelId, SlotInfo};
use crate::common::UeId;

/// E2SM-LLC-ControlOutcome.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct ControlOutcome<'a> {
    /// The formats.
    pub formats: ControlOutcomeFormats<'a>,
}

message!(ControlOutcome, lists);

/// The formats of a control outcome.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub enum ControlOutcomeFormats<'a> {
    /// The only format.
    Format1(ControlOutcomeFormat1<'a>),
}

/// E2SM-LLC-ControlOutcome-Format1.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct ControlOutcomeFormat1<'a> {
    /// The outcome by the kind of control.
    pub control_type: OutcomeType<'a>,
}

/// The outcome of a kind of control.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub enum OutcomeType<'a> {
    /// Of logical channels: when the control arrived, an NTP time stamp.
    LogicalChannelHandling([u8; 8]),
    /// Of the downlink scheduling of slots.
    DlSchedulingParameters(DlSchedulingControlOutcome<'a>),
}

impl<'a> From<OutcomeType<'a>> for ControlOutcome<'a> {
    fn from(control_type: OutcomeType<'a>) -> Self {
        ControlOutcome { formats: ControlOutcomeFormats::Format1(ControlOutcomeFormat1 { control_type }) }
    }
}

/// DlSchedulingControlOutcome.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct DlSchedulingControlOutcome<'a> {
    /// When the control arrived: an NTP time stamp.
    pub received_timestamp: [u8; 8],
    /// The time that was left until the first slot of the control when it had been processed, in units of 1/32768 s; negative
    /// if it came too late.
    #[per(range = -32767..=32767)]
    pub processing_time_margin: i32,
    /// By slot.
    #[per(size = 1..=63)]
    pub scheduled_slot_outcome_list: List<'a, DlScheduledSlotOutcomeItem<'a>>,
}

/// DlScheduledSlotOutcome-Item.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct DlScheduledSlotOutcomeItem<'a> {
    /// The slot.
    pub slot_info: SlotInfo,
    /// All grants of the control.
    #[per(size = 1..=63)]
    pub dl_grant_outcome_list: List<'a, DlGrantOutcomeItem<'a>>,
    /// Other transmissions in the slot.
    #[per(size = 0..=63)]
    pub additional_dl_allocation_list: List<'a, AdditionalDlAllocationItem<'a>>,
    /// Precoders of reference signals that are not applied.
    #[per(size = 0..=63)]
    pub csi_rs_precoding_bands_not_executed_list: List<'a, CsiRsPrecodingBandsNotExecutedItem>,
}

/// DlGrantOutcome-Item.
#[derive(Clone, Debug, PartialEq, Per)]
pub struct DlGrantOutcomeItem<'a> {
    /// The number of the grant.
    #[per(range = 1..=63, extensible)]
    pub grant_id: u16,
    /// Whether it is executed as requested.
    pub execution_level: ExecutionLevel<'a>,
}

/// How much of a grant is executed.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub enum ExecutionLevel<'a> {
    /// All of it.
    FullyExecuted,
    /// A part, or nothing.
    NotFullyExecuted(NotFullyExecuted<'a>),
}

/// What is executed of a grant.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct NotFullyExecuted<'a> {
    /// All logical channels of the grant.
    #[per(size = 1..=63)]
    pub scheduled_logical_channel_outcome_list: List<'a, ScheduledLogicalChannelOutcomeItem>,
}

/// ScheduledLogicalChannelOutcome-Item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct ScheduledLogicalChannelOutcomeItem {
    /// The logical channel.
    pub logical_channel_id: LogicalChannelId,
    /// Its octets that are scheduled.
    pub noof_bytes_scheduled: i64,
    /// Why they are not as many as requested: [`ExecutionCause`].
    pub cause: i64,
}

/// Why a logical channel does not get the octets that a grant requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum ExecutionCause {
    /// Another cause.
    Other = 0,
    /// The control came too late for the slot.
    TooLate = 1,
    /// Other transmissions have taken its place.
    Overwritten = 2,
    /// The slot has no room for another DCI.
    TooManyDcis = 3,
    /// The UE is not there, or cannot receive.
    UeNotAvailable = 4,
    /// Retransmissions take the resources.
    Retransmissions = 5,
    /// The RLC buffer has fewer octets.
    BufferEmpty = 6,
}

impl ExecutionCause {
    /// The number in an outcome.
    #[must_use]
    pub const fn number(self) -> i64 {
        self as i64
    }

    /// The cause with a number; numbers that v01.00 does not have are other causes.
    #[must_use]
    pub const fn of(number: i64) -> Self {
        match number {
            1 => ExecutionCause::TooLate,
            2 => ExecutionCause::Overwritten,
            3 => ExecutionCause::TooManyDcis,
            4 => ExecutionCause::UeNotAvailable,
            5 => ExecutionCause::Retransmissions,
            6 => ExecutionCause::BufferEmpty,
            _ => ExecutionCause::Other,
        }
    }
}

impl fmt::Display for ExecutionCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ExecutionCause::Other => "other",
            ExecutionCause::TooLate => "too late",
            ExecutionCause::Overwritten => "overwritten by other transmissions",
            ExecutionCause::TooManyDcis => "no room for another DCI",
            ExecutionCause::UeNotAvailable => "UE not available",
            ExecutionCause::Retransmissions => "retransmissions take the resources",
            ExecutionCause::BufferEmpty => "RLC buffer has fewer octets",
        })
    }
}

/// AdditionalDlAllocation-Item: a transmission that the control does not contain.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct AdditionalDlAllocationItem<'a> {
    /// The UE, if it is for one.
    pub ueid: Option<UeId<'a>>,
    /// The logical channel, if it is of one.
    pub logical_channel_id: Option<LogicalChannelId>,
    /// Its octets.
    pub noof_bytes_scheduled: i64,
    /// The first symbol.
    pub start_symbol: Option<i64>,
    /// The number of symbols.
    pub noof_symbols: Option<i64>,
    /// The first resource block.
    pub start_rb: Option<i64>,
    /// The number of resource blocks.
    pub noof_rbs: Option<i64>,
}

/// CsiRsPrecodingBandsNotExecuted-Item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct CsiRsPrecodingBandsNotExecutedItem {
    /// Its place in the list of the slot.
    #[per(range = 0..=63, extensible)]
    pub csi_rs_precoding_band_id: u16,
    /// Why: [`PRECODING_CAUSE_OTHER`], [`PRECODING_CAUSE_UNRECOGNIZED_UE`] or another number of E2SM-LLC v01.00 8.3.27.
    pub cause: i64,
}

/// A precoding band is not applied for another cause.
pub const PRECODING_CAUSE_OTHER: i64 = 0;
/// A precoding band is not applied because its UE is unknown.
pub const PRECODING_CAUSE_UNRECOGNIZED_UE: i64 = 2;
