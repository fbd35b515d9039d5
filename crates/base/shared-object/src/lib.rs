//! Loads tables of functions from shared objects (plug-ins with a C ABI).
//!
//! A shared object runs with all rights of the program. It is therefore loaded from one folder only, and only if no other user
//! can have written it: the file, its folder and all folders above belong to root or to the current user and are not writable for
//! others, and the file is in the folder or below it after all symbolic links are resolved. Above the folder, the sticky bit is
//! protection enough. The file is opened along the checked folders and loaded by its descriptor, so that nothing can be swapped
//! between check and load; this needs `/proc`. An object cannot refer to its own place (`$ORIGIN`).

mod error;
mod object;

pub use error::LoadError;
pub use object::{Head, Library, Object, Table, is_plain, list, text};
