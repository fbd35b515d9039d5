//! Why a decision about a slot is refused.

use std::fmt;

use e2sm::llc::ExecutionCause;

/// Why a decision about a slot is refused; the base station schedules the slot itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SlotRefusal {
    /// The slot is over, or being transmitted.
    Past,
    /// The slot is beyond [`LlcConfig::horizon_slots`](super::LlcConfig::horizon_slots).
    TooFarAhead,
    /// The slot is named in another subcarrier spacing than that of the cell.
    WrongSubcarrierSpacing,
    /// The slot has no downlink.
    NoDownlink,
    /// The slot has a decision already.
    AlreadyDecided,
    /// Two grants have one number.
    RepeatedGrant,
    /// Two grants are for one UE.
    RepeatedUe,
    /// Grants have resource blocks in common.
    Overlap,
    /// A grant has no resource blocks, or some that the cell does not have.
    BeyondCell,
    /// The cell has no such MCS for new transport blocks.
    UnknownMcs,
    /// A number of octets is negative or beyond any transport block, or a channel has two.
    InvalidOctets,
    /// A precoder does not exist, or its resource elements are not those of the cell.
    InvalidPrecoder,
    /// No grant can be executed.
    NothingLeft,
}

impl SlotRefusal {
    /// The cause that the outcome states for the grants of the slot.
    #[must_use]
    pub fn cause(self) -> ExecutionCause {
        match self {
            SlotRefusal::Past => ExecutionCause::TooLate,
            SlotRefusal::AlreadyDecided => ExecutionCause::Overwritten,
            _ => ExecutionCause::Other,
        }
    }
}

impl fmt::Display for SlotRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SlotRefusal::Past => "the slot is over",
            SlotRefusal::TooFarAhead => "the slot is too far ahead",
            SlotRefusal::WrongSubcarrierSpacing => "the cell has another subcarrier spacing",
            SlotRefusal::NoDownlink => "the slot has no downlink",
            SlotRefusal::AlreadyDecided => "the slot has a decision already",
            SlotRefusal::RepeatedGrant => "two grants have one number",
            SlotRefusal::RepeatedUe => "two grants are for one UE",
            SlotRefusal::Overlap => "grants have resource blocks in common",
            SlotRefusal::BeyondCell => "a grant has resource blocks that the cell does not have",
            SlotRefusal::UnknownMcs => "the cell has no such MCS",
            SlotRefusal::InvalidOctets => {
                "a number of octets is negative or beyond any transport block, or a channel has two"
            }
            SlotRefusal::InvalidPrecoder => {
                "a precoder does not exist, or is for resource elements that the cell does not have"
            }
            SlotRefusal::NothingLeft => "no grant can be executed",
        })
    }
}
