//! The encoding of the fields of the RIC-xApp protocol, which `docs/xapp-protocol.md` specifies.
//!
//! Each message is one PDU of the link: a type octet, then the fields, big-endian, strings and octets after a length. Every
//! field is bounded; a message with a longer field or trailing octets is invalid.

use e2ap::{
    Cause, RanFunctionId, RicActionId, RicActionType, RicSubscriptionTime, RicSubsequentAction, RicTimeToWait, Version,
};

use super::protocol::{ENVELOPE_OCTETS, Envelope, ProtocolError};
use crate::{Action, RefusalCode, SubscriptionId};

/// The first octets of every hello.
pub(super) const MAGIC: [u8; 4] = *b"FRXA";
/// Octets of an xApp's name.
pub(super) const MAX_NAME: usize = 64;
/// Octets of an encoding's name.
pub(super) const MAX_ENCODING: usize = 16;
/// Octets of an OID.
pub(crate) const MAX_OID: usize = 1000;
/// Octets of a service model's revision.
pub(super) const MAX_REVISION: usize = 16;
/// Octets of a definition, a trigger, a header, a message.
pub(super) const MAX_BLOB: usize = 1 << 20;
/// Octets of a message of a service that is not E2.
pub(super) const MAX_DOCUMENT: usize = 128 << 10;
/// Functions of a node.
pub(crate) const MAX_FUNCTIONS: usize = 256;
/// Actions of an active subscription.
pub(super) const MAX_ACTIONS: usize = 16;
/// Actions of a command. More than a subscription may have are refused, which does not end the session.
pub(super) const MAX_ACTIONS_ASKED: usize = 256;

/// The E2AP version of the E2AP types in this protocol.
const E2AP: Version = Version::V3_01;
/// The version of subsequent actions: v2 removed the time to wait "zero", and nothing was added since.
pub(super) const SUBSEQUENT: Version = Version::V1_01;

pub(super) mod kind {
    pub const HELLO: u8 = 0x01;
    pub const SUBSCRIBE: u8 = 0x02;
    pub const UNSUBSCRIBE: u8 = 0x03;
    pub const CONTROL: u8 = 0x04;
    pub const MODIFY: u8 = 0x05;
    pub const QUERY: u8 = 0x06;
    pub const ANSWER_CHANGE: u8 = 0x07;
    pub const TO_SERVICE: u8 = 0x08;
    pub const WELCOME: u8 = 0x81;
    pub const NODE_UP: u8 = 0x82;
    pub const NODE_LOST: u8 = 0x83;
    pub const SUBSCRIBED: u8 = 0x84;
    pub const SUBSCRIPTION_FAILED: u8 = 0x85;
    pub const SUBSCRIPTION_ENDED: u8 = 0x86;
    pub const ENVELOPE: u8 = 0x87;
    pub const CONTROLLED: u8 = 0x88;
    pub const DROPPED: u8 = 0x89;
    pub const REFUSED: u8 = 0x8A;
    pub const NODE_CHANGED: u8 = 0x8B;
    pub const SUBSCRIPTION_SUSPENDED: u8 = 0x8C;
    pub const SUBSCRIPTION_RESUMED: u8 = 0x8D;
    pub const SUBSCRIPTION_CHANGED: u8 = 0x8E;
    pub const MODIFIED: u8 = 0x8F;
    pub const QUERIED: u8 = 0x90;
    pub const CHANGE_REQUIRED: u8 = 0x91;
    pub const FROM_SERVICE: u8 = 0x92;
}

impl Envelope<'_> {
    /// Returns the subscription of an envelope from its first octets; `None` for other messages.
    #[must_use]
    pub fn subscription_of(message: &[u8]) -> Option<SubscriptionId> {
        let id = message.get(5..9)?.try_into().ok()?;
        (message[0] == kind::ENVELOPE).then(|| SubscriptionId(u32::from_be_bytes(id)))
    }

    /// Returns the octets before the PDU: type, node, subscription, and the length of the PDU.
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

/// The start or end of the delivery of a subscription's indications to an xApp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryChange {
    /// The xApp receives the indications from now on.
    Begins(SubscriptionId),
    /// The xApp receives no further indications.
    Ends(SubscriptionId),
}

