//! A RAN function of a base station: that of one of its parts.

use ferric::agent::{Admission, ControlFailure, ControllerId, FunctionContext, RanFunction, RequestKey, Views};
use ferric::e2::{ControlRequest, Function, SubscriptionRequest, SubscriptionSpec, Time};
use ferric::e2ap::{Cause, CauseRicRequest, RanFunctionId};

use super::station::{Command, CommandKind, SharedStation};
use crate::node::{MAX_CONTROLS, MAX_SUBSCRIPTIONS};
use crate::outgoing::{HasOutgoing, Queue};

const LIMIT: Cause = Cause::RicRequest(CauseRicRequest::FunctionResourceLimit);

/// A RAN function that passes everything on to the part that has it.
pub(super) struct PartFunction {
    station: SharedStation,
    definition: Function,
    has_outgoing: HasOutgoing,
    /// Subscriptions that are not refused.
    subscriptions: usize,
    /// Swapped with the queue that is sent.
    spare: Queue,
}

impl PartFunction {
    pub fn new(station: SharedStation, definition: Function) -> Self {
        let has_outgoing = station.lock().outbox.has_outgoing(definition.id);
        PartFunction { station, definition, has_outgoing, subscriptions: 0, spare: Queue::default() }
    }

    fn command(&self, kind: CommandKind) {
        self.station.command(Command { function: self.definition.id, kind });
    }
}

impl RanFunction for PartFunction {
    fn id(&self) -> RanFunctionId {
        self.definition.id
    }

    fn definition(&self) -> Function {
        self.definition.clone()
    }

    /// The part answers.
    fn subscribe(
        &mut self,
        _: Time,
        controller: ControllerId,
        request: &SubscriptionRequest,
        _: &Views,
    ) -> Result<Admission, Cause> {
        if self.subscriptions >= MAX_SUBSCRIPTIONS {
            return Err(LIMIT);
        }
        self.subscriptions += 1;
        let key = RequestKey { controller, id: request.request_id };
        let spec = SubscriptionSpec { event_trigger: request.event_trigger.clone(), actions: request.actions.clone() };
        self.command(CommandKind::Subscribe(key, spec));
        Ok(Admission::deferred())
    }

    fn unsubscribe(&mut self, key: RequestKey) {
        self.subscriptions = self.subscriptions.saturating_sub(1);
        self.station.lock().outbox.queue(self.definition.id).forget(key);
        self.command(CommandKind::Unsubscribe(key));
    }

    fn control(
        &mut self,
        _: Time,
        controller: ControllerId,
        request: &ControlRequest,
        context: &mut FunctionContext<'_>,
    ) -> Result<Option<Vec<u8>>, ControlFailure> {
        let mut station = self.station.lock();
        if station.controls >= MAX_CONTROLS {
            return Err(LIMIT.into());
        }
        if !context.defer_control() {
            return Err(Cause::RicRequest(CauseRicRequest::ControlFailedToExecute).into());
        }
        station.controls += 1;
        drop(station);
        self.command(CommandKind::Control(controller, request.clone()));
        Ok(None)
    }

    fn next_report(&self) -> Option<Time> {
        self.has_outgoing.get().then(Time::default)
    }

    fn report(&mut self, _: Time, context: &mut FunctionContext<'_>) {
        self.station.lock().outbox.take(self.definition.id, &mut self.spare);
        let refused = self.spare.send(context);
        self.subscriptions = self.subscriptions.saturating_sub(refused);
    }

    fn controller_removed(&mut self, controller: ControllerId) {
        self.command(CommandKind::Removed(controller));
    }
}
