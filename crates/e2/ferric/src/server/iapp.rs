//! Internal apps (iApps), which run on the thread of the RIC.

use std::fmt;
use std::sync::Arc;

#[cfg(feature = "ue-reports")]
use e2::topology::UeChange;
use e2::topology::{RanDatabase, RanEvent, UeName, UeRef};
use e2::{
    ConnectionOutcome, ConnectionUpdate, Consumer, ConsumerIdentity, Controller, EndedControl, Event, Indication,
    Lacking, Misuse, Node, NodeId, RequestEvent, SubscriptionChange, SubscriptionId, SubscriptionOrder, Ticket, Time,
    XappHost,
};
use e2ap::{Cause, RanFunctionId, RicActionId, RicControlAckRequest, RicControlRequest, RicRequestId};
use link::LinkObserver;

use super::Counters;
use super::indication_counts::IndicationCounts;
use super::log_limiter::{Hosts, LogLimiter};
use super::workers::Workers;
use super::xapp_links::XappLinks;

/// An internal app. It is called between the messages of all nodes and xApps, so that it must not block.
pub trait Iapp: Send {
    /// Returns the name of the app for the log.
    fn name(&self) -> &str;

    /// Handles an event.
    fn on_event(&mut self, event: &IappEvent<'_>, ric: &mut IappContext<'_>);

    /// Handles a RIC Indication of one of the app's subscriptions. It is borrowed; the app decodes what it needs.
    fn on_indication(&mut self, indication: &Indication<'_>, ric: &mut IappContext<'_>);

    /// Continues work that the app has postponed by [`IappContext::call_after_reading`].
    fn after_reading(&mut self, ric: &mut IappContext<'_>) {
        let _ = ric;
    }

    /// Handles a call of [`IappWaker::wake`](super::IappWaker::wake) by another thread, whose request is in a channel
    /// that the app shares with it; the channel should be bounded. There may be no request, since all iApps of a
    /// server are woken together and several calls count as one.
    fn on_wake(&mut self, ric: &mut IappContext<'_>) {
        let _ = ric;
    }

    /// Whether the app is the service that takes messages of xApps of this kind, which are not E2 ([`IappEvent::XappMessage`]).
    /// The first app that does gets them; what no app takes is refused.
    fn serves(&self, kind: u32) -> bool {
        let _ = kind;
        false
    }

    /// Called at the end of each iteration of the event loop: an app that sends on links of its own writes here what the
    /// events and indications of the iteration have queued, all of it at once.
    fn on_iteration_end(&mut self) {}
}

