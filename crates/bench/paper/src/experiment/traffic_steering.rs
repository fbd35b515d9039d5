//! Traffic steering: crowds where cells meet, and an xApp that hands UEs over to the cell with the best throughput.

use std::time::Duration;

use super::report::{
    by_seed, course, course_panel, edge_mbps, edge_of_all, fairness_of, mean_mbps, means, mobility_panel,
    mobility_statements, samples, throughput_panel, values,
};
use super::{CellSample, Context, Experiment, FigureReport, Pair, Recording};
use crate::statistics::deviation;
use crate::{Figure, Setting, Statement};
use plot::Plot;

#[allow(dead_code, reason = "its main is not called here")]
#[path = "../../../../../examples/src/bin/traffic_steering.rs"]
mod xapp;

pub(super) fn experiment() -> Experiment {
    Experiment {
        scenario: include_str!("../../../../../examples/scenarios/traffic-steering.toml"),
        period: Duration::from_secs(1),
        xapp: |ric, period_ms| Ok(Box::new(xapp::TrafficSteering::new(ric, period_ms)?)),
        first_seed: super::FIRST_SEED,
    }
}

/// The standard deviation of the numbers of UEs in the cells.
fn spread(cells: &[CellSample]) -> f64 {
    deviation(&cells.iter().map(|cell| cell.ues as f64).collect::<Vec<_>>())
}

/// The mean of the spread in the second half.
fn mean_spread(run: &Recording) -> f64 {
    run.mean_of_cells(spread)
}

fn statements(pairs: &[Pair]) -> Vec<Statement> {
    let [edge, edge_with] = edge_of_all(pairs);
    let [rate, rate_with] = means(pairs, mean_mbps);
    let mut statements = vec![
        Statement::new(
            "the 5th percentile of the UEs' throughput is higher by at least a tenth, and lower with no seed",
            format!("{edge:.2} Mbit/s without and {edge_with:.2} with the xApp; {} Mbit/s", by_seed(pairs, edge_mbps)),
            edge_with >= 1.1 * edge && pairs.iter().all(|pair| edge_mbps(&pair.with) >= edge_mbps(&pair.without)),
        ),
        Statement::new(
            "the mean throughput is not lower by more than 5 %",
            format!("{rate:.2} Mbit/s without and {rate_with:.2} with the xApp"),
            rate_with >= 0.95 * rate,
        ),
    ];
    let back = "the part of the handovers that are back to the last cell within 10 s is higher by at most 15 points";
    statements.extend(mobility_statements(pairs, (back, 15.0)));
    statements
}

pub(in super::super) fn traffic_steering(context: &Context<'_>) -> anyhow::Result<FigureReport> {
    Ok(report(&experiment().run(context)?))
}

pub(super) fn report(pairs: &[Pair]) -> FigureReport {
    let statements = statements(pairs);
    let panels = vec![
        throughput_panel(pairs),
        course_panel(pairs, "UEs in a cell, standard deviation", spread),
        course_panel(pairs, "Jain's index of the loads", fairness_of),
        mobility_panel(pairs),
    ];
    FigureReport {
        figure: Figure::TrafficSteering,
        setting: Setting {
            paper: "none: an experiment of ours, after the use case \"traffic steering\" of O-RAN.WG1 and its xApps in the O-RAN \
                    Software Community",
            ours: "examples/scenarios/traffic-steering.toml, preset hex7 with 21 cells of 20 MHz, 63 UEs at random places and six \
                   crowds of six UEs where cells meet, 2 Mbit/s to each UE; the xApp examples/src/bin/traffic_steering.rs, with a period of 1 s; the same with \
                   each seed without the xApp. Both over E2 and TCP. The model advances in steps of the period, and stands until \
                   the xApp has decided and its controls are acknowledged. The second half of a run is evaluated",
            differs: Vec::new(),
        },
        plot: Plot { title: "Traffic steering by predicted throughput, with and without the xApp".into(), panels },
        claim: "an xApp that hands UEs over to the cell with the best predicted throughput raises the throughput of the weakest UEs, \
                and keeps that of all",
        judged: super::JUDGED,
        holds: Statement::all(&statements),
        statements,
        notes: Vec::new(),
        values: values(pairs, &[("ues_in_a_cell_deviation", mean_spread)]),
        summary: None,
        samples: Some(samples(pairs)),
        course: Some(course(pairs)),
    }
}
