//! Message links with one interface: framed TCP, TLS 1.3, Unix socket, shared memory, kernel SCTP and memory.
//!
//! A [`Link`] carries opaque PDUs between two peers, whole and in order, and never blocks. It owns no timer, no
//! event loop, and no thread but those that look up host names ([`Resolver`]): the caller waits for readiness (with [`Poll`] or anything else that understands file descriptors) and
//! then calls [`Link::receive`] and [`Link::flush`].
//!
//! # The contract
//!
//! - **Connect.** [`Link::connect`] starts a connection; a host *name* has to be looked up before, without blocking by a [`Lookup`]. While [`Link::state`] is [`State::Connecting`], wait until the link
//!   is writable and call [`Link::flush`] (or [`Link::finish_connect`]). PDUs may be sent meanwhile; they wait in the outbox.
//! - **Receive.** When the link is readable, [`Link::receive`] passes every whole PDU to a closure, borrowed from the read
//!   buffer. It reads until the link is empty or the caller's budget is spent, so that one busy peer cannot starve the others.
//! - **Send.** [`Link::send`] puts one PDU into the outbox; [`Link::flush`] writes the queued PDUs in as few system calls as
//!   possible. Call it once after each round of sends. While [`Link::wants_write`] is true, wait for writability too.
//! - **Bounds.** The outbox is bounded in octets. When it is full, the oldest [`Class::Report`] PDUs are dropped, always whole,
//!   and counted by [`Link::dropped_reports`]. [`Class::Keep`] PDUs are never dropped: when they alone reach the bound, `send`
//!   fails with [`Error::OutboxFull`] and the caller disconnects the peer. Incoming PDUs are bounded by
//!   [`Config::max_pdu_octets`], and memory for them grows with the octets that arrived, never with the length that a peer announced.
//! - **Close.** PDUs that a peer sent before it closed are delivered first; then `receive` fails with [`Error::Closed`].
//!   After any error from `receive` the link is unusable; drop it.
//!
//! # On the wire
//!
//! TCP and Unix stream sockets, TLS and rings in shared memory carry a 4-octet big-endian length before each PDU. SCTP
//! and memory links preserve message boundaries themselves. With [`Framing::OwnLength`] the PDUs of TCP, TLS and Unix sockets contain their
//! length themselves. The stream of a PDU ([`StreamId`]) is carried by SCTP and memory
//! only; on the other links every PDU arrives on stream 0.
//!
//! # Features
//!
//! `tls` enables `tls://` addresses; without it they parse, and fail with [`Error::TlsMissing`]. A link that was accepted
//! over TLS is [`State::Connecting`] until [`Link::receive`] has completed the handshake; then [`Link::identity`] returns the
//! identity of the peer. The caller limits the duration of a handshake, as this crate has no timers. `TlsStream` is TLS with
//! the same credentials for protocols that are not PDUs, at the listening end.
//!
//! # Example
//!
//! ```
//! use ferric_link::{Class, Config, Link, Listener, Scratch, StreamId};
//!
//! let config = Config::default();
//! let mut listener = Listener::bind(&"memory:example".parse()?, &config)?;
//! let mut client = Link::connect(listener.local_address(), &config)?;
//! let mut server = listener.accept()?.expect("memory connects at once");
//!
//! client.send(StreamId(0), &[b"header ", b"payload"], Class::Keep)?;
//! client.flush()?;
//! let mut received = Vec::new();
//! server.receive(&mut Scratch::new(), 64 * 1024, &mut |_stream, pdu: &[u8]| received.push(pdu.to_vec()))?;
//! assert_eq!(received, [b"header payload"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod address;
mod allocator;
mod budget;
mod config;
mod error;
mod file_stamp;
mod frame;
mod identity;
mod link;
mod listener;
mod lookup;
mod memory;
mod outbox;
mod poll;
mod resolve;
mod scratch;
mod sctp;
mod shm;
mod signals;
mod stream;
mod tap;
#[cfg(feature = "tls")]
mod tls;

pub use address::{Address, AddressError, DEFAULT_PORT};
pub use allocator::release_freed_memory;
pub use budget::MemoryBudget;
pub use config::{Config, Framing, Ppid};
pub use error::{Error, Family};
pub use file_stamp::FileStamp;
pub use identity::{Fingerprint, FingerprintError, Identity};
pub use link::{Class, Flushed, Link, PathEvent, Received, Sent, State, StreamId};
pub use listener::Listener;
pub use lookup::{Lookup, OutdatedName, Resolved, Resolver};
pub use outbox::{NOTED_OCTETS, PDU_OVERHEAD_OCTETS};
pub use poll::{Event, Events, Interest, Poll, Ticker, Waker};
pub use scratch::Scratch;
pub use signals::block_signals;
pub use tap::{Direction, LinkEnds, LinkObserver, Tap, TapObserver};
#[cfg(feature = "tls")]
pub use tls::{
    ClientCertificates, Renewal, Tls, TlsClientFiles, TlsFault, TlsFile, TlsFileError, TlsFiles, TlsServerFiles,
    TlsStream,
};
