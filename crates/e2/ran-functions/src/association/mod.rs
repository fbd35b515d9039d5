//! UE-to-controller association: the first controller of a node decides which UEs the others see (FlexRIC paper, 4.1.2).
//!
//! In a disaggregated base station each node gets its own controls: the CU knows which PLMN and slice a UE selected, the
//! DU does not (paper, Fig. 4).

mod find;
#[cfg(test)]
mod tests;

use std::time::Duration;

use e2sm::association::{
    Command, ControlHeader, ControlMessage, ControlOutcome, EventTrigger, FUNCTION_ID, IndicationMessage, OID,
    RanFunctionDefinition, Refusal, View,
};
use e2sm::common::UeId;
use ferric::agent::{Admission, ControlFailure, ControllerId, FunctionContext, RanFunction, RequestKey, Ue, Views};
use ferric::e2::{ControlRequest, Function, SubscriptionRequest, Time};
use ferric::e2ap::{
    Cause, CauseRicRequest, GlobalRicId, RanFunctionId, RanFunctionRevision, RicActionId, RicActionType,
};
use tracing::info;

use crate::cause::{ACTION_NOT_SUPPORTED, CONTROL_FAILED, INFORMATION_UNAVAILABLE, RESOURCE_LIMIT, undecodable};
use crate::shared_source::SharedSource;

pub use find::find_ue;

/// The UE IDs of a node, which the base station implements.
pub trait UeDirectory {
    /// The connected UE with this UE ID. The UE ID may omit optional parts if it still identifies one UE, see [`find_ue`].
    fn find(&self, ue_id: &UeId<'_>) -> Option<Ue>;

    /// The UE ID of a connected UE.
    fn ue_id(&self, ue: Ue) -> Option<UeId<'static>>;
}

/// The maximum number of subscriptions at a time.
const MAX_SUBSCRIPTIONS: usize = 16;

/// The RAN function of the UE-to-controller association service model.
pub struct AssociationFunction<H> {
    directory: H,
    subscriptions: Vec<Subscription>,
}

struct Subscription {
    key: RequestKey,
    action: RicActionId,
    period: Duration,
    /// When the state is compared with the reported one.
    due: Time,
    /// The message of the latest report.
    reported: Vec<u8>,
}

impl<H: SharedSource<Source: UeDirectory>> AssociationFunction<H> {
    /// Creates a function without subscriptions.
    #[must_use]
    pub fn new(directory: H) -> Self {
        AssociationFunction { directory, subscriptions: Vec::new() }
    }

    /// Exposes UEs to a controller or hides them from it, all of the known ones or none.
    fn execute(
        &self,
        origin: ControllerId,
        command: Command,
        message: &ControlMessage<'_>,
        context: &mut FunctionContext<'_>,
    ) -> ControlOutcome<'static> {
        let refused = |refusal, unknown: Vec<UeId<'static>>| ControlOutcome {
            refusal: Some(refusal),
            changed: 0,
            unknown: unknown.into(),
        };
        if !context.views().sees_all(origin) {
            return refused(Refusal::NotTheFirst, Vec::new());
        }
        let mut controllers = context.controllers().into_iter();
        let target = controllers.find(|(_, ric)| *ric == Some(message.controller));
        let Some((controller, _)) = target else { return refused(Refusal::UnknownController, Vec::new()) };
        let directory = self.directory.read();
        let (mut known, mut unknown) = (Vec::new(), Vec::new());
        for ue_id in message.ues.iter() {
            match directory.find(ue_id) {
                Some(ue) => known.push(ue),
                None => unknown.push(per::IntoOwned::into_owned(ue_id.clone())),
            }
        }
        if known.is_empty() {
            return refused(Refusal::UnknownUes, unknown);
        }
        let views = context.views_mut();
        let mut changed = Vec::new();
        for ue in known {
            match command {
                Command::Expose => match views.expose(controller, ue) {
                    Ok(true) => changed.push(ue),
                    Ok(false) => {}
                    Err(_) => {
                        // undo: the control takes effect as a whole or not at all
                        for ue in changed {
                            views.hide(controller, ue);
                        }
                        return refused(Refusal::TooManyUes, Vec::new());
                    }
                },
                Command::Hide if views.hide(controller, ue) => changed.push(ue),
                Command::Hide => {}
            }
        }
        info!(
            controller = controller.0,
            ?command,
            ues = changed.len(),
            unknown = unknown.len(),
            "UE association changed"
        );
        // fits: the message contains at most 65,535 UEs
        ControlOutcome { refusal: None, changed: changed.len() as u16, unknown: unknown.into() }
    }

    /// The encoded list of controllers and of the UEs that each sees.
    fn state(&self, context: &FunctionContext<'_>) -> Vec<u8> {
        let (directory, views) = (self.directory.read(), context.views());
        let view = |(id, ric): (ControllerId, Option<GlobalRicId>)| {
            let ues: Vec<_> =
                views.exposed(id).filter_map(|ue| directory.ue_id(ue)).take(usize::from(u16::MAX)).collect();
            Some(View { controller: ric?, first: views.sees_all(id), ues: ues.into() })
        };
        let controllers: Vec<_> = context.controllers().into_iter().filter_map(view).take(255).collect();
        match (IndicationMessage { controllers: controllers.into() }).encode() {
            Ok(message) => message,
            Err(error) => panic!("cannot encode the associations, although their lists are within bounds: {error}"),
        }
    }
}

