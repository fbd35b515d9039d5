//! Messages of xApps.

use std::time::Instant;

use ferric::e2::Misuse;
use ferric::e2ap::Version;
use ferric::link::Class;
use ferric::server::{IappContext, RelayError};
use log_lines::{Host, escaped};
use rmr::{Header, Message, MessageType, NO_SUBSCRIPTION, TableEvent, TableText, TableUpdate};
use tracing::{info, warn};

use super::links::{ConnectionId, EndpointId, Purpose};
use super::pdus::{self, Answer, Reference};
use super::quotas::TABLES_PER_SECOND;
use super::refusal::Refusal;
use super::rights::Sender;
use super::subscribing::RmrRequest;
use super::{HEALTH_PERIOD, Health, Messaging, PendingControl, ReplyTo};

/// The types of messages that go to the RIC.
const OF_RIC: &[MessageType] = &[
    MessageType::HEALTH_CHECK_REQUEST,
    MessageType::SUBSCRIPTION_REQUEST,
    MessageType::SUBSCRIPTION_DELETE_REQUEST,
    MessageType::CONTROL_REQUEST,
    MessageType::ALARM,
    MessageType::ALARM_UPDATE,
    #[cfg(feature = "a1")]
    MessageType::A1_POLICY_RESPONSE,
    #[cfg(feature = "a1")]
    MessageType::A1_POLICY_QUERY,
    #[cfg(feature = "a1")]
    MessageType::A1_EI_QUERY_ALL,
    #[cfg(feature = "a1")]
    MessageType::A1_EI_CREATE_JOB,
];

/// The answer of a RIC that is well to a health check, as xApps write it.
const WELL: &[u8] = b"OK\n";
/// The transaction id of health checks of the RIC.
const HEALTH_TRANSACTION: &[u8] = b"health";

impl ReplyTo {
    pub(super) fn of(connection: ConnectionId, message: &Message<'_>) -> Self {
        ReplyTo {
            connection,
            transaction: message.transaction.to_vec(),
            data: message.data.to_vec(),
            meid: message.meid().to_owned(),
        }
    }
}

impl Messaging {
    /// Handles a message. It was read before.
    pub(super) fn message(&mut self, connection: ConnectionId, octets: &[u8], ric: &mut IappContext<'_>) {
        let Ok(message) = Message::read(octets) else { return };
        match message.kind {
            MessageType::TABLE_REQUEST => self.table_request(connection, &message),
            MessageType::TABLE_STATE => self.table_state(connection, &message),
            MessageType::HEALTH_CHECK_REQUEST => {
                let answer = (MessageType::HEALTH_CHECK_RESPONSE, WELL.to_vec());
                self.answer(&ReplyTo::of(connection, &message), NO_SUBSCRIPTION, &answer);
            }
            MessageType::HEALTH_CHECK_RESPONSE => self.health(connection, &message),
            MessageType::ALARM | MessageType::ALARM_UPDATE => self.alarm(connection, &message, ric),
            MessageType::CONTROL_REQUEST => self.control(connection, &message, ric),
            MessageType::CONTROL_ACKNOWLEDGE | MessageType::CONTROL_FAILURE if self.sharing.is_some() => {
                self.answer_of_ric(connection, &message);
            }
            MessageType::SUBSCRIPTION_REQUEST => self.subscription_request(connection, &message, ric),
            MessageType::SUBSCRIPTION_DELETE_REQUEST => self.deletion_request(connection, &message, ric),
            #[cfg(feature = "a1")]
            MessageType::A1_POLICY_RESPONSE => self.policy_response(connection, &message, ric),
            #[cfg(feature = "a1")]
            MessageType::A1_POLICY_QUERY => self.policy_query(connection, &message, ric),
            #[cfg(feature = "a1")]
            MessageType::A1_EI_QUERY_ALL | MessageType::A1_EI_CREATE_JOB => {
                self.enrichment_request(connection, &message, ric);
            }
            kind => self.complain(
                connection,
                &format!(
                    "a message of type {kind} has no route here, and is dropped; give the xApp a route (--rmr-route)"
                ),
            ),
        }
    }

    /// Logs a mistake of an xApp.
    pub(super) fn complain(&self, connection: ConnectionId, what: &str) {
        if let Some((_, host, _)) = self.links.ends(connection)
            && self.links.log().allow(host)
        {
            let from = self.links.endpoint_of(connection).or(self.links.peer_of(connection)).unwrap_or_default();
            let noun = if self.is_ric(from) { "RIC" } else { "xApp" };
            warn!("{noun} at {from}: {}", escaped(what));
        }
    }

