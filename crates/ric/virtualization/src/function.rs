//! A RAN function of a virtual node.

use ferric::agent::{Admission, ControlFailure, ControllerId, FunctionContext, RanFunction, RequestKey, Views};
use ferric::e2::{ControlRequest, Function, SubscriptionRequest, SubscriptionSpec, Time};
use ferric::e2ap::{Cause, CauseProtocol, CauseRicRequest, RanFunctionId, RicActionType};

use e2sm::slice::{ControlHeader, ControlMessage};

use crate::kpm::KpmView;
use crate::node::{Command, CommandKind, MAX_CONTROLS, MAX_SUBSCRIPTIONS, Offered, Outgoing, SharedNode};

/// A RAN function of a base station, as a tenant has it.
pub(crate) struct VirtualFunction {
    pub node: SharedNode,
    pub tenant: usize,
    pub definition: Function,
    pub model: Offered,
}

impl VirtualFunction {
    fn command(&self, kind: CommandKind) {
        let command = Command { tenant: self.tenant, function: self.definition.id, kind };
        self.node.lock().commands.push_back(command);
    }
}

impl RanFunction for VirtualFunction {
    fn id(&self) -> RanFunctionId {
        self.definition.id
    }

    fn definition(&self) -> Function {
        self.definition.clone()
    }

    fn subscribe(
        &mut self,
        _: Time,
        controller: ControllerId,
        request: &SubscriptionRequest,
        _: &Views,
    ) -> Result<Admission, Cause> {
        let (mut admitted, mut not_admitted) = (Vec::new(), Vec::new());
        let mut actions = Vec::new();
        for action in &request.actions {
            if action.kind == RicActionType::Report {
                admitted.push(action.id);
                actions.push(action.clone());
            } else {
                not_admitted.push((action.id, Cause::RicRequest(CauseRicRequest::ActionNotSupported)));
            }
        }
        if actions.is_empty() {
            return Err(Cause::RicRequest(CauseRicRequest::ActionNotSupported));
        }
        let mut spec = SubscriptionSpec { event_trigger: request.event_trigger.clone(), actions };
        let mut kpm = None;
        {
            let mut node = self.node.lock();
            if let Offered::Kpm(detection) = self.model {
                let (view, translated) = KpmView::translate(&detection, spec, self.tenant, &node)?;
                (spec, kpm) = (translated, Some(view));
            }
            let state = &mut node.tenants[self.tenant];
            if state.subscriptions >= MAX_SUBSCRIPTIONS {
                return Err(Cause::RicRequest(CauseRicRequest::FunctionResourceLimit));
            }
            state.subscriptions += 1;
        }
        let key = RequestKey { controller, id: request.request_id };
        self.command(CommandKind::Subscribe { key, spec, kpm });
        Ok(Admission { admitted, not_admitted })
    }

    fn unsubscribe(&mut self, key: RequestKey) {
        {
            let mut node = self.node.lock();
            let state = &mut node.tenants[self.tenant];
            state.subscriptions = state.subscriptions.saturating_sub(1);
            state.outgoing.retain(|(_, outgoing)| !outgoing.is_for(key));
        }
        self.command(CommandKind::Unsubscribe(key));
    }

    fn control(
        &mut self,
        _: Time,
        controller: ControllerId,
        request: &ControlRequest,
        context: &mut FunctionContext<'_>,
    ) -> Result<Option<Vec<u8>>, ControlFailure> {
        let Offered::Slice(wire) = self.model else {
            return Err(Cause::RicRequest(CauseRicRequest::ActionNotSupported).into());
        };
        let message = ControlHeader::decode(&request.header, wire)
            .and_then(|_| ControlMessage::decode_owned(&request.message, wire))
            .map_err(|_| Cause::Protocol(CauseProtocol::TransferSyntaxError))?;
        let mut node = self.node.lock();
        let state = &mut node.tenants[self.tenant];
        if state.controls >= MAX_CONTROLS {
            return Err(Cause::RicRequest(CauseRicRequest::FunctionResourceLimit).into());
        }
        if !context.defer_control() {
            return Err(Cause::RicRequest(CauseRicRequest::ControlFailedToExecute).into());
        }
        state.controls += 1;
        drop(node);
        self.command(CommandKind::Slices { controller, id: request.request_id, message, wire });
        Ok(None)
    }

    fn next_report(&self) -> Option<Time> {
        let node = self.node.lock();
        let own = |(function, _): &(RanFunctionId, Outgoing)| *function == self.definition.id;
        node.tenants[self.tenant].outgoing.iter().any(own).then(Time::default)
    }

    fn report(&mut self, _: Time, context: &mut FunctionContext<'_>) {
        let mut node = self.node.lock();
        let outgoing = std::mem::take(&mut node.tenants[self.tenant].outgoing);
        drop(node);
        let mut of_others = Vec::new();
        for (function, outgoing) in outgoing {
            if function != self.definition.id {
                of_others.push((function, outgoing));
                continue;
            }
            // each fails only for what has ended since
            let _ = match outgoing {
                Outgoing::Report { key, action, header, message } => context.report(key, action, &header, &message),
                Outgoing::Ended { key, cause } => context.require_deletion(key, cause),
                Outgoing::Answer { controller, id, result } => context.answer_control(controller, id, result),
            };
        }
        let mut node = self.node.lock();
        let waiting = &mut node.tenants[self.tenant].outgoing;
        of_others.append(waiting);
        *waiting = of_others;
    }

    fn controller_removed(&mut self, controller: ControllerId) {
        self.command(CommandKind::Removed(controller));
    }
}

impl Outgoing {
    fn is_for(&self, of: RequestKey) -> bool {
        match self {
            Outgoing::Report { key, .. } | Outgoing::Ended { key, .. } => *key == of,
            Outgoing::Answer { .. } => false,
        }
    }
}
