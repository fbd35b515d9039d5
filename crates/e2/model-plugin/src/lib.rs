//! Service models in shared objects of their own: a model that ferric does not know is loaded when a program starts, without
//! a rebuild (FlexRIC paper, 4.3).
//!
//! A model offers the C ABI of `include/ferric_model.h`; it is written in C, or in anything that speaks it. It tells how its
//! messages read, as JSON; it moves nothing, since the RIC moves octets of any model.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::fmt;
use std::ffi::CString;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

pub use shared_object::LoadError;
use shared_object::{Head, Library, Object, list};

/// The folder from which models are loaded where none is configured.
pub const DEFAULT_FOLDER: &str = "/usr/lib/ferric/models";

/// Octets of JSON that one message may become.
const MAX_OUTPUT: usize = 16 << 20;

type Emit = unsafe extern "C" fn(*mut c_void, *const c_char, usize);
type Describe = unsafe extern "C" fn(*const c_char, *const u8, usize, Emit, *mut c_void) -> c_int;

/// `struct ferric_model_v1`.
#[derive(Clone, Copy)]
#[repr(C)]
struct Table {
    head: Head,
    oids: *const *const c_char,
    types: *const *const c_char,
    describe: Option<Describe>,
}

#[allow(unsafe_code)]
// SAFETY: its layout is C's, it begins with a head, and it holds numbers and pointers that may be NULL.
unsafe impl shared_object::Table for Table {
    const SYMBOL: &'static CStr = c"ferric_model_v1";
    const ABI: u32 = 1;
}

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
    /// Loads the model in `file`, which lies in `folder` or below it, as the [crate] says.
    ///
    /// # Errors
    /// Where it may not be loaded from there, or is no model.
    pub fn load(file: &Path, folder: &Path) -> Result<Self, LoadError> {
        let Object { name, table, library } = Object::<Table>::load(file, folder)?;
        #[allow(unsafe_code)]
        // SAFETY: by the ABI, both lists end with NULL, and each text in them ends with a zero.
        let (oids, types) = unsafe { (list(table.oids)?, list(table.types)?) };
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
