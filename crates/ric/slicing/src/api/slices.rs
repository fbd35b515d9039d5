//! `/v1/nodes/{node}/slices/…`: reads and changes the slices of each direction.

use std::collections::VecDeque;

use e2sm::slice::{
    Algorithm, ControlMessage, DirectionSlices, NO_SLICE, NvsParameters, Parameters, Share, Slice, UeSlices,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use super::super::SlicingController;
use super::super::controls::{Answer, Plan, Planning, Subject};
use super::super::direction::{Direction, SlicesOf};
use super::super::node::{Node, Slices};
use super::parameters::{DirectionDocument, SliceDocument, scheduler_for};
use super::{AppQueue, CHANGES, DIRECTION, NODE, Read, SLICE, direction, order, reading, slices_of};
use iapp_rest::Job;
use rest::{Operation, Problem, Request, Response, Route, StatusCode};

/// The operations of the routes below.
struct Operations {
    get_all: Operation,
    get_direction: Operation,
    put_direction: Operation,
    post_slice: Operation,
    delete_direction: Operation,
    get_slice: Operation,
    put_slice: Operation,
    delete_slice: Operation,
}

impl Operations {
    fn new() -> Self {
        const OF_DIRECTION: &str = "/v1/nodes/{node}/slices/{direction}";
        const OF_SLICE: &str = "/v1/nodes/{node}/slices/{direction}/{slice}";
        let direction = |operation: Operation| operation.tag("slices").path(&[NODE, DIRECTION]);
        let slice = |operation: Operation| operation.tag("slices").path(&[NODE, DIRECTION, SLICE]);
        let put_direction = Operation::put(OF_DIRECTION, "putDirection", "Replace the slices of a direction");
        let post_slice = Operation::post(OF_DIRECTION, "postSlice", "Add a slice");
        let delete_direction = Operation::delete(OF_DIRECTION, "deleteDirection", "Delete all slices of a direction");
        let put_slice = Operation::put(OF_SLICE, "putSlice", "Add or replace a slice");
        let delete_slice = Operation::delete(OF_SLICE, "deleteSlice", "Delete a slice");
        Operations {
            get_all: Operation::get("/v1/nodes/{node}/slices", "getSlices", "The slices of both directions")
                .tag("slices")
                .path(&[NODE])
                .returns::<Both>("The slices."),
            get_direction: direction(Operation::get(OF_DIRECTION, "getDirection", "The slices of a direction"))
                .returns::<DirectionDocument>("The slices."),
            put_direction: direction(put_direction)
                .takes::<DirectionDocument>()
                .example(json!({ "algorithm": "NVS", "sharing": true, "slices": [
                    { "id": 1, "label": "reserved", "ue_scheduler": "PF", "share_percent": 50 },
                    { "id": 2, "label": "others", "ue_scheduler": "PF", "share_percent": 50 },
                ] }))
                .returns::<DirectionDocument>("The slices after the change.")
                .describe(format!(
                    "Slices that are not listed are deleted; their UEs are then in no slice. {CHANGES} If the change needs \
                     several controls and one is refused, the ones before it are undone: `restored` states whether that \
                     succeeded."
                )),
            post_slice: direction(post_slice)
                .takes::<SliceDocument>()
                .example(json!({ "label": "reserved", "share_percent": 50 }))
                .creates::<SliceDocument>("The slice.")
                .describe(format!("Without an id, the slice gets the lowest free one, from 1. {CHANGES}")),
            delete_direction: direction(delete_direction).empties().describe(CHANGES),
            get_slice: slice(Operation::get(OF_SLICE, "getSlice", "A slice")).returns::<SliceDocument>("The slice."),
            put_slice: slice(put_slice)
                .takes::<SliceDocument>()
                .example(json!({ "label": "reserved", "ue_scheduler": "PF", "share_percent": 66 }))
                .returns::<SliceDocument>("The replaced slice.")
                .creates::<SliceDocument>("The new slice.")
                .describe(CHANGES),
            delete_slice: slice(delete_slice)
                .empties()
                .describe(format!("Its UEs are then in no slice. {CHANGES}")),
        }
    }
}

pub(super) fn routes(queue: &AppQueue) -> Vec<Route> {
    let operations = Operations::new();
    vec![
        reading(operations.get_all, queue, |_| {
            let read: Read = Box::new(|node| {
                let slices = slices_of(node)?;
                let [dl, ul] = [Direction::Downlink, Direction::Uplink].map(|of| DirectionDocument::of(slices.of(of)));
                Ok(Response::ok(Both { dl, ul }))
            });
            Ok(read)
        }),
        reading(operations.get_direction, queue, |request| {
            let direction = direction(request, 1)?;
            let read: Read =
                Box::new(move |node| Ok(Response::ok(DirectionDocument::of(slices_of(node)?.of(direction)))));
            Ok(read)
        }),
        changing(operations.put_direction, queue, |request| {
            let (direction, wanted) = (direction(request, 1)?, request.json::<DirectionDocument>()?.slices()?);
            let plan: Planning = Box::new(move |node| Ok(replace(slices_of(node)?, direction, &wanted)));
            let answer: Answer = Box::new(move |node, done| {
                done?;
                Ok(Response::ok(DirectionDocument::of(slices_of(node)?.of(direction))))
            });
            Ok((plan, answer))
        }),
        changing(operations.post_slice, queue, |request| {
            let (direction, wanted) = (direction(request, 1)?, request.json::<SliceDocument>()?);
            // a malformed slice is refused before the node is involved
            wanted.slice(wanted.id.unwrap_or(0), None, "")?;
            let path = request.path.clone();
            Ok(add(direction, wanted, path))
        }),
        changing(operations.delete_direction, queue, |request| {
            let direction = direction(request, 1)?;
            let plan: Planning = Box::new(move |node| {
                let ids: Vec<u32> = slices_of(node)?.of(direction).slices.iter().map(|slice| slice.id).collect();
                if ids.is_empty() {
                    return Ok(Plan::default());
                }
                Ok(Plan::one(ControlMessage::Delete(direction.ids(ids))))
            });
            let answer: Answer = Box::new(|_, done| done.map(|_| Response::no_content()));
            Ok((plan, answer))
        }),
        reading(operations.get_slice, queue, |request| {
            let (direction, id) = (direction(request, 1)?, request.number(2, "slice")?);
            let read: Read = Box::new(move |node| {
                let slice = slices_of(node)?.slice(direction, id).ok_or_else(|| no_slice(direction, id))?;
                Ok(Response::ok(SliceDocument::of(slice)))
            });
            Ok(read)
        }),
        changing(operations.put_slice, queue, |request| {
            let (direction, id) = (direction(request, 1)?, request.number(2, "slice")?);
            let wanted = request.json::<SliceDocument>()?;
            if let Some(other) = wanted.id.filter(|other| *other != id) {
                let detail = format!("id: the path contains slice {id}, the body contains {other}");
                return Err(Problem::unprocessable(detail).with("at", "id"));
            }
            wanted.slice(id, None, "")?;
            Ok(set(direction, id, wanted, request.path.clone()))
        }),
        changing(operations.delete_slice, queue, |request| {
            let (direction, id) = (direction(request, 1)?, request.number(2, "slice")?);
            let plan: Planning = Box::new(move |_| Ok(Plan::one(ControlMessage::Delete(direction.ids(vec![id])))));
            let answer: Answer = Box::new(move |node, done| match done {
                Ok(_) => Ok(Response::no_content()),
                // the node decides whether the slice exists
                Err(problem) => {
                    let is_missing = slices_of(node).is_ok_and(|slices| slices.slice(direction, id).is_none());
                    let is_refused = problem.status() == StatusCode::UNPROCESSABLE_ENTITY;
                    Err(if is_missing && is_refused { problem.with_status(StatusCode::NOT_FOUND) } else { problem })
                }
            });
            Ok((plan, answer))
        }),
    ]
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Slices")]
struct Both {
    dl: DirectionDocument,
    ul: DirectionDocument,
}

/// A route that changes slices of the node that the path's first parameter names.
fn changing(
    operation: Operation,
    queue: &AppQueue,
    prepare: impl Fn(&Request) -> Result<(Planning, Answer), Problem> + Send + 'static,
) -> Route {
    Route::queued(operation, queue, move |request| {
        let (node, (plan, answer)) = (request.parameter(0).to_owned(), prepare(request)?);
        let job: Job<SlicingController> = Box::new(move |app, ric, reply| order(app, ric, &node, plan, reply, answer));
        Ok(job)
    })
}

fn no_slice(direction: Direction, id: u32) -> Problem {
    Problem::not_found(format!("there is no {direction} slice {id}"))
}

/// Returns the algorithm of the other slices, which a slice must have too.
fn algorithm_of_others(slices: &Slices, direction: Direction, id: u32) -> Option<Algorithm> {
    let other = slices.of(direction).slices.iter().find(|slice| slice.id != id);
    other.map(|slice| slice.parameters.algorithm())
}

/// Returns the control that adds or modifies a slice of a direction.
fn adding(existing: &Slices, direction: Direction, slice: Slice<'static>) -> ControlMessage<'static> {
    let scheduler = scheduler_for(existing.of(direction), slice.parameters.algorithm());
    ControlMessage::AddOrModify(direction.alone(DirectionSlices { scheduler, slices: vec![slice].into() }))
}

/// Adds a slice with its id, or with the first free one.
fn add(direction: Direction, wanted: SliceDocument, path: String) -> (Planning, Answer) {
    let plan: Planning = Box::new(move |node| {
        let slices = slices_of(node)?;
        let id = match wanted.id {
            Some(id) if slices.slice(direction, id).is_some() => {
                let detail = format!("{direction} slice {id} exists already; PUT changes it");
                return Err(Problem::conflict(detail).with("id", id));
            }
            Some(id) => id,
            // a node has at most 1024 slices, so that an id is free
            None => (1..).find(|id| slices.slice(direction, *id).is_none()).unwrap_or(NO_SLICE),
        };
        let slice = wanted.slice(id, algorithm_of_others(slices, direction, id), "")?;
        let subject = Some(Subject { id, is_new: true });
        Ok(Plan { subject, ..Plan::one(adding(slices, direction, slice)) })
    });
    let answer: Answer = Box::new(move |node, done| {
        let (subject, slice) = slice_after(direction, node, done)?;
        Ok(Response::created(&format!("{path}/{}", subject.id), slice))
    });
    (plan, answer)
}

/// Adds or replaces a slice.
fn set(direction: Direction, id: u32, wanted: SliceDocument, path: String) -> (Planning, Answer) {
    let plan: Planning = Box::new(move |node| {
        let slices = slices_of(node)?;
        let slice = wanted.slice(id, algorithm_of_others(slices, direction, id), "")?;
        let subject = Some(Subject { id, is_new: slices.slice(direction, id).is_none() });
        Ok(Plan { subject, ..Plan::one(adding(slices, direction, slice)) })
    });
    let answer: Answer = Box::new(move |node, done| {
        let (subject, slice) = slice_after(direction, node, done)?;
        Ok(if subject.is_new { Response::created(&path, slice) } else { Response::ok(slice) })
    });
    (plan, answer)
}

/// Returns the slice of an order after the order.
fn slice_after(
    direction: Direction,
    node: &Node,
    done: Result<Option<Subject>, Problem>,
) -> Result<(Subject, SliceDocument), Problem> {
    let gone = || Problem::conflict("the slice was deleted in the meantime");
    let subject = done?.ok_or_else(gone)?;
    let slice = slices_of(node)?.slice(direction, subject.id).ok_or_else(gone)?;
    Ok((subject, SliceDocument::of(slice)))
}

/// Plans the controls that replace all slices of a direction.
///
/// The node executes a control as a whole or not at all, but adding and deleting need different controls. NVS slices that are
/// to be deleted first get a share of zero in the control that sets the others, so that a refusal changes nothing. Other
/// algorithms have no empty slice: theirs are deleted first, and restored if the node refuses the new ones.
fn replace(existing: &Slices, direction: Direction, wanted: &DirectionSlices<'static>) -> Plan {
    let old = existing.of(direction);
    let remains = |id: u32| wanted.slices.iter().any(|slice| slice.id == id);
    let removed: Vec<&Slice<'static>> = old.slices.iter().filter(|slice| !remains(slice.id)).collect();
    let set = |slices: DirectionSlices<'static>| ControlMessage::AddOrModify(direction.alone(slices));
    let is_empty = wanted.slices.is_empty() && wanted.scheduler.is_empty();
    if removed.is_empty() {
        return if is_empty { Plan::default() } else { Plan::one(set(wanted.clone())) };
    }
    let ids: Vec<u32> = removed.iter().map(|slice| slice.id).collect();
    let delete = ControlMessage::Delete(direction.ids(ids.clone()));
    if is_empty {
        return Plan::one(delete);
    }
    let is_nvs = |slice: &Slice<'_>| slice.parameters.algorithm() == Algorithm::Nvs;
    if !wanted.slices.is_empty() && wanted.slices.iter().all(is_nvs) && removed.iter().all(|slice| is_nvs(slice)) {
        let no_share = Parameters::Nvs(NvsParameters::Capacity(Share { reserved: 0.0 }));
        let mut slices = wanted.slices.to_vec();
        slices.extend(removed.into_iter().map(|slice| Slice { parameters: no_share.clone(), ..slice.clone() }));
        let slices = DirectionSlices { slices: slices.into(), ..wanted.clone() };
        return Plan { steps: [set(slices), delete].into(), undo: [set(old.clone())].into(), subject: None };
    }
    let of_removed: Vec<UeSlices> =
        existing.ues.values().filter(|ue| ids.contains(&direction.slice_of(ue))).copied().collect();
    let mut undo = VecDeque::from([set(old.clone())]);
    if !of_removed.is_empty() {
        undo.push_back(ControlMessage::Associate(of_removed.into()));
    }
    Plan { steps: [delete, set(wanted.clone())].into(), undo, subject: None }
}
