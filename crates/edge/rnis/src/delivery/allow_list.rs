//! Which servers callbacks may be sent to: a callback must not make the service a way into its own network (server-side request
//! forgery).

use std::collections::HashMap;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::sync::{Arc, PoisonError, RwLock};

use super::addresses::{Scope, contains};
use super::callback::{CallbackError, Endpoint};

/// The most rules of a list.
pub const MAX_RULES: usize = 256;

/// The servers that a rule allows.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Servers {
    /// All public addresses, by whichever name.
    Public,
    /// The addresses of a network, by whichever name.
    Network(IpAddr, u8),
    /// A host name. Its addresses may be public or private, and not those of this host or link.
    Name(String),
    /// The names below a domain.
    Domain(String),
}

/// A rule: `public`, an address, a network such as `10.0.0.0/8`, a host name, or `*.DOMAIN`; with `:PORT` or `:FIRST-LAST` only these
/// ports. With a port an IPv6 address is in brackets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowRule {
    servers: Servers,
    ports: RangeInclusive<u16>,
}

impl FromStr for AllowRule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const FORMS: &str = "`public`, an address, a network such as 10.0.0.0/8, a host name or `*.DOMAIN`, and then `:PORT` or \
                             `:FIRST-LAST` if only these ports are allowed";
        let refuse = || format!("`{text}` is not {FORMS}");
        let (servers, ports) = match text.strip_prefix('[') {
            Some(rest) => {
                let (servers, rest) = rest.split_once(']').ok_or_else(refuse)?;
                (servers, if rest.is_empty() { None } else { Some(rest.strip_prefix(':').ok_or_else(refuse)?) })
            }
            // two colons are of an IPv6 address without a port
            None if text.matches(':').count() == 1 => {
                text.split_once(':').map(|(servers, ports)| (servers, Some(ports))).ok_or_else(refuse)?
            }
            None => (text, None),
        };
        let ports = match ports {
            None => 1..=u16::MAX,
            Some(ports) => {
                let (first, last) = ports.split_once('-').unwrap_or((ports, ports));
                match (first.parse(), last.parse()) {
                    (Ok(first @ 1u16..), Ok(last)) if first <= last => first..=last,
                    _ => return Err(refuse()),
                }
            }
        };
        let network = match servers.split_once('/') {
            Some((network, length)) => {
                let network: IpAddr = network.parse().map_err(|_| refuse())?;
                let longest = if network.is_ipv4() { 32 } else { 128 };
                let length: u8 = length.parse().ok().filter(|length| *length <= longest).ok_or_else(refuse)?;
                Some((network, length))
            }
            None => servers.parse::<IpAddr>().ok().map(|ip| (ip, if ip.is_ipv4() { 32 } else { 128 })),
        };
        let servers = match network {
            Some((network, length)) => Servers::Network(network, length),
            None if servers == "public" => Servers::Public,
            None => match servers.strip_prefix("*.") {
                Some(domain) if is_name(domain) => Servers::Domain(domain.to_ascii_lowercase()),
                None if is_name(servers) => Servers::Name(servers.to_ascii_lowercase()),
                _ => return Err(refuse()),
            },
        };
        Ok(AllowRule { servers, ports })
    }
}

/// Whether a text is a host name, and no way to write an address that some resolvers know: `127.1`, `2130706433`, `0x7f000001`.
fn is_name(text: &str) -> bool {
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|octet| octet.is_ascii_alphanumeric() || b"-_".contains(&octet))
    };
    let text = text.strip_suffix('.').unwrap_or(text);
    let last = text.rsplit('.').next().unwrap_or_default();
    let is_number = last.bytes().all(|octet| octet.is_ascii_digit())
        || last.get(..2).is_some_and(|start| start.eq_ignore_ascii_case("0x"));
    text.len() <= 253 && text.split('.').all(is_label) && !is_number
}

/// The servers that callbacks may be sent to: those that one of its rules allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowList(Vec<AllowRule>);

impl AllowList {
    /// A list of rules.
    #[must_use]
    pub fn new(rules: Vec<AllowRule>) -> Self {
        AllowList(rules)
    }

    /// All public addresses.
    #[must_use]
    pub fn public() -> Self {
        AllowList(vec![AllowRule { servers: Servers::Public, ports: 1..=u16::MAX }])
    }

    /// All public addresses, and this host: for a service that only this host can use.
    #[must_use]
    pub fn public_and_loopback() -> Self {
        let network =
            |network: IpAddr, length| AllowRule { servers: Servers::Network(network, length), ports: 1..=u16::MAX };
        let AllowList(mut rules) = AllowList::public();
        rules.extend([network(IpAddr::from([127, 0, 0, 0]), 8), network(std::net::Ipv6Addr::LOCALHOST.into(), 128)]);
        AllowList(rules)
    }

