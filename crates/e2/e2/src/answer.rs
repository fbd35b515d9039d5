//! Error indications that both sides send (E2AP v03.01 8.3.2, 10).

use e2ap::{
    Cause, CauseMisc, CauseProtocol, Criticality, CriticalityDiagnostics, ErrorIndication, Pdu, ProcedureCode, Version,
    peek::Outline,
};

use crate::Notice;

/// About a PDU that cannot be read, but for its outline; `None` where it is to be ignored.
pub(crate) fn malformed(outline: Option<Outline>, error: &e2ap::Error) -> Option<ErrorIndication<'static>> {
    match error {
        // E2AP v03.01 10.3.4.1
        e2ap::Error::UnknownProcedure { criticality: Criticality::Ignore, .. } => return None,
        // One error indication is never answered by another.
        _ if error.message().is_some_and(|(_, code)| code == ProcedureCode::ERROR_INDICATION) => return None,
        _ => {}
    }
    Some(with_ids(outline, error.cause(), error.diagnostics()))
}

/// About a message that was understood.
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

/// About the first message of a procedure that is not supported: by its criticality (E2AP v03.01 10.3.4.1).
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

/// What a consumer is told where the peer left the cause out (E2AP v03.01 10.3.5).
pub(crate) fn or_unspecified(cause: Option<Cause>) -> Cause {
    cause.unwrap_or(Cause::Misc(CauseMisc::Unspecified))
}

/// About a message that was understood but for some of it, of which its sender wants to be told (E2AP v03.01 10.3.4.2,
/// 10.3.5). One error indication is never answered by another.
pub(crate) fn report(
    pdu: &Pdu<'_>,
    outline: Option<Outline>,
    diagnostics: CriticalityDiagnostics<'static>,
) -> Option<ErrorIndication<'static>> {
    let cause = Cause::Protocol(CauseProtocol::AbstractSyntaxErrorIgnoreAndNotify);
    (pdu.procedure_code() != ProcedureCode::ERROR_INDICATION).then(|| with_ids(outline, cause, Some(diagnostics)))
}

/// Whether what an error indication is about goes on: it only reports IEs that were ignored (E2AP v03.01 10.3.4.2,
/// 10.3.5). Without an IE it is about a whole procedure that was.
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

/// What `version` can carry of it.
pub(crate) fn in_version(mut indication: ErrorIndication<'_>, version: Version) -> ErrorIndication<'_> {
    indication.cause = indication.cause.map(|cause| cause.in_version(version));
    if version < Version::V2_03 {
        indication.transaction_id = None;
    }
    indication
}
