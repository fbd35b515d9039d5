//! The bytes of the RIC-xApp protocol's messages; `docs/xapp-protocol.md` lays them out.
//!
//! Each message is one PDU of the link below: an octet that names it, then its fields, big-endian, strings and octets
//! behind a length. Every field is bounded; what is longer, or is followed by anything, is no message.

use e2ap::{RanFunctionId, RanFunctionRevision, RicActionId, RicActionType, RicSubsequentAction, Version};

use super::protocol::{
    ControlResult, ENVELOPE_OCTETS, Envelope, FunctionInfo, Message, NodeInfo, ProtocolError, RefusalCode,
    SubscribeFailure,
};
use crate::{Action, NodeId, SubscriptionEnd, SubscriptionId, SubscriptionSpec, Ticket};

/// The first octets of every hello.
const MAGIC: [u8; 4] = *b"FRXA";
/// Octets of an xApp's name.
const MAX_NAME: usize = 64;
/// Octets of an OID.
pub(crate) const MAX_OID: usize = 1000;
/// Octets of a service model's revision.
pub(super) const MAX_REVISION: usize = 16;
/// Octets of a definition, a trigger, a header, a message.
const MAX_BLOB: usize = 1 << 20;
/// Functions of a node.
const MAX_FUNCTIONS: usize = 256;
/// Actions of a subscription that stands.
const MAX_ACTIONS: usize = 16;
/// Actions that may be asked for: more than a subscription has are refused, which does not end the session.
const MAX_ACTIONS_ASKED: usize = 256;

/// The wire format of E2AP's types within this protocol.
const E2AP: Version = Version::V3_01;
/// That of subsequent actions, of which v2 took the time to wait "zero" away and nothing was added since.
const SUBSEQUENT: Version = Version::V1_01;

mod kind {
    pub const HELLO: u8 = 0x01;
    pub const SUBSCRIBE: u8 = 0x02;
    pub const UNSUBSCRIBE: u8 = 0x03;
    pub const CONTROL: u8 = 0x04;
    pub const WELCOME: u8 = 0x81;
    pub const NODE_UP: u8 = 0x82;
    pub const NODE_LOST: u8 = 0x83;
    pub const SUBSCRIBED: u8 = 0x84;
    pub const SUBSCRIBE_FAILED: u8 = 0x85;
    pub const SUBSCRIPTION_ENDED: u8 = 0x86;
    pub const ENVELOPE: u8 = 0x87;
    pub const CONTROLLED: u8 = 0x88;
    pub const DROPPED: u8 = 0x89;
    pub const REFUSED: u8 = 0x8A;
}

impl Envelope<'_> {
    /// What stands before the PDU: message, node, subscription, and the PDU's length.
    #[must_use]
    pub fn head(&self) -> [u8; ENVELOPE_OCTETS] {
        let mut head = [0; ENVELOPE_OCTETS];
        head[0] = kind::ENVELOPE;
        head[1..5].copy_from_slice(&self.node.0.to_be_bytes());
        head[5..9].copy_from_slice(&self.subscription.0.to_be_bytes());
        // a PDU that came over a link is far below 4 GiB
        head[9..13].copy_from_slice(&(self.pdu.len() as u32).to_be_bytes());
        head
    }
}

/// Fields to the end of a buffer.
struct Put<'b>(&'b mut Vec<u8>);

impl Put<'_> {
    fn u8(&mut self, value: u8) -> &mut Self {
        self.0.push(value);
        self
    }
    fn u16(&mut self, value: u16) -> &mut Self {
        self.0.extend(value.to_be_bytes());
        self
    }
    fn u32(&mut self, value: u32) -> &mut Self {
        self.0.extend(value.to_be_bytes());
        self
    }
    fn u64(&mut self, value: u64) -> &mut Self {
        self.0.extend(value.to_be_bytes());
        self
    }
    fn octets(&mut self, octets: &[u8]) -> &mut Self {
        self.u32(octets.len() as u32);
        self.0.extend(octets);
        self
    }
    fn option(&mut self, octets: Option<&[u8]>) -> &mut Self {
        match octets {
            Some(octets) => self.u8(1).octets(octets),
            None => self.u8(0),
        }
    }
    /// One of E2AP's types, in aligned PER behind its length.
    fn per<T: per::Encode>(&mut self, value: &T) -> &mut Self {
        self.per_in(E2AP, value)
    }
    fn per_in<T: per::Encode>(&mut self, version: Version, value: &T) -> &mut Self {
        let mut bytes = Vec::new();
        // Of the types that are written here only `RicTimeToWait` lost a value in a later version, and is written in an
        // older one; identities and causes are held to their bounds where they are made or decoded.
        if let Err(error) = per::encode(value, version.revision(), &mut bytes) {
            panic!("E2AP v{version} carries all that is written in it: {error}");
        }
        self.octets(&bytes)
    }
}

