//! The subscription to a node's KPM function: the report style, and what is requested of it.

use std::sync::Arc;

use e2::topology::UeReference;
use e2::{Action, SubscriptionSpec};
use e2ap::{GlobalE2NodeId, RicActionId, RicActionType};
use e2sm::Arena;
use e2sm::common::{RicStyleType, SNssai, Sst, UeId};
use e2sm::kpm::v2_00::{self, CellReports};
use e2sm::kpm::{
    ActionDefinition, EventTriggerDefinition, EveryUe, LabelInfoItem, MeasurementLabel, MeasurementRequest,
    RanFunctionDefinition, ReportRequest, Revision, Scope, v1,
};
use per::IntoOwned;

use super::super::core::{Planned, Reader};
use super::super::error::Error;
use super::super::names::{CellId, NetworkSlice};
use super::super::node::{KpmFunction, NodeEntry};
use super::report::Source;

/// The most actions of one subscription (E2AP: maxofRICactionID).
const MAX_ACTIONS: usize = 16;

/// What records are about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) enum About {
    /// Each UE; of a node that has the measurements as a whole only, the node.
    EachUe,
    Ue(UeReference),
    Cell(CellId),
    Slice(NetworkSlice),
    Node,
}

/// A request for records.
#[derive(Clone, Debug)]
pub(in super::super) struct Wanted {
    pub measurements: Vec<String>,
    pub about: About,
    pub period_ms: u32,
}

/// The plans for a node, to be tried in order: nodes refuse conditions that they do not know.
///
/// # Errors
/// Why the node cannot report: the most similar measurements, or that it has no such report style.
pub(in super::super) fn plans(
    wanted: &Wanted,
    node: &NodeEntry,
    ue_id: Option<&UeId<'static>>,
) -> Result<Vec<Planned>, Error> {
    let mut refusal = None;
    let mut plans = Vec::new();
    for function in &node.kpm {
        for request in requests(wanted, &node.global_id, ue_id) {
            match plan(wanted, &request, function) {
                Ok((spec, action)) => plans.push(planned(wanted, node, function, spec, action)),
                Err(error) => drop(refusal.get_or_insert(error)),
            }
        }
        if !plans.is_empty() {
            return Ok(plans);
        }
    }
    Err(match refusal {
        None => node.lacks("E2SM-KPM"),
        Some(e2sm::Error::NotOffered { wanted, nearest }) => {
            Error::NotOffered { node: Some(node.name.to_string()), what: wanted, nearest }
        }
        Some(e2sm::Error::NoReportStyle) => node.lacks(match wanted.about {
            About::EachUe => "measurements of UEs or of the node",
            About::Ue(_) => "measurements of one UE",
            About::Cell(_) | About::Slice(_) | About::Node => "measurements of cells",
        }),
        Some(error) => Error::Malformed { node: node.name.to_string(), reason: error.to_string() },
    })
}

fn planned(
    wanted: &Wanted,
    node: &NodeEntry,
    function: &KpmFunction,
    spec: SubscriptionSpec,
    action: Option<ActionDefinition<'static>>,
) -> Planned {
    let source = Source::new(Arc::clone(&node.name), function.detection, action, wanted.period_ms);
    Planned { function: function.id, spec, begins_with_state: false, reader: Reader::Records(Box::new(source)) }
}

