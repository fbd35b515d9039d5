//! The C interface of ferric: for base stations that embed an E2 agent, and for xApps. The header `include/ferric.h` is made from
//! this crate; docs/embedding.md explains threads, memory and timing with a complete base station, docs/xapp-c.md xApps.
//!
//! * Objects are named by handles. A handle that was freed, or that never was one, is answered with a code.
//! * No call aborts the process: a defect of the library is a code as well.
//! * What a real-time thread may call neither waits nor allocates, and has no error text.
//! * Instances share no state except the table of handles.

#![allow(unsafe_code, reason = "a C interface: each block says why it is sound")]
#![allow(non_camel_case_types, reason = "the names of C")]

mod agent;
mod function;
mod handle;
mod input;
mod kpm;
mod log;
mod rc;
mod reporter;
mod status;
mod ue;
mod wait;
mod xapp;

pub use agent::*;
pub use function::*;
pub use handle::FERRIC_MAX_OBJECTS;
pub use kpm::*;
pub use log::*;
pub use rc::*;
pub use reporter::*;
pub use status::*;
pub use ue::*;
pub use xapp::*;
