//! The resources of the slicing controller.

mod associations;
mod nodes;
mod parameters;
mod slices;
mod statistics;
mod ue_ids;
mod ues;

use ferric::server::IappContext;
use rest::{Method, StatusCode};

use super::SlicingController;
use super::controls::{Answer, Order, Origin, Planning};
use super::direction::{Direction, SlicesOf};
use super::node::{Node, Slices, SourceState};
use super::{Database, ReportModel};
use iapp_rest::Job;
use rest::{Problem, Reply, Request, RequestQueue, Response, Route};

pub(super) use associations::StoredRule;

type AppQueue = RequestQueue<Job<SlicingController>>;

/// Returns all routes.
pub(super) fn routes(queue: &AppQueue) -> Vec<Route> {
    let mut routes = nodes::routes(queue);
    routes.extend(ue_ids::routes(queue));
    routes.extend(ues::routes(queue));
    routes.extend(statistics::routes(queue));
    routes.extend(slices::routes(queue));
    routes.extend(associations::routes(queue));
    routes
}

/// Reads a node on the RIC's loop. The response is written on the server's thread.
type Read = Box<dyn FnOnce(&Node) -> Result<Response, Problem> + Send>;

/// A GET route for the node that the path's first parameter names.
fn reading(
    path: &'static str,
    queue: &AppQueue,
    prepare: impl Fn(&Request) -> Result<Read, Problem> + Send + 'static,
) -> Route {
    Route::queued(Method::GET, path, queue, move |request| {
        let (name, read) = (request.parameter(0).to_owned(), prepare(request)?);
        let job: Job<SlicingController> =
            Box::new(move |app, _, reply| reply.send(named(&app.database, &name).and_then(read)));
        Ok(job)
    })
}

fn named<'d>(database: &'d Database, name: &str) -> Result<&'d Node, Problem> {
    database
        .named(name)
        .ok_or_else(|| Problem::not_found(format!("there is no node `{name}`; GET /v1/nodes lists the nodes")))
}

/// Returns the last report of a model, or the reason why there is none.
fn reported<'n, T>(node: &Node, model: ReportModel, latest: Option<&'n T>) -> Result<&'n T, Problem> {
    if let Some(latest) = latest {
        return Ok(latest);
    }
    let name = model.name();
    Err(match node.source(model).map(|source| &source.state) {
        None => Problem::not_found(format!("the node offers no {name} function")),
        Some(SourceState::Unavailable(why)) => Problem::new(StatusCode::BAD_GATEWAY, format!("no {name}: {why}")),
        Some(_) => Problem::unavailable(format!("the node has not reported {name} yet")),
    })
}

fn slices_of(node: &Node) -> Result<&Slices, Problem> {
    reported(node, ReportModel::Slice, node.slices.as_ref())
}

/// Returns the direction that a path names.
fn direction(request: &Request, at: usize) -> Result<Direction, Problem> {
    let name = request.parameter(at);
    Direction::named(name).ok_or_else(|| Problem::not_found(format!("`{name}` is not a direction: `dl` or `ul`")))
}

/// Wraps a list in an object, so that members can be added beside it.
fn list<T: serde::Serialize>(name: &str, items: Vec<T>) -> serde_json::Value {
    serde_json::json!({ name: items })
}

/// Queues a change of a node's slices.
fn order(
    app: &mut SlicingController,
    ric: &mut IappContext<'_>,
    node: &str,
    plan: Planning,
    reply: Reply,
    answer: Answer,
) {
    let SlicingController { database, controls, .. } = app;
    match named(database, node).map(|node| node.id) {
        Ok(id) => {
            let origin = Origin::Client(reply, answer);
            controls.order(id, Order { plan, origin }, database, ric);
        }
        Err(problem) => reply.send(Err(problem)),
    }
}
