//! Error indications that both sides send (E2AP v03.01 8.3.2, 10).

use e2ap::{
    Cause, CauseProtocol, Criticality, CriticalityDiagnostics, ErrorIndication, Pdu, ProcedureCode, Version,
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
