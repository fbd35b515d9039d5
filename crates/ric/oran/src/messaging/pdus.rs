//! The E2AP messages that xApps and the RIC exchange over RMR.

use ferric::e2::{Action, ControlOutcome, SubscribeError, SubscriptionSpec};
use ferric::e2ap::{
    Cause, CauseMisc, CauseRicRequest, Pdu, RanFunctionId, RicActionAdmitted, RicActionId, RicActionNotAdmitted,
    RicControlAcknowledge, RicControlFailure, RicControlRequest, RicControlStatus, RicRequestId,
    RicSubscriptionDeleteFailure, RicSubscriptionDeleteResponse, RicSubscriptionFailure, RicSubscriptionRequest,
    RicSubscriptionResponse, Version, decode,
};
use per::{Gather, Octets};
use rmr::MessageType;

/// A message for an xApp: its type and its octets.
pub(crate) type Answer = (MessageType, Vec<u8>);

/// What an xApp's request refers to, which its answer repeats.
#[derive(Clone, Debug)]
pub(crate) struct Reference {
    pub request_id: RicRequestId,
    pub function: RanFunctionId,
    pub call_process_id: Option<Vec<u8>>,
    /// The version of the node, in which xApps write.
    pub version: Version,
}

impl Reference {
    /// What the answer to a control repeats.
    pub fn of_control(request: &RicControlRequest<'_>, version: Version) -> Self {
        Reference {
            request_id: request.request_id,
            function: request.ran_function_id,
            call_process_id: request.call_process_id.as_ref().map(|id| id.to_cow().into_owned()),
            version,
        }
    }
}

