//! Loads tables of functions from shared objects (plug-ins with a C ABI).
//!
//! A shared object runs with all rights of the program. It is therefore loaded from one folder only, and only if no other user
//! can have written it: the file and its folder belong to root or to the current user, are not writable for others, and the
//! file is in the folder or below it after all symbolic links are resolved.

mod error;
mod object;

pub use error::LoadError;
pub use libloading::Library;
pub use object::{Head, Object, Table, is_plain, list, text};
