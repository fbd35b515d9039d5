//! What both roles do with unknown procedures and IEs (10.3.4).

use e2ap::{CauseProtocol, Criticality, ErrorIndication};

use crate::check::{fail, inconclusive};
use crate::wire::{RawMessage, UNKNOWN_PROCEDURE};
use crate::{Step, expect};

/// Returns a message with an unknown IE.
pub(crate) fn altered(octets: &[u8], criticality: Criticality) -> Step<Vec<u8>> {
    match RawMessage::parse(octets) {
        Some(message) => Ok(message.with_unknown(criticality).encode()),
        None => inconclusive("a message of this end cannot be taken apart"),
    }
}

/// Checks that an Error Indication is about the unknown procedure.
pub(crate) fn expect_procedure(indication: &ErrorIndication<'_>, cause: CauseProtocol) -> Step {
    let diagnostics = indication.criticality_diagnostics.as_ref();
    if let Some(code) = diagnostics.and_then(|diagnostics| diagnostics.procedure_code)
        && code.0 != UNKNOWN_PROCEDURE
    {
        return fail(format!("{}, where procedure {UNKNOWN_PROCEDURE} was sent", expect::describe(indication)));
    }
    expect::protocol_cause("ErrorIndication", &[cause], indication.cause)
}
