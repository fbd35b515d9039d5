//! The configuration of links.

use std::time::Duration;

use crate::{MemoryBudget, Resolver, Tap};

/// SCTP payload protocol identifier, as registered with IANA for the E2 interface. Written in network byte order on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ppid(pub u32);

impl Ppid {
    /// E2 control plane.
    pub const E2_CP: Ppid = Ppid(70);
    /// E2 user plane.
    pub const E2_UP: Ppid = Ppid(71);
    /// E2 of a distributed unit.
    pub const E2_DU: Ppid = Ppid(72);
}

/// How PDUs are separated on stream sockets: TCP, TLS and Unix. Other links preserve message boundaries, or have a length of their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Framing {
    /// A length of 4 octets, big-endian, stands before each PDU.
    #[default]
    Prefix,
    /// Each PDU begins with its own length, in 4 octets, little-endian, which count themselves: the messages of RMR.
    OwnLength,
}

/// Settings of a [`Link`](crate::Link), and of those that a [`Listener`](crate::Listener) accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// How PDUs are separated on stream sockets. Default: [`Framing::Prefix`].
    pub framing: Framing,
    /// Longest PDU that is sent or received, in octets. Default: 1 MiB.
    pub max_pdu_octets: usize,
    /// Bound of the outbox, in octets; each PDU counts its own octets, its framing and
    /// [`PDU_OVERHEAD_OCTETS`](crate::PDU_OVERHEAD_OCTETS). Default: 4 MiB.
    pub outbox_octets: usize,
    /// The budget of the memory for unfinished PDUs, shared with other links: a peer whose PDU does not fit into its share is
    /// disconnected. Default: `None`, so that only `max_pdu_octets` bounds it.
    pub receive_budget: Option<MemoryBudget>,
    /// The budget of the memory of outboxes, shared with other links: reports of a peer whose outbox has used up its share
    /// are dropped, the oldest first, and if a PDU that must not be dropped does not fit, the peer is disconnected. Links
    /// within the process do not count. Default: `None`, so that only `outbox_octets` bounds it.
    pub send_budget: Option<MemoryBudget>,
    /// Kernel send buffer (`SO_SNDBUF`); the kernel doubles it and caps it at `net.core.wmem_max`. `None` leaves the system's
    /// default, except that SCTP asks for `max_pdu_octets`: the kernel takes no message longer than the send buffer, and a
    /// longer one fails with [`Error::SendTooLong`](crate::Error::SendTooLong). Default: `None`.
    pub send_buffer_octets: Option<usize>,
    /// Kernel receive buffer (`SO_RCVBUF`); the kernel doubles it and caps it at `net.core.rmem_max`. `None` leaves the
    /// system's default, except that SCTP asks for twice `max_pdu_octets`. Default: `None`.
    pub receive_buffer_octets: Option<usize>,
    /// Connections that may wait to be accepted. Default: 1024.
    pub listen_backlog: u16,
    /// Sends small TCP segments at once (`TCP_NODELAY`). Batching is the outbox's job. Default: true.
    pub tcp_nodelay: bool,
    /// Idle time after which TCP probes the peer, so that a dead peer is detected. SCTP has its own heartbeats.
    /// Default: 15 s.
    pub tcp_keepalive: Option<Duration>,
    /// SCTP streams to ask for, in each direction. PDUs for streams beyond those that the peer accepts are mapped onto
    /// the accepted ones (modulo). Default: 8.
    pub sctp_streams: u16,
    /// SCTP payload protocol identifier of sent PDUs. Any is accepted from the peer; on an accepted association the peer's
    /// identifier replaces this one as soon as it has sent one of the three of E2. Default: [`Ppid::E2_CP`].
    pub sctp_ppid: Ppid,
    /// Octets of a shared-memory link's ring in each direction: rounded up to a power of two from 4 KiB to 64 MiB. The
    /// listener's value applies to both ends. Memory is allocated when it is first written to. Default: 256 KiB.
    pub shm_ring_octets: usize,
    /// How long an end of a shared-memory link stays awake when there is nothing to read, before it sleeps like every other link.
    /// While it is awake its event loop does not wait: it looks at the ring, serves whatever else is ready, and yields its processor
    /// to threads that have work, so that ends which are awake may outnumber the processors. This saves the peer a system call, and
    /// both a wake-up, and costs the processor time that nobody else wants. An end whose last wait was longer sleeps at once.
    /// Default: 0.
    pub shm_spin: Duration,
    /// The credentials of `tls://` links; without them these links fail with [`Error::TlsMissing`](crate::Error::TlsMissing).
    /// Default: `None`.
    #[cfg(feature = "tls")]
    pub tls: Option<crate::Tls>,
    /// What looks up host names. Default: the system.
    pub resolver: Resolver,
    /// The observer of the PDUs on the link. Default: `None`.
    pub tap: Option<Tap>,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            framing: Framing::Prefix,
            max_pdu_octets: 1024 * 1024,
            outbox_octets: 4 * 1024 * 1024,
            receive_budget: None,
            send_budget: None,
            send_buffer_octets: None,
            receive_buffer_octets: None,
            listen_backlog: 1024,
            tcp_nodelay: true,
            tcp_keepalive: Some(Duration::from_secs(15)),
            sctp_streams: 8,
            sctp_ppid: Ppid::E2_CP,
            shm_ring_octets: 256 * 1024,
            shm_spin: Duration::ZERO,
            #[cfg(feature = "tls")]
            tls: None,
            resolver: Resolver::system(),
            tap: None,
        }
    }
}
