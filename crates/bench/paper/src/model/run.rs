//! A running scenario, and what checks read of it.

use std::path::Path;

use anyhow::Context;
use radio::mac::Reservation;
use radio::phy::Direction;
use radio::{Cell, Network, Slicing, Time, Ue, UeCounts};
use ran::Scenario;
use ran::scenario::{Model, ScenarioFolders};

/// How long checks measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// As long as the tolerances were chosen for.
    Full,
    /// A fifth of it.
    Quick,
}

impl Length {
    /// The length of a measurement that takes `seconds` in full.
    pub fn of(self, seconds: f64) -> f64 {
        match self {
            Length::Full => seconds,
            Length::Quick => seconds / 5.0,
        }
    }
}

/// A scenario, given as the text of its file.
pub fn scenario(text: &str) -> anyhow::Result<Scenario> {
    let folders = ScenarioFolders::with_traces(Path::new("."));
    Scenario::from_toml(text, &folders).map_err(|error| anyhow::anyhow!("scenario: {error}"))
}

/// A running scenario.
pub struct Run {
    model: Model,
}

impl Run {
    /// Starts a scenario, given as the text of its file.
    pub fn new(text: &str) -> anyhow::Result<Run> {
        let mut model = Model::new(&scenario(text)?)?;
        // there is no node that would hand UEs over
        model.network.set_automatic_handover(true);
        Ok(Run { model })
    }

    /// Runs it for some seconds.
    pub fn advance(&mut self, seconds: f64) {
        let now = self.model.network.cell(0).now();
        self.model.advance(Time::from_secs_f64(now.as_secs_f64() + seconds));
    }

    /// Divides the downlink of cell 0 among NVS slices. UE 0 is in the first slice, UE 1 in the second, and so on.
    pub fn slice(&mut self, reservations: &[Reservation], is_shared: bool, ue_scheduler: &str) {
        let cell = self.model.network.cell_mut(0);
        let slicing = Slicing::Nvs { reservations: reservations.to_vec(), is_shared };
        cell.set_slicing(Direction::Downlink, slicing, &vec![ue_scheduler; reservations.len()], ue_scheduler);
        for (slice, place) in (0..reservations.len() as u32).zip(0..cell.ue_indices()) {
            cell.set_slice(place, Direction::Downlink, Some(slice));
        }
    }

    /// Orders the sleep of cell 0, or its end.
    pub fn save_energy(&mut self, is_ordered: bool) {
        self.model.network.cell_mut(0).set_energy_saving(is_ordered);
    }

    /// Sets the active transceivers of cell 0.
    pub fn mute(&mut self, active: u16) {
        self.model.network.cell_mut(0).set_active_transceivers(active);
    }

    /// The mean power of cell 0 in the next `seconds`, in W.
    pub fn mean_w(&mut self, seconds: f64) -> f64 {
        let (before_j, from) = (self.cell(0).energy_j(), self.cell(0).now());
        self.advance(seconds);
        (self.cell(0).energy_j() - before_j) / self.cell(0).now().since(from).as_secs_f64()
    }

    pub fn network(&self) -> &Network {
        &self.model.network
    }

    pub fn cell(&self, cell: usize) -> &Cell {
        self.model.network.cell(cell)
    }

    /// The cell and the index of a UE, counted in the order of the scenario; `None` between two cells.
    pub fn find(&self, number: u64) -> Option<(usize, usize)> {
        let place = |cell| self.cell(cell).ues().find(|(_, ue)| ue.number() == number).map(|(place, _)| (cell, place));
        (0..self.network().cells()).find_map(place)
    }

    pub fn ue(&self, number: u64) -> anyhow::Result<&Ue> {
        let (cell, place) = self.find(number).with_context(|| format!("UE {number} is in no cell"))?;
        self.cell(cell).ue(place).with_context(|| format!("UE {number} has left"))
    }

    pub fn counts(&self, number: u64) -> anyhow::Result<UeCounts> {
        let (cell, place) = self.find(number).with_context(|| format!("UE {number} is in no cell"))?;
        self.cell(cell).counts(place).with_context(|| format!("UE {number} has no counters"))
    }

    /// The octets of new transport blocks that each of the first `ues` UEs receives in the next `seconds`.
    pub fn octets_during(&mut self, seconds: f64, ues: u64) -> anyhow::Result<Vec<f64>> {
        let read = |run: &Run| -> anyhow::Result<Vec<f64>> {
            (0..ues).map(|ue| Ok(run.counts(ue)?.dl.block_octets as f64)).collect()
        };
        let before = read(self)?;
        self.advance(seconds);
        Ok(read(self)?.iter().zip(before).map(|(after, before)| after - before).collect())
    }

    /// What cell 0 carries in the downlink at an MCS, in Mbit/s.
    pub fn capacity_mbps(&self, mcs: u8) -> f64 {
        let (grid, blocks) = (self.cell(0).grid(), self.cell(0).blocks(Direction::Downlink));
        let pattern = grid.pattern();
        let octets: u32 = pattern.iter().map(|(down, _)| blocks.octets(mcs, blocks.prbs(), *down)).sum();
        f64::from(octets) * 8.0 / 1e6 / (pattern.len() as f64 * grid.slot().as_secs_f64())
    }

    /// The rate of new transport blocks of a UE in the next `seconds`, in Mbit/s.
    pub fn rate_mbps(&mut self, seconds: f64, ue: u64, direction: Direction) -> anyhow::Result<f64> {
        let octets = |counts: UeCounts| match direction {
            Direction::Downlink => counts.dl.block_octets,
            Direction::Uplink => counts.ul.block_octets,
        };
        let before = octets(self.counts(ue)?);
        let from = self.cell(0).now();
        self.advance(seconds);
        let seconds = self.cell(0).now().since(from).as_secs_f64();
        Ok((octets(self.counts(ue)?) - before) as f64 * 8.0 / 1e6 / seconds)
    }
}

/// The first share of some values in percent.
pub fn first_percent(values: &[f64]) -> f64 {
    100.0 * values.first().copied().unwrap_or(f64::NAN) / values.iter().sum::<f64>()
}
