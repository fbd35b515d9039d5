//! Load balancing: a crowd in one of seven cells, and an xApp that moves the borders of the cells.

use std::time::Duration;

use super::report::{
    by_seed, course, course_panel, edge_mbps, edge_of_all, fairness_of, load_fairness, means, mobility_panel,
    mobility_statements, samples, throughput_panel, values,
};
use super::{CellSample, Context, Experiment, FigureReport, Pair, Recording};
use crate::{Figure, Setting, Statement};
use plot::Plot;

#[allow(dead_code, reason = "its main is not called here")]
#[path = "../../../../../examples/src/bin/load_balancing.rs"]
mod xapp;

/// The rate that is sent to each UE, in Mbit/s.
const OFFERED_MBPS: f64 = 0.55;
/// A UE that receives less of its rate is not satisfied.
const SATISFIED: f64 = 0.95;

/// The UEs that receive less than their rate, in percent.
fn unsatisfied_percent(run: &Recording) -> f64 {
    let mbps = run.ue_mbps();
    let unsatisfied = mbps.iter().filter(|mbps| **mbps < SATISFIED * OFFERED_MBPS).count();
    100.0 * unsatisfied as f64 / mbps.len().max(1) as f64
}

pub(super) fn experiment() -> Experiment {
    Experiment {
        scenario: include_str!("../../../../../examples/scenarios/load-balancing.toml"),
        period: Duration::from_secs(2),
        xapp: |ric, period_ms| Ok(Box::new(xapp::LoadBalancing::new(ric, period_ms)?)),
        first_seed: super::FIRST_SEED,
    }
}

fn statements(pairs: &[Pair]) -> Vec<Statement> {
    let [unsatisfied, unsatisfied_with] = means(pairs, unsatisfied_percent);
    let [edge, edge_with] = edge_of_all(pairs);
    let [even, even_with] = means(pairs, load_fairness);
    let mut statements = vec![
        Statement::new(
            "Jain's index of the loads is higher by at least 0.1",
            format!("{even:.2} without and {even_with:.2} with the xApp"),
            even_with - even >= 0.1,
        ),
        Statement::new(
            "at most half as many UEs receive less than 95 % of their rate",
            format!("{unsatisfied:.1} % of the UEs without and {unsatisfied_with:.1} % with the xApp"),
            unsatisfied > 0.0 && unsatisfied_with <= unsatisfied / 2.0,
        ),
        Statement::new(
            "the 5th percentile of the UEs' throughput is higher, and lower with no seed",
            format!("{edge:.2} Mbit/s without and {edge_with:.2} with the xApp; {} Mbit/s", by_seed(pairs, edge_mbps)),
            edge_with > edge && pairs.iter().all(|pair| edge_mbps(&pair.with) >= edge_mbps(&pair.without)),
        ),
    ];
    let back = "the part of the handovers that are back to the last cell within 10 s is higher by at most 5 points";
    statements.extend(mobility_statements(pairs, (back, 5.0)));
    statements
}

pub(in super::super) fn load_balancing(context: &Context<'_>) -> anyhow::Result<FigureReport> {
    Ok(report(&experiment().run(context)?))
}

pub(super) fn report(pairs: &[Pair]) -> FigureReport {
    let statements = statements(pairs);
    let highest = |cells: &[CellSample]| cells.iter().map(|cell| cell.load_percent).fold(0.0, f64::max);
    let panels = vec![
        throughput_panel(pairs),
        course_panel(pairs, "highest load of a cell, %", highest),
        course_panel(pairs, "Jain's index of the loads", fairness_of),
        mobility_panel(pairs),
    ];
    FigureReport {
        figure: Figure::LoadBalancing,
        setting: Setting {
            paper: "none: an experiment of ours, after mobility load balancing in TR 36.902 4.6, whose aim is fewer UEs with little throughput",
            ours: "examples/scenarios/load-balancing.toml, seven cells of 20 MHz in a hexagon, 40 UEs more around the cell in the middle, \
                   0.55 Mbit/s to each UE; the xApp examples/src/bin/load_balancing.rs, with a period of 2 s; the same with \
                   each seed without the xApp. Both over E2 and TCP. The model advances in steps of the period, and stands until \
                   the xApp has decided and its controls are acknowledged. The second half of a run is evaluated",
            differs: Vec::new(),
        },
        plot: Plot { title: "Load balancing by cell individual offsets, with and without the xApp".into(), panels },
        claim: "an xApp that shifts cell individual offsets evens out the load, and fewer UEs lack throughput, without ping-pong",
        judged: super::JUDGED,
        holds: Statement::all(&statements),
        statements,
        notes: Vec::new(),
        values: values(pairs, &[("unsatisfied_percent", unsatisfied_percent)]),
        summary: None,
        samples: Some(samples(pairs)),
        course: Some(course(pairs)),
    }
}
