//! RAN functions, each of which offers one service model of a node.

use std::time::SystemTime;

use e2::{
    AgentMisuse, ChangeResult, ControlRequest, Function, QueryRequest, SubscriptionChange, SubscriptionRequest, Time,
};
use e2ap::{
    Cause, CauseRicRequest, GlobalRicId, RanFunctionId, RicActionId, RicIndicationType, RicRequestId,
    RicSubscriptionTime, RicTimeToWait,
};
use link::Class;

use super::node::ConnectionTable;
use super::subscription_times::{END_EXPIRED, Enabled};
use super::{ControllerId, Views};
use crate::peers::Peers;

/// Identifies a subscription within a node: each controller assigns its own request ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestKey {
    /// The controller that subscribed.
    pub controller: ControllerId,
    /// The request id that the controller assigned.
    pub id: RicRequestId,
}

/// A RAN function of a node, for all its controllers. It is called on the thread of its agent and must not block.
///
/// A function reports only UEs that the controller may see ([`Views`]), and rejects control of any other. It guards
/// what its controllers share: it refuses a request that would take from a controller what that was granted.
///
/// Functions need not be [`Send`], so that they may share state through `Rc` with the host on the same thread; see
/// [`SendAgentLoop`](super::SendAgentLoop) for functions that are.
pub trait RanFunction {
    /// Returns the RAN function id.
    fn id(&self) -> RanFunctionId;

    /// Returns the definition that is sent to controllers.
    fn definition(&self) -> Function;

    /// Handles a RIC Subscription Request. The answer may come later: see [`Admission::deferred`].
    ///
    /// # Errors
    /// The cause with which the whole subscription is refused.
    fn subscribe(
        &mut self,
        now: Time,
        controller: ControllerId,
        request: &SubscriptionRequest,
        views: &Views,
    ) -> Result<Admission, Cause>;

    /// Handles a RIC Subscription Modification Request (E2AP v3). By default the modification is refused; a controller
    /// may subscribe anew.
    ///
    /// # Errors
    /// The cause with which the modification is refused; the subscription stays unchanged.
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

    /// Handles a controller's answer to [`FunctionContext::require_change`].
    fn change_answered(&mut self, key: RequestKey, answer: &ChangeAnswer) {
        let _ = (key, answer);
    }

    /// Handles the end of a subscription: deleted by its controller, or lost with it.
    fn unsubscribe(&mut self, key: RequestKey);

    /// Handles a RIC Control Request and returns the control outcome of the service model. By default control is
    /// refused.
    ///
    /// # Errors
    /// The cause, and the outcome of the service model, with which the control fails.
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

    /// Handles a RIC Query Request (E2AP v3) and returns the query outcome of the service model. By default queries
    /// are refused.
    ///
    /// # Errors
    /// The cause with which the query fails.
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

    /// Returns the time of the next call of [`RanFunction::report`]; `None` while there is nothing to report.
    ///
    /// The loop asks again after each call of a function of this node. When the host changes the answer in between, it
    /// calls [`AgentLoop::wake`](super::AgentLoop::wake).
    fn next_report(&self) -> Option<Time> {
        None
    }

    /// Sends reports. Called when the time of [`RanFunction::next_report`] has come.
    fn report(&mut self, now: Time, reports: &mut FunctionContext<'_>) {
        let _ = (now, reports);
    }

    /// Handles the removal of a controller from the node, after its subscriptions have ended; what it had configured
    /// may be undone. The loss of a connection is no removal: configuration stays.
    fn controller_removed(&mut self, controller: ControllerId) {
        let _ = controller;
    }
}

/// A controller's answer to a change that a function required.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChangeAnswer {
    /// The controller agrees, at least in part.
    Confirmed {
        /// The actions that now have the new time to wait.
        modified: Vec<RicActionId>,
        /// The actions that are removed.
        removed: Vec<RicActionId>,
        /// The actions that stay as they are, each with the cause.
        refused: Vec<(RicActionId, Cause)>,
    },
    /// The controller refuses; without a cause if it did not answer.
    Refused(Option<Cause>),
}

/// The actions that a function admits of a subscription: at least one, unless the answer is [deferred](Admission::deferred).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admission {
    /// The actions that are set up.
    pub admitted: Vec<RicActionId>,
    /// The actions that are not set up, each with the cause.
    pub not_admitted: Vec<(RicActionId, Cause)>,
}

impl Admission {
    /// Returns the admission that leaves the request without an answer. The function answers later with
    /// [`FunctionContext::answer_subscription`], in [`RanFunction::report`]. The controller may delete the subscription before,
    /// which calls [`RanFunction::unsubscribe`].
    #[must_use]
    pub const fn deferred() -> Self {
        Admission { admitted: Vec::new(), not_admitted: Vec::new() }
    }

