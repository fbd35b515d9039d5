//! RMR, the message router between xApps and the platform components of the O-RAN reference platform: its messages over TCP, its
//! route tables, and the message types of the platform.
//!
//! A sender looks up the endpoint of a message in its [`RouteTable`] by message type and subscription id, connects to it and
//! sends. The receiver may return an answer on the same connection. A route manager sends the tables as messages of type
//! [`MessageType::TABLE_DATA`], on request or when they change.
//!
//! | module | content |
//! |---|---|
//! | [`message`] | a message with its transport header: reading, and writing without a copy of the payload |
//! | [`table`] | route tables: lookup, round robin, and the reader of their text |
//! | [`text`] | route tables as text, for a route manager |
//!
//! The library does no input or output. On a stream, the first four octets of a message are its length: see [`message`].
//!
//! # Bounds
//! Reading takes time and memory in proportion to the octets; a length that does not fit into the message is an error. Tables
//! have the bounds of [`table`].
//!
//! # Example
//!
//! ```
//! use rmr::{Header, Message, MessageType, NO_SUBSCRIPTION};
//!
//! let header = Header { kind: MessageType::HEALTH_CHECK_REQUEST, source: "10.0.0.1:4560", ..Header::default() };
//! let mut octets = Vec::new();
//! header.write(b"hello".len(), &mut octets);
//! octets.extend_from_slice(b"hello");
//!
//! let message = Message::read(&octets)?;
//! assert_eq!((message.kind, message.subscription_id), (MessageType::HEALTH_CHECK_REQUEST, NO_SUBSCRIPTION));
//! assert_eq!((message.source(), message.payload), ("10.0.0.1:4560", b"hello".as_slice()));
//! # Ok::<(), rmr::MessageError>(())
//! ```

#![forbid(unsafe_code)]

mod kind;
pub mod message;
pub mod table;
pub mod text;

pub use kind::MessageType;
pub use message::{Header, Message, MessageError};
pub use table::{NoRoute, RouteTable, TableEvent, TableReader};
pub use text::{TableText, TableUpdate};

/// The port on which the route manager of the reference platform, and each xApp, receives messages about route tables.
pub const CONTROL_PORT: u16 = 4561;
/// The port on which xApps receive other messages, unless they say otherwise.
pub const MESSAGE_PORT: u16 = 4560;
/// The subscription id of messages that belong to no subscription.
pub const NO_SUBSCRIPTION: i32 = -1;
