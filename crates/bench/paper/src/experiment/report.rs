//! Tables and panels that all experiments have.

use std::fmt::Write;

use super::{CellSample, Pair, Recording};
use crate::Statement;
use crate::statistics::{fairness, mean, quantile};
use crate::table::{Cell, Table};
use plot::{Panel, Series, X};

/// The names of the runs of a pair.
const RUNS: [&str; 2] = ["without xApp", "with xApp"];
/// The share of the UEs with the lowest throughput, by which the cell edge is judged (TR 38.913 7.14).
const EDGE: f64 = 0.05;

/// A value of a run.
pub type Value = fn(&Recording) -> f64;

/// The runs of all pairs, with their seeds and names.
fn runs(pairs: &[Pair]) -> impl Iterator<Item = (u64, &'static str, &Recording)> {
    pairs.iter().flat_map(|pair| [(pair.seed, RUNS[0], &pair.without), (pair.seed, RUNS[1], &pair.with)])
}

/// The runs of one name.
fn of<'p>(pairs: &'p [Pair], run: &str) -> Vec<&'p Recording> {
    runs(pairs).filter(|(_, name, _)| *name == run).map(|(_, _, recording)| recording).collect()
}

fn max(values: impl IntoIterator<Item = f64>) -> f64 {
    values.into_iter().fold(0.0, f64::max)
}

/// The highest load of a cell in the second half, in percent.
pub fn highest_load_percent(run: &Recording) -> f64 {
    max(run.cell_loads_percent())
}

/// Jain's index of the loads of cells in a step.
pub fn fairness_of(cells: &[CellSample]) -> f64 {
    fairness(&cells.iter().map(|cell| cell.load_percent).collect::<Vec<_>>())
}

/// Jain's index of the loads in the second half.
pub fn load_fairness(run: &Recording) -> f64 {
    fairness(&run.cell_loads_percent())
}

/// What a UE received on average in the second half, in Mbit/s.
pub fn mean_mbps(run: &Recording) -> f64 {
    mean(&run.ue_mbps())
}

/// The 5th percentile of what UEs received in the second half, in Mbit/s.
pub fn edge_mbps(run: &Recording) -> f64 {
    quantile(&run.ue_mbps(), EDGE).unwrap_or(f64::NAN)
}

/// A row for each run, with further columns.
pub fn values(pairs: &[Pair], more: &[(&str, Value)]) -> Table {
    let common = ["seed", "run", "edge_mbps", "median_mbps", "mean_mbps", "highest_load_percent", "load_fairness"];
    let events = ["handovers", "ping_pongs", "link_failures"];
    let more_names = more.iter().map(|(name, _)| *name);
    let mut table = Table::new(common.into_iter().chain(events).chain(more_names));
    for (seed, name, run) in runs(pairs) {
        let median = quantile(&run.ue_mbps(), 0.5);
        let row = [Cell::from(seed as f64), name.into(), edge_mbps(run).into(), median.into()];
        let row = row.into_iter().chain([mean_mbps, highest_load_percent, load_fairness].map(|of| of(run).into()));
        let events = [run.mobility.executions_succeeded, run.mobility.ping_pongs, run.mobility.link_failures];
        let row = row.chain(events.map(|count| Cell::from(count as f64)));
        table.row(row.chain(more.iter().map(|(_, value)| value(run).into())));
    }
    table
}

/// What each UE received in the second half.
pub fn samples(pairs: &[Pair]) -> Table {
    let mut table = Table::new(["seed", "run", "ue", "mbps"]);
    for (seed, name, run) in runs(pairs) {
        for (ue, mbps) in run.ue_mbps().into_iter().enumerate() {
            table.row([Cell::from(seed as f64), name.into(), (ue as f64).into(), mbps.into()]);
        }
    }
    table
}

/// The cells in each step.
pub fn course(pairs: &[Pair]) -> Table {
    let mut table = Table::new(["seed", "run", "time_s", "cell", "load_percent", "ues", "power_w"]);
    for (seed, name, run) in runs(pairs) {
        for (time_s, cells) in run.times_s().zip(&run.cells) {
            for (cell, CellSample { load_percent, ues, power_w, .. }) in cells.iter().enumerate() {
                let numbers = [time_s, cell as f64, *load_percent, *ues as f64, *power_w].map(Cell::from);
                table.row([Cell::from(seed as f64), name.into()].into_iter().chain(numbers));
            }
        }
    }
    table
}

