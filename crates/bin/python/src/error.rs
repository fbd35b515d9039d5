//! Errors of the API as the exceptions of `ferric.errors`.

use ferric::xapp::Error;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The class of `ferric.errors` for an error.
fn class(error: &Error) -> &'static str {
    match error {
        Error::Address { .. } => "AddressError",
        Error::Connect { .. } => "ConnectError",
        Error::Timeout { .. } => "Timeout",
        Error::Closed => "Closed",
        Error::Forked => "Forked",
        Error::Unknown { .. } => "Unknown",
        Error::NotOffered { .. } => "NotOffered",
        Error::Invalid { .. } => "Invalid",
        Error::Refused { .. } => "Refused",
        Error::RefusedByRic { .. } => "RefusedByRic",
        Error::NodeLost { .. } => "NodeLost",
        Error::Malformed { .. } => "Malformed",
        Error::Unverified { .. } => "Unverified",
        _ => "Error",
    }
}

/// The exception of an error: its text, and its fields as attributes.
pub fn exception(error: &Error) -> PyErr {
    let made = Python::attach(|py| -> PyResult<PyErr> {
        let fields = PyDict::new(py);
        fields.set_item("code", error.code())?;
        fields.set_item("cause", error.cause().map(|cause| format!("{cause:?}")))?;
        fields.set_item("parameter", error.parameter())?;
        fields.set_item("nearest", error.nearest().to_vec())?;
        fields.set_item("node", error.node())?;
        let class = py.import("ferric.errors")?.getattr(class(error))?;
        Ok(PyErr::from_value(class.call((error.to_string(),), Some(&fields))?))
    });
    made.unwrap_or_else(|other| other)
}

/// An argument of a wrong value, found before the API is called.
pub fn invalid(parameter: &str, value: impl ToString, expected: &str) -> PyErr {
    let (parameter, value, expected) = (parameter.into(), value.to_string(), expected.into());
    exception(&Error::Invalid { parameter, value, expected })
}
