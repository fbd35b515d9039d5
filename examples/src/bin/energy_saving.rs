//! An xApp that saves energy: it puts cells to sleep while the others cover their UEs and can carry their load, and wakes cells when
//! one is overloaded or a UE is badly covered (E2SM-CCC, O-CESManagementFunction). Load and power come from E2SM-KPM, what UEs receive
//! of which cell from their measurement reports (E2SM-RC report style 1).
//!
//! `cargo run -p ferric-examples --bin energy_saving -- tcp://127.0.0.1:36423`, with `ferric ric` and
//! `ferric ran --scenario examples/scenarios/energy-saving.toml` running

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use e2sm::ccc::{CesManagementFunction, EnergySavingControl, RanConfigurationStructure};
use ferric::xapp::{CellId, Error, Record, Ric, UeReference};
use use_cases::PeriodicXapp;
use use_cases::coverage::Coverage;
use use_cases::periods::Periods;

/// A cell with more load needs help, in percent of its PRBs.
const BUSY_PERCENT: f64 = 60.0;
/// The largest load that a cell may have, by the prediction, after others have fallen asleep.
const TARGET_PERCENT: f64 = 40.0;
/// The fewest cells that stay on.
const LEAST_ON: usize = 3;
/// The most cells that fall asleep in a period: the target of many handovers answers one random access after the other.
const MOST_SLEEPERS: usize = 2;
/// The weakest cell that covers a UE, and the threshold of a UE that needs another cell (as event A2).
const LEAST_RSRP_DBM: f64 = -118.0;
const WEAK_RSRP_DBM: f64 = -121.0;
/// The lowest SINR in a cell that covers a UE, and that of a UE that needs another cell, if all other cells transmit in all resource
/// blocks: Qin and Qout, at which a link is in sync again and out of sync (TR 36.839 5.2).
const LEAST_SINR_DB: f64 = -6.0;
const WEAK_SINR_DB: f64 = -8.0;
/// How much stronger a sleeping cell must have been that wakes up for such a UE: by the offset of event A3.
const WAKE_GAIN_DB: f64 = 3.0;
/// How much stronger a cell must be, and how many points of load it must have less, that gets a UE of a busy cell.
const LEAST_GAIN_DB: f64 = 1.0;
const LEAST_POINTS: f64 = 10.0;
/// Noise in a resource element of 30 kHz: -174 dBm/Hz and a noise figure of 9 dB.
const NOISE_DBM: f64 = -120.0;
/// The highest spectral efficiency, in bits per symbol: MCS 28 of 64QAM (TS 38.214 table 5.1.3.1-1).
const HIGHEST_EFFICIENCY: f64 = 5.55;
/// How long a handover of a UE that is between two cells waits for it.
const PATIENCE: Duration = Duration::from_secs(1);
const LOAD: &str = "RRU.PrbTotDl";
const POWER: &str = "PEE.AvgPower";
const UES: &str = "RRC.ConnMean";

/// A UE: its serving cell, and the power that it receives of cells in dBm; of those that sleep, before they fell asleep.
#[derive(Clone, Debug, PartialEq)]
pub struct UeState {
    /// The serving cell.
    pub serving: CellId,
    /// The power by cell.
    pub rsrp_dbm: BTreeMap<CellId, f64>,
}

fn mw(dbm: f64) -> f64 {
    10_f64.powf(dbm / 10.0)
}

impl UeState {
    /// The strongest of these cells.
    fn strongest(&self, on: &BTreeSet<CellId>) -> Option<CellId> {
        let received = self.rsrp_dbm.iter().filter(|(cell, _)| on.contains(cell));
        received.max_by(|(_, one), (_, other)| one.total_cmp(other)).map(|(cell, _)| *cell)
    }

