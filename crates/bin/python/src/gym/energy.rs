//! Energy saving: cells are put to sleep and woken.

use e2sm::ccc::{CesManagementFunction, EnergySavingControl, RanConfigurationStructure};
use ferric::xapp::Error;
use ran::{Scenario, Stepped};

use super::controls::CellFunction;
use super::task::{Actions, Quantity, Task, invalid};

/// The most cells.
const MAX_CELLS: usize = 64;
/// The most that the rise and fall of traffic are shifted, in ms.
const MAX_SHIFT_MS: u64 = 20_000;
/// The cost of traffic that is not served, in relation to that of the full power of all cells.
const UNSERVED_COST: f64 = 5.0;

/// The task.
pub struct Energy {
    cells: usize,
    /// The power of all cells with full load, in W.
    full_load_w: f64,
    functions: Vec<CellFunction>,
    sleeping: Vec<bool>,
}

impl Energy {
    /// The task in a scenario of 2 to 64 NR cells with event A3.
    ///
    /// # Errors
    /// [`Error::Invalid`].
    pub fn new(scenario: &Scenario) -> Result<Self, Error> {
        let cells = scenario.cells.len();
        if !(2..=MAX_CELLS).contains(&cells) {
            return Err(invalid("scenario", format!("{cells} cells"), format!("2 to {MAX_CELLS} cells")));
        }
        if scenario.handover.a3_offset_db.is_none() {
            return Err(invalid("scenario", "no handovers", "handover.a3_offset_db"));
        }
        let full_load_w = scenario.cells.iter().map(|cell| cell.radio.power.full_load_w).sum();
        Ok(Energy { cells, full_load_w, functions: Vec::new(), sleeping: Vec::new() })
    }
}

impl Task for Energy {
    fn quantities(&self) -> Vec<Quantity> {
        let of = |cell: usize| {
            [
                Quantity::new(format!("cell {cell} RRU.PrbTotDl"), "%", 100.0),
                Quantity::new(format!("cell {cell} RRC.ConnMean"), "UEs", 1000.0),
                Quantity::new(format!("cell {cell} DRB.PdcpSduVolumeDL"), "Mbit/s", 10_000.0),
                Quantity::new(format!("cell {cell} DRB.RlcSduTransmittedVolumeDL"), "Mbit/s", 10_000.0),
                Quantity::new(format!("cell {cell} PEE.AvgPower"), "W", 1e6),
                Quantity::new(format!("cell {cell} is to sleep"), "0, 1", 1.0),
            ]
        };
        (0..self.cells).flat_map(of).collect()
    }

    fn actions(&self) -> Actions {
        Actions::Switches(self.cells)
    }

    /// The time at which traffic rises and falls is shifted.
    fn vary(&self, scenario: &mut Scenario) {
        let shift_ms = radio::Random::new(scenario.seed, u64::MAX - 1).next_u64() % MAX_SHIFT_MS;
        let shift = std::time::Duration::from_millis(shift_ms);
        let flows = scenario.ues.iter_mut().flat_map(|ue| &mut ue.flows).map(|flow| &mut flow.specification);
        for flow in flows.filter(|flow| flow.stop != radio::Time::NEVER) {
            (flow.start, flow.stop) = (flow.start + shift, flow.stop + shift);
        }
    }

    fn begin(&mut self, ran: &Stepped) -> Result<(), Error> {
        self.functions = CellFunction::of_cells(ran, "O-CESManagementFunction")?;
        self.sleeping = vec![false; self.cells];
        Ok(())
    }

    fn act(&mut self, ran: &mut Stepped, action: &[f64]) -> Result<(), Error> {
        for (cell, function) in self.functions.iter().enumerate() {
            let sleeps = action[cell] == 1.0;
            if sleeps != self.sleeping[cell] {
                let control = if sleeps {
                    EnergySavingControl::ToBeEnergySaving
                } else {
                    EnergySavingControl::ToBeNotEnergySaving
                };
                let saving = CesManagementFunction { energy_saving_control: Some(control), ..Default::default() };
                function.set(ran, [RanConfigurationStructure::CesManagementFunction(saving)])?;
                self.sleeping[cell] = sleeps;
            }
        }
        Ok(())
    }

    fn observe(&mut self, ran: &Stepped, seconds: f64, observation: &mut [f32]) -> f64 {
        let (mut offered, mut served, mut power_w) = (0.0, 0.0, 0.0);
        let rows = self.functions.iter().zip(&self.sleeping).zip(observation.chunks_exact_mut(6));
        for ((function, sleeps), row) in rows {
            let measure = |name| ran.measure(function.node, None, name).unwrap_or(0.0);
            let arrived_mbps = measure("DRB.PdcpSduVolumeDL") / 1e3 / seconds;
            let sent_mbps = measure("DRB.RlcSduTransmittedVolumeDL") / 1e3 / seconds;
            let cell_w = measure("PEE.AvgPower");
            (offered, served, power_w) = (offered + arrived_mbps, served + sent_mbps, power_w + cell_w);
            let (usage_percent, ues) = (measure("RRU.PrbTotDl"), measure("RRC.ConnMean"));
            let values = [usage_percent, ues, arrived_mbps, sent_mbps, cell_w, f64::from(u8::from(*sleeps))];
            row.iter_mut().zip(values).for_each(|(place, value)| *place = value as f32);
        }
        let unserved = if offered > 0.0 { (1.0 - served / offered).clamp(0.0, 1.0) } else { 0.0 };
        1.0 - power_w / self.full_load_w - UNSERVED_COST * unserved
    }
}
