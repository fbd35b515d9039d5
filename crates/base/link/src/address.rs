//! Addresses of links and their URLs.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::path::PathBuf;
use std::str::FromStr;

/// The port of a `tcp://`, `tls://` or `sctp://` address that contains none: the registered port of E2.
pub const DEFAULT_PORT: u16 = 36421;

/// The most hosts in one `sctp://` address.
const MAX_SCTP_HOSTS: usize = 8;

/// The address of a listener, or of a link's peer.
///
/// | URL | meaning |
/// |---|---|
/// | `tcp://127.0.0.1:36421`, `tcp://[::1]`, `tcp://ric.example:36421` | framed TCP; the port may be left out ([`DEFAULT_PORT`]) |
/// | `tls://ric.example:36421` | TLS 1.3 over TCP, with a certificate at each end; the listener's must be for that host |
/// | `sctp://[::]:36421`, `sctp://10.0.0.1,10.0.1.1:36421` | SCTP; several addresses make a multi-homed end |
/// | `unix:/run/ferric/e2` | framed Unix stream socket |
/// | `shm:/run/ferric/e2-shm` | shared memory, handed over at a Unix socket of that path |
/// | `memory:name` | within this process |
///
/// [`Display`](fmt::Display) writes the URL that [`FromStr`] reads; a Unix path that is not UTF-8 is the exception.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Address {
    /// Framed TCP.
    Tcp {
        /// IP address, without brackets, or host name.
        host: String,
        /// Port; 0 lets the system choose when listening.
        port: u16,
    },
    /// Framed TCP within TLS 1.3.
    Tls {
        /// As for TCP; the certificate of the listener must be valid for it.
        host: String,
        /// As for TCP.
        port: u16,
    },
    /// Framed Unix stream socket.
    Unix(PathBuf),
    /// Shared memory, handed over at a Unix socket.
    Shm(PathBuf),
    /// Kernel SCTP.
    Sctp {
        /// IP addresses, without brackets, or host names: one or more.
        hosts: Vec<String>,
        /// Port, the same on every address; 0 lets the system choose when listening.
        port: u16,
    },
    /// In-process link, by name.
    Memory(String),
}

impl Address {
    /// Returns the IP addresses among its hosts: all of them for the address of an accepted link's peer. Empty for links
    /// within this host, and for host names.
    #[must_use]
    pub fn ip_addresses(&self) -> Vec<IpAddr> {
        // the zone of a link-local address does not distinguish hosts
        let parse = |host: &String| host.split('%').next()?.parse().ok();
        match self {
            Address::Tcp { host, .. } | Address::Tls { host, .. } => parse(host).into_iter().collect(),
            Address::Sctp { hosts, .. } => hosts.iter().filter_map(parse).collect(),
            Address::Unix(_) | Address::Shm(_) | Address::Memory(_) => Vec::new(),
        }
    }

    /// Returns whether its peers are on this host: it is a loopback address, or no address of a network.
    #[must_use]
    pub fn is_local(&self) -> bool {
        let is_loopback = |host: &String| {
            host.eq_ignore_ascii_case("localhost")
                || host.parse::<IpAddr>().is_ok_and(|address| address.to_canonical().is_loopback())
        };
        match self {
            Address::Tcp { host, .. } | Address::Tls { host, .. } => is_loopback(host),
            Address::Sctp { hosts, .. } => hosts.iter().all(is_loopback),
            Address::Unix(_) | Address::Shm(_) | Address::Memory(_) => true,
        }
    }
}

/// The reason why a text is not an [`Address`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddressError {
    text: String,
    reason: Reason,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reason {
    Scheme,
    Host,
    Ipv6Brackets,
    Port,
    HostCount,
    OneHost,
    Path,
    Name,
}

