//! E2AP: every message of v01.00, v01.01, v02.03 and v03.01, and a peek that reads only what routing needs.
//!
//! One set of types carries the meanings; each message's wire table (see [`messages`]) says which of its IEs a
//! version has. The version is a property of an association: [`Version::of_setup`] tells it from the setup request.
//!
//! ```
//! use e2ap::{Pdu, ResetRequest, Cause, CauseMisc, TransactionId, Version};
//!
//! let reset = Pdu::from(ResetRequest {
//!     transaction_id: Some(TransactionId(7)),
//!     cause: Some(Cause::Misc(CauseMisc::OmIntervention)),
//! });
//! let mut bytes = Vec::new();
//! reset.encode(Version::V2_03, &mut bytes)?;
//! assert_eq!(bytes, [0, 3, 0, 14, 0, 0, 2, 0, 49, 0, 2, 0, 7, 0, 1, 64, 1, 0x54]);
//!
//! let gather = Default::default();
//! assert_eq!(e2ap::decode(&bytes, Version::V2_03, &gather).unwrap().pdu, reset);
//! # Ok::<(), per::Error>(())
//! ```
//!
//! What is in the octet strings of RIC services (headers, messages, definitions) is a service model's affair.

#![forbid(unsafe_code)]

mod container;
pub mod e42;
mod encoding;
mod error;
#[cfg(feature = "flat")]
pub mod flat;
mod ies;
mod items;
pub mod message;
pub mod messages;
mod pdu;
pub mod peek;
mod version;

#[cfg(feature = "flat")]
pub use encoding::FlatBuffers;
pub use encoding::{Codec, Encoding, Per};
pub use error::{Error, IeFault};
pub use ies::*;
pub use items::{Item, Items};
pub use messages::*;
pub use pdu::{Decoded, Kind, Marks, Pdu, TABLES, UnknownIe, decode, decode_indication, encode};
pub use version::{UnknownVersion, Version};
