//! The xApps that are registered: where they are, and what they take.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use rest::{Problem, StatusCode};
use rmr::MessageType;
use rmr::table::{MAX_GROUPS, MAX_NAME_OCTETS};

use super::descriptor::Messages;
use crate::messaging::NamedXapp;

/// The most registrations.
pub const MAX_REGISTRATIONS: usize = 256;
/// The part of them that one host may have, in percent.
const MAX_OF_HOST_PERCENT: usize = 75;

/// Types that the RIC sends itself, or that go to it: a registration does not change their way.
const OF_RIC: [MessageType; 16] = [
    MessageType::HEALTH_CHECK_REQUEST,
    MessageType::HEALTH_CHECK_RESPONSE,
    MessageType::SUBSCRIPTION_REQUEST,
    MessageType::SUBSCRIPTION_RESPONSE,
    MessageType::SUBSCRIPTION_FAILURE,
    MessageType::SUBSCRIPTION_DELETE_REQUEST,
    MessageType::SUBSCRIPTION_DELETE_RESPONSE,
    MessageType::SUBSCRIPTION_DELETE_FAILURE,
    MessageType::CONTROL_REQUEST,
    MessageType::CONTROL_ACKNOWLEDGE,
    MessageType::CONTROL_FAILURE,
    MessageType::INDICATION,
    MessageType::A1_POLICY_REQUEST,
    MessageType::A1_EI_QUERY_ALL_RESPONSE,
    MessageType::A1_EI_CREATE_JOB_RESPONSE,
    MessageType::A1_EI_DATA_DELIVERY,
];

/// An instance of an xApp.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Registration {
    pub version: String,
    /// `HOST:PORT`.
    pub http: String,
    /// `HOST:PORT`; `None` for one that was started and has no port for RMR.
    pub rmr: Option<String>,
    pub messages: Messages,
    /// Who has registered it; `None`: this RIC, which has started it.
    pub host: Option<IpAddr>,
}

/// All registrations, by the name of the xApp and that of the instance.
#[derive(Default)]
pub(super) struct Registry(BTreeMap<(String, String), Registration>);

impl Registry {
    pub fn iter(&self) -> impl Iterator<Item = (&(String, String), &Registration)> {
        self.0.iter()
    }