/// An event of an iApp.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum IappEvent<'a> {
    /// A node has set up.
    NodeUp(&'a Node),
    /// The functions or components of a node, or its version of E2AP, have changed.
    NodeChanged(&'a Node),
    /// A node has left regularly: by an E2 Removal, begun by either side, or since it goes to another RIC
    /// ([`IappContext::release`]). [`IappEvent::NodeLost`] follows.
    NodeRemoved(NodeId),
    /// A node is lost, and with it every subscription that is not suspended.
    NodeLost(NodeId),
    /// The RAN database has changed. Follows the event of the node, or [`IappContext::learn_ue`].
    Ran(&'a RanEvent),
    /// The result of a command of the app, or an event of one of its subscriptions.
    Request(&'a RequestEvent),
    /// A control has ended, whichever app sent it.
    ControlEnded(&'a EndedControl),
    /// An E2 Connection Update is complete, whichever app requested it.
    ConnectionUpdated {
        /// The node.
        node: NodeId,
        /// The result.
        outcome: &'a ConnectionOutcome,
    },
    /// A message of an xApp for the service that this app is.
    XappMessage {
        /// The xApp. Its session may have ended.
        xapp: Consumer,
        /// Who it is: its name, and its rights if they are limited.
        identity: &'a ConsumerIdentity,
        /// The host that it is on.
        host: log_lines::Host,
        /// Which message of the service.
        kind: u32,
        /// Its content.
        document: &'a [u8],
    },
    /// The session of an xApp has ended that had sent messages to services.
    XappEnded {
        /// The xApp.
        xapp: Consumer,
        /// Its name: that of its certificate, else the one that it gave itself.
        name: &'a str,
    },
    /// A node refused its removal, whichever app requested it.
    RemovalRefused {
        /// The node.
        node: NodeId,
        /// The cause.
        cause: Cause,
    },
}

impl<'a> IappEvent<'a> {
    /// Returns the event for apps; `None` for events that are only logged. `node` is the node that has set up or
    /// changed, if any.
    pub(super) fn of(event: &'a Event, node: Option<&'a Node>) -> Option<Self> {
        Some(match event {
            Event::NodeUp(_) => IappEvent::NodeUp(node?),
            Event::NodeChanged(_) => IappEvent::NodeChanged(node?),
            Event::NodeLost { node, .. } => IappEvent::NodeLost(*node),
            Event::Request { event, .. } => IappEvent::Request(event),
            Event::ControlEnded(ended) => IappEvent::ControlEnded(ended),
            Event::ConnectionUpdated { node, outcome } => IappEvent::ConnectionUpdated { node: *node, outcome },
            Event::RemovalRefused { node, cause } => IappEvent::RemovalRefused { node: *node, cause: *cause },
            // events for the log only, and unknown ones
            _ => return None,
        })
    }
}

/// Why a control of another sender was not sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RelayError {
    /// The sender has no right to it.
    NotAllowed(Lacking),
    /// It is invalid.
    Misuse(Misuse),
}

/// The context of a call: the commands of an iApp and what it may read.
///
/// Commands return a ticket; the [`IappEvent::Request`] with this ticket is the result.
#[derive(Debug)]
pub struct IappContext<'a> {
    pub(super) controller: &'a mut Controller,
    pub(super) tickets: &'a mut u32,
    pub(super) now: Time,
    pub(super) consumer: Consumer,
    pub(super) log_limiter: &'a LogLimiter,
    pub(super) hosts: &'a Hosts,
    pub(super) host: &'a mut XappHost,
    pub(super) counters: &'a Counters,
    pub(super) insight: Insight<'a>,
    pub(super) watches: &'a mut Vec<Watch>,
    /// The apps that are to be called after reading.
    pub(super) postponed: &'a mut Vec<Consumer>,
}

/// That the PDUs of a node are to be passed to an observer, or to none any more.
pub(super) struct Watch {
    pub node: NodeId,
    pub observer: Option<Arc<dyn LinkObserver>>,
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").field("node", &self.node).field("is_watched", &self.observer.is_some()).finish()
    }
}

/// What of the links and loops an iApp may read.
#[derive(Clone, Copy)]
pub(super) struct Insight<'a> {
    pub counts: &'a IndicationCounts,
    pub xapp_links: &'a XappLinks,
    pub workers: &'a Workers,
}

impl fmt::Debug for Insight<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Insight").finish_non_exhaustive()
    }
}

