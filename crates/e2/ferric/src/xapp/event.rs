//! What an xApp is told.

use std::time::Duration;

use e2::xapp::NodeInfo;
use e2::{NodeId, RequestEvent, SubscriptionId, Ticket};
use e2ap::{Codec, GlobalRicId, RicIndication, Version, peek};
use per::Gather;

use super::Verdict;

/// What an xApp is told.
#[derive(Clone, Debug, PartialEq)]
pub enum XappEvent<'a> {
    /// The RIC is lost, and tried again after a pause ([`XappConfig::reconnect`](super::XappConfig::reconnect)). Told
    /// after the loss of all nodes, the suspension of all subscriptions, and the failure of all that was not answered.
    Disconnected {
        /// Until the next attempt.
        retry_in: Duration,
    },
    /// The RIC is back, or another one in its place.
    Reconnected(GlobalRicId),
    /// A node is there.
    NodeUp(&'a NodeInfo),
    /// A node is not what was told of it before.
    NodeChanged(&'a NodeInfo),
    /// A node is gone, and every subscription with it that is not suspended.
    NodeLost(&'a NodeInfo),
    /// Something happened to a subscription, control or query of the xApp.
    Request(RequestEvent),
    /// An indication.
    Indication(Indication<'a>),
    /// Whether a control that was to be verified, and was acknowledged, had its effect.
    Verified {
        /// Of which command.
        ticket: Ticket,
        /// What the reports say.
        verdict: Verdict,
    },
    /// Reports were lost because the xApp reads too slowly: all of them until now.
    Dropped(u64),
}

/// An indication: the node's very bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Indication<'a> {
    /// From which node.
    pub node: NodeId,
    /// Of which subscription.
    pub subscription: SubscriptionId,
    /// The version that it is written in.
    pub version: Version,
    /// The encoding that it is written in, where that is known here: see
    /// [`XappConfig::encodings`](super::XappConfig::encodings).
    pub codec: Option<Codec>,
    /// The E2AP PDU.
    pub pdu: &'a [u8],
}

impl<'a> Indication<'a> {
    /// Ids and payload without decoding; `None` where the payload came in fragments (PER, from 16384 octets on), and where
    /// the encoding is not known here.
    #[must_use]
    pub fn peek(&self) -> Option<peek::Indication<'a>> {
        self.codec?.peek_indication(self.pdu)
    }

    /// The whole message; `gather` takes a payload that came in fragments.
    ///
    /// # Errors
    /// Where the encoding is not known here. The RIC forwards nothing but indications.
    pub fn decode(&self, gather: &'a Gather) -> Result<RicIndication<'a>, e2ap::Error> {
        let unknown = per::Error { kind: per::ErrorKind::UnknownExtension, bit: 0, at: "encoding" };
        self.codec.ok_or(e2ap::Error::Header(unknown))?.decode_indication(self.pdu, self.version, gather)
    }
}

/// The encoding of that name, built in or among `others`.
pub(super) fn named(others: &[Codec], name: &str) -> Option<Codec> {
    Codec::named(name).or_else(|| others.iter().copied().find(|codec| codec.name() == name))
}
