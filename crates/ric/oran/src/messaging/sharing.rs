//! Messaging of several RICs that share nodes: what this one tells the others of itself and its nodes, and the controls that it passes
//! on to the RIC of a node.
//!
//! A control for a node of another RIC is sent to that RIC over RMR, once: it is not passed on again. Its answer goes back on the
//! connection of the xApp.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ferric::e2::Node;
use ferric::e2ap::{Cause, CauseMisc, CauseRicRequest, RicControlAckRequest, Version};
use ferric::link::Address;
use ferric::server::{IappContext, IappWaker};
use log_lines::{Host, escaped};
use rmr::{Header, Message, MessageType};
use tracing::warn;

use super::links::{ConnectionId, EndpointId, Purpose};
use super::pdus::{self, Reference};
use super::rights::Sender;
use super::shared_subscriptions::Subscriptions;
use super::{Messaging, MessagingConfig, ReplyTo, endpoint_name};
use crate::group::{self, GroupConfig, NO_ROOM, NODE, NodeEntry, RIC, ROUTES, RicEntry, SUBSCRIPTION, SharedEntries};

/// What the transaction ids of controls begin with that were passed on.
const PASSED_ON: &[u8] = b"ferric-passed-on ";
/// How long the answer of another RIC is awaited: longer than that of a node.
const ANSWER_WITHIN: Duration = Duration::from_secs(15);

/// A control that was passed on, whose answer is awaited.
struct PassedOn {
    reply: ReplyTo,
    reference: Reference,
    /// The name of the RIC, and where it receives.
    ric: String,
    to: EndpointId,
    since: Instant,
    /// Whose quota it counts in.
    sender: Sender,
    octets: usize,
}

/// This RIC in its group.
pub(super) struct Sharing {
    pub name: String,
    pub entries: Arc<dyn SharedEntries>,
    /// What the other RICs are told of this one.
    own: Vec<u8>,
    /// The keys of entries that others have changed.
    changed: Arc<Mutex<BTreeSet<String>>>,
    /// What was told of the own nodes, by name.
    nodes: HashMap<String, Vec<u8>>,
    /// The other RICs: where they receive.
    rics: HashMap<String, (String, EndpointId)>,
    /// The records of route tables of the other RICs.
    routes: BTreeMap<String, Vec<String>>,
    /// As many as the quota of controls allows.
    passed_on: HashMap<u64, PassedOn>,
    last: u64,
    pub subscriptions: Subscriptions,
}

impl Sharing {
    pub fn new(config: GroupConfig, rmr: &Address, waker: IappWaker) -> Self {
        let GroupConfig { name, address, entries } = config;
        let (host, port) = match rmr {
            Address::Tcp { host, port } => (host.as_str(), *port),
            _ => ("", 0),
        };
        let own_address = host.parse().ok().filter(|address: &std::net::IpAddr| !address.is_unspecified());
        let rmr = endpoint_name(&own_address.unwrap_or(address).to_string(), port);
        let changed = Arc::<Mutex<BTreeSet<String>>>::default();
        for prefix in [RIC, NODE, SUBSCRIPTION, ROUTES] {
            let (changed, waker) = (Arc::clone(&changed), waker.clone());
            let note = move |key: &str| {
                changed.lock().unwrap_or_else(PoisonError::into_inner).insert(key.to_owned());
                waker.wake();
            };
            entries.observe(prefix, Box::new(note));
        }
        let sharing = Sharing {
            name,
            entries,
            own: serde_json::to_vec(&RicEntry { rmr }).unwrap_or_default(),
            changed,
            nodes: HashMap::new(),
            rics: HashMap::new(),
            routes: BTreeMap::new(),
            passed_on: HashMap::new(),
            last: 0,
            subscriptions: Subscriptions::default(),
        };
        sharing.put(&format!("{RIC}{}", sharing.name), &sharing.own);
        sharing
    }

    /// Writes an entry.
    pub fn put(&self, key: &str, content: &[u8]) {
        if !self.entries.put(key, content) {
            warn!(
                "`{key}` is not shared with other RICs, which keep what they know of it: its {} octets are too many, or {NO_ROOM}",
                content.len()
            );
        }
    }

    /// Removes the entry of a node that is lost, if it has this content.
    fn unlist(&self, name: &str, content: &[u8]) {
        if !self.entries.remove_equal(&format!("{NODE}{name}"), content) {
            warn!("node {name} is lost, but RICs list it as connected to this one until it sets up again: {NO_ROOM}");
        }
    }

    fn is_ric(&self, endpoint: EndpointId) -> bool {
        self.rics.values().any(|(_, of_ric)| *of_ric == endpoint)
    }
}

