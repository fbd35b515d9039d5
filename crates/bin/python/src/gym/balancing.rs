//! Load balancing: the borders of cells, moved by cell individual offsets; event A3 then hands UEs over.

use e2sm::ccc::{NrCellRelation, QOffsetRangeList, RanConfigurationStructure};
use ferric::xapp::Error;
use ran::{Scenario, Stepped};

use super::controls::CellFunction;
use super::task::{Actions, Quantity, Task, invalid};

/// The bias of a level of 1, in dB. The offset of two cells for each other is at most twice as large.
const MAX_BIAS_DB: f64 = 3.0;
/// The most cells.
const MAX_CELLS: usize = 64;
/// The cost of a radio link failure, as the part of a step's traffic.
const FAILURE_COST: f64 = 0.05;

/// The task.
pub struct Balancing {
    cells: usize,
    functions: Vec<CellFunction>,
    /// The bias of each cell in dB: UEs enter a cell with a higher one earlier and leave it later.
    biases_db: Vec<i8>,
    /// The radio link failures until the last step.
    failures: u64,
}

impl Balancing {
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
        Ok(Balancing { cells, functions: Vec::new(), biases_db: Vec::new(), failures: 0 })
    }

    fn failures(&self, ran: &Stepped) -> u64 {
        let network = ran.network();
        (0..self.cells).map(|cell| network.mobility_counts(cell).link_failures).sum()
    }
}

impl Task for Balancing {
    fn quantities(&self) -> Vec<Quantity> {
        let of = |cell: usize| {
            [
                Quantity::new(format!("cell {cell} RRU.PrbTotDl"), "%", 100.0),
                Quantity::new(format!("cell {cell} DRB.MeanActiveUeDl"), "UEs", 1000.0),
                Quantity::new(format!("cell {cell} DRB.PdcpSduVolumeDL"), "Mbit/s", 10_000.0),
                Quantity::new(format!("cell {cell} DRB.RlcSduTransmittedVolumeDL"), "Mbit/s", 10_000.0),
                Quantity { low: -3.0, ..Quantity::new(format!("cell {cell} bias"), "dB", 3.0) },
            ]
        };
        (0..self.cells).flat_map(of).collect()
    }

    fn actions(&self) -> Actions {
        Actions::Levels(self.cells)
    }

    /// The crowd, which the scenario puts into the first cell, is in one of the cells.
    fn vary(&self, scenario: &mut Scenario) {
        let crowd = radio::Random::new(scenario.seed, u64::MAX - 1).next_u64() as usize % self.cells;
        for ue in &mut scenario.ues {
            ue.cell = (ue.cell + crowd) % self.cells;
        }
    }

    fn begin(&mut self, ran: &Stepped) -> Result<(), Error> {
        self.functions = CellFunction::of_cells(ran, "O-NRCellRelation")?;
        self.biases_db = vec![0; self.cells];
        self.failures = self.failures(ran);
        Ok(())
    }

    fn act(&mut self, ran: &mut Stepped, action: &[f64]) -> Result<(), Error> {
        let wanted: Vec<i8> = action.iter().map(|level| (level * MAX_BIAS_DB).round() as i8).collect();
        for (cell, function) in self.functions.iter().enumerate() {
            let neighbours = (0..self.cells).filter(|neighbour| *neighbour != cell);
            let offset = |biases: &[i8], neighbour: usize| biases[neighbour] - biases[cell];
            let changed = neighbours
                .filter(|neighbour| offset(&wanted, *neighbour) != offset(&self.biases_db, *neighbour))
                .map(|neighbour| {
                    let rsrp_offset_ssb_db = Some(offset(&wanted, neighbour));
                    RanConfigurationStructure::NrCellRelation(NrCellRelation {
                        nr_tci: Some(self.functions[neighbour].cell.nr_cell_identity.value),
                        cell_individual_offset: Some(QOffsetRangeList { rsrp_offset_ssb_db, ..Default::default() }),
                        is_ho_allowed: None,
                    })
                });
            let changed: Vec<_> = changed.collect();
            if !changed.is_empty() {
                function.set(ran, changed)?;
            }
        }
        self.biases_db = wanted;
        Ok(())
    }

    fn observe(&mut self, ran: &Stepped, seconds: f64, observation: &mut [f32]) -> f64 {
        let (mut offered, mut served) = (0.0, 0.0);
        let rows = self.functions.iter().zip(&self.biases_db).zip(observation.chunks_exact_mut(5));
        for ((function, bias_db), row) in rows {
            let measure = |name| ran.measure(function.node, None, name).unwrap_or(0.0);
            let arrived_mbps = measure("DRB.PdcpSduVolumeDL") / 1e3 / seconds;
            let sent_mbps = measure("DRB.RlcSduTransmittedVolumeDL") / 1e3 / seconds;
            (offered, served) = (offered + arrived_mbps, served + sent_mbps);
            let usage_percent = measure("RRU.PrbTotDl");
            let values = [usage_percent, measure("DRB.MeanActiveUeDl"), arrived_mbps, sent_mbps, f64::from(*bias_db)];
            row.iter_mut().zip(values).for_each(|(place, value)| *place = value as f32);
        }
        let failures = self.failures(ran);
        let failed = failures - std::mem::replace(&mut self.failures, failures);
        let served = if offered > 0.0 { (served / offered).min(1.0) } else { 1.0 };
        served - FAILURE_COST * failed as f64
    }
}
