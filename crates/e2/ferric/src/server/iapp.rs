//! Internal apps: what specializes a controller, on the controller's own thread.

use e2::topology::{RanDatabase, RanEvent, UeName, UeRef};
use e2::{
    ConnectionOutcome, ConnectionUpdate, Consumer, Controller, Event, Indication, Misuse, Node, NodeId, RequestEvent,
    SubscriptionChange, SubscriptionId, SubscriptionOrder, Ticket, Time,
};
use e2ap::{Cause, RanFunctionId, RicActionId};

/// An internal app. What it does, it does between two indications of everybody: it must not block.
pub trait Iapp: Send {
    /// Its name, for the log.
    fn name(&self) -> &str;

    /// Something happened.
    fn on_event(&mut self, event: &IappEvent<'_>, ric: &mut IappContext<'_>);

    /// An indication of one of its subscriptions, borrowed: decode what is wanted, when it is wanted.
    fn on_indication(&mut self, indication: &Indication<'_>, ric: &mut IappContext<'_>);

    /// Another thread has something for it: that called [`IappWaker::wake`](super::IappWaker::wake). What it is, the app
    /// finds in a channel of its own, which should be bounded; it may be nothing, since all apps of a server are woken
    /// together, and several calls may be one. An app that leaves something for later wakes itself.
    fn on_wake(&mut self, ric: &mut IappContext<'_>) {
        let _ = ric;
    }
}

/// What happened, as an internal app is told.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum IappEvent<'a> {
    /// A node is there.
    NodeUp(&'a Node),
    /// A node tells of other functions or components than before, or speaks a later version.
    NodeChanged(&'a Node),
    /// A node is gone, and every subscription with it that is not suspended.
    NodeLost(NodeId),
    /// What the nodes make up together has changed: told right after the node's own news, or after a UE was learned.
    Ran(&'a RanEvent),
    /// Something happened to a subscription, control or query of the app.
    Request(&'a RequestEvent),
    /// What became of an update of a node's associations, whoever asked for it.
    ConnectionUpdated {
        /// Of which node.
        node: NodeId,
        /// What became of it.
        outcome: &'a ConnectionOutcome,
    },
    /// A node does not let itself be removed, whoever asked for it.
    RemovalRefused {
        /// Which one.
        node: NodeId,
        /// Why.
        cause: Cause,
    },
}

impl<'a> IappEvent<'a> {
    /// The news as an app is told; what is only for the log is none. `node` is the node that came
    /// or changed, if one did.
    pub(super) fn of(event: &'a Event, node: Option<&'a Node>) -> Option<Self> {
        Some(match event {
            Event::NodeUp(_) => IappEvent::NodeUp(node?),
            Event::NodeChanged(_) => IappEvent::NodeChanged(node?),
            Event::NodeLost { node, .. } => IappEvent::NodeLost(*node),
            Event::Request { event, .. } => IappEvent::Request(event),
            Event::ConnectionUpdated { node, outcome } => IappEvent::ConnectionUpdated { node: *node, outcome },
            Event::RemovalRefused { node, cause } => IappEvent::RemovalRefused { node: *node, cause: *cause },
            // those for the log, and those that this version does not know
            _ => return None,
        })
    }
}

/// What an internal app can ask the controller for.
#[derive(Debug)]
pub struct IappContext<'a> {
    pub(super) controller: &'a mut Controller,
    pub(super) ran: &'a mut RanDatabase,
    pub(super) tickets: &'a mut u32,
    pub(super) now: Time,
    pub(super) consumer: Consumer,
}

impl IappContext<'_> {
    /// What the nodes make up together: base stations, cells, UEs.
    #[must_use]
    pub fn ran(&self) -> &RanDatabase {
        self.ran
    }

    /// A node tells of a UE by all the names that it has for it, as the app has decoded them; see
    /// [`RanDatabase::learn_ue`].
    pub fn learn_ue(&mut self, node: NodeId, names: &[UeName]) -> Option<UeRef> {
        self.ran.learn_ue(self.now, node, names)
    }

    /// A node tells that a UE has left it. Whether it was known.
    pub fn forget_ue(&mut self, node: NodeId, name: &UeName) -> bool {
        self.ran.forget_ue(node, name)
    }

    /// The nodes that have set up.
    pub fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.controller.nodes()
    }

    /// Subscribes to a node's function; the ticket comes back with what becomes of it. A plain
    /// [`SubscriptionSpec`](e2::SubscriptionSpec) will do: it comes back by itself after its node was lost.
    ///
    /// # Errors
    /// Where the command makes no sense.
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

    /// Changes a subscription; the ticket comes back with what becomes of it.
    ///
    /// # Errors
    /// Where the command makes no sense.
    pub fn modify(&mut self, subscription: SubscriptionId, change: SubscriptionChange) -> Result<Ticket, Misuse> {
        let ticket = self.ticket();
        self.controller.modify(self.now, self.consumer, ticket, subscription, change)?;
        Ok(ticket)
    }

    /// Answers an [`IappEvent::ChangeRequired`]: actions that are to stay as they are, each with the cause that the node is
    /// told. The RIC agrees to the rest.
    ///
    /// # Errors
    /// Where nothing is asked about it (any more), or an action is named that was not asked about.
    pub fn answer_change(
        &mut self,
        subscription: SubscriptionId,
        refused: &[(RicActionId, Cause)],
    ) -> Result<(), Misuse> {
        self.controller.answer_change(self.now, self.consumer, subscription, refused)
    }

    /// Leaves a subscription.
    ///
    /// # Errors
    /// Where it is not the app's.
    pub fn unsubscribe(&mut self, subscription: SubscriptionId) -> Result<(), Misuse> {
        self.controller.unsubscribe(self.now, self.consumer, subscription)
    }

    /// Asks a function to do something and to acknowledge it; the ticket comes back with what becomes of it.
    ///
    /// # Errors
    /// Where the command makes no sense.
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

    /// Answers an insert: a control that carries the insert's call process id, and that is to be acknowledged.
    ///
    /// # Errors
    /// Where the command makes no sense.
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

    /// Asks a function something; the ticket comes back with what becomes of it.
    ///
    /// # Errors
    /// Where the command makes no sense.
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

    /// Asks a node which functions it offers. What is new is told by [`IappEvent::NodeChanged`].
    ///
    /// # Errors
    /// Where the command makes no sense.
    pub fn service_query(&mut self, node: NodeId) -> Result<(), Misuse> {
        self.controller.service_query(self.now, node)
    }

    /// Asks a node for other associations. What becomes of it is told by [`IappEvent::ConnectionUpdated`].
    ///
    /// # Errors
    /// Where the command makes no sense.
    pub fn connection_update(&mut self, node: NodeId, update: &ConnectionUpdate) -> Result<(), Misuse> {
        self.controller.connection_update(self.now, node, update)
    }

    /// Lets a node go. It is lost then, or [`IappEvent::RemovalRefused`] tells that it stays.
    ///
    /// # Errors
    /// Where the command makes no sense.
    pub fn remove(&mut self, node: NodeId) -> Result<(), Misuse> {
        self.controller.remove(self.now, node)
    }

    /// Has a node forget all that was asked of it, by whomever.
    ///
    /// # Errors
    /// Where the command makes no sense.
    pub fn reset(&mut self, node: NodeId, cause: Cause) -> Result<(), Misuse> {
        self.controller.reset(self.now, node, cause)
    }

    fn ticket(&mut self) -> Ticket {
        *self.tickets = self.tickets.wrapping_add(1);
        Ticket(*self.tickets)
    }
}