/// Passes the RIC Control Request that the payload of a message is.
///
/// # Errors
/// Why it is none.
pub(crate) fn with_control<T>(
    payload: &[u8],
    version: Version,
    handle: impl FnOnce(&RicControlRequest<'_>) -> T,
) -> Result<T, String> {
    let gather = Gather::default();
    match decode(payload, version, &gather).map_err(|error| format!("its payload is malformed: {error}"))?.pdu {
        Pdu::RicControlRequest(request) => Ok(handle(&request)),
        other => Err(format!("its payload is no RIC Control Request but a {}", other.name())),
    }
}

/// What an xApp subscribes to.
#[derive(Debug)]
pub(crate) struct SubscriptionContent {
    pub request_id: RicRequestId,
    pub function: RanFunctionId,
    pub spec: SubscriptionSpec,
}

/// Reads the RIC Subscription Request that the payload of a message is.
///
/// # Errors
/// Why it is none.
pub(crate) fn read_subscription(payload: &[u8], version: Version) -> Result<SubscriptionContent, String> {
    let gather = Gather::default();
    match decode(payload, version, &gather).map_err(|error| format!("its payload is malformed: {error}"))?.pdu {
        Pdu::RicSubscriptionRequest(RicSubscriptionRequest { request_id, ran_function_id, details, .. }) => {
            let actions = details.actions.iter().map(|action| Action {
                id: action.id,
                kind: action.kind,
                definition: action.definition.as_ref().map(|definition| definition.to_cow().into_owned()),
                subsequent: action.subsequent_action,
            });
            let spec = SubscriptionSpec {
                event_trigger: details.event_trigger_definition.to_cow().into_owned(),
                actions: actions.collect(),
            };
            Ok(SubscriptionContent { request_id, function: ran_function_id, spec })
        }
        other => Err(format!("its payload is no RIC Subscription Request but a {}", other.name())),
    }
}

/// Reads the ids of the RIC Subscription Delete Request that the payload of a message is.
///
/// # Errors
/// Why it is none.
pub(crate) fn read_deletion(payload: &[u8], version: Version) -> Result<(RicRequestId, RanFunctionId), String> {
    let gather = Gather::default();
    match decode(payload, version, &gather).map_err(|error| format!("its payload is malformed: {error}"))?.pdu {
        Pdu::RicSubscriptionDeleteRequest(request) => Ok((request.request_id, request.ran_function_id)),
        other => Err(format!("its payload is no RIC Subscription Delete Request but a {}", other.name())),
    }
}

/// Encodes a message. It has no content that its version cannot carry, and nothing that is too long: what it repeats has been
/// decoded.
fn encoded(kind: MessageType, pdu: &Pdu<'_>, version: Version) -> Option<Answer> {
    let mut octets = Vec::new();
    pdu.encode(version, &mut octets).ok()?;
    Some((kind, octets))
}

/// The answer to a control; `None` if the xApp asked for none.
pub(crate) fn control_answer(of: &Reference, outcome: &ControlOutcome) -> Option<Answer> {
    let Reference { request_id, function, call_process_id, version } = of;
    let call_process_id = call_process_id.as_deref().map(Octets::from);
    let failure = |cause: Cause, outcome: Option<&[u8]>| {
        let failure = RicControlFailure {
            request_id: *request_id,
            ran_function_id: *function,
            call_process_id: call_process_id.clone(),
            cause: Some(cause.in_version(*version)),
            outcome: outcome.map(Octets::from),
            criticality_diagnostics: None,
        };
        encoded(MessageType::CONTROL_FAILURE, &failure.into(), *version)
    };
    match outcome {
        ControlOutcome::Acknowledged(outcome) => {
            let acknowledge = RicControlAcknowledge {
                request_id: *request_id,
                ran_function_id: *function,
                call_process_id: call_process_id.clone(),
                status: (*version < Version::V2_03).then_some(RicControlStatus::Success),
                outcome: outcome.as_deref().map(Octets::from),
            };
            encoded(MessageType::CONTROL_ACKNOWLEDGE, &acknowledge.into(), *version)
        }
        ControlOutcome::Sent => None,
        ControlOutcome::Failed { cause, outcome } => failure(*cause, outcome.as_deref()),
        ControlOutcome::TimedOut => failure(Cause::RicRequest(CauseRicRequest::ControlTimerExpired), None),
        _ => failure(Cause::Misc(CauseMisc::Unspecified), None),
    }
}

/// The answer to a control that was not sent.
pub(crate) fn control_refusal(of: &Reference, cause: Cause) -> Option<Answer> {
    control_answer(of, &ControlOutcome::Failed { cause, outcome: None })
}

/// The answer to a subscription that was set up under a request id of the RIC.
pub(crate) fn subscription_response(
    of: &Reference,
    request_id: RicRequestId,
    admitted: &[RicActionId],
    not_admitted: &[(RicActionId, Cause)],
) -> Option<Answer> {
    let refused = not_admitted.iter().map(|(id, cause)| RicActionNotAdmitted { id: *id, cause: *cause });
    let response = RicSubscriptionResponse {
        request_id,
        ran_function_id: of.function,
        actions_admitted: admitted.iter().map(|id| RicActionAdmitted { id: *id }).collect(),
        actions_not_admitted: (!not_admitted.is_empty()).then(|| refused.collect()),
    };
    encoded(MessageType::SUBSCRIPTION_RESPONSE, &response.into(), of.version)
}

/// The answer to a subscription that was not set up.
pub(crate) fn subscription_failure(of: &Reference, cause: Cause, actions: &[RicActionId]) -> Option<Answer> {
    let cause = cause.in_version(of.version);
    let is_v1 = of.version < Version::V2_03;
    let failure = RicSubscriptionFailure {
        request_id: of.request_id,
        ran_function_id: of.function,
        actions_not_admitted: is_v1.then(|| actions.iter().map(|id| RicActionNotAdmitted { id: *id, cause }).collect()),
        cause: (!is_v1).then_some(cause),
        criticality_diagnostics: None,
    };
    encoded(MessageType::SUBSCRIPTION_FAILURE, &failure.into(), of.version)
}

/// The answer to a deletion.
pub(crate) fn deletion_answer(of: &Reference, is_known: bool) -> Option<Answer> {
    let Reference { request_id, function: ran_function_id, version, .. } = *of;
    if is_known {
        let response = RicSubscriptionDeleteResponse { request_id, ran_function_id };
        return encoded(MessageType::SUBSCRIPTION_DELETE_RESPONSE, &response.into(), version);
    }
    let cause = Some(Cause::RicRequest(CauseRicRequest::RequestIdUnknown));
    let failure = RicSubscriptionDeleteFailure { request_id, ran_function_id, cause, criticality_diagnostics: None };
    encoded(MessageType::SUBSCRIPTION_DELETE_FAILURE, &failure.into(), version)
}

/// The E2AP cause that is nearest to the reason why a subscription was not set up.
pub(crate) fn cause_of(error: &SubscribeError) -> Cause {
    match error {
        SubscribeError::Refused { cause, .. } => *cause,
        SubscribeError::TimedOut => Cause::RicRequest(CauseRicRequest::Unspecified),
        _ => Cause::Misc(CauseMisc::Unspecified),
    }
}