impl fmt::Display for AddressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not an address: ", self.text)?;
        match self.reason {
            Reason::Scheme => f.write_str(
                "it begins with none of `tcp://host:port`, `tls://host:port`, `sctp://host,host:port`, `unix:/path`, `shm:/path`, \
                 `memory:name`",
            ),
            Reason::Host => f.write_str("expected a host name or an IP address, such as `ric.example` or `127.0.0.1`"),
            Reason::Ipv6Brackets => f.write_str("an IPv6 address takes brackets, such as `[::1]:36421`"),
            Reason::Port => f.write_str("expected a port from 0 to 65535 after the last `:`"),
            Reason::HostCount => write!(f, "an SCTP endpoint has at most {MAX_SCTP_HOSTS} addresses"),
            Reason::OneHost => f.write_str("TCP and TLS take one host; only `sctp://` takes several"),
            Reason::Path => f.write_str("expected a path of 1 to 107 octets after `unix:` or `shm:`"),
            Reason::Name => f.write_str("expected a name of 1 to 255 octets after `memory:`"),
        }
    }
}

impl std::error::Error for AddressError {}

impl Address {
    /// Parses a URL. `default_port` applies if the URL can contain a port and does not; [`FromStr`] uses [`DEFAULT_PORT`].
    ///
    /// # Errors
    /// The text is not an address; the error states the reason.
    pub fn from_url(text: &str, default_port: u16) -> Result<Self, AddressError> {
        parse(text, default_port).map_err(|reason| AddressError { text: text.to_owned(), reason })
    }
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        Address::from_url(text, DEFAULT_PORT)
    }
}

fn parse(text: &str, default_port: u16) -> Result<Address, Reason> {
    if let Some(rest) = text.strip_prefix("tcp://") {
        parse_one_host(rest, default_port).map(|(host, port)| Address::Tcp { host, port })
    } else if let Some(rest) = text.strip_prefix("tls://") {
        parse_one_host(rest, default_port).map(|(host, port)| Address::Tls { host, port })
    } else if let Some(rest) = text.strip_prefix("sctp://") {
        let mut hosts = Vec::new();
        let mut pieces = rest.split(',').peekable();
        while let Some(piece) = pieces.next() {
            let (host, port) = parse_host_port(piece)?;
            hosts.push(host);
            if hosts.len() > MAX_SCTP_HOSTS {
                return Err(Reason::HostCount);
            }
            if pieces.peek().is_none() {
                return Ok(Address::Sctp { hosts, port: port.unwrap_or(default_port) });
            }
            if port.is_some() {
                return Err(Reason::Port);
            }
        }
        Err(Reason::Host)
    } else if let Some(path) = text.strip_prefix("unix:") {
        socket_path(path).map(Address::Unix)
    } else if let Some(path) = text.strip_prefix("shm:") {
        socket_path(path).map(Address::Shm)
    } else if let Some(name) = text.strip_prefix("memory:") {
        (1..256).contains(&name.len()).then(|| Address::Memory(name.to_owned())).ok_or(Reason::Name)
    } else {
        Err(Reason::Scheme)
    }
}

fn parse_one_host(text: &str, default_port: u16) -> Result<(String, u16), Reason> {
    if text.contains(',') {
        return Err(Reason::OneHost);
    }
    let (host, port) = parse_host_port(text)?;
    Ok((host, port.unwrap_or(default_port)))
}

fn socket_path(path: &str) -> Result<PathBuf, Reason> {
    // sun_path has 108 octets and ends with a zero.
    let fits = (1..108).contains(&path.len()) && !path.contains('\0');
    fits.then(|| PathBuf::from(path)).ok_or(Reason::Path)
}

