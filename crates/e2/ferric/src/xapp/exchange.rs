//! What goes over an xApp's link.

use std::time::{Duration, Instant};

use e2::xapp::RicMessage;
use e2::{NodeId, RequestEvent, SubscribeError, SubscriptionEnd};
use e2ap::{GlobalE2NodeId, GlobalRicId, Version};
use link::{Class, Interest, StreamId};

use super::commands::Desk;
use super::event::named;
use super::kept::{Asked, Taken};
use super::{Commands, Indication, LINK_TOKEN, Session, Xapp, XappConfig, XappEvent};
use crate::Error;
use crate::event_loop::STOP_TOKEN;

const BUDGET_OCTETS: usize = 256 * 1024;

/// What came, the welcome included.
pub(super) enum Raw<'a> {
    Welcome(GlobalRicId),
    News(XappEvent<'a>),
}

fn fatal(code: e2::RefusalCode) -> bool {
    use e2::RefusalCode as Code;
    matches!(code, Code::Version | Code::Protocol | Code::NotAllowed)
}

impl Desk {
    /// Translates the RIC's ids of subscriptions to the session's own, and the answer to a repeated subscription to what it
    /// means to the app. `key` returns the global id of a node.
    fn translate(&mut self, event: RequestEvent, key: impl FnOnce(NodeId) -> Option<GlobalE2NodeId>) -> RequestEvent {
        let kept = &mut self.kept;
        match event {
            RequestEvent::Subscribed { ticket, subscription, admitted, not_admitted } => {
                match kept.subscribed(ticket, subscription, key) {
                    Taken::New(subscription) => {
                        RequestEvent::Subscribed { ticket, subscription, admitted, not_admitted }
                    }
                    Taken::Again(subscription, node) => {
                        RequestEvent::SubscriptionResumed { subscription, node, admitted, not_admitted }
                    }
                }
            }
            RequestEvent::SubscriptionFailed { ticket, error } => match kept.answered(ticket) {
                Some(Asked::Subscribe { again: Some(subscription), .. }) => {
                    kept.forget(subscription);
                    let end = match error {
                        SubscribeError::Refused { cause, .. } => SubscriptionEnd::ByNode(cause),
                        _ => SubscriptionEnd::NotRestored,
                    };
                    RequestEvent::SubscriptionEnded { subscription, end }
                }
                _ => RequestEvent::SubscriptionFailed { ticket, error },
            },
            RequestEvent::SubscriptionEnded { subscription, end } => {
                RequestEvent::SubscriptionEnded { subscription: kept.ended(subscription), end }
            }
            RequestEvent::SubscriptionSuspended(subscription) => {
                RequestEvent::SubscriptionSuspended(kept.local(subscription))
            }
            RequestEvent::SubscriptionResumed { subscription, node, admitted, not_admitted } => {
                let subscription = kept.local(subscription);
                RequestEvent::SubscriptionResumed { subscription, node, admitted, not_admitted }
            }
            RequestEvent::ChangeRequired { subscription, remove, modify } => {
                RequestEvent::ChangeRequired { subscription: kept.local(subscription), remove, modify }
            }
            RequestEvent::SubscriptionChanged { subscription, removed, modified } => {
                RequestEvent::SubscriptionChanged { subscription: kept.local(subscription), removed, modified }
            }
            RequestEvent::Modified { ticket, subscription, outcome } => {
                let subscription = match kept.answered(ticket) {
                    Some(Asked::Modify(subscription)) => subscription,
                    _ => kept.local(subscription),
                };
                RequestEvent::Modified { ticket, subscription, outcome }
            }
            RequestEvent::Controlled { ticket, outcome } => {
                kept.answered(ticket);
                self.verifications.answered(ticket, &outcome, Instant::now);
                RequestEvent::Controlled { ticket, outcome }
            }
            RequestEvent::Queried { ticket, outcome } => {
                kept.answered(ticket);
                RequestEvent::Queried { ticket, outcome }
            }
            other => other,
        }
    }
}

