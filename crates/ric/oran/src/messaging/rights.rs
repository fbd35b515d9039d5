//! The rights of xApps over RMR.
//!
//! RMR has no authentication: an xApp is the address from which its connection comes, with the port at which it says that it
//! receives. A rule names it by that, or by the name under which the RIC has started it or under which it has registered from that
//! address.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;
use std::sync::Arc;

use ferric::e2::{ConsumerIdentity, XappRights};

use super::endpoint_name;

/// Octets of the name of an xApp in a rule.
const MAX_NAME_OCTETS: usize = 128;

/// An xApp over RMR as a rule names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RmrPeer {
    /// All xApps of a host.
    Host(IpAddr),
    /// The one that receives at an address and a port.
    Endpoint(SocketAddr),
    /// The one that the RIC has started, or that has registered, under a name.
    Name(String),
}

impl FromStr for RmrPeer {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(host) = text.parse::<IpAddr>() {
            return Ok(RmrPeer::Host(host.to_canonical()));
        }
        if let Ok(endpoint) = text.parse::<SocketAddr>() {
            let host = endpoint.ip().to_canonical();
            return match endpoint.port() {
                0 => Err(format!("`{text}`: the port of an xApp is not 0")),
                port => Ok(RmrPeer::Endpoint(SocketAddr::new(host, port))),
            };
        }
        let is_name = (1..=MAX_NAME_OCTETS).contains(&text.len())
            && text.bytes().all(|octet| octet.is_ascii_graphic() && octet != b':');
        if !is_name {
            return Err(format!("`{text}` is not an IP address, an IP address and a port, or the name of an xApp"));
        }
        Ok(RmrPeer::Name(text.to_owned()))
    }
}

/// A rule: what an xApp over RMR may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RmrEntry {
    /// The xApp.
    pub peer: RmrPeer,
    /// What it may read and control.
    pub rights: Arc<XappRights>,
}

/// An xApp that the RIC has started, or that has registered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedXapp {
    /// Its name.
    pub name: String,
    /// Where its requests come from.
    pub host: IpAddr,
    /// The port at which it receives.
    pub port: u16,
}

/// Who sends a request: the address of its connection, and the port that it states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Sender {
    pub host: IpAddr,
    pub port: Option<u16>,
}

impl Sender {
    /// Of a host, whose port 0 is none.
    pub fn new(host: IpAddr, port: Option<u16>) -> Sender {
        Sender { host: host.to_canonical(), port: port.filter(|port| *port != 0) }
    }

    /// That of an endpoint `IP:PORT`, or of an address.
    pub fn named(text: &str) -> Option<Sender> {
        let endpoint = text.parse::<SocketAddr>().map(|of| Sender::new(of.ip(), Some(of.port()))).ok();
        endpoint.or_else(|| text.parse().ok().map(|host| Sender::new(host, None)))
    }

    /// Its endpoint, if it has stated a port.
    pub fn endpoint(&self) -> Option<String> {
        Some(endpoint_name(&self.host.to_string(), self.port?))
    }
}

impl fmt::Display for Sender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.endpoint() {
            Some(endpoint) => f.write_str(&endpoint),
            None => self.host.fmt(f),
        }
    }
}

/// Who may do what.
#[derive(Clone, Debug, Default)]
pub(super) struct Access {
    /// The rules; `None`: everybody may do everything.
    pub rules: Option<Arc<[RmrEntry]>>,
    /// The xApps that have names.
    pub named: Vec<NamedXapp>,
}

impl Access {
    /// The rights of a sender, by the first rule that names it; none if no rule does. `None`: it may do everything.
    pub fn rights_of(&self, sender: Sender) -> Option<Arc<XappRights>> {
        let rules = self.rules.as_ref()?;
        Some(self.rule_of(rules, sender).map(|rule| Arc::clone(&rule.rights)).unwrap_or_default())
    }

    /// Checks that a sender may use what is not of a node, such as alarms and policies: that a rule names it, if there are rules.
    ///
    /// # Errors
    /// A text with the rule that would permit it.
    pub fn check_named(&self, sender: Option<Sender>) -> Result<(), String> {
        let Some(rules) = &self.rules else { return Ok(()) };
        let Some(sender) = sender else {
            return Err("there are `[[xapp_rights]]`, and it has no IP address".to_owned());
        };
        if self.rule_of(rules, sender).is_some() {
            return Ok(());
        }
        let name = "or the name of the xApp";
        Err(format!(
            "no `[[xapp_rights]]` names the xApp at {sender}; to permit it, add one with rmr = \"{sender}\" {name}"
        ))
    }

