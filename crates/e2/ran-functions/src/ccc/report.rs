//! Report actions and queries.

use std::borrow::Cow;

use e2sm::ccc::{
    ActionDefinition, ActionDefinitionFormat, AttributeName, CellQueried, CellReported, ChangeType,
    EventTriggerDefinition, EventTriggerDefinitionFormat, IndicationMessage, IndicationMessageFormat, IndicationReason,
    QueryDefinition, QueryDefinitionFormat, QueryHeader, QueryOutcome, QueryOutcomeFormat, RanConfigurationStructure,
    ReportType, StructureForAction, StructureForEventTrigger, StructureForQuery, StructureQueried, StructureReported,
    TriggerAttribute,
};
use e2sm::common::Cgi;
use ferric::agent::RequestKey;
use ferric::e2::{self, Time};
use ferric::e2ap::{Cause, RicActionId, RicActionType};
use tracing::debug;

use super::{CccConfig, CccSource, ConfigLevel, ConfigScope, SupportedAttribute, SupportedStructure};

use crate::cause::{
    ACTION_NOT_SUPPORTED, INFORMATION_UNAVAILABLE, SEMANTIC_ERROR, TRIGGER_NOT_SUPPORTED, check_limit, undecodable,
};
use crate::schedule::Period;

/// The maximum number of structures in the trigger or the report of one action, over all its cells.
const MAX_STRUCTURES: usize = 256;

/// When an action reports.
#[derive(Clone, Debug)]
pub(super) enum Trigger {
    /// When one of these structures changes.
    Change(Vec<Selection>),
    /// Periodically.
    PeriodMs(u32),
}

/// Selected attributes of the structures with one name in a scope.
#[derive(Clone, Debug)]
pub(super) struct Selection {
    scope: ConfigScope,
    name: Cow<'static, str>,
    key: Cow<'static, [Cow<'static, str>]>,
    /// `None` selects all attributes.
    attributes: Option<Vec<String>>,
    report_type: ReportType,
}

/// The values of each selection at some time.
type Snapshot = Vec<Vec<RanConfigurationStructure>>;

/// A report action of a subscription.
pub(super) struct Action {
    pub key: RequestKey,
    pub id: RicActionId,
    level: ConfigLevel,
    trigger: Trigger,
    /// The structures to report.
    selections: Vec<Selection>,
    /// The latest values of the trigger's structures.
    trigger_values: Snapshot,
    /// The values of the latest report.
    reported: Snapshot,
    /// The time of the first report, until it is made.
    first_report: Option<Time>,
    /// The period of a periodic trigger.
    period: Option<Period>,
}

impl Trigger {
    pub fn new<S: CccSource>(source: &S, config: &CccConfig, bytes: &[u8]) -> Result<Self, Cause> {
        let definition = EventTriggerDefinition::decode(bytes).map_err(undecodable("event trigger definition"))?;
        let selector = Selector { source, service: |attribute| attribute.reported };
        let select = |structures: &[StructureForEventTrigger], level, cell| {
            selector.select(structures.iter().map(trigger_parts), level, cell)
        };
        let selections = match &definition.format {
            EventTriggerDefinitionFormat::PeriodMs(period_ms) if *period_ms < config.min_period_ms => {
                return Err(TRIGGER_NOT_SUPPORTED);
            }
            EventTriggerDefinitionFormat::PeriodMs(period_ms) => return Ok(Trigger::PeriodMs(*period_ms)),
            EventTriggerDefinitionFormat::NodeLevelChange(structures) => select(structures, ConfigLevel::Node, None)?,
            EventTriggerDefinitionFormat::CellLevelChange(cells) => {
                let each = cells.iter().map(|cell| select(&cell.structures, ConfigLevel::Cell, cell.cell_global_id));
                each.collect::<Result<Vec<_>, _>>()?.concat()
            }
        };
        check_limit(selections.len(), MAX_STRUCTURES)?;
        Ok(Trigger::Change(selections))
    }
}