/// The distribution of what UEs received in the second half, over all seeds.
pub fn throughput_panel(pairs: &[Pair]) -> Panel {
    let series = RUNS.map(|name| Series::cdf(name, of(pairs, name).into_iter().flat_map(Recording::ue_mbps)));
    Panel {
        x: X::Numbers("throughput of a UE, Mbit/s".into()),
        y_label: "CDF".into(),
        series: series.into(),
        marks: Vec::new(),
    }
}

/// A value of the cells over time, the mean over the seeds.
pub fn course_panel(pairs: &[Pair], y_label: &str, value: impl Fn(&[CellSample]) -> f64) -> Panel {
    step_panel(pairs, y_label, |run, step| value(&run.cells[step]))
}

/// A value of a step of a run over time, the mean over the seeds.
pub fn step_panel(pairs: &[Pair], y_label: &str, value: impl Fn(&Recording, usize) -> f64) -> Panel {
    let series = RUNS.map(|name| {
        let runs = of(pairs, name);
        let times = runs.first().into_iter().flat_map(|run| run.times_s());
        let at = |(step, time_s): (usize, f64)| {
            let values: Vec<f64> = runs.iter().map(|run| value(run, step)).collect();
            (time_s, mean(&values))
        };
        Series::new(name, times.enumerate().map(at).collect())
    });
    Panel { x: X::Numbers("time, s".into()), y_label: y_label.into(), series: series.into(), marks: Vec::new() }
}

/// The numbers of handovers, ping-pongs and link failures, the mean over the seeds.
pub fn mobility_panel(pairs: &[Pair]) -> Panel {
    let series = RUNS.map(|name| {
        let runs = of(pairs, name);
        let counts =
            |run: &Recording| [run.mobility.executions_succeeded, run.mobility.ping_pongs, run.mobility.link_failures];
        let mean = |event: usize| {
            let sum: u64 = runs.iter().map(|run| counts(run)[event]).sum();
            (event as f64, sum as f64 / runs.len().max(1) as f64)
        };
        Series::new(name, (0..3).map(mean).collect())
    });
    Panel {
        x: X::Categories(["handovers", "ping-pongs", "link failures"].map(String::from).into()),
        y_label: "number in a run".into(),
        series: series.into(),
        marks: Vec::new(),
    }
}

/// A value without and with the xApp, the mean over the seeds.
pub fn means(pairs: &[Pair], value: Value) -> [f64; 2] {
    RUNS.map(|name| mean(&of(pairs, name).into_iter().map(value).collect::<Vec<_>>()))
}

/// A quantile of what UEs received, over the UEs of all seeds, without and with the xApp.
pub fn edge_of_all(pairs: &[Pair]) -> [f64; 2] {
    RUNS.map(|name| {
        let all: Vec<f64> = of(pairs, name).into_iter().flat_map(Recording::ue_mbps).collect();
        quantile(&all, EDGE).unwrap_or(f64::NAN)
    })
}

/// The values of each seed as text: `12 and 34 with seed 1, ...`, without and with the xApp.
pub fn by_seed(pairs: &[Pair], value: Value) -> String {
    let mut text = String::new();
    for pair in pairs {
        let comma = if text.is_empty() { "" } else { ", " };
        // a String takes everything
        let _ = write!(text, "{comma}{:.2} and {:.2} with seed {}", value(&pair.without), value(&pair.with), pair.seed);
    }
    text
}

/// What experiments say about handovers; `back` about those back to the last cell, and by how many percentage points their part of
/// all handovers may be higher.
pub fn mobility_statements(pairs: &[Pair], back: (&'static str, f64)) -> [Statement; 2] {
    let (says, points) = back;
    let sum = |name: &str, count: fn(&Recording) -> u64| of(pairs, name).into_iter().map(count).sum::<u64>();
    let [without, with] = RUNS.map(|name| {
        let back = sum(name, |run| run.mobility.ping_pongs);
        (back, sum(name, |run| run.mobility.executions_succeeded))
    });
    let percent = |(back, all): (u64, u64)| 100.0 * back as f64 / all.max(1) as f64;
    let ues = sum(RUNS[1], |run| run.ue_mbps().len() as u64);
    let [failures, failures_with] = RUNS.map(|name| sum(name, |run| run.mobility.link_failures));
    [
        Statement::new(
            says,
            format!(
                "{} of {} without ({:.1} %), {} of {} with the xApp ({:.1} %)",
                without.0,
                without.1,
                percent(without),
                with.0,
                with.1,
                percent(with)
            ),
            percent(with) <= percent(without) + points,
        ),
        Statement::new(
            "links fail for at most 5 % of the UEs",
            format!("{failures} failures without and {failures_with} with the xApp, {ues} UEs"),
            failures_with as f64 <= 0.05 * ues as f64,
        ),
    ]
}
