//! The hello-world function: it acknowledges each control, and returns its octets in an indication to each subscription
//! of the same controller.

use e2sm::Wire;
use e2sm::hw::{EVENT_TRIGGER, FUNCTION_ID, OID, RanFunctionDefinition};
use ferric::agent::{Admission, ControlFailure, ControllerId, FunctionContext, RanFunction, RequestKey, Views};
use ferric::e2::{ControlRequest, Function, SubscriptionRequest, Time};
use ferric::e2ap::{Cause, RanFunctionId, RanFunctionRevision, RicActionId, RicActionType};

use crate::admission::admit;
use crate::cause::{ACTION_NOT_SUPPORTED, CONTROL_FAILED, TRIGGER_NOT_SUPPORTED};

/// The maximum number of actions at a time.
const MAX_ACTIONS: usize = 256;

/// The RAN function of the hello-world service model: answers each control with an indication of the same octets.
///
/// It admits at most 256 actions at a time.
#[derive(Debug, Default)]
pub struct HwFunction {
    wire: Wire,
    actions: Vec<(RequestKey, RicActionId)>,
}

impl HwFunction {
    /// Creates a function without subscriptions, encoded in PER.
    #[must_use]
    pub fn new() -> Self {
        HwFunction::default()
    }

    /// Creates a function without subscriptions in another encoding.
    ///
    /// # Panics
    /// If the service model does not have this encoding, or it is not compiled in.
    #[must_use]
    pub fn with_wire(wire: Wire) -> Self {
        definition(wire);
        HwFunction { wire, ..HwFunction::default() }
    }
}

fn definition(wire: Wire) -> Vec<u8> {
    let mut definition = Vec::new();
    if let Err(error) = RanFunctionDefinition::STANDARD.encode(wire, &mut definition) {
        panic!("cannot encode the RAN function definition in {wire}: {error}");
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
            return Err(TRIGGER_NOT_SUPPORTED);
        }
        admit(&mut self.actions, MAX_ACTIONS, controller, request, |key, action| match action.kind {
            RicActionType::Report => Ok((key, action.id)),
            _ => Err(ACTION_NOT_SUPPORTED),
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
        context: &mut FunctionContext<'_>,
    ) -> Result<Option<Vec<u8>>, ControlFailure> {
        let mut has_replied = false;
        for (key, action) in self.actions.iter().filter(|(key, _)| key.controller == controller) {
            has_replied = true;
            // fails only for a subscription that has ended, which the pending `unsubscribe` removes
            let _ = context.report(*key, *action, &request.header, &request.message);
        }
        if has_replied { Ok(None) } else { Err(CONTROL_FAILED.into()) }
    }
}
