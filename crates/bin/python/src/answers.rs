//! The answers of nodes to controls, and configuration structures.

use e2sm::ccc::RanConfigurationStructure;
use ferric::xapp::{Answer, Error, Quota};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Map, Value};

use crate::error::invalid;

use crate::wait::detached;

/// The name of each node, and what it says.
pub type Answers = Vec<(String, Option<String>)>;

/// Sends a control without the GIL, and waits for the answers.
pub fn controlled(py: Python<'_>, control: impl FnOnce() -> Result<Vec<Answer>, Error> + Send) -> PyResult<Answers> {
    let answers = detached(py, control)?;
    Ok(answers.into_iter().map(|answer| (answer.node, answer.text)).collect())
}

/// Sets a quota, in percent of the resource blocks.
pub fn set_quota(
    py: Python<'_>,
    [min_percent, max_percent, dedicated_percent]: [u8; 3],
    control: impl FnOnce(Quota) -> Result<Vec<Answer>, Error> + Send,
) -> PyResult<Answers> {
    controlled(py, || control(Quota { min_percent, max_percent, dedicated_percent }))
}

/// Structures by name, each a dictionary of its attributes as O-RAN names them; `None` for one that was removed.
pub fn structures_to_python<'py>(
    py: Python<'py>,
    structures: impl Iterator<Item = (String, Option<Map<String, Value>>)>,
) -> PyResult<Bound<'py, PyDict>> {
    let loads = py.import("json")?.getattr("loads")?;
    let by_name = PyDict::new(py);
    for (name, attributes) in structures {
        let attributes =
            attributes.map(|attributes| loads.call1((Value::Object(attributes).to_string(),))).transpose()?;
        by_name.set_item(name, attributes)?;
    }
    Ok(by_name)
}

/// Reads structures: a dictionary of dictionaries.
pub fn structures_from_python(structures: &Bound<'_, PyDict>) -> PyResult<Vec<RanConfigurationStructure>> {
    let dumps = structures.py().import("json")?.getattr("dumps")?;
    let read = |(name, attributes): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
        let (name, text): (String, String) = (name.extract()?, dumps.call1((attributes,))?.extract()?);
        let attributes = serde_json::from_str::<Map<String, Value>>(&text);
        let wrong = |why: String| invalid("structures", &name, &format!("a dictionary of its attributes: {why}"));
        let attributes = attributes.map_err(|error| wrong(error.to_string()))?;
        RanConfigurationStructure::new(&name, attributes).map_err(|error| wrong(error.to_string()))
    };
    structures.iter().map(read).collect()
}
