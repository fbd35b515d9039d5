//! A1 policies over RMR: the subscription id of a message is the policy type, as in the reference platform.
//!
//! A policy goes to the endpoints that the route table has for A1_POLICY_REQ and its type: the records of the configuration, and
//! those of registered xApps. What cannot be sent at once waits until the endpoint is connected, the newest request of each
//! policy only, for as long as an endpoint may be unreachable. What an xApp has missed it gets by asking (A1_POLICY_QUERY): the
//! answers go to the connection of the question.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Instant;

use ferric::link::Class;
use ferric::server::IappContext;
use log_lines::Host;
use rest::RateLimit;
use rmr::{Header, Message, MessageType};
use serde_json::Value;
use tracing::{info, warn};

use super::links::{ConnectionId, EndpointId, Purpose};
use super::{Messaging, MessagingHandle};
use crate::a1::{A1, Operation, PolicyLink, PolicyRequest, QUERIES_PER_SECOND, RESPONSES_PER_SECOND};

/// The most endpoints that take policies.
const MAX_ENDPOINTS: usize = 256;
/// Octets of all policies that wait for their endpoints.
const MAX_WAITING_OCTETS: usize = 16 << 20;
/// Policies that a line about a loss names.
const MAX_NAMED: usize = 8;

/// A policy type and the id of an instance.
type PolicyKey = (i32, String);

/// A request that waits.
pub(super) struct OwnedRequest {
    operation: Operation,
    key: PolicyKey,
    payload: Value,
    /// Its octets as JSON.
    pub octets: usize,
}

impl OwnedRequest {
    fn encode(&self) -> Vec<u8> {
        let Self { operation, key: (policy_type_id, id), payload, .. } = self;
        let (operation, policy_type_id) = (*operation, *policy_type_id);
        PolicyRequest { operation, policy_type_id, policy_instance_id: id, payload }.encode()
    }
}

/// What waits for an endpoint.
struct Outbox {
    endpoint: EndpointId,
    waiting: BTreeMap<PolicyKey, OwnedRequest>,
}

/// The policies on their way.
pub(super) struct Policies {
    outboxes: HashMap<String, Outbox>,
    waiting_octets: usize,
    queries: RateLimit<Host>,
    responses: RateLimit<Host>,
}

impl Default for Policies {
    fn default() -> Self {
        Policies {
            outboxes: HashMap::new(),
            waiting_octets: 0,
            queries: RateLimit::new(QUERIES_PER_SECOND),
            responses: RateLimit::new(RESPONSES_PER_SECOND),
        }
    }
}

impl Policies {
    /// Has a request wait. One that follows another of the same policy, which was not sent, replaces both by their sum.
    fn add(&mut self, endpoint: &str, request: OwnedRequest) {
        let Some(outbox) = self.outboxes.get_mut(endpoint) else { return };
        let former = outbox.waiting.remove(&request.key);
        self.waiting_octets -= former.as_ref().map_or(0, |former| former.octets);
        let request = match (former.map(|former| former.operation), request.operation) {
            // the xApp has never seen it
            (Some(Operation::Create), Operation::Delete) => return,
            (Some(Operation::Create), _) => OwnedRequest { operation: Operation::Create, ..request },
            // the xApp has not seen its deletion
            (Some(Operation::Delete), Operation::Create) => OwnedRequest { operation: Operation::Update, ..request },
            _ => request,
        };
        self.waiting_octets += request.octets;
        outbox.waiting.insert(request.key.clone(), request);
    }
}

/// Policies over RMR, for A1.
struct RmrLink(super::port::Port);

impl PolicyLink for RmrLink {
    fn deliver(&self, request: &PolicyRequest<'_>) -> bool {
        let &PolicyRequest { operation, policy_type_id, policy_instance_id, payload } = request;
        self.0.push_policy(OwnedRequest {
            operation,
            key: (policy_type_id, policy_instance_id.to_owned()),
            payload: payload.clone(),
            octets: request.encode().len(),
        })
    }
}

impl MessagingHandle {
    /// The way of policies to xApps over RMR.
    #[must_use]
    pub fn policy_link(&self) -> Box<dyn PolicyLink> {
        Box::new(RmrLink(self.port.clone()))
    }

    /// Has A1 take what xApps say of policies, and what they ask for.
    pub fn serve_a1(&self, a1: &A1) {
        self.port.set_a1(a1.downgrade());
    }
}

