//! Service models in shared objects of their own: a model that ferric does not know is loaded when a program starts, without
//! a rebuild (FlexRIC paper, 4.3).
//!
//! A model offers the C ABI of `include/ferric_model.h`; it is written in C, or in anything that speaks it. It tells how its
//! messages read, as JSON; it moves nothing, since the RIC moves octets of any model.
//!
//! What is loaded runs with all rights of the program, so that it is loaded only by name, only from one folder, and only
//! where nobody else could have written it: see [`Model::load`].

use core::ffi::{CStr, c_char, c_int, c_void};
use core::fmt;
use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use libloading::Library;
use rustix::fs::Mode;

/// The folder from which models are loaded where none is configured.
pub const DEFAULT_FOLDER: &str = "/usr/lib/ferric/models";

/// The layout that this library reads.
const ABI: u32 = 1;
/// Octets of JSON that one message may become.
const MAX_OUTPUT: usize = 16 << 20;
/// Names in a list.
const MAX_NAMES: usize = 1024;
/// Octets of a name.
const MAX_NAME: usize = 256;

type Emit = unsafe extern "C" fn(*mut c_void, *const c_char, usize);
type Describe = unsafe extern "C" fn(*const c_char, *const u8, usize, Emit, *mut c_void) -> c_int;

/// `struct ferric_model_v1`.
#[repr(C)]
struct Table {
    abi: u32,
    octets: u32,
    name: *const c_char,
    oids: *const *const c_char,
    types: *const *const c_char,
    describe: Option<Describe>,
}

/// Why a model is not loaded.
#[derive(Debug)]
pub enum LoadError {
    /// The file or the folder is not there, or cannot be looked at.
    Missing(PathBuf, std::io::Error),
    /// The file is not in the folder that models may come from.
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
    /// It exports no `ferric_model_v1`.
    NoModel(libloading::Error),
    /// It was built for another ABI.
    OtherAbi(u32),
    /// What it says of itself makes no sense.
    Malformed(&'static str),
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LoadError::Missing(path, error) => write!(f, "{}: {error}", path.display()),
            LoadError::OutsideFolder { file, folder } => write!(
                f,
                "{} is not in {}: models come from that folder only; put it there, or name another folder",
                file.display(),
                folder.display()
            ),
            LoadError::Writable(path) => write!(
                f,
                "{} could have been written by others: it must belong to root or to you, and `chmod go-w` it",
                path.display()
            ),
            LoadError::NotLoaded(error) => write!(f, "not a shared object of this machine: {error}"),
            LoadError::NoModel(error) => write!(f, "no model: it exports no `ferric_model_v1`: {error}"),
            LoadError::OtherAbi(abi) => write!(f, "a model for ABI {abi}; this program speaks ABI {ABI}"),
            LoadError::Malformed(what) => write!(f, "what the model says of itself makes no sense: {what}"),
        }
    }
}

impl std::error::Error for LoadError {}

/// Why a message was not described.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DescribeError {
    /// The model has no such type.
    UnknownType,
    /// The model says that the message is wrong, and how.
    Message(String),
    /// The model has emitted no UTF-8, or more than 16 MiB.
    Output,
}

impl fmt::Display for DescribeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DescribeError::UnknownType => f.write_str("the model has no such type"),
            DescribeError::Message(what) => f.write_str(what),
            DescribeError::Output => f.write_str("the model has said what is no text, or too much of it"),
        }
    }
}

impl std::error::Error for DescribeError {}

/// A loaded model.
pub struct Model {
    name: String,
    oids: Vec<String>,
    types: Vec<CString>,
    /// The model is called from one thread at a time.
    describe: Mutex<Describe>,
    /// What the code lies in; it is never unloaded while the model is there.
    _library: Library,
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Model").field("name", &self.name).field("oids", &self.oids).finish_non_exhaustive()
    }
}

