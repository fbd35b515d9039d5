//! What an endpoint is to do: the arguments of `rmr_init`, and the environment.

use std::env;
use std::net::{IpAddr, Ipv4Addr, UdpSocket};
use std::path::PathBuf;
use std::time::Duration;

use rmr::{CONTROL_PORT, MESSAGE_PORT, message};

/// The flag of `rmr_init` for an endpoint without a route table.
const NO_THREAD: i32 = 0x01;

/// How an endpoint gets its route table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Collector {
    /// It gets none: only direct connections and answers are sent.
    None,
    /// From the seed file, which is read again from time to time.
    File,
    /// A route manager connects to this port.
    Listen(u16),
    /// It asks a route manager for it, which may also connect to this port.
    Request { manager: String, port: u16 },
}

/// What an endpoint is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Options {
    pub bind: IpAddr,
    pub port: u16,
    /// `HOST:PORT` as it calls itself.
    pub name: String,
    pub collector: Collector,
    pub seed: Option<PathBuf>,
    pub request_period: Duration,
    /// Octets of a payload for which a buffer has room, unless the program says how many.
    pub payload_octets: usize,
}

/// A variable of the environment that is not empty.
fn variable(name: &str) -> Option<String> {
    env::var(name).ok().map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
}

/// The port of `tcp:4560`, `:4560` or `4560`.
fn port_of(text: &str) -> Option<u16> {
    text.rsplit(':').next()?.trim().parse().ok()
}

impl Options {
    /// Reads the arguments of `rmr_init` and the environment.
    pub fn new(port: Option<&str>, payload_octets: usize, flags: i32) -> Option<Self> {
        let port = port.map_or(Some(MESSAGE_PORT), port_of)?;
        let bind = variable("RMR_BIND_IF").and_then(|address| address.parse().ok());
        let collector = match (variable("RMR_RTG_SVC"), variable("RMR_CTL_PORT")) {
            _ if flags & NO_THREAD != 0 => Collector::None,
            (manager, control) => collector(manager.as_deref(), control.as_deref()),
        };
        let period = variable("RMR_RTREQ_FREQ").and_then(|seconds| seconds.parse().ok());
        Some(Options {
            bind: bind.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED)),
            port,
            name: name(variable("RMR_SRC_ID"), port),
            collector,
            seed: variable("RMR_SEED_RT").map(PathBuf::from),
            request_period: Duration::from_secs(period.filter(|period| (1..=300).contains(period)).unwrap_or(5)),
            payload_octets,
        })
    }
}

/// How the table comes: `manager` is `RMR_RTG_SVC`, `control` is `RMR_CTL_PORT`.
fn collector(manager: Option<&str>, control: Option<&str>) -> Collector {
    let port = control.and_then(port_of).unwrap_or(CONTROL_PORT);
    match manager {
        None if control.is_some() => Collector::Request { manager: format!("routemgr:{CONTROL_PORT}"), port },
        None => Collector::Listen(port),
        Some(text) if text.parse().is_ok_and(|number: i64| number < 0) => Collector::File,
        // a port alone is one to listen on, as older releases have it
        Some(text) => match text.rsplit_once(':') {
            Some((host, _)) if !matches!(host, "" | "tcp") => Collector::Request { manager: text.to_owned(), port },
            _ => Collector::Listen(port_of(text).unwrap_or(port)),
        },
    }
}

/// The name of an endpoint: what the environment says, without its port, or the name of the host without its domain.
fn name(configured: Option<String>, port: u16) -> String {
    let host = match configured {
        Some(text) if text.starts_with('[') => {
            let end = text.find(']').map_or(text.len(), |at| at + 1);
            text[..end].to_owned()
        }
        Some(text) => text.split(':').next().unwrap_or_default().to_owned(),
        None => {
            let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
            name.trim().split('.').next().unwrap_or_default().to_owned()
        }
    };
    let host = if host.is_empty() { "localhost".to_owned() } else { host };
    let port = format!(":{port}");
    let room = message::SOURCE_OCTETS - 1 - port.len();
    host.chars().take(room).collect::<String>() + &port
}

/// The address of this host towards others, or the loopback address.
pub(crate) fn own_address() -> IpAddr {
    // connecting a UDP socket sends nothing, and chooses an address; this one is reserved for documentation
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0));
    let address = socket.and_then(|socket| {
        socket.connect((Ipv4Addr::new(192, 0, 2, 1), 9))?;
        socket.local_addr()
    });
    address.map_or(IpAddr::V4(Ipv4Addr::LOCALHOST), |address| address.ip())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn route_manager_is_asked_or_listened_for() {
        assert_eq!(collector(None, None), Collector::Listen(4561));
        assert_eq!(collector(Some("4571"), None), Collector::Listen(4571));
        assert_eq!(collector(Some("tcp:4571"), None), Collector::Listen(4571));
        assert_eq!(collector(Some("-1"), Some("4571")), Collector::File);
        let request = |manager: &str, port| Collector::Request { manager: manager.to_owned(), port };
        assert_eq!(collector(Some("ric:4561"), None), request("ric:4561", 4561));
        assert_eq!(collector(Some("ric:4561"), Some("tcp:5000")), request("ric:4561", 5000));
        assert_eq!(collector(None, Some("5000")), request("routemgr:4561", 5000));
    }

    #[test]
    fn port_may_have_a_protocol() {
        for text in ["4560", ":4560", "tcp:4560"] {
            assert_eq!(port_of(text), Some(4560), "{text}");
        }
        for text in ["", "tcp", "70000", "-1"] {
            assert_eq!(port_of(text), None, "{text}");
        }
    }

    #[test]
    fn name_has_the_port_of_the_endpoint() {
        assert_eq!(name(Some("xapp".to_owned()), 4560), "xapp:4560");
        assert_eq!(name(Some("xapp:1".to_owned()), 4560), "xapp:4560");
        assert_eq!(name(Some("[::1]:1".to_owned()), 4560), "[::1]:4560");
        assert_eq!(name(Some("x".repeat(100)), 4560).len(), 63);
    }
}