    /// Answers a message on its connection.
    pub(super) fn answer(&mut self, to: &ReplyTo, subscription_id: i32, (kind, payload): &Answer) {
        let Some((local, ..)) = self.links.ends(to.connection) else { return };
        let header = Header {
            kind: *kind,
            subscription_id,
            transaction: &to.transaction,
            data: &to.data,
            meid: &to.meid,
            source: local,
            source_address: local,
            ..Header::default()
        };
        let mut octets = Vec::new();
        header.write(payload.len(), &mut octets);
        self.links.send(to.connection, &[&octets, payload], Class::Keep);
    }

    /// Handles a request for the route table.
    fn table_request(&mut self, connection: ConnectionId, request: &Message<'_>) {
        let Some((_, host, _)) = self.links.ends(connection) else { return };
        if self.table_requests.take(host, Instant::now()).is_err() {
            let why = format!(
                "a request for a route table is dropped: its host sends more than {TABLES_PER_SECOND} per second"
            );
            return self.complain(connection, &why);
        }
        if self.links.log().allow(host) {
            let payload = String::from_utf8_lossy(request.payload);
            let name = payload.split(['\0', ' ']).next().unwrap_or_default();
            info!("xApp {} of {host} requests a route table", escaped(name));
        }
        let to = ReplyTo::of(connection, request);
        self.send_table(&to);
        self.table_readers.insert(connection, to);
    }

    /// Sends the route table, in which the RIC is what the xApp has connected to.
    fn send_table(&mut self, to: &ReplyTo) {
        let Some((ric, ..)) = self.links.ends(to.connection) else { return };
        self.tables += 1;
        let mut table = TableText::new(TableUpdate::Whole, &format!("ferric-{}", self.tables));
        OF_RIC.iter().for_each(|kind| table.route_all(*kind, ric));
        // a later record replaces an earlier one: those of the configuration have precedence
        self.all_records().iter().for_each(|record| table.record(record));
        for text in table.finish() {
            self.answer(to, NO_SUBSCRIPTION, &(MessageType::TABLE_DATA, text.into_bytes()));
        }
    }

    /// Takes what registrations of xApps have changed: routes, and the endpoints that are asked for their health.
    pub(super) fn take_registrations(&mut self) {
        if let Some(records) = self.port.take_routes().filter(|records| *records != self.registered_records) {
            self.registered_records = records;
            self.read_table();
            #[cfg(feature = "a1")]
            self.release_unrouted();
            self.send_tables();
            self.share_routes();
        }
        if let Some(endpoints) = self.port.take_watched() {
            let mut former = std::mem::take(&mut self.watched);
            for name in endpoints {
                let of = former.remove(&name).unwrap_or_else(|| (self.links.hold(&name, Purpose::Health), None));
                self.watched.insert(name, of);
            }
            former.into_values().for_each(|(endpoint, _)| self.links.release(endpoint, Purpose::Health));
        }
    }

    /// Sends tables again that were sent.
    pub(super) fn send_tables(&mut self) {
        let readers = std::mem::take(&mut self.table_readers);
        readers.values().for_each(|to| self.send_table(to));
        self.table_readers = readers;
    }

    /// Reads the records of route tables for what the RIC sends by them.
    pub(super) fn read_table(&mut self) {
        let mut text = String::from("newrt|start\n");
        for record in self.all_records() {
            text.push_str(&record);
            text.push('\n');
        }
        text.push_str("newrt|end\n");
        for event in self.table.read(&text) {
            if let TableEvent::Rejected { reason, .. } = event
                && self.links.log().allow(Host::Unknown)
            {
                warn!(
                    "routes of registered xApps, and of the configuration, are not used: {reason}; correct the message types \
                     of the xApps' descriptors, or rmr_routes"
                );
            }
        }
    }

    /// Connects an endpoint again that could not be reached, if its health is of interest.
    pub(super) fn watch_anew(&mut self, endpoint: EndpointId) {
        let name = self.watched.iter().find(|(_, (id, _))| *id == endpoint).map(|(name, _)| name.clone());
        if let Some(name) = name {
            self.links.release(endpoint, Purpose::Health);
            let of = (self.links.hold(&name, Purpose::Health), None);
            self.watched.insert(name, of);
        }
    }

    fn table_state(&self, connection: ConnectionId, message: &Message<'_>) {
        let state = String::from_utf8_lossy(message.payload);
        if !state.starts_with("OK") {
            let state = state.trim_end_matches(['\0', '\n']);
            self.complain(connection, &format!("it does not use the route table: {state}"));
        }
    }