/// Adds the endpoints of other RICs' records to those of the own ones: each group of them gets a message.
fn merged<'a>(own: impl Iterator<Item = &'a String>, others: impl Iterator<Item = &'a String>) -> Vec<String> {
    let mut routes = BTreeMap::<&str, Vec<&str>>::new();
    for (route, groups) in own.filter_map(|record| record.rsplit_once('|')) {
        routes.insert(route, groups.split(';').collect());
    }
    for (route, groups) in others.filter_map(|record| record.rsplit_once('|')) {
        let known = routes.entry(route).or_default();
        for group in groups.split(';') {
            if !known.contains(&group) {
                known.push(group);
            }
        }
    }
    routes.into_iter().map(|(route, groups)| format!("{route}|{}", groups.join(";"))).collect()
}

impl Messaging {
    /// Tells the other RICs of a node that has set up, or has changed, and sets up what xApps have subscribed.
    pub(super) fn share_node(&mut self, node: &Node, ric: &mut IappContext<'_>) {
        let Some(name) = self.names.get(&node.id).cloned() else { return };
        let Some(sharing) = &mut self.sharing else { return };
        let content = serde_json::to_vec(&NodeEntry::of(&sharing.name, node)).unwrap_or_default();
        let key = format!("{NODE}{name}");
        if sharing.entries.get(&key).is_none_or(|known| *known != *content) {
            sharing.put(&key, &content);
        }
        sharing.nodes.insert(name.clone(), content);
        self.set_up_subscriptions_of(&name, ric);
    }

    /// Tells the other RICs that a node is not connected to this one any more, unless another has it.
    pub(super) fn withdraw_node(&mut self, name: &str) {
        let Some(sharing) = &mut self.sharing else { return };
        let Some(content) = sharing.nodes.remove(name) else { return };
        sharing.unlist(name, &content);
    }

    /// Takes what other RICs have changed.
    pub(super) fn follow_others(&mut self, ric: &mut IappContext<'_>) {
        let Some(sharing) = &self.sharing else { return };
        let changed = std::mem::take(&mut *sharing.changed.lock().unwrap_or_else(PoisonError::into_inner));
        for key in changed {
            if let Some(id) = key.strip_prefix(SUBSCRIPTION) {
                self.follow_subscription(id, ric);
            } else if let Some(name) = key.strip_prefix(NODE) {
                self.follow_node(&key, name);
            } else if let Some(name) = key.strip_prefix(RIC) {
                self.follow_ric(&key, name);
            } else if let Some(name) = key.strip_prefix(ROUTES) {
                self.follow_routes(&key, name);
            }
        }
    }

    fn follow_node(&self, key: &str, name: &str) {
        let Some(sharing) = &self.sharing else { return };
        match (group::read::<NodeEntry>(&*sharing.entries, key), sharing.nodes.get(name)) {
            // others have taken this RIC for lost
            (None, Some(own)) => sharing.put(key, own),
            // it was connected when this RIC was killed
            (Some(entry), None) if entry.ric == sharing.name => {
                if let Some(content) = sharing.entries.get(key) {
                    sharing.unlist(name, &content);
                }
            }
            _ => {}
        }
    }

    fn follow_ric(&mut self, key: &str, name: &str) {
        let Some(sharing) = &mut self.sharing else { return };
        let entry = group::read::<RicEntry>(&*sharing.entries, key);
        if name == sharing.name {
            // a RIC with the same name is reported elsewhere
            if entry.is_none() {
                sharing.put(key, &sharing.own);
            }
            return;
        }
        let known = sharing.rics.get(name).map(|(address, _)| address);
        if known == entry.as_ref().map(|entry| &entry.rmr) {
            return;
        }
        if let Some((_, endpoint)) = sharing.rics.remove(name) {
            self.links.release(endpoint, Purpose::Rics);
        }
        if let (Some(RicEntry { rmr }), Some(sharing)) = (entry, &mut self.sharing) {
            let endpoint = self.links.hold(&rmr, Purpose::Rics);
            sharing.rics.insert(name.to_owned(), (rmr, endpoint));
        }
    }

    /// Tells the other RICs which routes this one has.
    pub(super) fn share_routes(&mut self) {
        let Some(sharing) = &self.sharing else { return };
        let records: Vec<_> = self.registered_records.iter().chain(&self.table_records).collect();
        let (key, content) = (format!("{ROUTES}{}", sharing.name), serde_json::to_vec(&records).unwrap_or_default());
        if sharing.entries.get(&key).is_none_or(|known| *known != *content) {
            sharing.put(&key, &content);
        }
    }