    /// Whether the host of a callback may be connected to at an address, which is the host, or what its name resolves to.
    fn allows(&self, host: &str, address: SocketAddr) -> bool {
        let ip = address.ip().to_canonical();
        let host = host.strip_suffix('.').unwrap_or(host);
        self.0.iter().filter(|rule| rule.ports.contains(&address.port())).any(|rule| match &rule.servers {
            Servers::Public => Scope::of(ip) == Scope::Public,
            Servers::Network(network, length) => contains(*network, *length, ip),
            Servers::Name(_) | Servers::Domain(_) => rule.names(host) && Scope::of(ip) != Scope::Inner,
        })
    }

    /// Whether a host name may lead to a server that is allowed. What it resolves to decides when it is connected to.
    fn may_allow_name(&self, host: &str, port: u16) -> bool {
        let host = host.strip_suffix('.').unwrap_or(host);
        self.0.iter().filter(|rule| rule.ports.contains(&port)).any(|rule| match &rule.servers {
            Servers::Public | Servers::Network(..) => true,
            Servers::Name(_) | Servers::Domain(_) => rule.names(host),
        })
    }
}

impl AllowRule {
    fn names(&self, host: &str) -> bool {
        match &self.servers {
            Servers::Name(name) => name.strip_suffix('.').unwrap_or(name) == host,
            Servers::Domain(domain) => host.strip_suffix(&**domain).is_some_and(|rest| rest.ends_with('.')),
            Servers::Public | Servers::Network(..) => false,
        }
    }
}

/// The allow-lists of the service and of its tenants, which may change while it runs. Clones share them. Default: everything is
/// allowed, for callbacks that no other party chooses.
#[derive(Clone, Default)]
pub struct CallbackPolicy(Arc<RwLock<Lists>>);

#[derive(Debug, Default)]
struct Lists {
    common: Option<AllowList>,
    /// A tenant with a list of its own is allowed what it allows, and nothing else.
    of_tenants: HashMap<Arc<str>, AllowList>,
}

impl fmt::Debug for CallbackPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CallbackPolicy")
    }
}

impl CallbackPolicy {
    /// The list of all that have none of their own.
    #[must_use]
    pub fn new(common: AllowList) -> Self {
        CallbackPolicy(Arc::new(RwLock::new(Lists { common: Some(common), of_tenants: HashMap::new() })))
    }

