//! Addresses of E2 links with the encoding of E2AP on them, and what belongs to such links: certificates and payload protocol.

use std::fmt;
use std::str::FromStr;

use e2ap::Codec;
use link::{Address, AddressError};

/// The address of an E2 link and the encoding of E2AP on it. Both ends must be configured with the same encoding: it is not
/// negotiated.
///
/// In a URL the encoding follows the scheme; PER is the default: `tcp://127.0.0.1:36421` uses PER,
/// `tcp+flat://127.0.0.1:36421` and `unix+flat:/run/ferric/e2` use FlatBuffers. [`Endpoint::new`] takes a custom encoding.
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
    /// The address of the link.
    pub address: Address,
    /// The encoding of E2AP.
    pub codec: Codec,
}

impl Endpoint {
    /// Creates an endpoint from its parts.
    #[must_use]
    pub const fn new(address: Address, codec: Codec) -> Self {
        Endpoint { address, codec }
    }

    /// Returns the configuration of its links, whose tap knows the encoding.
    #[cfg(feature = "server")]
    pub(crate) fn link(&self, config: &link::Config) -> link::Config {
        let tap = config.tap.as_ref().map(|tap| tap.with_encoding(self.codec.name()));
        link::Config { tap, ..config.clone() }
    }
}

/// An address without an encoding means PER.
impl From<Address> for Endpoint {
    fn from(address: Address) -> Self {
        Endpoint { address, codec: Codec::Per }
    }
}

/// The reason why a text is not an [`Endpoint`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EndpointError {
    /// The name after the `+` is not a built-in encoding.
    UnknownEncoding(String),
    /// The rest is not an address.
    Address(AddressError),
}

impl fmt::Display for EndpointError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EndpointError::UnknownEncoding(name) => {
                write!(f, "unknown encoding of E2AP `{name}`; built in are")?;
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

/// Reads the TLS files again if they have changed. To be called before new links are created, which use their content.
#[cfg(all(feature = "tls", any(feature = "agent", feature = "server", feature = "xapp-raw")))]
pub(crate) fn renew_certificates(config: &link::Config) {
    use link::Renewal;

    match config.tls.as_ref().map(link::Tls::renew) {
        None | Some(Renewal::Unchanged) => {}
        Some(Renewal::Renewed) => tracing::info!("TLS files changed: new links use their content"),
        Some(Renewal::Failed(error)) => {
            tracing::warn!(%error, "TLS files changed but cannot be used: new links keep the previous ones; correct the files");
        }
    }
}

/// Without TLS there are no certificates.
#[cfg(all(not(feature = "tls"), any(feature = "agent", feature = "server", feature = "xapp-raw")))]
pub(crate) fn renew_certificates(_: &link::Config) {}

/// The time within which a host name is to be looked up: that of two attempts of a resolver with its usual settings (resolv.conf(5)).
/// Then the addresses that the host had at last are used.
#[cfg(any(feature = "agent", feature = "xapp-raw"))]
pub(crate) const LOOKUP_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(10);

/// Ends a look-up that is done or has taken too long, and logs which addresses of before are used.
#[cfg(any(feature = "agent", feature = "xapp-raw"))]
pub(crate) fn finish_lookup(lookup: link::Lookup) -> Result<link::Resolved, link::Error> {
    let resolved = lookup.finish()?;
    for link::OutdatedName { host, error } in resolved.outdated() {
        tracing::warn!(
            address = %resolved.address(),
            host,
            %error,
            "host name not resolved: using the addresses that it had at last; check DNS and /etc/hosts"
        );
    }
    Ok(resolved)
}

/// Issues a certificate for `names` and loads it.
#[cfg(all(test, feature = "tls", any(feature = "agent", feature = "server")))]
pub(crate) fn issue_certificate(authority: &testkit::certificates::Authority, names: &[&str]) -> link::Tls {
    let files = authority.issue(names, |_| ());
    link::Tls::load(&link::TlsFiles { ca: files.ca, certificate: files.certificate, key: files.key }).unwrap()
}

/// Returns the SCTP payload protocol identifier for a node's type.
#[cfg(any(feature = "agent", feature = "record"))]
pub(crate) fn ppid_of(node: e2ap::GlobalE2NodeId) -> link::Ppid {
    use e2ap::GlobalE2NodeId;
    use link::Ppid;

    let (is_du, is_cu_up) = match node {
        GlobalE2NodeId::Gnb(id) => (id.gnb_du_id.is_some(), id.gnb_cu_up_id.is_some()),
        GlobalE2NodeId::EnGnb(id) => (id.en_gnb_du_id.is_some(), id.en_gnb_cu_up_id.is_some()),
        GlobalE2NodeId::NgEnb(id) => (id.ng_enb_du_id.is_some(), false),
        GlobalE2NodeId::Enb(_) => (false, false),
    };
    match (is_du, is_cu_up) {
        (true, _) => Ppid::E2_DU,
        (_, true) => Ppid::E2_UP,
        _ => Ppid::E2_CP,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoding_follows_the_scheme() {
        for url in ["tcp://127.0.0.1:36421", "tls://ric.example:36421", "unix:/run/a+b/e2", "memory:a+b"] {
            let endpoint: Endpoint = url.parse().unwrap();
            assert_eq!((endpoint.codec, endpoint.to_string()), (Codec::Per, url.to_owned()));
        }
        assert_eq!("tcp+per://[::1]:1".parse::<Endpoint>().unwrap().to_string(), "tcp://[::1]:1");
        let unknown = "tcp+cbor://127.0.0.1:1".parse::<Endpoint>().unwrap_err();
        assert_eq!(unknown, EndpointError::UnknownEncoding("cbor".into()));
        assert!(unknown.to_string().contains("built in are `per`"), "{unknown}");
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

    #[cfg(any(feature = "agent", feature = "record"))]
    #[test]
    fn ppid_follows_the_node_type() {
        use e2ap::{GlobalE2NodeId, GnbCuUpId, GnbDuId, GnbId, PlmnIdentity};
        use link::Ppid;

        let whole = GlobalE2NodeId::gnb(PlmnIdentity([0x00, 0xf1, 0x10]), GnbId::new(7, 22));
        assert_eq!(ppid_of(whole), Ppid::E2_CP);
        let GlobalE2NodeId::Gnb(mut id) = whole else { panic!("a gNB") };
        id.gnb_cu_up_id = Some(GnbCuUpId(1));
        assert_eq!(ppid_of(GlobalE2NodeId::Gnb(id)), Ppid::E2_UP);
        id.gnb_cu_up_id = None;
        id.gnb_du_id = Some(GnbDuId(1));
        assert_eq!(ppid_of(GlobalE2NodeId::Gnb(id)), Ppid::E2_DU);
    }
}
