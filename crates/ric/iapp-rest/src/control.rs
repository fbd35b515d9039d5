//! Outcomes of E2 controls as problem details.

use ferric::e2::{ControlOutcome, Misuse};
use ferric::e2ap::{Cause, CauseRicRequest};
use rest::{Problem, StatusCode};

/// 502: the node was lost.
#[must_use]
pub fn node_lost() -> Problem {
    Problem::new(StatusCode::BAD_GATEWAY, "the node was lost before it answered; the outcome is unknown")
}

/// The problem of a control that the controller refuses to send.
#[must_use]
pub fn misuse_problem(misuse: Misuse) -> Problem {
    match misuse {
        Misuse::UnknownNode | Misuse::UnknownFunction => node_lost(),
        Misuse::TooLarge => Problem::unprocessable(format!("the request is too long: {misuse}")),
        _ => Problem::unavailable(misuse.to_string()),
    }
}

/// 422: the control cannot be encoded in the wire form of the node's RAN function.
#[must_use]
pub fn encoding_problem(error: &e2sm::Error) -> Problem {
    Problem::unprocessable(format!("the request cannot be encoded for this node: {error}"))
}

/// Returns the problem of an outcome; `None` if the node executed the control. `reason` extracts the RAN function's own
/// explanation from the control outcome IE of the service model, if it has one.
pub fn problem_of(outcome: &ControlOutcome, reason: impl FnOnce(Option<&[u8]>) -> Option<String>) -> Option<Problem> {
    match outcome {
        ControlOutcome::Acknowledged(_) | ControlOutcome::Sent => None,
        ControlOutcome::NodeLost => Some(node_lost()),
        ControlOutcome::TimedOut => {
            let detail = "the node did not answer in time; the outcome is unknown";
            Some(Problem::new(StatusCode::GATEWAY_TIMEOUT, detail))
        }
        ControlOutcome::Failed { cause, outcome } => {
            let reason = reason(outcome.as_deref()).filter(|reason| !reason.is_empty());
            let status = match cause {
                Cause::RicRequest(CauseRicRequest::ControlMessageInvalid) => StatusCode::UNPROCESSABLE_ENTITY,
                Cause::RicRequest(_) => StatusCode::CONFLICT,
                _ => StatusCode::BAD_GATEWAY,
            };
            let detail = reason.clone().unwrap_or_else(|| format!("the node refuses: {cause}"));
            let problem = Problem::new(status, detail).with("cause", cause.to_string());
            Some(match reason {
                Some(reason) => problem.with("reason", reason),
                None => problem,
            })
        }
        other => Some(Problem::new(StatusCode::BAD_GATEWAY, other.to_string())),
    }
}
