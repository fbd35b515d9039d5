//! An xApp that steers traffic: it predicts the throughput of each UE in its neighbour cells, and hands UEs with a low throughput
//! over to the best one (E2SM-RC control style 3). It knows the throughput and the number of UEs with data from E2SM-KPM, and what
//! UEs receive of which cell from their measurement reports (E2SM-RC report style 1).
//!
//! `cargo run -p ferric-examples --bin traffic_steering -- tcp://127.0.0.1:36423`, with `ferric ric` and
//! `ferric ran --scenario examples/scenarios/traffic-steering.toml` running

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ferric::xapp::{CellId, Error, KpmStream, Record, Ric, UeReference};
use use_cases::PeriodicXapp;
use use_cases::coverage::{Coverage, Received};
use use_cases::periods::Periods;

/// A handover must promise this much more throughput.
const LEAST_GAIN: f64 = 1.3;
/// The weakest target, compared with the serving cell: event A3 would hand a UE back from a weaker one.
const LEAST_RSRP_DB: f64 = -1.0;
/// The lowest SINR in the target: with less, one UE takes so many resource blocks that all others suffer.
const LEAST_SINR_DB: f64 = -3.0;
/// Periods for which a UE that was steered stays where it is.
const HOLD_PERIODS: u64 = 10;
/// The highest spectral efficiency, in bits per symbol: MCS 28 of 64QAM (TS 38.214 table 5.1.3.1-1).
const HIGHEST_EFFICIENCY: f64 = 5.55;
/// How long a handover of a UE that is between two cells waits for it.
const PATIENCE: Duration = Duration::from_secs(1);
const THROUGHPUT: &str = "DRB.UEThpDl";
const ACTIVE_UES: &str = "DRB.MeanActiveUeDl";

/// A UE in a period.
#[derive(Clone, Debug, PartialEq)]
pub struct UeState {
    /// Its throughput.
    pub kbps: f64,
    /// Its cell.
    pub serving: Received,
    /// The other cells that it reports.
    pub neighbours: Vec<Received>,
}

/// A decision: a UE, its new cell, and the throughput that is predicted there.
#[derive(Clone, Debug, PartialEq)]
pub struct Steering {
    /// The UE.
    pub ue: UeReference,
    /// The target.
    pub target: CellId,
    /// The prediction.
    pub kbps: f64,
}

/// Bits per symbol at a SINR: Shannon's limit, up to the highest MCS.
fn efficiency(sinr_db: f64) -> f64 {
    (1.0 + 10_f64.powf(sinr_db / 10.0)).log2().min(HIGHEST_EFFICIENCY)
}

/// The throughput of a UE in a neighbour cell: what it has now, times the ratio of the spectral efficiencies, times that of the
/// shares of a cell, which its UEs with data have equally.
pub fn predict(ue: &UeState, neighbour: &Received, active: &BTreeMap<CellId, f64>) -> f64 {
    let active_in = |cell| active.get(&cell).copied().unwrap_or(0.0);
    let share = 1.0 / (active_in(neighbour.cell) + 1.0);
    let current_share = 1.0 / active_in(ue.serving.cell).max(1.0);
    ue.kbps * efficiency(neighbour.sinr_db) / efficiency(ue.serving.sinr_db) * share / current_share
}

/// The handovers of a period, from the UEs and the number of UEs with data in each cell. UEs with less throughput than the average
/// are steered, the lowest first, and at most one into a cell and one out of it.
pub fn steer(ues: &BTreeMap<UeReference, UeState>, active: &BTreeMap<CellId, f64>) -> Vec<Steering> {
    let mean_kbps = ues.values().map(|ue| ue.kbps).sum::<f64>() / ues.len() as f64;
    let mut order: Vec<_> = ues.iter().filter(|(_, ue)| ue.kbps > 0.0 && ue.kbps < mean_kbps).collect();
    order.sort_by(|(_, one), (_, other)| one.kbps.total_cmp(&other.kbps));
    let (mut left, mut entered, mut steered) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
    for (reference, ue) in order {
        if left.contains(&ue.serving.cell) || entered.contains(&ue.serving.cell) {
            continue;
        }
        let is_possible = |neighbour: &&Received| {
            neighbour.rsrp_dbm - ue.serving.rsrp_dbm >= LEAST_RSRP_DB
                && neighbour.sinr_db >= LEAST_SINR_DB
                && !entered.contains(&neighbour.cell)
                && !left.contains(&neighbour.cell)
        };
        let predicted = ue.neighbours.iter().filter(is_possible).map(|cell| (cell.cell, predict(ue, cell, active)));
        let best = predicted.max_by(|(_, one), (_, other)| one.total_cmp(other));
        let Some((target, kbps)) = best.filter(|(_, kbps)| *kbps >= LEAST_GAIN * ue.kbps) else { continue };
        left.insert(ue.serving.cell);
        entered.insert(target);
        steered.push(Steering { ue: reference.clone(), target, kbps });
    }
    steered
}

