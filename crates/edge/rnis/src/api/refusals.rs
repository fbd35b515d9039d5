//! The refusals of the operations of MEC 012: each status code that an operation has by itself. Those of the server that no request
//! of a well-behaved client causes, such as 500, are the document's `default`.

use rest::{Operation, StatusCode};

type Refusal = (StatusCode, &'static str);

const MALFORMED: Refusal = (StatusCode::BAD_REQUEST, "A parameter or the body is malformed or unknown; `at` names it.");
const UNKNOWN_CLIENT: Refusal = (StatusCode::UNAUTHORIZED, "The server has tokens, and the request has no valid one.");
const MAY_NOT_QUERY: Refusal = (StatusCode::FORBIDDEN, "The tenant may not send the query.");
const MAY_NOT_SUBSCRIBE: Refusal = (
    StatusCode::FORBIDDEN,
    "The criteria are beyond the rights of the tenant, or the application has as many subscriptions as one may have.",
);
const MAY_NOT_CHANGE: Refusal = (StatusCode::FORBIDDEN, "The criteria are beyond the rights of the tenant.");
const FOREIGN_ORIGIN: Refusal = (StatusCode::FORBIDDEN, "The handshake is of a page of another origin.");
const NO_MATCH: Refusal = (StatusCode::NOT_FOUND, "Nothing meets the parameters.");
const NO_SUBSCRIPTION: Refusal = (StatusCode::NOT_FOUND, "There is no such subscription; it may have expired.");
const NOT_ACCEPTABLE: Refusal = (StatusCode::NOT_ACCEPTABLE, "`Accept` excludes the media type of the answer.");
const LATE_BODY: Refusal = (StatusCode::REQUEST_TIMEOUT, "The body has not arrived in time.");
const CHANGED: Refusal = (StatusCode::PRECONDITION_FAILED, "It has changed: `If-Match` names another ETag.");
const LONG_BODY: Refusal = (StatusCode::PAYLOAD_TOO_LARGE, "The body is longer than 1 MiB.");
const LONG_TARGET: Refusal = (StatusCode::URI_TOO_LONG, "The request target is longer than 8 KiB.");
const NO_JSON: Refusal = (StatusCode::UNSUPPORTED_MEDIA_TYPE, "The body is not declared as JSON.");
const OTHER_HOST: Refusal =
    (StatusCode::MISDIRECTED_REQUEST, "The server has a loopback address, and the request names another host.");
const IMPOSSIBLE: Refusal = (StatusCode::UNPROCESSABLE_ENTITY, "The body is understood, and cannot be done.");
const NO_HANDSHAKE: Refusal = (StatusCode::UPGRADE_REQUIRED, "The request is no handshake of a WebSocket.");
const TOO_MANY: Refusal = (StatusCode::TOO_MANY_REQUESTS, "Too many requests; `Retry-After` says when to try again.");
const FULL_OR_NO_BROKER: Refusal = (
    StatusCode::SERVICE_UNAVAILABLE,
    "The service has as many subscriptions as it may have, or the broker cannot be reached.",
);
const NO_BROKER: Refusal = (StatusCode::SERVICE_UNAVAILABLE, "The broker cannot be reached.");
const TOO_MANY_STREAMS: Refusal =
    (StatusCode::SERVICE_UNAVAILABLE, "The server has as many WebSockets and streams as it may have.");
const SLOW_BROKER: Refusal = (StatusCode::GATEWAY_TIMEOUT, "The broker has not answered in time.");
const NOT_MODIFIED: Refusal = (StatusCode::NOT_MODIFIED, "It is still the one that `If-None-Match` names.");

/// Those of every operation.
const COMMON: [Refusal; 7] = [MALFORMED, UNKNOWN_CLIENT, LATE_BODY, LONG_BODY, LONG_TARGET, OTHER_HOST, TOO_MANY];

/// A kind of operations with the same refusals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A query of the latest state.
    Query,
    /// A list of links.
    List,
    /// POST of a subscription.
    Creation,
    /// GET of a subscription.
    Representation,
    /// PUT of a subscription.
    Replacement,
    /// DELETE of a subscription.
    Deletion,
    /// The WebSocket of a subscription.
    WebSocket,
}

impl Kind {
    /// Those beside [`COMMON`].
    const fn further(self) -> &'static [Refusal] {
        match self {
            Kind::Query => &[MAY_NOT_QUERY, NO_MATCH, NOT_ACCEPTABLE],
            Kind::List => &[NOT_ACCEPTABLE],
            Kind::Creation => &[MAY_NOT_SUBSCRIBE, NOT_ACCEPTABLE, NO_JSON, IMPOSSIBLE, FULL_OR_NO_BROKER, SLOW_BROKER],
            Kind::Representation => &[NOT_MODIFIED, NO_SUBSCRIPTION, NOT_ACCEPTABLE],
            Kind::Replacement => {
                &[MAY_NOT_CHANGE, NO_SUBSCRIPTION, NOT_ACCEPTABLE, CHANGED, NO_JSON, IMPOSSIBLE, NO_BROKER, SLOW_BROKER]
            }
            Kind::Deletion => &[NO_SUBSCRIPTION, CHANGED, NO_BROKER, SLOW_BROKER],
            Kind::WebSocket => &[FOREIGN_ORIGIN, NO_SUBSCRIPTION, NO_HANDSHAKE, TOO_MANY_STREAMS],
        }
    }

    /// Declares the refusals of an operation.
    pub fn of(self, operation: Operation) -> Operation {
        let all = COMMON.iter().chain(self.further());
        all.fold(operation, |operation, (status, description)| operation.refuses(*status, description))
    }
}
