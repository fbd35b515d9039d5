//! Streams of single items: events of the session, handovers that wait for a decision, copies of RRC messages,
//! configuration of cells.

use std::os::fd::{AsFd, AsRawFd};

use ap::nr_rrc::{self, CellResult, MeasurementReport};
use e2sm::ccc::ChangeType;
use ferric::xapp::{self, CellConfiguration, Error, Event, Feed};
use pyo3::exceptions::PyStopIteration;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::a1::{A1Policy, event};
use crate::answers::structures_to_python;
use crate::error::exception;
use crate::wait::{detached, seconds, wait, within};

/// A feed that can be closed.
struct Items<T>(Option<Feed<T>>);

impl<T: Send> Items<T> {
    fn feed(&mut self) -> PyResult<&mut Feed<T>> {
        self.0.as_mut().ok_or_else(|| exception(&Error::Closed))
    }

    /// The next item, for a loop, which ends with the session or with the feed.
    fn next(&mut self, py: Python<'_>) -> PyResult<T> {
        let ended = || PyStopIteration::new_err(());
        let Some(feed) = &mut self.0 else { return Err(ended()) };
        wait(py, None, |time| feed.next_within(time))?.flatten().ok_or_else(ended)
    }

    /// The next item within a time, if there is one.
    fn next_within(&mut self, py: Python<'_>, timeout: f64) -> PyResult<Option<T>> {
        let time = seconds("timeout", timeout)?;
        let feed = self.feed()?;
        within(py, time, |time| feed.next_within(time))
    }

    fn close(&mut self, py: Python<'_>) {
        let feed = self.0.take();
        py.detach(|| drop(feed));
    }
}

/// A class of a feed: its name, the item of the session, and the item in Python, which a function makes of it.
macro_rules! feed {
    ($(#[$about:meta])* $name:ident, $item:ty, $of_python:ty, $convert:expr) => {
        $(#[$about])*
        #[pyclass(module = "ferric")]
        pub struct $name(Items<$item>);

        impl $name {
            pub fn new(feed: Feed<$item>) -> Self {
                $name(Items(Some(feed)))
            }
        }

        #[pymethods]
        impl $name {
            fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
                this
            }

            fn __next__(&mut self, py: Python<'_>) -> PyResult<$of_python> {
                self.0.next(py).and_then($convert)
            }

            /// The next one, or `None` if there is none within `timeout` seconds. Raises `Closed` at the end.
            fn next_within(&mut self, py: Python<'_>, timeout: f64) -> PyResult<Option<$of_python>> {
                self.0.next_within(py, timeout)?.map($convert).transpose()
            }

            /// Those that were lost because this stream was read too slowly: beyond 1024 the oldest are.
            #[getter]
            fn lost(&mut self) -> PyResult<u64> {
                Ok(self.0.feed()?.lost())
            }

            /// A file descriptor that is readable while something is buffered.
            fn fileno(&mut self) -> PyResult<i32> {
                Ok(self.0.feed()?.as_fd().as_raw_fd())
            }

            /// Ends the stream. A second call does nothing.
            fn close(&mut self, py: Python<'_>) {
                self.0.close(py);
            }

            fn __enter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
                this
            }

            fn __exit__(&mut self, py: Python<'_>, _type: Py<PyAny>, _value: Py<PyAny>, _traceback: Py<PyAny>) {
                self.0.close(py);
            }
        }
    };
}

