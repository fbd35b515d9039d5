//! An xApp that evens out the load of cells: it moves the border between a busy cell and another one by their cell individual
//! offsets (E2SM-CCC), and event A3 hands the UEs at the edge over. The load comes from E2SM-KPM.
//!
//! `cargo run -p ferric-examples --bin load_balancing -- tcp://127.0.0.1:36423`, with `ferric ric` and
//! `ferric ran --scenario examples/scenarios/load-balancing.toml` running

use std::collections::BTreeMap;

use e2sm::ccc::{NrCellRelation, QOffsetRangeList, RanConfigurationStructure};
use ferric::xapp::{CellId, Error, Ric};
use use_cases::PeriodicXapp;
use use_cases::periods::Periods;

/// A cell with a higher load, in percent, hands UEs over to cells whose load is lower by this many points.
const BUSY_PERCENT: f64 = 70.0;
const TOLERANCE_POINTS: f64 = 15.0;
/// Below this load in percent the border of two cells returns to where it was.
const QUIET_PERCENT: f64 = 40.0;
/// The change of an offset in a period, in dB.
const STEP_DB: i8 = 1;
/// The largest offset, in dB. With event A3 at 3 dB, a UE is handed over to a cell that is as strong, and back when it is 6 dB
/// weaker: still above the SINR at which its link would fail.
const MAX_DB: i8 = 3;
/// The weight of a new load in the mean that decides.
const WEIGHT: f64 = 0.5;
const LOAD: &str = "RRU.PrbTotDl";

/// The offset of a neighbour in dB, by cell and neighbour; 0 if it is absent.
pub type Offsets = BTreeMap<(CellId, CellId), i8>;

/// The offsets that change, from the load of each cell in percent. The offsets of two cells for each other always add up to 0:
/// a UE that was handed over early is not handed back.
pub fn balance(loads: &BTreeMap<CellId, f64>, offsets: &Offsets) -> Offsets {
    let pairs = loads.iter().flat_map(|cell| loads.iter().map(move |neighbour| (cell, neighbour)));
    let change = |((cell, load), (neighbour, other)): ((&CellId, &f64), (&CellId, &f64))| {
        let current = offsets.get(&(*cell, *neighbour)).copied().unwrap_or(0);
        let wanted = match load - other {
            _ if load.max(*other) < QUIET_PERCENT => current - current.signum() * STEP_DB,
            _ if load.max(*other) < BUSY_PERCENT => current,
            more if more > TOLERANCE_POINTS => current + STEP_DB,
            less if less < -TOLERANCE_POINTS => current - STEP_DB,
            _ => current,
        };
        let wanted = wanted.clamp(-MAX_DB, MAX_DB);
        (cell != neighbour && wanted != current).then_some(((*cell, *neighbour), wanted))
    };
    pairs.filter_map(change).collect()
}

/// The structures that set the offsets of neighbours of a cell.
fn relations(neighbours: &[(CellId, i8)]) -> impl Iterator<Item = RanConfigurationStructure> {
    neighbours.iter().map(|(neighbour, offset_db)| {
        let offsets = QOffsetRangeList { rsrp_offset_ssb_db: Some(*offset_db), ..QOffsetRangeList::default() };
        RanConfigurationStructure::NrCellRelation(NrCellRelation {
            nr_tci: Some(neighbour.identity()),
            cell_individual_offset: Some(offsets),
            is_ho_allowed: None,
        })
    })
}

/// The xApp.
pub struct LoadBalancing {
    periods: Periods,
    /// The weighted mean of the load of each cell.
    loads: BTreeMap<CellId, f64>,
    offsets: Offsets,
}

impl LoadBalancing {
    /// The xApp with this reporting period.
    ///
    /// # Errors
    /// If no node offers the reports, or the session ends.
    pub fn new(ric: &Ric, period_ms: u32) -> Result<Self, Error> {
        let periods = Periods::new(ric, &[LOAD], period_ms)?;
        Ok(LoadBalancing { periods, loads: BTreeMap::new(), offsets: Offsets::new() })
    }
}

impl PeriodicXapp for LoadBalancing {
    fn step(&mut self, print: &mut dyn FnMut(String)) -> Result<bool, Error> {
        let Some(records) = self.periods.next_period()? else { return Ok(false) };
        self.loads.retain(|cell, _| records.contains_key(cell));
        for (cell, record) in &records {
            let Some(now) = record.number(LOAD) else { continue };
            self.loads.entry(*cell).and_modify(|mean| *mean += WEIGHT * (now - *mean)).or_insert(now);
        }
        let changed = balance(&self.loads, &self.offsets);
        for (cell, load) in &self.loads {
            let of_cell = changed.iter().filter(|((changed, _), _)| changed == cell);
            let neighbours: Vec<_> = of_cell.map(|((_, neighbour), offset_db)| (*neighbour, *offset_db)).collect();
            if neighbours.is_empty() {
                continue;
            }
            match self.periods.node(*cell).and_then(|node| node.configure(relations(&neighbours))) {
                Ok(_) => {
                    let set = neighbours.iter().map(|(neighbour, offset_db)| ((*cell, *neighbour), *offset_db));
                    self.offsets.extend(set);
                    print(format!("cell {cell}, load {load:.0} %: {} offsets changed", neighbours.len()));
                }
                Err(error) => print(format!("cell {cell}: {error}")),
            }
        }
        Ok(true)
    }
}

/// Passes a line for each cell whose offsets change to `print`, until it returns `false`.
///
/// # Errors
/// If no node offers the reports, or the session ends.
pub fn run(ric: &str, period_ms: u32, print: impl FnMut(String) -> bool) -> Result<(), Error> {
    use_cases::run((ric, "load-balancing"), |ric| LoadBalancing::new(ric, period_ms), print)
}

fn main() -> Result<(), Error> {
    let ric = std::env::args().nth(1).unwrap_or("tcp://127.0.0.1:36423".into());
    run(&ric, 2000, |line| {
        println!("{line}");
        true
    })
}
