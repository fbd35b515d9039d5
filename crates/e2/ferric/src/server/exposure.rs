//! Warns at the start about listeners that anybody in the network can use.

use link::Address;
use tracing::warn;

use super::ServerConfig;

/// Logs the plain addresses beyond this host whose peers are not authenticated.
pub(super) fn warn_of_exposed_listeners(config: &ServerConfig) {
    for (address, consequence) in exposed(config) {
        warn!(%address, "unprotected address: {consequence}");
    }
}

fn exposed(config: &ServerConfig) -> Vec<(&Address, &'static str)> {
    const NODES: &str = "every host that reaches it can set up as any node; use tls:// with [[node_rights]], or IPsec \
                         between these hosts and `ipsec = true`";
    const XAPPS: &str = "every host that reaches it can read from and control all nodes; use tls:// with \
                         [[xapp_rights]], or IPsec between these hosts and `ipsec = true`";
    if config.ipsec {
        return Vec::new();
    }
    // with rules, peers without a certificate are rejected
    let nodes = config.e2.iter().map(|endpoint| &endpoint.address).filter(|_| config.rights.nodes.is_none());
    let xapps = config.xapp.iter().filter(|_| config.rights.xapps.is_none());
    let e42 = config.e42.iter().filter(|e42| config.rights.xapps.is_none() || e42.without_certificate.is_some());
    let e42 = e42.flat_map(|e42| e42.addresses.iter().map(|address| &address.0));
    let all = nodes.map(|address| (address, NODES)).chain(xapps.chain(e42).map(|address| (address, XAPPS)));
    all.filter(|(address, _)| !address.is_local() && !matches!(address, Address::Tls { .. })).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::Rights;

    fn addresses(config: &ServerConfig) -> Vec<String> {
        exposed(config).into_iter().map(|(address, _)| address.to_string()).collect()
    }

    #[test]
    fn plain_addresses_beyond_this_host_are_exposed() {
        let urls = ["sctp://0.0.0.0:36421", "tcp://127.0.0.1:36421", "tls://0.0.0.0:36431", "unix:/run/e2"];
        let mut config = ServerConfig {
            e2: urls.iter().map(|url| url.parse().unwrap()).collect(),
            xapp: Some("tcp://[::]:36423".parse().unwrap()),
            ..ServerConfig::default()
        };
        config.e42.get_or_insert_default().addresses = vec!["e42+sctp://192.0.2.1".parse().unwrap()];
        assert_eq!(addresses(&config), ["sctp://0.0.0.0:36421", "tcp://[::]:36423", "sctp://192.0.2.1:36422"]);
        config.rights = Rights { nodes: Some(Vec::new()), xapps: Some(Vec::new()) };
        assert_eq!(addresses(&config), [""; 0], "rules reject peers without a certificate");
        config.e42.as_mut().unwrap().without_certificate = Some(e2::XappRights::default().into());
        assert_eq!(addresses(&config), ["sctp://192.0.2.1:36422"]);
        config.ipsec = true;
        assert_eq!(addresses(&config), [""; 0]);
        assert_eq!(addresses(&ServerConfig::default()), [""; 0], "the defaults are loopback addresses");
    }
}
