//! The subscription manager's REST interface, version 1: xApps subscribe by it, and receive indications over RMR.
//!
//! | resource | |
//! |---|---|
//! | `POST /ric/v1/subscriptions` | subscribes: 201 with an id; the xApp is notified of each outcome |
//! | `DELETE /ric/v1/subscriptions/{subscriptionId}` | deletes what one request has subscribed |
//! | `GET /ric/v1/subscriptions` | all subscriptions that are active |
//! | `GET /ric/v1/endpoints` | the endpoints of xApps, with what was sent to them; not one of the platform |
//!
//! `ricxappframe` posts to the base of these paths and deletes below it, with either of them as its URL; so `POST /ric/v1`, and
//! `GET` and `DELETE` below `/ric/v1/subscriptions/subscriptions`, are the same. It writes its own names of members
//! (`client_endpoint`), which are read like those of the platform (`ClientEndpoint`). The framework for Go lists with two slashes at
//! the beginning of the path.
//!
//! A notification is `POST http://HOST:HTTPPORT/ric/v1/subscriptions/response` to the client endpoint. Indications go to its RMR
//! port; its host is that of the client endpoint with `http` replaced by `rmr`, as the platform names services.

pub(crate) mod document;

use rest::{Operation, Parameter, RequestQueue, Response, Route, StatusCode};

use crate::messaging::{Messaging, MessagingHandle};
use document::{Created, Endpoint, Overview, Params};
use iapp_rest::Job;

/// The most subscriptions by REST, and the part of them that one host may have.
pub const MAX_SUBSCRIPTIONS: usize = 4096;
/// The part of [`MAX_SUBSCRIPTIONS`] that one host may have.
pub const MAX_OF_HOST_PERCENT: usize = 75;
/// Subscriptions in one request.
pub const MAX_DETAILS: usize = 64;
/// Where xApps are notified.
pub(crate) const NOTIFICATION_PATH: &str = "/ric/v1/subscriptions/response";

const ID: Parameter = Parameter::text("subscriptionId", "The id that the subscription was answered with.");

/// Returns the routes of the subscription manager.
#[must_use]
pub fn routes(messaging: &MessagingHandle) -> Vec<Route> {
    let queue = &messaging.queue;
    let mut routes = vec![
        create("/ric/v1/subscriptions", "subscribe", queue),
        create("/ric/v1", "subscribeAtBase", queue),
        active("//ric/v1/subscriptions", "getSubscriptionsOfGo", queue),
        endpoints(queue),
    ];
    for (list, one, names) in [
        ("/ric/v1/subscriptions", "/ric/v1/subscriptions/{subscriptionId}", ["getSubscriptions", "unsubscribe"]),
        (
            "/ric/v1/subscriptions/subscriptions",
            "/ric/v1/subscriptions/subscriptions/{subscriptionId}",
            ["getSubscriptionsBelow", "unsubscribeBelow"],
        ),
    ] {
        routes.push(active(list, names[0], queue));
        let delete = Operation::delete(one, names[1], "Delete a subscription")
            .tag("subscriptions")
            .refuses(StatusCode::FORBIDDEN, "There are rights of xApps, and another host has subscribed.");
        routes.push(Route::queued(delete.path(&[ID]).empties(), queue, |request| {
            let (id, host) = (request.parameter(0).to_owned(), request.peer());
            let job: Job<Messaging> = Box::new(move |app, ric, reply| {
                reply.send(app.unsubscribe_rest(&id, host, ric).map(|()| Response::no_content()));
            });
            Ok(job)
        }));
    }
    routes
}

fn active(path: &'static str, id: &'static str, queue: &RequestQueue<Job<Messaging>>) -> Route {
    let get = Operation::get(path, id, "The active subscriptions").tag("subscriptions");
    Route::queued(get.returns::<Vec<Overview>>("The subscriptions."), queue, |_| {
        let job: Job<Messaging> = Box::new(|app, _, reply| reply.send(Ok(Response::ok(app.overview()))));
        Ok(job)
    })
}

fn create(path: &'static str, id: &'static str, queue: &RequestQueue<Job<Messaging>>) -> Route {
    let operation = Operation::post(path, id, "Subscribe").tag("subscriptions");
    let operation = operation
        .takes::<Params>()
        .creates::<Created>("The id; the outcome is notified.")
        .refuses(StatusCode::FORBIDDEN, "The xApp has no right to it.")
        .refuses(StatusCode::SERVICE_UNAVAILABLE, "There is no such node, or no room.");
    Route::queued(operation, queue, |request| {
        let params: Params = request.json()?;
        params.check()?;
        let host = request.peer();
        let job: Job<Messaging> = Box::new(move |app, ric, reply| {
            let accepted = app.accept(params, host, ric);
            reply.send(accepted.clone().map(|accepted| {
                let location = format!("/ric/v1/subscriptions/{}", accepted.id);
                Response::created(&location, Created { id: accepted.id, instances: Vec::new() })
            }));
            if let Ok(accepted) = accepted {
                app.request_shares(&accepted, ric);
            }
        });
        Ok(job)
    })
}

fn endpoints(queue: &RequestQueue<Job<Messaging>>) -> Route {
    let get = Operation::get("/ric/v1/endpoints", "getEndpoints", "The endpoints of xApps").tag("subscriptions");
    Route::queued(get.returns::<Vec<Endpoint>>("The endpoints."), queue, |_| {
        let job: Job<Messaging> = Box::new(|app, _, reply| reply.send(Ok(Response::ok(app.endpoints()))));
        Ok(job)
    })
}
