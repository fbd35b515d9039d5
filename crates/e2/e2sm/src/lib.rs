//! E2 service models: what stands in the octet strings that E2AP carries.
//!
//! Each model is a module and a Cargo feature: O-RAN's [`kpm`] (measurements), [`rc`] (control of the RAN), [`ni`] (messages of
//! interfaces) and [`ccc`] (cell configuration and control); FlexRIC's statistics [`mac`], [`rlc`], [`pdcp`] and [`gtp`], its
//! control of slices ([`mod@slice`]) and traffic ([`tc`]), each with several encodings ([`Wire`]); ours are [`rrc`] (UEs that
//! come and go), [`association`] (which UEs each controller of a node sees) and [`hw`] (a ping). What models share is in
//! [`common`]. Types are plain Rust, borrowed from the bytes they were read from; `into_owned` makes them free of those. Lists
//! live in an [`Arena`] that is used again for every message.
//!
//! Who wants the raw octets takes them from the E2AP message: nothing here stands in between.

#![forbid(unsafe_code)]

mod arena;
#[cfg(feature = "association")]
pub mod association;
#[cfg(feature = "ccc")]
pub mod ccc;
pub mod common;
mod error;
#[cfg(all(feature = "flat", feature = "registry"))]
pub mod flat;
#[cfg(feature = "flexric")]
pub mod flexric;
#[cfg(feature = "gtp")]
pub mod gtp;
#[cfg(feature = "hw")]
pub mod hw;
mod identify;
#[cfg(feature = "kpm")]
pub mod kpm;
#[cfg(feature = "mac")]
pub mod mac;
#[cfg(any(feature = "kpm", feature = "rc", feature = "ni"))]
mod message;
#[cfg(feature = "ni")]
pub mod ni;
#[cfg(feature = "pdcp")]
pub mod pdcp;
// a build with some of the models needs some of it
#[cfg_attr(not(all(feature = "mac", feature = "tc")), allow(dead_code, unused_macros, unused_imports))]
#[cfg(feature = "flexric")]
pub mod plain;
#[cfg(feature = "rc")]
pub mod rc;
#[cfg(feature = "registry")]
pub mod registry;
#[cfg(any(feature = "kpm", feature = "rc"))]
mod revision;
#[cfg(feature = "rlc")]
pub mod rlc;
#[cfg(feature = "rrc")]
pub mod rrc;
#[cfg(feature = "slice")]
pub mod slice;
#[cfg(feature = "tc")]
pub mod tc;
#[cfg_attr(not(all(feature = "mac", feature = "rrc")), allow(dead_code, unused_macros, unused_imports))]
mod wire;

pub use arena::{Arena, KEEP_OCTETS};
pub use error::Error;
pub use identify::identify_function;
#[cfg(any(feature = "kpm", feature = "rc"))]
pub use revision::{Detection, ModelRevision, Reason};
pub use wire::Wire;
#[cfg(feature = "flexric")]
pub use wire::{Model, detect};
