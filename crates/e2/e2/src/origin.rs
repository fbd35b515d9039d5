//! Where associations come from, and when one node may take the place of another.

use core::fmt;
use core::str::FromStr;
use std::net::IpAddr;

use log_lines::Host;

/// The host that an association comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Origin {
    /// The caller does not say; counts as the same host as any other.
    #[default]
    Unknown,
    /// A process on this host, over a link that has no address.
    ThisHost,
    /// The addresses of a host: several if it is multi-homed.
    Addresses(Vec<IpAddr>),
}

impl Origin {
    /// Returns the host for which an association counts: that of its first address.
    #[must_use]
    pub fn host(&self) -> Option<Host> {
        match self {
            Origin::Unknown => None,
            Origin::ThisHost => Some(Host::Local),
            Origin::Addresses(addresses) => addresses.first().map(|address| Host::from(*address)),
        }
    }

    /// Whether both are the same host, as far as their addresses show.
    #[must_use]
    pub fn is_same_host(&self, other: &Origin) -> bool {
        match (self, other) {
            (Origin::Unknown, _) | (_, Origin::Unknown) | (Origin::ThisHost, Origin::ThisHost) => true,
            (Origin::Addresses(one), Origin::Addresses(other)) => {
                one.iter().any(|one| other.iter().any(|other| one.to_canonical() == other.to_canonical()))
            }
            _ => false,
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Addresses(addresses) if !addresses.is_empty() => {
                let addresses: Vec<_> = addresses.iter().map(|address| address.to_canonical().to_string()).collect();
                f.write_str(&addresses.join(", "))
            }
            Origin::ThisHost => f.write_str("this host"),
            Origin::Unknown | Origin::Addresses(_) => f.write_str("an unknown host"),
        }
    }
}

/// Whether a setup with the id of a connected node takes the node over. A node whose association has ended is not
/// connected: any peer may set up as it, unless there are access rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NodeTakeover {
    /// Always.
    Always,
    /// If both associations come from the same host, or both peers have the same authenticated identity.
    #[default]
    SameHost,
    /// Never.
    DeadOnly,
}

impl FromStr for NodeTakeover {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "always" => Ok(NodeTakeover::Always),
            "same-host" => Ok(NodeTakeover::SameHost),
            "dead-only" => Ok(NodeTakeover::DeadOnly),
            _ => Err("not `always`, `same-host` or `dead-only`"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_compared_by_their_addresses() {
        let host = |texts: &[&str]| Origin::Addresses(texts.iter().map(|text| text.parse().unwrap()).collect());
        let one = host(&["192.0.2.1", "198.51.100.1"]);
        assert!(one.is_same_host(&host(&["::ffff:198.51.100.1"])));
        assert!(!one.is_same_host(&host(&["192.0.2.2"])) && !one.is_same_host(&Origin::ThisHost));
        assert!(Origin::ThisHost.is_same_host(&Origin::ThisHost) && Origin::Unknown.is_same_host(&one));
        assert_eq!(one.to_string(), "192.0.2.1, 198.51.100.1");
        assert_eq!(one.host(), host(&["::ffff:192.0.2.1"]).host());
        let v6 = host(&["2001:db8::1"]).host();
        assert_eq!(v6, host(&["2001:db8::ffff:0:0:2"]).host());
        assert_ne!(v6, host(&["2001:db8:0:1::1"]).host());
        assert_eq!(v6.unwrap().to_string(), "2001:db8::/64");
    }
}