    /// Asks endpoints for their health, once it is time; those that are watched as soon as they are connected.
    pub(super) fn tick(&mut self) {
        let now = Instant::now();
        let mut connections = Vec::new();
        for (endpoint, asked) in self.watched.values_mut() {
            let connection = self.links.established(*endpoint);
            if connection != *asked {
                connections.extend(connection);
                *asked = connection;
            }
        }
        if now.saturating_duration_since(self.asked) >= HEALTH_PERIOD {
            self.asked = now;
            connections = self.links.to_endpoints();
            let endpoints = self.links.endpoints();
            self.port.retain_health(|name| endpoints.iter().any(|endpoint| endpoint.name == name));
        }
        for connection in connections {
            let to =
                ReplyTo { connection, transaction: HEALTH_TRANSACTION.to_vec(), data: Vec::new(), meid: String::new() };
            self.answer(&to, NO_SUBSCRIPTION, &(MessageType::HEALTH_CHECK_REQUEST, Vec::new()));
        }
    }

    fn health(&mut self, connection: ConnectionId, message: &Message<'_>) {
        // the answer comes on the connection of the request, or on one that the xApp has opened
        let endpoint = self.links.endpoint_of(connection).map(str::to_owned);
        let endpoint = endpoint.or_else(|| self.sender(connection, message)?.endpoint());
        let Some(endpoint) = endpoint.filter(|endpoint| self.links.endpoint(endpoint).is_some()) else { return };
        let is_well = message.payload.starts_with(b"OK");
        let before = self.port.set_health(endpoint, Health { is_well, answered: Instant::now() });
        if before.is_none_or(|before| before.is_well) != is_well {
            let text = String::from_utf8_lossy(message.payload);
            let state = if is_well { "it is well again" } else { "it is not well" };
            self.complain(connection, &format!("{state}: {}", text.trim_end()));
        }
    }

    /// What an xApp has said of its health; `None` if it was not asked, or does not answer.
    pub(crate) fn health_of(&self, endpoint: &str) -> Option<bool> {
        self.port.health(endpoint).map(|health| health.is_well)
    }

    fn control(&mut self, connection: ConnectionId, message: &Message<'_>, ric: &mut IappContext<'_>) {
        let node = self.node(message.meid());
        let Some(sender) = self.first_sender(connection, message).or_else(|| self.sender(connection, message)) else {
            return;
        };
        self.take_access(ric);
        let octets = message.payload.len();
        let admitted = self.control_quota.take(sender, octets, Instant::now());
        if node.is_none()
            && admitted.is_ok()
            && let Some(is_awaited) = self.pass_on(connection, message, sender)
        {
            if !is_awaited {
                self.control_quota.ended(sender, octets);
            }
            return;
        }
        let version = node.map(|(_, version)| version).or_else(|| self.version_at_other(message.meid()));
        let version = version.unwrap_or(Version::V2_03);
        let sent = pdus::with_control(message.payload, version, |request| {
            let reference = Reference::of_control(request, version);
            let sent = match (node, admitted) {
                (_, Err(exceeded)) => Err(Refusal::Quota(exceeded)),
                (None, _) => Err(Refusal::Misuse(Misuse::UnknownNode)),
                (Some((node, _)), Ok(())) => {
                    let sent = ric.relay_control_of(self.access.identity(sender), node, request);
                    sent.map_err(|error| match error {
                        RelayError::NotAllowed(lacking) => Refusal::Right { sender, lacking },
                        RelayError::Misuse(misuse) => Refusal::Misuse(misuse),
                    })
                }
            };
            (reference, sent)
        });
        let is_sent = matches!(sent, Ok((_, Ok(_))));
        if admitted.is_ok() && !is_sent {
            self.control_quota.ended(sender, octets);
        }
        let (reference, sent) = match sent {
            Ok(sent) => sent,
            Err(why) => return self.complain(connection, &format!("a control is dropped: {why}")),
        };
        let reply = ReplyTo::of(connection, message);
        match sent {
            Ok(ticket) => {
                self.controls.insert(ticket, PendingControl { reply, reference, sender, octets });
            }
            Err(refusal) => {
                let cause = refusal.cause();
                if let Some(count) = self.refusals.note(sender) {
                    let of = format!("function {} of `{}`", reference.function.0, message.meid());
                    let what = format!("a control for {of} is refused: {refusal} ({count} refusals of it so far)");
                    self.complain(connection, &what);
                    if let Refusal::Quota(exceeded) = &refusal {
                        self.audit.control_over_quota(sender, message.meid(), reference.function.0, exceeded, count);
                    }
                }
                if let Some(answer) = pdus::control_refusal(&reference, cause) {
                    self.answer(&reply, i32::from(reference.request_id.instance), &answer);
                }
            }
        }
    }

