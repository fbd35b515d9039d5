//! Decodes the messages of the RIC-xApp protocol.

use e2ap::{RanFunctionRevision, RicActionId, Version};

use super::protocol::{Envelope, FunctionInfo, NodeInfo, ProtocolError, RicMessage, XappMessage};
use super::wire::{
    MAGIC, MAX_ACTIONS, MAX_ACTIONS_ASKED, MAX_BLOB, MAX_DOCUMENT, MAX_ENCODING, MAX_FUNCTIONS, MAX_NAME, MAX_OID,
    MAX_REVISION, Take, Taken, kind,
};
use crate::{
    ActionChange, AddedAction, ChangeResult, ControlOutcome, ModifyOutcome, NodeId, QueryOutcome, RequestEvent,
    SubscribeError, SubscriptionChange, SubscriptionEnd, SubscriptionId, SubscriptionOrder, SubscriptionSpec,
    SubscriptionTimes, Ticket,
};

fn node(take: &mut Take<'_>) -> Taken<NodeInfo> {
    let id = NodeId(take.u32()?);
    let version = *Version::ALL.get(usize::from(take.u8()?)).ok_or(ProtocolError::BadField)?;
    let encoding = take.text(MAX_ENCODING)?;
    let global_id = take.per()?;
    let mut functions = Vec::new();
    for _ in 0..take.count(MAX_FUNCTIONS)? {
        functions.push(FunctionInfo {
            id: take.function()?,
            revision: RanFunctionRevision(take.u16()?),
            oid: take.text(MAX_OID)?,
            definition: take.octets(MAX_BLOB)?.to_vec(),
            model_revision: if take.flag()? { Some(take.text(MAX_REVISION)?) } else { None },
        });
    }
    Ok(NodeInfo { id, global_id, version, encoding, functions })
}

fn change(take: &mut Take<'_>) -> Taken<ActionChange> {
    Ok(ActionChange {
        id: RicActionId(take.u8()?),
        definition: take.option()?,
        execution_order: if take.flag()? { Some(take.u8()?) } else { None },
        subsequent: take.subsequent()?,
    })
}

/// Decodes a message and checks that nothing follows it.
fn whole<'a, M>(bytes: &'a [u8], fields: impl FnOnce(&mut Take<'a>) -> Taken<M>) -> Taken<M> {
    let mut take = Take(bytes);
    let message = fields(&mut take)?;
    if take.0.is_empty() { Ok(message) } else { Err(ProtocolError::Trailing) }
}

impl XappMessage {
    /// Decodes a message.
    ///
    /// # Errors
    /// If it is invalid.
    pub fn decode(bytes: &[u8]) -> Result<Self, ProtocolError> {
        whole(bytes, Self::fields)
    }

