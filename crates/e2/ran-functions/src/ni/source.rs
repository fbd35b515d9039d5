//! The interface to the base station.

use std::borrow::Cow;

use e2sm::ni::{NiIdentifier, NiType};
use ferric::agent::{ControllerId, Ue};
use ferric::e2::Time;

/// An interface of the node that can be tapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interface {
    /// The kind of interface.
    pub kind: NiType,
    /// The identity of the other end, or of this end if E2SM-NI cannot identify the other one.
    pub id: NiIdentifier,
}

/// The direction of a message, seen from the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MessageDirection {
    /// To the node.
    Incoming,
    /// From the node.
    Outgoing,
}

/// Identifies a message at a tap. Ids are never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MessageId(pub u64);

/// A message that waits at a tap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The id.
    pub id: MessageId,
    /// The time of its arrival.
    pub at: Time,
    /// The index of the interface in [`NiSource::interfaces`].
    pub interface: usize,
    /// The direction.
    pub direction: MessageDirection,
    /// The PDU of the application protocol.
    pub octets: Vec<u8>,
    /// The UE that the message concerns, if any.
    pub ue: Option<Ue>,
}

/// The decision about a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MessageDecision {
    /// The message passes.
    Pass,
    /// The message is dropped.
    Drop,
    /// Another message replaces it.
    Replace(Vec<u8>),
}

/// The taps of a base station's interfaces, which the base station implements to offer E2SM-NI.
///
/// While the taps are watched, each message waits until [`NiSource::decide`], which nearly always follows at once. Otherwise
/// messages pass.
pub trait NiSource {
    /// Returns the interfaces: at least one; they never change.
    fn interfaces(&self) -> &[Interface];

    /// Starts or stops watching. On stop, messages that [`NiSource::next_message`] did not return yet pass.
    fn set_watched(&mut self, now: Time, is_watched: bool);

    /// Returns the next message that arrived at a tap until `now`, in order. It waits there until it is decided.
    fn next_message(&mut self, now: Time) -> Option<Message>;

    /// Returns the time of the next call of [`NiSource::next_message`]; with `None` the host calls
    /// [`AgentLoop::wake`](ferric::agent::AgentLoop::wake).
    fn next_poll(&self) -> Option<Time> {
        None
    }

    /// Applies the decision about a message. A message that no longer exists, because its UE or interface was removed, is
    /// ignored.
    fn decide(&mut self, now: Time, message: MessageId, decision: MessageDecision);

    /// Injects a message of a controller, as if it had arrived by itself.
    ///
    /// # Errors
    /// The reason, for the log.
    fn inject(
        &mut self,
        now: Time,
        origin: ControllerId,
        interface: usize,
        direction: MessageDirection,
        octets: &[u8],
    ) -> Result<(), Cow<'static, str>>;
}
