//! The resources below `/v1/nodes/{node}/tc`.

use e2sm::tc::{
    ClassifierControl, ControlMessage, DeleteFilter, DeleteQueue, ModifyFilter, ModifyQueue, NewFilter, NewOsiFilter,
    OsiFilter, PacerControl, PolicerControl, QueueControl, QueueKind, SchedulerControl, ShaperControl,
};

use super::document::{Part, TcDocument};
use super::{Order, TcManager};
use crate::resource::{ClassifierBody, FilterBody, PacerBody, PolicerBody, QueueBody, SchedulerBody, ShaperBody};
use iapp_rest::Job;
use rest::{Method, Problem, Request, RequestQueue, Response, Route};

type Manager = RequestQueue<Job<TcManager>>;
/// What a request means.
type ControlOrProblem = Result<ControlMessage<'static>, Problem>;

/// The path of a part of TC, or of one of several.
macro_rules! path {
    ($($rest:literal)?) => { concat!("/v1/nodes/{node}/tc", $($rest)?) };
}

pub(super) fn routes(queue: &Manager) -> Vec<Route> {
    let mut routes = vec![
        Route::queued(Method::GET, path!(), queue, |request| {
            let name = request.parameter(0).to_owned();
            Ok(Box::new(move |manager: &mut TcManager, ric: &mut ferric::server::IappContext<'_>, reply| {
                let document = manager.by_name(&name, ric).and_then(|(_, node)| node.document());
                reply.send(document.map(Response::ok));
            }))
        }),
        // the parts
        get(path!("/scheduler"), queue, Part::Scheduler),
        get(path!("/pacer"), queue, Part::Pacer),
        get(path!("/classifier"), queue, Part::Classifier),
        get(path!("/filters"), queue, Part::Filters),
        get(path!("/queues"), queue, Part::Queues),
        get(path!("/policers"), queue, Part::Policers),
        get(path!("/shapers"), queue, Part::Shapers),
        get_one(path!("/filters/{filter}"), queue, Part::Filters),
        get_one(path!("/queues/{queue}"), queue, Part::Queues),
        get_one(path!("/policers/{queue}"), queue, Part::Policers),
        get_one(path!("/shapers/{queue}"), queue, Part::Shapers),
    ];
    routes.extend(queues(queue));
    routes.extend(filters(queue));
    routes.extend(of_queues(queue));
    routes.extend(single(queue));
    routes
}