/// A subscription, and the action that names values which the node sends without names.
type Subscription = (SubscriptionSpec, Option<ActionDefinition<'static>>);

/// A scope with what it borrows.
struct Request {
    scope: OwnedScope,
    labels: Vec<LabelInfoItem>,
}

enum OwnedScope {
    Node,
    Cell(e2sm::common::Cgi),
    Ue([UeId<'static>; 1]),
    EveryUe(EveryUe),
}

fn requests(wanted: &Wanted, node: &GlobalE2NodeId, ue_id: Option<&UeId<'static>>) -> Vec<Request> {
    let request = |scope| Request { scope, labels: Vec::new() };
    match wanted.about {
        About::EachUe => vec![
            request(OwnedScope::EveryUe(EveryUe::AnySignal)),
            // OAI's base stations know no other condition
            request(OwnedScope::EveryUe(EveryUe::InSlice(SNssai { sst: Sst([1]), sd: None }))),
            request(OwnedScope::Node),
        ],
        About::Ue(_) => ue_id.map(|ue_id| request(OwnedScope::Ue([ue_id.clone()]))).into_iter().collect(),
        About::Cell(cell) => {
            let cell = cell.at(node);
            vec![request(OwnedScope::Cell(cell))]
        }
        About::Slice(slice) => {
            let label = MeasurementLabel { slice_id: Some(slice.0), ..MeasurementLabel::default() };
            vec![Request { scope: OwnedScope::Node, labels: vec![LabelInfoItem { meas_label: label }] }]
        }
        About::Node => vec![request(OwnedScope::Node)],
    }
}

fn plan(wanted: &Wanted, request: &Request, function: &KpmFunction) -> Result<Subscription, e2sm::Error> {
    let KpmFunction { detection, definition, .. } = function;
    let (revision, wire) = (detection.revision, detection.wire);
    let about_ues = matches!(request.scope, OwnedScope::Ue(_) | OwnedScope::EveryUe(_));
    let arena = Arena::new();
    match revision {
        // v01.00 and v02.00 have no measurements of UEs that are named
        Revision::V1_00 if matches!(wanted.about, About::EachUe | About::Node) && !about_ues => {
            plan_v1(wanted, function)
        }
        Revision::V2_00 if matches!(wanted.about, About::EachUe | About::Node) && !about_ues => {
            plan_v2_00(wanted, function)
        }
        Revision::V1_00 | Revision::V2_00 => Err(e2sm::Error::NoReportStyle),
        _ => {
            let definition = RanFunctionDefinition::decode_in(definition, revision, wire, &arena)?;
            let measurements: Vec<_> =
                wanted.measurements.iter().map(|name| MeasurementRequest { name, labels: &request.labels }).collect();
            let scope = match &request.scope {
                OwnedScope::Node => Scope::Node,
                OwnedScope::Cell(cell) => Scope::Cell(*cell),
                OwnedScope::Ue(ue) => Scope::Ues(ue),
                OwnedScope::EveryUe(how) => Scope::EveryUe(*how),
            };
            let (granularity_period_ms, reporting_period_ms) = (wanted.period_ms, wanted.period_ms);
            let request =
                ReportRequest { measurements: &measurements, granularity_period_ms, reporting_period_ms, scope };
            let plan = request.plan(&definition, revision)?;
            let (mut event_trigger, mut action) = (Vec::new(), Vec::new());
            plan.trigger.encode_in(revision, wire, &mut event_trigger)?;
            plan.action.encode_in(revision, wire, &mut action)?;
            let spec = SubscriptionSpec { event_trigger, actions: vec![report(1, action)] };
            let action = Some(plan.action.into_owned());
            Ok((spec, action))
        }
    }
}

fn report(id: u8, definition: Vec<u8>) -> Action {
    Action { id: RicActionId(id), kind: RicActionType::Report, definition: Some(definition), subsequent: None }
}

/// Each cell that a node of v02.00 lists.
fn plan_v2_00(wanted: &Wanted, function: &KpmFunction) -> Result<Subscription, e2sm::Error> {
    let arena = Arena::new();
    let definition = v2_00::RanFunctionDefinition::decode(&function.definition, &arena)?;
    let names: Vec<&str> = wanted.measurements.iter().map(String::as_str).collect();
    let cells = CellReports { measurements: &names, granularity_period_ms: wanted.period_ms }.actions(&definition)?;
    if cells.len() > MAX_ACTIONS {
        tracing::warn!(
            cells = cells.len(),
            "a subscription has at most {MAX_ACTIONS} cells: the others are not reported"
        );
    }
    let mut event_trigger = Vec::new();
    EventTriggerDefinition::every(wanted.period_ms).encode(Revision::V2_01, &mut event_trigger)?;
    let mut actions = Vec::new();
    for (id, cell) in (1..).zip(cells.iter().take(MAX_ACTIONS)) {
        let mut action = Vec::new();
        cell.encode(&mut action)?;
        actions.push(report(id, action));
    }
    // the measurements are the same for all cells
    let action = cells.first().and_then(v2_00::ActionDefinition::to_current).map(IntoOwned::into_owned);
    let spec = SubscriptionSpec { event_trigger, actions };
    Ok((spec, action))
}

/// The report styles of a node of v01.00, which have fixed containers; the nearest period.
fn plan_v1(wanted: &Wanted, function: &KpmFunction) -> Result<Subscription, e2sm::Error> {
    let definition = v1::RanFunctionDefinition::decode_owned(&function.definition)?;
    let mut event_trigger = Vec::new();
    v1::EventTriggerDefinition::every(v1::ReportPeriod::nearest(wanted.period_ms)).encode(&mut event_trigger)?;
    let offered = definition.e2sm_kpm_ran_function_item.ric_report_style_list.unwrap_or_default();
    // O-RAN SC's simulator, which leaves the short name empty, admits one action and reports under the id of the last
    let most = if definition.ran_function_name.short_name.is_empty() { 1 } else { MAX_ACTIONS };
    let mut actions = Vec::new();
    for (id, style) in (0..).zip(offered.iter().take(most)) {
        let mut action = Vec::new();
        let ric_style_type = RicStyleType(style.ric_report_style_type.0);
        v1::ActionDefinition { ric_style_type }.encode(&mut action)?;
        actions.push(report(id, action));
    }
    if actions.is_empty() {
        return Err(e2sm::Error::NoReportStyle);
    }
    let spec = SubscriptionSpec { event_trigger, actions };
    Ok((spec, None))
}
