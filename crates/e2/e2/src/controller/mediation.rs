//! The mediation of controls: a mediator sees each control before it is sent, and its outcome.
//!
//! Consumers do not know of each other. A mediator has all their controls before it, so that it can keep two of them from setting
//! the same parameter in turns, and record who changed what.

use core::fmt;
use std::sync::Arc;

use e2ap::{Cause, CauseMisc, RanFunctionId};

use super::control::ControlOrder;
use super::records::Control;
use super::{
    Consumer, ControlOutcome, Controller, Event, Misuse, Node, NodeId, RefusalCode, RequestEvent, SubscribeError,
    SubscriptionEnd, SubscriptionId, Ticket,
};
use crate::topology::RanDatabase;
use crate::{Lacking, Time, XappRights};

/// Who a consumer is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsumerIdentity {
    /// The name: that of the certificate if the consumer has one, otherwise the one that it gave itself.
    pub name: Box<str>,
    /// Whether a certificate confirms the name.
    pub is_authenticated: bool,
    /// Its rights, if they are limited.
    pub rights: Option<Arc<XappRights>>,
    /// Whether it is an app of the RIC itself.
    pub is_internal: bool,
}

impl ConsumerIdentity {
    /// Returns the identity of a consumer without a certificate and without limits of its rights.
    #[must_use]
    pub fn named(name: &str) -> Self {
        ConsumerIdentity { name: name.into(), is_authenticated: false, rights: None, is_internal: false }
    }
}

/// A control that a consumer requests. It has been checked: it can be sent.
#[derive(Clone, Copy, Debug)]
pub struct RequestedControl<'a> {
    /// The time.
    pub now: Time,
    /// The consumer.
    pub consumer: Consumer,
    /// Who that is; `None` for a consumer that was not introduced.
    pub identity: Option<&'a ConsumerIdentity>,
    /// The consumer's name of the request.
    pub ticket: Ticket,
    /// The node.
    pub node: &'a Node,
    /// What is known of base stations and UEs.
    pub ran: &'a RanDatabase,
    /// The RAN function.
    pub function: RanFunctionId,
    /// The control header.
    pub header: &'a [u8],
    /// The control message.
    pub message: &'a [u8],
    /// The call process id, if the control answers an insert.
    pub call_process_id: Option<&'a [u8]>,
    /// Whether an acknowledgement is requested.
    pub ack: bool,
}

/// What becomes of a control.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mediation {
    /// It is sent.
    Send,
    /// It is sent with another header and message, of about the same length.
    Change {
        /// The header.
        header: Vec<u8>,
        /// The message.
        message: Vec<u8>,
    },
    /// It is not sent: its outcome is a failure with this cause.
    Refuse(Cause),
    /// It waits until the mediator releases it. The mediator keeps its content.
    Hold,
}

/// A control that has waited, and what becomes of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReleasedControl {
    /// The consumer.
    pub consumer: Consumer,
    /// The consumer's name of the request.
    pub ticket: Ticket,
    /// The node.
    pub node: NodeId,
    /// The RAN function.
    pub function: RanFunctionId,
    /// Header and message.
    pub content: (Vec<u8>, Vec<u8>),
    /// The call process id, if the control answers an insert.
    pub call_process_id: Option<Vec<u8>>,
    /// Whether an acknowledgement is requested.
    pub ack: bool,
    /// The cause of its failure; `None` if it is to be sent.
    pub refusal: Option<Cause>,
}

/// A control that waits for the decision of an arbiter, which is a consumer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlQuestion {
    /// Its number.
    pub question: u64,
    /// The node.
    pub node: NodeId,
    /// The RAN function.
    pub function: RanFunctionId,
    /// The consumer that requests it, at most 1024 octets, as the following texts.
    pub xapp: String,
    /// The consumer that it is in conflict with.
    pub with: String,
    /// The parameter of the conflict, and what it is of.
    pub parameter: String,
    /// What the control sets.
    pub settings: String,
    /// The time that is left for the answer, in milliseconds.
    pub left_ms: u32,
    /// The control header.
    pub header: Vec<u8>,
    /// The control message.
    pub message: Vec<u8>,
}

/// A step of a subscription of a consumer, from its request to its end.
#[derive(Clone, Copy, Debug)]
pub struct SubscriptionStep<'a> {
    /// The consumer.
    pub consumer: Consumer,
    /// Who that is; `None` for a consumer that was not introduced.
    pub identity: Option<&'a ConsumerIdentity>,
    /// What has happened.
    pub what: SubscriptionFact<'a>,
}

/// A request to subscribe in short.
#[derive(Clone, Copy, Debug)]
pub struct SubscriptionSummary<'a> {
    /// The node; `None` if there is none.
    pub node: Option<&'a Node>,
    /// The RAN function.
    pub function: RanFunctionId,
    /// The number of its actions.
    pub actions: usize,
}

