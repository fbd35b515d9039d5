//! E2 service models: what stands in the octet strings that E2AP carries.
//!
//! Each model is a module and a Cargo feature: [`kpm`] (measurements), [`rc`] (control of the RAN), [`ccc`] (cell
//! configuration and control) and [`hw`] (a ping of ours). What models share is in [`common`]. Types are plain Rust,
//! borrowed from the bytes they were read from; `into_owned` makes them free of those. Lists live in an [`Arena`] that is
//! used again for every message.
//!
//! Who wants the raw octets takes them from the E2AP message: nothing here stands in between.

#![forbid(unsafe_code)]

mod arena;
#[cfg(feature = "ccc")]
pub mod ccc;
pub mod common;
mod error;
#[cfg(feature = "hw")]
pub mod hw;
#[cfg(feature = "kpm")]
pub mod kpm;
#[cfg(any(feature = "kpm", feature = "rc"))]
mod message;
#[cfg(feature = "rc")]
pub mod rc;
#[cfg(any(feature = "kpm", feature = "rc", feature = "ccc", feature = "hw"))]
pub mod registry;

pub use arena::{Arena, KEEP_OCTETS};
pub use error::Error;
