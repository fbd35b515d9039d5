//! What the model did in each step of a run.

use std::time::Duration;

use radio::phy::Direction;
use radio::{MobilityCounts, Network, PrbUsage};

use crate::statistics::mean;

/// A cell in one step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CellSample {
    /// The downlink PRBs that it used, of those that it has, in percent.
    pub load_percent: f64,
    /// The UEs connected at the end of the step.
    pub ues: usize,
    /// Its mean power in watts.
    pub power_w: f64,
    /// Whether it transmits at the end of the step.
    pub is_on_air: bool,
}

/// A run of a scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Recording {
    step: Duration,
    /// By step: the cells.
    pub cells: Vec<Vec<CellSample>>,
    /// By step: what each UE has received from its servers, in Mbit/s. UEs have the order of the scenario.
    pub mbps: Vec<Vec<f64>>,
    /// Connections and handovers in all cells and steps.
    pub mobility: MobilityCounts,
    before: Before,
}

/// The counters at the end of the last step.
#[derive(Clone, Debug, PartialEq)]
struct Before {
    usage: Vec<PrbUsage>,
    energy_j: Vec<f64>,
    octets: Vec<u64>,
    mobility: MobilityCounts,
}

impl Before {
    fn of(network: &Network) -> Self {
        let usage = (0..network.cells()).map(|cell| *network.cell(cell).usage(Direction::Downlink)).collect();
        let energy_j = (0..network.cells()).map(|cell| network.cell(cell).energy_j()).collect();
        let mut octets: Vec<u64> = Vec::new();
        for (ue, _) in network.ue_states() {
            let number = ue.number() as usize;
            octets.resize(octets.len().max(number + 1), 0);
            octets[number] = ue.flows().iter().map(|flow| flow.counts().downlink.received_octets).sum();
        }
        let mut mobility = MobilityCounts::default();
        (0..network.cells()).for_each(|cell| mobility += *network.mobility_counts(cell));
        Before { usage, energy_j, octets, mobility }
    }
}

impl Recording {
    /// Begins to record steps of that length.
    pub fn new(network: &Network, step: Duration) -> Self {
        let (cells, mbps, mobility) = (Vec::new(), Vec::new(), MobilityCounts::default());
        Recording { step, cells, mbps, mobility, before: Before::of(network) }
    }

    /// Records a step that has ended.
    pub fn add(&mut self, network: &Network) {
        let now = Before::of(network);
        let cell = |(number, usage): (usize, &PrbUsage)| CellSample {
            load_percent: 100.0 * usage.since(&self.before.usage[number]).used_share(),
            ues: network.cell(number).ue_count(),
            power_w: (now.energy_j[number] - self.before.energy_j[number]) / self.step.as_secs_f64(),
            is_on_air: network.cell(number).is_on_air(),
        };
        self.cells.push(now.usage.iter().enumerate().map(cell).collect());
        let mbit = 8e-6 / self.step.as_secs_f64();
        let before = |ue: usize| self.before.octets.get(ue).copied().unwrap_or(0);
        // a UE that has left has no more octets than before
        let rate = |(ue, octets): (usize, &u64)| octets.saturating_sub(before(ue)) as f64 * mbit;
        self.mbps.push(now.octets.iter().enumerate().map(rate).collect());
        self.mobility += now.mobility.since(&self.before.mobility);
        self.before = now;
    }

    /// The time at the end of each step, in seconds.
    pub fn times_s(&self) -> impl Iterator<Item = f64> + '_ {
        (1..=self.cells.len()).map(|step| step as f64 * self.step.as_secs_f64())
    }

    /// The first step of the second half, which is evaluated: the xApp has had its effect.
    fn second_half(&self) -> usize {
        self.cells.len() / 2
    }

    /// The mean of what each UE received in the second half, in Mbit/s.
    pub fn ue_mbps(&self) -> Vec<f64> {
        let steps = &self.mbps[self.second_half()..];
        let ues = steps.iter().map(Vec::len).max().unwrap_or(0);
        let mean = |ue: usize| steps.iter().filter_map(|step| step.get(ue)).sum::<f64>() / steps.len().max(1) as f64;
        (0..ues).map(mean).collect()
    }

    /// The mean load of each cell in the second half, in percent.
    pub fn cell_loads_percent(&self) -> Vec<f64> {
        let steps = &self.cells[self.second_half()..];
        let cells = steps.first().map_or(0, Vec::len);
        let mean = |cell: usize| steps.iter().map(|step| step[cell].load_percent).sum::<f64>() / steps.len() as f64;
        (0..cells).map(mean).collect()
    }

    /// The mean of a value of the cells in the second half.
    pub fn mean_of_cells(&self, value: impl Fn(&[CellSample]) -> f64) -> f64 {
        mean(&self.cells[self.second_half()..].iter().map(|cells| value(cells)).collect::<Vec<_>>())
    }
}
