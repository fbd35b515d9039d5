//! Several RICs share nodes: the settings, and what of them is derived.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use ferric::link::Address;
use ferric::server::Server;
use shared_store::{LossObserver, MAX_NAME_OCTETS, MoveNodes, Peers, PeersConfig, StoreUrl};

/// How a RIC shares nodes with others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedNodes {
    /// The store through which the RICs find each other.
    pub url: StoreUrl,
    /// The name of this RIC among them. Default: its address.
    pub name: Option<String>,
    /// The address for nodes that the others direct nodes to. Default: the first address for nodes over TCP, TLS or SCTP that
    /// names an interface.
    pub address: Option<SocketAddr>,
    /// The time after which a RIC that is silent is none of them any more. Default: 4 s.
    pub time_to_live: Duration,
}

impl SharedNodes {
    /// The defaults.
    #[must_use]
    pub fn new(url: StoreUrl) -> Self {
        SharedNodes { url, name: None, address: None, time_to_live: Duration::from_secs(4) }
    }

    /// Checks a name.
    ///
    /// # Errors
    /// Why it is none.
    pub fn name(text: &str) -> Result<String, String> {
        if text.is_empty()
            || text.len() > MAX_NAME_OCTETS
            || text.contains(|c: char| c.is_whitespace() || c.is_control())
        {
            return Err(format!("a name has 1 to {MAX_NAME_OCTETS} octets without white space"));
        }
        Ok(text.to_owned())
    }

    /// The name of this RIC among the others, and its address for nodes.
    pub(crate) fn identity(&self, server: &Server) -> Result<(String, SocketAddr), ferric::Error> {
        let unknown = || {
            failed(io::Error::other(
                "no address for nodes names an interface: say where the others direct nodes to (--peer-address HOST:PORT)",
            ))
        };
        let address = self.address.or_else(|| server.e2_addresses().find_map(announced)).ok_or_else(unknown)?;
        Ok((self.name.clone().unwrap_or_else(|| address.to_string()), address))
    }

    pub(crate) fn start(self, server: &mut Server, on_loss: Vec<LossObserver>) -> Result<Peers, ferric::Error> {
        let (name, address) = self.identity(server)?;
        let xapps = server.xapp_address().and_then(|xapps| address_for_xapps(xapps, address.ip()));
        let config =
            PeersConfig { xapps, time_to_live: self.time_to_live, ..PeersConfig::new(self.url, name, address) };
        let settling = 2 * config.time_to_live;
        let peers = Peers::start(config, server.iapp_waker()?, on_loss).map_err(failed)?;
        server.set_placement(peers.placement());
        server.add_iapp(Box::new(MoveNodes::new(&peers, settling)));
        Ok(peers)
    }
}

/// The address that other RICs direct nodes to.
fn announced(address: &Address) -> Option<SocketAddr> {
    let (host, port) = match address {
        Address::Tcp { host, port } | Address::Tls { host, port } => (host, port),
        Address::Sctp { hosts, port } => (hosts.first()?, port),
        _ => return None,
    };
    let ip: IpAddr = host.parse().ok()?;
    (!ip.is_unspecified()).then_some(SocketAddr::new(ip, *port))
}

/// The address at which xApps of other RICs reach this one, whose address for nodes is `host`: one that names no interface is on that
/// one; the loopback interface is of use only if all RICs are on one host.
fn address_for_xapps(listener: &Address, host: IpAddr) -> Option<Address> {
    let announced = |ip: &String| {
        let ip: IpAddr = ip.parse().ok()?;
        let ip = if ip.is_unspecified() { host } else { ip };
        (ip.is_loopback() == host.is_loopback()).then(|| ip.to_string())
    };
    match listener {
        Address::Tcp { host, port } => Some(Address::Tcp { host: announced(host)?, port: *port }),
        Address::Tls { host, port } => Some(Address::Tls { host: announced(host)?, port: *port }),
        Address::Sctp { hosts, port } => {
            let hosts = hosts.iter().map(announced).collect::<Option<_>>()?;
            Some(Address::Sctp { hosts, port: *port })
        }
        Address::Unix(_) | Address::Shm(_) | Address::Memory(_) => None,
    }
}

fn failed(source: io::Error) -> ferric::Error {
    ferric::Error::System { what: "share nodes with other RICs", source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn announced_address_names_an_interface() {
        let of = |url: &str| announced(&url.parse().unwrap()).map(|address| address.to_string());
        assert_eq!(of("tcp://10.0.0.1:36421").as_deref(), Some("10.0.0.1:36421"));
        assert_eq!(of("tls://[fd00::1]:36421").as_deref(), Some("[fd00::1]:36421"));
        assert_eq!(of("sctp://10.0.0.1,10.0.1.1:36421").as_deref(), Some("10.0.0.1:36421"));
        assert_eq!((of("tcp://0.0.0.0:36421"), of("tcp://[::]:36421"), of("unix:/run/e2")), (None, None, None));
    }

    #[test]
    fn address_for_xapps_is_one_that_other_hosts_reach() {
        let of = |url: &str, host: &str| {
            let address = address_for_xapps(&url.parse().unwrap(), host.parse().unwrap());
            address.map(|address| address.to_string())
        };
        assert_eq!(of("tcp://10.0.0.1:36422", "10.1.0.1").as_deref(), Some("tcp://10.0.0.1:36422"));
        assert_eq!(of("tls://0.0.0.0:36422", "10.1.0.1").as_deref(), Some("tls://10.1.0.1:36422"));
        assert_eq!(of("tcp://[::]:36422", "fd00::1").as_deref(), Some("tcp://[fd00::1]:36422"));
        assert_eq!(of("sctp://10.0.0.1,10.0.1.1:1", "10.1.0.1").as_deref(), Some("sctp://10.0.0.1,10.0.1.1:1"));
        assert_eq!(of("tcp://127.0.0.1:36422", "127.0.0.1").as_deref(), Some("tcp://127.0.0.1:36422"));
        assert_eq!(of("tcp://127.0.0.1:36422", "10.1.0.1"), None);
        assert_eq!(of("unix:/run/xapps", "10.1.0.1"), None);
    }

    #[test]
    fn name_is_checked() {
        assert_eq!(SharedNodes::name("ric-1").as_deref(), Ok("ric-1"));
        for text in ["", "a b", "a\n", &"x".repeat(65)] {
            assert!(SharedNodes::name(text).is_err(), "{text:?}");
        }
    }
}
