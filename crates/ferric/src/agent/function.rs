//! RAN functions: what a node offers through one service model.

use e2::{Agent, AgentMisuse, AssocId, ControlRequest, Function, SubscriptionRequest, Time};
use e2ap::{Cause, RanFunctionId, RicActionId, RicIndicationType, RicRequestId};
use link::Class;

use crate::peers::Peers;

/// A RAN function. What it does, it does on its agent's thread: it must not block.
pub trait RanFunction {
    /// Its id within the node.
    fn id(&self) -> RanFunctionId;

    /// What the RIC is told of it at setup.
    fn definition(&self) -> Function;

    /// The RIC wants to subscribe.
    ///
    /// # Errors
    /// The cause, where nothing of it can be done.
    fn subscribe(&mut self, now: Time, request: &SubscriptionRequest) -> Result<Admission, Cause>;

    /// A subscription is gone: the RIC wants it no more, or the RIC is gone.
    fn unsubscribe(&mut self, request_id: RicRequestId);

    /// The RIC wants something done. What comes back is the service model's outcome.
    ///
    /// # Errors
    /// Why it is not done.
    fn control(
        &mut self,
        now: Time,
        request: &ControlRequest,
        reports: &mut Reports<'_>,
    ) -> Result<Option<Vec<u8>>, ControlFailure>;

    /// When [`RanFunction::report`] is to be called next; `None` while there is nothing to report.
    fn next_report(&self) -> Option<Time> {
        None
    }

    /// The time of [`RanFunction::next_report`] has come.
    fn report(&mut self, now: Time, reports: &mut Reports<'_>) {
        let _ = (now, reports);
    }
}

/// What a function takes of a subscription: one action at least.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admission {
    /// Actions that are set up.
    pub admitted: Vec<RicActionId>,
    /// Actions that are not, and why.
    pub not_admitted: Vec<(RicActionId, Cause)>,
}

/// Why a control is not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlFailure {
    /// The cause.
    pub cause: Cause,
    /// The service model's outcome.
    pub outcome: Option<Vec<u8>>,
}

impl From<Cause> for ControlFailure {
    fn from(cause: Cause) -> Self {
        ControlFailure { cause, outcome: None }
    }
}

/// Where a function puts its indications.
pub struct Reports<'a> {
    pub(super) machine: &'a mut Agent,
    pub(super) peers: &'a mut Peers,
    pub(super) assoc: AssocId,
    pub(super) out: &'a mut Vec<u8>,
}

impl Reports<'_> {
    /// Sends a report of an action that is set up. Where the RIC reads too slowly, its oldest reports make room.
    ///
    /// # Errors
    /// Where the subscription does not stand (any more).
    pub fn report(
        &mut self,
        request_id: RicRequestId,
        action: RicActionId,
        header: &[u8],
        message: &[u8],
    ) -> Result<(), AgentMisuse> {
        self.out.clear();
        let kind = RicIndicationType::Report;
        self.machine.write_indication(request_id, action, kind, header, message, self.out)?;
        // A link that is lost is noticed by the loop; a report that finds no room is counted by the link.
        let _ = self.peers.send(self.assoc, &[self.out], Class::Report);
        self.out.clear();
        Ok(())
    }
}
