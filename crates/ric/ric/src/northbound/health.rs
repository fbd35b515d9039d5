//! `/v1/health`.

use iapp_rest::Job;
use rest::{Operation, Response, Route};
use schemars::JsonSchema;
use serde::Serialize;

use super::app::{AppQueue, RicApp};

/// What a probe gets.
#[derive(Serialize, JsonSchema)]
struct Health {
    /// Always `ok`: a RIC whose event loop hangs does not answer.
    #[schemars(extend("const" = "ok"))]
    status: &'static str,
}

/// Returns the route: the event loop of the RIC answers it.
pub(super) fn route(queue: &AppQueue) -> Route {
    let operation = Operation::get("/v1/health", "getHealth", "Whether the event loop of the RIC answers, for probes")
        .tag("ric")
        .public()
        .returns::<Health>("It does.");
    Route::queued(operation, queue, |_| {
        let job: Job<RicApp> = Box::new(|_, _, reply| reply.send(Ok(Response::ok(Health { status: "ok" }))));
        Ok(job)
    })
}
