//! The resources below `/v1/nodes/{node}/tc`.

use e2sm::tc::{
    ClassifierControl, ControlMessage, DeleteFilter, DeleteQueue, ModifyFilter, ModifyQueue, NewFilter, NewOsiFilter,
    OsiFilter, PacerControl, PolicerControl, QueueControl, QueueKind, SchedulerControl, ShaperControl,
};

use serde_json::json;

use super::document::{
    ClassifierDocument, FilterDocument, PacerDocument, Part, PolicerDocument, QueueDocument, ShaperDocument, TcDocument,
};
use super::new_filter::{NewFilterBody, PlannedControl};
use super::{Order, TcManager};
use crate::resource::{ClassifierBody, PacerBody, PolicerBody, QueueBody, SchedulerBody, ShaperBody};
use iapp_rest::Job;
use rest::{Method, Operation, Parameter, Problem, Request, RequestQueue, Response, Route};

type Manager = RequestQueue<Job<TcManager>>;
/// What a request means.
type ControlOrProblem = Result<ControlMessage<'static>, Problem>;

/// The path of a part of TC, or of one of several.
macro_rules! path {
    ($($rest:literal)?) => { concat!("/v1/nodes/{node}/tc", $($rest)?) };
}

const NODE: Parameter = Parameter::text("node", "The node's identity, as logged: `gnb-00101-e00`.");
const QUEUE: Parameter = Parameter::of::<u32>("queue", "A queue's id.");
const FILTER: Parameter = Parameter::of::<u32>("filter", "A filter's id.");
/// What a client reads about changes.
const CHANGES: &str = "The response is sent after the node has acknowledged the control and sent its next report. If it refuses, \
    nothing has changed: 422 for a request that it cannot fulfil, 409 for a conflict with the current state; `reason` contains \
    the diagnostic of its RAN function, `cause` the E2AP cause. 502: the node was lost; 504: it did not answer in time; in both \
    cases the outcome is unknown. Requests for one node are executed in the order of their arrival.";

/// An operation on a part of TC as a whole.
fn of_part(operation: Operation) -> Operation {
    operation.tag("traffic").path(&[NODE])
}

/// An operation on one of several, which `id` names.
fn of_one(operation: Operation, id: Parameter) -> Operation {
    operation.tag("traffic").path(&[NODE, id])
}

pub(super) fn routes(queue: &Manager) -> Vec<Route> {
    let all = of_part(Operation::get(path!(), "getTrafficControl", "The configuration and counters of TC"));
    let mut routes = vec![Route::queued(all.returns::<TcDocument>("The last report of the node."), queue, |request| {
        let name = request.parameter(0).to_owned();
        Ok(Box::new(move |manager: &mut TcManager, ric: &mut ferric::server::IappContext<'_>, reply| {
            let document = manager.by_name(&name, ric).and_then(|(_, node)| node.document());
            reply.send(document.map(Response::ok));
        }))
    })];
    routes.extend(parts(queue));
    routes.extend(lists(queue));
    routes.extend(entries(queue));
    routes.extend(queues(queue));
    routes.extend(filters(queue));
    routes.extend(of_queues(queue));
    routes.extend(single(queue));
    routes
}

/// Reads what a node has one of.
fn parts(queue: &Manager) -> [Route; 3] {
    let get = |path, id, summary| of_part(Operation::get(path, id, summary));
    let scheduler =
        get(path!("/scheduler"), "getScheduler", "The scheduler").returns::<SchedulerBody>("The scheduler.");
    let pacer = get(path!("/pacer"), "getPacer", "The pacer").returns::<PacerDocument>("The pacer.");
    let classifier = get(path!("/classifier"), "getClassifier", "The classifier");
    let classifier = classifier.returns::<ClassifierDocument>("The classifier.");
    [
        read_part(scheduler, queue, Part::Scheduler),
        read_part(pacer, queue, Part::Pacer),
        read_part(classifier, queue, Part::Classifier),
    ]
}

/// Reads all of what a node has several of.
fn lists(queue: &Manager) -> [Route; 4] {
    let get = |path, id, summary| of_part(Operation::get(path, id, summary));
    let filters = get(path!("/filters"), "getFilters", "The filters").returns::<Vec<FilterDocument>>("All of them.");
    let queues = get(path!("/queues"), "getQueues", "The queues").returns::<Vec<QueueDocument>>("All of them.");
    let policers =
        get(path!("/policers"), "getPolicers", "The policers").returns::<Vec<PolicerDocument>>("All of them.");
    let shapers = get(path!("/shapers"), "getShapers", "The shapers").returns::<Vec<ShaperDocument>>("All of them.");
    [
        read_part(filters, queue, Part::Filters),
        read_part(queues, queue, Part::Queues),
        read_part(policers, queue, Part::Policers),
        read_part(shapers, queue, Part::Shapers),
    ]
}

