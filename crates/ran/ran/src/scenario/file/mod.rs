//! Scenario files. `docs/scenarios.md` lists all tables, keys and defaults.

mod carrier_aggregation;
mod cell;
mod channel;
mod deployment;
#[cfg(test)]
mod deployment_tests;
mod flow;
mod mobility;
mod places;
mod power;
mod site;
mod slices;
#[cfg(test)]
mod tests;
mod timeline;
mod traffic_control;
mod trajectory;
mod ue;

use std::num::NonZeroUsize;
use std::path::Path;
use std::time::Duration;

use settings::{Document, Error, Table, TableKeys};

use super::{MAX_CELLS, MAX_THREADS, MAX_UES, Scenario, ScenarioError};
use crate::profile::Profile;
use places::Places;
use timeline::Group;

/// The most flows of a UE.
pub const MAX_FLOWS: usize = 64;
/// The most tables of UEs, and entries of the timeline.
const MAX_TABLES: usize = 10_000;

const TOP: TableKeys = TableKeys {
    name: "the file",
    keys: &[
        "seed",
        "speed",
        "threads",
        "warm_up_s",
        "profile",
        "handover",
        "measurement",
        "carrier_aggregation",
        "link_failure",
        "random_access",
        "deployment",
        "cell",
        "ue",
        "at",
    ],
};

/// All tables of a scenario file.
#[cfg(test)]
const TABLES: [&TableKeys; 26] = [
    &TOP,
    &mobility::HANDOVER,
    &mobility::CONDITIONAL,
    &mobility::MEASUREMENT,
    &mobility::EVENT,
    &carrier_aggregation::CARRIER_AGGREGATION,
    &mobility::LINK_FAILURE,
    &mobility::RANDOM_ACCESS,
    &deployment::DEPLOYMENT,
    &cell::CELL,
    &cell::TDD,
    &cell::LTE_TDD,
    &cell::DRX,
    &cell::HARQ,
    &power::POWER,
    &cell::OUTER_LOOP,
    &cell::RLC,
    &traffic_control::TRAFFIC_CONTROL,
    &traffic_control::QUEUE,
    &traffic_control::FILTER,
    &traffic_control::PART,
    &slices::SLICE,
    &ue::UE,
    &trajectory::ROUTE,
    &flow::FLOW,
    &timeline::AT,
];

/// The folders of the files that a scenario refers to.
#[derive(Clone, Copy, Debug)]
pub struct ScenarioFolders<'f> {
    /// The folder of traces. Their names are relative to it.
    pub traces: &'f Path,
    /// The folder of traffic control plug-ins: see [`tc_plugin`].
    pub tc_plugins: &'f Path,
}

impl<'f> ScenarioFolders<'f> {
    /// Traces from `traces`, plug-ins from [`tc_plugin::DEFAULT_FOLDER`].
    #[must_use]
    pub fn with_traces(traces: &'f Path) -> Self {
        ScenarioFolders { traces, tc_plugins: Path::new(tc_plugin::DEFAULT_FOLDER) }
    }
}

