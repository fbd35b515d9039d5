//! Service models in shared objects: a program loads further models when it starts, without a rebuild (FlexRIC paper, 4.3).
//!
//! A model implements the C ABI of `include/ferric_model.h`, in C or any language with C linkage. It translates its messages
//! into JSON. It transports nothing: the RIC relays the octets of any model.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::fmt;
use std::ffi::CString;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

pub use shared_object::LoadError;
use shared_object::{Head, Library, Object, list};

/// The folder from which models are loaded by default.
pub const DEFAULT_FOLDER: &str = "/usr/lib/ferric/models";

/// The maximum size of the JSON of a message, in octets.
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
// SAFETY: the layout is that of C, it begins with a head, and it contains numbers and pointers that may be NULL.
unsafe impl shared_object::Table for Table {
    const SYMBOL: &'static CStr = c"ferric_model_v1";
    const ABI: u32 = 1;
}

/// A message that is not described.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DescribeError {
    /// The model does not have the type.
    UnknownType,
    /// The model rejected the message, with this reason.
    Message(String),
    /// The output of the model is not UTF-8, or longer than 16 MiB.
    Output,
}

impl fmt::Display for DescribeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DescribeError::UnknownType => f.write_str("the model does not have this type"),
            DescribeError::Message(what) => f.write_str(what),
            DescribeError::Output => f.write_str("the output of the model is not UTF-8 or longer than 16 MiB"),
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
    /// Contains the code, and stays loaded as long as the model.
    _library: Library,
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Model").field("name", &self.name).field("oids", &self.oids).finish_non_exhaustive()
    }
}

impl Model {
    /// Loads the model in `file`, which must be in `folder` or below it.
    ///
    /// # Errors
    /// A file that may not be loaded, or that is not a model.
    pub fn load(file: &Path, folder: &Path) -> Result<Self, LoadError> {
        let Object { name, table, library } = Object::<Table>::load(file, folder)?;
        #[allow(unsafe_code)]
        // SAFETY: by the ABI, both lists are terminated with NULL, and each text in them with zero.
        let (oids, types) = unsafe { (list(table.oids)?, list(table.types)?) };
        if oids.is_empty() {
            return Err(LoadError::Malformed("no object identifier"));
        }
        if !types.iter().any(|name| name == DEFINITION) {
            return Err(LoadError::Malformed("no type named `definition`"));
        }
        let types = types.into_iter().filter_map(|name| CString::new(name).ok()).collect();
        let describe = table.describe.ok_or(LoadError::Malformed("`describe` is NULL"))?;
        Ok(Model { name, oids, types, describe: Mutex::new(describe), _library: library })
    }

    /// Returns the short name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns whether nodes register the model with that object identifier.
    #[must_use]
    pub fn has_oid(&self, oid: &str) -> bool {
        self.oids.iter().any(|other| other == oid)
    }

    /// Returns the message types.
    pub fn types(&self) -> impl Iterator<Item = &str> {
        self.types.iter().filter_map(|name| name.to_str().ok())
    }

    /// Returns a message as JSON.
    ///
    /// # Errors
    /// A type that the model does not have, or a message that the model rejects.
    pub fn describe(&self, type_name: &str, message: &[u8]) -> Result<String, DescribeError> {
        let type_name = self.types.iter().find(|name| name.to_bytes() == type_name.as_bytes());
        let type_name = type_name.ok_or(DescribeError::UnknownType)?;
        let mut output = Output::default();
        let context = (&raw mut output).cast::<c_void>();
        let describe = self.describe.lock().unwrap_or_else(PoisonError::into_inner);
        #[allow(unsafe_code)]
        // SAFETY: by the ABI. The name is terminated with zero, the message has that many octets, and `emit` receives the
        // context that it expects, which lives until the call returns.
        let status = unsafe { describe(type_name.as_ptr(), message.as_ptr(), message.len(), emit, context) };
        drop(describe);
        if output.overflow {
            return Err(DescribeError::Output);
        }
        let text = String::from_utf8(output.text).map_err(|_| DescribeError::Output)?;
        if status == 0 { Ok(text) } else { Err(DescribeError::Message(text)) }
    }
}

/// The type of the RAN function definition, which every model has.
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
    // SAFETY: the context is that of `describe`, which has exclusive access to it until it returns, and the text has that many
    // octets.
    let (output, text) =
        unsafe { (&mut *context.cast::<Output>(), core::slice::from_raw_parts(text.cast::<u8>(), octets)) };
    if output.text.len() + text.len() > MAX_OUTPUT {
        output.overflow = true;
    } else {
        output.text.extend_from_slice(text);
    }
}
