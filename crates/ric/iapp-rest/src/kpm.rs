//! Subscriptions to reports of E2SM-KPM.

use e2sm::Arena;
use e2sm::kpm::{Detection, RanFunctionDefinition, ReportRequest, Revision};
use ferric::e2::{Action, Node, SubscriptionSpec};
use ferric::e2ap::{RanFunctionId, RicActionId, RicActionType};

/// The function, how it is encoded, the subscription, and its encoded action definition.
pub type PlannedReport = (RanFunctionId, Detection, SubscriptionSpec, Vec<u8>);

/// Plans a subscription to reports at a node; `None` if the node has no KPM function that is known.
///
/// # Errors
/// Why the function cannot report what is wanted.
pub fn plan_report(wanted: &ReportRequest<'_>, node: &Node) -> Result<Option<PlannedReport>, String> {
    for function in &node.functions {
        let detected = Detection::from_ran_function(&function.oid, function.revision.0, &function.definition);
        let Ok(detection) = detected else { continue };
        let (revision, wire) = (detection.revision, detection.wire);
        if matches!(revision, Revision::V1_00 | Revision::V2_00) {
            continue;
        }
        let arena = Arena::new();
        let of_error = |error: e2sm::Error| error.to_string();
        let definition = RanFunctionDefinition::decode_in(&function.definition, revision, wire, &arena);
        let plan = wanted.plan(&definition.map_err(of_error)?, revision).map_err(of_error)?;
        let (mut event_trigger, mut action) = (Vec::new(), Vec::new());
        plan.trigger.encode_in(revision, wire, &mut event_trigger).map_err(of_error)?;
        plan.action.encode_in(revision, wire, &mut action).map_err(of_error)?;
        let (id, kind) = (RicActionId(1), RicActionType::Report);
        let actions = vec![Action { id, kind, definition: Some(action.clone()), subsequent: None }];
        return Ok(Some((function.id, detection, SubscriptionSpec { event_trigger, actions }, action)));
    }
    Ok(None)
}
