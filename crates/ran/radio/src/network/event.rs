//! What happens in cells and to UEs, and why handovers are rejected.

use std::time::Duration;

use crate::{PowerState, SecondaryCell, UeEntry};

/// How a UE came to a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrivalCause {
    /// It is new in the network.
    New,
    /// It was handed over.
    Handover,
    /// It has executed a conditional handover.
    ConditionalHandover,
    /// It has re-established its connection after a failure.
    Reestablishment,
    /// It has set up a new connection after RRC_IDLE.
    Setup,
}

/// Why a UE has left a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DepartureCause {
    /// It is handed over.
    Handover {
        /// The target cell.
        to: usize,
    },
    /// It has left the network.
    Left,
    /// Its radio link has failed.
    LinkFailure,
    /// The cell is locked, and no neighbour can take it: it was released to RRC_IDLE.
    CellLocked,
    /// The cell goes to sleep, and no neighbour could take it within the grace: it was released to RRC_IDLE.
    CellAsleep,
}

/// Why a handover is cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CancelCause {
    /// It is no longer wanted: the condition is over, another handover takes its place, or the target admits no UE any more.
    Unwanted,
    /// The UE is gone: its radio link has failed, or it was released.
    UeLost,
    /// The UE has not accessed the target until T304 expired.
    Expired,
}

/// An event in a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkEvent {
    /// A UE has arrived.
    Arrived {
        /// Its identity in this cell.
        ue: UeEntry,
        /// The cell that it was last connected to and its identity there, after a handover or a re-establishment.
        from: Option<(usize, UeEntry)>,
        /// How it came.
        cause: ArrivalCause,
    },
    /// A UE has departed.
    Departed {
        /// Its identity in this cell.
        ue: UeEntry,
        /// Why.
        cause: DepartureCause,
    },
    /// Event A3 has triggered, and handovers are not automatic.
    HandoverTriggered {
        /// Its identity in this cell.
        ue: UeEntry,
        /// The target cell.
        to: usize,
    },
    /// A handover from the cell has failed: the UE has not accessed the target cell until T304 expired.
    HandoverFailed {
        /// Its last identity in this cell.
        ue: UeEntry,
        /// The target cell.
        to: usize,
    },
    /// The cell has asked a target to admit a UE, and the target has answered.
    HandoverPrepared {
        /// Its identity in this cell.
        ue: UeEntry,
        /// The target cell.
        to: usize,
        /// The answer: why the target refuses the UE.
        refusal: Option<HandoverError>,
        /// Whether the target is a candidate of a conditional handover.
        is_conditional: bool,
        /// How long the UE was in this cell.
        stayed: Duration,
    },
    /// The cell gives up a handover for which the target was prepared.
    HandoverCancelled {
        /// Its identity in this cell, which it may have left.
        ue: UeEntry,
        /// The target cell.
        to: usize,
        /// Whether the target is a candidate of a conditional handover.
        is_conditional: bool,
        /// Why.
        cause: CancelCause,
    },
    /// A cell of the base station has become a secondary cell of a UE.
    SecondaryCellAdded {
        /// The UE's identity in this cell, its primary one.
        ue: UeEntry,
        /// The cell.
        secondary: SecondaryCell,
    },
    /// A cell is no secondary cell of a UE any more: by the base station's decision, or with the command of a handover.
    SecondaryCellReleased {
        /// The UE's identity in this cell, its primary one.
        ue: UeEntry,
        /// The cell.
        secondary: SecondaryCell,
    },
    /// The cell was shutting down and is locked now.
    Locked,
    /// The cell has entered a power state.
    PowerState(PowerState),
}

/// Where a UE is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UeState {
    /// Connected in a cell.
    Connected {
        /// The cell.
        cell: usize,
    },
    /// On its way to a cell by handover.
    InTransit {
        /// The target cell.
        to: usize,
    },
    /// Its radio link or handover has failed, and it re-establishes its connection.
    Reestablishing,
    /// In RRC_IDLE: it was released, and looks for a cell or sets up a new connection.
    Released,
}

/// Why a handover is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandoverError {
    /// The cell does not exist.
    UnknownCell,
    /// The UE does not exist in the source cell; it may have departed.
    UnknownUe,
    /// The UE is in the target cell.
    SameCell,
    /// The target cell is locked, shutting down, or saves energy.
    CellLocked,
    /// Handovers to the target cell are prohibited (isHOAllowed of NRCellRelation, TS 28.541 4.3.32).
    Prohibited,
    /// The target cell is full, counting the UEs in transit to it.
    CellFull,
    /// A conditional handover without an execution condition: none was given, and the cell has no event of handovers.
    NoCondition,
    /// The execution condition of a conditional handover is neither event A3 nor A5.
    WrongCondition,
    /// As many cells are prepared for a conditional handover of the UE as may be: 8.
    TooManyCandidates,
}

impl std::fmt::Display for HandoverError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            HandoverError::UnknownCell => "the target cell does not exist in this RAN",
            HandoverError::UnknownUe => "the UE is not in the source cell",
            HandoverError::SameCell => "the UE is already in the target cell",
            HandoverError::CellLocked => {
                "the target cell is locked, shutting down or saves energy and admits no UE; unlock or wake it, or choose \
                 another cell"
            }
            HandoverError::Prohibited => "handovers to the target cell are prohibited by the cell relation",
            HandoverError::CellFull => {
                "the target cell is full: it has as many UEs as it admits (`max_ues`), or its 4096 UE indices are in use, or were \
                 released within the last 10 s"
            }
            HandoverError::NoCondition => {
                "conditional handover without an execution condition: give event A3 or A5, or set one for handovers of the cell"
            }
            HandoverError::WrongCondition => "the execution condition of a conditional handover is event A3 or A5",
            HandoverError::TooManyCandidates => "8 cells are prepared for a conditional handover of the UE, the limit",
        })
    }
}

impl std::error::Error for HandoverError {}