    fn follow_routes(&mut self, key: &str, name: &str) {
        let Some(sharing) = &mut self.sharing else { return };
        if name == sharing.name {
            return self.share_routes();
        }
        let records: Vec<String> = group::read(&*sharing.entries, key).unwrap_or_default();
        // what another program has written
        let records = MessagingConfig::routes(&records.join("\n")).unwrap_or_default();
        if sharing.routes.get(name).map_or(&[][..], Vec::as_slice) != records {
            sharing.routes.insert(name.to_owned(), records);
            self.read_table();
            #[cfg(feature = "a1")]
            self.release_unrouted();
            self.send_tables();
        }
    }

    /// The records of route tables beside those that lead to the RIC: of the configuration, which have precedence, of registered xApps,
    /// and of other RICs.
    pub(super) fn all_records(&self) -> Vec<String> {
        let own = self.registered_records.iter().chain(&self.table_records);
        match &self.sharing {
            None => own.cloned().collect(),
            Some(sharing) => merged(own, sharing.routes.values().flatten()),
        }
    }

    /// Connects to a RIC again that could not be reached. Returns whether the endpoint is one.
    pub(super) fn reach_ric_anew(&mut self, endpoint: EndpointId) -> bool {
        let Some(sharing) = &mut self.sharing else { return false };
        let Some((rmr, of_ric)) = sharing.rics.values_mut().find(|(_, of_ric)| *of_ric == endpoint) else {
            return false;
        };
        self.links.release(endpoint, Purpose::Rics);
        *of_ric = self.links.hold(rmr, Purpose::Rics);
        true
    }

    /// Whether an endpoint is a RIC rather than an xApp.
    pub(super) fn is_ric(&self, name: &str) -> bool {
        let of_ric = |endpoint| self.sharing.as_ref().is_some_and(|sharing| sharing.is_ric(endpoint));
        self.links.endpoint(name).is_some_and(of_ric)
    }

    /// The xApp that has sent a control which another RIC has passed on.
    pub(super) fn first_sender(&self, connection: ConnectionId, message: &Message<'_>) -> Option<Sender> {
        let sharing = self.sharing.as_ref().filter(|_| message.transaction.starts_with(PASSED_ON))?;
        let (_, _, address) = self.links.ends(connection)?;
        let host = address?.to_canonical().to_string();
        let is_of_ric = |(rmr, _): &(String, EndpointId)| {
            rmr.rsplit_once(':').is_some_and(|(of_ric, _)| of_ric.trim_matches(['[', ']']) == host)
        };
        let is_passed_on = sharing.rics.values().any(is_of_ric);
        Sender::named(message.source_address()).filter(|_| is_passed_on)
    }

    /// The version of E2AP of a node of another RIC.
    pub(super) fn version_at_other(&self, meid: &str) -> Option<Version> {
        let sharing = self.sharing.as_ref()?;
        Some(group::read::<NodeEntry>(&*sharing.entries, &format!("{NODE}{meid}"))?.version())
    }

    /// Passes a control of a sender, which counts in its quota, on to the RIC of its node. Returns whether an answer is awaited, until
    /// which it counts; `None` if no other RIC has the node.
    pub(super) fn pass_on(&mut self, connection: ConnectionId, message: &Message<'_>, sender: Sender) -> Option<bool> {
        let sharing = self.sharing.as_ref().filter(|_| !message.transaction.starts_with(PASSED_ON))?;
        let key = format!("{NODE}{}", message.meid());
        let entry = group::read::<NodeEntry>(&*sharing.entries, &key)?;
        let &(_, to) = sharing.rics.get(&entry.ric)?;
        let version = entry.version();
        let content = pdus::with_control(message.payload, version, |request| {
            let is_answered = request.ack_request != Some(RicControlAckRequest::NoAck);
            (Reference::of_control(request, version), is_answered)
        });
        // one that is malformed is dropped here
        let (reference, is_answered) = content.ok()?;
        let sharing = self.sharing.as_mut()?;
        sharing.last += 1;
        let number = sharing.last;
        let transaction = [PASSED_ON, format!("{number:x}").as_bytes()].concat();
        let source = sender.endpoint().unwrap_or_default();
        let mut head = Vec::new();
        Header {
            kind: MessageType::CONTROL_REQUEST,
            subscription_id: message.subscription_id,
            transaction: &transaction,
            meid: message.meid(),
            source: &source,
            source_address: &source,
            ..Header::default()
        }
        .write(message.payload.len(), &mut head);
        let reply = ReplyTo::of(connection, message);
        if !self.links.send_to(to, &[&head, message.payload]) {
            let (meid, of_ric) = (escaped(message.meid()), escaped(&entry.ric));
            let why = format!(
                "a control for `{meid}` is refused: RIC {of_ric}, which has the node, cannot be reached over RMR; send it \
                 again, and check the network between the RICs"
            );
            self.complain(connection, &why);
            self.refuse_control(&reply, &reference, Cause::Misc(CauseMisc::ControlProcessingOverload));
            return Some(false);
        }
        if is_answered && let Some(sharing) = &mut self.sharing {
            let (since, octets) = (Instant::now(), message.payload.len());
            sharing.passed_on.insert(number, PassedOn { reply, reference, ric: entry.ric, to, since, sender, octets });
        }
        Some(is_answered)
    }