/// What has happened to a subscription.
#[derive(Clone, Copy, Debug)]
pub enum SubscriptionFact<'a> {
    /// The consumer has requested it.
    Requested {
        /// The consumer's name of the request.
        ticket: Ticket,
        /// What is requested.
        request: SubscriptionSummary<'a>,
    },
    /// The consumer has requested it, and the RIC has refused it.
    Refused {
        /// What was requested.
        request: SubscriptionSummary<'a>,
        /// Why it is refused.
        why: Misuse,
    },
    /// The consumer has requested it, and has no right to it.
    NotAllowed {
        /// What was requested.
        request: SubscriptionSummary<'a>,
        /// The right that it lacks.
        lacking: &'a Lacking,
    },
    /// The node has set it up.
    Active {
        /// The consumer's name of the request.
        ticket: Ticket,
        /// Its name from now on.
        subscription: SubscriptionId,
        /// The number of actions that the node has not admitted.
        not_admitted: usize,
    },
    /// It was not set up.
    Failed {
        /// The consumer's name of the request.
        ticket: Ticket,
        /// Why.
        error: &'a SubscribeError,
    },
    /// It has ended.
    Ended {
        /// Its name.
        subscription: SubscriptionId,
        /// Why.
        end: SubscriptionEnd,
    },
}

/// Decides on controls before they are sent. It is called by the controller and must not block.
pub trait Mediator: fmt::Debug + Send {
    /// Decides on a control.
    fn mediate(&mut self, control: &RequestedControl<'_>) -> Mediation;

    /// Notes that a consumer has no right to a control.
    fn not_allowed(
        &mut self,
        now: Time,
        identity: Option<&ConsumerIdentity>,
        node: &Node,
        function: RanFunctionId,
        lacking: &Lacking,
    );

    /// Notes a step of a subscription of a consumer. Default: nothing.
    fn subscription(&mut self, step: &SubscriptionStep<'_>) {
        let _ = step;
    }

    /// Notes the outcome of a control that was sent or refused.
    fn control_ended(&mut self, now: Time, consumer: Consumer, ticket: Ticket, outcome: &ControlOutcome);

    /// Notes that a consumer is gone: what it has waiting is dropped.
    fn consumer_gone(&mut self, now: Time, consumer: Consumer);

    /// Notes that a node is lost.
    fn node_lost(&mut self, now: Time, node: NodeId);

    /// Returns when [`Mediator::handle_timeout`] must be called: at once if there is a control to release, or a question to ask.
    fn poll_timeout(&self) -> Option<Time>;

    /// Processes what is due.
    fn handle_timeout(&mut self, now: Time);

    /// Returns the next control that has waited long enough.
    fn poll_release(&mut self) -> Option<ReleasedControl>;

    /// A consumer offers itself as an arbiter, or is none any more.
    ///
    /// # Errors
    /// If it may not be one. A mediator without arbiters admits none.
    fn set_arbiter(&mut self, _: Consumer, _: Option<&ConsumerIdentity>, is_offered: bool) -> Result<(), RefusalCode> {
        if is_offered { Err(RefusalCode::NotAllowed) } else { Ok(()) }
    }

    /// Returns the next question, and the arbiter that it is for.
    fn poll_question(&mut self, _: Time) -> Option<(Consumer, ControlQuestion)> {
        None
    }

    /// An arbiter decides on a control that waits.
    ///
    /// # Errors
    /// If the consumer was not asked, or the control does not wait any more.
    fn decide(&mut self, _: Time, _: Consumer, _question: u64, _accepts: bool) -> Result<(), RefusalCode> {
        Err(RefusalCode::NotAllowed)
    }
}

impl Controller {
    /// Has a mediator decide on all controls from now on.
    pub fn set_mediator(&mut self, mediator: Box<dyn Mediator>) {
        self.mediator = Some(mediator);
    }

    /// Records who a consumer is, until [`Controller::drop_consumer`].
    pub fn introduce(&mut self, consumer: Consumer, identity: ConsumerIdentity) {
        self.identities.insert(consumer, identity);
    }

    /// Returns who a consumer is, if it was introduced.
    #[must_use]
    pub fn identity(&self, consumer: Consumer) -> Option<&ConsumerIdentity> {
        self.identities.get(&consumer)
    }

    /// Offers a consumer as an arbiter on conflicts between controls, or takes it back. It is asked by
    /// [`RequestEvent::ControlAsked`].
    ///
    /// # Errors
    /// If it may not be one.
    pub fn set_arbiter(&mut self, consumer: Consumer, is_offered: bool) -> Result<(), RefusalCode> {
        let identity = self.identities.get(&consumer);
        match &mut self.mediator {
            Some(mediator) => mediator.set_arbiter(consumer, identity, is_offered),
            None if is_offered => Err(RefusalCode::NotAllowed),
            None => Ok(()),
        }
    }