/// The xApp.
pub struct TrafficSteering {
    ric: Ric,
    throughput: KpmStream,
    coverage: Coverage,
    periods: Periods,
    /// The period in which a UE was steered.
    steered: BTreeMap<UeReference, u64>,
    period: u64,
}

impl TrafficSteering {
    /// The xApp with this reporting period.
    ///
    /// # Errors
    /// If no node offers the reports, or the session ends.
    pub fn new(ric: &Ric, period_ms: u32) -> Result<Self, Error> {
        let coverage = Coverage::new(ric)?;
        // a node sends the reports of UEs before that of the cell, which ends the period
        let throughput = ric.kpm([THROUGHPUT]).every(period_ms)?;
        let periods = Periods::new(ric, &[ACTIVE_UES], period_ms)?;
        let ric = ric.deadline(PATIENCE);
        Ok(TrafficSteering { ric, throughput, coverage, periods, steered: BTreeMap::new(), period: 0 })
    }

    /// The UEs whose throughput has been reported by the node that has their last measurement report.
    fn ues(&mut self) -> Result<BTreeMap<UeReference, UeState>, Error> {
        let mut reported = BTreeMap::new();
        while let Some(record) = self.throughput.try_next()? {
            let kbps = record.number(THROUGHPUT).unwrap_or(0.0);
            reported.extend(record.ue.map(|ue| ((ue, record.node), kbps)));
        }
        self.coverage.update()?;
        let states = self.coverage.ues().filter_map(|(ue, report)| {
            let kbps = reported.get(&(ue.clone(), report.node))?;
            Some((ue.clone(), UeState { kbps: *kbps, serving: report.serving, neighbours: report.neighbours }))
        });
        Ok(states.collect())
    }
}

impl PeriodicXapp for TrafficSteering {
    fn step(&mut self, print: &mut dyn FnMut(String)) -> Result<bool, Error> {
        let Some(records) = self.periods.next_period()? else { return Ok(false) };
        self.period += 1;
        let number = |(cell, record): (CellId, Record)| (cell, record.number(ACTIVE_UES).unwrap_or(0.0));
        let active = records.into_iter().map(number).collect();
        self.steered.retain(|_, steered| self.period - *steered < HOLD_PERIODS);
        let mut ues = self.ues()?;
        ues.retain(|ue, _| !self.steered.contains_key(ue));
        for Steering { ue, target, kbps } in steer(&ues, &active) {
            print(format!("{ue}: {:.0} kbit/s, to cell {target} for {kbps:.0} kbit/s", ues[&ue].kbps));
            // the UE may have left the cell, or the target may be full: the next period shows
            if let Err(error) = self.ric.ue(&ue).and_then(|ue| ue.handover(target)) {
                print(format!("{ue}: {error}"));
            }
            self.steered.insert(ue, self.period);
        }
        Ok(true)
    }
}

/// Passes a line for each handover to `print`, until it returns `false`.
///
/// # Errors
/// If no node offers the reports, or the session ends.
pub fn run(ric: &str, period_ms: u32, print: impl FnMut(String) -> bool) -> Result<(), Error> {
    use_cases::run((ric, "traffic-steering"), |ric| TrafficSteering::new(ric, period_ms), print)
}

fn main() -> Result<(), Error> {
    let ric = std::env::args().nth(1).unwrap_or("tcp://127.0.0.1:36423".into());
    run(&ric, 1000, |line| {
        println!("{line}");
        true
    })
}