    /// The instances of an xApp.
    pub fn of<'s>(&'s self, name: &'s str) -> impl Iterator<Item = (&'s str, &'s Registration)> {
        self.0.iter().filter(move |((of, _), _)| of == name).map(|((_, instance), of)| (instance.as_str(), of))
    }

    /// Adds an instance. Returns the one that it replaces.
    ///
    /// # Errors
    /// If there are too many, or the RIC has started an xApp of this name at another endpoint.
    pub fn register(&mut self, name: &str, instance: &str, of: Registration) -> Result<Option<Registration>, Problem> {
        if of.host.is_some()
            && let Some((_, own)) = self.of(name).find(|(_, other)| other.host.is_none())
            && own.rmr != of.rmr
        {
            let detail = format!("this RIC has started the xApp `{name}`: one at another endpoint has another name");
            return Err(Problem::bad_request(detail).with("at", "appName"));
        }
        let key = (name.to_owned(), instance.to_owned());
        if self.0.get(&key).is_some_and(|own| own.host.is_none()) && of.host.is_some() {
            // the xApp itself says what is known already
            return Ok(None);
        }
        if !self.0.contains_key(&key)
            && let Some(host) = of.host
        {
            let limit = MAX_REGISTRATIONS * MAX_OF_HOST_PERCENT / 100;
            let of_host = self.0.values().filter(|other| other.host == Some(host)).count();
            if self.0.len() >= MAX_REGISTRATIONS || of_host >= limit {
                let detail = format!(
                    "{} xApps are registered, {of_host} of this host; {MAX_REGISTRATIONS} and {limit} are allowed",
                    self.0.len()
                );
                return Err(Problem::new(StatusCode::INSUFFICIENT_STORAGE, detail));
            }
        }
        Ok(self.0.insert(key, of))
    }

    /// Sets what an instance takes, if it is still registered with this endpoint for HTTP from this host. Returns whether it is.
    pub fn set_messages(&mut self, name: &str, instance: &str, at: (&str, IpAddr), messages: &Messages) -> bool {
        match self.0.get_mut(&(name.to_owned(), instance.to_owned())) {
            Some(of) if (of.http.as_str(), of.host) == (at.0, Some(at.1)) => {
                of.messages = messages.clone();
                true
            }
            _ => false,
        }
    }

    /// Removes an instance that has registered itself. Returns whether there is one.
    pub fn deregister(&mut self, name: &str, instance: &str) -> bool {
        let key = (name.to_owned(), instance.to_owned());
        match self.0.get(&key) {
            // it is there as long as its process
            Some(own) if own.host.is_none() => true,
            Some(_) => self.0.remove(&key).is_some(),
            None => false,
        }
    }

    /// Removes what belongs to an xApp that the RIC had started.
    pub fn remove_started(&mut self, name: &str) {
        let started = self.0.get(&(name.to_owned(), name.to_owned())).and_then(|own| own.rmr.clone());
        self.0.retain(|(of, _), other| of != name || other.host.is_some() && other.rmr != started);
    }

    /// The records of route tables: each message type, and each policy type, goes to all that take it.
    pub fn records(&self) -> Vec<String> {
        let mut routes: BTreeMap<(i32, i32), BTreeSet<&str>> = BTreeMap::new();
        for registration in self.0.values() {
            let Some(endpoint) = registration.rmr.as_deref() else { continue };
            let types = registration.messages.rx.iter().filter_map(|text| number_of(text));
            let policies =
                registration.messages.policies.iter().map(|policy| (MessageType::A1_POLICY_REQUEST.0, *policy));
            for key in types.map(|kind| (kind.0, rmr::NO_SUBSCRIPTION)).chain(policies) {
                routes.entry(key).or_default().insert(endpoint);
            }
        }
        let record = |((kind, subscription), endpoints): ((i32, i32), BTreeSet<&str>)| {
            let groups: Vec<_> = endpoints.into_iter().take(MAX_GROUPS).collect();
            format!("mse|{kind}|{subscription}|{}", groups.join(";"))
        };
        routes.into_iter().map(record).collect()
    }

    /// The xApps with their addresses: those of this host, `own`, for one that the RIC has started, else the one from which it has
    /// registered.
    pub fn named(&self, own: &[IpAddr]) -> Vec<NamedXapp> {
        let mut named = Vec::new();
        for ((name, _), of) in &self.0 {
            let port = of.rmr.as_ref().and_then(|rmr| rmr.rsplit_once(':')?.1.parse().ok());
            let Some(port) = port else { continue };
            let hosts = of.host.as_ref().map_or(own, std::slice::from_ref);
            named.extend(hosts.iter().map(|host| NamedXapp { name: name.clone(), host: host.to_canonical(), port }));
        }
        named
    }

    /// Received message types that are neither numbers nor known names.
    pub fn unknown_types(messages: &Messages) -> Vec<&str> {
        let is_unknown = |text: &&String| text.parse::<i32>().is_err() && MessageType::named(text).is_none();
        messages.rx.iter().filter(is_unknown).map(String::as_str).collect()
    }
}

/// The message type that a descriptor names, if messages of it go from xApp to xApp.
fn number_of(text: &str) -> Option<MessageType> {
    let kind = text.parse().map(MessageType).ok().or_else(|| MessageType::named(text))?;
    (kind.0 >= 100 && !OF_RIC.contains(&kind)).then_some(kind)
}

