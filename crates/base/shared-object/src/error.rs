//! Errors of loading.

use core::ffi::CStr;
use core::fmt;
use std::path::PathBuf;

/// An object that is not loaded.
#[derive(Debug)]
#[non_exhaustive]
pub enum LoadError {
    /// The file or the folder does not exist or cannot be accessed.
    Missing(PathBuf, std::io::Error),
    /// The file is not in the configured folder.
    OutsideFolder {
        /// The file, with links resolved.
        file: PathBuf,
        /// The folder, with links resolved.
        folder: PathBuf,
    },
    /// The file or a folder on the way to it is writable for others.
    Writable(PathBuf),
    /// The owner of the file or of a folder on the way to it is neither root nor the current user.
    ForeignOwner {
        /// The file or folder.
        path: PathBuf,
        /// The user id of its owner.
        owner: u32,
    },
    /// The path does not lead to a regular file.
    NoFile(PathBuf),
    /// The dynamic loader rejected the file.
    NotLoaded(libloading::Error),
    /// The name is not a valid object name.
    NoName(String),
    /// The object does not export the symbol.
    NoSymbol(&'static CStr, libloading::Error),
    /// The object was built for another ABI.
    OtherAbi {
        /// The ABI of the object.
        object: u32,
        /// The ABI of this program.
        program: u32,
    },
    /// The object's table is invalid.
    Malformed(&'static str),
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LoadError::Missing(path, error) => write!(f, "{}: {error}", path.display()),
            LoadError::OutsideFolder { file, folder } => write!(
                f,
                "{} is not in {}: move it there, or configure another folder",
                file.display(),
                folder.display()
            ),
            LoadError::Writable(path) => {
                write!(f, "{} is writable for others, who could replace the object: `chmod go-w` it", path.display())
            }
            LoadError::ForeignOwner { path, owner } => write!(
                f,
                "{} belongs to user {owner}, who could replace the object: it must belong to root or to the user who runs this \
                 program; `chown` it",
                path.display()
            ),
            LoadError::NoFile(path) => write!(f, "{} is not a regular file", path.display()),
            LoadError::NotLoaded(error) => write!(f, "not a shared object of this machine: {error}"),
            LoadError::NoName(name) => {
                write!(
                    f,
                    "invalid name {name:?}: a name has 1 to 64 of a-z, 0-9, `-` and `.`, without folder and `.so`"
                )
            }
            LoadError::NoSymbol(symbol, error) => {
                write!(f, "symbol `{}` not found: {error}", symbol.to_string_lossy())
            }
            LoadError::OtherAbi { object, program } => {
                write!(f, "built for ABI {object}; this program has ABI {program}")
            }
            LoadError::Malformed(what) => write!(f, "invalid table: {what}"),
        }
    }
}

impl std::error::Error for LoadError {}
