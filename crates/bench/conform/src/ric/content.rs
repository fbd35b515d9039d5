//! What an E2 node is asked to report: what the user has given, or a measurement of its E2SM-KPM function.

use e2ap::{
    RanFunctionId, RicActionId, RicActionToBeSetup, RicActionType, RicRequestId, RicSubscriptionDetails,
    RicSubscriptionRequest,
};
use e2sm::Arena;
use e2sm::kpm::{Detection, MeasurementRequest, RanFunctionDefinition, ReportRequest, Revision, Scope, v1};
use per::Octets;

use super::RicSide;
use crate::check::inconclusive;
use crate::{Step, SubscriptionContent};

/// The period of the reports.
const PERIOD_MS: u32 = 100;

impl RicSide<'_> {
    /// Returns the content of a subscription that the node can admit.
    pub(super) fn content(&self) -> Step<SubscriptionContent> {
        if let Some(content) = &self.config.subscription {
            return Ok(content.clone());
        }
        let functions = self.node.iter().flat_map(|node| &node.ran_functions_added).flat_map(|list| list.iter());
        for function in functions {
            let oid = function.oid.as_ref().map_or("", |oid| oid.as_str());
            let definition = function.definition.to_cow();
            let Ok(detection) = Detection::from_ran_function(oid, function.revision.0, &definition) else { continue };
            if let Some((event_trigger, action_definition)) = report(&definition, detection) {
                let action_definition = Some(action_definition);
                return Ok(SubscriptionContent { function: function.id.0, event_trigger, action_definition });
            }
        }
        inconclusive("the node offers no E2SM-KPM function with a report style of the node; state a subscription")
    }

    /// Returns a subscription request with a report action.
    pub(super) fn subscription(
        &self,
        content: &SubscriptionContent,
        id: RicRequestId,
    ) -> RicSubscriptionRequest<'static> {
        RicSubscriptionRequest {
            request_id: id,
            ran_function_id: RanFunctionId(content.function),
            details: RicSubscriptionDetails {
                event_trigger_definition: Octets::from(content.event_trigger.clone()),
                actions: vec![RicActionToBeSetup {
                    id: RicActionId(1),
                    kind: RicActionType::Report,
                    definition: content.action_definition.clone().map(Octets::from),
                    subsequent_action: None,
                    execution_order: None,
                }]
                .into(),
            },
            start_time: None,
            end_time: None,
        }
    }
}

/// A report of the first measurement that the function offers: the event trigger and the action definition.
fn report(definition: &[u8], detection: Detection) -> Option<(Vec<u8>, Vec<u8>)> {
    let (mut event_trigger, mut action) = (Vec::new(), Vec::new());
    let (revision, wire) = (detection.revision, detection.wire);
    match revision {
        Revision::V1_00 => {
            let definition = v1::RanFunctionDefinition::decode_owned(definition).ok()?;
            let styles = definition.e2sm_kpm_ran_function_item.ric_report_style_list?;
            let style = styles.first()?.ric_report_style_type.0;
            let trigger = v1::EventTriggerDefinition::every(v1::ReportPeriod::nearest(PERIOD_MS));
            trigger.encode(&mut event_trigger).ok()?;
            let ric_style_type = e2sm::common::RicStyleType(style);
            v1::ActionDefinition { ric_style_type }.encode(&mut action).ok()?;
        }
        // its measurements are those of cells, which the user has to name
        Revision::V2_00 => return None,
        _ => {
            let arena = Arena::new();
            let definition = RanFunctionDefinition::decode_in(definition, revision, wire, &arena).ok()?;
            let styles = definition.ric_report_style_list.as_ref()?;
            let style = styles.iter().find(|style| style.ric_report_style_type.0 == 1)?;
            let plan = style.meas_info_action_list.iter().find_map(|item| {
                let measurements = [MeasurementRequest { name: item.meas_name.as_str(), labels: &[] }];
                let request = ReportRequest {
                    measurements: &measurements,
                    granularity_period_ms: PERIOD_MS,
                    reporting_period_ms: PERIOD_MS,
                    scope: Scope::Node,
                };
                let plan = request.plan(&definition, revision).ok()?;
                let (mut trigger, mut action) = (Vec::new(), Vec::new());
                plan.trigger.encode_in(revision, wire, &mut trigger).ok()?;
                plan.action.encode_in(revision, wire, &mut action).ok()?;
                Some((trigger, action))
            })?;
            return Some(plan);
        }
    }
    Some((event_trigger, action))
}
