//! An action that is set up: what it watches, what it tells, and what it told last.

use std::time::Duration;

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
use ferric::e2ap::{Cause, CauseProtocol, CauseRicRequest, RicActionId, RicActionType};
use tracing::debug;

use super::{CccConfig, CccSource, ConfigLevel, ConfigScope, SupportedStructure};

const NOT_SUPPORTED: Cause = Cause::RicRequest(CauseRicRequest::ActionNotSupported);
const NOT_AVAILABLE: Cause = Cause::RicRequest(CauseRicRequest::RequestedInformationUnavailable);
const TRIGGER_NOT_SUPPORTED: Cause = Cause::RicRequest(CauseRicRequest::EventTriggerNotSupported);
const TOO_MUCH: Cause = Cause::RicRequest(CauseRicRequest::FunctionResourceLimit);
const SEMANTIC: Cause = Cause::Protocol(CauseProtocol::SemanticError);
const SYNTAX: Cause = Cause::Protocol(CauseProtocol::TransferSyntaxError);

/// Structures that one action may watch or tell, over all its cells.
const MAX_STRUCTURES: usize = 256;

/// When an action reports.
#[derive(Clone, Debug)]
pub(super) enum Trigger {
    /// When one of these changes.
    Change(Vec<Watched>),
    /// Each time that many milliseconds have passed.
    PeriodMs(u32),
}

/// A structure at a place, and what of it matters.
#[derive(Clone, Debug)]
pub(super) struct Watched {
    place: ConfigScope,
    name: &'static str,
    key: &'static [&'static str],
    /// None: all.
    attributes: Option<Vec<String>>,
    report_type: ReportType,
}

/// The structures of each watched, as they once were.
type Snapshot = Vec<Vec<RanConfigurationStructure>>;

/// An action that is set up.
pub(super) struct Action {
    pub key: RequestKey,
    pub id: RicActionId,
    level: ConfigLevel,
    trigger: Trigger,
    wanted: Vec<Watched>,
    /// What the trigger's structures were when it was last looked at.
    watched: Snapshot,
    /// What was told last.
    told: Snapshot,
    /// When it reports whatever happens: at first, and by the period.
    pub due: Option<Time>,
    is_new: bool,
}

impl Trigger {
    pub fn new<S: CccSource>(source: &S, config: &CccConfig, bytes: &[u8]) -> Result<Self, Cause> {
        let definition = EventTriggerDefinition::decode(bytes).map_err(|error| {
            debug!(%error, "event trigger definition");
            SYNTAX
        })?;
        let check = Check { source };
        let all = |structures: &[StructureForEventTrigger], level, cell| {
            check.watched(structures.iter().map(trigger_parts), level, cell)
        };
        let watched = match &definition.format {
            EventTriggerDefinitionFormat::PeriodMs(period_ms) if *period_ms < config.min_period_ms => {
                return Err(TRIGGER_NOT_SUPPORTED);
            }
            EventTriggerDefinitionFormat::PeriodMs(period_ms) => return Ok(Trigger::PeriodMs(*period_ms)),
            EventTriggerDefinitionFormat::NodeLevelChange(structures) => all(structures, ConfigLevel::Node, None)?,
            EventTriggerDefinitionFormat::CellLevelChange(cells) => {
                let each = cells.iter().map(|cell| all(&cell.structures, ConfigLevel::Cell, cell.cell_global_id));
                each.collect::<Result<Vec<_>, _>>()?.concat()
            }
        };
        at_most(watched.len(), MAX_STRUCTURES)?;
        Ok(Trigger::Change(watched))
    }
}

impl Action {
    /// Checks what is wanted. The first report comes at once.
    pub fn new<S: CccSource>(
        now: Time,
        source: &S,
        trigger: &Trigger,
        key: RequestKey,
        wanted: &e2::Action,
    ) -> Result<Self, Cause> {
        let definition = match &wanted.definition {
            _ if wanted.kind != RicActionType::Report => return Err(NOT_SUPPORTED),
            None => return Err(SEMANTIC),
            Some(bytes) => ActionDefinition::decode(bytes).map_err(|error| {
                debug!(%error, "action definition");
                SYNTAX
            })?,
        };
        let check = Check { source };
        let all = |structures: &[StructureForAction], level, cell| {
            check.watched(structures.iter().map(action_parts), level, cell)
        };
        let (level, structures) = match &definition.format {
            ActionDefinitionFormat::NodeLevel(structures) => {
                (ConfigLevel::Node, all(structures, ConfigLevel::Node, None)?)
            }
            ActionDefinitionFormat::CellLevel(cells) => {
                let each = cells.iter().map(|cell| all(&cell.structures, ConfigLevel::Cell, cell.cell_global_id));
                (ConfigLevel::Cell, each.collect::<Result<Vec<_>, _>>()?.concat())
            }
        };
        if definition.ric_style_type != level.number() {
            let known =
                [ConfigLevel::Node, ConfigLevel::Cell].iter().any(|level| definition.ric_style_type == level.number());
            return Err(if known { SEMANTIC } else { NOT_SUPPORTED });
        }
        at_most(structures.len(), MAX_STRUCTURES)?;
        let watched = match trigger {
            Trigger::Change(watched) => snapshot(source, watched),
            Trigger::PeriodMs(_) => Vec::new(),
        };
        Ok(Action {
            key,
            id: wanted.id,
            level,
            trigger: trigger.clone(),
            told: Vec::new(),
            wanted: structures,
            watched,
            due: Some(now),
            is_new: true,
        })
    }

