//! The keys of `[[ue]]` for its cell and place.

use std::cell::OnceCell;

use radio::Random;
use radio::phy::{Deployment, UeRadio};

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
        self.deployment.get_or_init(|| self.scenario.sites().ok()?.ok()).as_ref()
    }

    /// Reads the cell of a table's UEs.
    pub fn choice(
        &self,
        table: &Table<'_>,
        channel: &ChannelScenario,
        (seed, number): (u64, usize),
    ) -> Result<Choice<'_>, Error> {
        let is_drawn = self.scenario.deployment.layout.is_some();
        let is_geometry = matches!(channel, ChannelScenario::Geometry { .. });
        let has_position = matches!(channel, ChannelScenario::Geometry { position: Some(_), .. });
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
        let default = match (is_drawn && is_geometry, table.contains("per_cell")) {
            (true, _) => Cell::Strongest,
            (false, true) => Cell::All,
            (false, false) => Cell::Number(0),
        };
        let random = Random::new(seed, FIRST_PLACE_STREAM + number as u64);
        Ok(Choice { places: self, cell: cell.unwrap_or(default), random })
    }
}

impl Choice<'_> {
    /// The cell and the channel of the `at`th UE of the table.
    pub fn next(&mut self, at: usize, channel: &ChannelScenario) -> (usize, ChannelScenario) {
        let mut channel = channel.clone();
        let deployment = &self.places.scenario.deployment;
        if let (ChannelScenario::Geometry { position: position @ None, .. }, Some(layout)) =
            (&mut channel, deployment.layout)
        {
            *position = Some(layout.place(at, deployment.min_distance_m, &mut self.random));
        }
        let cell = match (self.cell, &channel) {
            (Cell::Number(cell), _) => cell,
            (Cell::Strongest, ChannelScenario::Geometry { position: Some(position), .. }) => {
                let height_m = UeRadio::default().height_m;
                let strongest = self.places.deployment().and_then(|sites| sites.strongest_site(*position, height_m));
                strongest.unwrap_or(0)
            }
            _ => at % self.places.cells(),
        };
        (cell, channel)
    }
}
