//! The resources of the slicing controller.

mod associations;
mod nodes;
mod parameters;
mod slices;
mod statistics;
mod ue_ids;
mod ues;

use super::SlicingController;
use super::controls::{Answer, Order, Origin, Planning};
use super::direction::{Direction, SlicesOf};
use super::node::{Node, Slices, SourceState};
use super::{Database, ReportModel};
use ferric::server::IappContext;
use iapp_rest::Job;
use rest::{Operation, Parameter, Problem, Reply, Request, RequestQueue, Response, Route, StatusCode};

pub(super) use associations::StoredRule;

/// The parameters of paths.
const NODE: Parameter = Parameter::text("node", "The node's identity, as logged: `gnb-00101-e00`.");
const DIRECTION: Parameter = Parameter::choice("direction", "Downlink or uplink.", &["dl", "ul"]);
const SLICE: Parameter = Parameter::of::<u32>("slice", "The slice's id in its direction.");
const RNTI: Parameter = Parameter::of::<u16>("rnti", "The UE's C-RNTI, decimal.");
const ASSOCIATION: Parameter = Parameter::of::<u32>("association", "The rule's id.");

/// What a client reads about changes of a node.
const CHANGES: &str = "If the node refuses, nothing has changed: 409 for a conflict with the current state, 422 for a \
    request that it cannot fulfil; `reason` contains the diagnostic of its RAN function, `cause` the E2AP cause. 502: the node \
    was lost; 504: it did not answer in time; in both cases the outcome is unknown. Requests for one node are executed in the \
    order of their arrival.";

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
    operation: Operation,
    queue: &AppQueue,
    prepare: impl Fn(&Request) -> Result<Read, Problem> + Send + 'static,
) -> Route {
    Route::queued(operation, queue, move |request| {
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
