//! Events of the session, and handovers that wait for a decision.

use std::os::fd::{AsFd, AsRawFd};

use ferric::xapp::{self, Event, Feed};
use pyo3::exceptions::PyStopIteration;
use pyo3::prelude::*;

use crate::error::exception;
use crate::wait::{detached, seconds, wait};

/// What happens to the RIC and its nodes: pairs of a word and a detail. The words are `ric-lost`, `ric-back`, `node-up`, `node-lost`
/// (with the name of the node), and `reports-dropped` (with their number).
#[pyclass(module = "ferric")]
pub struct EventFeed(pub Feed<Event>);

fn words(event: Event) -> (&'static str, Option<String>) {
    match event {
        Event::RicLost => ("ric-lost", None),
        Event::RicBack => ("ric-back", None),
        Event::NodeUp(node) => ("node-up", Some(node.to_string())),
        Event::NodeLost(node) => ("node-lost", Some(node.to_string())),
        Event::ReportsDropped(count) => ("reports-dropped", Some(count.to_string())),
        other => ("other", Some(format!("{other:?}"))),
    }
}

#[pymethods]
impl EventFeed {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__(&mut self, py: Python<'_>) -> PyResult<(&'static str, Option<String>)> {
        match wait(py, None, |time| self.0.next_within(time))? {
            Some(Some(event)) => Ok(words(event)),
            _ => Err(PyStopIteration::new_err(())),
        }
    }

    /// The next event, or `None` if there is none within `timeout` seconds.
    fn next_within(&mut self, py: Python<'_>, timeout: f64) -> PyResult<Option<(&'static str, Option<String>)>> {
        let time = seconds("timeout", timeout)?;
        Ok(wait(py, Some(time), |time| self.0.next_within(time))?.flatten().map(words))
    }

    /// A file descriptor that is readable while events are buffered.
    fn fileno(&self) -> i32 {
        self.0.as_fd().as_raw_fd()
    }
}

/// Handovers that nodes begin, each of which waits for a decision.
#[pyclass(module = "ferric")]
pub struct HandoverRequests(pub Feed<xapp::HandoverRequest>);

#[pymethods]
impl HandoverRequests {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__(&mut self, py: Python<'_>) -> PyResult<HandoverRequest> {
        match wait(py, None, |time| self.0.next_within(time))? {
            Some(Some(request)) => Ok(HandoverRequest::new(request)),
            _ => Err(PyStopIteration::new_err(())),
        }
    }

    /// The next request, or `None` if there is none within `timeout` seconds.
    fn next_within(&mut self, py: Python<'_>, timeout: f64) -> PyResult<Option<HandoverRequest>> {
        let time = seconds("timeout", timeout)?;
        Ok(wait(py, Some(time), |time| self.0.next_within(time))?.flatten().map(HandoverRequest::new))
    }

    /// A file descriptor that is readable while requests are buffered.
    fn fileno(&self) -> i32 {
        self.0.as_fd().as_raw_fd()
    }
}

/// A handover that a node has begun. Without a decision the node decides itself when its time is over.
#[pyclass(module = "ferric")]
pub struct HandoverRequest {
    /// The node.
    #[pyo3(get)]
    node: String,
    /// The UE.
    #[pyo3(get)]
    ue: String,
    /// The target cell that the node has chosen.
    #[pyo3(get)]
    target: String,
    request: Option<xapp::HandoverRequest>,
}

impl HandoverRequest {
    fn new(request: xapp::HandoverRequest) -> Self {
        let (node, ue, target) = (request.node.to_string(), request.ue.to_string(), request.target.to_string());
        HandoverRequest { node, ue, target, request: Some(request) }
    }

    fn take(&mut self) -> PyResult<xapp::HandoverRequest> {
        self.request.take().ok_or_else(|| exception(&xapp::Error::Closed))
    }
}

#[pymethods]
impl HandoverRequest {
    /// Lets the handover continue, to another cell if one is given.
    #[pyo3(signature = (cell=None))]
    fn accept(&mut self, py: Python<'_>, cell: Option<String>) -> PyResult<()> {
        let request = self.take()?;
        detached(py, || match cell {
            None => request.accept(),
            Some(cell) => request.accept_to(cell),
        })
        .map(drop)
    }

    /// Ends the handover.
    fn deny(&mut self, py: Python<'_>) -> PyResult<()> {
        let request = self.take()?;
        detached(py, || request.deny()).map(drop)
    }

    fn __repr__(&self) -> String {
        format!("<HandoverRequest of {} to {}>", self.ue, self.target)
    }
}
