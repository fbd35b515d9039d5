//! The requests of FlexRIC's xApps.

use e2ap::e42::{E42ControlRequest, E42SubscriptionDeleteRequest, E42SubscriptionRequest, XappId};
use e2ap::{
    Cause, CauseMisc, CauseProtocol, CauseRicRequest, GlobalE2NodeId, RanFunctionId, RicActionToBeSetup,
    RicControlAckRequest,
};
use per::Octets;

use super::host::{E42Host, Held};
use crate::rights::{Lacking, not_allowed};
use crate::topology::RanDatabase;
use crate::xapp::node_busy;
use crate::{
    Action, AssocId, Consumer, Controller, Misuse, Node, NodeId, Notice, SubscriptionOrder, SubscriptionSpec, Time,
    XappRights,
};

impl E42Host {
    pub(super) fn subscribe(
        &mut self,
        now: Time,
        assoc: AssocId,
        (xapp_id, consumer): (XappId, Consumer),
        request: &E42SubscriptionRequest<'_>,
        controller: &mut Controller,
    ) -> Result<(), Cause> {
        self.check_xapp(assoc, request.xapp_id == xapp_id)?;
        let node = find(controller, request.global_e2_node_id)?;
        let (id, function) = (request.request_id, request.ran_function_id);
        let actions = request.details.actions.iter().map(|action| Action {
            id: action.id,
            kind: action.kind,
            definition: action.definition.as_ref().map(|definition| definition.to_cow().into_owned()),
            subsequent: action.subsequent_action,
        });
        let event_trigger = request.details.event_trigger_definition.to_cow().into_owned();
        let spec = SubscriptionSpec { event_trigger, actions: actions.collect() };
        let allowed = self.check_rights(assoc, controller, node, function, |rights, ran, node| {
            rights.may_subscribe(ran, node, function, &spec)
        });
        if let Err(lacking) = &allowed {
            controller.subscription_not_allowed(consumer, node, function, spec.actions.len(), lacking);
        }
        allowed.map_err(|_| Cause::Misc(CauseMisc::OmIntervention))?;
        let Some(session) = self.sessions.get_mut(&assoc) else { return Ok(()) };
        if session.subscriptions.contains_key(&id) {
            return Err(Cause::RicRequest(CauseRicRequest::DuplicateRicRequestId));
        }
        let order = |action: &RicActionToBeSetup<'_>| {
            // values above 255 (the range is extensible, 9.2) are sent as 255
            let place = u8::try_from(action.execution_order?.0).unwrap_or(u8::MAX);
            Some((action.id, place))
        };
        let order = SubscriptionOrder {
            execution_order: request.details.actions.iter().filter_map(order).collect(),
            ..spec.into()
        };
        let ticket = session.ticket(id, function);
        match controller.subscribe(now, consumer, ticket, node, function, order) {
            Ok(()) => {
                session.subscriptions.insert(id, Held { function, subscription: None });
                Ok(())
            }
            Err(misuse) => {
                session.tickets.remove(&ticket);
                let notice = node_busy(controller, node, misuse, &mut session.misuses);
                self.notices.extend(notice.map(|notice| (assoc, notice)));
                Err(cause_of(misuse))
            }
        }
    }

    pub(super) fn delete(
        &mut self,
        now: Time,
        assoc: AssocId,
        (xapp_id, consumer): (XappId, Consumer),
        request: E42SubscriptionDeleteRequest,
        controller: &mut Controller,
    ) -> Result<(), Cause> {
        self.check_xapp(assoc, request.xapp_id == xapp_id)?;
        let unknown = Cause::RicRequest(CauseRicRequest::RequestIdUnknown);
        let Some(session) = self.sessions.get(&assoc) else { return Ok(()) };
        let held = session.subscriptions.get(&request.request_id).ok_or(unknown)?;
        if held.function != request.ran_function_id {
            return Err(Cause::RicRequest(CauseRicRequest::RanFunctionIdInvalid));
        }
        // not active yet: FlexRIC's xApps await the response before they delete
        let subscription = held.subscription.ok_or(unknown)?;
        controller.unsubscribe(now, consumer, subscription).map_err(cause_of)
    }

    pub(super) fn control(
        &mut self,
        now: Time,
        assoc: AssocId,
        (xapp_id, consumer): (XappId, Consumer),
        request: &E42ControlRequest<'_>,
        controller: &mut Controller,
    ) -> Result<(), Cause> {
        self.check_xapp(assoc, request.xapp_id == xapp_id)?;
        let node = find(controller, request.global_e2_node_id)?;
        let function = request.ran_function_id;
        let (header, message) = (request.header.to_cow(), request.message.to_cow());
        let allowed = self.check_rights(assoc, controller, node, function, |rights, ran, node| {
            rights.may_control(ran, node, function, &header, &message)
        });
        if let Err(lacking) = &allowed {
            controller.control_not_allowed(now, consumer, node, function, lacking);
        }
        allowed.map_err(|_| Cause::Misc(CauseMisc::OmIntervention))?;
        let Some(session) = self.sessions.get_mut(&assoc) else { return Ok(()) };
        let ticket = session.ticket(request.request_id, function);
        let call = request.call_process_id.as_ref().map(Octets::to_cow);
        let ack = request.ack_request == Some(RicControlAckRequest::Ack);
        let asked = controller.control(now, consumer, ticket, node, function, &header, &message, call.as_deref(), ack);
        asked.map_err(|misuse| {
            session.tickets.remove(&ticket);
            let notice = node_busy(controller, node, misuse, &mut session.misuses);
            self.notices.extend(notice.map(|notice| (assoc, notice)));
            cause_of(misuse)
        })
    }

    /// Checks the rights to a request. One without is refused with the cause O&M intervention, as a setup is.
    fn check_rights(
        &mut self,
        assoc: AssocId,
        controller: &Controller,
        node: NodeId,
        function: RanFunctionId,
        may: impl FnOnce(&XappRights, &RanDatabase, &Node) -> Result<(), Lacking>,
    ) -> Result<(), Lacking> {
        let Some(session) = self.sessions.get_mut(&assoc) else { return Ok(()) };
        let (Some(rights), Some(node)) = (&session.rights, controller.node(node)) else { return Ok(()) };
        let Err(lacking) = may(rights, controller.ran(), node) else { return Ok(()) };
        session.misuses += 1;
        if session.misuses.is_power_of_two() {
            self.notices.push_back((assoc, not_allowed(node, function, lacking.clone(), session.misuses)));
        }
        Err(lacking)
    }

    /// Refuses a message with the xApp id of another session.
    fn check_xapp(&mut self, assoc: AssocId, is_own: bool) -> Result<(), Cause> {
        if is_own {
            return Ok(());
        }
        if let Some(session) = self.sessions.get_mut(&assoc) {
            session.misuses += 1;
            if session.misuses.is_power_of_two() {
                let what = "a request with the id of another xApp";
                self.notices.push_back((assoc, Notice::XappMisuse { what }));
            }
        }
        Err(Cause::Protocol(CauseProtocol::SemanticError))
    }
}

