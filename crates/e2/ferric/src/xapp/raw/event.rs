//! The events of an xApp.

use std::time::Duration;

use e2::xapp::NodeInfo;
use e2::{NodeId, RequestEvent, SubscriptionId, Ticket};
use e2ap::{Codec, GlobalRicId, RicIndication, Version, peek};
use per::Gather;

use super::Verdict;

/// An event of an xApp.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum XappEvent<'a> {
    /// The RIC is lost. The session reconnects after a delay
    /// ([`XappConfig::reconnect`](super::XappConfig::reconnect)). Preceded by the loss of all nodes, the suspension of
    /// all subscriptions, and the failure of all unanswered commands.
    Disconnected {
        /// The time until the next attempt.
        retry_in: Duration,
    },
    /// The RIC, or another one in its place, has accepted the session again.
    Reconnected(GlobalRicId),
    /// A node has set up.
    NodeUp(&'a NodeInfo),
    /// The functions or components of a node, or its version of E2AP, have changed.
    NodeChanged(&'a NodeInfo),
    /// A node is lost, and with it every subscription that is not suspended.
    NodeLost(&'a NodeInfo),
    /// A node that was connected to another RIC of the group is connected to this one. Follows its `NodeUp`; only an
    /// [`XappGroup`](super::XappGroup) has it.
    NodeMoved {
        /// The node.
        node: NodeId,
        /// The address of the RIC that it was connected to.
        from: &'a str,
        /// The address of the RIC that it is connected to.
        to: &'a str,
    },
    /// Services are another RIC's of the group from now on, since the one that had them is lost: what was requested of them is to be
    /// requested again. Only an [`XappGroup`](super::XappGroup) has it.
    ServicesMoved,
    /// The result of a command, or an event of a subscription.
    Request(RequestEvent),
    /// A RIC Indication.
    Indication(Indication<'a>),
    /// The effect of an acknowledged control was verified; see
    /// [`Commands::control_verified`](super::Commands::control_verified).
    Verified {
        /// The ticket of the control.
        ticket: Ticket,
        /// The result.
        verdict: Verdict,
    },
    /// A message of a service of the RIC that is not E2; see [`Commands::service`](super::Commands::service).
    Service {
        /// Which message of which service.
        kind: u32,
        /// Its content.
        document: &'a [u8],
    },
    /// The RIC has no service for a message of this xApp.
    NoService,
    /// Reports were dropped because the xApp reads too slowly: their number since the session began.
    ReportsDropped(u64),
}

/// A RIC Indication: the node's unmodified PDU.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Indication<'a> {
    /// The node.
    pub node: NodeId,
    /// The subscription.
    pub subscription: SubscriptionId,
    /// The version of E2AP.
    pub version: Version,
    /// The encoding of E2AP; `None` if it is neither built in nor among
    /// [`XappConfig::encodings`](super::XappConfig::encodings).
    pub codec: Option<Codec>,
    /// The E2AP PDU.
    pub pdu: &'a [u8],
}

impl<'a> Indication<'a> {
    /// Returns ids and payload without decoding the message. `None` if the payload is fragmented (PER, from 16384
    /// octets on), or the encoding is unknown.
    #[must_use]
    pub fn peek(&self) -> Option<peek::Indication<'a>> {
        self.codec?.peek_indication(self.pdu)
    }

    /// Decodes the message; `gather` holds a fragmented payload.
    ///
    /// # Errors
    /// When the encoding is unknown. The RIC forwards only valid indications.
    pub fn decode(&self, gather: &'a Gather) -> Result<RicIndication<'a>, e2ap::Error> {
        let unknown = per::Error { kind: per::ErrorKind::UnknownExtension, bit: 0, at: "encoding" };
        self.codec.ok_or(e2ap::Error::Header(unknown))?.decode_indication(self.pdu, self.version, gather)
    }
}

/// Returns the encoding of that name, built in or among `others`.
pub(super) fn codec_by_name(others: &[Codec], name: &str) -> Option<Codec> {
    Codec::named(name).or_else(|| others.iter().copied().find(|codec| codec.name() == name))
}