impl Action {
    /// Checks and sets up a requested action; its first report is due at `now`.
    pub fn new<S: CccSource>(
        now: Time,
        source: &S,
        trigger: &Trigger,
        key: RequestKey,
        requested: &e2::Action,
    ) -> Result<Self, Cause> {
        let definition = match &requested.definition {
            _ if requested.kind != RicActionType::Report => return Err(ACTION_NOT_SUPPORTED),
            None => return Err(SEMANTIC_ERROR),
            Some(bytes) => ActionDefinition::decode(bytes).map_err(undecodable("action definition"))?,
        };
        let selector = Selector { source, service: |attribute| attribute.reported };
        let select = |structures: &[StructureForAction], level, cell| {
            selector.select(structures.iter().map(action_parts), level, cell)
        };
        let (level, selections) = match &definition.format {
            ActionDefinitionFormat::NodeLevel(structures) => {
                (ConfigLevel::Node, select(structures, ConfigLevel::Node, None)?)
            }
            ActionDefinitionFormat::CellLevel(cells) => {
                let each = cells.iter().map(|cell| select(&cell.structures, ConfigLevel::Cell, cell.cell_global_id));
                (ConfigLevel::Cell, each.collect::<Result<Vec<_>, _>>()?.concat())
            }
        };
        if definition.ric_style_type != level.number() {
            let known =
                [ConfigLevel::Node, ConfigLevel::Cell].iter().any(|level| definition.ric_style_type == level.number());
            return Err(if known { SEMANTIC_ERROR } else { ACTION_NOT_SUPPORTED });
        }
        check_limit(selections.len(), MAX_STRUCTURES)?;
        let (trigger_values, period) = match trigger {
            Trigger::Change(selections) => (snapshot(source, selections), None),
            Trigger::PeriodMs(period_ms) => (Vec::new(), Some(Period::new(now, *period_ms))),
        };
        Ok(Action {
            key,
            id: requested.id,
            level,
            trigger: trigger.clone(),
            selections,
            trigger_values,
            reported: Vec::new(),
            first_report: Some(now),
            period,
        })
    }

    pub fn reports_changes(&self) -> bool {
        matches!(self.trigger, Trigger::Change(_))
    }

    /// The time of the next report that does not depend on a change.
    pub fn due(&self) -> Option<Time> {
        self.first_report.or_else(|| self.period.map(|period| period.end()))
    }

    /// The report that is due at `now` and its reason. `source_changed` states whether any value of the source changed.
    pub fn report<S: CccSource>(
        &mut self,
        now: Time,
        source: &S,
        source_changed: bool,
    ) -> Option<(IndicationReason, IndicationMessage)> {
        let has_changed = source_changed && self.has_changed(source);
        let is_first = self.first_report.take_if(|due| *due <= now).is_some();
        let is_periodic = self.period.as_mut().is_some_and(|period| period.advance(now).is_some());
        let reason = match (is_first, is_periodic, has_changed) {
            (true, ..) => IndicationReason::UponSubscription,
            (_, true, _) => IndicationReason::Periodic,
            (.., true) => IndicationReason::UponChange,
            _ => return None,
        };
        let current = snapshot(source, &self.selections);
        let reported = std::mem::replace(&mut self.reported, current);
        let message = self.message(if is_first { None } else { Some(&reported) })?;
        Some((reason, message))
    }

    /// Whether the trigger's structures differ from those at the previous call.
    fn has_changed<S: CccSource>(&mut self, source: &S) -> bool {
        let Trigger::Change(selections) = &self.trigger else { return false };
        let current = snapshot(source, selections);
        let has_changed = current != self.trigger_values;
        self.trigger_values = current;
        has_changed
    }

    /// The current values compared with the previously reported ones; `None` if there is nothing to report.
    fn message(&self, before: Option<&Snapshot>) -> Option<IndicationMessage> {
        let mut node = Vec::new();
        let mut cells: Vec<CellReported> = Vec::new();
        for (at, (selection, current)) in self.selections.iter().zip(&self.reported).enumerate() {
            let before = before.map(|before| before.get(at).map_or(&[][..], Vec::as_slice));
            let structures = selection.differences(before, current);
            match selection.scope {
                ConfigScope::Node => node.extend(structures),
                ConfigScope::Cell(_) if structures.is_empty() => {}
                ConfigScope::Cell(cell_global_id) => {
                    match cells.iter_mut().find(|c| c.cell_global_id == cell_global_id) {
                        Some(cell) => cell.structures.extend(structures),
                        None => cells.push(CellReported { cell_global_id, structures }),
                    }
                }
            }
        }
        // a list cannot be empty
        let format = match self.level {
            ConfigLevel::Node if node.is_empty() => return None,
            ConfigLevel::Cell if cells.is_empty() => return None,
            ConfigLevel::Node => IndicationMessageFormat::NodeLevel(node),
            ConfigLevel::Cell => IndicationMessageFormat::CellLevel(cells),
        };
        Some(IndicationMessage { format })
    }
}

