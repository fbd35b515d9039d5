//! What an xApp is told.

use std::time::Duration;

use e2::xapp::{ControlResult, ModifyResult, NodeInfo, QueryResult, SubscribeFailure};
use e2::{NodeId, SubscriptionEnd, SubscriptionId, Ticket};
use e2ap::{Cause, Codec, GlobalRicId, RicActionId, RicIndication, RicTimeToWait, Version, peek};
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
    /// A subscription stands.
    Subscribed {
        /// Of which command.
        ticket: Ticket,
        /// Its name from now on.
        subscription: SubscriptionId,
        /// Actions that are set up.
        admitted: Vec<RicActionId>,
        /// Actions that are not, and why.
        not_admitted: Vec<(RicActionId, Cause)>,
    },
    /// A subscription does not stand.
    SubscribeFailed {
        /// Of which command.
        ticket: Ticket,
        /// Why.
        failure: SubscribeFailure,
    },
    /// A subscription waits for its node to come back: it is resumed, or ends.
    SubscriptionSuspended(SubscriptionId),
    /// A subscription that was suspended stands again.
    SubscriptionResumed {
        /// Which one.
        subscription: SubscriptionId,
        /// Its node's present name, which may be told before the node itself.
        node: NodeId,
        /// Actions that are set up now.
        admitted: Vec<RicActionId>,
        /// Actions that are not, and why.
        not_admitted: Vec<(RicActionId, Cause)>,
    },
    /// The node requires a subscription to change, and the xApp wants to be asked
    /// ([`SubscriptionOrder::consent`](e2::SubscriptionOrder::consent)): answered by
    /// [`Commands::answer_change`](super::Commands::answer_change), within a second unless the RIC is configured
    /// otherwise. What is not refused by then is agreed to.
    ChangeRequired {
        /// Which one.
        subscription: SubscriptionId,
        /// Actions that are to go, and why.
        remove: Vec<(RicActionId, Cause)>,
        /// Actions that are to be followed by another time to wait.
        modify: Vec<(RicActionId, RicTimeToWait)>,
    },
    /// The node required a subscription to change, and the RIC agreed.
    SubscriptionChanged {
        /// Which one.
        subscription: SubscriptionId,
        /// Actions that are gone, and why.
        removed: Vec<(RicActionId, Cause)>,
        /// Actions that are followed by another time to wait.
        modified: Vec<(RicActionId, RicTimeToWait)>,
    },
    /// What became of a subscription's change.
    Modified {
        /// Of which command.
        ticket: Ticket,
        /// Of which subscription.
        subscription: SubscriptionId,
        /// What became of it.
        result: ModifyResult,
    },
    /// What became of a query.
    Queried {
        /// Of which command.
        ticket: Ticket,
        /// What became of it.
        result: QueryResult,
    },
    /// A subscription stands no more.
    SubscriptionEnded {
        /// Which one.
        subscription: SubscriptionId,
        /// Why.
        end: SubscriptionEnd,
    },
    /// An indication.
    Indication(Indication<'a>),
    /// What became of a control.
    Controlled {
        /// Of which command.
        ticket: Ticket,
        /// What became of it.
        result: ControlResult,
    },
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