/// Fields from the start of a message.
struct Take<'a>(&'a [u8]);

type Taken<T> = Result<T, ProtocolError>;

impl<'a> Take<'a> {
    fn array<const N: usize>(&mut self) -> Taken<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk().ok_or(ProtocolError::Truncated)?;
        self.0 = rest;
        Ok(*head)
    }
    fn u8(&mut self) -> Taken<u8> {
        self.array::<1>().map(|[value]| value)
    }
    fn u16(&mut self) -> Taken<u16> {
        self.array().map(u16::from_be_bytes)
    }
    fn u32(&mut self) -> Taken<u32> {
        self.array().map(u32::from_be_bytes)
    }
    fn u64(&mut self) -> Taken<u64> {
        self.array().map(u64::from_be_bytes)
    }
    fn flag(&mut self) -> Taken<bool> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(ProtocolError::BadField),
        }
    }
    fn octets(&mut self, most: usize) -> Taken<&'a [u8]> {
        let count = self.u32()? as usize;
        if count > most {
            return Err(ProtocolError::BadField);
        }
        let (head, rest) = self.0.split_at_checked(count).ok_or(ProtocolError::Truncated)?;
        self.0 = rest;
        Ok(head)
    }
    fn text(&mut self, most: usize) -> Taken<String> {
        let octets = self.octets(most)?;
        core::str::from_utf8(octets).map(str::to_owned).map_err(|_| ProtocolError::BadField)
    }
    fn option(&mut self) -> Taken<Option<Vec<u8>>> {
        Ok(if self.flag()? { Some(self.octets(MAX_BLOB)?.to_vec()) } else { None })
    }
    fn count(&mut self, most: usize) -> Taken<usize> {
        let count = usize::from(self.u16()?);
        if count > most { Err(ProtocolError::BadField) } else { Ok(count) }
    }
    fn per<T: per::Decode<'a, per::Heap<'a>>>(&mut self) -> Taken<T> {
        self.per_in(E2AP)
    }
    fn per_in<T: per::Decode<'a, per::Heap<'a>>>(&mut self, version: Version) -> Taken<T> {
        let octets = self.octets(64)?;
        per::decode(octets, version.revision()).map_err(|_| ProtocolError::BadField)
    }
    fn function(&mut self) -> Taken<RanFunctionId> {
        let id = self.u16()?;
        if id < 4096 { Ok(RanFunctionId(id)) } else { Err(ProtocolError::BadField) }
    }
    fn code(&mut self) -> Taken<RefusalCode> {
        Ok(match self.u8()? {
            1 => RefusalCode::Version,
            2 => RefusalCode::Protocol,
            3 => RefusalCode::UnknownNode,
            4 => RefusalCode::UnknownFunction,
            5 => RefusalCode::UnknownSubscription,
            6 => RefusalCode::BadActions,
            7 => RefusalCode::TooManyRequests,
            8 => RefusalCode::NoRequestId,
            9 => RefusalCode::TooLarge,
            _ => return Err(ProtocolError::BadField),
        })
    }
}