    /// Returns whether the answer comes later: no action is named.
    #[must_use]
    pub fn is_deferred(&self) -> bool {
        self.admitted.is_empty() && self.not_admitted.is_empty()
    }
}

/// The reason why a control fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlFailure {
    /// The cause.
    pub cause: Cause,
    /// The control outcome of the service model.
    pub outcome: Option<Vec<u8>>,
}

impl From<Cause> for ControlFailure {
    fn from(cause: Cause) -> Self {
        ControlFailure { cause, outcome: None }
    }
}

/// The context of a call: what a function may send and what it may know about the controllers of its node.
///
/// The loop creates it. A test, or a host without this loop, creates it from any [`FunctionTransport`].
pub struct FunctionContext<'a> {
    views: &'a mut Views,
    outlet: &'a mut dyn FunctionTransport,
}

/// Sends the messages of RAN functions to the controllers of a node.
pub trait FunctionTransport {
    /// Sends a RIC Indication: an insert if it has a call process id, else a report.
    ///
    /// # Errors
    /// When the subscription does not exist.
    fn send(
        &mut self,
        key: RequestKey,
        action: RicActionId,
        call_process_id: Option<&[u8]>,
        header: &[u8],
        message: &[u8],
    ) -> Result<(), AgentMisuse>;

    /// Returns the node's controllers in the order in which they were added, with their global ids while connected.
    fn controllers(&self) -> Vec<(ControllerId, Option<GlobalRicId>)>;

    /// Leaves the control in progress without an answer, until [`FunctionTransport::answer`]. By default this is not possible.
    fn defer(&mut self) -> bool {
        false
    }

    /// Answers a control that was left without one.
    ///
    /// # Errors
    /// As [`FunctionContext::answer_control`].
    fn answer(
        &mut self,
        controller: ControllerId,
        id: RicRequestId,
        result: Result<Option<Vec<u8>>, ControlFailure>,
    ) -> Result<(), AgentMisuse> {
        let _ = (controller, id, result);
        Err(AgentMisuse::UnknownRequest)
    }

    /// Answers a subscription that was left without an answer. By default this is not possible.
    ///
    /// # Errors
    /// As [`FunctionContext::answer_subscription`].
    fn answer_subscription(&mut self, key: RequestKey, answer: Result<Admission, Cause>) -> Result<(), AgentMisuse> {
        let _ = (key, answer);
        Err(AgentMisuse::UnknownRequest)
    }

    /// Requests the deletion of a subscription. By default, the version of E2AP does not support it.
    ///
    /// # Errors
    /// As [`FunctionContext::require_deletion`].
    fn require_deletion(&mut self, key: RequestKey, cause: Cause) -> Result<(), AgentMisuse> {
        let _ = (key, cause);
        Err(AgentMisuse::NotInVersion)
    }

    /// Requests the change of a subscription. By default, the version of E2AP does not support it.
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
    /// Creates a context from a transport.
    pub fn new(views: &'a mut Views, outlet: &'a mut dyn FunctionTransport) -> Self {
        FunctionContext { views, outlet }
    }

    /// Sends a report of an action that is set up. When the controller reads too slowly, its oldest reports are
    /// dropped; so are those before the start time of the subscription and after its end time.
    ///
    /// # Errors
    /// When the subscription does not exist.
    pub fn report(
        &mut self,
        key: RequestKey,
        action: RicActionId,
        header: &[u8],
        message: &[u8],
    ) -> Result<(), AgentMisuse> {
        self.outlet.send(key, action, None, header, message)
    }

    /// Sends an insert. The function holds the call process until a [`RanFunction::control`] carries its id, or until
    /// the action's time to wait has passed. Inserts are never dropped.
    ///
    /// # Errors
    /// When the subscription does not exist, or is before its start time or after its end time: the function continues without
    /// an answer.
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

    /// Leaves the control that [`RanFunction::control`] handles without an answer, whatever that returns; the function answers
    /// later with [`FunctionContext::answer_control`], in [`RanFunction::report`]. Returns whether this is possible.
    #[must_use = "otherwise the result of `control` is the answer"]
    pub fn defer_control(&mut self) -> bool {
        self.outlet.defer()
    }

    /// Answers a control that was left without an answer, as [`RanFunction::control`] would have.
    ///
    /// # Errors
    /// When no such control awaits its answer, as after the loss of the controller.
    pub fn answer_control(
        &mut self,
        controller: ControllerId,
        id: RicRequestId,
        result: Result<Option<Vec<u8>>, ControlFailure>,
    ) -> Result<(), AgentMisuse> {
        self.outlet.answer(controller, id, result)
    }