/// Checks that a text is `HOST:PORT`, whose characters do not end a record of a route table.
pub(super) fn check_endpoint(text: &str) -> Result<(), String> {
    let is_host = |host: &str| {
        !host.is_empty() && host.bytes().all(|octet| octet.is_ascii_alphanumeric() || b".-_[]:".contains(&octet))
    };
    let port = text.rsplit_once(':').filter(|(host, _)| is_host(host)).map(|(_, port)| port.parse::<u16>());
    match port {
        Some(Ok(1..)) if text.len() <= MAX_NAME_OCTETS => Ok(()),
        _ => Err(format!("`{}` is not HOST:PORT", text.chars().take(80).collect::<String>())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn registration(rmr: &str, policies: &[i32], rx: &[&str], host: Option<IpAddr>) -> Registration {
        let rx = rx.iter().map(|text| (*text).to_owned()).collect();
        Registration {
            version: "1.0.0".to_owned(),
            http: "127.0.0.1:8080".to_owned(),
            rmr: Some(rmr.to_owned()),
            messages: Messages { tx: Vec::new(), rx, policies: policies.to_vec() },
            host,
        }
    }

    const HOST: Option<IpAddr> = Some(IpAddr::V4(std::net::Ipv4Addr::LOCALHOST));

    #[test]
    fn messages_and_policies_have_routes() {
        let mut registry = Registry::default();
        let rx = ["30000", "RIC_INDICATION", "A1_POLICY_REQ", "UNKNOWN", "20", "RIC_ALARM"];
        registry.register("a", "a", registration("a:1", &[7, 8], &rx, HOST)).unwrap();
        registry.register("b", "b", registration("b:1", &[7], &["30000"], HOST)).unwrap();
        let expected = ["mse|110|-1|a:1", "mse|20010|7|a:1;b:1", "mse|20010|8|a:1", "mse|30000|-1|a:1;b:1"];
        assert_eq!(registry.records(), expected);
        let messages = &registry.of("a").next().unwrap().1.messages;
        assert_eq!(Registry::unknown_types(messages), ["UNKNOWN"]);
        assert!(registry.deregister("b", "b") && !registry.deregister("b", "b"));
        assert_eq!(registry.records().len(), 4);
    }

    #[test]
    fn xapp_that_the_ric_has_started_keeps_its_name() {
        let mut registry = Registry::default();
        registry.register("a", "a", registration("127.0.0.1:1", &[7], &[], None)).unwrap();
        registry.register("a", "other", registration("127.0.0.1:1", &[7], &[], HOST)).unwrap();
        registry.register("a", "a", registration("127.0.0.1:1", &[9], &[], HOST)).unwrap();
        assert_eq!(registry.records(), ["mse|20010|7|127.0.0.1:1"], "its descriptor says what it takes");
        assert!(registry.register("a", "evil", registration("10.0.0.9:1", &[7], &[], HOST)).is_err());
        assert!(registry.deregister("a", "a"));
        assert_eq!(registry.records().len(), 1);
        registry.remove_started("a");
        assert_eq!(registry.iter().count(), 0);
    }

    #[test]
    fn name_is_that_of_the_address_of_the_registration() {
        let mut registry = Registry::default();
        registry.register("a", "a", registration("127.0.0.1:1", &[], &[], None)).unwrap();
        // where it says that it receives may be a name, or another host: its requests come from where it has registered
        let host = Some("::ffff:10.0.0.7".parse().unwrap());
        registry.register("b", "b", registration("service-b-rmr.ricxapp:4560", &[], &[], host)).unwrap();
        let named = |name: &str, host: &str, port| NamedXapp { name: name.into(), host: host.parse().unwrap(), port };
        let own = ["127.0.0.1", "10.0.0.1"].map(|host| host.parse().unwrap());
        assert_eq!(
            registry.named(&own),
            [named("a", "127.0.0.1", 1), named("a", "10.0.0.1", 1), named("b", "10.0.0.7", 4560)]
        );
    }

    #[test]
    fn registrations_of_a_host_and_all_are_bounded() {
        let mut registry = Registry::default();
        let mut register = |at: usize, host: IpAddr| {
            registry.register("a", &at.to_string(), registration("a:1", &[], &[], Some(host))).map(drop)
        };
        for at in 0..192 {
            register(at, HOST.unwrap()).unwrap();
        }
        assert!(register(192, HOST.unwrap()).unwrap_err().detail().contains("192 of this host"));
        register(0, HOST.unwrap()).unwrap();
        let other: IpAddr = "10.0.0.1".parse().unwrap();
        for at in 192..MAX_REGISTRATIONS {
            register(at, other).unwrap();
        }
        assert!(register(MAX_REGISTRATIONS, other).unwrap_err().detail().contains("256 xApps"));
    }

    #[test]
    fn endpoint_cannot_change_a_record() {
        check_endpoint("xapp-1.example:4560").unwrap();
        check_endpoint("[::1]:4560").unwrap();
        for text in ["", "x", ":1", "x:0", "x:70000", "x|y:1", "x;y:1", "x,y:1", "x\nnewrt|end:1", "x y:1", "%meid"] {
            assert!(check_endpoint(text).is_err(), "{text}");
        }
    }
}
