//! Loading of shared objects from the configured folder, and reading of the texts in their tables.

use core::ffi::{CStr, c_char};
use std::ffi::OsStr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, Stat, fstat, openat};

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

/// The code of a loaded object: valid until this is dropped.
#[derive(Debug)]
pub struct Library {
    library: libloading::Library,
    /// Kept open: the dynamic loader recognizes an object by its path, which must not denote another one meanwhile.
    _file: OwnedFd,
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
        let file = open_allowed(file, folder)?;
        // the descriptor denotes the file that was checked, whatever its path denotes by now
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        #[allow(unsafe_code)]
        // SAFETY: loading runs the object's initializers. The folder and its permissions ensure that the operator installed
        // them.
        let library = unsafe { libloading::Library::new(&path) }.map_err(LoadError::NotLoaded)?;
        let library = Library { library, _file: file };
        #[allow(unsafe_code)]
        // SAFETY: by the ABI, the symbol is a table that lives as long as the library and never changes, and that begins
        // with a head, whatever its ABI.
        let (table, head) = unsafe {
            let table = *library
                .library
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

/// Opens the file with all links resolved, if it may be loaded. What is checked is what is opened: each folder is opened in the
/// one before it, and no links are followed, so that no part of the path can be swapped in between.
fn open_allowed(file: &Path, folder: &Path) -> Result<OwnedFd, LoadError> {
    let missing = |path: &Path| {
        let path = path.to_owned();
        move |error| LoadError::Missing(path, error)
    };
    let folder = folder.canonicalize().map_err(missing(folder))?;
    let file = file.canonicalize().map_err(missing(file))?;
    if !file.starts_with(&folder) {
        return Err(LoadError::OutsideFolder { file, folder });
    }
    let mut path = PathBuf::from("/");
    let mut opened = open(CWD, &path, OFlags::PATH | OFlags::DIRECTORY)?;
    let mut rest = file.components().skip(1).peekable(); // the first is the root
    loop {
        let status = fstat(&opened).map_err(|error| LoadError::Missing(path.clone(), error.into()))?;
        check(&path, &status, path.starts_with(&folder))?;
        let Some(name) = rest.next() else {
            let is_file = FileType::from_raw_mode(status.st_mode) == FileType::RegularFile;
            return if is_file { Ok(opened) } else { Err(LoadError::NoFile(path)) };
        };
        path.push(name);
        let is_last = rest.peek().is_none();
        // a FIFO or a device is not waited for
        let flags = if is_last { OFlags::NONBLOCK } else { OFlags::PATH | OFlags::DIRECTORY };
        opened = open_at(&opened, name.as_os_str(), flags, &path)?;
    }
}

fn open(folder: BorrowedFd<'_>, path: &Path, flags: OFlags) -> Result<OwnedFd, LoadError> {
    open_at(&folder, path.as_os_str(), flags, path)
}

fn open_at(folder: &impl AsFd, name: &OsStr, flags: OFlags, path: &Path) -> Result<OwnedFd, LoadError> {
    let opened = openat(folder, name, flags | OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty());
    opened.map_err(|error| LoadError::Missing(path.to_owned(), error.into()))
}

/// Checks that only root and the current user can replace what is at `path`. Above the configured folder, others may write
/// to a folder with the sticky bit, such as `/tmp`: they can replace only what belongs to them.
fn check(path: &Path, status: &Stat, is_inside: bool) -> Result<(), LoadError> {
    if ![0, rustix::process::geteuid().as_raw()].contains(&status.st_uid) {
        return Err(LoadError::ForeignOwner { path: path.to_owned(), owner: status.st_uid });
    }
    let mode = Mode::from_raw_mode(status.st_mode);
    let is_protected = !is_inside && mode.contains(Mode::SVTX);
    if mode.intersects(Mode::WGRP | Mode::WOTH) && !is_protected {
        return Err(LoadError::Writable(path.to_owned()));
    }
    Ok(())
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
