//! RAN functions: what a node offers through one service model.

use e2::{
    AgentMisuse, ChangeResult, ControlRequest, Function, QueryRequest, SubscriptionChange, SubscriptionRequest, Time,
};
use e2ap::{
    Cause, CauseRicRequest, GlobalRicId, RanFunctionId, RicActionId, RicIndicationType, RicRequestId, RicTimeToWait,
};
use link::Class;

use super::node::ConnectionTable;
use super::{ControllerId, Views};
use crate::peers::Peers;

/// Names a subscription within a node: each controller numbers its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestKey {
    /// DeadlineOwner it is.
    pub controller: ControllerId,
    /// What that controller calls it.
    pub id: RicRequestId,
}

/// A RAN function, towards all controllers of its node. What it does, it does on its agent's thread: it must not block.
///
/// A function tells a controller of those UEs only that it may see ([`Views`]), and lets it act on no others. What is
/// shared by the controllers is the function's to guard: a request that would take from another what that one was
/// granted is refused.
pub trait RanFunction {
    /// Its id within the node.
    fn id(&self) -> RanFunctionId;

    /// What controllers are told of it at setup.
    fn definition(&self) -> Function;

    /// A controller wants to subscribe.
    ///
    /// # Errors
    /// The cause, where nothing of it can be done.
    fn subscribe(
        &mut self,
        now: Time,
        controller: ControllerId,
        request: &SubscriptionRequest,
        views: &Views,
    ) -> Result<Admission, Cause>;

    /// A controller wants a subscription changed, which E2AP has from v3 on. Unless the function says otherwise, it changes
    /// nothing: a controller may subscribe anew.
    ///
    /// # Errors
    /// The cause, where nothing of it can be done; the subscription stands as it was.
    fn modify(
        &mut self,
        now: Time,
        key: RequestKey,
        change: &SubscriptionChange,
        views: &Views,
    ) -> Result<ChangeResult, Cause> {
        let _ = (now, key, change, views);
        Err(Cause::RicRequest(CauseRicRequest::ActionNotSupported))
    }

    /// A controller answers a change that one of the node's functions required by [`FunctionContext::require_change`].
    fn change_answered(&mut self, key: RequestKey, answer: &ChangeAnswer) {
        let _ = (key, answer);
    }

    /// A subscription is gone: its controller wants it no more, or is gone.
    fn unsubscribe(&mut self, key: RequestKey);

    /// A controller wants something done. What comes back is the service model's outcome. Unless the function says
    /// otherwise, it has no control.
    ///
    /// # Errors
    /// Why it is not done.
    fn control(
        &mut self,
        now: Time,
        controller: ControllerId,
        request: &ControlRequest,
        reports: &mut FunctionContext<'_>,
    ) -> Result<Option<Vec<u8>>, ControlFailure> {
        let _ = (now, controller, request, reports);
        Err(Cause::RicRequest(CauseRicRequest::ActionNotSupported).into())
    }

    /// A controller asks something, which E2AP has from v3 on. What comes back is the service model's outcome. Unless the
    /// function says otherwise, it answers nothing.
    ///
    /// # Errors
    /// Why there is no answer.
    fn query(
        &mut self,
        now: Time,
        controller: ControllerId,
        request: &QueryRequest,
        views: &Views,
    ) -> Result<Vec<u8>, Cause> {
        let _ = (now, controller, request, views);
        Err(Cause::RicRequest(CauseRicRequest::ActionNotSupported))
    }

    /// When [`RanFunction::report`] is to be called next; `None` while there is nothing to report.
    ///
    /// The loop asks again after each call of a function of this node. Where the answer changes in between, by what the
    /// host does, the host says [`AgentLoop::wake`](super::AgentLoop::wake).
    fn next_report(&self) -> Option<Time> {
        None
    }

    /// The time of [`RanFunction::next_report`] has come.
    fn report(&mut self, now: Time, reports: &mut FunctionContext<'_>) {
        let _ = (now, reports);
    }

    /// A controller is removed from the node; its subscriptions are gone already. What it had set may be undone. The
    /// mere loss of a connection is not told: what was set stays.
    fn controller_removed(&mut self, controller: ControllerId) {
        let _ = controller;
    }
}

/// What a controller says to a change that a function required.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChangeAnswer {
    /// It agrees, to some of it at least.
    Confirmed {
        /// Actions that are followed by the new time to wait.
        modified: Vec<RicActionId>,
        /// Actions that are gone.
        removed: Vec<RicActionId>,
        /// Actions that stay as they are, and why.
        refused: Vec<(RicActionId, Cause)>,
    },
    /// It does not agree; without a cause where it did not answer.
    Refused(Option<Cause>),
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

/// Where a function puts its indications, and what it may know of the node's controllers.
///
/// The loop makes it; so may a test, or a host with a loop of its own, from any [`FunctionTransport`].
pub struct FunctionContext<'a> {
    views: &'a mut Views,
    outlet: &'a mut dyn FunctionTransport,
}

/// What carries a node's indications to its controllers.
pub trait FunctionTransport {
    /// Sends an indication: an insert where it has a call process id, else a report.
    ///
    /// # Errors
    /// Where the subscription does not stand (any more).
    fn send(
        &mut self,
        key: RequestKey,
        action: RicActionId,
        call_process_id: Option<&[u8]>,
        header: &[u8],
        message: &[u8],
    ) -> Result<(), AgentMisuse>;

    /// The node's controllers, in the order of their adding, and who they are once they have taken the setup.
    fn controllers(&self) -> Vec<(ControllerId, Option<GlobalRicId>)>;

