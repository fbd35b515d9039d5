//! What the actions of subscriptions concern: which UEs their reports are about, and what policies and inserts decide on.
//!
//! E2SM-KPM and E2SM-RC select UEs. What is not understood concerns all UEs of the node.

use e2ap::RicActionType;
use e2sm::Arena;
use e2sm::common::{SNssai, Sd, Sst, UeId};
use e2sm::kpm::{self, MatchingCondItemChoice, TestCondExpression, TestCondInfo, TestCondType, TestCondValue};
use e2sm::rc::{self, EventTrigger, EventTriggerFormats, EventTriggerUeInfo, EventTriggerUeType};

use super::TargetUe;
use crate::{Action, RanFunction, SubscriptionSpec};

/// The most UEs that an action names, and the most parameters that it decides on; what has more concerns all.
const MAX_ITEMS: usize = 64;
/// E2SM-RC: the report style of node information.
const NODE_INFORMATION: i64 = 3;

/// The UEs that an action concerns.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ConcernedUes {
    /// None: it is of the node or a cell.
    No,
    /// One.
    One(TargetUe),
    /// Those that have each of these slices.
    WithSlices(Vec<SNssai>),
    /// All, or it is not known which ones.
    All,
}

/// What an action concerns.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ActionContent {
    /// The UEs: at least one entry, of which each is to be within the rights.
    pub ues: Vec<ConcernedUes>,
    /// What a policy sets, and the controls that an insert asks for; `None` if that is not known. Of a report there is none.
    pub parameters: Option<Vec<String>>,
}

impl ActionContent {
    fn unknown() -> Self {
        ActionContent { ues: vec![ConcernedUes::All], parameters: None }
    }

    /// Reads an action of a subscription.
    pub fn of(function: &RanFunction, spec: &SubscriptionSpec, action: &Action) -> Self {
        let oid = function.oid.trim();
        if oid == e2sm::ccc::OID && action.kind == RicActionType::Report {
            return ActionContent { ues: vec![ConcernedUes::No], parameters: Some(Vec::new()) };
        }
        let definition = action.definition.as_deref().unwrap_or_default();
        let (revision, octets) = (function.revision.0, &function.definition);
        let content = if let Ok(detection) = rc::Detection::from_ran_function(oid, revision, octets) {
            of_rc(&detection, &spec.event_trigger, action.kind, definition)
        } else if let Ok(detection) = kpm::Detection::from_ran_function(oid, revision, octets) {
            of_kpm(&detection, definition).filter(|_| action.kind == RicActionType::Report)
        } else {
            None
        };
        content.unwrap_or_else(Self::unknown)
    }
}

fn of_kpm(detection: &kpm::Detection, definition: &[u8]) -> Option<ActionContent> {
    use kpm::ActionDefinitionFormats;
    let arena = Arena::new();
    let definition = kpm::ActionDefinition::decode_in(definition, detection.revision, detection.wire, &arena).ok()?;
    let ues = match &definition.formats {
        ActionDefinitionFormats::Format1(_) => vec![ConcernedUes::No],
        ActionDefinitionFormats::Format2(format) => these([&format.ue_id].into_iter()),
        ActionDefinitionFormats::Format3(format) => {
            let of_item = |item: &kpm::MeasurementCondItem<'_>| {
                let conditions = item.matching_cond.iter().map(|condition| match &condition.choice {
                    MatchingCondItemChoice::TestCondInfo(test) => (Some(test), condition.logical_or.is_some()),
                    MatchingCondItemChoice::MeasLabel(_) => (None, condition.logical_or.is_some()),
                });
                with_slices(conditions)
            };
            format.meas_cond_list.iter().map(of_item).collect()
        }
        ActionDefinitionFormats::Format4(format) => {
            let conditions = format.matching_ue_cond_list.iter();
            vec![with_slices(conditions.map(|item| (Some(&item.test_cond_info), item.logical_or.is_some())))]
        }
        ActionDefinitionFormats::Format5(format) => these(format.matching_ueid_list.iter().map(|item| &item.ue_id)),
    };
    Some(ActionContent { ues, parameters: Some(Vec::new()) })
}

fn these<'u, 'i: 'u>(ues: impl Iterator<Item = &'u UeId<'i>>) -> Vec<ConcernedUes> {
    let ues: Vec<_> = ues.take(MAX_ITEMS + 1).map(|ue| ConcernedUes::One(TargetUe::of(ue))).collect();
    if (1..=MAX_ITEMS).contains(&ues.len()) { ues } else { vec![ConcernedUes::All] }
}

/// The UEs that meet all of several conditions, which are of slices or others, each with whether it is joined to the next one by OR.
fn with_slices<'c>(conditions: impl Iterator<Item = (Option<&'c TestCondInfo<'c>>, bool)>) -> ConcernedUes {
    let mut slices = Vec::new();
    for (test, is_or) in conditions {
        if is_or {
            return ConcernedUes::All;
        }
        slices.extend(test.and_then(slice_of).filter(|_| slices.len() < MAX_ITEMS));
    }
    if slices.is_empty() { ConcernedUes::All } else { ConcernedUes::WithSlices(slices) }
}

