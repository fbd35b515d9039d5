//! Messages of xApps.

use std::time::Instant;

use ferric::e2::Misuse;
use ferric::e2ap::{Cause, CauseMisc, CauseRicRequest, Version};
use ferric::link::Class;
use ferric::server::IappContext;
use log_lines::escaped;
use rmr::{Header, Message, MessageType, NO_SUBSCRIPTION, TableText, TableUpdate};
use tracing::{info, warn};

use super::links::ConnectionId;
use super::merging::Holder;
use super::pdus::{self, Answer, Reference};
use super::subscribing::{Owner, Refused};
use super::{HEALTH_PERIOD, Messaging, PendingControl, ReplyTo, endpoint_name};

/// The answer of a RIC that is well to a health check, as xApps write it.
const WELL: &[u8] = b"OK\n";
/// The transaction id of health checks of the RIC.
const HEALTH_TRANSACTION: &[u8] = b"health";

impl ReplyTo {
    fn of(connection: ConnectionId, message: &Message<'_>) -> Self {
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
            MessageType::TABLE_REQUEST => self.send_table(connection, &message),
            MessageType::TABLE_STATE => self.table_state(connection, &message),
            MessageType::HEALTH_CHECK_REQUEST => {
                let answer = (MessageType::HEALTH_CHECK_RESPONSE, WELL.to_vec());
                self.answer(&ReplyTo::of(connection, &message), NO_SUBSCRIPTION, &answer);
            }
            MessageType::HEALTH_CHECK_RESPONSE => self.health(connection, &message),
            MessageType::CONTROL_REQUEST => self.control(connection, &message, ric),
            MessageType::SUBSCRIPTION_REQUEST => self.subscription_request(connection, &message, ric),
            MessageType::SUBSCRIPTION_DELETE_REQUEST => self.deletion_request(connection, &message, ric),
            kind => self.complain(connection, &format!("a message of type {kind} has no route here: it is dropped")),
        }
    }

    /// Logs a mistake of an xApp.
    fn complain(&self, connection: ConnectionId, what: &str) {
        if let Some((_, host, _)) = self.links.ends(connection)
            && self.links.log().allow(host)
        {
            let from = self.links.endpoint_of(connection).map_or_else(|| host.to_string(), str::to_owned);
            warn!("xApp at {from}: {}", escaped(what));
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

    /// Sends the route table, in which the RIC is what the xApp has connected to.
    fn send_table(&mut self, connection: ConnectionId, request: &Message<'_>) {
        let Some((ric, host, _)) = self.links.ends(connection) else { return };
        self.tables += 1;
        let mut table = TableText::new(TableUpdate::Whole, &format!("ferric-{}", self.tables));
        for kind in [
            MessageType::HEALTH_CHECK_REQUEST,
            MessageType::SUBSCRIPTION_REQUEST,
            MessageType::SUBSCRIPTION_DELETE_REQUEST,
            MessageType::CONTROL_REQUEST,
        ] {
            table.route_all(kind, ric);
        }
        self.table_records.iter().for_each(|record| table.record(record));
        if self.links.log().allow(host) {
            let payload = String::from_utf8_lossy(request.payload);
            let name = payload.split(['\0', ' ']).next().unwrap_or_default();
            info!("xApp {} of {host} requests a route table", escaped(name));
        }
        let to = ReplyTo::of(connection, request);
        for text in table.finish() {
            self.answer(&to, NO_SUBSCRIPTION, &(MessageType::TABLE_DATA, text.into_bytes()));
        }
    }

    fn table_state(&self, connection: ConnectionId, message: &Message<'_>) {
        let state = String::from_utf8_lossy(message.payload);
        if !state.starts_with("OK") {
            let state = state.trim_end_matches(['\0', '\n']);
            self.complain(connection, &format!("it does not use the route table: {state}"));
        }
    }

    /// Asks endpoints for their health, once it is time.
    pub(super) fn tick(&mut self) {
        let now = Instant::now();
        if now.saturating_duration_since(self.asked) < HEALTH_PERIOD {
            return;
        }
        self.asked = now;
        for connection in self.links.to_endpoints() {
            let to =
                ReplyTo { connection, transaction: HEALTH_TRANSACTION.to_vec(), data: Vec::new(), meid: String::new() };
            self.answer(&to, NO_SUBSCRIPTION, &(MessageType::HEALTH_CHECK_REQUEST, Vec::new()));
        }
        let endpoints = self.links.endpoints();
        self.health.retain(|name, _| endpoints.iter().any(|endpoint| endpoint.name == *name));
    }

    fn health(&mut self, connection: ConnectionId, message: &Message<'_>) {
        // the answer comes on the connection of the request, or on one that the xApp has opened
        let endpoint = self.links.endpoint_of(connection).map(str::to_owned);
        let endpoint = endpoint.or_else(|| self.endpoint_of_sender(connection, message));
        let Some(endpoint) = endpoint.filter(|endpoint| self.links.endpoint(endpoint).is_some()) else { return };
        let is_well = message.payload.starts_with(b"OK");
        let before = self.health.insert(endpoint, is_well);
        if before.unwrap_or(true) != is_well {
            let text = String::from_utf8_lossy(message.payload);
            let state = if is_well { "it is well again" } else { "it is not well" };
            self.complain(connection, &format!("{state}: {}", text.trim_end()));
        }
    }

    /// What an xApp has said of its health; `None` if it was not asked, or does not answer.
    pub(crate) fn health_of(&self, endpoint: &str) -> Option<bool> {
        self.health.get(endpoint).copied()
    }

    fn control(&mut self, connection: ConnectionId, message: &Message<'_>, ric: &mut IappContext<'_>) {
        let node = self.node(message.meid());
        let version = node.map_or(Version::V2_03, |(_, version)| version);
        let sender = self.endpoint_of_sender(connection, message);
        let sender = sender.or_else(|| self.links.ends(connection).map(|(_, host, _)| host.to_string()));
        let sender = format!("rmr:{}", sender.unwrap_or_default());
        let sent = pdus::with_control(message.payload, version, |request| {
            let reference = Reference {
                request_id: request.request_id,
                function: request.ran_function_id,
                call_process_id: request.call_process_id.as_ref().map(|id| id.to_cow().into_owned()),
                version,
            };
            let sent = match node {
                Some((node, _)) => ric.relay_control_of(&sender, node, request),
                None => Err(Misuse::UnknownNode),
            };
            (reference, sent)
        });
        let (reference, sent) = match sent {
            Ok(sent) => sent,
            Err(why) => return self.complain(connection, &format!("a control is dropped: {why}")),
        };
        let reply = ReplyTo::of(connection, message);
        match sent {
            Ok(ticket) => {
                self.controls.insert(ticket, PendingControl { reply, reference });
            }
            Err(misuse) => {
                self.complain(connection, &format!("a control for `{}` is refused: {misuse}", message.meid()));
                if let Some(answer) = pdus::control_refusal(&reference, cause_of(misuse)) {
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
        let reference =
            Reference { request_id: content.request_id, function: content.function, call_process_id: None, version };
        let actions: Vec<_> = content.spec.actions.iter().map(|action| action.id).collect();
        let reply = ReplyTo::of(connection, message);
        let endpoint = self.endpoint_of_sender(connection, message);
        let refused = match (node, endpoint) {
            (Some((node, _)), Some(endpoint)) => {
                let endpoint = Some(self.links.hold(&endpoint));
                let owner = Owner::Rmr { reply: Some(reply), reference: reference.clone() };
                match self.subscribe(node, content.function, content.spec, Holder { endpoint, owner }, ric) {
                    Ok(()) => return,
                    Err(refused) => {
                        let Refused { holder, misuse } = *refused;
                        if let Some(endpoint) = holder.endpoint {
                            self.links.release(endpoint);
                        }
                        self.complain(
                            connection,
                            &format!("a subscription for `{}` is refused: {misuse}", message.meid()),
                        );
                        let Owner::Rmr { reply: Some(reply), .. } = holder.owner else { return };
                        (reply, cause_of(misuse))
                    }
                }
            }
            (None, _) => {
                self.complain(connection, &format!("a subscription is refused: there is no node `{}`", message.meid()));
                (reply, Cause::Misc(CauseMisc::Unspecified))
            }
            (Some(_), None) => {
                self.complain(connection, "a subscription is refused: its message does not state the port of the xApp");
                (reply, Cause::Misc(CauseMisc::Unspecified))
            }
        };
        let (reply, cause) = refused;
        if let Some(answer) = pdus::subscription_failure(&reference, cause, &actions) {
            self.answer(&reply, NO_SUBSCRIPTION, &answer);
        }
    }

    fn deletion_request(&mut self, connection: ConnectionId, message: &Message<'_>, ric: &mut IappContext<'_>) {
        let version = self.node(message.meid()).map_or(Version::V2_03, |(_, version)| version);
        let (request_id, function) = match pdus::read_deletion(message.payload, version) {
            Ok(ids) => ids,
            Err(why) => return self.complain(connection, &format!("a deletion is dropped: {why}")),
        };
        let endpoint = self.endpoint_of_sender(connection, message);
        let is_known = endpoint.is_some_and(|endpoint| self.unsubscribe_rmr(&endpoint, request_id, function, ric));
        if !is_known {
            self.complain(
                connection,
                &format!("a deletion is refused: it has no subscription {}", request_id.instance),
            );
        }
        let reference = Reference { request_id, function, call_process_id: None, version };
        if let Some(answer) = pdus::deletion_answer(&reference, is_known) {
            self.answer(&ReplyTo::of(connection, message), i32::from(request_id.instance), &answer);
        }
    }

    /// The endpoint at which the sender of a message receives: the host that it is, and the port that it states.
    fn endpoint_of_sender(&self, connection: ConnectionId, message: &Message<'_>) -> Option<String> {
        let (_, _, address) = self.links.ends(connection)?;
        let stated = [message.source_address(), message.source()];
        let port = stated.iter().find_map(|source| source.rsplit_once(':')?.1.parse::<u16>().ok())?;
        Some(endpoint_name(&address?.to_canonical().to_string(), port)).filter(|_| port != 0)
    }
}

/// The E2AP cause that is nearest to the reason of a refusal.
fn cause_of(misuse: Misuse) -> Cause {
    match misuse {
        Misuse::UnknownFunction => Cause::RicRequest(CauseRicRequest::RanFunctionIdInvalid),
        Misuse::TooManyRequests | Misuse::NodeBusy | Misuse::NoRequestId => {
            Cause::Misc(CauseMisc::ControlProcessingOverload)
        }
        Misuse::BadActions => Cause::RicRequest(CauseRicRequest::ActionNotSupported),
        _ => Cause::Misc(CauseMisc::Unspecified),
    }
}
