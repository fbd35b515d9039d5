//! Why requests of xApps are refused, and with which answer.

use std::fmt;

use ferric::e2::{Lacking, Misuse};
use ferric::e2ap::{Cause, CauseMisc, CauseRicRequest};
use rest::{Problem, StatusCode};

use super::quotas::Exceeded;
use super::rights::Sender;

/// Why an xApp's request is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It lacks a right.
    Right { sender: Sender, lacking: Lacking },
    /// It has its share.
    Quota(Exceeded),
    /// There is no room for its endpoint.
    Endpoints(String),
    /// It has not stated where it receives.
    NoPort,
    /// The RIC does not do it.
    Misuse(Misuse),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Right { sender, lacking } => write!(
                f,
                "the xApp at {sender} has {lacking}; to permit it, add the grant to `[[xapp_rights]]` with rmr = \"{sender}\" or the name \
                 of the xApp"
            ),
            Refusal::Quota(exceeded) => exceeded.fmt(f),
            Refusal::Endpoints(why) => f.write_str(why),
            Refusal::NoPort => f.write_str("its message does not state the port of the xApp"),
            Refusal::Misuse(misuse) => misuse.fmt(f),
        }
    }
}

impl Refusal {
    /// The E2AP cause that is nearest to it.
    pub fn cause(&self) -> Cause {
        match self {
            Refusal::Right { .. } | Refusal::Misuse(Misuse::NotAllowed) => Cause::Misc(CauseMisc::OmIntervention),
            Refusal::Quota(_)
            | Refusal::Endpoints(_)
            | Refusal::Misuse(Misuse::TooManyRequests | Misuse::NodeBusy | Misuse::NoRequestId) => {
                Cause::Misc(CauseMisc::ControlProcessingOverload)
            }
            Refusal::Misuse(Misuse::UnknownFunction) => Cause::RicRequest(CauseRicRequest::RanFunctionIdInvalid),
            Refusal::Misuse(Misuse::BadActions) => Cause::RicRequest(CauseRicRequest::ActionNotSupported),
            Refusal::NoPort | Refusal::Misuse(_) => Cause::Misc(CauseMisc::Unspecified),
        }
    }

    /// Its answer by REST.
    pub fn problem(&self, at: u16) -> Problem {
        let detail = format!("subscription {at}: {self}");
        match self {
            Refusal::Right { .. } => Problem::new(StatusCode::FORBIDDEN, detail),
            _ => Problem::unavailable(detail),
        }
    }
}
