//! Error indications that both sides send (E2AP v03.01 8.3.2, 10).

use e2ap::{
    Cause, CauseMisc, CauseProtocol, Criticality, CriticalityDiagnostics, ErrorIndication, Pdu, ProcedureCode, Version,
    peek::Outline,
};

use crate::Notice;

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
