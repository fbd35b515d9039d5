//! Internal apps: what specializes a controller, on the controller's own thread.

use e2::{
    Consumer, ControlOutcome, Controller, Event, Indication, Misuse, Node, NodeId, SubscribeError, SubscriptionEnd,
    SubscriptionId, SubscriptionSpec, Ticket, Time,
};
use e2ap::{Cause, RanFunctionId, RicActionId};

/// An internal app. What it does, it does between two indications of everybody: it must not block.
pub trait Iapp: Send {
    /// Its name, for the log.
    fn name(&self) -> &str;

    /// Something happened.
    fn on_event(&mut self, event: &IappEvent<'_>, ric: &mut Ric<'_>);

    /// An indication of one of its subscriptions, borrowed: decode what is wanted, when it is wanted.
    fn on_indication(&mut self, indication: &Indication<'_>, ric: &mut Ric<'_>);
}

/// What happened, as an internal app is told.
#[derive(Clone, Debug)]
pub enum IappEvent<'a> {
    /// A node is there.
    NodeUp(&'a Node),
    /// A node is gone, and every subscription with it.
    NodeLost(NodeId),
    /// A subscription of the app stands.
    Subscribed {
        /// Of which command.
        ticket: Ticket,
        /// Its name from now on.
        subscription: SubscriptionId,
        /// Actions that are set up.
        admitted: &'a [RicActionId],
        /// Actions that are not, and why.
        not_admitted: &'a [(RicActionId, Cause)],
    },
    /// A subscription of the app does not stand.
    SubscriptionFailed {
        /// Of which command.
        ticket: Ticket,
        /// Why.
        error: &'a SubscribeError,
    },
    /// A subscription of the app stands no more.
    SubscriptionEnded {
        /// Which one.
        subscription: SubscriptionId,
        /// Why.
        end: SubscriptionEnd,
    },
    /// What became of a control of the app.
    Controlled {
        /// Of which command.
        ticket: Ticket,
        /// What became of it.
        outcome: &'a ControlOutcome,
    },
}

impl<'a> IappEvent<'a> {
    /// The news as an app is told; what is only for the log is none. `node` is the node that came, if one did.
    pub(super) fn of(event: &'a Event, node: Option<&'a Node>) -> Option<Self> {
        Some(match event {
            Event::NodeUp(_) => IappEvent::NodeUp(node?),
            Event::NodeLost { node, .. } => IappEvent::NodeLost(*node),
            Event::Subscribed { ticket, subscription, admitted, not_admitted, .. } => {
                IappEvent::Subscribed { ticket: *ticket, subscription: *subscription, admitted, not_admitted }
            }
            Event::SubscriptionFailed { ticket, error, .. } => IappEvent::SubscriptionFailed { ticket: *ticket, error },
            Event::SubscriptionEnded { subscription, end, .. } => {
                IappEvent::SubscriptionEnded { subscription: *subscription, end: *end }
            }
            Event::Controlled { ticket, outcome, .. } => IappEvent::Controlled { ticket: *ticket, outcome },
            Event::Notice { .. } => return None,
        })
    }
}

/// What an internal app can ask the controller for.
#[derive(Debug)]
pub struct Ric<'a> {
    pub(super) controller: &'a mut Controller,
    pub(super) tickets: &'a mut u32,
    pub(super) now: Time,
    pub(super) consumer: Consumer,
}

impl Ric<'_> {
    /// The nodes that have set up.
    pub fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.controller.nodes()
    }

    /// Subscribes to a node's function; the ticket comes back with what becomes of it.
    ///
    /// # Errors
    /// Where the command makes no sense.
    pub fn subscribe(
        &mut self,
        node: NodeId,
        function: RanFunctionId,
        spec: SubscriptionSpec,
    ) -> Result<Ticket, Misuse> {
        let ticket = self.ticket();
        self.controller.subscribe(self.now, self.consumer, ticket, node, function, spec)?;
        Ok(ticket)
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

    fn ticket(&mut self) -> Ticket {
        *self.tickets = self.tickets.wrapping_add(1);
        Ticket(*self.tickets)
    }
}