    fn subscription_request(&mut self, connection: ConnectionId, message: &Message<'_>, ric: &mut IappContext<'_>) {
        let node = self.node(message.meid());
        let version = node.map_or(Version::V2_03, |(_, version)| version);
        let content = match pdus::read_subscription(message.payload, version) {
            Ok(content) => content,
            Err(why) => return self.complain(connection, &format!("a subscription request is dropped: {why}")),
        };
        let Some(sender) = self.sender(connection, message) else { return };
        self.take_access(ric);
        let reference =
            Reference { request_id: content.request_id, function: content.function, call_process_id: None, version };
        let actions: Vec<_> = content.spec.actions.iter().map(|action| action.id).collect();
        let reply = ReplyTo::of(connection, message);
        let answer_to = ReplyTo::of(connection, message);
        let refusal = match node {
            _ if self.sharing.is_some() => {
                let of = (content.function, &content.spec);
                match self.subscribe_shared(reply, sender, message.payload, of, ric) {
                    Ok(()) => return,
                    Err(refusal) => refusal,
                }
            }
            None => Refusal::Misuse(Misuse::UnknownNode),
            Some((node, _)) => {
                let request = RmrRequest { sender, reply, reference: reference.clone(), function: content.function };
                match self.subscribe_rmr(node, request, content.spec, ric) {
                    Ok(()) => return,
                    Err(refusal) => refusal,
                }
            }
        };
        if let Some(count) = self.refusals.note(sender) {
            let of = format!("function {} of `{}`", reference.function.0, message.meid());
            let what = format!("a subscription to {of} is refused: {refusal} ({count} refusals of it so far)");
            self.complain(connection, &what);
        }
        if let Some(answer) = pdus::subscription_failure(&reference, refusal.cause(), &actions) {
            self.answer(&answer_to, NO_SUBSCRIPTION, &answer);
        }
    }

    fn deletion_request(&mut self, connection: ConnectionId, message: &Message<'_>, ric: &mut IappContext<'_>) {
        let version = self.node(message.meid()).map_or(Version::V2_03, |(_, version)| version);
        let (request_id, function) = match pdus::read_deletion(message.payload, version) {
            Ok(ids) => ids,
            Err(why) => return self.complain(connection, &format!("a deletion is dropped: {why}")),
        };
        let Some(sender) = self.sender(connection, message) else { return };
        // a subscription of another xApp is none that it could delete
        let is_known = match (self.sharing.is_some(), sender.endpoint()) {
            (true, Some(endpoint)) => self.unsubscribe_shared_rmr(message.meid(), &endpoint, request_id, function, ric),
            _ => self.unsubscribe_rmr(sender, request_id, function, ric),
        };
        if !is_known {
            let why = format!("it has no subscription {}", request_id.instance);
            self.audit.deletion(sender, "rmr", &request_id.instance.to_string(), Some(&why));
            if let Some(count) = self.refusals.note(sender) {
                self.complain(connection, &format!("a deletion is refused: {why} ({count} refusals of it so far)"));
            }
        }
        let reference = Reference { request_id, function, call_process_id: None, version };
        if let Some(answer) = pdus::deletion_answer(&reference, is_known) {
            self.answer(&ReplyTo::of(connection, message), i32::from(request_id.instance), &answer);
        }
    }

    /// Checks that the sender of a message may use what is not of a node, such as alarms and policies.
    pub(super) fn check_named(
        &mut self,
        connection: ConnectionId,
        message: &Message<'_>,
        ric: &mut IappContext<'_>,
    ) -> Result<(), String> {
        self.take_access(ric);
        self.access.check_named(self.sender(connection, message))
    }

    /// Who sends a message: the host of its connection, and the port that it states.
    fn sender(&self, connection: ConnectionId, message: &Message<'_>) -> Option<Sender> {
        let (_, _, address) = self.links.ends(connection)?;
        let stated = [message.source_address(), message.source()];
        let port = stated.iter().find_map(|source| source.rsplit_once(':')?.1.parse::<u16>().ok());
        Some(Sender::new(address?, port))
    }

    /// The endpoint at which the sender of a message receives: the host that it is, and the port that it states.
    #[cfg(feature = "a1")]
    pub(super) fn endpoint_of_sender(&self, connection: ConnectionId, message: &Message<'_>) -> Option<String> {
        self.sender(connection, message)?.endpoint()
    }
}
