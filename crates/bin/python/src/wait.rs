//! Waiting without the GIL, so that other threads of Python run, and so that Ctrl-C ends a wait.

use std::time::{Duration, Instant};

use ferric::xapp::Error;
use pyo3::prelude::*;

use crate::error::{exception, invalid};

/// How long a wait goes without a look at Python's signals.
pub const SLICE: Duration = Duration::from_millis(100);

/// Runs a call that may block without the GIL.
pub fn detached<T: Send>(py: Python<'_>, call: impl FnOnce() -> Result<T, Error> + Send) -> PyResult<T> {
    py.detach(call).map_err(|error| exception(&error))
}

/// The duration of seconds, as Python states it.
pub fn seconds(parameter: &str, seconds: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(seconds).map_err(|_| invalid(parameter, seconds, "seconds from 0 on"))
}

/// Waits for something in slices. `None` of the time is without limit; `None` of the result means that the time is over.
pub fn wait<T: Send>(
    py: Python<'_>,
    time: Option<Duration>,
    mut wait_within: impl FnMut(Duration) -> Result<T, Error> + Send,
) -> PyResult<Option<T>> {
    let start = Instant::now();
    loop {
        let left = time.map(|time| time.saturating_sub(start.elapsed()));
        let slice = left.map_or(SLICE, |left| left.min(SLICE));
        match py.detach(|| wait_within(slice)) {
            Ok(value) => return Ok(Some(value)),
            Err(Error::Timeout { .. }) => py.check_signals()?,
            Err(error) => return Err(exception(&error)),
        }
        if left.is_some_and(|left| left.is_zero()) {
            return Ok(None);
        }
    }
}

/// Waits for the next item of a stream, no longer than `time`. Its end is an error, so that who polls does not wait for ever.
pub fn within<T: Send>(
    py: Python<'_>,
    time: Duration,
    next_within: impl FnMut(Duration) -> Result<Option<T>, Error> + Send,
) -> PyResult<Option<T>> {
    match wait(py, Some(time), next_within)? {
        Some(None) => Err(exception(&Error::Closed)),
        item => Ok(item.flatten()),
    }
}