impl Selection {
    /// Whether an attribute is selected; the key always is.
    fn contains(&self, attribute: &str) -> bool {
        self.attributes.as_ref().is_none_or(|selected| selected.iter().any(|name| name == attribute))
            || self.is_key(attribute)
    }

    fn is_key(&self, attribute: &str) -> bool {
        self.key.iter().any(|key| key == attribute)
    }

    /// Whether two structures have the same key.
    fn is_same(&self, a: &RanConfigurationStructure, b: &RanConfigurationStructure) -> bool {
        let is_key = |name: &str| self.is_key(name);
        a.only(is_key) == b.only(is_key)
    }

    /// The report on structures whose values were `before` in the previous report; `None` for the first report.
    fn differences(
        &self,
        before: Option<&[RanConfigurationStructure]>,
        current: &[RanConfigurationStructure],
    ) -> Vec<StructureReported> {
        let reported = |change_type, values: &RanConfigurationStructure| StructureReported {
            change_type,
            values: values.clone(),
            old_values: None,
        };
        let Some(before) = before else {
            return current.iter().map(|structure| reported(ChangeType::None, structure)).collect();
        };
        let mut all = Vec::new();
        for new in current {
            match before.iter().find(|old| self.is_same(old, new)) {
                None => all.push(reported(ChangeType::Addition, new)),
                Some(old) if old == new && self.report_type == ReportType::All => {
                    all.push(reported(ChangeType::None, new));
                }
                Some(old) if old == new => {}
                Some(old) => {
                    let (before, after) = (old.attributes(), new.attributes());
                    let differs = |name: &str| before.get(name) != after.get(name) || self.is_key(name);
                    all.push(StructureReported {
                        change_type: ChangeType::Modification,
                        values: match self.report_type {
                            ReportType::All => new.clone(),
                            ReportType::Change => new.only(differs),
                        },
                        old_values: Some(old.only(differs)),
                    });
                }
            }
        }
        let deleted = before.iter().filter(|old| !current.iter().any(|new| self.is_same(old, new)));
        all.extend(deleted.map(|old| reported(ChangeType::Deletion, old)));
        all
    }
}

/// The outcome of a query.
pub(super) fn query<S: CccSource>(source: &S, header: &[u8], definition: &[u8]) -> Result<QueryOutcome, Cause> {
    let header = QueryHeader::decode(header).map_err(undecodable("query header"))?;
    let definition = QueryDefinition::decode(definition).map_err(undecodable("query definition"))?;
    let selector = Selector { source, service: |attribute| attribute.queried };
    let select = |structures: &[StructureForQuery], level, cell| {
        selector.select(structures.iter().map(query_parts), level, cell)
    };
    let (level, selections) = match &definition.format {
        QueryDefinitionFormat::NodeLevel(structures) => {
            (ConfigLevel::Node, select(structures, ConfigLevel::Node, None)?)
        }
        QueryDefinitionFormat::CellLevel(cells) => {
            let each = cells.iter().map(|cell| select(&cell.structures, ConfigLevel::Cell, cell.cell_global_id));
            (ConfigLevel::Cell, each.collect::<Result<Vec<_>, _>>()?.concat())
        }
    };
    if header.format.ric_style_type != level.number() {
        return Err(SEMANTIC_ERROR);
    }
    check_limit(selections.len(), MAX_STRUCTURES)?;
    let (mut node, mut cells): (Vec<StructureQueried>, Vec<CellQueried>) = (Vec::new(), Vec::new());
    for (selection, structures) in selections.iter().zip(snapshot(source, &selections)) {
        let structures = structures.into_iter().map(StructureQueried);
        match selection.scope {
            ConfigScope::Node => node.extend(structures),
            ConfigScope::Cell(id) => match cells.iter_mut().find(|cell| cell.cell_global_id == id) {
                Some(cell) => cell.structures.extend(structures),
                None => cells.push(CellQueried { cell_global_id: id, structures: structures.collect() }),
            },
        }
    }
    // a list cannot be empty
    cells.retain(|cell| !cell.structures.is_empty());
    match level {
        ConfigLevel::Node if node.is_empty() => Err(INFORMATION_UNAVAILABLE),
        ConfigLevel::Cell if cells.is_empty() => Err(INFORMATION_UNAVAILABLE),
        ConfigLevel::Node => Ok(QueryOutcome { format: QueryOutcomeFormat::NodeLevel(node) }),
        ConfigLevel::Cell => Ok(QueryOutcome { format: QueryOutcomeFormat::CellLevel(cells) }),
    }
}