/// Reads one of what a node has several of.
fn entries(queue: &Manager) -> [Route; 4] {
    let get = |path, id, summary, of| of_one(Operation::get(path, id, summary), of);
    let filter =
        get(path!("/filters/{filter}"), "getFilter", "A filter", FILTER).returns::<FilterDocument>("The filter.");
    let one = get(path!("/queues/{queue}"), "getQueue", "A queue", QUEUE).returns::<QueueDocument>("The queue.");
    let policer = get(path!("/policers/{queue}"), "getPolicer", "A policer", QUEUE);
    let shaper = get(path!("/shapers/{queue}"), "getShaper", "A shaper", QUEUE);
    [
        read_entry(filter, queue, Part::Filters),
        read_entry(one, queue, Part::Queues),
        read_entry(policer.returns::<PolicerDocument>("The policer."), queue, Part::Policers),
        read_entry(shaper.returns::<ShaperDocument>("The shaper."), queue, Part::Shapers),
    ]
}

fn queues(queue: &Manager) -> [Route; 3] {
    let post = of_part(Operation::post(path!("/queues"), "addQueue", "Add a queue")).takes::<QueueBody>();
    let post = post.example(json!({ "kind": "fifo" })).creates::<QueueDocument>("The queue, with its id.");
    let put =
        of_one(Operation::put(path!("/queues/{queue}"), "putQueue", "Change a queue"), QUEUE).takes::<QueueBody>();
    let put = put.example(json!({ "kind": "fifo" })).returns::<QueueDocument>(CHANGED).describe(CHANGES);
    let delete = of_one(Operation::delete(path!("/queues/{queue}"), "deleteQueue", "Delete a queue"), QUEUE);
    [
        add(
            post.describe(format!("The queue is added at the end, with an inactive policer and shaper. {CHANGES}")),
            queue,
            Part::Queues,
            |request| {
                let parameters = request.json::<QueueBody>()?.parameters().map_err(Problem::unprocessable)?;
                Ok(ControlMessage::Queue(QueueControl::Add(parameters)).into())
            },
        ),
        set_one(put, queue, Part::Queues, |request, id| {
            let parameters = request.json::<QueueBody>()?.parameters().map_err(Problem::unprocessable)?;
            Ok(ControlMessage::Queue(QueueControl::Modify(ModifyQueue { id, parameters })).into())
        }),
        // the SM wants to hear which discipline it has
        Route::queued(delete.empties().describe(CHANGES), queue, |request| {
            let id = request.number(1, "queue")?;
            Ok(order(request.parameter(0), move |document| delete_queue(document, id), |_, _| Response::no_content()))
        }),
    ]
}

/// The description of an answer to a change.
const CHANGED: &str = "The configuration after the change.";

fn delete_queue(document: &TcDocument, id: u32) -> ControlOrProblem {
    let queue = entry(document, Part::Queues, id)?;
    let kind = match queue["kind"].as_str() {
        Some("codel") => QueueKind::CoDel,
        Some("ecn_codel") => QueueKind::EcnCoDel,
        _ => QueueKind::Fifo,
    };
    Ok(ControlMessage::Queue(QueueControl::Delete(DeleteQueue { id, kind })))
}

fn filters(queue: &Manager) -> [Route; 3] {
    let example =
        || json!({ "queue_id": 1, "protocol": "udp", "destination_address": "10.0.0.2", "destination_port": 5060 });
    let post = of_part(Operation::post(path!("/filters"), "addFilter", "Add a filter")).takes::<NewFilterBody>();
    let post = post.example(example()).creates::<FilterDocument>("The filter, with its id.");
    let put = of_one(Operation::put(path!("/filters/{filter}"), "putFilter", "Change a filter"), FILTER);
    let put = put.takes::<NewFilterBody>().example(example()).returns::<FilterDocument>(CHANGED).describe(CHANGES);
    let delete = of_one(Operation::delete(path!("/filters/{filter}"), "deleteFilter", "Delete a filter"), FILTER);
    [
        add(
            post.describe(format!("The first filter sets the classifier by headers (`osi`). {CHANGES}")),
            queue,
            Part::Filters,
            |request| {
                let (body, ue) = request.json::<NewFilterBody>()?.parts()?;
                let filter = NewFilter::Osi(NewOsiFilter { flow: body.flow(), queue_id: queue_id(body.queue_id)? });
                Ok(PlannedControl { control: ControlMessage::Classifier(ClassifierControl::Add(filter)), ue })
            },
        ),
        set_one(put, queue, Part::Filters, |request, id| {
            let (body, ue) = request.json::<NewFilterBody>()?.parts()?;
            let filter = OsiFilter { id, flow: body.flow(), queue_id: queue_id(body.queue_id)? };
            Ok(PlannedControl {
                control: ControlMessage::Classifier(ClassifierControl::Modify(ModifyFilter::Osi(filter))),
                ue,
            })
        }),
        set_one(delete.empties().describe(CHANGES), queue, Part::Filters, |_, id| {
            Ok(ControlMessage::Classifier(ClassifierControl::Delete(DeleteFilter::Osi(id))).into())
        }),
    ]
}

