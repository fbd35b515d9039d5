//! `loop-delay`: what a cell carries when an xApp schedules it, over the slots by which decisions are ahead.

use super::stepped::{Run, run};
use crate::statistics::mean;
use crate::table::{Cell, Table};
use crate::{Context, Figure, FigureReport, Setting, Statement};
use plot::{Panel, Plot, X};

/// The delays.
const DELAYS_SLOTS: [u64; 8] = [0, 1, 2, 4, 8, 12, 16, 20];
/// Slots of a run per second of a point.
const SLOTS_PER_S: f64 = 1500.0;
/// The first judged seed. Those below were for the design of the xApp, the scenario and the limits, and are no evidence.
const FIRST_SEED: u64 = 31;

/// The runs with one seed: with the cell's own scheduler, and with each delay.
struct Runs {
    local: Run,
    remote: Vec<Run>,
}

pub(in super::super) fn loop_delay(context: &Context<'_>) -> anyhow::Result<FigureReport> {
    let slots = (context.seconds * SLOTS_PER_S).ceil() as u64;
    let runs = |seed| {
        let remote = DELAYS_SLOTS.iter().map(|delay| run(seed, slots, Some(*delay))).collect::<Result<_, _>>()?;
        Ok(Runs { local: run(seed, slots, None)?, remote })
    };
    let seeds = FIRST_SEED..FIRST_SEED + u64::from(context.seeds);
    Ok(report(&seeds.map(runs).collect::<anyhow::Result<Vec<_>>>()?))
}

fn percent(value: f64, of: f64) -> f64 {
    100.0 * value / of
}

fn report(runs: &[Runs]) -> FigureReport {
    let mut values = Table::new([
        "delay_slots",
        "cell_mbps",
        "percent_of_local",
        "lowest_percent",
        "fairness",
        "local_mbps",
        "local_fairness",
        "missed_percent",
    ]);
    let local_mbps = mean(&runs.iter().map(|run| run.local.cell_mbps()).collect::<Vec<_>>());
    let local_fairness = mean(&runs.iter().map(|run| run.local.fairness()).collect::<Vec<_>>());
    for (at, delay) in DELAYS_SLOTS.iter().enumerate() {
        let of = |value: &dyn Fn(&Runs) -> f64| runs.iter().map(value).collect::<Vec<_>>();
        let shares = of(&|run| percent(run.remote[at].cell_mbps(), run.local.cell_mbps()));
        let missed = of(&|run| {
            let counts = run.remote[at].counts;
            percent(counts.missed as f64, (counts.missed + counts.decided).max(1) as f64)
        });
        values.row(
            [
                *delay as f64,
                mean(&of(&|run| run.remote[at].cell_mbps())),
                mean(&shares),
                shares.iter().copied().fold(f64::INFINITY, f64::min),
                mean(&of(&|run| run.remote[at].fairness())),
                local_mbps,
                local_fairness,
                mean(&missed),
            ]
            .map(Cell::from),
        );
    }
    let at_zero: Vec<f64> = runs.iter().map(|run| percent(run.remote[0].cell_mbps(), run.local.cell_mbps())).collect();
    let unfair: Vec<f64> = runs.iter().map(|run| (run.remote[0].fairness() - run.local.fairness()).abs()).collect();
    let largest = |values: &[f64]| values.iter().copied().fold(0.0, f64::max);
    let off = largest(&at_zero.iter().map(|share| (share - 100.0).abs()).collect::<Vec<_>>());
    let value = |row: usize, column| values.value(row, column).unwrap_or(f64::NAN);
    let last = DELAYS_SLOTS.len() - 1;
    let statements = vec![
        Statement::new(
            "without delay, the cell carries what its own scheduler carries, within 1 % with each seed",
            format!("{:.2} % on average, at most {off:.2} % off", mean(&at_zero)),
            off <= 1.0,
        ),
        Statement::new(
            "without delay, Jain's index of the UEs' throughput is that of the cell's own scheduler, within 0.01 with each seed",
            format!("{:.4} and {local_fairness:.4}, at most {:.4} off", value(0, "fairness"), largest(&unfair)),
            largest(&unfair) <= 0.01,
        ),
        Statement::new(
            "up to 4 slots of delay cost at most 3 % of the cell's throughput",
            format!("{:.2} % of it remain", value(3, "percent_of_local")),
            value(3, "percent_of_local") >= 97.0,
        ),
        Statement::new(
            "20 slots of delay cost more than none",
            format!("{:.2} % of it remain", value(last, "percent_of_local")),
            value(last, "percent_of_local") < value(0, "percent_of_local"),
        ),
    ];
    let panel = |y_label: &str, columns: [(&str, &str); 2]| Panel {
        x: X::Numbers("delay of decisions, slots".into()),
        y_label: y_label.into(),
        series: columns.map(|(name, column)| values.series(name, Some("delay_slots"), column)).into(),
        marks: Vec::new(),
    };
    let panels = vec![
        panel("throughput of the cell, Mbit/s", [("xApp", "cell_mbps"), ("the cell's own scheduler", "local_mbps")]),
        panel("Jain's index of the UEs", [("xApp", "fairness"), ("the cell's own scheduler", "local_fairness")]),
    ];
    FigureReport {
        figure: Figure::LoopDelay,
        setting: Setting {
            paper: "none: an experiment of ours",
            ours: "examples/scenarios/slot-scheduling.toml, a cell of 106 resource blocks with slots of 1 ms and 8 UEs that walk and always \
                   have data; the xApp examples/src/bin/slot_scheduler.rs, proportional fair, over E2SM-LLC, a RIC and TCP; the same with \
                   the cell's own proportional fair scheduler. The model advances slot by slot, and stands until the xApp has decided \
                   and its controls are acknowledged. With a delay of n slots, the report of a slot's beginning leads to the decision \
                   about the n-th slot after it",
            differs: Vec::new(),
        },
        plot: Plot { title: "Scheduling by an xApp, over the delay of its decisions".into(), panels },
        claim: "an xApp that schedules a cell slot by slot carries as much as the cell's own scheduler, as fairly, and loses with delay",
        judged: "statement by statement; the claim holds if all do. The limits, the scenario and the xApp were fixed with seeds below 31, \
                 before any run with the seeds above",
        holds: Statement::all(&statements),
        statements,
        notes: Vec::new(),
        values,
        summary: None,
        samples: None,
        course: None,
    }
}