    /// The first rule that names a sender.
    fn rule_of<'a>(&self, rules: &'a [RmrEntry], sender: Sender) -> Option<&'a RmrEntry> {
        let is_it = |peer: &RmrPeer| match peer {
            RmrPeer::Host(host) => *host == sender.host,
            RmrPeer::Endpoint(endpoint) => endpoint.ip() == sender.host && sender.port == Some(endpoint.port()),
            RmrPeer::Name(name) => self
                .named
                .iter()
                .any(|xapp| xapp.name == *name && xapp.host == sender.host && sender.port == Some(xapp.port)),
        };
        rules.iter().find(|rule| is_it(&rule.peer))
    }

    /// The sender of a control as the mediator of controls knows it.
    pub fn identity(&self, sender: Sender) -> ConsumerIdentity {
        ConsumerIdentity { rights: self.rights_of(sender), ..ConsumerIdentity::named(&format!("rmr:{sender}")) }
    }
}

#[cfg(test)]
mod tests {
    use ferric::e2::{Grant, Selection};

    use super::*;

    fn sender(host: &str, port: u16) -> Sender {
        Sender::new(host.parse().unwrap(), Some(port))
    }

    #[test]
    fn peer_is_an_address_an_endpoint_or_a_name() {
        let peer = |text: &str| text.parse::<RmrPeer>();
        assert_eq!(peer("10.0.0.7"), Ok(RmrPeer::Host("10.0.0.7".parse().unwrap())));
        assert_eq!(peer("[::ffff:10.0.0.7]:4560"), Ok(RmrPeer::Endpoint("10.0.0.7:4560".parse().unwrap())));
        assert_eq!(peer("kpm-1"), Ok(RmrPeer::Name("kpm-1".to_owned())));
        for text in ["", "kpm:4560", "a b", "10.0.0.7:0", "10.0.0.7:70000", "\u{e9}", &"x".repeat(129)] {
            assert!(peer(text).is_err(), "{text}");
        }
    }

    #[test]
    fn first_rule_that_names_the_sender_decides() {
        let rights = |name: &str| {
            let nodes = [name.to_owned()].into_iter().collect();
            Arc::new(XappRights { read: vec![Grant::new(nodes, Selection::All)], control: Vec::new() })
        };
        let rule = |peer: &str, name: &str| RmrEntry { peer: peer.parse().unwrap(), rights: rights(name) };
        let mut access = Access::default();
        assert_eq!(access.rights_of(sender("10.0.0.7", 1)), None, "without rules everybody may do everything");
        access.rules = Some([rule("kpm", "named"), rule("10.0.0.7:4560", "endpoint"), rule("10.0.0.7", "host")].into());
        let host = "10.0.0.7".parse().unwrap();
        let of = |access: &Access, host: &str, port| access.rights_of(sender(host, port)).unwrap();
        assert_eq!(of(&access, "10.0.0.7", 4560), rights("endpoint"));
        assert_eq!(of(&access, "::ffff:10.0.0.7", 4560), rights("endpoint"));
        assert_eq!(of(&access, "10.0.0.7", 4561), rights("host"));
        assert_eq!(access.rights_of(Sender::new(host, Some(0))), Some(rights("host")), "it has stated no port");
        assert_eq!(of(&access, "10.0.0.8", 4560), Arc::default(), "who is in no rule has no right");
        access.named.push(NamedXapp { name: "kpm".to_owned(), host, port: 4561 });
        assert_eq!(of(&access, "10.0.0.7", 4561), rights("named"));
        assert_eq!(of(&access, "10.0.0.8", 4561), Arc::default(), "a name is that of one address");
        assert_eq!(of(&access, "10.0.0.7", 4560), rights("endpoint"));
    }

    #[test]
    fn sender_that_no_rule_names_may_use_nothing() {
        let mut access = Access::default();
        let (named, stranger) = (sender("10.0.0.7", 4560), sender("10.0.0.8", 4560));
        assert_eq!((access.check_named(Some(stranger)), access.check_named(None)), (Ok(()), Ok(())));
        access.rules = Some([RmrEntry { peer: "10.0.0.7".parse().unwrap(), rights: Arc::default() }].into());
        assert_eq!(access.check_named(Some(named)), Ok(()));
        let why = access.check_named(Some(stranger)).unwrap_err();
        assert!(why.contains("rmr = \"10.0.0.8:4560\""), "{why}");
        assert!(access.check_named(None).is_err());
    }
}
