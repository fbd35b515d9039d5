//! The hello-world function: a control is answered by an acknowledgement, and by an indication of the same octets to
//! each subscription of the same controller.

use e2sm::Wire;
use e2sm::hw::{EVENT_TRIGGER, FUNCTION_ID, OID, RanFunctionDefinition};
use ferric::agent::{Admission, ControlFailure, ControllerId, FunctionContext, RanFunction, RequestKey, Views};
use ferric::e2::{ControlRequest, Function, SubscriptionRequest, Time};
use ferric::e2ap::{Cause, CauseRicRequest, RanFunctionId, RanFunctionRevision, RicActionId, RicActionType};

use crate::admission::admit;

/// Actions that may be set up at a time.
const MAX_ACTIONS: usize = 256;

/// Answers each control with an indication of the same octets. 256 actions may be set up at a time.
#[derive(Debug, Default)]
pub struct HwFunction {
    wire: Wire,
    /// The actions that are set up.
    actions: Vec<(RequestKey, RicActionId)>,
}

impl HwFunction {
    /// A function without subscriptions.
    #[must_use]
    pub fn new() -> Self {
        HwFunction::default()
    }

    /// The same, in another wire form than PER.
    ///
    /// # Panics
    /// Where the model does not have it, or it is not built in.
    #[must_use]
    pub fn with_wire(wire: Wire) -> Self {
        definition(wire);
        HwFunction { wire, ..HwFunction::default() }
    }
}

fn definition(wire: Wire) -> Vec<u8> {
    let mut definition = Vec::new();
    if let Err(error) = RanFunctionDefinition::STANDARD.encode(wire, &mut definition) {
        panic!("there is no such function: {error}");
    }
    definition
}

impl RanFunction for HwFunction {
    fn id(&self) -> RanFunctionId {
        RanFunctionId(FUNCTION_ID)
    }

    fn definition(&self) -> Function {
        let (oid, definition) = (self.wire.oid(OID).into_owned(), definition(self.wire));
        Function { id: self.id(), revision: RanFunctionRevision(1), oid, definition }
    }

    fn subscribe(
        &mut self,
        _now: Time,
        controller: ControllerId,
        request: &SubscriptionRequest,
        _views: &Views,
    ) -> Result<Admission, Cause> {
        if request.event_trigger != EVENT_TRIGGER {
            return Err(Cause::RicRequest(CauseRicRequest::EventTriggerNotSupported));
        }
        let key = RequestKey { controller, id: request.request_id };
        admit(&mut self.actions, MAX_ACTIONS, request, |action| match action.kind {
            RicActionType::Report => Ok((key, action.id)),
            _ => Err(Cause::RicRequest(CauseRicRequest::ActionNotSupported)),
        })
    }

    fn unsubscribe(&mut self, key: RequestKey) {
        self.actions.retain(|(request, _)| *request != key);
    }

    fn control(
        &mut self,
        _now: Time,
        controller: ControllerId,
        request: &ControlRequest,
        reports: &mut FunctionContext<'_>,
    ) -> Result<Option<Vec<u8>>, ControlFailure> {
        let mut pinged = false;
        for (key, action) in self.actions.iter().filter(|(key, _)| key.controller == controller) {
            pinged = true;
            // one that is gone by now is forgotten by the `unsubscribe` to come
            let _ = reports.report(*key, *action, &request.header, &request.message);
        }
        if pinged { Ok(None) } else { Err(Cause::RicRequest(CauseRicRequest::ControlFailedToExecute).into()) }
    }
}
