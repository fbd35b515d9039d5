//! A1: policies of a non-RT RIC, and its enrichment information.

use ferric::xapp::{self, EiEvent, PolicyOperation};
use pyo3::prelude::*;

use crate::wait::detached;

/// A value of Python that a text in JSON is.
fn from_json(text: &str) -> PyResult<Py<PyAny>> {
    Python::attach(|py| Ok(py.import("json")?.call_method1("loads", (text,))?.unbind()))
}

/// The text in JSON of a value of Python.
pub fn to_json(value: &Bound<'_, PyAny>) -> PyResult<String> {
    value.py().import("json")?.call_method1("dumps", (value,))?.extract()
}

/// A policy of a non-RT RIC, or its deletion. It is to be answered, by `accept` or `refuse`.
#[pyclass(frozen, module = "ferric")]
pub struct A1Policy(pub xapp::A1Policy);

#[pymethods]
impl A1Policy {
    /// `create`, `update` or `delete`. A policy may be created more than once.
    #[getter]
    fn operation(&self) -> &'static str {
        match self.0.operation() {
            PolicyOperation::Create => "create",
            PolicyOperation::Update => "update",
            PolicyOperation::Delete => "delete",
        }
    }

    /// Its type.
    #[getter]
    fn policy_type(&self) -> i32 {
        self.0.policy_type()
    }

    /// Its id.
    #[getter]
    fn id(&self) -> &str {
        self.0.id()
    }

    /// The policy, which conforms to the schema of its type; of a deletion the last one.
    #[getter]
    fn policy(&self) -> PyResult<Py<PyAny>> {
        from_json(self.0.json())
    }

    /// Says that the policy is enforced from now on; of a deletion, that it is not any more.
    fn accept(&self, py: Python<'_>) -> PyResult<()> {
        detached(py, || self.0.accept())
    }

    /// Says that the policy is not enforced.
    fn refuse(&self, py: Python<'_>) -> PyResult<()> {
        detached(py, || self.0.refuse())
    }

    fn __repr__(&self) -> String {
        format!("<A1Policy {} {} of type {}>", self.operation(), self.0.id(), self.0.policy_type())
    }
}

/// An event of a job in Python.
pub fn event(event: EiEvent) -> PyResult<(&'static str, Option<Py<PyAny>>)> {
    let text = |text: String| Python::attach(|py| Ok::<_, PyErr>(text.into_pyobject(py)?.into_any().unbind()));
    Ok(match event {
        EiEvent::Established => ("established", None),
        EiEvent::Result(json) => ("result", Some(from_json(&json)?)),
        EiEvent::Enabled(true) => ("enabled", None),
        EiEvent::Enabled(false) => ("disabled", None),
        EiEvent::Refused { detail, is_retried, .. } => {
            (if is_retried { "waiting" } else { "refused" }, Some(text(detail)?))
        }
        other => ("other", Some(text(format!("{other:?}"))?)),
    })
}