/// A filter's queue has 31 bits on the wire.
fn queue_id(id: u32) -> Result<u32, Problem> {
    match i32::try_from(id) {
        Ok(_) => Ok(id),
        Err(_) => Err(Problem::unprocessable(format!("queue_id: {id} is above {}", i32::MAX)).with("at", "queue_id")),
    }
}

fn of_queues(queue: &Manager) -> [Route; 4] {
    const POLICER: &str = path!("/policers/{queue}");
    const SHAPER: &str = path!("/shapers/{queue}");
    let put_policer = of_one(Operation::put(POLICER, "putPolicer", "Change a policer"), QUEUE).takes::<PolicerBody>();
    let put_policer = put_policer.example(json!({ "drop_rate_kbps": 9000 })).returns::<PolicerDocument>(CHANGED);
    let delete_policer = of_one(Operation::delete(POLICER, "deletePolicer", "Deactivate a policer"), QUEUE).empties();
    let put_shaper = of_one(Operation::put(SHAPER, "putShaper", "Change a shaper"), QUEUE).takes::<ShaperBody>();
    let put_shaper = put_shaper.example(json!({ "window_ms": 100, "max_rate_kbps": 15000 }));
    let delete_shaper = of_one(Operation::delete(SHAPER, "deleteShaper", "Deactivate a shaper"), QUEUE).empties();
    [
        set_one(put_policer.describe(CHANGES), queue, Part::Policers, |request, id| {
            let change = request.json::<PolicerBody>()?.change(id);
            Ok(ControlMessage::Policer(PolicerControl::Modify(change)).into())
        }),
        set_one(delete_policer.describe(CHANGES), queue, Part::Policers, |_, id| {
            Ok(ControlMessage::Policer(PolicerControl::Delete(id)).into())
        }),
        set_one(
            put_shaper.returns::<ShaperDocument>(CHANGED).describe(CHANGES),
            queue,
            Part::Shapers,
            |request, id| {
                let change = request.json::<ShaperBody>()?.change(id);
                Ok(ControlMessage::Shaper(ShaperControl::Modify(change)).into())
            },
        ),
        set_one(delete_shaper.describe(CHANGES), queue, Part::Shapers, |_, id| {
            Ok(ControlMessage::Shaper(ShaperControl::Delete(id)).into())
        }),
    ]
}

fn single(queue: &Manager) -> [Route; 3] {
    let put = |path, id, summary| of_part(Operation::put(path, id, summary)).describe(CHANGES);
    let scheduler = put(path!("/scheduler"), "putScheduler", "Set the scheduler").takes::<SchedulerBody>();
    let scheduler = scheduler.example(json!({ "kind": "round_robin" })).returns::<SchedulerBody>(CHANGED);
    let pacer = put(path!("/pacer"), "putPacer", "Set the pacer").takes::<PacerBody>();
    let pacer = pacer.example(json!({ "kind": "5g_bdp" })).returns::<PacerDocument>(CHANGED);
    let classifier = put(path!("/classifier"), "putClassifier", "Set the classifier").takes::<ClassifierBody>();
    let classifier = classifier.example(json!({ "kind": "stochastic" })).returns::<ClassifierDocument>(CHANGED);
    [
        set(scheduler, queue, Part::Scheduler, |request| {
            let scheduler = request.json::<SchedulerBody>()?.scheduler().map_err(Problem::unprocessable)?;
            Ok(ControlMessage::Scheduler(SchedulerControl::Modify(scheduler)))
        }),
        set(pacer, queue, Part::Pacer, |request| {
            let pacer = request.json::<PacerBody>()?.parameters().map_err(Problem::unprocessable)?;
            Ok(ControlMessage::Pacer(PacerControl::Modify(pacer)))
        }),
        set(classifier, queue, Part::Classifier, |request| {
            let filter = request.json::<ClassifierBody>()?.filter().map_err(Problem::unprocessable)?;
            Ok(ControlMessage::Classifier(ClassifierControl::Add(filter)))
        }),
    ]
}

/// Reads a part.
fn read_part(operation: Operation, queue: &Manager, part: Part) -> Route {
    read(operation, queue, part, |_, _| Ok(None))
}

/// Reads one of a part.
fn read_entry(operation: Operation, queue: &Manager, part: Part) -> Route {
    read(operation, queue, part, |request, part| request.number(1, part.name()).map(Some))
}

