//! A RAN function of a virtual node.

use ferric::agent::{Admission, ControlFailure, ControllerId, FunctionContext, RanFunction, RequestKey, Views};
use ferric::e2::{Action, ControlRequest, Function, SubscriptionRequest, SubscriptionSpec, Time};
use ferric::e2ap::{Cause, CauseProtocol, CauseRicRequest, RanFunctionId, RicActionType};

use e2sm::slice::{ControlHeader, ControlMessage};
use e2sm::tc;

use crate::ccc;
use crate::cells::CellPlmn;
use crate::kpm::KpmView;
use crate::node::{Command, CommandKind, Effect, MAX_CONTROLS, MAX_SUBSCRIPTIONS, Offered, SharedNode, View};
use crate::outgoing::{HasOutgoing, Queue};
use crate::rc::{self, RcView};

/// A RAN function of a base station, as a tenant has it.
pub(crate) struct VirtualFunction {
    node: SharedNode,
    tenant: usize,
    definition: Function,
    model: Offered,
    has_outgoing: HasOutgoing,
    /// Swapped with the queue that is sent.
    spare: Queue,
}

impl VirtualFunction {
    pub fn new(node: SharedNode, tenant: usize, definition: Function, model: Offered) -> Self {
        let has_outgoing = node.lock().tenants[tenant].outbox.has_outgoing(definition.id);
        VirtualFunction { node, tenant, definition, model, has_outgoing, spare: Queue::default() }
    }

    fn command(&self, kind: CommandKind) {
        self.node.command(Command { tenant: self.tenant, function: self.definition.id, kind });
    }

    /// Whether tenants have actions of a kind.
    fn offers(&self, action: &Action) -> bool {
        match action.kind {
            RicActionType::Report => true,
            RicActionType::Insert => matches!(self.model, Offered::Rc(_)),
            _ => false,
        }
    }
}

impl RanFunction for VirtualFunction {
    fn id(&self) -> RanFunctionId {
        self.definition.id
    }

    fn definition(&self) -> Function {
        self.definition.clone()
    }

    /// The base station answers: what it does not admit, the tenant does not have.
    fn subscribe(
        &mut self,
        _: Time,
        controller: ControllerId,
        request: &SubscriptionRequest,
        _: &Views,
    ) -> Result<Admission, Cause> {
        const NOT_SUPPORTED: Cause = Cause::RicRequest(CauseRicRequest::ActionNotSupported);
        let (actions, refused): (Vec<Action>, Vec<Action>) =
            request.actions.iter().cloned().partition(|action| self.offers(action));
        let refused = refused.iter().map(|action| (action.id, NOT_SUPPORTED)).collect();
        if actions.is_empty() {
            return Err(NOT_SUPPORTED);
        }
        let mut spec = SubscriptionSpec { event_trigger: request.event_trigger.clone(), actions };
        let mut view = View::Plain;
        {
            let mut node = self.node.lock();
            match self.model {
                Offered::Kpm(detection) => {
                    let offered = &self.definition.definition;
                    let (of_kpm, translated) = KpmView::translate(&detection, offered, spec, self.tenant, &node)?;
                    (spec, view) = (translated, View::Kpm(of_kpm));
                }
                Offered::Rc(detection) => {
                    view = View::Rc(RcView::of(&detection, &mut spec, self.tenant, &node)?);
                }
                Offered::Ccc => ccc::complete(&mut spec, CellPlmn::to_station(&node, self.tenant))?,
                _ => {}
            }
            let state = &mut node.tenants[self.tenant];
            if state.subscriptions >= MAX_SUBSCRIPTIONS {
                return Err(Cause::RicRequest(CauseRicRequest::FunctionResourceLimit));
            }
            state.subscriptions += 1;
        }
        let key = RequestKey { controller, id: request.request_id };
        self.command(CommandKind::Subscribe { key, spec, view, refused });
        Ok(Admission::deferred())
    }

    fn unsubscribe(&mut self, key: RequestKey) {
        {
            let mut node = self.node.lock();
            let state = &mut node.tenants[self.tenant];
            state.subscriptions = state.subscriptions.saturating_sub(1);
            state.outbox.queue(self.definition.id).forget(key);
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
        let mut node = self.node.lock();
        let command = match self.model {
            Offered::Slice(wire) => {
                let message = ControlHeader::decode(&request.header, wire)
                    .and_then(|_| ControlMessage::decode_owned(&request.message, wire))
                    .map_err(|_| Cause::Protocol(CauseProtocol::TransferSyntaxError))?;
                CommandKind::Slices { controller, id: request.request_id, message, wire }
            }
            Offered::Tc(wire) => {
                let message = tc::ControlHeader::decode(&request.header, wire)
                    .and_then(|_| tc::ControlMessage::decode_owned(&request.message, wire))
                    .map_err(|_| Cause::Protocol(CauseProtocol::TransferSyntaxError))?;
                CommandKind::TrafficControl { controller, id: request.request_id, message }
            }
            Offered::Rc(detection) => {
                CommandKind::Control(rc::control(&detection, self.tenant, &mut node, controller, request)?)
            }
            Offered::Ccc => CommandKind::Control(ccc::control(self.tenant, &node, controller, request)?),
            _ => return Err(Cause::RicRequest(CauseRicRequest::ActionNotSupported).into()),
        };
        let state = &mut node.tenants[self.tenant];
        if state.controls >= MAX_CONTROLS {
            return Err(Cause::RicRequest(CauseRicRequest::FunctionResourceLimit).into());
        }
        if !context.defer_control() {
            return Err(Cause::RicRequest(CauseRicRequest::ControlFailedToExecute).into());
        }
        state.controls += 1;
        state.has_pending_policies |=
            matches!(&command, CommandKind::Control(control) if control.effect != Effect::None);
        drop(node);
        self.command(command);
        Ok(None)
    }

    fn next_report(&self) -> Option<Time> {
        self.has_outgoing.get().then(Time::default)
    }

    fn report(&mut self, _: Time, context: &mut FunctionContext<'_>) {
        self.node.lock().tenants[self.tenant].outbox.take(self.definition.id, &mut self.spare);
        let refused = self.spare.send(context);
        if refused > 0 {
            let mut node = self.node.lock();
            let state = &mut node.tenants[self.tenant];
            state.subscriptions = state.subscriptions.saturating_sub(refused);
        }
    }

    fn controller_removed(&mut self, controller: ControllerId) {
        self.command(CommandKind::Removed(controller));
    }
}