    fn fields(take: &mut Take<'_>) -> Taken<Self> {
        Ok(match take.u8()? {
            kind::HELLO => {
                if take.array()? != MAGIC {
                    return Err(ProtocolError::NotThisProtocol);
                }
                XappMessage::Hello { lowest: take.u16()?, highest: take.u16()?, name: take.text(MAX_NAME)? }
            }
            kind::SUBSCRIBE => {
                let (ticket, node, function) = (Ticket(take.u32()?), NodeId(take.u32()?), take.function()?);
                let event_trigger = take.octets(MAX_BLOB)?.to_vec();
                let actions = (0..take.count(MAX_ACTIONS_ASKED)?).map(|_| take.action()).collect::<Taken<_>>()?;
                let spec = SubscriptionSpec { event_trigger, actions };
                let times = SubscriptionTimes { start: take.time()?, end: take.time()? };
                let order = SubscriptionOrder {
                    spec,
                    times,
                    restore: take.flag()?,
                    execution_order: (0..take.count(MAX_ACTIONS_ASKED)?)
                        .map(|_| Ok((RicActionId(take.u8()?), take.u8()?)))
                        .collect::<Taken<_>>()?,
                    consent: take.flag()?,
                };
                XappMessage::Subscribe { ticket, node, function, order }
            }
            kind::UNSUBSCRIBE => XappMessage::Unsubscribe { subscription: SubscriptionId(take.u32()?) },
            kind::CONTROL => XappMessage::Control {
                ticket: Ticket(take.u32()?),
                node: NodeId(take.u32()?),
                function: take.function()?,
                ack: take.flag()?,
                call_process_id: take.option()?,
                header: take.octets(MAX_BLOB)?.to_vec(),
                message: take.octets(MAX_BLOB)?.to_vec(),
            },
            kind::MODIFY => XappMessage::Modify {
                ticket: Ticket(take.u32()?),
                subscription: SubscriptionId(take.u32()?),
                change: SubscriptionChange {
                    event_trigger: take.option()?,
                    remove: take.ids(MAX_ACTIONS_ASKED)?,
                    modify: (0..take.count(MAX_ACTIONS_ASKED)?).map(|_| change(take)).collect::<Taken<_>>()?,
                    add: (0..take.count(MAX_ACTIONS_ASKED)?)
                        .map(|_| Ok(AddedAction { action: take.action()?, execution_order: take.u8()? }))
                        .collect::<Taken<_>>()?,
                },
            },
            kind::QUERY => XappMessage::Query {
                ticket: Ticket(take.u32()?),
                node: NodeId(take.u32()?),
                function: take.function()?,
                header: take.octets(MAX_BLOB)?.to_vec(),
                definition: take.octets(MAX_BLOB)?.to_vec(),
            },
            kind::ANSWER_CHANGE => {
                XappMessage::AnswerChange { subscription: SubscriptionId(take.u32()?), refused: take.causes()? }
            }
            kind::TO_SERVICE => {
                XappMessage::Service { kind: take.u32()?, document: take.octets(MAX_DOCUMENT)?.to_vec() }
            }
            other => return Err(ProtocolError::UnknownMessage(other)),
        })
    }
}

impl<'a> RicMessage<'a> {
    /// Decodes a message.
    ///
    /// # Errors
    /// If it is invalid.
    #[inline]
    pub fn decode(bytes: &'a [u8]) -> Result<Self, ProtocolError> {
        whole(bytes, Self::fields)
    }

