//! The app manager's REST interface.

use rest::{Operation, Parameter, Problem, Request, RequestQueue, Response, Role, Route, StatusCode};
use serde_json::{Map, Value};

use super::documents::{
    ConfigMistake, Deployment, DeregisterRequest, InstanceState, RegisterRequest, XappConfig, XappLog, XappLogLevel,
    XappState,
};
use super::supervisor::{Job, Supervisor};

const NAME: Parameter = Parameter::text("xAppName", "The name of an xApp.");
const INSTANCE: Parameter = Parameter::text("xAppInstanceName", "The name of an instance.");
const ELEMENT: Parameter = Parameter::text("element", "A member of configurations, such as `controls`.");

/// What a request is answered with, on the thread of management.
type Answer = Box<dyn FnOnce(&mut Supervisor) -> Result<Response, Problem> + Send>;

fn route(
    operation: Operation,
    queue: &RequestQueue<Job>,
    prepare: impl Fn(&Request) -> Result<Answer, Problem> + Send + 'static,
) -> Route {
    Route::queued(operation.tag("xapps"), queue, move |request| {
        let answer = prepare(request)?;
        let job: Job = Box::new(move |supervisor, reply| reply.send(answer(supervisor)));
        Ok(job)
    })
}

/// What operators use.
pub(super) fn of_operators(queue: &RequestQueue<Job>) -> Vec<Route> {
    let list = Operation::get("/ric/v1/xapps", "getAllXapps", "The xApps that are registered, or were started");
    let deploy = Operation::post("/ric/v1/xapps", "deployXapp", "Start an xApp")
        .role(Role::Admin)
        .takes::<Deployment>()
        .creates::<XappState>("The xApp.")
        .refuses(StatusCode::FORBIDDEN, "The operator of the RIC has not permitted this command.")
        .refuses(StatusCode::CONFLICT, "It runs already, or another one has its name or port.")
        .refuses(StatusCode::UNPROCESSABLE_ENTITY, "The descriptor or the program is wrong: `mistakes` names members.");
    let one = Operation::get("/ric/v1/xapps/{xAppName}", "getXappByName", "An xApp").path(&[NAME]);
    let undeploy = Operation::delete("/ric/v1/xapps/{xAppName}", "undeployXapp", "Stop an xApp").path(&[NAME]);
    let undeploy =
        undeploy.role(Role::Admin).describe("It is answered when the processes of the xApp have ended.").empties();
    // output may have what is not for everybody
    let log = Operation::get("/ric/v1/xapps/{xAppName}/log", "getXappLog", "The end of the output of an xApp");
    const LEVEL: &str = "/ric/v1/xapps/{xAppName}/log-level";
    let level = Operation::get(LEVEL, "getXappLogLevel", "The level of the log of an xApp");
    let set_level = Operation::put(LEVEL, "putXappLogLevel", "Change the level of the log of an xApp")
        .path(&[NAME])
        .role(Role::Control)
        .takes::<XappLogLevel>()
        .returns::<XappLogLevel>("It is written to the file that the xApp watches.");
    vec![
        route(list.returns::<Vec<XappState>>("The xApps."), queue, |_| {
            Ok(Box::new(|supervisor| Ok(Response::ok(supervisor.xapps()))))
        }),
        route(deploy, queue, |request| {
            let deployment: Deployment = request.json()?;
            Ok(Box::new(move |supervisor| {
                let state = supervisor.deploy(deployment)?;
                Ok(Response::created(&format!("/ric/v1/xapps/{}", state.name), state))
            }))
        }),
        route(one.returns::<XappState>("The xApp."), queue, |request| {
            let name = request.parameter(0).to_owned();
            Ok(Box::new(move |supervisor| Ok(Response::ok(supervisor.xapp(&name)?))))
        }),
        Route::queued(undeploy.tag("xapps"), queue, |request| {
            let name = request.parameter(0).to_owned();
            let job: Job = Box::new(move |supervisor, reply| supervisor.undeploy(&name, reply));
            Ok(job)
        }),
        route(log.path(&[NAME]).role(Role::Control).returns::<XappLog>("The output."), queue, |request| {
            let name = request.parameter(0).to_owned();
            Ok(Box::new(move |supervisor| Ok(Response::ok(supervisor.log(&name)?))))
        }),
        route(level.path(&[NAME]).returns::<XappLogLevel>("The level."), queue, |request| {
            let name = request.parameter(0).to_owned();
            Ok(Box::new(move |supervisor| Ok(Response::ok(XappLogLevel { level: supervisor.log_level(&name)? }))))
        }),
        route(set_level, queue, |request| {
            let (name, XappLogLevel { level }) = (request.parameter(0).to_owned(), request.json()?);
            Ok(Box::new(move |supervisor| {
                supervisor.set_log_level(&name, level)?;
                Ok(Response::ok(XappLogLevel { level }))
            }))
        }),
    ]
}

