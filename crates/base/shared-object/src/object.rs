//! Loading of shared objects from the configured folder, and reading of the texts in their tables.

use core::ffi::{CStr, c_char};
use std::path::{Path, PathBuf};

use libloading::Library;
use rustix::fs::Mode;

use crate::LoadError;

/// The maximum number of names in a list.
const MAX_NAMES: usize = 1024;
/// The maximum size of a name in octets.
const MAX_NAME: usize = 256;

/// The head of every table.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Head {
    /// The number of the ABI.
    pub abi: u32,
    /// The size of the table in octets, as compiled.
    pub octets: u32,
    /// The short name.
    pub name: *const c_char,
}

/// A table that an object exports.
///
/// # Safety
/// The type is `repr(C)`, begins with a [`Head`], and is valid for any octets.
#[allow(unsafe_code)]
pub unsafe trait Table: Copy {
    /// The exported symbol.
    const SYMBOL: &'static CStr;
    /// The number of the ABI.
    const ABI: u32;
}

/// A loaded object. Its code remains valid as long as `library`.
pub struct Object<T> {
    /// The short name that its table states.
    pub name: String,
    /// The table.
    pub table: T,
    /// The library that contains the table's code; it must outlive every call.
    pub library: Library,
}

impl<T: Table> Object<T> {
    /// Loads `file`, which must be in `folder` or below it.
    pub fn load(file: &Path, folder: &Path) -> Result<Self, LoadError> {
        let file = allowed(file, folder)?;
        #[allow(unsafe_code)]
        // SAFETY: loading runs the object's initializers. The folder and its permissions ensure that the operator installed
        // them.
        let library = unsafe { Library::new(&file) }.map_err(LoadError::NotLoaded)?;
        #[allow(unsafe_code)]
        // SAFETY: by the ABI, the symbol is a table that lives as long as the library and never changes, and that begins
        // with a head, whatever its ABI.
        let (table, head) = unsafe {
            let table = *library
                .get::<*const T>(T::SYMBOL.to_bytes_with_nul())
                .map_err(|error| LoadError::NoSymbol(T::SYMBOL, error))?;
            (table, &*table.cast::<Head>())
        };
        if head.abi != T::ABI {
            return Err(LoadError::OtherAbi { object: head.abi, program: T::ABI });
        }
        if (head.octets as usize) < size_of::<T>() {
            return Err(LoadError::Malformed("the table is too short"));
        }
        #[allow(unsafe_code)]
        // SAFETY: by the ABI, a name is terminated with zero.
        let name = unsafe { text(head.name) }?;
        if !is_plain(&name) {
            return Err(LoadError::Malformed("the name does not have 1 to 64 of a-z, 0-9, `-` and `.`"));
        }
        #[allow(unsafe_code)]
        // SAFETY: as above; the size was checked.
        let table = unsafe { *table };
        Ok(Object { name, table, library })
    }
}

/// Returns whether `name` is a valid object name.
pub fn is_plain(name: &str) -> bool {
    let plain = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || b"-.".contains(&c);
    (1..=64).contains(&name.len()) && name.bytes().all(plain)
}

/// Returns the file with all links resolved, if it may be loaded.
fn allowed(file: &Path, folder: &Path) -> Result<PathBuf, LoadError> {
    let missing = |path: &Path| {
        let path = path.to_owned();
        move |error| LoadError::Missing(path, error)
    };
    let folder = folder.canonicalize().map_err(missing(folder))?;
    let file = file.canonicalize().map_err(missing(file))?;
    if !file.starts_with(&folder) {
        return Err(LoadError::OutsideFolder { file, folder });
    }
    // from the file up to the folder: write access to any of them allows to replace the file
    for path in file.ancestors().take_while(|path| path.starts_with(&folder)) {
        let status = rustix::fs::stat(path).map_err(|error| LoadError::Missing(path.to_owned(), error.into()))?;
        let others = Mode::from_raw_mode(status.st_mode).intersects(Mode::WGRP | Mode::WOTH);
        let ours = [0, rustix::process::geteuid().as_raw()].contains(&status.st_uid);
        if others || !ours {
            return Err(LoadError::Writable(path.to_owned()));
        }
    }
    Ok(file)
}

/// Copies a text of at most 256 octets out of a table.
///
/// # Errors
/// A text that is NULL, too long or not UTF-8.
///
/// # Safety
/// A text that is not NULL is terminated with zero.
#[allow(unsafe_code)]
pub unsafe fn text(at: *const c_char) -> Result<String, LoadError> {
    if at.is_null() {
        return Err(LoadError::Malformed("a text is NULL"));
    }
    // SAFETY: the caller guarantees the terminating zero.
    let text = unsafe { CStr::from_ptr(at) };
    let text = text.to_str().map_err(|_| LoadError::Malformed("a text is not UTF-8"))?;
    if text.len() > MAX_NAME {
        return Err(LoadError::Malformed("a name is longer than 256 octets"));
    }
    Ok(text.to_owned())
}

/// Copies a list of at most 1,024 texts out of a table.
///
/// # Errors
/// A list or a text in it that is NULL, too long or not UTF-8.
///
/// # Safety
/// A list that is not NULL is terminated with NULL, and each of its texts with zero.
#[allow(unsafe_code)]
pub unsafe fn list(at: *const *const c_char) -> Result<Vec<String>, LoadError> {
    let mut names = Vec::new();
    if at.is_null() {
        return Err(LoadError::Malformed("a list is NULL"));
    }
    for place in 0..MAX_NAMES {
        // SAFETY: the caller guarantees the terminating NULL, which was not reached yet.
        let name = unsafe { *at.add(place) };
        if name.is_null() {
            return Ok(names);
        }
        // SAFETY: the caller guarantees each text.
        names.push(unsafe { text(name) }?);
    }
    Err(LoadError::Malformed("a list has more than 1024 names"))
}