    fn fields(take: &mut Take<'a>) -> Taken<Self> {
        Ok(match take.u8()? {
            kind::ENVELOPE => {
                let (node, subscription) = (NodeId(take.u32()?), SubscriptionId(take.u32()?));
                RicMessage::Envelope(Envelope { node, subscription, pdu: take.octets(usize::MAX)? })
            }
            kind::WELCOME => RicMessage::Welcome { version: take.u16()?, ric_id: take.per()? },
            kind::NODE_UP => RicMessage::NodeUp(node(take)?),
            kind::NODE_CHANGED => RicMessage::NodeChanged(node(take)?),
            kind::NODE_LOST => RicMessage::NodeLost(NodeId(take.u32()?)),
            kind::SUBSCRIBED => RicMessage::Request(RequestEvent::Subscribed {
                ticket: Ticket(take.u32()?),
                subscription: SubscriptionId(take.u32()?),
                admitted: take.ids(MAX_ACTIONS)?,
                not_admitted: take.causes()?,
            }),
            kind::SUBSCRIPTION_FAILED => RicMessage::Request(RequestEvent::SubscriptionFailed {
                ticket: Ticket(take.u32()?),
                error: match take.u8()? {
                    0 => SubscribeError::Misuse(take.code()?),
                    1 => SubscribeError::Refused { cause: take.per()?, actions: Vec::new() },
                    2 => SubscribeError::TimedOut,
                    3 => SubscribeError::NodeLost,
                    _ => return Err(ProtocolError::BadField),
                },
            }),
            kind::SUBSCRIPTION_ENDED => RicMessage::Request(RequestEvent::SubscriptionEnded {
                subscription: SubscriptionId(take.u32()?),
                end: match take.u8()? {
                    0 => SubscriptionEnd::Deleted,
                    1 => SubscriptionEnd::NodeLost,
                    2 => SubscriptionEnd::Reset,
                    3 => SubscriptionEnd::ByNode(take.per()?),
                    4 => SubscriptionEnd::FunctionRemoved,
                    5 => SubscriptionEnd::NotRestored,
                    _ => return Err(ProtocolError::BadField),
                },
            }),
            kind::SUBSCRIPTION_SUSPENDED => {
                RicMessage::Request(RequestEvent::SubscriptionSuspended(SubscriptionId(take.u32()?)))
            }
            kind::SUBSCRIPTION_RESUMED => RicMessage::Request(RequestEvent::SubscriptionResumed {
                subscription: SubscriptionId(take.u32()?),
                node: NodeId(take.u32()?),
                admitted: take.ids(MAX_ACTIONS)?,
                not_admitted: take.causes()?,
            }),
            kind::SUBSCRIPTION_CHANGED => RicMessage::Request(RequestEvent::SubscriptionChanged {
                subscription: SubscriptionId(take.u32()?),
                removed: take.causes()?,
                modified: take.waits()?,
            }),
            kind::CHANGE_REQUIRED => RicMessage::Request(RequestEvent::ChangeRequired {
                subscription: SubscriptionId(take.u32()?),
                remove: take.causes()?,
                modify: take.waits()?,
            }),
            kind::MODIFIED => RicMessage::Request(RequestEvent::Modified {
                ticket: Ticket(take.u32()?),
                subscription: SubscriptionId(take.u32()?),
                outcome: match take.u8()? {
                    0 => ModifyOutcome::Misuse(take.code()?),
                    1 => ModifyOutcome::Done(ChangeResult {
                        removed: take.ids(MAX_ACTIONS)?,
                        modified: take.ids(MAX_ACTIONS)?,
                        added: take.ids(MAX_ACTIONS)?,
                        not_removed: take.causes()?,
                        not_modified: take.causes()?,
                        not_added: take.causes()?,
                    }),
                    2 => ModifyOutcome::Refused(take.per()?),
                    3 => ModifyOutcome::TimedOut,
                    4 => ModifyOutcome::Ended,
                    _ => return Err(ProtocolError::BadField),
                },
            }),
            kind::QUERIED => RicMessage::Request(RequestEvent::Queried {
                ticket: Ticket(take.u32()?),
                outcome: match take.u8()? {
                    0 => QueryOutcome::Misuse(take.code()?),
                    1 => QueryOutcome::Answered(take.octets(MAX_BLOB)?.into()),
                    2 => QueryOutcome::Failed(take.per()?),
                    3 => QueryOutcome::TimedOut,
                    4 => QueryOutcome::NodeLost,
                    _ => return Err(ProtocolError::BadField),
                },
            }),
            kind::CONTROLLED => RicMessage::Request(RequestEvent::Controlled {
                ticket: Ticket(take.u32()?),
                outcome: match take.u8()? {
                    0 => ControlOutcome::Misuse(take.code()?),
                    1 => ControlOutcome::Acknowledged(take.option()?.map(Vec::into_boxed_slice)),
                    2 => ControlOutcome::Sent,
                    3 => ControlOutcome::Failed {
                        cause: take.per()?,
                        outcome: take.option()?.map(Vec::into_boxed_slice),
                    },
                    4 => ControlOutcome::TimedOut,
                    5 => ControlOutcome::NodeLost,
                    _ => return Err(ProtocolError::BadField),
                },
            }),
            kind::DROPPED => RicMessage::Dropped { reports: take.u64()? },
            kind::FROM_SERVICE => RicMessage::Service { kind: take.u32()?, document: take.octets(MAX_DOCUMENT)? },
            kind::REFUSED => RicMessage::Refused(take.code()?),
            other => return Err(ProtocolError::UnknownMessage(other)),
        })
    }
}
