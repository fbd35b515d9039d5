//! The hello-world function: a control is answered by an acknowledgement, and by an indication of the same octets to
//! whoever has subscribed.

use e2sm::hw::{EVENT_TRIGGER, FUNCTION_ID, OID, RanFunctionDefinition};
use ferric::agent::{Admission, ControlFailure, RanFunction, Reports};
use ferric::e2::{ControlRequest, Function, SubscriptionRequest, Time};
use ferric::e2ap::{
    Cause, CauseRicRequest, RanFunctionId, RanFunctionRevision, RicActionId, RicActionType, RicRequestId,
};

/// Answers each control with an indication of the same octets.
#[derive(Debug, Default)]
pub struct HwFunction {
    /// The actions that are set up.
    actions: Vec<(RicRequestId, RicActionId)>,
}

impl HwFunction {
    /// A function without subscriptions.
    #[must_use]
    pub fn new() -> Self {
        HwFunction::default()
    }
}

impl RanFunction for HwFunction {
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

    fn subscribe(&mut self, _now: Time, request: &SubscriptionRequest) -> Result<Admission, Cause> {
        if request.event_trigger != EVENT_TRIGGER {
            return Err(Cause::RicRequest(CauseRicRequest::EventTriggerNotSupported));
        }
        let mut admission = Admission { admitted: Vec::new(), not_admitted: Vec::new() };
        for action in &request.actions {
            if action.kind == RicActionType::Report {
                admission.admitted.push(action.id);
            } else {
                admission.not_admitted.push((action.id, Cause::RicRequest(CauseRicRequest::ActionNotSupported)));
            }
        }
        if admission.admitted.is_empty() {
            return Err(Cause::RicRequest(CauseRicRequest::ActionNotSupported));
        }
        self.actions.extend(admission.admitted.iter().map(|action| (request.request_id, *action)));
        Ok(admission)
    }

    fn unsubscribe(&mut self, request_id: RicRequestId) {
        self.actions.retain(|(request, _)| *request != request_id);
    }

    fn control(
        &mut self,
        _now: Time,
        request: &ControlRequest,
        reports: &mut Reports<'_>,
    ) -> Result<Option<Vec<u8>>, ControlFailure> {
        if self.actions.is_empty() {
            // nobody is there to be pinged
            return Err(Cause::RicRequest(CauseRicRequest::ControlFailedToExecute).into());
        }
        for (subscription, action) in &self.actions {
            // one that is gone by now is forgotten by the `unsubscribe` to come
            let _ = reports.report(*subscription, *action, &request.header, &request.message);
        }
        Ok(None)
    }
}
