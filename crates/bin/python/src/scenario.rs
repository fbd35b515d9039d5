//! Scenarios from a file or a text.

use std::path::{Path, PathBuf};

use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use ran::Scenario;
use ran::scenario::ScenarioFolders;

/// The size limit of a scenario file.
const MAX_FILE_OCTETS: u64 = 4 << 20;

/// Reads a scenario from a file, or from a text of several lines.
///
/// # Errors
/// `OSError` for a file that cannot be read, `ValueError` for a scenario that is wrong.
pub fn scenario(text: &str) -> PyResult<Scenario> {
    let is_text = text.contains('\n');
    let (text, folder) = if is_text {
        (text.to_owned(), PathBuf::new())
    } else {
        let file = Path::new(text);
        let length = std::fs::metadata(file).map_err(|error| PyOSError::new_err(format!("{text}: {error}")))?.len();
        if length > MAX_FILE_OCTETS {
            return Err(PyValueError::new_err(format!("{text} has {length} octets: at most {MAX_FILE_OCTETS}")));
        }
        let content = std::fs::read_to_string(file).map_err(|error| PyOSError::new_err(format!("{text}: {error}")))?;
        (content, file.parent().map(Path::to_path_buf).unwrap_or_default())
    };
    let folders = ScenarioFolders { traces: &folder, tc_plugins: &folder };
    Scenario::from_toml(&text, &folders).map_err(|error| PyValueError::new_err(error.to_string()))
}