impl IappContext<'_> {
    /// Returns whether one more log line about a node is allowed, and counts it. All lines that peers of the server cause share
    /// a budget ([`ServerConfig::max_log_lines`](super::ServerConfig::max_log_lines)), of which each host has a share. An app
    /// asks before it logs what a node sent or made happen.
    #[must_use]
    pub fn allows_line(&self, node: NodeId) -> bool {
        self.log_limiter.budget().allow(self.hosts.of_node(node))
    }

    /// Has [`Iapp::after_reading`] called once the event loop has processed everything that it has read. An app that passes
    /// something on does so once for a whole batch, without a system call to wake itself. When `after_reading` itself asks, it is
    /// called again in the next iteration, which begins at once.
    pub fn call_after_reading(&mut self) {
        if !self.postponed.contains(&self.consumer) {
            self.postponed.push(self.consumer);
        }
    }

    /// Sends a message of a service to an xApp, at most 128 KiB. It is never dropped: an xApp that does not read is disconnected.
    /// Returns whether there is such an xApp, whose version of the RIC-xApp protocol has these messages.
    pub fn send_to_xapp(&mut self, xapp: Consumer, kind: u32, document: &[u8]) -> bool {
        self.host.send_service(xapp, kind, document)
    }

    /// Returns whether one more log line about an xApp is allowed, and counts it; see [`IappContext::allows_line`].
    #[must_use]
    pub fn allows_line_about(&self, xapp: Consumer) -> bool {
        let host = self.host.assoc(xapp).map_or(log_lines::Host::Unknown, |assoc| self.hosts.of(assoc));
        self.log_limiter.budget().allow(host)
    }

    /// Returns the database of base stations, cells and UEs that the nodes form.
    #[must_use]
    pub fn ran(&self) -> &RanDatabase {
        self.controller.ran()
    }

    /// Records the identifiers that a node has for a UE, as the app has decoded them; see [`RanDatabase::learn_ue`].
    pub fn learn_ue(&mut self, node: NodeId, names: &[UeName]) -> Option<UeRef> {
        self.controller.ran_mut().learn_ue(self.now, node, names)
    }

    /// Records what a report of a node says of a UE; see [`RanDatabase::apply`].
    #[cfg(feature = "ue-reports")]
    pub fn apply_ue(&mut self, node: NodeId, change: &UeChange) {
        self.controller.ran_mut().apply(self.now, node, change);
    }

    /// Records that a UE has left a node. Returns whether it was known.
    pub fn forget_ue(&mut self, node: NodeId, name: &UeName) -> bool {
        self.controller.ran_mut().forget_ue(node, name)
    }

    /// Returns the time of the server.
    #[must_use]
    pub fn now(&self) -> Time {
        self.now
    }

    /// Returns the nodes that are up.
    pub fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.controller.nodes()
    }

    /// Subscribes to a RAN function of a node. A plain [`SubscriptionSpec`](e2::SubscriptionSpec) is resumed after the
    /// loss of its node.
    ///
    /// # Errors
    /// When the command is invalid.
    pub fn subscribe(
        &mut self,
        node: NodeId,
        function: RanFunctionId,
        order: impl Into<SubscriptionOrder>,
    ) -> Result<Ticket, Misuse> {
        let ticket = self.ticket();
        self.controller.subscribe(self.now, self.consumer, ticket, node, function, order)?;
        Ok(ticket)
    }

    /// Modifies a subscription (E2AP v3).
    ///
    /// # Errors
    /// When the command is invalid.
    pub fn modify(&mut self, subscription: SubscriptionId, change: SubscriptionChange) -> Result<Ticket, Misuse> {
        let ticket = self.ticket();
        self.controller.modify(self.now, self.consumer, ticket, subscription, change)?;
        Ok(ticket)
    }

    /// Answers a [`RequestEvent::ChangeRequired`] with the actions that must stay as they are, each with the cause for
    /// the node. The RIC agrees to the others.
    ///
    /// # Errors
    /// When no answer is expected, or an action is named that is not part of the request.
    pub fn answer_change(
        &mut self,
        subscription: SubscriptionId,
        refused: &[(RicActionId, Cause)],
    ) -> Result<(), Misuse> {
        self.controller.answer_change(self.now, self.consumer, subscription, refused)
    }

    /// Deletes a subscription.
    ///
    /// # Errors
    /// When it does not belong to the app.
    pub fn unsubscribe(&mut self, subscription: SubscriptionId) -> Result<(), Misuse> {
        self.controller.unsubscribe(self.now, self.consumer, subscription)
    }

    /// Sends a control that the function is to acknowledge.
    ///
    /// # Errors
    /// When the command is invalid.
    pub fn control(
        &mut self,
        node: NodeId,
        function: RanFunctionId,
        header: &[u8],
        message: &[u8],
    ) -> Result<Ticket, Misuse> {
        let ticket = self.ticket();
        let (now, consumer) = (self.now, self.consumer);
        self.controller.control(now, consumer, ticket, node, function, header, message, None, true)?;
        Ok(ticket)
    }

    /// Sends a control as another sender has written it: perhaps with the call process id of an insert, and perhaps without a
    /// request for acknowledgement.
    ///
    /// # Errors
    /// When the command is invalid.
    pub fn relay_control(&mut self, node: NodeId, control: &RicControlRequest<'_>) -> Result<Ticket, Misuse> {
        let ticket = self.ticket();
        let (now, consumer, function) = (self.now, self.consumer, control.ran_function_id);
        let (header, message) = (control.header.to_cow(), control.message.to_cow());
        let call = control.call_process_id.as_ref().map(|id| id.to_cow());
        let ack = control.ack_request != Some(RicControlAckRequest::NoAck);
        self.controller.control(now, consumer, ticket, node, function, &header, &message, call.as_deref(), ack)?;
        Ok(ticket)
    }

    /// As [`IappContext::relay_control`], in the name of a sender that is not known to the server, with its rights: the mediator of
    /// controls distinguishes the senders of the app by it.
    ///
    /// # Errors
    /// When the sender has no right to it, or the command is invalid.
    pub fn relay_control_of(
        &mut self,
        sender: ConsumerIdentity,
        node: NodeId,
        control: &RicControlRequest<'_>,
    ) -> Result<Ticket, RelayError> {
        let function = control.ran_function_id;
        let allowed = match (&sender.rights, self.controller.node(node)) {
            (Some(rights), Some(of)) => {
                let (header, message) = (control.header.to_cow(), control.message.to_cow());
                rights.may_control(self.controller.ran(), of, function, &header, &message)
            }
            _ => Ok(()),
        };
        let own = self.controller.identity(self.consumer).cloned();
        self.controller.introduce(self.consumer, sender);
        let result = match allowed {
            Ok(()) => self.relay_control(node, control).map_err(RelayError::Misuse),
            Err(lacking) => {
                self.controller.control_not_allowed(self.now, self.consumer, node, function, &lacking);
                Err(RelayError::NotAllowed(lacking))
            }
        };
        if let Some(own) = own {
            self.controller.introduce(self.consumer, own);
        }
        result
    }

    /// Returns the RIC request id of a subscription: that of its indications.
    #[must_use]
    pub fn request_id(&self, subscription: SubscriptionId) -> RicRequestId {
        self.controller.request_id(subscription)
    }

    /// Answers an insert with a control that carries the insert's call process id and is to be acknowledged.
    ///
    /// # Errors
    /// When the command is invalid.
    pub fn answer_insert(
        &mut self,
        node: NodeId,
        function: RanFunctionId,
        call_process_id: &[u8],
        header: &[u8],
        message: &[u8],
    ) -> Result<Ticket, Misuse> {
        let ticket = self.ticket();
        let (now, consumer, call) = (self.now, self.consumer, Some(call_process_id));
        self.controller.control(now, consumer, ticket, node, function, header, message, call, true)?;
        Ok(ticket)
    }

    /// Sends a query (E2AP v3).
    ///
    /// # Errors
    /// When the command is invalid.
    pub fn query(
        &mut self,
        node: NodeId,
        function: RanFunctionId,
        header: &[u8],
        definition: &[u8],
    ) -> Result<Ticket, Misuse> {
        let ticket = self.ticket();
        self.controller.query(self.now, self.consumer, ticket, node, function, header, definition)?;
        Ok(ticket)
    }

    /// Sends a RIC Service Query. Changed functions are reported by [`IappEvent::NodeChanged`].
    ///
    /// # Errors
    /// When the command is invalid.
    pub fn service_query(&mut self, node: NodeId) -> Result<(), Misuse> {
        self.controller.service_query(self.now, node)
    }

    /// Sends an E2 Connection Update. The result is reported by [`IappEvent::ConnectionUpdated`].
    ///
    /// # Errors
    /// When the command is invalid.
    pub fn connection_update(&mut self, node: NodeId, update: &ConnectionUpdate) -> Result<(), Misuse> {
        self.controller.connection_update(self.now, node, update)
    }

    /// Sends an E2 Removal Request. Either the node is lost, or [`IappEvent::RemovalRefused`] is reported.
    ///
    /// # Errors
    /// When the command is invalid.
    pub fn remove(&mut self, node: NodeId) -> Result<(), Misuse> {
        self.controller.remove(self.now, node)
    }

    /// Closes the associations of a node, so that it sets up again, here or at another RIC. Returns whether it was connected.
    pub fn release(&mut self, node: NodeId) -> bool {
        self.controller.release(self.now, node)
    }

    /// Sends a Reset, which ends all procedures and subscriptions of the node, whichever app has them.
    ///
    /// # Errors
    /// When the command is invalid.
    pub fn reset(&mut self, node: NodeId, cause: Cause) -> Result<(), Misuse> {
        self.controller.reset(self.now, node, cause)
    }

    /// Passes each E2AP PDU of a node, in either direction, to an observer from now on, in place of the one that was given before;
    /// `None` ends that. Without it, PDUs cost nothing more. The observer is called on the event loop of the node's link and must
    /// not block. To be repeated after [`IappEvent::ConnectionUpdated`], for new associations of the node.
    pub fn watch(&mut self, node: NodeId, observer: Option<Arc<dyn LinkObserver>>) {
        self.watches.push(Watch { node, observer });
    }

    fn ticket(&mut self) -> Ticket {
        *self.tickets = self.tickets.wrapping_add(1);
        Ticket(*self.tickets)
    }
}
