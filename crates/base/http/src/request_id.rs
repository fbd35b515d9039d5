//! Request ids: the name of a request in its response, in a problem, and in the log.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

use hyper::header::{HeaderMap, HeaderName, HeaderValue};

/// The header that carries it, in requests and responses.
pub const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// The longest id that is accepted.
const MAX_OCTETS: usize = 64;

/// The id of a request: that of its header `X-Request-Id` if it has 1 to 64 letters, digits, `-`, `_` or `.`; else a new one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestId(String);

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl RequestId {
    /// Returns the id of a request.
    pub(super) fn of(headers: &HeaderMap, ids: &RequestIds) -> Self {
        let mut given = headers.get_all(&X_REQUEST_ID).iter();
        match (given.next().and_then(|value| value.to_str().ok()), given.next()) {
            (Some(id), None) if is_well_formed(id) => RequestId(id.to_owned()),
            _ => ids.next(),
        }
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The value of the header.
    pub(super) fn header(&self) -> HeaderValue {
        // an id consists of visible ASCII
        HeaderValue::from_str(&self.0).unwrap_or(HeaderValue::from_static("-"))
    }
}

fn is_well_formed(id: &str) -> bool {
    let is_allowed = |octet: u8| octet.is_ascii_alphanumeric() || matches!(octet, b'-' | b'_' | b'.');
    (1..=MAX_OCTETS).contains(&id.len()) && id.bytes().all(is_allowed)
}

/// Creates the ids of requests without one: sixteen hexadecimal digits, which differ between servers.
#[derive(Debug)]
pub(super) struct RequestIds {
    first: u64,
    count: AtomicU64,
}

impl RequestIds {
    pub fn new() -> Self {
        RequestIds { first: RandomState::new().hash_one("request"), count: AtomicU64::new(0) }
    }

    pub fn next(&self) -> RequestId {
        let number = self.first.wrapping_add(self.count.fetch_add(1, Ordering::Relaxed));
        RequestId(format!("{number:016x}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn well_formed_id_is_kept_and_any_other_is_replaced() {
        let ids = RequestIds::new();
        let of = |values: &[&[u8]]| {
            let values = values.iter().map(|value| (X_REQUEST_ID, HeaderValue::from_bytes(value).unwrap()));
            RequestId::of(&values.collect(), &ids).0
        };
        assert_eq!(of(&[b"a-B_9.x"]), "a-B_9.x");
        assert_eq!(of(&[&[b'x'; 64]]).len(), 64);
        for malformed in [&b""[..], b"a b", b"a\tb", b"\xff", b"<script>", &[b'x'; 65]] {
            assert!(of(&[malformed]).bytes().all(|octet| octet.is_ascii_hexdigit()), "{malformed:?}");
        }
        assert_ne!(of(&[b"a", b"b"]), "a");
        assert_ne!(of(&[]), of(&[]));
    }
}