    /// Handles the answer of another RIC to a control that was passed on.
    pub(super) fn answer_of_ric(&mut self, connection: ConnectionId, message: &Message<'_>) {
        let number = message.transaction.strip_prefix(PASSED_ON);
        let number = number.and_then(|digits| {
            let digits = digits.split(|octet| *octet == 0).next()?;
            u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
        });
        let endpoint = self.links.endpoint_of(connection).and_then(|name| self.links.endpoint(name));
        let waiting = number.zip(self.sharing.as_mut()).and_then(|(number, sharing)| {
            let is_own = sharing.passed_on.get(&number).is_some_and(|of| Some(of.to) == endpoint);
            is_own.then(|| sharing.passed_on.remove(&number)).flatten()
        });
        match waiting {
            Some(PassedOn { reply, sender, octets, .. }) => {
                self.control_quota.ended(sender, octets);
                self.answer(&reply, message.subscription_id, &(message.kind, message.payload.to_vec()));
            }
            None => {
                let why = format!(
                    "an answer to a control is dropped: none is awaited; the xApp has gone, or was refused after {} s",
                    ANSWER_WITHIN.as_secs()
                );
                self.complain(connection, &why);
            }
        }
    }

    fn refuse_control(&mut self, reply: &ReplyTo, reference: &Reference, cause: Cause) {
        if let Some(answer) = pdus::control_refusal(reference, cause) {
            self.answer(reply, i32::from(reference.request_id.instance), &answer);
        }
    }

    /// Answers controls whose RIC has gone, or does not answer.
    pub(super) fn end_passed_on(&mut self) {
        let Some(sharing) = &mut self.sharing else { return };
        let links = &self.links;
        let is_over = |of: &PassedOn| of.since.elapsed() >= ANSWER_WITHIN || !links.is_established(of.to);
        let over: Vec<_> = sharing.passed_on.iter().filter(|(_, of)| is_over(of)).map(|(number, _)| *number).collect();
        let over: Vec<_> = over.into_iter().filter_map(|number| sharing.passed_on.remove(&number)).collect();
        for PassedOn { reply, reference, ric, to, sender, octets, .. } in over {
            self.control_quota.ended(sender, octets);
            if self.links.log().allow(Host::Unknown) {
                let (meid, ric, function) = (escaped(&reply.meid), escaped(&ric), reference.function.0);
                let why = match self.links.is_established(to) {
                    true => format!("has not answered for {} s", ANSWER_WITHIN.as_secs()),
                    false => "cannot be reached any more".to_owned(),
                };
                warn!(
                    "a control of the xApp at {sender} for function {function} of `{meid}` is refused: RIC {ric}, to which it was \
                     passed on, {why}; it may have been made; check that RIC, and let the xApp send it again"
                );
            }
            self.refuse_control(&reply, &reference, Cause::RicRequest(CauseRicRequest::ControlTimerExpired));
        }
    }

    /// Forgets what concerns a connection that has ended.
    pub(super) fn forget_connection(&mut self, connection: ConnectionId) {
        if let Some(sharing) = &mut self.sharing {
            for (_, of) in sharing.passed_on.extract_if(|_, of| of.reply.connection == connection) {
                self.control_quota.ended(of.sender, of.octets);
            }
            sharing.subscriptions.forget_connection(connection);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_of_several_rics_lead_to_all_endpoints() {
        let text = |records: &[&str]| records.iter().map(|record| (*record).to_owned()).collect::<Vec<_>>();
        let own = text(&["mse|20010|7|a:1", "mse|20010|7|b:1", "rte|30000|c:1"]);
        let others = text(&["mse|20010|7|b:1;d:1", "mse|20010|8|a:1", "rte|30000|c:1"]);
        let expected = ["mse|20010|7|b:1;d:1", "mse|20010|8|a:1", "rte|30000|c:1"];
        assert_eq!(merged(own.iter(), others.iter()), expected, "a later own record replaces an earlier one");
        assert_eq!(merged(own[..1].iter(), others[..1].iter()), ["mse|20010|7|a:1;b:1;d:1"]);
    }
}