impl Xapp {
    pub(super) fn exchange(
        &mut self,
        patience: Option<Duration>,
        handle: &mut dyn FnMut(Raw<'_>, &mut Commands<'_>),
    ) -> Result<(), Error> {
        self.write()?;
        // a verdict is told in time, and so is the end of a RIC's patience
        let greeting = match self.session {
            Session::Greeting(by) => Some(by),
            Session::Open | Session::Lost(_) => None,
        };
        let deadline = [self.desk.verifications.deadline(), greeting].into_iter().flatten().min();
        let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
        let patience = [patience, left].into_iter().flatten().min();
        self.poll.wait(&mut self.events, patience).map_err(Error::epoll)?;
        let (mut readable, mut writable) = (false, false);
        for event in self.events.iter().filter(|e| e.token != STOP_TOKEN) {
            readable |= event.readable;
            writable |= event.writable;
        }
        if readable {
            self.read(handle)?;
        }
        if self.desk.verifications.deadline().is_some() {
            for (ticket, verdict) in self.desk.verifications.expired(Instant::now()) {
                handle(Raw::News(XappEvent::Verified { ticket, verdict }), &mut Commands(&mut self.desk));
            }
        }
        if writable || !self.desk.ends.is_empty() {
            self.write()?;
        }
        Ok(())
    }

    fn read(&mut self, handle: &mut dyn FnMut(Raw<'_>, &mut Commands<'_>)) -> Result<(), Error> {
        let Xapp { link: Some(link), scratch, nodes, config: XappConfig { encodings, .. }, desk, .. } = self else {
            return Ok(());
        };
        let mut failed = None;
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
            let news = match event {
                RicMessage::Welcome { ric_id, .. } => {
                    return handle(Raw::Welcome(ric_id), &mut Commands(desk));
                }
                RicMessage::Refused(code) if fatal(code) => {
                    failed = Some(Error::Refused(code));
                    return;
                }
                RicMessage::Refused(code) => {
                    tracing::warn!(?code, "the RIC refuses a command");
                    return;
                }
                RicMessage::NodeUp(node) => {
                    let (id, key) = (node.id, node.global_id);
                    nodes.insert(id, node);
                    handle(Raw::News(XappEvent::NodeUp(&nodes[&id])), &mut Commands(desk));
                    for (local, function, order) in desk.kept.to_ask(id, key) {
                        desk.subscribe(id, function, order, Some(local));
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
                        let commands = &mut Commands(desk);
                        handle(Raw::News(XappEvent::NodeLost(&node)), commands);
                    }
                    return;
                }
                RicMessage::Envelope(envelope) => {
                    // a node that speaks a newer version than its setup told shares this message's wire format
                    let version = nodes.get(&envelope.node).map_or(Version::V2_03, |node| node.version);
                    let codec = nodes.get(&envelope.node).and_then(|node| named(encodings, &node.encoding));
                    let indication = Indication {
                        node: envelope.node,
                        subscription: desk.kept.local(envelope.subscription),
                        version,
                        codec,
                        pdu: envelope.pdu,
                    };
                    handle(Raw::News(XappEvent::Indication(indication)), &mut Commands(desk));
                    for (ticket, verdict) in desk.verifications.reported(&indication) {
                        handle(Raw::News(XappEvent::Verified { ticket, verdict }), &mut Commands(desk));
                    }
                    return;
                }
                RicMessage::Request(event) => {
                    let key = |node| nodes.get(&node).map(|node| node.global_id);
                    XappEvent::Request(desk.translate(event, key))
                }
                RicMessage::Dropped { reports } => XappEvent::Dropped(reports),
                other => {
                    tracing::debug!(message = ?other, "message of the RIC ignored");
                    return;
                }
            };
            handle(Raw::News(news), &mut Commands(desk));
        });
        match failed {
            Some(error) => Err(error),
            None => Ok(received.map(drop)?),
        }
    }

    /// Sends what was asked for, and writes.
    pub(super) fn write(&mut self) -> Result<(), Error> {
        let Xapp { link: Some(link), desk: Desk { ends, bytes, .. }, .. } = self else { return Ok(()) };
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