impl DeliveryChange {
    /// Decodes the change from the first octets of a message; returns `None` for other messages.
    #[must_use]
    pub fn of(message: &[u8]) -> Option<Self> {
        let mut take = Take(message);
        match take.u8().ok()? {
            kind::SUBSCRIBED => {
                take.u32().ok()?; // its ticket
                take.u32().ok().map(|id| DeliveryChange::Begins(SubscriptionId(id)))
            }
            kind::SUBSCRIPTION_ENDED => take.u32().ok().map(|id| DeliveryChange::Ends(SubscriptionId(id))),
            _ => None,
        }
    }
}

/// Appends fields to a buffer.
pub(super) struct Put<'b>(pub &'b mut Vec<u8>);

impl Put<'_> {
    pub fn u8(&mut self, value: u8) -> &mut Self {
        self.0.push(value);
        self
    }
    pub fn u16(&mut self, value: u16) -> &mut Self {
        self.0.extend(value.to_be_bytes());
        self
    }
    pub fn u32(&mut self, value: u32) -> &mut Self {
        self.0.extend(value.to_be_bytes());
        self
    }
    pub fn u64(&mut self, value: u64) -> &mut Self {
        self.0.extend(value.to_be_bytes());
        self
    }
    pub fn octets(&mut self, octets: &[u8]) -> &mut Self {
        self.u32(octets.len() as u32);
        self.0.extend(octets);
        self
    }
    pub fn option(&mut self, octets: Option<&[u8]>) -> &mut Self {
        match octets {
            Some(octets) => self.u8(1).octets(octets),
            None => self.u8(0),
        }
    }
    pub fn ids(&mut self, ids: &[RicActionId]) -> &mut Self {
        self.u16(ids.len() as u16);
        for id in ids {
            self.u8(id.0);
        }
        self
    }
    pub fn waits(&mut self, waits: &[(RicActionId, RicTimeToWait)]) -> &mut Self {
        self.u16(waits.len() as u16);
        for (id, wait) in waits {
            self.u8(id.0).per(wait);
        }
        self
    }
    pub fn causes(&mut self, causes: &[(RicActionId, Cause)]) -> &mut Self {
        self.u16(causes.len() as u16);
        for (id, cause) in causes {
            self.u8(id.0).per(cause);
        }
        self
    }
    pub fn action(&mut self, action: &Action) -> &mut Self {
        self.u8(action.id.0).per(&action.kind).option(action.definition.as_deref());
        self.subsequent(action.subsequent.as_ref())
    }
    pub fn subsequent(&mut self, subsequent: Option<&RicSubsequentAction>) -> &mut Self {
        match subsequent {
            Some(subsequent) => self.u8(1).per_in(SUBSEQUENT, subsequent),
            None => self.u8(0),
        }
    }
    pub fn time(&mut self, time: Option<RicSubscriptionTime>) -> &mut Self {
        match time {
            Some(RicSubscriptionTime(octets)) => self.u8(1).0.extend(octets),
            None => self.0.push(0),
        }
        self
    }
    /// Appends an E2AP type, in aligned PER after its length.
    pub fn per<T: per::Encode>(&mut self, value: &T) -> &mut Self {
        self.per_in(E2AP, value)
    }
    pub fn per_in<T: per::Encode>(&mut self, version: Version, value: &T) -> &mut Self {
        let mut bytes = Vec::new();
        // Of the types that are written here only `RicTimeToWait` lost a value in a later version, and is written in an
        // older one; identities and causes are held to their bounds where they are made or decoded.
        if let Err(error) = per::encode(value, version.revision(), &mut bytes) {
            panic!("E2AP v{version} carries all that is written in it: {error}");
        }
        self.octets(&bytes)
    }
}

/// Reads fields from the start of a message.
pub(super) struct Take<'a>(pub &'a [u8]);

pub(super) type Taken<T> = Result<T, ProtocolError>;

