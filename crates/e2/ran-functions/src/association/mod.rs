//! UE-to-controller association: the first controller of a node says which UEs the others see (FlexRIC paper, 4.1.2).
//!
//! In a base station of several parts each part is told by itself: the CU knows which PLMN and slice a UE selected, the
//! DU does not (paper, Fig. 4).

#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use e2sm::association::{
    Command, ControlHeader, ControlMessage, ControlOutcome, EventTrigger, FUNCTION_ID, IndicationMessage, OID,
    RanFunctionDefinition, Refusal, View,
};
use e2sm::common::UeId;
use ferric::agent::{Admission, ControlFailure, ControllerId, FunctionContext, RanFunction, RequestKey, Ue, Views};
use ferric::e2::{ControlRequest, Function, SubscriptionRequest, Time};
use ferric::e2ap::{
    Cause, CauseProtocol, CauseRicRequest, GlobalRicId, RanFunctionId, RanFunctionRevision, RicActionId, RicActionType,
};
use tracing::{debug, info};

/// What a base station knows of its UEs' names.
pub trait UeDirectory {
    /// The UE of that name, if it is here. A name that says less than the node knows will do, if it tells the UE.
    fn find(&self, name: &UeId<'_>) -> Option<Ue>;

    /// The name of a UE, if it is here.
    fn name(&self, ue: Ue) -> Option<UeId<'static>>;
}

/// Subscriptions at a time.
const MAX_SUBSCRIPTIONS: usize = 16;

/// The RAN function of the UE-to-controller association.
pub struct AssociationFunction<D> {
    directory: Rc<RefCell<D>>,
    subscriptions: Vec<Subscription>,
}

struct Subscription {
    key: RequestKey,
    action: RicActionId,
    period: Duration,
    /// When it looks again.
    due: Time,
    /// What it was told last.
    told: Vec<u8>,
}

impl<D: UeDirectory> AssociationFunction<D> {
    /// A function without subscriptions.
    #[must_use]
    pub fn new(directory: Rc<RefCell<D>>) -> Self {
        AssociationFunction { directory, subscriptions: Vec::new() }
    }

    fn carry_out(
        &self,
        origin: ControllerId,
        command: Command,
        message: &ControlMessage<'_>,
        reports: &mut FunctionContext<'_>,
    ) -> ControlOutcome<'static> {
        let refused = |refusal, unknown: Vec<UeId<'static>>| ControlOutcome {
            refusal: Some(refusal),
            changed: 0,
            unknown: unknown.into(),
        };
        if !reports.views().sees_all(origin) {
            return refused(Refusal::NotTheFirst, Vec::new());
        }
        let mut controllers = reports.controllers().into_iter();
        let named = controllers.find(|(_, ric)| *ric == Some(message.controller));
        let Some((controller, _)) = named else { return refused(Refusal::UnknownController, Vec::new()) };
        let directory = self.directory.borrow();
        let (mut known, mut unknown) = (Vec::new(), Vec::new());
        for name in message.ues.iter() {
            match directory.find(name) {
                Some(ue) => known.push(ue),
                None => unknown.push(per::IntoOwned::into_owned(name.clone())),
            }
        }
        if known.is_empty() {
            return refused(Refusal::UnknownUes, unknown);
        }
        let views = reports.views_mut();
        let mut changed = Vec::new();
        for ue in known {
            match command {
                Command::Expose => match views.expose(controller, ue) {
                    Ok(true) => changed.push(ue),
                    Ok(false) => {}
                    Err(_) => {
                        // all or nothing
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
        info!(controller = controller.0, ?command, ues = changed.len(), unknown = unknown.len(), "association");
        // no more than the message names
        ControlOutcome { refusal: None, changed: changed.len() as u16, unknown: unknown.into() }
    }

    /// What the controllers see.
    fn state(&self, reports: &FunctionContext<'_>) -> Vec<u8> {
        let (directory, views) = (self.directory.borrow(), reports.views());
        let view = |(id, ric): (ControllerId, Option<GlobalRicId>)| {
            let ues: Vec<_> =
                views.exposed(id).filter_map(|ue| directory.name(ue)).take(usize::from(u16::MAX)).collect();
            Some(View { controller: ric?, first: views.sees_all(id), ues: ues.into() })
        };
        let controllers: Vec<_> = reports.controllers().into_iter().filter_map(view).take(255).collect();
        match (IndicationMessage { controllers: controllers.into() }).encode() {
            Ok(message) => message,
            Err(error) => panic!("lists are cut to their bounds, names are the base station's: {error}"),
        }
    }
}

fn unreadable(error: per::Error) -> Cause {
    debug!(%error, "association");
    Cause::Protocol(CauseProtocol::TransferSyntaxError)
}

impl<D: UeDirectory> RanFunction for AssociationFunction<D> {
    fn id(&self) -> RanFunctionId {
        RanFunctionId(FUNCTION_ID)
    }

    fn definition(&self) -> Function {
        let definition = match RanFunctionDefinition::STANDARD.encode() {
            Ok(definition) => definition,
            Err(error) => panic!("the constant definition can be encoded: {error}"),
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
            return Err(Cause::RicRequest(CauseRicRequest::RequestedInformationUnavailable));
        }
        let trigger = EventTrigger::decode(&request.event_trigger).map_err(unreadable)?;
        let action = match request.actions.as_slice() {
            [action] if action.kind == RicActionType::Report => action.id,
            [_] => return Err(Cause::RicRequest(CauseRicRequest::ActionNotSupported)),
            _ => return Err(Cause::RicRequest(CauseRicRequest::ExcessiveActions)),
        };
        if self.subscriptions.len() >= MAX_SUBSCRIPTIONS {
            return Err(Cause::RicRequest(CauseRicRequest::FunctionResourceLimit));
        }
        self.subscriptions.push(Subscription {
            key: RequestKey { controller, id: request.request_id },
            action,
            period: Duration::from_millis(trigger.period_ms.into()),
            due: now,
            told: Vec::new(),
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
        reports: &mut FunctionContext<'_>,
    ) -> Result<Option<Vec<u8>>, ControlFailure> {
        let header = ControlHeader::decode(&request.header).map_err(unreadable)?;
        let message = ControlMessage::decode(&request.message).map_err(unreadable)?;
        let outcome = self.carry_out(controller, header.command, &message, reports);
        let octets = match outcome.encode() {
            Ok(octets) => octets,
            Err(error) => panic!("an outcome names no more UEs than the message: {error}"),
        };
        if outcome.refusal.is_some() {
            let cause = Cause::RicRequest(CauseRicRequest::ControlFailedToExecute);
            return Err(ControlFailure { cause, outcome: Some(octets) });
        }
        self.subscriptions.iter_mut().for_each(|subscription| subscription.due = now);
        Ok(Some(octets))
    }

    fn next_report(&self) -> Option<Time> {
        self.subscriptions.iter().map(|subscription| subscription.due).min()
    }

    fn report(&mut self, now: Time, reports: &mut FunctionContext<'_>) {
        let state = self.state(reports);
        for subscription in self.subscriptions.iter_mut().filter(|subscription| subscription.due <= now) {
            subscription.due = now + subscription.period;
            let may = reports.views().sees_all(subscription.key.controller); // another may be the first by now
            if may && subscription.told != state {
                subscription.told.clone_from(&state);
                // a subscription that is gone by now is forgotten by the `unsubscribe` to come
                let _ = reports.report(subscription.key, subscription.action, &[], &state);
            }
        }
    }
}
