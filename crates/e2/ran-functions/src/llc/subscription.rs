//! What a subscription asks for: event triggers and action definitions.

use e2sm::Arena;
use e2sm::common::{Cgi, UeId};
use e2sm::llc::{
    ActionDefinition, ActionDefinitionFormats, EventTrigger, EventTriggerFormat1Item, EventTriggerFormats,
    EventTriggerUeInfo, LogicalOr, LowerLayersInfoType, LowerLayersMeasType, RicEventTriggerConditionId, UeType,
};
use ferric::agent::{RequestKey, Ue};
use ferric::e2::{self, Time};
use ferric::e2ap::{Cause, RicActionId, RicActionType};

use super::definition::{STYLE_COPY, STYLE_PERIODIC};
use super::source::{HarqCounts, LlcSource};
use crate::cause::{ACTION_NOT_SUPPORTED, SEMANTIC_ERROR, TRIGGER_NOT_SUPPORTED, check_limit, undecodable};
use crate::schedule::Period;

/// The most UEs that a trigger may name: each report compares them with the UEs of the cell.
const MAX_NAMED_UES: usize = 256;
/// The most measurements of an action, of which there are four kinds.
const MAX_MEASUREMENTS: usize = 63;

/// The UEs of a condition.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum UeFilter {
    /// Every UE of the cell.
    Any,
    /// UEs by name.
    Named(Vec<UeId<'static>>),
}

impl UeFilter {
    /// Reads conditions on UEs, which are joined by "or".
    fn read(info: Option<&EventTriggerUeInfo<'static>>, cell: &Cgi) -> Result<Self, Cause> {
        let Some(info) = info else { return Ok(UeFilter::Any) };
        let items = &info.ue_info_list;
        let last = items.len().saturating_sub(1);
        // no UE is two UEs
        if items[..last].iter().any(|item| item.logical_or != Some(LogicalOr::True)) {
            return Err(TRIGGER_NOT_SUPPORTED);
        }
        let mut named = Vec::new();
        for item in items {
            match &item.ue_type {
                UeType::Individual(individual) => named.push(individual.ue_id.clone()),
                UeType::Group(group) => {
                    let group = &group.group_of_ues;
                    if group.cell_global_id.is_none() && group.ue_identifier_list.is_empty() {
                        return Err(SEMANTIC_ERROR);
                    }
                    // UEs of another cell are not here
                    match group.cell_global_id {
                        Some(wanted) if wanted != *cell => continue,
                        Some(_) if group.ue_identifier_list.is_empty() => return Ok(UeFilter::Any),
                        _ => named.extend(group.ue_identifier_list.iter().map(|item| item.ue_id.clone())),
                    }
                }
            }
            check_limit(named.len(), MAX_NAMED_UES)?;
        }
        Ok(UeFilter::Named(named))
    }

    pub fn has<S: LlcSource>(&self, source: &S, ue: Ue) -> bool {
        match self {
            UeFilter::Any => true,
            UeFilter::Named(named) => {
                let id = source.ue_id(ue);
                named.iter().any(|named| named.is_same_ue(&id))
            }
        }
    }
}

/// An event: lower layers information of some UEs arrives.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Event {
    pub condition: RicEventTriggerConditionId,
    pub kind: LowerLayersInfoType,
    pub ues: UeFilter,
}

/// An event trigger.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Trigger {
    /// Any of these events.
    Events(Vec<Event>),
    /// A period.
    Every(u32, UeFilter),
}

impl Trigger {
    pub fn read(octets: &[u8], cell: &Cgi) -> Result<Self, Cause> {
        match EventTrigger::decode_owned(octets).map_err(undecodable("event trigger"))?.formats {
            EventTriggerFormats::Format2(periodic) => {
                let ues = UeFilter::read(periodic.associated_ue_info.as_ref(), cell)?;
                Ok(Trigger::Every(periodic.reporting_period, ues))
            }
            EventTriggerFormats::Format1(arrival) => {
                let global = match &arrival.global_associated_ue_info {
                    Some(info) => Some(UeFilter::read(Some(info), cell)?),
                    None => None,
                };
                let items = &arrival.message_list;
                let last = items.len().saturating_sub(1);
                // events of two slots are never at once
                if items[..last].iter().any(|item| item.logical_or != Some(LogicalOr::True)) {
                    return Err(TRIGGER_NOT_SUPPORTED);
                }
                let event = |item: &EventTriggerFormat1Item<'static>| {
                    let ues = match &global {
                        Some(global) => global.clone(),
                        None => UeFilter::read(item.associated_ue_info.as_ref(), cell)?,
                    };
                    let (condition, kind) = (item.ric_event_trigger_condition_id, item.lower_layers_info_type);
                    Ok(Event { condition, kind, ues })
                };
                Ok(Trigger::Events(items.iter().map(event).collect::<Result<_, Cause>>()?))
            }
        }
    }
}

/// What an action reports.
#[derive(Clone, Debug)]
pub(super) enum Content {
    /// Measurements at the end of each period.
    Measurements {
        period: Period,
        kinds: Vec<LowerLayersMeasType>,
        ues: UeFilter,
        /// The counters of HARQ at the last report, by UE.
        harq: Vec<(Ue, HarqCounts)>,
    },
    /// Copies of what has arrived since the last report, by event.
    Copies {
        events: Vec<Event>,
        /// How much had arrived at the last report, by UE.
        seen: Vec<(Ue, u64)>,
    },
}

/// A report action of a subscription.
#[derive(Clone, Debug)]
pub(super) struct Action {
    pub key: RequestKey,
    pub id: RicActionId,
    pub content: Content,
}

impl Action {
    pub fn new(now: Time, trigger: &Trigger, key: RequestKey, wanted: &e2::Action) -> Result<Self, Cause> {
        if wanted.kind != RicActionType::Report {
            return Err(ACTION_NOT_SUPPORTED);
        }
        let octets = wanted.definition.as_deref().ok_or(SEMANTIC_ERROR)?;
        let arena = Arena::new();
        let definition = ActionDefinition::decode(octets, &arena).map_err(undecodable("action definition"))?;
        let content = match (trigger, definition.formats, definition.ric_style_type.0) {
            (Trigger::Every(period_ms, ues), ActionDefinitionFormats::Format2(wanted), STYLE_PERIODIC) => {
                let mut kinds: Vec<_> =
                    wanted.measurement_to_report_list.iter().map(|item| item.lower_layers_meas_type).collect();
                kinds.sort_unstable();
                kinds.dedup();
                check_limit(kinds.len(), MAX_MEASUREMENTS)?;
                let period = Period::new(now, *period_ms);
                Content::Measurements { period, kinds, ues: ues.clone(), harq: Vec::new() }
            }
            (Trigger::Events(events), ActionDefinitionFormats::Format1(wanted), STYLE_COPY) => {
                // what has arrived is what is copied
                if events.iter().any(|event| event.kind != wanted.lower_layers_info_type) {
                    return Err(ACTION_NOT_SUPPORTED);
                }
                Content::Copies { events: events.clone(), seen: Vec::new() }
            }
            _ => return Err(ACTION_NOT_SUPPORTED),
        };
        Ok(Action { key, id: wanted.id, content })
    }
}