    pub fn is_by_change(&self) -> bool {
        matches!(self.trigger, Trigger::Change(_))
    }

    /// What is to be told now, and reason; `changed` says that something of the source has changed.
    pub fn report<S: CccSource>(
        &mut self,
        now: Time,
        source: &S,
        changed: bool,
    ) -> Option<(IndicationReason, IndicationMessage)> {
        let is_due = self.due.is_some_and(|due| due <= now);
        let has_changed = changed && self.has_changed(source);
        let reason = match self.trigger {
            _ if self.is_new && is_due => IndicationReason::UponSubscription,
            Trigger::PeriodMs(_) if is_due => IndicationReason::Periodic,
            Trigger::Change(_) if has_changed => IndicationReason::UponChange,
            _ => return None,
        };
        self.next(now);
        let current = snapshot(source, &self.wanted);
        let told = std::mem::replace(&mut self.told, current);
        let first = std::mem::take(&mut self.is_new);
        let message = self.message(if first { None } else { Some(&told) })?;
        Some((reason, message))
    }

    /// Whether what the trigger watches is another than when it was last looked at.
    fn has_changed<S: CccSource>(&mut self, source: &S) -> bool {
        let Trigger::Change(watched) = &self.trigger else { return false };
        let current = snapshot(source, watched);
        let has_changed = current != self.watched;
        self.watched = current;
        has_changed
    }

    /// Sets the next deadline; one that was missed altogether is passed over.
    fn next(&mut self, now: Time) {
        self.due = match (self.due, &self.trigger) {
            (Some(due), Trigger::PeriodMs(period_ms)) => {
                let period = Duration::from_millis(u64::from(*period_ms));
                let missed = (now - due).as_nanos() / period.as_nanos().max(1);
                let missed = u32::try_from(missed).unwrap_or(u32::MAX);
                Some(due + period.saturating_mul(missed.saturating_add(1)))
            }
            _ => None,
        };
    }

