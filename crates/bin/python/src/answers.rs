//! The answers of nodes to controls.

use ferric::xapp::{Answer, Error, Quota};
use pyo3::prelude::*;

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
