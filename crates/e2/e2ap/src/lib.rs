//! E2AP: every message of v01.00, v01.01, v02.03 and v03.01, and partial decoding for routing.
//!
//! All versions share one set of types. The wire table of each message (see [`messages`]) lists its IEs in each version. The
//! version is a property of an association: [`Version::of_setup`] infers it from the setup request.
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
//! The octet strings of RIC services (headers, messages, definitions) belong to service models: see crate `e2sm`.
//!
//! | module | content |
//! |---|---|
//! | [`messages`] | the messages, one file per procedure |
//! | [`peek`] | the ids and payload of a PDU, without decoding the rest |
//! | [`e42`] | the messages between FlexRIC's RIC and its xApps |
//! | `flat` | FlatBuffers as a second encoding; feature `flat` |

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
pub use pdu::{Decoded, Deviations, Kind, Pdu, TABLES, UnknownIe, decode, decode_indication, encode};
pub use version::{UnknownVersion, Version};