impl Messaging {
    /// Addresses the policies that have come, and sends what waits for endpoints that are connected.
    pub(super) fn deliver_policies(&mut self) {
        let requests = self.port.take_policies();
        if !requests.is_empty() {
            self.take_registrations();
        }
        for request in requests {
            self.address_policy(&request);
        }
        if self.policies.waiting_octets == 0 {
            return;
        }
        let (links, policies) = (&mut self.links, &mut self.policies);
        let source = links.source();
        for (name, outbox) in &mut policies.outboxes {
            if outbox.waiting.is_empty() || !links.is_established(outbox.endpoint) {
                continue;
            }
            for (_, request) in std::mem::take(&mut outbox.waiting) {
                policies.waiting_octets -= request.octets;
                let body = request.encode();
                let head = header(request.key.0, body.len(), &source);
                if !links.send_to(outbox.endpoint, &[&head, &body]) && links.log().allow_important(Host::Unknown) {
                    warn!(
                        "A1: policy `{}` of type {} is lost for the xApp at {name}: its outbox is full, as it reads too slowly; let it \
                         ask for the policies of the type (A1_POLICY_QUERY)",
                        request.key.1, request.key.0
                    );
                }
            }
        }
    }

    fn address_policy(&mut self, request: &OwnedRequest) {
        let mut endpoints = Vec::new();
        let policy_type = request.key.0;
        let to = |endpoint: &str| endpoints.push(endpoint.to_owned());
        if self.table.table().select(MessageType::A1_POLICY_REQUEST, policy_type, "", to).is_err() {
            if self.links.log().allow(Host::Unknown) {
                info!(
                    "A1: policy `{}` is not sent over RMR: no route leads to an xApp for policies of type {policy_type}; one that \
                     asks for them gets them",
                    request.key.1
                );
            }
            return;
        }
        for name in endpoints {
            let is_known = self.policies.outboxes.contains_key(&name);
            let is_full = self.policies.waiting_octets + request.octets > MAX_WAITING_OCTETS;
            if is_full || !is_known && self.policies.outboxes.len() == MAX_ENDPOINTS {
                if self.links.log().allow_important(Host::Unknown) {
                    warn!(
                        "A1: policy `{}` of type {policy_type} is lost for the xApp at {name}: {} endpoints and {} octets wait, of \
                         {MAX_ENDPOINTS} and {MAX_WAITING_OCTETS}; remove routes to xApps that are gone, and let it ask for the \
                         policies of the type (A1_POLICY_QUERY)",
                        request.key.1,
                        self.policies.outboxes.len(),
                        self.policies.waiting_octets
                    );
                }
                continue;
            }
            if !is_known {
                let outbox = Outbox { endpoint: self.links.hold(&name, Purpose::Policies), waiting: BTreeMap::new() };
                self.policies.outboxes.insert(name.clone(), outbox);
            }
            let OwnedRequest { operation, ref key, ref payload, octets } = *request;
            self.policies.add(&name, OwnedRequest { operation, key: key.clone(), payload: payload.clone(), octets });
        }
    }

    /// Releases endpoints that no route for policies names any more, such as that of an xApp that has deregistered.
    pub(super) fn release_unrouted(&mut self) {
        if self.policies.outboxes.is_empty() {
            return;
        }
        let records = self.all_records();
        let routed: HashSet<&str> = records.iter().flat_map(|record| policy_endpoints(record)).collect();
        let policies = &mut self.policies;
        for (_, outbox) in policies.outboxes.extract_if(|name, _| !routed.contains(name.as_str())) {
            policies.waiting_octets -= outbox.waiting.values().map(|request| request.octets).sum::<usize>();
            self.links.release(outbox.endpoint, Purpose::Policies);
        }
    }

    /// Drops what waits for an endpoint that cannot be reached.
    pub(super) fn drop_policies_for(&mut self, endpoint: EndpointId) {
        let name = self.policies.outboxes.iter().find(|(_, of)| of.endpoint == endpoint).map(|(name, _)| name.clone());
        let Some((name, outbox)) = name.and_then(|name| self.policies.outboxes.remove_entry(&name)) else { return };
        self.policies.waiting_octets -= outbox.waiting.values().map(|request| request.octets).sum::<usize>();
        if !outbox.waiting.is_empty() && self.links.log().allow_important(Host::Unknown) {
            let ids: Vec<_> = outbox.waiting.values().take(MAX_NAMED).map(|request| request.key.1.as_str()).collect();
            warn!(
                "A1: {} policies are lost for the xApp at {name}, which cannot be reached: `{}`{}; start it, or remove its route; it \
                 gets them when it asks for them (A1_POLICY_QUERY)",
                outbox.waiting.len(),
                ids.join("`, `"),
                if outbox.waiting.len() > MAX_NAMED { ", …" } else { "" }
            );
        }
        self.links.release(outbox.endpoint, Purpose::Policies);
    }

    /// Handles what an xApp says of a policy.
    pub(super) fn policy_response(
        &mut self,
        connection: ConnectionId,
        message: &Message<'_>,
        ric: &mut IappContext<'_>,
    ) {
        let Some((_, host, _)) = self.links.ends(connection) else { return };
        let admitted = match self.policies.responses.take(host, Instant::now()) {
            Ok(()) => self.check_named(connection, message, ric),
            Err(_) => Err(format!("its host sends more than {RESPONSES_PER_SECOND} per second")),
        };
        let result = admitted.and_then(|()| match self.port.a1() {
            Some(a1) => a1.handle_response(message.payload).map_err(|error| error.to_string()),
            None => Err("this RIC has no A1".to_owned()),
        });
        if let Err(why) = result {
            self.complain(connection, &format!("an answer about a policy is dropped: {why}"));
        }
    }

