//! The keys of `[[ue]]` for its cell and place.

use std::cell::OnceCell;

use radio::Random;
use radio::phy::{Building, Deployment, DeploymentScenario as Environment, Indoors};

use crate::scenario::{ChannelScenario, Scenario};
use settings::{Error, Table};

/// The random stream of the places of the first table's UEs.
const FIRST_PLACE_STREAM: u64 = 1 << 61;

/// The cells and sites among which UEs are placed.
pub struct Places<'s> {
    scenario: &'s Scenario,
    deployment: OnceCell<Option<Deployment>>,
}

/// The initial cell of UEs.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Cell {
    Number(usize),
    All,
    Strongest,
}

/// Chooses cell and place of each UE of a table.
pub struct Choice<'p> {
    places: &'p Places<'p>,
    cell: Cell,
    /// The probability of a UE to be in a building, and the kind of building.
    indoors: Option<(f64, Building)>,
    random: Random,
}

impl<'s> Places<'s> {
    pub fn new(scenario: &'s Scenario) -> Self {
        Places { scenario, deployment: OnceCell::new() }
    }

    pub fn cells(&self) -> usize {
        self.scenario.cells.len()
    }

    /// The sites, unless the scenario is invalid, which its check will report.
    fn deployment(&self) -> Option<&Deployment> {
        self.deployment.get_or_init(|| self.scenario.sites().ok()).as_ref()
    }

    /// Reads the cell of a table's UEs.
    pub fn choice(
        &self,
        table: &Table<'_>,
        channel: Option<&ChannelScenario>,
        (seed, number): (u64, usize),
    ) -> Result<Choice<'_>, Error> {
        let is_drawn = self.scenario.deployment.layout.is_some();
        let (is_geometry, has_position) = match channel {
            Some(ChannelScenario::Geometry { position, .. }) => (true, position.is_some()),
            Some(ChannelScenario::Track { .. }) => (true, true),
            _ => (false, false),
        };
        let is_track = matches!(channel, Some(ChannelScenario::Track { .. }));
        let words = [("all", Cell::All), ("strongest", Cell::Strongest)];
        let cell = match table.is_text("cell") {
            true => table.choice("cell", &words)?,
            false => table.integer("cell", 0..=self.cells() as i64 - 1)?.map(Cell::Number),
        };
        if cell == Some(Cell::Strongest) && !(is_geometry && (is_drawn || has_position)) {
            return Err(table.invalid("cell", "\"strongest\" requires a position, or a preset of `deployment`"));
        }
        if table.contains("per_cell") && matches!(cell, Some(Cell::Number(_))) {
            return Err(table.invalid("cell", "excludes `per_cell`, whose UEs are in all cells"));
        }
        let default = match (is_drawn && is_geometry || is_track, table.contains("per_cell")) {
            (true, _) => Cell::Strongest,
            (false, true) => Cell::All,
            (false, false) => Cell::Number(0),
        };
        let random = Random::new(seed, FIRST_PLACE_STREAM + number as u64);
        Ok(Choice { places: self, cell: cell.unwrap_or(default), indoors: self.indoors(table)?, random })
    }

    /// Reads how many UEs are in buildings.
    fn indoors(&self, table: &Table<'_>) -> Result<Option<(f64, Building)>, Error> {
        let percent = table.number("indoor_percent", 0.0..=100.0)?;
        let words = [("low-loss", Building::LowLoss), ("high-loss", Building::HighLoss)];
        let building = table.choice("building", &words)?;
        let Some(percent) = percent else {
            return match building {
                Some(_) => Err(table.missing("indoor_percent", "`building` requires it")),
                None => Ok(None),
            };
        };
        let is_office = |environment| matches!(environment, Environment::IndoorOpen | Environment::IndoorMixed);
        if self.scenario.cells.iter().any(|cell| is_office(cell.site.propagation.scenario)) {
            return Err(table.invalid("indoor_percent", "the sites of an office are in the building themselves"));
        }
        Ok(Some((percent / 100.0, building.unwrap_or_default())))
    }
}

impl Choice<'_> {
    /// The cell and the channel of the `at`th UE of the table.
    pub fn next(&mut self, at: usize, mut channel: ChannelScenario) -> (usize, ChannelScenario) {
        let scenario = self.places.scenario;
        if let (ChannelScenario::Geometry { position: position @ None, .. }, Some(layout)) =
            (&mut channel, scenario.deployment.layout)
        {
            *position = Some(layout.place(at, scenario.deployment.min_distance_m, &mut self.random));
        }
        if let (Some((share, building)), ChannelScenario::Geometry { radio, .. } | ChannelScenario::Track { radio, .. }) =
            (self.indoors, &mut channel)
            && self.random.uniform() < share
        {
            // the smaller of two uniform ways (TR 38.901 7.4.3.1)
            let is_rural = scenario.cells[0].site.propagation.scenario == Environment::RuralMacro;
            let [one, other] = [(); 2].map(|()| self.random.uniform() * if is_rural { 10.0 } else { 25.0 });
            radio.indoors = Some(Indoors { building, depth_m: one.min(other), deviation: self.random.normal() });
        }
        let place = match &channel {
            ChannelScenario::Geometry { position: Some(position), radio, .. } => Some((*position, radio)),
            ChannelScenario::Track { track, radio } => Some((track.start(), radio)),
            _ => None,
        };
        let cell = match (self.cell, place) {
            (Cell::Number(cell), _) => cell,
            (Cell::Strongest, Some((position, radio))) => {
                let strongest = self.places.deployment().and_then(|sites| sites.strongest_site(position, radio));
                strongest.unwrap_or(0)
            }
            _ => at % self.places.cells(),
        };
        (cell, channel)
    }
}