/// What operators and xApps use.
pub(super) fn all(queue: &RequestQueue<Job>) -> Vec<Route> {
    let health = |path, id| {
        let operation = Operation::get(path, id, "Whether management is there").tag("xapps");
        Route::new(operation.returns::<Map<String, Value>>("It is."), |_| Ok(Response::ok(Map::new())))
    };
    let list = Operation::get("/ric/v1/xapps/list", "listAllXapps", "The xApps that may be started");
    let instance = Operation::get(
        "/ric/v1/xapps/{xAppName}/instances/{xAppInstanceName}",
        "getXappInstanceByName",
        "An instance of an xApp",
    );
    // before the xApp of any name
    let mut routes = vec![
        health("/ric/v1/health/alive", "getHealthAlive"),
        health("/ric/v1/health/ready", "getHealthReady"),
        route(list.returns::<Vec<String>>("Their names."), queue, |_| {
            Ok(Box::new(|supervisor| Ok(Response::ok(supervisor.deployable()))))
        }),
        route(instance.path(&[NAME, INSTANCE]).returns::<InstanceState>("The instance."), queue, |request| {
            let (name, instance) = (request.parameter(0).to_owned(), request.parameter(1).to_owned());
            Ok(Box::new(move |supervisor| {
                let found = supervisor.xapp(&name)?.instances.into_iter().find(|of| of.name == instance);
                found.map(Response::ok).ok_or_else(|| Problem::not_found("there is no such instance"))
            }))
        }),
    ];
    routes.extend(of_operators(queue));
    routes.extend(registration(queue));
    routes.extend(configuration(queue));
    routes
}

fn registration(queue: &RequestQueue<Job>) -> Vec<Route> {
    let register = Operation::post("/ric/v1/register", "registerXapp", "Register an xApp")
        .takes::<RegisterRequest>()
        .creates::<Map<String, Value>>("It is registered.")
        .refuses(StatusCode::BAD_REQUEST, "A name, an endpoint or the configuration is wrong.");
    let deregister = Operation::post("/ric/v1/deregister", "deregisterXapp", "Deregister an xApp");
    let deregister = deregister.takes::<DeregisterRequest>().empties();
    vec![
        route(register, queue, |request| {
            let (registration, host): (RegisterRequest, _) = (request.json()?, request.peer());
            Ok(Box::new(move |supervisor| {
                let location = format!("/ric/v1/xapps/{}", registration.app_name);
                supervisor.register(registration, host)?;
                Ok(Response::created(&location, Map::new()))
            }))
        }),
        route(deregister.refuses(StatusCode::BAD_REQUEST, "There is no such xApp."), queue, |request| {
            let deregistration: DeregisterRequest = request.json()?;
            Ok(Box::new(move |supervisor| {
                supervisor.deregister(&deregistration)?;
                Ok(Response::no_content())
            }))
        }),
    ]
}

fn configuration(queue: &RequestQueue<Job>) -> Vec<Route> {
    let all = Operation::get("/ric/v1/config", "getAllXappConfig", "The configurations of started xApps");
    let element = Operation::get("/ric/v1/config/{element}", "getConfigElement", "A member of each configuration");
    let change = Operation::put("/ric/v1/config", "modifyXappConfig", "Replace the configuration of an xApp")
        .takes::<XappConfig>()
        .returns::<Vec<ConfigMistake>>("It is written; the list is empty.")
        .refuses(StatusCode::BAD_REQUEST, "This RIC has not started the xApp.")
        .refuses(StatusCode::UNPROCESSABLE_ENTITY, "The configuration is wrong: a list of `field` and `error`.");
    vec![
        route(all.returns::<Vec<XappConfig>>("The configurations."), queue, |_| {
            Ok(Box::new(|supervisor| Ok(Response::ok(supervisor.configs(None)))))
        }),
        route(element.path(&[ELEMENT]).returns::<Vec<XappConfig>>("The members."), queue, |request| {
            let element = request.parameter(0).to_owned();
            Ok(Box::new(move |supervisor| Ok(Response::ok(supervisor.configs(Some(&element))))))
        }),
        route(change, queue, |request| {
            let change: XappConfig = request.json()?;
            Ok(Box::new(move |supervisor| {
                // the platform answers 422 with the list itself
                let Err(mistakes) = supervisor.configure(change)? else { return Ok(Response::ok([(); 0])) };
                let mistakes = mistakes.into_iter().map(|(field, error)| ConfigMistake { field, error });
                Ok(Response::json(StatusCode::UNPROCESSABLE_ENTITY, mistakes.collect::<Vec<_>>()))
            }))
        }),
    ]
}
