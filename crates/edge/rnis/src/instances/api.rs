//! `/rnis/v1/instances`: the resources of the supervisor.

use rest::openapi::Api;
use rest::{Operation, Parameter, Problem, Request, RequestQueue, Response, Route, StatusCode};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use super::definition::Definition;
use super::instance::{DecisionRecord, State};
use super::supervisor::{Job, Supervisor};

const PATH: &str = "/rnis/v1/instances";
const ONE: &str = "/rnis/v1/instances/{name}";
const NAME: Parameter = Parameter::text("name", "The name of the instance.");
const TAG: &str = "instances";

const API: Api = Api {
    title: "Instances of the radio network information service",
    summary: "Isolated instances for tenants on one host, with automatic dimensioning; of ferric.",
    description: "Each instance serves ETSI MEC 012 at an address of its own.",
    tags: &[(TAG, "Instances, and what was decided about their processors.")],
};

/// The instances.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InstanceList {
    /// The processors that all instances may use together.
    pub budget: f64,
    /// The sum of their shares: at most the budget.
    pub allocated: f64,
    /// Their states, by name.
    pub instances: Vec<State>,
}

/// The decisions about an instance.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct DecisionList {
    /// The last ones, the oldest first.
    decisions: Vec<DecisionRecord>,
}

/// The routes. The supervisor's loop answers them.
pub fn routes(queue: &RequestQueue<Job>) -> Vec<Route> {
    let mut routes = operations(queue);
    routes.push(API.route("/rnis/v1/openapi.json", &routes));
    routes
}

fn operations(queue: &RequestQueue<Job>) -> Vec<Route> {
    let route = |operation: Operation, answer: fn(&mut Supervisor, &Request) -> Result<Response, Problem>| {
        Route::queued(operation.tag(TAG), queue, move |request| {
            let request = request.clone();
            let job: Job = Box::new(move |supervisor| answer(supervisor, &request));
            Ok(job)
        })
    };
    let conflict = "The name or the address is that of another instance, or the minima exceed the budget.";
    let list = Operation::get(PATH, "getInstances", "The instances, and what they do")
        .returns::<InstanceList>("The instances.");
    let creation = Operation::post(PATH, "createInstance", "Create an instance")
        .takes::<Definition>()
        .example(json!({ "name": "video", "weight": 2, "minShare": 0.05, "maxShare": 1.0, "p99TargetMs": 10.0 }))
        .creates::<Definition>("The instance, with defaults and its address, and an ETag.")
        .refuses(StatusCode::FORBIDDEN, "There are as many instances as there may be.")
        .refuses(StatusCode::CONFLICT, conflict);
    let read = Operation::get(ONE, "getInstance", "An instance")
        .path(&[NAME])
        .returns::<Definition>("The instance, with an ETag.");
    let replacement = Operation::put(ONE, "replaceInstance", "Change an instance")
        .describe(
            "It is restarted if `rest`, `ric`, `periodMs` or `maxSubscriptions` change; its subscriptions end then.",
        )
        .path(&[NAME])
        .takes::<Definition>()
        .returns::<Definition>("The instance, with an ETag.")
        .refuses(StatusCode::CONFLICT, conflict)
        .refuses(StatusCode::PRECONDITION_FAILED, "It has changed: `If-Match` names another ETag.");
    let deletion = Operation::delete(ONE, "deleteInstance", "End an instance")
        .path(&[NAME])
        .empties()
        .refuses(StatusCode::PRECONDITION_FAILED, "It has changed: `If-Match` names another ETag.");
    let state = Operation::get("/rnis/v1/instances/{name}/state", "getInstanceState", "What an instance does")
        .path(&[NAME])
        .returns::<State>("Its process, its share, and the last measurement.");
    let decisions =
        Operation::get("/rnis/v1/instances/{name}/decisions", "getDecisions", "Decisions about its processors")
            .path(&[NAME])
            .returns::<DecisionList>("At most 256.");
    vec![
        route(list, |supervisor, _| Ok(Response::ok(supervisor.list()))),
        route(creation, |supervisor, request| {
            let created = supervisor.create(request.json()?)?;
            let location = format!("{PATH}/{}", created.name);
            Ok(Response::created(&location, created).tagged())
        }),
        route(read, |supervisor, request| {
            Ok(Response::ok(supervisor.instance(request.parameter(0))?.definition.clone()).tagged())
        }),
        route(replacement, |supervisor, request| {
            let name = request.parameter(0);
            check_if_match(supervisor, request)?;
            let definition: Definition = request.json()?;
            if definition.name != name {
                let why = format!("name: an instance keeps its name, which is `{name}`; create another");
                return Err(Problem::unprocessable(why).with("at", "name"));
            }
            Ok(Response::ok(supervisor.replace(definition)?).tagged())
        }),
        route(deletion, |supervisor, request| {
            check_if_match(supervisor, request)?;
            supervisor.delete(request.parameter(0))?;
            Ok(Response::no_content())
        }),
        route(state, |supervisor, request| Ok(Response::ok(supervisor.state(request.parameter(0))?))),
        route(decisions, |supervisor, request| {
            let decisions = supervisor.instance(request.parameter(0))?.decisions.iter().cloned().collect();
            Ok(Response::ok(DecisionList { decisions }))
        }),
    ]
}

/// Checks that the client knows the definition that it is about to change.
fn check_if_match(supervisor: &Supervisor, request: &Request) -> Result<(), Problem> {
    let definition = supervisor.instance(request.parameter(0))?.definition.clone();
    request.check_if_match(&Response::tag_of(definition))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_are_declared_without_a_fault() {
        let (queue, _receiver) = rest::request_queue::<Job>(|| {});
        assert_eq!(API.faults(&operations(&queue)), Vec::<String>::new());
    }
}