feed! {
    /// What happens to the RIC and its nodes: pairs of a word and a detail. The words are `ric-lost`, `ric-back`, `node-up`,
    /// `node-lost` (with the name of the node), and `reports-dropped` (with their number).
    EventFeed, Event, (&'static str, Option<String>), |event| Ok(words(event))
}

feed! {
    /// Handovers that nodes begin, each of which waits for a decision.
    HandoverRequests, xapp::HandoverRequest, HandoverRequest, |request| Ok(HandoverRequest::new(request))
}

feed! {
    /// Controls of other xApps that are in conflict, each of which waits for a decision.
    ConflictQuestions, xapp::ConflictQuestion, ConflictQuestion, |question| Ok(ConflictQuestion(question))
}

feed! {
    /// Copies of RRC messages of UEs.
    RrcMessages, xapp::RrcMessage, RrcMessage, |message| Ok(RrcMessage(message))
}

feed! {
    /// Configuration structures of cells: dictionaries with `node`, `cell`, and `structures`, the attributes of each by its name;
    /// `None` for one that the node has removed.
    Configurations, CellConfiguration, Py<PyDict>, configuration
}

feed! {
    /// Policies of a non-RT RIC, each of which is to be answered.
    A1Policies, xapp::A1Policy, A1Policy, |policy| Ok(A1Policy(policy))
}

feed! {
    /// What happens to a job of enrichment information: pairs of a word and a value. The words are `established`, `result` (with the
    /// result), `enabled` and `disabled` (whether the non-RT RIC can deliver results), `refused` and, if the RIC tries again by itself,
    /// `waiting` (with the reason). The job is deleted with it.
    EiJob, xapp::EiEvent, (&'static str, Option<Py<PyAny>>), event
}

/// A report of structures in Python.
fn configuration(report: CellConfiguration) -> PyResult<Py<PyDict>> {
    Python::attach(|py| {
        let row = PyDict::new(py);
        row.set_item("node", &*report.node)?;
        row.set_item("cell", report.cell.to_string())?;
        let structures = report.structures.iter().map(|of| {
            let is_there = of.change_type != ChangeType::Deletion;
            (of.values.name().to_owned(), is_there.then(|| of.values.attributes()))
        });
        row.set_item("structures", structures_to_python(py, structures)?)?;
        Ok(row.unbind())
    })
}

fn words(event: Event) -> (&'static str, Option<String>) {
    match event {
        Event::RicLost => ("ric-lost", None),
        Event::RicBack => ("ric-back", None),
        Event::NodeUp(node) => ("node-up", Some(node.to_string())),
        Event::NodeLost(node) => ("node-lost", Some(node.to_string())),
        Event::NodeMoved { node, .. } => ("node-moved", Some(node.to_string())),
        Event::ReportsDropped(count) => ("reports-dropped", Some(count.to_string())),
        other => ("other", Some(format!("{other:?}"))),
    }
}

/// A copy of an RRC message, as the UE has sent or received it.
#[pyclass(frozen, module = "ferric")]
pub struct RrcMessage(xapp::RrcMessage);

#[pymethods]
impl RrcMessage {
    /// The node.
    #[getter]
    fn node(&self) -> &str {
        &self.0.node
    }

    /// The UE.
    #[getter]
    fn ue(&self) -> String {
        self.0.ue.to_string()
    }

    /// The message in unaligned PER (TS 38.331, TS 36.331).
    #[getter]
    fn octets(&self) -> &[u8] {
        &self.0.octets
    }

    /// What a measurement report of NR says: `meas_id`, `serving`, `neighbours` (the strongest first, as the UE lists them), each
    /// cell a dictionary with `pci`, `rsrp_dbm`, `rsrq_db` and `sinr_db`, `None` where the UE has not measured it. Raises `Malformed` for
    /// another message.
    fn measurements<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let report = MeasurementReport::decode(&self.0.octets).map_err(|error| {
            exception(&Error::Malformed {
                node: self.0.node.to_string(),
                reason: format!("measurement report: {error}"),
            })
        })?;
        let cell = |cell: &CellResult| {
            let row = PyDict::new(py);
            row.set_item("pci", cell.pci)?;
            row.set_item("rsrp_dbm", cell.rsrp.map(nr_rrc::rsrp_dbm))?;
            row.set_item("rsrq_db", cell.rsrq.map(nr_rrc::rsrq_db))?;
            row.set_item("sinr_db", cell.sinr.map(nr_rrc::sinr_db))?;
            PyResult::Ok(row)
        };
        let fields = PyDict::new(py);
        fields.set_item("meas_id", report.meas_id)?;
        fields.set_item("serving", cell(&report.serving)?)?;
        fields.set_item("neighbours", report.neighbours.iter().map(cell).collect::<PyResult<Vec<_>>>()?)?;
        Ok(fields)
    }

    fn __repr__(&self) -> String {
        format!("<RrcMessage of {}, {} octets>", self.0.ue, self.0.octets.len())
    }
}

/// A control of another xApp that waits for a decision. Without one, the rule decides by its default.
#[pyclass(frozen, module = "ferric")]
pub struct ConflictQuestion(xapp::ConflictQuestion);

#[pymethods]
impl ConflictQuestion {
    /// The node.
    #[getter]
    fn node(&self) -> &str {
        &self.0.node
    }

    /// The xApp that requests the control.
    #[getter]
    fn xapp(&self) -> &str {
        &self.0.xapp
    }

    /// The xApp that it is in conflict with.
    #[getter]
    fn with_(&self) -> &str {
        &self.0.with
    }

    /// The parameter of the conflict, and what it is of.
    #[getter]
    fn parameter(&self) -> &str {
        &self.0.parameter
    }

    /// What the control sets.
    #[getter]
    fn settings(&self) -> &str {
        &self.0.settings
    }

    /// The id of the RAN function.
    #[getter]
    fn function(&self) -> u16 {
        self.0.function.0
    }

    /// The control header.
    #[getter]
    fn header(&self) -> &[u8] {
        &self.0.header
    }

    /// The control message.
    #[getter]
    fn message(&self) -> &[u8] {
        &self.0.message
    }

    /// The seconds that are left for the decision.
    #[getter]
    fn left(&self) -> f64 {
        self.0.until.saturating_duration_since(std::time::Instant::now()).as_secs_f64()
    }

    /// Has the control sent.
    fn accept(&self, py: Python<'_>) -> PyResult<()> {
        detached(py, || self.0.accept())
    }

    /// Has the control fail.
    fn refuse(&self, py: Python<'_>) -> PyResult<()> {
        detached(py, || self.0.refuse())
    }

    fn __repr__(&self) -> String {
        format!("<{:?}>", self.0)
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
        self.request.take().ok_or_else(|| exception(&Error::Closed))
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
