//! E2 service models: the contents of the octet strings that E2AP carries.
//!
//! Each service model is a module and a Cargo feature; the default is none.
//!
//! - O-RAN: [`kpm`] (performance measurements), [`rc`] (RAN control), [`ni`] (network interfaces), [`ccc`] (cell
//!   configuration and control), [`llc`] (lower layers control).
//! - FlexRIC, in several encodings ([`Wire`]): the statistics [`mac`], [`rlc`], [`pdcp`] and [`gtp`], slice control
//!   ([`mod@slice`]), traffic control ([`tc`]).
//! - ferric: [`rrc`] (RRC notifications), [`association`] (which UEs each controller of a node is responsible for), [`cpu`] (CPUs
//!   of a base station's host), [`hw`] (hello world).
//!
//! Types that models share are in [`common`]. All types are plain Rust and borrow from the decoded octets; `into_owned`
//! copies what is borrowed. Decoded lists live in an [`Arena`], which is reset and used again for every message.
//!
//! The feature `flat` adds FlatBuffers as a second encoding of the models in PER. The feature `registry` adds decoding by
//! ASN.1 type name, for tools; it compiles the codec of every type, so that builds take longer.

#![forbid(unsafe_code)]

mod arena;
#[cfg(feature = "association")]
pub mod association;
#[cfg(feature = "ccc")]
pub mod ccc;
pub mod common;
#[cfg(feature = "cpu")]
pub mod cpu;
mod describe;
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
#[cfg(feature = "llc")]
pub mod llc;
#[cfg(feature = "mac")]
pub mod mac;
#[cfg(any(feature = "kpm", feature = "llc", feature = "rc", feature = "ni"))]
mod message;
#[cfg(feature = "ni")]
pub mod ni;
#[cfg(feature = "pdcp")]
pub mod pdcp;
// partly unused in a build with some of the models
#[cfg_attr(not(all(feature = "mac", feature = "tc")), allow(dead_code, unused_macros, unused_imports))]
#[cfg(feature = "flexric")]
pub mod plain;
#[cfg(feature = "rc")]
pub mod rc;
#[cfg(any(feature = "mac", feature = "rlc", feature = "pdcp", feature = "gtp"))]
mod records;
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
pub use describe::{FunctionSummary, ue_name};
pub use error::Error;
pub use identify::identify_function;
#[cfg(any(feature = "mac", feature = "rlc", feature = "pdcp", feature = "gtp"))]
pub use records::{RecordMap, UeRecord};
#[cfg(any(feature = "kpm", feature = "rc"))]
pub use revision::{Detection, ModelRevision, Reason};
pub use wire::Wire;
#[cfg(feature = "flexric")]
pub use wire::{Model, detect};
