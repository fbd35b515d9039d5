//! A stream of measurement records.

use std::os::fd::AsRawFd;
use std::time::UNIX_EPOCH;

use ferric::xapp::{self, Value};
use pyo3::exceptions::{PyKeyError, PyStopIteration};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::batch::{Batch, Names};
use crate::error::exception;
use crate::wait::{seconds, wait, within};

/// The value of a measurement in Python: `None` where there is no number.
fn to_python(py: Python<'_>, value: Value) -> PyResult<Bound<'_, PyAny>> {
    Ok(match value {
        Value::Integer(value) => value.into_pyobject(py)?.into_any(),
        Value::Real(value) => value.into_pyobject(py)?.into_any(),
        Value::NoValue | Value::NotSatisfied => py.None().into_bound(py),
    })
}

/// The measurements of one subject over one period.
#[pyclass(frozen, module = "ferric")]
pub struct Record(pub xapp::Record);

#[pymethods]
impl Record {
    /// The start of the period in seconds since 1970, by the node's clock.
    #[getter]
    fn time(&self) -> f64 {
        self.0.time.duration_since(UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64())
    }

    /// The same in nanoseconds.
    #[getter]
    fn time_ns(&self) -> u64 {
        let time = self.0.time.duration_since(UNIX_EPOCH);
        time.map_or(0, |time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
    }

    /// The name of the node, as the RIC logs it.
    #[getter]
    fn node(&self) -> &str {
        &self.0.node
    }

    /// The cell identity in hexadecimal digits; `None` where it is unknown.
    #[getter]
    fn cell(&self) -> Option<String> {
        self.0.cell.map(|cell| cell.to_string())
    }

    /// The name of the UE, such as `amf:17`; `None` in a record of a cell, a slice or a node.
    #[getter]
    fn ue(&self) -> Option<String> {
        self.0.ue.as_ref().map(ToString::to_string)
    }

    /// The network slice, such as `1-00000a`; `None` where there is none.
    #[getter]
    fn slice(&self) -> Option<String> {
        self.0.slice.map(|slice| slice.to_string())
    }

    /// Whether it is the first one of its node since that has moved to another RIC: some before it are missing.
    #[getter]
    fn follows_move(&self) -> bool {
        self.0.follows_move
    }

    fn __getitem__<'py>(&self, py: Python<'py>, measurement: &str) -> PyResult<Bound<'py, PyAny>> {
        match self.0.value(measurement) {
            Some(value) => to_python(py, value),
            None => Err(PyKeyError::new_err(measurement.to_owned())),
        }
    }

    /// The number of a measurement, or `default`: also where the node had no value.
    #[pyo3(signature = (measurement, default=None))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        measurement: &str,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        match self.0.value(measurement) {
            Some(value @ (Value::Integer(_) | Value::Real(_))) => to_python(py, value),
            _ => Ok(default.unwrap_or_else(|| py.None().into_bound(py))),
        }
    }

    /// The names of the measurements, in the order of the request.
    fn keys(&self) -> Vec<String> {
        self.0.values().map(|(name, _)| name.to_owned()).collect()
    }

    /// The names of the measurements with their values.
    fn items<'py>(&self, py: Python<'py>) -> PyResult<Vec<(String, Bound<'py, PyAny>)>> {
        self.0.values().map(|(name, value)| Ok((name.to_owned(), to_python(py, value)?))).collect()
    }

    /// Everything in a dictionary, for `json.dumps` or a row of a table.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dictionary = PyDict::new(py);
        dictionary.set_item("time", self.time())?;
        dictionary.set_item("node", self.node())?;
        dictionary.set_item("cell", self.cell())?;
        dictionary.set_item("ue", self.ue())?;
        dictionary.set_item("slice", self.slice())?;
        for (name, value) in self.0.values() {
            dictionary.set_item(name, to_python(py, value)?)?;
        }
        Ok(dictionary)
    }

    fn __len__(&self) -> usize {
        self.0.values().len()
    }

    fn __contains__(&self, measurement: &str) -> bool {
        self.0.value(measurement).is_some()
    }

    fn __repr__(&self) -> String {
        format!("<Record {}>", self.0)
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }
}

/// A stream of records; an iterator that waits for the next one. Closed at the end of a `with` block.
#[pyclass(module = "ferric", subclass)]
pub struct KpmStream {
    stream: Option<xapp::KpmStream>,
    /// The batch that is exchanged for full ones.
    spare: xapp::Batch,
    names: Names,
}

impl KpmStream {
    pub fn new(stream: xapp::KpmStream) -> Self {
        KpmStream { stream: Some(stream), spare: xapp::Batch::default(), names: Names::default() }
    }

    fn stream(&mut self) -> PyResult<&mut xapp::KpmStream> {
        self.stream.as_mut().ok_or_else(|| exception(&xapp::Error::Closed))
    }
}

#[pymethods]
impl KpmStream {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__(&mut self, py: Python<'_>) -> PyResult<Record> {
        // a closed stream has no more records
        let Some(stream) = &mut self.stream else { return Err(PyStopIteration::new_err(())) };
        match wait(py, None, |time| stream.next_within(time))? {
            Some(Some(record)) => Ok(Record(record)),
            _ => Err(PyStopIteration::new_err(())),
        }
    }

    /// The next record, or `None` if there is none within `timeout` seconds (0: do not wait). Raises `Closed` at the end.
    fn next_within(&mut self, py: Python<'_>, timeout: f64) -> PyResult<Option<Record>> {
        let time = seconds("timeout", timeout)?;
        let stream = self.stream()?;
        Ok(within(py, time, |time| stream.next_within(time))?.map(Record))
    }

    /// The next records in columns, at most 1024. Waits for them until the session has ended, then `None`; with `timeout`, that many
    /// seconds at most: `None` if there are none in this time, and `Closed` at the end.
    #[pyo3(signature = (timeout=None))]
    fn batch(&mut self, py: Python<'_>, timeout: Option<f64>) -> PyResult<Option<Batch>> {
        let time = timeout.map(|timeout| seconds("timeout", timeout)).transpose()?;
        let KpmStream { stream, spare, names } = self;
        let stream = stream.as_mut().ok_or_else(|| exception(&xapp::Error::Closed))?;
        match wait(py, time, |time| stream.next_batch(spare, Some(time)))? {
            Some(true) => Ok(Some(Batch::new(std::mem::take(spare), names)?)),
            Some(false) if time.is_some() => Err(exception(&xapp::Error::Closed)),
            _ => Ok(None),
        }
    }

    /// The records that were lost because this stream was read too slowly.
    #[getter]
    fn lost(&mut self) -> PyResult<u64> {
        Ok(self.stream()?.lost())
    }

    /// The refusals of nodes that were to report to this stream.
    #[getter]
    fn refusals(&mut self) -> PyResult<u64> {
        Ok(self.stream()?.refusals())
    }

    /// A file descriptor that is readable while records are buffered.
    fn fileno(&mut self) -> PyResult<i32> {
        use std::os::fd::AsFd;
        Ok(self.stream()?.as_fd().as_raw_fd())
    }

    /// Deletes the subscriptions. A second call does nothing.
    fn close(&mut self, py: Python<'_>) {
        let stream = self.stream.take();
        py.detach(|| drop(stream));
    }

    fn __enter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __exit__(&mut self, py: Python<'_>, _type: Py<PyAny>, _value: Py<PyAny>, _traceback: Py<PyAny>) {
        self.close(py);
    }
}
