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
        let block = id.requestor.checked_sub(first_requestor)?;
        Some(SubscriptionId(u32::from(block) << 16 | u32::from(id.instance)))
    }
}