fn parse_host_port(text: &str) -> Result<(String, Option<u16>), Reason> {
    let (host, port) = if let Some(rest) = text.strip_prefix('[') {
        let (host, after) = rest.split_once(']').ok_or(Reason::Ipv6Brackets)?;
        // A link-local address may name its interface after a `%`.
        let ip = host.split('%').next().unwrap_or_default();
        ip.parse::<Ipv6Addr>().map_err(|_| Reason::Ipv6Brackets)?;
        match after.strip_prefix(':') {
            Some(port) => (host, Some(port)),
            None if after.is_empty() => (host, None),
            None => return Err(Reason::Port),
        }
    } else {
        if text.parse::<Ipv6Addr>().is_ok() {
            return Err(Reason::Ipv6Brackets);
        }
        let (host, port) = match text.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        };
        let plausible = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_');
        if !(1..254).contains(&host.len()) || !host.bytes().all(plausible) {
            return Err(Reason::Host);
        }
        (host, port)
    };
    let port = match port {
        // `parse` alone would let a sign through.
        Some(port) if port.bytes().all(|b| b.is_ascii_digit()) => Some(port.parse().map_err(|_| Reason::Port)?),
        Some(_) => return Err(Reason::Port),
        None => None,
    };
    Ok((host.to_owned(), port))
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Tcp { host, port } | Address::Tls { host, port } => {
                f.write_str(if matches!(self, Address::Tcp { .. }) { "tcp://" } else { "tls://" })?;
                write_host(f, host)?;
                write!(f, ":{port}")
            }
            Address::Sctp { hosts, port } => {
                f.write_str("sctp://")?;
                for (i, host) in hosts.iter().enumerate() {
                    if i > 0 {
                        f.write_str(",")?;
                    }
                    write_host(f, host)?;
                }
                write!(f, ":{port}")
            }
            Address::Unix(path) => write!(f, "unix:{}", path.display()),
            Address::Shm(path) => write!(f, "shm:{}", path.display()),
            Address::Memory(name) => write!(f, "memory:{name}"),
        }
    }
}

fn write_host(f: &mut fmt::Formatter<'_>, host: &str) -> fmt::Result {
    if host.contains(':') { write!(f, "[{host}]") } else { f.write_str(host) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_round_trip() {
        for url in [
            "tcp://127.0.0.1:36421",
            "tcp://[::1]:36421",
            "tcp://[fe80::1%eth0]:5",
            "tcp://ric.example:0",
            "tls://ric.example:36421",
            "tls://[::1]:0",
            "sctp://[::]:36421",
            "sctp://10.0.0.1,10.0.0.2:36422",
            "sctp://[::1],10.0.0.2:1",
            "unix:/run/x",
            "unix:relative",
            "shm:/run/y",
            "memory:a b",
        ] {
            let address: Address = url.parse().unwrap();
            assert_eq!(address.to_string(), url);
        }
    }

    #[test]
    fn missing_port_is_the_default() {
        assert_eq!("tcp://ric.example".parse(), Ok(Address::Tcp { host: "ric.example".into(), port: 36421 }));
        assert_eq!("sctp://[::]".parse(), Ok(Address::Sctp { hosts: vec!["::".into()], port: 36421 }));
        for url in ["tcp://ric.example", "tls://ric.example", "sctp://10.0.0.1,10.0.0.2"] {
            assert_eq!(Address::from_url(url, 7).unwrap().to_string(), format!("{url}:7"));
            assert_eq!(Address::from_url(&format!("{url}:8"), 7).unwrap().to_string(), format!("{url}:8"));
        }
    }

    #[test]
    fn error_states_the_reason() {
        for (text, expected) in [
            ("", "tcp://host:port"),
            ("http://x", "sctp://host,host:port"),
            ("127.0.0.1:36421", "memory:name"),
            ("tcp://", "host name"),
            ("tcp://:36421", "host name"),
            ("tcp://a b:1", "host name"),
            ("tcp://::1", "brackets"),
            ("tcp://[::1", "brackets"),
            ("tcp://[127.0.0.1]:1", "brackets"),
            ("tcp://[::1]36421", "port"),
            ("tcp://a:", "port"),
            ("tcp://a:65536", "port"),
            ("tcp://a:+1", "port"),
            ("tcp://a:1:2", "port"),
            ("tcp://a,b:1", "one host"),
            ("tls://a,b:1", "one host"),
            ("tls://", "host name"),
            ("sctp://a:1,b:1", "port"),
            ("sctp://a,,b", "host name"),
            ("sctp://a,b,c,d,e,f,g,h,i", "at most 8"),
            ("unix:", "path"),
            ("shm:", "path"),
            ("memory:", "name"),
        ] {
            let message = text.parse::<Address>().expect_err(text).to_string();
            assert!(message.contains(expected), "{message}");
        }
        assert!(format!("unix:{}", "x".repeat(108)).parse::<Address>().is_err());
        assert!(format!("unix:{}", "x".repeat(107)).parse::<Address>().is_ok());
    }
}