fn read(
    operation: Operation,
    queue: &Manager,
    part: Part,
    which: impl Fn(&Request, Part) -> Result<Option<u32>, Problem> + Send + 'static,
) -> Route {
    Route::queued(operation, queue, move |request| {
        let (name, id) = (request.parameter(0).to_owned(), which(request, part)?);
        Ok(Box::new(move |manager: &mut TcManager, ric: &mut ferric::server::IappContext<'_>, reply| {
            let document = manager.by_name(&name, ric).and_then(|(_, node)| node.document());
            reply.send(document.and_then(|document| part_of(&document, part, id)));
        }))
    })
}

/// Returns a part of the document, or one of its entries.
fn part_of(document: &TcDocument, part: Part, id: Option<u32>) -> Result<Response, Problem> {
    match (document.part(part, id), id) {
        (Some(value), _) => Ok(Response::ok(value)),
        (None, id) => Err(not_found(part, id.unwrap_or_default())),
    }
}

fn entry(document: &TcDocument, part: Part, id: u32) -> Result<serde_json::Value, Problem> {
    document.part(part, Some(id)).ok_or_else(|| not_found(part, id))
}

fn not_found(part: Part, id: u32) -> Problem {
    Problem::not_found(format!("there is no {} {id}", part.name()))
}

/// A route that adds an entry to a part. The response, 201, contains its id and path.
fn add(
    operation: Operation,
    queue: &Manager,
    part: Part,
    meaning: impl Fn(&Request) -> Result<PlannedControl, Problem> + Send + 'static,
) -> Route {
    Route::queued(operation, queue, move |request| {
        let control = meaning(request)?;
        let path = request.path.clone();
        Ok(order_planned(
            request.parameter(0),
            control,
            |_| Ok(()),
            move |before, after| {
                let known = before.ids(part);
                // the node assigns the id: it is the one that did not exist before
                let id = after.ids(part).into_iter().rfind(|id| !known.contains(id));
                match id.and_then(|id| Some((id, after.part(part, Some(id))?))) {
                    Some((id, one)) => Response::created(&format!("{path}/{id}"), one),
                    // another client has deleted it, or the node has not executed the acknowledged control
                    None => Response::ok(after.part(part, None)),
                }
            },
        ))
    })
}

/// Changes or deletes one of a part: 200 with what it is then, or 204.
fn set_one(
    operation: Operation,
    queue: &Manager,
    part: Part,
    meaning: impl Fn(&Request, u32) -> Result<PlannedControl, Problem> + Send + 'static,
) -> Route {
    let deletes = operation.method() == Method::DELETE;
    Route::queued(operation, queue, move |request| {
        let id = request.number(1, part.name())?;
        let control = meaning(request, id)?;
        let check = move |document: &TcDocument| entry(document, part, id).map(drop);
        Ok(order_planned(request.parameter(0), control, check, move |_, after| match after.part(part, Some(id)) {
            Some(one) if !deletes => Response::ok(one),
            _ => Response::no_content(),
        }))
    })
}

/// Changes what there is one of: 200 with what it is then.
fn set(
    operation: Operation,
    queue: &Manager,
    part: Part,
    meaning: impl Fn(&Request) -> ControlOrProblem + Send + 'static,
) -> Route {
    Route::queued(operation, queue, move |request| {
        let control = meaning(request)?;
        Ok(order(request.parameter(0), |_| Ok(control), move |_, after| Response::ok(after.part(part, None))))
    })
}

/// Executes a control of a request. Its UE is resolved when it arrives at the RIC's loop. `check` refuses it by the configuration.
fn order_planned(
    node: &str,
    planned: PlannedControl,
    check: impl FnOnce(&TcDocument) -> Result<(), Problem> + Send + 'static,
    answer: impl FnOnce(&TcDocument, &TcDocument) -> Response + Send + 'static,
) -> Job<TcManager> {
    let (name, answer) = (node.to_owned(), Box::new(answer));
    Box::new(move |manager, ric, reply| match planned.resolved(ric.ran()) {
        Ok(control) => {
            let plan = Box::new(move |document: &TcDocument| check(document).map(|()| control));
            manager.order(&name, Order { plan, answer, reply }, ric);
        }
        Err(problem) => reply.send(Err(problem)),
    })
}

fn order(
    node: &str,
    plan: impl FnOnce(&TcDocument) -> ControlOrProblem + Send + 'static,
    answer: impl FnOnce(&TcDocument, &TcDocument) -> Response + Send + 'static,
) -> Job<TcManager> {
    let name = node.to_owned();
    let (plan, answer) = (Box::new(plan), Box::new(answer));
    Box::new(move |manager, ric, reply| manager.order(&name, Order { plan, answer, reply }, ric))
}
