//! E2AP causes that several RAN functions answer with, and the checks that lead to them.

use std::fmt::Display;

use ferric::e2ap::{Cause, CauseProtocol, CauseRicRequest};
use tracing::info;

pub(crate) const ACTION_NOT_SUPPORTED: Cause = Cause::RicRequest(CauseRicRequest::ActionNotSupported);
pub(crate) const TRIGGER_NOT_SUPPORTED: Cause = Cause::RicRequest(CauseRicRequest::EventTriggerNotSupported);
pub(crate) const INFORMATION_UNAVAILABLE: Cause = Cause::RicRequest(CauseRicRequest::RequestedInformationUnavailable);
pub(crate) const RESOURCE_LIMIT: Cause = Cause::RicRequest(CauseRicRequest::FunctionResourceLimit);
pub(crate) const CONTROL_MESSAGE_INVALID: Cause = Cause::RicRequest(CauseRicRequest::ControlMessageInvalid);
pub(crate) const CONTROL_FAILED: Cause = Cause::RicRequest(CauseRicRequest::ControlFailedToExecute);
pub(crate) const SEMANTIC_ERROR: Cause = Cause::Protocol(CauseProtocol::SemanticError);
pub(crate) const TRANSFER_SYNTAX_ERROR: Cause = Cause::Protocol(CauseProtocol::TransferSyntaxError);

/// Logs that `what` cannot be decoded, and returns the cause for it.
pub(crate) fn undecodable<E: Display>(what: &'static str) -> impl Fn(E) -> Cause {
    move |error| {
        info!(%error, "request refused: cannot decode its {what}");
        TRANSFER_SYNTAX_ERROR
    }
}

/// Checks that a request does not exceed a limit of the function.
pub(crate) fn check_limit(count: usize, limit: usize) -> Result<(), Cause> {
    if count > limit { Err(RESOURCE_LIMIT) } else { Ok(()) }
}
