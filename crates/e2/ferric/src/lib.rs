//! An SDK for software-defined radio access networks.
//!
//! | to write | use | example |
//! |---|---|---|
//! | a base station's agent | [`agent`] | `examples/src/bin/ran_function.rs` |
//! | a controller, with internal apps | [`server`] | `examples/src/bin/iapp.rs` |
//! | an external app | [`xapp`] | `examples/src/bin/xapp.rs` |
//! | down what was said, and read it again | [`record`] | `ferric ric --record FILE` |
//!
//! Each is a Cargo feature: nobody pays for what they do not use. All three drive a machine of crate `e2` over links
//! of crate `link`; what a service model puts into E2AP's octet strings is crate `e2sm`'s affair, and ready RAN
//! functions are crate `functions`'.

#![forbid(unsafe_code)]
// without any of them there is nothing, but what the three share
#![cfg_attr(not(any(feature = "agent", feature = "server", feature = "xapp")), allow(dead_code))]

#[cfg(feature = "agent")]
pub mod agent;
mod endpoint;
mod error;
mod event_loop;
#[cfg(any(feature = "agent", feature = "server"))]
mod peers;
#[cfg(feature = "record")]
pub mod record;
#[cfg(feature = "server")]
pub mod server;
#[cfg(feature = "xapp")]
pub mod xapp;

/// Octets that the RIC-xApp protocol needs at most around what comes in one E2AP PDU, the ids of 256 functions included.
#[cfg(any(feature = "server", feature = "xapp"))]
const XAPP_OVERHEAD_OCTETS: usize = 16 * 1024;

pub use e2;
pub use e2ap;
pub use endpoint::{Endpoint, EndpointError};
pub use error::Error;
pub use event_loop::StopHandle;
pub use link;