    /// The SINR in a cell while all others of these cells transmit in all resource blocks; `None` if the UE does not receive it.
    fn full_load_sinr_db(&self, cell: CellId, on: &BTreeSet<CellId>) -> Option<f64> {
        let others = self.rsrp_dbm.iter().filter(|(other, _)| on.contains(other) && **other != cell);
        let disturbance = mw(NOISE_DBM) + others.map(|(_, dbm)| mw(*dbm)).sum::<f64>();
        Some(self.rsrp_dbm.get(&cell)? - 10.0 * disturbance.log10())
    }

    /// Whether a cell covers the UE, whatever load the others have.
    fn is_covered(&self, cell: CellId, on: &BTreeSet<CellId>) -> bool {
        self.rsrp_dbm.get(&cell).is_some_and(|dbm| *dbm >= LEAST_RSRP_DBM)
            && self.full_load_sinr_db(cell, on).is_some_and(|db| db >= LEAST_SINR_DB)
    }

    /// Bits per symbol in a cell while all others transmit: Shannon's limit, up to the highest MCS. Of a cell that the UE has not
    /// measured, that of the weakest one that would cover it.
    fn efficiency(&self, cell: CellId, on: &BTreeSet<CellId>) -> f64 {
        let sinr_db = self.full_load_sinr_db(cell, on).unwrap_or(LEAST_SINR_DB);
        (1.0 + mw(sinr_db)).log2().min(HIGHEST_EFFICIENCY)
    }
}

/// An order.
#[derive(Clone, Debug, PartialEq)]
pub enum Order {
    /// A cell falls asleep.
    Sleep(CellId),
    /// A cell wakes up.
    Wake(CellId),
    /// A UE is handed over to a cell.
    HandOver(UeReference, CellId),
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Order::Sleep(cell) => write!(f, "cell {cell} falls asleep"),
            Order::Wake(cell) => write!(f, "cell {cell} wakes up"),
            Order::HandOver(ue, cell) => write!(f, "{ue} is handed over to cell {cell}"),
        }
    }
}

/// The cells that transmit with their loads in percent, and the UEs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Network {
    /// The loads.
    pub loads: BTreeMap<CellId, f64>,
    /// The UEs.
    pub ues: BTreeMap<UeReference, UeState>,
    /// The cells with UEs that have not reported what they receive.
    pub unknown: BTreeSet<CellId>,
}

impl Network {
    fn on(&self) -> BTreeSet<CellId> {
        self.loads.keys().copied().collect()
    }

    /// The loads once only these cells are on: the UEs of the others change to the strongest of them, and take along what they need
    /// of its resource blocks. `None` if one of them is not covered.
    fn predict(&self, on: &BTreeSet<CellId>) -> Option<BTreeMap<CellId, f64>> {
        let now = self.on();
        let need = |ue: &UeState| 1.0 / ue.efficiency(ue.serving, &now);
        let mut loads = self.loads.clone();
        loads.retain(|cell, _| on.contains(cell));
        for (cell, load) in self.loads.iter().filter(|(cell, _)| !on.contains(cell)) {
            let leaving = || self.ues.values().filter(|ue| ue.serving == *cell);
            let needs: f64 = leaving().map(need).sum();
            for ue in leaving() {
                let target = ue.strongest(on).filter(|target| ue.is_covered(*target, on))?;
                let growth = ue.efficiency(*cell, &now) / ue.efficiency(target, on);
                *loads.get_mut(&target)? += load * need(ue) / needs * growth;
            }
        }
        Some(loads)
    }

    /// The cells that can sleep, at most `MOST_SLEEPERS`: each leaves the least load of all other cells together.
    fn sleepers(&self) -> Vec<CellId> {
        let (mut on, mut sleepers) = (self.on(), Vec::new());
        while on.len() > LEAST_ON && sleepers.len() < MOST_SLEEPERS {
            let possible = on.iter().filter(|cell| !self.unknown.contains(cell)).filter_map(|cell| {
                let without = on.iter().copied().filter(|other| other != cell).collect();
                let loads = self.predict(&without)?;
                loads.values().all(|load| *load <= TARGET_PERCENT).then(|| (*cell, loads.values().sum::<f64>()))
            });
            let Some((cell, _)) = possible.min_by(|(_, one), (_, other)| one.total_cmp(other)) else { break };
            on.remove(&cell);
            sleepers.push(cell);
        }
        sleepers
    }