    /// Replaces the lists of tenants.
    pub fn set_tenants(&self, of_tenants: HashMap<Arc<str>, AllowList>) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).of_tenants = of_tenants;
    }

    /// Reads the list of a tenant; `None` if everything is allowed.
    fn with<T>(&self, tenant: &str, read: impl FnOnce(&AllowList) -> T) -> Option<T> {
        let lists = self.0.read().unwrap_or_else(PoisonError::into_inner);
        lists.of_tenants.get(tenant).or(lists.common.as_ref()).map(read)
    }

    /// Whether a callback of a tenant may be accepted: an address is allowed, and a name may lead to one.
    ///
    /// # Errors
    /// [`CallbackError::NotAllowed`].
    pub fn check(&self, tenant: &str, endpoint: &Endpoint) -> Result<(), CallbackError> {
        let Endpoint { host, port, .. } = endpoint;
        let is_allowed = self.with(tenant, |list| match host.parse::<IpAddr>() {
            Ok(ip) => list.allows(host, SocketAddr::new(ip, *port)),
            Err(_) if !is_name(host) => false,
            // RFC 6761 6.3: these names are addresses of this host
            Err(_) if host.trim_end_matches('.').rsplit('.').next() == Some("localhost") => {
                let loopback = [IpAddr::from([127, 0, 0, 1]), std::net::Ipv6Addr::LOCALHOST.into()];
                loopback.into_iter().any(|ip| list.allows(host, SocketAddr::new(ip, *port)))
            }
            Err(_) => list.may_allow_name(host, *port),
        });
        if is_allowed.unwrap_or(true) { Ok(()) } else { Err(CallbackError::NotAllowed) }
    }

    /// Whether a callback of a tenant may be sent over a connection to an address.
    #[must_use]
    pub fn allows(&self, tenant: &str, endpoint: &Endpoint, address: SocketAddr) -> bool {
        self.with(tenant, |list| list.allows(&endpoint.host, address)).unwrap_or(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(rules: &str) -> AllowList {
        AllowList::new(rules.split(' ').map(|rule| rule.parse().unwrap()).collect())
    }

    fn check(rules: &str, url: &str) -> bool {
        let callback: super::super::Callback = url.parse().unwrap();
        CallbackPolicy::new(list(rules)).check("", callback.endpoint()).is_ok()
    }

    fn allows(rules: &str, host: &str, address: &str) -> bool {
        list(rules).allows(host, address.parse().unwrap())
    }

    #[test]
    fn inward_addresses_are_refused_unless_their_network_is_allowed() {
        for inward in [
            "127.0.0.1",
            "10.0.0.1",
            "192.168.0.1",
            "169.254.169.254",
            "100.64.1.1",
            "0.0.0.0",
            "[::1]",
            "[::]",
            "[fe80::1]",
            "[fd00::1]",
            "[::ffff:127.0.0.1]",
            "[::ffff:7f00:1]",
            "[64:ff9b::7f00:1]",
            "[2002:7f00:1::]",
            "224.0.0.1",
            "192.0.2.1",
            "localhost",
            "localhost.",
            "app.localhost",
            "127.1",
            "2130706433",
            "0x7f.1",
            "017700000001",
            "0x7f000001",
        ] {
            assert!(!check("public", &format!("http://{inward}/")), "{inward}");
        }
        assert!(check("public", "http://1.1.1.1/") && check("public", "http://app.example:9000/x"));
        assert!(
            check("10.0.0.0/8:9000-9100", "http://10.1.2.3:9000/")
                && !check("10.0.0.0/8:9000-9100", "http://10.1.2.3/")
        );
        assert!(check("10.0.0.0/8", "http://[::ffff:10.0.0.1]/"), "a mapped address is the address");
        assert!(!check("10.0.0.0/8", "http://1.1.1.1/"), "without `public` only the rules count");
        assert!(check("127.0.0.1", "http://localhost/") && check("[::1]:80", "http://[::1]/"));
        assert!(!check("127.1.0.0/16", "http://localhost/"));
        let both = CallbackPolicy::new(AllowList::public_and_loopback());
        for (url, is_allowed) in
            [("http://127.0.0.1:9000/", true), ("http://[::1]:9000/", true), ("http://10.0.0.1/", false)]
        {
            let callback: super::super::Callback = url.parse().unwrap();
            assert_eq!(both.check("", callback.endpoint()).is_ok(), is_allowed, "{url}");
        }
    }

    #[test]
    fn name_is_allowed_by_its_rule_and_by_what_it_resolves_to() {
        assert!(
            check("*.apps.example", "http://a.apps.example/") && check("app.example:81", "http://APP.example.:81/")
        );
        assert!(!check("*.apps.example", "http://apps.example/") && !check("*.apps.example", "http://xapps.example/"));
        assert!(!check("app.example", "http://other.example/"));
        assert!(
            allows("app.example", "app.example", "10.0.0.1:80") && allows("app.example", "app.example", "1.1.1.1:80")
        );
        for inner in ["127.0.0.1:80", "169.254.169.254:80", "[::1]:80", "[64:ff9b::a00:1]:80", "0.0.0.0:80"] {
            assert!(!allows("app.example", "app.example", inner), "{inner}");
            assert!(!allows("public", "app.example", inner), "{inner}");
        }
        assert!(
            !allows("public", "app.example", "10.0.0.1:80")
                && allows("public 10.0.0.0/8", "app.example", "10.0.0.1:80")
        );
    }

    #[test]
    fn tenant_with_a_list_has_no_other() {
        let policy = CallbackPolicy::new(AllowList::public());
        policy.set_tenants([("a".into(), list("10.0.0.0/8"))].into());
        let allows = |tenant: &str, url: &str| {
            let callback: super::super::Callback = url.parse().unwrap();
            policy.check(tenant, callback.endpoint()).is_ok()
        };
        assert!(allows("a", "http://10.0.0.1/") && !allows("a", "http://1.1.1.1/"));
        assert!(!allows("b", "http://10.0.0.1/") && allows("b", "http://1.1.1.1/"));
        let callback: super::super::Callback = "http://127.0.0.1/".parse().unwrap();
        assert!(CallbackPolicy::default().check("", callback.endpoint()).is_ok());
    }

    #[test]
    fn malformed_rule_is_refused() {
        for bad in [
            "",
            "*",
            "*.",
            "10.0.0.0/33",
            "10.0.0/8",
            "::/129",
            "a:0",
            "a:9-8",
            "a:70000",
            "[::1",
            "[::1]x",
            "a b",
            "http://a",
            "127.1",
            "0x7f000001",
            "10.0.0.1/",
        ] {
            assert!(bad.parse::<AllowRule>().is_err(), "{bad}");
        }
        for good in ["public:443", "::1", "[2001:db8::/32]:1-65535", "2001:db8::/32", "*.a.example:80", "A.Example"] {
            assert!(good.parse::<AllowRule>().is_ok(), "{good}");
        }
    }
}
