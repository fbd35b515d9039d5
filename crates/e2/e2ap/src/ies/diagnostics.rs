//! Criticality Diagnostics: the errors in a message (E2AP v03.01 9.2.2).

use per::{List, Per};

use super::{ProcedureCode, ProtocolIeId, RicRequestId};

/// Criticality: how to treat an IE or procedure that is not comprehended (E2AP v03.01 10.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
pub enum Criticality {
    /// Reject the message.
    Reject,
    /// Ignore the IE or procedure.
    Ignore,
    /// Ignore the IE or procedure and notify the sender.
    Notify,
}

/// Triggering Message: the message of the procedure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
pub enum TriggeringMessage {
    /// The message that starts the procedure.
    InitiatingMessage,
    /// The response that reports success.
    SuccessfulOutcome,
    /// The response that reports failure.
    UnsuccessfulOutcome,
}

/// Type of Error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum TypeOfError {
    /// The IE was not understood.
    NotUnderstood,
    /// The IE is missing.
    Missing,
}

/// An IE in error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct CriticalityDiagnosticsIe {
    /// The IE's criticality.
    pub criticality: Criticality,
    /// The IE.
    pub ie_id: ProtocolIeId,
    /// The error.
    pub type_of_error: TypeOfError,
}

/// Criticality Diagnostics.
#[derive(Clone, Debug, Default, PartialEq, Eq, Per)]
#[per(extensible)]
pub struct CriticalityDiagnostics<'a> {
    /// The procedure in error.
    pub procedure_code: Option<ProcedureCode>,
    /// The procedure's message in error.
    pub triggering_message: Option<TriggeringMessage>,
    /// The procedure's criticality.
    pub procedure_criticality: Option<Criticality>,
    /// The request in error.
    pub ric_request_id: Option<RicRequestId>,
    /// The IEs in error.
    #[per(size = 1..=256)]
    pub ies: Option<List<'a, CriticalityDiagnosticsIe>>,
}