    /// Asks for a subscription's deletion. An outlet without this way says that the version does not have it.
    ///
    /// # Errors
    /// As [`FunctionContext::require_deletion`].
    fn require_deletion(&mut self, key: RequestKey, cause: Cause) -> Result<(), AgentMisuse> {
        let _ = (key, cause);
        Err(AgentMisuse::NotInVersion)
    }

    /// Asks for a change of a subscription. An outlet without this way says that the version does not have it.
    ///
    /// # Errors
    /// As [`FunctionContext::require_change`].
    fn require_change(
        &mut self,
        now: Time,
        key: RequestKey,
        modify: &[(RicActionId, RicTimeToWait)],
        remove: &[(RicActionId, Cause)],
    ) -> Result<(), AgentMisuse> {
        let _ = (now, key, modify, remove);
        Err(AgentMisuse::NotInVersion)
    }
}

impl<'a> FunctionContext<'a> {
    /// What puts indications into an outlet.
    pub fn new(views: &'a mut Views, outlet: &'a mut dyn FunctionTransport) -> Self {
        FunctionContext { views, outlet }
    }

    /// Sends a report of an action that is set up. Where the controller reads too slowly, its oldest reports make room.
    ///
    /// # Errors
    /// Where the subscription does not stand (any more).
    pub fn report(
        &mut self,
        key: RequestKey,
        action: RicActionId,
        header: &[u8],
        message: &[u8],
    ) -> Result<(), AgentMisuse> {
        self.outlet.send(key, action, None, header, message)
    }

    /// Sends an insert: what it tells of waits until the controller's [`RanFunction::control`] brings the call process id
    /// back, or the action's time to wait has passed. Inserts never make room for others.
    ///
    /// # Errors
    /// Where the subscription does not stand (any more).
    pub fn insert(
        &mut self,
        key: RequestKey,
        action: RicActionId,
        call_process_id: &[u8],
        header: &[u8],
        message: &[u8],
    ) -> Result<(), AgentMisuse> {
        self.outlet.send(key, action, Some(call_process_id), header, message)
    }

    /// The function wants to handle_loss a subscription: its controller is asked to delete it, and does so by
    /// [`RanFunction::unsubscribe`]. E2AP has this from v2 on.
    ///
    /// # Errors
    /// Where the subscription does not stand (any more), or the version does not have this.
    pub fn require_deletion(&mut self, key: RequestKey, cause: Cause) -> Result<(), AgentMisuse> {
        self.outlet.require_deletion(key, cause)
    }

    /// The function wants a subscription changed: actions followed by another time to wait, or gone. What the controller
    /// says comes by [`RanFunction::change_answered`]. E2AP has this from v3 on.
    ///
    /// # Errors
    /// Where the subscription or an action does not stand (any more), nothing is named or something twice, the last such
    /// question is not answered yet, or the version does not have this.
    pub fn require_change(
        &mut self,
        now: Time,
        key: RequestKey,
        modify: &[(RicActionId, RicTimeToWait)],
        remove: &[(RicActionId, Cause)],
    ) -> Result<(), AgentMisuse> {
        self.outlet.require_change(now, key, modify, remove)
    }

    /// Which UEs each controller sees.
    #[must_use]
    pub fn views(&self) -> &Views {
        self.views
    }

    /// The same, to be changed.
    pub fn views_mut(&mut self) -> &mut Views {
        self.views
    }

    /// The node's controllers, in the order of their adding, and who they are once they have taken the setup.
    #[must_use]
    pub fn controllers(&self) -> Vec<(ControllerId, Option<GlobalRicId>)> {
        self.outlet.controllers()
    }
}

/// The way to a node's controllers through the loop's links.
pub(super) struct ControllerLinks<'a> {
    pub connections: &'a mut ConnectionTable,
    pub controllers: &'a [ControllerId],
    pub peers: &'a mut Peers,
    pub out: &'a mut Vec<u8>,
}

impl FunctionTransport for ControllerLinks<'_> {
    fn send(
        &mut self,
        key: RequestKey,
        action: RicActionId,
        call_process_id: Option<&[u8]>,
        header: &[u8],
        message: &[u8],
    ) -> Result<(), AgentMisuse> {
        let ControllerLinks { connections, peers, out, .. } = self;
        let connection = connections.get_mut(key.controller).ok_or(AgentMisuse::UnknownRequest)?;
        let machine = &mut connection.machine;
        out.clear();
        let class = match call_process_id {
            None => {
                machine.write_indication(key.id, action, RicIndicationType::Report, header, message, out)?;
                Class::Report
            }
            Some(process) => {
                machine.write_insert(key.id, action, process, header, message, out)?;
                Class::Keep
            }
        };
        if let Some(assoc) = connection.assoc
            && let Err(error) = peers.send(assoc, &[out], class)
        {
            // ended once the function is done
            connection.lost = Some(error);
        }
        out.clear();
        Ok(())
    }

    fn require_deletion(&mut self, key: RequestKey, cause: Cause) -> Result<(), AgentMisuse> {
        let connection = self.connections.get_mut(key.controller).ok_or(AgentMisuse::UnknownRequest)?;
        connection.machine.require_deletion(&[(key.id, cause)])
    }

    fn require_change(
        &mut self,
        now: Time,
        key: RequestKey,
        modify: &[(RicActionId, RicTimeToWait)],
        remove: &[(RicActionId, Cause)],
    ) -> Result<(), AgentMisuse> {
        let connection = self.connections.get_mut(key.controller).ok_or(AgentMisuse::UnknownRequest)?;
        connection.machine.require_modification(now, key.id, modify, remove)
    }

    fn controllers(&self) -> Vec<(ControllerId, Option<GlobalRicId>)> {
        self.controllers.iter().filter_map(|id| Some((*id, self.connections.get(*id)?.ric_id))).collect()
    }
}