impl<H: SharedSource<Source: UeDirectory>> RanFunction for AssociationFunction<H> {
    fn id(&self) -> RanFunctionId {
        RanFunctionId(FUNCTION_ID)
    }

    fn definition(&self) -> Function {
        let definition = match RanFunctionDefinition::STANDARD.encode() {
            Ok(definition) => definition,
            Err(error) => panic!("cannot encode the constant RAN function definition: {error}"),
        };
        Function { id: self.id(), revision: RanFunctionRevision(1), oid: OID.to_owned(), definition }
    }

    fn subscribe(
        &mut self,
        now: Time,
        controller: ControllerId,
        request: &SubscriptionRequest,
        views: &Views,
    ) -> Result<Admission, Cause> {
        if !views.sees_all(controller) {
            return Err(INFORMATION_UNAVAILABLE);
        }
        let trigger = EventTrigger::decode(&request.event_trigger).map_err(undecodable("event trigger definition"))?;
        let action = match request.actions.as_slice() {
            [action] if action.kind == RicActionType::Report => action.id,
            [_] => return Err(ACTION_NOT_SUPPORTED),
            _ => return Err(Cause::RicRequest(CauseRicRequest::ExcessiveActions)),
        };
        if self.subscriptions.len() >= MAX_SUBSCRIPTIONS {
            return Err(RESOURCE_LIMIT);
        }
        self.subscriptions.push(Subscription {
            key: RequestKey { controller, id: request.request_id },
            action,
            period: Duration::from_millis(trigger.period_ms.into()),
            due: now,
            reported: Vec::new(),
        });
        Ok(Admission { admitted: vec![action], not_admitted: Vec::new() })
    }

    fn unsubscribe(&mut self, key: RequestKey) {
        self.subscriptions.retain(|subscription| subscription.key != key);
    }

    fn control(
        &mut self,
        now: Time,
        controller: ControllerId,
        request: &ControlRequest,
        context: &mut FunctionContext<'_>,
    ) -> Result<Option<Vec<u8>>, ControlFailure> {
        let header = ControlHeader::decode(&request.header).map_err(undecodable("control header"))?;
        let message = ControlMessage::decode(&request.message).map_err(undecodable("control message"))?;
        let outcome = self.execute(controller, header.command, &message, context);
        let octets = match outcome.encode() {
            Ok(octets) => octets,
            Err(error) => panic!("cannot encode an outcome with at most the UEs of the message: {error}"),
        };
        if outcome.refusal.is_some() {
            return Err(ControlFailure { cause: CONTROL_FAILED, outcome: Some(octets) });
        }
        self.subscriptions.iter_mut().for_each(|subscription| subscription.due = now);
        Ok(Some(octets))
    }

    fn next_report(&self) -> Option<Time> {
        self.subscriptions.iter().map(|subscription| subscription.due).min()
    }

    fn report(&mut self, now: Time, context: &mut FunctionContext<'_>) {
        let state = self.state(context);
        for subscription in self.subscriptions.iter_mut().filter(|subscription| subscription.due <= now) {
            subscription.due = now + subscription.period;
            // another controller may have become the first one since the subscription
            let is_first = context.views().sees_all(subscription.key.controller);
            if is_first && subscription.reported != state {
                subscription.reported.clone_from(&state);
                // fails only for a subscription that has ended, which the pending `unsubscribe` removes
                let _ = context.report(subscription.key, subscription.action, &[], &state);
            }
        }
    }
}