impl Model {
    /// Loads the model in `file`, which lies in `folder` or below it, with all links followed. File and folder belong to root
    /// or to this user, and nobody else may write them.
    ///
    /// # Errors
    /// Where one of these does not hold, or the file is no model.
    pub fn load(file: &Path, folder: &Path) -> Result<Self, LoadError> {
        let missing = |path: &Path| {
            let path = path.to_owned();
            move |error| LoadError::Missing(path, error)
        };
        let folder = folder.canonicalize().map_err(missing(folder))?;
        let file = file.canonicalize().map_err(missing(file))?;
        if !file.starts_with(&folder) {
            return Err(LoadError::OutsideFolder { file, folder });
        }
        // from the file up to the folder: who may write one of them may put another file there
        for path in file.ancestors().take_while(|path| path.starts_with(&folder)) {
            let status = rustix::fs::stat(path).map_err(|error| LoadError::Missing(path.to_owned(), error.into()))?;
            let others = Mode::from_raw_mode(status.st_mode).intersects(Mode::WGRP | Mode::WOTH);
            let ours = [0, rustix::process::geteuid().as_raw()].contains(&status.st_uid);
            if others || !ours {
                return Err(LoadError::Writable(path.to_owned()));
            }
        }
        #[allow(unsafe_code)]
        // SAFETY: loading runs the object's initializers. That they are what the operator wants to run is what the folder and
        // its rights are for.
        let library = unsafe { Library::new(&file) }.map_err(LoadError::NotLoaded)?;
        #[allow(unsafe_code)]
        // SAFETY: by the ABI, the symbol is a table that lives as long as the library, and never changes.
        let table = unsafe {
            let symbol = library.get::<*const Table>(b"ferric_model_v1\0").map_err(LoadError::NoModel)?;
            &**symbol
        };
        if table.abi != ABI {
            return Err(LoadError::OtherAbi(table.abi));
        }
        if (table.octets as usize) < size_of::<Table>() {
            return Err(LoadError::Malformed("its table is too short"));
        }
        let name = text(table.name)?;
        let plain = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || b"-.".contains(&c);
        if !(1..=64).contains(&name.len()) || !name.bytes().all(plain) {
            return Err(LoadError::Malformed("its name is not 1 to 64 of a-z, 0-9, `-` and `.`"));
        }
        let oids = list(table.oids)?;
        let types = list(table.types)?;
        if oids.is_empty() {
            return Err(LoadError::Malformed("it has no object identifier"));
        }
        if !types.iter().any(|name| name == DEFINITION) {
            return Err(LoadError::Malformed("it has no type named `definition`"));
        }
        let types = types.into_iter().filter_map(|name| CString::new(name).ok()).collect();
        let describe = table.describe.ok_or(LoadError::Malformed("it cannot describe anything"))?;
        Ok(Model { name, oids, types, describe: Mutex::new(describe), _library: library })
    }

    /// Its short name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether nodes register it under that object identifier.
    #[must_use]
    pub fn has_oid(&self, oid: &str) -> bool {
        self.oids.iter().any(|other| other == oid)
    }

    /// Its message types.
    pub fn types(&self) -> impl Iterator<Item = &str> {
        self.types.iter().filter_map(|name| name.to_str().ok())
    }

    /// A message as JSON.
    ///
    /// # Errors
    /// Where the model has no such type, or says that the message is wrong.
    pub fn describe(&self, type_name: &str, message: &[u8]) -> Result<String, DescribeError> {
        let type_name = self.types.iter().find(|name| name.to_bytes() == type_name.as_bytes());
        let type_name = type_name.ok_or(DescribeError::UnknownType)?;
        let mut output = Output::default();
        let context = (&raw mut output).cast::<c_void>();
        let describe = self.describe.lock().unwrap_or_else(PoisonError::into_inner);
        #[allow(unsafe_code)]
        // SAFETY: by the ABI. The name ends with a zero, the message has so many octets, and `emit` gets back the context
        // that it expects, which lives until the call returns.
        let status = unsafe { describe(type_name.as_ptr(), message.as_ptr(), message.len(), emit, context) };
        drop(describe);
        if output.overflow {
            return Err(DescribeError::Output);
        }
        let said = String::from_utf8(output.text).map_err(|_| DescribeError::Output)?;
        if status == 0 { Ok(said) } else { Err(DescribeError::Message(said)) }
    }
}

/// The type that every model has: its RAN function definition.
pub const DEFINITION: &str = "definition";

#[derive(Default)]
struct Output {
    text: Vec<u8>,
    overflow: bool,
}

#[allow(unsafe_code)]
unsafe extern "C" fn emit(context: *mut c_void, text: *const c_char, octets: usize) {
    if context.is_null() || text.is_null() {
        return;
    }
    // SAFETY: the context is the one that `describe` was given, which has it to itself until it returns, and the text has so
    // many octets.
    let (output, text) =
        unsafe { (&mut *context.cast::<Output>(), core::slice::from_raw_parts(text.cast::<u8>(), octets)) };
    if output.text.len() + text.len() > MAX_OUTPUT {
        output.overflow = true;
    } else {
        output.text.extend_from_slice(text);
    }
}

/// A text of the model's.
fn text(at: *const c_char) -> Result<String, LoadError> {
    if at.is_null() {
        return Err(LoadError::Malformed("a text is NULL"));
    }
    #[allow(unsafe_code)]
    // SAFETY: by the ABI, it ends with a zero.
    let text = unsafe { CStr::from_ptr(at) };
    let text = text.to_str().map_err(|_| LoadError::Malformed("a text is not UTF-8"))?;
    if text.len() > MAX_NAME {
        return Err(LoadError::Malformed("a name is longer than 256 octets"));
    }
    Ok(text.to_owned())
}

/// A list of texts of the model's.
fn list(at: *const *const c_char) -> Result<Vec<String>, LoadError> {
    let mut names = Vec::new();
    if at.is_null() {
        return Err(LoadError::Malformed("a list is NULL"));
    }
    for place in 0..MAX_NAMES {
        #[allow(unsafe_code)]
        // SAFETY: by the ABI, the list ends with NULL, which has not come yet.
        let name = unsafe { *at.add(place) };
        if name.is_null() {
            return Ok(names);
        }
        names.push(text(name)?);
    }
    Err(LoadError::Malformed("a list has more than 1024 names"))
}
