//! How links behave: plain values with documented defaults.

use std::time::Duration;

use crate::Tap;

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

/// Settings of a [`Link`](crate::Link), and of those that a [`Listener`](crate::Listener) accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Longest PDU that is sent or received, in octets. Default: 1 MiB.
    pub max_pdu_octets: usize,
    /// Bound of what waits to be written, in octets; each PDU counts its own octets, framing and
    /// [`PDU_OVERHEAD_OCTETS`](crate::PDU_OVERHEAD_OCTETS) for book-keeping. Default: 4 MiB.
    pub outbox_octets: usize,
    /// Kernel send buffer (`SO_SNDBUF`); the kernel doubles it and caps it at `net.core.wmem_max`. `None` leaves the system's
    /// default, except that SCTP asks for `max_pdu_octets`: its kernel takes no message longer than the send buffer, and what
    /// is longer fails with [`Error::SendTooLong`](crate::Error::SendTooLong). Default: `None`.
    pub send_buffer_octets: Option<usize>,
    /// Kernel receive buffer (`SO_RCVBUF`); the kernel doubles it and caps it at `net.core.rmem_max`. `None` leaves the
    /// system's default, except that SCTP asks for twice `max_pdu_octets`. Default: `None`.
    pub receive_buffer_octets: Option<usize>,
    /// Connections that may wait to be accepted. Default: 1024.
    pub listen_backlog: u16,
    /// Sends small TCP segments at once (`TCP_NODELAY`). Batching is the outbox's job. Default: true.
    pub tcp_nodelay: bool,
    /// Idle time after which TCP probes the peer, so that a vanished one is noticed. SCTP has heartbeats of its own.
    /// Default: 15 s.
    pub tcp_keepalive: Option<Duration>,
    /// SCTP streams to ask for, in each direction. PDUs for streams that the peer did not agree to are folded onto those
    /// that it did (modulo). Default: 8.
    pub sctp_streams: u16,
    /// SCTP payload protocol identifier of sent PDUs. Any is accepted from the peer; on an accepted association the peer's
    /// own takes this one's place as soon as it has sent one of E2's three. Default: [`Ppid::E2_CP`].
    pub sctp_ppid: Ppid,
    /// Octets of a shared-memory link's ring, each way: a power of two from 4 KiB to 64 MiB, or the next. The listener's counts
    /// for both ends. Memory is taken as it is first written to. Default: 256 KiB.
    pub shm_ring_octets: usize,
    /// How long a shared-memory link that has been reading looks for more before it sleeps like every other link. It spares
    /// system calls on both ends and costs processor time; all else in the same event loop waits meanwhile. For loops that
    /// have a processor and one link to themselves. Default: 0.
    pub shm_spin: Duration,
    /// What `tls://` links show and believe; they fail with [`Error::TlsMissing`](crate::Error::TlsMissing) without it.
    /// Default: `None`.
    #[cfg(feature = "tls")]
    pub tls: Option<crate::Tls>,
    /// Who looks on at what crosses the link. Default: nobody.
    pub tap: Option<Tap>,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            max_pdu_octets: 1024 * 1024,
            outbox_octets: 4 * 1024 * 1024,
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
            tap: None,
        }
    }
}
