//! The exchange of messages over an xApp's link.

use std::time::{Duration, Instant};

use e2::xapp::{OLDEST_PROTOCOL_VERSION, ProtocolError, RicMessage};
use e2::{NodeId, RequestEvent, SubscribeError, SubscriptionEnd};
use e2ap::{GlobalE2NodeId, GlobalRicId, Version};
use link::{Class, Interest, StreamId};

use super::commands::RequestQueue;
use super::event::codec_by_name;
use super::session_state::{PendingRequest, SubscribedAs};
use super::{Commands, ConnectionState, Indication, LINK_TOKEN, Xapp, XappConfig, XappEvent};
use crate::Error;
use crate::event_loop::STOP_TOKEN;

const BUDGET_OCTETS: usize = 256 * 1024;

/// What was received: the welcome, or an event.
pub(super) enum SessionEvent<'a> {
    Welcome(GlobalRicId),
    Event(XappEvent<'a>),
}

fn is_fatal(code: e2::RefusalCode) -> bool {
    use e2::RefusalCode as Code;
    matches!(code, Code::Version | Code::Protocol | Code::NotAllowed)
}

impl RequestQueue {
    /// Translates the RIC's ids of subscriptions to the session's own, and the answer to a repeated subscription to
    /// its meaning for the xApp. `key` returns the global id of a node.
    fn translate(&mut self, event: RequestEvent, key: impl FnOnce(NodeId) -> Option<GlobalE2NodeId>) -> RequestEvent {
        let state = &mut self.state;
        match event {
            RequestEvent::Subscribed { ticket, subscription, admitted, not_admitted } => {
                match state.subscribed(ticket, subscription, key) {
                    SubscribedAs::New(subscription) => {
                        RequestEvent::Subscribed { ticket, subscription, admitted, not_admitted }
                    }
                    SubscribedAs::Existing(subscription, node) => {
                        RequestEvent::SubscriptionResumed { subscription, node, admitted, not_admitted }
                    }
                }
            }
            RequestEvent::SubscriptionFailed { ticket, error } => match state.take_request(ticket) {
                Some(PendingRequest::Subscribe { resumes: Some(subscription), .. }) => {
                    state.forget(subscription);
                    let end = match error {
                        SubscribeError::Refused { cause, .. } => SubscriptionEnd::ByNode(cause),
                        _ => SubscriptionEnd::NotRestored,
                    };
                    RequestEvent::SubscriptionEnded { subscription, end }
                }
                _ => RequestEvent::SubscriptionFailed { ticket, error },
            },
            RequestEvent::SubscriptionEnded { subscription, end } => {
                RequestEvent::SubscriptionEnded { subscription: state.ended(subscription), end }
            }
            RequestEvent::SubscriptionSuspended(subscription) => {
                RequestEvent::SubscriptionSuspended(state.local(subscription))
            }
            RequestEvent::SubscriptionResumed { subscription, node, admitted, not_admitted } => {
                let subscription = state.local(subscription);
                RequestEvent::SubscriptionResumed { subscription, node, admitted, not_admitted }
            }
            RequestEvent::ChangeRequired { subscription, remove, modify } => {
                RequestEvent::ChangeRequired { subscription: state.local(subscription), remove, modify }
            }
            RequestEvent::SubscriptionChanged { subscription, removed, modified } => {
                RequestEvent::SubscriptionChanged { subscription: state.local(subscription), removed, modified }
            }
            RequestEvent::Modified { ticket, subscription, outcome } => {
                let subscription = match state.take_request(ticket) {
                    Some(PendingRequest::Modify(subscription)) => subscription,
                    _ => state.local(subscription),
                };
                RequestEvent::Modified { ticket, subscription, outcome }
            }
            RequestEvent::Controlled { ticket, outcome } => {
                state.take_request(ticket);
                self.verifications.answered(ticket, &outcome, Instant::now);
                RequestEvent::Controlled { ticket, outcome }
            }
            RequestEvent::Queried { ticket, outcome } => {
                state.take_request(ticket);
                RequestEvent::Queried { ticket, outcome }
            }
            other => other,
        }
    }
}

impl Xapp {
    pub(super) fn exchange(
        &mut self,
        timeout: Option<Duration>,
        handle: &mut dyn FnMut(SessionEvent<'_>, &mut Commands<'_>),
    ) -> Result<(), Error> {
        self.finish_lookup()?;
        self.write()?;
        // verdicts, a host name and a missing welcome have deadlines
        let welcome_deadline = match self.connection {
            ConnectionState::AwaitingWelcome(by) => Some(by),
            ConnectionState::Open | ConnectionState::Lost(_) => None,
        };
        let deadline = [self.requests.verifications.deadline(), welcome_deadline].into_iter().flatten().min();
        let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
        let timeout = [timeout, left].into_iter().flatten().min();
        self.poll.wait(&mut self.events, timeout).map_err(Error::epoll)?;
        let (mut readable, mut writable) = (false, false);
        for event in self.events.iter().filter(|e| e.token != STOP_TOKEN) {
            readable |= event.readable;
            writable |= event.writable;
        }
        self.finish_lookup()?;
        if readable {
            self.read(handle)?;
        }
        if self.requests.verifications.deadline().is_some() {
            for (ticket, verdict) in self.requests.verifications.expired(Instant::now()) {
                handle(
                    SessionEvent::Event(XappEvent::Verified { ticket, verdict }),
                    &mut Commands::of(&mut self.requests),
                );
            }
        }
        if writable || !self.requests.ends.is_empty() {
            self.write()?;
        }
        Ok(())
    }