    /// Decides on a control that waits, as its arbiter.
    ///
    /// # Errors
    /// If the consumer was not asked, or the control does not wait any more.
    pub fn decide(&mut self, now: Time, consumer: Consumer, question: u64, accepts: bool) -> Result<(), RefusalCode> {
        let mediator = self.mediator.as_mut().ok_or(RefusalCode::NotAllowed)?;
        mediator.decide(now, consumer, question, accepts)
    }

    /// Tells the mediator that a consumer has no right to a subscription.
    pub(crate) fn subscription_not_allowed(
        &mut self,
        consumer: Consumer,
        node: NodeId,
        function: RanFunctionId,
        actions: usize,
        lacking: &Lacking,
    ) {
        let Controller { mediator: Some(mediator), identities, nodes, .. } = self else { return };
        let request = SubscriptionSummary { node: nodes.get(&node), function, actions };
        let what = SubscriptionFact::NotAllowed { request, lacking };
        mediator.subscription(&SubscriptionStep { consumer, identity: identities.get(&consumer), what });
    }

    /// Tells the mediator of a request to subscribe: its name, or why it is refused.
    pub(super) fn note_request(
        &mut self,
        consumer: Consumer,
        node: NodeId,
        function: RanFunctionId,
        actions: usize,
        result: Result<Ticket, Misuse>,
    ) {
        let Controller { mediator: Some(mediator), identities, nodes, .. } = self else { return };
        let request = SubscriptionSummary { node: nodes.get(&node), function, actions };
        let what = match result {
            Ok(ticket) => SubscriptionFact::Requested { ticket, request },
            Err(why) => SubscriptionFact::Refused { request, why },
        };
        mediator.subscription(&SubscriptionStep { consumer, identity: identities.get(&consumer), what });
    }

    /// Tells the mediator of a subscription that is active or has ended, if an event says so.
    pub(super) fn note_event(&mut self, event: &Event) {
        let Controller { mediator: Some(mediator), identities, .. } = self else { return };
        let Event::Request { consumer, event } = event else { return };
        let what = match event {
            RequestEvent::Subscribed { ticket, subscription, not_admitted, .. } => SubscriptionFact::Active {
                ticket: *ticket,
                subscription: *subscription,
                not_admitted: not_admitted.len(),
            },
            RequestEvent::SubscriptionFailed { ticket, error } => SubscriptionFact::Failed { ticket: *ticket, error },
            RequestEvent::SubscriptionEnded { subscription, end } => {
                SubscriptionFact::Ended { subscription: *subscription, end: *end }
            }
            _ => return,
        };
        mediator.subscription(&SubscriptionStep { consumer: *consumer, identity: identities.get(consumer), what });
    }

    /// Tells the mediator that a consumer has no right to a control.
    pub fn control_not_allowed(
        &mut self,
        now: Time,
        consumer: Consumer,
        node: NodeId,
        function: RanFunctionId,
        lacking: &Lacking,
    ) {
        let Controller { mediator: Some(mediator), identities, nodes, .. } = self else { return };
        if let Some(node) = nodes.get(&node) {
            mediator.not_allowed(now, identities.get(&consumer), node, function, lacking);
        }
    }

    pub(super) fn mediator_timeout(&self) -> Option<Time> {
        self.mediator.as_ref().and_then(|mediator| mediator.poll_timeout())
    }

    /// Lets the mediator do what is due, and continues with the controls that it releases.
    pub(super) fn mediate_due(&mut self, now: Time) {
        let Some(mediator) = &mut self.mediator else { return };
        if mediator.poll_timeout().is_none_or(|at| at > now) {
            return;
        }
        mediator.handle_timeout(now);
        while let Some(released) = self.mediator.as_mut().and_then(|mediator| mediator.poll_release()) {
            self.end_wait(now, &released);
        }
        while let Some((consumer, question)) = self.mediator.as_mut().and_then(|mediator| mediator.poll_question(now)) {
            self.events.push_back(Event::Request { consumer, event: RequestEvent::ControlAsked(Box::new(question)) });
        }
    }

    fn end_wait(&mut self, now: Time, released: &ReleasedControl) {
        let ReleasedControl { consumer, ticket, node, function, .. } = *released;
        let refused = match released.refusal {
            Some(cause) => Some(ControlOutcome::Failed { cause, outcome: None }),
            None => {
                let control = ControlOrder {
                    consumer,
                    ticket,
                    node,
                    function,
                    header: &released.content.0,
                    message: &released.content.1,
                    call_process_id: released.call_process_id.as_deref(),
                    ack: released.ack,
                };
                let sent = self.check_control(&control).and_then(|()| self.send_control(now, &control));
                sent.err().map(|misuse| match misuse {
                    Misuse::UnknownNode | Misuse::UnknownFunction => ControlOutcome::NodeLost,
                    _ => ControlOutcome::Failed {
                        cause: Cause::Misc(CauseMisc::ControlProcessingOverload),
                        outcome: None,
                    },
                })
            }
        };
        if let Some(outcome) = refused {
            let control = Control { node, function, consumer, ticket, ack: true, sent: now, content: None };
            self.control_ended(now, control, outcome);
        }
    }
}
