//! Other programs: beside this one, then on the PATH.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The program `name` beside this one, else the first on the PATH.
#[must_use]
pub fn find(name: &str) -> Option<PathBuf> {
    folders().into_iter().map(|folder| folder.join(name)).find(|path| is_executable(path))
}

/// All programs whose names start with `prefix`: the rest of each name, and the path that [`find`] returns for it.
#[must_use]
pub fn find_with_prefix(prefix: &str) -> BTreeMap<String, PathBuf> {
    let mut found = BTreeMap::new();
    for folder in folders() {
        // the PATH may contain folders that do not exist
        let Ok(entries) = fs::read_dir(folder) else { continue };
        for path in entries.flatten().map(|entry| entry.path()) {
            let rest = path.file_name().and_then(OsStr::to_str).and_then(|name| name.strip_prefix(prefix));
            if let Some(rest) = rest.map(str::to_owned)
                && is_executable(&path)
            {
                found.entry(rest).or_insert(path);
            }
        }
    }
    found
}

fn folders() -> Vec<PathBuf> {
    let own = std::env::current_exe().ok().and_then(|program| program.parent().map(Path::to_owned));
    let path = std::env::var_os("PATH").unwrap_or_default();
    own.into_iter().chain(std::env::split_paths(&path)).collect()
}

fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}
