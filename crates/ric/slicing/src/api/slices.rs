//! `/v1/nodes/{node}/slices/…`: the slices of each direction, told and set.

use std::collections::VecDeque;

use e2sm::slice::{
    Algorithm, ControlMessage, DirectionSlices, NO_SLICE, NvsParameters, Parameters, Share, Slice, UeSlices,
};
use rest::{Method, StatusCode};
use serde::Serialize;

use super::super::SlicingController;
use super::super::controls::{Answer, Plan, Planning, Subject};
use super::super::direction::{Direction, SlicesOf};
use super::super::node::{Node, Slices};
use super::parameters::{DirectionDocument, SliceDocument, scheduler_for};
use super::{AppQueue, Read, direction, order, reading, slices_of};
use iapp_rest::Job;
use rest::{Problem, Request, Response, Route};

const ALL: &str = "/v1/nodes/{node}/slices";
const DIRECTION: &str = "/v1/nodes/{node}/slices/{direction}";
const SLICE: &str = "/v1/nodes/{node}/slices/{direction}/{slice}";

pub(super) fn routes(queue: &AppQueue) -> Vec<Route> {
    vec![
        reading(ALL, queue, |_| {
            let read: Read = Box::new(|node| {
                let slices = slices_of(node)?;
                let [dl, ul] = [Direction::Downlink, Direction::Uplink].map(|of| DirectionDocument::of(slices.of(of)));
                Ok(Response::ok(Both { dl, ul }))
            });
            Ok(read)
        }),
        reading(DIRECTION, queue, |request| {
            let direction = direction(request, 1)?;
            let read: Read =
                Box::new(move |node| Ok(Response::ok(DirectionDocument::of(slices_of(node)?.of(direction)))));
            Ok(read)
        }),
        changing(Method::PUT, DIRECTION, queue, |request| {
            let (direction, wanted) = (direction(request, 1)?, request.json::<DirectionDocument>()?.slices()?);
            let plan: Planning = Box::new(move |node| Ok(replace(slices_of(node)?, direction, &wanted)));
            let answer: Answer = Box::new(move |node, done| {
                done?;
                Ok(Response::ok(DirectionDocument::of(slices_of(node)?.of(direction))))
            });
            Ok((plan, answer))
        }),
        changing(Method::POST, DIRECTION, queue, |request| {
            let (direction, wanted) = (direction(request, 1)?, request.json::<SliceDocument>()?);
            // what is wrong with it is told before anything is asked
            wanted.slice(wanted.id.unwrap_or(0), None, "")?;
            let path = request.path.clone();
            Ok(add(direction, wanted, path))
        }),
        changing(Method::DELETE, DIRECTION, queue, |request| {
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
        reading(SLICE, queue, |request| {
            let (direction, id) = (direction(request, 1)?, request.number(2, "slice")?);
            let read: Read = Box::new(move |node| {
                let slice = slices_of(node)?.slice(direction, id).ok_or_else(|| no_slice(direction, id))?;
                Ok(Response::ok(SliceDocument::of(slice)))
            });
            Ok(read)
        }),
        changing(Method::PUT, SLICE, queue, |request| {
            let (direction, id) = (direction(request, 1)?, request.number(2, "slice")?);
            let wanted = request.json::<SliceDocument>()?;
            if let Some(other) = wanted.id.filter(|other| *other != id) {
                let detail = format!("id: the path says slice {id}, the body says {other}");
                return Err(Problem::unprocessable(detail).with("at", "id"));
            }
            wanted.slice(id, None, "")?;
            Ok(set(direction, id, wanted, request.path.clone()))
        }),
        changing(Method::DELETE, SLICE, queue, |request| {
            let (direction, id) = (direction(request, 1)?, request.number(2, "slice")?);
            let plan: Planning = Box::new(move |_| Ok(Plan::one(ControlMessage::Delete(direction.ids(vec![id])))));
            let answer: Answer = Box::new(move |node, done| match done {
                Ok(_) => Ok(Response::no_content()),
                // the node has the last word on what is there
                Err(problem) => {
                    let is_nothing = slices_of(node).is_ok_and(|slices| slices.slice(direction, id).is_none());
                    let is_refused = problem.status() == StatusCode::UNPROCESSABLE_ENTITY;
                    Err(if is_nothing && is_refused { problem.with_status(StatusCode::NOT_FOUND) } else { problem })
                }
            });
            Ok((plan, answer))
        }),
    ]
}

#[derive(Serialize)]
struct Both {
    dl: DirectionDocument,
    ul: DirectionDocument,
}

/// A resource by which slices are changed, of the node that the path's first parameter names.
fn changing(
    method: Method,
    path: &'static str,
    queue: &AppQueue,
    prepare: impl Fn(&Request) -> Result<(Planning, Answer), Problem> + Send + 'static,
) -> Route {
    Route::queued(method, path, queue, move |request| {
        let (node, (plan, answer)) = (request.parameter(0).to_owned(), prepare(request)?);
        let job: Job<SlicingController> = Box::new(move |app, ric, reply| order(app, ric, &node, plan, reply, answer));
        Ok(job)
    })
}

fn no_slice(direction: Direction, id: u32) -> Problem {
    Problem::not_found(format!("there is no {direction} slice {id}"))
}

/// The algorithm that a slice must be of, since others are there.
fn algorithm_beside(slices: &Slices, direction: Direction, id: u32) -> Option<Algorithm> {
    let other = slices.of(direction).slices.iter().find(|slice| slice.id != id);
    other.map(|slice| slice.parameters.algorithm())
}

/// Adds a slice to a direction, or modifies it there.
fn adding(there: &Slices, direction: Direction, slice: Slice<'static>) -> ControlMessage<'static> {
    let scheduler = scheduler_for(there.of(direction), slice.parameters.algorithm());
    ControlMessage::AddOrModify(direction.alone(DirectionSlices { scheduler, slices: vec![slice].into() }))
}

/// Adds a slice: under the id that it has, or the first that is free.
fn add(direction: Direction, wanted: SliceDocument, path: String) -> (Planning, Answer) {
    let plan: Planning = Box::new(move |node| {
        let slices = slices_of(node)?;
        let id = match wanted.id {
            Some(id) if slices.slice(direction, id).is_some() => {
                let detail = format!("there is a {direction} slice {id} already; PUT changes it");
                return Err(Problem::conflict(detail).with("id", id));
            }
            Some(id) => id,
            // there are at most 1024
            None => (1..).find(|id| slices.slice(direction, *id).is_none()).unwrap_or(NO_SLICE),
        };
        let slice = wanted.slice(id, algorithm_beside(slices, direction, id), "")?;
        let subject = Some(Subject { id, is_new: true });
        Ok(Plan { subject, ..Plan::one(adding(slices, direction, slice)) })
    });
    let answer: Answer = Box::new(move |node, done| {
        let (subject, slice) = slice_after(direction, node, done)?;
        Ok(Response::created(&format!("{path}/{}", subject.id), slice))
    });
    (plan, answer)
}

/// Sets a slice, whether it was there or not.
fn set(direction: Direction, id: u32, wanted: SliceDocument, path: String) -> (Planning, Answer) {
    let plan: Planning = Box::new(move |node| {
        let slices = slices_of(node)?;
        let slice = wanted.slice(id, algorithm_beside(slices, direction, id), "")?;
        let subject = Some(Subject { id, is_new: slices.slice(direction, id).is_none() });
        Ok(Plan { subject, ..Plan::one(adding(slices, direction, slice)) })
    });
    let answer: Answer = Box::new(move |node, done| {
        let (subject, slice) = slice_after(direction, node, done)?;
        Ok(if subject.is_new { Response::created(&path, slice) } else { Response::ok(slice) })
    });
    (plan, answer)
}

/// The slice that an order was about, as it is now.
fn slice_after(
    direction: Direction,
    node: &Node,
    done: Result<Option<Subject>, Problem>,
) -> Result<(Subject, SliceDocument), Problem> {
    let gone = || Problem::conflict("the slice is gone again already");
    let subject = done?.ok_or_else(gone)?;
    let slice = slices_of(node)?.slice(direction, subject.id).ok_or_else(gone)?;
    Ok((subject, SliceDocument::of(slice)))
}

/// A direction is to have just these slices.
///
/// The node takes a control as a whole or not at all, but it adds and deletes by different ones. Where some slices leave,
/// those of NVS first give up what they are promised in the same control that sets the others, so that a refusal changes
/// nothing; other algorithms have no slice of nothing: theirs leave first, and come back where the others are refused.
fn replace(there: &Slices, direction: Direction, wanted: &DirectionSlices<'static>) -> Plan {
    let old = there.of(direction);
    let stays = |id: u32| wanted.slices.iter().any(|slice| slice.id == id);
    let leaving: Vec<&Slice<'static>> = old.slices.iter().filter(|slice| !stays(slice.id)).collect();
    let set = |slices: DirectionSlices<'static>| ControlMessage::AddOrModify(direction.alone(slices));
    let says_nothing = wanted.slices.is_empty() && wanted.scheduler.is_empty();
    if leaving.is_empty() {
        return if says_nothing { Plan::default() } else { Plan::one(set(wanted.clone())) };
    }
    let ids: Vec<u32> = leaving.iter().map(|slice| slice.id).collect();
    let delete = ControlMessage::Delete(direction.ids(ids.clone()));
    if says_nothing {
        return Plan::one(delete);
    }
    let is_nvs = |slice: &Slice<'_>| slice.parameters.algorithm() == Algorithm::Nvs;
    if !wanted.slices.is_empty() && wanted.slices.iter().all(is_nvs) && leaving.iter().all(|slice| is_nvs(slice)) {
        let nothing = Parameters::Nvs(NvsParameters::Capacity(Share { reserved: 0.0 }));
        let mut slices = wanted.slices.to_vec();
        slices.extend(leaving.into_iter().map(|slice| Slice { parameters: nothing.clone(), ..slice.clone() }));
        let slices = DirectionSlices { slices: slices.into(), ..wanted.clone() };
        return Plan { steps: [set(slices), delete].into(), undo: [set(old.clone())].into(), subject: None };
    }
    let of_leaving: Vec<UeSlices> =
        there.ues.values().filter(|ue| ids.contains(&direction.slice_of(ue))).copied().collect();
    let mut undo = VecDeque::from([set(old.clone())]);
    if !of_leaving.is_empty() {
        undo.push_back(ControlMessage::Associate(of_leaving.into()));
    }
    Plan { steps: [delete, set(wanted.clone())].into(), undo, subject: None }
}
