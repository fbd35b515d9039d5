//! Other controllers, which are measured too.

use std::fmt;
use std::str::FromStr;

use ferric::{Endpoint, EndpointError};

/// A running controller: `NAME=URL`, or `NAME=URL,pid=N` to measure its processor time and memory too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// The prefix of its columns.
    pub name: String,
    /// Its address for E2 nodes, with the encoding of E2AP.
    pub endpoint: Endpoint,
    /// Its process on this host.
    pub pid: Option<u32>,
}

/// The error of parsing a [`Peer`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PeerError {
    /// No `NAME=`, or an invalid name. A name has at most 32 letters, digits, `-` and `_`.
    Name,
    /// No process id after `pid=`.
    Pid(String),
    /// The address is invalid.
    Endpoint(EndpointError),
}

impl fmt::Display for PeerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PeerError::Name => f.write_str(
                "not NAME=URL, as in flexric=sctp://127.0.0.1:36421, with a name of letters, digits, `-` and `_`",
            ),
            PeerError::Pid(text) => write!(f, "`{text}` is not a process id"),
            PeerError::Endpoint(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for PeerError {}

const NAME_LETTERS: usize = 32;

impl FromStr for Peer {
    type Err = PeerError;

    fn from_str(text: &str) -> Result<Self, PeerError> {
        let (name, rest) = text.split_once('=').ok_or(PeerError::Name)?;
        let plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
        if name.is_empty() || name.len() > NAME_LETTERS || !name.chars().all(plain) {
            return Err(PeerError::Name);
        }
        let (url, pid) = match rest.rsplit_once(",pid=") {
            Some((url, pid)) => (url, Some(pid.parse().map_err(|_| PeerError::Pid(pid.to_owned()))?)),
            None => (rest, None),
        };
        let endpoint = url.parse().map_err(PeerError::Endpoint)?;
        Ok(Peer { name: name.to_owned(), endpoint, pid })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peer_is_parsed() {
        let peer: Peer = "flexric=sctp://10.0.0.1,10.0.1.1:36421,pid=77".parse().unwrap();
        assert_eq!((peer.name.as_str(), peer.pid), ("flexric", Some(77)));
        assert_eq!(peer.endpoint.to_string(), "sctp://10.0.0.1,10.0.1.1:36421");
        let peer: Peer = "a_b-2=tcp+flat://[::1]:1".parse().unwrap();
        assert_eq!((peer.endpoint.to_string().as_str(), peer.pid), ("tcp+flat://[::1]:1", None));
        for bad in ["", "tcp://127.0.0.1:1", "=tcp://127.0.0.1:1", "a b=tcp://127.0.0.1:1"] {
            assert_eq!(bad.parse::<Peer>(), Err(PeerError::Name), "{bad}");
        }
        assert_eq!("a=tcp://h:1,pid=x".parse::<Peer>(), Err(PeerError::Pid("x".into())));
        assert!(matches!("a=127.0.0.1".parse::<Peer>(), Err(PeerError::Endpoint(_))));
    }
}
