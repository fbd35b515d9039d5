//! What a base station implements.

use std::borrow::Cow;

use e2sm::ni::{NiIdentifier, NiType};
use ferric::agent::{ControllerId, Ue};
use ferric::e2::Time;

/// An interface of the node that can be tapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its kind.
    pub kind: NiType,
    /// The other end, or what of this one E2SM-NI can name; see the base station's documentation.
    pub id: NiIdentifier,
}

/// The way of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Way {
    /// To the node.
    Incoming,
    /// From the node.
    Outgoing,
}

/// Names a message that a base station holds; never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MessageId(pub u64);

/// A message that has come to a tap and waits to go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its name.
    pub id: MessageId,
    /// When it came.
    pub at: Time,
    /// The interface, by its place among [`NiSource::interfaces`].
    pub interface: usize,
    /// Its way.
    pub way: Way,
    /// Its octets, from the application protocol on.
    pub octets: Vec<u8>,
    /// The UE that it is about, if it is about one.
    pub ue: Option<Ue>,
}

/// What becomes of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It goes on.
    Pass,
    /// It does not.
    Drop,
    /// Another goes on in its place.
    Replace(Vec<u8>),
}

/// What a base station implements, to offer E2SM-NI: the taps of its interfaces.
///
/// While somebody watches, each message stops at the tap until [`NiSource::decide`] says what becomes of it; nearly
/// always that is at once. While nobody does, messages are none of this function's business.
pub trait NiSource {
    /// The interfaces: at least one, never changing.
    fn interfaces(&self) -> &[Interface];

    /// Somebody watches from now on, or nobody any more: then what is stopped and not yet told of goes on.
    fn watch(&mut self, now: Time, is_watched: bool);

    /// The next message that has come to a tap until now, in order; it stays there until its fate is decided.
    fn next_message(&mut self, now: Time) -> Option<Message>;

    /// When to ask for messages next; `None`: the host says [`AgentLoop::wake`](ferric::agent::AgentLoop::wake).
    fn next_look(&self) -> Option<Time> {
        None
    }

    /// Decides what becomes of a message. One that is gone by itself meanwhile, with its UE or its interface, is not
    /// missed.
    fn decide(&mut self, now: Time, message: MessageId, fate: Fate);

    /// Has a message of a controller's making go its way, as if it had come by itself.
    ///
    /// # Errors
    /// Why not, for the log.
    fn inject(
        &mut self,
        now: Time,
        origin: ControllerId,
        interface: usize,
        way: Way,
        octets: &[u8],
    ) -> Result<(), Cow<'static, str>>;
}