    /// The UEs of busy cells that receive another cell better, which has less load.
    fn handovers(&self) -> impl Iterator<Item = Order> {
        let on = self.on();
        self.ues.iter().filter_map(move |(reference, ue)| {
            let (load, target) = (self.loads.get(&ue.serving)?, ue.strongest(&on)?);
            let gain_db = ue.rsrp_dbm[&target] - ue.rsrp_dbm.get(&ue.serving)?;
            let helps = *load > BUSY_PERCENT && gain_db >= LEAST_GAIN_DB && self.loads[&target] < load - LEAST_POINTS;
            helps.then(|| Order::HandOver(reference.clone(), target))
        })
    }

    /// Whether a sleeping cell would take load from one that is busy.
    fn relieves(&self, cell: CellId) -> bool {
        let mut on = self.on();
        on.insert(cell);
        let is_busy = |ue: &&UeState| self.loads.get(&ue.serving).is_some_and(|load| *load > BUSY_PERCENT);
        self.ues.values().filter(is_busy).any(|ue| ue.strongest(&on) == Some(cell))
    }
}

/// The orders for the next period: which cells wake up or fall asleep. `asleep` has the sleeping cells, the last one to fall asleep at
/// the end.
pub fn decide(network: &Network, asleep: &[CellId]) -> Vec<Order> {
    let busy = network.loads.values().filter(|load| **load > BUSY_PERCENT).count();
    if busy > 0 {
        let relieving: Vec<_> = asleep.iter().copied().filter(|cell| network.relieves(*cell)).collect();
        // without reports of what UEs receive: those that fell asleep last had the most load
        let woken = if relieving.is_empty() { asleep.iter().rev().take(busy).copied().collect() } else { relieving };
        return woken.into_iter().map(Order::Wake).chain(network.handovers()).collect();
    }
    let on = network.on();
    let helper = |ue: &UeState| {
        let (serving, cell) = (ue.rsrp_dbm.get(&ue.serving)?, ue.strongest(&asleep.iter().copied().collect())?);
        let is_weak = *serving < WEAK_RSRP_DBM || ue.full_load_sinr_db(ue.serving, &on)? < WEAK_SINR_DB;
        (is_weak && ue.rsrp_dbm[&cell] > serving + WAKE_GAIN_DB).then_some(cell)
    };
    let helpers: BTreeSet<_> = network.ues.values().filter_map(helper).collect();
    if !helpers.is_empty() {
        return helpers.into_iter().map(Order::Wake).collect();
    }
    network.sleepers().into_iter().map(Order::Sleep).collect()
}

/// The xApp.
pub struct EnergySaving {
    ric: Ric,
    periods: Periods,
    coverage: Coverage,
    /// What UEs have received of cells.
    received: BTreeMap<UeReference, BTreeMap<CellId, f64>>,
    /// In the order in which they fell asleep.
    asleep: Vec<CellId>,
}

impl EnergySaving {
    /// The xApp with this reporting period.
    ///
    /// # Errors
    /// If no node offers the reports, or the session ends.
    pub fn new(ric: &Ric, period_ms: u32) -> Result<Self, Error> {
        let coverage = Coverage::new(ric)?;
        let periods = Periods::new(ric, &[LOAD, POWER, UES], period_ms)?;
        Ok(EnergySaving {
            ric: ric.deadline(PATIENCE),
            periods,
            coverage,
            received: BTreeMap::new(),
            asleep: Vec::new(),
        })
    }