fn find(controller: &Controller, id: GlobalE2NodeId) -> Result<NodeId, Cause> {
    let node = controller.nodes().find(|node| node.global_id == id);
    node.map(|node| node.id).ok_or_else(|| cause_of(Misuse::UnknownNode))
}

/// Returns the cause of the answer to an invalid command.
fn cause_of(misuse: Misuse) -> Cause {
    match misuse {
        Misuse::UnknownNode => Cause::RicRequest(CauseRicRequest::SystemNotReady),
        Misuse::UnknownFunction => Cause::RicRequest(CauseRicRequest::RanFunctionIdInvalid),
        Misuse::UnknownSubscription => Cause::RicRequest(CauseRicRequest::RequestIdUnknown),
        Misuse::BadActions => Cause::RicRequest(CauseRicRequest::InconsistentActionSubsequentActionSequence),
        Misuse::NodeBusy => Cause::Misc(CauseMisc::ControlProcessingOverload),
        Misuse::NotAllowed => Cause::Misc(CauseMisc::OmIntervention),
        Misuse::TooManyRequests | Misuse::NoRequestId | Misuse::TooLarge => {
            Cause::RicRequest(CauseRicRequest::FunctionResourceLimit)
        }
        _ => Cause::RicRequest(CauseRicRequest::Unspecified),
    }
}
