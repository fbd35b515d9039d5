//! Encodes the messages of the RIC-xApp protocol.

use super::protocol::{NodeInfo, RicMessage, XappMessage};
use super::wire::{MAGIC, Put, kind};
use crate::{
    ControlOutcome, ModifyOutcome, QueryOutcome, RequestEvent, SubscribeError, SubscriptionEnd, SubscriptionOrder,
};

fn put_node(put: &mut Put<'_>, node: &NodeInfo) {
    put.u32(node.id.0).u8(node.version.revision()).octets(node.encoding.as_bytes()).per(&node.global_id);
    put.u16(node.functions.len() as u16);
    for function in &node.functions {
        put.u16(function.id.0).u16(function.revision.0);
        put.octets(function.oid.as_bytes()).octets(&function.definition);
        put.option(function.model_revision.as_deref().map(str::as_bytes));
    }
}

impl XappMessage {
    /// Appends the message to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut put = Put(out);
        match self {
            XappMessage::Hello { lowest, highest, name } => {
                put.u8(kind::HELLO).0.extend(MAGIC);
                put.u16(*lowest).u16(*highest).octets(name.as_bytes());
            }
            XappMessage::Subscribe { ticket, node, function, order } => {
                let SubscriptionOrder { spec, times, restore, execution_order, consent } = order;
                put.u8(kind::SUBSCRIBE).u32(ticket.0).u32(node.0).u16(function.0);
                put.octets(&spec.event_trigger).u16(spec.actions.len() as u16);
                for action in &spec.actions {
                    put.action(action);
                }
                put.time(times.start).time(times.end).u8((*restore).into()).u16(execution_order.len() as u16);
                for (id, place) in execution_order {
                    put.u8(id.0).u8(*place);
                }
                put.u8((*consent).into());
            }
            XappMessage::Unsubscribe { subscription } => drop(put.u8(kind::UNSUBSCRIBE).u32(subscription.0)),
            XappMessage::Control { ticket, node, function, ack, call_process_id, header, message } => {
                put.u8(kind::CONTROL).u32(ticket.0).u32(node.0).u16(function.0).u8((*ack).into());
                put.option(call_process_id.as_deref()).octets(header).octets(message);
            }
            XappMessage::Modify { ticket, subscription, change } => {
                put.u8(kind::MODIFY).u32(ticket.0).u32(subscription.0);
                put.option(change.event_trigger.as_deref()).ids(&change.remove).u16(change.modify.len() as u16);
                for change in &change.modify {
                    put.u8(change.id.0).option(change.definition.as_deref());
                    match change.execution_order {
                        Some(order) => put.u8(1).u8(order),
                        None => put.u8(0),
                    };
                    put.subsequent(change.subsequent.as_ref());
                }
                put.u16(change.add.len() as u16);
                for added in &change.add {
                    put.action(&added.action).u8(added.execution_order);
                }
            }
            XappMessage::Query { ticket, node, function, header, definition } => {
                put.u8(kind::QUERY).u32(ticket.0).u32(node.0).u16(function.0).octets(header).octets(definition);
            }
            XappMessage::AnswerChange { subscription, refused } => {
                put.u8(kind::ANSWER_CHANGE).u32(subscription.0).causes(refused);
            }
            XappMessage::Service { kind, document } => {
                put.u8(kind::TO_SERVICE).u32(*kind).octets(document);
            }
        }
    }
}

impl RicMessage<'_> {
    /// Appends the message to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut put = Put(out);
        match self {
            RicMessage::Envelope(envelope) => {
                put.0.extend(envelope.head());
                put.0.extend(envelope.pdu);
            }
            RicMessage::Welcome { version, ric_id } => drop(put.u8(kind::WELCOME).u16(*version).per(ric_id)),
            RicMessage::NodeUp(node) => put_node(put.u8(kind::NODE_UP), node),
            RicMessage::NodeChanged(node) => put_node(put.u8(kind::NODE_CHANGED), node),
            RicMessage::NodeLost(node) => drop(put.u8(kind::NODE_LOST).u32(node.0)),
            RicMessage::Request(event) => put_event(&mut put, event),
            RicMessage::Dropped { reports } => drop(put.u8(kind::DROPPED).u64(*reports)),
            RicMessage::Service { kind, document } => drop(put.u8(kind::FROM_SERVICE).u32(*kind).octets(document)),
            RicMessage::Refused(code) => drop(put.u8(kind::REFUSED).u8(*code as u8)),
        }
    }
}