/// The slice of a condition that a UE has it.
fn slice_of(test: &TestCondInfo<'_>) -> Option<SNssai> {
    let TestCondInfo {
        test_type: TestCondType::SNssai(_),
        test_expr: Some(TestCondExpression::Equal),
        test_value: Some(TestCondValue::ValueOctS(octets)),
    } = test
    else {
        return None;
    };
    match *octets.to_cow() {
        [sst] => Some(SNssai { sst: Sst([sst]), sd: None }),
        [sst, a, b, c] => Some(SNssai { sst: Sst([sst]), sd: Some(Sd([a, b, c])) }),
        _ => None,
    }
}

/// A definition of another type of action than the one that it is of is not understood: what nodes make of it is not known.
fn of_rc(detection: &rc::Detection, trigger: &[u8], kind: RicActionType, definition: &[u8]) -> Option<ActionContent> {
    use rc::ActionDefinitionFormats;
    let rc::Detection { revision, wire, .. } = *detection;
    let arena = Arena::new();
    let definition = rc::ActionDefinition::decode_in(definition, revision, wire, &arena).ok()?;
    let style = definition.ric_style_type.0;
    let is_of = match &definition.formats {
        ActionDefinitionFormats::Format1(_) => RicActionType::Report,
        ActionDefinitionFormats::Format2(_) => RicActionType::Policy,
        ActionDefinitionFormats::Format3(_) | ActionDefinitionFormats::Format4(_) => RicActionType::Insert,
    };
    if is_of != kind {
        return None;
    }
    let arena = Arena::new();
    let trigger = EventTrigger::decode_in(trigger, revision, wire, &arena).ok()?;
    let of_trigger = || ues_of_trigger(&trigger.formats, style);
    let asked = |ue: &Option<UeId<'_>>| ue.as_ref().map_or_else(of_trigger, |ue| these([ue].into_iter()));
    let mut parameters = Vec::new();
    let mut decides = |style: i64, action: u16| {
        let parameter = format!("rc/{style}/{action}");
        if !parameters.contains(&parameter) {
            parameters.push(parameter);
        }
        parameters.len() <= MAX_ITEMS
    };
    let (ues, is_whole) = match &definition.formats {
        ActionDefinitionFormats::Format1(_) => (of_trigger(), true),
        // its actions have the numbers of controls
        ActionDefinitionFormats::Format2(format) => {
            let mut items = format.policy_conditions_list.iter();
            (of_trigger(), items.all(|item| decides(style, item.policy_action.policy_action_id.0)))
        }
        // an insert has the number of the control that answers it
        ActionDefinitionFormats::Format3(format) => {
            (asked(&format.ue_id), decides(style, format.ric_insert_indication_id.0))
        }
        ActionDefinitionFormats::Format4(format) => {
            let mut is_whole = true;
            for of_style in format.insert_style_list.iter() {
                let style = of_style.requested_insert_style_type.0;
                let mut indications = of_style.insert_indication_list.iter();
                is_whole &= indications.all(|item| decides(style, item.ric_insert_indication_id.0));
            }
            (asked(&format.ue_id), is_whole)
        }
    };
    Some(ActionContent { ues, parameters: is_whole.then_some(parameters) })
}

/// The UEs that an event trigger of E2SM-RC selects.
fn ues_of_trigger(trigger: &EventTriggerFormats<'_>, style: i64) -> Vec<ConcernedUes> {
    let mut found = Vec::new();
    let mut add = |info: Option<&EventTriggerUeInfo<'_>>| {
        let Some(info) = info else { return false };
        info.ue_info_list.iter().all(|item| match &item.ue_type {
            EventTriggerUeType::Individual(one) if found.len() < MAX_ITEMS => {
                found.push(ConcernedUes::One(TargetUe::of(&one.ue_id)));
                true
            }
            _ => false,
        })
    };
    let is_whole = match trigger {
        EventTriggerFormats::Format1(format) => {
            let all = format.global_associated_ue_info.as_ref();
            format.message_list.iter().all(|message| add(message.associated_ue_info.as_ref().or(all)))
        }
        EventTriggerFormats::Format2(format) => add(format.associated_ue_info.as_ref()),
        EventTriggerFormats::Format3(_) if style == NODE_INFORMATION => return vec![ConcernedUes::No],
        EventTriggerFormats::Format4(format) => {
            format.ue_info_change_list.iter().all(|item| add(item.associated_ue_info.as_ref()))
        }
        EventTriggerFormats::Format5(format) => add(format.associated_ue_info.as_ref()),
        _ => false,
    };
    if is_whole && !found.is_empty() { found } else { vec![ConcernedUes::All] }
}
