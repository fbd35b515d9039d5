//! The bounds of the service.

use std::time::Duration;

use crate::access::Rights;
use crate::resp::Bounds;
use crate::store::StoreLimits;

/// The longest key or channel that can be configured: the file counts its octets in 16 bits.
pub const MAX_KEY_OCTETS: usize = u16::MAX as usize;

/// The bounds of a request of a client that has no rights.
const MAX_OCTETS_BEFORE_AUTH: usize = 16 << 10;
const MAX_ARGUMENTS_BEFORE_AUTH: usize = 16;

/// What clients may take, each and together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Octets of all keys and values, with 128 octets for each key and 64 for each member of a group. Default: 256 MiB.
    pub max_octets: usize,
    /// The share of [`Limits::max_octets`] that a namespace may have. Default: 50.
    pub max_namespace_percent: usize,
    /// Octets of a key or a channel, at most [`MAX_KEY_OCTETS`]. Default: 1024.
    pub max_key_octets: usize,
    /// Octets of a request, and of what a transaction (MULTI) collects. Default: 8 MiB.
    pub max_request_octets: usize,
    /// Arguments of a request. Default: 65536.
    pub max_arguments: usize,
    /// Octets of replies and messages that wait until a client reads. A subscriber that exceeds it is disconnected. Default: 8
    /// MiB.
    pub max_queue_octets: usize,
    /// Octets of requests that have not arrived as a whole, and of replies that wait, of all clients together. One client gets
    /// half of what the others leave. Default: 256 MiB.
    pub max_buffer_octets: usize,
    /// Concurrent connections. Default: 256.
    pub max_connections: usize,
    /// The share of them that one host may have. Default: 75.
    pub max_host_percent: usize,
    /// Channels that a client subscribes to. Default: 1024.
    pub max_channels: usize,
    /// Patterns of channels that a client subscribes to; all clients together have 16 times as many. Default: 16.
    pub max_patterns: usize,
    /// The time limit for the rest of a request of which a part has arrived, and for AUTH where nothing is allowed without.
    /// Default: 10 s.
    pub request_timeout: Duration,
    /// The time limit for a TLS handshake. Default: 10 s.
    pub handshake_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            max_octets: 256 << 20,
            max_namespace_percent: 50,
            max_key_octets: 1024,
            max_request_octets: 8 << 20,
            max_arguments: 1 << 16,
            max_queue_octets: 8 << 20,
            max_buffer_octets: 256 << 20,
            max_connections: 256,
            max_host_percent: 75,
            max_channels: 1024,
            max_patterns: 16,
            request_timeout: Duration::from_secs(10),
            handshake_timeout: Duration::from_secs(10),
        }
    }
}

impl Limits {
    pub(crate) fn of_store(&self) -> StoreLimits {
        StoreLimits { max_octets: self.max_octets, max_namespace_percent: self.max_namespace_percent }
    }

    /// The bounds of a request of a client with these rights: one without any sends AUTH or HELLO.
    pub(crate) fn of_request(&self, rights: &Rights) -> Bounds {
        let (most_octets, most_arguments) = match rights.is_none() {
            true => (MAX_OCTETS_BEFORE_AUTH, MAX_ARGUMENTS_BEFORE_AUTH),
            false => (usize::MAX, usize::MAX),
        };
        Bounds {
            max_octets: self.max_request_octets.min(most_octets),
            max_arguments: self.max_arguments.min(most_arguments),
        }
    }
}