fn put_event(put: &mut Put<'_>, event: &RequestEvent) {
    match event {
        RequestEvent::Subscribed { ticket, subscription, admitted, not_admitted } => {
            put.u8(kind::SUBSCRIBED).u32(ticket.0).u32(subscription.0).ids(admitted).causes(not_admitted);
        }
        RequestEvent::SubscriptionFailed { ticket, error } => {
            put.u8(kind::SUBSCRIPTION_FAILED).u32(ticket.0);
            match error {
                SubscribeError::Misuse(code) => put.u8(0).u8(*code as u8),
                SubscribeError::Refused { cause, .. } => put.u8(1).per(cause),
                SubscribeError::TimedOut => put.u8(2),
                SubscribeError::NodeLost => put.u8(3),
            };
        }
        RequestEvent::SubscriptionEnded { subscription, end } => {
            put.u8(kind::SUBSCRIPTION_ENDED).u32(subscription.0);
            match end {
                SubscriptionEnd::Deleted => put.u8(0),
                SubscriptionEnd::NodeLost => put.u8(1),
                SubscriptionEnd::Reset => put.u8(2),
                SubscriptionEnd::ByNode(cause) => put.u8(3).per(cause),
                SubscriptionEnd::FunctionRemoved => put.u8(4),
                SubscriptionEnd::NotRestored => put.u8(5),
            };
        }
        RequestEvent::SubscriptionSuspended(id) => drop(put.u8(kind::SUBSCRIPTION_SUSPENDED).u32(id.0)),
        RequestEvent::SubscriptionResumed { subscription, node, admitted, not_admitted } => {
            put.u8(kind::SUBSCRIPTION_RESUMED).u32(subscription.0).u32(node.0).ids(admitted).causes(not_admitted);
        }
        RequestEvent::SubscriptionChanged { subscription, removed, modified } => {
            put.u8(kind::SUBSCRIPTION_CHANGED).u32(subscription.0).causes(removed).waits(modified);
        }
        RequestEvent::ChangeRequired { subscription, remove, modify } => {
            put.u8(kind::CHANGE_REQUIRED).u32(subscription.0).causes(remove).waits(modify);
        }
        RequestEvent::Modified { ticket, subscription, outcome } => {
            put.u8(kind::MODIFIED).u32(ticket.0).u32(subscription.0);
            match outcome {
                ModifyOutcome::Misuse(code) => put.u8(0).u8(*code as u8),
                ModifyOutcome::Done(done) => {
                    put.u8(1).ids(&done.removed).ids(&done.modified).ids(&done.added);
                    put.causes(&done.not_removed).causes(&done.not_modified).causes(&done.not_added)
                }
                ModifyOutcome::Refused(cause) => put.u8(2).per(cause),
                ModifyOutcome::TimedOut => put.u8(3),
                ModifyOutcome::Ended => put.u8(4),
            };
        }
        RequestEvent::Queried { ticket, outcome } => {
            put.u8(kind::QUERIED).u32(ticket.0);
            match outcome {
                QueryOutcome::Misuse(code) => put.u8(0).u8(*code as u8),
                QueryOutcome::Answered(outcome) => put.u8(1).octets(outcome),
                QueryOutcome::Failed(cause) => put.u8(2).per(cause),
                QueryOutcome::TimedOut => put.u8(3),
                QueryOutcome::NodeLost => put.u8(4),
            };
        }
        RequestEvent::Controlled { ticket, outcome } => {
            put.u8(kind::CONTROLLED).u32(ticket.0);
            match outcome {
                ControlOutcome::Misuse(code) => put.u8(0).u8(*code as u8),
                ControlOutcome::Acknowledged(outcome) => put.u8(1).option(outcome.as_deref()),
                ControlOutcome::Sent => put.u8(2),
                ControlOutcome::Failed { cause, outcome } => put.u8(3).per(cause).option(outcome.as_deref()),
                ControlOutcome::TimedOut => put.u8(4),
                ControlOutcome::NodeLost => put.u8(5),
            };
        }
    }
}
