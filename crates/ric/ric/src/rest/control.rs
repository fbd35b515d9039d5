//! What became of an E2 control, as REST tells it.

use ferric::e2::{ControlOutcome, Misuse};
use ferric::e2ap::{Cause, CauseRicRequest};
use hyper::StatusCode;

use super::Problem;

/// The node is gone.
pub(crate) fn lost() -> Problem {
    Problem::new(StatusCode::BAD_GATEWAY, "the node was lost before it answered; what it did is not known")
}

/// A control that cannot be sent.
pub(crate) fn not_sent(misuse: Misuse) -> Problem {
    match misuse {
        Misuse::UnknownNode | Misuse::UnknownFunction => lost(),
        Misuse::TooLarge => Problem::unprocessable(format!("the request does not fit: {misuse}")),
        _ => Problem::unavailable(misuse.to_string()),
    }
}

/// A control that cannot be written.
pub(crate) fn not_written(error: &e2sm::Error) -> Problem {
    Problem::unprocessable(format!("the request cannot be written for this node: {error}"))
}

/// What is wrong with an outcome; nothing where the control was done. `words` are the RAN function's own, from the service
/// model's outcome, where it has some.
pub(crate) fn problem_of(
    outcome: &ControlOutcome,
    words: impl FnOnce(Option<&[u8]>) -> Option<String>,
) -> Option<Problem> {
    match outcome {
        ControlOutcome::Acknowledged(_) | ControlOutcome::Sent => None,
        ControlOutcome::NodeLost => Some(lost()),
        ControlOutcome::TimedOut => {
            let detail = "the node did not answer in time; what it did is not known";
            Some(Problem::new(StatusCode::GATEWAY_TIMEOUT, detail))
        }
        ControlOutcome::Failed { cause, outcome } => {
            let reason = words(outcome.as_deref()).filter(|words| !words.is_empty());
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
        other => Some(Problem::new(StatusCode::BAD_GATEWAY, format!("the control failed: {other:?}"))),
    }
}
