//! What was wrong with a message (E2AP v03.01 9.2.2).

use per::{List, Per};

use super::{ProcedureCode, ProtocolIeId, RicRequestId};

/// What to do with an IE or a procedure that is not understood (E2AP v03.01 10.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
pub enum Criticality {
    /// Refuse the message.
    Reject,
    /// Go on.
    Ignore,
    /// Go on and say so.
    Notify,
}

/// Which message of a procedure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
pub enum TriggeringMessage {
    /// The first.
    InitiatingMessage,
    /// The good answer.
    SuccessfulOutcome,
    /// The other one.
    UnsuccessfulOutcome,
}

/// What was wrong with an IE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum TypeOfError {
    /// It was not understood.
    NotUnderstood,
    /// It was not there.
    Missing,
}

/// An IE at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct CriticalityDiagnosticsIe {
    /// Its criticality.
    pub criticality: Criticality,
    /// Which one.
    pub ie_id: ProtocolIeId,
    /// What was wrong.
    pub type_of_error: TypeOfError,
}

/// Criticality Diagnostics.
#[derive(Clone, Debug, Default, PartialEq, Eq, Per)]
#[per(extensible)]
pub struct CriticalityDiagnostics<'a> {
    /// The procedure at fault.
    pub procedure_code: Option<ProcedureCode>,
    /// Which of its messages.
    pub triggering_message: Option<TriggeringMessage>,
    /// The procedure's criticality.
    pub procedure_criticality: Option<Criticality>,
    /// The request it was about.
    pub ric_request_id: Option<RicRequestId>,
    /// The IEs at fault.
    #[per(size = 1..=256)]
    pub ies: Option<List<'a, CriticalityDiagnosticsIe>>,
}