    /// Answers an xApp that asks for the policies of a type.
    pub(super) fn policy_query(&mut self, connection: ConnectionId, message: &Message<'_>, ric: &mut IappContext<'_>) {
        let Some((_, host, _)) = self.links.ends(connection) else { return };
        if self.policies.queries.take(host, Instant::now()).is_err() {
            let why =
                format!("a query of policies is dropped: its host sends more than {QUERIES_PER_SECOND} per second");
            return self.complain(connection, &why);
        }
        let mut answers = Vec::new();
        let result = self.check_named(connection, message, ric).and_then(|()| match self.port.a1() {
            Some(a1) => a1
                .handle_query(message.payload, &mut |request| answers.push((request.policy_type_id, request.encode())))
                .map_err(|error| error.to_string()),
            None => Err("this RIC has no A1".to_owned()),
        });
        if let Err(why) = result {
            return self.complain(connection, &format!("a query of policies is dropped: {why}"));
        }
        let Some((local, ..)) = self.links.ends(connection) else { return };
        let local = local.to_owned();
        for (policy_type, body) in answers {
            let head = header(policy_type, body.len(), &local);
            if !self.links.send(connection, &[&head, &body], Class::Keep) {
                let why = format!(
                    "policies of type {policy_type} that it has asked for are lost: its outbox is full, as it reads too slowly; let \
                     it ask again"
                );
                return self.complain(connection, &why);
            }
        }
    }
}

/// The endpoints of a record `mse|TYPE[,SENDER]|SUBSCRIPTION|ENDPOINTS` or `rte|TYPE[,SENDER]|ENDPOINTS`, if it routes policies.
fn policy_endpoints(record: &str) -> impl Iterator<Item = &str> {
    let kind = record.split('|').nth(1).and_then(|field| field.split(',').next()?.trim().parse().ok());
    let groups = record.rsplit('|').next().filter(|_| kind.map(MessageType) == Some(MessageType::A1_POLICY_REQUEST));
    groups.into_iter().flat_map(|groups| groups.split([';', ','])).map(str::trim)
}

/// The header of A1_POLICY_REQ with a payload of some octets.
fn header(policy_type: i32, payload_octets: usize, source: &str) -> Vec<u8> {
    let mut head = Vec::new();
    Header {
        kind: MessageType::A1_POLICY_REQUEST,
        subscription_id: policy_type,
        source,
        source_address: source,
        ..Header::default()
    }
    .write(payload_octets, &mut head);
    head
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn request(operation: Operation, payload: Value) -> OwnedRequest {
        OwnedRequest { operation, key: (7, "one".to_owned()), octets: payload.to_string().len(), payload }
    }

    /// What waits after requests that an xApp was not sent.
    fn sum(operations: &[Operation]) -> (Option<Operation>, usize) {
        let mut policies = Policies::default();
        policies.outboxes.insert("x:1".to_owned(), Outbox { endpoint: EndpointId(1), waiting: BTreeMap::new() });
        for (at, operation) in operations.iter().enumerate() {
            policies.add("x:1", request(*operation, json!({ "at": at })));
        }
        let waiting = policies.outboxes["x:1"].waiting.values().next();
        if let Some(waiting) = waiting {
            assert_eq!(waiting.payload["at"], operations.len() - 1, "the newest policy waits");
        }
        (waiting.map(|waiting| waiting.operation), policies.waiting_octets)
    }

    #[test]
    fn endpoints_of_routes_for_policies_are_found() {
        let of = |record| policy_endpoints(record).collect::<Vec<_>>();
        assert_eq!(of("mse|20010|7|a:1;b:1,c:1"), ["a:1", "b:1", "c:1"]);
        assert_eq!(of("rte | 20010,ric:4561 | a:1 , b:1"), ["a:1", "b:1"]);
        for other in ["mse|20011|7|a:1", "newrt|start", "", "mse"] {
            assert_eq!(of(other), [""; 0], "{other}");
        }
    }

    #[test]
    fn requests_that_were_not_sent_become_one() {
        use Operation::{Create, Delete, Update};
        assert_eq!(sum(&[Create, Update]), (Some(Create), 8));
        assert_eq!(sum(&[Create, Update, Delete]), (None, 0));
        assert_eq!(sum(&[Update, Delete]), (Some(Delete), 8));
        assert_eq!(sum(&[Delete, Create]), (Some(Update), 8));
        assert_eq!(sum(&[Update, Update]), (Some(Update), 8));
    }
}