fn queues(queue: &Manager) -> [Route; 3] {
    [
        add(path!("/queues"), queue, Part::Queues, |request| {
            let parameters = request.json::<QueueBody>()?.parameters().map_err(Problem::unprocessable)?;
            Ok(ControlMessage::Queue(QueueControl::Add(parameters)))
        }),
        set_one(Method::PUT, path!("/queues/{queue}"), queue, Part::Queues, |request, id| {
            let parameters = request.json::<QueueBody>()?.parameters().map_err(Problem::unprocessable)?;
            Ok(ControlMessage::Queue(QueueControl::Modify(ModifyQueue { id, parameters })))
        }),
        // the SM wants to hear which discipline it has
        Route::queued(Method::DELETE, path!("/queues/{queue}"), queue, |request| {
            let id = request.number(1, "queue")?;
            Ok(order(request.parameter(0), move |document| delete_queue(document, id), |_, _| Response::no_content()))
        }),
    ]
}

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
    [
        add(path!("/filters"), queue, Part::Filters, |request| {
            let body: FilterBody = request.json()?;
            let filter = NewFilter::Osi(NewOsiFilter { flow: body.flow(), queue_id: queue_id(body.queue_id)? });
            Ok(ControlMessage::Classifier(ClassifierControl::Add(filter)))
        }),
        set_one(Method::PUT, path!("/filters/{filter}"), queue, Part::Filters, |request, id| {
            let body: FilterBody = request.json()?;
            let filter = OsiFilter { id, flow: body.flow(), queue_id: queue_id(body.queue_id)? };
            Ok(ControlMessage::Classifier(ClassifierControl::Modify(ModifyFilter::Osi(filter))))
        }),
        set_one(Method::DELETE, path!("/filters/{filter}"), queue, Part::Filters, |_, id| {
            Ok(ControlMessage::Classifier(ClassifierControl::Delete(DeleteFilter::Osi(id))))
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
    [
        set_one(Method::PUT, path!("/policers/{queue}"), queue, Part::Policers, |request, id| {
            let change = request.json::<PolicerBody>()?.change(id);
            Ok(ControlMessage::Policer(PolicerControl::Modify(change)))
        }),
        set_one(Method::DELETE, path!("/policers/{queue}"), queue, Part::Policers, |_, id| {
            Ok(ControlMessage::Policer(PolicerControl::Delete(id)))
        }),
        set_one(Method::PUT, path!("/shapers/{queue}"), queue, Part::Shapers, |request, id| {
            let change = request.json::<ShaperBody>()?.change(id);
            Ok(ControlMessage::Shaper(ShaperControl::Modify(change)))
        }),
        set_one(Method::DELETE, path!("/shapers/{queue}"), queue, Part::Shapers, |_, id| {
            Ok(ControlMessage::Shaper(ShaperControl::Delete(id)))
        }),
    ]
}

fn single(queue: &Manager) -> [Route; 3] {
    [
        set(path!("/scheduler"), queue, Part::Scheduler, |request| {
            let scheduler = request.json::<SchedulerBody>()?.scheduler().map_err(Problem::unprocessable)?;
            Ok(ControlMessage::Scheduler(SchedulerControl::Modify(scheduler)))
        }),
        set(path!("/pacer"), queue, Part::Pacer, |request| {
            let pacer = request.json::<PacerBody>()?.parameters().map_err(Problem::unprocessable)?;
            Ok(ControlMessage::Pacer(PacerControl::Modify(pacer)))
        }),
        set(path!("/classifier"), queue, Part::Classifier, |request| {
            let filter = request.json::<ClassifierBody>()?.filter().map_err(Problem::unprocessable)?;
            Ok(ControlMessage::Classifier(ClassifierControl::Add(filter)))
        }),
    ]
}

/// Reads a part.
fn get(path: &'static str, queue: &Manager, part: Part) -> Route {
    read(path, queue, part, |_, _| Ok(None))
}

/// Reads one of a part.
fn get_one(path: &'static str, queue: &Manager, part: Part) -> Route {
    read(path, queue, part, |request, part| request.number(1, part.name()).map(Some))
}

fn read(
    path: &'static str,
    queue: &Manager,
    part: Part,
    which: impl Fn(&Request, Part) -> Result<Option<u32>, Problem> + Send + 'static,
) -> Route {
    Route::queued(Method::GET, path, queue, move |request| {
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
    path: &'static str,
    queue: &Manager,
    part: Part,
    meaning: impl Fn(&Request) -> ControlOrProblem + Send + 'static,
) -> Route {
    Route::queued(Method::POST, path, queue, move |request| {
        let control = meaning(request)?;
        let path = request.path.clone();
        Ok(order(
            request.parameter(0),
            |_| Ok(control),
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
    method: Method,
    path: &'static str,
    queue: &Manager,
    part: Part,
    meaning: impl Fn(&Request, u32) -> ControlOrProblem + Send + 'static,
) -> Route {
    let deletes = method == Method::DELETE;
    Route::queued(method, path, queue, move |request| {
        let id = request.number(1, part.name())?;
        let control = meaning(request, id)?;
        let plan = move |document: &TcDocument| entry(document, part, id).map(|_| control);
        Ok(order(request.parameter(0), plan, move |_, after| match after.part(part, Some(id)) {
            Some(one) if !deletes => Response::ok(one),
            _ => Response::no_content(),
        }))
    })
}

/// Changes what there is one of: 200 with what it is then.
fn set(
    path: &'static str,
    queue: &Manager,
    part: Part,
    meaning: impl Fn(&Request) -> ControlOrProblem + Send + 'static,
) -> Route {
    Route::queued(Method::PUT, path, queue, move |request| {
        let control = meaning(request)?;
        Ok(order(request.parameter(0), |_| Ok(control), move |_, after| Response::ok(after.part(part, None))))
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
