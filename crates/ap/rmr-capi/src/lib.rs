//! `librmr_si.so`: RMR with the C interface of the O-RAN reference platform's library, so that xApps that were written for it run
//! without it.
//!
//! A context is an endpoint: a listener, a route table and a thread that receives. A message buffer has the fields of
//! `rmr_mbuf_t`, in their order; those that the interface reserves for the library are used as the library wants. Environment
//! variables are those of the original: `RMR_SEED_RT`, `RMR_RTG_SVC`, `RMR_CTL_PORT`, `RMR_SRC_ID`, `RMR_BIND_IF`,
//! `RMR_RTREQ_FREQ`, `RMR_LOG_VLEVEL`.
//!
//! Differences from the original: see docs/oran-xapps.md.

#![allow(unsafe_code, reason = "a C interface: each block says why it is sound")]
#![allow(non_camel_case_types, reason = "the names of C")]

mod buffer;
mod constants;
mod context;
mod endpoint;
mod fields;
mod log;
mod options;
mod receive;
mod send;
mod symbols;
mod wormhole;

pub use buffer::*;
pub use constants::*;
pub use context::*;
pub use fields::*;
pub use receive::*;
pub use send::*;
pub use symbols::*;
pub use wormhole::*;
