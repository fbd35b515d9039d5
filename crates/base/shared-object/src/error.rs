//! Why an object is not loaded.

use core::ffi::CStr;
use core::fmt;
use std::path::PathBuf;

/// Why an object is not loaded.
#[derive(Debug)]
pub enum LoadError {
    /// The file or the folder is not there, or cannot be looked at.
    Missing(PathBuf, std::io::Error),
    /// The file is not in the folder that objects may come from.
    OutsideFolder {
        /// The file, links followed.
        file: PathBuf,
        /// The folder, links followed.
        folder: PathBuf,
    },
    /// Others than its owner may write it, or its owner is neither root nor this user.
    Writable(PathBuf),
    /// The system does not load it.
    NotLoaded(libloading::Error),
    /// No object can have that name.
    NoName(String),
    /// It does not export that symbol.
    NoSymbol(&'static CStr, libloading::Error),
    /// It was built for another ABI than the one that this program speaks.
    OtherAbi {
        /// The object's.
        object: u32,
        /// This program's.
        program: u32,
    },
    /// What it says of itself makes no sense.
    Malformed(&'static str),
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LoadError::Missing(path, error) => write!(f, "{}: {error}", path.display()),
            LoadError::OutsideFolder { file, folder } => write!(
                f,
                "{} is not in {}: objects come from that folder only; put it there, or name another folder",
                file.display(),
                folder.display()
            ),
            LoadError::Writable(path) => write!(
                f,
                "{} could have been written by others: it must belong to root or to you, and `chmod go-w` it",
                path.display()
            ),
            LoadError::NotLoaded(error) => write!(f, "not a shared object of this machine: {error}"),
            LoadError::NoName(name) => {
                write!(f, "{name:?} is no name: a name is 1 to 64 of a-z, 0-9, `-` and `.`, without folder and `.so`")
            }
            LoadError::NoSymbol(symbol, error) => {
                write!(f, "it exports no `{}`: {error}", symbol.to_string_lossy())
            }
            LoadError::OtherAbi { object, program } => {
                write!(f, "it was built for ABI {object}; this program speaks ABI {program}")
            }
            LoadError::Malformed(what) => write!(f, "what it says of itself makes no sense: {what}"),
        }
    }
}

impl std::error::Error for LoadError {}