impl<'a> Take<'a> {
    pub fn array<const N: usize>(&mut self) -> Taken<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk().ok_or(ProtocolError::Truncated)?;
        self.0 = rest;
        Ok(*head)
    }
    pub fn u8(&mut self) -> Taken<u8> {
        self.array::<1>().map(|[value]| value)
    }
    pub fn u16(&mut self) -> Taken<u16> {
        self.array().map(u16::from_be_bytes)
    }
    pub fn u32(&mut self) -> Taken<u32> {
        self.array().map(u32::from_be_bytes)
    }
    pub fn u64(&mut self) -> Taken<u64> {
        self.array().map(u64::from_be_bytes)
    }
    pub fn flag(&mut self) -> Taken<bool> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(ProtocolError::BadField),
        }
    }
    pub fn octets(&mut self, most: usize) -> Taken<&'a [u8]> {
        let count = self.u32()? as usize;
        if count > most {
            return Err(ProtocolError::BadField);
        }
        let (head, rest) = self.0.split_at_checked(count).ok_or(ProtocolError::Truncated)?;
        self.0 = rest;
        Ok(head)
    }
    pub fn text(&mut self, most: usize) -> Taken<String> {
        let octets = self.octets(most)?;
        core::str::from_utf8(octets).map(str::to_owned).map_err(|_| ProtocolError::BadField)
    }
    pub fn option(&mut self) -> Taken<Option<Vec<u8>>> {
        Ok(if self.flag()? { Some(self.octets(MAX_BLOB)?.to_vec()) } else { None })
    }
    pub fn count(&mut self, most: usize) -> Taken<usize> {
        let count = usize::from(self.u16()?);
        if count > most { Err(ProtocolError::BadField) } else { Ok(count) }
    }
    pub fn per<T: per::Decode<'a, per::Heap<'a>>>(&mut self) -> Taken<T> {
        self.per_in(E2AP)
    }
    pub fn per_in<T: per::Decode<'a, per::Heap<'a>>>(&mut self, version: Version) -> Taken<T> {
        let octets = self.octets(64)?;
        per::decode(octets, version.revision()).map_err(|_| ProtocolError::BadField)
    }
    pub fn ids(&mut self, most: usize) -> Taken<Vec<RicActionId>> {
        (0..self.count(most)?).map(|_| self.u8().map(RicActionId)).collect()
    }
    pub fn causes(&mut self) -> Taken<Vec<(RicActionId, Cause)>> {
        (0..self.count(MAX_ACTIONS)?).map(|_| Ok((RicActionId(self.u8()?), self.per()?))).collect()
    }
    pub fn waits(&mut self) -> Taken<Vec<(RicActionId, RicTimeToWait)>> {
        (0..self.count(MAX_ACTIONS)?).map(|_| Ok((RicActionId(self.u8()?), self.per()?))).collect()
    }
    pub fn action(&mut self) -> Taken<Action> {
        Ok(Action {
            id: RicActionId(self.u8()?),
            kind: self.per::<RicActionType>()?,
            definition: self.option()?,
            subsequent: self.subsequent()?,
        })
    }
    pub fn subsequent(&mut self) -> Taken<Option<RicSubsequentAction>> {
        if self.flag()? { self.per_in(SUBSEQUENT).map(Some) } else { Ok(None) }
    }
    pub fn time(&mut self) -> Taken<Option<RicSubscriptionTime>> {
        if self.flag()? { self.array().map(|octets| Some(RicSubscriptionTime(octets))) } else { Ok(None) }
    }
    pub fn function(&mut self) -> Taken<RanFunctionId> {
        let id = self.u16()?;
        if id < 4096 { Ok(RanFunctionId(id)) } else { Err(ProtocolError::BadField) }
    }
    pub fn code(&mut self) -> Taken<RefusalCode> {
        RefusalCode::from_number(self.u8()?).ok_or(ProtocolError::BadField)
    }
}

#[cfg(test)]
mod tests {
    use super::super::protocol::{RicMessage, XappMessage};
    use super::*;
    use crate::{NodeId, RequestEvent, SubscriptionEnd, Ticket};

    #[test]
    fn first_octets_show_start_and_end_of_a_subscription() {
        let subscription = SubscriptionId(0x0102_0304);
        let of = |message: RicMessage<'_>| {
            let mut bytes = Vec::new();
            message.encode(&mut bytes);
            DeliveryChange::of(&bytes)
        };
        let (ticket, admitted) = (Ticket(7), vec![RicActionId(1)]);
        let subscribed = RequestEvent::Subscribed { ticket, subscription, admitted, not_admitted: Vec::new() };
        assert_eq!(of(RicMessage::Request(subscribed)), Some(DeliveryChange::Begins(subscription)));
        let ended = RequestEvent::SubscriptionEnded { subscription, end: SubscriptionEnd::Reset };
        assert_eq!(of(RicMessage::Request(ended)), Some(DeliveryChange::Ends(subscription)));
        assert_eq!(of(RicMessage::NodeLost(NodeId(1))), None);
        let mut bytes = Vec::new();
        XappMessage::Unsubscribe { subscription }.encode(&mut bytes);
        assert_eq!(DeliveryChange::of(&bytes), None, "a message of the xApp");
        assert_eq!(DeliveryChange::of(&[]), None);
        assert_eq!(DeliveryChange::of(&[kind::SUBSCRIBED, 0, 0, 0, 0, 1]), None);
    }
}