    /// Answers a subscription that was left without an answer, as [`RanFunction::subscribe`] would have. Reports that the function
    /// sends afterwards follow the answer.
    ///
    /// # Errors
    /// When no such subscription awaits its answer, as after its deletion or the loss of the controller; or the actions are not the
    /// requested ones, at least one of them admitted.
    pub fn answer_subscription(
        &mut self,
        key: RequestKey,
        answer: Result<Admission, Cause>,
    ) -> Result<(), AgentMisuse> {
        self.outlet.answer_subscription(key, answer)
    }

    /// Requests the deletion of a subscription (RIC Subscription Delete Required, from v2 on). The controller deletes
    /// it, which calls [`RanFunction::unsubscribe`].
    ///
    /// # Errors
    /// When the subscription does not exist, or the version does not support this.
    pub fn require_deletion(&mut self, key: RequestKey, cause: Cause) -> Result<(), AgentMisuse> {
        self.outlet.require_deletion(key, cause)
    }

    /// Requests the change of a subscription (RIC Subscription Modification Required, from v3 on): actions get another
    /// time to wait, or are removed. The answer calls [`RanFunction::change_answered`].
    ///
    /// # Errors
    /// When the subscription or an action does not exist, nothing is named or something twice, the previous request is
    /// not answered yet, or the version does not support this.
    pub fn require_change(
        &mut self,
        now: Time,
        key: RequestKey,
        modify: &[(RicActionId, RicTimeToWait)],
        remove: &[(RicActionId, Cause)],
    ) -> Result<(), AgentMisuse> {
        self.outlet.require_change(now, key, modify, remove)
    }

    /// Returns which UEs each controller sees.
    #[must_use]
    pub fn views(&self) -> &Views {
        self.views
    }

    /// Returns the same for changes.
    pub fn views_mut(&mut self) -> &mut Views {
        self.views
    }

    /// Returns the node's controllers in the order in which they were added, with their global ids while connected.
    #[must_use]
    pub fn controllers(&self) -> Vec<(ControllerId, Option<GlobalRicId>)> {
        self.outlet.controllers()
    }
}

/// The transport of the loop: the links of a node's controllers.
pub(super) struct ControllerLinks<'a> {
    pub connections: &'a mut ConnectionTable,
    pub controllers: &'a [ControllerId],
    pub peers: &'a mut Peers,
    pub out: &'a mut Vec<u8>,
    /// Whether the control in progress stays without an answer.
    pub is_deferred: bool,
}

impl FunctionTransport for ControllerLinks<'_> {
    fn defer(&mut self) -> bool {
        self.is_deferred = true;
        true
    }

    fn answer(
        &mut self,
        controller: ControllerId,
        id: RicRequestId,
        result: Result<Option<Vec<u8>>, ControlFailure>,
    ) -> Result<(), AgentMisuse> {
        let connection = self.connections.get_mut(controller).ok_or(AgentMisuse::UnknownRequest)?;
        connection.has_answers = true;
        connection.answer(id, result)
    }

    fn answer_subscription(&mut self, key: RequestKey, answer: Result<Admission, Cause>) -> Result<(), AgentMisuse> {
        let ControllerLinks { connections, peers, out, .. } = self;
        let connection = connections.get_mut(key.controller).ok_or(AgentMisuse::UnknownRequest)?;
        match answer {
            Ok(Admission { admitted, not_admitted }) => connection.machine.admit(key.id, &admitted, &not_admitted)?,
            Err(cause) => {
                connection.timed.remove(key.id);
                connection.machine.refuse(key.id, cause)?;
            }
        }
        // sent now: the function may send reports next, which do not pass through the machine's output
        out.clear();
        while connection.machine.poll_transmit(out) {
            if let Some(assoc) = connection.assoc
                && let Err(error) = peers.send(assoc, &[out], Class::Keep)
            {
                // handled once the function returns
                connection.lost = Some(error);
            }
            out.clear();
        }
        Ok(())
    }

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
        let enabled = connection.timed.enabled(key.id, || RicSubscriptionTime::at(SystemTime::now()));
        if enabled != Enabled::Yes {
            if enabled == Enabled::EndsNow {
                connection.has_answers = true;
                // v1, which does not have this procedure, does not have end times either
                let _ = machine.require_deletion(&[(key.id, END_EXPIRED)]);
            }
            // a function continues the procedure of an insert that was not sent
            return if call_process_id.is_some() { Err(AgentMisuse::NotEnabled) } else { Ok(()) };
        }
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
            // handled once the function returns
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
