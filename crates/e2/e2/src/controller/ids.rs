//! The ids that a controller and its caller give out.

use e2ap::RicRequestId;

/// Identifies a node from its setup to its loss. An id is not reused before 2^32 others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u32);

/// Identifies a subscription towards a node; several consumers may share it. The id of an ended subscription is reused
/// after a delay, as its request id is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SubscriptionId(pub u32);

/// Identifies an iApp or the session of an xApp. The caller chooses the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Consumer(pub u32);

/// Pairs an event with the command that caused it. The caller chooses the numbers, separately for each consumer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ticket(pub u32);

impl SubscriptionId {
    /// Returns the id of the subscription with this request id, for a controller whose ids begin with
    /// [`ControllerConfig::first_requestor`](super::ControllerConfig::first_requestor).
    #[inline]
    #[must_use]
    pub fn of_request(first_requestor: u16, id: RicRequestId) -> Option<SubscriptionId> {
        let place = id.requestor.checked_sub(first_requestor)?;
        let round = u32::from(id.instance.wrapping_sub(place));
        // less than 2^16 rounds of at most 2^16 places
        Some(SubscriptionId(round * requestors(first_requestor) + u32::from(place)))
    }

    /// Returns the request id of the subscription, the inverse of [`SubscriptionId::of_request`].
    ///
    /// Consecutive ids differ in both parts, so that all do until the requestors are used up. FlexRIC's agent
    /// distinguishes aperiodic reports by the requestor alone; agents made for the subscription manager of O-RAN SC, which has one
    /// requestor, may use the instance alone.
    pub(super) fn request(self, first_requestor: u16) -> RicRequestId {
        let requestors = requestors(first_requestor);
        // both fit: less than 2^16 requestors beyond the first one, and less than 2^16 rounds
        let (round, place) = ((self.0 / requestors) as u16, (self.0 % requestors) as u16);
        RicRequestId { requestor: first_requestor + place, instance: round.wrapping_add(place) }
    }
}

/// The number of requestor ids from the first one in use.
#[inline]
pub(super) fn requestors(first_requestor: u16) -> u32 {
    u32::from(u16::MAX - first_requestor) + 1
}
