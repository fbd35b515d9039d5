//! The resources of the slicing controller.

mod associations;
mod nodes;
mod parameters;
mod slices;
mod statistics;
mod ues;

use ferric::server::IappContext;
use rest::{Method, StatusCode};

use super::SlicingController;
use super::controls::{Answer, Asker, Order, Planning};
use super::direction::{Direction, SlicesOf};
use super::node::{Node, Slices, SourceState};
use super::{Database, Feed};
use iapp_rest::Job;
use rest::{Problem, Reply, Request, RequestQueue, Response, Route};

pub(super) use associations::StoredRule;

type AppDesk = RequestQueue<Job<SlicingController>>;

/// All of them.
pub(super) fn routes(desk: &AppDesk) -> Vec<Route> {
    let mut routes = nodes::routes(desk);
    routes.extend(ues::routes(desk));
    routes.extend(statistics::routes(desk));
    routes.extend(slices::routes(desk));
    routes.extend(associations::routes(desk));
    routes
}

/// What is read of a node, on the RIC's loop; what is told of it is written elsewhere.
type Read = Box<dyn FnOnce(&Node) -> Result<Response, Problem> + Send>;

/// A resource that is read, of the node that the path's first parameter names.
fn reading(
    path: &'static str,
    desk: &AppDesk,
    prepare: impl Fn(&Request) -> Result<Read, Problem> + Send + 'static,
) -> Route {
    Route::queued(Method::GET, path, desk, move |request| {
        let (name, read) = (request.parameter(0).to_owned(), prepare(request)?);
        let job: Job<SlicingController> =
            Box::new(move |app, _, reply| reply.send(named(&app.database, &name).and_then(read)));
        Ok(job)
    })
}

fn named<'d>(database: &'d Database, name: &str) -> Result<&'d Node, Problem> {
    database
        .named(name)
        .ok_or_else(|| Problem::not_found(format!("there is no node `{name}`; GET /v1/nodes tells them")))
}

/// What a node told by a model, or why there is nothing.
fn told<'n, T>(node: &Node, feed: Feed, latest: Option<&'n T>) -> Result<&'n T, Problem> {
    if let Some(latest) = latest {
        return Ok(latest);
    }
    let name = feed.name();
    Err(match node.source(feed).map(|source| &source.state) {
        None => Problem::not_found(format!("the node offers no {name} function")),
        Some(SourceState::Silent(why)) => Problem::new(StatusCode::BAD_GATEWAY, format!("no {name}: {why}")),
        Some(_) => Problem::unavailable(format!("the node has told nothing of {name} yet")),
    })
}

fn slices_of(node: &Node) -> Result<&Slices, Problem> {
    told(node, Feed::Slice, node.slices.as_ref())
}

/// The direction that a path names.
fn direction(request: &Request, at: usize) -> Result<Direction, Problem> {
    let name = request.parameter(at);
    Direction::named(name).ok_or_else(|| Problem::not_found(format!("slices are of `dl` or `ul`, not of `{name}`")))
}

/// The bodies of all that is told as a list have it under a name, so that more can be told beside it.
fn list<T: serde::Serialize>(name: &str, items: Vec<T>) -> serde_json::Value {
    serde_json::json!({ name: items })
}

/// Has something done with a node's slices, once its turn comes.
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
            let asker = Asker::Client(reply, answer);
            controls.order(id, Order { plan, asker }, database, ric);
        }
        Err(problem) => reply.send(Err(problem)),
    }
}
