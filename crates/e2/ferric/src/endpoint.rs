//! Where a link for E2 leads, and what is spoken there.

use std::fmt;
use std::str::FromStr;

use e2ap::Codec;
use link::{Address, AddressError};

/// The address of a link for E2, and the encoding of E2AP on it. Both ends must be told the same one: it is never guessed.
///
/// As a URL the encoding stands behind the scheme, PER left out: `tcp://127.0.0.1:36421` is in PER,
/// `tcp+flat://127.0.0.1:36421` and `unix+flat:/run/ferric/e2` are in FlatBuffers. An encoding of one's own comes by
/// [`Endpoint::new`].
///
/// ```
/// # #[cfg(feature = "flat")] {
/// use ferric::Endpoint;
///
/// let endpoint: Endpoint = "sctp+flat://10.0.0.1,10.0.1.1:36421".parse()?;
/// assert_eq!(endpoint.address.to_string(), "sctp://10.0.0.1,10.0.1.1:36421");
/// assert_eq!(endpoint.codec.name(), "flat");
/// assert_eq!(endpoint.to_string(), "sctp+flat://10.0.0.1,10.0.1.1:36421");
/// # }
/// # Ok::<(), ferric::EndpointError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Where it leads.
    pub address: Address,
    /// What is spoken there.
    pub codec: Codec,
}

impl Endpoint {
    /// An address where that encoding is spoken.
    #[must_use]
    pub const fn new(address: Address, codec: Codec) -> Self {
        Endpoint { address, codec }
    }

    /// The configuration of its links: whoever looks on at them is told what is spoken.
    #[cfg(feature = "server")]
    pub(crate) fn link(&self, config: &link::Config) -> link::Config {
        let tap = config.tap.as_ref().map(|tap| tap.speaking(self.codec.name()));
        link::Config { tap, ..config.clone() }
    }
}

/// An address alone: PER is spoken there.
impl From<Address> for Endpoint {
    fn from(address: Address) -> Self {
        Endpoint { address, codec: Codec::Per }
    }
}

/// Why a text is not an [`Endpoint`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EndpointError {
    /// What stands behind the `+` names no encoding that is built in.
    UnknownEncoding(String),
    /// The rest is no address.
    Address(AddressError),
}

impl fmt::Display for EndpointError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EndpointError::UnknownEncoding(name) => {
                write!(f, "`{name}` is no encoding of E2AP that is built in; known are")?;
                for (i, codec) in Codec::ALL.iter().enumerate() {
                    write!(f, "{} `{codec}`", if i == 0 { "" } else { "," })?;
                }
                f.write_str(", as in `tcp+flat://host:port`")
            }
            EndpointError::Address(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for EndpointError {}

impl From<AddressError> for EndpointError {
    fn from(error: AddressError) -> Self {
        EndpointError::Address(error)
    }
}

impl FromStr for Endpoint {
    type Err = EndpointError;

    fn from_str(text: &str) -> Result<Self, EndpointError> {
        let Some((scheme, rest)) = text.split_once(':') else { return Ok(text.parse::<Address>()?.into()) };
        let Some((scheme, encoding)) = scheme.split_once('+') else { return Ok(text.parse::<Address>()?.into()) };
        let codec = Codec::named(encoding).ok_or_else(|| EndpointError::UnknownEncoding(encoding.to_owned()))?;
        Ok(Endpoint { address: format!("{scheme}:{rest}").parse()?, codec })
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = self.address.to_string();
        match (self.codec, url.split_once(':')) {
            (Codec::Other(encoding), Some((scheme, rest))) => write!(f, "{scheme}+{}:{rest}", encoding.name()),
            _ => f.write_str(&url),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_encoding_stands_behind_the_scheme() {
        for url in ["tcp://127.0.0.1:36421", "tls://ric.example:36421", "unix:/run/a+b/e2", "memory:a+b"] {
            let endpoint: Endpoint = url.parse().unwrap();
            assert_eq!((endpoint.codec, endpoint.to_string()), (Codec::Per, url.to_owned()));
        }
        assert_eq!("tcp+per://[::1]:1".parse::<Endpoint>().unwrap().to_string(), "tcp://[::1]:1");
        let unknown = "tcp+cbor://127.0.0.1:1".parse::<Endpoint>().unwrap_err();
        assert_eq!(unknown, EndpointError::UnknownEncoding("cbor".into()));
        assert!(unknown.to_string().contains("known are `per`"), "{unknown}");
        for bad in ["", "tcp", "udp+per://127.0.0.1:1", "tcp+per://:1", "+per://127.0.0.1:1"] {
            assert!(matches!(bad.parse::<Endpoint>(), Err(EndpointError::Address(_))), "{bad}");
        }
    }

    #[cfg(feature = "flat")]
    #[test]
    fn flat_urls_round_trip() {
        for url in ["tcp+flat://127.0.0.1:36421", "unix+flat:/run/ferric/e2", "memory+flat:name", "shm+flat:/run/x"] {
            let endpoint: Endpoint = url.parse().unwrap();
            assert_eq!((endpoint.codec, endpoint.to_string()), (Codec::FLAT, url.to_owned()));
        }
    }
}