    /// What is there, against what was told before.
    fn message(&self, before: Option<&Snapshot>) -> Option<IndicationMessage> {
        let mut node = Vec::new();
        let mut cells: Vec<CellReported> = Vec::new();
        for (at, (watched, current)) in self.wanted.iter().zip(&self.told).enumerate() {
            let before = before.map(|before| before.get(at).map_or(&[][..], Vec::as_slice));
            let structures = watched.differences(before, current);
            match watched.place {
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
        // a list cannot be empty: where there is nothing to tell, nothing is sent
        let format = match self.level {
            ConfigLevel::Node if node.is_empty() => return None,
            ConfigLevel::Cell if cells.is_empty() => return None,
            ConfigLevel::Node => IndicationMessageFormat::NodeLevel(node),
            ConfigLevel::Cell => IndicationMessageFormat::CellLevel(cells),
        };
        Some(IndicationMessage { format })
    }
}

impl Watched {
    fn matters(&self, attribute: &str) -> bool {
        self.attributes.as_ref().is_none_or(|wanted| wanted.iter().any(|name| name == attribute))
            || self.key.contains(&attribute)
    }

    /// Whether two structures are the same one at different times.
    fn is_same(&self, a: &RanConfigurationStructure, b: &RanConfigurationStructure) -> bool {
        let is_key = |name: &str| self.key.contains(&name);
        a.only(is_key) == b.only(is_key)
    }

    /// What is told of the structures; `before` is what they were, if that was told.
    fn differences(
        &self,
        before: Option<&[RanConfigurationStructure]>,
        current: &[RanConfigurationStructure],
    ) -> Vec<StructureReported> {
        let told = |change_type, values: &RanConfigurationStructure| StructureReported {
            change_type,
            values: values.clone(),
            old_values: None,
        };
        let Some(before) = before else {
            return current.iter().map(|structure| told(ChangeType::None, structure)).collect();
        };
        let mut all = Vec::new();
        for new in current {
            match before.iter().find(|old| self.is_same(old, new)) {
                None => all.push(told(ChangeType::Addition, new)),
                Some(old) if old == new && self.report_type == ReportType::All => all.push(told(ChangeType::None, new)),
                Some(old) if old == new => {}
                Some(old) => {
                    let (were, are) = (old.attributes(), new.attributes());
                    let differs = |name: &str| were.get(name) != are.get(name) || self.key.contains(&name);
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
        let gone = before.iter().filter(|old| !current.iter().any(|new| self.is_same(old, new)));
        all.extend(gone.map(|old| told(ChangeType::Deletion, old)));
        all
    }
}

/// Answers a query.
pub(super) fn query<S: CccSource>(source: &S, header: &[u8], definition: &[u8]) -> Result<QueryOutcome, Cause> {
    let unreadable = |error| {
        debug!(%error, "a query cannot be read");
        SYNTAX
    };
    let header = QueryHeader::decode(header).map_err(unreadable)?;
    let definition = QueryDefinition::decode(definition).map_err(unreadable)?;
    let check = Check { source };
    let all =
        |structures: &[StructureForQuery], level, cell| check.watched(structures.iter().map(query_parts), level, cell);
    let (level, wanted) = match &definition.format {
        QueryDefinitionFormat::NodeLevel(structures) => (ConfigLevel::Node, all(structures, ConfigLevel::Node, None)?),
        QueryDefinitionFormat::CellLevel(cells) => {
            let each = cells.iter().map(|cell| all(&cell.structures, ConfigLevel::Cell, cell.cell_global_id));
            (ConfigLevel::Cell, each.collect::<Result<Vec<_>, _>>()?.concat())
        }
    };
    if header.format.ric_style_type != level.number() {
        return Err(SEMANTIC);
    }
    at_most(wanted.len(), MAX_STRUCTURES)?;
    let (mut node, mut cells): (Vec<StructureQueried>, Vec<CellQueried>) = (Vec::new(), Vec::new());
    for (watched, structures) in wanted.iter().zip(snapshot(source, &wanted)) {
        let structures = structures.into_iter().map(StructureQueried);
        match watched.place {
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
        ConfigLevel::Node if node.is_empty() => Err(NOT_AVAILABLE),
        ConfigLevel::Cell if cells.is_empty() => Err(NOT_AVAILABLE),
        ConfigLevel::Node => Ok(QueryOutcome { format: QueryOutcomeFormat::NodeLevel(node) }),
        ConfigLevel::Cell => Ok(QueryOutcome { format: QueryOutcomeFormat::CellLevel(cells) }),
    }
}

fn snapshot<S: CccSource>(source: &S, all: &[Watched]) -> Snapshot {
    let read = |watched: &Watched| {
        let structures = source.read(watched.place, watched.name);
        structures.iter().map(|structure| structure.only(|name| watched.matters(name))).collect()
    };
    all.iter().map(read).collect()
}

fn at_most(count: usize, bound: usize) -> Result<(), Cause> {
    if count > bound { Err(TOO_MUCH) } else { Ok(()) }
}

/// Name, attributes and report type of a structure that is asked for.
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

/// What a subscription or a query is checked against.
struct Check<'s, S> {
    source: &'s S,
}

impl<S: CccSource> Check<'_, S> {
    /// The structures that are asked for, at each place that is meant.
    fn watched<'d>(
        &self,
        structures: impl Iterator<Item = Parts<'d>>,
        level: ConfigLevel,
        cell: Option<Cgi>,
    ) -> Result<Vec<Watched>, Cause> {
        let places = match (level, cell) {
            (ConfigLevel::Node, _) => vec![ConfigScope::Node],
            (ConfigLevel::Cell, None) => self.source.cells().into_iter().map(ConfigScope::Cell).collect(),
            (ConfigLevel::Cell, Some(cell)) if self.source.cells().contains(&cell) => vec![ConfigScope::Cell(cell)],
            (ConfigLevel::Cell, Some(cell)) => {
                debug!(?cell, "no such cell");
                return Err(NOT_AVAILABLE);
            }
        };
        let mut all = Vec::new();
        for (name, attributes, report_type) in structures {
            let offer = self.offer(level, name, attributes.as_deref().unwrap_or_default())?;
            let (name, key) = (offer.name, offer.key);
            all.extend(places.iter().map(|place| Watched {
                place: *place,
                name,
                key,
                attributes: attributes.clone(),
                report_type,
            }));
            at_most(all.len(), MAX_STRUCTURES)?;
        }
        Ok(all)
    }

    fn offer(&self, level: ConfigLevel, name: &str, attributes: &[String]) -> Result<&SupportedStructure, Cause> {
        let offer = self.source.structures().iter().find(|offer| offer.level == level && offer.name == name);
        let offer = offer.ok_or_else(|| {
            debug!(structure = name, ?level, "no such structure");
            NOT_AVAILABLE
        })?;
        for attribute in attributes {
            if !offer.attributes.iter().any(|offered| offered.name == attribute) {
                debug!(structure = name, attribute, "no such attribute");
                return Err(NOT_AVAILABLE);
            }
        }
        Ok(offer)
    }
}