    fn read(&mut self, handle: &mut dyn FnMut(SessionEvent<'_>, &mut Commands<'_>)) -> Result<(), Error> {
        let Xapp {
            link: Some(link), scratch, nodes, config: XappConfig { encodings, .. }, requests, connection, ..
        } = self
        else {
            return Ok(());
        };
        let mut failed = None;
        let mut is_open = *connection == ConnectionState::Open;
        let received = link.receive(scratch, BUDGET_OCTETS, &mut |_stream, pdu| {
            if failed.is_some() {
                return;
            }
            let event = match RicMessage::decode(pdu) {
                Ok(event) => event,
                Err(error) => {
                    failed = Some(Error::Protocol(error));
                    return;
                }
            };
            if is_open == matches!(event, RicMessage::Welcome { .. }) && !matches!(event, RicMessage::Refused(_)) {
                failed = Some(Error::Protocol(ProtocolError::OutOfOrder));
                return;
            }
            is_open = true;
            let xapp_event = match event {
                RicMessage::Welcome { version, ric_id } => {
                    requests.version = version;
                    requests.has_services = version > OLDEST_PROTOCOL_VERSION;
                    return handle(SessionEvent::Welcome(ric_id), &mut Commands::of(requests));
                }
                RicMessage::Refused(code) if is_fatal(code) => {
                    failed = Some(Error::Refused(code));
                    return;
                }
                RicMessage::Refused(e2::RefusalCode::NoService) => XappEvent::NoService,
                RicMessage::Refused(code) => {
                    tracing::warn!("command refused by the RIC: {code}");
                    return;
                }
                RicMessage::NodeUp(node) => {
                    let (id, key) = (node.id, node.global_id);
                    nodes.insert(id, node);
                    handle(SessionEvent::Event(XappEvent::NodeUp(&nodes[&id])), &mut Commands::of(requests));
                    for (local, function, order) in requests.state.to_resubscribe(id, key) {
                        requests.subscribe(id, function, order, Some(local));
                    }
                    return;
                }
                RicMessage::NodeChanged(node) => {
                    let id = node.id;
                    nodes.insert(id, node);
                    XappEvent::NodeChanged(&nodes[&id])
                }
                RicMessage::NodeLost(id) => {
                    if let Some(node) = nodes.remove(&id) {
                        let commands = &mut Commands::of(requests);
                        handle(SessionEvent::Event(XappEvent::NodeLost(&node)), commands);
                    }
                    return;
                }
                RicMessage::Envelope(envelope) => {
                    // a node may use a newer version than in its setup; this message has the same format there
                    let node = nodes.get(&envelope.node);
                    let version = node.map_or(Version::V2_03, |node| node.version);
                    let codec = node.and_then(|node| codec_by_name(encodings, &node.encoding));
                    let indication = Indication {
                        node: envelope.node,
                        subscription: requests.state.local(envelope.subscription),
                        version,
                        codec,
                        pdu: envelope.pdu,
                    };
                    handle(SessionEvent::Event(XappEvent::Indication(indication)), &mut Commands::of(requests));
                    for (ticket, verdict) in requests.verifications.reported(&indication) {
                        handle(
                            SessionEvent::Event(XappEvent::Verified { ticket, verdict }),
                            &mut Commands::of(requests),
                        );
                    }
                    return;
                }
                RicMessage::Request(event) => {
                    let key = |node| nodes.get(&node).map(|node| node.global_id);
                    XappEvent::Request(requests.translate(event, key))
                }
                RicMessage::Service { kind, document } => XappEvent::Service { kind, document },
                RicMessage::Dropped { reports } => XappEvent::ReportsDropped(reports),
                other => {
                    tracing::debug!(message = ?other, "message of the RIC ignored");
                    return;
                }
            };
            handle(SessionEvent::Event(xapp_event), &mut Commands::of(requests));
        });
        match failed {
            Some(error) => Err(error),
            None => Ok(received.map(drop)?),
        }
    }

    /// Sends the queued commands, and writes.
    pub(super) fn write(&mut self) -> Result<(), Error> {
        let Xapp { link: Some(link), requests: RequestQueue { ends, bytes, .. }, .. } = self else { return Ok(()) };
        let mut start = 0;
        for end in ends.drain(..) {
            link.send(StreamId(0), &[&bytes[start..end]], Class::Keep)?;
            start = end;
        }
        bytes.clear();
        link.flush()?;
        let wanted = link.wants_write();
        if wanted != self.writable_wanted {
            self.writable_wanted = wanted;
            let interest = if wanted { Interest::READ_WRITE } else { Interest::READ };
            self.poll.modify(link, LINK_TOKEN, interest).map_err(Error::epoll)?;
        }
        Ok(())
    }
}