fn snapshot<S: CccSource>(source: &S, selections: &[Selection]) -> Snapshot {
    let read = |selection: &Selection| {
        let structures = source.read(selection.scope, &selection.name);
        structures.iter().map(|structure| structure.only(|name| selection.contains(name))).collect()
    };
    selections.iter().map(read).collect()
}

/// Name, attributes and report type of a requested structure.
type Parts<'d> = (&'d str, Option<Vec<String>>, ReportType);

fn trigger_parts(structure: &StructureForEventTrigger) -> Parts<'_> {
    let names = |list: &Vec<TriggerAttribute>| list.iter().map(|attribute| attribute.0.clone()).collect();
    (&structure.name, structure.attributes.as_ref().map(names), ReportType::All)
}

fn action_parts(structure: &StructureForAction) -> Parts<'_> {
    let names = |list: &Vec<AttributeName>| list.iter().map(|attribute| attribute.name.clone()).collect();
    (&structure.name, structure.attributes.as_ref().map(names), structure.report_type)
}

fn query_parts(structure: &StructureForQuery) -> Parts<'_> {
    let names = |list: &Vec<AttributeName>| list.iter().map(|attribute| attribute.name.clone()).collect();
    (&structure.name, structure.attributes.as_ref().map(names), ReportType::All)
}

/// Checks the structures that a subscription or a query requests.
struct Selector<'s, S> {
    source: &'s S,
    /// Whether an attribute supports the service.
    service: fn(&SupportedAttribute) -> bool,
}

impl<S: CccSource> Selector<'_, S> {
    /// The selections of the requested structures, in each requested scope.
    fn select<'d>(
        &self,
        structures: impl Iterator<Item = Parts<'d>>,
        level: ConfigLevel,
        cell: Option<Cgi>,
    ) -> Result<Vec<Selection>, Cause> {
        let scopes = match (level, cell) {
            (ConfigLevel::Node, _) => vec![ConfigScope::Node],
            (ConfigLevel::Cell, None) => self.source.cells().into_iter().map(ConfigScope::Cell).collect(),
            (ConfigLevel::Cell, Some(cell)) if self.source.cells().contains(&cell) => vec![ConfigScope::Cell(cell)],
            (ConfigLevel::Cell, Some(cell)) => {
                debug!(?cell, "unknown cell");
                return Err(INFORMATION_UNAVAILABLE);
            }
        };
        let mut all = Vec::new();
        for (name, attributes, report_type) in structures {
            let supported = self.supported(level, name, attributes.as_deref().unwrap_or_default())?;
            let attributes = attributes.or_else(|| self.limited(supported));
            all.extend(scopes.iter().map(|scope| Selection {
                scope: *scope,
                name: supported.name.clone(),
                key: supported.key.clone(),
                attributes: attributes.clone(),
                report_type,
            }));
            check_limit(all.len(), MAX_STRUCTURES)?;
        }
        Ok(all)
    }

    /// The attributes that a request for all of them selects; `None` if all support the service.
    fn limited(&self, supported: &SupportedStructure) -> Option<Vec<String>> {
        let of_service = supported.attributes.iter().filter(|attribute| (self.service)(attribute));
        let names: Vec<String> = of_service.map(|attribute| attribute.name.to_string()).collect();
        (names.len() < supported.attributes.len()).then_some(names)
    }

    fn supported(&self, level: ConfigLevel, name: &str, attributes: &[String]) -> Result<&SupportedStructure, Cause> {
        let supported =
            self.source.structures().iter().find(|supported| supported.level == level && supported.name == name);
        let supported = supported.ok_or_else(|| {
            debug!(structure = name, ?level, "structure not supported");
            INFORMATION_UNAVAILABLE
        })?;
        if !supported.attributes.iter().any(self.service) {
            debug!(structure = name, "no attribute supports this service");
            return Err(INFORMATION_UNAVAILABLE);
        }
        for attribute in attributes {
            if !supported.attributes.iter().any(|known| known.name == *attribute && (self.service)(known)) {
                debug!(structure = name, attribute, "attribute not supported");
                return Err(INFORMATION_UNAVAILABLE);
            }
        }
        Ok(supported)
    }
}