    /// What is known of the network.
    fn network(&mut self, records: &BTreeMap<CellId, Record>) -> Network {
        // a cell that sleeps has no PRBs, so its load has no value; it may have slept before the xApp began
        for (cell, _) in records.iter().filter(|(_, record)| record.number(LOAD).is_none()) {
            if !self.asleep.contains(cell) {
                self.asleep.insert(0, *cell);
            }
        }
        self.asleep.retain(|cell| records.contains_key(cell));
        let on = records.iter().filter(|(cell, _)| !self.asleep.contains(cell));
        let loads: BTreeMap<_, _> = on.map(|(cell, record)| (*cell, record.number(LOAD).unwrap_or(0.0))).collect();
        let (mut ues, mut received) = (BTreeMap::new(), BTreeMap::new());
        for (ue, report) in self.coverage.ues() {
            // UEs measure no cell that sleeps
            let mut rsrp_dbm = self.received.remove(ue).unwrap_or_default();
            rsrp_dbm.retain(|cell, _| self.asleep.contains(cell));
            rsrp_dbm.extend(report.neighbours.iter().chain([&report.serving]).map(|cell| (cell.cell, cell.rsrp_dbm)));
            received.insert(ue.clone(), rsrp_dbm.clone());
            ues.insert(ue.clone(), UeState { serving: report.serving.cell, rsrp_dbm });
        }
        self.received = received;
        let reported = |cell: CellId| ues.values().filter(|ue: &&UeState| ue.serving == cell).count() as f64;
        let is_unknown = |cell: &CellId| records[cell].number(UES).is_none_or(|ues| ues > reported(*cell) + 0.5);
        let unknown = loads.keys().copied().filter(is_unknown).collect();
        Network { loads, ues, unknown }
    }

    /// Has an order executed.
    fn execute(&self, order: &Order) -> Result<(), Error> {
        let (cell, control) = match order {
            Order::HandOver(ue, cell) => return self.ric.ue(ue)?.handover(*cell).map(drop),
            Order::Sleep(cell) => (cell, EnergySavingControl::ToBeEnergySaving),
            Order::Wake(cell) => (cell, EnergySavingControl::ToBeNotEnergySaving),
        };
        let saving = CesManagementFunction { energy_saving_control: Some(control), ..CesManagementFunction::default() };
        let structure = RanConfigurationStructure::CesManagementFunction(saving);
        self.periods.node(*cell)?.configure([structure]).map(drop)
    }
}

impl PeriodicXapp for EnergySaving {
    fn step(&mut self, print: &mut dyn FnMut(String)) -> Result<bool, Error> {
        let Some(records) = self.periods.next_period()? else { return Ok(false) };
        self.coverage.update()?;
        let power_w: f64 = records.values().filter_map(|record| record.number(POWER)).sum();
        let network = self.network(&records);
        for order in decide(&network, &self.asleep) {
            if let Err(error) = self.execute(&order) {
                print(format!("{order}: {error}"));
                continue;
            }
            match &order {
                Order::Sleep(cell) => self.asleep.push(*cell),
                Order::Wake(cell) => self.asleep.retain(|asleep| asleep != cell),
                Order::HandOver(..) => {}
            }
            let (asleep, cells) = (self.asleep.len(), records.len());
            print(format!("{order}: {asleep} of {cells} cells sleep; {power_w:.0} W in the last period"));
        }
        Ok(true)
    }
}

/// Passes a line for each order to `print`, until it returns `false`.
///
/// # Errors
/// If no node offers the reports, or the session ends.
pub fn run(ric: &str, period_ms: u32, print: impl FnMut(String) -> bool) -> Result<(), Error> {
    use_cases::run((ric, "energy-saving"), |ric| EnergySaving::new(ric, period_ms), print)
}

fn main() -> Result<(), Error> {
    let ric = std::env::args().nth(1).unwrap_or("tcp://127.0.0.1:36423".into());
    run(&ric, 1000, |line| {
        println!("{line}");
        true
    })
}
