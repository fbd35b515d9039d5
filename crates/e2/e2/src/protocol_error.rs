//! Error indications that both sides send (E2AP v03.01 8.3.3, 10).

use e2ap::{
    Cause, CauseMisc, CauseProtocol, Criticality, CriticalityDiagnostics, ErrorIndication, Pdu, ProcedureCode, Version,
    peek::Outline,
};

use crate::Notice;

// Clause 8.3.3.1/1 both: Either side starts the procedure. Tests: garbage_after_setup, agent_malformed.
// Clause 10.2/1 both: Octets that cannot be decoded should be answered by an Error Indication with the cause transfer
//   syntax error. Tests: garbage_before_setup, garbage_after_setup, agent_malformed, conform:garbage,
//   conform:truncated. Deviation: neither side answers an answer, nor the RIC an indication
//   (docs/error-indications.md): the peer does not wait, and some agents abort.
// Clause 10.3.4.1/1 both: An unknown procedure with criticality reject is rejected by an Error Indication. Tests:
//   garbage_after_setup, agent_unsupported_procedures, unknown_procedure_is_reported_with_criticality,
//   conform:unknown-procedure-reject.
// Clause 10.3.4.1/2 both: An unknown procedure with criticality ignore and notify is ignored and reported by an Error
//   Indication. Tests: garbage_after_setup, conform:unknown-procedure-notify.
// Clause 10.3.4.1/3 both: An unknown procedure with criticality ignore is ignored. Tests: garbage_after_setup,
//   conform:unknown-procedure-ignore.
// Clause 10.3.4.1/4 both: The Error Indication names procedure code, triggering message and criticality. Tests:
//   garbage_after_setup, unknown_procedure_is_reported_with_criticality.
// Clause 10.3.4.1A/1 both: A type of message that cannot be decoded is answered by an Error Indication. Tests:
//   octets_without_pdu_header_have_no_diagnostics, garbage_after_setup.
// Clause 10.5/1 both: An error in an Error Indication is not answered by another one. Tests: garbage_after_setup,
//   criticality_notify, conform:error-indication.
/// Returns the error indication about a PDU that cannot be decoded; `None` if the PDU must be ignored.
pub(crate) fn malformed(outline: Option<Outline>, error: &e2ap::Error) -> Option<ErrorIndication<'static>> {
    match error {
        // E2AP v03.01 10.3.4.1
        e2ap::Error::UnknownProcedure { criticality: Criticality::Ignore, .. } => return None,
        // an error indication is never answered by another one
        _ if error.message().is_some_and(|(_, code)| code == ProcedureCode::ERROR_INDICATION) => return None,
        _ => {}
    }
    Some(with_ids(outline, error.cause(), error.diagnostics()))
}

/// Returns the error indication about a decoded message.
pub(crate) fn about(
    pdu: &Pdu<'_>,
    outline: Option<Outline>,
    cause: CauseProtocol,
    procedure_criticality: Option<Criticality>,
) -> ErrorIndication<'static> {
    let diagnostics = CriticalityDiagnostics {
        procedure_code: Some(pdu.procedure_code()),
        triggering_message: Some(pdu.kind().triggering_message()),
        procedure_criticality,
        ..Default::default()
    };
    with_ids(outline, Cause::Protocol(cause), Some(diagnostics))
}

/// Returns the answer to the initiating message of an unsupported procedure, by its criticality (E2AP v03.01 10.3.4.1).
pub(crate) fn not_supported(pdu: &Pdu<'_>, outline: Option<Outline>) -> (Notice, Option<ErrorIndication<'static>>) {
    let message = pdu.name();
    match pdu.procedure_code() {
        ProcedureCode::RIC_SERVICE_QUERY
        | ProcedureCode::RIC_INDICATION
        | ProcedureCode::RIC_SUBSCRIPTION_DELETE_REQUIRED => (Notice::Ignored { message }, None),
        _ => {
            let answer = about(pdu, outline, CauseProtocol::AbstractSyntaxErrorReject, Some(Criticality::Reject));
            (Notice::NotSupported { message }, Some(answer))
        }
    }
}

/// Returns the cause, or "unspecified" if the peer omitted it (E2AP v03.01 10.3.5).
pub(crate) fn or_unspecified(cause: Option<Cause>) -> Cause {
    cause.unwrap_or(Cause::Misc(CauseMisc::Unspecified))
}

// Clause 10.3.4.2/6 both: An ignored IE with criticality ignore and notify in a message without an answer is reported
//   by an Error Indication. Tests: criticality_notify, agent_criticality_notify.
// Clause 10.3.4.2/7 both: An ignored IE with criticality ignore and notify in an answer is reported by an Error
//   Indication. Tests: criticality_notify, agent_criticality_notify.
// Clause 10.3.5/4 both: A missing IE with criticality ignore and notify is reported, and the procedure continues.
//   Tests: ies_with_criticality_notify_are_reported, criticality_notify.
/// Returns the error indication about ignored IEs whose criticality requires notification (E2AP v03.01 10.3.4.2, 10.3.5). An
/// error indication is never answered by another one.
pub(crate) fn report(
    pdu: &Pdu<'_>,
    outline: Option<Outline>,
    diagnostics: CriticalityDiagnostics<'static>,
) -> Option<ErrorIndication<'static>> {
    let cause = Cause::Protocol(CauseProtocol::AbstractSyntaxErrorIgnoreAndNotify);
    (pdu.procedure_code() != ProcedureCode::ERROR_INDICATION).then(|| with_ids(outline, cause, Some(diagnostics)))
}

/// Whether the procedure that an error indication refers to continues, because the indication only reports ignored IEs (E2AP
/// v03.01 10.3.4.2, 10.3.5). Without IEs it reports that the whole procedure was ignored.
pub(crate) fn goes_on(indication: &ErrorIndication<'_>) -> bool {
    let diagnostics = indication.criticality_diagnostics.as_ref();
    indication.cause == Some(Cause::Protocol(CauseProtocol::AbstractSyntaxErrorIgnoreAndNotify))
        && diagnostics.is_some_and(|diagnostics| diagnostics.ies.is_some())
}

// Clause 8.3.3.2/1 ric: The side that detects an error under clause 10 sends the Error Indication. Tests:
//   garbage_after_setup, criticality_notify. Deviation: only where the node may wait for an answer:
//   docs/error-indications.md lists the exceptions.
// Clause 8.3.3.2/1 node: The side that detects an error under clause 10 sends the Error Indication. Tests:
//   agent_malformed, agent_criticality_notify.
// Clause 8.3.3.2/2 both: It contains a cause or criticality diagnostics. Does: always a cause. Tests:
//   error_indication_in_each_version, garbage_after_setup.
fn with_ids(
    outline: Option<Outline>,
    cause: Cause,
    criticality_diagnostics: Option<CriticalityDiagnostics<'static>>,
) -> ErrorIndication<'static> {
    ErrorIndication {
        transaction_id: outline.and_then(|o| o.transaction_id),
        request_id: outline.and_then(|o| o.request_id),
        ran_function_id: outline.and_then(|o| o.ran_function_id),
        cause: Some(cause),
        criticality_diagnostics,
    }
}

/// Reduces the indication to what `version` can carry.
pub(crate) fn in_version(mut indication: ErrorIndication<'_>, version: Version) -> ErrorIndication<'_> {
    indication.cause = indication.cause.map(|cause| cause.in_version(version));
    if version < Version::V2_03 {
        indication.transaction_id = None;
    }
    indication
}