impl Scenario {
    /// Parses the text of a scenario file.
    ///
    /// # Errors
    /// The first mistake, with its place.
    pub fn from_toml(text: &str, folders: &ScenarioFolders<'_>) -> Result<Scenario, Error> {
        let document = Document::parse(text)?;
        let top = document.root(&TOP)?;
        let mut scenario = Scenario { is_always_on: true, ..Scenario::default() };
        scenario.seed = top.integer("seed", 0..=i64::MAX)?.unwrap_or(scenario.seed);
        scenario.speed = top.number("speed", 0.001..=1000.0)?.unwrap_or(scenario.speed);
        if let Some(threads) = top.integer::<usize>("threads", 1..=MAX_THREADS as i64)? {
            scenario.threads = NonZeroUsize::new(threads).unwrap_or(NonZeroUsize::MIN);
        }
        scenario.warm_up = top.number("warm_up_s", 0.0..=3600.0)?.map_or(scenario.warm_up, Duration::from_secs_f64);
        let profiles: Vec<_> = Profile::all().iter().map(|profile| (profile.name, *profile)).collect();
        scenario.profile = top.choice("profile", &profiles)?.unwrap_or(scenario.profile);
        if let Some(table) = top.table("handover", &mobility::HANDOVER)? {
            scenario.handover = mobility::handover(&table)?;
        }
        if let Some(table) = top.table("measurement", &mobility::MEASUREMENT)? {
            scenario.measurement = mobility::measurement(&table)?;
        }
        if let Some(table) = top.table("link_failure", &mobility::LINK_FAILURE)? {
            scenario.handover.link = mobility::link_failure(&table)?;
        }
        if let Some(table) = top.table("random_access", &mobility::RANDOM_ACCESS)? {
            scenario.handover.access = mobility::random_access(&table)?;
        }
        if let Some(table) = top.table("carrier_aggregation", &carrier_aggregation::CARRIER_AGGREGATION)? {
            scenario.carrier_aggregation = carrier_aggregation::carrier_aggregation(&table)?;
        }
        let tables = top.tables("cell", &cell::CELL, MAX_CELLS)?;
        let environment = tables.first().map(site::environment).transpose()?.flatten();
        scenario.deployment = deployment::deployment(&top, environment)?;
        let layout = scenario.deployment.layout;
        if let [_, second, ..] = &tables[..]
            && layout.is_some()
        {
            return Err(second.invalid_table("one [[cell]] describes all cells of the preset of `deployment`"));
        }
        if tables.is_empty() {
            return Err(top.missing("cell", "at least one [[cell]] is required"));
        }
        for table in &tables {
            let cells = cell::cells(table, folders, layout, &scenario.cells)?;
            scenario.cells.extend(cells);
            if scenario.cells.len() > MAX_CELLS {
                return Err(table.invalid_table(ScenarioError::Cells));
            }
        }
        let groups = scenario.read_ues(&top, folders)?;
        scenario.read_timeline(&top, &groups)?;
        scenario.check().map_err(|error| locate(&top, &groups, error))?;
        Ok(scenario)
    }

    fn read_ues<'t>(&mut self, top: &Table<'t>, folders: &ScenarioFolders<'_>) -> Result<Vec<UeTable<'t>>, Error> {
        let mut ue_tables: Vec<UeTable<'_>> = Vec::new();
        let mut all = Vec::new();
        let places = Places::new(self);
        for (number, table) in top.tables("ue", &ue::UE, MAX_TABLES)?.into_iter().enumerate() {
            let first = all.len();
            all.extend(ue::ues(&table, folders, (self.seed, number), &places, MAX_UES - first)?);
            let name = table.text("name", "a name")?;
            if name.is_some() && ue_tables.iter().any(|ue_table| ue_table.group.name == name) {
                return Err(table.invalid("name", "name is used by another [[ue]]"));
            }
            ue_tables.push(UeTable { group: Group { name, ues: first..all.len() }, table });
        }
        self.ues = all;
        Ok(ue_tables)
    }

    fn read_timeline(&mut self, top: &Table<'_>, ue_tables: &[UeTable<'_>]) -> Result<(), Error> {
        let groups: Vec<&Group<'_>> = ue_tables.iter().map(|ue_table| &ue_table.group).collect();
        for table in top.tables("at", &timeline::AT, MAX_TABLES)? {
            timeline::entry(&table, self.cells.len(), &groups, &mut self.ues, &mut self.timeline)?;
        }
        // entries of the same time stay in the order of the file
        self.timeline.sort_by_key(|entry| entry.at);
        Ok(())
    }
}

/// A table of UEs, and the UEs that it has created.
struct UeTable<'t> {
    group: Group<'t>,
    table: Table<'t>,
}

/// Assigns a mistake that concerns the whole scenario to its table.
fn locate(top: &Table<'_>, ue_tables: &[UeTable<'_>], error: ScenarioError) -> Error {
    let ue = match error {
        ScenarioError::Place(ue, _)
        | ScenarioError::Mcs(ue, _)
        | ScenarioError::Geometry(ue, _)
        | ScenarioError::Flow(ue, _) => Some(ue),
        _ => None,
    };
    let table = ue.and_then(|ue| ue_tables.iter().find(|ue_table| ue_table.group.ues.contains(&ue)));
    let table = table.map_or(top, |ue_table| &ue_table.table);
    table.invalid_table(error)
}