impl<'a> Message<'a> {
    /// Appends the message to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        if let Message::Envelope(envelope) = self {
            out.extend(envelope.head());
            out.extend(envelope.pdu);
            return;
        }
        let mut put = Put(out);
        match self {
            Message::Hello { lowest, highest, name } => {
                put.u8(kind::HELLO).0.extend(MAGIC);
                put.u16(*lowest).u16(*highest).octets(name.as_bytes());
            }
            Message::Subscribe { ticket, node, function, spec } => {
                put.u8(kind::SUBSCRIBE).u32(ticket.0).u32(node.0).u16(function.0);
                put.octets(&spec.event_trigger).u16(spec.actions.len() as u16);
                for action in &spec.actions {
                    put.u8(action.id.0).per(&action.kind).option(action.definition.as_deref());
                    match &action.subsequent {
                        Some(subsequent) => put.u8(1).per_in(SUBSEQUENT, subsequent),
                        None => put.u8(0),
                    };
                }
            }
            Message::Unsubscribe { subscription } => drop(put.u8(kind::UNSUBSCRIBE).u32(subscription.0)),
            Message::Control { ticket, node, function, ack, call_process_id, header, message } => {
                put.u8(kind::CONTROL).u32(ticket.0).u32(node.0).u16(function.0).u8((*ack).into());
                put.option(call_process_id.as_deref()).octets(header).octets(message);
            }
            Message::Welcome { version, ric_id } => drop(put.u8(kind::WELCOME).u16(*version).per(ric_id)),
            Message::NodeUp(node) => {
                put.u8(kind::NODE_UP).u32(node.id.0).u8(node.version.revision()).per(&node.global_id);
                put.u16(node.functions.len() as u16);
                for function in &node.functions {
                    put.u16(function.id.0).u16(function.revision.0);
                    put.octets(function.oid.as_bytes()).octets(&function.definition);
                    put.option(function.model_revision.as_deref().map(str::as_bytes));
                }
            }
            Message::NodeLost(node) => drop(put.u8(kind::NODE_LOST).u32(node.0)),
            Message::Subscribed { ticket, subscription, admitted, not_admitted } => {
                put.u8(kind::SUBSCRIBED).u32(ticket.0).u32(subscription.0).u16(admitted.len() as u16);
                for id in admitted {
                    put.u8(id.0);
                }
                put.u16(not_admitted.len() as u16);
                for (id, cause) in not_admitted {
                    put.u8(id.0).per(cause);
                }
            }
            Message::SubscribeFailed { ticket, failure } => {
                put.u8(kind::SUBSCRIBE_FAILED).u32(ticket.0);
                match failure {
                    SubscribeFailure::Misuse(code) => put.u8(0).u8(*code as u8),
                    SubscribeFailure::Refused(cause) => put.u8(1).per(cause),
                    SubscribeFailure::TimedOut => put.u8(2),
                    SubscribeFailure::NodeLost => put.u8(3),
                };
            }
            Message::SubscriptionEnded { subscription, end } => {
                put.u8(kind::SUBSCRIPTION_ENDED).u32(subscription.0);
                match end {
                    SubscriptionEnd::Deleted => put.u8(0),
                    SubscriptionEnd::NodeLost => put.u8(1),
                    SubscriptionEnd::Reset => put.u8(2),
                    SubscriptionEnd::ByNode(cause) => put.u8(3).per(cause),
                };
            }
            Message::Controlled { ticket, result } => {
                put.u8(kind::CONTROLLED).u32(ticket.0);
                match result {
                    ControlResult::Misuse(code) => put.u8(0).u8(*code as u8),
                    ControlResult::Acknowledged(outcome) => put.u8(1).option(outcome.as_deref()),
                    ControlResult::Sent => put.u8(2),
                    ControlResult::Failed(cause, outcome) => put.u8(3).per(cause).option(outcome.as_deref()),
                    ControlResult::TimedOut => put.u8(4),
                    ControlResult::NodeLost => put.u8(5),
                };
            }
            Message::Dropped { reports } => drop(put.u8(kind::DROPPED).u64(*reports)),
            Message::Refused(code) => drop(put.u8(kind::REFUSED).u8(*code as u8)),
            Message::Envelope(_) => {} // above
        }
    }

    /// Reads a message.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, ProtocolError> {
        let mut take = Take(bytes);
        let message = Self::fields(&mut take)?;
        if take.0.is_empty() { Ok(message) } else { Err(ProtocolError::Trailing) }
    }

    fn fields(take: &mut Take<'a>) -> Result<Self, ProtocolError> {
        Ok(match take.u8()? {
            kind::ENVELOPE => {
                let (node, subscription) = (NodeId(take.u32()?), SubscriptionId(take.u32()?));
                Message::Envelope(Envelope { node, subscription, pdu: take.octets(usize::MAX)? })
            }
            kind::HELLO => {
                if take.array()? != MAGIC {
                    return Err(ProtocolError::NotThisProtocol);
                }
                Message::Hello { lowest: take.u16()?, highest: take.u16()?, name: take.text(MAX_NAME)? }
            }
            kind::SUBSCRIBE => {
                let (ticket, node, function) = (Ticket(take.u32()?), NodeId(take.u32()?), take.function()?);
                let event_trigger = take.octets(MAX_BLOB)?.to_vec();
                let mut actions = Vec::new();
                for _ in 0..take.count(MAX_ACTIONS_ASKED)? {
                    actions.push(Action {
                        id: RicActionId(take.u8()?),
                        kind: take.per::<RicActionType>()?,
                        definition: take.option()?,
                        subsequent: if take.flag()? {
                            Some(take.per_in::<RicSubsequentAction>(SUBSEQUENT)?)
                        } else {
                            None
                        },
                    });
                }
                Message::Subscribe { ticket, node, function, spec: SubscriptionSpec { event_trigger, actions } }
            }
            kind::UNSUBSCRIBE => Message::Unsubscribe { subscription: SubscriptionId(take.u32()?) },
            kind::CONTROL => Message::Control {
                ticket: Ticket(take.u32()?),
                node: NodeId(take.u32()?),
                function: take.function()?,
                ack: take.flag()?,
                call_process_id: take.option()?,
                header: take.octets(MAX_BLOB)?.to_vec(),
                message: take.octets(MAX_BLOB)?.to_vec(),
            },
            kind::WELCOME => Message::Welcome { version: take.u16()?, ric_id: take.per()? },
            kind::NODE_UP => {
                let id = NodeId(take.u32()?);
                let version = *Version::ALL.get(usize::from(take.u8()?)).ok_or(ProtocolError::BadField)?;
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
                Message::NodeUp(NodeInfo { id, global_id, version, functions })
            }
            kind::NODE_LOST => Message::NodeLost(NodeId(take.u32()?)),
            kind::SUBSCRIBED => {
                let (ticket, subscription) = (Ticket(take.u32()?), SubscriptionId(take.u32()?));
                let mut admitted = Vec::new();
                for _ in 0..take.count(MAX_ACTIONS)? {
                    admitted.push(RicActionId(take.u8()?));
                }
                let mut not_admitted = Vec::new();
                for _ in 0..take.count(MAX_ACTIONS)? {
                    not_admitted.push((RicActionId(take.u8()?), take.per()?));
                }
                Message::Subscribed { ticket, subscription, admitted, not_admitted }
            }
            kind::SUBSCRIBE_FAILED => Message::SubscribeFailed {
                ticket: Ticket(take.u32()?),
                failure: match take.u8()? {
                    0 => SubscribeFailure::Misuse(take.code()?),
                    1 => SubscribeFailure::Refused(take.per()?),
                    2 => SubscribeFailure::TimedOut,
                    3 => SubscribeFailure::NodeLost,
                    _ => return Err(ProtocolError::BadField),
                },
            },
            kind::SUBSCRIPTION_ENDED => Message::SubscriptionEnded {
                subscription: SubscriptionId(take.u32()?),
                end: match take.u8()? {
                    0 => SubscriptionEnd::Deleted,
                    1 => SubscriptionEnd::NodeLost,
                    2 => SubscriptionEnd::Reset,
                    3 => SubscriptionEnd::ByNode(take.per()?),
                    _ => return Err(ProtocolError::BadField),
                },
            },
            kind::CONTROLLED => Message::Controlled {
                ticket: Ticket(take.u32()?),
                result: match take.u8()? {
                    0 => ControlResult::Misuse(take.code()?),
                    1 => ControlResult::Acknowledged(take.option()?),
                    2 => ControlResult::Sent,
                    3 => ControlResult::Failed(take.per()?, take.option()?),
                    4 => ControlResult::TimedOut,
                    5 => ControlResult::NodeLost,
                    _ => return Err(ProtocolError::BadField),
                },
            },
            kind::DROPPED => Message::Dropped { reports: take.u64()? },
            kind::REFUSED => Message::Refused(take.code()?),
            other => return Err(ProtocolError::UnknownMessage(other)),
        })
    }
}
